/* restore: plan, base, replay, new timeline, and at the end the rename that makes it visible. The
 * timeline is noted in the archive before that: a restore that stops in between leaves one that has
 * nothing, which does no harm. */
#include "offline/restore.h"

#include <stdio.h>

#include "backend/local/archive.h"
#include "backend/local/archive_journal.h"
#include "backend/local/file_journal.h"
#include "backend/local/lineage.h"
#include "backend/local/sqlite_store.h"
#include "backend/pipeline.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/random.h"
#include "search/text_ops.h"

#define COPY_BYTES (1u << 20)
#define MEMTABLE_BYTES (64u << 20)
#define STORE_CACHE_BYTES (64u << 20)

struct restoring {
    struct restore *k;
    struct manifest manifest;
    struct manifest_plan plan;
    struct archive_replay replay;
    uint64_t bytes_total, base_bytes;
    struct buf part;  /* the directory while it is built; NUL-ended */
    struct buf store; /* tupled.db there; NUL-ended */
};

/* ---- what is to be read ---- */

/* The timeline that was written to last: of restores that were only looked at there is nothing. */
static uint32_t timeline_newest(const struct manifest *m)
{
    uint32_t timeline = m->timelines[0].number;
    int64_t newest_ms = INT64_MIN;
    for (size_t i = 0; i < m->segment_count; i++) {
        if (m->segments[i].last_ms < newest_ms) continue;
        newest_ms = m->segments[i].last_ms;
        timeline = m->segments[i].timeline;
    }
    for (size_t i = 0; i < m->base_count; i++) {
        if (m->bases[i].time_ms <= newest_ms) continue;
        newest_ms = m->bases[i].time_ms;
        timeline = m->bases[i].timeline;
    }
    return timeline;
}

static enum err choose_timeline(struct restoring *x, struct error *e)
{
    struct restore *k = x->k;
    const struct manifest *m = &x->manifest;
    if (m->timeline_count == 0) {
        return error_set(e, ERR_SYNTAX, "%s is not an archive: it has no file `manifest`", k->from);
    }
    k->timeline_from = k->timeline;
    if (k->timeline_from == 0 && k->has_version) {
        const struct manifest_timeline *t = manifest_timeline_of(m, k->version);
        k->timeline_from = t != NULL ? t->number : 0;
    }
    if (k->timeline_from == 0) k->timeline_from = timeline_newest(m);
    if (manifest_timeline(m, k->timeline_from) != NULL) return OK;
    return error_set(e, ERR_SYNTAX, "%s has no timeline %u", k->from, k->timeline_from);
}

/* The oldest moment that can be restored. */
static enum err refuse_early(const struct restoring *x, struct error *e)
{
    const struct manifest_base *oldest = NULL;
    for (size_t i = 0; i < x->manifest.base_count; i++) {
        const struct manifest_base *b = &x->manifest.bases[i];
        if (oldest == NULL || b->version < oldest->version) oldest = b;
    }
    if (oldest == NULL) {
        return error_set(e, ERR_SYNTAX,
                         "%s has no base backup, and its segments do not reach back to the first "
                         "commit; KV.ARCHIVE BASE makes a base backup",
                         x->k->from);
    }
    return error_set(e, ERR_SYNTAX,
                     "%s does not reach back that far; its oldest version is %016llx0000",
                     x->k->from, (unsigned long long)oldest->version);
}

static enum err make_plan(struct restoring *x, struct error *e)
{
    struct restore *k = x->k;
    struct manifest_plan *p = &x->plan;
    uint64_t until = k->has_version ? k->version : UINT64_MAX;
    int64_t until_ms = k->has_time ? k->time_ms : INT64_MAX;
    manifest_plan(&x->manifest, k->timeline_from, until, until_ms, p);
    if (p->base == NULL && p->count == 0) return refuse_early(x, e);
    if (p->base == NULL && p->steps[0].segment->before != 0) return refuse_early(x, e);
    if (p->missing_timeline != 0) {
        return error_set(e, ERR_CORRUPT,
                         "%s: segment %llu of timeline %u is missing, but there are later ones; "
                         "everything up to version %016llx0000 is available: restore with "
                         "--version %016llx0000",
                         k->from, (unsigned long long)p->missing, p->missing_timeline,
                         (unsigned long long)p->version, (unsigned long long)p->version);
    }
    if (k->has_version && p->version < k->version) {
        return error_set(e, ERR_SYNTAX, "%s ends at version %016llx0000, before %016llx0000",
                         k->from, (unsigned long long)p->version, (unsigned long long)k->version);
    }
    x->base_bytes = p->base != NULL ? p->base->bytes : 0;
    x->bytes_total = x->base_bytes;
    for (size_t i = 0; i < p->count; i++) x->bytes_total += p->steps[i].segment->bytes;
    k->base_version = p->base != NULL ? p->base->version : 0;
    return OK;
}

/* ---- the directory ---- */

struct dir_content {
    const char *dir;
    bool removes;
    size_t count;
    enum err result;
    struct error *error;
};

