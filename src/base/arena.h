/* arena: memory that dies together: one per request, one per memtable. Allocation is a pointer
 * bump; nothing is freed alone. Invariant: `used_bytes` counts what was handed out, `held_bytes`
 * what the system gave.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include "base/slice.h"

struct arena_chunk;

struct arena {
    struct arena_chunk *chunks; /* newest first; owned */
    uint8_t *at;                /* next free byte of the newest chunk */
    uint8_t *end;               /* its end */
    size_t chunk_bytes;         /* size of a normal chunk */
    size_t used_bytes;
    size_t held_bytes;
};

void arena_init(struct arena *a, size_t chunk_bytes);
void arena_fini(struct arena *a);
/* Forget everything; keeps one normal chunk for the next request. */
void arena_reset(struct arena *a);
void *arena_alloc_slow(struct arena *a, size_t bytes);
/* NULL when there is no memory: for sizes that a client chose. */
void *arena_alloc_try(struct arena *a, size_t bytes);
/* Copy of s that lives as long as the arena. */
struct slice arena_copy(struct arena *a, struct slice s);

void *arena_grow_slow(struct arena *a, const void *items, size_t count, size_t *cap,
                      size_t item_bytes);

/* `bytes` of uninitialised memory aligned to 8; never NULL. */
static inline void *arena_alloc(struct arena *a, size_t bytes)
{
    size_t n = (bytes + (bytes == 0) + 7) & ~(size_t)7;
    if ((size_t)(a->end - a->at) < n) return arena_alloc_slow(a, n);
    void *p = a->at;
    a->at += n;
    a->used_bytes += n;
    return p;
}

/* A list of `count` items of `item_bytes` with room for one more: `items` itself, or a copy of them
 * in twice the room, which *cap then says. What is outgrown stays in the arena. Begin with NULL, 0
 * and 0. */
static inline void *arena_grow(struct arena *a, void *items, size_t count, size_t *cap,
                               size_t item_bytes)
{
    return count < *cap ? items : arena_grow_slow(a, items, count, cap, item_bytes);
}

#endif
