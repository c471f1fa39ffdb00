/* Tests of how values become parts of index rows: memcmp orders them by type and value, numbers of
 * all types together, and every part ends where it says.
 */
#include "unit/codec/codec_test.h"

#include "codec/value.h"
#include "index/rows.h"

static struct error e;

/* The part of a value, with something after it; good until the fourth next call. */
static struct slice part_of(const char *json)
{
    static struct buf rooms[4];
    static unsigned turn;
    struct buf value = {0};
    struct buf *room = &rooms[turn++ % 4];
    buf_clear(room, SIZE_MAX);
    if (value_from_json(slice_str(json), NULL, &value, &e) != OK) fail_msg("%s: %s", json, e.text);
    if (!index_part(buf_slice(&value), room)) {
        assert_int_equal(room->len, 0);
        buf_fini(&value);
        return slice_of(NULL, 0);
    }
    size_t len = room->len;
    buf_append(room, "\x02tail", 5);
    assert_int_equal(index_part_end(buf_slice(room), 0), len);
    for (size_t cut = 0; cut < len; cut++) { /* a part that was cut off has no end within it */
        size_t end = index_part_end(slice_of(room->data, cut), 0);
        if (end != 0 && end <= cut)
            fail_msg("%s: %zu of %zu bytes end at %zu", json, cut, len, end);
    }
    buf_fini(&value);
    return slice_of(room->data, len);
}

static void values_are_ordered_by_type_and_value(void **state)
{
    static const char *const ordered[] = {
        "{\"$bytes\":\"\"}",
        "{\"$bytes\":\"AA==\"}",
        "{\"$bytes\":\"AAA=\"}",
        "{\"$bytes\":\"AP8=\"}",
        "{\"$bytes\":\"/w==\"}",
        "\"\"",
        "\"\\u0000\"",
        "\"\\u0000a\"",
        "\"\\u0001\"",
        "\"A\"",
        "\"a\"",
        "\"a\\u0000\"",
        "\"ab\"",
        "\"b\"",
        "\"\xc3\xa9\"",
        "\"\xf0\x9f\x98\x80\"",
        "{\"$number\":\"-Infinity\"}",
        "-1e308",
        "{\"$bigint\":\"-123456789012345678901234567890\"}",
        "-1e20",
        "{\"$bigint\":\"-18446744073709551616\"}",
        "-9007199254740992.0",
        "-9007199254740991",
        "-256.5",
        "-256",
        "-255.99",
        "-2",
        "-1.5",
        "-1",
        "-0.5",
        "-5e-324",
        "0",
        "5e-324",
        "1e-300",
        "0.1",
        "0.5",
        "1",
        "1.0000000000000002",
        "1.5",
        "2",
        "3",
        "255",
        "256",
        "257",
        "65536",
        "9007199254740991",
        "{\"$bigint\":\"9007199254740992\"}",
        "{\"$bigint\":\"9007199254740993\"}",
        "9007199254740994.0",
        "{\"$u64\":\"18446744073709551615\"}",
        "{\"$bigint\":\"18446744073709551616\"}",
        "{\"$bigint\":\"18446744073709551617\"}",
        "1e20",
        "{\"$bigint\":\"100000000000000000001\"}",
        "1e300",
        "{\"$number\":\"Infinity\"}",
        "{\"$date\":\"1969-12-31T23:59:59.999Z\"}",
        "{\"$date\":\"1970-01-01T00:00:00.000Z\"}",
        "{\"$date\":\"2024-02-29T12:00:00.001Z\"}",
        "false",
        "true",
    };
    const size_t count = sizeof ordered / sizeof *ordered;
    for (size_t i = 0; i < count; i++) {
        for (size_t k = i + 1; k < count; k++) {
            if (slice_cmp(part_of(ordered[i]), part_of(ordered[k])) >= 0) {
                fail_msg("%s is not before %s", ordered[i], ordered[k]);
            }
        }
    }
}

static void equal_numbers_are_equal_whatever_their_type(void **state)
{
    static const char *const equal[][3] = {
        {"0", "{\"$number\":\"-0\"}", "{\"$bigint\":\"0\"}"},
        {"1", "{\"$bigint\":\"1\"}", "{\"$u64\":\"1\"}"},
        {"-7", "{\"$bigint\":\"-7\"}", "-7.0"},
        {"1e20", "{\"$bigint\":\"100000000000000000000\"}", "100000000000000000000.0"},
        {"18446744073709551615", "{\"$u64\":\"18446744073709551615\"}",
         "{\"$bigint\":\"18446744073709551615\"}"},
        {"-9007199254740992", "{\"$bigint\":\"-9007199254740992\"}", "-9007199254740992.0"},
    };
    for (size_t i = 0; i < sizeof equal / sizeof *equal; i++) {
        assert_true(slice_eq(part_of(equal[i][0]), part_of(equal[i][1])));
        assert_true(slice_eq(part_of(equal[i][0]), part_of(equal[i][2])));
    }
}

