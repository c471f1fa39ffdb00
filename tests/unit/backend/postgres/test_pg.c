/* Tests of one connection: servers of which some are silent. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "backend/postgres/pg.h"
#include "backend/postgres/pg_hosts.h"
#include "unit/backend/postgres/pg_server.h"

#define CALL_MS 500

/* The kernel accepts for it, and no answer ever comes. */
static int open_silent(int *port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
    assert_int_equal(listen(fd, 16), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &bytes), 0);
    *port = ntohs(a.sin_port);
    return fd;
}

static void a_silent_server_is_passed_over(void **state)
{
    struct pg_breaker breaker;
    struct error e;
    int port;
    int turns = 0;
    char url[320];
    if (!pg_server_can()) skip();
    int fd = open_silent(&port);
    snprintf(url, sizeof url, "host=127.0.0.1,%s port=%d,5432 user=tupled dbname=postgres",
             pg_shared.dir, port);
    assert_int_equal(pg_breaker_init(&breaker, &e), OK);
    const struct pg_options options = {
        .url = url, .name = "test", .call_ms = CALL_MS, .breaker = &breaker, .host_turns = &turns};
    struct pg *c = pg_new(&options);
    pg_begin(c);
    assert_int_equal(pg_run(c, "SELECT 1", &e), ERR_IO);
    assert_int_equal(pg_outcome(c), PG_REFUSED);
    assert_int_equal(pg_run(c, "SELECT 1", &e), OK);
    /* It stays with the one that answers. */
    pg_drop(c);
    assert_int_equal(pg_run(c, "SELECT 1", &e), OK);
    pg_free(c);
    /* Another connection knows it from the first one. */
    c = pg_new(&options);
    pg_begin(c);
    assert_int_equal(pg_run(c, "SELECT 1", &e), OK);
    pg_free(c);
    pg_breaker_fini(&breaker);
    close(fd);
}

/* Takes connections and closes them, until its socket is shut down. */
static void *hang_up(void *arg)
{
    int fd = *(int *)arg;
    for (int c; (c = accept(fd, NULL, NULL)) >= 0;) close(c);
    return NULL;
}

/* libpq does not try the next one by itself then. */
static void a_server_that_hangs_up_is_passed_over(void **state)
{
    struct pg_breaker breaker;
    struct error e;
    int port;
    char url[320];
    pthread_t thread;
    if (!pg_server_can()) skip();
    int fd = open_silent(&port);
    assert_int_equal(pthread_create(&thread, NULL, hang_up, &fd), 0);
    snprintf(url, sizeof url, "host=127.0.0.1,%s port=%d,5432 user=tupled dbname=postgres",
             pg_shared.dir, port);
    assert_int_equal(pg_breaker_init(&breaker, &e), OK);
    struct pg *c = pg_new(
        &(struct pg_options){.url = url, .name = "test", .call_ms = 10000, .breaker = &breaker});
    pg_begin(c);
    assert_int_equal(pg_run(c, "SELECT 1", &e), ERR_IO);
    assert_int_equal(pg_outcome(c), PG_REFUSED);
    assert_int_equal(pg_run(c, "SELECT 1", &e), OK);
    pg_free(c);
    pg_breaker_fini(&breaker);
    shutdown(fd, SHUT_RDWR);
    pthread_join(thread, NULL);
    close(fd);
}

static void expect_hosts(const struct pg_hosts *h, const char *host, const char *port)
{
    if (host == NULL)
        assert_null(h->host);
    else
        assert_string_equal(h->host, host);
    if (port == NULL)
        assert_null(h->port);
    else
        assert_string_equal(h->port, port);
}

static void hosts_go_round_with_their_ports(void **state)
{
    struct pg_hosts h;
    pg_hosts_init(&h);
    pg_hosts_take(&h, "host", "a,bb,c");
    pg_hosts_take(&h, "port", "1,22,3");
    pg_hosts_take(&h, "user", "d,e,f");
    assert_int_equal(h.count, 3);
    pg_hosts_rotate(&h, 1);
    expect_hosts(&h, "bb,c,a", "22,3,1");
    pg_hosts_rotate(&h, 3);
    expect_hosts(&h, "a,bb,c", "1,22,3");
    pg_hosts_fini(&h);
}

