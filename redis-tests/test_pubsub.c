/* Ordinary pub/sub: SUBSCRIBE and relatives, PUBLISH, PUBSUB, frame by frame in RESP2 and RESP3;
 * what a connection that listens may say; messages and the writes of who sent them; slow listeners.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "client.h"
#include "group.h"
#include "load_help.h"

static redisContext *sender;

static int start(void **state)
{
    group_opens(&sender, NULL);
    server = testserver_start(NULL);
    group_connect();
    return 0;
}

static void send_line(int fd, const char *line)
{
    raw_say(fd, line);
    raw_send(fd, "\r\n", 2);
}

/* Reads the whole of HELLO's map by asking for an echo after it. */
static int listener3(void)
{
    int fd = raw_connect(server);
    send_line(fd, "HELLO 3");
    send_line(fd, "ECHO end-of-hello");
    while (strcmp(raw_line(fd), "end-of-hello") != 0) continue;
    return fd;
}

static void resp2_frames_are_arrays(void **state)
{
    int fd = raw_connect(server);
    send_line(fd, "SUBSCRIBE a b a");
    raw_expect(fd, "*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n"
                   "*3\r\n$9\r\nsubscribe\r\n$1\r\nb\r\n:2\r\n"
                   "*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:2\r\n");
    send_line(fd, "PSUBSCRIBE a*");
    raw_expect(fd, "*3\r\n$10\r\npsubscribe\r\n$2\r\na*\r\n:3\r\n");
    send_line(fd, "SSUBSCRIBE s");
    raw_expect(fd, "*3\r\n$10\r\nssubscribe\r\n$1\r\ns\r\n:1\r\n");
    expect(sender, ":2", "PUBLISH a hi");
    raw_expect(fd, "*3\r\n$7\r\nmessage\r\n$1\r\na\r\n$2\r\nhi\r\n"
                   "*4\r\n$8\r\npmessage\r\n$2\r\na*\r\n$1\r\na\r\n$2\r\nhi\r\n");
    expect(sender, ":1", "SPUBLISH s there");
    raw_expect(fd, "*3\r\n$8\r\nsmessage\r\n$1\r\ns\r\n$5\r\nthere\r\n");
    expect(sender, ":0", "SPUBLISH a nobody");
    expect(sender, ":0", "PUBLISH s nobody");
    send_line(fd, "UNSUBSCRIBE b nosuch");
    raw_expect(fd, "*3\r\n$11\r\nunsubscribe\r\n$1\r\nb\r\n:2\r\n"
                   "*3\r\n$11\r\nunsubscribe\r\n$6\r\nnosuch\r\n:2\r\n");
    send_line(fd, "UNSUBSCRIBE");
    raw_expect(fd, "*3\r\n$11\r\nunsubscribe\r\n$1\r\na\r\n:1\r\n");
    send_line(fd, "UNSUBSCRIBE");
    raw_expect(fd, "*3\r\n$11\r\nunsubscribe\r\n$-1\r\n:1\r\n");
    send_line(fd, "PUNSUBSCRIBE");
    raw_expect(fd, "*3\r\n$12\r\npunsubscribe\r\n$2\r\na*\r\n:0\r\n");
    send_line(fd, "SUNSUBSCRIBE");
    raw_expect(fd, "*3\r\n$12\r\nsunsubscribe\r\n$1\r\ns\r\n:0\r\n");
    send_line(fd, "KV.GET '[\"x\"]'"); /* listens to nothing: anything goes */
    raw_expect(fd, "$-1\r\n");
    close(fd);
}

