/* Tests of net/tls: both ends of a connection in one thread, over a pair of sockets: what a
 * certificate says of its user, bytes that stay inside of the library, a socket that takes no more.
 */
#include <errno.h>
#include <fcntl.h>
#include <openssl/ssl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "certs.h"
#include "net/tls_int.h"

static char scratch[64];

static struct {
    struct tls_context *context;
    struct tls *server;
    SSL_CTX *ctx;
    SSL *client;
    int fds[2]; /* server, client */
} x;

static const struct tls_options defaults = {.key_password = "",
                                            .ca_file = "",
                                            .ca_dir = "",
                                            .protocols = "",
                                            .ciphers = "",
                                            .ciphersuites = ""};

/* With a client certificate of this name; NULL = none. */
static void begin(enum tls_user user, const char *client, int version)
{
    struct error e;
    struct tls_options o = defaults;
    o.cert_file = certs_path(scratch, "server", ".crt");
    o.key_file = certs_path(scratch, "server", ".key");
    o.ca_file = certs_path(scratch, "ca", ".crt");
    o.auth = TLS_AUTH_OPTIONAL;
    o.user = user;
    assert_int_equal(tls_context_new(&o, &x.context, &e), OK);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, x.fds), 0);
    x.server = tls_new(x.context, x.fds[0], NULL);
    assert_non_null(x.server);
    x.ctx = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_max_proto_version(x.ctx, version);
    if (client != NULL) {
        const char *crt = certs_path(scratch, client, ".crt");
        const char *key = certs_path(scratch, client, ".key");
        assert_int_equal(SSL_CTX_use_certificate_file(x.ctx, crt, SSL_FILETYPE_PEM), 1);
        assert_int_equal(SSL_CTX_use_PrivateKey_file(x.ctx, key, SSL_FILETYPE_PEM), 1);
    }
    x.client = SSL_new(x.ctx);
    SSL_set_fd(x.client, x.fds[1]);
    SSL_set_connect_state(x.client);
}

/* Until the server is done or fails. */
static enum tls_step shake(void)
{
    for (int i = 0; i < 100; i++) {
        (void)SSL_do_handshake(x.client);
        enum tls_step step = tls_handshake(x.server);
        if (step == TLS_STEP_DONE) (void)SSL_do_handshake(x.client);
        if (step == TLS_STEP_DONE || step == TLS_STEP_FAILED) return step;
    }
    fail_msg("the handshake has no end");
    return TLS_STEP_FAILED;
}

static void end(void)
{
    if (x.server != NULL) tls_free(x.server);
    SSL_free(x.client);
    SSL_CTX_free(x.ctx);
    tls_context_free(x.context);
    close(x.fds[0]);
    close(x.fds[1]);
    memset(&x, 0, sizeof x);
}

static void client_says(const char *text, size_t len)
{
    assert_int_equal(SSL_write(x.client, text, (int)len), len);
}

static void expect_read(size_t room, const char *wanted)
{
    char got[4096];
    ssize_t n = tls_read(x.server, got, room);
    assert_int_equal(n, strlen(wanted));
    assert_memory_equal(got, wanted, strlen(wanted));
}

static void expect_nothing_to_read(void)
{
    char byte;
    assert_int_equal(tls_read(x.server, &byte, 1), -1);
    assert_int_equal(errno, EAGAIN);
    assert_false(tls_has_more(x.server));
}

/* ---- users ----------------------------------------------------------------------------------- */

