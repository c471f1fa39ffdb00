/* pg_why: see pg_why.h. The events are those of PostgreSQL's manual, "Wait Event Information". */
#include "backend/postgres/pg_why.h"

#include <stdio.h>

/* PostgreSQL keeps 63 bytes of a connection's name. */
#define NAME_BYTES 63

/* The one that matters most: a commit that waits for its standbys, then a lock. Nodes that want the
 * same one wait for each other; what is not a node's has it. */
static const char why_sql[] =
    "WITH b AS (SELECT DISTINCT unnest(pg_blocking_pids(pid)) AS pid FROM pg_stat_activity "
    "WHERE application_name LIKE 'tupled %' AND wait_event_type = 'Lock'), "
    "first AS (SELECT s.pid, coalesce(s.application_name, '') AS name FROM b "
    "JOIN pg_stat_activity s USING (pid) "
    "ORDER BY coalesce(s.application_name, '') LIKE 'tupled %' LIMIT 1) "
    "SELECT coalesce(wait_event_type, ''), coalesce(wait_event, ''), "
    "coalesce((SELECT pid FROM first), 0)::int8, coalesce((SELECT name FROM first), ''), "
    "current_setting('synchronous_standby_names'), (SELECT count(*) FROM pg_stat_replication) "
    "FROM pg_stat_activity a WHERE strpos(application_name, $1) = 1 AND state = 'active' "
    "AND clock_timestamp() - query_start > interval '300 ms' "
    "AND pid <> pg_backend_pid() "
    "ORDER BY wait_event = 'SyncRep' DESC NULLS LAST, wait_event_type = 'Lock' DESC NULLS LAST, "
    "query_start LIMIT 1";

static bool is_event(const struct pg *c, unsigned column, const char *name)
{
    return slice_eq(pg_bytes(c, 0, column), slice_str(name));
}

static void describe(const struct pg *c, char *out, size_t size)
{
    struct slice type = pg_bytes(c, 0, 0);
    struct slice event = pg_bytes(c, 0, 1);
    struct slice blocker = pg_bytes(c, 0, 3);
    struct slice names = pg_bytes(c, 0, 4);
    long long pid = pg_i64(c, 0, 2);
    if (is_event(c, 1, "SyncRep")) {
        snprintf(
            out, size,
            "commits in PostgreSQL wait for a standby: synchronous_standby_names is '%.*s', %lld "
            "connected",
            (int)names.len, (const char *)names.data, (long long)pg_i64(c, 0, 5));
    } else if (is_event(c, 0, "Lock")) {
        snprintf(out, size, "a statement in PostgreSQL waits for a lock of process %lld%s%.*s%s",
                 pid, blocker.len > 0 ? " (" : "", (int)blocker.len, (const char *)blocker.data,
                 blocker.len > 0 ? ")" : "");
    } else if (type.len > 0) {
        snprintf(out, size, "a statement in PostgreSQL waits (%.*s, %.*s)", (int)type.len,
                 (const char *)type.data, (int)event.len, (const char *)event.data);
    } else {
        snprintf(out, size, "a statement in PostgreSQL is slow");
    }
}

enum err pg_why(struct pg *c, const char *node, char *out, size_t size, struct error *e)
{
    char name[NAME_BYTES + 1];
    out[0] = '\0';
    snprintf(name, sizeof name, PG_NAME_OF_NODE, node);
    pg_begin(c);
    pg_put_text(c, name);
    enum err r = pg_run_again(c, why_sql, e);
    if (r == OK && pg_rows(c) == 1) describe(c, out, size);
    return r;
}
