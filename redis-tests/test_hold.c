/* The hold rule: nothing that depends on an unsynced write leaves the server. Its syncs are slowed
 * down (TUPLED_TEST_SYNC_DELAY_MS), so that there is a time between a write's being in memory and
 * its being durable; the tests look at what can be heard in that time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "client.h"
#include "group.h"
#include "load_help.h"

#define DELAY_MS 300
#define MARGIN_MS 60   /* by which a measured time may differ from the truth */
#define LIMIT_MS 60000 /* nothing takes longer */
#define TRIES 100      /* of a test that a busy machine lets come too late */

static redisContext *writer, *reader, *other, *watcher; /* of each test */
static long written_ms;                                 /* when the unsynced write was sent */
static bool is_late; /* the write was synced before the test had asked: nothing was tested */

static int start(void **state)
{
    /* One at a time: what is held is told apart by its sync. */
    static const char *const env[] = {"TUPLED_TEST_SYNC_DELAY_MS=300",
                                      "TUPLED_TEST_LONG_SYNC_US=1000000000", NULL};
    group_opens(&writer, &reader, &other, &watcher, NULL);
    server = testserver_start(&(struct testserver_options){.env = env});
    redisContext *c = testserver_connect(server);
    expect(c, "@",
           "KV.ATOMIC SET ['old'] 'o' SET ['range',1] 1 SET ['range',2] 2 SET ['other',1] 1 "
           "SET ['gone'] 1 SET ['gone2'] 1 SET ['gone3'] 1 SET ['hole',1] 1 SET ['hole',2] 2 "
           "SET ['swept',1] 1");
    expect(c, "+OK", "SELECT 1");
    expect(c, "@", "KV.SET ['flushed'] 1");
    redisFree(c);
    return 0;
}

static int enter(void **state)
{
    group_connect();
    return 0;
}

/* Until the server has nothing to sync. An idle marker is begun after 0.1 s and takes the delay. */
static void wait_for_quiet(void)
{
    long until = testserver_now_ms() + LIMIT_MS;
    long quiet_ms = testserver_now_ms();
    for (long long batches = -1; testserver_now_ms() - quiet_ms < 2 * DELAY_MS;) {
        long long now = load_info(watcher, "journal_batches");
        if (load_info(watcher, "journal_unsynced_transactions") != 0 || now != batches) {
            batches = now;
            quiet_ms = testserver_now_ms();
        }
        if (testserver_now_ms() > until) fail_msg("the server does not become idle");
        testserver_pause();
    }
}

static void wait_for_unsynced(long long count)
{
    long until = testserver_now_ms() + LIMIT_MS;
    while (load_info(watcher, "journal_unsynced_transactions") < count) {
        if (testserver_now_ms() > until) fail_msg("the write does not happen");
        is_late = load_is_readable(writer, 0);
        if (is_late) return;
    }
}

/* Sends a command on the writer's connection; on return it is in memory and not synced. */
#define write_unsynced(...)                                                                        \
    do {                                                                                           \
        say(writer, __VA_ARGS__);                                                                  \
        load_flush(writer);                                                                        \
        written_ms = testserver_now_ms();                                                          \
        wait_for_unsynced(1);                                                                      \
    } while (0)

/* The answer must not come before the sync, and must come with it. */
#define expect_held(c, wanted, ...)                                                                \
    do {                                                                                           \
        say((c), __VA_ARGS__);                                                                     \
        load_flush(c);                                                                             \
        wait_held(c);                                                                              \
        expect_next((c), (wanted));                                                                \
    } while (0)

static void wait_held(const redisContext *c)
{
    if (!load_is_readable(c, LIMIT_MS)) fail_msg("no reply after %d ms", LIMIT_MS);
    long passed_ms = testserver_now_ms() - written_ms;
    if (passed_ms < DELAY_MS - MARGIN_MS) {
        fail_msg("a reply came %ld ms after the write it depends on; the sync takes %d ms",
                 passed_ms, DELAY_MS);
    }
    if (!load_is_readable(writer, LIMIT_MS)) {
        fail_msg("what depends on the write was told before the write was acknowledged");
    }
}

/* The answer must come while the write is still unsynced. */
#define expect_at_once(c, wanted, ...)                                                             \
    do {                                                                                           \
        expect((c), (wanted), __VA_ARGS__);                                                        \
        check_at_once();                                                                           \
    } while (0)

