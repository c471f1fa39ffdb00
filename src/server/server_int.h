/* server_int: what server.c (start and stop), loop.c (turns), settings.c (what settings mean for
 * the parts) and tls.c share.
 */
#ifndef SERVER_SERVER_INT_H
#define SERVER_SERVER_INT_H

#include "base/host.h"
#include "http/http.h"
#include "net/net.h"
#include "node/node.h"
#include "node/sentinel.h"
#include "server/server.h"
#include "server/service.h"
#include "session/session.h"

#define TLS_FILES 4

struct leading;
struct term;
struct worker;
struct cluster;

/* What settings and files of TLS say. */
struct tls_made {
    struct tls_context *context;
    uint64_t stamps[TLS_FILES]; /* of the files, from before they were read */
};

/* What databases call; pipeline.h, db.h. The argument is the server. */
struct server_hooks {
    void (*wake)(void *server);
    void (*on_replay)(void *server, uint64_t transactions);
    void (*on_fatal)(void *server, const struct error *e);
    void (*on_durable)(void *server, uint64_t version); /* when the loop is there */
};

struct server {
    struct host host; /* of its threads, all */
    struct config *config;
    struct net *net;
    struct sessions *sessions;
    struct http *http;  /* NULL = there is none */
    uint16_t http_port; /* listened on; 0 = none */
    struct env env;     /* its db is owned */
    struct service service;
    struct cluster *cluster;   /* with PostgreSQL; NULL = local */
    struct follower *follower; /* likewise; the cluster's, as the next */
    struct kept_users *kept_users;
    int host_turns;              /* pg_options: of all connections, which it outlives */
    struct term *term;           /* likewise; a leader's is its database's */
    struct leading *leading;     /* leader.c: it is to lead, and its database is being opened */
    struct node node;            /* likewise */
    uint16_t sentinel_port;      /* listened on; 0 = none */
    struct sentinels *sentinels; /* likewise; NULL = none */
    bool has_failed;             /* the loop ends because of it */
    int64_t renewed_us;          /* while it starts; monotonic */
    bool is_held;                /* env.serving says that something may not be done now */
    uint64_t commands;           /* that had run at the end of the last turn */
    struct server_hooks hooks;
    bool is_signalled;
    uint64_t memory_bytes; /* that there was at the start; percentages are of it */
    unsigned processors;   /* that it may use */
    struct buf backup_dir; /* NUL-ended */
    unsigned umask_before; /* that it was started with: the Unix socket keeps to it */
    bool is_any_port;      /* port 0 is any free one: for tests */
    unsigned io_threads;   /* where the configuration leaves it to the server: for tests; 0 = by the
                            * processors */
    bool is_any_tls_port;  /* likewise tls-port ... */
    bool is_any_http_port; /* ... and http-port, ... */
    bool is_any_sentinel_port;
    struct tls_status tls;
    uint64_t tls_stamps[TLS_FILES]; /* of the files as they were last read */
    int64_t tls_looked_us;          /* at them; monotonic */
    size_t late_bytes_max;          /* of watches, for tests; 0 = the default */
    int64_t short_sync_us;          /* file_journal.h, likewise */
    int64_t long_sync_us;           /* likewise */
    bool is_journal_buffered;       /* for tests: as journal-direct no */
    int64_t ticket_ms;              /* of tests; 0 = as usual */
    int64_t format;                 /* likewise; term_options */
};

/* settings.c: what the settings say for each part. With s->hooks; their argument
 * (options.pipeline.arg) is the caller's to add. */
struct db_options settings_db(const struct server *s);
/* Those that commands look at, to s->env; at the start and after a change. */
void settings_to_env(struct server *s);
/* The hooks and counts are loop.c's to add. */
struct net_options settings_net(const struct server *s);
struct net_listen settings_listen(const struct server *s);
struct net_listen settings_listen_tls(const struct server *s);
struct session_options settings_sessions(struct server *s);
/* Makes sure of the descriptors that maxclients needs, or lowers the setting, with a line that says
 * so. */
void settings_limit_clients(struct server *s);
/* What commands ask of the server. */
extern const struct server_ops settings_ops;

