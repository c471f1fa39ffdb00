/* origin: which pages of a browser may talk to the server (Fetch, RFC 6454). A page of another site
 * must get nowhere, also one whose name was made to lead to this machine (DNS rebinding). Pure
 * functions.
 */
#ifndef HTTP_ORIGIN_H
#define HTTP_ORIGIN_H

#include "http/message.h"

struct host_name {
    char text[256];
};

struct origin_rules {
    const char *allowed_hosts;   /* names, with blanks between */
    const char *allowed_origins; /* likewise; * = all */
    const char *own_name;        /* this machine's */
};

struct origin_asked {
    const struct http_message *message;
    struct slice host; /* of the request, or what a trusted proxy says */
    bool is_secure;
    bool is_open;   /* any host will do */
    bool may_act;   /* it is a GET that may change something */
    bool is_static; /* a page or its parts: a link from another site may lead there */
};

/* status 0: let it in; *cors is the origin whose page may read the answer, data NULL = none. */
struct http_refusal origin_check(const struct origin_rules *rules, const struct origin_asked *asked,
                                 struct slice *cors);
/* Is it one of the words of a list with blanks between? In any case. */
bool origin_list_has(const char *list, struct slice word);

#endif
