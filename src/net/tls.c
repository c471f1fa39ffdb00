/* tls: a connection's TLS (tls_int.h).
 *
 * 1. No call blocks, and none reads the socket more than once or so.
 * 2. What is given to tls_write again begins with what it did not take: the library has encrypted
 *    it already. Output is only ever appended to, so this is so; where it lies may change.
 * 3. What tls_write says it took is exactly what the peer can read: a record that is partly in the
 *    socket is not counted, one that is there as a whole is. So the library gets one record at a
 *    time, and one that it has begun as long as it was: given more, it would go on with the next
 *    one, fail at that, and say nothing of the first.
 * 4. After an error nothing more is asked of the library but to free it.
 */
#include <errno.h>
#include <limits.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include "base/mem.h"
#include "net/tls_int.h"

#define USER_NAME_MAX 255 /* bytes */
#define RECORD_MAX 16384  /* bytes of a record of TLS */

struct tls {
    SSL *ssl; /* owned */
    enum tls_user user;
    bool is_broken;
    bool is_dry; /* the last read found no whole message */
    bool read_wants_write, write_wants_read;
    size_t begun;    /* bytes of the record that is not all in the socket; 0 = there is none */
    char *user_name; /* owned; NULL = none */
    char error[TLS_REASON_BYTES];
};

static struct tls *make(struct tls_context *c, int fd)
{
    ERR_clear_error();
    SSL *ssl = SSL_new(c->ctx);
    if (ssl == NULL) return NULL;
    if (SSL_set_fd(ssl, fd) != 1) {
        SSL_free(ssl);
        return NULL;
    }
    struct tls *t = mem_new(sizeof *t);
    t->ssl = ssl;
    t->user = c->user;
    return t;
}

struct tls *tls_new(struct tls_context *c, int fd, const char *alpn)
{
    struct tls *t = make(c, fd);
    if (t == NULL) return NULL;
    SSL_set_accept_state(t->ssl);
    SSL_set_app_data(t->ssl, bytes_unconst(alpn));
    return t;
}

struct tls *tls_new_outgoing(struct tls_context *c, int fd)
{
    struct tls *t = make(c, fd);
    if (t != NULL) SSL_set_connect_state(t->ssl);
    return t;
}

void tls_channel(const struct tls *t, uint8_t out[LINK_CHANNEL_BYTES])
{
    static const char label[] = "EXPORTER-Channel-Binding";
    memset(out, 0, LINK_CHANNEL_BYTES);
    if (!SSL_is_init_finished(t->ssl)) return;
    int rc = SSL_export_keying_material(t->ssl, out, LINK_CHANNEL_BYTES, label, sizeof label - 1,
                                        (const unsigned char *)"", 0, 1);
    INVARIANT(rc == 1);
}

void tls_free(struct tls *t)
{
    ERR_clear_error();
    if (!t->is_broken && !SSL_in_init(t->ssl)) (void)SSL_shutdown(t->ssl);
    SSL_free(t->ssl);
    ERR_clear_error();
    mem_free(t->user_name);
    mem_free(t);
}

static void breaks(struct tls *t, int code)
{
    int number = errno;
    t->is_broken = true;
    if (code == SSL_ERROR_SYSCALL && ERR_peek_error() == 0) {
        const char *text = number != 0 ? strerror(number) : "the peer has disconnected";
        size_t len = strlen(text);
        if (len >= sizeof t->error) len = sizeof t->error - 1;
        memcpy(t->error, text, len);
        t->error[len] = '\0';
        return;
    }
    tls_reason(t->error);
}

/* ---- the handshake --------------------------------------------------------------------------- */

static bool is_name(const unsigned char *text, int len)
{
    if (len <= 0 || len > USER_NAME_MAX) return false;
    for (int i = 0; i < len; i++) {
        if (text[i] < ' ' || text[i] == 0x7f) return false; /* a NUL too */
    }
    return true;
}

static void set_user_name(struct tls *t, const unsigned char *text, int len)
{
    if (!is_name(text, len)) return;
    t->user_name = mem_alloc((size_t)len + 1);
    memcpy(t->user_name, text, (size_t)len);
    t->user_name[len] = '\0';
}

/* The first one that is there. */
static void take_cn(struct tls *t, const X509 *x)
{
    const X509_NAME *subject = X509_get_subject_name(x);
    int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
    if (at < 0) return;
    unsigned char *text = NULL;
    const X509_NAME_ENTRY *entry = X509_NAME_get_entry(subject, at);
    int len = ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(entry));
    if (len >= 0) set_user_name(t, text, len);
    OPENSSL_free(text);
}

static void take_uri(struct tls *t, const X509 *x)
{
    GENERAL_NAMES *names = X509_get_ext_d2i(x, NID_subject_alt_name, NULL, NULL);
    for (int i = 0; i < sk_GENERAL_NAME_num(names); i++) {
        const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, i);
        if (name->type != GEN_URI) continue;
        const ASN1_IA5STRING *uri = name->d.uniformResourceIdentifier;
        set_user_name(t, ASN1_STRING_get0_data(uri), ASN1_STRING_length(uri));
        break;
    }
    GENERAL_NAMES_free(names);
}