static void resp3_frames_are_pushes(void **state)
{
    int fd = listener3();
    send_line(fd, "SUBSCRIBE a");
    raw_expect(fd, ">3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n");
    send_line(fd, "PSUBSCRIBE ?");
    raw_expect(fd, ">3\r\n$10\r\npsubscribe\r\n$1\r\n?\r\n:2\r\n");
    expect(sender, ":2", "PUBLISH a hi");
    raw_expect(fd, ">3\r\n$7\r\nmessage\r\n$1\r\na\r\n$2\r\nhi\r\n"
                   ">4\r\n$8\r\npmessage\r\n$1\r\n?\r\n$1\r\na\r\n$2\r\nhi\r\n");
    send_line(fd, "PING"); /* no restriction, and replies are replies */
    raw_expect(fd, "+PONG\r\n");
    send_line(fd, "PUBLISH a own");
    raw_expect(fd, ":2\r\n" /* after the reply of who is both */
                   ">3\r\n$7\r\nmessage\r\n$1\r\na\r\n$3\r\nown\r\n"
                   ">4\r\n$8\r\npmessage\r\n$1\r\n?\r\n$1\r\na\r\n$3\r\nown\r\n");
    send_line(fd, "UNSUBSCRIBE");
    raw_expect(fd, ">3\r\n$11\r\nunsubscribe\r\n$1\r\na\r\n:1\r\n");
    send_line(fd, "PUNSUBSCRIBE x");
    raw_expect(fd, ">3\r\n$12\r\npunsubscribe\r\n$1\r\nx\r\n:1\r\n");
    close(fd);
}

static void a_resp2_listener_may_say_a_few_words_only(void **state)
{
    int fd = raw_connect(server);
    send_line(fd, "SUBSCRIBE a");
    raw_expect(fd, "*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n");
    send_line(fd, "GET x");
    raw_expect(fd, "-ERR Can't execute 'get': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT "
                   "/ RESET are allowed in this context\r\n");
    send_line(fd, "MULTI");
    raw_expect(fd, "-ERR Can't execute 'multi': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / "
                   "QUIT / RESET are allowed in this context\r\n");
    send_line(fd, "PING");
    raw_expect(fd, "*2\r\n$4\r\npong\r\n$0\r\n\r\n");
    send_line(fd, "PING hi");
    raw_expect(fd, "*2\r\n$4\r\npong\r\n$2\r\nhi\r\n");
    send_line(fd, "RESET");
    raw_expect(fd, "+RESET\r\n");
    send_line(fd, "PING");
    raw_expect(fd, "+PONG\r\n");
    expect(sender, ":0", "PUBLISH a nobody");
    send_line(fd, "SUBSCRIBE a");
    raw_expect(fd, "*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n");
    send_line(fd, "QUIT");
    raw_expect(fd, "+OK\r\n");
    raw_expect_end(fd);
    close(fd);
}

static void pubsub_tells_who_listens(void **state)
{
    int fd = raw_connect(server);
    send_line(fd, "SUBSCRIBE news.a news.b other");
    for (int i = 0; i < 3 * 6; i++) (void)raw_line(fd);
    send_line(fd, "PSUBSCRIBE news.* ?");
    for (int i = 0; i < 2 * 6; i++) (void)raw_line(fd);
    expect(sender, "[news.a news.b other]", "PUBSUB CHANNELS");
    expect(sender, "[news.a news.b]", "PUBSUB CHANNELS news.*");
    expect(sender, "[]", "PUBSUB CHANNELS x*");
    expect(sender, "[news.a :1 none :0]", "PUBSUB NUMSUB news.a none");
    expect(sender, "[]", "PUBSUB NUMSUB");
    expect(sender, ":2", "PUBSUB NUMPAT");
    expect(sender, "[]", "PUBSUB SHARDCHANNELS");
    expect(sender, "[x :0]", "PUBSUB SHARDNUMSUB x");
    expect(sender, "-ERR unknown subcommand 'NOSUCH'. Try PUBSUB HELP.", "PUBSUB NOSUCH");
    assert_int_equal(load_info(sender, "pubsub_channels"), 3);
    assert_int_equal(load_info(sender, "pubsub_patterns"), 2);
    assert_int_equal(load_info(sender, "pubsub_clients"), 1);
    expect(sender, "*sub=3 psub=2 ssub=0*", "CLIENT LIST TYPE pubsub");
    close(fd);
    long until = testserver_now_ms() + 10000;
    while (load_info(sender, "pubsub_channels") != 0) {
        if (testserver_now_ms() > until) fail_msg("a client that has gone still listens");
        testserver_pause();
    }
    expect(sender, ":0", "PUBSUB NUMPAT");
}

