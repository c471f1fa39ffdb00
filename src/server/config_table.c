/* config_table: the table of settings.
 *
 * Most settings are a number, a size, a word of a list or a text, stored at an offset of struct
 * config. The three with a grammar of their own (bind, client-output-buffer-limit, durability) have
 * a type each.
 */
#include "net/io_threads.h"
#include "request/command.h"
#include "server/setting.h"

/* A yes|no setting is a word setting too: {"no", "yes", NULL}. */
static const char *const log_words[] = {"debug", "verbose", "notice", "warning", "nothing", NULL};
static const char *const log_format_words[] = {"text", "json", NULL};
static const char *const format_words[] = {"json", "msgpack", NULL};
static const char *const switch_words[] = {"no", "yes", NULL};
static const char *const pubsub_words[] = {"resetchannels", "allchannels", NULL};
static const char *const auth_words[] = {"no", "yes", "optional", NULL};
static const char *const user_words[] = {"off", "cn", "uri", NULL};
static const char *const delete_words[] = {"prefix", "exact", NULL};
static const char *const backend_words[] = {"local", "postgresql", NULL};
static const char *const quorum_words[] = {"quorum", "provider", "async", NULL};
static const char *const exec_words[] = {"rollback", "continue", NULL};
static const char *const version_words[] = {REDIS_COMPATIBLE_VERSION, "7.4.0", NULL};
static const char *const debug_words[] = {"no", "yes", "local", NULL};

#define AT(member) offsetof(struct config, member)
_Static_assert(sizeof(enum log_level) == sizeof(int), "word settings are stored as int");

#define FIXED false
#define MUTABLE true

