/* store: memory of what a store gives: chunks of rows, and the result of an apply. */
#include "backend/store.h"

#include "base/mem.h"

#define CHUNK_ARENA_BYTES (64 * 1024)

void store_progress_fini(struct store_progress *p)
{
    mem_free(p->aside.entries);
    p->aside = (struct store_aside){0};
    store_counts_fini(&p->counts);
}

void store_chunk_init(struct store_chunk *c)
{
    *c = (struct store_chunk){0};
    arena_init(&c->arena, CHUNK_ARENA_BYTES);
}

void store_chunk_fini(struct store_chunk *c)
{
    arena_fini(&c->arena);
    buf_fini(&c->last);
    *c = (struct store_chunk){0};
}
