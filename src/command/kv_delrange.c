/* kv_delrange: KV.DELRANGE. Up to the transaction limits it is one transaction: the range is read
 * and the deletions are committed in one turn. Beyond that it goes on with further transactions,
 * and others run in between: it is then not atomic (SPEC 6.1).
 *
 * A read that must wait for the disk makes the turn useless: the scan is closed, the fetch that is
 * under way brings pages into memory, and the turn is tried again. Each try gets further.
 */
#include "base/mem.h"
#include "command/commands.h"
#include "command/keys.h"

struct delrange {
    struct pending pending; /* first */
    struct buf start, end;  /* of what is left */
    uint64_t limit;         /* entries still to remove */
    uint64_t removed;
};

static void delrange_free(struct pending *p)
{
    struct delrange *d = (struct delrange *)p;
    buf_fini(&d->start);
    buf_fini(&d->end);
    mem_free(d);
}

static enum err delrange_begin(struct request *rq, struct delrange *d)
{
    struct range_args range = {0};
    struct options o = {.rq = rq, .at = 1};
    struct slice start;
    struct slice end;
    bool is_all = false;
    d->limit = UINT64_MAX;
    while (o.at < rq->argc) {
        bool is_taken = false;
        enum err r = options_range(&o, &range, &is_taken);
        if (r == OK && !is_taken) {
            struct slice arg;
            int64_t limit = 0;
            if (options_take(&o, "ALL", 0)) {
                is_all = true;
            } else if (options_take(&o, "LIMIT", 1)) {
                r = options_argument(&o, "LIMIT", &arg);
                if (r == OK) r = arg_integer(rq, arg, "LIMIT", 1, INT64_MAX, &limit);
                d->limit = (uint64_t)limit;
            } else if (options_take(&o, "WHERE", 4)) {
                r = error_set(&rq->error, ERR_SYNTAX, "WHERE is not available in this version");
            } else {
                r = options_unknown(&o);
            }
        }
        if (r != OK) return r;
    }
    bool has_prefix = range.prefix.data != NULL;
    bool has_bounds = range.start.data != NULL && range.end.data != NULL;
    bool has_half = (range.start.data != NULL) != (range.end.data != NULL);
    if (is_all + has_prefix + has_bounds != 1 || has_half) {
        return error_set(&rq->error, ERR_SYNTAX,
                         "syntax error: KV.DELRANGE needs either PREFIX, or START and END, or ALL");
    }
    enum err r = range_resolve(rq, &range, &start, &end);
    if (r != OK) return r;
    buf_append(&d->start, start.data, start.len);
    buf_append(&d->end, end.data, end.len);
    return OK;
}

/* Reads up to a transaction's worth of keys in this turn. *is_last: the range has no more. */
static enum err delrange_collect(struct request *rq, struct delrange *d, struct txn *t,
                                 bool *is_last)
{
    size_t max = engine_limits(rq->env->engine)->ops_max;
    uint64_t bytes_left = engine_limits(rq->env->engine)->txn_bytes_max;
    if (d->limit < max) max = (size_t)d->limit;
    struct scan_range range = {
        .start = buf_slice(&d->start), .end = buf_slice(&d->end), .is_undivided = true};
    struct engine_scan *scan = NULL;
    t->ops = arena_alloc(rq->arena, (max + 1) * sizeof *t->ops);
    enum err r = engine_scan_open(rq->env->engine, rq->overlay, &range, &scan, &rq->error);
    *is_last = false;
    while (r == OK) {
        struct slice key;
        struct entry entry;
        r = engine_scan_next(scan, &key, &entry, rq->waiter, &rq->error);
        if (r != OK) break;
        if (key.len == 0) {
            *is_last = true;
            break;
        }
        if (t->count == max || key.len > bytes_left) break;
        bytes_left -= key.len;
        t->ops[t->count++] = (struct op){.kind = OP_DELETE, .key = arena_copy(rq->arena, key)};
    }
    if (scan != NULL) {
        uint64_t depends = engine_scan_depends(scan);
        if (depends > rq->depends) rq->depends = depends;
    }
    engine_scan_close(scan);
    return r;
}

static enum err delrange_turn(struct request *rq, struct delrange *d, bool *is_last)
{
    struct txn t = {.overlay = rq->overlay, .database = rq->client->database, .arena = rq->arena};
    enum err r = delrange_collect(rq, d, &t, is_last);
    if (r != OK || t.count == 0) return r;
    r = engine_commit(rq->env->engine, &t, rq->waiter, &rq->error);
    if (r != OK) return r;
    if (t.depends > rq->depends) rq->depends = t.depends;
    rq->env->stats.writes++;
    d->removed += t.count;
    d->limit -= t.count;
    struct slice last = t.ops[t.count - 1].key;
    buf_clear(&d->start, SIZE_MAX);
    buf_append(&d->start, last.data, last.len);
    buf_append_byte(&d->start, 0);
    if (d->limit == 0) *is_last = true;
    return OK;
}

static enum err kv_delrange_run(struct request *rq)
{
    struct delrange *d = (struct delrange *)rq->client->pending;
    bool is_last = false;
    if (d == NULL) {
        d = mem_new(sizeof *d);
        d->pending.free = delrange_free;
        enum err r = delrange_begin(rq, d);
        if (r != OK) {
            delrange_free(&d->pending);
            return r;
        }
        rq->client->pending = &d->pending;
    }
    enum err r = delrange_turn(rq, d, &is_last);
    if (r != OK && r != ERR_WAIT && d->removed > 0) {
        struct error inner = rq->error;
        return error_set(&rq->error, r, "%s (after %llu entries were removed)", inner.text,
                         (unsigned long long)d->removed);
    }
    if (r != OK) return r;
    if (!is_last && rq->overlay != NULL) {
        return error_set(
            &rq->error, ERR_LIMIT,
            "the range does not fit into max-transaction-ops or -size; inside MULTI it "
            "is removed in one transaction or not at all");
    }
    if (!is_last) {
        struct backend *b = engine_backend(rq->env->engine);
        b->ops->yield(b, rq->waiter);
        return error_set(&rq->error, ERR_WAIT, "a long delete lets others run");
    }
    resp_int(rq->w, (int64_t)d->removed);
    return OK;
}

const struct command kv_delrange = {
    .name = "kv.delrange",
    .arity = -2,
    .flags = CMD_WRITE | CMD_KEYSPACE,
    .key_flags = KEY_RM | KEY_DELETE,
    .group = "kv",
    .since = "0.1.0",
    .summary = "Removes a range; one transaction up to the limits, several beyond them.",
    .syntax = "<PREFIX key | START key END key | ALL> [LIMIT count]",
    .reply = "The number removed.",
    .run = kv_delrange_run,
    .keys = keys_of_range,
};
