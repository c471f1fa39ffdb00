/* hash_bag: a bag of 64-bit hashes: which ones are in it, and how often. Open addressing, linear
 * probing, at most 2/3 full; 12 bytes a hash on average. For sets of things that are too many to
 * keep: what is in the bag may be there, what is not certainly is not.
 */
#ifndef BASE_HASH_BAG_H
#define BASE_HASH_BAG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hash_bag {
    uint64_t *slots; /* owned; 0 = free */
    size_t mask;     /* slots - 1 */
    size_t count;
};

void hash_bag_fini(struct hash_bag *b);
void hash_bag_add(struct hash_bag *b, uint64_t hash);
/* One of them; harmless when it is not there. */
void hash_bag_remove(struct hash_bag *b, uint64_t hash);
bool hash_bag_has(const struct hash_bag *b, uint64_t hash);
size_t hash_bag_bytes(const struct hash_bag *b);

#endif
