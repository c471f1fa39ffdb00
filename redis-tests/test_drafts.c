/* Replies that are written when they are sent, by the thread that sends them (src/base/drafts.h):
 * byte by byte what they are when they are written at once, which EXEC does, however slowly a
 * client reads, and whatever is dropped of them. tsan server: yes
 */
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
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
#include "tunnel.h"

#define ENTRIES 300
#define LONG_ENTRIES 20
#define LONG_BYTES ((size_t)20000)
#define HUGE_BYTES ((size_t)300000) /* a draft of so many is written by a thread of its own */
#define CLIENTS 24
#define TIMES 3
#define WAIT_MS 20000
#define COMMAND_BYTES_MAX 2048
#define MARK "$14\r\nend of replies\r\n"
#define SMALL_ROOM 4096 /* of a socket that is read slowly */

static redisContext *c;

static const char *const values[] = {
    "'v%d'",
    "%d",
    "-%d.5",
    "[%d,null,true,false,[],{}]",
    "{'name':'v%d','list':[1,2.25,-3,1e300],'text':'caf\u00e9\\u0001\\n\\u001f'}",
    "{'$bytes':'AP8x%04d'}",
    "{'a':{'$bigint':'1234567890123456789012345%d'},'b':9007199254740993}",
};
#define VALUES (int)(sizeof values / sizeof values[0])

static void fill_short(void)
{
    for (int i = 0; i < ENTRIES; i++) {
        char value[256];
        char command[COMMAND_BYTES_MAX];
        snprintf(value, sizeof value, values[i % VALUES], i % 100);
        snprintf(command, sizeof command, "KV.SET ['d',%d] {'n':%d,'v':%s}%s", i, i % 7, value,
                 i % 5 == 0 ? " EX 10000" : "");
        expect(c, "@", command);
    }
}

/* Text of bytes for which JSON has one, or six. */
static void set_text(const char *name, int i, bool is_six, size_t bytes)
{
    char *value = malloc(6 * bytes + 3);
    size_t len = 0;
    assert_non_null(value);
    value[len++] = '"';
    for (size_t k = 0; k < bytes; k++) {
        memcpy(value + len, is_six ? "\\u0002" : "x", is_six ? 6 : 1);
        len += is_six ? 6 : 1;
    }
    value[len++] = '"';
    expect(c, "@", "KV.SET ['%s',%d] %b", name, i, value, len);
    free(value);
}

static void set_long(const char *name, int i, bool is_six)
{
    set_text(name, i, is_six, LONG_BYTES);
}

static void fill(void)
{
    (void)ask(c, "KV.INDEX DROP all");
    expect(c, "+OK", "KV.INDEX CREATE all PREFIX ['d'] ON 1 n");
    fill_short();
    for (int i = 0; i < LONG_ENTRIES; i++) set_long("long", i, i % 2 == 0);
}

/* ---- replies as bytes ---- */

struct bytes {
    char *data; /* owned */
    size_t len;
};

/* Everything up to the mark, which it asks for. */
static struct bytes hear(int fd)
{
    struct bytes b = {0};
    size_t cap = 0;
    size_t mark = strlen(MARK);
    for (;;) {
        if (b.len == cap) {
            cap = cap == 0 ? 4096 : cap * 2;
            b.data = realloc(b.data, cap);
            assert_non_null(b.data);
        }
        struct pollfd p = {.fd = fd, .events = POLLIN};
        if (poll(&p, 1, WAIT_MS) != 1) fail_msg("no end of the replies after %zu bytes", b.len);
        ssize_t n = recv(fd, b.data + b.len, cap - b.len, 0);
        if (n <= 0) fail_msg("the connection ended after %zu bytes", b.len);
        b.len += (size_t)n;
        if (b.len >= mark && memcmp(b.data + b.len - mark, MARK, mark) == 0) break;
    }
    b.len -= mark;
    return b;
}

/* So many bytes. */
static struct bytes hear_bytes(int fd, size_t len)
{
    struct bytes b = {.data = malloc(len)};
    assert_non_null(b.data);
    while (b.len < len) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        if (poll(&p, 1, WAIT_MS) != 1) fail_msg("no more after %zu bytes of %zu", b.len, len);
        ssize_t n = recv(fd, b.data + b.len, len - b.len, 0);
        if (n <= 0) fail_msg("the connection ended after %zu bytes", b.len);
        b.len += (size_t)n;
    }
    return b;
}

