/* TLS: everything that works without it works with it; who is let in; new certificates under open
 * connections; and those that connect to do harm. Certificates are made by the test. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "certs.h"
#include "client.h"
#include "group.h"
#include "load_help.h"
#include "tunnel.h"

#define LIMIT_MS 20000
#define PASSWORD "geheim-4711"
#define BIG_BYTES ((size_t)10 << 20)

static redisContext *c; /* without TLS: looks at the server from beside */
static int port;        /* of TLS */

/* ---- help ------------------------------------------------------------------------------------ */

static const char *crt(const char *name)
{
    return certs_path(group_scratch(), name, ".crt");
}

static const char *key(const char *name)
{
    return certs_path(group_scratch(), name, ".key");
}

static void make(struct cert_options o)
{
    certs_make(group_scratch(), &o);
}

static void write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void copy_file(const char *from, const char *to)
{
    char command[512];
    snprintf(command, sizeof command, "cp '%s' '%s.new' && mv '%s.new' '%s'", from, to, to, to);
    assert_int_equal(system(command), 0);
}

static bool info_has(const char *text)
{
    redisReply *r = ask_reply(c, "INFO tls");
    bool found = strstr(r->str, text) != NULL;
    freeReplyObject(r);
    return found;
}

static void poll_figure(const char *name, long long least)
{
    long until = testserver_now_ms() + LIMIT_MS;
    while (load_info(c, name) < least) {
        if (testserver_now_ms() > until) {
            fail_msg("%s is %lld, never %lld", name, load_info(c, name), least);
        }
        testserver_pause();
    }
}

static void poll_log(const char *text)
{
    long until = testserver_now_ms() + LIMIT_MS;
    while (!testserver_has_logged(server, text)) {
        if (testserver_now_ms() > until) fail_msg("never logged: %s", text);
        testserver_pause();
    }
}

