/* The protocol as bytes: requests in every shape, broken ones, limits, fairness. */
#include <errno.h>
#include <poll.h>
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

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static int fd;

static int start(void **state)
{
    group_opens_raw(&fd);
    server = testserver_start_with("--client-query-buffer-limit", "2mb", "--proto-max-bulk-len",
                                   "1mb", "--databases", "5", NULL);
    return 0;
}

/* ---- requests -------------------------------------------------------------------------------- */

static void inline_commands_are_split_with_quotes(void **state)
{
    static const char *const pairs[][2] = {
        {"PING\r\n", "+PONG\r\n"},
        {"ping\n", "+PONG\r\n"},
        {"  PING   hello  \r\n", "$5\r\nhello\r\n"},
        {"ECHO \"a b\"\r\n", "$3\r\na b\r\n"},
        {"ECHO 'a b'\r\n", "$3\r\na b\r\n"},
        {"ECHO \"\\x41\\n\\r\\t\\b\\a\\\"\\\\\\q\"\r\n", "$9\r\nA\n\r\t\b\a\"\\q\r\n"},
        {"ECHO '\\x41\\'\"'\r\n", "$6\r\n\\x41'\"\r\n"},
        {"ECHO \"\"\r\n", "$0\r\n\r\n"},
        {"ECHO ''\r\n", "$0\r\n\r\n"},
        {"\tECHO\ta\r\n", "$1\r\na\r\n"},
        {"KV.COUNT PREFIX '[\"nothing here\"]'\r\n", ":0\r\n"},
    };
    for (size_t i = 0; i < COUNT(pairs); i++) {
        raw_say(fd, pairs[i][0]);
        raw_expect(fd, pairs[i][1]);
    }
}

static void nothing_is_answered_to_nothing(void **state)
{
    raw_say(fd, "\r\n\r\n\n  \r\n*0\r\n*-1\r\n*-10\r\nPING\r\n*0\r\n*1\r\n$4\r\nPING\r\n");
    raw_expect(fd, "+PONG\r\n+PONG\r\n");
}

static void a_pipeline_in_one_write_is_answered_in_order(void **state)
{
    char out[20000] = "";
    char wanted[20000] = "";
    for (int i = 0; i < 500; i++) {
        sprintf(out + strlen(out), "*2\r\n$4\r\nECHO\r\n$3\r\n%03d\r\n", i);
        sprintf(wanted + strlen(wanted), "$3\r\n%03d\r\n", i);
    }
    raw_say(fd, out);
    raw_expect(fd, wanted);
}

static void a_pipeline_byte_by_byte_is_answered_the_same(void **state)
{
    const char *bytes = "*2\r\n$4\r\nECHO\r\n$5\r\na\r\nb\n\r\nPING 'x y'\r\n*1\r\n$4\r\nPING\r\n"
                        "*3\r\n$6\r\nKV.GET\r\n$5\r\n[\"a\"]\r\n$11\r\nWITHVERSION\r\n";
    for (const char *p = bytes; *p != '\0'; p++) raw_send(fd, p, 1);
    raw_expect(fd, "$5\r\na\r\nb\n\r\n$3\r\nx y\r\n+PONG\r\n*-1\r\n");
}

static void arguments_are_bytes(void **state)
{
    static const char out[] = "*2\r\n$4\r\nECHO\r\n$6\r\n\0\r\n\xff\0$\r\nPING\r\n";
    raw_send(fd, out, sizeof out - 1);
    char got[32] = "";
    size_t have = 0;
    while (have < 19) {
        ssize_t n = recv(fd, got + have, 19 - have, 0);
        assert_true(n > 0);
        have += (size_t)n;
    }
    assert_memory_equal(got, "$6\r\n\0\r\n\xff\0$\r\n+PONG\r\n", 19);
}

static void an_argument_of_many_reads_arrives_whole(void **state)
{
    size_t len = 1000 * 1000;
    char *out = malloc(len + 1);
    memset(out, 'e', len);
    out[len] = '\0';
    raw_say(fd, "*2\r\n$4\r\nECHO\r\n$1000000\r\n");
    raw_send(fd, out, len);
    raw_say(fd, "\r\n");
    raw_expect(fd, "$1000000\r\n");
    raw_expect(fd, out);
    raw_expect(fd, "\r\n");
    free(out);
}

