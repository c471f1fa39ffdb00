/* pg_journal: the loop's side: filling and sealing batches, the lease, blocks of versions, what may
 * be let go. Up to two appends are under way (their statements: pg_append.c); they end in the order
 * in which they were sent, and after one failed no later one is acknowledged. */
#include "backend/postgres/pg_journal_int.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

#define BATCH_KEEP_BYTES (4u << 20)
#define TRANSACTION_BYTES_MAX (256u << 20)
#define SEALED_BYTES_MAX (16u << 20) /* then writers wait */
#define VERSIONS_BLOCK (1ULL << 24)
#define RETRY_US 1000000
#define LET_GO_US 1000000
#define LEASE_LOG_US 10000000 /* between two lines that say the same */

/* ---- filling and sealing ---- */

static struct pg_batch *batch_new(struct pg_journal *j)
{
    struct pg_batch *b = j->unused;
    if (b != NULL) {
        j->unused = b->next;
        buf_clear(&b->base.bytes, BATCH_KEEP_BYTES);
    } else {
        b = mem_new(sizeof *b);
    }
    b->next = NULL;
    b->base.first_version = b->base.last_version = 0;
    b->base.transactions = 0;
    return b;
}

static void set_room(struct pg_journal *j, size_t bytes)
{
    j->base.room = j->base.is_failed || j->base.is_disk_full ? 0 : bytes;
}

static void seal(struct pg_journal *j)
{
    struct pg_batch *b = (struct pg_batch *)j->base.filling;
    if (b->base.bytes.is_failed) die("out of memory for a journal batch");
    b->number = j->next_number++;
    b->version_before = j->version_sealed;
    j->version_sealed = b->base.last_version;
    j->sealed_bytes += b->base.bytes.len;
    j->sealed_transactions += b->base.transactions;
    *j->sealed_end = b;
    j->sealed_end = &b->next;
    j->base.filling = &batch_new(j)->base;
    set_room(j, pg_part_bytes(j));
}

static enum err pgj_reserve(struct journal *journal, size_t bytes, struct error *e)
{
    struct pg_journal *j = pg_journal_of(journal);
    if (j->base.is_failed) return error_set(e, ERR_IO, "another node is the leader now");
    if (bytes > TRANSACTION_BYTES_MAX) {
        return error_set(e, ERR_LIMIT, "a transaction of %zu bytes is larger than %u", bytes,
                         TRANSACTION_BYTES_MAX);
    }
    if (j->base.is_disk_full) return error_set(e, ERR_DISK_FULL, "disk full on PostgreSQL's side");
    if (j->sealed_bytes > 0 && j->sealed_bytes + journal_filled(journal) > SEALED_BYTES_MAX) {
        return error_set(e, ERR_WAIT, "PostgreSQL is busy");
    }
    if (j->base.filling->transactions > 0) seal(j);
    size_t room = pg_part_bytes(j);
    set_room(j, bytes > room ? bytes : room);
    journal_submit(journal);
    return OK;
}

/* ---- appending ---- */

static void tell_lost(struct pg_journal *j, const struct error *e)
{
    j->base.is_failed = true;
    set_room(j, 0);
    if (j->is_lost_told) return;
    j->is_lost_told = true;
    j->base.owner.on_lost(&j->base, e);
}

static void fail(struct pg_journal *j, const struct error *e)
{
    if (j->base.is_failed) return;
    j->base.is_failed = true;
    set_room(j, 0);
    j->base.owner.on_fatal(&j->base, e);
}

static void batches_unuse(struct pg_journal *j, struct append_job *w)
{
    while (w->batches != NULL) {
        struct pg_batch *b = w->batches;
        w->batches = b->next;
        b->next = j->unused;
        j->unused = b;
        j->batches++;
    }
}

