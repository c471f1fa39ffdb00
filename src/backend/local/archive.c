/* archive: see archive.h. Each change of the manifest takes the lock and reads the manifest anew,
 * as other servers and restores write it too. A file gets its name first and its line then; what is
 * too old loses its line first. Figures for other threads are a copy under a mutex. */
#include "backend/local/archive.h"

#include <pthread.h>
#include <stdio.h>

#include "backend/local/lineage.h"
#include "backend/local/sqlite_store.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"

#define NICE 10
#define SEGMENT_BYTES_MAX (4ULL << 30)
#define ARCHIVE_NEW_BASE "-base.new"

struct archive {
    char *dir; /* owned */
    uint32_t timeline;
    uint8_t database_id[DATABASE_ID_BYTES];
    struct worker *worker;    /* NULL before archive_start */
    struct manifest manifest; /* as this server last read or wrote it; its own jobs alone, once
                               * they run */
    bool is_stopping;         /* atomic */
    pthread_mutex_t lock;     /* guards what follows */
    struct archive_stats stats;
};

/* ---- changing the manifest; the jobs' thread ---- */

static void count_up(struct archive *a)
{
    const struct manifest *m = &a->manifest;
    struct archive_stats s = {.segments = m->segment_count, .bases = m->base_count};
    struct manifest_plan plan;
    for (size_t i = 0; i < m->segment_count; i++) {
        s.bytes += m->segments[i].bytes;
        if (m->segments[i].timeline == a->timeline && m->segments[i].last_ms > s.time_ms) {
            s.time_ms = m->segments[i].last_ms;
        }
    }
    for (size_t i = 0; i < m->base_count; i++) {
        const struct manifest_base *b = &m->bases[i];
        s.bytes += b->bytes;
        if (b->timeline != a->timeline || b->version < s.base_version) continue;
        s.base_version = b->version;
        s.base_ms = b->time_ms;
    }
    manifest_plan(m, a->timeline, UINT64_MAX, INT64_MAX, &plan);
    s.version = plan.version;
    manifest_plan_fini(&plan);
    pthread_mutex_lock(&a->lock);
    s.failures = a->stats.failures;
    a->stats = s;
    pthread_mutex_unlock(&a->lock);
}

static void note_result(struct archive *a, enum err result, const struct error *e)
{
    if (result == OK) {
        count_up(a);
        return;
    }
    pthread_mutex_lock(&a->lock);
    a->stats.failures++;
    a->stats.is_failing = true;
    snprintf(a->stats.error, sizeof a->stats.error, "%s", e->text);
    pthread_mutex_unlock(&a->lock);
}

/* Under the lock, what others have written is read first. */
static enum err manifest_begin(struct archive *a, int *fd, struct error *e)
{
    struct manifest fresh;
    enum err r = archive_lock(a->dir, fd, e);
    if (r != OK) return r;
    r = manifest_read(a->dir, &fresh, e);
    if (r == OK && manifest_timeline(&fresh, a->timeline) == NULL) {
        bool is_gone = fresh.timeline_count == 0;
        manifest_fini(&fresh);
        r = error_set(e, ERR_IO, "%s/manifest %s", a->dir,
                      is_gone ? "is missing" : "cannot read this database");
    }
    if (r != OK) {
        file_unlock(*fd);
        return r;
    }
    manifest_fini(&a->manifest);
    a->manifest = fresh;
    return OK;
}

static void remove_file(const char *path)
{
    struct error e;
    if (file_exists(path) && file_remove(path, &e) != OK) log_warning("archive: %s", e.text);
}

/* ---- segments ---- */

static enum err copy_checked(struct archive_segment *k, const char *part, struct error *e)
{
    struct archive *a = k->archive;
    struct buf bytes;
    struct file f = {.fd = -1};
    struct segment_walk walk = {.id = k->id, .before = k->about.before, .last = k->about.last};
    buf_init(&bytes);
    enum err r = file_read_all(k->source, &bytes, SEGMENT_BYTES_MAX, e);
    if (r == OK) {
        struct error why;
        r = segment_walk(&walk, buf_slice(&bytes), &why);
        if (r != OK) r = error_set(e, r, "%s: %s", k->source, why.text);
        k->is_damaged = r == ERR_CORRUPT;
    }
    struct slice used = slice_of(bytes.data, r == OK ? walk.end : 0);
    if (r == OK) r = file_open(&f, part, FILE_WRITE_NEW, e);
    if (r == OK) r = file_write_at(&f, 0, used, e);
    if (r == OK) r = file_sync(&f, e);
    file_close(&f);
    if (r == OK) {
        k->about.timeline = a->timeline;
        k->about.bytes = used.len;
        k->about.sum = checksum_bytes(used);
        k->about.last_ms = walk.last_ms;
    }
    buf_fini(&bytes);
    return r;
}

