#include "engine/overlay.h"

#include <stdlib.h>

#define OVERLAY_LINEAR_MAX 8

void overlay_init(struct overlay *o, struct engine *g, struct arena *arena)
{
    *o = (struct overlay){.engine = g, .arena = arena, .rows_left = OVERLAY_ROWS_MAX};
    o->now_ms = engine_time_ms(g);
    htab_init(&o->index);
}

void overlay_fini(struct overlay *o)
{
    htab_fini(&o->index);
}

static struct written *find(struct overlay *o, struct slice key, uint64_t *hash)
{
    *hash = 0;
    if (o->count <= OVERLAY_LINEAR_MAX) {
        for (size_t i = 0; i < o->count; i++) {
            if (slice_eq(o->items[i]->key, key)) return o->items[i];
        }
        return NULL;
    }
    *hash = hash_bytes(key);
    return htab_find(&o->index, *hash, key);
}

struct written *overlay_find(struct overlay *o, struct slice key)
{
    uint64_t hash = 0;
    return find(o, key, &hash);
}

static void add_to_index(struct overlay *o, struct written *w, uint64_t hash)
{
    if (o->count > OVERLAY_LINEAR_MAX + 1) {
        w->hash = hash;
        htab_insert(&o->index, hash, &w->key);
        return;
    }
    for (size_t i = 0; i < o->count; i++) { /* the first that is too many: index them all */
        o->items[i]->hash = hash_bytes(o->items[i]->key);
        htab_insert(&o->index, o->items[i]->hash, &o->items[i]->key);
    }
}

static struct written *written_of(struct overlay *o, struct slice key)
{
    uint64_t hash = 0;
    struct written *w = find(o, key, &hash);
    if (w != NULL) {
        w->is_flushed = false;
        return w;
    }
    if (o->count == o->cap) {
        size_t cap = o->cap == 0 ? 4 : o->cap * 2;
        struct written **items = arena_alloc(o->arena, cap * sizeof *items);
        if (o->count > 0) memcpy(items, o->items, o->count * sizeof *items);
        o->items = items;
        o->cap = cap;
    }
    w = arena_alloc(o->arena, sizeof *w);
    *w = (struct written){.key = key};
    o->items[o->count++] = w;
    o->bytes += key.len;
    if (o->count > OVERLAY_LINEAR_MAX) add_to_index(o, w, hash);
    return w;
}

void overlay_set(struct overlay *o, struct slice key, struct slice value, int64_t expiry_ms)
{
    struct written *w = written_of(o, key);
    o->bytes += value.len;
    w->exists = true;
    w->value = value;
    w->expiry_ms = expiry_ms;
}

void overlay_delete(struct overlay *o, struct slice key)
{
    struct written *w = written_of(o, key);
    w->exists = false;
    w->value = slice_of(NULL, 0);
    w->expiry_ms = 0;
}

void overlay_flush(struct overlay *o, uint8_t database)
{
    o->flushed[database] = true;
    for (size_t i = 0; i < o->count; i++) {
        struct written *w = o->items[i];
        if (w->key.data[0] != database) continue;
        w->exists = false;
        w->is_flushed = true;
    }
}

static int compare(const void *a, const void *b)
{
    const struct written *const *x = (const struct written *const *)a;
    const struct written *const *y = (const struct written *const *)b;
    return slice_cmp((*x)->key, (*y)->key);
}

size_t overlay_range(struct overlay *o, struct slice start, struct slice end, bool is_reverse,
                     struct written ***out)
{
    struct written **found = arena_alloc(o->arena, (o->count + 1) * sizeof(struct written *));
    size_t count = 0;
    for (size_t i = 0; i < o->count; i++) {
        struct written *w = o->items[i];
        if (slice_cmp(w->key, start) >= 0 && slice_cmp(w->key, end) < 0) found[count++] = w;
    }
    qsort(found, count, sizeof(struct written *), compare);
    for (size_t i = 0; is_reverse && i < count / 2; i++) {
        struct written *w = found[i];
        found[i] = found[count - 1 - i];
        found[count - 1 - i] = w;
    }
    *out = found;
    return count;
}

void overlay_entry(const struct overlay *o, const struct written *w, struct entry *out)
{
    *out = (struct entry){
        .exists = w->exists, .version = o->version, .value = w->value, .expiry_ms = w->expiry_ms};
    if (out->exists && engine_is_expired(out, o->now_ms)) out->exists = false;
}

void overlay_write_set(struct overlay *o, struct write_set *ws)
{
    for (unsigned i = 0; i < DATABASES_MAX; i++) {
        if (!o->flushed[i]) continue;
        uint8_t *database = arena_alloc(o->arena, 1);
        *database = (uint8_t)i;
        write_set_add(ws, MUTATION_FLUSH, slice_of(database, 1), slice_of(NULL, 0), 0);
    }
    for (size_t i = 0; i < o->count; i++) {
        const struct written *w = o->items[i];
        if (w->is_flushed) continue;
        write_set_add(ws, w->exists ? MUTATION_SET : MUTATION_DELETE, w->key, w->value,
                      w->expiry_ms);
    }
}