/* A socket to the TLS port that has said nothing. */
static int silent(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

/* Must be closed, by an end or a reset, without a byte. */
static void expect_closed(int fd)
{
    char byte;
    struct pollfd p = {.fd = fd, .events = POLLIN};
    if (poll(&p, 1, LIMIT_MS) != 1) fail_msg("is not closed");
    ssize_t got = recv(fd, &byte, 1, 0);
    if (got > 0) fail_msg("got a byte, 0x%02x", (unsigned char)byte);
    close(fd);
}

static char *filled(size_t bytes, char with)
{
    char *text = malloc(bytes + 1);
    if (text == NULL) abort();
    memset(text, with, bytes);
    for (size_t i = 0; i < bytes; i += 4093) text[i] = (char)('a' + i % 26);
    text[bytes] = '\0';
    return text;
}

/* ---- the group ------------------------------------------------------------------------------- */

static void make_certificates(void)
{
    make((struct cert_options){.name = "ca"});
    make((struct cert_options){.name = "other-ca"});
    make((struct cert_options){.name = "first", .issuer = "ca"});
    make((struct cert_options){.name = "second", .issuer = "ca", .end_s = 86400L * 90});
    make((struct cert_options){.name = "locked", .issuer = "ca", .password = PASSWORD});
    make((struct cert_options){.name = "ended", .issuer = "ca", .begin_s = -9000, .end_s = -3600});
    make((struct cert_options){.name = "alice", .issuer = "ca"});
    make((struct cert_options){.name = "stranger", .issuer = "other-ca"});
    write_file(certs_path(group_scratch(), "empty", ".crt"), "");
    write_file(certs_path(group_scratch(), "nonsense", ".crt"), "this is no certificate\n");
}

static int start(void **state)
{
    group_opens(&c, NULL);
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max < 8192 ? files.rlim_max : 8192;
    setrlimit(RLIMIT_NOFILE, &files);
    make_certificates();
    const char *args[] = {"--tls-cert-file",
                          crt("first"),
                          "--tls-key-file",
                          key("first"),
                          "--tls-auth-clients",
                          "no",
                          "--loglevel",
                          "debug",
                          NULL};
    server = testserver_start(&(struct testserver_options){.args = args, .has_tls = true});
    port = testserver_tls_port(server);
    return 0;
}

/* The settings as they were at the start. */
static int leave(void **state)
{
    tunnels_close();
    group_connect();
    expect(c, "+OK",
           "CONFIG SET tls-cert-file %s tls-key-file %s tls-key-file-pass %s tls-ca-cert-file %s "
           "tls-auth-clients no tls-protocols %s tls-ciphers %s tls-ciphersuites %s "
           "tls-prefer-server-ciphers no tls-auto-reload-interval 0 maxclients 10000",
           crt("first"), key("first"), "", "", "", "", "");
    expect(c, "+OK", "CONFIG RESETSTAT");
    expect(c, "+OK", "FLUSHALL");
    return group_leave(state);
}

/* ---- the same as without --------------------------------------------------------------------- */

static void commands_work_in_both_protocols(void **state)
{
    redisContext *t = tunnel_connect(port, NULL);
    expect(t, "@", "KV.SET ['a'] {'n':1}");
    expect(t, "{'n':1}", "KV.GET ['a']");
    expect(t, "-ERR *", "KV.GET nonsense");
    expect(t, "+OK", "MULTI");
    expect(t, "+QUEUED", "INCR n");
    expect(t, "[:1]", "EXEC");
    redisFree(t);
    struct tunnel *third = tunnel_open(port, NULL);
    assert_non_null(third);
    raw_say(tunnel_fd(third), "HELLO 3\r\n");
    while (strcmp(raw_line(tunnel_fd(third)), "*0") != 0) continue; /* no modules: its end */
    raw_say(tunnel_fd(third), "GET nosuch\r\nINCR n\r\n");
    raw_expect(tunnel_fd(third), "_\r\n:2\r\n");
    tunnel_close(third);
    expect(c, "{'n':1}", "KV.GET ['a']");
}

static void ten_megabytes_go_both_ways(void **state)
{
    char *text = filled(BIG_BYTES, 'x');
    redisContext *t = tunnel_connect(port, NULL);
    for (int i = 0; i < 2; i++) {
        redisReply *r = redisCommand(t, "SET big %b", text, BIG_BYTES);
        assert_non_null(r);
        assert_string_equal(r->str, "OK");
        freeReplyObject(r);
        r = redisCommand(t, "GET big");
        assert_non_null(r);
        assert_int_equal(r->len, BIG_BYTES);
        assert_memory_equal(r->str, text, BIG_BYTES);
        freeReplyObject(r);
    }
    redisFree(t);
    free(text);
}

static void a_hundred_thousand_commands_in_one_go(void **state)
{
    enum { COMMANDS = 100000 };
    redisContext *t = tunnel_connect(port, NULL);
    for (int i = 0; i < COMMANDS; i++) redisAppendCommand(t, "INCR n");
    for (int i = 1; i <= COMMANDS; i++) {
        void *reply = NULL;
        assert_int_equal(redisGetReply(t, &reply), REDIS_OK);
        assert_int_equal(((redisReply *)reply)->integer, i);
        freeReplyObject(reply);
    }
    redisFree(t);
}

/* More than goes into the sockets is unsent while nothing is read. */
static void a_reader_that_is_late_gets_all_of_it(void **state)
{
    enum { TIMES = 30 };
    size_t bytes = (size_t)1 << 20;
    char *text = filled(bytes, 'y');
    redisContext *t = tunnel_connect(port, NULL);
    freeReplyObject(redisCommand(t, "SET late %b", text, bytes));
    for (int i = 0; i < TIMES; i++) redisAppendCommand(t, "GET late");
    redisAppendCommand(t, "PING");
    load_flush(t);
    expect(c, "+OK", "SET other 1");
    for (int i = 0; i < TIMES; i++) {
        void *reply = NULL;
        assert_int_equal(redisGetReply(t, &reply), REDIS_OK);
        assert_int_equal(((redisReply *)reply)->len, bytes);
        assert_memory_equal(((redisReply *)reply)->str, text, bytes);
        freeReplyObject(reply);
    }
    expect_next(t, "+PONG");
    redisFree(t);
    free(text);
}

/* Records of a few bytes, each with a header of its own, and some of them in one read. */
static void requests_in_small_pieces(void **state)
{
    struct tunnel_options o = {.piece_bytes = 3};
    redisContext *t = tunnel_connect(port, &o);
    for (int i = 0; i < 200; i++) say(t, "SET pieces-%d %s", i, "0123456789");
    expect_many(t, 200, "+OK");
    for (int i = 0; i < 200; i++) say(t, "GET pieces-%d", i);
    expect_many(t, 200, "0123456789");
    redisFree(t);
}

static void keys_of_the_connection_may_change(void **state)
{
    struct tunnel_options o = {
        .version_min = TLS1_3_VERSION, .piece_bytes = 50, .key_update_each = 2};
    redisContext *t = tunnel_connect(port, &o);
    char *text = filled(100000, 'z');
    for (int i = 0; i < 5; i++) {
        redisReply *r = redisCommand(t, "ECHO %b", text, (size_t)100000);
        assert_non_null(r);
        assert_int_equal(r->len, 100000);
        assert_memory_equal(r->str, text, 100000);
        freeReplyObject(r);
    }
    redisFree(t);
    free(text);
}

static void blocked_commands_get_their_reply(void **state)
{
    redisContext *waits = tunnel_connect(port, NULL);
    redisContext *polls = tunnel_connect(port, NULL);
    redisContext *writes = tunnel_connect(port, NULL);
    const char *stamp = ask(writes, "KV.SET ['polled'] 1");
    say(waits, "KV.DEQUEUE jobs BLOCK 20000");
    say(polls, "KV.POLL BLOCK 20000 KEYS 1 ['polled'] %s", stamp);
    load_flush(waits);
    load_flush(polls);
    load_wait_info(c, "blocked_clients", 2);
    expect(writes, "@*", "KV.ENQUEUE jobs {'n':7}");
    expect_next(waits, "[[jobs * {'n':7} :1 *]]");
    expect(writes, "@", "KV.SET ['polled'] 2");
    expect_next(polls, "*2*");
    redisFree(waits);
    redisFree(polls);
    redisFree(writes);
}

/* Nothing is read of it while it is blocked; its end is noticed. */
static void who_goes_while_blocked_is_gone(void **state)
{
    redisContext *t = tunnel_connect(port, NULL);
    say(t, "KV.DEQUEUE nothing BLOCK 0");
    load_flush(t);
    load_wait_info(c, "blocked_clients", 1);
    assert_int_equal(load_info(c, "tls_connections"), 1);
    redisFree(t);
    tunnels_close();
    load_wait_info(c, "tls_connections", 0);
}

static void messages_are_pushed(void **state)
{
    redisContext *t = tunnel_connect(port, NULL);
    expect(t, "[subscribe news :1]", "SUBSCRIBE news");
    say(t, "SUBSCRIBE kv:watch:['w']");
    expect_next(t, "[subscribe * :2]");
    expect_next(t, "[message * *]");
    for (int i = 0; i < 1000; i++) expect(c, ":1", "PUBLISH news hello-%d", i);
    for (int i = 0; i < 1000; i++) {
        char wanted[64];
        snprintf(wanted, sizeof wanted, "[message news hello-%d]", i);
        expect_next(t, wanted);
    }
    expect(c, "@", "KV.SET ['w'] 5");
    expect_next(t, "[message *'value':5*]");
    redisFree(t);
}

static void messages_are_pushed_in_resp3(void **state)
{
    struct tunnel *t = tunnel_open(port, NULL);
    assert_non_null(t);
    raw_say(tunnel_fd(t), "HELLO 3\r\n");
    while (strcmp(raw_line(tunnel_fd(t)), "*0") != 0) continue;
    raw_say(tunnel_fd(t), "SUBSCRIBE news\r\n");
    raw_expect(tunnel_fd(t), ">3\r\n$9\r\nsubscribe\r\n$4\r\nnews\r\n:1\r\n");
    expect(c, ":1", "PUBLISH news hello");
    raw_expect(tunnel_fd(t), ">3\r\n$7\r\nmessage\r\n$4\r\nnews\r\n$5\r\nhello\r\n");
    raw_say(tunnel_fd(t), "PING\r\n");
    raw_expect(tunnel_fd(t), "+PONG\r\n");
    tunnel_close(t);
}

/* Its last words come together with the end of its side. */
static void what_was_sent_before_the_end_is_answered(void **state)
{
    char got[4096];
    size_t len = 0;
    struct tunnel *t = tunnel_open(port, NULL);
    assert_non_null(t);
    raw_say(tunnel_fd(t), "SET a 1\r\nGET a\r\nPING\r\n");
    shutdown(tunnel_fd(t), SHUT_WR);
    for (ssize_t n = 1; n > 0 && len < sizeof got; len += (size_t)n) {
        struct pollfd p = {.fd = tunnel_fd(t), .events = POLLIN};
        if (poll(&p, 1, LIMIT_MS) != 1) fail_msg("no answer");
        n = recv(tunnel_fd(t), got + len, sizeof got - len, 0);
        if (n < 0) fail_msg("recv: %s", strerror(errno));
    }
    assert_int_equal(len, strlen("+OK\r\n$1\r\n1\r\n+PONG\r\n"));
    assert_memory_equal(got, "+OK\r\n$1\r\n1\r\n+PONG\r\n", len);
    tunnel_close(t);
}

/* ---- who is let in --------------------------------------------------------------------------- */

static void certificates_of_clients(void **state)
{
    static const struct {
        const char *auth;
        bool none, good, stranger;
    } cases[] = {
        {"yes", false, true, false},
        {"optional", true, true, false},
        {"no", true, true, true},
    };
    struct tunnel_options good = {.cert = crt("alice"), .key = key("alice"), .ca = crt("ca")};
    struct tunnel_options stranger = {.cert = crt("stranger"), .key = key("stranger")};
    char ca[256];
    snprintf(ca, sizeof ca, "%s", crt("ca"));
    good.ca = ca;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        expect(c, "+OK", "CONFIG SET tls-ca-cert-file %s tls-auth-clients %s", ca, cases[i].auth);
        assert_int_equal(tunnel_is_served(port, NULL), cases[i].none);
        assert_int_equal(tunnel_is_served(port, &good), cases[i].good);
        assert_int_equal(tunnel_is_served(port, &stranger), cases[i].stranger);
    }
    poll_figure("tls_handshakes_failed", 3);
    expect(c, "+OK", "CONFIG SET tls-auth-clients yes tls-ca-cert-file %s", crt("other-ca"));
    assert_false(tunnel_is_served(port, &good));
    assert_true(tunnel_is_served(port, &stranger));
    expect(c, "-ERR *set tls-ca-cert-file or tls-ca-cert-dir*", "CONFIG SET tls-ca-cert-file %s",
           "");
}

