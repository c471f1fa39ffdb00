/* transaction: MULTI, EXEC, DISCARD. EXEC is one transaction in one turn of the
 * loop: the queued commands run over one overlay, each sees what the earlier ones wrote, and all is
 * committed together, or, when one of them has an error, nothing.
 *
 * A command that must wait for the disk ends the attempt: the overlay is dropped and EXEC runs
 * again from its start. What a command changes of its connection (SELECT, KV.FORMAT) is put back
 * then.
 */
#include "access/user.h"
#include "request/args.h"
#include "request/audit.h"
#include "request/block.h"
#include "request/idem.h"
#include "request/keys.h"
#include "request/multi.h"
#include "request/observe.h"
#include "request/permission.h"
#include "request/publication.h"
#include "request/shapes.h"
#include "request/table.h"
#include "request/watched.h"

#define PREFETCH_MAX 64 /* reads begun for one attempt of EXEC */
/* Of a command that is not about data, and of each byte that it replies (engine_take_steps). */
#define TOLD_STEPS 4500
#define TOLD_BYTE_STEPS 10

/* ---- MULTI, DISCARD ---- */

static enum err multi_run(struct request *rq)
{
    struct client *c = rq->client;
    if (c->txn.multi != NULL) {
        return error_set(&rq->error, ERR_SYNTAX, "MULTI calls can not be nested");
    }
    multi_begin(c);
    resp_simple(rq->w, "OK");
    return OK;
}

const struct command cmd_multi = {
    .name = "multi",
    .flags = CMD_FAST | CMD_TRANSACTION | CMD_UNQUEUED | CMD_FOLLOWER,
    .is_own = true,
    .group = "transactions",
    .summary = "Starts a transaction: the following commands are queued until EXEC.",
    .arguments = &no_arguments,
    .run = multi_run,
};

static enum err discard_run(struct request *rq)
{
    if (rq->client->txn.multi == NULL) {
        return error_set(&rq->error, ERR_SYNTAX, "DISCARD without MULTI");
    }
    client_end_transaction(rq->client);
    resp_simple(rq->w, "OK");
    return OK;
}

const struct command cmd_discard = {
    .name = "discard",
    .flags = CMD_FAST | CMD_TRANSACTION | CMD_UNQUEUED | CMD_FOLLOWER,
    .is_own = true,
    .group = "transactions",
    .summary = "Discards the queued commands and unwatches all keys.",
    .arguments = &no_arguments,
    .run = discard_run,
};

/* ---- EXEC ---- */

/* The error of a queued command refuses all of them. */
static enum err exec_refused(struct request *rq, size_t i, const struct request *inner, enum err r)
{
    const struct queued *q = &rq->client->txn.multi->commands[i];
    return error_set(&rq->error, ERR_EXECABORT, "command %zu %s%s%s: %s%s", i + 1,
                     q->parent != NULL ? q->parent->name : "", q->parent != NULL ? "|" : "",
                     q->command->name, err_lead(r), inner->error.text);
}

/* What the queued commands took and answered, recorded when EXEC is over. */
struct lap {
    int64_t took_us;
    enum err result;
    struct ran *ran;
};

static void laps_tell(struct request *rq, const struct lap *laps, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct queued *q = &rq->client->txn.multi->commands[i];
        struct request inner = *rq;
        request_be(&inner, q->command, q->argv, q->argc);
        inner.ran = laps[i].ran;
        observe_done(&inner, laps[i].took_us, laps[i].result);
    }
}

static bool goes_on(const struct request *rq)
{
    const struct client *c = rq->client;
    if (c->settings.exec_on_error != EXEC_OF_USER)
        return c->settings.exec_on_error == EXEC_CONTINUE;
    return rq->env->settings.exec_continues || (c->user != NULL && c->user->goes_on);
}

/* As things are before a command. */
struct before {
    struct savepoint *mark; /* NULL = one that fails refuses all of them */
    struct publication *message;
    size_t reply;
};

