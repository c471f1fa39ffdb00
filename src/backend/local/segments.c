/* segments: the journal's files. Two spares are kept ready ahead of the current one. Retained
 * history that is applied and old enough is used again as a spare: its blocks are allocated and
 * written already, so under steady load the journal neither allocates nor writes zeros. What it
 * held can not be mistaken for something new: checksums are seeded with the segment's number
 * (journal_format.h).
 *
 * Segments are small at the start and double, up to segment_bytes, as long as one is full within
 * GROW_US: an idle server takes little space, a busy one changes files seldom. A transaction that
 * does not fit gets a larger one at once. What the last segment of a run did not use is cut off at
 * the stop, or by the next start (recover.c).
 */
#include <stdio.h>

#include "backend/local/file_journal_int.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/machine.h"
#include "base/mem.h"

#define ZERO_CHUNK_BYTES (1u << 20)
#define SPARES_WANTED 2
#define START_BYTES (4u << 20)
#define GROW_US 30000000
#define SHRINK_BYTES_MIN (64u << 10)

void journal_path(struct buf *out, const char *dir, uint64_t number)
{
    buf_printf(out, "%s/journal-%020llu.log", dir, (unsigned long long)number);
    buf_append_byte(out, '\0');
    buf_require(out);
}

bool journal_number(const char *name, uint64_t *number)
{
    const char prefix[] = "journal-";
    if (strncmp(name, prefix, sizeof prefix - 1) != 0) return false;
    const char *digits = name + sizeof prefix - 1;
    if (strlen(digits) != 24 || strcmp(digits + 20, ".log") != 0) return false;
    uint64_t v = 0;
    for (int i = 0; i < 20; i++) {
        if (digits[i] < '0' || digits[i] > '9') return false;
        v = v * 10 + (uint64_t)(digits[i] - '0');
    }
    *number = v;
    return true;
}

static void segment_move(struct segment *s, enum segment_state to)
{
    static const struct machine machine = {
        .name = "segment",
        .states = {"preparing", "spare", "current", "full"},
        .allowed = {[SEGMENT_PREPARING] = TO(SEGMENT_SPARE),
                    [SEGMENT_SPARE] = TO(SEGMENT_CURRENT),
                    [SEGMENT_CURRENT] = TO(SEGMENT_FULL)},
    };
    MACHINE_MOVE(&machine, s, state, to);
}

static void segment_free(struct segment *s)
{
    file_close(&s->file);
    mem_free(s);
}

/* Background thread. Reserving first shows a full disk at once; the zeros make the later
 * syncs cheap (no extent is converted while a commit waits). */
static void segment_prepare_run(struct job *job)
{
    struct segment *s = (struct segment *)job;
    struct buf path;
    buf_init(&path);
    journal_path(&path, s->journal->options.dir, s->id.number);
    uint8_t *zeros = mem_new(ZERO_CHUNK_BYTES);
    enum err r = file_open(&s->file, (char *)path.data, FILE_WRITE_NEW, &s->error);
    if (r == OK) r = file_reserve(&s->file, s->bytes, &s->error);
    for (uint64_t at = 0; r == OK && at < s->bytes; at += ZERO_CHUNK_BYTES) {
        uint64_t n = s->bytes - at < ZERO_CHUNK_BYTES ? s->bytes - at : ZERO_CHUNK_BYTES;
        r = file_write_at(&s->file, at, slice_of(zeros, (size_t)n), &s->error);
        if (r == OK) file_flush_range(&s->file, at, n);
    }
    if (r == OK) r = file_sync(&s->file, &s->error);
    if (r == OK) r = dir_sync(s->journal->options.dir, &s->error);
    if (r != OK) {
        struct error ignored;
        file_close(&s->file);
        (void)!file_remove((char *)path.data, &ignored);
    }
    s->result = r;
    mem_free(zeros);
    buf_fini(&path);
}

/* Background thread. The file of an old segment under a new number; without its header it is a
 * spare. */