/* Only of a certificate that was found to be good. */
static void take_user_name(struct tls *t)
{
    const X509 *x = SSL_get0_peer_certificate(t->ssl);
    if (x == NULL || SSL_get_verify_result(t->ssl) != X509_V_OK) return;
    if ((SSL_get_verify_mode(t->ssl) & SSL_VERIFY_PEER) == 0) return;
    if (t->user == TLS_USER_CN) take_cn(t, x);
    if (t->user == TLS_USER_URI) take_uri(t, x);
    ERR_clear_error();
}

enum tls_step tls_handshake(struct tls *t)
{
    ERR_clear_error();
    errno = 0;
    int rc = SSL_do_handshake(t->ssl);
    if (rc == 1) {
        take_user_name(t);
        return TLS_STEP_DONE;
    }
    int code = SSL_get_error(t->ssl, rc);
    if (code == SSL_ERROR_WANT_READ) return TLS_STEP_READ;
    if (code == SSL_ERROR_WANT_WRITE) return TLS_STEP_WRITE;
    breaks(t, code);
    return TLS_STEP_FAILED;
}

const char *tls_user_name(const struct tls *t)
{
    return t->user_name;
}

const char *tls_version(const struct tls *t)
{
    return SSL_get_version(t->ssl);
}

/* ---- bytes ----------------------------------------------------------------------------------- */

static ssize_t not_now(void)
{
    errno = EAGAIN;
    return -1;
}

/* One record, at most; as tls_read. */
static ssize_t read_once(struct tls *t, uint8_t *out, size_t size)
{
    errno = 0;
    int rc = SSL_read(t->ssl, out, size < INT_MAX ? (int)size : INT_MAX);
    if (rc > 0) return rc;
    int code = SSL_get_error(t->ssl, rc);
    t->is_dry = true;
    if (code == SSL_ERROR_ZERO_RETURN) return 0;
    t->read_wants_write = code == SSL_ERROR_WANT_WRITE;
    if (code == SSL_ERROR_WANT_READ || code == SSL_ERROR_WANT_WRITE) return not_now();
    breaks(t, code);
    errno = ECONNRESET;
    return -1;
}

ssize_t tls_read(struct tls *t, void *out, size_t size)
{
    uint8_t *to = out;
    size_t got = 0;
    if (t->is_broken) {
        errno = ECONNRESET;
        return -1;
    }
    ERR_clear_error();
    t->read_wants_write = false;
    t->is_dry = false;
    do {
        ssize_t n = read_once(t, to + got, size - got);
        /* The end, or an error, comes again at the next call. */
        if (n <= 0) return got > 0 ? (ssize_t)got : n;
        got += (size_t)n;
    } while (got < size && SSL_has_pending(t->ssl));
    return (ssize_t)got;
}

ssize_t tls_write(struct tls *t, const void *bytes, size_t size)
{
    if (t->is_broken) {
        errno = ECONNRESET;
        return -1;
    }
    ERR_clear_error();
    errno = 0;
    t->write_wants_read = false;
    INVARIANT(size >= t->begun);
    if (t->begun != 0) size = t->begun;
    if (size > RECORD_MAX) size = RECORD_MAX;
    int rc = SSL_write(t->ssl, bytes, (int)size);
    t->begun = rc > 0 ? 0 : size;
    if (rc > 0) return rc;
    int code = SSL_get_error(t->ssl, rc);
    t->write_wants_read = code == SSL_ERROR_WANT_READ;
    if (code == SSL_ERROR_WANT_READ || code == SSL_ERROR_WANT_WRITE) return not_now();
    breaks(t, code);
    errno = ECONNRESET;
    return -1;
}

bool tls_has_more(const struct tls *t)
{
    /* The end, or an error, that stood after the bytes of the last read. */
    if (t->is_broken || (SSL_get_shutdown(t->ssl) & SSL_RECEIVED_SHUTDOWN) != 0) return true;
    return !t->is_dry && SSL_has_pending(t->ssl) != 0;
}

bool tls_read_wants_write(const struct tls *t)
{
    return t->read_wants_write;
}

bool tls_write_wants_read(const struct tls *t)
{
    return t->write_wants_read;
}

void tls_poke(struct tls *t)
{
    char byte;
    ERR_clear_error();
    errno = 0;
    int rc = SSL_peek(t->ssl, &byte, 1);
    int code = rc > 0 ? SSL_ERROR_NONE : SSL_get_error(t->ssl, rc);
    if (code == SSL_ERROR_SSL || code == SSL_ERROR_SYSCALL) breaks(t, code);
    t->write_wants_read = false;
    t->is_dry = false;
}

const char *tls_error(const struct tls *t)
{
    return t->error;
}

size_t tls_held_bytes(const struct tls *t)
{
    size_t bytes = TLS_IDLE_BYTES;
    if (t->begun != 0) bytes += TLS_RECORD_BYTES;
    if (SSL_has_pending(t->ssl)) bytes += TLS_RECORD_BYTES;
    return bytes;
}
