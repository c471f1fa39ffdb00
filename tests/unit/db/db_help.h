/* db_help: a small database for tests, in which everything happens early: memtables of a few KB, few
 * entries of each kind. A test that needs another figure changes it in the result.
 */
#ifndef UNIT_DB_DB_HELP_H
#define UNIT_DB_DB_HELP_H

#include <stdio.h>
#include <stdlib.h>

#include "db/db.h"

static inline void small_wake(void *arg)
{
    (void)arg;
}

static inline void small_fatal(void *arg, const struct error *e)
{
    (void)arg;
    fprintf(stderr, "%s\n", e->text);
    abort();
}

static inline struct engine_options small_engine(struct backend *b)
{
    return (struct engine_options){.backend = b,
                                   .value_bytes_max = 1000,
                                   .txn_bytes_max = 10000,
                                   .ops_max = 100,
                                   .expire_batch = 3,
                                   .idem_window_ms = 600000,
                                   .idem_entries_max = 1000};
}

/* `dir` is borrowed until db_open returns. */
static inline struct db_options small_db(const char *dir)
{
    return (struct db_options){
        .pipeline = {.memtable_bytes = 64 << 10,
                     .memtable_age_ms = 1000,
                     .write_buffer_bytes = 1 << 20,
                     .query_threads = 1,
                     .scan_ms_max = 60000,
                     .is_inline = true,
                     .wake = small_wake,
                     .on_fatal = small_fatal},
        .local = {.dir = dir, .segment_bytes = 64 << 10, .store_cache_bytes = 1 << 20},
        .engine = small_engine(NULL),
        .queues = {.lease_ms = 30000,
                   .dedup_window_ms = 300000,
                   .dedup_entries_max = 1000,
                   .dead_age_ms = 1000000,
                   .dead_length = 1000}};
}

#endif
