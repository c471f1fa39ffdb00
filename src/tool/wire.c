/* wire: dialling with a time limit, the login, and waiting with poll. hiredis never blocks here:
 * it has a socket of its own that does not, and is only asked to write and read what can be done at
 * once. */
#include "tool/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "tool/secure.h"

struct wire {
    redisContext *context;
    struct secure *secure; /* NULL = without TLS */
    int stop_fd;
    const struct wire_also *also; /* borrowed; NULL = nothing */
    bool has_output;
    bool is_gone;
    char why[WIRE_WHY_BYTES];
};

/* ---- dialling -------------------------------------------------------------------------------- */

static const char *connect_advice(int code)
{
    switch (code) {
    case ECONNREFUSED:
        return ". Nothing listens there. Is the server running, and is this its address? Give it "
               "with -u or TUPLEDCTL_URL";
    case ENOENT:
        return ". The socket does not exist. Is the server running, with `unixsocket` set?";
    case EACCES:
        return ". You have no permission for this socket (unixsocketperm, and your groups)";
    case ETIMEDOUT: return ". Check the address and firewalls; --timeout waits longer";
    default: return "";
    }
}

static enum tool_status connect_failed(const struct wire_options *o, int code,
                                       char why[WIRE_WHY_BYTES])
{
    char place[WIRE_WHY_BYTES];
    wire_place(o, place);
    snprintf(why, WIRE_WHY_BYTES, "cannot connect to %.400s: %s%s", place, strerror(code),
             connect_advice(code));
    return TOOL_BROKEN;
}

/* Connects the socket before `until_us`; 0, or errno. */
static int connect_socket(int fd, const struct sockaddr *address, socklen_t len, int64_t until_us)
{
    if (connect(fd, address, len) == 0) return 0;
    if (errno != EINPROGRESS) return errno;
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    int64_t left_ms = (until_us - clock_mono_us() + 999) / 1000;
    int ready = left_ms <= 0 ? 0 : poll(&p, 1, (int)left_ms);
    if (ready == 0) return ETIMEDOUT;
    int code = 0;
    socklen_t code_len = sizeof code;
    if (ready < 0 || getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &code_len) != 0) return errno;
    return code;
}

static enum tool_status connect_unix(const struct wire_options *o, int64_t until_us, int *out,
                                     char why[WIRE_WHY_BYTES])
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t len = strlen(o->path);
    if (len >= sizeof address.sun_path) {
        snprintf(why, WIRE_WHY_BYTES, "the path of a socket has at most %zu bytes",
                 sizeof address.sun_path - 1);
        return TOOL_WORDS;
    }
    memcpy(address.sun_path, o->path, len + 1);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return connect_failed(o, errno, why);
    int code = connect_socket(fd, (const struct sockaddr *)&address, sizeof address, until_us);
    if (code == 0) {
        *out = fd;
        return TOOL_DONE;
    }
    close(fd);
    return connect_failed(o, code, why);
}

static enum tool_status connect_tcp(const struct wire_options *o, int64_t until_us, int *out,
                                    char why[WIRE_WHY_BYTES])
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG};
    struct addrinfo *found = NULL;
    int failed = getaddrinfo(o->host, o->port, &hints, &found);
    if (failed != 0) {
        snprintf(why, WIRE_WHY_BYTES, "cannot find the host %.400s: %s", o->host,
                 failed == EAI_SYSTEM ? strerror(errno) : gai_strerror(failed));
        return TOOL_BROKEN;
    }
    int code = ECONNREFUSED;
    for (struct addrinfo *a = found; a != NULL; a = a->ai_next) {
        int on = 1;
        int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, a->ai_protocol);
        code = fd < 0 ? errno : connect_socket(fd, a->ai_addr, a->ai_addrlen, until_us);
        if (code == 0) {
            setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
            setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
            freeaddrinfo(found);
            *out = fd;
            return TOOL_DONE;
        }
        if (fd >= 0) close(fd);
    }
    freeaddrinfo(found);
    return connect_failed(o, code, why);
}

/* ---- bytes ----------------------------------------------------------------------------------- */

static enum wire_event connect_gone(struct wire *w)
{
    const redisContext *c = w->context;
    if (!w->is_gone) {
        snprintf(w->why, sizeof w->why, "the connection broke: %s",
                 c->err == REDIS_ERR_EOF  ? "the server closed the connection"
                 : c->err == REDIS_ERR_IO ? strerror(errno)
                                          : c->errstr);
    }
    w->is_gone = true;
    return WIRE_GONE;
}

static bool connect_write(struct wire *w)
{
    int is_done = 0;
    if (!w->has_output) return true;
    if (redisBufferWrite(w->context, &is_done) != REDIS_OK) return false;
    w->has_output = !is_done;
    return true;
}

