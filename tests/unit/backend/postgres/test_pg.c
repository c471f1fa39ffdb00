/* Tests of one connection: servers of which some are silent. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include "backend/postgres/pg.h"
#include "backend/postgres/pg_hosts.h"
#include "unit/backend/postgres/pg_server.h"

#define CALL_MS 500

static struct pg_server server;

static int start(void **state)
{
    if (pg_server_can()) pg_server_init(&server);
    return 0;
}

static int stop(void **state)
{
    if (pg_server_can()) pg_server_fini(&server);
    return 0;
}

/* The kernel accepts for it, and nobody ever answers. */
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
    char url[320];
    if (!pg_server_can()) skip();
    int fd = open_silent(&port);
    snprintf(url, sizeof url, "host=127.0.0.1,%s port=%d,5432 user=tupled dbname=postgres",
             server.dir, port);
    assert_int_equal(pg_breaker_init(&breaker, &e), OK);
    struct pg *c = pg_new(
        &(struct pg_options){.url = url, .name = "test", .call_ms = CALL_MS, .breaker = &breaker});
    pg_begin(c);
    assert_int_equal(pg_run(c, "SELECT 1", &e), ERR_IO);
    assert_int_equal(pg_outcome(c), PG_REFUSED);
    assert_int_equal(pg_run(c, "SELECT 1", &e), OK);
    /* It stays with the one that answers. */
    pg_drop(c);
    assert_int_equal(pg_run(c, "SELECT 1", &e), OK);
    pg_free(c);
    /* Another connection knows it from the first one. */
    c = pg_new(
        &(struct pg_options){.url = url, .name = "test", .call_ms = CALL_MS, .breaker = &breaker});
    pg_begin(c);
    assert_int_equal(pg_run(c, "SELECT 1", &e), OK);
    pg_free(c);
    pg_breaker_fini(&breaker);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_silent_server_is_passed_over),
        cmocka_unit_test(hosts_go_round_with_their_ports),
        cmocka_unit_test(one_port_for_all_stays),
        cmocka_unit_test(one_host_stays_as_it_is),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
