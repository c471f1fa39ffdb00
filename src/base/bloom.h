/* bloom: a set of hashes that may say "perhaps" of one that is not in it, never "no" of one that
 * is. Blocked: all bits of a hash lie in one line of the processor's cache (Putze, Sanders,
 * Singler, "Cache-, Hash- and Space-Efficient Bloom Filters", 2007). With BLOOM_KEY_BITS for each
 * hash that is in it about one in a hundred others is a "perhaps". Nothing can be taken out.
 */
#ifndef BASE_BLOOM_H
#define BASE_BLOOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BLOOM_KEY_BITS 10
#define BLOOM_PROBES 6
#define BLOOM_BLOCK_WORDS 8 /* 512 bits */

struct bloom {
    uint64_t *words; /* owned; NULL = there is none */
    uint64_t blocks; /* below 2^32 */
    uint64_t count;  /* hashes that were new, about: some seemed to be there */
};

/* Bytes that one for so many hashes takes. */
uint64_t bloom_bytes(uint64_t keys);
/* Empty. False: there is no memory. */
bool bloom_init_try(struct bloom *b, uint64_t keys);
/* Harmless when there is none. */
void bloom_fini(struct bloom *b);

/* All bits of the hash are good: those above choose the block, a product of it the bits in it. */
static inline uint64_t *bloom_block(const struct bloom *b, uint64_t hash)
{
    return b->words + ((hash >> 32) * b->blocks >> 32) * BLOOM_BLOCK_WORDS;
}

static inline uint64_t bloom_mix(uint64_t hash)
{
    return hash * UINT64_C(0x9e3779b97f4a7c15);
}

static inline bool bloom_has(const struct bloom *b, uint64_t hash)
{
    const uint64_t *block = bloom_block(b, hash);
    uint64_t x = bloom_mix(hash), found = 1;
    for (int i = 0; i < BLOOM_PROBES; i++, x >>= 9) found &= block[x >> 6 & 7] >> (x & 63);
    return found != 0;
}

static inline void bloom_add(struct bloom *b, uint64_t hash)
{
    uint64_t *block = bloom_block(b, hash);
    uint64_t x = bloom_mix(hash), missing = 0;
    for (int i = 0; i < BLOOM_PROBES; i++, x >>= 9) {
        uint64_t bit = UINT64_C(1) << (x & 63);
        missing |= ~block[x >> 6 & 7] & bit;
        block[x >> 6 & 7] |= bit;
    }
    b->count += missing != 0;
}

#endif
