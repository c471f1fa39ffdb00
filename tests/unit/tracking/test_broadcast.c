#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tracking/broadcast.h"

struct ear {
    struct listener listener; /* first */
    const char *name;
};

static char told[2000]; /* "<ear>[<name>:<writer> ...]@<version> ..." */

static size_t tell(void *arg, struct listener *who, const struct broadcast_block *k)
{
    const struct ear *e = (const struct ear *)who;
    size_t *blocks = arg;
    size_t len = strlen(told);
    if (blocks != NULL) {
        (*blocks)++;
        return 1;
    }
    len += (size_t)snprintf(told + len, sizeof told - len, "%s[", e->name);
    for (const struct broadcast_item *i = k->first; i != NULL; i = i->next) {
        len += (size_t)snprintf(told + len, sizeof told - len, "%.*s:%d%s", (int)i->name.len,
                                (const char *)i->name.data, (int)i->writer,
                                i->next != NULL ? " " : "");
    }
    snprintf(told + len, sizeof told - len, "]@%d ", (int)k->version);
    return 1;
}

static const char *tell_some(struct broadcast *b, size_t work)
{
    told[0] = '\0';
    (void)broadcast_tell(b, &work, tell, NULL);
    return told;
}

static void change(struct broadcast *b, const char *name, uint64_t version, uint64_t writer)
{
    broadcast_change(b, slice_str(name), slice_str(name), version, writer);
}

static void drop(struct broadcast *b, struct ear *e)
{
    size_t all = SIZE_MAX;
    assert_true(broadcast_drop(b, &e->listener, &all));
    assert_int_equal(e->listener.bytes, 0);
}

static void a_name_is_told_once_to_all_whose_prefix_it_has(void **state)
{
    struct broadcast *b = broadcast_new();
    struct ear a = {.name = "a"};
    struct ear all = {.name = "all"};
    assert_true(broadcast_join(b, &a.listener, slice_str("us:")));
    assert_false(broadcast_join(b, &a.listener, slice_str("us:")));
    assert_true(broadcast_join(b, &all.listener, slice_str("")));
    assert_true(broadcast_join(b, &all.listener, slice_str("us:")));
    assert_int_equal(broadcast_prefixes(b), 2);
    change(b, "us:1", 3, 9);
    change(b, "us", 4, 9);
    change(b, "us:2", 5, 8);
    change(b, "us:1", 6, 9);
    change(b, "us:2", 7, 9); /* of two writers now */
    assert_string_equal(tell_some(b, 10), "all[us:1:9 us:9 us:2:0]@7 a[us:1:9 us:2:0]@7 "
                                          "all[us:1:9 us:2:0]@7 ");
    assert_string_equal(tell_some(b, 10), "");
    change(b, "us:", 8, 9); /* all of it is the prefix */
    assert_string_equal(tell_some(b, 10), "all[us::9]@8 a[us::9]@8 all[us::9]@8 ");
    drop(b, &a);
    drop(b, &all);
    assert_int_equal(broadcast_prefixes(b), 0);
    change(b, "us:1", 8, 9);
    broadcast_free(b);
}

static void who_leaves_while_it_is_told_is_passed_over(void **state)
{
    struct broadcast *b = broadcast_new();
    struct ear a = {.name = "a"};
    struct ear d = {.name = "d"};
    struct ear e = {.name = "e"};
    (void)broadcast_join(b, &a.listener, slice_str("x"));
    (void)broadcast_join(b, &d.listener, slice_str("x"));
    (void)broadcast_join(b, &e.listener, slice_str("x"));
    change(b, "x1", 1, 0);
    assert_string_equal(tell_some(b, 1), "a[x1:0]@1 ");
    change(b, "x2", 2, 0); /* not into what some have been told */
    drop(b, &d);
    assert_string_equal(tell_some(b, 10), "e[x1:0]@1 a[x2:0]@2 e[x2:0]@2 ");
    change(b, "x3", 3, 0);
    drop(b, &a);
    drop(b, &e);
    assert_string_equal(tell_some(b, 10), "");
    broadcast_free(b);
}

static void many_names_are_several_blocks_and_too_many_are_given_up(void **state)
{
    struct broadcast *b = broadcast_new();
    struct ear a = {.name = "a"};
    char name[1000];
    size_t blocks = 0;
    size_t work = SIZE_MAX;
    (void)broadcast_join(b, &a.listener, slice_str(""));
    for (int i = 0; i < 2500; i++) {
        snprintf(name, sizeof name, "n%d", i);
        change(b, name, 1, 0);
    }
    assert_true(broadcast_tell(b, &work, tell, &blocks));
    assert_int_equal(blocks, 3);
    assert_false(broadcast_take_loss(b));
    memset(name, 'y', sizeof name);
    for (int i = 0; i < 70000; i++) {
        for (int k = i, at = 0; at < 8; at++, k /= 10) name[at] = (char)('0' + k % 10);
        struct slice s = slice_of(name, sizeof name);
        broadcast_change(b, s, s, 1, 0);
    }
    assert_true(broadcast_take_loss(b));
    assert_false(broadcast_take_loss(b));
    drop(b, &a);
    broadcast_free(b);
}

static void prefixes_can_be_listed(void **state)
{
    struct broadcast *b = broadcast_new();
    struct ear a = {.name = "a"};
    struct broadcast_member *at = NULL;
    struct slice prefix;
    size_t one = 1;
    (void)broadcast_join(b, &a.listener, slice_str("x"));
    (void)broadcast_join(b, &a.listener, slice_str("y"));
    assert_true(broadcast_prefix(&a.listener, &at, &prefix));
    assert_true(slice_eq(prefix, slice_str("y")));
    assert_true(broadcast_prefix(&a.listener, &at, &prefix));
    assert_true(slice_eq(prefix, slice_str("x")));
    assert_false(broadcast_prefix(&a.listener, &at, &prefix));
    assert_false(broadcast_drop(b, &a.listener, &one));
    assert_int_equal(broadcast_prefixes(b), 1);
    drop(b, &a);
    broadcast_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_is_told_once_to_all_whose_prefix_it_has),
        cmocka_unit_test(who_leaves_while_it_is_told_is_passed_over),
        cmocka_unit_test(many_names_are_several_blocks_and_too_many_are_given_up),
        cmocka_unit_test(prefixes_can_be_listed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
