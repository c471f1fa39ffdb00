/* redis_elements: what a Redis or Valkey server answers about the elements of a key, as the list
 * `elements` of a record of a collection (docs/export.md), in MessagePack.
 */
#ifndef TOOL_REDIS_ELEMENTS_H
#define TOOL_REDIS_ELEMENTS_H

#include "tool/records.h"
#include "tool/wire.h"

enum redis_kind {
    REDIS_NONE, /* there is no such key */
    REDIS_STRING,
    REDIS_HASH,
    REDIS_LIST,
    REDIS_SET,
    REDIS_ZSET,
    REDIS_STREAM,
    REDIS_OTHER, /* of a module, or younger than this program */
};

/* What TYPE answers. */
enum redis_kind redis_kind_of(struct slice type);
/* "hash"; of REDIS_OTHER "other". */
const char *redis_kind_name(enum redis_kind kind);

struct redis_elements {
    struct buf bytes; /* owned: the head of the list, then its items; zeroed = none yet */
    size_t count;
    bool is_still; /* of a stream: times are left out, so that two servers can be compared */
};

void redis_elements_fini(struct redis_elements *e);
void redis_elements_clear(struct redis_elements *e);
/* The list. Until something else is added. */
struct slice redis_elements_raw(struct redis_elements *e);

/* Each is false when the reply has another form than is known. */

/* The second part of the reply of HSCAN, SSCAN or ZSCAN; the reply of LRANGE. `expiries`: of
 * HPEXPIRETIME for these fields; NULL = none has one. */
bool redis_elements_page(struct redis_elements *e, enum redis_kind kind, const redisReply *page,
                         const redisReply *expiries);
/* Of XRANGE, from the item `from` on. */
bool redis_elements_entries(struct redis_elements *e, const redisReply *entries, size_t from);
/* The state, from XINFO STREAM, with FULL or without. */
bool redis_elements_state(struct redis_elements *e, const redisReply *info);
/* A group, from XINFO GROUPS or an item of `groups` of XINFO STREAM FULL. */
bool redis_elements_group(struct redis_elements *e, const redisReply *group);
/* Consumers and what is pending of a group, from an item of `groups` of XINFO STREAM FULL. */
bool redis_elements_members(struct redis_elements *e, const redisReply *group);
/* A consumer of XINFO CONSUMERS; now_ms: the server's time. */
bool redis_elements_consumer(struct redis_elements *e, struct slice group,
                             const redisReply *consumer, int64_t now_ms);
/* Of XPENDING with a range, from the item `from` on; now_ms: the server's time. */
bool redis_elements_pending(struct redis_elements *e, struct slice group, const redisReply *list,
                            size_t from, int64_t now_ms);

#endif
