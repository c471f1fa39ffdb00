/* CLIENT TRACKING: which client is told that what it has read has changed, of what, when, and what
 * is left of it; as pushes of RESP3, and by redirection.
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
#include "http.h"
#include "load_help.h"
#include "real_redis.h"
#include "resp3.h"

static redisContext *c; /* who writes */
static struct resp3 *t; /* who is tracked */

static int start(void **state)
{
    group_opens(&c, NULL);
    server = testserver_start(&(struct testserver_options){.has_http = true});
    return 0;
}

static int enter(void **state)
{
    if (group_enter(state) != 0) return -1;
    t = resp3_connect(server);
    return 0;
}

static int leave(void **state)
{
    resp3_close(t);
    t = NULL;
    return group_leave(state);
}

/* Nothing more has been sent: the answer to PING is next. */
static void expect_silence(struct resp3 *who)
{
    resp3_expect(who, "still here", "PING %s", "still here");
}

static long long info(const char *field)
{
    const char *text = ask(c, "INFO");
    const char *at = strstr(text, field);
    if (at == NULL) fail_msg("INFO has no %s", field);
    return atoll(at + strlen(field) + 1);
}

static void wait_for(const char *field, long long wanted)
{
    long end_ms = testserver_now_ms() + 10000;
    while (info(field) != wanted) {
        if (testserver_now_ms() > end_ms) fail_msg("%s is %lld", field, info(field));
        testserver_pause();
    }
}

/* ---- keys that were read ---- */

static void who_has_read_a_key_is_told_once_when_it_changes(void **state)
{
    expect(c, "+OK", "SET k 1");
    resp3_expect(t, "+OK", "CLIENT TRACKING ON");
    expect(c, "+OK", "SET k 2"); /* not read yet */
    resp3_expect(t, "2", "GET k");
    resp3_expect(t, "(nil)", "GET other");
    expect(c, "+OK", "SET k 3");
    resp3_expect_next(t, ">[invalidate [k]]");
    expect(c, "+OK", "SET k 4"); /* told already */
    expect(c, ":1", "INCR third");
    expect(c, "+OK", "SET other x"); /* that it was absent was read too */
    resp3_expect_next(t, ">[invalidate [other]]");
    expect_silence(t);
    resp3_expect(t, "4", "GET k");
    expect(c, ":1", "DEL k");
    resp3_expect_next(t, ">[invalidate [k]]");
    expect_silence(t);
}

static void all_kinds_of_writes_are_told(void **state)
{
    static const char *const writes[] = {
        "SET k 1",
        "INCR k",
        "APPEND k 2",
        "SETRANGE k 0 3",
        "EXPIRE k 100",
        "PERSIST k",
        "MSET a 1 k 2",
        "GETSET k 5",
        "GETDEL k",
        "SETNX k 1",
        "RENAME k b",
        "RENAME b k",
        "COPY a k REPLACE",
        "SETBIT k 3 1",
        "KV.SET ['k'] 1",
        "KV.DEL ['k']",
        "KV.SET ['k'] 2",
        "KV.SUM ['k'] 1",
        "KV.DELRANGE START ['a'] END ['z']",
    };
    resp3_expect(t, "+OK", "CLIENT TRACKING ON");
    for (size_t i = 0; i < sizeof writes / sizeof writes[0]; i++) {
        (void)resp3_ask(t, "EXISTS k");
        freeReplyObject(ask_reply(c, writes[i]));
        resp3_expect_next(t, ">[invalidate [k]]");
        expect_silence(t);
    }
}

static void what_only_reads_or_changes_nothing_is_not_told(void **state)
{
    expect(c, "+OK", "SET k 1");
    resp3_expect(t, "+OK", "CLIENT TRACKING ON");
    resp3_expect(t, "1", "GET k");
    expect(c, "1", "GET k");
    expect(c, "(nil)", "SET k 2 NX");
    expect(c, ":0", "PERSIST k");
    expect(c, ":0", "DEL nosuch");
    expect(c, "-*", "EVAL %s 0", "redis.call('set','k','9') error('no')");
    expect_silence(t);
}

/* What is read of a range is not tracked, and so its beginning is not. */
static void beginnings_of_ranges_are_not_tracked(void **state)
{
    resp3_expect(t, "+OK", "CLIENT TRACKING ON");
    resp3_expect(t, ":0", "KV.COUNT PREFIX ['a']");
    (void)resp3_ask(t, "KV.LIST PREFIX ['a']");
    (void)resp3_ask(t, "KV.LIST START ['a'] END ['b']");
    assert_int_equal(info("tracking_total_keys"), 0);
    expect(c, "@", "KV.SET ['a'] 1");
    expect_silence(t);
}

