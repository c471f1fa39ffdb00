/* info: INFO, in Redis's sections and names where they apply, and our own. */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "access/access_log.h"
#include "base/clock.h"
#include "command/observe/info.h"
#include "command/observe/memory.h"
#include "engine/stamp.h"
#include "index/index.h"
#include "net/tls.h"
#include "queue/queue.h"
#include "request/backup.h"
#include "request/command.h"
#include "request/nodes.h"
#include "request/permission.h"
#include "request/shapes.h"
#include "request/stats.h"
#include "request/table.h"
#include "request/tracking.h"

static unsigned long long u(uint64_t v)
{
    return (unsigned long long)v;
}

const char *const health_words[HEALTH_WORDS] = {"ok", "damaged", "store-failing", "disk-full"};

const char *health_word(const struct backend_stats *s)
{
    if (s->is_disk_full) return health_words[3];
    if (s->is_store_failing) return health_words[2];
    return health_words[s->damaged_reads > 0 || s->aside_entries > 0 ? 1 : 0];
}

static void write_server(struct request *rq, struct buf *out)
{
    const struct env *env = rq->env;
    struct utsname name;
    uname(&name);
    int64_t up_s = (clock_wall_ms() - env->about.started_ms) / 1000;
    buf_printf(out, "redis_version:%s\r\ntupled_version:%s\r\nredis_git_sha1:00000000\r\n",
               redis_version(env), env->about.version);
    buf_printf(out, "redis_build_id:0\r\nredis_mode:standalone\r\nos:%s %s %s\r\narch_bits:64\r\n",
               name.sysname, name.release, name.machine);
    uint16_t port = env->about.port != 0 || env->tls == NULL ? env->about.port : env->tls->port;
    buf_printf(out, "process_id:%d\r\nrun_id:%s\r\ntcp_port:%u\r\n", (int)getpid(),
               env->about.run_id, port);
    buf_printf(out, "uptime_in_seconds:%lld\r\nuptime_in_days:%lld\r\n", (long long)up_s,
               (long long)up_s / 86400);
    struct backend *b = engine_backend(env->db->engine);
    struct backend_stats stats;
    backend_stats(b, &stats);
    buf_printf(out, "health:%s\r\n", health_word(&stats));
    buf_printf(out, "executable:%s\r\nconfig_file:%s\r\nio_threads_active:%d\r\n",
               env->about.executable, env->about.config_file, env->about.has_io_threads);
}

static void write_clients(struct request *rq, struct buf *out)
{
    const struct env *env = rq->env;
    size_t input_max = 0;
    size_t output_max = 0;
    uint64_t watching = 0;
    uint64_t listening = 0;
    struct tracking_counts tracked;
    tracking_count(env, &tracked);
    for (const struct client *c = env->clients.next; c != &env->clients; c = c->next) {
        if (c->link->input_bytes > input_max) input_max = c->link->input_bytes;
        if (c->link->output_bytes > output_max) output_max = c->link->output_bytes;
        watching += c->txn.watched != NULL;
        listening += client_subscriptions(c) > 0;
    }
    buf_printf(out,
               "connected_clients:%llu\r\ncluster_connections:0\r\nmaxclients:%llu\r\n"
               "client_recent_max_input_buffer:%zu\r\nclient_recent_max_output_buffer:%zu\r\n"
               "blocked_clients:%llu\r\ntracking_clients:%zu\r\npubsub_clients:%llu\r\n"
               "watching_clients:%llu\r\nclients_in_timeout_table:0\r\n",
               u(env->client_count), u(env->settings.clients_max), input_max, output_max,
               u(env->waiting_count), tracked.clients, u(listening), u(watching));
}

/* 1.50K, 2.71M, 23.54G: as Redis shows sizes. */
static void write_human(struct buf *out, const char *name, uint64_t bytes)
{
    static const char units[] = "BKMGT";
    size_t unit = 0;
    double n = (double)bytes;
    while (n >= 1024 && unit < 4) {
        n /= 1024;
        unit++;
    }
    buf_printf(out, unit == 0 ? "%s_human:%.0f%c\r\n" : "%s_human:%.2f%c\r\n", name, n,
               units[unit]);
}

