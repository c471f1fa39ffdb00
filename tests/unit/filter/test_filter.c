/* Tests of WHERE: what matches, what does not, what is an error. */
#include "filter_test.h"

#include <utf8proc.h>

#include "filter/stored_int.h"

/* The text after `mark`, to the end of the JSON value that begins there. */
static struct slice member(const char *line, const char *mark, const char *end_mark)
{
    const char *from = strstr(line, mark);
    assert_non_null(from);
    from += strlen(mark);
    const char *end = strstr(from, end_mark);
    assert_non_null(end);
    return slice_of(from, (size_t)(end - from));
}

static void every_labelled_case_is_answered_as_labelled(void **state)
{
    FILE *file = fopen("tests/unit/filter/where.jsonl", "r");
    assert_non_null(file);
    char line[4096];
    size_t count = 0;
    while (fgets(line, sizeof line, file) != NULL) {
        struct slice doc = member(line, "{\"doc\": ", ", \"where\": ");
        struct slice where = member(line, "\"where\": ", ", \"expect\": ");
        struct slice expect = member(line, "\"expect\": ", "}\n");
        struct buf packed = {0};
        assert_int_equal(OK, value_from_json(doc, NULL, &packed, &e));
        const char *answer = ask(where, buf_slice(&packed));
        const char *want = slice_eq(expect, slice_str("true"))    ? "yes"
                           : slice_eq(expect, slice_str("false")) ? "no"
                                                                  : "where: ";
        if (strncmp(answer, want, strlen(want)) != 0) fail_msg("%s-> %s", line, answer);
        buf_fini(&packed);
        count++;
    }
    fclose(file);
    assert_int_equal(146, count);
}

/* ---- literals and $eq ---- */

static void a_literal_is_equality(void **state)
{
    YES("{'s':'a'}", "{'s':'a'}");
    NO("{'s':'A'}", "{'s':'a'}");
    YES("{'s':'a'}", "{'s':{'$eq':'a'}}");
    NO("{'s':'a'}", "{'s':{'$ne':'a'}}");
    YES("{'s':'a'}", "{'s':{'$ne':'b'}}");
    YES("{'s':''}", "{'s':''}");
    YES("{'s':'a\\u0000b'}", "{'s':'a\\u0000b'}");
    NO("{'s':'a\\u0000b'}", "{'s':'a'}");
    YES("{'b':true}", "{'b':true}");
    NO("{'b':true}", "{'b':false}");
    YES("{'\\u0024gt':1}", "{'\\u0022$gt\\u0022':1}"); /* a first name that begins with '$' */
}

static void types_never_convert(void **state)
{
    NO("{'n':'30'}", "{'n':30}");
    NO("{'n':30}", "{'n':'30'}");
    NO("{'b':true}", "{'b':1}");
    NO("{'b':1}", "{'b':true}");
    NO("{'b':false}", "{'b':0}");
    NO("{'d':{'$date':'2023-11-14T22:13:20.000Z'}}", "{'d':1700000000000}");
    NO("{'d':{'$date':'2023-11-14T22:13:20.000Z'}}", "{'d':'2023-11-14T22:13:20.000Z'}");
    NO("{'d':'YQ=='}", "{'d':{'$bytes':'YQ=='}}");
    NO("{'d':{'$bytes':'YQ=='}}", "{'d':'a'}");
    NO("{'a':[]}", "{'a':{}}");
    NO("{'a':[1]}", "{'a':{'$set':[1]}}");
    NO("{'a':{'x':1}}", "{'a':{'$map':[['x',1]]}}");
    NO("{'a':{'$map':[]}}", "{'a':{}}");
    NO("{'a':{}}", "{'a':{'$map':[]}}");
}

static void numbers_are_equal_by_value_however_they_are_stored(void **state)
{
    YES("{'n':1}", "{'n':1.0}");
    YES("{'n':{'$bigint':'1'}}", "{'n':1.0}");
    YES("{'n':1}", "{'n':{'$bigint':'1'}}");
    YES("{'n':-1}", "{'n':{'$bigint':'-1'}}");
    YES("{'n':{'$number':'-0'}}", "{'n':0}");
    static const char *const encodings[] = {
        "81 a1 6e 05",
        "81 a1 6e cc 05",
        "81 a1 6e cd 00 05",
        "81 a1 6e ce 00 00 00 05",
        "81 a1 6e cf 00 00 00 00 00 00 00 05",
        "81 a1 6e d0 05",
        "81 a1 6e d3 00 00 00 00 00 00 00 05",
        "81 a1 6e ca 40 a0 00 00",
        "81 a1 6e cb 40 14 00 00 00 00 00 00",
        "81 a1 6e d4 42 05",
        "81 a1 6e c7 03 42 00 00 05",
        "de 00 01 d9 01 6e 05",
        "df 00 00 00 01 da 00 01 6e 05",
        "81 db 00 00 00 01 6e 05",
    };
    for (size_t i = 0; i < sizeof encodings / sizeof *encodings; i++) {
        assert_string_equal("yes", match_hex(encodings[i], "{'n':5}"));
        assert_string_equal("yes", match_hex(encodings[i], "{'n':{'$bigint':'5'}}"));
        assert_string_equal("yes", match_hex(encodings[i], "{'$':{'n':5.0}}"));
        assert_string_equal("no", match_hex(encodings[i], "{'n':6}"));
        assert_string_equal("no", match_hex(encodings[i], "{'n':-5}"));
    }
}

