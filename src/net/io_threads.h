/* io_threads: threads that help the loop with what it would do for many connections one after the
 * other: receiving and sending, what TLS makes of both, decoding what came, and writing what a
 * reply has only a draft of (base/drafts.h). The loop waits for them, and does its share meanwhile,
 * so nothing else of the server runs while they do, and what is the loop's alone needs no lock. A
 * helper that is slow to wake finds nothing left; the loop does not wait for one that has not
 * begun.
 *
 * Why not threads that own connections, with messages between them and the loop: commands are
 * evaluated by one thread in any case, so the gain would be that both overlap; the price is that
 * closing, limits, held output and CLIENT KILL become conversations.
 */
#ifndef NET_IO_THREADS_H
#define NET_IO_THREADS_H

#include <stddef.h>
#include <stdint.h>

#define IO_THREADS_MAX 128
#define IO_THREADS_BY_DEFAULT_MAX 8
/* Waking a helper costs the loop about as much as so many items of a short system call each. */
#define IO_ITEMS_EACH 4
/* Fewer of them than this are not worth waking a helper for. */
#define IO_ITEMS_MIN (2 * IO_ITEMS_EACH)

struct io_threads;

/* `count` threads in all: the caller of io_threads_run is one of them. 1 to IO_THREADS_MAX. NULL:
 * the system gives no more threads. They have the host (base/host.h) of the calling thread. */
struct io_threads *io_threads_new(unsigned count);
/* Calls run for each item, in no order, on the caller's thread and the others; all calls have
 * returned when this returns, and what they did can be seen. A helper is woken for `each` items:
 * IO_ITEMS_EACH, or 1 when one is more work than waking a helper. */
void io_threads_run(struct io_threads *t, void (*run)(void *item), void **items, size_t count,
                    size_t each);
/* Items that were run by others than the caller, since the start. */
uint64_t io_threads_helped(const struct io_threads *t);
/* t may be NULL. */
void io_threads_free(struct io_threads *t);

#endif
