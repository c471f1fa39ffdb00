/* remember: mutations become part of the newest state and of the counts. */
#include "backend/pipeline_int.h"

#define AT_ONCE 16 /* whose places in memory are fetched together */

/* What a mutation does to the counts. Where the caller does not know the entry before, `before`
 * NULL, memory may, which is asked for user data only: the rest is corrected by the store. */
static void count_change(struct pipeline *p, uint64_t hash, const struct mutation *mu,
                         const struct entry *before)
{
    struct entry old = {0};
    bool is_counted = key_space(mu->key) == STORE_SPACE_COUNTED;
    if (before != NULL) {
        old = *before;
    } else if (is_counted) {
        (void)pipeline_peek(p, hash, mu->key, &old);
    }
    bool is_set = mu->kind == MUTATION_SET;
    struct mem_database *d = memtable_database(p->newest.active, key_database(mu->key));
    if (is_counted) {
        d->entries += is_set - old.exists;
        d->expiring += (is_set && mu->expiry_ms != 0) - (old.exists && old.expiry_ms != 0);
    }
    d->bytes += is_set ? (int64_t)(mu->key.len + mu->value.len - KEY_HEAD_BYTES) : 0;
    d->bytes -= old.exists ? (int64_t)(mu->key.len + old.value.len - KEY_HEAD_BYTES) : 0;
}

static void remember(struct pipeline *p, uint64_t hash, const struct mutation *mu,
                     const struct entry *before, uint64_t version)
{
    if (mu->kind == MUTATION_FLUSH) {
        memtable_flush(p->newest.active, key_database(mu->key), version);
        return;
    }
    if (mu->kind == MUTATION_FORGET) {
        memtable_forget(p->newest.active, mu->key, mu->value, version);
        return;
    }
    if (mu->kind == MUTATION_SET) absent_add(&p->newest.absent, hash);
    count_change(p, hash, mu, before);
    memtable_put(p->newest.active, hash, mu, version);
}

void pipeline_remember(struct pipeline *p, const struct batch *batch, uint64_t version)
{
    uint64_t hashes[AT_ONCE];
    for (size_t from = 0; from < batch->count; from += AT_ONCE) {
        size_t count = batch->count - from < AT_ONCE ? batch->count - from : AT_ONCE;
        for (size_t i = 0; i < count; i++) {
            hashes[i] = hash_bytes(batch->items[from + i].key);
            htab_prefetch(&p->newest.active->points, hashes[i]);
            absent_prefetch(&p->newest.absent, hashes[i]);
        }
        for (size_t i = 0; i < count; i++) {
            const struct entry *before = batch->before != NULL ? batch->before[from + i] : NULL;
            remember(p, hashes[i], &batch->items[from + i], before, version);
        }
    }
}
