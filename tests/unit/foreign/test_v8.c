/* Values as V8 writes them, both ways. v8.tsv was written by Deno 2.9.6 (through a Deno KV file): name,
 * bytes, what it is as typed JSON, and what is written for it where that is more than another
 * version. v8_edges.tsv: bytes by hand, and the value or the error. */
#include "foreign_test.h"

#include "codec/v8.h"

static struct buf in, value, again, text;
static struct error e;

static const char *v8_json(const char *hex)
{
    hex_to(hex, &in);
    value.len = 0;
    if (v8_to_value(buf_slice(&in), &value, &e) != OK) {
        assert_int_equal(0, value.len);
        return e.text;
    }
    struct error why = {0};
    if (value_check(buf_slice(&value), &why) != OK) fail_msg("%s: %s", hex, why.text);
    return json_of(&value, &text);
}

/* Typed JSON -> V8's bytes in hex, without the head ff 0f; or the error. */
static const char *json_v8(const char *json)
{
    static struct buf out;
    value_of(json, &value);
    out.len = 0;
    if (value_to_v8(buf_slice(&value), &out, &e) != OK) {
        assert_int_equal(0, out.len);
        return e.text;
    }
    assert_memory_equal("\xff\x0f", out.data, 2);
    /* What was written is read as the same value. */
    again.len = 0;
    assert_int_equal(OK, v8_to_value(buf_slice(&out), &again, &e));
    assert_string_equal(to_hex(buf_slice(&value)), to_hex(buf_slice(&again)));
    return to_hex(slice_of(out.data + 2, out.len - 2));
}

static void every_value_of_deno_is_read_and_written(void **state)
{
    FILE *file = fopen("tests/unit/foreign/v8.tsv", "r");
    char *column[COLUMNS_MAX];
    size_t count = 0, kept = 0, columns = 0;
    struct buf back = {0};
    assert_non_null(file);
    while ((columns = next_row(file, column)) >= 3) {
        assert_string_equal(column[2], v8_json(column[1]));
        bool is_kept = strncmp(column[2], "{\"$v8\"", 6) == 0;
        const char *wanted = columns > 3 ? column[3] : column[1];
        back.len = again.len = 0;
        assert_int_equal(OK, value_to_v8(buf_slice(&value), &back, &e));
        assert_string_equal(is_kept ? wanted : wanted + 4,
                            to_hex(buf_slice(&back)) + (is_kept ? 0 : 4));
        assert_int_equal(is_kept ? 16 : 15, back.data[1]);
        assert_int_equal(OK, v8_to_value(buf_slice(&back), &again, &e));
        assert_string_equal(to_hex(buf_slice(&value)), to_hex(buf_slice(&again)));
        value_of(column[2], &again);
        assert_string_equal(to_hex(buf_slice(&value)), to_hex(buf_slice(&again)));
        kept += is_kept;
        count++;
    }
    fclose(file);
    buf_fini(&back);
    assert_int_equal(108, count);
    assert_int_equal(14, kept);
}

static void every_edge_is_as_it_should_be(void **state)
{
    FILE *file = fopen("tests/unit/foreign/v8_edges.tsv", "r");
    char *column[COLUMNS_MAX];
    size_t count = 0;
    assert_non_null(file);
    while (next_row(file, column) == 3) {
        const char *wanted = column[2];
        if (strncmp(wanted, "ERR ", 4) == 0) wanted += 4;
        assert_string_equal(wanted, v8_json(column[1]));
        count++;
    }
    fclose(file);
    assert_int_equal(36, count);
}

