/* Scripts: each is one transaction, nothing of one that fails has happened, no client waits for one
 * that takes long, and none reaches what it must not. tsan server: yes
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "client.h"
#include "group.h"
#include "load_help.h"

static redisContext *c, *d;

static int start(void **state)
{
    group_opens(&c, &d, NULL);
    server = testserver_start_with("--enable-debug-command", "yes", NULL);
    return 0;
}

static int leave(void **state)
{
    expect(c, "+OK", "CONFIG SET script-time-limit 5000");
    expect(c, "+OK", "CONFIG SET script-memory-limit 64mb");
    return group_leave(state);
}

#define eval(wanted, script) expect(c, wanted, "EVAL %s 0", script)

/* A script that takes far longer than a turn of the loop. */
#define SPIN "local n = 0 for i = 1, 3000000 do n = n + 1 end "
#define LIMIT_MS 60000 /* what has not happened by then never will */
#define FOR_EVER "while true do end "

/* Sends it, and does not wait. */
static void begin_script(redisContext *by, const char *script)
{
    int done = 0;
    say(by, "EVAL %s 0", script);
    while (!done) {
        if (redisBufferWrite(by, &done) != REDIS_OK) fail_msg("%s", by->errstr);
    }
}

/* ---- one transaction ------------------------------------------------------------------------- */

static void what_a_script_writes_has_one_version(void **state)
{
    eval("[@ @]", "local a = redis.call('KV.SET', '[\"a\"]', '1') "
                  "local b = redis.call('KV.SET', '[\"b\"]', '2') return {a, b}");
    eval(":1", "local a = redis.call('KV.GET', '[\"a\"]', 'WITHVERSION') "
               "local b = redis.call('KV.GET', '[\"b\"]', 'WITHVERSION') return a[2] == b[2]");
    /* And it is the one that is stored. */
    eval(":1", "local v = redis.call('KV.SET', '[\"a\"]', '1') "
               "return redis.call('KV.GET', '[\"a\"]', 'WITHVERSION')[2] == v");
    eval("*", "return redis.call('KV.SET', '[\"s\"]', '{\"at\":{\"$versionstamp\":true}}')");
    eval(":1", "local e = redis.call('KV.GET', '[\"s\"]', 'WITHVERSION') "
               "return cjson.decode(e[1]).at == e[2]");
}

static void a_script_sees_what_it_wrote(void **state)
{
    eval("[:1 2 :1 :0]", "redis.call('set', 'n', 1) return {redis.call('incrby', 'n', 0), "
                         "tostring(redis.call('incr', 'n')), redis.call('del', 'n'), "
                         "redis.call('exists', 'n')}");
}

static void nothing_of_a_script_that_fails_has_happened(void **state)
{
    expect(c, "+OK", "SET before 1");
    eval("-ERR user_script:1: no*",
         "redis.call('set', 'x', 1) redis.call('del', 'before') error('no')");
    eval("-WRONG thing", "redis.call('set', 'x', 1) return redis.error_reply('WRONG thing')");
    eval("-ERR*", "redis.call('set', 'x', 1) redis.call('nope')");
    eval("-ERR value is not an integer*",
         "redis.call('set', 'x', 'a') return redis.call('incr', 'x')");
    eval("-ERR reached lua stack limit",
         "redis.call('set', 'x', 1) local a = {} a[1] = a return a");
    expect(c, "[:0 :1]", "EVAL %s 0",
           "return {redis.call('exists', 'x'), redis.call('exists', 'before')}");
}

static void a_command_that_does_not_exist_is_named(void **state)
{
    eval("-ERR Unknown Redis command called from script: 'ABSENT' script: *, on *user_script:1.",
         "redis.call('ABSENT', 'a', '*', 'b', 1)");
    eval("-ERR Unknown Redis command called from script: 'XADDX'; did you mean XADD?",
         "return redis.pcall('XADDX', 'a')");
    eval("-ERR Unknown Redis command called from script: 'OBJECT|A??B' script: *",
         "redis.call('OBJECT', 'A\\r\\nB')");
    eval("ERR Unknown Redis command called from script: 'X'",
         "local ok, e = pcall(redis.call, 'X') return e");
    expect(c, "lib", "FUNCTION LOAD %s",
           "#!lua name=lib\nredis.register_function('f', function() "
           "return redis.call('NOSUCH') end)");
    expect(c, "-ERR Unknown Redis command called from script: 'NOSUCH' script: f, *", "FCALL f 0");
    expect(c, "+OK", "FUNCTION FLUSH");
}

/* An error that is caught: what its command did is undone, all else stays. */
static void a_command_with_an_error_leaves_nothing(void **state)
{
    eval(
        "[:0 1 :5]",
        "redis.call('set', 's', '1') redis.call('KV.SET', '[\"n\"]', '5') "
        "redis.pcall('KV.ATOMIC', 'SET', '[\"new\"]', '1', 'SET', '[\"n\"]', '6', 'SUM', '[\"s\"]', '1') "
        "return {redis.call('KV.EXISTS', '[\"new\"]'), redis.call('get', 's'), "
        "tonumber(redis.call('KV.GET', '[\"n\"]'))}");
    /* Also when there are so many that they are found by a table. */
    eval(":40",
         "for i = 1, 40 do redis.call('set', 'k' .. i, i) "
         "redis.pcall('KV.ATOMIC', 'SET', '[\"m' .. i .. '\"]', '1', 'SET', '[\"k1\"]', '0', "
         "'SUM', '[\"k1\"]', '{\"$bigint\":\"1\"}') end "
         "local n = 0 for i = 1, 40 do n = n + redis.call('exists', 'k' .. i) "
         "- redis.call('KV.EXISTS', '[\"m' .. i .. '\"]') end return n");
    expect(c, "1", "GET k1");
    expect(c, "40", "GET k40");
    expect(c, ":42", "DBSIZE");
}

static void what_a_script_wrote_is_on_disk(void **state)
{
    eval(":2", "redis.call('set', 'kept', 1) return redis.call('incr', 'kept')");
    group_again(true);
    expect(c, "2", "GET kept");
}