static void a_certificate_names_its_user(void **state)
{
    struct tunnel_options alice = {.cert = crt("alice"), .key = key("alice")};
    expect(c, "+OK",
           "CONFIG SET tls-ca-cert-file %s tls-auth-clients optional tls-auth-clients-user cn",
           crt("ca"));
    redisContext *t = tunnel_connect(port, &alice);
    expect(t, "default", "ACL WHOAMI"); /* there is no alice */
    redisFree(t);
    expect(c, "+OK", "ACL SETUSER alice on >secret +@all -flushall ~a*");
    expect(c, "+OK", "CONFIG SET requirepass other");
    t = tunnel_connect(port, &alice);
    expect(t, "alice", "ACL WHOAMI");
    expect(t, "+OK", "SET a 1");
    expect(t, "-NOPERM *", "FLUSHALL");
    expect(t, "+OK", "AUTH other");
    expect(t, "+RESET", "RESET");
    expect(t, "alice", "ACL WHOAMI");
    redisFree(t);
    redisContext *nobody = tunnel_connect(port, NULL);
    expect(nobody, "-NOAUTH *", "PING");
    redisFree(nobody);
    expect(c, "+OK", "CONFIG SET maxclients-per-user 1");
    t = tunnel_connect(port, &alice);
    expect(t, "alice", "ACL WHOAMI");
    redisContext *second = tunnel_connect(port, &alice);
    expect(second, "-NOAUTH *", "PING");
    redisFree(second);
    redisFree(t);
    expect(c, "+OK", "CONFIG SET maxclients-per-user 0");
    expect(c, "+OK", "ACL SETUSER alice off");
    t = tunnel_connect(port, &alice);
    expect(t, "-NOAUTH *", "PING");
    redisFree(t);
    expect(c, "+OK", "CONFIG SET requirepass %s tls-auth-clients-user off", "");
    expect(c, ":1", "ACL DELUSER alice");
}

