#include "unit/collection/stream_model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "collection/group.h"

#define VALUES 50
#define DELIVERIES_MAX 200

/* ---- what numbers stand for ---- */

static struct stream_id id_of(unsigned n)
{
    return (struct stream_id){.ms = n, .seq = 1};
}

static unsigned number_of(struct stream_id id)
{
    assert_true(id.ms > 0 && id.ms < SMODEL_IDS && id.seq == 1);
    return (unsigned)id.ms;
}

static struct slice name_of(const char *prefix, unsigned n)
{
    static char names[4][16];
    static unsigned next;
    char *name = names[next++ % 4];
    snprintf(name, sizeof names[0], "%s%u", prefix, n);
    return slice_str(name);
}

static struct slice group_name(unsigned n)
{
    return name_of("group", n);
}

static struct slice consumer_name(unsigned n)
{
    return name_of("consumer", n);
}

/* The digit at its end. */
static unsigned digit_of(struct slice name, unsigned below)
{
    assert_true(name.len > 1);
    unsigned n = (unsigned)name.data[name.len - 1] - '0';
    assert_true(n < below);
    return n;
}

static struct slice value_of(struct arena *arena, uint8_t value)
{
    uint8_t *p = arena_alloc(arena, value + 1u);
    memset(p, value, value + 1u);
    return slice_of(p, value + 1u);
}

static uint8_t value_read(struct slice s)
{
    assert_true(s.len > 0 && s.len == s.data[0] + 1u);
    return s.data[0];
}

static unsigned entries_of(const struct smodel *m)
{
    unsigned n = 0;
    for (unsigned i = 0; i < SMODEL_IDS; i++) n += m->values[i] != 0;
    return n;
}

static unsigned pending_of(const struct smodel_group *g, unsigned owner)
{
    unsigned n = 0;
    for (unsigned i = 0; i < SMODEL_IDS; i++) {
        n += owner == 0 ? g->owners[i] != 0 : g->owners[i] == owner;
    }
    return n;
}

void smodel_draw(struct rng *g, struct smodel_op *out)
{
    static const enum smodel_what what[] = {
        SMODEL_ADD,         SMODEL_ADD,     SMODEL_ADD,     SMODEL_REMOVE,  SMODEL_TRIM,
        SMODEL_GROUP,       SMODEL_DELIVER, SMODEL_DELIVER, SMODEL_DELIVER, SMODEL_ACKNOWLEDGE,
        SMODEL_ACKNOWLEDGE, SMODEL_CLAIM,   SMODEL_CONSUMER};
    *out = (struct smodel_op){.what = what[rng_below(g, sizeof what / sizeof what[0])],
                              .count = 1 + (unsigned)rng_below(g, SMODEL_COUNT_MAX),
                              .at = (unsigned)rng_below(g, SMODEL_IDS),
                              .group = (unsigned)rng_below(g, SMODEL_GROUPS),
                              .consumer = (unsigned)rng_below(g, SMODEL_CONSUMERS),
                              .value = (uint8_t)rng_below(g, VALUES),
                              .by_id = rng_below(g, 2) == 0};
    if (out->what == SMODEL_ADD) out->count = 1 + out->count % 3;
}

/* ---- doing: entries ---- */

static enum err add(struct collection *c, const struct smodel_op *op, struct smodel *m,
                    struct error *e)
{
    enum err r = OK;
    if (!c->exists) stream_make(c);
    for (unsigned i = 0; i < op->count && r == OK; i++) {
        unsigned id = m->last + 1 + op->at % 2;
        if (id >= SMODEL_IDS) break;
        r = stream_add(c, id_of(id), value_of(c->view->arena, op->value), e);
        m->last = (uint8_t)id;
        m->values[id] = (uint8_t)(op->value + 1);
    }
    return r;
}