static void a_script_runs_between_multi_and_exec(void **state)
{
    expect(c, "+OK", "MULTI");
    expect(c, "+QUEUED", "SET a 1");
    expect(c, "+QUEUED", "EVAL %s 1 a", "return redis.call('incr', KEYS[1])");
    expect(c, "+QUEUED", "GET a");
    expect(c, "[+OK :2 2]", "EXEC");
    expect(c, "+OK", "MULTI");
    expect(c, "+QUEUED", "SET a 5");
    expect(c, "+QUEUED", "EVAL %s 0", "error('no')");
    expect(c, "-EXECABORT command 2 eval: ERR user_script:1: no*", "EXEC");
    expect(c, "+OK", "MULTI");
    expect(c, "+QUEUED", "SET a 5");
    expect(c, "+QUEUED", "EVAL %s 0", FOR_EVER);
    expect(c, "-EXECABORT command 2 eval: LIMIT between MULTI and EXEC*", "EXEC");
    expect(c, "2", "GET a");
}

static void messages_of_a_script_are_sent_when_it_has_happened(void **state)
{
    expect(d, "[subscribe ch :1]", "SUBSCRIBE ch");
    eval("-*", "redis.call('publish', 'ch', 'never') error('no')");
    eval(":1", "return redis.call('publish', 'ch', 'told')");
    expect_next(d, "[message ch told]");
}

static void a_script_works_with_queues(void **state)
{
    eval("*", "return redis.call('KV.ENQUEUE', 'q', '{\"n\":1}')");
    eval("[{'n':1} :1 :1]", "local m = redis.call('KV.DEQUEUE', 'q')[1] "
                            "return {m[3], m[4], redis.call('KV.ACK', m[5])}");
    eval("(nil)", "return redis.call('KV.DEQUEUE', 'q')");
}

static void a_database_that_a_script_selects_is_its_own(void **state)
{
    eval("+OK", "redis.call('select', 3) return redis.call('set', 'there', 1)");
    expect(c, ":0", "EXISTS there");
    expect(c, "+OK", "SELECT 3");
    expect(c, "1", "GET there");
    expect(c, "+OK", "SELECT 0");
}

static void a_script_that_only_reads_is_held_to_it(void **state)
{
    expect(c, "-ERR Write commands are not allowed from read-only scripts.*", "EVAL_RO %s 0",
           "return redis.call('set', 'x', 1)");
    expect(c, "(nil)", "EVAL_RO %s 0", "return redis.call('get', 'x')");
    expect(c, "-ERR Write commands are not allowed*", "EVAL %s 0",
           "#!lua flags=no-writes\nreturn redis.call('KV.DEL', '[\"x\"]')");
}

/* ---- who may --------------------------------------------------------------------------------- */

static void each_command_of_a_script_is_asked_for(void **state)
{
    expect(c, "+OK", "SET secret x");
    expect(c, "+OK", "ACL SETUSER bob reset on nopass +@all -incr ~mine* &* alldbs");
    expect(d, "+OK", "AUTH bob x");
    expect(d, "-NOPERM*", "EVAL %s 1 secret", "return redis.call('get', KEYS[1])");
    expect(d, "-NOPERM*", "EVAL %s 0", "return redis.call('incr', 'mine')");
    expect(d, "+OK", "EVAL %s 0", "return redis.call('set', 'mine', 1)");
    expect(d, "[:1 (nil)]", "EVAL %s 0",
           "return {redis.acl_check_cmd('get', 'mine1'), redis.acl_check_cmd('get', 'secret')}");
    expect(d, "[:1 (nil)]", "EVAL %s 0",
           SPIN
           "return {redis.acl_check_cmd('get', 'mine1'), redis.acl_check_cmd('get', 'secret')}");
    expect(c, "+OK", "ACL SETUSER bob -@scripting");
    expect(d, "-NOPERM*", "EVAL %s 0", "return 1");
    expect(c, ":1", "ACL DELUSER bob");
}

/* ---- the scripts that are known -------------------------------------------------------------- */

static void scripts_are_known_by_their_sha1(void **state)
{
    expect(c, "+OK", "SCRIPT FLUSH");
    expect(c, "e0e1f9fabfc9d4800c877a703b823ac0578ff8db", "SCRIPT LOAD %s", "return 1");
    expect(c, ":1", "EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db 0");
    expect(c, ":1", "EVALSHA E0E1F9FABFC9D4800C877A703B823AC0578FF8DB 0");
    expect(c, ":1", "EVALSHA_RO e0e1f9fabfc9d4800c877a703b823ac0578ff8db 0");
    expect(c, "*\r\nused_memory_scripts_eval:8\r\nnumber_of_cached_scripts:1\r\n*", "INFO memory");
    expect(c, "+OK", "SCRIPT FLUSH");
    expect(c, "*\r\nused_memory_scripts_eval:0\r\nnumber_of_cached_scripts:0\r\n*", "INFO memory");
    expect(c, "-NOSCRIPT No matching script. Please use EVAL.",
           "EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db 0");
    eval(":1", "return 1");
    expect(c, ":1", "EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db 0");
}

static void the_oldest_scripts_are_forgotten(void **state)
{
    char sha[64];
    snprintf(sha, sizeof sha, "%s", ask(c, "SCRIPT LOAD %s", "return 'first'"));
    for (int i = 0; i < 10000; i++) say(c, "SCRIPT LOAD return%d()", i);
    for (int i = 0; i < 10000; i++) expect_next(c, "*");
    expect(c, "-NOSCRIPT*", "EVALSHA %s 0", sha);
    expect(c, "+OK", "SCRIPT FLUSH");
}

/* What was compiled of them is let go before there is no memory for another one. */
static void many_scripts_leave_memory_for_others(void **state)
{
    char *script = malloc(20000);
    for (int i = 0; i < 1500; i++) {
        int len = snprintf(script, 20000, "local t = {} ");
        for (int k = 0; k < 300; k++) {
            len += snprintf(script + len, 20000 - (size_t)len, "t[%d] = %d ", k, i);
        }
        snprintf(script + len, 20000 - (size_t)len, "return t[7]");
        char wanted[16];
        snprintf(wanted, sizeof wanted, ":%d", i);
        expect(c, wanted, "EVAL %s 0", script);
    }
    free(script);
    expect(c, "+OK", "SCRIPT FLUSH");
}

/* One that a turn's memory is too small for is compiled by a thread. */
static void a_script_as_large_as_may_be_runs(void **state)
{
    char *script = malloc(1 << 20);
    size_t len = 0;
    for (int i = 0; len < 1000000; i++) {
        len += (size_t)sprintf(script + len, "KEYS[%d] = '%d' ", i, i);
    }
    snprintf(script + len, (1 << 20) - len, "return #KEYS[77]");
    expect(c, ":2", "EVAL %s 0", script);
    free(script);
}

