/* server: see server.h. The order of a start: log, loop, database, commands, users, sockets; of a
 * stop: connections, cluster, database, commands, loop. Connections hold scans of the database, and
 * its threads wake the loop until it is closed. */
#include "server/server.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/give_way.h"
#include "base/line_file.h"
#include "base/list.h"
#include "base/random.h"
#include "base/resources.h"
#include "command/observe/memory.h"
#include "request/backup.h"
#include "request/login.h"
#include "request/observe.h"
#include "server/server_int.h"
#include "server/users.h"
#include "tupled.h"

static void on_database_wake(void *arg)
{
    struct server *s = arg;
    net_wake(s->net);
}

/* The journal could not write or sync space that it had reserved. What was acknowledged is on disk;
 * nothing may be acknowledged any more. */
__attribute__((noreturn)) static void on_fatal(void *arg, const struct error *e)
{
    const struct server *s = arg;
    if (leader_is_lost(s)) leader_end(s, e);
    log_warning("stopping: %s; no more writes are acknowledged, acknowledged data is safe",
                e->text);
    fprintf(stderr, "tupled: %s\n", e->text);
    _exit(1);
}

static void on_replay(void *arg, uint64_t transactions)
{
    struct server *s = arg;
    if (cluster_is_wanted(s)) {
        leader_start_goes_on(s);
        return;
    }
    service_progress(&s->service, "reading the journal: %llu transactions so far",
                     (unsigned long long)transactions);
}

static enum err open_database(struct server *s, const struct db_wrap *wrap, struct error *e)
{
    s->hooks = (struct server_hooks){
        .wake = on_database_wake, .on_replay = on_replay, .on_fatal = on_fatal};
    struct db_options options = settings_db(s);
    options.pipeline.arg = s;
    if (wrap != NULL) options.wrap = *wrap;
    enum err r = restored_frozen(s, &options.pipeline.frozen_ms, e);
    if (cluster_is_wanted(s)) {
        if (r == OK) r = cluster_check(s, e);
        options.elsewhere = (struct db_elsewhere){cluster_nothing, s};
        s->env.node.stands_by = true;
    }
    if (r == OK) r = db_open(&options, &s->env.db, e);
    if (r == OK) restored_queues(s);
    return r;
}

static void fill_env(struct server *s, const char *executable)
{
    const struct config *c = s->config;
    struct env *env = &s->env;
    uint8_t id[20];
    random_system(id, sizeof id);
    for (size_t i = 0; i < sizeof id; i++)
        snprintf(env->server.about.run_id + 2 * i, 3, "%02x", id[i]);
    if (c->backup_dir[0] != '\0') {
        buf_append_str(&s->backup_dir, c->backup_dir);
    } else {
        buf_printf(&s->backup_dir, "%s/backups", c->dir);
    }
    buf_append_byte(&s->backup_dir, '\0');
    buf_require(&s->backup_dir);
    env->settings.backup_dir = (const char *)s->backup_dir.data;
    env->server.wake = on_database_wake;
    env->server.wake_arg = s;
    command_init(env);
    env->server.about.version = TUPLED_VERSION;
    bool has_file = c->file != NULL && strcmp(c->file, "-") != 0; /* standard input is none */
    env->server.about.config_file = has_file ? c->file : "";
    env->server.about.executable = executable;
    env->settings.databases = (uint8_t)c->databases;
    env->settings.debug_is_allowed = c->enable_debug_command == CONFIG_DEBUG_YES;
    env->settings.debug_is_local = c->enable_debug_command == CONFIG_DEBUG_LOCAL;
    env->server.about.started_ms = clock_wall_ms();
    RING_INIT(&env->clients.list, next, prev);
    env->server.arg = s;
    env->server.tls = &s->tls;
    env->server.ops = &settings_ops;
    settings_to_env(s);
    struct memory_figures figures;
    memory_measure(env, &figures);
    env->memory.startup = figures.used;
}

