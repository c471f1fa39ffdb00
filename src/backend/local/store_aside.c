/* store_aside: entries that belong into a part of kv that is damaged. They are kept in a table of
 * their own, so that the apply can go on and the journal be let go; and in memory, in front of the
 * store, by the loop (pipeline_int.h: aside). At a start each is tried in its place again: the file
 * may have been put back as it was.
 *
 * A key that is aside stays there until then: what memory holds of it must not be older than kv.
 */
#include <stdio.h>

#include "backend/local/store_int.h"
#include "base/htab.h"
#include "base/mem.h"

#define ASIDE_BYTES_MAX (64u << 20)

struct aside_key {
    struct slice key; /* first: the table looks here; its bytes follow the struct */
};

bool store_aside_has(const struct sqlite_store *s, struct slice key)
{
    return s->aside.count > 0 && htab_find(&s->aside, hash_bytes(key), key) != NULL;
}

static void remember(struct sqlite_store *s, struct slice key)
{
    if (store_aside_has(s, key)) return;
    struct aside_key *k = mem_alloc(sizeof *k + key.len);
    memcpy(k + 1, key.data, key.len);
    k->key = slice_of(k + 1, key.len);
    htab_insert(&s->aside, hash_bytes(key), &k->key);
}

void store_aside_close(struct sqlite_store *s)
{
    struct aside_key *k = NULL;
    for (size_t at = 0; (k = htab_next(&s->aside, &at)) != NULL;) mem_free(k);
    htab_fini(&s->aside);
}

enum err store_aside_put(struct sqlite_store *s, const struct mem_entry *entry,
                         struct store_progress *p, struct error *e)
{
    const struct mem_version *v = entry->newest;
    struct store_aside *a = &p->aside;
    s->aside_bytes += entry->key.len + v->value_len;
    if (s->aside_bytes > ASIDE_BYTES_MAX) {
        return error_set(e, ERR_CORRUPT,
                         "more than %u MB of entries cannot be stored because tupled.db is "
                         "damaged; restore a backup",
                         ASIDE_BYTES_MAX >> 20);
    }
    sqlite3_bind_blob(s->aside_put, 1, entry->key.data, (int)entry->key.len, SQLITE_STATIC);
    sqlite3_bind_int64(s->aside_put, 2, (sqlite3_int64)v->version);
    sqlite3_bind_int64(s->aside_put, 3, v->expiry_ms);
    if (v->is_tombstone) {
        sqlite3_bind_null(s->aside_put, 4);
    } else {
        sqlite3_bind_blob64(s->aside_put, 4, v->value_len > 0 ? v->value : (const uint8_t *)"",
                            v->value_len, SQLITE_STATIC);
    }
    enum err r = store_run(s, s->aside_put, "set an entry aside", e);
    if (r != OK) return r;
    remember(s, entry->key);
    if (a->count == a->cap) {
        a->cap = a->cap == 0 ? 64 : 2 * a->cap;
        a->entries = mem_resize(a->entries, a->cap * sizeof *a->entries);
    }
    a->entries[a->count++] = entry;
    return OK;
}

enum err store_aside_flush(struct sqlite_store *s, uint16_t database, struct error *e)
{
    char sql[80];
    if (s->aside.count == 0) return OK;
    snprintf(sql, sizeof sql, "DELETE FROM aside WHERE k>=x'%04x' AND k<x'%04xff'", database,
             database);
    return store_error(e, s->db, sqlite3_exec(s->db, sql, NULL, NULL, NULL), "flush a database");
}

enum err store_probe(struct sqlite_store *s, struct slice key, struct error *e)
{
    struct slice placed = store_place(s, key);
    sqlite3_bind_blob(s->probe, 1, placed.data, (int)placed.len, SQLITE_STATIC);
    return store_run(s, s->probe, "look up an entry", e);
}

/* ---- at a start ---- */

