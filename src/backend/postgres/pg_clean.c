/* pg_clean: what is not there any more (store thread). A flush hides the rows of a database at
 * once; a forgotten range is not read any more. Both are rows of tupled_garbage until the last row
 * of theirs is removed, in slices. The bytes of flushed rows left the counts with the flush, those
 * of forgotten ones do when they are removed.
 */
#include "backend/postgres/pg_store_int.h"
#include "base/bytes.h"
#include "base/mem.h"

#define CLEAN_ROWS 5000
#define ENDS_BYTES 4

/* A flush that is applied again hides nothing new, and the counts are what came after it. */
static const char flush_sql[] =
    "WITH me AS (UPDATE tupled_applied SET step = $7 WHERE id = $1 AND epoch = $2 "
    "AND step IN ($7 - 1, $7) RETURNING id), "
    "g AS (INSERT INTO tupled_garbage SELECT me.id, 1, u.* FROM me, "
    "unnest($6::int8[], $5::int8[], $3::bytea[], $4::bytea[]) u "
    "ON CONFLICT DO NOTHING RETURNING database), "
    "d AS (DELETE FROM tupled_count USING g WHERE tupled_count.id = $1 "
    "AND tupled_count.database = g.database) "
    "SELECT count(*) FROM me";
static const char forget_sql[] =
    "WITH me AS (UPDATE tupled_applied SET step = $6 WHERE id = $1 AND epoch = $2 "
    "AND step IN ($6 - 1, $6) RETURNING id), "
    "g AS (INSERT INTO tupled_garbage SELECT me.id, 0, get_byte(u.first, 0) * 256 + "
    "get_byte(u.first, 1), $5, u.first, u.until FROM me, unnest($3::bytea[], $4::bytea[]) "
    "u(first, until) ON CONFLICT DO NOTHING) "
    "SELECT count(*) FROM me";
static const char oldest_sql[] =
    "SELECT first, until, version, hides FROM tupled_garbage WHERE id = $1 AND version <= $2 "
    "LIMIT 1";
static const char clean_sql[] =
    "WITH me AS (UPDATE tupled_applied SET step = $8 WHERE id = $1 AND epoch = $2 "
    "AND step IN ($8 - 1, $8) RETURNING id), "
    "d AS (DELETE FROM tupled_entry WHERE id = (SELECT id FROM me) AND key IN (SELECT key FROM "
    "tupled_entry WHERE id = $1 AND key >= $3 AND key < $4 AND version <= $5 ORDER BY key "
    "LIMIT $6) RETURNING length(key) + length(value) AS bytes), "
    "s AS (SELECT count(*) AS n, coalesce(sum(bytes), 0)::int8 - 3 * count(*) AS bytes FROM d), "
    "c AS (UPDATE tupled_count SET bytes = tupled_count.bytes - s.bytes FROM s "
    "WHERE id = $1 AND database = $7) "
    "SELECT (SELECT count(*) FROM me), s.n, s.bytes FROM s";
static const char done_sql[] =
    "WITH me AS (UPDATE tupled_applied SET step = $6 WHERE id = $1 AND epoch = $2 "
    "AND step IN ($6 - 1, $6) RETURNING id), "
    "d AS (DELETE FROM tupled_garbage USING me WHERE tupled_garbage.id = me.id AND first = $3 "
    "AND until = $4 AND version = $5) SELECT count(*) FROM me";

/* All keys of a database: from its head to the next one's. */
static void database_bounds(uint16_t database, uint8_t first[KEY_HEAD_BYTES],
                            uint8_t until[ENDS_BYTES], size_t *until_len)
{
    (void)key_head_write(first, database, 0);
    *until_len = KEY_HEAD_BYTES;
    if (database < DATABASES_MAX - 1) {
        (void)key_head_write(until, (uint16_t)(database + 1), 0);
    } else {
        memset(until, 0xff, ENDS_BYTES); /* after every space of the last one */
        *until_len = ENDS_BYTES;
    }
}

struct flushes {
    size_t count;
    struct slice *firsts, *untils; /* owned, as all of these */
    int64_t *versions, *databases;
    uint8_t (*bytes)[KEY_HEAD_BYTES + ENDS_BYTES];
};

static void flushes_collect(struct flushes *f, const struct memtable *m)
{
    const struct mem_database *d;
    size_t all = 0;
    for (uint32_t i = 0; sparse_next(&m->databases, &i) != NULL; i++) all++;
    *f = (struct flushes){.firsts = mem_new(all * sizeof *f->firsts),
                          .untils = mem_new(all * sizeof *f->untils),
                          .versions = mem_new(all * sizeof *f->versions),
                          .databases = mem_new(all * sizeof *f->databases),
                          .bytes = mem_new(all * sizeof *f->bytes)};
    for (uint32_t i = 0; (d = sparse_next(&m->databases, &i)) != NULL; i++) {
        if (d->flushed == 0) continue;
        uint8_t *first = f->bytes[f->count];
        size_t until_len = 0;
        database_bounds((uint16_t)i, first, first + KEY_HEAD_BYTES, &until_len);
        f->firsts[f->count] = slice_of(first, KEY_HEAD_BYTES);
        f->untils[f->count] = slice_of(first + KEY_HEAD_BYTES, until_len);
        f->versions[f->count] = (int64_t)d->flushed - 1; /* what has its version came after it */
        f->databases[f->count++] = (int64_t)i;
    }
}

static void flushes_free(struct flushes *f)
{
    mem_free(f->firsts);
    mem_free(f->untils);
    mem_free(f->versions);
    mem_free(f->databases);
    mem_free(f->bytes);
}

