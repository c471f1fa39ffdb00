/* unix_socket: the listening socket that is a file.
 *
 * A server that ended without stopping leaves its file behind; no server can listen there until it
 * is removed. It is removed only if it is a socket and refuses a connection: a live server's socket
 * would otherwise vanish under its clients without a word.
 */
#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "net/net_int.h"

static enum err unix_address(const char *path, struct sockaddr_un *out, struct error *e)
{
    size_t bytes = strlen(path) + 1;
    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (bytes > sizeof out->sun_path) {
        return error_set(e, ERR_LIMIT, "the path of the Unix socket is longer than %zu bytes",
                         sizeof out->sun_path - 1);
    }
    memcpy(out->sun_path, path, bytes);
    return OK;
}

/* Makes the path free, or says why it cannot. */
static enum err remove_stale(const char *path, const struct sockaddr_un *address, struct error *e)
{
    enum file_kind kind = file_kind_of(path, NULL);
    if (kind == FILE_KIND_NONE) return OK;
    if (kind != FILE_KIND_SOCKET) {
        return error_set(e, ERR_IO, "cannot listen on %s: the file exists and is not a socket",
                         path);
    }
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return error_set(e, ERR_IO, "cannot create a socket: %s", strerror(errno));
    int rc = connect(fd, (const struct sockaddr *)address, sizeof *address);
    int code = errno;
    close(fd);
    /* EAGAIN: a server listens there, and its backlog is full. */
    if (rc == 0 || code == EAGAIN) {
        return error_set(e, ERR_LOCKED, "cannot listen on %s: another server is listening there",
                         path);
    }
    if (code != ECONNREFUSED) {
        return error_set(e, ERR_IO, "cannot listen on %s: %s", path, strerror(code));
    }
    log_notice("replacing the stale socket %s", path);
    return file_remove(path, e);
}

enum err unix_socket_open(struct net *n, const struct net_listen *l, struct error *e)
{
    const char *path = l->unix_path;
    struct sockaddr_un address;
    enum err r = unix_address(path, &address, e);
    if (r == OK && n->listener_count == LISTENERS_MAX) {
        r = error_set(e, ERR_LIMIT, "more than %d addresses to listen on", LISTENERS_MAX);
    }
    if (r == OK) r = remove_stale(path, &address, e);
    if (r != OK) return r;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return error_set(e, ERR_IO, "cannot create a socket: %s", strerror(errno));
    if (bind(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        r = error_set(e, ERR_IO, "cannot listen on %s: %s", path, strerror(errno));
        close(fd);
        return r;
    }
    struct listener *mine = listener_add(n, l, fd);
    mine->unix_path = path;
    (void)file_kind_of(path, &mine->unix_inode);
    /* No client can connect between the two: it does not listen yet. */
    if (l->unix_mode != 0) r = file_chmod(path, l->unix_mode, e);
    if (r == OK && listen(fd, n->options.backlog) != 0) {
        r = error_set(e, ERR_IO, "cannot listen on %s: %s", path, strerror(errno));
    }
    return r; /* on an error listen_close closes it and removes the file */
}

void unix_socket_remove(struct listener *l)
{
    uint64_t inode = 0;
    struct error e;
    if (l->unix_inode == 0) return;
    if (file_kind_of(l->unix_path, &inode) != FILE_KIND_SOCKET) return;
    if (inode == l->unix_inode && file_remove(l->unix_path, &e) != OK) {
        log_warning("%s", e.text);
    }
    l->unix_inode = 0;
}
