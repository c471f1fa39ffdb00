/* loop: what belongs to a turn of the loop beside connections: the commands' part of it and the
 * database's, ticks, signals.
 */
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "base/log.h"
#include "engine/start.h"
#include "request/client_memory.h"
#include "request/observe.h"
#include "server/server_int.h"

#define OWN_SYNC_TXNS 64

static void on_wake(void *arg)
{
    struct server *s = arg;
    db_poll(s->env.db);
    cluster_poll(s);
}

static void on_turn_begin(void *arg, int64_t now_us)
{
    struct server *s = arg;
    s->env.now_us = now_us;
    leader_look(s);
}

/* Of several clients the loop serves some while a thread syncs what others wrote: that gains more
 * than doing it without a thread as soon as there is more to run. */
static uint32_t own_sync_txns(const struct net *n)
{
    switch (net_asking(n)) {
    case NET_ASKING_ONE: return UINT32_MAX;
    case NET_ASKING_WAITERS: return OWN_SYNC_TXNS;
    case NET_ASKING_ANY: break;
    }
    return 0;
}

static bool on_turn_end(void *arg)
{
    struct server *s = arg;
    bool is_busy = command_turn(&s->env);
    if (s->http != NULL) http_turn(s->http);
    engine_backend(s->env.db->engine)->own_sync_txns = own_sync_txns(s->net);
    is_busy = db_turn_end(s->env.db) || is_busy;
    bool is_idle = !is_busy && s->env.stats.commands == s->commands;
    s->commands = s->env.stats.commands;
    return (is_idle && db_idle(s->env.db)) || is_busy;
}

static void on_turn_over(void *arg, size_t bytes, double seconds)
{
    struct server *s = arg;
    client_memory_grow(&s->env, bytes);
    client_memory_check(&s->env);
    observe_turn(&s->env, seconds);
    turn_end(&s->env, bytes, seconds);
}

/* What layers keep in memory is read in ticks, while connections are accepted already. */
static void tell_start(struct server *s)
{
    if (engine_is_started(s->env.db->engine)) {
        service_ready(&s->service, "serving");
    } else {
        service_progress(&s->service, "loading queues and indexes");
    }
}

static void on_tick(void *arg)
{
    struct server *s = arg;
    db_tick(s->env.db);
    cluster_tick(s);
    command_tick(&s->env);
    if (s->service.state == SERVICE_STARTING) tell_start(s);
    service_tick(&s->service);
}

/* Nodes of a cluster have times to keep. */
static int64_t on_rest_ms(void *arg)
{
    struct server *s = arg;
    if (s->cluster != NULL || s->service.state == SERVICE_STARTING) return 0;
    int64_t db_ms = db_rest_ms(s->env.db);
    int64_t commands_ms = command_rest_ms(&s->env);
    return db_ms < commands_ms ? db_ms : commands_ms;
}

static void on_slow_tick(void *arg)
{
    struct server *s = arg;
    stats_tick(&s->env);
    tls_tick(s);
    if (s->cluster != NULL) node_tick(&s->node);
    sentinels_tick(s->sentinels);
}

static void on_durable(void *server, uint64_t version)
{
    const struct server *s = server;
    net_set_durable(s->net, version);
}

static void on_stop_signal(void *arg, int signal)
{
    struct server *s = arg;
    if (s->is_signalled) {
        log_warning("second signal: exiting immediately; acknowledged data is in the journal");
        _exit(1);
    }
    s->is_signalled = true;
    log_notice("signal %d: stopping", signal);
    service_stopping(&s->service, "stopping: received a signal");
    net_stop(s->net);
}

static void on_sighup(void *arg, int signal)
{
    struct server *s = arg;
    (void)signal;
    hangup(s);
}

void loop_open(struct server *s)
{
    struct net_options options = settings_net(s);
    options.counts = &s->env.stats.net;
    options.tls = &s->tls;
    options.hooks = (struct net_hooks){
        .arg = s,
        .wake = on_wake,
        .turn_begin = on_turn_begin,
        .turn_end = on_turn_end,
        .turn_over = on_turn_over,
        .tick = on_tick,
        .slow_tick = on_slow_tick,
        .rest_ms = on_rest_ms,
        .may_send = cluster_is_wanted(s) ? leader_may_send : NULL,
    };
    net_open(s->net, &options);
    s->env.server.about.has_io_threads = options.io_threads > 1;
    s->hooks.on_durable = on_durable;
    db_on_durable(s->env.db, on_durable, s);
    net_set_durable(s->net, db_durable(s->env.db));
    net_on_signal(s->net, SIGTERM, on_stop_signal, s);
    net_on_signal(s->net, SIGINT, on_stop_signal, s);
    net_on_signal(s->net, SIGHUP, on_sighup, s);
    /* One that came while the database was opened is delivered now. */
    sigset_t waited;
    sigemptyset(&waited);
    sigaddset(&waited, SIGHUP);
    pthread_sigmask(SIG_UNBLOCK, &waited, NULL);
}