static void a_client_that_knows_another_authority_goes(void **state)
{
    struct tunnel_options right = {.ca = crt("ca")};
    struct tunnel_options wrong = {.ca = crt("other-ca")};
    assert_true(tunnel_is_served(port, &right));
    assert_null(tunnel_open(port, &wrong));
    poll_figure("tls_handshakes_failed", 1);
    poll_log("TLS handshake failed: ");
}

static void protocols_and_ciphers_are_chosen(void **state)
{
    struct tunnel_options old = {.version_min = TLS1_VERSION, .version_max = TLS1_1_VERSION};
    struct tunnel_options only_2 = {.version_max = TLS1_2_VERSION};
    struct tunnel_options only_3 = {.version_min = TLS1_3_VERSION};
    assert_false(tunnel_is_served(port, &old));
    assert_true(tunnel_is_served(port, &only_2));
    assert_true(tunnel_is_served(port, &only_3));
    expect(c, "+OK", "CONFIG SET tls-protocols TLSv1.3");
    assert_false(tunnel_is_served(port, &only_2));
    assert_true(tunnel_is_served(port, &only_3));
    expect(c, "+OK", "CONFIG SET tls-protocols tlsv1.2");
    assert_true(tunnel_is_served(port, &only_2));
    assert_false(tunnel_is_served(port, &only_3));
    expect(c, "-ERR *must be TLSv1.2, TLSv1.3 or both, not TLSv1.1", "CONFIG SET tls-protocols %s",
           "TLSv1.1 TLSv1.2");
}

