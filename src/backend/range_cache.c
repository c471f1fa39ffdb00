/* range_cache: a few places that are looked through one by one. Chunks are counted by reference, as
 * scans go on walking one that was dropped. */
#include "backend/range_cache.h"

#include "base/mem.h"

struct shared_chunk *shared_chunk_new(void)
{
    struct shared_chunk *c = mem_new(sizeof *c);
    store_chunk_init(&c->chunk);
    c->refs = 1;
    return c;
}

void shared_chunk_unref(struct shared_chunk *c)
{
    if (c == NULL) return;
    INVARIANT(c->refs > 0);
    if (--c->refs > 0) return;
    store_chunk_fini(&c->chunk);
    mem_free(c);
}

void range_cache_init(struct range_cache *rc, size_t bytes_max)
{
    *rc = (struct range_cache){.bytes_max = bytes_max};
}

static size_t entry_bytes(const struct range_entry *entry)
{
    return entry->shared->chunk.arena.held_bytes;
}

static void entry_drop(struct range_cache *rc, struct range_entry *entry)
{
    if (entry->shared == NULL) return;
    rc->bytes -= entry_bytes(entry);
    shared_chunk_unref(entry->shared);
    entry->shared = NULL;
}

void range_cache_forget(struct range_cache *rc)
{
    for (size_t i = 0; i < RANGE_CACHE_CHUNKS; i++) entry_drop(rc, &rc->entries[i]);
}

void range_cache_fini(struct range_cache *rc)
{
    range_cache_forget(rc);
    for (size_t i = 0; i < RANGE_CACHE_CHUNKS; i++) {
        buf_fini(&rc->entries[i].start);
        buf_fini(&rc->entries[i].end);
    }
}

struct shared_chunk *range_cache_get(struct range_cache *rc, const struct store_fetch *f)
{
    for (size_t i = 0; i < RANGE_CACHE_CHUNKS; i++) {
        struct range_entry *entry = &rc->entries[i];
        if (entry->shared == NULL || entry->rows_max != f->rows_max ||
            entry->is_reverse != f->is_reverse || entry->with_values != f->with_values ||
            !slice_eq(buf_slice(&entry->start), f->start) ||
            !slice_eq(buf_slice(&entry->end), f->end)) {
            continue;
        }
        entry->used = ++rc->uses;
        entry->shared->refs++;
        return entry->shared;
    }
    return NULL;
}

/* A free place, or the one used longest ago. */
static struct range_entry *oldest(struct range_cache *rc)
{
    struct range_entry *found = &rc->entries[0];
    for (size_t i = 0; i < RANGE_CACHE_CHUNKS; i++) {
        struct range_entry *entry = &rc->entries[i];
        if (entry->shared == NULL) return entry;
        if (entry->used < found->used) found = entry;
    }
    return found;
}

/* Too much: the oldest go, the newest last. */
static void shrink(struct range_cache *rc)
{
    while (rc->bytes > rc->bytes_max) {
        struct range_entry *first = NULL;
        for (size_t i = 0; i < RANGE_CACHE_CHUNKS; i++) {
            struct range_entry *other = &rc->entries[i];
            if (other->shared == NULL) continue;
            if (first == NULL || other->used < first->used) first = other;
        }
        if (first == NULL) return;
        entry_drop(rc, first);
    }
}

void range_cache_put(struct range_cache *rc, const struct store_fetch *f, struct shared_chunk *c)
{
    if (c->chunk.arena.held_bytes > rc->bytes_max / 4) return;
    struct range_entry *entry = oldest(rc);
    entry_drop(rc, entry);
    buf_clear(&entry->start, SIZE_MAX);
    buf_clear(&entry->end, SIZE_MAX);
    buf_append(&entry->start, f->start.data, f->start.len);
    buf_append(&entry->end, f->end.data, f->end.len);
    if (entry->start.is_failed || entry->end.is_failed) return;
    entry->is_reverse = f->is_reverse;
    entry->with_values = f->with_values;
    entry->rows_max = f->rows_max;
    entry->used = ++rc->uses;
    entry->shared = c;
    c->refs++;
    rc->bytes += entry_bytes(entry);
    shrink(rc);
}

void range_cache_resize(struct range_cache *rc, size_t bytes_max)
{
    rc->bytes_max = bytes_max;
    shrink(rc);
}
