/* readonly: READONLY and READWRITE, by which a client says that a node that stands by may answer
 * its reads (request/following.h). One server alone refuses both, as Redis does.
 */
#include "request/shapes.h"
#include "request/table.h"

static enum err set_readonly(struct request *rq, bool is_readonly)
{
    struct env *env = rq->env;
    if (env->node.known == NULL) {
        return error_set(&rq->error, ERR_SYNTAX, "This instance has cluster support disabled");
    }
    rq->client->settings.is_readonly = is_readonly;
    if (is_readonly) env->node.following.is_wanted = true;
    resp_simple(rq->w, "OK");
    return OK;
}

static enum err readonly_run(struct request *rq)
{
    return set_readonly(rq, true);
}

static enum err readwrite_run(struct request *rq)
{
    return set_readonly(rq, false);
}

const struct command cmd_readonly = {
    .name = "readonly",
    .flags = CMD_FAST | CMD_CONNECTION | CMD_NODE,
    .group = "cluster",
    .summary = "Lets a standby node serve the reads of this connection from the state that it has "
               "reached.",
    .arguments = &no_arguments,
    .run = readonly_run,
};

const struct command cmd_readwrite = {
    .name = "readwrite",
    .flags = CMD_FAST | CMD_CONNECTION | CMD_NODE,
    .group = "cluster",
    .summary = "Ends READONLY: the leader serves all commands.",
    .arguments = &no_arguments,
    .run = readwrite_run,
};