static void one_port_for_all_stays(void **state)
{
    struct pg_hosts h;
    pg_hosts_init(&h);
    pg_hosts_take(&h, "hostaddr", "1.1.1.1,2.2.2.2");
    pg_hosts_take(&h, "port", "5");
    pg_hosts_rotate(&h, 1);
    expect_hosts(&h, NULL, NULL);
    assert_string_equal(h.hostaddr, "2.2.2.2,1.1.1.1");
    pg_hosts_fini(&h);
}

static void one_host_stays_as_it_is(void **state)
{
    struct pg_hosts h;
    pg_hosts_init(&h);
    pg_hosts_take(&h, "host", "a");
    pg_hosts_rotate(&h, 1);
    assert_int_equal(h.count, 1);
    expect_hosts(&h, NULL, NULL);
    pg_hosts_fini(&h);
}

/* ---- statements without waiting in between ---- */

static struct pg *connect_to(struct pg_breaker *breaker, int64_t call_ms)
{
    struct error e;
    if (!pg_server_can()) skip();
    assert_int_equal(pg_breaker_init(breaker, &e), OK);
    return pg_new(&(struct pg_options){.url = pg_shared.url,
                                       .name = "test",
                                       .call_ms = call_ms,
                                       .is_quorum = true,
                                       .breaker = breaker});
}

static void send_number(struct pg *c, const char *sql, int64_t n)
{
    struct error e;
    pg_begin(c);
    pg_put_i64(c, n);
    if (pg_send(c, sql, &e) != OK) fail_msg("%s", e.text);
}

static int64_t by_hand(const char *sql)
{
    return pg_server_run(&pg_shared, sql, NULL, 0);
}

/* Each is a transaction of its own: one that is refused takes nothing with it. */
static void what_is_sent_is_done_in_its_order(void **state)
{
    static const char insert[] = "INSERT INTO sent VALUES ($1)";
    struct pg_breaker breaker;
    struct error e;
    struct pg *c = connect_to(&breaker, 10000);
    (void)by_hand("CREATE TABLE sent (n int8 PRIMARY KEY, place serial)");
    send_number(c, insert, 3);
    send_number(c, insert, 1);
    send_number(c, insert, 3);
    send_number(c, insert, 2);
    assert_int_equal(pg_pending(c), 4);
    for (unsigned i = 0; i < 4; i++) {
        bool is_twice = i == 2;
        assert_int_equal(pg_take(c, -1, &e), is_twice ? ERR_IO : OK);
        assert_int_equal(pg_outcome(c), is_twice ? PG_REFUSED : PG_DONE);
        if (is_twice) assert_string_equal(pg_sqlstate(c), "23505");
        if (!is_twice) assert_int_equal(pg_changed(c), 1);
        assert_int_equal(pg_pending(c), 3 - i);
    }
    /* Now statements that are waited for may be run again. */
    pg_begin(c);
    assert_int_equal(
        pg_run(c, "SELECT string_agg(n::text, '' ORDER BY place) = '312' FROM sent", &e), OK);
    assert_int_equal(pg_bytes(c, 0, 0).data[0], 1);
    assert_int_equal(pg_connections(c), 1);
    (void)by_hand("DROP TABLE sent");
    pg_free(c);
    pg_breaker_fini(&breaker);
}

/* While an answer is awaited, more is sent: more than fits between the two sides, when the server
 * does not read. */
