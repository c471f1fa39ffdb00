/* info: INFO, in Redis's sections and names where they apply, and our own. The fields are those of
 * the list in figures.h; what is no single figure is written here. */
#include <strings.h>

#include "command/observe/figures.h"
#include "request/command.h"
#include "request/nodes.h"
#include "request/permission.h"
#include "request/shapes.h"
#include "request/stats.h"
#include "request/table.h"

static unsigned long long u(uint64_t v)
{
    return (unsigned long long)v;
}

static void nodes_tell(const struct request *rq, const struct nodes_known *nodes, uint64_t offset,
                       struct buf *out)
{
    buf_printf(out, "master_replid:%s\r\nmaster_repl_offset:%llu\r\n", rq->env->server.about.run_id,
               u(offset));
    if (nodes == NULL) return;
    buf_printf(out,
               "node_name:%s\r\nnode_address:%s\r\nleader_epoch:%llu\r\nquorum:%u\r\n"
               "postgresql_noticed:%s\r\nnode_conflict:%s\r\n",
               nodes->name, nodes->address, u(nodes->epoch), nodes->quorum, nodes->noticed,
               nodes->twin[0] != '\0' ? nodes->twin : nodes->misled);
    const struct serving *s = &rq->env->node.serving;
    const char *why = rq->env->node.stands_by ? nodes->cause : "";
    bool is_held = !rq->env->node.stands_by && (s->is_mute || s->is_stuck);
    buf_printf(out, "cluster_writable:%d\r\ncluster_cause:%s\r\n", !is_held && why[0] == '\0',
               is_held ? s->why.text : why);
}

/* Of a node that stands by, to those who said READONLY. */
static void write_follower(const struct request *rq, const char *leader, uint64_t offset,
                           struct buf *out)
{
    char host[NODE_TEXT_BYTES];
    const char *port;
    node_split(leader, host, &port);
    buf_printf(out,
               "role:slave\r\nmaster_host:%s\r\nmaster_port:%s\r\nmaster_link_status:%s\r\n"
               "master_last_io_seconds_ago:0\r\nmaster_sync_in_progress:0\r\n"
               "slave_read_repl_offset:%llu\r\nslave_repl_offset:%llu\r\nslave_priority:100\r\n"
               "slave_read_only:1\r\nconnected_slaves:0\r\n",
               host, port, rq->env->node.following.is_there ? "up" : "down", u(offset), u(offset));
}

static void write_replication(struct request *rq, struct buf *out)
{
    const struct nodes_known *nodes = rq->env->node.known;
    uint64_t offset = nodes != NULL ? db_durable(rq->env->db) : 0;
    unsigned number = 0;
    if (nodes != NULL && rq->env->node.stands_by) {
        write_follower(rq, nodes->leader, offset, out);
        nodes_tell(rq, nodes, offset, out);
        return;
    }
    buf_printf(out, "role:master\r\nconnected_slaves:%zu\r\n", nodes_up(nodes));
    for (size_t i = 0; nodes != NULL && i < nodes->other_count; i++) {
        char host[NODE_TEXT_BYTES];
        const char *port;
        if (!nodes->others[i].is_up) continue;
        node_split(nodes->others[i].address, host, &port);
        buf_printf(out, "slave%u:ip=%s,port=%s,state=online,offset=%llu,lag=0\r\n", number++, host,
                   port, u(offset));
    }
    nodes_tell(rq, nodes, offset, out);
}

static void write_keyspace(struct request *rq, struct buf *out)
{
    struct backend *b = engine_backend(rq->env->db->engine);
    uint16_t i = 0;
    for (uint32_t at = 0; backend_database_next(b, at, &i); at = (uint32_t)i + 1) {
        struct backend_count count;
        backend_count(b, i, &count);
        const struct database *d = database_get(rq->env->db->databases, i);
        if (i == DATABASE_CATALOG) continue; /* libraries of functions: no keys */
        if (count.entries == 0 || (d != NULL && !may_use_database(rq, d))) continue;
        buf_printf(out, "db%u:keys=%llu,expires=%llu,avg_ttl=0\r\n", i, u(count.entries),
                   u(count.expiring));
    }
}

static void write_commandstats(struct request *rq, struct buf *out)
{
    for (size_t i = 0; i < stats_count(rq->env); i++) {
        const struct command_count *row = stats_at(rq->env, i);
        char name[STATS_NAME_BYTES];
        if (row->calls == 0 && row->rejected == 0) continue;
        stats_name(row, name);
        buf_printf(out,
                   "cmdstat_%s:calls=%llu,usec=%llu,usec_per_call=%.2f,rejected_calls=%llu,"
                   "failed_calls=%llu\r\n",
                   name, u(row->calls), u(row->usec),
                   row->calls == 0 ? 0 : (double)row->usec / (double)row->calls, u(row->rejected),
                   u(row->failed));
    }
}

static void write_errorstats(struct request *rq, struct buf *out)
{
    for (enum err i = OK + 1; i < ERR_COUNT; i++) {
        uint64_t count = stats_errors(rq->env, i);
        if (count > 0) buf_printf(out, "errorstat_%s:count=%llu\r\n", err_prefix(i), u(count));
    }
}

