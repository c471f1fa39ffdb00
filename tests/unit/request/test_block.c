/* block: clients whose command is blocked: who is in the list, who is woken and why, and when their
 * time is over. The loop is not there: the waiters that are woken are those of the test.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/clock.h"
#include "request/block.h"
#include "request/table.h"
#include "unit/db/db_help.h"

#define CLIENTS 4
#define LIMIT_MS 20000
#define LONG_MS 1000000

struct waiting {
    struct client client; /* first */
    struct waiter waiter;
    unsigned woken;
};

struct bench {
    char dir[64];
    struct env env;
    struct waiting c[CLIENTS];
};

static void on_ready(struct waiter *w)
{
    struct waiting *b = (struct waiting *)(void *)((char *)w - offsetof(struct waiting, waiter));
    b->woken++;
}

static void open_bench(struct bench *t)
{
    *t = (struct bench){0};
    struct error e;
    snprintf(t->dir, sizeof t->dir, "/tmp/test_block.XXXXXX");
    assert_non_null(mkdtemp(t->dir));
    struct db_options options = small_db(t->dir);
    assert_int_equal(db_open(&options, &t->env.db, &e), OK);
    t->env.clients.list.next = t->env.clients.list.prev = &t->env.clients.list;
    command_init(&t->env);
    for (int i = 0; i < CLIENTS; i++) {
        t->c[i].waiter.ready = on_ready;
        t->c[i].client.id = (uint64_t)i + 1;
    }
}

static void close_bench(struct bench *t)
{
    char command[96];
    struct error e;
    assert_int_equal(db_close(t->env.db, &e), OK);
    command_fini(&t->env);
    snprintf(command, sizeof command, "rm -rf '%s'", t->dir);
    assert_int_equal(system(command), 0);
}

/* Its command is run, and waits. */
static void block(struct bench *t, int i, int64_t timeout_ms)
{
    static const struct command blocking = {.name = "blocks", .flags = CMD_BLOCKING};
    struct waiting *b = &t->c[i];
    struct request rq = {
        .env = &t->env, .client = &b->client, .command = &blocking, .waiter = &b->waiter};
    if (b->waiter.next == NULL) waiter_add(&t->env.blocked.waiters, &b->waiter);
    assert_int_equal(client_block(&rq, timeout_ms), ERR_WAIT);
}

/* "0 2": those whose waiting has an end, the first that ends first. */
static const char *listed(struct bench *t)
{
    static char text[64];
    text[0] = '\0';
    struct treap_node *node = treap_first(&t->env.blocked.by_deadline);
    for (; node != NULL; node = treap_next(node)) {
        char *c = (char *)node - offsetof(struct waiting, client.block.by_deadline);
        size_t len = strlen(text);
        snprintf(text + len, sizeof text - len, "%s%td", len > 0 ? " " : "",
                 (struct waiting *)(void *)c - t->c);
    }
    return text;
}

static void who_blocks_is_listed_until_it_is_cleared(void **state)
{
    struct bench t;
    open_bench(&t);
    assert_string_equal(listed(&t), "");
    for (int i = 0; i < CLIENTS; i++) block(&t, i, LONG_MS);
    assert_string_equal(listed(&t), "0 1 2 3");
    block(&t, 2, LONG_MS); /* its command is run again, and waits on */
    assert_string_equal(listed(&t), "0 1 2 3");
    client_block_clear(&t.c[1].client, &t.env); /* in the middle */
    assert_string_equal(listed(&t), "0 2 3");
    client_block_clear(&t.c[1].client, &t.env); /* harmless */
    client_block_clear(&t.c[0].client, &t.env); /* the first */
    assert_string_equal(listed(&t), "2 3");
    client_block_clear(&t.c[3].client, &t.env); /* the last */
    assert_string_equal(listed(&t), "2");
    block(&t, 0, 2 * LONG_MS);
    block(&t, 1, 0); /* for ever */
    assert_string_equal(listed(&t), "2 0");
    client_block_clear(&t.c[1].client, &t.env);
    client_block_clear(&t.c[2].client, &t.env);
    client_block_clear(&t.c[0].client, &t.env);
    assert_string_equal(listed(&t), "");
    command_tick(&t.env);
    for (int i = 0; i < CLIENTS; i++) {
        assert_int_equal(t.c[i].woken, 0);
        waiter_cancel(&t.c[i].waiter);
    }
    close_bench(&t);
}

