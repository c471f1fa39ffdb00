#include "tunnel.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <pthread.h>
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

#define WAIT_S 20
#define PART_BYTES 65536
#define TUNNELS_MAX 512

/* What goes one way: bytes that were taken and not given on yet. */
struct part {
    char bytes[PART_BYTES];
    size_t len, at;
};

struct tunnel {
    struct tunnel_options options;
    SSL_CTX *ctx;
    SSL *ssl;
    int sock, plain, test; /* plain and test are a pair */
    bool test_is_taken;    /* hiredis closes it */
    pthread_t thread;
    bool has_thread;
    unsigned records;
    struct part out, in; /* to the server, from it */
    bool out_ended, in_ended;
    char server_name[256];
};

/* ---- the handshake --------------------------------------------------------------------------- */

static int dial(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct timeval limit = {.tv_sec = WAIT_S};
    int on = 1;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        fail_msg("cannot connect to port %d: %s", port, strerror(errno));
    }
    return fd;
}

static SSL_CTX *context_of(const struct tunnel_options *o)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
    if (ctx == NULL) abort();
    SSL_CTX_set_min_proto_version(ctx, o->version_min != 0 ? o->version_min : TLS1_2_VERSION);
    SSL_CTX_set_max_proto_version(ctx, o->version_max != 0 ? o->version_max : TLS1_3_VERSION);
    SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    if (o->version_min != 0 && o->version_min < TLS1_2_VERSION) {
        SSL_CTX_set_cipher_list(ctx, "ALL:@SECLEVEL=0");
    }
    if (o->ciphers != NULL) assert_int_equal(SSL_CTX_set_cipher_list(ctx, o->ciphers), 1);
    if (o->ca != NULL) {
        assert_int_equal(SSL_CTX_load_verify_file(ctx, o->ca), 1);
        SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
    }
    if (o->cert != NULL) {
        assert_int_equal(SSL_CTX_use_certificate_chain_file(ctx, o->cert), 1);
        assert_int_equal(SSL_CTX_use_PrivateKey_file(ctx, o->key, SSL_FILETYPE_PEM), 1);
    }
    return ctx;
}

static void note_server(struct tunnel *t)
{
    X509 *x = SSL_get1_peer_certificate(t->ssl);
    if (x == NULL) return;
    X509_NAME_get_text_by_NID(X509_get_subject_name(x), NID_commonName, t->server_name,
                              sizeof t->server_name);
    X509_free(x);
}

/* ---- the thread ------------------------------------------------------------------------------ */

static bool has_room(const struct part *p)
{
    return p->at == p->len;
}

static void fill(struct part *p, size_t len)
{
    p->at = 0;
    p->len = len;
}

/* From the test to the server. False when nothing more is to be done for this tunnel. */
static bool carry_out(struct tunnel *t)
{
    if (has_room(&t->out) && !t->out_ended) {
        ssize_t got = recv(t->plain, t->out.bytes, sizeof t->out.bytes, MSG_DONTWAIT);
        if (got > 0) fill(&t->out, (size_t)got);
        if (got == 0) t->out_ended = true;
        if (got < 0 && errno != EAGAIN) return false;
        if (t->out_ended) {
            SSL_shutdown(t->ssl);
            shutdown(t->sock, SHUT_WR);
        }
    }
    while (!has_room(&t->out)) {
        size_t len = t->out.len - t->out.at;
        if (t->options.piece_bytes != 0 && len > t->options.piece_bytes) {
            len = t->options.piece_bytes;
        }
        ERR_clear_error();
        int n = SSL_write(t->ssl, t->out.bytes + t->out.at, (int)len);
        if (n <= 0) {
            int code = SSL_get_error(t->ssl, n);
            return code == SSL_ERROR_WANT_WRITE || code == SSL_ERROR_WANT_READ;
        }
        t->out.at += (size_t)n;
        unsigned each = t->options.key_update_each;
        if (each != 0 && ++t->records % each == 0) {
            SSL_key_update(t->ssl, SSL_KEY_UPDATE_REQUESTED);
        }
    }
    return true;
}

/* From the server to the test. */
static bool carry_in(struct tunnel *t)
{
    for (;;) {
        while (!has_room(&t->in)) {
            ssize_t n = send(t->plain, t->in.bytes + t->in.at, t->in.len - t->in.at,
                             MSG_DONTWAIT | MSG_NOSIGNAL);
            if (n < 0) return errno == EAGAIN;
            t->in.at += (size_t)n;
        }
        ERR_clear_error();
        int n = SSL_read(t->ssl, t->in.bytes, sizeof t->in.bytes);
        if (n <= 0) {
            int code = SSL_get_error(t->ssl, n);
            return code == SSL_ERROR_WANT_READ || code == SSL_ERROR_WANT_WRITE;
        }
        fill(&t->in, (size_t)n);
    }
}

