/* journal_archive: full segments go into the archive, oldest first, before they may be removed. A
 * segment in which something is counts as full after archive_ms, so that no commit waits longer for
 * its place in the archive.
 */
#include "backend/local/file_journal_int.h"
#include "base/clock.h"
#include "base/log.h"

#define RETRY_US 10000000

enum err journal_archive_start(struct file_journal *j, struct error *e)
{
    const struct journal_owner *owner = &j->base.owner;
    struct worker_options options = {
        .threads = owner->is_inline ? 0 : 1, .wake = owner->wake, .arg = owner->wake_arg};
    struct archive *a = j->options.archive;
    if (a == NULL) return OK;
    for (struct segment *s = j->retained; s != NULL; s = s->next) {
        s->is_archived = archive_has(a, s->id.number);
    }
    return archive_start(a, &options, e);
}

/* The oldest that is to be copied; NULL = none, or it is still being written. */
static struct segment *next_wanted(const struct file_journal *j)
{
    for (struct segment *s = j->retained; s != NULL; s = s->next) {
        if (s->last_version == s->version_before) s->is_archived = true;
        if (s->is_archived) continue;
        return s->batches_in_flight > 0 || s == j->unsynced ? NULL : s;
    }
    return NULL;
}

bool file_journal_archive_gap(const struct journal *journal)
{
    const struct file_journal *j = (const struct file_journal *)journal;
    const struct segment *s = j->retained;
    struct archive_stats stats;
    if (j->options.archive == NULL) return false;
    archive_stats(j->options.archive, &stats);
    while (s != NULL && s->is_archived) s = s->next;
    if (s == NULL) s = j->current;
    return s != NULL && s->version_before > stats.version;
}

static void describe(struct file_journal *j, struct segment *s)
{
    buf_clear(&j->archive_source, SIZE_MAX);
    journal_path(&j->archive_source, j->dir, s->id.number);
    j->archiving = (struct archive_segment){
        .source = (const char *)j->archive_source.data,
        .id = s->id,
        .about = {.number = s->id.number, .before = s->version_before, .last = s->last_version},
        .arg = j};
}

/* The first failure is told, and when it is over. A segment that is damaged can never be copied: it
 * is let go, and a base is needed. */
static void take_result(struct file_journal *j, struct segment *s)
{
    const struct archive_segment *k = &j->archiving;
    bool had_failed = j->archive_failed_us != 0;
    s->is_archived = k->result == OK || k->is_damaged;
    j->archive_failed_us = k->result == OK ? 0 : clock_mono_us();
    if (k->result == OK && had_failed) log_notice("archive: working again");
    if (k->result != OK && !had_failed) {
        log_warning("archive: %s%s", k->error.text,
                    k->is_damaged ? "; no later moment can be restored until there is a new base "
                                    "backup"
                                  : "; the journal keeps the segments until they are archived");
    }
}

static void on_copied(struct archive_segment *k)
{
    struct file_journal *j = k->arg;
    struct segment *s = j->archived;
    j->archived = NULL;
    s->pins--;
    take_result(j, s);
    if (k->result == OK) segment_shrink(j, s);
    journal_archive_try(j);
}

void journal_archive_try(struct file_journal *j)
{
    if (j->options.archive == NULL || j->archived != NULL || j->is_closing) return;
    if (j->archive_failed_us != 0 && clock_mono_us() - j->archive_failed_us < RETRY_US) return;
    struct segment *s = next_wanted(j);
    if (s == NULL) return;
    describe(j, s);
    j->archiving.done = on_copied;
    j->archived = s;
    s->pins++;
    archive_segment(j->options.archive, &j->archiving);
}

bool journal_archive_is_due(const struct file_journal *j, int64_t now_us)
{
    const struct segment *s = j->current;
    if (j->options.archive == NULL || s == NULL || j->spares == NULL) return false;
    if (s->last_version == s->version_before) return false;
    return now_us - s->current_us >= j->options.archive_ms * 1000;
}

/* False: it could not be, and those after it need not be tried. */
static bool copy_now(struct file_journal *j, struct segment *s)
{
    if (s->is_archived || s->last_version == s->version_before) return true;
    describe(j, s);
    enum err r = archive_segment_now(j->options.archive, &j->archiving);
    take_result(j, s);
    return r == OK;
}

void journal_archive_end(struct file_journal *j)
{
    struct archive *a = j->options.archive;
    bool goes_on = a != NULL && j->is_closed_clean;
    if (goes_on) archive_drain(a);
    for (struct segment *s = j->retained; s != NULL && goes_on; s = s->next) {
        goes_on = copy_now(j, s);
    }
    if (goes_on && j->current != NULL) (void)copy_now(j, j->current);
}
