/* copy: see copy.h. */
#include "collection/copy.h"

#include <math.h>

#include "collection/list.h"
#include "collection/parts.h"

static enum err too_large(const struct collection *c, struct error *e)
{
    uint64_t max = engine_limits(c->view->engine)->txn_bytes_max;
    if (!c->head.is_spread || c->head.bytes <= max) return OK;
    return error_set(e, ERR_LIMIT, "a collection of %llu bytes exceeds max-transaction-size (%llu)",
                     (unsigned long long)c->head.bytes, (unsigned long long)max);
}

static enum err too_many(size_t count, struct error *e)
{
    return error_set(e, ERR_LIMIT,
                     "a collection of %zu elements exceeds what a transaction may copy (%d)", count,
                     COLLECTION_ROWS_MAX / 2);
}

enum err collection_elements(struct collection *c, struct element **out, size_t *count,
                             struct error *e)
{
    struct walk_range range = {.is_reverse = false};
    struct element_walk w;
    struct arena *arena = c->view->arena;
    size_t max = (size_t)c->head.count;
    bool is_end = false;
    *count = 0;
    enum err r = too_large(c, e);
    if (r == OK && max > COLLECTION_ROWS_MAX / 2) r = too_many(max, e);
    if (r != OK) return r;
    *out = arena_alloc(arena, (max + 1) * sizeof **out);
    r = element_walk_begin(&w, c, &range, e);
    while (r == OK && *count < max) {
        struct element x;
        r = element_walk_next(&w, &x, &is_end, e);
        if (r != OK || is_end) break;
        x.name = arena_copy(arena, x.name);
        x.value = arena_copy(arena, x.value);
        (*out)[(*count)++] = x;
    }
    element_walk_end(&w);
    return r;
}

static bool has_ended(const struct view *v, int64_t expiry_ms)
{
    return expiry_ms != 0 && expiry_ms <= v->now_ms;
}

/* A field whose time has come is left out. */
static enum err add(struct collection *c, const struct element *x, struct error *e)
{
    bool was_there = false;
    if (has_ended(c->view, x->expiry_ms)) return OK;
    if (c->head.kind == COLLECTION_LIST) return list_push(c, false, x->value, e);
    return collection_put(c, x, &was_there, NULL, e);
}

/* ---- copies ---- */

/* All parts, in the arena. */
static enum err parts_of(struct collection *c, struct stream_part **out, size_t *count,
                         struct error *e)
{
    struct stream_parts p = {.c = NULL};
    struct arena *arena = c->view->arena;
    struct stream_part x;
    size_t cap = 0;
    bool is_good = false;
    bool is_end = false;
    *out = NULL;
    *count = 0;
    enum err r = too_large(c, e);
    if (r == OK) r = stream_parts_begin(&p, c, slice_of(NULL, 0), &is_good, e);
    while (r == OK) {
        r = stream_parts_next(&p, &x, &is_end, e);
        if (r != OK || is_end) break;
        if (*count == COLLECTION_ROWS_MAX / 2) {
            r = too_many(*count + 1, e);
            break;
        }
        *out = arena_grow(arena, *out, *count, &cap, sizeof **out);
        (*out)[(*count)++] = x;
    }
    stream_parts_end(&p);
    return r;
}

static enum err copy_stream(struct collection *from, struct collection *to, struct error *e)
{
    struct stream_part *parts = NULL;
    size_t count = 0;
    enum err r = parts_of(from, &parts, &count, e);
    stream_make(to);
    for (size_t i = 0; i < count && r == OK; i++) r = stream_part_add(to, &parts[i], e);
    return r;
}

static enum err copy_elements(struct collection *from, struct collection *to, struct error *e)
{
    struct element *items = NULL;
    size_t count = 0;
    enum err r = collection_elements(from, &items, &count, e);
    for (size_t i = 0; i < count && r == OK; i++) r = add(to, &items[i], e);
    return r;
}

static enum err copy_apply(struct layer_op *op, struct view *v, bool *is_met, struct error *e)
{
    struct collection_copy *x = (struct collection_copy *)op;
    struct collection from;
    struct collection to;
    collection_begin(x->all, v, x->from, COLLECTION_HASH, &from);
    enum err r = collection_read(&from, &x->entry, e);
    collection_begin(x->all, v, x->to, from.head.kind, &to);
    to.expiry_ms = from.expiry_ms;
    if (r == OK && from.head.kind == COLLECTION_STREAM) {
        r = copy_stream(&from, &to, e);
    } else if (r == OK) {
        r = copy_elements(&from, &to, e);
    }
    *is_met = r == OK;
    return r == OK ? collection_replace(&to, e) : r;
}

struct op collection_copy_op(struct collection_copy *x)
{
    x->base = (struct layer_op){.apply = copy_apply};
    return (struct op){.kind = OP_LAYER, .key = x->to, .layer = &x->base};
}

/* ---- dumps ---- */