static void tell(int fd, const char *command)
{
    char *words = NULL;
    char text[COMMAND_BYTES_MAX];
    snprintf(text, sizeof text, "%s", command);
    for (char *p = text; *p != '\0'; p++) {
        if (*p == '\'') *p = '"';
    }
    int len = redisFormatCommand(&words, text);
    assert_true(len > 0);
    raw_send(fd, words, (size_t)len);
    redisFreeCommand(words);
}

static void tell_mark(int fd)
{
    raw_say(fd, "*2\r\n$4\r\nECHO\r\n$14\r\nend of replies\r\n");
}

static struct bytes ask_bytes(int fd, const char *command)
{
    tell(fd, command);
    tell_mark(fd);
    return hear(fd);
}

static void expect_bytes(const struct bytes *got, const struct bytes *wanted, const char *what)
{
    size_t i = 0;
    while (i < got->len && i < wanted->len && got->data[i] == wanted->data[i]) i++;
    if (i == got->len && i == wanted->len) return;
    fail_msg("%s: %zu bytes, %zu were wanted; they differ at %zu: '%.*s', not '%.*s'", what,
             got->len, wanted->len, i, (int)(got->len - i < 60 ? got->len - i : 60), got->data + i,
             (int)(wanted->len - i < 60 ? wanted->len - i : 60), wanted->data + i);
}

/* What the command is answered within a transaction. */
static struct bytes ask_in_exec(int fd, const char *command)
{
    static const char before[] = "+OK\r\n+QUEUED\r\n*1\r\n";
    tell(fd, "MULTI");
    tell(fd, command);
    struct bytes b = ask_bytes(fd, "EXEC");
    assert_true(b.len > strlen(before));
    assert_memory_equal(b.data, before, strlen(before));
    b.len -= strlen(before);
    memmove(b.data, b.data + strlen(before), b.len);
    return b;
}

/* ---- the same bytes ---- */

static const struct {
    const char *command;
    long long drafts; /* in its reply */
} commands[] = {
    {"KV.LIST PREFIX ['d'] LIMIT 1000", 1},
    {"KV.LIST PREFIX ['d'] LIMIT 10", 1},
    {"KV.LIST PREFIX ['d'] LIMIT 10 REVERSE", 1},
    {"KV.LIST PREFIX ['d'] KEYSONLY LIMIT 50", 1},
    {"KV.LIST PREFIX ['d'] WITHEXPIRY LIMIT 50", 1},
    {"KV.LIST PREFIX ['d'] WITHEXPIRY KEYSONLY LIMIT 50", 1},
    {"KV.LIST PREFIX ['d'] LIMIT 50 FORMAT MSGPACK", 1},
    {"KV.LIST PREFIX ['d'] LIMIT 50 FORMAT JSON BARE", 1},
    {"KV.LIST PREFIX ['d'] WHERE {'n':3}", 1},
    {"KV.LIST PREFIX ['long'] LIMIT 5", 1},
    {"KV.LIST PREFIX ['long']", 0}, /* so long that its bytes are counted */
    {"KV.LIST PREFIX ['nothing']", 0},
    {"KV.LIST PREFIX ['d',1]", 0},
    {"KV.LIST PREFIX ['d'] LIMIT 1", 0}, /* short */
    {"KV.FIND all 3", 1},
    {"KV.FIND all 3 KEYSONLY", 1},
    {"KV.FIND all FROM 2 TO 5 WITHEXPIRY LIMIT 20", 1},
    {"KV.GET ['long',0]", 1},
    {"KV.GET ['long',1]", 1},
    {"KV.GET ['long',1] FORMAT MSGPACK", 0},
    {"KV.GET ['long',2] WITHVERSION", 1},
    {"KV.GET ['long',3] WITHEXPIRY", 1},
    {"KV.GET ['d',4]", 0},
    {"KV.MGET ['long',4] ['d',1] ['long',5] ['nothing']", 2},
};
#define COMMANDS (sizeof commands / sizeof commands[0])

