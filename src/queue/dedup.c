/* dedup: the ids given with DEDUP, for as long as their window lasts (as engine/idem.c keeps
 * request ids): rows in a space of their own, and in memory per database in order of time.
 *
 * Invariant: once read, an id is in memory exactly when its row is in the newest state.
 */
#include <stdlib.h>

#include "base/mem.h"

#include "queue/queue_int.h"

#define SWEEP_ROWS 1000

struct dedup_entry {
    struct slice key; /* the row's; first: the table looks here; its bytes follow the struct */
    uint64_t hash;
    int64_t time_ms;
    struct dedup_entry *next, *prev; /* by time */
};

static void list_unlink(struct dedup_database *d, struct dedup_entry *x)
{
    *(x->prev != NULL ? &x->prev->next : &d->first) = x->next;
    *(x->next != NULL ? &x->next->prev : &d->last) = x->prev;
}

static void list_append(struct dedup_database *d, struct dedup_entry *x)
{
    x->next = NULL;
    x->prev = d->last;
    *(d->last != NULL ? &d->last->next : &d->first) = x;
    d->last = x;
}

void dedup_put(struct dedup *d, struct slice key, int64_t time_ms)
{
    struct dedup_database *of = &d->databases[key.data[0]];
    uint64_t hash = hash_bytes(key);
    struct dedup_entry *x = htab_find(&of->ids, hash, key);
    if (x == NULL) {
        x = mem_alloc(sizeof *x + key.len);
        memcpy(x + 1, key.data, key.len);
        x->key = slice_of(x + 1, key.len);
        x->hash = hash;
        htab_insert(&of->ids, hash, &x->key);
        d->count++;
    } else {
        list_unlink(of, x);
    }
    x->time_ms = time_ms;
    list_append(of, x);
}

static int compare_time(const void *a, const void *b)
{
    const struct dedup_entry *const *x = (const struct dedup_entry *const *)a;
    const struct dedup_entry *const *y = (const struct dedup_entry *const *)b;
    return ((*x)->time_ms > (*y)->time_ms) - ((*x)->time_ms < (*y)->time_ms);
}

void dedup_sort(struct dedup *d, uint8_t database)
{
    struct dedup_database *of = &d->databases[database];
    size_t count = 0;
    if (of->ids.count < 2) return;
    struct dedup_entry **all = mem_alloc(of->ids.count * sizeof(struct dedup_entry *));
    for (struct dedup_entry *x = of->first; x != NULL; x = x->next) all[count++] = x;
    qsort(all, count, sizeof(struct dedup_entry *), compare_time);
    of->first = of->last = NULL;
    for (size_t i = 0; i < count; i++) list_append(of, all[i]);
    mem_free(all);
}

void dedup_remove(struct dedup *d, struct slice key)
{
    struct dedup_database *of = &d->databases[key.data[0]];
    struct dedup_entry *x = htab_find(&of->ids, hash_bytes(key), key);
    if (x == NULL) return;
    htab_remove(&of->ids, x->hash, &x->key);
    list_unlink(of, x);
    mem_free(x);
    d->count--;
}

void dedup_forget(struct dedup *d, uint8_t database)
{
    struct dedup_database *of = &d->databases[database];
    d->count -= of->ids.count;
    htab_fini(&of->ids);
    htab_init(&of->ids);
    while (of->first != NULL) {
        struct dedup_entry *next = of->first->next;
        mem_free(of->first);
        of->first = next;
    }
    of->last = NULL;
}

void dedup_init(struct dedup *d)
{
    *d = (struct dedup){0};
    for (unsigned i = 0; i < DATABASES_MAX; i++) htab_init(&d->databases[i].ids);
}

void dedup_fini(struct dedup *d)
{
    for (unsigned i = 0; i < DATABASES_MAX; i++) {
        dedup_forget(d, (uint8_t)i);
        htab_fini(&d->databases[i].ids);
    }
}

enum err dedup_use(struct touch *t, struct slice id, bool *is_repeat, struct error *e)
{
    struct queues *qs = t->queues;
    struct view *v = t->view;
    struct entry own;
    struct slice key = row_key(v->arena, v->database, SPACE_DEDUP, t->name, id);
    int64_t window_ms = qs->options.dedup_window_ms;
    *is_repeat = false;
    if (view_own(v, key, &own)) {
        *is_repeat = own.exists;
    } else {
        const struct dedup_entry *x = htab_find(&qs->dedup.databases[v->database].ids,
                                                hash_bytes(key), key);
        *is_repeat = x != NULL && v->now_ms - x->time_ms < window_ms;
    }
    if (*is_repeat) return OK;
    if (qs->dedup.count >= qs->options.dedup_entries_max) {
        return error_set(e, ERR_TRYAGAIN,
                         "dedup-max-entries (%llu) dedup ids are kept; nothing was done",
                         (unsigned long long)qs->options.dedup_entries_max);
    }
    uint8_t *time = arena_alloc(v->arena, 8);
    put_u64(time, (uint64_t)v->now_ms);
    view_set(v, key, slice_of(time, 8));
    return OK;
}

/* ---- removing what left the window ---- */

struct sweep {
    struct layer_op base;
    struct queues *queues;
    uint8_t database;
};

static enum err sweep_apply(struct layer_op *base, struct view *v, bool *is_met, struct error *e)
{
    struct sweep *s = (struct sweep *)base;
    int64_t end_ms = v->now_ms - s->queues->options.dedup_window_ms;
    const struct dedup_entry *x = s->queues->dedup.databases[s->database].first;
    (void)e;
    for (size_t n = 0; x != NULL && x->time_ms <= end_ms && n < SWEEP_ROWS; n++) {
        view_delete(v, arena_copy(v->arena, x->key));
        x = x->next;
    }
    *is_met = true;
    return OK;
}

void dedup_tick(struct queues *qs, int64_t now_ms)
{
    for (uint8_t i = 0; i < qs->options.databases; i++) {
        const struct dedup_entry *first = qs->dedup.databases[i].first;
        if (first == NULL || now_ms - first->time_ms < qs->options.dedup_window_ms) continue;
        struct sweep s = {.base = {.apply = sweep_apply}, .queues = qs, .database = i};
        struct op op = {.kind = OP_LAYER, .layer = &s.base};
        struct txn t = {.database = i, .ops = &op, .count = 1, .arena = &qs->arena};
        struct error e;
        if (qs->waiter.next != NULL) return;
        enum err r = engine_commit(qs->engine, &t, &qs->waiter, &e);
        /* Not now: the next tick tries again. */
        (void)r;
        arena_reset(&qs->arena);
    }
}
