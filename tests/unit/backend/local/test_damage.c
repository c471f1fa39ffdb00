/* Damage in tupled.db: what cannot be what was written is an error that says where, never an answer;
 * all else goes on.
 */
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "backend/local/page_sum.h"
#include "backend/local/store_int.h"
#include "base/file.h"
#include "base/random.h"
#include "unit/backend/local_help.h"

#define ENTRIES 400
#define FLIPS 300

/* ---- pages ---- */

static void a_flipped_bit_of_a_page_is_seen(void **state)
{
    struct rng rnd;
    uint8_t page[PAGE_BYTES];
    rng_init(&rnd, 1);
    for (int i = 0; i < 200; i++) {
        for (size_t k = 0; k < sizeof page; k++) page[k] = (uint8_t)rng_below(&rnd, 256);
        page_sum_put(page, 7);
        assert_int_equal(page_sum_check(page, 7), PAGE_GOOD);
        assert_int_equal(page_sum_check(page, 8), PAGE_DAMAGED);
        size_t bit = rng_below(&rnd, 8 * sizeof page);
        page[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_int_equal(page_sum_check(page, 7), PAGE_DAMAGED);
    }
}

static void a_page_of_zeros_is_good_only_with_its_sum(void **state)
{
    uint8_t page[PAGE_BYTES] = {0};
    assert_int_equal(page_sum_check(page, 3), PAGE_BLANK);
    page_sum_put(page, 3);
    assert_int_equal(page_sum_check(page, 3), PAGE_GOOD);
    assert_int_equal(page_sum_check(page, 4), PAGE_DAMAGED);
}

/* ---- the database file ---- */

static struct slice value_of(unsigned i, uint8_t *space)
{
    /* Some fill pages of their own, one of them with zeros. */
    size_t len = i % 40 == 0 ? 9000 : 20 + i % 50;
    memset(space, i == 80 ? 0 : (int)('a' + i % 26), len);
    snprintf((char *)space, 12, "%u", i);
    return slice_of(space, len);
}

static void fill(struct rig *r)
{
    uint8_t space[10000];
    rig_init(r);
    rig_open(r);
    for (unsigned i = 0; i < ENTRIES; i++) rig_set(r, key_of(0, "k%05u", i), value_of(i, space));
    rig_apply(r);
    rig_close(r);
}

static void flip(struct rig *r, const char *name, uint64_t bit)
{
    struct file f;
    uint8_t byte = 0;
    assert_int_equal(file_open(&f, rig_path(r, name), FILE_WRITE_OLD, NULL), OK);
    assert_int_equal(file_read_at(&f, bit / 8, &byte, 1, NULL), OK);
    byte ^= (uint8_t)(1u << bit % 8);
    assert_int_equal(file_write_at(&f, bit / 8, slice_of(&byte, 1), NULL), OK);
    file_close(&f);
}

static uint64_t size_of(struct rig *r, const char *name)
{
    struct file f;
    uint64_t bytes = 0;
    assert_int_equal(file_open(&f, rig_path(r, name), FILE_READ, NULL), OK);
    assert_int_equal(file_size(&f, &bytes, NULL), OK);
    file_close(&f);
    return bytes;
}

/* Every answer is right or an error that names the place; how many errors. */
static unsigned check_loads(struct rig *r)
{
    uint8_t space[10000];
    unsigned errors = 0;
    for (unsigned i = 0; i < ENTRIES; i++) {
        struct entry entry;
        struct error e = {.code = OK};
        enum err result = rig_try_load(r, key_of(0, "k%05u", i), &entry, &e);
        if (result != OK) {
            assert_int_equal(result, ERR_CORRUPT);
            assert_non_null(strstr(e.text, "tupled.db at offset "));
            errors++;
        } else {
            assert_true(entry.exists);
            assert_true(slice_eq(entry.value, value_of(i, space)));
        }
    }
    return errors;
}

/* All rows are right up to where the scan ends, and it ends with an error when one is missing. */
static bool check_scan(struct rig *r, bool is_reverse)
{
    uint8_t space[10000];
    struct scan *s = NULL;
    struct error e;
    struct scan_range range = {
        .start = key_low(0), .end = key_high(0), .is_reverse = is_reverse, .with_values = true};
    assert_int_equal(backend_scan_open(r->b, &range, &s, &e), OK);
    enum err result = OK;
    unsigned count = 0;
    for (;;) {
        struct slice key;
        struct entry entry;
        r->is_ready = false;
        result = backend_scan_next(s, &key, &entry, &r->waiter, &e);
        if (result == ERR_WAIT) {
            for (int i = 0; i < STEPS_MAX && !r->is_ready; i++) rig_step(r);
            assert_true(r->is_ready);
            continue;
        }
        if (result != OK || key.len == 0) break;
        unsigned i = is_reverse ? ENTRIES - 1 - count : count;
        assert_true(slice_eq(key, key_of(0, "k%05u", i)));
        assert_true(slice_eq(entry.value, value_of(i, space)));
        count++;
    }
    backend_scan_close(s);
    if (result == OK) assert_int_equal(count, ENTRIES);
    if (result != OK) assert_int_equal(result, ERR_CORRUPT);
    return result == OK;
}

static void no_flipped_bit_makes_a_wrong_answer(void **state)
{
    struct rig r;
    struct rng rnd;
    unsigned refused = 0;
    unsigned damaged = 0;
    unsigned harmless = 0;
    rng_init(&rnd, 42);
    fill(&r);
    uint64_t bits = 8 * size_of(&r, "tupled.db");
    for (int i = 0; i < FLIPS; i++) {
        struct error e;
        uint64_t bit = rng_below(&rnd, bits);
        flip(&r, "tupled.db", bit);
        if (rig_try_open(&r, &e) != OK) {
            assert_true(e.code == ERR_CORRUPT || e.code == ERR_FORMAT);
            if (strstr(e.text, "tupled.db") == NULL)
                fail_msg("bit %llu: %s", (unsigned long long)bit, e.text);
            refused++;
        } else {
            unsigned errors = check_loads(&r);
            bool is_whole = check_scan(&r, false);
            assert_int_equal(check_scan(&r, true), is_whole);
            assert_int_equal(is_whole, errors == 0);
            damaged += errors > 0;
            harmless += errors == 0;
            rig_abandon(&r);
        }
        flip(&r, "tupled.db", bit);
    }
    /* Each kind was met; what is harmless lies on free pages. */
    assert_true(refused > 0 && damaged > FLIPS / 2 && harmless < FLIPS / 4);
    rig_open(&r);
    assert_int_equal(check_loads(&r), 0);
    rig_close(&r);
    rig_fini(&r);
}

static bool has_garbage(struct rig *r)
{
    struct backend_stats stats;
    backend_stats(r->b, &stats);
    return stats.has_garbage;
}

static void clean(struct rig *r)
{
    rig_apply(r);
    for (int i = 0; has_garbage(r); i++) {
        assert_true(i < STEPS_MAX);
        rig_step(r);
    }
}

static int64_t rows_of_kv(struct rig *r)
{
    sqlite3_stmt *stmt = NULL;
    sqlite3 *db = sqlite_of(pipeline_of(r->b)->stored.store)->db;
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT count(*) FROM kv", -1, &stmt, NULL), SQLITE_OK);
    int64_t rows = sqlite3_step(stmt) == SQLITE_ROW ? sqlite3_column_int64(stmt, 0) : -1;
    sqlite3_finalize(stmt);
    return rows;
}

/* A bit whose flip makes some entries unreadable, not all. It is flipped. */
static uint64_t damage(struct rig *r, struct rng *rnd)
{
    uint64_t bits = 8 * size_of(r, "tupled.db");
    for (;;) {
        uint64_t bit = rng_below(rnd, bits);
        flip(r, "tupled.db", bit);
        if (rig_try_open(r, NULL) == OK) {
            unsigned errors = check_loads(r);
            rig_abandon(r);
            if (errors > 0 && errors < ENTRIES / 2) return bit;
        }
        flip(r, "tupled.db", bit);
    }
}

/* Flushing is a way out of damage: what cannot be removed is left where it is not read. */
static void a_damaged_database_can_be_flushed(void **state)
{
    struct rng rnd;
    rng_init(&rnd, 7);
    for (int round = 0; round < 6; round++) {
        struct rig r;
        fill(&r);
        uint64_t bit = damage(&r, &rnd);
        r.local.flush_rows = round % 2 == 0 ? 2 * ENTRIES : 1;
        rig_open(&r);
        rig_set(&r, key_of(1, "b"), slice_str("other"));
        rig_flush(&r, 0);
        rig_set(&r, key_of(0, "k00007"), slice_str("new"));
        clean(&r);
        rig_expect(&r, key_of(0, "k00007"), "new");
        rig_expect(&r, key_of(0, "k00008"), NULL);
        assert_int_equal(backend_entries(r.b, 0), 1);
        rig_flush(&r, 0);
        clean(&r);
        rig_set(&r, key_of(0, "k00009"), slice_str("newer"));
        rig_close(&r);
        rig_open(&r); /* it is tried again */
        clean(&r);
        rig_close(&r);
        flip(&r, "tupled.db", bit);
        rig_open(&r);
        clean(&r);
        if (size_of(&r, "tupled.db") * 8 > bit) assert_int_equal(rows_of_kv(&r), 2);
        rig_expect(&r, key_of(0, "k00007"), NULL);
        rig_expect(&r, key_of(0, "k00009"), "newer");
        rig_expect(&r, key_of(1, "b"), "other");
        rig_close(&r);
        rig_fini(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_flipped_bit_of_a_page_is_seen),
        cmocka_unit_test(a_page_of_zeros_is_good_only_with_its_sum),
        cmocka_unit_test(no_flipped_bit_makes_a_wrong_answer),
        cmocka_unit_test(a_damaged_database_can_be_flushed),
    };
    return cmocka_run_group_tests_name("damage", tests, NULL, NULL);
}
