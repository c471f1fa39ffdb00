/* A message is its length (4 bytes) and its bytes, over a pipe. Signals come through a descriptor
 * (signalfd), so that nothing global is needed to hear of them.
 */
#include "base/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/bytes.h"

#define HEAD_BYTES 4
#define READ_BYTES 65536

static void write_all(int fd, const uint8_t *at, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, at, len);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) _exit(1);
        at += n;
        len -= (size_t)n;
    }
}

void child_say(int out, struct slice message)
{
    uint8_t head[HEAD_BYTES];
    INVARIANT(message.len <= CHILD_MESSAGE_MAX);
    put_u32(head, (uint32_t)message.len);
    write_all(out, head, sizeof head);
    write_all(out, message.data, message.len);
}

/* Takes the whole messages at the beginning of `in`. */
static void messages_take(struct child *c, struct buf *in)
{
    size_t at = 0;
    while (in->len - at >= HEAD_BYTES) {
        size_t len = get_u32(in->data + at);
        INVARIANT(len <= CHILD_MESSAGE_MAX);
        if (in->len - at - HEAD_BYTES < len) break;
        c->take(c->arg, slice_of(in->data + at + HEAD_BYTES, len));
        at += HEAD_BYTES + len;
    }
    if (at == 0) return;
    memmove(in->data, in->data + at, in->len - at);
    in->len -= at;
}

/* What the child has to say, up to its end, or to a signal. */
static void listen_to(struct child *c, int out, int signals)
{
    struct buf in;
    buf_init(&in);
    for (;;) {
        struct pollfd fds[2] = {{.fd = out, .events = POLLIN}, {.fd = signals, .events = POLLIN}};
        struct signalfd_siginfo info;
        if (poll(fds, 2, -1) < 0 && errno != EINTR) break;
        if ((fds[1].revents & POLLIN) != 0 && read(signals, &info, sizeof info) == sizeof info) {
            c->signal = (int)info.ssi_signo;
            break;
        }
        if (fds[0].revents == 0) continue;
        uint8_t *room = buf_reserve(&in, READ_BYTES);
        buf_require(&in);
        ssize_t n = read(out, room, READ_BYTES);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        in.len += (size_t)n;
        messages_take(c, &in);
    }
    buf_fini(&in);
}

static enum err ended(const struct child *c, int status, struct error *e)
{
    if (c->signal != 0) return error_set(e, ERR_IO, "stopped by signal %d", c->signal);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
        return error_set(e, ERR_IO, "it was killed, possibly because memory ran out");
    }
    if (WIFSIGNALED(status)) {
        return error_set(e, ERR_CORRUPT, "it was terminated by signal %d", WTERMSIG(status));
    }
    if (WEXITSTATUS(status) == 0) return OK;
    return error_set(e, ERR_CORRUPT, "it exited with status %d", WEXITSTATUS(status));
}

static __attribute__((noreturn)) void child_main(const struct child *c, pid_t parent, int out)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    (void)sigprocmask(SIG_SETMASK, &c->mask, NULL);
    c->run(c->arg, out);
    _exit(0);
}

static enum err run_with(struct child *c, const int out[2], int signals, struct error *e)
{
    int status = 0;
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid < 0) return error_set(e, ERR_IO, "cannot start a process: error %d", errno);
    if (pid == 0) {
        close(out[0]);
        child_main(c, parent, out[1]);
    }
    close(out[1]);
    listen_to(c, out[0], signals);
    if (c->signal != 0) (void)kill(pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
    return ended(c, status, e);
}

static sigset_t held_signals(void)
{
    sigset_t held;
    sigemptyset(&held);
    sigaddset(&held, SIGINT);
    sigaddset(&held, SIGTERM);
    sigaddset(&held, SIGHUP);
    return held;
}

void child_hold(struct child *c)
{
    sigset_t held = held_signals();
    c->signal = 0;
    (void)sigprocmask(SIG_BLOCK, &held, &c->mask);
}

enum err child_run(struct child *c, struct error *e)
{
    sigset_t held = held_signals();
    int out[2] = {-1, -1};
    int signals = signalfd(-1, &held, SFD_CLOEXEC);
    enum err r = OK;
    if (signals < 0 || pipe2(out, O_CLOEXEC) != 0) {
        r = error_set(e, ERR_IO, "cannot create a pipe: error %d", errno);
    } else {
        r = run_with(c, out, signals, e);
        close(out[0]);
    }
    if (signals >= 0) close(signals);
    return r;
}

void child_release(const struct child *c)
{
    (void)sigprocmask(SIG_SETMASK, &c->mask, NULL);
    if (c->signal != 0) (void)raise(c->signal);
}
