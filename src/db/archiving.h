/* archiving: what a database does for its archive (backend/local/archive.h) besides what its
 * journal does by itself: base backups, by a schedule, on request, and by themselves whenever
 * nothing that is there leads to what the journal now writes (docs/archive.md).
 *
 *   IDLE --due--> COPYING (the backend copies) --> TAKING (the archive checks it, gives it its
 *     name, lets old ones go) --> IDLE
 *
 * Owner's thread.
 */
#ifndef DB_ARCHIVING_H
#define DB_ARCHIVING_H

#include "backend/local/archive.h"
#include "base/schedule.h"

struct db;
struct archiving;

struct archiving_options {
    struct schedule schedule; /* of base backups */
    int64_t retention_ms;     /* any moment within it can be restored; 0 = any at all */
};

/* NULL when the database has no archive. */
struct archiving *archiving_new(struct db *db, const struct archiving_options *options);
void archiving_set_options(struct archiving *k, const struct archiving_options *options);
/* From now on none is begun; before the database closes. Harmless for NULL. */
void archiving_stop(struct archiving *k);
/* After the database has closed: it may have ended one. */
void archiving_free(struct archiving *k);
/* Every 10 ms or so; does nothing for NULL. */
void archiving_tick(struct archiving *k);

/* Makes a base backup. One that is under way may have begun too early: then another one follows.
 * The number to ask archiving_base_ended for. */
uint64_t archiving_base(struct archiving *k);
/* ERR_WAIT: it is being made, and `w` will be woken; else how it ended, with the newest version in
 * it. */
ERR_MUST_USE enum err archiving_base_ended(struct archiving *k, uint64_t number, uint64_t *version,
                                           struct waiter *w, struct error *e);

struct archiving_stats {
    struct archive_stats archive;
    uint32_t timeline;
    int64_t next_ms; /* when a base backup is due by the schedule, Unix time; 0 = never */
};

void archiving_stats(const struct archiving *k, struct archiving_stats *out);

#endif
