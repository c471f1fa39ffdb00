/* server: DBSIZE, FLUSHDB, FLUSHALL, TIME, SHUTDOWN. */
#include "base/clock.h"
#include "request/command.h"
#include "request/subjects.h"
#include "request/table.h"

static enum err dbsize_run(struct request *rq)
{
    struct engine *g = rq->env->db->engine;
    struct backend *b = engine_backend(g);
    uint64_t entries = 0;
    enum err r = engine_count(g, rq->overlay, rq->client->database, &entries, rq->waiter,
                              &rq->error);
    if (r != OK) return r;
    resp_int(rq->w, (int64_t)entries);
    rq->depends = b->ops->version_newest(b); /* the count knows every write */
    return OK;
}

const struct command cmd_dbsize = {
    .name = "dbsize",
    .arity = 1,
    .flags = CMD_READ | CMD_FAST | CMD_KEYSPACE | CMD_ALL_KEYS,
    .group = "server",
    .since = "0.1.0",
    .summary =
        "The number of entries in the selected database, as the transaction has it inside of "
        "MULTI and scripts.",
    .syntax = "",
    .run = dbsize_run,
};

static enum err check_flush_words(struct request *rq)
{
    bool is_good = rq->argc == 1 || (rq->argc == 2 && (slice_is_word(rq->argv[1], "ASYNC") ||
                                                       slice_is_word(rq->argv[1], "SYNC")));
    return is_good ? OK : error_set(&rq->error, ERR_SYNTAX, "syntax error");
}

static enum err flushdb_run(struct request *rq)
{
    struct txn t = {.overlay = rq->overlay,
                    .database = rq->client->database,
                    .commits_always = true,
                    .has_flush = true,
                    .arena = rq->arena};
    enum err r = check_flush_words(rq);
    if (r == OK) r = engine_commit(rq->env->db->engine, &t, rq->waiter, &rq->error);
    if (r != OK) return r;
    rq->depends = t.depends;
    rq->env->stats.writes++;
    resp_simple(rq->w, "OK");
    return OK;
}

const struct command cmd_flushdb = {
    .name = "flushdb",
    .arity = -1,
    .flags = CMD_WRITE | CMD_KEYSPACE | CMD_DANGEROUS | CMD_ALL_KEYS | CMD_AUDITED,
    .group = "server",
    .since = "0.1.0",
    .summary = "Removes everything in the selected database, in one transaction.",
    .syntax = "[ASYNC | SYNC]",
    .run = flushdb_run,
};

/* The first database from `from` on that FLUSHALL empties: those that are always there, also when
 * nothing is in them, and of the others those that have something. */
static bool next_flushed(const struct request *rq, const struct overlay *o, uint32_t from,
                         uint16_t *out)
{
    if (from < rq->env->settings.databases) {
        *out = (uint16_t)from;
        return true;
    }
    return engine_database_next(rq->env->db->engine, o, from, out) && *out != DATABASE_CATALOG;
}

static enum err flushall_run(struct request *rq)
{
    uint64_t version = 0;
    struct overlay *own = NULL;
    enum err r = check_flush_words(rq);
    if (r == OK && rq->overlay == NULL) {
        r = engine_admit(rq->env->db->engine, rq->waiter, &rq->error);
        if (r == OK) own = engine_begin(rq->env->db->engine, rq->arena);
    }
    struct engine *g = rq->env->db->engine;
    struct overlay *o = own != NULL ? own : rq->overlay;
    uint16_t i = 0;
    for (uint32_t at = 0; r == OK && next_flushed(rq, o, at, &i); at = (uint32_t)i + 1) {
        struct txn t = {.overlay = o,
                        .database = i,
                        .commits_always = true,
                        .has_flush = true,
                        .arena = rq->arena};
        r = engine_commit(g, &t, rq->waiter, &rq->error);
    }
    if (own != NULL && r == OK) {
        r = engine_end(own, &version, rq->waiter, &rq->error);
    } else {
        engine_discard(own);
    }
    if (r != OK) return r;
    rq->depends = version;
    rq->env->stats.writes++;
    resp_simple(rq->w, "OK");
    return OK;
}

static enum err flushall_subjects(struct request *rq, struct subjects *out)
{
    (void)rq;
    subjects_all_databases(out);
    return OK;
}

const struct command cmd_flushall = {
    .name = "flushall",
    .arity = -1,
    .flags = CMD_WRITE | CMD_KEYSPACE | CMD_DANGEROUS | CMD_ALL_KEYS | CMD_AUDITED,
    .group = "server",
    .since = "0.1.0",
    .summary = "Removes everything in every database, in one transaction.",
    .syntax = "[ASYNC | SYNC]",
    .run = flushall_run,
    .subjects = flushall_subjects,
};

static enum err time_run(struct request *rq)
{
    int64_t now_us = clock_wall_us();
    resp_array(rq->w, 2);
    resp_bulk_u64(rq->w, (uint64_t)(now_us / 1000000));
    resp_bulk_u64(rq->w, (uint64_t)(now_us % 1000000));
    return OK;
}

const struct command cmd_time = {
    .name = "time",
    .arity = 1,
    .flags = CMD_FAST | CMD_FOLLOWER,
    .is_own = true,
    .group = "server",
    .since = "0.1.0",
    .summary = "Seconds and microseconds of the server's clock.",
    .syntax = "",
    .run = time_run,
};

/* No reply on success: the connection closes when the server stops. */
static enum err shutdown_run(struct request *rq)
{
    for (size_t i = 1; i < rq->argc; i++) {
        struct slice arg = rq->argv[i];
        if (slice_is_word(arg, "ABORT")) {
            return error_set(&rq->error, ERR_SYNTAX, "No shutdown in progress.");
        }
        if (!slice_is_word(arg, "SAVE") && !slice_is_word(arg, "NOSAVE") &&
            !slice_is_word(arg, "NOW") && !slice_is_word(arg, "FORCE")) {
            return error_set(&rq->error, ERR_SYNTAX, "syntax error");
        }
    }
    rq->env->server_ops->shutdown(rq->env->server);
    return OK;
}

const struct command cmd_shutdown = {
    .name = "shutdown",
    .arity = -1,
    .flags = CMD_ADMIN | CMD_DANGEROUS | CMD_NO_MULTI | CMD_AUDITED | CMD_NODE,
    .group = "server",
    .since = "0.1.0",
    .summary = "Stops the server cleanly; everything acknowledged is kept whatever the words.",
    .syntax = "[NOSAVE | SAVE] [NOW] [FORCE] [ABORT]",
    .run = shutdown_run,
};
