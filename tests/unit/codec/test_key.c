/* Tests of the key codec. */
#include "codec_test.h"

#include <math.h>

#include "codec/key.h"

static struct buf out, text;
static struct error e;

static const char *json_hex(const char *json)
{
    out.len = 0;
    enum err err = key_from_json(slice_str(json), true, NULL, &out, &e);
    if (err != OK) return e.text;
    return to_hex(buf_slice(&out));
}

static const char *path_json(const char *path)
{
    out.len = text.len = 0;
    if (key_from_path(slice_str(path), true, &out, &e) != OK) return e.text;
    key_to_json(buf_slice(&out), &text);
    return text_of(&text);
}

static const char *json_path(const char *json)
{
    json_hex(json);
    text.len = 0;
    key_to_path(buf_slice(&out), &text);
    return text_of(&text);
}

static const char *json_json(const char *json)
{
    out.len = text.len = 0;
    if (key_from_json(slice_str(json), true, NULL, &out, &e) != OK) return e.text;
    key_to_json(buf_slice(&out), &text);
    return text_of(&text);
}

static const char *msgpack_json(const char *hex)
{
    struct buf in = {0};
    hex_to(hex, &in);
    out.len = text.len = 0;
    enum err err = key_from_msgpack(buf_slice(&in), true, &out, &e);
    buf_fini(&in);
    if (err != OK) return e.text;
    key_to_json(buf_slice(&out), &text);
    return text_of(&text);
}

static void every_vector_of_deno_is_encoded_as_deno_does(void **state)
{
    FILE *file = fopen("tests/unit/codec/keys.tsv", "r");
    assert_non_null(file);
    char line[1024];
    size_t count = 0;
    while (fgets(line, sizeof line, file) != NULL) {
        char *tab = strchr(line, '\t');
        if (tab == NULL) continue;
        *tab = '\0';
        tab[1 + strcspn(tab + 1, "\r\n")] = '\0';
        assert_string_equal(tab + 1, json_hex(line));
        assert_int_equal(OK, key_check(buf_slice(&out), &e));
        assert_string_equal(line, json_json(line));
        struct buf packed = {0};
        key_to_msgpack(buf_slice(&out), &packed);
        struct buf again = {0};
        assert_int_equal(OK, key_from_msgpack(buf_slice(&packed), false, &again, &e));
        assert_string_equal(tab + 1, to_hex(buf_slice(&again)));
        json_path(line);
        again.len = 0;
        assert_int_equal(OK, key_from_path(buf_slice(&text), false, &again, &e));
        assert_string_equal(tab + 1, to_hex(buf_slice(&again)));
        buf_fini(&packed);
        buf_fini(&again);
        count++;
    }
    fclose(file);
    assert_int_equal(40, count);
}

static void numbers_are_ordered_from_negative_nan_to_nan(void **state)
{
    static const double order[] = {-NAN,   -INFINITY, -1.5, -1,    -5e-324,  -0.0, 0.0,
                                   5e-324, 1,         1.5,  1e300, INFINITY, NAN};
    struct buf a = {0}, b = {0};
    for (size_t i = 0; i + 1 < sizeof order / sizeof *order; i++) {
        a.len = b.len = 0;
        key_add_number(&a, i == 0 ? copysign(NAN, -1) : order[i]);
        key_add_number(&b,
                       i + 1 == sizeof order / sizeof *order - 1 ? copysign(NAN, 1) : order[i + 1]);
        assert_true(slice_cmp(buf_slice(&a), buf_slice(&b)) < 0);
    }
    buf_fini(&a);
    buf_fini(&b);
}

static void a_nan_with_other_bits_becomes_the_canonical_nan(void **state)
{
    uint64_t bits = UINT64_C(0x7ff0000000000123);
    double d;
    memcpy(&d, &bits, 8);
    out.len = 0;
    key_add_number(&out, d);
    assert_string_equal("21fff8000000000000", to_hex(buf_slice(&out)));
}