/* By then a reply that had waited for the sync would not have come. */
static bool is_too_late(long begun_ms, unsigned syncs)
{
    if (testserver_now_ms() - begun_ms < syncs * (DELAY_MS - MARGIN_MS)) return false;
    is_late = true;
    return true;
}

static void check_at_once(void)
{
    if (is_too_late(written_ms, 1)) return;
    if (load_is_readable(writer, 0)) fail_msg("the write was acknowledged before its sync");
}

/* Until it was in time. */
static void try_in_time(void (*test)(void))
{
    for (unsigned i = 0; i < TRIES; i++) {
        is_late = false;
        test();
        if (!is_late) return;
        group_connect();
    }
    fail_msg("the machine was too slow %u times", TRIES);
}

/* ---- what is held ---------------------------------------------------------------------------- */

static void a_set_is_answered_after_the_sync(void **state)
{
    long before_ms = testserver_now_ms();
    expect(writer, "@", "KV.SET ['a'] 1");
    assert_true(testserver_now_ms() - before_ms >= DELAY_MS);
}

static void an_unsynced_value_is_held(void **state)
{
    write_unsynced("KV.SET ['value'] 1");
    expect_held(reader, "1", "KV.GET ['value']");
    expect_next(writer, "@");
}

static void the_absence_of_an_unsynced_delete_is_held(void **state)
{
    write_unsynced("KV.DEL ['gone']");
    expect_held(reader, "(nil)", "KV.GET ['gone']");
    expect_next(writer, ":1");
}

static void an_mget_is_held_by_any_of_its_keys(void **state)
{
    write_unsynced("KV.SET ['many'] 1");
    expect_held(reader, "[['o' @] [1 @]]", "KV.MGET ['old'] ['many']");
    expect_next(writer, "@");
}

static void a_failed_nx_is_held(void **state)
{
    write_unsynced("KV.SET ['nx'] 1");
    expect_held(reader, "(nil)", "KV.SET ['nx'] 2 NX");
    expect_next(writer, "@");
    expect(reader, "1", "KV.GET ['nx']");
}

static void a_failed_xx_on_an_unsynced_delete_is_held(void **state)
{
    write_unsynced("KV.DEL ['gone2']");
    expect_held(reader, "(nil)", "KV.SET ['gone2'] 2 XX");
    expect_next(writer, ":1");
}

static void a_failed_check_is_held(void **state)
{
    write_unsynced("KV.SET ['check'] 1");
    expect_held(reader, "(nil)", "KV.ATOMIC CHECK ['check'] NONE SET ['check'] 2");
    expect_next(writer, "@");
}

static void the_details_of_a_failed_check_are_held(void **state)
{
    write_unsynced("KV.SET ['details'] 1");
    expect_held(reader, "[(nil) [[:0 @]]]", "KV.ATOMIC DETAILS CHECK ['details'] NONE");
    expect_next(writer, "@");
}

static void an_error_caused_by_an_unsynced_value_is_held(void **state)
{
    write_unsynced("KV.SET ['error'] 'text'");
    expect_held(reader, "-WRONGTYPE *", "KV.SUM ['error'] 1");
    expect_next(writer, "@");
}

static void a_del_that_finds_nothing_because_of_an_unsynced_del_is_held(void **state)
{
    write_unsynced("KV.DEL ['gone3']");
    expect_held(reader, ":0", "KV.DEL ['gone3']");
    expect_next(writer, ":1");
}

static void a_ttl_is_held(void **state)
{
    write_unsynced("KV.SET ['ttl'] 1");
    expect_held(reader, ":-1", "KV.TTL ['ttl']");
    expect_next(writer, "@");
}

static void a_range_with_an_unsynced_write_is_held(void **state)
{
    write_unsynced("KV.SET ['range',3] 3");
    say(other, "KV.COUNT PREFIX ['range']");
    load_flush(other);
    expect_held(reader, "[0 [['range',1] ['range',2] ['range',3]]]",
                "KV.LIST PREFIX ['range'] KEYSONLY");
    expect_next(other, ":3");
    expect_next(writer, "@");
    write_unsynced("KV.SET ['range',3] 4");
    say(other, "KV.LIST PREFIX ['range'] REVERSE LIMIT 1");
    load_flush(other);
    wait_held(other);
    expect_next(other, "[* [[['range',3] 4 @]]]");
    expect_next(writer, "@");
}

