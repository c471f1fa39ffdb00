/* pg: statements of a connection, one by one or one after another, and their results. */
#include "backend/postgres/pg_int.h"

#include <poll.h>
#include <stdio.h>

#include "base/bytes.h"
#include "base/clock.h"

#define NAME_BYTES 24 /* of a statement */
#define RETRY_MS 50
#define SLOWLY_MS 600000

/* ---- running ---- */

/* Its name on this connection, after its number there: prepared_count = none yet. */
static size_t statement_name(const struct pg *c, const char *sql, char name[NAME_BYTES])
{
    size_t i = 0;
    while (i < c->prepared_count && c->prepared[i] != sql) i++;
    snprintf(name, NAME_BYTES, "s%zu", i);
    return i;
}

static enum err prepare(struct pg *c, const char *sql, char name[NAME_BYTES], struct error *e)
{
    size_t i = statement_name(c, sql, name);
    if (i < c->prepared_count) return OK;
    INVARIANT(i < PG_STATEMENTS_MAX);
    if (PQsendPrepare(c->conn, name, sql, c->params.count, c->params.type) == 0) {
        return pg_lost(c, e, "cannot send");
    }
    enum err r = pg_settle(c, e);
    if (r != OK) return r;
    c->prepared[c->prepared_count++] = sql;
    pg_drop_result(c);
    return OK;
}

static enum err parameters_are_good(const struct pg *c, struct error *e)
{
    const struct buf *b = &c->params.bytes;
    if (!b->is_failed && b->len <= INT32_MAX) return OK;
    return error_set(e, ERR_NOMEM, "out of memory for a statement's parameters");
}

/* Connected, and the statement is prepared there. An error: it was not sent. */
static enum err make_ready(struct pg *c, const char *sql, char name[NAME_BYTES], struct error *e)
{
    pg_drop_result(c);
    c->is_warned = c->is_taken = c->is_unproved = false;
    c->outcome = PG_REFUSED;
    enum err r = parameters_are_good(c, e);
    if (r == OK) r = pg_ensure(c, e);
    if (r == OK) r = prepare(c, sql, name, e);
    if (r != OK && c->outcome == PG_UNKNOWN) c->outcome = PG_REFUSED;
    return r;
}

static enum err put_statement(struct pg *c, const char *name, struct error *e)
{
    const struct pg_params *p = &c->params;
    const char *values[PG_PARAMS_MAX];
    int lengths[PG_PARAMS_MAX];
    int formats[PG_PARAMS_MAX];
    for (int i = 0; i < p->count; i++) {
        values[i] = p->bytes.data == NULL ? "" : (char *)p->bytes.data + p->offset[i];
        lengths[i] = (int)p->len[i];
        formats[i] = 1;
    }
    if (PQsendQueryPrepared(c->conn, name, p->count, values, lengths, formats, 1) == 0) {
        return pg_lost(c, e, "cannot send");
    }
    return OK;
}

enum err pg_run(struct pg *c, const char *sql, struct error *e)
{
    char name[NAME_BYTES];
    INVARIANT(c->pending == 0);
    enum err r = make_ready(c, sql, name, e);
    if (r == OK) r = put_statement(c, name, e);
    return r == OK ? pg_settle(c, e) : r;
}

/* ---- do its commits wait for standbys? ---- */

static enum err send_waits(struct pg *c, struct error *e)
{
    if (PQsendQueryPrepared(c->conn, PG_WAITS, 0, NULL, NULL, NULL, 1) != 0) return OK;
    return pg_lost(c, e, "cannot send");
}

static struct pg_waits waits_of(const struct pg *c)
{
    int64_t loaded_us = pg_i64(c, 0, 1);
    return (struct pg_waits){pg_i64(c, 0, 0), loaded_us, pg_i64(c, 0, 2) - loaded_us};
}

/* Before what has to be safe. */
static enum err prove_waits(struct pg *c, struct error *e)
{
    int64_t left_us = 0;
    enum err r = c->loaded_us == 0 ? ERR_WAIT : OK;
    while (r == ERR_WAIT) {
        pg_drop_result(c);
        r = send_waits(c, e);
        if (r == OK) r = pg_settle(c, e);
        if (r != OK) break;
        struct pg_waits w = waits_of(c);
        r = pg_proof_begin(&w, &c->loaded_us, &left_us, e);
        bool is_over = r == ERR_WAIT && !pg_pause(c, left_us / 1000 + 1);
        if (is_over) r = pg_lost(c, e, "given up");
    }
    pg_drop_result(c);
    if (r != OK) c->outcome = PG_REFUSED;
    c->is_unproved = r != OK && c->conn != NULL && PQstatus(c->conn) == CONNECTION_OK;
    return r;
}

