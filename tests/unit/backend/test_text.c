/* Text indexes of the local backend: what a search finds is what the entries say, while memtables
 * come and go, definitions come and go, an index is being filled, the 1st, 2nd ... nth read or
 * write of the store fails, and after a crash. tsan: yes
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "backend/local/store_int.h"
#include "backend/text.h"
#include "base/clock.h"
#include "base/fault.h"
#include "codec/value.h"
#include "filter/path.h"
#include "search/text.h"
#include "search/text_ops.h"
#include "unit/backend/local_help.h"

#define START_MS 1700000000000
#define KEYS 200

struct bench {
    struct rig rig;
    int64_t now_ms;
    unsigned words[KEYS]; /* the entry's word; 0 = absent */
};

static void bench_open_with(struct bench *t, unsigned threads)
{
    *t = (struct bench){.now_ms = START_MS};
    clock_set_fake_ms(t->now_ms);
    rig_init(&t->rig);
    t->rig.local.text_ops = &search_text_ops;
    t->rig.local.flush_rows = 1; /* a flush moves even two rows */
    t->rig.options.is_inline = threads == 0;
    if (threads > 0) t->rig.options.query_threads = threads;
    rig_open(&t->rig);
}

static void bench_open(struct bench *t)
{
    bench_open_with(t, 0);
}

static void bench_close(struct bench *t)
{
    rig_close(&t->rig);
    rig_fini(&t->rig);
    clock_set_fake_ms(0);
}

static void step(struct bench *t)
{
    clock_set_fake_ms(t->now_ms += 20);
    rig_step(&t->rig);
}

static struct slice text_key_in(unsigned database, unsigned id)
{
    static uint8_t key[KEY_HEAD_BYTES + 4];
    uint32_t big = __builtin_bswap32(id);
    key_head_write(key, (uint16_t)database, BACKEND_SPACE_TEXT);
    memcpy(key + KEY_HEAD_BYTES, &big, sizeof big);
    return slice_of(key, sizeof key);
}

static struct slice text_key(unsigned id)
{
    return text_key_in(0, id);
}

/* Everything in the database, the texts at "t" and "u". */
static void define_in(struct bench *t, unsigned database, unsigned id)
{
    struct arena arena;
    struct buf spec = {0};
    struct text_spec s = {.path_count = 2};
    struct error e;
    arena_init(&arena, 1024);
    assert_int_equal(path_compile(slice_str("t"), &arena, &s.paths[0], &e), OK);
    assert_int_equal(path_compile(slice_str("u"), &arena, &s.paths[1], &e), OK);
    text_spec_write(&s, &spec);
    rig_set(&t->rig, text_key_in(database, id), buf_slice(&spec));
    buf_fini(&spec);
    arena_fini(&arena);
}

static void define(struct bench *t, unsigned id)
{
    define_in(t, 0, id);
}

static void write_word(struct bench *t, unsigned key, unsigned word)
{
    char json[80];
    struct buf value = {0};
    struct error e;
    if (word == 0) {
        rig_delete(&t->rig, key_of(0, "%05u", key));
    } else {
        snprintf(json, sizeof json, "{\"t\":\"w%u all\",\"n\":%u}", word, key);
        assert_int_equal(value_from_json(slice_str(json), NULL, &value, &e), OK);
        rig_set(&t->rig, key_of(0, "%05u", key), buf_slice(&value));
        buf_fini(&value);
    }
    if (key < KEYS) t->words[key] = word;
}

/* ---- searching ---- */

static void told(struct text_request *q)
{
    *(bool *)q->arg = true;
}

static void request_init(struct bench *t, struct text_request *q, unsigned id,
                         const char *expression)
{
    *q = (struct text_request){.id = id,
                               .start = key_low(0),
                               .end = key_high(0),
                               .expression = slice_str(expression),
                               .limit = 100000,
                               .bytes_max = SIZE_MAX,
                               .now_ms = t->now_ms,
                               .column_count = 2,
                               .done = told};
    arena_init(&q->arena, 4096);
}

