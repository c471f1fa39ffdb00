/* machine: the trace of moves: a ring of the last TRACE_MOVES, under the lock of the host's trace.
 */
#include "base/machine.h"

#include <stdlib.h>

#include "base/clock.h"

void trace_switch(bool is_on)
{
    struct host *h = host_used();
    INVARIANT(h != NULL);
    pthread_mutex_lock(&h->trace.lock);
    if (is_on && h->trace.moves == NULL) {
        h->trace.moves = calloc(TRACE_MOVES, sizeof *h->trace.moves);
    }
    if (h->trace.moves == NULL) is_on = false; /* no memory: nothing is kept */
    if (is_on) h->trace.count = 0;
    __atomic_store_n(&h->trace.is_on, is_on, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&h->trace.lock);
}

void trace_add(const struct machine *m, const void *which, int from, int to)
{
    struct host *h = host_used();
    pthread_mutex_lock(&h->trace.lock);
    struct trace_move *move = &h->trace.moves[h->trace.count % TRACE_MOVES];
    *move = (struct trace_move){.number = ++h->trace.count,
                                .at_us = clock_mono_us(),
                                .machine = m,
                                .which = which,
                                .from = from,
                                .to = to};
    pthread_mutex_unlock(&h->trace.lock);
}

size_t trace_read(struct trace_move *out, size_t max)
{
    struct host *h = host_used();
    if (h == NULL) return 0;
    pthread_mutex_lock(&h->trace.lock);
    uint64_t kept = h->trace.count < TRACE_MOVES ? h->trace.count : TRACE_MOVES;
    size_t count = kept < max ? (size_t)kept : max;
    for (size_t i = 0; i < count; i++) {
        out[i] = h->trace.moves[(h->trace.count - count + i) % TRACE_MOVES];
    }
    pthread_mutex_unlock(&h->trace.lock);
    return count;
}
