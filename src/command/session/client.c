/* client: CLIENT and its subcommands. */
#include <stdio.h>

#include "base/clock.h"
#include "command/session/session_int.h"
#include "request/args.h"
#include "request/client_info.h"
#include "request/client_memory.h"
#include "request/login.h"
#include "request/multi.h"
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
    if (rq->client->name[0] == '\0') {
        resp_nil(rq->w);
    } else {
        resp_bulk_str(rq->w, rq->client->name);
    }
    return OK;
}

static enum err setname_run(struct request *rq)
{
    enum err r = client_set_name(rq, rq->argv[2]);
    if (r == OK) resp_simple(rq->w, "OK");
    return r;
}

static enum err setinfo_run(struct request *rq)
{
    struct slice value = rq->argv[3];
    bool is_name = slice_is_word(rq->argv[2], "LIB-NAME");
    if (!is_name && !slice_is_word(rq->argv[2], "LIB-VER")) {
        return error_set(&rq->error, ERR_SYNTAX, "Unrecognized option '%.*s'",
                         (int)(rq->argv[2].len < 64 ? rq->argv[2].len : 64),
                         (const char *)rq->argv[2].data);
    }
    for (size_t i = 0; i < value.len; i++) {
        if (value.data[i] < '!' || value.data[i] > '~') {
            return error_set(&rq->error, ERR_SYNTAX,
                             "%s cannot contain spaces, newlines or special characters.",
                             is_name ? "lib-name" : "lib-ver");
        }
    }
    if (value.len >= CLIENT_NAME_MAX) {
        return error_set(&rq->error, ERR_LIMIT, "%s cannot be longer than %d bytes",
                         is_name ? "lib-name" : "lib-ver", CLIENT_NAME_MAX - 1);
    }
    char *target = is_name ? rq->client->lib_name : rq->client->lib_version;
    memcpy(target, value.data, value.len);
    target[value.len] = '\0';
    resp_simple(rq->w, "OK");
    return OK;
}

static enum err info_run(struct request *rq)
{
    buf_clear(rq->scratch, SIZE_MAX);
    client_info_write(rq->client, rq->scratch);
    buf_append_byte(rq->scratch, '\n');
    resp_text(rq->w, buf_slice(rq->scratch));
    return OK;
}

/* Without a word it tells the view. */
static enum err view_run(struct request *rq)
{
    struct slice word = rq->argc > 2 ? rq->argv[2] : slice_of(NULL, 0);
    if (rq->argc == 2) {
        resp_bulk_str(rq->w, view_is_tuples(rq->client) ? "tuples" : "plain");
        return OK;
    }
    bool is_plain = slice_is_word(word, "PLAIN");
    if (rq->argc > 3 || (!is_plain && !slice_is_word(word, "TUPLES"))) {
        return error_set(&rq->error, ERR_SYNTAX, "syntax error: CLIENT VIEW takes TUPLES or PLAIN");
    }
    rq->client->view = is_plain ? VIEW_PLAIN : VIEW_TUPLES;
    resp_simple(rq->w, "OK");
    return OK;
}

/* ---- filters of LIST and KILL ---- */

struct filter {
    bool has_type, matches_no_type, is_pubsub;
    const int64_t *ids;
    size_t id_count;
    struct slice address, local_address;
    int64_t age_s;           /* -1 = any */
    const struct user *user; /* NULL = any */
    bool skips_me;
};

static bool filter_matches(const struct filter *f, const struct client *c, const struct client *me)
{
    if (f->skips_me && c == me) return false;
    if (f->user != NULL && c->user != f->user) return false;
    if (f->has_type && f->matches_no_type) return false;
    if (f->has_type && f->is_pubsub != (client_subscriptions(c) > 0)) return false;
    if (f->id_count > 0) {
        bool found = false;
        for (size_t i = 0; i < f->id_count; i++) found = found || f->ids[i] == (int64_t)c->id;
        if (!found) return false;
    }
    if (f->address.data != NULL && !slice_eq(f->address, slice_str(c->link->address))) return false;
    if (f->local_address.data != NULL &&
        !slice_eq(f->local_address, slice_str(c->link->local_address))) {
        return false;
    }
    if (f->age_s >= 0 && (clock_wall_ms() - c->link->created_ms) / 1000 < f->age_s) return false;
    return true;
}