static void a_script_that_is_too_large_is_refused(void **state)
{
    size_t len = (1 << 20) + 1;
    char *code = malloc(len + 1);
    memset(code, ' ', len);
    code[len] = '\0';
    expect(c, "-LIMIT a script of 1048577 bytes exceeds 1048576", "EVAL %s 0", code);
    code[len - 1] = '\0';
    expect(c, "(nil)", "EVAL %s 0", code);
    free(code);
}

/* ---- scripts that take long ------------------------------------------------------------------ */

static void a_long_script_is_one_transaction_too(void **state)
{
    eval(
        "[:3000000 :2 @ @]", SPIN
        "redis.call('set', 'l', 1) local v = redis.call('KV.SET', '[\"v\"]', '1') "
        "redis.call('KV.SET', '[\"w\"]', '{\"at\":\"' .. v .. '\"}') "
        "return {n, redis.call('incr', 'l'), v, redis.call('KV.GET', '[\"v\"]', 'WITHVERSION')[2]}");
    /* What stood for its versionstamp was replaced by it. */
    eval("[:1 :1]", "local v = redis.call('KV.GET', '[\"v\"]', 'WITHVERSION')[2] "
                    "return {redis.call('KV.GET', '[\"w\"]', 'WITHVERSION')[2] == v, "
                    "cjson.decode(redis.call('KV.GET', '[\"w\"]')).at == v}");
    char *version = strdup(ask(c, "EVAL %s 0", SPIN "return redis.call('KV.SET', '[\"v\"]', '1')"));
    eval(version, "return redis.call('KV.GET', '[\"v\"]', 'WITHVERSION')[2]");
    free(version);
    eval("-ERR user_script:1: no*", SPIN "redis.call('set', 'l', 9) error('no')");
    eval("-OH no", SPIN "redis.call('set', 'l', 9) return redis.error_reply('OH no')");
    expect(c, "2", "GET l");
    expect(d, "[subscribe ch :1]", "SUBSCRIBE ch");
    eval(":1", SPIN "return redis.call('publish', 'ch', 'told')");
    expect_next(d, "[message ch told]");
}

static void a_long_script_undoes_what_failed(void **state)
{
    eval("[:0 :7]",
         SPIN "redis.call('set', 's', '7') "
              "redis.pcall('KV.ATOMIC', 'SET', '[\"new\"]', '1', 'SUM', '[\"s\"]', '1') "
              "return {redis.call('KV.EXISTS', '[\"new\"]'), tonumber(redis.call('get', 's'))}");
}

static void others_go_on_while_a_script_runs(void **state)
{
    expect(c, "+OK", "CONFIG SET script-time-limit 60000");
    begin_script(c, FOR_EVER);
    for (int served = 0; served < 60; served++) expect(d, "+OK", "SET other 1");
    long until = testserver_now_ms() + 60000; /* it runs still */
    while (strcmp(ask(d, "SCRIPT KILL"), "+OK") != 0) assert_true(testserver_now_ms() < until);
    expect_next(c, "-*");
    expect(c, "+OK", "CONFIG SET script-time-limit 1000");
    eval("-LIMIT the script exceeded script-time-limit (1000 ms)*", FOR_EVER);
}

static void coroutines_are_nested_to_a_depth(void **state)
{
    eval("-ERR *C stack overflow*",
         "local function f() local co = coroutine.wrap(f) return co() end return f()");
    eval(":90", "local function f(n) if n == 90 then return n end "
                "return coroutine.wrap(f)(n + 1) end return f(0)");
}

static void a_script_is_killed_with_all_that_it_did(void **state)
{
    expect(d, "-NOTBUSY No scripts in execution right now.", "SCRIPT KILL");
    begin_script(c, "redis.call('set', 'x', 1) " FOR_EVER);
    long begin = testserver_now_ms();
    while (strcmp(ask(d, "SCRIPT KILL"), "+OK") != 0) {
        assert_true(testserver_now_ms() - begin < LIMIT_MS);
        testserver_pause();
    }
    expect_next(c, "-ERR Script killed by user with SCRIPT KILL*");
    expect(c, ":0", "EXISTS x");
    /* One that catches everything ends too. */
    begin_script(c, "while true do pcall(function() while true do end end) end");
    begin = testserver_now_ms();
    while (strcmp(ask(d, "SCRIPT KILL"), "+OK") != 0) {
        assert_true(testserver_now_ms() - begin < LIMIT_MS);
        testserver_pause();
    }
    expect_next(c, "-ERR Script killed by user*");
}

/* Each goes on for ever, where an error is on its way or in what C calls: by time it must end. */
static const char *const endless[] = {
    "xpcall(function() error('x') end, function() while true do end end)",
    "xpcall(function() while true do end end, function() while true do end end)",
    "while true do xpcall(error, function() while true do end end) end",
    "xpcall(error, function() xpcall(error, function() while true do end end) end)",
    "xpcall(error, function() pcall(function() while true do end end) while true do end end)",
    "xpcall(error, function() coroutine.wrap(function() while true do end end)() end)",
    "xpcall(error, function(e) for i = 1, 1e9 do pcall(error) end error(e) end)",
    "coroutine.wrap(function() xpcall(error, function() while true do end end) end)()",
    "local function f() return 1 + f() end xpcall(f, function() while true do end end)",
    "local t = setmetatable({}, {__index = function() while true do end end}) "
    "xpcall(error, function() return t.x end)",
    "xpcall(redis.call, function() while true do end end)",
    "xpcall(cjson.decode, function() while true do end end)",
    "error(setmetatable({}, {__tostring = function() while true do end end}), 0) ",
    /* Coroutines that each end before their own count of instructions is full. */
    "local function f(n) if n > 0 then for i = 1, 9 do coroutine.wrap(f)(n - 1) end end end f(60)",
    "local function f(n) if n > 0 then for i = 1, 9 do pcall(coroutine.wrap(f), n - 1) end end "
    "end f(60)",
    "local f = coroutine.wrap(function() while true do coroutine.yield() end end) "
    "while true do f() end",
    /* What C does between two instructions. */
    "table.sort({1, 2, 3}, function() while true do end end)",
    "string.gsub('x', 'x', function() while true do end end)",
    "load(function() while true do end end)",
    "load(function() return ' ' end)",
    "table.foreach({1}, function() while true do end end)",
    "local m = {__lt = function() while true do end end} "
    "return setmetatable({}, m) < setmetatable({}, m)",
    "return setmetatable({}, {__concat = function() while true do end end}) .. 'x'",
    "local a = ('x'):rep(1e5) return #string.gsub(a, '(x-)', ('%1'):rep(5e5))",
    "return string.find(('a'):rep(1e6), '[a' .. ('b'):rep(1e6) .. ']c')",
    "return {map = setmetatable({}, {__index = 1}), verbatim_string = 1, "
    "err = coroutine.wrap(function() while true do end end)()}",
};

