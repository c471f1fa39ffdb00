/* index_help: indexes over a real backend in a directory of its own, with the fake clock.
 * Everything that may not fail asserts. One thread.
 */
#ifndef TESTS_UNIT_INDEX_HELP_H
#define TESTS_UNIT_INDEX_HELP_H

#include "index/index_int.h"
#include "unit/backend/local_help.h"

#define START_MS 1700000000000

struct ibench {
    struct rig rig;
    struct engine *g;
    struct indexes *ix;
    struct arena arena;
    struct error e;
    size_t rows; /* looked at by a creation and in a turn: small, so that filling takes long */
};

void ibench_open(struct ibench *t, size_t rows);
void ibench_close(struct ibench *t);
/* Ends and starts again: cleanly, or as after kill -9 (what was committed was synced). */
void ibench_restart(struct ibench *t);
void ibench_crash(struct ibench *t);
/* One turn of the loop: a batch of background work at most. */
void ibench_turn(struct ibench *t);
/* Turns until nothing is to be filled or removed. */
void ibench_settle(struct ibench *t);

/* One transaction, waiting where it says so. */
enum err ibench_run(struct ibench *t, struct op *ops, size_t count);
/* Data key "<prefix>", number; in the arena. */
struct slice ibench_data_key(struct ibench *t, const char *prefix, unsigned number);
/* Typed JSON as a stored value; in the arena. */
struct slice ibench_value_of(struct ibench *t, const char *json);
enum err ibench_set(struct ibench *t, struct slice key, const char *json, int64_t expiry_ms);
enum err ibench_del(struct ibench *t, struct slice key);

/* Paths separated by blanks. */
enum err ibench_create(struct ibench *t, const char *name, const char *prefix, const char *paths,
                       bool is_unique);
bool ibench_drop(struct ibench *t, const char *name);

/* Every row of every index belongs to a stored entry; of a complete one every entry has its rows;
 * of a dropped one nothing is left once `ibench_settle` returned. A unique index: every living
 * entry owns its rows. */
void ibench_audit(struct ibench *t);

#endif
