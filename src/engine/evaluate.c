/* evaluate: what a transaction does, from loaded entries and nothing else.
 *
 *   1. every check against the state before it; one that fails ends it as a conflict
 *   2. the operations in the order given; later ones see earlier ones (the overlay)
 *   3. what follows from them: index entries
 *   4. the overlay becomes the write set: one mutation a key, the last state of it
 *
 * Nothing outside the arena changes before the commit, so a wait or an error at any point leaves no
 * trace, and evaluating again from the start is always right.
 */
#include "codec/pack.h"
#include "engine/overlay.h"

#define SCRATCH_KEEP_BYTES (64u << 10)

struct evaluation {
    struct engine *engine;
    struct txn *txn;
    struct overlay *overlay;
    struct waiter *waiter;
    int64_t now_ms;
};

static void write_value(struct evaluation *v, struct slice key, struct slice value,
                        int64_t expiry_ms)
{
    overlay_set(v->overlay, key, value, expiry_ms);
}

static void write_absence(struct evaluation *v, struct slice key)
{
    overlay_delete(v->overlay, key);
}

/* The key as the transaction sees it now. */
static enum err see(struct evaluation *v, struct slice key, struct entry *out, struct error *e)
{
    enum err r = engine_get(v->engine, v->overlay, key, out, v->waiter, e);
    if (r == OK) depends_raise(&v->txn->depends, out->depends);
    return r;
}

/* ---- operations ---- */

static bool expected_holds(const struct expected *x, const struct entry *entry)
{
    if (x->is_none) return !entry->exists;
    return entry->exists && !x->is_foreign && entry->version == x->version;
}

static enum err expiry_of(struct evaluation *v, const struct op *op, const struct entry *old,
                          int64_t *expiry_ms, struct error *e)
{
    *expiry_ms = 0;
    switch (op->ttl) {
    case TTL_NONE: return OK;
    case TTL_KEEP: *expiry_ms = old->exists ? old->expiry_ms : 0; return OK;
    case TTL_AT: *expiry_ms = op->ttl_ms; return OK;
    case TTL_AFTER:
        if (__builtin_add_overflow(v->now_ms, op->ttl_ms, expiry_ms)) {
            return error_set(e, ERR_SYNTAX, "expire time is out of range");
        }
        return OK;
    }
    return OK;
}

size_t engine_value_bytes(struct slice value)
{
    const uint8_t *at = value.data;
    struct pack_item item;
    bool is_one = value.len > 0 && pack_read(&at, value.data + value.len, &item) == PACK_OK &&
                  (item.type == PACK_BIN || item.type == PACK_STR);
    return is_one ? item.body.len : value.len;
}

static enum err check_size(const struct evaluation *v, struct slice value, struct error *e)
{
    uint64_t max = v->engine->options.value_bytes_max;
    if (value.len <= max || engine_value_bytes(value) <= max) return OK;
    return error_set(e, ERR_LIMIT, "value of %zu bytes is larger than max-value-size (%llu)",
                     engine_value_bytes(value), (unsigned long long)max);
}

static enum err eval_set(struct evaluation *v, struct op *op, struct error *e)
{
    struct entry old = {0};
    int64_t expiry_ms = 0;
    enum err r = check_size(v, op->value, e);
    /* A blind write reads nothing. */
    bool is_blind = op->condition == IF_ANY && op->ttl != TTL_KEEP && op->guard == NULL;
    if (r == OK && !is_blind) r = see(v, op->key, &old, e);
    if (r == OK && op->guard != NULL) r = op->guard(&old, e);
    op->old = old;
    if (r != OK) return r;
    switch (op->condition) {
    case IF_ABSENT: op->is_met = !old.exists; break;
    case IF_PRESENT: op->is_met = old.exists; break;
    case IF_VERSION: op->is_met = expected_holds(&op->expected, &old); break;
    default: op->is_met = true; break;
    }
    if (!op->is_met) return OK;
    r = expiry_of(v, op, &old, &expiry_ms, e);
    if (r == OK) write_value(v, op->key, op->value, expiry_ms);
    return r;
}

static enum err eval_delete(struct evaluation *v, struct op *op, struct error *e)
{
    struct entry old = {.exists = true};
    if (op->counts_live || op->guard != NULL) {
        enum err r = see(v, op->key, &old, e);
        if (r == OK && op->guard != NULL) r = op->guard(&old, e);
        if (r != OK) return r;
    }
    op->old = old;
    op->is_met = old.exists;
    if (op->is_met) write_absence(v, op->key);
    return OK;
}