static void names_and_messages_are_bytes(void **state)
{
    int fd = raw_connect(server);
    raw_send(fd, "*2\r\n$9\r\nSUBSCRIBE\r\n$3\r\n\0\r\n\r\n", 29);
    raw_expect(fd, "*3\r\n$9\r\nsubscribe\r\n$3\r\n");
    (void)raw_line(fd);
    (void)raw_line(fd);
    (void)raw_line(fd);
    redisReply *r = redisCommand(sender, "PUBLISH %b %b", "\0\r\n", (size_t)3, "\r\n\xff",
                                 (size_t)3);
    assert_int_equal(r->integer, 1);
    freeReplyObject(r);
    close(fd);
}

/* Inside MULTI messages go with the commit, in order, and not at all when it is refused. */
static void exec_publishes_when_it_commits(void **state)
{
    int fd = raw_connect(server);
    send_line(fd, "SUBSCRIBE a");
    raw_expect(fd, "*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n");
    expect(sender, "+OK", "MULTI");
    expect(sender, "+QUEUED", "PUBLISH a refused");
    expect(sender, "+QUEUED", "SET s x");
    expect(sender, "+QUEUED", "INCR s");
    expect(sender, "-EXECABORT command 3 incr: *", "EXEC");
    expect(sender, "+OK", "MULTI");
    expect(sender, "+QUEUED", "PUBLISH a one");
    expect(sender, "+QUEUED", "SET s x");
    expect(sender, "+QUEUED", "PUBLISH a two");
    expect(sender, "-ERR Command not allowed inside a transaction", "SUBSCRIBE a");
    expect(sender, "-EXECABORT Transaction discarded because of previous errors.", "EXEC");
    expect(sender, "+OK", "MULTI");
    expect(sender, "+QUEUED", "PUBLISH a one");
    expect(sender, "+QUEUED", "SET s x");
    expect(sender, "+QUEUED", "PUBLISH a two");
    expect(sender, "[:1 +OK :1]", "EXEC");
    raw_expect(fd, "*3\r\n$7\r\nmessage\r\n$1\r\na\r\n$3\r\none\r\n"
                   "*3\r\n$7\r\nmessage\r\n$1\r\na\r\n$3\r\ntwo\r\n");
    expect(sender, ":1", "DEL s");
    close(fd);
}

static void the_servers_own_channels_are_not_published_to(void **state)
{
    expect(sender, "-ERR channels that begin with kv: are reserved for the server",
           "PUBLISH kv:a x");
    expect(sender, "-ERR channels that begin with kv: are reserved for the server",
           "SPUBLISH kv:a x");
}

/* A message does not overtake the writes of who sent it. */
static void a_message_waits_for_the_senders_writes(void **state)
{
    static const char *const env[] = {"TUPLED_TEST_SYNC_DELAY_MS=300", NULL};
    struct testserver *s = testserver_start(
        &(struct testserver_options){.is_release = true, .env = env});
    redisContext *c = testserver_connect(s);
    redisContext *l = testserver_connect(s);
    redisReply *r = NULL;
    expect(l, "[subscribe a :1]", "SUBSCRIBE a");
    long from = testserver_now_ms();
    say(c, "KV.SET ['k'] 1");
    say(c, "PUBLISH a written");
    load_flush(c);
    assert_int_equal(redisGetReply(l, (void **)&r), REDIS_OK);
    assert_string_equal(r->element[2]->str, "written");
    assert_true(testserver_now_ms() - from >= 250);
    freeReplyObject(r);
    expect_next(c, "@");
    expect_next(c, ":1");
    redisFree(c);
    redisFree(l);
    testserver_free(s);
}

/* A client that does not read is closed at the limit of its class, and no other one notices. */
static void a_listener_that_does_not_read_is_closed_at_its_limit(void **state)
{
    static const char *const args[] = {"--client-output-buffer-limit",
                                       "normal 0 0 0 pubsub 1mb 0 0", NULL};
    struct testserver *s = testserver_start(&(struct testserver_options){.args = args});
    redisContext *c = testserver_connect(s);
    int fd = raw_connect(s);
    int small = 4096;
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    raw_send(fd, "SUBSCRIBE a\r\n", 13);
    raw_expect(fd, "*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n");
    static char payload[20001];
    memset(payload, 'x', sizeof payload - 1);
    long until = testserver_now_ms() + 20000;
    while (load_info(c, "pubsub_clients") == 1) {
        for (int i = 0; i < 20; i++) {
            redisReply *r = redisCommand(c, "PUBLISH a %s", payload);
            assert_int_equal(r->type, REDIS_REPLY_INTEGER);
            freeReplyObject(r);
        }
        if (testserver_now_ms() > until) fail_msg("it is never closed");
    }
    assert_true(testserver_has_logged(s, "client-output-buffer-limit"));
    expect(c, ":0", "PUBLISH a nobody");
    close(fd);
    redisFree(c);
    testserver_free(s);
}

