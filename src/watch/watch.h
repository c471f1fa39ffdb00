/* watch: who wants to know of changes: to one key, to whatever lies below a prefix, to keys whose
 * path form matches a pattern. A layer over the engine's commits: no command calls it.
 *
 * A watcher is called once for every change, in commit order, inside the commit that makes it: not
 * yet durable. It may take note of it and pass it on with that version, no more: it must not
 * commit, nor add or remove watchers. A commit costs O(parts of the key) for each key, whatever the
 * number of watchers of other keys; patterns cost one match each.
 *
 * When that would be too much for one turn of the loop (many changes times many watchers), the rest
 * is told in the turns that follow (watch_turn): of each key once, without its value, and in order
 * with everything that comes meanwhile. Only a watcher with is_once is told in the commit, always.
 */
#ifndef WATCH_WATCH_H
#define WATCH_WATCH_H

#include "engine/engine.h"

enum watch_kind { WATCH_KEY, WATCH_PREFIX, WATCH_PATTERN, WATCH_KINDS };

struct change {
    struct slice
        key;     /* internal; len 0 = everything in the database was removed (not for WATCH_KEY) */
    bool exists; /* false: deleted, expired */
    struct slice value;
    uint64_t version; /* of the change */
    bool is_late;     /* `exists`, `value` are not known; there may have been others before */
};

struct watch;
struct watched_name;

/* In its owner; the first two members are set by it, the rest is watch's. */
struct watcher {
    void (*changed)(struct watcher *w, const struct change *c);
    bool is_once;              /* told once of a commit, whatever it changes, and never late */
    uint64_t since;            /* changes up to this version are no news to it */
    struct watched_name *name; /* NULL = not added */
    enum watch_kind kind;
    struct watcher *next, *prev;
};

/* Adds itself to the engine's layers; must live as long as it commits. late_bytes_max: of keys
 * whose changes are late; more, and all of them are given up (watch_take_loss). 0 = 64 MB. */
struct watch *watch_new(struct engine *g, size_t late_bytes_max);
/* Every watcher must have been removed. */
void watch_free(struct watch *x);
/* `name`: an internal key; head and tuple of a prefix; a head and a glob over path forms.
 * Copied. */
void watch_add(struct watch *x, struct watcher *w, enum watch_kind kind, struct slice name);
/* Harmless when it was not added. */
void watch_remove(struct watch *x, struct watcher *w);
size_t watch_count(const struct watch *x);
/* At the end of each turn of the loop: sends a part of what is late. True while there is more. */
bool watch_turn(struct watch *x);
/* Whether so much was late that it was given up, since this was last asked. Then only watchers with
 * is_once may trust that they were told of everything. */
bool watch_take_loss(struct watch *x);

#endif