static void people_may_write_shorthands(void **state)
{
    assert_string_equal("[{\"$bigint\":\"123\"}]", json_json("[123n]"));
    assert_string_equal("[{\"$bigint\":\"-123\"}]", json_json("[-123n]"));
    assert_string_equal("[{\"$bigint\":\"0\"}]", json_json("[-0n]"));
    assert_string_equal("[{\"$number\":\"NaN\"},{\"$number\":\"-NaN\"}]", json_json("[NaN,-NaN]"));
    assert_string_equal("[{\"$number\":\"Infinity\"},{\"$number\":\"-Infinity\"}]",
                        json_json(" [ Infinity , -Infinity ] "));
    assert_string_equal("[{\"$number\":\"-0\"},0]", json_json("[-0,0]"));
    assert_string_equal("[\"a\\\"\\\\\\b\\u0001\"]", json_json("[\"\\u0061\\\"\\\\\\b\\u0001\"]"));
    assert_string_equal("[\"/\xf0\x9f\x98\xae\"]", json_json("[\"\\/\\ud83d\\ude2e\"]"));
    assert_string_equal("[{\"$bytes\":\"AQI=\"}]",
                        json_json("[{ \"$b\\u0079tes\" : \"AQ\\u0049=\" }]"));
}

static void wrong_json_is_refused_with_the_place(void **state)
{
    static const char *const cases[][2] = {
        {"", "expected '[' before the end of the text at offset 0"},
        {"5", "expected '[' at offset 0"},
        {"[", "expected a part before the end of the text at offset 1"},
        {"[1", "the array is not closed at offset 2"},
        {"[1,]", "expected a string, number, boolean or tagged part at offset 3"},
        {"[1 2]", "expected ',' or ']' at offset 3"},
        {"[1] x", "text after the end at offset 4"},
        {"[null]", "null cannot be part of a key at offset 1"},
        {"[[1]]", "an array cannot be part of a key at offset 1"},
        {"[{\"a\":1}]",
         "an object; the only objects in a key are $bigint, $bytes and $number at offset 1"},
        {"[{}]",
         "an object; the only objects in a key are $bigint, $bytes and $number at offset 1"},
        {"[{\"$uuidv7\":0}]", "placeholders are not supported here at offset 12"},
        {"[{\"$versionstamp\":true}]", "placeholders are not supported here at offset 18"},
        {"[{\"$bigint\":\"1x\"}]",
         "$bigint must be decimal digits of at most 255 bytes of magnitude at offset 12"},
        {"[{\"$bigint\":1}]", "expected a string at offset 12"},
        {"[{\"$bigint\":\"1\",\"x\":1}]", "expected '}' at offset 15"},
        {"[{\"$bytes\":\"AQ\"}]", "$bytes is not valid base64 at offset 11"},
        {"[{\"$bytes\":\"AR==\"}]", "$bytes is not valid base64 at offset 11"},
        {"[{\"$number\":\"0\"}]",
         "$number must be \"NaN\", \"-NaN\", \"Infinity\", \"-Infinity\" or \"-0\" at offset 12"},
        {"[9007199254740992]", "integer beyond +-(2^53-1), write it as "
                               "{\"$bigint\":\"9007199254740992\"} at offset 1"},
        {"[-9007199254740992]", "integer beyond +-(2^53-1), write it as "
                                "{\"$bigint\":\"-9007199254740992\"} at offset 1"},
        {"[1e999]",
         "number beyond the range of a double, write {\"$number\":\"Infinity\"} or a bigint "
         "{\"$bigint\":\"..\"} at offset 1"},
        {"[01]", "number with a leading zero at offset 1"},
        {"[1.]", "expected a digit after the point at offset 3"},
        {"[\"\\ud800\"]", "lone surrogate at offset 2"},
        {"[\"\\udc00x\"]", "lone surrogate at offset 2"},
        {"[\"\\ud800\\u0041\"]", "lone surrogate at offset 2"},
        {"[\"\xff\"]", "not UTF-8 at offset 2"},
        {"[\"\xed\xa0\x80\"]", "not UTF-8 at offset 2"},
        {"[\"a\nb\"]", "control character in a string at offset 3"},
        {"[\"abc", "unterminated string at offset 1"},
        {"[truex]", "expected a string, number, boolean or tagged part at offset 1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char want[512];
        snprintf(want, sizeof want, "invalid key: %s", cases[i][1]);
        assert_string_equal(want, json_hex(cases[i][0]));
        assert_int_equal(ERR_KEY, e.code);
        assert_int_equal(0, out.len);
    }
}

static void limits_are_errors_of_their_own(void **state)
{
    struct buf json = {0};
    buf_append_str(&json, "[1");
    for (int i = 1; i < KEY_PARTS_MAX; i++) buf_append_str(&json, ",1");
    size_t fits = json.len;
    buf_append_byte(&json, ']');
    out.len = 0;
    assert_int_equal(OK, key_from_json(buf_slice(&json), false, NULL, &out, &e));
    json.len = fits;
    buf_append_str(&json, ",1]");
    assert_int_equal(ERR_LIMIT, key_from_json(buf_slice(&json), false, NULL, &out, &e));
    assert_string_equal("invalid key: more than 64 parts", e.text);
    for (size_t n = 2046; n <= 2047; n++) { /* a string costs two bytes more than its text */
        json.len = out.len = 0;
        buf_append_str(&json, "[\"");
        for (size_t i = 0; i < n; i++) buf_append_byte(&json, 'a');
        buf_append_str(&json, "\"]");
        enum err want = n == 2046 ? OK : ERR_LIMIT;
        assert_int_equal(want, key_from_json(buf_slice(&json), false, NULL, &out, &e));
    }
    assert_string_equal("invalid key: larger than 2048 bytes", e.text);
    assert_int_equal(ERR_KEY, key_from_json(slice_str("[]"), false, NULL, &out, &e));
    assert_string_equal("invalid key: a key must have at least one part", e.text);
    assert_int_equal(OK, key_from_json(slice_str("[]"), true, NULL, &out, &e));
    buf_fini(&json);
}

static void a_bigint_has_at_most_255_bytes(void **state)
{
    struct buf json = {0};
    uint8_t ones[256];
    memset(ones, 0xff, sizeof ones);
    out.len = 0;
    key_add_bigint(&out, false, slice_of(ones, 255));
    text.len = 0;
    key_to_json(buf_slice(&out), &text); /* 2^2040-1 */
    struct buf again = {0};
    assert_int_equal(OK, key_from_json(buf_slice(&text), false, NULL, &again, &e));
    assert_true(slice_eq(buf_slice(&again), buf_slice(&out)));
    assert_int_equal(0x1d, out.data[0]);
    text.data[text.len - 4] = '6'; /* ..5 -> ..6 = 2^2040 */
    again.len = 0;
    assert_int_equal(ERR_KEY, key_from_json(buf_slice(&text), false, NULL, &again, &e));
    key_add_bigint(&again, false, slice_of(ones, 256));
    assert_true(again.is_failed);
    buf_fini(&again);
    buf_fini(&json);
}

static void msgpack_keys_are_read_in_every_encoding(void **state)
{
    assert_string_equal("[\"a\",1,-1,true,false]", msgpack_json("95 a161 01 ff c3 c2"));
    assert_string_equal("[\"a\",1,1,1.5]", msgpack_json("94 d90161 cd0001 d300000000000000 01"
                                                        "ca3fc00000"));
    assert_string_equal("[{\"$bytes\":\"AQ==\"},{\"$bigint\":\"-1\"}]",
                        msgpack_json("dc0002 c40101 "
                                     "d442ff"));
    assert_string_equal("[{\"$bigint\":\"1\"}]", msgpack_json("91 c70342000001"));
    assert_string_equal("[1]", msgpack_json("dd00000001 cb3ff0000000000000"));
    assert_string_equal("invalid key: nil at part 2", msgpack_json("92 01 c0"));
    assert_string_equal("invalid key: an array at part 1", msgpack_json("91 90"));
    assert_string_equal("invalid key: a map at part 1", msgpack_json("91 80"));
    assert_string_equal("invalid key: truncated at part 2", msgpack_json("92 01"));
    assert_string_equal("invalid key: bytes after the end at offset 2", msgpack_json("91 01 01"));
    assert_string_equal("invalid key: string is not UTF-8 at part 1", msgpack_json("91 a1ff"));
    assert_string_equal("invalid key: unknown extension at part 1", msgpack_json("91 d40000"));
    assert_string_equal(
        "invalid key: integer beyond +-(2^53-1), write it as a bigint (extension 0x42),"
        " at part 1",
        msgpack_json("91 cf0020000000000000"));
    assert_string_equal("invalid key: expected a MessagePack array", msgpack_json("81 01 01"));
    assert_int_equal(ERR_KEY, key_from_arg(slice_str("users"), false, NULL, &out, &e));
    assert_string_equal("invalid key: expected a JSON array or a MessagePack array", e.text);
}

static void paths_say_the_same_as_json(void **state)
{
    assert_string_equal("users/#42/profile", json_path("[\"users\",42,\"profile\"]"));
    assert_string_equal("%/%23a/a#/%25%2f%2a", json_path("[\"\",\"#a\",\"a#\",\"%/*\"]"));
    assert_string_equal(
        "#n-5/&00ff/!true/!false/#-0/#NaN/#-NaN/#-Infinity/#1.5",
        json_path("[-5n,{\"$bytes\":\"AP8=\"},true,false,-0,NaN,-NaN,-Infinity,1.5]"));
    assert_string_equal("%c3%a9%20", json_path("[\"\xc3\xa9 \"]"));
    assert_string_equal("[\"users\",42,\"profile\"]", path_json("users/#42/profile"));
    assert_string_equal("[\"\",\"#a\"]", path_json("%/%23a"));
    assert_string_equal("[]", path_json(""));
    assert_string_equal("invalid key: empty part (write the empty string as %) at part 2",
                        path_json("a/"));
    assert_string_equal("invalid key: a character that must be percent-escaped at part 1",
                        path_json("a*"));
    assert_string_equal("invalid key: '%' without two hex digits at part 1", path_json("%4"));
    assert_string_equal("invalid key: string is not UTF-8 at part 1", path_json("%ff"));
    assert_string_equal("invalid key: '#' must be followed by a number at part 1", path_json("#x"));
    assert_string_equal("invalid key: '!' must be followed by true or false at part 1",
                        path_json("!x"));
    assert_string_equal("invalid key: '&' must be followed by pairs of hex digits at part 1",
                        path_json("&0"));
}

static void a_prefix_never_matches_half_a_string(void **state)
{
    struct buf prefix = {0}, key = {0};
    assert_int_equal(OK, key_from_json(slice_str("[\"users\"]"), false, NULL, &prefix, &e));
    assert_int_equal(OK, key_from_json(slice_str("[\"users2\"]"), false, NULL, &key, &e));
    assert_false(slice_has_prefix(buf_slice(&key), buf_slice(&prefix)));
    key.len = 0;
    assert_int_equal(OK, key_from_json(slice_str("[\"users\",1]"), false, NULL, &key, &e));
    assert_true(slice_has_prefix(buf_slice(&key), buf_slice(&prefix)));
    assert_true(key_is_below(buf_slice(&key), buf_slice(&prefix)));
    assert_false(key_is_below(buf_slice(&prefix), buf_slice(&prefix)));
    /* A NUL in a string is 00 ff: the bytes begin with those of the shorter string. */
    key.len = 0;
    assert_int_equal(OK, key_from_json(slice_str("[\"users\\u00002\"]"), false, NULL, &key, &e));
    assert_true(slice_has_prefix(buf_slice(&key), buf_slice(&prefix)));
    assert_false(key_is_below(buf_slice(&key), buf_slice(&prefix)));
    buf_fini(&prefix);
    buf_fini(&key);
}

static void damaged_encodings_are_refused(void **state)
{
    static const char *const bad[] = {"0261",
                                      "0261ff",
                                      "02ff00",
                                      "00",
                                      "03",
                                      "1500",
                                      "13ff",
                                      "1d0801020304050607",
                                      "1d080102030405060708",
                                      "0bf7fefdfcfbfaf9f8f7",
                                      "1d09000102030405060708",
                                      "21",
                                      "21fff8000000000001",
                                      "28",
                                      "0200ffff00",
                                      "0261ff6200",
                                      "02ff6263646566676869706a6b00",
                                      "02616263646566676869706a6bff00",
                                      "02c300ff00"};
    struct buf key = {0};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        hex_to(bad[i], &key);
        assert_int_equal(ERR_KEY, key_check(buf_slice(&key), &e));
    }
    buf_fini(&key);
}

