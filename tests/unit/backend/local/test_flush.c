/* Flushed databases in the store: however much they hold, the flush itself is short; what they held
 * goes in slices, a scan that still reads it sees all of it, and nothing of it ever comes back.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "backend/local/store_int.h"
#include "base/fault.h"
#include "base/log.h"

#define SLICE_ROWS_MAX 5100 /* that a slice of the cleaning changes, about */

struct bench {
    char dir[64];
    char path[80];
    struct store *store;
    struct store_reader *reader;
    uint64_t version;
};

static void bench_open(struct bench *b)
{
    struct sqlite_options options = {
        .path = b->path, .cache_bytes = 8 << 20, .reader_cache_bytes = 1 << 20};
    assert_int_equal(sqlite_open(&options, &b->store, NULL), OK);
    assert_int_equal(store_reader_open(b->store, &b->reader, NULL), OK);
}

static void bench_close(struct bench *b)
{
    store_reader_close(b->reader);
    store_close(b->store);
}

static void bench_init(struct bench *b)
{
    log_set_level(LOG_LEVEL_NOTHING);
    *b = (struct bench){.dir = "/tmp/test_flush.XXXXXX"};
    assert_non_null(mkdtemp(b->dir));
    snprintf(b->path, sizeof b->path, "%s/tupled.db", b->dir);
    bench_open(b);
}

static void bench_fini(struct bench *b)
{
    char command[128];
    fault_arm("", 0, false);
    bench_close(b);
    snprintf(command, sizeof command, "rm -rf '%s'", b->dir);
    assert_int_equal(system(command), 0);
}

static void reopen(struct bench *b)
{
    bench_close(b);
    bench_open(b);
}

/* ---- what is asked of the store ---- */

static struct slice key(unsigned database, unsigned number)
{
    static char keys[8][16];
    static unsigned next;
    char *k = keys[next++ % 8];
    char *rest = (char *)key_head_write((uint8_t *)k, (uint16_t)database, STORE_SPACE_COUNTED);
    int len = snprintf(rest, sizeof keys[0] - KEY_HEAD_BYTES, "%07u", number);
    return slice_of(k, (size_t)len + KEY_HEAD_BYTES);
}

static void put(struct bench *b, struct memtable *m, struct slice k, struct slice value)
{
    struct mutation mu = {.kind = MUTATION_SET, .key = k, .value = value};
    memtable_put(m, hash_bytes(k), &mu, ++b->version);
}

static void apply(struct bench *b, struct memtable *m)
{
    struct store_progress progress;
    assert_int_equal(store_apply(b->store, m, &progress, NULL), OK);
    store_progress_fini(&progress);
    if (memtable_unref(m)) memtable_free(m);
}

static void fill(struct bench *b, unsigned database, unsigned rows)
{
    struct memtable *m = memtable_new(0);
    for (unsigned i = 0; i < rows; i++) put(b, m, key(database, i), slice_str("v"));
    apply(b, m);
}

static void flush(struct bench *b, unsigned database)
{
    struct memtable *m = memtable_new(0);
    memtable_flush(m, (uint16_t)database, ++b->version);
    apply(b, m);
}

static bool clean_slice(struct bench *b)
{
    bool has_more = false;
    struct store_progress progress;
    assert_int_equal(store_clean(b->store, &progress, &has_more, NULL), OK);
    store_progress_fini(&progress);
    return has_more;
}

static void clean(struct bench *b)
{
    while (clean_slice(b)) continue;
}

static struct store_counts counts_of(struct bench *b, unsigned database)
{
    struct store_progress state;
    b->store->ops->state(b->store, &state);
    struct store_counts c = store_counts_get(&state.counts, (uint16_t)database);
    store_progress_fini(&state);
    return c;
}

static bool has_garbage(struct bench *b)
{
    struct store_progress state;
    b->store->ops->state(b->store, &state);
    store_progress_fini(&state);
    return state.has_garbage;
}

/* Rows of a database that a reader sees in a scan. */
static unsigned rows_seen(struct store_reader *reader, unsigned database)
{
    struct store_chunk c;
    struct buf start = {0};
    unsigned rows = 0;
    store_chunk_init(&c);
    struct slice k = key(database, 0);
    buf_append(&start, k.data, k.len);
    for (bool is_last = false; !is_last;) {
        struct store_fetch f = {.start = buf_slice(&start),
                                .end = key(database, 9999999),
                                .may_wait = true,
                                .rows_max = 1000};
        assert_int_equal(store_fetch(reader, &f, &c, NULL), OK);
        is_last = c.is_last;
        rows += (unsigned)c.count;
        if (c.count == 0) continue;
        buf_clear(&start, SIZE_MAX);
        buf_append(&start, c.rows[c.count - 1].key.data, c.rows[c.count - 1].key.len);
        buf_append_byte(&start, 0);
    }
    store_chunk_fini(&c);
    buf_fini(&start);
    return rows;
}

