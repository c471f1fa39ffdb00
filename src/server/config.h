/* config: the settings, in Redis's syntax: a file, then `--name value ...` on the command line.
 *
 *   tupled [config-file] [--name value ...]     config-file `-` is standard input
 *
 * One table (config_table.c) is the single source of names, types, defaults and ranges;
 * conf/tupled.conf repeats it for people, and a test compares the two. The last line wins. What is
 * refused: an unknown name, a value outside its range, a second guess of what was meant.
 *
 * It only knows what was asked for. It opens no port, makes no directory, and calls no module that
 * a setting has changed: the caller of config_set does. Owned by the loop thread after the start.
 */
#ifndef SERVER_CONFIG_H
#define SERVER_CONFIG_H

#include "base/buf.h"
#include "base/err.h"
#include "base/histogram.h"
#include "base/log.h"

enum config_action { CONFIG_RUN, CONFIG_SHOW_VERSION, CONFIG_SHOW_HELP };
enum config_format { CONFIG_FORMAT_JSON, CONFIG_FORMAT_MSGPACK };
enum config_backend { CONFIG_LOCAL, CONFIG_POSTGRESQL };
enum config_quorum { CONFIG_QUORUM, CONFIG_PROVIDER, CONFIG_ASYNC };
enum config_durability { CONFIG_DURABLE_ALWAYS, CONFIG_DURABLE_INTERVAL, CONFIG_DURABLE_NEVER };
enum config_switch { CONFIG_NO, CONFIG_YES };
enum config_tls_auth { CONFIG_TLS_AUTH_NO, CONFIG_TLS_AUTH_YES, CONFIG_TLS_AUTH_OPTIONAL };
enum config_tls_user { CONFIG_TLS_USER_OFF, CONFIG_TLS_USER_CN, CONFIG_TLS_USER_URI };
enum config_rest_delete { CONFIG_DELETES_PREFIX, CONFIG_DELETES_EXACT };
enum config_exec { CONFIG_EXEC_ROLLBACK, CONFIG_EXEC_CONTINUE };
enum config_redis_version { CONFIG_REDIS_7_0, CONFIG_REDIS_7_4 };
enum config_debug_command { CONFIG_DEBUG_NO, CONFIG_DEBUG_YES, CONFIG_DEBUG_LOCAL };

struct config_output_limit {
    uint64_t hard_bytes; /* 0 = no limit, as the next */
    uint64_t soft_bytes;
    uint64_t soft_s;
};

/* Units in the names; each member is documented in conf/tupled.conf under its setting's name. */
struct config {
    enum config_action action;
    char *file;  /* owned; the config file given, NULL without one */
    char *users; /* owned; the `user` lines, NULL when there is none */
    /* Owned; of each setting of Redis that was passed over its name and what it means here, a line
     * each; NULL when there is none. */
    char *passed_over;

    char **bind; /* owned, as are the strings; addresses to listen on, at least one */
    size_t bind_count;
    uint64_t port;
    uint64_t tcp_backlog;
    uint64_t io_threads; /* 0 = by the number of processors */
    char *unixsocket;    /* owned; empty = none */
    uint64_t unixsocketperm;
    enum config_switch protected_mode;
    char *requirepass;      /* owned, as the next; handed on and forgotten: server/users.c */
    char *audit_log;        /* empty = none */
    char *aclfile;          /* empty = none */
    int acl_pubsub_default; /* 0 resetchannels, 1 allchannels */
    uint64_t acllog_max;
    uint64_t address_clients_max; /* likewise */
    uint64_t user_clients_max;    /* 0 = any number */
    uint64_t timeout_s;
    uint64_t auth_timeout_s; /* 0 = none */
    uint64_t tcp_keepalive_s;
    uint64_t maxclients;
    uint64_t proto_max_bulk_bytes;
    uint64_t query_buffer_bytes;
    int64_t
        maxmemory_clients; /* bytes; negative: tenths of a percent of the memory; 0 = no bound */
    uint64_t block_max_ms; /* 0 = no bound */
    struct config_output_limit output_normal, output_replica, output_pubsub;
    enum config_format default_format;
    enum config_switch bare_bigints;

    uint64_t http_port;     /* 0 = none */
    bool http_port_is_said; /* not the default: it must be free */
    char *http_bind;        /* owned, as the texts below; addresses with blanks between */
    enum config_switch http_tls;
    char *http_allowed_hosts, *http_allowed_origins, *http_trusted_proxies; /* empty = none */
    uint64_t http_body_bytes;
    uint64_t http_idle_s, http_request_s; /* 0 = none */
    char *rest_base;
    enum config_switch rest_path_numbers;
    enum config_rest_delete rest_delete;

    uint64_t tls_port;
    char *tls_cert_file; /* owned, as the next; empty = none */
    char *tls_key_file, *tls_key_password, *tls_ca_file, *tls_ca_dir;
    char *tls_protocols, *tls_ciphers, *tls_ciphersuites;
    enum config_tls_auth tls_auth;
    enum config_tls_user tls_user;
    enum config_switch tls_prefers_own_ciphers;
    uint64_t tls_reload_s; /* 0 = off */

    enum log_level loglevel;
    enum log_format log_format;
    char *logfile; /* owned; empty = stdout */

