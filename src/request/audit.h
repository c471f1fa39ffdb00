/* audit: the trail of what was done to the server as such, and by whom: one JSON object a line, of
 * each command with CMD_AUDITED, whatever its outcome.
 *
 *   {"time":"2026-11-22T13:00:00.000Z","user":"bob","address":"10.0.0.1:5000","database":"0",
 *    "command":"acl|setuser","arguments":["eve","+get","(redacted)"],"result":"ok"}
 *
 * Of the words there are names, keys and rules; values and passwords are "(redacted)".
 */
#ifndef REQUEST_AUDIT_H
#define REQUEST_AUDIT_H

#include "request/command.h"

/* Of a request that is over: `result` is what it answered. Harmless when it is no such command, or
 * when there is no trail. */
void audit_add(struct request *rq, enum err result);

#endif
