/* cache: the CLOCK hand goes over a ring: an entry that was used since it last came by is passed
 * over once, others go. Evicted entries are freed at the end of the turn, as readers may hold their
 * values, and one call evicts a bounded number, so that no turn is long. */
#include "backend/cache.h"

#include "base/list.h"
#include "base/mem.h"

/* In one go: neither a smaller cache-size nor a cache of which everything was read since the hand
 * came by must stop the loop. As many more as make room for what comes in: no entry is smaller than
 * ENTRY_BYTES_MIN. */
#define EVICTIONS_MAX 4096
#define LOOKS_MAX 16384
#define ENTRY_BYTES_MIN 64

static size_t entry_bytes(const struct cache_entry *entry)
{
    /* What the allocator and the table add is part of the bound. */
    return sizeof *entry + entry->key.len + entry->value_len + 48;
}

void cache_init(struct cache *c, size_t bytes_max)
{
    *c = (struct cache){.bytes_max = bytes_max};
    htab_init(&c->points);
}

static void cache_remove(struct cache *c, struct cache_entry *entry)
{
    htab_remove(&c->points, entry->hash, &entry->key);
    c->bytes -= entry_bytes(entry);
    if (entry->next == entry) {
        c->hand = NULL;
    } else {
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

void cache_refresh(struct cache *c, uint64_t hash, struct slice key, const struct entry *value)
{
    bool has_room = c->bytes + key.len + value->value.len + 256 < c->bytes_max;
    if (!has_room && htab_find(&c->points, hash, key) == NULL) return;
    (void)cache_put(c, hash, key, value);
}

void cache_forget_database(struct cache *c, uint16_t database)
{
    uint32_t **at = (uint32_t **)sparse_slot(&c->generations, database);
    if (*at == NULL) *at = mem_new(sizeof **at);
    ++**at;
}
