/* MULTI, EXEC, DISCARD, WATCH, UNWATCH: one transaction of the queued commands, or nothing. */
#include <fcntl.h>
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

#define LIMIT_MS 15000

static redisContext *c, *d; /* fresh for each test; d: another client */

static int start(void **state)
{
    group_opens(&c, &d, NULL);
    server = testserver_start_with("--enable-debug-command", "local", "--databases", "4", NULL);
    return 0;
}

#define queue(...) expect(c, "+QUEUED", __VA_ARGS__)

static void begin(void)
{
    expect(c, "+OK", "MULTI");
}

/* ---- shapes ---------------------------------------------------------------------------------- */

static void exec_answers_each_command_in_order(void **state)
{
    begin();
    queue("KV.SET ['a'] 1");
    queue("KV.GET ['a']");
    queue("KV.GET ['none']");
    queue("KV.SUM ['a'] 4");
    queue("PING");
    queue("KV.DEL ['a'] ['b']");
    queue("SET plain text");
    queue("GET plain");
    expect(c, "[@ 1 (nil) [5 @] +PONG :1 +OK text]", "EXEC");
    expect(c, "(nil)", "KV.GET ['a']");
    expect(c, "text", "GET plain");
}

static void an_empty_exec_is_an_empty_array_and_takes_no_version(void **state)
{
    const char *before = ask(c, "KV.VERSION");
    begin();
    expect(c, "[]", "EXEC");
    begin();
    queue("KV.GET ['a']");
    queue("KV.DEL ['a']");
    expect(c, "[(nil) :0]", "EXEC");
    assert_string_equal(ask(c, "KV.VERSION"), before);
}

static void nothing_happens_before_exec(void **state)
{
    begin();
    queue("KV.SET ['a'] 1");
    expect(d, "(nil)", "KV.GET ['a']");
    expect(c, "[@]", "EXEC");
    expect(d, "1", "KV.GET ['a']");
}

static void discard_forgets_the_queue(void **state)
{
    begin();
    queue("KV.SET ['a'] 1");
    expect(c, "+OK", "DISCARD");
    expect(c, "(nil)", "KV.GET ['a']");
    expect(c, "-ERR EXEC without MULTI", "EXEC");
    expect(c, "-ERR DISCARD without MULTI", "DISCARD");
}

static void multi_does_not_nest_and_goes_on(void **state)
{
    begin();
    expect(c, "-ERR MULTI calls can not be nested", "MULTI");
    expect(c, "-ERR WATCH inside MULTI is not allowed", "WATCH a");
    queue("SET a 1");
    expect(c, "[+OK]", "EXEC");
}

static void a_command_that_cannot_be_queued_aborts_exec(void **state)
{
    static const char *const wrong[] = {
        "NOSUCH a b", "KV.SET ['a']", "CLIENT NOSUCH", "EXEC now",        "SUBSCRIBE",   "MONITOR",
        "CONFIG GET", "BGSAVE",       "SAVE",          "CLIENT REPLY ON", "DEBUG DIGEST"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        begin();
        queue("KV.SET ['a'] 1");
        expect(c, "-ERR *", wrong[i]);
        queue("KV.SET ['b'] 1");
        expect(c, "-EXECABORT Transaction discarded because of previous errors.", "EXEC");
        expect(c, "[(nil) (nil)]", "KV.MGET ['a'] ['b']");
    }
    expect(c, "-ERR EXEC without MULTI", "EXEC");
}

static void reset_and_the_end_of_a_connection_forget_the_queue(void **state)
{
    begin();
    queue("KV.SET ['a'] 1");
    expect(c, "+RESET", "RESET");
    expect(c, "-ERR EXEC without MULTI", "EXEC");
    begin();
    queue("KV.SET ['a'] 1");
    expect(c, "+OK", "QUIT");
    expect(d, "(nil)", "KV.GET ['a']");
}

static void resp3_has_its_nil_for_a_conflict_and_inside(void **state)
{
    int fd = raw_connect(server);
    static const char multi[] = "HELLO 3\r\nWATCH '[\"a\"]'\r\nKV.SET '[\"a\"]' 1\r\nMULTI\r\n"
                                "PING\r\nEXEC\r\nMULTI\r\nKV.GET '[\"b\"]'\r\nCONFIG GET port\r\n"
                                "KV.SET '[\"a\"]' 2 NX\r\nEXEC\r\n";
    raw_say(fd, multi);
    for (const char *line = raw_line(fd); strcmp(line, "*0") != 0; line = raw_line(fd)) {
        assert_int_not_equal(line[0], '-');
    }
    raw_expect(fd, "+OK\r\n$20\r\n");
    raw_line(fd);
    raw_expect(fd,
               "+OK\r\n+QUEUED\r\n_\r\n+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n*3\r\n_\r\n%1\r\n");
    close(fd);
}

