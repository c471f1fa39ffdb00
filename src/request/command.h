/* command: the commands, from parsed arguments to a reply. One table (src/command/table.c)
 * dispatches them and is what COMMAND shows. A command is one `const struct command` above its
 * function; nothing here knows sockets.
 *
 * A command function reads rq->bound, which its arguments describe (arguments.h), writes its reply
 * through rq->w, raises rq->depends to the newest version its answer depends on, and returns OK; or
 * ERR_WAIT after the backend took rq->waiter (what it wrote is dropped and it is called again with
 * the same arguments when the waiter is woken); or another error, described in rq->error (what it
 * wrote is dropped, and the error is the reply).
 *
 * What must survive from one call to the next is kept in client->pending, whose owner is the
 * command.
 */
#ifndef REQUEST_COMMAND_H
#define REQUEST_COMMAND_H

#include "base/arena.h"
#include "base/histogram.h"
#include "base/treap.h"
#include "codec/placeholder.h"
#include "db/db.h"
#include "net/link.h"
#include "pubsub/pubsub.h"
#include "resp/writer.h"

enum format {
    FORMAT_JSON,
    FORMAT_MSGPACK,
    FORMAT_JSON_BARE, /* bigints beyond +-(2^53-1) are integer literals, in and out */
};

struct env;
struct client;

/* State of a command that takes several turns. */
struct pending {
    void (*free)(struct pending *p);          /* also called when the client goes away */
    size_t (*bytes)(const struct pending *p); /* held by it; NULL = little */
    bool is_short; /* ends by itself: the client is not closed for want of memory until then */
    bool is_long;  /* is dropped when the peer has gone, as what is blocked is */
    bool is_done;  /* has happened: when the command is run again, it only says its reply */
};

#define CLIENT_NAME_MAX 128

struct client_watches; /* what it watches: src/command/channel/watch.c */
struct client_pushes;  /* queues it is pushed messages of: src/command/queue/push.c */
struct unsent;         /* deliveries of DEQUEUE not yet written: src/command/queue */
struct touched_ranges;
struct trackings;       /* tracking.c */
struct notifications;   /* notify.c */
struct lines;           /* lines.c */
struct client_tracking; /* likewise */
struct node;
struct nodes_known;
struct publications;  /* messages being sent to many: publication.c */
struct exec_messages; /* what EXEC publishes: publication.c */
struct exec_counts;
struct multi;        /* the queue of MULTI: multi.c */
struct watched;      /* a key of WATCH: watched.c */
struct scan_cursors; /* scan_cursors.c */
struct key_uses;     /* keys.h */
struct backup;       /* src/request/backup.h */
struct uuid_table;   /* the UUIDs of a transaction: idem.c */
struct subjects;     /* subjects.h */
struct arguments;    /* arguments.h */
struct decoded;      /* decoded.h */
struct users;        /* access/users.h */
struct user;
struct access_log; /* access/access_log.h */
struct line_file;  /* base/line_file.h */

/* CLIENT VIEW: see view.h. */
enum key_view { VIEW_OF_USER, VIEW_PLAIN, VIEW_TUPLES };

/* When a command of EXEC fails: nothing of the transaction has happened, or all others have. */
enum exec_on_error { EXEC_OF_USER, EXEC_ROLLBACK, EXEC_CONTINUE };

enum reply_mode { REPLY_ON, REPLY_OFF, REPLY_SKIP_NEXT, REPLY_SKIP };

/* Why a blocked command is run again. */
enum block_end { BLOCK_GOES_ON, BLOCK_TIMED_OUT, BLOCK_ENDED, BLOCK_FAILED };

/* How a client is reached: set by what made it (a session, the embedded library). */
struct client_ops {
    /* Sends bytes of one whole message, also while its own command is running: they come after the
     * replies that are in its output, and after the one being made, and are held until `version` is
     * durable. Never closes the client inside the call; one whose output is over its limit is
     * closed later. */
    void (*write)(struct client *c, struct slice bytes, uint64_t version);
    void (*close)(struct client *c);
    /* Bytes of its input and output buffers. */
    void (*buffers)(const struct client *c, size_t *input, size_t *output);
};

/* Of block.c: a command of the client that is blocked. */
struct blocking {
    int64_t max_ms;        /* the longest that its owner lets it wait; 0 = any time */
    struct waiter *waiter; /* NULL = none is */
    int64_t deadline_ms;   /* INT64_MAX = never */
    enum block_end end;
    struct treap_node by_deadline; /* in env->blocked.by_deadline, if that is not INT64_MAX */
};

