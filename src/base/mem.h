/* mem: allocation. Small allocations abort when memory is gone (there is no sensible way on); what
 * a client sizes goes through the `_try` variants after a limit check, and fails as an error.
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
void mem_free(void *p);

#endif
