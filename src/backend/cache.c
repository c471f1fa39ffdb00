/* cache: the hand goes down the slots of the table: an entry that was used since it last came by is
 * passed over once, others go. Evicted entries are freed at the end of the turn, as readers may
 * hold their values, and one call evicts a bounded number, so that no turn is long. */
#include "backend/cache.h"

#include <stdlib.h>

#include "backend/store.h"
#include "base/mem.h"

/* In one go: neither a smaller cache-size nor a cache of which everything was read since the hand
 * came by must stop the loop. As many more as make room for what comes in: no entry is smaller than
 * ENTRY_BYTES_MIN, and of a table that has had only such ones and now has a few large ones, the
 * slots of so many bytes are ROOM_SLOTS for each, as it is twice as large as need be, has another
 * table next to it while it grows, and the hand may have to come by twice. */
#define EVICTIONS_MAX 4096
#define LOOKS_MAX 32768 /* at slots */
#define ENTRY_BYTES_MIN 64
#define ROOM_SLOTS 8
#define SWEEP_LOOKS 512 /* in one turn: some 20 us, for the entries are all over memory */
/* Those of one sweep; the rows of others are left to the hand. */
#define SWEEP_RANGES_MAX 4096
#define RANGES_ARENA_BYTES 1024
#define DYING_ARENA_BYTES 1024

static size_t entry_bytes(const struct cache_entry *entry)
{
    /* What the allocator and the table add is part of the bound. */
    return offsetof(struct cache_entry, bytes) + cache_key_at(entry) + entry->key_len +
           entry->value_len + 48;
}

void cache_init(struct cache *c, size_t bytes_max)
{
    *c = (struct cache){.bytes_max = bytes_max};
    htab_init(&c->points);
    arena_init(&c->dying.arena, DYING_ARENA_BYTES);
    arena_init(&c->sweep.now.arena, RANGES_ARENA_BYTES);
    arena_init(&c->sweep.next.arena, RANGES_ARENA_BYTES);
}

static void cache_remove(struct cache *c, uint64_t hash, struct cache_entry *entry)
{
    struct cache_dying *d = &c->dying;
    htab_remove(&c->points, hash, entry);
    c->bytes -= entry_bytes(entry);
    d->items = arena_grow(&d->arena, d->items, d->count, &d->cap, sizeof(struct cache_entry *));
    d->items[d->count++] = entry;
}

static void free_dying(struct cache_dying *d)
{
    if (d->count == 0) return;
    for (size_t i = 0; i < d->count; i++) mem_free(d->items[i]);
    arena_reset(&d->arena);
    d->items = NULL;
    d->count = d->cap = 0;
}

void cache_fini(struct cache *c)
{
    size_t at = 0;
    for (void *entry; (entry = htab_next(&c->points, &at)) != NULL;) mem_free(entry);
    htab_fini(&c->points);
    free_dying(&c->dying);
    arena_fini(&c->dying.arena);
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
    return entry->generation == generation_of(c, cache_key(entry));
}

/* NULL: it is not there. */
static struct cache_entry *cache_find(const struct cache *c, uint64_t hash, struct slice key)
{
    size_t at = 0;
    struct cache_entry *entry;
    while ((entry = htab_same(&c->points, hash, &at)) != NULL) {
        if (slice_eq(cache_key(entry), key)) break;
    }
    return entry;
}

const struct cache_entry *cache_get(struct cache *c, uint64_t hash, struct slice key)
{
    struct cache_entry *entry = cache_find(c, hash, key);
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
    const struct cache_entry *entry = cache_find(c, hash, key);
    return entry != NULL && is_current(c, entry) ? entry : NULL;
}

/* After so many bytes came in. */
static void cache_evict(struct cache *c, size_t bytes)
{
    size_t more = bytes / ENTRY_BYTES_MIN;
    size_t slots = htab_slots(&c->points);
    size_t looks = LOOKS_MAX + ROOM_SLOTS * more;
    size_t left = EVICTIONS_MAX + more;
    for (; c->bytes > c->bytes_max && c->points.count > 0 && looks > 0 && left > 0; looks--) {
        uint64_t hash;
        if (c->hand == 0 || c->hand > slots) c->hand = slots;
        struct cache_entry *entry = htab_item(&c->points, --c->hand, &hash);
        if (entry == NULL) continue;
        if (entry->is_used && is_current(c, entry)) {
            entry->is_used = false;
            continue;
        }
        cache_remove(c, hash, entry);
        left--;
    }
}

