/* archive_manifest: what an archive holds: the file `manifest` in its directory (archive.h).
 *
 *   tupled-archive 1
 *   timeline <number> <parent> <fork> <start> <made, ms> <database id, hex>
 *   segment <timeline> <number> <before> <last> <last ms> <bytes> <xxh3 of the file, hex>
 *   base <timeline> <version> <time ms> <bytes> <xxh3 of the file, hex> [<database> ...]
 *   end <xxh3 of all before, hex>
 *
 * It is replaced as a whole, so it is never half of one. Times are Unix time in ms; versions are
 * numbers of commits.
 *
 * A TIMELINE is a history that one database wrote. The first is 1. A restore begins another one: it
 * has the history of `parent` up to the version `fork`, and its own commits from `start` on. What
 * the parent committed above `fork` is not of its history: a version says by itself of which
 * timeline it is, because each begins 2^40 above the highest that was ever started.
 *
 * A SEGMENT holds the commits above `before` up to `last`. A BASE is a whole tupled.db as of a
 * version; all that is in it was committed at or before its time. Of the databases that it names it
 * has nothing.
 */
#ifndef BACKEND_LOCAL_ARCHIVE_MANIFEST_H
#define BACKEND_LOCAL_ARCHIVE_MANIFEST_H

#include "backend/local/journal_format.h"

#define TIMELINE_FIRST 1
#define TIMELINE_STEP (1ULL << 40)

struct manifest_timeline {
    uint32_t number, parent; /* parent 0 = none */
    uint64_t fork, start;
    int64_t made_ms;
    uint8_t database_id[DATABASE_ID_BYTES];
};

struct manifest_segment {
    uint32_t timeline;
    uint64_t number;
    uint64_t before, last;
    int64_t last_ms;
    uint64_t bytes;
    uint64_t sum;
};

struct manifest_base {
    uint32_t timeline;
    uint64_t version;
    int64_t time_ms;
    uint64_t bytes;
    uint64_t sum;
    uint16_t *without; /* owned; databases that are not in it */
    size_t without_count;
};

struct manifest {
    struct manifest_timeline *timelines; /* each owned; in the order in which they were added */
    struct manifest_segment *segments;
    struct manifest_base *bases;
    size_t timeline_count, segment_count, base_count;
};

/* Empty when the archive has no manifest. ERR_CORRUPT: it is damaged; ERR_FORMAT: a newer one. */
ERR_MUST_USE enum err manifest_read(const char *dir, struct manifest *out, struct error *e);
ERR_MUST_USE enum err manifest_write(const char *dir, const struct manifest *m, struct error *e);
void manifest_fini(struct manifest *m);

struct manifest_timeline *manifest_timeline(const struct manifest *m, uint32_t number);
/* NULL = it has not been archived. */
struct manifest_segment *manifest_segment(const struct manifest *m, uint32_t timeline,
                                          uint64_t number);
void manifest_add_timeline(struct manifest *m, const struct manifest_timeline *t);
void manifest_add_segment(struct manifest *m, const struct manifest_segment *s);
/* Takes `without`. */
void manifest_add_base(struct manifest *m, const struct manifest_base *b);
void manifest_remove_segment(struct manifest *m, size_t i);
void manifest_remove_base(struct manifest *m, size_t i);

/* The timeline that a version is of; NULL = of none that is known. */
struct manifest_timeline *manifest_timeline_of(const struct manifest *m, uint64_t version);
/* The first version of the next timeline: above everything that any may have given. */
uint64_t manifest_next_start(const struct manifest *m);

/* Names of files within the archive, NUL-ended; and the whole paths. */
void manifest_segment_path(struct buf *out, const char *dir, const struct manifest_segment *s);
void manifest_base_path(struct buf *out, const char *dir, const struct manifest_base *b);

/* Of a segment, the commits up to `until`: where another timeline begins in it. */
struct manifest_step {
    const struct manifest_segment *segment; /* borrowed */
    uint64_t until;
};

/* What a restore reads, in order: a base, perhaps, and the segments after it. */
struct manifest_plan {
    const struct manifest_base *base; /* NULL: from nothing */
    struct manifest_step *steps;      /* owned */
    size_t count;
    uint64_t version; /* up to here they go: `until` at most */
    /* Of which timeline something is missing, though what comes later is there; 0 = of none: the
     * archive ends at `version`. The segment that is; 0 = its end. */
    uint32_t missing_timeline;
    uint64_t missing;
};

/* For the history of a timeline up to the version `until`, from a base at or before it, and at or
 * before until_ms. */
void manifest_plan(const struct manifest *m, uint32_t timeline, uint64_t until, int64_t until_ms,
                   struct manifest_plan *out);
void manifest_plan_fini(struct manifest_plan *p);

#endif
