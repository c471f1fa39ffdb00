/* htab: see htab.h. While it grows, a key is in the new table if its home slot in the old one is
 * among those moved, which are counted from a free slot on: so no run is ever in both, and moving
 * always ends at a free slot. */
#include "base/htab.h"

#include "base/err.h"
#include "base/mem.h"

#define SLOTS_MIN 64
#define MOVE_SLOTS 64     /* at least, with each insert */
#define MOVE_AT_ONCE 1024 /* a table of so many slots is not worth two */

void htab_init(struct htab *h)
{
    *h = (struct htab){.around = SIZE_MAX};
}

void htab_fini(struct htab *h)
{
    mem_free(h->table.slots);
    mem_free(h->old.slots);
    *h = (struct htab){0};
}

static struct htab_table table_new(size_t slots)
{
    return (struct htab_table){.slots = mem_new(slots * sizeof(struct htab_slot)),
                               .mask = slots - 1};
}

void htab_reserve(struct htab *h, size_t count)
{
    INVARIANT(h->table.slots == NULL);
    size_t slots = SLOTS_MIN;
    while ((count + 1) * 4 > slots * 3) slots *= 2;
    h->table = table_new(slots);
}

/* That which has the keys of this hash, and gets those that come. */
static const struct htab_table *table_of(const struct htab *h, uint64_t hash)
{
    if (h->old.slots == NULL) return &h->table;
    return ((hash - h->first) & h->old.mask) < h->moved ? &h->table : &h->old;
}

/* What is after the first cache line of an item is needed as soon as that: it is asked for at once,
 * instead of being missed line after line. */
static void fetch_rest(const void *item)
{
    __builtin_prefetch((const char *)item + 64);
    __builtin_prefetch((const char *)item + 128);
}

void *htab_find(const struct htab *h, uint64_t hash, struct slice key)
{
    const struct htab_table *t = table_of(h, hash);
    if (t->slots == NULL) return NULL;
    for (size_t i = hash & t->mask;; i = (i + 1) & t->mask) {
        const struct htab_slot *s = &t->slots[i];
        if (s->item == NULL) return NULL;
        if (s->hash != hash) continue;
        fetch_rest(s->item); /* very likely it */
        if (slice_eq(*(const struct slice *)s->item, key)) return s->item;
    }
}

void *htab_same(const struct htab *h, uint64_t hash, size_t *at)
{
    const struct htab_table *t = table_of(h, hash);
    if (t->slots == NULL) return NULL;
    for (;;) {
        const struct htab_slot *s = &t->slots[(hash + (*at)++) & t->mask];
        if (s->item == NULL) return NULL;
        if (s->hash != hash) continue;
        fetch_rest(s->item);
        return s->item;
    }
}

void htab_prefetch(const struct htab *h, uint64_t hash)
{
    const struct htab_table *t = table_of(h, hash);
    if (t->slots != NULL) __builtin_prefetch(&t->slots[hash & t->mask]);
}

void htab_prefetch_item(const struct htab *h, uint64_t hash)
{
    const struct htab_table *t = table_of(h, hash);
    if (t->slots == NULL) return;
    for (size_t i = hash & t->mask; t->slots[i].item != NULL; i = (i + 1) & t->mask) {
        if (t->slots[i].hash != hash) continue;
        __builtin_prefetch(t->slots[i].item);
        fetch_rest(t->slots[i].item);
        return;
    }
}

static void slot_put(const struct htab_table *t, uint64_t hash, void *item)
{
    size_t i = hash & t->mask;
    while (t->slots[i].item != NULL) i = (i + 1) & t->mask;
    t->slots[i] = (struct htab_slot){.hash = hash, .item = item};
}

/* Moves at least so many slots, up to a free one: a run that began before `first` and has grown
 * beyond it since is moved as a whole, too. */
