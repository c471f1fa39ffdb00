/* Who may use the server by HTTP: pages of browsers by host and origin, users by their passwords and
 * rights, tickets for those who cannot send a header; and what a change of a user ends. */
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
#include "http.h"

#define LIMIT_MS 20000
#define GUESSES 40

static redisContext *r;
static struct http_conn *h;

static int start(void **state)
{
    static const char *const args[] = {"--loglevel", "debug", NULL};
    group_opens(&r, NULL);
    server = testserver_start(&(struct testserver_options){.has_http = true, .args = args});
    return 0;
}

static int enter(void **state)
{
    group_enter(state);
    expect(r, "+OK", "ACL SETUSER alice reset on >secret >with:colon +@all ~a* &news");
    expect(r, "+OK", "SET a 1");
    h = http_open(server);
    return 0;
}

static int leave(void **state)
{
    http_close(h);
    h = NULL;
    expect(r, "+OK", "ACL SETUSER default on nopass ~* &* +@all");
    expect(r, "*", "ACL DELUSER alice");
    expect(r, "+OK", "CONFIG SET http-trusted-proxies %s", "");
    expect(r, "+OK", "CONFIG SET http-allowed-hosts %s", "");
    expect(r, "+OK", "CONFIG SET http-allowed-origins %s", "");
    return group_leave(state);
}

static void lock_default(void)
{
    expect(r, "+OK", "ACL SETUSER default resetpass >main");
}

/* ---- pages ----------------------------------------------------------------------------------- */

#define WRITE "['SET','a','changed']"

/* A page of a host name that an attacker points here. */
static void another_host_is_refused(void **state)
{
    const char *headers = "Host: evil.example\r\n";
    http_expect(h, 421, "{'error':'ERR *http-allowed-hosts*'}", "POST /", headers, WRITE);
    http_expect(h, 421, "{'error':*}", "GET /set/a/changed", headers, NULL);
    http_expect(h, 421, "{'error':*}", "GET /", headers, NULL);
    http_expect(h, 421, "{'error':*}", "POST /db/0/", headers, "['SET','a','changed']");
    http_expect(h, 421, "{'error':*}", "OPTIONS /", headers, NULL);
    http_say(h, "GET http://evil.example/set/a/changed HTTP/1.1\r\nHost: localhost\r\n\r\n");
    http_expect_next(h, 421, "{'error':*}");
    expect(r, "1", "GET a");
    expect(r, "+OK", "CONFIG SET http-allowed-hosts %s", "x evil.example");
    http_expect(h, 200, "{'result':'1'}", "GET /get/a", headers, NULL);
    http_expect(h, 200, "{'result':'1'}", "GET /get/a", "Host: 127.0.0.1:80\r\n", NULL);
    http_expect(h, 200, "{'result':'1'}", "GET /get/a", "Host: [::1]\r\n", NULL);
}

static void pages_of_others_are_refused(void **state)
{
    static const char *const others[] = {
        "Origin: http://evil.example\r\n", "Origin: null\r\n",
        "Origin: http://localhost:1\r\n",  "Origin: https://localhost\r\n",
        "Sec-Fetch-Site: cross-site\r\n",  "Authorization: Bearer x\r\nOrigin: http://evil\r\n"};
    static const char *const embedded[] = {
        "Sec-Fetch-Site: same-site\r\n", "Referer: http://evil.example/\r\n",
        "Sec-Fetch-Mode: no-cors\r\n", "Sec-Fetch-Dest: image\r\n"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        const char *headers = others[i];
        http_expect(h, 403, "{'error':*}", "POST /", headers, WRITE);
        http_expect(h, 403, "{'error':*}", "GET /set/a/changed", headers, NULL);
        http_expect(h, 403, "{'error':*}", "OPTIONS /", headers, NULL);
        http_expect(h, 403, "{'error':*}", "POST /ticket", headers, "{'path':'/monitor'}");
    }
    for (size_t i = 0; i < sizeof embedded / sizeof embedded[0]; i++) {
        http_expect(h, 403, "{'error':*}", "GET /set/a/changed", embedded[i], NULL);
        http_expect(h, 403, "{'error':*}", "GET /subscribe/news", embedded[i], NULL);
    }
    expect(r, "1", "GET a");
}

