/* bloom: sizes and memory. Looking and adding are inline in bloom.h, as they are called for every
 * key. */
#include "base/bloom.h"

#include "base/err.h"
#include "base/mem.h"

#define BLOCK_BITS (BLOOM_BLOCK_WORDS * 64)

static uint64_t blocks_for(uint64_t keys)
{
    return keys / (BLOCK_BITS / BLOOM_KEY_BITS) + 1;
}

uint64_t bloom_bytes(uint64_t keys)
{
    return blocks_for(keys) * BLOOM_BLOCK_WORDS * sizeof(uint64_t);
}

bool bloom_init_try(struct bloom *b, uint64_t keys)
{
    *b = (struct bloom){.blocks = blocks_for(keys)};
    if (b->blocks > UINT32_MAX) return false;
    b->words = mem_new_try(bloom_bytes(keys));
    return b->words != NULL;
}

void bloom_fini(struct bloom *b)
{
    mem_free(b->words);
    *b = (struct bloom){0};
}
