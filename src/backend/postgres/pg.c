#include "backend/postgres/pg.h"

#include <errno.h>
#include <poll.h>
#include <postgresql/libpq-fe.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "backend/postgres/pg_hosts.h"
#include "backend/postgres/pg_params.h"
#include "backend/postgres/pg_proof.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/mem.h"

#define STATEMENTS_MAX 48 /* that one connection prepares */
#define NAME_BYTES 24     /* of a statement */
#define RETRY_MS 50
#define WAITS "waits" /* the name of pg_proof_waits_sql on each connection that proves */

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
    int own_turns; /* if nobody shares them */
    int64_t deadline_us;
    enum pg_outcome outcome;
    char sqlstate[6];
    bool is_warned; /* by the server, in this call */
    char warning[160];
    const char *prepared[STATEMENTS_MAX];
    size_t prepared_count;
    struct pg_params params;
};

/* ---- the breaker ---- */

enum err pg_breaker_init(struct pg_breaker *b, struct error *e)
{
    *b = (struct pg_breaker){.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    if (b->fd < 0) return error_set(e, ERR_IO, "no event descriptor: %s", strerror(errno));
    return OK;
}

void pg_breaker_fini(struct pg_breaker *b)
{
    if (b->fd >= 0) close(b->fd);
    b->fd = -1;
}

void pg_break(struct pg_breaker *b)
{
    __atomic_store_n(&b->is_open, 1, __ATOMIC_RELEASE);
    (void)eventfd_write(b->fd, 1);
}

static bool is_broken(const struct pg *c)
{
    return __atomic_load_n(&c->options.breaker->is_open, __ATOMIC_ACQUIRE) != 0;
}

/* ---- life ---- */

static char *copy_text(const char *text)
{
    size_t bytes = strlen(text) + 1;
    return memcpy(mem_alloc(bytes), text, bytes);
}

static void take_hosts(struct pg *c)
{
    PQconninfoOption *options = PQconninfoParse(c->url, NULL);
    pg_hosts_init(&c->hosts);
    for (const PQconninfoOption *o = options; o != NULL && o->keyword != NULL; o++) {
        if (o->val != NULL) pg_hosts_take(&c->hosts, o->keyword, o->val);
    }
    PQconninfoFree(options);
}

struct pg *pg_new(const struct pg_options *options)
{
    struct pg *c = mem_new(sizeof *c);
    c->options = *options;
    c->url = copy_text(options->url);
    c->name = copy_text(options->name);
    if (c->options.host_turns == NULL) c->options.host_turns = &c->own_turns;
    take_hosts(c);
    pg_params_init(&c->params);
    return c;
}

static void drop_result(struct pg *c)
{
    PQclear(c->result);
    c->result = NULL;
}

void pg_drop(struct pg *c)
{
    drop_result(c);
    if (c->conn != NULL) PQfinish(c->conn);
    c->conn = NULL;
    c->prepared_count = 0;
    c->pending = 0;
    c->is_half_taken = false;
    c->loaded_us = 0;
}

void pg_free(struct pg *c)
{
    if (c == NULL) return;
    pg_drop(c);
    pg_params_fini(&c->params);
    pg_hosts_fini(&c->hosts);
    mem_free(c->url);
    mem_free(c->name);
    mem_free(c);
}

/* ---- waiting ---- */

/* libpq's texts end with a line feed and may have several lines: the first one. */
static int first_line(const char *text)
{
    return (int)strcspn(text, "\n");
}

static enum err lost(struct pg *c, struct error *e, const char *what)
{
    const char *why = c->conn != NULL ? PQerrorMessage(c->conn) : "";
    c->outcome = PG_UNKNOWN;
    enum err r = error_set(e, ERR_IO, "PostgreSQL: %s%s%.*s", what, why[0] != '\0' ? ": " : "",
                           first_line(why), why);
    pg_drop(c);
    return r;
}

/* Until the socket has what is wanted. ERR_WAIT: not yet, but `fd` is readable; -1 = none. */
static enum err wait_for_any(struct pg *c, short events, int fd, struct error *e)
{
    for (;;) {
        struct pollfd fds[] = {{.fd = PQsocket(c->conn), .events = events},
                               {.fd = c->options.breaker->fd, .events = POLLIN},
                               {.fd = fd, .events = POLLIN}};
        int64_t left_us = c->deadline_us - clock_mono_us();
        if (is_broken(c)) return lost(c, e, "given up");
        if (left_us <= 0) return lost(c, e, "no answer in time");
        int n = poll(fds, 3, (int)(left_us / 1000) + 1);
        if (n < 0 && errno != EINTR) return lost(c, e, "poll");
        if (n > 0 && fds[0].revents != 0) return OK;
        if (n > 0 && fds[2].revents != 0) return ERR_WAIT;
    }
}

static enum err wait_for(struct pg *c, short events, struct error *e)
{
    return wait_for_any(c, events, -1, e);
}

bool pg_pause(struct pg *c, int64_t ms)
{
    struct pollfd fd = {.fd = c->options.breaker->fd, .events = POLLIN};
    if (!is_broken(c)) (void)poll(&fd, 1, (int)ms);
    return !is_broken(c);
}

/* ---- connecting ---- */

static void on_notice(void *arg, const PGresult *result)
{
    struct pg *c = arg;
    const char *severity = PQresultErrorField(result, PG_DIAG_SEVERITY_NONLOCALIZED);
    const char *text = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    if (severity == NULL || strcmp(severity, "WARNING") != 0) return;
    c->is_warned = true;
    snprintf(c->warning, sizeof c->warning, "%s", text != NULL ? text : "a warning");
}

static enum err handshake(struct pg *c, struct error *e)
{
    for (;;) {
        PostgresPollingStatusType status = PQconnectPoll(c->conn);
        if (status == PGRES_POLLING_OK) return OK;
        if (status == PGRES_POLLING_FAILED) return lost(c, e, "cannot connect");
        enum err r = wait_for(c, status == PGRES_POLLING_READING ? POLLIN : POLLOUT, e);
        if (r != OK) return r;
    }
}

/* The last one stays, or the first that tells of an error. */
static void keep_result(struct pg *c, PGresult *next)
{
    bool has_failed = c->result != NULL && PQresultStatus(c->result) == PGRES_FATAL_ERROR;
    PQclear(has_failed ? next : c->result);
    if (!has_failed) c->result = next;
}

/* Results until there is none. */
static enum err take_results(struct pg *c, struct error *e)
{
    for (;;) {
        while (PQisBusy(c->conn)) {
            enum err r = wait_for(c, POLLIN, e);
            if (r != OK) return r;
            if (PQconsumeInput(c->conn) == 0) return lost(c, e, "the connection was lost");
        }
        PGresult *next = PQgetResult(c->conn);
        if (next == NULL) break;
        keep_result(c, next);
    }
    return c->result == NULL ? lost(c, e, "no result") : OK;
}

static enum err send_all(struct pg *c, struct error *e)
{
    int left;
    while ((left = PQflush(c->conn)) == 1) {
        enum err r = wait_for(c, POLLIN | POLLOUT, e);
        if (r != OK) return r;
        if (PQconsumeInput(c->conn) == 0) return lost(c, e, "the connection was lost");
    }
    return left == 0 ? OK : lost(c, e, "cannot send");
}

/* What the server says to a statement. */
static enum err judge(struct pg *c, struct error *e)
{
    ExecStatusType status = PQresultStatus(c->result);
    if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK) {
        c->outcome = c->is_warned ? PG_UNKNOWN : PG_DONE;
        return c->is_warned ? error_set(e, ERR_IO, "PostgreSQL warns: %s", c->warning) : OK;
    }
    const char *state = PQresultErrorField(c->result, PG_DIAG_SQLSTATE);
    const char *text = PQresultErrorMessage(c->result);
    if (PQstatus(c->conn) != CONNECTION_OK) return lost(c, e, "the connection was lost");
    snprintf(c->sqlstate, sizeof c->sqlstate, "%s", state != NULL ? state : "XX000");
    bool is_full = strcmp(c->sqlstate, "53100") == 0;
    c->outcome = PG_REFUSED;
    return error_set(e, is_full ? ERR_DISK_FULL : ERR_IO, "PostgreSQL (%s): %.*s", c->sqlstate,
                     first_line(text), text);
}