static void a_range_with_an_unsynced_delete_is_held(void **state)
{
    write_unsynced("KV.DEL ['hole',1]");
    say(other, "KV.LIST PREFIX ['hole'] KEYSONLY");
    load_flush(other);
    expect_held(reader, ":1", "KV.COUNT PREFIX ['hole']");
    expect_next(other, "[0 [['hole',2]]]");
    expect_next(writer, ":1");
}

static void a_delrange_that_finds_nothing_because_of_an_unsynced_one_is_held(void **state)
{
    write_unsynced("KV.DELRANGE PREFIX ['swept']");
    expect_held(reader, ":0", "KV.DELRANGE PREFIX ['swept']");
    expect_next(writer, ":1");
}

static void flush_unsynced(void)
{
    expect(writer, "+OK", "SELECT 1");
    expect(reader, "+OK", "SELECT 1");
    expect(other, "+OK", "SELECT 1");
    expect(writer, "@", "KV.SET ['flushed'] 1");
    wait_for_quiet();
    write_unsynced("FLUSHDB");
    say(other, "KV.COUNT");
    load_flush(other);
    expect_at_once(watcher, "'o'", "KV.GET ['old']"); /* of another database */
    expect_held(reader, "(nil)", "KV.GET ['flushed']");
    expect_next(other, ":0");
    expect_next(writer, "+OK");
}

static void emptiness_after_an_unsynced_flush_is_held(void **state)
{
    try_in_time(flush_unsynced);
}

/* Two syncs, one after the other: the first releases only what depends on it. */
static void read_two(void)
{
    redisContext *late = watcher;
    wait_for_quiet();
    write_unsynced("KV.SET ['first'] 1");
    say(other, "KV.SET ['second'] 2");
    load_flush(other);
    wait_for_unsynced(2);
    if (is_late || is_too_late(written_ms, 1)) return; /* the second may have its own sync now */
    say(late, "KV.GET ['second']");
    load_flush(late);
    expect_held(reader, "1", "KV.GET ['first']");
    expect_next(writer, "@");
    bool is_told = load_is_readable(other, 0) || load_is_readable(late, 0);
    if (is_told && !is_too_late(written_ms, 2)) {
        fail_msg("the second write was told together with the first");
    }
    assert_true(load_is_readable(late, LIMIT_MS));
    assert_true(testserver_now_ms() - written_ms >= 2 * DELAY_MS - MARGIN_MS);
    assert_true(load_is_readable(other, LIMIT_MS));
    expect_next(other, "@");
    expect_next(late, "2");
}

static void a_read_waits_for_the_version_it_depends_on_and_no_other(void **state)
{
    try_in_time(read_two);
}

/* ---- what is not ----------------------------------------------------------------------------- */

static void read_others(void)
{
    char version[32];
    wait_for_quiet();
    snprintf(version, sizeof version, "%s", ask(reader, "KV.VERSION"));
    write_unsynced("KV.SET ['unsynced'] 1");
    expect_at_once(reader, "'o'", "KV.GET ['old']");
    expect_at_once(reader, "+PONG", "PING");
    expect_at_once(reader, "(nil)", "KV.GET ['never']");
    expect_at_once(reader, "[0 [[['other',1] 1 @]]]", "KV.LIST PREFIX ['other']");
    expect_at_once(reader, ":1", "KV.COUNT PREFIX ['other']");
    expect_at_once(reader, "(nil)", "KV.SET ['old'] 2 NX");
    expect_at_once(reader, "(nil)", "KV.ATOMIC CHECK ['old'] NONE SET ['x'] 1");
    expect_at_once(reader, "-WRONGTYPE *", "KV.SUM ['old'] 1");
    expect_at_once(reader, version, "KV.VERSION"); /* the newest acknowledged */
    expect_next(writer, "@");
}

static void what_does_not_depend_on_the_write_is_answered_at_once(void **state)
{
    try_in_time(read_others);
}

/* ---- order on one connection ----------------------------------------------------------------- */

