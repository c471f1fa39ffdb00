/* Tests of the rows of hashes in indexes: one for each combination of texts and numbers, the first
 * of an entry in a range, the list of them and its damage.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "codec/key.h"
#include "index/index.h"

#define PATHS_MAX 3

static struct arena arena;
static struct error e;

/* Of hashes that fit h*, over so many fields a, b, c. */
static struct index *index_of(size_t paths, bool is_unique)
{
    static const char *const names[PATHS_MAX] = {"a", "b", "c"};
    struct index *x = NULL;
    struct definition d = {.id = 7,
                           .is_unique = is_unique,
                           .state = INDEX_READY,
                           .hashes = slice_str("h*"),
                           .path_count = paths};
    struct buf row = {0};
    for (size_t i = 0; i < paths; i++) d.paths[i] = slice_str(names[i]);
    definition_write(&d, &row);
    assert_int_equal(index_new(0, slice_str("x"), buf_slice(&row), &x, &e), OK);
    buf_fini(&row);
    return x;
}

static struct slice key_of(const char *name)
{
    struct buf key = {0};
    engine_key_begin(&key, 0);
    key_add_string(&key, slice_str(name));
    struct slice kept = arena_copy(&arena, buf_slice(&key));
    buf_fini(&key);
    return kept;
}

/* Of fields with these texts; NULL = the field is not there. */
static struct index_rows rows_of(const struct index *x, struct slice key, const char *const *texts)
{
    struct element fields[PATHS_MAX];
    struct index_rows rows;
    for (size_t i = 0; i < x->definition.path_count; i++) {
        fields[i] = (struct element){.expiry_ms = 0};
        if (texts[i] == NULL) continue;
        fields[i].name = x->fields[i];
        fields[i].value = slice_str(texts[i]);
    }
    index_hash_rows(x, key, fields, &arena, &rows);
    return rows;
}

static void an_entry_has_a_row_for_each_combination(void **state)
{
    static const struct {
        const char *texts[PATHS_MAX];
        size_t rows;
    } cases[] = {
        {{"x", "y", "z"}, 1},      {{"1", "y", "z"}, 2},    {{"1", "2", "z"}, 4},
        {{"1", "2", "-3"}, 8},     {{"1", NULL, "z"}, 0},   {{"", "01", "+1"}, 1},
        {{"1e3", "0x1", "1."}, 2}, {{"\xff", "y", "z"}, 0}, {{"-", " 1", "1 "}, 1},
    };
    struct index *x = index_of(3, false);
    struct slice key = key_of("h1");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct index_rows rows = rows_of(x, key, cases[i].texts);
        assert_int_equal(rows.count, cases[i].rows);
        for (size_t n = 0; n < rows.count; n++) {
            struct slice owner;
            bool is_multi = false;
            struct slice value = index_row_value(x, key, rows.count > 1, &arena);
            if (n > 0) assert_true(slice_cmp(rows.keys[n - 1], rows.keys[n]) < 0);
            assert_true(index_row_owner(x, rows.keys[n], value, &arena, &owner, &is_multi));
            assert_true(slice_eq(owner, key));
            assert_int_equal(is_multi, rows.count > 1);
        }
    }
    index_free(x);
}

/* In a unique index rows of texts have no owner in their key, those with a number have. */
static void only_texts_are_unique(void **state)
{
    static const char *const one[] = {"1"};
    static const char *const other[] = {"1.0"};
    struct index *x = index_of(1, true);
    struct index_rows a = rows_of(x, key_of("h1"), one);
    struct index_rows b = rows_of(x, key_of("h2"), one);
    struct index_rows c = rows_of(x, key_of("h3"), other);
    assert_int_equal(a.count, 2);
    assert_true(slice_eq(a.keys[0], b.keys[0]));
    assert_false(slice_eq(a.keys[1], b.keys[1]));
    assert_false(slice_eq(a.keys[0], c.keys[0]));
    index_free(x);
}

