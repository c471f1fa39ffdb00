/* Tests of paths: what they name, and what is no path. */
#include "filter_test.h"

#include "filter/path.h"

static struct arena arena;

static const struct path *compile(const char *text)
{
    const struct path *path = NULL;
    e.text[0] = '\0';
    arena_reset(&arena);
    if (path_compile(slice_str(text), &arena, &path, &e) == OK) {
        assert_true(slice_eq(slice_str(text), path_text(path)));
        return path;
    }
    assert_null(path);
    assert_int_equal(ERR_SYNTAX, e.code);
    return NULL;
}

/* The value there as JSON, "missing", or the error. */
static const char *find_packed(struct slice value, const char *text)
{
    static struct buf json;
    const struct path *path = compile(text);
    struct slice found;
    if (path == NULL) return e.text;
    if (!path_find(path, value, &found)) return "missing";
    assert_true(found.data >= value.data && found.data + found.len <= value.data + value.len);
    assert_int_equal(found.len, value_length(found));
    buf_clear(&json, 1 << 20);
    value_to_json(found, &json);
    for (size_t i = 0; i < json.len; i++) {
        if (json.data[i] == '"') json.data[i] = '\'';
    }
    buf_append_byte(&json, '\0');
    return (const char *)json.data;
}

static const char *find(const char *value, const char *text)
{
    struct buf packed = {0};
    pack_json(quoted(value), &packed);
    const char *found = find_packed(buf_slice(&packed), quoted(text));
    buf_fini(&packed);
    return found;
}

static const char *find_hex(const char *hex, const char *text)
{
    struct buf packed = {0};
    pack_hex(hex, &packed);
    const char *found = find_packed(buf_slice(&packed), quoted(text));
    buf_fini(&packed);
    return found;
}

static void names_go_into_objects(void **state)
{
    const char *value = "{'a':1,'b':{'c':{'d':[2]}},'':3,'x y':4,'k-k':5,'$gt':6,'a.b':7,'é':8}";
    assert_string_equal("1", find(value, "a"));
    assert_string_equal("{'d':[2]}", find(value, "b.c"));
    assert_string_equal("[2]", find(value, "b.c.d"));
    assert_string_equal("4", find(value, "x y"));
    assert_string_equal("5", find(value, "k-k"));
    assert_string_equal("8", find(value, "é"));
    assert_string_equal("missing", find(value, "b.d"));
    assert_string_equal("missing", find(value, "a.b"));
    assert_string_equal("missing", find(value, "aa"));
    assert_string_equal("7", find(value, "'a.b'"));
    assert_string_equal("3", find(value, "''"));
    assert_string_equal("6", find(value, "'$gt'"));
    assert_string_equal("6", find(value, "$.$gt"));
    assert_string_equal("missing", find("5", "a"));
    assert_string_equal("missing", find("[1]", "a"));
    assert_string_equal("missing", find("null", "a"));
}

static void ordinary_names_may_look_odd(void **state)
{
    assert_string_equal("1", find("{'x) = ? OR 1=1 --':1}", "x) = ? OR 1=1 --"));
    assert_string_equal("1", find("{'a\\u0022b':1}", "a'b"));
    assert_string_equal("1", find("{'a]b':1}", "a]b"));
    assert_string_equal("1", find("{'a':{'$x':1}}", "a.$x"));
    assert_string_equal("1", find("{'a$':1}", "a$"));
    assert_string_equal("1", find("{'#':1}", "#"));
    assert_string_equal("1", find("{' ':1}", " "));
}

static void quoted_names_have_the_escapes_of_json(void **state)
{
    assert_string_equal("1", find("{'a.b':{'c':1}}", "'a.b'.c"));
    assert_string_equal("1", find("{'a':{'b.c':1}}", "a.'b.c'"));
    assert_string_equal("1", find("{'a[0]':[1]}", "'a[0]'[0]"));
    assert_string_equal("1", find("{'q\\u0022q':1}", "'q\\u0022q'"));
    assert_string_equal("1", find("{'\\u00e9':1}", "'\\u00e9'"));
    assert_string_equal("1", find("{'\\u0000':1}", "'\\u0000'"));
    assert_string_equal("1", find("{'a\\\\b':1}", "'a\\\\b'"));
}

