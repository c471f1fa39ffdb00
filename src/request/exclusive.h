/* exclusive: for a while one client is the only one that may write into its database. Commands of
 * others that may write there are held before they begin; reads, other databases, and commands that
 * have begun go on. The last try of a long script has it (src/command/script/long.c).
 *
 * Invariants:
 *   1. Nothing is held, and nothing waits in line, while no client has it.
 *   2. A client has it until exclusive_end, or until its time is over (exclusive_tick).
 */
#ifndef REQUEST_EXCLUSIVE_H
#define REQUEST_EXCLUSIVE_H

#include "request/command.h"

/* Before any command runs. */
void exclusive_open(struct env *env);
/* rq's client has the database that it has selected for itself, for `max_ms` at most. False:
 * another client has one; rq->waiter was taken, and is woken when that is over. */
bool exclusive_begin(struct request *rq, int64_t max_ms);
/* Harmless when `c` has none. */
void exclusive_end(struct env *env, const struct client *c);
/* rq must wait, because another client has its database for itself: rq->waiter was taken. */
bool exclusive_holds(struct request *rq);
/* The same of a command that is to begin; false when it does not write. */
bool exclusive_holds_new(struct request *rq);
/* Ends it when its time is over. */
void exclusive_tick(struct env *env);
/* In how many ms that is; INT64_MAX = no client has it. */
int64_t exclusive_due_ms(const struct env *env);

#endif