static enum err remove_some(struct collection *c, const struct smodel_op *op, struct smodel *m,
                            struct error *e)
{
    struct stream_id ids[SMODEL_IDS] = {{0}};
    bool removed[SMODEL_IDS];
    unsigned count = 0;
    for (; count < op->count && op->at + count < SMODEL_IDS; count++) {
        ids[count] = id_of(op->at + count);
    }
    enum err r = stream_remove(c, ids, count, removed, e);
    for (unsigned i = 0; i < count && r == OK; i++) {
        unsigned id = op->at + i;
        assert_int_equal(removed[i], m->values[id] != 0);
        if (removed[i] && id > m->deleted) m->deleted = (uint8_t)id;
        m->values[id] = 0;
    }
    return r;
}

static enum err trim(struct collection *c, const struct smodel_op *op, struct smodel *m,
                     struct error *e)
{
    unsigned count = entries_of(m);
    struct stream_trim t = {.by_id = op->by_id};
    uint64_t removed = 0;
    unsigned wanted = 0;
    if (op->by_id) t.from = id_of(op->at);
    if (!op->by_id) t.length = op->at % (count + 2);
    for (unsigned i = 0; i < SMODEL_IDS; i++) {
        bool goes = op->by_id ? i < op->at : count - wanted > t.length;
        if (m->values[i] == 0 || !goes) continue;
        m->values[i] = 0;
        wanted++;
    }
    enum err r = stream_trim(c, &t, &removed, e);
    if (r == OK) assert_int_equal(removed, wanted);
    return r;
}

/* ---- doing: groups ---- */

struct group_op {
    struct collection *c;
    const struct smodel_op *op;
    struct smodel *m;
    struct smodel_group *of; /* in the model */
    struct stream_group g;
    struct stream_consumer x;
    struct error *e;
};

static enum err make_or_destroy(struct group_op *o)
{
    if (o->of->exists) {
        group_destroy(o->c, &o->g);
        *o->of = (struct smodel_group){0};
    } else {
        unsigned last = o->op->at % (o->m->last + 1u);
        struct stream_id from = last == 0 ? STREAM_ID_LEAST : id_of(last);
        group_make(o->c, group_name(o->op->group), from, -1, &o->g);
        *o->of = (struct smodel_group){.exists = 1, .last = (uint8_t)last};
    }
    return OK;
}

/* The consumer of the operation, which is made if need be. */
static enum err know_consumer(struct group_op *o, bool *was_there)
{
    struct slice name = consumer_name(o->op->consumer);
    enum err r = consumer_find(o->c, &o->g, name, was_there, &o->x, o->e);
    if (r != OK) return r;
    assert_int_equal(*was_there, o->of->consumers[o->op->consumer]);
    if (*was_there) assert_int_equal(o->x.pending, pending_of(o->of, o->op->consumer + 1));
    if (!*was_there) consumer_make(o->c, &o->g, name, &o->x);
    o->of->consumers[o->op->consumer] = 1;
    return OK;
}

static enum err make_or_remove_consumer(struct group_op *o)
{
    bool was_there = false;
    enum err r = know_consumer(o, &was_there);
    if (r == OK && was_there) {
        r = consumer_remove(o->c, &o->g, &o->x, o->e);
        o->of->consumers[o->op->consumer] = 0;
        for (unsigned i = 0; i < SMODEL_IDS; i++) {
            if (o->of->owners[i] != o->op->consumer + 1) continue;
            o->of->owners[i] = o->of->deliveries[i] = 0;
        }
    }
    group_save(o->c, &o->g);
    return r;
}

static enum err deliver(struct group_op *o)
{
    bool was_there = false;
    struct smodel_group *of = o->of;
    enum err r = know_consumer(o, &was_there);
    unsigned left = o->op->count;
    for (unsigned id = of->last + 1u; r == OK && left > 0 && id < SMODEL_IDS; id++) {
        struct stream_pending p = {
            .id = id_of(id), .consumer = o->x.number, .delivered_ms = 1, .deliveries = 1};
        if (o->m->values[id] == 0) continue;
        pending_save(o->c, &o->g, &p, 0);
        o->x.pending++;
        o->g.pending++;
        o->g.last = id_of(id);
        of->last = (uint8_t)id;
        of->owners[id] = (uint8_t)(o->op->consumer + 1);
        of->deliveries[id] = 1;
        left--;
    }
    consumer_save(o->c, &o->g, &o->x);
    group_save(o->c, &o->g);
    return r;
}