static void append_done(struct job *job)
{
    struct append_job *w = (struct append_job *)job;
    struct pg_journal *j = w->journal;
    uint64_t last = j->base.synced;
    for (const struct pg_batch *b = w->batches; b != NULL; b = b->next) last = b->base.last_version;
    batches_unuse(j, w);
    j->oldest_append = (j->oldest_append + 1) % 2;
    j->under_way--;
    j->base.is_busy = false;
    if (w->result == ERR_TRYAGAIN) {
        tell_lost(j, &w->error);
        return;
    }
    if (w->result != OK) {
        fail(j, &w->error);
        return;
    }
    if (j->base.is_failed) return; /* what came before it may be missing */
    j->told = w->transactions;
    j->sent_ahead += w->was_sent_ahead;
    j->base.synced = j->base.acknowledged = last;
    j->bytes += w->bytes;
    j->durable_bytes += w->bytes;
    j->syncs++;
    j->sync_us += (uint64_t)w->took_us;
    histogram_add(&j->sync_times, w->took_us);
    j->base.owner.on_room(&j->base);
}

/* A second append is sent ahead as soon as it has as many transactions as the last one that was
 * acknowledged: the clients of those have written again by then. Earlier, batches would get ever
 * smaller; PostgreSQL's work for each is the same. */
static void pgj_submit(struct journal *journal)
{
    struct pg_journal *j = pg_journal_of(journal);
    if (j->base.is_busy || j->base.is_failed) return;
    uint64_t transactions = j->sealed_transactions + j->base.filling->transactions;
    if (transactions == 0 || (j->under_way > 0 && transactions < j->told)) return;
    if (j->base.filling->transactions > 0) seal(j);
    struct append_job *w = &j->appends[(j->oldest_append + j->under_way) % 2];
    w->batches = j->sealed;
    w->transactions = transactions;
    w->posted_us = clock_mono_us();
    j->appended_bytes += j->sealed_bytes;
    j->sealed = NULL;
    j->sealed_end = &j->sealed;
    j->sealed_bytes = j->sealed_transactions = 0;
    j->under_way++;
    j->base.is_busy = j->under_way == 2;
    if (j->under_way == 2) {
        __atomic_store_n(&j->ahead, w, __ATOMIC_RELEASE);
        (void)eventfd_write(j->ahead_fd, 1);
    }
    worker_post(j->appender, &w->job);
}

/* Nothing is acknowledged before it is safe. */
static void pgj_want_sync(struct journal *journal)
{
    (void)journal;
}

static void pgj_settle(struct journal *journal)
{
    struct pg_journal *j = pg_journal_of(journal);
    while (!j->base.is_failed && (j->under_way > 0 || j->base.synced < j->base.version_last)) {
        pgj_submit(journal);
        worker_drain(j->appender);
        worker_poll(j->appender);
    }
}

static bool pgj_poll(struct journal *journal)
{
    struct pg_journal *j = pg_journal_of(journal);
    bool has_appended = worker_poll(j->appender);
    worker_poll(j->leaser);
    worker_poll(j->background);
    worker_poll(j->sweeper);
    return has_appended;
}

/* ---- the lease ---- */

static void lease_run(struct job *job)
{
    struct small_job *k = (struct small_job *)job;
    k->result = term_renew(k->journal->term, &k->error);
}

static void lease_done(struct job *job)
{
    struct small_job *k = (struct small_job *)job;
    struct pg_journal *j = k->journal;
    int64_t now_us = clock_mono_us();
    j->is_leasing = false;
    if (k->result != OK) j->lease_error = k->error;
    if (k->result == ERR_TRYAGAIN) {
        tell_lost(j, &k->error);
    } else if (k->result != OK) {
        bool is_news = j->lease_told_us == 0 || now_us - j->lease_told_us > LEASE_LOG_US;
        if (is_news) log_warning("cannot renew the lease: %s", k->error.text);
        if (is_news) j->lease_told_us = now_us;
        j->leased_us = now_us - j->options.lease_ms * 1000 / 4; /* again soon */
    } else if (j->lease_told_us != 0) {
        log_notice("the lease is renewed again");
        j->lease_told_us = 0;
    }
}