/* Of multi.c and watched.c: MULTI and WATCH. */
struct client_transaction {
    struct multi *multi;     /* owned; NULL = not between MULTI and EXEC */
    struct watched *watched; /* owned */
    size_t watched_bytes;    /* of these */
};

/* Of src/request/selected.c: the database that the client has selected. */
struct client_database {
    uint64_t created;  /* as struct database has it: another one may get the number */
    bool has_entered;  /* the waiting command has counted against the database's rate ... */
    bool is_throttled; /* ... or waits for that */
};

/* How it is told of what it watches (src/command/channel/watch_group.h): set by what makes the
 * client, before it subscribes. */
struct change;
typedef void watch_writer(struct buf *out, const struct change *c, uint64_t commit,
                          enum format format);
struct client_hearing {
    watch_writer *write; /* what a change is written as, in the client's format; NULL = frames */
    bool is_held;        /* nothing is told, everything is kept */
    uint64_t since;      /* when it is held no longer: changes up to this version are no news */
};

/* What is known of a client: the connection's state beyond one command. */
struct client {
    uint64_t id;
    const struct client_ops *ops;
    struct link *link;          /* borrowed of the client's owner */
    struct client *next, *prev; /* env->clients */
    struct user *user;          /* held; NULL = not logged in: it must say AUTH first (login.h) */

    /* What it has asked for: SELECT, HELLO, CLIENT, KV.FORMAT. */
    uint16_t database;
    int proto; /* 2 or 3 */
    enum format format;
    char name[CLIENT_NAME_MAX];
    char lib_name[CLIENT_NAME_MAX];
    char lib_version[CLIENT_NAME_MAX];
    enum reply_mode reply_mode;
    enum key_view view;
    enum exec_on_error exec_on_error; /* CLIENT EXEC-ON-ERROR */
    bool is_readonly;                 /* READONLY: a node that stands by answers its reads */
    int64_t follow_since_us; /* monotonic: its command waits for following; 0 = none does */
    bool is_no_evict;        /* CLIENT NO-EVICT: it is not closed for want of memory */
    size_t counted_bytes;    /* its part of env->memory.clients (client_memory.c) */

    /* Of its commands, while they run and after. */
    struct pending *pending;      /* owned; NULL = none */
    struct long_word *long_words; /* owned: long_words.c; NULL = none */
    bool is_waiting;              /* its command is parked */
    int64_t spent_us;             /* by its waiting command, in the runs it had so far */
    uint64_t seed;                /* of what the command under way draws at random, in all its runs;
                                   * 0 = nothing yet */
    uint64_t depends;             /* newest version that any of its replies depended on */
    const struct command *last_command;
    const struct command *last_parent; /* when that is a subcommand; else NULL */
    bool closes_after_reply;           /* QUIT, or a protocol error */

    struct client_database entered;
    struct client_transaction txn;
    struct blocking block;

    /* Of features (feature.h), each the business of the file named. */
    struct subscriber subscriber;   /* src/command/channel/pubsub.c */
    struct client_watches *watches; /* owned; NULL = none: src/command/channel/watch.c */
    struct client_hearing hearing;
    struct client_pushes *pushes; /* owned; NULL = none: src/command/queue/push.c */
    size_t queue_prefetch;        /* KV.QUEUE PREFETCH; 0 = as the setting says */
    struct unsent *unsent;        /* owned, oldest first: src/command/queue/queue.c */
    struct unsent *unsent_last;
    struct client_tracking *tracking;     /* NULL = off: tracking.c */
    struct client_tracking *told_instead; /* of others, which are told by way of this client */
    bool is_monitor;                      /* src/command/observe/monitor.c */
    struct client *monitor_next, *monitor_prev;
};

struct env_stats {
    struct net_counts net;
    uint64_t commands, errors;
    uint64_t reads, writes, hits, misses, protocol_errors;
    uint64_t expired_before; /* engine_expired_count when the statistics were reset */
    uint64_t evicted_clients;
    uint64_t decoded_aside; /* long values, by a thread (long_words.c) */
    uint64_t decoded_ahead; /* keys and values of commands that were decoded before they were run */
    int64_t turn_max_us;    /* processor time of the longest turn of the loop */
};

