/* settings: what the settings mean for the parts of the server, at the start and, for those that
 * are mutable, whenever CONFIG SET changes them. A mutable setting that nothing here or in
 * settings_to_env hands on would be a lie: redis-tests/test_config.c looks at what each one
 * does.
 */
#include <sys/resource.h>

#include "base/resources.h"
#include "net/io_threads.h"
#include "request/login.h"
#include "server/kept_users.h"
#include "server/server_int.h"
#include "server/users.h"

#define STORE_KEEP_MS 10000
#define RESERVED_FILES 64 /* beside one per client */

/* ---- what they say --------------------------------------------------------------------------- */

static enum durability durability_of(const struct config *c)
{
    switch (c->durability) {
    case CONFIG_DURABLE_INTERVAL: return DURABILITY_INTERVAL;
    case CONFIG_DURABLE_NEVER: return DURABILITY_NEVER;
    default: return DURABILITY_ALWAYS;
    }
}

/* What is a part of the memory is within bounds. */
static uint64_t bytes_of(const struct server *s, int64_t wanted, uint64_t least, uint64_t most)
{
    if (wanted >= 0) return (uint64_t)wanted;
    uint64_t part = s->memory_bytes / 1000 * (uint64_t)-wanted;
    if (part > most) part = most;
    return part < least ? least : part;
}

static struct memory_sizes memory_sizes(const struct server *s)
{
    const struct config *c = s->config;
    return (struct memory_sizes){
        .memtable = bytes_of(s, c->memtable_bytes, (uint64_t)16 << 20, (uint64_t)512 << 20),
        .write_buffer = bytes_of(s, c->write_buffer_bytes, (uint64_t)64 << 20,
                                 (uint64_t)1536 << 20),
        .cache = bytes_of(s, c->cache_bytes, (uint64_t)16 << 20, UINT64_MAX),
        .store_cache = bytes_of(s, c->store_cache_bytes, (uint64_t)16 << 20, UINT64_MAX),
    };
}

static struct local_options settings_local(const struct server *s)
{
    const struct config *c = s->config;
    return (struct local_options){
        .dir = c->dir,
        .durability = durability_of(c),
        .interval_ms = (unsigned)c->durability_interval_ms,
        .segment_bytes = c->journal_segment_bytes,
        .retention_ms = (int64_t)c->changes_retention_age_s * 1000,
        .retention_bytes = c->changes_retention_bytes,
        .store_cache_bytes = memory_sizes(s).store_cache,
        .archive_dir = c->archive_dir,
        .archive_ms = (int64_t)c->archive_interval_s * 1000,
        .is_journal_buffered = c->journal_direct == CONFIG_NO || s->is_journal_buffered,
        .short_sync_us = s->short_sync_us,
        .long_sync_us = s->long_sync_us,
    };
}

static struct pipeline_options settings_pipeline(const struct server *s)
{
    const struct config *c = s->config;
    struct memory_sizes m = memory_sizes(s);
    return (struct pipeline_options){
        .memtable_bytes = m.memtable,
        .memtable_age_ms = (int64_t)c->memtable_age_ms,
        .write_buffer_bytes = m.write_buffer,
        .cache_bytes = m.cache,
        .query_threads = (unsigned)c->query_threads,
        .scan_ms_max = (int64_t)c->scan_timeout_ms,
        .trims = true,
        .store_keep_ms = STORE_KEEP_MS,
    };
}

/* A transaction must fit into one journal segment, with what its record and its expiry rows add. */
static uint64_t transaction_bytes_max(const struct config *c)
{
    uint64_t possible = c->journal_segment_bytes / 3 * 2;
    return c->max_transaction_bytes < possible ? c->max_transaction_bytes : possible;
}

static struct engine_options settings_engine(const struct server *s)
{
    const struct config *c = s->config;
    uint64_t txn_bytes_max = transaction_bytes_max(c);
    const struct db *db = s->env.db;
    bool is_told = db != NULL && engine_limits(db->engine)->txn_bytes_max == txn_bytes_max;
    if (txn_bytes_max < c->max_transaction_bytes && !is_told) {
        log_notice("max-transaction-size lowered to %llu, two thirds of journal-segment-size",
                   (unsigned long long)txn_bytes_max);
    }
    return (struct engine_options){
        .backend = db != NULL ? db->backend : NULL,
        .value_bytes_max = c->max_value_bytes,
        .txn_bytes_max = txn_bytes_max,
        .ops_max = c->max_transaction_ops,
        .expire_batch = (unsigned)c->expire_batch,
        .idem_window_ms = (int64_t)c->idem_window_s * 1000,
        .idem_entries_max = c->idem_entries_max,
    };
}