static void write_bytes(struct buf *out, const char *name, uint64_t bytes)
{
    buf_printf(out, "%s:%llu\r\n", name, u(bytes));
    write_human(out, name, bytes);
}

static double percent(uint64_t part, uint64_t whole)
{
    return whole == 0 ? 0 : (double)part * 100 / (double)whole;
}

static void write_memory(struct request *rq, struct buf *out)
{
    struct memory_figures f;
    memory_measure(rq->env, &f);
    write_bytes(out, "used_memory", f.used);
    write_bytes(out, "used_memory_rss", f.resident);
    write_bytes(out, "used_memory_peak", f.peak);
    buf_printf(out,
               "used_memory_peak_perc:%.2f%%\r\nused_memory_overhead:%llu\r\n"
               "used_memory_startup:%llu\r\nused_memory_dataset:%llu\r\n"
               "used_memory_dataset_perc:%.2f%%\r\nallocator_allocated:%llu\r\n"
               "allocator_resident:%llu\r\n",
               percent(f.used, f.peak), u(f.overhead), u(f.startup), u(f.dataset),
               percent(f.dataset, f.used), u(f.used), u(f.resident));
    write_bytes(out, "total_system_memory", f.system);
    const struct memory_sizes *sizes = &rq->env->settings.memory;
    buf_printf(out,
               "memtable_size:%llu\r\nwrite_buffer_limit:%llu\r\ncache_size:%llu\r\n"
               "store_cache_size:%llu\r\n",
               u(sizes->memtable), u(sizes->write_buffer), u(sizes->cache), u(sizes->store_cache));
    write_bytes(out, "maxmemory", 0);
    buf_printf(out,
               "maxmemory_policy:noeviction\r\nmem_fragmentation_ratio:%.2f\r\n"
               "mem_fragmentation_bytes:%lld\r\nmem_not_counted_for_evict:0\r\n"
               "mem_replication_backlog:0\r\nmem_clients_slaves:0\r\nmem_clients_normal:%llu\r\n"
               "mem_cluster_links:0\r\nmem_aof_buffer:0\r\nmem_allocator:libc\r\n"
               "active_defrag_running:0\r\nlazyfree_pending_objects:0\r\n",
               f.fragmentation, (long long)f.resident - (long long)f.used, u(f.clients));
    const struct client_memory *m = &f.client_memory;
    buf_printf(out,
               "maxmemory_clients:%llu\r\nmem_clients_input:%zu\r\nmem_clients_output:%zu\r\n"
               "mem_clients_notes:%zu\r\nmem_clients_channels:%zu\r\n"
               "mem_clients_transactions:%zu\r\nmem_clients_pages:%zu\r\n",
               u(rq->env->settings.memory_clients_max), m->input, m->output, m->notes, m->channels,
               m->multi, m->pending);
}

static void write_archive(struct request *rq, struct buf *out)
{
    const struct db *db = rq->env->db;
    struct archiving_stats s = {.next_ms = 0};
    char version[STAMP_CHARS];
    if (db->archiving != NULL) archiving_stats(db->archiving, &s);
    stamp_format(s.archive.version, version);
    buf_printf(out,
               "archive_enabled:%d\r\narchive_status:%s\r\narchive_version:%.*s\r\n"
               "archive_error:%s\r\nfrozen:%d\r\n",
               db->archiving != NULL, s.archive.is_failing ? "failing" : "ok",
               db->archiving != NULL ? STAMP_CHARS : 0, version,
               s.archive.is_failing ? s.archive.error : "", db->is_frozen);
}