/* ---- properties ---- */

struct part {
    int rank; /* bytes < string < bigint < number < false < true */
    size_t len;
    uint8_t text[8];
    double number;
    int64_t big;
};

static struct part random_part(void)
{
    static const double numbers[] = {-INFINITY, -1e300, -2, -1.5,  -0.0,    0.0,
                                     1,         1.5,    42, 1e300, INFINITY};
    struct part p = {.rank = (int)random_below(6)};
    if (p.rank <= 1) {
        p.len = random_below(5);
        for (size_t i = 0; i < p.len; i++) {
            static const uint8_t bytes[] = {0, 1, 'a', 0x7f, 0xff};
            p.text[i] = bytes[random_below(p.rank == 0 ? 5 : 4)];
        }
    }
    if (p.rank == 2) p.big = (int64_t)random_u64() >> random_below(64);
    if (p.rank == 3) p.number = numbers[random_below(sizeof numbers / sizeof *numbers)];
    return p;
}

static int part_cmp(const struct part *a, const struct part *b)
{
    if (a->rank != b->rank) return a->rank < b->rank ? -1 : 1;
    if (a->rank <= 1) return slice_cmp(slice_of(a->text, a->len), slice_of(b->text, b->len));
    if (a->rank == 2) return a->big < b->big ? -1 : a->big > b->big;
    if (a->rank != 3) return 0;
    if (a->number != b->number) return a->number < b->number ? -1 : 1;
    return (signbit(b->number) != 0) - (signbit(a->number) != 0);
}