static void nan_and_the_invalid_date_are_equal_to_nothing(void **state)
{
    NO("{'n':{'$number':'NaN'}}", "{'n':{'$number':'NaN'}}");
    YES("{'n':{'$number':'NaN'}}", "{'n':{'$ne':{'$number':'NaN'}}}");
    NO("{'n':[{'$number':'NaN'}]}", "{'n':[{'$number':'NaN'}]}");
    NO("{'n':[{'$number':'NaN'}]}", "{'n':{'$contains':{'$number':'NaN'}}}");
    UNKNOWN("{}", "{'n':{'$ne':{'$number':'NaN'}}}");
    UNKNOWN("{'n':{'$number':'NaN'}}", "{'n':{'$gte':{'$number':'NaN'}}}");
    UNKNOWN("{'n':{'$number':'NaN'}}", "{'n':{'$gte':1}}");
    UNKNOWN("{'n':1}", "{'n':{'$lt':{'$number':'NaN'}}}");
    NO("{'d':{'$date':null}}", "{'d':{'$date':null}}");
    UNKNOWN("{'d':{'$date':null}}", "{'d':{'$lte':{'$date':'2023-11-14T22:13:20.000Z'}}}");
    UNKNOWN("{'d':{'$date':null}}", "{'d':{'$lt':{'$now':true}}}");
}

static void equality_is_deep(void **state)
{
    YES("{'o':{'x':1,'y':{'z':[1,{'a':null}]}}}", "{'o':{'y':{'z':[1,{'a':null}]},'x':1}}");
    NO("{'o':{'x':1,'y':2}}", "{'o':{'x':1}}");
    NO("{'o':{'x':1}}", "{'o':{'x':1,'y':2}}");
    NO("{'o':{'x':1}}", "{'o':{'y':1}}");
    NO("{'o':{'x':1,'y':{'z':[1,2]}}}", "{'o':{'x':1,'y':{'z':[2,1]}}}");
    YES("{'o':[[],{},'']}", "{'o':[[],{},'']}");
    NO("{'o':[[],{},'']}", "{'o':[{},[],'']}");
    NO("{'a':[1,2]}", "{'a':[1,2,3]}");
    NO("{'a':[1,2,3]}", "{'a':[1,2]}");
    YES("{'s':{}}", "{'s':{}}");
    NO("{'s':{'a':1}}", "{'s':{}}");
    YES("{'a':[{'$bigint':'2'},2.0]}", "{'a':[2.0,{'$bigint':'2'}]}");
    YES("{'a':[true]}", "{'a':[true]}");
    NO("{'a':[true]}", "{'a':[1]}");
    YES("{'a':[{'$undefined':true}]}", "{'a':[null]}");
    NO("{'o':{'x':{'$undefined':true}}}", "{'o':{}}");
}

static void objects_of_many_names_are_equal_in_any_order(void **state)
{
    char value[4096] = "{'o':{", where[4096] = "{'o':{";
    for (int i = 0; i < 200; i++) {
        size_t v = strlen(value), w = strlen(where);
        snprintf(value + v, sizeof value - v, "%s'n%d':%d", i > 0 ? "," : "", i, i);
        snprintf(where + w, sizeof where - w, "%s'n%d':%d", i > 0 ? "," : "", 199 - i, 199 - i);
    }
    size_t v = strlen(value), w = strlen(where);
    snprintf(value + v, sizeof value - v, "}}");
    snprintf(where + w, sizeof where - w, "}}");
    assert_string_equal("yes", match(value, where));
    *strstr(where, ":77,") = ' ';
    memcpy(strstr(where, " 77,"), ":78,", 4);
    assert_string_equal("no", match(value, where));
}

static void every_type_of_a_value_can_be_a_literal(void **state)
{
    static const char *const same[] = {
        "{'$date':'2023-11-14T22:13:20.000Z'}",
        "{'$bytes':'aGVsbG8='}",
        "{'$bytes':''}",
        "{'$bigint':'-123456789012345678901234567890'}",
        "{'$number':'Infinity'}",
        "{'$set':[1,'a',[2]]}",
        "{'$map':[['a',1],['b',2]]}",
        "{'$map':[[1,2],[[3],{'x':4}]]}",
        "{'$regexp':['a+','gi']}",
        "{'$error':{'message':'m','name':'Error'}}",
        "{'$error':{'name':'Error','message':'m','stack':'s','cause':[1,{'a':2}]}}",
        "{'$typed':['Int16Array','AQACAA==']}",
        "{'$object':{'$gt':1}}",
        "{'$object':{'$object':{'a':1}}}",
        "{'$id':1,'value':[1,{'$ref':1}]}",
    };
    size_t count = sizeof same / sizeof *same;
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < count; k++) {
            char value[512], where[512], set[512];
            snprintf(value, sizeof value, "{'v':%s}", same[i]);
            snprintf(where, sizeof where, "{'v':%s}", same[k]);
            assert_string_equal(i == k ? "yes" : "no", truth(value, where));
            snprintf(where, sizeof where, "{'v':{'$ne':%s}}", same[k]);
            assert_string_equal(i == k ? "no" : "yes", truth(value, where));
            snprintf(where, sizeof where, "{'v':{'$contains':%s}}", same[k]);
            snprintf(value, sizeof value, "{'v':[0,%s,'z']}", same[i]);
            snprintf(set, sizeof set, "{'v':{'$set':[[],%s]}}", same[i]);
            assert_string_equal(i == k ? "yes" : "no", truth(value, where));
            assert_string_equal(i == k ? "yes" : "no", truth(set, where));
        }
    }
}

