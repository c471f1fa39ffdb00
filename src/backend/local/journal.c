/* journal: batches and the journal thread; see journal.h. Files are segments.c's. */
#include "backend/local/journal_int.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

#define PREPARE_RETRY_US 1000000
#define MARKER_IDLE_US 100000
#define BATCH_KEEP_BYTES (4u << 20)
#define SLOW_SYNC_US 100000
#define SEGMENT_MARGIN 4096 /* room kept in a segment for the last durable mark */

/* ---- filling and sealing ---- */

static struct sealed_batch *batch_new(struct journal *j)
{
    struct sealed_batch *b = j->unused;
    if (b != NULL) {
        j->unused = b->next;
        buf_clear(&b->bytes, BATCH_KEEP_BYTES);
    } else {
        b = mem_new(sizeof *b);
    }
    b->next = NULL;
    b->segment = NULL;
    b->header = (struct batch_header){0};
    /* Room for both headers; the segment's is used only by the first batch of one. */
    static const uint8_t zeros[JOURNAL_HEADER_BYTES + JOURNAL_BATCH_BYTES];
    buf_append(&b->bytes, zeros, sizeof zeros);
    return b;
}

static size_t filling_payload(const struct journal *j)
{
    return j->filling->bytes.len - JOURNAL_HEADER_BYTES - JOURNAL_BATCH_BYTES;
}

static bool filling_is_empty(const struct journal *j)
{
    return j->filling->header.transactions == 0;
}

/* Closes the batch being filled and queues it at the end of the current segment. */
static void journal_seal(struct journal *j)
{
    struct sealed_batch *b = j->filling;
    struct segment *s = j->current;
    if (b->bytes.is_failed) die("out of memory for a journal batch");
    b->header.payload_bytes = (uint32_t)filling_payload(j);
    b->header.durable_version = j->version_synced;
    while (b->bytes.len % 8 != 0) buf_append_byte(&b->bytes, 0);
    b->segment = s;
    b->header_at = JOURNAL_HEADER_BYTES;
    b->offset = s->used;
    if (s->used == JOURNAL_HEADER_BYTES) {
        struct segment_header h = {.id = s->id, .format = JOURNAL_FORMAT};
        h.version_before = s->last_version;
        segment_header_write(&h, b->bytes.data);
        b->header_at = 0;
        b->offset = 0;
    }
    s->used += b->bytes.len - JOURNAL_HEADER_BYTES;
    s->last_version = b->header.last_version;
    s->last_time_ms = b->header.time_ms;
    s->batches_in_flight++;
    INVARIANT(s->used <= s->bytes);
    *j->sealed_end = b;
    j->sealed_end = &b->next;
    j->filling = batch_new(j);
}

/* Bytes of the current segment that a batch sealed now with `bytes` more payload would need. */
static bool current_has_room(const struct journal *j, size_t bytes, size_t margin)
{
    size_t payload = filling_payload(j) + bytes;
    if (j->current == NULL) return false;
    return j->current->used + JOURNAL_BATCH_BYTES + payload + 8 + margin <= j->current->bytes &&
           payload < UINT32_MAX;
}

enum err journal_room(struct journal *j, size_t bytes, struct error *e)
{
    if (j->is_failed) return error_set(e, ERR_IO, "the journal failed; restart the server");
    if (current_has_room(j, bytes, SEGMENT_MARGIN)) return OK;
    size_t fixed = JOURNAL_HEADER_BYTES + JOURNAL_BATCH_BYTES + 8 + SEGMENT_MARGIN;
    if (bytes + fixed > j->options.segment_bytes) {
        return error_set(e, ERR_LIMIT, "transaction of %zu bytes is larger than a journal segment",
                         bytes);
    }
    if (segment_spare_fits(j, bytes + fixed)) return OK;
    if (j->prepare_failed_us != 0) {
        return error_set(e, ERR_DISK_FULL, "disk full: no journal space (%s)",
                         j->prepare_error.text);
    }
    journal_prepare(j);
    log_verbose("journal: writers wait for a segment");
    return error_set(e, ERR_WAIT, "a journal segment is being prepared");
}

static void journal_next_segment(struct journal *j)
{
    if (!filling_is_empty(j)) journal_seal(j);
    segment_advance(j);
}

