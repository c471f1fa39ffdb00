/* pg_int: what pg_connect.c (the connection, waiting for its answers) and pg.c (statements) share.
 * These two know libpq.
 */
#ifndef BACKEND_POSTGRES_PG_INT_H
#define BACKEND_POSTGRES_PG_INT_H

#include <postgresql/libpq-fe.h>

#include "backend/postgres/pg_hosts.h"
#include "backend/postgres/pg_params.h"
#include "backend/postgres/pg_proof.h"

#define PG_STATEMENTS_MAX 48 /* that one connection prepares */
#define PG_WAITS "waits"     /* the name of pg_proof_waits_sql on each connection that proves */

struct pg {
    struct pg_options options;
    char *url, *name; /* owned */
    struct pg_hosts hosts;
    PGconn *conn;         /* NULL = not connected */
    uint64_t connections; /* made so far */
    PGresult *result;     /* of the last call */
    unsigned pending;     /* statements that were sent by pg_send, and not answered yet */
    bool is_taken;        /* `result` is of a statement before them */
    bool is_half_taken;   /* it is of the first of them: whether it is safe is not told yet */
    bool is_unproved;     /* the last one may not be safe; its connection is good */
    int64_t loaded_us;    /* pg_proof_begin */
    char server[PG_SERVER_BYTES];
    bool is_pooled; /* another process than that which it was told at first answers it */
    int own_turns;  /* if they are not shared */
    int64_t deadline_us;
    enum pg_outcome outcome;
    char sqlstate[6];
    bool is_warned; /* by the server, in this call */
    char warning[160];
    const char *prepared[PG_STATEMENTS_MAX];
    size_t prepared_count;
    struct pg_params params;
};

void pg_drop_result(struct pg *c);
/* What was sent is PG_UNKNOWN; the connection is closed. ERR_IO, with `what` and libpq's words. */
enum err pg_lost(struct pg *c, struct error *e, const char *what);
/* Connects if it must. Nothing was sent yet: PG_REFUSED. */
ERR_MUST_USE enum err pg_ensure(struct pg *c, struct error *e);
/* Until the socket has what is wanted. ERR_WAIT: not yet, but `fd` is readable; -1 = none. */
ERR_MUST_USE enum err pg_wait_for_any(struct pg *c, short events, int fd, struct error *e);
/* Takes `next` over: the last result stays, or the first that tells of an error. */
void pg_keep_result(struct pg *c, PGresult *next);
/* Sends all, takes all results, and judges. */
ERR_MUST_USE enum err pg_settle(struct pg *c, struct error *e);
/* What the server says to a statement. */
ERR_MUST_USE enum err pg_judge(struct pg *c, struct error *e);
/* One text of statements, by the simple protocol; connected. */
ERR_MUST_USE enum err pg_simple(struct pg *c, const char *sql, struct error *e);
/* A number in the first row of what that brought. */
long pg_simple_number(const struct pg *c, unsigned column);

#endif