static void ask(struct bench *t, struct text_request *q, unsigned id, const char *expression)
{
    bool is_done = false;
    request_init(t, q, id, expression);
    q->arg = &is_done;
    backend_search(t->rig.b, q);
    for (int i = 0; i < STEPS_MAX && !is_done; i++) step(t);
    assert_true(is_done);
}

static unsigned number_of(struct slice key)
{
    uint64_t number = 0;
    struct slice digits = slice_of(key.data + KEY_HEAD_BYTES, key.len - KEY_HEAD_BYTES);
    while (digits.len > 1 && digits.data[0] == '0') {
        digits = slice_of(digits.data + 1, digits.len - 1);
    }
    assert_true(slice_to_u64(digits, &number));
    return (unsigned)number;
}

/* Every word finds the entries that have it, and no others. */
static void expect_words(struct bench *t, unsigned id, unsigned words)
{
    for (unsigned word = 1; word <= words; word++) {
        struct text_request q;
        char expression[20];
        unsigned wanted = 0;
        snprintf(expression, sizeof expression, "\"w%u\"", word);
        ask(t, &q, id, expression);
        if (q.result != OK) fail_msg("%s: %s", expression, q.error.text);
        for (unsigned i = 0; i < KEYS; i++) wanted += t->words[i] == word;
        assert_int_equal(q.count, wanted);
        for (size_t i = 0; i < q.count; i++) {
            assert_int_equal(t->words[number_of(q.hits[i].key)], word);
        }
        arena_fini(&q.arena);
    }
}

static void wait_complete(struct bench *t, unsigned id)
{
    for (int i = 0; i < STEPS_MAX; i++) {
        struct text_request q;
        ask(t, &q, id, "");
        enum err r = q.result;
        arena_fini(&q.arena);
        if (r == OK) return;
        if (r != ERR_INDEXING) fail_msg("%s", q.error.text);
        step(t);
    }
    fail_msg("the index is never complete");
}

static void a_search_sees_what_was_just_committed(void **state)
{
    struct bench t;
    bench_open(&t);
    define(&t, 1);
    for (unsigned i = 0; i < 40; i++) {
        write_word(&t, i % 10, 1 + i % 3);
        expect_words(&t, 1, 3);
    }
    for (unsigned i = 0; i < 10; i++) {
        write_word(&t, i, 0);
        expect_words(&t, 1, 3);
    }
    bench_close(&t);
}

static void an_index_is_filled_with_what_was_there(void **state)
{
    struct bench t;
    struct text_request q;
    bench_open(&t);
    for (unsigned i = 0; i < 10; i++) write_word(&t, i, 1);
    rig_apply(&t.rig);
    rig_flush(&t.rig, 0); /* what follows lies elsewhere */
    rig_apply(&t.rig);
    for (unsigned i = 0; i < 3500; i++) write_word(&t, i, 1 + i % 5);
    rig_apply(&t.rig);
    define(&t, 7);
    ask(&t, &q, 7, "\"w1\"");
    assert_int_equal(q.result, ERR_INDEXING);
    assert_in_range(q.percent, 1, 99);
    arena_fini(&q.arena);
    write_word(&t, 0, 9); /* while it is being filled, before and after its position */
    write_word(&t, 199, 9);
    write_word(&t, 100, 0);
    rig_settle(&t.rig);
    rig_crash(&t.rig);
    wait_complete(&t, 7);
    ask(&t, &q, 7, "\"all\"");
    assert_int_equal(q.count, 3499);
    arena_fini(&q.arena);
    ask(&t, &q, 7, "\"w9\"");
    assert_int_equal(q.count, 2);
    arena_fini(&q.arena);
    bench_close(&t);
}

static void indexes_come_and_go_with_their_rows(void **state)
{
    struct bench t;
    struct text_request q;
    bench_open(&t);
    define(&t, 1);
    write_word(&t, 1, 1);
    expect_words(&t, 1, 1);
    rig_delete(&t.rig, text_key(1));
    ask(&t, &q, 1, "\"w1\"");
    assert_int_equal(q.result, ERR_INDEXING); /* nothing is there to be complete */
    arena_fini(&q.arena);
    define(&t, 2);
    wait_complete(&t, 2);
    expect_words(&t, 2, 1);
    rig_flush(&t.rig, 0);
    t.words[1] = 0;
    define(&t, 2); /* as the layer of indexes does it */
    wait_complete(&t, 2);
    expect_words(&t, 2, 1);
    write_word(&t, 1, 1);
    rig_close(&t.rig);
    rig_open(&t.rig);
    expect_words(&t, 2, 1);
    bench_close(&t);
}

