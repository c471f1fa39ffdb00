/* entries: which rows an entry has in an index: one for each combination of the values at its
 * paths. At most one path may be an array, so that is one for each element.
 */
#include <stdio.h>

#include "codec/collection.h"
#include "codec/pack.h"
#include "codec/value.h"
#include "index/index_int.h"

/* The elements, when `value` is an array or a Set. */
static bool elements_of(struct slice value, struct slice *items, uint32_t *count)
{
    const uint8_t *at = value.data;
    const uint8_t *end = value.data + value.len;
    struct pack_item item;
    if (pack_read(&at, end, &item) != PACK_OK) return false;
    if (item.type == PACK_EXT && item.ext == EXT_SET) {
        at = item.body.data;
        end = at + item.body.len;
        if (pack_read(&at, end, &item) != PACK_OK) return false;
    }
    if (item.type != PACK_ARRAY) return false;
    *items = slice_of(at, (size_t)(end - at));
    *count = item.count;
    return true;
}

/* The values at an index's paths. */
struct found {
    struct slice values[INDEX_VALUE_PATHS_MAX];
    size_t array_at; /* the path that is an array; path_count = none is */
    struct slice items;
    uint32_t item_count;
};

/* False: a path is missing, so there are no rows. */
static enum err find_values(const struct index *x, struct slice value, struct found *f, bool *has,
                            struct error *e)
{
    const struct definition *d = &x->definition;
    f->array_at = d->path_count;
    *has = false;
    for (size_t i = 0; i < d->path_count; i++) {
        struct slice items;
        uint32_t count = 0;
        if (!path_find(x->paths[i], value, &f->values[i])) return OK;
        if (!elements_of(f->values[i], &items, &count)) continue;
        if (f->array_at < d->path_count) {
            struct slice one = d->paths[f->array_at];
            struct slice two = d->paths[i];
            return error_set(
                e, ERR_TYPE,
                "index '%.*s': '%.*s' and '%.*s' are both arrays, but only one path may be",
                (int)d->name.len, (const char *)d->name.data, (int)one.len, (const char *)one.data,
                (int)two.len, (const char *)two.data);
        }
        f->array_at = i;
        f->items = items;
        f->item_count = count;
    }
    if (f->array_at < d->path_count && f->item_count > INDEX_ELEMENTS_MAX) {
        struct slice path = d->paths[f->array_at];
        return error_set(e, ERR_TYPE, "index '%.*s': '%.*s' has %u elements, more than %d",
                         (int)d->name.len, (const char *)d->name.data, (int)path.len,
                         (const char *)path.data, (unsigned)f->item_count, INDEX_ELEMENTS_MAX);
    }
    *has = true;
    return OK;
}

/* Appends the row with `element` in the place of the array. False: a value is not indexed. */
static bool add_row(const struct index *x, struct slice key, const struct found *f,
                    struct slice element, struct buf *out)
{
    const struct definition *d = &x->definition;
    uint8_t head[KEY_HEAD_BYTES + INDEX_ID_BYTES] = {KEY_HEAD(x->database, SPACE_INDEX_ENTRY)};
    index_id_write(d->id, head + KEY_HEAD_BYTES);
    buf_append(out, head, sizeof head);
    for (size_t i = 0; i < d->path_count; i++) {
        if (!index_part(i == f->array_at ? element : f->values[i], out)) return false;
    }
    struct slice tuple = engine_key_tuple(key);
    if (!d->is_unique) buf_append(out, tuple.data, tuple.len);
    return true;
}

static bool is_hash(struct slice value)
{
    struct collection_head h;
    return collection_head_read(value, &h) && h.kind == COLLECTION_HASH;
}

/* Of a hash, in an index of values: that it is there. */
static void name_hash(const struct index *x, struct slice key, struct arena *arena,
                      struct index_rows *out)
{
    out->keys = arena_alloc(arena, sizeof *out->keys);
    out->keys[out->count++] = index_list_key(arena, x->database, x->definition.id,
                                             engine_key_tuple(key));
}

