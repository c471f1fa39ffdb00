/* database: KV.DB: databases with names and limits, over src/database. */
#include "database/database.h"
#include "base/clock.h"
#include "engine/start.h"
#include "index/index.h"
#include "queue/queue.h"
#include "request/args.h"
#include "request/database.h"
#include "request/permission.h"
#include "request/table.h"

/* ---- arguments ---- */

static enum err arg_database(struct request *rq, struct slice name, struct database **out)
{
    struct databases *all = rq->env->db->databases;
    enum err r = databases_ready(all, rq->waiter, &rq->error);
    if (r != OK) return r;
    *out = database_find(all, name);
    if (*out != NULL) return OK;
    return error_set(&rq->error, ERR_NODB, "there is no database '%.*s'; KV.DB LIST shows them",
                     (int)(name.len < DATABASE_NAME_MAX ? name.len : DATABASE_NAME_MAX),
                     (const char *)name.data);
}

static enum err option_limit(struct options *o, const char *word, uint64_t *out)
{
    int64_t n = 0;
    enum err r = options_integer(o, word, 0, INT64_MAX, &n);
    *out = (uint64_t)n;
    return r;
}

static enum err option_bytes(struct options *o, const char *word, uint64_t *out)
{
    struct slice arg = {0};
    enum err r = options_argument(o, word, &arg);
    if (r != OK) return r;
    if (slice_to_bytes(arg, out) && *out <= INT64_MAX) return OK;
    return error_set(&o->rq->error, ERR_SYNTAX,
                     "%s must be a size such as 1000000 or 100mb (b k kb m mb g gb), not '%.*s'",
                     word, (int)(arg.len < 64 ? arg.len : 64), (const char *)arg.data);
}

static enum err option_backup(struct options *o, bool *is_left_out)
{
    struct slice word = {0};
    enum err r = options_argument(o, "BACKUP", &word);
    if (r != OK) return r;
    *is_left_out = slice_is_word(word, "NO");
    if (*is_left_out || slice_is_word(word, "YES")) return OK;
    return error_set(&o->rq->error, ERR_SYNTAX, "BACKUP must be YES or NO");
}

static enum err parse_limits(struct options *o, struct database_op *x)
{
    struct database_limits *l = &x->limits;
    enum err r = OK;
    while (r == OK && o->at < o->rq->argc) {
        if (options_take(o, "MAXBYTES", 0)) {
            r = option_bytes(o, "MAXBYTES", &l->bytes_max);
        } else if (options_take(o, "MAXENTRIES", 1)) {
            r = option_limit(o, "MAXENTRIES", &l->entries_max);
        } else if (options_take(o, "RATE", 2)) {
            r = option_limit(o, "RATE", &l->rate);
        } else if (options_take(o, "BACKUP", 4)) {
            r = option_backup(o, &l->is_left_out);
        } else if (options_take(o, "KEEP", 5)) {
            r = option_limit(o, "KEEP", &l->keep);
        } else if (options_take(o, "COMMENT", 3)) {
            r = options_argument(o, "COMMENT", &x->comment);
        } else {
            r = options_unknown(o);
        }
    }
    if (r != OK || x->comment.len <= DATABASE_COMMENT_MAX) return r;
    return error_set(&o->rq->error, ERR_LIMIT, "COMMENT has %zu bytes; %d are allowed",
                     x->comment.len, DATABASE_COMMENT_MAX);
}

/* ---- changes ---- */

static enum err change(struct request *rq, struct database_op *x)
{
    struct op op = database_op(x);
    bool is_drop = x->change == DATABASE_DROP;
    struct txn t = {.database = is_drop ? x->number : DATABASE_CATALOG,
                    .has_flush = is_drop,
                    .is_drop = is_drop,
                    .ops = &op,
                    .count = 1,
                    .arena = rq->arena};
    enum err r = engine_commit(rq->env->db->engine, &t, rq->waiter, &rq->error);
    depends_raise(&rq->depends, t.depends);
    if (r == OK) rq->env->stats.writes++;
    return r;
}

