/* info: INFO, in Redis's sections and names where they apply, and our own. */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "command/commands.h"

static unsigned long long u(uint64_t v)
{
    return (unsigned long long)v;
}

static void write_server(struct request *rq, struct buf *out)
{
    const struct env *env = rq->env;
    struct utsname name;
    uname(&name);
    int64_t up_s = (clock_wall_ms() - env->started_ms) / 1000;
    buf_printf(out, "redis_version:%s\r\ntupled_version:%s\r\nredis_git_sha1:00000000\r\n",
               REDIS_COMPATIBLE_VERSION, env->version);
    buf_printf(out, "redis_build_id:0\r\nredis_mode:standalone\r\nos:%s %s %s\r\narch_bits:64\r\n",
               name.sysname, name.release, name.machine);
    buf_printf(out, "process_id:%d\r\nrun_id:%s\r\ntcp_port:%u\r\n", (int)getpid(), env->run_id,
               env->port);
    buf_printf(out, "uptime_in_seconds:%lld\r\nuptime_in_days:%lld\r\n", (long long)up_s,
               (long long)up_s / 86400);
    buf_printf(out, "executable:%s\r\nconfig_file:%s\r\nio_threads_active:0\r\n", env->executable,
               env->config_file);
}

static void write_clients(struct request *rq, struct buf *out)
{
    const struct env *env = rq->env;
    buf_printf(out,
               "connected_clients:%llu\r\nblocked_clients:%llu\r\nmaxclients:%llu\r\n"
               "tracking_clients:0\r\npubsub_clients:0\r\nwatching_clients:0\r\n"
               "clients_in_timeout_table:0\r\n",
               u(env->client_count), u(env->waiting_count), u(env->clients_max));
}

