/* late_store: see late.h. Of its own it has nothing: all that lasts is in the store behind it. */
#include "base/mem.h"
#include "late/late_int.h"

struct late_store {
    struct store base; /* first */
    struct late *late;
    struct store *inner;
};

struct late_reader {
    struct store_reader base; /* first */
    struct late *late;
    struct store_reader *inner;
};

static struct late_store *store_of(struct store *s)
{
    return (struct late_store *)s;
}

static struct late_reader *reader_of(struct store_reader *r)
{
    return (struct late_reader *)r;
}

/* Before a read that may wait, or may not. */
static enum err before_read(struct late *l, bool may_wait, struct error *e)
{
    if (!may_wait) {
        if (!late_happens(l, l->options.wait_percent)) return OK;
        late_count(l, &l->figures.waits);
        return error_set(e, ERR_WAIT, "it would have to wait");
    }
    late_count(l, &l->figures.reads);
    if (!late_delay(l)) return error_set(e, ERR_IO, "the store is given up");
    if (!late_happens(l, l->options.read_fail_percent)) return OK;
    late_count(l, &l->figures.read_failures);
    return error_set(e, ERR_IO, "a read failed, as the test wants it");
}

static void late_state(struct store *s, struct store_progress *out)
{
    struct store *inner = store_of(s)->inner;
    inner->ops->state(inner, out);
}

static enum err late_aside_read(struct store *s,
                                void (*each)(void *arg, const struct mutation *mu,
                                             uint64_t version),
                                void *arg, struct error *e)
{
    struct store *inner = store_of(s)->inner;
    return inner->ops->aside_read(inner, each, arg, e);
}

static enum err late_apply(struct store *s, const struct memtable *m,
                           struct store_progress *progress, struct error *e)
{
    struct late_store *k = store_of(s);
    struct late *l = k->late;
    bool goes_on = late_delay(l);
    if (goes_on && !late_happens(l, l->options.apply_fail_percent)) {
        return store_apply(k->inner, m, progress, e);
    }
    late_count(l, &l->figures.apply_failures);
    k->inner->ops->state(k->inner, progress);
    progress->aside = (struct store_aside){0};
    progress->damage.code = OK;
    return error_set(e, ERR_IO, "an apply failed, as the test wants it");
}

static enum err late_clean(struct store *s, struct store_progress *progress, bool *has_more,
                           struct error *e)
{
    return store_clean(store_of(s)->inner, progress, has_more, e);
}

static enum err late_fill(struct store *s, bool *is_filling, struct error *e)
{
    return store_fill(store_of(s)->inner, is_filling, e);
}

static enum err late_reader_open(struct store *s, struct store_reader **out, struct error *e)
{
    struct late_store *k = store_of(s);
    struct store_reader *inner = NULL;
    *out = NULL;
    enum err r = store_reader_open(k->inner, &inner, e);
    if (r != OK) return r;
    struct late_reader *reader = mem_new(sizeof *reader);
    *reader = (struct late_reader){.base = {.ops = s->ops}, .late = k->late, .inner = inner};
    *out = &reader->base;
    return OK;
}

static void late_reader_close(struct store_reader *r)
{
    store_reader_close(reader_of(r)->inner);
    mem_free(r);
}

static enum err late_get(struct store_reader *r, struct slice key, bool may_wait, struct entry *out,
                         struct error *e)
{
    *out = (struct entry){0};
    enum err result = before_read(reader_of(r)->late, may_wait, e);
    return result == OK ? store_get(reader_of(r)->inner, key, may_wait, out, e) : result;
}

static void late_get_end(struct store_reader *r)
{
    store_get_end(reader_of(r)->inner);
}

static enum err late_get_many(struct store_reader *r, const struct slice *keys, size_t count,
                              struct arena *arena, struct entry *out, struct error *e)
{
    enum err result = before_read(reader_of(r)->late, true, e);
    if (result != OK) return result;
    return store_get_many(reader_of(r)->inner, keys, count, arena, out, e);
}

static enum err late_pin(struct store_reader *r, struct error *e)
{
    return store_pin(reader_of(r)->inner, e);
}

static void late_unpin(struct store_reader *r)
{
    store_unpin(reader_of(r)->inner);
}

static enum err late_fetch(struct store_reader *r, const struct store_fetch *f,
                           struct store_chunk *out, struct error *e)
{
    enum err result = before_read(reader_of(r)->late, f->may_wait, e);
    return result == OK ? store_fetch(reader_of(r)->inner, f, out, e) : result;
}

static enum err late_verify(struct store_reader *r, struct store_found *out,
                            const bool *is_stopping, struct error *e)
{
    struct store_reader *inner = reader_of(r)->inner;
    return inner->ops->verify(inner, out, is_stopping, e);
}

static uint64_t late_pages(struct store_reader *r)
{
    struct store_reader *inner = reader_of(r)->inner;
    return inner->ops->pages(inner);
}

static enum err late_copy(struct store_reader *r, const char *path, const bool *is_stopping,
                          struct error *e)
{
    struct store_reader *inner = reader_of(r)->inner;
    return inner->ops->copy(inner, path, is_stopping, e);
}

static void late_search(struct store_reader *r, struct text_request *q, int64_t deadline_us)
{
    struct store_reader *inner = reader_of(r)->inner;
    (void)late_delay(reader_of(r)->late);
    inner->ops->search(inner, q, deadline_us);
}

static void late_give_up(struct store *s)
{
    struct late_store *k = store_of(s);
    pthread_mutex_lock(&k->late->lock);
    k->late->is_given_up = true;
    pthread_cond_broadcast(&k->late->given_up);
    pthread_mutex_unlock(&k->late->lock);
    k->inner->ops->give_up(k->inner);
}

static void late_close(struct store *s)
{
    store_close(store_of(s)->inner);
    mem_free(s);
}

static void late_rest(struct store *s)
{
    struct store *inner = store_of(s)->inner;
    inner->ops->rest(inner);
}

static const struct store_ops late_ops = {
    .state = late_state,
    .aside_read = late_aside_read,
    .apply = late_apply,
    .clean = late_clean,
    .fill = late_fill,
    .rest = late_rest,
    .reader_open = late_reader_open,
    .reader_close = late_reader_close,
    .get = late_get,
    .get_end = late_get_end,
    .get_many = late_get_many,
    .pin = late_pin,
    .unpin = late_unpin,
    .fetch = late_fetch,
    .verify = late_verify,
    .pages = late_pages,
    .copy = late_copy,
    .search = late_search,
    .give_up = late_give_up,
    .close = late_close,
};

struct store *late_store_new(struct late *l, struct store *inner)
{
    struct late_store *k = mem_new(sizeof *k);
    *k = (struct late_store){.base = {.ops = &late_ops}, .late = l, .inner = inner};
    return &k->base;
}