/* What is kept as V8 writes it is equal to the same bytes, and has no inside. */
static void a_value_of_v8_is_opaque(void **state)
{
    static const char value[] = "{'$v8':'/w9vIgFhSQJ7AQ=='}"; /* {"a":1} */
    assert_string_equal("yes", truth(value, "{'$':{'$v8':'/w9vIgFhSQJ7AQ=='}}"));
    assert_string_equal("no", truth(value, "{'$':{'$v8':'/w9vIgFhSQR7AQ=='}}"));
    assert_string_equal("no", truth(value, "{'$':{'a':1}}"));
    assert_string_equal("unknown", truth(value, "{'a':1}"));
    assert_string_equal("no", truth(value, "{'a':{'$exists':true}}"));
    assert_string_equal("yes", truth(value, "{'$':{'$ne':1}}"));
    assert_string_equal("unknown", truth(value, "{'$':{'$gt':1}}"));
    assert_string_equal("no", truth("{'a':1}", "{'$':{'$v8':'/w9vIgFhSQJ7AQ=='}}"));
}

static void maps_and_sets_are_equal_in_the_same_order_only(void **state)
{
    NO("{'s':{'$set':[1,2]}}", "{'s':{'$set':[2,1]}}");
    NO("{'m':{'$map':[['a',1],['b',2]]}}", "{'m':{'$map':[['b',2],['a',1]]}}");
    /* MessagePack's map is a Map when a key is no string, and then is as one of the extension. */
    assert_string_equal("yes",
                        match_hex("82 01 a1 78 a1 61 05", "{'$':{'$map':[[1,'x'],['a',5]]}}"));
    assert_string_equal("yes", match_hex("d6 4d 92 01 a1 78", "{'$':{'$map':[[1,'x']]}}"));
    assert_string_equal("no", match_hex("82 01 a1 78 a1 61 05", "{'$':{'a':5,'x':1}}"));
    assert_string_equal("no", match_hex("81 a1 61 05", "{'$':{'$map':[['a',5]]}}"));
}

static void shared_values_are_looked_through_and_references_are_unknown(void **state)
{
    const char *value =
        "{'a':{'$id':1,'value':{'x':5}},'b':{'$ref':1},'c':[{'$id':2,'value':'s'}]}";
    YES(value, "{'a.x':5}");
    YES(value, "{'a':{'x':5}}");
    YES(value, "{'c':['s']}");
    YES(value, "{'c':{'$contains':'s'}}");
    YES(value, "{'c[0]':{'$startsWith':'s'}}");
    YES(value, "{'b':{'$exists':true}}");
    NO(value, "{'b':{'$null':true}}");
    UNKNOWN(value, "{'b.x':5}");
    UNKNOWN(value, "{'b':{'x':5}}");
    UNKNOWN(value, "{'b':{'$ne':1}}");
    UNKNOWN(value, "{'b':{'$gt':1}}");
    UNKNOWN(value, "{'b':{'$in':[1]}}");
    UNKNOWN(value, "{'b':{'$contains':1}}");
    UNKNOWN(value, "{'b':{'$empty':true}}");
    YES("{'$id':1,'value':[1,2]}", "{'$[1]':2}");
    YES("{'$id':1,'value':{'self':{'$ref':1}}}", "{'self':{'$exists':true}}");
    YES("{'$id':3,'value':{'$id':4,'value':7}}", "{'$':7}");
}

/* ---- order ---- */

static void order_is_within_a_type(void **state)
{
    YES("{'n':31}", "{'n':{'$gt':30}}");
    NO("{'n':30}", "{'n':{'$gt':30}}");
    YES("{'n':30}", "{'n':{'$gte':30}}");
    NO("{'n':30}", "{'n':{'$lt':30}}");
    YES("{'n':30}", "{'n':{'$lte':30}}");
    YES("{'s':'b'}", "{'s':{'$gt':'a'}}");
    YES("{'s':'a'}", "{'s':{'$gt':'Z'}}");
    YES("{'s':'ab'}", "{'s':{'$gt':'a'}}");
    YES("{'s':'\\ud83d\\ude00'}", "{'s':{'$gt':'\\uffff'}}"); /* by code point, not UTF-16 */
    YES("{'b':{'$bytes':'Yg=='}}", "{'b':{'$gt':{'$bytes':'YWE='}}}");
    YES("{'d':{'$date':'2024-01-01T00:00:00.000Z'}}",
        "{'d':{'$gt':{'$date':'2023-12-31T23:59:59.999Z'}}}");
    YES("{'d':{'$date':'1960-01-01T00:00:00.000Z'}}",
        "{'d':{'$lt':{'$date':'1970-01-01T00:00:00.000Z'}}}");
}

static void another_type_or_nothing_is_unknown(void **state)
{
    static const char *const values[] = {"{}",
                                         "{'n':null}",
                                         "{'n':{'$undefined':true}}",
                                         "{'n':true}",
                                         "{'n':'5'}",
                                         "{'n':[5]}",
                                         "{'n':{'a':5}}",
                                         "{'n':{'$bytes':''}}",
                                         "{'n':{'$set':[]}}",
                                         "{'n':{'$date':'1970-01-01T00:00:00.000Z'}}",
                                         "5",
                                         "'n'"};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        UNKNOWN(values[i], "{'n':{'$gt':0}}");
        UNKNOWN(values[i], "{'n':{'$lte':0}}");
        UNKNOWN(values[i], "{'n':{'$between':[0,9]}}");
    }
    UNKNOWN("{'n':5}", "{'n':{'$gt':'a'}}");
    UNKNOWN("{'n':5}", "{'n':{'$lt':{'$date':'2024-01-01T00:00:00.000Z'}}}");
}

