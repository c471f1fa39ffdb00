/* block: commands that wait for something other than the disk, and CLIENT PAUSE. A blocked command
 * (WAIT, those with BLOCK) is parked until what it waits for is there, its time is over, or CLIENT
 * UNBLOCK ends it. It puts rq->waiter into the list of what it waits for, and returns what
 * client_block returns. When it is run again it asks client_block_end why.
 *
 *                      woken, client_block_again: it is run again, and calls client_block
 *                         .--------.
 *                         v        |
 *   not blocked --------> waits (BLOCK_GOES_ON) ----------------> has an end (BLOCK_TIMED_OUT,
 *     ^   client_block            |       client_block_tick,        BLOCK_ENDED, BLOCK_FAILED)
 *     |                           |       client_block_stop                |
 *     `--- client_block_clear ----'------------------------------------------'
 *          it has its reply, or the client is gone
 *
 * Whether it is parked or runs meanwhile is said by its runner (runner.h). What it keeps from one
 * run to the next is client->pending.
 *
 * Invariants:
 *   1. A command has one waiter and one deadline from its first client_block to
 *      client_block_clear, however often it is run in between.
 *   2. A client is in env->blocked.by_deadline exactly while it is blocked and has a deadline.
 *   3. An end comes once, and stays until client_block_clear. After it the command waits only for
 *      what comes by itself, such as a read.
 *   4. A command that an end wakes is in no list any more when it is woken.
 *   5. Nothing waits for the end of a pause while there is none.
 */
#ifndef REQUEST_BLOCK_H
#define REQUEST_BLOCK_H

#include "request/command.h"

/* The command waits, 0 = for ever, for what rq->waiter was put into a list of, or for a later call
 * of client_block_stop: always ERR_WAIT. The deadline is that of the first call. */
ERR_MUST_USE enum err client_block(struct request *rq, int64_t timeout_ms);
/* A long command lets others run and is run again in the next turn: ERR_WAIT. `scan` (may be NULL)
 * is paused until then; its errors. */
ERR_MUST_USE enum err client_yield(struct request *rq, struct engine_scan *scan);
/* As client_yield, of a command whose work is bounded: OK, it has to go on, when so many scans are
 * open that this one cannot keep its place. */
ERR_MUST_USE enum err client_yield_or_go_on(struct request *rq, struct engine_scan *scan);
/* Why it is run again; BLOCK_GOES_ON also when it was never blocked. */
enum block_end client_block_end(const struct client *c);
/* A blocked command is run again from its beginning; harmless when there is none. */
void client_block_again(struct client *c);
/* Drops what a command left pending. */
void client_drop_pending(struct client *c);
/* It waits for something that may take long, or never come: not for a peer that has gone. */
bool client_waits_long(const struct client *c);
/* CLIENT UNBLOCK; false when it is not blocked. */
bool client_block_stop(struct client *c, bool is_error);
/* The command has its reply, or the client is gone. */
void client_block_clear(struct client *c, struct env *env);
/* Those whose time is over go on. */
void client_block_tick(struct env *env);
/* Before any command is blocked. */
void client_block_open(struct env *env);
/* In how many ms the next one has waited long enough; INT64_MAX = none will. */
int64_t client_block_due_ms(const struct env *env);
void clients_pause(struct env *env, int64_t ms, bool is_write);
void clients_unpause(struct env *env);
/* Does the command write, or publish, itself or by what MULTI has queued? */
bool request_may_write(const struct request *rq);
/* The command must wait for the end of a pause: rq->waiter was taken. A pause of all holds whatever
 * can run, from any client, but CLIENT UNPAUSE. */
bool pause_holds(struct request *rq);

#endif
