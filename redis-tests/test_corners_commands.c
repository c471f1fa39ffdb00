/* Corners of single commands that only a planted bug showed to be untested: each test here fails with one
 * of the mutants in tests/mutants.
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

#define LIMIT_MS 20000

static redisContext *c, *d;

static int start(void **state)
{
    static const char *const args[] = {"--enable-debug-command", "yes", NULL};
    group_opens(&c, &d, NULL);
    server = testserver_start(&(struct testserver_options){.args = args});
    return 0;
}

/* ---- CLIENT ---- */

static void a_pause_of_writes_holds_an_exec_that_publishes(void **state)
{
    expect(c, "+OK", "MULTI");
    expect(c, "+QUEUED", "PUBLISH news hello");
    expect(d, "+OK", "CLIENT PAUSE 20000 WRITE");
    say(c, "EXEC");
    load_flush(c);
    load_wait_info(d, "blocked_clients", 1);
    expect(d, "+OK", "CLIENT UNPAUSE");
    expect_next(c, "[:0]");
}

/* Of two pauses the stricter holds. */
static void a_pause_of_all_after_one_of_writes_is_of_all(void **state)
{
    expect(d, "+OK", "CLIENT PAUSE 20000 WRITE");
    expect(c, "(nil)", "GET a");
    expect(d, "+OK", "CLIENT PAUSE 20000 ALL");
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

/* Though the socket would take it. */
static void no_part_of_a_reply_over_the_hard_limit_is_sent(void **state)
{
    enum { BYTES = 300 * 1024 };
    static const char get[] = "GET big\r\n";
    char *value = malloc(BYTES);
    memset(value, 'x', BYTES);
    expect(c, "+OK", "SET big %b", value, (size_t)BYTES);
    free(value);
    expect(c, "+OK", "CONFIG SET client-output-buffer-limit %s", "normal 100kb 0 0");
    int fd = raw_connect(server);
    raw_say(fd, get);
    raw_expect_end(fd);
    close(fd);
    expect(c, "+OK", "CONFIG SET client-output-buffer-limit %s", "normal 0 0 0");
}

static void debug_is_refused_from_near_too_unless_allowed(void **state)
{
    struct testserver *other = testserver_start(NULL);
    redisContext *e = testserver_connect(other);
    expect(e, "-ERR DEBUG command not allowed.*", "DEBUG SLEEP 0");
    redisFree(e);
    testserver_free(other);
}

static void who_listens_is_not_idle(void **state)
{
    expect(d, "[subscribe news :1]", "SUBSCRIBE news");
    int fd = raw_connect(server);
    expect(c, "+OK", "CONFIG SET timeout 1");
    raw_expect_end(fd); /* it began to be idle later */
    close(fd);
    redisFree(c);
    c = testserver_connect(server);
    expect(c, ":1", "PUBLISH news hello");
    expect_next(d, "[message news hello]");
    expect(c, "+OK", "CONFIG SET timeout 0");
}

/* No more and no fewer lines than were announced: the next reply is that of PING. */
static void help_is_a_whole_reply(void **state)
{
    static const char *const containers[] = {"CLIENT", "CONFIG", "KV.QUEUE", "KV.INDEX", "PUBSUB"};
    for (size_t i = 0; i < sizeof containers / sizeof containers[0]; i++) {
        redisReply *r = ask_reply(c, "%s HELP", containers[i]);
        assert_int_equal(r->type, REDIS_REPLY_ARRAY);
        assert_int_equal(r->elements % 2, 1);
        assert_string_equal(r->element[r->elements - 2]->str, "HELP");
        freeReplyObject(r);
        expect(c, "+PONG", "PING");
    }
}

static void an_empty_database_is_not_told(void **state)
{
    assert_null(strstr(ask(c, "INFO keyspace"), "db"));
    expect(c, "@", "KV.SET ['k'] 1");
    assert_non_null(strstr(ask(c, "INFO keyspace"), "db0:keys=1,expires=0"));
    expect(c, ":1", "KV.DEL ['k']");
    assert_null(strstr(ask(c, "INFO keyspace"), "db"));
}

/* Several codes have one prefix, and one line. */
static void errors_of_one_prefix_have_one_line(void **state)
{
    expect(c, "-ERR *", "NOSUCH");
    const char *first = strstr(ask(c, "INFO errorstats"), "errorstat_ERR:");
    assert_non_null(first);
    assert_null(strstr(first + 1, "errorstat_ERR:"));
}

/* More output than is made ahead, of commands that all came at once. */
static void commands_that_waited_for_room_are_run(void **state)
{
    enum { BYTES = 300 * 1024, MANY = 50 };
    char *value = malloc(BYTES);
    memset(value, 'x', BYTES);
    expect(c, "+OK", "SET big %b", value, (size_t)BYTES);
    free(value);
    for (int i = 0; i < MANY; i++) say(c, "GET big");
    expect_many(c, MANY, "x*");
    expect(c, "+PONG", "PING");
}

static void flushall_empties_the_last_database_too(void **state)
{
    expect(c, "+OK", "SELECT 15");
    expect(c, "@", "KV.SET ['k'] 1");
    expect(d, "+OK", "FLUSHALL");
    expect(c, "(nil)", "KV.GET ['k']");
    expect(c, ":0", "DBSIZE");
}

/* ---- expiry ---- */

static void conditions_of_expire_are_taken_together(void **state)
{
    expect(c, "@", "KV.SET ['k'] 1");
    expect(c, "-ERR GT and LT options at the same time are not compatible",
           "KV.EXPIRE ['k'] 100 GT LT");
    expect(c, "-ERR GT and LT options at the same time are not compatible",
           "KV.EXPIRE ['k'] 100 LT XX GT");
    expect(c, ":0", "KV.EXPIRE ['k'] 100 XX LT"); /* it has none */
    expect(c, ":1", "KV.EXPIRE ['k'] 100 LT");
    expect(c, ":1", "KV.EXPIRE ['k'] 50 XX LT");
    expect(c, ":0", "KV.EXPIRE ['k'] 100 XX LT");
}

/* Both figures are of one moment, or nearly; where that could matter it is asked again. */
static void a_ttl_is_rounded_to_the_nearest_second(void **state)
{
    long long ms = 0;
    long long s = 0;
    for (int i = 0; i < 1000 && (ms % 1000 < 600 || ms % 1000 > 990); i++) {
        expect(c, "@", "KV.SET ['k'] 1 PX 100950");
        expect(c, "+OK", "MULTI");
        expect(c, "+QUEUED", "KV.PTTL ['k']");
        expect(c, "+QUEUED", "KV.TTL ['k']");
        redisReply *r = ask_reply(c, "EXEC");
        assert_int_equal(r->elements, 2);
        ms = r->element[0]->integer;
        s = r->element[1]->integer;
        freeReplyObject(r);
    }
    assert_int_equal(s, ms / 1000 + 1);
}

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
    expect(d, "+OK", "DEBUG SET-ACTIVE-EXPIRE 0"); /* its removal would be one change more */
    snprintf(stamp, sizeof stamp, "%s", ask(c, "KV.SET ['x'] 1"));
    expect(c, "@", "KV.SET ['x'] 2 PXAT 1");
    expect(c, "[@ [[['x'] (nil) @ (nil)]]]", "KV.CHANGES %s", stamp);
    expect(d, "+OK", "DEBUG SET-ACTIVE-EXPIRE 1");
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

static void a_dedup_id_has_at_most_255_bytes(void **state)
{
    char id[258];
    memset(id, 'x', sizeof id);
    expect(c, "*", "KV.ENQUEUE q 1 DEDUP %b", id, (size_t)255);
    expect(c, "(nil)", "KV.ENQUEUE q 1 DEDUP %b", id, (size_t)255);
    expect(c, "-ERR DEDUP must have 1 to 255 bytes, not 256", "KV.ENQUEUE q 1 DEDUP %b", id,
           (size_t)256);
}

static void an_ack_tells_how_many_were_good(void **state)
{
    char receipts[2][512];
    for (int i = 0; i < 2; i++) {
        expect(c, "*", "KV.ENQUEUE q %d", i);
        redisReply *r = ask_reply(c, "KV.DEQUEUE q LEASE 3600000");
        snprintf(receipts[i], sizeof receipts[i], "%s", r->element[0]->element[4]->str);
        freeReplyObject(r);
    }
    expect(c, ":2", "KV.ACK %s %s", receipts[0], receipts[1]);
    expect(c, ":0", "KV.ACK %s %s", receipts[0], receipts[1]);
}

/* More than one transaction takes back. */
static void a_long_requeue_tells_all(void **state)
{
    enum { MANY = 600 };
    for (int i = 0; i < MANY; i++) say(c, "KV.ENQUEUE q %d", i);
    expect_many(c, MANY, "*");
    redisReply *r = ask_reply(c, "KV.DEQUEUE q COUNT %d LEASE 3600000", MANY);
    assert_int_equal(r->elements, MANY);
    for (int i = 0; i < MANY; i++) say(c, "KV.NACK %s DEAD", r->element[i]->element[4]->str);
    expect_many(c, MANY, ":1");
    freeReplyObject(r);
    assert_int_equal(load_queue(c, "q", "dead"), MANY);
    expect(c, ":600", "KV.DLQ REQUEUE q ALL");
    assert_int_equal(load_queue(c, "q", "ready"), MANY);
}

static void read_until(int fd, const char *part)
{
    while (strstr(raw_line(fd), part) == NULL) continue;
}

/* RESP3: it may be said between messages. */
static void another_prefetch_holds_at_once(void **state)
{
    static const char hello[] = "HELLO 3\r\nKV.QUEUE PREFETCH 1\r\nSUBSCRIBE kv:queue:q\r\n";
    static const char more[] = "KV.QUEUE PREFETCH 2\r\n";
    int fd = raw_connect(server);
    raw_say(fd, hello);
    read_until(fd, "kv:queue:q");
    for (int i = 1; i <= 2; i++) expect(c, "*", "KV.ENQUEUE q %d", i);
    read_until(fd, "\"value\":1,");
    assert_int_equal(load_queue(c, "q", "leased"), 1);
    raw_say(fd, more);
    expect(c, "*", "KV.ENQUEUE q 3");
    read_until(fd, "\"value\":2,");
    assert_int_equal(load_queue(c, "q", "leased"), 2);
    close(fd);
}

static void a_queue_that_is_only_waited_for_is_none(void **state)
{
    say(c, "KV.DEQUEUE waited BLOCK 1000000");
    load_flush(c);
    load_wait_info(d, "blocked_clients", 1);
    expect(d, "[]", "KV.QUEUE LIST");
    expect(d, "*", "KV.ENQUEUE waited 1");
    expect_next(c, "[[waited * 1 :1 *]]");
    expect(d, "[waited]", "KV.QUEUE LIST");
}

/* ---- plain keys ---- */

static void a_second_expiry_is_refused_wherever_it_stands(void **state)
{
    static const char wanted[] =
        "-ERR syntax error: '*': only one of EX, PX, EXAT, PXAT and KEEPTTL may be given*";
    expect(c, wanted, "KV.SET ['k'] 1 EX 10 PX 5");
    expect(c, wanted, "KV.SET ['k'] 1 NX EX 10 PX 5");
    expect(c, wanted, "KV.SET ['k'] 1 EX 10 NX KEEPTTL");
    expect(c, "-ERR syntax error", "SET k 1 GET EX 10 EXAT 5"); /* in Redis's words */
    expect(c, ":0", "KV.EXISTS ['k']");
}

static void arguments_that_run_together_alike_are_others(void **state)
{
    expect(c, "@", "KV.SET ['k'] 12 IDEM a");
    expect(c, "-ERR IDEM 'a' was used with another command or other arguments",
           "KV.SET ['k']1 2 IDEM a");
    expect(c, "@", "KV.SET ['k'] 12 IDEM a");
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

static void an_index_of_other_paths_is_another(void **state)
{
    expect(c, "+OK", "KV.INDEX CREATE by PREFIX ['u'] ON 1 n");
    expect(c, ":0", "KV.INDEX CREATE by PREFIX ['u'] ON 1 n IF NOT EXISTS");
    expect(c, "-ERR index 'by' exists with another definition; *",
           "KV.INDEX CREATE by PREFIX ['u'] ON 1 m IF NOT EXISTS");
    expect(c, "-ERR index 'by' exists with another definition; *",
           "KV.INDEX CREATE by PREFIX ['u'] ON 2 n m IF NOT EXISTS");
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
#define TEST(f) cmocka_unit_test_setup_teardown(f, group_enter, group_leave)
    const struct CMUnitTest tests[] = {
        TEST(a_pause_of_writes_holds_an_exec_that_publishes),
        TEST(a_pause_of_all_after_one_of_writes_is_of_all),
        TEST(a_list_of_clients_has_each_that_is_named),
        TEST(no_block_lasts_longer_than_the_bound),
        TEST(no_part_of_a_reply_over_the_hard_limit_is_sent),
        TEST(debug_is_refused_from_near_too_unless_allowed),
        TEST(who_listens_is_not_idle),
        TEST(help_is_a_whole_reply),
        TEST(an_empty_database_is_not_told),
        TEST(errors_of_one_prefix_have_one_line),
        TEST(commands_that_waited_for_room_are_run),
        TEST(flushall_empties_the_last_database_too),
        TEST(conditions_of_expire_are_taken_together),
        TEST(a_ttl_is_rounded_to_the_nearest_second),
        TEST(what_is_not_there_is_told_as_of_the_newest_commit),
        TEST(a_poll_sees_that_a_key_has_ended),
        TEST(a_poll_inside_exec_does_not_wait),
        TEST(what_had_ended_when_it_was_set_is_told_as_deleted),
        TEST(a_dequeue_ends_when_it_has_much),
        TEST(a_dedup_id_has_at_most_255_bytes),
        TEST(an_ack_tells_how_many_were_good),
        TEST(a_long_requeue_tells_all),
        TEST(another_prefetch_holds_at_once),
        TEST(a_queue_that_is_only_waited_for_is_none),
        TEST(a_second_expiry_is_refused_wherever_it_stands),
        TEST(arguments_that_run_together_alike_are_others),
        TEST(a_scan_lets_others_run_among_other_keys),
        TEST(backwards_an_array_is_met_at_its_greatest_element),
        TEST(an_index_of_other_paths_is_another),
        TEST(a_range_has_one_type),
    };
    return cmocka_run_group_tests_name("corners of commands", tests, start, group_stop);
}
