#include "server/server.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "backend/local/local.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/random.h"
#include "net/net.h"
#include "tupled.h"

#define RESERVED_FILES 64 /* beside one per client */

struct server {
    const struct config *config;
    struct net *net;
    struct backend *backend;
    struct engine *engine;
    struct env env;
};

static void on_wake(void *arg)
{
    struct server *s = arg;
    net_wake(s->net);
}

/* The journal could not write or sync space that it had reserved. What was acknowledged is on disk;
 * nothing may be acknowledged any more (SPEC 7). */
__attribute__((noreturn)) static void on_fatal(void *arg, const struct error *e)
{
    (void)arg;
    log_warning("stopping: %s; nothing is acknowledged any more, what was acknowledged is safe",
                e->text);
    fprintf(stderr, "tupled: %s\n", e->text);
    _exit(1);
}

static void on_client_close(void *arg, struct client *c)
{
    struct server *s = arg;
    net_client_close(s->net, c);
}

static void on_shutdown(void *arg)
{
    struct server *s = arg;
    log_notice("SHUTDOWN: stopping");
    net_stop(s->net);
}

static size_t on_config_count(void *arg)
{
    (void)arg;
    return config_count();
}

static const char *on_config_name(void *arg, size_t i)
{
    (void)arg;
    return config_name(i);
}

static void on_config_value(void *arg, size_t i, struct buf *out)
{
    const struct server *s = arg;
    config_get(s->config, i, out);
}

static enum durability durability_of(const struct config *c)
{
    switch (c->durability) {
    case CONFIG_DURABLE_INTERVAL: return DURABILITY_INTERVAL;
    case CONFIG_DURABLE_NEVER: return DURABILITY_NEVER;
    default: return DURABILITY_ALWAYS;
    }
}

static enum err open_backend(struct server *s, struct error *e)
{
    const struct config *c = s->config;
    struct local_options options = {
        .dir = c->dir,
        .durability = durability_of(c),
        .interval_ms = (unsigned)c->durability_interval_ms,
        .segment_bytes = c->journal_segment_bytes,
        .retention_ms = (int64_t)c->changes_retention_age_s * 1000,
        .retention_bytes = c->changes_retention_bytes,
        .memtable_bytes = c->memtable_bytes,
        .memtable_age_ms = (int64_t)c->memtable_age_ms,
        .write_buffer_bytes = c->write_buffer_bytes,
        .cache_bytes = c->cache_bytes,
        .store_cache_bytes = c->store_cache_bytes,
        .query_threads = (unsigned)c->query_threads,
        .scan_ms_max = (int64_t)c->scan_timeout_ms,
        .wake = on_wake,
        .on_fatal = on_fatal,
        .arg = s,
    };
    return local_open(&options, &s->backend, e);
}

/* A transaction must fit into one journal segment, with what its record and its expiry rows add. */
static uint64_t transaction_bytes_max(const struct config *c)
{
    uint64_t possible = c->journal_segment_bytes / 3 * 2;
    if (c->max_transaction_bytes <= possible) return c->max_transaction_bytes;
    log_notice("max-transaction-size lowered to %llu, two thirds of journal-segment-size",
               (unsigned long long)possible);
    return possible;
}

static void open_engine(struct server *s)
{
    const struct config *c = s->config;
    struct engine_options options = {
        .backend = s->backend,
        .value_bytes_max = c->max_value_bytes,
        .txn_bytes_max = transaction_bytes_max(c),
        .ops_max = c->max_transaction_ops,
        .expire_batch = (unsigned)c->expire_batch,
        .databases = (uint8_t)c->databases,
    };
    s->engine = engine_new(&options);
}

static void fill_env(struct server *s, const char *executable)
{
    const struct config *c = s->config;
    struct env *env = &s->env;
    uint8_t id[20];
    random_system(id, sizeof id);
    for (size_t i = 0; i < sizeof id; i++) snprintf(env->run_id + 2 * i, 3, "%02x", id[i]);
    env->engine = s->engine;
    env->version = TUPLED_VERSION;
    env->config_file = c->file != NULL ? c->file : "";
    env->executable = executable;
    env->databases = (uint8_t)c->databases;
    env->default_format = c->default_format == CONFIG_FORMAT_MSGPACK ? FORMAT_MSGPACK : FORMAT_JSON;
    env->clients_max = c->maxclients;
    env->debug_is_allowed = c->enable_debug_command == CONFIG_DEBUG_YES;
    env->debug_is_local = c->enable_debug_command == CONFIG_DEBUG_LOCAL;
    env->started_ms = clock_wall_ms();
    env->clients.next = env->clients.prev = &env->clients;
    env->server = s;
    env->client_close = on_client_close;
    env->shutdown = on_shutdown;
    env->config_count = on_config_count;
    env->config_name = on_config_name;
    env->config_value = on_config_value;
}

