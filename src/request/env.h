/* env: what commands run in: one for a server, or for a database in another program. It has the
 * database, the clients, the users, the settings that commands look at, and what files of this
 * folder and families of commands keep for all clients. For the loop thread.
 */
#ifndef REQUEST_ENV_H
#define REQUEST_ENV_H

#include "base/histogram.h"
#include "db/db.h"
#include "request/client.h"

struct node;
struct nodes_known;
struct touched_ranges;
struct trackings;     /* tracking.c */
struct notifications; /* notify.c */
struct lines;         /* lines.c */
struct publications;  /* messages being sent to many: publication.c */
struct scan_cursors;  /* scan_cursors.c */
struct backup;        /* src/request/backup.h */
struct users;         /* access/users.h */
struct access_log;    /* access/access_log.h */
struct line_file;     /* base/line_file.h */

struct env_stats {
    struct net_counts net;
    uint64_t commands, errors;
    uint64_t reads, writes, hits, misses, protocol_errors;
    uint64_t filtered_by_index, filtered_by_range; /* selection.h, with a filter */
    /* Begun; those that became long (src/command/script/long.h); of these, tries in vain, and those
     * that had a database for themselves. */
    uint64_t scripts, scripts_long, scripts_stale, scripts_exclusive;
    uint64_t expired_before; /* engine_expired_count when the statistics were reset */
    uint64_t evicted_clients;
    uint64_t decoded_aside; /* long values, by a thread (long_words.c) */
    uint64_t decoded_ahead; /* keys and values of commands that were decoded before they were run */
    int64_t turn_max_us;    /* processor time of the longest turn of the loop */
};

/* The turn of the loop that is running (turn.c), in processor time. */
struct turn {
    int64_t begin_us;  /* of the first turn that was not looked at */
    int64_t passed_us; /* that those lasted, by the time of day */
    int64_t bound_us;  /* longer turns are logged, and those of small work that take 40 % of it;
                       * 0 = none, and the rest of it is not kept */
    uint64_t bytes;    /* of its commands */
    uint64_t queued;   /* commands that EXEC ran */
    int64_t command_us;
    int64_t longest_us; /* of its commands */
    const struct command *longest, *longest_parent;
    unsigned commands;
};

struct config_change {
    size_t setting; /* below config_count */
    struct slice value;
};

/* Users that are kept elsewhere than in memory (users_keep of server_ops), as an ACL command wants
 * them. It is the command's pending. */
struct users_change {
    struct pending base;        /* first */
    struct users_change **slot; /* the server's, which is cleared with it; NULL = it is done */
    int64_t count;              /* the command's own */
    enum err result;
    struct error error;
};

/* What commands ask of the server; `server` is env->server.arg. NULL where there is no server:
 * commands that need it are refused there (src/embedded/refuse.c). */
struct server_ops {
    void (*shutdown)(void *server);
    size_t (*config_count)(void *server);
    const char *(*config_name)(void *server, size_t i);
    bool (*config_is_mutable)(void *server, size_t i);
    void (*config_value)(void *server, size_t i, struct buf *out);
    /* All of them, or an error and none; *failed is then the one it is about. ERR_WAIT: they are in
     * force, and the waiter is woken when what they promise about earlier writes is true. */
    enum err (*config_set)(void *server, const struct config_change *changes, size_t count,
                           size_t *failed, struct waiter *w, struct error *e);
    /* The aclfile: its users in place of those there are, and the other way. ERR_SYNTAX: there
     * is no aclfile, or what is wrong with it. */
    enum err (*acl_load)(void *server, struct error *e);
    enum err (*acl_save)(void *server, struct error *e);
    /* With env->users.are_kept: `text` (users_load) is to be all users. ERR_WAIT: the waiter is
     * told when c is done, and then they are, or c->result says why not; when c has no slot yet,
     * another change is under way: begin anew. */
    enum err (*users_keep)(void *server, struct slice text, struct users_change *c,
                           struct waiter *w, struct error *e);
    /* Maybe `default` needs a password now, or none any more. */
    void (*users_changed)(void *server);
    /* KV.QUEUE HOLD, so that it is so after a restart too. */
    enum err (*queues_held)(void *server, bool is_held, struct error *e);
    /* Into about.config_file, which must not be "". */
    enum err (*config_rewrite)(void *server, struct error *e);
};

