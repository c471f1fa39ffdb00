/* archive_journal: replays the segments of a plan in order, up to the target, and leaves out the
 * databases that the base does not have. All else that a journal can be asked for is refused or
 * does nothing. */
#include "backend/local/archive_journal.h"

#include <stdio.h>

#include "backend/local/archive.h"
#include "base/file.h"
#include "base/mem.h"

#define SEGMENT_BYTES_MAX (4ULL << 30)

struct archive_journal {
    struct journal base; /* first */
    struct archive_replay *replay;
    struct journal_replay *taker; /* in `start` */
    uint64_t step_until;          /* of the segment that is being read */
    struct journal_batch unused;
    struct buf kept; /* of a transaction, without what is left out */
};

static struct archive_journal *archive_journal_of(struct journal *j)
{
    return (struct archive_journal *)j;
}

/* ---- reading ---- */

static bool is_left_out(const struct archive_replay *a, uint16_t database)
{
    const struct manifest_base *b = a->plan->base;
    for (size_t i = 0; b != NULL && i < b->without_count; i++) {
        if (b->without[i] == database) return true;
    }
    return false;
}

/* Without the mutations of databases that the base does not have: they would be parts of nothing.
 */
static void leave_out(struct archive_journal *j, struct txn_view *txn)
{
    struct archive_replay *a = j->replay;
    struct slice rest = txn->bytes;
    struct mutation mu;
    if (a->plan->base == NULL || a->plan->base->without_count == 0) return;
    buf_clear(&j->kept, SIZE_MAX);
    txn->mutations = 0;
    while (rest.len > 0) {
        const uint8_t *from = rest.data;
        if (!mutation_read(&rest, &mu)) break;
        if (mu.key.len >= KEY_HEAD_BYTES && is_left_out(a, key_database(mu.key))) continue;
        buf_append(&j->kept, from, (size_t)(rest.data - from));
        txn->mutations++;
    }
    buf_require(&j->kept);
    txn->bytes = buf_slice(&j->kept);
}

static enum err take_txn(struct segment_walk *w, struct txn_view *txn, struct error *e)
{
    struct archive_journal *j = w->arg;
    struct archive_replay *a = j->replay;
    if (txn->version > j->step_until) {
        w->is_over = true;
        a->is_reached = j->step_until == a->until;
        return OK;
    }
    if (txn->time_ms > a->until_ms) {
        w->is_over = a->is_reached = true;
        return OK;
    }
    enum err r = txn_values(&j->taker->values, txn, e);
    if (r != OK || txn->version <= j->taker->after) return r;
    a->version = txn->version;
    a->time_ms = txn->time_ms;
    a->commits++;
    j->base.synced = j->base.acknowledged = j->base.version_last = txn->version;
    leave_out(j, txn);
    return j->taker->take(j->taker, txn, e);
}

/* What is wrong with the file, and how far one could go without it. */
static enum err name_damage(const char *path, uint64_t version, struct error *e)
{
    struct error why = *e;
    return error_set(e, ERR_CORRUPT,
                     "%s: %s; everything up to version %016llx0000 is available: restore with "
                     "--version %016llx0000",
                     path, why.text, (unsigned long long)version, (unsigned long long)version);
}

static enum err read_segment(struct archive_journal *j, const struct manifest_segment *s,
                             struct error *e)
{
    const struct archive_replay *a = j->replay;
    const struct manifest_timeline *t = manifest_timeline(a->manifest, s->timeline);
    struct segment_walk walk = {.id = {.number = s->number},
                                .before = s->before,
                                .last = s->last,
                                .take = take_txn,
                                .arg = j};
    struct buf path;
    struct buf bytes;
    buf_init(&path);
    buf_init(&bytes);
    memcpy(walk.id.database_id, t->database_id, DATABASE_ID_BYTES);
    manifest_segment_path(&path, a->dir, s);
    walk.version = s->before;
    patch_values_clear(&j->taker->values);
    enum err r = file_exists((char *)path.data)
                     ? file_read_all((char *)path.data, &bytes, SEGMENT_BYTES_MAX, e)
                     : error_set(e, ERR_CORRUPT, "the file is missing");
    if (r == OK) r = segment_walk(&walk, buf_slice(&bytes), e);
    if (r == ERR_CORRUPT) r = name_damage((char *)path.data, walk.version, e);
    buf_fini(&path);
    buf_fini(&bytes);
    return r;
}

