/* index_check: a secondary and a text index over database 0 of the simulation, and whether they
 * hold what the entries say.
 */
#ifndef TESTS_SIM_INDEX_CHECK_H
#define TESTS_SIM_INDEX_CHECK_H

#include "db/db.h"
#include "index/index_int.h"

struct index_check {
    struct db *db;           /* borrowed; set by the owner */
    bool (*turn)(void *arg); /* lets everything that waits run, once */
    void *arg;
    struct waiter waiter;
    struct arena arena;
};

/* Creates the indexes if they are not there. */
void index_check_open(struct index_check *c);
/* Before the database is closed. */
void index_check_close(struct index_check *c);
/* Every entry of database 0 has its row, and every row its entry; every value is found as text. */
void index_check_all(struct index_check *c, int64_t now_ms);

#endif