static uint64_t resident_bytes(void)
{
    /* "size resident shared ...", in pages */
    uint64_t resident = 0;
    struct buf text;
    struct error ignored;
    buf_init(&text);
    if (file_read_all("/proc/self/statm", &text, 4096, &ignored) == OK) {
        const uint8_t *from = memchr(text.data, ' ', text.len);
        const uint8_t *end = text.data + text.len;
        const uint8_t *to = from == NULL ? NULL : memchr(from + 1, ' ', (size_t)(end - from - 1));
        if (to != NULL) (void)slice_to_u64(slice_of(from + 1, (size_t)(to - from - 1)), &resident);
    }
    buf_fini(&text);
    return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void write_memory(struct request *rq, struct buf *out)
{
    struct backend *b = engine_backend(rq->env->engine);
    struct backend_stats s;
    struct rusage usage;
    b->ops->stats(b, &s);
    getrusage(RUSAGE_SELF, &usage);
    uint64_t rss = resident_bytes();
    buf_printf(out,
               "used_memory:%llu\r\nused_memory_human:%.2fM\r\nused_memory_rss:%llu\r\n"
               "used_memory_peak:%llu\r\nused_memory_dataset:%llu\r\nmaxmemory:0\r\n"
               "maxmemory_policy:noeviction\r\nmem_allocator:libc\r\n",
               u(rss), (double)rss / 1048576, u(rss), u((uint64_t)usage.ru_maxrss * 1024),
               u(s.memtable_bytes + s.cache_bytes));
    buf_printf(out, "total_system_memory:%llu\r\n",
               u((uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE)));
}

static void write_persistence(struct request *rq, struct buf *out)
{
    struct backend *b = engine_backend(rq->env->engine);
    struct backend_stats s;
    b->ops->stats(b, &s);
    buf_printf(out,
               "loading:0\r\nasync_loading:0\r\nrdb_changes_since_last_save:%llu\r\n"
               "rdb_bgsave_in_progress:0\r\naof_enabled:1\r\naof_rewrite_in_progress:0\r\n"
               "aof_last_write_status:%s\r\n",
               u(s.version - s.applied), s.is_disk_full ? "err" : "ok");
}

static void write_stats(struct request *rq, struct buf *out)
{
    const struct env_stats *s = &rq->env->stats;
    buf_printf(out,
               "total_connections_received:%llu\r\ntotal_commands_processed:%llu\r\n"
               "total_net_input_bytes:%llu\r\ntotal_net_output_bytes:%llu\r\n"
               "rejected_connections:%llu\r\nexpired_keys:%llu\r\nevicted_keys:0\r\n",
               u(s->connections), u(s->commands), u(s->net_in_bytes), u(s->net_out_bytes),
               u(s->rejected), u(engine_expired_count(rq->env->engine)));
    buf_printf(out,
               "keyspace_hits:%llu\r\nkeyspace_misses:%llu\r\npubsub_channels:0\r\n"
               "pubsub_patterns:0\r\nlatest_fork_usec:0\r\ntotal_error_replies:%llu\r\n"
               "total_reads_processed:%llu\r\ntotal_writes_processed:%llu\r\n",
               u(s->hits), u(s->misses), u(s->errors), u(s->reads), u(s->writes));
}

static void write_replication(struct request *rq, struct buf *out)
{
    buf_printf(out,
               "role:master\r\nconnected_slaves:0\r\nmaster_replid:%s\r\nmaster_repl_offset:0\r\n",
               rq->env->run_id);
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
    struct backend *b = engine_backend(rq->env->engine);
    for (uint8_t i = 0; i < rq->env->databases; i++) {
        uint64_t count = b->ops->count(b, i);
        if (count > 0) buf_printf(out, "db%u:keys=%llu,expires=0,avg_ttl=0\r\n", i, u(count));
    }
}

static void write_journal(struct request *rq, struct buf *out)
{
    struct backend *b = engine_backend(rq->env->engine);
    struct backend_stats s;
    char stamp[STAMP_CHARS];
    b->ops->stats(b, &s);
    stamp_format(s.durable, stamp);
    buf_printf(out, "journal_version_durable:%.*s\r\njournal_unsynced_transactions:%llu\r\n",
               STAMP_CHARS, stamp, u(s.version - s.durable));
    buf_printf(out,
               "journal_bytes:%llu\r\njournal_segments:%llu\r\njournal_batches:%llu\r\n"
               "journal_syncs:%llu\r\njournal_sync_usec:%llu\r\njournal_disk_full:%d\r\n",
               u(s.journal_bytes), u(s.journal_segments), u(s.journal_batches), u(s.journal_syncs),
               u(s.journal_sync_us), s.is_disk_full);
}

static void write_memtable(struct request *rq, struct buf *out)
{
    struct backend *b = engine_backend(rq->env->engine);
    struct backend_stats s;
    b->ops->stats(b, &s);
    buf_printf(out,
               "memtable_bytes:%llu\r\nmemtable_entries:%llu\r\nmemtable_frozen:%llu\r\n"
               "memtable_throttled_commands:%llu\r\n",
               u(s.memtable_bytes), u(s.memtable_entries), u(s.frozen_memtables), u(s.throttled));
}

static void write_store(struct request *rq, struct buf *out)
{
    struct backend *b = engine_backend(rq->env->engine);
    struct backend_stats s;
    b->ops->stats(b, &s);
    buf_printf(out,
               "store_applies:%llu\r\nstore_apply_usec:%llu\r\nstore_rows_written:%llu\r\n"
               "store_reads:%llu\r\nstore_reads_waited:%llu\r\nstore_scans_open:%llu\r\n"
               "store_failing:%d\r\n",
               u(s.applies), u(s.apply_us), u(s.apply_rows), u(s.store_reads), u(s.store_waits),
               u(s.scans_open), s.is_store_failing);
}

static void write_cache(struct request *rq, struct buf *out)
{
    struct backend *b = engine_backend(rq->env->engine);
    struct backend_stats s;
    b->ops->stats(b, &s);
    buf_printf(out,
               "cache_bytes:%llu\r\ncache_entries:%llu\r\ncache_hits:%llu\r\ncache_misses:%llu\r\n",
               u(s.cache_bytes), u(s.cache_entries), u(s.cache_hits), u(s.cache_misses));
}

static const struct {
    const char *name; /* upper case, as an argument */
    const char *title;
    void (*write)(struct request *rq, struct buf *out);
} sections[] = {
    {"SERVER", "Server", write_server},
    {"CLIENTS", "Clients", write_clients},
    {"MEMORY", "Memory", write_memory},
    {"PERSISTENCE", "Persistence", write_persistence},
    {"STATS", "Stats", write_stats},
    {"REPLICATION", "Replication", write_replication},
    {"CPU", "CPU", write_cpu},
    {"JOURNAL", "Journal", write_journal},
    {"MEMTABLE", "Memtable", write_memtable},
    {"STORE", "Store", write_store},
    {"CACHE", "Cache", write_cache},
    {"CLUSTER", "Cluster", write_cluster},
    {"KEYSPACE", "Keyspace", write_keyspace},
};

static bool is_wanted(struct request *rq, const char *name)
{
    if (rq->argc == 1) return true;
    for (size_t i = 1; i < rq->argc; i++) {
        struct slice arg = rq->argv[i];
        if (slice_is_word(arg, "ALL") || slice_is_word(arg, "DEFAULT") ||
            slice_is_word(arg, "EVERYTHING") || slice_is_word(arg, name)) {
            return true;
        }
    }
    return false;
}

static enum err info_run(struct request *rq)
{
    struct buf *out = rq->scratch;
    buf_clear(out, SIZE_MAX);
    for (size_t i = 0; i < sizeof sections / sizeof sections[0]; i++) {
        if (!is_wanted(rq, sections[i].name)) continue;
        if (out->len > 0) buf_append_str(out, "\r\n");
        buf_printf(out, "# %s\r\n", sections[i].title);
        sections[i].write(rq, out);
    }
    resp_text(rq->w, buf_slice(out));
    return OK;
}

const struct command cmd_info = {
    .name = "info",
    .arity = -1,
    .flags = CMD_DANGEROUS,
    .group = "server",
    .since = "0.1.0",
    .summary = "Figures about the server, by section.",
    .syntax = "[section [section ...]]",
    .run = info_run,
};
