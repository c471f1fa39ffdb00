/* indexes: the definitions in memory, a list by name for each database, changed by commits alone
 * and by what is read after a start. A flush writes them again, as of empty indexes. Keeping the
 * rows is maintain.c's, filling fill.c's. */
#include "index/index.h"

#include "base/mem.h"
#include "index/index_int.h"

#define ARENA_BYTES (64 * 1024)
#define INDEX_ARENA_BYTES 1024
#define CREATE_ROWS 1000
#define BATCH_ROWS 128

/* ---- definitions in memory ---- */

void index_free(struct index *x)
{
    if (x == NULL) return;
    arena_fini(&x->arena);
    buf_fini(&x->row);
    mem_free(x->glob);
    mem_free(x);
}

static bool index_take_row(struct index *x, struct slice row)
{
    struct slice name = x->definition.name;
    buf_clear(&x->row, SIZE_MAX);
    buf_append(&x->row, row.data, row.len);
    buf_require(&x->row);
    bool is_good = definition_read(buf_slice(&x->row), &x->definition);
    x->definition.name = name;
    return is_good;
}

/* Its fields and its glob. */
static enum err take_hashes(struct index *x, struct error *e)
{
    const struct definition *d = &x->definition;
    for (size_t i = 0; i < d->path_count; i++) {
        if (path_is_name(x->paths[i], &x->fields[i])) continue;
        return error_set(e, ERR_SYNTAX,
                         "path '%.*s' is not the name of a field: an index of hashes needs names, "
                         "such as city or \"home.city\"",
                         (int)d->paths[i].len, (const char *)d->paths[i].data);
    }
    x->glob = mem_new(sizeof *x->glob);
    glob_init(x->glob, arena_copy(&x->arena, d->hashes), false);
    return OK;
}

enum err index_new(uint16_t database, struct slice name, struct slice row, struct index **out,
                   struct error *e)
{
    struct index *x = mem_new(sizeof *x);
    *out = NULL;
    x->database = database;
    arena_init(&x->arena, INDEX_ARENA_BYTES);
    x->definition.name = arena_copy(&x->arena, name);
    enum err r = OK;
    if (!index_take_row(x, row)) {
        r = error_set(e, ERR_CORRUPT, "index '%.*s': its definition is damaged", (int)name.len,
                      (const char *)name.data);
    }
    for (size_t i = 0; i < x->definition.path_count && r == OK; i++) {
        r = path_compile(x->definition.paths[i], &x->arena, &x->paths[i], e);
    }
    if (r == OK && definition_is_of_hashes(&x->definition)) r = take_hashes(x, e);
    if (r != OK) {
        index_free(x);
        return r;
    }
    *out = x;
    return OK;
}

static struct index_database *database_of(struct indexes *ix, uint16_t database)
{
    struct index_database **at = (struct index_database **)sparse_slot(&ix->databases, database);
    if (*at == NULL) *at = mem_new(sizeof **at);
    return *at;
}

static struct index **place_of(struct indexes *ix, uint16_t database, struct slice name)
{
    struct index **at = &database_of(ix, database)->list;
    while (*at != NULL && slice_cmp((*at)->definition.name, name) < 0) at = &(*at)->next;
    return at;
}

static bool is_at(struct index *const *place, struct slice name)
{
    return *place != NULL && slice_eq((*place)->definition.name, name);
}

/* It is one of all (1), or no longer (-1). */
static void count(struct indexes *ix, const struct index *x, int by)
{
    struct indexes_totals *t = &ix->totals;
    bool is_text = x->definition.kind == INDEX_TEXT;
    size_t one = by > 0 ? 1 : SIZE_MAX; /* unsigned sums come round */
    *(is_text ? &t->text : &t->value) += one;
    if (index_has_rows(x) && x->definition.state == INDEX_FILLING) t->filling += one;
    if (x->definition.state == INDEX_FAILED) t->failed += one;
}

