/* store_apply: a memtable becomes part of the store, in slices, each a transaction (store thread).
 *
 * Entries whose place in the database is damaged are put aside and all others go on: a slice that
 * met damage is taken back and done again with each entry inside a savepoint of its own
 * (store_aside.c).
 */

#include "backend/local/store_text.h"
#include "base/fault.h"
#include "base/give_way.h"
#include "base/log.h"

#define SLICE_ROWS 20000
#define YIELD_ROWS 32 /* some 30 us of work: see base/give_way.h */
#define SLICE_BYTES (8u << 20)

static enum err put_meta(struct sqlite_store *s, const char *name, uint64_t value, struct error *e)
{
    sqlite3_bind_text(s->meta_put, 1, name, -1, SQLITE_STATIC);
    sqlite3_bind_int64(s->meta_put, 2, (sqlite3_int64)value);
    return store_run(s, s->meta_put, "record the state", e);
}

static bool is_counted(struct slice key)
{
    return key.len >= KEY_HEAD_BYTES && key_space(key) == STORE_SPACE_COUNTED;
}

/* s->replaced says whether there was a row, and what. */
static enum err delete_run(struct sqlite_store *s, struct error *e)
{
    int rc = sqlite3_step(s->del);
    if (rc == SQLITE_ROW) {
        s->replaced = (struct store_change){.entries = 1,
                                            .expiring = sqlite3_column_int64(s->del, 0) != 0,
                                            .bytes = sqlite3_column_int64(s->del, 2) -
                                                     STORE_HEAD_BYTES};
        s->replaced_large = sqlite3_column_int64(s->del, 1);
        rc = sqlite3_step(s->del);
    }
    enum err r = store_error(e, s->db, rc, "delete an entry");
    sqlite3_reset(s->del);
    return r;
}

/* The statement's value: itself, or the id that it has as a large one. */
static enum err bind_value(struct sqlite_store *s, sqlite3_stmt *stmt, int at, struct slice value,
                           struct error *e)
{
    int64_t id = 0;
    if (value.len <= STORE_INLINE_MAX) {
        const uint8_t *data = value.len > 0 ? value.data : (const uint8_t *)"";
        sqlite3_bind_blob(stmt, at, data, (int)value.len, SQLITE_STATIC);
        return OK;
    }
    enum err r = store_large_put(s, value, &id, e);
    sqlite3_bind_int64(stmt, at, id);
    return r;
}

enum err store_apply_entry(struct sqlite_store *s, const struct mem_entry *entry,
                           struct store_change *change, struct error *e)
{
    const struct mem_version *v = entry->newest;
    sqlite3_stmt *stmt = v->is_tombstone ? s->del : s->put;
    enum err r = OK;
    struct slice placed = store_place(s, entry->key);
    sqlite3_bind_blob(stmt, 1, placed.data, (int)placed.len, SQLITE_STATIC);
    if (!v->is_tombstone) {
        sqlite3_bind_int64(stmt, 2, (sqlite3_int64)v->version);
        sqlite3_bind_int64(stmt, 3, v->expiry_ms);
        r = bind_value(s, stmt, 4, slice_of(v->value, v->value_len), e);
    }
    s->replaced = (struct store_change){0};
    s->replaced_large = 0;
    if (r == OK) r = v->is_tombstone ? delete_run(s, e) : store_run(s, stmt, "write an entry", e);
    if (r == OK && s->replaced_large != 0) r = store_large_delete(s, s->replaced_large, e);
    if (r != OK) return r;
    *change = (struct store_change){.bytes = -s->replaced.bytes};
    if (!v->is_tombstone) {
        change->bytes += (int64_t)(entry->key.len + v->value_len - KEY_HEAD_BYTES);
    }
    bool has_text = is_counted(entry->key) || key_space(entry->key) == BACKEND_SPACE_HASH_TEXT;
    if (s->texts != NULL && has_text) {
        struct slice value = slice_of(v->value, v->value_len);
        r = store_text_entry(s, entry->key, v->is_tombstone ? NULL : &value, e);
        if (r != OK) return r;
    }
    if (!is_counted(entry->key)) return OK;
    change->entries = !v->is_tombstone - s->replaced.entries;
    change->expiring = (!v->is_tombstone && v->expiry_ms != 0) - s->replaced.expiring;
    return OK;
}

