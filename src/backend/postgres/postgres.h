/* postgres: what a database stands on whose log and store are in PostgreSQL: pg_journal.h and
 * pg_store.h, under one term (term.h), which is theirs.
 */
#ifndef BACKEND_POSTGRES_POSTGRES_H
#define BACKEND_POSTGRES_POSTGRES_H

#include "backend/postgres/pg_follow.h"
#include "backend/postgres/pg_journal.h"
#include "backend/postgres/pg_store.h"

struct postgres_options {
    struct term *term; /* leading */
    int64_t lease_ms;
    int64_t retention_ms;
    uint64_t retention_bytes;
    size_t batch_bytes, slice_bytes; /* 0 = as usual */
    const struct nearby *nearby;     /* pg_store_options */
    const struct text_ops *text_ops;
    const char *texts_path;
};

/* retention_* of these apply from now on. */
void postgres_set_options(struct journal *journal, const struct postgres_options *options);

/* Both or none; the term is freed on an error. ERR_CORRUPT, ERR_IO. The journal is closed after the
 * store. */
ERR_MUST_USE enum err postgres_open(const struct postgres_options *options,
                                    struct journal **journal, struct store **store,
                                    struct error *e);

/* Of a node that does not lead: what another one commits (pg_follow.h). It makes a term of its own,
 * which never leads. Errors: as above, and those of term_open. */
ERR_MUST_USE enum err postgres_follow(const struct term_options *options, struct journal **journal,
                                      struct store **store, struct error *e);
/* Those that postgres_follow gave, and that nothing was opened on. */
void postgres_unfollow(struct journal *journal, struct store *store);

#endif