static struct before before_command(const struct request *rq, struct overlay *o)
{
    struct before b = {.message = exec_messages_last(rq->messages), .reply = rq->w->out->len};
    if (goes_on(rq)) b.mark = engine_mark(o);
    return b;
}

/* What a command that failed did is undone, and its error is its reply. False: it cannot be undone,
 * as it has flushed a database. */
static bool exec_pass_over(struct request *rq, struct overlay *o, const struct before *b,
                           struct request *inner, enum err r)
{
    if (b->mark == NULL || !engine_undo(o, b->mark)) return false;
    exec_messages_cut(rq->messages, b->message);
    permission_hide(inner, r);
    reply_cut(rq, b->reply);
    inner->error.code = r;
    resp_error(rq->w, &inner->error);
    return true;
}

static void ignore_ready(struct waiter *w)
{
    (void)w;
}

/* The reads that the commands from `from` on are going to wait for are begun together, so that an
 * EXEC over many keys on disk is not attempted once for each. What they bring is kept for it.
 */
static void exec_prefetch(struct request *rq, size_t from)
{
    const struct multi *m = rq->client->txn.multi;
    size_t begun = 0;
    for (size_t i = from; i < m->count && begun < PREFETCH_MAX; i++) {
        struct request inner = *rq;
        struct key_uses uses = {.arena = rq->arena};
        inner.command = m->commands[i].command;
        if (m->commands[i].has_format) inner.format = m->commands[i].format;
        if (!command_keys(inner.command, m->commands[i].argv, m->commands[i].argc, &uses)) continue;
        for (size_t k = 0; k < uses.count && begun < PREFETCH_MAX; k++) {
            struct waiter w = {.ready = ignore_ready, .keep_for = rq->waiter};
            struct slice key;
            struct entry entry;
            if (arg_key(&inner, uses.items[k].word, &key) != OK) continue;
            begun += engine_get(rq->env->db->engine, NULL, key, &entry, &w, &inner.error) ==
                     ERR_WAIT;
            waiter_cancel(&w);
        }
    }
}

/* What is told of anything but data is made for the reply, byte by byte. */
static bool is_told(unsigned flags)
{
    if ((flags & (CMD_WRITE | CMD_PUBLISHES)) != 0) return false;
    return (flags & CMD_READ) == 0 || (flags & CMD_QUEUE) != 0;
}

static enum err call_counted(struct request *inner)
{
    bool is_of_data = !is_told(inner->command->flags);
    size_t before = inner->w->out->len;
    enum err r = is_of_data ? OK : request_take_steps(inner, TOLD_STEPS);
    if (r == OK) r = command_call(inner);
    if (r != OK) return r;
    size_t bytes = inner->w->out->len - before;
    engine_count_steps(inner->overlay, is_of_data ? bytes : bytes * TOLD_BYTE_STEPS);
    return OK;
}