static void a_certificate_names_its_user(void **state)
{
    static const struct {
        enum tls_user user;
        const char *client, *wanted;
    } cases[] = {
        {TLS_USER_OFF, "alice", NULL}, {TLS_USER_CN, "alice", "alice"},
        {TLS_USER_CN, NULL, NULL},     {TLS_USER_URI, "alice", "urn:user:alice"},
        {TLS_USER_URI, "plain", NULL}, {TLS_USER_CN, "plain", "plain"},
        {TLS_USER_CN, "hidden", NULL}, /* alice, NUL, and more */
        {TLS_USER_CN, "lines", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (int version = TLS1_2_VERSION; version <= TLS1_3_VERSION; version++) {
            begin(cases[i].user, cases[i].client, version);
            assert_int_equal(shake(), TLS_STEP_DONE);
            const char *name = tls_user_name(x.server);
            if (cases[i].wanted == NULL) {
                assert_null(name);
            } else {
                assert_non_null(name);
                assert_string_equal(name, cases[i].wanted);
            }
            end();
        }
    }
}

/* A self-signed certificate is refused, also where none is needed. */
static void a_certificate_of_somebody_else_is_refused(void **state)
{
    begin(TLS_USER_CN, "stranger", TLS1_3_VERSION);
    assert_int_equal(shake(), TLS_STEP_FAILED);
    assert_null(tls_user_name(x.server));
    assert_true(strlen(tls_error(x.server)) > 0);
    end();
}

/* ---- bytes ----------------------------------------------------------------------------------- */

/* The socket is empty, and the rest must be asked for. */
static void what_stays_inside_is_known(void **state)
{
    begin(TLS_USER_OFF, NULL, TLS1_3_VERSION);
    assert_int_equal(shake(), TLS_STEP_DONE);
    expect_nothing_to_read();
    client_says("abcdef", 6);
    client_says("ghi", 3);
    client_says("jkl", 3);
    expect_read(4, "abcd");
    assert_true(tls_has_more(x.server));
    expect_read(3, "efg");
    assert_true(tls_has_more(x.server));
    expect_read(100, "hijkl");
    expect_nothing_to_read();
    end();
}

static void half_a_record_is_nothing_yet(void **state)
{
    char record[256];
    begin(TLS_USER_OFF, NULL, TLS1_3_VERSION);
    assert_int_equal(shake(), TLS_STEP_DONE);
    expect_nothing_to_read();
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
    SSL_set_wfd(x.client, pair[0]);
    client_says("whole", 5);
    ssize_t len = recv(pair[1], record, sizeof record, 0);
    assert_true(len > 10);
    assert_int_equal(send(x.fds[1], record, 9, 0), 9);
    expect_nothing_to_read();
    assert_int_equal(send(x.fds[1], record + 9, (size_t)len - 9, 0), len - 9);
    expect_read(100, "whole");
    SSL_set_wfd(x.client, x.fds[1]);
    close(pair[0]);
    close(pair[1]);
    end();
}

/* The end that follows bytes is there when they were taken, though the socket says nothing more. */
static void the_end_comes_after_the_bytes(void **state)
{
    char byte;
    begin(TLS_USER_OFF, NULL, TLS1_3_VERSION);
    assert_int_equal(shake(), TLS_STEP_DONE);
    client_says("last", 4);
    SSL_shutdown(x.client);
    expect_read(100, "last");
    assert_true(tls_has_more(x.server));
    assert_int_equal(tls_read(x.server, &byte, 1), 0);
    assert_int_equal(tls_read(x.server, &byte, 1), 0);
    assert_int_equal(tls_write(x.server, "bye", 3), 3); /* the other way is open */
    end();
}

static void a_changed_byte_breaks_it(void **state)
{
    char byte;
    begin(TLS_USER_OFF, NULL, TLS1_3_VERSION);
    assert_int_equal(shake(), TLS_STEP_DONE);
    static const char forged[] = "\x17\x03\x03\x00\x20"
                                 "0123456789abcdef0123456789abcdef";
    assert_int_equal(send(x.fds[1], forged, sizeof forged - 1, 0), sizeof forged - 1);
    assert_int_equal(tls_read(x.server, &byte, 1), -1);
    assert_int_not_equal(errno, EAGAIN);
    assert_non_null(strstr(tls_error(x.server), "bad record mac"));
    assert_int_equal(tls_write(x.server, "x", 1), -1);
    assert_int_not_equal(errno, EAGAIN);
    end();
}

/* What was accepted arrives, in order, when the rest is given again from another place, with more
 * after it. */
static void a_full_socket_takes_the_rest_later(void **state)
{
    enum { BYTES = 4 << 20 };
    char *text = malloc(BYTES);
    char *got = malloc(BYTES);
    char *moved[2] = {malloc(BYTES), malloc(BYTES)};
    size_t sent = 0;
    size_t read = 0;
    size_t given = 0;
    unsigned refusals = 0;
    for (size_t i = 0; i < BYTES; i++) text[i] = (char)(i * 7 + i / 251);
    begin(TLS_USER_OFF, NULL, TLS1_3_VERSION);
    assert_int_equal(shake(), TLS_STEP_DONE);
    for (unsigned round = 0; read < BYTES; round++) {
        char *from = moved[round % 2];
        given += 1500;
        if (given > BYTES - sent) given = BYTES - sent;
        memcpy(from, text + sent, given);
        ssize_t n = given > 0 ? tls_write(x.server, from, given) : 0;
        memset(from, 0, given);
        if (n > 0) {
            sent += (size_t)n;
            given = 0;
            continue;
        }
        refusals += n < 0;
        if (n < 0) assert_int_equal(errno, EAGAIN);
        /* One record, which makes little room; now and then all that is there. */
        size_t before = read;
        do {
            int r = SSL_read(x.client, got + read, (int)(BYTES - read));
            if (r <= 0) break;
            read += (size_t)r;
        } while (read < BYTES && refusals % 3 == 0);
        assert_true(read > before);
        assert_true(read <= sent); /* else the client has what is told to be unsent */
    }
    assert_true(refusals > 0);
    assert_int_equal(sent, BYTES);
    assert_memory_equal(got, text, BYTES);
    end();
    for (int i = 0; i < 2; i++) free(moved[i]);
    free(text);
    free(got);
}

/* The answer to it goes out with the next bytes; one call never does all of many. */
static void new_keys_are_no_bytes(void **state)
{
    begin(TLS_USER_OFF, NULL, TLS1_3_VERSION);
    assert_int_equal(shake(), TLS_STEP_DONE);
    for (int i = 0; i < 20; i++) {
        char got[8];
        assert_int_equal(SSL_key_update(x.client, SSL_KEY_UPDATE_REQUESTED), 1);
        assert_int_equal(SSL_do_handshake(x.client), 1);
        client_says("word", 4);
        ssize_t n = 0;
        for (int k = 0; k < 10 && n <= 0; k++) n = tls_read(x.server, got, sizeof got);
        assert_int_equal(n, 4);
        assert_int_equal(tls_write(x.server, "reply", 5), 5);
        assert_int_equal(SSL_read(x.client, got, sizeof got), 5);
    }
    end();
}

static void nobody_negotiates_anew(void **state)
{
    char byte;
    begin(TLS_USER_OFF, NULL, TLS1_2_VERSION);
    assert_int_equal(shake(), TLS_STEP_DONE);
    assert_int_equal(SSL_renegotiate(x.client), 1);
    (void)SSL_do_handshake(x.client);
    assert_int_equal(tls_read(x.server, &byte, 1), -1);
    assert_int_equal(SSL_do_handshake(x.client), -1);
    assert_int_not_equal(SSL_get_error(x.client, -1), SSL_ERROR_NONE);
    end();
}

/* ---- contexts -------------------------------------------------------------------------------- */

static void the_earliest_end_counts(void **state)
{
    struct error e;
    struct tls_context *c = NULL;
    struct tls_options o = defaults;
    char command[512];
    int64_t now_s = (int64_t)time(NULL);
    const char *chain = certs_path(scratch, "chain", ".crt");
    snprintf(command, sizeof command, "cat '%s' '%s' >'%s'", certs_path(scratch, "server", ".crt"),
             certs_path(scratch, "ca", ".crt"), chain);
    assert_int_equal(system(command), 0);
    o.cert_file = chain;
    o.key_file = certs_path(scratch, "server", ".key");
    assert_int_equal(tls_context_new(&o, &c, &e), OK);
    assert_in_range(tls_context_cert_end_s(c) - now_s, 19 * 86400,
                    20 * 86400); /* the authority's */
    assert_int_equal(tls_context_ca_end_s(c), 0);
    assert_null(tls_context_oddity(c, now_s));
    assert_non_null(strstr(tls_context_oddity(c, now_s + 21 * 86400), "has expired"));
    assert_non_null(strstr(tls_context_oddity(c, now_s - 21 * 86400), "is not valid yet"));
    tls_context_free(c);
}

/* ---- the group ------------------------------------------------------------------------------- */

static int start(void **state)
{
    snprintf(scratch, sizeof scratch, "/tmp/test_tls_unit.XXXXXX");
    if (mkdtemp(scratch) == NULL) return -1;
    const struct cert_options all[] = {
        {.name = "ca", .end_s = 20L * 86400},
        {.name = "stranger"},
        {.name = "server", .issuer = "ca"},
        {.name = "alice", .issuer = "ca", .uri = "urn:user:alice"},
        {.name = "plain", .issuer = "ca"},
        {.name = "hidden", .issuer = "ca", .cn = "alice\0.evil", .cn_len = 11},
        {.name = "lines", .issuer = "ca", .cn = "alice\nbob"},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) certs_make(scratch, &all[i]);
    return 0;
}

static int stop(void **state)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", scratch);
    return system(command) == 0 ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_certificate_names_its_user),
        cmocka_unit_test(a_certificate_of_somebody_else_is_refused),
        cmocka_unit_test(what_stays_inside_is_known),
        cmocka_unit_test(half_a_record_is_nothing_yet),
        cmocka_unit_test(the_end_comes_after_the_bytes),
        cmocka_unit_test(a_changed_byte_breaks_it),
        cmocka_unit_test(a_full_socket_takes_the_rest_later),
        cmocka_unit_test(new_keys_are_no_bytes),
        cmocka_unit_test(nobody_negotiates_anew),
        cmocka_unit_test(the_earliest_end_counts),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
