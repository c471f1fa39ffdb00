/* load: KV.LOAD: what an export has (docs/export.md) becomes part of the database, many records in
 * one transaction, all or nothing. An entry takes the place of one that is there; a message keeps
 * its id, and if the queue has that id already, nothing happens to it. So what is loaded a second
 * time is there once.
 */
#include "request/args.h"
#include "request/enqueue.h"
#include "request/keys.h"
#include "request/subjects.h"
#include "request/table.h"

#define TIME_MS_MAX ((1LL << 53) - 1)

struct load {
    struct op *ops;
    size_t count, cap;
};

static struct op *load_add(struct request *rq, struct load *l)
{
    if (l->count == l->cap) {
        size_t cap = l->cap == 0 ? 64 : l->cap * 2;
        struct op *ops = arena_alloc(rq->arena, cap * sizeof *ops);
        if (l->count > 0) memcpy(ops, l->ops, l->count * sizeof *ops);
        l->ops = ops;
        l->cap = cap;
    }
    struct op *op = &l->ops[l->count++];
    *op = (struct op){0};
    return op;
}

static enum err parse_set(struct options *o, struct op *op)
{
    struct slice arg = {0};
    op->kind = OP_SET;
    enum err r = options_argument(o, "SET", &arg);
    if (r == OK) r = arg_key(o->rq, arg, &op->key);
    if (r == OK) r = options_argument(o, "SET", &arg);
    if (r == OK) r = arg_value(o->rq, arg, &op->value);
    if (r != OK || !options_take(o, "PXAT", 0)) return r;
    op->ttl = TTL_AT;
    return options_integer(o, "PXAT", 1, TIME_MS_MAX, &op->ttl_ms);
}

static enum err parse_del(struct options *o, struct op *op)
{
    struct slice arg = {0};
    op->kind = OP_DELETE;
    enum err r = options_argument(o, "DEL", &arg);
    return r == OK ? arg_key(o->rq, arg, &op->key) : r;
}

static enum err take_error(struct options *o, struct slice *out)
{
    enum err r = options_argument(o, "ERROR", out);
    if (r != OK || out->len <= QUEUE_ERROR_BYTES_MAX) return r;
    return error_set(&o->rq->error, ERR_SYNTAX, "ERROR has at most %d bytes, not %zu",
                     QUEUE_ERROR_BYTES_MAX, out->len);
}

static enum err parse_message_options(struct options *o, struct queue_load *x)
{
    bool is_taken = true;
    enum err r = OK;
    while (r == OK && is_taken) {
        r = parse_message_option(o, &x->message, &is_taken);
        if (r != OK || is_taken) continue;
        is_taken = true;
        if (options_take(o, "ATTEMPTS", 0)) {
            int64_t n = 0;
            r = options_integer(o, "ATTEMPTS", 0, UINT32_MAX - 1, &n);
            x->attempts = (uint32_t)n;
        } else if (options_take(o, "ERROR", 3)) {
            r = take_error(o, &x->error);
        } else {
            is_taken = false;
        }
    }
    return r;
}

/* queue id value time */
static enum err parse_message(struct options *o, const char *word, struct op *op)
{
    struct request *rq = o->rq;
    struct queue_load *x = arena_alloc(rq->arena, sizeof *x);
    struct slice arg = {0};
    *x = (struct queue_load){
        .queues = rq->env->db->queues,
        .is_dead = word[0] == 'D',
        .message = {.backoff_count = BACKOFF_DEFAULT_BYTES / 4, .backoff = backoff_default}};
    enum err r = options_argument(o, word, &x->queue);
    if (r == OK) r = arg_queue(rq, x->queue);
    if (r == OK) r = options_argument(o, word, &arg);
    if (r == OK) r = arg_message_id(rq, arg, &x->id);
    if (r == OK) r = options_argument(o, word, &arg);
    if (r == OK) r = arg_value(rq, arg, &x->message.value);
    if (r == OK) r = options_integer(o, word, 0, TIME_MS_MAX, &x->time_ms);
    if (r == OK) r = parse_message_options(o, x);
    *op = queue_load_op(x);
    return r;
}

static enum err parse_record(struct options *o, struct op *op)
{
    struct slice word = o->rq->argv[o->at++];
    o->seen = 0;
    if (slice_is_word(word, "SET")) return parse_set(o, op);
    if (slice_is_word(word, "DEL")) return parse_del(o, op);
    if (slice_is_word(word, "MESSAGE")) return parse_message(o, "MESSAGE", op);
    if (slice_is_word(word, "DEAD")) return parse_message(o, "DEAD", op);
    return error_set(&o->rq->error, ERR_SYNTAX,
                     "syntax error: unknown record '%.*s' (SET, DEL, MESSAGE or DEAD expected)",
                     (int)(word.len < 64 ? word.len : 64), (const char *)word.data);
}

