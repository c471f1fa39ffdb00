/* journal: what all journals have in common: a transaction into the batch that is being filled, and
 * the replay of a batch, which announces transactions ahead, so that their memory is fetched in
 * time. */
#include "backend/journal.h"

void journal_append(struct journal *j, uint64_t version, const struct batch *batch,
                    const struct txn_patches *patches)
{
    struct journal_batch *b = j->filling;
    INVARIANT(version > j->version_last);
    if (b->first_version == 0) b->first_version = version;
    b->last_version = version;
    b->time_ms = batch->time_ms;
    b->transactions++;
    txn_write(&b->bytes, version, batch, patches);
    j->version_last = version;
}

bool journal_patch(struct journal *j, uint64_t version, const struct mutation *mu,
                   const struct entry *base, struct patch *out)
{
    struct patch_write w = {.key = mu->key,
                            .value = mu->value,
                            .version = version,
                            .base = base,
                            .place = j->place,
                            .end = j->place + journal_filled(j)};
    return patch_log_add(j->patches, &w, out);
}

#define AHEAD 8 /* transactions announced before they are taken */

enum err journal_replay_batch(struct journal *j, struct journal_replay *r,
                              struct slice transactions, struct error *e)
{
    struct slice ahead = transactions;
    struct slice rest = transactions;
    struct txn_view next;
    struct txn_view txn = {.version = r->after};
    unsigned announced = 0;
    while (rest.len > 0) {
        for (; announced < AHEAD && txn_read(&ahead, &next); announced++) r->announce(r, &next);
        uint64_t before = txn.version;
        if (!txn_read(&rest, &txn)) {
            return error_set(e, ERR_CORRUPT, "cannot decode the journal after version %llu",
                             (unsigned long long)before);
        }
        announced--;
        enum err result = txn_values(&r->values, &txn, e);
        if (result == OK && txn.version > r->after) {
            j->synced = txn.version;
            result = r->take(r, &txn, e);
        }
        if (result != OK) return result;
    }
    return OK;
}
