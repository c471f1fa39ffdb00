/* store: applies of random memtables against a model: rows, counts, ranges, pinned readers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "backend/local/page_sum.h"
#include "backend/local/store_int.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/random.h"

#define KEYS 300
#define DATABASES 2

/* Version that wrote the key, 0 = absent. */
struct model {
    uint64_t at[DATABASES][KEYS];
    uint64_t other[DATABASES][KEYS]; /* likewise, in a space that is not counted */
};

struct bench {
    char dir[64];
    char path[80];
    uint64_t flush_rows; /* sqlite_options */
    struct store *store;
    struct store_reader *reader; /* what it should see is in `model` */
    struct rng rng;
    uint64_t version;
    struct model model;
};

static void bench_open(struct bench *b)
{
    struct sqlite_options options = {.path = b->path,
                                     .cache_bytes = 1 << 20,
                                     .reader_cache_bytes = 1 << 20,
                                     .flush_rows = b->flush_rows};
    assert_int_equal(sqlite_open(&options, &b->store, NULL), OK);
    assert_int_equal(store_reader_open(b->store, &b->reader, NULL), OK);
}

static void bench_close(struct bench *b)
{
    store_reader_close(b->reader);
    store_close(b->store);
}

static void bench_init(struct bench *b, uint64_t seed)
{
    log_set_level(LOG_LEVEL_NOTHING);
    *b = (struct bench){.dir = "/tmp/test_store.XXXXXX"};
    assert_non_null(mkdtemp(b->dir));
    snprintf(b->path, sizeof b->path, "%s/tupled.db", b->dir);
    rng_init(&b->rng, seed);
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

static struct slice key_in(unsigned database, unsigned space, unsigned number)
{
    static char keys[8][16];
    static unsigned next;
    char *k = keys[next++ % 8];
    char *rest = (char *)key_head_write((uint8_t *)k, (uint16_t)database, (uint8_t)space);
    int len = snprintf(rest, sizeof keys[0] - KEY_HEAD_BYTES, "%06u", number);
    return slice_of(k, (size_t)len + KEY_HEAD_BYTES);
}

static struct slice key(unsigned database, unsigned number)
{
    return key_in(database, STORE_SPACE_COUNTED, number);
}

/* Empty, short, just short enough for a row, one byte more, several pages. */
static struct slice value_of(uint64_t version)
{
    static char text[3 * PAGE_BYTES];
    static const size_t lengths[] = {STORE_INLINE_MAX, STORE_INLINE_MAX + 1, sizeof text};
    memset(text, (int)('a' + version % 26), sizeof text);
    int len = snprintf(text, sizeof text, "v%llu", (unsigned long long)version);
    if (version % 7 == 0) return slice_of(text, 0);
    text[len] = 'v';
    return slice_of(text, version % 7 > 4 ? lengths[version % 3] : (size_t)len);
}

static void put(struct memtable *m, enum mutation_kind kind, struct slice k, uint64_t version)
{
    struct mutation mu = {.kind = kind, .key = k};
    if (kind == MUTATION_SET) {
        mu.value = value_of(version);
        mu.expiry_ms = (int64_t)version * 2;
    }
    memtable_put(m, hash_bytes(k), &mu, version);
}

/* Writes that the model follows. */
static void random_writes(struct bench *b, struct memtable *m, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        unsigned database = (unsigned)rng_below(&b->rng, DATABASES);
        unsigned number = (unsigned)rng_below(&b->rng, KEYS);
        uint64_t what = rng_below(&b->rng, 100);
        uint64_t version = ++b->version;
        if (what == 0) {
            memtable_flush(m, (uint16_t)database, version);
            memset(b->model.at[database], 0, sizeof b->model.at[database]);
            memset(b->model.other[database], 0, sizeof b->model.other[database]);
        } else if (what < 35) {
            put(m, MUTATION_DELETE, key(database, number), version);
            b->model.at[database][number] = 0;
        } else {
            put(m, MUTATION_SET, key(database, number), version);
            b->model.at[database][number] = version;
        }
        /* Other spaces are stored and flushed with the rest, but only their bytes are counted. */
        if (what > 95) {
            put(m, MUTATION_SET, key_in(database, 2, number), version);
            b->model.other[database][number] = version;
        }
    }
}