enum err index_rows(const struct index *x, struct slice key, struct slice value,
                    struct arena *arena, struct index_rows *out, struct error *e)
{
    struct found f;
    bool has = false;
    *out = (struct index_rows){0};
    if (is_hash(value)) {
        name_hash(x, key, arena, out);
        return OK;
    }
    enum err r = find_values(x, value, &f, &has, e);
    if (r != OK || !has) return r;
    bool has_array = f.array_at < x->definition.path_count;
    size_t count = has_array ? f.item_count : 1;
    struct buf row;
    buf_init(&row);
    out->keys = arena_alloc(arena, count * sizeof *out->keys);
    for (size_t i = 0; i < count; i++) {
        struct slice element = {0};
        if (has_array) {
            element = slice_of(f.items.data, value_length(f.items));
            f.items = slice_of(f.items.data + element.len, f.items.len - element.len);
        }
        buf_clear(&row, SIZE_MAX);
        if (!add_row(x, key, &f, element, &row)) continue;
        buf_require(&row);
        out->keys[out->count++] = arena_copy(arena, buf_slice(&row));
    }
    buf_fini(&row);
    out->count = slice_sort_distinct(out->keys, out->count);
    return OK;
}

/* ---- what a row holds ---- */

struct slice index_row_value(const struct index *x, struct slice key, bool is_multi,
                             struct arena *arena)
{
    struct slice tuple = engine_key_tuple(key);
    size_t len = 1 + (x->definition.is_unique ? tuple.len : 0);
    uint8_t *p = arena_alloc(arena, len);
    p[0] = is_multi;
    if (len > 1) memcpy(p + 1, tuple.data, tuple.len);
    return slice_of(p, len);
}

struct slice index_row_tuple(struct slice value)
{
    return value.len == 0 ? value : slice_of(value.data + 1, value.len - 1);
}

bool index_row_owner(const struct index *x, struct slice key, struct slice value,
                     struct arena *arena, struct slice *owner, bool *is_multi)
{
    struct slice tuple = index_row_tuple(value);
    size_t at = KEY_HEAD_BYTES + INDEX_ID_BYTES;
    if (value.len == 0 || key.len <= at) return false;
    *is_multi = value.data[0] != 0;
    if (key.data[at] == INDEX_LIST_TAG) {
        tuple = slice_of(key.data + at + 1, key.len - at - 1);
    } else if (!x->definition.is_unique) {
        for (size_t i = 0; i < x->definition.path_count; i++) {
            at = index_part_end(key, at);
            if (at == 0) return false;
        }
        tuple = slice_of(key.data + at, key.len - at);
    }
    uint8_t *p = arena_alloc(arena, KEY_HEAD_BYTES + tuple.len);
    key_head_write(p, x->database, SPACE_DATA);
    bytes_copy(p + KEY_HEAD_BYTES, tuple.data, tuple.len);
    *owner = slice_of(p, KEY_HEAD_BYTES + tuple.len);
    return tuple.len > 0;
}

bool index_row_leads(const struct index *x, struct slice owner, struct slice value,
                     struct slice row, const struct scan_range *range)
{
    struct arena arena;
    struct index_rows rows;
    struct error e;
    struct slice leader = {0};
    if (definition_is_of_hashes(&x->definition)) return index_hash_row_leads(x, row, range);
    arena_init(&arena, 4096);
    if (index_rows(x, owner, value, &arena, &rows, &e) == OK) {
        for (size_t i = 0; i < rows.count; i++) {
            if (slice_cmp(rows.keys[i], range->start) < 0) continue;
            if (slice_cmp(rows.keys[i], range->end) >= 0) break;
            leader = rows.keys[i];
            if (!range->is_reverse) break;
        }
    }
    bool leads = slice_eq(leader, row);
    arena_fini(&arena);
    return leads;
}

/* ---- ranges ---- */

