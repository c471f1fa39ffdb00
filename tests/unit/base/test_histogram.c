/* histogram: buckets against a sorted array, and the percentiles that are asked for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/histogram.h"
#include "base/random.h"

static struct histogram h;

static int empty(void **state)
{
    h = (struct histogram){0};
    return 0;
}

static void nothing_counted_is_zero(void **state)
{
    assert_int_equal(histogram_percentile(&h, 50), 0);
    assert_int_equal(histogram_count_to(&h, 1 << 20), 0);
}

static void small_durations_are_exact(void **state)
{
    for (int64_t us = 0; us < 64; us++) {
        empty(NULL);
        histogram_add(&h, us);
        assert_int_equal(histogram_percentile(&h, 0), us);
        assert_int_equal(histogram_percentile(&h, 100), us);
    }
}

static void a_duration_is_known_to_three_percent(void **state)
{
    struct rng rng;
    rng_init(&rng, 7);
    for (int i = 0; i < 100000; i++) {
        uint64_t us = rng_below(&rng, UINT64_C(1) << (1 + rng_below(&rng, 32)));
        empty(NULL);
        histogram_add(&h, (int64_t)us);
        uint64_t top = histogram_percentile(&h, 50);
        assert_true(top >= us);
        assert_true(top - us <= us / 32);
    }
}

static void what_is_too_long_or_negative_counts_at_the_end(void **state)
{
    histogram_add(&h, INT64_MAX);
    histogram_add(&h, -5);
    assert_int_equal(h.total, 2);
    assert_int_equal(histogram_percentile(&h, 100), UINT32_MAX);
    assert_int_equal(histogram_percentile(&h, 50), 0);
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void percentiles_agree_with_a_sorted_array(void **state)
{
    enum { COUNT = 9999 };
    static const double wanted[] = {0, 1, 25, 50, 90, 99, 99.9, 99.99, 100};
    static uint64_t all[COUNT];
    struct rng rng;
    rng_init(&rng, 1);
    for (size_t i = 0; i < COUNT; i++) {
        all[i] = rng_below(&rng, UINT64_C(1) << (1 + rng_below(&rng, 24)));
        histogram_add(&h, (int64_t)all[i]);
    }
    qsort(all, COUNT, sizeof all[0], compare);
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        size_t rank = (size_t)(wanted[i] / 100 * COUNT);
        if ((double)rank < wanted[i] / 100 * COUNT) rank++;
        uint64_t exact = all[rank == 0 ? 0 : rank - 1];
        uint64_t got = histogram_percentile(&h, wanted[i]);
        assert_true(got >= exact);
        assert_true(got - exact <= exact / 32);
    }
    uint64_t before = 0;
    for (unsigned power = 0; power < 25; power++) {
        uint64_t limit = UINT64_C(1) << power;
        uint64_t count = histogram_count_to(&h, limit);
        uint64_t least = 0;
        uint64_t most = 0;
        for (size_t i = 0; i < COUNT; i++) {
            least += all[i] <= limit;
            most += all[i] <= limit + limit / 32;
        }
        assert_true(count >= least && count <= most && count >= before);
        before = count;
    }
    assert_int_equal(before, COUNT);
}

static void a_bound_counts_nothing_longer_and_misses_three_percent(void **state)
{
    enum { COUNT = 5000 };
    static const uint64_t bounds[] = {1, 31, 50, 100, 250, 500, 1000, 2500, 50000, 10000000};
    const size_t bound_count = sizeof bounds / sizeof bounds[0];
    static uint64_t all[COUNT];
    uint64_t got[sizeof bounds / sizeof bounds[0]];
    uint64_t sum = 0;
    struct rng rng;
    rng_init(&rng, 2);
    for (size_t i = 0; i < COUNT; i++) {
        all[i] = rng_below(&rng, UINT64_C(1) << (1 + rng_below(&rng, 24)));
        if (i % 3 == 0) all[i] = bounds[rng_below(&rng, bound_count)];
        histogram_add(&h, (int64_t)all[i]);
        sum += all[i];
    }
    histogram_add(&h, -1); /* counts as 0 */
    assert_int_equal(h.sum_us, sum);
    histogram_cumulate(&h, bounds, bound_count, got);
    for (size_t b = 0; b < bound_count; b++) {
        uint64_t least = 1;
        uint64_t most = 1;
        for (size_t i = 0; i < COUNT; i++) {
            least += all[i] < bounds[b] - bounds[b] / 32;
            most += all[i] <= bounds[b];
        }
        assert_true(got[b] >= least && got[b] <= most);
        if (bounds[b] < 64) assert_int_equal(got[b], most);
    }
}

static enum err parse(struct percentiles *p, const char *a, const char *b)
{
    struct slice words[2] = {slice_str(a), slice_str(b)};
    struct error e;
    return percentiles_parse(p, words, 2, &e);
}

static void percentiles_are_numbers_up_to_100(void **state)
{
    static const char *const bad[] = {"101", "-1", "x", "", "1e1", "nan", "0x1", " 1", "1.2.3"};
    struct percentiles p = {0};
    struct buf text;
    assert_int_equal(parse(&p, "99.9", "0"), OK);
    assert_int_equal(p.count, 2);
    buf_init(&text);
    percentile_format(p.values[0], &text);
    percentile_format(p.values[1], &text);
    percentile_format(100, &text);
    assert_true(slice_eq(buf_slice(&text), slice_str("99.90100")));
    buf_fini(&text);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(parse(&p, "50", bad[i]), ERR_SYNTAX);
        assert_int_equal(p.count, 2);
        assert_true(p.values[1] < 1); /* as it was */
    }
    struct slice many[PERCENTILES_MAX + 1];
    struct error e;
    for (size_t i = 0; i <= PERCENTILES_MAX; i++) many[i] = slice_str("50");
    assert_int_equal(percentiles_parse(&p, many, PERCENTILES_MAX + 1, &e), ERR_SYNTAX);
    assert_int_equal(percentiles_parse(&p, many, PERCENTILES_MAX, &e), OK);
    assert_int_equal(percentiles_parse(&p, many, 0, &e), OK);
    assert_int_equal(p.count, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, empty)
    const struct CMUnitTest tests[] = {
        TEST(nothing_counted_is_zero),
        TEST(small_durations_are_exact),
        TEST(a_duration_is_known_to_three_percent),
        TEST(what_is_too_long_or_negative_counts_at_the_end),
        TEST(percentiles_agree_with_a_sorted_array),
        TEST(a_bound_counts_nothing_longer_and_misses_three_percent),
        TEST(percentiles_are_numbers_up_to_100),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
