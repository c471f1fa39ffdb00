/* figures: the one list of what INFO and /metrics show. A row is a figure: its field of INFO, the
 * member of struct figures that has it, and its family of /metrics. figures.c is the list,
 * figures_see.c fills in the struct.
 *
 * What is no plain figure is written by functions: by info.c after the title of a section, by
 * src/http/metrics_server.c and metrics_names.c in place of a family.
 */
#ifndef COMMAND_OBSERVE_FIGURES_H
#define COMMAND_OBSERVE_FIGURES_H

#include "access/access_log.h"
#include "command/observe/memory.h"
#include "command/observe/metric.h"
#include "engine/stamp.h"
#include "index/index.h"
#include "net/tls.h"
#include "queue/queue.h"
#include "request/lines.h"
#include "request/tracking.h"

#define HEALTH_WORDS 4

/* The figures of one moment. */
struct figures {
    /* Copies of what others keep. */
    struct server_facts about;
    struct request_settings settings;
    struct env_stats stats;
    struct backend_stats backend;
    struct archiving_stats archiving; /* all 0 without an archive */
    struct queues_totals queues;
    struct indexes_totals indexes;
    struct tracking_counts tracking;
    struct tls_status tls;        /* all 0 when it is off */
    struct memory_figures memory; /* filled in by memory_measure alone */
    uint64_t subscribed[PUBSUB_KINDS], denied[ACCESS_LOG_REASONS];
    uint64_t clients, clients_waiting, clients_bytes, audit_failures, request_ids, watches;
    /* Of clients, filled in by figures_see_clients alone. */
    uint64_t input_max, output_max; /* bytes of one client */
    uint64_t watching, listening;
    /* Of the process. */
    const char *redis_version;
    char os[200];
    uint64_t process_id, user_us, system_us, resident, resident_max;
    int64_t up_s, up_days, certificate_days, ca_days;
    uint16_t port, tls_port;
    /* Of the data. */
    const char *health; /* ok: nothing is wrong */
    bool is_health[HEALTH_WORDS], is_loading, is_frozen, has_archive, queues_are_held;
    uint64_t unsynced, expired, expired_ever;
    /* Of collections: spread ones, and memory for their keys; counted indexes; clients in lines. */
    uint64_t collections, collections_bytes, counted, counted_bytes;
    struct lines_counts lines;
    struct scripts_counts scripts;
    const char *archive_status, *archive_error;
    int64_t archive_s, archive_base_s;
    char durable[STAMP_CHARS + 1], archive_version[STAMP_CHARS + 1];
    /* Of backups. */
    bool backup_is_running, backup_failed;
    int64_t backup_s, backup_took_s, backup_now_s; /* as struct backup has them; -1 = none runs */
    uint64_t backups, unsaved;
    const char *backup_file, *backup_error;
    char backup_version[STAMP_CHARS + 1];
    /* Each second, of late. */
    uint64_t commands_rate;
    double in_kbps, out_kbps;
};

/* All but what is filled in by another function alone: that looks at all clients. */
void figures_see(struct figures *f, struct env *env);
void figures_see_clients(struct figures *f, const struct env *env);

/* ---- the list ---- */

enum figure_kind {
    FIGURE_NONE,
    FIGURE_BOOL,
    FIGURE_U16,
    FIGURE_I64,
    FIGURE_U64,
    FIGURE_DOUBLE,
    FIGURE_TEXT,  /* a pointer to it */
    FIGURE_CHARS, /* the text itself */
};

/* A member of struct figures. */
struct figure_place {
    enum figure_kind kind;
    uint32_t offset;
};

/* How it is shown: in INFO, which knows no seconds but those of the processor, and in /metrics,
 * where all times are seconds. */
enum figure_form {
    SHOWN_PLAIN,
    SHOWN_SIZE, /* in INFO a second field shows it as people read it */
    SHOWN_PERCENT,
    SHOWN_STATUS, /* in INFO ok, or err when it is not 0 */
    SHOWN_MS,     /* it is in milliseconds, in microseconds */
    SHOWN_US,
    SHOWN_CPU,   /* in microseconds, for INFO seconds too */
    SHOWN_TITLE, /* no figure, but the title of a section of INFO */
    SHOWN_EXTRA, /* likewise of one that INFO alone does not show */
    SHOWN_LINES, /* no figure, but lines of INFO that are always the same */
};

