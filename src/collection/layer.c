/* layer: what follows for a collection when its key is written by whatever command: the rows of one
 * that the key holds no longer are forgotten, those of one that came from elsewhere (RENAME) get
 * their new owner row. No command does this by itself.
 *
 * A blind write reads nothing: so the keys that hold spread collections are known, as hashes, 12
 * bytes of memory each. What is not among them needs no look at what was there. After a start,
 * until all owner rows were read, every write looks.
 */
#include "base/htab.h"
#include "base/mem.h"
#include "collection/collection_int.h"
#include "collection/index.h"
#include "engine/start.h"

#define SPREAD_LINEAR_MAX 16

/* ---- the keys of spread collections ---- */

static struct hash_bag *bag_of(struct collections *x, uint16_t database)
{
    struct hash_bag **slot = (struct hash_bag **)sparse_slot(&x->owners, database);
    if (*slot == NULL) *slot = mem_new(sizeof **slot);
    return *slot;
}

/* The tuple of an owner row; empty: it is too short for one. */
static struct slice owner_tuple(struct slice key)
{
    size_t head = KEY_HEAD_BYTES + INCARNATION_ID_BYTES;
    return key.len > head ? slice_of(key.data + head, key.len - head) : slice_of(NULL, 0);
}

static void owner_add(struct collections *x, struct slice key)
{
    hash_bag_add(bag_of(x, key_database(key)), hash_bytes(owner_tuple(key)));
    x->spread++;
}

static void owner_remove(struct collections *x, struct slice key)
{
    struct hash_bag *bag = sparse_get(&x->owners, key_database(key));
    if (bag == NULL) return;
    size_t before = bag->count;
    hash_bag_remove(bag, hash_bytes(owner_tuple(key)));
    x->spread -= before - bag->count;
}

static void flushed(struct collections *x, uint16_t database)
{
    struct hash_bag *bag = sparse_get(&x->owners, database);
    if (bag == NULL) return;
    x->spread -= bag->count;
    hash_bag_fini(bag);
}

/* A row that is read after a start; it may have been told of already by a commit: then it is in the
 * bag twice, which says "may be" for longer than needed, and never "no". */
static enum err owner_row(void *arg, struct slice key, const struct entry *entry, struct error *e)
{
    (void)entry;
    (void)e;
    owner_add(arg, key);
    return OK;
}

static void on_commit(void *arg, uint64_t version, const struct write_set *ws)
{
    struct collections *x = arg;
    (void)version;
    counted_indexes_on_commit(x->indexes, ws);
    if ((ws->kinds & (LAYER_SPACE(SPACE_COLLECTION) | LAYER_FLUSH)) == 0) return;
    for (size_t i = 0; i < ws->count; i++) {
        const struct mutation *mu = &ws->items[i];
        if (mu->kind == MUTATION_FLUSH) flushed(x, key_database(mu->key));
        if (key_space(mu->key) != SPACE_COLLECTION) continue;
        if (mu->kind == MUTATION_SET) owner_add(x, mu->key);
        if (mu->kind == MUTATION_DELETE) owner_remove(x, mu->key);
    }
}

bool collections_may_be_spread(const struct collections *x, struct slice key)
{
    uint16_t database = key_database(key);
    if (!engine_start_is_read(x->options.engine, SPACE_COLLECTION, database)) return true;
    const struct hash_bag *bag = sparse_get(&x->owners, database);
    return bag != NULL && hash_bag_has(bag, hash_bytes(engine_key_tuple(key)));
}

/* ---- what a transaction leaves behind ---- */

/* No spread collection is in the database, and none was made by the transaction so far. */
static bool is_idle(const void *arg, const struct view *v)
{
    const struct collections *x = arg;
    const struct hash_bag *bag = sparse_get(&x->owners, v->database);
    return (bag == NULL || bag->count == 0) && view_keys(v, SPACE_COLLECTION) == 0 &&
           engine_start_is_read(x->options.engine, SPACE_COLLECTION, v->database);
}

/* The incarnation of a spread head; NULL: the entry is none. */
static const uint8_t *incarnation_of(bool exists, struct slice value, struct collection_head *h)
{
    if (!exists || !collection_is_head(value)) return NULL;
    return collection_head_read(value, h) && h->is_spread ? h->incarnation : NULL;
}

static bool is_same(const uint8_t *a, const uint8_t *b)
{
    return a != NULL && b != NULL && memcmp(a, b, INCARNATION_ID_BYTES) == 0;
}

