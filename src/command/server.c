/* server: DBSIZE, FLUSHDB, FLUSHALL, TIME, SHUTDOWN, DEBUG. */
#include <xxhash.h>

#include "base/clock.h"
#include "base/mem.h"
#include "command/commands.h"

static enum err dbsize_run(struct request *rq)
{
    struct backend *b = engine_backend(rq->env->engine);
    resp_int(rq->w, (int64_t)b->ops->count(b, rq->client->database));
    rq->depends = b->ops->version_newest(b); /* the count knows every write */
    return OK;
}

const struct command cmd_dbsize = {
    .name = "dbsize",
    .arity = 1,
    .flags = CMD_READ | CMD_FAST | CMD_KEYSPACE,
    .group = "server",
    .since = "0.1.0",
    .summary = "The number of entries in the selected database.",
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
    struct txn t = {.database = rq->client->database,
                    .commits_always = true,
                    .has_flush = true,
                    .arena = rq->arena};
    enum err r = check_flush_words(rq);
    if (r == OK) r = engine_commit(rq->env->engine, &t, rq->waiter, &rq->error);
    if (r != OK) return r;
    rq->depends = t.depends;
    rq->env->stats.writes++;
    resp_simple(rq->w, "OK");
    return OK;
}

const struct command cmd_flushdb = {
    .name = "flushdb",
    .arity = -1,
    .flags = CMD_WRITE | CMD_KEYSPACE | CMD_DANGEROUS,
    .group = "server",
    .since = "0.1.0",
    .summary = "Removes everything in the selected database, in one transaction.",
    .syntax = "[ASYNC|SYNC]",
    .run = flushdb_run,
};

static enum err flushall_run(struct request *rq)
{
    uint64_t version = 0;
    enum err r = check_flush_words(rq);
    if (r == OK) r = engine_flush_all(rq->env->engine, &version, rq->waiter, &rq->error);
    if (r != OK) return r;
    rq->depends = version;
    rq->env->stats.writes++;
    resp_simple(rq->w, "OK");
    return OK;
}

const struct command cmd_flushall = {
    .name = "flushall",
    .arity = -1,
    .flags = CMD_WRITE | CMD_KEYSPACE | CMD_DANGEROUS,
    .group = "server",
    .since = "0.1.0",
    .summary = "Removes everything in every database, in one transaction.",
    .syntax = "[ASYNC|SYNC]",
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
    .arity = 1,
    .flags = CMD_FAST,
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
    rq->env->shutdown(rq->env->server);
    return OK;
}

const struct command cmd_shutdown = {
    .name = "shutdown",
    .arity = -1,
    .flags = CMD_ADMIN | CMD_DANGEROUS,
    .group = "server",
    .since = "0.1.0",
    .summary = "Stops the server cleanly; everything acknowledged is kept whatever the words.",
    .syntax = "[NOSAVE|SAVE] [NOW] [FORCE] [ABORT]",
    .run = shutdown_run,
};

/* ---- DEBUG ---- */

static enum err debug_allowed(struct request *rq)
{
    const struct env *env = rq->env;
    if (env->debug_is_allowed || (env->debug_is_local && rq->client->is_local)) return OK;
    return error_set(
        &rq->error, ERR_SYNTAX,
        "DEBUG command not allowed. If the enable-debug-command option is set to "
        "\"local\", you can run it from a local connection, otherwise you need to set this "
        "option in the configuration file, and then restart the server.");
}

/* A digest of everything live: databases, keys, versions, expiries and values, at one moment. */
struct digest {
    struct pending pending; /* first */
    struct engine_scan *scans[256];
    uint8_t count;
    uint8_t at;
    uint64_t entries;
    XXH3_state_t *state;
};

#define DIGEST_SLICE_ROWS 1000

static void digest_free(struct pending *p)
{
    struct digest *d = (struct digest *)p;
    for (unsigned i = 0; i < d->count; i++) engine_scan_close(d->scans[i]);
    XXH3_freeState(d->state);
    mem_free(d);
}

