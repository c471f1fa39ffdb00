/* worker: threads that take jobs from a queue, with the host (base/host.h) of the thread that makes
 * them. A job is a message: from post to done it belongs to the worker, before and after to the
 * loop thread. `wake` is called from the worker's thread when a job is ready to be collected, and
 * must be safe there.
 *
 * A job that takes long calls give_way() every few dozen microseconds (base/give_way.h).
 *
 * With 0 threads nothing runs by itself: worker_poll runs the queue, one job a call, so that the
 * simulation decides when (tests/sim). With `pick` it also decides which: jobs overtake each other,
 * and between running and done() others may run, as they do with threads.
 */
#ifndef BACKEND_WORKER_H
#define BACKEND_WORKER_H

#include <stdbool.h>
#include <stddef.h>

struct job {
    struct job *next;
    void (*run)(struct job *job);  /* on a thread of the worker */
    void (*done)(struct job *job); /* on the loop thread, from worker_poll */
};

struct worker;

struct worker_options {
    const char *name; /* of the threads; at most 15 bytes */
    unsigned threads;
    int nice; /* added to the threads' priority; 0 = as the loop. Above 0 its I/O also yields */
    void (*wake)(void *arg);
    void *arg;
    /* With 0 threads: which of `count` possible steps is next; `count` = none now. NULL = the first
     * job, at once. */
    unsigned (*pick)(void *arg, unsigned count);
    void *pick_arg;
    bool is_ordered; /* picked jobs run one after the other, as with one thread */
};

/* NULL: the system gives no more threads. */
struct worker *worker_new(const struct worker_options *options);
/* First in, first out. */
void worker_post(struct worker *w, struct job *job);
/* Runs done() of every finished job. True when there was one. */
bool worker_poll(struct worker *w);
/* Waits until queued jobs have run, ends the threads, collects, frees. (When the host breaks,
 * threads begin no further job, and what waits for one leaves: host_leave.) */
void worker_free(struct worker *w);
/* Blocks until every posted job has run (they still wait for worker_poll). With 0 threads: until it
 * says that there is nothing more, worker_poll does a step each time. */
void worker_drain(struct worker *w);

#endif
