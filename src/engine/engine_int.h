/* engine_int: what engine.c, evaluate.c and expiry.c share. */
#ifndef ENGINE_ENGINE_INT_H
#define ENGINE_ENGINE_INT_H

#include "engine/engine.h"

struct expiry {
    struct engine *engine;
    int64_t next_due_ms[16]; /* no entry of the database expires before; 0 = look */
    int64_t swept_ms[16];    /* no row of the database has an earlier time: where a look begins */
    struct waiter waiter;
    struct arena arena;
    uint64_t expired;
};

struct engine {
    struct engine_options options;
    struct backend *backend;
    struct layer layers[LAYERS_MAX];
    size_t layer_count;
    struct expiry expiry;
};

/* Runs the layers, commits, tells the layers. The set's own mutations are there already. */
ERR_MUST_USE enum err engine_commit_set(struct engine *g, struct write_set *ws, uint64_t *version,
                                        struct waiter *w, struct error *e);

void expiry_init(struct expiry *x, struct engine *g);
void expiry_fini(struct expiry *x);
void expiry_sweep(struct expiry *x);

#endif
