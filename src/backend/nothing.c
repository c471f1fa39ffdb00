/* nothing: both tables of functions: reads find nothing, writes and copies are refused, all else
 * does nothing. */
#include "backend/nothing.h"

#include "backend/text.h"
#include "base/mem.h"

struct nothing_journal {
    struct journal base; /* first */
    struct journal_batch batch;
};

static enum err refuse(struct error *e)
{
    return error_set(e, ERR_TRYAGAIN, "this node is not the leader");
}

/* ---- the journal ---- */

static enum err journal_begin(struct journal *j, struct journal_replay *r, struct error *e)
{
    struct nothing_journal *n = (struct nothing_journal *)j;
    (void)e;
    j->filling = &n->batch;
    j->versions_low = UINT64_MAX;
    j->is_always = true;
    r->version_next = 1;
    return OK;
}

static enum err journal_reserve(struct journal *j, size_t bytes, struct error *e)
{
    (void)j;
    (void)bytes;
    return refuse(e);
}

static void journal_nothing(struct journal *j)
{
    (void)j;
}

static bool journal_poll(struct journal *j)
{
    (void)j;
    return false;
}

static void journal_tick(struct journal *j, int64_t time_ms)
{
    (void)j;
    (void)time_ms;
}

static void journal_release(struct journal *j, uint64_t applied, int64_t time_ms)
{
    (void)j;
    (void)applied;
    (void)time_ms;
}

static enum err journal_versions(struct journal *j, uint64_t next, struct error *e)
{
    (void)j;
    (void)next;
    return refuse(e);
}

static uint64_t journal_oldest(const struct journal *j)
{
    (void)j;
    return 0;
}

static bool journal_read_begin(struct journal *j, struct journal_read *r)
{
    (void)j;
    (void)r;
    return false;
}

static void journal_read_part(struct journal *j, struct journal_read *r)
{
    (void)j;
    (void)r;
}

static void journal_stats(const struct journal *j, struct journal_stats *out)
{
    (void)j;
    *out = (struct journal_stats){0};
}

static enum err journal_close(struct journal *j, uint64_t version_next, struct error *e)
{
    (void)version_next;
    (void)e;
    mem_free(j);
    return OK;
}

static void journal_abandon(struct journal *j)
{
    mem_free(j);
}

static const struct journal_ops journal_ops = {
    .start = journal_begin,
    .reserve = journal_reserve,
    .submit = journal_nothing,
    .want_sync = journal_nothing,
    .settle = journal_nothing,
    .poll = journal_poll,
    .tick = journal_tick,
    .release = journal_release,
    .versions_reserve = journal_versions,
    .oldest = journal_oldest,
    .read_begin = journal_read_begin,
    .read_run = journal_read_part,
    .read_end = journal_read_part,
    .stats = journal_stats,
    .close = journal_close,
    .abandon = journal_abandon,
};

/* ---- the store ---- */

static void store_state(struct store *s, struct store_progress *out)
{
    (void)s;
    *out = (struct store_progress){0};
}

static enum err store_aside_read(struct store *s,
                                 void (*each)(void *arg, const struct mutation *mu,
                                              uint64_t version),
                                 void *arg, struct error *e)
{
    (void)s;
    (void)each;
    (void)arg;
    (void)e;
    return OK;
}

static enum err refuse_apply(struct store *s, const struct memtable *m, struct store_progress *out,
                             struct error *e)
{
    (void)s;
    (void)m;
    (void)out;
    return refuse(e);
}

static enum err clean_nothing(struct store *s, struct store_progress *out, bool *has_more,
                              struct error *e)
{
    (void)s;
    (void)out;
    (void)e;
    *has_more = false;
    return OK;
}

static enum err fill_nothing(struct store *s, bool *is_filling, struct error *e)
{
    (void)s;
    (void)e;
    *is_filling = false;
    return OK;
}

static const struct store_ops store_ops;

static enum err reader_open(struct store *s, struct store_reader **out, struct error *e)
{
    (void)s;
    (void)e;
    struct store_reader *r = mem_new(sizeof *r);
    r->ops = &store_ops;
    *out = r;
    return OK;
}

static void reader_close(struct store_reader *r)
{
    mem_free(r);
}

static enum err get_nothing(struct store_reader *r, struct slice key, bool may_wait,
                            struct entry *out, struct error *e)
{
    (void)r;
    (void)key;
    (void)may_wait;
    (void)e;
    *out = (struct entry){0};
    return OK;
}

static void reader_nothing(struct store_reader *r)
{
    (void)r;
}

static enum err get_many_nothing(struct store_reader *r, const struct slice *keys, size_t count,
                                 struct arena *arena, struct entry *out, struct error *e)
{
    (void)r;
    (void)keys;
    (void)arena;
    (void)e;
    for (size_t i = 0; i < count; i++) out[i] = (struct entry){0};
    return OK;
}

static enum err pin_nothing(struct store_reader *r, struct error *e)
{
    (void)r;
    (void)e;
    return OK;
}

static enum err fetch_nothing(struct store_reader *r, const struct store_fetch *f,
                              struct store_chunk *out, struct error *e)
{
    (void)r;
    (void)f;
    (void)e;
    out->count = 0;
    out->is_last = true;
    return OK;
}

static enum err verify_nothing(struct store_reader *r, struct store_found *out,
                               const bool *is_stopping, struct error *e)
{
    (void)r;
    (void)out;
    (void)is_stopping;
    (void)e;
    return OK;
}

static uint64_t pages_none(struct store_reader *r)
{
    (void)r;
    return 0;
}

static enum err refuse_copy(struct store_reader *r, const char *path, const bool *is_stopping,
                            struct error *e)
{
    (void)r;
    (void)path;
    (void)is_stopping;
    return refuse(e);
}

static void refuse_search(struct store_reader *r, struct text_request *q, int64_t deadline_us)
{
    (void)r;
    (void)deadline_us;
    q->percent = 0;
    q->result = refuse(&q->error);
}

static void store_nothing(struct store *s)
{
    (void)s;
}

static void store_free(struct store *s)
{
    mem_free(s);
}

static const struct store_ops store_ops = {
    .state = store_state,
    .aside_read = store_aside_read,
    .apply = refuse_apply,
    .clean = clean_nothing,
    .fill = fill_nothing,
    .reader_open = reader_open,
    .reader_close = reader_close,
    .get = get_nothing,
    .get_end = reader_nothing,
    .get_many = get_many_nothing,
    .pin = pin_nothing,
    .unpin = reader_nothing,
    .fetch = fetch_nothing,
    .verify = verify_nothing,
    .pages = pages_none,
    .copy = refuse_copy,
    .search = refuse_search,
    .give_up = store_nothing,
    .close = store_free,
};

void nothing_open(struct journal **journal, struct store **store)
{
    struct nothing_journal *j = mem_new(sizeof *j);
    struct store *s = mem_new(sizeof *s);
    j->base.ops = &journal_ops;
    s->ops = &store_ops;
    *journal = &j->base;
    *store = s;
}
