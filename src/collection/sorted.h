/* sorted: parts of a sorted set: by rank, by score, by member. */
#ifndef COLLECTION_SORTED_H
#define COLLECTION_SORTED_H

#include "collection/walk.h"

enum sorted_by { BY_RANK, BY_SCORE, BY_LEX };

/* A bound by member: a member, or before all, after all of them. */
struct lex_bound {
    int infinite; /* below 0: before all; above 0: after all */
    bool is_open; /* the member itself is outside */
    struct slice member;
};

struct sorted_range {
    enum sorted_by by;
    bool is_reverse;
    int64_t start, stop; /* ranks, as Redis counts: in the direction of the walk, below 0 from the
                          * end */
    double min, max;     /* scores */
    bool min_is_open, max_is_open;
    struct lex_bound first, last; /* members; only where all have the same score */
    int64_t offset, limit;        /* of BY_SCORE and BY_LEX; limit below 0: all */
};

/* The walk over it. */
ERR_MUST_USE enum err sorted_walk(struct collection *c, const struct sorted_range *r,
                                  struct walk_range *out, struct error *e);
/* Elements in it, without offset and limit. */
ERR_MUST_USE enum err sorted_count(struct collection *c, const struct sorted_range *r,
                                   uint64_t *out, struct error *e);
/* All elements of it, copied to the arena of the view. ERR_LIMIT: more than COLLECTION_ROWS_MAX. */
ERR_MUST_USE enum err sorted_gather(struct collection *c, const struct sorted_range *r,
                                    struct element **out, size_t *count, struct error *e);
/* The rank of the member, from the lowest score; *found false: it is none. */
ERR_MUST_USE enum err sorted_rank(struct collection *c, struct slice member, bool *found,
                                  uint64_t *rank, double *score, struct error *e);

#endif
