/* CLIENT VIEW, the view of a user, and the JSON.* commands: what tools that show keys see of tuples
 * (docs/guis.md).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "client.h"
#include "group.h"
#include "resp3.h"

#define STEPS(list) run_steps(list, sizeof list / sizeof list[0])

static redisContext *c, *w; /* w: another client */

static struct resp3 *t;

static int enter(void **state)
{
    t = resp3_connect(server);
    return group_enter(state);
}

static int leave(void **state)
{
    resp3_close(t);
    return group_leave(state);
}

static int start(void **state)
{
    group_opens(&c, &w, NULL);
    server = testserver_start_with("--notify-keyspace-events", "KEA", NULL);
    return 0;
}

static void run_steps(const char *const (*steps)[2], size_t count)
{
    for (size_t i = 0; i < count; i++) expect(c, steps[i][1], steps[i][0]);
}

/* ---- the view ---- */

static void a_view_shows_all_tuples_by_their_paths(void **state)
{
    static const char *const steps[][2] = {
        {"CLIENT VIEW", "plain"},
        {"KV.SET ['users',42,'profile'] {'name':'Ada','id':{'$bigint':'5'}}", "@"},
        {"KV.SET ['users',{'$bytes':'AP8='},true] 1", "@"},
        {"KV.SET ['a/b'] {'$bytes':'aGk='}", "@"},
        {"SET plain v", "+OK"},
        {"SCAN 0", "[0 [a/b plain]]"},
        {"TYPE users/#42/profile", "+none"},
        {"CLIENT VIEW TUPLES", "+OK"},
        {"CLIENT VIEW", "tuples"},
        {"SCAN 0", "[0 [a%2fb plain users/&00ff/!true users/#42/profile]]"},
        {"KEYS users/*", "[users/&00ff/!true users/#42/profile]"},
        {"KEYS u*", "[users/&00ff/!true users/#42/profile]"},
        {"KEYS use*", "[users/&00ff/!true users/#42/profile]"},
        {"KEYS *42*", "[users/#42/profile]"},
        {"KEYS plain", "[plain]"},
        {"KEYS users/", "[]"},
        {"SCAN 0 MATCH users/* TYPE string", "[0 []]"},
        {"SCAN 0 TYPE string", "[0 [a%2fb plain]]"},
        {"SCAN 0 TYPE rejson-rl", "[0 [users/&00ff/!true users/#42/profile]]"},
        {"TYPE users/#42/profile", "+ReJSON-RL"},
        {"TYPE plain", "+string"},
        {"TYPE none", "+none"},
        {"GET a%%2fb", "hi"},
        {"GET a/b", "(nil)"},
        {"GET users/#42/profile", "-WRONGTYPE*"},
        {"EXISTS users/#42/profile plain none", ":2"},
        {"TTL users/#42/profile", ":-1"},
        {"EXPIRE users/#42/profile 100", ":1"},
        {"KV.TTL ['users',42,'profile']", ":~100"},
        {"RENAME users/#42/profile users/#43", "+OK"},
        {"TTL users/#43", ":~100"},
        {"KV.GET ['users',43]", "{'name':'Ada','id':{'$bigint':'5'}}"},
        {"COPY users/#43 users/#n44", ":1"},
        {"KV.EXISTS ['users',{'$bigint':'44'}]", ":1"},
        {"OBJECT ENCODING users/#43", "msgpack"},
        {"MEMORY USAGE users/#43", ":*"},
        {"MEMORY USAGE ['users',43]", ":*"},
        {"MEMORY USAGE none", "(nil)"},
        {"SET users/#50 x", "+OK"},
        {"KV.GET ['users',50]", "{'$bytes':'eA=='}"},
        {"DEL users/#50 users/#n44", ":2"},
        {"UNLINK users/#43", ":1"},
        {"CLIENT INFO", "* view=tuples*"},
        {"CLIENT VIEW plain", "+OK"},
        {"SCAN 0", "[0 [a/b plain]]"},
        {"GET a/b", "hi"},
    };
    STEPS(steps);
    expect(c, "[+OK [plain]]", "EVAL %s 0",
           "return {redis.call('SET','plain','v'), redis.call('KEYS', 'p*')}");
}

