/* check_indexes: the indexes of a database against its entries. An entry's rows are made by the
 * function that made them when it was written (index_rows), and each is looked up. There are as
 * many others as there are rows more than those: then each row is asked for its entry.
 *
 * Not every difference is damage. A unique index gives the value of an expired entry to another,
 * also while the expired one is still stored. While an index is filled, what comes after its
 * position may have rows or not. One that failed is kept no more.
 */
#include "base/mem.h"
#include "codec/key.h"
#include "index/index.h"
#include "offline/check_contents.h"
#include "search/text.h"

#define PART "indexes"

struct content_index {
    struct content_index *next;
    struct index *index; /* owned */
    struct slice row;    /* its definition's key */
    uint64_t matched;    /* rows that entries have */
    uint64_t rows;       /* rows that there are */
    bool has_text;       /* INDEX_TEXT: its row of SPACE_TEXT came */
};

static bool is_kept(const struct content_index *x)
{
    const struct definition *d = &x->index->definition;
    return d->kind == INDEX_VALUE && d->state != INDEX_FAILED;
}

/* ---- definitions ---- */

static struct content_index *index_of(const struct contents *c, uint32_t id)
{
    struct content_index *x = c->indexes;
    while (x != NULL && x->index->definition.id != id) x = x->next;
    return x;
}

static void definition_check(struct contents *c, struct slice key, const struct index *x,
                             struct slice row)
{
    const struct definition *d = &x->definition;
    struct error why;
    struct buf again;
    if (index_of(c, d->id) != NULL) {
        contents_say(c, PART, key, "another index has its id %u too", d->id);
    }
    if (key_check(d->prefix, &why) != OK) {
        contents_say(c, PART, key, "its prefix cannot be decoded: %.180s", why.text);
    }
    size_t paths_max = d->kind == INDEX_TEXT ? INDEX_PATHS_MAX : INDEX_VALUE_PATHS_MAX;
    if (d->path_count == 0 || d->path_count > paths_max) {
        contents_say(c, PART, key, "it has %zu paths", d->path_count);
    }
    buf_init(&again);
    definition_write(d, &again);
    buf_require(&again);
    if (!slice_eq(buf_slice(&again), row)) {
        contents_say(c, PART, key, "its definition is not as it is written");
    }
    buf_fini(&again);
}

static void definition_take(void *arg, const struct store_row *row)
{
    struct contents *c = arg;
    struct slice rest = slice_of(row->key.data + KEY_HEAD_BYTES, row->key.len - KEY_HEAD_BYTES);
    struct index *index = NULL;
    struct error why;
    if (rest.len < 2 || rest.data[0] != INDEX_ROW_DEFINITION) return;
    struct slice name = slice_of(rest.data + 1, rest.len - 1);
    if (index_new(c->database, name, row->value, &index, &why) != OK) {
        contents_say(c, PART, row->key, "%.220s", why.text);
        c->has_unknown_index = true;
        return;
    }
    definition_check(c, row->key, index, row->value);
    struct content_index *x = arena_alloc(&c->own, sizeof *x);
    *x = (struct content_index){
        .next = c->indexes, .index = index, .row = arena_copy(&c->own, row->key)};
    c->indexes = x;
}

void check_indexes_begin(struct contents *c)
{
    uint8_t start[] = {KEY_HEAD(c->database, SPACE_INDEX)};
    uint8_t end[] = {KEY_HEAD(c->database, SPACE_INDEX + 1)};
    c->indexes = NULL;
    c->has_unknown_index = false;
    contents_range(c, slice_of(start, sizeof start), slice_of(end, sizeof end), definition_take, c);
}

/* Definitions were looked at already; here is what else lies among them. */
void check_indexes_definition(struct contents *c, const struct store_row *row)
{
    struct slice rest = slice_of(row->key.data + KEY_HEAD_BYTES, row->key.len - KEY_HEAD_BYTES);
    if (rest.len >= 2 && rest.data[0] == INDEX_ROW_DEFINITION) return;
    bool is_next = rest.len == 1 && rest.data[0] == INDEX_ROW_NEXT_ID;
    if (!is_next || row->value.len != INDEX_ID_BYTES) {
        contents_say(c, PART, row->key, "it is neither a definition nor the next id");
        return;
    }
    uint32_t next = index_id_read(row->value);
    for (const struct content_index *x = c->indexes; x != NULL; x = x->next) {
        uint32_t id = x->index->definition.id;
        if (id < next) continue;
        contents_say(c, PART, x->row, "it has id %u, but the next id is %u", id, next);
    }
}

/* ---- entries ---- */

/* Does this entry have to have its rows? */
static bool is_due(const struct content_index *x, struct slice tuple)
{
    const struct definition *d = &x->index->definition;
    if (!is_kept(x) || !key_is_below(tuple, d->prefix)) return false;
    return d->state == INDEX_READY || slice_cmp(tuple, d->position) <= 0;
}

static void row_find(struct contents *c, struct content_index *x, const struct store_row *entry,
                     struct slice key, struct slice value)
{
    const struct definition *d = &x->index->definition;
    bool is_expired = entry->expiry_ms != 0 && entry->expiry_ms <= c->now_ms;
    struct entry row;
    if (!contents_get(c, key, &row)) return;
    bool is_own = row.exists && slice_eq(row.value, value);
    x->matched += is_own;
    if (!is_own && d->is_unique && is_expired) return;
    if (!row.exists) {
        contents_say(c, PART, entry->key, "it has no row in index '%.*s'", (int)d->name.len,
                     (const char *)d->name.data);
    } else if (!is_own) {
        contents_say(c, PART, entry->key, "its row in index '%.*s' says something else",
                     (int)d->name.len, (const char *)d->name.data);
    } else if (row.expiry_ms != entry->expiry_ms) {
        contents_say(c, PART, entry->key, "its row in index '%.*s' expires at %lld, it at %lld",
                     (int)d->name.len, (const char *)d->name.data, (long long)row.expiry_ms,
                     (long long)entry->expiry_ms);
    }
}

