/* A server that is pushed harder than its disk can follow: tiny memtables and a tiny write buffer,
 * so that commands are parked all the time. Replies still belong to their commands, readers are
 * served, and a client that misbehaves harms only itself.
 */
#include <errno.h>
#include <poll.h>
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
#include "load_help.h"

#define WRITERS 6
#define DEPTH 512
#define BUSY 2 /* readers of long ranges, so that the server does much in each turn */
#define LIMIT_MS 60000
#define TEXT_MAX 3000

static const char *const tight[] = {"--memtable-size",
                                    "1mb",
                                    "--write-buffer-limit",
                                    "1mb",
                                    "--journal-segment-size",
                                    "4mb",
                                    "--cache-size",
                                    "8mb",
                                    "--changes-retention-size",
                                    "8mb",
                                    NULL};

static struct testserver *start_tight(bool is_release)
{
    load_seed();
    return testserver_start(&(struct testserver_options){.is_release = is_release, .args = tight});
}

/* ---- writers that send odd-sized pieces ------------------------------------------------------ */

struct writer {
    int number;
    int fd;
    bool trickles; /* small pieces: it is parked with nothing more in the socket */
    int total;     /* commands to be sent */
    int sent;      /* commands put into `out` */
    int answered;  /* replies taken */
    char *out;     /* owned: bytes not yet sent */
    size_t out_len, out_sent;
    redisReader *replies;
    uint64_t version; /* last one told */
};

/* The value of command n of writer w: its length, too, depends on both. */
static const char *value_of(int w, int n)
{
    static char text[TEXT_MAX];
    int pad = (int)((w * 7919ll + n * 104729ll) % 1777);
    int len = snprintf(text, sizeof text, "\"%d.%d:", w, n);
    memset(text + len, 'a' + (w + n) % 26, (size_t)pad);
    snprintf(text + len + pad, sizeof text - (size_t)(len + pad), "\"");
    return text;
}

/* Commands of four kinds in turn; the replies of three of them name their command. */
static void command_add(struct writer *w)
{
    char *command = NULL;
    int len = 0;
    int n = w->sent++;
    const char *value = value_of(w->number, n);
    switch (n % 4) {
    case 0:
        len = redisFormatCommand(&command, "KV.ATOMIC DETAILS SET [\"w\",%d,%d] %s", w->number, n,
                                 value);
        break;
    case 1: len = redisFormatCommand(&command, "KV.SUM [\"sum\",%d] %d", w->number, n); break;
    case 2: len = redisFormatCommand(&command, "ECHO %d.%d", w->number, n); break;
    default:
        len = redisFormatCommand(&command, "KV.SET [\"w\",%d,%d] %s", w->number, n, value);
        break;
    }
    if (len < 0) fail_msg("cannot make a command");
    w->out = realloc(w->out, w->out_len + (size_t)len);
    if (w->out == NULL) abort();
    memcpy(w->out + w->out_len, command, (size_t)len);
    w->out_len += (size_t)len;
    redisFreeCommand(command);
}

static void version_check(struct writer *w, const redisReply *stamp)
{
    uint64_t version = load_version(stamp);
    if (version <= w->version) fail_msg("writer %d: a version is not newer", w->number);
    w->version = version;
}

static void reply_check(struct writer *w, const redisReply *r)
{
    char wanted[64];
    const redisReply *got = NULL;
    int n = w->answered++;
    if (r->type == REDIS_REPLY_ERROR) fail_msg("writer %d, command %d: %s", w->number, n, r->str);
    switch (n % 4) {
    case 0:
        snprintf(wanted, sizeof wanted, "[\"w\",%d,%d]", w->number, n);
        version_check(w, r->element[0]);
        got = r->element[1]->element[0];
        break;
    case 1: { /* the sum of 1, 5, 9, ... n */
        long long terms = n / 4 + 1;
        snprintf(wanted, sizeof wanted, "%lld", terms * (n + 1) / 2);
        got = r->element[0];
        version_check(w, r->element[1]);
        break;
    }
    case 2:
        snprintf(wanted, sizeof wanted, "%d.%d", w->number, n);
        got = r;
        break;
    default: version_check(w, r); return;
    }
    if (strcmp(got->str, wanted) == 0) return;
    fail_msg("writer %d, command %d: the reply is of another command: %.80s, not %s", w->number, n,
             got->str, wanted);
}