static void a_script_ends_wherever_it_goes_on_for_ever(void **state)
{
    expect(c, "+OK", "CONFIG SET script-time-limit 200");
    for (size_t i = 0; i < sizeof endless / sizeof endless[0]; i++) {
        const char *found = ask(c, "EVAL %s 0", endless[i]);
        bool is_raised = strncmp(endless[i], "error", 5) == 0; /* nothing asks it for its text */
        if (!text_fits(found, is_raised ? "-ERR*" : "-LIMIT the script exceeded*")) {
            fail_msg("%s: %s", endless[i], found);
        }
        expect(d, "+PONG", "PING");
    }
    expect(c, "+OK", "CONFIG SET script-time-limit 60000");
    eval("-LIMIT the script exceeds script-memory*",
         "xpcall(function() local s = 'x' while true do s = s .. s end end, "
         "function() while true do end end)");
    expect(c, "+OK", "CONFIG SET script-time-limit 200");
    expect(c, "lib", "FUNCTION LOAD %s",
           "#!lua name=lib\nredis.register_function('f', function() "
           "xpcall(error, function() while true do end end) end)");
    expect(c, "-LIMIT the script exceeded*", "FCALL f 0");
    expect(c, "+OK", "FUNCTION FLUSH");
}

/* What an error leaves behind is not kept. */
static void failed_resumes_are_not_counted(void **state)
{
    eval(":7", "for i = 1, 200 do pcall(coroutine.resume, 5) end "
               "for i = 1, 200 do xpcall(coroutine.resume, tostring) end "
               "return coroutine.wrap(function() return 7 end)()");
}

/* Waits until a function runs long, or until none does. */
static void wait_for_run(bool runs)
{
    long begin = testserver_now_ms();
    while ((strstr(ask(d, "FUNCTION STATS"), "running_script (nil)") == NULL) != runs) {
        assert_true(testserver_now_ms() - begin < LIMIT_MS);
        testserver_pause();
    }
}

static void a_script_whose_client_is_gone_ends(void **state)
{
    redisContext *gone = testserver_connect(server);
    expect(c, "+OK", "CONFIG SET script-time-limit 60000");
    expect(c, "gone", "FUNCTION LOAD %s",
           "#!lua name=gone\nredis.register_function('for_ever', function() "
           "redis.call('set', 'x', 1) " FOR_EVER "end)");
    say(gone, "FCALL for_ever 0");
    for (int done = 0; !done;) assert_int_equal(redisBufferWrite(gone, &done), REDIS_OK);
    wait_for_run(true);
    redisFree(gone);
    wait_for_run(false);
    expect(c, ":0", "EXISTS x");
    expect(c, "+OK", "FUNCTION DELETE gone");
}

/* What it read was changed while it ran: it runs again, and sees the change. */
static void a_long_script_that_read_something_old_runs_again(void **state)
{
    expect(c, "+OK", "SET seen 1");
    begin_script(c, "local v = redis.call('get', 'seen') local n = 0 "
                    "for i = 1, 20000000 do n = n + 1 end redis.call('set', 'copy', v) return v");
    usleep(20000);
    expect(d, "+OK", "SET seen 2");
    expect_next(c, "2");
    expect(c, "2", "GET copy");
}

static void a_script_may_have_so_much_memory(void **state)
{
    expect(c, "+OK", "CONFIG SET script-time-limit 60000");
    eval("-LIMIT the script exceeds script-memory-limit*",
         "local t = {} while true do t[#t + 1] = string.rep('x', 100000) .. #t end");
    eval("-LIMIT the script exceeds script-memory-limit*",
         "redis.call('set', 'x', 1) while true do pcall(string.rep, 'x', 100000000) end");
    expect(c, ":0", "EXISTS x");
    expect(c, "+OK", "CONFIG SET script-memory-limit 128mb");
    eval(":40000000", "return #string.rep('x', 40000000)");
}

/* What libraries in C would take at once, and what they take beside Lua's own memory. */
static const char *const greedy[] = {
    "cjson.encode_sparse_array(true, 0, 0) local t = {} t[4e7] = 1 return #cjson.encode(t)",
    "cjson.encode_sparse_array(true, 0, 0) local t = {} t[1e9] = 1 return #cjson.encode(t)",
    "cjson.encode_sparse_array(true, 0, 0) return #cjson.encode({a = {[2147483647] = 1}})",
    "pcall(cjson.encode_sparse_array, true, 0, -1) return #cjson.encode({[1e9] = 1})",
    "cjson.encode_sparse_array(true, 2147483647, 0) return #cjson.encode({[1e9] = 1, [2] = 2})",
    "local s = ('\1'):rep(8e6) return #cjson.encode({s, s})",
    "local t = {('x'):rep(1e6)} for i = 1, 90 do t[i] = t[1] end return #cjson.encode(t)",
    "local t = {1} for i = 1, 60 do t = {t, t} end return #cjson.encode(t)",
    "local t = {('x'):rep(1e6)} for i = 1, 90 do t[i] = t[1] end return #cmsgpack.pack(t)",
    "local s = ('[],'):rep(4e6) .. '1' return #cjson.decode('[' .. s .. ']')",
    "local one = '{\"a\":1,\"b\":1,\"c\":1,\"d\":1,\"e\":1},' "
    "return #cjson.decode('[' .. one:rep(175000) .. '1]')",
    "return #string.rep('ab', 2e7)",
    "return #string.rep('ab', 2e9)",
    "local t = {('x'):rep(1e6)} for i = 1, 90 do t[i] = t[1] end return #table.concat(t)",
    "local t = {('x'):rep(1e6)} for i = 1, 90 do t[i] = t[1] end return t",
    "local s = ('x'):rep(1e6) return #string.format(('%s'):rep(90), unpack((function() "
    "local t = {} for i = 1, 90 do t[i] = s end return t end)()))",
};

