/* machine: state machines: which moves there are, and, when they are traced, which were made. A
 * machine is a `const struct machine` beside its enum of states; MACHINE_MOVE is the only place
 * where its state changes. A move that is not allowed breaks an invariant.
 *
 * With tracing switched on for the host (host.h; DEBUG TRACE), the last TRACE_MOVES moves of all
 * machines are kept. Off, a move costs one look at a flag.
 */
#ifndef BASE_MACHINE_H
#define BASE_MACHINE_H

#include "base/err.h"
#include "base/host.h"

#define MACHINE_STATES_MAX 8
#define TRACE_MOVES 1024

struct machine {
    const char *name;
    const char *states[MACHINE_STATES_MAX];
    unsigned char allowed[MACHINE_STATES_MAX]; /* by state: a bit for each it may move to */
};

#define TO(state) (1u << (state))

struct trace_move {
    uint64_t number; /* of the moves seen since it was switched on; 0 = none */
    int64_t at_us;   /* monotonic */
    const struct machine *machine;
    const void *which; /* whose state; to tell one from another, not to be looked at */
    int from, to;
};

/* For the host of the calling thread, which must have one. On: what was kept is forgotten. */
void trace_switch(bool is_on);
/* The newest moves, oldest first, at most `max`; any thread of the host. How many. */
size_t trace_read(struct trace_move *out, size_t max);
void trace_add(const struct machine *m, const void *which, int from, int to);

static inline void machine_moves(const struct machine *m, const void *which, int from, int to)
{
    INVARIANT((m->allowed[from] >> to & 1) != 0);
    if (__builtin_expect(__atomic_load_n(&host_mine->trace.is_on, __ATOMIC_RELAXED) != 0, 0)) {
        trace_add(m, which, from, to);
    }
}

#define MACHINE_MOVE(machine, which, member, to)                                                   \
    do {                                                                                           \
        machine_moves(machine, which, (int)(which)->member, (int)(to));                            \
        (which)->member = (to);                                                                    \
    } while (0)

#endif
