/* evaluate: what a transaction does, from loaded entries and nothing else (DESIGN 2).
 *
 *   1. every check against the state before it; one that fails ends it as a conflict
 *   2. the operations in the order given; later ones see earlier ones (the overlay)
 *   3. the overlay becomes the write set: one mutation a key, the last state of it
 *
 * Nothing outside the arena changes before the commit, so a wait or an error at any point leaves no
 * trace, and evaluating again from the start is always right.
 */
#include "base/htab.h"
#include "engine/engine_int.h"

#define OVERLAY_LINEAR_MAX 8

/* What the transaction has made of a key so far. */
struct written {
    struct slice key; /* first: the table looks here */
    uint64_t hash;
    bool exists;
    struct slice value;
    int64_t expiry_ms;
};

struct overlay {
    struct written **items; /* in order of the first write */
    size_t count;
    struct htab index; /* used above OVERLAY_LINEAR_MAX */
    uint64_t bytes;    /* of keys and values */
};

struct evaluation {
    struct engine *engine;
    struct txn *txn;
    struct overlay overlay;
    struct waiter *waiter;
    int64_t now_ms;
};

/* ---- the overlay ---- */

static struct written *overlay_find(struct evaluation *v, struct slice key, uint64_t *hash)
{
    struct overlay *o = &v->overlay;
    *hash = 0;
    if (o->count <= OVERLAY_LINEAR_MAX) {
        for (size_t i = 0; i < o->count; i++) {
            if (slice_eq(o->items[i]->key, key)) return o->items[i];
        }
        return NULL;
    }
    *hash = hash_bytes(key);
    return htab_find(&o->index, *hash, key);
}

static void overlay_index(struct overlay *o)
{
    for (size_t i = 0; i < o->count; i++) {
        o->items[i]->hash = hash_bytes(o->items[i]->key);
        htab_insert(&o->index, o->items[i]->hash, &o->items[i]->key);
    }
}

static struct written *overlay_write(struct evaluation *v, struct slice key)
{
    struct overlay *o = &v->overlay;
    uint64_t hash = 0;
    struct written *w = overlay_find(v, key, &hash);
    if (w != NULL) return w;
    w = arena_alloc(v->txn->arena, sizeof *w);
    *w = (struct written){.key = key, .hash = hash};
    o->items[o->count++] = w;
    o->bytes += key.len;
    if (o->count == OVERLAY_LINEAR_MAX + 1) {
        overlay_index(o);
    } else if (o->count > OVERLAY_LINEAR_MAX + 1) {
        htab_insert(&o->index, hash, &w->key);
    }
    return w;
}

static void write_value(struct evaluation *v, struct slice key, struct slice value,
                        int64_t expiry_ms)
{
    struct written *w = overlay_write(v, key);
    v->overlay.bytes += value.len;
    w->exists = true;
    w->value = value;
    w->expiry_ms = expiry_ms;
}

static void write_absence(struct evaluation *v, struct slice key)
{
    struct written *w = overlay_write(v, key);
    w->exists = false;
    w->value = slice_of(NULL, 0);
    w->expiry_ms = 0;
}

/* The key as the transaction sees it now. An entry written by itself has version 0: it has none
 * yet. */