/* ---- all or nothing -------------------------------------------------------------------------- */

static void an_error_refuses_all_and_names_the_command(void **state)
{
    expect(c, "@", "KV.SET ['text'] 'x'");
    begin();
    queue("KV.SET ['a'] 1");
    queue("KV.SUM ['text'] 1");
    expect(c, "-EXECABORT command 2 kv.sum: WRONGTYPE *", "EXEC");
    expect(c, "(nil)", "KV.GET ['a']");
    begin();
    queue("KV.SET [oops 1");
    expect(c, "-EXECABORT command 1 kv.set: ERR invalid key: *", "EXEC");
    begin();
    queue("PING");
    queue("SET a 1");
    queue("COMMAND GETKEYS NOSUCH x");
    expect(c, "-EXECABORT command 3 command|getkeys: ERR Invalid command specified", "EXEC");
    expect(c, "(nil)", "GET a");
    expect(c, "-ERR EXEC without MULTI", "EXEC");
}

static void a_refused_exec_leaves_no_trace(void **state)
{
    expect(c, "@", "KV.ATOMIC SET ['text'] 'x' SET ['old'] 1 EX 1000 SET ['n'] 5");
    expect(c, "+OK", "SELECT 2");
    expect(c, "@", "KV.SET ['second'] 2");
    expect(c, "+OK", "SELECT 0");
    const char *version = ask(c, "KV.VERSION");
    const char *digest = ask(c, "DEBUG DIGEST");
    const char *list = ask(c, "KV.LIST");
    begin();
    queue("KV.SET ['new'] 1 PX 1");
    queue("KV.SET ['old'] 2");
    queue("KV.DEL ['n']");
    queue("KV.SET ['idem'] 1 IDEM id");
    queue("KV.ATOMIC IDEM other SET ['idem2'] 1");
    queue("SELECT 2");
    queue("FLUSHDB");
    queue("KV.FORMAT MSGPACK");
    queue("FLUSHALL");
    queue("SELECT 0");
    queue("KV.FORMAT JSON");
    queue("KV.SET ['text'] 'x'");
    queue("KV.SUM ['text'] 1");
    expect(c, "-EXECABORT command 13 kv.sum: WRONGTYPE *", "EXEC");
    assert_string_equal(ask(c, "KV.VERSION"), version);
    assert_string_equal(ask(c, "DEBUG DIGEST"), digest);
    assert_string_equal(ask(c, "KV.LIST"), list);
    expect(c, ":3", "DBSIZE");
    assert_true(ask_integer(c, "KV.TTL ['old']") > 900);
    expect(c, "@", "KV.SET ['z'] 1 IDEM id"); /* the id was not used */
    expect(c, "+OK", "SELECT 2");
    expect(c, "2", "KV.GET ['second']");
}

static void the_connection_is_as_it_was_after_a_refused_exec(void **state)
{
    begin();
    queue("SELECT 2");
    queue("KV.FORMAT MSGPACK");
    queue("INCR a");
    queue("SELECT 77");
    expect(c, "-EXECABORT command 4 select: ERR DB index is out of range", "EXEC");
    expect(c, "+OK", "SET here 0");
    expect(c, "JSON", "KV.FORMAT");
    expect(c, "*db=0 *", "CLIENT INFO");
    expect(d, "0", "GET here");
}

static void select_in_the_middle_holds_from_there_on(void **state)
{
    begin();
    queue("SET k zero");
    queue("SELECT 1");
    queue("SET k one");
    queue("GET k");
    queue("SELECT 0");
    queue("GET k");
    queue("SELECT 1");
    expect(c, "[+OK +OK +OK one +OK zero +OK]", "EXEC");
    expect(c, "one", "GET k");
    expect(d, "zero", "GET k");
}