static void numbers_go_into_arrays(void **state)
{
    const char *value = "{'i':[{'p':1},'two',[3,[4]]]}";
    assert_string_equal("1", find(value, "i[0].p"));
    assert_string_equal("'two'", find(value, "i[1]"));
    assert_string_equal("4", find(value, "i[2][1][0]"));
    assert_string_equal("[3,[4]]", find(value, "i[#-1]"));
    assert_string_equal("{'p':1}", find(value, "i[#-3]"));
    assert_string_equal("missing", find(value, "i[#-4]"));
    assert_string_equal("missing", find(value, "i[3]"));
    assert_string_equal("missing", find(value, "i[4294967295]"));
    assert_string_equal("missing", find(value, "i[0][0]"));
    assert_string_equal("missing", find(value, "i.p"));
    assert_string_equal("missing", find("{'i':[]}", "i[#-1]"));
    assert_string_equal("missing", find("{'i':{'0':1}}", "i[0]"));
    assert_string_equal("missing", find("{'i':{'$set':[1]}}", "i[0]"));
    assert_string_equal("missing", find("{'i':{'$bytes':'YWE='}}", "i[0]"));
    assert_string_equal("missing", find("'text'", "$[0]"));
}

static void a_dollar_is_the_whole_value(void **state)
{
    assert_string_equal("5", find("5", "$"));
    assert_string_equal("null", find("null", "$"));
    assert_string_equal("{'a':[1]}", find("{'a':[1]}", "$"));
    assert_string_equal("1", find("{'a':[1]}", "$.a[0]"));
    assert_string_equal("2", find("[1,2]", "$[1]"));
    assert_string_equal("2", find("[1,2]", "$[#-1]"));
    assert_string_equal("1", find("{'a.b':1}", "$.'a.b'"));
}

static void maps_are_entered_by_string_keys(void **state)
{
    assert_string_equal("2", find("{'m':{'$map':[['a',1],['b',2]]}}", "m.b"));
    assert_string_equal("2", find("{'$map':[[1,'x'],[[2],'y'],['b',2]]}", "b"));
    assert_string_equal("2", find("{'$map':[['x',{'$map':[[true,1],['b',2]]}]]}", "x.b"));
    assert_string_equal("missing", find("{'$map':[[1,'x']]}", "1"));
    assert_string_equal("missing", find("{'$map':[[1,'x']]}", "$[0]"));
    assert_string_equal("missing", find("{'$error':{'name':'E','message':'m'}}", "name"));
}

static void shared_values_are_looked_through(void **state)
{
    const char *value = "{'a':{'$id':1,'value':{'x':[5]}},'b':{'$ref':1}}";
    assert_string_equal("5", find(value, "a.x[0]"));
    assert_string_equal("{'x':[5]}", find(value, "a"));
    assert_string_equal("missing", find(value, "b.x"));
    assert_string_equal("{'$ref':1}", find(value, "b"));
    assert_string_equal("2", find("{'$id':1,'value':[1,2]}", "$[1]"));
    assert_string_equal("[1,2]", find("{'$id':1,'value':[1,2]}", "$"));
    assert_string_equal("7", find("{'$id':1,'value':{'$id':2,'value':7}}", "$"));
}

static void every_encoding_of_a_name_and_of_what_is_skipped_will_do(void **state)
{
    /* Before b: one of each kind that is skipped. */
    static const char *const before[] = {"00",
                                         "7f",
                                         "ff",
                                         "c0",
                                         "c2",
                                         "c3",
                                         "cc 80",
                                         "cd 01 00",
                                         "ce 00 01 00 00",
                                         "cf 00 00 00 01 00 00 00 00",
                                         "d0 80",
                                         "d1 80 00",
                                         "d2 80 00 00 00",
                                         "d3 80 00 00 00 00 00 00 00",
                                         "ca 00 00 00 00",
                                         "cb 00 00 00 00 00 00 00 00",
                                         "a0",
                                         "a2 61 61",
                                         "d9 01 61",
                                         "da 00 01 61",
                                         "db 00 00 00 01 61",
                                         "c4 01 61",
                                         "c5 00 01 61",
                                         "c6 00 00 00 01 61",
                                         "90",
                                         "92 01 91 02",
                                         "dc 00 02 01 80",
                                         "dd 00 00 00 01 c0",
                                         "80",
                                         "81 a1 78 92 01 02",
                                         "de 00 01 a0 01",
                                         "df 00 00 00 01 a0 01",
                                         "d4 00 00",
                                         "d5 42 01 00",
                                         "d6 ff 00 00 00 00",
                                         "d7 ff 00 00 00 00 00 00 00 00",
                                         "c7 03 42 01 00 00",
                                         "c8 00 01 42 05",
                                         "c9 00 00 00 01 42 05",
                                         "d8 74 01 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00"};
    static const char *const names[] = {"a1 62", "d9 01 62", "da 00 01 62", "db 00 00 00 01 62"};
    for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
        for (size_t k = 0; k < 4; k++) {
            char hex[512];
            snprintf(hex, sizeof hex, "83 a1 61 %s %s 92 01 02 a1 63 c3", before[i], names[k]);
            assert_string_equal("[1,2]", find_hex(hex, "b"));
            assert_string_equal("2", find_hex(hex, "b[1]"));
            assert_string_equal("true", find_hex(hex, "c"));
            snprintf(hex, sizeof hex, "93 %s 05 %s", before[i], before[i]);
            assert_string_equal("5", find_hex(hex, "$[1]"));
            snprintf(hex, sizeof hex, "dd 00 00 00 02 %s 05", before[i]);
            assert_string_equal("5", find_hex(hex, "$[#-1]"));
        }
    }
    assert_string_equal("1", find_hex("de 00 01 a1 62 01", "b"));
    assert_string_equal("1", find_hex("df 00 00 00 01 a1 62 01", "b"));
}