static void between_has_both_ends_and_needs_both_types(void **state)
{
    YES("{'n':25}", "{'n':{'$between':[25,35]}}");
    YES("{'n':35}", "{'n':{'$between':[25,35]}}");
    NO("{'n':36}", "{'n':{'$between':[25,35]}}");
    NO("{'n':30}", "{'n':{'$between':[35,25]}}");
    UNKNOWN("{'n':5}", "{'n':{'$between':['a',9]}}");
    UNKNOWN("{'n':10}", "{'n':{'$between':['a',9]}}");
}

/* Each is less than all that follow. */
static const char *const ladder[] = {
    "{'$number':'-Infinity'}",
    "{'$bigint':'-1797693134862315907729305190789024733617976978942306572734300811577326758055009631327"
    "0847732240753602112011387987139335765878976881441662249284743063947412437776789342486"
    "5485276302219601246094119453082952085005768838150682342462881473913110540827237163350"
    "510684586298239947245938479716304835356329624224137216'}",
    "-1797693134862315708145274237317043567980705675258449965989174768031572607800285387605"
    "8955863276687817154045895351438246423432132688946418276846754670353751698604991057655"
    "1282076245490090389328944075868508455133942304583236903222948165808559332123348274797"
    "826204144723168738177180919299881250404026184124858368",
    "-1e308",
    "-1e30",
    "-18446744073709551617",
    "-18446744073709551616",
    "-18446744073709551615",
    "-9223372036854775809",
    "-9223372036854775808",
    "-9007199254740993",
    "-9007199254740992",
    "-9007199254740991",
    "-1.5",
    "-1",
    "-0.5",
    "-5e-324",
    "0",
    "5e-324",
    "0.5",
    "{'$bigint':'1'}",
    "1.5",
    "2",
    "4503599627370495.5",
    "4503599627370496",
    "9007199254740991",
    "9007199254740992.0",
    "9007199254740993",
    "9223372036854775807",
    "9223372036854775808.0",
    "9223372036854775809",
    "18446744073709551615",
    "18446744073709551616.0",
    "18446744073709551617",
    "18446744073709555712.0",
    "18446744073709555713",
    "1267650600228229401496703205375",
    "1267650600228229401496703205376.0",
    "1267650600228229401496703205377",
    "1000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
    "0000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
    "0000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
    "0000000000000000000000000000000000000000000000",
    "1e300",
    "1797693134862315708145274237317043567980705675258449965989174768031572607800285387605"
    "8955863276687817154045895351438246423432132688946418276846754670353751698604991057655"
    "1282076245490090389328944075868508455133942304583236903222948165808559332123348274797"
    "826204144723168738177180919299881250404026184124858367",
    "1.7976931348623157e308",
    "1797693134862315708145274237317043567980705675258449965989174768031572607800285387605"
    "8955863276687817154045895351438246423432132688946418276846754670353751698604991057655"
    "1282076245490090389328944075868508455133942304583236903222948165808559332123348274797"
    "826204144723168738177180919299881250404026184124858369",
    "1797693134862315907729305190789024733617976978942306572734300811577326758055009631327"
    "0847732240753602112011387987139335765878976881441662249284743063947412437776789342486"
    "5485276302219601246094119453082952085005768838150682342462881473913110540827237163350"
    "510684586298239947245938479716304835356329624224137216",
    "{'$number':'Infinity'}",
};
#define LADDER (sizeof ladder / sizeof *ladder)

static void numbers_of_all_sizes_are_ordered_exactly(void **state)
{
    struct buf values[LADDER] = {{0}};
    static const char *const names[] = {"$lt", "$eq", "$gt", "$lte", "$ne", "$gte"};
    for (size_t i = 0; i < LADDER; i++) pack_json(quoted(ladder[i]), &values[i]);
    for (size_t k = 0; k < LADDER; k++) {
        for (size_t op = 0; op < 6; op++) {
            char where[1024];
            snprintf(where, sizeof where, "{'$':{'%s':%s}}", names[op], ladder[k]);
            struct filter *f = compile_text(slice_str(quoted(where)));
            assert_non_null(f);
            for (size_t i = 0; i < LADDER; i++) {
                size_t order = i < k ? 0 : i == k ? 1 : 2;
                bool want = op < 3 ? order == op : order != 5 - op;
                bool is_match = filter_matches(f, buf_slice(&values[i]));
                if (is_match != want) fail_msg("%s %s %s", ladder[i], names[op], ladder[k]);
            }
            filter_unref(f);
        }
    }
    for (size_t i = 0; i < LADDER; i++) buf_fini(&values[i]);
}

static void doubles_and_bigints_of_the_same_value_are_equal(void **state)
{
    YES("1.7976931348623157e308",
        "{'$':1797693134862315708145274237317043567980705675258449965989174768031572607800285387605"
        "8955863276687817154045895351438246423432132688946418276846754670353751698604991057655"
        "1282076245490090389328944075868508455133942304583236903222948165808559332123348274797"
        "826204144723168738177180919299881250404026184124858368}");
    YES("-1.7976931348623157e308",
        "{'$':-1797693134862315708145274237317043567980705675258449965989174768031572607800285387605"
        "8955863276687817154045895351438246423432132688946418276846754670353751698604991057655"
        "1282076245490090389328944075868508455133942304583236903222948165808559332123348274797"
        "826204144723168738177180919299881250404026184124858368}");
    YES("1797693134862315708145274237317043567980705675258449965989174768031572607800285387605"
        "8955863276687817154045895351438246423432132688946418276846754670353751698604991057655"
        "1282076245490090389328944075868508455133942304583236903222948165808559332123348274797"
        "826204144723168738177180919299881250404026184124858368",
        "{'$':1.7976931348623157e308}");
    YES("18446744073709551616.0", "{'$':18446744073709551616}");
    YES("-18446744073709551616", "{'$':-18446744073709551616.0}");
    YES("1267650600228229401496703205376", "{'$':1267650600228229401496703205376.0}");
    YES("-1267650600228229401496703205376.0", "{'$':-1267650600228229401496703205376}");
    NO("9007199254740992.0", "{'$':9007199254740993}");
    YES("{'$u64':'18446744073709551615'}", "{'$':18446744073709551615}");
    YES("{'$u64':'5'}", "{'$':5}");
    YES("5", "{'$':{'$u64':'5'}}");
    YES("{'$u64':'18446744073709551615'}", "{'$':{'$gt':1e19}}");
}

