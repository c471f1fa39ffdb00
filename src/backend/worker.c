/* worker: see worker.h. Two queues under one lock: jobs to run, and jobs that ran, which the loop
 * thread collects. A thread of a broken host begins no further job and wakes threads that wait
 * until it is idle. Without threads worker_poll does the steps, in the order that the simulation
 * picks. */
#include "backend/worker.h"

#include <linux/ioprio.h>
#include <pthread.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fault.h"
#include "base/host.h"
#include "base/mem.h"

#define THREADS_MAX 64

struct job_queue {
    struct job *first;
    struct job **last;
};

struct worker {
    struct worker_options options;
    struct host *host;       /* of the thread that made it; NULL = none */
    struct host_thing thing; /* the threads */
    pthread_t threads[THREADS_MAX];
    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t work;  /* a job was posted, or stop */
    pthread_cond_t idle;  /* nothing queued or running */
    struct job_queue queued;
    struct job_queue finished;
    unsigned waiting; /* threads asleep */
    unsigned running; /* jobs being run */
    bool is_stopping;
    bool is_hurried; /* without threads: nothing is left for later until the queues are empty */
};

static void queue_init(struct job_queue *q)
{
    q->first = NULL;
    q->last = &q->first;
}

static void queue_push(struct job_queue *q, struct job *job)
{
    job->next = NULL;
    *q->last = job;
    q->last = &job->next;
}

static struct job *queue_pop(struct job_queue *q)
{
    struct job *job = q->first;
    if (job == NULL) return NULL;
    q->first = job->next;
    if (q->first == NULL) q->last = &q->first;
    return job;
}

static bool is_broken(const struct worker *w)
{
    return w->host != NULL && host_is_broken(w->host);
}

static void run_jobs(void *arg)
{
    struct worker *w = arg;
    pthread_mutex_lock(&w->lock);
    for (;;) {
        if (is_broken(w)) break;
        struct job *job = queue_pop(&w->queued);
        if (job == NULL) {
            if (w->is_stopping) break;
            w->waiting++;
            pthread_cond_wait(&w->work, &w->lock);
            w->waiting--;
            continue;
        }
        w->running++;
        pthread_mutex_unlock(&w->lock);
        INVARIANT(!fault_hit("worker.job"));
        job->run(job);
        pthread_mutex_lock(&w->lock);
        w->running--;
        queue_push(&w->finished, job);
        if (w->running == 0 && w->queued.first == NULL) pthread_cond_broadcast(&w->idle);
        pthread_mutex_unlock(&w->lock);
        w->options.wake(w->options.arg);
        pthread_mutex_lock(&w->lock);
    }
    pthread_mutex_unlock(&w->lock);
}

static void *worker_main(void *arg)
{
    struct worker *w = arg;
    pthread_setname_np(pthread_self(), w->options.name);
    if (w->options.nice != 0) {
        /* Linux keeps a priority per thread; failing to lower it is no reason to stop. */
        (void)setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), w->options.nice);
        (void)syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0,
                      IOPRIO_PRIO_VALUE(IOPRIO_CLASS_IDLE, 0));
    }
    if (host_try(w->host, run_jobs, w) && !is_broken(w)) return NULL;
    pthread_mutex_lock(&w->lock); /* it was left inside of a job, which has no lock */
    pthread_cond_broadcast(&w->idle);
    pthread_mutex_unlock(&w->lock);
    w->options.wake(w->options.arg);
    return NULL;
}

static void threads_end(struct worker *w)
{
    pthread_mutex_lock(&w->lock);
    w->is_stopping = true;
    pthread_cond_broadcast(&w->work);
    pthread_mutex_unlock(&w->lock);
    for (unsigned i = 0; i < w->options.threads; i++) pthread_join(w->threads[i], NULL);
}

/* Jobs, their results and the worker itself are lost. */
static void worker_give_back(struct host_thing *t)
{
    threads_end((struct worker *)(void *)((char *)t - offsetof(struct worker, thing)));
}