static void a_word_need_not_escape_what_is_clear(void **state)
{
    expect(c, "+OK", "CLIENT VIEW TUPLES");
    expect(c, "+OK", "SET %s 1",
           "b\xc3\xbc"
           "cher/a b/x*[?]#&!\\");
    expect(c, "[b%c3%bccher/a%20b/x%2a%5b%3f%5d#&!%5c]", "KEYS *");
    expect(c, "1", "GET %s", "b%c3%bccher/a%20b/x%2a%5b%3f%5d#&!%5c");
    expect(c, ":1", "KV.EXISTS %s",
           "[\"b\xc3\xbc"
           "cher\",\"a b\",\"x*[?]#&!\\\\\"]");
    expect(c, "-ERR invalid key: string is not UTF-8 at part 1", "GET %s", "\xff");
}

static void words_that_are_no_path_are_named(void **state)
{
    char longer[9001];
    memset(longer, 'x', 9000);
    longer[9000] = '\0';
    static const char *const steps[][2] = {
        {"CLIENT VIEW TUPLES", "+OK"},
        {"SET a//b x", "-ERR invalid key: empty part*at part 2"},
        {"GET a%%2", "-ERR invalid key: '%' without two hex digits at part 1"},
        {"GET a/#x", "-ERR invalid key: '#' must be followed by a number at part 2"},
        {"DEL a b/!x", "-ERR invalid key: '!' must be followed by true or false at part 2"},
        {"CLIENT VIEW", "tuples"},
        {"CLIENT VIEW TUPLES PLAIN", "-ERR syntax error: CLIENT VIEW takes TUPLES or PLAIN"},
        {"CLIENT VIEW trees", "-ERR syntax error: CLIENT VIEW takes TUPLES or PLAIN"},
        {"MULTI", "+OK"},
        {"CLIENT VIEW PLAIN", "-ERR Command not allowed inside a transaction"},
        {"DISCARD", "+OK"},
        {"CLIENT VIEW", "tuples"},
    };
    STEPS(steps);
    expect(c, "-LIMIT invalid key: larger than 2048 bytes", "GET %s", longer);
    expect(c, "-ERR invalid key: a key must have at least one part", "GET %s", "");
    expect(c, "+RESET", "RESET");
    expect(c, "plain", "CLIENT VIEW");
    expect(c, ":0", "EXISTS a//b");
}

static void a_scan_goes_through_all_of_a_prefix(void **state)
{
    char cursor[32] = "0";
    size_t seen = 0;
    size_t pages = 0;
    expect(c, "+OK", "CLIENT VIEW TUPLES");
    for (int i = 0; i < 500; i++) {
        expect(c, "@", "KV.SET ['a',%d,'x'] {'$bytes':'eA=='}", i);
        expect(c, "@", "KV.SET ['b',%d,'x'] 1", i);
    }
    do {
        redisReply *r = ask_reply(c, "SCAN %s MATCH b/* COUNT 30", cursor);
        snprintf(cursor, sizeof cursor, "%s", r->element[0]->str);
        seen += r->element[1]->elements;
        for (size_t i = 0; i < r->element[1]->elements; i++) {
            assert_memory_equal(r->element[1]->element[i]->str, "b/#", 3);
        }
        freeReplyObject(r);
        pages++;
    } while (strcmp(cursor, "0") != 0);
    assert_int_equal(seen, 500);
    assert_in_range(pages, 17, 18); /* the keys of a are not walked through */
    redisReply *first = ask_reply(c, "SCAN 0 MATCH b/* COUNT 30");
    expect(c, "[0 []]", "SCAN %s MATCH a/* COUNT 30", first->element[0]->str);
    freeReplyObject(first);
    bool is_long = false;
    for (int i = 0; i < 50 && !is_long; i++) {
        const char *key = ask(c, "RANDOMKEY");
        assert_true(key[1] == '/');
        is_long = key[0] == 'b';
    }
    assert_true(is_long);
    expect(c, ":1000", "EVAL %s 0", "return #redis.call('KEYS', '*')");
}

