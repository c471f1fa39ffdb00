/* database_help: the catalog of databases over a real backend in a directory of its own, with the
 * fake clock. Everything that may not fail asserts. One thread.
 */
#ifndef TESTS_UNIT_DATABASE_HELP_H
#define TESTS_UNIT_DATABASE_HELP_H

#include "database/database_int.h"
#include "unit/backend/local_help.h"

#define START_MS 1700000000000
#define FIXED 4 /* databases that are there from the start */

struct catalog {
    struct rig rig;
    struct engine *g;
    struct databases *x;
    struct arena arena;
    struct error e; /* of the last change that was refused */
};

/* cmocka's setup and teardown; *state is a struct catalog. */
int catalog_enter(void **state);
int catalog_leave(void **state);
/* Ends and starts again; the catalog is not read yet. */
void catalog_restart(struct catalog *t);
void catalog_tick(struct catalog *t);

/* One transaction, in t->e what is wrong with it. */
enum err catalog_commit(struct catalog *t, struct txn *txn);
/* A change of the catalog. */
enum err catalog_change(struct catalog *t, struct database_op *o);
/* A new one, of that name; its number. */
uint16_t catalog_create(struct catalog *t, const char *name, struct database_limits limits);
enum err catalog_rename(struct catalog *t, uint16_t number, const char *name);
enum err catalog_drop(struct catalog *t, uint16_t number);

/* One entry is written, or deleted when the value is NULL. */
enum err catalog_put(struct catalog *t, uint16_t database, const char *key, const char *value);

#endif
