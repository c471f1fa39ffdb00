#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "pubsub/pubsub.h"

#define SUBSCRIBERS 8

struct told {
    const struct subscriber *first; /* of the array */
    char text[200];                 /* "<subscriber>[:pattern] ..." */
    struct pubsub_delivery *limits; /* its work ends with the first; NULL = no limit */
};

static void deliver(void *arg, struct subscriber *s, struct slice pattern)
{
    struct told *t = arg;
    size_t len = strlen(t->text);
    if (t->limits != NULL) t->limits->work = 0;
    snprintf(t->text + len, sizeof t->text - len, "%d%s%.*s ", (int)(s - t->first),
             pattern.data != NULL ? ":" : "", (int)pattern.len, (const char *)pattern.data);
}

static void expect_told(struct pubsub *p, const struct subscriber *first, bool is_shard,
                        const char *channel, const char *wanted)
{
    struct told t = {.first = first};
    struct pubsub_delivery d = {.work = INT64_MAX};
    size_t spaces = 0;
    assert_true(pubsub_publish(p, &d, is_shard, slice_str(channel), deliver, &t));
    for (const char *c = wanted; *c != '\0'; c++) spaces += *c == ' ';
    assert_string_equal(t.text, wanted);
    assert_int_equal(d.told, spaces);
}

/* In parts, as when a client with many channels ends. */
static void leave(struct pubsub *p, struct subscriber *s)
{
    for (size_t work = 0; !pubsub_leave(p, s, &work);) work = 1;
}

/* One more of those that listen, or the end. */
static bool tell_one(struct pubsub *p, struct pubsub_delivery *d, const char *channel,
                     struct told *t)
{
    size_t before = d->told;
    bool is_over = false;
    t->limits = d;
    while (!is_over && d->told == before) {
        d->work = 1;
        is_over = pubsub_publish(p, d, false, slice_str(channel), deliver, t);
    }
    return is_over;
}

static void a_message_told_in_parts_goes_to_those_who_listened_when_it_began(void **state)
{
    struct subscriber s[SUBSCRIBERS] = {0};
    struct told t = {.first = s};
    struct told other = {.first = s};
    struct pubsub_delivery d = {0};
    struct pubsub_delivery moved;
    struct pubsub_delivery second = {0};
    struct pubsub *p = pubsub_new();
    for (int i = 0; i < 4; i++) pubsub_subscribe(p, &s[i], PUBSUB_CHANNEL, slice_str("a"));
    pubsub_subscribe(p, &s[0], PUBSUB_PATTERN, slice_str("?"));
    pubsub_subscribe(p, &s[1], PUBSUB_PATTERN, slice_str("*"));
    pubsub_subscribe(p, &s[2], PUBSUB_PATTERN, slice_str("[a]"));
    pubsub_subscribe(p, &s[3], PUBSUB_PATTERN, slice_str("b*"));
    assert_false(tell_one(p, &d, "a", &t));
    assert_string_equal(t.text, "0 ");
    pubsub_unsubscribe(p, &s[1], PUBSUB_CHANNEL, slice_str("a")); /* the next one */
    pubsub_subscribe(p, &s[1], PUBSUB_CHANNEL, slice_str("a"));   /* comes back: too late */
    pubsub_subscribe(p, &s[4], PUBSUB_PATTERN, slice_str("*"));
    pubsub_move(&d, &moved);
    assert_false(tell_one(p, &moved, "a", &t));
    assert_false(tell_one(p, &second, "a", &other)); /* two at once */
    assert_false(tell_one(p, &moved, "a", &t));
    assert_string_equal(t.text, "0 2 3 ");
    pubsub_unsubscribe(p, &s[0], PUBSUB_PATTERN, slice_str("?")); /* the next pattern goes */
    assert_false(tell_one(p, &moved, "a", &t));
    pubsub_unsubscribe(p, &s[4], PUBSUB_PATTERN, slice_str("*"));
    pubsub_unsubscribe(p, &s[1], PUBSUB_PATTERN, slice_str("*")); /* the one being told goes */
    assert_false(tell_one(p, &moved, "a", &t));
    assert_true(tell_one(p, &moved, "a", &t));
    assert_string_equal(t.text, "0 2 3 1:* 2:[a] ");
    assert_int_equal(moved.told, 5);
    pubsub_abandon(&moved);  /* over: harmless */
    pubsub_abandon(&second); /* in the middle */
    for (int i = 0; i < SUBSCRIBERS; i++) leave(p, &s[i]);
    pubsub_free(p);
}