static void what_libraries_take_counts_as_memory(void **state)
{
    expect(c, "+OK", "CONFIG SET script-time-limit 60000");
    for (size_t i = 0; i < sizeof greedy / sizeof greedy[0]; i++) {
        const char *found = ask(c, "EVAL %s 0", greedy[i]);
        if (!text_fits(found, "-LIMIT the script exceeds script-memory*")) {
            fail_msg("%s: %.200s", greedy[i], found);
        }
    }
    /* Pauses and retries with all the memory of a long script where a turn's is too small. */
    char *big = malloc(2000001);
    memset(big, 'x', 2000000);
    big[2000000] = '\0';
    expect(c, ":2000002", "EVAL %s 0 %s", "return #cjson.encode(ARGV[1])", big);
    expect(c, ":2000005", "EVAL %s 0 %s", "return #cmsgpack.pack(ARGV[1])", big);
    expect(c, "[:6000000 :6000000]", "EVAL %s 0 %s",
           "local t = {} for i = 1, 3 do t[i] = ARGV[1] end "
           "return {#table.concat(t), #ARGV[1]:rep(3)}",
           big);
    free(big);
    eval(":6000", "cjson.encode_sparse_array(true, 0, 0) local t = {} t[1000] = cjson.null "
                  "return #cjson.encode(t) + 999");
    eval("-ERR*excessively sparse*", "return cjson.encode({[1e9] = 1})");
    eval("{'50':2}", "cjson.encode_sparse_array(true) return cjson.encode({[50] = 2})");
    /* A setting is the script's own. */
    eval("-ERR*excessive nesting (2)*", "cjson.encode_max_depth(1) return cjson.encode({{}})");
    eval("[[1]]", "return cjson.encode({{1}})");
    eval("-ERR*too many nested*(2)*", "cjson.decode_max_depth(1) return cjson.decode('[[]]')");
    eval(":1", "return cjson.decode('[[1]]')[1][1]");
}

static void the_server_stops_while_a_script_runs(void **state)
{
    begin_script(c, "redis.call('set', 'x', 1) " FOR_EVER);
    usleep(100000);
    group_again(false);
    expect(c, ":0", "EXISTS x");
}

static void a_script_over_many_keys_on_disk_reads_them(void **state)
{
    /* With TSan on a loaded machine 3,000 take longer than its commands may. */
    for (int i = 0; i < 1000; i++) say(c, "SET many:%d %d", i, i);
    for (int i = 0; i < 1000; i++) expect_next(c, "+OK");
    group_again(false); /* nothing is cached now */
    eval(":499500",
         "local n = 0 for i = 0, 999 do n = n + redis.call('get', 'many:' .. i) end return n");
}

/* ---- what scripts cannot reach --------------------------------------------------------------- */

static const char *const escapes[] = {
    "return type(rawget(_G, 'package'))",
    "return type(rawget(_G, 'io'))",
    "return type(rawget(_G, 'debug'))",
    "return type(rawget(_G, 'dofile'))",
    "return type(rawget(_G, 'loadfile'))",
    "return type(rawget(_G, 'require'))",
    "return type(rawget(_G, 'module'))",
    "return type(rawget(_G, 'newproxy'))",
    "return type(rawget(_G, 'getfenv'))",
    "return type(rawget(_G, 'setfenv'))",
    "return type(rawget(_G, 'print'))",
    "return type(string.dump)",
    "return type(os.execute)",
    "return type(os.exit)",
    "return type(os.getenv)",
    "return type(os.time)",
    "return type(math.nothing)",
    "return type(loadstring('\\27Lua'))",
    "return type(load(function() return '\\27LuaQ' end))",
    "local i = 0 return type(load(function() i = i + 1 return ({'\\27', 'Lua'})[i] end))",
    "return type(getmetatable('').__index)",
};

static const char *const changes[] = {
    "string.format = nil",
    "string.x = 1",
    "redis.call = function() end",
    "_G.redis = nil",
    "redis = nil",
    "x = 1",
    "rawset(_G, 'x', 1)",
    "rawset(string, 'x', 1)",
    "rawset(redis, 'call', 1)",
    "table.insert(table, 1)",
    "table.sort(string)",
    "table.remove(string)",
    "setmetatable(_G, {})",
    "setmetatable(string, nil)",
    "getmetatable(_G).__index = nil",
    "getmetatable('').__index = function() end",
    "getmetatable(string).__newindex = nil",
    "cjson.encode = nil",
    "coroutine.resume = nil",
    "for k in pairs(_G) do rawset(_G, k, nil) end",
    "cjson.encode_max_depth(100000000)",
    "cjson.decode_max_depth(100000000)",
};

static void names_that_do_harm_are_not_there(void **state)
{
    for (size_t i = 0; i < sizeof escapes / sizeof escapes[0]; i++) {
        const char *found = ask(c, "EVAL %s 0", escapes[i]);
        if (strcmp(found, "nil") != 0 && found[0] != '-') fail_msg("%s: %s", escapes[i], found);
    }
}

static void what_scripts_share_cannot_be_changed(void **state)
{
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        const char *found = ask(c, "EVAL %s 0", changes[i]);
        if (found[0] != '-') fail_msg("%s: %s", changes[i], found);
    }
    eval("[{'a':1} X :1 :2]", "local t = {3, 1, 2} table.sort(t) return {cjson.encode({a = 1}), "
                              "string.format('%s', 'X'), t[1], #('ab')}");
    /* What one leaves in KEYS and ARGV the next does not find. */
    expect(c, ":1", "EVAL %s 1 k", "KEYS[2] = 'x' ARGV.y = 1 return #ARGV + 1");
    eval("[:0 :0]", "return {#KEYS, ARGV.y and 1 or 0}");
    /* A setting of cjson is of the script that makes it. */
    eval("{'1':1,'9999':2}", "cjson.encode_sparse_array(true) return '{\"1\":1,\"9999\":2}'");
    eval("-ERR*sparse*", "return cjson.encode({[1] = 1, [9999] = 2})");
}