static void a_condition_that_is_missed_is_nil_for_its_command(void **state)
{
    expect(c, "@", "KV.SET ['a'] 1");
    begin();
    queue("KV.SET ['b'] 1");
    queue("KV.ATOMIC CHECK ['a'] NONE SET ['a'] 2");
    queue("KV.ATOMIC DETAILS CHECK ['a'] NONE SET ['a'] 2");
    queue("KV.SET ['a'] 3 NX");
    queue("KV.SET ['none'] 3 XX");
    queue("KV.SET ['a'] 3 IFVERSION 00000000000000010000");
    queue("SET none 1 XX");
    queue("SETNX c 1");
    queue("KV.GET ['a']");
    expect(c, "[@ (nil) [(nil) [[:0 @]]] (nil) (nil) (nil) (nil) :1 1]", "EXEC");
    expect(c, "1", "KV.GET ['b']");
}

static void checks_inside_see_earlier_commands(void **state)
{
    begin();
    queue("KV.SET ['a'] 1");
    queue("KV.ATOMIC CHECK ['a'] NONE SET ['a'] 2");
    queue("KV.SET ['a'] 3 NX");
    queue("KV.DEL ['a']");
    queue("KV.ATOMIC CHECK ['a'] NONE SET ['a'] 4");
    queue("KV.SET ['a'] 5 XX");
    queue("KV.GET ['a'] WITHVERSION");
    expect(c, "[@ (nil) (nil) :1 @ @ [5 @]]", "EXEC");
}

static void all_writes_share_one_versionstamp(void **state)
{
    begin();
    queue("KV.SET ['a'] 1");
    queue("KV.SUM ['b'] 1");
    queue("KV.ATOMIC SET ['c'] 1");
    queue("KV.APPEND ['d'] [1]");
    queue("SET plain x");
    queue("KV.GET ['plain'] WITHVERSION");
    redisReply *r = ask_reply(c, "EXEC");
    assert_int_equal(r->type, REDIS_REPLY_ARRAY);
    const char *stamp = r->element[0]->str;
    assert_string_equal(r->element[1]->element[1]->str, stamp);
    assert_string_equal(r->element[2]->str, stamp);
    assert_string_equal(r->element[3]->element[1]->str, stamp);
    assert_string_equal(r->element[5]->element[1]->str, stamp);
    assert_string_equal(ask(c, "KV.VERSION"), stamp);
    redisReply *got = ask_reply(c, "KV.MGET ['a'] ['b'] ['c'] ['d'] ['plain']");
    for (size_t i = 0; i < 5; i++) {
        assert_string_equal(got->element[i]->element[1]->str, stamp);
    }
    freeReplyObject(got);
    freeReplyObject(r);
}

static void an_own_version_can_be_checked_inside(void **state)
{
    begin();
    queue("KV.SET ['a'] {'$versionstamp':true}");
    queue("KV.GET ['a'] WITHVERSION");
    redisReply *r = ask_reply(c, "EXEC");
    char wanted[40];
    snprintf(wanted, sizeof wanted, "\"%s\"", r->element[0]->str);
    assert_string_equal(r->element[1]->element[0]->str, wanted);
    assert_string_equal(r->element[1]->element[1]->str, r->element[0]->str);
    freeReplyObject(r);
}

/* ---- reads see earlier writes ---------------------------------------------------------------- */

static void lists_and_counts_see_earlier_commands(void **state)
{
    expect(c, "@", "KV.ATOMIC SET ['a',1] 1 SET ['a',2] 2 SET ['a',3] 3 SET ['a',5] 5 SET ['b'] 1");
    begin();
    queue("KV.SET ['a',4] 4");
    queue("KV.DEL ['a',2]");
    queue("KV.SET ['a',3] 33");
    queue("KV.SET ['a',0] 0 PX 1");
    queue("KV.PEXPIREAT ['a',0] 1");
    queue("KV.LIST PREFIX ['a'] KEYSONLY");
    queue("KV.LIST PREFIX ['a'] REVERSE LIMIT 2");
    queue("KV.COUNT PREFIX ['a']");
    queue("KV.COUNT");
    queue("KV.DELRANGE START ['a',3] END ['a',5]");
    queue("KV.LIST PREFIX ['a']");
    queue("KV.DELRANGE PREFIX ['a'] LIMIT 1");
    queue("KV.COUNT");
    expect(c,
           "[@ :1 @ @ :1 [0 [['a',1] ['a',3] ['a',4] ['a',5]]] "
           "[* [[['a',5] 5 @] [['a',4] 4 @]]] :4 :5 :2 "
           "[0 [[['a',1] 1 @] [['a',5] 5 @]]] :1 :2]",
           "EXEC");
    expect(c, "[0 [['a',5] ['b']]]", "KV.LIST KEYSONLY");
}

