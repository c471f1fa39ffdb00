/* host: see host.h. Each thread has its host and a stack of landings, the jump buffers of its
 * host_try calls. The first thread that breaks a host moves it from whole to broken with one
 * compare-and-exchange and calls on_broken; every thread that comes later only jumps. */
#include "base/host.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/list.h"

/* Where a thread goes on when its host is broken. */
struct landing {
    jmp_buf at;
    struct landing *outer;
    struct host *before;
};

static const struct host no_host;

_Thread_local const struct host *host_mine = &no_host;
static _Thread_local struct host *used; /* the same, to be written; NULL = no host */
static _Thread_local struct landing *innermost;

void host_init(struct host *h)
{
    *h = (struct host){.faults = {.is_armed = 0}};
    pthread_mutex_init(&h->faults.lock, NULL);
    pthread_mutex_init(&h->trace.lock, NULL);
    pthread_mutex_init(&h->lock, NULL);
    RING_INIT(&h->things, next, prev);
}

void host_fini(struct host *h)
{
    if (h->loop_stat > 0) close(h->loop_stat);
    free(h->fds);
    free(h->trace.moves);
    pthread_mutex_destroy(&h->trace.lock);
    pthread_mutex_destroy(&h->lock);
    pthread_mutex_destroy(&h->faults.lock);
}

void host_inherit(struct host *h, const struct host *from)
{
    if (from == NULL) return;
    h->fake_ms = __atomic_load_n(&from->fake_ms, __ATOMIC_RELAXED);
    h->step_us = __atomic_load_n(&from->step_us, __ATOMIC_RELAXED);
    memcpy(h->faults.prefix, from->faults.prefix, sizeof h->faults.prefix);
    h->faults.nth = from->faults.nth;
    h->faults.is_sticky = from->faults.is_sticky;
    h->faults.is_armed = from->faults.is_armed;
    h->faults.sync_delay_ms = from->faults.sync_delay_ms;
    h->faults.read_delay_ms = from->faults.read_delay_ms;
    h->faults.reads_wait = from->faults.reads_wait;
}

struct host *host_use(struct host *h)
{
    struct host *before = used;
    used = h;
    host_mine = h != NULL ? h : &no_host;
    return before;
}

struct host *host_used(void)
{
    return used;
}

/* ---- broken ---- */

/* All that is looked at after the jump is memory, and nothing here changes once that is set. */
bool host_try(struct host *h, void (*work)(void *arg), void *arg)
{
    struct landing here = {.outer = innermost};
    here.before = host_use(h);
    innermost = &here;
    bool is_good = setjmp(here.at) == 0;
    if (is_good) work(arg);
    innermost = here.outer;
    (void)host_use(here.before);
    return is_good;
}

void host_leave(void)
{
    /* A thread whose host survives has it from host_try. */
    if (innermost == NULL) abort();
    longjmp(innermost->at, 1);
}

void host_break(const char *why)
{
    struct host *h = used;
    int whole = HOST_WHOLE;
    if (h == NULL || h->on_broken == NULL) return;
    if (__atomic_compare_exchange_n(&h->state, &whole, HOST_BREAKING, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE)) {
        snprintf(h->why, sizeof h->why, "%s", why);
        __atomic_store_n(&h->state, HOST_BROKEN, __ATOMIC_RELEASE);
        h->on_broken(h->arg);
    }
    host_leave();
}

bool host_is_broken(const struct host *h)
{
    return __atomic_load_n(&h->state, __ATOMIC_ACQUIRE) != HOST_WHOLE;
}

const char *host_why(const struct host *h)
{
    return __atomic_load_n(&h->state, __ATOMIC_ACQUIRE) == HOST_BROKEN ? h->why : "";
}

/* ---- what is to be given back ---- */

void host_note(struct host_thing *t, enum host_stage stage, void (*give_back)(struct host_thing *t))
{
    struct host *h = used;
    *t = (struct host_thing){.stage = stage, .give_back = give_back};
    if (h == NULL || h->on_broken == NULL) return;
    t->host = h;
    pthread_mutex_lock(&h->lock);
    struct host_thing *newest = h->things.next;
    RING_INSERT(newest, t, next, prev);
    pthread_mutex_unlock(&h->lock);
}

void host_forget(struct host_thing *t)
{
    struct host *h = t->host;
    if (h == NULL) return;
    pthread_mutex_lock(&h->lock);
    RING_UNLINK(t, next, prev);
    pthread_mutex_unlock(&h->lock);
    t->host = NULL;
}

bool host_note_fd(int fd)
{
    struct host *h = used;
    if (h == NULL || h->on_broken == NULL) return true;
    pthread_mutex_lock(&h->lock);
    if (h->fd_count == h->fd_room) {
        size_t room = h->fd_room == 0 ? 16 : 2 * h->fd_room;
        int *fds = realloc(h->fds, room * sizeof *fds);
        if (fds != NULL) {
            h->fds = fds;
            h->fd_room = room;
        }
    }
    bool has_room = h->fd_count < h->fd_room;
    if (has_room) h->fds[h->fd_count++] = fd;
    pthread_mutex_unlock(&h->lock);
    return has_room;
}

void host_forget_fd(int fd)
{
    struct host *h = used;
    if (h == NULL || h->on_broken == NULL) return;
    pthread_mutex_lock(&h->lock);
    for (size_t i = h->fd_count; i-- > 0;) {
        if (h->fds[i] != fd) continue;
        memmove(&h->fds[i], &h->fds[i + 1], (h->fd_count - i - 1) * sizeof *h->fds);
        h->fd_count--;
        break;
    }
    pthread_mutex_unlock(&h->lock);
}

/* The newest thing of the stage, taken off the list. */
static struct host_thing *thing_take(struct host *h, enum host_stage stage)
{
    pthread_mutex_lock(&h->lock);
    struct host_thing *t = h->things.next;
    while (t != &h->things && t->stage != stage) t = t->next;
    if (t != &h->things) RING_UNLINK(t, next, prev);
    pthread_mutex_unlock(&h->lock);
    if (t == &h->things) return NULL;
    t->host = NULL;
    return t;
}

void host_give_back(struct host *h)
{
    for (int stage = HOST_THREADS; stage < HOST_STAGES; stage++) {
        struct host_thing *t = NULL;
        while ((t = thing_take(h, (enum host_stage)stage)) != NULL) t->give_back(t);
    }
    while (h->fd_count > 0) (void)close(h->fds[--h->fd_count]);
}
