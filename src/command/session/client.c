/* client: CLIENT and its subcommands. */
#include <stdio.h>

#include "base/clock.h"
#include "command/session/session_int.h"
#include "request/args.h"
#include "request/client_info.h"
#include "request/client_memory.h"
#include "request/login.h"
#include "request/multi.h"
#include "request/shapes.h"
#include "request/table.h"
#include "request/view.h"
#include "request/watched.h"

static enum err id_run(struct request *rq)
{
    resp_int(rq->w, (int64_t)rq->client->id);
    return OK;
}

static enum err getname_run(struct request *rq)
{
    if (rq->client->settings.name[0] == '\0') {
        resp_nil(rq->w);
    } else {
        resp_bulk_str(rq->w, rq->client->settings.name);
    }
    return OK;
}

static enum err setname_run(struct request *rq)
{
    const struct one_word *a = rq->bound;
    enum err r = client_set_name(rq, a->word);
    if (r == OK) resp_simple(rq->w, "OK");
    return r;
}

/* ---- SETINFO ---- */

struct library {
    struct slice name, version; /* one of them */
};

ARGUMENTS_WITH(setinfo_arguments, struct library, "<LIB-NAME libname | LIB-VER libver>",
               WITH(.refusal = "Unrecognized option '{}'"),
               ARG_WORD(struct library, name, "LIB-NAME"),
               ARG_WORD(struct library, version, "LIB-VER"));

static enum err set_library(struct request *rq, const char *what, struct slice value,
                            char target[CLIENT_NAME_MAX])
{
    for (size_t i = 0; i < value.len; i++) {
        if (value.data[i] < '!' || value.data[i] > '~') {
            return error_set(&rq->error, ERR_SYNTAX,
                             "%s cannot contain spaces, newlines or special characters.", what);
        }
    }
    if (value.len >= CLIENT_NAME_MAX) {
        return error_set(&rq->error, ERR_LIMIT, "%s cannot be longer than %d bytes", what,
                         CLIENT_NAME_MAX - 1);
    }
    bytes_copy(target, value.data, value.len);
    target[value.len] = '\0';
    return OK;
}

static enum err setinfo_run(struct request *rq)
{
    const struct library *a = rq->bound;
    struct client *c = rq->client;
    enum err r = a->name.data != NULL
                     ? set_library(rq, "lib-name", a->name, c->settings.lib_name)
                     : set_library(rq, "lib-ver", a->version, c->settings.lib_version);
    if (r == OK) resp_simple(rq->w, "OK");
    return r;
}

/* ---- INFO, VIEW ---- */

static enum err info_run(struct request *rq)
{
    buf_clear(rq->scratch, SIZE_MAX);
    client_info_write(rq->client, rq->scratch);
    buf_append_byte(rq->scratch, '\n');
    resp_text(rq->w, buf_slice(rq->scratch));
    return OK;
}

struct view_word {
    enum key_view view;
};
ARGUMENTS_WITH(view_arguments, struct view_word, "[TUPLES | PLAIN]",
               WITH(.refusal = "syntax error: CLIENT VIEW takes TUPLES or PLAIN"),
               ARG_CHOICE(struct view_word, view, {"TUPLES", VIEW_TUPLES}, {"PLAIN", VIEW_PLAIN}));

/* Without a word it tells the view. */
static enum err view_run(struct request *rq)
{
    const struct view_word *a = rq->bound;
    if (a->view == VIEW_OF_USER) {
        resp_bulk_str(rq->w, view_is_tuples(rq->client) ? "tuples" : "plain");
        return OK;
    }
    rq->client->settings.view = a->view;
    resp_simple(rq->w, "OK");
    return OK;
}

/* ---- filters of LIST and KILL ---- */

enum client_type { TYPE_ANY, TYPE_NORMAL, TYPE_PUBSUB, TYPE_NONE };

struct filter {
    enum client_type type;
    struct integers ids;
    int64_t id; /* 0 = any */
    struct slice address, local_address;
    int64_t age_s;           /* -1 = any */
    const struct user *user; /* NULL = any */
    bool skips_me;
    struct slice old_address; /* KILL's only word */
};

