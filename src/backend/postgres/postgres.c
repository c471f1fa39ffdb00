/* postgres: opens the store and the journal under one term, and frees the term when that fails. */
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

enum err postgres_follow(const struct term_options *options, struct journal **journal,
                         struct store **store, struct error *e)
{
    struct term *term = NULL;
    *journal = NULL;
    *store = NULL;
    enum err r = term_open(options, &term, e);
    if (r != OK) return r;
    struct pg_store_options s = {.term = term, .is_following = true};
    r = pg_store_open(&s, store, e);
    if (r != OK) {
        term_free(term);
        return r;
    }
    struct pg_follow_options j = {.term = term,
                                  .is_quorum = options->durability == TERM_QUORUM,
                                  .brought = pg_store_brought(*store)};
    *journal = pg_follow_new(&j);
    return OK;
}

void postgres_unfollow(struct journal *journal, struct store *store)
{
    store_close(store);
    journal->ops->abandon(journal);
}