/* One row back into its place. False when that is not to be had yet. */
static bool put_back(struct sqlite_store *s, sqlite3_stmt *row)
{
    struct error why;
    bool is_tombstone = sqlite3_column_type(row, 3) == SQLITE_NULL;
    size_t len = (size_t)sqlite3_column_bytes(row, 3);
    struct slice key = slice_of(sqlite3_column_blob(row, 0), (size_t)sqlite3_column_bytes(row, 0));
    struct mem_version *v = mem_alloc(sizeof *v + len);
    *v = (struct mem_version){.version = (uint64_t)sqlite3_column_int64(row, 1),
                              .expiry_ms = sqlite3_column_int64(row, 2),
                              .value_len = len,
                              .is_tombstone = is_tombstone};
    if (len > 0) memcpy(v->value, sqlite3_column_blob(row, 3), len);
    struct mem_entry entry = {.key = key, .newest = v};
    struct store_change change;
    enum err r = store_apply_entry(s, &entry, &change, &why);
    if (r == OK) r = store_probe(s, key, &why);
    if (r == OK) store_change_add(&s->slice, key_database(key), &change);
    mem_free(v);
    return r == OK;
}

static enum err put_back_all(struct sqlite_store *s, struct error *e)
{
    sqlite3_stmt *rows = NULL;
    sqlite3_stmt *drop = NULL;
    int rc = sqlite3_prepare_v2(s->db, "SELECT k,ver,exp,v FROM aside", -1, &rows, NULL);
    if (rc == SQLITE_OK) {
        rc = sqlite3_prepare_v2(s->db, "DELETE FROM aside WHERE k=?1", -1, &drop, NULL);
    }
    enum err r = store_error(e, s->db, rc, "read the entries set aside");
    while (r == OK && (rc = sqlite3_step(rows)) == SQLITE_ROW) {
        r = store_run(s, s->savepoint, "set a savepoint", e);
        if (r != OK) break;
        if (put_back(s, rows)) {
            sqlite3_bind_value(drop, 1, sqlite3_column_value(rows, 0));
            r = store_run(s, drop, "put an entry back", e);
        } else {
            r = store_run(s, s->rollback_to, "roll back to a savepoint", e);
        }
        if (r == OK) r = store_run(s, s->release, "release a savepoint", e);
    }
    if (r == OK) r = store_error(e, s->db, rc, "read the entries set aside");
    sqlite3_finalize(rows);
    sqlite3_finalize(drop);
    return r;
}

enum err store_aside_open(struct sqlite_store *s, struct error *e)
{
    struct store_progress p = {.applied = s->applied};
    htab_init(&s->aside);
    enum err r = store_run(s, s->begin, "begin", e);
    if (r == OK) r = put_back_all(s, e);
    if (r == OK) r = store_commit(s, &p, e);
    if (r == OK) {
        store_counts_merge(&s->counts, &p.counts);
        store_progress_fini(&p);
        return OK;
    }
    store_counts_fini(&s->slice);
    store_progress_fini(&p);
    sqlite3_step(s->rollback);
    sqlite3_reset(s->rollback);
    return r;
}

enum err sqlite_aside_read(struct store *store,
                           void (*each)(void *arg, const struct mutation *mu, uint64_t version),
                           void *arg, struct error *e)
{
    struct sqlite_store *s = sqlite_of(store);
    sqlite3_stmt *rows = NULL;
    int rc = sqlite3_prepare_v2(s->db, "SELECT k,ver,exp,v FROM aside", -1, &rows, NULL);
    while (rc == SQLITE_OK || rc == SQLITE_ROW) {
        rc = sqlite3_step(rows);
        if (rc != SQLITE_ROW) break;
        bool is_tombstone = sqlite3_column_type(rows, 3) == SQLITE_NULL;
        struct mutation mu = {
            .kind = is_tombstone ? MUTATION_DELETE : MUTATION_SET,
            .key = slice_of(sqlite3_column_blob(rows, 0), (size_t)sqlite3_column_bytes(rows, 0)),
            .value = slice_of(sqlite3_column_blob(rows, 3), (size_t)sqlite3_column_bytes(rows, 3)),
            .expiry_ms = sqlite3_column_int64(rows, 2)};
        remember(s, mu.key);
        s->aside_bytes += mu.key.len + mu.value.len;
        each(arg, &mu, (uint64_t)sqlite3_column_int64(rows, 1));
    }
    enum err r = store_error(e, s->db, rc, "read the entries set aside");
    sqlite3_finalize(rows);
    return r;
}
