/* zset_int: what the files of the sorted set commands share. */
#ifndef COMMAND_ZSET_ZSET_INT_H
#define COMMAND_ZSET_ZSET_INT_H

#include "collection/sorted.h"
#include "request/args.h"
#include "request/elements.h"
#include "request/keys.h"
#include "request/shapes.h"
#include "request/table.h"

#define ZSET_COMMAND(...) TYPE_COMMAND("sorted-set", __VA_ARGS__)

struct key_member {
    struct slice key, member;
};
extern const struct arguments zset_member_arguments; /* "key member" */

/* In a transaction. */
ERR_MUST_USE enum err zset_open(struct request *rq, struct view *v, struct slice key,
                                struct collection *c);
/* Members, with their scores if so: flat in RESP2; with scores in RESP3 an array of pairs. */
void zset_reply(struct resp_writer *w, const struct element *items, size_t count, bool with_scores);

#endif
