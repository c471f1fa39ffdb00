/* open: KV.CONNECT, and KV.CONNECT OPEN: what Deno must know to ask for the selected database. */
#include "base/clock.h"
#include "command/connect/connect_int.h"
#include "command/connect/token.h"
#include "request/shapes.h"
#include "request/table.h"

/* Made once, by the first who asks. */
static enum err make_secret(struct request *rq)
{
    struct database_secret_op x = {.databases = rq->env->db->databases};
    struct op op = database_secret_op(&x);
    if (databases_secret(rq->env->db->databases) != NULL) return OK;
    return request_commit(rq, &op, 1);
}

static enum err connect_open_run(struct request *rq)
{
    char uuid[CONNECT_UUID_CHARS];
    enum err r = databases_ready(rq->env->db->databases, rq->waiter, &rq->error);
    if (r == OK) r = make_secret(rq);
    if (r != OK) return r;
    const struct database *d = database_get(rq->env->db->databases, rq->client->database);
    if (d == NULL) return error_set(&rq->error, ERR_NODB, "there is no such database any more");
    int64_t for_ms = rq->env->settings.connect_token_ms;
    int64_t until_ms = clock_wall_ms() + (for_ms > 0 ? for_ms : CONNECT_TOKEN_MS);
    connect_uuid(rq->env, d, uuid);
    resp_array(rq->w, 3);
    resp_bulk(rq->w, slice_of(uuid, sizeof uuid));
    struct resp_mark mark = resp_bulk_begin(rq->w, 200);
    connect_token_make(rq->env, rq->client->user, d, until_ms, rq->w->out);
    resp_bulk_end(rq->w, mark);
    resp_int(rq->w, until_ms);
    return OK;
}

static const struct command connect_open = {
    .name = "open",
    .flags = CMD_READ | CMD_NO_MULTI,
    .group = "connect",
    .summary = "Returns the id of the selected database, a token for it that is valid for an "
               "hour, and when that ends.",
    .arguments = &no_arguments,
    .reply = "`[uuid, token, Unix time in milliseconds]`.",
    .run = connect_open_run,
};

COMMAND_HELP("connect", 0);

static const struct command *const connect_subcommands[] = {
    &sub_help, &connect_open, &connect_read, &connect_write, NULL,
};

const struct command kv_connect = {
    .name = "kv.connect",
    .group = "connect",
    .summary = "A container for the operations of KV Connect, Deno's protocol, with its keys, "
               "values and limits.",
    .arguments = &container_arguments,
    .brief = "<OPEN | READ [range ...] | WRITE [operation ...]>",
    .subcommands = connect_subcommands,
};
