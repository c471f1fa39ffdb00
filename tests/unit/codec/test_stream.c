/* stream: ids in the order of their bytes, their texts, and the fields of an entry; varint. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "codec/stream.h"
#include "codec/varint.h"

static const struct stream_id ids[] = {{0, 0},     {0, 1},          {0, UINT64_MAX},         {1, 0},
                                       {256, 255}, {UINT64_MAX, 0}, {UINT64_MAX, UINT64_MAX}};
#define IDS (sizeof ids / sizeof ids[0])

static void ids_sort_as_their_bytes_do(void **state)
{
    (void)state;
    for (size_t i = 0; i < IDS; i++) {
        for (size_t j = 0; j < IDS; j++) {
            uint8_t a[STREAM_ID_BYTES];
            uint8_t b[STREAM_ID_BYTES];
            stream_id_put(a, ids[i]);
            stream_id_put(b, ids[j]);
            int order = memcmp(a, b, sizeof a);
            int wanted = i < j ? -1 : i > j;
            assert_int_equal(order < 0 ? -1 : order > 0, wanted);
            assert_int_equal(stream_id_order(ids[i], ids[j]), wanted);
            assert_int_equal(stream_id_order(stream_id_get(a), ids[i]), 0);
        }
    }
}

static void an_id_has_one_after_it_and_one_before(void **state)
{
    (void)state;
    struct stream_id id = {1, UINT64_MAX};
    assert_true(stream_id_next(&id));
    assert_true(id.ms == 2 && id.seq == 0);
    assert_true(stream_id_previous(&id));
    assert_true(id.ms == 1 && id.seq == UINT64_MAX);
    id = STREAM_ID_MOST;
    assert_false(stream_id_next(&id));
    assert_int_equal(stream_id_order(id, STREAM_ID_MOST), 0);
    id = STREAM_ID_LEAST;
    assert_false(stream_id_previous(&id));
    assert_true(stream_id_is_zero(id));
}

static void an_id_is_read_as_it_is_written(void **state)
{
    static const char *const wrong[] = {
        "",      "-",  "1-", "-1", "a",   "1-a", "1 2",     "1-2-",
        "1-2-3", "+1", "1-", " 1", "0x1", "1.5", "1-2\x01", "18446744073709551616"};
    (void)state;
    struct stream_id id;
    for (size_t i = 0; i < IDS; i++) {
        char text[STREAM_ID_TEXT];
        size_t len = stream_id_write(ids[i], text);
        assert_int_equal(len, strlen(text));
        assert_true(stream_id_read(slice_of(text, len), 7, &id));
        assert_int_equal(stream_id_order(id, ids[i]), 0);
    }
    assert_true(stream_id_read(slice_str("12"), 7, &id));
    assert_true(id.ms == 12 && id.seq == 7);
    assert_true(stream_id_read(slice_str("0012-007"), 0, &id)); /* as Redis */
    assert_true(id.ms == 12 && id.seq == 7);
    assert_true(stream_id_read(slice_str("00-00"), 1, &id));
    assert_true(stream_id_is_zero(id));
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_false(stream_id_read(slice_str(wrong[i]), 0, &id));
    }
    assert_false(stream_id_read(slice_of(NULL, 0), 0, &id));
}

static void fields_are_read_as_they_are_written(void **state)
{
    static char big[70000];
    struct slice words[4] = {slice_str("f"), slice_of(NULL, 0), slice_of(big, sizeof big),
                             slice_of("\0\xff", 2)};
    struct buf out;
    struct slice word;
    size_t at = 0;
    uint64_t count = 0;
    (void)state;
    buf_init(&out);
    stream_fields_write(words, 4, &out);
    assert_true(stream_fields_begin(buf_slice(&out), &at, &count));
    assert_int_equal(count, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_true(stream_fields_next(buf_slice(&out), &at, &word));
        assert_true(slice_eq(word, words[i]));
    }
    assert_int_equal(at, out.len);
    assert_false(stream_fields_next(buf_slice(&out), &at, &word));
    buf_fini(&out);
}

