/* tls: certificates, keys and what else TLS needs, taken from files. A context is made from options
 * as a whole or not at all, so that a bad file never takes the place of a good one: a caller that
 * has new files makes a new context and gives it to net (net_set_tls). Connections that are open
 * keep the one they began with. Loop thread.
 */
#ifndef NET_TLS_H
#define NET_TLS_H

#include "base/err.h"

struct tls_context;

/* Does a client need a certificate? */
enum tls_auth { TLS_AUTH_NO, TLS_AUTH_YES, TLS_AUTH_OPTIONAL };
/* What of a client's certificate names its user. */
enum tls_user { TLS_USER_OFF, TLS_USER_CN, TLS_USER_URI };

/* Texts may be "" where that is said. All are borrowed. */
struct tls_options {
    const char *cert_file;    /* PEM: the server's certificate, then its chain */
    const char *key_file;     /* PEM */
    const char *key_password; /* "" = none */
    const char *ca_file;      /* PEM, of clients' certificates; "" = none */
    const char *ca_dir;       /* as OpenSSL's rehash makes it; "" = none */
    enum tls_auth auth;
    enum tls_user user;
    const char *protocols;    /* "TLSv1.2 TLSv1.3", or one of them; "" = both */
    const char *ciphers;      /* of TLS 1.2, in OpenSSL's notation; "" = its default */
    const char *ciphersuites; /* of TLS 1.3, likewise */
    bool prefers_own_ciphers; /* the server's order counts, not the client's */
};

/* What INFO shows; kept by what makes contexts, but for the last two members, which are net's. */
struct tls_status {
    bool is_on;
    uint16_t port;
    int64_t cert_not_after_s; /* unix time at which the first of its certificates ends */
    int64_t ca_not_after_s;   /* likewise those of ca_file; 0 = none */
    int64_t reloaded_s;       /* when files were last taken or refused; 0 = not since the start */
    uint64_t reloads, reload_failures;
    bool is_reload_failed; /* the last one */
    char error[ERROR_TEXT_BYTES];
    uint64_t connections; /* open, after their handshake */
    uint64_t handshakes;  /* under way */
};

/* ERR_SYNTAX or ERR_IO with the setting, the file and what OpenSSL says of it. The password is in
 * no error. */
ERR_MUST_USE enum err tls_context_new(const struct tls_options *o, struct tls_context **out,
                                      struct error *e);
/* Connections that were made with it go on. c may be NULL. */
void tls_context_free(struct tls_context *c);
/* When the first of its certificates ends, and of those of ca_file; unix seconds, 0 = none. */
int64_t tls_context_cert_end_s(const struct tls_context *c);
int64_t tls_context_ca_end_s(const struct tls_context *c);
/* What is odd about its certificates at this time, as text for the log: they have ended, or have
 * not begun. NULL = nothing. */
const char *tls_context_oddity(const struct tls_context *c, int64_t now_s);

#endif