static void pages_inside_exec_go_on_with_their_cursor(void **state)
{
    for (int i = 0; i < 10; i++) expect(c, "@", "KV.SET ['p',%d] %d", i * 2, i);
    redisReply *page = ask_reply(c, "KV.LIST PREFIX ['p'] LIMIT 3 KEYSONLY");
    char cursor[200];
    snprintf(cursor, sizeof cursor, "%s", page->element[0]->str);
    freeReplyObject(page);
    page = ask_reply(c, "KV.LIST PREFIX ['p'] LIMIT 3 KEYSONLY REVERSE");
    char back[200];
    snprintf(back, sizeof back, "%s", page->element[0]->str);
    freeReplyObject(page);
    begin();
    queue("KV.SET ['p',1] 1");
    queue("KV.SET ['p',5] 1");
    queue("KV.SET ['p',9] 1");
    queue("KV.DEL ['p',8]");
    queue("KV.LIST PREFIX ['p'] LIMIT 3 KEYSONLY CURSOR %s", cursor);
    queue("KV.LIST PREFIX ['p'] LIMIT 4 KEYSONLY REVERSE CURSOR %s", back);
    expect(c, "[@ @ @ :1 [* [['p',5] ['p',6] ['p',9]]] [* [['p',12] ['p',10] ['p',9] ['p',6]]]]",
           "EXEC");
}

static void scan_and_keys_see_earlier_commands(void **state)
{
    expect(c, "+OK", "MSET a 1 b 2 c 3");
    begin();
    queue("SET d 4");
    queue("DEL b");
    queue("SCAN 0 COUNT 100");
    queue("KEYS *");
    queue("EXISTS a b c d");
    queue("MGET a b c d");
    queue("RANDOMKEY");
    queue("TYPE b");
    expect(c, "[+OK :1 [0 [a c d]] [a c d] :3 [1 (nil) 3 4] * +none]", "EXEC");
}

static void a_flush_in_the_middle_empties_what_was_before(void **state)
{
    expect(c, "+OK", "MSET a 1 b 2");
    expect(d, "+OK", "SELECT 1");
    expect(d, "+OK", "SET other 1");
    begin();
    queue("SET c 3");
    queue("FLUSHDB");
    queue("KV.LIST KEYSONLY");
    queue("GET a");
    queue("INCR a");
    queue("SET d 4");
    queue("KV.COUNT");
    queue("KEYS *");
    expect(c, "[+OK +OK [0 []] (nil) :1 +OK :2 [a d]]", "EXEC");
    expect(c, "[a d]", "KEYS *");
    expect(c, ":2", "DBSIZE");
    expect(d, "1", "GET other");
    begin();
    queue("SET e 1");
    queue("FLUSHALL");
    queue("SET f 1");
    expect(c, "[+OK +OK +OK]", "EXEC");
    expect(c, "[f]", "KEYS *");
    expect(d, "(nil)", "GET other");
}

static void a_ttl_set_inside_is_seen_inside(void **state)
{
    begin();
    queue("SET a 1 EX 100");
    queue("TTL a");
    queue("PERSIST a");
    queue("TTL a");
    queue("EXPIRE a 50");
    queue("INCR a");
    queue("TTL a");
    queue("EXPIRE a -1");
    queue("EXISTS a");
    expect(c, "[+OK :~100 :1 :-1 :1 :2 :~50 :1 :0]", "EXEC");
    expect(c, ":0", "DBSIZE");
}

static void a_blocking_command_answers_at_once(void **state)
{
    begin();
    queue("WAIT 3 0");
    expect(c, "[:0]", "EXEC");
}

/* ---- WATCH ----------------------------------------------------------------------------------- */

#define watch_then(change, key)                                                                    \
    do {                                                                                           \
        expect(c, "+OK", "WATCH %s", (key));                                                       \
        change;                                                                                    \
        begin();                                                                                   \
        queue("SET done 1");                                                                       \
    } while (0)

