/* overlay: see overlay.h. A few entries are searched one by one, more by a hash table that is made
 * then. Scans want them in order: what is new since the last scan is sorted and merged in, so that
 * many scans and writes in turn stay cheap. */
#include "engine/overlay.h"

#include "engine/engine_int.h"

#include <stdlib.h>

void overlay_init(struct overlay *o, struct engine *g, struct arena *arena)
{
    *o = (struct overlay){.engine = g,
                          .arena = arena,
                          .work_left = (size_t)OVERLAY_ROWS_MAX * SCAN_WORK_ROW,
                          .steps_max = ENGINE_STEPS_MAX,
                          .lent_left = ENGINE_LENT_MAX};
    o->now_ms = o->told_ms = engine_time_ms(g);
    htab_init(&o->index);
}

void overlay_fini(struct overlay *o)
{
    htab_fini(&o->index);
    sparse_fini(&o->flushed);
    size_t rows = OVERLAY_ROWS_MAX - o->work_left / SCAN_WORK_ROW;
    rows += ENGINE_LENT_MAX - o->lent_left;
    bool is_small = o->bytes <= ENGINE_SMALL_BYTES && o->steps <= ENGINE_SMALL_STEPS;
    if (o->ops + o->derived + rows > ENGINE_SMALL_OPS || !is_small) {
        o->engine->had_large = true;
    }
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

static void make_dirty(struct overlay *o, struct written *w, bool is_new)
{
    w->is_dirty = true;
    w->passed = NULL;
    w->has_before = !is_new;
    if (!is_new) {
        w->before = (struct entry){
            .exists = w->exists, .value = w->value, .expiry_ms = w->expiry_ms};
    }
    w->dirty_next = o->dirty;
    o->dirty = w;
    o->dirty_count++;
}

static void pass(struct overlay *o, struct written *w)
{
    struct data_passed *p = arena_alloc(o->arena, sizeof *p);
    *p = (struct data_passed){.next = w->passed, .value = w->value};
    w->passed = p;
}

static struct written *written_of(struct overlay *o, struct slice key)
{
    uint64_t hash = 0;
    struct written *w = find(o, key, &hash);
    if (w != NULL) {
        if (o->mark != NULL) overlay_save(o, w);
        w->is_flushed = w->is_void = w->is_offer = false;
        if (w->is_dirty && w->exists) pass(o, w);
        if (!w->is_dirty && key_space(key) == SPACE_DATA) make_dirty(o, w, false);
        return w;
    }
    o->items = arena_grow(o->arena, o->items, o->count, &o->cap, sizeof *o->items);
    w = arena_alloc(o->arena, sizeof *w);
    *w = (struct written){.key = o->keeps ? arena_copy(o->arena, key) : key};
    o->items[o->count++] = w;
    o->bytes += key.len;
    INVARIANT(key_space(key) < SPACE_END);
    o->keys[key_space(key)]++;
    if (key_space(key) == SPACE_DATA) make_dirty(o, w, true);
    if (o->count > OVERLAY_LINEAR_MAX) add_to_index(o, w, hash);
    return w;
}

/* It is about to be there, or not. */
static inline void size_note(struct overlay *o, const struct written *w, bool exists)
{
    struct overlay_size *s = &o->size;
    if (!s->is_known || w->exists == exists || key_space(w->key) != SPACE_DATA ||
        key_database(w->key) != s->database) {
        return;
    }
    s->live += exists ? 1 : (size_t)-1;
}

void overlay_set(struct overlay *o, struct slice key, struct slice value, int64_t expiry_ms)
{
    struct written *w = written_of(o, key);
    if (o->gaps.count > 0) gaps_touch(&o->gaps, key);
    o->writes++;
    size_note(o, w, true);
    o->bytes += value.len;
    w->cause = o->cause;
    w->exists = true;
    w->value = o->keeps ? arena_copy(o->arena, value) : value;
    w->expiry_ms = expiry_ms;
}

void overlay_delete(struct overlay *o, struct slice key)
{
    struct written *w = written_of(o, key);
    o->writes++;
    size_note(o, w, false);
    w->cause = o->cause;
    w->exists = false;
    w->value = slice_of(NULL, 0);
    w->expiry_ms = 0;
}

void overlay_flush(struct overlay *o, uint16_t database)
{
    *sparse_slot(&o->flushed, database) = o;
    o->has_flushed = true;
    if (o->size.database == database) o->size.is_known = false;
    for (size_t i = 0; i < o->count; i++) {
        struct written *w = o->items[i];
        if (key_database(w->key) != database) continue;
        w->exists = false;
        w->is_flushed = true;
    }
    for (struct forgotten **at = &o->forgotten; *at != NULL;) {
        if (key_database((*at)->start) == database) {
            *at = (*at)->next;
        } else {
            at = &(*at)->next;
        }
    }
}

void overlay_forget(struct overlay *o, struct slice start, struct slice end)
{
    struct forgotten *f = arena_alloc(o->arena, sizeof *f);
    *f = (struct forgotten){.next = o->forgotten, .start = start, .end = end};
    if (o->keeps) {
        f->start = arena_copy(o->arena, start);
        f->end = arena_copy(o->arena, end);
    }
    o->forgotten = f;
    o->bytes += start.len + end.len;
}

void overlay_clean(struct overlay *o)
{
    for (struct written *w = o->dirty; w != NULL; w = w->dirty_next) w->is_dirty = false;
    o->dirty = NULL;
    o->dirty_count = 0;
}

static int compare(const void *a, const void *b)
{
    const struct written *const *x = (const struct written *const *)a;
    const struct written *const *y = (const struct written *const *)b;
    return slice_cmp((*x)->key, (*y)->key);
}

/* The first of the first `count` in `sorted` that is not before `key`. */
static size_t sorted_seek(const struct overlay *o, size_t count, struct slice key)
{
    size_t low = 0;
    size_t high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (slice_cmp(o->sorted[middle]->key, key) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Brings `sorted` up to date: what was written since is sorted by itself and merged in, so that
 * many scans between many writes neither sort nor compare everything each time. */
static void sort_new(struct overlay *o)
{
    size_t fresh_count = o->count - o->sorted_count;
    if (fresh_count == 0) return;
    if (o->count > o->sorted_cap) {
        size_t cap = o->cap;
        struct written **sorted = arena_alloc(o->arena, cap * sizeof(struct written *));
        if (o->sorted_count > 0) {
            memcpy(sorted, o->sorted, o->sorted_count * sizeof(struct written *));
        }
        o->sorted = sorted;
        o->sorted_cap = cap;
    }
    struct written **fresh = arena_alloc(o->arena, fresh_count * sizeof(struct written *));
    memcpy(fresh, o->items + o->sorted_count, fresh_count * sizeof(struct written *));
    qsort(fresh, fresh_count, sizeof(struct written *), compare);
    size_t old = o->sorted_count;
    for (size_t at = o->count; fresh_count > 0;) { /* from the end, in place */
        size_t from = sorted_seek(o, old, fresh[fresh_count - 1]->key);
        at -= old - from;
        memmove(&o->sorted[at], &o->sorted[from], (old - from) * sizeof(struct written *));
        old = from;
        o->sorted[--at] = fresh[--fresh_count];
    }
    o->sorted_count = o->count;
}

size_t overlay_range(struct overlay *o, struct slice start, struct slice end,
                     struct written *const **out)
{
    sort_new(o);
    size_t low = sorted_seek(o, o->sorted_count, start);
    size_t high = sorted_seek(o, o->sorted_count, end);
    *out = o->sorted_count > 0 ? o->sorted + low : NULL;
    return high > low ? high - low : 0;
}

void overlay_entry(const struct overlay *o, const struct written *w, struct entry *out)
{
    *out = (struct entry){
        .exists = w->exists, .version = o->version, .value = w->value, .expiry_ms = w->expiry_ms};
    if (out->exists && engine_is_expired(out, o->now_ms)) out->exists = false;
}

void overlay_write_set(struct overlay *o, struct write_set *ws)
{
    ws->is_exempt = o->is_exempt;
    for (uint32_t i = 0; sparse_next(&o->flushed, &i) != NULL; i++) {
        uint8_t *head = arena_alloc(o->arena, KEY_HEAD_BYTES);
        key_head_write(head, (uint16_t)i, 0);
        write_set_add(ws, MUTATION_FLUSH, slice_of(head, KEY_HEAD_BYTES), slice_of(NULL, 0), 0);
    }
    for (const struct forgotten *f = o->forgotten; f != NULL; f = f->next) {
        write_set_add(ws, MUTATION_FORGET, f->start, f->end, 0);
    }
    for (size_t i = 0; i < o->count; i++) {
        const struct written *w = o->items[i];
        if (w->is_flushed || w->is_void) continue;
        write_set_add(ws, w->exists ? MUTATION_SET : MUTATION_DELETE, w->key, w->value,
                      w->expiry_ms);
        ws->items[ws->count - 1].cause = w->cause;
    }
}