static void malformed_bytes_are_refused_at_their_offset(void **state)
{
    static const char *const cases[][2] = {
        {"ff", "truncated at offset 1"},
        {"ff8f", "truncated at offset 2"},
        {"ff0f", "truncated at offset 2"},
        {"ff0f00", "truncated at offset 3"},
        {"ff0f49", "truncated at offset 3"},
        {"ff0f49ffffffff1f", "number too large at offset 3"},
        {"ff0f41ffffffffffffffffff02", "number of more than 64 bits at offset 3"},
        {"ff0f4e00000000000000", "truncated at offset 3"},
        {"ff0f5a10ff", "truncated at offset 4"},
        {"ff0f22ffffffff0f61", "truncated at offset 8"},
        {"ff0f6303610062", "incomplete code unit at offset 3"},
        {"ff0f6f", "truncated at offset 3"},
        {"ff0f6f2201615f", "truncated at offset 7"},
        {"ff0f6f5f5f7b01", "a key that is neither a string nor a number at offset 3"},
        {"ff0f6f5e005f7b01", "a key that is neither a string nor a number at offset 3"},
        {"ff0f41ffffffff0f", "truncated at offset 3"},
        {"ff0f4102495f240002", "unknown tag at offset 6"},
        {"ff0f6102490049024001", "truncated at offset 10"},
        {"ff0f610249004902400103", "a count mismatch at offset 10"},
        {"ff0f610249004902400202", "a count mismatch at offset 9"},
        {"ff0f3b49003a01", "Map key without a value at offset 3"},
        {"ff0f3b490049003a01", "a count mismatch at offset 8"},
        {"ff0f27490049002c01", "a count mismatch at offset 8"},
        {"ff0f525f00", "expected a string at offset 3"},
        {"ff0f52220161c000", "unknown RegExp flags at offset 6"},
        {"ff0f522201618004", "unknown RegExp flags at offset 6"},
        {"ff0f72", "truncated at offset 3"},
        {"ff0f726d5f2e", "expected a string at offset 4"},
        {"ff0f72632e", "unknown tag at offset 4"},
        {"ff0f7e0402ffffffff", "buffer larger than its maximum at offset 3"},
        {"ff0f42026162564100020000", "view of unknown kind at offset 7"},
        {"ff0f420261625642000300", "view beyond the end of its buffer at offset 7"},
        {"ff0f420261625642030000", "view beyond the end of its buffer at offset 7"},
        {"ff0f420261625642010200", "view beyond the end of its buffer at offset 7"},
        {"ff0f4204000000005677010200", "view that is not a whole number of elements at offset 9"},
        {"ff0f4204000000005677000300", "view that is not a whole number of elements at offset 9"},
        {"ff0f420261625642000201", "growable view of a fixed buffer at offset 7"},
        {"ff0f5c0d0100", "host object of unknown kind at offset 3"},
        {"ff0f5c03010000", "view that is not a whole number of elements at offset 3"},
        {"ff0f5e00", "reference to an object that does not precede it at offset 3"},
        {"ff0f41015e01240001", "reference to an object that does not precede it at offset 5"},
        {"ff0f5642000000", "unknown tag at offset 2"},
        {"ff0f7400", "unknown tag at offset 2"},
        {"ff0f7000", "unknown tag at offset 2"},
        {"ff0f7700", "unknown tag at offset 2"},
        {"ff0f6d00", "unknown tag at offset 2"},
        {"ff0f6e00", "truncated at offset 3"},
        {"ff0f735f", "expected a string at offset 3"},
        {"ff0f7a01", "bigint -0 at offset 3"},
        {"ff0f7b", "unknown tag at offset 2"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *got = v8_json(cases[i][0]);
        if (strncmp(got, "invalid V8 value: ", 18) != 0) fail_msg("%s: %s", cases[i][0], got);
        assert_string_equal(cases[i][1], got + 18);
    }
}

static void what_is_well_formed_but_has_no_form_of_ours_is_kept(void **state)
{
    static const char *const cases[] = {
        "ff0f41012d240001",                               /* a hole */
        "ff0f41002201614902240100",                       /* a property of an array */
        "ff0f61024900490249004904400202",                 /* an element twice */
        "ff0f61024902490249004904400202",                 /* elements in another order */
        "ff0f6e0000000000000000",                         /* boxed */
        "ff0f6f2201616e00000000000000007b01",             /* .. inside */
        "ff0f630200dc",                                   /* the second half of a pair alone */
        "ff0f630400d86100",                               /* the first half, then something else */
        "ff0f6f630200d85f7b01",                           /* as a name */
        "ff0f5301ff",                                     /* no UTF-8 */
        "ff0f6f220161490222016149047b02",                 /* a name twice */
        "ff0f6f4902490222013149047b02",                   /* .. once as a number */
        "ff0f6f4e000000000000f83f5f7b01",                 /* a name that is 1.5 */
        "ff0f3b6f7b0049606f7b0049013a04",                 /* keys that are equal but not the same */
        "ff0f3b220161490022016149013a04",                 /* the same key twice */
        "ff0f41024202616256420002005e015642000200240002", /* two views of a buffer */
        "ff0f41024202616256420002005e01240002",           /* a view and its buffer */
        "ff0f7e02046162",                                 /* a buffer that grows */
        "ff0f420261625668000200",                         /* Float16Array */
        "ff0f5cffffffff0f6f2204747970652204426c6f627b01", /* of Deno's own */
        "ff0f72732201736d22016d2e",                       /* an Error's message after its stack */
        "ff0f726d22016d6d22016e2e",                       /* twice */
        "ff0f727322016d7322016e2e",
        "ff0f726349606349062e",
        "ff0f725445522e",
        "ff0f42026162564200020404", /* flags of later versions */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *got = v8_json(cases[i]);
        if (strncmp(got, "{\"$v8\":\"", 8) != 0) fail_msg("%s: %s", cases[i], got);
        assert_string_equal("v8", value_type_name(buf_slice(&value)));
        again.len = 0;
        assert_int_equal(OK, value_to_v8(buf_slice(&value), &again, &e));
        assert_true(slice_eq(buf_slice(&in), buf_slice(&again)));
    }
}

static void other_ways_to_write_a_value_are_read(void **state)
{
    static const char *const cases[][2] = {
        {"ff0d4202616256420002", "{\"$bytes\":\"YWI=\"}"},
        {"ff0f00003f05003f064902", "1"},
        {"ff8f004902", "1"},
        {"ff0f5504", "4"},
        {"ff0f4e000000000000f03f", "1"},
        {"ff0f4e010000000000f87f", "{\"$number\":\"NaN\"}"},
        {"ff0f4e010000000000f8ff", "{\"$number\":\"NaN\"}"},
        {"ff0f5a0300", "{\"$bigint\":\"0\"}"},
        {"ff0f5a10ffffffffffff1f00", "{\"$bigint\":\"9007199254740991\"}"},
        {"ff0f5a100000000000002000", "{\"$bigint\":\"9007199254740992\"}"},
        {"ff0f6f5502494e4e000000000000f03f49005302c3a949027b03", "{\"2\":39,\"1\":0,\"é\":1}"},
        {"ff0f6f490149007b01", "{\"-1\":0}"},
        {"ff0f4400000000000004c0", "{\"$date\":\"1969-12-31T23:59:59.998Z\"}"},
        {"ff0f44000000000000f07f", "{\"$date\":null}"},
        {"ff0f440000dcc208b23e43", "{\"$date\":\"+275760-09-13T00:00:00.000Z\"}"},
        {"ff0f440100dcc208b23e43", "{\"$date\":null}"},
        {"ff0f61024900490249025f400202", "[1,{\"$undefined\":true}]"},
        {"ff0f5c0a026162", "{\"$bytes\":\"YWI=\"}"},
        {"ff0f5c09026162", "{\"$typed\":[\"DataView\",\"YWI=\"]}"},
        {"ff0f5c0b080100000000000000", "{\"$typed\":[\"BigInt64Array\",\"AQAAAAAAAAA=\"]}"},
        {"ff0f41025c0101615e01240002",
         "[{\"$id\":1,\"value\":{\"$bytes\":\"YQ==\"}},{\"$ref\":1}]"},
        {"ff0f41025f41015e00240001240002",
         "{\"$id\":1,\"value\":[{\"$undefined\":true},[{\"$ref\":1}]]}"},
        {"ff0f72635f2e",
         "{\"$error\":{\"name\":\"Error\",\"message\":\"\",\"cause\":{\"$undefined\":true}}}"},
        {"ff0f72526d22016d634902732201732e",
         "{\"$error\":{\"name\":\"RangeError\",\"message\":\"m\",\"stack\":\"s\",\"cause\":1}}"},
        {"ff0f72635e002e",
         "{\"$id\":1,\"value\":{\"$error\":{\"name\":\"Error\",\"message\":\"\",\"cause\":{\"$ref\":1}}}}"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_string_equal(cases[i][1], v8_json(cases[i][0]));
    }
}

static void what_others_store_is_written_for_v8(void **state)
{
    static const char *const cases[][2] = {
        {"[]", "4100240000"},
        {"\"aĀ\"", "630461000001"},
        {"{\"Ā\":\"Ā\"}", "6f0063020001630200017b01"},
        {"{\"$id\":7,\"value\":[{\"$ref\":7}]}", "41015e00240001"},
        {"[{\"$id\":4000000000,\"value\":[]},{\"$id\":1,\"value\":{}},{\"$ref\":4000000000},{\"$ref\":1}]",
         "410441002400006f7b005e015e02240004"},
        {"[{\"$id\":1,\"value\":{\"$bytes\":\"\"}},{\"$ref\":1}]", "4102420056420000005e02240002"},
        {"[{\"$id\":1,\"value\":{\"$typed\":[\"ArrayBuffer\",\"\"]}},{\"$ref\":1}]",
         "410242005e01240002"},
        {"[{\"$id\":1,\"value\":\"x\"},{\"$ref\":1}]", "4102220178220178240002"},
        {"[{\"$id\":1,\"value\":{\"$id\":2,\"value\":5}},{\"$ref\":1},{\"$ref\":2}]",
         "4103490a490a490a240003"},
        {"[{\"$id\":1,\"value\":{\"$id\":2,\"value\":{}}},{\"$ref\":1},{\"$ref\":2}]",
         "41036f7b005e015e01240003"},
        {"[{\"$id\":1,\"value\":\"x\"},{\"$id\":2,\"value\":{\"$ref\":1}},{\"$ref\":2}]",
         "4103220178220178220178240003"},
        {"[{\"$id\":1,\"value\":{}},{\"$id\":2,\"value\":{\"$ref\":1}},{\"$ref\":2}]",
         "41036f7b005e015e01240003"},
        {"{\"$error\":{\"name\":\"MyError\",\"message\":\"m\"}}", "726d22016d2e"},
        {"{\"$error\":{\"cause\":{\"$error\":{\"name\":\"URIError\",\"message\":\"\"}},\"stack\":\"\",\"message\":\"m\",\"name\":\"EvalError\"}}",
         "72456d22016d7322006372552e2e"},
        {"{\"$regexp\":[\"a\",\"yvusmigd\"]}", "52220161bf03"},
        {"{\"$typed\":[\"Uint8Array\",\"AQ==\"]}", "4201015642000100"},
        {"{\"$map\":[[{\"a\":1},2],[\"x\",3]]}", "3b6f22016149027b01490422017849063a04"},
        {"{\"$u64\":\"18446744073709551615\"}", "5a10ffffffffffffffff"},
        {"4294967296", "4e000000000000f041"},
        {"-2147483649", "4e000020000000e0c1"},
        {"{\"$bigint\":\"-9007199254740992\"}", "5a110000000000002000"},
        {"{\"$number\":\"-0\"}", "4e0000000000000080"},
    };
    struct buf out = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        value_of(cases[i][0], &value);
        out.len = 0;
        buf_append_str(&out, "xyz"); /* where it begins does not matter */
        assert_int_equal(OK, value_to_v8(buf_slice(&value), &out, &e));
        hex_to(cases[i][1], &in);
        assert_string_equal(to_hex(buf_slice(&in)), to_hex(slice_of(out.data + 5, out.len - 5)));
        again.len = 0;
        assert_int_equal(OK, v8_to_value(slice_of(out.data + 3, out.len - 3), &again, &e));
        assert_int_equal(OK, value_check(buf_slice(&again), &e));
    }
    buf_fini(&out);
}

static void what_is_large_comes_back(void **state)
{
    static const char *const frames[][2] = {
        {"[", "]"},
        {"{\"$set\":[", "]}"},
        {"{\"$map\":[[1,", "]]}"},
        {"{\"$map\":[[\"k\",", "]]}"},
        {"{\"$error\":{\"name\":\"Error\",\"message\":\"\",\"cause\":", "}}"},
        {"[{\"$id\":1,\"value\":{\"a\":", "}},{\"$ref\":1}]"},
    };
    for (size_t i = 0; i < sizeof frames / sizeof *frames; i++) {
        for (size_t digits = 10; digits <= 100000; digits *= 10) {
            struct buf json = {0};
            buf_append_str(&json, frames[i][0]);
            buf_append_str(&json, "{\"$bigint\":\"-0x1");
            for (size_t n = 0; n < digits; n++) buf_append_byte(&json, n % 7 == 0 ? '9' : '0');
            buf_append_str(&json, "\"}");
            buf_append_str(&json, frames[i][1]);
            (void)json_v8(text_of(&json));
            buf_fini(&json);
        }
    }
}

static void depth_is_kept_up_to_its_end(void **state)
{
    struct buf deep = {0};
    for (size_t depth = 127; depth <= 513; depth += depth == 129 ? 383 : 1) {
        deep.len = 0;
        buf_append(&deep, "\xff\x0f", 2);
        for (size_t i = 0; i < depth; i++) buf_append(&deep, "A\1", 2);
        buf_append_byte(&deep, '0');
        for (size_t i = 0; i < depth; i++) buf_append(&deep, "$\0\1", 3);
        value.len = 0;
        enum err err = v8_to_value(buf_slice(&deep), &value, &e);
        assert_int_equal(depth <= 512 ? OK : ERR_VALUE, err);
        if (err != OK) {
            assert_string_equal("invalid V8 value: deeper than 512 levels at offset 1026", e.text);
            continue;
        }
        assert_int_equal(OK, value_check(buf_slice(&value), &e));
        assert_string_equal(depth <= 128 ? "array" : "v8", value_type_name(buf_slice(&value)));
    }
    buf_fini(&deep);
}

/* [[..[all of them]..]] */
static void a_shared_value_takes_two_levels(void **state)
{
    struct buf deep = {0};
    for (uint8_t depth = 63; depth <= 66; depth++) {
        deep.len = value.len = 0;
        buf_append(&deep, "\xff\x0f", 2);
        for (uint8_t i = 1; i < depth; i++) buf_append(&deep, "A\1", 2);
        buf_append_byte(&deep, 'A');
        buf_append_byte(&deep, depth);
        for (uint8_t i = 0; i < depth; i++) {
            buf_append_byte(&deep, '^');
            buf_append_byte(&deep, i);
        }
        buf_append(&deep, "$\0", 2);
        buf_append_byte(&deep, depth);
        for (uint8_t i = 1; i < depth; i++) buf_append(&deep, "$\0\1", 3);
        assert_int_equal(OK, v8_to_value(buf_slice(&deep), &value, &e));
        assert_int_equal(OK, value_check(buf_slice(&value), &e));
        assert_string_equal(depth <= 64 ? "shared value" : "v8",
                            value_type_name(buf_slice(&value)));
    }
    buf_fini(&deep);
}

static void what_javascript_has_not_is_refused(void **state)
{
    static const char *const cases[][2] = {
        {"{\"$regexp\":[\"a\",\"x\"]}", "RegExp with flags that JavaScript does not have"},
        {"{\"$regexp\":[\"a\",\"gg\"]}", "RegExp with flags that JavaScript does not have"},
        {"{\"$id\":1,\"value\":{\"$ref\":1}}", "shared value that refers only to itself"},
        {"{\"$id\":1,\"value\":{\"$id\":2,\"value\":{\"$ref\":1}}}",
         "shared value that refers only to itself"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_string_equal(cases[i][1], json_v8(cases[i][0]));
        assert_int_equal(ERR_VALUE, e.code);
    }
}

static void copies_of_shared_text_are_bounded(void **state)
{
    struct buf json = {0};
    buf_append_str(&json, "[{\"$id\":1,\"value\":\"");
    for (int i = 0; i < 20000; i++) buf_append_byte(&json, 'x');
    buf_append_str(&json, "\"}");
    for (int i = 0; i < 4; i++) {
        size_t len = json.len;
        buf_append_str(&json, ",{\"$ref\":1}");
        len = json.len;
        buf_append_byte(&json, ']');
        value.len = again.len = 0;
        assert_int_equal(OK, value_from_json(buf_slice(&json), NULL, &value, &e));
        enum err err = value_to_v8(buf_slice(&value), &again, &e);
        assert_int_equal(i < 3 ? OK : ERR_LIMIT, err);
        json.len = len;
    }
    assert_string_equal("copies of shared text and numbers would be too large", e.text);
    buf_fini(&json);
}

static void a_value_kept_stands_alone(void **state)
{
    static const char *const cases[][2] = {
        {"{\"$v8\":\"/w95\"}", "{\"$v8\":\"/w95\"}"},
        {"{\"$v8\":\"/w9JAg==\"}", "{\"$v8\":\"/w9JAg==\"}"},
        {"{\"$v8\":\"/w95\",\"a\":1}", "{\"$v8\":\"/w95\",\"a\":1}"},
        {"{\"$object\":{\"$v8\":\"/w95\"}}", "{\"$object\":{\"$v8\":\"/w95\"}}"},
        {"[{\"$v8\":\"/w95\"}]", "invalid value: V8 value below the top level at offset 8"},
        {"{\"$id\":1,\"value\":{\"$v8\":\"/w95\"}}",
         "invalid value: V8 value below the top level at offset 24"},
        {"{\"$v8\":\"/w8=\"}",
         "invalid value: $v8 has truncated at offset 2 of its bytes at offset 7"},
        {"{\"$v8\":\"/w9\"}", "invalid value: $v8 is not valid base64 at offset 7"},
        {"{\"$v8\":\"/w9=\"}", "invalid value: $v8 is not valid base64 at offset 7"},
        {"{\"$v8\":1}", "invalid value: $v8 must be a base64 string at offset 7"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        value.len = 0;
        bool ok = value_from_json(slice_str(cases[i][0]), NULL, &value, &e) == OK;
        assert_string_equal(cases[i][1], ok ? json_of(&value, &text) : e.text);
        if (ok) assert_int_equal(OK, value_check(buf_slice(&value), &e));
    }
    hex_to("c70356ff0f79", &in);
    assert_int_equal(OK, value_check(buf_slice(&in), &e));
    hex_to("91c70356ff0f79", &in);
    assert_int_equal(ERR_VALUE, value_check(buf_slice(&in), &e));
    hex_to("c70356ff0f7b", &in);
    assert_int_equal(ERR_VALUE, value_check(buf_slice(&in), &e));
    assert_string_equal("invalid value: V8: unknown tag at offset 5", e.text);
}

/* Each allocation fails once: an error then, and what was there is as before. */
static void without_memory_it_is_an_error(void **state)
{
    static const char json[] =
        "[{\"$id\":9,\"value\":{\"a\":[{\"$ref\":9}]}},{\"$map\":[[1,2],[\"k\",\"Ā\"]]},"
        "{\"$error\":{\"name\":\"Error\",\"message\":\"m\",\"cause\":{\"$bigint\":\"-0x123456789abcdef01\"}}}]";
    struct buf stored = {0}, out = {0};
    bool is_written = false, is_read = false;
    value_of(json, &stored);
    for (unsigned nth = 1; !is_written || !is_read; nth++) {
        assert_true(nth < 100);
        fault_arm("mem.try", nth, false);
        buf_fini(&out);
        buf_init(&out);
        enum err err = value_to_v8(buf_slice(&stored), &out, &e);
        fault_arm("", 0, false);
        is_written = err == OK;
        if (!is_written) assert_int_equal(ERR_NOMEM, err);
        if (!is_written) assert_int_equal(0, out.len);
        again.len = 0;
        assert_int_equal(OK, value_to_v8(buf_slice(&stored), &again, &e));
        fault_arm("mem.try", nth, false);
        buf_fini(&out);
        buf_init(&out);
        err = v8_to_value(buf_slice(&again), &out, &e);
        fault_arm("", 0, false);
        is_read = err == OK;
        if (!is_read) assert_int_equal(ERR_NOMEM, err);
        if (!is_read) assert_int_equal(0, out.len);
    }
    buf_fini(&stored);
    buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_value_of_deno_is_read_and_written),
        cmocka_unit_test(every_edge_is_as_it_should_be),
        cmocka_unit_test(malformed_bytes_are_refused_at_their_offset),
        cmocka_unit_test(what_is_well_formed_but_has_no_form_of_ours_is_kept),
        cmocka_unit_test(other_ways_to_write_a_value_are_read),
        cmocka_unit_test(what_others_store_is_written_for_v8),
        cmocka_unit_test(what_is_large_comes_back),
        cmocka_unit_test(depth_is_kept_up_to_its_end),
        cmocka_unit_test(a_shared_value_takes_two_levels),
        cmocka_unit_test(what_javascript_has_not_is_refused),
        cmocka_unit_test(copies_of_shared_text_are_bounded),
        cmocka_unit_test(a_value_kept_stands_alone),
        cmocka_unit_test(without_memory_it_is_an_error),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    buf_fini(&in);
    buf_fini(&value);
    buf_fini(&again);
    buf_fini(&text);
    return failed;
}
