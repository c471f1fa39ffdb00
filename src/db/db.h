/* db: one whole database engine: a backend, the engine over it, and its layers. A loop drives it:
 * that of the server, of the simulation, of the fuzzer of commands. It knows no socket and no
 * signal; two of them in one process share nothing, if their threads have different hosts
 * (base/host.h).
 *
 *   db_open -> ( commands ... db_turn_end; when woken: db_poll; every 10 ms or so: db_tick )
 *           -> db_close, or db_abandon
 *
 * All calls come from one thread, the owner's loop; `wake` of the options comes from any thread.
 */
#ifndef DB_DB_H
#define DB_DB_H

#include "backend/local/local.h"
#include "backend/pipeline.h"
#include "collection/collection.h"
#include "database/database.h"
#include "db/archiving.h"
#include "engine/engine.h"
#include "index/index.h"
#include "queue/queue.h"
#include "watch/watch.h"

struct db {
    struct backend *backend;
    struct journal *journal;       /* the backend's */
    bool is_local;                 /* it is a directory on this machine, not `elsewhere` */
    struct archive *archive;       /* the journal's; NULL = there is none */
    struct archiving *archiving;   /* NULL likewise */
    const struct lineage *lineage; /* NULL likewise, and when it is not local */
    bool is_frozen;                /* pipeline_options.frozen_ms */
    bool is_following;             /* pipeline_options.is_following */
    struct engine *engine;
    struct databases *databases;
    struct watch *watch;
    struct queues *queues;
    struct indexes *indexes;
    struct collections *collections;
};

/* What tests put between a pipeline and its journal and store: replaces both. */
struct db_wrap {
    void (*wrap)(void *arg, struct journal **journal, struct store **store); /* NULL = nothing */
    void *arg;
};

/* Where journal and store are when they are not in a directory: both are made, or none. NULL =
 * local_open. */
struct db_elsewhere {
    enum err (*open)(void *arg, struct journal **journal, struct store **store, struct error *e);
    void *arg;
};

struct db_options {
    struct pipeline_options pipeline;
    struct local_options local;   /* db_open sets text_ops */
    struct engine_options engine; /* without the backend */
    struct queue_options queues;  /* without the engine */
    struct archiving_options archiving;
    struct collections_options collections; /* pack_bytes and counted_bytes */
    size_t indexes_max;                     /* of one database; 0 = the default */
    size_t late_bytes_max;                  /* of watches; 0 = the default */
    unsigned databases;                     /* that are there from the start; 0 = 16 */
    struct db_elsewhere elsewhere;          /* in place of `local` */
    struct db_wrap wrap;
    /* Versions up to this one are acknowledged; NULL = nothing is to be told. */
    void (*on_durable)(void *arg, uint64_t version);
    void *on_durable_arg;
};

/* Opens and recovers: errors of local_open, or of `elsewhere`, and pipeline_open. What layers keep
 * in memory is read in the turns that follow. */
ERR_MUST_USE enum err db_open(const struct db_options *options, struct db **out, struct error *e);
/* db_open in two parts. The first takes long when there is much to recover, and may wait for what
 * is elsewhere: any thread, if nothing else has the database until it is done. The second gives it
 * its layers, on the owner's thread, before anything else is done with it. */
ERR_MUST_USE enum err db_recover(const struct db_options *options, struct db **out,
                                 struct error *e);
void db_begin(struct db *db, const struct db_options *options);
/* Takes what may change while it is open: what local_set_options and pipeline_set_options take,
 * whose results these are; the limits of `engine`; all of `queues` and `archiving`; indexes_max.
 * Others are ignored. */
ERR_MUST_USE enum err db_set_options(struct db *db, const struct db_options *options,
                                     struct waiter *w, struct error *e);
/* From now on. For a loop that is made after the database. */
void db_on_durable(struct db *db, void (*on_durable)(void *arg, uint64_t version), void *arg);
/* Versions up to this one are acknowledged. */
uint64_t db_durable(const struct db *db);
/* Is the version of a history that a restore undid? *fork (may be NULL): the newest version of
 * before that. */
bool db_is_discarded(const struct db *db, uint64_t version, uint64_t *fork);
/* Takes what threads have done: wakes waiters, calls on_durable. */
void db_poll(struct db *db);
/* At the end of every turn: the layers do their part, what was committed goes to the journal. True
 * when there is more to do, so that the loop must not sleep. */
bool db_turn_end(struct db *db);
/* After db_turn_end of a turn in which nothing was asked. True: it did something, and needs another
 * turn. */
bool db_idle(struct db *db);
/* What has its time: expiry, leases, ageing memtables. */
void db_tick(struct db *db);
/* In how many ms a tick may find something to do, if nothing happens before; INT64_MAX = nothing is
 * known of. */
int64_t db_rest_ms(struct db *db);
/* Scans and watchers of the owner must be gone; waiters may still wait and are not woken. All that
 * was committed is in the store or, on an error, in the journal. Frees in any case. */
ERR_MUST_USE enum err db_close(struct db *db, struct error *e);
/* At any moment, also after on_lost: as the end of the process would, nothing is applied or synced
 * any more, and it waits for no I/O that journal and store can give up. Scans and watchers of the
 * owner must be gone; waiters are let go and not woken. Frees. */
void db_abandon(struct db *db);

#endif
