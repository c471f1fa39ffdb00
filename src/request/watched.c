#include "request/watched.h"

#include "base/mem.h"
#include "request/args.h"
#include "request/client_memory.h"
#include "request/keys.h"
#include "request/permission.h"
#include "request/table.h"

struct watched {
    struct watched *next;
    struct slice key; /* its bytes follow the struct */
    bool exists;
    uint64_t version;
};

void watches_drop(struct client *c)
{
    while (c->txn.watched != NULL) {
        struct watched *next = c->txn.watched->next;
        mem_free(c->txn.watched);
        c->txn.watched = next;
    }
    c->txn.watched_bytes = 0;
}

size_t client_watched_count(const struct client *c)
{
    size_t n = 0;
    for (const struct watched *w = c->txn.watched; w != NULL; w = w->next) n++;
    return n;
}

enum err watches_hold(struct request *rq, bool *hold)
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

static enum err watch_subjects(struct request *rq, struct subjects *out)
{
    subjects_database_of(out, rq->client->database);
    return subjects_keys(out);
}

enum err watched_subjects(struct request *rq, struct subjects *out)
{
    for (const struct watched *w = rq->client->txn.watched; w != NULL; w = w->next) {
        subjects_database_of(out, key_database(w->key));
        subjects_key(out, w->key, 0);
    }
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
    .subjects = watch_subjects,
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