static void write_text(struct bench *t, struct slice key)
{
    struct buf value = {0};
    assert_int_equal(value_from_json(slice_str("{\"t\":\"w1\"}"), NULL, &value, NULL), OK);
    rig_set(&t->rig, key, buf_slice(&value));
    buf_fini(&value);
}

static size_t hits_in(struct bench *t, unsigned database)
{
    const uint8_t end[] = {KEY_HEAD(database, STORE_SPACE_COUNTED + 1)};
    struct text_request q = {.result = ERR_INDEXING};
    for (int i = 0; i < STEPS_MAX && q.result == ERR_INDEXING; i++) {
        bool is_done = false;
        if (i > 0) arena_fini(&q.arena);
        request_init(t, &q, 1, "\"w1\"");
        q.database = (uint16_t)database;
        q.start = key_low(database);
        q.end = slice_of(end, sizeof end);
        q.arg = &is_done;
        backend_search(t->rig.b, &q);
        for (int k = 0; k < STEPS_MAX && !is_done; k++) step(t);
        assert_true(is_done);
    }
    if (q.result != OK) fail_msg("database %u: %s", database, q.error.text);
    size_t count = q.count;
    arena_fini(&q.arena);
    return count;
}

static void an_index_of_any_database_is_found_after_a_start(void **state)
{
    static const unsigned databases[] = {0, 44, 300, 65535}; /* 300 and 44 have one byte alike */
    struct bench t;
    bench_open(&t);
    for (unsigned i = 0; i < 4; i++) {
        if (databases[i] != 44) define_in(&t, databases[i], 1);
        write_text(&t, key_of(databases[i], "a"));
    }
    rig_close(&t.rig);
    rig_open(&t.rig);
    for (unsigned i = 0; i < 4; i++) {
        if (databases[i] == 44) continue;
        write_text(&t, key_of(databases[i], "b"));
        assert_int_equal(hits_in(&t, databases[i]), 2);
    }
    bench_close(&t);
}

static int64_t count_tables(struct bench *t)
{
    sqlite3 *db = sqlite_of(pipeline_of(t->rig.b)->stored.store)->db;
    sqlite3_stmt *stmt = NULL;
    const char *sql = "SELECT count(*) FROM sqlite_master WHERE name LIKE 'text%' OR name LIKE "
                      "'doc%'";
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
    int64_t n = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    return n;
}

/* Dropped, and flushed: gone at once for searches, from the disk in slices. */
static void tables_of_an_index_that_is_gone_go_in_slices(void **state)
{
    enum { ENTRIES = 30000, PART = 500 };
    struct bench t;
    bench_open(&t);
    int64_t tables = count_tables(&t);
    define(&t, 1);
    for (unsigned i = 0; i < ENTRIES; i++) {
        write_word(&t, i, 1);
        if (i % PART == 0) rig_apply(&t.rig);
    }
    rig_apply(&t.rig);
    struct pipeline *p = pipeline_of(t.rig.b);
    sqlite3 *db = sqlite_of(p->stored.store)->db;
    p->clean.again_us = INT64_MAX; /* not by itself */
    int64_t before = sqlite3_total_changes64(db);
    rig_delete(&t.rig, text_key(1));
    rig_apply(&t.rig);
    assert_in_range(sqlite3_total_changes64(db) - before, 1, 20);
    define(&t, 1); /* another one, of the same name */
    wait_complete(&t, 1);
    assert_int_equal(hits_in(&t, 0), ENTRIES);
    unsigned slices = 0;
    for (bool has_more = true; has_more; slices++) {
        struct store_progress progress;
        before = sqlite3_total_changes64(db);
        assert_int_equal(store_clean(p->stored.store, &progress, &has_more, NULL), OK);
        store_progress_fini(&progress);
        assert_in_range(sqlite3_total_changes64(db) - before, 0, 26000);
        if (slices == 1) rig_crash(&t.rig);
        p = pipeline_of(t.rig.b);
        db = sqlite_of(p->stored.store)->db;
        p->clean.again_us = INT64_MAX;
    }
    assert_in_range(slices, 4, 100);
    assert_int_equal(hits_in(&t, 0), ENTRIES);
    rig_flush(&t.rig, 0);
    rig_apply(&t.rig);
    p->clean.again_us = 0;
    for (int i = 0; count_tables(&t) > tables; i++) {
        assert_true(i < STEPS_MAX);
        step(&t);
    }
    bench_close(&t);
}

