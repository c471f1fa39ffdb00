/* blocks: the memory of one state of Lua. A script allocates and frees some small blocks in each
 * run; those that it has freed are kept for the next, which costs a tenth of what the C library
 * takes. Each class of 16 bytes up to BLOCKS_SMALL has a list; all of them together hold at most
 * BLOCKS_HELD bytes. With the address sanitizer nothing is held, so that it sees every use of a
 * freed block.
 *
 * Every block is one of base/mem.h, and a small one has the size of its class. So a block may grow
 * out of the small ones and back with mem_resize_try.
 *
 * Source: Knuth, The Art of Computer Programming 1, 2.5: free lists by size.
 */
#ifndef SCRIPT_BLOCKS_H
#define SCRIPT_BLOCKS_H

#include <stddef.h>

#define BLOCKS_CLASS 16
#define BLOCKS_SMALL 256
#ifdef __SANITIZE_ADDRESS__ /* gcc */
#define BLOCKS_HELD 0u
#elif defined __has_feature /* clang */
#if __has_feature(address_sanitizer)
#define BLOCKS_HELD 0u
#endif
#endif
#ifndef BLOCKS_HELD
#define BLOCKS_HELD (64u << 10)
#endif

struct blocks { /* zeroed = empty */
    void *freed[BLOCKS_SMALL / BLOCKS_CLASS];
    size_t held; /* bytes in the lists */
};

/* A block of `bytes`, not 0, with the contents of the old one, which is freed. `old` NULL: a new
 * one. NULL: out of memory, and the old one is unchanged. `old_bytes`: as it was asked for. */
void *blocks_resize(struct blocks *b, void *old, size_t old_bytes, size_t bytes);
/* `block` may be NULL. */
void blocks_free(struct blocks *b, void *block, size_t bytes);
/* Frees what the lists hold. */
void blocks_fini(struct blocks *b);

#endif
