/* futex: a thread sleeps until another one says that its call is done. The word lies in the
 * sleeper's frame, which may be gone as soon as it is set: it is only named, not touched, after
 * that. */
#ifndef EMBEDDED_FUTEX_H
#define EMBEDDED_FUTEX_H

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline void futex_done(unsigned *word)
{
    __atomic_store_n(word, 1, __ATOMIC_RELEASE);
    (void)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

static inline void futex_await(unsigned *word)
{
    while (__atomic_load_n(word, __ATOMIC_ACQUIRE) == 0) {
        (void)syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
    }
}

#endif
