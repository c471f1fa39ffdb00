/* pg_why: why PostgreSQL does not answer, as PostgreSQL itself says: what the sessions of a node
 * wait for.
 */
#ifndef BACKEND_POSTGRES_PG_WHY_H
#define BACKEND_POSTGRES_PG_WHY_H

#include "backend/postgres/pg.h"

/* Of the node of this name: "" when no statement of it has waited for longer than some tenths of a
 * second. Its sessions are of the user of `c`. Blocks. ERR_IO, also where it cannot be asked. */
ERR_MUST_USE enum err pg_why(struct pg *c, const char *node, char *out, size_t size,
                             struct error *e);
/* How the names of its connections begin (pg_stat_activity). */
#define PG_NAME_OF_NODE "tupled %s: "

#endif
