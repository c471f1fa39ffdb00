/* pg_store: the store in PostgreSQL's tupled_entry and its neighbours (schema.h). backend/store.h
 * has the contract. Every write is fenced by the epoch of the term in tupled_applied.
 *
 * A pinned reader is a transaction that sees one snapshot. The loop cannot wait for one to be made,
 * so pinning only notes that it is wanted; it is made by the reader's first fetch, or by the store
 * thread before it begins with the next apply, whatever comes first. A reader whose connection ends
 * has lost its snapshot, and answers ERR_IO until it is unpinned.
 *
 * Flushed databases: their rows are hidden at once by a row of tupled_garbage, which every read
 * looks at, and are removed in slices. Forgotten ranges are only removed.
 *
 * Of a node that follows (pg_follow.h) the rows are written by the leader. What its reads see may
 * then be newer than what it was brought; the leader notes up to which version that may be
 * (applying_to). A read without a snapshot waits until so much was brought; a snapshot that is
 * newer than its pin answers ERR_BEHIND, and the caller begins anew. A memtable is applied when the
 * leader has applied all that is in it.
 *
 * Text indexes are in a file of this machine (pg_texts.c).
 */
#ifndef BACKEND_POSTGRES_PG_STORE_H
#define BACKEND_POSTGRES_PG_STORE_H

#include "backend/nearby.h"
#include "backend/postgres/term.h"

struct pg_store_options {
    struct term *term;               /* leading; outlives the store */
    size_t slice_bytes;              /* of an apply; 0 = 2 MB */
    const struct nearby *nearby;     /* NULL = there are no copies */
    const struct text_ops *text_ops; /* backend/text.h */
    const char *texts_path;          /* of the file; copied; NULL = there are no text indexes */
    bool is_following;               /* `term` does not lead, and nothing is written */
};

/* Blocks. ERR_IO, ERR_CORRUPT. */
ERR_MUST_USE enum err pg_store_open(const struct pg_store_options *options, struct store **out,
                                    struct error *e);
/* Of one that follows: the newest version that was brought; atomic. */
uint64_t *pg_store_brought(struct store *store);

#endif
