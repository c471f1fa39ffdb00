/* store_heap: SQLite allocates by base/mem.h, where it is counted. It does not count besides, for
 * which it would take a lock with each allocation.
 */
#include <sqlite3.h>

#include "backend/local/local.h"
#include "base/mem.h"

/* sqlite3_mem_methods */

static void *heap_alloc(int bytes)
{
    return mem_library_alloc((size_t)bytes);
}

static void *heap_resize(void *old, int bytes)
{
    return mem_library_resize(old, (size_t)bytes);
}

static int heap_size(void *p)
{
    return (int)mem_library_size(p);
}

static int heap_roundup(int bytes)
{
    return (bytes + 7) & ~7;
}

static int heap_init(void *arg)
{
    (void)arg;
    return SQLITE_OK;
}

void local_count_heap(void)
{
    static const sqlite3_mem_methods methods = {
        .xMalloc = heap_alloc,
        .xFree = mem_free,
        .xRealloc = heap_resize,
        .xSize = heap_size,
        .xRoundup = heap_roundup,
        .xInit = heap_init,
    };
    (void)sqlite3_config(SQLITE_CONFIG_MALLOC, &methods);
    (void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}