static void a_watched_key_that_changed_is_a_conflict(void **state)
{
    expect(c, "@", "KV.SET ['k'] 1");
    watch_then(expect(d, "@", "KV.SET ['k'] 1"), "[\"k\"]");
    expect(c, "(nil)", "EXEC");
    watch_then(expect(d, ":1", "KV.DEL ['k']"), "[\"k\"]");
    expect(c, "(nil)", "EXEC");
    watch_then(expect(d, "@", "KV.SET ['k'] 1"), "[\"k\"]"); /* it was absent */
    expect(c, "(nil)", "EXEC");
    watch_then(expect(d, ":1", "KV.EXPIRE ['k'] 1000"), "[\"k\"]");
    expect(c, "(nil)", "EXEC");
    watch_then(expect(d, "+OK", "FLUSHDB"), "[\"k\"]");
    expect(c, "(nil)", "EXEC");
    expect(c, "(nil)", "GET done");
}

static void a_watched_key_that_did_not_change_is_none(void **state)
{
    expect(c, "@", "KV.SET ['k'] 1");
    watch_then(expect(d, "@", "KV.SET ['other'] 1"), "[\"k\"]");
    expect(c, "[+OK]", "EXEC");
    watch_then(expect(d, "(nil)", "KV.SET ['k'] 2 NX"), "[\"k\"]");
    expect(c, "[+OK]", "EXEC");
    /* Absent then and absent now, whatever was in between. */
    expect(c, "+OK", "WATCH none");
    expect(d, "+OK", "SET none 1");
    expect(d, ":1", "DEL none");
    begin();
    queue("SET done 2");
    expect(c, "[+OK]", "EXEC");
}

static void expiry_alone_is_a_conflict(void **state)
{
    long until = testserver_now_ms() + LIMIT_MS;
    expect(c, "@", "KV.SET ['k'] 1 PX 1000");
    watch_then((void)0, "[\"k\"]");
    while (strcmp(ask(d, "KV.GET ['k']"), "(nil)") != 0) {
        if (testserver_now_ms() > until) fail_msg("it does not expire");
        testserver_pause();
    }
    expect(c, "(nil)", "EXEC");
    expect(c, "(nil)", "GET done");
}

static void an_own_write_is_a_conflict_too(void **state)
{
    expect(c, "+OK", "WATCH k");
    expect(c, "+OK", "SET k 1");
    begin();
    queue("SET done 1");
    expect(c, "(nil)", "EXEC");
    begin(); /* EXEC has ended the watch */
    queue("SET done 1");
    expect(c, "[+OK]", "EXEC");
}

static void watched_keys_have_any_form(void **state)
{
    static const struct {
        const char *form;
        size_t len;
    } forms[] = {{"[\"w\"]", 5}, {" [ \"w\" ]", 8}, {"[ \"w\"\n]", 7},
                 {"w", 1},       {"\x91\xa1w", 3},  {"[\"\\u0077\"]", 10}};
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        if (forms[i].form[0] == ' ') continue; /* a plain key that begins with a blank */
        expect(c, "+OK", "WATCH other %b", forms[i].form, forms[i].len);
        expect(d, "@", "KV.SET ['w'] %d", (int)i);
        begin();
        queue("PING");
        expect(c, "(nil)", "EXEC");
    }
    expect(c, "+OK", "WATCH %b", forms[1].form, forms[1].len);
    expect(d, "@", "KV.SET ['w'] 1");
    begin();
    queue("PING");
    expect(c, "[+PONG]", "EXEC");
    expect(c, "-ERR invalid key: *", "WATCH a [b");
    expect(c, "+OK", "WATCH %b", "\xff", (size_t)1); /* not UTF-8 */
    expect(d, "+OK", "SET %b 1", "\xff", (size_t)1);
    begin();
    queue("PING");
    expect(c, "(nil)", "EXEC");
}

static void a_watch_belongs_to_its_database(void **state)
{
    expect(c, "+OK", "WATCH k");
    expect(c, "+OK", "SELECT 1");
    expect(c, "+OK", "SET k 1");
    begin();
    queue("GET k");
    expect(c, "[1]", "EXEC");
    expect(c, "+OK", "WATCH k");
    expect(c, "+OK", "SELECT 0");
    expect(d, "+OK", "SELECT 1");
    expect(d, "+OK", "SET k 2");
    begin();
    queue("GET k");
    expect(c, "(nil)", "EXEC");
}