static bool is_flushed(const struct memtable *m, const struct mem_entry *entry)
{
    return entry->newest->version < memtable_flushed(m, key_database(entry->key));
}

static void entry_counts(struct sqlite_store *s, struct store_progress *p,
                         const struct mem_entry *entry, const struct store_change *change)
{
    p->rows++;
    __atomic_store_n(&s->base.rows_done, p->rows, __ATOMIC_RELAXED);
    store_change_add(&s->slice, key_database(entry->key), change);
}

/* As store_apply_entry where damage was met: what cannot be written is put aside. */
static enum err apply_carefully(struct sqlite_store *s, const struct mem_entry *entry,
                                struct store_progress *p, struct error *e)
{
    struct store_change change;
    enum err r = store_run(s, s->savepoint, "set a savepoint", e);
    if (r == OK) r = store_apply_entry(s, entry, &change, e);
    if (r == OK) r = store_probe(s, entry->key, e);
    if (r == OK) {
        entry_counts(s, p, entry, &change);
        return store_run(s, s->release, "release a savepoint", e);
    }
    if (r != ERR_CORRUPT) return r;
    struct error ignored;
    r = store_run(s, s->rollback_to, "roll back to a savepoint", &ignored);
    if (r == OK) r = store_run(s, s->release, "release a savepoint", &ignored);
    return r == OK ? store_aside_put(s, entry, p, e) : r;
}

/* From `it` on; the transaction is ended by the caller. */
static enum err slice_entries(struct sqlite_store *s, const struct memtable *m,
                              struct omap_iter *it, bool is_careful, struct store_progress *p,
                              struct error *e)
{
    enum err r = OK;
    size_t bytes = 0;
    for (unsigned i = 0; r == OK && i < SLICE_ROWS && bytes < SLICE_BYTES; omap_next(it)) {
        const struct mem_entry *entry = omap_peek(it);
        if (entry == NULL) break;
        if (is_flushed(m, entry) || !store_text_wants(s, entry->key)) continue;
        bytes += entry->key.len + entry->newest->value_len;
        if (store_aside_has(s, entry->key)) {
            r = store_aside_put(s, entry, p, e);
        } else if (is_careful) {
            r = apply_carefully(s, entry, p, e);
        } else {
            struct store_change change;
            r = store_apply_entry(s, entry, &change, e);
            if (r == OK) entry_counts(s, p, entry, &change);
        }
        if (++i % YIELD_ROWS == 0) give_way();
    }
    return r;
}

static void roll_back(struct sqlite_store *s)
{
    if (s->text_ops != NULL) store_text_rollback(s);
    if (sqlite3_get_autocommit(s->db)) return;
    sqlite3_step(s->rollback);
    sqlite3_reset(s->rollback);
}

static enum err apply_slice(struct sqlite_store *s, const struct memtable *m, struct omap_iter *it,
                            struct store_progress *p, struct error *e)
{
    struct omap_iter begin = *it;
    uint64_t rows = p->rows;
    size_t aside_count = p->aside.count;
    enum err r = store_run(s, s->begin, "begin", e);
    if (r == OK) r = slice_entries(s, m, it, false, p, e);
    if (r == ERR_CORRUPT) {
        p->damage = *e;
        roll_back(s);
        store_counts_fini(&s->slice);
        *it = begin;
        p->rows = rows;
        p->aside.count = aside_count;
        r = store_run(s, s->begin, "begin", e);
        if (r == OK) r = slice_entries(s, m, it, true, p, e);
    }
    bool forgets = omap_peek(it) == NULL && s->source.fetch == NULL;
    if (r == OK && forgets) r = store_forget(s, m, e);
    if (r == OK && omap_peek(it) == NULL) {
        r = put_meta(s, "applied", m->version_last, e);
        p->applied = m->version_last;
    }
    INVARIANT(!fault_hit("store.apply")); /* tests: in the middle of SQLite's transaction */
    if (r == OK) r = store_commit(s, p, e);
    return r;
}

