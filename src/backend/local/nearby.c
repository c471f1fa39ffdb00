/* nearby: a store in a file, filled by a store whose own data is elsewhere (backend/nearby.h). A
 * copy is written under the name of a backup that is not complete (store_backup.c).
 *
 * The file of text indexes is a tupled.db with little in it: in `meta` there are its origin, and
 * how many entries the databases have; in kv what the indexes cover, so that a search finds in one
 * snapshot all that it needs. What only a dropped index covered stays in kv and grows old there:
 * no index knows it, and whichever covers it again writes it again, when it is filled in.
 */
#include "backend/nearby.h"

#include <stdio.h>

#include "backend/local/local.h"
#include "backend/local/store_text.h"
#include "base/htab.h"
#include "base/random.h"

#define CACHE_BYTES (8u << 20)
#define READER_CACHE_BYTES (1u << 20)
#define FILL_ROWS 1000
#define ORIGIN "origin"

static enum err nearby_copy_begin(const char *path, const struct text_ops *text_ops,
                                  struct store **out, struct error *e)
{
    struct buf part;
    buf_init(&part);
    *out = NULL;
    enum err r = store_backup_begin(path, &part, e);
    struct sqlite_options o = {.path = (const char *)part.data,
                               .cache_bytes = CACHE_BYTES,
                               .reader_cache_bytes = READER_CACHE_BYTES,
                               .text_ops = text_ops};
    if (r == OK) r = sqlite_open(&o, out, e);
    if (r != OK) (void)!store_backup_end((const char *)part.data, path, r, e);
    buf_fini(&part);
    return r;
}

static enum err nearby_copy_end(struct store *copy, const char *path, bool is_whole,
                                struct error *e)
{
    uint8_t id[DATABASE_ID_BYTES];
    struct buf part;
    buf_init(&part);
    store_backup_part(path, &part);
    store_close(copy);
    random_system(id, sizeof id);
    /* It leaves one file, without a write-ahead log. */
    enum err r = is_whole ? sqlite_own((const char *)part.data, id, NULL, e) : ERR_IO;
    r = store_backup_end((const char *)part.data, path, r, e);
    buf_fini(&part);
    return is_whole ? r : OK;
}

/* ---- text indexes ---- */

static enum err nearby_texts_mark(struct store *store, struct slice origin, struct error *e)
{
    struct sqlite_store *s = sqlite_of(store);
    sqlite3_bind_text(s->meta_put, 1, ORIGIN, -1, SQLITE_STATIC);
    sqlite3_bind_text(s->meta_put, 2, (const char *)origin.data, (int)origin.len, SQLITE_STATIC);
    return store_run(s, s->meta_put, "record the origin", e);
}

/* Nothing, when entries lie aside: indexes do not know them. */
static enum err read_origin(struct sqlite_store *s, struct buf *out, struct error *e)
{
    sqlite3_stmt *stmt = NULL;
    enum err r = store_prepare(s, &stmt, "SELECT value FROM meta WHERE name='" ORIGIN "'", e);
    if (r != OK) return r;
    int rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW && s->aside.count == 0) {
        buf_append(out, sqlite3_column_text(stmt, 0), (size_t)sqlite3_column_bytes(stmt, 0));
        buf_require(out);
    }
    r = store_error(e, s->db, rc, "read the origin");
    sqlite3_finalize(stmt);
    return r;
}

static enum err note_entries(struct sqlite_store *s, uint16_t database, uint64_t entries,
                             struct error *e)
{
    char name[sizeof STORE_ENTRIES + 8];
    snprintf(name, sizeof name, STORE_ENTRIES "%u", database);
    sqlite3_bind_text(s->meta_put, 1, name, -1, SQLITE_TRANSIENT);
    sqlite3_bind_int64(s->meta_put, 2, (sqlite3_int64)entries);
    return store_run(s, s->meta_put, "fill a text index", e);
}

/* What is there already is written again: it may be from before an index covered it. */
static enum err write_rows(struct sqlite_store *s, const struct store_chunk *chunk, struct error *e)
{
    struct memtable *m = memtable_new_aside();
    enum err r = OK;
    for (size_t i = 0; i < chunk->count; i++) {
        const struct store_row *row = &chunk->rows[i];
        struct mutation mu = {.kind = MUTATION_SET,
                              .key = row->key,
                              .value = row->value,
                              .expiry_ms = row->expiry_ms};
        memtable_put(m, hash_bytes(row->key), &mu, row->version);
    }
    struct omap_iter it = omap_seek(&m->order, slice_of(NULL, 0));
    for (; r == OK && omap_peek(&it) != NULL; omap_next(&it)) {
        const struct mem_entry *entry = omap_peek(&it);
        struct store_change change;
        r = store_apply_entry(s, entry, &change, e);
        if (r == OK) store_change_add(&s->slice, key_database(entry->key), &change);
    }
    memtable_free(m);
    return r;
}

