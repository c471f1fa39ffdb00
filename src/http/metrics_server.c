/* metrics_server: families that are no plain figures: nodes, commands, histograms. */
#include "http/metrics_int.h"
#include "node/node.h"
#include "request/stats.h"

void metrics_build(struct metrics *m)
{
    struct metrics_label label = {"version", slice_str(m->env->server.about.version)};
    metrics_family(m, M_BUILD);
    metrics_u64(&m->out, &label, 1, 1);
}

void metrics_nodes(struct metrics *m)
{
    const struct node *n = m->env->node.self;
    if (n == NULL) return;
    metrics_figure(m, M_LEADS, n->leads);
    metrics_figure(m, M_LEADER_EPOCH, n->known.epoch);
    metrics_figure(m, M_NODES_UP, nodes_up(&n->known));
    metrics_figure(m, M_RELAYS, n->relay_count);
    metrics_figure(m, M_RELAYED, n->passed_on);
}

void metrics_syncs(struct metrics *m)
{
    const struct histogram *times = m->figures.backend.journal_sync_times;
    if (times == NULL) return;
    metrics_family(m, M_SYNC_DURATION);
    metrics_histogram(&m->out, NULL, 0, times);
}

/* One sample of each command that was asked for: the count at `offset`. */
static void each_command(struct metrics *m, enum metric_id id, size_t offset)
{
    char name[STATS_NAME_BYTES];
    metrics_family(m, id);
    for (size_t i = 0; i < stats_count(m->env); i++) {
        const struct command_count *row = stats_at(m->env, i);
        if (row->calls == 0 && row->rejected == 0) continue;
        stats_name(row, name);
        struct metrics_label label = {"command", slice_str(name)};
        metrics_u64(&m->out, &label, 1, *(const uint64_t *)((const char *)row + offset));
    }
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
        struct metrics_label label = {"code", slice_str(err_prefix(i))};
        uint64_t count = stats_errors(m->env, i);
        if (count > 0) metrics_u64(&m->out, &label, 1, count);
    }
}

void metrics_commands(struct metrics *m)
{
    each_command(m, M_COMMANDS, offsetof(struct command_count, calls));
    each_command(m, M_COMMANDS_FAILED, offsetof(struct command_count, failed));
    each_command(m, M_COMMANDS_REJECTED, offsetof(struct command_count, rejected));
    write_durations(m);
    write_errors(m);
}