enum err pg_trust(struct pg *c, bool *is_new, struct error *e)
{
    INVARIANT(c->options.is_proved && c->pending == 0);
    pg_drop_result(c);
    c->is_warned = c->is_taken = c->is_unproved = false;
    enum err r = pg_ensure(c, e);
    *is_new = r == OK && c->loaded_us == 0;
    if (r != OK || *is_new) return r == OK ? prove_waits(c, e) : r;
    r = send_waits(c, e);
    if (r == OK) r = pg_settle(c, e);
    if (r != OK) return r;
    struct pg_waits w = waits_of(c);
    r = pg_proof_end(&w, &c->loaded_us, e);
    return r == OK ? OK : ERR_WAIT;
}

/* ---- one after another, without waiting ---- */

/* The end of a transaction. */
static enum err put_sync(struct pg *c, struct error *e)
{
    return PQpipelineSync(c->conn) == 0 ? pg_lost(c, e, "cannot send") : OK;
}

enum err pg_send(struct pg *c, const char *sql, struct error *e)
{
    char name[NAME_BYTES];
    enum err r = OK;
    if (c->pending == 0) {
        r = make_ready(c, sql, name, e);
        if (r == OK && c->options.is_proved) r = prove_waits(c, e);
        if (r == OK && PQenterPipelineMode(c->conn) == 0) r = pg_lost(c, e, "cannot send");
    } else {
        INVARIANT(statement_name(c, sql, name) < c->prepared_count);
        r = parameters_are_good(c, e);
    }
    if (r == OK) r = put_statement(c, name, e);
    if (r == OK) r = put_sync(c, e);
    /* A transaction of its own, after the commit. */
    if (r == OK && c->options.is_proved) r = send_waits(c, e);
    if (r != OK) return r;
    if (c->options.is_proved) r = put_sync(c, e);
    if (r == OK) c->pending++;
    return r;
}

/* What is left to send is sent meanwhile: the server may take it only after it has answered. */
static enum err wait_for_answer(struct pg *c, int fd, struct error *e)
{
    for (;;) {
        int left = PQflush(c->conn);
        if (left < 0) return pg_lost(c, e, "cannot send");
        if (PQisBusy(c->conn) == 0) return OK;
        enum err r = pg_wait_for_any(c, left == 1 ? POLLIN | POLLOUT : POLLIN, fd, e);
        if (r != OK) return r;
        if (PQconsumeInput(c->conn) == 0) return pg_lost(c, e, "the connection was lost");
    }
}

/* The results of one statement, until the server says that it is over (only then it is
 * committed). What is taken already is in c->result, until the next one is begun. */
static enum err take_pending(struct pg *c, int fd, struct error *e)
{
    for (unsigned nothing = 0; nothing < 3;) {
        enum err r = wait_for_answer(c, fd, e);
        if (r != OK) return r;
        PGresult *next = PQgetResult(c->conn);
        if (next == NULL) {
            nothing++;
        } else if (PQresultStatus(next) == PGRES_PIPELINE_SYNC) {
            PQclear(next);
            return c->result == NULL ? pg_lost(c, e, "no result") : OK;
        } else {
            nothing = 0;
            pg_keep_result(c, next);
        }
    }
    return pg_lost(c, e, "incomplete result");
}

/* Whether the commit that was answered had waited, as the next answer says. Its result stays.
 * ERR_WAIT: nothing of that answer has come. */
static enum err take_waits(struct pg *c, int fd, struct error *unproved, struct error *e)
{
    PGresult *statement = c->result;
    c->result = NULL;
    enum err r = take_pending(c, fd, e);
    if (r == ERR_WAIT && c->result != NULL) r = take_pending(c, -1, e);
    bool is_told = r == OK && PQresultStatus(c->result) == PGRES_TUPLES_OK;
    if (is_told) {
        struct pg_waits w = waits_of(c);
        c->is_unproved = pg_proof_end(&w, &c->loaded_us, unproved) != OK;
    }
    if (r == OK && !is_told) r = pg_lost(c, e, "it is unknown whether standbys have it");
    PQclear(c->result);
    c->result = statement;
    return r;
}

