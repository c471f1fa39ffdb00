#include "sim/entry_model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "codec/key.h"

static struct slice key_of(const struct planner *s, int database, int k)
{
    struct buf key = {0};
    char name[16];
    engine_key_begin(&key, (uint16_t)database);
    snprintf(name, sizeof name, "k%d", k);
    key_add_string(&key, slice_str(name));
    struct slice kept = arena_copy(s->arena, buf_slice(&key));
    buf_fini(&key);
    return kept;
}

static struct slice value_of(const struct planner *s, int value)
{
    uint8_t *p = arena_alloc(s->arena, 3);
    p[0] = 0xcd;
    p[1] = (uint8_t)(value >> 8);
    p[2] = (uint8_t)value;
    return slice_of(p, 3);
}

int entry_value(struct slice v)
{
    if (v.len == 1) return v.data[0];
    if (v.len == 2) return v.data[1];
    assert_int_equal(v.len, 3);
    return v.data[1] << 8 | v.data[2];
}

bool entry_is_live(const struct model_entry *m, int64_t clock_ms)
{
    return m->exists && (m->expiry_ms == 0 || m->expiry_ms > clock_ms);
}

static void plan_write(struct planned *p, int database, int k, struct model_entry entry)
{
    entry.version = 0;
    p->after.entries[database][k] = entry;
}

static void plan_op(const struct planner *s, struct planned *p, int database)
{
    int k = (int)rng_below(s->rng, KEYS);
    struct op *op = &p->ops[p->txn.count];
    struct model_entry *m = &p->after.entries[database][k];
    const struct model_entry *before = &s->now->entries[database][k];
    bool live = entry_is_live(m, s->clock_ms);
    *op = (struct op){.key = key_of(s, database, k)};
    p->txn.count++;
    switch (rng_below(s->rng, 7)) {
    case 0: {
        bool wants_none = rng_below(s->rng, 2) == 0;
        op->kind = OP_CHECK;
        op->expected = (struct expected){.is_none = wants_none, .version = before->version};
        if (entry_is_live(before, s->clock_ms) == wants_none) p->conflicts = true;
        return;
    }
    case 1:
        op->kind = OP_DELETE;
        op->counts_live = true;
        if (live) plan_write(p, database, k, (struct model_entry){0});
        return;
    case 2: {
        int operand = (int)rng_below(s->rng, 50);
        op->kind = OP_ARITH;
        op->arith = (struct arith){.op = ARITH_SUM, .operand = value_of(s, operand)};
        int sum = (live ? m->value : 0) + operand;
        plan_write(p, database, k, (struct model_entry){true, sum, live ? m->expiry_ms : 0, 0});
        return;
    }
    case 3:
        op->kind = OP_EXPIRE;
        op->ttl = TTL_AFTER;
        op->ttl_ms = 1 + (int64_t)rng_below(s->rng, 3000);
        if (live)
            plan_write(p, database, k,
                       (struct model_entry){true, m->value, s->clock_ms + op->ttl_ms, 0});
        return;
    default: break;
    }
    op->kind = OP_SET;
    int value = (int)rng_below(s->rng, 20000);
    op->value = value_of(s, value);
    op->condition = rng_below(s->rng, 4) == 0 ? IF_ABSENT : IF_ANY;
    int64_t expiry_ms = 0;
    if (rng_below(s->rng, 3) == 0) {
        op->ttl = TTL_AFTER;
        op->ttl_ms = 1 + (int64_t)rng_below(s->rng, 3000);
        expiry_ms = s->clock_ms + op->ttl_ms;
    }
    if (op->condition == IF_ABSENT && live) return;
    plan_write(p, database, k, (struct model_entry){true, value, expiry_ms, 0});
}

void entry_plan(const struct planner *s, struct planned *p)
{
    int database = (int)rng_below(s->rng, DATABASES);
    *p = (struct planned){.after = *s->now};
    p->txn = (struct txn){
        .database = (uint16_t)database, .commits_always = true, .ops = p->ops, .arena = s->arena};
    if (rng_below(s->rng, 60) == 0) {
        p->txn.has_flush = true;
        memset(p->after.entries[database], 0, sizeof p->after.entries[database]);
        return;
    }
    size_t count = 1 + (size_t)rng_below(s->rng, 6);
    for (size_t i = 0; i < count; i++) plan_op(s, p, database);
}