static int64_t query_number(struct bench *b, const char *sql)
{
    sqlite3_stmt *stmt = NULL;
    assert_int_equal(sqlite3_prepare_v2(sqlite_of(b->store)->db, sql, -1, &stmt, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
    int64_t n = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    return n;
}

static void run_sql(struct bench *b, const char *sql)
{
    assert_int_equal(sqlite3_exec(sqlite_of(b->store)->db, sql, NULL, NULL, NULL), SQLITE_OK);
}

/* Rows that were changed so far, of all tables. */
static int64_t changes(struct bench *b)
{
    return sqlite3_total_changes64(sqlite_of(b->store)->db);
}

static uint64_t wal_bytes(struct bench *b)
{
    char path[96];
    struct stat st;
    snprintf(path, sizeof path, "%s-wal", b->path);
    assert_int_equal(stat(path, &st), 0);
    return (uint64_t)st.st_size;
}

/* ---- tests ---- */

static void a_flush_is_short_however_much_there_was(void **state)
{
    enum { ROWS = 300000, PART = 30000 };
    struct bench b;
    bench_init(&b);
    for (unsigned from = 0; from < ROWS; from += PART) {
        struct memtable *m = memtable_new(0);
        for (unsigned i = from; i < from + PART; i++) put(&b, m, key(1, i), slice_str("v"));
        apply(&b, m);
    }
    uint64_t wal = wal_bytes(&b);
    fill(&b, 2, 10);
    int64_t before = changes(&b);
    flush(&b, 1);
    assert_in_range(changes(&b) - before, 1, 10);
    assert_int_equal(rows_seen(b.reader, 1), 0);
    assert_true(has_garbage(&b));
    unsigned slices = 0;
    for (bool has_more = true; has_more; slices++) {
        /* A write comes meanwhile. */
        struct memtable *m = memtable_new(0);
        put(&b, m, key(1, slices), slice_str("new"));
        apply(&b, m);
        before = changes(&b);
        has_more = clean_slice(&b);
        assert_in_range(changes(&b) - before, 0, SLICE_ROWS_MAX);
    }
    assert_in_range(slices, ROWS / SLICE_ROWS_MAX, 100);
    assert_in_range(wal_bytes(&b), 1, wal); /* not larger than the writing made it */
    assert_false(has_garbage(&b));
    assert_int_equal(rows_seen(b.reader, 1), slices);
    assert_int_equal(counts_of(&b, 1).entries, slices);
    assert_int_equal(counts_of(&b, 1).bytes, 10 * slices);
    assert_int_equal(query_number(&b, "SELECT count(*) FROM kv"), slices + 10);
    assert_int_equal(rows_seen(b.reader, 2), 10);
    bench_fini(&b);
}

static void a_reader_from_before_sees_everything(void **state)
{
    enum { ROWS = 12000 };
    struct bench b;
    struct store_reader *pinned[2] = {NULL, NULL};
    bench_init(&b);
    fill(&b, 1, ROWS);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(store_reader_open(b.store, &pinned[i], NULL), OK);
        assert_int_equal(store_pin(pinned[i], NULL), OK);
        flush(&b, 1);
        if (i == 0) fill(&b, 1, 500); /* that is what the second one sees */
    }
    for (bool has_more = true; has_more;) {
        has_more = clean_slice(&b);
        assert_int_equal(rows_seen(pinned[0], 1), ROWS);
        assert_int_equal(rows_seen(pinned[1], 1), 500);
        assert_int_equal(rows_seen(b.reader, 1), 0);
    }
    for (int i = 0; i < 2; i++) {
        store_unpin(pinned[i]);
        assert_int_equal(rows_seen(pinned[i], 1), 0);
        store_reader_close(pinned[i]);
    }
    bench_fini(&b);
}

/* Written, flushed, written, flushed ..., with ends of the process between any two steps. */
static void removing_goes_on_after_a_start(void **state)
{
    struct bench b;
    bench_init(&b);
    for (unsigned round = 1; round <= 6; round++) {
        fill(&b, 1, 6000 + round);
        reopen(&b);
        assert_int_equal(rows_seen(b.reader, 1), 6000 + round);
        assert_int_equal(counts_of(&b, 1).entries, 6000 + round);
        flush(&b, 1);
        if (round % 2 == 0) (void)clean_slice(&b);
        reopen(&b);
        assert_true(has_garbage(&b));
        assert_int_equal(rows_seen(b.reader, 1), 0);
        assert_int_equal(counts_of(&b, 1).entries + counts_of(&b, 1).bytes, 0);
    }
    fill(&b, 1, 7);
    clean(&b);
    reopen(&b);
    assert_false(has_garbage(&b));
    assert_int_equal(query_number(&b, "SELECT count(*) FROM kv"), 7);
    assert_int_equal(rows_seen(b.reader, 1), 7);
    bench_fini(&b);
}

/* A copy has its own idea of where rows lie, and of what is still to be removed. */
static void a_copy_is_as_the_original(void **state)
{
    struct bench b;
    char path[96];
    bool is_stopping = false;
    bench_init(&b);
    fill(&b, 1, 9000);
    flush(&b, 1);
    fill(&b, 1, 700);
    assert_int_equal(store_pin(b.reader, NULL), OK);
    snprintf(path, sizeof path, "%s/copy.db", b.dir);
    assert_int_equal(b.reader->ops->copy(b.reader, path, &is_stopping, NULL), OK);
    store_unpin(b.reader);
    flush(&b, 1);
    bench_close(&b);
    memcpy(b.path, path, sizeof b.path);
    bench_open(&b);
    assert_int_equal(rows_seen(b.reader, 1), 700);
    assert_int_equal(counts_of(&b, 1).entries, 700);
    assert_true(has_garbage(&b));
    clean(&b);
    assert_int_equal(rows_seen(b.reader, 1), 700);
    assert_int_equal(query_number(&b, "SELECT count(*) FROM kv"), 700);
    bench_fini(&b);
}

static void few_rows_are_removed_at_once(void **state)
{
    struct bench b;
    bench_init(&b);
    fill(&b, 1, 100);
    fill(&b, 2, 3);
    flush(&b, 1);
    assert_false(has_garbage(&b));
    assert_int_equal(query_number(&b, "SELECT count(*) FROM kv"), 3);
    assert_int_equal(query_number(&b, "SELECT count(*) FROM places"), 0);
    /* Few, but long. */
    static uint8_t big[100000];
    struct memtable *m = memtable_new(0);
    put(&b, m, key(2, 4), slice_of(big, sizeof big));
    apply(&b, m);
    flush(&b, 2);
    assert_true(has_garbage(&b));
    assert_int_equal(query_number(&b, "SELECT count(*) FROM large"), 1);
    clean(&b);
    assert_int_equal(query_number(&b, "SELECT count(*) FROM large"), 0);
    assert_int_equal(query_number(&b, "SELECT count(*) FROM kv"), 0);
    bench_fini(&b);
}

/* A slice ends by bytes too. */
static void long_values_go_in_slices(void **state)
{
    enum { VALUES = 40 };
    static uint8_t big[1 << 20];
    struct bench b;
    bench_init(&b);
    for (unsigned i = 0; i < VALUES; i++) {
        struct memtable *m = memtable_new(0);
        put(&b, m, key(1, i), slice_of(big, sizeof big));
        apply(&b, m);
    }
    flush(&b, 1);
    int64_t left = query_number(&b, "SELECT count(*) FROM large");
    assert_int_equal(left, VALUES);
    while (left > 0) {
        (void)clean_slice(&b);
        int64_t now = query_number(&b, "SELECT count(*) FROM large");
        assert_in_range(left - now, 1, 9);
        left = now;
    }
    clean(&b);
    assert_false(has_garbage(&b));
    bench_fini(&b);
}

static void many_databases_are_flushed_in_one_short_transaction(void **state)
{
    enum { SMALL = 3000, LARGE = 40, SMALL_ROWS = 5, LARGE_ROWS = 300 };
    struct bench b;
    bench_init(&b);
    struct memtable *m = memtable_new(0);
    for (unsigned d = 0; d < SMALL; d++) {
        unsigned rows = d < LARGE ? LARGE_ROWS : SMALL_ROWS;
        for (unsigned i = 0; i < rows; i++) put(&b, m, key(d, i), slice_str("v"));
    }
    put(&b, m, key(65535, 1), slice_str("stays"));
    apply(&b, m);
    m = memtable_new(0);
    for (unsigned d = 0; d < SMALL; d++) memtable_flush(m, (uint16_t)d, ++b.version);
    int64_t before = changes(&b);
    apply(&b, m);
    /* At most 10,000 rows or so in place, and some of each database for counts and places. */
    assert_in_range(changes(&b) - before, 10000, 11000 + 4 * SMALL);
    for (unsigned d = 0; d < SMALL; d++) {
        assert_int_equal(counts_of(&b, d).entries, 0);
        struct entry e;
        assert_int_equal(store_get(b.reader, key(d, 0), true, &e, NULL), OK);
        assert_false(e.exists);
        store_get_end(b.reader);
    }
    assert_int_equal(query_number(&b, "SELECT count(*) FROM counts"), 1);
    clean(&b);
    assert_int_equal(query_number(&b, "SELECT count(*) FROM kv"), 1);
    assert_int_equal(query_number(&b, "SELECT count(*) FROM forgotten"), 0);
    assert_int_equal(rows_seen(b.reader, 65535), 1);
    bench_fini(&b);
}

/* Where every other place of a database has rows that are still to be removed. */
static void a_database_without_a_free_place_is_emptied_as_it_is(void **state)
{
    enum { ROWS = 45000 };
    struct bench b;
    char sql[100];
    bench_init(&b);
    fill(&b, 1, ROWS);
    fill(&b, 2, 300);
    for (unsigned i = 1; i < 256; i++) {
        snprintf(sql, sizeof sql, "INSERT INTO forgotten VALUES(x'0001%02x00', x'0001%02xff', 1)",
                 i, i);
        run_sql(&b, sql);
    }
    flush(&b, 1);
    assert_int_equal(query_number(&b, "SELECT count(*) FROM kv"), 300);
    assert_int_equal(query_number(&b, "SELECT count(*) FROM places"), 0);
    assert_int_equal(counts_of(&b, 1).entries, 0);
    fill(&b, 1, 1000);
    assert_int_equal(rows_seen(b.reader, 1), 1000);
    /* One that is free is found, wherever it is. */
    run_sql(&b, "DELETE FROM forgotten WHERE start=x'0001c800'");
    flush(&b, 1);
    assert_int_equal(query_number(&b, "SELECT g FROM places WHERE d=1"), 0xc8);
    assert_int_equal(rows_seen(b.reader, 1), 0);
    assert_int_equal(rows_seen(b.reader, 2), 300);
    fill(&b, 1, 20);
    clean(&b); /* the first place has been emptied: the only one that is free */
    flush(&b, 1);
    fill(&b, 1, 1000);
    flush(&b, 1);
    assert_int_equal(query_number(&b, "SELECT g FROM places WHERE d=1"), 0);
    bench_fini(&b);
}

/* The nth write of a flush fails: it is tried again, and all is as if it had not. */
static void a_flush_that_failed_is_done_again(void **state)
{
    enum { ROWS = 2000 };
    bool was_hit = true;
    for (unsigned nth = 1; was_hit; nth++) {
        struct bench b;
        struct store_progress progress;
        bench_init(&b);
        fill(&b, 1, ROWS);
        fill(&b, 2, 20);
        fill(&b, 3, 10);
        struct memtable *m = memtable_new(0);
        memtable_flush(m, 1, ++b.version);
        memtable_flush(m, 2, ++b.version);
        for (unsigned i = 0; i < 30; i++) put(&b, m, key(1, 5 * i), slice_str("new"));
        fault_arm("vfs.write", nth, false);
        enum err r = store_apply(b.store, m, &progress, NULL);
        was_hit = fault_was_hit();
        fault_arm("", 0, false);
        store_progress_fini(&progress);
        assert_true(was_hit || r == OK);
        if (r != OK) {
            unsigned rows = rows_seen(b.reader, 1);
            assert_true(rows == ROWS || rows == 0 || rows == 30);
            assert_int_equal(counts_of(&b, 1).entries, rows);
        }
        if (nth % 2 == 0) reopen(&b);
        apply(&b, m);
        assert_int_equal(rows_seen(b.reader, 1), 30);
        assert_int_equal(rows_seen(b.reader, 2), 0);
        clean(&b);
        assert_int_equal(counts_of(&b, 1).entries, 30);
        assert_int_equal(counts_of(&b, 1).bytes, 30 * 10);
        assert_int_equal(rows_seen(b.reader, 3), 10);
        assert_int_equal(query_number(&b, "SELECT count(*) FROM kv"), 40);
        bench_fini(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_flush_is_short_however_much_there_was),
        cmocka_unit_test(a_reader_from_before_sees_everything),
        cmocka_unit_test(removing_goes_on_after_a_start),
        cmocka_unit_test(a_copy_is_as_the_original),
        cmocka_unit_test(few_rows_are_removed_at_once),
        cmocka_unit_test(long_values_go_in_slices),
        cmocka_unit_test(many_databases_are_flushed_in_one_short_transaction),
        cmocka_unit_test(a_database_without_a_free_place_is_emptied_as_it_is),
        cmocka_unit_test(a_flush_that_failed_is_done_again),
    };
    return cmocka_run_group_tests_name("flush", tests, NULL, NULL);
}