/* The turn of the loop that is running (turn.c), in processor time. */
struct turn {
    int64_t begin_us;
    int64_t bound_us; /* longer turns are logged, and those of small work that take 40 % of it;
                       * 0 = none, and the rest of it is not kept */
    uint64_t bytes;   /* of its commands */
    uint64_t queued;  /* commands that EXEC ran */
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

/* What commands ask of the server; `server` is env->server. NULL where there is no server:
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
    /* With env->users_are_kept: `text` (users_load) is to be all users. ERR_WAIT: the waiter is
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

/* What commands run in: one for a server, or for a database in another program. */
struct env {
    struct db *db;     /* owned by the owner of env */
    struct node *node; /* one of several (node/node.h); borrowed; NULL = there are no others */
    const struct nodes_known *nodes; /* likewise (nodes.h): itself and the others */
    bool stands_by;                  /* it does not lead: only CMD_NODE is answered here ... */
    struct following following;      /* ... and, to those who said READONLY, CMD_FOLLOWER */
    struct serving serving;
    void *server; /* argument of the calls of server_ops */
    const struct server_ops *server_ops;
    const struct tls_status *tls; /* the server's; NULL where there is none */
    struct server_facts about;
    struct request_settings settings;
    bool is_stopping; /* clients go because the server does */
    /* From any thread: the loop is to make a turn. NULL = threads of commands tell nothing.
     */
    void (*wake)(void *arg);
    void *wake_arg;
    struct worker *decoder; /* owned; NULL = not needed yet: long_words.c */

    struct client clients; /* head of the circular list */
    uint64_t client_count;
    uint64_t client_last_id;
    uint64_t waiting_count;

    struct users *users;           /* owned */
    bool users_are_kept;           /* in one place for several nodes: changes go by users_keep */
    bool users_are_awaited;        /* they are not known yet: no client can log in */
    struct access_log *access_log; /* owned: what was refused */
    struct client *running;        /* the client whose command is running; NULL = none */
    struct env_stats stats;
    struct command_stats *command_stats; /* owned: stats.c */
    int64_t now_us; /* monotonic: when the last command ended, or something later */
    struct turn turn;
    struct uuid_clock uuid_clock;
    struct auditing audit;
    struct pausing paused;
    struct blocked blocked;
    struct readings readings;
    struct memory_of_clients memory;
    struct pubsub *pubsub;               /* owned */
    struct publications *publications;   /* owned: publication.c */
    struct touched_ranges *touched;      /* owned: touched.c */
    struct trackings *trackings;         /* owned: tracking.c */
    struct notifications *notifications; /* owned: notify.c */
    struct lines *lines;                 /* owned: lines.c */

