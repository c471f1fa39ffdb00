/* dispatch: a command's way from its words to its reply.
 *
 *   resolve   name, subcommand, IDEM and FORMAT off, number of arguments
 *   ask       may its user? Else nothing happens, and MULTI is spoilt
 *   pause     CLIENT PAUSE: parked before anything happens, also before it is queued
 *   queue     between MULTI and EXEC: kept for EXEC
 *   exclusive a write waits while another client has its database for itself
 *   call      run, over an overlay when it is one of EXEC's or has an IDEM
 *   reply     an error becomes its line; CLIENT REPLY may drop it
 *
 * Whatever answers ERR_WAIT leaves no trace but what it keeps in client->run.pending, and comes
 * again from the top.
 */
#include <ctype.h>
#include <stdio.h>

#include "request/audit.h"
#include "request/bind.h"
#include "request/block.h"
#include "request/exclusive.h"
#include "request/feature.h"
#include "request/following.h"
#include "request/format.h"
#include "request/idem.h"
#include "request/lines.h"
#include "request/long_words.h"
#include "request/multi.h"
#include "request/observe.h"
#include "request/permission.h"
#include "request/plan.h"
#include "request/selected.h"
#include "request/serving.h"
#include "request/tracking.h"
#include "request/unknown.h"
#include "request/wrapped.h"

#define NAME_BYTES_MAX 32

/* Redis's words, then, for a command that Redis does not have, how it is written. */
static void reply_wrong_number(struct request *rq, const struct command *parent,
                               const struct command *c)
{
    char line[512];
    const char *name = parent != NULL ? parent->name : c->name;
    int n = snprintf(line, sizeof line, "ERR wrong number of arguments for '%s%s%s' command",
                     parent != NULL ? name : "", parent != NULL ? "|" : "", c->name);
    if (strncmp(name, "kv.", 3) == 0) {
        char upper[2 * NAME_BYTES_MAX + 2];
        snprintf(upper, sizeof upper, "%s%s%s", name, parent != NULL ? " " : "",
                 parent != NULL ? c->name : "");
        for (char *p = upper; *p != '\0'; p++) *p = (char)toupper((unsigned char)*p);
        const char *words = arguments_syntax(c->arguments, rq->arena);
        if (words[0] == '\0' && c->brief != NULL) words = c->brief;
        snprintf(line + n, sizeof line - (size_t)n, "; usage: %s%s%s%s", upper,
                 (c->flags & CMD_IDEM_FIRST) != 0 ? " [IDEM id]" : "", words[0] != '\0' ? " " : "",
                 words);
    }
    resp_error_line(rq->w, line);
}

/* Finds the command, takes IDEM and FORMAT off its arguments and checks their number. False: the
 * error reply was written. */
static bool command_resolve(struct request *rq)
{
    const struct command *parent = NULL;
    const struct command *c = NULL;
    rq->command = NULL;
    if (wrapped_find(rq, &c, &parent) != OK) {
        stats_reject(rq->env, c);
        resp_error(rq->w, &rq->error);
        return false;
    }
    if (c == NULL) {
        parent = command_find(rq->argv[0]);
        if (parent == NULL) {
            reply_unknown(rq);
        } else {
            stats_reject(rq->env, parent);
            reply_unknown_subcommand(rq, parent);
        }
        return false;
    }
    rq->command = c;
    rq->words_before = parent != NULL ? 2 : 1;
    if ((c->flags & CMD_IDEM) != 0 && !idem_take(rq)) {
        stats_reject(rq->env, c);
        resp_error(rq->w, &rq->error);
        return false;
    }
    rq->has_format = false;
    rq->format = rq->client->settings.format;
    if ((c->flags & CMD_FORMAT) != 0) format_take(rq);
    if (!request_arity_fits(rq)) {
        stats_reject(rq->env, c);
        reply_wrong_number(rq, parent, c);
        return false;
    }
    rq->client->run.last_command = c;
    rq->client->run.last_parent = parent;
    return true;
}

