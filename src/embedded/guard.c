/* guard: every way into a database, and the only way out of one that is broken (base/host.h).
 *
 * A thread that finds it broken, in the middle of whatever it does, is back in its db_guard at
 * once: the innermost one, which may be inside of a callback of the program's. It gives the lock
 * back if it has it, wakes all that sleep, which get the same error, and returns. A thread that
 * takes the lock later is back in its db_guard at once too, so none sees what the engine has in
 * memory, no result is given any more, and no callback is called. A worker that finds it broken has
 * no lock: it ends, and wakes the thread that makes the turns, which does all this.
 *
 * Calls that sleep are found by a list of their own, whatever lists they are in.
 */
#include <stdio.h>
#include <sys/eventfd.h>

#include "base/list.h"
#include "embedded/embedded_int.h"
#include "embedded/futex.h"

void db_wake(struct tupled_db *db)
{
    if (__atomic_exchange_n(&db->is_woken, 1, __ATOMIC_ACQ_REL) != 0) return;
    (void)eventfd_write(db->wake_fd, 1);
}

/* Only the thread itself writes its own name there, and takes it away. */
static bool has_lock(struct tupled_db *db)
{
    bool is_held = __atomic_load_n(&db->is_held, __ATOMIC_RELAXED);
    return is_held && pthread_equal(__atomic_load_n(&db->holder, __ATOMIC_RELAXED), pthread_self());
}

void db_lock(struct tupled_db *db)
{
    pthread_mutex_lock(&db->lock);
    __atomic_store_n(&db->holder, pthread_self(), __ATOMIC_RELAXED);
    __atomic_store_n(&db->is_held, true, __ATOMIC_RELAXED);
}

void db_unlock(struct tupled_db *db)
{
    __atomic_store_n(&db->is_held, false, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&db->lock);
}

void db_await_idle(struct tupled_db *db)
{
    __atomic_store_n(&db->is_held, false, __ATOMIC_RELAXED);
    pthread_cond_wait(&db->idle, &db->lock);
    __atomic_store_n(&db->holder, pthread_self(), __ATOMIC_RELAXED);
    __atomic_store_n(&db->is_held, true, __ATOMIC_RELAXED);
}

/* They are their threads' from here on. */
static void wake(struct call *first)
{
    while (first != NULL) {
        struct call *c = first;
        first = c->next;
        futex_done(&c->is_done);
    }
}

/* Nothing of it may break. */
static void let_go(struct tupled_db *db)
{
    if (!has_lock(db)) db_lock(db);
    struct call *woken = db->woken; /* they have their results */
    db->woken = NULL;
    while (db->sleepers != NULL) {
        struct call *c = db->sleepers;
        STACK_UNLINK(db->sleepers, c, sleep_next, sleep_prev);
        c->broken = db;
        c->next = woken;
        woken = c;
    }
    pthread_cond_broadcast(&db->news);
    pthread_cond_broadcast(&db->idle);
    db_unlock(db);
    wake(woken);
    db_wake(db);
}

bool db_guard(struct tupled_db *db, void (*work)(void *arg), void *arg)
{
    __atomic_add_fetch(&db->users, 1, __ATOMIC_ACQ_REL);
    bool is_good = host_try(&db->host, work, arg);
    if (!is_good) let_go(db);
    __atomic_sub_fetch(&db->users, 1, __ATOMIC_ACQ_REL);
    return is_good;
}

bool db_is_broken(const struct tupled_db *db)
{
    return host_is_broken(&db->host);
}

void db_on_broken(void *arg)
{
    struct tupled_db *db = arg;
    log_warning("the database is broken: %s; all calls fail until it is opened again",
                host_why(&db->host));
    db_wake(db);
}

int db_broken(const struct tupled_db *db, struct tupled_error *e)
{
    char text[sizeof e->text];
    snprintf(text, sizeof text,
             "the database is broken; close it and open it again. It is unknown whether pending "
             "calls have taken effect. %s",
             host_why(&db->host));
    return error_give(e, ERR_BROKEN, text);
}