static void content_add(void *arg, const char *name)
{
    struct dir_content *d = arg;
    struct buf path;
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) return;
    d->count++;
    if (!d->removes || d->result != OK) return;
    buf_init(&path);
    buf_printf(&path, "%s/%s", d->dir, name);
    buf_append_byte(&path, '\0');
    buf_require(&path);
    d->result = file_remove((char *)path.data, d->error);
    buf_fini(&path);
}

static enum err check_place(const struct restoring *x, struct error *e)
{
    struct dir_content d = {.dir = x->k->to, .error = e};
    if (!file_exists(x->k->to)) return OK;
    enum err r = dir_list(x->k->to, content_add, &d, e);
    if (r != OK || d.count == 0) return r;
    return error_set(e, ERR_SYNTAX, "%s is not empty: a restore needs a new directory", x->k->to);
}

/* What a restore that was killed left there is removed. */
static enum err make_part(struct restoring *x, struct error *e)
{
    const char *part = (const char *)x->part.data;
    struct dir_content d = {.dir = part, .removes = true, .error = e};
    enum err r = dir_make(part, e);
    if (r == OK) r = dir_list(part, content_add, &d, e);
    return r == OK ? d.result : r;
}

static enum err copy_base(struct restoring *x, struct error *e)
{
    const struct manifest_base *b = x->plan.base;
    struct buf from;
    struct file in = {.fd = -1};
    struct file out = {.fd = -1};
    uint64_t bytes = 0;
    uint64_t sum = 0;
    uint8_t *chunk = mem_alloc(COPY_BYTES);
    buf_init(&from);
    manifest_base_path(&from, x->k->from, b);
    const char *path = (const char *)from.data;
    enum err r = file_exists(path) ? archive_sum(path, NULL, &bytes, &sum, e)
                                   : error_set(e, ERR_CORRUPT, "%s is missing", path);
    if (r == OK && (bytes != b->bytes || sum != b->sum)) {
        r = error_set(e, ERR_CORRUPT, "%s is damaged: checksum mismatch", path);
    }
    if (r == OK) r = file_open(&in, path, FILE_READ, e);
    if (r == OK) r = file_open(&out, (const char *)x->store.data, FILE_WRITE_NEW, e);
    for (uint64_t at = 0; r == OK && at < bytes; at += COPY_BYTES) {
        size_t n = bytes - at < COPY_BYTES ? (size_t)(bytes - at) : COPY_BYTES;
        r = file_read_at(&in, at, chunk, n, e);
        if (r == OK) r = file_write_at(&out, at, slice_of(chunk, n), e);
        if (x->k->progress != NULL) x->k->progress(x->k->arg, at + n, x->bytes_total);
    }
    if (r == OK) r = file_sync(&out, e);
    file_close(&in);
    file_close(&out);
    buf_fini(&from);
    mem_free(chunk);
    return r;
}

/* ---- replaying ---- */

static void on_wake(void *arg)
{
    (void)arg;
}

__attribute__((noreturn)) static void on_fatal(void *arg, const struct error *e)
{
    (void)arg;
    die("%s", e->text);
}

static void on_progress(void *arg, uint64_t bytes)
{
    const struct restoring *x = arg;
    x->k->progress(x->k->arg, x->base_bytes + bytes, x->bytes_total);
}

/* A base that is newer than its commits' times tell is of no use: it was not chosen. */
static enum err replay(struct restoring *x, struct lineage *lineage, struct error *e)
{
    struct restore *k = x->k;
    struct store *store = NULL;
    struct backend *b = NULL;
    struct sqlite_options store_options = {.path = (const char *)x->store.data,
                                           .cache_bytes = STORE_CACHE_BYTES,
                                           .reader_cache_bytes = COPY_BYTES,
                                           .text_ops = &search_text_ops};
    struct pipeline_options options = {.memtable_bytes = MEMTABLE_BYTES,
                                       .memtable_age_ms = INT32_MAX,
                                       .write_buffer_bytes = 4ULL * MEMTABLE_BYTES,
                                       .query_threads = 1,
                                       .scan_ms_max = INT32_MAX,
                                       .wake = on_wake,
                                       .on_fatal = on_fatal};
    x->replay = (struct archive_replay){
        .dir = k->from,
        .manifest = &x->manifest,
        .plan = &x->plan,
        .until = k->has_version ? k->version : UINT64_MAX,
        .until_ms = k->has_time ? k->time_ms : INT64_MAX,
        .progress = k->progress != NULL ? on_progress : NULL,
        .arg = x,
    };
    enum err r = sqlite_open(&store_options, &store, e);
    if (r != OK) return r;
    struct slice text;
    struct buf own;
    buf_init(&own);
    lineage_format(sqlite_lineage(store), &own);
    buf_require(&own);
    text = buf_slice(&own);
    if (!lineage_read(text, lineage)) die("cannot read a lineage");
    buf_fini(&own);
    r = pipeline_open(&options, archive_journal_new(&x->replay), store, &b, e);
    return r == OK ? backend_close(b, e) : r;
}

/* ---- the new timeline ---- */