static bool type_matches(enum client_type type, const struct client *c)
{
    bool is_pubsub = client_subscriptions(c) > 0;
    if (type == TYPE_ANY) return true;
    return type == (is_pubsub ? TYPE_PUBSUB : TYPE_NORMAL);
}

static bool id_matches(const struct filter *f, int64_t id)
{
    if (f->id != 0 && f->id != id) return false;
    for (size_t i = 0; i < f->ids.count; i++) {
        if (f->ids.items[i] == id) return true;
    }
    return f->ids.count == 0;
}

static bool address_matches(struct slice wanted, const char *address)
{
    return wanted.data == NULL || slice_eq(wanted, slice_str(address));
}

static bool filter_matches(const struct filter *f, const struct client *c, const struct client *me)
{
    if (f->skips_me && c == me) return false;
    if (f->user != NULL && c->user != f->user) return false;
    if (!type_matches(f->type, c) || !id_matches(f, (int64_t)c->id)) return false;
    if (!address_matches(f->address, c->link->address)) return false;
    if (!address_matches(f->local_address, c->link->local_address)) return false;
    return f->age_s < 0 || (clock_wall_ms() - c->link->created_ms) / 1000 >= f->age_s;
}

/* Of Redis's other types there is none here. */
static enum err read_type(struct request *rq, const struct argument *a, struct slice word, void *to)
{
    static const struct choice types[] = {
        {"NORMAL", TYPE_NORMAL}, {"PUBSUB", TYPE_PUBSUB}, {"MASTER", TYPE_NONE},
        {"REPLICA", TYPE_NONE},  {"SLAVE", TYPE_NONE},
    };
    enum client_type *type = to;
    (void)a;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (!slice_is_word(word, types[i].token)) continue;
        *type = (enum client_type)types[i].value;
        return OK;
    }
    return error_set(&rq->error, ERR_SYNTAX, "Unknown client type '%.*s'",
                     (int)(word.len < 64 ? word.len : 64), (const char *)word.data);
}
static const struct argument_kind type_kind = {.read = read_type, .syntax = "<NORMAL | PUBSUB>"};

static enum err read_user(struct request *rq, const struct argument *a, struct slice word, void *to)
{
    const struct user *user = users_find(rq->env->users.all, word);
    (void)a;
    memcpy(to, &user, sizeof user);
    if (user != NULL) return OK;
    return error_set(&rq->error, ERR_SYNTAX, "No such user '%.*s'",
                     (int)(word.len < 64 ? word.len : 64), (const char *)word.data);
}
static const struct argument_kind user_kind = {.read = read_user};

/* ---- LIST ---- */

ARGUMENTS(list_arguments, struct filter, "[TYPE type | ID client-id [client-id ...]]",
          ARG_OF(struct filter, type, enum client_type, "TYPE", type_kind),
          {ARG_MANY(struct filter, ids, int64_t, "ID", arg_kind_integer), .min = INT64_MIN,
           .max = INT64_MAX, .wrong = "Invalid client ID"},
          ARG_FIXED(struct filter, age_s, -1));

static enum err list_run(struct request *rq)
{
    const struct filter *f = rq->bound;
    struct env *env = rq->env;
    buf_clear(rq->scratch, SIZE_MAX);
    for (const struct client *c = env->clients.list.next; c != &env->clients.list; c = c->next) {
        if (!filter_matches(f, c, rq->client)) continue;
        client_info_write(c, rq->scratch);
        buf_append_byte(rq->scratch, '\n');
    }
    resp_text(rq->w, buf_slice(rq->scratch));
    return OK;
}

/* ---- KILL: stricter about ids than LIST, as in Redis ---- */

/* An address alone, or options. */
static enum err check_kill(struct request *rq, void *bound)
{
    const struct filter *f = bound;
    bool is_good = f->old_address.data == NULL || rq->argc - rq->words_before == 1;
    return is_good ? OK : error_set(&rq->error, ERR_SYNTAX, "syntax error");
}

