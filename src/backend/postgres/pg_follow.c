/* pg_follow: see pg_follow.h. A thread looks at the end of the log and gathers transactions; the
 * loop gives them to the owner, some in each poll, and asks for the next look when they are used
 * up. What was read counts only if the connection is the same at the end as when it was found safe.
 */
#include "backend/postgres/pg_follow.h"

#include "backend/postgres/pg_walk.h"
#include "backend/worker.h"
#include "base/clock.h"
#include "base/mem.h"

#define LOOK_US 50000           /* between two looks at the end of the log */
#define AGAIN_US 200000         /* after one that failed */
#define LOOK_BYTES (1u << 20)   /* about so much in one look */
#define TURN_BYTES (128u << 10) /* given to the owner in one poll */

struct pg_follow {
    struct journal base; /* first */
    struct pg_follow_options options;
    struct journal_batch batch; /* never filled */
    struct worker *worker;
    struct job job;
    bool is_looking; /* the job is the thread's */
    bool is_lost;
    int64_t next_us;

    /* The thread's, while is_looking. */
    struct pg *pg;
    uint64_t connection; /* pg_connections, when `beat` was seen; 0 = not yet */
    int64_t beat;
    bool is_sure;   /* a later beat was seen on the same connection */
    uint64_t after; /* up to this version it has been read */
    struct buf transactions;
    bool has_more;
    int64_t begun_us;
    enum err result;
    struct error error;

    /* The loop's, otherwise. */
    struct slice rest; /* of `transactions` */
    bool is_end;       /* after them the owner has all that there was at begun_us */
    int64_t seen_us;
};

static struct pg_follow *follow_of(struct journal *j)
{
    return (struct pg_follow *)j;
}

/* ---- the thread ------------------------------------------------------------------------------ */

static const char beat_sql[] = "SELECT beat FROM tupled_leader WHERE id = $1";

/* May what the log has be taken? */
static enum err make_sure(struct pg_follow *f, struct error *e)
{
    bool is_new = false;
    if (!f->options.is_quorum) return OK;
    enum err r = pg_trust(f->pg, &is_new, e);
    if (r != OK || is_new) f->connection = 0;
    if (r != OK) return r;
    if (f->is_sure && pg_connections(f->pg) == f->connection) return OK;
    pg_begin(f->pg);
    pg_put_i64(f->pg, term_id(f->options.term));
    r = pg_run_again(f->pg, beat_sql, e);
    if (r != OK) return r;
    if (pg_rows(f->pg) != 1) return error_set(e, ERR_CORRUPT, "tupled_leader has no row");
    int64_t beat = pg_i64(f->pg, 0, 0);
    uint64_t connection = pg_connections(f->pg);
    f->is_sure = connection == f->connection && beat != f->beat;
    f->connection = connection;
    f->beat = beat;
    if (f->is_sure) return OK;
    return error_set(e, ERR_WAIT, "waiting for the leader's next heartbeat");
}

/* Transactions after f->after. */
static enum err add_batch(struct pg_follow *f, const struct pg_part *b, struct error *e)
{
    struct slice rest = b->body;
    struct txn_view txn;
    if (b->version_before > f->after) {
        return error_set(e, ERR_STALE, "the log after version %llu is no longer kept",
                         (unsigned long long)f->after);
    }
    for (bool is_first = true; rest.len > 0; is_first = false) {
        const uint8_t *begin = rest.data;
        if (!txn_read(&rest, &txn)) {
            return error_set(e, ERR_CORRUPT, "cannot decode batch %lld of tupled_log",
                             (long long)b->batch);
        }
        if (is_first && pg_is_of_lost_history(f->after, b, txn.version)) {
            return error_set(e, ERR_STALE, "version %llu was lost when PostgreSQL failed over",
                             (unsigned long long)f->after);
        }
        if (txn.version <= f->after) continue;
        buf_append(&f->transactions, begin, (size_t)(rest.data - begin));
    }
    f->after = b->last_version;
    return OK;
}