static void renew(struct pg_journal *j, int64_t now_us)
{
    if (j->is_leasing || now_us - j->leased_us < j->options.lease_ms * 1000 / 3) return;
    j->is_leasing = true;
    j->leased_us = now_us;
    worker_post(j->leaser, &j->lease.job);
}

/* ---- versions ---- */

static const char reserve_sql[] =
    "UPDATE tupled_leader SET versions_reserved = $3 WHERE id = $1 AND epoch = $2";

static enum err reserve_versions(struct pg_journal *j, uint64_t end, struct error *e)
{
    struct pg *c = j->background_pg;
    pg_begin(c);
    pg_put_i64(c, term_id(j->term));
    pg_put_i64(c, (int64_t)term_epoch(j->term));
    pg_put_i64(c, (int64_t)end);
    enum err r = pg_run_safe_again(c, reserve_sql, e);
    return r != OK || pg_changed(c) == 1 ? r : term_lost(j->term, NULL, e);
}

static void set_reserved(struct pg_journal *j, uint64_t end)
{
    j->version_reserved = end;
    j->base.versions_low = end > VERSIONS_BLOCK / 2 ? end - VERSIONS_BLOCK / 2 : 0;
}

static void versions_run(struct job *job)
{
    struct small_job *k = (struct small_job *)job;
    k->result = reserve_versions(k->journal, k->number, &k->error);
}

static void versions_done(struct job *job)
{
    struct small_job *k = (struct small_job *)job;
    struct pg_journal *j = k->journal;
    j->is_reserving = false;
    if (k->result == OK) {
        set_reserved(j, k->number);
        j->versions_failed_us = 0;
    } else if (k->result == ERR_TRYAGAIN) {
        tell_lost(j, &k->error);
        return;
    } else {
        if (j->versions_failed_us == 0) log_warning("versions: %s", k->error.text);
        j->versions_failed_us = clock_mono_us();
    }
    if (!j->base.is_failed) j->base.owner.on_room(&j->base);
}

static enum err pgj_versions_reserve(struct journal *journal, uint64_t next, struct error *e)
{
    struct pg_journal *j = pg_journal_of(journal);
    bool is_soon = j->versions_failed_us != 0 && clock_mono_us() - j->versions_failed_us < RETRY_US;
    if (!j->is_reserving && !is_soon && !j->base.is_failed) {
        j->is_reserving = true;
        j->versions.number = next + VERSIONS_BLOCK;
        worker_post(j->background, &j->versions.job);
    }
    if (next < j->version_reserved) return OK;
    if (j->is_reserving) return error_set(e, ERR_WAIT, "versions are being reserved");
    return error_set(e, ERR_IO, "cannot reserve a version (%s)", j->versions.error.text);
}

/* ---- letting go (pg_let_go.c) ---- */

static void let_go_done(struct job *job)
{
    struct let_go_job *k = (struct let_go_job *)job;
    struct pg_journal *j = k->journal;
    j->is_letting_go = false;
    if (k->result != OK) {
        log_warning("cannot truncate the log: %s", k->error.text);
        return;
    }
    if (k->gone_bytes == 0 && k->oldest == 0) return;
    j->oldest = k->oldest;
    j->bytes = j->bytes > k->gone_bytes ? j->bytes - k->gone_bytes : 0;
    j->let_go_us = 0; /* there may be more */
}

static void pgj_release(struct journal *journal, uint64_t applied, int64_t time_ms)
{
    struct pg_journal *j = pg_journal_of(journal);
    j->applied = applied;
    j->released_ms = time_ms;
}

