/* Watches: kv:watch:, kv:prefix: and patterns over ordinary pub/sub: what is told, in which order,
 * when, to whom, and to who does not keep up. And KV.POLL.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "client.h"
#include "group.h"
#include "load_help.h"

#define LIMIT_MS 20000

static redisContext *c; /* who writes */

static int start(void **state)
{
    group_opens(&c, NULL);
    server = testserver_start(NULL);
    group_connect();
    return 0;
}

/* What comes next to the subscriber. */
#define expect_message(l, wanted) expect_next_at(__FILE__, __LINE__, (l), (wanted))

/* Nothing more has been sent: the answer to PING is next. */
static void expect_silence(redisContext *l)
{
    expect(l, "[pong ]", "PING");
}

static redisContext *fresh(void)
{
    expect(c, "+OK", "FLUSHALL");
    return testserver_connect(server);
}

static void a_watched_key_is_told_as_it_is_and_then_every_change(void **state)
{
    redisContext *l = fresh();
    char first[21];
    snprintf(first, sizeof first, "%s", ask(c, "KV.SET ['u',1] {'n':1}"));
    char wanted[300];
    expect(l, "[subscribe kv:watch:['u',1] :1]", "SUBSCRIBE kv:watch:['u',1]");
    snprintf(wanted, sizeof wanted,
             "[message kv:watch:['u',1] "
             "{'key':['u',1],'value':{'n':1},'versionstamp':'%s','commit':'%s'}]",
             first, first);
    expect_message(l, wanted);
    expect(c, "@", "KV.SET ['u',1] 2");
    expect(c, "@", "KV.SET ['u',2] 'other'");
    expect(c, "[3 @]", "KV.SUM ['u',1] 1");
    expect(c, ":1", "KV.DEL ['u',1]");
    expect(c, ":0", "KV.DEL ['u',1]"); /* no change */
    expect(c, "(nil)", "KV.SET ['u',1] 9 XX");
    expect(c, "@", "KV.SET ['u',1] null");
    expect_message(l, "[message * {'key':['u',1],'value':2,'versionstamp':'@','commit':'@'}]");
    expect_message(l, "[message * {'key':['u',1],'value':3,'versionstamp':'@','commit':'@'}]");
    expect_message(l, "[message * {'key':['u',1],'value':null,'versionstamp':null,'commit':'@'}]");
    expect_message(l, "[message * {'key':['u',1],'value':null,'versionstamp':'@','commit':'@'}]");
    expect_silence(l);
    expect(l, "[unsubscribe kv:watch:['u',1] :0]", "UNSUBSCRIBE");
    expect(c, "@", "KV.SET ['u',1] 5");
    expect(l, "+PONG", "PING");
    redisFree(l);
}

static void an_absent_key_is_told_as_absent(void **state)
{
    redisContext *l = fresh();
    expect(l, "[subscribe kv:watch:['no'] :1]", "SUBSCRIBE kv:watch:['no']");
    expect_message(l, "[message * {'key':['no'],'value':null,'versionstamp':null,'commit':'@'}]");
    redisFree(l);
}

/* Libraries read as many confirmations as they named channels, and lose what comes between them. */
static void all_channels_are_confirmed_before_the_first_states(void **state)
{
    redisContext *l = fresh();
    expect(c, "@", "KV.SET ['a'] 1");
    expect(c, "@", "KV.SET ['c'] 3");
    say(l, "SUBSCRIBE kv:watch:a plain kv:watch:b kv:prefix:a kv:watch:a kv:watch:c");
    expect_next(l, "[subscribe kv:watch:a :1]");
    expect_next(l, "[subscribe plain :2]");
    expect_next(l, "[subscribe kv:watch:b :3]");
    expect_next(l, "[subscribe kv:prefix:a :4]");
    expect_next(l, "[subscribe kv:watch:a :4]"); /* twice: told once */
    expect_next(l, "[subscribe kv:watch:c :5]");
    expect_message(l, "[message kv:watch:a {'key':['a'],'value':1,*}]");
    expect_message(l, "[message kv:watch:b {'key':['b'],'value':null,*}]");
    expect_message(l, "[message kv:watch:c {'key':['c'],'value':3,*}]");
    expect_silence(l);
    say(l, "PSUBSCRIBE kv:watch:a kv:watch:c* x*");
    expect_next(l, "[psubscribe kv:watch:a :6]");
    expect_next(l, "[psubscribe kv:watch:c* :7]");
    expect_next(l, "[psubscribe x* :8]");
    expect_silence(l);
    redisFree(l);
}

