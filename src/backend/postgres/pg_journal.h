/* pg_journal: the journal in PostgreSQL's tupled_log. backend/journal.h has the contract. The
 * connection that appends sends one statement for each part of a batch; what arrives meanwhile
 * fills the next batch, which is sent before the answer comes as soon as it is large enough:
 * PostgreSQL does one after the other, and none whose predecessor it has not done. A batch is
 * durable when that statement's commit was acknowledged, which waits for the standbys if the server
 * is configured so.
 *
 * An append is repeated, identical, until its outcome is known, or another node leads: then on_lost
 * is called, and nothing more is acknowledged.
 *
 * The lease is renewed from `tick`, by a thread and a connection of its own: a loop that does not
 * go on loses it.
 */
#ifndef BACKEND_POSTGRES_PG_JOURNAL_H
#define BACKEND_POSTGRES_PG_JOURNAL_H

#include "backend/journal.h"
#include "backend/postgres/term.h"

struct pg_journal_options {
    struct term *term; /* leading; the journal's now */
    int64_t lease_ms;  /* as the term's */
    int64_t retention_ms;
    uint64_t retention_bytes;
    size_t batch_bytes; /* at most so many in a statement; 0 = 4 MB */
};

/* How the node stands with PostgreSQL. Loop thread. */
struct pg_journal_state {
    int64_t silent_us; /* an append is under way, and no part was acknowledged for so long; or 0 */
    const char *lease_error; /* why the lease was not renewed last; "" = it was. Borrowed */
};

struct journal *pg_journal_new(const struct pg_journal_options *options);
/* retention_* of these apply from now on. */
void pg_journal_set_options(struct journal *j, const struct pg_journal_options *options);
void pg_journal_state(const struct journal *j, struct pg_journal_state *out);

#endif