static void let_go(struct pg_journal *j, int64_t now_us)
{
    uint64_t until = pg_history_oldest(j);
    bool is_soon = j->let_go_us != 0 && now_us - j->let_go_us < LET_GO_US;
    if (j->applied == 0 || j->is_letting_go || is_soon || j->base.is_failed) return;
    j->let_go_us = now_us;
    j->is_letting_go = true;
    j->letting_go.until = until < j->applied ? until : j->applied;
    j->letting_go.before_ms = j->released_ms - j->options.retention_ms;
    j->letting_go.more_bytes = j->bytes > j->options.retention_bytes
                                   ? j->bytes - j->options.retention_bytes
                                   : 0;
    worker_post(j->sweeper, &j->letting_go.job);
}

/* ---- the rest ---- */

static void pgj_tick(struct journal *journal, int64_t time_ms)
{
    struct pg_journal *j = pg_journal_of(journal);
    int64_t now_us = clock_mono_us();
    (void)time_ms;
    if (j->base.is_failed) return;
    const struct append_job *oldest = &j->appends[j->oldest_append];
    bool is_full = __atomic_load_n(&oldest->is_full, __ATOMIC_RELAXED) != 0;
    if (is_full != j->base.is_disk_full) {
        j->base.is_disk_full = is_full;
        set_room(j, pg_part_bytes(j));
        if (!is_full) j->base.owner.on_room(&j->base);
    }
    renew(j, now_us);
    let_go(j, now_us);
    pgj_submit(journal);
}

static uint64_t pgj_oldest(const struct journal *journal)
{
    return ((const struct pg_journal *)journal)->oldest;
}

static void pgj_stats(const struct journal *journal, struct journal_stats *out)
{
    const struct pg_journal *j = (const struct pg_journal *)journal;
    *out = (struct journal_stats){
        .bytes = j->bytes,
        .segments = 1,
        .syncs = j->syncs,
        .sync_us = j->sync_us,
        .batches = j->batches,
        .ahead = j->sent_ahead,
        .written_bytes = j->durable_bytes,
        .unsynced_bytes = j->appended_bytes - j->durable_bytes + j->sealed_bytes +
                          journal_filled(journal),
        .sync_times = &j->sync_times,
    };
}

static struct worker *make_worker(const struct pg_journal *j, const char *name)
{
    const struct journal_owner *owner = &j->base.owner;
    return worker_new(&(struct worker_options){.name = name,
                                               .threads = owner->is_inline ? 0 : 1,
                                               .wake = owner->wake,
                                               .arg = owner->wake_arg});
}

static enum err pgj_start(struct journal *journal, struct journal_replay *r, struct error *e)
{
    struct pg_journal *j = pg_journal_of(journal);
    j->appender = make_worker(j, "append");
    j->leaser = make_worker(j, "lease");
    j->background = make_worker(j, "log");
    j->sweeper = make_worker(j, "sweep");
    if (j->appender == NULL || j->leaser == NULL || j->background == NULL || j->sweeper == NULL) {
        return error_set(e, ERR_IO, "cannot start a thread");
    }
    j->ahead_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (j->ahead_fd < 0) {
        return error_set(e, ERR_IO, "cannot create an event descriptor: %s", strerror(errno));
    }
    enum err result = pg_replay(j, r, e);
    if (result != OK) return result;
    uint64_t next = term_versions(j->term);
    if (next <= j->base.version_last) next = j->base.version_last + 1;
    result = reserve_versions(j, next + VERSIONS_BLOCK, e);
    if (result != OK) return result;
    set_reserved(j, next + VERSIONS_BLOCK);
    r->version_next = next;
    j->base.acknowledged = j->base.synced = j->base.version_last;
    j->base.filling = &batch_new(j)->base;
    set_room(j, pg_part_bytes(j));
    return OK;
}

static void batches_free(struct pg_batch *b)
{
    while (b != NULL) {
        struct pg_batch *next = b->next;
        buf_fini(&b->base.bytes);
        mem_free(b);
        b = next;
    }
}