/* ERR_CORRUPT: the row is none of a definition. */
static enum err put_definition(struct indexes *ix, uint16_t database, struct slice name,
                               struct slice row, struct error *e)
{
    struct index **place = place_of(ix, database, name);
    struct index *x = NULL;
    ix->has_work = true;
    if (is_at(place, name)) { /* what can change are its state and its position */
        count(ix, *place, -1);
        bool is_good = index_take_row(*place, row);
        count(ix, *place, 1);
        if (is_good) return OK;
        return error_set(e, ERR_CORRUPT, "the definition of index '%.*s' is damaged", (int)name.len,
                         (const char *)name.data);
    }
    enum err r = index_new(database, name, row, &x, e);
    if (r != OK) return r;
    x->next = *place;
    *place = x;
    database_of(ix, database)->count++;
    count(ix, x, 1);
    return OK;
}

static void drop_definition(struct indexes *ix, uint16_t database, struct slice name)
{
    struct index **place = place_of(ix, database, name);
    if (!is_at(place, name)) return;
    struct index *x = *place;
    *place = x->next;
    database_of(ix, database)->count--;
    count(ix, x, -1);
    index_free(x);
}

static void forget(struct indexes *ix, uint16_t database)
{
    const struct index *x;
    while ((x = index_of_database(ix, database)) != NULL)
        drop_definition(ix, database, x->definition.name);
}

/* The last id that was given; 0 = none was. */
static uint32_t index_next_id(const struct indexes *ix, uint16_t database)
{
    const struct index_database *d = sparse_get(&ix->databases, database);
    return d == NULL ? 0 : d->next_id;
}

static enum err take_mutation(struct indexes *ix, const struct mutation *mu, struct error *e)
{
    enum err r = OK;
    uint16_t database = key_database(mu->key);
    struct slice rest = slice_of(mu->key.data + KEY_HEAD_BYTES + 1,
                                 mu->key.len - KEY_HEAD_BYTES - 1);
    bool is_set = mu->kind == MUTATION_SET;
    switch (mu->key.data[KEY_HEAD_BYTES]) {
    case INDEX_ROW_DEFINITION:
        if (is_set) {
            r = put_definition(ix, database, rest, mu->value, e);
        } else {
            drop_definition(ix, database, rest);
        }
        break;
    case INDEX_ROW_NEXT_ID:
        if (is_set && mu->value.len == INDEX_ID_BYTES) {
            database_of(ix, database)->next_id = index_id_read(mu->value);
        }
        break;
    default: break;
    }
    return r;
}

static void on_commit(void *arg, uint64_t version, const struct write_set *ws)
{
    struct indexes *ix = arg;
    for (size_t i = 0; i < ws->count; i++) {
        const struct mutation *mu = &ws->items[i];
        if (mu->kind == MUTATION_FLUSH) {
            uint16_t database = key_database(mu->key);
            if (index_count(ix, database) > 0) database_of(ix, database)->version = version;
            forget(ix, database);
        } else if (key_space(mu->key) == SPACE_INDEX) {
            database_of(ix, key_database(mu->key))->version = version;
            struct error e;
            enum err r = take_mutation(ix, mu, &e);
            INVARIANT(r == OK); /* it was written by this layer, just now */
        }
    }
}

/* The definitions are not of the data: they are written again after the flush, as of an index that
 * is empty and complete. */
static enum err flushed(void *arg, struct view *v, struct error *e)
{
    struct indexes *ix = arg;
    enum err r = indexes_ready(ix, v->database, v->waiter, e);
    if (r != OK) return r;
    for (const struct index *x = index_of_database(ix, v->database); x != NULL; x = x->next) {
        struct definition d = x->definition;
        struct buf row;
        d.state = INDEX_READY;
        d.position = d.note = slice_of(NULL, 0);
        d.filled = 0;
        buf_init(&row);
        definition_write(&d, &row);
        buf_require(&row);
        view_set(v, index_row_key(v->arena, v->database, INDEX_ROW_DEFINITION, d.name),
                 arena_copy(v->arena, buf_slice(&row)));
        buf_fini(&row);
        if (d.kind != INDEX_TEXT) continue;
        struct slice key = index_id_key(v->arena, v->database, SPACE_TEXT, d.id);
        struct entry spec;
        struct backend *b = engine_backend(ix->engine);
        r = backend_load(b, key, &spec, v->waiter, e);
        if (r != OK) return r;
        if (spec.exists) view_set(v, key, arena_copy(v->arena, spec.value));
    }
    uint32_t next_id = index_next_id(ix, v->database);
    if (next_id > 0) index_write_next_id(v, next_id);
    return OK;
}

