/* PostgreSQL: a copy of the store, as a file that backend/local reads: it is what the pinned reader
 * sees, whole, or there is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "backend/local/local.h"
#include "backend/local/sqlite_store.h"
#include "backend/postgres/postgres.h"
#include "base/bytes.h"
#include "base/file.h"
#include "base/htab.h"
#include "unit/backend/postgres/pg_server.h"

#define LARGE 300000

static char dir[] = "/tmp/tupled-copy.XXXXXX";
static char path[64];

struct bench {
    struct term *term;
    struct store *store;
    struct store_reader *reader;
    uint64_t version;
    bool is_stopping;
};

static int start(void **state)
{
    (void)pg_shared_start(state);
    if (mkdtemp(dir) == NULL) return 1;
    snprintf(path, sizeof path, "%s/copy.db", dir);
    return 0;
}

static void remove_one(void *arg, const char *name)
{
    char file[200];
    (void)arg;
    snprintf(file, sizeof file, "%s/%s", dir, name);
    (void)remove(file);
}

static void empty_dir(void)
{
    struct error e;
    assert_int_equal(dir_list(dir, remove_one, NULL, &e), OK);
}

static int stop(void **state)
{
    (void)pg_shared_stop(state);
    empty_dir();
    (void)rmdir(dir);
    return 0;
}

static void count_one(void *arg, const char *name)
{
    (void)name;
    ++*(unsigned *)arg;
}

static unsigned files(void)
{
    struct error e;
    unsigned count = 0;
    assert_int_equal(dir_list(dir, count_one, &count, &e), OK);
    return count;
}

/* Internal key of a number in a space; good until the next call. */
static struct slice key(unsigned database, uint8_t space, unsigned n)
{
    static uint8_t bytes[KEY_HEAD_BYTES + 4];
    (void)key_head_write(bytes, (uint16_t)database, space);
    put_u32(bytes + KEY_HEAD_BYTES, n);
    return slice_of(bytes, sizeof bytes);
}

static void put(struct bench *b, struct memtable *m, struct slice k, struct slice value)
{
    struct mutation mu = {.kind = MUTATION_SET, .key = k, .value = value};
    if (value.len == 1) mu.expiry_ms = 77;
    memtable_put(m, hash_bytes(k), &mu, ++b->version);
}

static void apply(struct bench *b, struct memtable *m)
{
    struct store_progress p;
    struct error e;
    memtable_move(m, MEM_FROZEN);
    assert_int_equal(store_apply(b->store, m, &p, &e), OK);
    store_progress_fini(&p);
    memtable_free(m);
}

static void init(struct bench *b)
{
    static int64_t id = 1000;
    struct error e;
    if (!pg_server_can()) skip();
    empty_dir();
    *b = (struct bench){0};
    struct term_options o = {.url = pg_shared.url,
                             .id = ++id,
                             .name = "test",
                             .address = "",
                             .lease_ms = 10000,
                             .call_ms = 10000,
                             .durability = TERM_PROVIDER};
    assert_int_equal(term_open(&o, &b->term, &e), OK);
    assert_int_equal(term_try(b->term, &e), OK);
    struct pg_store_options s = {.term = b->term, .nearby = &local_nearby};
    assert_int_equal(pg_store_open(&s, &b->store, &e), OK);
    assert_int_equal(store_reader_open(b->store, &b->reader, &e), OK);
}

static void fini(struct bench *b)
{
    store_reader_close(b->reader);
    store_close(b->store);
    term_free(b->term);
}

static enum err try_copy(struct bench *b, struct error *e)
{
    return b->reader->ops->copy(b->reader, path, &b->is_stopping, e);
}

static void copy(struct bench *b)
{
    struct error e;
    assert_int_equal(try_copy(b, &e), OK);
    assert_int_equal(files(), 1);
}

/* The copy, opened; its reader is *r. */
static struct store *open_copy(struct store_reader **r)
{
    struct error e;
    struct store *s = NULL;
    struct sqlite_options o = {.path = path, .cache_bytes = 1 << 20, .reader_cache_bytes = 1 << 20};
    assert_int_equal(sqlite_open(&o, &s, &e), OK);
    assert_int_equal(store_reader_open(s, r, &e), OK);
    return s;
}