void check_indexes_entry(struct contents *c, const struct store_row *entry)
{
    struct slice tuple = engine_key_tuple(entry->key);
    for (struct content_index *x = c->indexes; x != NULL; x = x->next) {
        const struct definition *d = &x->index->definition;
        struct index_rows rows;
        struct error why;
        if (!is_due(x, tuple)) continue;
        if (index_rows(x->index, entry->key, entry->value, &c->arena, &rows, &why) != OK) {
            contents_say(c, PART, entry->key, "it cannot be in index '%.*s': %.160s",
                         (int)d->name.len, (const char *)d->name.data, why.text);
            continue;
        }
        struct slice value = index_row_value(x->index, entry->key, rows.count > 1, &c->arena);
        for (size_t i = 0; i < rows.count; i++) row_find(c, x, entry, rows.keys[i], value);
    }
}

/* ---- rows ---- */

void check_indexes_row(struct contents *c, const struct store_row *row)
{
    struct content_index *x = NULL;
    c->k->index_rows++;
    if (row->key.len >= KEY_HEAD_BYTES + INDEX_ID_BYTES) {
        x = index_of(c, index_id_read(slice_of(row->key.data + KEY_HEAD_BYTES, INDEX_ID_BYTES)));
    }
    if (x == NULL && c->has_unknown_index) return;
    if (x == NULL || x->index->definition.kind != INDEX_VALUE) {
        contents_say(c, PART, row->key, "it is of an index that is not there");
        return;
    }
    x->rows++;
}

struct owner_check {
    struct contents *c;
    const struct content_index *x;
};

static bool has_row(const struct index_rows *rows, struct slice key)
{
    for (size_t i = 0; i < rows->count; i++) {
        if (slice_eq(rows->keys[i], key)) return true;
    }
    return false;
}

static void owner_check(void *arg, const struct store_row *row)
{
    const struct owner_check *o = arg;
    struct contents *c = o->c;
    const struct index *x = o->x->index;
    const char *name = (const char *)x->definition.name.data;
    int len = (int)x->definition.name.len;
    struct slice owner;
    struct entry entry;
    struct index_rows rows;
    struct error why;
    bool is_multi = false;
    if (!index_row_owner(x, row->key, row->value, &c->arena, &owner, &is_multi)) {
        contents_say(c, PART, row->key, "a row of index '%.*s' that cannot be decoded", len, name);
    } else if (!contents_get(c, owner, &entry)) {
        return;
    } else if (!entry.exists) {
        contents_say(c, PART, owner, "it is not there, but index '%.*s' has a row of it", len,
                     name);
    } else if (index_rows(x, owner, entry.value, &c->arena, &rows, &why) != OK ||
               !has_row(&rows, row->key)) {
        contents_say(c, PART, owner, "index '%.*s' has a row of it for a value that it has not",
                     len, name);
    }
    arena_reset(&c->arena);
}

static void rows_end(struct contents *c, struct content_index *x)
{
    struct owner_check o = {.c = c, .x = x};
    bool is_filling = x->index->definition.state == INDEX_FILLING;
    if (!is_kept(x) || (x->rows == x->matched && !is_filling)) return;
    uint32_t id = x->index->definition.id;
    struct slice start = index_id_key(&c->own, c->database, SPACE_INDEX_ENTRY, id);
    struct slice end = index_id_key(&c->own, c->database, SPACE_INDEX_ENTRY, id + 1);
    contents_range(c, start, end, owner_check, &o);
}

/* ---- text ---- */

void check_indexes_text(struct contents *c, const struct store_row *row)
{
    struct content_index *x = NULL;
    struct text_spec spec;
    struct error why;
    if (row->key.len == KEY_HEAD_BYTES + INDEX_ID_BYTES) {
        x = index_of(c, index_id_read(slice_of(row->key.data + KEY_HEAD_BYTES, INDEX_ID_BYTES)));
    }
    if (x == NULL && c->has_unknown_index) return;
    if (x == NULL || x->index->definition.kind != INDEX_TEXT) {
        contents_say(c, PART, row->key, "it is of an index that is not there");
        return;
    }
    const struct definition *d = &x->index->definition;
    x->has_text = true;
    if (text_spec_read(row->value, &c->arena, &spec, &why) != OK) {
        contents_say(c, PART, row->key, "%.220s", why.text);
    } else if (!slice_eq(spec.prefix, d->prefix) || spec.path_count != d->path_count) {
        contents_say(c, PART, row->key, "it is not the index '%.*s' that is defined",
                     (int)d->name.len, (const char *)d->name.data);
    }
}

void check_indexes_end(struct contents *c)
{
    for (struct content_index *x = c->indexes; x != NULL; x = x->next) {
        const struct definition *d = &x->index->definition;
        if (!c->is_unreadable && !c->has_aside) rows_end(c, x);
        if (d->kind == INDEX_TEXT && !x->has_text) {
            contents_say(c, PART, x->row, "the specification of the text index is missing");
        }
        index_free(x->index);
    }
    c->indexes = NULL;
}