/* clang-format off */
static const struct setting settings[] = {
    {"bind", SETTING_BIND, AT(bind), "127.0.0.1", 1, 16, NULL, FIXED,
     "addresses to listen on; a leading - marks one that may be missing"},
    {"port", SETTING_NUMBER, AT(port), "6379", 0, 65535, NULL, FIXED,
     "TCP port; 0 = none"},
    {"tcp-backlog", SETTING_NUMBER, AT(tcp_backlog), "511", 1, NUMBER_MAX, NULL, FIXED,
     "length of the queue of connections to be accepted"},
    {"io-threads", SETTING_NUMBER, AT(io_threads), "0", 0, IO_THREADS_MAX, NULL, FIXED,
     "threads for reading and writing clients; 1 = the main thread only; 0 = by the number of "
     "processors"},
    {"unixsocket", SETTING_TEXT, AT(unixsocket), "", 0, 107, NULL, FIXED,
     "path of a Unix socket to listen on; empty = none"},
    {"unixsocketperm", SETTING_OCTAL, AT(unixsocketperm), "0", 0, 0777, NULL, FIXED,
     "permissions of the Unix socket, octal; 0 = by the umask"},
    {"protected-mode", SETTING_WORD, AT(protected_mode), "yes", 0, 0, switch_words, MUTABLE,
     "refuse connections from other machines while no password is set"},
    {"requirepass", SETTING_SECRET, AT(requirepass), "", 0, 4095, NULL, MUTABLE,
     "password of the user `default`; empty = none"},
    {"aclfile", SETTING_TEXT, AT(aclfile), "", 0, 4095, NULL, FIXED,
     "ACL file, instead of `user` lines here; empty = none"},
    {"audit-log", SETTING_TEXT, AT(audit_log), "", 0, 4095, NULL, FIXED,
     "file of the audit trail: logins, changes of users and settings, ...; empty = none"},
    {"acl-pubsub-default", SETTING_WORD, AT(acl_pubsub_default), "resetchannels", 0, 0,
     pubsub_words, MUTABLE, "channel permissions of new users: none (resetchannels) or all"},
    {"acllog-max-len", SETTING_NUMBER, AT(acllog_max), "128", 0, NUMBER_MAX, NULL, MUTABLE,
     "maximum number of entries in ACL LOG"},
    {"maxclients-per-address", SETTING_NUMBER, AT(address_clients_max), "0", 0, 1000000, NULL,
     MUTABLE, "maximum number of connections from one other machine; 0 = no limit"},
    {"maxclients-per-user", SETTING_NUMBER, AT(user_clients_max), "0", 0, 1000000, NULL, MUTABLE,
     "maximum number of connections of one user; 0 = no limit"},
    {"auth-timeout", SETTING_NUMBER, AT(auth_timeout_s), "60", 0, NUMBER_MAX, NULL, MUTABLE,
     "seconds until a client that has not authenticated is disconnected; 0 = never"},
    {"timeout", SETTING_NUMBER, AT(timeout_s), "0", 0, NUMBER_MAX, NULL, MUTABLE,
     "seconds until an idle client is disconnected; 0 = never"},
    {"tcp-keepalive", SETTING_NUMBER, AT(tcp_keepalive_s), "300", 0, NUMBER_MAX, NULL, MUTABLE,
     "seconds between TCP keepalive probes; 0 = none"},
    {"maxclients", SETTING_NUMBER, AT(maxclients), "10000", 1, 1000000, NULL, MUTABLE,
     "maximum number of connections"},
    {"proto-max-bulk-len", SETTING_SIZE, AT(proto_max_bulk_bytes), "512mb", MB, SIZE_MAX_ANY, NULL,
     MUTABLE, "maximum size of one argument of a command"},
    {"client-query-buffer-limit", SETTING_SIZE, AT(query_buffer_bytes), "1gb", MB, SIZE_MAX_ANY,
     NULL, MUTABLE, "size of unprocessed input at which a client is disconnected"},
    {"client-output-buffer-limit", SETTING_OUTPUT_LIMIT, AT(output_normal),
     "normal 1gb 0 0 replica 256mb 64mb 60 pubsub 32mb 8mb 60", 0, SIZE_MAX_ANY, NULL, MUTABLE,
     "size of unsent output at which a client is disconnected"},
    {"maxmemory-clients", SETTING_SHARE, AT(maxmemory_clients), "12.5%", MB, SIZE_MAX_ANY, NULL,
     MUTABLE, "memory of all clients together, beyond which the largest ones are disconnected"},
    {"block-max", SETTING_NUMBER, AT(block_max_ms), "0", 0, NUMBER_MAX, NULL, MUTABLE,
     "maximum of BLOCK in milliseconds; 0 = no maximum"},
    {"default-format", SETTING_WORD, AT(default_format), "json", 0, 0, format_words, MUTABLE,
     "format of values on a new connection"},
    {"bare-bigints", SETTING_WORD, AT(bare_bigints), "no", 0, 0, switch_words, MUTABLE,
     "in JSON, write integers beyond +-(2^53-1) as plain literals"},

    {"http-port", SETTING_NUMBER, AT(http_port), "4512", 0, 65535, NULL, FIXED,
     "TCP port for HTTP; 0 = none; if the default port is taken, HTTP is off"},
    {"http-bind", SETTING_TEXT, AT(http_bind), "127.0.0.1", 1, 1023, NULL, FIXED,
     "addresses to listen on for HTTP, separated by spaces"},
    {"http-tls", SETTING_WORD, AT(http_tls), "no", 0, 0, switch_words, FIXED,
     "serve HTTP over TLS, with the files of tls-cert-file and related settings"},
    {"http-allowed-hosts", SETTING_TEXT, AT(http_allowed_hosts), "", 0, 4095, NULL, MUTABLE,
     "accepted host names of HTTP requests, besides addresses, localhost and this machine's name"},
    {"http-allowed-origins", SETTING_TEXT, AT(http_allowed_origins), "", 0, 4095, NULL, MUTABLE,
     "origins whose pages may use HTTP from a browser; * = all"},
    {"http-trusted-proxies", SETTING_TEXT, AT(http_trusted_proxies), "", 0, 4095, NULL, MUTABLE,
     "addresses of proxies whose X-Forwarded-* headers are trusted"},
    {"http-max-body", SETTING_SIZE, AT(http_body_bytes), "64mb", KB, GB, NULL, MUTABLE,
     "maximum size of a request body"},
    {"http-idle-timeout", SETTING_NUMBER, AT(http_idle_s), "75", 0, NUMBER_MAX, NULL, MUTABLE,
     "seconds until an idle HTTP connection is closed; 0 = never"},
    {"http-request-timeout", SETTING_NUMBER, AT(http_request_s), "30", 0, NUMBER_MAX, NULL, MUTABLE,
     "seconds within which a request must be received completely; 0 = no limit"},
    {"rest-base", SETTING_TEXT, AT(rest_base), "/keyval/api", 1, 255, NULL, FIXED,
     "base path of REST"},
    {"rest-path-numbers", SETTING_WORD, AT(rest_path_numbers), "no", 0, 0, switch_words, MUTABLE,
     "treat integers in REST paths as numbers instead of strings"},
    {"rest-delete-default", SETTING_WORD, AT(rest_delete), "prefix", 0, 0, delete_words, MUTABLE,
     "what DELETE in REST deletes by default"},

    {"tls-port", SETTING_NUMBER, AT(tls_port), "0", 0, 65535, NULL, FIXED,
     "TCP port for TLS; 0 = none"},
    {"tls-cert-file", SETTING_TEXT, AT(tls_cert_file), "", 0, 4095, NULL, MUTABLE,
     "certificate of the server with its chain (PEM)"},
    {"tls-key-file", SETTING_TEXT, AT(tls_key_file), "", 0, 4095, NULL, MUTABLE,
     "private key of the certificate (PEM)"},
    {"tls-key-file-pass", SETTING_SECRET, AT(tls_key_password), "", 0, 1023, NULL, MUTABLE,
     "password of the private key; CONFIG GET does not show it"},
    {"tls-ca-cert-file", SETTING_TEXT, AT(tls_ca_file), "", 0, 4095, NULL, MUTABLE,
     "CA certificates that clients' certificates are verified against (PEM)"},
    {"tls-ca-cert-dir", SETTING_TEXT, AT(tls_ca_dir), "", 0, 4095, NULL, MUTABLE,
     "directory of CA certificates, as made by `openssl rehash`"},
    {"tls-auth-clients", SETTING_WORD, AT(tls_auth), "yes", 0, 0, auth_words, MUTABLE,
     "whether clients must have a certificate"},
    {"tls-auth-clients-user", SETTING_WORD, AT(tls_user), "off", 0, 0, user_words, MUTABLE,
     "field of a client's certificate that names its user"},
    {"tls-protocols", SETTING_TEXT, AT(tls_protocols), "", 0, 255, NULL, MUTABLE,
     "TLSv1.2, TLSv1.3 or both; empty = both"},
    {"tls-ciphers", SETTING_TEXT, AT(tls_ciphers), "", 0, 4095, NULL, MUTABLE,
     "ciphers for TLS 1.2, in OpenSSL's notation; empty = OpenSSL's default"},
    {"tls-ciphersuites", SETTING_TEXT, AT(tls_ciphersuites), "", 0, 4095, NULL, MUTABLE,
     "ciphers for TLS 1.3, in OpenSSL's notation; empty = OpenSSL's default"},
    {"tls-prefer-server-ciphers", SETTING_WORD, AT(tls_prefers_own_ciphers), "no", 0, 0,
     switch_words, MUTABLE, "prefer the server's order of ciphers to the client's"},
    {"tls-auto-reload-interval", SETTING_NUMBER, AT(tls_reload_s), "0", 0, NUMBER_MAX, NULL,
     MUTABLE, "seconds between checks for changed TLS files; 0 = no checks"},

    {"loglevel", SETTING_WORD, AT(loglevel), "notice", 0, 0, log_words, MUTABLE,
     "minimum level of logged messages"},
    {"log-format", SETTING_WORD, AT(log_format), "text", 0, 0, log_format_words, MUTABLE,
     "format of log lines: text or JSON objects"},
    {"logfile", SETTING_TEXT, AT(logfile), "", 0, 4095, NULL, FIXED,
     "log file; empty = standard output"},

    {"dir", SETTING_TEXT, AT(dir), "./tupled-data", 1, 4095, NULL, FIXED,
     "data directory; created if it does not exist"},
    {"data-group-access", SETTING_WORD, AT(data_group_access), "no", 0, 0, switch_words, FIXED,
     "let the group of the server's user read its files"},
    {"backup-dir", SETTING_TEXT, AT(backup_dir), "", 0, 4000, NULL, FIXED,
     "directory for the files of BGSAVE; empty = `backups` in dir"},
    {"archive-dir", SETTING_TEXT, AT(archive_dir), "", 0, 4000, NULL, FIXED,
     "directory for the archive (journal and base backups); empty = none"},
    {"archive-interval", SETTING_NUMBER, AT(archive_interval_s), "60", 1, 86400, NULL, MUTABLE,
     "maximum delay in seconds until a commit is archived"},
    {"archive-retention", SETTING_NUMBER, AT(archive_retention_s), "604800", 0, NUMBER_MAX, NULL,
     MUTABLE, "seconds for which any point in time can be restored; 0 = unlimited"},
    {"backup-schedule", SETTING_SCHEDULE, AT(backup_schedule), "", 0, 255, NULL, MUTABLE,
     "schedule of base backups in archive-dir: 03:30 (UTC), every 6h; empty = never"},
    {"backend", SETTING_WORD, AT(backend), "local", 0, 0, backend_words, FIXED,
     "storage backend: the directory dir, or PostgreSQL"},
    {"postgresql-url", SETTING_TEXT, AT(postgresql_url), "", 0, 4000, NULL, FIXED,
     "PostgreSQL connection string of libpq: postgresql://user@host/database"},
    {"postgresql-durability", SETTING_WORD, AT(postgresql_durability), "quorum", 0, 0,
     quorum_words, FIXED,
     "what makes commits in PostgreSQL durable: standbys, its provider, nothing"},
    {"engine-id", SETTING_NUMBER, AT(engine_id), "1", 1, NUMBER_MAX, NULL, FIXED,
     "name of this cluster among those that share one PostgreSQL; the same on all its nodes"},
    {"node-name", SETTING_TEXT, AT(node_name), "", 0, 200, NULL, FIXED,
     "name of this node; empty = the host name"},
    {"node-address", SETTING_TEXT, AT(node_address), "", 0, 200, NULL, FIXED,
     "host:port at which clients and other nodes reach this node"},
    {"node-http-address", SETTING_TEXT, AT(node_http_address), "", 0, 200, NULL, FIXED,
     "http://host:port at which clients of KV Connect reach this node; empty = not announced"},
    {"sentinel-port", SETTING_NUMBER, AT(sentinel_port), "0", 0, 65535, NULL, FIXED,
     "TCP port for the Redis Sentinel protocol, which announces the leader; 0 = none"},
    {"sentinel-master-name", SETTING_TEXT, AT(sentinel_master), "mymaster", 1, 100, NULL, FIXED,
     "name of the leader in the Sentinel protocol"},
    {"tls-cluster", SETTING_WORD, AT(tls_cluster), "no", 0, 0, switch_words, FIXED,
     "encrypt connections between nodes with TLS"},
    {"node-follows", SETTING_WORD, AT(node_follows), "yes", 0, 0, switch_words, FIXED,
     "prepare a standby for READONLY at its start, not at its first use"},
    {"leader-wait", SETTING_NUMBER, AT(leader_wait_ms), "5000", 0, NUMBER_MAX, NULL, MUTABLE,
     "milliseconds that commands wait for a leader before they are refused"},
    {"lease", SETTING_NUMBER, AT(lease_ms), "3000", 200, 600000, NULL, FIXED,
     "milliseconds for which PostgreSQL grants the leader its lease"},
    {"databases", SETTING_NUMBER, AT(databases), "16", 1, 16, NULL, FIXED,
     "number of numbered databases"},
    {"durability", SETTING_DURABILITY, AT(durability), "always", 1, 60000, NULL, MUTABLE,
     "when a write is acknowledged: after its sync, or earlier"},
    {"max-value-size", SETTING_SIZE, AT(max_value_bytes), "16mb", KB, 256 * MB, NULL, MUTABLE,
     "maximum size of a stored value"},
    {"max-transaction-ops", SETTING_NUMBER, AT(max_transaction_ops), "20000", 1, 1000000, NULL,
     MUTABLE, "maximum number of checks and mutations in a transaction"},
    {"max-transaction-size", SETTING_SIZE, AT(max_transaction_bytes), "64mb", 64 * KB, GB, NULL,
     MUTABLE, "maximum size of a transaction"},
    {"memtable-size", SETTING_MEMORY, AT(memtable_bytes), "2.2%", MB, 4 * GB, NULL, MUTABLE,
     "size of the newest data in memory at which it is applied to the store"},
    {"memtable-age", SETTING_NUMBER, AT(memtable_age_ms), "5000", 1, NUMBER_MAX, NULL, MUTABLE,
     "milliseconds after which the newest data is applied even if it is small"},
    {"write-buffer-limit", SETTING_MEMORY, AT(write_buffer_bytes), "6.6%", MB, SIZE_MAX_ANY, NULL,
     MUTABLE, "size of unapplied data at which writers are blocked"},
    {"cache-size", SETTING_MEMORY, AT(cache_bytes), "12.5%", 0, SIZE_MAX_ANY, NULL, MUTABLE,
     "memory for entries read from the store; 0 = no cache"},
    {"store-cache-size", SETTING_MEMORY, AT(store_cache_bytes), "3%", MB, SIZE_MAX_ANY, NULL, FIXED,
     "memory for the pages of the store, for all its connections together"},
    {"journal-segment-size", SETTING_SIZE, AT(journal_segment_bytes), "96mb", 4 * MB, 4 * GB, NULL,
     FIXED, "maximum size of a journal file, which is allocated in advance"},
    {"journal-direct", SETTING_WORD, AT(journal_direct), "yes", 0, 0, switch_words, FIXED,
     "bypass the page cache when writing the journal, if the file system supports it"},
    {"changes-retention-age", SETTING_NUMBER, AT(changes_retention_age_s), "86400", 0, NUMBER_MAX,
     NULL, MUTABLE, "seconds that the change feed reaches back"},
    {"changes-retention-size", SETTING_SIZE, AT(changes_retention_bytes), "1gb", 0, SIZE_MAX_ANY,
     NULL, MUTABLE, "size of the applied journal that is kept for the change feed"},

    {"query-threads", SETTING_NUMBER, AT(query_threads), "2", 1, 64, NULL, FIXED,
     "threads for searches, long scans and backups"},
    {"scan-timeout", SETTING_NUMBER, AT(scan_timeout_ms), "60000", 1, NUMBER_MAX, NULL, MUTABLE,
     "milliseconds for which a scan may hold its snapshot"},
    {"idem-window", SETTING_NUMBER, AT(idem_window_s), "600", 1, NUMBER_MAX, NULL, MUTABLE,
     "seconds for which a request id (IDEM) is remembered"},
    {"idem-max-entries", SETTING_NUMBER, AT(idem_entries_max), "1000000", 1, NUMBER_MAX, NULL,
     MUTABLE, "maximum number of request ids; each takes about 150 bytes of memory"},
    {"queue-lease", SETTING_NUMBER, AT(queue_lease_ms), "30000", 1, NUMBER_MAX, NULL, MUTABLE,
     "default lease of KV.DEQUEUE in milliseconds"},
    {"collection-pack-bytes", SETTING_SIZE, AT(pack_bytes), "1kb", 0, 64 * KB, NULL, MUTABLE,
     "size from which a hash, list, set or sorted set has a row for each element; 0 = always"},
    {"counted-memory", SETTING_SIZE, AT(counted_bytes), "64mb", 0, SIZE_MAX_ANY, NULL, MUTABLE,
     "memory for the counted index of large collections (ranks, positions); 0 = no index"},
    {"queue-prefetch", SETTING_NUMBER, AT(queue_prefetch), "16", 1, 1000, NULL, MUTABLE,
     "maximum number of unacknowledged messages pushed to a subscriber of queues"},
    {"dedup-window", SETTING_NUMBER, AT(dedup_window_s), "300", 1, NUMBER_MAX, NULL, MUTABLE,
     "seconds for which an id of DEDUP is remembered"},
    {"dedup-max-entries", SETTING_NUMBER, AT(dedup_entries_max), "1000000", 1, NUMBER_MAX, NULL,
     MUTABLE, "maximum number of DEDUP ids; each takes about 150 bytes of memory"},
    {"dlq-max-age", SETTING_NUMBER, AT(dlq_max_age_s), "1209600", 1, NUMBER_MAX, NULL, MUTABLE,
     "seconds for which a dead letter is kept"},
    {"dlq-max-length", SETTING_NUMBER, AT(dlq_max_length), "10000", 1, NUMBER_MAX, NULL, MUTABLE,
     "maximum number of dead letters in a queue; the oldest are removed"},
    {"max-indexes", SETTING_NUMBER, AT(indexes_max), "64", 1, 10000, NULL, MUTABLE,
     "maximum number of indexes in a database; a write checks each for its prefix"},
    {"expire-batch", SETTING_NUMBER, AT(expire_batch), "1000", 1, 100000, NULL, MUTABLE,
     "maximum number of expired keys removed in one step"},
    {"script-time-limit", SETTING_NUMBER, AT(script_time_ms), "5000", 1, 3600000, NULL, MUTABLE,
     "milliseconds until a script is terminated and rolled back"},
    {"script-memory-limit", SETTING_SIZE, AT(script_memory_bytes), "64mb", MB, 256 * MB, NULL,
     MUTABLE,
     "maximum memory of a script"},
    {"tracking-table-max-keys", SETTING_NUMBER, AT(tracking_keys_max), "1000000", 0, NUMBER_MAX,
     NULL, MUTABLE, "maximum number of keys that CLIENT TRACKING remembers; 0 = no limit"},
    {"notify-keyspace-events", SETTING_EVENTS, AT(notify_events), "", 0, 0, NULL, MUTABLE,
     "classes of published key events: K E g $ x and others as in Redis; \"\" = none"},
    {"exec-on-error", SETTING_WORD, AT(exec_on_error), "rollback", 0, 0, exec_words, MUTABLE,
     "when a command of EXEC fails: rollback = undo all, continue = as in Redis"},
    {"redis-version", SETTING_WORD, AT(redis_version), REDIS_COMPATIBLE_VERSION, 0, 0,
     version_words, MUTABLE,
     "version of Redis reported by HELLO and INFO; some libraries enable caching from 7.4.0"},
    {"slowlog-log-slower-than", SETTING_SIGNED, AT(slowlog_slower_than_us), "10000", MINUS_1,
     (uint64_t)INT64_MAX, NULL, MUTABLE,
     "microseconds from which a command is in the slow log; 0 = all, -1 = none"},
    {"slowlog-max-len", SETTING_NUMBER, AT(slowlog_max), "128", 0, NUMBER_MAX, NULL, MUTABLE,
     "maximum number of entries in the slow log"},
    {"latency-monitor-threshold", SETTING_NUMBER, AT(latency_threshold_ms), "0", 0, NUMBER_MAX,
     NULL, MUTABLE, "milliseconds from which LATENCY records an event; 0 = never"},
    {"latency-tracking", SETTING_WORD, AT(latency_tracking), "yes", 0, 0, switch_words, MUTABLE,
     "keep a latency histogram for each command"},
    {"latency-tracking-info-percentiles", SETTING_PERCENTILES, AT(percentiles), "50 99 99.9", 0,
     PERCENTILES_MAX, NULL, MUTABLE, "percentiles shown by INFO latencystats"},
    {"metrics-names", SETTING_NUMBER, AT(metrics_names), "100", 0, 10000, NULL, MUTABLE,
     "maximum number of queues, indexes and databases that metrics show by name; the rest is "
     "summed"},
    {"enable-debug-command", SETTING_WORD, AT(enable_debug_command), "no", 0, 0, debug_words, FIXED,
     "who may use DEBUG: no, yes (all clients), or local (this machine)"},
};
/* clang-format on */

