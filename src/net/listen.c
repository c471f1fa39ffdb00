/* listen: the listening sockets, and taking connections from them. */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "net/net_int.h"

#define ACCEPTS_MAX 64 /* in one turn */
#define REFUSED_LOG_US 60000000

union address {
    struct sockaddr any;
    struct sockaddr_in in;
    struct sockaddr_in6 in6;
};

void address_write(const struct sockaddr *address, char *out, size_t size)
{
    char host[INET6_ADDRSTRLEN] = "?";
    const struct sockaddr_in *in = (const struct sockaddr_in *)address;
    const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)address;
    if (address->sa_family == AF_INET) {
        inet_ntop(AF_INET, &in->sin_addr, host, sizeof host);
        snprintf(out, size, "%s:%u", host, ntohs(in->sin_port));
        return;
    }
    inet_ntop(AF_INET6, &in6->sin6_addr, host, sizeof host);
    snprintf(out, size, "[%s]:%u", host, ntohs(in6->sin6_port));
}

/* As Redis: the machine's own other addresses are not local. */
static bool address_is_local(const union address *address)
{
    if (address->any.sa_family == AF_INET) {
        return (ntohl(address->in.sin_addr.s_addr) >> 24) == 127;
    }
    const struct in6_addr *in6 = &address->in6.sin6_addr;
    return IN6_IS_ADDR_LOOPBACK(in6) || (IN6_IS_ADDR_V4MAPPED(in6) && in6->s6_addr[12] == 127);
}

void socket_tune(const struct net *n, int fd)
{
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (n->options.keepalive_s == 0) return;
    int idle_s = (int)n->options.keepalive_s;
    int interval_s = idle_s / 3 > 0 ? idle_s / 3 : 1;
    int probes = 3;
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof interval_s);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
}

static void refuse(struct net *n, int fd, const char *line, const char *why)
{
    ssize_t ignored = send(fd, line, strlen(line), MSG_NOSIGNAL | MSG_DONTWAIT);
    (void)ignored;
    close(fd);
    n->options.counts->rejected++;
    int64_t now_us = clock_mono_us();
    if (n->refused_us != 0 && now_us - n->refused_us < REFUSED_LOG_US) return;
    n->refused_us = now_us;
    log_warning("connection refused: %s", why);
}

static void link_fill(struct link *link, const struct listener *l, int fd,
                      const union address *peer)
{
    link->fd = fd;
    link->is_unix = l->unix_path != NULL;
    link->is_local = link->is_unix || address_is_local(peer);
    if (link->is_unix) {
        snprintf(link->address, sizeof link->address, "%s:0", l->unix_path);
        snprintf(link->local_address, sizeof link->local_address, "%s:0", l->unix_path);
        return;
    }
    address_write(&peer->any, link->address, sizeof link->address);
    union address own = {0};
    socklen_t len = sizeof own;
    if (getsockname(fd, &own.any, &len) == 0) {
        address_write(&own.any, link->local_address, sizeof link->local_address);
    }
}

/* False: there are too many of its address. Those of this machine are not counted. */
static bool peer_is_counted(struct net *n, struct link *link, const union address *peer)
{
    if (link->is_local) return true;
    bool is_4 = peer->any.sa_family == AF_INET;
    struct slice address = is_4 ? slice_of(&peer->in.sin_addr, sizeof peer->in.sin_addr)
                                : slice_of(&peer->in6.sin6_addr, sizeof peer->in6.sin6_addr);
    link->peer = peer_take(&n->peers, address, n->options.address_clients_max);
    return link->peer != NULL;
}

/* A connection that was accepted: served or refused. */
static void take_connection(const struct listener *l, int fd, const union address *peer)
{
    struct net *n = l->net;
    struct link link = {0};
    n->options.counts->connections++;
    link_fill(&link, l, fd, peer);
    bool is_full = n->conn_count >= n->options.clients_max;
    while (is_full && handshakes_cut(n)) is_full = n->conn_count >= n->options.clients_max;
    if (is_full) {
        /* Nothing can be said before a handshake. */
        refuse(n, fd, l->is_tls ? "" : l->protocol->full, "maxclients reached");
        return;
    }
    if (!l->is_tls && n->options.is_protected && !link.is_local) {
        refuse(n, fd, l->protocol->denied, "protected-mode, and it comes from another machine");
        return;
    }
    if (!peer_is_counted(n, &link, peer)) {
        refuse(n, fd, l->is_tls ? "" : l->protocol->full, "maxclients-per-address reached");
        return;
    }
    if (!link.is_unix) socket_tune(n, fd);
    if (l->is_tls) {
        handshake_new(n, l, &link);
    } else {
        conn_new(n, l, &link);
    }
}

