#include "certs.h"

#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define PATHS 16
#define DAY_S (24L * 3600)

const char *certs_path(const char *dir, const char *name, const char *ending)
{
    static char paths[PATHS][512];
    static unsigned next;
    char *path = paths[next++ % PATHS];
    snprintf(path, sizeof paths[0], "%s/%s%s", dir, name, ending);
    return path;
}

static FILE *file_of(const char *dir, const char *name, const char *ending, const char *mode)
{
    FILE *f = fopen(certs_path(dir, name, ending), mode);
    if (f == NULL) fail_msg("cannot open %s%s", name, ending);
    return f;
}

/* Its key and its certificate, both the caller's. */
static void read_issuer(const char *dir, const char *name, EVP_PKEY **key, X509 **x)
{
    FILE *f = file_of(dir, name, ".key", "re");
    *key = PEM_read_PrivateKey(f, NULL, NULL, NULL);
    fclose(f);
    f = file_of(dir, name, ".crt", "re");
    *x = PEM_read_X509(f, NULL, NULL, NULL);
    fclose(f);
    assert_true(*key != NULL && *x != NULL);
}

static void add_extension(X509 *x, int nid, const char *value)
{
    X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, NULL, nid, value);
    assert_non_null(e);
    X509_add_ext(x, e, -1);
    X509_EXTENSION_free(e);
}

static void name_it(X509 *x, const struct cert_options *o)
{
    const char *cn = o->cn != NULL ? o->cn : o->name;
    size_t len = o->cn_len != 0 ? o->cn_len : strlen(cn);
    X509_NAME *subject = X509_get_subject_name(x);
    int rc = X509_NAME_add_entry_by_NID(subject, NID_commonName, MBSTRING_UTF8,
                                        (const unsigned char *)cn, (int)len, -1, 0);
    assert_int_equal(rc, 1);
}

static void describe(X509 *x, EVP_PKEY *key, const struct cert_options *o)
{
    static long serial;
    X509_set_version(x, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(x), ++serial);
    X509_gmtime_adj(X509_getm_notBefore(x), o->begin_s != 0 ? o->begin_s : -DAY_S);
    X509_gmtime_adj(X509_getm_notAfter(x), o->end_s != 0 ? o->end_s : 30 * DAY_S);
    X509_set_pubkey(x, key);
    name_it(x, o);
    if (o->issuer == NULL) {
        add_extension(x, NID_basic_constraints, "critical,CA:TRUE");
        add_extension(x, NID_key_usage, "keyCertSign,cRLSign");
        return;
    }
    char names[512] = "DNS:localhost,IP:127.0.0.1";
    if (o->uri != NULL) snprintf(names, sizeof names, "URI:%s", o->uri);
    add_extension(x, NID_subject_alt_name, names);
}

void certs_make(const char *dir, const struct cert_options *o)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    EVP_PKEY *issuer_key = key;
    X509 *x = X509_new();
    X509 *issuer = x;
    assert_true(key != NULL && x != NULL);
    describe(x, key, o);
    if (o->issuer != NULL) read_issuer(dir, o->issuer, &issuer_key, &issuer);
    X509_set_issuer_name(x, X509_get_subject_name(issuer));
    assert_true(X509_sign(x, issuer_key, EVP_sha256()) > 0);
    FILE *f = file_of(dir, o->name, ".crt", "we");
    assert_int_equal(PEM_write_X509(f, x), 1);
    fclose(f);
    f = file_of(dir, o->name, ".key", "we");
    const EVP_CIPHER *cipher = o->password != NULL ? EVP_aes_128_cbc() : NULL;
    const unsigned char *password = (const unsigned char *)o->password;
    int len = o->password != NULL ? (int)strlen(o->password) : 0;
    assert_int_equal(PEM_write_PrivateKey(f, key, cipher, password, len, NULL, NULL), 1);
    fclose(f);
    if (o->issuer != NULL) {
        EVP_PKEY_free(issuer_key);
        X509_free(issuer);
    }
    X509_free(x);
    EVP_PKEY_free(key);
}
