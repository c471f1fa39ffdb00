/* metrics_server: the process, its clients, the commands. */
#include <sys/resource.h>

#include "access/access_log.h"
#include "command/observe/info.h"
#include "command/observe/memory.h"
#include "http/metrics_int.h"
#include "net/tls.h"
#include "node/node.h"
#include "request/stats.h"

/* ---- the process ---- */

static void write_build(struct metrics *m)
{
    const struct server_facts *about = &m->env->about;
    metrics_family(m, M_BUILD);
    metrics_by(m, "version", about->version, 1);
    metrics_family(m, M_START_TIME);
    metrics_milli(&m->out, NULL, 0, about->started_ms);
}

static void write_health(struct metrics *m)
{
    const struct db *db = m->env->db;
    const char *word = health_word(&m->stats);
    struct queues_totals queues;
    struct indexes_totals indexes;
    struct databases_totals databases;
    metrics_family(m, M_HEALTH);
    for (size_t i = 0; i < HEALTH_WORDS; i++) {
        metrics_by(m, "state", health_words[i], word == health_words[i]);
    }
    queues_totals(db->queues, &queues);
    indexes_totals(db->indexes, &indexes);
    databases_totals(db->databases, &databases);
    metrics_figure(m, M_LOADING, queues.is_reading || indexes.is_reading || databases.is_reading);
}

static void cpu(struct metrics *m, const char *mode, const struct timeval *t)
{
    struct metrics_label label = {"mode", slice_str(mode)};
    metrics_micro(&m->out, &label, 1, (uint64_t)t->tv_sec * 1000000 + (uint64_t)t->tv_usec);
}

static void write_process(struct metrics *m)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    metrics_family(m, M_CPU);
    cpu(m, "user", &usage.ru_utime);
    cpu(m, "system", &usage.ru_stime);
    metrics_figure(m, M_RESIDENT, memory_resident());
    metrics_figure(m, M_RESIDENT_MAX, memory_resident_peak());
    metrics_figure(m, M_MEMORY_CLIENTS, m->env->memory.clients);
    uint64_t limit = m->env->settings.memory_clients_max;
    if (limit != 0) metrics_figure(m, M_MEMORY_CLIENTS_LIMIT, limit);
    int64_t turn_us = m->env->stats.turn_max_us;
    metrics_family(m, M_TURN_MAX);
    metrics_micro(&m->out, NULL, 0, turn_us > 0 ? (uint64_t)turn_us : 0);
}

static void write_nodes(struct metrics *m)
{
    const struct node *n = m->env->node;
    if (n == NULL) return;
    metrics_figure(m, M_LEADS, n->leads);
    metrics_figure(m, M_LEADER_EPOCH, n->known.epoch);
    metrics_figure(m, M_NODES_UP, nodes_up(&n->known));
    metrics_figure(m, M_RELAYS, n->relay_count);
    metrics_figure(m, M_RELAYED, n->passed_on);
}

void metrics_server(struct metrics *m)
{
    write_build(m);
    write_health(m);
    write_nodes(m);
    write_process(m);
}

/* ---- clients ---- */

static void write_denied(struct metrics *m)
{
    static const struct {
        const char *word;
        enum access_log_reason reason;
    } reasons[] = {{"auth", ACCESS_LOG_AUTH},
                   {"command", ACCESS_LOG_COMMAND},
                   {"key", ACCESS_LOG_KEY},
                   {"channel", ACCESS_LOG_CHANNEL},
                   {"database", ACCESS_LOG_DATABASE}};
    metrics_family(m, M_DENIED);
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++) {
        metrics_by(m, "reason", reasons[i].word,
                   access_log_total(m->env->access_log, reasons[i].reason));
    }
    metrics_figure(m, M_AUDIT_FAILURES, m->env->audit.failures);
}