static enum err settle(struct pg *c, struct error *e)
{
    enum err r = send_all(c, e);
    if (r == OK) r = take_results(c, e);
    return r == OK ? judge(c, e) : r;
}

static enum err script(struct pg *c, const char *sql, struct error *e)
{
    drop_result(c);
    c->is_warned = false;
    if (PQsendQuery(c->conn, sql) == 0) return lost(c, e, "cannot send");
    return settle(c, e);
}

/* The session's settings, whatever the server's or the user's are. */
static enum err set_up(struct pg *c, struct error *e)
{
    char sql[400];
    snprintf(sql, sizeof sql,
             "SET synchronous_commit = %s; SET statement_timeout = %lld; SET lock_timeout = %lld; "
             "SET default_transaction_isolation = 'read committed'; "
             "SET default_transaction_read_only = %s; SET client_min_messages = warning; "
             "SET idle_in_transaction_session_timeout = 600000",
             c->options.is_quorum ? "on" : "local", (long long)c->options.call_ms,
             (long long)c->options.call_ms, c->options.is_read_only ? "on" : "off");
    enum err r = script(c, sql, e);
    if (r != OK) pg_drop(c);
    return r;
}

/* A server that does not know the functions has no name; one that stands by is of no use. */
static enum err name_server(struct pg *c, struct error *e)
{
    static const char *const unknown[] = {"42", "0A", "22"};
    enum err r = script(c, pg_proof_server_sql, e);
    bool is_nameless = false;
    for (size_t i = 0; r != OK && i < sizeof unknown / sizeof unknown[0]; i++) {
        is_nameless |= strncmp(c->sqlstate, unknown[i], 2) == 0;
    }
    if (r != OK && !is_nameless) return r;
    struct slice name = r == OK ? slice_str(PQgetvalue(c->result, 0, 0)) : slice_str("none");
    snprintf(c->server, sizeof c->server, "%.*s", (int)name.len, (const char *)name.data);
    c->sqlstate[0] = '\0';
    if (name.len > 0) return OK;
    return error_set(e, ERR_IO,
                     "PostgreSQL: this server stands by (it is in recovery): postgresql-url must "
                     "lead to the primary, by target_session_attrs=read-write for example");
}

