/* fixed: commands of Redis that have one answer here: about clusters, modules and replicas, of
 * which there are none, and LOLWUT.
 */
#include <stdlib.h>

#include "request/command.h"
#include "request/nodes.h"
#include "request/shapes.h"
#include "request/table.h"
#include "request/view.h"

static enum err no_cluster_run(struct request *rq)
{
    return error_set(&rq->error, ERR_SYNTAX, "This instance has cluster support disabled");
}

#define NO_CLUSTER(word, more, of)                                                                 \
    const struct command cmd_##word = {                                                            \
        .name = #word,                                                                             \
        .flags = more,                                                                             \
        .group = "cluster",                                                                        \
        .summary = "Returns an error: there is no cluster mode.",                                  \
        .arguments = &(of),                                                                        \
        .run = no_cluster_run,                                                                     \
    }

ARGUMENTS_WITH(cluster_arguments, struct many_words, "word [word ...]",
               WITH(.shown = "subcommand [argument ...]"),
               ARG_WORDS(struct many_words, words, "word"));
NO_CLUSTER(cluster, 0, cluster_arguments);
NO_CLUSTER(asking, CMD_FAST | CMD_CONNECTION, no_arguments);

static enum err role_of_follower(struct request *rq, const char *leader, uint64_t offset)
{
    char host[NODE_TEXT_BYTES];
    const char *port;
    node_split(leader, host, &port);
    resp_array(rq->w, 5);
    resp_bulk_str(rq->w, "slave");
    resp_bulk_str(rq->w, host);
    resp_int(rq->w, strtol(port, NULL, 10));
    resp_bulk_str(rq->w, rq->env->node.following.is_there ? "connected" : "connect");
    resp_int(rq->w, (int64_t)offset);
    return OK;
}

/* With several nodes this is the leader: each other one has as much as it, since all have the same
 * PostgreSQL. */
static enum err role_run(struct request *rq)
{
    const struct nodes_known *nodes = rq->env->node.known;
    uint64_t offset = db_durable(rq->env->db);
    size_t up = nodes_up(nodes);
    if (nodes != NULL && rq->env->node.stands_by)
        return role_of_follower(rq, nodes->leader, offset);
    resp_array(rq->w, 3);
    resp_bulk_str(rq->w, "master");
    resp_int(rq->w, nodes != NULL ? (int64_t)offset : 0);
    resp_array(rq->w, up);
    for (size_t i = 0; nodes != NULL && i < nodes->other_count; i++) {
        char host[NODE_TEXT_BYTES];
        const char *port;
        if (!nodes->others[i].is_up) continue;
        node_split(nodes->others[i].address, host, &port);
        resp_array(rq->w, 3);
        resp_bulk_str(rq->w, host);
        resp_bulk_str(rq->w, port);
        resp_bulk_u64(rq->w, offset);
    }
    return OK;
}

const struct command cmd_role = {
    .name = "role",
    .flags = CMD_FAST | CMD_ADMIN | CMD_DANGEROUS | CMD_FOLLOWER,
    .is_own = true,
    .group = "server",
    .summary = "Returns the role of the server (master) and its standby nodes.",
    .arguments = &no_arguments,
    .run = role_run,
};

/* Any words: VERSION and its numbers draw the same. */
ARGUMENTS_WITH(lolwut_arguments, struct many_words, "[word ...]",
               WITH(.shown = "[VERSION version]"), ARG_WORDS(struct many_words, words, "word"));

static enum err lolwut_run(struct request *rq)
{
    buf_clear(rq->scratch, SIZE_MAX);
    buf_printf(rq->scratch, "[\"t\",[\"u\",[\"p\",[\"l\",[\"e\",[\"d\"]]]]]]\n\nTupled ver. %s\n",
               rq->env->server.about.version);
    resp_text(rq->w, buf_slice(rq->scratch));
    return OK;
}

const struct command cmd_lolwut = {
    .name = "lolwut",
    .flags = CMD_READ | CMD_FAST,
    .group = "server",
    .summary = "Returns a small drawing and the version.",
    .arguments = &lolwut_arguments,
    .run = lolwut_run,
};

/* Tools that show keys offer JSON where they find this module, with paths from version 2 on. */
#define JSON_MODULE "ReJSON"
#define JSON_MODULE_VERSION 20609

static enum err list_run(struct request *rq)
{
    bool has_json = view_is_tuples(rq->client);
    resp_array(rq->w, has_json);
    if (!has_json) return OK;
    resp_map(rq->w, 4);
    resp_bulk_str(rq->w, "name");
    resp_bulk_str(rq->w, JSON_MODULE);
    resp_bulk_str(rq->w, "ver");
    resp_int(rq->w, JSON_MODULE_VERSION);
    resp_bulk_str(rq->w, "path");
    resp_bulk_str(rq->w, "");
    resp_bulk_str(rq->w, "args");
    resp_array(rq->w, 0);
    return OK;
}

static const struct command sub_list = {
    .name = "list",
    .flags = CMD_ADMIN | CMD_DANGEROUS,
    .group = "server",
    .summary = "Returns an empty list. With CLIENT VIEW TUPLES it names the module that has the "
               "JSON commands.",
    .arguments = &no_arguments,
    .run = list_run,
};
COMMAND_HELP("server", 0);

static const struct command *const module_subcommands[] = {&sub_help, &sub_list, NULL};

const struct command cmd_module = {
    .name = "module",
    .group = "server",
    .summary = "A container for commands about modules, which are not supported.",
    .arguments = &container_arguments,
    .subcommands = module_subcommands,
};
