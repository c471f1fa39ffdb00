/* transaction: MULTI, EXEC, DISCARD, WATCH, UNWATCH. EXEC is one transaction in one turn of the
 * loop: the queued commands run over one overlay, each sees what the earlier ones wrote, and all is
 * committed together, or, when one of them has an error, nothing.
 *
 * A command that must wait for the disk ends the attempt: the overlay is dropped and EXEC runs
 * again from its start. What a command changes of its connection (SELECT, KV.FORMAT) is put back
 * then.
 */
#include "request/transaction.h"

#include "base/mem.h"
#include "request/args.h"
#include "request/client_memory.h"
#include "request/idem.h"
#include "request/keys.h"
#include "request/observe.h"
#include "request/publication.h"
#include "request/table.h"

#define ARENA_BYTES 4096
#define PREFETCH_MAX 64 /* reads begun for one attempt of EXEC */

struct queued {
    const struct command *command;
    const struct command *parent;
    struct slice *argv;
    size_t argc;
    struct slice idem;
    enum format format; /* when it has one of its own */
    bool has_format;
};

struct multi {
    struct arena arena; /* of the queue and its arguments */
    struct queued *commands;
    size_t count, cap;
    bool is_aborted; /* a command could not be queued */
    bool writes, publishes;
    struct exec_counts *counts; /* owned; NULL = none */
};

struct watched {
    struct watched *next;
    struct slice key; /* its bytes follow the struct */
    bool exists;
    uint64_t version;
};

/* ---- the queue ---- */

bool multi_may_write(const struct multi *m)
{
    return m != NULL && (m->writes || m->publishes);
}

size_t multi_count(const struct multi *m)
{
    return m->count;
}

size_t multi_bytes(const struct multi *m)
{
    return m->arena.held_bytes;
}

void multi_abort(struct multi *m)
{
    m->is_aborted = true;
}

bool multi_queues(const struct request *rq)
{
    return rq->client->txn.multi != NULL && (rq->command->flags & CMD_UNQUEUED) == 0;
}

static enum err queue_refuse(struct request *rq)
{
    const struct engine_options *limits = engine_limits(rq->env->db->engine);
    const struct multi *m = rq->client->txn.multi;
    if ((rq->command->flags & CMD_NO_MULTI) != 0) {
        return error_set(&rq->error, ERR_SYNTAX, "Command not allowed inside a transaction");
    }
    if (m->count == limits->ops_max) {
        return error_set(&rq->error, ERR_LIMIT, "more commands than max-transaction-ops (%zu)",
                         limits->ops_max);
    }
    uint64_t bytes = m->arena.used_bytes;
    for (size_t i = 0; i < rq->argc; i++) bytes += rq->argv[i].len;
    if (bytes > limits->txn_bytes_max) {
        return error_set(&rq->error, ERR_LIMIT,
                         "the queued commands are larger than max-transaction-size (%llu)",
                         (unsigned long long)limits->txn_bytes_max);
    }
    return OK;
}

/* The arguments in the connection's input are gone when the next command comes: copied. */
enum err multi_queue(struct request *rq)
{
    struct multi *m = rq->client->txn.multi;
    enum err r = queue_refuse(rq);
    if (r != OK) {
        m->is_aborted = true;
        return r;
    }
    if (m->count == m->cap) {
        size_t cap = m->cap == 0 ? 8 : m->cap * 2;
        struct queued *commands = arena_alloc(&m->arena, cap * sizeof *commands);
        if (m->count > 0) memcpy(commands, m->commands, m->count * sizeof *commands);
        m->commands = commands;
        m->cap = cap;
    }
    size_t before = m->arena.held_bytes;
    struct slice *argv = arena_alloc(&m->arena, rq->argc * sizeof *argv);
    for (size_t i = 0; i < rq->argc; i++) {
        uint8_t *copy = arena_alloc_try(&m->arena, rq->argv[i].len);
        if (copy == NULL) {
            m->is_aborted = true;
            return error_set(&rq->error, ERR_NOMEM, "no memory to queue the command");
        }
        if (rq->argv[i].len > 0) memcpy(copy, rq->argv[i].data, rq->argv[i].len);
        argv[i] = slice_of(copy, rq->argv[i].len);
    }
    m->commands[m->count++] = (struct queued){
        .command = rq->command,
        .parent = rq->client->last_parent,
        .argv = argv,
        .argc = rq->argc,
        .format = rq->format,
        .has_format = rq->has_format,
        .idem = rq->idem.data == NULL ? rq->idem : arena_copy(&m->arena, rq->idem)};
    m->writes = m->writes || (rq->command->flags & CMD_WRITE) != 0;
    m->publishes = m->publishes || (rq->command->flags & CMD_PUBLISHES) != 0;
    client_memory_grow(rq->env, m->arena.held_bytes - before);
    resp_simple(rq->w, "QUEUED");
    return OK;
}