/* What the server says of itself; constant while it runs. */
struct server_facts {
    const char *version;
    const char *config_file; /* "" = none */
    const char *executable;
    uint16_t port;
    bool has_io_threads; /* threads help the loop with its connections */
    char run_id[41];
    int64_t started_ms;
};

/* What the sizes of the configuration come to: bytes. */
struct memory_sizes {
    uint64_t memtable, write_buffer, cache, store_cache;
};

/* Settings that commands look at; the server changes them while it runs. */
struct request_settings {
    uint16_t databases;
    enum format default_format;
    bool bare_bigints;        /* JSON means FORMAT_JSON_BARE */
    int64_t connect_token_ms; /* 0 = CONNECT_TOKEN_MS; tests set it */
    uint64_t clients_max;
    uint64_t user_clients_max; /* of one user; 0 = any number */
    bool debug_is_allowed;
    bool debug_is_local;
    size_t queue_prefetch;
    int64_t block_max_ms; /* 0 = no bound */
    bool tracks_latency;
    int64_t slowlog_slower_than_us; /* -1 = the slow log is off */
    uint64_t slowlog_max;           /* entries */
    uint64_t latency_threshold_ms;  /* 0 = the latency monitor is off */
    struct percentiles percentiles; /* of INFO latencystats */
    uint64_t memory_clients_max;    /* maxmemory-clients in bytes; 0 = no bound */
    int64_t script_time_ms;         /* that a script may take */
    int64_t script_exclusive_ms;    /* that it may hold others' writes; tests set it */
    size_t script_memory_max;       /* bytes that a script may have */
    struct memory_sizes memory;
    bool is_redis_7_4;        /* what redis_version() says */
    bool exec_continues;      /* exec-on-error: where neither client nor user says */
    unsigned notify_events;   /* enum notify_flag; 0 = nothing is told */
    size_t tracking_keys_max; /* that CLIENT TRACKING remembers; 0 = no bound */
    size_t metrics_names;     /* of queues, indexes and databases, each: src/http/metrics.h */
    const char *backup_dir;
};

/* Of audit.c; the file belongs to the owner of env. */
struct auditing {
    struct line_file *file; /* NULL = there is no trail */
    uint64_t failures;      /* lines that could not be written */
    int64_t told_ms;        /* monotonic: when the last of these was told; 0 = none was */
};

/* CLIENT PAUSE, of block.c. */
struct pausing {
    int64_t until_ms; /* monotonic; 0 = not paused */
    bool is_write;    /* only commands that may write wait */
    struct waiter_list waiters;
};

/* Of exclusive.c: the client that alone may write into a database, and what waits for its end. */
struct exclusive {
    const struct client *client; /* NULL = none; and then the lists are empty */
    uint16_t database;
    int64_t until_ms;        /* monotonic */
    struct waiter_list held; /* writes of others there */
    struct waiter_list line; /* commands that want to have it next */
};

/* Blocked commands, of block.c. */
struct blocked {
    struct treap by_deadline; /* of clients whose blocked commands have one */
    struct waiter_list waiters;
};

/* Of many_keys.c: commands that read many keys in slices. */
struct readings {
    unsigned count;             /* under way */
    struct waiter_list waiters; /* those that wait for one of them to end */
};

/* Of client_memory.c. */
struct memory_of_clients {
    uint64_t startup; /* bytes used when the server had started */
    uint64_t peak;
    uint64_t clients; /* as each was last counted */
    uint64_t grown;   /* since all of them were, about */
};

/* A node that stands by and follows what the leader writes (following.h). */
struct following {
    bool is_wanted;             /* a client said READONLY; it stays so */
    bool is_there;              /* env->db is what the leader had not long ago */
    char why[ERROR_TEXT_BYTES]; /* it is not there; "" = it begins */
    struct waiter_list waiters; /* for more of it */
    int64_t wait_ms;            /* a command waits so long */
};

