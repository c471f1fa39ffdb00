/* rows: keys are in the order of what they say, whatever its length, and say it again when they are
 * read. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <xxhash.h>

#include "base/random.h"
#include "collection/walk.h"

static const uint8_t incarnation[] = "abcdefghijkl";
static const struct element_rows of = {.database = 3, .incarnation = incarnation};

static struct slice name_of(struct arena *arena, size_t bytes, char last)
{
    uint8_t *p = arena_alloc(arena, bytes + 1);
    memset(p, 'n', bytes);
    if (bytes > 0) p[bytes - 1] = (uint8_t)last;
    return slice_of(p, bytes);
}

static const size_t lengths[] = {0, 1, 999, 1000, 1001, 1016, 1017, 5000};
#define LENGTHS (sizeof lengths / sizeof lengths[0])

static bool is_same(const struct element *a, const struct element *b)
{
    return slice_eq(a->name, b->name) && slice_eq(a->value, b->value) &&
           memcmp(&a->score, &b->score, sizeof a->score) == 0;
}

static void a_row_says_what_it_was_made_of(void **state)
{
    static const double scores[] = {0, -0.0, 1, -1, INFINITY, -INFINITY, 5e-324, -5e-324, 1e308};
    struct arena arena;
    (void)state;
    arena_init(&arena, 65536);
    for (size_t i = 0; i < LENGTHS * LENGTHS; i++) {
        struct element out;
        struct element x = {.name = name_of(&arena, lengths[i % LENGTHS], 'z'),
                            .value = name_of(&arena, lengths[i / LENGTHS], 'v')};
        struct slice key = row_of_name(&arena, &of, ROW_FIELD, x.name);
        struct entry row = {.value = row_value_of_field(&arena, &x), .expiry_ms = 7};
        assert_int_equal(row_tag_of(key), ROW_FIELD);
        assert_true(row_read(COLLECTION_HASH, key, &row, &out));
        assert_true(is_same(&out, &x));
        assert_int_equal(out.expiry_ms, 7);
    }
    for (size_t i = 0; i < LENGTHS; i++) {
        struct element out;
        struct element x = {.name = name_of(&arena, lengths[i], 'z'), .value = slice_of(NULL, 0)};
        struct slice key = row_of_name(&arena, &of, ROW_MEMBER, x.name);
        struct entry row = {.value = row_value_of_member(&arena, COLLECTION_SET, &x)};
        assert_true(row_read(COLLECTION_SET, key, &row, &out));
        assert_true(is_same(&out, &x));
        for (size_t k = 0; k < sizeof scores / sizeof scores[0]; k++) {
            x.score = scores[k];
            row.value = row_value_of_member(&arena, COLLECTION_ZSET, &x);
            assert_true(row_read(COLLECTION_ZSET, key, &row, &out));
            assert_true(is_same(&out, &x));
            struct slice by_score = row_of_score(&arena, &of, x.score, x.name);
            row.value = row_value_of_score(&arena, &x);
            assert_true(row_read(COLLECTION_ZSET, by_score, &row, &out));
            assert_true(is_same(&out, &x));
        }
    }
    arena_fini(&arena);
}

static void keys_are_short_enough_for_every_store(void **state)
{
    struct arena arena;
    (void)state;
    arena_init(&arena, 65536);
    struct slice name = name_of(&arena, 5000, 'z');
    assert_in_range(row_of_name(&arena, &of, ROW_MEMBER, name).len, 1000, 1060);
    assert_in_range(row_of_score(&arena, &of, 1, name).len, 1000, 1060);
    assert_in_range(row_of_expiry(&arena, &of, 1, name).len, 1000, 1060);
    arena_fini(&arena);
}

static void long_names_that_begin_alike_have_rows_of_their_own(void **state)
{
    struct arena arena;
    (void)state;
    arena_init(&arena, 65536);
    for (size_t i = 3; i < LENGTHS; i++) {
        struct slice a = name_of(&arena, lengths[i], 'a');
        struct slice b = name_of(&arena, lengths[i], 'b');
        struct slice x = row_of_name(&arena, &of, ROW_MEMBER, a);
        struct slice y = row_of_name(&arena, &of, ROW_MEMBER, b);
        assert_false(slice_eq(x, y));
        assert_int_equal(name_order(a, b) < 0, slice_cmp(x, y) < 0);
        assert_int_equal(name_order(a, a), 0);
    }
    /* A short one that is the key of a long one. */
    struct slice whole = name_of(&arena, 5000, 'z');
    struct slice key = row_of_name(&arena, &of, ROW_MEMBER, whole);
    struct slice like = slice_of(key.data + key.len - 1016, 1016);
    assert_false(slice_eq(row_of_name(&arena, &of, ROW_MEMBER, like), key));
    assert_true(name_order(like, whole) != 0);
    arena_fini(&arena);
}