static void write_between(void)
{
    wait_for_quiet();
    say(writer, "PING before");
    say(writer, "KV.GET ['old']");
    say(writer, "KV.SET ['order'] 1");
    say(writer, "PING behind");
    say(writer, "KV.GET ['old']");
    say(writer, "KV.GET ['order']");
    long sent_ms = testserver_now_ms();
    expect_next(writer, "before");
    expect_next(writer, "'o'");
    bool is_told = writer->reader->pos < writer->reader->len || load_is_readable(writer, 0);
    if (is_told && !is_too_late(sent_ms, 1)) fail_msg("the write was acknowledged before its sync");
    expect_next(writer, "@");
    assert_true(testserver_now_ms() - sent_ms >= DELAY_MS);
    assert_true(load_is_readable(writer, LIMIT_MS) || writer->reader->len > 0);
    expect_next(writer, "behind");
    expect_next(writer, "'o'");
    expect_next(writer, "1");
}

static void replies_keep_their_order_around_a_held_one(void **state)
{
    try_in_time(write_between);
}

static void read_ahead(void)
{
    wait_for_quiet();
    write_unsynced("KV.SET ['ahead'] 1");
    say(reader, "KV.GET ['old']");
    say(reader, "KV.GET ['ahead']");
    say(reader, "PING behind");
    expect_next(reader, "'o'");
    check_at_once();
    wait_held(reader);
    expect_next(reader, "1");
    expect_next(reader, "behind");
    expect_next(writer, "@");
}

static void a_reader_that_pipelines_gets_what_it_may_have(void **state)
{
    try_in_time(read_ahead);
}

/* ---- kill -9 in the window ------------------------------------------------------------------- */

#define KILL_ROUNDS 6
#define WRITES_AHEAD 5000
#define POLLERS 3
#define KILL_LIMIT_MS 20000 /* nothing new is shown: something is broken */

struct window {
    uint64_t next;  /* to be written */
    uint64_t shown; /* the largest value any reply has told */
};

static void on_poll(struct load_client *l, const redisReply *r)
{
    struct window *w = l->arg;
    uint64_t n = 0;
    if (r->type == REDIS_REPLY_STRING) n = strtoull(r->str, NULL, 10);
    if (n > w->shown) w->shown = n;
}

/* The value in the store must be at least what any client was shown or promised. */
static void kill_in_the_window(struct testserver *s, struct window *w)
{
    struct load_client clients[1 + POLLERS] = {{.number = 0, .arg = w}};
    uint64_t acknowledged = w->next;
    uint64_t before = w->shown;
    long until = testserver_now_ms() + 60 + (long)load_below(200);
    for (size_t i = 0; i <= POLLERS; i++) {
        clients[i].number = i;
        clients[i].arg = w;
        clients[i].on_reply = i == 0 ? NULL : on_poll;
        load_open(&clients[i], s);
    }
    long limit = until + KILL_LIMIT_MS;
    /* Not before a client was shown something new: a crowded machine may take long to come to the
     * first sync, and then nothing would be tested. */
    while (testserver_now_ms() < until || w->shown == before) {
        if (testserver_now_ms() > limit) fail_msg("nothing new is ever shown");
        /* A few at a time: while one batch is synced the next one fills, in memory only. */
        for (int i = 0; i < 4 && clients[0].unanswered < WRITES_AHEAD; i++) {
            load_say(&clients[0], "KV.SET ['n'] %llu", (unsigned long long)++w->next);
        }
        for (size_t i = 1; i <= POLLERS; i++) {
            if (clients[i].unanswered < 2) load_say(&clients[i], "KV.GET ['n']");
        }
        load_turn(clients, 1 + POLLERS, 1);
    }
    testserver_kill(s);
    while (load_turn(clients, 1 + POLLERS, 50)) continue; /* what had left the server */
    if (w->next - clients[0].unanswered > acknowledged) {
        acknowledged = w->next - clients[0].unanswered;
    }
    if (acknowledged > w->shown) w->shown = acknowledged;
    for (size_t i = 0; i <= POLLERS; i++) load_close(&clients[i]);
}

static void nothing_is_shown_that_a_kill_takes_back(void **state)
{
    static const char *const env[] = {"TUPLED_TEST_SYNC_DELAY_MS=30", NULL};
    struct testserver_options o = {.is_release = true, .env = env};
    struct window w = {0};
    load_use_disk();
    load_seed();
    struct testserver *s = testserver_start(&o);
    for (int round = 0; round < KILL_ROUNDS; round++) {
        kill_in_the_window(s, &w);
        testserver_again(s);
        redisContext *c = testserver_connect(s);
        uint64_t value = strtoull(ask(c, "KV.GET ['n']"), NULL, 10);
        if (value < w.shown || value > w.next) {
            fail_msg("round %d: %llu was shown, %llu written, but %llu is there", round,
                     (unsigned long long)w.shown, (unsigned long long)w.next,
                     (unsigned long long)value);
        }
        assert_true(w.shown > 0);
        w.next = w.shown = value;
        redisFree(c);
    }
    testserver_free(s);
}

