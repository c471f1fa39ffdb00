/* connection: HELLO, PING, ECHO, QUIT, RESET, SELECT. Replies and errors are Redis's: libraries
 * connect with these (reference: docs/protocol.md).
 */
#include "command/session/session_int.h"
#include "request/database.h"
#include "request/login.h"
#include "request/multi.h"
#include "request/permission.h"
#include "request/table.h"

#include <stdio.h>

#define RESET_WORK 5000 /* channels and notes that RESET ends in one turn */

static bool is_name_byte(uint8_t c)
{
    return c >= '!' && c <= '~';
}

static enum err check_name(struct request *rq, struct slice name)
{
    for (size_t i = 0; i < name.len; i++) {
        if (!is_name_byte(name.data[i])) {
            return error_set(&rq->error, ERR_SYNTAX,
                             "Client names cannot contain spaces, newlines or special characters.");
        }
    }
    if (name.len >= CLIENT_NAME_MAX) {
        return error_set(&rq->error, ERR_LIMIT, "Client names cannot be longer than %d bytes",
                         CLIENT_NAME_MAX - 1);
    }
    return OK;
}

enum err client_set_name(struct request *rq, struct slice name)
{
    enum err r = check_name(rq, name);
    if (r != OK) return r;
    memcpy(rq->client->name, name.data, name.len);
    rq->client->name[name.len] = '\0';
    return OK;
}

static void reply_hello(struct request *rq)
{
    struct resp_writer *w = rq->w;
    resp_map(w, 7);
    /* Clients take `version` for that of `server`, and some look for this name. */
    resp_bulk_str(w, "server");
    resp_bulk_str(w, "redis");
    resp_bulk_str(w, "version");
    resp_bulk_str(w, redis_version(rq->env));
    resp_bulk_str(w, "proto");
    resp_int(w, w->proto);
    resp_bulk_str(w, "id");
    resp_int(w, (int64_t)rq->client->id);
    resp_bulk_str(w, "mode");
    resp_bulk_str(w, "standalone");
    resp_bulk_str(w, "role");
    resp_bulk_str(w, "master");
    resp_bulk_str(w, "modules");
    resp_array(w, 0);
}

/* As Redis words it; without a user, nothing else may be asked for. */
static enum err hello_needs_user(struct request *rq)
{
    return login_demand(rq,
                        "HELLO must be called with the client already authenticated, otherwise the "
                        "HELLO <proto> AUTH <user> <pass> option can be used to authenticate the "
                        "client and select the RESP protocol version at the same time");
}

static enum err hello_run(struct request *rq)
{
    int64_t proto = rq->client->proto;
    struct slice name = {0};
    const struct slice *login = NULL; /* user and password */
    if (rq->argc >= 2) {
        if (!slice_to_i64(rq->argv[1], &proto)) {
            return error_set(&rq->error, ERR_SYNTAX,
                             "Protocol version is not an integer or out of range");
        }
        if (proto < 2 || proto > 3) {
            return error_set(&rq->error, ERR_NOPROTO, "unsupported protocol version");
        }
    }
    for (size_t i = 2; i < rq->argc;) {
        size_t left = rq->argc - i - 1;
        if (slice_is_word(rq->argv[i], "AUTH") && left >= 2) {
            login = &rq->argv[i + 1];
            i += 3;
        } else if (slice_is_word(rq->argv[i], "SETNAME") && left >= 1) {
            name = rq->argv[i + 1];
            i += 2;
        } else {
            return error_set(&rq->error, ERR_SYNTAX, "Syntax error in HELLO option '%.*s'",
                             (int)(rq->argv[i].len < 64 ? rq->argv[i].len : 64),
                             (const char *)rq->argv[i].data);
        }
    }
    /* All of it or nothing. */
    if (rq->client->user == NULL && login == NULL) return hello_needs_user(rq);
    enum err r = name.data != NULL ? check_name(rq, name) : OK;
    if (r == OK && login != NULL) r = client_login(rq, login[0], login[1]);
    if (r == OK && name.data != NULL) r = client_set_name(rq, name);
    if (r != OK) return r;
    rq->client->proto = (int)proto;
    rq->w->proto = (int)proto;
    reply_hello(rq);
    return OK;
}

/* The two words after AUTH, whatever else is wrong with it. */
static bool hello_is_secret(const struct slice *argv, size_t argc, size_t i)
{
    (void)argc;
    return (i >= 3 && slice_is_word(argv[i - 1], "AUTH")) ||
           (i >= 4 && slice_is_word(argv[i - 2], "AUTH"));
}

const struct command cmd_hello = {
    .name = "hello",
    .arity = -1,
    .flags = CMD_FAST | CMD_NO_AUTH | CMD_CONNECTION | CMD_NO_MULTI | CMD_AUDITED | CMD_NODE,
    .group = "connection",
    .since = "0.1.0",
    .summary = "Chooses the protocol; describes server and connection.",
    .syntax = "[protover [AUTH username password] [SETNAME clientname]]",
    .run = hello_run,
    .is_secret = hello_is_secret,
};

static enum err auth_run(struct request *rq)
{
    if (rq->argc > 3) return error_set(&rq->error, ERR_SYNTAX, "syntax error");
    struct user *initial = users_default(rq->env->users);
    if (rq->argc == 2 && initial->is_nopass) { /* in Redis's words */
        return error_set(&rq->error, ERR_SYNTAX,
                         "AUTH <password> called without any password configured for the default "
                         "user. Are you sure your configuration is correct?");
    }
    bool has_name = rq->argc == 3;
    enum err r = client_login(rq, has_name ? rq->argv[1] : slice_str("default"),
                              rq->argv[has_name ? 2 : 1]);
    if (r == OK) resp_simple(rq->w, "OK");
    return r;
}