static void write_tls(struct metrics *m)
{
    const struct tls_status *t = m->env->tls;
    const struct net_counts *n = &m->env->stats.net;
    if (t == NULL || !t->is_on) return;
    metrics_figure(m, M_TLS_CONNECTIONS, t->connections);
    metrics_figure(m, M_TLS_OPEN, t->handshakes);
    metrics_family(m, M_TLS_HANDSHAKES);
    metrics_by(m, "result", "done", n->handshakes);
    metrics_by(m, "result", "failed", n->handshakes_failed);
    metrics_by(m, "result", "timed-out", n->handshakes_timed_out);
    metrics_by(m, "result", "cut", n->handshakes_cut);
    metrics_family(m, M_TLS_CERTIFICATE_END);
    if (t->cert_not_after_s > 0) {
        metrics_by(m, "certificate", "server", (uint64_t)t->cert_not_after_s);
    }
    if (t->ca_not_after_s > 0) metrics_by(m, "certificate", "ca", (uint64_t)t->ca_not_after_s);
    metrics_family(m, M_TLS_RELOADS);
    metrics_by(m, "result", "ok", t->reloads);
    metrics_by(m, "result", "failed", t->reload_failures);
    metrics_figure(m, M_TLS_RELOAD_FAILED, t->is_reload_failed);
}

void metrics_clients(struct metrics *m)
{
    const struct env *env = m->env;
    const struct env_stats *s = &env->stats;
    metrics_figure(m, M_CONNECTIONS, s->net.connections);
    metrics_figure(m, M_CONNECTIONS_REJECTED, s->net.rejected);
    metrics_figure(m, M_CLIENTS, env->client_count);
    metrics_figure(m, M_CLIENTS_LIMIT, env->settings.clients_max);
    metrics_figure(m, M_CLIENTS_WAITING, env->waiting_count);
    metrics_figure(m, M_CLIENTS_EVICTED, s->evicted_clients);
    metrics_figure(m, M_RECEIVED, s->net.in_bytes);
    metrics_figure(m, M_SENT, s->net.out_bytes);
    metrics_figure(m, M_PROTOCOL_ERRORS, s->protocol_errors);
    write_denied(m);
    write_tls(m);
}

/* ---- commands ---- */

/* One sample of each command that was asked for. */
static void each_command(struct metrics *m, enum metric_id id,
                         uint64_t (*figure)(const struct command_count *row))
{
    char name[STATS_NAME_BYTES];
    metrics_family(m, id);
    for (size_t i = 0; i < stats_count(m->env); i++) {
        const struct command_count *row = stats_at(m->env, i);
        if (row->calls == 0 && row->rejected == 0) continue;
        stats_name(row, name);
        metrics_by(m, "command", name, figure(row));
    }
}

static uint64_t calls(const struct command_count *row)
{
    return row->calls;
}

static uint64_t failed(const struct command_count *row)
{
    return row->failed;
}

static uint64_t rejected(const struct command_count *row)
{
    return row->rejected;
}

static void write_durations(struct metrics *m)
{
    char name[STATS_NAME_BYTES];
    metrics_family(m, M_COMMAND_DURATION);
    for (size_t i = 0; i < stats_count(m->env); i++) {
        const struct command_count *row = stats_at(m->env, i);
        if (row->latency == NULL) continue;
        stats_name(row, name);
        struct metrics_label label = {"command", slice_str(name)};
        metrics_histogram(&m->out, &label, 1, row->latency);
    }
}

static void write_errors(struct metrics *m)
{
    metrics_family(m, M_ERRORS);
    for (enum err i = OK + 1; i < ERR_COUNT; i++) {
        uint64_t count = stats_errors(m->env, i);
        if (count > 0) metrics_by(m, "code", err_prefix(i), count);
    }
}

void metrics_commands(struct metrics *m)
{
    each_command(m, M_COMMANDS, calls);
    each_command(m, M_COMMANDS_FAILED, failed);
    each_command(m, M_COMMANDS_REJECTED, rejected);
    write_durations(m);
    write_errors(m);
    metrics_family(m, M_KEYS_READ);
    metrics_by(m, "result", "hit", m->env->stats.hits);
    metrics_by(m, "result", "miss", m->env->stats.misses);
}
