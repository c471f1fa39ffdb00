/* fill: creating and dropping indexes, and what goes on in the background afterwards: adding what
 * was there before the index. One batch a turn of the loop, each a transaction of its own.
 */
#include "codec/key.h"
#include "codec/utf8.h"
#include "index/index_int.h"

#define BATCH_BYTES (1024 * 1024) /* of values in one turn, at most one more */
#define BATCH_ROWS_MAX 4000       /* likewise of rows */

/* ---- filling ---- */

struct filling {
    struct indexes *indexes;
    struct view *view;
    const struct index *index;
};

/* What is left of the entries below the prefix. */
static struct scan_range fill_range(struct arena *arena, const struct index *x)
{
    const struct definition *d = &x->definition;
    struct scan_range range = {.with_values = true, .is_undivided = true};
    struct slice ignored;
    index_range(x, arena, &range.start, &range.end);
    /* After a key come first those that lie below it. */
    if (d->position.len > 0) {
        engine_range_below(arena, x->database, d->position, &range.start, &ignored);
    }
    return range;
}

/* Why it failed: shown by INFO, and to who asks the index. */
static void fail(struct view *v, struct definition *d, struct slice key, struct slice owner,
                 const struct error *why)
{
    struct buf note;
    buf_init(&note);
    if (why->code == ERR_DUPLICATE) {
        buf_append_str(&note, "the same value is in ");
        key_to_json(owner, &note);
        buf_append_str(&note, " and ");
        key_to_json(engine_key_tuple(key), &note);
    } else {
        key_to_json(engine_key_tuple(key), &note);
        buf_printf(&note, ": %s", why->text);
    }
    buf_require(&note);
    struct slice text = buf_slice(&note);
    if (text.len > INDEX_NOTE_BYTES_MAX) text.len = INDEX_NOTE_BYTES_MAX;
    text.len = utf8_valid_bytes(text); /* no half character at the end */
    d->note = arena_copy(v->arena, text);
    d->state = INDEX_FAILED;
    buf_fini(&note);
}

/* The index and the owner are in the text: the other key follows. */
static void name_second(struct slice key, struct error *e)
{
    struct error first = *e;
    struct buf text;
    buf_init(&text);
    key_to_json(engine_key_tuple(key), &text);
    (void)error_set(e, first.code, "%s %.*s", first.text, (int)text.len, (const char *)text.data);
    buf_fini(&text);
}

static enum err fill_entry(const struct filling *f, struct slice key, const struct entry *entry,
                           struct definition *d, struct error *e)
{
    struct view *v = f->view;
    struct put p = {.index = f->index, .key = key, .expiry_ms = entry->expiry_ms};
    struct slice owner = {0};
    if (!index_covers(f->index, key)) return OK;
    enum err r = maintain_rows(f->indexes, v, entry->value, &p, e);
    if (r == OK) r = maintain_put(v, &p, &owner, e);
    if (r != ERR_TYPE && r != ERR_DUPLICATE) return r;
    fail(v, d, key, owner, e);
    if (r == ERR_DUPLICATE) name_second(key, e);
    return r;
}

static enum err fill_rows(const struct filling *f, struct engine_scan *scan, size_t rows_max,
                          struct definition *d, struct error *e)
{
    struct view *v = f->view;
    size_t bytes = 0;
    for (size_t i = 0; i < rows_max && bytes < BATCH_BYTES; i++) {
        size_t written = view_keys(v, SPACE_INDEX_ENTRY) + view_keys(v, SPACE_HASH_TEXT);
        if (written >= BATCH_ROWS_MAX) break;
        struct slice key;
        struct entry entry;
        enum err r = engine_scan_next(scan, &key, &entry, v->waiter, e);
        if (r != OK) return r;
        if (key.len == 0) {
            d->state = INDEX_READY;
            return OK;
        }
        key = arena_copy(v->arena, key);
        bytes += entry.value.len;
        r = fill_entry(f, key, &entry, d, e);
        if (r != OK) return r;
        d->position = engine_key_tuple(key);
        d->filled++;
    }
    return OK;
}

