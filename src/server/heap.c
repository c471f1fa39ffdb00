/* heap: see heap.h. A library takes its functions before it allocates anything, and not later: then
 * what it has is not counted, and nothing else is wrong. */
#include "server/heap.h"

#include <openssl/crypto.h>

#include "backend/local/local.h"
#include "base/mem.h"

/* ---- CRYPTO_set_mem_functions(3) ---- */

static void *openssl_alloc(size_t bytes, const char *file, int line)
{
    (void)file;
    (void)line;
    return bytes == 0 ? NULL : mem_library_alloc(bytes);
}

static void openssl_free(void *p, const char *file, int line)
{
    (void)file;
    (void)line;
    mem_free(p);
}

static void *openssl_resize(void *old, size_t bytes, const char *file, int line)
{
    if (bytes > 0) return mem_library_resize(old, bytes);
    openssl_free(old, file, line);
    return NULL;
}

void heap_begin(void)
{
    mem_tune();
    local_count_heap();
    (void)CRYPTO_set_mem_functions(openssl_alloc, openssl_resize, openssl_free);
}
