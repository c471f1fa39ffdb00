/* watched: WATCH and UNWATCH, and the comparison that EXEC makes: a key has changed when it came,
 * went or has another versionstamp. WATCH may wait for a read and then runs again from the start,
 * so its keys go to a list of their own until all are there. */
#include "request/watched.h"
#include "request/shapes.h"

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
    const struct slices *keys = &((const struct many_words *)rq->bound)->words;
    struct client fresh = {0};
    struct client *c = rq->client;
    if (c->txn.multi != NULL) {
        return error_set(&rq->error, ERR_SYNTAX, "WATCH inside MULTI is not allowed");
    }
    size_t max = engine_limits(rq->env->db->engine)->ops_max;
    enum err r = OK;
    if (client_watched_count(c) + keys->count > max) {
        r = error_set(&rq->error, ERR_LIMIT, "more watched keys than max-transaction-ops (%zu)",
                      max);
    }
    for (size_t i = 0; i < keys->count && r == OK; i++) {
        r = watch_one(rq, keys->items[i], &fresh.txn.watched);
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

static void watch_subjects(struct subjects *s, const void *bound)
{
    (void)bound;
    subjects_database_of(s, s->rq->client->database);
}

ARGUMENTS_WITH(watch_arguments, struct many_words, "key [key ...]",
               WITH(.subjects = watch_subjects),
               ARG_KEY_WORDS(struct many_words, words, "key", KEY_RO));

void watched_subjects(struct subjects *s, const void *bound)
{
    (void)bound;
    for (const struct watched *w = s->rq->client->txn.watched; w != NULL; w = w->next) {
        subjects_database_of(s, key_database(w->key));
        subjects_key(s, w->key, 0);
    }
}

const struct command cmd_watch = {
    .name = "watch",
    .flags = CMD_FAST | CMD_TRANSACTION | CMD_UNQUEUED,
    .group = "transactions",
    .summary = "Makes EXEC return nil, without effect, if the versionstamp of one of the keys has "
               "changed by then.",
    .arguments = &watch_arguments,
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
    .flags = CMD_FAST | CMD_TRANSACTION,
    .group = "transactions",
    .summary = "Unwatches all keys.",
    .arguments = &no_arguments,
    .run = unwatch_run,
};