static struct database_op op_of(struct request *rq, enum database_change kind)
{
    return (struct database_op){.databases = rq->env->db->databases,
                                .change = kind,
                                .is_used = client_uses,
                                .arg = rq->env};
}

static enum err create_run(struct request *rq)
{
    struct options o = {.rq = rq, .at = 3};
    struct database_op x = op_of(rq, DATABASE_CREATE);
    x.name = rq->argv[2];
    enum err r = parse_limits(&o, &x);
    if (r == OK) r = change(rq, &x);
    if (r == OK) resp_int(rq->w, x.number);
    return r;
}

static enum err limit_run(struct request *rq)
{
    struct options o = {.rq = rq, .at = 3};
    struct database_op x = op_of(rq, DATABASE_LIMIT);
    struct database *d;
    enum err r = arg_database(rq, rq->argv[2], &d);
    if (r != OK) return r;
    x.number = d->number;
    x.limits = d->limits;
    x.comment = d->comment;
    r = parse_limits(&o, &x);
    if (r == OK) r = change(rq, &x);
    if (r == OK) resp_simple(rq->w, "OK");
    return r;
}

static enum err rename_run(struct request *rq)
{
    struct database_op x = op_of(rq, DATABASE_RENAME);
    struct database *d;
    enum err r = arg_database(rq, rq->argv[2], &d);
    if (r != OK) return r;
    x.number = d->number;
    x.name = rq->argv[3];
    r = change(rq, &x);
    if (r == OK) resp_simple(rq->w, "OK");
    return r;
}

static enum err drop_run(struct request *rq)
{
    struct database_op x = op_of(rq, DATABASE_DROP);
    struct database *d;
    enum err r = arg_database(rq, rq->argv[2], &d);
    if (r != OK) return r;
    x.number = d->number;
    r = change(rq, &x);
    if (r != OK) return r;
    clients_leave(rq->env, x.number);
    resp_simple(rq->w, "OK");
    return OK;
}

/* ---- showing ---- */

static void reply_number(struct request *rq, const char *name, uint64_t value)
{
    resp_bulk_str(rq->w, name);
    resp_int(rq->w, (int64_t)value);
}

static enum err list_run(struct request *rq)
{
    struct databases *all = rq->env->db->databases;
    const struct database *d;
    size_t count = 0;
    enum err r = databases_ready(all, rq->waiter, &rq->error);
    if (r != OK) return r;
    for (uint32_t i = 0; (d = database_next(all, &i)) != NULL; i++) {
        count += may_use_database(rq, d);
    }
    resp_array(rq->w, count);
    for (uint32_t i = 0; (d = database_next(all, &i)) != NULL; i++) {
        if (!may_use_database(rq, d)) continue;
        resp_array(rq->w, 2);
        resp_int(rq->w, d->number);
        resp_bulk(rq->w, d->name);
    }
    return OK;
}

static size_t count_indexes(struct request *rq, const struct database *d)
{
    size_t count = 0;
    for (const struct index *x = index_first(rq->env->db->indexes, d->number); x != NULL;
         x = x->next) {
        count++;
    }
    return count;
}

