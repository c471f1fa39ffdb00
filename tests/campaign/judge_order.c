/* judge_order: time. Operations are taken in the order in which they began, and each is given the
 * earliest place among the commits that is possible: a write its version; a read the first moment,
 * not before the floor, at which all it saw was so. The floor of an operation is the latest place
 * of those that had ended before it began. The earliest place is the one that binds others least:
 * when it does not do, none does.
 *
 * A look at a node that stands by has other floors: where the connection's look before it was, and
 * what had ended a while ago.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "campaign/judge_int.h"

#define LOOK_LAG_US 15000000 /* a node that sees nothing for 5 s, then waits 10, says so */

struct floor {
    uint64_t version;
    size_t op;   /* who has it, or NO_OP */
    size_t next; /* of `ended` */
};

struct order {
    struct judge *j;
    size_t *begun, *ended; /* operations by these times; owned */
    uint64_t *place;       /* of each operation; owned */
    struct floor floor, old;
    struct floor *looks; /* of each connection; owned */
};

#define NEVER UINT64_MAX

static int by_begun(const void *a, const void *b, void *ops)
{
    int64_t x = ((struct history_op *)ops)[*(const size_t *)a].begun_us;
    int64_t y = ((struct history_op *)ops)[*(const size_t *)b].begun_us;
    return (x > y) - (x < y);
}

static int by_ended(const void *a, const void *b, void *ops)
{
    int64_t x = ((struct history_op *)ops)[*(const size_t *)a].ended_us;
    int64_t y = ((struct history_op *)ops)[*(const size_t *)b].ended_us;
    return (x > y) - (x < y);
}

static const char *floor_name(const struct order *o, const struct floor *f)
{
    return f->op == NO_OP ? "no operation" : history_ops(o->j->h)[f->op].name;
}

static void raise(struct floor *f, uint64_t version, size_t op)
{
    if (version <= f->version) return;
    f->version = version;
    f->op = op;
}

/* What had ended before this moment. */
static void raise_floor(const struct order *o, struct floor *f, int64_t begun_us)
{
    const struct history_op *ops = history_ops(o->j->h);
    for (; f->next < o->j->h->ops.count; f->next++) {
        size_t i = o->ended[f->next];
        if (ops[i].ended_us >= begun_us) return;
        raise(f, o->place[i], i);
    }
}

static void place_write(struct order *o, size_t i)
{
    const struct history_op *op = &history_ops(o->j->h)[i];
    if (o->j->commit_of[i] == 0) return;
    uint64_t version = judge_commit(o->j, o->j->commit_of[i] - 1)->version;
    if (version <= o->floor.version) {
        judge_problem(o->j,
                      "write %s has version %" PRIx64 ", but began after %s had ended, at %" PRIx64,
                      op->name, version, floor_name(o, &o->floor), o->floor.version);
    }
    o->place[i] = version;
}

/* The first moment from `at` on at which the key was as it was seen, or NEVER. */
static uint64_t first_moment(const struct judge *j, const struct history_effect *e, uint64_t at)
{
    const struct history_row *row;
    if (e->version != 0) {
        row = judge_state(j, e->key, e->version);
        if (row == NULL || row->version != e->version || row->n == HISTORY_NIL) return NEVER;
        if (e->n != HISTORY_ANY && row->n != e->n) return NEVER;
        if (at <= e->version) return e->version;
        return judge_state(j, e->key, at) == row ? at : NEVER;
    }
    row = judge_state(j, e->key, at);
    if (row == NULL || row->n == HISTORY_NIL) return at;
    while (row != NULL && row->n != HISTORY_NIL) row = judge_next(j, e->key, row->version);
    return row == NULL ? NEVER : row->version;
}

static void tell_read(struct order *o, const struct floor *f, const struct history_op *op,
                      const struct history_effect *e)
{
    const struct judge *j = o->j;
    const struct history_row *row = judge_state(j, e->key, e->version);
    bool was = e->version == 0 || (row != NULL && row->version == e->version &&
                                   (e->n == HISTORY_ANY || row->n == e->n));
    if (!was) {
        judge_problem(o->j, "read %s saw %s as %" PRId64 " of %" PRIx64 ", which never was",
                      op->name, history_key(j->h, e->key), e->n, e->version);
        return;
    }
    judge_problem(o->j,
                  "read %s saw %s of %" PRIx64 ", stale or torn: %s had ended before, at %" PRIx64,
                  op->name, history_key(j->h, e->key), e->version, floor_name(o, f), f->version);
}

/* Until all keys agree on one moment. */
static void place_read(struct order *o, const struct floor *f, size_t i)
{
    const struct history_op *op = &history_ops(o->j->h)[i];
    const struct history_effect *e = history_effects(o->j->h, op);
    uint64_t at = f->version;
    size_t agreed = 0;
    for (size_t k = 0; agreed < op->count; k = (k + 1) % op->count) {
        uint64_t moment = first_moment(o->j, &e[k], at);
        if (moment == NEVER) {
            tell_read(o, f, op, &e[k]);
            return;
        }
        agreed = moment > at ? 1 : agreed + 1;
        if (moment > at) at = moment;
    }
    o->place[i] = at;
}

static void place_look(struct order *o, size_t i)
{
    struct floor *f = &o->looks[history_ops(o->j->h)[i].connection];
    raise(f, o->old.version, o->old.op);
    place_read(o, f, i);
    raise(f, o->place[i], i);
}

static size_t connections(const struct history *h)
{
    size_t n = 0;
    for (size_t i = 0; i < h->ops.count; i++) {
        size_t number = (size_t)history_ops(h)[i].connection;
        if (number >= n) n = number + 1;
    }
    return n;
}

void judge_order(struct judge *j)
{
    size_t n = j->h->ops.count;
    size_t looks = connections(j->h);
    struct order o = {.j = j, .floor = {.op = NO_OP}, .old = {.op = NO_OP}};
    o.looks = judge_room(looks, sizeof *o.looks);
    for (size_t i = 0; i < looks; i++) o.looks[i].op = NO_OP;
    o.begun = judge_room(n, sizeof *o.begun);
    o.ended = judge_room(n, sizeof *o.ended);
    o.place = judge_room(n, sizeof *o.place);
    for (size_t i = 0; i < n; i++) o.begun[i] = o.ended[i] = i;
    struct history_op *ops = history_ops(j->h);
    qsort_r(o.begun, n, sizeof *o.begun, by_begun, ops);
    qsort_r(o.ended, n, sizeof *o.ended, by_ended, ops);
    for (size_t k = 0; k < n; k++) {
        size_t i = o.begun[k];
        raise_floor(&o, &o.floor, ops[i].begun_us);
        raise_floor(&o, &o.old, ops[i].begun_us - LOOK_LAG_US);
        if (ops[i].kind == HISTORY_WRITE) place_write(&o, i);
        if (ops[i].kind == HISTORY_READ) place_read(&o, &o.floor, i);
        if (ops[i].kind == HISTORY_LOOK) place_look(&o, i);
    }
    free(o.looks);
    free(o.begun);
    free(o.ended);
    free(o.place);
}