static void a_command_may_read_many_keys(void **state)
{
    resp3_expect(t, "+OK", "CLIENT TRACKING ON");
    resp3_expect(t, "[(nil) (nil) (nil) (nil)]", "MGET a b a c");
    assert_int_equal(info("tracking_total_keys"), 3);
    assert_int_equal(info("tracking_total_items"), 3);
    expect(c, "+OK", "MSET b 1 d 2 a 3");
    resp3_expect_next(t, ">[invalidate [b]]");
    resp3_expect_next(t, ">[invalidate [a]]");
    expect_silence(t);
    resp3_expect(t, "[3 1]", "MGET a b");
    assert_int_equal(info("tracking_total_keys"), 3);
}

static void tuples_are_named_by_their_path_and_plain_keys_by_their_bytes(void **state)
{
    resp3_expect(t, "+OK", "CLIENT TRACKING ON");
    resp3_expect(t, "(nil)", "KV.GET %s", "[\"u\",1,\"a b\"]");
    resp3_expect(t, "(nil)", "KV.GET ['plain']");
    resp3_expect(t, "(nil)", "GET %b", "a/b \xc3\xa9", (size_t)6);
    resp3_expect(t, "(nil)", "GET %b", "\xff\x00\x01", (size_t)3);
    expect(c, "@", "KV.SET %s 1", "[\"u\",1,\"a b\"]");
    resp3_expect_next(t, ">[invalidate [u/#1/a%20b]]");
    expect(c, "@", "KV.SET ['plain'] 1");
    resp3_expect_next(t, ">[invalidate [plain]]");
    expect(c, "+OK", "SET %b 1", "a/b \xc3\xa9", (size_t)6);
    resp3_expect_next(t, ">[invalidate [a/b \xc3\xa9]]");
    expect(c, "+OK", "SET %b 1", "\xff\x00\x01", (size_t)3);
    const char *text = resp3_next(t);
    assert_memory_equal(text, ">[invalidate [\xff\x00\x01]]", 19);
    expect_silence(t);
}

static void a_key_belongs_to_its_database(void **state)
{
    resp3_expect(t, "+OK", "CLIENT TRACKING ON");
    resp3_expect(t, "(nil)", "GET k");
    expect(c, "+OK", "SELECT 1");
    expect(c, "+OK", "SET k 1");
    expect_silence(t);
    resp3_expect(t, "+OK", "SELECT 1");
    resp3_expect(t, "1", "GET k");
    resp3_expect(t, "+OK", "SELECT 0");
    expect(c, "+OK", "SET k 2");
    resp3_expect_next(t, ">[invalidate [k]]");
    expect_silence(t);
}

static void expiry_is_told(void **state)
{
    bool is_read = false;
    for (int ms = 30; !is_read; ms *= 2) { /* it may have expired before it is read */
        struct resp3 *x = resp3_connect(server);
        expect(c, "+OK", "SET k 1 PX %d", ms);
        resp3_expect(x, "+OK", "CLIENT TRACKING ON");
        is_read = strcmp(resp3_ask(x, "GET k"), "1") == 0;
        if (is_read) resp3_expect_next(x, ">[invalidate [k]]");
        resp3_close(x);
    }
}

static void a_flush_is_told_as_null(void **state)
{
    struct resp3 *other = resp3_connect(server);
    resp3_expect(t, "+OK", "CLIENT TRACKING ON");
    resp3_expect(other, "+OK", "CLIENT TRACKING ON BCAST PREFIX x");
    resp3_expect(t, "[(nil) (nil)]", "MGET a b");
    expect(c, "+OK", "FLUSHDB");
    resp3_expect_next(t, ">[invalidate (nil)]");
    resp3_expect_next(other, ">[invalidate (nil)]");
    assert_int_equal(info("tracking_total_keys"), 0);
    expect(c, "+OK", "SET a 1");
    expect_silence(t);
    resp3_expect(t, "1", "GET a");
    expect(c, "+OK", "FLUSHALL");
    resp3_expect_next(t, ">[invalidate (nil)]");
    expect_silence(t);
    resp3_close(other);
}

static void ones_own_writes_are_told_after_their_reply(void **state)
{
    resp3_expect(t, "+OK", "CLIENT TRACKING ON");
    resp3_expect(t, "(nil)", "GET k");
    resp3_expect(t, "+OK", "SET k 1");
    resp3_expect_next(t, ">[invalidate [k]]");
    expect_silence(t);
}

