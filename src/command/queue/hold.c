/* queue_hold: KV.QUEUE HOLD: no message is delivered until it is taken back. A restore may begin
 * so: its queues have messages that were delivered long ago (docs/archive.md).
 */
#include "command/queue/queue_int.h"
#include "request/table.h"

struct hold {
    int is_held;
};
ARGUMENTS(hold_arguments, struct hold, "<YES | NO>",
          ARG_CHOICE(struct hold, is_held, {"YES", true}, {"NO", false}));

static enum err hold_run(struct request *rq)
{
    const struct env *env = rq->env;
    bool is_held = ((const struct hold *)rq->bound)->is_held;
    enum err r = OK;
    if (env->server.ops != NULL) {
        r = env->server.ops->queues_held(env->server.arg, is_held, &rq->error);
    }
    if (r != OK) return r;
    queues_hold(env->db->queues, is_held);
    resp_simple(rq->w, "OK");
    return OK;
}

const struct command queue_hold = {
    .name = "hold",
    .flags = CMD_ADMIN | CMD_DANGEROUS | CMD_NO_MULTI | CMD_FORMAT | CMD_AUDITED,
    .group = "queue",
    .summary = "With YES, suspends the delivery of all queues of all databases until NO, across "
               "restarts.",
    .arguments = &hold_arguments,
    .run = hold_run,
};