static enum err fetch_rows(struct sqlite_store *s, const struct text_table *t,
                           struct store_chunk *chunk, uint64_t *entries, struct error *e)
{
    struct buf start;
    struct buf end;
    buf_init(&start);
    buf_init(&end);
    store_text_bounds(t, &start, &end);
    struct store_fetch f = {.start = buf_slice(&start),
                            .end = buf_slice(&end),
                            .with_values = true,
                            .may_wait = true,
                            .rows_max = FILL_ROWS};
    enum err r = s->source.fetch(s->source.arg, &f, chunk, entries, e);
    buf_fini(&start);
    buf_fini(&end);
    return r;
}

/* The position moves in the transaction that writes the rows. */
static enum err fill_from_source(struct sqlite_store *s, struct text_table *t,
                                 struct store_progress *p, struct error *e)
{
    struct store_chunk chunk;
    uint64_t entries = 0;
    (void)p;
    store_chunk_init(&chunk);
    enum err r = fetch_rows(s, t, &chunk, &entries, e);
    if (r == OK) r = store_run(s, s->begin, "begin", e);
    if (r == OK) r = write_rows(s, &chunk, e);
    if (r == OK) r = note_entries(s, t->database, entries, e);
    if (r == OK && chunk.count > 0) {
        struct slice last = chunk.rows[chunk.count - 1].key;
        buf_clear(&t->position, SIZE_MAX);
        buf_append(&t->position, last.data, last.len);
        buf_require(&t->position);
        t->filled += chunk.count;
    }
    if (r == OK) t->is_complete = chunk.is_last;
    store_chunk_fini(&chunk);
    return r;
}

static enum err lock_texts(const char *path, int *fd, struct error *e)
{
    struct buf lock;
    buf_init(&lock);
    buf_printf(&lock, "%s.lock", path);
    buf_append_byte(&lock, '\0');
    buf_require(&lock);
    enum err r = file_lock((char *)lock.data, fd, e);
    buf_fini(&lock);
    return r;
}

static enum err open_texts(const struct nearby_texts *texts, struct buf *origin, struct store **out,
                           struct error *e)
{
    struct sqlite_options o = {.path = texts->path,
                               .cache_bytes = CACHE_BYTES,
                               .reader_cache_bytes = CACHE_BYTES / 4,
                               .text_ops = texts->text_ops};
    enum err r = texts->is_new ? store_backup_remove(texts->path, e) : OK;
    if (r == OK) r = sqlite_open(&o, out, e);
    if (r == OK) r = read_origin(sqlite_of(*out), origin, e);
    return r;
}

static enum err nearby_texts_open(const struct nearby_texts *texts, struct buf *origin,
                                  struct store **out, struct error *e)
{
    int fd = -1;
    *out = NULL;
    enum err r = lock_texts(texts->path, &fd, e);
    if (r != OK) return r;
    r = open_texts(texts, origin, out, e);
    if (r != OK) {
        store_close(*out);
        *out = NULL;
        file_unlock(fd);
        return r;
    }
    struct sqlite_store *s = sqlite_of(*out);
    s->lock_fd = fd;
    s->source = texts->source;
    s->fill_from = fill_from_source;
    return OK;
}

static enum err nearby_texts_remove(const char *path, struct error *e)
{
    int fd = -1;
    if (!file_exists(path)) return OK;
    enum err r = lock_texts(path, &fd, e);
    if (r != OK) return r;
    r = store_backup_remove(path, e);
    file_unlock(fd);
    return r;
}

/* As a flush of all databases that have something, or an index. */
static enum err nearby_texts_empty(struct store *store, struct error *e)
{
    struct sqlite_store *s = sqlite_of(store);
    struct store_progress progress = {0};
    struct memtable *m = memtable_new_aside();
    uint64_t version = s->applied + 1;
    enum err r = nearby_texts_mark(store, slice_str(""), e);
    if (r == OK) r = store_text_found(s, e);
    for (const struct text_table *t = s->texts; t != NULL; t = t->next) {
        memtable_flush(m, t->database, version);
    }
    for (uint32_t i = 0; sparse_next(&s->counts, &i) != NULL; i++) {
        memtable_flush(m, (uint16_t)i, version);
    }
    m->version_last = 0; /* nothing is applied */
    if (r == OK) r = store_apply(store, m, &progress, e);
    store_progress_fini(&progress);
    memtable_free(m);
    return r;
}

const struct nearby local_nearby = {
    .copy_begin = nearby_copy_begin,
    .copy_end = nearby_copy_end,
    .texts_open = nearby_texts_open,
    .texts_remove = nearby_texts_remove,
    .texts_empty = nearby_texts_empty,
    .texts_mark = nearby_texts_mark,
};