static void noloop_is_not_told_of_its_own_writes(void **state)
{
    resp3_expect(t, "+OK", "CLIENT TRACKING ON NOLOOP");
    resp3_expect(t, "(nil)", "GET k");
    resp3_expect(t, "+OK", "SET k 1");
    expect_silence(t);
    expect(c, "+OK", "SET k 2");
    resp3_expect_next(t, ">[invalidate [k]]");
    expect_silence(t);
}

static void transactions_and_scripts_read_and_write_too(void **state)
{
    resp3_expect(t, "+OK", "CLIENT TRACKING ON");
    resp3_expect(t, "+OK", "MULTI");
    resp3_expect(t, "+QUEUED", "GET a");
    resp3_expect(t, "+QUEUED", "GET b");
    resp3_expect(t, "[(nil) (nil)]", "EXEC");
    expect(c, "+OK", "MULTI");
    expect(c, "+QUEUED", "SET b 1");
    expect(c, "+QUEUED", "SET b 2");
    expect(c, "+QUEUED", "SET z 2");
    expect_silence(t);
    expect(c, "[+OK +OK +OK]", "EXEC");
    resp3_expect_next(t, ">[invalidate [b]]");
    expect_silence(t);
    resp3_expect(t, "(nil)", "EVAL %s 1 c", "return redis.call('get', KEYS[1])");
    expect(c, "(nil)", "EVAL %s 0", "redis.call('set', 'c', 1) redis.call('set', 'a', 1)");
    resp3_expect_next(t, ">[invalidate [c]]");
    resp3_expect_next(t, ">[invalidate [a]]");
    expect_silence(t);
}

static void writes_over_http_are_told(void **state)
{
    struct http_conn *h = http_open(server);
    resp3_expect(t, "+OK", "CLIENT TRACKING ON");
    resp3_expect(t, "(nil)", "GET k");
    http_expect(h, 200, "{'result':'OK'}", "POST /", NULL, "['SET','k','1']");
    resp3_expect_next(t, ">[invalidate [k]]");
    http_close(h);
}

static void an_invalidation_is_sent_when_its_commit_is_durable(void **state)
{
    static const char *const env[] = {"TUPLED_TEST_SYNC_DELAY_MS=300", NULL};
    struct testserver *s = testserver_start(
        &(struct testserver_options){.is_release = true, .env = env});
    redisContext *w = testserver_connect(s);
    struct resp3 *one = resp3_connect(s);
    struct resp3 *all = resp3_connect(s);
    resp3_expect(one, "+OK", "CLIENT TRACKING ON");
    resp3_expect(one, "(nil)", "GET k");
    resp3_expect(all, "+OK", "CLIENT TRACKING ON BCAST");
    long from = testserver_now_ms();
    say(w, "SET k 1");
    load_flush(w);
    resp3_expect_next(one, ">[invalidate [k]]");
    assert_true(testserver_now_ms() - from >= 250);
    resp3_expect_next(all, ">[invalidate [k]]");
    expect_next(w, "+OK");
    resp3_expect(one, "1", "GET k");
    from = testserver_now_ms();
    say(w, "SET other 1");
    load_flush(w);
    resp3_expect_next(all, ">[invalidate [other]]");
    assert_true(testserver_now_ms() - from >= 250);
    expect_next(w, "+OK");
    from = testserver_now_ms();
    say(w, "FLUSHDB");
    load_flush(w);
    resp3_expect_next(one, ">[invalidate (nil)]");
    assert_true(testserver_now_ms() - from >= 250);
    expect_next(w, "+OK");
    redisFree(w);
    resp3_close(one);
    resp3_close(all);
    testserver_free(s);
}

/* Such a script's commands run between other clients' ones. */
static void a_long_script_reads_too(void **state)
{
    resp3_expect(t, "+OK", "CLIENT TRACKING ON");
    resp3_expect(t, ":3000000", "EVAL %s 0",
                 "redis.call('get', 'k') local n = 0 for i = 1, 3000000 do n = n + 1 end return n");
    expect(c, "+OK", "SET k 1");
    resp3_expect_next(t, ">[invalidate [k]]");
    expect_silence(t);
}

static void replies_that_are_off_do_not_matter(void **state)
{
    resp3_expect(t, "+OK", "CLIENT TRACKING ON");
    resp3_expect(t, "(nil)", "GET k");
    resp3_say(t, "CLIENT REPLY OFF");
    resp3_say(t, "GET j");
    resp3_expect(t, "+OK", "CLIENT REPLY ON");
    expect(c, "+OK", "MSET k 1 j 1");
    resp3_expect_next(t, ">[invalidate [k]]");
    resp3_expect_next(t, ">[invalidate [j]]");
    expect_silence(t);
}

/* ---- OPTIN, OPTOUT ---- */