void cache_turn_end(struct cache *c)
{
    cache_evict(c, 0);
    free_dying(&c->dying);
}

void cache_resize(struct cache *c, size_t bytes_max)
{
    c->bytes_max = bytes_max;
}

const struct cache_entry *cache_put(struct cache *c, uint64_t hash, struct slice key,
                                    const struct entry *value)
{
    struct cache_entry *old = cache_find(c, hash, key);
    if (old != NULL) cache_remove(c, hash, old);
    size_t key_at = value->expiry_ms == 0 ? 0 : sizeof value->expiry_ms;
    size_t bytes = key_at + key.len + value->value.len;
    INVARIANT(key.len <= UINT32_MAX && value->value.len <= UINT32_MAX);
    struct cache_entry *entry = mem_alloc(offsetof(struct cache_entry, bytes) + bytes);
    *entry = (struct cache_entry){
        .version = value->version,
        .key_len = (uint32_t)key.len,
        .value_len = (uint32_t)value->value.len,
        .generation = generation_of(c, key),
        .exists = value->exists,
        .expires = key_at > 0,
    };
    bytes_copy(entry->bytes, &value->expiry_ms, key_at);
    bytes_copy(entry->bytes + key_at, key.data, key.len);
    bytes_copy(entry->bytes + key_at + key.len, value->value.data, value->value.len);
    htab_insert(&c->points, hash, entry);
    c->bytes += entry_bytes(entry);
    cache_evict(c, entry_bytes(entry));
    return entry;
}

/* A key of user data may be there again soon, as a lock is; a message, or an element of a list, has
 * a key that no other ever has. */
static bool is_asked_again(const struct cache_entry *entry)
{
    return entry->is_used && key_space(cache_key(entry)) == STORE_SPACE_COUNTED;
}

void cache_refresh(struct cache *c, uint64_t hash, struct slice key, const struct entry *value)
{
    struct cache_entry *old = cache_find(c, hash, key);
    bool has_room = c->bytes + key.len + value->value.len + 256 < c->bytes_max;
    if (value->exists ? old != NULL || has_room : old != NULL && is_asked_again(old)) {
        (void)cache_put(c, hash, key, value);
    } else if (old != NULL) {
        cache_remove(c, hash, old);
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
static void sweep_begin(struct cache_sweep *s)
{
    struct cache_ranges done = s->now;
    s->now = s->next;
    s->next = done;
    arena_reset(&s->next.arena);
    s->next.items = NULL;
    s->next.count = s->next.cap = 0;
    if (s->now.count > 0) qsort(s->now.items, s->now.count, sizeof *s->now.items, compare_ranges);
    s->is_wanted = false;
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
    struct slice key = cache_key(entry);
    return !is_current(c, entry) ||
           (key_space(key) != STORE_SPACE_COUNTED && is_in(&c->sweep.now, key));
}

/* From the end down to that slot. */
static void sweep_from_end(struct cache *c, size_t until)
{
    struct cache_sweep *s = &c->sweep;
    s->slots = s->left = htab_slots(&c->points);
    s->until = until;
    (void)htab_around(&c->points);
}

bool cache_sweep(struct cache *c)
{
    struct cache_sweep *s = &c->sweep;
    bool begins = s->left == 0;
    if (begins && !s->is_wanted) return false;
    if (begins) sweep_begin(s);
    if (begins || s->slots != htab_slots(&c->points)) sweep_from_end(c, 0);
    for (size_t looks = 0; looks < SWEEP_LOOKS && s->left > s->until; looks++) {
        uint64_t hash;
        struct cache_entry *entry = htab_item(&c->points, --s->left, &hash);
        if (entry == NULL || !is_garbage(c, entry)) continue;
        s->bytes += entry_bytes(entry);
        cache_remove(c, hash, entry);
    }
    if (s->left == s->until) {
        size_t around = htab_around(&c->points);
        s->left = 0;
        if (around < s->slots) sweep_from_end(c, around);
    }
    return s->left > 0 || s->is_wanted;
}
