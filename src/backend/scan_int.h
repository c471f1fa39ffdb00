/* scan_int: what scan.c (rows of a range) and scan_load.c (single entries, as the scan sees them)
 * share. The states are drawn in scan.c.
 */
#ifndef BACKEND_SCAN_INT_H
#define BACKEND_SCAN_INT_H

#include "backend/pipeline_int.h"

#define LAYERS_MAX 64

struct lookup;
#define SCAN_LOOKUPS 2 /* of entries; of rows for a filter */
struct look;           /* scan_look.c */

enum scan_state { SCAN_FRESH, SCAN_PINNED, SCAN_FETCHING };

struct layer {
    struct memtable *memtable; /* referenced */
    struct omap_iter it;
};

struct scan {
    struct job job; /* first: a fetch on a query thread */
    struct pipeline *pipeline;
    enum scan_state state;
    bool is_closed; /* while fetching: free it when the thread is done */
    bool is_reverse, with_values, is_undivided;
    bool wants_values;  /* with_values may be for the filter alone */
    bool is_placed;     /* layers' iterators point where they should */
    bool is_store_done; /* the store has no more rows */
    struct buf start, end;
    struct buf last; /* key of the last row passed; empty = none */
    struct layer layers[LAYERS_MAX];
    size_t layer_count;
    uint64_t version; /* what it sees */
    uint64_t flushed; /* entries up to this version are flushed away */
    uint64_t depends;
    int64_t opened_us;
    size_t rows_hint;
    size_t *work_left;         /* as struct scan_range has it */
    uint64_t work;             /* of looks on the loop: in this turn, or of an undivided scan */
    struct look *look;         /* owned; a look that a thread makes; NULL = none was needed yet */
    struct row_filter *filter; /* referenced; NULL = every row */
    struct pooled_reader *reader; /* when pinned */
    struct shared_chunk *shared;
    struct store_chunk *chunk; /* shared's */
    size_t chunk_at;
    struct store_fetch fetch;
    enum err fetch_result;
    struct error fetch_error;
    struct waiter_list waiters;
    struct lookup *lookups[SCAN_LOOKUPS]; /* owned; NULL = nothing was asked for yet */
};

/* scan.c: the only place where its state changes. */
void scan_move(struct scan *s, enum scan_state to);
void scan_free(struct scan *s);
/* scan_load.c */
void scan_lookup_free(struct scan *s);
/* scan_look.c: does the filter let the row with this key through? ERR_WAIT while a thread looks;
 * then ask again for the same. ERR_LIMIT: that is too much work. */
ERR_MUST_USE enum err scan_look(struct scan *s, struct slice key, struct slice value, bool *matches,
                                struct waiter *w, struct error *e);
void scan_look_free(struct scan *s);
/* Should others have a turn? */
bool scan_worked_enough(const struct scan *s);

#endif
