/* connection: HELLO, PING, ECHO, QUIT, RESET, SELECT. Replies and errors are Redis's: libraries
 * connect with these (reference: docs/protocol.md).
 */
#include "command/session/session_int.h"
#include "request/hint.h"
#include "request/login.h"
#include "request/multi.h"
#include "request/permission.h"
#include "request/selected.h"
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
    memcpy(rq->client->settings.name, name.data, name.len);
    rq->client->settings.name[name.len] = '\0';
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

struct hello {
    int64_t proto; /* 0 = as it is */
    struct slice user, password, name;
};

static enum err read_protocol(struct request *rq, const struct argument *a, struct slice word,
                              void *to)
{
    int64_t *proto = to;
    (void)a;
    if (!slice_to_i64(word, proto)) {
        return error_set(&rq->error, ERR_SYNTAX,
                         "Protocol version is not an integer or out of range");
    }
    if (*proto == 2 || *proto == 3) return OK;
    return error_set(&rq->error, ERR_NOPROTO, "unsupported protocol version");
}
static const struct argument_kind protocol_kind = {.read = read_protocol};

ARGUMENTS_WITH(hello_arguments, struct hello,
               "[protover [AUTH username password] [SETNAME clientname]]",
               WITH(.refusal = "Syntax error in HELLO option '{}'"),
               ARG_OF(struct hello, proto, int64_t, "protover", protocol_kind),
               {ARG_ONE(struct hello, user, struct slice, "username", arg_kind_word),
                .missing = "Syntax error in HELLO option 'AUTH'"},
               {ARG_ONE(struct hello, password, struct slice, "password", arg_kind_word),
                .missing = "Syntax error in HELLO option 'AUTH'"},
               {ARG_ONE(struct hello, name, struct slice, "SETNAME", arg_kind_word),
                .missing = "Syntax error in HELLO option 'SETNAME'"});

/* All of it or nothing. */
static enum err hello_run(struct request *rq)
{
    const struct hello *a = rq->bound;
    bool has_login = a->user.data != NULL;
    if (rq->client->user == NULL && !has_login) return hello_needs_user(rq);
    enum err r = a->name.data != NULL ? check_name(rq, a->name) : OK;
    if (r == OK && has_login) r = client_login(rq, a->user, a->password);
    if (r == OK && a->name.data != NULL) r = client_set_name(rq, a->name);
    if (r != OK) return r;
    if (a->proto != 0) rq->client->settings.proto = rq->w->proto = (int)a->proto;
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
    .flags = CMD_FAST | CMD_NO_AUTH | CMD_CONNECTION | CMD_NO_MULTI | CMD_AUDITED | CMD_NODE,
    .group = "connection",
    .summary = "Switches the protocol version and returns information about the server and the "
               "connection.",
    .arguments = &hello_arguments,
    .run = hello_run,
    .is_secret = hello_is_secret,
};

struct auth {
    struct slice user, password;
};
ARGUMENTS(auth_arguments, struct auth, "[username] password",
          ARG_WORD(struct auth, user, "username"), ARG_WORD(struct auth, password, "password"));

static enum err auth_run(struct request *rq)
{
    const struct auth *a = rq->bound;
    struct user *initial = users_default(rq->env->users.all);
    bool has_name = a->user.data != NULL;
    if (!has_name && initial->is_nopass) { /* in Redis's words */
        return error_set(&rq->error, ERR_SYNTAX,
                         "AUTH <password> called without any password configured for the default "
                         "user. Are you sure your configuration is correct?");
    }
    enum err r = client_login(rq, has_name ? a->user : slice_str("default"), a->password);
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
    .flags = CMD_FAST | CMD_NO_AUTH | CMD_CONNECTION | CMD_NO_MULTI | CMD_AUDITED | CMD_NODE,
    .group = "connection",
    .summary = "Authenticates the connection, as `default` if no name is given.",
    .arguments = &auth_arguments,
    .run = auth_run,
    .is_secret = auth_is_secret,
};

