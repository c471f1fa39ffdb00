/* secure: see secure.h. The thread polls both sockets and carries what it can: each direction has
 * one buffer, and its source is read only when that is empty. Either end's close shuts the pair
 * down, which the rest of the program sees as the end of the connection. */
#include "tool/secure.h"

#include <arpa/inet.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"

#define SECURE_PART_BYTES 65536

/* What goes one way: bytes that were taken and not given on yet. */
struct secure_part {
    uint8_t *bytes; /* owned */
    size_t at, len;
};

struct secure {
    SSL_CTX *context;
    SSL *ssl;
    int sock; /* to the server */
    int pair; /* our end of the pair */
    pthread_t thread;
    struct secure_part out, in; /* to the server, from it */
    bool ssl_wants_out;         /* TLS has something of its own to send before it can go on */
};

/* ---- the thread ------------------------------------------------------------------------------ */

/* What OpenSSL said is "not now"; then it may want to write. */
static bool secure_is_later(struct secure *s, int result)
{
    int code = SSL_get_error(s->ssl, result);
    if (code == SSL_ERROR_WANT_WRITE) s->ssl_wants_out = true;
    return code == SSL_ERROR_WANT_WRITE || code == SSL_ERROR_WANT_READ;
}

/* False: nothing more goes this way. */
static bool secure_carry_out(struct secure *s)
{
    struct secure_part *p = &s->out;
    if (p->at == p->len) {
        ssize_t got = recv(s->pair, p->bytes, SECURE_PART_BYTES, MSG_DONTWAIT);
        if (got == 0) return false;
        if (got < 0) return errno == EAGAIN || errno == EINTR;
        p->at = 0;
        p->len = (size_t)got;
    }
    while (p->at < p->len) {
        ERR_clear_error();
        int n = SSL_write(s->ssl, p->bytes + p->at, (int)(p->len - p->at));
        if (n <= 0) return secure_is_later(s, n);
        p->at += (size_t)n;
    }
    return true;
}

static bool secure_carry_in(struct secure *s)
{
    struct secure_part *p = &s->in;
    for (;;) {
        while (p->at < p->len) {
            ssize_t n = send(s->pair, p->bytes + p->at, p->len - p->at,
                             MSG_DONTWAIT | MSG_NOSIGNAL);
            if (n < 0) return errno == EAGAIN || errno == EINTR;
            p->at += (size_t)n;
        }
        ERR_clear_error();
        int n = SSL_read(s->ssl, p->bytes, SECURE_PART_BYTES);
        if (n <= 0) return secure_is_later(s, n);
        p->at = 0;
        p->len = (size_t)n;
    }
}

static void *secure_run(void *arg)
{
    struct secure *s = arg;
    for (bool goes_on = true; goes_on;) {
        bool out_waits = s->out.at < s->out.len;
        bool in_waits = s->in.at < s->in.len;
        struct pollfd fds[2] = {{.fd = s->sock}, {.fd = s->pair}};
        fds[0].events = (short)((in_waits ? 0 : POLLIN) |
                                (out_waits || s->ssl_wants_out ? POLLOUT : 0));
        fds[1].events = (short)((in_waits ? POLLOUT : 0) | (out_waits ? 0 : POLLIN));
        if (fds[0].events == 0) fds[0].fd = -1;
        s->ssl_wants_out = false;
        if (poll(fds, 2, -1) < 0 && errno != EINTR) break;
        goes_on = secure_carry_out(s) && secure_carry_in(s);
    }
    ERR_clear_error();
    SSL_shutdown(s->ssl);
    shutdown(s->pair, SHUT_RDWR);
    return NULL;
}

/* ---- the handshake --------------------------------------------------------------------------- */

/* The newest error of OpenSSL, in words. */
static const char *secure_error(void)
{
    unsigned long code = ERR_peek_last_error();
    const char *text = code == 0 ? NULL : ERR_reason_error_string(code);
    return text != NULL ? text : "no reason given";
}

static enum tool_status secure_files(SSL_CTX *c, const struct wire_options *o,
                                     char why[WIRE_WHY_BYTES])
{
    if (o->cacert != NULL && SSL_CTX_load_verify_file(c, o->cacert) != 1) {
        snprintf(why, WIRE_WHY_BYTES, "cannot use --cacert %s: %s", o->cacert, secure_error());
        return TOOL_WORDS;
    }
    if (o->cacert == NULL) SSL_CTX_set_default_verify_paths(c);
    const char *key = o->key != NULL ? o->key : o->cert;
    if (o->cert != NULL && SSL_CTX_use_certificate_chain_file(c, o->cert) != 1) {
        snprintf(why, WIRE_WHY_BYTES, "cannot use --cert %s: %s", o->cert, secure_error());
        return TOOL_WORDS;
    }
    if (o->cert != NULL && SSL_CTX_use_PrivateKey_file(c, key, SSL_FILETYPE_PEM) != 1) {
        snprintf(why, WIRE_WHY_BYTES, "cannot use the key %s: %s", key, secure_error());
        return TOOL_WORDS;
    }
    return TOOL_DONE;
}

