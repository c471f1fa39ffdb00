#include "backend/postgres/pg_store_int.h"

#include "backend/text.h"
#include "base/bytes.h"
#include "base/htab.h"
#include "base/mem.h"

#define SLICE_BYTES (2u << 20)

static const char applied_sql[] =
    "SELECT applied, (SELECT count(*) FROM tupled_garbage g WHERE g.id = $1) "
    "FROM tupled_applied WHERE id = $1";
static const char counts_sql[] =
    "SELECT database, entries, expiring, bytes FROM tupled_count WHERE id = $1";

int64_t pg_entry_checksum(struct slice key, uint64_t version, int64_t expiry_ms, struct slice value)
{
    uint8_t head[32];
    put_u64(head, hash_bytes(key));
    put_u64(head + 8, version);
    put_u64(head + 16, (uint64_t)expiry_ms);
    put_u64(head + 24, hash_bytes(value));
    return (int64_t)hash_bytes(slice_of(head, sizeof head));
}

enum err pg_fenced_off(struct pg_store *s, struct error *e)
{
    term_lose(s->term);
    return error_set(e, ERR_IO, "another node leads now");
}

static enum err with_id(struct pg_store *s, const char *sql, struct error *e)
{
    pg_begin(s->pg);
    pg_put_i64(s->pg, term_id(s->term));
    return pg_run_again(s->pg, sql, e);
}

enum err pg_store_load(struct pg_store *s, struct error *e)
{
    enum err r = with_id(s, applied_sql, e);
    if (r != OK) return r;
    if (pg_rows(s->pg) != 1) {
        return error_set(e, ERR_CORRUPT, "tupled_applied has no row of engine %lld",
                         (long long)term_id(s->term));
    }
    s->applied = (uint64_t)pg_i64(s->pg, 0, 0);
    s->has_garbage = pg_i64(s->pg, 0, 1) > 0;
    r = with_id(s, counts_sql, e);
    if (r != OK) return r;
    store_counts_fini(&s->counts);
    for (size_t i = 0; i < pg_rows(s->pg); i++) {
        struct store_counts c = {.entries = (uint64_t)pg_i64(s->pg, i, 1),
                                 .expiring = (uint64_t)pg_i64(s->pg, i, 2),
                                 .bytes = (uint64_t)pg_i64(s->pg, i, 3)};
        store_counts_put(&s->counts, (uint16_t)pg_i64(s->pg, i, 0), &c);
    }
    return OK;
}

/* ---- what a store can do ---- */

static void pgs_state(struct store *store, struct store_progress *out)
{
    struct pg_store *s = pg_store_of(store);
    *out = (struct store_progress){.applied = s->applied, .has_garbage = s->has_garbage};
    store_counts_merge(&out->counts, &s->counts);
}

static enum err pgs_aside_read(struct store *store,
                               void (*each)(void *arg, const struct mutation *mu, uint64_t version),
                               void *arg, struct error *e)
{
    (void)store;
    (void)each;
    (void)arg;
    (void)e;
    return OK; /* nothing is put aside: PostgreSQL takes any row, or none */
}

static enum err pgs_fill(struct store *store, bool *is_filling, struct error *e)
{
    (void)store;
    (void)e;
    *is_filling = false;
    return OK;
}

static enum err pgs_copy(struct store_reader *reader, const char *path, const bool *is_stopping,
                         struct error *e)
{
    (void)reader;
    (void)is_stopping;
    return error_set(e, ERR_SYNTAX, "no copy in %s: with PostgreSQL, back up its database", path);
}

static void pgs_search(struct store_reader *reader, struct text_request *q, int64_t deadline_us)
{
    (void)reader;
    (void)deadline_us;
    q->percent = 0;
    q->result = error_set(&q->error, ERR_INDEXING, "text indexes are not kept with PostgreSQL yet");
}

static void pgs_give_up(struct store *store)
{
    term_give_up(pg_store_of(store)->term);
}

static void pgs_close(struct store *store)
{
    struct pg_store *s = pg_store_of(store);
    INVARIANT(s->readers == NULL);
    pg_free(s->pg);
    store_counts_fini(&s->counts);
    pthread_mutex_destroy(&s->lock);
    mem_free(s);
}

static const struct store_ops pgs_ops = {
    .state = pgs_state,
    .aside_read = pgs_aside_read,
    .apply = pg_apply,
    .clean = pg_clean,
    .fill = pgs_fill,
    .reader_open = pg_reader_open,
    .reader_close = pg_reader_close,
    .get = pg_get,
    .get_end = pg_get_end,
    .get_many = pg_get_many,
    .pin = pg_pin,
    .unpin = pg_unpin,
    .fetch = pg_fetch,
    .verify = pg_verify,
    .pages = pg_pages,
    .copy = pgs_copy,
    .search = pgs_search,
    .give_up = pgs_give_up,
    .close = pgs_close,
};

enum err pg_store_open(const struct pg_store_options *options, struct store **out, struct error *e)
{
    struct pg_store *s = mem_new(sizeof *s);
    s->base.ops = &pgs_ops;
    s->term = options->term;
    s->slice_bytes = options->slice_bytes != 0 ? options->slice_bytes : SLICE_BYTES;
    s->pg = term_connect(s->term, "store", TERM_WRITE);
    pthread_mutex_init(&s->lock, NULL);
    enum err r = pg_store_load(s, e);
    *out = &s->base;
    if (r == OK) return OK;
    pgs_close(&s->base);
    *out = NULL;
    return r;
}