/* How many rows both readers have below `end` in all of `databases`; each must be the same. */
static unsigned rows_alike(struct bench *b, struct store_reader *other, unsigned databases)
{
    unsigned rows = 0;
    struct error e;
    struct store_chunk chunk;
    store_chunk_init(&chunk);
    for (unsigned d = 0; d < databases; d++) {
        uint8_t from[KEY_HEAD_BYTES + 5] = {KEY_HEAD(d, 0)};
        size_t from_len = KEY_HEAD_BYTES;
        const uint8_t end[] = {KEY_HEAD(d, 0xff)};
        do {
            struct store_fetch f = {.start = slice_of(from, from_len),
                                    .end = slice_of(end, sizeof end),
                                    .with_values = true,
                                    .may_wait = true,
                                    .rows_max = 500};
            assert_int_equal(store_fetch(b->reader, &f, &chunk, &e), OK);
            for (size_t i = 0; i < chunk.count; i++) {
                struct entry x;
                const struct store_row *row = &chunk.rows[i];
                assert_int_equal(store_get(other, row->key, true, &x, &e), OK);
                assert_true(x.exists);
                assert_int_equal(x.version, row->version);
                assert_int_equal(x.expiry_ms, row->expiry_ms);
                assert_true(slice_eq(x.value, row->value));
                store_get_end(other);
                memcpy(from, row->key.data, row->key.len);
                from[row->key.len] = 0;
                from_len = row->key.len + 1;
                rows++;
            }
        } while (!chunk.is_last);
    }
    store_chunk_fini(&chunk);
    return rows;
}

static bool copy_has(struct store_reader *other, struct slice k)
{
    struct entry x;
    struct error e;
    assert_int_equal(store_get(other, k, true, &x, &e), OK);
    bool has = x.exists;
    store_get_end(other);
    return has;
}

static uint64_t entries_of(struct store *s, uint16_t database, uint64_t *applied)
{
    struct store_progress p;
    s->ops->state(s, &p);
    uint64_t n = store_counts_get(&p.counts, database).entries;
    *applied = p.applied;
    store_progress_fini(&p);
    return n;
}

static void a_copy_has_what_the_pinned_reader_sees(void **state)
{
    struct bench b;
    struct error e;
    struct store_reader *r = NULL;
    uint64_t applied = 0;
    static uint8_t large[LARGE];
    (void)state;
    init(&b);
    memset(large, 'x', sizeof large);
    struct memtable *m = memtable_new(0);
    for (unsigned i = 0; i < 9000; i++) {
        put(&b, m, key(i % 3, i % 5 == 0 ? 9 : STORE_SPACE_COUNTED, i),
            slice_of(large, i % 100 == 0 ? LARGE : i % 7));
    }
    apply(&b, m);
    uint64_t before = b.version;
    assert_int_equal(store_pin(b.reader, &e), OK);
    m = memtable_new(0);
    for (unsigned i = 0; i < 9000; i += 2)
        put(&b, m, key(1, STORE_SPACE_COUNTED, i), slice_str("new"));
    apply(&b, m);
    copy(&b);
    struct store *c = open_copy(&r);
    assert_int_equal(rows_alike(&b, r, 4), 9000);
    assert_int_equal(entries_of(c, 0, &applied), 2400);
    assert_int_equal(applied, before);
    store_unpin(b.reader);
    store_reader_close(r);
    store_close(c);
    fini(&b);
}

static void what_was_flushed_or_forgotten_is_not_in_it(void **state)
{
    struct bench b;
    struct error e;
    struct store_reader *r = NULL;
    uint64_t applied = 0;
    uint8_t end[] = {KEY_HEAD(0, 10)};
    (void)state;
    init(&b);
    struct memtable *m = memtable_new(0);
    put(&b, m, key(0, 9, 1), slice_str("forgotten"));
    put(&b, m, key(0, STORE_SPACE_COUNTED, 2), slice_str("stays"));
    put(&b, m, key(2, STORE_SPACE_COUNTED, 3), slice_str("flushed"));
    apply(&b, m);
    m = memtable_new(0);
    memtable_flush(m, 2, ++b.version);
    memtable_forget(m, slice_of((const uint8_t[]){KEY_HEAD(0, 9)}, KEY_HEAD_BYTES),
                    slice_of(end, sizeof end), ++b.version);
    put(&b, m, key(2, STORE_SPACE_COUNTED, 4), slice_str("after it"));
    apply(&b, m);
    assert_int_equal(store_pin(b.reader, &e), OK);
    copy(&b);
    struct store *c = open_copy(&r);
    assert_false(copy_has(r, key(0, 9, 1)));
    assert_true(copy_has(r, key(0, STORE_SPACE_COUNTED, 2)));
    assert_false(copy_has(r, key(2, STORE_SPACE_COUNTED, 3)));
    assert_true(copy_has(r, key(2, STORE_SPACE_COUNTED, 4)));
    assert_int_equal(entries_of(c, 2, &applied), 1);
    assert_int_equal(applied, b.version);
    store_unpin(b.reader);
    store_reader_close(r);
    store_close(c);
    fini(&b);
}

