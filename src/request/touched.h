/* touched: which keys of a range commits have written while it was walked, so that a command that
 * read the range over several turns can end with one transaction about its newest state
 * (KV.DELRANGE ... WHERE). A layer over commits; loop thread.
 */
#ifndef REQUEST_TOUCHED_H
#define REQUEST_TOUCHED_H

#include "engine/engine.h"

#define TOUCHED_MAX 10000 /* keys that one walk remembers */

struct touched_ranges; /* of the server */

/* One walk; embedded in its owner. */
struct touched {
    struct touched *next, *prev; /* circular; NULL = not watching */
    struct slice start, end;     /* borrowed */
    struct buf keys;             /* length (2 bytes) and key, one after the other */
    size_t count;
    bool is_lost; /* too many, or no memory: the walk must begin anew */
};

/* Adds its layer to the engine, which must be freed after it. */
struct touched_ranges *touched_new(void);
/* Its commits are noted; before the first of them, once for each engine. */
void touched_of_engine(struct touched_ranges *t, struct engine *g);
void touched_free(struct touched_ranges *t);
void touched_begin(struct touched_ranges *t, struct touched *range, struct slice start,
                   struct slice end);
void touched_end(struct touched *range); /* harmless when it never began */
/* The next key at *at (0 at first), moved past it. False at the end. */
bool touched_next(const struct touched *range, size_t *at, struct slice *key);

#endif
