/* queue_int: what the commands of queues share. */
#ifndef COMMAND_QUEUE_QUEUE_INT_H
#define COMMAND_QUEUE_QUEUE_INT_H

#include "request/enqueue.h"
#include "request/permission.h"

/* A transaction to read in: rq's, or one of its own; end it with queue_view_end. */
struct queue_reading {
    struct overlay *own;
    struct view view;
};
void queue_view_begin(struct request *rq, struct queue_reading *r);
void queue_view_end(struct request *rq, struct queue_reading *r);
/* Of commands whose third word is a queue. */
enum err queue_read_subjects(struct request *rq, struct subjects *out);
enum err queue_write_subjects(struct request *rq, struct subjects *out);
/* Runs a bulk operation until nothing is left, in as many transactions as it takes (inside EXEC and
 * IDEM one); *total counts. Between them the command waits. */
ERR_MUST_USE enum err queue_bulk_run(struct request *rq, enum bulk_kind kind, struct slice queue,
                                     uint64_t *total);

/* dead.c */
/* A cursor into a page of a queue: what follows the last one shown. "0": from the beginning. */
ERR_MUST_USE enum err queue_cursor_parse(struct request *rq, struct slice arg,
                                         struct queue_page *p);
/* `last`: of those that were looked at. */
void queue_cursor_reply(struct request *rq, const struct queue_page *p, const struct shown *last);

/* export.c */
extern const struct command queue_export;

/* list.c */
extern const struct command queue_list, queue_stats_sub, queue_top;

/* push.c */
extern const struct command queue_hold, queue_prefetch;

#endif
