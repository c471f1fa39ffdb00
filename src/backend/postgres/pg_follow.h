/* pg_follow: the journal of a node that does not lead: it takes nothing, and brings what the leader
 * appends to tupled_log (journal_owner.on_followed). The store below it is one with is_following
 * (pg_store.h).
 *
 * What is in the table was committed, but it may be less than durable: a server that was killed
 * and started again shows commits that none of its standbys has. So after each new connection
 * nothing is taken before the leader's beat has changed once: that commit waited for the standbys,
 * and all before it have reached them too. From then on, as long as the connection lasts, nothing
 * is seen before its own commit has waited.
 *
 * on_lost: what follows is not kept any more, or what it had brought was lost by PostgreSQL: the
 * database is opened again.
 */
#ifndef BACKEND_POSTGRES_PG_FOLLOW_H
#define BACKEND_POSTGRES_PG_FOLLOW_H

#include "backend/journal.h"
#include "backend/postgres/term.h"

struct pg_follow_options {
    struct term *term; /* following; the journal's now */
    bool is_quorum;    /* commits wait for standbys: term_durability is not TERM_ASYNC */
    uint64_t *brought; /* atomic: set to the version of each commit once the owner has it;
                        * borrowed of the store */
};

struct journal *pg_follow_new(const struct pg_follow_options *options);
/* When, monotonic, the last look began that found the end of the log; 0 = none has. Loop thread. */
int64_t pg_follow_seen_us(const struct journal *j);

#endif
