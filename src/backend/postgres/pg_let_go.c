/* pg_let_go: rows of tupled_log that are not needed any more are deleted, oldest first, a few at a
 * time: what that costs goes with what is deleted, not with what is there. The space of deleted
 * rows is free for others after a VACUUM. PostgreSQL makes one by itself once in a minute at most;
 * at full speed a log of 1 GB is written anew in less. So the leader makes one whenever a part of
 * the limit has gone. It blocks no statement (SHARE UPDATE EXCLUSIVE, and no truncation at the
 * end), and removes nothing that a snapshot may still see: while a pg_dump runs the log grows.
 */
#include "backend/postgres/pg_journal_int.h"

#define BATCHES "200"            /* rows in a statement ... */
#define STATEMENT_BYTES 32000000 /* ... or about so many bytes */
#define VACUUM_PART 16           /* of the limit */
#define VACUUM_BYTES_MIN (16u << 20)

/* The first batches that may go: those that are old, $7 bytes of them, and else until they have $6
 * bytes. Their bytes; the version before the first that is left; the last of them. A body's length
 * is known without reading it. Those that went before are not looked at again ($5): while a
 * snapshot is open they stay in the index. The bounds of the DELETE are known before it begins, so
 * that it is planned as a range of the index and not as a look at the whole table. */
static const char let_go_sql[] =
    "WITH f AS (SELECT id FROM tupled_leader WHERE id = $1 AND epoch = $2 FOR KEY SHARE), "
    "o AS (SELECT batch, part, last_version, time_ms, coalesce(sum(length(body)) OVER (ORDER BY "
    "batch, part ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS before FROM (SELECT * "
    "FROM tupled_log WHERE id = $1 AND batch > $5 ORDER BY batch, part LIMIT " BATCHES ") l), "
    "w AS (SELECT min(batch) AS first, max(batch) AS last FROM o WHERE last_version <= $3 AND "
    "((time_ms < $4 AND before < $7) OR before < $6)), "
    "d AS (DELETE FROM tupled_log WHERE id = $1 AND EXISTS (SELECT 1 FROM f) AND batch >= "
    "(SELECT first FROM w) AND batch <= (SELECT last FROM w) "
    "RETURNING length(body) AS bytes, last_version, batch) "
    "SELECT coalesce(sum(bytes), 0)::int8, max(last_version), max(batch) FROM d";
static const char vacuum_sql[] = "VACUUM (TRUNCATE off) tupled_log";

static bool is_ending(const struct let_go_job *k)
{
    return __atomic_load_n(&k->is_ending, __ATOMIC_ACQUIRE) != 0;
}

/* What is refused is PostgreSQL's own business then. */
static void vacuum(struct let_go_job *k)
{
    struct pg_journal *j = k->journal;
    struct error e;
    uint64_t part = j->options.retention_bytes / VACUUM_PART;
    if (part < VACUUM_BYTES_MIN) part = VACUUM_BYTES_MIN;
    if (k->dead_bytes < part || k->has_no_vacuum || is_ending(k)) return;
    k->dead_bytes = 0;
    enum err r = pg_script(j->sweep_pg, "SET statement_timeout = 0", &e);
    if (r == OK) r = pg_script_slowly(j->sweep_pg, vacuum_sql, &e);
    if (r == OK || pg_is_away(j->sweep_pg)) return;
    static const char *const busy[] = {"55P03", "57014", "40P01"};
    for (size_t i = 0; i < sizeof busy / sizeof busy[0]; i++) {
        if (strcmp(pg_sqlstate(j->sweep_pg), busy[i]) == 0) return;
    }
    k->has_no_vacuum = true;
}

void pg_let_go_run(struct job *job)
{
    struct let_go_job *k = (struct let_go_job *)job;
    struct pg *c = k->journal->sweep_pg;
    const struct term *t = k->journal->term;
    k->gone_bytes = k->oldest = 0;
    pg_begin(c);
    pg_put_i64(c, term_id(t));
    pg_put_i64(c, (int64_t)term_epoch(t));
    pg_put_i64(c, (int64_t)k->until);
    pg_put_i64(c, k->before_ms);
    pg_put_i64(c, k->last_batch);
    pg_put_i64(c, (int64_t)(k->more_bytes < STATEMENT_BYTES ? k->more_bytes : STATEMENT_BYTES));
    pg_put_i64(c, STATEMENT_BYTES);
    k->result = pg_run_again(c, let_go_sql, &k->error);
    if (k->result != OK || pg_is_null(c, 0, 1)) return;
    k->gone_bytes = (uint64_t)pg_i64(c, 0, 0);
    k->oldest = (uint64_t)pg_i64(c, 0, 1);
    k->last_batch = pg_i64(c, 0, 2);
    k->dead_bytes += k->gone_bytes;
    vacuum(k);
}

void pg_let_go_end(struct pg_journal *j)
{
    __atomic_store_n(&j->letting_go.is_ending, 1, __ATOMIC_RELEASE);
}
