/* web: HTTP requests to others than the server, by libcurl: with https the certificate and the
 * host's name are checked, redirections are not followed. One thread.
 */
#ifndef TOOL_WEB_H
#define TOOL_WEB_H

#include "base/buf.h"

#define WEB_WHY_BYTES 512
#define WEB_HEADERS_MAX 6

struct web_options {
    const char *cacert; /* file; NULL = those of the system */
    int64_t connect_s;  /* for connecting */
    int64_t silent_s;   /* an answer of which so long nothing comes is given up */
    size_t bytes_max;   /* of an answer */
};

struct web_request {
    const char *url;
    const char *headers[WEB_HEADERS_MAX]; /* "name: value", up to the first NULL */
    struct slice body;
};

enum web_result {
    WEB_ANSWERED, /* whole */
    WEB_FAILED,   /* no connection, or it broke: another time it may be better */
    WEB_NEVER,    /* it would be the same again: a certificate, a URL, an answer too large */
};

struct web;

/* NULL: there is no memory. */
struct web *web_new(const struct web_options *o);
void web_free(struct web *w); /* may be NULL */
/* Posts; the answer's status and body. Else `why` says what went wrong. */
enum web_result web_post(struct web *w, const struct web_request *r, int *status, struct buf *body,
                         char why[WEB_WHY_BYTES]);

/* Appends the absolute URL of `relative` (which may be one; NULL: of `base` itself) as seen from
 * `base`, and a 0. False: it
 * makes no sense, or is neither http nor https. */
bool web_resolve(const char *base, const char *relative, struct buf *out);
/* Is the URL of https? */
bool web_is_secure(const char *url);
/* Does it have a user or password? They would be seen by all who see the command line. */
bool web_has_login(const char *url);

#endif