static enum err filter_type(struct request *rq, struct slice type, struct filter *f)
{
    static const char *const others[] = {"MASTER", "REPLICA", "SLAVE"};
    f->has_type = true;
    if (slice_is_word(type, "NORMAL")) return OK;
    f->is_pubsub = slice_is_word(type, "PUBSUB");
    if (f->is_pubsub) return OK;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (slice_is_word(type, others[i])) {
            f->matches_no_type = true;
            return OK;
        }
    }
    return error_set(&rq->error, ERR_SYNTAX, "Unknown client type '%.*s'",
                     (int)(type.len < 64 ? type.len : 64), (const char *)type.data);
}

static enum err filter_ids(struct request *rq, size_t from, size_t count, struct filter *f)
{
    int64_t *ids = arena_alloc(rq->arena, (count + 1) * sizeof *ids);
    for (size_t i = 0; i < count; i++) {
        if (!slice_to_i64(rq->argv[from + i], &ids[i])) {
            return error_set(&rq->error, ERR_SYNTAX, "Invalid client ID");
        }
    }
    f->ids = ids;
    f->id_count = count;
    return OK;
}

static enum err list_run(struct request *rq)
{
    struct filter f = {.age_s = -1};
    enum err r = OK;
    if (rq->argc == 4 && slice_is_word(rq->argv[2], "TYPE")) {
        r = filter_type(rq, rq->argv[3], &f);
    } else if (rq->argc >= 4 && slice_is_word(rq->argv[2], "ID")) {
        r = filter_ids(rq, 3, rq->argc - 3, &f);
    } else if (rq->argc != 2) {
        r = error_set(&rq->error, ERR_SYNTAX, "syntax error");
    }
    if (r != OK) return r;
    struct env *env = rq->env;
    buf_clear(rq->scratch, SIZE_MAX);
    for (const struct client *c = env->clients.next; c != &env->clients; c = c->next) {
        if (!filter_matches(&f, c, rq->client)) continue;
        client_info_write(c, rq->scratch);
        buf_append_byte(rq->scratch, '\n');
    }
    resp_text(rq->w, buf_slice(rq->scratch));
    return OK;
}

/* The words of KILL ID are stricter than those of LIST ID, as in Redis. */
static enum err filter_kill_id(struct request *rq, size_t at, struct filter *f)
{
    int64_t id = 0;
    if (!slice_to_i64(rq->argv[at], &id) || id < 1) {
        return error_set(&rq->error, ERR_SYNTAX, "client-id should be greater than 0");
    }
    return filter_ids(rq, at, 1, f);
}

static enum err filter_user(struct request *rq, struct slice user, struct filter *f)
{
    f->user = users_find(rq->env->users, user);
    if (f->user != NULL) return OK;
    return error_set(&rq->error, ERR_SYNTAX, "No such user '%.*s'",
                     (int)(user.len < 64 ? user.len : 64), (const char *)user.data);
}

static enum err parse_kill(struct request *rq, struct filter *f)
{
    for (size_t i = 2; i < rq->argc; i += 2) {
        struct slice word = rq->argv[i];
        if (i + 1 == rq->argc) return error_set(&rq->error, ERR_SYNTAX, "syntax error");
        struct slice arg = rq->argv[i + 1];
        enum err r = OK;
        if (slice_is_word(word, "ID")) {
            r = filter_kill_id(rq, i + 1, f);
        } else if (slice_is_word(word, "TYPE")) {
            r = filter_type(rq, arg, f);
        } else if (slice_is_word(word, "ADDR")) {
            f->address = arg;
        } else if (slice_is_word(word, "LADDR")) {
            f->local_address = arg;
        } else if (slice_is_word(word, "USER")) {
            r = filter_user(rq, arg, f);
        } else if (slice_is_word(word, "SKIPME")) {
            f->skips_me = !slice_is_word(arg, "NO");
            if (f->skips_me && !slice_is_word(arg, "YES")) {
                r = error_set(&rq->error, ERR_SYNTAX, "syntax error");
            }
        } else if (slice_is_word(word, "MAXAGE")) {
            r = arg_integer(rq, arg, NULL, 0, INT64_MAX / 1000, &f->age_s);
        } else {
            r = error_set(&rq->error, ERR_SYNTAX, "syntax error");
        }
        if (r != OK) return r;
    }
    return OK;
}