ARGUMENTS_WITH(ping_arguments, struct one_word, "[message]", WITH(.hint = hint_number),
               ARG_WORD(struct one_word, word, "message"));

static enum err ping_run(struct request *rq)
{
    struct slice message = ((const struct one_word *)rq->bound)->word;
    bool is_listening = rq->w->proto == 2 && client_subscriptions(rq->client) > 0;
    if (is_listening) {
        resp_array(rq->w, 2); /* as a message, since a RESP2 client expects nothing else */
        resp_bulk_str(rq->w, "pong");
        resp_bulk(rq->w, message);
    } else if (message.data != NULL) {
        resp_bulk(rq->w, message);
    } else {
        resp_simple(rq->w, "PONG");
    }
    return OK;
}

const struct command cmd_ping = {
    .name = "ping",
    .flags = CMD_SUBSCRIBED | CMD_FAST | CMD_CONNECTION | CMD_NODE,
    .group = "connection",
    .summary = "Returns PONG, or the message.",
    .arguments = &ping_arguments,
    .run = ping_run,
};

ARGUMENTS(echo_arguments, struct one_word, "message", ARG_WORD(struct one_word, word, "message"));

static enum err echo_run(struct request *rq)
{
    resp_bulk(rq->w, ((const struct one_word *)rq->bound)->word);
    return OK;
}

const struct command cmd_echo = {
    .name = "echo",
    .flags = CMD_FAST | CMD_CONNECTION | CMD_NODE,
    .group = "connection",
    .summary = "Returns the message.",
    .arguments = &echo_arguments,
    .run = echo_run,
};

static enum err quit_run(struct request *rq)
{
    rq->client->run.closes_after_reply = true;
    client_reset(rq->client, rq->env);
    resp_simple(rq->w, "OK");
    return OK;
}

const struct command cmd_quit = {
    .name = "quit",
    .flags = CMD_SUBSCRIBED | CMD_FAST | CMD_NO_AUTH | CMD_CONNECTION | CMD_UNQUEUED | CMD_NODE,
    .group = "connection",
    .summary = "Closes the connection after the reply.",
    .arguments = &any_words_arguments,
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
    client_settings_reset(c, rq->env);
    rq->w->proto = c->settings.proto;
    c->queues.prefetch = 0;
    client_login_default(c, rq->env);
    resp_simple(rq->w, "RESET");
    return OK;
}

const struct command cmd_reset = {
    .name = "reset",
    .flags = CMD_SUBSCRIBED | CMD_FAST | CMD_NO_AUTH | CMD_CONNECTION | CMD_UNQUEUED | CMD_NODE,
    .group = "connection",
    .summary = "Resets the connection to the state of a new one.",
    .arguments = &no_arguments,
    .run = reset_run,
};

ARGUMENTS_WITH(select_arguments, struct one_word, "database", WITH(.shown = "<index | name>"),
               ARG_DATABASE(struct one_word, word, "database"));

static enum err select_run(struct request *rq)
{
    struct databases *all = rq->env->db->databases;
    struct slice name = ((const struct one_word *)rq->bound)->word;
    int64_t n = 0;
    enum err r = databases_ready(all, rq->waiter, &rq->error);
    if (r == ERR_WAIT) return r;
    const struct database *d = database_find(all, name);
    if (d == NULL && r != OK) return r;
    if (d == NULL && slice_to_i64(name, &n)) {
        return error_set(&rq->error, ERR_SYNTAX, "DB index is out of range");
    }
    if (d == NULL) {
        return error_set(&rq->error, ERR_NODB,
                         "database '%.*s' does not exist; KV.DB LIST shows the databases",
                         (int)(name.len < DATABASE_NAME_MAX ? name.len : DATABASE_NAME_MAX),
                         (const char *)name.data);
    }
    client_select(rq->client, d);
    resp_simple(rq->w, "OK");
    return OK;
}

const struct command cmd_select = {
    .name = "select",
    .flags = CMD_FAST | CMD_CONNECTION | CMD_FOLLOWER,
    .group = "connection",
    .summary = "Selects the database of this connection.",
    .arguments = &select_arguments,
    .run = select_run,
};