static void optin_tracks_what_it_is_told_to(void **state)
{
    resp3_expect(t, "+OK", "CLIENT TRACKING ON OPTIN");
    resp3_expect(t, "(nil)", "GET a");
    resp3_expect(t, "+OK", "CLIENT CACHING YES");
    resp3_expect(t, "(nil)", "GET b");
    resp3_expect(t, "(nil)", "GET c");
    expect(c, "+OK", "MSET a 1 b 1 c 1");
    resp3_expect_next(t, ">[invalidate [b]]");
    expect_silence(t);
    resp3_expect(t, "+OK", "CLIENT CACHING YES");
    resp3_expect(t, "+OK", "MULTI");
    resp3_expect(t, "+QUEUED", "GET a");
    resp3_expect(t, "+QUEUED", "GET c");
    resp3_expect(t, "[1 1]", "EXEC");
    resp3_expect(t, "1", "GET b");
    expect(c, "+OK", "MSET a 2 b 2 c 2");
    resp3_expect_next(t, ">[invalidate [a]]");
    resp3_expect_next(t, ">[invalidate [c]]");
    expect_silence(t);
}

static void optout_leaves_out_what_it_is_told_to(void **state)
{
    resp3_expect(t, "+OK", "CLIENT TRACKING ON OPTOUT");
    resp3_expect(t, "(nil)", "GET a");
    resp3_expect(t, "+OK", "CLIENT CACHING NO");
    resp3_expect(t, "(nil)", "GET b");
    expect(c, "+OK", "MSET b 1 a 1");
    resp3_expect_next(t, ">[invalidate [a]]");
    expect_silence(t);
}

/* ---- BCAST ---- */

static void broadcast_tells_of_all_keys_with_a_prefix(void **state)
{
    struct resp3 *all = resp3_connect(server);
    resp3_expect(t, "+OK", "CLIENT TRACKING ON BCAST PREFIX user: PREFIX u/");
    resp3_expect(all, "+OK", "CLIENT TRACKING ON BCAST");
    assert_int_equal(info("tracking_total_prefixes"), 3);
    expect(c, "+OK", "MSET user:1 1 user:2 2 use 3");
    resp3_expect_next(t, ">[invalidate [user:1 user:2]]");
    resp3_expect_next(all, ">[invalidate [user:1 user:2 use]]");
    expect(c, "@", "KV.SET ['u',7] 1");
    resp3_expect_next(t, ">[invalidate [u/#7]]");
    resp3_expect_next(all, ">[invalidate [u/#7]]");
    expect(c, "+OK", "SELECT 1");
    expect(c, "+OK", "SET user:9 1"); /* as in Redis, of whatever database */
    resp3_expect_next(t, ">[invalidate [user:9]]");
    resp3_expect_next(all, ">[invalidate [user:9]]");
    resp3_expect(t, "+OK", "CLIENT TRACKING ON BCAST PREFIX late:");
    expect(c, "+OK", "SET late:1 1");
    resp3_expect_next(t, ">[invalidate [late:1]]");
    resp3_expect_next(all, ">[invalidate [late:1]]");
    resp3_expect(t, "(nil)", "GET read");
    expect(c, "+OK", "SELECT 0");
    expect(c, "+OK", "SET read 1");
    expect_silence(t);
    resp3_close(all);
    wait_for("tracking_total_prefixes", 3);
}

static void broadcast_without_loop_leaves_out_ones_own_keys(void **state)
{
    resp3_expect(t, "+OK", "CLIENT TRACKING ON BCAST NOLOOP");
    resp3_expect(t, "+OK", "SET mine 1");
    expect_silence(t);
    expect(c, "+OK", "SET yours 1");
    resp3_expect_next(t, ">[invalidate [yours]]");
    expect_silence(t);
}

static void broadcast_tells_a_user_of_what_he_may_read(void **state)
{
    expect(c, "+OK", "ACL SETUSER bob on >pw +@all ~b* allchannels alldbs");
    resp3_expect(t, "+OK", "AUTH bob pw");
    resp3_expect(t, "+OK", "CLIENT TRACKING ON BCAST");
    expect(c, "+OK", "MSET a 1 b1 1 c 1");
    resp3_expect_next(t, ">[invalidate [b1]]");
    expect(c, "+OK", "SET a 2");
    expect_silence(t);
    expect(c, "+OK", "ACL SETUSER bob db=0,2");
    expect(c, "+OK", "SELECT 1");
    expect(c, "+OK", "SET b1 2");
    expect_silence(t);
    expect(c, "+OK", "SELECT 2");
    expect(c, "+OK", "SET b2 2");
    resp3_expect_next(t, ">[invalidate [b2]]");
    expect(c, ":1", "ACL DELUSER bob");
}