static void random_numbers_are_ordered_as_doubles(void **state)
{
    random_seed();
    for (int i = 0; i < 50000; i++) {
        uint64_t bits[2] = {random_u64(), random_u64()};
        double d[2];
        char text[2][40];
        if (i % 2 == 0) bits[1] = bits[0] + random_below(5);
        memcpy(d, bits, sizeof d);
        if (d[0] - d[0] != 0 || d[1] - d[1] != 0) continue; /* not finite */
        snprintf(text[0], sizeof text[0], "%.17e", d[0]);
        snprintf(text[1], sizeof text[1], "%.17e", d[1]);
        int wanted = (d[0] > d[1]) - (d[0] < d[1]);
        int got = slice_cmp(part_of(text[0]), part_of(text[1]));
        if ((got > 0) - (got < 0) != wanted) fail_msg("%s and %s", text[0], text[1]);
    }
}

static void what_has_no_place_in_an_order_is_not_indexed(void **state)
{
    static const char *const others[] = {"null",
                                         "{\"$undefined\":true}",
                                         "{\"$number\":\"NaN\"}",
                                         "{}",
                                         "{\"a\":1}",
                                         "[]",
                                         "{\"$set\":[1]}",
                                         "{\"$map\":[[1,2]]}",
                                         "{\"$regexp\":[\"a\",\"\"]}",
                                         "{\"$date\":null}",
                                         "{\"$typed\":[\"Int8Array\",\"AQ==\"]}",
                                         "{\"$v8\":\"/w9JAg==\"}"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (part_of(others[i]).data != NULL) fail_msg("%s is indexed", others[i]);
    }
}

/* `"` len times c, then `last`, `"`. */
static const char *long_string(size_t len, char c, const char *last)
{
    static char rooms[4][4096];
    static unsigned turn;
    char *room = rooms[turn++ % 4];
    room[0] = '"';
    memset(room + 1, c, len);
    snprintf(room + 1 + len, 100, "%s\"", last);
    return room;
}

static void long_strings_are_told_apart_by_a_hash(void **state)
{
    const char *whole = long_string(INDEX_BODY_BYTES, 'a', "");
    assert_int_equal(part_of(whole).len, 1 + INDEX_BODY_BYTES + 2);
    const char *longer = long_string(INDEX_BODY_BYTES, 'a', "b");
    const char *other = long_string(INDEX_BODY_BYTES, 'a', "c");
    assert_int_equal(part_of(longer).len, 1 + INDEX_BODY_BYTES + 2 + 16);
    assert_true(slice_eq(part_of(longer), part_of(longer)));
    assert_false(slice_eq(part_of(longer), part_of(other)));
    assert_true(slice_cmp(part_of(whole), part_of(longer)) < 0);
    assert_true(slice_cmp(part_of(longer), part_of(long_string(INDEX_BODY_BYTES, 'b', ""))) < 0);
}

static void a_definition_reads_back(void **state)
{
    struct definition d = {.id = 77,
                           .kind = INDEX_VALUE,
                           .is_unique = true,
                           .prefix = slice_str("\x02p"),
                           .path_count = 2,
                           .paths = {slice_str("a.b"), slice_str("\"c\"[0]")},
                           .tokenizer = slice_str("porter"),
                           .state = INDEX_FAILED,
                           .position = slice_str("\x02pos"),
                           .filled = 123456789,
                           .note = slice_str("why")};
    struct definition out;
    struct buf row = {0};
    definition_write(&d, &row);
    assert_true(definition_read(buf_slice(&row), &out));
    assert_int_equal(out.id, 77);
    assert_true(out.is_unique && out.kind == INDEX_VALUE && out.state == INDEX_FAILED);
    assert_true(slice_eq(out.prefix, d.prefix) && slice_eq(out.position, d.position));
    assert_true(slice_eq(out.paths[1], d.paths[1]) && slice_eq(out.tokenizer, d.tokenizer));
    assert_true(slice_eq(out.note, d.note) && out.filled == d.filled && out.path_count == 2);
    for (size_t cut = 0; cut < row.len; cut++) {
        assert_false(definition_read(slice_of(row.data, cut), &out));
    }
    buf_fini(&row);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_ordered_by_type_and_value),
        cmocka_unit_test(equal_numbers_are_equal_whatever_their_type),
        cmocka_unit_test(random_numbers_are_ordered_as_doubles),
        cmocka_unit_test(what_has_no_place_in_an_order_is_not_indexed),
        cmocka_unit_test(long_strings_are_told_apart_by_a_hash),
        cmocka_unit_test(a_definition_reads_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