static void tools_find_the_json_module(void **state)
{
    expect(c, "[]", "MODULE LIST");
    expect(c, "+OK", "CLIENT VIEW TUPLES");
    expect(c, "[[name ReJSON ver :20609 path  args []]]", "MODULE LIST");
    expect(c, "[[json.get *]]", "COMMAND INFO json.get");
    expect(c, "[(nil)]", "COMMAND INFO ft.info");
}

static void a_user_has_a_view(void **state)
{
    static const char *const steps[][2] = {
        {"KV.SET ['team',1] 1", "@"},
        {"KV.SET ['other',1] 1", "@"},
        {"ACL SETUSER gui on >pw ~team/* &* +@all view=tuples", "+OK"},
        {"ACL SETUSER gui view=trees", "-ERR Error in ACL SETUSER modifier 'view=trees': the view "
                                       "must be plain or tuples"},
        {"ACL GETUSER gui", "[flags [on view=tuples] passwords*"},
        {"ACL SETUSER gui +@all", "+OK"},
        {"ACL LIST", "*user gui on view=tuples #*"},
        {"ACL DRYRUN gui TYPE team/#1", "+OK"},
        {"ACL DRYRUN gui TYPE other/#1",
         "This user has no permissions to access the 'other/#1' key"},
        {"CLIENT VIEW", "plain"},
        {"AUTH gui pw", "+OK"},
        {"CLIENT VIEW", "tuples"},
        {"TYPE team/#1", "+ReJSON-RL"},
        {"TYPE other/#1", "-NOPERM*"},
        {"SCAN 0", "-NOPERM*"},
        {"JSON.GET team/#1", "1"},
        {"JSON.GET other/#1", "-NOPERM*"},
        {"CLIENT VIEW PLAIN", "+OK"},
        {"TYPE team/#1", "-NOPERM*"},
    };
    STEPS(steps);
    expect(w, "+OK", "ACL SETUSER gui view=plain");
    expect(w, "[flags [on] passwords*", "ACL GETUSER gui");
}

static void what_a_view_names_is_watched_and_tracked(void **state)
{
    expect(c, "+OK", "CLIENT VIEW TUPLES");
    expect(w, "@", "KV.SET ['t',1] 1");
    expect(c, "+OK", "WATCH t/#1");
    expect(w, "@", "KV.SET ['t',1] 2");
    expect(c, "+OK", "MULTI");
    expect(c, "+QUEUED", "JSON.GET t/#1");
    expect(c, "(nil)", "EXEC");
    resp3_expect(t, "+OK", "CLIENT VIEW TUPLES");
    resp3_expect(t, "+OK", "CLIENT TRACKING ON");
    resp3_expect(t, "2", "JSON.GET t/#1");
    resp3_expect(t, "(nil)", "GET a%%20b");
    expect(w, "@", "KV.SET ['t',1] 3");
    expect(w, "+OK", "SET %s x", "a b");
    resp3_expect_next(t, ">[invalidate [t/#1]]");
    resp3_expect_next(t, ">[invalidate [a%20b]]");
    resp3_expect(t, "+OK", "CLIENT TRACKING OFF");
    resp3_expect(t, "+OK", "CLIENT TRACKING ON BCAST");
    expect(w, "+OK", "SET %s y", "a b");
    resp3_expect_next(t, ">[invalidate [a%20b]]");
}

/* ---- JSON.* ---- */