enum err command_find_words(struct request *rq)
{
    const struct command *parent = NULL;
    rq->bound = NULL;
    rq->words_are_wrong = false;
    if (wrapped_find(rq, &rq->command, &parent) != OK) return rq->error.code;
    if (rq->command == NULL) {
        return error_set(&rq->error, ERR_SYNTAX, "Command '%.*s' not found",
                         (int)(rq->argv[0].len < 128 ? rq->argv[0].len : 128),
                         (const char *)rq->argv[0].data);
    }
    rq->words_before = parent != NULL ? 2 : 1;
    if ((rq->command->flags & CMD_IDEM) != 0 && !idem_take(rq)) return rq->error.code;
    format_take(rq);
    if (request_arity_fits(rq)) return OK;
    return error_set(&rq->error, ERR_SYNTAX, "wrong number of arguments for '%s%s%s' command",
                     parent != NULL ? parent->name : "", parent != NULL ? "|" : "",
                     rq->command->name);
}

enum err command_call(struct request *rq)
{
    struct placeholders placeholders;
    rq->placeholders = NULL;
    if (!rq->has_format) rq->format = rq->client->settings.format;
    if ((rq->command->flags & CMD_WRITE) != 0) {
        placeholders = request_placeholders(rq);
        rq->placeholders = &placeholders;
    }
    enum err r = rq->idem.data != NULL ? idem_run(rq) : request_perform(rq);
    rq->placeholders = NULL;
    if (rq->client->tracking != NULL && r != ERR_WAIT && r != ERR_BEHIND) tracking_read(rq);
    if (r == OK && rq->w->out->is_failed) {
        /* The reply does not fit into memory; what is there of it cannot be sent. */
        rq->w->out->is_failed = false;
        r = error_set(&rq->error, ERR_NOMEM, "out of memory while building the reply");
    }
    return r;
}

void reply_cut(struct request *rq, size_t mark)
{
    resp_cut(rq->w, mark);
    for (const struct feature *const *f = feature_table; *f != NULL; f++) {
        if ((*f)->reply_cut != NULL)
            (*f)->reply_cut(rq->client, rq->client->link->stream_base + mark);
    }
}

void client_reply_placed(struct client *c, uint64_t from, uint64_t end)
{
    for (const struct feature *const *f = feature_table; *f != NULL; f++) {
        if ((*f)->reply_placed != NULL) (*f)->reply_placed(c, from, end);
    }
}

/* The frames of subscribing and unsubscribing are messages more than replies. */
static bool is_push(const struct request *rq, enum err r)
{
    unsigned both = CMD_PUBSUB | CMD_SUBSCRIBED;
    return r == OK && (rq->command->flags & both) == both;
}

/* CLIENT REPLY OFF and SKIP: what was written from `mark` on is not for the client, unless it is
 * pushed (as in Redis). */
static void reply_mode_apply(struct request *rq, size_t mark, bool is_pushed)
{
    struct client *c = rq->client;
    if (c->settings.reply_mode == REPLY_ON) return;
    if (c->settings.reply_mode == REPLY_SKIP_NEXT) { /* this was CLIENT REPLY SKIP itself */
        c->settings.reply_mode = REPLY_SKIP;
    } else if (c->settings.reply_mode == REPLY_SKIP) {
        c->settings.reply_mode = REPLY_ON;
    }
    if (is_pushed) return;
    reply_cut(rq, mark);
    rq->depends = 0;
}

/* Was it asked for these rights, when it was run before? What an index covers may have changed
 * since, so its commands are always asked. */
static bool was_asked(const struct request *rq, const struct user *u)
{
    const struct client_run *run = &rq->client->run;
    return (rq->command->flags & CMD_INDEX) == 0 && run->asked_user == u->incarnation &&
           run->asked_changes == u->changes;
}

/* Also of one that waited: its user may have changed. */
static enum err ask(struct request *rq, bool *is_refused)
{
    const struct user *u = rq->client->user;
    *is_refused = false;
    if (u != NULL && (u->is_unlimited || was_asked(rq, u))) return OK;
    enum err r = permission_ask(rq);
    *is_refused = r != OK && r != ERR_WAIT;
    if (r == OK && u != NULL) {
        rq->client->run.asked_user = u->incarnation;
        rq->client->run.asked_changes = u->changes;
    }
    if (*is_refused && rq->client->txn.multi != NULL) multi_abort(rq->client->txn.multi);
    return r;
}

