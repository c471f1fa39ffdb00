/* kv_delrange: KV.DELRANGE. Up to the transaction limits it is one transaction; beyond that it goes
 * on with further transactions, and others run in between: it is then not atomic.
 *
 * Without WHERE, or inside a transaction, the range is read and the deletions are committed in one
 * turn. A read that must wait for the disk makes the turn useless: the scan is closed, the fetch
 * that is under way brings pages into memory, and the turn is tried again. Each try gets further.
 *
 * When it is known that one transaction is not enough, the transactions are small, and none is made
 * before the store has followed (engine_admit_bulk): what others wait for is one of them. They get
 * smaller still where so much follows from each key, in indexes, that a transaction cannot take it.
 *
 * With WHERE the range may be long and the matches few, so the reading takes many turns: a scan
 * gathers the keys that match (query threads look at the values), and what commits write into the
 * range meanwhile is noted (touched.h). Then, in one turn, every key of both lists is looked at
 * once more, as it is now, and those that match are removed: the transaction is about one state.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "request/args.h"
#include "request/block.h"
#include "request/keys.h"
#include "request/range.h"
#include "request/selection.h"
#include "request/table.h"
#include "request/touched.h"
#include "request/where.h"

#define SLICE_KEYS 1000 /* gathered before others get a turn */
#define PACED_KEYS 500  /* of one transaction of several */
#define RESTARTS_MAX 3

struct delrange {
    struct pending pending; /* first */
    struct buf start, end;  /* of what is left */
    uint64_t limit;         /* entries still to remove */
    size_t batch;           /* keys of one transaction */
    bool is_admitted;       /* the next transaction may be made */
    uint64_t removed;
    struct row_filter *where; /* owned reference; NULL = every entry */
    /* With it: */
    struct selection *selection; /* while it gathers; else NULL */
    struct touched touched;
    struct arena arena; /* of keys */
    struct slice *keys; /* that matched when the scan passed them */
    size_t count;
    uint64_t bytes_left;
    bool has_gathered, is_last;
    bool is_cut; /* more than fits into one transaction: the rest is gathered again */
    unsigned restarts;
};

static void gather_end(struct delrange *d)
{
    selection_close(d->selection);
    d->selection = NULL;
    touched_end(&d->touched);
    arena_fini(&d->arena);
    d->keys = NULL;
    d->has_gathered = false;
}

static void delrange_free(struct pending *p)
{
    struct delrange *d = (struct delrange *)p;
    if (d->keys != NULL) gather_end(d);
    where_unref(d->where);
    buf_fini(&d->start);
    buf_fini(&d->end);
    mem_free(d);
}

struct what {
    struct range range;
    bool is_all;
    struct slice where; /* data NULL = all of them */
    int64_t limit;
};

static enum err check_what(struct request *rq, void *bound)
{
    const struct what *a = bound;
    bool has_prefix = a->range.prefix.data != NULL;
    bool has_bounds = a->range.start.data != NULL && a->range.end.data != NULL;
    bool has_half = (a->range.start.data != NULL) != (a->range.end.data != NULL);
    if (a->is_all + has_prefix + has_bounds == 1 && !has_half) return OK;
    return error_set(&rq->error, ERR_SYNTAX,
                     "syntax error: KV.DELRANGE needs either PREFIX, or START and END, or ALL");
}

/* Options come in any order, so the alternatives are for people. */
ARGUMENTS_WITH(delrange_arguments, struct what, "range [ALL] [WHERE filter] [LIMIT count]",
               WITH(.check = check_what, .hint = range_hint, .words_least = 1,
                    .shown = "<PREFIX key | START key END key | ALL> [WHERE filter] [LIMIT count]"),
               ARG_INSIDE(struct what, range, "range", range_arguments),
               ARG_FLAG(struct what, is_all, "ALL"), ARG_FILTER(struct what, where, "WHERE"),
               ARG_INTEGER(struct what, limit, "LIMIT", 1, INT64_MAX, -1));

static enum err delrange_begin(struct request *rq, struct delrange *d)
{
    const struct what *a = rq->bound;
    struct slice start;
    struct slice end;
    d->limit = a->limit < 0 ? UINT64_MAX : (uint64_t)a->limit;
    d->batch = SIZE_MAX;
    enum err r = range_resolve(rq, &a->range, &start, &end);
    if (r == OK && a->where.data != NULL) r = arg_where(rq, a->where, &d->where);
    if (r != OK) return r;
    buf_append(&d->start, start.data, start.len);
    buf_append(&d->end, end.data, end.len);
    return OK;
}

static size_t keys_max(const struct request *rq, const struct delrange *d)
{
    size_t max = engine_limits(rq->env->db->engine)->ops_max;
    if (d->batch < max) max = d->batch;
    return d->limit < max ? (size_t)d->limit : max;
}

/* There is more than one transaction takes: from now on they are small. */
static size_t pace(const struct request *rq, struct delrange *d, size_t count, bool is_last)
{
    if (is_last || rq->overlay != NULL || count == d->limit) return count;
    if (d->batch > PACED_KEYS) d->batch = PACED_KEYS;
    return count < d->batch ? count : d->batch;
}