static void json_reads_what_is_at_a_path(void **state)
{
    static const char *const steps[][2] = {
        {"KV.SET ['d'] {'a':1,'b':[1,2.5,{'x':'q'}],'when':{'$date':'2023-04-23T00:00:00.000Z'},"
         "'n':{'$bigint':'5'},'e':{},'l':[],'u':{'$u':null},'t':true,'z':null}",
         "@"},
        {"TYPE d", "+object"},
        {"JSON.GET d", "{'a':1,'b':[1,2.5,{'x':'q'}],'when':{'$date':'2023-04-23T00:00:00.000Z'},"
                       "'n':5,'e':{},'l':[],'u':{'$u':null},'t':true,'z':null}"},
        {"JSON.GET d .a", "1"},
        {"JSON.GET d a", "1"},
        {"JSON.GET d $.a", "[1]"},
        {"JSON.GET d b[0]", "1"},
        {"JSON.GET d .b[-1].x", "'q'"},
        {"JSON.GET d $.b[-3]", "[1]"},
        {"JSON.GET d $.b[-4]", "[]"},
        {"JSON.GET d $.b[3]", "[]"},
        {"JSON.GET d .b[3]", "-ERR Path '.b[3]' does not exist"},
        {"JSON.GET d .a.b", "-ERR Path '.a.b' does not exist"},
        {"JSON.GET d .e[0]", "-ERR Path '.e[0]' does not exist"},
        {"JSON.GET d $['when']['$date']", "[]"},
        {"JSON.GET d .a .t", "{'.a':1,'.t':true}"},
        {"JSON.GET d .a $.t $.no", "{'.a':[1],'$.t':[true],'$.no':[]}"},
        {"JSON.GET d .a .no", "-ERR Path '.no' does not exist"},
        {"JSON.GET d NOESCAPE .a", "1"},
        {"JSON.GET d INDENT > NEWLINE ; SPACE _ $.b", "[;>[;>>1,;>>2.5,;>>{;>>>'x':_'q';>>};>];]"},
        {"JSON.GET d INDENT > NEWLINE ; $.e $.l", "{;>'$.e':[;>>{};>],;>'$.l':[;>>[];>];}"},
        {"JSON.GET none", "(nil)"},
        {"JSON.GET none $.a", "(nil)"},
        {"JSON.GET d INDENT", "-ERR syntax error: INDENT needs an argument"},
        {"JSON.MGET d none d $.a", "[[1] (nil) [1]]"},
        {"JSON.MGET d none .zz", "[(nil) (nil)]"},
        {"JSON.TYPE d", "object"},
        {"JSON.TYPE d .b", "array"},
        {"JSON.TYPE d $.b[1]", "[number]"},
        {"JSON.TYPE d .a", "integer"},
        {"JSON.TYPE d .b[2].x", "string"},
        {"JSON.TYPE d .t", "boolean"},
        {"JSON.TYPE d .z", "null"},
        {"JSON.TYPE d .n", "integer"},
        {"JSON.TYPE d .no", "(nil)"},
        {"JSON.TYPE d $.no", "[]"},
        {"JSON.TYPE none $", "(nil)"},
        {"JSON.OBJKEYS d .b[2]", "[x]"},
        {"JSON.OBJKEYS d $.e", "[[]]"},
        {"JSON.OBJKEYS d $.a", "[(nil)]"},
        {"JSON.OBJLEN d", ":9"},
        {"JSON.OBJLEN d .e", ":0"},
        {"JSON.OBJLEN d .l",
         "-WRONGTYPE wrong type of path value - expected object but found array"},
        {"JSON.ARRLEN d .b", ":3"},
        {"JSON.ARRLEN d .l", ":0"},
        {"JSON.ARRLEN d $.a", "[(nil)]"},
        {"JSON.ARRLEN d .no", "-ERR Path '.no' does not exist"},
        {"JSON.STRLEN d .b[2].x", ":1"},
        {"JSON.STRLEN none", "(nil)"},
        {"JSON.DEBUG MEMORY d .b", ":17"},
        {"JSON.DEBUG MEMORY none", "(nil)"},
        {"SET s x", "+OK"},
        {"JSON.GET s", "-WRONGTYPE*"},
        {"JSON.TYPE s", "-WRONGTYPE*"},
        {"JSON.MGET d s .a", "[1 (nil)]"},
        {"KV.FORMAT MSGPACK", "+OK"},
        {"JSON.GET d .n", "5"},
        {"KV.FORMAT JSON", "+OK"},
    };
    STEPS(steps);
    resp3_expect(t, "[[integer]]", "JSON.TYPE d $.a");
    resp3_expect(t, "[object]", "JSON.TYPE d");
    resp3_expect(t, "[(nil)]", "JSON.TYPE none");
}

