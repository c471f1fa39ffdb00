/* across: within EXEC or a script the operations go to its overlay; else to one that is made here
 * and committed, so that either all databases change or none. */
#include "command/string/across.h"

#include "collection/copy.h"
#include "command/string/string_int.h"
#include "request/notify.h"

enum err other_database(struct request *rq, struct slice word, uint16_t *out)
{
    struct databases *all = rq->env->db->databases;
    int64_t number = 0;
    enum err r = databases_ready(all, rq->waiter, &rq->error);
    if (r == ERR_WAIT) return r;
    const struct database *d = database_find(all, word);
    if (d != NULL) {
        *out = d->number;
        return OK;
    }
    if (r != OK) return r;
    if (string_integer(rq, word, &number) == OK) {
        return error_set(&rq->error, ERR_SYNTAX, "DB index is out of range");
    }
    error_add(&rq->error, ", and no database has this name");
    return rq->error.code;
}

struct slice key_in(struct request *rq, struct slice key, uint16_t database)
{
    struct slice tuple = engine_key_tuple(key);
    buf_clear(rq->scratch, SIZE_MAX);
    engine_key_begin(rq->scratch, database);
    buf_append(rq->scratch, tuple.data, tuple.len);
    buf_require(rq->scratch);
    return arena_copy(rq->arena, buf_slice(rq->scratch));
}

struct op copy_of(struct request *rq, const struct entry *entry, struct slice from,
                  struct slice key)
{
    if (collection_is_head(entry->value)) {
        struct collection_copy *x = arena_alloc(rq->arena, sizeof *x);
        *x = (struct collection_copy){
            .all = rq->env->db->collections, .from = from, .to = key, .entry = *entry};
        return collection_copy_op(x);
    }
    return (struct op){.kind = OP_SET,
                       .key = key,
                       .value = entry->value,
                       .ttl = entry->expiry_ms == 0 ? TTL_NONE : TTL_AT,
                       .ttl_ms = entry->expiry_ms};
}

static enum err commit_in(struct request *rq, struct overlay *o, const struct database_ops *x)
{
    struct txn t = {.overlay = o,
                    .database = x->database,
                    .ops = x->ops,
                    .count = x->count,
                    .cause = notify_cause(rq),
                    .arena = rq->arena};
    if (x->count == 0) return OK;
    enum err r = engine_commit(rq->env->db->engine, &t, rq->waiter, &rq->error);
    depends_raise(&rq->depends, t.depends);
    return r;
}

enum err commit_across(struct request *rq, struct database_ops *all, size_t databases)
{
    struct engine *g = rq->env->db->engine;
    struct overlay *o = rq->overlay;
    uint64_t version = 0;
    enum err r = OK;
    if (o == NULL) {
        r = engine_admit(g, rq->waiter, &rq->error);
        if (r != OK) return r;
        o = engine_begin(g, rq->arena);
    }
    for (size_t i = 0; i < databases && r == OK; i++) r = commit_in(rq, o, &all[i]);
    if (rq->overlay == NULL) {
        if (r == OK) {
            r = engine_end(o, &version, rq->waiter, &rq->error);
        } else {
            engine_discard(o);
        }
        depends_raise(&rq->depends, version);
    }
    if (r == OK) rq->env->stats.writes++;
    return r;
}