bool wire_write(struct wire *w)
{
    if (!w->is_gone && connect_write(w)) return true;
    connect_gone(w);
    return false;
}

bool wire_move(struct wire *w)
{
    if (!w->is_gone && connect_write(w) && redisBufferRead(w->context) == REDIS_OK) return true;
    connect_gone(w);
    return false;
}

bool wire_take(struct wire *w, redisReply **reply)
{
    void *r = NULL;
    *reply = NULL;
    if (w->is_gone) return false;
    if (redisGetReplyFromReader(w->context, &r) != REDIS_OK) {
        connect_gone(w);
        return false;
    }
    *reply = r;
    return true;
}

void wire_attend(struct wire *w, const struct wire_also *also)
{
    w->also = also;
}

/* Until something can be read, the output is gone, or the time is over. */
static enum wire_event connect_wait(struct wire *w, int64_t until_us)
{
    struct pollfd fds[4] = {{.fd = w->context->fd, .events = POLLIN},
                            {.fd = w->stop_fd, .events = POLLIN},
                            {.fd = w->also != NULL ? w->also->fds[0] : -1, .events = POLLIN},
                            {.fd = w->also != NULL ? w->also->fds[1] : -1, .events = POLLIN}};
    int left_ms = -1;
    if (!connect_write(w)) return connect_gone(w);
    if (w->has_output) fds[0].events |= POLLOUT;
    if (until_us >= 0) {
        int64_t left = (until_us - clock_mono_us() + 999) / 1000;
        left_ms = left <= 0 ? 0 : left > 1000000 ? 1000000 : (int)left;
    }
    int n = poll(fds, 4, left_ms);
    if (n < 0 && errno != EINTR) return connect_gone(w);
    if (n > 0 && fds[1].revents != 0) return WIRE_STOPPED;
    bool is_for_also = n > 0 && (fds[2].revents != 0 || fds[3].revents != 0);
    if (is_for_also && w->also != NULL) w->also->attend(w->also->arg);
    if (n > 0 && (fds[0].revents & ~POLLOUT) != 0 && redisBufferRead(w->context) != REDIS_OK) {
        return connect_gone(w);
    }
    return n == 0 && until_us >= 0 && clock_mono_us() >= until_us ? WIRE_NOTHING : WIRE_REPLY;
}

enum wire_event wire_next(struct wire *w, int64_t until_us, redisReply **reply)
{
    for (;;) {
        if (!wire_take(w, reply)) return WIRE_GONE;
        if (*reply != NULL) return WIRE_REPLY;
        enum wire_event event = connect_wait(w, until_us);
        if (event != WIRE_REPLY) return event;
    }
}

/* ---- commands -------------------------------------------------------------------------------- */

void wire_append(struct wire *w, size_t count, const struct slice *words)
{
    const char **argv = mem_alloc((count + 1) * sizeof *argv);
    size_t *lengths = mem_alloc((count + 1) * sizeof *lengths);
    for (size_t i = 0; i < count; i++) {
        argv[i] = (const char *)words[i].data;
        lengths[i] = words[i].len;
    }
    if (redisAppendCommandArgv(w->context, (int)count, argv, lengths) != REDIS_OK) {
        connect_gone(w);
    }
    w->has_output = true;
    mem_free(argv);
    mem_free(lengths);
}

void wire_append_text(struct wire *w, const char *const *words)
{
    size_t count = 0;
    while (words[count] != NULL) count++;
    struct slice *slices = mem_alloc((count + 1) * sizeof *slices);
    for (size_t i = 0; i < count; i++) slices[i] = slice_str(words[i]);
    wire_append(w, count, slices);
    mem_free(slices);
}

static enum tool_status connect_answer(struct wire *w, redisReply **reply)
{
    enum wire_event event = wire_next(w, -1, reply);
    if (event == WIRE_REPLY) return (*reply)->type == REDIS_REPLY_ERROR ? TOOL_NO : TOOL_DONE;
    *reply = NULL;
    if (event == WIRE_STOPPED) snprintf(w->why, sizeof w->why, "stopped");
    return TOOL_BROKEN;
}

enum tool_status wire_call(struct wire *w, const char *const *words, redisReply **reply)
{
    wire_append_text(w, words);
    return connect_answer(w, reply);
}

enum tool_status wire_call_slices(struct wire *w, size_t count, const struct slice *words,
                                  redisReply **reply)
{
    wire_append(w, count, words);
    return connect_answer(w, reply);
}

int wire_fd(const struct wire *w)
{
    return w->context->fd;
}

bool wire_wants_out(const struct wire *w)
{
    return w->has_output;
}

const char *wire_why(const struct wire *w)
{
    return w->why;
}

/* ---- the beginning --------------------------------------------------------------------------- */