#define BAD(what, text)                                                                            \
    do {                                                                                           \
        char want[300];                                                                            \
        snprintf(want, sizeof want, "invalid path '%s': %s", quoted(text), what);                  \
        assert_string_equal(want, find("1", text));                                                \
    } while (0)

static void what_is_no_path_is_an_error(void **state)
{
    static const char index[] = "an index must be [0], [1], .. or, from the end, [#-1], [#-2], ..";
    BAD("empty name", "");
    BAD("empty name", ".a");
    BAD("empty name", "a.");
    BAD("empty name", "a..b");
    BAD("empty name", "$.");
    BAD("empty name", "a.[0]");
    BAD("an index must follow a name or '$'", "[0]");
    BAD("quote a first name that begins with '$'", "$a");
    BAD("quote a first name that begins with '$'", "$$");
    BAD("'[' without ']'", "a[0");
    BAD("'[' without ']'", "a[");
    BAD(index, "a[]");
    BAD(index, "a[-1]");
    BAD(index, "a[#]");
    BAD(index, "a[#-0]");
    BAD(index, "a[#1]");
    BAD(index, "a[01]");
    BAD(index, "a[+1]");
    BAD(index, "a[*]");
    BAD(index, "a[ 1]");
    BAD(index, "a[4294967296]");
    BAD(index, "a['x']");
    BAD("expected '.' or '[' after ']'", "a[0]b");
    BAD("expected '.' or '[' after ']'", "a[0]]");
    BAD("malformed quoted name", "'a");
    BAD("malformed quoted name", "'a\\x'");
    BAD("malformed quoted name", "'\\ud800'");
    BAD("text after a quoted name", "'a'b");
    const struct path *path = NULL;
    arena_reset(&arena);
    assert_int_equal(ERR_SYNTAX, path_compile(slice_of("a\xff", 2), &arena, &path, &e));
    assert_non_null(strstr(e.text, ": not UTF-8"));
}

static void length_and_steps_are_limited(void **state)
{
    char text[PATH_BYTES_MAX + 2];
    memset(text, 'x', sizeof text);
    text[PATH_BYTES_MAX] = '\0';
    assert_non_null(compile(text));
    text[PATH_BYTES_MAX] = 'x';
    text[PATH_BYTES_MAX + 1] = '\0';
    assert_null(compile(text));
    assert_non_null(strstr(e.text, "xx..': longer than 1024 bytes"));
    char steps[128] = "a";
    for (int i = 1; i < PATH_STEPS_MAX; i++) strcat(steps, i % 2 == 0 ? ".a" : "[0]");
    assert_non_null(compile(steps));
    strcat(steps, ".a");
    assert_null(compile(steps));
    assert_non_null(strstr(e.text, ": more than 32 steps"));
}

static int start(void **state)
{
    arena_init(&arena, 512);
    return 0;
}

static int stop(void **state)
{
    arena_fini(&arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_go_into_objects),
        cmocka_unit_test(ordinary_names_may_look_odd),
        cmocka_unit_test(quoted_names_have_the_escapes_of_json),
        cmocka_unit_test(numbers_go_into_arrays),
        cmocka_unit_test(a_dollar_is_the_whole_value),
        cmocka_unit_test(maps_are_entered_by_string_keys),
        cmocka_unit_test(shared_values_are_looked_through),
        cmocka_unit_test(every_encoding_of_a_name_and_of_what_is_skipped_will_do),
        cmocka_unit_test(what_is_no_path_is_an_error),
        cmocka_unit_test(length_and_steps_are_limited),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
