/* elements: pages of KV.ELEMENTS, as export and digest ask for them, and their elements as an
 * export has them.
 */
#ifndef TOOL_ELEMENTS_H
#define TOOL_ELEMENTS_H

#include "tool/records.h"
#include "tool/wire.h"

/* What came of reading a collection. */
enum elements_end {
    ELEMENTS_READ,
    ELEMENTS_CHANGED, /* since the page before: to be read anew */
    ELEMENTS_GONE,
    ELEMENTS_OTHER, /* a value that is no collection */
};

/* Is the value that of a hash, list, set, sorted set or stream? As MessagePack it may be a map of a
 * client's. */
bool elements_are_of(const redisReply *value, bool is_pack);
/* Asks for the page after the cursor, "0" for the first, of a key as the server writes it. */
void elements_ask(struct wire *w, struct slice key, struct slice cursor, bool is_pack);
/* The reply, the caller's. *end is ELEMENTS_READ when it is a page. What goes wrong is said. */
ERR_MUST_USE enum tool_status elements_hear(struct wire *w, redisReply **out,
                                            enum elements_end *end);

/* Of a page: [versionstamp, type, length, expiry ms or nil, cursor, [element ...]]. */
static inline struct slice elements_type(const redisReply *page)
{
    return wire_slice(page->element[1]);
}
static inline struct slice elements_cursor(const redisReply *page)
{
    return wire_slice(page->element[4]);
}
static inline bool elements_is_last(const redisReply *page)
{
    return slice_eq(elements_cursor(page), slice_str("0"));
}
static inline const redisReply *elements_list(const redisReply *page)
{
    return page->element[5];
}

/* An item of a list of a record. False: the server knows other ones. */
bool elements_write(struct record_out *o, struct slice type, const redisReply *element,
                    bool is_first);

#endif
