/* blocks: lists of freed blocks by their class; the first word of each is the next one. */
#include "script/blocks.h"

#include <string.h>

#include "base/mem.h"

static size_t class_of(size_t bytes)
{
    return (bytes - 1) / BLOCKS_CLASS;
}

static size_t size_of(size_t bytes)
{
    return bytes <= BLOCKS_SMALL ? (class_of(bytes) + 1) * BLOCKS_CLASS : bytes;
}

static void *next_of(const void *block)
{
    void *next = NULL;
    memcpy(&next, block, sizeof next);
    return next;
}

static void *take(struct blocks *b, size_t bytes)
{
    void **first = bytes <= BLOCKS_SMALL ? &b->freed[class_of(bytes)] : NULL;
    if (first == NULL || *first == NULL) return mem_alloc_try(size_of(bytes));
    void *block = *first;
    *first = next_of(block);
    b->held -= size_of(bytes);
    return block;
}

void blocks_free(struct blocks *b, void *block, size_t bytes)
{
    if (block == NULL) return;
    if (bytes == 0 || bytes > BLOCKS_SMALL || b->held + size_of(bytes) > BLOCKS_HELD) {
        mem_free(block);
        return;
    }
    void **first = &b->freed[class_of(bytes)];
    memcpy(block, first, sizeof *first);
    *first = block;
    b->held += size_of(bytes);
}

void *blocks_resize(struct blocks *b, void *old, size_t old_bytes, size_t bytes)
{
    if (old == NULL) return take(b, bytes);
    if (old_bytes > BLOCKS_SMALL || bytes > BLOCKS_SMALL || old_bytes == 0) {
        return mem_resize_try(old, size_of(bytes));
    }
    if (class_of(old_bytes) == class_of(bytes)) return old;
    void *block = take(b, bytes);
    if (block == NULL) return NULL;
    memcpy(block, old, old_bytes < bytes ? old_bytes : bytes);
    blocks_free(b, old, old_bytes);
    return block;
}

void blocks_fini(struct blocks *b)
{
    for (size_t i = 0; i < sizeof b->freed / sizeof b->freed[0]; i++) {
        while (b->freed[i] != NULL) {
            void *block = b->freed[i];
            b->freed[i] = next_of(block);
            mem_free(block);
        }
    }
    b->held = 0;
}
