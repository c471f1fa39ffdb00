/* file_journal: batches and the journal's threads. Files are segments.c's.
 *
 * A job is what a thread writes at once; the loop collects it when that is done. While one is under
 * way a second one may be (docs/decisions/own-sync.md): where syncs take long, so that clients wait
 * for one and not for the rest of another as well. It is written past the page cache, from the next
 * block of the same segment on: no block is on its way twice.
 *
 * 1. Jobs are collected in the order in which they were posted, whichever is done first; after one
 *    that failed nothing is acknowledged.
 * 2. Two are under way only within one segment: the header of the next one says that all of the one
 *    before it is synced (recover.c).
 */
#include "backend/local/file_journal_int.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

#define PREPARE_RETRY_US 1000000
#define MARKER_IDLE_US 100000
#define BATCH_KEEP_BYTES (4u << 20)
#define SLOW_SYNC_US 100000
/* When so many syncs in a row took no longer than this, the loop does the next one itself, if it
 * may block: that costs less than a thread does. The first that takes longer ends it. */
#define SHORT_SYNC_US 300
#define SHORT_SYNCS 64
#define OWN_BYTES (64 * 1024) /* of a batch that the loop writes */
#define READERS_STAY_US 2000000
#define SEGMENT_MARGIN 4096 /* room kept in a segment for the last durable mark */
/* From here on a second sync under way is worth the bytes that are left free. */
#define LONG_SYNC_US 400

/* ---- filling and sealing ---- */

static struct sealed_batch *batch_new(struct file_journal *j)
{
    struct sealed_batch *b = j->unused;
    if (b != NULL) {
        j->unused = b->next;
        buf_clear(&b->base.bytes, BATCH_KEEP_BYTES);
    } else {
        b = mem_new(sizeof *b);
    }
    b->next = NULL;
    b->segment = NULL;
    b->base.first_version = b->base.last_version = 0;
    b->base.transactions = 0;
    b->base.head_bytes = JOURNAL_HEADER_BYTES + JOURNAL_BATCH_BYTES;
    /* Room for both headers; the segment's is used only by the first batch of one. */
    static const uint8_t zeros[JOURNAL_HEADER_BYTES + JOURNAL_BATCH_BYTES];
    buf_append(&b->base.bytes, zeros, sizeof zeros);
    return b;
}

static bool filling_is_empty(const struct file_journal *j)
{
    return j->base.filling->transactions == 0;
}

/* How much the batch being filled may hold, after the current segment or what is used of it
 * changed. */
static void journal_set_room(struct file_journal *j)
{
    const struct segment *s = j->current;
    size_t fixed = JOURNAL_BATCH_BYTES + 8 + SEGMENT_MARGIN;
    bool has_none = s == NULL || j->base.is_failed || s->used + fixed > s->bytes;
    uint64_t room = has_none ? 0 : s->bytes - s->used - fixed;
    j->base.room = room < UINT32_MAX ? (size_t)room : UINT32_MAX - 1;
    j->base.place = s == NULL ? 0 : s->used;
}

/* Closes the batch being filled and queues it at the end of the current segment. */
static void journal_seal(struct file_journal *j)
{
    struct sealed_batch *b = (struct sealed_batch *)j->base.filling;
    struct buf *bytes = &b->base.bytes;
    struct segment *s = j->current;
    if (bytes->is_failed) die("out of memory for a journal batch");
    b->header = (struct batch_header){.payload_bytes = (uint32_t)journal_filled(&j->base),
                                      .first_version = b->base.first_version,
                                      .last_version = b->base.last_version,
                                      .durable_version = j->base.synced,
                                      .time_ms = b->base.time_ms,
                                      .transactions = b->base.transactions};
    j->sealed_bytes += b->header.payload_bytes;
    while (bytes->len % 8 != 0) buf_append_byte(bytes, 0);
    b->segment = s;
    b->header_at = JOURNAL_HEADER_BYTES;
    b->offset = s->used;
    if (s->used == JOURNAL_HEADER_BYTES) {
        struct segment_header h = {
            .id = s->id, .format = JOURNAL_FORMAT, .timeline = j->options.timeline};
        h.version_before = s->last_version;
        segment_header_write(&h, bytes->data);
        b->header_at = 0;
        b->offset = 0;
    }
    s->used += bytes->len - JOURNAL_HEADER_BYTES;
    s->last_version = b->header.last_version;
    s->last_time_ms = b->header.time_ms;
    s->batches_in_flight++;
    if (b->header.transactions > 0) j->sealed_us = 0;
    INVARIANT(s->used <= s->bytes);
    *j->sealed_end = b;
    j->sealed_end = &b->next;
    j->base.filling = &batch_new(j)->base;
    journal_set_room(j);
}