/* Many names of one commit are many messages, and none is lost. */
static void a_broadcast_of_very_many_keys_is_whole(void **state)
{
    enum { KEYS = 2500 };
    size_t found = 0;
    resp3_expect(t, "+OK", "CLIENT TRACKING ON BCAST PREFIX many:");
    expect(c, "+OK", "MULTI");
    for (int i = 0; i < KEYS; i++) expect(c, "+QUEUED", "SET many:%d x", i);
    freeReplyObject(ask_reply(c, "EXEC"));
    while (found < KEYS) {
        const char *text = resp3_next(t);
        assert_true(text_fits(text, ">[invalidate [many:*"));
        for (; *text != '\0'; text++) found += *text == ':';
    }
    assert_int_equal(found, KEYS);
    expect_silence(t);
}

/* ---- redirection ---- */

static void resp2_is_told_by_another_client_that_listens(void **state)
{
    redisContext *to = testserver_connect(server);
    redisContext *two = testserver_connect(server);
    long long id = ask_integer(to, "CLIENT ID");
    expect(two, ":-1", "CLIENT GETREDIR");
    expect(two, "+OK", "CLIENT TRACKING ON REDIRECT %lld", id);
    char wanted[32];
    snprintf(wanted, sizeof wanted, ":%lld", id);
    expect(two, wanted, "CLIENT GETREDIR");
    expect(two, "(nil)", "GET a");
    expect(c, "+OK", "SET a 1");
    expect(to, "+PONG", "PING"); /* it does not listen yet */
    expect(to, "[subscribe __redis__:invalidate :1]", "SUBSCRIBE __redis__:invalidate");
    expect(two, "1", "GET a");
    expect(c, "+OK", "SET a 2");
    expect_next(to, "[message __redis__:invalidate [a]]");
    expect(c, "+OK", "FLUSHALL");
    expect_next(to, "[message __redis__:invalidate (nil)]");
    expect(two, "(nil)", "GET a");
    expect(two, "+OK", "SET a 3"); /* its own too */
    expect_next(to, "[message __redis__:invalidate [a]]");
    expect(two, "3", "GET a");
    redisFree(to);
    long end_ms = testserver_now_ms() + 10000;
    while (!text_fits(ask(two, "CLIENT INFO"), "* flags=tR *")) {
        assert_true(testserver_now_ms() < end_ms);
        testserver_pause();
    }
    expect(c, "+OK", "SET a 4");
    expect(two, "+PONG", "PING"); /* it knows no push, so nothing tells it */
    redisFree(two);
}

static void resp3_may_be_told_by_another_client(void **state)
{
    struct resp3 *to = resp3_connect(server);
    resp3_expect(t, "+OK", "CLIENT TRACKING ON BCAST REDIRECT %lld",
                 atoll(resp3_ask(to, "CLIENT ID") + 1));
    expect(c, "+OK", "SET a 1");
    resp3_expect_next(to, ">[invalidate [a]]");
    expect_silence(t);
    resp3_close(to);
}

static void a_broken_redirection_is_told(void **state)
{
    struct resp3 *to = resp3_connect(server);
    long long id = atoll(resp3_ask(to, "CLIENT ID") + 1);
    char wanted[200];
    resp3_expect(t, "+OK", "CLIENT TRACKING ON REDIRECT %lld", id);
    resp3_expect(t, "(nil)", "GET a");
    resp3_close(to);
    snprintf(wanted, sizeof wanted, "[flags [on broken_redirect] redirect :%lld prefixes []]", id);
    long end_ms = testserver_now_ms() + 10000;
    while (!text_fits(resp3_ask(t, "CLIENT TRACKINGINFO"), wanted)) {
        if (testserver_now_ms() > end_ms) fail_msg("%s", resp3_ask(t, "CLIENT TRACKINGINFO"));
        testserver_pause();
    }
    expect(c, "+OK", "SET a 1");
    snprintf(wanted, sizeof wanted, ">[tracking-redir-broken :%lld]", id);
    resp3_expect_next(t, wanted);
    expect_silence(t);
    assert_true(text_fits(resp3_ask(t, "CLIENT INFO"), "* flags=tR *"));
    resp3_expect(t, "+OK", "CLIENT TRACKING ON");
    resp3_expect(t, "[flags [on] redirect :0 prefixes []]", "CLIENT TRACKINGINFO");
    assert_true(text_fits(resp3_ask(t, "CLIENT INFO"), "* flags=t *"));
}

