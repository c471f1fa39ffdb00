/* lineage: of which timeline a database is (archive_manifest.h), and which versions are not of its
 * history although they may once have been given: what was committed after the moment to which a
 * restore went back. Kept in tupled.db (meta, `timeline`):
 *
 *   <number> [<fork>-<start> ...]      versions above fork and below start
 */
#ifndef BACKEND_LOCAL_LINEAGE_H
#define BACKEND_LOCAL_LINEAGE_H

#include "base/buf.h"

struct lineage_gap {
    uint64_t fork, start;
};

struct lineage {
    uint32_t timeline;
    struct lineage_gap *gaps; /* owned; oldest first */
    size_t count;
};

/* That of a new database. */
void lineage_init(struct lineage *l);
void lineage_fini(struct lineage *l);
/* False when the text is none. */
bool lineage_read(struct slice text, struct lineage *out);
void lineage_format(const struct lineage *l, struct buf *out);
/* It becomes another timeline, which begins at `start` with the history up to `fork`. */
void lineage_fork(struct lineage *l, uint32_t timeline, uint64_t fork, uint64_t start);
/* *fork (may be NULL): the newest version of before that. */
bool lineage_is_discarded(const struct lineage *l, uint64_t version, uint64_t *fork);

#endif
