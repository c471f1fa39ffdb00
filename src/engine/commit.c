/* commit: the way of a write set: layers before it, the backend, layers after it. And its time and
 * version.
 */
#include "engine/engine_int.h"

int64_t engine_time_ms(struct engine *g)
{
    return backend_time_ms(g->backend);
}

bool engine_is_expired(const struct entry *entry, int64_t now_ms)
{
    return entry->expiry_ms != 0 && entry->expiry_ms <= now_ms;
}

uint64_t engine_version_next(struct engine *g)
{
    return backend_version_next(g->backend);
}

void engine_add_layer(struct engine *g, const struct layer *layer)
{
    INVARIANT(g->layer_count < LAYERS_MAX);
    struct layer *l = &g->layers[g->layer_count++];
    *l = *layer;
    if (l->before_commit != NULL) g->before[g->before_count++] = l;
    if (l->admit != NULL) g->admit[g->admit_count++] = l;
    if (l->on_commit != NULL) g->after[g->after_count++] = l;
}

void write_set_add(struct write_set *ws, enum mutation_kind kind, struct slice key,
                   struct slice value, int64_t expiry_ms)
{
    ws->items = arena_grow(ws->arena, ws->items, ws->count, &ws->cap, sizeof *ws->items);
    ws->kinds |= kind == MUTATION_FLUSH ? LAYER_FLUSH : LAYER_SPACE(key_space(key));
    ws->items[ws->count++] = (struct mutation){
        .kind = kind, .key = key, .value = value, .expiry_ms = expiry_ms};
}

void engine_tell_layers(struct engine *g, uint64_t version, const struct write_set *ws)
{
    for (size_t i = 0; i < g->after_count; i++) {
        const struct layer *l = g->after[i];
        if ((l->kinds & ws->kinds) != 0) l->on_commit(l->arg, version, ws);
    }
}

enum err engine_commit_set(struct engine *g, struct write_set *ws, uint64_t *version,
                           struct waiter *w, struct error *e)
{
    for (size_t i = 0; i < g->before_count; i++) g->before[i]->before_commit(g->before[i]->arg, ws);
    for (size_t i = 0; i < g->admit_count; i++) {
        enum err r = g->admit[i]->admit(g->admit[i]->arg, ws, w, e);
        if (r != OK) return r;
    }
    struct batch batch = {
        .items = ws->items, .count = ws->count, .before = ws->before, .time_ms = ws->time_ms};
    enum err r = backend_commit(g->backend, &batch, version, w, e);
    if (r == OK) engine_tell_layers(g, *version, ws);
    return r;
}
