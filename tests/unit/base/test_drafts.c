/* Tests of base/drafts: a text becomes what it would be if its drafts had been written at once,
 * however much of it is asked for at a time, and however it is cut and shifted meanwhile. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/drafts.h"
#include "base/random.h"

static void repeat(struct slice draft, unsigned times, struct buf *out)
{
    for (size_t i = 0; i < draft.len; i++) {
        for (unsigned n = 0; n < times; n++) buf_append_byte(out, draft.data[i]);
    }
}

static void once(struct slice draft, struct buf *out)
{
    repeat(draft, 1, out);
}

static void twice(struct slice draft, struct buf *out)
{
    repeat(draft, 2, out);
}

static void thrice(struct slice draft, struct buf *out)
{
    repeat(draft, 3, out);
}

#define limits_of(bytes) ((struct drafts_limits){.enough = (bytes), .long_len = SIZE_MAX})

/* A draft that becomes each of its bytes so many times. */
static void add(struct drafts *d, struct buf *text, const char *draft, unsigned times)
{
    static draft_write *const writes[] = {NULL, once, twice, thrice};
    buf_append_str(text, draft);
    drafts_add(d, text, strlen(draft), writes[times]);
}

static void expect_written(const struct drafts *d, const struct buf *text, size_t from, size_t end,
                           size_t enough, size_t stop, const char *wanted)
{
    struct buf out;
    buf_init(&out);
    assert_int_equal(drafts_write(d, text, from, end, &limits_of(enough), &out), stop);
    assert_int_equal(out.len, strlen(wanted));
    assert_memory_equal(out.data, wanted, out.len);
    buf_fini(&out);
}

static void drafts_are_written_in_their_place(void **state)
{
    struct drafts d = {0};
    struct buf text;
    buf_init(&text);
    assert_true(drafts_start(&d) == SIZE_MAX);
    buf_append_str(&text, "ab");
    add(&d, &text, "cd", 2);
    add(&d, &text, "e", 3);
    buf_append_str(&text, "fg");
    add(&d, &text, "h", 1);
    assert_int_equal(drafts_start(&d), 2);
    expect_written(&d, &text, 0, 8, SIZE_MAX, 8, "abccddeeefgh");
    expect_written(&d, &text, 0, 7, SIZE_MAX, 7, "abccddeeefg");
    expect_written(&d, &text, 0, 5, SIZE_MAX, 5, "abccddeee");
    expect_written(&d, &text, 0, 2, SIZE_MAX, 2, "ab");
    expect_written(&d, &text, 0, 8, 1, 1, "a");
    expect_written(&d, &text, 0, 8, 2, 2, "ab");
    expect_written(&d, &text, 0, 8, 3, 4, "abccdd"); /* what is begun is brought to an end */
    expect_written(&d, &text, 0, 8, 7, 5, "abccddeee");
    expect_written(&d, &text, 0, 8, 10, 6, "abccddeeef");
    drafts_fini(&d);
    buf_fini(&text);
}

static void what_is_cut_or_passed_is_gone(void **state)
{
    struct drafts d = {0};
    struct buf text;
    buf_init(&text);
    buf_append_str(&text, "a");
    add(&d, &text, "b", 2);
    add(&d, &text, "c", 3);
    buf_append_str(&text, "d");
    text.len = 2;
    drafts_cut(&d, 2);
    buf_append_str(&text, "x");
    expect_written(&d, &text, 0, 3, SIZE_MAX, 3, "abbx");
    add(&d, &text, "y", 2);
    drafts_pass(&d, 1);
    assert_int_equal(drafts_start(&d), 1);
    drafts_pass(&d, 2);
    assert_int_equal(drafts_start(&d), 3);
    expect_written(&d, &text, 2, 4, SIZE_MAX, 4, "xyy");
    buf_shift(&text, 2);
    drafts_shift(&d, 2);
    assert_int_equal(drafts_start(&d), 1);
    expect_written(&d, &text, 0, 2, SIZE_MAX, 2, "xyy");
    drafts_pass(&d, 2);
    assert_true(drafts_start(&d) == SIZE_MAX);
    drafts_fini(&d);
    buf_fini(&text);
}

static void a_text_that_is_lost_has_no_drafts(void **state)
{
    struct drafts d = {0};
    struct buf text;
    buf_init(&text);
    text.is_failed = true;
    add(&d, &text, "a", 2);
    assert_true(drafts_start(&d) == SIZE_MAX);
    drafts_fini(&d);
    buf_fini(&text);
}

/* A stretch of text, or a draft, at the end of the text; what it is to become is in `wanted`. */
static void add_random(struct rng *rng, struct drafts *d, struct buf *text, struct buf *wanted)
{
    char word[9] = {0};
    size_t len = 1 + (size_t)rng_below(rng, 8);
    for (size_t i = 0; i < len; i++) word[i] = (char)('a' + rng_below(rng, 26));
    unsigned times = (unsigned)rng_below(rng, 4);
    repeat(slice_of(word, len), times == 0 ? 1 : times, wanted);
    if (times == 0) {
        buf_append(text, word, len);
    } else {
        add(d, text, word, times);
    }
}

/* All that is written is compared with what was meant to be; sometimes what was written is taken
 * off the text, and sometimes what was added last is cut. */
static void random_texts_become_what_was_meant(void **state)
{
    struct rng rng;
    struct drafts d = {0};
    struct buf text, wanted, out;
    size_t from = 0;
    rng_init(&rng, 17);
    buf_init(&text);
    buf_init(&wanted);
    buf_init(&out);
    for (int i = 0; i < 20000; i++) {
        size_t text_len = text.len;
        size_t wanted_len = wanted.len;
        uint64_t what = rng_below(&rng, 8);
        if (what < 5) add_random(&rng, &d, &text, &wanted);
        if (what == 4) {
            text.len = text_len;
            wanted.len = wanted_len;
            drafts_cut(&d, text_len);
        } else if (what == 5 && from > 0) {
            buf_shift(&text, from);
            drafts_shift(&d, from);
            from = 0;
        } else if (what > 5) {
            struct buf part;
            buf_init(&part);
            from = drafts_write(&d, &text, from, text.len, &limits_of(1 + rng_below(&rng, 40)),
                                &part);
            drafts_pass(&d, from);
            buf_append(&out, part.data, part.len);
            buf_fini(&part);
        }
        assert_true(d.first + d.count <= d.cap);
    }
    (void)drafts_write(&d, &text, from, text.len, &limits_of(SIZE_MAX), &out);
    assert_int_equal(out.len, wanted.len);
    assert_memory_equal(out.data, wanted.data, out.len);
    assert_true(drafts_held(&d) < 64 * 1024); /* room is used again */
    drafts_fini(&d);
    buf_fini(&text);
    buf_fini(&wanted);
    buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(drafts_are_written_in_their_place),
        cmocka_unit_test(what_is_cut_or_passed_is_gone),
        cmocka_unit_test(a_text_that_is_lost_has_no_drafts),
        cmocka_unit_test(random_texts_become_what_was_meant),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