/* A client keeps its number when it is passed on: no other node may give the same. */
static uint64_t first_client_id(void)
{
    uint8_t random[3];
    random_system(random, sizeof random);
    return (uint64_t)(random[0] << 16 | random[1] << 8 | random[2]) << 24;
}

static enum err open_sentinels(struct server *s, struct error *e)
{
    if (!cluster_is_wanted(s) || (s->config->sentinel_port == 0 && !s->is_any_sentinel_port)) {
        return OK;
    }
    struct net_listen l = settings_listen(s);
    s->sentinels = sentinels_new(&s->node, s->config->sentinel_master);
    l.protocol = &sentinel_protocol;
    l.arg = s->sentinels;
    l.port = (uint16_t)s->config->sentinel_port;
    l.is_any_port = s->is_any_sentinel_port;
    l.unix_path = "";
    l.setting = "sentinel-port";
    return net_listen(s->net, &l, &s->sentinel_port, e);
}

static enum err open_net(struct server *s, struct error *e)
{
    struct session_options sessions = settings_sessions(s);
    if (cluster_is_wanted(s)) {
        node_init(&s->node, s->net, &s->env);
        s->node.leader_wait_ms = s->env.node.following.wait_ms = (int64_t)s->config->leader_wait_ms;
        s->node.is_tls = s->config->tls_cluster == CONFIG_YES;
        s->env.node.self = &s->node;
        s->env.node.known = &s->node.known;
        s->env.clients.last_id = first_client_id();
    }
    s->sessions = sessions_new(&s->env, &sessions);
    loop_open(s);
    struct net_listen plain = settings_listen(s);
    struct net_listen tls = settings_listen_tls(s);
    bool has_plain = plain.port != 0 || plain.is_any_port || plain.unix_path[0] != '\0';
    enum err r = OK;
    if (tls_is_on(s)) r = tls_open(s, e);
    if (r == OK && tls_has_port(s)) r = net_listen(s->net, &tls, &s->tls.port, e);
    if (r == OK && (has_plain || !tls_has_port(s))) {
        r = net_listen(s->net, &plain, &s->env.server.about.port, e);
    }
    if (r == OK) r = open_sentinels(s, e);
    return r == OK ? http_open(s, e) : r;
}

/* 0 when it is not set. */
static uint64_t test_number(const char *name)
{
    const char *text = getenv(name);
    uint64_t n = 0;
    return text != NULL && slice_to_u64(slice_str(text), &n) ? n : 0;
}

static unsigned test_delay_ms(const char *name, const char *what)
{
    unsigned delay_ms = (unsigned)test_number(name);
    if (delay_ms > 0) log_warning("%s: every %s takes %u ms longer", name, what, delay_ms);
    return delay_ms;
}

/* For tests of the hold rule: TUPLED_TEST_SYNC_DELAY_MS makes every journal sync that much slower.
 * TUPLED_TEST_READ_DELAY_MS: every read of a key in the store waits, and that much longer.
 * For those that need a port of their own: with TUPLED_TEST_ANY_PORT=1 port 0 is any free one, and
 * tls-port 0 with TUPLED_TEST_ANY_TLS_PORT=1, http-port 0 with TUPLED_TEST_ANY_HTTP_PORT=1,
 * sentinel-port 0 with TUPLED_TEST_ANY_SENTINEL_PORT=1.
 * TUPLED_TEST_LATE_BYTES: of keys whose changes are sent late, at most (src/watch).
 * TUPLED_TEST_TOKEN_MS: how long a token of KV Connect is good.
 * TUPLED_TEST_TICKET_MS: how long a ticket waits for its first use (docs/http.md).
 * TUPLED_TEST_FORMAT: of the tables in PostgreSQL, which a newer tupled would make (term.h).
 * TUPLED_TEST_SHORT_SYNC_US: how long a sync of the journal may be that the loop does by itself.
 * TUPLED_TEST_LONG_SYNC_US: how long one must be for two to be under way.
 * TUPLED_TEST_EXCLUSIVE_MS: how long a script may hold what others write.
 * TUPLED_TEST_TURN_MS: turns of the loop that take more processor time are logged.
 * TUPLED_TEST_IO_THREADS: as many as a larger machine would make by itself. */
