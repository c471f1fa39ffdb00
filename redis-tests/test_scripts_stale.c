/* Scripts that take long while others change what they read: each runs again, and its last try holds
 * what others write; its errors too are those of one moment. tsan server: yes
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "client.h"
#include "group.h"
#include "load_help.h"

/* Run scripts, write, read, and see to database 1. */
static redisContext *c, *also, *d, *w, *r, *e;
static unsigned key; /* the number of the one key of database 1 */

/* What a busy machine makes slow does not take too long for a last try. */
static int start(void **state)
{
    setenv("TUPLED_TEST_EXCLUSIVE_MS", "600000", 1);
    group_opens(&c, &also, &d, &w, &r, &e, NULL);
    server = testserver_start_with("--databases", "4", NULL);
    return 0;
}

static int enter(void **state)
{
    group_enter(state);
    expect(c, "+OK", "CONFIG SET script-time-limit 600000");
    expect(c, "+OK", "SET busy 1");
    expect(e, "+OK", "SELECT 1");
    expect(e, "+OK", "SET k%u 1", ++key);
    return 0;
}

/* It goes on until database 1 has another key, whose name is nothing that a script is run again
 * for: RANDOMKEY may say anything. */
#define UNTIL_ANOTHER_KEY                                                                          \
    "redis.call('select', 1) local first = redis.call('randomkey') "                               \
    "repeat for i = 1, 5000000 do end until redis.call('randomkey') ~= first "                     \
    "redis.call('select', 0) "
/* Reads busy at its beginning. */
#define READER                                                                                     \
    "local v = redis.call('get', 'busy') " UNTIL_ANOTHER_KEY "redis.call('set', 'copy', v) return v"

static void begin(redisContext *by, const char *script)
{
    say(by, "EVAL %s 0", script);
    load_flush(by);
}

/* Sends d's transaction: it changes what scripts have read, and lets those end that wait for another
 * key. */
static void spoil(const char *write)
{
    expect(d, "+OK", "MULTI");
    expect(d, "+QUEUED", write);
    expect(d, "+QUEUED", "SELECT 1");
    expect(d, "+QUEUED", "DEL k%u", key);
    expect(d, "+QUEUED", "SET k%u 1", ++key);
    expect(d, "+QUEUED", "SELECT 0");
    load_send(d, "EXEC");
}

static void spoilt(void)
{
    expect_next(d, "[*]");
}

/* Those that wait for another key end. */
static void let_end(void)
{
    expect(e, ":*", "DEL k%u", key);
    expect(e, "+OK", "SET k%u 1", ++key);
}

/* The same until the script of `by` has its reply. */
static void let_end_until_reply(redisContext *by)
{
    while (!load_is_readable(by, 20)) let_end();
}

static void wait_for(const char *field, long long wanted)
{
    while (load_info(e, field) != wanted) testserver_pause();
}

/* Changes what `scripts` of them read until one has its last try, and d's next transaction is held. */
static void spoil_until_exclusive(int scripts)
{
    long long had = load_info(e, "scripts_exclusive");
    for (;;) {
        spoil("INCR busy");
        while (!load_is_readable(d, 1)) {
            bool is_exclusive = load_info(e, "scripts_exclusive") > had;
            if (is_exclusive && load_info(e, "blocked_clients") == scripts + 1) return;
        }
        spoilt();
    }
}

static void the_last_try_holds_what_others_write(void **state)
{
    long long stale = load_info(e, "scripts_stale");
    begin(c, READER);
    spoil_until_exclusive(1);
    assert_int_equal(load_info(e, "scripts_stale"), stale + 2);
    long long before = load_info(e, "blocked_clients");
    load_send(w, "EVAL return(redis.call('incr','busy')) 0");
    load_wait_info(e, "blocked_clients", before + 1);
    load_send(also, "RPUSH list 1");
    load_wait_info(e, "blocked_clients", before + 2);
    /* Reads, messages and other databases are not held. */
    char busy[32]; /* what waits asks so often that the text of a reply goes meanwhile */
    snprintf(busy, sizeof busy, "%s", ask(r, "GET busy"));
    expect(r, ":0", "PUBLISH channel message");
    expect(r, busy, "EVAL_RO return(redis.call('get','busy')) 0");
    expect(r, "+OK", "MULTI");
    expect(r, "+QUEUED", "GET busy");
    expect(r, "[*]", "EXEC");
    expect(r, "+OK", "SELECT 2");
    expect(r, ":1", "INCR other");
    expect(r, "+OK", "SELECT 0");
    expect(r, ":0", "EXISTS list");
    /* It has what it read. */
    let_end_until_reply(c);
    expect_next(c, busy);
    /* Then they go on in the order in which they came. */
    spoilt();
    int64_t n = strtoll(busy, NULL, 10);
    char wanted[32];
    snprintf(wanted, sizeof wanted, ":%lld", (long long)n + 2);
    expect_next(w, wanted);
    expect_next(also, ":1");
    expect(r, busy, "GET copy");
    wait_for("blocked_clients", 0);
}