static void writer_take(struct writer *w)
{
    static char part[65536];
    void *reply = NULL;
    ssize_t n = recv(w->fd, part, sizeof part, MSG_DONTWAIT);
    if (n == 0) fail_msg("writer %d lost its connection", w->number);
    if (n < 0) return;
    assert_int_equal(redisReaderFeed(w->replies, part, (size_t)n), REDIS_OK);
    while (redisReaderGetReply(w->replies, &reply) == REDIS_OK && reply != NULL) {
        reply_check(w, reply);
        freeReplyObject(reply);
        reply = NULL;
    }
    if (w->replies->err != 0) fail_msg("writer %d: %s", w->number, w->replies->errstr);
}

/* A piece of no particular size, now and then a tiny one. */
static void writer_put(struct writer *w)
{
    while (w->sent < w->total && w->sent - w->answered < DEPTH && w->out_len < 100000) {
        command_add(w);
    }
    size_t left = w->out_len - w->out_sent;
    if (left == 0) return;
    size_t piece = 1 + (size_t)load_below(load_below(4) == 0 ? 37 : w->trickles ? 1501 : 40001);
    ssize_t n = send(w->fd, w->out + w->out_sent, piece < left ? piece : left,
                     MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n < 0 && errno != EAGAIN) fail_msg("writer %d: %s", w->number, strerror(errno));
    if (n > 0) w->out_sent += (size_t)n;
    if (w->out_sent == w->out_len) w->out_sent = w->out_len = 0;
}

/* ---- a reader that keeps time ---------------------------------------------------------------- */

struct timed {
    struct load_client client;
    long asked_ms;
    long worst_ms;
    unsigned count;
};

static void on_timed(struct load_client *l, const redisReply *r)
{
    struct timed *t = l->arg;
    long took_ms = testserver_now_ms() - t->asked_ms;
    if (r->type == REDIS_REPLY_ERROR) fail_msg("the reader: %s", r->str);
    if (took_ms > t->worst_ms) t->worst_ms = took_ms;
    t->count++;
}

static void timed_turn(struct timed *t)
{
    static const char *const commands[] = {"KV.GET ['old']", "KV.GET ['none']", "PING",
                                           "KV.LIST PREFIX ['few'] LIMIT 10",
                                           "KV.COUNT PREFIX "
                                           "['few']"};
    if (t->client.unanswered == 0) {
        t->asked_ms = testserver_now_ms();
        load_say(&t->client, commands[t->count % 5]);
    }
    load_turn(&t->client, 1, 0);
}

/* ---- all together ---------------------------------------------------------------------------- */

/* Their numbers, and so their keys, begin at `first`. */
static void writers_open(struct writer *writers, const struct testserver *s, int first, int total)
{
    for (int i = 0; i < WRITERS; i++) {
        writers[i] = (struct writer){.number = first + i, .total = total, .fd = raw_connect(s)};
        writers[i].trickles = i % 2 == 1;
        if (writers[i].trickles) writers[i].total = total / 32 * 4; /* both kinds: 4 n */
        writers[i].replies = redisReaderCreate();
    }
}

static void writers_close(struct writer *writers)
{
    for (int i = 0; i < WRITERS; i++) {
        close(writers[i].fd);
        redisReaderFree(writers[i].replies);
        free(writers[i].out);
    }
}

/* One turn of all; false when all is answered. */
static bool writers_turn(struct writer *writers)
{
    struct pollfd fds[WRITERS];
    bool is_any_left = false;
    for (int i = 0; i < WRITERS; i++) {
        struct writer *w = &writers[i];
        bool has_more = w->out_len > 0 || (w->sent < w->total && w->sent - w->answered < DEPTH);
        fds[i] = (struct pollfd){.fd = w->fd, .events = (short)(POLLIN | (has_more ? POLLOUT : 0))};
        is_any_left = is_any_left || w->answered < w->total;
    }
    poll(fds, WRITERS, 1);
    for (int i = 0; i < WRITERS; i++) {
        if ((fds[i].revents & (POLLIN | POLLHUP)) != 0) writer_take(&writers[i]);
        if ((fds[i].revents & POLLOUT) != 0) writer_put(&writers[i]);
    }
    return is_any_left;
}