static enum err read_log(struct pg_follow *f, struct error *e)
{
    struct pg_walk w;
    bool has_one = true;
    enum err r = OK;
    pg_walk_init(&w, f->pg, term_id(f->options.term), f->after);
    while (r == OK && f->transactions.len < LOOK_BYTES) {
        r = pg_walk_batch(&w, &has_one, e);
        if (r != OK || !has_one) break;
        r = add_batch(f, &w.batch, e);
    }
    f->has_more = has_one;
    pg_walk_fini(&w);
    if (r == OK && f->transactions.is_failed) {
        r = error_set(e, ERR_NOMEM, "out of memory for a part of the log");
    }
    return r;
}

/* Read by another connection in the middle, or while PostgreSQL did not wait for standbys: it is
 * read again when that is sure. */
static enum err is_sure_still(struct pg_follow *f, struct error *e)
{
    bool is_new = false;
    if (!f->options.is_quorum) return OK;
    if (pg_connections(f->pg) != f->connection) return error_set(e, ERR_WAIT, "connected again");
    enum err r = pg_trust(f->pg, &is_new, e);
    if (r == OK && !is_new) return OK;
    f->connection = 0;
    return r != OK ? r : error_set(e, ERR_WAIT, "PostgreSQL's configuration has changed");
}

static void look(struct job *job)
{
    struct pg_follow *f = (struct pg_follow *)((char *)job - offsetof(struct pg_follow, job));
    uint64_t after = f->after;
    f->has_more = false;
    buf_clear(&f->transactions, LOOK_BYTES);
    f->begun_us = clock_mono_us();
    f->result = make_sure(f, &f->error);
    if (f->result == OK) f->result = read_log(f, &f->error);
    if (f->result == OK) f->result = is_sure_still(f, &f->error);
    if (f->result == OK) return;
    f->after = after;
    buf_clear(&f->transactions, LOOK_BYTES);
}

/* ---- the loop -------------------------------------------------------------------------------- */

static void lose(struct pg_follow *f, const struct error *e)
{
    if (f->is_lost) return;
    f->is_lost = f->base.is_failed = true;
    f->base.owner.on_lost(&f->base, e);
}

static void looked(struct job *job)
{
    struct pg_follow *f = (struct pg_follow *)((char *)job - offsetof(struct pg_follow, job));
    int64_t now_us = clock_mono_us();
    f->is_looking = false;
    f->rest = buf_slice(&f->transactions);
    f->is_end = f->result == OK && !f->has_more;
    if (f->result == OK) {
        f->next_us = f->has_more ? now_us : now_us + LOOK_US;
    } else if (f->result == ERR_STALE || f->result == ERR_CORRUPT) {
        lose(f, &f->error);
    } else {
        f->next_us = now_us + AGAIN_US;
    }
}

/* Some of what was read to the owner. True when there was something. */
static bool bring(struct pg_follow *f)
{
    struct journal *j = &f->base;
    struct txn_view txn;
    const uint8_t *begin = f->rest.data;
    bool has_any = false;
    while (!f->is_lost && f->rest.len > 0 && (size_t)(f->rest.data - begin) < TURN_BYTES) {
        struct error e;
        enum err r = txn_read(&f->rest, &txn)
                         ? j->owner.on_followed(j, &txn, &e)
                         : error_set(&e, ERR_CORRUPT, "cannot decode a part of tupled_log");
        if (r != OK) {
            lose(f, &e);
            break;
        }
        j->version_last = j->synced = j->acknowledged = txn.version;
        __atomic_store_n(f->options.brought, txn.version, __ATOMIC_RELEASE);
        has_any = true;
    }
    if (f->rest.len > 0 && !f->is_lost) j->owner.wake(j->owner.wake_arg);
    if (f->rest.len == 0 && f->is_end) {
        f->seen_us = f->begun_us;
        f->is_end = false;
    }
    return has_any;
}

static void look_if_due(struct pg_follow *f)
{
    if (f->is_looking || f->is_lost || f->rest.len > 0 || clock_mono_us() < f->next_us) return;
    f->is_looking = true;
    worker_post(f->worker, &f->job);
}