/* What is pending of an id; it must be as the model says. */
static enum err find(struct group_op *o, unsigned id, bool *found, struct stream_pending *p,
                     struct stream_consumer *owner)
{
    enum err r = pending_find(o->c, &o->g, id_of(id), found, p, o->e);
    if (r != OK) return r;
    assert_int_equal(*found, o->of->owners[id] != 0);
    if (!*found) return OK;
    assert_int_equal(p->deliveries, o->of->deliveries[id]);
    r = consumer_get(o->c, &o->g, p->consumer, owner, o->e);
    if (r == OK) assert_int_equal(digit_of(owner->name, SMODEL_CONSUMERS) + 1, o->of->owners[id]);
    return r;
}

static enum err acknowledge(struct group_op *o)
{
    enum err r = OK;
    for (unsigned id = o->op->at; id < o->op->at + o->op->count && id < SMODEL_IDS; id++) {
        struct stream_pending p;
        struct stream_consumer owner;
        bool found = false;
        r = find(o, id, &found, &p, &owner);
        if (r != OK) break;
        if (!found) continue;
        pending_remove(o->c, &o->g, &p);
        owner.pending--;
        consumer_save(o->c, &o->g, &owner);
        o->g.pending--;
        o->of->owners[id] = o->of->deliveries[id] = 0;
    }
    group_save(o->c, &o->g);
    return r;
}

static enum err claim_one(struct group_op *o, unsigned id)
{
    struct stream_pending p;
    struct stream_consumer owner;
    bool found = false;
    enum err r = find(o, id, &found, &p, &owner);
    if (r != OK || !found || p.deliveries == DELIVERIES_MAX) return r;
    uint64_t was = p.consumer;
    if (was == o->x.number) {
        o->x.pending--;
    } else {
        owner.pending--;
        consumer_save(o->c, &o->g, &owner);
    }
    o->x.pending++;
    p.consumer = o->x.number;
    p.deliveries++;
    pending_save(o->c, &o->g, &p, was);
    o->of->owners[id] = (uint8_t)(o->op->consumer + 1);
    o->of->deliveries[id]++;
    return OK;
}

static enum err claim(struct group_op *o)
{
    bool was_there = false;
    enum err r = know_consumer(o, &was_there);
    for (unsigned id = o->op->at; id < o->op->at + o->op->count && id < SMODEL_IDS; id++) {
        if (r == OK) r = claim_one(o, id);
    }
    consumer_save(o->c, &o->g, &o->x);
    group_save(o->c, &o->g);
    return r;
}

static enum err do_to_group(struct collection *c, const struct smodel_op *op, struct smodel *m,
                            struct error *e)
{
    struct group_op o = {.c = c, .op = op, .m = m, .of = &m->groups[op->group], .e = e};
    bool found = false;
    enum err r = group_find(c, group_name(op->group), &found, &o.g, e);
    if (r != OK) return r;
    assert_int_equal(found, o.of->exists);
    if (op->what == SMODEL_GROUP) return make_or_destroy(&o);
    if (!found) return OK;
    assert_int_equal(o.g.pending, pending_of(o.of, 0));
    switch (op->what) {
    case SMODEL_DELIVER: return deliver(&o);
    case SMODEL_ACKNOWLEDGE: return acknowledge(&o);
    case SMODEL_CLAIM: return claim(&o);
    default: return make_or_remove_consumer(&o);
    }
}

enum err smodel_do(struct collection *c, const struct smodel_op *op, struct smodel *m,
                   struct error *e)
{
    switch (op->what) {
    case SMODEL_ADD: return add(c, op, m, e);
    case SMODEL_REMOVE: return remove_some(c, op, m, e);
    case SMODEL_TRIM: return trim(c, op, m, e);
    default: return do_to_group(c, op, m, e);
    }
}

