/* mem: the C library's allocator with fault points before it. What is handed out is counted here:
 * mallinfo2(3) walks every free block for it, 0.1 s for some millions, in which all threads wait.
 * Each thread keeps a count of its own, and adds it to that of all now and then.
 */
#include "base/mem.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/fault.h"

#define SORT_EACH 4096
#define SORT_BYTES 2048

static _Atomic(int64_t) counted;
static _Thread_local int64_t uncounted;
static _Thread_local unsigned freed;

static void count(int64_t bytes)
{
    uncounted += bytes;
    if (uncounted < MEM_UNCOUNTED_BYTES && uncounted > -MEM_UNCOUNTED_BYTES) return;
    atomic_fetch_add_explicit(&counted, uncounted, memory_order_relaxed);
    uncounted = 0;
}

static void *count_new(void *p)
{
    if (p != NULL) count((int64_t)malloc_usable_size(p));
    return p;
}

void *mem_new(size_t bytes)
{
    void *p = fault_hit("mem.must") ? NULL : mem_library_new(1, bytes);
    if (p == NULL) die("out of memory allocating %zu bytes", bytes);
    return p;
}

void *mem_alloc(size_t bytes)
{
    void *p = fault_hit("mem.must") ? NULL : mem_library_alloc(bytes);
    if (p == NULL) die("out of memory allocating %zu bytes", bytes);
    return p;
}

void *mem_resize(void *old, size_t bytes)
{
    void *p = fault_hit("mem.must") ? NULL : mem_library_resize(old, bytes);
    if (p == NULL) die("out of memory allocating %zu bytes", bytes);
    return p;
}

void *mem_alloc_try(size_t bytes)
{
    return fault_hit("mem.try") ? NULL : mem_library_alloc(bytes);
}

void *mem_resize_try(void *old, size_t bytes)
{
    return fault_hit("mem.try") ? NULL : mem_library_resize(old, bytes);
}

void *mem_new_try(size_t bytes)
{
    return fault_hit("mem.try") ? NULL : mem_library_new(1, bytes);
}

/* Blocks that were freed lie in a list, which the next allocation that finds no block of its size
 * goes through, ten thousand of them at most. When millions lie there, each of many allocations
 * does. So this one comes after some thousands; it is too large for the lists of each thread. A
 * compiler leaves out an allocation that is only freed, unless it passes through memory. */
static __attribute__((noinline)) void sort_freed(void)
{
    void *volatile block = malloc(SORT_BYTES);
    free(block);
}

void mem_free(void *p)
{
    count(-(int64_t)malloc_usable_size(p));
    free(p);
    if (++freed % SORT_EACH == 0) sort_freed();
}

void *mem_library_alloc(size_t bytes)
{
    return count_new(malloc(bytes > 0 ? bytes : 1));
}

void *mem_library_new(size_t items, size_t bytes)
{
    return count_new(calloc(items, bytes > 0 ? bytes : 1));
}

void *mem_library_resize(void *old, size_t bytes)
{
    int64_t before = (int64_t)malloc_usable_size(old);
    void *p = realloc(old, bytes > 0 ? bytes : 1);
    if (p != NULL) count((int64_t)malloc_usable_size(p) - before);
    return p;
}

size_t mem_library_size(void *p)
{
    return malloc_usable_size(p);
}

uint64_t mem_used(void)
{
    int64_t bytes = atomic_load_explicit(&counted, memory_order_relaxed) + uncounted;
    return bytes > 0 ? (uint64_t)bytes : 0;
}

void mem_trim(void)
{
    malloc_trim(0);
}

void mem_tune(void)
{
    (void)mallopt(M_MMAP_THRESHOLD, 4 << 20);
    (void)mallopt(M_TRIM_THRESHOLD, 32 << 20);
    (void)mallopt(M_MXFAST, 0);
}
