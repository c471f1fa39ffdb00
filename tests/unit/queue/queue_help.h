/* queue_help: queues over a real backend in a directory of its own, with the fake clock. Everything
 * that may not fail asserts. One thread.
 */
#ifndef TESTS_UNIT_QUEUE_HELP_H
#define TESTS_UNIT_QUEUE_HELP_H

#include "queue/queue_int.h"
#include "unit/backend/local_help.h"

#define START_MS 1700000000000
#define QBENCH_DATABASES 16

struct qbench {
    struct rig rig;
    struct engine *g;
    struct queues *qs;
    struct arena arena;
    struct error e;
    int64_t now_ms; /* since START_MS */
    uint64_t dead_length;
};

/* dlq-max-length is 5. */
void qbench_open(struct qbench *t);
void qbench_open_with(struct qbench *t, uint64_t dead_length);
void qbench_close(struct qbench *t);
/* Ends and starts again: cleanly, or as after kill -9 (what was committed was synced). */
void qbench_restart(struct qbench *t);
void qbench_crash(struct qbench *t);
/* As restart, but nothing was read yet. */
void qbench_restart_cold(struct qbench *t);
/* Ticks until the rows are read; how many there were. */
unsigned qbench_read(struct qbench *t);
/* The clock stands there, in ms after START_MS. */
void at(struct qbench *t, int64_t ms);
/* Ticks and turns until nothing more happens. */
void tick(struct qbench *t);

/* One transaction of these operations: true = committed, false = a conflict. */
bool run(struct qbench *t, uint16_t database, struct op *ops, size_t count);

struct enqueue_options {
    int64_t delay_ms;
    const char *backoff;     /* "100 200"; NULL = 1000 5000 10000 */
    const char *undelivered; /* keys, "a b"; NULL = none */
    const char *dedup;
};
/* The id, in the arena; NULL = seen. */
const char *enqueue(struct qbench *t, const char *queue, const char *value,
                    struct enqueue_options o);
#define put(t, queue, value) enqueue((t), (queue), (value), (struct enqueue_options){0})

/* Takes one message; false = none. */
struct taken {
    char value[32];
    unsigned attempt;
    struct receipt receipt;
};
bool take(struct qbench *t, const char *queue, int64_t lease_ms, struct taken *out);
/* Takes one, which must have this value. */
struct receipt take_value(struct qbench *t, const char *queue, int64_t lease_ms, const char *value);
/* The values that can be taken now, as "a b c"; they are leased for an hour. */
const char *drain(struct qbench *t, const char *queue);
bool settle(struct qbench *t, enum settle_kind kind, struct receipt r, int64_t ms);
bool nack(struct qbench *t, struct receipt r, int64_t delay_ms, bool is_dead, const char *error);
/* Bulk operations, all of it; the number. */
size_t bulk(struct qbench *t, enum bulk_kind kind, const char *queue);
struct queue_stats stats(struct qbench *t, const char *queue);
/* "ready delayed leased dead" */
const char *figures(struct qbench *t, const char *queue);
/* Dead letters as "value attempts error failed-at, ...", newest first. */
const char *dead(struct qbench *t, const char *queue);
/* A data key's value; "" = absent. */
const char *data(struct qbench *t, const char *key);
/* Counts all rows of the queue and compares: figures, one state for each message, windows. */
void audit(struct qbench *t, const char *queue);

#endif
