/* long_int: one run of a script that takes long: for long.c, which runs it, and long_end.c, which
 * commits it. */
#ifndef COMMAND_SCRIPT_LONG_INT_H
#define COMMAND_SCRIPT_LONG_INT_H

#include <pthread.h>

#include "backend/worker.h"
#include "command/script/long.h"

enum long_state { LONG_QUEUED, LONG_RUNNING, LONG_CALLING, LONG_ENDED, LONG_ABANDONED };

/* What the thread wants of the loop: redis.call, redis.acl_check_cmd. */
enum long_ask { ASK_CALL, ASK_MAY };

/* Why the script was to end, when it was not by itself. */
enum long_stop { LONG_GOES_ON, LONG_KILLED, LONG_TOO_LONG, LONG_REFUSED };

struct long_run {
    struct long_run *next, *prev; /* of scripts->runs */
    struct scripts *scripts;
    struct env *env; /* borrowed, as the client, which has it: while that waits */
    const struct client *client;
    struct job job;
    struct waiter_list waiting; /* the client's command */
    void (*wake)(void *arg);
    void *wake_arg;

    pthread_mutex_t lock;    /* guards state and, as it says, all else */
    pthread_cond_t answered; /* CALLING was left */
    enum long_state state;
    int stop; /* atomic: enum long_stop */

    /* What is run: constant. */
    struct arena words;
    struct program program;
    int64_t max_us;
    size_t memory_max;
    int proto;

    /* Of one try. */
    unsigned tries;
    bool is_slow;       /* one took too long for being exclusive */
    bool was_exclusive; /* in this one it has, or had, the database for itself */
    int64_t began_us;   /* atomic; monotonic */
    struct arena arena;
    struct overlay *overlay; /* in the arena */
    struct calling calling;
    uint64_t stand_in;          /* the version that its commit seems to get */
    int64_t calls_us;           /* processor time of its commands */
    struct exec_counts *counts; /* owned */
    enum long_ask ask;          /* CALLING: what, and the words, which are the thread's */
    struct slice *argv;
    size_t argc;
    int argv_proto;
    bool may, is_known;    /* the answers of ASK_MAY */
    struct buf reply;      /* owned: that of ASK_CALL */
    unsigned loop_in_vain; /* see spin_while */

    /* Of the thread. */
    struct sandbox *sandbox; /* owned */
    int ref;
    bool is_compiled;
    size_t bytes;            /* atomic: of the sandbox, as it was seen last */
    unsigned thread_in_vain; /* see spin_while */

    /* ENDED. */
    enum sandbox_end end;
    bool is_error;
    struct buf out, line; /* owned: its reply, its error */
    struct error error;   /* of what refused it */
};

static inline enum long_stop long_stop_of(const struct long_run *run)
{
    int stop = __atomic_load_n(&run->stop, __ATOMIC_RELAXED);
    return (enum long_stop)stop;
}

static inline int64_t long_began_us(const struct long_run *run)
{
    return __atomic_load_n(&run->began_us, __ATOMIC_RELAXED);
}

/* ---- long_end.c ---- */

/* In ENDED: the reply of rq, and the commit. *is_stale: something that it read has changed, and
 * nothing happened. ERR_WAIT: to be called again. */
ERR_MUST_USE enum err long_end(struct request *rq, struct long_run *run, bool *is_stale);

#endif
