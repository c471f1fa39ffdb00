/* certs: certificates for tests, made with libcrypto and written as PEM files. Keys are of P-256,
 * which takes no time. Every function fails the running test when it cannot.
 */
#ifndef TESTS_CERTS_H
#define TESTS_CERTS_H

#include <stdbool.h>
#include <stddef.h>

struct cert_options {
    const char *name;     /* files <dir>/<name>.crt and <dir>/<name>.key */
    const char *cn;       /* common name; NULL = name */
    size_t cn_len;        /* bytes of it; 0 = until its NUL */
    const char *uri;      /* among its alternative names; NULL = none */
    const char *issuer;   /* name of the one that signs it; NULL = itself, as an authority */
    const char *password; /* of the key's file; NULL = none */
    long begin_s;         /* from now; may be negative */
    long end_s;           /* from now; 0 = in 30 days */
};

void certs_make(const char *dir, const struct cert_options *o);
/* <dir>/<name><ending>, until the 16th next call. */
const char *certs_path(const char *dir, const char *name, const char *ending);

#endif
