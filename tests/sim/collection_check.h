/* collection_check: random operations on hashes, lists, sets and sorted sets in a database of the
 * simulation of their own, and what is read of them, as a model
 * (tests/unit/collection/collection_model.h). The owner keeps the model that goes on: after a power
 * failure it finds the one that was read.
 */
#ifndef TESTS_SIM_COLLECTION_CHECK_H
#define TESTS_SIM_COLLECTION_CHECK_H

#include "db/db.h"
#include "unit/collection/collection_model.h"

#define COLLECTION_CHECK_DATABASE 3

struct collection_check {
    struct db *db; /* borrowed; set by the owner */
    struct rng *rng;
    bool (*turn)(void *arg); /* lets everything that waits run, once; false after a fatal error */
    void *arg;
    struct cmodel now;
    struct cmodel next; /* of the transaction under way */
    struct rng drawn;   /* likewise */
    uint64_t spread;    /* spread collections that were audited, each time */
    struct waiter waiter;
    struct arena arena;
};

/* The model stays. */
void collection_check_open(struct collection_check *c);
/* Before the database is closed. */
void collection_check_close(struct collection_check *c);
/* One transaction of a few operations, some of them taken back, to the collections and the model.
 * *version: of its commit, 0 = it changed nothing. False after a fatal error: then it has happened
 * or not. */
bool collection_check_step(struct collection_check *c, uint64_t *version);
/* Reads everything, and audits all rows. False after a fatal error. */
bool collection_check_read(struct collection_check *c, struct cmodel *found);

#endif