/* What 50,000 patterns or a long name cost is seen before it is spent. */
static void looking_takes_of_the_work(void **state)
{
    struct subscriber s = {0};
    struct told t = {.first = &s};
    struct pubsub *p = pubsub_new();
    char channel[1001] = {0};
    char name[20];
    memset(channel, 'x', sizeof channel - 1);
    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof name, "*%d", i);
        pubsub_subscribe(p, &s, PUBSUB_PATTERN, slice_str(name));
    }
    struct pubsub_delivery d = {0};
    unsigned calls = 0;
    do {
        d.work = 100000;
        calls++;
    } while (!pubsub_publish(p, &d, false, slice_str(channel), deliver, &t));
    assert_in_range(calls, 10, 100);
    assert_int_equal(d.told, 0);
    leave(p, &s);
    pubsub_free(p);
}

static void leaving_ends_no_more_than_it_may(void **state)
{
    struct subscriber s = {0};
    struct pubsub *p = pubsub_new();
    char name[20];
    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof name, "c%d", i);
        pubsub_subscribe(p, &s, i % 2 == 0 ? PUBSUB_CHANNEL : PUBSUB_SHARD, slice_str(name));
    }
    size_t work = 30;
    assert_false(pubsub_leave(p, &s, &work));
    assert_int_equal(work, 0);
    assert_int_equal(pubsub_names(p, PUBSUB_CHANNEL), 20);
    assert_int_equal(pubsub_names(p, PUBSUB_SHARD), 50);
    work = 100;
    assert_true(pubsub_leave(p, &s, &work));
    assert_int_equal(work, 30);
    assert_int_equal(pubsub_names(p, PUBSUB_SHARD), 0);
    pubsub_free(p);
}

static void what_ended_is_not_counted(void **state)
{
    static const char longest[300] = "a";
    struct subscriber s = {0};
    struct pubsub *p = pubsub_new();
    pubsub_subscribe(p, &s, PUBSUB_CHANNEL, slice_str("kept"));
    size_t before = pubsub_bytes(&s);
    struct slice name = slice_of(longest, sizeof longest);
    for (int round = 0; round < 3; round++) {
        assert_true(pubsub_subscribe(p, &s, PUBSUB_CHANNEL, name));
        assert_true(pubsub_bytes(&s) >= before + sizeof longest);
        assert_true(pubsub_unsubscribe(p, &s, PUBSUB_CHANNEL, name));
        assert_int_equal(pubsub_bytes(&s), before);
    }
    leave(p, &s);
    assert_int_equal(pubsub_bytes(&s), 0);
    pubsub_free(p);
}

