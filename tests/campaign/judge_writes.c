/* judge_writes: which commit is which write's, and whether it is what that write does. */
#include <inttypes.h>
#include <stdlib.h>

#include "campaign/judge_int.h"

/* ---- rules 1 and 2 ---- */

static const char *name_of(const struct judge *j, size_t op)
{
    return history_ops(j->h)[op].name;
}

static void give(struct judge *j, struct judge_commit *c, size_t op)
{
    struct judge_commit *other = j->commit_of[op] == 0 ? NULL
                                                       : judge_commit(j, j->commit_of[op] - 1);
    if (other == c) return;
    if (other != NULL) {
        judge_problem(j, "write %s happened twice: versions %" PRIx64 " and %" PRIx64,
                      name_of(j, op), other->version, c->version);
        return;
    }
    if (c->op != NO_OP) {
        judge_problem(j, "version %" PRIx64 " is of two writes: %s and %s", c->version,
                      name_of(j, c->op), name_of(j, op));
        return;
    }
    c->op = op;
    j->commit_of[op] = (size_t)(c - judge_commit(j, 0)) + 1;
}

/* By the keys that only one write has. */
static void give_marked(struct judge *j)
{
    size_t *owner = judge_room(j->h->keys.count, sizeof *owner);
    for (size_t i = 0; i < j->h->ops.count; i++) {
        const struct history_op *op = &history_ops(j->h)[i];
        for (size_t k = 0; op->kind == HISTORY_WRITE && k < op->count; k++) {
            const struct history_effect *e = &history_effects(j->h, op)[k];
            if (e->kind == HISTORY_MARK) owner[e->key] = i + 1;
        }
    }
    for (size_t i = 0; i < j->commits.count; i++) {
        struct judge_commit *c = judge_commit(j, i);
        for (size_t r = c->first; r < c->first + c->count; r++) {
            size_t op = owner[judge_row(j, r)->key];
            if (op != 0) give(j, c, op - 1);
        }
    }
    free(owner);
}

static int by_version(const void *a, const void *b, void *ops)
{
    uint64_t x = ((struct history_op *)ops)[*(const size_t *)a].version;
    uint64_t y = ((struct history_op *)ops)[*(const size_t *)b].version;
    return (x > y) - (x < y);
}

/* By the versionstamp that was replied. */
static void give_acknowledged(struct judge *j)
{
    size_t *acked = judge_room(j->h->ops.count, sizeof *acked);
    const struct history_op *ops = history_ops(j->h);
    size_t n = 0;
    for (size_t i = 0; i < j->h->ops.count; i++) {
        if (ops[i].kind != HISTORY_WRITE || ops[i].outcome != HISTORY_DONE) continue;
        acked[n++] = i;
        struct judge_commit *c = judge_find_commit(j, ops[i].version);
        if (j->commit_of[i] != 0 && c != judge_commit(j, j->commit_of[i] - 1)) {
            judge_problem(j, "write %s was acknowledged as %" PRIx64 ", but is %" PRIx64,
                          ops[i].name, ops[i].version,
                          judge_commit(j, j->commit_of[i] - 1)->version);
        } else if (c == NULL) {
            judge_problem(j, "write %s is lost: it was acknowledged as %" PRIx64, ops[i].name,
                          ops[i].version);
        } else {
            give(j, c, i);
        }
    }
    qsort_r(acked, n, sizeof *acked, by_version, history_ops(j->h));
    for (size_t i = 1; i < n; i++) {
        if (ops[acked[i]].version != ops[acked[i - 1]].version) continue;
        judge_problem(j, "version %" PRIx64 " was given twice: to %s and %s", ops[acked[i]].version,
                      name_of(j, acked[i - 1]), name_of(j, acked[i]));
    }
    free(acked);
}

/* A commit that no client was told of is of a write without a mark whose reply did not come: one
 * that adds to this key. Of several, the one that began first. */
static size_t find_unknown(const struct judge *j, const struct judge_commit *c)
{
    const struct history_op *ops = history_ops(j->h);
    size_t best = NO_OP;
    for (size_t i = 0; c->count == 1 && i < j->h->ops.count; i++) {
        if (ops[i].outcome != HISTORY_UNKNOWN || ops[i].count != 1 || j->commit_of[i] != 0)
            continue;
        const struct history_effect *e = history_effects(j->h, &ops[i]);
        if (e->kind != HISTORY_ADD || e->key != judge_row(j, c->first)->key) continue;
        if (best == NO_OP || ops[i].begun_us < ops[best].begun_us) best = i;
    }
    return best;
}