static enum err archive_journal_start(struct journal *journal, struct journal_replay *r,
                                      struct error *e)
{
    struct archive_journal *j = archive_journal_of(journal);
    struct archive_replay *a = j->replay;
    uint64_t bytes = 0;
    enum err result = OK;
    j->taker = r;
    j->base.filling = &j->unused;
    j->base.version_last = j->base.acknowledged = j->base.synced = r->after;
    for (size_t i = 0; i < a->plan->count && result == OK && !a->is_reached; i++) {
        const struct manifest_segment *s = a->plan->steps[i].segment;
        j->step_until = a->plan->steps[i].until < a->until ? a->plan->steps[i].until : a->until;
        if (s->last <= r->after) continue;
        result = read_segment(j, s, e);
        bytes += s->bytes;
        if (a->progress != NULL) a->progress(a->arg, bytes);
    }
    r->time_ms = a->time_ms;
    r->version_next = j->base.version_last + 1;
    return result;
}

/* ---- all else that a journal can be asked ---- */

static enum err nothing_more(struct journal *j, size_t bytes, struct error *e)
{
    (void)j;
    (void)bytes;
    return error_set(e, ERR_IO, "an archive is read-only");
}

static enum err no_version(struct journal *j, uint64_t next, struct error *e)
{
    return nothing_more(j, (size_t)next, e);
}

static void ignore(struct journal *j)
{
    (void)j;
}

static bool poll(struct journal *j)
{
    (void)j;
    return false;
}

static void tick(struct journal *j, int64_t time_ms)
{
    (void)j;
    (void)time_ms;
}

static void release(struct journal *j, uint64_t applied, int64_t time_ms)
{
    (void)j;
    (void)applied;
    (void)time_ms;
}

static uint64_t oldest(const struct journal *j)
{
    return j->version_last;
}

static bool no_read(struct journal *j, struct journal_read *r)
{
    (void)j;
    (void)r;
    return false;
}

static void ignore_read(struct journal *j, struct journal_read *r)
{
    (void)j;
    (void)r;
}

static void stats(const struct journal *j, struct journal_stats *out)
{
    (void)j;
    *out = (struct journal_stats){.bytes = 0};
}

static void archive_journal_abandon(struct journal *journal)
{
    struct archive_journal *j = archive_journal_of(journal);
    buf_fini(&j->kept);
    mem_free(j);
}

static enum err archive_journal_close(struct journal *j, uint64_t version_next, struct error *e)
{
    (void)version_next;
    (void)e;
    archive_journal_abandon(j);
    return OK;
}

struct journal *archive_journal_new(struct archive_replay *replay)
{
    static const struct journal_ops ops = {
        .start = archive_journal_start,
        .reserve = nothing_more,
        .submit = ignore,
        .want_sync = ignore,
        .settle = ignore,
        .poll = poll,
        .tick = tick,
        .release = release,
        .versions_reserve = no_version,
        .oldest = oldest,
        .read_begin = no_read,
        .read_run = ignore_read,
        .read_end = ignore_read,
        .stats = stats,
        .close = archive_journal_close,
        .abandon = archive_journal_abandon,
    };
    struct archive_journal *j = mem_new(sizeof *j);
    j->base.ops = &ops;
    j->base.is_always = true;
    j->replay = replay;
    buf_init(&j->kept);
    return &j->base;
}