/* Of all rows in a range exactly one is told, whatever the range. */
static void an_entry_is_told_once_in_every_range(void **state)
{
    static const char *const texts[] = {"5", "6", "z"};
    struct index *x = index_of(3, false);
    struct slice key = key_of("h1");
    struct index_rows rows = rows_of(x, key, texts);
    struct slice five = slice_of("\x05", 1);
    struct slice text = slice_of("\xa1"
                                 "5",
                                 2);
    const struct index_query queries[] = {
        {.value_count = 0},
        {.values = &five, .value_count = 1},
        {.values = &text, .value_count = 1},
        {.from = slice_of("\x01", 1)},
        {.to = slice_of("\xa1"
                        "9",
                        2)},
        {.values = &text, .value_count = 1, .from = slice_of("\x02", 1)},
    };
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++) {
        for (int reverse = 0; reverse < 2; reverse++) {
            struct scan_range range = {.is_reverse = reverse == 1};
            size_t leads = 0;
            size_t last = 0;
            size_t first = SIZE_MAX;
            size_t leader = SIZE_MAX;
            assert_int_equal(index_bounds(x, &queries[i], &arena, &range.start, &range.end, &e),
                             OK);
            for (size_t n = 0; n < rows.count; n++) {
                if (slice_cmp(rows.keys[n], range.start) < 0) continue;
                if (slice_cmp(rows.keys[n], range.end) >= 0) continue;
                if (first == SIZE_MAX) first = n;
                last = n;
                if (!index_row_leads(x, key, slice_of(NULL, 0), rows.keys[n], &range)) continue;
                leads++;
                leader = n;
            }
            assert_int_equal(leads, 1);
            assert_int_equal(leader, reverse == 1 ? last : first);
        }
    }
    index_free(x);
}

static void a_list_is_read_as_it_was_written(void **state)
{
    static const char *const texts[] = {"5", "6", "z"};
    struct index *x = index_of(3, false);
    struct index_rows rows = rows_of(x, key_of("h1"), texts);
    struct slice list = index_list(&rows, 123456789, &arena);
    struct index_rows again;
    int64_t expiry_ms = 0;
    assert_true(index_list_read(x, list, &arena, &again, &expiry_ms));
    assert_int_equal(expiry_ms, 123456789);
    assert_int_equal(again.count, rows.count);
    for (size_t i = 0; i < rows.count; i++) assert_true(slice_eq(rows.keys[i], again.keys[i]));
    for (size_t len = 0; len < list.len; len++) {
        bool is_read = index_list_read(x, slice_of(list.data, len), &arena, &again, &expiry_ms);
        if (is_read) assert_true(again.count < rows.count);
    }
    index_free(x);
}

static void a_pattern_is_over_names(void **state)
{
    struct index *x = index_of(1, false);
    assert_true(index_covers(x, key_of("h1")));
    assert_true(index_covers(x, key_of("h")));
    assert_false(index_covers(x, key_of("x")));
    struct buf key = {0};
    engine_key_begin(&key, 0);
    key_add_bytes(&key, slice_str("h1"));
    assert_false(index_covers(x, buf_slice(&key))); /* no text */
    buf_clear(&key, SIZE_MAX);
    engine_key_begin(&key, 0);
    key_add_string(&key, slice_str("h1"));
    key_add_string(&key, slice_str("h2"));
    assert_false(index_covers(x, buf_slice(&key))); /* of two parts */
    buf_fini(&key);
    index_free(x);
}

static int begin(void **state)
{
    arena_init(&arena, 4096);
    return 0;
}

static int end(void **state)
{
    arena_fini(&arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_entry_has_a_row_for_each_combination),
        cmocka_unit_test(only_texts_are_unique),
        cmocka_unit_test(an_entry_is_told_once_in_every_range),
        cmocka_unit_test(a_list_is_read_as_it_was_written),
        cmocka_unit_test(a_pattern_is_over_names),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