static void a_bigint_may_be_longer_than_any_double(void **state)
{
    struct buf value = {0};
    buf_append_str(&value, "{\"$bigint\":\"-0x1");
    for (int i = 0; i < 4000; i++) buf_append_byte(&value, '0');
    buf_append_str(&value, "\"}");
    buf_append_byte(&value, '\0');
    struct buf packed = {0};
    pack_json((const char *)value.data, &packed);
    assert_string_equal("yes", ask(slice_str("{\"$\":{\"$lt\":-1e308}}"), buf_slice(&packed)));
    assert_string_equal("no", ask(slice_str("{\"$\":-5}"), buf_slice(&packed)));
    struct buf where = {0};
    buf_printf(&where, "{\"$\":%s}", (const char *)value.data);
    assert_string_equal("yes", ask(buf_slice(&where), buf_slice(&packed)));
    buf_fini(&value);
    buf_fini(&packed);
    buf_fini(&where);
}

/* ---- $in, $contains, text ---- */

static void in_is_equality_with_one_of_a_list(void **state)
{
    YES("{'s':'a'}", "{'s':{'$in':['a','b']}}");
    NO("{'s':'c'}", "{'s':{'$in':['a','b']}}");
    NO("{'s':'a'}", "{'s':{'$nin':['a','b']}}");
    YES("{'s':'c'}", "{'s':{'$nin':['a','b']}}");
    NO("{'s':'a'}", "{'s':{'$in':[]}}");
    NO("{}", "{'s':{'$in':[]}}");
    YES("{}", "{'s':{'$nin':[]}}");
    UNKNOWN("{}", "{'s':{'$in':['a']}}");
    UNKNOWN("{'s':null}", "{'s':{'$nin':['a']}}");
    YES("{'s':null}", "{'s':{'$in':['a',null]}}");
    NO("{'s':null}", "{'s':{'$nin':['a',null]}}");
    YES("{'s':'c'}", "{'s':{'$nin':['a',null]}}");
    YES("{'s':{'$undefined':true}}", "{'s':{'$in':[null]}}");
    YES("{'s':[1,2]}", "{'s':{'$in':[5,[1,2],{'a':1}]}}");
    YES("{'s':{'a':1}}", "{'s':{'$in':[5,[1,2],{'a':1}]}}");
    NO("{'s':{'a':2}}", "{'s':{'$in':[5,[1,2],{'a':1}]}}");
    NO("{'t':['a']}", "{'t':{'$in':['a']}}");
    YES("{'d':{'$date':'2023-11-14T22:13:20.000Z'}}", "{'d':{'$in':['x',{'$now':true}]}}");
    YES("{'d':1700000000000}", "{'d':{'$in':['x',{'$now':true}]}}");
}

static void a_long_list_of_in_is_the_same_as_all_its_equalities(void **state)
{
    static const char *const pool[] = {"1",
                                       "1.0",
                                       "-1",
                                       "1.5",
                                       "0",
                                       "{'$bigint':'1'}",
                                       "18446744073709551616",
                                       "1e300",
                                       "'1'",
                                       "'a'",
                                       "'ab'",
                                       "''",
                                       "true",
                                       "false",
                                       "{'$bytes':''}",
                                       "{'$bytes':'YQ=='}",
                                       "{'$date':'2023-11-14T22:13:20.000Z'}",
                                       "{'$date':null}",
                                       "{'$number':'NaN'}",
                                       "null",
                                       "[]",
                                       "[1]",
                                       "{'a':1}",
                                       "{'$now':true}",
                                       "1700000000000",
                                       "{'$set':[1]}"};
    size_t count = sizeof pool / sizeof *pool;
    uint64_t seed = 42;
    for (int round = 0; round < 400; round++) {
        char in[2048] = "{'v':{'$in':[", any[4096] = "{'$or':[", value[256];
        for (int i = 0; i < 12; i++) {
            seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
            const char *item = pool[(seed >> 33) % count];
            size_t n = strlen(in), m = strlen(any);
            snprintf(in + n, sizeof in - n, "%s%s", i > 0 ? "," : "", item);
            snprintf(any + m, sizeof any - m, "%s{'v':%s}", i > 0 ? "," : "", item);
        }
        strcat(in, "]}}");
        strcat(any, "]}");
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
        const char *item = pool[(seed >> 33) % count];
        if (strstr(item, "$now") != NULL) item = "7";
        snprintf(value, sizeof value, "{'v':%s}", item);
        assert_string_equal(truth(value, any), truth(value, in));
    }
}

