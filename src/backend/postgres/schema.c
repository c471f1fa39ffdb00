/* schema: the tables as statements that may all be done again, in order; a newer format is only
 * more of them. Two nodes may make them at once: what one of them then meets in PostgreSQL's
 * catalog is no error, and it begins again. */
#include "backend/postgres/schema.h"

#include "base/clock.h"

#define TRIES 20
#define WAIT_US 50000

/* Each statement is a transaction of its own. FOR KEY SHARE of a leader's row (an append) and an
 * update of its beat do not wait for each other, but both for an update of its epoch, because that
 * is part of a unique index. */
static const char tables[] =
    "CREATE TABLE IF NOT EXISTS tupled_schema (one bool PRIMARY KEY CHECK (one), "
    "format int8 NOT NULL)";
static const char leader[] =
    "CREATE TABLE IF NOT EXISTS tupled_leader (id int8 PRIMARY KEY, epoch int8 NOT NULL, "
    "holder text NOT NULL, address text NOT NULL, beat int8 NOT NULL, "
    "versions_reserved int8 NOT NULL, applying_to int8 NOT NULL, UNIQUE (id, epoch))";
static const char leader_timeline[] =
    "ALTER TABLE tupled_leader ADD COLUMN IF NOT EXISTS timeline text NOT NULL DEFAULT ''";
static const char leader_noticed[] =
    "ALTER TABLE tupled_leader ADD COLUMN IF NOT EXISTS noticed text NOT NULL DEFAULT ''";
static const char journal[] =
    "CREATE TABLE IF NOT EXISTS tupled_log (id int8, batch int8, part int8, "
    "parts int8 NOT NULL, epoch int8 NOT NULL, version_before int8 NOT NULL, "
    "last_version int8 NOT NULL, time_ms int8 NOT NULL, checksum int8 NOT NULL, "
    "body bytea NOT NULL, PRIMARY KEY (id, batch, part))";
static const char journal_storage[] =
    "ALTER TABLE tupled_log ALTER COLUMN body SET STORAGE EXTERNAL";
/* A batch of fewer than some 8 KB is kept in its row. It would be cut up from 2 KB on (TOAST), and
 * each 2 KB be a row more, with an entry of an index, here and on each standby. */
static const char journal_rows[] = "ALTER TABLE tupled_log SET (toast_tuple_target = 8160)";
static const char journal_index[] =
    "CREATE INDEX IF NOT EXISTS tupled_log_version ON tupled_log (id, last_version, part)";
static const char applied[] =
    "CREATE TABLE IF NOT EXISTS tupled_applied (id int8 PRIMARY KEY, epoch int8 NOT NULL, "
    "applied int8 NOT NULL)";
static const char applied_step[] =
    "ALTER TABLE tupled_applied ADD COLUMN IF NOT EXISTS step int8 NOT NULL DEFAULT 0";
static const char entries[] =
    "CREATE TABLE IF NOT EXISTS tupled_entry (id int8, key bytea, version int8 NOT NULL, "
    "expiry_ms int8 NOT NULL, checksum int8 NOT NULL, value bytea NOT NULL, "
    "PRIMARY KEY (id, key))";
static const char counts[] =
    "CREATE TABLE IF NOT EXISTS tupled_count (id int8, database int8, entries int8 NOT NULL, "
    "expiring int8 NOT NULL, bytes int8 NOT NULL, PRIMARY KEY (id, database))";
static const char garbage[] =
    "CREATE TABLE IF NOT EXISTS tupled_garbage (id int8, hides int8, database int8, "
    "version int8, first bytea, until bytea, PRIMARY KEY (id, hides, database, version, first, "
    "until))";
static const char secret[] =
    "CREATE TABLE IF NOT EXISTS tupled_secret (id int8 PRIMARY KEY, link bytea NOT NULL)";
static const char nodes[] =
    "CREATE TABLE IF NOT EXISTS tupled_node (id int8, name text, address text, "
    "sentinel_port int8 NOT NULL, beat int8 NOT NULL, PRIMARY KEY (id, name, address))";
static const char users[] =
    "CREATE TABLE IF NOT EXISTS tupled_users (id int8 PRIMARY KEY, generation int8 NOT NULL, "
    "text bytea NOT NULL)";
static const char nodes_process[] =
    "ALTER TABLE tupled_node ADD COLUMN IF NOT EXISTS process text NOT NULL DEFAULT ''";
static const char nodes_http[] =
    "ALTER TABLE tupled_node ADD COLUMN IF NOT EXISTS http text NOT NULL DEFAULT ''";
