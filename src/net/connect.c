/* connect: connections that this side begins. */
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <unistd.h>

#include "net/net_int.h"

#define HOST_BYTES 256

bool net_resolve(const char *text, struct net_address *out)
{
    char host[HOST_BYTES];
    const char *colon = strrchr(text, ':');
    if (colon == NULL || colon == text) return false;
    size_t len = (size_t)(colon - text);
    bool is_bracketed = text[0] == '[' && text[len - 1] == ']';
    if (is_bracketed) len -= 2;
    if (len == 0 || len >= sizeof host) return false;
    snprintf(host, sizeof host, "%.*s", (int)len, is_bracketed ? text + 1 : text);
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    if (getaddrinfo(host, colon + 1, &hints, &found) != 0) return false;
    *out = (struct net_address){.len = found->ai_addrlen};
    memcpy(&out->at, found->ai_addr, found->ai_addrlen);
    freeaddrinfo(found);
    return true;
}

enum err net_connect(struct net *n, const struct protocol *p, void *arg,
                     const struct net_address *address, bool is_tls, struct error *e)
{
    if (is_tls && n->tls == NULL) return error_set(e, ERR_IO, "TLS is not configured here");
    int fd = socket(address->at.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return error_set(e, ERR_IO, "cannot create a socket: %s", strerror(errno));
    socket_tune(n, fd);
    if (connect(fd, (const struct sockaddr *)&address->at, address->len) != 0 &&
        errno != EINPROGRESS) {
        enum err r = error_set(e, ERR_IO, "cannot connect: %s", strerror(errno));
        close(fd);
        return r;
    }
    struct listener none = {.net = n, .protocol = p, .arg = arg};
    struct link link = {.fd = fd};
    address_write((const struct sockaddr *)&address->at, link.address, sizeof link.address);
    struct conn *c = conn_make(n, &none, &link);
    c->is_outgoing = true;
    n->conn_count--;
    if (is_tls) {
        c->stream.link.is_tls = true;
        c->tls = tls_new_outgoing(n->tls, fd);
        if (c->tls == NULL) die("out of memory for a TLS connection");
        n->options.tls->connections++;
    }
    conn_begin(c);
    return OK;
}

void stream_channel(const struct stream *s, uint8_t out[LINK_CHANNEL_BYTES])
{
    const struct conn *c = (const struct conn *)s;
    memset(out, 0, LINK_CHANNEL_BYTES);
    if (c->tls != NULL) tls_channel(c->tls, out);
}
