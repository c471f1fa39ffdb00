/* client_control: the subcommands of CLIENT that change how commands are run: REPLY, PAUSE,
 * UNPAUSE, UNBLOCK, NO-EVICT.
 */
#include "command/session/session_int.h"
#include "request/block.h"
#include "request/table.h"

static enum err reply_run(struct request *rq)
{
    struct client *c = rq->client;
    struct slice mode = rq->argv[2];
    if (slice_is_word(mode, "ON")) {
        c->reply_mode = REPLY_ON;
        resp_simple(rq->w, "OK");
    } else if (slice_is_word(mode, "OFF")) {
        c->reply_mode = REPLY_OFF;
    } else if (slice_is_word(mode, "SKIP")) {
        if (c->reply_mode != REPLY_OFF) c->reply_mode = REPLY_SKIP_NEXT;
    } else {
        return error_set(&rq->error, ERR_SYNTAX, "syntax error");
    }
    return OK;
}

static enum err pause_run(struct request *rq)
{
    int64_t ms = 0;
    bool is_write = false;
    if (!slice_to_i64(rq->argv[2], &ms)) {
        return error_set(&rq->error, ERR_SYNTAX, "timeout is not an integer or out of range");
    }
    if (ms < 0) return error_set(&rq->error, ERR_SYNTAX, "timeout is negative");
    if (ms > INT32_MAX * 1000LL) {
        return error_set(&rq->error, ERR_SYNTAX, "timeout is out of range");
    }
    if (rq->argc > 3) {
        is_write = slice_is_word(rq->argv[3], "WRITE");
        if (rq->argc > 4 || (!is_write && !slice_is_word(rq->argv[3], "ALL"))) {
            return error_set(&rq->error, ERR_SYNTAX, "CLIENT PAUSE mode must be WRITE or ALL");
        }
    }
    clients_pause(rq->env, ms, is_write);
    resp_simple(rq->w, "OK");
    return OK;
}

static enum err unpause_run(struct request *rq)
{
    clients_unpause(rq->env);
    resp_simple(rq->w, "OK");
    return OK;
}

static enum err unblock_run(struct request *rq)
{
    int64_t id = 0;
    bool is_error = false;
    if (!slice_to_i64(rq->argv[2], &id)) {
        return error_set(&rq->error, ERR_SYNTAX, "value is not an integer or out of range");
    }
    if (rq->argc > 3) {
        is_error = slice_is_word(rq->argv[3], "ERROR");
        if (rq->argc > 4 || (!is_error && !slice_is_word(rq->argv[3], "TIMEOUT"))) {
            return error_set(&rq->error, ERR_SYNTAX,
                             "CLIENT UNBLOCK reason should be TIMEOUT or ERROR");
        }
    }
    struct env *env = rq->env;
    bool is_stopped = false;
    for (struct client *c = env->clients.next; c != &env->clients; c = c->next) {
        if (c->id == (uint64_t)id) is_stopped = client_block_stop(c, is_error);
    }
    resp_int(rq->w, is_stopped);
    return OK;
}

static enum err no_evict_run(struct request *rq)
{
    bool is_on = slice_is_word(rq->argv[2], "ON");
    if (!is_on && !slice_is_word(rq->argv[2], "OFF")) {
        return error_set(&rq->error, ERR_SYNTAX, "syntax error");
    }
    rq->client->is_no_evict = is_on;
    resp_simple(rq->w, "OK");
    return OK;
}

CLIENT_SUB(reply, "reply", 3, CMD_NO_MULTI,
           "Whether replies are sent; SKIP: not that of the next command.", "<ON | OFF | SKIP>");
CLIENT_SUB(pause, "pause", -3, CMD_ADMIN | CMD_DANGEROUS | CMD_NO_MULTI,
           "Lets all commands, or those that write or publish, wait for a time.",
           "timeout [WRITE | ALL]");
CLIENT_SUB(unpause, "unpause", 2, CMD_ADMIN | CMD_DANGEROUS | CMD_NO_MULTI | CMD_UNPAUSED,
           "Ends CLIENT PAUSE.", "");
CLIENT_SUB(unblock, "unblock", -3, CMD_ADMIN | CMD_DANGEROUS | CMD_NO_MULTI,
           "Ends the waiting of a blocked connection; 1, or 0 when it is not blocked.",
           "client-id [TIMEOUT | ERROR]");
CLIENT_SUB(no_evict, "no-evict", 3, CMD_ADMIN | CMD_DANGEROUS | CMD_NO_MULTI,
           "Whether the connection is never closed for want of memory (maxmemory-clients).",
           "<ON | OFF>");