static void contains_is_part_of_a_string_or_member_of_an_array_or_set(void **state)
{
    YES("{'s':'foo@example.com'}", "{'s':{'$contains':'@example'}}");
    NO("{'s':'Alice'}", "{'s':{'$contains':'alice'}}");
    YES("{'s':'Alice'}", "{'s':{'$contains':''}}");
    NO("{'s':'5'}", "{'s':{'$contains':5}}");
    NO("{'s':'null'}", "{'s':{'$contains':null}}");
    YES("{'t':['a',5]}", "{'t':{'$contains':5.0}}");
    NO("{'t':['ab']}", "{'t':{'$contains':'a'}}");
    YES("{'t':[[1,2],[3]]}", "{'t':{'$contains':[3]}}");
    NO("{'t':[[1,2],[3]]}", "{'t':{'$contains':2}}");
    YES("{'t':[{'a':{'b':1}},9]}", "{'t':{'$contains':9}}");
    YES("{'t':{'$set':['x','y']}}", "{'t':{'$contains':'y'}}");
    YES("{'t':[{'$date':'2023-11-14T22:13:20.000Z'}]}", "{'t':{'$contains':{'$now':true}}}");
    UNKNOWN("{'n':1234}", "{'n':{'$contains':'23'}}");
    UNKNOWN("{'n':{'23':1}}", "{'n':{'$contains':'23'}}");
    UNKNOWN("{}", "{'n':{'$contains':'23'}}");
    YES("{'s':'x'}", "{'s':{'$notContains':'a'}}");
    NO("{'s':'xa'}", "{'s':{'$notContains':'a'}}");
    YES("{'s':'5'}", "{'s':{'$notContains':5}}");
    YES("{'t':[]}", "{'t':{'$notContains':5}}");
    UNKNOWN("{'s':null}", "{'s':{'$notContains':'a'}}");
    UNKNOWN("{'s':7}", "{'s':{'$notContains':'a'}}");
}

static void text_begins_and_ends(void **state)
{
    YES("{'s':'BR-1'}", "{'s':{'$startsWith':'BR-'}}");
    NO("{'s':'br-1'}", "{'s':{'$startsWith':'BR-'}}");
    NO("{'s':'B'}", "{'s':{'$startsWith':'BR-'}}");
    YES("{'s':'a.com'}", "{'s':{'$endsWith':'.com'}}");
    NO("{'s':'com'}", "{'s':{'$endsWith':'.com'}}");
    YES("{'s':''}", "{'s':{'$endsWith':'','$startsWith':''}}");
    UNKNOWN("{'s':123}", "{'s':{'$startsWith':'12'}}");
    UNKNOWN("{'s':['a']}", "{'s':{'$endsWith':'a'}}");
    UNKNOWN("{'s':{'$bytes':'YQ=='}}", "{'s':{'$endsWith':'a'}}");
    UNKNOWN("{}", "{'s':{'$startsWithi':'a'}}");
    UNKNOWN("{'s':1}", "{'s':{'$endsWithi':'1'}}");
}

static void case_is_folded_as_unicode_says(void **state)
{
    YES("{'s':'Straße'}", "{'s':{'$containsi':'STRASSE'}}");
    YES("{'s':'STRASSE'}", "{'s':{'$containsi':'straße'}}");
    YES("{'s':'Straße'}", "{'s':{'$endsWithi':'SSE'}}");
    YES("{'s':'Straße'}", "{'s':{'$endsWithi':'SE'}}"); /* half of what ß is folded to */
    YES("{'s':'ßa'}", "{'s':{'$startsWithi':'S'}}");
    NO("{'s':'Straße'}", "{'s':{'$endsWithi':'SSSE'}}");
    YES("{'s':'ÀB'}", "{'s':{'$startsWithi':'àb'}}");
    YES("{'s':'CAFÉ'}", "{'s':{'$containsi':'café'}}");
    YES("{'s':'ΟΔΟΣ'}", "{'s':{'$endsWithi':'οδος'}}");
    YES("{'s':'\\u212a'}", "{'s':{'$containsi':'k'}}"); /* the Kelvin sign */
    YES("{'s':'o\\ufb03ce'}", "{'s':{'$containsi':'OFFICE'}}");
    YES("{'s':'ПРИВЕТ мир'}", "{'s':{'$containsi':'привет МИР'}}");
    YES("{'s':'a\\ud801\\udc00b'}", "{'s':{'$containsi':'\\ud801\\udc28B'}}");
    YES("{'s':'[{@`'}", "{'s':{'$containsi':'[{@`'}}");
    NO("{'s':'{'}", "{'s':{'$containsi':'['}}");
    NO("{'s':'e\\u0301'}", "{'s':{'$containsi':'é'}}"); /* nothing is normalised */
    YES("{'t':['Straße','x']}", "{'t':{'$containsi':'STRASSE'}}");
    NO("{'t':['Straße','x']}", "{'t':{'$containsi':'STRASS'}}");
    NO("{'t':['Straß','x']}", "{'t':{'$containsi':'STRAS'}}");
    NO("{'t':['STRASSEN',5,null]}", "{'t':{'$containsi':'straße'}}");
    YES("{'t':{'$set':['ADMIN']}}", "{'t':{'$containsi':'admin'}}");
    YES("{'s':'Bob'}", "{'s':{'$notContainsi':'A'}}");
    NO("{'s':'Bab'}", "{'s':{'$notContainsi':'A'}}");
    UNKNOWN("{'s':5}", "{'s':{'$notContainsi':'A'}}");
    YES("{'s':''}", "{'s':{'$containsi':'','$startsWithi':'','$endsWithi':''}}");
}

static char *fold_whole(const char *text)
{
    utf8proc_uint8_t *out = NULL;
    assert_true(utf8proc_map((const utf8proc_uint8_t *)text, 0, &out,
                             UTF8PROC_NULLTERM | UTF8PROC_CASEFOLD) >= 0);
    return (char *)out;
}