static enum err prove(struct pg *c, struct error *e)
{
    enum err r = c->options.prove != NULL ? name_server(c, e) : OK;
    if (r == OK && c->options.prove != NULL) r = c->options.prove(c->options.arg, c->server, e);
    if (r == OK && c->options.is_proved) {
        drop_result(c);
        if (PQsendPrepare(c->conn, WAITS, pg_proof_waits_sql, 0, NULL) == 0) {
            return lost(c, e, "cannot send");
        }
        r = settle(c, e);
    }
    if (r != OK) pg_drop(c);
    return r;
}

/* The first of several servers is not to be had. libpq goes on to the next by itself only when that
 * one refuses, or stands by: not when it is silent, or takes the connection and closes it, as what
 * stands before a dead server does. Only if nobody else has found that out meanwhile. */
static void turn_hosts(struct pg *c)
{
    int seen = c->hosts.turns;
    (void)__atomic_compare_exchange_n(c->options.host_turns, &seen, seen + 1, false,
                                      __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

static enum err ensure(struct pg *c, struct error *e)
{
    c->outcome = PG_REFUSED; /* nothing was sent yet */
    c->sqlstate[0] = '\0';
    c->deadline_us = clock_mono_us() + c->options.call_ms * 1000;
    if (is_broken(c)) return error_set(e, ERR_IO, "PostgreSQL: given up");
    if (c->conn != NULL && PQstatus(c->conn) == CONNECTION_OK) return OK;
    pg_drop(c);
    int turns = __atomic_load_n(c->options.host_turns, __ATOMIC_ACQUIRE);
    pg_hosts_rotate(&c->hosts, turns);
    const char *const words[] = {
        "dbname", "application_name", "client_encoding", "host", "hostaddr", "port", NULL};
    const char *const values[] = {c->url,        c->name, "UTF8", c->hosts.host, c->hosts.hostaddr,
                                  c->hosts.port, NULL};
    c->conn = PQconnectStartParams(words, values, 1);
    if (c->conn == NULL) return error_set(e, ERR_NOMEM, "no memory for a connection");
    enum err r = PQstatus(c->conn) == CONNECTION_BAD ? lost(c, e, "cannot connect")
                                                     : handshake(c, e);
    if (r == OK && PQsetnonblocking(c->conn, 1) != 0) r = lost(c, e, "cannot connect");
    if (r == OK) PQsetNoticeReceiver(c->conn, on_notice, c);
    if (r == OK) r = set_up(c, e);
    if (r == OK) r = prove(c, e);
    if (r == OK) c->connections++;
    if (r != OK) turn_hosts(c);
    if (r != OK) c->outcome = PG_REFUSED;
    return r;
}

struct pg_params *pg_params_of(struct pg *c)
{
    return &c->params;
}

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
    INVARIANT(i < STATEMENTS_MAX);
    if (PQsendPrepare(c->conn, name, sql, c->params.count, c->params.type) == 0) {
        return lost(c, e, "cannot send");
    }
    enum err r = settle(c, e);
    if (r != OK) return r;
    c->prepared[c->prepared_count++] = sql;
    drop_result(c);
    return OK;
}

static enum err parameters_are_good(const struct pg *c, struct error *e)
{
    const struct buf *b = &c->params.bytes;
    if (!b->is_failed && b->len <= INT32_MAX) return OK;
    return error_set(e, ERR_NOMEM, "no memory for a statement's parameters");
}

/* Connected, and the statement is prepared there. An error: it was not sent. */
static enum err make_ready(struct pg *c, const char *sql, char name[NAME_BYTES], struct error *e)
{
    drop_result(c);
    c->is_warned = c->is_taken = c->is_unproved = false;
    c->outcome = PG_REFUSED;
    enum err r = parameters_are_good(c, e);
    if (r == OK) r = ensure(c, e);
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
        return lost(c, e, "cannot send");
    }
    return OK;
}

