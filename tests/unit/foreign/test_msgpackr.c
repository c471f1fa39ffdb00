/* Values as msgpackr writes them, both ways. msgpackr.tsv was written by msgpackr 2.1.3 with
 * structuredClone, with records and without: mode, name, bytes, what it is as typed JSON, and what is
 * written for it where that is something else. */
#include "foreign_test.h"

#define BYTES_MAX 100000

static struct buf in, value, again, text, out;
static struct error e;

static const char *packed_json(const char *hex, enum msgpackr_mode mode)
{
    hex_to(hex, &in);
    value.len = 0;
    if (msgpackr_to_value(buf_slice(&in), mode, BYTES_MAX, &value, &e) != OK) {
        assert_int_equal(0, value.len);
        return e.text;
    }
    struct error why = {0};
    if (value_check(buf_slice(&value), &why) != OK) fail_msg("%s: %s", hex, why.text);
    return json_of(&value, &text);
}

/* Typed JSON -> hex, which is read as the same value. */
static const char *json_packed(const char *json, enum msgpackr_mode mode)
{
    value_of(json, &value);
    out.len = again.len = 0;
    value_to_msgpackr(buf_slice(&value), mode, &out);
    if (msgpackr_to_value(buf_slice(&out), mode, BYTES_MAX, &again, &e) != OK) return e.text;
    assert_string_equal(to_hex(buf_slice(&value)), to_hex(buf_slice(&again)));
    return to_hex(buf_slice(&out));
}

static void every_value_of_msgpackr_is_read_and_written(void **state)
{
    FILE *file = fopen("tests/unit/foreign/msgpackr.tsv", "r");
    char *column[COLUMNS_MAX];
    size_t count = 0, columns = 0;
    assert_non_null(file);
    while ((columns = next_row(file, column)) >= 4) {
        bool is_maps = strcmp(column[0], "maps") == 0;
        enum msgpackr_mode mode = is_maps ? MSGPACKR_MAPS : MSGPACKR_RECORDS;
        bool is_refused = strncmp(column[3], "ERR ", 4) == 0;
        assert_string_equal(column[3] + (is_refused ? 4 : 0), packed_json(column[2], mode));
        count++;
        if (is_refused) continue;
        out.len = again.len = 0;
        value_to_msgpackr(buf_slice(&value), mode, &out);
        assert_string_equal(columns > 4 ? column[4] : column[2], to_hex(buf_slice(&out)));
        assert_int_equal(OK, msgpackr_to_value(buf_slice(&out), mode, BYTES_MAX, &again, &e));
        assert_string_equal(to_hex(buf_slice(&value)), to_hex(buf_slice(&again)));
    }
    fclose(file);
    assert_int_equal(2 * 93, count);
}

