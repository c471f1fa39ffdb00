/* turn: who holds the lock works for all. A thread that makes a call ends the turn itself when
 * something was written; everything else (results of the backend's threads, what has its time,
 * calls with a callback) is done by the library's own thread or the caller's loop, which sleeps on
 * poll_fd: an eventfd that any thread writes to, and a timer.
 */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>

#include "base/clock.h"
#include "base/list.h"
#include "embedded/embedded_int.h"
#include "embedded/futex.h"
#include "request/stats.h"

#define TICK_US 10000
#define SLOW_TICK_US 100000
#define STARTS_MAX 1000 /* queued calls that one turn starts */

/* ---- the lock ---- */

/* At most `max` of those that are queued. */
static void start_queued(struct tupled_db *db, size_t max)
{
    if (__atomic_load_n(&db->queued, __ATOMIC_ACQUIRE) == 0) return;
    struct call *first = NULL;
    size_t count = 0;
    pthread_mutex_lock(&db->queue_lock);
    first = db->queue_first;
    struct call **at = &db->queue_first;
    while (*at != NULL && count < max) {
        at = &(*at)->next;
        count++;
    }
    db->queue_first = *at;
    *at = NULL;
    if (db->queue_first == NULL) db->queue_last = &db->queue_first;
    __atomic_sub_fetch(&db->queued, count, __ATOMIC_ACQ_REL);
    if (db->queue_first != NULL) db->is_busy = true;
    pthread_mutex_unlock(&db->queue_lock);
    while (first != NULL) {
        struct call *c = first;
        first = c->next;
        call_start(db, c);
    }
}

void db_take(struct tupled_db *db)
{
    db_lock(db);
    if (db_is_broken(db)) host_leave();
}

void db_enter(struct tupled_db *db)
{
    db_take(db);
    start_queued(db, SIZE_MAX);
}

void db_leave(struct tupled_db *db)
{
    struct call *woken = db->woken;
    bool is_driven = db->options.is_driven != 0;
    bool wants_turn = db->is_busy || db->ready.next != &db->ready || (is_driven && db->has_news);
    db->woken = NULL;
    if (db->has_news && !is_driven) pthread_cond_signal(&db->news);
    db_unlock(db);
    if (wants_turn) db_wake(db);
    while (woken != NULL) {
        struct call *c = woken;
        woken = c->next;
        futex_done(&c->is_done); /* the call is its thread's from here on */
    }
}

/* ---- turns ---- */

void db_fail(struct tupled_db *db, const struct error *e)
{
    if (db->failure.code != OK) return;
    db->failure = *e;
    struct error told = {0};
    (void)error_set(
        &told, ERR_IO,
        "the database has stopped: %s; it is unknown whether this call has taken effect", e->text);
    while (db->held.next != &db->held) call_fail(db, db->held.next, &told);
    while (db->ready.next != &db->ready) call_fail(db, db->ready.next, &told);
    while (db->parked.next != &db->parked) call_fail(db, db->parked.next, &told);
    for (struct tupled_watch *w = db->watches; w != NULL; w = w->next) watch_end(w, &told);
}

/* A failure that came from inside of the engine is noted there, and acted on when that has
 * returned. */
static void check_failure(struct tupled_db *db)
{
    if (db->failure.code == OK) return;
    struct error e = db->failure;
    db->failure.code = OK;
    db_fail(db, &e);
}

void db_on_durable_reached(void *arg, uint64_t version)
{
    struct tupled_db *db = arg;
    db->durable = version;
    while (db->held.next != &db->held && db->held.next->depends <= version) {
        call_done(db, db->held.next);
    }
    if (db->frame_first != NULL && db->frame_first->version <= version) db->has_news = true;
}

/* Those that were woken; who is woken meanwhile comes in the next turn. */
static void run_ready(struct tupled_db *db)
{
    struct call *last = db->ready.prev;
    while (db->ready.next != &db->ready) {
        struct call *c = db->ready.next;
        bool is_last = c == last;
        call_again(db, c);
        if (is_last) break;
    }
    if (db->ready.next != &db->ready) db->is_busy = true;
}

