/* literal: built and compared in one pass over the bytes each, both recursive: as deep as
 * value_check lets a value be. A set orders what has an order and searches it by halves; the rest
 * is compared one by one. */
#include "filter/literal_int.h"

#include <stdlib.h>

static int compare_names(const void *a, const void *b)
{
    const struct literal *left = a, *right = b;
    return slice_cmp(left->value.body, right->value.body);
}

static const uint8_t *build(const uint8_t *at, const uint8_t *end, struct arena *arena,
                            struct literal *out)
{
    *out = (struct literal){0};
    at = stored_read(at, end, &out->value);
    struct stored *s = &out->value;
    if (s->kind < STORED_ARRAY || s->kind == STORED_REF) return at;
    size_t width = s->kind >= STORED_MAP ? 2 : 1, count = s->count * width;
    end = s->body.data + s->body.len;
    if (count > s->body.len) return NULL; /* an item has a byte at least */
    out->items = arena_alloc_try(arena, count * sizeof *out->items);
    if (out->items == NULL) return NULL;
    bool is_object = s->kind == STORED_OBJECT || s->kind == STORED_ERROR;
    for (size_t i = 0; i < count; i++) {
        if (is_object && i % 2 == 0 && !stored_is_name(at, end)) out->has_other_keys = true;
        at = build(at, end, arena, &out->items[i]);
        if (at == NULL) return NULL;
    }
    if (out->has_other_keys) s->kind = STORED_MAP;
    if (s->kind == STORED_OBJECT || s->kind == STORED_ERROR) {
        qsort(out->items, s->count, 2 * sizeof *out->items, compare_names);
    }
    return at;
}

bool literal_build(struct slice packed, struct arena *arena, struct literal *out)
{
    return build(packed.data, packed.data + packed.len, arena, out) != NULL;
}

/* The value under that name. */
static const struct literal *find_member(const struct literal *l, struct slice name)
{
    size_t low = 0, high = l->value.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int c = slice_cmp(name, l->items[2 * middle].value.body);
        if (c == 0) return &l->items[2 * middle + 1];
        if (c < 0) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return NULL;
}

/* Names are distinct on both sides and their numbers are equal: each found is all found. */
static const uint8_t *match_members(const struct literal *l, const uint8_t *at, const uint8_t *end)
{
    for (uint32_t i = 0; i < l->value.count; i++) {
        struct stored name;
        if (!stored_is_name(at, end)) return NULL;
        at = stored_read(at, end, &name);
        const struct literal *value = find_member(l, name.body);
        if (value == NULL) return NULL;
        at = literal_match(value, at, end);
        if (at == NULL) return NULL;
    }
    return at;
}

static const uint8_t *match_items(const struct literal *l, size_t count, const uint8_t *at,
                                  const uint8_t *end)
{
    for (size_t i = 0; i < count && at != NULL; i++) at = literal_match(&l->items[i], at, end);
    return at;
}

/* `at` is what stored_read returned for the value. */
static const uint8_t *match_read(const struct literal *l, const struct stored *s, const uint8_t *at)
{
    if (stored_is_scalar(l->value.kind)) {
        bool is_type = stored_is_same_type(l->value.kind, s->kind);
        return is_type && stored_compare(&l->value, s) == 0 ? at : NULL;
    }
    const uint8_t *end = s->body.data + s->body.len;
    size_t count = l->value.count;
    switch (l->value.kind) {
    case STORED_NULL: return s->kind == STORED_NULL ? at : NULL;
    case STORED_TYPED:
    case STORED_V8: return s->kind == l->value.kind && slice_eq(l->value.body, s->body) ? at : NULL;
    case STORED_REF: return s->kind == STORED_REF && l->value.u == s->u ? at : NULL;
    case STORED_ARRAY:
    case STORED_SET:
    case STORED_REGEXP:
        return s->kind == l->value.kind && s->count == count ? match_items(l, count, at, end)
                                                             : NULL;
    case STORED_OBJECT:
    case STORED_ERROR:
        return s->kind == l->value.kind && s->count == count ? match_members(l, at, end) : NULL;
    case STORED_MAP:
        if (s->count != count) return NULL;
        /* What lies there as MessagePack's map is a Map only if a key says so. */
        if (s->kind == STORED_OBJECT && !l->has_other_keys) return NULL;
        if (s->kind != STORED_OBJECT && s->kind != STORED_MAP) return NULL;
        return match_items(l, 2 * count, at, end);
    default: return NULL; /* NaN, the invalid Date */
    }
}

const uint8_t *literal_match(const struct literal *l, const uint8_t *at, const uint8_t *end)
{
    struct stored s;
    at = stored_read(at, end, &s);
    return match_read(l, &s, at);
}

static int compare_literals(const void *a, const void *b)
{
    const struct literal *left = a, *right = b;
    return stored_compare(&left->value, &right->value);
}

void literal_set_init(struct literal_set *set, struct literal *list, size_t count)
{
    size_t kept = 0, sorted = 0;
    *set = (struct literal_set){.list = list};
    for (size_t i = 0; i < count; i++) {
        struct literal next = list[i];
        if (next.value.kind == STORED_NULL) {
            set->has_null = true;
        } else if (stored_is_scalar(next.value.kind)) {
            list[kept++] = list[sorted];
            list[sorted++] = next;
        } else {
            list[kept++] = next;
        }
    }
    set->count = kept;
    set->sorted_count = sorted;
    if (sorted > 1) qsort(list, sorted, sizeof *list, compare_literals);
}

bool literal_set_has(const struct literal_set *set, const struct stored *s)
{
    if (s->kind == STORED_NULL) return set->has_null;
    if (stored_is_scalar(s->kind)) {
        size_t low = 0, high = set->sorted_count;
        while (low < high) {
            size_t middle = low + (high - low) / 2;
            int c = stored_compare(s, &set->list[middle].value);
            if (c == 0) return true;
            if (c < 0) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        return false;
    }
    for (size_t i = set->sorted_count; i < set->count; i++) {
        if (match_read(&set->list[i], s, s->body.data) != NULL) return true;
    }
    return false;
}