/* The message names the channel as it was subscribed with. */
static void channels_are_spelled_in_any_form(void **state)
{
    redisContext *l = fresh();
    expect(c, "@", "KV.SET %s 1", "[\"a b\",42]");
    expect(l, "[subscribe kv:watch:a%20b/#42 :1]", "SUBSCRIBE kv:watch:a%%20b/#42");
    expect_message(l, "[message kv:watch:a%20b/#42 {'key':['a b',42],'value':1,*}]");
    redisReply *r = redisCommand(l, "SUBSCRIBE %s", "kv:watch:[ \"a b\" , 42 ]");
    assert_int_equal(r->type, REDIS_REPLY_ARRAY);
    freeReplyObject(r);
    expect_message(l, "[message kv:watch:[ 'a b' , 42 ] {'key':['a b',42],'value':1,*}]");
    r = redisCommand(l, "SUBSCRIBE %b",
                     "kv:watch:\x92\xa3"
                     "a b\x2a",
                     (size_t)15);
    assert_int_equal(r->type, REDIS_REPLY_ARRAY);
    freeReplyObject(r);
    expect_message(l, "[message * {'key':['a b',42],'value':1,*}]");
    expect(c, "@", "KV.SET %s 2", "[\"a b\",42]");
    for (int i = 0; i < 3; i++) expect_message(l, "[message * {'key':['a b',42],'value':2,*}]");
    expect_silence(l);
    redisFree(l);
}

static void what_is_no_channel_is_refused(void **state)
{
    redisContext *l = fresh();
    expect(l, "-ERR unknown channel 'kv:foo': *", "SUBSCRIBE kv:foo");
    expect(l, "-ERR unknown channel 'kv:watch:a': *", "SSUBSCRIBE kv:watch:a");
    expect(l, "-ERR invalid key: *", "SUBSCRIBE kv:watch:['a'");
    expect(l, "-ERR invalid key: *", "SUBSCRIBE ok kv:watch:[]");
    expect(l, "+PONG", "PING"); /* nothing of it was done */
    redisFree(l);
}

static void a_prefix_is_whole_parts(void **state)
{
    redisContext *l = fresh();
    expect(l, "[subscribe kv:prefix:['u'] :1]", "SUBSCRIBE kv:prefix:['u']");
    expect(c, "@", "KV.SET ['u'] 0");
    expect(c, "@", "KV.SET ['u2',1] 0");
    expect(c, "@", "KV.SET ['u',1] 1");
    expect(c, "@", "KV.SET ['u',1,'deep','er'] 2");
    expect(c, "@", "KV.ATOMIC SET ['u',2] 3 DEL ['u',1] SET ['x'] 4");
    expect_message(l, "[message * {'key':['u',1],'value':1,*}]");
    expect_message(l, "[message * {'key':['u',1,'deep','er'],'value':2,*}]");
    expect_message(l, "[message * {'key':['u',2],'value':3,*}]");
    expect_message(l, "[message * {'key':['u',1],'value':null,'versionstamp':null,*}]");
    expect_silence(l);
    expect(l, "[subscribe kv:prefix:[] :2]", "SUBSCRIBE kv:prefix:[]");
    expect(c, "@", "KV.SET ['x'] 5");
    expect_message(l, "[message kv:prefix:[] {'key':['x'],'value':5,*}]");
    redisFree(l);
}

