/* plan: see plan.h. Ranges are built path by path: what rows begin with so far (heads) times the
 * values of the next path, until a path has a range instead, or no values.
 */
#include "index/plan.h"

#include "base/bytes.h"
#include "codec/pack.h"
#include "index/index_int.h"

#define WHOLE_END_BYTES 2                /* of the body of a part that is whole (rows.h) ... */
#define CUT_END_BYTES (2 + 16)           /* ... and of one that is cut, with its hash */
#define RANGES_MAX (PLAN_RANGES_MAX - 1) /* beside that of hashes */

/* ---- bounds ---- */

/* What the parts of this value begin with, or of all strings that begin with it. Of one that is cut
 * it is what all that begin alike begin with. False: nothing is said of its order. */
static bool stem_of(struct slice value, bool is_prefix, struct buf *out)
{
    const uint8_t *at = value.data;
    struct pack_item item;
    buf_clear(out, SIZE_MAX);
    if (pack_read(&at, value.data + value.len, &item) != PACK_OK) return false;
    bool is_text = item.type == PACK_STR || item.type == PACK_BIN;
    bool is_long = (is_text || item.type == PACK_EXT) && item.body.len > INDEX_BODY_BYTES;
    if (is_long && !is_text) return false;
    if (!index_part(value, out)) return false;
    buf_require(out);
    if (is_text && (is_prefix || is_long)) out->len -= is_long ? CUT_END_BYTES : WHOLE_END_BYTES;
    return true;
}

static uint8_t *join(struct arena *arena, struct slice head, struct slice rest)
{
    uint8_t *p = arena_alloc(arena, head.len + rest.len);
    memcpy(p, head.data, head.len);
    bytes_copy(p + head.len, rest.data, rest.len);
    return p;
}

static struct slice joined(struct arena *arena, struct slice head, struct slice rest)
{
    return slice_of(join(arena, head, rest), head.len + rest.len);
}

/* The first that no longer begins so. A head begins with a byte below ff. */
static struct slice after(struct arena *arena, struct slice head, struct slice rest)
{
    uint8_t *bytes = join(arena, head, rest);
    size_t len = head.len + rest.len;
    while (bytes[len - 1] == 0xff) len--;
    bytes[len - 1]++;
    return slice_of(bytes, len);
}

static struct slice with_byte(struct arena *arena, struct slice head, uint8_t byte)
{
    return joined(arena, head, slice_of(&byte, 1));
}

/* The rows of `head` whose next part is in the range. */
static bool range_of(struct arena *arena, struct slice head, const struct demand_range *r,
                     struct plan_range *out)
{
    struct buf low;
    struct buf high;
    uint8_t first = 0;
    uint8_t past = 0;
    buf_init(&low);
    buf_init(&high);
    bool has_low = r->low.data != NULL && stem_of(r->low, r->is_prefix, &low);
    bool has_high = r->high.data != NULL && stem_of(r->high, false, &high);
    if (has_low || has_high) {
        index_part_type(buf_slice(has_low ? &low : &high), &first, &past);
        out->start = has_low ? joined(arena, head, buf_slice(&low)) : with_byte(arena, head, first);
        out->end = has_high       ? after(arena, head, buf_slice(&high))
                   : r->is_prefix ? after(arena, head, buf_slice(&low))
                                  : with_byte(arena, head, past);
    }
    buf_fini(&low);
    buf_fini(&high);
    return has_low || has_high;
}

/* ---- one index ---- */

/* What rows begin with that a plan has so far, in the arena. */
struct heads {
    struct slice *items;
    size_t count;
};

static void add_values(struct heads *heads, const struct demand *d, struct arena *arena)
{
    struct heads next = {.items = arena_alloc(arena, RANGES_MAX * sizeof *next.items)};
    struct buf part;
    buf_init(&part);
    for (size_t i = 0; i < heads->count; i++) {
        for (size_t k = 0; k < d->count; k++) {
            buf_clear(&part, SIZE_MAX);
            (void)index_part(d->values[k], &part);
            buf_require(&part);
            next.items[next.count++] = joined(arena, heads->items[i], buf_slice(&part));
        }
    }
    buf_fini(&part);
    *heads = next;
}

static bool add_ranges(struct index_plan *plan, const struct heads *heads, const struct demand *d,
                       struct arena *arena)
{
    for (size_t i = 0; i < heads->count; i++) {
        for (size_t k = 0; k < d->count; k++) {
            struct plan_range *next = &plan->ranges[plan->range_count];
            if (!range_of(arena, heads->items[i], &d->ranges[k], next)) return false;
            plan->range_count++;
        }
    }
    bool has_both = d->count == 1 && (d->ranges[0].high.data != NULL || d->ranges[0].is_prefix);
    plan->bounds = has_both && d->ranges[0].low.data != NULL ? 2 : 1;
    return true;
}

