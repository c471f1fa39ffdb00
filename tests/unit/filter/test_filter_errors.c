/* Tests of WHERE: what is an error, what it says, and the limits. */
#include "filter_test.h"

static void errors_say_what_is_wrong_and_where(void **state)
{
    ERROR("unknown operator $where; besides fields, $and, $or and $not are allowed",
          "{'$where':'1'}");
    ERROR("unknown operator $nor; besides fields, $and, $or and $not are allowed",
          "{'$nor':[{'a':1}]}");
    ERROR("unknown operator $gt; besides fields, $and, $or and $not are allowed", "{'$gt':1}");
    ERROR("s: unknown operator $regex", "{'s':{'$regex':'z'}}");
    ERROR("s: unknown operator $not", "{'s':{'$not':{'$gt':1}}}");
    ERROR("s: $eq twice", "{'s':{'$eq':1,'\\u0024eq':1}}");
    ERROR("$and takes an array of one or more objects", "{'$and':[]}");
    ERROR("$or takes an array of one or more objects", "{'$or':[]}");
    ERROR("$or takes an array of one or more objects", "{'$or':{'a':1}}");
    ERROR("$or takes an array of one or more objects", "{'$or':[{'a':1},5]}");
    ERROR("$not takes an object", "{'$not':null}");
    ERROR("$not takes an object", "{'$not':[{'a':1}]}");
    ERROR("s: $in takes an array", "{'s':{'$in':'a'}}");
    ERROR("s: $nin takes an array", "{'s':{'$nin':{'a':1}}}");
    ERROR("s: $between takes an array of two elements: [lowest, highest]", "{'s':{'$between':30}}");
    ERROR("s: $between takes an array of two elements: [lowest, highest]",
          "{'s':{'$between':[1]}}");
    ERROR("s: $between takes an array of two elements: [lowest, highest]",
          "{'s':{'$between':[1,2,3]}}");
    ERROR("s: $gt takes a number, bigint, string, Date or bytes, not null", "{'s':{'$gt':null}}");
    ERROR("s: $lt takes a number, bigint, string, Date or bytes, not a boolean",
          "{'s':{'$lt':true}}");
    ERROR("s: $gte takes a number, bigint, string, Date or bytes, not an array",
          "{'s':{'$gte':[1]}}");
    ERROR("s: $lte takes a number, bigint, string, Date or bytes, not an object",
          "{'s':{'$lte':{'a':1}}}");
    ERROR("s: $lte takes a number, bigint, string, Date or bytes, not a Set",
          "{'s':{'$lte':{'$set':[]}}}");
    ERROR("s: $between takes a number, bigint, string, Date or bytes, not null",
          "{'s':{'$between':[null,1]}}");
    ERROR("s: $startsWith takes a string", "{'s':{'$startsWith':5}}");
    ERROR("s: $endsWith takes a string", "{'s':{'$endsWith':null}}");
    ERROR("s: $containsi takes a string", "{'s':{'$containsi':5}}");
    ERROR("s: $endsWithi takes a string", "{'s':{'$endsWithi':['a']}}");
    ERROR("s: $null takes true or false", "{'s':{'$null':0}}");
    ERROR("s: $exists takes true or false", "{'s':{'$exists':'true'}}");
    ERROR("s: $empty takes true or false", "{'s':{'$empty':null}}");
    ERROR("s: $notEmpty takes true or false", "{'s':{'$notEmpty':1}}");
    ERROR("invalid path '': empty name", "{'':5}");
    ERROR("invalid path 'a..b': empty name", "{'a..b':5}");
    ERROR("a filter must be an object at offset 0", "[]");
    ERROR("a filter must be an object at offset 1", " 5");
    ERROR("a filter must be an object at offset 0", "");
    ERROR("text after the end at offset 3", "{} x");
    ERROR("duplicate key at offset 7", "{'a':1,'a':2}");
    ERROR("a: duplicate key at offset 12", "{'a':{'b':1,'b':2}}");
}

