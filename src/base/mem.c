/* mem: the allocator with fault points before it; what it says of itself. */
#include "base/mem.h"

#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

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

/* ---- jemalloc, which only a program that is linked with it has ---- */

#define PURGE_ALL "arena.4096.purge" /* MALLCTL_ARENAS_ALL */
#define KEEP_MS 5000                 /* what is free longer goes back to the system */

int mallctl(const char *name, void *old, size_t *old_len, void *new, size_t new_len)
    __attribute__((weak));

static bool has_jemalloc(void)
{
    return mallctl != NULL;
}

static size_t read_size(const char *name)
{
    size_t value = 0;
    size_t len = sizeof value;
    return mallctl(name, &value, &len, NULL, 0) == 0 ? value : 0;
}

/* The figures are those of the last epoch. */
static void read_stats(struct mem_stats *out)
{
    uint64_t epoch = 1;
    size_t len = sizeof epoch;
    (void)mallctl("epoch", &epoch, &len, &epoch, sizeof epoch);
    size_t resident = read_size("stats.resident");
    out->used = read_size("stats.allocated");
    out->free = resident > out->used ? resident - out->used : 0;
}

static void write_bool(const char *name, bool value)
{
    (void)mallctl(name, NULL, NULL, &value, sizeof value);
}

static void write_ms(const char *name, ssize_t ms)
{
    (void)mallctl(name, NULL, NULL, &ms, sizeof ms);
}

const char *mem_allocator(void)
{
    static char text[64];
    const char *version = "";
    size_t len = sizeof version;
    if (!has_jemalloc()) return "libc";
    (void)mallctl("version", &version, &len, NULL, 0);
    snprintf(text, sizeof text, "jemalloc-%.*s", (int)strcspn(version, "-"), version);
    return text;
}

/* ---- */

void mem_stats(struct mem_stats *out)
{
    if (has_jemalloc()) {
        read_stats(out);
        return;
    }
    struct mallinfo2 m = mallinfo2();
    *out = (struct mem_stats){.used = m.uordblks + m.hblkhd, .free = m.fordblks};
}

void mem_trim(void)
{
    if (!has_jemalloc()) malloc_trim(0);
}

void mem_purge(void)
{
    if (has_jemalloc()) {
        (void)mallctl(PURGE_ALL, NULL, NULL, NULL, 0);
    } else {
        malloc_trim(0);
    }
}

void mem_keep_blocks(void)
{
    if (has_jemalloc()) {
        write_ms("arenas.dirty_decay_ms", KEEP_MS);
        write_ms("arenas.muzzy_decay_ms", 0);
        write_ms("arena.0.dirty_decay_ms", KEEP_MS);
        write_ms("arena.0.muzzy_decay_ms", 0);
        write_bool("background_thread", true);
        return;
    }
    (void)mallopt(M_MMAP_THRESHOLD, 4 << 20);
    (void)mallopt(M_TRIM_THRESHOLD, 32 << 20);
}
