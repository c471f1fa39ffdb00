/* maintain: keeps secondary indexes equal to the data, in the transaction that changes the data.
 *
 *   1. the entries before are loaded (all of them asked for at once)
 *   2. for each change and index: rows that the entry had and no longer has go
 *   3. rows that it has now come; in a unique index, if no living entry owns them
 *
 * All of 2 comes before 3, so that within one command two entries may exchange a unique value. An
 * entry that was there before the index and was not filled in yet has no rows; removing them does
 * nothing.
 *
 * Rows that an entry had are made of what it was, but for a spread hash: its fields are rows of the
 * store, and what those were between two writes of one transaction is gone. So a list of its rows
 * in the index is kept with them (rows.h).
 */
#include "codec/collection.h"
#include "codec/key.h"
#include "index/index_int.h"

#define LOADS_MAX 64 /* begun together */

bool maintain_is_idle(const void *arg, const struct view *v)
{
    const struct indexes *ix = arg;
    return index_count(ix, v->database) == 0 &&
           engine_start_is_read(ix->engine, SPACE_INDEX, v->database);
}

/* A flush makes an index that had failed whole again. */
static bool is_kept(const struct index *x, const struct view *v)
{
    if (!index_has_rows(x)) return false;
    return x->definition.state != INDEX_FAILED || view_is_flushed(v);
}

static bool is_covered(const struct indexes *ix, const struct view *v, struct slice key)
{
    for (const struct index *x = index_of_database(ix, key_database(key)); x != NULL; x = x->next) {
        if (is_kept(x, v) && index_covers(x, key)) return true;
    }
    return false;
}

static void ignore_ready(struct waiter *w)
{
    (void)w;
}

/* What the changes were before. When the first must be fetched, the next ones are too, at the same
 * time. */
static enum err load_before(const struct indexes *ix, struct view *v, struct data_change *changes,
                            size_t count, struct error *e)
{
    enum err result = OK;
    for (size_t i = 0, begun = 0; i < count && begun < LOADS_MAX; i++) {
        struct data_change *c = &changes[i];
        struct error ignored;
        struct waiter *own = v->waiter;
        struct waiter prefetch = {.ready = ignore_ready, .keep_for = own};
        if (c->is_known || !is_covered(ix, v, c->key)) continue;
        if (result != OK) v->waiter = &prefetch;
        enum err r = view_stored(v, c->key, &c->before, result == OK ? e : &ignored);
        v->waiter = own;
        waiter_cancel(&prefetch);
        if (r != OK) begun++;
        if (result == OK) result = r;
        if (r != OK && r != ERR_WAIT) break;
    }
    return result;
}

/* ---- rows ---- */

/* The row as it is stored or written, expired or not. */
static enum err get_row(struct view *v, struct slice key, struct entry *out, struct error *e)
{
    if (view_own(v, key, out)) return OK;
    return view_stored(v, key, out, e);
}

static bool has_row(const struct index_rows *rows, struct slice key)
{
    size_t low = 0;
    size_t high = rows->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = slice_cmp(rows->keys[middle], key);
        if (order == 0) return true;
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return false;
}

/* A row of a unique index may belong to another entry by now: its owner had expired. */
static enum err take_rows(struct view *v, const struct index *x, struct slice key,
                          const struct index_rows *old, const struct index_rows *new,
                          struct error *e)
{
    for (size_t i = 0; i < old->count; i++) {
        struct entry row;
        if (has_row(new, old->keys[i])) continue;
        if (x->definition.is_unique) {
            enum err r = get_row(v, old->keys[i], &row, e);
            if (r != OK) return r;
            bool is_own = row.exists && slice_eq(index_row_tuple(row.value), engine_key_tuple(key));
            if (!is_own) continue;
        }
        view_delete(v, old->keys[i]);
    }
    return OK;
}

/* ---- what an entry has ---- */