static void own_pages_and_other_programs_are_served(void **state)
{
    static const char *const good[] = {
        "", "Origin: http://localhost\r\n",
        "Sec-Fetch-Site: same-origin\r\nReferer: http://localhost/\r\n",
        "Sec-Fetch-Site: none\r\n"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        http_ask(h, "GET /get/a", good[i], NULL);
        struct http_answer *a = http_next(h);
        assert_int_equal(a->status, 200);
        assert_null(http_header_of(a, "access-control-allow-origin"));
        http_free(a);
    }
    http_expect(h, 200, "{'result':'1'}", "GET /get/a",
                "Referer: http://evil.example/\r\nAuthorization: Bearer alice:secret\r\n", NULL);
}

#define APP "https://app.example"

static void an_allowed_origin_is_told_so(void **state)
{
    expect(r, "+OK", "CONFIG SET http-allowed-origins %s", "http://x " APP);
    http_ask(h, "OPTIONS /pipeline",
             "Origin: " APP "\r\nAccess-Control-Request-Method: POST\r\n"
             "Access-Control-Request-Headers: authorization\r\nSec-Fetch-Site: cross-site\r\n",
             NULL);
    struct http_answer *a = http_next(h);
    assert_int_equal(a->status, 204);
    assert_string_equal(http_header_of(a, "access-control-allow-origin"), APP);
    assert_string_equal(http_header_of(a, "access-control-allow-methods"), "POST, OPTIONS");
    assert_true(text_fits(http_header_of(a, "access-control-allow-headers"), "*authorization*"));
    assert_null(http_header_of(a, "access-control-allow-credentials"));
    assert_string_equal(http_header_of(a, "vary"), "Origin, Accept-Encoding");
    http_free(a);
    lock_default();
    http_ask(h, "GET /get/a", "Origin: " APP "\r\nSec-Fetch-Site: cross-site\r\n", NULL);
    a = http_next(h); /* what went wrong may be read too */
    assert_int_equal(a->status, 401);
    assert_string_equal(http_header_of(a, "access-control-allow-origin"), APP);
    http_free(a);
    http_expect(h, 200, "{'result':'1'}", "GET /get/a",
                "Origin: " APP "\r\nSec-Fetch-Site: cross-site\r\nAuthorization: Bearer main\r\n",
                NULL);
    http_expect(h, 403, "{'error':*}", "GET /get/a",
                "Origin: " APP ".evil\r\nAuthorization: Bearer main\r\n", NULL);
}

static void only_a_trusted_proxy_says_whom_it_speaks_for(void **state)
{
    const char *headers =
        "Host: inner\r\nX-Forwarded-Host: db.example\r\nX-Forwarded-Proto: https\r\n"
        "Origin: https://db.example\r\n";
    const char *lie = "Host: localhost\r\nX-Forwarded-Host: evil.example\r\n";
    expect(r, "+OK", "CONFIG SET http-allowed-hosts db.example");
    http_expect(h, 421, "{'error':*}", "GET /get/a", headers, NULL);
    http_expect(h, 200, "{'result':'1'}", "GET /get/a", lie, NULL);
    expect(r, "+OK", "CONFIG SET http-trusted-proxies %s", "10.0.0.1 127.0.0.1");
    http_expect(h, 200, "{'result':'1'}", "GET /get/a", headers, NULL);
    http_expect(h, 421, "{'error':*}", "GET /get/a", lie, NULL);
    http_expect(h, 403, "{'error':*}", "GET /get/a",
                "Host: db.example\r\nX-Forwarded-Proto: http\r\nOrigin: https://db.example\r\n",
                NULL);
    const char *added =
        "Host: db.example\r\nX-Forwarded-Proto: http\r\nX-Forwarded-Proto: https\r\n"
        "X-Forwarded-Host: evil.example\r\nX-Forwarded-Host: db.example\r\n"
        "Origin: https://db.example\r\n";
    http_expect(h, 200, "{'result':'1'}", "GET /get/a", added, NULL);
}

