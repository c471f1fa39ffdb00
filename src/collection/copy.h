/* copy: whole collections: at another key, in another database, as bytes for DUMP, from an export.
 */
#ifndef COLLECTION_COPY_H
#define COLLECTION_COPY_H

#include "collection/collection.h"

/* An operation that makes the key `to` what an entry with a head is, which was read in this turn at
 * `from`; with the entry's expiry. It replaces what is there. ERR_LIMIT: more than half of
 * COLLECTION_ROWS_MAX elements. */
struct collection_copy {
    struct layer_op base; /* first */
    struct collections *all;
    struct slice from, to;
    struct entry entry;
};
struct op collection_copy_op(struct collection_copy *x);

/* All elements, in the arena of the view. ERR_LIMIT. */
ERR_MUST_USE enum err collection_elements(struct collection *c, struct element **out, size_t *count,
                                          struct error *e);
/* Appends a head that has all elements in it, however many, or all parts of a stream: a dump. */
ERR_MUST_USE enum err collection_dump(struct collection *c, struct buf *out, struct error *e);
/* An operation that makes the key what such a dump says, without fields whose time has come.
 * ERR_VALUE: it is damaged. */
struct collection_restore {
    struct layer_op base; /* first */
    struct collections *all;
    struct slice to, head;
    bool is_stream; /* `head` is its parts */
    int64_t expiry_ms;
};
struct op collection_restore_op(struct collection_restore *x);

/* An operation that makes the key a collection of these elements, or adds them to the one that is
 * there. To a list they are added at the places from `before` on, instead of what is there: so what
 * is loaded a second time is there once. Fields, and a collection, whose time has come are left
 * out. ERR_TYPE: it adds, and something else is there. */
struct collection_load {
    struct layer_op base; /* first */
    struct collections *all;
    struct slice to;
    enum collection_kind kind;
    int64_t expiry_ms; /* of the key; 0 = never */
    int64_t before;    /* elements that were loaded before these; 0 = it takes the key's place */
    struct {
        struct element *items;
        size_t count;
    } elements;
    struct {
        struct stream_part *items;
        size_t count;
    } parts; /* of a stream, in place of elements */
};
struct op collection_load_op(struct collection_load *x);

#endif