static void journal_next_segment(struct file_journal *j, bool is_early)
{
    if (!filling_is_empty(j)) journal_seal(j);
    if (is_early) {
        segment_advance_early(j);
    } else {
        segment_advance(j);
    }
    journal_set_room(j);
}

static enum err journal_reserve(struct journal *journal, size_t bytes, struct error *e)
{
    struct file_journal *j = file_journal_of(journal);
    if (j->base.is_failed) return error_set(e, ERR_IO, "the journal failed; restart the server");
    size_t fixed = JOURNAL_HEADER_BYTES + JOURNAL_BATCH_BYTES + 8 + SEGMENT_MARGIN;
    if (bytes + fixed > j->options.segment_bytes) {
        return error_set(e, ERR_LIMIT, "transaction of %zu bytes is larger than a journal segment",
                         bytes);
    }
    if (segment_spare_fits(j, bytes + fixed)) {
        journal_next_segment(j, false);
        return OK;
    }
    if (j->prepare_failed_us != 0) {
        return error_set(e, ERR_DISK_FULL, "disk full: no journal space (%s)",
                         j->prepare_error.text);
    }
    journal_prepare(j);
    log_verbose("journal: writers are waiting for a segment");
    return error_set(e, ERR_WAIT, "a journal segment is being prepared");
}

/* ---- what the threads have done ---- */

/* By the durability of now, not of when the job began: a job without a sync that was under way when
 * `always` was chosen acknowledges nothing, and another one follows that syncs. */
static void journal_acknowledge(struct file_journal *j)
{
    bool is_always = j->options.durability == DURABILITY_ALWAYS;
    uint64_t version = is_always ? j->base.synced : j->version_written;
    if (version > j->base.acknowledged) j->base.acknowledged = version;
    if (is_always && j->base.synced < j->version_written) j->wants_sync = true;
}

void file_journal_set_options(struct journal *journal, const struct file_journal_options *options)
{
    struct file_journal *j = file_journal_of(journal);
    j->base.is_always = options->durability == DURABILITY_ALWAYS;
    j->options.durability = options->durability;
    j->options.interval_ms = options->interval_ms;
    j->options.retention_ms = options->retention_ms;
    j->options.retention_bytes = options->retention_bytes;
    j->options.archive_ms = options->archive_ms;
    journal_acknowledge(j);
}

struct archive *file_journal_archive(const struct journal *journal)
{
    return ((const struct file_journal *)journal)->options.archive;
}

/* The version of the last one. */
static uint64_t collect_batches(struct file_journal *j, struct write_job *w)
{
    uint64_t last = j->version_written;
    j->told = 0;
    while (w->batches != NULL) {
        struct sealed_batch *b = w->batches;
        w->batches = b->next;
        last = b->header.last_version;
        j->told += b->header.transactions;
        j->written_bytes += b->header.payload_bytes;
        if (b->header.durable_version > j->version_marked) {
            j->version_marked = b->header.durable_version;
        }
        b->segment->batches_in_flight--;
        if (b->segment->state == SEGMENT_FULL && b->segment->batches_in_flight == 0 &&
            w->unsynced != b->segment) {
            file_close(&b->segment->file);
        }
        b->next = j->unused;
        j->unused = b;
        j->batches++;
    }
    return last;
}

static void count_sync(struct file_journal *j, const struct write_job *w)
{
    j->synced_bytes = j->written_bytes;
    j->synced_us = clock_mono_us();
    j->syncs++;
    j->direct_syncs += w->was_direct;
    j->ahead += w->is_ahead;
    j->sync_us += (uint64_t)w->sync_us;
    j->sync_us_last = w->sync_us;
    histogram_add(&j->sync_times, w->sync_us);
    j->short_syncs = w->sync_us <= j->options.short_sync_us ? j->short_syncs + 1 : 0;
    if (w->sync_us > SLOW_SYNC_US) {
        log_verbose("journal: a sync took %lld ms", (long long)w->sync_us / 1000);
    }
}

static void collect(struct file_journal *j, struct write_job *w)
{
    w->is_done = false;
    j->under_way--;
    j->unsynced = w->unsynced;
    uint64_t last = collect_batches(j, w);
    if (j->base.is_failed) return; /* what came before it may be missing */
    if (w->result != OK) {
        j->base.is_failed = true;
        journal_set_room(j);
        j->base.owner.on_fatal(&j->base, &w->error);
        return;
    }
    j->version_written = last;
    if (w->wants_sync) {
        j->base.synced = last;
        count_sync(j, w);
    }
    journal_acknowledge(j);
}