static enum err rows_of_hash(struct indexes *ix, struct view *v, struct slice value, struct put *p,
                             struct error *e)
{
    const struct index *x = p->index;
    struct element fields[INDEX_PATHS_MAX];
    struct field_names names = {.items = x->fields, .count = x->definition.path_count};
    enum err r = ix->hashes.fields(v, x->database, value, &names, fields, e);
    if (r != OK) return r;
    if (x->definition.kind == INDEX_TEXT) {
        p->expiry_ms = index_hash_expiry(x, fields, p->expiry_ms);
        p->texts = index_hash_texts(x, fields, v->arena);
        return OK;
    }
    index_hash_rows(x, p->key, fields, v->arena, &p->rows);
    p->expiry_ms = index_hash_expiry(x, fields, p->expiry_ms);
    p->has_list = p->rows.count > 0 && collection_is_spread_hash(value);
    return OK;
}

enum err maintain_rows(struct indexes *ix, struct view *v, struct slice value, struct put *p,
                       struct error *e)
{
    const struct index *x = p->index;
    return definition_is_of_hashes(&x->definition)
               ? rows_of_hash(ix, v, value, p, e)
               : index_rows(x, p->key, value, v->arena, &p->rows, e);
}

static struct slice list_key(struct view *v, const struct put *p)
{
    const struct index *x = p->index;
    return index_list_key(v->arena, x->database, x->definition.id, engine_key_tuple(p->key));
}

static enum err read_list(struct view *v, struct put *p, struct error *e)
{
    struct entry list;
    enum err r = get_row(v, list_key(v, p), &list, e);
    p->has_list = r == OK && list.exists;
    if (!p->has_list) return r;
    if (index_list_read(p->index, list.value, v->arena, &p->rows, &p->expiry_ms)) return OK;
    return error_set(e, ERR_CORRUPT, "index '%.*s': a list of its rows is damaged",
                     (int)p->index->definition.name.len,
                     (const char *)p->index->definition.name.data);
}

/* Those of before the change. What could not be indexed has none. */
static enum err rows_before(struct indexes *ix, struct view *v, const struct data_change *c,
                            struct put *p, struct error *e)
{
    struct error ignored;
    if (!c->before.exists) return OK;
    p->expiry_ms = c->before.expiry_ms;
    if (definition_is_of_hashes(&p->index->definition) &&
        collection_is_spread_hash(c->before.value)) {
        return read_list(v, p, e);
    }
    if (maintain_rows(ix, v, c->before.value, p, &ignored) != OK) p->rows = (struct index_rows){0};
    return OK;
}

/* Both, and whether they are few enough. */
static enum err rows_of_change(struct indexes *ix, struct view *v, const struct data_change *c,
                               struct put *old, struct put *new, struct error *e)
{
    enum err r = OK;
    if (c->exists) r = maintain_rows(ix, v, c->value, new, e);
    if (r == OK) r = rows_before(ix, v, c, old, e);
    return r;
}

static struct slice text_key(struct view *v, const struct put *p)
{
    const struct index *x = p->index;
    return index_text_key(v->arena, x->database, x->definition.id, engine_key_tuple(p->key));
}

static void put_texts(struct view *v, const struct put *p)
{
    if (p->texts.len > 0) view_set_expiring(v, text_key(v, p), p->texts, p->expiry_ms);
}

static enum err refuse(const struct index *x, struct slice owner, struct slice *out,
                       struct error *e)
{
    struct buf text;
    buf_init(&text);
    key_to_json(owner, &text);
    *out = owner;
    enum err r = error_set(e, ERR_DUPLICATE, "%.*s %.*s", (int)x->definition.name.len,
                           (const char *)x->definition.name.data, (int)text.len,
                           (const char *)text.data);
    buf_fini(&text);
    return r;
}

