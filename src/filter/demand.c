/* demand: see demand.h. A condition demands a value that an index holds when nothing else makes it
 * true: one of order, of equality with scalars, of the beginning of a text. A negated one demands
 * nothing, as the table of operators says; nor does $contains, which an item that is shared
 * fulfils, but no index holds.
 */
#include "filter/demand.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "codec/bigint.h"
#include "codec/date.h"
#include "codec/pack.h"
#include "filter/filter_int.h"
#include "filter/path_int.h"

/* ---- a scalar as it is stored ---- */

enum { PACK_FALSE = 0xc2, PACK_TRUE = 0xc3 }; /* MessagePack */

static void write_integer(const struct stored *s, struct buf *out)
{
    uint8_t big[8];
    uint8_t twos[sizeof big + 1];
    if (!s->is_negative) {
        pack_uint(out, s->u);
        return;
    }
    put_u64(big, s->u);
    size_t zeros = 0;
    while (zeros < sizeof big && big[zeros] == 0) zeros++;
    size_t len = bigint_to_twos(true, slice_of(big + zeros, sizeof big - zeros), twos);
    pack_ext(out, EXT_BIGINT, slice_of(twos, len));
}

/* Data NULL: it is none that has an order. */
static struct slice store_scalar(const struct stored *s, struct arena *arena)
{
    struct buf out;
    buf_init(&out);
    switch (s->kind) {
    case STORED_BOOL: buf_append_byte(&out, s->u != 0 ? PACK_TRUE : PACK_FALSE); break;
    case STORED_INTEGER: write_integer(s, &out); break;
    case STORED_DOUBLE: pack_float(&out, s->d); break;
    case STORED_BIGINT: pack_ext(&out, EXT_BIGINT, s->body); break;
    case STORED_STRING: pack_str(&out, s->body); break;
    case STORED_BYTES: pack_bin(&out, s->body); break;
    case STORED_DATE: date_to_ext(s->ms, &out); break;
    default: return slice_of(NULL, 0);
    }
    buf_require(&out);
    struct slice copy = arena_copy(arena, buf_slice(&out));
    buf_fini(&out);
    return copy;
}

/* ---- one condition ---- */

static void demand_value(struct demand *d)
{
    if (d->kind == DEMAND_NOTHING) d->kind = DEMAND_VALUE;
}

/* One of those that the set has. */
static void demand_set(struct demand *d, const struct literal_set *set, struct arena *arena)
{
    bool is_all_scalar = !set->has_null && set->count == set->sorted_count;
    if (!is_all_scalar || set->count == 0) return;
    demand_value(d);
    bool is_tighter = d->kind != DEMAND_VALUES || set->count < d->count;
    if (set->count > DEMAND_VALUES_MAX || !is_tighter) return;
    d->kind = DEMAND_VALUES;
    d->count = set->count;
    for (size_t i = 0; i < set->count; i++) {
        d->values[i] = store_scalar(&set->list[i].value, arena);
    }
}

static void demand_prefix(struct demand *d, const struct literal_set *set, struct arena *arena)
{
    demand_value(d);
    if (d->kind != DEMAND_VALUE) return; /* what is there already serves as well */
    d->kind = DEMAND_RANGES;
    d->count = 1;
    d->ranges[0] = (struct demand_range){.low = store_scalar(&set->list[0].value, arena),
                                         .is_prefix = true};
}

static enum stored_kind type_of(enum stored_kind kind)
{
    return stored_is_number(kind) ? STORED_INTEGER : kind;
}

static struct demand_range range_with(struct slice end, bool is_low)
{
    struct demand_range r = {.is_prefix = false};
    *(is_low ? &r.low : &r.high) = end;
    return r;
}

/* The ranges that begin with this bound: of its type; of now, of numbers and of Dates. */
static void range_begin(struct demand *d, const struct bound *b, bool is_low, struct arena *arena)
{
    struct stored date = {.kind = STORED_DATE};
    struct slice value = store_scalar(&b->value, arena);
    d->kind = DEMAND_RANGES;
    d->count = 1;
    d->ranges[0] = range_with(value, is_low);
    if (!b->is_now || b->value.kind != STORED_INTEGER) return;
    date.ms = b->value.is_negative ? -(int64_t)b->value.u : (int64_t)b->value.u;
    d->ranges[d->count++] = range_with(store_scalar(&date, arena), is_low);
}

/* The other end of a range that has one. An end of another type is left out. */
static void range_end(struct demand *d, const struct bound *b, bool is_low, struct arena *arena)
{
    struct demand_range *r = &d->ranges[0];
    struct slice *end = is_low ? &r->low : &r->high;
    struct slice other = is_low ? r->high : r->low;
    struct stored has;
    if (d->count != 1 || r->is_prefix || end->data != NULL) return;
    (void)stored_read(other.data, other.data + other.len, &has);
    if (type_of(has.kind) != type_of(b->value.kind) || b->is_now) return;
    *end = store_scalar(&b->value, arena);
}

static void demand_bound(struct demand *d, const struct bound *b, bool is_low, struct arena *arena)
{
    if (!stored_is_scalar(b->value.kind)) return; /* nothing is true of NaN */
    demand_value(d);
    if (d->kind == DEMAND_VALUE) {
        range_begin(d, b, is_low, arena);
    } else if (d->kind == DEMAND_RANGES) {
        range_end(d, b, is_low, arena);
    }
}

static void demand_condition(struct demand *d, const struct condition *c, struct arena *arena)
{
    switch (c->op->demand) {
    case ASKS_NOTHING: break;
    case ASKS_EQUAL: demand_set(d, &c->set, arena); break;
    case ASKS_PREFIX: demand_prefix(d, &c->set, arena); break;
    case ASKS_ORDER:
        demand_bound(d, &c->bounds[0], (c->op->accepts & ORDER_GREATER) != 0, arena);
        break;
    case ASKS_BETWEEN:
        demand_bound(d, &c->bounds[0], true, arena);
        demand_bound(d, &c->bounds[1], false, arena);
        break;
    }
}

/* ---- the filter ---- */

/* As deep as FILTER_DEPTH_MAX. */
static void demand_node(struct demand *d, const struct node *node, const struct path *p,
                        struct arena *arena)
{
    if (node->kind == NODE_AND) {
        for (const struct node *child = node->children; child != NULL; child = child->next) {
            demand_node(d, child, p, arena);
        }
    }
    if (node->kind != NODE_FIELD || !path_equal(node->path, p)) return;
    for (const struct condition *c = node->conditions; c != NULL; c = c->next) {
        demand_condition(d, c, arena);
    }
}

void filter_demand(const struct filter *f, const struct path *p, struct arena *arena,
                   struct demand *out)
{
    out->kind = DEMAND_NOTHING;
    out->count = 0;
    demand_node(out, f->root, p, arena);
}