static void write_persistence(struct request *rq, struct buf *out)
{
    struct backend *b = engine_backend(rq->env->db->engine);
    const struct backup *k = rq->env->backup;
    int64_t now_s = k->is_running ? (clock_mono_us() - k->started_us) / 1000000 : -1;
    struct backend_stats s;
    char version[STAMP_CHARS];
    stamp_format(k->last_version, version);
    backend_stats(b, &s);
    buf_printf(out,
               "loading:0\r\nasync_loading:0\r\nrdb_changes_since_last_save:%llu\r\n"
               "rdb_bgsave_in_progress:%d\r\nrdb_last_save_time:%lld\r\n"
               "rdb_last_bgsave_status:%s\r\nrdb_last_bgsave_time_sec:%lld\r\n"
               "rdb_current_bgsave_time_sec:%lld\r\nrdb_saves:%llu\r\naof_enabled:1\r\n"
               "aof_rewrite_in_progress:0\r\n"
               "aof_rewrite_scheduled:0\r\naof_last_bgrewrite_status:ok\r\n"
               "aof_last_write_status:%s\r\naof_current_size:%llu\r\n"
               "backup_file:%s\r\nbackup_last_version:%.*s\r\nbackup_last_error:%s\r\n",
               u(s.version > k->last_version ? s.version - k->last_version : 0), k->is_running,
               (long long)k->last_s, k->last_result == OK ? "ok" : "err", (long long)k->took_s,
               (long long)now_s, u(k->saves), s.is_disk_full ? "err" : "ok", u(s.journal_bytes),
               k->path.len > 0 ? (const char *)k->path.data : "", k->saves > 0 ? STAMP_CHARS : 0,
               version, k->last_result == OK ? "" : k->request.error.text);
    write_archive(rq, out);
}

static double kilobytes(uint64_t bytes)
{
    return (double)bytes / 1024;
}

/* Of the loop and the threads that help it. */
static void write_loop_stats(const struct env_stats *s, struct buf *out)
{
    buf_printf(out,
               "decoded_ahead:%llu\r\nvalues_decoded_aside:%llu\r\nrendered_when_sent:%llu\r\n"
               "io_threaded_reads_processed:%llu\r\n"
               "io_threaded_writes_processed:%llu\r\nloop_turns:%llu\r\n"
               "loop_turn_max_usec:%lld\r\nclient_wait_max_usec:%lld\r\n"
               "connection_looks:%llu\r\n",
               u(s->decoded_ahead), u(s->decoded_aside), u(s->net.drafts_written),
               u(s->net.helped_reads), u(s->net.helped_writes), u(s->net.turns),
               (long long)s->turn_max_us, (long long)s->net.wait_max_us, u(s->net.looks));
}

static void write_stats(struct request *rq, struct buf *out)
{
    const struct env *env = rq->env;
    const struct env_stats *s = &env->stats;
    struct tracking_counts tracked;
    tracking_count(env, &tracked);
    buf_printf(out,
               "total_connections_received:%llu\r\ntotal_commands_processed:%llu\r\n"
               "instantaneous_ops_per_sec:%llu\r\ntotal_net_input_bytes:%llu\r\n"
               "total_net_output_bytes:%llu\r\ninstantaneous_input_kbps:%.2f\r\n"
               "instantaneous_output_kbps:%.2f\r\n",
               u(s->net.connections), u(s->commands), u(stats_rate(env, RATE_COMMANDS)),
               u(s->net.in_bytes), u(s->net.out_bytes),
               kilobytes(stats_rate(env, RATE_INPUT_BYTES)),
               kilobytes(stats_rate(env, RATE_OUTPUT_BYTES)));
    buf_printf(
        out,
        "rejected_connections:%llu\r\nsync_full:0\r\nsync_partial_ok:0\r\n"
        "sync_partial_err:0\r\nexpired_keys:%llu\r\nevicted_keys:0\r\nevicted_clients:%llu\r\n"
        "keyspace_hits:%llu\r\nkeyspace_misses:%llu\r\npubsub_channels:%zu\r\n"
        "pubsub_patterns:%zu\r\npubsubshard_channels:%zu\r\nlatest_fork_usec:0\r\n"
        "total_forks:0\r\n",
        u(s->net.rejected), u(engine_expired_count(env->db->engine) - s->expired_before),
        u(s->evicted_clients), u(s->hits), u(s->misses), pubsub_names(env->pubsub, PUBSUB_CHANNEL),
        pubsub_names(env->pubsub, PUBSUB_PATTERN), pubsub_names(env->pubsub, PUBSUB_SHARD));
    buf_printf(out,
               "tracking_total_keys:%zu\r\ntracking_total_items:%zu\r\n"
               "tracking_total_prefixes:%zu\r\n"
               "unexpected_error_replies:0\r\ntotal_error_replies:%llu\r\n"
               "protocol_errors:%llu\r\ntotal_reads_processed:%llu\r\n"
               "total_writes_processed:%llu\r\n",
               tracked.keys, tracked.items, tracked.prefixes, u(s->errors), u(s->protocol_errors),
               u(s->reads), u(s->writes));
    write_loop_stats(s, out);
    const struct access_log *log = env->access_log;
    buf_printf(
        out,
        "acl_access_denied_auth:%llu\r\nacl_access_denied_cmd:%llu\r\n"
        "acl_access_denied_key:%llu\r\nacl_access_denied_channel:%llu\r\n"
        "acl_access_denied_database:%llu\r\naudit_failures:%llu\r\n",
        u(access_log_total(log, ACCESS_LOG_AUTH)), u(access_log_total(log, ACCESS_LOG_COMMAND)),
        u(access_log_total(log, ACCESS_LOG_KEY)), u(access_log_total(log, ACCESS_LOG_CHANNEL)),
        u(access_log_total(log, ACCESS_LOG_DATABASE)), u(env->audit.failures));
}

