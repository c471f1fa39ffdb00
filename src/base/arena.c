/* arena: a list of chunks. Small requests come from the newest one; a large one gets a chunk of its
 * own behind it, so that the rest of the newest stays in use. */
#include "base/arena.h"

#include "base/err.h"
#include "base/mem.h"

#define GROW_LEAST 8 /* items that a list has room for at first */

struct arena_chunk {
    struct arena_chunk *next;
    size_t bytes; /* of data[] */
    uint8_t data[];
};

void arena_init(struct arena *a, size_t chunk_bytes)
{
    *a = (struct arena){.chunk_bytes = chunk_bytes};
}

void arena_fini(struct arena *a)
{
    struct arena_chunk *c = a->chunks;
    while (c != NULL) {
        struct arena_chunk *next = c->next;
        mem_free(c);
        c = next;
    }
    *a = (struct arena){.chunk_bytes = a->chunk_bytes};
}

void arena_reset(struct arena *a)
{
    struct arena_chunk *keep = NULL;
    struct arena_chunk *c = a->chunks;
    while (c != NULL) {
        struct arena_chunk *next = c->next;
        if (keep == NULL && c->bytes == a->chunk_bytes) {
            keep = c;
        } else {
            mem_free(c);
        }
        c = next;
    }
    a->chunks = keep;
    a->used_bytes = 0;
    a->held_bytes = 0;
    a->at = a->end = NULL;
    if (keep == NULL) return;
    keep->next = NULL;
    a->at = keep->data;
    a->end = keep->data + keep->bytes;
    a->held_bytes = keep->bytes;
}

/* A request larger than a quarter of a chunk gets a chunk of its own, after the current one, so
 * that the rest of the current one is not wasted. */
void *arena_alloc_try(struct arena *a, size_t bytes)
{
    size_t n = 0;
    if (__builtin_add_overflow(bytes + (bytes == 0), (size_t)7, &n)) return NULL;
    n &= ~(size_t)7;
    if ((size_t)(a->end - a->at) >= n) return arena_alloc(a, n);
    bool is_own = n > a->chunk_bytes / 4;
    size_t size = is_own ? n : a->chunk_bytes;
    size_t total = 0;
    if (__builtin_add_overflow(size, sizeof(struct arena_chunk), &total)) return NULL;
    struct arena_chunk *c = mem_alloc_try(total);
    if (c == NULL) return NULL;
    c->bytes = size;
    a->held_bytes += size;
    a->used_bytes += n;
    if (is_own && a->chunks != NULL) {
        c->next = a->chunks->next;
        a->chunks->next = c;
        return c->data;
    }
    c->next = a->chunks;
    a->chunks = c;
    a->at = c->data + n;
    a->end = c->data + size;
    return c->data;
}

void *arena_alloc_slow(struct arena *a, size_t bytes)
{
    void *p = arena_alloc_try(a, bytes);
    if (p == NULL) die("out of memory allocating %zu bytes", bytes);
    return p;
}

void *arena_grow_slow(struct arena *a, const void *items, size_t count, size_t *cap,
                      size_t item_bytes)
{
    size_t more = *cap == 0 ? GROW_LEAST : *cap * 2;
    void *p = arena_alloc(a, more * item_bytes);
    if (count > 0) memcpy(p, items, count * item_bytes);
    *cap = more;
    return p;
}

struct slice arena_copy(struct arena *a, struct slice s)
{
    uint8_t *p = arena_alloc(a, s.len > 0 ? s.len : 1);
    if (s.len > 0) memcpy(p, s.data, s.len);
    return slice_of(p, s.len);
}
