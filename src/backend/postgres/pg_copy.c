/* pg_copy: everything that a pinned reader sees, in a file of this machine that a server can start
 * with (query thread). Its rows go into a store there (backend/nearby.h) by memtables of a bounded
 * size. Rows that were flushed or forgotten and are not removed yet are left out. Text indexes are
 * defined there; who starts with the file fills them in.
 */
#include "backend/postgres/pg_store_int.h"
#include "base/htab.h"

#define COPY_ROWS 4000
#define COPY_CHUNK_BYTES 1000000
#define COPY_MEMTABLE_BYTES (8u << 20)

static const char copy_applied_sql[] = "SELECT applied FROM tupled_applied WHERE id = $1";
/* As those of pg_read.c, over all databases. */
static const char copy_sql[] =
    "SELECT key, version, expiry_ms, checksum, value FROM (SELECT e.*, sum(length(e.value) + "
    "length(e.key)) OVER (ORDER BY e.key ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS "
    "bytes FROM tupled_entry e WHERE e.id = $1 AND e.key >= $2 AND " PG_IS_THERE " AND NOT EXISTS "
    "(SELECT 1 FROM tupled_garbage g WHERE g.id = $1 AND g.hides = 0 AND e.key >= g.first "
    "AND e.key < g.until AND e.version <= g.version) ORDER BY e.key LIMIT $3) e "
    "WHERE coalesce(bytes, 0) < $4 ORDER BY key";

struct copying {
    struct pg_reader *reader;
    struct store *to;
    const bool *is_stopping;
    struct buf start; /* the next possible key */
    uint64_t applied; /* of the snapshot */
    bool is_over;     /* there are no more rows */
};

static enum err copy_applied(struct copying *c, struct error *e)
{
    struct pg_reader *r = c->reader;
    pthread_mutex_lock(&r->lock);
    enum err result = pg_reader_ready(r, e);
    if (result == OK) {
        pg_begin(r->pg);
        pg_put_i64(r->pg, term_id(r->store->term));
        result = pg_reader_run(r, copy_applied_sql, e);
    }
    if (result == OK && pg_rows(r->pg) != 1) {
        result = error_set(e, ERR_CORRUPT, "tupled_applied has no row for the engine");
    }
    if (result == OK) c->applied = (uint64_t)pg_i64(r->pg, 0, 0);
    pthread_mutex_unlock(&r->lock);
    return result;
}

/* The rows of the result. */
static enum err copy_take(struct copying *c, struct memtable *m, struct error *e)
{
    struct pg *pg = c->reader->pg;
    for (size_t i = 0; i < pg_rows(pg); i++) {
        struct mutation mu = {.kind = MUTATION_SET,
                              .key = pg_bytes(pg, i, 0),
                              .value = pg_bytes(pg, i, 4),
                              .expiry_ms = pg_i64(pg, i, 2)};
        uint64_t version = (uint64_t)pg_i64(pg, i, 1);
        bool is_good = mu.key.len >= KEY_HEAD_BYTES &&
                       pg_entry_checksum(mu.key, version, mu.expiry_ms, mu.value) ==
                           pg_i64(pg, i, 3);
        if (!is_good) return pg_damaged(mu.key, e);
        (void)memtable_database(m, key_database(mu.key));
        memtable_put(m, hash_bytes(mu.key), &mu, version);
        buf_clear(&c->start, SIZE_MAX);
        buf_append(&c->start, mu.key.data, mu.key.len);
    }
    c->is_over = pg_rows(pg) == 0;
    buf_append_byte(&c->start, 0);
    buf_require(&c->start);
    return OK;
}

/* The reader's lock is free between two chunks: an apply waits for it. */
static enum err copy_chunk(struct copying *c, struct memtable *m, struct error *e)
{
    struct pg_reader *r = c->reader;
    if (__atomic_load_n(c->is_stopping, __ATOMIC_RELAXED)) {
        return error_set(e, ERR_IO, "the server is stopping");
    }
    pthread_mutex_lock(&r->lock);
    enum err result = pg_reader_ready(r, e);
    if (result == OK) {
        pg_begin(r->pg);
        pg_put_i64(r->pg, term_id(r->store->term));
        pg_put_bytes(r->pg, buf_slice(&c->start));
        pg_put_i64(r->pg, COPY_ROWS);
        pg_put_i64(r->pg, COPY_CHUNK_BYTES);
        result = pg_reader_run(r, copy_sql, e);
    }
    if (result == OK) result = copy_take(c, m, e);
    pthread_mutex_unlock(&r->lock);
    return result;
}

static enum err copy_memtable(struct copying *c, struct error *e)
{
    struct store_progress progress = {0};
    struct memtable *m = memtable_new_aside();
    enum err r = OK;
    while (r == OK && !c->is_over && memtable_bytes(m) < COPY_MEMTABLE_BYTES) {
        r = copy_chunk(c, m, e);
    }
    if (c->is_over) m->version_last = c->applied;
    if (r == OK) r = store_apply(c->to, m, &progress, e);
    store_progress_fini(&progress);
    memtable_free(m);
    return r;
}

enum err pg_copy(struct store_reader *reader, const char *path, const bool *is_stopping,
                 struct error *e)
{
    struct copying c = {.reader = pg_reader_of(reader), .is_stopping = is_stopping};
    const struct pg_store *s = c.reader->store;
    struct error ignored;
    if (s->nearby == NULL) return error_set(e, ERR_SYNTAX, "cannot create a copy in %s", path);
    enum err r = s->nearby->copy_begin(path, s->text_ops, &c.to, e);
    if (r != OK) return r;
    buf_init(&c.start);
    buf_append_byte(&c.start, 0);
    r = copy_applied(&c, e);
    while (r == OK && !c.is_over) r = copy_memtable(&c, e);
    buf_fini(&c.start);
    if (r == OK) return s->nearby->copy_end(c.to, path, true, e);
    (void)!s->nearby->copy_end(c.to, path, false, &ignored);
    return r;
}
