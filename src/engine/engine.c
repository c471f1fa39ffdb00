#include "engine/engine.h"

#include "base/mem.h"
#include "engine/engine_int.h"

#define EXPIRED_SKIPS_MAX 4096 /* expired rows passed over in one call before others get a turn */

struct engine *engine_new(const struct engine_options *options)
{
    struct engine *g = mem_new(sizeof *g);
    g->options = *options;
    g->backend = options->backend;
    expiry_init(&g->expiry, g);
    return g;
}

void engine_free(struct engine *g)
{
    if (g == NULL) return;
    expiry_fini(&g->expiry);
    mem_free(g);
}

struct backend *engine_backend(struct engine *g)
{
    return g->backend;
}

const struct engine_options *engine_limits(const struct engine *g)
{
    return &g->options;
}

void engine_key_begin(struct buf *out, uint8_t database)
{
    uint8_t head[KEY_HEAD_BYTES] = {database, SPACE_DATA};
    buf_append(out, head, sizeof head);
}

int64_t engine_time_ms(struct engine *g)
{
    return g->backend->ops->time_ms(g->backend);
}

bool engine_is_expired(const struct entry *entry, int64_t now_ms)
{
    return entry->expiry_ms != 0 && entry->expiry_ms <= now_ms;
}

enum err engine_get(struct engine *g, struct slice key, struct entry *out, uint64_t *depends,
                    struct waiter *w, struct error *e)
{
    enum err r = g->backend->ops->load(g->backend, key, out, w, e);
    if (r != OK) return r;
    if (out->depends > *depends) *depends = out->depends;
    /* Most entries never expire: no need to know the time. */
    bool may_expire = out->exists && out->expiry_ms != 0;
    if (may_expire && engine_is_expired(out, engine_time_ms(g))) out->exists = false;
    return OK;
}

/* ---- scans ---- */

struct engine_scan {
    struct backend *backend;
    struct scan *scan;
    int64_t now_ms;
    bool is_undivided;
};

enum err engine_scan_open(struct engine *g, const struct scan_range *range,
                          struct engine_scan **out, struct error *e)
{
    struct engine_scan *s = mem_new(sizeof *s);
    s->backend = g->backend;
    s->now_ms = engine_time_ms(g);
    s->is_undivided = range->is_undivided;
    enum err r = g->backend->ops->scan_open(g->backend, range, &s->scan, e);
    if (r != OK) {
        mem_free(s);
        s = NULL;
    }
    *out = s;
    return r;
}

enum err engine_scan_next(struct engine_scan *s, struct slice *key, struct entry *out,
                          struct waiter *w, struct error *e)
{
    for (unsigned skipped = 0;; skipped++) {
        enum err r = s->backend->ops->scan_next(s->scan, key, out, w, e);
        if (r != OK || key->len == 0 || !engine_is_expired(out, s->now_ms)) return r;
        if (skipped < EXPIRED_SKIPS_MAX || s->is_undivided) continue;
        r = engine_scan_pause(s, e);
        if (r != OK) return r;
        s->backend->ops->yield(s->backend, w);
        return error_set(e, ERR_WAIT, "a long scan lets others run");
    }
}

enum err engine_scan_pause(struct engine_scan *s, struct error *e)
{
    return s->backend->ops->scan_pause(s->scan, e);
}

uint64_t engine_scan_depends(const struct engine_scan *s)
{
    return s->backend->ops->scan_depends(s->scan);
}

void engine_scan_close(struct engine_scan *s)
{
    if (s == NULL) return;
    s->backend->ops->scan_close(s->scan);
    mem_free(s);
}

/* ---- layers ---- */

void engine_add_layer(struct engine *g, const struct layer *layer)
{
    INVARIANT(g->layer_count < LAYERS_MAX);
    g->layers[g->layer_count++] = *layer;
}

void write_set_add(struct write_set *ws, enum mutation_kind kind, struct slice key,
                   struct slice value, int64_t expiry_ms)
{
    if (ws->count == ws->cap) {
        size_t cap = ws->cap == 0 ? 8 : ws->cap * 2;
        struct mutation *items = arena_alloc(ws->arena, cap * sizeof *items);
        if (ws->count > 0) memcpy(items, ws->items, ws->count * sizeof *items);
        ws->items = items;
        ws->cap = cap;
    }
    ws->items[ws->count++] = (struct mutation){
        .kind = kind, .key = key, .value = value, .expiry_ms = expiry_ms};
}

enum err engine_commit_set(struct engine *g, struct write_set *ws, uint64_t *version,
                           struct waiter *w, struct error *e)
{
    for (size_t i = 0; i < g->layer_count; i++) {
        g->layers[i].before_commit(g->layers[i].arg, ws);
    }
    struct batch batch = {.items = ws->items, .count = ws->count, .time_ms = ws->time_ms};
    enum err r = g->backend->ops->commit(g->backend, &batch, version, w, e);
    if (r != OK) return r;
    for (size_t i = 0; i < g->layer_count; i++) {
        if (g->layers[i].on_commit == NULL) continue;
        g->layers[i].on_commit(g->layers[i].arg, *version, ws);
    }
    return OK;
}

enum err engine_flush_all(struct engine *g, uint64_t *version, struct waiter *w, struct error *e)
{
    uint8_t databases[256];
    struct arena arena;
    arena_init(&arena, 4096);
    struct write_set ws = {.arena = &arena, .time_ms = engine_time_ms(g)};
    for (uint8_t i = 0; i < g->options.databases; i++) {
        databases[i] = i;
        write_set_add(&ws, MUTATION_FLUSH, slice_of(&databases[i], 1), slice_of(NULL, 0), 0);
    }
    enum err r = g->backend->ops->admit(g->backend, w, e);
    if (r == OK) r = engine_commit_set(g, &ws, version, w, e);
    arena_fini(&arena);
    return r;
}

void engine_tick(struct engine *g)
{
    expiry_sweep(&g->expiry);
}

uint64_t engine_expired_count(const struct engine *g)
{
    return g->expiry.expired;
}