static enum err compute(struct evaluation *v, struct op *op, const struct slice *stored,
                        struct buf *out, struct error *e)
{
    enum err r = OK;
    if (op->kind == OP_EDIT) {
        r = op->edit(op, stored, out, e);
    } else if (op->kind == OP_ARITH) {
        r = arith_apply(&op->arith, stored, out, e);
    } else {
        r = arith_join(op->value, stored, op->is_prepend, out, &op->count, e);
    }
    if (r == OK && out->is_failed) r = error_set(e, ERR_NOMEM, "out of memory for the new value");
    return r == OK ? check_size(v, buf_slice(out), e) : r;
}

static enum err eval_computed(struct evaluation *v, struct op *op, struct error *e)
{
    struct entry old;
    struct buf *out = &v->engine->scratch;
    enum err r = see(v, op->key, &old, e);
    if (r != OK) return r;
    r = compute(v, op, old.exists ? &old.value : NULL, out, e);
    if (r == OK) {
        op->is_met = true;
        op->result = arena_copy(v->txn->arena, buf_slice(out));
        write_value(v, op->key, op->result, old.exists ? old.expiry_ms : 0);
    }
    buf_clear(out, SCRATCH_KEEP_BYTES);
    return r;
}

static bool expire_condition(const struct op *op, int64_t old_ms, int64_t new_ms)
{
    switch (op->condition) {
    case IF_NO_EXPIRY: return old_ms == 0;
    case IF_EXPIRY: return old_ms != 0;
    case IF_LATER: return old_ms != 0 && new_ms > old_ms;
    case IF_EARLIER: return old_ms == 0 || new_ms < old_ms;
    case IF_EXPIRY_EARLIER: return old_ms != 0 && new_ms < old_ms;
    default: return true;
    }
}

/* A time that has passed deletes the key, as in Redis. */
static enum err eval_expire(struct evaluation *v, struct op *op, struct error *e)
{
    struct entry old;
    int64_t expiry_ms = 0;
    enum err r = see(v, op->key, &old, e);
    if (r == OK) r = expiry_of(v, op, &old, &expiry_ms, e);
    if (r != OK) return r;
    bool is_persist = op->ttl == TTL_NONE;
    op->is_met = old.exists &&
                 (is_persist ? old.expiry_ms != 0 : expire_condition(op, old.expiry_ms, expiry_ms));
    if (!op->is_met) return OK;
    if (!is_persist && expiry_ms <= v->now_ms) {
        write_absence(v, op->key);
    } else {
        write_value(v, op->key, old.value, expiry_ms);
    }
    return OK;
}

/* ---- operations of layers ---- */

static struct view view_of(struct evaluation *v)
{
    struct overlay *o = v->overlay;
    if (o->version == 0) o->version = engine_version_next(v->engine);
    return (struct view){.engine = v->engine,
                         .overlay = o,
                         .arena = v->txn->arena,
                         .waiter = v->waiter,
                         .database = v->txn->database,
                         .now_ms = v->now_ms,
                         .told_ms = o->told_ms,
                         .version = o->version};
}

static void view_depends(struct evaluation *v, const struct view *view)
{
    depends_raise(&v->txn->depends, view->depends);
}

static enum err eval_layer(struct evaluation *v, struct op *op, struct error *e)
{
    struct view view = view_of(v);
    enum err r = op->layer->apply(op->layer, &view, &op->is_met, e);
    view_depends(v, &view);
    return r;
}

static uint16_t cause_of(const struct op *op)
{
    switch (op->kind) {
    case OP_SET: return op->ttl == TTL_AFTER || op->ttl == TTL_AT ? CAUSE_SET_EXPIRING : CAUSE_SET;
    case OP_DELETE: return CAUSE_DELETE;
    case OP_ARITH:
    case OP_EDIT: return CAUSE_ADD;
    case OP_JOIN: return CAUSE_JOIN;
    case OP_EXPIRE: return CAUSE_EXPIRE;
    case OP_CHECK:
    case OP_LAYER: break;
    }
    return CAUSE_NONE;
}

static enum err eval_op(struct evaluation *v, struct op *op, struct error *e)
{
    v->overlay->cause = v->txn->cause != 0 ? v->txn->cause : cause_of(op);
    switch (op->kind) {
    case OP_CHECK: return OK;
    case OP_SET: return eval_set(v, op, e);
    case OP_DELETE: return eval_delete(v, op, e);
    case OP_ARITH:
    case OP_EDIT:
    case OP_JOIN: return eval_computed(v, op, e);
    case OP_EXPIRE: return eval_expire(v, op, e);
    case OP_LAYER: return eval_layer(v, op, e);
    }
    return OK;
}

