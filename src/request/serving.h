/* serving: may this node evaluate a command now? Always, where the data is local. Of several nodes
 * (docs/cluster.md) the one that leads may not while its lease is over: what it evaluates cannot be
 * answered then. So a command waits, for leader-wait at most, and is refused with TRYAGAIN and the
 * cause: it has not happened. Writes wait in the same way while what was written before is not
 * committed for too long. What depends on nothing that is evaluated is answered at any time.
 *
 * A node that stands by: following.h.
 */
#ifndef REQUEST_SERVING_H
#define REQUEST_SERVING_H

#include "request/command.h"

/* Does its reply depend on nothing that was evaluated? */
bool serving_is_own(const struct command *c);
/* Does what comes after it on the connection mean something else when it was refused: MULTI, WATCH,
 * SELECT? Then the connection has to end. NULL: no. */
bool serving_ends_with(const struct command *c);
/* Before the command is evaluated. OK: it may be. ERR_WAIT: not yet; ERR_TRYAGAIN: it was not, and
 * a transaction that it was to run is over. */
ERR_MUST_USE enum err serving_enter(struct request *rq);
/* May something be written now that no client's write has asked for: what those who wait are served
 * with, an estimate that is kept? */
bool serving_may_write(const struct env *env);

#endif
