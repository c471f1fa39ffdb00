/* tls_context: files become certificates and keys (tls.h). TLS 1.2 and 1.3 only; no renegotiation,
 * no compression; sessions are resumed by tickets, which keep nothing here.
 */
#include <errno.h>
#include <limits.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509err.h>
#include <stdio.h>
#include <strings.h>
#include <time.h>

#include "base/file.h"
#include "base/mem.h"
#include "net/tls_int.h"

#define SHOWN_BYTES 96           /* of a path, in an error: the reason must still fit */
#define SESSION_S 300            /* for which a session may be resumed */
#define CLIENT_CHAIN_BYTES 32768 /* of a client's certificates */

/* ---- errors ---------------------------------------------------------------------------------- */

void tls_reason(char out[TLS_REASON_BYTES])
{
    const char *data = NULL;
    int flags = 0;
    unsigned long code = ERR_get_error_all(NULL, NULL, NULL, &data, &flags);
    const char *text = ERR_SYSTEM_ERROR(code) ? strerror(ERR_GET_REASON(code))
                                              : ERR_reason_error_string(code);
    if (code == 0) text = "no reason given";
    bool has_data = (flags & ERR_TXT_STRING) != 0 && data != NULL && data[0] != '\0' &&
                    !ERR_SYSTEM_ERROR(code);
    snprintf(out, TLS_REASON_BYTES, "%s%s%.60s%s", text != NULL ? text : "unknown error",
             has_data ? " (" : "", has_data ? data : "", has_data ? ")" : "");
    ERR_clear_error();
}

static enum err refuse_file(struct error *e, const char *setting, const char *path)
{
    char why[TLS_REASON_BYTES];
    size_t len = strlen(path);
    bool is_long = len > SHOWN_BYTES;
    tls_reason(why);
    return error_set(e, ERR_IO, "cannot load %s %s%s: %s", setting, is_long ? "..." : "",
                     is_long ? path + len - SHOWN_BYTES : path, why);
}

static enum err refuse_text(struct error *e, const char *setting, const char *what)
{
    char why[TLS_REASON_BYTES];
    tls_reason(why);
    return error_set(e, ERR_SYNTAX, "invalid value of %s: %s; %s", setting, why, what);
}

/* ---- files ----------------------------------------------------------------------------------- */

struct password {
    const char *text;
    bool was_asked;
};

/* Never asks at the terminal, as the library would by itself. */
static int on_password(char *out, int size, int is_writing, void *arg)
{
    struct password *p = arg;
    size_t len = strlen(p->text);
    (void)is_writing;
    p->was_asked = true;
    if (len == 0 || len > (size_t)size) return -1;
    memcpy(out, p->text, len);
    return (int)len;
}

static bool is_mismatch(unsigned long code)
{
    int reason = ERR_GET_REASON(code);
    return ERR_GET_LIB(code) == ERR_LIB_X509 &&
           (reason == X509_R_KEY_VALUES_MISMATCH || reason == X509_R_KEY_TYPE_MISMATCH);
}

static enum err take_key(SSL_CTX *ctx, const struct tls_options *o, struct error *e)
{
    struct password password = {.text = o->key_password};
    SSL_CTX_set_default_passwd_cb(ctx, on_password);
    SSL_CTX_set_default_passwd_cb_userdata(ctx, &password);
    bool is_good = SSL_CTX_use_PrivateKey_file(ctx, o->key_file, SSL_FILETYPE_PEM) == 1 &&
                   SSL_CTX_check_private_key(ctx) == 1;
    SSL_CTX_set_default_passwd_cb_userdata(ctx, NULL);
    if (is_good) return OK;
    bool is_other = is_mismatch(ERR_peek_error());
    enum err r = refuse_file(e, "tls-key-file", o->key_file);
    if (is_other) {
        error_add(e, "; it does not belong to tls-cert-file");
    } else if (password.was_asked) {
        error_add(e, password.text[0] != '\0' ? "; tls-key-file-pass is wrong"
                                              : "; it has a password, set tls-key-file-pass");
    }
    return r;
}

static enum err take_files(SSL_CTX *ctx, const struct tls_options *o, struct error *e)
{
    if (o->cert_file[0] == '\0') return error_set(e, ERR_SYNTAX, "TLS needs tls-cert-file");
    if (o->key_file[0] == '\0') return error_set(e, ERR_SYNTAX, "TLS needs tls-key-file");
    if (SSL_CTX_use_certificate_chain_file(ctx, o->cert_file) != 1) {
        return refuse_file(e, "tls-cert-file", o->cert_file);
    }
    return take_key(ctx, o, e);
}