enum err maintain_put(struct view *v, const struct put *p, struct slice *owner, struct error *e)
{
    const struct index_rows *rows = &p->rows;
    struct slice value = index_row_value(p->index, p->key, rows->count > 1, v->arena);
    put_texts(v, p);
    for (size_t i = 0; i < rows->count; i++) {
        struct entry row;
        if (p->index->definition.is_unique) {
            enum err r = view_get(v, rows->keys[i], &row, e);
            if (r != OK) return r;
            struct slice tuple = index_row_tuple(row.value);
            if (row.exists && !slice_eq(tuple, engine_key_tuple(p->key))) {
                return refuse(p->index, arena_copy(v->arena, tuple), owner, e);
            }
        }
        view_set_expiring(v, rows->keys[i], value, p->expiry_ms);
    }
    if (p->has_list) view_set(v, list_key(v, p), index_list(rows, p->expiry_ms, v->arena));
    return OK;
}

/* ---- texts of hashes ---- */

/* What there is says itself what the hash had. */
static enum err derive_texts(struct indexes *ix, struct view *v, const struct index *x,
                             const struct data_change *c, struct error *e)
{
    struct put new = {.index = x, .key = c->key, .expiry_ms = c->expiry_ms};
    struct slice key = text_key(v, &new);
    struct entry old = {0};
    enum err r = c->exists ? maintain_rows(ix, v, c->value, &new, e) : OK;
    if (r == OK) r = get_row(v, key, &old, e);
    if (r == OK) r = view_derives(v, 2, e);
    if (r != OK) return r;
    bool is_same = slice_eq(old.value, new.texts) && old.expiry_ms == new.expiry_ms;
    if (new.texts.len == 0 && old.exists) view_delete(v, key);
    if (!old.exists || !is_same) put_texts(v, &new);
    return OK;
}

/* ---- changes ---- */

static bool is_same(const struct put *old, const struct put *new)
{
    if (old->rows.count != new->rows.count || old->has_list != new->has_list) return false;
    if (new->rows.count > 0 && old->expiry_ms != new->expiry_ms) return false;
    for (size_t i = 0; i < old->rows.count; i++) {
        if (!slice_eq(old->rows.keys[i], new->rows.keys[i])) return false;
    }
    return true;
}

/* What comes is left in the list: it is written once all that goes is gone. */
static enum err derive_one(struct indexes *ix, struct view *v, const struct index *x,
                           const struct data_change *c, struct put ***last, struct error *e)
{
    struct put old = {.index = x, .key = c->key};
    struct put new = {.index = x, .key = c->key, .expiry_ms = c->expiry_ms};
    enum err r = rows_of_change(ix, v, c, &old, &new, e);
    if (r == OK && !c->is_offer) r = view_derives(v, old.rows.count + new.rows.count, e);
    if (r != OK) return r;
    /* While it is being filled an entry may have no rows yet, even if nothing about it changes. */
    if (x->definition.state == INDEX_READY && is_same(&old, &new)) return OK;
    r = take_rows(v, x, c->key, &old.rows, &new.rows, e);
    if (r == OK && old.has_list && !new.has_list) view_delete(v, list_key(v, &old));
    if (r != OK || new.rows.count == 0) return r;
    struct put *p = arena_alloc(v->arena, sizeof *p);
    *p = new;
    **last = p;
    *last = &p->next;
    return OK;
}

/* The same spread hash as before, of whose indexed fields the transaction has written none: so a
 * counter beside a long text costs no look at the text. */
static bool is_untouched(const struct indexes *ix, struct view *v, const struct index *x,
                         const struct data_change *c)
{
    struct collection_head was;
    struct collection_head is;
    struct field_names names = {.items = x->fields, .count = x->definition.path_count};
    bool is_one = definition_is_of_hashes(&x->definition) && x->definition.state == INDEX_READY &&
                  c->exists && c->before.exists && c->expiry_ms == c->before.expiry_ms &&
                  collection_is_spread_hash(c->before.value) && collection_is_spread_hash(c->value);
    if (!is_one) return false;
    if (!collection_head_read(c->before.value, &was) || !collection_head_read(c->value, &is)) {
        return false;
    }
    return memcmp(was.incarnation, is.incarnation, sizeof is.incarnation) == 0 &&
           !ix->hashes.are_written(v, x->database, c->value, &names);
}

