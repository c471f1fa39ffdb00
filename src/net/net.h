/* net: the event loop, listeners, connections and timers, on libev. It moves bytes and calls
 * commands; what a command means it does not know. Everything here belongs to the loop thread, but
 * for net_wake.
 */
#ifndef NET_NET_H
#define NET_NET_H

#include "command/command.h"

struct net;

struct net_options {
    struct env *env;
    char *const *bind; /* addresses; borrowed until net_open returns */
    size_t bind_count;
    uint16_t port; /* 0 = any free one */
    int backlog;
    uint64_t idle_s;      /* close clients idle this long; 0 = never */
    uint64_t keepalive_s; /* TCP keep-alive; 0 = off */
    uint64_t clients_max;
    uint64_t bulk_bytes_max;
    uint64_t query_bytes_max;
    uint64_t output_bytes_hard; /* 0 = no limit, as the next two */
    uint64_t output_bytes_soft;
    uint64_t output_soft_s;
};

/* Everything but the listeners; the backend may be opened with net_wake after this. */
struct net *net_new(void);
/* Any thread: the backend has something to collect. */
void net_wake(struct net *n);
/* Listens. The backend in env->engine is polled from now on. */
ERR_MUST_USE enum err net_open(struct net *n, const struct net_options *options, struct error *e);
/* The port listened on. */
uint16_t net_port(const struct net *n);
/* Runs until net_stop; returns when nothing is held back any more or after a second. */
void net_run(struct net *n);
/* Loop thread, or a signal handler of net_on_signal's making. */
void net_stop(struct net *n);
/* SIGTERM and SIGINT stop the loop; a second one ends the process at once. */
void net_on_signals(struct net *n);
/* Closes all connections and listeners. Before the engine and the backend are closed. */
void net_close(struct net *n);
/* After the backend is closed: until then its threads call net_wake. n may be NULL. */
void net_free(struct net *n);
/* Loop thread: closes a connection now (CLIENT KILL). */
void net_client_close(struct net *n, struct client *c);

#endif