static void a_hundred_thousand_arguments_are_read(void **state)
{
    enum { N = 100000 };
    size_t len = 0;
    char *out = malloc(32 + 7 * N);
    len += (size_t)sprintf(out, "*%d\r\n$4\r\nPING\r\n", N + 1);
    for (int i = 0; i < N; i++) len += (size_t)sprintf(out + len, "$1\r\nx\r\n");
    raw_send(fd, out, len);
    raw_expect(fd, "-ERR wrong number of arguments for 'ping' command\r\n");
    free(out);
    raw_say(fd, "PING\r\n");
    raw_expect(fd, "+PONG\r\n");
}

/* ---- broken requests ------------------------------------------------------------------------- */

static void protocol_errors_have_their_text_and_close(void **state)
{
    static const char *const pairs[][2] = {
        {"ECHO \"a\r\n", "unbalanced quotes in request"},
        {"ECHO 'a\r\n", "unbalanced quotes in request"},
        {"ECHO \"a\"b\r\n", "unbalanced quotes in request"},
        {"*abc\r\n", "invalid multibulk length"},
        {"*\r\n", "invalid multibulk length"},
        {"* 1\r\n", "invalid multibulk length"},
        {"*+1\r\n", "invalid multibulk length"},
        {"*01\r\n", "invalid multibulk length"},
        {"*1x\r\n", "invalid multibulk length"},
        {"*99999999999999999999\r\n", "invalid multibulk length"},
        {"*2147483648\r\n", "invalid multibulk length"},
        {"*1\r\nfoo\r\n", "expected '$', got 'f'"},
        {"*1\r\n*1\r\n", "expected '$', got '*'"},
        {"*1\r\n$-1\r\n", "invalid bulk length"},
        {"*1\r\n$abc\r\n", "invalid bulk length"},
        {"*1\r\n$\r\n", "invalid bulk length"},
        {"*1\r\n$1048577\r\n", "invalid bulk length"},
        {"*1\r\n$99999999999999999999\r\n", "invalid bulk length"},
        {"*2\r\n$4\r\nECHO\r\n$ 1\r\n", "invalid bulk length"},
    };
    for (size_t i = 0; i < COUNT(pairs); i++) {
        char wanted[100];
        snprintf(wanted, sizeof wanted, "-ERR Protocol error: %s\r\n", pairs[i][1]);
        raw_say(fd, pairs[i][0]);
        raw_expect(fd, wanted);
        raw_expect_end(fd);
        close(fd);
        fd = raw_connect(server);
    }
}

static void lines_without_an_end_are_refused(void **state)
{
    static const char *const pairs[][2] = {
        {"E", "too big inline request"},
        {"*1", "too big mbulk count string"},
        {"*1\r\n$1", "too big bulk count string"},
    };
    static char filler[70001];
    memset(filler, '1', 70000);
    for (size_t i = 0; i < COUNT(pairs); i++) {
        char wanted[100];
        snprintf(wanted, sizeof wanted, "-ERR Protocol error: %s\r\n", pairs[i][1]);
        raw_say(fd, pairs[i][0]);
        raw_say(fd, filler);
        raw_expect(fd, wanted);
        raw_expect_end(fd);
        close(fd);
        fd = raw_connect(server);
    }
}

static void what_came_before_a_protocol_error_is_answered_first(void **state)
{
    raw_say(fd, "PING\r\n*2\r\n$4\r\nECHO\r\n$1\r\na\r\n*x\r\n*1\r\n$4\r\nPING\r\n");
    raw_expect(fd, "+PONG\r\n$1\r\na\r\n-ERR Protocol error: invalid multibulk length\r\n");
    raw_expect_end(fd);
}

static void a_write_before_a_protocol_error_is_acknowledged_and_done(void **state)
{
    raw_say(fd, "KV.SET '[\"p\"]' 1\r\n*x\r\nKV.SET '[\"p\"]' 2\r\n");
    const char *stamp = raw_bulk(fd);
    assert_true(text_fits(stamp, "@"));
    raw_expect(fd, "-ERR Protocol error: invalid multibulk length\r\n");
    raw_expect_end(fd);
    redisContext *c = testserver_connect(server);
    expect(c, "1", "KV.GET ['p']");
    redisFree(c);
}

