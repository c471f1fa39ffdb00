/* call: redis.call: a command of a script, over the script's overlay. What MULTI allows is allowed,
 * and asked for as the user's own command. One that has an error leaves nothing, also when the
 * script catches the error: what it wrote is undone.
 */
#include "base/log.h"
#include "command/script/script_int.h"
#include "request/audit.h"
#include "request/block.h"
#include "request/idem.h"
#include "request/observe.h"
#include "request/permission.h"
#include "request/publication.h"
#include "request/unknown.h"

#define LOG_BYTES_MAX 900
#define MISSING_BYTES 96 /* of a name, cut */

void calling_init(struct calling *c, struct request *rq, struct arena *arena, struct overlay *o)
{
    *c = (struct calling){.rq = rq,
                          .overlay = o,
                          .arena = arena,
                          .messages = rq->messages,
                          .uuids = rq->uuids != NULL ? rq->uuids : uuid_table_new(arena),
                          .database = rq->client->database,
                          .created = rq->client->entered.created};
}

/* What a transaction may hold, and of the connection only what has no effect beyond the script. */
static bool is_allowed(const struct command *command)
{
    unsigned never = CMD_ADMIN | CMD_NO_MULTI | CMD_UNQUEUED | CMD_SUBSCRIBED | CMD_RUNS_QUEUE;
    if ((command->flags & never) != 0 && strcmp(command->name, "ping") != 0) return false;
    if (strcmp(command->group, "scripting") == 0) return false;
    if ((command->flags & CMD_CONNECTION) == 0) return true;
    static const char *const names[] = {"ping", "echo", "select", "wait", "waitaof"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(command->name, names[i]) == 0) return true;
    }
    return false;
}

/* What is not there: a command, or a subcommand of one that is. */
static const char *missing_name(const struct request *inner, char out[MISSING_BYTES])
{
    bool is_sub = inner->argc > 1 && command_find(inner->argv[0]) != NULL;
    size_t len = 0;
    for (size_t i = 0; i < (is_sub ? 2u : 1u); i++) {
        if (i > 0 && len < MISSING_BYTES - 1) out[len++] = '|';
        for (size_t at = 0; at < inner->argv[i].len && len < MISSING_BYTES - 1; at++) {
            uint8_t c = inner->argv[i].data[at];
            out[len++] = c > ' ' && c <= '~' ? (char)c : '?';
        }
    }
    out[len] = '\0';
    return out;
}

/* Redis's words, on which some libraries' tests look; and the name of what is missing, for those
 * who have not written the script. */
static enum err find(struct calling *c, struct request *inner)
{
    enum err r = command_find_words(inner);
    if (inner->command == NULL) {
        char name[MISSING_BYTES];
        struct buf hint = {0};
        unknown_hint(inner->argv[0], &hint);
        (void)error_set(&inner->error, ERR_SYNTAX,
                        "Unknown Redis command called from script: '%s'%.*s",
                        missing_name(inner, name), (int)hint.len, (const char *)hint.data);
        buf_fini(&hint);
        return ERR_SYNTAX;
    }
    if (r != OK && !request_arity_fits(inner)) {
        return error_set(&inner->error, ERR_SYNTAX,
                         "Wrong number of args calling Redis command from script");
    }
    if (r != OK) return r;
    if (!is_allowed(inner->command)) {
        return error_set(&inner->error, ERR_SYNTAX,
                         "This Redis command is not allowed from script");
    }
    if (c->is_readonly && (inner->command->flags & CMD_WRITE) != 0) {
        return error_set(&inner->error, ERR_SYNTAX,
                         "Write commands are not allowed from read-only scripts.");
    }
    return OK;
}

/* The command's words outlive the script's strings: entries are borrowed until the commit. */
static struct request inner_request(struct calling *c, const struct slice *argv, size_t argc,
                                    struct resp_writer *w)
{
    struct request inner = *c->rq;
    struct slice *words = arena_alloc(c->arena, argc * sizeof *words);
    for (size_t i = 0; i < argc; i++) words[i] = arena_copy(c->arena, argv[i]);
    inner.argv = words;
    inner.argc = argc;
    inner.command = NULL;
    inner.arena = c->arena;
    inner.w = w;
    inner.depends = 0;
    inner.error = (struct error){0};
    inner.overlay = c->overlay;
    inner.placeholders = NULL;
    inner.messages = c->messages;
    inner.uuids = c->uuids;
    inner.idem = slice_of(NULL, 0);
    inner.has_format = false;
    inner.decodes_aside = false; /* its words are made anew when the script is run again */
    inner.ran = NULL;
    return inner;
}

/* With what the script has of its client: its database, and no state of another command. */
static enum err run(struct calling *c, struct request *inner)
{
    struct client *client = inner->client;
    struct pending *own = client->run.pending;
    uint16_t database = client->database;
    uint64_t created = client->entered.created;
    client->run.pending = NULL;
    client->database = c->database;
    client->entered.created = c->created;
    enum err r = permission_ask(inner);
    if (r == OK && (inner->command->flags & CMD_WRITE) != 0 && !c->is_admitted) {
        r = engine_admit(inner->env->db->engine, inner->waiter, &inner->error);
        c->is_admitted = r == OK;
    }
    if (r == OK) r = command_call(inner);
    client_drop_pending(client);
    if (r == OK) {
        c->database = client->database;
        c->created = client->entered.created;
    }
    client->run.pending = own;
    client->database = database;
    client->entered.created = created;
    return r;
}

