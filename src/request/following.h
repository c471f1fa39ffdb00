/* following: commands on a node that does not lead. Those that are about the connection or the node
 * (CMD_NODE) are answered there. A client that said READONLY gets reads too (CMD_FOLLOWER), from
 * what the node has of the leader's commits: one state, a little old, and never older than what the
 * same connection has seen. All else is the leader's; outside of MULTI the owner of the client
 * passes it on (node/node.h).
 */
#ifndef REQUEST_FOLLOWING_H
#define REQUEST_FOLLOWING_H

#include "request/command.h"

/* A command of this client, on a node that stands by: is it answered here? */
bool following_has(const struct client *c, const struct command *command);
/* Before the command runs. OK: it may. ERR_WAIT: not yet; ERR_TRYAGAIN: it was not run. */
ERR_MUST_USE enum err following_enter(struct request *rq);
/* What it waits for is not there, for the reason `why`: ERR_WAIT, or, when it has waited for too
 * long, ERR_TRYAGAIN. following_wake wakes it. */
ERR_MUST_USE enum err following_wait(struct request *rq, const char *why);
/* After it ran, with its result: ERR_WAIT where it is to be run again, when there is more. */
ERR_MUST_USE enum err following_leave(struct request *rq, enum err r);
/* There is more, or some time has passed: those who wait look again. */
void following_wake(struct env *env);

#endif
