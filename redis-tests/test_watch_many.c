/* Watches: many clients that watch the same, which are told together: in order and of everything,
 * whichever of them come, go or stand still meanwhile.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cmocka.h>

#include "client.h"
#include "group.h"
#include "load_help.h"

#define LIMIT_MS 60000
#define CROWD 60

static redisContext *c; /* who writes */

static int start(void **state)
{
    group_opens(&c, NULL);
    server = testserver_start(NULL);
    group_connect();
    return 0;
}

/* A client that listens to the prefix 'm', whose values are rising numbers. */
struct listener {
    redisContext *c;
    unsigned last, told;
    unsigned of_key[100]; /* value that was told of each key */
};

static void listen_to(struct listener *l, const char *command)
{
    *l = (struct listener){.c = testserver_connect(server)};
    say(l->c, command);
    expect_next(l->c, "[subscribe * :1]");
}

static void leave(struct listener *l)
{
    redisFree(l->c);
    l->c = NULL;
}

static void hear(struct listener *l, const redisReply *r)
{
    assert_int_equal(r->elements, 3);
    const char *json = r->element[2]->str;
    const char *value = strstr(json, "\"value\":\"");
    unsigned key = (unsigned)strtoul(strchr(json, ',') + 1, NULL, 10);
    assert_non_null(value);
    assert_true(key < 100);
    unsigned n = (unsigned)strtoul(value + 9, NULL, 10);
    if (n <= l->of_key[key]) fail_msg("key %u: %u after %u", key, n, l->of_key[key]);
    l->of_key[key] = n;
    l->last = n;
    l->told++;
}

/* What has come. */
static void listener_read(struct listener *l, int wait_ms)
{
    for (; load_is_readable(l->c, wait_ms); wait_ms = 0) {
        if (redisBufferRead(l->c) != REDIS_OK) fail_msg("a watcher lost its connection");
        for (void *reply = NULL;
             redisGetReplyFromReader(l->c, &reply) == REDIS_OK && reply != NULL;) {
            hear(l, reply);
            freeReplyObject(reply);
            reply = NULL;
        }
    }
}

static void read_until(struct listener *l, unsigned last)
{
    long until = testserver_now_ms() + LIMIT_MS;
    while (l->last < last) {
        if (testserver_now_ms() > until) fail_msg("told up to %u of %u", l->last, last);
        listener_read(l, 100);
    }
}

static void everybody_hears_every_change_in_order(void **state)
{
    static struct listener crowd[CROWD];
    static struct listener late;
    static const unsigned changes = 2000, half = 1000;
    expect(c, "+OK", "FLUSHALL");
    for (int i = 0; i < CROWD; i++) listen_to(&crowd[i], "SUBSCRIBE kv:prefix:['m']");
    for (unsigned n = 1; n <= changes; n++) {
        say(c, "KV.SET ['m',%u] '%u'", n % 100, n);
        if (n % 50 != 0) continue;
        expect_many(c, 50, "@");
        /* None is so slow that it gets less than every change. */
        for (int i = 2; i < CROWD && n % 200 == 0; i++) read_until(&crowd[i], n);
        if (n > half && n % 200 == 0) read_until(&late, n);
        if (n != half) continue;
        listen_to(&late, "SUBSCRIBE kv:prefix:['m']");
        leave(&crowd[0]);                               /* with what it has not read */
        say(crowd[1].c, "UNSUBSCRIBE kv:prefix:['m']"); /* the rest is for those who are left */
        load_flush(crowd[1].c);
    }
    for (int i = 2; i < CROWD; i++) {
        read_until(&crowd[i], changes);
        assert_int_equal(crowd[i].told, changes);
        expect(crowd[i].c, "[pong ]", "PING");
    }
    read_until(&late, changes);
    assert_int_equal(late.told, changes - half);
    for (int i = 1; i < CROWD; i++) leave(&crowd[i]);
    leave(&late);
    /* No client is told now, and one that begins is told only of what is new. */
    expect(c, "@", "KV.SET ['m',1] '%u'", changes + 1);
    listen_to(&late, "SUBSCRIBE kv:prefix:['m']");
    expect(c, "@", "KV.SET ['m',1] '%u'", changes + 2);
    read_until(&late, changes + 2);
    assert_int_equal(late.told, 1);
    leave(&late);
}