static enum err take_authorities(SSL_CTX *ctx, const struct tls_options *o, struct error *e)
{
    bool has_file = o->ca_file[0] != '\0';
    bool has_dir = o->ca_dir[0] != '\0';
    if (!has_file && !has_dir && o->auth != TLS_AUTH_NO) {
        return error_set(e, ERR_SYNTAX,
                         "tls-auth-clients requires certificates of clients: set tls-ca-cert-file "
                         "or tls-ca-cert-dir, or tls-auth-clients no");
    }
    if (has_file && SSL_CTX_load_verify_file(ctx, o->ca_file) != 1) {
        return refuse_file(e, "tls-ca-cert-file", o->ca_file);
    }
    if (has_dir && !file_exists(o->ca_dir)) {
        return error_set(e, ERR_IO, "tls-ca-cert-dir %.*s: no such directory", SHOWN_BYTES,
                         o->ca_dir);
    }
    if (has_dir && SSL_CTX_load_verify_dir(ctx, o->ca_dir) != 1) {
        return refuse_file(e, "tls-ca-cert-dir", o->ca_dir);
    }
    int mode = SSL_VERIFY_NONE;
    if (o->auth == TLS_AUTH_OPTIONAL) mode = SSL_VERIFY_PEER;
    if (o->auth == TLS_AUTH_YES) mode = SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
    SSL_CTX_set_verify(ctx, mode, NULL);
    SSL_CTX_set_max_cert_list(ctx, CLIENT_CHAIN_BYTES);
    return OK;
}

/* ---- protocols and ciphers ------------------------------------------------------------------- */

static bool is_divider(char c)
{
    return c == ' ' || c == '\t' || c == ',';
}

static enum err take_protocols(SSL_CTX *ctx, const char *text, struct error *e)
{
    bool has_2 = false;
    bool has_3 = false;
    while (*text != '\0') {
        size_t len = 0;
        if (is_divider(*text)) {
            text++;
            continue;
        }
        while (text[len] != '\0' && !is_divider(text[len])) len++;
        bool is_2 = len == 7 && strncasecmp(text, "TLSv1.2", len) == 0;
        bool is_3 = len == 7 && strncasecmp(text, "TLSv1.3", len) == 0;
        if (!is_2 && !is_3) {
            return error_set(e, ERR_SYNTAX,
                             "tls-protocols must be TLSv1.2, TLSv1.3 or both, not %.*s",
                             len < SHOWN_BYTES ? (int)len : SHOWN_BYTES, text);
        }
        has_2 = has_2 || is_2;
        has_3 = has_3 || is_3;
        text += len;
    }
    if (!has_2 && !has_3) has_2 = has_3 = true;
    SSL_CTX_set_min_proto_version(ctx, has_2 ? TLS1_2_VERSION : TLS1_3_VERSION);
    SSL_CTX_set_max_proto_version(ctx, has_3 ? TLS1_3_VERSION : TLS1_2_VERSION);
    return OK;
}

static enum err take_ciphers(SSL_CTX *ctx, const struct tls_options *o, struct error *e)
{
    if (o->ciphers[0] != '\0' && SSL_CTX_set_cipher_list(ctx, o->ciphers) != 1) {
        return refuse_text(e, "tls-ciphers", "`openssl ciphers` lists the valid names");
    }
    if (o->ciphersuites[0] != '\0' && SSL_CTX_set_ciphersuites(ctx, o->ciphersuites) != 1) {
        return refuse_text(e, "tls-ciphersuites",
                           "`openssl ciphers -s -tls1_3` lists the valid names");
    }
    return OK;
}

/* The first of the server's protocols that the client speaks too. */
static int on_alpn(SSL *ssl, const unsigned char **out, unsigned char *out_len,
                   const unsigned char *in, unsigned in_len, void *arg)
{
    const char *own = SSL_get_app_data(ssl);
    unsigned char *chosen;
    (void)arg;
    if (own == NULL) return SSL_TLSEXT_ERR_NOACK;
    int r = SSL_select_next_proto(&chosen, out_len, (const unsigned char *)own,
                                  (unsigned)strlen(own), in, in_len);
    if (r != OPENSSL_NPN_NEGOTIATED) return SSL_TLSEXT_ERR_ALERT_FATAL;
    *out = chosen;
    return SSL_TLSEXT_ERR_OK;
}