static void what_comes_meanwhile_is_sent_too(void **state)
{
    static const char slow[] = "SELECT length($2)::int8, pg_sleep($1 / 1000.0)";
    static uint8_t large[8 << 20];
    struct pg_breaker breaker, news;
    struct error e;
    struct pg *c = connect_to(&breaker, 10000);
    assert_int_equal(pg_breaker_init(&news, &e), OK);
    for (int i = 0; i < 2; i++) {
        pg_begin(c);
        pg_put_i64(c, i == 0 ? 200 : 0);
        pg_put_bytes(c, slice_of(large, i == 0 ? 7 : sizeof large));
        assert_int_equal(pg_send(c, slow, &e), OK);
        if (i == 1) break;
        pg_break(&news); /* its descriptor is readable */
        assert_int_equal(pg_take(c, news.fd, &e), ERR_WAIT);
        assert_int_equal(pg_pending(c), 1);
    }
    assert_int_equal(pg_take(c, -1, &e), OK);
    assert_int_equal(pg_i64(c, 0, 0), 7);
    assert_int_equal(pg_take(c, -1, &e), OK);
    assert_int_equal(pg_i64(c, 0, 0), sizeof large);
    pg_free(c);
    pg_breaker_fini(&news);
    pg_breaker_fini(&breaker);
}

static void nobody_knows_what_became_of_what_was_sent(void **state)
{
    static const char slow[] = "SELECT pg_sleep($1)";
    struct pg_breaker breaker;
    struct error e;
    struct pg *c = connect_to(&breaker, 10000);
    send_number(c, slow, 0);
    send_number(c, slow, 60);
    send_number(c, slow, 0);
    assert_int_equal(pg_take(c, -1, &e), OK);
    for (int i = 0; by_hand("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE "
                            "wait_event = 'PgSleep'") == 0;
         i++) {
        assert_true(i < 500);
        usleep(1000);
    }
    assert_int_equal(pg_take(c, -1, &e), ERR_IO);
    assert_int_equal(pg_outcome(c), PG_UNKNOWN);
    assert_int_equal(pg_pending(c), 0);
    pg_begin(c);
    assert_int_equal(pg_run(c, "SELECT 1", &e), OK);
    pg_free(c);
    pg_breaker_fini(&breaker);
}

/* ---- what waits for a standby ---- */

/* The server must not end its wait at the deadline: what it then shows may still be lost. */
static void what_no_standby_has_is_not_seen_at_the_deadline(void **state)
{
    struct pg_breaker breaker;
    struct error e;
    struct pg *c = connect_to(&breaker, CALL_MS);
    (void)by_hand("CREATE TABLE waits (n int8)");
    (void)by_hand("ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
    (void)by_hand("SELECT pg_reload_conf()");
    usleep(100000);
    pg_begin(c);
    assert_int_equal(pg_run(c, "INSERT INTO waits VALUES (1)", &e), ERR_IO);
    assert_int_equal(pg_outcome(c), PG_UNKNOWN);
    usleep(CALL_MS * 1000);
    assert_int_equal(by_hand("SELECT count(*) FROM waits"), 0);
    (void)by_hand("ALTER SYSTEM RESET synchronous_standby_names");
    (void)by_hand("SELECT pg_reload_conf()");
    for (int i = 0; i < 500 && by_hand("SELECT count(*) FROM waits") == 0; i++) usleep(20000);
    assert_int_equal(by_hand("SELECT count(*) FROM waits"), 1);
    (void)by_hand("DROP TABLE waits");
    pg_free(c);
    pg_breaker_fini(&breaker);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_silent_server_is_passed_over),
        cmocka_unit_test(a_server_that_hangs_up_is_passed_over),
        cmocka_unit_test(hosts_go_round_with_their_ports),
        cmocka_unit_test(one_port_for_all_stays),
        cmocka_unit_test(one_host_stays_as_it_is),
        cmocka_unit_test(what_is_sent_is_done_in_its_order),
        cmocka_unit_test(what_comes_meanwhile_is_sent_too),
        cmocka_unit_test(nobody_knows_what_became_of_what_was_sent),
        cmocka_unit_test(what_no_standby_has_is_not_seen_at_the_deadline),
    };
    return cmocka_run_group_tests(tests, pg_shared_start, pg_shared_stop);
}
