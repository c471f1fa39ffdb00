/* layer: what follows for a collection when its key is written by whatever command: the rows of one
 * that the key holds no longer are forgotten, those of one that came from elsewhere (RENAME) get
 * their new owner row. No command does this by itself.
 *
 * A blind write reads nothing: so the keys that hold spread collections are known, as hashes, 12
 * bytes of memory each. What is not among them needs no look at what was there. After a start,
 * until all owner rows were read, every write looks.
 */
#include <stdlib.h>

#include "base/htab.h"
#include "base/mem.h"
#include "collection/collection_int.h"
#include "collection/index.h"
#include "engine/start.h"

/* ---- the keys of spread collections ---- */

static struct hash_bag *bag_of(struct sparse *bags, uint16_t database)
{
    struct hash_bag **slot = (struct hash_bag **)sparse_slot(bags, database);
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
    hash_bag_add(bag_of(&x->owners, key_database(key)), hash_bytes(owner_tuple(key)));
    x->spread++;
}

/* One that the start still has to read is noted, to be passed over then. */
static void owner_remove(struct collections *x, struct slice key)
{
    uint16_t database = key_database(key);
    struct hash_bag *bag = bag_of(&x->owners, database);
    uint64_t hash = hash_bytes(owner_tuple(key));
    size_t before = bag->count;
    hash_bag_remove(bag, hash);
    x->spread -= before - bag->count;
    if (before == bag->count &&
        !engine_start_is_read(x->options.engine, SPACE_COLLECTION, database))
        hash_bag_add(bag_of(&x->gone, database), hash);
}

static void forget_all(struct collections *x, uint16_t database)
{
    struct hash_bag *bag = sparse_get(&x->owners, database);
    struct hash_bag *gone = sparse_get(&x->gone, database);
    if (gone != NULL) hash_bag_fini(gone);
    if (bag == NULL) return;
    x->spread -= bag->count;
    hash_bag_fini(bag);
}

/* A row that is read after a start, as it was when the reading began. */
static enum err owner_row(void *arg, struct slice key, const struct entry *entry, struct error *e)
{
    struct collections *x = arg;
    struct hash_bag *gone = sparse_get(&x->gone, key_database(key));
    uint64_t hash = hash_bytes(owner_tuple(key));
    (void)entry;
    (void)e;
    if (gone != NULL && hash_bag_has(gone, hash)) {
        hash_bag_remove(gone, hash);
    } else {
        owner_add(x, key);
    }
    return OK;
}

static void owners_read(void *arg, uint16_t database, bool is_good)
{
    struct collections *x = arg;
    struct hash_bag *gone = sparse_get(&x->gone, database);
    if (!is_good) forget_all(x, database);
    if (gone != NULL) hash_bag_fini(gone);
}

