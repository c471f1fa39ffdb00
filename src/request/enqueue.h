/* enqueue: the words of KV.ENQUEUE, which KV.ATOMIC has too, and those that name queues, messages
 * and deliveries. */
#ifndef REQUEST_ENQUEUE_H
#define REQUEST_ENQUEUE_H

#include "queue/queue.h"
#include "request/args.h"
#include "request/keys.h"

#define BACKOFF_DEFAULT_BYTES 12
#define QUEUE_DELAY_MS_MAX (10LL * 366 * 24 * 3600 * 1000)

/* ERR_SYNTAX unless it can be the name of a queue. */
ERR_MUST_USE enum err arg_queue(struct request *rq, struct slice arg);
/* `queue v` and the options of KV.ENQUEUE from o->at on, as far as they go. */
ERR_MUST_USE enum err parse_enqueue(struct options *o, struct queue_enqueue *x);
/* BACKOFF or UNDELIVERED at o->at, if one is there: *is_taken. */
ERR_MUST_USE enum err parse_message_option(struct options *o, struct message *m, bool *is_taken);
#define OPTION_MESSAGE 1 /* the first of two bits that it uses */
/* 1, 5 and 10 s: what a message has that does not say. */
extern const uint8_t backoff_default[BACKOFF_DEFAULT_BYTES];
/* The keys of UNDELIVERED among those options; moves *at after them. False: they are wrong. */
bool keys_of_enqueue(const struct slice *argv, size_t argc, size_t *at, struct key_uses *out);
/* The same among BACKOFF, UNDELIVERED and `others`, NULL-ended, which have one word each. */
bool keys_of_message(const struct slice *argv, size_t argc, size_t *at, const char *const *others,
                     struct key_uses *out);
/* ERR_SYNTAX unless it may once have been a receipt. */
ERR_MUST_USE enum err arg_receipt(struct request *rq, struct slice arg, struct receipt *out);
ERR_MUST_USE enum err arg_message_id(struct request *rq, struct slice arg, struct message_id *out);

#endif
