/* entry_model: what the entries of a few databases must be, and random transactions on them: plain
 * arrays, nothing of the store. sim_engine keeps one for every commit.
 */
#ifndef TESTS_SIM_ENTRY_MODEL_H
#define TESTS_SIM_ENTRY_MODEL_H

#include "base/random.h"
#include "engine/engine.h"

#define KEYS 40
#define DATABASES 2 /* of the entries */

/* A value is a MessagePack integer below 2^15, so that SUM works on it. */
struct model_entry {
    bool exists;
    int value;
    int64_t expiry_ms;
    uint64_t version;
};

struct model {
    struct model_entry entries[DATABASES][KEYS];
};

/* A transaction, and what it makes of the model. */
struct planned {
    struct op ops[8];
    struct txn txn;
    int keys[8];
    struct model after; /* with version 0 where this transaction writes */
    bool conflicts;
};

/* Who draws: all borrowed. */
struct planner {
    struct rng *rng;
    struct arena *arena;
    const struct model *now;
    int64_t clock_ms;
};

void entry_plan(const struct planner *s, struct planned *p);
/* Is it there at this time? */
bool entry_is_live(const struct model_entry *m, int64_t clock_ms);
/* What a stored value says. */
int entry_value(struct slice v);

#endif
