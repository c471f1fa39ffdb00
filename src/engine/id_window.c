/* id_window: see id_window.h. A hash table and a list by time for each database. */
#include "engine/id_window.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/mem.h"

static void list_unlink(struct id_list *l, struct id_entry *x)
{
    LIST_UNLINK(l->first, l->last, x, next, prev);
}

static void list_append(struct id_list *l, struct id_entry *x)
{
    LIST_APPEND(l->first, l->last, x, next, prev);
}

void id_window_init(struct id_window *w)
{
    *w = (struct id_window){0};
}

void id_window_fini(struct id_window *w)
{
    for (uint32_t i = 0; id_window_next(w, &i); i++) id_window_forget(w, (uint16_t)i);
    sparse_fini(&w->databases);
    id_window_free_dropped(w, UINT32_MAX);
}

bool id_window_next(const struct id_window *w, uint32_t *at)
{
    return sparse_next(&w->databases, at) != NULL;
}

const struct id_entry *id_window_find(const struct id_window *w, struct slice key)
{
    const struct id_list *l = sparse_get(&w->databases, key_database(key));
    return l == NULL ? NULL : htab_find(&l->table, hash_bytes(key), key);
}

bool id_window_counts(const struct id_entry *x, int64_t now_ms, int64_t window_ms)
{
    return now_ms - x->time_ms < window_ms || clock_mono_us() / 1000 - x->put_ms < window_ms;
}

const struct id_entry *id_window_oldest(const struct id_window *w, uint16_t database)
{
    const struct id_list *l = sparse_get(&w->databases, database);
    return l == NULL ? NULL : l->first;
}

static void list_free(struct id_window *w, uint16_t database)
{
    void **at = sparse_slot(&w->databases, database);
    struct id_list *l = *at;
    *at = NULL;
    htab_fini(&l->table);
    mem_free(l);
}

static void put(struct id_window *w, struct slice key, int64_t time_ms, int64_t put_ms)
{
    struct id_list **at = (struct id_list **)sparse_slot(&w->databases, key_database(key));
    struct id_list *l = *at;
    if (l == NULL) {
        l = *at = mem_new(sizeof *l);
        htab_init(&l->table);
    }
    uint64_t hash = hash_bytes(key);
    struct id_entry *x = htab_find(&l->table, hash, key);
    if (x == NULL) {
        x = mem_alloc(sizeof *x + key.len);
        memcpy(x + 1, key.data, key.len);
        x->key = slice_of(x + 1, key.len);
        x->hash = hash;
        htab_insert(&l->table, hash, &x->key);
        w->count++;
    } else {
        list_unlink(l, x); /* its time was over, its row not yet deleted, used again */
    }
    x->time_ms = time_ms;
    x->put_ms = put_ms;
    list_append(l, x);
}

void id_window_put(struct id_window *w, struct slice key, int64_t time_ms)
{
    put(w, key, time_ms, clock_mono_us() / 1000);
}

void id_window_read(struct id_window *w, struct slice key, int64_t time_ms, bool is_anew)
{
    put(w, key, time_ms, is_anew ? clock_mono_us() / 1000 : INT64_MIN / 2);
}

void id_window_remove(struct id_window *w, struct slice key)
{
    struct id_list *l = sparse_get(&w->databases, key_database(key));
    struct id_entry *x = l == NULL ? NULL : htab_find(&l->table, hash_bytes(key), key);
    if (x == NULL) return;
    uint16_t database = key_database(key); /* the key may be the entry's own */
    htab_remove(&l->table, x->hash, &x->key);
    list_unlink(l, x);
    mem_free(x);
    w->count--;
    if (l->table.count == 0) list_free(w, database);
}

static int compare_time(const void *a, const void *b)
{
    const struct id_entry *const *x = (const struct id_entry *const *)a;
    const struct id_entry *const *y = (const struct id_entry *const *)b;
    return ((*x)->time_ms > (*y)->time_ms) - ((*x)->time_ms < (*y)->time_ms);
}

void id_window_sort(struct id_window *w, uint16_t database)
{
    struct id_list *l = sparse_get(&w->databases, database);
    size_t count = 0;
    if (l == NULL || l->table.count < 2) return;
    struct id_entry **all = mem_alloc(l->table.count * sizeof(struct id_entry *));
    for (struct id_entry *x = l->first; x != NULL; x = x->next) all[count++] = x;
    qsort(all, count, sizeof(struct id_entry *), compare_time);
    l->first = l->last = NULL;
    for (size_t i = 0; i < count; i++) list_append(l, all[i]);
    mem_free(all);
}

void id_window_forget(struct id_window *w, uint16_t database)
{
    struct id_list *l = sparse_get(&w->databases, database);
    if (l == NULL) return;
    w->count -= l->table.count;
    if (l->last != NULL) {
        l->last->next = w->dropped;
        w->dropped = l->first;
    }
    list_free(w, database);
}

void id_window_free_dropped(struct id_window *w, unsigned max)
{
    while (w->dropped != NULL && max-- > 0) {
        struct id_entry *next = w->dropped->next;
        mem_free(w->dropped);
        w->dropped = next;
    }
}
