/* long: a script that takes longer than a turn of the loop. It runs on a thread, from its start, in
 * a sandbox of its own; each of its commands is run by the loop, in a turn in which others run too,
 * over an overlay that is kept. So others go on, and it may see changes of theirs while it runs. At
 * its end, in one turn, its commands are run again over a new overlay, without the script: when
 * each has the reply that it had before, the script would have done the same had it run in that
 * turn, and the new overlay is committed, or its error is the reply. When one has another reply,
 * something that it read has changed: it runs again. Its third try holds the writes of others from
 * its first command on (request/exclusive.h), unless it takes too long for that. When that one was
 * in vain too, the client gets TRYAGAIN.
 *
 *   QUEUED --a thread has it--> RUNNING --redis.call--> CALLING --the loop has run it--> RUNNING
 *   RUNNING --the script ended, was killed, took too long--> ENDED --a change--> QUEUED
 *   any but ENDED --the client is gone--> ABANDONED: freed when the thread has left it
 *
 * The state is guarded by a lock; in QUEUED and RUNNING all else is the thread's, in CALLING and
 * ENDED the loop's.
 */
#ifndef COMMAND_SCRIPT_LONG_H
#define COMMAND_SCRIPT_LONG_H

#include "command/script/script_int.h"

/* Begins; ERR_NOMEM, ERR_LIMIT. The words of `p` are copied. */
ERR_MUST_USE enum err long_begin(struct request *rq, const struct program *p,
                                 struct long_run **out);
/* Does what can be done now: ERR_WAIT until the script has its reply. */
ERR_MUST_USE enum err long_step(struct request *rq, struct long_run *run);
/* Its client does not wait for it any more. */
void long_abandon(struct long_run *run);
size_t long_bytes(const struct long_run *run);
/* SCRIPT KILL, FUNCTION KILL: those that run now end. How many. */
size_t long_kill(const struct scripts *x, bool is_function);
/* Any run of this kind? For FUNCTION STATS; *ms: since when. NULL = none. */
const char *long_running(const struct scripts *x, bool is_function, int64_t *ms);
/* Wakes those whose thread has something for the loop. */
void long_turn(struct scripts *x);
/* Ends all of them, and the threads. */
void long_fini(struct scripts *x);

#endif
