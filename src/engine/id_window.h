/* id_window: ids that count for a time after they were used, in memory: request ids
 * (engine/idem.c), dedup ids (queue/dedup.c). Each stands for a row of the store and is kept under
 * that row's key, which begins with the database; within a database they are in order of their
 * time.
 *
 * The owner decides how long an id counts, writes and deletes the rows, and keeps this in step from
 * its on_commit hook. What was used since the start counts so long by both clocks: a wall clock
 * that is set forward does not end what a client may still send again. What is read after a start
 * counts by the wall clock, and, if the owner wants it, for the whole time once more: the clock may
 * be that of another node, which is ahead.
 */
#ifndef ENGINE_ID_WINDOW_H
#define ENGINE_ID_WINDOW_H

#include "base/htab.h"
#include "base/sparse.h"
#include "engine/engine.h"

struct id_entry {
    struct slice key; /* the row's; first: the table looks here; its bytes follow the struct */
    uint64_t hash;
    int64_t time_ms;              /* wall clock, as the row has it */
    int64_t put_ms;               /* monotonic */
    struct id_entry *next, *prev; /* by time, NULL at the ends */
};

struct id_list {
    struct htab table;             /* of struct id_entry */
    struct id_entry *first, *last; /* oldest first; owned */
};

struct id_window {
    struct sparse databases;  /* of struct id_list; owned; only of those that have ids */
    uint64_t count;           /* of all databases */
    struct id_entry *dropped; /* of flushed databases, linked by next; owned */
};

void id_window_init(struct id_window *w);
void id_window_fini(struct id_window *w);
/* NULL: not there. Borrowed until the next change. */
const struct id_entry *id_window_find(const struct id_window *w, struct slice key);
const struct id_entry *id_window_oldest(const struct id_window *w, uint16_t database);
/* Does it still count, at wall time now_ms, of ids that count for window_ms? */
bool id_window_counts(const struct id_entry *x, int64_t now_ms, int64_t window_ms);
/* The first database from *at on that has ids, which *at then is. */
bool id_window_next(const struct id_window *w, uint32_t *at);
/* Adds the id, or renews one that is there, as the newest of its database. Copies the key. */
void id_window_put(struct id_window *w, struct slice key, int64_t time_ms);
/* Likewise, of a row that is read after a start. is_anew: it counts for all of its time again. */
void id_window_read(struct id_window *w, struct slice key, int64_t time_ms, bool is_anew);
void id_window_remove(struct id_window *w, struct slice key); /* nothing if it is not there */
/* Orders the database by time after its rows were put in the order of their keys. */
void id_window_sort(struct id_window *w, uint16_t database);
/* Forgets all ids of a database at once; id_window_free_dropped gives their memory back, at most
 * `max` of them a call. */
void id_window_forget(struct id_window *w, uint16_t database);
void id_window_free_dropped(struct id_window *w, unsigned max);

#endif
