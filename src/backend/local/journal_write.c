/* journal_write: what the journal's threads do (file_journal.c): the batches of a job are sealed,
 * written and synced, past the page cache by one system call where that is possible (direct.h).
 */
#include "backend/local/file_journal_int.h"
#include "base/clock.h"

/* All batches at once, past the page cache. *is_done false, with OK: they are to be written
 * otherwise. */
static enum err write_direct(struct write_job *w, bool *is_done)
{
    const struct sealed_batch *first = w->batches;
    struct direct *d = w->direct;
    size_t bytes = 0;
    *is_done = false;
    if (first == NULL || !w->may_be_direct || w->unsynced != NULL) return OK;
    for (const struct sealed_batch *b = first; b != NULL; b = b->next) {
        if (b->segment != first->segment) return OK;
        bytes += b->base.bytes.len - b->header_at;
    }
    struct segment *s = first->segment;
    if (!direct_begin(d, &s->file, s->id.number, first->offset, bytes, s->bytes)) return OK;
    for (const struct sealed_batch *b = first; b != NULL; b = b->next) {
        direct_add(d,
                   slice_of(b->base.bytes.data + b->header_at, b->base.bytes.len - b->header_at));
    }
    return direct_end(d, is_done, &w->error);
}

/* Moving on to the next segment syncs the one left behind, whatever the durability: so at most one
 * has unsynced bytes, and a later sync of that one covers all. */
static enum err write_batches(struct write_job *w)
{
    enum err r = OK;
    for (struct sealed_batch *b = w->batches; b != NULL && r == OK; b = b->next) {
        if (w->unsynced != NULL && w->unsynced != b->segment) {
            r = file_sync(&w->unsynced->file, &w->error);
        }
        struct slice bytes = slice_of(b->base.bytes.data + b->header_at,
                                      b->base.bytes.len - b->header_at);
        if (r == OK) r = file_write_at(&b->segment->file, b->offset, bytes, &w->error);
        w->unsynced = b->segment;
    }
    if (r == OK && w->wants_sync && w->unsynced != NULL) {
        r = file_sync(&w->unsynced->file, &w->error);
        if (r == OK) w->unsynced = NULL;
    }
    return r;
}

void journal_write_run(struct job *job)
{
    struct write_job *w = (struct write_job *)job;
    int64_t begin_us = clock_mono_us();
    for (struct sealed_batch *b = w->batches; b != NULL; b = b->next) {
        batch_seal(b->base.bytes.data + JOURNAL_HEADER_BYTES, &b->header, &b->segment->id);
    }
    w->result = write_direct(w, &w->was_direct);
    if (w->result == OK && !w->was_direct) w->result = write_batches(w);
    w->sync_us = clock_mono_us() - begin_us;
}