static void unwatch_discard_and_reset_end_a_watch(void **state)
{
    static const char *const ends[] = {"UNWATCH", "DISCARD", "RESET"};
    for (size_t i = 0; i < 3; i++) {
        expect(c, "+OK", "WATCH k");
        expect(d, "+OK", "SET k %d", (int)i);
        if (i == 1) begin();
        expect(c, i == 2 ? "+RESET" : "+OK", ends[i]);
        begin();
        queue("PING");
        expect(c, "[+PONG]", "EXEC");
    }
}

static void unwatch_inside_comes_too_late(void **state)
{
    expect(c, "+OK", "WATCH k");
    begin();
    queue("UNWATCH");
    queue("SET done 1");
    expect(d, "+OK", "SET k 1");
    expect(c, "(nil)", "EXEC");
    expect(c, "(nil)", "GET done");
}

static void a_key_watched_twice_keeps_what_it_was_first(void **state)
{
    expect(c, "+OK", "WATCH k");
    expect(d, "+OK", "SET k 1");
    expect(c, "+OK", "WATCH k");
    begin();
    queue("PING");
    expect(c, "(nil)", "EXEC");
}

static void a_failed_watch_watches_nothing(void **state)
{
    expect(c, "-ERR invalid key: *", "WATCH k [b");
    expect(d, "+OK", "SET k 1");
    begin();
    queue("PING");
    expect(c, "[+PONG]", "EXEC");
}

/* ---- figures --------------------------------------------------------------------------------- */

static void dbsize_counts_what_was_written_inside(void **state)
{
    expect(c, "+OK", "SET old 1");
    begin();
    queue("DBSIZE");
    queue("SET a 1");
    queue("DBSIZE");
    queue("KV.SET ['t',1] 1");
    queue("SET a 2");
    queue("SET old 2");
    queue("DBSIZE");
    queue("DEL a old none");
    queue("DBSIZE");
    queue("SET old 3");
    queue("DBSIZE");
    expect(c, "[:1 +OK :2 @ +OK +OK :3 :2 :1 +OK :2]", "EXEC");
    expect(c, ":2", "DBSIZE");
}

static void dbsize_inside_is_of_the_database_selected(void **state)
{
    expect(c, "+OK", "SET old 1");
    begin();
    queue("SET a 1");
    queue("SELECT 1");
    queue("DBSIZE");
    queue("SET b 1");
    queue("SET c 1");
    queue("DBSIZE");
    queue("MOVE b 0");
    queue("DBSIZE");
    queue("SELECT 0");
    queue("DBSIZE");
    expect(c, "[+OK +OK :0 +OK +OK :2 :1 :1 +OK :3]", "EXEC");
    expect(c, ":3", "DBSIZE");
}

static void dbsize_sees_a_flush_inside(void **state)
{
    expect(c, "+OK", "MSET old 1 older 2");
    begin();
    queue("SET a 1");
    queue("DBSIZE");
    queue("FLUSHDB");
    queue("DBSIZE");
    queue("SET old 1");
    queue("DBSIZE");
    queue("FLUSHALL");
    queue("DBSIZE");
    queue("SET b 1");
    queue("DBSIZE");
    expect(c, "[+OK :3 +OK :0 +OK :1 +OK :0 +OK :1]", "EXEC");
    expect(c, ":1", "DBSIZE");
}

/* Until it is removed it is counted, as Redis does. */
static void dbsize_inside_counts_an_expired_entry_once(void **state)
{
    expect(c, "+OK", "DEBUG SET-ACTIVE-EXPIRE 0");
    expect(c, "+OK", "SET x 1 PX 1");
    while (ask_integer(c, "EXISTS x") != 0) testserver_pause();
    begin();
    queue("DBSIZE");
    queue("SET x 2");
    queue("SET y 2 PX 100000");
    queue("DBSIZE");
    queue("PEXPIREAT y 1");
    queue("DBSIZE");
    expect(c, "[:1 +OK +OK :2 :1 :1]", "EXEC");
    expect(c, "+OK", "DEBUG SET-ACTIVE-EXPIRE 1");
    expect(c, ":1", "DBSIZE");
}