static void operators_in_literals_are_errors(void **state)
{
    ERROR("o: mixes $gt with names that are not operators; write an object with such names as "
          "{\"$object\":{..}}",
          "{'o':{'a':1,'$gt':2}}");
    ERROR("o: has $gt inside a literal; write an object with such a name as {\"$object\":{..}}",
          "{'o':{'a':{'$gt':2}}}");
    ERROR("o: $eq has $gt inside a literal; write an object with such a name as {\"$object\":{..}}",
          "{'o':{'$eq':{'$gt':2}}}");
    ERROR("o: $in has $gt inside a literal; write an object with such a name as {\"$object\":{..}}",
          "{'o':{'$in':[1,{'$gt':2}]}}");
    ERROR("o: has $now inside a literal; write an object with such a name as {\"$object\":{..}}",
          "{'o':[{'$now':true}]}");
    ERROR("o: has $date inside a literal; write an object with such a name as {\"$object\":{..}}",
          "{'o':[{'$date':null,'x':1}]}");
    ERROR("o: has $gt inside a literal; write an object with such a name as {\"$object\":{..}}",
          "{'o':{'$object':{'a':{'$gt':1}}}}");
    ERROR("o: has $gt inside a literal; write an object with such a name as {\"$object\":{..}}",
          "{'o':{'$map':[['k',{'$gt':1}]]}}");
    ERROR("o: has $object inside a literal; write an object with such a name as {\"$object\":{..}}",
          "{'o':[{'$object':{},'a':1}]}");
    ERROR(
        "o: has \\u0024gt inside a literal; write an object with such a name as {\"$object\":{..}}",
        "{'o':[{'\\u0024gt':1}]}");
    YES("{'o':{'$object':{'$gt':1}}}", "{'o':{'$object':{'$gt':1}}}");
    YES("{'o':[{'$object':{'$gt':{'$object':{'$lt':1}}}}]}",
        "{'o':[{'$object':{'$gt':{'$object':{'$lt':1}}}}]}");
    YES("{'o':{'a$':'$gt'}}", "{'o':{'a$':'$gt'}}");
}

static void now_is_written_strictly(void **state)
{
#define NOW_IS "has a $now other than {\"$now\":true} or {\"$now\":true,\"$offset\":ms}"
    ERROR("e: $lt " NOW_IS, "{'e':{'$lt':{'$now':false}}}");
    ERROR("e: $lt " NOW_IS, "{'e':{'$lt':{'$now':true,'foo':1}}}");
    ERROR("e: $lt " NOW_IS, "{'e':{'$lt':{'$now':true,'$offset':1,'offset':1}}}");
    ERROR("e: $lt " NOW_IS, "{'e':{'$lt':{'$now':true,'$now':true}}}");
    ERROR("e: " NOW_IS, "{'e':{'$now':true,'$gt':1}}");
    ERROR("e: has an $offset that is not a whole number of milliseconds",
          "{'e':{'$now':true,'$offset':'5'}}");
    ERROR("e: has an $offset that is not a whole number of milliseconds",
          "{'e':{'$now':true,'$offset':0.5}}");
    ERROR("e: has an $offset that is not a whole number of milliseconds",
          "{'e':{'$now':true,'$offset':9007199254740992}}");
    struct filter *f = NULL;
    struct slice text = slice_str(quoted("{'e':{'$now':true,'$offset':1}}"));
    assert_int_equal(ERR_SYNTAX, filter_compile(text, INT64_MAX, &f, &e));
    assert_string_equal("where: e: has an $offset beyond the range of dates", e.text);
}

