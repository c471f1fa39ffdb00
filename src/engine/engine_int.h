/* engine_int: what engine.c, evaluate.c and expiry.c share. */
#ifndef ENGINE_ENGINE_INT_H
#define ENGINE_ENGINE_INT_H

#include "engine/engine.h"
#include "engine/id_window.h"
#include "engine/start.h"

/* Reading what layers keep in memory (start.c). */
struct start_failure;

struct start {
    struct engine *engine;
    struct start_space spaces[START_SPACES_MAX]; /* by rank */
    size_t count;
    size_t at;              /* the space that is being read; count = all were */
    uint32_t next_database; /* of it */
    /* What is being read: of the space `at`, or something that failed before. */
    size_t space;
    uint16_t database;
    struct scan *scan;              /* NULL = nothing is */
    bool is_flushed;                /* since the scan was opened */
    struct start_failure *failures; /* owned */
    int64_t again_us;               /* failed ones are tried again then; monotonic */
    struct waiter waiter;
    struct waiter_list pending; /* who came before the rows were read */
};

/* The window of request ids (idem.c). */
struct idem {
    struct engine *engine;
    struct id_window ids;
    struct waiter waiter; /* of the sweeper */
    struct arena arena;
};

struct expiry_database {
    int64_t next_due_ms; /* no entry of it expires before; 0 = look */
    int64_t swept_ms;    /* no row of it has an earlier time: where a look begins ... */
    int64_t added_ms;    /* the earliest row that came since the last sweep began */
    struct buf from;     /* owned; ... or here, at a row of that time. len 0 = at the first of it */
};

struct expiry {
    struct engine *engine;
    struct sparse databases; /* of struct expiry_database; owned; of those that may have rows */
    int64_t next_due_ms;     /* the earliest of theirs */
    uint32_t sweep_from;     /* number of the database that is looked at next */
    bool has_begun;          /* `databases` has those that were there at the start */
    struct waiter waiter;
    struct arena arena;
    uint64_t expired;
    uint64_t sweeps;   /* that were committed */
    struct slice kept; /* of the sweep under way: the row that stays, see expiry.c; len 0 = none */
    /* engine_on_due; NULL = no layer has parts that end. */
    enum err (*due)(void *arg, struct view *v, struct slice key, struct due_parts *parts,
                    struct error *e);
    void *due_arg;
    unsigned batch; /* entries that fit into a transaction; 0 = as many as wished */
    bool is_off;    /* nothing is swept */
};

struct engine {
    struct engine_options options;
    struct backend *backend;
    struct layer layers[LAYERS_MAX];
    size_t layer_count;
    /* Those of them that have something to do at each commit. */
    const struct layer *before[LAYERS_MAX], *admit[LAYERS_MAX], *after[LAYERS_MAX];
    size_t before_count, admit_count, after_count;
    struct start start;
    struct expiry expiry;
    struct idem idem;
    struct buf scratch; /* for the value that an operation computes; empty in between */
    bool had_large;     /* a transaction that is not small, since it was last asked */
};

/* Runs the layers, commits, notifies the layers. The set's own mutations are there already. */
ERR_MUST_USE enum err engine_commit_set(struct engine *g, struct write_set *ws, uint64_t *version,
                                        struct waiter *w, struct error *e);

/* A commit is done: those layers that want to know of it are told. */
void engine_tell_layers(struct engine *g, uint64_t version, const struct write_set *ws);

/* Lets the layers add what follows from what was written to o since the last time. */
ERR_MUST_USE enum err engine_derive(struct view *v, struct error *e);

void start_init(struct start *s, struct engine *g);
void start_fini(struct start *s);
/* Every 10 ms or so. */
void start_tick(struct start *s);

void expiry_init(struct expiry *x, struct engine *g);
void expiry_fini(struct expiry *x);
void expiry_sweep(struct expiry *x);
/* A batch more, if one is due. True when one was made. */
bool expiry_go_on(struct expiry *x);

void idem_init(struct idem *m, struct engine *g);
void idem_fini(struct idem *m);
/* Removes what left the window. */
void idem_tick(struct idem *m);

#endif