static void check_all(int fd, const char *protocol)
{
    for (size_t i = 0; i < COMMANDS; i++) {
        const char *command = commands[i].command;
        long long before = load_info(c, "rendered_when_sent");
        struct bytes wanted = ask_in_exec(fd, command);
        assert_int_equal(load_info(c, "rendered_when_sent"), before);
        struct bytes got = ask_bytes(fd, command);
        expect_bytes(&got, &wanted, command);
        long long drafts = load_info(c, "rendered_when_sent") - before;
        if (drafts != commands[i].drafts) {
            fail_msg("%s: %s: %lld parts were written when they were sent", protocol, command,
                     drafts);
        }
        free(got.data);
        free(wanted.data);
    }
}

static void replies_are_what_they_are_in_a_transaction(void **state)
{
    fill();
    int fd = raw_connect(server);
    check_all(fd, "RESP2");
    struct bytes hello = ask_bytes(fd, "HELLO 3");
    free(hello.data);
    check_all(fd, "RESP3");
    close(fd);
}

static const char *const huge_commands[] = {
    "KV.GET ['huge',0]",
    "KV.GET ['huge',1] WITHVERSION",
    "KV.MGET ['huge',0] ['d',1] ['huge',1] ['long',4] ['huge',0]",
    "KV.LIST PREFIX ['huge']",
};
#define HUGE_COMMANDS (sizeof huge_commands / sizeof huge_commands[0])

/* Those that take long are written by a thread, while others are served: in their place, in order, also
 * when more comes after them. */
static void long_ones_are_the_same(void **state)
{
    struct bytes wanted[HUGE_COMMANDS];
    fill();
    set_text("huge", 0, true, HUGE_BYTES);
    set_text("huge", 1, false, HUGE_BYTES);
    int fd = raw_connect(server);
    int other = raw_connect(server);
    for (size_t i = 0; i < HUGE_COMMANDS; i++) wanted[i] = ask_in_exec(fd, huge_commands[i]);
    for (size_t i = 0; i < HUGE_COMMANDS; i++) {
        struct bytes got = ask_bytes(fd, huge_commands[i]);
        expect_bytes(&got, &wanted[i], huge_commands[i]);
        free(got.data);
    }
    for (size_t n = 0; n < TIMES; n++) {
        for (size_t i = 0; i < HUGE_COMMANDS; i++) {
            tell(fd, huge_commands[i]);
            tell_mark(fd);
        }
        /* One that goes away meanwhile. */
        int gone = raw_connect(server);
        tell(gone, huge_commands[n % HUGE_COMMANDS]);
        close(gone);
        struct bytes short_one = ask_bytes(other, "KV.GET ['d',4]");
        assert_true(short_one.len > 0);
        free(short_one.data);
    }
    for (size_t n = 0; n < TIMES; n++) {
        for (size_t i = 0; i < HUGE_COMMANDS; i++) {
            char text[64];
            struct bytes got = hear_bytes(fd, wanted[i].len + strlen(MARK));
            snprintf(text, sizeof text, "command %zu, time %zu", i, n);
            got.len -= strlen(MARK);
            expect_bytes(&got, &wanted[i], text);
            free(got.data);
        }
    }
    for (size_t i = 0; i < HUGE_COMMANDS; i++) free(wanted[i].data);
    close(fd);
    close(other);
}

/* Entries that are kept to be written later are fewer bytes than they will be. */
static void a_long_page_ends_where_it_has_to(void **state)
{
    size_t max = 16 << 20; /* src/request/command.h: LIST_PAGE_BYTES_MAX */
    size_t each = 6 * LONG_BYTES + 60;
    for (size_t i = 0; i < max / each + 20; i++) set_long("page", (int)i, true);
    int fd = raw_connect(server);
    struct bytes got = ask_bytes(fd, "KV.LIST PREFIX ['page'] LIMIT 1000");
    assert_in_range(got.len, max, max + each + 100);
    free(got.data);
    close(fd);
}

