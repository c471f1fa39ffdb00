/* nearby: files on this machine that a store makes which is itself elsewhere (backend/postgres):
 * whole copies of it, that a server can start with. backend/local gives it (local.h); who opens
 * the store hands it over. What goes into a file goes by memtables, as into any store (store.h).
 */
#ifndef BACKEND_NEARBY_H
#define BACKEND_NEARBY_H

#include "backend/store.h"

struct text_ops;

struct nearby {
    /* A new empty store under another name than `path`, in its directory, which is made when it is
     * not there; what an earlier one that did not come to its end left there is removed. One thread
     * at a time, any thread. To be ended by copy_end. ERR_IO, ERR_DISK_FULL. */
    enum err (*copy_begin)(const char *path, const struct text_ops *text_ops, struct store **out,
                           struct error *e);
    /* Closes it. is_whole: it becomes a database of its own at `path`, synced, in place of what was
     * there; else, and on an error, nothing is left of it, and `path` is as it was. */
    enum err (*copy_end)(struct store *copy, const char *path, bool is_whole, struct error *e);
};

#endif