/* ---- indexes --------------------------------------------------------------------------------- */

static void with_indexes(void)
{
    static bool are_there;
    if (!are_there) {
        expect(other, "+OK", "KV.INDEX CREATE n PREFIX ['x'] ON 1 n UNIQUE");
        expect(other, "+OK", "KV.INDEX CREATE t PREFIX ['x'] TEXT 1 t");
        expect(other, "@", "KV.SET ['x','old'] {'n':0,'t':'word'}");
    }
    are_there = true;
    wait_for_quiet();
}

static void set_duplicate(void)
{
    with_indexes();
    write_unsynced("KV.SET ['x',1] {'n':1}");
    expect_at_once(other, "-DUPLICATE n ['x','old']", "KV.SET ['x',2] {'n':0}");
    expect_held(reader, "-DUPLICATE n ['x',1]", "KV.SET ['x',2] {'n':1}");
    expect_next(writer, "@");
}

static void a_duplicate_of_an_unsynced_owner_is_held(void **state)
{
    try_in_time(set_duplicate);
}

static void find_entry(void)
{
    with_indexes();
    write_unsynced("KV.SET ['x',3] {'n':3}");
    expect_at_once(other, "[0 [['x','old']]]", "KV.FIND n 0 KEYSONLY");
    expect_held(reader, "[0 [['x',3]]]", "KV.FIND n 3 KEYSONLY");
    expect_next(writer, "@");
}

static void a_find_of_an_unsynced_entry_is_held(void **state)
{
    try_in_time(find_entry);
}

static void a_find_that_misses_an_unsynced_delete_is_held(void **state)
{
    with_indexes();
    expect(other, "@", "KV.SET ['x',4] {'n':4}");
    wait_for_quiet();
    write_unsynced("KV.DEL ['x',4]");
    expect_held(reader, "[0 []]", "KV.FIND n 4");
    expect_next(writer, ":1");
}

static void a_search_of_an_unsynced_entry_is_held(void **state)
{
    with_indexes();
    write_unsynced("KV.SET ['x',5] {'n':5,'t':'word'}");
    expect_held(reader, "[* *]", "KV.SEARCH t word");
    expect_next(writer, "@");
}

/* What the index says stays the same: the entry itself, in memory alone, is what must wait. */
static void a_find_that_loads_an_unsynced_value_is_held(void **state)
{
    with_indexes();
    expect(other, "@", "KV.SET ['x',6] {'n':6,'v':1}");
    expect(other, "@", "KV.SET ['x',7] {'n':7,'v':1}");
    wait_for_quiet();
    write_unsynced("KV.SET ['x',6] {'n':6,'v':2}");
    expect_held(reader, "[0 [[['x',6] {'n':6,'v':2} @]]]", "KV.FIND n 6");
    expect_next(writer, "@");
    /* That a filter lets nothing through is news of it too. */
    wait_for_quiet();
    write_unsynced("KV.SET ['x',6] {'n':6,'v':3}");
    expect_held(reader, "[0 []]", "KV.FIND n 6 WHERE {'v':2} KEYSONLY");
    expect_next(writer, "@");
    wait_for_quiet();
    write_unsynced("KV.ATOMIC SET ['x',6] {'n':6,'v':4}");
    expect_held(reader, "[0 [['x',6]]]", "KV.FIND n FROM 6 TO 8 WHERE {'v':4} KEYSONLY");
    expect_next(writer, "@");
}

static void a_search_that_shows_an_unsynced_value_is_held(void **state)
{
    with_indexes();
    expect(other, "@", "KV.SET ['x',8] {'t':'same','v':1}");
    wait_for_quiet();
    write_unsynced("KV.SET ['x',8] {'t':'same','v':2}");
    expect_held(reader, "[[['x',8] {'t':'same','v':2} @]]", "KV.SEARCH t same");
    expect_next(writer, "@");
    wait_for_quiet();
    write_unsynced("KV.SET ['x',8] {'t':'same','v':3}");
    expect_held(reader, "[]", "KV.SEARCH t same WHERE {'v':2}");
    expect_next(writer, "@");
    wait_for_quiet();
    write_unsynced("KV.DEL ['x',8]");
    expect_held(reader, "[]", "KV.SEARCH t same");
    expect_next(writer, ":1");
}