static void expect_cipher(const struct tunnel_options *o, const char *wanted)
{
    struct tunnel *t = tunnel_open(port, o);
    assert_non_null(t);
    assert_string_equal(tunnel_cipher(t), wanted);
    tunnel_close(t);
}

static void the_servers_ciphers_count_when_it_says_so(void **state)
{
#define A "ECDHE-ECDSA-AES128-GCM-SHA256"
#define B "ECDHE-ECDSA-AES256-GCM-SHA384"
#define C "ECDHE-ECDSA-CHACHA20-POLY1305"
    struct tunnel_options o = {.version_max = TLS1_2_VERSION, .ciphers = A ":" B};
    struct tunnel_options other = {.version_max = TLS1_2_VERSION, .ciphers = C};
    expect(c, "+OK", "CONFIG SET tls-ciphers %s", B ":" A);
    expect_cipher(&o, A);
    assert_false(tunnel_is_served(port, &other));
    expect(c, "+OK", "CONFIG SET tls-prefer-server-ciphers yes");
    expect_cipher(&o, B);
    expect(c, "+OK", "CONFIG SET tls-ciphersuites TLS_AES_128_GCM_SHA256");
    expect_cipher(NULL, "TLS_AES_128_GCM_SHA256");
    expect(c, "-ERR *invalid value of tls-ciphers*", "CONFIG SET tls-ciphers nonsense");
    expect(c, "-ERR *invalid value of tls-ciphersuites*", "CONFIG SET tls-ciphersuites nonsense");
}

/* ---- new files ------------------------------------------------------------------------------- */

static void expect_server(const char *name)
{
    struct tunnel_options o = {.ca = crt("ca")};
    struct tunnel *t = tunnel_open(port, &o);
    assert_non_null(t);
    assert_string_equal(tunnel_server_name(t), name);
    tunnel_close(t);
}

static void poll_server(const char *name)
{
    long until = testserver_now_ms() + LIMIT_MS;
    for (;;) {
        struct tunnel *t = tunnel_open(port, NULL);
        assert_non_null(t);
        bool is_it = strcmp(tunnel_server_name(t), name) == 0;
        tunnel_close(t);
        if (is_it) return;
        if (testserver_now_ms() > until) fail_msg("never the certificate of %s", name);
        testserver_pause();
    }
}

enum { OPEN = 200 };

static void all_go_on(redisContext **open, int round)
{
    for (int i = 0; i < OPEN; i++) say(open[i], "INCR count-%d", i);
    char wanted[16];
    snprintf(wanted, sizeof wanted, ":%d", round);
    for (int i = 0; i < OPEN; i++) expect_next(open[i], wanted);
    assert_int_equal(load_info(c, "tls_connections"), OPEN);
}

/* By CONFIG SET with other names, by CONFIG SET with the same name again, by SIGHUP, by itself. */
static void new_files_are_taken_and_nobody_is_disturbed(void **state)
{
    redisContext *open[OPEN];
    char live_crt[256];
    char live_key[256];
    snprintf(live_crt, sizeof live_crt, "%s", crt("live"));
    snprintf(live_key, sizeof live_key, "%s", key("live"));
    for (int i = 0; i < OPEN; i++) open[i] = tunnel_connect(port, NULL);
    all_go_on(open, 1);
    copy_file(crt("second"), live_crt);
    copy_file(key("second"), live_key);
    expect(c, "+OK", "CONFIG SET tls-cert-file %s tls-key-file %s", live_crt, live_key);
    expect_server("second");
    all_go_on(open, 2);

    copy_file(crt("first"), live_crt);
    copy_file(key("first"), live_key);
    expect_server("second");
    expect(c, "+OK", "CONFIG SET tls-cert-file %s", live_crt);
    expect_server("first");
    all_go_on(open, 3);

    copy_file(crt("second"), live_crt);
    copy_file(key("second"), live_key);
    assert_int_equal(kill(testserver_pid(server), SIGHUP), 0);
    poll_server("second");
    load_wait_info(c, "tls_connections", OPEN);
    all_go_on(open, 4);

    expect(c, "+OK", "CONFIG SET tls-auto-reload-interval 1");
    copy_file(crt("first"), live_crt); /* for a moment they do not fit */
    copy_file(key("first"), live_key);
    poll_server("first");
    load_wait_info(c, "tls_connections", OPEN);
    all_go_on(open, 5);
    assert_true(load_info(c, "tls_reloads") >= 4);
    assert_true(info_has("tls_last_reload_status:ok\r\n"));
    for (int i = 0; i < OPEN; i++) redisFree(open[i]);
}