/* As many descriptors as maxclients needs, or fewer clients, with a line that says so. */
static uint64_t limit_clients(uint64_t wanted)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return wanted;
    if (limit.rlim_cur >= wanted + RESERVED_FILES) return wanted;
    rlim_t old = limit.rlim_cur;
    limit.rlim_cur = wanted + RESERVED_FILES < limit.rlim_max ? wanted + RESERVED_FILES
                                                              : limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) limit.rlim_cur = old;
    if (limit.rlim_cur >= wanted + RESERVED_FILES) return wanted;
    uint64_t possible = limit.rlim_cur > 2 * RESERVED_FILES ? limit.rlim_cur - RESERVED_FILES : 16;
    log_warning("maxclients lowered from %llu to %llu: only %llu open files are allowed",
                (unsigned long long)wanted, (unsigned long long)possible,
                (unsigned long long)limit.rlim_cur);
    return possible;
}

static enum err open_net(struct server *s, struct error *e)
{
    const struct config *c = s->config;
    s->env.clients_max = limit_clients(c->maxclients);
    struct net_options options = {
        .env = &s->env,
        .bind = c->bind,
        .bind_count = c->bind_count,
        .port = (uint16_t)c->port,
        .backlog = (int)c->tcp_backlog,
        .idle_s = c->timeout_s,
        .keepalive_s = c->tcp_keepalive_s,
        .clients_max = s->env.clients_max,
        .bulk_bytes_max = c->proto_max_bulk_bytes,
        .query_bytes_max = c->query_buffer_bytes,
        .output_bytes_hard = c->output_buffer_hard_bytes,
        .output_bytes_soft = c->output_buffer_soft_bytes,
        .output_soft_s = c->output_buffer_soft_s,
    };
    enum err r = net_open(s->net, &options, e);
    if (r == OK) s->env.port = net_port(s->net);
    return r;
}

/* For tests of the hold rule: TUPLED_TEST_SYNC_DELAY_MS makes every journal sync that much slower.
 */
static void read_test_environment(void)
{
    const char *delay = getenv("TUPLED_TEST_SYNC_DELAY_MS");
    uint64_t delay_ms = 0;
    if (delay == NULL || !slice_to_u64(slice_str(delay), &delay_ms)) return;
    log_warning("TUPLED_TEST_SYNC_DELAY_MS: every sync takes %llu ms longer",
                (unsigned long long)delay_ms);
    fault_set_sync_delay_ms((unsigned)delay_ms);
}

int server_run(const struct config *config, const char *executable)
{
    struct server s = {.config = config};
    struct error e = {0};
    enum err r = log_open(config->logfile, config->loglevel, &e);
    signal(SIGPIPE, SIG_IGN);
    s.net = net_new();
    if (r == OK) {
        log_notice("tupled %s is starting, process %d, data in %s", TUPLED_VERSION, (int)getpid(),
                   config->dir);
        read_test_environment();
        r = open_backend(&s, &e);
    }
    if (r == OK) {
        open_engine(&s);
        fill_env(&s, executable);
        r = open_net(&s, &e);
    }
    if (r == OK) {
        net_on_signals(s.net);
        log_notice("ready to accept connections on %s port %u", config->bind[0], s.env.port);
        net_run(s.net);
    } else {
        fprintf(stderr, "tupled: %s\n", e.text);
    }
    /* Connections hold scans of the engine; the backend's threads wake the loop until it is closed.
     */
    if (s.env.engine != NULL) net_close(s.net);
    engine_free(s.engine);
    if (s.backend != NULL) {
        struct error closing = {0};
        enum err closed = s.backend->ops->close(s.backend, &closing);
        if (closed != OK) log_warning("stopping: %s; the journal has everything", closing.text);
        if (r == OK) r = closed;
    }
    net_free(s.net);
    if (r == OK) log_notice("stopped");
    return r == OK ? 0 : 1;
}
