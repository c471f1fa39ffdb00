/* pg_connect: the connection of pg.h: made at the first call, to the first server that will do,
 * with the settings of a session; who its server is; and waiting for answers, no longer than a call
 * may take. */
#include "backend/postgres/pg_int.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "backend/postgres/pg_pooler.h"
#include "base/clock.h"
#include "base/mem.h"

/* ---- the breaker ---- */

enum err pg_breaker_init(struct pg_breaker *b, struct error *e)
{
    *b = (struct pg_breaker){.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    if (b->fd < 0)
        return error_set(e, ERR_IO, "cannot create an event descriptor: %s", strerror(errno));
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

void pg_drop_result(struct pg *c)
{
    PQclear(c->result);
    c->result = NULL;
}

void pg_drop(struct pg *c)
{
    pg_drop_result(c);
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

enum err pg_lost(struct pg *c, struct error *e, const char *what)
{
    const char *why = c->conn != NULL ? PQerrorMessage(c->conn) : "";
    c->outcome = PG_UNKNOWN;
    enum err r = error_set(e, ERR_IO, "PostgreSQL: %s%s%.*s", what, why[0] != '\0' ? ": " : "",
                           first_line(why), why);
    pg_drop(c);
    return r;
}

enum err pg_wait_for_any(struct pg *c, short events, int fd, struct error *e)
{
    for (;;) {
        struct pollfd fds[] = {{.fd = PQsocket(c->conn), .events = events},
                               {.fd = c->options.breaker->fd, .events = POLLIN},
                               {.fd = fd, .events = POLLIN}};
        int64_t left_us = c->deadline_us - clock_mono_us();
        if (is_broken(c)) return pg_lost(c, e, "given up");
        if (left_us <= 0) return pg_lost(c, e, "no response in time");
        int n = poll(fds, 3, (int)(left_us / 1000) + 1);
        if (n < 0 && errno != EINTR) return pg_lost(c, e, "poll");
        if (n > 0 && fds[0].revents != 0) return OK;
        if (n > 0 && fds[2].revents != 0) return ERR_WAIT;
    }
}

static enum err wait_for(struct pg *c, short events, struct error *e)
{
    return pg_wait_for_any(c, events, -1, e);
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
        if (status == PGRES_POLLING_FAILED) return pg_lost(c, e, "cannot connect");
        enum err r = wait_for(c, status == PGRES_POLLING_READING ? POLLIN : POLLOUT, e);
        if (r != OK) return r;
    }
}

void pg_keep_result(struct pg *c, PGresult *next)
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
            if (PQconsumeInput(c->conn) == 0) return pg_lost(c, e, "the connection was lost");
        }
        PGresult *next = PQgetResult(c->conn);
        if (next == NULL) break;
        pg_keep_result(c, next);
    }
    return c->result == NULL ? pg_lost(c, e, "no result") : OK;
}

static enum err send_all(struct pg *c, struct error *e)
{
    int left;
    while ((left = PQflush(c->conn)) == 1) {
        enum err r = wait_for(c, POLLIN | POLLOUT, e);
        if (r != OK) return r;
        if (PQconsumeInput(c->conn) == 0) return pg_lost(c, e, "the connection was lost");
    }
    return left == 0 ? OK : pg_lost(c, e, "cannot send");
}

enum err pg_judge(struct pg *c, struct error *e)
{
    ExecStatusType status = PQresultStatus(c->result);
    if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK) {
        c->outcome = c->is_warned ? PG_UNKNOWN : PG_DONE;
        return c->is_warned ? error_set(e, ERR_IO, "PostgreSQL warning: %s", c->warning) : OK;
    }
    const char *state = PQresultErrorField(c->result, PG_DIAG_SQLSTATE);
    const char *text = PQresultErrorMessage(c->result);
    if (PQstatus(c->conn) != CONNECTION_OK) return pg_lost(c, e, "the connection was lost");
    snprintf(c->sqlstate, sizeof c->sqlstate, "%s", state != NULL ? state : "XX000");
    bool is_full = strcmp(c->sqlstate, "53100") == 0;
    c->outcome = PG_REFUSED;
    return error_set(e, is_full ? ERR_DISK_FULL : ERR_IO, "PostgreSQL (%s): %.*s", c->sqlstate,
                     first_line(text), text);
}