static struct write_job *oldest(struct file_journal *j)
{
    return &j->jobs[(j->newest + JOURNAL_JOBS + 1 - j->under_way) % JOURNAL_JOBS];
}

static bool goes_ahead(const struct file_journal *j);

/* The one whose turn may not come for long: it does not keep the blocks of a removed segment. */
static void leave_segments(struct file_journal *j)
{
    struct direct *d = j->jobs[(j->newest + 1) % JOURNAL_JOBS].direct;
    if (d != NULL && j->current != NULL) direct_leave(d, j->current->id.number);
}

static void write_done(struct job *job)
{
    struct write_job *w = (struct write_job *)job;
    struct file_journal *j = w->journal;
    w->is_done = true;
    while (j->under_way > 0 && oldest(j)->is_done) collect(j, oldest(j));
    if (j->under_way == 0) leave_segments(j);
    j->base.is_busy = j->under_way > 0 && !goes_ahead(j);
}

/* Is it so short that the loop can wait for it? */
static bool is_short(const struct file_journal *j, const struct write_job *w)
{
    const struct sealed_batch *b = w->batches;
    bool may_block = j->base.own_txns > 0 && j->short_syncs >= SHORT_SYNCS;
    if (!may_block || !w->wants_sync || b == NULL || b->next != NULL) return false;
    return b->base.transactions <= j->base.own_txns && b->base.bytes.len <= OWN_BYTES;
}

/* Who reads the newest history finds it in the page cache, if it is written there. */
static bool is_being_read(const struct file_journal *j)
{
    return j->current_read_us != 0 && clock_mono_us() - j->current_read_us < READERS_STAY_US;
}

/* May another one be posted while one is under way? */
static bool goes_ahead(const struct file_journal *j)
{
    const struct write_job *w = &j->jobs[j->newest];
    return j->under_way < JOURNAL_JOBS && w->may_be_direct && w->wants_sync &&
           j->sync_us_last >= j->options.long_sync_us &&
           j->options.durability == DURABILITY_ALWAYS && !j->base.is_failed;
}

/* What is sealed becomes a job. */
static void journal_start_job(struct file_journal *j, bool wants_sync)
{
    if (j->under_way > 0) j->newest = (j->newest + 1) % JOURNAL_JOBS;
    struct write_job *w = &j->jobs[j->newest];
    INVARIANT(w->batches == NULL && !w->is_done && j->under_way < JOURNAL_JOBS);
    w->batches = j->sealed;
    j->sealed = NULL;
    j->sealed_end = &j->sealed;
    w->wants_sync = wants_sync;
    w->unsynced = j->unsynced;
    w->may_be_direct = wants_sync && w->direct != NULL && !is_being_read(j);
    w->is_ahead = j->under_way > 0;
    j->under_way++;
    j->base.is_busy = !goes_ahead(j);
    j->wants_sync = false;
    if (w->is_ahead || !is_short(j, w)) {
        worker_post(w->writer, &w->job);
        return;
    }
    journal_write_run(&w->job);
    j->own_syncs++;
    write_done(&w->job);
}

/* A second one, in the next block of the segment that the first one is written to, as soon as it
 * has as many transactions as the last one that was collected: the clients of those have written
 * again by then. Earlier, batches would get ever smaller. */
static void start_ahead(struct file_journal *j)
{
    const struct sealed_batch *first = j->jobs[j->newest].batches;
    struct segment *s = j->current;
    bool is_one_segment = j->sealed == NULL && first != NULL && first->segment == s;
    if (!is_one_segment || j->unsynced != NULL || is_being_read(j)) return;
    if (filling_is_empty(j) || j->base.filling->transactions < j->told) return;
    size_t other = batch_other_place((size_t)s->used);
    uint64_t begin = other > 0 ? other : s->used;
    if (begin + batch_bytes((uint32_t)journal_filled(&j->base)) + SEGMENT_MARGIN > s->bytes) return;
    s->used = begin;
    INVARIANT(first->next == NULL || first->next->segment == s); /* 2 */
    journal_seal(j);
    journal_start_job(j, true);
}

static void journal_hand_over(struct journal *journal)
{
    struct file_journal *j = file_journal_of(journal);
    if (j->base.is_busy || j->base.is_failed) return;
    if (j->under_way > 0) {
        start_ahead(j);
        return;
    }
    if (!filling_is_empty(j)) journal_seal(j);
    if (j->sealed == NULL && !j->wants_sync) return;
    journal_start_job(j, j->options.durability == DURABILITY_ALWAYS || j->wants_sync);
}

