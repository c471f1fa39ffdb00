#include "base/htab.h"

#include <xxhash.h>

#include "base/err.h"
#include "base/mem.h"

#define SLOTS_MIN 64

uint64_t hash_bytes(struct slice s)
{
    return XXH3_64bits(s.data, s.len);
}

void htab_init(struct htab *h)
{
    *h = (struct htab){0};
}

void htab_fini(struct htab *h)
{
    mem_free(h->slots);
    *h = (struct htab){0};
}

void htab_reserve(struct htab *h, size_t count)
{
    INVARIANT(h->slots == NULL);
    size_t slots = SLOTS_MIN;
    while ((count + 1) * 4 > slots * 3) slots *= 2;
    h->slots = mem_new(slots * sizeof *h->slots);
    h->mask = slots - 1;
}

void *htab_find(const struct htab *h, uint64_t hash, struct slice key)
{
    if (h->slots == NULL) return NULL;
    for (size_t i = hash & h->mask;; i = (i + 1) & h->mask) {
        const struct htab_slot *s = &h->slots[i];
        if (s->item == NULL) return NULL;
        if (s->hash != hash) continue;
        /* Very likely it: what is after its first cache line is needed next, so ask for all at
         * once instead of missing them one after the other. */
        __builtin_prefetch((const char *)s->item + 64);
        __builtin_prefetch((const char *)s->item + 128);
        if (slice_eq(*s->item, key)) return s->item;
    }
}

void htab_prefetch(const struct htab *h, uint64_t hash)
{
    if (h->slots != NULL) __builtin_prefetch(&h->slots[hash & h->mask]);
}

static void slot_put(struct htab *h, uint64_t hash, struct slice *item)
{
    size_t i = hash & h->mask;
    while (h->slots[i].item != NULL) i = (i + 1) & h->mask;
    h->slots[i] = (struct htab_slot){.hash = hash, .item = item};
}

static void htab_grow(struct htab *h)
{
    struct htab old = *h;
    size_t slots = old.slots == NULL ? SLOTS_MIN : (old.mask + 1) * 2;
    h->slots = mem_new(slots * sizeof *h->slots);
    h->mask = slots - 1;
    for (size_t i = 0; old.slots != NULL && i <= old.mask; i++) {
        if (old.slots[i].item != NULL) slot_put(h, old.slots[i].hash, old.slots[i].item);
    }
    mem_free(old.slots);
}

void htab_insert(struct htab *h, uint64_t hash, struct slice *item)
{
    if (h->slots == NULL || (h->count + 1) * 4 > (h->mask + 1) * 3) htab_grow(h);
    slot_put(h, hash, item);
    h->count++;
}

/* Deleting without tombstones: close the gap by moving back every later item of the same run that
 * would not be found from its home slot if the gap stayed (Knuth 6.4, algorithm R). */
void htab_remove(struct htab *h, uint64_t hash, const struct slice *item)
{
    INVARIANT(h->slots != NULL);
    size_t gap = hash & h->mask;
    while (h->slots[gap].item != item) {
        INVARIANT(h->slots[gap].item != NULL);
        gap = (gap + 1) & h->mask;
    }
    for (size_t i = (gap + 1) & h->mask; h->slots[i].item != NULL; i = (i + 1) & h->mask) {
        size_t home = h->slots[i].hash & h->mask;
        bool stays = gap <= i ? (gap < home && home <= i) : (gap < home || home <= i);
        if (stays) continue;
        h->slots[gap] = h->slots[i];
        gap = i;
    }
    h->slots[gap].item = NULL;
    h->count--;
}

size_t htab_bytes(const struct htab *h)
{
    return h->slots == NULL ? 0 : (h->mask + 1) * sizeof *h->slots;
}
