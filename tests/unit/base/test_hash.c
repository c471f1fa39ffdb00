/* Tests of base/hash: keys that were made to have one checksum do not have one hash. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/htab.h"

#define KEYS 2000

/* Bytes 32 to 39 of XXH3's own secret: what is multiplied by (them xor these bytes of a text) is
 * multiplied by 0. */
static const uint8_t known[8] = {0xcb, 0x79, 0xe6, 0x4e, 0xcc, 0xc0, 0xe5, 0x78};

struct item {
    struct slice key; /* first */
    uint8_t bytes[64];
};

static void make(struct item *x, uint32_t i)
{
    memset(x->bytes, 'k', sizeof x->bytes);
    memcpy(x->bytes + 16, known, sizeof known);
    memcpy(x->bytes + 24, &i, sizeof i);
    x->key = slice_of(x->bytes, sizeof x->bytes);
}

static void what_is_made_to_collide_does_not(void **state)
{
    static struct item items[KEYS];
    struct htab table;
    (void)state;
    htab_init(&table);
    for (uint32_t i = 0; i < KEYS; i++) {
        make(&items[i], i);
        assert_int_equal(checksum_bytes(items[i].key), checksum_bytes(items[0].key));
        uint64_t hash = hash_bytes(items[i].key);
        assert_int_equal(hash, hash_bytes(items[i].key));
        size_t at = 0;
        assert_null(htab_same(&table, hash, &at)); /* by chance once in 10^13 */
        htab_insert(&table, hash, &items[i]);
    }
    htab_fini(&table);
}

/* Segments, manifests and rows of PostgreSQL have it. */
static void a_checksum_is_the_same_everywhere(void **state)
{
    (void)state;
    assert_int_equal(checksum_bytes(slice_of(NULL, 0)), UINT64_C(0x2d06800538d394c2));
    assert_int_equal(checksum_bytes(slice_str("abc")), UINT64_C(0x78af5f94892f3950));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_made_to_collide_does_not),
        cmocka_unit_test(a_checksum_is_the_same_everywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