static void web_pages_get_nowhere(void **state)
{
    static const char *const requests[] = {
        "POST / HTTP/1.1\r\n",
        "post /x HTTP/1.1\r\nKV.SET '[\"web\"]' 1\r\n",
        "Host: localhost\r\nKV.SET '[\"web\"]' 1\r\n",
        "*2\r\n$4\r\nPOST\r\n$1\r\n/\r\n",
    };
    for (size_t i = 0; i < COUNT(requests); i++) {
        raw_say(fd, requests[i]);
        raw_expect_end(fd);
        close(fd);
        fd = raw_connect(server);
    }
    raw_say(fd, "GET / HTTP/1.1\r\n");
    raw_expect(fd, "-ERR wrong number of arguments for 'get' command\r\n");
    raw_say(fd, "Host: localhost\r\nKV.SET '[\"web\"]' 1\r\n");
    raw_expect_end(fd);
    redisContext *c = testserver_connect(server);
    expect(c, "(nil)", "KV.GET ['web']");
    redisFree(c);
}

static void big_counts_reserve_no_memory(void **state)
{
    raw_say(fd, "*1000000\r\n$4\r\nPING\r\n");
    int other = raw_connect(server);
    raw_say(other, "*2\r\n$4\r\nECHO\r\n$1000000\r\n");
    redisContext *c = testserver_connect(server);
    expect(c, "+PONG", "PING");
    redisFree(c);
    close(other);
}

static void a_request_larger_than_the_query_buffer_closes(void **state)
{
    static char part[100 * 1024 + 1];
    memset(part, 'x', sizeof part - 1);
    raw_say(fd, "*1000\r\n$4\r\nPING\r\n");
    bool is_closed = false;
    for (int i = 0; i < 60 && !is_closed; i++) {
        char head[32];
        int n = snprintf(head, sizeof head, "$%zu\r\n", sizeof part - 1);
        is_closed = send(fd, head, (size_t)n, MSG_NOSIGNAL) != n ||
                    send(fd, part, sizeof part - 1, MSG_NOSIGNAL) != (ssize_t)sizeof part - 1 ||
                    send(fd, "\r\n", 2, MSG_NOSIGNAL) != 2;
    }
    struct pollfd p = {.fd = fd, .events = POLLIN};
    char byte;
    assert_true(is_closed || (poll(&p, 1, 10000) == 1 && recv(fd, &byte, 1, 0) <= 0));
    assert_true(testserver_has_logged(server, "client-query-buffer-limit"));
}

/* ---- names and arity ------------------------------------------------------------------------- */

static void unknown_commands_have_the_text_that_clients_look_for(void **state)
{
    raw_say(fd, "FOO\r\nFOO a 'b c'\r\nclient foo\r\nCONFIG\r\nKV.SET x\r\nGET\r\nclient|id\r\n");
    raw_expect(fd, "-ERR unknown command 'FOO', with args beginning with: \r\n");
    raw_expect(fd, "-ERR unknown command 'FOO', with args beginning with: 'a' 'b c' \r\n");
    raw_expect(fd, "-ERR unknown subcommand 'foo'. Try CLIENT HELP.\r\n");
    raw_expect(fd, "-ERR wrong number of arguments for 'config' command\r\n");
    raw_expect(fd,
               "-ERR wrong number of arguments for 'kv.set' command; usage: KV.SET key value "
               "[EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT "
               "unix-time-milliseconds | KEEPTTL] [NX | XX | IFVERSION <versionstamp | NONE>]\r\n");
    raw_expect(fd, "-ERR wrong number of arguments for 'get' command\r\n");
    raw_expect(fd, "-ERR unknown command 'client|id', with args beginning with: \r\n");
}