static void bad_files_are_refused_and_the_old_stay(void **state)
{
    static const struct {
        const char *setting, *file, *says;
    } cases[] = {
        {"tls-cert-file", "missing.crt", "*cannot load *missing.crt: No such file*"},
        {"tls-cert-file", "empty.crt", "*cannot load *empty.crt: no start line*"},
        {"tls-cert-file", "nonsense.crt", "*cannot load *nonsense.crt: no start line*"},
        {"tls-cert-file", "second.crt",
         "*cannot load *first.key: key values mismatch*does not belong to tls-cert-file"},
        {"tls-key-file", "missing.key", "*cannot load *missing.key: No such file*"},
        {"tls-key-file", "nonsense.crt", "*cannot load *nonsense.crt: *"},
        {"tls-key-file", "second.key", "*cannot load *second.key: key values mismatch*"},
        {"tls-key-file", "locked.key", "*cannot load *locked.key: *has a password*"},
        {"tls-ca-cert-file", "missing.crt", "*cannot load *missing.crt: No such file*"},
        {"tls-ca-cert-file", "nonsense.crt", "*cannot load *nonsense.crt: *"},
        {"tls-ca-cert-dir", "missing", "*missing: no such directory"},
    };
    long long reloads = load_info(c, "tls_reloads");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char wanted[300];
        snprintf(wanted, sizeof wanted, "-ERR CONFIG SET failed*%s%s", cases[i].setting,
                 cases[i].says);
        expect(c, wanted, "CONFIG SET timeout 77 %s %s", cases[i].setting,
               certs_path(group_scratch(), cases[i].file, ""));
        expect(c, "[timeout 0]", "CONFIG GET timeout");
        expect_server("first");
    }
    assert_int_equal(load_info(c, "tls_reloads"), reloads);
}

/* A bad file that is found by SIGHUP: INFO and the log say so until a good one is taken. */
static void a_reload_that_fails_is_told(void **state)
{
    char live[256];
    snprintf(live, sizeof live, "%s", crt("failing"));
    copy_file(crt("first"), live);
    expect(c, "+OK", "CONFIG SET tls-cert-file %s", live);
    write_file(live, "no certificate any more\n");
    long long failures = load_info(c, "tls_reload_failures");
    assert_int_equal(kill(testserver_pid(server), SIGHUP), 0);
    poll_figure("tls_reload_failures", failures + 1);
    assert_true(info_has("tls_last_reload_status:err\r\n"));
    assert_true(info_has("failing.crt: no start line"));
    poll_log(
        "TLS: configuration not reloaded (SIGHUP); keeping the previous one: cannot load tls-cert-file");
    expect_server("first");
    copy_file(crt("first"), live);
    assert_int_equal(kill(testserver_pid(server), SIGHUP), 0);
    long until = testserver_now_ms() + LIMIT_MS;
    while (!info_has("tls_last_reload_status:ok\r\ntls_last_reload_error:\r\n")) {
        if (testserver_now_ms() > until) fail_msg("the good file is not taken");
        testserver_pause();
    }
}

static void the_password_of_the_key_is_told_to_nobody(void **state)
{
    expect(c, "+OK", "CONFIG SET slowlog-log-slower-than 0");
    expect(c, "-ERR *locked.key: *tls-key-file-pass is wrong",
           "CONFIG SET tls-cert-file %s tls-key-file %s tls-key-file-pass wrong-" PASSWORD,
           crt("locked"), key("locked"));
    expect(c, "+OK", "CONFIG SET tls-cert-file %s tls-key-file %s tls-key-file-pass " PASSWORD,
           crt("locked"), key("locked"));
    expect_server("locked");
    expect(c, "[tls-key-file-pass ]", "CONFIG GET tls-key-file-pass");
    static const char *const places[] = {"CONFIG GET *", "INFO everything", "SLOWLOG GET -1"};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        assert_null(strstr(ask(c, places[i]), PASSWORD));
    }
    assert_non_null(strstr(ask(c, "SLOWLOG GET -1"), "(redacted)"));
    assert_false(testserver_has_logged(server, PASSWORD));
    expect(c, "+OK", "CONFIG SET slowlog-log-slower-than 10000");
    expect(c, "+OK", "SLOWLOG RESET");
}