/* ---- passwords ------------------------------------------------------------------------------- */

static void who_has_no_password_is_nobody(void **state)
{
    lock_default();
    http_ask(h, "GET /get/a", NULL, NULL);
    struct http_answer *a = http_next(h);
    assert_int_equal(a->status, 401);
    assert_string_equal(http_header_of(a, "www-authenticate"), "Bearer realm=\"tupled\"");
    assert_string_equal(a->body, "{\"error\":\"NOAUTH Authentication required.\"}");
    http_free(a);
    http_expect(h, 401, "*", "POST /ticket", NULL, "{'path':'/monitor'}");
    http_expect(h, 401, "*", "GET /monitor", NULL, NULL);
    http_expect(h, 200, "*", "GET /livez", NULL, NULL);
}

static void passwords_come_in_three_forms(void **state)
{
    static const char *const good[][2] = {{"Bearer main", "default"},
                                          {"bearer  default:main", "default"},
                                          {"Bearer default:co:lon", "default"},
                                          {"Bearer alice:secret", "alice"},
                                          {"BEARER alice:with:colon", "alice"},
                                          {"Basic YWxpY2U6c2VjcmV0", "alice"},
                                          {"basic ZGVmYXVsdDptYWlu", "default"},
                                          {"Basic YWxpY2U6d2l0aDpjb2xvbg==", "alice"}};
    lock_default();
    expect(r, "+OK", "ACL SETUSER default >co:lon");
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        char headers[200];
        char wanted[200];
        snprintf(headers, sizeof headers, "Authorization: %s\r\n", good[i][0]);
        snprintf(wanted, sizeof wanted, "{'result':'%s'}", good[i][1]);
        http_expect(h, 200, wanted, "GET /acl/whoami", headers, NULL);
    }
    static const char *const bad[] = {"main",    "Digest x",   "Bearer",
                                      "Basic ?", "Bearermain", "Basic YWxpY2U"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char headers[200];
        snprintf(headers, sizeof headers, "Authorization: %s\r\n", bad[i]);
        http_ask(h, "GET /acl/whoami", headers, NULL);
        struct http_answer *a = http_next(h);
        if (a->status != 401) fail_msg("%s: %d %s", bad[i], a->status, a->body);
        http_free(a);
    }
    http_expect(h, 401, "{'error':'WRONGPASS *'}", "GET /ping", "Authorization: Bearer co:lon\r\n",
                NULL);
}

/* Milliseconds until the answer to a wrong password. */
static long wrong_ms(const char *more)
{
    char headers[200];
    long begin = testserver_now_ms();
    snprintf(headers, sizeof headers, "Authorization: Bearer alice:wrong\r\n%s", more);
    http_expect(h, 401, "{'error':'WRONGPASS *'}", "GET /ping", headers, NULL);
    return testserver_now_ms() - begin;
}

static long other_guess_ms(int n)
{
    char from[64];
    snprintf(from, sizeof from, "X-Forwarded-For: 10.9.9.9, 10.8.8.%d\r\n", n);
    return wrong_ms(from);
}

static long right_ms(int n)
{
    (void)n;
    long begin = testserver_now_ms();
    http_expect(h, 200, "{'result':'alice'}", "GET /acl/whoami",
                "Authorization: Bearer alice:secret\r\nX-Forwarded-For: 10.9.9.9\r\n", NULL);
    return testserver_now_ms() - begin;
}

/* It is not made to wait: a busy machine may take long, but not each time. */
static bool is_soon(long (*ms)(int n))
{
    for (int n = 1; n <= 100; n++) {
        if (ms(n) < 90) return true;
    }
    return false;
}

