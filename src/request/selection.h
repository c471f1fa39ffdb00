/* selection: the entries of a range that match a filter, in key order, as they were at one moment.
 * Either the range is walked, or an index says which of its entries can match (index/plan.h): then
 * these are sorted, loaded, and judged by the filter as all others are.
 *
 * Which is less work is not known before. So a little of each is tried:
 *
 *   open --> rows of the index, at most ROWS_FIRST --- these are all --> LOADING
 *                 |                                                       ^  |
 *                 v  there are more, or no index serves                   |  | a value is too
 *              WALKING --- it takes long, and ROWS_MAX rows are all ------'  | large for the loop
 *                 ^            (begins anew, at a later moment)              |
 *                 `----------------------------------------------------------'
 *
 * Rows are read within one turn, which what they name is the moment of: reading that must wait for
 * the disk is done again. Two indexes that serve are both asked where the first names many.
 *
 * Without a filter it is a scan.
 */
#ifndef REQUEST_SELECTION_H
#define REQUEST_SELECTION_H

#include "index/plan.h"
#include "request/command.h"

#define SELECTION_ROWS_FIRST 64   /* read before anything else */
#define SELECTION_ROWS_MAX 2048   /* what one turn can read */
#define SELECTION_WALK_FIRST 8192 /* entries, about, before more than the first rows are read */

struct selection;

/* Bounds are copied. ERR_WAIT: nothing is opened, ask again. `range->filter` is what arg_where made
 * (NULL = every entry), and must outlive the selection. */
ERR_MUST_USE enum err selection_open(struct request *rq, const struct scan_range *range,
                                     struct selection **out);
void selection_close(struct selection *s); /* may be NULL */
/* As engine_scan_next. *is_anew, also with an error: what was returned before is void, and comes
 * again. */
ERR_MUST_USE enum err selection_next(struct request *rq, struct selection *s, struct slice *key,
                                     struct entry *out, bool *is_anew);
/* As client_yield. */
ERR_MUST_USE enum err selection_yield(struct request *rq, struct selection *s);
/* As client_yield_or_go_on. */
ERR_MUST_USE enum err selection_yield_or_go_on(struct request *rq, struct selection *s);
/* It is told: the reply depends on what it has seen. */
void selection_end(struct request *rq, const struct selection *s);
size_t selection_bytes(const struct selection *s);

/* What rows of an index say: which entries can match. */
struct candidates {
    struct slice *keys; /* sorted, each once; in the arena */
    size_t count;
    size_t rows; /* that were read */
    bool is_all; /* of the plan's rows; else there are more than were asked for */
    uint64_t depends;
};

/* Which indexes were asked, and what they said. */
struct index_choice {
    struct index_plan *plans; /* that serve, the best first; in the arena */
    size_t count;
    size_t asked;                    /* of them, from the first on */
    struct candidates of[PLANS_MAX]; /* of those that were asked */
    struct candidates found;         /* is_all: of the first whose rows are few enough, or of two */
};
/* Reads at most rows_max rows of each within this turn. ERR_WAIT: ask again for the same. */
ERR_MUST_USE enum err choice_make(struct request *rq, const struct plan_question *q,
                                  size_t rows_max, struct index_choice *out);

#endif
