/* cache: the CLOCK hand goes over a ring: an entry that was used since it last came by is passed
 * over once, others go. Evicted entries are freed at the end of the turn, as readers may hold their
 * values, and one call evicts a bounded number, so that no turn is long. */
#include "backend/cache.h"

#include <stdlib.h>

#include "backend/store.h"
#include "base/list.h"
#include "base/mem.h"

/* In one go: neither a smaller cache-size nor a cache of which everything was read since the hand
 * came by must stop the loop. As many more as make room for what comes in: no entry is smaller than
 * ENTRY_BYTES_MIN. */
#define EVICTIONS_MAX 4096
#define LOOKS_MAX 16384
#define ENTRY_BYTES_MIN 64
#define SWEEP_LOOKS 256 /* in one turn: some 20 us, for they are all over memory */
/* Those of one sweep; the rows of others are left to the hand. */
#define SWEEP_RANGES_MAX 4096
#define RANGES_ARENA_BYTES 1024

static size_t entry_bytes(const struct cache_entry *entry)
{
    /* What the allocator and the table add is part of the bound. */
    return sizeof *entry + entry->key.len + entry->value_len + 48;
}

void cache_init(struct cache *c, size_t bytes_max)
{
    *c = (struct cache){.bytes_max = bytes_max};
    htab_init(&c->points);
    arena_init(&c->sweep.now.arena, RANGES_ARENA_BYTES);
    arena_init(&c->sweep.next.arena, RANGES_ARENA_BYTES);
}

static void cache_remove(struct cache *c, struct cache_entry *entry)
{
    htab_remove(&c->points, entry->hash, &entry->key);
    c->bytes -= entry_bytes(entry);
    if (entry->next == entry) {
        c->hand = c->sweep.at = NULL;
        c->sweep.left = 0;
    } else {
        if (c->sweep.at == entry) c->sweep.at = entry->next;
        RING_UNLINK(entry, next, prev);
        if (c->hand == entry) c->hand = entry->next;
    }
    entry->next = c->dying;
    c->dying = entry;
}

static void free_dying(struct cache *c)
{
    while (c->dying != NULL) {
        struct cache_entry *next = c->dying->next;
        mem_free(c->dying);
        c->dying = next;
    }
}

void cache_fini(struct cache *c)
{
    while (c->hand != NULL) cache_remove(c, c->hand);
    free_dying(c);
    htab_fini(&c->points);
    arena_fini(&c->sweep.now.arena);
    arena_fini(&c->sweep.next.arena);
    uint32_t *generation;
    for (uint32_t i = 0; (generation = sparse_next(&c->generations, &i)) != NULL; i++) {
        mem_free(generation);
    }
    sparse_fini(&c->generations);
}

static uint32_t generation_of(const struct cache *c, struct slice key)
{
    const uint32_t *generation = sparse_get(&c->generations, key_database(key));
    return generation == NULL ? 0 : *generation;
}

static bool is_current(const struct cache *c, const struct cache_entry *entry)
{
    return entry->generation == generation_of(c, entry->key);
}

const struct cache_entry *cache_get(struct cache *c, uint64_t hash, struct slice key)
{
    struct cache_entry *entry = htab_find(&c->points, hash, key);
    if (entry == NULL || !is_current(c, entry)) {
        c->misses++;
        return NULL;
    }
    c->hits++;
    entry->is_used = true;
    return entry;
}

const struct cache_entry *cache_peek(const struct cache *c, uint64_t hash, struct slice key)
{
    const struct cache_entry *entry = htab_find(&c->points, hash, key);
    return entry != NULL && is_current(c, entry) ? entry : NULL;
}

/* After so many bytes came in. */
static void cache_evict(struct cache *c, size_t bytes)
{
    size_t more = bytes / ENTRY_BYTES_MIN;
    size_t evicted = 0;
    for (size_t looks = 0; looks < LOOKS_MAX + more && evicted < EVICTIONS_MAX + more; looks++) {
        struct cache_entry *entry = c->hand;
        if (c->bytes <= c->bytes_max || entry == NULL) return;
        if (entry->is_used && is_current(c, entry)) {
            entry->is_used = false;
            c->hand = entry->next;
            continue;
        }
        cache_remove(c, entry);
        evicted++;
    }
}

void cache_turn_end(struct cache *c)
{
    cache_evict(c, 0);
    free_dying(c);
}

void cache_resize(struct cache *c, size_t bytes_max)
{
    c->bytes_max = bytes_max;
}

