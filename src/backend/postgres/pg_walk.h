/* pg_walk: tupled_log, read in order, batch by batch: by the start, by history, and by a node that
 * follows. Any thread that has the connection; calls block.
 */
#ifndef BACKEND_POSTGRES_PG_WALK_H
#define BACKEND_POSTGRES_PG_WALK_H

#include "backend/postgres/pg.h"
#include "backend/worker.h"

/* One row of tupled_log: a part of a batch, or a batch whose parts were put together. */
struct pg_part {
    int64_t batch, part, parts;
    uint64_t version_before, last_version;
    int64_t time_ms;
    struct slice body;
};

/* As stored: over its body and all columns but the epoch. */
int64_t pg_part_checksum(const struct pg_part *p);

/* A walk over the parts, batch by batch. */
struct pg_walk {
    struct pg *pg;
    int64_t id;
    uint64_t after;                  /* batches that end after it */
    int64_t last_version, last_part; /* of the last row that was read */
    int64_t rows_max;
    /* The rows after those of `pg`, while these are taken: see pg_walk_ahead. */
    struct pg *other;
    struct worker *worker;
    struct job job;
    bool is_ahead; /* the job is the worker's */
    enum err ahead;
    struct error error;
    size_t row, rows;     /* of the result that is there */
    bool is_last;         /* nothing came after that result */
    struct buf joined;    /* of a batch of several parts */
    struct pg_part batch; /* the current one, whole */
    int64_t torn;         /* the last one, when its end is missing; 0 = none */
};

/* From the batch on that has the commit after version `after`. The connection is borrowed. */
void pg_walk_init(struct pg_walk *w, struct pg *pg, int64_t id, uint64_t after);
void pg_walk_fini(struct pg_walk *w);
/* Right after init: a thread of `worker` reads the next rows by `other` while the caller works on
 * those that are there. Both are borrowed, and not used otherwise until pg_walk_fini; it is then
 * the thread that posts to the worker which walks. */
void pg_walk_ahead(struct pg_walk *w, struct worker *worker, struct pg *other);
/* The next whole batch in w->batch, good until the next call; *has_one false: there is none. A last
 * one whose end is missing is none: its writer has stopped, and it was not acknowledged. */
ERR_MUST_USE enum err pg_walk_batch(struct pg_walk *w, bool *has_one, struct error *e);

/* Commits that a leader had told of, and that PostgreSQL then lost: the next leader's versions are
 * far above (TERM_JUMP), and what lies between never was. `first`: of the batch. */
bool pg_is_of_lost_history(uint64_t version, const struct pg_part *b, uint64_t first);

#endif