static enum err digest_begin(struct request *rq)
{
    struct digest *d = mem_new(sizeof *d);
    d->pending.free = digest_free;
    rq->client->pending = &d->pending;
    d->state = XXH3_createState();
    if (d->state == NULL) return error_set(&rq->error, ERR_NOMEM, "no memory for a digest");
    XXH3_128bits_reset(d->state);
    for (uint8_t i = 0; i < rq->env->databases; i++) {
        uint8_t start[KEY_HEAD_BYTES] = {i, SPACE_DATA};
        uint8_t end[KEY_HEAD_BYTES] = {i, SPACE_DATA + 1};
        struct scan_range range = {.start = slice_of(start, sizeof start),
                                   .end = slice_of(end, sizeof end),
                                   .with_values = true};
        enum err r = engine_scan_open(rq->env->engine, &range, &d->scans[i], &rq->error);
        if (r != OK) return r;
        d->count = (uint8_t)(i + 1);
        /* All see one moment, this one, whenever their turn comes. */
        r = engine_scan_pause(d->scans[i], &rq->error);
        if (r != OK) return r;
    }
    return OK;
}

static void digest_add(struct digest *d, struct slice key, const struct entry *entry)
{
    uint64_t head[4] = {key.len, entry->version, (uint64_t)entry->expiry_ms, entry->value.len};
    XXH3_128bits_update(d->state, head, sizeof head);
    XXH3_128bits_update(d->state, key.data, key.len);
    XXH3_128bits_update(d->state, entry->value.data, entry->value.len);
    d->entries++;
}

static enum err digest_turn(struct request *rq, struct digest *d)
{
    for (unsigned i = 0; d->at < d->count; i++) {
        struct slice key;
        struct entry entry;
        if (i == DIGEST_SLICE_ROWS) {
            struct backend *b = engine_backend(rq->env->engine);
            enum err r = engine_scan_pause(d->scans[d->at], &rq->error);
            if (r != OK) return r;
            b->ops->yield(b, rq->waiter);
            return error_set(&rq->error, ERR_WAIT, "a long read lets others run");
        }
        enum err r = engine_scan_next(d->scans[d->at], &key, &entry, rq->waiter, &rq->error);
        if (r != OK) return r;
        if (key.len == 0) {
            d->at++;
        } else {
            digest_add(d, key, &entry);
        }
    }
    return OK;
}

static enum err digest_run(struct request *rq)
{
    enum err r = debug_allowed(rq);
    if (r == OK && rq->client->pending == NULL) r = digest_begin(rq);
    struct digest *d = (struct digest *)rq->client->pending;
    if (r == OK) r = digest_turn(rq, d);
    if (r != OK) return r;
    for (unsigned i = 0; i < d->count; i++) {
        uint64_t depends = engine_scan_depends(d->scans[i]);
        if (depends > rq->depends) rq->depends = depends;
    }
    XXH128_hash_t sum = XXH3_128bits_digest(d->state);
    char text[40];
    static const char digits[] = "0123456789abcdef";
    for (int i = 0; i < 16; i++) {
        text[i] = digits[(sum.high64 >> (60 - 4 * i)) & 15];
        text[16 + i] = digits[(sum.low64 >> (60 - 4 * i)) & 15];
    }
    resp_bulk(rq->w, slice_of(text, 32));
    return OK;
}

static const struct command sub_digest = {
    .name = "digest",
    .arity = 2,
    .flags = CMD_ADMIN | CMD_DANGEROUS,
    .group = "server",
    .since = "0.1.0",
    .summary = "A digest of every live entry of every database, at one moment.",
    .syntax = "",
    .run = digest_run,
};

static const struct command *const debug_subcommands[] = {&sub_digest, NULL};

const struct command cmd_debug = {
    .name = "debug",
    .arity = -2,
    .flags = CMD_ADMIN | CMD_DANGEROUS,
    .group = "server",
    .since = "0.1.0",
    .summary = "For tests; see enable-debug-command.",
    .syntax = "",
    .subcommands = debug_subcommands,
};
