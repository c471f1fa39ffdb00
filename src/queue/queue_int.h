/* queue_int: what the files of this folder share. */
#ifndef QUEUE_QUEUE_INT_H
#define QUEUE_QUEUE_INT_H

#include "base/treap.h"
#include "engine/id_window.h"
#include "engine/start.h"
#include "queue/queue.h"
#include "queue/window.h"

struct place; /* of a consumer in a line: line.c */

struct queue {
    struct slice key; /* of its row; first: the table looks here; its bytes follow the struct */
    uint64_t hash;
    struct slice name; /* in key */
    struct queues *queues;
    bool exists; /* has a row */
    struct counts counts;
    struct queue_flows flows;
    uint64_t untaken;          /* deliveries that were taken back, and flows.delivered counts */
    struct treap_node by_name; /* in queues->by_name while it exists */
    bool is_age_asked;         /* the tick sees to it that the first ready message is known */
    struct window ready;       /* READY rows: what is due first */
    struct window upcoming;    /* READY rows after counts.split */
    struct window leases;
    uint64_t version; /* of the newest commit that touched it */
    struct place *line_first, *line_last;
    size_t line_count;
    int64_t dead_from_ms;      /* no dead letter is older */
    int64_t dead_checked_ms;   /* the limits were looked at */
    struct queue *next, *prev; /* all, circular */
    bool is_active;            /* in queues->active: time may bring something ... */
    int64_t due_ms;            /* ... then; 0 = the next tick looks */
    struct treap_node by_due;
    uint64_t looked; /* the tick that looked at it last */
};

static inline struct queue *queue_of_node(struct treap_node *node)
{
    return (struct queue *)(void *)((char *)node - offsetof(struct queue, by_name));
}

struct push_ring;
struct returned; /* a delivery to be taken back */

struct queues {
    struct queue_options options;
    struct engine *engine;
    struct htab table;           /* of struct queue, by key */
    struct treap by_name;        /* those that exist, by database and name */
    struct queues_totals totals; /* of these; is_reading is not kept */
    uint32_t *in_database;       /* owned; how many of these, by database */
    struct queue all;            /* head */
    struct treap active;         /* by due_ms */
    uint64_t ticks;
    struct id_window dedup;                     /* the ids given with DEDUP (dedup.c) */
    struct waiter waiter;                       /* of the tick */
    struct waiter_list blocked;                 /* consumers */
    struct returned *returned, **returned_last; /* oldest first; owned */
    struct arena arena;                         /* of the tick */
    struct htab ring_table;                     /* of struct push_ring */
    struct push_ring *rings;                    /* circular; NULL = no subscribers */
    struct htab pushed;                         /* of struct pushed: deliveries under way */
    bool push_is_due;                           /* a ring may have something to hand out */
    bool is_held;                               /* nothing is delivered */
    uint64_t id_ahead;                          /* added to versions for ids: rows.h */
};

/* A queue within a transaction: its figures as the transaction has them. */
struct touch {
    struct queues *queues;
    struct view *view;
    struct slice name;
    struct queue *queue; /* NULL = not known to memory */
    struct counts counts;
    bool exists; /* was used before */
};

/* memory.c */
struct queue *queue_find(struct queues *qs, uint16_t database, struct slice name);
struct queue *queue_make(struct queues *qs, uint16_t database, struct slice name);
void queues_figures_init(struct queues *qs);
/* It has a row with these figures, or none (NULL): the totals follow. */
void queue_set_counts(struct queue *q, const struct counts *after);
/* A commit makes them its figures; before queue_set_counts. */
void queue_count_flow(struct queue *q, const struct counts *after);
/* The windows are empty and complete. */
void queue_windows_empty(struct queue *q);
/* The name in the key of a row of SPACE_QUEUE. */
static inline struct slice queue_name_of(struct slice key)
{
    return slice_of(key.data + KEY_HEAD_BYTES + 1, key.len - KEY_HEAD_BYTES - 1);
}
/* Forgets a queue that has no row and no consumer waiting. */
void queue_drop_unused(struct queues *qs, struct queue *q);
/* The next tick looks at it. */
void queue_activate(struct queues *qs, struct queue *q);
/* A tick looks at it at due_ms; INT64_MAX = only when something has happened to it. */
void queue_rest_until(struct queue *q, int64_t due_ms);
/* That which is due first, or after q; NULL = none is active. */
struct queue *queue_due_first(const struct queues *qs);
struct queue *queue_due_next(const struct queue *q);
/* At least `want` slots in the window, unless there are fewer rows or it is full. */
ERR_MUST_USE enum err queue_fill(struct queue *q, enum space space, size_t want, struct waiter *w,
                                 struct error *e);