/* ---- after a start ---- */

static enum err row_read(void *arg, struct slice key, const struct entry *entry, struct error *e)
{
    struct mutation mu = {.kind = MUTATION_SET, .key = key, .value = entry->value};
    return take_mutation(arg, &mu, e);
}

static void rows_read(void *arg, uint16_t database, bool is_good)
{
    if (!is_good) forget(arg, database);
}

enum err indexes_ready(struct indexes *ix, uint16_t database, struct waiter *w, struct error *e)
{
    return engine_start_check(ix->engine, SPACE_INDEX, database, w, e);
}

/* The definitions were read. */
static bool indexes_are_read(const struct indexes *ix)
{
    return engine_start_is_over(ix->engine, SPACE_INDEX);
}

/* ---- life ---- */

void indexes_turn(struct indexes *ix)
{
    if (!indexes_are_read(ix) || !ix->has_work || ix->waiter.next != NULL) return;
    fill_work(ix);
}

static void nothing_ready(struct waiter *w)
{
    /* The next turn or tick goes on. */
    (void)w;
}

struct indexes *indexes_new(struct engine *g, const struct hash_reader *hashes)
{
    struct indexes *ix = mem_new(sizeof *ix);
    ix->engine = g;
    ix->hashes = *hashes;
    ix->max = INDEXES_DEFAULT;
    ix->create_rows = CREATE_ROWS;
    ix->batch_rows = BATCH_ROWS;
    ix->waiter.ready = nothing_ready;
    arena_init(&ix->arena, ARENA_BYTES);
    struct layer layer = {.derive = maintain_derive,
                          .is_idle = maintain_is_idle,
                          .flushed = flushed,
                          .kinds = LAYER_SPACE(SPACE_INDEX) | LAYER_FLUSH,
                          .on_commit = on_commit,
                          .arg = ix};
    engine_add_layer(g, &layer);
    struct start_space rows = {.space = SPACE_INDEX,
                               .what = "definitions of indexes",
                               .rank = 1,
                               .row = row_read,
                               .done = rows_read,
                               .arg = ix};
    engine_read_at_start(g, &rows);
    return ix;
}

void indexes_free(struct indexes *ix)
{
    if (ix == NULL) return;
    waiter_cancel(&ix->waiter);
    struct index_database *d;
    for (uint32_t i = 0; (d = sparse_next(&ix->databases, &i)) != NULL; i++) {
        forget(ix, (uint16_t)i);
        mem_free(d);
    }
    sparse_fini(&ix->databases);
    arena_fini(&ix->arena);
    mem_free(ix);
}

void indexes_set_max(struct indexes *ix, size_t max)
{
    ix->max = max;
}

size_t indexes_max(const struct indexes *ix)
{
    return ix->max;
}

size_t indexes_count(const struct indexes *ix, uint16_t database)
{
    return index_count(ix, database);
}

uint64_t indexes_version(const struct indexes *ix, uint16_t database)
{
    const struct index_database *d = sparse_get(&ix->databases, database);
    return d == NULL ? 0 : d->version;
}

const struct index *index_find(const struct indexes *ix, uint16_t database, struct slice name)
{
    const struct index *x = index_of_database(ix, database);
    while (x != NULL && !slice_eq(x->definition.name, name)) x = x->next;
    return x;
}

const struct index *index_first(const struct indexes *ix, uint16_t database)
{
    return index_of_database(ix, database);
}

const struct index *indexes_next(const struct indexes *ix, uint32_t *at)
{
    const struct index_database *d;
    for (; (d = sparse_next(&ix->databases, at)) != NULL; ++*at) {
        if (d->list != NULL) return d->list;
    }
    return NULL;
}

void indexes_totals(const struct indexes *ix, struct indexes_totals *out)
{
    *out = ix->totals;
    out->is_reading = !indexes_are_read(ix);
}

unsigned index_percent(struct indexes *ix, const struct index *x)
{
    struct backend_count count;
    struct backend *b = engine_backend(ix->engine);
    if (x->definition.state == INDEX_READY) return 100;
    backend_count(b, x->database, &count);
    if (count.entries == 0) return 0;
    uint64_t percent = x->definition.filled * 100 / count.entries;
    return percent > 99 ? 99 : (unsigned)percent;
}