static void expect_values(redisContext *c, const struct writer *w)
{
    int done = 0;
    for (int n = 0; n < w->total; n++) {
        if (n % 4 != 0 && n % 4 != 3) continue;
        redisAppendCommand(c, "KV.GET [\"w\",%d,%d]", w->number, n);
        if (n % 400 < 396 && n + 4 < w->total) continue; /* in portions */
        for (; done <= n; done++) {
            void *reply = NULL;
            if (done % 4 != 0 && done % 4 != 3) continue;
            assert_int_equal(redisGetReply(c, &reply), REDIS_OK);
            const redisReply *r = reply;
            if (r->type != REDIS_REPLY_STRING || strcmp(r->str, value_of(w->number, done)) != 0) {
                fail_msg("key %d of writer %d holds %.60s", done, w->number,
                         r->str != NULL ? r->str : "nothing");
            }
            freeReplyObject(reply);
        }
    }
    assert_int_equal(done, w->total);
    assert_int_equal(ask_integer(c, "KV.COUNT PREFIX ['w',%d]", w->number), w->total / 2);
}

static void push(bool is_release, int total)
{
    struct writer writers[WRITERS];
    struct testserver *s = start_tight(is_release);
    redisContext *c = testserver_connect(s);
    struct timed reader = {.client = {.on_reply = on_timed}};
    struct load_client busy[BUSY] = {{.number = 1}, {.number = 2}};
    expect(c, "@", "KV.ATOMIC SET ['old'] 1 SET ['few',1] 1 SET ['few',2] 2");
    reader.client.arg = &reader;
    load_open(&reader.client, s);
    for (int i = 0; i < BUSY; i++) load_open(&busy[i], s);
    writers_open(writers, s, 0, total);
    long until = testserver_now_ms() + LIMIT_MS;
    while (writers_turn(writers)) {
        timed_turn(&reader);
        for (int i = 0; i < BUSY; i++) {
            if (busy[i].unanswered < 4) load_say(&busy[i], "KV.COUNT PREFIX ['w',%d]", i);
        }
        load_turn(busy, BUSY, 0);
        if (testserver_now_ms() > until) fail_msg("not done after %d ms", LIMIT_MS);
    }
    load_drain(&reader.client, 1, LIMIT_MS);
    long long parked = load_info(c, "memtable_throttled_commands");
    fprintf(stderr, "# parked %lld times; %u reads, the slowest took %ld ms\n", parked,
            reader.count, reader.worst_ms);
    assert_true(parked >= (is_release ? 20 : 5)); /* or nothing was tested */
    assert_true(reader.count > 20);
    /* Readers that had to wait for room would each be parked, most of the time: a third as many reads
     * as there were waits. Those that need not are served between: about as many reads as waits, or several. */
    if (is_release && 3 * (long long)reader.count <= 2 * parked) {
        fail_msg("only %u reads were answered while writers were parked %lld times", reader.count,
                 parked);
    }
    for (int i = 0; i < WRITERS; i++) expect_values(c, &writers[i]);
    load_close(&reader.client);
    for (int i = 0; i < BUSY; i++) load_close(&busy[i]);
    writers_close(writers);
    redisFree(c);
    testserver_free(s);
}

static void replies_belong_to_their_commands_and_readers_are_served(void **state)
{
    push(true, load_is_long() ? 100000 : 16000);
}

static void replies_belong_to_their_commands_under_asan(void **state)
{
    push(false, 3000);
}

/* Settings that fit badly: writers wait at half of the write buffer, long before a memtable is
 * full.
 */
static void a_write_buffer_smaller_than_a_memtable_does_not_stop_writers(void **state)
{
    static const char *const args[] = {
        "--memtable-size", "64mb", "--write-buffer-limit", "1mb", "--memtable-age", "600000", NULL};
    enum { COUNT = 4000 };
    struct testserver *s = testserver_start(
        &(struct testserver_options){.is_release = true, .args = args});
    struct load_client l = {0};
    load_open(&l, s);
    for (int i = 0; i < COUNT; i++) load_say(&l, "KV.SET ['k',%d] '%0999d'", i, i);
    load_drain(&l, 1, LIMIT_MS);
    load_close(&l);
    redisContext *c = testserver_connect(s);
    assert_int_equal(ask_integer(c, "KV.COUNT"), COUNT);
    redisFree(c);
    testserver_free(s);
}