#define SETTINGS (sizeof settings / sizeof settings[0])

const struct setting *setting_at(size_t i)
{
    INVARIANT(i < SETTINGS);
    return &settings[i];
}

bool setting_is_text(const struct setting *s)
{
    return s->type == SETTING_TEXT || s->type == SETTING_SECRET || s->type == SETTING_SCHEDULE;
}

size_t config_count(void)
{
    return SETTINGS;
}

const char *config_name(size_t i)
{
    return setting_at(i)->name;
}

const char *config_default(size_t i)
{
    return setting_at(i)->default_text;
}

const char *config_help(size_t i)
{
    return setting_at(i)->help;
}

bool config_is_mutable(size_t i)
{
    return setting_at(i)->is_mutable;
}

bool config_is_secret(size_t i)
{
    return setting_at(i)->type == SETTING_SECRET;
}

bool config_is_tls(size_t i)
{
    return strncmp(setting_at(i)->name, "tls-", 4) == 0 && setting_at(i)->is_mutable;
}

static uint8_t lower(uint8_t c)
{
    return c >= 'A' && c <= 'Z' ? (uint8_t)(c + ('a' - 'A')) : c;
}

bool setting_is_word(struct slice s, const char *word)
{
    if (s.len != strlen(word)) return false;
    for (size_t i = 0; i < s.len; i++) {
        if (lower(s.data[i]) != (uint8_t)word[i]) return false;
    }
    return true;
}

size_t config_find(struct slice name)
{
    for (size_t i = 0; i < SETTINGS; i++) {
        if (setting_is_word(name, settings[i].name)) return i;
    }
    return SETTINGS;
}
