/* queue_model: what two queues must be after each operation, and what time makes of them: plain
 * arrays, nothing of the store. sim_engine keeps one for every commit; queue_check.c compares.
 */
#ifndef TESTS_SIM_QUEUE_MODEL_H
#define TESTS_SIM_QUEUE_MODEL_H

#include "queue/rows.h"

#define MODEL_QUEUES 2
#define MODEL_MESSAGES 48 /* of both queues at a time */
#define MODEL_RETRIES 2
#define MODEL_UNDELIVERED 3 /* keys of each queue */
#define MODEL_DEDUPS 4      /* ids of each queue */

enum model_place { MODEL_UNUSED, MODEL_WAITING, MODEL_LEASED, MODEL_DEAD };

struct model_message {
    enum model_place place;
    unsigned queue;
    unsigned number; /* its value, from 1; of no other message ever */
    struct message_id id;
    int64_t due_ms;    /* WAITING; LEASED: what it was */
    int64_t end_ms;    /* LEASED */
    uint64_t delivery; /* LEASED: version of its commit */
    unsigned attempts;
    size_t retries;
    int64_t backoff_ms[MODEL_RETRIES];
    int undelivered; /* number of the key; -1 = none */
};

struct model_figures {
    bool exists;
    uint64_t enqueued, delivered, acked, nacked, expired;
};

struct queue_model {
    struct model_message messages[MODEL_MESSAGES];
    struct model_figures figures[MODEL_QUEUES];
    int64_t dedup_ms[MODEL_QUEUES][MODEL_DEDUPS];          /* when it was used; 0 = never */
    unsigned undelivered[MODEL_QUEUES][MODEL_UNDELIVERED]; /* number of the message; 0 = no key */
};

/* Leases end, in the order of their ends. To be called with each new time, before anything else. */
void queue_model_advance(struct queue_model *m, int64_t now_ms);
/* NULL = there is no room. */
struct model_message *queue_model_unused(struct queue_model *m);
/* The message that comes next; NULL = none is due. */
struct model_message *queue_model_next(struct queue_model *m, unsigned queue, int64_t now_ms);
/* The delivery that is under way; NULL = it is not any more. */
struct model_message *queue_model_leased(struct queue_model *m, const struct receipt *r,
                                         int64_t now_ms);
/* A delivery has failed; delay_ms after base_ms, -1 = its backoff. */
void queue_model_fail(struct queue_model *m, struct model_message *k, int64_t base_ms,
                      int64_t delay_ms, bool is_dead);
/* How many there were. */
size_t queue_model_purge(struct queue_model *m, unsigned queue);
size_t queue_model_requeue(struct queue_model *m, unsigned queue, int64_t now_ms);
size_t queue_model_delete_dead(struct queue_model *m, unsigned queue);
size_t queue_model_count(const struct queue_model *m, unsigned queue, enum model_place place);
/* The same but for dedup ids, which cannot be seen. `found` was read from rows. */
bool queue_model_same(const struct queue_model *found, const struct queue_model *wanted);

#endif