static enum err add_part(const struct index *x, struct slice value, const char *what,
                         struct buf *out, struct error *e)
{
    if (index_part(value, out)) return OK;
    const struct definition *d = &x->definition;
    return error_set(e, ERR_SYNTAX,
                     "%s is of type %s, which index '%.*s' does not support (strings, numbers, "
                     "bigints, booleans, bytes and dates are)",
                     what, value_type_name(value), (int)d->name.len, (const char *)d->name.data);
}

/* The first bytes that a part has within the range: those of the bound's type. */
static enum err range_types(const struct buf *from, const struct buf *to, uint8_t *low,
                            uint8_t *high, struct error *e)
{
    uint8_t low_to = 0;
    uint8_t high_to = 0;
    *low = 0;
    *high = 0xff;
    if (from->len > 0) index_part_type(buf_slice(from), low, high);
    if (to->len == 0) return OK;
    index_part_type(buf_slice(to), &low_to, &high_to);
    if (from->len > 0 && low_to != *low) {
        return error_set(e, ERR_SYNTAX, "FROM and TO are of different types");
    }
    *low = low_to;
    *high = high_to;
    return OK;
}

static struct slice bound(struct arena *arena, const struct buf *head, const struct buf *part,
                          uint8_t type)
{
    uint8_t *p = arena_alloc(arena, head->len + part->len + 1);
    memcpy(p, head->data, head->len);
    bytes_copy(p + head->len, part->data, part->len);
    if (part->len > 0) return slice_of(p, head->len + part->len);
    p[head->len] = type;
    return slice_of(p, head->len + 1);
}

static enum err query_check(const struct index *x, const struct index_query *q, struct error *e)
{
    size_t paths = x->definition.path_count;
    bool has_range = q->from.data != NULL || q->to.data != NULL;
    if (q->value_count > paths) {
        return error_set(e, ERR_SYNTAX, "%zu values, but the index has %zu path%s", q->value_count,
                         paths, paths == 1 ? "" : "s");
    }
    if (has_range && q->value_count == paths) {
        return error_set(e, ERR_SYNTAX,
                         "every path of the index has a value, so that FROM and TO have none");
    }
    return OK;
}

enum err index_bounds(const struct index *x, const struct index_query *q, struct arena *arena,
                      struct slice *start, struct slice *end, struct error *e)
{
    struct buf head;
    struct buf from;
    struct buf to;
    uint8_t low = 0;
    uint8_t high = 0xff;
    uint8_t bytes[KEY_HEAD_BYTES + INDEX_ID_BYTES] = {KEY_HEAD(x->database, SPACE_INDEX_ENTRY)};
    index_id_write(x->definition.id, bytes + KEY_HEAD_BYTES);
    buf_init(&head);
    buf_init(&from);
    buf_init(&to);
    buf_append(&head, bytes, sizeof bytes);
    enum err r = query_check(x, q, e);
    for (size_t i = 0; i < q->value_count && r == OK; i++) {
        char what[32];
        snprintf(what, sizeof what, "value %zu", i + 1);
        r = add_part(x, q->values[i], what, &head, e);
    }
    if (r == OK && q->from.data != NULL) r = add_part(x, q->from, "FROM", &from, e);
    if (r == OK && q->to.data != NULL) r = add_part(x, q->to, "TO", &to, e);
    if (r == OK) r = range_types(&from, &to, &low, &high, e);
    if (r == OK) {
        buf_require(&head);
        /* Lists come before all rows. A row of a unique index may be the values alone. */
        bool has_range = from.len + to.len > 0;
        if (low < INDEX_PARTS_FROM) low = INDEX_PARTS_FROM;
        *start = has_range || q->value_count == 0 ? bound(arena, &head, &from, low)
                                                  : arena_copy(arena, buf_slice(&head));
        *end = bound(arena, &head, &to, high);
    }
    buf_fini(&head);
    buf_fini(&from);
    buf_fini(&to);
    return r;
}