static void add_part(struct buf *b, const struct part *p)
{
    uint64_t m = p->big < 0 ? 0 - (uint64_t)p->big : (uint64_t)p->big;
    m = __builtin_bswap64(m);
    switch (p->rank) {
    case 0: key_add_bytes(b, slice_of(p->text, p->len)); break;
    case 1: key_add_string(b, slice_of(p->text, p->len)); break;
    case 2: key_add_bigint(b, p->big < 0, slice_of(&m, 8)); break;
    case 3: key_add_number(b, p->number); break;
    default: key_add_bool(b, p->rank == 5);
    }
}

static void order_of_bytes_is_order_of_parts(void **state)
{
    struct buf a = {0}, b = {0};
    for (int round = 0; round < 100000; round++) {
        struct part pa[3], pb[3];
        size_t na = 1 + random_below(3), nb = 1 + random_below(3);
        a.len = b.len = 0;
        for (size_t i = 0; i < na; i++) {
            pa[i] = random_part();
            add_part(&a, &pa[i]);
        }
        for (size_t i = 0; i < nb; i++) {
            pb[i] = i < na && random_below(3) > 0 ? pa[i] : random_part();
            add_part(&b, &pb[i]);
        }
        int want = 0;
        for (size_t i = 0; want == 0 && i < na && i < nb; i++) want = part_cmp(&pa[i], &pb[i]);
        if (want == 0) want = na < nb ? -1 : na > nb;
        int got = slice_cmp(buf_slice(&a), buf_slice(&b));
        assert_int_equal(want < 0 ? -1 : want > 0, got < 0 ? -1 : got > 0);
    }
    buf_fini(&a);
    buf_fini(&b);
}