static void an_unsynced_definition_is_held(void **state)
{
    with_indexes();
    write_unsynced("KV.INDEX CREATE new PREFIX ['y'] ON 1 n");
    expect_held(reader, "[n new t]", "KV.INDEX LIST");
    expect_next(writer, "+OK");
    wait_for_quiet();
    write_unsynced("KV.INDEX DROP new");
    expect_held(reader, "-ERR no such index 'new'", "KV.FIND new 1");
    expect_next(writer, ":1");
}

/* EXISTS of so many keys is read in slices, and the first is `name`; to be flushed by the caller. */
static void say_many(redisContext *c, const char *name)
{
    enum { MANY = 1500 };
    static char names[MANY][16];
    const char *argv[MANY + 1] = {"EXISTS", name};
    for (int i = 1; i < MANY; i++) {
        snprintf(names[i], sizeof names[i], "many%d", i);
        argv[i + 1] = names[i];
    }
    assert_int_equal(redisAppendCommandArgv(c, MANY + 1, argv, NULL), REDIS_OK);
    load_flush(c);
}

/* What a reply depends on counts for all that is read for it: what is there, and what is not. */
static void many_keys_are_held_as_one_is(void **state)
{
    wait_for_quiet();
    write_unsynced("SET first 1");
    say_many(reader, "first");
    wait_held(reader);
    expect_next(reader, ":1");
    expect_next(writer, "+OK");
    wait_for_quiet();
    write_unsynced("DEL first");
    say_many(reader, "first");
    wait_held(reader);
    expect_next(reader, ":0");
    expect_next(writer, ":1");
    expect(writer, "+OK", "SELECT 2");
    expect(reader, "+OK", "SELECT 2");
    expect(writer, "+OK", "SET first 1");
    wait_for_quiet();
    write_unsynced("FLUSHDB");
    say_many(reader, "first");
    wait_held(reader);
    expect_next(reader, ":0");
    expect_next(writer, "+OK");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, enter, group_leave)
    const struct CMUnitTest tests[] = {
        TEST(a_set_is_answered_after_the_sync),
        TEST(an_unsynced_value_is_held),
        TEST(the_absence_of_an_unsynced_delete_is_held),
        TEST(an_mget_is_held_by_any_of_its_keys),
        TEST(many_keys_are_held_as_one_is),
        TEST(a_failed_nx_is_held),
        TEST(a_failed_xx_on_an_unsynced_delete_is_held),
        TEST(a_failed_check_is_held),
        TEST(the_details_of_a_failed_check_are_held),
        TEST(an_error_caused_by_an_unsynced_value_is_held),
        TEST(a_del_that_finds_nothing_because_of_an_unsynced_del_is_held),
        TEST(a_ttl_is_held),
        TEST(a_range_with_an_unsynced_write_is_held),
        TEST(a_range_with_an_unsynced_delete_is_held),
        TEST(a_delrange_that_finds_nothing_because_of_an_unsynced_one_is_held),
        TEST(emptiness_after_an_unsynced_flush_is_held),
        TEST(a_read_waits_for_the_version_it_depends_on_and_no_other),
        TEST(what_does_not_depend_on_the_write_is_answered_at_once),
        TEST(a_duplicate_of_an_unsynced_owner_is_held),
        TEST(a_find_of_an_unsynced_entry_is_held),
        TEST(a_find_that_misses_an_unsynced_delete_is_held),
        TEST(a_search_of_an_unsynced_entry_is_held),
        TEST(a_find_that_loads_an_unsynced_value_is_held),
        TEST(a_search_that_shows_an_unsynced_value_is_held),
        TEST(an_unsynced_definition_is_held),
        TEST(replies_keep_their_order_around_a_held_one),
        TEST(a_reader_that_pipelines_gets_what_it_may_have),
        cmocka_unit_test(nothing_is_shown_that_a_kill_takes_back),
    };
    return cmocka_run_group_tests(tests, start, group_stop);
}
