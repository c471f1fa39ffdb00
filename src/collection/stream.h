/* stream: the entries of a stream, each a row by its id, which only grows. A stream is there with
 * no entry too, and always spread. Its groups are in group.h.
 *
 * Invariants:
 *   1. head.stream.last is at least the id of every entry that there ever was: no id comes back,
 *      so that ranges of ids may be forgotten
 *   2. head.stream.first is the id of the first entry; zeros when there is none: a walk begins
 *      there and not among the tombstones of what was trimmed
 */
#ifndef COLLECTION_STREAM_H
#define COLLECTION_STREAM_H

#include "collection/walk.h"

/* A new one at a key where nothing is. */
void stream_make(struct collection *c);

/* An entry after all others: its id is greater than head.stream.last. `fields` as
 * stream_fields_write wrote them; they must live as long as the arena of the view. */
ERR_MUST_USE enum err stream_add(struct collection *c, struct stream_id id, struct slice fields,
                                 struct error *e);
/* Its fields, in the arena. */
ERR_MUST_USE enum err stream_find(struct collection *c, struct stream_id id, bool *found,
                                  struct slice *fields, struct error *e);
/* removed[i]: the one with the id i was there. */
ERR_MUST_USE enum err stream_remove(struct collection *c, const struct stream_id *ids, size_t count,
                                    bool *removed, struct error *e);
/* Of the first entry from `from` on, in the order of ids or against it; *found: there is one. */
ERR_MUST_USE enum err stream_seek(struct collection *c, struct stream_id from, bool is_reverse,
                                  bool *found, struct stream_id *out, struct error *e);

struct stream_trim {
    bool by_id;
    uint64_t length;       /* that are left at most */
    struct stream_id from; /* by_id: the first id that is left */
    bool is_rough;         /* nothing is done for less than STREAM_ROUGH entries, or `length` ... */
    uint64_t limit;        /* ... nor for more than these; 0 = any number */
};
#define STREAM_ROUGH 100
/* *removed: how many. ERR_LIMIT: it would have to walk over too many. */
ERR_MUST_USE enum err stream_trim(struct collection *c, const struct stream_trim *t,
                                  uint64_t *removed, struct error *e);

/* The part of a walk from `from` to `to`, both included; a reverse one ends with `from`. */
void stream_range(const struct collection *c, struct stream_id from, struct stream_id to,
                  struct walk_range *out);
/* The id of an element of a walk. */
struct stream_id stream_id_of(const struct element *x);

/* Entries from the first that there ever was up to this id, it included; -1: not known, since
 * entries before it were deleted. As Redis counts them for a group's lag. */
int64_t stream_entries_upto(const struct stream_head *s, uint64_t length, struct stream_id id);
/* May an entry after this id have been deleted? */
bool stream_has_gaps_after(const struct stream_head *s, uint64_t length, struct stream_id id);

#endif
