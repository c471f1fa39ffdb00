/* queue: queues as a layer over the engine. Messages are rows in the ordered keyspace
 * (rows.h); what happens to them is an operation of a transaction (OP_LAYER), so that it is
 * committed, journaled, replayed and flushed with everything else.
 *
 *              enqueue                     ACK
 *                 |                   +------------> gone
 *                 v      dequeue      |
 *   delayed --> READY ------------> LEASED --- NACK, the lease ends ---> READY, after its backoff
 *                 ^                   |                              \
 *                 |                   +-- returned: it was not seen   +-> DEAD, no retry left
 *                 +-- (attempt not counted)                                 | requeue
 *                 +--------------------------------------------------------+
 *
 * In memory are, per queue, its figures and the first rows by time (window.h), changed only by
 * commits, and who waits (line.c). They are read after a start, a slice a tick; operations wait for
 * that. What time brings is judged by transaction time in the operation that looks; the tick only
 * does it for those who do not look, and wakes who waits.
 *
 * Everything belongs to the loop thread.
 */
#ifndef QUEUE_QUEUE_H
#define QUEUE_QUEUE_H

#include "queue/rows.h"

#define QUEUE_BACKOFF_MAX 1000     /* retries of one message */
#define QUEUE_UNDELIVERED_MAX 1000 /* keys of one message */
#define QUEUE_COUNT_MAX 1000       /* messages of one DEQUEUE */
#define QUEUE_ERROR_BYTES_MAX 1024
#define QUEUE_DEDUP_BYTES_MAX 255
#define QUEUE_LEASE_MS_MAX (31LL * 24 * 3600 * 1000)

struct queues;
struct consumer;

struct queue_options {
    struct engine *engine;
    int64_t lease_ms; /* when DEQUEUE does not say */
    int64_t dedup_window_ms;
    uint64_t dedup_entries_max;
    int64_t dead_age_ms;
    uint64_t dead_length; /* dead letters kept of one queue */
    bool is_absent;       /* there are none: no row is read or followed, nothing may be asked */
};

/* Adds its layer to the engine, which must be freed after it. */
struct queues *queues_new(const struct queue_options *o);
void queues_free(struct queues *qs);
/* The engine of these must not change. */
void queues_set_options(struct queues *qs, const struct queue_options *o);
const struct queue_options *queues_options(const struct queues *qs);
/* While they are held no message is delivered; all else goes on. */
void queues_hold(struct queues *qs, bool is_held);
bool queues_are_held(const struct queues *qs);
/* Every 10 ms or so. */
void queues_tick(struct queues *qs);
/* In how many ms a tick may find something to do; INT64_MAX = nothing is known of. */
int64_t queues_rest_ms(struct queues *qs);
/* At the end of a turn of the loop, before what was committed goes to the journal. */
void queues_turn(struct queues *qs);

/* ---- operations: fill in, make an op of it, commit the transaction ---- */

struct queue_enqueue {
    struct layer_op base;
    struct queues *queues;
    struct slice queue;
    struct message message; /* the options; backoff and undelivered as in its row */
    int64_t delay_ms;
    struct slice dedup; /* data NULL = none */
    /* results */
    bool is_repeat; /* the dedup id was seen: nothing was done */
    char id[ID_CHARS];
};

/* A message that is delivered. */
struct delivery {
    struct slice queue;
    char id[ID_CHARS];
    struct slice value;       /* borrowed until the end of the turn */
    struct receipt delivered; /* the receipt, with the attempt */
};

struct queue_dequeue {
    struct layer_op base;
    struct queues *queues;
    const struct slice *names; /* in the order to look */
    size_t name_count;
    size_t count_max;
    int64_t lease_ms;
    const struct consumer *consumer; /* the one that has waited for it; NULL = none */
    /* results */
    struct delivery *items;
    size_t count;
    size_t bytes; /* of values */
};

/* A message of another server, or of this one before: it keeps its id, and what had become of it.
 * If the queue has one of that id, that stays as it is. */