/* Writes the rows of the next entries, up to rows_max; *d is the definition with how far it is.
 * ERR_DUPLICATE, ERR_TYPE: it has failed, as *d says. */
static enum err fill_batch(struct indexes *ix, struct view *v, const struct index *x,
                           size_t rows_max, struct definition *d, struct error *e)
{
    struct filling f = {.indexes = ix, .view = v, .index = x};
    struct engine_scan *scan = NULL;
    struct scan_range range = fill_range(v->arena, x);
    range.rows_hint = rows_max;
    *d = x->definition;
    enum err r = engine_scan_open(ix->engine, v->overlay, &range, &scan, e);
    if (r == OK) r = fill_rows(&f, scan, rows_max, d, e);
    if (scan != NULL) depends_raise(&v->depends, engine_scan_depends(scan));
    engine_scan_close(scan);
    return r;
}

static void write_definition(struct view *v, const struct definition *d)
{
    struct buf row;
    buf_init(&row);
    definition_write(d, &row);
    buf_require(&row);
    view_set(v, index_row_key(v->arena, v->database, INDEX_ROW_DEFINITION, d->name),
             arena_copy(v->arena, buf_slice(&row)));
    buf_fini(&row);
}

/* ---- creating and dropping ---- */

void index_write_next_id(struct view *v, uint32_t id)
{
    uint8_t *bytes = arena_alloc(v->arena, INDEX_ID_BYTES);
    index_id_write(id, bytes);
    view_set(v, index_row_key(v->arena, v->database, INDEX_ROW_NEXT_ID, slice_of(NULL, 0)),
             slice_of(bytes, INDEX_ID_BYTES));
}

static enum err take_id(struct view *v, uint32_t *id, struct error *e)
{
    struct entry entry;
    struct slice key = index_row_key(v->arena, v->database, INDEX_ROW_NEXT_ID, slice_of(NULL, 0));
    enum err r = view_get(v, key, &entry, e);
    if (r != OK) return r;
    *id = entry.exists && entry.value.len == INDEX_ID_BYTES ? index_id_read(entry.value) : 1;
    index_write_next_id(v, *id + 1);
    return OK;
}

static enum err create_check(const struct index_create *x, const struct view *v, struct error *e)
{
    const struct indexes *ix = x->indexes;
    struct slice name = x->definition.name;
    if (index_find(ix, v->database, name) != NULL) {
        return error_set(e, ERR_SYNTAX, "index '%.*s' already exists", (int)name.len,
                         (const char *)name.data);
    }
    if (index_count(ix, v->database) >= ix->max) {
        return error_set(e, ERR_LIMIT, "a database may have at most %zu indexes (max-indexes)",
                         ix->max);
    }
    return OK;
}

/* Little is filled in at once: an index that is created on an empty prefix is complete. */
static enum err fill_first(struct indexes *ix, struct view *v, struct definition *d,
                           struct error *e)
{
    struct index *x = NULL;
    struct buf row;
    struct definition after;
    buf_init(&row);
    definition_write(d, &row);
    buf_require(&row);
    enum err r = index_new(v->database, d->name, buf_slice(&row), &x, e);
    if (r == OK && index_has_rows(x)) {
        r = fill_batch(ix, v, x, ix->create_rows, &after, e);
        d->state = after.state;
        d->filled = after.filled;
        d->position = arena_copy(v->arena, after.position);
        if (r == ERR_TYPE) {
            (void)error_set(e, r, "%.*s", (int)after.note.len, (const char *)after.note.data);
        }
    }
    index_free(x);
    buf_fini(&row);
    return r;
}

