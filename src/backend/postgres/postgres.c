#include "backend/postgres/postgres.h"

enum err postgres_open(const struct postgres_options *options, struct journal **journal,
                       struct store **store, struct error *e)
{
    struct pg_store_options s = {.term = options->term, .slice_bytes = options->slice_bytes};
    struct pg_journal_options j = {.term = options->term,
                                   .lease_ms = options->lease_ms,
                                   .retention_ms = options->retention_ms,
                                   .retention_bytes = options->retention_bytes,
                                   .batch_bytes = options->batch_bytes};
    *journal = NULL;
    enum err r = pg_store_open(&s, store, e);
    if (r == OK) *journal = pg_journal_new(&j);
    return r;
}
