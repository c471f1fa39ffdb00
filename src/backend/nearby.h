/* nearby: files on this machine that a store makes which is itself elsewhere (backend/postgres):
 * whole copies of it, that a server can start with; and its text indexes. backend/local gives it
 * (local.h); who opens the store hands it over. What goes into a file goes by memtables, as into
 * any store (store.h).
 *
 * The file of text indexes is a store that takes of a memtable the definitions of text indexes
 * (BACKEND_SPACE_TEXT) and the entries that they cover, and forgets the rest; its `applied` moves
 * with each. Its readers search in it; `fill` fills in a new index, asking where the entries are
 * (`struct nearby_source`). It has an origin, a text that says what it was made of: without one it
 * is not whole.
 */
#ifndef BACKEND_NEARBY_H
#define BACKEND_NEARBY_H

#include "backend/store.h"

struct text_ops;

/* Where the entries are. Store thread. */
struct nearby_source {
    /* As a store's fetch; *entries: how many the database has. */
    enum err (*fetch)(void *arg, const struct store_fetch *f, struct store_chunk *out,
                      uint64_t *entries, struct error *e);
    void *arg;
};

struct nearby_texts {
    const char *path;
    const struct text_ops *text_ops;
    struct nearby_source source;
    bool is_new; /* what is there goes first */
};

struct nearby {
    /* A new empty store under another name than `path`, in its directory, which is made when it is
     * not there; what an earlier one that did not come to its end left there is removed. One thread
     * at a time, any thread. To be ended by copy_end. ERR_IO, ERR_DISK_FULL. */
    enum err (*copy_begin)(const char *path, const struct text_ops *text_ops, struct store **out,
                           struct error *e);
    /* Closes it. is_whole: it becomes a database of its own at `path`, synced, in place of what was
     * there; else, and on an error, nothing is left of it, and `path` is as it was. */
    enum err (*copy_end)(struct store *copy, const char *path, bool is_whole, struct error *e);

    /* The text indexes at a path, made when there are none. One process has them at a time. Appends
     * the origin to `origin`; nothing: there is none. Any thread, while they are not open.
     * ERR_LOCKED, ERR_IO, ERR_DISK_FULL, ERR_CORRUPT, ERR_FORMAT. */
    enum err (*texts_open)(const struct nearby_texts *texts, struct buf *origin, struct store **out,
                           struct error *e);
    /* Removes those at a path, which are not open; that there are none is fine. */
    enum err (*texts_remove)(const char *path, struct error *e);
    /* Store thread: takes the origin away, then all indexes and entries. */
    enum err (*texts_empty)(struct store *texts, struct error *e);
    /* Store thread: from now on it is of this origin. */
    enum err (*texts_mark)(struct store *texts, struct slice origin, struct error *e);
};

#endif