static enum err info_run(struct request *rq)
{
    struct database *d;
    struct backend_count count;
    struct backend *b = engine_backend(rq->env->db->engine);
    enum err r = arg_database(rq, rq->argv[2], &d);
    if (r == OK) r = indexes_ready(rq->env->db->indexes, d->number, rq->waiter, &rq->error);
    if (r == OK) {
        struct engine *g = rq->env->db->engine;
        r = engine_start_check(g, SPACE_QUEUE, d->number, rq->waiter, &rq->error);
    }
    if (r != OK) return r;
    b->ops->count(b, d->number, &count);
    rq->depends = b->ops->version_newest(b); /* the count knows every write */
    resp_map(rq->w, 17);
    reply_number(rq, "number", d->number);
    resp_bulk_str(rq->w, "name");
    resp_bulk(rq->w, d->name);
    resp_bulk_str(rq->w, "comment");
    resp_bulk(rq->w, d->comment);
    reply_number(rq, "created-ms", (uint64_t)d->created_ms);
    reply_number(rq, "entries", count.entries);
    reply_number(rq, "expiring", count.expiring);
    reply_number(rq, "bytes", count.bytes);
    reply_number(rq, "bytes-on-disk", count.stored_bytes);
    reply_number(rq, "queues", queues_count(rq->env->db->queues, d->number));
    reply_number(rq, "indexes", count_indexes(rq, d));
    reply_number(rq, "max-bytes", d->limits.bytes_max);
    reply_number(rq, "max-entries", d->limits.entries_max);
    reply_number(rq, "rate", d->limits.rate);
    resp_bulk_str(rq->w, "backup");
    resp_bulk_str(rq->w, d->limits.is_left_out ? "no" : "yes");
    reply_number(rq, "keep", d->limits.keep);
    reply_number(rq, "operations", d->operations);
    reply_number(rq, "throttled", d->throttled);
    return OK;
}

/* ---- the commands ---- */

/* The figures tell how much there is of keys that may not be read. */
static enum err subjects_of_names(struct request *rq, struct subjects *out)
{
    size_t names = rq->command->run == rename_run ? 2 : 1;
    for (size_t i = 0; i < names; i++) subjects_database(out, rq->argv[2 + i]);
    if (rq->command->run == info_run) subjects_all_keys(out, ACCESS_READ);
    return OK;
}

#define DB_SUB(word, words, more, text, arguments, answer)                                         \
    static const struct command sub_##word = {                                                     \
        .name = #word,                                                                             \
        .arity = words,                                                                            \
        .flags = CMD_ADMIN | CMD_NO_MULTI | CMD_FORMAT | CMD_AUDITED | (more),                     \
        .group = "server",                                                                         \
        .since = "0.1.0",                                                                          \
        .summary = text,                                                                           \
        .syntax = arguments,                                                                       \
        .reply = answer,                                                                           \
        .run = word##_run,                                                                         \
        .subjects = word##_run == list_run ? NULL : subjects_of_names,                             \
    }

DB_SUB(
    create, -3, CMD_DANGEROUS, "Makes a database.",
    "name [MAXBYTES bytes] [MAXENTRIES entries] [RATE operations-per-second] [BACKUP <YES | NO>] "
    "[KEEP bases] [COMMENT text]",
    "Its number, which SELECT takes as well as its name.");
DB_SUB(drop, 3, CMD_DANGEROUS,
       "Removes a database with all that is in it; who had selected it gets NODB.", "name", "OK.");
DB_SUB(info, 3, 0, "What a database holds, and its limits; 0 = none.", "name",
       "Names with values: a map, or a flat array in RESP2.");
DB_SUB(
    limit, -4, CMD_DANGEROUS, "Changes limits; those that are not named stay. 0 = none.",
    "name [MAXBYTES bytes] [MAXENTRIES entries] [RATE operations-per-second] [BACKUP <YES | NO>] "
    "[KEEP bases] [COMMENT text]",
    "OK.");
DB_SUB(list, 2, 0, "All databases that the user may use.", "", "`[[number, name] ...]`");
DB_SUB(rename, 4, CMD_DANGEROUS, "Gives a database another name; its number stays.",
       "name new-name", "OK.");
COMMAND_HELP("server", 0);

static const struct command *const db_subcommands[] = {
    &sub_create, &sub_drop, &sub_help, &sub_info, &sub_limit, &sub_list, &sub_rename, NULL,
};

const struct command kv_db = {
    .name = "kv.db",
    .arity = -2,
    .group = "server",
    .since = "0.1.0",
    .summary = "Databases with names and limits.",
    .syntax = "",
    .brief = "<CREATE name | LIST | INFO name | LIMIT name | RENAME name name | DROP name>",
    .subcommands = db_subcommands,
};