static void filling_cover(struct journal *j, uint64_t version, int64_t time_ms)
{
    struct batch_header *h = &j->filling->header;
    if (h->first_version == 0) h->first_version = version;
    h->last_version = version;
    h->time_ms = time_ms;
}

void journal_append(struct journal *j, uint64_t version, const struct batch *batch)
{
    INVARIANT(version > j->version_last);
    if (!current_has_room(j, txn_bytes(batch), SEGMENT_MARGIN)) journal_next_segment(j);
    filling_cover(j, version, batch->time_ms);
    j->filling->header.transactions++;
    txn_write(&j->filling->bytes, version, batch);
    j->version_last = version;
    j->appended_us = 0;
}

/* ---- the journal thread ---- */

/* Moving on to the next segment syncs the one left behind, whatever the durability: so at most one
 * has unsynced bytes, and a later sync of that one covers all. */
static enum err write_batches(struct write_job *w)
{
    enum err r = OK;
    for (struct sealed_batch *b = w->batches; b != NULL && r == OK; b = b->next) {
        batch_seal(b->bytes.data + JOURNAL_HEADER_BYTES, &b->header, &b->segment->id);
        if (w->unsynced != NULL && w->unsynced != b->segment) {
            r = file_sync(&w->unsynced->file, &w->error);
        }
        struct slice bytes = slice_of(b->bytes.data + b->header_at, b->bytes.len - b->header_at);
        if (r == OK) r = file_write_at(&b->segment->file, b->offset, bytes, &w->error);
        w->unsynced = b->segment;
    }
    if (r == OK && w->wants_sync && w->unsynced != NULL) {
        r = file_sync(&w->unsynced->file, &w->error);
        if (r == OK) w->unsynced = NULL;
    }
    return r;
}

static void write_run(struct job *job)
{
    struct write_job *w = (struct write_job *)job;
    int64_t begin_us = clock_mono_us();
    w->result = write_batches(w);
    w->sync_us = clock_mono_us() - begin_us;
}

/* By the durability of now, not of when the job began: a job without a sync that was under way when
 * `always` was chosen acknowledges nothing, and another one follows that syncs. */
static void journal_acknowledge(struct journal *j)
{
    bool is_always = j->options.durability == DURABILITY_ALWAYS;
    uint64_t version = is_always ? j->version_synced : j->version_written;
    if (version > j->version_acknowledged) j->version_acknowledged = version;
    if (is_always && j->version_synced < j->version_written) j->wants_sync = true;
}

void journal_set_options(struct journal *j, const struct journal_options *options)
{
    j->options.durability = options->durability;
    j->options.interval_ms = options->interval_ms;
    j->options.retention_ms = options->retention_ms;
    j->options.retention_bytes = options->retention_bytes;
    journal_acknowledge(j);
}