/* Faults that Lua and its libraries have or had. */
static const char *const known_faults[] = {
    "return {unpack({1, 2, 3}, -2, 2147483647)}",
    "return {unpack({}, -2147483648, 2147483647)}",
    "return {unpack({}, 1, 1e9)}",
    "return bit.tohex(65535, -2147483648)",
    "return bit.tohex(1, 1e300)",
    "return #string.rep('', 4294967295)",
    "return #string.rep('x', -1)",
    "return string.rep('abc', 1e15)",
    "local function f() local co = coroutine.wrap(f) return co() end return f()",
    "local f f = function() return coroutine.resume(coroutine.create(f)) end return {f()}",
    "local function f() return pcall(f) end return {f()}",
    "local function f() return string.gsub('a', 'a', f) end return {f()}",
    "local t = setmetatable({}, {__index = function(t, k) return t[k] end}) return t.x",
    "local t = {} t.__index = t setmetatable(t, t) return t.x",
    "return loadstring(string.rep('(', 100000))",
    "return loadstring('return ' .. string.rep('{', 100000))",
    "return loadstring(string.rep('do ', 100000))",
    "return ('a'):find(string.rep('(', 100))",
    "return ('a'):match(string.rep('a?', 5000) .. string.rep('a', 5000))",
    "return string.format('%99999d', 1)",
    "return string.format('%.9999f', 1)",
    "return string.format(string.rep('%d', 1000))",
    "return cjson.decode(string.rep('[', 100000))",
    "return cjson.encode(setmetatable({}, {__index = function() return 1 end}))",
    "local t = {} for i = 1, 1000 do t = {t} end return cjson.encode(t)",
    "local t = {} t[1] = t return cjson.encode(t)",
    "local t = {} t[1] = t return #cmsgpack.pack(t)",
    "return cmsgpack.unpack(string.rep('\\145', 100000))",
    "return cmsgpack.unpack('\\221\\255\\255\\255\\255')",
    "return cmsgpack.unpack('\\223\\255\\255\\255\\255')",
    "return cmsgpack.unpack('\\219\\255\\255\\255\\255')",
    "return struct.pack('>I2147483648', 1)",
    "return struct.unpack('c0', 'x')",
    "return struct.unpack('Bc0', '\\255x')",
    "return struct.unpack('c4294967295', 'x')",
    "return {struct.unpack('>I2', 'abc', 1e18)}",
    "return table.concat({}, 'x', 1, 2147483647)",
    "table.insert({}, -2147483647, 1)",
    "return select(-2147483648, 1)",
    "return ('x'):byte(-2147483648, 2147483647)",
    "return math.random(0)",
    "return tostring(math.random(1e308, 1e308) * 10)",
    "return error(setmetatable({}, {__tostring = function() error('x') end}))",
    "return xpcall(function() error('x') end, function(e) error(e) end)",
    "error({})",
    "error({err = {}})",
    "return {err = string.rep('x', 100000)}",
    "return {ok = '\\r\\n$-1\\r\\n'}",
    "return {verbatim_string = {}}",
    "return {map = {[{}] = 1}}",
    "local t = setmetatable({}, {__mode = 'k'}) t[t] = t collectgarbage() return 1",
    "collectgarbage('stop') collectgarbage('setpause', 0) return 1",
    "return redis.call('KV.GET', '[' .. string.rep('[', 1000))",
    "return redis.call(unpack({'mget'}, 1, 7000))",
    "return redis.sha1hex(string.rep('x', 10000000))",
    "return #string.gsub(string.rep('x', 1000000), 'x', '%0%0%0')",
    "return #redis.call('ping', string.rep('x', 1000000))",
    "local a = string.rep('a', 1000000) local t = {} for i = 1, 3000 do t[i] = a .. (i % 7) end table.sort(t) return 1",
};

static void known_faults_do_not_end_the_server(void **state)
{
    expect(c, "+OK", "CONFIG SET script-time-limit 2000");
    for (size_t i = 0; i < sizeof known_faults / sizeof known_faults[0]; i++) {
        (void)ask(c, "EVAL %s 0", known_faults[i]);
        const char *pong = ask(d, "PING");
        if (strcmp(pong, "+PONG") != 0) fail_msg("%s: %s", known_faults[i], pong);
    }
}

/* A script that logs in a loop: so many lines a second, and a line that says how many more. */
static void lines_of_scripts_are_limited(void **state)
{
    eval("(nil)", "for i = 1, 1000 do redis.log(redis.LOG_WARNING, 'flood ' .. i) end "
                  "for i = 1, 1000 do redis.log(redis.LOG_DEBUG, 'unseen') end");
    assert_true(testserver_has_logged(server, "script: flood 1"));
    /* The script's time limit is five seconds. */
    assert_false(testserver_has_logged(server, "script: flood 1000"));
    long begin = testserver_now_ms();
    while (!testserver_has_logged(server, " lines of redis.log")) {
        assert_true(testserver_now_ms() - begin < LIMIT_MS);
        testserver_pause();
    }
}

static void flags_of_other_servers_are_taken(void **state)
{
    eval("ok", "#!lua flags=allow-key-locking\nreturn 'ok'");
    eval("ok", "#!lua flags=allow-undeclared-keys,disable-atomicity,allow-oom\nreturn 'ok'");
    eval("-ERR Write commands are not allowed*",
         "#!lua flags=allow-key-locking,no-writes\nreturn redis.call('set', 'a', 1)");
    eval("-ERR Unexpected flag in script shebang: allow-everything",
         "#!lua flags=allow-key-locking,allow-everything\nreturn 'ok'");
    expect(c, "lib", "FUNCTION LOAD %s",
           "#!lua name=lib\nredis.register_function{function_name='f', "
           "callback=function() return 1 end, flags={'allow-key-locking', 'no-writes'}}");
    expect(c, ":1", "FCALL_RO f 0");
    expect(c, "-ERR*unknown flag given*", "FUNCTION LOAD %s",
           "#!lua name=x\nredis.register_function{function_name='g', "
           "callback=function() return 1 end, flags={'allow-everything'}}");
    expect(c, "+OK", "FUNCTION FLUSH");
}