void judge_owners(struct judge *j)
{
    const struct history_op *ops = history_ops(j->h);
    give_marked(j);
    give_acknowledged(j);
    for (size_t i = 0; i < j->commits.count; i++) {
        struct judge_commit *c = judge_commit(j, i);
        size_t op = c->op == NO_OP ? find_unknown(j, c) : c->op;
        if (op == NO_OP) {
            judge_problem(j, "version %" PRIx64 " (key %s) is no write of the history", c->version,
                          history_key(j->h, judge_row(j, c->first)->key));
            continue;
        }
        if (c->op == NO_OP) give(j, c, op);
        if (ops[op].outcome == HISTORY_REFUSED) {
            judge_problem(j, "write %s was refused, but happened as %" PRIx64, ops[op].name,
                          c->version);
        }
    }
}

/* ---- rule 3 ---- */

struct model {
    int64_t *n; /* by key; HISTORY_NIL = not there */
    uint64_t *version;
};

static void apply(struct judge *j, struct model *m, const struct judge_commit *c,
                  const struct history_effect *e)
{
    const char *name = name_of(j, c->op);
    const char *key = history_key(j->h, e->key);
    switch (e->kind) {
    case HISTORY_CHECK:
        if (m->version[e->key] == e->version) return;
        judge_problem(j,
                      "write %s (%" PRIx64 "): its check of %s held for %" PRIx64 ", not %" PRIx64,
                      name, c->version, key, e->version, m->version[e->key]);
        return;
    case HISTORY_MARK:
    case HISTORY_SET: m->n[e->key] = e->n; break;
    case HISTORY_DEL: m->n[e->key] = HISTORY_NIL; break;
    case HISTORY_ADD:
        m->n[e->key] = (m->n[e->key] == HISTORY_NIL ? 0 : m->n[e->key]) + e->n;
        if (e->sum == HISTORY_ANY || e->sum == m->n[e->key]) break;
        judge_problem(j, "write %s (%" PRIx64 ") was told that %s is %" PRId64 ", it was %" PRId64,
                      name, c->version, key, e->sum, m->n[e->key]);
        break;
    default: return;
    }
    m->version[e->key] = m->n[e->key] == HISTORY_NIL ? 0 : c->version;
}

static void compare_rows(struct judge *j, struct model *m, const struct judge_commit *c)
{
    for (size_t r = c->first; r < c->first + c->count; r++) {
        const struct history_row *row = judge_row(j, r);
        if (c->op != NO_OP && m->n[row->key] != row->n) {
            judge_problem(j, "write %s (%" PRIx64 "): %s is %" PRId64 ", should be %" PRId64,
                          name_of(j, c->op), c->version, history_key(j->h, row->key), row->n,
                          m->n[row->key]);
        }
        /* Each mistake is told once: what follows is compared with what is there. */
        m->n[row->key] = row->n;
        m->version[row->key] = row->n == HISTORY_NIL ? 0 : c->version;
    }
}

static size_t rows_wanted(const struct judge *j, const struct history_op *op)
{
    size_t n = 0;
    for (size_t i = 0; i < op->count; i++) n += history_effects(j->h, op)[i].kind <= HISTORY_ADD;
    return n;
}

static void replay_commit(struct judge *j, struct model *m, const struct judge_commit *c)
{
    if (c->op != NO_OP) {
        const struct history_op *op = &history_ops(j->h)[c->op];
        for (size_t i = 0; i < op->count; i++) apply(j, m, c, &history_effects(j->h, op)[i]);
        if (rows_wanted(j, op) != c->count) {
            judge_problem(j, "write %s (%" PRIx64 ") has %zu rows in the feed, should have %zu",
                          op->name, c->version, c->count, rows_wanted(j, op));
        }
    }
    compare_rows(j, m, c);
}

/* ---- rule 5 ---- */

static void compare_finals(struct judge *j, struct model *m)
{
    for (size_t i = 0; i < j->h->finals.count; i++) {
        const struct history_row *row = (const struct history_row *)j->h->finals.items + i;
        if (m->n[row->key] != row->n || m->version[row->key] != row->version) {
            judge_problem(
                j, "at the end %s is %" PRId64 " of %" PRIx64 ", should be %" PRId64 " of %" PRIx64,
                history_key(j->h, row->key), row->n, row->version, m->n[row->key],
                m->version[row->key]);
        }
        m->n[row->key] = HISTORY_NIL;
    }
    for (size_t k = 0; k < j->h->keys.count; k++) {
        if (m->n[k] == HISTORY_NIL) continue;
        judge_problem(j, "at the end %s is not there, should be %" PRId64 " of %" PRIx64,
                      history_key(j->h, k), m->n[k], m->version[k]);
    }
}

void judge_replay(struct judge *j)
{
    struct model m = {.n = judge_room(j->h->keys.count, sizeof *m.n),
                      .version = judge_room(j->h->keys.count, sizeof *m.version)};
    for (size_t k = 0; k < j->h->keys.count; k++) m.n[k] = HISTORY_NIL;
    for (size_t i = 0; i < j->commits.count; i++) replay_commit(j, &m, judge_commit(j, i));
    compare_finals(j, &m);
    free(m.n);
    free(m.version);
}