static void a_certificate_that_has_ended_is_taken_with_a_warning(void **state)
{
    expect(c, "+OK", "CONFIG SET tls-cert-file %s tls-key-file %s", crt("ended"), key("ended"));
    poll_log("ended.crt has expired: clients will reject it");
    assert_true(load_info(c, "tls_cert_days_left") < 0);
    assert_true(tunnel_is_served(port, NULL));
    struct tunnel_options looks = {.ca = crt("ca")};
    assert_null(tunnel_open(port, &looks));
    expect(c, "+OK", "CONFIG SET tls-cert-file %s tls-key-file %s tls-ca-cert-file %s",
           crt("second"), key("second"), crt("ca"));
    assert_in_range(load_info(c, "tls_cert_days_left"), 88, 90);
    assert_in_range(load_info(c, "tls_ca_days_left"), 28, 30);
}

static void a_start_with_bad_files_says_so(void **state)
{
    const char *none[] = {"--tls-auth-clients", "no", NULL};
    struct testserver_options o = {.args = none, .has_tls = true};
    testserver_refuses(&o, "TLS needs tls-cert-file");
    const char *mixed[] = {"--tls-cert-file",
                           crt("first"),
                           "--tls-key-file",
                           key("second"),
                           "--tls-auth-clients",
                           "no",
                           NULL};
    o.args = mixed;
    testserver_refuses(&o, "second.key: key values mismatch");
    const char *no_ca[] = {"--tls-cert-file", crt("first"), "--tls-key-file", key("first"), NULL};
    o.args = no_ca;
    testserver_refuses(&o, "set tls-ca-cert-file or tls-ca-cert-dir");
}

static void tls_may_be_all_that_is_listened_for(void **state)
{
    const char *args[] = {
        "--tls-cert-file", crt("first"), "--tls-key-file", key("first"), "--tls-ca-cert-file",
        crt("ca"),         NULL};
    struct testserver_options o = {.args = args, .is_tls_only = true};
    struct tunnel_options alice = {.cert = crt("alice"), .key = key("alice")};
    struct testserver *s = testserver_start(&o);
    assert_int_equal(testserver_port(s), 0);
    redisContext *t = tunnel_connect(testserver_tls_port(s), &alice);
    char wanted[64];
    snprintf(wanted, sizeof wanted, "*tcp_port:%d*", testserver_tls_port(s));
    expect(t, wanted, "INFO server");
    expect(t, "+OK", "SET a 1");
    redisFree(t);
    tunnels_close();
    testserver_free(s);
}

/* ---- those that do harm ---------------------------------------------------------------------- */

static void plain_text_on_the_tls_port_is_closed(void **state)
{
    static const struct {
        const char *bytes;
        size_t len;
    } cases[] = {
        {"*1\r\n$4\r\nPING\r\n", 14},
        {"PING\r\n", 6},
        {"GET / HTTP/1.1\r\n\r\n", 18},
        {"\x16\x03\x01\xff\xff\x01\x02\x03\x04\x05", 10},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char bytes[64];
        long long failed = load_info(c, "tls_handshakes_failed");
        int fd = silent();
        raw_send(fd, cases[i].bytes, cases[i].len);
        poll_figure("tls_handshakes_failed", failed + 1);
        ssize_t got = recv(fd, bytes, sizeof bytes, 0);
        /* At most an alert. */
        assert_true(got <= 0 || (got == 7 && bytes[0] == 0x15));
        close(fd);
    }
    poll_log("TLS handshake failed: wrong version number");
    assert_true(tunnel_is_served(port, NULL));
}

static void tls_on_the_plain_port_is_closed(void **state)
{
    assert_null(tunnel_open(testserver_port(server), NULL));
    expect(c, "+PONG", "PING");
}

static void a_handshake_that_takes_too_long_is_cut(void **state)
{
    int fd = silent();
    int slow = silent();
    raw_send(slow, "\x16\x03\x01\x02", 4);
    poll_figure("tls_handshakes_open", 2);
    expect_closed(fd);
    expect_closed(slow);
    assert_int_equal(load_info(c, "tls_handshakes_timed_out"), 2);
    assert_int_equal(load_info(c, "tls_handshakes_open"), 0);
}

