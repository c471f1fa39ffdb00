/* pg_params: the parameters of a statement, in the binary form that PostgreSQL takes (the "recv"
 * functions of its types): pg_begin and pg_put_... of pg.h, which sends them.
 */
#ifndef BACKEND_POSTGRES_PG_PARAMS_H
#define BACKEND_POSTGRES_PG_PARAMS_H

#include "backend/postgres/pg.h"

struct pg_params {
    struct buf bytes; /* of all; check is_failed */
    size_t offset[PG_PARAMS_MAX], len[PG_PARAMS_MAX];
    uint32_t type[PG_PARAMS_MAX]; /* its id in PostgreSQL's catalog */
    int count;
};

void pg_params_init(struct pg_params *p);
void pg_params_fini(struct pg_params *p);

/* pg.c: those of a connection. */
struct pg_params *pg_params_of(struct pg *c);

#endif