static void multi_end(struct client *c)
{
    struct multi *m = c->txn.multi;
    if (m == NULL) return;
    c->txn.multi = NULL;
    arena_fini(&m->arena);
    exec_counts_free(m->counts);
    mem_free(m);
}

static void watches_drop(struct client *c)
{
    while (c->txn.watched != NULL) {
        struct watched *next = c->txn.watched->next;
        mem_free(c->txn.watched);
        c->txn.watched = next;
    }
    c->txn.watched_bytes = 0;
}

void client_end_transaction(struct client *c)
{
    multi_end(c);
    watches_drop(c);
}

size_t client_watched_count(const struct client *c)
{
    size_t n = 0;
    for (const struct watched *w = c->txn.watched; w != NULL; w = w->next) n++;
    return n;
}

/* ---- MULTI, DISCARD ---- */

static enum err multi_run(struct request *rq)
{
    struct client *c = rq->client;
    if (c->txn.multi != NULL) {
        return error_set(&rq->error, ERR_SYNTAX, "MULTI calls can not be nested");
    }
    c->txn.multi = mem_new(sizeof *c->txn.multi);
    arena_init(&c->txn.multi->arena, ARENA_BYTES);
    resp_simple(rq->w, "OK");
    return OK;
}

const struct command cmd_multi = {
    .name = "multi",
    .arity = 1,
    .flags = CMD_FAST | CMD_TRANSACTION | CMD_UNQUEUED,
    .group = "transactions",
    .since = "0.1.0",
    .summary = "Begins a transaction: the commands that follow are queued until EXEC.",
    .syntax = "",
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
    .arity = 1,
    .flags = CMD_FAST | CMD_TRANSACTION | CMD_UNQUEUED,
    .group = "transactions",
    .since = "0.1.0",
    .summary = "Forgets the queued commands and the watched keys.",
    .syntax = "",
    .run = discard_run,
};

/* ---- WATCH, UNWATCH ---- */

static enum err watch_one(struct request *rq, struct slice arg, struct watched **list)
{
    struct slice key;
    struct entry entry;
    enum err r = arg_any_key(rq, arg, &key);
    if (r == OK) {
        r = request_get(rq, key, &entry);
    }
    if (r != OK) return r;
    struct watched *w = mem_alloc(sizeof *w + key.len);
    memcpy(w + 1, key.data, key.len);
    *w = (struct watched){.next = *list,
                          .key = slice_of(w + 1, key.len),
                          .exists = entry.exists,
                          .version = entry.exists ? entry.version : 0};
    *list = w;
    return OK;
}

/* All of them or, when one is wrong or must be fetched, none yet. A key watched before keeps what
 * it was then. */
static enum err watch_run(struct request *rq)
{
    struct client fresh = {0};
    struct client *c = rq->client;
    if (c->txn.multi != NULL) {
        return error_set(&rq->error, ERR_SYNTAX, "WATCH inside MULTI is not allowed");
    }
    size_t max = engine_limits(rq->env->db->engine)->ops_max;
    enum err r = OK;
    if (client_watched_count(c) + rq->argc - 1 > max) {
        r = error_set(&rq->error, ERR_LIMIT, "more watched keys than max-transaction-ops (%zu)",
                      max);
    }
    for (size_t i = 1; i < rq->argc && r == OK; i++) {
        r = watch_one(rq, rq->argv[i], &fresh.txn.watched);
    }
    if (r != OK) {
        watches_drop(&fresh);
        return r;
    }
    struct watched **end = &fresh.txn.watched;
    while (*end != NULL) end = &(*end)->next;
    *end = c->txn.watched;
    c->txn.watched = fresh.txn.watched;
    c->txn.watched_bytes = 0;
    for (const struct watched *w = c->txn.watched; w != NULL; w = w->next) {
        c->txn.watched_bytes += sizeof *w + w->key.len;
    }
    client_memory_grow(rq->env, c->txn.watched_bytes);
    resp_simple(rq->w, "OK");
    return OK;
}

const struct command cmd_watch = {
    .name = "watch",
    .arity = -2,
    .flags = CMD_FAST | CMD_TRANSACTION | CMD_UNQUEUED,
    .first_key = 1,
    .last_key = -1,
    .key_step = 1,
    .key_flags = KEY_RO,
    .group = "transactions",
    .since = "0.1.0",
    .summary = "EXEC does nothing (nil) if one of these keys has another versionstamp by then.",
    .syntax = "key [key ...]",
    .run = watch_run,
};

/* Inside EXEC it comes too late: what was watched was compared before, and is again when EXEC had
 * to wait. */
static enum err unwatch_run(struct request *rq)
{
    if (rq->overlay == NULL) watches_drop(rq->client);
    resp_simple(rq->w, "OK");
    return OK;
}

