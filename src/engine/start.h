/* start: after a start, reads the rows that layers keep in memory (request ids, queues, dedup ids,
 * definitions of indexes), a slice in each tick, and gives each to its layer. One space after the
 * other, in each of them one database after the other; only databases that have something are
 * looked at.
 *
 *   of a space and a database:   UNREAD --read--> READ
 *                                   |
 *                                   +--could not be read--> FAILED --a second later: tried again-->
 *
 * A database that cannot be read stops only the callers that need it: they get the error.
 */
#ifndef ENGINE_START_H
#define ENGINE_START_H

#include "engine/engine.h"

#define START_SPACES_MAX 8

/* Rows of one space, for the layer that keeps them. */
struct start_space {
    enum space space;
    const char *what; /* in the log and in errors: "request ids"; lives as long */
    unsigned rank;    /* the lower are read first */
    /* A row. Its error makes the database one that cannot be read. The layer may know a newer state
     * of it already. */
    enum err (*row)(void *arg, struct slice key, const struct entry *entry, struct error *e);
    /* All rows of the database were given, or, not is_good, an unknown part of them: it is read
     * again later, from its first. May be NULL. */
    void (*done)(void *arg, uint16_t database, bool is_good);
    void *arg;
};

/* Before the first tick. */
void engine_read_at_start(struct engine *g, const struct start_space *x);
/* OK when the database's rows of the space are there; ERR_WAIT, `w` will be woken; or why they
 * cannot be read. */
ERR_MUST_USE enum err engine_start_check(struct engine *g, enum space space, uint16_t database,
                                         struct waiter *w, struct error *e);
/* The same without waiting. */
bool engine_start_is_read(const struct engine *g, enum space space, uint16_t database);
/* Has the reading begun? What is committed from then on is not among the rows that it gives. */
bool engine_start_is_begun(const struct engine *g, enum space space, uint16_t database);
/* All databases' rows of the space were read, or tried at least once. */
bool engine_start_is_over(const struct engine *g, enum space space);
/* So were those of all spaces: no caller waits for a first reading any more. */
bool engine_is_started(const struct engine *g);

#endif