/* Adds to the lineage of the base those of the timelines after it. */
static void follow(const struct manifest *m, uint32_t timeline, struct lineage *l)
{
    const struct manifest_timeline *t = manifest_timeline(m, timeline);
    if (t == NULL || timeline == l->timeline || t->parent == 0) return;
    follow(m, t->parent, l);
    lineage_fork(l, timeline, t->fork, t->start);
}

static enum err add_timeline(struct restoring *x, const uint8_t *id, struct error *e)
{
    struct restore *k = x->k;
    struct manifest fresh;
    int fd = -1;
    enum err r = archive_lock(k->from, &fd, e);
    if (r != OK) return r;
    r = manifest_read(k->from, &fresh, e);
    if (r == OK) {
        struct manifest_timeline t = {.parent = k->timeline_from,
                                      .fork = k->reached,
                                      .start = manifest_next_start(&fresh),
                                      .made_ms = clock_wall_ms()};
        for (size_t i = 0; i < fresh.timeline_count; i++) {
            if (fresh.timelines[i].number > t.number) t.number = fresh.timelines[i].number;
        }
        t.number++;
        memcpy(t.database_id, id, DATABASE_ID_BYTES);
        manifest_add_timeline(&fresh, &t);
        r = manifest_write(k->from, &fresh, e);
        k->timeline_new = t.number;
        k->start = t.start;
        manifest_fini(&fresh);
    }
    file_unlock(fd);
    return r;
}

static enum err write_file(const struct restoring *x, const char *name, struct slice text,
                           struct error *e)
{
    struct buf path;
    buf_init(&path);
    buf_printf(&path, "%s/%s", (const char *)x->part.data, name);
    buf_append_byte(&path, '\0');
    buf_require(&path);
    enum err r = file_write_all((char *)path.data, text, e);
    buf_fini(&path);
    return r;
}

static enum err leave_notes(const struct restoring *x, struct error *e)
{
    const struct restore *k = x->k;
    char text[64];
    enum err r = OK;
    if (k->is_frozen) {
        int64_t at_ms = k->has_time ? k->time_ms : k->reached_ms;
        snprintf(text, sizeof text, "%llu %lld\n", (unsigned long long)k->reached,
                 (long long)at_ms);
        r = write_file(x, RESTORE_FROZEN_FILE, slice_str(text), e);
    }
    if (r == OK && k->holds_queues) {
        r = write_file(x, RESTORE_HELD_FILE, slice_of(NULL, 0), e);
    }
    return r;
}

static enum err finish(struct restoring *x, struct lineage *l, struct error *e)
{
    struct restore *k = x->k;
    uint8_t id[DATABASE_ID_BYTES];
    const char *part = (const char *)x->part.data;
    random_system(id, sizeof id);
    enum err r = add_timeline(x, id, e);
    if (r != OK) return r;
    follow(&x->manifest, k->timeline_from, l);
    lineage_fork(l, k->timeline_new, k->reached, k->start);
    r = sqlite_own((const char *)x->store.data, id, l, e);
    if (r == OK) r = versions_file_write(part, id, k->start, e);
    if (r == OK) r = leave_notes(x, e);
    if (r == OK) r = dir_sync(part, e);
    if (r == OK) r = file_rename_synced(part, k->to, e);
    return r;
}

/* ---- all of it ---- */

static void note_reached(struct restoring *x)
{
    struct restore *k = x->k;
    const struct manifest_base *b = x->plan.base;
    k->commits = x->replay.commits;
    k->reached = x->replay.commits > 0 ? x->replay.version : b != NULL ? b->version : 0;
    k->reached_ms = x->replay.commits > 0 ? x->replay.time_ms : b != NULL ? b->time_ms : 0;
    k->is_short = k->has_time && !x->replay.is_reached;
}

static enum err build(struct restoring *x, struct error *e)
{
    struct lineage lineage;
    lineage_init(&lineage);
    enum err r = make_part(x, e);
    if (r == OK && x->plan.base != NULL) r = copy_base(x, e);
    if (r == OK) r = replay(x, &lineage, e);
    if (r == OK) {
        note_reached(x);
        r = finish(x, &lineage, e);
    }
    lineage_fini(&lineage);
    return r;
}

enum err restore_run(struct restore *k, struct error *e)
{
    struct restoring x = {.k = k};
    buf_init(&x.part);
    buf_init(&x.store);
    buf_printf(&x.part, "%s.restoring", k->to);
    buf_append_byte(&x.part, '\0');
    buf_require(&x.part);
    buf_printf(&x.store, "%s/tupled.db", (const char *)x.part.data);
    buf_append_byte(&x.store, '\0');
    buf_require(&x.store);
    enum err r = check_place(&x, e);
    if (r == OK) r = manifest_read(k->from, &x.manifest, e);
    if (r == OK) r = choose_timeline(&x, e);
    if (r == OK) r = make_plan(&x, e);
    if (r == OK) r = build(&x, e);
    manifest_plan_fini(&x.plan);
    manifest_fini(&x.manifest);
    buf_fini(&x.part);
    buf_fini(&x.store);
    return r;
}
