/* store_flush: databases that a memtable flushes become empty, however much they hold, in one short
 * transaction (store thread). A database of few rows is emptied in it, while there are not too many
 * of those; any other moves to another generation (store_place.c), and its rows are forgotten.
 *
 * The rows that were written after a flush come from the memtable again. Where a flush was applied
 * before, by an apply that did not come to its end, it is applied once more: they are what it finds
 * then.
 *
 * There are 256 generations, and each that is not the database's own belongs to rows that are still
 * to be removed: a database that was flushed 255 times before its first rows were gone is emptied
 * as it stands, in slices, and the apply takes as long as that takes.
 */
#include "backend/local/store_text.h"

#define SLICE_ROWS 20000
#define ROW_BYTES 320        /* a database of few rows is emptied if they are not larger ... */
#define FLUSH_ROWS_ALL 10000 /* ... until an apply has removed so many */

struct flushing {
    struct store_moving moving;
    uint64_t rows; /* removed */
};

/* Removes at most `rows_max` rows of what lies in the database's generation. */
static enum err remove_rows(struct sqlite_store *s, uint16_t database, uint64_t rows_max,
                            int *removed, struct error *e)
{
    uint8_t start[STORE_HEAD_BYTES];
    uint8_t end[STORE_HEAD_BYTES];
    int64_t bytes = 0;
    store_generation_bounds(database, s->generations[database], start, end);
    sqlite3_bind_blob(s->del_range, 1, start, sizeof start, SQLITE_STATIC);
    sqlite3_bind_blob(s->del_range, 2, end, sizeof end, SQLITE_STATIC);
    sqlite3_bind_int64(s->del_range, 3, (sqlite3_int64)rows_max);
    enum err r = store_delete_rows(s, s->del_range, "flush a database", removed, &bytes, e);
    sqlite3_clear_bindings(s->del_range);
    return r;
}

/* What there is of the database beside its rows. */
static enum err flush_rest(struct sqlite_store *s, uint16_t database, struct store_progress *p,
                           struct error *e)
{
    struct store_counts now = store_counts_now(s, p, database);
    store_change_add(&s->slice, database,
                     &(struct store_change){.entries = -(int64_t)now.entries,
                                            .expiring = -(int64_t)now.expiring,
                                            .bytes = -(int64_t)now.bytes});
    enum err r = store_aside_flush(s, database, e);
    return r == OK ? store_text_flush(s, database, e) : r;
}

/* *is_empty false: there is more than is removed at once, or something of it is damaged. */
static enum err flush_small(struct sqlite_store *s, struct flushing *f, uint16_t database,
                            bool *is_empty, struct error *e)
{
    int removed = 0;
    *is_empty = false;
    enum err r = store_run(s, s->savepoint, "set a savepoint", e);
    if (r != OK) return r;
    r = remove_rows(s, database, s->flush_rows + 1, &removed, e);
    bool is_damaged = r == ERR_CORRUPT;
    if (is_damaged) r = store_run(s, s->rollback_to, "roll back to a savepoint", e);
    if (r == OK) r = store_run(s, s->release, "release a savepoint", e);
    f->rows += (uint64_t)removed;
    *is_empty = !is_damaged && (uint64_t)removed <= s->flush_rows;
    return r;
}

/* *is_done false: only flush_rows can do it. */
static enum err flush_database(struct sqlite_store *s, struct flushing *f, uint16_t database,
                               struct store_progress *p, bool *is_done, struct error *e)
{
    struct store_counts now = store_counts_now(s, p, database);
    bool is_small = now.entries <= s->flush_rows && now.bytes / ROW_BYTES <= s->flush_rows;
    enum err r = OK;
    *is_done = false;
    if (is_small && f->rows < FLUSH_ROWS_ALL) r = flush_small(s, f, database, is_done, e);
    if (r == OK && !*is_done) r = store_move(s, &f->moving, database, is_done, e);
    if (r == OK && *is_done) r = flush_rest(s, database, p, e);
    return r;
}

/* All that can be flushed at once; the others go to `left`. */
static enum err flush_at_once(struct sqlite_store *s, const struct memtable *m,
                              struct store_progress *p, struct sparse *left, struct error *e)
{
    struct flushing f = {0};
    enum err r = store_moving_begin(s, &f.moving, e);
    if (r == OK) r = store_run(s, s->begin, "begin", e);
    struct mem_database *d;
    for (uint32_t i = 0; r == OK && (d = sparse_next(&m->databases, &i)) != NULL; i++) {
        bool is_done = false;
        if (d->flushed == 0) continue;
        r = flush_database(s, &f, (uint16_t)i, p, &is_done, e);
        if (!is_done) *sparse_slot(left, (uint16_t)i) = d;
    }
    if (r == OK) r = store_commit(s, p, e);
    store_moving_end(s, &f.moving, r == OK);
    return r;
}

/* In slices. */
static enum err flush_rows(struct sqlite_store *s, uint16_t database, struct store_progress *p,
                           struct error *e)
{
    int removed = SLICE_ROWS;
    enum err r = OK;
    while (r == OK && removed == SLICE_ROWS) {
        r = store_run(s, s->begin, "begin", e);
        if (r == OK) r = remove_rows(s, database, SLICE_ROWS, &removed, e);
        if (r == OK && removed < SLICE_ROWS) r = flush_rest(s, database, p, e);
        if (r == OK) r = store_commit(s, p, e);
    }
    return r;
}

enum err store_flush(struct sqlite_store *s, const struct memtable *m, struct store_progress *p,
                     struct error *e)
{
    struct sparse left = {0};
    if (!m->has_flush) return OK;
    enum err r = flush_at_once(s, m, p, &left, e);
    for (uint32_t i = 0; r == OK && sparse_next(&left, &i) != NULL; i++) {
        r = flush_rows(s, (uint16_t)i, p, e);
    }
    sparse_fini(&left);
    return r;
}