static void every_form_leads_back_to_the_same_bytes(void **state)
{
    struct buf key = {0}, form = {0}, again = {0};
    for (int round = 0; round < 50000; round++) {
        key.len = 0;
        for (size_t i = random_below(5); i > 0; i--) {
            struct part p = random_part();
            if (p.rank == 3 && random_below(2) == 0) {
                uint64_t bits = random_u64();
                memcpy(&p.number, &bits, 8);
            }
            add_part(&key, &p);
        }
        assert_int_equal(OK, key_check(buf_slice(&key), &e));
        form.len = again.len = 0;
        key_to_json(buf_slice(&key), &form);
        assert_int_equal(OK, key_from_arg(buf_slice(&form), true, NULL, &again, &e));
        assert_true(slice_eq(buf_slice(&key), buf_slice(&again)));
        form.len = again.len = 0;
        key_to_msgpack(buf_slice(&key), &form);
        assert_int_equal(OK, key_from_arg(buf_slice(&form), true, NULL, &again, &e));
        assert_true(slice_eq(buf_slice(&key), buf_slice(&again)));
        form.len = again.len = 0;
        key_to_path(buf_slice(&key), &form);
        assert_int_equal(OK, key_from_path(buf_slice(&form), true, &again, &e));
        assert_true(slice_eq(buf_slice(&key), buf_slice(&again)));
    }
    buf_fini(&key);
    buf_fini(&form);
    buf_fini(&again);
}

