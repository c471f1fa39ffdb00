/* redis_settings: the table: what each setting of Redis is here, why, and what the start accepts.
 */
#include "command/admin/redis_settings.h"

#include <string.h>

static const char no_defrag[] = "memory is not defragmented here";
static const char no_aof[] = "the journal is no append-only file that is rewritten";
static const char by_script[] = "script-time-limit bounds scripts here";
static const char no_daemon[] = "the server stays in the foreground; systemd or a shell starts it";
static const char no_pid_file[] = "no file with the number of the process is written";
static const char no_syslog[] = "there is no syslog here; logfile says where lines go";
static const char no_rdb[] = "there are no dump files; BGSAVE makes whole copies in backup-dir";
static const char no_replication[] =
    "there is no replication here; several servers are a cluster over PostgreSQL";
static const char no_eviction[] = "no data is evicted here";
static const char no_modules[] = "there are no modules here";
static const char no_encodings[] = "values are stored in one form, however many elements they have";
static const char in_background[] = "what is large is freed in the background here";

const char REDIS_BY_DURABILITY[] = "";

const struct redis_setting redis_settings[] = {
    {"activedefrag", "no", no_defrag, "*"},
    {"aof-use-rdb-preamble", "no", no_aof, "*"},
    {"auto-aof-rewrite-min-size", "0", no_aof, "*"},
    {"auto-aof-rewrite-percentage", "0", no_aof, "*"},
    {"no-appendfsync-on-rewrite", "no", no_aof, "*"},
    {"appendfilename", NULL, no_aof, "*"},
    {"appenddirname", NULL, no_aof, "*"},
    {"aof-load-truncated", NULL, no_aof, "*"},
    {"aof-rewrite-incremental-fsync", NULL, no_aof, "*"},
    {"aof-timestamp-enabled", NULL, no_aof, "*"},
    {"busy-reply-threshold", "0", by_script, "*"},
    {"lua-time-limit", "0", by_script, "*"},
    {"daemonize", "no", no_daemon, NULL},
    {"pidfile", "", no_pid_file, "*"},
    {"supervised", "no", "systemd is told when it asks for it (NOTIFY_SOCKET)", "auto systemd"},
    {"syslog-enabled", "no", no_syslog, NULL},
    {"syslog-ident", NULL, no_syslog, "*"},
    {"syslog-facility", NULL, no_syslog, "*"},
    {"dbfilename", "", no_rdb, "*"},
    {"rdbchecksum", "no", no_rdb, "*"},
    {"rdbcompression", "no", no_rdb, "*"},
    {"rdb-save-incremental-fsync", NULL, no_rdb, "*"},
    {"rdb-del-sync-files", NULL, no_rdb, "*"},
    {"save", "", "there are no snapshots here: what is acknowledged is in the journal", "*"},
    {"stop-writes-on-bgsave-error", "no", "a backup that fails stops nothing here", "*"},
    {"appendonly", "yes", "the journal is always written", "*"},
    {"appendfsync", REDIS_BY_DURABILITY,
     "durability is the setting that says when the journal is synced", "always everysec no"},
    {"dynamic-hz", "no", "the tick has a fixed time", "*"},
    {"hz", "100", "what the server does by itself it does every 10 ms", "*"},
    {"activerehashing", NULL, "tables grow step by step here", "*"},
    {"lazyfree-lazy-eviction", NULL, in_background, "*"},
    {"lazyfree-lazy-expire", NULL, in_background, "*"},
    {"lazyfree-lazy-server-del", NULL, in_background, "*"},
    {"lazyfree-lazy-user-del", NULL, in_background, "*"},
    {"lazyfree-lazy-user-flush", NULL, in_background, "*"},
    {"jemalloc-bg-thread", NULL, "jemalloc is not used here", "*"},
    {"always-show-logo", NULL, "there is no such decoration here", "*"},
    {"set-proc-title", NULL, "there is no such decoration here", "*"},
    {"proc-title-template", NULL, "there is no such decoration here", "*"},
    {"crash-log-enabled", NULL, "the system keeps what is known of a crash", "*"},
    {"crash-memcheck-enabled", NULL, "the system keeps what is known of a crash", "*"},
    {"disable-thp", NULL, "systemd, or what starts the server, says this of a process", "*"},
    {"oom-score-adj", NULL, "systemd, or what starts the server, says this of a process", "*"},
    {"oom-score-adj-values", NULL, "systemd, or what starts the server, says this of a process",
     "*"},
    {"hash-max-listpack-entries", NULL, no_encodings, "*"},
    {"hash-max-listpack-value", NULL, no_encodings, "*"},
    {"hash-max-ziplist-entries", NULL, no_encodings, "*"},
    {"hash-max-ziplist-value", NULL, no_encodings, "*"},
    {"list-compress-depth", NULL, no_encodings, "*"},
    {"list-max-listpack-size", NULL, no_encodings, "*"},
    {"list-max-ziplist-size", NULL, no_encodings, "*"},
    {"set-max-intset-entries", NULL, no_encodings, "*"},
    {"set-max-listpack-entries", NULL, no_encodings, "*"},
    {"set-max-listpack-value", NULL, no_encodings, "*"},
    {"zset-max-listpack-entries", NULL, no_encodings, "*"},
    {"zset-max-listpack-value", NULL, no_encodings, "*"},
    {"zset-max-ziplist-entries", NULL, no_encodings, "*"},
    {"zset-max-ziplist-value", NULL, no_encodings, "*"},
    {"hll-sparse-max-bytes", NULL, no_encodings, "*"},
    {"stream-node-max-bytes", NULL, no_encodings, "*"},
    {"stream-node-max-entries", NULL, no_encodings, "*"},
    {"enable-module-command", "no", no_modules, NULL},
    {"loadmodule", NULL, no_modules, NULL},
    {"io-threads-do-reads", "yes", "the threads that help to send help to receive too", "*"},
    {"cluster-enabled", "no",
     "there is no Redis Cluster here; several servers are a cluster over PostgreSQL", NULL},
    {"masterauth", "", no_replication, "*"},
    {"masteruser", "", no_replication, "*"},
    {"min-replicas-to-write", "0", no_replication, NULL},
    {"min-slaves-to-write", "0", no_replication, NULL},
    {"repl-backlog-size", "0", no_replication, "*"},
    {"repl-backlog-ttl", NULL, no_replication, "*"},
    {"repl-disable-tcp-nodelay", NULL, no_replication, "*"},
    {"repl-diskless-load", NULL, no_replication, "*"},
    {"repl-diskless-sync", NULL, no_replication, "*"},
    {"repl-diskless-sync-delay", NULL, no_replication, "*"},
    {"repl-timeout", NULL, no_replication, "*"},
    {"replica-lazy-flush", NULL, no_replication, "*"},
    {"replica-priority", NULL, no_replication, "*"},
    {"replica-serve-stale-data", NULL, no_replication, "*"},
    {"min-replicas-max-lag", NULL, no_replication, "*"},
    {"replica-read-only", "yes", no_replication, "*"},
    {"slave-read-only", "yes", no_replication, "*"},
    {"replicaof", "", no_replication, NULL},
    {"slaveof", "", no_replication, NULL},
    {"maxmemory", "0", "no data is evicted here; cache-size and write-buffer-limit bound memory",
     NULL},
    {"maxmemory-policy", "noeviction", no_eviction, NULL},
    {"maxmemory-samples", "0", no_eviction, "*"},
    {"maxmemory-eviction-tenacity", NULL, no_eviction, "*"},
    {"lfu-decay-time", NULL, no_eviction, "*"},
    {"lfu-log-factor", NULL, no_eviction, "*"},
};
const size_t redis_setting_count = sizeof redis_settings / sizeof redis_settings[0];

static bool is_same(struct slice given, const char *lower, size_t len)
{
    if (given.len != len) return false;
    for (size_t i = 0; i < len; i++) {
        uint8_t c = given.data[i];
        if (c >= 'A' && c <= 'Z') c = (uint8_t)(c | 0x20);
        if (c != (uint8_t)lower[i]) return false;
    }
    return true;
}

const struct redis_setting *redis_setting_find(struct slice name)
{
    for (size_t i = 0; i < redis_setting_count; i++) {
        const struct redis_setting *s = &redis_settings[i];
        if (is_same(name, s->name, strlen(s->name))) return s;
    }
    return NULL;
}

bool redis_setting_is_harmless(const struct redis_setting *s, const struct slice *words,
                               size_t count)
{
    const char *at = s->accepted != NULL ? s->accepted : "";
    if (strcmp(at, "*") == 0) return true;
    if (count != 1) return false;
    if (s->value != NULL && is_same(words[0], s->value, strlen(s->value))) return true;
    while (*at != '\0') {
        size_t len = strcspn(at, " ");
        if (is_same(words[0], at, len)) return true;
        at += len + strspn(at + len, " ");
    }
    return false;
}