/* The barrier is for those whose entries are concerned: others do not wait, and cause no apply. */
static void a_search_waits_for_writes_below_its_prefix_only(void **state)
{
    struct bench t;
    struct text_request q;
    bench_open(&t);
    define(&t, 1);
    write_word(&t, 1, 1);
    expect_words(&t, 1, 1);
    rig_apply(&t.rig);
    struct backend_stats before;
    struct backend_stats after;
    backend_stats(t.rig.b, &before);
    rig_set(&t.rig, key_of(1, "another database"), slice_str("\x01"));
    ask(&t, &q, 1, "\"w1\"");
    assert_int_equal(q.count, 1);
    arena_fini(&q.arena);
    backend_stats(t.rig.b, &after);
    assert_int_equal(after.applies, before.applies);
    assert_true(after.applied < after.version);
    write_word(&t, 2, 1);
    expect_words(&t, 1, 1);
    backend_stats(t.rig.b, &after);
    assert_int_equal(after.applies, before.applies + 1);
    assert_int_equal(after.applied, after.version);
    bench_close(&t);
}

/* Several at once, while entries are written and another index is filled. */
static void searches_run_beside_writes_and_filling(void **state)
{
    enum { SEARCHES = 20 };
    struct bench t;
    bench_open_with(&t, 2);
    define(&t, 1);
    for (unsigned i = 0; i < 1500; i++) write_word(&t, i, 1 + i % 5);
    rig_apply(&t.rig);
    define(&t, 2);
    for (unsigned round = 0; round < 5; round++) {
        struct text_request requests[SEARCHES];
        bool are_done[SEARCHES] = {false};
        for (unsigned i = 0; i < SEARCHES; i++) {
            request_init(&t, &requests[i], 1, "\"all\"");
            requests[i].arg = &are_done[i];
            backend_search(t.rig.b, &requests[i]);
            write_word(&t, (round * SEARCHES + i) % KEYS, 1 + i % 5);
        }
        for (unsigned i = 0; i < SEARCHES; i++) {
            for (int k = 0; k < STEPS_MAX && !are_done[i]; k++) step(&t);
            assert_true(are_done[i]);
            assert_int_equal(requests[i].result, OK);
            assert_int_equal(requests[i].count, 1500); /* overwriting changes no number */
            arena_fini(&requests[i].arena);
        }
    }
    wait_complete(&t, 2);
    struct text_request q;
    ask(&t, &q, 2, "\"all\"");
    assert_int_equal(q.count, 1500);
    arena_fini(&q.arena);
    bench_close(&t);
}

/* ---- versions ---- */

/* As the first versions of the program made texts. */
static enum err read_as_before(struct slice spec, struct arena *arena, struct text_definition *out,
                               struct error *e)
{
    enum err r = search_text_ops.read(spec, arena, out, e);
    if (r == OK) out->tokenize = "unicode61 remove_diacritics 2";
    return r;
}

static size_t hits_of(struct bench *t, const char *expression)
{
    struct text_request q;
    ask(t, &q, 1, expression);
    if (q.result != OK) fail_msg("%s: %s", expression, q.error.text);
    size_t count = q.count;
    arena_fini(&q.arena);
    return count;
}

static void forget_versions(struct bench *t)
{
    sqlite3 *db = sqlite_of(pipeline_of(t->rig.b)->stored.store)->db;
    char *why = NULL;
    if (sqlite3_exec(db, "ALTER TABLE text DROP COLUMN version", NULL, NULL, &why) != SQLITE_OK) {
        fail_msg("%s", why);
    }
}

