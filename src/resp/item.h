/* item: replies as the commands write them, read back one item at a time, in both protocols. For
 * code that runs commands and is no RESP client: the library, HTTP, scripts. Depth is the caller's
 * to bound; what is read was made by writer.h, or is refused.
 */
#ifndef RESP_ITEM_H
#define RESP_ITEM_H

#include "base/slice.h"

/* One node's own bytes. */
struct resp_item {
    char type;           /* + - : $ = * ~ > % _ , # ( */
    struct slice text;   /* of a bulk, or the line after the type; not of aggregates */
    struct slice format; /* of a verbatim text: "txt"; else empty */
    size_t children;     /* items that follow and belong to it: two for each pair of a map */
    size_t used;         /* bytes with the line's end, without children */
    bool is_nil;
};

/* False: there is no whole item at the beginning of `bytes`. */
bool resp_item_read(struct slice bytes, struct resp_item *out);
/* Of the whole reply at the beginning of `bytes`, with all that is in it; 0 = it is not whole. */
size_t resp_reply_length(struct slice bytes);

#endif