/* What is committed before a database's rows are read will be among them. */
static void on_commit(void *arg, uint64_t version, const struct write_set *ws)
{
    struct collections *x = arg;
    (void)version;
    counted_indexes_on_commit(x->indexes, ws);
    if ((ws->kinds & (LAYER_SPACE(SPACE_COLLECTION) | LAYER_FLUSH)) == 0) return;
    for (size_t i = 0; i < ws->count; i++) {
        const struct mutation *mu = &ws->items[i];
        uint16_t database = key_database(mu->key);
        if (mu->kind == MUTATION_FLUSH) forget_all(x, database);
        if (key_space(mu->key) != SPACE_COLLECTION) continue;
        if (!engine_start_is_begun(x->options.engine, SPACE_COLLECTION, database)) continue;
        if (mu->kind == MUTATION_SET && mu->cause != ROW_WAS_THERE) owner_add(x, mu->key);
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

/* The incarnation of the spread collection that the key of a change held before it, and holds now,
 * borrowed; NULL: none. */
struct held {
    const uint8_t *before, *now;
};

static int compare(const void *a, const void *b)
{
    return memcmp(a, b, INCARNATION_ID_BYTES);
}

static bool is_same(const uint8_t *a, const uint8_t *b)
{
    return a != NULL && b != NULL && compare(a, b) == 0;
}

/* Incarnations that a key holds now and did not before, in order. */
struct moved {
    uint8_t (*items)[INCARNATION_ID_BYTES];
    size_t count;
};

static struct moved find_moved(struct arena *arena, const struct held *held, size_t count)
{
    struct moved m = {0};
    for (size_t i = 0; i < count; i++) {
        if (held[i].now == NULL || is_same(held[i].before, held[i].now)) continue;
        if (m.items == NULL) m.items = arena_alloc(arena, count * sizeof *m.items);
        memcpy(m.items[m.count++], held[i].now, INCARNATION_ID_BYTES);
    }
    if (m.count > 1) qsort(m.items, m.count, sizeof *m.items, compare);
    return m;
}

static bool has_moved(const struct moved *m, const uint8_t *id)
{
    return m->count > 0 && bsearch(id, m->items, m->count, sizeof *m->items, compare) != NULL;
}

static struct slice owner_of(struct view *v, struct slice key, const uint8_t *id)
{
    struct element_rows rows = {.database = key_database(key), .incarnation = id};
    return row_of_owner(v->arena, &rows, engine_key_tuple(key));
}

void collection_own(struct view *v, struct slice key, const uint8_t *incarnation)
{
    view_set_for(v, owner_of(v, key, incarnation), slice_of(NULL, 0), 0, ROW_WAS_ABSENT);
}

/* The key holds it no longer; nor does another, unless it has moved. */
static void let_go(struct view *v, struct slice key, const uint8_t *id, const struct moved *m)
{
    struct element_rows rows = {.database = key_database(key), .incarnation = id};
    struct slice start;
    struct slice end;
    view_delete_for(v, owner_of(v, key, id), ROW_WAS_THERE);
    if (has_moved(m, id)) return;
    rows_all(v->arena, &rows, &start, &end);
    view_forget(v, start, end);
}

/* What the key held in between only, in the same evaluation: it has its owner row as long as it was
 * not let go. */
static void let_go_passed(struct view *v, const struct data_change *c, const uint8_t *now,
                          const struct moved *m)
{
    for (const struct data_passed *p = c->passed; p != NULL; p = p->next) {
        const uint8_t *id = collection_incarnation(p->value);
        struct entry owner;
        if (id == NULL || is_same(id, now)) continue;
        bool is_owned = view_own(v, owner_of(v, c->key, id), &owner);
        if (is_owned && owner.exists) let_go(v, c->key, id, m);
    }
}

/* What the key held before the transaction, or before the transaction's last evaluation. */
static enum err know_before(struct collections *x, struct view *v, struct data_change *c,
                            struct error *e)
{
    if (c->is_known || view_is_flushed(v) || !collections_may_be_spread(x, c->key)) return OK;
    return view_stored(v, c->key, &c->before, e);
}

static bool fields_expire(struct slice value)
{
    struct collection_head h;
    return collection_head_read(value, &h) && h.expiring > 0;
}

static struct held held_by(const struct data_change *c)
{
    return (struct held){
        .before = c->before.exists ? collection_incarnation(c->before.value) : NULL,
        .now = c->exists ? collection_incarnation(c->value) : NULL,
    };
}

static enum err derive(void *arg, struct view *v, struct data_change *changes, size_t count,
                       struct error *e)
{
    struct collections *x = arg;
    struct held *held = arena_alloc(v->arena, count * sizeof *held);
    for (size_t i = 0; i < count; i++) {
        enum err r = know_before(x, v, &changes[i], e);
        if (r != OK) return r;
        held[i] = held_by(&changes[i]);
    }
    struct moved moved = find_moved(v->arena, held, count);
    for (size_t i = 0; i < count; i++) {
        const struct data_change *c = &changes[i];
        const uint8_t *before = held[i].before;
        const uint8_t *now = held[i].now;
        let_go_passed(v, c, now, &moved);
        if (is_same(before, now)) continue;
        if (before != NULL) let_go(v, c->key, before, &moved);
        if (now == NULL) continue;
        collection_own(v, c->key, now);
        if (fields_expire(c->value)) collection_fields_came(v, c->key);
    }
    return OK;
}

static enum err fields_due(void *arg, struct view *v, struct slice key, struct due_parts *parts,
                           struct error *e)
{
    return collection_fields_due(arg, v, key, parts, e);
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
    struct start_space rows = {.space = SPACE_COLLECTION,
                               .what = "collections",
                               .rank = 4,
                               .row = owner_row,
                               .done = owners_read,
                               .arg = x};
    engine_read_at_start(o->engine, &rows);
    return x;
}

static void bags_free(struct sparse *bags)
{
    struct hash_bag *bag;
    for (uint32_t i = 0; (bag = sparse_next(bags, &i)) != NULL; i++) {
        hash_bag_fini(bag);
        mem_free(bag);
    }
    sparse_fini(bags);
}

void collections_free(struct collections *x)
{
    if (x == NULL) return;
    counted_indexes_free(x->indexes);
    buf_fini(&x->scratch);
    bags_free(&x->owners);
    bags_free(&x->gone);
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
