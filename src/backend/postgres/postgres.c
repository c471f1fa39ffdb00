#include "backend/postgres/postgres.h"

static struct pg_journal_options journal_options(const struct postgres_options *o)
{
    return (struct pg_journal_options){.term = o->term,
                                       .lease_ms = o->lease_ms,
                                       .retention_ms = o->retention_ms,
                                       .retention_bytes = o->retention_bytes,
                                       .batch_bytes = o->batch_bytes};
}

enum err postgres_open(const struct postgres_options *options, struct journal **journal,
                       struct store **store, struct error *e)
{
    struct pg_store_options s = {.term = options->term,
                                 .slice_bytes = options->slice_bytes,
                                 .nearby = options->nearby,
                                 .text_ops = options->text_ops,
                                 .texts_path = options->texts_path};
    struct pg_journal_options j = journal_options(options);
    *journal = NULL;
    enum err r = pg_store_open(&s, store, e);
    if (r == OK) {
        *journal = pg_journal_new(&j);
    } else {
        term_free(options->term);
    }
    return r;
}

void postgres_set_options(struct journal *journal, const struct postgres_options *options)
{
    struct pg_journal_options j = journal_options(options);
    pg_journal_set_options(journal, &j);
}
