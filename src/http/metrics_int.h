/* metrics_int: the families of metrics, and what the files that write them share. */
#ifndef HTTP_METRICS_INT_H
#define HTTP_METRICS_INT_H

#include "http/metrics.h"

/* clang-format off */
#define METRICS(X)                                                                                 \
    X(BUILD, INFO, "tupled_build", "The version of the server.")                                   \
    X(START_TIME, GAUGE, "tupled_start_time_seconds", "Unix time of the start.")                   \
    X(HEALTH, GAUGE, "tupled_health",                                                              \
      "1 for the state that the server is in: ok, damaged, store-failing, disk-full.")             \
    X(LOADING, GAUGE, "tupled_loading",                                                            \
      "1 while databases, queues and indexes are read after the start.")                           \
    X(LEADS, GAUGE, "tupled_leads",                                                               \
      "1 while this node leads; this and the next four with backend postgresql alone.")            \
    X(LEADER_EPOCH, GAUGE, "tupled_leader_epoch", "Rises by 1 with each take-over.")               \
    X(NODES_UP, GAUGE, "tupled_nodes_up", "Other nodes that gave a sign of life not long ago.")    \
    X(RELAYS, GAUGE, "tupled_relays", "Connections that are passed on to the leader.")             \
    X(RELAYED, COUNTER, "tupled_relayed", "Connections that were passed on to the leader.")        \
    X(CPU, COUNTER, "tupled_cpu_seconds", "Processor time, by mode: user, system.")                \
    X(RESIDENT, GAUGE, "tupled_memory_resident_bytes", "Memory of the process in RAM.")            \
    X(RESIDENT_MAX, GAUGE, "tupled_memory_resident_max_bytes", "The most that there was.")         \
    X(MEMORY_CLIENTS, GAUGE, "tupled_memory_clients_bytes", "What all clients hold.")              \
    X(MEMORY_CLIENTS_LIMIT, GAUGE, "tupled_memory_clients_limit_bytes",                            \
      "What they may hold: maxmemory-clients; absent without a bound.")                            \
    X(TURN_MAX, GAUGE, "tupled_loop_turn_max_seconds",                                             \
      "Processor time of the longest turn of the loop.")                                           \
    X(CONNECTIONS, COUNTER, "tupled_connections", "Connections accepted, refused ones too.")       \
    X(CONNECTIONS_REJECTED, COUNTER, "tupled_connections_rejected", "Connections refused.")        \
    X(CLIENTS, GAUGE, "tupled_clients", "Clients that are connected.")                             \
    X(CLIENTS_LIMIT, GAUGE, "tupled_clients_limit", "How many may be: maxclients.")                \
    X(CLIENTS_WAITING, GAUGE, "tupled_clients_waiting",                                            \
      "Clients whose command waits, for the disk or for something to happen.")                     \
    X(CLIENTS_EVICTED, COUNTER, "tupled_clients_evicted",                                          \
      "Clients closed because all of them together held too much.")                                \
    X(RECEIVED, COUNTER, "tupled_network_received_bytes", "Bytes read from connections.")          \
    X(SENT, COUNTER, "tupled_network_sent_bytes", "Bytes written to connections.")                 \
    X(PROTOCOL_ERRORS, COUNTER, "tupled_protocol_errors", "Input that was no command.")            \
    X(DENIED, COUNTER, "tupled_access_denied",                                                     \
      "What was refused, by reason: auth, command, key, channel, database.")                       \
    X(AUDIT_FAILURES, COUNTER, "tupled_audit_failures",                                            \
      "Lines of the audit trail that could not be written.")                                       \
    X(TLS_CONNECTIONS, GAUGE, "tupled_tls_connections", "Open connections with TLS.")              \
    X(TLS_OPEN, GAUGE, "tupled_tls_handshakes_open", "Handshakes under way.")                      \
    X(TLS_HANDSHAKES, COUNTER, "tupled_tls_handshakes",                                            \
      "Handshakes by result: done, failed, timed-out, cut.")                                       \
    X(TLS_CERTIFICATE_END, GAUGE, "tupled_tls_certificate_end_time_seconds",                       \
      "Unix time at which the first certificate of these ends: server, ca.")                       \
    X(TLS_RELOADS, COUNTER, "tupled_tls_reloads", "Files of TLS read again: ok, failed.")          \
    X(TLS_RELOAD_FAILED, GAUGE, "tupled_tls_reload_failed",                                        \
      "1 when the newest files of TLS were refused.")                                              \
    X(COMMANDS, COUNTER, "tupled_commands", "Commands that were run.")                             \
    X(COMMANDS_FAILED, COUNTER, "tupled_commands_failed", "Of these, those that were errors.")     \
    X(COMMANDS_REJECTED, COUNTER, "tupled_commands_rejected",                                      \
      "Commands that were not run: wrong number of words, or not allowed.")                        \
    X(COMMAND_DURATION, HISTOGRAM, "tupled_command_duration_seconds",                              \
      "Time that commands took, without waiting for the disk.")                                    \
    X(ERRORS, COUNTER, "tupled_errors", "Error replies by their first word.")                      \
    X(KEYS_READ, COUNTER, "tupled_keys_read", "Keys asked for by name, by result: hit, miss.")     \
    X(SYNC_DURATION, HISTOGRAM, "tupled_journal_sync_duration_seconds",                            \
      "Time of each sync of the journal, with the writes before it.")                              \
    X(JOURNAL_BYTES, GAUGE, "tupled_journal_bytes", "Size of the journal's files.")                \
    X(JOURNAL_SEGMENTS, GAUGE, "tupled_journal_segments", "Files of the journal.")                 \
    X(JOURNAL_BATCHES, COUNTER, "tupled_journal_batches", "Batches written to the journal.")       \
    X(JOURNAL_WRITTEN, COUNTER, "tupled_journal_written_bytes",                                    \
      "Transactions written to the journal.")                                                      \
    X(UNSYNCED, GAUGE, "tupled_unsynced_bytes",                                                    \
      "Transactions that are committed, and not synced yet.")                                      \
    X(UNACKNOWLEDGED, GAUGE, "tupled_unacknowledged_transactions",                                 \
      "Transactions that are committed, and not acknowledged yet.")                                \
    X(CLOCK_AHEAD, GAUGE, "tupled_clock_ahead_seconds",                                            \
      "How far transaction time is ahead of the clock of the machine.")                            \
    X(UNAPPLIED, GAUGE, "tupled_unapplied_bytes", "Newest data, not yet in the store.")            \
    X(UNAPPLIED_LIMIT, GAUGE, "tupled_unapplied_limit_bytes",                                      \
      "At which writers are stopped: write-buffer-limit; they are slowed from half of it.")        \
    X(UNAPPLIED_ENTRIES, GAUGE, "tupled_unapplied_entries", "Entries of that data.")               \
    X(FROZEN, GAUGE, "tupled_memtables_frozen", "Parts of it that wait for the store.")            \
    X(THROTTLED, COUNTER, "tupled_writes_throttled", "Writes that had to wait for the store.")     \
    X(APPLIES, COUNTER, "tupled_store_applies", "Times that data was brought into the store.")     \
    X(APPLY_TIME, COUNTER, "tupled_store_apply_seconds", "Time that this took.")                   \
    X(APPLY_ROWS, COUNTER, "tupled_store_written_rows", "Rows written to the store.")              \
    X(STORE_READS, COUNTER, "tupled_store_reads", "Keys read from the store.")                     \
    X(STORE_WAITS, COUNTER, "tupled_store_reads_waited", "Of these, those that a thread read.")    \
    X(SCANS, GAUGE, "tupled_scans_open", "Scans that are open.")                                   \
    X(CLEANING, GAUGE, "tupled_store_cleaning",                                                    \
      "1 while what was removed at once is freed on the disk.")                                    \
    X(DAMAGED_READS, COUNTER, "tupled_damaged_reads", "Reads that found damage.")                  \
    X(DAMAGED_ENTRIES, GAUGE, "tupled_damaged_entries",                                            \
      "Entries that the store cannot take for damage; they are kept beside it.")                   \
    X(CACHE_BYTES, GAUGE, "tupled_cache_bytes", "Memory of the cache of entries.")                 \
    X(CACHE_ENTRIES, GAUGE, "tupled_cache_entries", "Single entries in it.")                       \
    X(CACHE_HITS, COUNTER, "tupled_cache_hits", "Entries found in it.")                            \
    X(CACHE_MISSES, COUNTER, "tupled_cache_misses", "Entries not found in it.")                    \
    X(BACKUPS, COUNTER, "tupled_backups", "Backups that were made.")                               \
    X(BACKUP_TIME, GAUGE, "tupled_backup_time_seconds",                                            \
      "Unix time of the newest one; before the first, of the start.")                              \
    X(BACKUP_FAILED, GAUGE, "tupled_backup_failed", "1 when the last one failed.")                 \
    X(ARCHIVE_FAILING, GAUGE, "tupled_archive_failing",                                            \
      "1 when the last copy into the archive failed.")                                             \
    X(ARCHIVE_TIME, GAUGE, "tupled_archive_time_seconds",                                          \
      "Unix time of the newest commit in the archive; 0 = there is none.")                         \
    X(ARCHIVE_BASE_TIME, GAUGE, "tupled_archive_base_time_seconds",                                \
      "Unix time of the newest base backup; 0 = there is none.")                                   \
    X(EXPIRED, COUNTER, "tupled_expired_entries", "Entries removed at the end of their time.")     \
    X(REQUEST_IDS, GAUGE, "tupled_request_ids", "Request ids (IDEM) that are remembered.")         \
    X(WATCHES, GAUGE, "tupled_watches", "Watches of keys, prefixes and patterns.")                 \
    X(CHANNELS, GAUGE, "tupled_channels",                                                          \
      "Names with subscribers, by kind: channel, pattern, shard.")                                 \
    X(QUEUES, GAUGE, "tupled_queues", "Queues that there are.")                                    \
    X(QUEUES_ENQUEUED, COUNTER, "tupled_queues_enqueued",                                          \
      "Messages enqueued, in all queues, those that are gone too.")                                \
    X(QUEUES_DELIVERED, COUNTER, "tupled_queues_delivered", "Likewise delivered.")                 \
    X(QUEUES_ACKED, COUNTER, "tupled_queues_acked", "Likewise acknowledged.")                      \
    X(QUEUES_NACKED, COUNTER, "tupled_queues_nacked", "Likewise refused by KV.NACK.")              \
    X(QUEUES_EXPIRED, COUNTER, "tupled_queues_expired", "Likewise leases that ended.")             \
    X(QUEUE_MESSAGES, GAUGE, "tupled_queue_messages",                                              \
      "Messages by state: ready, delayed, leased, dead.")                                          \
    X(QUEUE_AGE, GAUGE, "tupled_queue_oldest_age_seconds",                                         \
      "For how long the first message has been ready; absent while that is not known.")            \
    X(QUEUE_ENQUEUED, COUNTER, "tupled_queue_enqueued", "Messages enqueued.")                      \
    X(QUEUE_DELIVERED, COUNTER, "tupled_queue_delivered",                                          \
      "Messages delivered, without those that no client got.")                                     \
    X(QUEUE_ACKED, COUNTER, "tupled_queue_acked", "Messages acknowledged.")                        \
    X(QUEUE_NACKED, COUNTER, "tupled_queue_nacked", "Messages refused by KV.NACK.")                \
    X(QUEUE_EXPIRED, COUNTER, "tupled_queue_expired", "Leases that ended.")                        \
    X(INDEXES, GAUGE, "tupled_indexes", "Indexes that there are, by kind: value, text.")           \
    X(INDEX_STATE, GAUGE, "tupled_index_state",                                                    \
      "1 for the state that an index is in: filling, ready, failed.")                              \
    X(INDEX_FILLED, GAUGE, "tupled_index_filled_ratio",                                            \
      "How much of an index of values is filled in, about.")                                       \
    X(DATABASES, GAUGE, "tupled_databases", "Databases that there are.")                           \
    X(DATABASE_ENTRIES, GAUGE, "tupled_database_entries", "Entries.")                              \
    X(DATABASE_EXPIRING, GAUGE, "tupled_database_expiring_entries",                                \
      "Of these, those that have an end.")                                                         \
    X(DATABASE_BYTES, GAUGE, "tupled_database_bytes",                                              \
      "Keys and values, of queues and indexes too: what MAXBYTES counts.")                         \
    X(DATABASE_STORED, GAUGE, "tupled_database_stored_bytes", "Of these, what the store has.")     \
    X(DATABASE_LIMIT_ENTRIES, GAUGE, "tupled_database_limit_entries",                              \
      "MAXENTRIES; absent without one.")                                                           \
    X(DATABASE_LIMIT_BYTES, GAUGE, "tupled_database_limit_bytes",                                  \
      "MAXBYTES; absent without one.")                                                             \
    X(DATABASE_LIMIT_RATE, GAUGE, "tupled_database_limit_operations_per_second",                   \
      "RATE; absent without one.")                                                                 \
    X(DATABASE_OPERATIONS, COUNTER, "tupled_database_operations", "Commands.")                     \
    X(DATABASE_THROTTLED, COUNTER, "tupled_database_throttled",                                    \
      "Of these, those that had to wait for the rate.")
