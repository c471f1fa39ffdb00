/* Messages that are pushed: who gets them, and what a delivery costs when its subscriber goes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "unit/queue/queue_help.h"

#define MESSAGE_BYTES 100 /* of each message in a subscriber's stream */

struct subscriber {
    struct push_client client; /* first */
    struct push_sub sub;
    uint64_t stream; /* bytes that were written for it */
    char got[200];   /* "<value>/<attempt> ..." */
};

static struct subscriber *subscriber_of(struct push_sub *s)
{
    return (struct subscriber *)(void *)s->client;
}

static bool has_room(struct push_sub *s)
{
    return s->client != NULL;
}

static uint64_t deliver(struct push_sub *s, const struct delivery *d, uint64_t version)
{
    struct subscriber *x = subscriber_of(s);
    size_t len = strlen(x->got);
    assert_true(version > 0);
    snprintf(x->got + len, sizeof x->got - len, "%s%.*s/%u", len > 0 ? " " : "", (int)d->value.len,
             (const char *)d->value.data, d->delivered.attempt);
    return x->stream += MESSAGE_BYTES;
}

static void subscribe(struct qbench *t, struct subscriber *x, size_t prefetch)
{
    *x = (struct subscriber){.client = {.prefetch = prefetch}};
    x->sub = (struct push_sub){.client = &x->client, .has_room = has_room, .deliver = deliver};
    push_subscribe(t->qs, &x->sub, 0, slice_str("q"));
    queues_turn(t->qs);
}

static void turn(struct qbench *t)
{
    tick(t);
    queues_turn(t->qs);
}

static void deliveries_that_were_not_sent_count_no_attempt(void **state)
{
    struct qbench t;
    struct subscriber x;
    qbench_open(&t);
    for (int i = 0; i < 4; i++) {
        static const char *const values[] = {"a", "b", "c", "d"};
        enqueue(&t, "q", values[i], (struct enqueue_options){.backoff = "5000"});
    }
    subscribe(&t, &x, 3);
    assert_string_equal(x.got, "a/1 b/1 c/1");
    assert_string_equal(figures(&t, "q"), "1 0 3 0");
    /* It dies. All of a was sent, and of b all but the last byte. */
    push_unsubscribe(t.qs, &x.sub, PUSH_LOST, 2 * MESSAGE_BYTES - 1);
    assert_int_equal(x.client.unacked, 0);
    turn(&t);
    assert_string_equal(figures(&t, "q"), "3 1 0 0");
    subscribe(&t, &x, 10);
    assert_string_equal(x.got, "b/1 c/1 d/1");
    /* Sent to the last byte: b counts too, and has no retry left after the next. */
    push_unsubscribe(t.qs, &x.sub, PUSH_LOST, MESSAGE_BYTES);
    turn(&t);
    assert_string_equal(figures(&t, "q"), "2 2 0 0");
    at(&t, 5000);
    turn(&t);
    subscribe(&t, &x, 10);
    assert_string_equal(x.got, "c/1 d/1 a/2 b/2");
    push_unsubscribe(t.qs, &x.sub, PUSH_LOST, 3 * MESSAGE_BYTES);
    turn(&t);
    assert_string_equal(figures(&t, "q"), "1 2 0 1"); /* a is dead: two attempts were all it had */
    assert_string_equal(dead(&t, "q"), "a 2 the connection ended 5000");
    audit(&t, "q");
    qbench_close(&t);
}

/* A subscriber that unsubscribes has said so: nothing counts, sent or not. */
static void unsubscribing_counts_no_attempt(void **state)
{
    struct qbench t;
    struct subscriber x;
    qbench_open(&t);
    put(&t, "q", "a");
    put(&t, "q", "b");
    subscribe(&t, &x, 10);
    assert_string_equal(x.got, "a/1 b/1");
    push_unsubscribe(t.qs, &x.sub, PUSH_ENDED, 2 * MESSAGE_BYTES);
    turn(&t);
    assert_string_equal(figures(&t, "q"), "2 0 0 0");
    subscribe(&t, &x, 10);
    assert_string_equal(x.got, "a/1 b/1");
    push_unsubscribe(t.qs, &x.sub, PUSH_ENDED, 0);
    audit(&t, "q");
    qbench_close(&t);
}

/* Those of one subscriber go to the others of its ring, and count as theirs. */
static void what_one_loses_the_others_get(void **state)
{
    struct qbench t;
    struct subscriber x;
    struct subscriber y;
    qbench_open(&t);
    subscribe(&t, &x, 2);
    subscribe(&t, &y, 3);
    put(&t, "q", "a");
    put(&t, "q", "b");
    put(&t, "q", "c");
    turn(&t);
    assert_string_equal(x.got, "a/1 c/1");
    assert_string_equal(y.got, "b/1");
    push_unsubscribe(t.qs, &x.sub, PUSH_LOST, 0);
    turn(&t);
    assert_string_equal(y.got, "b/1 a/1 c/1");
    assert_int_equal(y.client.unacked, 3);
    push_unsubscribe(t.qs, &y.sub, PUSH_LOST, 0);
    turn(&t);
    assert_string_equal(figures(&t, "q"), "3 0 0 0");
    audit(&t, "q");
    qbench_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deliveries_that_were_not_sent_count_no_attempt),
        cmocka_unit_test(unsubscribing_counts_no_attempt),
        cmocka_unit_test(what_one_loses_the_others_get),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