static void records_are_defined_used_and_defined_anew(void **state)
{
    static const char *const cases[][2] = {
        {"92d4724091a161014002", "[{\"a\":1},{\"a\":2}]"},
        {"92d4724091a161d4724091a162014003", "[{\"a\":{\"b\":1}},{\"b\":3}]"},
        {"d4724092a161a162d4724091a1630102", "{\"a\":{\"c\":1},\"b\":2}"},
        {"93d4724091a16101d4727f91a162024003", "[{\"a\":1},{\"b\":2},{\"a\":3}]"},
        {"d4724090", "{}"},
        {"81d4724091a161014002", "{\"$map\":[[{\"a\":1},{\"a\":2}]]}"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_string_equal(cases[i][1], packed_json(cases[i][0], MSGPACKR_RECORDS));
    }
    assert_string_equal("64", packed_json("40", MSGPACKR_MAPS));
}

static void what_is_malformed_is_refused_at_its_offset(void **state)
{
    static const char *const cases[][2] = {
        {"", "truncated at offset 0"},
        {"c1", "byte c1 at offset 0"},
        {"c000", "bytes after the end at offset 1"},
        {"9201", "truncated at offset 2"},
        {"ddffffffff", "truncated at offset 5"},
        {"dfffffffff", "truncated at offset 5"},
        {"a361", "truncated at offset 0"},
        {"a2c328", "not UTF-8, or half of a pair of surrogates at offset 1"},
        {"40", "record that was not defined at offset 0"},
        {"9240d4724090", "record that was not defined at offset 1"},
        {"d4723f90", "record whose number is not one byte from 40 to 7f at offset 3"},
        {"d4728090", "record whose number is not one byte from 40 to 7f at offset 3"},
        {"d572400190", "record whose number is not one byte from 40 to 7f at offset 0"},
        {"d4724001", "something else where an array should be at offset 3"},
        {"d472409101", "expected a string at offset 4"},
        {"d4724092a161a1610102", "duplicate key at offset 6"},
        {"d4724091a161", "truncated at offset 6"},
        {"82a16101a16102", "duplicate key at offset 4"},
        {"8201010102", "duplicate key at offset 3"},
        {"d4730001", "something else where an array should be at offset 3"},
        {"d4730190", "unknown extension at offset 0"},
        {"d473009101ff", "bytes after the end at offset 5"},
        {"d4780091a161", "RegExp that is not [source, flags] at offset 0"},
        {"d4780092a16101", "expected a string at offset 6"},
        {"d4650091a161", "Error that is not [name, message, cause] at offset 0"},
        {"d465009201a161", "expected a string at offset 4"},
        {"d6690000000001", "malformed id at offset 0"},
        {"d469010101", "malformed id at offset 0"},
        {"92d6690000000101d6690000000102", "id used twice at offset 8"},
        {"d67000000001", "reference to an id that does not precede it at offset 0"},
        {"d47001", "malformed id at offset 0"},
        {"d6690000000192d6700000000001", "malformed id at offset 7"},
        {"c70042", "bigint without bytes at offset 0"},
        {"d4ff00", "malformed date at offset 0"},
        {"d40001", "malformed extension at offset 0"},
        {"d4740b", "malformed extension at offset 0"},
        {"d5740300", "malformed extension at offset 0"},
        {"91d7550000000000000001", "u64 or V8 value below the top level at offset 1"},
        {"d66900000001d7550000000000000001", "u64 or V8 value below the top level at offset 6"},
        {"d47300d7550000000000000001", "something else where an array should be at offset 3"},
        {"c70356ff0f7b", "malformed extension at offset 0"},
        {"d46200", "unknown extension at offset 0"},
        {"d45300", "unknown extension at offset 0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *got = packed_json(cases[i][0], MSGPACKR_RECORDS);
        if (strncmp(got, "invalid msgpackr value: ", 24) != 0) fail_msg("%s: %s", cases[i][0], got);
        assert_string_equal(cases[i][1], got + 24);
    }
    assert_string_equal("invalid msgpackr value: record where there are none at offset 0",
                        packed_json("d4724090", MSGPACKR_MAPS));
}

static void every_value_is_written_and_read_back(void **state)
{
    static const char *const cases[][2] = {
        {"{\"$u64\":\"7\"}", "d7550000000000000007"},
        {"{\"$v8\":\"/w95\"}", "c70356ff0f79"},
        {"{\"$bytes\":\"YQ==\"}", "c40161"},
        {"{\"$number\":\"-0\"}", "cb8000000000000000"},
        {"[64,127,128,-32,4294967296]", "95cc40cc7fcc80e0cb41f0000000000000"},
        {"[{\"a\":[{\"b\":1},{\"a\":2}]},{\"b\":3}]", "92d4724091a16192d4724191a1620140024103"},
        {"[{\"a\":1,\"b\":2},{\"b\":1,\"a\":2}]", "92d4724092a161a1620102d4724192a162a1610102"},
        {"[{\"$map\":[[1,{\"a\":{\"$map\":[[2,3]]}}]]},{\"a\":1}]", "928101d4724091a16181020340"
                                                                    "01"},
        {"[{\"$error\":{\"name\":\"N\",\"message\":\"m\",\"cause\":[{\"a\":1}]}},{\"a\":{}}]",
         NULL},
        {"{\"$id\":4000000000,\"value\":{\"$id\":5,\"value\":[{\"$ref\":5},{\"$ref\":4000000000}]}}",
         "d669ee6b2800d6690000000592d67000000005d670ee6b2800"},
        {"{\"$id\":1,\"value\":\"x\"}", "d66900000001a178"},
        {"[{\"$error\":{\"name\":\"N\",\"message\":\"m\"}},{\"a\":[[],{\"b\":1}],\"c\":[2]}]",
         NULL},
        {"{\"$set\":[{\"a\":[]},{\"$set\":[{\"a\":{}}]},{\"$regexp\":[\"a\",\"g\"]}]}", NULL},
        {"{\"$typed\":[\"Int8Array\",\"\"]}", "c7017400"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *got = json_packed(cases[i][0], MSGPACKR_RECORDS);
        if (cases[i][1] != NULL) assert_string_equal(cases[i][1], got);
    }
    assert_string_equal("9240de0001a16101", json_packed("[64,{\"a\":1}]", MSGPACKR_MAPS));
    assert_string_equal("820102a16103", json_packed("{\"$map\":[[1,2],[\"a\",3]]}", MSGPACKR_MAPS));
}

static void an_errors_members_may_come_in_any_order(void **state)
{
    value_of("[{\"$error\":{\"cause\":[{\"a\":1}],\"message\":\"m\",\"name\":\"N\"}},{\"a\":2}]",
             &value);
    out.len = 0;
    value_to_msgpackr(buf_slice(&value), MSGPACKR_RECORDS, &out);
    assert_string_equal("92d4650093a14ea16d91d4724091a161014002", to_hex(buf_slice(&out)));
}

static void the_stack_of_an_error_has_no_place(void **state)
{
    value_of("{\"$error\":{\"name\":\"N\",\"message\":\"m\",\"stack\":\"s\",\"cause\":1}}", &value);
    out.len = 0;
    value_to_msgpackr(buf_slice(&value), MSGPACKR_RECORDS, &out);
    assert_string_equal("d4650093a14ea16d01", to_hex(buf_slice(&out)));
}

static void more_records_than_there_are_numbers(void **state)
{
    struct buf json = {0};
    buf_append_byte(&json, '[');
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 150; i++) buf_printf(&json, "{\"name%d\":%d},{\"a\":1},", i, i);
    }
    buf_append_str(&json, "0]");
    value_of(text_of(&json), &value);
    out.len = again.len = 0;
    value_to_msgpackr(buf_slice(&value), MSGPACKR_RECORDS, &out);
    assert_int_equal(OK,
                     msgpackr_to_value(buf_slice(&out), MSGPACKR_RECORDS, BYTES_MAX, &again, &e));
    assert_true(slice_eq(buf_slice(&value), buf_slice(&again)));
    buf_fini(&json);
}

/* A record with a long name is two bytes each time. */
static void records_do_not_grow_beyond_the_limit(void **state)
{
    in.len = value.len = 0;
    buf_append(&in, "\xdc\x10\x00\xd4\x72\x40\x91\xda\x20\x00", 10);
    for (int i = 0; i < 0x2000; i++) buf_append_byte(&in, 'x');
    buf_append_byte(&in, 0);
    for (int i = 1; i < 0x1000; i++) buf_append(&in, "\x40", 2);
    struct slice all = buf_slice(&in);
    assert_int_equal(ERR_LIMIT, msgpackr_to_value(all, MSGPACKR_RECORDS, 1 << 20, &value, &e));
    assert_string_equal("value is larger than 1048576 bytes", e.text);
    assert_int_equal(0, value.len);
    assert_true(value.cap < 4 << 20);
    assert_int_equal(OK, msgpackr_to_value(all, MSGPACKR_RECORDS, 1 << 26, &value, &e));
    assert_int_equal(ERR_LIMIT, msgpackr_to_value(all, MSGPACKR_RECORDS, 100, &value, &e));
}

static void depth_has_an_end(void **state)
{
    for (size_t depth = 127; depth <= 129; depth++) {
        in.len = value.len = 0;
        for (size_t i = 0; i < depth; i++) buf_append_byte(&in, 0x91);
        buf_append_byte(&in, 0xc0);
        enum err err = msgpackr_to_value(buf_slice(&in), MSGPACKR_RECORDS, BYTES_MAX, &value, &e);
        assert_int_equal(depth <= 128 ? OK : ERR_VALUE, err);
    }
    assert_string_equal("invalid msgpackr value: deeper than 128 levels at offset 128", e.text);
}

/* Each allocation fails once. */
static void without_memory_it_is_an_error(void **state)
{
    struct buf stored = {0}, made = {0};
    bool is_written = false, is_read = false;
    value_of(
        "[{\"$id\":9,\"value\":{\"a\":[{\"$ref\":9}]}},{\"$map\":[[1,2],[\"k\",{\"$set\":[1]}]]}]",
        &stored);
    for (unsigned nth = 1; !is_written || !is_read; nth++) {
        assert_true(nth < 100);
        fault_arm("mem.try", nth, false);
        buf_fini(&made);
        buf_init(&made);
        value_to_msgpackr(buf_slice(&stored), MSGPACKR_RECORDS, &made);
        fault_arm("", 0, false);
        is_written = !made.is_failed;
        out.len = 0;
        value_to_msgpackr(buf_slice(&stored), MSGPACKR_RECORDS, &out);
        fault_arm("mem.try", nth, false);
        buf_fini(&made);
        buf_init(&made);
        enum err err = msgpackr_to_value(buf_slice(&out), MSGPACKR_RECORDS, BYTES_MAX, &made, &e);
        fault_arm("", 0, false);
        is_read = err == OK;
        if (!is_read) assert_int_equal(ERR_NOMEM, err);
        if (!is_read) assert_int_equal(0, made.len);
    }
    buf_fini(&stored);
    buf_fini(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_value_of_msgpackr_is_read_and_written),
        cmocka_unit_test(records_are_defined_used_and_defined_anew),
        cmocka_unit_test(what_is_malformed_is_refused_at_its_offset),
        cmocka_unit_test(every_value_is_written_and_read_back),
        cmocka_unit_test(an_errors_members_may_come_in_any_order),
        cmocka_unit_test(the_stack_of_an_error_has_no_place),
        cmocka_unit_test(more_records_than_there_are_numbers),
        cmocka_unit_test(records_do_not_grow_beyond_the_limit),
        cmocka_unit_test(depth_has_an_end),
        cmocka_unit_test(without_memory_it_is_an_error),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    struct buf *all[] = {&in, &value, &again, &text, &out};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) buf_fini(all[i]);
    return failed;
}