/* Those of one database that the memtable makes or drops. */
static enum err apply_texts_of(struct sqlite_store *s, const struct memtable *m, uint16_t database,
                               struct store_progress *p, struct error *e)
{
    const uint8_t start[] = {KEY_HEAD(database, BACKEND_SPACE_TEXT)};
    struct slice prefix = slice_of(start, sizeof start);
    struct omap_iter it = omap_seek(&m->order, prefix);
    const struct mem_entry *entry = omap_peek(&it);
    if (entry == NULL || !slice_has_prefix(entry->key, prefix)) return OK;
    enum err r = store_run(s, s->begin, "begin", e);
    for (; r == OK && entry != NULL; omap_next(&it), entry = omap_peek(&it)) {
        const struct mem_version *v = entry->newest;
        struct slice spec = slice_of(v->value, v->value_len);
        if (!slice_has_prefix(entry->key, prefix)) break;
        if (is_flushed(m, entry)) continue;
        r = store_text_define(s, entry->key, v->is_tombstone ? NULL : &spec, e);
    }
    if (r == OK) r = store_commit(s, p, e);
    return r;
}

/* Text indexes that the memtable makes or drops, before any entry of it is written: in its order
 * they come after the entries. */
static enum err apply_texts(struct sqlite_store *s, const struct memtable *m,
                            struct store_progress *p, struct error *e)
{
    enum err r = OK;
    for (uint32_t i = 0; r == OK && sparse_next(&m->databases, &i) != NULL; i++) {
        r = apply_texts_of(s, m, (uint16_t)i, p, e);
    }
    /* On little, the index is complete when this is. Elsewhere the entries are not applied yet. */
    struct error ignored;
    if (r == OK && store_text_is_filling(s) && s->source.fetch == NULL) {
        r = store_text_fill(s, &ignored);
        if (r == ERR_CORRUPT) r = OK; /* the filling's own turn will tell */
        if (r != OK) *e = ignored;
    }
    return r;
}

/* Databases that have no counts any more have none there either: *progress must say that. */
static void empty_counts(const struct sqlite_store *s, struct store_progress *progress)
{
    static const struct store_counts none;
    for (uint32_t i = 0; sparse_next(&s->counts, &i) != NULL; i++) {
        if (sparse_get(&progress->counts, (uint16_t)i) == NULL) {
            store_counts_put(&progress->counts, (uint16_t)i, &none);
        }
    }
}

/* On an error *progress is what earlier slices left. */
static enum err apply_memtable(struct sqlite_store *s, const struct memtable *m,
                               struct store_progress *progress, struct error *e)
{
    struct store_progress p = {.applied = s->applied};
    enum err r = store_text_found(s, e);
    if (r == OK) r = store_flush(s, m, &p, e);
    if (r == OK && s->text_ops != NULL) r = apply_texts(s, m, &p, e);
    struct omap_iter it = omap_seek(&m->order, slice_of(NULL, 0));
    do {
        if (r == OK) r = apply_slice(s, m, &it, &p, e);
    } while (r == OK && omap_peek(&it) != NULL);
    if (r != OK) {
        roll_back(s);
        store_counts_fini(&s->slice);
        store_progress_fini(&p);
        /* Slices before the failed one stand; their counts must too. */
        struct error ignored;
        *progress = (struct store_progress){.applied = s->applied};
        if (store_read_meta(s, progress, &ignored) == OK) empty_counts(s, progress);
        progress->is_filling = store_text_is_filling(s);
        progress->has_garbage = store_has_garbage(s);
        return r;
    }
    p.is_filling = store_text_is_filling(s);
    p.has_garbage = store_has_garbage(s);
    *progress = p;
    return OK;
}

enum err sqlite_apply(struct store *store, const struct memtable *m,
                      struct store_progress *progress, struct error *e)
{
    struct sqlite_store *s = sqlite_of(store);
    enum err r = apply_memtable(s, m, progress, e);
    s->applied = progress->applied;
    store_counts_merge(&s->counts, &progress->counts);
    if (r == OK) store_checkpoint(s);
    return r;
}

enum err sqlite_fill(struct store *store, bool *is_filling, struct error *e)
{
    struct sqlite_store *s = sqlite_of(store);
    enum err r = store_text_fill(s, e);
    *is_filling = store_text_is_filling(s);
    if (r == OK) store_checkpoint(s);
    return r;
}
