/* pg_pooler: a pooler between a node and PostgreSQL that gives a server's connection to each
 * transaction anew (PgBouncer with pool_mode = transaction, and its like). Settings, prepared
 * statements and snapshots of a session get lost there, without a word: nodes do not work behind
 * one. A pooler that gives a connection to each client for as long as it stays does.
 */
#ifndef BACKEND_POSTGRES_PG_POOLER_H
#define BACKEND_POSTGRES_PG_POOLER_H

#include "backend/postgres/pg.h"

/* `c` is connected, and was told another process than that which serves it. ERR_IO: its connection
 * is not its own. Blocks; makes a second connection meanwhile. */
ERR_MUST_USE enum err pg_pooler_check(struct pg *c, struct error *e);

#endif
