/* Tests of the value codec. */
#include "codec_test.h"

#include <math.h>

#include "codec/number.h"
#include "codec/value.h"

static struct buf packed, text;
static struct error e;

/* JSON -> MessagePack in hex, or the error without "invalid value: ". */
static const char *json_hex(const char *json)
{
    packed.len = 0;
    enum err err = value_from_json(slice_str(json), NULL, &packed, &e);
    if (err != OK) {
        assert_int_equal(ERR_VALUE, err);
        assert_int_equal(0, packed.len);
        assert_memory_equal("invalid value: ", e.text, 15);
        return e.text + 15;
    }
    assert_int_equal(OK, value_check(buf_slice(&packed), &e));
    assert_int_equal(packed.len, value_length(buf_slice(&packed)));
    return to_hex(buf_slice(&packed));
}

static const char *json_json(const char *json)
{
    packed.len = text.len = 0;
    if (value_from_json(slice_str(json), NULL, &packed, &e) != OK) return e.text;
    value_to_json(buf_slice(&packed), &text);
    return text_of(&text);
}

/* MessagePack in hex -> JSON, or the error without "invalid value: ". */
static const char *hex_json(const char *hex)
{
    hex_to(hex, &packed);
    text.len = 0;
    if (value_check(buf_slice(&packed), &e) != OK) return e.text + 15;
    value_to_json(buf_slice(&packed), &text);
    return text_of(&text);
}