static enum err eval_check(struct evaluation *v, struct op *op, bool *holds, struct error *e)
{
    if (op->kind == OP_LAYER) {
        struct view view = view_of(v);
        enum err r = op->layer->check(op->layer, &view, holds, e);
        view_depends(v, &view);
        return r;
    }
    struct entry entry;
    enum err r = see(v, op->key, &entry, e);
    if (r != OK) return r;
    *holds = op->is_met = expected_holds(&op->expected, &entry);
    op->has_current = entry.exists;
    op->current = entry.version;
    return OK;
}

/* All checks, not only up to the first that fails: the client learns about each. */
static enum err eval_checks(struct evaluation *v, struct error *e)
{
    struct txn *t = v->txn;
    for (size_t i = 0; i < t->count; i++) {
        struct op *op = &t->ops[i];
        bool holds = true;
        bool is_check = op->kind == OP_CHECK || (op->kind == OP_LAYER && op->layer->check != NULL);
        if (!is_check) continue;
        t->failed_op = i;
        enum err r = eval_check(v, op, &holds, e);
        if (r != OK) return r;
        op->has_failed = !holds;
        if (!holds) t->is_conflict = true;
    }
    return OK;
}

/* ---- what follows ---- */

static struct data_change *changes_of(struct overlay *o, struct arena *arena)
{
    struct data_change *changes = arena_alloc(arena, o->dirty_count * sizeof *changes);
    size_t at = o->dirty_count;
    for (const struct written *w = o->dirty; w != NULL; w = w->dirty_next) {
        changes[--at] = (struct data_change){.key = w->key,
                                             .exists = w->exists,
                                             .is_offer = w->is_offer,
                                             .value = w->value,
                                             .expiry_ms = w->expiry_ms,
                                             .is_known = w->has_before,
                                             .before = w->before,
                                             .passed = w->passed};
    }
    return changes;
}

enum err engine_derive(struct view *v, struct error *e)
{
    struct engine *g = v->engine;
    size_t count = v->overlay->dirty_count;
    if (count == 0) return OK;
    enum err r = OK;
    struct data_change *changes = NULL;
    for (size_t i = 0; i < g->layer_count && r == OK; i++) {
        const struct layer *l = &g->layers[i];
        if (l->derive == NULL || l->is_idle(l->arg, v)) continue;
        if (changes == NULL) changes = changes_of(v->overlay, v->arena);
        r = l->derive(l->arg, v, changes, count, e);
    }
    overlay_clean(v->overlay);
    return r;
}

static enum err eval_flushed(struct evaluation *v, struct error *e)
{
    struct engine *g = v->engine;
    struct view view = view_of(v);
    enum err r = OK;
    overlay_flush(v->overlay, v->txn->database);
    for (size_t i = 0; i < g->layer_count && r == OK && !v->txn->is_drop; i++) {
        if (g->layers[i].flushed != NULL) r = g->layers[i].flushed(g->layers[i].arg, &view, e);
    }
    return r;
}

static enum err eval_derived(struct evaluation *v, struct error *e)
{
    if (v->overlay->dirty_count == 0) return OK;
    struct view view = view_of(v);
    enum err r = engine_derive(&view, e);
    view_depends(v, &view);
    return r;
}

static enum err check_bytes(const struct overlay *o, uint64_t bytes_max, struct error *e)
{
    if (o->bytes <= bytes_max) return OK;
    return error_set(e, ERR_LIMIT,
                     "transaction of %llu bytes is larger than max-transaction-size (%llu)",
                     (unsigned long long)o->bytes, (unsigned long long)bytes_max);
}