static void note(struct calling *c, const struct request *inner, const struct slice *argv,
                 size_t argc, enum err r)
{
    struct called *done = arena_alloc(c->arena, sizeof *done);
    *done = (struct called){.command = inner->command,
                            .argv = arena_alloc(c->arena, argc * sizeof *argv),
                            .argc = argc,
                            .proto = inner->w->proto,
                            .database = c->database,
                            .took_us = observe_lap(inner->env),
                            .result = r};
    memcpy(done->argv, argv, argc * sizeof *argv);
    *(c->first == NULL ? &c->first : &c->newest->next) = done;
    c->newest = done;
    c->calls++;
    inner->client->run.spent_us += done->took_us; /* the script took it */
}

static enum err must_end(struct calling *c, const struct request *inner, enum err r)
{
    c->error = inner->error;
    c->error.code = r;
    return r;
}

/* It has its reply, which may be an error. */
static enum err replied(struct calling *c, struct request *inner, enum err r)
{
    struct buf *reply = inner->w->out;
    size_t max = (size_t)engine_limits(inner->env->db->engine)->txn_bytes_max;
    if (r != OK) {
        if (inner->command != NULL) permission_hide(inner, r);
        reply->len = 0;
        inner->error.code = r;
        resp_error(inner->w, &inner->error);
    }
    if (reply->is_failed) {
        return error_set(&c->error, ERR_NOMEM, "out of memory for the reply of a script's command");
    }
    if (reply->len <= max) return OK;
    return error_set(&c->error, ERR_LIMIT,
                     "the reply of a script's command exceeds max-transaction-size (%zu)", max);
}

size_t script_calls_max(const struct request *rq)
{
    size_t ops_max = engine_limits(rq->env->db->engine)->ops_max;
    return ops_max > SCRIPT_CALLS_MIN ? ops_max : SCRIPT_CALLS_MIN;
}

struct overlay *script_overlay(const struct request *rq, struct arena *arena)
{
    struct overlay *o = engine_begin(rq->env->db->engine, arena);
    engine_allow_ops(o, script_calls_max(rq));
    engine_allow_steps(o); /* its processor time is limited, and it may go on in other turns */
    return o;
}

enum err calling_run(struct calling *c, const struct slice *argv, size_t argc, int proto,
                     struct buf *reply)
{
    struct resp_writer w = {.out = reply, .proto = proto};
    struct request inner = inner_request(c, argv, argc, &w);
    const struct slice *words = inner.argv;
    buf_clear(reply, 64 * 1024);
    size_t max = script_calls_max(c->rq);
    if (c->calls >= max) {
        return error_set(&c->error, ERR_LIMIT,
                         "a script may run %zu commands (max-transaction-ops, but at least %d)",
                         max, SCRIPT_CALLS_MIN);
    }
    c->rq->client->run.spent_us += observe_lap(c->rq->env);
    enum err r = find(c, &inner);
    bool is_found = r == OK;
    if (is_found) {
        struct savepoint *mark = engine_mark(c->overlay);
        r = run(c, &inner);
        depends_raise(&c->depends, inner.depends);
        if (r == OK) engine_release(c->overlay, mark);
        if (r != OK && !engine_undo(c->overlay, mark)) return must_end(c, &inner, r);
        if (r == ERR_WAIT || r == ERR_BEHIND) return must_end(c, &inner, r);
    } else {
        inner.command = NULL;
    }
    note(c, &inner, words, argc, r);
    return replied(c, &inner, r);
}

bool calling_may(struct calling *c, struct slice *argv, size_t argc, bool *is_known)
{
    struct resp_writer w = {.out = c->rq->scratch, .proto = 2};
    struct request inner = inner_request(c, argv, argc, &w);
    struct denial denial;
    *is_known = command_find_words(&inner) == OK;
    return *is_known && permission_check(&inner, c->rq->client->user, &denial) == OK;
}

void calling_tell(struct calling *c, bool has_happened)
{
    struct ran **end = &c->rq->ran;
    for (const struct called *done = c->first; done != NULL; done = done->next) {
        struct request inner = *c->rq;
        if (done->command == NULL) continue;
        struct ran *ran = arena_alloc(c->arena, sizeof *ran);
        *ran = (struct ran){.command = done->command,
                            .argv = done->argv,
                            .argc = done->argc,
                            .database = done->database,
                            .took_us = done->took_us,
                            .result = done->result};
        *end = ran;
        end = &ran->next;
        request_be(&inner, done->command, done->argv, done->argc);
        if (has_happened && (done->command->flags & CMD_AUDITED) != 0) {
            audit_add(&inner, done->result);
        }
    }
    c->first = c->newest = NULL;
}

static void tell_left_out(size_t count)
{
    if (count > 0) log_warning("scripts: left out %zu lines of redis.log", count);
}

void script_log(struct scripts *x, int level, struct slice text)
{
    static const enum log_level levels[] = {LOG_LEVEL_DEBUG, LOG_LEVEL_VERBOSE, LOG_LEVEL_NOTICE,
                                            LOG_LEVEL_WARNING};
    char line[LOG_BYTES_MAX];
    size_t left_out = 0;
    if (!log_shows(levels[level]) || !log_limit_take(&x->log_limit, &left_out)) return;
    tell_left_out(left_out);
    size_t len = text.len < sizeof line ? text.len : sizeof line;
    for (size_t i = 0; i < len; i++) line[i] = text.data[i] < ' ' ? ' ' : (char)text.data[i];
    log_line(levels[level], "script: %.*s", (int)len, line);
}

void script_log_tick(struct scripts *x)
{
    tell_left_out(log_limit_tell(&x->log_limit));
}
