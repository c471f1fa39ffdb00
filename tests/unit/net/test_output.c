/* Tests of net/output: what may leave when. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/random.h"
#include "net/output.h"

static void reply(struct output *o, const char *text, uint64_t version, uint64_t durable)
{
    buf_append_str(&o->bytes, text);
    output_mark(o, version, durable);
}

static void expect_ready(struct output *o, uint64_t durable, const char *text)
{
    struct slice ready = output_ready(o, durable, false);
    assert_int_equal(ready.len, strlen(text));
    assert_memory_equal(ready.data, text, ready.len);
}

static void a_reply_that_needs_nothing_may_go_at_once(void **state)
{
    struct output o;
    output_init(&o);
    reply(&o, "a", 0, 5);
    reply(&o, "b", 5, 5);
    expect_ready(&o, 5, "ab");
    output_fini(&o);
}

static void a_reply_waits_for_its_version_and_those_behind_it_wait_too(void **state)
{
    struct output o;
    output_init(&o);
    reply(&o, "a", 0, 5);
    reply(&o, "b", 7, 5);
    reply(&o, "c", 0, 5);
    reply(&o, "d", 6, 5);
    reply(&o, "e", 9, 5);
    expect_ready(&o, 5, "a");
    expect_ready(&o, 6, "a");
    expect_ready(&o, 7, "abcd");
    expect_ready(&o, 8, "abcd");
    expect_ready(&o, 9, "abcde");
    output_fini(&o);
}

static void output_waits_until_the_last_version_is_durable(void **state)
{
    struct output o;
    output_init(&o);
    assert_false(output_waits(&o, 0));
    reply(&o, "a", 5, 5);
    assert_false(output_waits(&o, 5));
    for (uint64_t i = 6; i < 20; i++) reply(&o, "b", i, 5);
    reply(&o, "c", 0, 5);
    assert_true(output_waits(&o, 5));
    assert_true(output_waits(&o, 18));
    assert_false(output_waits(&o, 19));
    expect_ready(&o, 18, "abbbbbbbbbbbbb");
    assert_true(output_waits(&o, 18));
    output_fini(&o);
}

static void what_was_sent_is_not_sent_again(void **state)
{
    struct output o;
    output_init(&o);
    reply(&o, "abc", 0, 0);
    reply(&o, "def", 1, 0);
    expect_ready(&o, 0, "abc");
    output_sent(&o, 2);
    expect_ready(&o, 0, "c");
    output_sent(&o, 1);
    expect_ready(&o, 0, "");
    assert_false(output_is_empty(&o));
    expect_ready(&o, 1, "def");
    output_sent(&o, 3);
    assert_true(output_is_empty(&o));
    output_fini(&o);
}

/* Eight marks have room; four went, and of nine more some stand before those that are older. */
static void marks_keep_their_order_when_there_are_more(void **state)
{
    struct output o;
    output_init(&o);
    for (int i = 1; i <= 8; i++) reply(&o, (char[]){(char)('a' + i - 1), '\0'}, (uint64_t)i, 0);
    expect_ready(&o, 4, "abcd");
    for (int i = 9; i <= 17; i++) reply(&o, (char[]){(char)('a' + i - 1), '\0'}, (uint64_t)i, 4);
    for (size_t i = 4; i <= 17; i++) {
        char wanted[18] = "abcdefghijklmnopq";
        wanted[i] = '\0';
        expect_ready(&o, i, wanted);
    }
    output_fini(&o);
}

/* What was sent of a long reply is moved out of the way; what is held stays held. */
static void moving_what_is_left_releases_nothing(void **state)
{
    enum { LONG = 800 * 1024, SENT = 600 * 1024 };
    struct output o;
    char *text = malloc(LONG + 1);
    memset(text, 'x', LONG);
    text[LONG] = '\0';
    output_init(&o);
    reply(&o, text, 1, 0);
    assert_int_equal(output_ready(&o, 1, false).len, LONG);
    output_sent(&o, SENT);
    reply(&o, "held", 5, 1);
    assert_int_equal(output_ready(&o, 1, false).len, LONG - SENT);
    output_sent(&o, LONG - SENT);
    expect_ready(&o, 1, "");
    expect_ready(&o, 5, "held");
    output_fini(&o);
    free(text);
}

