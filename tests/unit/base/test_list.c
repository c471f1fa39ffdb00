/* Tests of lists through members: entered and left at every place, and what remains in order. */
#include "base/list.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

struct thing {
    char name;
    struct thing *next, *prev;
    struct thing *other_next, *other_prev;
};

struct things {
    struct thing a, b, c;
    struct thing *first, *last;
};

static struct things three(void)
{
    return (struct things){.a = {.name = 'a'}, .b = {.name = 'b'}, .c = {.name = 'c'}};
}

/* The names from `first` on, then back from `last` (NULL: there is no way back). */
static const char *names(const struct thing *first, const struct thing *last)
{
    static char text[16];
    size_t n = 0;
    for (; first != NULL; first = first->next) text[n++] = first->name;
    text[n++] = ' ';
    for (; last != NULL; last = last->prev) text[n++] = last->name;
    text[n] = '\0';
    return text;
}

static const char *ring(const struct thing *at)
{
    static char text[16];
    size_t n = 0;
    const struct thing *x = at;
    do {
        text[n++] = x->name;
        assert_ptr_equal(x->next->prev, x);
        x = x->next;
    } while (x != at);
    text[n] = '\0';
    return text;
}

static void a_list_keeps_its_order_whoever_leaves(void **state)
{
    static const char *const left[] = {"bc cb", "ac ca", "ab ba"};
    for (int i = 0; i < 3; i++) {
        struct things t = three();
        struct thing *all[] = {&t.a, &t.b, &t.c};
        for (int k = 0; k < 3; k++) LIST_APPEND(t.first, t.last, all[k], next, prev);
        assert_string_equal(names(t.first, t.last), "abc cba");
        LIST_UNLINK(t.first, t.last, all[i], next, prev);
        assert_string_equal(names(t.first, t.last), left[i]);
        LIST_APPEND(t.first, t.last, all[i], next, prev);
        assert_ptr_equal(t.last, all[i]);
        for (int k = 0; k < 3; k++) LIST_UNLINK(t.first, t.last, all[k], next, prev);
        assert_null(t.first);
        assert_null(t.last);
    }
}

static void the_newest_of_a_stack_comes_first(void **state)
{
    static const char *const left[] = {"cb ", "ca ", "ba "};
    for (int i = 0; i < 3; i++) {
        struct things t = three();
        struct thing *all[] = {&t.a, &t.b, &t.c};
        for (int k = 0; k < 3; k++) STACK_PUSH(t.first, all[k], next, prev);
        assert_string_equal(names(t.first, &t.a), "cba abc");
        STACK_UNLINK(t.first, all[i], next, prev);
        assert_string_equal(names(t.first, NULL), left[i]);
        STACK_PUSH(t.first, all[i], next, prev);
        assert_ptr_equal(t.first, all[i]);
        assert_null(t.first->prev);
        for (int k = 0; k < 3; k++) STACK_UNLINK(t.first, all[k], next, prev);
        assert_null(t.first);
    }
}

static void a_ring_with_a_head_grows_at_its_end(void **state)
{
    struct things t = three();
    struct thing head = {.name = '-'};
    RING_INIT(&head, next, prev);
    assert_string_equal(ring(&head), "-");
    RING_INSERT(&head, &t.a, next, prev);
    RING_INSERT(&head, &t.b, next, prev);
    RING_INSERT(&head, &t.c, next, prev);
    assert_string_equal(ring(&head), "-abc");
    RING_UNLINK(&t.b, next, prev);
    assert_string_equal(ring(&head), "-ac");
    assert_ptr_equal(t.b.next, &t.c); /* it knows its way on */
    RING_INSERT(&t.c, &t.b, next, prev);
    assert_string_equal(ring(&head), "-abc");
}

static void a_ring_without_a_head_begins_with_the_first(void **state)
{
    struct things t = three();
    RING_ADD(t.first, &t.a, next, prev);
    assert_string_equal(ring(t.first), "a");
    RING_ADD(t.first, &t.b, next, prev);
    RING_ADD(t.first, &t.c, next, prev);
    assert_string_equal(ring(t.first), "abc");
    RING_UNLINK(&t.a, next, prev);
    assert_string_equal(ring(&t.b), "bc");
}

static void one_thing_is_in_two_lists(void **state)
{
    struct things t = three();
    struct thing *newest = NULL;
    LIST_APPEND(t.first, t.last, &t.a, next, prev);
    LIST_APPEND(t.first, t.last, &t.b, next, prev);
    STACK_PUSH(newest, &t.a, other_next, other_prev);
    STACK_PUSH(newest, &t.b, other_next, other_prev);
    LIST_UNLINK(t.first, t.last, &t.b, next, prev);
    assert_string_equal(names(t.first, t.last), "a a");
    assert_ptr_equal(newest, &t.b);
    assert_ptr_equal(newest->other_next, &t.a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_keeps_its_order_whoever_leaves),
        cmocka_unit_test(the_newest_of_a_stack_comes_first),
        cmocka_unit_test(a_ring_with_a_head_grows_at_its_end),
        cmocka_unit_test(a_ring_without_a_head_begins_with_the_first),
        cmocka_unit_test(one_thing_is_in_two_lists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