/* Cut off anywhere: no read beyond the end, which the sanitizer would see. */
static void fields_that_are_cut_off_are_damaged(void **state)
{
    struct slice words[4] = {slice_str("field"), slice_str("value"), slice_str("a"),
                             slice_str("b")};
    struct buf out;
    (void)state;
    buf_init(&out);
    stream_fields_write(words, 4, &out);
    for (size_t len = 0; len < out.len; len++) {
        uint8_t *p = malloc(len + (len == 0));
        assert_non_null(p);
        memcpy(p, out.data, len);
        struct slice cut = slice_of(p, len);
        struct slice word;
        size_t at = 0;
        uint64_t count = 0;
        bool is_good = stream_fields_begin(cut, &at, &count);
        for (uint64_t i = 0; is_good && i < count; i++)
            is_good = stream_fields_next(cut, &at, &word);
        assert_false(is_good);
        free(p);
    }
    size_t at = 0;
    uint64_t count = 0;
    assert_false(stream_fields_begin(slice_str("\x03\x01"
                                               "a\x01"
                                               "b\x01"
                                               "c"),
                                     &at, &count));
    buf_fini(&out);
}

static void a_varint_that_is_too_long_is_none(void **state)
{
    uint64_t n = 0;
    size_t at = 0;
    (void)state;
    assert_false(varint_read(slice_str("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"), &at, &n));
    for (uint64_t wanted = 1; wanted != 0; wanted <<= 1) {
        struct buf out;
        buf_init(&out);
        varint_append(&out, wanted - 1);
        at = 0;
        assert_true(varint_read(buf_slice(&out), &at, &n));
        assert_true(n == wanted - 1 && at == out.len);
        buf_fini(&out);
    }
}

/* Each kind as it was written; of none of them a part, and nothing that is more than it says. */
static void parts_are_read_as_they_are_written(void **state)
{
    const struct slice words[] = {slice_str("name"), slice_str("")};
    struct buf fields, out, again;
    (void)state;
    buf_init(&fields);
    buf_init(&out);
    buf_init(&again);
    stream_fields_write(words, 2, &fields);
    const struct stream_part parts[] = {
        {.kind = PART_ENTRY, .id = {1, UINT64_MAX}, .fields = buf_slice(&fields)},
        {.kind = PART_STATE, .id = {5, 6}, .deleted = {UINT64_MAX, 0}, .count = 7},
        {.kind = PART_GROUP, .group = slice_str("g"), .id = {1, 0}, .entries_read = -1},
        {.kind = PART_CONSUMER,
         .group = slice_str("g"),
         .consumer = slice_str("\xff"),
         .at_ms = 5,
         .active_ms = -1},
        {.kind = PART_PENDING,
         .group = slice_str(""),
         .consumer = slice_str("ann"),
         .id = {1, 2},
         .at_ms = 3,
         .count = 4}};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        struct stream_part x;
        size_t at = 0;
        out.len = again.len = 0;
        stream_part_write(&parts[i], &out);
        assert_true(stream_part_read(buf_slice(&out), &at, &x));
        assert_int_equal(at, out.len);
        stream_part_write(&x, &again);
        assert_true(slice_eq(buf_slice(&out), buf_slice(&again)));
        assert_true(x.kind == parts[i].kind && x.active_ms == parts[i].active_ms);
        for (size_t cut = 0; cut < out.len; cut++) {
            at = 0;
            assert_false(stream_part_read(slice_of(out.data, cut), &at, &x));
        }
        at = 0;
        out.data[0] += 5;
        assert_false(stream_part_read(buf_slice(&out), &at, &x));
    }
    buf_fini(&fields);
    buf_fini(&out);
    buf_fini(&again);
}

static void fields_that_are_not_pairs_are_no_entry(void **state)
{
    (void)state;
    assert_true(stream_fields_are_good(slice_of("\x02\x01"
                                                "a\x00",
                                                4)));
    assert_false(stream_fields_are_good(slice_of("\x00", 1)));
    assert_false(stream_fields_are_good(slice_of("\x01\x01"
                                                 "a",
                                                 3)));
    assert_false(stream_fields_are_good(slice_of("\x02\x01"
                                                 "a\x00\x00",
                                                 5)));
    assert_false(stream_fields_are_good(slice_of("\x02\x01"
                                                 "a\x01",
                                                 4)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_sort_as_their_bytes_do),
        cmocka_unit_test(an_id_has_one_after_it_and_one_before),
        cmocka_unit_test(an_id_is_read_as_it_is_written),
        cmocka_unit_test(fields_are_read_as_they_are_written),
        cmocka_unit_test(fields_that_are_cut_off_are_damaged),
        cmocka_unit_test(a_varint_that_is_too_long_is_none),
        cmocka_unit_test(parts_are_read_as_they_are_written),
        cmocka_unit_test(fields_that_are_not_pairs_are_no_entry),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