void db_step(struct tupled_db *db)
{
    if (db->failure.code != OK) {
        check_failure(db);
        return;
    }
    bool is_busy = command_turn(&db->env);
    if (db_turn_end(db->env.db)) is_busy = true;
    if (is_busy) db->is_busy = true;
    check_failure(db);
}

static void tick(struct tupled_db *db)
{
    int64_t now_us = clock_mono_us();
    if (now_us - db->tick_us >= TICK_US) {
        struct itimerspec next = {.it_value = {.tv_nsec = TICK_US * 1000L}};
        db->tick_us = now_us;
        (void)timerfd_settime(db->timer_fd, 0, &next, NULL);
        db_tick(db->env.db);
        command_tick(&db->env);
    }
    if (now_us - db->slow_tick_us >= SLOW_TICK_US) {
        db->slow_tick_us = now_us;
        stats_tick(&db->env);
    }
}

void db_turn(struct tupled_db *db)
{
    db->is_busy = false;
    if (db->failure.code != OK) {
        check_failure(db);
        start_queued(db, SIZE_MAX);
        return;
    }
    db_poll(db->env.db);
    if (db->failure.code == OK) {
        run_ready(db); /* they were there before */
        start_queued(db, STARTS_MAX);
        tick(db);
    }
    db_step(db);
}

void db_sleep(struct tupled_db *db)
{
    struct epoll_event events[2];
    int got = epoll_wait(db->poll_fd, events, 2, -1);
    (void)got; /* interrupted: a turn too many does no harm */
}

bool db_deliver(struct tupled_db *db)
{
    db_take(db);
    struct call *first = db->done_first;
    db->done_first = NULL;
    db->done_last = &db->done_first;
    db->has_news = false;
    db->deliverer = pthread_self();
    db->delivering_depth++;
    db_unlock(db);
    while (first != NULL && !db_is_broken(db)) {
        struct call *c = first;
        first = c->next;
        c->finish(c);
        call_free(c);
    }
    while (watch_deliver(db)) continue;
    db_lock(db);
    bool has_more = db->is_busy || db->has_news;
    db->delivering_depth--;
    db_unlock(db);
    return has_more;
}

/* Everything that was carried out has its result, and nothing waits. */
static bool is_drained(const struct tupled_db *db)
{
    bool has_queued = __atomic_load_n(&db->queued, __ATOMIC_ACQUIRE) > 0;
    return !has_queued && (db->failure.code != OK || db->held.next == &db->held);
}

void db_end_waiting(struct tupled_db *db)
{
    struct error e;
    (void)error_set(&e, ERR_SYNTAX, "the database was closed during this call");
    db->is_closing = true;
    while (db->ready.next != &db->ready) call_fail(db, db->ready.next, &e);
    while (db->parked.next != &db->parked) call_fail(db, db->parked.next, &e);
}

static void make_turns(void *arg)
{
    struct tupled_db *db = arg;
    bool is_over = false;
    while (!is_over) {
        __atomic_store_n(&db->is_woken, 0, __ATOMIC_RELEASE);
        db_take(db);
        db_turn(db);
        if (db->is_closing) db_end_waiting(db);
        is_over = db->is_closing && is_drained(db);
        db_leave(db); /* wakes us when there is more to do */
        if (!is_over) db_sleep(db);
    }
}

void *db_thread(void *arg)
{
    struct tupled_db *db = arg;
    (void)db_guard(db, make_turns, db);
    return NULL;
}

static void make_callbacks(void *arg)
{
    struct tupled_db *db = arg;
    bool is_over = false;
    while (!is_over) {
        pthread_mutex_lock(&db->lock);
        while (!db->has_news && !db->are_callbacks_over && !db_is_broken(db)) {
            pthread_cond_wait(&db->news, &db->lock);
        }
        is_over = db->are_callbacks_over && !db->has_news;
        pthread_mutex_unlock(&db->lock);
        (void)db_deliver(db);
    }
}

void *db_callback_thread(void *arg)
{
    struct tupled_db *db = arg;
    (void)db_guard(db, make_callbacks, db);
    return NULL;
}