static void patterns_are_globs_over_path_forms(void **state)
{
    redisContext *l = fresh();
    redisContext *all = testserver_connect(server);
    expect(all, "[psubscribe * :1]", "PSUBSCRIBE *");
    expect(l, "[psubscribe kv:watch:u/#[12] :1]", "PSUBSCRIBE kv:watch:u/#[12]");
    expect(c, "@", "KV.SET ['u',1] 1");
    expect(c, "@", "KV.SET ['u',3] 1");
    expect(c, "@", "KV.SET ['u',2] 2");
    expect_message(l, "[pmessage kv:watch:u/#[12] kv:watch:u/#1 {'key':['u',1],'value':1,*}]");
    expect_message(l, "[pmessage kv:watch:u/#[12] kv:watch:u/#2 {'key':['u',2],'value':2,*}]");
    expect_silence(l);
    expect_silence(all);
    redisFree(l);
    redisFree(all);
}

static void expiry_range_deletes_and_flush_are_told(void **state)
{
    redisContext *l = fresh();
    expect(l, "[subscribe kv:prefix:['t'] :1]", "SUBSCRIBE kv:prefix:['t']");
    expect(c, "@", "KV.SET ['t',1] 1 PX 40");
    expect_message(l, "[message * {'key':['t',1],'value':1,*}]");
    expect_message(l, "[message * {'key':['t',1],'value':null,'versionstamp':null,'commit':'@'}]");
    expect(c, "@", "KV.SET ['t',2] 2");
    expect(c, "@", "KV.SET ['t',3] 3");
    expect(c, ":2", "KV.DELRANGE PREFIX ['t']");
    expect_message(l, "[message * {'key':['t',2],'value':2,*}]");
    expect_message(l, "[message * {'key':['t',3],'value':3,*}]");
    expect_message(l, "[message * {'key':['t',2],'value':null,*}]");
    expect_message(l, "[message * {'key':['t',3],'value':null,*}]");
    expect(c, "+OK", "FLUSHDB");
    expect_message(l, "[message * {'key':null,'value':null,'versionstamp':null,'commit':'@'}]");
    expect_silence(l);
    redisFree(l);
}

static void plain_keys_and_exec_are_told_too(void **state)
{
    redisContext *l = fresh();
    expect(l, "[subscribe kv:prefix:[] :1]", "SUBSCRIBE kv:prefix:[]");
    expect(c, "+OK", "SET plain x");
    expect_message(l, "[message * {'key':['plain'],'value':{'$bytes':'eA=='},*}]");
    expect(c, "+OK", "MULTI");
    expect(c, "+QUEUED", "SET a 1");
    expect(c, "+QUEUED", "SET a 2");
    expect(c, "+QUEUED", "SET b 1");
    expect(c, "[+OK +OK +OK]", "EXEC");
    expect_message(l, "[message * {'key':['a'],'value':{'$bytes':'Mg=='},*}]");
    expect_message(l, "[message * {'key':['b'],*}]");
    expect(c, "+OK", "MULTI");
    expect(c, "+QUEUED", "SET a x");
    expect(c, "+QUEUED", "INCR a");
    expect(c, "-EXECABORT *", "EXEC");
    expect_silence(l);
    redisFree(l);
}

static void a_subscription_belongs_to_its_database_and_format(void **state)
{
    redisContext *l = fresh();
    expect(l, "+OK", "SELECT 3");
    expect(l, "+OK", "KV.FORMAT MSGPACK");
    expect(l, "[subscribe kv:prefix:['k'] :1]", "SUBSCRIBE kv:prefix:['k']");
    redisContext *three = testserver_connect(server);
    expect(three, "+OK", "SELECT 3");
    expect(c, "@", "KV.SET ['k',1] 1");
    expect(three, "@", "KV.SET ['k',2] 7");
    redisReply *r = NULL;
    assert_int_equal(redisGetReply(l, (void **)&r), REDIS_OK);
    static const char head[] = "\x84\xa3"
                               "key\x92\xa1"
                               "k\x02\xa5"
                               "value\x07\xac"
                               "versionstamp\xb4";
    assert_true(r->element[2]->len > sizeof head - 1);
    assert_memory_equal(r->element[2]->str, head, sizeof head - 1);
    freeReplyObject(r);
    expect_silence(l);
    redisFree(three);
    redisFree(l);
}