static void json_paths_go_one_way(void **state)
{
    static const char *const steps[][2] = {
        {"JSON.GET d $..x", "-ERR JSON path '$..x': '..' may match several places;*at offset 2"},
        {"JSON.GET d $.*", "-ERR JSON path '$.*': only members*at offset 2"},
        {"JSON.GET d $.b[*]", "-ERR JSON path '$.b[*]': expected an index or a quoted name at*4"},
        {"JSON.GET d $.b[0:1]", "-ERR JSON path*expected an index*"},
        {"JSON.GET d $.b[?(@.x)]", "-ERR JSON path*expected an index*"},
        {"JSON.GET d $.b[0", "-ERR JSON path*expected ']' at offset 5"},
        {"JSON.GET d $b", "-ERR JSON path*expected '.' or '[' at offset 1"},
        {"JSON.GET d $.", "-ERR JSON path*expected a name at offset 2"},
        {"JSON.GET d .b[-1][-1][-1][-1][-1]", "-ERR JSON path*more than 4 indexes from the end*"},
    };
    char path[600] = "$";
    STEPS(steps);
    for (size_t i = 0; i < 129; i++) memcpy(path + 1 + 2 * i, ".a", 3);
    expect(c, "-ERR JSON path*: more than 128 steps at offset 259", "JSON.GET d %s", path);
    path[1 + 2 * 128] = '\0';
    expect(c, "(nil)", "JSON.GET none %s", path);
    expect(c, "-ERR JSON path*", "JSON.GET d %s", "$[\"a]");
    expect(c, "-ERR JSON path*", "JSON.GET d %s", "$['a");
}

