/* fields: see fields.h. */
#include "collection/fields.h"

#include "collection/rows.h"

static enum err damaged(struct error *e)
{
    return error_set(e, ERR_CORRUPT, "a hash is damaged");
}

static enum err find_packed(const struct collection_head *h, const struct field_names *names,
                            struct element *out, struct error *e)
{
    struct element x;
    size_t at = 0;
    while (collection_packed_next(h, &at, &x)) {
        for (size_t i = 0; i < names->count; i++) {
            if (slice_eq(names->items[i], x.name)) out[i] = x;
        }
    }
    return at == h->packed.len ? OK : damaged(e);
}

static enum err find_rows(const struct element_rows *of, const struct field_names *names,
                          const struct row_source *from, struct element *out, struct error *e)
{
    struct slice keys[FIELD_NAMES_MAX] = {{0}};
    struct entry found[FIELD_NAMES_MAX] = {{0}};
    for (size_t i = 0; i < names->count; i++) {
        keys[i] = row_of_name(from->arena, of, ROW_FIELD, names->items[i]);
    }
    enum err r = from->get(from, keys, names->count, found, e);
    for (size_t i = 0; i < names->count && r == OK; i++) {
        if (!found[i].exists) continue;
        if (!row_read(COLLECTION_HASH, keys[i], &found[i], &out[i])) r = damaged(e);
    }
    return r;
}

enum err fields_find(uint16_t database, struct slice value, const struct field_names *names,
                     const struct row_source *from, struct element *out, struct error *e)
{
    struct collection_head h;
    INVARIANT(names->count <= FIELD_NAMES_MAX);
    for (size_t i = 0; i < names->count; i++) out[i] = (struct element){0};
    if (!collection_is_head(value)) return OK;
    if (!collection_head_read(value, &h)) return damaged(e);
    if (h.kind != COLLECTION_HASH) return OK;
    if (!h.is_spread) return find_packed(&h, names, out, e);
    struct element_rows of = {.database = database, .incarnation = h.incarnation};
    return find_rows(&of, names, from, out, e);
}

/* ---- of a view ---- */

enum err fields_source(const struct row_source *from, const struct slice *keys, size_t count,
                       struct entry *out, struct error *e)
{
    struct view *v = from->arg;
    enum err r = OK;
    for (size_t i = 0; i < count && r == OK; i++) {
        out[i] = (struct entry){0};
        if (view_own(v, keys[i], &out[i])) continue;
        if (v->overlay != NULL && engine_is_new_row(v->overlay, keys[i])) continue;
        r = view_stored(v, keys[i], &out[i], e);
    }
    return r;
}

enum err fields_of_view(struct view *v, uint16_t database, struct slice value,
                        const struct field_names *names, struct element *out, struct error *e)
{
    struct row_source from = {.arena = v->arena, .get = fields_source, .arg = v};
    return fields_find(database, value, names, &from, out, e);
}

bool fields_are_written(struct view *v, uint16_t database, struct slice value,
                        const struct field_names *names)
{
    struct collection_head h;
    struct entry ignored;
    if (!collection_head_read(value, &h)) return true;
    struct element_rows of = {.database = database, .incarnation = h.incarnation};
    for (size_t i = 0; i < names->count; i++) {
        struct slice key = row_of_name(v->arena, &of, ROW_FIELD, names->items[i]);
        if (view_own(v, key, &ignored)) return true;
    }
    return false;
}