ARGUMENTS_WITH(kill_arguments, struct filter,
               "[ID client-id] [TYPE type] [ADDR ip:port] [LADDR ip:port] [USER username] "
               "[SKIPME <YES | NO>] [MAXAGE seconds] [ip:port]",
               WITH(.check = check_kill, .words_least = 1,
                    .shown = "<ip:port | [ID client-id] [TYPE <NORMAL | PUBSUB>] [ADDR ip:port] "
                             "[LADDR ip:port] [USER username] [SKIPME <YES | NO>] "
                             "[MAXAGE seconds]>"),
               ARG_INTEGER_OR(struct filter, id, "ID", 1, INT64_MAX, 0,
                              "client-id should be greater than 0"),
               ARG_OF(struct filter, type, enum client_type, "TYPE", type_kind),
               ARG_WORD(struct filter, address, "ADDR"),
               ARG_WORD(struct filter, local_address, "LADDR"),
               ARG_OF(struct filter, user, const struct user *, "USER", user_kind),
               ARG_CHOICE(struct filter, skips_me, {"YES", true}, {"NO", false}),
               ARG_FIXED(struct filter, skips_me, true),
               ARG_INTEGER(struct filter, age_s, "MAXAGE", 0, INT64_MAX / 1000, -1),
               ARG_WORD(struct filter, old_address, "ip:port"));

static int64_t kill_matching(struct request *rq, const struct filter *f)
{
    struct env *env = rq->env;
    int64_t killed = 0;
    for (struct client *c = env->clients.list.next; c != &env->clients.list;) {
        struct client *next = c->next;
        bool is_it = filter_matches(f, c, rq->client);
        if (is_it && c == rq->client) c->run.closes_after_reply = true;
        if (is_it && c != rq->client) c->ops->close(c);
        killed += is_it;
        c = next;
    }
    return killed;
}

static enum err kill_run(struct request *rq)
{
    const struct filter *f = rq->bound;
    if (f->old_address.data == NULL) {
        resp_int(rq->w, kill_matching(rq, f));
        return OK;
    }
    struct filter old = {.address = f->old_address, .age_s = -1};
    if (kill_matching(rq, &old) == 0) {
        return error_set(&rq->error, ERR_SYNTAX, "No such client");
    }
    resp_simple(rq->w, "OK");
    return OK;
}

/* ---- rows ---- */

ARGUMENTS(setname_arguments, struct one_word, "connection-name",
          ARG_WORD(struct one_word, word, "connection-name"));

static CLIENT_SUB(id, "id", CMD_NODE, "Returns the id of the connection.", no_arguments);
static CLIENT_SUB(getname, "getname", CMD_NODE, "Returns the name of the connection.",
                  no_arguments);
static CLIENT_SUB(setname, "setname", CMD_NO_MULTI | CMD_NODE, "Sets the name of the connection.",
                  setname_arguments);
static CLIENT_SUB(setinfo, "setinfo", CMD_NO_MULTI | CMD_NODE,
                  "Sets the name or the version of the client library.", setinfo_arguments);
static CLIENT_OWN_SUB(info, "info", 0, "Returns the line of CLIENT LIST about this connection.",
                      no_arguments);
static CLIENT_OWN_SUB(list, "list", CMD_ADMIN | CMD_DANGEROUS,
                      "Lists the open connections, one line each.", list_arguments);
static CLIENT_OWN_SUB(kill, "kill", CMD_ADMIN | CMD_DANGEROUS | CMD_NO_MULTI, "Closes connections.",
                      kill_arguments);
static CLIENT_SUB(
    view, "view", CMD_NO_MULTI | CMD_NODE,
    "Sets whether commands of plain keys also see tuples, as paths. Without an argument, returns "
    "the current view.",
    view_arguments);
COMMAND_HELP("connection", CMD_CONNECTION);

static const struct command *const client_subcommands[] = {
    &client_caching,  &client_exec_on_error,
    &client_getname,  &client_getredir,
    &sub_help,        &client_id,
    &client_info,     &client_kill,
    &client_list,     &client_no_evict,
    &client_pause,    &client_reply,
    &client_setinfo,  &client_setname,
    &client_tracking, &client_trackinginfo,
    &client_unblock,  &client_unpause,
    &client_view,     NULL,
};

const struct command cmd_client = {
    .name = "client",
    .group = "connection",
    .summary = "A container for commands about connections.",
    .arguments = &container_arguments,
    .subcommands = client_subcommands,
};
