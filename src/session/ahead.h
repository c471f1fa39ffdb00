/* ahead: the keys of the commands that a client has sent at once are fetched from memory together,
 * before the first of them is run: one wait for the memory instead of one for each.
 */
#ifndef SESSION_AHEAD_H
#define SESSION_AHEAD_H

#include "request/command.h"
#include "resp/reader.h"

/* Looks at the next commands in `r`, not at the one that is being run. The result is after how
 * many of them it is worth looking again, at least 1.
 * `arena` and `scratch` are nobody's now. */
size_t ahead_look(struct env *env, struct client *client, const struct resp_reader *r,
                  struct arena *arena, struct buf *scratch);

#endif