enum err pg_run(struct pg *c, const char *sql, struct error *e)
{
    char name[NAME_BYTES];
    INVARIANT(c->pending == 0);
    enum err r = make_ready(c, sql, name, e);
    if (r == OK) r = put_statement(c, name, e);
    return r == OK ? settle(c, e) : r;
}

/* ---- do its commits wait for standbys? ---- */

static enum err send_waits(struct pg *c, struct error *e)
{
    if (PQsendQueryPrepared(c->conn, WAITS, 0, NULL, NULL, NULL, 1) != 0) return OK;
    return lost(c, e, "cannot send");
}

static struct pg_waits waits_of(const struct pg *c)
{
    return (struct pg_waits){pg_i64(c, 0, 0), pg_i64(c, 0, 1), pg_i64(c, 0, 2)};
}

/* Before what has to be safe. */
static enum err prove_waits(struct pg *c, struct error *e)
{
    int64_t left_us = 0;
    enum err r = c->loaded_us == 0 ? ERR_WAIT : OK;
    while (r == ERR_WAIT) {
        drop_result(c);
        r = send_waits(c, e);
        if (r == OK) r = settle(c, e);
        if (r != OK) break;
        struct pg_waits w = waits_of(c);
        r = pg_proof_begin(&w, &c->loaded_us, &left_us, e);
        bool is_over = r == ERR_WAIT && !pg_pause(c, left_us / 1000 + 1);
        if (is_over) r = lost(c, e, "given up");
    }
    drop_result(c);
    if (r != OK) c->outcome = PG_REFUSED;
    c->is_unproved = r != OK && c->conn != NULL && PQstatus(c->conn) == CONNECTION_OK;
    return r;
}

/* ---- one after another, without waiting ---- */

/* The end of a transaction. */
static enum err put_sync(struct pg *c, struct error *e)
{
    return PQpipelineSync(c->conn) == 0 ? lost(c, e, "cannot send") : OK;
}

enum err pg_send(struct pg *c, const char *sql, struct error *e)
{
    char name[NAME_BYTES];
    enum err r = OK;
    if (c->pending == 0) {
        r = make_ready(c, sql, name, e);
        if (r == OK && c->options.is_proved) r = prove_waits(c, e);
        if (r == OK && PQenterPipelineMode(c->conn) == 0) r = lost(c, e, "cannot send");
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
        if (left < 0) return lost(c, e, "cannot send");
        if (PQisBusy(c->conn) == 0) return OK;
        enum err r = wait_for_any(c, left == 1 ? POLLIN | POLLOUT : POLLIN, fd, e);
        if (r != OK) return r;
        if (PQconsumeInput(c->conn) == 0) return lost(c, e, "the connection was lost");
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
            return c->result == NULL ? lost(c, e, "no result") : OK;
        } else {
            nothing = 0;
            keep_result(c, next);
        }
    }
    return lost(c, e, "no end of a result");
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
    if (r == OK && !is_told) r = lost(c, e, "whether standbys have it is not told");
    PQclear(c->result);
    c->result = statement;
    return r;
}

enum err pg_take(struct pg *c, int fd, struct error *e)
{
    struct error unproved;
    INVARIANT(c->pending > 0);
    if (c->is_taken) {
        drop_result(c);
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
    if (c->pending == 0 && PQexitPipelineMode(c->conn) == 0) return lost(c, e, "no end");
    r = judge(c, e);
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
    enum err r = ensure(c, e);
    return r == OK ? script(c, sql, e) : r;
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
