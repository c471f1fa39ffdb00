/* pg_journal_int: what pg_journal.c (batches, the lease, closing), pg_append.c (the statements that
 * append) and pg_history.c (the start, and reading what was committed) share.
 */
#ifndef BACKEND_POSTGRES_PG_JOURNAL_INT_H
#define BACKEND_POSTGRES_PG_JOURNAL_INT_H

#include "backend/postgres/pg_journal.h"
#include "backend/postgres/pg_walk.h"
#include "backend/worker.h"
#include "base/histogram.h"

struct pg_journal;

struct pg_batch {
    struct journal_batch base; /* first */
    struct pg_batch *next;
    int64_t number;
    uint64_t version_before;
};

struct append_job {
    struct job job; /* first */
    struct pg_journal *journal;
    struct pg_batch *batches; /* oldest first */
    uint64_t transactions;    /* in them */
    int64_t posted_us;        /* monotonic */
    bool is_sent;             /* the thread's: the first part was sent, ahead of its turn */
    bool was_sent_ahead;      /* ... and was answered */
    uint64_t bytes;           /* of all that were appended in this job */
    int64_t took_us;
    enum err result; /* ERR_TRYAGAIN: another node leads; ERR_IO: given up */
    struct error error;
    int is_full; /* atomic: it is repeated for want of space there */
};

struct small_job {
    struct job job; /* first */
    struct pg_journal *journal;
    uint64_t number; /* what it is about */
    enum err result;
    struct error error;
};

/* pg_let_go.c */
struct let_go_job {
    struct job job; /* first */
    struct pg_journal *journal;
    uint64_t until;      /* batches up to this version may go, ... */
    int64_t before_ms;   /* ... those that are older, ... */
    uint64_t more_bytes; /* ... and so many bytes, however old */
    uint64_t gone_bytes; /* what went; */
    uint64_t oldest;     /* the version before the first that is left; 0 = nothing went */
    int64_t last_batch;  /* the last one that went in this term; 0 = none did */
    uint64_t dead_bytes; /* since the last VACUUM */
    bool has_no_vacuum;  /* PostgreSQL's like may not have it */
    int is_ending;       /* atomic */
    enum err result;
    struct error error;
};

/* pg_history.c */
struct pg_reading;

struct pg_journal {
    struct journal base; /* first */
    struct pg_journal_options options;
    struct term *term;
    struct worker *appender, *leaser, *background,
        *sweeper; /* one thread each; NULL before `start` */
    struct pg *append_pg, *background_pg, *sweep_pg;
    struct pg_batch *sealed, **sealed_end, *unused;
    uint64_t sealed_bytes, sealed_transactions; /* of those in `sealed` */
    int64_t next_number;
    uint64_t version_sealed; /* the last one */
    /* Up to two are under way, in turn: PostgreSQL begins the second when it has done the first,
     * without waiting for this side. */
    struct append_job appends[2];
    unsigned oldest_append, under_way;
    int64_t progress_us;      /* atomic, monotonic: a part was appended last */
    struct append_job *ahead; /* atomic: the second one, to be sent while the first is under way */
    int ahead_fd;             /* an eventfd: there may be one */
    uint64_t told;            /* transactions of the last append that was acknowledged */
    uint64_t sent_ahead;
    struct small_job lease, versions;
    struct let_go_job letting_go;
    bool is_leasing, is_reserving, is_letting_go, is_lost_told;
    int64_t leased_us;        /* monotonic: the last renewal was posted */
    int64_t lease_told_us;    /* likewise: it was logged that it failed; 0 = it did not */
    struct error lease_error; /* of the last renewal */
    uint64_t version_reserved;
    int64_t versions_failed_us; /* 0 = the last reservation succeeded */
    uint64_t applied;
    int64_t released_ms, let_go_us;
    uint64_t oldest; /* nothing after it is missing */
    uint64_t bytes;  /* in the table, about */
    uint64_t syncs, sync_us, batches, appended_bytes, durable_bytes;
    struct histogram sync_times;
    struct pg_reading *readings, *idle; /* under way; connections that are free */
};

static inline struct pg_journal *pg_journal_of(struct journal *j)
{
    return (struct pg_journal *)j;
}

#define PG_PART_BYTES (4u << 20)
static inline size_t pg_part_bytes(const struct pg_journal *j)
{
    return j->options.batch_bytes != 0 ? j->options.batch_bytes : PG_PART_BYTES;
}

/* pg_append.c */
void pg_append_run(struct job *job);

/* pg_let_go.c: sweeper's thread */
void pg_let_go_run(struct job *job);
/* Nothing that takes long is begun any more. What is under way ends with the term's connections. */
void pg_let_go_end(struct pg_journal *j);

/* pg_history.c */
ERR_MUST_USE enum err pg_replay(struct pg_journal *j, struct journal_replay *r, struct error *e);
bool pg_history_begin(struct journal *journal, struct journal_read *r);
void pg_history_run(struct journal *journal, struct journal_read *r);
void pg_history_end(struct journal *journal, struct journal_read *r);
/* The oldest version that is being read, or UINT64_MAX. */
uint64_t pg_history_oldest(const struct pg_journal *j);
void pg_history_free(struct pg_journal *j);

#endif