static void wrong_passwords_are_answered_later_and_later(void **state)
{
    expect(r, "+OK", "CONFIG SET http-trusted-proxies 127.0.0.1");
    const char *guesser = "X-Forwarded-For: 1.1.1.1, 10.9.9.9\r\n";
    (void)wrong_ms(guesser);
    for (long least = 100; least <= 400; least *= 2) assert_true(wrong_ms(guesser) >= least);
    /* What a client says of itself before its proxy is nothing to go by. */
    assert_true(wrong_ms("X-Forwarded-For: 2.2.2.2, 10.9.9.9\r\n") >= 800);
    /* Nor in a header of its own, after which the proxy adds another. */
    assert_true(wrong_ms("X-Forwarded-For: 3.3.3.3\r\nx-forwarded-for: 10.9.9.9\r\n") >= 800);
    /* Others are not slowed, nor is who knows the password. */
    assert_true(is_soon(other_guess_ms));
    assert_true(is_soon(right_ms));
}

static struct http_conn *guesses[GUESSES];

/* False: this took so long that the first of them may have been answered. */
static bool guess_many(const char *right, const char *wrong)
{
    int not_tried = 0;
    http_expect(h, 200, "{'result':'alice'}", "GET /acl/whoami", right, NULL);
    for (int i = 0; i < 6; i++) {
        struct http_conn *c = http_open(server);
        http_expect(c, 401, "*", "GET /ping", wrong, NULL);
        http_close(c);
    }
    long begin = testserver_now_ms();
    for (int i = 0; i < GUESSES; i++) {
        guesses[i] = http_open(server);
        http_ask(guesses[i], "GET /ping", wrong, NULL);
    }
    for (int i = 16; i < GUESSES; i++) {
        struct http_answer *a = http_next(guesses[i]);
        not_tried += a->status == 429;
        http_free(a);
    }
    if (testserver_now_ms() - begin < 500) assert_int_equal(not_tried, GUESSES - 16);
    return not_tried == GUESSES - 16;
}

/* Who tries many at a time learns nothing from those that are not even tried. */
static void many_guesses_at_a_time_are_not_tried(void **state)
{
    char right[100];
    char wrong[100];
    expect(r, "+OK", "CONFIG SET http-trusted-proxies 127.0.0.1");
    for (int n = 1;; n++) {
        assert_true(n < 50);
        snprintf(right, sizeof right,
                 "Authorization: Bearer alice:secret\r\nX-Forwarded-For: 10.7.7.%d\r\n", n);
        snprintf(wrong, sizeof wrong,
                 "Authorization: Bearer alice:wrong\r\nX-Forwarded-For: 10.7.7.%d\r\n", n);
        if (guess_many(right, wrong)) break;
        for (int i = 0; i < GUESSES; i++) http_close(guesses[i]);
    }
    struct http_conn *c = http_open(server);
    http_expect(c, 429, "{'error':'ERR too many wrong passwords*'}", "GET /ping", right, NULL);
    http_expect(h, 200, "{'result':'alice'}", "GET /acl/whoami", right, NULL);
    /* That those who wait go does not help either; that time passes does. */
    for (int i = 0; i < GUESSES; i++) http_close(guesses[i]);
    http_expect(c, 429, "{'error':*}", "GET /ping", right, NULL);
    long until = testserver_now_ms() + 60000;
    for (int status = 429; status != 200;) {
        if (testserver_now_ms() > until) fail_msg("who went is still counted");
        http_ask(c, "GET /acl/whoami", right, NULL);
        struct http_answer *a = http_next(c);
        status = a->status;
        http_free(a);
        testserver_pause();
    }
    http_close(c);
}

static void passwords_are_told_nowhere(void **state)
{
    redisContext *m = testserver_connect(server);
    const char *headers = "Authorization: Bearer alice:secret\r\n";
    expect(m, "+OK", "MONITOR");
    http_expect(h, 200, "{'result':'1'}", "GET /get/a", headers, NULL);
    http_expect(h, 401, "*", "GET /get/a", "Authorization: Bearer alice:guess-4711\r\n", NULL);
    http_expect(h, 200, "{'result':'end'}", "GET /echo/end", headers, NULL);
    for (bool is_over = false; !is_over;) {
        redisReply *line = NULL;
        assert_int_equal(redisGetReply(m, (void **)&line), REDIS_OK);
        assert_null(strstr(line->str, "secret"));
        assert_null(strstr(line->str, "guess-4711"));
        is_over = strstr(line->str, "end") != NULL;
        freeReplyObject(line);
    }
    redisFree(m);
    assert_false(testserver_has_logged(server, "secret"));
    assert_false(testserver_has_logged(server, "guess-4711"));
    assert_true(text_fits(ask(r, "ACL LOG 1"), "*auth*alice*"));
}