/* The file gets its name and the manifest its line. */
static enum err publish(struct archive *a, const char *part, const char *path,
                        void (*add)(struct archive *a, void *item), void *item, struct error *e)
{
    int fd = -1;
    enum err r = manifest_begin(a, &fd, e);
    if (r != OK) return r;
    r = file_rename(part, path, e);
    if (r == OK) r = dir_sync(a->dir, e);
    if (r == OK) {
        add(a, item);
        r = manifest_write(a->dir, &a->manifest, e);
    }
    file_unlock(fd);
    return r;
}

static void add_segment(struct archive *a, void *item)
{
    const struct manifest_segment *s = item;
    struct manifest_segment *old = manifest_segment(&a->manifest, s->timeline, s->number);
    if (old != NULL) {
        *old = *s;
    } else {
        manifest_add_segment(&a->manifest, s);
    }
}

enum err archive_segment_now(struct archive *a, struct archive_segment *k)
{
    struct buf path;
    struct buf part;
    buf_init(&path);
    buf_init(&part);
    k->archive = a;
    k->about.timeline = a->timeline;
    manifest_segment_path(&path, a->dir, &k->about);
    buf_printf(&part, "%s.part", (char *)path.data);
    buf_append_byte(&part, '\0');
    buf_require(&part);
    k->result = copy_checked(k, (char *)part.data, &k->error);
    if (k->result == OK) {
        k->result = publish(a, (char *)part.data, (char *)path.data, add_segment, &k->about,
                            &k->error);
    }
    if (k->result != OK) remove_file((char *)part.data);
    note_result(a, k->result, &k->error);
    buf_fini(&path);
    buf_fini(&part);
    return k->result;
}

static void segment_run(struct job *job)
{
    struct archive_segment *k = (struct archive_segment *)job;
    (void)!archive_segment_now(k->archive, k);
}

static void segment_done(struct job *job)
{
    struct archive_segment *k = (struct archive_segment *)job;
    k->done(k);
}

void archive_segment(struct archive *a, struct archive_segment *k)
{
    k->archive = a;
    k->job.run = segment_run;
    k->job.done = segment_done;
    worker_post(a->worker, &k->job);
}

/* ---- bases, and what goes with age ---- */

static void add_base(struct archive *a, void *item)
{
    const struct manifest_base *b = item;
    struct manifest_base copy = *b;
    size_t bytes = b->without_count * sizeof b->without[0];
    copy.without = bytes == 0 ? NULL : memcpy(mem_alloc(bytes), b->without, bytes);
    for (size_t i = 0; i < a->manifest.base_count; i++) {
        const struct manifest_base *old = &a->manifest.bases[i];
        if (old->timeline != b->timeline || old->version != b->version) continue;
        manifest_remove_base(&a->manifest, i);
        break;
    }
    manifest_add_base(&a->manifest, &copy);
}

/* How many bases are newer than this one. */
static unsigned newer_than(const struct manifest *m, const struct manifest_base *b)
{
    unsigned count = 0;
    for (size_t i = 0; i < m->base_count; i++) count += m->bases[i].time_ms > b->time_ms;
    return count;
}

/* The oldest base that stays: from the newest one that is not younger than the limit every later
 * moment can be built. NULL: all stay. */
static const struct manifest_base *oldest_kept(const struct manifest *m, int64_t limit_ms,
                                               unsigned keep)
{
    const struct manifest_base *kept = NULL;
    for (size_t i = 0; i < m->base_count; i++) {
        const struct manifest_base *b = &m->bases[i];
        if (b->time_ms > limit_ms || newer_than(m, b) + 1 < keep) continue;
        if (kept == NULL || b->time_ms > kept->time_ms) kept = b;
    }
    return kept;
}

