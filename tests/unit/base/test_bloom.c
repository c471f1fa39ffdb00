/* bloom: what was put in is there; about one in a hundred others seems to be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/bloom.h"
#include "base/htab.h"

static uint64_t hash_of(uint64_t n)
{
    return checksum_bytes(slice_of(&n, sizeof n)); /* the same each time */
}

static void what_was_put_in_is_there(void **state)
{
    (void)state;
    static const uint64_t counts[] = {1, 51, 52, 1000, 100000};
    for (size_t k = 0; k < sizeof counts / sizeof counts[0]; k++) {
        struct bloom b;
        size_t seems = 0;
        assert_true(bloom_init_try(&b, counts[k]));
        assert_false(bloom_has(&b, hash_of(7)));
        for (uint64_t n = 0; n < counts[k]; n++) bloom_add(&b, hash_of(n));
        for (uint64_t n = 0; n < counts[k]; n++) assert_true(bloom_has(&b, hash_of(n)));
        for (uint64_t n = 0; n < 10000; n++) seems += bloom_has(&b, hash_of(n + (1u << 30)));
        assert_in_range(seems, 0, 300);
        assert_in_range(b.count, counts[k] * 95 / 100, counts[k]);
        bloom_fini(&b);
        bloom_fini(&b);
    }
}

static void memory_grows_with_the_keys(void **state)
{
    (void)state;
    assert_in_range(bloom_bytes(1000000), 1250000, 1300000);
    assert_true(bloom_bytes(0) > 0);
}

static void too_many_keys_are_refused(void **state)
{
    (void)state;
    struct bloom b;
    assert_false(bloom_init_try(&b, UINT64_C(1) << 40));
    bloom_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_put_in_is_there),
        cmocka_unit_test(memory_grows_with_the_keys),
        cmocka_unit_test(too_many_keys_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