static struct queue_options settings_queues(const struct server *s)
{
    const struct config *c = s->config;
    return (struct queue_options){
        .lease_ms = (int64_t)c->queue_lease_ms,
        .dedup_window_ms = (int64_t)c->dedup_window_s * 1000,
        .dedup_entries_max = c->dedup_entries_max,
        .dead_age_ms = (int64_t)c->dlq_max_age_s * 1000,
        .dead_length = c->dlq_max_length,
    };
}

static struct archiving_options settings_archiving(const struct server *s)
{
    const struct config *c = s->config;
    struct archiving_options o = {.retention_ms = (int64_t)c->archive_retention_s * 1000};
    struct error e;
    if (schedule_parse(slice_str(c->backup_schedule), &o.schedule, &e) != OK) {
        die("a schedule that was good is bad: %s", e.text);
    }
    return o;
}

struct db_options settings_db(const struct server *s)
{
    struct db_options o = {.pipeline = settings_pipeline(s),
                           .local = settings_local(s),
                           .engine = settings_engine(s),
                           .queues = settings_queues(s),
                           .archiving = settings_archiving(s),
                           .collections = {.pack_bytes = (size_t)s->config->pack_bytes,
                                           .counted_bytes = (size_t)s->config->counted_bytes},
                           .indexes_max = (size_t)s->config->indexes_max,
                           .late_bytes_max = s->late_bytes_max,
                           .databases = (unsigned)s->config->databases};
    o.pipeline.wake = s->hooks.wake;
    o.pipeline.on_replay = s->hooks.on_replay;
    o.pipeline.on_fatal = s->hooks.on_fatal;
    return o;
}

/* Half of the processors: the others are for the loop's journal, store and reads, and for clients
 * on this machine. Below four there is nothing to be had. */
static unsigned io_threads(const struct server *s)
{
    if (s->config->io_threads > 0) return (unsigned)s->config->io_threads;
    if (s->io_threads > 0) return s->io_threads;
    if (s->processors < 4) return 1;
    unsigned half = s->processors / 2;
    return half < IO_THREADS_BY_DEFAULT_MAX ? half : IO_THREADS_BY_DEFAULT_MAX;
}

struct net_options settings_net(const struct server *s)
{
    const struct config *c = s->config;
    return (struct net_options){
        .io_threads = io_threads(s),
        .backlog = (int)c->tcp_backlog,
        .is_protected = c->protected_mode == CONFIG_YES && users_are_open(s),
        .keepalive_s = c->tcp_keepalive_s,
        .clients_max = c->maxclients,
        .address_clients_max = c->address_clients_max,
    };
}

struct net_listen settings_listen(const struct server *s)
{
    const struct config *c = s->config;
    return (struct net_listen){
        .protocol = &session_protocol,
        .arg = s->sessions,
        .bind = c->bind,
        .bind_count = c->bind_count,
        .port = (uint16_t)c->port,
        .setting = "port",
        .is_any_port = s->is_any_port && c->port == 0,
        .unix_path = c->unixsocket,
        .unix_mode = c->unixsocketperm != 0 ? (unsigned)c->unixsocketperm : 0777 & ~s->umask_before,
    };
}

struct net_listen settings_listen_tls(const struct server *s)
{
    struct net_listen l = settings_listen(s);
    l.is_tls = true;
    l.port = (uint16_t)s->config->tls_port;
    l.setting = "tls-port";
    l.is_any_port = s->is_any_tls_port && l.port == 0;
    l.unix_path = "";
    return l;
}

struct session_options settings_sessions(struct server *s)
{
    const struct config *c = s->config;
    return (struct session_options){
        .idle_s = c->timeout_s,
        .auth_s = c->auth_timeout_s,
        .bulk_bytes_max = c->proto_max_bulk_bytes,
        .query_bytes_max = c->query_buffer_bytes,
        .output_normal = {c->output_normal.hard_bytes, c->output_normal.soft_bytes,
                          c->output_normal.soft_s},
        .output_pubsub = {c->output_pubsub.hard_bytes, c->output_pubsub.soft_bytes,
                          c->output_pubsub.soft_s},
        .speaks_http = http_of_node,
        .speaks_http_arg = s,
    };
}

/* A share must at least let one client send the largest transaction while others do something. */
uint64_t settings_client_memory(const struct server *s)
{
    int64_t wanted = s->config->maxmemory_clients;
    if (wanted >= 0) return (uint64_t)wanted;
    uint64_t share = s->memory_bytes / 1000 * (uint64_t)-wanted;
    uint64_t least = 2 * transaction_bytes_max(s->config);
    return share > least ? share : least;
}