/* Oracle: both texts folded whole, then searched. */
static void folded_search_is_a_search_in_folded_text(void **state)
{
    static const char *const letters[] = {"a", "A", "b", "s", "S", "ß", "ẞ", "é", "É", "ſ"};
    uint64_t seed = 7;
    for (int round = 0; round < 4000; round++) {
        char texts[2][64] = {"", ""};
        char *folded[2];
        for (int i = 0; i < 2; i++) {
            seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
            size_t count = (seed >> 40) % (i == 0 ? 12 : 4);
            for (size_t k = 0; k < count; k++) {
                seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
                strcat(texts[i], letters[(seed >> 33) % (round % 2 == 0 ? 10 : 3)]);
            }
            folded[i] = fold_whole(texts[i]);
        }
        size_t len = strlen(folded[0]), part = strlen(folded[1]);
        bool inside = strstr(folded[0], folded[1]) != NULL;
        bool starts = strncmp(folded[0], folded[1], part) == 0;
        bool ends = len >= part && strcmp(folded[0] + len - part, folded[1]) == 0;
        char value[256], where[128];
        snprintf(value, sizeof value, "{'s':'%s','t':['%s']}", texts[0], texts[0]);
        snprintf(where, sizeof where, "{'s':{'$containsi':'%s'}}", texts[1]);
        assert_string_equal(inside ? "yes" : "no", match(value, where));
        snprintf(where, sizeof where, "{'s':{'$startsWithi':'%s'}}", texts[1]);
        assert_string_equal(starts ? "yes" : "no", match(value, where));
        snprintf(where, sizeof where, "{'s':{'$endsWithi':'%s'}}", texts[1]);
        assert_string_equal(ends ? "yes" : "no", match(value, where));
        snprintf(where, sizeof where, "{'t':{'$containsi':'%s'}}", texts[1]);
        bool same = strcmp(folded[0], folded[1]) == 0;
        assert_string_equal(same ? "yes" : "no", match(value, where));
        free(folded[0]);
        free(folded[1]);
    }
}

/* ---- null, $exists, $empty, $now ---- */

static void null_is_missing_or_null_or_undefined(void **state)
{
    static const char *const nothing[] = {"{}", "{'s':null}", "{'s':{'$undefined':true}}", "5"};
    for (size_t i = 0; i < 4; i++) {
        YES(nothing[i], "{'s':null}");
        YES(nothing[i], "{'s':{'$eq':null}}");
        YES(nothing[i], "{'s':{'$eq':{'$undefined':true}}}");
        NO(nothing[i], "{'s':{'$ne':null}}");
        YES(nothing[i], "{'s':{'$null':true}}");
        NO(nothing[i], "{'s':{'$null':false}}");
        YES(nothing[i], "{'s':{'$empty':true}}");
        NO(nothing[i], "{'s':{'$empty':false}}");
        UNKNOWN(nothing[i], "{'s':'a'}");
        UNKNOWN(nothing[i], "{'s':{'$ne':'a'}}");
    }
    YES("{'s':0}", "{'s':{'$ne':null}}");
    YES("{'s':0}", "{'s':{'$null':false}}");
    YES("{'s':''}", "{'s':{'$null':false}}");
    NO("{}", "{'s':{'$exists':true}}");
    YES("{}", "{'s':{'$exists':false}}");
    YES("{'s':null}", "{'s':{'$exists':true}}");
    YES("{'s':{'$undefined':true}}", "{'s':{'$exists':true}}");
    YES("5", "{'$':{'$exists':true}}");
}

static void empty_is_nothing_or_no_text_or_no_items(void **state)
{
    YES("{'t':''}", "{'t':{'$empty':true}}");
    YES("{'t':[]}", "{'t':{'$empty':true}}");
    NO("{'t':[]}", "{'t':{'$notEmpty':true}}");
    YES("{'t':[]}", "{'t':{'$notEmpty':false}}");
    NO("{'t':[null]}", "{'t':{'$empty':true}}");
    static const char *const others[] = {"{'t':{}}",           "{'t':0}",    "{'t':false}",
                                         "{'t':' '}",          "{'t':'[]'}", "{'t':{'$set':[]}}",
                                         "{'t':{'$bytes':''}}"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        NO(others[i], "{'t':{'$empty':true}}");
        YES(others[i], "{'t':{'$notEmpty':true}}");
    }
}

static void now_is_a_number_and_a_date(void **state)
{
    YES("{'e':1699999999999}", "{'e':{'$lt':{'$now':true}}}");
    NO("{'e':1700000000000}", "{'e':{'$lt':{'$now':true}}}");
    YES("{'e':1700000000000}", "{'e':{'$now':true}}");
    YES("{'e':1700000000005}", "{'e':{'$now':true,'$offset':5}}");
    YES("{'e':1700000000005}", "{'e':{'offset':5,'$now':true}}");
    YES("{'e':1699999999995}", "{'e':{'$eq':{'$now':true,'offset':-5.0}}}");
    YES("{'e':{'$date':'2023-11-14T22:13:20.000Z'}}", "{'e':{'$now':true}}");
    YES("{'e':{'$date':'2023-11-14T22:13:19.999Z'}}", "{'e':{'$lt':{'$now':true}}}");
    NO("{'e':{'$date':'2023-11-14T22:13:20.000Z'}}", "{'e':{'$lt':{'$now':true}}}");
    YES("{'e':{'$date':'2023-11-14T22:13:20.000Z'}}",
        "{'e':{'$between':[{'$now':true,'$offset':-1},{'$now':true}]}}");
    YES("{'e':{'$date':'1969-12-31T23:59:59.000Z'}}",
        "{'e':{'$gt':{'$now':true,'$offset':-1700000002000}}}");
    UNKNOWN("{'e':'2023-11-14T22:13:20.000Z'}", "{'e':{'$lt':{'$now':true}}}");
    YES("{'e':{'$bigint':'1'}}", "{'e':{'$lt':{'$now':true}}}");
}