/* http.c */
/* Listens for HTTP, if it is to. A default port that is taken is passed over. */
ERR_MUST_USE enum err http_open(struct server *s, struct error *e);
/* struct session_options: another node passes on a connection that speaks HTTP. */
void http_of_node(void *server, struct stream *stream, struct slice bytes);
/* What settings say, at the start and after a change. */
struct http_options http_options_of(const struct server *s);

/* tls.c */
/* Are its files needed: does it listen for TLS, or for HTTP under TLS? */
bool tls_is_on(const struct server *s);
/* Does it listen for RESP under TLS? */
bool tls_has_port(const struct server *s);
/* At the start, before it listens. */
ERR_MUST_USE enum err tls_open(struct server *s, struct error *e);
/* What settings say that may come into force: to be given to tls_take. */
ERR_MUST_USE enum err tls_make(const struct config *c, struct tls_made *out, struct error *e);
/* New connections get it; `why` is for the log. */
void tls_take(struct server *s, const struct tls_made *made, const char *why);
/* Takes the files anew; those that are bad change nothing, and the log and INFO say why. */
void tls_reload(struct server *s, const char *why);
/* Ten times a second: looks at the files when it is time to. */
void tls_tick(struct server *s);

/* loop.c: opens net, without listeners: from now on the database and the commands have their part
 * of each turn. */
void loop_open(struct server *s);

/* restored.c: what a restore left in the data directory. 0 = the database is not frozen. */
ERR_MUST_USE enum err restored_frozen(const struct server *s, int64_t *frozen_ms, struct error *e);
/* After the start: holds the queues if they are to be. */
void restored_queues(const struct server *s);
/* As server_ops.queues_held. */
enum err restored_hold(void *server, bool is_held, struct error *e);

/* cluster.c: with `backend postgresql`; does nothing where the data is local. */
bool cluster_is_wanted(const struct server *s);
/* Settings that cannot be. */
ERR_MUST_USE enum err cluster_check(const struct server *s, struct error *e);
/* struct db_elsewhere: of a node that does not lead. */
enum err cluster_nothing(void *server, struct journal **journal, struct store **store,
                         struct error *e);
/* When it listens. */
ERR_MUST_USE enum err cluster_open(struct server *s, struct error *e);
/* In the loop's wake and tick. */
void cluster_poll(struct server *s);
void cluster_tick(struct server *s);
/* When all connections are closed, before the database is. */
void cluster_close(struct server *s);

/* Commands run on it from now on. */
static inline void server_use_db(struct server *s, struct db *db)
{
    env_use_db(&s->env, db);
    db_on_durable(db, s->hooks.on_durable, s);
    net_set_durable(s->net, db_durable(db));
}

/* leader.c */
/* This node leads: its database is opened by a thread of `w`, which takes long when there is much
 * to read, or when PostgreSQL is silent; the loop goes on as that of a node that stands by. */
void leader_prepare(struct server *s, struct worker *w);
/* When the worker was polled: serves from now on, if the database is open. ERR_WAIT: not yet. On
 * another error there is no term any more. */
ERR_MUST_USE enum err leader_begin(struct server *s, struct error *e);
/* At the end, when the worker is no more: closes a database that was opened and not served. */
void leader_give_up(struct server *s);
/* While the database is opened, again and again, on its thread: the lease goes on. */
void leader_start_goes_on(struct server *s);
/* Another node leads. */
bool leader_is_lost(const struct server *s);
/* Nothing that this process has is true any more: it begins again as at its start. */
__attribute__((noreturn)) void leader_end(const struct server *s, const struct error *e);
/* A hook of net. */
bool leader_may_send(void *server);
/* Each turn: may it answer (request/serving.h)? */
void leader_look(struct server *s);
/* Each tick: is what was written committed, and if not, why? */
void leader_tick(struct server *s);
/* Settings have changed. */
void leader_set_options(const struct server *s);

/* hangup.c: what SIGHUP is for. */
void hangup(struct server *s);

/* maxmemory-clients in bytes; 0 = no bound. */
uint64_t settings_client_memory(const struct server *s);

#endif
