/* queue: what the commands of queues share (queue.c, queue_receipt.c, queue_admin.c, queue_dead.c,
 * kv_atomic.c).
 */
#ifndef COMMAND_QUEUE_H
#define COMMAND_QUEUE_H

#include "command/args.h"
#include "command/keys.h"
#include "queue/queue.h"

#define QUEUE_DELAY_MS_MAX (10LL * 366 * 24 * 3600 * 1000)

/* ERR_SYNTAX unless it can be the name of a queue. */
ERR_MUST_USE enum err arg_queue(struct request *rq, struct slice arg);
/* `queue v` and the options of KV.ENQUEUE from o->at on, as far as they go. */
ERR_MUST_USE enum err parse_enqueue(struct options *o, struct queue_enqueue *x);
/* The keys of UNDELIVERED among those options; moves *at after them. False: they are wrong. */
bool keys_of_enqueue(const struct slice *argv, size_t argc, size_t *at, struct key_uses *out);
/* ERR_SYNTAX unless it may once have been a receipt. */
ERR_MUST_USE enum err arg_receipt(struct request *rq, struct slice arg, struct receipt *out);
ERR_MUST_USE enum err arg_message_id(struct request *rq, struct slice arg, struct message_id *out);

/* Operations of one transaction, in the connection's database. */
ERR_MUST_USE enum err queue_commit(struct request *rq, struct op *ops, size_t count);
/* A transaction to read in: rq's, or one of its own; end it with queue_view_end. */
struct queue_reading {
    struct overlay *own;
    struct view view;
};
void queue_view_begin(struct request *rq, struct queue_reading *r);
void queue_view_end(struct request *rq, struct queue_reading *r);
/* Runs a bulk operation until nothing is left, in as many transactions as it takes (inside EXEC and
 * IDEM one); *total counts. Between them the command waits. */
ERR_MUST_USE enum err queue_bulk_run(struct request *rq, enum bulk_kind kind, struct slice queue,
                                     uint64_t *total);

#endif