static void journal_want_sync(struct journal *journal)
{
    struct file_journal *j = file_journal_of(journal);
    if (j->base.synced < j->base.version_last) j->wants_sync = true;
}

static bool has_room_for_mark(const struct file_journal *j)
{
    return j->current != NULL && j->current->used + JOURNAL_BATCH_BYTES + 8 <= j->current->bytes;
}

/* After the last sync a batch without transactions says what was durable: without it, damage of
 * the last acknowledged batch could not be told from a torn tail. */
static void journal_mark(struct file_journal *j, int64_t now_us, int64_t time_ms)
{
    if (j->sealed_us == 0) {
        j->sealed_us = now_us;
        return;
    }
    bool is_idle = j->under_way == 0 && j->sealed == NULL && filling_is_empty(j);
    if (!is_idle || j->base.synced <= j->version_marked) return;
    if (now_us - j->sealed_us < MARKER_IDLE_US || !has_room_for_mark(j)) return;
    j->base.filling->first_version = j->base.version_last + 1;
    j->base.filling->last_version = j->base.version_last;
    j->base.filling->time_ms = time_ms;
    journal_seal(j);
    journal_start_job(j, j->options.durability == DURABILITY_ALWAYS);
}

static void journal_tick(struct journal *journal, int64_t time_ms)
{
    struct file_journal *j = file_journal_of(journal);
    int64_t now_us = clock_mono_us();
    guard_tick(j);
    if (j->base.is_failed) return;
    if (j->prepare_failed_us != 0 && now_us - j->prepare_failed_us > PREPARE_RETRY_US) {
        journal_prepare(j);
    }
    if (j->options.durability == DURABILITY_INTERVAL && j->base.synced < j->base.version_last &&
        now_us - j->synced_us >= (int64_t)j->options.interval_ms * 1000) {
        j->wants_sync = true;
    }
    if (journal_archive_is_due(j, now_us)) journal_next_segment(j, true);
    journal_hand_over(journal);
    journal_mark(j, now_us, time_ms);
    journal_archive_try(j);
}

/* Without threads this runs the jobs: one a call, and not always the one that was posted first.
 * Every other call leaves one for which another may be posted. */
static bool poll_inline(struct file_journal *j)
{
    bool waits = j->under_way < JOURNAL_JOBS && goes_ahead(j) && j->polls % 2 == 0;
    j->polls++;
    for (unsigned i = 0; i < JOURNAL_JOBS && !waits; i++) {
        struct worker *writer = j->jobs[(j->polls / 2 + i) % JOURNAL_JOBS].writer;
        if (writer != NULL && worker_poll(writer)) return true;
    }
    return false;
}

static bool poll_threads(struct file_journal *j)
{
    bool has_written = false;
    for (unsigned i = 0; i < JOURNAL_JOBS; i++) {
        if (j->jobs[i].writer != NULL && worker_poll(j->jobs[i].writer)) has_written = true;
    }
    return has_written;
}

static bool journal_poll(struct journal *journal)
{
    struct file_journal *j = file_journal_of(journal);
    bool has_written = j->base.owner.is_inline ? poll_inline(j) : poll_threads(j);
    worker_poll(j->background);
    if (j->options.archive != NULL) archive_poll(j->options.archive);
    return has_written;
}

static void journal_stats(const struct journal *journal, struct journal_stats *out)
{
    const struct file_journal *j = (const struct file_journal *)journal;
    *out = (struct journal_stats){
        .written_bytes = j->written_bytes,
        .unsynced_bytes = j->sealed_bytes - j->synced_bytes + journal_filled(journal),
        .sync_times = &j->sync_times,
        .bytes = j->retained_bytes + segments_bytes(j),
        .segments = j->retained_count + 1 + j->spare_count,
        .syncs = j->syncs,
        .own_syncs = j->own_syncs,
        .direct_syncs = j->direct_syncs,
        .ahead = j->ahead,
        .sync_us = j->sync_us,
        .batches = j->batches,
    };
}

/* ---- opening and closing ---- */

static struct worker *journal_worker(const struct file_journal *j, const char *name)
{
    const struct journal_owner *owner = &j->base.owner;
    struct worker_options options = {.name = name,
                                     .threads = owner->is_inline ? 0 : 1,
                                     .wake = owner->wake,
                                     .arg = owner->wake_arg};
    return worker_new(&options);
}