/* How the transaction went: false when it is to be tried again with less. */
static bool pace_learn(const struct request *rq, struct delrange *d, size_t count, enum err result)
{
    if (result == OK && d->batch < PACED_KEYS) d->batch *= 2;
    if (result != ERR_LIMIT || rq->overlay != NULL || count < 2) return true;
    d->batch = count / 2;
    return false;
}

/* Reads up to a transaction's worth of keys in this turn. *is_last: the range has no more. */
static enum err collect(struct request *rq, struct delrange *d, struct txn *t, bool *is_last)
{
    size_t max = keys_max(rq, d);
    uint64_t bytes_left = engine_limits(rq->env->db->engine)->txn_bytes_max;
    struct scan_range range = {.start = buf_slice(&d->start),
                               .end = buf_slice(&d->end),
                               .filter = d->where,
                               .is_undivided = true};
    struct selection *selection = NULL;
    t->ops = arena_alloc(rq->arena, (max + 1) * sizeof *t->ops);
    enum err r = selection_open(rq, &range, &selection);
    *is_last = false;
    while (r == OK) {
        struct slice key;
        struct entry entry;
        bool is_anew = false; /* never in one turn */
        r = selection_next(rq, selection, &key, &entry, &is_anew);
        if (r != OK) break;
        if (key.len == 0) {
            *is_last = true;
            break;
        }
        if (t->count == max || key.len > bytes_left) break;
        bytes_left -= key.len;
        t->ops[t->count++] = (struct op){.kind = OP_DELETE, .key = arena_copy(rq->arena, key)};
    }
    if (selection != NULL) selection_end(rq, selection);
    selection_close(selection);
    if (r == OK) t->count = pace(rq, d, t->count, *is_last); /* one that waits has not seen all */
    return r;
}

/* ---- with WHERE ---- */

static void gather_begin(struct request *rq, struct delrange *d)
{
    arena_init(&d->arena, 64 * 1024);
    d->keys = arena_alloc(&d->arena, (keys_max(rq, d) + 1) * sizeof *d->keys);
    d->count = 0;
    d->bytes_left = engine_limits(rq->env->db->engine)->txn_bytes_max;
    d->is_last = false;
    touched_begin(rq->env->touched, &d->touched, buf_slice(&d->start), buf_slice(&d->end));
}

static enum err gather_open(struct request *rq, struct delrange *d)
{
    struct scan_range range = {
        .start = buf_slice(&d->start), .end = buf_slice(&d->end), .filter = d->where};
    return d->selection != NULL ? OK : selection_open(rq, &range, &d->selection);
}

/* The keys that match, over as many turns as it takes. */
static enum err gather(struct request *rq, struct delrange *d)
{
    size_t max = keys_max(rq, d);
    enum err r = gather_open(rq, d);
    for (unsigned i = 0; r == OK; i++) {
        struct slice key;
        struct entry entry;
        bool is_anew = false;
        if (i == SLICE_KEYS) return selection_yield(rq, d->selection);
        r = selection_next(rq, d->selection, &key, &entry, &is_anew);
        if (is_anew) {
            d->count = 0;
            d->bytes_left = engine_limits(rq->env->db->engine)->txn_bytes_max;
        }
        if (r != OK) return r;
        d->is_last = key.len == 0;
        if (d->is_last || d->count == max || key.len > d->bytes_left) break;
        d->bytes_left -= key.len;
        d->keys[d->count++] = arena_copy(&d->arena, key);
    }
    if (r != OK) return r;
    selection_end(rq, d->selection);
    selection_close(d->selection);
    d->selection = NULL;
    d->has_gathered = true;
    d->count = pace(rq, d, d->count, d->is_last);
    return OK;
}

/* Does the entry match as it is now? */
static enum err look_again(struct request *rq, const struct delrange *d, struct slice key,
                           struct txn *t)
{
    struct entry entry;
    enum err r = request_get(rq, key, &entry);
    bool matches = false;
    if (r == OK && entry.exists) r = where_now(rq, d->where, key, entry.value, &matches);
    if (r != OK || !matches) return r;
    t->ops[t->count++] = (struct op){.kind = OP_DELETE, .key = arena_copy(rq->arena, key)};
    return OK;
}

/* What follows the last key that was gathered is the business of the next transaction. */
static bool is_ahead(const struct delrange *d, struct slice key)
{
    return !d->is_last && (d->count == 0 || slice_cmp(key, d->keys[d->count - 1]) > 0);
}

static int compare_keys(const void *a, const void *b)
{
    return slice_cmp(((const struct op *)a)->key, ((const struct op *)b)->key);
}

/* A key may be in both lists. */
static void sort_distinct(struct txn *t)
{
    size_t kept = 0;
    qsort(t->ops, t->count, sizeof *t->ops, compare_keys);
    for (size_t i = 0; i < t->count; i++) {
        if (kept > 0 && slice_eq(t->ops[kept - 1].key, t->ops[i].key)) continue;
        t->ops[kept++] = t->ops[i];
    }
    t->count = kept;
}