/* All of the transaction's operations onto the overlay; nothing of them when a check fails. */
static enum err evaluate(struct evaluation *v, struct error *e)
{
    struct txn *t = v->txn;
    struct overlay *o = v->overlay;
    uint64_t bytes_max = v->engine->options.txn_bytes_max;
    size_t ops_max = v->engine->options.ops_max;
    size_t written = o->count;
    if (o->ops_allowed > ops_max) ops_max = o->ops_allowed;
    bool has_written = false;
    t->is_conflict = false;
    t->version = 0;
    t->depends = 0;
    t->failed_op = 0;
    o->ops += t->count;
    if (o->ops > ops_max) {
        return error_set(e, ERR_LIMIT, "%zu operations, more than max-transaction-ops (%zu)",
                         o->ops, ops_max);
    }
    enum err r = eval_checks(v, e);
    if (r != OK || t->is_conflict) return r;
    if (t->has_flush) r = eval_flushed(v, e);
    for (size_t i = 0; i < t->count && r == OK; i++) {
        t->failed_op = i;
        r = eval_op(v, &t->ops[i], e);
        if (r == OK) r = check_bytes(o, bytes_max, e); /* what is too much is not worked on */
        has_written = has_written || (t->ops[i].kind != OP_CHECK && t->ops[i].is_met);
    }
    o->cause = CAUSE_NONE;
    if (r != OK) return r;
    t->failed_op = t->count;
    r = eval_derived(v, e);
    if (r == OK) r = check_bytes(o, bytes_max, e);
    if (r != OK) return r;
    o->commits_always = o->commits_always || t->commits_always || t->has_flush;
    if (has_written || o->count > written || t->commits_always || t->has_flush) {
        o->changes++;
        t->version = o->version;
    }
    return OK;
}

static enum err overlay_commit(struct overlay *o, uint64_t *version, struct waiter *w,
                               struct error *e)
{
    struct write_set ws = {.arena = o->arena, .time_ms = o->now_ms};
    *version = 0;
    if (o->count == 0 && !o->commits_always) return OK;
    overlay_write_set(o, &ws);
    return engine_commit_set(o->engine, &ws, version, w, e);
}

enum err engine_commit(struct engine *g, struct txn *t, struct waiter *w, struct error *e)
{
    struct overlay own;
    struct evaluation v = {.engine = g, .txn = t, .overlay = t->overlay, .waiter = w};
    if (t->overlay != NULL) {
        v.now_ms = t->overlay->now_ms;
        return evaluate(&v, e);
    }
    enum err r = engine_admit(g, w, e);
    if (r != OK) return r;
    overlay_init(&own, g, t->arena);
    v.overlay = &own;
    v.now_ms = own.now_ms;
    r = evaluate(&v, e);
    if (r == OK && !t->is_conflict) r = overlay_commit(&own, &t->version, w, e);
    if (r == OK) depends_raise(&t->depends, t->version);
    overlay_fini(&own);
    return r;
}

/* ---- several evaluations, one commit ---- */

enum err engine_admit(struct engine *g, struct waiter *w, struct error *e)
{
    return backend_admit(g->backend, w, e);
}

enum err engine_admit_bulk(struct engine *g, struct waiter *w, struct error *e)
{
    return backend_admit_bulk(g->backend, w, e);
}

struct overlay *engine_begin(struct engine *g, struct arena *arena)
{
    struct overlay *o = arena_alloc(arena, sizeof *o);
    overlay_init(o, g, arena);
    o->version = engine_version_next(g);
    return o;
}

void engine_allow_ops(struct overlay *o, size_t ops)
{
    o->ops_allowed = ops;
}

enum err engine_take_steps(struct overlay *o, uint64_t steps, struct error *e)
{
    if (o == NULL) return OK;
    if (o->steps >= o->steps_max) {
        return error_set(e, ERR_LIMIT,
                         "more work than one transaction may do, as it runs in one turn (about %d "
                         "ms); split it",
                         ENGINE_STEPS_MAX / 1000000);
    }
    o->steps += steps;
    return OK;
}

void engine_count_steps(struct overlay *o, uint64_t steps)
{
    if (o != NULL) o->steps += steps;
}

uint64_t engine_steps(const struct overlay *o)
{
    return o->steps;
}

void engine_allow_steps(struct overlay *o)
{
    o->steps_max = UINT64_MAX;
}

enum err engine_end(struct overlay *o, uint64_t *version, struct waiter *w, struct error *e)
{
    enum err r = overlay_commit(o, version, w, e);
    /* Replies made during the evaluation tell the version that the commit was going to get. */
    INVARIANT(r != OK || *version == 0 || *version == o->version);
    overlay_fini(o);
    return r;
}

void engine_discard(struct overlay *o)
{
    if (o != NULL) overlay_fini(o);
}

bool engine_take_large(struct engine *g)
{
    bool had_large = g->had_large;
    g->had_large = false;
    return had_large;
}

unsigned engine_overlay_changes(const struct overlay *o)
{
    return o->changes;
}

uint64_t engine_overlay_version(const struct overlay *o)
{
    return o->version;
}
