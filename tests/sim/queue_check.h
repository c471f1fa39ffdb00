/* queue_check: random operations on two queues in a database of the simulation of their own, and
 * what their rows say, as a model (queue_model.h). The model that goes on is the owner's: after a
 * power failure he finds the one that the rows are of.
 */
#ifndef TESTS_SIM_QUEUE_CHECK_H
#define TESTS_SIM_QUEUE_CHECK_H

#include "base/random.h"
#include "queue/queue_int.h"
#include "sim/queue_model.h"

#define QUEUE_CHECK_DATABASE 2
#define QUEUE_CHECK_RECEIPTS 16

struct queue_check {
    struct backend *b;
    struct engine *g;
    struct rng *rng;
    bool (*turn)(void *arg); /* lets everything that waits run, once; false after a fatal error */
    void *arg;
    struct queue_model now;
    unsigned number;                               /* of the newest message */
    struct receipt receipts[QUEUE_CHECK_RECEIPTS]; /* the newest; also of lost deliveries */
    unsigned receipt_queues[QUEUE_CHECK_RECEIPTS];
    size_t receipt_count;
    struct queues *qs;
    struct waiter waiter;
    struct arena arena;
};

/* Adds the layer of queues to the engine; `databases` as the engine has. The model stays. */
void queue_check_open(struct queue_check *c, uint8_t databases);
/* Before the engine is freed. */
void queue_check_close(struct queue_check *c);
/* To be called in each turn. */
void queue_check_turn(struct queue_check *c);
/* One operation, of the queues and of the model, whose answers must be the same. *version: of its
 * commit, 0 = it changed nothing. False after a fatal error: then it has happened or not. */
bool queue_check_step(struct queue_check *c, int64_t now_ms, uint64_t *version);
/* Reads everything, after what time has brought. False after a fatal error. */
bool queue_check_read(struct queue_check *c, struct queue_model *found);

#endif