static void nodes_tell(const struct request *rq, const struct nodes_known *nodes, uint64_t offset,
                       struct buf *out)
{
    buf_printf(out, "master_replid:%s\r\nmaster_repl_offset:%llu\r\n", rq->env->about.run_id,
               u(offset));
    if (nodes == NULL) return;
    buf_printf(out,
               "node_name:%s\r\nnode_address:%s\r\nleader_epoch:%llu\r\nquorum:%u\r\n"
               "postgresql_noticed:%s\r\nnode_conflict:%s\r\n",
               nodes->name, nodes->address, u(nodes->epoch), nodes->quorum, nodes->noticed,
               nodes->twin[0] != '\0' ? nodes->twin : nodes->misled);
    const struct serving *s = &rq->env->serving;
    const char *why = rq->env->stands_by ? nodes->cause : "";
    bool is_held = !rq->env->stands_by && (s->is_mute || s->is_stuck);
    buf_printf(out, "cluster_writable:%d\r\ncluster_cause:%s\r\n", !is_held && why[0] == '\0',
               is_held ? s->why.text : why);
}

/* Of a node that stands by, to those who said READONLY. */
static void write_follower(const struct request *rq, const char *leader, uint64_t offset,
                           struct buf *out)
{
    char host[NODE_TEXT_BYTES];
    const char *port;
    node_split(leader, host, &port);
    buf_printf(out,
               "role:slave\r\nmaster_host:%s\r\nmaster_port:%s\r\nmaster_link_status:%s\r\n"
               "master_last_io_seconds_ago:0\r\nmaster_sync_in_progress:0\r\n"
               "slave_read_repl_offset:%llu\r\nslave_repl_offset:%llu\r\nslave_priority:100\r\n"
               "slave_read_only:1\r\nconnected_slaves:0\r\n",
               host, port, rq->env->following.is_there ? "up" : "down", u(offset), u(offset));
}

static void write_replication(struct request *rq, struct buf *out)
{
    const struct nodes_known *nodes = rq->env->nodes;
    uint64_t offset = nodes != NULL ? db_durable(rq->env->db) : 0;
    unsigned number = 0;
    if (nodes != NULL && rq->env->stands_by) {
        write_follower(rq, nodes->leader, offset, out);
        nodes_tell(rq, nodes, offset, out);
        return;
    }
    buf_printf(out, "role:master\r\nconnected_slaves:%zu\r\n", nodes_up(nodes));
    for (size_t i = 0; nodes != NULL && i < nodes->other_count; i++) {
        char host[NODE_TEXT_BYTES];
        const char *port;
        if (!nodes->others[i].is_up) continue;
        node_split(nodes->others[i].address, host, &port);
        buf_printf(out, "slave%u:ip=%s,port=%s,state=online,offset=%llu,lag=0\r\n", number++, host,
                   port, u(offset));
    }
    nodes_tell(rq, nodes, offset, out);
}

