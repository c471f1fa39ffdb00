/* ahead: what is done with commands that have come, before the first of them is run.
 *
 *   ahead_decode   keys and values are decoded: by an I/O thread, of what it has received; else,
 *                  when there are many entries, by the loop, of several commands that came at once
 *   ahead_fetch    the keys are fetched from memory together: one wait for it instead of one each
 */
#ifndef SESSION_AHEAD_H
#define SESSION_AHEAD_H

#include "request/decoded.h"
#include "resp/reader.h"

/* Decodes the commands to come in `r`, at most so many, after what d has. Nothing of a client that
 * has not logged in. Any thread that has these, while the loop waits. */
void ahead_decode(struct decoded *d, struct env *env, struct client *client,
                  const struct resp_reader *r, size_t commands);
/* The loop, before it takes a command from `r`, none being run: see to it that the keys of it and
 * of those after it have been fetched, if that is worth it. */
void ahead_fetch(struct decoded *d, struct env *env, struct client *client,
                 const struct resp_reader *r);

#endif