static void json_changes_a_part_of_a_value(void **state)
{
    static const char *const steps[][2] = {
        {"JSON.SET d $.a 1", "-ERR new objects must be created at the root"},
        {"JSON.SET d $ {'a':1} XX", "(nil)"},
        {"JSON.SET d $ {'a':{'$bigint':'9007199254740993'},'l':[]} NX", "+OK"},
        {"JSON.SET d $ 1 NX", "(nil)"},
        {"JSON.SET d $ 1 NX XX", "-ERR syntax error: *'XX'*"},
        {"EXPIRE d 100", ":1"},
        {"JSON.SET d .b {'$date':'2023-04-23T00:00:00.000Z'}", "+OK"},
        {"KV.GET ['d']",
         "{'a':{'$bigint':'9007199254740993'},'l':[],'b':{'$date':'2023-04-23T00:00:00.000Z'}}"},
        {"JSON.SET d $['b']['$date'] '2024-01-01T00:00:00.000Z'", "(nil)"},
        {"JSON.SET d .b {'$date':'soon'}", "-ERR invalid value: $date must be *"},
        {"JSON.GET d .b", "{'$date':'2023-04-23T00:00:00.000Z'}"},
        {"JSON.SET d .b 1,'c':2", "-ERR invalid value: text after the end at offset 1"},
        {"JSON.SET d .b.c 1", "(nil)"},
        {"JSON.DEL d $['b']['$date']", ":0"},
        {"JSON.SET d .l[0] 1", "-ERR array index out of range"},
        {"JSON.ARRAPPEND d .l 1 [2]", ":2"},
        {"JSON.ARRAPPEND d $.l 3", "[:3]"},
        {"JSON.ARRAPPEND d $.a 3", "[(nil)]"},
        {"JSON.ARRAPPEND d $.no 3", "[]"},
        {"JSON.ARRAPPEND d .a 3", "-WRONGTYPE*expected array but found integer"},
        {"JSON.ARRAPPEND d .l 1,2", "-ERR invalid value*"},
        {"JSON.ARRAPPEND none .l 1", "-ERR could not perform*"},
        {"JSON.SET d .l[-1] null", "+OK"},
        {"JSON.GET d .l", "[1,[2],null]"},
        {"JSON.SET d .l[0].x 1", "(nil)"},
        {"JSON.SET d .x.y 1", "(nil)"},
        {"JSON.SET d .l NX 5", "-ERR*"},
        {"JSON.NUMINCRBY d .l[0] 2", "3"},
        {"JSON.NUMINCRBY d $.l[0] -0.5", "[2.5]"},
        {"JSON.NUMINCRBY d .l[0] 1e400", "-ERR result is not a number or infinite"},
        {"JSON.NUMINCRBY d .l[0] x", "-ERR the increment is not a number"},
        {"JSON.NUMINCRBY d $.l[2] 1", "[null]"},
        {"JSON.NUMINCRBY d .l[2] 1", "-WRONGTYPE*expected number but found null"},
        {"JSON.NUMINCRBY d $.no 1", "[]"},
        {"JSON.SET d .m 9007199254740991", "+OK"},
        {"JSON.NUMINCRBY d .m 1", "9007199254740992"},
        {"JSON.DEL d .l[1]", ":1"},
        {"JSON.DEL d .l[-1]", ":1"},
        {"JSON.GET d .l", "[2.5]"},
        {"JSON.DEL d .l[0]", ":1"},
        {"JSON.DEL d .l[0]", ":0"},
        {"JSON.DEL d .a", ":1"},
        {"JSON.DEL d $.m", ":1"},
        {"JSON.FORGET d .b", ":1"},
        {"JSON.GET d", "{'l':[]}"},
        {"TTL d", ":~100"},
        {"JSON.SET d . 5", "+OK"},
        {"TTL d", ":~100"},
        {"JSON.DEL d", ":1"},
        {"JSON.DEL d", ":0"},
        {"SET s x", "+OK"},
        {"JSON.SET s . 1", "-WRONGTYPE*"},
        {"JSON.DEL s", "-WRONGTYPE*"},
        {"GET s", "x"},
        {"MULTI", "+OK"},
        {"JSON.SET t . {'n':1}", "+QUEUED"},
        {"JSON.NUMINCRBY t .n 1", "+QUEUED"},
        {"EXEC", "[+OK 2]"},
    };
    STEPS(steps);
    expect(c, "+OK", "JSON.SET t %s 1", "$['k\\'\"']");
    expect(c, "{'n':2,'k'\\'':1}", "JSON.GET t");
    expect(c, "[1]", "JSON.GET t %s", "$[\"k'\\\"\"]");
    expect(c, ":1", "JSON.DEL t %s", "$[\"k'\\u0022\"]");
}

static void what_would_be_too_much_is_refused(void **state)
{
    static char text[1200004];
    text[0] = '[';
    for (size_t i = 0; i < 600000; i++) memcpy(text + 1 + 2 * i, "1,", 2);
    memcpy(text + 1200000, "1]", 3);
    expect(w, "+OK", "JSON.SET big . %s", text);
    expect(w, "-LIMIT *", "JSON.GET big INDENT %0200d NEWLINE x", 0);
    const char *argv[70] = {"JSON.GET", "big"};
    for (size_t i = 2; i < 70; i++) argv[i] = "[0]";
    redisReply *r = redisCommandArgv(w, 70, argv, NULL);
    assert_non_null(r);
    assert_int_equal(r->type, REDIS_REPLY_ERROR);
    assert_memory_equal(r->str, "LIMIT ", 6);
    freeReplyObject(r);
    argv[0] = "JSON.MGET";
    for (size_t i = 1; i < 69; i++) argv[i] = "big";
    argv[69] = "$";
    r = redisCommandArgv(w, 70, argv, NULL);
    assert_non_null(r);
    assert_int_equal(r->type, REDIS_REPLY_ERROR);
    assert_memory_equal(r->str, "LIMIT ", 6);
    freeReplyObject(r);
    expect(w, ":600000", "JSON.ARRLEN big");
}