/* The copy fails with this; the file is the one that was there, and the only one. */
static void expect_failure(struct bench *b, enum err wanted, const char *text)
{
    struct error e;
    struct stat was;
    struct stat is;
    assert_int_equal(stat(path, &was), 0);
    assert_int_equal(try_copy(b, &e), wanted);
    if (strstr(e.text, text) == NULL) fail_msg("it says: %s", e.text);
    assert_int_equal(files(), 1);
    assert_int_equal(stat(path, &is), 0);
    assert_int_equal(was.st_ino, is.st_ino);
    assert_int_equal(was.st_mtim.tv_nsec, is.st_mtim.tv_nsec);
}

static void a_copy_that_fails_leaves_the_file_that_was_there(void **state)
{
    struct bench b;
    struct error e;
    (void)state;
    init(&b);
    struct memtable *m = memtable_new(0);
    for (unsigned i = 0; i < 100; i++) put(&b, m, key(0, STORE_SPACE_COUNTED, i), slice_str("v"));
    apply(&b, m);
    assert_int_equal(store_pin(b.reader, &e), OK);
    copy(&b);
    b.is_stopping = true;
    expect_failure(&b, ERR_IO, "stopping");
    b.is_stopping = false;
    pg_server_kill(&pg_shared);
    pg_server_start(&pg_shared);
    expect_failure(&b, ERR_TRYAGAIN, "");
    expect_failure(&b, ERR_TRYAGAIN, "the snapshot was lost");
    store_unpin(b.reader);
    assert_int_equal(store_pin(b.reader, &e), OK);
    copy(&b);
    store_unpin(b.reader);
    fini(&b);
}

static void run_sql(struct bench *b, const char *sql)
{
    struct error e;
    struct pg *c = term_connect(b->term, "test", TERM_WRITE);
    assert_int_equal(pg_script(c, sql, &e), OK);
    pg_free(c);
}

static void a_damaged_entry_is_not_copied(void **state)
{
    struct bench b;
    struct error e;
    (void)state;
    init(&b);
    struct memtable *m = memtable_new(0);
    put(&b, m, key(0, STORE_SPACE_COUNTED, 1), slice_str("good"));
    apply(&b, m);
    assert_int_equal(store_pin(b.reader, &e), OK);
    copy(&b);
    store_unpin(b.reader);
    run_sql(&b, "UPDATE tupled_entry SET value = 'evil' WHERE value = 'good'");
    assert_int_equal(store_pin(b.reader, &e), OK);
    expect_failure(&b, ERR_CORRUPT, "is damaged");
    store_unpin(b.reader);
    fini(&b);
}

/* A process that was killed leaves them, and they are of another file than the next one. */
static void what_an_unfinished_copy_left_is_not_taken(void **state)
{
    static const char *const endings[] = {"", "-wal", "-shm", "-journal"};
    struct bench b;
    struct error e;
    struct store_reader *r = NULL;
    char file[80];
    (void)state;
    init(&b);
    struct memtable *m = memtable_new(0);
    put(&b, m, key(0, STORE_SPACE_COUNTED, 1), slice_str("good"));
    apply(&b, m);
    for (size_t i = 0; i < 4; i++) {
        snprintf(file, sizeof file, "%s.part%s", path, endings[i]);
        assert_int_equal(file_write_all(file, slice_str("left"), &e), OK);
    }
    assert_int_equal(store_pin(b.reader, &e), OK);
    copy(&b);
    struct store *c = open_copy(&r);
    assert_int_equal(rows_alike(&b, r, 1), 1);
    store_unpin(b.reader);
    store_reader_close(r);
    store_close(c);
    fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_copy_has_what_the_pinned_reader_sees),
        cmocka_unit_test(what_was_flushed_or_forgotten_is_not_in_it),
        cmocka_unit_test(a_copy_that_fails_leaves_the_file_that_was_there),
        cmocka_unit_test(a_damaged_entry_is_not_copied),
        cmocka_unit_test(what_an_unfinished_copy_left_is_not_taken),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
