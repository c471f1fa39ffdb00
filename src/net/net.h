/* net: the event loop, listeners, connections and timers, on libev. It moves bytes; what they mean
 * is the protocols' to know (stream.h), and what else belongs to a turn of the loop is done by the
 * hooks. Everything here belongs to the loop thread, but for net_wake and the hook may_send. With
 * io_threads others do a part of the loop's work while it waits for them (net/io_threads.h).
 */
#ifndef NET_NET_H
#define NET_NET_H

#include <sys/socket.h>

#include "base/err.h"
#include "base/slice.h"
#include "net/link.h"
#include "net/tls.h"

struct net;
struct protocol;

/* Which connections have asked lately. */
enum net_asking {
    NET_ASKING_ANY,
    NET_ASKING_WAITERS, /* what ran waits for a version, all of it for some time */
    NET_ASKING_ONE,     /* one and the same */
};

/* What the owner of the loop does in it. None may be NULL. */
struct net_hooks {
    void *arg;
    /* net_wake was called. */
    void (*wake)(void *arg);
    /* A turn begins; it is now_us (monotonic). */
    void (*turn_begin)(void *arg, int64_t now_us);
    /* The turn's requests have run; output is sent next. True when there is more to do, so that the
     * loop must not sleep. */
    bool (*turn_end)(void *arg);
    /* Output was sent. The turn read and made so many bytes and began so many seconds ago. */
    void (*turn_over)(void *arg, size_t bytes, double seconds);
    /* Every 10 ms, every 100 ms; when nothing happens, both as rest_ms says. */
    void (*tick)(void *arg);
    void (*slow_tick)(void *arg);
    /* In how many ms time brings something, as far as is known after a tick: at least 1. The next
     * tick comes then, after 100 ms at the latest, or 10 ms after something has happened. */
    int64_t (*rest_ms)(void *arg);
    /* Asked right before anything is sent, by any of the threads that send: no means that
     * all output is held, until a later tick hears yes. NULL = always yes. */
    bool (*may_send)(void *arg);
};

struct net_options {
    struct net_hooks hooks;
    struct net_counts *counts; /* added to; borrowed until net_close returns, as the next */
    struct tls_status *tls;    /* its figures of connections and handshakes are kept right */
    unsigned io_threads; /* that send and receive, the loop's own among them; at most 128; 0 and 1:
                          * it is alone */
    int backlog;
    bool is_protected;            /* only connections from this machine are served */
    uint64_t keepalive_s;         /* TCP keep-alive; 0 = off */
    uint64_t address_clients_max; /* of one address, but for this machine's; 0 = any number */
    uint64_t clients_max;         /* connections, of all protocols, in a handshake too */
};

/* Of IPv4 or IPv6, with the port. */
struct net_address {
    struct sockaddr_storage at;
    socklen_t len;
};

/* Where connections of one protocol are accepted. */
struct net_listen {
    const struct protocol *protocol;
    void *arg;         /* of protocol->begin */
    char *const *bind; /* addresses; borrowed until net_listen returns */
    size_t bind_count;
    uint16_t port;         /* 0 = no TCP ... */
    const char *setting;   /* that says the port, for an error; NULL = none does */
    bool is_any_port;      /* ... unless this is set: any free one (tests) */
    bool is_tls;           /* on TCP alone; net_set_tls comes first */
    const char *unix_path; /* "" = none; borrowed until net_close returns */
    unsigned unix_mode;    /* permissions of it; 0 = what the umask leaves */
};

/* Everything but the hooks and listeners; net_wake may be called after this. */
struct net *net_new(void);
/* Any thread: the hook `wake` is called on the loop's. */
void net_wake(struct net *n);
void net_open(struct net *n, const struct net_options *options);
/* After net_open. *port: the port listened on, 0 = none. */
ERR_MUST_USE enum err net_listen(struct net *n, const struct net_listen *l, uint16_t *port,
                                 struct error *e);
/* host:port or [host]:port, by name or number. False: it is none, or it is not known. Any thread;
 * blocks while the name is resolved. */
bool net_resolve(const char *text, struct net_address *out);
/* A connection to a peer (one of protocol p, begun with arg): it is there at once, what is
 * written to it waits until it is connected, and it dies if that fails. It does not count as one
 * of clients_max. is_tls: under TLS, with the context of net_set_tls, which there must be.
 * ERR_IO. */
ERR_MUST_USE enum err net_connect(struct net *n, const struct protocol *p, void *arg,
                                  const struct net_address *address, bool is_tls, struct error *e);
/* What may change while connections are open: is_protected, both maxima, and keepalive_s for new
 * connections. The rest of the options is ignored. */
void net_set_options(struct net *n, const struct net_options *options);
/* Connections that come from now on get this one; net owns it, and frees the one before. */
void net_set_tls(struct net *n, struct tls_context *c);
/* To be asked at the end of a turn. */
enum net_asking net_asking(const struct net *n);
/* Output of all connections up to this version may leave. */
void net_set_durable(struct net *n, uint64_t version);
/* Runs until net_stop; returns when nothing is held back or under way any more (protocol->stop), or
 * after a second. */
void net_run(struct net *n);
/* Loop thread, or a signal handler of net_on_signal's making. */
void net_stop(struct net *n);
/* Calls f on the loop thread after such a signal. At most 8 of them. */
void net_on_signal(struct net *n, int signal, void (*f)(void *arg, int signal), void *arg);
/* Is the text an address of IPv4 or IPv6, without a port? */
bool net_is_address(struct slice text);
/* Closes all connections and listeners. Before what the hooks and protocols use is closed. */
void net_close(struct net *n);
/* To be called when net_wake is not called any more. n may be NULL. */
void net_free(struct net *n);

#endif