static void segment_reuse_run(struct job *job)
{
    static const uint8_t no_header[JOURNAL_HEADER_BYTES];
    struct segment *s = (struct segment *)job;
    struct buf from;
    struct buf to;
    buf_init(&from);
    buf_init(&to);
    journal_path(&from, s->journal->options.dir, s->reused_number);
    journal_path(&to, s->journal->options.dir, s->id.number);
    enum err r = file_rename((char *)from.data, (char *)to.data, &s->error);
    if (r == OK) r = file_open(&s->file, (char *)to.data, FILE_WRITE_OLD, &s->error);
    if (r == OK) {
        r = file_write_at(&s->file, 0, slice_of(no_header, sizeof no_header), &s->error);
    }
    if (r == OK) r = file_sync(&s->file, &s->error);
    if (r == OK) r = dir_sync(s->journal->options.dir, &s->error);
    if (r != OK) {
        struct error ignored;
        file_close(&s->file);
        (void)!file_remove((char *)to.data, &ignored);
    }
    s->result = r;
    buf_fini(&from);
    buf_fini(&to);
}

static void segment_prepare_done(struct job *job)
{
    struct segment *s = (struct segment *)job;
    struct file_journal *j = s->journal;
    j->is_preparing = false;
    if (s->result != OK) {
        if (j->prepare_failed_us == 0) log_warning("journal: %s", s->error.text);
        j->prepare_failed_us = clock_mono_us();
        j->base.is_disk_full = true;
        j->prepare_error = s->error;
        segment_free(s);
    } else {
        if (j->prepare_failed_us != 0) log_notice("journal: space is available again");
        j->prepare_failed_us = 0;
        j->base.is_disk_full = false;
        segment_move(s, SEGMENT_SPARE);
        s->next = j->spares;
        j->spares = s;
        j->spare_count++;
        journal_prepare(j);
    }
    j->base.owner.on_room(&j->base);
}

static struct segment *segment_new(struct file_journal *j)
{
    struct segment *s = mem_new(sizeof *s);
    s->journal = j;
    s->file.fd = -1;
    s->bytes = j->new_bytes;
    s->id.number = j->next_number++;
    memcpy(s->id.database_id, j->options.database_id, DATABASE_ID_BYTES);
    s->job.run = segment_prepare_run;
    s->job.done = segment_prepare_done;
    return s;
}

/* Background thread. */
static void segment_shrink_run(struct job *job)
{
    struct segment *s = (struct segment *)job;
    struct buf path;
    struct file f = {.fd = -1};
    buf_init(&path);
    journal_path(&path, s->journal->options.dir, s->id.number);
    s->result = file_open(&f, (char *)path.data, FILE_WRITE_OLD, &s->error);
    if (s->result == OK) s->result = file_truncate(&f, s->bytes, &s->error);
    file_close(&f);
    buf_fini(&path);
}

static void segment_shrink_done(struct job *job)
{
    struct segment *s = (struct segment *)job;
    if (s->result != OK) log_warning("journal: %s", s->error.text);
    s->pins--;
}

void segment_shrink(struct file_journal *j, struct segment *s)
{
    if (j->is_closing || s->pins > 0 || s->used == 0 || s->used + SHRINK_BYTES_MIN > s->bytes) {
        return;
    }
    j->retained_bytes -= s->bytes - s->used;
    s->bytes = s->used;
    s->pins++; /* neither removed nor used again meanwhile */
    s->job.run = segment_shrink_run;
    s->job.done = segment_shrink_done;
    worker_post(j->background, &s->job);
}

static void segment_remove_run(struct job *job)
{
    struct segment *s = (struct segment *)job;
    struct buf path;
    buf_init(&path);
    journal_path(&path, s->journal->options.dir, s->id.number);
    s->result = file_remove((char *)path.data, &s->error);
    buf_fini(&path);
}

static void segment_remove_done(struct job *job)
{
    struct segment *s = (struct segment *)job;
    if (s->result != OK) log_warning("journal: %s", s->error.text);
    segment_free(s);
}

static void segment_remove(struct file_journal *j, struct segment *s)
{
    s->job.run = segment_remove_run;
    s->job.done = segment_remove_done;
    worker_post(j->background, &s->job);
}

