/* Corners of single commands that only a planted bug showed to be untested: each test here fails with one
 * of the mutants in tests/mutants.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "client.h"
#include "load_help.h"

#define LIMIT_MS 20000

static struct testserver *server;
static redisContext *c, *d;

static int start(void **state)
{
    static const char *const args[] = {"--enable-debug-command", "yes", NULL};
    server = testserver_start(&(struct testserver_options){.args = args});
    return 0;
}

static int stop(void **state)
{
    testserver_free(server);
    return 0;
}

static int enter(void **state)
{
    c = testserver_connect(server);
    d = testserver_connect(server);
    expect(c, "+OK", "FLUSHALL");
    return 0;
}

static int leave(void **state)
{
    redisFree(c);
    redisFree(d);
    return 0;
}

static void wait_for_figure(const char *field, long long wanted)
{
    long until = testserver_now_ms() + LIMIT_MS;
    while (load_info(d, field) != wanted) {
        if (testserver_now_ms() > until) fail_msg("%s never is %lld", field, wanted);
        testserver_pause();
    }
}

/* ---- CLIENT ---- */

static void a_pause_of_writes_holds_an_exec_that_publishes(void **state)
{
    expect(c, "+OK", "MULTI");
    expect(c, "+QUEUED", "PUBLISH news hello");
    expect(d, "+OK", "CLIENT PAUSE 1000000 WRITE");
    say(c, "EXEC");
    load_flush(c);
    wait_for_figure("blocked_clients", 1);
    expect(d, "+OK", "CLIENT UNPAUSE");
    expect_next(c, "[:0]");
}

/* Of two pauses the stricter holds. */
static void a_pause_of_all_after_one_of_writes_is_of_all(void **state)
{
    expect(d, "+OK", "CLIENT PAUSE 1000000 WRITE");
    expect(c, "(nil)", "GET a");
    expect(d, "+OK", "CLIENT PAUSE 1000000 ALL");
    say(c, "GET a");
    load_flush(c);
    assert_false(load_is_readable(c, 200));
    expect(d, "+OK", "CLIENT UNPAUSE");
    expect_next(c, "(nil)");
}

static size_t lines_of(const char *text)
{
    size_t n = 0;
    for (; *text != '\0'; text++) n += *text == '\n';
    return n;
}

static void a_list_of_clients_has_each_that_is_named(void **state)
{
    long long one = ask_integer(c, "CLIENT ID");
    long long two = ask_integer(d, "CLIENT ID");
    assert_int_equal(lines_of(ask(c, "CLIENT LIST ID %lld %lld", one, two)), 2);
    assert_int_equal(lines_of(ask(c, "CLIENT LIST ID %lld %lld", two, one)), 2);
    assert_int_equal(lines_of(ask(c, "CLIENT LIST ID %lld 999999999", two)), 1);
    assert_int_equal(lines_of(ask(c, "CLIENT LIST ID 999999999 %lld", two)), 1);
}

static void no_block_lasts_longer_than_the_bound(void **state)
{
    expect(d, "+OK", "CONFIG SET block-max 50");
    expect(c, "(nil)", "KV.POLL BLOCK 0 KEYS 1 ['absent'] NONE");
    expect(c, "(nil)", "KV.POLL BLOCK 1000000 KEYS 1 ['absent'] NONE");
    expect(d, "+OK", "CONFIG SET block-max 0");
}

/* ---- watching ---- */

static void what_is_not_there_is_told_as_of_the_newest_commit(void **state)
{
    char wanted[256];
    char stamp[32];
    snprintf(stamp, sizeof stamp, "%s", ask(c, "KV.SET ['x'] 1"));
    expect(d, "[subscribe * :1]", "SUBSCRIBE kv:watch:['absent']");
    snprintf(wanted, sizeof wanted,
             "[message * {'key':['absent'],'value':null,'versionstamp':null,'commit':'%s'}]",
             stamp);
    expect_next(d, wanted);
}

/* It has ended and nothing has removed it: it still has the versionstamp that is known. */
static void a_poll_sees_that_a_key_has_ended(void **state)
{
    char stamp[32];
    long until = testserver_now_ms() + LIMIT_MS;
    expect(d, "+OK", "DEBUG SET-ACTIVE-EXPIRE 0");
    snprintf(stamp, sizeof stamp, "%s", ask(c, "KV.SET ['e'] 1 PX 50"));
    while (ask_integer(c, "KV.EXISTS ['e']") != 0) {
        if (testserver_now_ms() > until) fail_msg("it never ends");
        testserver_pause();
    }
    expect(c, "[[['e'] (nil) (nil)]]", "KV.POLL KEYS 1 ['e'] %s", stamp);
    expect(c, "(nil)", "KV.POLL KEYS 1 ['e'] NONE");
    expect(d, "+OK", "DEBUG SET-ACTIVE-EXPIRE 1");
}

static void a_poll_inside_exec_does_not_wait(void **state)
{
    expect(c, "+OK", "MULTI");
    expect(c, "+QUEUED", "KV.POLL BLOCK 1000000 KEYS 1 ['absent'] NONE");
    expect(c, "+QUEUED", "KV.SET ['x'] 1");
    expect(c, "[(nil) @]", "EXEC");
}

static void what_had_ended_when_it_was_set_is_told_as_deleted(void **state)
{
    char stamp[32];
    snprintf(stamp, sizeof stamp, "%s", ask(c, "KV.SET ['x'] 1"));
    expect(c, "@", "KV.SET ['x'] 2 PXAT 1");
    expect(c, "[@ [[['x'] (nil) @ (nil)]]]", "KV.CHANGES %s", stamp);
}

/* ---- queues ---- */

