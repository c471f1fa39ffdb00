/* client_control: the subcommands of CLIENT that change how commands are run: REPLY, PAUSE,
 * UNPAUSE, UNBLOCK, NO-EVICT.
 */
#include "command/session/session_int.h"
#include "request/block.h"
#include "request/table.h"

struct reply {
    enum reply_mode mode;
};
ARGUMENTS(reply_arguments, struct reply, "<ON | OFF | SKIP>",
          ARG_CHOICE(struct reply, mode, {"ON", REPLY_ON}, {"OFF", REPLY_OFF},
                     {"SKIP", REPLY_SKIP_NEXT}));

static enum err reply_run(struct request *rq)
{
    struct client *c = rq->client;
    const struct reply *a = rq->bound;
    if (a->mode == REPLY_SKIP_NEXT && c->settings.reply_mode == REPLY_OFF) return OK;
    c->settings.reply_mode = a->mode;
    if (a->mode == REPLY_ON) resp_simple(rq->w, "OK");
    return OK;
}

struct pause {
    int64_t ms;
    bool is_write;
};
ARGUMENTS_WITH(pause_arguments, struct pause, "timeout [WRITE | ALL]",
               WITH(.refusal = "CLIENT PAUSE mode must be WRITE or ALL"),
               ARG_TIMEOUT(struct pause, ms, "timeout"),
               ARG_CHOICE(struct pause, is_write, {"WRITE", true}, {"ALL", false}));

static enum err pause_run(struct request *rq)
{
    const struct pause *a = rq->bound;
    clients_pause(rq->env, a->ms, a->is_write);
    resp_simple(rq->w, "OK");
    return OK;
}

static enum err unpause_run(struct request *rq)
{
    clients_unpause(rq->env);
    resp_simple(rq->w, "OK");
    return OK;
}

struct unblock {
    int64_t id;
    bool is_error;
};
ARGUMENTS_WITH(unblock_arguments, struct unblock, "client-id [TIMEOUT | ERROR]",
               WITH(.refusal = "CLIENT UNBLOCK reason should be TIMEOUT or ERROR"),
               ARG_INTEGER(struct unblock, id, "client-id", INT64_MIN, INT64_MAX, 0),
               ARG_CHOICE(struct unblock, is_error, {"TIMEOUT", false}, {"ERROR", true}));

static enum err unblock_run(struct request *rq)
{
    const struct unblock *a = rq->bound;
    struct env *env = rq->env;
    bool is_stopped = false;
    for (struct client *c = env->clients.list.next; c != &env->clients.list; c = c->next) {
        if (c->id == (uint64_t)a->id) is_stopped = client_block_stop(c, a->is_error);
    }
    resp_int(rq->w, is_stopped);
    return OK;
}

struct exec_choice {
    enum exec_on_error mode;
};
ARGUMENTS(exec_on_error_arguments, struct exec_choice, "[ROLLBACK | CONTINUE | USER]",
          ARG_CHOICE(struct exec_choice, mode, {"ROLLBACK", EXEC_ROLLBACK},
                     {"CONTINUE", EXEC_CONTINUE}, {"USER", EXEC_OF_USER}));

static enum err exec_on_error_run(struct request *rq)
{
    static const char *const words[] = {
        [EXEC_OF_USER] = "user", [EXEC_ROLLBACK] = "rollback", [EXEC_CONTINUE] = "continue"};
    if (rq->argc == rq->words_before) {
        resp_bulk_str(rq->w, words[rq->client->settings.exec_on_error]);
        return OK;
    }
    rq->client->settings.exec_on_error = ((const struct exec_choice *)rq->bound)->mode;
    resp_simple(rq->w, "OK");
    return OK;
}

struct no_evict {
    bool is_on;
};
ARGUMENTS(no_evict_arguments, struct no_evict, "<ON | OFF>",
          ARG_CHOICE(struct no_evict, is_on, {"ON", true}, {"OFF", false}));

static enum err no_evict_run(struct request *rq)
{
    rq->client->settings.is_no_evict = ((const struct no_evict *)rq->bound)->is_on;
    resp_simple(rq->w, "OK");
    return OK;
}

CLIENT_SUB(reply, "reply", CMD_NO_MULTI,
           "Turns replies on or off, or skips the reply of the next command.", reply_arguments);
CLIENT_SUB(pause, "pause", CMD_ADMIN | CMD_DANGEROUS | CMD_NO_MULTI,
           "Suspends all commands, or those that write or publish, for a time.", pause_arguments);
CLIENT_SUB(unpause, "unpause", CMD_ADMIN | CMD_DANGEROUS | CMD_NO_MULTI | CMD_UNPAUSED,
           "Ends CLIENT PAUSE.", no_arguments);
CLIENT_SUB(unblock, "unblock", CMD_ADMIN | CMD_DANGEROUS | CMD_NO_MULTI,
           "Unblocks a client that waits in a blocking command. Returns 1, or 0 if it was not "
           "blocked.",
           unblock_arguments);
CLIENT_SUB(exec_on_error, "exec-on-error", CMD_NO_MULTI | CMD_NODE,
           "Sets what a failing command does to its transaction. Without an argument, returns the "
           "current mode.",
           exec_on_error_arguments);
CLIENT_SUB(no_evict, "no-evict", CMD_ADMIN | CMD_DANGEROUS | CMD_NO_MULTI,
           "Sets whether the connection may be closed to free memory (maxmemory-clients).",
           no_evict_arguments);