/* Hundreds that listen to a channel of their own and to one of all. */
static void many_listeners_get_each_what_is_theirs(void **state)
{
    enum { LISTENERS = 500 };
    static redisContext *all[LISTENERS];
    redisReply *r = NULL;
    char text[32];
    for (int i = 0; i < LISTENERS; i++) {
        all[i] = testserver_connect(server);
        expect(all[i], "*", "SUBSCRIBE own.%d all", i);
        assert_int_equal(redisGetReply(all[i], (void **)&r), REDIS_OK);
        freeReplyObject(r);
    }
    expect(sender, ":500", "PUBLISH all hello");
    for (int i = LISTENERS - 1; i >= 0; i--) expect(sender, ":1", "PUBLISH own.%d m%d", i, i);
    for (int i = 0; i < LISTENERS; i++) {
        assert_int_equal(redisGetReply(all[i], (void **)&r), REDIS_OK);
        assert_string_equal(r->element[2]->str, "hello");
        freeReplyObject(r);
        assert_int_equal(redisGetReply(all[i], (void **)&r), REDIS_OK);
        snprintf(text, sizeof text, "m%d", i);
        assert_string_equal(r->element[2]->str, text);
        freeReplyObject(r);
        redisFree(all[i]);
    }
}

static redisContext *connect_unix(const char *path)
{
    struct timeval limit = {.tv_sec = 100};
    redisContext *own = redisConnectUnixWithTimeout(path, limit);
    if (own == NULL || own->err != 0) fail_msg("cannot connect to %s", path);
    redisSetTimeout(own, limit);
    return own;
}

enum { IN_ORDER = 10 };

/* One subscribes, the next one publishes to it, and so on, while the server does something else. */
static bool are_served_in_order(redisContext *busy, const char *path)
{
    redisContext *all[IN_ORDER];
    expect(busy, "*", "DEL order");
    for (int i = 0; i < IN_ORDER; i++) {
        all[i] = connect_unix(path);
        expect(all[i], "+PONG", "PING");
    }
    /* The kernel names first the connection that it named last, if that has something again. */
    expect(busy, "+PONG", "PING");
    say(busy, "DEBUG SLEEP 0.3");
    load_flush(busy);
    for (int i = 0; i < IN_ORDER; i++) {
        say(all[i], "APPEND order %d", i);
        if (i % 2 == 0) say(all[i], "SUBSCRIBE c%d", i);
        if (i % 2 == 1) say(all[i], "PUBLISH c%d m", i - 1);
        load_flush(all[i]);
    }
    expect_next(busy, "+OK");
    for (int i = 0; i < IN_ORDER; i++) expect_next(all[i], ":*");
    bool are_in_order = strcmp(ask(busy, "GET order"), "0123456789") == 0;
    for (int i = 0; are_in_order && i < IN_ORDER; i++) {
        expect_next(all[i], i % 2 == 0 ? "[subscribe * :1]" : ":1");
        if (i % 2 == 0) expect_next(all[i], "[message * m]");
    }
    for (int i = 0; i < IN_ORDER; i++) redisFree(all[i]);
    return are_in_order;
}

/* Also when the server finds all of it at once, because it was busy: who subscribes on one
 * connection and then publishes on another gets the message. Over a Unix socket: a crowded machine
 * may deliver the packets of several TCP connections in another order. A connection whose last
 * command took long comes after the others; on such a machine that may be any: then it is tried
 * again. */
static void connections_are_served_in_the_order_in_which_they_sent(void **state)
{
    char path[64];
    bool are_in_order = false;
    snprintf(path, sizeof path, "/tmp/tupled-order-%d.sock", (int)getpid());
    struct testserver *s = testserver_start_with("--enable-debug-command", "local", "--unixsocket",
                                                 path, NULL);
    redisContext *busy = testserver_connect(s);
    for (int i = 0; i < 40 && !are_in_order; i++) are_in_order = are_served_in_order(busy, path);
    assert_true(are_in_order);
    redisFree(busy);
    testserver_free(s);
}

