/* redis_settings: the table: what each setting of Redis is here, why, and what the start accepts.
 */
#include "command/admin/redis_settings.h"

#include <string.h>

static const char no_defrag[] = "memory is not defragmented";
static const char no_aof[] = "there is no append-only file to rewrite";
static const char by_script[] = "script-time-limit limits scripts";
static const char no_daemon[] = "the server runs in the foreground; start it from systemd or a "
                                "shell";
static const char no_pid_file[] = "no pid file is written";
static const char no_syslog[] = "syslog is not supported; logfile sets the log file";
static const char no_rdb[] = "there are no dump files; BGSAVE writes backups to backup-dir";
static const char no_replication[] =
    "replication is not supported; several servers form a cluster over PostgreSQL";
static const char no_eviction[] = "eviction is not supported";
static const char no_modules[] = "modules are not supported";
static const char no_encodings[] = "the encoding of a value does not depend on its number of "
                                   "elements";
static const char in_background[] = "large values are always freed in the background";

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
    {"supervised", "no", "systemd is notified if it requests it (NOTIFY_SOCKET)", "auto systemd"},
    {"syslog-enabled", "no", no_syslog, NULL},
    {"syslog-ident", NULL, no_syslog, "*"},
    {"syslog-facility", NULL, no_syslog, "*"},
    {"dbfilename", "", no_rdb, "*"},
    {"rdbchecksum", "no", no_rdb, "*"},
    {"rdbcompression", "no", no_rdb, "*"},
    {"rdb-save-incremental-fsync", NULL, no_rdb, "*"},
    {"rdb-del-sync-files", NULL, no_rdb, "*"},
    {"save", "", "there are no snapshots; acknowledged data is in the journal", "*"},
    {"stop-writes-on-bgsave-error", "no", "a failed backup does not stop writes", "*"},
    {"appendonly", "yes", "the journal is always written", "*"},
    {"appendfsync", REDIS_BY_DURABILITY, "durability sets when the journal is synced",
     "always everysec no"},
    {"dynamic-hz", "no", "the rate of the timer is fixed", "*"},
    {"hz", "100", "background work runs every 10 ms", "*"},
    {"activerehashing", NULL, "hash tables always grow incrementally", "*"},
    {"lazyfree-lazy-eviction", NULL, in_background, "*"},
    {"lazyfree-lazy-expire", NULL, in_background, "*"},
    {"lazyfree-lazy-server-del", NULL, in_background, "*"},
    {"lazyfree-lazy-user-del", NULL, in_background, "*"},
    {"lazyfree-lazy-user-flush", NULL, in_background, "*"},
    {"jemalloc-bg-thread", NULL, "jemalloc is not used", "*"},
    {"always-show-logo", NULL, "there is no such output", "*"},
    {"set-proc-title", NULL, "there is no such output", "*"},
    {"proc-title-template", NULL, "there is no such output", "*"},
    {"crash-log-enabled", NULL, "the operating system records crashes", "*"},
    {"crash-memcheck-enabled", NULL, "the operating system records crashes", "*"},
    {"disable-thp", NULL, "systemd, or another service manager, sets this for a process", "*"},
    {"oom-score-adj", NULL, "systemd, or another service manager, sets this for a process", "*"},
    {"oom-score-adj-values", NULL, "systemd, or another service manager, sets this for a process",
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
    {"io-threads-do-reads", "yes", "the I/O threads both read and write", "*"},
    {"cluster-enabled", "no",
     "Redis Cluster is not supported; several servers form a cluster over PostgreSQL", NULL},
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
    {"maxmemory", "0",
     "eviction is not supported; cache-size and write-buffer-limit limit the memory", NULL},
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
