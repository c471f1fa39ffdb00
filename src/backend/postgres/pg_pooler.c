/* pg_pooler: see pg_pooler.h. */
#include "backend/postgres/pg_pooler.h"

#include "backend/postgres/pg_int.h"

#define TRIES 3 /* others that use the pool may come between */

static const char process_sql[] = "SELECT pg_backend_pid()";
static const char keep_sql[] = "BEGIN; SELECT pg_backend_pid()";

/* Which process of PostgreSQL serves the connection now. */
static enum err ask(struct pg *c, const char *sql, long *process, struct error *e)
{
    enum err r = pg_simple(c, sql, e);
    if (r == OK) *process = pg_simple_number(c, 0);
    return r;
}

/* A second connection keeps the process that it was given: the first has the same, or gets another
 * now, where both share them. */
static enum err compare(struct pg *c, struct pg *second, bool *is_shared, struct error *e)
{
    long before = 0, kept = 0, after = 0;
    enum err r = ask(c, process_sql, &before, e);
    if (r == OK) r = pg_ensure(second, e);
    if (r == OK) r = ask(second, keep_sql, &kept, e);
    if (r == OK) r = ask(c, process_sql, &after, e);
    if (r == OK) *is_shared = before == kept || before != after;
    pg_drop(second);
    return r;
}

enum err pg_pooler_check(struct pg *c, struct error *e)
{
    struct pg_options o = c->options;
    bool is_shared = false;
    enum err r = OK;
    o.url = c->url;
    o.name = c->name;
    o.prove = NULL;
    o.is_proved = false;
    struct pg *second = pg_new(&o);
    for (int i = 0; i < TRIES && r == OK && !is_shared; i++) {
        r = compare(c, second, &is_shared, e);
    }
    pg_free(second);
    if (r != OK || !is_shared) return r;
    return error_set(e, ERR_IO,
                     "PostgreSQL: there is a connection pooler in transaction mode (PgBouncer, "
                     "pool_mode = transaction); use PostgreSQL's own address, or pool_mode = "
                     "session");
}