static void dbsize_in_a_script_forgets_what_was_undone(void **state)
{
    static const char undone[] =
        "redis.call('SET', 'a', 1) local n = redis.call('DBSIZE') "
        "redis.pcall('KV.ATOMIC', 'SET', '[\"b\"]', '1', 'DEL', '[\"a\"]', 'SUM', '[\"b\"]', '\"\"') "
        "return {n, redis.call('DBSIZE'), redis.call('SET', 'd', 1), redis.call('DBSIZE')}";
    static const char inner[] = "redis.call('SET', 'f', 1) return redis.call('DBSIZE')";
    expect(c, "[:1 :1 +OK :2]", "EVAL %s 0", undone);
    expect(c, ":2", "DBSIZE");
    begin();
    queue("SET e 1");
    expect(c, "+QUEUED", "EVAL %s 0", inner);
    queue("DBSIZE");
    expect(c, "[+OK :4 :4]", "EXEC");
}

static void randomkey_and_counts_see_what_was_written_inside(void **state)
{
    begin();
    queue("RANDOMKEY");
    queue("SET a 1");
    queue("RANDOMKEY");
    queue("KV.COUNT");
    queue("FLUSHDB");
    queue("RANDOMKEY");
    queue("KV.COUNT");
    expect(c, "[(nil) +OK a :1 +OK (nil) :0]", "EXEC");
}

static void queues_are_told_as_the_transaction_has_them(void **state)
{
    expect(c, "*", "KV.ENQUEUE old 1");
    begin();
    queue("KV.QUEUE LIST");
    queue("KV.ENQUEUE new 1");
    queue("KV.QUEUE LIST");
    queue("KV.QUEUE STATS new");
    queue("KV.ENQUEUE new 2");
    queue("KV.QUEUE TOP READY");
    queue("KV.QUEUE LIST AFTER new");
    queue("KV.QUEUE PURGE old");
    queue("KV.QUEUE STATS old");
    queue("FLUSHDB");
    queue("KV.QUEUE LIST");
    queue("KV.QUEUE TOP READY");
    queue("KV.QUEUE STATS old");
    queue("KV.ENQUEUE newer 1");
    queue("KV.QUEUE LIST");
    expect(
        c,
        "[[old] * [new old] [ready :1 *] * [[new [ready :2 *]] [old [ready :1 *]]] [old] :1 [ready :0 *] +OK [] [] [ready :0 * enqueued :0 *] * "
        "[newer]]",
        "EXEC");
    expect(c, "[newer]", "KV.QUEUE LIST");
}

/* ---- exec-on-error continue ---- */

static void go_on_after_errors(void)
{
    expect(c, "+OK", "CONFIG SET exec-on-error continue");
}

static void a_command_that_fails_leaves_the_others(void **state)
{
    (void)state;
    go_on_after_errors();
    begin();
    queue("SET a 1");
    queue("LPUSH a x");
    queue("INCR a");
    expect(c, "[+OK -WRONGTYPE *:2]", "EXEC");
    expect(c, "2", "GET a");
}

/* All of it, not its last command alone. */
static void a_script_that_fails_leaves_nothing(void **state)
{
    (void)state;
    go_on_after_errors();
    expect(d, "[subscribe ch :1]", "SUBSCRIBE ch");
    expect(c, "+OK", "SET n 5");
    begin();
    queue("INCR n");
    queue("PUBLISH ch before");
    queue("EVAL %s 0",
          "for i = 1, 30 do redis.call('set', 'k' .. i, i) redis.call('incr', 'n') end "
          "redis.call('publish', 'ch', 'within') redis.call('sadd', 's', 'x') "
          "return redis.error_reply('no')");
    queue("EVAL %s 0", "redis.call('incr', 'n') redis.call('hset', 'h', 'f', 1) "
                       "redis.call('get', 'h')");
    queue("EVAL %s 0", "redis.pcall('lpush', 'n', 1) return redis.call('incr', 'n')");
    queue("PUBLISH ch after");
    expect(c, "[:6 :1 -*no* -WRONGTYPE* :7 :1]", "EXEC");
    expect(c, "7", "GET n");
    expect(c, ":1", "DBSIZE");
    expect_next(d, "[message ch before]");
    expect_next(d, "[message ch after]");
}