static void a_dequeue_ends_when_it_has_much(void **state)
{
    enum { MANY = 6, BYTES = 4 << 20 };
    char *value = malloc(BYTES + 3);
    memset(value, 'x', BYTES + 2);
    value[0] = value[BYTES + 1] = '"';
    value[BYTES + 2] = '\0';
    for (int i = 0; i < MANY; i++) expect(c, "*", "KV.ENQUEUE q %s", value);
    free(value);
    redisReply *r = ask_reply(c, "KV.DEQUEUE q COUNT %d", MANY);
    assert_int_equal(r->type, REDIS_REPLY_ARRAY);
    assert_int_equal(r->elements, 4); /* of 16 MB */
    freeReplyObject(r);
}

static void a_queue_that_is_only_waited_for_is_none(void **state)
{
    say(c, "KV.DEQUEUE waited BLOCK 1000000");
    load_flush(c);
    wait_for_figure("blocked_clients", 1);
    expect(d, "[]", "KV.QUEUE LIST");
    expect(d, "*", "KV.ENQUEUE waited 1");
    expect_next(c, "[[waited * 1 :1 *]]");
    expect(d, "[waited]", "KV.QUEUE LIST");
}

/* ---- plain keys ---- */

static void a_second_expiry_is_refused_wherever_it_stands(void **state)
{
    static const char wanted[] =
        "-ERR syntax error: '*' is a second expiry option; only one is allowed";
    expect(c, wanted, "KV.SET ['k'] 1 EX 10 PX 5");
    expect(c, wanted, "KV.SET ['k'] 1 NX EX 10 PX 5");
    expect(c, wanted, "KV.SET ['k'] 1 EX 10 NX KEEPTTL");
    expect(c, wanted, "SET k 1 GET EX 10 EXAT 5");
    expect(c, ":0", "KV.EXISTS ['k']");
}

/* Tuples of two parts are no plain keys: a page may end among them with nothing found. */
static void a_scan_lets_others_run_among_other_keys(void **state)
{
    enum { MANY = 3000 };
    int pages = 0;
    char cursor[32] = "0";
    for (int i = 0; i < MANY; i++) say(c, "KV.SET ['k%04d',1] 1", i);
    expect_many(c, MANY, "@");
    expect(c, "+OK", "SET z 1");
    do {
        redisReply *r = ask_reply(c, "SCAN %s", cursor);
        assert_int_equal(r->type, REDIS_REPLY_ARRAY);
        snprintf(cursor, sizeof cursor, "%s", r->element[0]->str);
        assert_int_equal(r->element[1]->elements, strcmp(cursor, "0") == 0);
        freeReplyObject(r);
        pages++;
    } while (strcmp(cursor, "0") != 0);
    assert_in_range(pages, 3, 4);
}

/* ---- indexes ---- */

static void backwards_an_array_is_met_at_its_greatest_element(void **state)
{
    expect(c, "+OK", "KV.INDEX CREATE by PREFIX ['u'] ON 1 n");
    expect(c, "@", "KV.SET ['u',1] {'n':[1,5]}");
    expect(c, "@", "KV.SET ['u',2] {'n':[2,9]}");
    expect(c, "@", "KV.SET ['u',3] {'n':3}");
    expect(c, "[0 [['u',1] ['u',2] ['u',3]]]", "KV.FIND by FROM 0 TO 6 KEYSONLY");
    expect(c, "[0 [['u',1] ['u',3] ['u',2]]]", "KV.FIND by FROM 0 TO 6 KEYSONLY REVERSE");
    expect(c, ":1", "KV.INDEX DROP by");
}

static void a_range_has_one_type(void **state)
{
    expect(c, "+OK", "KV.INDEX CREATE by PREFIX ['u'] ON 1 n");
    expect(c, "-ERR FROM and TO are of different types", "KV.FIND by FROM 1 TO 'a'");
    expect(c, "-ERR FROM and TO are of different types", "KV.FIND by FROM 'a' TO 1");
    expect(c, "-ERR FROM and TO are of different types", "KV.FIND by FROM 'a' TO true");
    expect(c, "@", "KV.SET ['u',1] {'n':false}");
    expect(c, "@", "KV.SET ['u',2] {'n':true}");
    expect(c, "@", "KV.SET ['u',3] {'n':'a'}");
    expect(c, "[0 [['u',1]]]", "KV.FIND by FROM false TO true KEYSONLY");
    expect(c, "[0 [['u',1]]]", "KV.FIND by TO true KEYSONLY");
    expect(c, "[0 [['u',1] ['u',2]]]", "KV.FIND by FROM false KEYSONLY");
    expect(c, "[0 [['u',2]]]", "KV.FIND by FROM true KEYSONLY");
    expect(c, ":1", "KV.INDEX DROP by");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, enter, leave)
    const struct CMUnitTest tests[] = {
        TEST(a_pause_of_writes_holds_an_exec_that_publishes),
        TEST(a_pause_of_all_after_one_of_writes_is_of_all),
        TEST(a_list_of_clients_has_each_that_is_named),
        TEST(no_block_lasts_longer_than_the_bound),
        TEST(what_is_not_there_is_told_as_of_the_newest_commit),
        TEST(a_poll_sees_that_a_key_has_ended),
        TEST(a_poll_inside_exec_does_not_wait),
        TEST(what_had_ended_when_it_was_set_is_told_as_deleted),
        TEST(a_dequeue_ends_when_it_has_much),
        TEST(a_queue_that_is_only_waited_for_is_none),
        TEST(a_second_expiry_is_refused_wherever_it_stands),
        TEST(a_scan_lets_others_run_among_other_keys),
        TEST(backwards_an_array_is_met_at_its_greatest_element),
        TEST(a_range_has_one_type),
    };
    return cmocka_run_group_tests_name("corners of commands", tests, start, stop);
}
