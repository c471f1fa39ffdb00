/* overlay: what a transaction under way has written so far, over the state that it began with. A
 * single command has one on the stack; EXEC and IDEM have one for all their commands.
 *
 * Invariants: a key is in it at most once, with its last state; `items` keeps the order of first
 * writes. A flush drops what the overlay held of that database: the flush is the batch's first
 * mutation of it.
 */
#ifndef ENGINE_OVERLAY_H
#define ENGINE_OVERLAY_H

#include "base/htab.h"
#include "base/sparse.h"
#include "engine/engine_int.h"
#include "engine/gaps.h"

/* Rows that the scans of one EXEC may pass, whether they are told or not: it runs in one turn of
 * the loop. */
#define OVERLAY_ROWS_MAX 100000
/* So many are looked at one by one, without a table. */
#define OVERLAY_LINEAR_MAX 8

struct written {
    struct slice key; /* first: the table looks here */
    uint64_t hash;
    bool exists;
    bool is_flushed; /* a flush came later and nothing after it */
    bool is_void;    /* it was not there before and is not now: see view_delete_for */
    struct slice value;
    int64_t expiry_ms;
    /* Of the data space: written since the layers derived; then `before` is what it was by then, if
     * the overlay had it already. */
    bool is_dirty, has_before;
    bool is_offer; /* see view_offer */
    uint16_t cause;
    struct entry before;
    struct data_passed *passed; /* since it is dirty */
    struct written *dirty_next;
};

struct overlay {
    struct engine *engine;
    struct arena *arena;
    struct written **items; /* in order of the first write; in the arena */
    size_t count, cap;
    struct written **sorted; /* the first sorted_count of items, by key: made when a scan asks */
    size_t sorted_count, sorted_cap;
    struct written *dirty; /* the newest first */
    size_t dirty_count;
    struct htab index;     /* used above OVERLAY_LINEAR_MAX */
    uint64_t bytes;        /* of keys and values */
    size_t ops;            /* evaluated */
    size_t ops_allowed;    /* if that is more than options.ops_max */
    size_t work_left;      /* of scans over it: SCAN_WORK_ROW for each row that they pass */
    uint64_t steps;        /* see engine_take_steps */
    uint64_t steps_max;    /* it may begin something while it took fewer */
    size_t lent_left;      /* rows that view_lend may still give */
    size_t derived;        /* rows that layers looked at to derive */
    size_t idem_rows;      /* request ids that it would add */
    uint64_t version;      /* that its commit gets; 0 = not asked for */
    int64_t now_ms;        /* transaction time */
    int64_t told_ms;       /* see engine_tell_time_of */
    unsigned changes;      /* evaluations that would commit something */
    unsigned writes;       /* keys that were set or deleted, and each time */
    uint32_t sequence;     /* numbers given out by view_sequence */
    bool commits_always;   /* even when nothing was written */
    uint16_t cause;        /* enum cause, of what is written now */
    bool is_exempt;        /* see view_exempt */
    struct sparse flushed; /* not NULL of databases that were flushed */
    struct forgotten {     /* see MUTATION_FORGET; in the arena */
        struct forgotten *next;
        struct slice start, end;
    } * forgotten;
    size_t keys[SPACE_END]; /* of all databases, by space */
    bool keeps;             /* see engine_keep */
    struct gaps gaps;
    struct overlay_size { /* of the data space of one database: see engine_count */
        bool is_known;
        uint16_t database;
        size_t live;     /* of all that was written: how many there are */
        size_t upto;     /* so many of items were looked up below */
        uint64_t stored; /* and so many of these are there */
    } size;
    /* Of savepoint.c: */
    struct savepoint *mark;  /* the newest; NULL = there is none */
    struct savepoint *spare; /* memory of earlier ones, by was.mark */
    struct saved *saved;     /* what was written again since the first; the newest first */
    bool has_flushed;        /* since the newest */
};

struct savepoint {
    struct overlay was; /* its `mark` is the one before */
};

struct saved {
    struct saved *next;
    struct written *of;
    struct written before;
};

void overlay_init(struct overlay *o, struct engine *g, struct arena *arena);
void overlay_fini(struct overlay *o);
/* What it says of the key; NULL = nothing: see below it, unless the database was flushed. */
struct written *overlay_find(struct overlay *o, struct slice key);
/* `key` and `value` are borrowed until the commit, unless it keeps them. */
void overlay_set(struct overlay *o, struct slice key, struct slice value, int64_t expiry_ms);
void overlay_delete(struct overlay *o, struct slice key);
static inline bool overlay_is_flushed(const struct overlay *o, uint16_t database)
{
    return sparse_get(&o->flushed, database) != NULL;
}
void overlay_flush(struct overlay *o, uint16_t database);
/* What the overlay wrote in the range is written all the same, and goes with it. */
void overlay_forget(struct overlay *o, struct slice start, struct slice end);
/* Those of [start, end) in key order; good until the next write. */
size_t overlay_range(struct overlay *o, struct slice start, struct slice end,
                     struct written *const **out);
/* What is dirty now has been derived from. */
void overlay_clean(struct overlay *o);
void overlay_entry(const struct overlay *o, const struct written *w, struct entry *out);
/* The entry is about to change: an undo brings it back as it is. */
void overlay_save(struct overlay *o, struct written *w);
/* The mutations that it comes to. */
void overlay_write_set(struct overlay *o, struct write_set *ws);

#endif