struct worker *worker_new(const struct worker_options *options)
{
    INVARIANT(options->threads <= THREADS_MAX);
    struct worker *w = mem_new(sizeof *w);
    w->options = *options;
    w->host = host_used();
    queue_init(&w->queued);
    queue_init(&w->finished);
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->work, NULL);
    pthread_cond_init(&w->idle, NULL);
    if (options->threads > 0) host_note(&w->thing, HOST_THREADS, worker_give_back);
    for (unsigned i = 0; i < options->threads; i++) {
        if (pthread_create(&w->threads[i], NULL, worker_main, w) != 0) {
            w->options.threads = i; /* those that there are end */
            worker_free(w);
            return NULL;
        }
    }
    return w;
}

void worker_post(struct worker *w, struct job *job)
{
    pthread_mutex_lock(&w->lock);
    queue_push(&w->queued, job);
    bool is_asleep = w->waiting > 0;
    pthread_mutex_unlock(&w->lock);
    if (is_asleep) pthread_cond_signal(&w->work);
}

static unsigned queue_count(const struct job_queue *q)
{
    unsigned n = 0;
    for (const struct job *job = q->first; job != NULL; job = job->next) n++;
    return n;
}

static struct job *queue_take(struct job_queue *q, unsigned at)
{
    struct job **link = &q->first;
    while (at-- > 0) link = &(*link)->next;
    struct job *job = *link;
    *link = job->next;
    if (job->next == NULL) q->last = link;
    return job;
}

/* One step: a job is run, or one that ran is done. */
static bool run_picked(struct worker *w)
{
    bool is_ordered = w->options.is_ordered;
    unsigned queued = queue_count(&w->queued);
    unsigned ran = queue_count(&w->finished);
    if (is_ordered && queued > 0) queued = ran > 0 ? 0 : 1;
    if (is_ordered && ran > 0) ran = 1;
    unsigned count = queued + ran;
    if (count == 0) {
        w->is_hurried = false;
        return false;
    }
    unsigned at = w->is_hurried ? count - 1 : w->options.pick(w->options.pick_arg, count);
    if (at >= count) return false;
    if (at < queued) {
        struct job *job = queue_take(&w->queued, at);
        job->run(job);
        queue_push(&w->finished, job);
    } else {
        struct job *job = queue_take(&w->finished, at - queued);
        job->done(job);
    }
    return true;
}

static bool run_first(struct worker *w)
{
    struct job *job = queue_pop(&w->queued);
    if (job == NULL) return false;
    job->run(job);
    job->done(job);
    return true;
}

bool worker_poll(struct worker *w)
{
    if (w->options.threads == 0) return w->options.pick != NULL ? run_picked(w) : run_first(w);
    pthread_mutex_lock(&w->lock);
    struct job_queue finished = w->finished;
    if (finished.first == NULL) {
        pthread_mutex_unlock(&w->lock);
        return false;
    }
    queue_init(&w->finished);
    pthread_mutex_unlock(&w->lock);
    for (struct job *job = finished.first; job != NULL;) {
        struct job *next = job->next;
        job->done(job);
        job = next;
    }
    return true;
}

void worker_drain(struct worker *w)
{
    w->is_hurried = true;
    if (w->options.threads == 0) return;
    pthread_mutex_lock(&w->lock);
    while (!is_broken(w) && (w->running > 0 || w->queued.first != NULL)) {
        pthread_cond_wait(&w->idle, &w->lock);
    }
    pthread_mutex_unlock(&w->lock);
    if (is_broken(w)) host_leave();
}

void worker_free(struct worker *w)
{
    if (w == NULL) return;
    w->is_hurried = true;
    threads_end(w);
    host_forget(&w->thing);
    if (is_broken(w)) host_leave();
    /* What the end of a job posts finds no thread any more. */
    while (worker_poll(w) || (w->options.threads > 0 && run_first(w))) continue;
    pthread_cond_destroy(&w->idle);
    pthread_cond_destroy(&w->work);
    pthread_mutex_destroy(&w->lock);
    mem_free(w);
}
