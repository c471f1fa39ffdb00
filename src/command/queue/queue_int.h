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
/* Runs a bulk operation until nothing is left, in as many transactions as it takes (inside EXEC and
 * IDEM one); *total counts. Between them the command waits. */
ERR_MUST_USE enum err queue_bulk_run(struct request *rq, enum bulk_kind kind, struct slice queue,
                                     uint64_t *total);

/* "queue": to be read, or changed. */
struct queue_named {
    struct slice queue;
};
extern const struct arguments read_queue_arguments, write_queue_arguments;
/* "queue id" */
struct queue_message {
    struct slice queue;
    struct message_id id;
};
extern const struct arguments read_message_arguments, write_message_arguments;

/* dead.c */
/* A cursor into a page of a queue, of a struct queue_page: what follows the last one shown. "0":
 * from the beginning. */
extern const struct argument_kind arg_kind_queue_cursor;
#define ARG_QUEUE_CURSOR(in, member, label)                                                        \
    {                                                                                              \
        ARG_ONE(in, member, struct queue_page, label, arg_kind_queue_cursor)                       \
    }
/* `last`: of those that were looked at. */
void queue_cursor_reply(struct request *rq, const struct queue_page *p, const struct shown *last);

/* export.c */
extern const struct command queue_export;

/* list.c */
extern const struct command queue_list, queue_stats_sub, queue_top;

/* push.c */
extern const struct command queue_hold, queue_prefetch;

#endif