/* The reply is kept for the next who says the same. */
static void a_reply_that_is_kept_is_kept_as_it_is(void **state)
{
    char digits[613]; /* of 255 bytes, as many as a bigint may have */
    char command[COMMAND_BYTES_MAX];
    memset(digits, '7', sizeof digits);
    digits[sizeof digits - 1] = '\0';
    snprintf(command, sizeof command, "KV.SUM ['n'] {'$bigint':'%s'} IDEM once", digits);
    int fd = raw_connect(server);
    struct bytes first = ask_bytes(fd, command);
    struct bytes again = ask_bytes(fd, command);
    assert_true(first.len > sizeof digits);
    assert_memory_equal(first.data, "*2\r\n$626\r\n{\"$bigint\":\"777", 25);
    expect_bytes(&again, &first, command);
    free(first.data);
    free(again.data);
    close(fd);
}

/* ---- many at once ---- */

/* What all commands together are answered. */
static struct bytes all_replies(int fd)
{
    for (size_t i = 0; i < COMMANDS; i++) tell(fd, commands[i].command);
    tell_mark(fd);
    return hear(fd);
}

/* Clients that send everything before they read anything, and all at once, since the server is
 * stopped meanwhile. It runs no command of one of whom so much is unsent, and sends what the sockets
 * take. */
static void read_slowly(const int fds[CLIENTS])
{
    struct bytes wanted = all_replies(fds[0]);
    assert_int_equal(kill(testserver_pid(server), SIGSTOP), 0);
    for (size_t i = 0; i < CLIENTS; i++) {
        for (size_t n = 0; n < TIMES * COMMANDS; n++) tell(fds[i], commands[n % COMMANDS].command);
        tell_mark(fds[i]);
    }
    assert_int_equal(kill(testserver_pid(server), SIGCONT), 0);
    expect(c, "+PONG", "PING");
    for (size_t i = 0; i < CLIENTS; i++) {
        struct bytes got = hear(fds[i]);
        assert_int_equal(got.len, TIMES * wanted.len);
        for (size_t n = 0; n < TIMES; n++) {
            struct bytes one = {got.data + n * wanted.len, wanted.len};
            expect_bytes(&one, &wanted, "one of many");
        }
        free(got.data);
    }
    free(wanted.data);
}

