/* engine_int: what engine.c, evaluate.c and expiry.c share. */
#ifndef ENGINE_ENGINE_INT_H
#define ENGINE_ENGINE_INT_H

#include "engine/engine.h"
#include "engine/id_window.h"
#include "engine/start_read.h"

/* The window of request ids (idem.c). */
struct idem {
    struct engine *engine;
    struct id_window ids;
    bool is_forgotten[DATABASES_MAX]; /* flushed while the rows were being read */
    struct waiter waiter;             /* of the sweeper and of the reading at the start */
    struct waiter_list pending;       /* requests that came before the rows were read */
    struct scan *scan;                /* of the reading */
    uint8_t reading;                  /* database of `scan` */
    struct start_read start;
    struct arena arena;
};

struct expiry {
    struct engine *engine;
    int64_t next_due_ms[DATABASES_MAX]; /* no entry of the database expires before; 0 = look */
    int64_t swept_ms[DATABASES_MAX];    /* no row of the database has an earlier time: where a look
                                           begins */
    struct waiter waiter;
    struct arena arena;
    uint64_t expired;
    unsigned batch; /* entries that fit into a transaction; 0 = as many as wished */
    bool is_off;    /* nothing is swept */
};

struct engine {
    struct engine_options options;
    struct backend *backend;
    struct layer layers[LAYERS_MAX];
    size_t layer_count;
    struct expiry expiry;
    struct idem idem;
    bool had_large; /* a transaction that is not small, since it was last asked */
};

/* Runs the layers, commits, notifies the layers. The set's own mutations are there already. */
ERR_MUST_USE enum err engine_commit_set(struct engine *g, struct write_set *ws, uint64_t *version,
                                        struct waiter *w, struct error *e);

/* Lets the layers add what follows from what was written to o since the last time. */
ERR_MUST_USE enum err engine_derive(struct view *v, struct error *e);

void expiry_init(struct expiry *x, struct engine *g);
void expiry_fini(struct expiry *x);
void expiry_sweep(struct expiry *x);

void idem_init(struct idem *m, struct engine *g);
void idem_fini(struct idem *m);
/* Reads the rows after a start; removes what left the window. */
void idem_tick(struct idem *m);

#endif
