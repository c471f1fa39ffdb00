/* collection: what is stored under a key whose value is a hash, list, set, sorted set or stream: a
 * `head`, an extension of MessagePack that only the server makes. Of a small collection it has the
 * elements too ("packed"); of a larger one these are rows of their own ("spread",
 * collection/rows.h). Pure functions over bytes.
 *
 *   format (1 byte: 1), kind (1), flags (1: HEAD_*)
 *   with HEAD_FIELD_TTL   fields that have a time to live (8)
 *   packed                the number of elements (varint), the elements
 *   spread                incarnation (12), elements (8), bytes of them (8);
 *                         of a list the first position and the one after the last (8 each); of a
 *                         stream the last id given, the first id there is, the greatest id deleted
 *                         (16 each), entries added, groups, groups ever made (8 each)
 *
 *   element of a hash     length of the name (varint), name, length of the value * 2 + 1 if it
 *                         expires (varint), value, expiry in ms (8) if it does
 *             of a set    length (varint), member
 *             of a zset   length (varint), member, score (8 bytes, IEEE, big-endian)
 *             of a list   length (varint), value
 *
 * Numbers of 8 bytes are big-endian; varint: LEB128. docs/formats.md has it for readers.
 */
#ifndef CODEC_COLLECTION_H
#define CODEC_COLLECTION_H

#include "codec/stream.h"

enum collection_kind {
    COLLECTION_HASH = 1,
    COLLECTION_LIST = 2,
    COLLECTION_SET = 3,
    COLLECTION_ZSET = 4,
    COLLECTION_STREAM = 5,
};
#define COLLECTION_KINDS 6 /* one more than the last */

#define INCARNATION_ID_BYTES 12

struct element {
    struct slice name;  /* field or member; of a list nothing; of a stream the id, as bytes */
    struct slice value; /* of a hash or a list; of a stream the fields (stream.h) */
    double score;       /* of a sorted set */
    int64_t expiry_ms;  /* of a field; 0 = never */
};

/* Some of a hash's fields. */
#define FIELD_NAMES_MAX 32
struct field_names {
    const struct slice *items;
    size_t count; /* at most FIELD_NAMES_MAX */
};

/* A stream is always spread, and stays when it has no entry. */
struct stream_head {
    struct stream_id last, first, deleted; /* zeros: none */
    uint64_t added;                        /* entries, ever */
    uint64_t groups, groups_made;          /* there are; ever made: the number of the newest one */
};

struct collection_head {
    enum collection_kind kind;
    bool is_spread;
    bool is_holey;     /* of a list: positions between the first and the last are free */
    uint64_t count;    /* elements, those too that have expired and are not removed yet */
    uint64_t expiring; /* of a hash: fields that have a time to live */
    /* Spread: */
    uint8_t incarnation[INCARNATION_ID_BYTES]; /* unique for ever */
    uint64_t bytes;                            /* of names and values */
    uint64_t first, end;                       /* of a list: positions */
    struct stream_head stream;
    /* Packed: the elements, borrowed from what was read. */
    struct slice packed;
};

/* Has the value the form of a head? It may be damaged all the same. */
bool collection_is_head(struct slice value);
/* The incarnation in the head of a spread one, borrowed: it is all that is read of the head, whose
 * size is checked. NULL: the value is none, or damaged. */
const uint8_t *collection_incarnation(struct slice value);
/* Is it the head of a hash whose fields are rows? */
bool collection_is_spread_hash(struct slice value);
/* False: it is none, or damaged. The elements are checked when they are read. */
bool collection_head_read(struct slice value, struct collection_head *out);
/* The next element of h->packed; *at is 0 at first. False at the end, and on damage: then *at is
 * not h->packed.len. */
bool collection_packed_next(const struct collection_head *h, size_t *at, struct element *out);
/* Appends the whole value; `items` are h->count elements when it is packed. */
void collection_head_write(const struct collection_head *h, const struct element *items,
                           struct buf *out);
/* The most bytes that an element takes in a head. */
size_t collection_packed_bytes(const struct element *x);
/* "hash", "list", "set", "zset", "stream", as TYPE says. */
const char *collection_kind_name(enum collection_kind kind);
/* {"$collection":{"type":"hash","length":3}}, as JSON and as MessagePack, appended: how a value
 * that is a head is shown. */
void collection_to_json(struct slice value, struct buf *out);
void collection_to_msgpack(struct slice value, struct buf *out);

#endif