static void malformed_literals_are_blamed_on_the_filter(void **state)
{
    ERROR("expected a value at offset 5", "{'s':}");
    ERROR("s: expected a value at offset 5", "{'s':tru}");
    ERROR("expected a value at offset 15", "{'s':{'$in':[1,]}}");
    ERROR("expected a value before the end of the text at offset 5", "{'s':");
    ERROR("the object is not closed at offset 6", "{'s':1");
    ERROR("the array is not closed at offset 17", "{'$or':[{'a':1}  ");
    ERROR("expected ',' or '}' at offset 7", "{'s':1 2}");
    ERROR("s: number with a leading zero at offset 5", "{'s':01}");
    ERROR("s: $bigint must be a string of decimal digits at offset 16", "{'s':{'$bigint':5}}");
    ERROR("s: expected ',' or ']' at offset 7", "{'s':[1}]}");
    ERROR("s: placeholders are not supported here at offset 16", "{'s':{'$uuidv7':true}}");
    ERROR("s: placeholders are not supported here at offset 23", "{'s':[{'$versionstamp':true}]}");
    assert_string_equal("where: s: duplicate key at offset 13",
                        match("{}", "{'s': {'x':1,'x':2}}"));
    assert_null(compile_text(slice_of("{\"a\":\"\xff\"}", 9)));
    assert_string_equal("where: not UTF-8 at offset 6", e.text);
}

static void every_cut_of_a_filter_is_an_error(void **state)
{
    const char *text = quoted(
        "{'a.b':{'$in':[1,'x',{'$now':true,'$offset':5},{'$date':null}]},'$or':"
        "[{'c':{'$containsi':'\\u00df','$between':[1,2]}},{'$not':{}}]}");
    size_t len = strlen(text);
    filter_unref(compile_text(slice_of(text, len)));
    for (size_t i = 0; i < len; i++) assert_null(compile_text(slice_of(text, i)));
}

static void repeat(struct buf *out, const char *text, size_t times)
{
    for (size_t i = 0; i < times; i++) buf_append_str(out, text);
}

static const char *compile_buf(const struct buf *text)
{
    struct filter *f = compile_text(buf_slice(text));
    filter_unref(f);
    return f != NULL ? "ok" : e.text;
}

static void depth_is_limited(void **state)
{
    for (size_t depth = 32; depth <= 33; depth++) {
        struct buf text = {0};
        repeat(&text, "{\"$not\":", depth);
        buf_append_str(&text, "{\"a\":1}");
        repeat(&text, "}", depth);
        const char *want = depth == 32 ? "ok"
                                       : "where: deeper than 32 levels of $and, $or and $not";
        assert_string_equal(want, compile_buf(&text));
        if (depth == 33) assert_int_equal(ERR_LIMIT, e.code);
        buf_fini(&text);
    }
    struct buf text = {0};
    buf_append_str(&text, "{\"a\":");
    repeat(&text, "[", 200);
    repeat(&text, "]", 200);
    buf_append_str(&text, "}");
    assert_string_equal("where: a: deeper than 128 levels at offset 133", compile_buf(&text));
    text.len = 0;
    repeat(&text, "[", 200000);
    assert_string_equal("where: a filter must be an object at offset 0", compile_buf(&text));
    text.len = 0;
    buf_append_str(&text, "{\"a\":{\"b\":");
    repeat(&text, "[", 200000);
    assert_string_equal("where: expected a value before the end of the text at offset 200010",
                        compile_buf(&text));
    buf_fini(&text);
}

static void conditions_are_limited(void **state)
{
    static const char *const units[] = {"{\"a\":1}", "{}", "{\"a\":{\"$gt\":1}}"};
    for (size_t i = 0; i < 3; i++) {
        for (size_t count = 999; count <= 1000; count++) {
            struct buf text = {0};
            buf_append_str(&text, "{\"$or\":["); /* counts one itself */
            for (size_t k = 0; k < count; k++) {
                if (k > 0) buf_append_byte(&text, ',');
                buf_append_str(&text, units[i]);
            }
            buf_append_str(&text, "]}");
            assert_string_equal(count == 999 ? "ok" : "where: more than 1000 conditions",
                                compile_buf(&text));
            if (count == 1000) assert_int_equal(ERR_LIMIT, e.code);
            buf_fini(&text);
        }
    }
}