static void read_test_environment(struct server *s)
{
    s->is_any_port = test_number("TUPLED_TEST_ANY_PORT") == 1;
    s->is_any_tls_port = test_number("TUPLED_TEST_ANY_TLS_PORT") == 1;
    s->is_any_sentinel_port = test_number("TUPLED_TEST_ANY_SENTINEL_PORT") == 1;
    s->is_any_http_port = test_number("TUPLED_TEST_ANY_HTTP_PORT") == 1;
    s->env.turn.bound_us = (int64_t)test_number("TUPLED_TEST_TURN_MS") * 1000;
    s->env.settings.connect_token_ms = (int64_t)test_number("TUPLED_TEST_TOKEN_MS");
    s->env.settings.script_exclusive_ms = (int64_t)test_number("TUPLED_TEST_EXCLUSIVE_MS");
    s->ticket_ms = (int64_t)test_number("TUPLED_TEST_TICKET_MS");
    s->format = (int64_t)test_number("TUPLED_TEST_FORMAT");
    s->io_threads = (unsigned)test_number("TUPLED_TEST_IO_THREADS");
    s->is_journal_buffered = test_number("TUPLED_TEST_BUFFERED") == 1;
    s->late_bytes_max = (size_t)test_number("TUPLED_TEST_LATE_BYTES");
    unsigned sync_delay_ms = test_delay_ms("TUPLED_TEST_SYNC_DELAY_MS", "sync");
    fault_set_sync_delay_ms(sync_delay_ms);
    if (sync_delay_ms == 0) s->short_sync_us = (int64_t)test_number("TUPLED_TEST_SHORT_SYNC_US");
    s->long_sync_us = (int64_t)test_number("TUPLED_TEST_LONG_SYNC_US");
    fault_set_read_delay_ms(test_delay_ms("TUPLED_TEST_READ_DELAY_MS", "read"));
}

static void log_starting(const struct config *c)
{
    const struct log_field fields[] = {{.name = "version", .text = TUPLED_VERSION},
                                       {.name = "dir", .text = c->dir}};
    log_event(LOG_LEVEL_NOTICE, fields, 2, "tupled %s is starting, process %d, data in %s",
              TUPLED_VERSION, (int)getpid(), c->dir);
}

/* Tests and scripts read the port here. */
static void log_ready(const struct server *s)
{
    const struct config *c = s->config;
    const struct log_field tcp[] = {{.name = "address", .text = c->bind[0]},
                                    {.name = "port", .number = s->env.server.about.port}};
    const struct log_field tls[] = {{.name = "address", .text = c->bind[0]},
                                    {.name = "tls-port", .number = s->tls.port}};
    const struct log_field http[] = {{.name = "address", .text = c->http_bind},
                                     {.name = "http-port", .number = s->http_port}};
    const struct log_field local[] = {{.name = "unixsocket", .text = c->unixsocket}};
    if (s->http_port != 0) {
        log_event(LOG_LEVEL_NOTICE, http, 2, "ready to accept HTTP%s on %s port %u",
                  c->http_tls == CONFIG_YES ? " over TLS" : "", c->http_bind, s->http_port);
    }
    if (s->sentinel_port != 0) {
        log_notice("ready to accept Sentinel connections on %s port %u", c->bind[0],
                   s->sentinel_port);
    }
    if (tls_has_port(s)) {
        log_event(LOG_LEVEL_NOTICE, tls, 2, "ready to accept TLS connections on %s port %u",
                  c->bind[0], s->tls.port);
    }
    if (s->env.server.about.port != 0) {
        log_event(LOG_LEVEL_NOTICE, tcp, 2, "ready to accept connections on %s port %u", c->bind[0],
                  s->env.server.about.port);
    }
    if (c->unixsocket[0] == '\0') return;
    log_event(LOG_LEVEL_NOTICE, local, 1, "ready to accept connections on the Unix socket %s",
              c->unixsocket);
}

/* What is made from here on is for the server's user alone, or for its group too. What was there
 * before stays as it was made. */
