/* message: a request of HTTP, whichever version it came by, and what is read of its target. Pure
 * functions (RFC 9110, RFC 3986).
 */
#ifndef HTTP_MESSAGE_H
#define HTTP_MESSAGE_H

#include "base/arena.h"
#include "base/buf.h"

#define HTTP_HEADERS_MAX 100

enum http_method {
    HTTP_GET = 1 << 0,
    HTTP_HEAD = 1 << 1,
    HTTP_POST = 1 << 2,
    HTTP_PUT = 1 << 3,
    HTTP_DELETE = 1 << 4,
    HTTP_OPTIONS = 1 << 5,
    HTTP_OTHER = 1 << 6
};

enum http_version { HTTP_1_0, HTTP_1_1, HTTP_2 };

struct http_header {
    struct slice name,
        value; /* the name as it came, in any case; the value without blanks around */
};

/* All slices are borrowed from whatever read it. */
struct http_message {
    enum http_version version;
    enum http_method method;
    struct slice host;        /* of Host or :authority; data NULL = none */
    struct slice path, query; /* raw; the path begins with '/'; query data NULL = no '?' */
    struct slice body;
    bool has_body; /* also an empty one that was announced */
    struct http_header headers[HTTP_HEADERS_MAX];
    size_t header_count;
};

/* What is answered to a request that cannot be served. */
struct http_refusal {
    int status;
    const char *text; /* constant */
};

enum http_method http_method_of(struct slice text);
/* The value of the first header of that name (lower case); data NULL = there is none. */
struct slice http_header(const struct http_message *m, const char *name);
/* The value of the last header of that name before place *at (m->header_count: of all); *at becomes
 * its place. data NULL = there is none. */
struct slice http_header_before(const struct http_message *m, const char *name, size_t *at);
/* Is it there, in any case, as one of the words of a list of words, and not with the weight 0
 * ("gzip;q=0")? */
bool http_list_has(struct slice list, const char *word);
/* Its weight in thousandths, 1000 where none is said; -1: it is not there. */
int http_list_weight(struct slice list, const char *word);
bool http_is_token(struct slice text);
/* May it stand in a header's value? */
bool http_is_value(struct slice text);
struct slice http_trim(struct slice text);
/* Path and query of a target in origin form ("/a?b"). False: it is none, or has bytes that a target
 * may not have. */
bool http_split_target(struct slice target, struct http_message *out);

/* Percent-decodes into the arena; is_form: + is a blank. False: a % without two digits, or text
 * that is not UTF-8 or has a NUL. */
bool http_decode(struct slice raw, bool is_form, struct arena *arena, struct slice *out);
/* The next part of a path after *rest's '/', raw; *rest is what follows, empty at the end. */
struct slice http_path_part(struct slice *rest);
/* The decoded value of the first parameter of that name. 1 found, 0 none, -1 it cannot be decoded.
 */
int http_query_value(struct slice query, const char *name, struct arena *arena, struct slice *out);
/* The next parameter, raw: name and value (data NULL = no '='). False at the end. */
bool http_query_next(struct slice *rest, struct slice *name, struct slice *value);

/* "OK" of 200. */
const char *http_reason(int status);

#endif
