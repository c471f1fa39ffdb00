/* htab: hash table of pointers to structs whose first member is their `struct slice` key. Open
 * addressing, linear probing, backward-shift deletion, at most 3/4 full. Does not own its items.
 */
#ifndef BASE_HTAB_H
#define BASE_HTAB_H

#include "base/slice.h"

struct htab_slot {
    uint64_t hash;
    struct slice *item; /* NULL = free; borrowed */
};

struct htab {
    struct htab_slot *slots; /* owned; NULL until the first insert */
    size_t mask;             /* slots - 1 */
    size_t count;
};

/* 64-bit XXH3 of the bytes; the hash that all tables share, so that a key is hashed once. */
uint64_t hash_bytes(struct slice s);

void htab_init(struct htab *h);
void htab_fini(struct htab *h);
/* Room for `count` items without growing: growing moves all of them at once. Only while it is
 * empty. */
void htab_reserve(struct htab *h, size_t count);
/* The item with that key, or NULL. */
void *htab_find(const struct htab *h, uint64_t hash, struct slice key);
/* The key with that hash will be looked for soon. */
void htab_prefetch(const struct htab *h, uint64_t hash);
/* `item` points to a struct that begins with its key, which must not be in the table. */
void htab_insert(struct htab *h, uint64_t hash, struct slice *item);
/* Takes the item out; it must be there. */
void htab_remove(struct htab *h, uint64_t hash, const struct slice *item);
/* Bytes held by the table itself. */
size_t htab_bytes(const struct htab *h);

#endif
