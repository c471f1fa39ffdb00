/* mem: allocation. The server has jemalloc, which gives memory back on threads of its own; a
 * program that embeds the library, a test and a sanitizer have what they have (docs/decisions/
 * jemalloc.md). When memory for something small is gone, there is no sensible way on: die
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
    size_t used; /* handed out */
    size_t free; /* of the system, kept for the next allocation */
};

/* Without jemalloc it walks the free lists, which may take 0.1 s for a gigabyte. */
void mem_stats(struct mem_stats *out);
/* jemalloc and its version, else libc. */
const char *mem_allocator(void);
/* Gives back to the system what is free, where the allocator does not do so by itself. */
void mem_trim(void);
/* Gives back to the system what is free. */
void mem_purge(void);
/* For a server, before there are threads: jemalloc's threads give back what was not used for some
 * seconds. Without jemalloc blocks of up to 4 MB (long replies and arguments) are not given back
 * each time one is freed, and up to 32 MB at the end of the heap are kept: mallopt(3). */
void mem_keep_blocks(void);

#endif