/* What Redis's own scripts may use. */
static void what_redis_takes_is_taken(void **state)
{
    /* As many words as Lua's stack holds. */
    eval(":7999", "local a = {} for i = 1, 7999 do a[i] = i end "
                  "return redis.call('rpush', 'l', unpack(a))");
    eval("7999", "return redis.call('lindex', 'l', -1)");
    eval("[1]", "cjson.encode_keep_buffer(false) return cjson.encode({1})");
    eval(":0", "return redis.call('wait', 1, 0)");
    expect(c, "lib", "FUNCTION LOAD %s",
           "#!LUA name=lib\nredis.register_function('one', function() return 1 end)");
    expect(c, ":1", "FCALL one 0");
    eval("-ERR Unexpected engine in script shebang: #!Lua", "#!Lua\nreturn 1");
    expect(c, "-ERR Engine 'Luau' not found", "FUNCTION LOAD %s", "#!Luau name=x\nreturn 1");
    expect(c, "+OK", "FUNCTION FLUSH");
}

/* ---- functions ------------------------------------------------------------------------------- */

#define LIBRARY                                                                                    \
    "#!lua name=lib\n"                                                                             \
    "local calls = 0\n"                                                                            \
    "redis.register_function('put', function(keys, args) calls = calls + 1\n"                      \
    "  return redis.call('set', keys[1], args[1]) end)\n"                                          \
    "redis.register_function('slow', function(keys, args)\n"                                       \
    "  local n = 0 for i = 1, 3000000 do n = n + 1 end return redis.call('incr', keys[1]) end)\n"  \
    "redis.register_function('ever', function() while true do end end)\n"                          \
    "redis.register_function{function_name = 'see', flags = {'no-writes'},\n"                      \
    "  description = 'reads', callback = function(keys) return redis.call('get', keys[1]) end}"

static void functions_are_kept_and_run(void **state)
{
    expect(c, "lib", "FUNCTION LOAD %s", LIBRARY);
    expect(c, "+OK", "FCALL put 1 k v");
    expect(c, "v", "FCALL_RO see 1 k");
    expect(c, "-ERR Can not execute a script with write flag using *_ro command.",
           "FCALL_RO put 1 k w");
    expect(c, ":1", "FCALL slow 1 n");
    group_again(true);
    expect(c, "v", "FCALL see 1 k");
    expect(c, ":2", "FCALL slow 1 n");
    /* FLUSHALL is about data. A library is no key. */
    expect(c, "+OK", "FLUSHALL");
    expect(c, "# Keyspace\r\n", "INFO keyspace");
    expect(c, "+OK", "FCALL put 1 k v");
    expect(c,
           "[[library_name lib engine LUA functions [* * * [name see description reads flags "
           "[+no-writes]]*",
           "FUNCTION LIST LIBRARYNAME l*");
    expect(c, "[]", "FUNCTION LIST LIBRARYNAME x*");
    expect(c, "-ERR Library 'lib' already exists", "FUNCTION LOAD %s", LIBRARY);
    expect(c, "lib", "FUNCTION LOAD REPLACE %s",
           "#!lua name=lib\nredis.register_function('put', function() return 'new' end)");
    expect(c, "new", "FCALL put 0");
    expect(c, "-ERR Function not found", "FCALL see 0");
    expect(c, "+OK", "FUNCTION FLUSH");
    expect(c, "-ERR Function not found", "FCALL put 0");
    expect(c, "[]", "FUNCTION LIST");
}

static void names_of_functions_are_equal_in_any_case(void **state)
{
    expect(c, "lib", "FUNCTION LOAD %s",
           "#!lua name=lib\nredis.register_function('PutIt', function(keys, args)"
           " return redis.call('set', keys[1], args[1]) end)\n"
           "redis.register_function{function_name='see', flags={'no-writes'},"
           " description='reads', callback=function(keys) return redis.call('get', keys[1]) end}");
    expect(c, "+OK", "FCALL PutIt 1 k a");
    expect(c, "+OK", "FCALL PUTIT 1 k b");
    expect(c, "b", "FCALL_RO SEE 1 k");
    group_again(false); /* no row is in memory, and nothing is compiled */
    expect(c, "+OK", "FCALL putit 1 k c");
    expect(c, "c", "FCALL See 1 k");
    expect(
        c,
        "[[library_name lib engine LUA functions [[name PutIt description (nil) flags []] [name see *",
        "FUNCTION LIST");
    expect(c, "-ERR Function pUTiT already exists", "FUNCTION LOAD %s",
           "#!lua name=other\nredis.register_function('pUTiT', function() end)");
    expect(c, "-ERR*Function already exists in the library", "FUNCTION LOAD %s",
           "#!lua name=other\nredis.register_function('a', function() end)\n"
           "redis.register_function('A', function() end)");
    expect(c, "lib", "FUNCTION LOAD REPLACE %s",
           "#!lua name=lib\nredis.register_function('putIT', function() return 'new' end)");
    expect(c, "new", "FCALL PutIt 0");
    expect(c, "[[library_name lib engine LUA functions [[name putIT *", "FUNCTION LIST");
    expect(c, "LIB", "FUNCTION LOAD %s",
           "#!lua name=LIB\nredis.register_function('of_another_library', function() end)");
    expect(c, "+OK", "FUNCTION DELETE lib");
    expect(c, "-ERR Function not found", "FCALL putIT 0");
    expect(c, "+OK", "FUNCTION FLUSH");
}

static void libraries_are_dumped_and_restored(void **state)
{
    expect(c, "lib", "FUNCTION LOAD %s", LIBRARY);
    redisReply *dump = ask_reply(c, "FUNCTION DUMP");
    expect(c, "-ERR Library lib already exists", "FUNCTION RESTORE %b", dump->str, dump->len);
    expect(c, "+OK", "FUNCTION RESTORE %b REPLACE", dump->str, dump->len);
    expect(c, "other", "FUNCTION LOAD %s",
           "#!lua name=other\nredis.register_function('o', function() return 1 end)");
    expect(c, "+OK", "FUNCTION RESTORE %b FLUSH", dump->str, dump->len);
    expect(c, "-ERR Function not found", "FCALL o 0");
    expect(c, "+OK", "FCALL put 1 k v");
    dump->str[dump->len - 1] ^= 1;
    expect(c, "-ERR DUMP payload version or checksum are wrong", "FUNCTION RESTORE %b FLUSH",
           dump->str, dump->len);
    expect(c, "+OK", "FCALL put 1 k v");
    freeReplyObject(dump);
    expect(c, "+OK", "FUNCTION DELETE lib");
}