/* ---- clients that do not read ---------------------------------------------------------------- */

#define DEAF 8
#define DEAF_SECONDS 3
#define GROWTH_MAX                                                                                 \
    (96ll << 20) /* of the server's memory; 8 clients of a few MB, memtables, cache */

static long long resident_bytes(pid_t pid)
{
    char path[64];
    long long pages = 0;
    long long resident = 0;
    snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
    FILE *f = fopen(path, "re");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%lld %lld", &pages, &resident), 2);
    fclose(f);
    return resident * sysconf(_SC_PAGESIZE);
}

/* A command whose reply is about as long as itself. */
static char *long_command(size_t *len)
{
    char *command = NULL;
    char key[1800];
    memset(key, 'k', sizeof key - 1);
    key[sizeof key - 1] = '\0';
    int n = redisFormatCommand(&command, "KV.ATOMIC DETAILS SET [\"%s\"] 1 SET [\"%s\",2] 2", key,
                               key);
    assert_true(n > 0);
    *len = (size_t)n;
    return command;
}

static void clients_that_never_read_cost_bounded_memory(void **state)
{
    int fds[DEAF];
    size_t at[DEAF] = {0};
    size_t len = 0;
    unsigned long long sent = 0;
    char *command = long_command(&len);
    struct testserver *s = start_tight(true);
    redisContext *c = testserver_connect(s);
    long long before = resident_bytes(testserver_pid(s));
    for (int i = 0; i < DEAF; i++) fds[i] = raw_connect(s);
    long until = testserver_now_ms() + DEAF_SECONDS * 1000;
    long slowest_ms = 0;
    for (int round = 0; testserver_now_ms() < until; round++) {
        for (int i = 0; i < DEAF; i++) {
            ssize_t n = send(fds[i], command + at[i], len - at[i], MSG_DONTWAIT | MSG_NOSIGNAL);
            if (n < 0) continue;
            at[i] = (at[i] + (size_t)n) % len;
            sent += (unsigned long long)n;
        }
        if (round % 100 != 0) continue;
        long asked_ms = testserver_now_ms();
        expect(c, "@", "KV.SET ['mine'] %d", round); /* others go on */
        long took_ms = testserver_now_ms() - asked_ms;
        if (took_ms > slowest_ms) slowest_ms = took_ms;
        long long growth = resident_bytes(testserver_pid(s)) - before;
        if (growth > GROWTH_MAX) fail_msg("the server has grown by %lld MB", growth >> 20);
    }
    fprintf(stderr, "# %llu MB sent, server %lld MB larger, slowest write of another %ld ms\n",
            sent >> 20, (resident_bytes(testserver_pid(s)) - before) >> 20, slowest_ms);
    assert_true(sent > (4u << 20));
    assert_true(slowest_ms < 3000);
    for (int i = 0; i < DEAF; i++) close(fds[i]);
    free(command);
    redisFree(c);
    testserver_free(s);
}

/* ---- clients that vanish --------------------------------------------------------------------- */

static void wait_for_no_others(redisContext *c)
{
    long until = testserver_now_ms() + LIMIT_MS;
    for (;;) {
        const char *list = ask(c, "CLIENT LIST");
        bool is_alone = strncmp(list, "id=", 3) == 0 && strstr(list, "\nid=") == NULL;
        if (is_alone && load_info(c, "blocked_clients") == 0) break;
        if (testserver_now_ms() > until) fail_msg("there still are clients: %s", list);
        testserver_pause();
    }
    assert_int_equal(load_info(c, "connected_clients"), 1);
}

