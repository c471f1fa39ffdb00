/* database: KV.DB: databases with names and limits, over src/database. */
#include "database/database.h"
#include "base/clock.h"
#include "engine/start.h"
#include "index/index.h"
#include "queue/queue.h"
#include "request/permission.h"
#include "request/selected.h"
#include "request/shapes.h"
#include "request/table.h"

/* ---- arguments ---- */

static enum err find_database(struct request *rq, struct slice name, struct database **out)
{
    struct databases *all = rq->env->db->databases;
    enum err r = databases_ready(all, rq->waiter, &rq->error);
    if (r != OK) return r;
    *out = database_find(all, name);
    if (*out != NULL) return OK;
    return error_set(&rq->error, ERR_NODB,
                     "database '%.*s' does not exist; KV.DB LIST shows the databases",
                     (int)(name.len < DATABASE_NAME_MAX ? name.len : DATABASE_NAME_MAX),
                     (const char *)name.data);
}

/* Limits that are given; -1: those that are not. */
struct limits {
    struct slice name; /* the database */
    int64_t bytes_max, entries_max, rate, keep;
    int is_left_out; /* of backups */
    struct slice comment;
};

static enum err read_bytes(struct request *rq, const struct argument *a, struct slice word,
                           void *to)
{
    uint64_t bytes = 0;
    bool is_good = slice_to_bytes(word, &bytes) && bytes <= INT64_MAX;
    memcpy(to, &bytes, sizeof bytes);
    if (is_good) return OK;
    return error_set(&rq->error, ERR_SYNTAX,
                     "%s must be a size such as 1000000 or 100mb (b k kb m mb g gb), not '%.*s'",
                     a->name, (int)(word.len < 64 ? word.len : 64), (const char *)word.data);
}
static const struct argument_kind bytes_kind = {.read = read_bytes};

static enum err check_limits(struct request *rq, void *bound)
{
    const struct limits *a = bound;
    if (a->comment.len <= DATABASE_COMMENT_MAX) return OK;
    return error_set(&rq->error, ERR_LIMIT, "COMMENT has %zu bytes; the maximum is %d",
                     a->comment.len, DATABASE_COMMENT_MAX);
}

ARGUMENTS_WITH(limit_arguments, struct limits,
               "name [MAXBYTES bytes] [MAXENTRIES entries] [RATE operations-per-second] "
               "[BACKUP <YES | NO>] [KEEP bases] [COMMENT text]",
               WITH(.check = check_limits), ARG_DATABASE(struct limits, name, "name"),
               ARG_OF(struct limits, bytes_max, int64_t, "MAXBYTES", bytes_kind),
               ARG_FIXED(struct limits, bytes_max, -1),
               ARG_INTEGER(struct limits, entries_max, "MAXENTRIES", 0, INT64_MAX, -1),
               ARG_INTEGER(struct limits, rate, "RATE", 0, INT64_MAX, -1),
               ARG_CHOICE(struct limits, is_left_out, {"YES", false}, {"NO", true}),
               ARG_FIXED(struct limits, is_left_out, -1),
               ARG_INTEGER(struct limits, keep, "KEEP", 0, INT64_MAX, -1),
               ARG_WORD(struct limits, comment, "COMMENT"));
/* Its name is nothing that is there. */
ARGUMENTS_WITH(limit_least, struct limits, "limits", WITH(.words_least = 2),
               ARG_ALSO("limits", limit_arguments));

struct rename {
    struct slice name, new_name;
};
ARGUMENTS(rename_arguments, struct rename, "name new-name",
          ARG_DATABASE(struct rename, name, "name"),
          ARG_DATABASE(struct rename, new_name, "new-name"));
ARGUMENTS(name_arguments, struct one_word, "name", ARG_DATABASE(struct one_word, word, "name"));

/* The figures tell how much there is of keys that may not be read. */
static void info_subjects(struct subjects *s, const void *bound)
{
    (void)bound;
    subjects_all_keys(s, ACCESS_READ);
}
ARGUMENTS_WITH(info_arguments, struct one_word, "name", WITH(.subjects = info_subjects),
               ARG_DATABASE(struct one_word, word, "name"));

static void set_limit(uint64_t *limit, int64_t given)
{
    if (given >= 0) *limit = (uint64_t)given;
}