static void nobody_is_told_by_somebody_elses_client(void **state)
{
    expect(c, "+OK", "ACL SETUSER bob on >pw +@all ~b* allchannels");
    long long id = ask_integer(c, "CLIENT ID");
    resp3_expect(t, "+OK", "AUTH bob pw");
    resp3_expect(t, "-ERR The client ID you want redirect to does not exist",
                 "CLIENT TRACKING ON REDIRECT %lld", id);
    expect(c, ":1", "ACL DELUSER bob");
}

/* ---- what is shown, what is refused, what is left ---- */

static void it_is_shown(void **state)
{
    resp3_expect(t, "[flags [off] redirect :-1 prefixes []]", "CLIENT TRACKINGINFO");
    resp3_expect(t, ":-1", "CLIENT GETREDIR");
    assert_true(text_fits(resp3_ask(t, "CLIENT INFO"), "* flags=N * redir=-1 *"));
    resp3_expect(t, "+OK", "CLIENT TRACKING ON");
    resp3_expect(t, "[flags [on] redirect :0 prefixes []]", "CLIENT TRACKINGINFO");
    resp3_expect(t, ":0", "CLIENT GETREDIR");
    assert_true(text_fits(resp3_ask(t, "CLIENT INFO"), "* flags=t * redir=0 *"));
    assert_int_equal(info("tracking_clients"), 1);
    resp3_expect(t, "+OK", "CLIENT TRACKING ON OPTIN NOLOOP");
    resp3_expect(t, "[flags [on optin noloop] redirect :0 prefixes []]", "CLIENT TRACKINGINFO");
    resp3_expect(t, "+OK", "CLIENT CACHING YES");
    resp3_expect(t, "[flags [on optin caching-yes noloop] redirect :0 prefixes []]",
                 "CLIENT TRACKINGINFO");
    resp3_expect(t, "+OK", "CLIENT TRACKING OFF");
    resp3_expect(t, "+OK", "CLIENT TRACKING OFF");
    resp3_expect(t, "[flags [off] redirect :-1 prefixes []]", "CLIENT TRACKINGINFO");
    resp3_expect(t, "+OK", "CLIENT TRACKING ON OPTOUT");
    resp3_expect(t, "+OK", "CLIENT CACHING NO");
    resp3_expect(t, "[flags [on optout caching-no] redirect :0 prefixes []]",
                 "CLIENT TRACKINGINFO");
    resp3_expect(t, "+OK", "CLIENT TRACKING OFF");
    resp3_expect(t, "+OK", "CLIENT TRACKING ON BCAST PREFIX a PREFIX b");
    resp3_expect(t, "[flags [on bcast] redirect :0 prefixes [b a]]", "CLIENT TRACKINGINFO");
    assert_true(text_fits(resp3_ask(t, "CLIENT INFO"), "* flags=tB *"));
}

static void what_does_not_go_together_is_refused(void **state)
{
    static const char *const refused[][2] = {
        {"CLIENT TRACKING maybe", "-ERR syntax error"},
        {"CLIENT TRACKING ON NOSUCH", "-ERR syntax error"},
        {"CLIENT TRACKING ON PREFIX", "-ERR syntax error"},
        {"CLIENT TRACKING ON REDIRECT x", "-ERR value is not an integer or out of range"},
        {"CLIENT TRACKING ON REDIRECT 999999",
         "-ERR The client ID you want redirect to does not exist"},
        {"CLIENT TRACKING ON PREFIX a", "-ERR PREFIX option requires BCAST mode to be enabled"},
        {"CLIENT TRACKING ON BCAST OPTIN", "-ERR OPTIN and OPTOUT are not compatible with BCAST"},
        {"CLIENT TRACKING ON OPTIN OPTOUT",
         "-ERR You can't specify both OPTIN mode and OPTOUT mode"},
        {"CLIENT TRACKING ON BCAST PREFIX ab PREFIX a",
         "-ERR Prefix 'ab' overlaps with another provided prefix 'a'. Prefixes for a single client "
         "must not overlap."},
        {"CLIENT CACHING YES", "-ERR CLIENT CACHING can be called only when the client is in "
                               "tracking mode with OPTIN or OPTOUT mode enabled"},
    };
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        resp3_expect(t, refused[i][1], refused[i][0]);
    }
    resp3_expect(t, "[flags [off] redirect :-1 prefixes []]", "CLIENT TRACKINGINFO");
    resp3_expect(t, "+OK", "CLIENT TRACKING ON BCAST PREFIX ab");
    resp3_expect(t, "-ERR You can't switch BCAST mode on/off before *", "CLIENT TRACKING ON");
    resp3_expect(t, "-ERR Prefix 'a' overlaps with an existing prefix 'ab'. *",
                 "CLIENT TRACKING ON BCAST PREFIX a");
    resp3_expect(t, "+OK", "CLIENT TRACKING OFF");
    resp3_expect(t, "+OK", "CLIENT TRACKING ON OPTIN");
    resp3_expect(t, "-ERR You can't switch OPTIN/OPTOUT mode before *",
                 "CLIENT TRACKING ON OPTOUT");
    resp3_expect(t, "-ERR CLIENT CACHING NO is only valid *", "CLIENT CACHING NO");
    resp3_expect(t, "-ERR syntax error", "CLIENT CACHING maybe");
    char *longer = calloc(1, 600);
    memset(longer, 'x', 513);
    resp3_expect(t, "+OK", "CLIENT TRACKING OFF");
    resp3_expect(t, "-LIMIT the prefix has 513 bytes; 512 are allowed",
                 "CLIENT TRACKING ON BCAST PREFIX %s", longer);
    free(longer);
}

