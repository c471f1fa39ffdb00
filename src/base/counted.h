/* counted: how many keys of an ordered set come before one, and where the key with so many before
 * it is, without keeping the keys: the first key of every block of about COUNTED_BLOCK, and how
 * many are in it. Within a block the owner counts the keys, which it has.
 *
 * Two levels: blocks are in groups of at most GROUP_MAX, so that an insertion moves few of them and
 * a sum has few parts. Two bytes a key or so.
 */
#ifndef BASE_COUNTED_H
#define BASE_COUNTED_H

#include "base/slice.h"

#define COUNTED_BLOCK 32
#define COUNTED_KEY_MAX 1100 /* bytes of a key */

struct counted;

struct counted *counted_new(void);
void counted_free(struct counted *c);
/* The key has come, or gone; it was not there before, or it was. */
void counted_add(struct counted *c, struct slice key);
/* False: it cannot have been there, and what was counted is wrong. */
bool counted_remove(struct counted *c, struct slice key);
uint64_t counted_total(const struct counted *c);
size_t counted_bytes(const struct counted *c);

/* Where to begin counting: keys from `first` on (empty: from the first of all) have `before` keys
 * before them. */
struct counted_place {
    struct slice first; /* borrowed until the next change */
    uint64_t before;
    size_t count; /* keys in the block */
};
/* For a key: its block. For a rank, which may be too large: the block that has it. */
struct counted_place counted_of_key(const struct counted *c, struct slice key);
struct counted_place counted_of_rank(const struct counted *c, uint64_t rank);
/* The owner has counted within the block of `key`: so many of its keys are before `key`. A block
 * that has grown long is cut there. */
void counted_cut(struct counted *c, struct slice key, size_t before);
/* Is the block so long that it should be cut? */
static inline bool counted_is_long(size_t count)
{
    return count > 2 * COUNTED_BLOCK;
}

#endif
