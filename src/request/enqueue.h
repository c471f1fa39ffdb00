/* enqueue: the words of KV.ENQUEUE, which KV.ATOMIC has too, and those that name queues, messages
 * and deliveries. */
#ifndef REQUEST_ENQUEUE_H
#define REQUEST_ENQUEUE_H

#include "access/ask.h"
#include "queue/queue.h"
#include "request/args.h"
#include "request/arguments.h"

#define BACKOFF_DEFAULT_BYTES 12
#define QUEUE_DELAY_MS_MAX (10LL * 366 * 24 * 3600 * 1000)

/* ---- words ---- */

extern const struct argument_kind arg_kind_queue, arg_kind_receipt, arg_kind_message_id,
    arg_kind_text;

/* clang-format off */
/* `needs`: enum access_need */
#define ARG_QUEUE(in, member, label, needs)                                                        \
    {ARG_ONE(in, member, struct slice, label, arg_kind_queue), .flags = (needs)}
#define ARG_QUEUES(in, member, label, needs)                                                       \
    {ARG_MANY(in, member, struct slice, label, arg_kind_queue), .flags = (needs)}
#define ARG_RECEIPT(in, member, label)                                                             \
    {ARG_ONE(in, member, struct receipt, label, arg_kind_receipt)}
#define ARG_MESSAGE_ID(in, member, label)                                                          \
    {ARG_ONE(in, member, struct message_id, label, arg_kind_message_id)}
#define ARG_MESSAGE_IDS(in, member, label)                                                         \
    {ARG_MANY(in, member, struct message_id, label, arg_kind_message_id)}
/* A text of so many bytes. */
#define ARG_TEXT(in, member, label, least, most)                                                   \
    {ARG_ONE(in, member, struct slice, label, arg_kind_text), .min = (least), .max = (most)}
/* clang-format on */

/* ERR_SYNTAX unless it can be the name of a queue. */
ERR_MUST_USE enum err arg_queue(struct request *rq, struct slice arg);
/* ERR_SYNTAX unless it may once have been a receipt. */
ERR_MUST_USE enum err arg_receipt(struct request *rq, struct slice arg, struct receipt *out);
ERR_MUST_USE enum err arg_message_id(struct request *rq, struct slice arg, struct message_id *out);

/* ---- a message ---- */

/* 1, 5 and 10 s: what a message has that does not say. */
extern const uint8_t backoff_default[BACKOFF_DEFAULT_BYTES];

/* [BACKOFF count [milliseconds ...]] [UNDELIVERED numkeys key [key ...]] */
struct message_options {
    int has_backoff, has_undelivered;
    struct integers delays;
    struct slices undelivered; /* internal keys */
};
extern const struct arguments message_options;
/* Into a message, in the arena. */
void message_take_options(struct request *rq, const struct message_options *o, struct message *m);

struct enqueue {
    struct queue_enqueue x; /* first: what is made of the rest */
    struct message_options options;
};
extern const struct arguments enqueue_arguments;

#endif