static void move_slots(struct htab *h, size_t slots)
{
    size_t at = (h->first + h->moved) & h->old.mask;
    size_t end = h->moved + slots;
    while (h->moved < end || h->old.slots[at].item != NULL) {
        struct htab_slot *s = &h->old.slots[at];
        if (s->item != NULL) slot_put(&h->table, s->hash, s->item);
        s->item = NULL;
        at = (at + 1) & h->old.mask;
        h->moved++;
    }
    if (h->moved <= h->old.mask) return;
    mem_free(h->old.slots);
    h->old = (struct htab_table){0};
}

static void htab_grow(struct htab *h)
{
    INVARIANT(h->old.slots == NULL);
    if (h->table.slots == NULL) {
        h->table = table_new(SLOTS_MIN);
        return;
    }
    h->old = h->table;
    h->table = table_new((h->old.mask + 1) * 2);
    h->first = h->moved = 0;
    while (h->old.slots[h->first].item != NULL) h->first++;
    if (h->old.mask < MOVE_AT_ONCE) move_slots(h, h->old.mask + 1);
}

/* An old table has room for what comes while it is moved: that is one item for every MOVE_SLOTS of
 * its slots. */
void htab_insert(struct htab *h, uint64_t hash, void *item)
{
    bool is_full = h->table.slots == NULL || (h->count + 1) * 4 > (h->table.mask + 1) * 3;
    if (is_full) htab_grow(h);
    if (h->old.slots != NULL) move_slots(h, MOVE_SLOTS);
    slot_put(table_of(h, hash), hash, item);
    h->count++;
}

static size_t table_slots(const struct htab_table *t)
{
    return t->slots == NULL ? 0 : t->mask + 1;
}

/* An item with that home slot goes from the beginning of the table to its end. It stays at home or
 * above. */
static void note_around(struct htab *h, const struct htab_table *t, size_t home)
{
    size_t slot = t == &h->old ? table_slots(&h->table) + home : home;
    if (slot < h->around) h->around = slot;
}

/* Deleting without tombstones: close the gap by moving back every later item of the same run that
 * would not be found from its home slot if the gap stayed (Knuth 6.4, algorithm R). */
void htab_remove(struct htab *h, uint64_t hash, const void *item)
{
    const struct htab_table *t = table_of(h, hash);
    INVARIANT(t->slots != NULL);
    size_t gap = hash & t->mask;
    while (t->slots[gap].item != item) {
        INVARIANT(t->slots[gap].item != NULL);
        gap = (gap + 1) & t->mask;
    }
    for (size_t i = (gap + 1) & t->mask; t->slots[i].item != NULL; i = (i + 1) & t->mask) {
        size_t home = t->slots[i].hash & t->mask;
        bool stays = gap <= i ? (gap < home && home <= i) : (gap < home || home <= i);
        if (stays) continue;
        if (i < gap) note_around(h, t, home);
        t->slots[gap] = t->slots[i];
        gap = i;
    }
    t->slots[gap].item = NULL;
    h->count--;
}

size_t htab_slots(const struct htab *h)
{
    return table_slots(&h->table) + table_slots(&h->old);
}

/* The old table comes after the new one: what is moved to that is met there, if not before. */
void *htab_item(const struct htab *h, size_t i, uint64_t *hash)
{
    size_t slots = table_slots(&h->table);
    const struct htab_slot *s = i < slots ? &h->table.slots[i] : &h->old.slots[i - slots];
    if (s->item != NULL) *hash = s->hash;
    return s->item;
}

size_t htab_around(struct htab *h)
{
    size_t slot = h->around;
    h->around = SIZE_MAX;
    return slot;
}

void *htab_next(const struct htab *h, size_t *at)
{
    uint64_t ignored;
    for (size_t slots = htab_slots(h); *at < slots;) {
        void *item = htab_item(h, (*at)++, &ignored);
        if (item != NULL) return item;
    }
    return NULL;
}

size_t htab_bytes(const struct htab *h)
{
    return htab_slots(h) * sizeof(struct htab_slot);
}