static void json_changes_are_notified(void **state)
{
    expect(c, "*", "SUBSCRIBE __keyspace@0__:n");
    expect(w, "+OK", "JSON.SET n . {'a':[1]}");
    expect_next(c, "[message * json_set]");
    expect(w, ":2", "JSON.ARRAPPEND n .a 1");
    expect_next(c, "[message * json_arrappend]");
    expect(w, "2", "JSON.NUMINCRBY n .a[0] 1");
    expect_next(c, "[message * json_numincrby]");
    expect(w, ":1", "JSON.DEL n .a");
    expect_next(c, "[message * json_del]");
}

/* ---- values that plain JSON does not have -------------------------------------------------------- */

static void tags_are_values_and_no_objects(void **state)
{
    static const struct {
        const char *value, *type, *shown;
    } tags[] = {
        {"{'$bigint':'5'}", "integer", "5"},
        {"{'$bigint':'-9007199254740993'}", "integer", "-9007199254740993"},
        {"{'$date':'2023-04-23T00:00:00.000Z'}", "date", NULL},
        {"{'$bytes':'eA=='}", "bytes", NULL},
        {"{'$map':[[1,2]]}", "map", NULL},
        {"{'$set':[1,2]}", "set", NULL},
        {"{'$number':'NaN'}", "number", NULL},
        {"{'$number':'-0'}", "number", NULL},
        {"{'$undefined':true}", "undefined", NULL},
        {"{'$regexp':['a','g']}", "regexp", NULL},
        {"{'$error':{'name':'E','message':'m'}}", "error", NULL},
        {"{'$typed':['Uint8Array','AQI=']}", "typed", NULL},
    };
    for (size_t i = 0; i < sizeof tags / sizeof tags[0]; i++) {
        const char *value = tags[i].value;
        const char *name = strchr(value, '$');
        char path[64];
        char set[256];
        char wanted[128];
        snprintf(path, sizeof path, "$.a['%.*s']", (int)strcspn(name, "'"), name);
        snprintf(set, sizeof set, "JSON.SET d $ {'a':%s,'l':[%s]}", value, value);
        expect(c, "+OK", set);
        expect(c, tags[i].type, "JSON.TYPE d .a");
        snprintf(wanted, sizeof wanted, "[%s]", tags[i].shown != NULL ? tags[i].shown : value);
        expect(c, wanted, "JSON.GET d $.a");
        expect(c, wanted, "JSON.GET d .l");
        expect(c, "[]", "JSON.GET d %s", path);
        expect(c, "(nil)", "JSON.SET d %s 1", path);
        expect(c, "(nil)", "JSON.SET d .a.x 1");
        expect(c, ":0", "JSON.DEL d %s", path);
        expect(c, "[(nil)]", "JSON.OBJLEN d $.a");
        expect(c, "[(nil)]", "JSON.OBJKEYS d $.a");
        snprintf(wanted, sizeof wanted, "-WRONGTYPE*expected object but found %s", tags[i].type);
        expect(c, wanted, "JSON.OBJLEN d .a");
        expect(c, "[(nil)]", "JSON.ARRAPPEND d $.a 1");
    }
}

static void an_object_with_the_name_of_a_tag_is_an_object(void **state)
{
    static const char *const steps[][2] = {
        {"JSON.SET d $ {'a':{'$object':{'$date':1}}}", "+OK"},
        {"JSON.TYPE d .a", "object"},
        {"JSON.OBJKEYS d .a", "[$date]"},
        {"JSON.OBJLEN d .a", ":1"},
        {"JSON.GET d $['a']['$date']", "[1]"},
        {"JSON.SET d $['a']['$date'] 2", "+OK"},
        {"JSON.SET d .a.b 3", "+OK"},
        {"JSON.OBJKEYS d .a", "[$date b]"},
        {"JSON.DEL d .a.b", ":1"}, /* and is no date now */
        {"JSON.GET d .a", "{'$object':{'$date':2}}"},
        {"JSON.DEL d $['a']['$date']", ":1"},
        {"JSON.GET d", "{'a':{}}"},
        {"JSON.SET d $['a']['$bigint'] '5'", "+OK"},
        {"JSON.GET d", "{'a':{'$object':{'$bigint':'5'}}}"},
        {"JSON.TYPE d .a", "object"},
        {"JSON.SET d $ {'$object':{'b':1},'x':2}", "+OK"}, /* no tag: it has two members */
        {"JSON.OBJKEYS d", "[$object x]"},
        {"JSON.GET d $['$object'].b", "[1]"},
        {"JSON.DEL d .x", ":1"},
        {"JSON.OBJKEYS d", "[$object]"},
        {"JSON.SET d $ {'$bigint':{'$bigint':'7'},'s':'{\\'$bigint\\':\\'8\\'}'}", "+OK"},
        {"JSON.GET d", "{'$bigint':7,'s':'{\\'$bigint\\':\\'8\\'}'}"},
        {"JSON.GET d $['$bigint']", "[7]"},
    };
    STEPS(steps);
}