/* ---- logic ---- */

static void logic_is_three_valued(void **state)
{
    static const char *const parts[] = {"{'f':1}", "{'u':1}", "{'t':1}"};
    static const char *const names[] = {"no", "unknown", "yes"};
    const char *value = "{'t':1,'f':2}";
    for (int i = 0; i < 3; i++) {
        assert_string_equal(names[i], truth(value, parts[i]));
        char where[256];
        snprintf(where, sizeof where, "{'$not':%s}", parts[i]);
        assert_string_equal(names[2 - i], truth(value, where));
        for (int k = 0; k < 3; k++) {
            snprintf(where, sizeof where, "{'$and':[%s,%s]}", parts[i], parts[k]);
            assert_string_equal(names[i < k ? i : k], truth(value, where));
            snprintf(where, sizeof where, "{'$or':[%s,%s]}", parts[i], parts[k]);
            assert_string_equal(names[i > k ? i : k], truth(value, where));
        }
    }
    UNKNOWN(value, "{'t':1,'u':1}");
    NO(value, "{'u':1,'f':1}");
    NO("{'n':5}", "{'n':{'$contains':'a','$gt':9}}");
    UNKNOWN("{'n':5}", "{'n':{'$contains':'a','$gt':1}}");
}

static void conditions_of_one_object_all_hold(void **state)
{
    YES("{'a':1,'b':2}", "{'$or':[{'a':2},{'b':2}],'a':1}");
    NO("{'a':1,'b':3}", "{'$or':[{'a':2},{'b':2}],'a':1}");
    YES("{'n':20}", "{'n':{'$gte':18,'$lte':65}}");
    NO("{'n':70}", "{'n':{'$gte':18,'$lte':65}}");
    YES("{}", "{}");
    YES("5", "{}");
    NO("{}", "{'$not':{}}");
    YES("{}", "{'$and':[{}]}");
    YES("{'a':1}", "{'$or':[{'b':1},{}]}");
    YES("{'a':1}", "{'$and':[{'$or':[{'a':1}]},{'$not':{'$not':{'a':1}}}]}");
    YES("{'a':1}", " { \n'a' :\t1 } ");
}

static void fields_are_paths(void **state)
{
    YES("{'d':{'p':5}}", "{'d.p':{'$gte':5}}");
    YES("{'d.p':5}", "{'\\u0022d.p\\u0022':5}");
    UNKNOWN("{'d.p':5}", "{'d.p':5}");
    YES("{'i':[{'p':1},{'p':9}]}", "{'i[#-1].p':9}");
    YES("[{'a':1}]", "{'$[0].a':1}");
    YES("{'a':1}", "{'$.a':1}");
    YES("[1,2]", "{'$':[1,2]}");
    YES("{'m':{'$map':[['k',{'x':1}]]}}", "{'m.k.x':1}");
    assert_string_equal("yes", match_hex("82 01 a1 78 a1 61 05", "{'a':5}"));
    UNKNOWN("{'m':{'$error':{'name':'E','message':'m'}}}", "{'m.name':'E'}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_labelled_case_is_answered_as_labelled),
        cmocka_unit_test(a_literal_is_equality),
        cmocka_unit_test(types_never_convert),
        cmocka_unit_test(numbers_are_equal_by_value_however_they_are_stored),
        cmocka_unit_test(nan_and_the_invalid_date_are_equal_to_nothing),
        cmocka_unit_test(equality_is_deep),
        cmocka_unit_test(objects_of_many_names_are_equal_in_any_order),
        cmocka_unit_test(every_type_of_a_value_can_be_a_literal),
        cmocka_unit_test(a_value_of_v8_is_opaque),
        cmocka_unit_test(maps_and_sets_are_equal_in_the_same_order_only),
        cmocka_unit_test(shared_values_are_looked_through_and_references_are_unknown),
        cmocka_unit_test(order_is_within_a_type),
        cmocka_unit_test(another_type_or_nothing_is_unknown),
        cmocka_unit_test(between_has_both_ends_and_needs_both_types),
        cmocka_unit_test(numbers_of_all_sizes_are_ordered_exactly),
        cmocka_unit_test(doubles_and_bigints_of_the_same_value_are_equal),
        cmocka_unit_test(a_bigint_may_be_longer_than_any_double),
        cmocka_unit_test(in_is_equality_with_one_of_a_list),
        cmocka_unit_test(a_long_list_of_in_is_the_same_as_all_its_equalities),
        cmocka_unit_test(contains_is_part_of_a_string_or_member_of_an_array_or_set),
        cmocka_unit_test(text_begins_and_ends),
        cmocka_unit_test(case_is_folded_as_unicode_says),
        cmocka_unit_test(folded_search_is_a_search_in_folded_text),
        cmocka_unit_test(null_is_missing_or_null_or_undefined),
        cmocka_unit_test(empty_is_nothing_or_no_text_or_no_items),
        cmocka_unit_test(now_is_a_number_and_a_date),
        cmocka_unit_test(logic_is_three_valued),
        cmocka_unit_test(conditions_of_one_object_all_hold),
        cmocka_unit_test(fields_are_paths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