/* Each may be done again: format 1 had no timeline, no tupled_secret and no tupled_node, format 2
 * no http and no tupled_users, format 3 no step, and nothing that was noticed. A node of an older
 * format that leads goes on: what is new has a value without it. */
static const char *const steps[] = {
    leader,        leader_timeline, leader_noticed, journal,       journal_rows, journal_storage,
    journal_index, applied,         applied_step,   entries,       counts,       garbage,
    secret,        nodes,           nodes_http,     nodes_process, users};

static const char insert_format[] = "INSERT INTO tupled_schema VALUES (true, $1) "
                                    "ON CONFLICT (one) DO UPDATE SET format = $1 "
                                    "WHERE tupled_schema.format < $1";
static const char select_format[] = "SELECT format FROM tupled_schema";
/* Where there is something, a row was removed: versions go on as after a loss (term.h). */
static const char insert_leader[] =
    "WITH g AS (SELECT (SELECT epoch FROM tupled_log WHERE id = $1 ORDER BY batch DESC, part DESC "
    "LIMIT 1) AS epoch, (SELECT last_version FROM tupled_log WHERE id = $1 ORDER BY last_version "
    "DESC, part DESC LIMIT 1) AS version), "
    "w AS (SELECT greatest(g.epoch, a.epoch, 0) AS epoch, greatest(g.version, a.applied, 0) AS "
    "version FROM g, (SELECT $1::int8 AS id) i LEFT JOIN tupled_applied a ON a.id = i.id) "
    "INSERT INTO tupled_leader (id, epoch, holder, address, beat, versions_reserved, applying_to, "
    "timeline) SELECT $1, epoch, '', '', 0, version + 1, version, CASE WHEN epoch = 0 THEN '' ELSE "
    "'lost' END FROM w ON CONFLICT DO NOTHING";
static const char insert_applied[] =
    "INSERT INTO tupled_applied VALUES ($1, 0, 0) ON CONFLICT DO NOTHING";

static enum err run_with(struct pg *c, const char *sql, int64_t number, struct error *e)
{
    pg_begin(c);
    pg_put_i64(c, number);
    return pg_run(c, sql, e);
}

static enum err read_format(struct pg *c, int64_t *format, struct error *e)
{
    pg_begin(c);
    enum err r = pg_run(c, select_format, e);
    *format = r == OK && pg_rows(c) == 1 ? pg_i64(c, 0, 0) : 0;
    return r;
}

static enum err make_once(struct pg *c, int64_t id, int64_t newest, struct error *e)
{
    int64_t format = 0;
    enum err r = pg_script(c, tables, e);
    if (r == OK) r = read_format(c, &format, e);
    if (r == OK && format > newest) {
        return error_set(e, ERR_FORMAT,
                         "the tables in PostgreSQL have format %lld, but this program supports "
                         "formats up to %lld; use a newer version of tupled",
                         (long long)format, (long long)newest);
    }
    for (size_t i = 0; r == OK && format < newest && i < sizeof steps / sizeof steps[0]; i++) {
        bool is_optional = steps[i] == journal_storage || steps[i] == journal_rows;
        r = pg_script(c, steps[i], e);
        /* These save time and no more; others who speak as PostgreSQL does may refuse them. */
        if (r != OK && is_optional && pg_outcome(c) == PG_REFUSED) r = OK;
    }
    if (r == OK && format < newest) r = run_with(c, insert_format, newest, e);
    if (r == OK) r = run_with(c, insert_applied, id, e);
    return r == OK ? schema_make_leader(c, id, e) : r;
}

enum err schema_make_leader(struct pg *c, int64_t id, struct error *e)
{
    return run_with(c, insert_leader, id, e);
}

/* Two who make the same table at once: one of them meets a row of the other in PostgreSQL's
 * catalog. */
static bool is_race(const struct pg *c)
{
    static const char *const states[] = {"23505", "42P07", "40001", "40P01", "XX000"};
    for (size_t i = 0; i < sizeof states / sizeof states[0]; i++) {
        if (strcmp(pg_sqlstate(c), states[i]) == 0) return true;
    }
    return false;
}

enum err schema_make(struct pg *c, int64_t id, int64_t newest, struct error *e)
{
    for (int i = 1;; i++) {
        enum err r = make_once(c, id, newest, e);
        if (r == OK || r == ERR_FORMAT || i == TRIES || !is_race(c)) return r;
        clock_sleep_us(WAIT_US);
    }
}