static void begin_fenced(struct pg_store *s)
{
    pg_begin(s->pg);
    pg_put_i64(s->pg, term_id(s->term));
    pg_put_i64(s->pg, (int64_t)term_epoch(s->term));
}

enum err pg_flush(struct pg_store *s, const struct memtable *m, struct error *e)
{
    struct flushes f;
    flushes_collect(&f, m);
    begin_fenced(s);
    pg_put_slices(s->pg, f.firsts, f.count);
    pg_put_slices(s->pg, f.untils, f.count);
    pg_put_i64s(s->pg, f.versions, f.count);
    pg_put_i64s(s->pg, f.databases, f.count);
    pg_put_i64(s->pg, s->step + 1);
    enum err r = pg_run_again(s->pg, flush_sql, e);
    flushes_free(&f);
    if (r == OK) r = pg_stepped(s, e);
    return r == OK ? pg_store_load(s, e) : r;
}

enum err pg_forget(struct pg_store *s, const struct memtable *m, struct error *e)
{
    size_t count = 0;
    for (const struct mem_range *g = m->forgotten; g != NULL; g = g->next) count++;
    if (count == 0) return OK;
    struct slice *firsts = mem_new(count * sizeof *firsts);
    struct slice *untils = mem_new(count * sizeof *untils);
    count = 0;
    for (const struct mem_range *g = m->forgotten; g != NULL; g = g->next) {
        firsts[count] = g->start;
        untils[count++] = g->end;
    }
    begin_fenced(s);
    pg_put_slices(s->pg, firsts, count);
    pg_put_slices(s->pg, untils, count);
    pg_put_i64(s->pg, (int64_t)m->version_last);
    pg_put_i64(s->pg, s->step + 1);
    enum err r = pg_run_again(s->pg, forget_sql, e);
    mem_free(firsts);
    mem_free(untils);
    if (r == OK) r = pg_stepped(s, e);
    if (r == OK) s->has_garbage = true;
    return r;
}

/* ---- removing ---- */

struct garbage {
    struct buf first, until; /* owned */
    int64_t version;
    bool hides;
};

static enum err remove_rows(struct pg_store *s, const struct garbage *g, bool *is_done,
                            struct store_progress *p, struct error *e)
{
    uint16_t database = key_database(buf_slice(&g->first));
    begin_fenced(s);
    pg_put_bytes(s->pg, buf_slice(&g->first));
    pg_put_bytes(s->pg, buf_slice(&g->until));
    pg_put_i64(s->pg, g->version);
    pg_put_i64(s->pg, CLEAN_ROWS);
    pg_put_i64(s->pg, g->hides ? -1 : (int64_t)database);
    pg_put_i64(s->pg, s->step + 1);
    enum err r = pg_run(s->pg, clean_sql, e);
    if (r == OK) r = pg_stepped(s, e);
    if (r != OK) return r;
    *is_done = pg_i64(s->pg, 0, 1) < CLEAN_ROWS;
    if (g->hides || pg_i64(s->pg, 0, 1) == 0) return OK;
    struct store_counts now = store_counts_get(&s->counts, database);
    now.bytes -= (uint64_t)pg_i64(s->pg, 0, 2);
    store_counts_put(&s->counts, database, &now);
    store_counts_put(&p->counts, database, &now);
    return OK;
}

static enum err remove_garbage(struct pg_store *s, const struct garbage *g, struct error *e)
{
    begin_fenced(s);
    pg_put_bytes(s->pg, buf_slice(&g->first));
    pg_put_bytes(s->pg, buf_slice(&g->until));
    pg_put_i64(s->pg, g->version);
    pg_put_i64(s->pg, s->step + 1);
    enum err r = pg_run_again(s->pg, done_sql, e);
    return r == OK ? pg_stepped(s, e) : r;
}

static enum err find_garbage(struct pg_store *s, struct garbage *g, bool *has_one, struct error *e)
{
    pg_begin(s->pg);
    pg_put_i64(s->pg, term_id(s->term));
    pg_put_i64(s->pg, (int64_t)s->applied);
    enum err r = pg_run_again(s->pg, oldest_sql, e);
    if (r != OK) return r;
    *has_one = pg_rows(s->pg) > 0;
    if (!*has_one) return OK;
    struct slice first = pg_bytes(s->pg, 0, 0);
    struct slice until = pg_bytes(s->pg, 0, 1);
    buf_append(&g->first, first.data, first.len);
    buf_append(&g->until, until.data, until.len);
    buf_require(&g->first);
    buf_require(&g->until);
    g->version = pg_i64(s->pg, 0, 2);
    g->hides = pg_i64(s->pg, 0, 3) != 0;
    return first.len >= KEY_HEAD_BYTES
               ? OK
               : error_set(e, ERR_CORRUPT, "a row of tupled_garbage is invalid");
}

enum err pg_clean(struct store *store, struct store_progress *progress, bool *has_more,
                  struct error *e)
{
    struct pg_store *s = pg_store_of(store);
    struct garbage g = {0};
    struct error ignored;
    bool is_done = false;
    *progress = (struct store_progress){.applied = s->applied};
    *has_more = false;
    buf_init(&g.first);
    buf_init(&g.until);
    enum err r = find_garbage(s, &g, has_more, e);
    if (r == OK && *has_more) r = remove_rows(s, &g, &is_done, progress, e);
    if (r == OK && is_done) r = remove_garbage(s, &g, e);
    if (r == OK) s->has_garbage = *has_more;
    if (r != OK)
        is_done = pg_store_load(s, &ignored) == OK; /* what was removed without an answer */
    pg_texts_clean(s, has_more);
    progress->has_garbage = s->has_garbage || s->texts.has_garbage;
    buf_fini(&g.first);
    buf_fini(&g.until);
    return r;
}
