/* server: DBSIZE, FLUSHDB, FLUSHALL, TIME, SHUTDOWN. */
#include "base/clock.h"
#include "request/command.h"
#include "request/shapes.h"
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
    rq->depends = backend_version_newest(b); /* the count knows every write */
    return OK;
}

const struct command cmd_dbsize = {
    .name = "dbsize",
    .flags = CMD_READ | CMD_FAST | CMD_KEYSPACE | CMD_ALL_KEYS,
    .group = "server",
    .summary =
        "Returns the number of entries in the selected database. In MULTI and scripts it counts "
        "the transaction's own writes.",
    .arguments = &no_arguments,
    .run = dbsize_run,
};

/* Both are the same: nothing is done later. */
struct flush {
    bool is_async;
};
ARGUMENTS(flushdb_arguments, struct flush, "[ASYNC | SYNC]",
          ARG_CHOICE(struct flush, is_async, {"ASYNC", true}, {"SYNC", false}));

static enum err flushdb_run(struct request *rq)
{
    struct txn t = {.overlay = rq->overlay,
                    .database = rq->client->database,
                    .commits_always = true,
                    .has_flush = true,
                    .arena = rq->arena};
    enum err r = engine_commit(rq->env->db->engine, &t, rq->waiter, &rq->error);
    if (r != OK) return r;
    rq->depends = t.depends;
    rq->env->stats.writes++;
    resp_simple(rq->w, "OK");
    return OK;
}

const struct command cmd_flushdb = {
    .name = "flushdb",
    .flags = CMD_WRITE | CMD_KEYSPACE | CMD_DANGEROUS | CMD_ALL_KEYS | CMD_AUDITED,
    .group = "server",
    .summary = "Removes all entries of the selected database in one transaction.",
    .arguments = &flushdb_arguments,
    .run = flushdb_run,
};

static void flushall_subjects(struct subjects *s, const void *bound)
{
    (void)bound;
    subjects_all_databases(s);
}

ARGUMENTS_WITH(flushall_arguments, struct flush, "[ASYNC | SYNC]",
               WITH(.subjects = flushall_subjects),
               ARG_CHOICE(struct flush, is_async, {"ASYNC", true}, {"SYNC", false}));

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
    enum err r = OK;
    if (rq->overlay == NULL) {
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

const struct command cmd_flushall = {
    .name = "flushall",
    .flags = CMD_WRITE | CMD_KEYSPACE | CMD_DANGEROUS | CMD_ALL_KEYS | CMD_AUDITED,
    .group = "server",
    .summary = "Removes all entries of all databases in one transaction.",
    .arguments = &flushall_arguments,
    .run = flushall_run,
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
    .flags = CMD_FAST | CMD_FOLLOWER,
    .is_own = true,
    .group = "server",
    .summary = "Returns the server's time as seconds and microseconds.",
    .arguments = &no_arguments,
    .run = time_run,
};

/* All of them are the same: what was acknowledged is kept. */
struct shutdown {
    bool saves, is_now, is_forced, is_abort;
};
ARGUMENTS(shutdown_arguments, struct shutdown, "[NOSAVE | SAVE] [NOW] [FORCE] [ABORT]",
          ARG_CHOICE(struct shutdown, saves, {"NOSAVE", false}, {"SAVE", true}),
          ARG_FLAG(struct shutdown, is_now, "NOW"), ARG_FLAG(struct shutdown, is_forced, "FORCE"),
          ARG_FLAG(struct shutdown, is_abort, "ABORT"));

/* No reply on success: the connection closes when the server stops. */
static enum err shutdown_run(struct request *rq)
{
    const struct shutdown *a = rq->bound;
    if (a->is_abort) return error_set(&rq->error, ERR_SYNTAX, "No shutdown in progress.");
    rq->env->server.ops->shutdown(rq->env->server.arg);
    return OK;
}

const struct command cmd_shutdown = {
    .name = "shutdown",
    .flags = CMD_ADMIN | CMD_DANGEROUS | CMD_NO_MULTI | CMD_AUDITED | CMD_NODE,
    .group = "server",
    .summary = "Stops the server cleanly. All acknowledged data is kept, with any of the options.",
    .arguments = &shutdown_arguments,
    .run = shutdown_run,
};