/* What FUNCTION reads then comes from the database file, not from memory. */
static void a_library_is_whole_after_it_has_left_memory(void **state)
{
    expect(c, "lib", "FUNCTION LOAD %s", LIBRARY);
    redisReply *before = ask_reply(c, "FUNCTION DUMP");
    group_again(false);
    redisReply *after = ask_reply(c, "FUNCTION DUMP");
    assert_int_equal(before->len, after->len);
    assert_memory_equal(before->str, after->str, after->len);
    freeReplyObject(before);
    freeReplyObject(after);
    redisReply *list = ask_reply(c, "FUNCTION LIST WITHCODE");
    assert_int_equal(list->elements, 1);
    assert_string_equal(list->element[0]->element[7]->str, LIBRARY);
    assert_int_equal(list->element[0]->element[5]->elements, 4);
    freeReplyObject(list);
    expect(c, "lib", "FUNCTION LOAD REPLACE %s",
           "#!lua name=lib\nredis.register_function('put', function() return 'new' end)");
    expect(c, "-ERR Function not found", "FCALL see 0");
    group_again(false);
    expect(c, "+OK", "FUNCTION DELETE lib");
    expect(c, "-ERR Function not found", "FCALL put 0");
    expect(c, "lib", "FUNCTION LOAD %s", LIBRARY);
    expect(c, "+OK", "FUNCTION FLUSH");
}

static void a_library_is_loaded_in_a_transaction(void **state)
{
    expect(c, "+OK", "MULTI");
    expect(c, "+QUEUED", "FUNCTION LOAD %s", LIBRARY);
    expect(c, "+QUEUED", "FCALL put 1 k v");
    expect(c, "[lib +OK]", "EXEC");
    expect(c, "+OK", "FUNCTION DELETE lib");
}

/* What was compiled of it is collected: else it is 6 MB. */
static void a_library_that_is_replaced_leaves_nothing(void **state)
{
    enum { ROUNDS = 600, BYTES = 20000 };
    static char code[BYTES + 200], text[BYTES + 1];
    memset(text, 'x', BYTES);
    for (int i = 100; i < 100 + ROUNDS; i++) {
        snprintf(code, sizeof code,
                 "#!lua name=lib\nredis.register_function('f', function() return #'%d%s' end)", i,
                 text);
        expect(c, "lib", "FUNCTION LOAD REPLACE %s", code);
        expect(c, ":20003", "FCALL f 0");
    }
    long until = testserver_now_ms() + 10000;
    while (load_info(c, "used_memory_lua") > 2 << 20) { /* as of the last tick */
        if (testserver_now_ms() > until) fail_msg("%lld", load_info(c, "used_memory_lua"));
        testserver_pause();
    }
    expect(c, "+OK", "FUNCTION FLUSH");
}

static void a_function_is_killed(void **state)
{
    expect(c, "lib", "FUNCTION LOAD %s", LIBRARY);
    int done = 0;
    say(c, "FCALL ever 0");
    while (!done) {
        if (redisBufferWrite(c, &done) != REDIS_OK) fail_msg("%s", c->errstr);
    }
    long begin = testserver_now_ms();
    while (strcmp(ask(d, "FUNCTION KILL"), "+OK") != 0) {
        assert_true(testserver_now_ms() - begin < LIMIT_MS);
        testserver_pause();
    }
    expect_next(c, "-ERR Script killed by user with FUNCTION KILL*");
    expect(c, "+OK", "FUNCTION FLUSH");
}

static void a_library_that_takes_too_long_to_load_is_refused(void **state)
{
    expect(c, "-LIMIT the library takes too long*", "FUNCTION LOAD %s",
           "#!lua name=x\nwhile true do end");
    expect(c, "-LIMIT*", "FUNCTION LOAD %s",
           "#!lua name=x\nwhile true do pcall(function() while true do end end) end");
    expect(c, "-LIMIT*", "FUNCTION LOAD %s",
           "#!lua name=x\nxpcall(error, function() while true do end end)");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, group_enter, leave)
    const struct CMUnitTest tests[] = {
        TEST(what_a_script_writes_has_one_version),
        TEST(a_script_sees_what_it_wrote),
        TEST(nothing_of_a_script_that_fails_has_happened),
        TEST(a_command_with_an_error_leaves_nothing),
        TEST(a_command_that_does_not_exist_is_named),
        TEST(what_a_script_wrote_is_on_disk),
        TEST(a_script_runs_between_multi_and_exec),
        TEST(messages_of_a_script_are_sent_when_it_has_happened),
        TEST(a_script_works_with_queues),
        TEST(a_database_that_a_script_selects_is_its_own),
        TEST(a_script_that_only_reads_is_held_to_it),
        TEST(each_command_of_a_script_is_asked_for),
        TEST(scripts_are_known_by_their_sha1),
        TEST(the_oldest_scripts_are_forgotten),
        TEST(many_scripts_leave_memory_for_others),
        TEST(a_script_as_large_as_may_be_runs),
        TEST(a_script_that_is_too_large_is_refused),
        TEST(a_long_script_is_one_transaction_too),
        TEST(a_long_script_undoes_what_failed),
        TEST(others_go_on_while_a_script_runs),
        TEST(coroutines_are_nested_to_a_depth),
        TEST(a_script_is_killed_with_all_that_it_did),
        TEST(a_script_ends_wherever_it_goes_on_for_ever),
        TEST(failed_resumes_are_not_counted),
        TEST(a_script_whose_client_is_gone_ends),
        TEST(a_long_script_that_read_something_old_runs_again),
        TEST(a_script_may_have_so_much_memory),
        TEST(what_libraries_take_counts_as_memory),
        TEST(the_server_stops_while_a_script_runs),
        TEST(a_script_over_many_keys_on_disk_reads_them),
        TEST(names_that_do_harm_are_not_there),
        TEST(what_scripts_share_cannot_be_changed),
        TEST(known_faults_do_not_end_the_server),
        TEST(lines_of_scripts_are_limited),
        TEST(flags_of_other_servers_are_taken),
        TEST(what_redis_takes_is_taken),
        TEST(functions_are_kept_and_run),
        TEST(names_of_functions_are_equal_in_any_case),
        TEST(libraries_are_dumped_and_restored),
        TEST(a_library_is_whole_after_it_has_left_memory),
        TEST(a_library_is_loaded_in_a_transaction),
        TEST(a_library_that_is_replaced_leaves_nothing),
        TEST(a_function_is_killed),
        TEST(a_library_that_takes_too_long_to_load_is_refused),
    };
    return cmocka_run_group_tests(tests, start, group_stop);
}
