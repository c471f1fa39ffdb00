/* hash_bag: see hash_bag.h. A hash that is removed is followed by those that probing put behind it:
 * they move up, so that no mark of what was there is needed (Knuth, The Art of Computer
 * Programming, vol. 3, 6.4, algorithm R). */
#include "base/hash_bag.h"

#include "base/err.h"
#include "base/mem.h"

#define SLOTS_MIN 16

/* 0 means free. */
static uint64_t stored(uint64_t hash)
{
    return hash == 0 ? 1 : hash;
}

void hash_bag_fini(struct hash_bag *b)
{
    mem_free(b->slots);
    *b = (struct hash_bag){0};
}

static void insert(struct hash_bag *b, uint64_t hash)
{
    size_t i = hash & b->mask;
    while (b->slots[i] != 0) i = (i + 1) & b->mask;
    b->slots[i] = hash;
}

static void resize(struct hash_bag *b, size_t slots)
{
    struct hash_bag old = *b;
    b->slots = mem_alloc(slots * sizeof *b->slots);
    memset(b->slots, 0, slots * sizeof *b->slots);
    b->mask = slots - 1;
    for (size_t i = 0; old.slots != NULL && i <= old.mask; i++) {
        if (old.slots[i] != 0) insert(b, old.slots[i]);
    }
    mem_free(old.slots);
}

void hash_bag_add(struct hash_bag *b, uint64_t hash)
{
    if (b->slots == NULL) {
        resize(b, SLOTS_MIN);
    } else if ((b->count + 1) * 3 > (b->mask + 1) * 2) {
        resize(b, (b->mask + 1) * 2);
    }
    insert(b, stored(hash));
    b->count++;
}

/* The slot of the hash; false: it is not there. */
static bool find(const struct hash_bag *b, uint64_t hash, size_t *out)
{
    if (b->count == 0) return false;
    for (size_t i = hash & b->mask; b->slots[i] != 0; i = (i + 1) & b->mask) {
        *out = i;
        if (b->slots[i] == hash) return true;
    }
    return false;
}

bool hash_bag_has(const struct hash_bag *b, uint64_t hash)
{
    size_t at = 0;
    return find(b, stored(hash), &at);
}

void hash_bag_remove(struct hash_bag *b, uint64_t hash)
{
    size_t hole = 0;
    if (!find(b, stored(hash), &hole)) return;
    for (size_t i = (hole + 1) & b->mask; b->slots[i] != 0; i = (i + 1) & b->mask) {
        size_t home = b->slots[i] & b->mask;
        /* It may stay unless its home is at or before the hole, as the probe goes. */
        if (((i - home) & b->mask) < ((i - hole) & b->mask)) continue;
        b->slots[hole] = b->slots[i];
        hole = i;
    }
    b->slots[hole] = 0;
    b->count--;
    INVARIANT(b->slots[hole] == 0);
    if (b->count == 0) {
        hash_bag_fini(b);
    } else if (b->mask + 1 > SLOTS_MIN && b->count * 6 < b->mask + 1) {
        resize(b, (b->mask + 1) / 2);
    }
}

size_t hash_bag_bytes(const struct hash_bag *b)
{
    return b->slots == NULL ? 0 : (b->mask + 1) * sizeof *b->slots;
}