static void a_client_that_ends_leaves_nothing(void **state)
{
    resp3_expect(t, "+OK", "CLIENT TRACKING ON");
    for (int i = 0; i < 3000; i++) resp3_expect(t, "(nil)", "GET k:%d", i);
    assert_int_equal(info("tracking_total_keys"), 3000);
    resp3_expect(t, "+RESET", "RESET");
    wait_for("tracking_total_keys", 0);
    wait_for("tracking_total_items", 0);
    assert_int_equal(info("tracking_clients"), 0);
    resp3_expect(t, "[flags [off] redirect :-1 prefixes []]", "CLIENT TRACKINGINFO");
    (void)resp3_ask(t, "HELLO 3");
    resp3_expect(t, "+OK", "CLIENT TRACKING ON");
    for (int i = 0; i < 3000; i++) resp3_expect(t, "(nil)", "GET k:%d", i);
    resp3_close(t);
    t = NULL;
    wait_for("tracking_total_items", 0);
    wait_for("tracking_clients", 0);
}

static void a_client_of_resp2_alone_is_told_nothing(void **state)
{
    resp3_expect(t, "[server redis *", "HELLO 2");
    resp3_expect(t, "+OK", "CLIENT TRACKING ON");
    resp3_expect(t, "", "ECHO %s", "");
    resp3_expect(t, ":0", "EXISTS k");
    expect(c, "+OK", "SET k 1");
    expect_silence(t);
    (void)resp3_ask(t, "HELLO 3");
    resp3_expect(t, "1", "GET k");
    expect(c, "+OK", "SET k 2");
    resp3_expect_next(t, ">[invalidate [k]]");
}

static void the_table_is_bounded(void **state)
{
    expect(c, "+OK", "CONFIG SET tracking-table-max-keys 3");
    resp3_expect(t, "+OK", "CLIENT TRACKING ON");
    resp3_expect(t, "[(nil) (nil) (nil)]", "MGET a b c");
    resp3_expect(t, "(nil)", "GET d");
    resp3_expect_next(t, ">[invalidate [a]]");
    assert_int_equal(info("tracking_total_keys"), 3);
    expect(c, "+OK", "CONFIG SET tracking-table-max-keys 1");
    resp3_expect_next(t, ">[invalidate [b]]");
    resp3_expect_next(t, ">[invalidate [c]]");
    expect(c, "+OK", "SET d 1");
    resp3_expect_next(t, ">[invalidate [d]]");
    expect(c, "+OK", "CONFIG SET tracking-table-max-keys 0");
    for (int i = 0; i < 100; i++) resp3_expect(t, "(nil)", "GET k:%d", i);
    assert_int_equal(info("tracking_total_keys"), 100);
    expect(c, "+OK", "CONFIG SET tracking-table-max-keys 1000000");
}

/* A transaction that changes what many have read is told to all of them, in as many turns as that
 * takes. */
static void very_many_are_told(void **state)
{
    enum { READERS = 40, KEYS = 1000 };
    struct resp3 *readers[READERS];
    char *mget = malloc(KEYS * 10);
    size_t len = (size_t)sprintf(mget, "MGET");
    for (int k = 0; k < KEYS; k++) len += (size_t)sprintf(mget + len, " k:%d", k);
    for (int i = 0; i < READERS; i++) {
        readers[i] = resp3_connect(server);
        resp3_expect(readers[i], "+OK", "CLIENT TRACKING ON");
        (void)resp3_ask(readers[i], mget);
    }
    assert_int_equal(info("tracking_total_items"), READERS * KEYS);
    expect(c, "+OK", "MULTI");
    for (int k = 0; k < KEYS; k++) expect(c, "+QUEUED", "SET k:%d x", k);
    freeReplyObject(ask_reply(c, "EXEC"));
    for (int i = 0; i < READERS; i++) {
        for (int k = 0; k < KEYS; k++) {
            char wanted[64];
            snprintf(wanted, sizeof wanted, ">[invalidate [k:%d]]", k);
            resp3_expect_next(readers[i], wanted);
        }
        expect_silence(readers[i]);
        resp3_close(readers[i]);
    }
    free(mget);
    wait_for("tracking_total_items", 0);
}

