/* id_window: see id_window.h. A hash table and a list by time for each database. */
#include "engine/id_window.h"

#include <stdlib.h>
#include <string.h>

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
    for (unsigned i = 0; i < DATABASES_MAX; i++) htab_init(&w->databases[i].table);
}

void id_window_fini(struct id_window *w)
{
    for (unsigned i = 0; i < DATABASES_MAX; i++) {
        id_window_forget(w, (uint8_t)i);
        htab_fini(&w->databases[i].table);
    }
    id_window_free_dropped(w, UINT32_MAX);
}

const struct id_entry *id_window_find(const struct id_window *w, struct slice key)
{
    return htab_find(&w->databases[key.data[0]].table, hash_bytes(key), key);
}

const struct id_entry *id_window_oldest(const struct id_window *w, uint8_t database)
{
    return w->databases[database].first;
}

void id_window_put(struct id_window *w, struct slice key, int64_t time_ms)
{
    struct id_list *l = &w->databases[key.data[0]];
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
    list_append(l, x);
}

void id_window_remove(struct id_window *w, struct slice key)
{
    struct id_list *l = &w->databases[key.data[0]];
    struct id_entry *x = htab_find(&l->table, hash_bytes(key), key);
    if (x == NULL) return;
    htab_remove(&l->table, x->hash, &x->key);
    list_unlink(l, x);
    mem_free(x);
    w->count--;
}

static int compare_time(const void *a, const void *b)
{
    const struct id_entry *const *x = (const struct id_entry *const *)a;
    const struct id_entry *const *y = (const struct id_entry *const *)b;
    return ((*x)->time_ms > (*y)->time_ms) - ((*x)->time_ms < (*y)->time_ms);
}

void id_window_sort(struct id_window *w, uint8_t database)
{
    struct id_list *l = &w->databases[database];
    size_t count = 0;
    if (l->table.count < 2) return;
    struct id_entry **all = mem_alloc(l->table.count * sizeof(struct id_entry *));
    for (struct id_entry *x = l->first; x != NULL; x = x->next) all[count++] = x;
    qsort(all, count, sizeof(struct id_entry *), compare_time);
    l->first = l->last = NULL;
    for (size_t i = 0; i < count; i++) list_append(l, all[i]);
    mem_free(all);
}

void id_window_forget(struct id_window *w, uint8_t database)
{
    struct id_list *l = &w->databases[database];
    w->count -= l->table.count;
    htab_fini(&l->table);
    htab_init(&l->table);
    if (l->last != NULL) {
        l->last->next = w->dropped;
        w->dropped = l->first;
    }
    l->first = l->last = NULL;
}

void id_window_free_dropped(struct id_window *w, unsigned max)
{
    while (w->dropped != NULL && max-- > 0) {
        struct id_entry *next = w->dropped->next;
        mem_free(w->dropped);
        w->dropped = next;
    }
}
