/* names: what may not appear twice inside one value: the names of an object, the keys of a Map, the
 * ids of shared references. One stack for all objects that are open, so small values need no
 * allocation. Up to NAMES_PAIRWISE names are compared pairwise as they come; more go through a hash
 * table keyed with a random seed (SipHash-1-3) when the object ends, so that a 16 MB object of a
 * million hostile names takes linear time.
 */
#ifndef CODEC_NAMES_H
#define CODEC_NAMES_H

#include "base/err.h"
#include "base/slice.h"

#define NAMES_PAIRWISE 16
#define NAMES_INLINE 48

struct name {
    size_t at;    /* offset of its bytes in the base given to the calls */
    size_t tag;   /* length * 2, plus 1 when the bytes are text and not an encoded key of a Map */
    size_t where; /* offset to blame in an error message */
};

struct names {
    struct name *list; /* `first`, or owned */
    size_t count;
    size_t cap;
    uint32_t *ids; /* open addressing, 0 = free; owned, NULL until the first id */
    size_t ids_count;
    size_t ids_cap; /* a power of two */
    uint64_t seed[2];
    bool is_seeded;
    bool is_failed; /* memory ran out; the answers mean nothing */
    struct name first[NAMES_INLINE];
};

void names_init(struct names *n);
void names_fini(struct names *n);

/* Adds a name (at, tag, where: see struct name) of the object whose names begin at index `from` (=
 * n->count when it was opened). False when it is there already. */
bool names_add(struct names *n, size_t from, const uint8_t *base, size_t at, size_t tag,
               size_t where);
/* Ends that object. NULL, or the second of two equal names (good until the next call). */
const struct name *names_end(struct names *n, size_t from, const uint8_t *base);

/* Ids 1..2^32-1. names_add_id: false when it is there already. */
bool names_add_id(struct names *n, uint32_t id);
bool names_has_id(const struct names *n, uint32_t id);

#endif