static void write_done(struct job *job)
{
    struct write_job *w = (struct write_job *)job;
    struct journal *j = w->journal;
    j->is_writing = false;
    j->unsynced = w->unsynced;
    uint64_t last = j->version_written;
    while (w->batches != NULL) {
        struct sealed_batch *b = w->batches;
        w->batches = b->next;
        last = b->header.last_version;
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
    if (w->result != OK) {
        j->is_failed = true;
        j->options.on_fatal(j->options.arg, &w->error);
        return;
    }
    j->version_written = last;
    if (w->wants_sync) {
        j->version_synced = last;
        j->synced_us = clock_mono_us();
        j->syncs++;
        j->sync_us += (uint64_t)w->sync_us;
        if (w->sync_us > SLOW_SYNC_US) {
            log_verbose("journal: a sync took %lld ms", (long long)w->sync_us / 1000);
        }
    }
    journal_acknowledge(j);
}

static void journal_start_job(struct journal *j, bool wants_sync)
{
    j->job.batches = j->sealed;
    j->sealed = NULL;
    j->sealed_end = &j->sealed;
    j->job.wants_sync = wants_sync;
    j->is_writing = true;
    j->wants_sync = false;
    worker_post(j->options.writer, &j->job.job);
}

void journal_submit(struct journal *j)
{
    if (j->is_writing || j->is_failed) return;
    if (!filling_is_empty(j)) journal_seal(j);
    if (j->sealed == NULL && !j->wants_sync) return;
    journal_start_job(j, j->options.durability == DURABILITY_ALWAYS || j->wants_sync);
}

uint64_t journal_acknowledged(const struct journal *j)
{
    return j->version_acknowledged;
}

uint64_t journal_synced(const struct journal *j)
{
    return j->version_synced;
}

void journal_want_sync(struct journal *j)
{
    if (j->version_synced < j->version_last) j->wants_sync = true;
}

bool journal_is_disk_full(const struct journal *j)
{
    return j->prepare_failed_us != 0;
}

bool journal_is_failed(const struct journal *j)
{
    return j->is_failed;
}

/* After the last sync a batch without transactions says what was durable: without it, damage of
 * the last acknowledged batch could not be told from a torn tail. */
static void journal_mark(struct journal *j, int64_t now_us, int64_t time_ms)
{
    if (j->appended_us == 0) {
        j->appended_us = now_us;
        return;
    }
    bool is_idle = !j->is_writing && j->sealed == NULL && filling_is_empty(j);
    if (!is_idle || j->version_synced <= j->version_marked) return;
    if (now_us - j->appended_us < MARKER_IDLE_US || !current_has_room(j, 0, 0)) return;
    filling_cover(j, j->version_last, time_ms);
    j->filling->header.first_version = j->version_last + 1;
    journal_seal(j);
    journal_start_job(j, j->options.durability == DURABILITY_ALWAYS);
}

void journal_tick(struct journal *j, int64_t time_ms)
{
    int64_t now_us = clock_mono_us();
    if (j->is_failed) return;
    if (j->prepare_failed_us != 0 && now_us - j->prepare_failed_us > PREPARE_RETRY_US) {
        journal_prepare(j);
    }
    if (j->options.durability == DURABILITY_INTERVAL && j->version_synced < j->version_last &&
        now_us - j->synced_us >= (int64_t)j->options.interval_ms * 1000) {
        j->wants_sync = true;
    }
    journal_submit(j);
    journal_mark(j, now_us, time_ms);
}

void journal_stats(const struct journal *j, struct journal_stats *out)
{
    *out = (struct journal_stats){
        .bytes = j->retained_bytes + segments_bytes(j),
        .segments = j->retained_count + 1 + j->spare_count,
        .syncs = j->syncs,
        .sync_us = j->sync_us,
        .batches = j->batches,
    };
}

/* ---- opening and closing ---- */

enum err journal_open(const struct journal_options *options, uint64_t next_number,
                      uint64_t last_version, struct journal **out, struct error *e)
{
    *out = NULL;
    struct journal *j = mem_new(sizeof *j);
    j->options = *options;
    j->next_number = next_number;
    j->retained_end = &j->retained;
    j->sealed_end = &j->sealed;
    j->version_last = j->version_written = last_version;
    j->version_acknowledged = j->version_synced = last_version;
    j->version_marked = last_version;
    j->job = (struct write_job){.job = {.run = write_run, .done = write_done}, .journal = j};
    j->filling = batch_new(j);
    enum err r = segment_first(j, e);
    if (r != OK) {
        buf_fini(&j->filling->bytes);
        mem_free(j->filling);
        mem_free(j);
        return r;
    }
    *out = j;
    return OK;
}

static void batches_free(struct sealed_batch *b)
{
    while (b != NULL) {
        struct sealed_batch *next = b->next;
        buf_fini(&b->bytes);
        mem_free(b);
        b = next;
    }
}

static void journal_free(struct journal *j)
{
    segments_close(j);
    batches_free(j->filling);
    batches_free(j->sealed);
    batches_free(j->unused);
    batches_free(j->job.batches);
    mem_free(j);
}

void journal_close(struct journal *j)
{
    if (j == NULL) return;
    while (!j->is_failed && (j->is_writing || j->version_synced < j->version_last)) {
        journal_want_sync(j);
        journal_submit(j);
        worker_drain(j->options.writer);
        worker_poll(j->options.writer);
    }
    /* Segments being prepared or removed know the journal. */
    j->is_closing = true;
    do {
        worker_drain(j->options.background);
    } while (worker_poll(j->options.background));
    j->is_closed_clean = !j->is_failed;
    journal_free(j);
}

void journal_stop_preparing(struct journal *j)
{
    j->is_closing = true;
}

void journal_abandon(struct journal *j)
{
    if (j == NULL) return;
    worker_drain(j->options.writer);
    worker_poll(j->options.writer);
    journal_free(j);
}