    char *dir;         /* owned */
    char *backup_dir;  /* owned; empty = `backups` in dir */
    char *archive_dir; /* owned; empty = none */
    enum config_backend backend;
    char *postgresql_url; /* owned, as the next; libpq's */
    uint64_t engine_id;
    char *node_name;         /* empty = the host's */
    char *node_address;      /* empty = it does not say */
    char *node_http_address; /* likewise */
    enum config_quorum postgresql_durability;
    uint64_t lease_ms;
    uint64_t leader_wait_ms;
    enum config_switch tls_cluster;
    enum config_switch node_follows;
    uint64_t sentinel_port; /* 0 = none */
    char *sentinel_master;
    uint64_t archive_interval_s, archive_retention_s;
    char *backup_schedule; /* owned; as schedule_parse takes it */
    uint64_t databases;
    enum config_durability durability;
    uint64_t durability_interval_ms; /* when CONFIG_DURABLE_INTERVAL, else 0 */
    uint64_t max_value_bytes;
    uint64_t max_transaction_ops;
    uint64_t max_transaction_bytes;
    int64_t memtable_bytes; /* as the next three: negative = thousandths of the memory */
    uint64_t memtable_age_ms;
    int64_t write_buffer_bytes;
    int64_t cache_bytes;
    int64_t store_cache_bytes;
    uint64_t journal_segment_bytes;
    enum config_switch journal_direct;
    uint64_t changes_retention_age_s;
    uint64_t changes_retention_bytes;

    uint64_t query_threads;
    uint64_t scan_timeout_ms;
    uint64_t expire_batch;
    uint64_t idem_window_s;
    uint64_t idem_entries_max;
    uint64_t queue_lease_ms;
    uint64_t queue_prefetch;
    uint64_t pack_bytes;
    uint64_t counted_bytes;

    uint64_t dedup_window_s;
    uint64_t dedup_entries_max;
    uint64_t dlq_max_age_s;
    uint64_t dlq_max_length;
    uint64_t indexes_max;
    int64_t slowlog_slower_than_us; /* -1 = off */
    uint64_t slowlog_max;
    uint64_t script_time_ms;
    uint64_t script_memory_bytes;
    uint64_t tracking_keys_max; /* 0 = no bound */
    uint64_t notify_events;     /* enum notify_flag */
    enum config_redis_version redis_version;
    enum config_exec exec_on_error;
    uint64_t latency_threshold_ms; /* 0 = off */
    enum config_switch latency_tracking;
    enum config_switch data_group_access;
    struct percentiles percentiles;
    uint64_t metrics_names;
    enum config_debug_command enable_debug_command;
};

/* All settings at their defaults. */
void config_init(struct config *c);
void config_fini(struct config *c);
/* Makes `to`, which holds nothing, equal to `from`, with strings of its own. */
void config_copy(struct config *to, const struct config *from);

/* Read the command line (argv[0] is skipped) and the file it names into an initialised config.
 * `--help` or `--version`, wherever it stands, sets `action`; then nothing else was read.
 * ERR_SYNTAX with the place and the text, "port.conf: line 3: >>> 'port x': port must be ...", or
 * ERR_IO for an unreadable file; c is then half-read, good for config_fini only. */
ERR_MUST_USE enum err config_load(struct config *c, int argc, char **argv, struct error *e);

/* Reads the text of a config file, the lines it includes too; `path` is for errors. As config_load
 * otherwise. */
ERR_MUST_USE enum err config_load_text(struct config *c, const char *path, struct slice text,
                                       struct error *e);

/* Settings have numbers, 0 .. config_count() - 1, in the order of the table. */
size_t config_count(void);
const char *config_name(size_t i);
const char *config_default(size_t i);
/* One line, for people. */
const char *config_help(size_t i);
/* May it change while the server runs? */
bool config_is_mutable(size_t i);
/* Whether its value is a password: it is shown to no client, and in no line of the log. */
bool config_is_secret(size_t i);
/* Is it one of TLS, tls-port apart? */
bool config_is_tls(size_t i);
/* Finds a name in any case; config_count() when there is none. */
size_t config_find(struct slice name);
/* Appends the current value in its canonical text: sizes in bytes, words in lower case. Also of one
 * that is secret. */
void config_get(const struct config *c, size_t i, struct buf *out);
/* Appends the setting as a line of a file, without the line's end: sizes with units, words in
 * quotes where they need them. */
void config_line(const struct config *c, size_t i, struct buf *out);
/* Set one setting from the words after its name. ERR_SYNTAX says what is accepted; c is then as
 * before. Does not ask config_is_mutable. */
ERR_MUST_USE enum err config_set(struct config *c, size_t i, const struct slice *words,
                                 size_t count, struct error *e);

/* The `user` lines: one more, of the words after `user`; all of them, each with its end. It is no
 * setting of the table: the rules are not checked here. */
void config_add_user(struct config *c, const struct slice *words, size_t count);
void config_set_users(struct config *c, struct slice lines);

/* Words of a line by Redis's quoting rules: "..." knows \n \r \t \b \a \xHH \" \\, '...' knows \'.
 * At most words_max are written to `words`, which point into `text` (cleared first). ERR_SYNTAX for
 * unbalanced quotes, a closing quote that something follows, or too many words. */
ERR_MUST_USE enum err config_split(struct slice line, struct buf *text, struct slice *words,
                                   size_t words_max, size_t *count, struct error *e);

/* config_rewrite.c: the settings of c into the file they were read from. Comments, order, lines
 * that say the same as before and include lines stay; what is new and not the default comes at the
 * end. What the file then says when it is read is what c says. On an error (ERR_IO, ERR_LIMIT,
 * ERR_SYNTAX, ERR_DISK_FULL) the file is as it was. */
ERR_MUST_USE enum err config_rewrite(const struct config *c, const char *path, struct error *e);
/* The same without writing: from the old text of the file to the new one. */
ERR_MUST_USE enum err config_rewrite_text(const struct config *c, const char *path,
                                          struct slice old, struct buf *out, struct error *e);

#define CONFIG_WORDS_MAX 64
#define CONFIG_USER_WORDS_MAX 4096 /* of a `user` line */
#define CONFIG_FILE_BYTES_MAX ((size_t)1 << 20)

#endif
