/* htab: hash table of pointers to structs whose first member is their `struct slice` key. Open
 * addressing, linear probing, backward-shift deletion, at most 3/4 full. Does not own its items.
 *
 * All tables share hash_bytes, so that a key is hashed once.
 *
 * It grows without ever stopping its user: a table of twice the size is begun, and each insert
 * moves a few slots there, from one free slot of the old table to another, so that every run of
 * items is in one of the two. Which one a key belongs to follows from its hash: one table is looked
 * at.
 */
#ifndef BASE_HTAB_H
#define BASE_HTAB_H

#include "base/hash.h"

struct htab_slot {
    uint64_t hash;
    void *item; /* NULL = free; borrowed */
};

struct htab_table {
    struct htab_slot *slots; /* owned; NULL = there is none */
    size_t mask;             /* slots - 1 */
};

struct htab {
    struct htab_table table; /* none until the first insert */
    struct htab_table old;   /* what is still to be moved from */
    size_t first;            /* of `old`: the slot with which moving began; it was free */
    size_t moved;            /* of `old`: so many slots from there on */
    size_t count;
    size_t around; /* see htab_around */
};

void htab_init(struct htab *h);
void htab_fini(struct htab *h);
/* Room for `count` items without growing. Only while it is empty. */
void htab_reserve(struct htab *h, size_t count);
/* The item with that key, or NULL. */
void *htab_find(const struct htab *h, uint64_t hash, struct slice key);
/* Of a table whose items keep their keys otherwise: each item with that hash in turn, which the
 * caller compares. *at is 0 at first. NULL: there are no more. */
void *htab_same(const struct htab *h, uint64_t hash, size_t *at);
/* The key with that hash will be looked for soon. First for all of several keys, and when others
 * have been asked for, htab_prefetch_item for each: by then its slot is there. */
void htab_prefetch(const struct htab *h, uint64_t hash);
void htab_prefetch_item(const struct htab *h, uint64_t hash);
/* `item` begins with its key (struct slice), unless htab_same is used instead of htab_find. The key
 * must not be in the table. */
void htab_insert(struct htab *h, uint64_t hash, void *item);
/* Takes the item out; it must be there. */
void htab_remove(struct htab *h, uint64_t hash, const void *item);
/* All items, in no order: the next one from *at on, which is 0 at first; NULL after the last. While
 * nothing is inserted or removed. */
void *htab_next(const struct htab *h, size_t *at);
/* For a walk that goes on while items come and go: what slot i of htab_slots has, and its hash.
 * NULL: it is free, and *hash is not set. From the last slot down to 0 the walk meets every item
 * that is there all the time, as items move downward alone; but for those that a removal moved
 * around the end of a table since htab_around was called last. Those are in the slot that it
 * returns or above: SIZE_MAX = there are none. When htab_slots changes the walk has to begin again.
 */
size_t htab_slots(const struct htab *h);
void *htab_item(const struct htab *h, size_t i, uint64_t *hash);
size_t htab_around(struct htab *h);
/* Bytes held by the table itself. */
size_t htab_bytes(const struct htab *h);

#endif