static void write_latencystats(struct request *rq, struct buf *out)
{
    const struct percentiles *p = &rq->env->settings.percentiles;
    for (size_t i = 0; i < stats_count(rq->env); i++) {
        const struct command_count *row = stats_at(rq->env, i);
        char name[STATS_NAME_BYTES];
        if (row->latency == NULL) continue;
        stats_name(row, name);
        buf_printf(out, "latency_percentiles_usec_%s:", name);
        for (size_t k = 0; k < p->count; k++) {
            buf_append_str(out, k == 0 ? "p" : ",p");
            percentile_format(p->values[k], out);
            buf_printf(out, "=%llu.000", u(histogram_percentile(row->latency, p->values[k])));
        }
        buf_append_str(out, "\r\n");
    }
}

/* What a section has beside the fields of the list. */
static const struct {
    const char *title;
    void (*write)(struct request *rq, struct buf *out);
} more[] = {
    {"Replication", write_replication}, {"Commandstats", write_commandstats},
    {"Errorstats", write_errorstats},   {"Latencystats", write_latencystats},
    {"Keyspace", write_keyspace},
};

/* 1.50K, 2.71M, 23.54G: as Redis shows sizes. */
static void write_human(struct buf *out, const char *name, uint64_t bytes)
{
    static const char units[] = "BKMGT";
    size_t unit = 0;
    double n = (double)bytes;
    while (n >= 1024 && unit < 4) {
        n /= 1024;
        unit++;
    }
    buf_printf(out, unit == 0 ? "\r\n%s_human:%.0f%c" : "\r\n%s_human:%.2f%c", name, n,
               units[unit]);
}

static void write_field(const struct figures *f, const struct figure *x, struct buf *out)
{
    uint64_t number = (uint64_t)figure_number(f, x->place);
    buf_printf(out, "%s:", x->name);
    if (x->form == SHOWN_CPU) {
        buf_printf(out, "%llu.%06llu", u(number / 1000000), u(number % 1000000));
    } else if (x->form == SHOWN_STATUS) {
        buf_append_str(out, number == 0 ? "ok" : "err");
    } else {
        figure_write(f, x->place, out);
    }
    if (x->form == SHOWN_PERCENT) buf_append_byte(out, '%');
    if (x->form == SHOWN_SIZE) write_human(out, x->name, number);
    buf_append_str(out, "\r\n");
}

static void begin_section(struct request *rq, struct figures *f, const char *title)
{
    struct buf *out = rq->scratch;
    if (out->len > 0) buf_append_str(out, "\r\n");
    buf_printf(out, "# %s\r\n", title);
    if (strcmp(title, "Clients") == 0) figures_see_clients(f, rq->env);
    if (strcmp(title, "Memory") == 0) memory_measure(rq->env, &f->memory);
    for (size_t i = 0; i < sizeof more / sizeof more[0]; i++) {
        if (strcmp(title, more[i].title) == 0) more[i].write(rq, out);
    }
}

static bool is_wanted(const struct slices *names, const struct figure *title)
{
    bool is_wanted = names->count == 0 && title->form == SHOWN_TITLE;
    for (size_t i = 0; i < names->count && !is_wanted; i++) {
        struct slice name = names->items[i];
        is_wanted = slice_is_word(name, "ALL") || slice_is_word(name, "EVERYTHING") ||
                    (slice_is_word(name, "DEFAULT") && title->form == SHOWN_TITLE) ||
                    (name.len == strlen(title->name) &&
                     strncasecmp((const char *)name.data, title->name, name.len) == 0);
    }
    return is_wanted;
}

ARGUMENTS(info_arguments, struct many_words, "[section ...]",
          ARG_WORDS(struct many_words, words, "section"));

static enum err info_run(struct request *rq)
{
    const struct many_words *a = rq->bound;
    struct figures f;
    bool is_shown = false;
    figures_see(&f, rq->env);
    buf_clear(rq->scratch, SIZE_MAX);
    for (size_t i = 0; i < figure_list_count; i++) {
        const struct figure *x = &figure_list[i];
        bool is_title = x->form == SHOWN_TITLE || x->form == SHOWN_EXTRA;
        if (is_title) is_shown = is_wanted(&a->words, x);
        if (!is_shown || x->name == NULL || !figure_is_shown(&f, x)) continue;
        if (is_title) {
            begin_section(rq, &f, x->name);
        } else if (x->form == SHOWN_LINES) {
            buf_append_str(rq->scratch, x->name);
        } else {
            write_field(&f, x, rq->scratch);
        }
    }
    resp_text(rq->w, buf_slice(rq->scratch));
    return OK;
}

const struct command cmd_info = {
    .name = "info",
    .flags = CMD_DANGEROUS | CMD_FOLLOWER,
    .is_own = true,
    .group = "server",
    .summary = "Returns information and statistics about the server, by section.",
    .arguments = &info_arguments,
    .run = info_run,
};
