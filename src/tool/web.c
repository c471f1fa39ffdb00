/* web: one handle of libcurl for all requests, so that connections are used again; what its errors
 * mean: another time perhaps, or never. URLs are read by libcurl too. */
#include "tool/web.h"

#include <curl/curl.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "tupled.h"

struct web {
    CURL *curl;
    struct web_options options;
    char error[CURL_ERROR_SIZE];
    struct buf *body; /* of the answer that comes */
    bool is_too_large;
};

static size_t web_take(char *bytes, size_t size, size_t count, void *arg)
{
    struct web *w = arg;
    size_t len = size * count;
    if (len > w->options.bytes_max - w->body->len) {
        w->is_too_large = true;
        return 0;
    }
    buf_append(w->body, bytes, len);
    return w->body->is_failed ? 0 : len;
}

struct web *web_new(const struct web_options *o)
{
    struct web *w = mem_new(sizeof *w);
    w->options = *o;
    w->curl = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK ? curl_easy_init() : NULL;
    if (w->curl == NULL) {
        mem_free(w);
        return NULL;
    }
    CURL *c = w->curl;
    curl_easy_setopt(c, CURLOPT_ERRORBUFFER, w->error);
    curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT, (long)o->connect_s);
    curl_easy_setopt(c, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(c, CURLOPT_LOW_SPEED_TIME, (long)o->silent_s);
    curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, web_take);
    curl_easy_setopt(c, CURLOPT_WRITEDATA, w);
    curl_easy_setopt(c, CURLOPT_USERAGENT, "tupledctl/" TUPLED_VERSION);
    if (o->cacert != NULL) curl_easy_setopt(c, CURLOPT_CAINFO, o->cacert);
    return w;
}

void web_free(struct web *w)
{
    if (w == NULL) return;
    curl_easy_cleanup(w->curl);
    curl_global_cleanup();
    mem_free(w);
}

static enum web_result web_say(const struct web *w, CURLcode code, char why[WEB_WHY_BYTES])
{
    const char *text = w->error[0] != '\0' ? w->error : curl_easy_strerror(code);
    if (w->is_too_large) {
        snprintf(why, WEB_WHY_BYTES, "a response of more than %zu bytes", w->options.bytes_max);
        return WEB_NEVER;
    }
    snprintf(why, WEB_WHY_BYTES, "%s", text);
    switch (code) {
    case CURLE_PEER_FAILED_VERIFICATION:
        snprintf(why, WEB_WHY_BYTES, "%s. Give the CA certificate with --source-cacert", text);
        return WEB_NEVER;
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_URL_MALFORMAT:
    case CURLE_OUT_OF_MEMORY: return WEB_NEVER;
    default: return WEB_FAILED;
    }
}

enum web_result web_post(struct web *w, const struct web_request *r, int *status, struct buf *body,
                         char why[WEB_WHY_BYTES])
{
    struct curl_slist *headers = NULL;
    long code = 0;
    for (size_t i = 0; i < WEB_HEADERS_MAX && r->headers[i] != NULL; i++) {
        struct curl_slist *more = curl_slist_append(headers, r->headers[i]);
        if (more == NULL) die("out of memory for a request");
        headers = more;
    }
    buf_clear(body, SIZE_MAX);
    w->body = body;
    w->is_too_large = false;
    w->error[0] = '\0';
    CURL *c = w->curl;
    curl_easy_setopt(c, CURLOPT_URL, r->url);
    curl_easy_setopt(c, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)r->body.len);
    curl_easy_setopt(c, CURLOPT_POSTFIELDS, r->body.len == 0 ? "" : (const char *)r->body.data);
    CURLcode done = curl_easy_perform(c);
    curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &code);
    curl_easy_setopt(c, CURLOPT_HTTPHEADER, NULL);
    curl_slist_free_all(headers);
    *status = (int)code;
    return done == CURLE_OK ? WEB_ANSWERED : web_say(w, done, why);
}

/* ---- URLs ------------------------------------------------------------------------------------ */

/* A part of the URL, which the caller frees; NULL: it has none, or is none. */
static char *web_part(const char *base, const char *relative, CURLUPart what)
{
    char *part = NULL;
    CURLU *u = curl_url();
    if (u == NULL) return NULL;
    bool is_good = curl_url_set(u, CURLUPART_URL, base, 0) == CURLUE_OK &&
                   (relative == NULL || curl_url_set(u, CURLUPART_URL, relative, 0) == CURLUE_OK);
    if (!is_good || curl_url_get(u, what, &part, 0) != CURLUE_OK) part = NULL;
    curl_url_cleanup(u);
    return part;
}

bool web_resolve(const char *base, const char *relative, struct buf *out)
{
    char *scheme = web_part(base, relative, CURLUPART_SCHEME);
    char *url = web_part(base, relative, CURLUPART_URL);
    bool is_good = url != NULL && scheme != NULL &&
                   (strcmp(scheme, "http") == 0 || strcmp(scheme, "https") == 0);
    if (is_good) {
        buf_append_str(out, url);
        buf_append_byte(out, '\0');
        buf_require(out);
    }
    curl_free(scheme);
    curl_free(url);
    return is_good;
}

bool web_is_secure(const char *url)
{
    char *scheme = web_part(url, NULL, CURLUPART_SCHEME);
    bool is_secure = scheme != NULL && strcmp(scheme, "https") == 0;
    curl_free(scheme);
    return is_secure;
}

bool web_has_login(const char *url)
{
    char *user = web_part(url, NULL, CURLUPART_USER);
    char *password = web_part(url, NULL, CURLUPART_PASSWORD);
    bool has_login = user != NULL || password != NULL;
    curl_free(user);
    curl_free(password);
    return has_login;
}