static void set_modes(SSL_CTX *ctx, const struct tls_options *o)
{
    static const unsigned char id[] = "tupled";
    uint64_t options = SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                       SSL_OP_IGNORE_UNEXPECTED_EOF;
    if (o->prefers_own_ciphers) options |= SSL_OP_CIPHER_SERVER_PREFERENCE;
    SSL_CTX_set_options(ctx, options);
    SSL_CTX_set_dh_auto(ctx, 1);
    SSL_CTX_set_alpn_select_cb(ctx, on_alpn, NULL);
    SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                              SSL_MODE_RELEASE_BUFFERS);
    /* One call reads the socket once: a peer that changes its keys again and again, which is no
     * data, must not keep the loop in it. */
    SSL_CTX_clear_mode(ctx, SSL_MODE_AUTO_RETRY);
    SSL_CTX_set_read_ahead(ctx, 1);
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_session_id_context(ctx, id, sizeof id - 1);
    SSL_CTX_set_timeout(ctx, SESSION_S);
}

/* ---- when they end --------------------------------------------------------------------------- */

static int64_t unix_time(const ASN1_TIME *t)
{
    struct tm tm = {0};
    return ASN1_TIME_to_tm(t, &tm) == 1 ? (int64_t)timegm(&tm) : 0;
}

static void look_at_certificate(struct tls_context *c, const X509 *x)
{
    int64_t begin_s = unix_time(X509_get0_notBefore(x));
    int64_t end_s = unix_time(X509_get0_notAfter(x));
    if (begin_s > c->begin_s) c->begin_s = begin_s;
    if (c->end_s == 0 || end_s < c->end_s) c->end_s = end_s;
}

static void look_at_ends(struct tls_context *c)
{
    STACK_OF(X509) *chain = NULL;
    X509_STORE *store = SSL_CTX_get_cert_store(c->ctx);
    STACK_OF(X509_OBJECT) *known = X509_STORE_get0_objects(store);
    look_at_certificate(c, SSL_CTX_get0_certificate(c->ctx));
    SSL_CTX_get0_chain_certs(c->ctx, &chain);
    for (int i = 0; i < sk_X509_num(chain); i++) look_at_certificate(c, sk_X509_value(chain, i));
    for (int i = 0; i < sk_X509_OBJECT_num(known); i++) {
        const X509 *x = X509_OBJECT_get0_X509(sk_X509_OBJECT_value(known, i));
        int64_t end_s = x != NULL ? unix_time(X509_get0_notAfter(x)) : 0;
        if (end_s != 0 && (c->ca_end_s == 0 || end_s < c->ca_end_s)) c->ca_end_s = end_s;
    }
}

/* ---- life ------------------------------------------------------------------------------------ */

enum err tls_context_new(const struct tls_options *o, struct tls_context **out, struct error *e)
{
    ERR_clear_error();
    struct tls_context *c = mem_new(sizeof *c);
    c->user = o->user;
    c->ctx = SSL_CTX_new(TLS_method());
    if (c->ctx == NULL) die("cannot initialize the TLS library");
    set_modes(c->ctx, o);
    enum err r = take_protocols(c->ctx, o->protocols, e);
    if (r == OK) r = take_ciphers(c->ctx, o, e);
    if (r == OK) r = take_files(c->ctx, o, e);
    if (r == OK) r = take_authorities(c->ctx, o, e);
    if (r == OK) {
        look_at_ends(c);
        *out = c;
    } else {
        tls_context_free(c);
    }
    ERR_clear_error();
    return r;
}

void tls_context_free(struct tls_context *c)
{
    if (c == NULL) return;
    SSL_CTX_free(c->ctx);
    mem_free(c);
}

int64_t tls_context_cert_end_s(const struct tls_context *c)
{
    return c->end_s;
}

int64_t tls_context_ca_end_s(const struct tls_context *c)
{
    return c->ca_end_s;
}

const char *tls_context_oddity(const struct tls_context *c, int64_t now_s)
{
    if (now_s >= c->end_s) return "has expired: clients will reject it";
    if (now_s < c->begin_s) return "is not valid yet: clients will reject it";
    return NULL;
}
