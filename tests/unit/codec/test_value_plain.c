/* value_plain: the quick way and the whole way have the same outcome. Blanks after a text, and a
 * long string beside a value, are what makes the whole way be taken. */
#include "codec_test.h"

#include <string.h>

#include "codec/value.h"
#include "codec/value_plain.h"

#define TEXT_MAX 700

static struct buf text;

static void letters(void)
{
    static const char *const strings[] = {"\"\"",
                                          "\"a\"",
                                          "\"name\"",
                                          "\"user 12345\"",
                                          "\"user12345@example.com\"",
                                          "\"\xc3\xa9t\xc3\xa9\"",
                                          "\"\xf0\x9f\x98\x80\"",
                                          "\"a\\n\"",
                                          "\"$set\"",
                                          "\"\\u00e9\"",
                                          "\"0123456789012345678901234567890\"",
                                          "\"01234567890123456789012345678901\""};
    size_t n = sizeof strings / sizeof strings[0];
    /* Mostly different ones. */
    if (random_below(3) > 0) {
        buf_printf(&text, "\"k%u\"", (unsigned)random_below(100));
    } else {
        buf_append_str(&text, strings[random_below(n)]);
    }
}

static void number(void)
{
    static const char *const numbers[] = {"0",
                                          "-0",
                                          "1",
                                          "-1",
                                          "127",
                                          "128",
                                          "255",
                                          "256",
                                          "65535",
                                          "65536",
                                          "4294967295",
                                          "4294967296",
                                          "-32",
                                          "-33",
                                          "-128",
                                          "-129",
                                          "-32768",
                                          "-32769",
                                          "-2147483648",
                                          "-2147483649",
                                          "999999999999999",
                                          "1000000000000000",
                                          "9007199254740991",
                                          "9007199254740992",
                                          "-9007199254740993",
                                          "18446744073709551616",
                                          "0.0",
                                          "-0.0",
                                          "0.1",
                                          "-0.5",
                                          "17.55",
                                          "1.0",
                                          "123456789.25",
                                          "0.000001",
                                          "0.0000001",
                                          "3.141592653589793",
                                          "0.30000000000000004",
                                          "0.12345678901234567",
                                          "0.1234567890123456789",
                                          "0.12345678901234567895",
                                          "1234567890123456789.5",
                                          "12345678901234567890.5",
                                          "9876543210.9876543210",
                                          "9999999999.9999999999",
                                          "9007199254740993.0",
                                          "-1.7976931348623157",
                                          "12345678901234.5",
                                          "1e3",
                                          "1E-2",
                                          "2.5e10",
                                          "100000000000000.0",
                                          "0.00000000000001"};
    buf_append_str(&text, numbers[random_below(sizeof numbers / sizeof numbers[0])]);
}

static void blank(void)
{
    static const char *const blanks[] = {"", "", "", "", " ", "\n", "\t \r"};
    buf_append_str(&text, blanks[random_below(sizeof blanks / sizeof blanks[0])]);
}

static void item(unsigned depth)
{
    size_t kind = random_below(depth > 9 ? 4 : 6);
    blank();
    if (kind == 0) letters();
    if (kind == 1 || kind == 2) number();
    if (kind == 3) {
        static const char *const words[] = {"true", "false", "null"};
        buf_append_str(&text, words[random_below(3)]);
    }
    if (kind > 3) {
        size_t count = random_below(40) == 0 ? 14 + random_below(4) : random_below(5);
        buf_append_byte(&text, kind == 4 ? '[' : '{');
        for (size_t i = 0; i < count && text.len < TEXT_MAX; i++) {
            if (i > 0) buf_append_byte(&text, ',');
            blank();
            if (kind == 5) {
                letters();
                blank();
                buf_append_byte(&text, ':');
            }
            item(depth + 1);
        }
        buf_append_byte(&text, kind == 4 ? ']' : '}');
    }
    blank();
}

/* Some texts are spoiled. */
static void spoil(void)
{
    static const char bytes[] = "\"{}[]:,0-.e\\ a\x01\xff\x80nt$";
    if (random_below(3) > 0 || text.len == 0) return;
    text.data[random_below(text.len)] = (uint8_t)bytes[random_below(sizeof bytes)];
    if (random_below(4) == 0) text.len -= random_below(text.len);
}

/* The whole way: with more blanks than a plain text may have. */
static enum err whole_way(struct slice s, struct buf *out, struct error *e)
{
    struct buf padded;
    buf_init(&padded);
    buf_append(&padded, s.data, s.len);
    for (unsigned i = 0; i <= VALUE_PLAIN_BYTES_MAX; i++) buf_append_byte(&padded, ' ');
    enum err r = value_from_json(buf_slice(&padded), NULL, out, e);
    buf_fini(&padded);
    return r;
}

