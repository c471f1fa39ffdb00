/* schema: the tables in PostgreSQL, made by the first node that comes, in plain SQL without
 * extensions. `id` is the engine: several may share the tables.
 *
 *   tupled_schema   the format of all of them, one row
 *   tupled_leader   a row for each engine: who leads (term.h); the versions that are reserved
 *   tupled_log      the journal: batches of transactions (txn.h), in parts of at most 4 MB
 *   tupled_applied  a row for each engine: up to which version the tables below hold everything
 *   tupled_entry    the entries, by internal key (backend.h)
 *   tupled_count    how much of each database there is (store_counts.h)
 *   tupled_garbage  ranges of keys whose entries up to a version are not there any more, and are
 *                   removed bit by bit
 *   tupled_node     the nodes that are there, each with its beat (nodes.h)
 *   tupled_users    the users of all nodes, as one text (pg_users.h)
 *   tupled_secret   what nodes prove to each other that they know (src/node/proof.h)
 *
 * Rows of the log are deleted, not truncated with their table: TRUNCATE waits for all readers of
 * the table, a pg_dump for example, and all appends would wait after it.
 */
#ifndef BACKEND_POSTGRES_SCHEMA_H
#define BACKEND_POSTGRES_SCHEMA_H

#include "backend/postgres/pg.h"

#define SCHEMA_FORMAT 4

/* Makes what is missing, also when several do it at once. `newest`: the format that this program
 * knows (SCHEMA_FORMAT). ERR_FORMAT: made by a newer one; ERR_IO. */
ERR_MUST_USE enum err schema_make(struct pg *c, int64_t id, int64_t newest, struct error *e);
/* The row of tupled_leader, if there is none: no node leads. Its epoch and versions are the highest
 * that the other tables tell of, so that none comes again. ERR_IO. */
ERR_MUST_USE enum err schema_make_leader(struct pg *c, int64_t id, struct error *e);

#endif