/* Words and errors, to a client that is told nothing. */
static void replies_are_as_in_redis(void **state)
{
    static const char *const commands[] = {
        "CLIENT TRACKINGINFO",
        "CLIENT GETREDIR",
        "CLIENT TRACKING",
        "CLIENT TRACKING maybe",
        "CLIENT TRACKING on redirect",
        "CLIENT TRACKING on redirect x",
        "CLIENT TRACKING on redirect 999999",
        "CLIENT TRACKING on prefix x",
        "CLIENT TRACKING on prefix",
        "CLIENT TRACKING on bcast optin",
        "CLIENT TRACKING on bcast optout",
        "CLIENT TRACKING on optin optout",
        "CLIENT TRACKING on bcast prefix ab prefix a",
        "CLIENT TRACKING off nosuch",
        "CLIENT TRACKING off prefix x",
        "CLIENT CACHING",
        "CLIENT CACHING yes",
        "CLIENT TRACKING on",
        "CLIENT TRACKINGINFO",
        "CLIENT CACHING yes",
        "CLIENT CACHING no",
        "CLIENT CACHING maybe",
        "CLIENT TRACKING on bcast",
        "CLIENT TRACKING on optin",
        "CLIENT TRACKINGINFO",
        "CLIENT TRACKING on optout",
        "CLIENT CACHING no",
        "CLIENT CACHING yes",
        "CLIENT TRACKINGINFO",
        "CLIENT GETREDIR",
        "GET k",
        "CLIENT TRACKINGINFO",
        "CLIENT TRACKING off",
        "CLIENT TRACKING on optout noloop",
        "CLIENT TRACKING on optin",
        "CLIENT CACHING no",
        "CLIENT TRACKINGINFO",
        "CLIENT TRACKING off",
        "CLIENT TRACKING on bcast prefix ab",
        "CLIENT TRACKING on bcast prefix ab",
        "CLIENT TRACKING on bcast prefix abc",
        "CLIENT TRACKINGINFO",
        "CLIENT TRACKING on",
        "RESET",
        "CLIENT TRACKINGINFO",
        "CLIENT GETREDIR x",
        "CLIENT TRACKINGINFO x",
    };
    real_redis_compare(c, commands, sizeof commands / sizeof commands[0]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, enter, leave)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(who_has_read_a_key_is_told_once_when_it_changes),
        TEST(all_kinds_of_writes_are_told),
        TEST(what_only_reads_or_changes_nothing_is_not_told),
        TEST(beginnings_of_ranges_are_not_tracked),
        TEST(a_command_may_read_many_keys),
        TEST(tuples_are_named_by_their_path_and_plain_keys_by_their_bytes),
        TEST(a_key_belongs_to_its_database),
        TEST(expiry_is_told),
        TEST(a_flush_is_told_as_null),
        TEST(ones_own_writes_are_told_after_their_reply),
        TEST(noloop_is_not_told_of_its_own_writes),
        TEST(transactions_and_scripts_read_and_write_too),
        TEST(writes_over_http_are_told),
        TEST(an_invalidation_is_sent_when_its_commit_is_durable),
        TEST(a_long_script_reads_too),
        TEST(replies_that_are_off_do_not_matter),
        TEST(optin_tracks_what_it_is_told_to),
        TEST(optout_leaves_out_what_it_is_told_to),
        TEST(broadcast_tells_of_all_keys_with_a_prefix),
        TEST(broadcast_without_loop_leaves_out_ones_own_keys),
        TEST(broadcast_tells_a_user_of_what_he_may_read),
        TEST(a_broadcast_of_very_many_keys_is_whole),
        TEST(resp2_is_told_by_another_client_that_listens),
        TEST(resp3_may_be_told_by_another_client),
        TEST(a_broken_redirection_is_told),
        TEST(nobody_is_told_by_somebody_elses_client),
        TEST(it_is_shown),
        TEST(what_does_not_go_together_is_refused),
        TEST(a_client_that_ends_leaves_nothing),
        TEST(a_client_of_resp2_alone_is_told_nothing),
        TEST(the_table_is_bounded),
        TEST(very_many_are_told),
        TEST(replies_are_as_in_redis),
    };
    return cmocka_run_group_tests(tests, start, group_stop);
}
