/* Tests of net/peers: connections are counted by address. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "net/peers.h"

static void an_address_has_so_many(void **state)
{
    struct htab peers;
    struct slice a = slice_str("aaaa");
    struct slice b = slice_str("aaab");
    htab_init(&peers);
    struct peer *first = peer_take(&peers, a, 2);
    struct peer *second = peer_take(&peers, a, 2);
    assert_non_null(first);
    assert_ptr_equal(first, second);
    assert_null(peer_take(&peers, a, 2));
    struct peer *other = peer_take(&peers, b, 2);
    assert_non_null(other);
    assert_non_null(peer_take(&peers, a, 0)); /* any number */
    peer_give(&peers, first);
    assert_null(peer_take(&peers, a, 2));
    peer_give(&peers, first);
    assert_non_null(peer_take(&peers, a, 2));
    peer_give(&peers, first);
    peer_give(&peers, first);
    assert_int_equal(peers.count, 1); /* nothing is kept of who is gone */
    peer_give(&peers, other);
    assert_int_equal(peers.count, 0);
    peer_give(&peers, NULL);
    htab_fini(&peers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(an_address_has_so_many)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