static bool auth_is_secret(const struct slice *argv, size_t argc, size_t i)
{
    (void)argv;
    (void)argc;
    return i >= 1;
}

const struct command cmd_auth = {
    .name = "auth",
    .arity = -2,
    .flags = CMD_FAST | CMD_NO_AUTH | CMD_CONNECTION | CMD_NO_MULTI | CMD_AUDITED | CMD_NODE,
    .group = "connection",
    .since = "0.1.0",
    .summary = "Says who the client is; without a name, `default`.",
    .syntax = "[username] password",
    .run = auth_run,
    .is_secret = auth_is_secret,
};

static enum err ping_run(struct request *rq)
{
    if (rq->argc > 2) {
        return error_set(&rq->error, ERR_SYNTAX, "wrong number of arguments for 'ping' command");
    }
    bool is_listening = rq->w->proto == 2 && client_subscriptions(rq->client) > 0;
    if (is_listening) {
        resp_array(rq->w, 2); /* as a message, since a RESP2 client expects nothing else */
        resp_bulk_str(rq->w, "pong");
        resp_bulk(rq->w, rq->argc == 2 ? rq->argv[1] : slice_str(""));
    } else if (rq->argc == 2) {
        resp_bulk(rq->w, rq->argv[1]);
    } else {
        resp_simple(rq->w, "PONG");
    }
    return OK;
}

const struct command cmd_ping = {
    .name = "ping",
    .arity = -1,
    .flags = CMD_SUBSCRIBED | CMD_FAST | CMD_CONNECTION | CMD_NODE,
    .group = "connection",
    .since = "0.1.0",
    .summary = "PONG, or the message.",
    .syntax = "[message]",
    .run = ping_run,
};

static enum err echo_run(struct request *rq)
{
    resp_bulk(rq->w, rq->argv[1]);
    return OK;
}

const struct command cmd_echo = {
    .name = "echo",
    .arity = 2,
    .flags = CMD_FAST | CMD_CONNECTION | CMD_NODE,
    .group = "connection",
    .since = "0.1.0",
    .summary = "The message.",
    .syntax = "message",
    .run = echo_run,
};

static enum err quit_run(struct request *rq)
{
    rq->client->closes_after_reply = true;
    client_reset(rq->client, rq->env);
    resp_simple(rq->w, "OK");
    return OK;
}

const struct command cmd_quit = {
    .name = "quit",
    .arity = -1,
    .flags = CMD_SUBSCRIBED | CMD_FAST | CMD_NO_AUTH | CMD_CONNECTION | CMD_UNQUEUED | CMD_NODE,
    .group = "connection",
    .since = "0.1.0",
    .summary = "Closes the connection after the reply.",
    .syntax = "",
    .run = quit_run,
};

static enum err reset_run(struct request *rq)
{
    struct client *c = rq->client;
    size_t work = RESET_WORK;
    client_reset(c, rq->env);
    client_end_transaction(c);
    /* The waiter is in no list: it is run again in the next turn. */
    if (!client_end_listening(c, rq->env, &work)) {
        return error_set(&rq->error, ERR_WAIT, "channels are being ended");
    }
    c->database = 0;
    c->entered.created = 0;
    c->proto = rq->w->proto = 2;
    c->format = rq->env->settings.default_format;
    c->name[0] = '\0';
    c->reply_mode = REPLY_ON;
    c->is_readonly = false;
    c->view = VIEW_OF_USER;
    c->queue_prefetch = 0;
    client_login_default(c, rq->env);
    resp_simple(rq->w, "RESET");
    return OK;
}

const struct command cmd_reset = {
    .name = "reset",
    .arity = 1,
    .flags = CMD_SUBSCRIBED | CMD_FAST | CMD_NO_AUTH | CMD_CONNECTION | CMD_UNQUEUED | CMD_NODE,
    .group = "connection",
    .since = "0.1.0",
    .summary = "Brings the connection back to the state of a new one.",
    .syntax = "",
    .run = reset_run,
};

static enum err select_run(struct request *rq)
{
    struct databases *all = rq->env->db->databases;
    struct slice name = rq->argv[1];
    int64_t n = 0;
    enum err r = databases_ready(all, rq->waiter, &rq->error);
    if (r == ERR_WAIT) return r;
    const struct database *d = database_find(all, name);
    if (d == NULL && r != OK) return r;
    if (d == NULL && slice_to_i64(name, &n)) {
        return error_set(&rq->error, ERR_SYNTAX, "DB index is out of range");
    }
    if (d == NULL) {
        return error_set(&rq->error, ERR_NODB, "there is no database '%.*s'; KV.DB LIST shows them",
                         (int)(name.len < DATABASE_NAME_MAX ? name.len : DATABASE_NAME_MAX),
                         (const char *)name.data);
    }
    client_select(rq->client, d);
    resp_simple(rq->w, "OK");
    return OK;
}

static enum err select_subjects(struct request *rq, struct subjects *out)
{
    subjects_database(out, rq->argv[1]);
    return OK;
}

const struct command cmd_select = {
    .name = "select",
    .arity = 2,
    .flags = CMD_FAST | CMD_CONNECTION | CMD_FOLLOWER,
    .group = "connection",
    .since = "0.1.0",
    .summary = "Chooses the database of this connection.",
    .syntax = "<index | name>",
    .run = select_run,
    .subjects = select_subjects,
};
