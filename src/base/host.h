/* host: what an engine lives in, and all that it does not share with others in the process: where
 * its lines of the log go, its clock, its fault points, what observes its files, and what happens
 * when it is broken. The caller that makes an engine makes a host, and each thread that works for
 * the engine has that host for its own: the thread that makes calls from host_try on, and the
 * engine's threads, as a thread that makes another hands its own host on. So two engines in a
 * process do not know of each other, and a thread may work for several, one inside of the other.
 *
 * A thread without a host has the real clock, no faults, and the log that log_open opened.
 *
 * BROKEN. An invariant does not hold, or there is no memory for a small structure: die (err.h) is
 * called. By default the process ends there. A host with `on_broken` survives it: the thread that
 * found it calls that, leaves everything as it is (locks that it holds, lists that it was
 * changing), and goes on after the innermost host_try of its own. From then on no thread may look
 * at what the engine has in memory. What it has of the system is given back with host_give_back:
 * each thread, file and lock is noted here for that as long as there is one. Its memory is lost.
 *
 *   whole --host_break, on any thread--> broken --host_give_back--> nothing is left but memory
 */
#ifndef BASE_HOST_H
#define BASE_HOST_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct file_observer;
struct trace_move;
struct log_sink;

/* base/fault.h */
struct faults {
    int is_armed;         /* atomic; the rest is guarded by the lock */
    pthread_mutex_t lock; /* of any thread of the host */
    char prefix[64];
    uint64_t nth;
    uint64_t calls;
    bool is_sticky;
    bool was_hit;
    unsigned sync_delay_ms, read_delay_ms; /* atomic */
    bool reads_wait;                       /* atomic */
};

/* base/machine.h */
struct trace {
    int is_on;                /* atomic; the rest is guarded by the lock */
    pthread_mutex_t lock;     /* of any thread of the host */
    struct trace_move *moves; /* owned ring; NULL until it was switched on */
    uint64_t count;           /* of moves seen since then */
};

/* In which order they are given back. */
enum host_stage { HOST_THREADS, HOST_FILES, HOST_STAGES };

/* What the host has to give back when it is broken; a member of whatever it is a part of. */
struct host_thing {
    struct host_thing *next, *prev;
    struct host *host; /* NULL: it is not noted */
    enum host_stage stage;
    void (*give_back)(struct host_thing *t);
};

enum host_state { HOST_WHOLE, HOST_BREAKING, HOST_BROKEN };

struct host {
    struct faults faults;
    struct trace trace;
    int64_t fake_ms, step_us;          /* atomic; base/clock.h */
    const struct log_sink *log;        /* borrowed; NULL = as log_open said */
    const struct file_observer *files; /* borrowed; tests only; NULL = none */
    int loop_stat; /* atomic; descriptor, owned: base/give_way.h; not above 0 = none */

    /* Called once, by the thread that found it, perhaps with locks held; why() says why. It must
     * not wait for another thread. NULL = the process ends. */
    void (*on_broken)(void *arg);
    void *arg;

    int state;                /* atomic: enum host_state */
    char why[256];            /* from HOST_BROKEN on */
    pthread_mutex_t lock;     /* guards all below */
    struct host_thing things; /* head of a ring, newest first */
    int *fds;                 /* owned: open files, oldest first */
    size_t fd_count, fd_room;
};

/* Without a log of its own, without faults, with the real clock, not broken. */
void host_init(struct host *h);
/* Frees its memory; it is not in use any more. */
void host_fini(struct host *h);
/* A host that is made where another one is in use begins with its clock and its faults (tests). */
void host_inherit(struct host *h, const struct host *from);

/* The calling thread works for `h` from now on; NULL: for none. Returns the one before. */
struct host *host_use(struct host *h);
/* That of the calling thread; NULL = none. */
struct host *host_used(void);

/* What the calling thread reads of its host: never NULL. */
extern _Thread_local const struct host *host_mine;

/* Runs `work` with `h` as the thread's host, and then has the one before again. False: it was left
 * by host_break or host_leave. */
bool host_try(struct host *h, void (*work)(void *arg), void *arg);
/* For die: returns when the host of the calling thread, if it has one, does not survive. */
void host_break(const char *why);
/* The calling thread found that its host is broken: as host_break. */
__attribute__((noreturn)) void host_leave(void);
bool host_is_broken(const struct host *h);
/* "" before it is broken. */
const char *host_why(const struct host *h);

/* Notes the thing for the host of the calling thread, if that survives. */
void host_note(struct host_thing *t, enum host_stage stage,
               void (*give_back)(struct host_thing *t));
/* It was closed, or is about to be. Harmless when it was not noted. */
void host_forget(struct host_thing *t);
/* The same for a descriptor; false: there is no memory. */
bool host_note_fd(int fd);
void host_forget_fd(int fd);
/* The host is broken, and no thread uses it but those that are noted: threads end, then files are
 * closed, the newest first. */
void host_give_back(struct host *h);

#endif
