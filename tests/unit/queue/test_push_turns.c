/* Tests of handing out messages to subscribers, without a connection: what a subscriber was handed and
 * how far its output was read are said here.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "unit/queue/queue_help.h"

#define FRAME_BYTES 100 /* of each message in the client's stream */

struct listener {
    struct push_sub sub; /* first */
    struct push_client client;
    uint64_t written; /* bytes of its stream */
    char got[64];     /* values, one after the other */
    struct receipt last;
};

static bool has_room(struct push_sub *s)
{
    return true;
}

static uint64_t deliver(struct push_sub *s, const struct delivery *d, uint64_t version)
{
    struct listener *l = (struct listener *)s;
    assert_true(strlen(l->got) + d->value.len < sizeof l->got);
    strncat(l->got, (const char *)d->value.data, d->value.len);
    l->written += FRAME_BYTES;
    l->last = d->delivered;
    l->last.queue = slice_str("q");
    return l->written;
}

static void listen(struct qbench *t, struct listener *l, size_t prefetch)
{
    *l = (struct listener){.sub = {.client = &l->client, .has_room = has_room, .deliver = deliver},
                           .client = {.prefetch = prefetch}};
    push_subscribe(t->qs, &l->sub, 0, slice_str("q"));
}

static void subscribers_get_messages_in_turn(void **state)
{
    struct qbench t;
    struct listener one, two;
    qbench_open(&t);
    listen(&t, &one, 10);
    listen(&t, &two, 10);
    for (char c = 'a'; c <= 'f'; c++) put(&t, "q", ((char[]){c, '\0'}));
    tick(&t);
    assert_int_equal(strlen(one.got), 3);
    assert_int_equal(strlen(two.got), 3);
    assert_int_equal(one.client.unacked, 3);
    push_unsubscribe(t.qs, &one.sub, PUSH_ENDED, 0);
    push_unsubscribe(t.qs, &two.sub, PUSH_ENDED, 0);
    tick(&t);
    assert_string_equal(figures(&t, "q"), "6 0 0 0");
    audit(&t, "q");
    qbench_close(&t);
}

/* It was sent two of three: the third comes at once and was never tried. */
static void what_was_sent_counts_and_the_rest_does_not(void **state)
{
    struct qbench t;
    struct listener one;
    struct taken taken;
    qbench_open(&t);
    listen(&t, &one, 10);
    for (char c = 'a'; c <= 'c'; c++) put(&t, "q", ((char[]){c, '\0'}));
    tick(&t);
    assert_string_equal(one.got, "abc");
    push_unsubscribe(t.qs, &one.sub, PUSH_LOST, 2 * FRAME_BYTES);
    tick(&t);
    assert_string_equal(figures(&t, "q"), "1 2 0 0");
    assert_true(take(&t, "q", 5000, &taken));
    assert_string_equal(taken.value, "c");
    assert_int_equal(taken.attempt, 1);
    at(&t, 1000); /* the first delay of the backoff */
    for (char c = 'a'; c <= 'b'; c++) {
        assert_true(take(&t, "q", 5000, &taken));
        assert_int_equal(taken.value[0], c);
        assert_int_equal(taken.attempt, 2);
    }
    audit(&t, "q");
    qbench_close(&t);
}

static void nobody_gets_more_than_was_agreed(void **state)
{
    struct qbench t;
    struct listener one;
    qbench_open(&t);
    listen(&t, &one, 2);
    for (char c = 'a'; c <= 'c'; c++) put(&t, "q", ((char[]){c, '\0'}));
    tick(&t);
    assert_string_equal(one.got, "ab");
    assert_true(settle(&t, SETTLE_ACK, one.last, 0));
    tick(&t);
    assert_string_equal(one.got, "abc");
    push_unsubscribe(t.qs, &one.sub, PUSH_ENDED, 0);
    qbench_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(subscribers_get_messages_in_turn),
        cmocka_unit_test(what_was_sent_counts_and_the_rest_does_not),
        cmocka_unit_test(nobody_gets_more_than_was_agreed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
