/* io_threads: items are taken by an atomic counter, without a lock; the lock only starts and ends a
 * round. The caller sets count to 0 before it waits: a helper that wakes later has not become
 * active and never looks at the items, so only active ones are waited for. */
#include "net/io_threads.h"

#include <pthread.h>
#include <stdbool.h>

#include "base/err.h"
#include "base/host.h"
#include "base/mem.h"

struct io_threads {
    struct host *host; /* of the thread that made it; NULL = none */
    pthread_t threads[IO_THREADS_MAX];
    unsigned helpers;
    uint64_t helped;      /* atomic */
    size_t next;          /* atomic: the next item that no thread has taken */
    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t begin; /* there are items, or they end */
    pthread_cond_t end;   /* no helper has an item */
    uint64_t round;       /* of the items that there are, or were */
    void (*run)(void *item);
    void **items;
    size_t count;    /* 0 = there are none (any more) */
    unsigned asleep; /* helpers */
    unsigned active;
    bool is_stopping;
};

static size_t take_items(struct io_threads *t, void (*run)(void *item), void **items, size_t count)
{
    size_t done = 0;
    for (;;) {
        size_t i = __atomic_fetch_add(&t->next, 1, __ATOMIC_RELAXED);
        if (i >= count) return done;
        run(items[i]);
        done++;
    }
}

static void help(void *arg)
{
    struct io_threads *t = arg;
    uint64_t seen = 0;
    pthread_mutex_lock(&t->lock);
    while (!t->is_stopping) {
        if (t->count == 0 || t->round == seen) {
            t->asleep++;
            pthread_cond_wait(&t->begin, &t->lock);
            t->asleep--;
            continue;
        }
        seen = t->round;
        void (*run)(void *item) = t->run;
        void **items = t->items;
        size_t count = t->count;
        t->active++;
        pthread_mutex_unlock(&t->lock);
        size_t done = take_items(t, run, items, count);
        __atomic_fetch_add(&t->helped, done, __ATOMIC_RELAXED);
        pthread_mutex_lock(&t->lock);
        if (--t->active == 0) pthread_cond_signal(&t->end);
    }
    pthread_mutex_unlock(&t->lock);
}

static void *thread_main(void *arg)
{
    struct io_threads *t = arg;
    pthread_setname_np(pthread_self(), "io");
    (void)host_try(t->host, help, t);
    return NULL;
}

struct io_threads *io_threads_new(unsigned count)
{
    INVARIANT(count >= 1 && count <= IO_THREADS_MAX);
    struct io_threads *t = mem_new(sizeof *t);
    t->host = host_used();
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->begin, NULL);
    pthread_cond_init(&t->end, NULL);
    for (unsigned i = 0; i + 1 < count; i++) {
        if (pthread_create(&t->threads[i], NULL, thread_main, t) != 0) {
            io_threads_free(t);
            return NULL;
        }
        t->helpers++;
    }
    return t;
}

/* Gives them the items; how many of them should be woken. */
static unsigned announce(struct io_threads *t, void (*run)(void *item), void **items, size_t count,
                         size_t each)
{
    pthread_mutex_lock(&t->lock);
    __atomic_store_n(&t->next, 0, __ATOMIC_RELAXED);
    t->round++;
    t->run = run;
    t->items = items;
    t->count = count;
    size_t wanted = count / each;
    unsigned wake = wanted < t->asleep ? (unsigned)wanted : t->asleep;
    pthread_mutex_unlock(&t->lock);
    return wake;
}

void io_threads_run(struct io_threads *t, void (*run)(void *item), void **items, size_t count,
                    size_t each)
{
    if (t == NULL || t->helpers == 0 || count < 2 * each) {
        for (size_t i = 0; i < count; i++) run(items[i]);
        return;
    }
    for (unsigned wake = announce(t, run, items, count, each); wake > 0; wake--)
        pthread_cond_signal(&t->begin);
    (void)take_items(t, run, items, count);
    pthread_mutex_lock(&t->lock);
    t->count = 0; /* who wakes only now finds nothing */
    while (t->active > 0) pthread_cond_wait(&t->end, &t->lock);
    pthread_mutex_unlock(&t->lock);
}

uint64_t io_threads_helped(const struct io_threads *t)
{
    return t == NULL ? 0 : __atomic_load_n(&t->helped, __ATOMIC_RELAXED);
}

void io_threads_free(struct io_threads *t)
{
    if (t == NULL) return;
    pthread_mutex_lock(&t->lock);
    t->is_stopping = true;
    pthread_cond_broadcast(&t->begin);
    pthread_mutex_unlock(&t->lock);
    for (unsigned i = 0; i < t->helpers; i++) pthread_join(t->threads[i], NULL);
    pthread_mutex_destroy(&t->lock);
    pthread_cond_destroy(&t->begin);
    pthread_cond_destroy(&t->end);
    mem_free(t);
}
