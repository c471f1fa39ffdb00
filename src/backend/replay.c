/* replay: what the journal brings becomes memtables: at a start what it holds beyond the store, and
 * what another process commits, where it follows that. */
#include "backend/pipeline_int.h"

#define FROZEN_MAX 2     /* memtables waiting for the store while replaying */
#define TELL_EVERY 1024u /* transactions */

struct replay {
    struct journal_replay base; /* first */
    uint64_t transactions;
};

/* The first is told too: what comes next may take long. */
static void replay_tell(struct replay *r)
{
    struct pipeline *p = r->base.arg;
    bool is_time = r->transactions % TELL_EVERY == 0;
    r->transactions++;
    if (is_time && p->options.on_replay != NULL) {
        p->options.on_replay(p->options.arg, r->transactions);
    }
}

/* Memory stays bounded during a long replay: beyond a few memtables the store must catch up. */
static enum err replay_make_room(struct pipeline *p, struct error *e)
{
    if (memtable_bytes(p->active) < p->options.memtable_bytes) return OK;
    pipeline_freeze(p);
    pipeline_retire_slice(p, SIZE_MAX);
    pipeline_apply_next(p);
    while (p->frozen_count > FROZEN_MAX) {
        worker_drain(p->store_worker);
        while (worker_poll(p->store_worker)) continue;
        pipeline_retire_slice(p, SIZE_MAX);
        if (p->apply_failures > 0) {
            /* A full disk is no reason to refuse reads: go on in memory. There is not much more
             * than write_buffer_bytes to replay, admission saw to that. */
            if (pipeline_unapplied_bytes(p) < 2 * p->options.write_buffer_bytes) return OK;
            *e = p->apply_error;
            return p->apply_error.code;
        }
        pipeline_apply_next(p);
    }
    return OK;
}

/* It becomes part of the newest state. */
static enum err remember_txn(struct pipeline *p, const struct txn_view *txn, struct error *e)
{
    struct slice rest = txn->bytes;
    struct mutation mu;
    uint32_t seen = 0;
    while (mutation_read(&rest, &mu)) {
        if (mu.key.len < KEY_HEAD_BYTES) {
            return error_set(e, ERR_CORRUPT, "version %llu has a key of %zu bytes",
                             (unsigned long long)txn->version, mu.key.len);
        }
        pipeline_remember(p, &mu, NULL, txn->version);
        seen++;
    }
    if (seen != txn->mutations || rest.len != 0) {
        return error_set(e, ERR_CORRUPT, "version %llu has a malformed record",
                         (unsigned long long)txn->version);
    }
    p->version_newest = txn->version;
    return OK;
}

static enum err take_txn(struct journal_replay *r, struct txn_view *txn, struct error *e)
{
    struct pipeline *p = r->arg;
    enum err result = remember_txn(p, txn, e);
    if (result != OK) return result;
    replay_tell((struct replay *)r);
    return replay_make_room(p, e);
}

enum err pipeline_followed(struct journal *j, struct txn_view *txn, struct error *e)
{
    struct pipeline *p = j->owner.arg;
    const struct backend *b = &p->base;
    enum err r = remember_txn(p, txn, e);
    if (r != OK) return r;
    p->version_next = txn->version + 1;
    steady_at_least(&p->time, txn->time_ms);
    return b->on_followed != NULL ? b->on_followed(b->on_followed_arg, txn, e) : OK;
}

enum err pipeline_replay(struct pipeline *p, struct error *e)
{
    struct replay replay = {.base = {.after = p->applied, .take = take_txn, .arg = p}};
    p->version_newest = p->applied;
    enum err r = p->journal->ops->start(p->journal, &replay.base, e);
    if (r != OK) return r;
    steady_at_least(&p->time, replay.base.time_ms);
    p->version_next = replay.base.version_next;
    p->is_started = true;
    p->journal->ops->release(p->journal, p->applied, steady_now_ms(&p->time));
    return OK;
}
