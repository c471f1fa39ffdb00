/* kv_connect: a KV Connect service (versions 1 to 3), as its client. First it is asked, with the
 * access token, where its data is and for a token to read it (metadata); then pages are read there.
 * The token is renewed before it ends, and when it is refused.
 *
 *   shut --metadata--> open --a read--> open
 *                       |  the token ends soon, or 401, 403: metadata, then the read again
 *                       |  no answer, or 5xx, 429: a pause, then the same again, for retry_s
 *
 * Pauses are random, around a time that doubles, so that many clients do not come back at once.
 */
#ifndef TOOL_KV_CONNECT_H
#define TOOL_KV_CONNECT_H

#include "tool/tool.h"

struct Kv__RangeOutput; /* src/foreign/datapath.proto */

struct service_options {
    const char *url, *token;
    const char *cacert; /* file; NULL = those of the system */
    int64_t connect_s;
    int64_t retry_s; /* 0 = a failure is the end */
};

struct service;

/* Metadata were had. What goes wrong is said, here and below: TOOL_BROKEN when there was no answer
 * or a 5xx, else TOOL_NO. The texts of `o` are borrowed. */
ERR_MUST_USE enum tool_status service_open(const struct tool *t, const struct service_options *o,
                                           struct service **out);
void service_close(struct service *s); /* may be NULL */
/* Which database it is: printable, without blanks. */
const char *service_database(const struct service *s);

struct service_range {
    struct slice start, end; /* keys from start up to end, which is excluded */
    int32_t limit;
};

/* The first entries of the range, of one moment; until the next call. *page NULL with TOOL_DONE:
 * the service refuses so many at a time (400 or 413, with the limit above 1). *bytes: of the
 * answer. */
ERR_MUST_USE enum tool_status service_read(struct service *s, const struct service_range *range,
                                           const struct Kv__RangeOutput **page, size_t *bytes);

/* An RFC 3339 time, "2026-11-21T08:23:32.849Z", as Unix time in ms; false: it is none. */
bool service_time(struct slice text, int64_t *ms);

#endif