static void check_written(struct slice value)
{
    static const char head[] = "[\"";
    struct buf quick, whole, both;
    buf_init(&quick);
    buf_init(&whole);
    buf_init(&both);
    /* [ a long string, the value ] */
    buf_append(&both, "\x92\xda\x08\x00", 4);
    for (unsigned i = 0; i < 2048; i++) buf_append_byte(&both, 'x');
    buf_append(&both, value.data, value.len);
    value_to_json(buf_slice(&both), &whole);
    value_to_json(value, &quick);
    size_t from = sizeof head - 1 + 2048 + 2; /* ["xxx", */
    assert_int_equal(whole.len, from + quick.len + 1);
    assert_memory_equal(whole.data + from, quick.data, quick.len);
    /* One that ends too early is refused, wherever, and nothing beyond it is read. */
    quick.len = 0;
    size_t cut = random_below(value.len);
    uint8_t *exact = malloc(cut > 0 ? cut : 1);
    assert_non_null(exact);
    memcpy(exact, value.data, cut);
    (void)value_plain_to_json(slice_of(exact, cut), &quick);
    free(exact);
    buf_fini(&quick);
    buf_fini(&whole);
    buf_fini(&both);
}

static void both_ways_are_the_same(void **state)
{
    unsigned read = 0, plain = 0;
    (void)state;
    random_seed();
    buf_init(&text);
    for (unsigned i = 0; i < 40000; i++) {
        struct buf quick, whole;
        struct error e = {0}, f = {0};
        text.len = 0;
        item(0);
        spoil();
        if (text.len > VALUE_PLAIN_BYTES_MAX) continue;
        buf_init(&quick);
        buf_init(&whole);
        enum err q = value_from_json(buf_slice(&text), NULL, &quick, &e);
        enum err w = whole_way(buf_slice(&text), &whole, &f);
        if (q != w || quick.len != whole.len ||
            (q == OK && memcmp(quick.data, whole.data, quick.len) != 0)) {
            fail_msg("%.*s", (int)text.len, (const char *)text.data);
        }
        if (q == OK) {
            read++;
            check_written(buf_slice(&quick));
            quick.len = 0;
            plain += value_plain_from_json(buf_slice(&text), &quick);
        }
        buf_fini(&quick);
        buf_fini(&whole);
    }
    buf_fini(&text);
    /* Else nothing was compared. */
    assert_true(read > 10000);
    assert_true(plain > 3000);
}

static void expect_plain(const char *json, bool is_plain)
{
    struct buf packed, again;
    struct error e;
    buf_init(&packed);
    buf_init(&again);
    buf_append_byte(&packed, 'x');
    if (value_plain_from_json(slice_str(json), &packed) != is_plain) fail_msg("%s", json);
    if (!is_plain) assert_int_equal(packed.len, 1);
    packed.len = 1;
    assert_int_equal(value_from_json(slice_str(json), NULL, &packed, &e), OK);
    buf_append_byte(&again, 'y');
    if (value_plain_to_json(slice_of(packed.data + 1, packed.len - 1), &again) != is_plain) {
        fail_msg("%s is written another way", json);
    }
    if (!is_plain) assert_int_equal(again.len, 1);
    if (is_plain) assert_memory_equal(again.data + 1, json, again.len - 1);
    buf_fini(&packed);
    buf_fini(&again);
}

static void daily_values_go_the_quick_way(void **state)
{
    (void)state;
    expect_plain(
        "{\"id\":12345,\"name\":\"user 12345\",\"email\":\"user12345@example.com\",\"age\":42,"
        "\"active\":true,\"score\":17.55}",
        true);
    expect_plain("{\"at\":1700000000000,\"tags\":[\"a\",\"b\"],\"none\":null,\"in\":{\"x\":-7.5}}",
                 true);
    expect_plain("\"\xc3\xa9t\xc3\xa9\"", true);
    expect_plain("[[[[[[[[1]]]]]]]]", true);
    expect_plain("[[[[[[[[[1]]]]]]]]]", false);
    expect_plain("{\"$bigint\":\"1\"}", false);
    expect_plain("{\"$date\":\"2026-01-01T00:00:00.000Z\"}", false);
    expect_plain("\"a\\nb\"", false);
    expect_plain("9007199254740992", false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_ways_are_the_same),
        cmocka_unit_test(daily_values_go_the_quick_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