static enum err journal_start(struct journal *journal, struct journal_replay *r, struct error *e)
{
    struct file_journal *j = file_journal_of(journal);
    uint64_t last_version = 0;
    enum err result = journal_recover(j, r, &last_version, e);
    if (result != OK) return result;
    result = versions_open(j, last_version, &r->version_next, e);
    if (result != OK) return result;
    j->background = journal_worker(j, "segments");
    bool is_started = j->background != NULL;
    for (unsigned i = 0; i < JOURNAL_JOBS; i++) {
        if (i > 0 && j->jobs[i].direct == NULL) break; /* one at a time */
        j->jobs[i].writer = journal_worker(j, "journal");
        is_started = is_started && j->jobs[i].writer != NULL;
    }
    if (!is_started) return error_set(e, ERR_IO, "cannot start a thread");
    j->base.version_last = j->version_written = last_version;
    j->base.acknowledged = j->base.synced = last_version;
    j->version_marked = last_version;
    j->base.filling = &batch_new(j)->base;
    result = segment_first(j, e);
    journal_set_room(j);
    return result == OK ? journal_archive_start(j, e) : result;
}

static void batches_free(struct sealed_batch *b)
{
    while (b != NULL) {
        struct sealed_batch *next = b->next;
        buf_fini(&b->base.bytes);
        mem_free(b);
        b = next;
    }
}

static void journal_free(struct file_journal *j)
{
    archive_close(j->options.archive);
    buf_fini(&j->archive_source);
    for (unsigned i = 0; i < JOURNAL_JOBS; i++) worker_free(j->jobs[i].writer);
    segments_close(j);
    batches_free((struct sealed_batch *)j->base.filling);
    batches_free(j->sealed);
    batches_free(j->unused);
    for (unsigned i = 0; i < JOURNAL_JOBS; i++) {
        batches_free(j->jobs[i].batches);
        direct_free(j->jobs[i].direct);
    }
    places_free(j->places);
    patch_log_free(j->base.patches);
    file_unlock(j->options.lock_fd);
    mem_free(j->dir);
    mem_free(j);
}

static void journal_settle(struct journal *journal)
{
    struct file_journal *j = file_journal_of(journal);
    while (!j->base.is_failed && (j->under_way > 0 || j->base.synced < j->base.version_last)) {
        journal_want_sync(journal);
        journal_hand_over(journal);
        for (unsigned i = 0; i < JOURNAL_JOBS; i++) {
            if (j->jobs[i].writer == NULL) continue;
            worker_drain(j->jobs[i].writer);
            worker_poll(j->jobs[i].writer);
        }
    }
}

static enum err journal_close(struct journal *journal, uint64_t version_next, struct error *e)
{
    struct file_journal *j = file_journal_of(journal);
    enum err r = OK;
    bool has_started = j->background != NULL;
    j->is_closing = true;
    if (has_started) {
        journal_settle(journal);
        worker_free(j->background);
        j->is_closed_clean = !j->base.is_failed;
        journal_archive_end(j);
    }
    if (has_started && version_next != 0) r = versions_close(j, version_next, e);
    journal_free(j);
    return r;
}

static void journal_abandon(struct journal *journal)
{
    struct file_journal *j = file_journal_of(journal);
    j->is_closing = true;
    worker_free(j->background);
    journal_free(j);
}

static const struct journal_ops file_journal_ops = {
    .start = journal_start,
    .reserve = journal_reserve,
    .submit = journal_hand_over,
    .want_sync = journal_want_sync,
    .settle = journal_settle,
    .poll = journal_poll,
    .tick = journal_tick,
    .release = journal_release,
    .versions_reserve = versions_reserve,
    .oldest = journal_oldest,
    .read_begin = history_begin,
    .read_run = history_run,
    .read_end = history_end,
    .stats = journal_stats,
    .close = journal_close,
    .abandon = journal_abandon,
};

struct journal *file_journal_new(const struct file_journal_options *options)
{
    struct file_journal *j = mem_new(sizeof *j);
    j->base.ops = &file_journal_ops;
    j->options = *options;
    if (j->options.short_sync_us == 0) j->options.short_sync_us = SHORT_SYNC_US;
    size_t len = strlen(options->dir) + 1;
    j->dir = memcpy(mem_alloc(len), options->dir, len);
    j->options.dir = j->dir;
    j->base.is_always = options->durability == DURABILITY_ALWAYS;
    j->retained_end = &j->retained;
    j->sealed_end = &j->sealed;
    if (j->options.long_sync_us == 0) j->options.long_sync_us = LONG_SYNC_US;
    for (unsigned i = 0; i < JOURNAL_JOBS; i++) {
        struct write_job *w = &j->jobs[i];
        *w = (struct write_job){.job = {.run = journal_write_run, .done = write_done},
                                .journal = j};
        if (!options->is_buffered) w->direct = direct_new();
    }
    j->places = places_new();
    j->base.patches = patch_log_new();
    return &j->base;
}