static void apply(struct bench *b, struct memtable *m)
{
    struct store_progress progress;
    assert_int_equal(store_apply(b->store, m, &progress, NULL), OK);
    assert_int_equal(progress.applied, m->version_last);
    store_progress_fini(&progress);
    if (memtable_unref(m)) memtable_free(m);
}

static void check_gets(struct bench *b)
{
    for (unsigned database = 0; database < DATABASES; database++) {
        for (unsigned i = 0; i < KEYS; i++) {
            struct entry e;
            uint64_t want = b->model.at[database][i];
            assert_int_equal(store_get(b->reader, key(database, i), true, &e, NULL), OK);
            assert_int_equal(e.exists, want != 0);
            if (want != 0) {
                assert_int_equal(e.version, want);
                assert_int_equal(e.expiry_ms, want * 2);
                assert_true(slice_eq(e.value, value_of(want)));
            }
            store_get_end(b->reader);
        }
    }
}

/* Reads a range page by page and compares. */
static void check_range(struct bench *b, unsigned database, unsigned from, unsigned to,
                        bool is_reverse, size_t rows_max)
{
    struct store_chunk c;
    struct buf start;
    struct buf end;
    buf_init(&start);
    buf_init(&end);
    store_chunk_init(&c);
    struct slice k = key(database, from);
    buf_append(&start, k.data, k.len);
    k = key(database, to);
    buf_append(&end, k.data, k.len);
    bool is_last = false;
    while (!is_last) {
        struct store_fetch f = {.start = buf_slice(&start),
                                .end = buf_slice(&end),
                                .is_reverse = is_reverse,
                                .with_values = rows_max % 2 == 0,
                                .may_wait = true,
                                .rows_max = rows_max};
        assert_int_equal(store_fetch(b->reader, &f, &c, NULL), OK);
        assert_true(c.is_last || c.count == rows_max);
        is_last = c.is_last;
        for (size_t i = 0; i < c.count; i++) {
            if (is_reverse) {
                while (to > from && b->model.at[database][to - 1] == 0) to--;
            } else {
                while (from < to && b->model.at[database][from] == 0) from++;
            }
            assert_true(from < to);
            unsigned number = is_reverse ? --to : from++;
            uint64_t version = b->model.at[database][number];
            assert_true(slice_eq(c.rows[i].key, key(database, number)));
            assert_int_equal(c.rows[i].version, version);
            assert_int_equal(c.rows[i].expiry_ms, version * 2);
            struct slice want = f.with_values ? value_of(version) : slice_of(NULL, 0);
            assert_true(slice_eq(c.rows[i].value, want));
        }
        if (c.count == 0) break;
        struct buf *bound = is_reverse ? &end : &start;
        buf_clear(bound, SIZE_MAX);
        buf_append(bound, c.rows[c.count - 1].key.data, c.rows[c.count - 1].key.len);
        if (!is_reverse) buf_append_byte(bound, 0);
    }
    while (from < to) assert_int_equal(b->model.at[database][from++], 0);
    store_chunk_fini(&c);
    buf_fini(&start);
    buf_fini(&end);
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

/* Every large value belongs to one entry, and every entry has what it names. */
static int64_t check_large(struct bench *b)
{
    int64_t count = query_number(b, "SELECT count(*) FROM large");
    assert_int_equal(query_number(b, "SELECT count(*) FROM kv WHERE typeof(v)='integer'"), count);
    assert_int_equal(query_number(b, "SELECT count(DISTINCT v) FROM kv WHERE typeof(v)='integer' "
                                     "AND v IN (SELECT id FROM large)"),
                     count);
    return count;
}

static struct store_counts counts_of(struct bench *b, unsigned database)
{
    struct store_progress state;
    b->store->ops->state(b->store, &state);
    struct store_counts c = store_counts_get(&state.counts, (uint16_t)database);
    store_progress_fini(&state);
    return c;
}

static uint64_t bytes_of(unsigned number, uint64_t version)
{
    return version == 0 ? 0 : key(0, number).len - KEY_HEAD_BYTES + value_of(version).len;
}

static void check_counts(struct bench *b)
{
    for (unsigned database = 0; database < DATABASES; database++) {
        struct store_counts c = counts_of(b, database);
        uint64_t live = 0;
        uint64_t bytes = 0;
        for (unsigned i = 0; i < KEYS; i++) {
            live += b->model.at[database][i] != 0;
            bytes += bytes_of(i, b->model.at[database][i]) +
                     bytes_of(i, b->model.other[database][i]);
        }
        assert_int_equal(c.entries, live);
        assert_int_equal(c.expiring, live);
        assert_int_equal(c.bytes, bytes);
    }
}

static uint64_t applied_of(struct bench *b)
{
    struct store_progress state;
    b->store->ops->state(b->store, &state);
    store_progress_fini(&state);
    return state.applied;
}

static void check_all(struct bench *b)
{
    check_gets(b);
    for (unsigned i = 0; i < 4; i++) {
        unsigned from = (unsigned)rng_below(&b->rng, KEYS);
        unsigned to = from + (unsigned)rng_below(&b->rng, KEYS - from);
        check_range(b, i % 2, from, to, i / 2, 1 + rng_below(&b->rng, 40));
    }
}

static bool clean_slice(struct bench *b)
{
    bool has_more = false;
    struct store_progress progress;
    assert_int_equal(store_clean(b->store, &progress, &has_more, NULL), OK);
    store_progress_fini(&progress);
    return has_more;
}

/* Another reader, and what it should see as long as it is pinned. */
struct pinned {
    struct store_reader *reader; /* NULL = none */
    struct model seen;
};

static void pinned_open(struct bench *b, struct pinned *p)
{
    assert_int_equal(store_reader_open(b->store, &p->reader, NULL), OK);
    assert_int_equal(store_pin(p->reader, NULL), OK);
    p->seen = b->model;
}

static void pinned_close(struct pinned *p)
{
    store_reader_close(p->reader);
    p->reader = NULL;
}

static void pinned_check(struct bench *b, const struct pinned *p)
{
    struct bench now = *b;
    b->reader = p->reader;
    b->model = p->seen;
    check_all(b);
    b->reader = now.reader;
    b->model = now.model;
}

/* `flush_rows` 1: every flush moves a database to another place. */
static void random_applies(uint64_t seed, uint64_t flush_rows)
{
    struct bench b;
    struct pinned pinned = {0};
    int64_t large = 0;
    bench_init(&b, seed);
    bench_close(&b);
    b.flush_rows = flush_rows;
    bench_open(&b);
    for (unsigned round = 0; round < 25; round++) {
        struct memtable *m = memtable_new(0);
        random_writes(&b, m, 1 + (unsigned)rng_below(&b.rng, 200));
        apply(&b, m);
        check_counts(&b);
        check_all(&b);
        large += check_large(&b);
        if (pinned.reader != NULL) pinned_check(&b, &pinned);
        if (rng_below(&b.rng, 2) == 0) (void)clean_slice(&b);
        if (pinned.reader != NULL && rng_below(&b.rng, 3) == 0) {
            pinned_check(&b, &pinned);
            pinned_close(&pinned);
        } else if (pinned.reader == NULL) {
            pinned_open(&b, &pinned);
        }
        if (round % 8 == 7) {
            uint64_t applied = applied_of(&b);
            pinned_close(&pinned);
            bench_close(&b);
            bench_open(&b);
            assert_int_equal(applied_of(&b), applied);
            check_counts(&b);
        }
    }
    pinned_close(&pinned);
    while (clean_slice(&b)) continue;
    check_all(&b);
    check_counts(&b);
    if (flush_rows == 1) assert_true(query_number(&b, "SELECT count(*) FROM places") > 0);
    assert_true(large > 0);
    bench_fini(&b);
}

static void random_applies_leave_what_the_model_says(void **state)
{
    for (uint64_t seed = 1; seed <= 3; seed++) random_applies(seed, 1000);
    for (uint64_t seed = 4; seed <= 9; seed++) random_applies(seed, 1);
}

/* SQLite compares keys with whole rows: a value of megabytes must not be one. */
static void a_look_up_does_not_read_the_values_that_it_passes(void **state)
{
    enum { ENTRIES = 2000 };
    static uint8_t big[4 << 20];
    struct bench b;
    struct store_found found = {0};
    struct vfs_collected read = {.found = &found};
    bench_init(&b, 1);
    struct memtable *m = memtable_new(0);
    for (unsigned i = 0; i < ENTRIES; i++) {
        struct slice value = slice_of(big, i % 400 == 200 ? sizeof big : 100);
        struct mutation mu = {.kind = MUTATION_SET, .key = key(0, i), .value = value};
        memtable_put(m, hash_bytes(mu.key), &mu, 1 + i);
    }
    apply(&b, m);
    vfs_collect(&read);
    for (unsigned i = 0; i < ENTRIES; i++) {
        struct entry e;
        if (i % 400 == 200) continue;
        assert_int_equal(store_get(b.reader, key(0, i), true, &e, NULL), OK);
        assert_true(e.exists && e.value.len == 100);
        store_get_end(b.reader);
    }
    vfs_collect(NULL);
    assert_in_range(found.pages, 10, 300); /* one of the large values has 1,024 */
    bench_fini(&b);
}

static void a_pinned_reader_sees_the_old_state_until_it_is_unpinned(void **state)
{
    struct bench b;
    struct entry e;
    bench_init(&b, 9);
    struct memtable *m = memtable_new(0);
    put(m, MUTATION_SET, key(0, 1), 1);
    put(m, MUTATION_SET, key(0, 2), 2);
    apply(&b, m);
    assert_int_equal(store_pin(b.reader, NULL), OK);
    m = memtable_new(0);
    put(m, MUTATION_DELETE, key(0, 1), 3);
    put(m, MUTATION_SET, key(0, 2), 4);
    put(m, MUTATION_SET, key(0, 3), 5);
    apply(&b, m);
    for (unsigned i = 1; i <= 3; i++) {
        assert_int_equal(store_get(b.reader, key(0, i), true, &e, NULL), OK);
        assert_int_equal(e.version, i < 3 ? i : 0);
        store_get_end(b.reader);
    }
    store_unpin(b.reader);
    store_unpin(b.reader);
    uint64_t now[] = {0, 0, 4, 5};
    for (unsigned i = 1; i <= 3; i++) {
        assert_int_equal(store_get(b.reader, key(0, i), true, &e, NULL), OK);
        assert_int_equal(e.version, now[i]);
        store_get_end(b.reader);
    }
    bench_fini(&b);
}

/* A pin that fails leaves no transaction behind: later reads see what is new. */
static void a_failed_pin_leaves_the_reader_as_it_was(void **state)
{
    unsigned failures = 0;
    for (unsigned nth = 1; nth < 6; nth++) {
        struct bench b;
        struct entry e;
        bench_init(&b, 9);
        struct memtable *m = memtable_new(0);
        put(m, MUTATION_SET, key(0, 1), 1);
        apply(&b, m);
        fault_arm("vfs.", nth, false);
        enum err r = store_pin(b.reader, NULL);
        fault_arm("", 0, false);
        failures += r != OK;
        if (r == OK) store_unpin(b.reader);
        m = memtable_new(0);
        put(m, MUTATION_SET, key(0, 1), 2);
        apply(&b, m);
        assert_int_equal(store_get(b.reader, key(0, 1), true, &e, NULL), OK);
        assert_int_equal(e.version, 2);
        store_get_end(b.reader);
        assert_int_equal(store_pin(b.reader, NULL), OK);
        bench_fini(&b);
    }
    assert_true(failures > 0);
}

static void a_read_that_would_wait_is_refused_and_harms_nothing(void **state)
{
    struct bench b;
    struct entry e;
    struct store_chunk c;
    bench_init(&b, 2);
    struct memtable *m = memtable_new(0);
    random_writes(&b, m, 500);
    apply(&b, m);
    store_chunk_init(&c);
    fault_arm("vfs.nowait", 1, true);
    struct store_fetch f = {.start = key(0, 0), .end = key(0, KEYS), .rows_max = 10};
    for (int i = 0; i < 5; i++) {
        assert_int_equal(store_get(b.reader, key(0, 1), false, &e, NULL), ERR_WAIT);
        assert_int_equal(store_fetch(b.reader, &f, &c, NULL), ERR_WAIT);
        assert_int_equal(store_pin(b.reader, NULL), OK);
        store_unpin(b.reader);
    }
    check_gets(&b);
    check_range(&b, 1, 0, KEYS, false, 7);
    fault_arm("", 0, false);
    assert_int_equal(store_fetch(b.reader, &f, &c, NULL), OK);
    store_chunk_fini(&c);
    bench_fini(&b);
}

static void check_entries(struct bench *b, uint64_t count)
{
    assert_int_equal(counts_of(b, 0).entries, count);
}

/* An apply of several slices that stops in the middle: the counts are those of the rows. */
static void counts_are_exact_after_an_apply_that_failed_halfway(void **state)
{
    enum { ROWS = 45000 }; /* three slices */
    for (unsigned nth = 100; nth < 3000; nth += 700) {
        struct bench b;
        struct store_progress progress;
        bench_init(&b, nth);
        struct memtable *m = memtable_new(0);
        for (unsigned i = 0; i < ROWS; i++) put(m, MUTATION_SET, key(0, i), 1 + i);
        fault_arm("vfs.write", nth, true);
        enum err r = store_apply(b.store, m, &progress, NULL);
        fault_arm("", 0, false);
        store_progress_fini(&progress);
        if (r != OK) assert_int_equal(applied_of(&b), 0);
        uint64_t entries = counts_of(&b, 0).entries;
        uint64_t rows = 0;
        struct entry e;
        for (unsigned i = 0; i < ROWS; i++) {
            assert_int_equal(store_get(b.reader, key(0, i), true, &e, NULL), OK);
            rows += e.exists;
            store_get_end(b.reader);
        }
        assert_int_equal(rows, entries);
        apply(&b, m);
        check_entries(&b, ROWS);
        bench_fini(&b);
    }
}

/* Nothing is left of a database after the first slice, and the second one fails. */
static void a_database_that_became_empty_is_counted_as_empty(void **state)
{
    enum { ROWS = 25000, FIRST = 100 };
    unsigned halfway = 0;
    for (unsigned nth = 50; nth < 500; nth += 50) {
        struct bench b;
        struct store_progress progress;
        bench_init(&b, nth);
        struct memtable *m = memtable_new(0);
        for (unsigned i = 0; i < FIRST; i++) put(m, MUTATION_SET, key(0, i), 1 + i);
        apply(&b, m);
        m = memtable_new(0);
        for (unsigned i = 0; i < FIRST; i++) put(m, MUTATION_DELETE, key(0, i), 1000 + i);
        for (unsigned i = 0; i < ROWS; i++) {
            struct mutation mu = {.kind = MUTATION_SET, .key = key(1, i), .value = slice_str("v")};
            memtable_put(m, hash_bytes(mu.key), &mu, 2000 + i);
        }
        fault_arm("vfs.write", nth, true);
        enum err r = store_apply(b.store, m, &progress, NULL);
        fault_arm("", 0, false);
        store_progress_fini(&progress);
        uint64_t rows = (uint64_t)query_number(&b, "SELECT count(*) FROM kv");
        assert_int_equal(counts_of(&b, 0).entries + counts_of(&b, 1).entries, rows);
        halfway += r != OK && rows > FIRST;
        apply(&b, m);
        check_entries(&b, 0);
        assert_int_equal(counts_of(&b, 0).bytes, 0);
        assert_int_equal(counts_of(&b, 1).entries, ROWS);
        bench_fini(&b);
    }
    assert_true(halfway > 0);
}

/* The journal is let go once the store has it: then the store must be on the disk at each COMMIT. */
static void every_commit_of_the_store_is_synced(void **state)
{
    struct bench b;
    sqlite3_stmt *stmt = NULL;
    bench_init(&b, 1);
    for (int i = 0; i < 2; i++) {
        const char *sql = i == 0 ? "PRAGMA synchronous" : "PRAGMA journal_mode";
        assert_int_equal(sqlite3_prepare_v2(sqlite_of(b.store)->db, sql, -1, &stmt, NULL),
                         SQLITE_OK);
        assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
        assert_string_equal(sqlite3_column_text(stmt, 0), i == 0 ? "2" : "wal");
        sqlite3_finalize(stmt);
    }
    bench_fini(&b);
}

static void a_page_ends_after_about_a_megabyte(void **state)
{
    struct bench b;
    struct store_chunk c;
    static uint8_t big[300000];
    bench_init(&b, 1);
    struct memtable *m = memtable_new(0);
    for (unsigned i = 0; i < 10; i++) {
        struct mutation mu = {
            .kind = MUTATION_SET, .key = key(0, i), .value = slice_of(big, sizeof big)};
        memtable_put(m, hash_bytes(mu.key), &mu, 1 + i);
    }
    apply(&b, m);
    store_chunk_init(&c);
    struct store_fetch f = {.start = key(0, 0),
                            .end = key(0, 99),
                            .with_values = true,
                            .may_wait = true,
                            .rows_max = 100};
    assert_int_equal(store_fetch(b.reader, &f, &c, NULL), OK);
    assert_int_equal(c.count, 4);
    assert_false(c.is_last);
    f.with_values = false;
    assert_int_equal(store_fetch(b.reader, &f, &c, NULL), OK);
    assert_int_equal(c.count, 10);
    assert_true(c.is_last);
    store_chunk_fini(&c);
    bench_fini(&b);
}

/* Of each allocation that a page needs for its values one fails: it says so, and the next page is
 * whole. */
static void a_page_without_memory_says_so(void **state)
{
    enum { ROWS = 4 };
    static char value[100000];
    struct bench b;
    struct store_chunk c;
    unsigned said = 0;
    bench_init(&b, 3);
    struct memtable *m = memtable_new(0);
    for (unsigned i = 0; i < ROWS; i++) {
        struct mutation mu = {
            .kind = MUTATION_SET, .key = key(0, i), .value = slice_of(value, sizeof value)};
        memtable_put(m, hash_bytes(mu.key), &mu, 1 + i);
    }
    apply(&b, m);
    store_chunk_init(&c);
    struct store_fetch f = {
        .start = key(0, 0), .end = key(0, ROWS), .may_wait = true, .rows_max = ROWS};
    assert_int_equal(store_fetch(b.reader, &f, &c, NULL), OK); /* the keys have their memory */
    f.with_values = true;
    for (unsigned nth = 1;; nth++) {
        struct error e = {.text = ""};
        fault_arm("mem.try", nth, false);
        enum err r = store_fetch(b.reader, &f, &c, &e);
        bool was_hit = fault_was_hit();
        fault_arm("", 0, false);
        if (!was_hit) break;
        assert_int_equal(r, ERR_NOMEM);
        said += strcmp(e.text, "out of memory for a page") == 0;
        assert_int_equal(store_fetch(b.reader, &f, &c, &e), OK);
        assert_int_equal(c.count, ROWS);
    }
    assert_true(said > 0);
    store_chunk_fini(&c);
    bench_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_applies_leave_what_the_model_says),
        cmocka_unit_test(a_look_up_does_not_read_the_values_that_it_passes),
        cmocka_unit_test(a_pinned_reader_sees_the_old_state_until_it_is_unpinned),
        cmocka_unit_test(a_failed_pin_leaves_the_reader_as_it_was),
        cmocka_unit_test(a_read_that_would_wait_is_refused_and_harms_nothing),
        cmocka_unit_test(counts_are_exact_after_an_apply_that_failed_halfway),
        cmocka_unit_test(a_database_that_became_empty_is_counted_as_empty),
        cmocka_unit_test(every_commit_of_the_store_is_synced),
        cmocka_unit_test(a_page_ends_after_about_a_megabyte),
        cmocka_unit_test(a_page_without_memory_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