static void bigints_are_integers_and_exact(void **state)
{
    static const char *const steps[][2] = {
        {"KV.SET ['n'] {'a':9007199254740993,'b':{'$bigint':'5'},'f':0.5}", "@"},
        {"JSON.TYPE n .a", "integer"},
        {"JSON.TYPE n .b", "integer"},
        {"JSON.GET n", "{'a':9007199254740993,'b':5,'f':0.5}"},
        {"JSON.MGET n n $.b", "[[5] [5]]"},
        {"CLIENT VIEW TUPLES", "+OK"},
        {"JSON.GET n", "{'a':{'$bigint':'9007199254740993'},'b':{'$bigint':'5'},'f':0.5}"},
        {"JSON.TYPE n .a", "integer"},
        {"JSON.NUMINCRBY n .a 0", "9007199254740993"},
        {"CLIENT VIEW PLAIN", "+OK"},
        {"JSON.NUMINCRBY n .a 2", "9007199254740995"},
        {"JSON.NUMINCRBY n $.a -9007199254740994", "[1]"},
        {"JSON.NUMINCRBY n .b 100000000000000000000000000000000000001",
         "100000000000000000000000000000000000006"},
        {"KV.GET ['n']", "{'a':{'$bigint':'1'},'b':{'$bigint':"
                         "'100000000000000000000000000000000000006'},'f':0.5}"},
        {"JSON.NUMINCRBY n .a 0.5", "1.5"},
        {"JSON.NUMINCRBY n .f 9007199254740993", "9007199254740992.0"},
        {"JSON.SET n .c 9007199254740991", "+OK"},
        {"JSON.NUMINCRBY n .c 1", "9007199254740992"},
        {"JSON.NUMINCRBY n .c 1", "9007199254740993"},
        {"JSON.SET n .c {'$number':'-0'}", "+OK"},
        {"JSON.NUMINCRBY n .c 2", "2"},
        {"JSON.SET n .c {'$number':'Infinity'}", "+OK"},
        {"JSON.NUMINCRBY n .c 2", "-ERR result is not a number or infinite"},
        {"JSON.SET n .c {'$date':null}", "+OK"},
        {"JSON.NUMINCRBY n .c 2", "-WRONGTYPE*expected number but found date"},
    };
    STEPS(steps);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, enter, leave)
    const struct CMUnitTest tests[] = {
        TEST(a_view_shows_all_tuples_by_their_paths),
        TEST(a_word_need_not_escape_what_is_clear),
        TEST(words_that_are_no_path_are_named),
        TEST(a_scan_goes_through_all_of_a_prefix),
        TEST(tools_find_the_json_module),
        TEST(a_user_has_a_view),
        TEST(what_a_view_names_is_watched_and_tracked),
        TEST(json_reads_what_is_at_a_path),
        TEST(json_paths_go_one_way),
        TEST(json_changes_a_part_of_a_value),
        TEST(what_would_be_too_much_is_refused),
        TEST(json_changes_are_notified),
        TEST(tags_are_values_and_no_objects),
        TEST(an_object_with_the_name_of_a_tag_is_an_object),
        TEST(bigints_are_integers_and_exact),
    };
    return cmocka_run_group_tests(tests, start, group_stop);
}