/* Messages that have become due by now count as ready. */
ERR_MUST_USE enum err queue_advance(struct queue *q, int64_t now_ms, struct waiter *w,
                                    struct error *e);
/* After a start, as struct start_space has it: a row of SPACE_QUEUE. */
enum err memory_row(void *arg, struct slice key, const struct entry *entry, struct error *e);
/* All queues and dedup ids are there. */
bool queues_are_read(const struct queues *qs);
void memory_fini(struct queues *qs);

/* feed.c: as struct layer has it. */
void feed_on_commit(void *arg, uint64_t version, const struct write_set *ws);

/* dedup.c */
/* Has the id been seen? If not, the transaction writes it. ERR_TRYAGAIN: no room. */
ERR_MUST_USE enum err dedup_use(struct touch *t, struct slice id, bool *is_repeat, struct error *e);
void dedup_tick(struct queues *qs, int64_t now_ms);
/* After a start, as struct start_space has them: a row of SPACE_DEDUP, and their end. */
enum err dedup_row(void *arg, struct slice key, const struct entry *entry, struct error *e);
void dedup_read(void *arg, uint16_t database, bool is_good);

/* operations.c */
/* ERR_LIMIT: a transaction could not move it to the dead letters. */
ERR_MUST_USE enum err queue_check_size(const struct view *v, const struct message *m,
                                       struct error *e);

/* ids.c */
/* Is it the row of what is added to versions for ids? */
bool is_ids_row(struct slice key);
void ids_row_read(struct queues *qs, struct slice value);
/* What the transaction adds to its version; ERR_WAIT until it is known. */
ERR_MUST_USE enum err ids_ahead(struct queues *qs, struct view *v, uint64_t *out, struct error *e);
/* Ids that are given after this come after `id`. ERR_SYNTAX: no server gives such an id. */
ERR_MUST_USE enum err ids_pass(struct queues *qs, struct view *v, const struct message_id *id,
                               struct error *e);

/* touch.c */
/* ERR_WAIT until the rows are read. */
ERR_MUST_USE enum err touch_begin(struct touch *t, struct queues *qs, struct view *v,
                                  struct slice name, struct error *e);
/* Writes the figures. */
void touch_end(struct touch *t);
/* Keys of the queue's incarnation, as the transaction has it. */
struct slice touch_key(const struct touch *t, enum space space, const void *rest, size_t len);
struct slice touch_key_end(const struct touch *t, enum space space);
/* STATE and MESSAGE of a dead letter. */
struct slice touch_dead_key(const struct touch *t, enum space space, const struct message_id *id);
/* The queue, when the rows that memory knows of are rows that the transaction sees; NULL: it has
 * purged or flushed them, or there are none. */
struct queue *touch_known(const struct touch *t);
/* The message waits for delivery, or no longer. */
void touch_put_ready(struct touch *t, const struct slot *s, uint32_t attempts, struct slice error);
void touch_take_ready(struct touch *t, const struct slot *s);
/* The lease of the message is over; its STATE is the caller's. */
void touch_end_lease(struct touch *t, const struct message_id *id, int64_t end_ms);
/* The delivery failed: later again, or a dead letter. delay_ms after base_ms; -1 = its backoff. */
struct failure {
    int64_t base_ms, delay_ms;
    bool is_dead;
    struct slice error;
};
ERR_MUST_USE enum err touch_fail(struct touch *t, const struct message_id *id,
                                 const struct state *s, const struct failure *f, struct error *e);
/* Leases that have ended, up to max, oldest first; *is_more: not all of them. */
ERR_MUST_USE enum err touch_sweep(struct touch *t, size_t max, size_t *done, bool *is_more,
                                  struct error *e);
ERR_MUST_USE enum err touch_get_message(struct touch *t, const struct message_id *id,
                                        struct message *m, struct error *e);
/* That of a dead letter. */
ERR_MUST_USE enum err touch_get_dead(struct touch *t, const struct message_id *id,
                                     struct message *m, struct error *e);
/* Values of messages that one transaction moves, but for the last: the rest must wait. What one
 * message needs is at most half of a transaction (operations.c), so that it always fits. */
uint64_t queue_bytes_max(const struct engine *g);

/* queue.c */
/* As queue_return; is_seen: it counts, and comes again after its backoff. */
void queue_give_back(struct queues *qs, uint16_t database, const struct receipt *r, bool is_seen);

/* push.c */
void push_on_state(struct queues *qs, const struct mutation *mu);
void push_on_flush(struct queues *qs, uint16_t database);
/* The queue was purged. */
void push_on_purge(struct queues *qs, const struct queue *q);
void push_run(struct queues *qs);

/* line.c */
void line_wake(struct queue *q);
/* How many in the line come before `c`; NULL = all that are in it. */
size_t line_ahead(const struct queue *q, const struct consumer *c);

#endif