static void json_becomes_the_smallest_msgpack(void **state)
{
    static const char *const cases[][2] = {
        {"null", "c0"},
        {"true", "c3"},
        {" false ", "c2"},
        {"0", "00"},
        {"127", "7f"},
        {"128", "cc80"},
        {"256", "cd0100"},
        {"65536", "ce00010000"},
        {"4294967296", "cf0000000100000000"},
        {"9007199254740991", "cf001fffffffffffff"},
        {"-1", "ff"},
        {"-32", "e0"},
        {"-33", "d0df"},
        {"-129", "d1ff7f"},
        {"-32769", "d2ffff7fff"},
        {"-2147483649", "d3ffffffff7fffffff"},
        {"1.0", "01"},
        {"1e3", "cd03e8"},
        {"0.5", "ca3f000000"},
        {"0.1", "cb3fb999999999999a"},
        {"-0", "ca80000000"},
        {"-0.0", "ca80000000"},
        {"{\"$number\":\"-0\"}", "ca80000000"},
        {"{\"$number\":\"NaN\"}", "ca7fc00000"},
        {"{\"$number\":\"-Infinity\"}", "caff800000"},
        {"9007199254740992", "cf0020000000000000"},
        {"-9007199254740992", "d3ffe0000000000000"},
        {"18446744073709551616", "c70942010000000000000000"},
        {"9007199254740992.0", "ca5a000000"},
        {"{\"$bigint\":\"5\"}", "d44205"},
        {"{\"$bigint\":\"0\"}", "d44200"},
        {"{\"$bigint\":\"-128\"}", "d44280"},
        {"{\"$bigint\":\"128\"}", "d5420080"},
        {"{\"$bigint\":\"9007199254740992\"}", "cf0020000000000000"},
        {"{\"$bigint\":\"-9223372036854775808\"}", "d38000000000000000"},
        {"{\"$bigint\":\"-9223372036854775809\"}", "c70942ff7fffffffffffffff"},
        {"{\"$bigint\":\"0x10\"}", "d44210"},
        {"{\"$bigint\":\"0x0129aFfA0\"}", "d642129affa0"},
        {"{\"$u64\":\"42\"}", "d755000000000000002a"},
        {"\"\"", "a0"},
        {"\"a\"", "a161"},
        {"\"\\u0000\\ud83d\\ude2e\"", "a500f09f98ae"},
        {"\"\\uffff\\ud800\\udc00\"", "a7efbfbff0908080"},
        {"{\"$bytes\":\"AQI=\"}", "c4020102"},
        {"[]", "90"},
        {"[1,[2]]", "92019102"},
        {"{}", "80"},
        {"{\"a\":1}", "81a16101"},
        {"{\"$undefined\":true}", "d40000"},
        {"{\"$date\":null}", "d4ffff"},
        {"{\"$date\":\"1970-01-01T00:00:00.000Z\"}", "d6ff00000000"},
        {"{\"$date\":\"1970-01-01T00:00:00Z\"}", "d6ff00000000"},
        {"{\"$date\":\"2023-11-14T22:13:20.123Z\"}", "d7ff1d5353006553f100"},
        {"{\"$date\":\"1969-12-31T23:59:59.999Z\"}", "c70cff3b8b87c0ffffffffffffffff"},
        {"{\"$set\":[1,\"a\"]}", "d6539201a161"},
        {"{\"$set\":[]}", "d45390"},
        {"{\"$map\":[]}", "d44d90"},
        {"{\"$map\":[[\"a\",1]]}", "d64d92a16101"},
        {"{\"$map\":[[1,2]]}", "810102"},
        {"{\"$map\":[[\"a\",1],[null,2]]}", "82a16101c002"},
        {"{\"$regexp\":[\"a+\",\"g\"]}", "c7065292a2612ba167"},
        {"{\"$typed\":[\"Int16Array\",\"AQA=\"]}", "c70374030100"},
        {"{\"$id\":1,\"value\":[{\"$ref\":1}]}", "c706499201 91d45001"},
        {"{\"$object\":{\"$bigint\":\"5\"}}", "81a724626967696e74a135"},
        {"{\"\\u0024bigint\":\"5\"}", "d44205"},
        {"{\"$bigint\":\"5\",\"x\":1}", "82a724626967696e74a135a17801"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char want[256];
        size_t n = 0;
        for (const char *p = cases[i][1]; *p != '\0'; p++) {
            if (*p != ' ') want[n++] = *p;
        }
        want[n] = '\0';
        assert_string_equal(want, json_hex(cases[i][0]));
    }
}

static void canonical_json_comes_back_as_it_went_in(void **state)
{
    static const char *const cases[] = {
        "null",
        "true",
        "0",
        "-5",
        "9007199254740991",
        "17.5",
        "0.1",
        "-0.001",
        "1e-7",
        "0.000001",
        "123456.789",
        "1e+21",
        "1.5e+300",
        "5e-324",
        "1.7976931348623157e+308",
        "9007199254740992.0",
        "100000000000000000000.0",
        "2.2250738585072014e-308",
        "0.30000000000000004",
        "\"a\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\x7f\xc3\xa9\"",
        "{\"$bigint\":\"5\"}",
        "{\"$bigint\":\"-9007199254740992\"}",
        "{\"$u64\":\"18446744073709551615\"}",
        "{\"$bytes\":\"\"}",
        "{\"$bytes\":\"AAECAw==\"}",
        "{\"$undefined\":true}",
        "{\"$date\":null}",
        "{\"$date\":\"2023-04-23T00:00:00.000Z\"}",
        "{\"$date\":\"+010000-01-01T00:00:00.000Z\"}",
        "{\"$date\":\"-000001-12-31T23:59:59.999Z\"}",
        "{\"$date\":\"0000-02-29T00:00:00.000Z\"}",
        "{\"$date\":\"+275760-09-13T00:00:00.000Z\"}",
        "{\"$date\":\"-271821-04-20T00:00:00.000Z\"}",
        "{\"$date\":\"2600-02-28T12:34:56.789Z\"}",
        "{\"$number\":\"NaN\"}",
        "{\"$number\":\"Infinity\"}",
        "{\"$number\":\"-0\"}",
        "{\"$map\":[]}",
        "{\"$map\":[[\"a\",1],[\"b\",{\"$map\":[[1,2]]}]]}",
        "{\"$map\":[[{\"a\":{\"$map\":[[null,{\"b\":[]}]]}},{\"c\":1}],[\"x\",{}]]}",
        "{\"$set\":[1,{\"$set\":[]},{\"a\":{\"$object\":{\"$set\":1}}}]}",
        "{\"$regexp\":[\"a\",\"\"]}",
        "{\"$error\":{\"name\":\"E\",\"message\":\"m\"}}",
        "{\"$error\":{\"message\":\"m\",\"cause\":{\"$error\":{\"name\":\"\",\"message\":\"\"}},"
        "\"name\":\"TypeError\",\"stack\":\"s\"}}",
        "{\"$typed\":[\"Float64Array\",\"AAAAAAAA8D8=\"]}",
        "{\"$typed\":[\"DataView\",\"\"]}",
        "{\"$id\":7,\"value\":{\"self\":{\"$ref\":7},\"other\":{\"$id\":3,\"value\":[]},\"o\":{\"$ref\":3}}}",
        "{\"$object\":{\"$id\":1,\"value\":2}}",
        "{\"$object\":{\"$uuidv7\":1}}",
        "{\"$object\":{\"$object\":{}}}",
        "{\"$object\":{\"$versionstamp\":true}}",
        "{\"$object\":{\"$id\":1}}",
        "{\"$id\":1,\"value\":2,\"more\":3}",
        "{\"value\":1,\"$id\":2}",
        "{\"$set\":[1],\"x\":[{\"$set\":[{\"$set\":[],\"y\":{\"$set\":[2]}}]}]}",
        "{\"$other\":1}",
        "{\"$map\":{\"a\":{\"$set\":[]}},\"b\":{}}",
        "[{\"$set\":[{\"a\":{},\"b\":{}}]},{\"$set\":[],\"a\":1},{\"$map\":[[{},{}]]},{}]",
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_string_equal(cases[i], json_json(cases[i]));
        assert_int_equal(OK, value_check(buf_slice(&packed), &e));
    }
}

static void other_spellings_become_canonical(void **state)
{
    assert_string_equal("1000", json_json("1e3"));
    assert_string_equal("[1,{\"a\":2}]", json_json(" [ 1 , { \"a\" : 2 } ] "));
    assert_string_equal("{\"a\":1}", json_json("{\"$object\":{\"a\":1}}"));
    assert_string_equal("{\"$number\":\"-0\"}", json_json("-0"));
    assert_string_equal("{\"$bigint\":\"255\"}", json_json("{\"$bigint\":\"0xFF\"}"));
    assert_string_equal("{\"$bigint\":\"-256\"}", json_json("{\"$bigint\":\"-0x0100\"}"));
    assert_string_equal("0.1",
                        json_json("0.1000000000000000055511151231257827021181583404541015625"));
    assert_string_equal("0", json_json("1e-99999999999999999999"));
    /* Half way between two doubles, but for the 900th digit: up, and not to the even one. */
    char tie[1000] = "9007199254740993.";
    memset(tie + 17, '0', 900);
    memcpy(tie + 917, "1e0", 4);
    assert_string_equal("9007199254740994.0", json_json(tie));
    memcpy(tie + 917, "0e0", 4);
    assert_string_equal("9007199254740992.0", json_json(tie));
    assert_string_equal("1", json_json("0.00000000000000000000000000000000000001e38"));
}

static void msgpack_is_read_in_every_encoding(void **state)
{
    assert_string_equal("[1,1,1,-1,1]",
                        hex_json("95 cc01 cf0000000000000001 d10001 d0ff cb3ff0000000000000"));
    assert_string_equal("{\"$bigint\":\"9007199254740992\"}", hex_json("d30020000000000000"));
    assert_string_equal("{\"$bigint\":\"-1\"}", hex_json("d642ffffffff"));
    assert_string_equal("{\"$bigint\":\"0\"}", hex_json("d5420000"));
    assert_string_equal("{\"a\":1}", hex_json("df00000001 db0000000161 01"));
    assert_string_equal("{\"$map\":[[1,2],[\"a\",3]]}", hex_json("de0002 0102 a16103"));
    assert_string_equal("{\"$map\":[[\"a\",1]]}", hex_json("c7044d92a16101"));
    assert_string_equal("{\"$date\":\"1970-01-01T00:00:00.001Z\"}",
                        hex_json("d7ff005b8d8000000000"));
    assert_string_equal("{\"$date\":\"1970-01-01T00:00:00.000Z\"}",
                        hex_json("d7ff0000000400000000"));
    assert_string_equal("{\"$object\":{\"$id\":[],\"value\":1}}",
                        hex_json("82a3246964 90 a576616c7565 01"));
    assert_string_equal("{\"$object\":{\"$ref\":{\"$object\":{\"$set\":1}}}}",
                        hex_json("81a424726566 81a424736574 01"));
}

static void malformed_msgpack_is_refused_with_the_place(void **state)
{
    static const char *const cases[][2] = {
        {"", "empty"},
        {"c1", "byte c1 at offset 0"},
        {"0101", "bytes after the end at offset 1"},
        {"9201", "truncated at offset 2"},
        {"a261", "truncated at offset 0"},
        {"c4", "truncated at offset 0"},
        {"ddffffffff", "truncated at offset 5"},
        {"a2c328", "not UTF-8 at offset 1"},
        {"a3eda080", "not UTF-8 at offset 1"},
        {"a36162ff", "not UTF-8 at offset 3"},
        {"82a16101a16102", "duplicate key at offset 4"},
        {"82a16101d9016102", "duplicate key at offset 4"},
        {"8201010102", "duplicate key at offset 3"},
        {"81a1ff01", "not UTF-8 at offset 2"},
        {"d40100", "unknown extension at offset 0"},
        {"d40001", "malformed undefined at offset 0"},
        {"c70042", "bigint without bytes at offset 0"},
        {"91d7550000000000000001", "u64 below the top level at offset 1"},
        {"d45501", "u64 that is not 8 bytes at offset 0"},
        {"d4ff00", "malformed date at offset 0"},
        {"d7ffffffffff00000000", "malformed date at offset 0"},
        {"c70cff00000000 0007dba8218001", "truncated at offset 0"},
        {"c70cff000000000fffffffffffffff", "malformed date at offset 0"},
        {"d45301", "extension without an array in it at offset 2"},
        {"d6539101c0c0", "bytes after the content of an extension at offset 4"},
        {"d54d9101", "Map with a key without a value at offset 2"},
        {"c7074d94a16101a16102", "duplicate key at offset 7"},
        {"d4740b", "typed array of unknown kind at offset 0"},
        {"c70074", "typed array of unknown kind at offset 0"},
        {"d5740300", "typed array that is not a whole number of elements at offset 0"},
        {"d45001", "reference to an id that does not precede it at offset 2"},
        {"d45000", "an id must be an integer from 1 to 2^32-1 at offset 2"},
        {"92d45001c7034992 01c0", "reference to an id that does not precede it at offset 3"},
        {"92c703499201c0c703499201c0", "id used twice at offset 10"},
        {"c704499301c0c0", "shared value that is not [id, value] at offset 3"},
        {"d45290", "RegExp that is not [source, flags] at offset 2"},
        {"c7035292a001", "RegExp that is not [source, flags] at offset 3"},
        {"d44580", "Error without name and message at offset 2"},
        {"c7074581a46e616d6501", "Error member that is not a string at offset 9"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *got = hex_json(cases[i][0]);
        assert_string_equal(cases[i][1], got);
    }
    assert_string_equal("Error with an unknown member at offset 3", hex_json("d64581a17801"));
}

static void malformed_json_is_refused_with_the_place(void **state)
{
    static const char *const cases[][2] = {
        {"", "expected a value before the end of the text at offset 0"},
        {"  ", "expected a value before the end of the text at offset 2"},
        {"nul", "expected a value at offset 0"},
        {"nullx", "expected a value at offset 0"},
        {"1 2", "text after the end at offset 2"},
        {"[1", "the array is not closed at offset 2"},
        {"[1,]", "expected a value at offset 3"},
        {"[1}", "expected ',' or ']' at offset 2"},
        {"{\"a\":1", "the object is not closed at offset 6"},
        {"{\"a\":1,}", "expected a name at offset 7"},
        {"{\"a\" 1}", "expected ':' at offset 5"},
        {"{a:1}", "expected a name at offset 1"},
        {"{\"a\":1,\"\\u0061\":2}", "duplicate key at offset 7"},
        {"{\"$map\":[[1,2],[1,3]]}", "duplicate key at offset 16"},
        {"{\"$map\":[[1]]}", "expected ',' at offset 11"},
        {"{\"$map\":5}", "$map must be an array of [key, value] at offset 8"},
        {"\"\\ud800\"", "lone surrogate at offset 1"},
        {"\"\\udc00\"", "lone surrogate at offset 1"},
        {"\"a\\udfffb\"", "lone surrogate at offset 2"},
        {"\"\\x\"", "unknown escape in a string at offset 1"},
        {"\"\\u12\"", "\\u without four hex digits at offset 1"},
        {"\"a\x01\"", "control character in a string at offset 2"},
        {"\"\xc0\x80\"", "not UTF-8 at offset 1"},
        {"\"\xff"
         "bcdefghijkl\"",
         "not UTF-8 at offset 1"},
        {"\"abcdefghijkl\xff\"", "not UTF-8 at offset 13"},
        {"\"abc", "unterminated string at offset 0"},
        {"01", "number with a leading zero at offset 0"},
        {"-", "expected a digit at offset 1"},
        {"1.e5", "expected a digit after the point at offset 2"},
        {"1e", "exponent without digits at offset 2"},
        {"1e999",
         "number beyond the range of a double, write {\"$number\":\"Infinity\"} at offset 0"},
        {"-1e999",
         "number beyond the range of a double, write {\"$number\":\"-Infinity\"} at offset 0"},
        {"NaN", "expected a value at offset 0"},
        {"5n", "text after the end at offset 1"},
        {"{\"$bigint\":5}", "$bigint must be a string of decimal digits at offset 11"},
        {"{\"$bigint\":\"x\"}",
         "$bigint must be decimal digits with an optional minus sign at offset 11"},
        {"{\"$bigint\":\"\"}",
         "$bigint must be decimal digits with an optional minus sign at offset 11"},
        {"[{\"$u64\":\"1\"}]", "u64 below the top level at offset 9"},
        {"{\"$u64\":\"18446744073709551616\"}", "$u64 must be from 0 to 2^64-1 at offset 8"},
        {"{\"$u64\":\"-1\"}", "$u64 must be from 0 to 2^64-1 at offset 8"},
        {"{\"$bytes\":\"AQ\"}", "$bytes is not valid base64 at offset 10"},
        {"{\"$bytes\":\"AI==\"}", "$bytes is not valid base64 at offset 10"},
        {"{\"$bytes\":\"AQ=A\"}", "$bytes is not valid base64 at offset 10"},
        {"{\"$date\":\"2023-02-29T00:00:00.000Z\"}",
         "$date must be YYYY-MM-DDTHH:mm:ss.sssZ within +-8.64e15 ms at offset 9"},
        {"{\"$date\":\"-000000-01-01T00:00:00.000Z\"}",
         "$date must be YYYY-MM-DDTHH:mm:ss.sssZ within +-8.64e15 ms at offset 9"},
        {"{\"$date\":\"+275760-09-13T00:00:00.001Z\"}",
         "$date must be YYYY-MM-DDTHH:mm:ss.sssZ within +-8.64e15 ms at offset 9"},
        {"{\"$undefined\":false}", "$undefined must be true at offset 14"},
        {"{\"$number\":\"1\"}",
         "$number must be \"NaN\", \"Infinity\", \"-Infinity\" or \"-0\" at offset 11"},
        {"{\"$set\":5}", "$set must be an array at offset 8"},
        {"{\"$regexp\":[\"a\"]}", "expected ',' at offset 15"},
        {"{\"$error\":{\"name\":\"x\"}}", "$error must have a name and a message at offset 11"},
        {"{\"$error\":{\"name\":1}}", "name of $error must be a string at offset 18"},
        {"{\"$error\":{\"x\":1}}",
         "$error must have only name, message, stack and cause at offset 15"},
        {"{\"$typed\":[\"Foo\",\"\"]}", "typed array of unknown kind at offset 10"},
        {"{\"$typed\":[\"Int16Array\",\"AQ==\"]}",
         "typed array that is not a whole number of elements at offset 10"},
        {"{\"$ref\":1}", "reference to an id that does not precede it at offset 8"},
        {"{\"$id\":0,\"value\":1}", "an id must be an integer from 1 to 2^32-1 at offset 7"},
        {"{\"$id\":1}", "$id without a value at offset 7"},
        {"[{\"$id\":1,\"value\":1},{\"$id\":1,\"value\":1}]", "id used twice at offset 28"},
        {"{\"$object\":1}", "$object must be an object at offset 11"},
        {"{\"$uuidv7\":0}", "placeholders are not supported here at offset 11"},
        {"{\"$versionstamp\":true}", "placeholders are not supported here at offset 17"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_string_equal(cases[i][1], json_hex(cases[i][0]));
    }
}

static void nest(struct buf *b, const char *open, const char *inner, const char *close, int levels)
{
    b->len = 0;
    for (int i = 0; i < levels; i++) buf_append_str(b, open);
    buf_append_str(b, inner);
    for (int i = 0; i < levels; i++) buf_append_str(b, close);
}

static void depth_is_128_levels_in_both_forms(void **state)
{
    static const char *const kinds[][2] = {
        {"[", "]"},
        {"{\"a\":", "}"},
        {"{\"$set\":[", "]}"},
        {"{\"$map\":[[", ",1]]}"},
        {"{\"$object\":{\"$set\":", "}}"},
        {"{\"$error\":{\"name\":\"\",\"message\":\"\",\"cause\":", "}}"},
    };
    struct buf json = {0}, deep = {0};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        nest(&json, kinds[i][0], "1", kinds[i][1], VALUE_DEPTH_MAX);
        packed.len = text.len = 0;
        assert_int_equal(OK, value_from_json(buf_slice(&json), NULL, &packed, &e));
        assert_int_equal(OK, value_check(buf_slice(&packed), &e));
        value_to_json(buf_slice(&packed), &text);
        assert_true(slice_eq(buf_slice(&text), buf_slice(&json)));
        nest(&json, kinds[i][0], "1", kinds[i][1], VALUE_DEPTH_MAX + 1);
        packed.len = 0;
        assert_int_equal(ERR_VALUE, value_from_json(buf_slice(&json), NULL, &packed, &e));
        assert_non_null(strstr(e.text, "deeper than 128 levels at offset"));
        nest(&json, kinds[i][0], "1", kinds[i][1], 100000); /* no stack overflow */
        assert_int_equal(ERR_VALUE, value_from_json(buf_slice(&json), NULL, &packed, &e));
    }
    nest(&deep, "\x91", "\x01", "", VALUE_DEPTH_MAX);
    assert_int_equal(OK, value_check(buf_slice(&deep), &e));
    nest(&deep, "\x91", "\x01", "", VALUE_DEPTH_MAX + 1);
    assert_int_equal(ERR_VALUE, value_check(buf_slice(&deep), &e));
    assert_string_equal("invalid value: deeper than 128 levels at offset 128", e.text);
    buf_fini(&json);
    buf_fini(&deep);
}

static void a_million_names_take_no_quadratic_time(void **state)
{
    struct buf json = {0}, again = {0};
    buf_append_byte(&json, '{');
    for (unsigned i = 0; i < 1000000; i++) buf_printf(&json, "\"k%06u\":1,", i);
    size_t len = json.len;
    json.data[len - 1] = '}';
    packed.len = 0;
    clock_t start = clock();
    assert_int_equal(OK, value_from_json(buf_slice(&json), NULL, &packed, &e));
    assert_int_equal(OK, value_check(buf_slice(&packed), &e));
    value_to_json(buf_slice(&packed), &again);
    assert_true((double)(clock() - start) / CLOCKS_PER_SEC < 20); /* quadratic would be hours */
    assert_true(slice_eq(buf_slice(&json), buf_slice(&again)));
    json.data[len - 1] = ',';
    buf_append_str(&json, "\"k000007\":2}");
    packed.len = 0;
    assert_int_equal(ERR_VALUE, value_from_json(buf_slice(&json), NULL, &packed, &e));
    assert_string_equal("invalid value: duplicate key at offset 12000001", e.text);
    buf_fini(&json);
    buf_fini(&again);
}

static void deep_tags_are_not_read_again_and_again(void **state)
{
    struct buf json = {0}, inner = {0};
    for (int i = 0; i < 200000; i++) buf_append_str(&inner, i == 0 ? "{\"a\":1}" : ",{\"a\":1}");
    buf_append_byte(&inner, '\0');
    nest(&json, "{\"$set\":[", (char *)inner.data, "]}", 127);
    packed.len = text.len = 0;
    clock_t start = clock();
    assert_int_equal(OK, value_from_json(buf_slice(&json), NULL, &packed, &e));
    value_to_json(buf_slice(&packed), &text);
    assert_true((double)(clock() - start) / CLOCKS_PER_SEC < 10);
    assert_true(slice_eq(buf_slice(&json), buf_slice(&text)));
    buf_fini(&json);
    buf_fini(&inner);
}

static void sixteen_and_more_names_are_all_told_apart(void **state)
{
    struct buf json = {0};
    for (unsigned n = 1; n < 200; n++) {
        json.len = 0;
        for (unsigned i = 0; i < n; i++) buf_printf(&json, "%c\"%u\":%u", i == 0 ? '{' : ',', i, i);
        size_t len = json.len;
        buf_append_byte(&json, '}');
        packed.len = 0;
        assert_int_equal(OK, value_from_json(buf_slice(&json), NULL, &packed, &e));
        assert_int_equal(OK, value_check(buf_slice(&packed), &e));
        json.len = len;
        buf_printf(&json, ",\"%u\":0}", (unsigned)random_below(n));
        assert_int_equal(ERR_VALUE, value_from_json(buf_slice(&json), NULL, &packed, &e));
        assert_non_null(strstr(e.text, "duplicate key"));
    }
    buf_fini(&json);
}

static void a_large_bigint_has_a_text_of_hex_digits(void **state)
{
    struct buf json = {0};
    for (size_t bytes = 1020; bytes < 1030; bytes++) {
        for (int sign = 0; sign < 2; sign++) {
            json.len = text.len = packed.len = 0;
            buf_append_str(&json, sign ? "{\"$bigint\":\"-0x" : "{\"$bigint\":\"0x");
            for (size_t i = 0; i < bytes; i++) buf_append_str(&json, i == 0 ? "80" : "00");
            buf_append_str(&json, "\"}");
            assert_int_equal(OK, value_from_json(buf_slice(&json), NULL, &packed, &e));
            value_to_json(buf_slice(&packed), &text);
            if (bytes > 1024) {
                assert_true(slice_eq(buf_slice(&text), buf_slice(&json)));
            } else {
                struct buf again = {0};
                assert_null(strstr(text_of(&text), "0x"));
                assert_int_equal(OK, value_from_json(buf_slice(&text), NULL, &again, &e));
                assert_true(slice_eq(buf_slice(&again), buf_slice(&packed)));
                buf_fini(&again);
            }
        }
    }
    json.len = 0;
    for (int i = 0; i < 1000000; i++) buf_append_byte(&json, '9');
    assert_int_equal(ERR_VALUE, value_from_json(buf_slice(&json), NULL, &packed, &e));
    assert_non_null(strstr(e.text, "integer literal of more than 1024 bytes of magnitude, write "
                                   "{\"$bigint\":\"0x..\"}"));
    buf_fini(&json);
}

static void types_have_the_names_people_use(void **state)
{
    static const char *const cases[][2] = {
        {"c0", "null"},
        {"c3", "boolean"},
        {"01", "number"},
        {"ff", "number"},
        {"ca00000000", "number"},
        {"cf0020000000000000", "bigint"},
        {"d44201", "bigint"},
        {"d7550000000000000001", "u64"},
        {"a0", "string"},
        {"c400", "bytes"},
        {"90", "array"},
        {"80", "object"},
        {"81a16101", "object"},
        {"810101", "Map"},
        {"82a161010101", "Map"},
        {"d44d90", "Map"},
        {"d45390", "Set"},
        {"d4ffff", "Date"},
        {"d40000", "undefined"},
        {"d47400", "typed array"},
        {"c703499201c0", "shared value"},
        {"c70356ff0f79", "v8"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hex_to(cases[i][0], &packed);
        assert_int_equal(OK, value_check(buf_slice(&packed), &e));
        assert_string_equal(cases[i][1], value_type_name(buf_slice(&packed)));
    }
}

static void doubles_print_the_shortest_digits_that_read_back(void **state)
{
    for (int round = 0; round < 60000; round++) {
        uint64_t bits = random_u64();
        double d;
        memcpy(&d, &bits, 8);
        if (round % 3 == 0) d = (double)(int64_t)random_u64() / pow(10, (double)random_below(25));
        if (round % 3 == 1) d = (double)random_below(100000000) / pow(10, (double)random_below(8));
        if (!isfinite(d)) continue;
        char digits[NUMBER_TEXT_BYTES + 1], best[40];
        digits[number_format(d, digits)] = '\0';
        assert_true(strtod(digits, NULL) == d);
        int precision = 1;
        while (snprintf(best, sizeof best, "%.*e", precision - 1, d), strtod(best, NULL) != d)
            precision++;
        int used = 0;
        char *end = digits + strcspn(digits, "e");
        bool is_point = memchr(digits, '.', (size_t)(end - digits)) != NULL;
        if (end - digits > 2 && memcmp(end - 2, ".0", 2) == 0) end -= 2, is_point = false;
        const char *p = digits + (digits[0] == '-');
        while (p < end && (*p == '0' || *p == '.')) p++;
        for (; p < end; p++) used += *p != '.';
        if (!is_point) {
            while (used > 1 && end[-1] == '0') used--, end--;
        }
        assert_true(used <= precision || d == 0);
        packed.len = text.len = 0;
        if (d == 0) continue;
        assert_int_equal(OK, value_from_json(slice_str(digits), NULL, &packed, &e));
        value_to_json(buf_slice(&packed), &text);
        assert_string_equal(digits, text_of(&text));
    }
}

/* ---- generated values ---- */

static void generate(struct buf *b, int depth, int *ids);

static void generate_string(struct buf *b)
{
    static const char *const pieces[] = {"a",   "$set",    "value", "$id", "\xc3\xa9",
                                         "\\n", "\\u0000", "",      "x y"};
    buf_append_byte(b, '"');
    for (size_t i = random_below(3); i > 0; i--) {
        buf_append_str(b, pieces[random_below(sizeof pieces / sizeof *pieces)]);
    }
    buf_append_byte(b, '"');
}

static void generate_object(struct buf *b, int depth, int *ids)
{
    size_t n = random_below(4);
    bool is_escaped = n == 1 && random_below(2) == 0;
    if (is_escaped) buf_append_str(b, "{\"$object\":");
    buf_append_byte(b, '{');
    for (size_t i = 0; i < n; i++) {
        if (i > 0) buf_append_byte(b, ',');
        if (is_escaped) {
            buf_append_str(b, "\"$map\":");
        } else {
            buf_printf(b, "\"%s%zu\":", random_below(2) == 0 ? "$" : "n", i);
        }
        generate(b, depth - 1, ids);
    }
    buf_append_str(b, is_escaped ? "}}" : "}");
}

static void generate_items(struct buf *b, int depth, int *ids)
{
    buf_append_byte(b, '[');
    for (size_t i = 0, n = random_below(20); i < n; i++) {
        if (i > 0) buf_append_byte(b, ',');
        generate(b, depth - 1, ids);
    }
    buf_append_byte(b, ']');
}

static void generate_map(struct buf *b, int depth, int *ids)
{
    buf_append_str(b, "{\"$map\":[");
    for (size_t i = 0, n = random_below(4); i < n; i++) {
        if (i > 0) buf_append_byte(b, ',');
        if (random_below(2) == 0) {
            buf_printf(b, "[%zu,", i);
        } else {
            buf_printf(b, "[\"%zu\",", i);
        }
        generate(b, depth - 1, ids);
        buf_append_byte(b, ']');
    }
    buf_append_str(b, "]}");
}

/* Canonical typed JSON. */
static void generate(struct buf *b, int depth, int *ids)
{
    static const char *const leaves[] = {
        "null",
        "true",
        "false",
        "17.5",
        "1e-7",
        "{\"$bigint\":\"77\"}",
        "{\"$bytes\":\"AAE=\"}",
        "{\"$undefined\":true}",
        "{\"$date\":\"2020-02-29T01:02:03.004Z\"}",
        "{\"$number\":\"-0\"}",
        "{\"$regexp\":[\"a\",\"g\"]}",
        "{\"$typed\":[\"Uint8Array\",\"AQI=\"]}",
        "{}",
        "[]",
        "{\"$error\":{\"name\":\"a\",\"message\":\"b\",\"cause\":{\"$map\":[[1,{}]]}}}"};
    switch (random_below(depth > 0 ? 9 : 3)) {
    case 0: buf_append_str(b, leaves[random_below(sizeof leaves / sizeof *leaves)]); break;
    case 1: buf_append_i64(b, ((int64_t)random_u64() >> 11) >> random_below(53)); break;
    case 2: {
        struct buf s = {0};
        generate_string(&s);
        struct buf canonical = {0};
        assert_int_equal(OK, value_from_json(buf_slice(&s), NULL, &canonical, &e));
        value_to_json(buf_slice(&canonical), b);
        buf_fini(&s);
        buf_fini(&canonical);
        break;
    }
    case 3:
    case 4: generate_object(b, depth, ids); break;
    case 5: generate_items(b, depth, ids); break;
    case 6:
        buf_append_str(b, "{\"$set\":");
        generate_items(b, depth, ids);
        buf_append_byte(b, '}');
        break;
    case 7: generate_map(b, depth, ids); break;
    default:
        if (*ids > 0 && random_below(2) == 0) {
            buf_printf(b, "{\"$ref\":%zu}", 1 + random_below((size_t)*ids));
        } else {
            buf_printf(b, "{\"$id\":%d,\"value\":", ++*ids);
            generate(b, depth - 1, ids);
            buf_append_byte(b, '}');
        }
    }
}

/* The same value as two texts: with tags, and with bigints as literals where that is not ambiguous.
 */
static void bigints_beyond_the_safe_integers_may_be_bare(void **state)
{
    static const struct {
        const char *tagged, *bare;
    } rows[] = {
        {"9007199254740991", "9007199254740991"},
        {"{\"$bigint\":\"9007199254740992\"}", "9007199254740992"},
        {"{\"$bigint\":\"-9007199254740992\"}", "-9007199254740992"},
        {"{\"$bigint\":\"1732233600123456789\"}", "1732233600123456789"},
        {"{\"$bigint\":\"18446744073709551616\"}", "18446744073709551616"},
        {"{\"$bigint\":\"-170141183460469231731687303715884105728\"}",
         "-170141183460469231731687303715884105728"},
        {"[{\"id\":{\"$bigint\":\"9007199254740993\"}}]", "[{\"id\":9007199254740993}]"},
        {"{\"$map\":[[{\"$bigint\":\"9007199254740993\"},1]]}",
         "{\"$map\":[[9007199254740993,1]]}"},
        /* As a literal this one would be a number. */
        {"{\"$bigint\":\"9007199254740991\"}", "{\"$bigint\":\"9007199254740991\"}"},
        {"{\"$bigint\":\"-5\"}", "{\"$bigint\":\"-5\"}"},
        {"{\"$u64\":\"18446744073709551615\"}", "{\"$u64\":\"18446744073709551615\"}"},
        {"1e+20", "100000000000000000000.0"},
    };
    struct buf again = {0};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        packed.len = text.len = again.len = 0;
        assert_int_equal(OK, value_from_json(slice_str(rows[i].tagged), NULL, &packed, &e));
        value_to_bare_json(buf_slice(&packed), &text);
        assert_string_equal(text_of(&text), rows[i].bare);
        assert_int_equal(OK, value_from_json(buf_slice(&text), NULL, &again, &e));
        assert_true(slice_eq(buf_slice(&packed), buf_slice(&again)));
    }
    /* Beyond 1024 bytes decimal text would take too long: the tag stays. */
    static uint8_t huge[1031] = {0xc8, 0x04, 0x03, 0x42, 0x7f};
    text.len = 0;
    assert_int_equal(OK, value_check(slice_of(huge, sizeof huge), &e));
    value_to_bare_json(slice_of(huge, sizeof huge), &text);
    assert_int_equal(strncmp(text_of(&text), "{\"$bigint\":\"0x7f00", 18), 0);
    /* Longer than it must be: 5, and -(2^53), in 12 bytes. */
    static const uint8_t five[] = {0xc7, 12, 0x42, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5};
    static const uint8_t low[] = {0xc7, 12,   0x42, 0xff, 0xff, 0xff, 0xff, 0xff,
                                  0xe0, 0x00, 0,    0,    0,    0,    0};
    text.len = 0;
    value_to_bare_json(slice_of(five, sizeof five), &text);
    value_to_bare_json(slice_of(low, sizeof low), &text);
    assert_string_equal(text_of(&text), "{\"$bigint\":\"5\"}-9007199254740992");
    buf_fini(&again);
}

static void generated_json_and_its_msgpack_survive_the_round_trip(void **state)
{
    struct buf json = {0}, again = {0};
    for (int round = 0; round < 6000; round++) {
        int ids = 0;
        json.len = packed.len = text.len = again.len = 0;
        generate(&json, 6, &ids);
        if (value_from_json(buf_slice(&json), NULL, &packed, &e) != OK) {
            fail_msg("%s: %s", e.text, text_of(&json));
        }
        assert_int_equal(OK, value_check(buf_slice(&packed), &e));
        assert_int_equal(packed.len, value_length(buf_slice(&packed)));
        value_to_json(buf_slice(&packed), &text);
        assert_string_equal(text_of(&json), text_of(&text));
        assert_int_equal(OK, value_from_json(buf_slice(&text), NULL, &again, &e));
        assert_true(slice_eq(buf_slice(&packed), buf_slice(&again)));
    }
    buf_fini(&json);
    buf_fini(&again);
}

/* Nothing crashes and nothing is read beyond the end (the sanitizers watch), whatever is cut off.
 */
static void no_part_of_a_value_is_a_value(void **state)
{
    struct buf json = {0};
    for (int round = 0; round < 2000; round++) {
        int ids = 0;
        json.len = packed.len = 0;
        generate(&json, 4, &ids);
        assert_int_equal(OK, value_from_json(buf_slice(&json), NULL, &packed, &e));
        size_t cut = random_below(packed.len + 1);
        uint8_t *exact = malloc(cut + 1);
        memcpy(exact, packed.data, cut);
        enum err err = value_check(slice_of(exact, cut), &e);
        assert_true((err == OK) == (cut == packed.len));
        free(exact);
    }
    buf_fini(&json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_becomes_the_smallest_msgpack),
        cmocka_unit_test(canonical_json_comes_back_as_it_went_in),
        cmocka_unit_test(other_spellings_become_canonical),
        cmocka_unit_test(msgpack_is_read_in_every_encoding),
        cmocka_unit_test(malformed_msgpack_is_refused_with_the_place),
        cmocka_unit_test(malformed_json_is_refused_with_the_place),
        cmocka_unit_test(depth_is_128_levels_in_both_forms),
        cmocka_unit_test(a_million_names_take_no_quadratic_time),
        cmocka_unit_test(deep_tags_are_not_read_again_and_again),
        cmocka_unit_test(sixteen_and_more_names_are_all_told_apart),
        cmocka_unit_test(a_large_bigint_has_a_text_of_hex_digits),
        cmocka_unit_test(types_have_the_names_people_use),
        cmocka_unit_test(doubles_print_the_shortest_digits_that_read_back),
        cmocka_unit_test(bigints_beyond_the_safe_integers_may_be_bare),
        cmocka_unit_test(generated_json_and_its_msgpack_survive_the_round_trip),
        cmocka_unit_test(no_part_of_a_value_is_a_value),
    };
    random_seed();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    buf_fini(&packed);
    buf_fini(&text);
    return failed;
}