    /* Of features (feature.h), each the business of the file named. */
    struct scan_cursors *scan_cursors; /* owned: scan_cursors.c */
    struct watch_groups *watch_groups; /* owned: src/command/channel/watch_group.c */
    struct client *monitors; /* circular list without head: src/command/observe/monitor.c */
    struct backup *backup;   /* owned: src/command/admin/backup.c */
    struct slowlog *slowlog; /* owned: src/command/observe/slowlog.c */
    struct latency *latency; /* owned: src/command/observe/latency.c */
    struct scripts *scripts; /* owned: src/command/script/eval.c */
};

struct request {
    struct env *env;
    struct client *client;
    const struct command *command;
    struct slice *argv;
    size_t argc;
    uint8_t words_before; /* of argv, that are its name */
    bool words_are_wrong; /* they did not bind when permission was asked: nothing is run */
    void *bound;          /* the others, as the command's arguments say (bind.h); NULL = not yet */
    struct arena *arena;  /* until the reply is written */
    struct buf *scratch;  /* cleared by the function that uses it */
    struct resp_writer *w;
    struct waiter *waiter;
    uint64_t depends;
    bool is_evaluated; /* its reply may depend on data, whatever version (serving.h) */
    struct error error;
    /* NULL outside EXEC and IDEM; else all reads and writes go through it, nothing may take more
     * than this turn, and a blocking command answers at once. */
    struct overlay *overlay;
    const struct placeholders *placeholders; /* NULL = the command does not write */
    struct exec_messages *messages; /* NULL outside EXEC; publishing waits for its commit */
    struct uuid_table *uuids;       /* NULL = none yet */
    struct slice idem;              /* the id given with IDEM; data NULL = none */
    enum format format;             /* of its values, and of those in the reply */
    bool has_format;                /* its own words said it: not the connection's */
    struct ran *ran;          /* what it ran itself, when it is over (observe.h); NULL = nothing */
    const struct ran *is_ran; /* it is one of these; NULL: it is the client's own */
    bool decodes_aside;       /* long words may be decoded by a thread (long_words.h): they stay
                               * where they are while it waits */
    struct decoded *decoded;  /* of its words, before it was run (decoded.h); NULL = nothing */
};

enum command_flag {
    CMD_READ = 1 << 0,
    CMD_WRITE = 1 << 1,
    CMD_ADMIN = 1 << 2,
    CMD_FAST = 1 << 3,
    CMD_NO_AUTH = 1 << 4,
    CMD_CONNECTION = 1 << 5,
    CMD_DANGEROUS = 1 << 6,
    CMD_KEYSPACE = 1 << 7,
    CMD_IDEM = 1 << 9,      /* takes IDEM id, as its last words */
    CMD_NO_MULTI = 1 << 10, /* refused between MULTI and EXEC */
    CMD_TRANSACTION = 1 << 11,
    CMD_STRING = 1 << 12, /* of the string view: its keys are plain words */
    /* A container whose run() answers what is none of its subcommands, or has too many words for
     * one: in Redis it is a plain command, and so all of it is counted as one. */
    CMD_ANY_WORD = 1 << 8,
    CMD_IDEM_FIRST = 1 << 13, /* with CMD_IDEM: its first words, not its last */
    CMD_BLOCKING = 1 << 14,   /* may wait for something other than the disk */
    CMD_PUBSUB = 1 << 15,
    CMD_SUBSCRIBED = 1 << 16, /* allowed in RESP2 while the connection listens to something */
    CMD_FORMAT = 1 << 17,     /* takes FORMAT and its word, as its last words before IDEM */
    CMD_UNQUEUED = 1 << 18,   /* runs at once, also between MULTI and EXEC */
    CMD_PUBLISHES = 1 << 19,  /* sends messages: counts as a write while writes are paused */
    CMD_UNPAUSED = 1 << 20,   /* runs also while everything is paused */
    CMD_RUNS_QUEUE = 1 << 21, /* runs what MULTI has queued, and counts as all of it */
    CMD_UNBOUNDED = 1 << 22,  /* block-max is not for it: it waits as long as it says */
    CMD_QUEUE = 1 << 23,      /* these three: categories of permissions */
    CMD_INDEX = 1 << 24,
    CMD_WATCHES = 1 << 25,
    CMD_ALL_KEYS = 1 << 26, /* shows or changes keys that it does not name */
    CMD_AUDITED = 1 << 27,  /* in the audit log */
    CMD_NODE = 1 << 28,     /* also answered by a node that does not lead ... */
    CMD_FOLLOWER = 1 << 29, /* ... to those who said READONLY, of what it has */
    CMD_BITMAP = 1 << 30,   /* a category of permissions: it is about the bits of a value */
};

struct command {
    const char *name;   /* lower case; of a subcommand its own part */
    unsigned flags;     /* enum command_flag */
    unsigned key_flags; /* enum key_flag: what becomes of keys whose row does not say it */
    /* With KEY_VARIABLE: what becomes of them with these words; the name is counted. */
    unsigned (*key_flags_of)(const struct slice *argv, size_t argc);
    const char *group;                 /* of COMMAND DOCS */
    const char *since;                 /* first version that has it; NULL = COMMAND_SINCE */
    const char *summary;               /* one line */
    const struct arguments *arguments; /* what it takes (arguments.h), without IDEM and FORMAT */
    const char *brief; /* what COMMAND DOCS shows in its place, where a hint must fit a line */
    const char *reply; /* one line for the manual; NULL = the summary says it */
    enum err (*run)(struct request *rq);
    /* Of a command that takes a number of words that may be any: where they end, counted from the
     * name. FORMAT before that is one of them. NULL: it has none. */
    size_t (*own_words)(const struct slice *argv, size_t argc);
    const struct command *const *subcommands; /* NULL-ended, or NULL */
    /* Is the i-th word a password? NULL: none is. Such words are in no log. */
    bool (*is_secret)(const struct slice *argv, size_t argc, size_t i);
    bool names_before_values; /* every other argument is a value: not for the audit trail */
    bool is_own; /* its reply depends on nothing that was evaluated, as with CMD_NODE (serving.h) */
};

/* Every command, NULL-ended, sorted by name: src/command/table.c. */
extern const struct command *const command_table[];
size_t command_count(void);
/* How many words are its name: 2 of a subcommand, else 1. */
size_t command_words_before(const struct command *c);
/* May it have `argc` words, of which `before` are its name? IDEM and FORMAT must be off. */
bool command_arity_fits(const struct command *c, size_t before, size_t argc);
/* The fewest words it may have with its name, without IDEM and FORMAT; negative: or more. */
int command_arity_own(const struct command *c);
/* The fewest words of the request's command, with its name. */
size_t request_words_least(const struct request *rq);
/* Has the request as many words as its command may have? IDEM and FORMAT must be off. */
bool request_arity_fits(const struct request *rq);
/* By name in any case; NULL when there is none. */
const struct command *command_find(struct slice name);
/* The first version of this server that has it, as COMMAND DOCS and the manual say it. */
#define COMMAND_SINCE "0.1.0"
const char *command_since(const struct command *c);
/* The command of words that begin with its name, and how it is called as a subcommand; NULL when
 * there is none, or when a container has no such subcommand. */
const struct command *command_of_words(const struct slice *argv, size_t argc,
                                       const struct command **parent);
/* "config" or "config|get"; *parent is set of a subcommand, else NULL. */
const struct command *command_find_full(struct slice name, const struct command **parent);
/* HELP of the container that the request names: its subcommands, taken from the table. */
enum err command_help_run(struct request *rq);
extern const struct arguments no_arguments; /* shapes.h */
/* The subcommand HELP of a container: a struct of its own, so that it is counted apart. */
#define COMMAND_HELP(of_group, its_flags)                                                          \
    static const struct command sub_help = {                                                       \
        .name = "help",                                                                            \
        .flags = (its_flags),                                                                      \
        .group = of_group,                                                                         \
        .summary = "The subcommands.",                                                             \
        .arguments = &no_arguments,                                                                \
        .run = command_help_run,                                                                   \
    }

/* What HELLO and INFO call the version of Redis that libraries may take this server for: those that
 * gate features by it find what they expect. The setting redis-version may say 7.4.0 instead, since
 * some libraries want that before they use CLIENT TRACKING. */
#define REDIS_COMPATIBLE_VERSION "7.0.15"
const char *redis_version(const struct env *env);
/* Of one page of KV.LIST and its like. */
#define LIST_LIMIT_MAX 10000
#define LIST_PAGE_BYTES_MAX (16u << 20)

/* Commands run on it from now on; what they did with the one before must be over. For a new one,
 * before the first commit. */
void env_use_db(struct env *env, struct db *db);

/* `link` and `ops` outlive it. Its id is a new one. */
void client_init(struct client *c, struct env *env, struct link *link,
                 const struct client_ops *ops);
/* It is in no list any more. It may still have channels: client_end_listening, until it is true. */
void client_fini(struct client *c, struct env *env);
/* Ends at most *work of what it listens to and of what is noted for it. True when none is left. */
bool client_end_listening(struct client *c, struct env *env, size_t *work);

/* It ends its session itself: what is pushed to it is given back, it shows no commands any more. */
void client_reset(struct client *c, struct env *env);

/* Channels, patterns and shard channels that it listens to. */
size_t client_subscriptions(const struct client *c);

/* Runs one command: OK = a reply (maybe an error) was appended to rq->w->out, ERR_WAIT = parked. */
enum err command_run(struct request *rq);
/* Finds the command of rq->argv, takes IDEM and FORMAT off its arguments and checks their number;
 * for who only asks about it. */
ERR_MUST_USE enum err command_find_words(struct request *rq);
/* What rq->w has from `mark` on is dropped, with what is known about it. */
void reply_cut(struct request *rq, size_t mark);
/* For callers that make something else of replies (HTTP): what they said after the offset `from` of
 * the client's stream ends at `end` there. Before a command, link->stream_base is the end of the
 * reply before it, or, of the first one, of what is in the stream. */
void client_reply_placed(struct client *c, uint64_t from, uint64_t end);
/* A copy of a request becomes one of another command, with these words: those of its own. */
void request_be(struct request *rq, const struct command *c, struct slice *argv, size_t argc);
/* A resolved command, inside EXEC or not: its reply is appended, or its error returned. */
enum err command_call(struct request *rq);
/* Every 10 ms or so: ends pauses and blocked commands whose time has come. */
void command_tick(struct env *env);
/* In how many ms a tick may find something to do; INT64_MAX = nothing is known of. */
int64_t command_rest_ms(const struct env *env);
/* At the end of every turn of the loop, before db_turn_end. True when there is more to do, so that
 * the loop must not sleep. */
bool command_turn(struct env *env);

/* What `server` calls when env is filled, and at the end, when clients and database are gone. */
void command_init(struct env *env);
void command_fini(struct env *env);

#endif