/* The error of a script is the same in EXEC, with its code, whichever that is. */
static void the_error_of_a_script_keeps_its_code(void **state)
{
    (void)state;
    static const struct {
        const char *script, *error;
    } cases[] = {
        {"return redis.error_reply('MINE it is')", "-MINE it is*"},
        {"return redis.error_reply('ERR it is')", "-ERR it is*"},
        {"return redis.call('xgroup', 'create', 's', 'g', '0')", "-BUSYGROUP *"},
        {"return redis.call('xreadgroup', 'group', 'h', 'a', 'streams', 's', '>')", "-NOGROUP *"},
        {"error('no')", "-ERR *no*"},
    };
    size_t count = sizeof cases / sizeof cases[0];
    go_on_after_errors();
    expect(c, "+OK", "XGROUP CREATE s g 0 MKSTREAM");
    for (size_t i = 0; i < count; i++) {
        char text[64];
        expect(c, cases[i].error, "EVAL %s 0", cases[i].script);
        begin();
        queue("EVAL %s 0", cases[i].script);
        snprintf(text, sizeof text, "[%s]", cases[i].error);
        expect(c, text, "EXEC");
    }
    expect(c, "+OK", "CONFIG SET exec-on-error rollback");
    for (size_t i = 0; i < count; i++) {
        char text[64];
        begin();
        queue("EVAL %s 0", cases[i].script);
        snprintf(text, sizeof text, "-EXECABORT command 1 eval: %s", cases[i].error + 1);
        expect(c, text, "EXEC");
    }
}

static void what_was_flushed_by_a_script_that_fails_refuses_all(void **state)
{
    (void)state;
    go_on_after_errors();
    expect(c, "+OK", "SET a 1");
    begin();
    queue("SET b 1");
    queue("EVAL %s 0", "redis.call('flushdb') redis.call('set', 'c', 1) "
                       "return redis.error_reply('no')");
    expect(c, "-EXECABORT *", "EXEC");
    expect(c, "1", "GET a");
    expect(c, ":1", "DBSIZE");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, group_enter, group_leave)
    const struct CMUnitTest tests[] = {
        TEST(exec_answers_each_command_in_order),
        TEST(an_empty_exec_is_an_empty_array_and_takes_no_version),
        TEST(nothing_happens_before_exec),
        TEST(discard_forgets_the_queue),
        TEST(multi_does_not_nest_and_goes_on),
        TEST(a_command_that_cannot_be_queued_aborts_exec),
        TEST(reset_and_the_end_of_a_connection_forget_the_queue),
        TEST(resp3_has_its_nil_for_a_conflict_and_inside),
        TEST(an_error_refuses_all_and_names_the_command),
        TEST(a_refused_exec_leaves_no_trace),
        TEST(the_connection_is_as_it_was_after_a_refused_exec),
        TEST(select_in_the_middle_holds_from_there_on),
        TEST(a_condition_that_is_missed_is_nil_for_its_command),
        TEST(checks_inside_see_earlier_commands),
        TEST(all_writes_share_one_versionstamp),
        TEST(an_own_version_can_be_checked_inside),
        TEST(lists_and_counts_see_earlier_commands),
        TEST(pages_inside_exec_go_on_with_their_cursor),
        TEST(scan_and_keys_see_earlier_commands),
        TEST(a_flush_in_the_middle_empties_what_was_before),
        TEST(a_ttl_set_inside_is_seen_inside),
        TEST(a_blocking_command_answers_at_once),
        TEST(a_watched_key_that_changed_is_a_conflict),
        TEST(a_watched_key_that_did_not_change_is_none),
        TEST(expiry_alone_is_a_conflict),
        TEST(an_own_write_is_a_conflict_too),
        TEST(watched_keys_have_any_form),
        TEST(a_watch_belongs_to_its_database),
        TEST(unwatch_discard_and_reset_end_a_watch),
        TEST(unwatch_inside_comes_too_late),
        TEST(a_key_watched_twice_keeps_what_it_was_first),
        TEST(a_failed_watch_watches_nothing),
        TEST(dbsize_counts_what_was_written_inside),
        TEST(dbsize_inside_is_of_the_database_selected),
        TEST(dbsize_sees_a_flush_inside),
        TEST(dbsize_inside_counts_an_expired_entry_once),
        TEST(dbsize_in_a_script_forgets_what_was_undone),
        TEST(randomkey_and_counts_see_what_was_written_inside),
        TEST(queues_are_told_as_the_transaction_has_them),
        TEST(a_command_that_fails_leaves_the_others),
        TEST(a_script_that_fails_leaves_nothing),
        TEST(the_error_of_a_script_keeps_its_code),
        TEST(what_was_flushed_by_a_script_that_fails_refuses_all),
    };
    return cmocka_run_group_tests(tests, start, group_stop);
}