static void what_was_probably_meant_is_named(void **state)
{
    static const struct {
        const char *command, *hint; /* what follows Redis's words */
    } rows[] = {
        {"KV.GETT a", "'a' ; did you mean KV.GET?"},
        {"gte", "; did you mean GET?"},
        {"kv.lsit", "; did you mean KV.LIST?"},
        {"ENQUEUE q 1", "'q' '1' ; did you mean KV.ENQUEUE?"},
        {"JSON.GETT a", "'a' ; did you mean JSON.GET?"},
        {"PUBLSH", "; did you mean PUBLISH?"},
        {"XX", ""},
        {"NOSUCHCOMMAND", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char wanted[300];
        snprintf(wanted, sizeof wanted,
                 "-ERR unknown command '%.*s', with args beginning with: %s\r\n",
                 (int)strcspn(rows[i].command, " "), rows[i].command, rows[i].hint);
        raw_say(fd, rows[i].command);
        raw_say(fd, "\r\n");
        raw_expect(fd, wanted);
    }
    raw_say(fd, "MIGRATE a\r\nCLIENT LISST\r\n");
    raw_expect(
        fd, "-ERR unknown command 'MIGRATE', with args beginning with: 'a' ; tupled does "
            "not support this command of Redis: see docs/redis-commands.md for alternatives\r\n");
    raw_expect(fd,
               "-ERR unknown subcommand 'LISST'. Try CLIENT HELP. Did you mean CLIENT LIST?\r\n");
}

static void an_unknown_command_with_many_arguments_is_cut_short(void **state)
{
    char out[8000] = "*601\r\n$3\r\nFOO\r\n";
    for (int i = 0; i < 600; i++) strcat(out, i % 2 ? "$0\r\n\r\n" : "$1\r\na\r\n");
    raw_say(fd, out);
    assert_true(
        text_fits(raw_line(fd), "-ERR unknown command 'FOO', with args beginning with: 'a' '' *"));
    static char name[5000];
    memset(name, 'n', sizeof name - 1);
    raw_say(fd, name);
    raw_say(fd, "\r\n*2\r\n$1\r\n\n\r\n$3\r\n\r\n-\r\nPING\r\n");
    const char *line = raw_line(fd);
    assert_true(text_fits(line, "-ERR unknown command 'nnnn*"));
    assert_in_range(strlen(line), 100, 400);
    raw_expect(fd, "-ERR unknown command ' ', with args beginning with: '  -' \r\n+PONG\r\n");
}

static void arity_errors_name_the_subcommand(void **state)
{
    raw_say(fd, "CLIENT SETNAME\r\nCONFIG GET\r\nECHO\r\nECHO a b\r\nRESET x\r\nPING a b\r\n");
    raw_expect(fd, "-ERR wrong number of arguments for 'client|setname' command\r\n");
    raw_expect(fd, "-ERR wrong number of arguments for 'config|get' command\r\n");
    raw_expect(fd, "-ERR wrong number of arguments for 'echo' command\r\n");
    raw_expect(fd, "-ERR wrong number of arguments for 'echo' command\r\n");
    raw_expect(fd, "-ERR wrong number of arguments for 'reset' command\r\n");
    raw_expect(fd, "-ERR wrong number of arguments for 'ping' command\r\n");
}

/* ---- many clients ---------------------------------------------------------------------------- */

static void maxclients_refuses_with_a_line(void **state)
{
    struct testserver *small = testserver_start_with("--maxclients", "3", NULL);
    int fds[3];
    for (int i = 0; i < 3; i++) {
        fds[i] = raw_connect(small);
        raw_send(fds[i], "PING\r\n", 6);
        raw_expect(fds[i], "+PONG\r\n");
    }
    int refused = raw_connect(small);
    raw_expect(refused, "-ERR max number of clients reached\r\n");
    raw_expect_end(refused);
    close(refused);
    raw_say(fds[1], "FOO\r\nINFO stats\r\n");
    raw_line(fds[1]);
    assert_non_null(strstr(raw_bulk(fds[1]), "rejected_connections:1\r\n"));
    close(fds[0]);
    /* The place is free when the server has noticed. */
    long until = testserver_now_ms() + 10000;
    bool is_in = false;
    while (!is_in) {
        assert_true(testserver_now_ms() < until);
        int again = raw_connect(small);
        send(again, "PING\r\n", 6, MSG_NOSIGNAL);
        is_in = strcmp(raw_line(again), "+PONG") == 0;
        close(again);
    }
    close(fds[1]);
    close(fds[2]);
    testserver_free(small);
}

/* One client sends 100000 PINGs and reads nothing before all are sent; another is served meanwhile.
 */
static void a_flood_does_not_starve_others(void **state)
{
    enum { N = 100000 };
    const size_t len = 6 * (size_t)N;
    char *out = malloc(len);
    char *back = malloc(65536);
    for (int i = 0; i < N; i++) memcpy(out + 6 * i, "PING\r\n", 6);
    redisContext *c = testserver_connect(server);
    size_t sent = 0;
    size_t got = 0;
    int served = 0;
    while (got < 7 * (size_t)N) {
        while (sent < len) {
            ssize_t n = send(fd, out + sent, len - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
            if (n <= 0) break;
            sent += (size_t)n;
        }
        expect(c, "+PONG", "PING");
        served++;
        ssize_t n = recv(fd, back, 65536, MSG_DONTWAIT);
        assert_true(n > 0 || (n < 0 && errno == EAGAIN));
        if (n > 0) got += (size_t)n;
    }
    assert_true(served > 5);
    free(out);
    free(back);
    redisFree(c);
}

/* A client that reads nothing makes the server stop reading from it, not grow. */
static void a_client_that_does_not_read_is_not_read_from(void **state)
{
    static char command[20100];
    int n = sprintf(command, "*2\r\n$4\r\nECHO\r\n$20000\r\n");
    memset(command + n, 'x', 20000);
    memcpy(command + n + 20000, "\r\n", 2);
    size_t len = (size_t)n + 20002;
    size_t sent = 0;
    size_t total = 64 << 20;
    long quiet_ms = testserver_now_ms();
    while (sent < total && testserver_now_ms() - quiet_ms < 300) {
        size_t at = sent % len;
        ssize_t s = send(fd, command + at, len - at, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (s > 0) {
            sent += (size_t)s;
            quiet_ms = testserver_now_ms();
        } else {
            testserver_pause();
        }
    }
    assert_true(sent < total);
    redisContext *c = testserver_connect(server);
    expect(c, "+PONG", "PING");
    redisFree(c);
    /* Everything sent is answered once it reads: the first and whatever is complete after it. */
    raw_expect(fd, "$20000\r\nxxxx");
}

static void a_half_closed_connection_still_gets_its_replies(void **state)
{
    raw_say(fd, "PING\r\nKV.SET '[\"half\"]' 1\r\nECHO end\r\n");
    shutdown(fd, SHUT_WR);
    raw_expect(fd, "+PONG\r\n$20\r\n");
    assert_true(text_fits(raw_line(fd), "@"));
    raw_expect(fd, "$3\r\nend\r\n");
    raw_expect_end(fd);
}

static void an_idle_client_is_closed(void **state)
{
    struct testserver *strict = testserver_start_with("--timeout", "1", NULL);
    int idle = raw_connect(strict);
    raw_send(idle, "PING\r\n", 6);
    raw_expect(idle, "+PONG\r\n");
    raw_expect_end(idle);
    close(idle);
    testserver_free(strict);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, group_enter, group_leave)
    const struct CMUnitTest tests[] = {
        TEST(inline_commands_are_split_with_quotes),
        TEST(nothing_is_answered_to_nothing),
        TEST(a_pipeline_in_one_write_is_answered_in_order),
        TEST(a_pipeline_byte_by_byte_is_answered_the_same),
        TEST(arguments_are_bytes),
        TEST(an_argument_of_many_reads_arrives_whole),
        TEST(a_hundred_thousand_arguments_are_read),
        TEST(protocol_errors_have_their_text_and_close),
        TEST(lines_without_an_end_are_refused),
        TEST(what_came_before_a_protocol_error_is_answered_first),
        TEST(a_write_before_a_protocol_error_is_acknowledged_and_done),
        TEST(web_pages_get_nowhere),
        TEST(big_counts_reserve_no_memory),
        TEST(a_request_larger_than_the_query_buffer_closes),
        TEST(unknown_commands_have_the_text_that_clients_look_for),
        TEST(what_was_probably_meant_is_named),
        TEST(an_unknown_command_with_many_arguments_is_cut_short),
        TEST(arity_errors_name_the_subcommand),
        TEST(maxclients_refuses_with_a_line),
        TEST(a_flood_does_not_starve_others),
        TEST(a_client_that_does_not_read_is_not_read_from),
        TEST(a_half_closed_connection_still_gets_its_replies),
        TEST(an_idle_client_is_closed),
    };
    return cmocka_run_group_tests(tests, start, group_stop);
}
