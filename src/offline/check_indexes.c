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
#include "collection/fields.h"
#include "index/index.h"
#include "offline/check_contents.h"
#include "search/text.h"

#define PART "indexes"

struct content_index {
    struct content_index *next;
    struct index *index; /* owned */
    struct slice row;    /* its definition's key */
    uint64_t matched;    /* rows that entries have, and lists of them */
    uint64_t rows;       /* those that there are */
    bool has_text;       /* INDEX_TEXT: its row of SPACE_TEXT came */
};

static bool is_kept(const struct content_index *x)
{
    return index_has_rows(x->index) && x->index->definition.state != INDEX_FAILED;
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
        contents_say(c, PART, key, "its id %u is also that of another index", d->id);
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
        contents_say(c, PART, key, "its definition is not in canonical form");
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
static bool is_due(const struct content_index *x, struct slice key)
{
    const struct definition *d = &x->index->definition;
    struct slice tuple = engine_key_tuple(key);
    if (!is_kept(x) || !index_covers(x->index, key)) return false;
    return d->state == INDEX_READY || slice_cmp(tuple, d->position) <= 0;
}

/* What an entry has to have in an index. */
struct due_rows {
    struct index_rows rows;
    int64_t expiry_ms;
    struct slice list;  /* of a spread hash; data NULL = none */
    struct slice texts; /* INDEX_TEXT: instead of rows; len 0 = none */
};

static enum err get_rows(const struct row_source *from, const struct slice *keys, size_t count,
                         struct entry *out, struct error *e)
{
    struct contents *c = from->arg;
    for (size_t i = 0; i < count; i++) {
        if (!contents_get(c, keys[i], &out[i])) {
            return error_set(e, ERR_CORRUPT, "a field cannot be read");
        }
    }
    return OK;
}

static enum err hash_rows(struct contents *c, const struct index *x, struct slice key,
                          struct slice value, struct due_rows *out, struct error *why)
{
    struct element fields[INDEX_PATHS_MAX];
    struct field_names names = {.items = x->fields, .count = x->definition.path_count};
    struct row_source from = {.arena = &c->arena, .get = get_rows, .arg = c};
    enum err r = fields_find(c->database, value, &names, &from, fields, why);
    if (r != OK) return r;
    out->expiry_ms = index_hash_expiry(x, fields, out->expiry_ms);
    if (x->definition.kind == INDEX_TEXT) {
        out->texts = index_hash_texts(x, fields, &c->arena);
        return OK;
    }
    index_hash_rows(x, key, fields, &c->arena, &out->rows);
    if (collection_is_spread_hash(value) && out->rows.count > 0) {
        out->list = index_list(&out->rows, out->expiry_ms, &c->arena);
    }
    return OK;
}

/* out->expiry_ms is that of the entry before. */
static enum err due_rows(struct contents *c, const struct index *x, struct slice key,
                         struct slice value, struct due_rows *out, struct error *why)
{
    return definition_is_of_hashes(&x->definition)
               ? hash_rows(c, x, key, value, out, why)
               : index_rows(x, key, value, &c->arena, &out->rows, why);
}

static void row_find(struct contents *c, struct content_index *x, const struct store_row *entry,
                     struct slice key, const struct entry *wanted)
{
    const struct definition *d = &x->index->definition;
    bool is_expired = wanted->expiry_ms != 0 && wanted->expiry_ms <= c->now_ms;
    struct entry row;
    if (!contents_get(c, key, &row)) return;
    bool is_own = row.exists && slice_eq(row.value, wanted->value);
    x->matched += is_own;
    if (!is_own && d->is_unique && is_expired) return;
    if (!row.exists) {
        contents_say(c, PART, entry->key, "it has no row in index '%.*s'", (int)d->name.len,
                     (const char *)d->name.data);
    } else if (!is_own) {
        contents_say(c, PART, entry->key, "its row in index '%.*s' differs", (int)d->name.len,
                     (const char *)d->name.data);
    } else if (row.expiry_ms != wanted->expiry_ms) {
        contents_say(c, PART, entry->key, "its row in index '%.*s' expires at %lld, it at %lld",
                     (int)d->name.len, (const char *)d->name.data, (long long)row.expiry_ms,
                     (long long)wanted->expiry_ms);
    }
}

void check_indexes_entry(struct contents *c, const struct store_row *entry)
{
    for (struct content_index *x = c->indexes; x != NULL; x = x->next) {
        const struct definition *d = &x->index->definition;
        struct due_rows due = {.expiry_ms = entry->expiry_ms};
        struct error why;
        if (!is_due(x, entry->key)) continue;
        if (due_rows(c, x->index, entry->key, entry->value, &due, &why) != OK) {
            contents_say(c, PART, entry->key, "it is invalid for index '%.*s': %.160s",
                         (int)d->name.len, (const char *)d->name.data, why.text);
            continue;
        }
        struct entry wanted = {.expiry_ms = due.expiry_ms};
        wanted.value = index_row_value(x->index, entry->key, due.rows.count > 1, &c->arena);
        for (size_t i = 0; i < due.rows.count; i++) {
            row_find(c, x, entry, due.rows.keys[i], &wanted);
        }
        struct slice tuple = engine_key_tuple(entry->key);
        struct entry list = {.value = due.list};
        struct entry texts = {.value = due.texts, .expiry_ms = due.expiry_ms};
        if (due.list.data != NULL) {
            row_find(c, x, entry, index_list_key(&c->arena, c->database, d->id, tuple), &list);
        }
        if (due.texts.len > 0) {
            row_find(c, x, entry, index_text_key(&c->arena, c->database, d->id, tuple), &texts);
        }
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
    enum index_kind kind = key_space(row->key) == SPACE_HASH_TEXT ? INDEX_TEXT : INDEX_VALUE;
    if (x == NULL || x->index->definition.kind != kind || !index_has_rows(x->index)) {
        contents_say(c, PART, row->key, "it belongs to a missing index");
        return;
    }
    x->rows++;
}

struct owner_check {
    struct contents *c;
    const struct content_index *x;
};

static bool has_row(const struct due_rows *due, struct slice key)
{
    for (size_t i = 0; i < due->rows.count; i++) {
        if (slice_eq(due->rows.keys[i], key)) return true;
    }
    if (key_space(key) == SPACE_HASH_TEXT) return due->texts.len > 0;
    return due->list.data != NULL && key.data[KEY_HEAD_BYTES + INDEX_ID_BYTES] == INDEX_LIST_TAG;
}

/* Whose row or list it is. */
static bool owner_of(struct contents *c, const struct index *x, const struct store_row *row,
                     struct slice *owner)
{
    bool is_texts = key_space(row->key) == SPACE_HASH_TEXT;
    size_t head = KEY_HEAD_BYTES + INDEX_ID_BYTES;
    bool is_multi = false;
    if (row->key.len <= head || (!is_texts && row->key.data[head] != INDEX_LIST_TAG)) {
        return index_row_owner(x, row->key, row->value, &c->arena, owner, &is_multi);
    }
    head += !is_texts;
    struct slice tuple = slice_of(row->key.data + head, row->key.len - head);
    uint8_t *p = arena_alloc(&c->arena, KEY_HEAD_BYTES + tuple.len);
    bytes_copy(key_head_write(p, c->database, SPACE_DATA), tuple.data, tuple.len);
    *owner = slice_of(p, KEY_HEAD_BYTES + tuple.len);
    return tuple.len > 0;
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
    struct due_rows due = {0};
    struct error why;
    if (!owner_of(c, x, row, &owner)) {
        contents_say(c, PART, row->key, "a row of index '%.*s' that cannot be decoded", len, name);
    } else if (!contents_get(c, owner, &entry)) {
        return;
    } else if (!entry.exists) {
        contents_say(c, PART, owner, "it does not exist, but index '%.*s' has a row of it", len,
                     name);
    } else if (due_rows(c, x, owner, entry.value, &due, &why) != OK || !has_row(&due, row->key)) {
        contents_say(c, PART, owner, "index '%.*s' has a row for a value that it does not have",
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
    enum space space = x->index->definition.kind == INDEX_TEXT ? SPACE_HASH_TEXT
                                                               : SPACE_INDEX_ENTRY;
    struct slice start = index_id_key(&c->own, c->database, space, id);
    struct slice end = index_id_key(&c->own, c->database, space, id + 1);
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
        contents_say(c, PART, row->key, "it belongs to a missing index");
        return;
    }
    const struct definition *d = &x->index->definition;
    x->has_text = true;
    if (text_spec_read(row->value, &c->arena, &spec, &why) != OK) {
        contents_say(c, PART, row->key, "%.220s", why.text);
    } else if (!slice_eq(spec.prefix, d->prefix) || spec.path_count != d->path_count ||
               spec.is_of_hashes != definition_is_of_hashes(d)) {
        contents_say(c, PART, row->key, "it differs from the definition of index '%.*s'",
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