static enum err create_apply(struct layer_op *op, struct view *v, bool *is_met, struct error *e)
{
    struct index_create *x = (struct index_create *)op;
    struct definition d = x->definition;
    enum err r = indexes_ready(x->indexes, v->database, v->waiter, e);
    if (r == OK) r = create_check(x, v, e);
    if (r == OK) r = take_id(v, &d.id, e);
    if (r != OK) return r;
    d.state = INDEX_FILLING;
    d.position = d.note = slice_of(NULL, 0);
    d.filled = 0;
    r = fill_first(x->indexes, v, &d, e);
    if (r != OK) return r;
    write_definition(v, &d);
    if (d.kind == INDEX_TEXT) {
        view_set(v, index_id_key(v->arena, v->database, SPACE_TEXT, d.id), x->text_spec);
    }
    *is_met = true;
    return OK;
}

struct op index_create_op(struct index_create *x)
{
    x->base = (struct layer_op){.apply = create_apply};
    return (struct op){.kind = OP_LAYER, .layer = &x->base};
}

static enum err drop_apply(struct layer_op *op, struct view *v, bool *is_met, struct error *e)
{
    const struct index_drop *x = (const struct index_drop *)op;
    enum err r = indexes_ready(x->indexes, v->database, v->waiter, e);
    if (r != OK) return r;
    const struct index *found = index_find(x->indexes, v->database, x->name);
    *is_met = found != NULL;
    if (found == NULL) return OK;
    uint32_t id = found->definition.id;
    view_delete(v, index_row_key(v->arena, v->database, INDEX_ROW_DEFINITION, x->name));
    bool is_text = found->definition.kind == INDEX_TEXT;
    enum space space = is_text ? SPACE_HASH_TEXT : SPACE_INDEX_ENTRY;
    if (is_text) view_delete(v, index_id_key(v->arena, v->database, SPACE_TEXT, id));
    if (!index_has_rows(found)) return OK;
    /* No index gets this id again: its rows are left behind, for the backend to remove. */
    view_forget(v, index_id_key(v->arena, v->database, space, id),
                index_id_key(v->arena, v->database, space, id + 1));
    return OK;
}

struct op index_drop_op(struct index_drop *x)
{
    x->base = (struct layer_op){.apply = drop_apply};
    return (struct op){.kind = OP_LAYER, .layer = &x->base};
}

/* ---- in the background ---- */

struct index_work {
    struct layer_op base;
    struct indexes *indexes;
    const struct index *index; /* to be filled */
};

static enum err fill_apply(struct layer_op *op, struct view *v, bool *is_met, struct error *e)
{
    const struct index_work *k = (const struct index_work *)op;
    struct definition d;
    *is_met = true;
    view_exempt(v);
    enum err r = fill_batch(k->indexes, v, k->index, k->indexes->batch_rows, &d, e);
    /* That it failed is what there is to write; rows that were added go when it is dropped. */
    if (r == ERR_DUPLICATE || r == ERR_TYPE) r = OK;
    if (r == OK) write_definition(v, &d);
    return r;
}

static const struct index *first_filling(const struct indexes *ix, uint16_t database)
{
    for (const struct index *x = index_of_database(ix, database); x != NULL; x = x->next) {
        if (index_has_rows(x) && x->definition.state == INDEX_FILLING) return x;
    }
    return NULL;
}

/* One batch for the first database that wants one. Whatever comes of it, the next turn looks again:
 * it waits for the disk, for admission, or just for the others. */
void fill_work(struct indexes *ix)
{
    struct backend *b = engine_backend(ix->engine);
    for (uint32_t i = 0; sparse_next(&ix->databases, &i) != NULL; i++) {
        struct error e;
        struct index_work k = {.indexes = ix, .index = first_filling(ix, (uint16_t)i)};
        struct op op = {.kind = OP_LAYER, .layer = &k.base};
        struct txn t = {.database = (uint16_t)i, .ops = &op, .count = 1, .arena = &ix->arena};
        if (k.index == NULL) continue;
        k.base.apply = fill_apply;
        enum err r = engine_commit(ix->engine, &t, &ix->waiter, &e);
        arena_reset(&ix->arena);
        if (r == OK) backend_yield(b, &ix->waiter);
        return;
    }
    ix->has_work = false;
}