/* The oldest retained segment if it is not needed any more, taken out of the list; else NULL. */
static struct segment *retained_take(struct file_journal *j)
{
    struct segment *s = j->retained;
    if (s == NULL || s->last_version > j->applied || s->batches_in_flight > 0) return NULL;
    if (s->pins > 0 || (j->options.archive != NULL && !s->is_archived)) return NULL;
    /* An idle marker, written without a sync: the next job syncs this segment first. */
    if (s == j->unsynced) return NULL;
    bool is_old = j->released_ms - s->last_time_ms > j->options.retention_ms;
    if (!is_old && j->retained_bytes <= j->options.retention_bytes) return NULL;
    j->retained = s->next;
    if (j->retained == NULL) j->retained_end = &j->retained;
    j->retained_bytes -= s->bytes;
    j->retained_count--;
    return s;
}

void journal_prepare(struct file_journal *j)
{
    if (j->is_preparing || j->is_closing || j->spare_count >= SPARES_WANTED) return;
    struct segment *s = segment_new(j);
    struct segment *old = retained_take(j);
    if (old != NULL && old->bytes == s->bytes) {
        s->reused_number = old->id.number;
        s->job.run = segment_reuse_run;
        segment_free(old);
    } else if (old != NULL) {
        segment_remove(j, old);
    }
    j->is_preparing = true;
    worker_post(j->background, &s->job);
}

static void journal_retain(struct file_journal *j, struct segment *s)
{
    s->next = NULL;
    *j->retained_end = s;
    j->retained_end = &s->next;
    j->retained_bytes += s->bytes;
    j->retained_count++;
}

void segment_add_old(struct file_journal *j, const struct old_segment *old)
{
    struct segment *s = mem_new(sizeof *s);
    s->journal = j;
    s->file.fd = -1;
    s->state = SEGMENT_FULL;
    s->id.number = old->number;
    memcpy(s->id.database_id, j->options.database_id, DATABASE_ID_BYTES);
    s->bytes = old->bytes;
    s->version_before = old->version_before;
    s->last_version = old->last_version;
    s->last_time_ms = old->last_time_ms;
    journal_retain(j, s);
}

void journal_release(struct journal *journal, uint64_t applied, int64_t time_ms)
{
    struct file_journal *j = file_journal_of(journal);
    struct segment *s = NULL;
    j->applied = applied;
    j->released_ms = time_ms;
    journal_prepare(j);
    while ((s = retained_take(j)) != NULL) segment_remove(j, s);
}

/* The one with the lowest number: recovery reads segments in the order of their numbers. */
static struct segment *spare_take(struct file_journal *j)
{
    struct segment **lowest = &j->spares;
    for (struct segment **at = &j->spares; *at != NULL; at = &(*at)->next) {
        if ((*at)->id.number < (*lowest)->id.number) lowest = at;
    }
    struct segment *s = *lowest;
    *lowest = s->next;
    s->next = NULL;
    j->spare_count--;
    return s;
}

static void grow(struct file_journal *j, uint64_t bytes)
{
    while (j->new_bytes < bytes) j->new_bytes *= 2;
    if (j->new_bytes > j->options.segment_bytes) j->new_bytes = j->options.segment_bytes;
}

static void segment_start(struct file_journal *j, struct segment *s, uint64_t last_version)
{
    segment_move(s, SEGMENT_CURRENT);
    s->current_us = clock_mono_us();
    s->used = JOURNAL_HEADER_BYTES;
    s->version_before = s->last_version = last_version;
    j->current = s;
    patch_log_clear(j->base.patches);
    journal_prepare(j);
}

void segment_advance(struct file_journal *j)
{
    struct segment *full = j->current;
    INVARIANT(j->spares != NULL);
    if (full != NULL && clock_mono_us() - full->current_us < GROW_US) grow(j, 2 * full->bytes);
    if (full != NULL) {
        segment_move(full, SEGMENT_FULL);
        journal_retain(j, full);
    }
    segment_start(j, spare_take(j), j->base.version_last);
}

void segment_advance_early(struct file_journal *j)
{
    struct segment *full = j->current;
    INVARIANT(j->spares != NULL && full != NULL);
    bool is_small = full->used < full->bytes / 4 && j->new_bytes / 2 >= START_BYTES;
    if (is_small) j->new_bytes /= 2;
    segment_move(full, SEGMENT_FULL);
    journal_retain(j, full);
    segment_start(j, spare_take(j), j->base.version_last);
}