static void scripts_have_their_last_tries_one_after_the_other(void **state)
{
    long long had = load_info(e, "scripts_exclusive");
    begin(c, READER);
    begin(also, READER);
    spoil_until_exclusive(2);
    /* d's transaction is held in front of the other one's end, which is in vain then. */
    while (!load_is_readable(c, 20) && !load_is_readable(also, 0)) let_end();
    while (load_info(e, "scripts_exclusive") == had + 1) {
        if (!load_is_readable(d, 1)) continue;
        spoilt();
        spoil("INCR busy");
    }
    let_end_until_reply(c);
    let_end_until_reply(also);
    expect_next(c, "*");
    expect_next(also, "*");
    assert_int_equal(load_info(e, "scripts_exclusive"), had + 2);
    spoilt();
    assert_true(load_info(e, "scripts_stale") >= 4);
}

/* One that ends meanwhile, and writes what the other one has read. */
static void other_scripts_are_held_at_their_end(void **state)
{
    expect(w, "+OK", "SELECT 2");
    expect(w, "+OK", "SET k 1");
    begin(also, "redis.call('select', 2) "
                "repeat for i = 1, 5000000 do end until redis.call('randomkey') ~= 'k' "
                "redis.call('select', 0) return redis.call('incr', 'busy')");
    begin(c, READER);
    spoil_until_exclusive(2);
    char busy[32];
    snprintf(busy, sizeof busy, "%s", ask(r, "GET busy"));
    expect(w, "+OK", "RENAME k other");
    assert_false(load_is_readable(also, 500));
    let_end_until_reply(c);
    expect_next(c, busy);
    spoilt();
    char wanted[32];
    snprintf(wanted, sizeof wanted, ":%lld", strtoll(busy, NULL, 10) + 2);
    expect_next(also, wanted);
}

static void a_last_try_ends_with_its_client(void **state)
{
    redisContext *gone = testserver_connect(server);
    begin(gone, READER);
    spoil_until_exclusive(1);
    redisFree(gone);
    spoilt();
    expect(w, ":*", "INCR busy");
}

static void a_last_try_ends_when_it_is_killed(void **state)
{
    begin(c, READER);
    spoil_until_exclusive(1);
    expect(r, "+OK", "SCRIPT KILL");
    expect_next(c, "-ERR Script killed by user*");
    spoilt();
    expect(w, ":*", "INCR busy");
    expect(r, ":0", "EXISTS copy");
}

/* What it found would be wrong of any one moment. */
static void an_error_about_what_has_changed_is_not_told(void **state)
{
    static const char *const failing[] = {
        "local a = redis.call('get', 'a') " UNTIL_ANOTHER_KEY
        "if redis.call('get', 'b') ~= a then error('torn') end return a",
        "local a = redis.call('get', 'a') " UNTIL_ANOTHER_KEY
        "if redis.call('get', 'b') ~= a then return redis.error_reply('TORN it') end return a",
        "local a = redis.call('get', 'a') " UNTIL_ANOTHER_KEY
        "if redis.call('get', 'b') ~= a then return redis.call('incr', 'word') end return a",
        "local a = redis.call('get', 'a') " UNTIL_ANOTHER_KEY
        "if redis.call('get', 'b') ~= a then local s = 'x' while true do s = s .. s end end return a",
    };
    expect(w, "+OK", "SET word no");
    for (size_t i = 0; i < sizeof failing / sizeof failing[0]; i++) {
        long long stale = load_info(e, "scripts_stale");
        expect(w, "+OK", "MSET a 1 b 1");
        begin(c, failing[i]);
        for (unsigned n = 2; load_info(e, "scripts_stale") == stale; n++) {
            char write[64];
            snprintf(write, sizeof write, "MSET a %u b %u", n, n);
            spoil(write);
            spoilt();
        }
        let_end_until_reply(c);
        redisReply *reply = NULL;
        assert_int_equal(redisGetReply(c, (void **)&reply), REDIS_OK);
        assert_int_equal(reply->type, REDIS_REPLY_STRING);
        freeReplyObject(reply);
    }
}

static void an_error_of_one_moment_is_told(void **state)
{
    begin(c, "local v = redis.call('get', 'busy') " UNTIL_ANOTHER_KEY
             "redis.call('set', 'copy', v) error('no')");
    let_end_until_reply(c);
    expect_next(c, "-ERR user_script:1: no*");
    expect(r, ":0", "EXISTS copy");
}

/* Each try takes longer than others are held. */
static void one_that_takes_too_long_for_that_is_told_to_try_again(void **state)
{
    setenv("TUPLED_TEST_EXCLUSIVE_MS", "1", 1);
    group_again(false);
    expect(e, "+OK", "SELECT 1");
    long long stale = load_info(e, "scripts_stale");
    begin(c, READER);
    while (!load_is_readable(c, 1)) {
        spoil("INCR busy");
        spoilt();
    }
    expect_next(c, "-TRYAGAIN other clients changed what the script had read, 3 times");
    assert_int_equal(load_info(e, "scripts_stale"), stale + 3);
    assert_int_equal(load_info(e, "scripts_exclusive"), 0);
    expect(r, ":0", "EXISTS copy");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, enter, group_leave)
    const struct CMUnitTest tests[] = {
        TEST(the_last_try_holds_what_others_write),
        TEST(scripts_have_their_last_tries_one_after_the_other),
        TEST(other_scripts_are_held_at_their_end),
        TEST(a_last_try_ends_with_its_client),
        TEST(a_last_try_ends_when_it_is_killed),
        TEST(an_error_about_what_has_changed_is_not_told),
        TEST(an_error_of_one_moment_is_told),
        TEST(
            one_that_takes_too_long_for_that_is_told_to_try_again), /* the last: it ends the server */
    };
    return cmocka_run_group_tests(tests, start, group_stop);
}