/* In the second block of XXH3 words 0 of two stripes are multiplied by nothing where their lower
 * halves are those of its secret; what one has more in its upper half the other has less. */
static struct slice same_xxh128(struct arena *arena, uint32_t more)
{
    static const uint8_t lower[2][4] = {{0xb8, 0xfe, 0x6c, 0x39}, {0x7c, 0x01, 0x81, 0x2c}};
    uint32_t upper[2] = {1000 + more, 5000 - more};
    struct slice name = name_of(arena, 1300, 'z');
    for (size_t i = 0; i < 2; i++) {
        uint8_t *p = (uint8_t *)name.data + 1024 + 64 * i;
        memcpy(p, lower[i], sizeof lower[i]);
        memcpy(p + 4, &upper[i], sizeof upper[i]);
    }
    return name;
}

static void names_made_to_have_one_checksum_have_rows_of_their_own(void **state)
{
    struct arena arena;
    (void)state;
    arena_init(&arena, 65536);
    struct slice a = same_xxh128(&arena, 0);
    struct slice b = same_xxh128(&arena, 1);
    XXH128_hash_t x = XXH3_128bits(a.data, a.len);
    XXH128_hash_t y = XXH3_128bits(b.data, b.len);
    assert_false(slice_eq(a, b));
    assert_true(XXH128_isEqual(x, y));
    assert_true(name_order(a, b) != 0);
    assert_false(
        slice_eq(row_of_name(&arena, &of, ROW_MEMBER, a), row_of_name(&arena, &of, ROW_MEMBER, b)));
    arena_fini(&arena);
}

static void scores_sort_as_numbers_and_minus_0_as_0(void **state)
{
    static const double ascending[] = {-INFINITY, -1e308, -1.5,   -1, -2.3e-308, -5e-324, 0,
                                       5e-324,    2e-308, 0.9999, 1,  1.5,       1e308,   INFINITY};
    struct rng rng;
    (void)state;
    for (size_t i = 0; i < sizeof ascending / sizeof ascending[0]; i++) {
        double n = ascending[i];
        assert_true(score_of_order(score_order(n)) == n);
        if (i > 0) assert_true(score_order(ascending[i - 1]) < score_order(n));
    }
    assert_true(score_order(-0.0) == score_order(0.0));
    assert_false(signbit(score_of_order(score_order(-0.0))));
    rng_init(&rng, 1);
    for (int i = 0; i < 100000; i++) {
        uint64_t bits[2] = {rng_next(&rng), rng_next(&rng)};
        double n[2];
        memcpy(n, bits, sizeof n);
        if (isnan(n[0]) || isnan(n[1])) continue;
        assert_int_equal(score_order(n[0]) < score_order(n[1]), n[0] < n[1]);
        assert_true(score_of_order(score_order(n[0])) == n[0]);
    }
}

/* As a member's name goes on where its score ends. */
static void rows_of_a_score_lie_between_its_bounds(void **state)
{
    static const double scores[] = {-INFINITY, -1, -0.0, 0, 5e-324, 1, INFINITY};
    struct arena arena;
    (void)state;
    arena_init(&arena, 65536);
    for (size_t i = 0; i < sizeof scores / sizeof scores[0]; i++) {
        struct slice from = rows_from_score(&arena, &of, scores[i]);
        struct slice after = rows_after_score(&arena, &of, scores[i]);
        struct slice low = row_of_score(&arena, &of, scores[i], slice_str(""));
        struct slice high = row_of_score(&arena, &of, scores[i], slice_str("\xff\xff\xff\xff"));
        assert_true(slice_cmp(from, low) <= 0 && slice_cmp(low, high) < 0);
        assert_true(slice_cmp(high, after) < 0);
        assert_true(slice_cmp(rows_start(&arena, &of, ROW_SCORE), from) < 0);
        assert_true(slice_cmp(after, rows_end(&arena, &of, ROW_SCORE)) < 0);
    }
    arena_fini(&arena);
}