static void bigints_beyond_the_safe_integers_may_be_bare(void **state)
{
    static const struct {
        const char *tagged, *bare;
    } rows[] = {
        {"[9007199254740991,-9007199254740991]", "[9007199254740991,-9007199254740991]"},
        {"[{\"$bigint\":\"9007199254740992\"}]", "[9007199254740992]"},
        {"[\"id\",{\"$bigint\":\"-1732233600123456789\"},true]",
         "[\"id\",-1732233600123456789,true]"},
        {"[{\"$bigint\":\"340282366920938463463374607431768211456\"}]",
         "[340282366920938463463374607431768211456]"},
        /* As a literal this one would be a number. */
        {"[{\"$bigint\":\"9007199254740991\"}]", "[{\"$bigint\":\"9007199254740991\"}]"},
        {"[{\"$bigint\":\"0\"}]", "[{\"$bigint\":\"0\"}]"},
    };
    struct buf a = {0}, b = {0}, shown = {0};
    struct error why;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        a.len = b.len = shown.len = 0;
        assert_int_equal(OK, key_from_arg(slice_str(rows[i].tagged), false, NULL, &a, &why));
        assert_int_equal(OK, key_from_bare_arg(slice_str(rows[i].bare), false, NULL, &b, &why));
        assert_true(slice_eq(buf_slice(&a), buf_slice(&b)));
        key_to_bare_json(buf_slice(&a), &shown);
        assert_true(slice_eq(buf_slice(&shown), slice_str(rows[i].bare)));
    }
    char digits[700] = "[1";
    memset(digits + 2, '0', 650);
    memcpy(digits + 652, "]", 2);
    assert_int_equal(ERR_KEY, key_from_bare_arg(slice_str(digits), false, NULL, &b, &why));
    assert_non_null(strstr(why.text, "bigint of more than 255 bytes"));
    assert_int_equal(ERR_KEY, key_from_arg(slice_str("[9007199254740992]"), false, NULL, &b, &why));
    assert_int_equal(OK, key_from_bare_arg(slice_of("\x91\x07", 2), false, NULL, &b, &why));
    buf_fini(&a);
    buf_fini(&b);
    buf_fini(&shown);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bigints_beyond_the_safe_integers_may_be_bare),
        cmocka_unit_test(every_vector_of_deno_is_encoded_as_deno_does),
        cmocka_unit_test(numbers_are_ordered_from_negative_nan_to_nan),
        cmocka_unit_test(a_nan_with_other_bits_becomes_the_canonical_nan),
        cmocka_unit_test(people_may_write_shorthands),
        cmocka_unit_test(wrong_json_is_refused_with_the_place),
        cmocka_unit_test(limits_are_errors_of_their_own),
        cmocka_unit_test(a_bigint_has_at_most_255_bytes),
        cmocka_unit_test(msgpack_keys_are_read_in_every_encoding),
        cmocka_unit_test(paths_say_the_same_as_json),
        cmocka_unit_test(a_prefix_never_matches_half_a_string),
        cmocka_unit_test(damaged_encodings_are_refused),
        cmocka_unit_test(order_of_bytes_is_order_of_parts),
        cmocka_unit_test(every_form_leads_back_to_the_same_bytes),
    };
    random_seed();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    buf_fini(&out);
    buf_fini(&text);
    return failed;
}