/* Against a model: a reply leaves only when all before it and itself are durable. */
static void random_replies_leave_in_order_and_never_early(void **state)
{
    struct rng rng;
    struct output o;
    uint64_t needs[4000];
    size_t made = 0;
    size_t sent = 0;
    uint64_t durable = 0;
    uint64_t newest = 0;
    rng_init(&rng, 11);
    output_init(&o);
    while (sent < 4000) {
        uint64_t what = rng_below(&rng, 3);
        if (what == 0 && made < 4000) {
            newest += rng_below(&rng, 2);
            needs[made] = rng_below(&rng, 3) == 0 ? newest : rng_below(&rng, newest + 1);
            char text[2] = {(char)('a' + made % 26), 0};
            reply(&o, text, needs[made++], durable);
        } else if (what == 1 && durable < newest) {
            durable++;
        } else {
            struct slice ready = output_ready(&o, durable, false);
            size_t may = sent;
            while (may < made && needs[may] <= durable) may++;
            assert_int_equal(ready.len, may - sent);
            for (size_t i = 0; i < ready.len; i++) {
                assert_int_equal(ready.data[i], 'a' + (sent + i) % 26);
            }
            size_t n = ready.len == 0 ? 0 : (size_t)rng_below(&rng, ready.len + 1);
            output_sent(&o, n);
            sent += n;
        }
        if (made == 4000) durable = newest;
    }
    output_fini(&o);
}

/* A long reply to a slow reader: what is left is not moved for every part that is sent. */
static void a_long_reply_is_moved_only_a_few_times(void **state)
{
    enum { PARTS = 256, PART_BYTES = 64 * 1024 };
    struct output o;
    unsigned moves = 0;
    output_init(&o);
    for (size_t i = 0; i < PARTS; i++) {
        uint8_t *p = buf_reserve(&o.bytes, PART_BYTES);
        assert_non_null(p);
        memset(p, (int)i, PART_BYTES);
        o.bytes.len += PART_BYTES;
    }
    output_mark(&o, 0, 0);
    for (size_t i = 0; i < PARTS; i++) {
        uint64_t base = o.base;
        struct slice ready = output_ready(&o, 0, false);
        assert_int_equal(ready.len, (PARTS - i) * PART_BYTES);
        assert_int_equal(ready.data[0], i);
        assert_int_equal(ready.data[PART_BYTES - 1], i);
        output_sent(&o, PART_BYTES);
        moves += o.base != base;
    }
    assert_true(output_is_empty(&o));
    assert_true(moves < 10);
    output_fini(&o);
}

/* The other end takes some of it now and then: the seconds begin anew each time. */
static void the_soft_limit_counts_from_the_last_time_above(void **state)
{
    static const char ten[] = "0123456789";
    static const struct output_limit limit = {.hard_bytes = 100, .soft_bytes = 9, .soft_s = 5};
    struct output o;
    int64_t s = 1000000;
    output_init(&o);
    reply(&o, "012345678", 0, 0);
    assert_false(output_is_over(&o, &limit, 10 * s));
    assert_false(output_is_over(&o, &limit, 99 * s)); /* at the limit, for ever */
    reply(&o, "9", 0, 0);
    assert_false(output_is_over(&o, &limit, 100 * s)); /* above */
    assert_false(output_is_over(&o, &limit, 104 * s));
    output_sent(&o, 1); /* below */
    assert_false(output_is_over(&o, &limit, 104 * s));
    reply(&o, ten, 0, 0); /* above again */
    assert_false(output_is_over(&o, &limit, 104 * s + 1));
    assert_false(output_is_over(&o, &limit, 105 * s + 1)); /* 5 s after the first time */
    assert_false(output_is_over(&o, &limit, 109 * s + 1));
    assert_true(output_is_over(&o, &limit, 109 * s + 2));
    output_sent(&o, 3); /* less, but above */
    assert_true(output_is_over(&o, &limit, 109 * s + 3));
    output_fini(&o);
}

static void limits_of_0_are_none_and_the_hard_one_is_at_once(void **state)
{
    static const struct output_limit none = {.soft_s = 0};
    static const struct output_limit hard = {.hard_bytes = 3};
    static const struct output_limit at_once = {.soft_bytes = 3, .soft_s = 0};
    struct output o;
    output_init(&o);
    reply(&o, "abc", 0, 0);
    assert_false(output_is_over(&o, &hard, 0));
    assert_false(output_is_over(&o, &at_once, 1));
    reply(&o, "d", 0, 0);
    assert_true(output_is_over(&o, &hard, 0));
    assert_false(output_is_over(&o, &at_once, 2));
    assert_true(output_is_over(&o, &at_once, 3));
    assert_false(output_is_over(&o, &none, 4));
    output_fini(&o);
}

/* ---- drafts ---- */

/* Each byte three times. */
static void thrice(struct slice draft, struct buf *out)
{
    for (size_t i = 0; i < draft.len * 3; i++) buf_append_byte(out, draft.data[i / 3]);
}