bool segment_spare_fits(struct file_journal *j, uint64_t bytes)
{
    while (j->spares != NULL) {
        struct segment *next = spare_take(j);
        if (next->bytes >= bytes) { /* back: it has the lowest number still */
            next->next = j->spares;
            j->spares = next;
            j->spare_count++;
            return true;
        }
        file_close(&next->file);
        segment_remove(j, next);
    }
    grow(j, bytes);
    return false;
}

uint64_t segments_bytes(const struct file_journal *j)
{
    uint64_t bytes = j->current != NULL ? j->current->bytes : 0;
    for (const struct segment *s = j->spares; s != NULL; s = s->next) bytes += s->bytes;
    return bytes;
}

enum err segment_first(struct file_journal *j, struct error *e)
{
    j->new_bytes = j->options.segment_bytes < START_BYTES ? j->options.segment_bytes : START_BYTES;
    struct segment *s = segment_new(j);
    segment_prepare_run(&s->job);
    if (s->result != OK) {
        enum err r = s->result;
        *e = s->error;
        segment_free(s);
        if (r != ERR_DISK_FULL) return r;
        /* Reads need no segment. The tick tries again, as it does when a disk becomes full later.
         */
        log_warning("journal: %s; writes are refused until space is available", e->text);
        j->prepare_failed_us = clock_mono_us();
        j->base.is_disk_full = true;
        j->prepare_error = *e;
        return OK;
    }
    segment_move(s, SEGMENT_SPARE);
    segment_start(j, s, j->base.version_last);
    return OK;
}

int journal_current(const struct file_journal *j, char *name, size_t name_bytes)
{
    if (j->current == NULL) return -1;
    snprintf(name, name_bytes, "journal-%020llu.log", (unsigned long long)j->current->id.number);
    return j->current->file.fd;
}

/* ---- history ---- */

/* Recovery may have found that the store is ahead of the journal, or left out what it did not need
 * to read: only an unbroken chain counts. */
uint64_t journal_oldest(const struct journal *journal)
{
    const struct file_journal *j = (const struct file_journal *)journal;
    uint64_t oldest = j->base.version_last;
    uint64_t end = UINT64_MAX;
    for (const struct segment *s = j->retained; s != NULL; s = s->next) {
        if (s->version_before != end) oldest = s->version_before;
        end = s->last_version;
        if (s->is_damaged) oldest = end;
    }
    uint64_t last = j->current != NULL ? j->current->version_before : j->base.version_last;
    if (last != end) oldest = last;
    if (j->current != NULL && j->current->is_damaged) oldest = j->current->last_version;
    return oldest;
}

bool segment_pin(struct file_journal *j, uint64_t after, struct segment_pin *pin)
{
    struct segment *found = NULL;
    for (struct segment *s = j->retained; s != NULL; s = s->next) {
        if (s->version_before <= after) found = s;
    }
    if (j->current != NULL && j->current->version_before <= after) found = j->current;
    *pin = (struct segment_pin){.segment = found};
    if (found == NULL) return false;
    found->pins++;
    pin->id = found->id;
    pin->bytes = found->bytes;
    pin->version_before = found->version_before;
    pin->last_version = found == j->current ? UINT64_MAX : found->last_version;
    return true;
}

void segment_unpin(struct segment_pin *pin, bool is_damaged)
{
    if (pin->segment == NULL) return;
    INVARIANT(pin->segment->pins > 0);
    pin->segment->pins--;
    if (is_damaged) pin->segment->is_damaged = true;
    pin->segment = NULL;
}

/* A later reader of the segment stops where no batch follows: its end will do. */
static void cut_unused(struct segment *s)
{
    struct error e;
    if (s->file.fd < 0 || s->used >= s->bytes) return;
    if (file_truncate(&s->file, s->used, &e) != OK) log_warning("journal: %s", e.text);
}

void segments_close(struct file_journal *j)
{
    while (j->retained != NULL) {
        struct segment *next = j->retained->next;
        segment_free(j->retained);
        j->retained = next;
    }
    while (j->spares != NULL) segment_free(spare_take(j));
    if (j->current != NULL && j->is_closed_clean) cut_unused(j->current);
    if (j->current != NULL) segment_free(j->current);
}