const struct command cmd_unwatch = {
    .name = "unwatch",
    .arity = 1,
    .flags = CMD_FAST | CMD_TRANSACTION,
    .group = "transactions",
    .since = "0.1.0",
    .summary = "Forgets the watched keys.",
    .syntax = "",
    .run = unwatch_run,
};

/* ---- EXEC ---- */

static enum err watches_hold(struct request *rq, bool *hold)
{
    *hold = true;
    for (const struct watched *w = rq->client->txn.watched; w != NULL; w = w->next) {
        struct entry entry;
        enum err r = request_get(rq, w->key, &entry);
        if (r != OK) return r;
        if (entry.exists != w->exists || (entry.exists && entry.version != w->version)) {
            *hold = false;
        }
    }
    return OK;
}

/* The error of a queued command refuses all of them. */
static enum err exec_refused(struct request *rq, size_t i, const struct request *inner, enum err r)
{
    const struct queued *q = &rq->client->txn.multi->commands[i];
    return error_set(&rq->error, ERR_EXECABORT, "command %zu %s%s%s: %s %s", i + 1,
                     q->parent != NULL ? q->parent->name : "", q->parent != NULL ? "|" : "",
                     q->command->name, err_prefix(r), inner->error.text);
}

/* What the queued commands took and answered, recorded when EXEC is over. */
struct lap {
    int64_t took_us;
    enum err result;
};

static void laps_tell(struct request *rq, const struct lap *laps, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct queued *q = &rq->client->txn.multi->commands[i];
        struct request inner = *rq;
        inner.command = q->command;
        inner.argv = q->argv;
        inner.argc = q->argc;
        observe_done(&inner, laps[i].took_us, laps[i].result);
    }
}

static void nobody_ready(struct waiter *w)
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
            struct waiter w = {.ready = nobody_ready, .keep_for = rq->waiter};
            struct slice key;
            struct entry entry;
            if (arg_key(&inner, uses.items[k].word, &key) != OK) continue;
            begun += engine_get(rq->env->db->engine, NULL, key, &entry, &w, &inner.error) ==
                     ERR_WAIT;
            waiter_cancel(&w);
        }
    }
}

static enum err exec_commands(struct request *rq, struct overlay *o)
{
    struct multi *m = rq->client->txn.multi;
    size_t reply_max = (size_t)engine_limits(rq->env->db->engine)->txn_bytes_max;
    size_t mark = rq->w->out->len;
    struct uuid_table *uuids = uuid_table_new(rq->arena);
    struct lap *laps = arena_alloc(rq->arena, m->count * sizeof *laps);
    rq->client->spent_us += observe_lap(rq->env);
    resp_array(rq->w, m->count);
    rq->messages = exec_messages_new(rq->arena, &m->counts);
    for (size_t i = 0; i < m->count; i++) {
        struct queued *q = &m->commands[i];
        struct request inner = *rq;
        inner.command = q->command;
        inner.argv = q->argv;
        inner.argc = q->argc;
        inner.idem = q->idem;
        inner.format = q->format;
        inner.has_format = q->has_format;
        inner.overlay = o;
        inner.uuids = uuids;
        inner.depends = 0;
        enum err r = command_call(&inner);
        laps[i] = (struct lap){observe_lap(rq->env), r};
        client_drop_pending(rq->client);
        depends_raise(&rq->depends, inner.depends);
        if (r == OK && rq->w->out->len - mark > reply_max) {
            r = error_set(&inner.error, ERR_LIMIT,
                          "the reply of EXEC is larger than max-transaction-size (%zu)", reply_max);
        }
        if (r == ERR_WAIT) {
            exec_prefetch(rq, i + 1);
            return r;
        }
        if (r != OK) {
            laps_tell(rq, laps, i + 1);
            return exec_refused(rq, i, &inner, r);
        }
    }
    laps_tell(rq, laps, m->count);
    return OK;
}

static enum err exec_attempt(struct request *rq)
{
    struct overlay *o = NULL;
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
    r = exec_commands(rq, o);
    if (r != OK) {
        engine_discard(o);
        return r;
    }
    r = engine_end(o, &version, rq->waiter, &rq->error);
    depends_raise(&rq->depends, version);
    if (r == OK) exec_messages_send(rq);
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
    enum format format = c->format;
    turn_exec(rq->env, c->txn.multi);
    enum err r = exec_attempt(rq);
    if (r != OK) {
        c->database = database;
        c->entered.created = created;
        c->format = format;
    }
    if (r != ERR_WAIT) client_end_transaction(c);
    return r;
}

const struct command cmd_exec = {
    .name = "exec",
    .arity = 1,
    .flags = CMD_TRANSACTION | CMD_UNQUEUED,
    .group = "transactions",
    .since = "0.1.0",
    .summary = "Runs the queued commands as one transaction: all of it happens, or nothing.",
    .syntax = "",
    .run = exec_run,
};
