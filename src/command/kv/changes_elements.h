/* changes_elements: what became of the elements of collections in one commit, for KV.CHANGES ...
 * ELEMENTS. Every commit that changes elements of a key writes its head (collection.h, invariant
 * 3), so what belongs to a row of the feed is in the same commit. */
#ifndef COMMAND_KV_CHANGES_ELEMENTS_H
#define COMMAND_KV_CHANGES_ELEMENTS_H

#include "request/args.h"

/* The rows of elements, and of whose they are, of one commit, in the order of their keys. */
struct commit_elements {
    const struct changes_row **rows; /* in the arena */
    size_t count;
    struct slice start, end; /* keys that may be told: internal, of the data space */
};

/* Keys of the rows that the feed must be given beside the entries: [start, end), which are heads
 * of keys of the database. */
void commit_elements_range(uint16_t database, uint8_t start[KEY_HEAD_BYTES],
                           uint8_t end[KEY_HEAD_BYTES]);
bool is_row_of_elements(const struct changes_row *row);
/* Of rows of one commit. x->start and x->end are set by the caller, and borrowed. */
void commit_elements_take(struct commit_elements *x, struct arena *arena,
                          const struct changes_row *rows, size_t count);
/* The fifth item of the row: nil unless it sets a key to a collection; else
 *     [whole | part, changed, removed]    or    [renamed, changed, removed, key]
 * changed: as the elements of KV.ELEMENTS, of lists with their positions: [position, element].
 * removed: fields, members, positions, ids of entries; [from, to] of a stream that was trimmed: its
 * entries from `from` on (nil = from the first) to before `to`. */
void reply_changed_elements(struct resp_writer *w, const struct commit_elements *x,
                            const struct changes_row *row, enum format format, struct arena *arena);

#endif