struct queue_load {
    struct layer_op base;
    struct queues *queues;
    struct slice queue;
    struct message message; /* as of struct queue_enqueue */
    struct message_id id;
    bool is_dead;
    uint32_t attempts;
    int64_t time_ms; /* due; failed at */
    struct slice error;
    /* results: base op's is_met: it was not there */
};

enum settle_kind { SETTLE_ACK, SETTLE_NACK, SETTLE_EXTEND, SETTLE_RETURN };

struct queue_settle {
    struct layer_op base;
    struct queues *queues;
    enum settle_kind kind;
    struct receipt receipt;
    bool is_dead;       /* NACK */
    int64_t delay_ms;   /* NACK: -1 = its backoff */
    int64_t lease_ms;   /* EXTEND: from now on */
    struct slice error; /* NACK */
};

enum bulk_kind {
    BULK_SWEEP, /* leases that have ended */
    BULK_TRIM,  /* dead letters beyond the limits */
    BULK_PURGE, /* all messages at once, dead letters excepted */
    BULK_DEAD_REQUEUE,
    BULK_DEAD_DELETE,
};

/* Many messages of one queue: of a purge all, else up to `max` in one transaction. */
struct queue_bulk {
    struct layer_op base;
    struct queues *queues;
    enum bulk_kind kind;
    struct slice queue;
    size_t max;
    const struct message_id *ids; /* BULK_DEAD_*: these; NULL = all */
    size_t id_count;
    bool is_whole;     /* up to `max`, however large they are and however long it takes to read */
    struct slot after; /* dead letters: those after this one, all zero = from the first on */
    /* results */
    uint64_t done;
    bool is_more;     /* there are others */
    struct slot last; /* dead letters: the last that was seen to */
    uint64_t
        damaged; /* dead letters that cannot be read; they stay. With ids or is_whole, an error */
    struct error damage; /* of the first of them */
};

struct op queue_enqueue_op(struct queue_enqueue *x);
struct op queue_load_op(struct queue_load *x);
struct op queue_dequeue_op(struct queue_dequeue *x);
/* is_check: a receipt that is no longer good makes the transaction a conflict. */
struct op queue_settle_op(struct queue_settle *x, bool is_check);
struct op queue_bulk_op(struct queue_bulk *x);

/* The delivery was not seen by a client: it is taken back as soon as possible, and does not count.
 * Copied. */
void queue_return(struct queues *qs, uint16_t database, const struct receipt *r);

/* ---- reads ---- */

struct queue_stats {
    struct counts counts;
    int64_t oldest_ms; /* how long the first message that is ready has been so; 0 = none is */
};

ERR_MUST_USE enum err queue_stats(struct queues *qs, struct view *v, struct slice queue,
                                  struct queue_stats *out, struct error *e);
/* Names of the queues of v's database, sorted, in the arena. */
ERR_MUST_USE enum err queue_names(struct queues *qs, struct view *v, struct slice **out,
                                  size_t *count, struct error *e);

/* The delivery of a message that is under way; out->attempt 0: there is none. */
ERR_MUST_USE enum err queue_lease(struct queues *qs, struct view *v, struct slice queue,
                                  const struct message_id *id, struct receipt *out,
                                  struct error *e);

/* Of one database, written but not yet durable included. O(1). */
size_t queues_count(const struct queues *qs, uint16_t database);

/* What happened since the start of the process. None of them ever gets less. */
struct queue_flows {
    uint64_t enqueued, delivered, acked, nacked, expired;
};

/* Of all databases, written but not yet durable included. */
struct queues_totals {
    bool is_reading; /* the rows are still being read: there may be more */
    size_t queues;
    struct counts counts;     /* but for incarnation and split */
    struct queue_flows flows; /* of the queues that there are ... */
    struct queue_flows ever;  /* ... and of those that are gone */
};

/* O(1), as the next three. */
void queues_totals(const struct queues *qs, struct queues_totals *out);