/* Whom the certificate must be for. An address is not sent as a name. */
static void secure_name(SSL *ssl, const struct wire_options *o)
{
    const char *name = o->server_name != NULL ? o->server_name : o->host;
    unsigned char address[16];
    if (name == NULL || o->is_insecure) return;
    if (inet_pton(AF_INET, name, address) == 1 || inet_pton(AF_INET6, name, address) == 1) {
        X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name);
        return;
    }
    SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, bytes_unconst(name));
    SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    SSL_set1_host(ssl, name);
}

static void secure_say(const struct secure *s, const struct wire_options *o,
                       char why[WIRE_WHY_BYTES])
{
    char place[WIRE_WHY_BYTES];
    wire_place(o, place);
    long verdict = SSL_get_verify_result(s->ssl);
    if (verdict == X509_V_ERR_HOSTNAME_MISMATCH || verdict == X509_V_ERR_IP_ADDRESS_MISMATCH) {
        snprintf(why, WIRE_WHY_BYTES,
                 "%.400s: the certificate is for another name. Use the name in the certificate in "
                 "the URL",
                 place);
    } else if (verdict != X509_V_OK) {
        snprintf(why, WIRE_WHY_BYTES,
                 "%.400s: the certificate is not trusted (%s). Give the CA certificate with "
                 "--cacert",
                 place, X509_verify_cert_error_string(verdict));
    } else if (ERR_peek_last_error() != 0) {
        const char *hint = ERR_GET_REASON(ERR_peek_last_error()) == SSL_R_WRONG_VERSION_NUMBER
                               ? ". Is this the TLS port? redis:// connects without TLS"
                               : "";
        snprintf(why, WIRE_WHY_BYTES, "%.400s: TLS failed: %s%s", place, secure_error(), hint);
    } else {
        snprintf(why, WIRE_WHY_BYTES,
                 "%.400s: the connection was closed during the TLS handshake. Is this the TLS "
                 "port? redis:// connects without TLS",
                 place);
    }
}

static enum tool_status secure_shake(struct secure *s, const struct wire_options *o,
                                     int64_t until_us, char why[WIRE_WHY_BYTES])
{
    for (;;) {
        ERR_clear_error();
        int n = SSL_connect(s->ssl);
        if (n == 1) return TOOL_DONE;
        int code = SSL_get_error(s->ssl, n);
        if (code != SSL_ERROR_WANT_READ && code != SSL_ERROR_WANT_WRITE) break;
        struct pollfd p = {.fd = s->sock, .events = code == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT};
        int64_t left_ms = (until_us - clock_mono_us() + 999) / 1000;
        if (left_ms <= 0 || poll(&p, 1, (int)left_ms) == 0) {
            char place[WIRE_WHY_BYTES];
            wire_place(o, place);
            snprintf(why, WIRE_WHY_BYTES,
                     "%.400s: no TLS handshake within %lld s. Is this the TLS port?", place,
                     (long long)o->timeout_s);
            return TOOL_BROKEN;
        }
    }
    secure_say(s, o, why);
    return TOOL_BROKEN;
}

static bool secure_start(struct secure *s, int pair[2])
{
    sigset_t all;
    sigset_t before;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) return false;
    s->pair = pair[0];
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&s->thread, NULL, secure_run, s);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed == 0) return true;
    close(pair[1]);
    return false;
}

static void secure_free(struct secure *s)
{
    if (s->pair >= 0) close(s->pair);
    SSL_free(s->ssl);
    SSL_CTX_free(s->context);
    close(s->sock);
    mem_free(s->out.bytes);
    mem_free(s->in.bytes);
    mem_free(s);
}

enum tool_status secure_open(const struct wire_options *o, int sock, int64_t until_us,
                             struct secure **out, int *plain, char why[WIRE_WHY_BYTES])
{
    struct secure *s = mem_new(sizeof *s);
    int pair[2];
    s->sock = sock;
    s->pair = -1;
    s->out.bytes = mem_alloc(SECURE_PART_BYTES);
    s->in.bytes = mem_alloc(SECURE_PART_BYTES);
    s->context = SSL_CTX_new(TLS_client_method());
    if (s->context == NULL) die("out of memory for TLS");
    SSL_CTX_set_min_proto_version(s->context, TLS1_2_VERSION);
    SSL_CTX_set_mode(s->context,
                     SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_verify(s->context, o->is_insecure ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, NULL);
    enum tool_status status = secure_files(s->context, o, why);
    if (status == TOOL_DONE) {
        s->ssl = SSL_new(s->context);
        if (s->ssl == NULL || SSL_set_fd(s->ssl, sock) != 1) die("out of memory for TLS");
        secure_name(s->ssl, o);
        status = secure_shake(s, o, until_us, why);
    }
    if (status == TOOL_DONE && !secure_start(s, pair)) {
        snprintf(why, WIRE_WHY_BYTES, "cannot start a thread for TLS: %s", strerror(errno));
        status = TOOL_BROKEN;
    }
    if (status != TOOL_DONE) {
        secure_free(s);
        return status;
    }
    *plain = pair[1];
    *out = s;
    return TOOL_DONE;
}

void secure_close(struct secure *s)
{
    if (s == NULL) return;
    shutdown(s->pair, SHUT_RDWR);
    pthread_join(s->thread, NULL);
    secure_free(s);
}