enum err pg_take(struct pg *c, int fd, struct error *e)
{
    struct error unproved = {.code = OK};
    INVARIANT(c->pending > 0);
    if (c->is_taken) {
        pg_drop_result(c);
        c->is_warned = c->is_taken = c->is_unproved = false;
        c->sqlstate[0] = '\0';
        c->deadline_us = clock_mono_us() + c->options.call_ms * 1000;
    }
    enum err r = c->is_half_taken ? OK : take_pending(c, fd, e);
    c->is_half_taken = r == OK && c->options.is_proved;
    if (c->is_half_taken) r = take_waits(c, fd, &unproved, e);
    if (r != OK) return r;
    c->is_half_taken = false;
    c->pending--;
    c->is_taken = true;
    if (c->pending == 0 && PQexitPipelineMode(c->conn) == 0) return pg_lost(c, e, "no end");
    r = pg_judge(c, e);
    if (r != OK || !c->is_unproved) return r;
    c->outcome = PG_UNKNOWN;
    *e = unproved;
    return ERR_IO;
}

enum err pg_run_safe(struct pg *c, const char *sql, struct error *e)
{
    if (!c->options.is_proved) return pg_run(c, sql, e);
    INVARIANT(c->pending == 0);
    enum err r = pg_send(c, sql, e);
    return r == OK ? pg_take(c, -1, e) : r;
}

unsigned pg_pending(const struct pg *c)
{
    return c->pending;
}

bool pg_is_away(const struct pg *c)
{
    static const char *const classes[] = {"08", "57P", "53300"};
    if (c->is_unproved) return false;
    if (c->sqlstate[0] == '\0') return true;
    for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++) {
        if (strncmp(c->sqlstate, classes[i], strlen(classes[i])) == 0) return true;
    }
    return false;
}

enum err pg_run_again(struct pg *c, const char *sql, struct error *e)
{
    enum err r = pg_run(c, sql, e);
    return r == ERR_IO && pg_is_away(c) ? pg_run(c, sql, e) : r;
}

enum err pg_run_safe_again(struct pg *c, const char *sql, struct error *e)
{
    enum err r = pg_run_safe(c, sql, e);
    bool is_doubtful = c->is_unproved && c->outcome == PG_UNKNOWN;
    return r == ERR_IO && (is_doubtful || pg_is_away(c)) ? pg_run_safe(c, sql, e) : r;
}

enum err pg_run_patiently(struct pg *c, const char *sql, struct error *e)
{
    enum err r = pg_run_again(c, sql, e);
    while (r == ERR_IO && pg_is_away(c) && pg_pause(c, RETRY_MS)) r = pg_run(c, sql, e);
    return r;
}

enum err pg_script(struct pg *c, const char *sql, struct error *e)
{
    enum err r = pg_ensure(c, e);
    return r == OK ? pg_simple(c, sql, e) : r;
}

enum err pg_script_slowly(struct pg *c, const char *sql, struct error *e)
{
    enum err r = pg_ensure(c, e);
    c->deadline_us = clock_mono_us() + SLOWLY_MS * 1000;
    return r == OK ? pg_simple(c, sql, e) : r;
}

uint64_t pg_connections(const struct pg *c)
{
    return c->connections;
}

const char *pg_server_name(const struct pg *c)
{
    return c->server;
}

enum pg_outcome pg_outcome(const struct pg *c)
{
    return c->outcome;
}

const char *pg_sqlstate(const struct pg *c)
{
    return c->sqlstate;
}

/* ---- the result ---- */

size_t pg_rows(const struct pg *c)
{
    return (size_t)PQntuples(c->result);
}

bool pg_is_null(const struct pg *c, size_t row, unsigned column)
{
    return PQgetisnull(c->result, (int)row, (int)column) != 0;
}

struct slice pg_bytes(const struct pg *c, size_t row, unsigned column)
{
    return slice_of(PQgetvalue(c->result, (int)row, (int)column),
                    (size_t)PQgetlength(c->result, (int)row, (int)column));
}

int64_t pg_i64(const struct pg *c, size_t row, unsigned column)
{
    struct slice s = pg_bytes(c, row, column);
    if (s.len == 4) return (int32_t)get_u32(s.data);
    return s.len == 8 ? (int64_t)get_u64(s.data) : 0;
}

uint64_t pg_changed(const struct pg *c)
{
    uint64_t n = 0;
    (void)slice_to_u64(slice_str(PQcmdTuples(c->result)), &n);
    return n;
}
