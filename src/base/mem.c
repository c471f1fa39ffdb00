/* mem: the C library's allocator with fault points before it; what it says of itself. */
#include "base/mem.h"

#include <malloc.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/fault.h"

void *mem_new(size_t bytes)
{
    void *p = fault_hit("mem.must") ? NULL : calloc(1, bytes > 0 ? bytes : 1);
    if (p == NULL) die("out of memory allocating %zu bytes", bytes);
    return p;
}

void *mem_alloc(size_t bytes)
{
    void *p = fault_hit("mem.must") ? NULL : malloc(bytes > 0 ? bytes : 1);
    if (p == NULL) die("out of memory allocating %zu bytes", bytes);
    return p;
}

void *mem_resize(void *old, size_t bytes)
{
    void *p = fault_hit("mem.must") ? NULL : realloc(old, bytes > 0 ? bytes : 1);
    if (p == NULL) die("out of memory allocating %zu bytes", bytes);
    return p;
}

void *mem_alloc_try(size_t bytes)
{
    if (fault_hit("mem.try")) return NULL;
    return malloc(bytes > 0 ? bytes : 1);
}

void *mem_resize_try(void *old, size_t bytes)
{
    if (fault_hit("mem.try")) return NULL;
    return realloc(old, bytes > 0 ? bytes : 1);
}

void *mem_new_try(size_t bytes)
{
    if (fault_hit("mem.try")) return NULL;
    return calloc(1, bytes > 0 ? bytes : 1);
}

void mem_free(void *p)
{
    free(p);
}

void mem_stats(struct mem_stats *out)
{
    struct mallinfo2 m = mallinfo2();
    *out = (struct mem_stats){.used = m.uordblks + m.hblkhd,
                              .mapped = m.hblkhd,
                              .mappings = m.hblks,
                              .free = m.fordblks,
                              .arena = m.arena};
}

void mem_trim(void)
{
    malloc_trim(0);
}

void mem_keep_blocks(void)
{
    (void)mallopt(M_MMAP_THRESHOLD, 4 << 20);
    (void)mallopt(M_TRIM_THRESHOLD, 32 << 20);
}
