/* load: records on their way to the server: batches of KV.LOAD, each one transaction, several of
 * them under way at a time. What is acknowledged is told in the order of the input.
 */
#ifndef TOOL_LOAD_H
#define TOOL_LOAD_H

#include "tool/source.h"

struct load_batch; /* one that is under way */

struct loader {
    struct wire *w;
    const struct source *source;
    const char *input; /* its name, for errors */
    /* The batch that is being filled. */
    struct arena arena;  /* of its words */
    struct slice *words; /* owned */
    size_t word_count, word_room;
    uint64_t *numbers; /* owned: of its records */
    size_t count;
    size_t bytes;
    bool is_pack;
    struct buf map; /* with is_mapping: key and old versionstamp of its entries, as JSON */
    bool is_mapping;
    struct buf keys; /* of a live source: its records' */
    /* Batches under way, oldest first; owned. */
    struct load_batch *first, **last;
    size_t under_way;
    uint64_t bytes_under_way;
    /* Acknowledged. */
    uint64_t loaded, left; /* records; left: messages that were there already */
    uint64_t records;
    char place[SOURCE_PLACE_BYTES];
    struct buf map_done; /* lines of --map, for the caller to take */
};

void loader_init(struct loader *l, struct wire *w, const struct source *source, const char *input);
void loader_fini(struct loader *l);
/* RECORD_ENTRY, RECORD_DELETED, RECORD_COLLECTION, RECORD_MESSAGE. Sends a batch when it is full,
 * and hears what has been answered. What the server refuses is said, with the number of the record.
 */
ERR_MUST_USE enum tool_status loader_add(struct loader *l, const struct record *r);
/* Sends the rest and waits for all answers. */
ERR_MUST_USE enum tool_status loader_drain(struct loader *l);

#endif