void settings_to_env(struct server *s)
{
    const struct config *c = s->config;
    struct env *env = &s->env;
    env->settings.bare_bigints = c->bare_bigints == CONFIG_YES;
    env->settings.default_format = c->default_format == CONFIG_FORMAT_MSGPACK ? FORMAT_MSGPACK
                                   : env->settings.bare_bigints               ? FORMAT_JSON_BARE
                                                                              : FORMAT_JSON;
    env->settings.clients_max = c->maxclients;
    env->settings.user_clients_max = c->user_clients_max;
    access_log_set_max(env->users.refused, c->acllog_max);
    users_set_channels(env->users.all, c->acl_pubsub_default != 0);
    env->settings.tracks_latency = c->latency_tracking == CONFIG_YES;
    env->settings.slowlog_slower_than_us = c->slowlog_slower_than_us;
    env->settings.slowlog_max = c->slowlog_max;
    env->settings.script_time_ms = (int64_t)c->script_time_ms;
    env->settings.script_memory_max = c->script_memory_bytes;
    env->settings.tracking_keys_max = (size_t)c->tracking_keys_max;
    env->settings.notify_events = (unsigned)c->notify_events;
    env->settings.exec_continues = c->exec_on_error == CONFIG_EXEC_CONTINUE;
    env->settings.is_redis_7_4 = c->redis_version == CONFIG_REDIS_7_4;
    env->settings.latency_threshold_ms = c->latency_threshold_ms;
    env->settings.percentiles = c->percentiles;
    env->settings.metrics_names = (size_t)c->metrics_names;
    env->settings.block_max_ms = (int64_t)c->block_max_ms;
    env->settings.memory_clients_max = settings_client_memory(s);
    env->settings.memory = memory_sizes(s);
    env->settings.queue_prefetch = (size_t)c->queue_prefetch;
}

/* ---- maxclients ------------------------------------------------------------------------------ */

/* Asks for as many descriptors as so many clients need; how many clients those allow that there
 * are. With several nodes each client that is passed on needs two.
 */
static uint64_t clients_possible(const struct server *s, uint64_t wanted)
{
    struct rlimit limit;
    uint64_t each = s->config->backend == CONFIG_POSTGRESQL ? 2 : 1;
    uint64_t files = wanted * each + RESERVED_FILES;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= files) return wanted;
    rlim_t old = limit.rlim_cur;
    limit.rlim_cur = files < limit.rlim_max ? files : limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) limit.rlim_cur = old;
    if (limit.rlim_cur >= files) return wanted;
    return limit.rlim_cur > 2 * RESERVED_FILES ? (limit.rlim_cur - RESERVED_FILES) / each : 16;
}

void settings_limit_clients(struct server *s)
{
    uint64_t wanted = s->config->maxclients;
    uint64_t possible = clients_possible(s, wanted);
    if (possible >= wanted) return;
    log_warning("maxclients lowered from %llu to %llu by the limit of open files",
                (unsigned long long)wanted, (unsigned long long)possible);
    s->config->maxclients = possible;
}

/* ---- changes while it runs ------------------------------------------------------------------- */

static enum err apply_settings(struct server *s, struct waiter *w, struct error *e)
{
    struct net_options net = settings_net(s);
    struct session_options sessions = settings_sessions(s);
    struct db_options db = settings_db(s);
    log_set_level(s->config->loglevel);
    log_set_format(s->config->log_format);
    net_set_options(s->net, &net);
    sessions_set_options(s->sessions, &sessions);
    if (s->http != NULL) {
        struct http_options http = http_options_of(s);
        http_set_options(s->http, &http);
    }
    settings_to_env(s);
    s->node.leader_wait_ms = s->env.node.following.wait_ms = (int64_t)s->config->leader_wait_ms;
    leader_set_options(s);
    return db_set_options(s->env.db, &db, w, e);
}

/* Words of Redis. */
static enum err check_clients(const struct server *s, uint64_t wanted, struct error *e)
{
    uint64_t possible = clients_possible(s, wanted);
    if (possible >= wanted) return OK;
    return error_set(e, ERR_LIMIT,
                     "The operating system is not able to handle the specified number of clients, "
                     "try with %llu",
                     (unsigned long long)possible);
}

/* All changes on a copy; its errors are the changes'. *tls: to be taken; no context: nothing of TLS
 * was said. */