/* Not before it is on disk. */
static void a_change_is_told_when_it_is_durable(void **state)
{
    static const char *const env[] = {"TUPLED_TEST_SYNC_DELAY_MS=300", NULL};
    struct testserver *s = testserver_start(
        &(struct testserver_options){.is_release = true, .env = env});
    redisContext *w = testserver_connect(s);
    redisContext *l = testserver_connect(s);
    expect(l, "[subscribe kv:prefix:[] :1]", "SUBSCRIBE kv:prefix:[]");
    long from = testserver_now_ms();
    say(w, "KV.SET ['k'] 1");
    load_flush(w);
    expect_message(l, "[message * {'key':['k'],*}]");
    assert_true(testserver_now_ms() - from >= 250);
    expect_next(w, "@");
    redisFree(w);
    redisFree(l);
    testserver_free(s);
}

/* ---- who does not keep up -------------------------------------------------------------------- */

#define SLOW_KEYS 50
#define SLOW_ROUNDS 400

/* Small while it is slow; large when it reads, or TCP's timers for a tiny window make it take
 * minutes. */
static void set_receive_buffer(redisContext *l, int bytes)
{
    setsockopt(l->fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
}

/* The number after `"value":"` of a message about key n, in *n too. */
static unsigned message_value(const redisReply *r, unsigned *n)
{
    const char *json = r->element[2]->str;
    const char *value = strstr(json, "\"value\":\"");
    *n = (unsigned)strtoul(strchr(json, ',') + 1, NULL, 10);
    return value == NULL ? 0 : (unsigned)strtoul(value + 9, NULL, 10);
}

static void a_slow_subscriber_gets_the_newest_state_of_every_key(void **state)
{
    static char pad[5000];
    unsigned last[SLOW_KEYS] = {0};
    unsigned messages = 0;
    redisContext *l = fresh();
    memset(pad, 'p', sizeof pad - 1);
    set_receive_buffer(l, 16 * 1024);
    expect(l, "[subscribe kv:prefix:['s'] :1]", "SUBSCRIBE kv:prefix:['s']");
    /* 100 MB of changes while it does not read. */
    for (unsigned round = 1; round <= SLOW_ROUNDS; round++) {
        for (unsigned k = 0; k < SLOW_KEYS; k++) say(c, "KV.SET ['s',%u] '%u-%s'", k, round, pad);
        expect_many(c, SLOW_KEYS, "@");
    }
    long long held = load_info(c, "used_memory");
    assert_true(held < (300 << 20));
    expect(c, "@", "KV.SET ['s',0] '%u-last'", SLOW_ROUNDS + 1);
    set_receive_buffer(l, 4 << 20);
    for (bool is_done = false; !is_done;) {
        redisReply *r = NULL;
        unsigned k = 0;
        assert_int_equal(redisGetReply(l, (void **)&r), REDIS_OK);
        assert_int_equal(r->elements, 3);
        unsigned value = message_value(r, &k);
        assert_true(k < SLOW_KEYS);
        if (value <= last[k]) fail_msg("key %u: %u after %u", k, value, last[k]);
        last[k] = value;
        messages++;
        freeReplyObject(r);
        is_done = last[0] == SLOW_ROUNDS + 1;
        for (unsigned i = 1; i < SLOW_KEYS; i++) is_done = is_done && last[i] == SLOW_ROUNDS;
    }
    printf("# %u changes came as %u messages\n", SLOW_ROUNDS * SLOW_KEYS, messages);
    assert_true(messages < SLOW_ROUNDS * SLOW_KEYS / 2);
    /* It has caught up: every change again. */
    expect(c, "@", "KV.SET ['s',1] 'a'");
    expect(c, "@", "KV.SET ['s',1] 'b'");
    expect_message(l, "[message * {'key':['s',1],'value':'a',*}]");
    expect_message(l, "[message * {'key':['s',1],'value':'b',*}]");
    expect_silence(l);
    redisFree(l);
}

#define DRAIN_KEYS 400
#define DRAIN_CHANGES 20000
#define DRAIN_STEP 10

struct drain {
    unsigned last[DRAIN_KEYS];    /* number of the change that was told last */
    unsigned written[DRAIN_KEYS]; /* that was made last */
    unsigned told;
};

/* What has come, up to some 16 KB: each is newer than what was told of its key before. */
static void drain_read(struct drain *d, redisContext *l, int wait_ms)
{
    void *reply = NULL;
    if (!load_is_readable(l, wait_ms)) return;
    if (redisBufferRead(l) != REDIS_OK) fail_msg("the watcher lost its connection");
    while (redisGetReplyFromReader(l, &reply) == REDIS_OK && reply != NULL) {
        unsigned k = 0;
        unsigned value = message_value(reply, &k);
        assert_true(k < DRAIN_KEYS);
        if (value <= d->last[k]) fail_msg("key %u: %u after %u", k, value, d->last[k]);
        d->last[k] = value;
        d->told++;
        freeReplyObject(reply);
        reply = NULL;
    }
}

static unsigned drain_missing(const struct drain *d)
{
    unsigned missing = 0;
    for (unsigned k = 0; k < DRAIN_KEYS; k++) missing += d->last[k] != d->written[k];
    return missing;
}

/* Its notes drain, as it reads now, and there is room in its output again: a change of a key that
 * is still noted must not be written before what the note stands for, or a key would be told twice
 * or go back. */
static void a_key_keeps_its_order_while_notes_drain(void **state)
{
    static struct drain d;
    static char pad[5000];
    redisContext *l = fresh();
    memset(pad, 'p', sizeof pad - 1);
    set_receive_buffer(l, 16 * 1024);
    expect(l, "[subscribe kv:prefix:['s'] :1]", "SUBSCRIBE kv:prefix:['s']");
    load_seed();
    for (unsigned n = 1; n <= DRAIN_CHANGES; n++) {
        unsigned k = n <= DRAIN_KEYS ? n - 1 : (unsigned)load_below(DRAIN_KEYS);
        d.written[k] = n;
        say(c, "KV.SET ['s',%u] '%u-%s'", k, n, pad);
        if (n % DRAIN_STEP != 0) continue;
        expect_many(c, DRAIN_STEP, "@");
        if (n == DRAIN_CHANGES / 4) set_receive_buffer(l, 256 * 1024);
        for (int i = 0; i < 10 && n > DRAIN_CHANGES / 4; i++) drain_read(&d, l, 0);
    }
    long until = testserver_now_ms() + LIMIT_MS;
    while (drain_missing(&d) > 0) {
        drain_read(&d, l, 100);
        if (testserver_now_ms() > until) fail_msg("%u keys are missing", drain_missing(&d));
    }
    printf("# %u changes came as %u messages\n", DRAIN_CHANGES, d.told);
    assert_in_range(d.told, DRAIN_KEYS, DRAIN_CHANGES - 1);
    expect_silence(l);
    redisFree(l);
}

static void deleted_while_slow_is_told_as_deleted(void **state)
{
    static char pad[5000];
    redisContext *l = fresh();
    bool is_gone = false;
    memset(pad, 'p', sizeof pad - 1);
    set_receive_buffer(l, 16 * 1024);
    expect(l, "[subscribe kv:prefix:[] :1]", "SUBSCRIBE kv:prefix:[]");
    expect(c, "@", "KV.SET ['gone'] 1");
    for (unsigned i = 0; i < 2000; i++) say(c, "KV.SET ['s'] '%s'", pad);
    expect_many(c, 2000, "@");
    expect(c, ":1", "KV.DEL ['gone']");
    expect(c, "@", "KV.SET ['s'] 'end'");
    set_receive_buffer(l, 4 << 20);
    for (bool is_end = false; !is_end;) {
        redisReply *r = NULL;
        assert_int_equal(redisGetReply(l, (void **)&r), REDIS_OK);
        const char *json = r->element[2]->str;
        is_gone = is_gone ||
                  strstr(json, "[\"gone\"],\"value\":null,\"versionstamp\":null") != NULL;
        is_end = strstr(json, "\"end\"") != NULL;
        freeReplyObject(r);
    }
    assert_true(is_gone);
    redisFree(l);
}

/* ---- more than can be told ---- */

#define CROWD 500      /* patterns, each of which looks at every key */
#define LATE_KEYS 2000 /* of one transaction */

static void set_late_keys(redisContext *w)
{
    static const char *argv[1 + 3 * LATE_KEYS] = {"KV.ATOMIC"};
    static char keys[LATE_KEYS][24];
    for (int i = 0; i < LATE_KEYS; i++) {
        snprintf(keys[i], sizeof keys[i], "[\"k\",%d]", i);
        argv[1 + 3 * i] = "SET";
        argv[2 + 3 * i] = keys[i];
        argv[3 + 3 * i] = "1";
    }
    redisReply *r = redisCommandArgv(w, 1 + 3 * LATE_KEYS, argv, NULL);
    assert_non_null(r);
    assert_int_equal(r->type, REDIS_REPLY_STRING);
    freeReplyObject(r);
}

static void expect_closed(redisContext *l)
{
    redisReply *r = NULL;
    while (redisGetReply(l, (void **)&r) == REDIS_OK) freeReplyObject(r);
    redisFree(l);
}

/* More is late than is kept: clients that watch lose the connection, and no others do. */
static void who_cannot_be_told_of_a_change_is_closed(void **state)
{
    static const char *const env[] = {"TUPLED_TEST_LATE_BYTES=50000", NULL};
    struct testserver *s = testserver_start(&(struct testserver_options){.env = env});
    redisContext *w = testserver_connect(s);
    redisContext *crowd = testserver_connect(s);
    redisContext *key = testserver_connect(s);
    redisContext *plain = testserver_connect(s);
    redisContext *poll = testserver_connect(s);
    redisContext *exec = testserver_connect(s);
    expect(plain, "[psubscribe * :1]", "PSUBSCRIBE *");
    expect(key, "[subscribe kv:prefix:['other'] :1]", "SUBSCRIBE kv:prefix:['other']");
    for (int i = 0; i < CROWD; i++) say(crowd, "PSUBSCRIBE kv:watch:x%d*", i);
    for (int i = 0; i < CROWD; i++) expect_next(crowd, "[psubscribe * *]");
    expect(exec, "+OK", "WATCH k");
    expect(exec, "+OK", "MULTI");
    expect(exec, "+QUEUED", "PING");
    say(poll, "KV.POLL BLOCK 0 KEYS 1 ['k',1999] NONE");
    load_flush(poll);
    expect(w, "+OK", "SET k 1");
    set_late_keys(w);
    expect_closed(crowd);
    expect_closed(key);
    assert_true(testserver_has_logged(s, "more changes than can be sent to watching clients"));
    /* These are told once of a commit, in it. */
    expect_next(poll, "[[['k',1999] 1 @]]");
    expect(exec, "(nil)", "EXEC");
    expect(w, ":1", "PUBLISH c hello");
    expect_message(plain, "[pmessage * c hello]");
    /* And a client that comes then is told everything. */
    key = testserver_connect(s);
    expect(key, "[subscribe kv:prefix:['k'] :1]", "SUBSCRIBE kv:prefix:['k']");
    set_late_keys(w);
    expect(w, "@", "KV.SET ['k',0] 'last'");
    for (int i = 0; i < LATE_KEYS; i++)
        expect_message(key, "[message * {'key':['k',*],'value':1,*}]");
    expect_message(key, "[message * {'key':['k',0],'value':'last',*}]");
    expect_silence(key);
    redisFree(key);
    redisFree(plain);
    redisFree(poll);
    redisFree(exec);
    redisFree(w);
    testserver_free(s);
}

/* ---- many ------------------------------------------------------------------------------------ */

#define WATCHERS 10000
#define CONNECTIONS 100 /* of which each watches 100 keys */
#define WRITES 20000

struct many {
    unsigned last[WATCHERS]; /* value that was told */
    unsigned written[WATCHERS];
};

static void many_open(redisContext **l, const struct testserver *s)
{
    *l = testserver_connect(s);
}

/* Subscribes to its hundred keys; what it is told at first counts as told. */
static void many_subscribe(struct many *m, redisContext *l, unsigned at)
{
    unsigned each = WATCHERS / CONNECTIONS;
    for (unsigned i = 0; i < each; i++) say(l, "SUBSCRIBE kv:watch:['w',%u]", at * each + i);
    for (unsigned i = 0; i < 2 * each; i++) {
        redisReply *r = NULL;
        assert_int_equal(redisGetReply(l, (void **)&r), REDIS_OK);
        if (strcmp(r->element[0]->str, "message") == 0) {
            unsigned k = 0;
            unsigned value = message_value(r, &k);
            if (value > m->last[k]) m->last[k] = value;
        } else {
            assert_string_equal(r->element[0]->str, "subscribe");
        }
        freeReplyObject(r);
    }
}

static void many_read(struct many *m, redisContext *l, int wait_ms)
{
    while (load_is_readable(l, wait_ms)) {
        void *reply = NULL;
        if (redisBufferRead(l) != REDIS_OK) fail_msg("a watcher lost its connection");
        while (redisGetReplyFromReader(l, &reply) == REDIS_OK && reply != NULL) {
            const redisReply *r = reply;
            unsigned k = 0;
            unsigned value = message_value(r, &k);
            if (value < m->last[k]) fail_msg("key %u: %u after %u", k, value, m->last[k]);
            m->last[k] = value;
            freeReplyObject(reply);
            reply = NULL;
        }
    }
}

static void ten_thousand_watchers_miss_no_final_state(void **state)
{
    static struct many m;
    static struct many all; /* what the prefix watcher was told */
    static redisContext *l[CONNECTIONS];
    struct testserver *s = testserver_start(&(struct testserver_options){.is_release = true});
    redisContext *w = testserver_connect(s);
    redisContext *prefix = testserver_connect(s);
    expect(prefix, "[subscribe kv:prefix:['w'] :1]", "SUBSCRIBE kv:prefix:['w']");
    load_seed();
    for (unsigned i = 0; i < CONNECTIONS; i++) {
        many_open(&l[i], s);
        many_subscribe(&m, l[i], i);
    }
    for (unsigned n = 1; n <= WRITES; n += 100) {
        for (unsigned i = 0; i < 100; i++) {
            unsigned k = (unsigned)load_below(WATCHERS);
            m.written[k] = n + i;
            say(w, "KV.SET ['w',%u] '%u'", k, n + i);
        }
        expect_many(w, 100, "@");
        many_read(&all, prefix, 0);
        if (n % 500 != 1) continue;
        /* One goes away with what it was sent, and comes back. */
        unsigned at = (unsigned)load_below(CONNECTIONS);
        redisFree(l[at]);
        many_open(&l[at], s);
        many_subscribe(&m, l[at], at);
    }
    long until = testserver_now_ms() + LIMIT_MS;
    unsigned missing = 0;
    do {
        if (testserver_now_ms() > until) fail_msg("%u final states are missing", missing);
        missing = 0;
        for (unsigned i = 0; i < CONNECTIONS; i++) many_read(&m, l[i], 1);
        many_read(&all, prefix, 1);
        for (unsigned k = 0; k < WATCHERS; k++) {
            missing += m.last[k] != m.written[k];
            missing += all.last[k] != m.written[k];
        }
    } while (missing > 0);
    for (unsigned i = 0; i < CONNECTIONS; i++) redisFree(l[i]);
    redisFree(prefix);
    redisFree(w);
    testserver_free(s);
}

/* ---- KV.POLL --------------------------------------------------------------------------------- */

static void poll_tells_what_differs(void **state)
{
    redisContext *l = fresh();
    char a[21];
    snprintf(a, sizeof a, "%s", ask(c, "KV.SET ['a'] 1"));
    expect(l, "(nil)", "KV.POLL KEYS 1 ['a'] %s", a);
    expect(l, "[[['a'] 1 @]]", "KV.POLL KEYS 1 ['a'] NONE");
    expect(l, "(nil)", "KV.POLL KEYS 2 ['a'] ['b'] %s NONE", a);
    expect(l, "[[['b'] (nil) (nil)]]", "KV.POLL KEYS 2 ['a'] ['b'] %s %s", a, a);
    expect(l, "-ERR invalid key*all keys first", "KV.POLL KEYS 2 ['a'] %s NONE", a);
    expect(l, "-ERR syntax error: KEYS 2 needs 2 keys and 2 versionstamps*",
           "KV.POLL KEYS 2 ['a'] ['b'] %s", a);
    expect(l, "-ERR *", "KV.POLL KEYS 0 ['a'] NONE");
    expect(l, "-ERR *", "KV.POLL BLOCK x KEYS 1 ['a'] NONE");
    expect(l, "-ERR *", "KV.POLL NOSUCH 1 ['a'] NONE x");
    redisFree(l);
}

static void a_blocked_poll_ends_with_a_change(void **state)
{
    redisContext *l = fresh();
    char a[21];
    snprintf(a, sizeof a, "%s", ask(c, "KV.SET ['a'] 1"));
    expect(l, "(nil)", "KV.POLL BLOCK 20 KEYS 1 ['a'] %s", a);
    say(l, "KV.POLL BLOCK 0 KEYS 2 ['a'] ['b'] %s NONE", a);
    load_flush(l);
    long until = testserver_now_ms() + LIMIT_MS;
    while (load_info(c, "blocked_clients") != 1) {
        if (testserver_now_ms() > until) fail_msg("nobody is blocked");
        testserver_pause();
    }
    expect(c, "@", "KV.SET ['other'] 1");
    assert_false(load_is_readable(l, 30));
    expect(c, "@", "KV.SET ['b'] 2");
    expect_next(l, "[[['b'] 2 @]]");
    snprintf(a, sizeof a, "%s", ask(c, "KV.SET ['a'] 1 PX 100"));
    say(l, "KV.POLL BLOCK 0 KEYS 1 ['a'] %s", a); /* ends by expiry */
    load_flush(l);
    expect_next(l, "[[['a'] (nil) (nil)]]");
    long long id = ask_integer(l, "CLIENT ID");
    say(l, "KV.POLL BLOCK 0 KEYS 1 ['a'] NONE");
    load_flush(l);
    while (ask_integer(c, "CLIENT UNBLOCK %lld", id) != 1) {
        if (testserver_now_ms() > until) fail_msg("it is never blocked");
        testserver_pause();
    }
    expect_next(l, "(nil)");
    redisFree(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_watched_key_is_told_as_it_is_and_then_every_change),
        cmocka_unit_test(an_absent_key_is_told_as_absent),
        cmocka_unit_test(all_channels_are_confirmed_before_the_first_states),
        cmocka_unit_test(channels_are_spelled_in_any_form),
        cmocka_unit_test(what_is_no_channel_is_refused),
        cmocka_unit_test(a_prefix_is_whole_parts),
        cmocka_unit_test(patterns_are_globs_over_path_forms),
        cmocka_unit_test(expiry_range_deletes_and_flush_are_told),
        cmocka_unit_test(plain_keys_and_exec_are_told_too),
        cmocka_unit_test(a_subscription_belongs_to_its_database_and_format),
        cmocka_unit_test(a_change_is_told_when_it_is_durable),
        cmocka_unit_test(a_slow_subscriber_gets_the_newest_state_of_every_key),
        cmocka_unit_test(a_key_keeps_its_order_while_notes_drain),
        cmocka_unit_test(deleted_while_slow_is_told_as_deleted),
        cmocka_unit_test(who_cannot_be_told_of_a_change_is_closed),
        cmocka_unit_test(ten_thousand_watchers_miss_no_final_state),
        cmocka_unit_test(poll_tells_what_differs),
        cmocka_unit_test(a_blocked_poll_ends_with_a_change),
    };
    return cmocka_run_group_tests(tests, start, group_stop);
}