static void all_rows_of_an_incarnation_are_one_range(void **state)
{
    static const uint8_t next[] = "abcdefghijkm";
    struct element_rows other = {.database = 3, .incarnation = next};
    struct arena arena;
    struct slice start;
    struct slice end;
    (void)state;
    arena_init(&arena, 65536);
    rows_all(&arena, &of, &start, &end);
    struct slice name = slice_str("\xff\xff");
    struct slice keys[] = {row_of_name(&arena, &of, ROW_FIELD, name),
                           row_of_name(&arena, &of, ROW_MEMBER, slice_of(NULL, 0)),
                           row_of_expiry(&arena, &of, INT64_MAX, name),
                           row_of_score(&arena, &of, INFINITY, name),
                           row_of_position(&arena, &of, UINT64_MAX)};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        assert_true(slice_cmp(start, keys[i]) <= 0 && slice_cmp(keys[i], end) < 0);
    }
    assert_true(slice_cmp(row_of_name(&arena, &other, ROW_FIELD, slice_of(NULL, 0)), end) > 0);
    arena_fini(&arena);
}

static void positions_and_times_are_in_order(void **state)
{
    struct arena arena;
    (void)state;
    arena_init(&arena, 65536);
    uint64_t middle = 1ULL << 63;
    struct slice a = row_of_position(&arena, &of, middle - 1);
    struct slice b = row_of_position(&arena, &of, middle);
    assert_true(slice_cmp(a, b) < 0);
    assert_true(row_position(a) == middle - 1 && row_position(b) == middle);
    a = row_of_expiry(&arena, &of, 255, slice_str("z"));
    b = row_of_expiry(&arena, &of, 256, slice_str("a"));
    assert_true(slice_cmp(a, b) < 0);
    assert_true(row_expiry_ms(a) == 255 && row_expiry_ms(b) == 256);
    arena_fini(&arena);
}

static void try_damage(struct slice key, struct slice value)
{
    uint8_t *k = malloc(key.len);
    uint8_t *v = malloc(value.len + 1);
    struct element x;
    uint64_t sum = 0; /* of all bytes that are shown: they are there */
    assert_true(k != NULL && v != NULL);
    memcpy(k, key.data, key.len);
    if (value.len > 0) memcpy(v + 1, value.data, value.len);
    for (size_t cut = 0; cut <= value.len; cut++) {
        struct entry row = {.value = slice_of(v + 1, cut)};
        struct slice shown = slice_of(k, key.len);
        for (enum collection_kind kind = COLLECTION_HASH; kind <= COLLECTION_ZSET; kind++) {
            if (!row_read(kind, shown, &row, &x)) continue;
            for (size_t i = 0; i < x.name.len; i++) sum += x.name.data[i];
            for (size_t i = 0; i < x.value.len; i++) sum += x.value.data[i];
        }
    }
    assert_true(sum < UINT64_MAX);
    free(k);
    free(v);
}

static void a_damaged_row_is_never_read_beyond(void **state)
{
    struct arena arena;
    (void)state;
    arena_init(&arena, 65536);
    for (size_t i = 0; i < LENGTHS; i++) {
        struct element x = {.name = name_of(&arena, lengths[i], 'z'), .value = slice_str("value")};
        try_damage(row_of_name(&arena, &of, ROW_FIELD, x.name), row_value_of_field(&arena, &x));
        try_damage(row_of_name(&arena, &of, ROW_MEMBER, x.name),
                   row_value_of_member(&arena, COLLECTION_ZSET, &x));
        try_damage(row_of_score(&arena, &of, -0.0, x.name), row_value_of_score(&arena, &x));
        struct slice key = row_of_score(&arena, &of, 1, x.name);
        for (size_t len = KEY_HEAD_BYTES + INCARNATION_ID_BYTES + 1; len < key.len; len += 3) {
            try_damage(slice_of(key.data, len), row_value_of_score(&arena, &x));
        }
    }
    arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_says_what_it_was_made_of),
        cmocka_unit_test(keys_are_short_enough_for_every_store),
        cmocka_unit_test(long_names_that_begin_alike_have_rows_of_their_own),
        cmocka_unit_test(names_made_to_have_one_checksum_have_rows_of_their_own),
        cmocka_unit_test(scores_sort_as_numbers_and_minus_0_as_0),
        cmocka_unit_test(rows_of_a_score_lie_between_its_bounds),
        cmocka_unit_test(all_rows_of_an_incarnation_are_one_range),
        cmocka_unit_test(positions_and_times_are_in_order),
        cmocka_unit_test(a_damaged_row_is_never_read_beyond),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