static void keep_private(struct server *s)
{
    bool with_group = s->config->data_group_access == CONFIG_YES;
    s->umask_before = umask(with_group ? 0027 : 0077);
}

static void warn_if_open(const struct config *c)
{
    if (!file_is_open_to_others(c->dir, c->data_group_access == CONFIG_YES)) return;
    log_warning(
        "the directory %s is accessible to other users of this machine; `chmod %s` makes it "
        "private",
        c->dir, c->data_group_access == CONFIG_YES ? "750" : "700");
}

/* SIGHUP waits until the loop, which knows what to do with it, runs: without that it would end a
 * server that is recovering. */
static void prepare_signals(void)
{
    sigset_t waits;
    signal(SIGPIPE, SIG_IGN);
    sigemptyset(&waits);
    sigaddset(&waits, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &waits, NULL);
}

/* It does not start. */
static void tell_refusal(struct server *s, const struct error *e)
{
    service_stopping(&s->service, e->text);
    if (log_has_file()) log_warning("not started: %s", e->text);
    fprintf(stderr, "tupled: %s\n", e->text);
}

static void log_passed_over(const struct config *c)
{
    const char *line = c->passed_over;
    while (line != NULL && *line != '\0') {
        int len = (int)strcspn(line, "\n");
        log_notice("setting of Redis without effect: %.*s", len, line);
        line += len + 1;
    }
}

static void begin_start(struct server *s)
{
    log_starting(s->config);
    log_passed_over(s->config);
    service_init(&s->service);
    service_progress(&s->service, "opening the data directory");
    s->memory_bytes = memory_limit();
    s->processors = processors_limit();
    read_test_environment(s);
    settings_limit_clients(s);
}

static enum err open_access(struct server *s, struct error *e)
{
    const char *audit_log = s->config->audit_log;
    enum err r = users_open(s, e);
    if (r != OK || audit_log[0] == '\0') return r;
    return line_file_open(audit_log, &s->env.audit.file, e);
}

static void serve(struct server *s)
{
    log_ready(s);
    turn_begin(&s->env);
    give_way_to_me();
    net_run(s->net);
    service_stopping(&s->service, "stopping");
}

int server_run(struct config *config, const char *executable, const struct db_wrap *wrap)
{
    struct server s = {.config = config};
    struct error e = {0};
    host_init(&s.host);
    struct host *before = host_use(&s.host);
    keep_private(&s);
    log_set_format(config->log_format);
    enum err r = log_open(config->logfile, config->loglevel, &e);
    prepare_signals();
    s.net = net_new();
    if (r == OK) {
        begin_start(&s);
        r = open_database(&s, wrap, &e);
    }
    if (r == OK) {
        fill_env(&s, executable);
        warn_if_open(config);
        backup_remove_parts(s.env.settings.backup_dir);
        r = open_access(&s, &e);
        if (r == OK) r = open_net(&s, &e);
        if (r == OK) r = cluster_open(&s, &e);
    }
    if (r == OK) serve(&s);
    if (r != OK) tell_refusal(&s, &e);
    /* Connections hold scans; the database's threads wake the loop until it is closed. */
    if (s.env.db != NULL) {
        struct error closing = {0};
        s.env.server.is_stopping = true;
        net_close(s.net);
        cluster_close(&s);
        enum err closed = db_close(s.env.db, &closing);
        if (closed != OK) log_warning("stopping: %s; the journal is complete", closing.text);
        if (r == OK) r = closed;
        http_free(s.http); /* its tickets hold users */
        /* The close may have told the end of a backup. */
        command_fini(&s.env);
        if (s.env.node.self != NULL) node_fini(&s.node);
        if (r == OK && s.has_failed) r = ERR_IO;
    }
    line_file_close(s.env.audit.file);
    buf_fini(&s.backup_dir);
    net_free(s.net);
    sessions_free(s.sessions);
    sentinels_free(s.sentinels);
    if (r == OK) log_notice("stopped");
    (void)host_use(before);
    host_fini(&s.host);
    return r == OK ? 0 : 1;
}