/* The families of /metrics, in the order in which they come there. */
/* clang-format off */
enum metric_id {
    M_NONE,
    M_BUILD, M_START_TIME, M_HEALTH, M_LOADING,
    M_LEADS, M_LEADER_EPOCH, M_NODES_UP, M_RELAYS, M_RELAYED,
    M_CPU, M_RESIDENT, M_RESIDENT_MAX, M_MEMORY_CLIENTS, M_MEMORY_CLIENTS_LIMIT, M_TURN_MAX,
    M_CONNECTIONS, M_CONNECTIONS_REJECTED,
    M_CLIENTS, M_CLIENTS_LIMIT, M_CLIENTS_WAITING, M_CLIENTS_EVICTED,
    M_RECEIVED, M_SENT, M_PROTOCOL_ERRORS, M_FILTERED, M_DENIED, M_AUDIT_FAILURES,
    M_TLS_CONNECTIONS, M_TLS_OPEN, M_TLS_HANDSHAKES, M_TLS_CERTIFICATE_END, M_TLS_RELOADS,
    M_TLS_RELOAD_FAILED,
    M_COMMANDS, M_COMMANDS_FAILED, M_COMMANDS_REJECTED, M_COMMAND_DURATION, M_ERRORS, M_KEYS_READ,
    M_SYNC_DURATION, M_JOURNAL_BYTES, M_JOURNAL_SEGMENTS, M_JOURNAL_BATCHES, M_JOURNAL_WRITTEN,
    M_UNSYNCED, M_UNACKNOWLEDGED, M_CLOCK_AHEAD,
    M_UNAPPLIED, M_UNAPPLIED_LIMIT, M_UNAPPLIED_ENTRIES, M_FROZEN, M_THROTTLED,
    M_APPLIES, M_APPLY_TIME, M_APPLY_ROWS,
    M_STORE_READS, M_STORE_WAITS, M_SCANS, M_CLEANING, M_DAMAGED_READS, M_DAMAGED_ENTRIES,
    M_CACHE_BYTES, M_CACHE_ENTRIES, M_CACHE_HITS, M_CACHE_MISSES,
    M_BACKUPS, M_BACKUP_TIME, M_BACKUP_FAILED,
    M_ARCHIVE_FAILING, M_ARCHIVE_TIME, M_ARCHIVE_BASE_TIME,
    M_EXPIRED, M_REQUEST_IDS, M_WATCHES, M_CHANNELS,
    M_QUEUES, M_QUEUES_ENQUEUED, M_QUEUES_DELIVERED, M_QUEUES_ACKED, M_QUEUES_NACKED,
    M_QUEUES_EXPIRED,
    M_QUEUE_MESSAGES, M_QUEUE_AGE, M_QUEUE_ENQUEUED, M_QUEUE_DELIVERED, M_QUEUE_ACKED,
    M_QUEUE_NACKED, M_QUEUE_EXPIRED,
    M_INDEXES, M_INDEX_STATE, M_INDEX_FILLED,
    M_DATABASES, M_DATABASE_ENTRIES, M_DATABASE_EXPIRING, M_DATABASE_BYTES, M_DATABASE_STORED,
    M_DATABASE_OPERATIONS, M_DATABASE_THROTTLED,
    M_DATABASE_LIMIT_ENTRIES, M_DATABASE_LIMIT_BYTES, M_DATABASE_LIMIT_RATE,
    M_COUNT
};
/* clang-format on */

struct figure {
    const char *name; /* in INFO; NULL = it is not there */
    struct figure_place place;
    enum figure_form form;
    enum metric_id id;
    struct metric metric;     /* the family, in its first row */
    const char *label, *word; /* several rows are samples of one family */
    struct figure_place when; /* it is shown when this is not 0; FIGURE_NONE = always */
};

extern const struct figure figure_list[];
extern const size_t figure_list_count;

int64_t figure_number(const struct figures *f, struct figure_place x);
/* As INFO has it. */
void figure_write(const struct figures *f, struct figure_place x, struct buf *out);
bool figure_is_shown(const struct figures *f, const struct figure *x);

#endif