/* ---- reading ---- */

static enum err read_entries(struct collection *c, struct smodel *out, struct error *e)
{
    struct walk_range range = {.is_reverse = false};
    struct element_walk w = {0};
    struct element x;
    bool is_end = false;
    unsigned count = 0;
    unsigned before = 0;
    stream_range(c, STREAM_ID_LEAST, STREAM_ID_MOST, &range);
    enum err r = range.is_empty ? OK : element_walk_begin(&w, c, &range, e);
    while (r == OK && !range.is_empty) {
        r = element_walk_next(&w, &x, &is_end, e);
        if (r != OK || is_end) break;
        unsigned id = number_of(stream_id_of(&x));
        assert_true(id > before);
        if (before == 0) assert_int_equal(id, number_of(c->head.stream.first));
        before = id;
        out->values[id] = (uint8_t)(value_read(x.value) + 1);
        count++;
    }
    element_walk_end(&w);
    if (r == OK) assert_int_equal(c->head.count, count);
    return r;
}

/* Of one consumer (number not 0), or of all. */
static enum err read_pending(struct collection *c, const struct stream_group *g,
                             const struct stream_consumer *x, unsigned consumer,
                             struct smodel_group *out, struct error *e)
{
    struct pending_range range = {
        .consumer = x->number, .to = STREAM_ID_MOST, .max = COLLECTION_ROWS_MAX};
    struct stream_pending *items = NULL;
    size_t count = 0;
    enum err r = pending_list(c, g, &range, &items, &count, e);
    if (r != OK) return r;
    assert_int_equal(count, x->pending);
    for (size_t i = 0; i < count; i++) {
        unsigned id = number_of(items[i].id);
        assert_int_equal(items[i].consumer, x->number);
        assert_int_equal(out->owners[id], 0);
        out->owners[id] = (uint8_t)(consumer + 1);
        out->deliveries[id] = (uint8_t)items[i].deliveries;
    }
    return OK;
}

static enum err read_group(struct collection *c, const struct stream_group *g,
                           struct smodel_group *out, struct error *e)
{
    struct stream_consumer *consumers = NULL;
    struct pending_range all = {.to = STREAM_ID_MOST, .max = COLLECTION_ROWS_MAX};
    struct stream_pending *items = NULL;
    size_t count = 0;
    bool is_new = stream_id_is_zero(g->last);
    *out = (struct smodel_group){.exists = 1, .last = is_new ? 0 : (uint8_t)number_of(g->last)};
    enum err r = consumers_list(c, g, &consumers, &count, e);
    for (size_t i = 0; i < count && r == OK; i++) {
        unsigned n = digit_of(consumers[i].name, SMODEL_CONSUMERS);
        assert_int_equal(out->consumers[n], 0);
        out->consumers[n] = 1;
        r = read_pending(c, g, &consumers[i], n, out, e);
    }
    if (r == OK) r = pending_list(c, g, &all, &items, &count, e);
    if (r != OK) return r;
    assert_int_equal(count, g->pending);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(items[i].deliveries, out->deliveries[number_of(items[i].id)]);
    }
    assert_int_equal(count, pending_of(out, 0));
    return OK;
}

enum err smodel_read(struct collection *c, struct smodel *out, struct error *e)
{
    struct stream_group *groups = NULL;
    size_t count = 0;
    const struct stream_head *s = &c->head.stream;
    *out = (struct smodel){0};
    if (!stream_id_is_zero(s->last)) out->last = (uint8_t)number_of(s->last);
    if (!stream_id_is_zero(s->deleted)) out->deleted = (uint8_t)number_of(s->deleted);
    enum err r = read_entries(c, out, e);
    if (r == OK) r = groups_list(c, &groups, &count, e);
    if (r == OK) assert_int_equal(count, s->groups);
    for (size_t i = 0; i < count && r == OK; i++) {
        r = read_group(c, &groups[i], &out->groups[digit_of(groups[i].name, SMODEL_GROUPS)], e);
    }
    return r;
}
