/* pg_store: opening and closing, and the table of functions, twice: of a node that leads, and of
 * one that follows, which writes no rows. The calls themselves are in pg_read.c, pg_apply.c,
 * pg_clean.c, pg_copy.c and pg_texts.c. */
#include "backend/postgres/pg_store_int.h"

#include "backend/text.h"
#include "base/mem.h"

#define SLICE_BYTES (2u << 20)

/* ---- what a store can do ---- */

static void pgs_state(struct store *store, struct store_progress *out)
{
    struct pg_store *s = pg_store_of(store);
    bool has_garbage = !s->is_following && (s->has_garbage || s->texts.has_garbage);
    *out = (struct store_progress){
        .applied = s->applied, .has_garbage = has_garbage, .is_filling = s->texts.is_filling};
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
    return pg_texts_fill(pg_store_of(store), is_filling, e);
}

static void pgs_search(struct store_reader *reader, struct text_request *q, int64_t deadline_us)
{
    pg_texts_search(pg_reader_of(reader), q, deadline_us);
}

static void pgs_give_up(struct store *store)
{
    struct pg_store *s = pg_store_of(store);
    __atomic_store_n(&s->is_given_up, true, __ATOMIC_RELAXED);
    term_give_up(s->term);
    pg_texts_give_up(s);
}

static void pgs_close(struct store *store)
{
    struct pg_store *s = pg_store_of(store);
    pg_texts_close(s);
    INVARIANT(s->readers == NULL);
    pg_free(s->pg);
    store_counts_fini(&s->counts);
    pthread_mutex_destroy(&s->lock);
    mem_free(s);
}

static enum err no_clean(struct store *store, struct store_progress *progress, bool *has_more,
                         struct error *e)
{
    (void)store;
    (void)e;
    *progress = (struct store_progress){0};
    *has_more = false;
    return OK;
}

/* Of both, but for what writes rows. */
#define PGS_OPS(apply_rows, clean_rows)                                                            \
    {                                                                                              \
        .state = pgs_state, .aside_read = pgs_aside_read, .apply = apply_rows,                     \
        .clean = clean_rows, .fill = pgs_fill, .reader_open = pg_reader_open,                      \
        .reader_close = pg_reader_close, .get = pg_get, .get_end = pg_get_end,                     \
        .get_many = pg_get_many, .pin = pg_pin, .unpin = pg_unpin, .fetch = pg_fetch,              \
        .verify = pg_verify, .pages = pg_pages, .copy = pg_copy, .search = pgs_search,             \
        .give_up = pgs_give_up, .close = pgs_close,                                                \
    }

static const struct store_ops leading_ops = PGS_OPS(pg_apply, pg_clean);
static const struct store_ops following_ops = PGS_OPS(pg_follow_apply, no_clean);

uint64_t *pg_store_brought(struct store *store)
{
    return &pg_store_of(store)->brought;
}

enum err pg_store_open(const struct pg_store_options *options, struct store **out, struct error *e)
{
    struct pg_store *s = mem_new(sizeof *s);
    s->is_following = options->is_following;
    s->base.ops = s->is_following ? &following_ops : &leading_ops;
    s->base.is_remote = true;
    s->term = options->term;
    s->nearby = options->nearby;
    s->text_ops = options->text_ops;
    s->slice_bytes = options->slice_bytes != 0 ? options->slice_bytes : SLICE_BYTES;
    s->pg = term_connect(s->term, "store", s->is_following ? TERM_READ : TERM_WRITE);
    pthread_mutex_init(&s->lock, NULL);
    enum err r = pg_store_load(s, e);
    if (r == OK) r = pg_texts_open(s, options->texts_path, e);
    *out = &s->base;
    if (r == OK) return OK;
    pgs_close(&s->base);
    *out = NULL;
    return r;
}