static bool only_listens(const struct request *rq)
{
    return rq->client->settings.proto == 2 && (rq->command->flags & CMD_SUBSCRIBED) == 0 &&
           client_subscriptions(rq->client) > 0;
}

/* Whether it is to run now. ERR_WAIT: not yet. */
static enum err enter(struct request *rq, bool *is_queued, bool *is_refused)
{
    enum err r = ask(rq, is_refused);
    if (r != OK) return r;
    r = following_enter(rq);
    if (r == ERR_TRYAGAIN && rq->client->txn.multi != NULL) multi_abort(rq->client->txn.multi);
    *is_queued = r == OK && multi_queues(rq);
    if (r == OK && !*is_queued) r = serving_enter(rq);
    if (r != OK) return r;
    if (only_listens(rq)) {
        *is_queued = false;
        return error_set(&rq->error, ERR_SYNTAX,
                         "Can't execute '%s': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / "
                         "QUIT / RESET are allowed in this context",
                         rq->command->name);
    }
    if (pause_holds(rq)) return ERR_WAIT;
    if (*is_queued) return OK;
    if (exclusive_holds_new(rq)) return ERR_WAIT;
    rq->is_evaluated = !serving_is_own(rq->command);
    if (rq->is_evaluated && lines_are_due(rq->env)) return client_yield(rq, NULL);
    return request_enter(rq);
}

/* *is_refused: it was not run, and counts as that. */
static enum err run_resolved(struct request *rq, size_t mark, bool *is_queued, bool *is_refused)
{
    const struct pending *p = rq->client->run.pending;
    enum err r = OK;
    if (p != NULL && p->is_done) {
        rq->is_evaluated = true;
        r = command_call(rq);
    } else {
        r = enter(rq, is_queued, is_refused);
        if (r == OK && *is_queued) {
            r = multi_queue(rq);
        } else if (r == OK) {
            r = following_leave(rq, command_call(rq));
        }
    }
    if (r == ERR_NODB) client_end_transaction(rq->client);
    if (r == ERR_WAIT) {
        reply_cut(rq, mark);
        return ERR_WAIT;
    }
    rq->client->entered.has_entered = false;
    client_drop_pending(rq->client);
    client_block_clear(rq->client, rq->env);
    if (r != OK) {
        reply_cut(rq, mark);
        permission_hide(rq, r);
        resp_error(rq->w, &rq->error);
    }
    return r;
}

enum err command_run(struct request *rq)
{
    size_t mark = rq->w->out->len;
    struct slice *argv = rq->argv;
    size_t argc = rq->argc;
    bool is_queued = false;
    bool is_refused = false;
    rq->env->clients.running = rq->client;
    rq->depends = 0;
    rq->is_evaluated = false;
    rq->overlay = NULL;
    rq->uuids = NULL;
    rq->messages = NULL;
    rq->ran = NULL;
    rq->is_ran = NULL;
    rq->bound = NULL;
    rq->words_are_wrong = false;
    if (!command_resolve(rq)) {
        rq->env->clients.running = NULL;
        if (rq->client->txn.multi != NULL) multi_abort(rq->client->txn.multi);
        stats_error(rq->env, ERR_SYNTAX);
        reply_mode_apply(rq, mark, false);
        return OK;
    }
    enum err r = run_resolved(rq, mark, &is_queued, &is_refused);
    rq->env->clients.running = NULL;
    rq->argv = argv;
    rq->argc = argc;
    if (r == ERR_WAIT) {
        observe_parked(rq);
        return ERR_WAIT;
    }
    rq->client->run.asked_user = 0;
    long_words_clear(rq->client);
    if (rq->client->tracking != NULL) tracking_command_over(rq);
    depends_raise(&rq->client->run.depends, rq->depends);
    if (!is_queued && (rq->command->flags & CMD_AUDITED) != 0) audit_add(rq, r);
    if (!is_queued && !is_refused) {
        observe_ran(rq, r);
    } else if (r != OK) {
        stats_reject(rq->env, rq->command);
        stats_error(rq->env, r);
    }
    reply_mode_apply(rq, mark, is_push(rq, r));
    lines_serve(rq->env);
    return OK;
}