static void an_index_of_another_version_is_filled_anew(void **state)
{
    struct text_ops before = search_text_ops;
    struct bench t;
    struct buf value = {0};
    bench_open(&t);
    rig_close(&t.rig);
    before.read = read_as_before;
    before.version = 1;
    t.rig.local.text_ops = &before;
    rig_open(&t.rig);
    int64_t tables = count_tables(&t);
    define(&t, 1);
    assert_int_equal(value_from_json(slice_str("{\"t\":\"Stra\xc3\x9f"
                                               "e w1\"}"),
                                     NULL, &value, NULL),
                     OK);
    rig_set(&t.rig, key_of(0, "1"), buf_slice(&value));
    wait_complete(&t, 1);
    assert_int_equal(hits_of(&t, "\"w1\""), 1);
    assert_int_equal(hits_of(&t, "\"strasse\""), 0);
    int64_t of_one = count_tables(&t) - tables;
    forget_versions(&t); /* the first versions had no such column */
    rig_close(&t.rig);
    t.rig.local.text_ops = &search_text_ops;
    rig_open(&t.rig);
    wait_complete(&t, 1);
    assert_int_equal(hits_of(&t, "\"w1\""), 1);
    assert_int_equal(hits_of(&t, "\"strasse\""), 1);
    for (int i = 0; count_tables(&t) > tables + of_one; i++) { /* those of before go */
        assert_true(i < STEPS_MAX);
        step(&t);
    }
    rig_crash(&t.rig); /* of this version: it stays as it is */
    assert_int_equal(hits_of(&t, "\"strasse\""), 1);
    buf_fini(&value);
    bench_close(&t);
}

/* ---- faults ---- */

/* Some work that is applied to the store; with a fault it is applied later. */
static void work(struct bench *t, unsigned round)
{
    if (round == 1) define(t, 1);
    for (unsigned i = 0; i < 30; i++) write_word(t, (i * 7 + round) % KEYS, (i + round) % 4);
    if (round == 2) define(t, 2);
    if (round == 3) rig_delete(&t->rig, text_key(2));
    rig_settle(&t->rig);
    pipeline_freeze(pipeline_of(t->rig.b));
    for (int i = 0; i < 40; i++) step(t);
}

static void run_with_fault(const char *point, uint64_t nth, bool *was_hit)
{
    struct bench t;
    bench_open(&t);
    work(&t, 1);
    fault_arm(point, nth, false);
    work(&t, 2);
    work(&t, 3);
    *was_hit = fault_was_hit();
    fault_arm("", 0, false);
    for (int i = 0; i < 1000 && pipeline_of(t.rig.b)->newest.frozen_count > 0; i++) step(&t);
    wait_complete(&t, 1);
    expect_words(&t, 1, 3);
    rig_crash(&t.rig);
    wait_complete(&t, 1);
    expect_words(&t, 1, 3);
    bench_close(&t);
}

static void no_failing_read_or_write_leaves_an_index_wrong(void **state)
{
    static const char *const points[] = {"vfs.write", "vfs.sync", "vfs.read"};
    for (size_t i = 0; i < sizeof points / sizeof *points; i++) {
        bool was_hit = true;
        uint64_t nth = 1;
        /* Every one of the first, then larger steps: they are many and alike. */
        for (; was_hit; nth += 1 + nth / 8) run_with_fault(points[i], nth, &was_hit);
        print_message("# %s: up to the %lluth\n", points[i], (unsigned long long)nth);
        assert_true(nth > 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_search_sees_what_was_just_committed),
        cmocka_unit_test(an_index_is_filled_with_what_was_there),
        cmocka_unit_test(indexes_come_and_go_with_their_rows),
        cmocka_unit_test(an_index_of_any_database_is_found_after_a_start),
        cmocka_unit_test(tables_of_an_index_that_is_gone_go_in_slices),
        cmocka_unit_test(a_search_waits_for_writes_below_its_prefix_only),
        cmocka_unit_test(searches_run_beside_writes_and_filling),
        cmocka_unit_test(an_index_of_another_version_is_filled_anew),
        cmocka_unit_test(no_failing_read_or_write_leaves_an_index_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
