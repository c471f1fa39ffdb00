/* archive_journal: what an archive has after a base, as the journal of a pipeline that is opened
 * and closed again: opening it replays that, closing it leaves it in the store. Nothing can be
 * committed.
 */
#ifndef BACKEND_LOCAL_ARCHIVE_JOURNAL_H
#define BACKEND_LOCAL_ARCHIVE_JOURNAL_H

#include "backend/journal.h"
#include "backend/local/archive_manifest.h"

struct archive_replay {
    const char *dir;
    const struct manifest *manifest;
    const struct manifest_plan *plan;
    uint64_t until;   /* no commit above it ... */
    int64_t until_ms; /* ... and none after this time */
    /* After each segment: bytes of all so far. NULL = it is not called. */
    void (*progress)(void *arg, uint64_t bytes);
    void *arg;
    /* results */
    uint64_t version; /* of the last commit that was taken; 0 = none */
    int64_t time_ms;  /* its time */
    uint64_t commits;
    bool is_reached; /* there was a commit that comes after the target */
};

/* `replay` is the caller's and outlives it. Its start fails with ERR_CORRUPT, which names the file,
 * when something is damaged or missing. */
struct journal *archive_journal_new(struct archive_replay *replay);

#endif