static void many_slow_readers_get_the_same(void **state)
{
    int fds[CLIENTS];
    int room = 16 * SMALL_ROOM;
    fill();
    for (size_t i = 0; i < CLIENTS; i++) {
        fds[i] = raw_connect(server);
        if (i % 2 == 0) setsockopt(fds[i], SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
    }
    long long helped = load_info(c, "io_threaded_writes_processed");
    read_slowly(fds);
    assert_true(load_info(c, "io_threaded_writes_processed") > helped);
    for (size_t i = 0; i < CLIENTS; i++) close(fds[i]);
}

static void under_tls_too(void **state)
{
    struct tunnel *tunnels[CLIENTS];
    int fds[CLIENTS];
    fill();
    for (size_t i = 0; i < CLIENTS; i++) {
        tunnels[i] = tunnel_open(testserver_tls_port(server), NULL);
        assert_non_null(tunnels[i]);
        fds[i] = tunnel_fd(tunnels[i]);
    }
    read_slowly(fds);
    for (size_t i = 0; i < CLIENTS; i++) tunnel_close(tunnels[i]);
}

/* ---- what is dropped ---- */

static void a_reply_that_nobody_wants_is_not_written(void **state)
{
    fill();
    int fd = raw_connect(server);
    for (int i = 0; i < 4; i++) tell(fd, "KV.GET ['d',4]");
    struct bytes wanted = ask_bytes(fd, "CLIENT REPLY ON");
    long long before = load_info(c, "rendered_when_sent");
    tell(fd, "CLIENT REPLY SKIP");
    tell(fd, "KV.LIST PREFIX ['d']");
    for (int i = 0; i < 4; i++) tell(fd, "KV.GET ['d',4]"); /* longer than what was dropped */
    tell(fd, "CLIENT REPLY OFF");
    tell(fd, "KV.GET ['long',1]");
    tell(fd, "KV.LIST PREFIX ['d']");
    tell(fd, "CLIENT REPLY ON");
    tell_mark(fd);
    struct bytes got = hear(fd);
    expect_bytes(&got, &wanted, "what is wanted");
    free(got.data);
    free(wanted.data);
    assert_int_equal(load_info(c, "rendered_when_sent"), before);
    close(fd);
}

/* Of a command that has to wait for the disk in the middle of its reply, what it has said is
 * dropped, and said again. */
static void a_reply_that_is_begun_again_is_whole(void **state)
{
    char command[COMMAND_BYTES_MAX] = "KV.MGET";
    fill();
    for (int i = 0; i < LONG_ENTRIES; i++) {
        size_t len = strlen(command);
        snprintf(command + len, sizeof command - len, " ['long',%d]", i);
    }
    int fd = raw_connect(server);
    struct bytes wanted = ask_in_exec(fd, command);
    close(fd);
    for (int i = 0; i < TIMES; i++) {
        group_again(false); /* nothing is in memory but what is read now */
        fd = raw_connect(server);
        struct bytes first = ask_bytes(fd, "KV.GET ['long',0]");
        struct bytes got = ask_bytes(fd, command);
        expect_bytes(&got, &wanted, command);
        free(first.data);
        free(got.data);
        close(fd);
    }
    free(wanted.data);
}

/* Clients go while some of what they asked for is written and not sent; what others get is theirs.
 */
static void those_that_go_take_nothing_with_them(void **state)
{
    fill();
    for (int n = 0; n < TIMES * 2; n++) {
        int fds[CLIENTS];
        int room = SMALL_ROOM;
        for (size_t i = 0; i < CLIENTS; i++) {
            fds[i] = raw_connect(server);
            setsockopt(fds[i], SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
            for (size_t k = 0; k < COMMANDS; k++) tell(fds[i], commands[k].command);
        }
        expect(c, "+PONG", "PING");
        for (size_t i = 0; i < CLIENTS; i++) close(fds[i]);
    }
    load_wait_info(c, "connected_clients", 1);
}

/* Messages whose reply was not sent whole are there for others, without waiting for the lease. */
static void messages_that_were_not_sent_are_given_back(void **state)
{
    enum { MESSAGES = 400, BYTES = 20000 };
    char *text = malloc(BYTES + 2);
    assert_non_null(text);
    memset(text, 'm', BYTES + 2);
    text[0] = text[BYTES + 1] = '"';
    for (int i = 0; i < MESSAGES; i++) {
        freeReplyObject(ask_reply(c, "KV.ENQUEUE q %b", text, (size_t)BYTES + 2));
    }
    int fd = raw_connect(server);
    int room = SMALL_ROOM;
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
    for (int i = 0; i < MESSAGES / 100; i++) tell(fd, "KV.DEQUEUE q COUNT 100 LEASE 600000");
    load_wait_info(c, "connected_clients", 2);
    while (load_queue(c, "q", "leased") == 0) testserver_pause();
    assert_true(load_info(c, "rendered_when_sent") > 0);
    close(fd);
    load_wait_info(c, "connected_clients", 1);
    /* What stood in the sockets is the other's until its lease ends. */
    long waited = testserver_now_ms();
    while (load_queue(c, "q", "ready") < MESSAGES / 4) {
        if (testserver_now_ms() - waited > WAIT_MS) fail_msg("no message was given back");
        testserver_pause();
    }
    assert_int_equal(load_queue(c, "q", "ready leased"), MESSAGES);
    free(text);
}

static int start(void **state)
{
    group_opens(&c, NULL);
    return group_start_threads(state);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, group_enter, group_leave)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(replies_are_what_they_are_in_a_transaction),
        TEST(long_ones_are_the_same),
        TEST(a_long_page_ends_where_it_has_to),
        TEST(a_reply_that_is_kept_is_kept_as_it_is),
        TEST(many_slow_readers_get_the_same),
        TEST(under_tls_too),
        TEST(a_reply_that_nobody_wants_is_not_written),
        TEST(a_reply_that_is_begun_again_is_whole),
        TEST(those_that_go_take_nothing_with_them),
        TEST(messages_that_were_not_sent_are_given_back),
    };
    return cmocka_run_group_tests(tests, start, group_stop);
}