/* Some do not read at all, and 5 MB are more than is kept of messages. */
static void those_who_stand_still_hold_nobody_up(void **state)
{
    static struct listener crowd[CROWD];
    static char pad[5000];
    static const unsigned changes = 3000, slow = 5;
    int small = 128 * 1024;
    int large = 4 << 20;
    memset(pad, 'p', sizeof pad - 1);
    expect(c, "+OK", "FLUSHALL");
    for (unsigned i = 0; i < CROWD; i++) {
        crowd[i] = (struct listener){.c = testserver_connect(server)};
        if (i < slow) setsockopt(crowd[i].c->fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
        expect(crowd[i].c, "[subscribe * :1]", "SUBSCRIBE kv:prefix:['m']");
    }
    for (unsigned n = 1; n <= changes; n++) {
        say(c, "KV.SET ['m',%u] '%u-%s'", n % 100, n, pad);
        if (n % 50 != 0) continue;
        expect_many(c, 50, "@");
        for (unsigned i = slow; i < CROWD; i++) listener_read(&crowd[i], 0);
    }
    for (unsigned i = slow; i < CROWD; i++) read_until(&crowd[i], changes);
    long long kept = load_info(c, "mem_clients_notes");
    long long unsent = load_info(c, "mem_clients_output");
    printf("# %u stand still: %lld KB are kept for them, %lld KB unsent\n", slow, kept / 1024,
           unsent / 1024);
    assert_in_range(kept, 1, 2 << 20);
    assert_true(unsent < slow * (2 << 20)); /* of 15 MB each; a pause comes with the first MB */
    leave(&crowd[0]);                       /* one of them goes as it stands */
    for (unsigned i = 1; i < slow; i++) {
        setsockopt(crowd[i].c->fd, SOL_SOCKET, SO_RCVBUF, &large, sizeof large);
        listener_read(&crowd[i], 0);
    }
    for (unsigned i = 1; i < slow; i++) {
        read_until(&crowd[i], changes);
        for (unsigned k = 0; k < 100; k++) {
            assert_int_equal(crowd[i].of_key[k], k == 0 ? changes : changes - 100 + k);
        }
        assert_true(crowd[i].told < changes);
    }
    load_wait_info(c, "mem_clients_notes", 0);
    for (unsigned i = 1; i < CROWD; i++) leave(&crowd[i]);
}

/* The same channel, told in each form. */
static void each_is_told_in_its_own_form(void **state)
{
    static redisContext *l[CROWD];
    expect(c, "+OK", "FLUSHALL");
    for (unsigned i = 0; i < CROWD; i++) {
        l[i] = testserver_connect(server);
        if (i % 3 == 1) expect(l[i], "+OK", "KV.FORMAT MSGPACK");
        if (i % 3 == 2) expect(l[i], "+OK", "SELECT 1");
        expect(l[i], "[subscribe * :1]", "SUBSCRIBE kv:prefix:[]");
    }
    expect(c, "@", "KV.SET ['m'] 1");
    for (unsigned i = 0; i < CROWD; i++) {
        redisReply *r = NULL;
        if (i % 3 != 2) {
            assert_int_equal(redisGetReply(l[i], (void **)&r), REDIS_OK);
            assert_int_equal(r->element[2]->str[0], i % 3 == 0 ? '{' : (char)0x84);
            freeReplyObject(r);
        }
        expect(l[i], "[pong ]", "PING");
        redisFree(l[i]);
    }
}

/* A message that says that ['m',1] has this value, as RESP2 or RESP3 says it. */
static void raw_expect_message(int fd, const char *begin, unsigned value)
{
    char json[40];
    assert_string_equal(raw_line(fd), begin);
    for (int i = 0; i < 5; i++) (void)raw_line(fd); /* message, channel, the length of the last */
    snprintf(json, sizeof json, "{\"key\":[\"m\",1],\"value\":%u,", value);
    assert_memory_equal(raw_line(fd), json, strlen(json));
}

/* Who changes the protocol while it listens is told in the new one, alone or among many. */
static void the_protocol_may_change_while_listening(void **state)
{
    static struct listener crowd[CROWD];
    int fd = raw_connect(server);
    expect(c, "+OK", "FLUSHALL");
    raw_say(fd, "HELLO 3\r\nSUBSCRIBE kv:prefix:m\r\nECHO ready\r\n");
    while (strcmp(raw_line(fd), "ready") != 0) continue;
    for (unsigned round = 0; round < 2; round++) {
        expect(c, "@", "KV.SET ['m',1] 1");
        raw_expect_message(fd, ">3", 1);
        raw_say(fd, "HELLO 2\r\nPING ready\r\n");
        while (strcmp(raw_line(fd), "ready") != 0) continue;
        expect(c, "@", "KV.SET ['m',1] 2");
        raw_expect_message(fd, "*3", 2);
        raw_say(fd, "UNSUBSCRIBE\r\nHELLO 3\r\nSUBSCRIBE kv:prefix:m\r\nECHO ready\r\n");
        while (strcmp(raw_line(fd), "ready") != 0) continue;
        for (int i = 0; i < CROWD && round == 0; i++) {
            crowd[i] = (struct listener){.c = testserver_connect(server)};
            expect(crowd[i].c, "[subscribe * :1]", "SUBSCRIBE kv:prefix:m");
        }
    }
    close(fd);
    for (int i = 0; i < CROWD; i++) leave(&crowd[i]);
}

/* More keys than are kept: clients that have not heard of them lose the connection, no others. */
static void who_holds_too_much_is_closed(void **state)
{
    static struct listener reader, slow;
    static char part[1900];
    static const unsigned keys = 24000;
    int small = 16 * 1024;
    struct timeval limit = {.tv_sec = LIMIT_MS / 1000};
    void *reply = NULL;
    memset(part, 'k', sizeof part - 1);
    expect(c, "+OK", "FLUSHALL");
    listen_to(&reader, "SUBSCRIBE kv:prefix:['m']");
    slow.c = testserver_connect(server);
    setsockopt(slow.c->fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    expect(slow.c, "[subscribe * :1]", "SUBSCRIBE kv:prefix:['m']");
    for (unsigned n = 1; n <= keys; n++) {
        say(c, "KV.SET ['m',0,%u,'%s'] '%u'", n, part, n);
        if (n % 50 != 0) continue;
        expect_many(c, 50, "@");
        read_until(&reader, n); /* it is never behind by much */
    }
    read_until(&reader, keys);
    assert_int_equal(reader.told, keys);
    redisSetTimeout(slow.c, limit);
    while (redisGetReply(slow.c, &reply) == REDIS_OK) freeReplyObject(reply);
    assert_int_equal(slow.c->err, REDIS_ERR_EOF);
    load_wait_info(c, "mem_clients_notes", 0);
    leave(&slow);
    leave(&reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everybody_hears_every_change_in_order),
        cmocka_unit_test(those_who_stand_still_hold_nobody_up),
        cmocka_unit_test(each_is_told_in_its_own_form),
        cmocka_unit_test(the_protocol_may_change_while_listening),
        cmocka_unit_test(who_holds_too_much_is_closed),
    };
    return cmocka_run_group_tests(tests, start, group_stop);
}