static void a_thousand_that_say_nothing_keep_nobody_out(void **state)
{
    enum { SILENT = 1200 };
    int *fds = calloc(SILENT, sizeof *fds);
    for (int i = 0; i < SILENT; i++) fds[i] = silent();
    assert_true(tunnel_is_served(port, NULL));
    poll_figure("tls_handshakes_cut", SILENT - 1000);
    assert_true(load_info(c, "tls_handshakes_open") <= 1000);
    redisContext *plain = testserver_connect(server);
    expect(plain, "+PONG", "PING");
    redisFree(plain);
    for (int i = 0; i < SILENT; i++) close(fds[i]);
    free(fds);
}

/* Handshakes count as clients, and make room for those that do more. */
static void silent_ones_do_not_fill_maxclients(void **state)
{
    enum { SILENT = 150, MAX = 100 };
    int fds[SILENT];
    redisContext *open[MAX / 2];
    expect(c, "+OK", "CONFIG SET maxclients 100");
    for (int i = 0; i < SILENT; i++) fds[i] = silent();
    poll_figure("tls_handshakes_cut", SILENT - MAX / 2);
    assert_true(load_info(c, "tls_handshakes_open") <= MAX / 2); /* some may have timed out */
    for (int i = 0; i < MAX / 2; i++) {
        open[i] = i % 2 == 0 ? tunnel_connect(port, NULL) : testserver_connect(server);
        expect(open[i], "+PONG", "PING");
    }
    assert_true(load_info(c, "tls_handshakes_open") < MAX / 2);
    for (int i = 0; i < MAX / 2; i++) redisFree(open[i]);
    for (int i = 0; i < SILENT; i++) close(fds[i]);
    tunnels_close();
}

/* They come while the server stands still: it finds all of them at once. No client waits for more
 * than a turn of them, which is checked at the end of the server, and none is cut. */
static void many_handshakes_at_once_are_all_done(void **state)
{
    enum { MANY = 400 };
    struct tunnel *open[MANY];
    long long before = load_info(c, "used_memory");
    assert_int_equal(kill(testserver_pid(server), SIGSTOP), 0);
    for (int i = 0; i < MANY; i++) open[i] = tunnel_begin(port, NULL);
    assert_int_equal(kill(testserver_pid(server), SIGCONT), 0);
    for (int i = 0; i < MANY; i++) {
        assert_true(tunnel_go_on(open[i]));
        if (i % 10 == 0) expect(c, "+PONG", "PING");
    }
    load_wait_info(c, "tls_connections", MANY);
    assert_int_equal(load_info(c, "tls_handshakes_done"), MANY);
    assert_int_equal(load_info(c, "tls_handshakes_cut"), 0);
    long long each = (load_info(c, "used_memory") - before) / MANY;
    fprintf(stderr, "# a connection with TLS costs %lld bytes\n", each);
    assert_true(each > 8000); /* most of it is OpenSSL's */
    for (int i = 0; i < MANY; i++) tunnel_close(open[i]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, group_enter, leave)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(commands_work_in_both_protocols),
        TEST(ten_megabytes_go_both_ways),
        TEST(a_hundred_thousand_commands_in_one_go),
        TEST(a_reader_that_is_late_gets_all_of_it),
        TEST(requests_in_small_pieces),
        TEST(keys_of_the_connection_may_change),
        TEST(blocked_commands_get_their_reply),
        TEST(who_goes_while_blocked_is_gone),
        TEST(messages_are_pushed),
        TEST(messages_are_pushed_in_resp3),
        TEST(what_was_sent_before_the_end_is_answered),
        TEST(certificates_of_clients),
        TEST(a_certificate_names_its_user),
        TEST(a_client_that_knows_another_authority_goes),
        TEST(protocols_and_ciphers_are_chosen),
        TEST(the_servers_ciphers_count_when_it_says_so),
        TEST(new_files_are_taken_and_nobody_is_disturbed),
        TEST(bad_files_are_refused_and_the_old_stay),
        TEST(a_reload_that_fails_is_told),
        TEST(the_password_of_the_key_is_told_to_nobody),
        TEST(a_certificate_that_has_ended_is_taken_with_a_warning),
        TEST(a_start_with_bad_files_says_so),
        TEST(tls_may_be_all_that_is_listened_for),
        TEST(plain_text_on_the_tls_port_is_closed),
        TEST(tls_on_the_plain_port_is_closed),
        TEST(a_handshake_that_takes_too_long_is_cut),
        TEST(a_thousand_that_say_nothing_keep_nobody_out),
        TEST(silent_ones_do_not_fill_maxclients),
        TEST(many_handshakes_at_once_are_all_done),
    };
    return cmocka_run_group_tests(tests, start, group_stop);
}