/* Of several nodes the one that leads: what it may not do now (serving.h). */
struct serving {
    bool is_mute;     /* nothing may be evaluated: it does not have its lease */
    bool is_stuck;    /* nothing that writes: what was written is not committed */
    struct error why; /* either: ERR_TRYAGAIN */
};

/* Several nodes with the same data: this one, and the others. */
struct env_node {
    struct node *self;               /* node/node.h; borrowed; NULL = there are no others */
    const struct nodes_known *known; /* likewise (nodes.h): itself and the others */
    bool stands_by;                  /* it does not lead: only CMD_NODE is answered here ... */
    struct following following;      /* ... and, to those who said READONLY, CMD_FOLLOWER */
    struct serving serving;
};

/* What the server is to its commands; all NULL where there is none. */
struct env_server {
    void *arg; /* of the calls of ops */
    const struct server_ops *ops;
    const struct tls_status *tls;
    struct server_facts about;
    bool is_stopping; /* clients go because the server does */
    /* From any thread: the loop is to make a turn. NULL = threads of commands tell nothing. */
    void (*wake)(void *arg);
    void *wake_arg;
};

struct env_clients {
    struct client list; /* head of the circular list */
    uint64_t count;
    uint64_t last_id;
    uint64_t waiting;       /* whose commands are parked */
    struct client *running; /* whose command is running; NULL = none */
};

struct env_users {
    struct users *all;          /* owned */
    bool are_kept;              /* in one place for several nodes: changes go by users_keep */
    bool are_awaited;           /* they are not known yet: no client can log in */
    struct access_log *refused; /* owned: what they were refused */
};

/* What INFO says of scripts. */
struct scripts_counts {
    uint64_t cached;         /* that EVALSHA finds */
    uint64_t code_bytes;     /* of these */
    uint64_t compiled_bytes; /* of Lua, for what runs within a turn; of the last tick */
};

/* What families of commands (feature.h) keep, each the business of the file named. */
struct env_families {
    struct watch_groups *watch_groups; /* owned: src/command/channel/watch_group.c */
    struct client *monitors; /* circular list without head: src/command/observe/monitor.c */
    struct backup *backup;   /* owned: src/command/admin/backup.c */
    struct slowlog *slowlog; /* owned: src/command/observe/slowlog.c */
    struct latency *latency; /* owned: src/command/observe/latency.c */
    struct scripts *scripts; /* owned: src/command/script/eval.c */
    const struct scripts_counts *script_counts; /* of `scripts` */
};

/* What commands run in: one for a server, or for a database in another program. */
struct env {
    struct db *db; /* owned by the owner of env */
    struct env_node node;
    struct env_server server;
    struct request_settings settings;
    struct env_clients clients;
    struct env_users users;
    struct worker *decoder; /* owned; NULL = not needed yet: long_words.c */

    struct env_stats stats;
    struct command_stats *command_stats; /* owned: stats.c */
    int64_t now_us; /* monotonic: when the last command ended, or something later */
    struct turn turn;
    struct uuid_clock uuid_clock;
    struct auditing audit;
    struct pausing paused;
    struct exclusive exclusive;
    struct blocked blocked;
    struct readings readings;
    struct memory_of_clients memory;
    struct pubsub *pubsub;               /* owned */
    struct publications *publications;   /* owned: publication.c */
    struct touched_ranges *touched;      /* owned: touched.c */
    struct trackings *trackings;         /* owned: tracking.c */
    struct notifications *notifications; /* owned: notify.c */
    struct lines *lines;                 /* owned: lines.c */
    struct scan_cursors *scan_cursors;   /* owned: scan_cursors.c */
    struct env_families families;
};

/* Commands run on it from now on; what they did with the one before must be over. For a new one,
 * before the first commit. */
void env_use_db(struct env *env, struct db *db);

/* What `server` calls when env is filled, and at the end, when clients and database are gone. */
void command_init(struct env *env);
void command_fini(struct env *env);

#endif
