/* pg_params: the parameters of a statement, in the binary form that PostgreSQL takes (the "recv"
 * functions of its types). Used by pg, which sends them.
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
void pg_params_clear(struct pg_params *p);

/* The next one. Everything is copied. */
void pg_params_i64(struct pg_params *p, int64_t v);
void pg_params_bytes(struct pg_params *p, struct slice v);
void pg_params_text(struct pg_params *p, const char *v);
void pg_params_i64s(struct pg_params *p, const int64_t *v, size_t count);
void pg_params_slices(struct pg_params *p, const struct slice *v, size_t count); /* bytea[] */

#endif