static enum err exec_commands(struct request *rq, struct overlay *o, struct lap **out)
{
    struct multi *m = rq->client->txn.multi;
    size_t reply_max = (size_t)engine_limits(rq->env->db->engine)->txn_bytes_max;
    size_t mark = rq->w->out->len;
    struct uuid_table *uuids = uuid_table_new(rq->arena);
    struct lap *laps = *out = arena_alloc(rq->arena, m->count * sizeof *laps);
    rq->client->run.spent_us += observe_lap(rq->env);
    resp_array(rq->w, m->count);
    rq->messages = exec_messages_new(rq->arena, &m->counts);
    for (size_t i = 0; i < m->count; i++) {
        struct queued *q = &m->commands[i];
        struct request inner = *rq;
        request_be(&inner, q->command, q->argv, q->argc);
        inner.idem = q->idem;
        inner.format = q->format;
        inner.has_format = q->has_format;
        inner.overlay = o;
        inner.uuids = uuids;
        inner.depends = 0;
        struct before before = before_command(rq, o);
        enum err r = permission_ask(&inner);
        if (r == OK) r = call_counted(&inner);
        client_drop_pending(rq->client);
        depends_raise(&rq->depends, inner.depends);
        if (r == OK && rq->w->out->len - mark > reply_max) {
            r = error_set(&inner.error, ERR_LIMIT,
                          "the reply of EXEC exceeds max-transaction-size (%zu)", reply_max);
        }
        laps[i] = (struct lap){observe_lap(rq->env), r, inner.ran};
        if (r == ERR_WAIT) exec_prefetch(rq, i + 1);
        if (r == ERR_WAIT || r == ERR_BEHIND) {
            rq->error = inner.error;
            return r;
        }
        if (r == OK && before.mark != NULL) engine_release(o, before.mark);
        if (r != OK && !exec_pass_over(rq, o, &before, &inner, r)) {
            permission_hide(&inner, r);
            laps_tell(rq, laps, i + 1);
            return exec_refused(rq, i, &inner, r);
        }
    }
    laps_tell(rq, laps, m->count);
    return OK;
}

/* They have happened, but for those that were passed over. */
static void audit_all(const struct request *rq, const struct lap *laps)
{
    const struct multi *m = rq->client->txn.multi;
    for (size_t i = 0; i < m->count; i++) {
        struct request inner = *rq;
        request_be(&inner, m->commands[i].command, m->commands[i].argv, m->commands[i].argc);
        audit_add(&inner, laps[i].result);
    }
}

static enum err exec_attempt(struct request *rq)
{
    struct overlay *o = NULL;
    struct lap *laps = NULL;
    bool hold = false;
    uint64_t version = 0;
    enum err r = watches_hold(rq, &hold);
    if (r != OK) return r;
    if (!hold) {
        resp_nil_array(rq->w);
        return OK;
    }
    if (rq->client->txn.multi->writes) {
        r = engine_admit(rq->env->db->engine, rq->waiter, &rq->error);
        if (r != OK) return r;
    }
    o = engine_begin(rq->env->db->engine, rq->arena);
    r = exec_commands(rq, o, &laps);
    if (r != OK) {
        engine_discard(o);
        return r;
    }
    r = engine_end(o, &version, rq->waiter, &rq->error);
    depends_raise(&rq->depends, version);
    if (r == OK) exec_messages_send(rq);
    if (r == OK) audit_all(rq, laps);
    return r;
}

static enum err exec_run(struct request *rq)
{
    struct client *c = rq->client;
    if (c->txn.multi == NULL) return error_set(&rq->error, ERR_SYNTAX, "EXEC without MULTI");
    if (c->txn.multi->is_aborted) {
        client_end_transaction(c);
        return error_set(&rq->error, ERR_EXECABORT,
                         "Transaction discarded because of previous errors.");
    }
    uint16_t database = c->database;
    uint64_t created = c->entered.created;
    enum format format = c->settings.format;
    turn_exec(rq->env, c->txn.multi);
    rq->w->drafts = NULL; /* the length of the reply has a limit */
    enum err r = exec_attempt(rq);
    if (r != OK) {
        c->database = database;
        c->entered.created = created;
        c->settings.format = format;
    }
    if (r != ERR_WAIT && r != ERR_BEHIND) client_end_transaction(c);
    return r;
}

/* What it does is asked for as each of its commands is. */
ARGUMENTS_WITH(exec_arguments, struct one_word, "", WITH(.subjects = watched_subjects),
               {.name = NULL});

const struct command cmd_exec = {
    .name = "exec",
    .flags = CMD_TRANSACTION | CMD_UNQUEUED | CMD_RUNS_QUEUE | CMD_FOLLOWER,
    .group = "transactions",
    .summary = "Runs the queued commands as one transaction: all of them take effect, or none.",
    .arguments = &exec_arguments,
    .run = exec_run,
};
