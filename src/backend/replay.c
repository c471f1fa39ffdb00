/* replay: what the journal brings becomes memtables: at a start what it holds beyond the store, and
 * what another process commits, where it follows that. */
#include "backend/pipeline_int.h"

#define FROZEN_MIN 2 /* memtables that may wait for the store, however small write_buffer_bytes */
#define TELL_EVERY 1024u /* transactions */
#define ANNOUNCED_MAX 16 /* mutations of a transaction: what is fetched too early is gone again */

/* The first is told too: what comes next may take long. */
static void replay_tell(struct journal_replay *r)
{
    const struct pipeline *p = r->arg;
    bool is_time = r->transactions % TELL_EVERY == 0;
    r->transactions++;
    if (is_time && p->options.on_replay != NULL) {
        p->options.on_replay(p->options.arg, r->transactions);
    }
}

/* Memory stays bounded during a long replay: beyond what writers may have unapplied too the store
 * must catch up. It works meanwhile. */
static enum err replay_make_room(struct pipeline *p, struct error *e)
{
    if (memtable_bytes(p->newest.active) < p->options.memtable_bytes) return OK;
    pipeline_freeze(p);
    pipeline_retire_slice(p, SIZE_MAX);
    pipeline_apply_next(p);
    while (p->newest.frozen_count > FROZEN_MIN &&
           pipeline_unapplied_bytes(p) >= p->options.write_buffer_bytes) {
        worker_drain(p->workers.store);
        while (worker_poll(p->workers.store)) continue;
        pipeline_retire_slice(p, SIZE_MAX);
        if (p->apply.failures > 0) {
            /* A full disk is no reason to refuse reads: go on in memory. There is not much more
             * than write_buffer_bytes to replay, admission saw to that. */
            if (pipeline_unapplied_bytes(p) < 2 * p->options.write_buffer_bytes) return OK;
            *e = p->apply.error;
            return p->apply.error.code;
        }
        pipeline_apply_next(p);
    }
    return OK;
}

/* It becomes part of the newest state. `values`: of patches; NULL = there are none. */
static enum err remember_txn(struct pipeline *p, const struct txn_view *txn,
                             const struct patch_values *values, struct error *e)
{
    struct slice rest = txn->bytes;
    struct mutation mu;
    uint32_t seen = 0;
    while (mutation_read(&rest, &mu)) {
        if (mu.key.len < KEY_HEAD_BYTES) {
            return error_set(e, ERR_CORRUPT, "version %llu has a key of %zu bytes",
                             (unsigned long long)txn->version, mu.key.len);
        }
        if (mu.kind == MUTATION_PATCH) {
            bool is_there = values != NULL &&
                            patch_values_get(values, mu.key, txn->version, &mu.value);
            if (!is_there) break;
            mu.kind = MUTATION_SET;
        }
        pipeline_remember(p, &(struct batch){.items = &mu, .count = 1}, txn->version);
        seen++;
    }
    if (seen != txn->mutations || rest.len != 0) {
        return error_set(e, ERR_CORRUPT, "version %llu has a malformed record",
                         (unsigned long long)txn->version);
    }
    p->log.version_newest = txn->version;
    return OK;
}

static enum err take_txn(struct journal_replay *r, struct txn_view *txn, struct error *e)
{
    struct pipeline *p = r->arg;
    enum err result = remember_txn(p, txn, &r->values, e);
    if (result != OK) return result;
    replay_tell(r);
    return replay_make_room(p, e);
}

/* Each of the tables that will be searched for a key costs a wait for memory: they are asked for
 * together, early. */
static void announce_txn(struct journal_replay *r, const struct txn_view *txn)
{
    const struct pipeline *p = r->arg;
    struct slice rest = txn->bytes;
    struct mutation mu;
    for (unsigned i = 0; i < ANNOUNCED_MAX && mutation_read(&rest, &mu); i++) {
        uint64_t hash = hash_bytes(mu.key);
        for (const struct memtable *m = p->newest.active; m != NULL; m = m->older) {
            htab_prefetch(&m->points, hash);
        }
    }
}

enum err pipeline_followed(struct journal *j, struct txn_view *txn, struct error *e)
{
    struct pipeline *p = j->owner.arg;
    const struct backend *b = &p->base;
    enum err r = remember_txn(p, txn, NULL, e);
    if (r != OK) return r;
    p->log.version_next = txn->version + 1;
    steady_at_least(&p->log.time, txn->time_ms);
    return b->on_followed != NULL ? b->on_followed(b->on_followed_arg, txn, e) : OK;
}

enum err pipeline_replay(struct pipeline *p, struct error *e)
{
    struct journal_replay replay = {
        .after = p->stored.applied, .take = take_txn, .announce = announce_txn, .arg = p};
    p->log.version_newest = p->stored.applied;
    patch_values_init(&replay.values);
    enum err r = p->log.journal->ops->start(p->log.journal, &replay, e);
    patch_values_fini(&replay.values);
    if (r != OK) return r;
    steady_at_least(&p->log.time, replay.time_ms);
    p->log.version_next = replay.version_next;
    p->log.is_started = true;
    /* Only the store knows which of these keys it had: until it has them, they count twice. */
    pipeline_freeze(p);
    p->log.journal->ops->release(p->log.journal, p->stored.applied, steady_now_ms(&p->log.time));
    return OK;
}