/* Is the segment of no use when the archive begins with this base? */
static bool is_before(const struct manifest *m, const struct manifest_segment *s,
                      const struct manifest_base *first)
{
    const struct manifest_timeline *own = manifest_timeline(m, s->timeline);
    bool is_older = s->last <= first->version;
    /* What other timelines did after it was made goes with its time. */
    bool is_aside = own != NULL && own->start > first->version;
    return s->last_ms <= first->time_ms && (is_older || is_aside);
}

static void forget_path(struct buf *list, const struct buf *path)
{
    buf_append(list, path->data, path->len); /* NUL-ended each */
}

/* Takes what is too old off the manifest and puts its paths into `gone`. */
static void take_old(struct archive *a, const struct archive_base *k, struct buf *gone)
{
    struct manifest *m = &a->manifest;
    struct buf path;
    if (k->retention_ms == 0) return;
    const struct manifest_base *kept = oldest_kept(m, clock_wall_ms() - k->retention_ms,
                                                   k->keep > 0 ? k->keep : 1);
    if (kept == NULL) return;
    struct manifest_base first = *kept;
    buf_init(&path);
    for (size_t i = m->base_count; i-- > 0;) {
        if (m->bases[i].time_ms >= first.time_ms) continue;
        manifest_base_path(&path, a->dir, &m->bases[i]);
        forget_path(gone, &path);
        manifest_remove_base(m, i);
    }
    for (size_t i = m->segment_count; i-- > 0;) {
        if (!is_before(m, &m->segments[i], &first)) continue;
        manifest_segment_path(&path, a->dir, &m->segments[i]);
        forget_path(gone, &path);
        manifest_remove_segment(m, i);
    }
    buf_fini(&path);
}

static enum err drop_old(struct archive *a, const struct archive_base *k, struct error *e)
{
    struct buf gone;
    int fd = -1;
    enum err r = manifest_begin(a, &fd, e);
    if (r != OK) return r;
    buf_init(&gone);
    take_old(a, k, &gone);
    if (gone.len > 0) r = manifest_write(a->dir, &a->manifest, e);
    size_t files = 0;
    for (size_t at = 0; r == OK && at < gone.len; files++) {
        const char *path = (const char *)gone.data + at;
        remove_file(path);
        at += strlen(path) + 1;
    }
    file_unlock(fd);
    if (files > 0) log_notice("archive: removed %zu files older than archive-retention", files);
    buf_fini(&gone);
    return r;
}

static void base_run(struct job *job)
{
    struct archive_base *k = (struct archive_base *)job;
    struct archive *a = k->archive;
    struct buf path;
    buf_init(&path);
    k->about.timeline = a->timeline;
    manifest_base_path(&path, a->dir, &k->about);
    k->result = OK;
    if (k->about.without_count > 0) {
        k->result = sqlite_omit(k->path, k->about.without, k->about.without_count, k->text_ops,
                                &k->error);
    }
    if (k->result == OK) {
        k->result = archive_sum(k->path, &a->is_stopping, &k->about.bytes, &k->about.sum,
                                &k->error);
    }
    if (k->result == OK) {
        k->result = publish(a, k->path, (char *)path.data, add_base, &k->about, &k->error);
    }
    if (k->result != OK) remove_file(k->path);
    if (k->result == OK) k->result = drop_old(a, k, &k->error);
    note_result(a, k->result, &k->error);
    buf_fini(&path);
}

static void base_done(struct job *job)
{
    struct archive_base *k = (struct archive_base *)job;
    k->done(k);
}

void archive_base(struct archive *a, struct archive_base *k)
{
    k->archive = a;
    k->job.run = base_run;
    k->job.done = base_done;
    worker_post(a->worker, &k->job);
}

/* ---- opening and closing ---- */

static bool ends_with(const char *name, const char *end)
{
    size_t len = strlen(name);
    return len >= strlen(end) && strcmp(name + len - strlen(end), end) == 0;
}

/* What this database left unfinished: others may be at work on timelines of theirs. */
static void remove_unfinished(void *arg, const char *name)
{
    const struct archive *a = arg;
    struct buf path;
    char own[16];
    snprintf(own, sizeof own, "%08u-", a->timeline);
    if (strncmp(name, own, strlen(own)) != 0) return;
    if (!ends_with(name, ".part") && !ends_with(name, ARCHIVE_NEW_BASE)) return;
    buf_init(&path);
    buf_printf(&path, "%s/%s", a->dir, name);
    buf_append_byte(&path, '\0');
    buf_require(&path);
    remove_file((char *)path.data);
    buf_fini(&path);
}

