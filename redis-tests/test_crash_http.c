/* kill -9 while eight clients write by HTTP: every write that was acknowledged is there afterwards. */
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "client.h"
#include "http.h"
#include "load_help.h"

#define WRITERS 8
#define ROUNDS 2
#define ROUND_MS 1500

/* Its n-th write sets its key to n, or, every third time, both its keys at once. */
struct writer {
    struct http_conn *c;
    long sent, acknowledged;
};

static struct writer writers[WRITERS];

static void write_next(int i)
{
    struct writer *w = &writers[i];
    char body[200];
    long n = ++w->sent;
    if (n % 3 == 0) {
        snprintf(body, sizeof body,
                 "[['KV.SET','[\\'w\\',%d]','%ld'],['KV.SET','[\\'x\\',%d]','%ld']]", i, n, i, n);
        http_ask(w->c, "POST /multi-exec", NULL, body);
    } else {
        snprintf(body, sizeof body, "['KV.SET','[\\'w\\',%d]','%ld']", i, n);
        http_ask(w->c, "POST /", NULL, body);
    }
}

static void take_answer(struct writer *w)
{
    struct http_answer *a = http_next(w->c);
    if (a->status != 200 || strstr(a->body, "error") != NULL) fail_msg("%s%s", a->head, a->body);
    http_free(a);
    w->acknowledged = w->sent;
}

/* Writes until the time is over; then one write of each is on its way. */
static void write_for(long ms)
{
    long until = testserver_now_ms() + ms;
    for (int i = 0; i < WRITERS; i++) write_next(i);
    while (testserver_now_ms() < until) {
        struct pollfd p[WRITERS];
        for (int i = 0; i < WRITERS; i++) {
            p[i] = (struct pollfd){.fd = writers[i].c->fd, .events = POLLIN};
        }
        assert_true(poll(p, WRITERS, 10000) > 0);
        for (int i = 0; i < WRITERS; i++) {
            if (p[i].revents == 0) continue;
            take_answer(&writers[i]);
            write_next(i);
        }
    }
}

static long value_of(redisContext *c, const char *name, int i)
{
    const char *text = ask(c, "KV.GET ['%s',%d]", name, i);
    return strcmp(text, "(nil)") == 0 ? 0 : atol(text);
}

static void what_was_acknowledged_is_there(void **state)
{
    load_use_disk();
    struct testserver *s = testserver_start(&(struct testserver_options){.has_http = true});
    for (int round = 0; round < ROUNDS; round++) {
        long total = 0;
        for (int i = 0; i < WRITERS; i++) writers[i].c = http_open(s);
        write_for(ROUND_MS);
        testserver_kill(s);
        for (int i = 0; i < WRITERS; i++) http_close(writers[i].c);
        testserver_again(s);
        redisContext *c = testserver_connect(s);
        for (int i = 0; i < WRITERS; i++) {
            struct writer *w = &writers[i];
            long found = value_of(c, "w", i);
            if (found != w->acknowledged && found != w->sent) {
                fail_msg("writer %d: %ld is there, %ld was acknowledged, %ld sent", i, found,
                         w->acknowledged, w->sent);
            }
            assert_int_equal(value_of(c, "x", i), found - found % 3); /* all of it, or nothing */
            total += w->acknowledged;
            w->sent = w->acknowledged = found;
        }
        printf("# round %d: %ld writes\n", round, total);
        assert_true(total > 50);
        redisFree(c);
    }
    testserver_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_was_acknowledged_is_there)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