/* The error is about the record with that number, from 0. */
static enum err say_record(struct request *rq, enum err r, size_t number)
{
    struct error inner = rq->error;
    if (r == OK || r == ERR_WAIT) return r;
    return error_set(&rq->error, r, "%s (record %zu)", inner.text, number);
}

static enum err parse_load(struct request *rq, struct load *l)
{
    struct options o = {.rq = rq, .at = 1};
    size_t ops_max = engine_limits(rq->env->db->engine)->ops_max;
    while (o.at < rq->argc) {
        if (l->count == ops_max) {
            return error_set(&rq->error, ERR_LIMIT, "more records than max-transaction-ops (%zu)",
                             ops_max);
        }
        enum err r = parse_record(&o, load_add(rq, l));
        if (r != OK) return say_record(rq, r, l->count - 1);
    }
    return OK;
}

static enum err kv_load_run(struct request *rq)
{
    struct load l = {0};
    size_t loaded = 0;
    enum err r = parse_load(rq, &l);
    if (r != OK) return r;
    struct txn t = {.overlay = rq->overlay,
                    .database = rq->client->database,
                    .commits_always = true,
                    .ops = l.ops,
                    .count = l.count,
                    .arena = rq->arena};
    r = engine_commit(rq->env->db->engine, &t, rq->waiter, &rq->error);
    depends_raise(&rq->depends, t.depends);
    if (r != OK) return t.failed_op < t.count ? say_record(rq, r, t.failed_op) : r;
    rq->env->stats.writes++;
    for (size_t i = 0; i < l.count; i++) loaded += l.ops[i].is_met;
    resp_array(rq->w, 3);
    reply_stamp(rq, t.version);
    resp_int(rq->w, (int64_t)loaded);
    resp_int(rq->w, (int64_t)(l.count - loaded));
    return OK;
}

/* ---- what it touches ---- */

/* The record at *at, which then is after it; *queue: of a message. False: it is wrong. */
static bool next_record(const struct slice *argv, size_t argc, size_t *at, struct slice *queue,
                        struct key_uses *out)
{
    static const char *const others[] = {"ATTEMPTS", "ERROR", NULL};
    bool is_set = slice_is_word(argv[*at], "SET");
    bool is_del = slice_is_word(argv[*at], "DEL");
    bool is_message = slice_is_word(argv[*at], "MESSAGE") || slice_is_word(argv[*at], "DEAD");
    size_t words = is_set ? 3 : is_del ? 2 : 5;
    if ((!is_set && !is_del && !is_message) || argc - *at < words) return false;
    *queue = is_message ? argv[*at + 1] : slice_of(NULL, 0);
    if (!is_message)
        key_uses_add(out, argv[*at + 1], is_set ? KEY_OW | KEY_UPDATE : KEY_RM | KEY_DELETE);
    *at += words;
    if (is_set && *at < argc && slice_is_word(argv[*at], "PXAT")) *at += 2;
    if (is_message && !keys_of_message(argv, argc, at, others, out)) return false;
    return *at <= argc;
}

static bool kv_load_keys(const struct slice *argv, size_t argc, struct key_uses *out)
{
    struct slice queue;
    size_t at = 1;
    while (at < argc) {
        if (!next_record(argv, argc, &at, &queue, out)) return false;
    }
    return true;
}

static enum err kv_load_subjects(struct request *rq, struct subjects *out)
{
    enum err r = subjects_keys(out);
    size_t at = 1;
    while (r == OK && at < rq->argc) {
        struct key_uses ignored = {.arena = rq->arena};
        struct slice queue = {0};
        out->is_unclear |= !next_record(rq->argv, rq->argc, &at, &queue, &ignored);
        if (out->is_unclear) return OK;
        if (queue.len > 0) subjects_queue(out, queue, ACCESS_WRITE);
    }
    return r;
}

const struct command kv_load = {
    .name = "kv.load",
    .arity = -1,
    .flags = CMD_WRITE | CMD_ADMIN | CMD_DANGEROUS | CMD_AUDITED | CMD_FORMAT,
    .key_flags = KEY_OW | KEY_UPDATE,
    .group = "kv",
    .since = "0.1.0",
    .summary = "Loads records of an export in one transaction, all or nothing: entries, messages "
               "with their ids, dead letters.",
    .brief = "record [record ...] [FORMAT format]",
    .syntax =
        "[<SET key value [PXAT unix-time-milliseconds] | DEL key | MESSAGE queue id value "
        "due-milliseconds [ATTEMPTS count] [ERROR text] [BACKOFF count [milliseconds ...]] "
        "[UNDELIVERED numkeys key [key ...]] | DEAD queue id value failed-milliseconds [ATTEMPTS "
        "count] [ERROR text] [BACKOFF count [milliseconds ...]] [UNDELIVERED numkeys key [key "
        "...]]> ...]",
    .reply = "`[versionstamp, loaded, left]`: an entry replaces one that is there, a message whose "
             "id the queue has is left as it is. An error names the record, from 0.",
    .run = kv_load_run,
    .keys = kv_load_keys,
    .subjects = kv_load_subjects,
};
