/* net: the event loop, listeners, connections and timers, on libev. It moves bytes and calls
 * commands; what a command means it does not know. Everything here belongs to the loop thread, but
 * for net_wake.
 */
#ifndef NET_NET_H
#define NET_NET_H

#include "net/output.h"
#include "request/command.h"

struct net;

struct net_options {
    struct env *env;
    char *const *bind; /* addresses; borrowed until net_open returns */
    size_t bind_count;
    uint16_t port;         /* 0 = no TCP ... */
    bool is_any_port;      /* ... unless this is set: any free one (tests) */
    const char *unix_path; /* "" = none; borrowed until net_close returns */
    unsigned unix_mode;    /* permissions of it; 0 = what the umask leaves */
    int backlog;
    bool is_protected;    /* only connections from this machine are served */
    uint64_t idle_s;      /* close clients idle this long; 0 = never */
    uint64_t keepalive_s; /* TCP keep-alive; 0 = off */
    uint64_t clients_max;
    uint64_t bulk_bytes_max;
    uint64_t query_bytes_max;
    struct output_limit output_normal, output_pubsub; /* pubsub: who listens to channels */
};

/* Everything but the listeners; the database may be opened with net_wake after this. */
struct net *net_new(void);
/* Any thread: the database has something to collect. */
void net_wake(struct net *n);
/* Listens. env->db is polled from now on. */
ERR_MUST_USE enum err net_open(struct net *n, const struct net_options *options, struct error *e);
/* Loop thread: what may change while connections are open, which is everything from is_protected
 * on, applies from now on, keepalive_s to new connections. The rest of the options is ignored. */
void net_set_options(struct net *n, const struct net_options *options);
/* The port listened on; 0 = none. */
uint16_t net_port(const struct net *n);
/* Runs until net_stop; returns when nothing is held back any more or after a second. */
void net_run(struct net *n);
/* Loop thread, or a signal handler of net_on_signal's making. */
void net_stop(struct net *n);
/* SIGTERM and SIGINT stop the loop; a second one ends the process at once. SIGHUP opens the log
 * anew. */
void net_on_signals(struct net *n);
/* Closes all connections and listeners. Before the database is closed. */
void net_close(struct net *n);
/* After the database is closed: until then its threads call net_wake. n may be NULL. */
void net_free(struct net *n);
/* Loop thread: closes a connection now (CLIENT KILL). */
void net_client_close(struct net *n, struct client *c);
/* Loop thread: bytes of its buffers. */
void net_client_buffers(const struct client *c, size_t *input, size_t *output);
/* Loop thread: sends bytes (one whole message, copied) to any client, also from inside its own
 * command: they come after every reply that is in its output and after the one being made. They
 * are sent at the end of the turn, and not before `version` is durable. Never closes the connection
 * inside the call: one whose output would be over the hard limit gets nothing more and is closed at
 * the end of the turn. */
void net_client_write(struct net *n, struct client *c, struct slice bytes, uint64_t version);

#endif