static void write_cpu(struct request *rq, struct buf *out)
{
    struct rusage usage;
    (void)rq;
    getrusage(RUSAGE_SELF, &usage);
    buf_printf(out, "used_cpu_sys:%ld.%06ld\r\nused_cpu_user:%ld.%06ld\r\n",
               (long)usage.ru_stime.tv_sec, (long)usage.ru_stime.tv_usec,
               (long)usage.ru_utime.tv_sec, (long)usage.ru_utime.tv_usec);
}

static void write_cluster(struct request *rq, struct buf *out)
{
    (void)rq;
    buf_append_str(out, "cluster_enabled:0\r\n");
}

static void write_keyspace(struct request *rq, struct buf *out)
{
    struct backend *b = engine_backend(rq->env->db->engine);
    uint16_t i = 0;
    for (uint32_t at = 0; backend_database_next(b, at, &i); at = (uint32_t)i + 1) {
        struct backend_count count;
        backend_count(b, i, &count);
        const struct database *d = database_get(rq->env->db->databases, i);
        if (i == DATABASE_CATALOG) continue; /* libraries of functions: no keys */
        if (count.entries == 0 || (d != NULL && !may_use_database(rq, d))) continue;
        buf_printf(out, "db%u:keys=%llu,expires=%llu,avg_ttl=0\r\n", i, u(count.entries),
                   u(count.expiring));
    }
}

static void write_journal(struct request *rq, struct buf *out)
{
    struct backend *b = engine_backend(rq->env->db->engine);
    struct backend_stats s;
    char stamp[STAMP_CHARS];
    backend_stats(b, &s);
    stamp_format(s.durable, stamp);
    buf_printf(out, "journal_version_durable:%.*s\r\njournal_unsynced_transactions:%llu\r\n",
               STAMP_CHARS, stamp, u(s.version - s.durable));
    buf_printf(out,
               "journal_bytes:%llu\r\njournal_segments:%llu\r\njournal_batches:%llu\r\n"
               "journal_syncs:%llu\r\njournal_sync_usec:%llu\r\njournal_ahead:%llu\r\n"
               "journal_disk_full:%d\r\n"
               "transaction_time_ahead_ms:%lld\r\n",
               u(s.journal_bytes), u(s.journal_segments), u(s.journal_batches), u(s.journal_syncs),
               u(s.journal_sync_us), u(s.journal_ahead), s.is_disk_full,
               (long long)s.time_ahead_ms);
}

static void write_memtable(struct request *rq, struct buf *out)
{
    struct backend *b = engine_backend(rq->env->db->engine);
    struct backend_stats s;
    backend_stats(b, &s);
    buf_printf(out,
               "memtable_bytes:%llu\r\nmemtable_entries:%llu\r\nmemtable_frozen:%llu\r\n"
               "memtable_throttled_commands:%llu\r\n",
               u(s.memtable_bytes), u(s.memtable_entries), u(s.frozen_memtables), u(s.throttled));
}

static void write_store(struct request *rq, struct buf *out)
{
    struct backend *b = engine_backend(rq->env->db->engine);
    struct backend_stats s;
    backend_stats(b, &s);
    buf_printf(out,
               "store_applies:%llu\r\nstore_apply_usec:%llu\r\nstore_rows_written:%llu\r\n"
               "store_reads:%llu\r\nstore_reads_waited:%llu\r\nstore_queries:%llu\r\n"
               "store_scans_open:%llu\r\n"
               "store_failing:%d\r\nstore_damaged_reads:%llu\r\nstore_aside_entries:%llu\r\n"
               "store_damage:%s\r\nstore_cleaning:%d\r\n",
               u(s.applies), u(s.apply_us), u(s.apply_rows), u(s.store_reads), u(s.store_waits),
               u(s.store_queries), u(s.scans_open), s.is_store_failing, u(s.damaged_reads),
               u(s.aside_entries), s.damage, s.has_garbage);
}

static void write_cache(struct request *rq, struct buf *out)
{
    struct backend *b = engine_backend(rq->env->db->engine);
    struct backend_stats s;
    backend_stats(b, &s);
    buf_printf(out,
               "cache_bytes:%llu\r\ncache_entries:%llu\r\ncache_hits:%llu\r\ncache_misses:%llu\r\n"
               "cache_keys_ahead:%llu\r\n"
               "absent_filter:%s\r\nabsent_filter_bytes:%llu\r\nabsent_filter_hits:%llu\r\n",
               u(s.cache_bytes), u(s.cache_entries), u(s.cache_hits), u(s.cache_misses),
               u(s.keys_expected), s.absent_state, u(s.absent_bytes), u(s.absent_answers));
}