static enum err try_changes(const struct server *s, const struct config_change *changes,
                            size_t count, size_t *failed, struct tls_made *tls, struct error *e)
{
    struct config next;
    enum err r = OK;
    size_t first_tls = count;
    tls->context = NULL;
    config_copy(&next, s->config);
    for (size_t i = 0; i < count && r == OK; i++) {
        *failed = i;
        r = config_set(&next, changes[i].setting, &changes[i].value, 1, e);
        if (r == OK && changes[i].setting == config_find(slice_str("maxclients"))) {
            r = check_clients(s, next.maxclients, e);
        }
        if (i < first_tls && config_is_tls(changes[i].setting)) first_tls = i;
    }
    if (r == OK && first_tls < count && tls_is_on(s)) {
        *failed = first_tls;
        r = tls_make(&next, tls, e);
    }
    config_fini(&next);
    return r;
}

static void change(struct config *c, const struct config_change *change)
{
    struct buf before;
    struct buf after;
    struct error e;
    buf_init(&before);
    buf_init(&after);
    config_line(c, change->setting, &before);
    if (config_set(c, change->setting, &change->value, 1, &e) != OK) {
        die("a setting that was good is bad: %s", e.text);
    }
    config_line(c, change->setting, &after);
    const struct log_field field = {.name = "setting", .text = config_name(change->setting)};
    if (config_is_secret(change->setting)) {
        log_event(LOG_LEVEL_NOTICE, &field, 1, "CONFIG SET: %s (not shown)", field.text);
    } else if (!slice_eq(buf_slice(&before), buf_slice(&after))) {
        log_event(LOG_LEVEL_NOTICE, &field, 1, "CONFIG SET: %.*s", (int)after.len,
                  (const char *)after.data);
    }
    buf_fini(&before);
    buf_fini(&after);
}

/* A password is a user's, and users are in PostgreSQL. */
static enum err check_kept(const struct server *s, const struct config_change *changes,
                           size_t count, size_t *failed, struct error *e)
{
    for (size_t i = 0; i < count && s->env.users.are_kept; i++) {
        *failed = i;
        if (changes[i].setting != config_find(slice_str("requirepass"))) continue;
        return error_set(e, ERR_SYNTAX,
                         "users are stored in PostgreSQL: use ACL SETUSER default resetpass >...");
    }
    return OK;
}

static enum err on_config_set(void *arg, const struct config_change *changes, size_t count,
                              size_t *failed, struct waiter *w, struct error *e)
{
    struct server *s = arg;
    struct tls_made tls;
    enum err r = check_kept(s, changes, count, failed, e);
    if (r == OK) r = try_changes(s, changes, count, failed, &tls, e);
    if (r != OK) return r;
    for (size_t i = 0; i < count; i++) change(s->config, &changes[i]);
    for (size_t i = 0; i < count; i++) {
        if (changes[i].setting == config_find(slice_str("requirepass"))) users_take_password(s);
    }
    if (tls.context != NULL) tls_take(s, &tls, "CONFIG SET");
    return apply_settings(s, w, e);
}

static enum err on_config_rewrite(void *arg, struct error *e)
{
    struct server *s = arg;
    users_to_config(s);
    enum err r = config_rewrite(s->config, s->env.server.about.config_file, e);
    if (r == OK) log_notice("CONFIG REWRITE executed with success.");
    if (r != OK) log_warning("CONFIG REWRITE failed: %s", e->text);
    return r;
}

/* ---- what commands ask ----------------------------------------------------------------------- */

static size_t on_config_count(void *arg)
{
    (void)arg;
    return config_count();
}

static const char *on_config_name(void *arg, size_t i)
{
    (void)arg;
    return config_name(i);
}

static bool on_config_is_mutable(void *arg, size_t i)
{
    (void)arg;
    return config_is_mutable(i);
}

static void on_config_value(void *arg, size_t i, struct buf *out)
{
    const struct server *s = arg;
    if (!config_is_secret(i)) config_get(s->config, i, out);
}

static enum err on_users_keep(void *arg, struct slice text, struct users_change *c,
                              struct waiter *w, struct error *e)
{
    const struct server *s = arg;
    return kept_users_change(s->kept_users, text, c, w, e);
}

static void on_users_changed(void *arg)
{
    struct server *s = arg;
    struct net_options net = settings_net(s);
    net_set_options(s->net, &net);
}

static void on_shutdown(void *arg)
{
    struct server *s = arg;
    log_notice("SHUTDOWN: stopping");
    service_stopping(&s->service, "stopping: SHUTDOWN");
    net_stop(s->net);
}

const struct server_ops settings_ops = {
    .shutdown = on_shutdown,
    .config_count = on_config_count,
    .config_name = on_config_name,
    .config_is_mutable = on_config_is_mutable,
    .config_value = on_config_value,
    .config_set = on_config_set,
    .config_rewrite = on_config_rewrite,
    .acl_load = users_load_file,
    .acl_save = users_save_file,
    .users_keep = on_users_keep,
    .users_changed = on_users_changed,
    .queues_held = restored_hold,
};
