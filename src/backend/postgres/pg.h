/* pg: one connection to PostgreSQL, by libpq. A call blocks its thread, but for no longer than its
 * deadline, and ends at once when the breaker opens. Used by one thread at a time.
 *
 * Every statement is a transaction of its own (no BEGIN), so that a process that is stopped in the
 * middle keeps no locks. Parameters and results are binary.
 *
 * What happened with a statement, when the answer is not OK (struct pg, `outcome`):
 *
 *   PG_REFUSED   the server said no: nothing was done
 *   PG_UNKNOWN   the connection was lost, or the deadline passed, or the server warned that it did
 *                not wait for its standbys, or may not have waited: it was done, or not, or is not
 *                safe yet. Never assume: ask again on a new connection
 */
#ifndef BACKEND_POSTGRES_PG_H
#define BACKEND_POSTGRES_PG_H

#include "base/buf.h"
#include "base/err.h"

struct pg;

/* Opened once, it ends every call of all connections that have it, now and later. */
struct pg_breaker {
    int fd;      /* an eventfd, readable when it is open */
    int is_open; /* atomic */
};

ERR_MUST_USE enum err pg_breaker_init(struct pg_breaker *b, struct error *e);
void pg_breaker_fini(struct pg_breaker *b);
/* Any thread. */
void pg_break(struct pg_breaker *b);

struct pg_options {
    const char *url;  /* libpq's: "postgresql://..." or "host=... dbname=..."; copied */
    const char *name; /* of the connection, for pg_stat_activity; copied */
    /* A call's deadline. The server ends a statement then, too, but no commit that waits for its
     * standbys: that would be seen without being safe. */
    int64_t call_ms;
    bool is_quorum;    /* commits wait for the standbys that the server is configured for */
    bool is_proved;    /* ... and pg_run_safe and pg_send do not believe it (pg_proof.h) */
    bool is_read_only; /* refuses to write */
    struct pg_breaker *breaker;
    /* So often the first of several servers was not to be had; atomic. What one connection has
     * found out, the others need not. NULL: it is not shared. */
    int *host_turns;
    /* Not NULL: asked about each new connection's server (pg_proof.h; "" = it does not say). An
     * error closes it. By the thread that uses the connection. */
    enum err (*prove)(void *arg, const char *server, struct error *e);
    void *arg;
};

enum pg_outcome { PG_DONE, PG_REFUSED, PG_UNKNOWN };

/* Not connected yet: the first call does that. */
struct pg *pg_new(const struct pg_options *options);
/* NULL is none. */
void pg_free(struct pg *c);
/* Closes the connection; the next call makes another. */
void pg_drop(struct pg *c);

/* ---- parameters ---- */

#define PG_PARAMS_MAX 12

/* In order: $1, $2, ... Everything is copied. Memory that is not there makes pg_run answer
 * ERR_NOMEM. */
void pg_begin(struct pg *c);
void pg_put_i64(struct pg *c, int64_t v);
void pg_put_bytes(struct pg *c, struct slice v);
void pg_put_text(struct pg *c, const char *v);
void pg_put_i64s(struct pg *c, const int64_t *v, size_t count);
void pg_put_slices(struct pg *c, const struct slice *v, size_t count); /* bytea[] */

/* Runs one statement with the parameters put since pg_begin, prepared at its first use: `sql` is a
 * constant, known by its address. ERR_IO with what the server said; ERR_NOMEM; ERR_DISK_FULL. The
 * result is good until the next call of the connection. */
ERR_MUST_USE enum err pg_run(struct pg *c, const char *sql, struct error *e);
/* As pg_run, for a write that counts only when standbys have it: if the connection is to prove
 * that, it is PG_UNKNOWN until it is proved. Waits for a configuration that was just loaded. */
ERR_MUST_USE enum err pg_run_safe(struct pg *c, const char *sql, struct error *e);
/* May what this connection has read be relied on? Asked before and after it. OK, and *is_new is
 * false: all commits have waited for standbys since the last time; one that is seen is safe when a
 * later one of that time is seen. *is_new: nothing is known of those before. ERR_WAIT, ERR_IO: not
 * now. The connection is one that proves. */
ERR_MUST_USE enum err pg_trust(struct pg *c, bool *is_new, struct error *e);
/* pg_run_safe in two halves: statements that are sent are done in their order, each a transaction
 * of its own, and the server begins each at once when it has done the one before (libpq's pipeline
 * mode). Only what the first had prepared is sent while it is pending, and nothing else is run
 * before all answers were taken. When the connection was lost, the outcome of all that were pending
 * is unknown, and pg_pending is 0. */
ERR_MUST_USE enum err pg_send(struct pg *c, const char *sql, struct error *e);
/* The answer to the first that was sent: as pg_run. ERR_WAIT: not yet, and `fd` is readable; -1 =
 * none. */
ERR_MUST_USE enum err pg_take(struct pg *c, int fd, struct error *e);
unsigned pg_pending(const struct pg *c); /* were sent, and their answers not taken */
/* As pg_run, for what may be done twice: once more when the connection was lost, as happens with
 * the first statement after a restart of PostgreSQL. */
ERR_MUST_USE enum err pg_run_again(struct pg *c, const char *sql, struct error *e);
/* Likewise, and once more when it was done and may not be safe. */
ERR_MUST_USE enum err pg_run_safe_again(struct pg *c, const char *sql, struct error *e);
/* As pg_run, for reads: again and again until PostgreSQL is there, or the breaker opens. */
ERR_MUST_USE enum err pg_run_patiently(struct pg *c, const char *sql, struct error *e);
/* Several statements without parameters or results, each a transaction of its own if the text says
 * so. */
ERR_MUST_USE enum err pg_script(struct pg *c, const char *sql, struct error *e);
/* Likewise one statement, which may take ten minutes. */
ERR_MUST_USE enum err pg_script_slowly(struct pg *c, const char *sql, struct error *e);
/* Waits, but not when the breaker opens: false then. */
bool pg_pause(struct pg *c, int64_t ms);
/* How many times it has connected: another number, another connection. */
uint64_t pg_connections(const struct pg *c);
enum pg_outcome pg_outcome(const struct pg *c);
/* Of the server of its last connection (pg_proof.h). */
const char *pg_server_name(const struct pg *c);
/* The last failure was of the connection, or of a server that is starting or stopping, not of the
 * statement. */
bool pg_is_away(const struct pg *c);
/* Of a refusal: five characters, as the manual of PostgreSQL lists them in its appendix A. */
const char *pg_sqlstate(const struct pg *c);

/* ---- the result ---- */

size_t pg_rows(const struct pg *c);
bool pg_is_null(const struct pg *c, size_t row, unsigned column);
int64_t pg_i64(const struct pg *c, size_t row, unsigned column);
struct slice pg_bytes(const struct pg *c, size_t row, unsigned column); /* bytea, text */
/* How many rows a statement without a result changed. */
uint64_t pg_changed(const struct pg *c);

#endif