static enum err see(struct evaluation *v, struct slice key, struct entry *out, struct error *e)
{
    uint64_t hash = 0;
    struct written *w = overlay_find(v, key, &hash);
    if (w != NULL) {
        *out = (struct entry){.exists = w->exists, .value = w->value, .expiry_ms = w->expiry_ms};
        if (out->exists && engine_is_expired(out, v->now_ms)) out->exists = false;
        return OK;
    }
    if (v->txn->has_flush) {
        *out = (struct entry){0};
        return OK;
    }
    return engine_get(v->engine, key, out, &v->txn->depends, v->waiter, e);
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

static enum err check_size(const struct evaluation *v, struct slice value, struct error *e)
{
    uint64_t max = v->engine->options.value_bytes_max;
    if (value.len <= max) return OK;
    return error_set(e, ERR_LIMIT, "value of %zu bytes is larger than max-value-size (%llu)",
                     value.len, (unsigned long long)max);
}

static enum err eval_set(struct evaluation *v, struct op *op, struct error *e)
{
    struct entry old = {0};
    int64_t expiry_ms = 0;
    enum err r = check_size(v, op->value, e);
    /* A blind write reads nothing (DESIGN 1). */
    bool is_blind = op->condition == IF_ANY && op->ttl != TTL_KEEP;
    if (r == OK && !is_blind) r = see(v, op->key, &old, e);
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
    if (op->counts_live) {
        enum err r = see(v, op->key, &old, e);
        if (r != OK) return r;
    }
    op->is_met = old.exists;
    if (op->is_met) write_absence(v, op->key);
    return OK;
}

static enum err eval_computed(struct evaluation *v, struct op *op, struct error *e)
{
    struct entry old;
    struct buf out;
    enum err r = see(v, op->key, &old, e);
    if (r != OK) return r;
    const struct slice *stored = old.exists ? &old.value : NULL;
    buf_init(&out);
    if (op->kind == OP_ARITH) {
        r = arith_apply(&op->arith, stored, &out, e);
    } else {
        r = arith_join(op->value, stored, op->is_prepend, &out, &op->count, e);
    }
    if (r == OK && out.is_failed) r = error_set(e, ERR_NOMEM, "no memory for the new value");
    if (r == OK) r = check_size(v, buf_slice(&out), e);
    if (r == OK) {
        op->is_met = true;
        op->result = arena_copy(v->txn->arena, buf_slice(&out));
        write_value(v, op->key, op->result, old.exists ? old.expiry_ms : 0);
    }
    buf_fini(&out);
    return r;
}

static bool expire_condition(const struct op *op, int64_t old_ms, int64_t new_ms)
{
    switch (op->condition) {
    case IF_NO_EXPIRY: return old_ms == 0;
    case IF_EXPIRY: return old_ms != 0;
    case IF_LATER: return old_ms != 0 && new_ms > old_ms;
    case IF_EARLIER: return old_ms == 0 || new_ms < old_ms;
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

static enum err eval_op(struct evaluation *v, struct op *op, struct error *e)
{
    switch (op->kind) {
    case OP_CHECK: return OK;
    case OP_SET: return eval_set(v, op, e);
    case OP_DELETE: return eval_delete(v, op, e);
    case OP_ARITH:
    case OP_JOIN: return eval_computed(v, op, e);
    case OP_EXPIRE: return eval_expire(v, op, e);
    }
    return OK;
}

/* All checks, not only up to the first that fails: the client learns about each. */
static enum err eval_checks(struct evaluation *v, struct error *e)
{
    struct txn *t = v->txn;
    for (size_t i = 0; i < t->count; i++) {
        struct op *op = &t->ops[i];
        struct entry entry;
        if (op->kind != OP_CHECK) continue;
        t->failed_op = i;
        enum err r = engine_get(v->engine, op->key, &entry, &t->depends, v->waiter, e);
        if (r != OK) return r;
        op->is_met = expected_holds(&op->expected, &entry);
        op->has_current = entry.exists;
        op->current = entry.version;
        if (!op->is_met) t->is_conflict = true;
    }
    return OK;
}

static enum err eval_commit(struct evaluation *v, struct error *e)
{
    struct txn *t = v->txn;
    struct overlay *o = &v->overlay;
    struct write_set ws = {.arena = t->arena, .database = t->database, .time_ms = v->now_ms};
    if (o->count == 0 && !t->commits_always && !t->has_flush) return OK;
    if (o->bytes > v->engine->options.txn_bytes_max) {
        return error_set(
            e, ERR_LIMIT, "transaction of %llu bytes is larger than max-transaction-size (%llu)",
            (unsigned long long)o->bytes, (unsigned long long)v->engine->options.txn_bytes_max);
    }
    if (t->has_flush) {
        uint8_t *database = arena_alloc(t->arena, 1);
        *database = t->database;
        write_set_add(&ws, MUTATION_FLUSH, slice_of(database, 1), slice_of(NULL, 0), 0);
    }
    for (size_t i = 0; i < o->count; i++) {
        const struct written *w = o->items[i];
        write_set_add(&ws, w->exists ? MUTATION_SET : MUTATION_DELETE, w->key, w->value,
                      w->expiry_ms);
    }
    enum err r = engine_commit_set(v->engine, &ws, &t->version, v->waiter, e);
    if (r == OK && t->version > t->depends) t->depends = t->version;
    return r;
}

enum err engine_commit(struct engine *g, struct txn *t, struct waiter *w, struct error *e)
{
    struct evaluation v = {.engine = g, .txn = t, .waiter = w, .now_ms = engine_time_ms(g)};
    t->is_conflict = false;
    t->version = 0;
    t->depends = 0;
    t->failed_op = 0;
    if (t->count > g->options.ops_max) {
        return error_set(e, ERR_LIMIT, "%zu operations are more than max-transaction-ops (%zu)",
                         t->count, g->options.ops_max);
    }
    enum err r = g->backend->ops->admit(g->backend, w, e);
    if (r != OK) return r;
    v.overlay.items = arena_alloc(t->arena, (t->count + 1) * sizeof *v.overlay.items);
    htab_init(&v.overlay.index);
    r = eval_checks(&v, e);
    for (size_t i = 0; i < t->count && r == OK && !t->is_conflict; i++) {
        t->failed_op = i;
        r = eval_op(&v, &t->ops[i], e);
    }
    if (r == OK && !t->is_conflict) r = eval_commit(&v, e);
    htab_fini(&v.overlay.index);
    return r;
}