/* clang-format on */

enum metric_id {
#define METRIC_ID(id, kind, name, help) M_##id,
    METRICS(METRIC_ID)
#undef METRIC_ID
        M_COUNT
};

/* One writing of all of it. */
struct metrics {
    struct env *env;
    struct client *client;
    const struct metrics_options *options;
    struct metrics_out out;
    struct backend_stats stats;
    struct arena arena;
    struct arena scratch; /* of one question */
};

static inline void metrics_family(struct metrics *m, enum metric_id id)
{
    metrics_begin(&m->out, metrics_at(id));
}

static inline void metrics_figure(struct metrics *m, enum metric_id id, uint64_t value)
{
    metrics_one(&m->out, metrics_at(id), value);
}

/* A sample with one label. */
static inline void metrics_by(struct metrics *m, const char *name, const char *value,
                              uint64_t number)
{
    struct metrics_label label = {name, slice_str(value)};
    metrics_u64(&m->out, &label, 1, number);
}

/* metrics_server.c */
void metrics_server(struct metrics *m);
void metrics_clients(struct metrics *m);
void metrics_commands(struct metrics *m);
/* metrics_data.c */
void metrics_journal(struct metrics *m);
void metrics_store(struct metrics *m);
/* metrics_names.c */
void metrics_queues(struct metrics *m);
void metrics_indexes(struct metrics *m);
void metrics_databases(struct metrics *m);

#endif