/* What an error in the beginning means for the caller. */
static enum tool_status connect_refused(const struct wire_options *o, const redisReply *r,
                                        char why[WIRE_WHY_BYTES])
{
    char advice[256] = "";
    struct slice text = wire_slice(r);
    const char *of = o->password_of != NULL ? o->password_of
                                            : "TUPLEDCTL_PASSWORD or --password-file";
    if (slice_has_prefix(text, slice_str("NOAUTH"))) {
        snprintf(advice, sizeof advice,
                 " The server requires a password: use %s, and put the user into the URL", of);
    } else if (slice_has_prefix(text, slice_str("WRONGPASS"))) {
        if (o->user == NULL) {
            snprintf(advice, sizeof advice, ". Without a user in the URL, it is that of `default`");
        }
    }
    snprintf(why, WIRE_WHY_BYTES, "%.500s%s", r->str, advice);
    return TOOL_NO;
}

static enum tool_status connect_hear(struct wire *w, const struct wire_options *o, const char *what,
                                     int64_t until_us, char why[WIRE_WHY_BYTES])
{
    redisReply *r = NULL;
    char place[WIRE_WHY_BYTES];
    enum tool_status status = TOOL_BROKEN;
    wire_place(o, place);
    switch (wire_next(w, until_us, &r)) {
    case WIRE_REPLY:
        status = TOOL_DONE;
        /* A user may be allowed little: that it is known is enough. */
        if (r->type == REDIS_REPLY_ERROR &&
            !(strcmp(what, "CLIENT") == 0 &&
              slice_has_prefix(wire_slice(r), slice_str("NOPERM")))) {
            status = connect_refused(o, r, why);
        }
        break;
    case WIRE_NOTHING:
        snprintf(why, WIRE_WHY_BYTES, "%.400s: no reply within %lld s", place,
                 (long long)o->timeout_s);
        break;
    case WIRE_STOPPED: snprintf(why, WIRE_WHY_BYTES, "stopped"); break;
    case WIRE_GONE:
        snprintf(why, WIRE_WHY_BYTES, "%.300s: %.200s. Is this the port for %s", place, w->why,
                 o->is_tls ? "TLS, and does it require a client certificate (--cert)?"
                           : "connections without TLS? Use rediss:// for TLS");
        break;
    }
    if (r != NULL) freeReplyObject(r);
    return status;
}

/* Login, database, and a name for CLIENT LIST: sent together. */
static enum tool_status connect_begin(struct wire *w, const struct wire_options *o,
                                      int64_t until_us, char why[WIRE_WHY_BYTES])
{
    const char *expected[3];
    size_t count = 0;
    if (o->password != NULL && o->user != NULL) {
        wire_append_text(w, (const char *const[]){"AUTH", o->user, o->password, NULL});
        expected[count++] = "AUTH";
    } else if (o->password != NULL) {
        wire_append_text(w, (const char *const[]){"AUTH", o->password, NULL});
        expected[count++] = "AUTH";
    }
    if (o->database != NULL) {
        wire_append_text(w, (const char *const[]){"SELECT", o->database, NULL});
        expected[count++] = "SELECT";
    }
    wire_append_text(w, (const char *const[]){"CLIENT", "SETNAME", "tupledctl", NULL});
    expected[count++] = "CLIENT";
    for (size_t i = 0; i < count; i++) {
        enum tool_status status = connect_hear(w, o, expected[i], until_us, why);
        if (status != TOOL_DONE) return status;
    }
    return TOOL_DONE;
}

enum tool_status wire_open(const struct wire_options *o, struct wire **out,
                           char why[WIRE_WHY_BYTES])
{
    int64_t until_us = clock_mono_us() + o->timeout_s * 1000000;
    struct wire *w = NULL;
    int fd = -1;
    enum tool_status status = o->path != NULL ? connect_unix(o, until_us, &fd, why)
                                              : connect_tcp(o, until_us, &fd, why);
    if (status != TOOL_DONE) return status;
    w = mem_new(sizeof *w);
    w->stop_fd = o->stop_fd;
    if (o->is_tls) {
        status = secure_open(o, fd, until_us, &w->secure, &fd, why);
        if (status != TOOL_DONE) {
            mem_free(w);
            return status;
        }
        fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    }
    w->context = redisConnectFd(fd);
    if (w->context == NULL) die("out of memory for a connection");
    w->context->flags &= ~REDIS_BLOCK;
    w->context->reader->maxbuf = 0;
    status = connect_begin(w, o, until_us, why);
    if (status == TOOL_DONE) {
        *out = w;
    } else {
        wire_close(w);
    }
    return status;
}

void wire_close(struct wire *w)
{
    if (w == NULL) return;
    redisFree(w->context);
    secure_close(w->secure);
    mem_free(w);
}