/* ---- changes of users ------------------------------------------------------------------------ */

#define ALICE "Authorization: Bearer alice:secret\r\n"

static void a_change_of_a_user_counts_for_the_next_request(void **state)
{
    http_expect(h, 200, "{'result':'1'}", "GET /get/a", ALICE, NULL);
    expect(r, "+OK", "ACL SETUSER alice -get");
    http_expect(h, 403, "{'error':'NOPERM *'}", "GET /get/a", ALICE, NULL);
    expect(r, "+OK", "ACL SETUSER alice +get");
    http_expect(h, 200, "{'result':'1'}", "GET /get/a", ALICE, NULL);
    expect(r, "+OK", "ACL SETUSER alice resetpass >other");
    http_expect(h, 401, "{'error':'WRONGPASS *'}", "GET /get/a", ALICE, NULL);
    http_expect(h, 200, "{'result':'1'}", "GET /get/a", "Authorization: Bearer alice:other\r\n",
                NULL);
    expect(r, "+OK", "ACL SETUSER alice off");
    http_expect(h, 401, "{'error':'WRONGPASS *'}", "GET /get/a",
                "Authorization: Bearer alice:other\r\n", NULL);
}

/* Nor is anything of the request before left. */
static void each_request_is_its_own_users(void **state)
{
    http_expect(h, 200, "{'result':'alice'}", "GET /acl/whoami", ALICE, NULL);
    http_expect(h, 200, "{'result':'default'}", "GET /acl/whoami", NULL, NULL);
    http_expect(h, 200, "{'result':'alice'}", "GET /acl/whoami", ALICE, NULL);
    lock_default();
    http_expect(h, 401, "{'error':*}", "GET /acl/whoami", NULL, NULL);
    http_expect(h, 200, "{'result':'alice'}", "GET /acl/whoami", ALICE, NULL);
}

static void the_stream_of_a_user_who_is_deleted_ends(void **state)
{
    http_ask(h, "GET /subscribe/news", ALICE, NULL);
    http_expect_next(h, 200, "");
    http_expect_event(h, "data: subscribe,news,1\n\n");
    expect(r, ":1", "PUBLISH news hello");
    http_expect_event(h, "data: message,news,hello\n\n");
    expect(r, ":1", "ACL DELUSER alice");
    http_expect_end(h);
    expect(r, "[news :0]", "PUBSUB NUMSUB news");
}

static void the_stream_of_who_loses_the_channel_ends(void **state)
{
    http_ask(h, "GET /subscribe/news", ALICE, NULL);
    http_expect_next(h, 200, "");
    http_expect_event(h, "data: subscribe,news,1\n\n");
    expect(r, "+OK", "ACL SETUSER alice resetchannels &other");
    http_expect_end(h);
    expect(r, "[news :0]", "PUBSUB NUMSUB news");
}

/* ---- rights and databases -------------------------------------------------------------------- */

static void rights_are_those_of_the_user(void **state)
{
    http_expect(h, 200, "{'result':'1'}", "GET /get/a", ALICE, NULL);
    http_expect(h, 403, "{'error':'NOPERM *'}", "GET /get/b", ALICE, NULL);
    http_expect(h, 403, "{'error':'NOPERM *'}", "GET /subscribe/other", ALICE, NULL);
    http_expect(h, 200, "[{'error':'NOPERM *'},{'result':'1'}]", "POST /pipeline", ALICE,
                "[['GET','b'],['GET','a']]");
    expect(r, "+OK", "ACL SETUSER alice -monitor");
    http_expect(h, 403, "{'error':'NOPERM *'}", "GET /monitor", ALICE, NULL);
}