/* What memory has of one queue, written but not yet durable included. */
struct queue_figures {
    struct counts counts;
    struct queue_flows flows;
    bool is_age_known; /* else it will be soon */
    int64_t oldest_ms; /* as in queue_stats */
};

struct queue;
/* By database, then by name; NULL at the end. Good until the next commit. */
struct queue *queues_first(const struct queues *qs);
struct queue *queues_next(const struct queue *q);
/* The first of the database whose name is above this one; "" is below all. O(log n). */
struct queue *queues_above(const struct queues *qs, uint16_t database, struct slice name);
uint16_t queue_database(const struct queue *q);
/* Borrowed, as long as it is good. */
struct slice queue_name(const struct queue *q);
void queue_figures(struct queue *q, struct queue_figures *out);
/* Since when the first message has been ready, in time of transactions; INT64_MAX: none is.
 * ERR_WAIT: the message is read. */
ERR_MUST_USE enum err queue_oldest(struct queue *q, struct waiter *w, int64_t *since_ms,
                                   struct error *e);
/* Of the newest commit that touched it. */
uint64_t queue_version(const struct queue *q);
/* Are the rows of queues read? They are after a start (ERR_WAIT). */
ERR_MUST_USE enum err queues_check_read(const struct queues *qs, uint16_t database,
                                        struct waiter *w, struct error *e);

/* A message that is shown, not delivered: PEEK, KV.DLQ, EXPORT. */
struct shown {
    bool exists;
    struct message_id id;
    struct slice value;     /* borrowed until the end of the turn ... */
    struct message message; /* ... and so is what it was enqueued with */
    uint32_t attempts;
    struct slice error; /* in the arena */
    int64_t time_ms;    /* due; end of the lease; failed at */
};

struct queue_page {
    struct slice queue;
    /* SPACE_READY: first due first; SPACE_LEASE: the lease that ends first; SPACE_DEAD: newest
     * first. */
    enum space space;
    struct slot after; /* a page begins after this, when has_after */
    bool has_after;
    size_t max;
    /* results */
    struct shown *items; /* in the arena */
    size_t count;
    bool is_more;
};

ERR_MUST_USE enum err queue_page(struct queues *qs, struct view *v, struct queue_page *p,
                                 struct error *e);
/* The dead letter with out->id. */
ERR_MUST_USE enum err queue_dead_get(struct queues *qs, struct view *v, struct slice queue,
                                     struct shown *out, struct error *e);

/* ---- waiting ---- */

/* Stands in the line of each queue: first come, first served. Not while it is running. */
struct consumer *consumer_new(struct queues *qs, uint16_t database, const struct slice *names,
                              size_t count);
/* `w` is woken when there is a message for it. */
void consumer_wait(struct consumer *c, struct waiter *w);
/* May be NULL. */
void consumer_free(struct consumer *c);

/* ---- pushing (push.c) ---- */

struct push_ring; /* those who listen to one queue */

/* A connection that listens; owned by it, zeroed at first. */
struct push_client {
    size_t prefetch; /* at most so many deliveries are unacknowledged */
    size_t unacked;
    struct pushed *first;
};

/* One queue that it listens to; embedded in its owner, who fills in the first part. */
struct push_sub {
    struct push_client *client;
    bool (*has_room)(struct push_sub *s);
    /* Writes the message, to leave when `version` is durable; the end of it in the stream of all
     * that is sent to the client. */
    uint64_t (*deliver)(struct push_sub *s, const struct delivery *d, uint64_t version);
    struct push_ring *ring;
    struct push_sub *next, *prev; /* circular */
};

enum push_end {
    PUSH_LOST,  /* the connection is gone: what it had been sent counts an attempt */
    PUSH_ENDED, /* as it wished, or the server stops: nothing counts */
};

void push_subscribe(struct queues *qs, struct push_sub *s, uint16_t database, struct slice name);
/* Its deliveries are given back. `sent`: so much of the client's stream was written. */
void push_unsubscribe(struct queues *qs, struct push_sub *s, enum push_end end, uint64_t sent);

#endif
