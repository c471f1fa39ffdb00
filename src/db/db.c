/* db: the order in which an engine is put together and taken apart, and what each call passes on
 * to. Layers that hold scans or waiters of the backend go before it; watchers are told by commits,
 * so they go last. */
#include "db/db.h"

#include "backend/local/lineage.h"
#include "base/mem.h"
#include "collection/fields.h"
#include "search/text_ops.h"

static enum err open_local(struct db *db, const struct db_options *options, struct store **store,
                           struct error *e)
{
    struct local_options local = options->local;
    local.text_ops = &search_text_ops;
    enum err r = local_open(&local, &db->journal, store, e);
    db->is_local = true;
    if (r != OK) return r;
    db->archive = local_archive(db->journal);
    db->lineage = local_lineage(*store);
    return OK;
}

static enum err followed(void *arg, const struct txn_view *txn, struct error *e)
{
    const struct db *db = arg;
    return engine_follow(db->engine, txn, e);
}

enum err db_recover(const struct db_options *options, struct db **out, struct error *e)
{
    struct db *db = mem_new(sizeof *db);
    struct store *store = NULL;
    *out = NULL;
    const struct db_elsewhere *other = &options->elsewhere;
    enum err r = other->open != NULL ? other->open(other->arg, &db->journal, &store, e)
                                     : open_local(db, options, &store, e);
    struct journal *journal = db->journal;
    db->is_frozen = options->pipeline.frozen_ms != 0;
    db->is_following = options->pipeline.is_following;
    if (r == OK && options->wrap.wrap != NULL) {
        options->wrap.wrap(options->wrap.arg, &journal, &store);
    }
    if (r == OK) r = pipeline_open(&options->pipeline, journal, store, &db->backend, e);
    if (r == OK) {
        *out = db;
    } else {
        mem_free(db);
    }
    return r;
}

static void set_indexes(struct db *db, const struct db_options *o)
{
    indexes_set_max(db->indexes, o->indexes_max != 0 ? o->indexes_max : INDEXES_DEFAULT);
}

void db_begin(struct db *db, const struct db_options *options)
{
    struct engine_options engine = options->engine;
    struct queue_options queues = options->queues;
    db_on_durable(db, options->on_durable, options->on_durable_arg);
    engine.backend = db->backend;
    engine.is_frozen = db->is_frozen;
    engine.is_following = queues.is_absent = db->is_following;
    db->engine = engine_new(&engine);
    db->backend->on_followed = followed;
    db->backend->on_followed_arg = db;
    unsigned fixed = options->databases == 0 ? DATABASE_FIXED_MAX : options->databases;
    db->databases = databases_new(db->engine, fixed);
    db->watch = watch_new(db->engine, options->late_bytes_max);
    queues.engine = db->engine;
    db->queues = queues_new(&queues);
    struct hash_reader hashes = {.fields = fields_of_view, .are_written = fields_are_written};
    db->indexes = indexes_new(db->engine, &hashes);
    set_indexes(db, options);
    struct collections_options collections = options->collections;
    collections.engine = db->engine;
    collections.is_following = db->is_following;
    db->collections = collections_new(&collections);
    db->archiving = archiving_new(db, &options->archiving);
}

enum err db_open(const struct db_options *options, struct db **out, struct error *e)
{
    enum err r = db_recover(options, out, e);
    if (r == OK) db_begin(*out, options);
    return r;
}

enum err db_set_options(struct db *db, const struct db_options *options, struct waiter *w,
                        struct error *e)
{
    struct queue_options queues = options->queues;
    queues.engine = db->engine;
    engine_set_limits(db->engine, &options->engine);
    queues_set_options(db->queues, &queues);
    collections_set_options(db->collections, &options->collections);
    set_indexes(db, options);
    archiving_set_options(db->archiving, &options->archiving);
    if (db->is_local) local_set_options(db->journal, &options->local);
    return pipeline_set_options(db->backend, &options->pipeline, w, e);
}

void db_on_durable(struct db *db, void (*on_durable)(void *arg, uint64_t version), void *arg)
{
    db->backend->on_durable = on_durable;
    db->backend->on_durable_arg = arg;
}

bool db_is_discarded(const struct db *db, uint64_t version, uint64_t *fork)
{
    return db->lineage != NULL && lineage_is_discarded(db->lineage, version, fork);
}

uint64_t db_durable(const struct db *db)
{
    return backend_version_durable(db->backend);
}

void db_poll(struct db *db)
{
    backend_poll(db->backend);
}

bool db_turn_end(struct db *db)
{
    if (!db->is_following) queues_turn(db->queues);
    if (!db->is_following) indexes_turn(db->indexes);
    bool has_more = collections_turn(db->collections);
    has_more = watch_turn(db->watch) || has_more;
    backend_turn_end(db->backend);
    return has_more;
}

bool db_idle(struct db *db)
{
    return engine_idle(db->engine);
}

void db_tick(struct db *db)
{
    backend_tick(db->backend);
    engine_tick(db->engine);
    databases_tick(db->databases);
    if (!db->is_frozen && !db->is_following) queues_tick(db->queues);
    archiving_tick(db->archiving);
}

int64_t db_rest_ms(struct db *db)
{
    if (!pipeline_is_at_rest(db->backend) || databases_have_late(db->databases)) return 0;
    int64_t expiry_ms = engine_rest_ms(db->engine);
    bool has_queues = !db->is_frozen && !db->is_following;
    int64_t queues_ms = has_queues ? queues_rest_ms(db->queues) : INT64_MAX;
    return expiry_ms < queues_ms ? expiry_ms : queues_ms;
}

/* The layers that hold scans and waiters of the backend go before it; who watches is told by
 * commits, and goes last. */
static void layers_free(struct db *db)
{
    queues_free(db->queues);
    indexes_free(db->indexes);
    collections_free(db->collections);
    databases_free(db->databases);
    engine_free(db->engine);
}

enum err db_close(struct db *db, struct error *e)
{
    archiving_stop(db->archiving);
    layers_free(db);
    enum err r = backend_close(db->backend, e);
    archiving_free(db->archiving);
    watch_free(db->watch);
    mem_free(db);
    return r;
}

void db_abandon(struct db *db)
{
    archiving_stop(db->archiving);
    layers_free(db);
    pipeline_abandon(db->backend);
    archiving_free(db->archiving);
    watch_free(db->watch);
    mem_free(db);
}