static void write_queues(struct request *rq, struct buf *out)
{
    struct queues_totals t;
    queues_totals(rq->env->db->queues, &t);
    buf_printf(out,
               "queue_loading:%d\r\nqueues_held:%d\r\nqueue_count:%zu\r\nqueue_ready:%llu\r\n"
               "queue_delayed:%llu\r\nqueue_leased:%llu\r\nqueue_dead:%llu\r\n",
               t.is_reading, queues_are_held(rq->env->db->queues), t.queues, u(t.counts.ready),
               u(t.counts.delayed), u(t.counts.leased), u(t.counts.dead));
    buf_printf(out,
               "queue_enqueued:%llu\r\nqueue_delivered:%llu\r\nqueue_acked:%llu\r\n"
               "queue_nacked:%llu\r\nqueue_expired:%llu\r\n",
               u(t.counts.enqueued), u(t.counts.delivered), u(t.counts.acked), u(t.counts.nacked),
               u(t.counts.expired));
}

static void write_indexes(struct request *rq, struct buf *out)
{
    struct indexes_totals t;
    indexes_totals(rq->env->db->indexes, &t);
    buf_printf(out,
               "index_loading:%d\r\nindex_value:%zu\r\nindex_text:%zu\r\nindex_filling:%zu\r\n"
               "index_failed:%zu\r\n",
               t.is_reading, t.value, t.text, t.filling, t.failed);
}

static long long days_left(int64_t end_s)
{
    int64_t left_s = end_s - clock_wall_ms() / 1000;
    return (long long)(left_s < 0 ? (left_s - 86399) / 86400 : left_s / 86400);
}

/* The end of certificates: unix time, and the days until then; negative when they have ended. */
static void write_end(struct buf *out, const char *name, int64_t end_s)
{
    if (end_s == 0) return;
    buf_printf(out, "tls_%s_not_after:%lld\r\ntls_%s_days_left:%lld\r\n", name, (long long)end_s,
               name, days_left(end_s));
}

static void write_tls(struct request *rq, struct buf *out)
{
    const struct tls_status *t = rq->env->tls;
    const struct net_counts *n = &rq->env->stats.net;
    buf_printf(out, "tls_port:%u\r\n", t != NULL ? t->port : 0);
    if (t == NULL || !t->is_on) return;
    write_end(out, "cert", t->cert_not_after_s);
    write_end(out, "ca", t->ca_not_after_s);
    buf_printf(out,
               "tls_connections:%llu\r\ntls_handshakes_open:%llu\r\ntls_handshakes_done:%llu\r\n"
               "tls_handshakes_failed:%llu\r\ntls_handshakes_timed_out:%llu\r\n"
               "tls_handshakes_cut:%llu\r\n",
               u(t->connections), u(t->handshakes), u(n->handshakes), u(n->handshakes_failed),
               u(n->handshakes_timed_out), u(n->handshakes_cut));
    buf_printf(out,
               "tls_reloads:%llu\r\ntls_reload_failures:%llu\r\ntls_last_reload_time:%lld\r\n"
               "tls_last_reload_status:%s\r\ntls_last_reload_error:%s\r\n",
               u(t->reloads), u(t->reload_failures), (long long)t->reloaded_s,
               t->is_reload_failed ? "err" : "ok", t->error);
}

static void write_modules(struct request *rq, struct buf *out)
{
    (void)rq; /* none */
    (void)out;
}

static void write_commandstats(struct request *rq, struct buf *out)
{
    for (size_t i = 0; i < stats_count(rq->env); i++) {
        const struct command_count *row = stats_at(rq->env, i);
        char name[STATS_NAME_BYTES];
        if (row->calls == 0 && row->rejected == 0) continue;
        stats_name(row, name);
        buf_printf(out,
                   "cmdstat_%s:calls=%llu,usec=%llu,usec_per_call=%.2f,rejected_calls=%llu,"
                   "failed_calls=%llu\r\n",
                   name, u(row->calls), u(row->usec),
                   row->calls == 0 ? 0 : (double)row->usec / (double)row->calls, u(row->rejected),
                   u(row->failed));
    }
}