static void channels_patterns_and_shards_are_apart(void **state)
{
    struct subscriber s[SUBSCRIBERS] = {0};
    struct pubsub *p = pubsub_new();
    assert_true(pubsub_subscribe(p, &s[0], PUBSUB_CHANNEL, slice_str("a")));
    assert_true(pubsub_subscribe(p, &s[1], PUBSUB_CHANNEL, slice_str("a")));
    assert_true(pubsub_subscribe(p, &s[1], PUBSUB_PATTERN, slice_str("a*")));
    assert_true(pubsub_subscribe(p, &s[2], PUBSUB_PATTERN, slice_str("*")));
    assert_true(pubsub_subscribe(p, &s[3], PUBSUB_SHARD, slice_str("a")));
    assert_false(pubsub_subscribe(p, &s[0], PUBSUB_CHANNEL, slice_str("a"))); /* once */
    expect_told(p, s, false, "a", "0 1 1:a* 2:* ");
    expect_told(p, s, false, "ab", "1:a* 2:* ");
    expect_told(p, s, false, "", "2:* ");
    expect_told(p, s, true, "a", "3 ");
    expect_told(p, s, true, "b", "");
    assert_int_equal(pubsub_count(&s[1], PUBSUB_CHANNEL), 1);
    assert_int_equal(pubsub_subscribers(p, PUBSUB_CHANNEL, slice_str("a")), 2);
    assert_int_equal(pubsub_subscribers(p, PUBSUB_SHARD, slice_str("a")), 1);
    assert_int_equal(pubsub_names(p, PUBSUB_PATTERN), 2);
    for (int i = 0; i < SUBSCRIBERS; i++) leave(p, &s[i]);
    expect_told(p, s, false, "a", "");
    assert_int_equal(pubsub_names(p, PUBSUB_PATTERN), 0);
    pubsub_free(p);
}

static void who_leaves_is_told_no_more_and_others_are(void **state)
{
    struct subscriber s[SUBSCRIBERS] = {0};
    struct pubsub *p = pubsub_new();
    for (int i = 0; i < 4; i++) {
        assert_true(pubsub_subscribe(p, &s[i], PUBSUB_CHANNEL, slice_str("c")));
        assert_true(pubsub_subscribe(p, &s[i], PUBSUB_CHANNEL, slice_str("d")));
    }
    assert_true(pubsub_unsubscribe(p, &s[1], PUBSUB_CHANNEL, slice_str("c")));
    assert_false(pubsub_unsubscribe(p, &s[1], PUBSUB_CHANNEL, slice_str("c")));
    assert_false(pubsub_unsubscribe(p, &s[1], PUBSUB_PATTERN, slice_str("d")));
    expect_told(p, s, false, "c", "0 2 3 ");
    leave(p, &s[0]);
    leave(p, &s[3]);
    expect_told(p, s, false, "c", "2 ");
    expect_told(p, s, false, "d", "1 2 ");
    leave(p, &s[1]);
    leave(p, &s[2]);
    assert_int_equal(pubsub_names(p, PUBSUB_CHANNEL), 0);
    pubsub_free(p);
}

static void names_come_back_in_the_order_of_subscribing(void **state)
{
    struct subscriber s = {0};
    struct pubsub *p = pubsub_new();
    struct slice name;
    char text[16];
    assert_false(pubsub_first(&s, PUBSUB_CHANNEL, &name));
    for (int i = 0; i < 1000; i++) {
        snprintf(text, sizeof text, "%d", i);
        assert_true(pubsub_subscribe(p, &s, PUBSUB_CHANNEL, slice_str(text)));
    }
    assert_true(pubsub_unsubscribe(p, &s, PUBSUB_CHANNEL, slice_str("0")));
    for (int i = 1; pubsub_first(&s, PUBSUB_CHANNEL, &name); i++) {
        snprintf(text, sizeof text, "%d", i);
        assert_true(slice_eq(name, slice_str(text)));
        assert_true(pubsub_unsubscribe(p, &s, PUBSUB_CHANNEL, slice_str(text)));
    }
    assert_int_equal(pubsub_count(&s, PUBSUB_CHANNEL), 0);
    leave(p, &s);
    pubsub_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leaving_ends_no_more_than_it_may),
        cmocka_unit_test(a_message_told_in_parts_goes_to_those_who_listened_when_it_began),
        cmocka_unit_test(looking_takes_of_the_work),
        cmocka_unit_test(what_ended_is_not_counted),
        cmocka_unit_test(channels_patterns_and_shards_are_apart),
        cmocka_unit_test(who_leaves_is_told_no_more_and_others_are),
        cmocka_unit_test(names_come_back_in_the_order_of_subscribing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