static enum err dump_stream(struct collection *c, struct buf *out, struct error *e)
{
    struct stream_part *parts = NULL;
    size_t count = 0;
    enum err r = parts_of(c, &parts, &count, e);
    for (size_t i = 0; i < count && r == OK; i++) stream_part_write(&parts[i], out);
    return r == OK && out->is_failed ? error_set(e, ERR_NOMEM, "out of memory for a dump") : r;
}

enum err collection_dump(struct collection *c, struct buf *out, struct error *e)
{
    struct element *items = NULL;
    size_t count = 0;
    if (c->head.kind == COLLECTION_STREAM) return dump_stream(c, out, e);
    enum err r = collection_elements(c, &items, &count, e);
    if (r != OK) return r;
    struct collection_head h = {.kind = c->head.kind, .count = count};
    collection_head_write(&h, items, out);
    return out->is_failed ? error_set(e, ERR_NOMEM, "out of memory for a dump") : OK;
}

static enum err restore_stream(const struct collection_restore *x, struct view *v, struct error *e)
{
    struct collection to;
    struct stream_part part;
    enum err r = OK;
    collection_begin(x->all, v, x->to, COLLECTION_STREAM, &to);
    to.expiry_ms = x->expiry_ms;
    stream_make(&to);
    for (size_t at = 0; at < x->head.len && r == OK;) {
        bool is_good = stream_part_read(x->head, &at, &part);
        r = is_good ? stream_part_add(&to, &part, e) : error_set(e, ERR_VALUE, "Bad data format");
    }
    return r == OK ? collection_replace(&to, e) : r;
}

static enum err restore_apply(struct layer_op *op, struct view *v, bool *is_met, struct error *e)
{
    struct collection_restore *x = (struct collection_restore *)op;
    struct collection_head h;
    struct collection to;
    size_t at = 0;
    uint64_t count = 0;
    enum err r = OK;
    if (x->is_stream) {
        r = restore_stream(x, v, e);
        *is_met = r == OK;
        return r;
    }
    if (!collection_head_read(x->head, &h) || h.is_spread || h.kind == COLLECTION_STREAM) {
        return error_set(e, ERR_VALUE, "Bad data format");
    }
    collection_begin(x->all, v, x->to, h.kind, &to);
    to.expiry_ms = x->expiry_ms;
    for (; count < h.count && r == OK; count++) {
        struct element item;
        bool is_good = collection_packed_next(&h, &at, &item) && !isnan(item.score) &&
                       item.expiry_ms >= 0;
        r = is_good ? add(&to, &item, e) : error_set(e, ERR_VALUE, "Bad data format");
    }
    if (r == OK && (at != h.packed.len || h.count == 0)) {
        r = error_set(e, ERR_VALUE, "Bad data format");
    }
    *is_met = r == OK;
    return r == OK ? collection_replace(&to, e) : r;
}

struct op collection_restore_op(struct collection_restore *x)
{
    x->base = (struct layer_op){.apply = restore_apply};
    return (struct op){.kind = OP_LAYER, .key = x->to, .layer = &x->base};
}

/* ---- loading ---- */

static enum err load_one(struct collection *to, uint64_t place, const struct element *x,
                         struct error *e)
{
    if (to->head.kind == COLLECTION_LIST && place < to->head.count) {
        return list_set(to, place, x->value, e);
    }
    return add(to, x, e);
}

static enum err load_stream(const struct collection_load *x, struct view *v, struct collection *to,
                            struct error *e)
{
    struct entry there;
    enum err r = OK;
    if (has_ended(v, x->expiry_ms)) {
        r = view_get(v, x->to, &there, e);
        if (r == OK && there.exists) view_delete(v, x->to);
        return r;
    }
    if (!to->exists) stream_make(to);
    to->expiry_ms = x->expiry_ms;
    for (size_t i = 0; i < x->parts.count && r == OK; i++) {
        r = stream_part_add(to, &x->parts.items[i], e);
    }
    return r == OK ? collection_replace(to, e) : r;
}

static enum err load_apply(struct layer_op *op, struct view *v, bool *is_met, struct error *e)
{
    struct collection_load *x = (struct collection_load *)op;
    struct collection to;
    enum err r = OK;
    collection_begin(x->all, v, x->to, x->kind, &to);
    if (x->before > 0) r = collection_open(x->all, v, x->to, x->kind, &to, e);
    if (x->kind == COLLECTION_STREAM) {
        if (r == OK) r = load_stream(x, v, &to, e);
        *is_met = r == OK;
        return r;
    }
    size_t count = has_ended(v, x->expiry_ms) ? 0 : x->elements.count;
    if (count == 0) collection_clear(&to);
    to.expiry_ms = x->expiry_ms;
    for (size_t i = 0; i < count && r == OK; i++) {
        r = load_one(&to, (uint64_t)x->before + i, &x->elements.items[i], e);
    }
    *is_met = r == OK;
    return r == OK ? collection_replace(&to, e) : r;
}

struct op collection_load_op(struct collection_load *x)
{
    x->base = (struct layer_op){.apply = load_apply};
    return (struct op){.kind = OP_LAYER, .key = x->to, .layer = &x->base};
}
