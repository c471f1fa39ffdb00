/* mem: allocation. When memory for something small is gone, there is no sensible way on: die
 * (err.h; fault point "mem.must"). What a client sizes goes through the `_try` variants after a
 * limit check, and fails as an error.
 */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stddef.h>
#include <stdint.h>

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

/* For a library that takes the functions it is to allocate with: as malloc, calloc and realloc,
 * NULL when there is no memory; without fault points. To be freed with mem_free. */
void *mem_library_alloc(size_t bytes);
void *mem_library_new(size_t items, size_t bytes);
void *mem_library_resize(void *old, size_t bytes);
/* Bytes that may be used of such a block; 0 for NULL. */
size_t mem_library_size(void *p);

#define MEM_UNCOUNTED_BYTES (64 << 10)

/* Bytes that were handed out and not freed since, to all threads of the process: with what the
 * allocator rounded up; up to MEM_UNCOUNTED_BYTES of each other thread may be missing. Cheap. */
uint64_t mem_used(void);
/* Gives back to the system what is free. */
void mem_trim(void);
/* For a server, before there are threads (mallopt(3)). Blocks of up to 4 MB (long replies and
 * arguments) are not given back to the system each time one is freed, and up to 32 MB at the end of
 * the heap are kept. Small blocks are merged as they are freed: else a later allocation merges all
 * of them at once, 0.1 s after some millions. */
void mem_tune(void);

#endif
