#include "backend/journal.h"

void journal_append(struct journal *j, uint64_t version, const struct batch *batch)
{
    struct journal_batch *b = j->filling;
    INVARIANT(version > j->version_last);
    if (b->first_version == 0) b->first_version = version;
    b->last_version = version;
    b->time_ms = batch->time_ms;
    b->transactions++;
    txn_write(&b->bytes, version, batch);
    j->version_last = version;
}
