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

static void address_format(const union address *address, char *out, size_t size)
{
    char host[INET6_ADDRSTRLEN] = "?";
    if (address->any.sa_family == AF_INET) {
        inet_ntop(AF_INET, &address->in.sin_addr, host, sizeof host);
        snprintf(out, size, "%s:%u", host, ntohs(address->in.sin_port));
        return;
    }
    inet_ntop(AF_INET6, &address->in6.sin6_addr, host, sizeof host);
    snprintf(out, size, "[%s]:%u", host, ntohs(address->in6.sin6_port));
}

static bool address_is_local(const union address *address)
{
    if (address->any.sa_family == AF_INET) {
        return (ntohl(address->in.sin_addr.s_addr) >> 24) == 127;
    }
    return IN6_IS_ADDR_LOOPBACK(&address->in6.sin6_addr);
}

static void socket_tune(const struct net *n, int fd)
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

static void refuse(struct net *n, int fd)
{
    static const char line[] = "-ERR max number of clients reached\r\n";
    ssize_t ignored = send(fd, line, sizeof line - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    (void)ignored;
    close(fd);
    n->env->stats.rejected++;
    int64_t now_us = clock_mono_us();
    if (n->refused_us != 0 && now_us - n->refused_us < REFUSED_LOG_US) return;
    n->refused_us = now_us;
    log_warning("connection refused: maxclients (%llu) reached",
                (unsigned long long)n->options.clients_max);
}

static void on_connection(struct ev_loop *loop, ev_io *io, int events)
{
    struct listener *l = io->data;
    struct net *n = l->net;
    (void)loop;
    (void)events;
    for (int i = 0; i < ACCEPTS_MAX; i++) {
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
        n->env->stats.connections++;
        if (n->env->client_count >= n->options.clients_max) {
            refuse(n, fd);
            continue;
        }
        socket_tune(n, fd);
        struct conn *c = conn_new(n, fd);
        address_format(&address, c->client.address, sizeof c->client.address);
        c->client.is_local = address_is_local(&address);
        len = sizeof address;
        if (getsockname(fd, &address.any, &len) == 0) {
            address_format(&address, c->client.local_address, sizeof c->client.local_address);
        }
    }
}

static enum err listen_on(struct net *n, const struct addrinfo *ai, const char *name,
                          struct error *e)
{
    int on = 1;
    int fd = socket(ai->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return error_set(e, ERR_IO, "cannot make a socket: %s", strerror(errno));
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (ai->ai_family == AF_INET6) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    if (bind(fd, ai->ai_addr, ai->ai_addrlen) != 0 || listen(fd, n->options.backlog) != 0) {
        int code = errno;
        close(fd);
        return error_set(e, ERR_IO, "cannot listen on %s port %u: %s", name, n->options.port,
                         strerror(code));
    }
    struct listener *l = &n->listeners[n->listener_count++];
    l->net = n;
    l->fd = fd;
    ev_io_init(&l->io, on_connection, fd, EV_READ);
    l->io.data = l;
    ev_io_start(n->loop, &l->io);
    if (n->options.port == 0) {
        union address address = {0};
        socklen_t len = sizeof address;
        getsockname(fd, &address.any, &len);
        n->options.port = ntohs(address.in.sin_port);
    }
    return OK;
}

/* "*" is every IPv4 address, "::*" every IPv6 one; a leading "-" means that it may be missing. */
static enum err listen_name(struct net *n, const char *given, struct error *e)
{
    bool is_optional = given[0] == '-';
    const char *name = is_optional ? given + 1 : given;
    const char *host = name;
    if (strcmp(name, "*") == 0) host = "0.0.0.0";
    if (strcmp(name, "::*") == 0) host = "::";
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    char port[8];
    snprintf(port, sizeof port, "%u", n->options.port);
    int rc = getaddrinfo(host, port, &hints, &found);
    enum err r = OK;
    if (rc != 0) {
        r = error_set(e, ERR_IO, "cannot listen on %s: %s", name, gai_strerror(rc));
    } else if (n->listener_count == LISTENERS_MAX) {
        r = error_set(e, ERR_LIMIT, "more than %d addresses to listen on", LISTENERS_MAX);
    } else {
        r = listen_on(n, found, name, e);
    }
    if (found != NULL) freeaddrinfo(found);
    if (r != OK && is_optional) {
        log_verbose("%s", e->text);
        return OK;
    }
    return r;
}

enum err listen_open(struct net *n, struct error *e)
{
    for (size_t i = 0; i < n->options.bind_count; i++) {
        enum err r = listen_name(n, n->options.bind[i], e);
        if (r != OK) return r;
    }
    if (n->listener_count == 0) return error_set(e, ERR_IO, "no address to listen on");
    return OK;
}

void listen_close(struct net *n)
{
    for (size_t i = 0; i < n->listener_count; i++) {
        ev_io_stop(n->loop, &n->listeners[i].io);
        close(n->listeners[i].fd);
    }
    n->listener_count = 0;
}