static enum err kill_run(struct request *rq)
{
    struct filter f = {.age_s = -1, .skips_me = true};
    struct env *env = rq->env;
    bool is_old_form = rq->argc == 3;
    int64_t killed = 0;
    if (is_old_form) {
        f.address = rq->argv[2];
        f.skips_me = false;
    } else {
        enum err r = parse_kill(rq, &f);
        if (r != OK) return r;
    }
    for (struct client *c = env->clients.next; c != &env->clients;) {
        struct client *next = c->next;
        if (filter_matches(&f, c, rq->client)) {
            killed++;
            if (c == rq->client) {
                c->closes_after_reply = true;
            } else {
                c->ops->close(c);
            }
        }
        c = next;
    }
    if (!is_old_form) {
        resp_int(rq->w, killed);
    } else if (killed > 0) {
        resp_simple(rq->w, "OK");
    } else {
        return error_set(&rq->error, ERR_SYNTAX, "No such client");
    }
    return OK;
}

static CLIENT_SUB(id, "id", 2, CMD_NODE, "The connection's number.", "");
static CLIENT_SUB(getname, "getname", 2, CMD_NODE, "The connection's name.", "");
static CLIENT_SUB(setname, "setname", 3, CMD_NO_MULTI | CMD_NODE, "Names the connection.",
                  "connection-name");
static CLIENT_SUB(setinfo, "setinfo", 4, CMD_NO_MULTI | CMD_NODE,
                  "Sets the name and version of the client library.",
                  "<LIB-NAME libname | LIB-VER libver>");
static CLIENT_OWN_SUB(info, "info", 2, 0, "What CLIENT LIST says about this connection.", "");
static CLIENT_OWN_SUB(list, "list", -2, CMD_ADMIN | CMD_DANGEROUS, "A line for each connection.",
                      "[TYPE <NORMAL | PUBSUB>] [ID client-id [client-id ...]]");
static CLIENT_OWN_SUB(
    kill, "kill", -3, CMD_ADMIN | CMD_DANGEROUS | CMD_NO_MULTI, "Closes connections.",
    "<ip:port | [ID client-id] [TYPE <NORMAL | PUBSUB>] [ADDR ip:port] [LADDR ip:port] "
    "[USER username] [SKIPME <YES | NO>] [MAXAGE seconds]>");
static CLIENT_SUB(
    view, "view", -2, CMD_NO_MULTI | CMD_NODE,
    "Whether commands of plain keys take all tuples, in path form; without a word, it tells.",
    "[TUPLES | PLAIN]");
COMMAND_HELP("connection", CMD_CONNECTION);

static const struct command *const client_subcommands[] = {
    &client_caching,
    &client_getname,
    &client_getredir,
    &sub_help,
    &client_id,
    &client_info,
    &client_kill,
    &client_list,
    &client_no_evict,
    &client_pause,
    &client_reply,
    &client_setinfo,
    &client_setname,
    &client_tracking,
    &client_trackinginfo,
    &client_unblock,
    &client_unpause,
    &client_view,
    NULL,
};

const struct command cmd_client = {
    .name = "client",
    .arity = -2,
    .group = "connection",
    .since = "0.1.0",
    .summary = "Commands about connections.",
    .syntax = "",
    .subcommands = client_subcommands,
};