static void on_connection(struct ev_loop *loop, ev_io *io, int events)
{
    struct listener *l = io->data;
    (void)loop;
    (void)events;
    for (int i = 0; i < ACCEPTS_MAX; i++) {
        if (l->is_tls && handshakes_are_many(l->net)) return;
        union address address = {0};
        socklen_t len = sizeof address;
        int fd = accept4(l->fd, &address.any, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0) {
            if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR &&
                errno != ECONNABORTED) {
                log_warning("cannot accept a connection: %s", strerror(errno));
            }
            return;
        }
        take_connection(l, fd, &address);
    }
}

struct listener *listener_add(struct net *n, const struct net_listen *given, int fd)
{
    INVARIANT(n->listener_count < LISTENERS_MAX);
    struct listener *l = &n->listeners[n->listener_count++];
    *l = (struct listener){.net = n, .protocol = given->protocol, .arg = given->arg, .fd = fd};
    l->is_tls = given->is_tls;
    ev_io_init(&l->io, on_connection, fd, EV_READ);
    l->io.data = l;
    ev_io_start(n->loop, &l->io);
    return l;
}

static enum err listen_on(struct net *n, const struct net_listen *l, const struct addrinfo *ai,
                          const char *name, uint16_t *port, struct error *e)
{
    int on = 1;
    int fd = socket(ai->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return error_set(e, ERR_IO, "cannot create a socket: %s", strerror(errno));
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (ai->ai_family == AF_INET6) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    if (bind(fd, ai->ai_addr, ai->ai_addrlen) != 0 || listen(fd, n->options.backlog) != 0) {
        int code = errno;
        close(fd);
        (void)error_set(e, ERR_IO, "cannot listen on %s port %u: %s", name, *port, strerror(code));
        if (code == EADDRINUSE && l->setting != NULL) {
            error_add(e, "; the setting %s chooses another port (--%s <port>)", l->setting,
                      l->setting);
        }
        return ERR_IO;
    }
    (void)listener_add(n, l, fd);
    if (*port == 0) {
        union address address = {0};
        socklen_t len = sizeof address;
        getsockname(fd, &address.any, &len);
        *port = ntohs(address.in.sin_port);
    }
    return OK;
}

/* "*" is every IPv4 address, "::*" every IPv6 one; a leading "-" means that it may be missing. */
static enum err listen_name(struct net *n, const struct net_listen *l, const char *given,
                            uint16_t *port, struct error *e)
{
    bool is_optional = given[0] == '-';
    const char *name = is_optional ? given + 1 : given;
    const char *host = name;
    if (strcmp(name, "*") == 0) host = "0.0.0.0";
    if (strcmp(name, "::*") == 0) host = "::";
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    char number[8];
    snprintf(number, sizeof number, "%u", *port);
    int rc = getaddrinfo(host, number, &hints, &found);
    enum err r = OK;
    if (rc != 0) {
        r = error_set(e, ERR_IO, "cannot listen on %s: %s", name, gai_strerror(rc));
    } else if (n->listener_count == LISTENERS_MAX) {
        r = error_set(e, ERR_LIMIT, "more than %d addresses to listen on", LISTENERS_MAX);
    } else {
        r = listen_on(n, l, found, name, port, e);
    }
    if (found != NULL) freeaddrinfo(found);
    if (r != OK && is_optional) {
        log_verbose("%s", e->text);
        return OK;
    }
    return r;
}

enum err net_listen(struct net *n, const struct net_listen *l, uint16_t *port, struct error *e)
{
    bool is_tcp = l->port != 0 || l->is_any_port;
    size_t before = n->listener_count;
    *port = l->port;
    for (size_t i = 0; is_tcp && i < l->bind_count; i++) {
        enum err r = listen_name(n, l, l->bind[i], port, e);
        if (r != OK) return r;
    }
    if (is_tcp && n->listener_count == before) {
        return error_set(e, ERR_IO, "no address to listen on");
    }
    if (l->unix_path[0] != '\0') return unix_socket_open(n, l, e);
    if (!is_tcp) return error_set(e, ERR_IO, "port and tls-port are 0, and no unixsocket is set");
    return OK;
}

void listen_close(struct net *n)
{
    for (size_t i = 0; i < n->listener_count; i++) {
        struct listener *l = &n->listeners[i];
        ev_io_stop(n->loop, &l->io);
        close(l->fd);
        unix_socket_remove(l);
    }
    n->listener_count = 0;
}

bool net_is_address(struct slice text)
{
    char copy[INET6_ADDRSTRLEN];
    uint8_t binary[sizeof(struct in6_addr)];
    if (text.len == 0 || text.len >= sizeof copy) return false;
    memcpy(copy, text.data, text.len);
    copy[text.len] = '\0';
    return inet_pton(AF_INET, copy, binary) == 1 || inet_pton(AF_INET6, copy, binary) == 1;
}