/* The database must be the one of its timeline; a new archive learns of it. */
static enum err archive_join(struct archive *a, const struct lineage *l, struct error *e)
{
    const struct manifest_timeline *own = manifest_timeline(&a->manifest, a->timeline);
    if (a->manifest.timeline_count == 0) {
        struct manifest_timeline first = {.number = a->timeline, .made_ms = clock_wall_ms()};
        if (l->count > 0) first.start = l->gaps[l->count - 1].start;
        memcpy(first.database_id, a->database_id, DATABASE_ID_BYTES);
        manifest_add_timeline(&a->manifest, &first);
        return manifest_write(a->dir, &a->manifest, e);
    }
    if (own != NULL && memcmp(own->database_id, a->database_id, DATABASE_ID_BYTES) == 0) return OK;
    return error_set(e, ERR_CORRUPT,
                     "archive-dir %s contains the archive of another database; use an empty "
                     "directory, or restore it with `tupledctl restore`",
                     a->dir);
}

enum err archive_open(const struct archive_options *options, struct archive **out, struct error *e)
{
    struct archive *a = mem_new(sizeof *a);
    size_t len = strlen(options->dir) + 1;
    int fd = -1;
    *out = NULL;
    a->dir = memcpy(mem_alloc(len), options->dir, len);
    a->timeline = options->lineage->timeline;
    memcpy(a->database_id, options->database_id, DATABASE_ID_BYTES);
    pthread_mutex_init(&a->lock, NULL);
    enum err r = dir_make(a->dir, e);
    if (r == OK) r = archive_lock(a->dir, &fd, e);
    if (r == OK) {
        r = manifest_read(a->dir, &a->manifest, e);
        if (r == OK) r = archive_join(a, options->lineage, e);
        if (r == OK) r = dir_list(a->dir, remove_unfinished, a, e);
        file_unlock(fd);
    }
    if (r != OK) {
        archive_close(a);
        return r;
    }
    count_up(a);
    *out = a;
    return OK;
}

enum err archive_start(struct archive *a, const struct worker_options *options, struct error *e)
{
    struct worker_options mine = *options;
    mine.name = "archive";
    mine.nice = NICE;
    a->worker = worker_new(&mine);
    return a->worker != NULL ? OK : error_set(e, ERR_IO, "cannot start a thread");
}

bool archive_has(const struct archive *a, uint64_t number)
{
    return manifest_segment(&a->manifest, a->timeline, number) != NULL;
}

uint64_t archive_reach(const struct archive *a)
{
    return a->stats.version;
}

bool archive_poll(struct archive *a)
{
    return worker_poll(a->worker);
}

void archive_drain(struct archive *a)
{
    __atomic_store_n(&a->is_stopping, true, __ATOMIC_RELAXED);
    worker_drain(a->worker);
    while (worker_poll(a->worker)) continue;
}

void archive_close(struct archive *a)
{
    if (a == NULL) return;
    __atomic_store_n(&a->is_stopping, true, __ATOMIC_RELAXED);
    worker_free(a->worker);
    manifest_fini(&a->manifest);
    pthread_mutex_destroy(&a->lock);
    mem_free(a->dir);
    mem_free(a);
}

void archive_stats(struct archive *a, struct archive_stats *out)
{
    pthread_mutex_lock(&a->lock);
    *out = a->stats;
    pthread_mutex_unlock(&a->lock);
}

bool archive_is_there(const struct archive *a, struct error *e)
{
    struct buf path;
    buf_init(&path);
    buf_printf(&path, "%s/manifest", a->dir);
    buf_append_byte(&path, '\0');
    buf_require(&path);
    bool is_there = file_exists((char *)path.data);
    buf_fini(&path);
    if (!is_there) (void)error_set(e, ERR_IO, "%s/manifest is missing", a->dir);
    return is_there;
}

void archive_base_path(const struct archive *a, struct buf *out)
{
    buf_clear(out, SIZE_MAX);
    buf_printf(out, "%s/%08u" ARCHIVE_NEW_BASE, a->dir, a->timeline);
    buf_append_byte(out, '\0');
    buf_require(out);
}
