/* child: a function that runs in a process of its own, and what it says, one message after the
 * other. For work on what may be damaged in unforeseen ways: when the child dies, the caller lives
 * on and can clean up. The caller must have one thread.
 *
 * From child_hold to child_release SIGINT, SIGTERM and SIGHUP do not end the caller, so that it can
 * remove what it made: while it waits for the child they end the child, and child_release delivers
 * them. When the caller dies the child is killed.
 */
#ifndef BASE_CHILD_H
#define BASE_CHILD_H

#include <signal.h>

#include "base/err.h"
#include "base/slice.h"

#define CHILD_MESSAGE_MAX (1u << 20)

struct child {
    /* In the child, which ends with it. `out` is for child_say. */
    void (*run)(void *arg, int out);
    /* In the caller, for each message in order; the slice is borrowed. */
    void (*take)(void *arg, struct slice message);
    void *arg;
    int signal;    /* result: with which the caller was to be ended meanwhile; 0 = none */
    sigset_t mask; /* of the caller before child_hold; set by it */
};

/* Before the first thing is made that must not be left behind. */
void child_hold(struct child *c);

/* Between child_hold and child_release.
 * OK: `run` came to its end. ERR_CORRUPT: the child died, *e says of what; ERR_IO: there could be
 * no child, or a signal came, or the child was killed. */
ERR_MUST_USE enum err child_run(struct child *c, struct error *e);
/* When nothing is left to remove. Does not return if a signal came that ends the process. */
void child_release(const struct child *c);
/* At most CHILD_MESSAGE_MAX bytes. The process ends if there is no reader any more. */
void child_say(int out, struct slice message);

#endif
