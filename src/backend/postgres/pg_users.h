/* pg_users: the users of an engine, in PostgreSQL's tupled_users: one text (access/users.h), which
 * only the node that leads writes. Blocks; one thread at a time.
 */
#ifndef BACKEND_POSTGRES_PG_USERS_H
#define BACKEND_POSTGRES_PG_USERS_H

#include "backend/postgres/term.h"

struct pg_users;

/* The term outlives it. */
struct pg_users *pg_users_new(struct term *t);
/* NULL is none. */
void pg_users_free(struct pg_users *u);

/* *generation is that of the text which the caller has, 0 = none. When there is another one, it and
 * its text; the text goes to `out`, which is empty otherwise. 0 afterwards: none was written yet.
 * ERR_IO, ERR_NOMEM. */
ERR_MUST_USE enum err pg_users_read(struct pg_users *u, uint64_t *generation, struct buf *out,
                                    struct error *e);
/* Of the node that leads: what is there at first; nothing happens when there is something. Asks
 * until PostgreSQL answers. ERR_IO: given up, or refused. */
ERR_MUST_USE enum err pg_users_fill(struct pg_users *u, struct slice text, struct error *e);
/* Of the node that leads: in place of what is there. Asks until PostgreSQL answers. ERR_TRYAGAIN:
 * another node leads, and nothing was written; ERR_IO, ERR_DISK_FULL: refused, likewise. */
ERR_MUST_USE enum err pg_users_write(struct pg_users *u, struct slice text, struct error *e);

#endif