static void draft(struct output *o, const char *text, uint64_t version, uint64_t durable)
{
    buf_append_str(&o->bytes, text);
    drafts_add(&o->drafts, &o->bytes, strlen(text), thrice);
    output_mark(o, version, durable);
}

/* What stands before a draft in what may go, and what comes after it, is sent with it. */
static void drafts_are_written_when_they_are_to_be_sent(void **state)
{
    struct output o;
    output_init(&o);
    reply(&o, "ab", 0, 5);
    draft(&o, "cd", 0, 5);
    reply(&o, "e", 0, 5);
    draft(&o, "f", 7, 5);
    reply(&o, "g", 7, 5);
    assert_int_equal(output_pending(&o), 7);
    expect_ready(&o, 5, "abcccddde");
    assert_int_equal(o.drafts_written, 1);
    assert_int_equal(output_pending(&o), 7 + 4);
    expect_ready(&o, 7, "abcccddde"); /* it is written already */
    output_sent(&o, 3);
    expect_ready(&o, 7, "ccddde");
    assert_int_equal(o.base + o.sent, 0); /* until all of it is sent */
    assert_int_equal(output_pending(&o), 6 + 2);
    output_sent(&o, 6);
    assert_int_equal(o.base + o.sent, 5);
    expect_ready(&o, 6, "");
    assert_false(output_is_empty(&o));
    expect_ready(&o, 7, "fffg");
    assert_int_equal(o.drafts_written, 2);
    output_sent(&o, 4);
    assert_true(output_is_empty(&o));
    assert_int_equal(o.base + o.sent, 7);
    assert_int_equal(output_pending(&o), 0);
    reply(&o, "h", 0, 7);
    expect_ready(&o, 7, "h");
    output_sent(&o, 1);
    assert_true(output_held(&o) > 0);
    output_trim(&o);
    assert_int_equal(output_held(&o), o.mark_cap * sizeof *o.marks);
    output_fini(&o);
}

/* More than that is sent from where it is; what is written at once is bounded. */
static void much_before_a_draft_is_not_copied(void **state)
{
    enum { LONG = 40 * 1024, DRAFTS = 200, EACH = 2000 };
    static char plain[LONG + 1];
    static char each[EACH + 1];
    struct output o;
    size_t sent = 0;
    memset(plain, 'p', LONG);
    memset(each, 'd', EACH);
    output_init(&o);
    reply(&o, plain, 0, 0);
    for (int i = 0; i < DRAFTS; i++) draft(&o, each, 0, 0);
    struct slice ready = output_ready(&o, 0, false);
    assert_int_equal(ready.len, LONG);
    assert_ptr_equal(ready.data, o.bytes.data);
    output_sent(&o, LONG);
    while (!output_is_empty(&o)) {
        ready = output_ready(&o, 0, false);
        assert_in_range(ready.len, 1, 256 * 1024 + 3 * EACH);
        output_sent(&o, ready.len);
        sent += ready.len;
    }
    assert_int_equal(sent, 3 * DRAFTS * EACH);
    output_fini(&o);
}

#define LONG_DRAFT ((size_t)256 * 1024)

/* It is the owner's to have it written; what came before leaves, what comes after waits. */
static void a_long_draft_is_written_elsewhere(void **state)
{
    struct output o;
    struct buf written;
    draft_write *write = NULL;
    char *text = calloc(1, LONG_DRAFT + 1);
    assert_non_null(text);
    memset(text, 'd', LONG_DRAFT);
    output_init(&o);
    buf_init(&written);
    reply(&o, "ab", 0, 0);
    draft(&o, "c", 0, 0);
    draft(&o, text, 3, 0);
    reply(&o, "e", 3, 0);
    expect_ready(&o, 2, "abccc");
    assert_false(o.awaits_long);
    output_sent(&o, 5);
    expect_ready(&o, 2, ""); /* it is held ... */
    assert_false(o.awaits_long);
    expect_ready(&o, 3, ""); /* ... and then it is to be written */
    assert_true(o.awaits_long);
    struct slice next = output_long_draft(&o, &write);
    assert_int_equal(next.len, LONG_DRAFT);
    assert_ptr_equal(write, thrice);
    write(next, &written);
    reply(&o, "f", 0, 3); /* meanwhile */
    expect_ready(&o, 3, "");
    output_put_written(&o, &written);
    assert_null(written.data);
    struct slice ready = output_ready(&o, 3, false);
    assert_int_equal(ready.len, 3 * LONG_DRAFT);
    assert_int_equal(output_pending(&o), 3 * LONG_DRAFT + 2);
    output_sent(&o, ready.len);
    expect_ready(&o, 3, "ef");
    output_sent(&o, 2);
    assert_true(output_is_empty(&o));
    draft(&o, text, 0, 3);
    (void)output_ready(&o, 3, false);
    output_write_long(&o); /* there was no thread for it */
    assert_int_equal(output_ready(&o, 3, false).len, 3 * LONG_DRAFT);
    output_fini(&o);
    free(text);
}

