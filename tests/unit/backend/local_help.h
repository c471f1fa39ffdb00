/* local_help: a local backend in a directory of its own, driven by hand: what the tests in this
 * folder share. Everything that may not fail here asserts. One thread.
 *
 * Inline (the default) no thread runs: a step hands out at most one job of each worker. With
 * threads a step waits for a wake, a hundredth of a second at most.
 */
#ifndef TESTS_UNIT_BACKEND_LOCAL_HELP_H
#define TESTS_UNIT_BACKEND_LOCAL_HELP_H

#include <semaphore.h>

#include "backend/local/local.h"
#include "backend/pipeline_int.h"
#include "late/late.h"

#define STEPS_MAX 20000 /* what does not happen within these many steps never does */

struct rig {
    struct backend *b;       /* NULL = closed */
    struct journal *journal; /* the backend's */
    struct pipeline_options options;
    struct local_options local;
    /* What it stands on, when that is not a directory; NULL = local_open. Then `local` is unused. */
    enum err (*open)(struct rig *r, struct journal **journal, struct store **store,
                     struct error *e);
    void *open_arg;
    struct late *late; /* stands between, when it is not NULL; the test's */
    char dir[64];
    uint64_t durable; /* told by on_durable */
    struct waiter waiter;
    bool is_ready; /* the waiter was told */
    bool is_told;  /* an answer of rig_changes_begin is there */
    bool is_fatal; /* on_fatal was called */
    struct error fatal;
    sem_t wakes;
};

/* A new directory; options: inline, durability always, 64 KiB segments, no retention. */
void rig_init(struct rig *r);
/* Abandons what is open and removes the directory. */
void rig_fini(struct rig *r);

ERR_MUST_USE enum err rig_try_open(struct rig *r, struct error *e);
void rig_open(struct rig *r);
void rig_close(struct rig *r);
/* The process's end. */
void rig_abandon(struct rig *r);
/* Its options as they are now; the waiter may be told. */
ERR_MUST_USE enum err rig_set_options(struct rig *r, struct error *e);
/* Abandons and opens. */
void rig_crash(struct rig *r);

/* End of a turn, results, tick. */
void rig_step(struct rig *r);
/* Steps until all that was committed is acknowledged. */
void rig_settle(struct rig *r);
/* Settles, and steps until no memtable holds anything. */
void rig_apply(struct rig *r);
/* Steps until the journal's idle marker is written; moves the fake clock, which must be set. */
void rig_mark(struct rig *r);

/* Internal keys "<database><data space><text>"; each good for the next fifteen calls. */
struct slice key_of(unsigned database, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
struct slice key_low(unsigned database);  /* before all keys of the database */
struct slice key_high(unsigned database); /* after them */

/* Commits, waiting where it says so; gives up on any other error. */
ERR_MUST_USE enum err rig_try_commit(struct rig *r, const struct mutation *items, size_t count,
                                     uint64_t *version, struct error *e);
/* One mutation; the version. */
uint64_t rig_set(struct rig *r, struct slice key, struct slice value);
uint64_t rig_delete(struct rig *r, struct slice key);
uint64_t rig_flush(struct rig *r, uint16_t database);

/* Loads, waiting. */
ERR_MUST_USE enum err rig_try_load(struct rig *r, struct slice key, struct entry *out,
                                   struct error *e);
void rig_load(struct rig *r, struct slice key, struct entry *out);
/* Asserts what a load says. NULL = absent. */
void rig_expect(struct rig *r, struct slice key, const char *value);
/* Next row of a scan, waiting: false at the end. */
bool rig_scan_next(struct rig *r, struct scan *s, struct slice *key, struct entry *out);
/* Keys (without database and space) of a range as "a b c". */
void rig_scan_text(struct rig *r, struct slice start, struct slice end, bool is_reverse,
                   struct buf *out);

/* The history of database 0 after a version: fills the question in, whose arena is the caller's,
 * for backend_changes; steps until the answer is there; both at once. */
void rig_changes_begin(struct rig *r, struct changes_request *q, uint64_t after, size_t rows_max);
ERR_MUST_USE enum err rig_changes_end(struct rig *r, struct changes_request *q);
ERR_MUST_USE enum err rig_changes(struct rig *r, struct changes_request *q, uint64_t after,
                                  size_t rows_max);

/* dir/name; good until the next call. */
const char *rig_path(const struct rig *r, const char *name);
/* Numbers of the journal's segments, ascending; how many there are. */
size_t rig_segments(const struct rig *r, uint64_t *numbers, size_t max);
const char *rig_segment_path(const struct rig *r, uint64_t number);

/* What the backend counts in a database. */
uint64_t backend_entries(struct backend *b, unsigned database);

#endif
