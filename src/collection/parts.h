/* parts: all that a stream is, part by part: its entries, what it knows of itself, its consumer
 * groups, their consumers, what is pending for these. For exports and dumps, and for making a
 * stream of the same parts elsewhere: there groups and consumers get other numbers.
 *
 * Parts come in the order of their kinds; each refers only to parts before it.
 */
#ifndef COLLECTION_PARTS_H
#define COLLECTION_PARTS_H

#include "collection/group.h"
#include "collection/stream.h"

/* Where a reading goes on: kind (1 byte), then nothing, or the row of the last part of it. */
struct stream_parts {
    struct collection *c;
    enum stream_part_kind kind;  /* of the next part, if there is one */
    struct slice after;          /* the row of the last part of this kind; len 0 = none was read */
    struct engine_scan *scan;    /* NULL = it is to be opened */
    size_t hint;                 /* parts that are expected to be wanted */
    struct stream_group *groups; /* in the order of their names */
    size_t group_count, next_group;
    const struct stream_group *group; /* of the part before, and its consumer; NULL = none */
    struct stream_consumer consumer;  /* number 0 = none */
};

/* From `place` on, which stream_parts_place gave; len 0: from the first. *is_good false: it is no
 * place in this stream. Nothing of the transaction may be written until stream_parts_end. */
ERR_MUST_USE enum err stream_parts_begin(struct stream_parts *p, struct collection *c,
                                         struct slice place, bool *is_good, struct error *e);
/* The next one; its slices are in the arena. *is_end: there is none. ERR_WAIT: begin anew. */
ERR_MUST_USE enum err stream_parts_next(struct stream_parts *p, struct stream_part *out,
                                        bool *is_end, struct error *e);
/* After the part that was given last; in the arena. */
struct slice stream_parts_place(const struct stream_parts *p);
/* Harmless when it was not begun, or has ended. */
void stream_parts_end(struct stream_parts *p);

/* The part becomes one of the stream; one that is there already is replaced, but for entries, which
 * are as they were. ERR_VALUE: it does not fit to what is there. */
ERR_MUST_USE enum err stream_part_add(struct collection *c, const struct stream_part *x,
                                      struct error *e);

#endif
