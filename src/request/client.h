/* client: what is known of a client beyond one command: what it has asked for, what of its commands
 * is under way, and what families of commands keep of it. A session, an exchange of HTTP, a link
 * from another node and a seat of the embedded library each have one. For the loop thread.
 */
#ifndef REQUEST_CLIENT_H
#define REQUEST_CLIENT_H

#include "base/treap.h"
#include "net/link.h"
#include "pubsub/pubsub.h"

enum format {
    FORMAT_JSON,
    FORMAT_MSGPACK,
    FORMAT_JSON_BARE, /* bigints beyond +-(2^53-1) are integer literals, in and out */
};

#define CLIENT_NAME_MAX 128

struct env;
struct client;
struct command;
struct client_watches;  /* what it watches: src/command/channel/watch.c */
struct client_pushes;   /* queues it is pushed messages of: src/command/queue/push.c */
struct unsent;          /* deliveries of DEQUEUE not yet written: src/command/queue */
struct client_tracking; /* tracking.c */
struct long_word;       /* long_words.c */
struct multi;           /* the queue of MULTI: multi.c */
struct watched;         /* a key of WATCH: watched.c */
struct waiter;          /* backend/backend.h */
struct user;

/* State of a command that takes several turns. */
struct pending {
    void (*free)(struct pending *p);          /* also called when the client goes away */
    size_t (*bytes)(const struct pending *p); /* held by it; NULL = little */
    bool is_short; /* ends by itself: the client is not closed for want of memory until then */
    bool is_long;  /* is dropped when the peer has gone, as what is blocked is */
    bool is_done;  /* has happened: when the command is run again, it only says its reply */
};

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

/* What it has asked for: HELLO, CLIENT, KV.FORMAT, READONLY. */
struct client_settings {
    int proto; /* 2 or 3 */
    enum format format;
    enum key_view view;
    enum reply_mode reply_mode;
    enum exec_on_error exec_on_error;
    bool is_readonly; /* a node that stands by answers its reads */
    bool is_no_evict; /* CLIENT NO-EVICT: it is not closed for want of memory */
    char name[CLIENT_NAME_MAX];
    char lib_name[CLIENT_NAME_MAX];
    char lib_version[CLIENT_NAME_MAX];
};

/* Of its commands, while they run and after. */
struct client_run {
    struct pending *pending;      /* owned; NULL = none */
    struct long_word *long_words; /* owned: long_words.c; NULL = none */
    bool is_waiting;              /* its command is parked */
    bool is_shown;                /* its command blocks, and MONITOR has shown it */
    bool closes_after_reply;      /* QUIT, or a protocol error */
    int64_t spent_us;             /* by its waiting command, in the runs it had so far */
    int64_t reads_since_us;  /* monotonic: its command, which only reads, waits; 0 = it does not */
    int64_t follow_since_us; /* monotonic: its command waits for following; 0 = none does */
    uint64_t seed;    /* of what the command under way draws at random, in all its runs; 0 = nothing
                    * yet */
    uint64_t depends; /* newest version that any of its replies depended on */
    const struct command *last_command;
    const struct command *last_parent; /* when that is a subcommand; else NULL */
    /* Whose rights its waiting command has been asked for, and which of them; 0 = none yet. */
    uint64_t asked_user, asked_changes;
};

/* Of src/command/channel: what it listens to. */
struct client_listening {
    struct subscriber subscriber;   /* pubsub.c */
    struct client_watches *watches; /* owned; NULL = none: watch.c */
    struct client_hearing hearing;
};

/* Of src/command/queue. */
struct client_queues {
    struct client_pushes *pushes; /* owned; NULL = none: push.c */
    size_t prefetch;              /* KV.QUEUE PREFETCH; 0 = as the setting says */
    struct unsent *unsent;        /* owned, oldest first: queue.c */
    struct unsent *unsent_last;
};

/* Of src/command/observe/monitor.c. */
struct client_monitoring {
    bool is_on;
    struct client *next, *prev; /* env->families.monitors */
};

/* What is known of a client: the connection's state beyond one command. */
struct client {
    uint64_t id;
    const struct client_ops *ops;
    struct link *link;          /* borrowed of the client's owner */
    struct client *next, *prev; /* env->clients.list */
    struct user *user;          /* held; NULL = not logged in: it must say AUTH first (login.h) */
    uint16_t database;          /* SELECT */
    struct client_settings settings;
    struct client_run run;
    size_t counted_bytes; /* its part of env->memory.clients (client_memory.c) */
    struct client_database entered;
    struct client_transaction txn;
    struct blocking block;
    struct client_tracking *tracking;     /* NULL = off: tracking.c */
    struct client_tracking *told_instead; /* of others, which are told by way of this client */

    /* Of families of commands. */
    struct client_listening listening;
    struct client_queues queues;
    struct client_monitoring monitoring;
};

/* `link` and `ops` outlive it. Its id is a new one. */
void client_init(struct client *c, struct env *env, struct link *link,
                 const struct client_ops *ops);
/* What it has asked for ends, but for what RESET leaves: the name and version of its library, and
 * CLIENT NO-EVICT. */
void client_settings_reset(struct client *c, const struct env *env);
/* It is in no list any more. It may still have channels: client_end_listening, until it is true. */
void client_fini(struct client *c, struct env *env);
/* Ends at most *work of what it listens to and of what is noted for it. True when none is left. */
bool client_end_listening(struct client *c, struct env *env, size_t *work);

/* It ends its session itself: what is pushed to it is given back, it shows no commands any more. */
void client_reset(struct client *c, struct env *env);

/* Channels, patterns and shard channels that it listens to. */
static inline size_t client_subscriptions(const struct client *c)
{
    const struct subscriber *s = &c->listening.subscriber;
    return pubsub_count(s, PUBSUB_CHANNEL) + pubsub_count(s, PUBSUB_PATTERN) +
           pubsub_count(s, PUBSUB_SHARD);
}

/* For callers that make something else of replies (HTTP): what they said after the offset `from` of
 * the client's stream ends at `end` there. Before a command, link->stream_base is the end of the
 * reply before it, or, of the first one, of what is in the stream. */
void client_reply_placed(struct client *c, uint64_t from, uint64_t end);

#endif