const struct cache_entry *cache_put(struct cache *c, uint64_t hash, struct slice key,
                                    const struct entry *value)
{
    struct cache_entry *old = htab_find(&c->points, hash, key);
    if (old != NULL) cache_remove(c, old);
    struct cache_entry *entry = mem_alloc(sizeof *entry + key.len + value->value.len);
    *entry = (struct cache_entry){
        .hash = hash,
        .version = value->version,
        .expiry_ms = value->expiry_ms,
        .value_len = value->value.len,
        .exists = value->exists,
        .generation = generation_of(c, key),
    };
    memcpy(entry->bytes, key.data, key.len);
    if (value->value.len > 0) memcpy(entry->bytes + key.len, value->value.data, value->value.len);
    entry->key = slice_of(entry->bytes, key.len);
    RING_ADD(c->hand, entry, next, prev); /* the last that the hand will reach */
    htab_insert(&c->points, hash, &entry->key);
    c->bytes += entry_bytes(entry);
    cache_evict(c, entry_bytes(entry));
    return entry;
}

/* A key of user data may be there again soon, as a lock is; a message, or an element of a list, has
 * a key that no other ever has. */
static bool is_asked_again(const struct cache_entry *entry)
{
    return entry->is_used && key_space(entry->key) == STORE_SPACE_COUNTED;
}

void cache_refresh(struct cache *c, uint64_t hash, struct slice key, const struct entry *value)
{
    struct cache_entry *old = htab_find(&c->points, hash, key);
    bool has_room = c->bytes + key.len + value->value.len + 256 < c->bytes_max;
    if (value->exists ? old != NULL || has_room : old != NULL && is_asked_again(old)) {
        (void)cache_put(c, hash, key, value);
    } else if (old != NULL) {
        cache_remove(c, old);
    }
}

void cache_forget_database(struct cache *c, uint16_t database)
{
    uint32_t **at = (uint32_t **)sparse_slot(&c->generations, database);
    if (*at == NULL) *at = mem_new(sizeof **at);
    ++**at;
    c->sweep.is_wanted = true;
}

/* ---- the sweep ---- */

void cache_forget_range(struct cache *c, struct slice start, struct slice end)
{
    struct cache_ranges *r = &c->sweep.next;
    if (r->count == SWEEP_RANGES_MAX) return;
    r->items = arena_grow(&r->arena, r->items, r->count, &r->cap, sizeof *r->items);
    r->items[r->count++] = (struct cache_range){.start = arena_copy(&r->arena, start),
                                                .end = arena_copy(&r->arena, end)};
    c->sweep.is_wanted = true;
}

static int compare_ranges(const void *a, const void *b)
{
    return slice_cmp(((const struct cache_range *)a)->start,
                     ((const struct cache_range *)b)->start);
}

/* What came since the last one began is what this one is about. */
static void sweep_begin(struct cache_sweep *s, struct cache_entry *hand, size_t entries)
{
    struct cache_ranges done = s->now;
    s->now = s->next;
    s->next = done;
    arena_reset(&s->next.arena);
    s->next.items = NULL;
    s->next.count = s->next.cap = 0;
    if (s->now.count > 0) qsort(s->now.items, s->now.count, sizeof *s->now.items, compare_ranges);
    s->is_wanted = false;
    s->at = hand;
    s->left = entries;
}

/* The last range that begins at the key or before it has the key, or none has: they are of the rows
 * of one thing each. */
static bool is_in(const struct cache_ranges *r, struct slice key)
{
    size_t low = 0;
    size_t high = r->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (slice_cmp(r->items[middle].start, key) <= 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low > 0 && slice_cmp(key, r->items[low - 1].end) < 0;
}

static bool is_garbage(const struct cache *c, const struct cache_entry *entry)
{
    return !is_current(c, entry) ||
           (key_space(entry->key) != STORE_SPACE_COUNTED && is_in(&c->sweep.now, entry->key));
}

bool cache_sweep(struct cache *c)
{
    struct cache_sweep *s = &c->sweep;
    if (s->left == 0 && !s->is_wanted) return false;
    if (s->left == 0) sweep_begin(s, c->hand, c->points.count);
    for (size_t looks = 0; looks < SWEEP_LOOKS && s->left > 0; looks++) {
        struct cache_entry *entry = s->at;
        s->left--;
        s->at = entry->next;
        if (!is_garbage(c, entry)) continue;
        s->bytes += entry_bytes(entry);
        cache_remove(c, entry);
    }
    return s->left > 0 || s->is_wanted;
}