static enum err derive_change(struct indexes *ix, struct view *v, const struct data_change *c,
                              struct put ***last, struct error *e)
{
    enum err r = OK;
    for (const struct index *x = index_of_database(ix, key_database(c->key)); x != NULL && r == OK;
         x = x->next) {
        if (!is_kept(x, v) || !index_covers(x, c->key) || is_untouched(ix, v, x, c)) continue;
        r = x->definition.kind == INDEX_TEXT ? derive_texts(ix, v, x, c, e)
                                             : derive_one(ix, v, x, c, last, e);
    }
    return r;
}

static enum err put_all(struct view *v, const struct put *puts, struct error *e)
{
    struct slice owner;
    enum err r = OK;
    for (const struct put *p = puts; p != NULL && r == OK; p = p->next) {
        r = maintain_put(v, p, &owner, e);
    }
    return r;
}

/* ---- offers ---- */

/* Would the index take it, as things are now, and is it not too much? */
static enum err offer_fits(struct indexes *ix, struct view *v, const struct index *x,
                           const struct data_change *c, struct error *e)
{
    struct put old = {.index = x, .key = c->key};
    struct put new = {.index = x, .key = c->key, .expiry_ms = c->expiry_ms};
    enum err r = view_derives(v, 0, e); /* before any of the work */
    if (r == OK) r = rows_of_change(ix, v, c, &old, &new, e);
    if (r == OK) r = view_derives(v, old.rows.count + new.rows.count, e);
    for (size_t i = 0; i < new.rows.count &&r == OK && x->definition.is_unique; i++) {
        struct entry row;
        struct slice owner;
        r = view_get(v, new.rows.keys[i], &row, e);
        if (r != OK || !row.exists) continue;
        struct slice tuple = index_row_tuple(row.value);
        if (!slice_eq(tuple, engine_key_tuple(c->key))) r = refuse(x, tuple, &owner, e);
    }
    return r;
}

/* For the layers that come after, nothing has changed. */
static void withdraw(struct view *v, struct data_change *c)
{
    const struct entry *before = &c->before;
    c->exists = before->exists;
    c->value = arena_copy(v->arena, before->value);
    c->expiry_ms = before->expiry_ms;
    if (before->exists) {
        view_set_expiring(v, c->key, c->value, before->expiry_ms);
    } else {
        view_delete(v, c->key);
    }
}

/* By itself, after all others: nothing of it is done before it is known to fit. */
static enum err derive_offer(struct indexes *ix, struct view *v, struct data_change *c,
                             struct error *e)
{
    struct put *puts = NULL;
    struct put **last = &puts;
    for (const struct index *x = index_of_database(ix, key_database(c->key)); x != NULL;
         x = x->next) {
        if (!is_kept(x, v) || !index_covers(x, c->key)) continue;
        enum err r = offer_fits(ix, v, x, c, e);
        if (r == ERR_DUPLICATE || r == ERR_TYPE || r == ERR_LIMIT) {
            withdraw(v, c);
            return OK;
        }
        if (r != OK) return r;
    }
    enum err r = derive_change(ix, v, c, &last, e);
    return r == OK ? put_all(v, puts, e) : r;
}

enum err maintain_derive(void *arg, struct view *v, struct data_change *changes, size_t count,
                         struct error *e)
{
    struct indexes *ix = arg;
    struct put *puts = NULL;
    struct put **last = &puts;
    enum err r = indexes_ready(ix, v->database, v->waiter, e);
    if (r == OK && index_count(ix, v->database) == 0) return OK;
    if (r == OK) r = load_before(ix, v, changes, count, e);
    for (size_t i = 0; i < count && r == OK; i++) {
        if (!changes[i].is_offer) r = derive_change(ix, v, &changes[i], &last, e);
    }
    if (r == OK) r = put_all(v, puts, e);
    for (size_t i = 0; i < count && r == OK; i++) {
        if (changes[i].is_offer) r = derive_offer(ix, v, &changes[i], e);
    }
    return r;
}