static bool follow_poll(struct journal *journal)
{
    struct pg_follow *f = follow_of(journal);
    worker_poll(f->worker);
    if (f->is_looking) return false;
    bool has_any = bring(f);
    if (f->has_more) look_if_due(f);
    return has_any;
}

static void follow_tick(struct journal *journal, int64_t time_ms)
{
    (void)time_ms;
    look_if_due(follow_of(journal));
}

static enum err follow_start(struct journal *journal, struct journal_replay *r, struct error *e)
{
    struct pg_follow *f = follow_of(journal);
    const struct journal_owner *owner = &journal->owner;
    f->worker = worker_new(&(struct worker_options){.name = "follow",
                                                    .threads = owner->is_inline ? 0 : 1,
                                                    .wake = owner->wake,
                                                    .arg = owner->wake_arg});
    if (f->worker == NULL) return error_set(e, ERR_IO, "cannot start a thread");
    f->after = r->after;
    journal->filling = &f->batch;
    journal->version_last = journal->synced = journal->acknowledged = r->after;
    journal->versions_low = UINT64_MAX;
    journal->is_always = journal->is_busy = true;
    __atomic_store_n(f->options.brought, r->after, __ATOMIC_RELEASE);
    r->time_ms = 0;
    r->version_next = r->after + 1;
    return OK;
}

/* ---- what a node that follows does not do ---------------------------------------------------- */

static enum err follow_reserve(struct journal *j, size_t bytes, struct error *e)
{
    (void)j;
    (void)bytes;
    return error_set(e, ERR_TRYAGAIN, "this node is not the leader");
}

static enum err follow_versions(struct journal *j, uint64_t next, struct error *e)
{
    return follow_reserve(j, next, e);
}

static void follow_nothing(struct journal *j)
{
    (void)j;
}

static void follow_release(struct journal *j, uint64_t applied, int64_t time_ms)
{
    (void)j;
    (void)applied;
    (void)time_ms;
}

/* History is the leader's to tell. */
static uint64_t follow_oldest(const struct journal *j)
{
    return j->version_last;
}

static bool follow_read_begin(struct journal *j, struct journal_read *r)
{
    (void)j;
    (void)r;
    return false;
}

static void follow_read(struct journal *j, struct journal_read *r)
{
    (void)j;
    (void)r;
}

static void follow_stats(const struct journal *j, struct journal_stats *out)
{
    (void)j;
    *out = (struct journal_stats){0};
}

/* ---- life ------------------------------------------------------------------------------------ */

static void follow_abandon(struct journal *journal)
{
    struct pg_follow *f = follow_of(journal);
    if (f->worker != NULL) worker_free(f->worker);
    pg_free(f->pg);
    term_free(f->options.term);
    buf_fini(&f->transactions);
    mem_free(f);
}

static enum err follow_close(struct journal *journal, uint64_t version_next, struct error *e)
{
    (void)version_next;
    (void)e;
    follow_abandon(journal);
    return OK;
}

static const struct journal_ops follow_ops = {
    .start = follow_start,
    .reserve = follow_reserve,
    .submit = follow_nothing,
    .want_sync = follow_nothing,
    .settle = follow_nothing,
    .poll = follow_poll,
    .tick = follow_tick,
    .release = follow_release,
    .versions_reserve = follow_versions,
    .oldest = follow_oldest,
    .read_begin = follow_read_begin,
    .read_run = follow_read,
    .read_end = follow_read,
    .stats = follow_stats,
    .close = follow_close,
    .abandon = follow_abandon,
};

struct journal *pg_follow_new(const struct pg_follow_options *options)
{
    struct pg_follow *f = mem_new(sizeof *f);
    f->base.ops = &follow_ops;
    f->options = *options;
    f->pg = term_connect(options->term, "follow", TERM_READ);
    f->job = (struct job){.run = look, .done = looked};
    buf_init(&f->transactions);
    return &f->base;
}

int64_t pg_follow_seen_us(const struct journal *j)
{
    return ((const struct pg_follow *)j)->seen_us;
}