/* Ticks until this client was woken. */
static void tick_until_woken(struct bench *t, int i)
{
    int64_t until_us = clock_mono_us() + LIMIT_MS * 1000;
    while (t->c[i].woken == 0) {
        if (clock_mono_us() > until_us) fail_msg("%d is never woken", i);
        command_tick(&t->env);
    }
}

static void time_ends_the_waiting_of_those_whose_it_is(void **state)
{
    struct bench t;
    open_bench(&t);
    block(&t, 0, LONG_MS);
    block(&t, 1, 1);
    block(&t, 2, 0); /* for ever */
    block(&t, 3, 1);
    block(&t, 1, LONG_MS); /* run again: the time is that of the first */
    tick_until_woken(&t, 1);
    tick_until_woken(&t, 3);
    for (int i = 0; i < 5; i++) command_tick(&t.env);
    assert_int_equal(t.c[1].woken, 1); /* once, and out of the list that it stood in */
    assert_null(t.c[1].waiter.next);
    assert_int_equal(t.c[3].woken, 1);
    assert_int_equal(client_block_end(&t.c[1].client), BLOCK_TIMED_OUT);
    assert_int_equal(client_block_end(&t.c[3].client), BLOCK_TIMED_OUT);
    assert_int_equal(t.c[0].woken + t.c[2].woken, 0);
    assert_int_equal(client_block_end(&t.c[0].client), BLOCK_GOES_ON);
    /* Until it is run it is listed; then it is not, and may block again. */
    assert_string_equal(listed(&t), "1 3 0");
    client_block_clear(&t.c[1].client, &t.env);
    assert_int_equal(client_block_end(&t.c[1].client), BLOCK_GOES_ON);
    block(&t, 1, 2 * LONG_MS);
    assert_string_equal(listed(&t), "3 0 1");
    command_tick(&t.env);
    assert_int_equal(t.c[1].woken, 1);
    for (int i = 0; i < CLIENTS; i++) {
        client_block_clear(&t.c[i].client, &t.env);
        waiter_cancel(&t.c[i].waiter);
    }
    close_bench(&t);
}

static void somebody_else_ends_it_once(void **state)
{
    struct bench t;
    open_bench(&t);
    assert_false(client_block_stop(&t.c[0].client, false));
    block(&t, 0, 1);
    block(&t, 1, 0);
    assert_true(client_block_stop(&t.c[0].client, false));
    assert_true(client_block_stop(&t.c[1].client, true));
    assert_int_equal(client_block_end(&t.c[0].client), BLOCK_ENDED);
    assert_int_equal(client_block_end(&t.c[1].client), BLOCK_FAILED);
    assert_false(client_block_stop(&t.c[0].client, true)); /* it is over */
    /* Neither does its time end it a second time. */
    block(&t, 2, 1);
    tick_until_woken(&t, 2);
    assert_int_equal(t.c[0].woken, 1);
    assert_int_equal(client_block_end(&t.c[0].client), BLOCK_ENDED);
    for (int i = 0; i < CLIENTS; i++) client_block_clear(&t.c[i].client, &t.env);
    assert_string_equal(listed(&t), "");
    close_bench(&t);
}

/* block-max bounds what clients ask for, also for ever, but for WAIT. */
static void block_max_is_a_bound(void **state)
{
    struct bench t;
    open_bench(&t);
    t.env.settings.block_max_ms = 1;
    struct request rq = {
        .env = &t.env, .client = &t.c[3].client, .waiter = &t.c[3].waiter, .command = &cmd_wait};
    assert_int_equal(client_block(&rq, 0), ERR_WAIT);
    block(&t, 0, 0);
    block(&t, 1, LONG_MS);
    tick_until_woken(&t, 0);
    tick_until_woken(&t, 1);
    assert_int_equal(client_block_end(&t.c[0].client), BLOCK_TIMED_OUT);
    assert_int_equal(client_block_end(&t.c[1].client), BLOCK_TIMED_OUT);
    assert_int_equal(t.c[3].woken, 0);
    assert_true(t.c[3].client.block.deadline_ms == INT64_MAX);
    for (int i = 0; i < CLIENTS; i++) client_block_clear(&t.c[i].client, &t.env);
    close_bench(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_blocks_is_listed_until_it_is_cleared),
        cmocka_unit_test(time_ends_the_waiting_of_those_whose_it_is),
        cmocka_unit_test(somebody_else_ends_it_once),
        cmocka_unit_test(block_max_is_a_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