static void write_errorstats(struct request *rq, struct buf *out)
{
    for (enum err i = OK + 1; i < ERR_COUNT; i++) {
        uint64_t count = stats_errors(rq->env, i);
        if (count > 0) buf_printf(out, "errorstat_%s:count=%llu\r\n", err_prefix(i), u(count));
    }
}

static void write_latencystats(struct request *rq, struct buf *out)
{
    const struct percentiles *p = &rq->env->settings.percentiles;
    for (size_t i = 0; i < stats_count(rq->env); i++) {
        const struct command_count *row = stats_at(rq->env, i);
        char name[STATS_NAME_BYTES];
        if (row->latency == NULL) continue;
        stats_name(row, name);
        buf_printf(out, "latency_percentiles_usec_%s:", name);
        for (size_t k = 0; k < p->count; k++) {
            buf_append_str(out, k == 0 ? "p" : ",p");
            percentile_format(p->values[k], out);
            buf_printf(out, "=%llu.000", u(histogram_percentile(row->latency, p->values[k])));
        }
        buf_append_str(out, "\r\n");
    }
}

static const struct {
    const char *name; /* upper case, as an argument */
    const char *title;
    void (*write)(struct request *rq, struct buf *out);
    bool is_extra; /* not among those that INFO alone shows */
} sections[] = {
    {"SERVER", "Server", write_server, false},
    {"CLIENTS", "Clients", write_clients, false},
    {"MEMORY", "Memory", write_memory, false},
    {"PERSISTENCE", "Persistence", write_persistence, false},
    {"STATS", "Stats", write_stats, false},
    {"REPLICATION", "Replication", write_replication, false},
    {"CPU", "CPU", write_cpu, false},
    {"JOURNAL", "Journal", write_journal, false},
    {"MEMTABLE", "Memtable", write_memtable, false},
    {"STORE", "Store", write_store, false},
    {"CACHE", "Cache", write_cache, false},
    {"QUEUES", "Queues", write_queues, false},
    {"INDEXES", "Indexes", write_indexes, false},
    {"TLS", "TLS", write_tls, false},
    {"MODULES", "Modules", write_modules, false},
    {"COMMANDSTATS", "Commandstats", write_commandstats, true},
    {"ERRORSTATS", "Errorstats", write_errorstats, false},
    {"LATENCYSTATS", "Latencystats", write_latencystats, true},
    {"CLUSTER", "Cluster", write_cluster, false},
    {"KEYSPACE", "Keyspace", write_keyspace, false},
};
#define SECTIONS (sizeof sections / sizeof sections[0])

static bool is_wanted(const struct slices *names, size_t section)
{
    if (names->count == 0) return !sections[section].is_extra;
    for (size_t i = 0; i < names->count; i++) {
        struct slice name = names->items[i];
        if (slice_is_word(name, "ALL") || slice_is_word(name, "EVERYTHING") ||
            slice_is_word(name, sections[section].name) ||
            (slice_is_word(name, "DEFAULT") && !sections[section].is_extra)) {
            return true;
        }
    }
    return false;
}

ARGUMENTS(info_arguments, struct many_words, "[section ...]",
          ARG_WORDS(struct many_words, words, "section"));

static enum err info_run(struct request *rq)
{
    const struct many_words *a = rq->bound;
    struct buf *out = rq->scratch;
    buf_clear(out, SIZE_MAX);
    for (size_t i = 0; i < SECTIONS; i++) {
        if (!is_wanted(&a->words, i)) continue;
        if (out->len > 0) buf_append_str(out, "\r\n");
        buf_printf(out, "# %s\r\n", sections[i].title);
        sections[i].write(rq, out);
    }
    resp_text(rq->w, buf_slice(out));
    return OK;
}

const struct command cmd_info = {
    .name = "info",
    .flags = CMD_DANGEROUS | CMD_FOLLOWER,
    .is_own = true,
    .group = "server",
    .since = "0.1.0",
    .summary = "Figures about the server, by section.",
    .arguments = &info_arguments,
    .run = info_run,
};