static void *run(void *arg)
{
    struct tunnel *t = arg;
    for (bool goes_on = true; goes_on;) {
        bool in_waits = !has_room(&t->in);
        struct pollfd p[2] = {{.fd = t->sock}, {.fd = t->plain}};
        p[0].events = (short)((in_waits ? 0 : POLLIN) | (has_room(&t->out) ? 0 : POLLOUT));
        p[1].events = (short)((in_waits ? POLLOUT : 0) |
                              (has_room(&t->out) && !t->out_ended ? POLLIN : 0));
        if (p[1].events == 0) p[1].fd = -1; /* it has ended, and says so without being asked */
        if (poll(p, 2, -1) < 0 && errno != EINTR) break;
        goes_on = carry_out(t) && carry_in(t);
    }
    shutdown(t->plain, SHUT_RDWR);
    shutdown(t->sock, SHUT_RDWR);
    return NULL;
}

/* ---- what tests call ------------------------------------------------------------------------- */

static void drop(struct tunnel *t)
{
    if (t->test >= 0 && !t->test_is_taken) close(t->test);
    if (t->plain >= 0) shutdown(t->plain, SHUT_RDWR);
    shutdown(t->sock, SHUT_RDWR);
    if (t->has_thread) pthread_join(t->thread, NULL);
    if (t->plain >= 0) close(t->plain);
    SSL_free(t->ssl);
    SSL_CTX_free(t->ctx);
    close(t->sock);
    free(t);
}

struct tunnel *tunnel_begin(int port, const struct tunnel_options *o)
{
    struct tunnel *t = calloc(1, sizeof *t);
    if (t == NULL) abort();
    signal(SIGPIPE, SIG_IGN);
    if (o != NULL) t->options = *o;
    t->plain = t->test = -1;
    t->ctx = context_of(&t->options);
    t->ssl = SSL_new(t->ctx);
    t->sock = dial(port);
    fcntl(t->sock, F_SETFL, fcntl(t->sock, F_GETFL) | O_NONBLOCK);
    SSL_set_fd(t->ssl, t->sock);
    SSL_set_tlsext_host_name(t->ssl, "localhost");
    (void)SSL_connect(t->ssl);
    return t;
}

bool tunnel_go_on(struct tunnel *t)
{
    for (;;) {
        ERR_clear_error();
        int rc = SSL_connect(t->ssl);
        if (rc == 1) return true;
        if (SSL_get_error(t->ssl, rc) != SSL_ERROR_WANT_READ) return false;
        struct pollfd p = {.fd = t->sock, .events = POLLIN};
        if (poll(&p, 1, WAIT_S * 1000) != 1) return false;
    }
}

struct tunnel *tunnel_open(int port, const struct tunnel_options *o)
{
    struct tunnel *t = tunnel_begin(port, o);
    if (!tunnel_go_on(t)) {
        ERR_clear_error();
        drop(t);
        return NULL;
    }
    note_server(t);
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) abort();
    t->test = pair[0];
    t->plain = pair[1];
    t->has_thread = pthread_create(&t->thread, NULL, run, t) == 0;
    assert_true(t->has_thread);
    return t;
}

int tunnel_fd(const struct tunnel *t)
{
    return t->test;
}

redisContext *tunnel_redis(struct tunnel *t)
{
    redisContext *c = redisConnectFd(t->test);
    if (c == NULL) abort();
    t->test_is_taken = true;
    redisSetTimeout(c, (struct timeval){.tv_sec = WAIT_S});
    return c;
}

const char *tunnel_server_name(const struct tunnel *t)
{
    return t->server_name;
}

const char *tunnel_cipher(const struct tunnel *t)
{
    return SSL_get_cipher_name(t->ssl);
}

void tunnel_close(struct tunnel *t)
{
    if (t != NULL) drop(t);
}

static struct tunnel *tunnels[TUNNELS_MAX];
static size_t tunnel_count;

redisContext *tunnel_connect(int port, const struct tunnel_options *o)
{
    struct tunnel *t = tunnel_open(port, o);
    if (t == NULL) fail_msg("the handshake failed");
    assert_true(tunnel_count < TUNNELS_MAX);
    tunnels[tunnel_count++] = t;
    return tunnel_redis(t);
}

void tunnels_close(void)
{
    while (tunnel_count > 0) drop(tunnels[--tunnel_count]);
}

bool tunnel_is_served(int port, const struct tunnel_options *o)
{
    struct tunnel *t = tunnel_open(port, o);
    if (t == NULL) return false;
    redisContext *c = tunnel_redis(t);
    redisReply *r = redisCommand(c, "PING");
    bool is_served = r != NULL && r->type == REDIS_REPLY_STATUS;
    freeReplyObject(r);
    redisFree(c);
    tunnel_close(t);
    return is_served;
}
