/* mem: allocation. When memory for something small is gone, there is no sensible way on: die
 * (err.h; fault point "mem.must"). What a client sizes goes through the `_try` variants after a
 * limit check, and fails as an error.
 */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stddef.h>

/* Zeroed memory; never NULL. Free with mem_free. */
void *mem_new(size_t bytes);
/* Uninitialised memory; never NULL. */
void *mem_alloc(size_t bytes);
/* As realloc; never NULL for bytes > 0. */
void *mem_resize(void *old, size_t bytes);
/* As malloc and realloc: NULL when there is no memory (fault point "mem.try"). */
void *mem_alloc_try(size_t bytes);
void *mem_resize_try(void *old, size_t bytes);
/* Zeroed; NULL when there is no memory. */
void *mem_new_try(size_t bytes);
void mem_free(void *p);

/* What the allocator says of itself, in bytes; all 0 under a sanitizer, which has its own. */
struct mem_stats {
    size_t used;   /* handed out */
    size_t mapped; /* of these, in mappings of their own */
    size_t mappings;
    size_t free;  /* kept for the next who asks */
    size_t arena; /* of the system, without the mappings */
};

/* Walks the free lists: not for every tick. */
void mem_stats(struct mem_stats *out);
/* Gives back to the system what is free. */
void mem_trim(void);
/* For a server, before there are threads: blocks of up to 4 MB (long replies and arguments) are not
 * given back to the system each time one is freed, and up to 32 MB at the end of the heap are kept.
 * mallopt(3). */
void mem_keep_blocks(void);

#endif