/* The rows of an index of values that name hashes. */
static void add_hashes(struct index_plan *plan, struct arena *arena)
{
    const struct index *x = plan->index;
    struct slice id = index_id_key(arena, x->database, SPACE_INDEX_ENTRY, x->definition.id);
    plan->ranges[plan->range_count++] = (struct plan_range){
        .start = id, .end = with_byte(arena, id, INDEX_PARTS_FROM)};
}

/* The first path of which no value is demanded that has a row; path_count: there is none. */
static size_t path_lacking(const struct index *x, const struct plan_question *q)
{
    struct demand d;
    size_t i = 0;
    for (; i < x->definition.path_count; i++) {
        filter_demand(q->filter, x->paths[i], q->arena, &d);
        if (d.kind == DEMAND_NOTHING) break;
    }
    return i;
}

static bool covers(const struct index *x, const struct plan_question *q)
{
    struct slice low;
    struct slice high;
    const struct definition *d = &x->definition;
    if (d->kind != INDEX_VALUE || d->state != INDEX_READY || definition_is_of_hashes(d)) {
        return false;
    }
    index_range(x, q->arena, &low, &high);
    return slice_cmp(low, q->start) <= 0 && slice_cmp(q->end, high) <= 0;
}

static bool add_rows(const struct plan_question *q, struct index_plan *plan)
{
    const struct index *x = plan->index;
    size_t paths = x->definition.path_count;
    struct slice id = index_id_key(q->arena, x->database, SPACE_INDEX_ENTRY, x->definition.id);
    struct heads heads = {.items = &id, .count = 1};
    struct demand d = {.kind = DEMAND_NOTHING};
    for (; plan->values < paths; plan->values++) {
        filter_demand(q->filter, x->paths[plan->values], q->arena, &d);
        if (d.kind != DEMAND_VALUES || heads.count * d.count > RANGES_MAX) break;
        add_values(&heads, &d, q->arena);
    }
    bool has_range = plan->values < paths && d.kind == DEMAND_RANGES &&
                     heads.count * d.count <= RANGES_MAX;
    if (has_range && add_ranges(plan, &heads, &d, q->arena)) return true;
    plan->range_count = 0;
    if (plan->values == 0) return false; /* all of its rows */
    for (size_t i = 0; i < heads.count; i++) {
        struct slice head = heads.items[i];
        plan->ranges[plan->range_count++] = (struct plan_range){
            .start = head, .end = after(q->arena, head, slice_of(NULL, 0))};
    }
    return true;
}

enum plan_result index_plan(const struct index *x, const struct plan_question *q,
                            struct index_plan *out, size_t *path)
{
    *out = (struct index_plan){.index = x};
    *path = 0;
    if (!covers(x, q)) return PLAN_COVERS_LESS;
    *path = path_lacking(x, q);
    if (*path < x->definition.path_count) return PLAN_LACKS;
    *path = 0;
    if (!add_rows(q, out)) return PLAN_IS_WIDE;
    add_hashes(out, q->arena);
    return PLAN_SERVES;
}

/* ---- all of them ---- */

/* Values narrow more than a range with both ends, and that more than one with one. */
static bool is_better(const struct index_plan *a, const struct index_plan *b)
{
    if (a->values != b->values) return a->values > b->values;
    if (a->bounds != b->bounds) return a->bounds > b->bounds;
    return a->index->definition.is_unique && !b->index->definition.is_unique;
}

size_t index_plans(const struct indexes *ix, const struct plan_question *q,
                   struct index_plan out[PLANS_MAX])
{
    size_t count = 0;
    size_t path = 0;
    struct index_plan next;
    for (const struct index *x = index_of_database(ix, key_database(q->start)); x != NULL;
         x = x->next) {
        if (index_plan(x, q, &next, &path) != PLAN_SERVES) continue;
        if (count < PLANS_MAX) {
            out[count++] = next;
        } else if (is_better(&next, &out[count - 1])) {
            out[count - 1] = next;
        }
        for (size_t i = count - 1; i > 0 && is_better(&out[i], &out[i - 1]); i--) {
            struct index_plan better = out[i];
            out[i] = out[i - 1];
            out[i - 1] = better;
        }
    }
    return count;
}