/* Does another key hold it now? */
static bool lives_elsewhere(const struct data_change *changes, size_t count, const uint8_t *id,
                            uint16_t database)
{
    struct collection_head h;
    for (size_t i = 0; i < count; i++) {
        if (key_database(changes[i].key) != database) continue;
        if (is_same(incarnation_of(changes[i].exists, changes[i].value, &h), id)) return true;
    }
    return false;
}

static void let_go(struct view *v, const struct data_change *c, const uint8_t *id, bool is_gone)
{
    struct element_rows rows = {.database = key_database(c->key), .incarnation = id};
    struct slice start;
    struct slice end;
    view_delete(v, row_of_owner(v->arena, &rows, engine_key_tuple(c->key)));
    if (!is_gone) return;
    rows_all(v->arena, &rows, &start, &end);
    view_forget(v, start, end);
}

/* What the key held before the transaction, or before the transaction's last evaluation. */
static enum err know_before(struct collections *x, struct view *v, struct data_change *c,
                            struct error *e)
{
    if (c->is_known || view_is_flushed(v) || !collections_may_be_spread(x, c->key)) return OK;
    return view_stored(v, c->key, &c->before, e);
}

static enum err derive(void *arg, struct view *v, struct data_change *changes, size_t count,
                       struct error *e)
{
    struct collections *x = arg;
    enum err r = OK;
    for (size_t i = 0; i < count && r == OK; i++) r = know_before(x, v, &changes[i], e);
    for (size_t i = 0; i < count && r == OK; i++) {
        const struct data_change *c = &changes[i];
        struct collection_head old;
        struct collection_head new;
        const uint8_t *was = incarnation_of(c->before.exists, c->before.value, &old);
        const uint8_t *is = incarnation_of(c->exists, c->value, &new);
        if (was != NULL && !is_same(was, is)) {
            let_go(v, c, was, !lives_elsewhere(changes, count, was, key_database(c->key)));
        }
        if (is != NULL && !is_same(was, is)) {
            struct element_rows rows = {.database = key_database(c->key), .incarnation = is};
            view_set(v, row_of_owner(v->arena, &rows, engine_key_tuple(c->key)), slice_of(NULL, 0));
            if (new.expiring > 0) view_due_at(v, c->key, v->now_ms + 1); /* see field.c */
        }
    }
    return r;
}

static enum err fields_due(void *arg, struct view *v, struct slice key, struct error *e)
{
    return collection_fields_due(arg, v, key, e);
}

/* ---- life ---- */

struct collections *collections_new(const struct collections_options *o)
{
    struct collections *x = mem_new(sizeof *x);
    x->options = *o;
    x->indexes = counted_indexes_new(o->engine, o->is_following ? 0 : o->counted_bytes);
    struct layer layer = {.kinds = LAYER_SPACE(SPACE_COLLECTION) | LAYER_SPACE(SPACE_ELEMENT) |
                                   LAYER_FLUSH,
                          .is_idle = is_idle,
                          .derive = derive,
                          .on_commit = on_commit,
                          .arg = x};
    engine_add_layer(o->engine, &layer);
    engine_on_due(o->engine, fields_due, x);
    struct start_space rows = {
        .space = SPACE_COLLECTION, .what = "collections", .rank = 4, .row = owner_row, .arg = x};
    engine_read_at_start(o->engine, &rows);
    return x;
}

void collections_free(struct collections *x)
{
    struct hash_bag *bag;
    if (x == NULL) return;
    counted_indexes_free(x->indexes);
    for (uint32_t i = 0; (bag = sparse_next(&x->owners, &i)) != NULL; i++) {
        hash_bag_fini(bag);
        mem_free(bag);
    }
    sparse_fini(&x->owners);
    mem_free(x);
}

void collections_set_options(struct collections *x, const struct collections_options *o)
{
    x->options.pack_bytes = o->pack_bytes;
    counted_indexes_set_bytes(x->indexes, x->options.is_following ? 0 : o->counted_bytes);
}

bool collections_turn(struct collections *x)
{
    return counted_indexes_turn(x->indexes);
}

size_t collections_counted(const struct collections *x, size_t *count)
{
    return counted_indexes_bytes(x->indexes, count);
}

size_t collections_spread(const struct collections *x, size_t *memory)
{
    struct hash_bag *bag;
    *memory = 0;
    for (uint32_t i = 0; (bag = sparse_next(&x->owners, &i)) != NULL; i++) {
        *memory += hash_bag_bytes(bag);
    }
    return x->spread;
}