static void journal_free(struct pg_journal *j)
{
    worker_free(j->appender);
    worker_free(j->leaser);
    worker_free(j->background);
    worker_free(j->sweeper);
    pg_history_free(j);
    pg_free(j->append_pg);
    pg_free(j->background_pg);
    pg_free(j->sweep_pg);
    term_free(j->term);
    batches_free((struct pg_batch *)j->base.filling);
    batches_free(j->sealed);
    batches_free(j->unused);
    batches_free(j->appends[0].batches);
    batches_free(j->appends[1].batches);
    if (j->ahead_fd >= 0) close(j->ahead_fd);
    mem_free(j);
}

static enum err pgj_hand_over(struct journal *journal, uint64_t version_next, struct error *e)
{
    struct pg_journal *j = pg_journal_of(journal);
    pgj_settle(journal);
    worker_drain(j->leaser);
    worker_drain(j->background);
    pg_let_go_end(j);
    if (j->base.is_failed)
        return error_set(e, ERR_IO, "leadership was lost before it could be handed over");
    enum err r = reserve_versions(j, version_next, e);
    if (r == OK) term_hand_over(j->term);
    return r;
}

static void pgj_abandon(struct journal *journal)
{
    struct pg_journal *j = pg_journal_of(journal);
    term_give_up(j->term);
    j->base.is_failed = true;
    j->is_lost_told = true;
    journal_free(j);
}

static const struct journal_ops pgj_ops = {
    .start = pgj_start,
    .reserve = pgj_reserve,
    .submit = pgj_submit,
    .want_sync = pgj_want_sync,
    .settle = pgj_settle,
    .poll = pgj_poll,
    .tick = pgj_tick,
    .release = pgj_release,
    .versions_reserve = pgj_versions_reserve,
    .oldest = pgj_oldest,
    .read_begin = pg_history_begin,
    .read_run = pg_history_run,
    .read_end = pg_history_end,
    .stats = pgj_stats,
    .hand_over = pgj_hand_over,
    .abandon = pgj_abandon,
};

struct journal *pg_journal_new(const struct pg_journal_options *options)
{
    struct pg_journal *j = mem_new(sizeof *j);
    j->base.ops = &pgj_ops;
    j->base.is_always = true;
    j->options = *options;
    j->term = options->term;
    j->append_pg = term_connect(j->term, "append", TERM_WRITE);
    j->background_pg = term_connect(j->term, "log", TERM_WRITE);
    j->sweep_pg = term_connect(j->term, "sweep", TERM_WRITE);
    j->sealed_end = &j->sealed;
    for (unsigned i = 0; i < 2; i++) {
        j->appends[i] = (struct append_job){.job = {.run = pg_append_run, .done = append_done},
                                            .journal = j};
    }
    j->ahead_fd = -1;
    j->lease = (struct small_job){.job = {.run = lease_run, .done = lease_done}, .journal = j};
    j->versions = (struct small_job){.job = {.run = versions_run, .done = versions_done},
                                     .journal = j};
    j->letting_go = (struct let_go_job){.job = {.run = pg_let_go_run, .done = let_go_done},
                                        .journal = j};
    j->leased_us = clock_mono_us();
    return &j->base;
}

void pg_journal_set_options(struct journal *journal, const struct pg_journal_options *options)
{
    struct pg_journal *j = pg_journal_of(journal);
    j->options.retention_ms = options->retention_ms;
    j->options.retention_bytes = options->retention_bytes;
}

void pg_journal_state(const struct journal *journal, struct pg_journal_state *out)
{
    const struct pg_journal *j = (const struct pg_journal *)journal;
    /* A full disk has errors of its own. */
    bool is_waiting = j->under_way > 0 && !j->base.is_disk_full;
    int64_t since_us = j->appends[j->oldest_append].posted_us;
    int64_t progress_us = __atomic_load_n(&j->progress_us, __ATOMIC_RELAXED);
    if (progress_us > since_us) since_us = progress_us;
    *out = (struct pg_journal_state){.silent_us = is_waiting ? clock_mono_us() - since_us : 0,
                                     .lease_error = j->lease_told_us != 0 ? j->lease_error.text
                                                                          : ""};
}