static void set_limits(struct database_op *x, const struct limits *a)
{
    struct database_limits *l = &x->limits;
    set_limit(&l->bytes_max, a->bytes_max);
    set_limit(&l->entries_max, a->entries_max);
    set_limit(&l->rate, a->rate);
    set_limit(&l->keep, a->keep);
    if (a->is_left_out >= 0) l->is_left_out = a->is_left_out != 0;
    if (a->comment.data != NULL) x->comment = a->comment;
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
    const struct limits *a = rq->bound;
    struct database_op x = op_of(rq, DATABASE_CREATE);
    x.name = a->name;
    set_limits(&x, a);
    enum err r = change(rq, &x);
    if (r == OK) resp_int(rq->w, x.number);
    return r;
}

static enum err limit_run(struct request *rq)
{
    const struct limits *a = rq->bound;
    struct database_op x = op_of(rq, DATABASE_LIMIT);
    struct database *d;
    enum err r = find_database(rq, a->name, &d);
    if (r != OK) return r;
    x.number = d->number;
    x.limits = d->limits;
    x.comment = d->comment;
    set_limits(&x, a);
    r = change(rq, &x);
    if (r == OK) resp_simple(rq->w, "OK");
    return r;
}

static enum err rename_run(struct request *rq)
{
    const struct rename *a = rq->bound;
    struct database_op x = op_of(rq, DATABASE_RENAME);
    struct database *d;
    enum err r = find_database(rq, a->name, &d);
    if (r != OK) return r;
    x.number = d->number;
    x.name = a->new_name;
    r = change(rq, &x);
    if (r == OK) resp_simple(rq->w, "OK");
    return r;
}

static enum err drop_run(struct request *rq)
{
    const struct one_word *a = rq->bound;
    struct database_op x = op_of(rq, DATABASE_DROP);
    struct database *d;
    enum err r = find_database(rq, a->word, &d);
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
    enum err r = find_database(rq, ((const struct one_word *)rq->bound)->word, &d);
    if (r == OK) r = indexes_ready(rq->env->db->indexes, d->number, rq->waiter, &rq->error);
    if (r == OK) {
        struct engine *g = rq->env->db->engine;
        r = engine_start_check(g, SPACE_QUEUE, d->number, rq->waiter, &rq->error);
    }
    if (r != OK) return r;
    backend_count(b, d->number, &count);
    rq->depends = backend_version_newest(b); /* the count knows every write */
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

#define DB_SUB(word, more, text, of, answer)                                                       \
    static const struct command sub_##word = {                                                     \
        .name = #word,                                                                             \
        .flags = CMD_ADMIN | CMD_NO_MULTI | CMD_FORMAT | CMD_AUDITED | (more),                     \
        .group = "server",                                                                         \
        .summary = text,                                                                           \
        .arguments = &(of),                                                                        \
        .reply = answer,                                                                           \
        .run = word##_run,                                                                         \
    }

DB_SUB(create, CMD_DANGEROUS, "Creates a database.", limit_arguments,
       "The number of the database. SELECT accepts the number and the name.");
DB_SUB(drop, CMD_DANGEROUS,
       "Deletes a database and all its data. Connections that have selected it get NODB.",
       name_arguments, "OK.");
DB_SUB(info, 0, "Returns what a database contains, and its limits; 0 means no limit.",
       info_arguments, "A map of names and values, or a flat array in RESP2.");
DB_SUB(limit, CMD_DANGEROUS,
       "Changes limits of a database; 0 removes one. The others do not change.", limit_least,
       "OK.");
DB_SUB(list, 0, "Lists the databases that the user may access.", no_arguments,
       "`[[number, name] ...]`.");
DB_SUB(rename, CMD_DANGEROUS, "Renames a database. Its number does not change.", rename_arguments,
       "OK.");
COMMAND_HELP("server", 0);

static const struct command *const db_subcommands[] = {
    &sub_create, &sub_drop, &sub_help, &sub_info, &sub_limit, &sub_list, &sub_rename, NULL,
};

const struct command kv_db = {
    .name = "kv.db",
    .group = "server",
    .summary = "A container for commands about databases, their names and limits.",
    .arguments = &container_arguments,
    .brief = "<CREATE name | LIST | INFO name | LIMIT name | RENAME name name | DROP name>",
    .subcommands = db_subcommands,
};
