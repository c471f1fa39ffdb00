/* tls: what the settings of TLS say, made into a context for net (net/tls.h): at the start, when
 * CONFIG SET changes one of them or says the same again, on SIGHUP, and when the files have changed
 * (tls-auto-reload-interval). It is all or nothing: what cannot be taken leaves everything as it
 * was.
 */
#include <time.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "server/server_int.h"

/* Settings and net have each their own words for the same, in the same order. */
_Static_assert((int)CONFIG_TLS_AUTH_YES == (int)TLS_AUTH_YES, "tls-auth-clients yes");
_Static_assert((int)CONFIG_TLS_AUTH_OPTIONAL == (int)TLS_AUTH_OPTIONAL, "... optional");
_Static_assert((int)CONFIG_TLS_USER_CN == (int)TLS_USER_CN, "tls-auth-clients-user cn");
_Static_assert((int)CONFIG_TLS_USER_URI == (int)TLS_USER_URI, "... uri");

bool tls_has_port(const struct server *s)
{
    return s->config->tls_port != 0 || s->is_any_tls_port;
}

bool tls_is_on(const struct server *s)
{
    const struct config *c = s->config;
    return tls_has_port(s) ||
           (c->http_tls == CONFIG_YES && (c->http_port != 0 || s->is_any_http_port));
}

/* Before the files are read: what changes meanwhile is seen the next time. */
static void tls_look(const struct config *c, uint64_t stamps[TLS_FILES])
{
    const char *paths[TLS_FILES] = {c->tls_cert_file, c->tls_key_file, c->tls_ca_file,
                                    c->tls_ca_dir};
    for (size_t i = 0; i < TLS_FILES; i++) {
        stamps[i] = paths[i][0] != '\0' ? file_stamp(paths[i]) : 0;
    }
}

enum err tls_make(const struct config *c, struct tls_made *out, struct error *e)
{
    struct tls_options o = {
        .cert_file = c->tls_cert_file,
        .key_file = c->tls_key_file,
        .key_password = c->tls_key_password,
        .ca_file = c->tls_ca_file,
        .ca_dir = c->tls_ca_dir,
        .auth = (enum tls_auth)c->tls_auth,
        .user = (enum tls_user)c->tls_user,
        .protocols = c->tls_protocols,
        .ciphers = c->tls_ciphers,
        .ciphersuites = c->tls_ciphersuites,
        .prefers_own_ciphers = c->tls_prefers_own_ciphers == CONFIG_YES,
    };
    tls_look(c, out->stamps);
    return tls_context_new(&o, &out->context, e);
}

static void use(struct server *s, const struct tls_made *made)
{
    const char *oddity = tls_context_oddity(made->context, clock_wall_ms() / 1000);
    if (oddity != NULL) {
        log_warning("TLS: a certificate in %s %s", s->config->tls_cert_file, oddity);
    }
    s->tls.cert_not_after_s = tls_context_cert_end_s(made->context);
    s->tls.ca_not_after_s = tls_context_ca_end_s(made->context);
    memcpy(s->tls_stamps, made->stamps, sizeof s->tls_stamps);
    net_set_tls(s->net, made->context);
}

static void note_reload(struct server *s, const struct error *e)
{
    s->tls.reloaded_s = clock_wall_ms() / 1000;
    s->tls.is_reload_failed = e != NULL;
    s->tls.error[0] = '\0';
    if (e != NULL) memcpy(s->tls.error, e->text, sizeof s->tls.error);
    *(e != NULL ? &s->tls.reload_failures : &s->tls.reloads) += 1;
}

void tls_take(struct server *s, const struct tls_made *made, const char *why)
{
    time_t end = (time_t)tls_context_cert_end_s(made->context);
    struct tm tm = {0};
    char date[32] = "?";
    if (gmtime_r(&end, &tm) != NULL) (void)strftime(date, sizeof date, "%Y-%m-%d", &tm);
    use(s, made);
    note_reload(s, NULL);
    log_notice("TLS: loaded files and settings (%s); the certificate is valid until %s", why, date);
}

enum err tls_open(struct server *s, struct error *e)
{
    struct tls_made made;
    enum err r = tls_make(s->config, &made, e);
    if (r == OK) use(s, &made);
    s->tls.is_on = r == OK;
    return r;
}

void tls_reload(struct server *s, const char *why)
{
    struct tls_made made;
    struct error e = {.text = ""};
    if (!tls_is_on(s)) return;
    if (tls_make(s->config, &made, &e) == OK) {
        tls_take(s, &made, why);
        return;
    }
    /* They are tried again when they change again, not at every look. */
    memcpy(s->tls_stamps, made.stamps, sizeof made.stamps);
    note_reload(s, &e);
    log_warning("TLS: configuration not reloaded (%s); keeping the previous one: %s", why, e.text);
}

void tls_tick(struct server *s)
{
    int64_t interval_us = (int64_t)s->config->tls_reload_s * 1000000;
    int64_t now_us = clock_mono_us();
    if (!tls_is_on(s) || interval_us == 0 || now_us - s->tls_looked_us < interval_us) return;
    uint64_t stamps[TLS_FILES];
    s->tls_looked_us = now_us;
    tls_look(s->config, stamps);
    if (memcmp(stamps, s->tls_stamps, sizeof stamps) == 0) return;
    tls_reload(s, "files have changed");
}
