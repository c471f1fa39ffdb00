/* connect: connections that this side begins. */
#include <errno.h>
#include <unistd.h>

#include "net/net_int.h"

enum err net_connect(struct net *n, const struct protocol *p, void *arg,
                     const struct net_address *address, struct error *e)
{
    int fd = socket(address->at.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return error_set(e, ERR_IO, "cannot make a socket: %s", strerror(errno));
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
    conn_begin(c);
    return OK;
}