/* A reply that names the limit, and nothing done; with patterns of just the limit all is well. */
static void patterns_and_names_have_limits(void **state)
{
    static char longest[1025], longer[1026], name[16385], longer_name[16386];
    const char *refused = "-LIMIT the pattern has 1025 bytes; the maximum is 1024";
    memset(longest, 'a', 1024);
    memset(longer, 'a', 1025);
    longest[0] = longer[0] = '*';
    memset(name, 'c', 16384);
    memset(longer_name, 'c', 16385);
    redisContext *l = testserver_connect(server);
    expect(l, refused, "PSUBSCRIBE x %s", longer);
    expect(l, refused, "PUBSUB CHANNELS %s", longer);
    expect(l, refused, "PUBSUB SHARDCHANNELS %s", longer);
    expect(l, refused, "KEYS %s", longer);
    expect(l, refused, "SCAN 0 MATCH %s", longer);
    expect(l, refused, "CONFIG GET port %s", longer);
    expect(l, refused, "COMMAND LIST FILTERBY PATTERN %s", longer);
    expect(l, "[]", "PUBSUB CHANNELS %s", longest);
    expect(l, "[]", "KEYS %s", longest);
    expect(l, "[0 []]", "SCAN 0 MATCH %s", longest);
    expect(l, "[]", "CONFIG GET %s", longest);
    expect(l, "[]", "COMMAND LIST FILTERBY PATTERN %s", longest);
    const char *refused_name = "-LIMIT the channel's name has 16385 bytes; the maximum is 16384";
    expect(l, refused_name, "SUBSCRIBE x %s", longer_name);
    expect(l, refused_name, "SSUBSCRIBE %s", longer_name);
    expect(l, refused_name, "PUBLISH %s 1", longer_name);
    expect(l, refused_name, "SPUBLISH %s 1", longer_name);
    expect(l, "+PONG", "PING"); /* it listens to nothing */
    expect(l, "[psubscribe * :1]", "PSUBSCRIBE %s", longest);
    expect(l, "[subscribe * :2]", "SUBSCRIBE %s", name);
    redisContext *p = testserver_connect(server);
    expect(p, ":1", "PUBLISH %s 1", name);
    expect_next(l, "[message * 1]");
    expect(p, ":1", "PUBLISH %s 2", longest);
    expect_next(l, "[pmessage * * 2]");
    redisFree(p);
    redisFree(l);
}

/* Of each at most so many, since each is matched with every setting. */
static void config_get_takes_a_bounded_number_of_patterns(void **state)
{
    const char *argv[259] = {"CONFIG", "GET"};
    redisContext *l = testserver_connect(server);
    for (int i = 2; i < 259; i++) argv[i] = "maxclients";
    redisReply *r = redisCommandArgv(l, 258, argv, NULL);
    assert_int_equal(r->type, REDIS_REPLY_ARRAY);
    assert_int_equal(r->elements, 2); /* told once */
    freeReplyObject(r);
    r = redisCommandArgv(l, 259, argv, NULL);
    assert_string_equal(r->str, "LIMIT 257 patterns; one CONFIG GET may have 256");
    freeReplyObject(r);
    redisFree(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(resp2_frames_are_arrays),
        cmocka_unit_test(resp3_frames_are_pushes),
        cmocka_unit_test(a_resp2_listener_may_say_a_few_words_only),
        cmocka_unit_test(pubsub_tells_who_listens),
        cmocka_unit_test(names_and_messages_are_bytes),
        cmocka_unit_test(exec_publishes_when_it_commits),
        cmocka_unit_test(the_servers_own_channels_are_not_published_to),
        cmocka_unit_test(a_message_waits_for_the_senders_writes),
        cmocka_unit_test(a_listener_that_does_not_read_is_closed_at_its_limit),
        cmocka_unit_test(many_listeners_get_each_what_is_theirs),
        cmocka_unit_test(connections_are_served_in_the_order_in_which_they_sent),
        cmocka_unit_test(patterns_and_names_have_limits),
        cmocka_unit_test(config_get_takes_a_bounded_number_of_patterns),
    };
    return cmocka_run_group_tests(tests, start, group_stop);
}