/* Sends commands until some client is parked, then ends the connections in several ways. */
static void vanish(struct testserver *s, redisContext *c, int way)
{
    struct writer writers[WRITERS];
    long until = testserver_now_ms() + LIMIT_MS;
    writers_open(writers, s, way * WRITERS, 1 << 20);
    for (int turn = 0; turn % 20 != 1 || load_info(c, "blocked_clients") < 2; turn++) {
        (void)writers_turn(writers);
        if (testserver_now_ms() > until) fail_msg("nobody is parked");
    }
    for (int i = 0; i < WRITERS; i++) {
        struct linger hard = {.l_onoff = 1};
        int fd = writers[i].fd;
        if ((way + i) % 3 == 0) setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
        if ((way + i) % 3 == 1) shutdown(fd, SHUT_WR);
    }
    /* Half open: what was sent is still answered, in order, and then the server closes. */
    for (int i = 0; i < WRITERS; i++) {
        struct writer *w = &writers[i];
        if ((way + i) % 3 != 1) close(w->fd);
    }
    for (int i = 0; i < WRITERS; i++) {
        struct writer *w = &writers[i];
        struct pollfd p = {.fd = w->fd, .events = POLLIN};
        char byte = 0;
        if ((way + i) % 3 != 1) continue;
        while (poll(&p, 1, LIMIT_MS) == 1 && recv(w->fd, &byte, 1, MSG_PEEK) > 0) writer_take(w);
        assert_int_equal(recv(w->fd, &byte, 1, MSG_DONTWAIT), 0);
        close(w->fd);
    }
    for (int i = 0; i < WRITERS; i++) {
        redisReaderFree(writers[i].replies);
        free(writers[i].out);
    }
    wait_for_no_others(c);
}

static void clients_that_vanish_while_parked_leave_nothing_behind(void **state)
{
    for (int is_release = 0; is_release < 2; is_release++) {
        struct testserver *s = start_tight(is_release);
        redisContext *c = testserver_connect(s);
        for (int way = 0; way < 3; way++) vanish(s, c, way);
        expect(c, "@", "KV.SET ['after'] 1");
        expect(c, "1", "KV.GET ['after']");
        redisFree(c);
        testserver_free(s);
    }
}

/* A server that is told to stop while clients are parked stops. */
static void a_server_with_parked_clients_stops(void **state)
{
    struct writer writers[WRITERS];
    struct testserver *s = start_tight(false);
    redisContext *c = testserver_connect(s);
    long until = testserver_now_ms() + LIMIT_MS;
    writers_open(writers, s, 0, 1 << 20);
    for (int turn = 0; turn % 20 != 1 || load_info(c, "blocked_clients") < 2; turn++) {
        (void)writers_turn(writers);
        if (testserver_now_ms() > until) fail_msg("nobody is parked");
    }
    testserver_stop(s);
    writers_close(writers);
    redisFree(c);
    testserver_free(s);
}

/* ---- many ------------------------------------------------------------------------------------ */

#define BURST 5000

static void on_pong(struct load_client *l, const redisReply *r)
{
    if (r->type != REDIS_REPLY_STATUS || strcmp(r->str, "PONG") != 0) {
        fail_msg("client %zu: no pong: %s", l->number, r->str != NULL ? r->str : "");
    }
}

static void five_thousand_connections_come_ping_and_leave(void **state)
{
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    if (files.rlim_max < BURST + 200) skip();
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    struct testserver *s = start_tight(true);
    redisContext *c = testserver_connect(s);
    struct load_client *clients = calloc(BURST, sizeof *clients);
    assert_non_null(clients);
    for (size_t i = 0; i < BURST; i++) {
        clients[i] = (struct load_client){.number = i, .on_reply = on_pong};
        load_open(&clients[i], s);
        load_say(&clients[i], "PING");
    }
    load_drain(clients, BURST, LIMIT_MS);
    assert_int_equal(load_info(c, "connected_clients"), BURST + 1);
    for (size_t i = 0; i < BURST; i++) load_close(&clients[i]);
    free(clients);
    wait_for_no_others(c);
    redisFree(c);
    testserver_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replies_belong_to_their_commands_and_readers_are_served),
        cmocka_unit_test(replies_belong_to_their_commands_under_asan),
        cmocka_unit_test(a_write_buffer_smaller_than_a_memtable_does_not_stop_writers),
        cmocka_unit_test(clients_that_never_read_cost_bounded_memory),
        cmocka_unit_test(clients_that_vanish_while_parked_leave_nothing_behind),
        cmocka_unit_test(a_server_with_parked_clients_stops),
        cmocka_unit_test(five_thousand_connections_come_ping_and_leave),
    };
    load_use_disk();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