static void no_memory(struct slice draft, struct buf *out)
{
    (void)buf_reserve(out, SIZE_MAX);
}

static void a_draft_that_is_lost_breaks_the_output(void **state)
{
    struct output o;
    output_init(&o);
    reply(&o, "ab", 0, 0);
    buf_append_str(&o.bytes, "c");
    drafts_add(&o.drafts, &o.bytes, 1, no_memory);
    output_mark(&o, 0, 0);
    assert_false(output_is_broken(&o));
    expect_ready(&o, 0, "");
    assert_true(output_is_broken(&o));
    output_fini(&o);
}

/* A node that may not answer sends what depends on nothing evaluated, as far as it comes first. */

static void own(struct output *o, const char *text, uint64_t version, uint64_t durable)
{
    buf_append_str(&o->bytes, text);
    output_mark_own(o, version, durable);
}

static void expect_own(struct output *o, uint64_t durable, const char *text)
{
    struct slice ready = output_ready(o, durable, true);
    assert_int_equal(ready.len, strlen(text));
    assert_memory_equal(ready.data, text, ready.len);
}

static void what_is_its_own_leaves_before_the_first_that_was_evaluated(void **state)
{
    struct output o;
    output_init(&o);
    own(&o, "ab", 0, 5);
    reply(&o, "c", 0, 5);
    own(&o, "d", 0, 5);
    expect_own(&o, 5, "ab");
    output_sent(&o, 1);
    expect_own(&o, 5, "b");
    output_sent(&o, 1);
    expect_own(&o, 5, "");
    expect_ready(&o, 5, "cd");
    output_sent(&o, 1);
    expect_own(&o, 5, ""); /* it was placed when it was not the first */
    output_sent(&o, 1);
    own(&o, "ef", 0, 5);
    own(&o, "g", 0, 5);
    expect_own(&o, 5, "efg");
    output_sent(&o, 3);
    reply(&o, "h", 0, 5);
    expect_own(&o, 5, "");
    output_fini(&o);
}

static void what_is_its_own_waits_for_its_version(void **state)
{
    struct output o;
    output_init(&o);
    own(&o, "a", 0, 5);
    own(&o, "b", 7, 5);
    own(&o, "c", 0, 5);
    expect_own(&o, 5, "a");
    expect_own(&o, 7, "abc");
    output_fini(&o);
}

static void a_draft_that_was_written_is_not_its_own(void **state)
{
    struct output o;
    output_init(&o);
    draft(&o, "ab", 0, 0);
    expect_ready(&o, 0, "aaabbb");
    output_sent(&o, 2);
    own(&o, "c", 0, 0);
    expect_own(&o, 0, ""); /* a part of the draft was sent: the rest comes first, and may not go */
    expect_ready(&o, 0, "abbb");
    output_sent(&o, 4);
    own(&o, "d", 0, 0);
    output_fini(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reply_that_needs_nothing_may_go_at_once),
        cmocka_unit_test(a_reply_waits_for_its_version_and_those_behind_it_wait_too),
        cmocka_unit_test(output_waits_until_the_last_version_is_durable),
        cmocka_unit_test(what_was_sent_is_not_sent_again),
        cmocka_unit_test(a_long_reply_is_moved_only_a_few_times),
        cmocka_unit_test(the_soft_limit_counts_from_the_last_time_above),
        cmocka_unit_test(limits_of_0_are_none_and_the_hard_one_is_at_once),
        cmocka_unit_test(marks_keep_their_order_when_there_are_more),
        cmocka_unit_test(moving_what_is_left_releases_nothing),
        cmocka_unit_test(random_replies_leave_in_order_and_never_early),
        cmocka_unit_test(drafts_are_written_when_they_are_to_be_sent),
        cmocka_unit_test(much_before_a_draft_is_not_copied),
        cmocka_unit_test(a_long_draft_is_written_elsewhere),
        cmocka_unit_test(a_draft_that_is_lost_breaks_the_output),
        cmocka_unit_test(what_is_its_own_leaves_before_the_first_that_was_evaluated),
        cmocka_unit_test(what_is_its_own_waits_for_its_version),
        cmocka_unit_test(a_draft_that_was_written_is_not_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
