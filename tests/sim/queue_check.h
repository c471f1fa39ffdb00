/* queue_check: random operations on two queues in a database of the simulation of their own, and
 * what their rows say, as a model (queue_model.h). The owner keeps the model that goes on: after a
 * power failure it finds the one that the rows are of.
 */
#ifndef TESTS_SIM_QUEUE_CHECK_H
#define TESTS_SIM_QUEUE_CHECK_H

#include "base/random.h"
#include "db/db.h"
#include "queue/queue_int.h"
#include "sim/queue_model.h"

#define QUEUE_CHECK_DATABASE 2
#define QUEUE_CHECK_RECEIPTS 16
#define QUEUE_CHECK_DEDUP_MS 5000 /* dedup_window_ms of the database */

struct queue_check {
    struct db *db; /* borrowed; set by the owner */
    struct rng *rng;
    bool (*turn)(void *arg); /* lets everything that waits run, once; false after a fatal error */
    void *arg;
    struct queue_model now;
    unsigned number;                               /* of the newest message */
    struct receipt receipts[QUEUE_CHECK_RECEIPTS]; /* the newest; also of lost deliveries */
    unsigned receipt_queues[QUEUE_CHECK_RECEIPTS];
    size_t receipt_count;
    struct waiter waiter;
    struct arena arena;
};

/* The model stays. */
void queue_check_open(struct queue_check *c);
/* Before the database is closed. */
void queue_check_close(struct queue_check *c);
/* One operation, of the queues and of the model, whose answers must be the same. *version: of its
 * commit, 0 = it changed nothing. False after a fatal error: then it has happened or not. */
bool queue_check_step(struct queue_check *c, int64_t now_ms, uint64_t *version);
/* Reads everything, after what time has brought. False after a fatal error. */
bool queue_check_read(struct queue_check *c, struct queue_model *found);

#endif