/* The deletions, of the state as it is now. */
static enum err confirm(struct request *rq, struct delrange *d, struct txn *t)
{
    size_t max = keys_max(rq, d);
    size_t at = 0;
    struct slice key;
    enum err r = OK;
    t->ops = arena_alloc(rq->arena, (d->count + d->touched.count + 1) * sizeof *t->ops);
    for (size_t i = 0; i < d->count && r == OK; i++) r = look_again(rq, d, d->keys[i], t);
    while (r == OK && touched_next(&d->touched, &at, &key)) {
        if (is_ahead(d, key)) continue;
        r = look_again(rq, d, key, t);
    }
    if (r != OK) return r;
    if (d->touched.count > 0) sort_distinct(t);
    d->is_cut = t->count > max;
    if (d->is_cut) t->count = max;
    return OK;
}

static enum err where_turn(struct request *rq, struct delrange *d, struct txn *t, bool *is_last)
{
    if (d->keys == NULL) gather_begin(rq, d);
    enum err r = d->has_gathered ? OK : gather(rq, d);
    if (r == OK && d->touched.is_lost) {
        gather_end(d);
        if (++d->restarts > RESTARTS_MAX) {
            return error_set(&rq->error, ERR_TRYAGAIN,
                             "the range is written faster than it can be deleted");
        }
        return where_turn(rq, d, t, is_last);
    }
    if (r == OK) r = confirm(rq, d, t);
    *is_last = d->is_last && !d->is_cut;
    return r;
}

/* ---- a turn ---- */

/* The next transaction begins after `last`. */
static void advance(struct delrange *d, struct slice last)
{
    buf_clear(&d->start, SIZE_MAX);
    buf_append(&d->start, last.data, last.len);
    buf_append_byte(&d->start, 0);
}

static enum err delrange_turn(struct request *rq, struct delrange *d, bool *is_last)
{
    struct txn t = {.overlay = rq->overlay, .database = rq->client->database, .arena = rq->arena};
    bool gathers = d->where != NULL && rq->overlay == NULL;
    bool is_bulk = d->batch != SIZE_MAX && !d->is_admitted;
    enum err r = is_bulk ? engine_admit_bulk(rq->env->db->engine, rq->waiter, &rq->error) : OK;
    if (r != OK) return r;
    d->is_admitted = true;
    r = gathers ? where_turn(rq, d, &t, is_last) : collect(rq, d, &t, is_last);
    if (r == OK && t.count > 0) r = engine_commit(rq->env->db->engine, &t, rq->waiter, &rq->error);
    if (!pace_learn(rq, d, t.count, r)) {
        if (gathers) gather_end(d);
        *is_last = false;
        return OK;
    }
    if (r != OK) return r;
    d->is_admitted = false;
    if (t.count > 0) {
        depends_raise(&rq->depends, t.depends);
        rq->env->stats.writes++;
        d->removed += t.count;
        d->limit -= t.count;
        if (!gathers) advance(d, t.ops[t.count - 1].key);
    }
    if (gathers) {
        if (d->keys != NULL && d->count > 0 && !d->is_cut) advance(d, d->keys[d->count - 1]);
        gather_end(d);
    }
    if (d->limit == 0) *is_last = true;
    return OK;
}

static enum err kv_delrange_run(struct request *rq)
{
    struct delrange *d = (struct delrange *)rq->client->run.pending;
    bool is_last = false;
    if (d == NULL) {
        d = mem_new(sizeof *d);
        d->pending.free = delrange_free;
        enum err r = delrange_begin(rq, d);
        if (r != OK) {
            delrange_free(&d->pending);
            return r;
        }
        rq->client->run.pending = &d->pending;
    }
    enum err r = delrange_turn(rq, d, &is_last);
    if (r != OK && r != ERR_WAIT && d->removed > 0) {
        struct error inner = rq->error;
        return error_set(&rq->error, r, "%s (after %llu entries were deleted)", inner.text,
                         (unsigned long long)d->removed);
    }
    if (r != OK) return r;
    if (!is_last && rq->overlay != NULL) {
        return error_set(
            &rq->error, ERR_LIMIT,
            "the range exceeds max-transaction-ops or max-transaction-size; inside MULTI it is "
            "deleted in one transaction or not at all");
    }
    if (!is_last) return client_yield(rq, NULL);
    resp_int(rq->w, (int64_t)d->removed);
    return OK;
}

const struct command kv_delrange = {
    .name = "kv.delrange",
    .flags = CMD_WRITE | CMD_KEYSPACE | CMD_FORMAT,
    .key_flags = KEY_RM | KEY_DELETE,
    .group = "kv",
    .summary = "Deletes a range of keys, in one transaction up to the limits and in several "
               "beyond them.",
    .arguments = &delrange_arguments,
    .reply = "The number of entries removed.",
    .run = kv_delrange_run,
};