static void length_is_limited(void **state)
{
    for (size_t more = 0; more <= 1; more++) {
        struct buf text = {0};
        buf_append_str(&text, "{\"a\":\"");
        while (text.len < FILTER_BYTES_MAX - 2 + more) buf_append_byte(&text, 'x');
        buf_append_str(&text, "\"}");
        assert_string_equal(more == 0 ? "ok" : "where: longer than 262144 bytes",
                            compile_buf(&text));
        buf_fini(&text);
    }
    assert_int_equal(ERR_LIMIT, e.code);
}

/* As many items, names and values as fit: nothing takes more than linear time. */
static void the_largest_filters_compile_and_match(void **state)
{
    static const char *const units[][3] = {{"{\"a\":{\"$in\":[", "1,", "1]}}"},
                                           {"{\"a\":[", "[],", "1]}"},
                                           {"{\"a\":{\"$containsi\":\"", "\xc3\x9f", "\"}}"}};
    struct buf value = {0};
    pack_json("{\"a\":1}", &value);
    for (size_t i = 0; i < 3; i++) {
        struct buf text = {0};
        buf_append_str(&text, units[i][0]);
        while (text.len < FILTER_BYTES_MAX - 10) buf_append_str(&text, units[i][1]);
        buf_append_str(&text, units[i][2]);
        assert_string_equal(i == 0 ? "yes" : "no", ask(buf_slice(&text), buf_slice(&value)));
        buf_fini(&text);
    }
    struct buf text = {0};
    buf_append_str(&text, "{\"$\":{");
    for (int i = 0; text.len < FILTER_BYTES_MAX - 40; i++) {
        buf_printf(&text, "%s\"n%d\":%d", i > 0 ? "," : "", i * 7919 % 1000003, i);
    }
    size_t names_end = text.len;
    buf_append_str(&text, "}}");
    value.len = 0;
    struct slice object = slice_of(text.data + 5, names_end - 5 + 1);
    assert_int_equal(OK, value_from_json(object, NULL, &value, &e));
    assert_string_equal("yes", ask(buf_slice(&text), buf_slice(&value)));
    buf_fini(&text);
    buf_fini(&value);
}

static void a_filter_lives_as_long_as_its_references(void **state)
{
    struct filter *f = compile_text(slice_str(quoted("{'$':'x'}")));
    filter_ref(f);
    filter_unref(f);
    struct buf value = {0};
    pack_json("\"x\"", &value);
    assert_true(filter_matches(f, buf_slice(&value)));
    filter_unref(f);
    filter_unref(NULL);
    buf_fini(&value);
}

static void a_long_field_name_is_cut_in_errors(void **state)
{
    char where[300] = "{'";
    for (int i = 0; i < 50; i++) strcat(where, "äb");
    strcat(where, "':{'$in':1}}");
    const char *text = match("{}", where);
    assert_non_null(strstr(text, "..: $in takes an array"));
    assert_true(strlen(text) < 130);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_say_what_is_wrong_and_where),
        cmocka_unit_test(operators_in_literals_are_errors),
        cmocka_unit_test(now_is_written_strictly),
        cmocka_unit_test(malformed_literals_are_blamed_on_the_filter),
        cmocka_unit_test(every_cut_of_a_filter_is_an_error),
        cmocka_unit_test(depth_is_limited),
        cmocka_unit_test(conditions_are_limited),
        cmocka_unit_test(length_is_limited),
        cmocka_unit_test(the_largest_filters_compile_and_match),
        cmocka_unit_test(a_filter_lives_as_long_as_its_references),
        cmocka_unit_test(a_long_field_name_is_cut_in_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