enum err pg_settle(struct pg *c, struct error *e)
{
    enum err r = send_all(c, e);
    if (r == OK) r = take_results(c, e);
    return r == OK ? pg_judge(c, e) : r;
}

enum err pg_simple(struct pg *c, const char *sql, struct error *e)
{
    pg_drop_result(c);
    c->is_warned = false;
    if (PQsendQuery(c->conn, sql) == 0) return pg_lost(c, e, "cannot send");
    return pg_settle(c, e);
}

long pg_simple_number(const struct pg *c, unsigned column)
{
    return strtol(PQgetvalue(c->result, 0, (int)column), NULL, 10);
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
    enum err r = pg_simple(c, sql, e);
    if (r != OK) pg_drop(c);
    return r;
}

/* A server that does not know the functions has no name; one that stands by is of no use. */
static enum err name_server(struct pg *c, struct error *e)
{
    static const char *const unknown[] = {"42", "0A", "22"};
    enum err r = pg_simple(c, pg_proof_server_sql, e);
    bool is_nameless = false;
    for (size_t i = 0; r != OK && i < sizeof unknown / sizeof unknown[0]; i++) {
        is_nameless |= strncmp(c->sqlstate, unknown[i], 2) == 0;
    }
    if (r != OK && !is_nameless) return r;
    struct slice name = r == OK ? slice_str(PQgetvalue(c->result, 0, 0)) : slice_str("none");
    snprintf(c->server, sizeof c->server, "%.*s", (int)name.len, (const char *)name.data);
    c->sqlstate[0] = '\0';
    c->is_pooled = r == OK && pg_simple_number(c, 1) != PQbackendPID(c->conn);
    if (name.len > 0) return OK;
    return error_set(e, ERR_IO,
                     "PostgreSQL: this server is a standby (in recovery); postgresql-url must "
                     "point to the primary, for example with target_session_attrs=read-write");
}

static enum err prove(struct pg *c, struct error *e)
{
    enum err r = c->options.prove != NULL ? name_server(c, e) : OK;
    if (r == OK && c->is_pooled) r = pg_pooler_check(c, e);
    if (r == OK && c->options.prove != NULL) r = c->options.prove(c->options.arg, c->server, e);
    if (r == OK && c->options.is_proved) {
        pg_drop_result(c);
        if (PQsendPrepare(c->conn, PG_WAITS, pg_proof_waits_sql, 0, NULL) == 0) {
            return pg_lost(c, e, "cannot send");
        }
        r = pg_settle(c, e);
    }
    if (r != OK) pg_drop(c);
    return r;
}

/* The first of several servers is not to be had. libpq goes on to the next by itself only when that
 * one refuses, or stands by: not when it is silent, or takes the connection and closes it, as what
 * stands before a dead server does. Only if no other connection has found that out meanwhile. */
static void turn_hosts(struct pg *c)
{
    int seen = c->hosts.turns;
    (void)__atomic_compare_exchange_n(c->options.host_turns, &seen, seen + 1, false,
                                      __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

enum err pg_ensure(struct pg *c, struct error *e)
{
    c->outcome = PG_REFUSED; /* nothing was sent yet */
    c->sqlstate[0] = '\0';
    c->deadline_us = clock_mono_us() + c->options.call_ms * 1000;
    if (is_broken(c)) return error_set(e, ERR_IO, "PostgreSQL: connection abandoned");
    if (c->conn != NULL && PQstatus(c->conn) == CONNECTION_OK) return OK;
    pg_drop(c);
    int turns = __atomic_load_n(c->options.host_turns, __ATOMIC_ACQUIRE);
    pg_hosts_rotate(&c->hosts, turns);
    const char *const words[] = {
        "dbname", "application_name", "client_encoding", "host", "hostaddr", "port", NULL};
    const char *const values[] = {c->url,        c->name, "UTF8", c->hosts.host, c->hosts.hostaddr,
                                  c->hosts.port, NULL};
    c->conn = PQconnectStartParams(words, values, 1);
    if (c->conn == NULL) return error_set(e, ERR_NOMEM, "out of memory for a connection");
    enum err r = PQstatus(c->conn) == CONNECTION_BAD ? pg_lost(c, e, "cannot connect")
                                                     : handshake(c, e);
    if (r == OK && PQsetnonblocking(c->conn, 1) != 0) r = pg_lost(c, e, "cannot connect");
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