static void a_request_names_its_database(void **state)
{
    expect(r, "*", "KV.DB CREATE shop");
    http_expect(h, 200, "{'result':'OK'}", "POST /db/shop/", NULL, "['SET','a','shop']");
    http_expect(h, 200, "{'result':'shop'}", "GET /db/shop/get/a", NULL, NULL);
    http_expect(h, 200, "{'result':'1'}", "GET /get/a", NULL, NULL);
    http_expect(h, 200, "{'result':'shop'}", "GET /get/a", "Tupled-Database: shop\r\n", NULL);
    http_expect(h, 200, "{'result':'1'}", "GET /db/0/get/a", "Tupled-Database: shop\r\n", NULL);
    http_expect(h, 200, "[{'result':'shop'}]", "POST /db/sho%70/pipeline", NULL, "[['GET','a']]");
    http_expect(h, 404, "{'error':'NODB *'}", "GET /db/none/get/a", NULL, NULL);
    http_expect(h, 404, "{'error':'NODB *'}", "GET /get/a", "Tupled-Database: none\r\n", NULL);
    http_expect(h, 400, "{'error':'ERR *'}", "GET /db//get/a", NULL, NULL);
    http_expect(h, 400, "{'error':'ERR *'}", "GET /db/%/get/a", NULL, NULL);
    http_expect(h, 200, "{'result':'1'}", "GET /get/a", NULL, NULL);
    expect(r, "+OK", "ACL SETUSER alice db=0");
    http_expect(h, 403, "{'error':'NOPERM *'}", "GET /db/shop/get/a", ALICE, NULL);
    http_expect(h, 200, "{'result':'1'}", "GET /get/a", ALICE, NULL);
    expect(r, "*", "KV.DB DROP shop");
}

/* ---- tickets --------------------------------------------------------------------------------- */

/* A ticket of alice's for that path. */
static const char *ticket_for(const char *path, const char *headers)
{
    static char text[100];
    char body[200];
    snprintf(body, sizeof body, "{'path':'%s'}", path);
    struct http_conn *c = http_open(server);
    http_ask(c, "POST /ticket", headers, body);
    struct http_answer *a = http_next(c);
    if (a->status != 200) fail_msg("%s%s", a->head, a->body);
    const char *at = strstr(a->body, "\"ticket\":\"");
    assert_non_null(at);
    snprintf(text, sizeof text, "%.32s", at + 10);
    assert_string_equal(at + 42, "\",\"parameter\":\"_ticket\",\"opensWithinSeconds\":60}");
    http_free(a);
    http_close(c);
    return text;
}

static void expect_ticket(const char *path, const char *ticket, const char *headers, int status)
{
    char what[200];
    struct http_conn *c = http_open(server);
    snprintf(what, sizeof what, "GET %s?x=y&_ticket=%s", path, ticket);
    http_ask(c, what, headers, NULL);
    struct http_answer *a = http_next(c);
    if (a->status != status) fail_msg("%s: %s%s", what, a->head, a->body);
    http_free(a);
    if (status == 200) http_expect_event(c, "data: *");
    http_close(c);
}

static void a_ticket_opens_its_stream_and_no_other(void **state)
{
    lock_default();
    const char *t = ticket_for("/subscribe/news", ALICE);
    expect_ticket("/subscribe/news", t, NULL, 200);
    expect_ticket("/subscribe/news", t, "Sec-Fetch-Site: same-origin\r\n", 200); /* again */
    expect_ticket("/subscribe/news", t, "Sec-Fetch-Site: cross-site\r\n", 403);
    expect_ticket("/subscribe/new", t, NULL, 401);
    expect_ticket("/subscribe/news2", t, NULL, 401);
    expect_ticket("/monitor", t, NULL, 401);
    expect_ticket("/db/0/subscribe/news", t, NULL, 401);
    expect_ticket("/subscribe/news", t, "Tupled-Database: 1\r\n", 401);
    expect_ticket("/subscribe/news", "", NULL, 401);
    expect_ticket("/subscribe/news", "%", NULL, 401);
    char other[33];
    snprintf(other, sizeof other, "%s", t);
    other[31] = other[31] == 'A' ? 'B' : 'A';
    expect_ticket("/subscribe/news", other, NULL, 401);
    http_expect(h, 401, "{'error':*}", "POST /?_ticket=x", NULL, "['GET','a']");
    assert_false(testserver_has_logged(server, t));
}

static void a_ticket_is_of_one_database(void **state)
{
    lock_default();
    const char *t = ticket_for("/db/1/subscribe/news", ALICE);
    expect_ticket("/db/1/subscribe/news", t, NULL, 200);
    expect_ticket("/subscribe/news", t, NULL, 401);
    expect_ticket("/db/2/subscribe/news", t, NULL, 401);
    t = ticket_for("/subscribe/news", ALICE "Tupled-Database: 1\r\n");
    expect_ticket("/subscribe/news", t, "Tupled-Database: 1\r\n", 200);
}

static void a_ticket_is_void_after_a_change_of_its_user(void **state)
{
    static const char *const changes[] = {"ACL SETUSER alice -get", "ACL SETUSER alice off",
                                          "ACL DELUSER alice"};
    lock_default();
    for (size_t i = 0; i < 3; i++) {
        expect(r, "+OK", "ACL SETUSER alice on");
        const char *t = ticket_for("/subscribe/news", ALICE);
        expect_ticket("/subscribe/news", t, NULL, 200);
        expect(r, "*", changes[i]);
        expect_ticket("/subscribe/news", t, NULL, 401);
    }
    expect(r, "+OK", "ACL SETUSER alice on >secret +@all &news");
    const char *t = ticket_for("/subscribe/news", ALICE);
    expect(r, ":1", "ACL DELUSER alice");
    expect(r, "+OK", "ACL SETUSER alice on >secret +@all &news");
    expect_ticket("/subscribe/news", t, NULL, 401); /* another user of that name */
}

static void tickets_are_for_paths(void **state)
{
    static const char *const bad[] = {"",
                                      "[]",
                                      "{}",
                                      "{'path':1}",
                                      "{'path':'x'}",
                                      "{'path':'/a?b'}",
                                      "{'path':'/a','more':1}",
                                      "{'path':'/a','path':'/a'}"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        http_expect(h, 400, "{'error':'ERR *'}", "POST /ticket", NULL, bad[i]);
    }
}

/* Whose secret is in a URL has told it to every log on the way. */
static void secrets_in_urls_are_refused(void **state)
{
    http_expect(h, 400, "{'error':'ERR *_token*'}", "GET /get/a?_token=main", NULL, NULL);
    http_expect(h, 400, "{'error':'ERR *'}", "GET /del/a?_token=main", NULL, NULL);
    http_expect(h, 400, "{'error':'ERR *'}", "GET /del/a?x=y&_ticket", NULL, NULL);
    expect(r, "1", "GET a");
    expect(r, "+OK", "SLOWLOG RESET");
    assert_false(testserver_has_logged(server, "_token=main"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, enter, leave)
    const struct CMUnitTest tests[] = {
        TEST(another_host_is_refused),
        TEST(pages_of_others_are_refused),
        TEST(own_pages_and_other_programs_are_served),
        TEST(an_allowed_origin_is_told_so),
        TEST(only_a_trusted_proxy_says_whom_it_speaks_for),
        TEST(who_has_no_password_is_nobody),
        TEST(passwords_come_in_three_forms),
        TEST(wrong_passwords_are_answered_later_and_later),
        TEST(many_guesses_at_a_time_are_not_tried),
        TEST(passwords_are_told_nowhere),
        TEST(a_change_of_a_user_counts_for_the_next_request),
        TEST(each_request_is_its_own_users),
        TEST(the_stream_of_a_user_who_is_deleted_ends),
        TEST(the_stream_of_who_loses_the_channel_ends),
        TEST(rights_are_those_of_the_user),
        TEST(a_request_names_its_database),
        TEST(a_ticket_opens_its_stream_and_no_other),
        TEST(a_ticket_is_of_one_database),
        TEST(a_ticket_is_void_after_a_change_of_its_user),
        TEST(tickets_are_for_paths),
        TEST(secrets_in_urls_are_refused),
    };
    return cmocka_run_group_tests(tests, start, group_stop);
}
