/* embedded_int: the engine inside of another program (include/tupled_db.h): what its files share.
 *
 *   database  open and close             seat     what commands take for a connection
 *   turn      the lock, turns, waiting   reply    replies as trees
 *   call      a call from its words      refuse   commands that have no meaning here
 *             to its result              watching callbacks for changes
 *   typed, page, atomic                  guard    every way in, and out of a database that
 *             calls for everyday, as              is broken
 *             words of commands
 *
 * There is no loop that owns the engine: the thread that holds the database's lock does. A call is
 * carried out by the thread that makes it, if nothing has to be waited for; else that thread ends
 * the turn, which hands what was committed to the journal, and sleeps. The library's own thread (or
 * the caller's, with is_driven) makes the turns that no other thread has reason to make; another
 * one calls back.
 *
 *   asynchronous: CALL_QUEUED --the next holder of the lock--> runs
 *   synchronous:  runs --ERR_WAIT--> CALL_PARKED --its waiter is woken--> CALL_READY --> runs
 *                 runs --has its reply--> CALL_HELD --what it depends on is durable--> CALL_DONE
 *
 * Invariants: no result is given before the version that it depends on is durable; a callback is
 * called with no lock held; what is queued first starts first, also before a synchronous call that
 * is made later (but it may have to wait, and be overtaken).
 */
#ifndef EMBEDDED_EMBEDDED_INT_H
#define EMBEDDED_EMBEDDED_INT_H

#include <pthread.h>

#include "base/host.h"
#include "base/log.h"
#include "request/runner.h"
#include "tupled_db.h"

enum call_state { CALL_QUEUED, CALL_RUNNING, CALL_READY, CALL_PARKED, CALL_HELD, CALL_DONE };

enum call_kind {
    CALL_COMMAND,   /* words of the caller */
    CALL_TYPED,     /* words that were made here */
    CALL_GET,       /* argv[0] is a key: the entry */
    CALL_SUBSCRIBE, /* of a watch, on its own seat: the reply's messages are its first frames */
};

struct call {
    struct call *next, *prev; /* in the list of its state */
    enum call_kind kind;
    enum call_state state;
    struct slice *argv; /* borrowed; an asynchronous call's own */
    size_t argc;
    struct seat *seat;          /* while it runs or waits, or that of its session or watch */
    struct buf out;             /* owned: the reply in RESP3, or an error line */
    struct tupled_entry *entry; /* owned: result of CALL_GET; NULL = not there, or an error */
    uint64_t depends;
    bool is_slept_on; /* a thread waits for is_done, and it is in `sleepers` */
    unsigned is_done; /* futex */
    struct call *sleep_next, *sleep_prev;
    const struct tupled_db *broken; /* that it was for; NULL = it has its result */
    void (*finish)(struct call *c); /* asynchronous: calls the callback; NULL: synchronous */
    void (*callback)(void);         /* of the type that `finish` knows */
    void *arg;
};

/* What the commands take for a connection. One call at a time sits on it. */
struct seat {
    struct client client; /* first */
    struct link link;
    struct tupled_db *db;
    struct runner runner;
    struct call *call;          /* NULL = none */
    struct tupled_watch *watch; /* messages to it are its; NULL = none are wanted */
    bool is_kept;               /* a session's or a watch's, not for all calls */
    struct seat *next;          /* free ones */
};

/* A message to a watch: waits for its version, then for the thread that makes callbacks. */
struct frame {
    struct frame *next;
    struct tupled_watch *watch;
    uint64_t version;
    size_t len;
    uint8_t bytes[];
};

struct tupled_watch {
    struct tupled_db *db;
    struct seat *seat; /* NULL: it has gone, or never was */
    tupled_on_change *changed;
    void *arg;
    struct error end; /* why it ended by itself; OK = it did not */
    bool is_told;     /* of that */
    bool is_ended;    /* tupled_unwatch */
    struct tupled_watch *next, *prev;
};

struct tupled_session {
    struct tupled_db *db;
    struct seat *seat;
    struct tupled_session *next, *prev;
};

struct tupled_db {
    struct tupled_options options;
    struct log_sink sink;
    struct host host; /* of all that works for it */
    int poll_fd, wake_fd, timer_fd;
    pthread_t thread, callback_thread; /* unless it is driven by the caller */
    int is_woken;                      /* atomic: wake_fd was written and not yet looked at */
    size_t users; /* atomic: threads that are inside; they may touch it until they have counted */

    pthread_mutex_t queue_lock; /* guards the next three; taken last */
    struct call *queue_first, **queue_last;
    bool is_closed_to_calls;
    size_t queued; /* atomic */

    pthread_mutex_t lock; /* guards all below, and the engine */
    bool is_held;         /* atomic, both: by ... */
    pthread_t holder;
    pthread_cond_t news; /* for callback_thread */
    pthread_cond_t idle; /* no callback of a watch runs: a thread waits for that */
    struct env env;
    struct buf backup_dir;
    struct arena arena;
    struct buf scratch;
    uint64_t durable;
    struct call ready, parked, held;      /* heads of rings; `held` by what they depend on */
    struct call *done_first, **done_last; /* asynchronous, to be called back */
    struct call *woken;                   /* synchronous, whose threads are to be woken */
    struct call *sleepers;                /* those whose threads sleep and are not in `woken` */
    struct seat *free_seats;
    struct frame *frame_first, **frame_last;
    uint64_t frame_version; /* highest that one has waited for */
    bool has_ended_watches; /* some are to be told of their end */
    struct tupled_watch *watches;
    struct tupled_session *sessions;
    struct tupled_watch *delivering; /* its callback is running */
    unsigned delivering_depth;       /* callbacks are being called ... */
    pthread_t deliverer;             /* ... by this thread */
    unsigned runs;
    int64_t tick_us, slow_tick_us; /* of the last ones */
    bool is_busy;                  /* another turn is wanted at once */
    bool has_news;                 /* for the thread that makes callbacks */
    bool is_closing;
    bool are_callbacks_over; /* when there is no more news */
    struct error failure;    /* OK = it works */
};

/* ---- guard.c ---- */

/* Runs `work` for the database: no thread of it or of the program's looks at the engine outside of
 * that. False: it was left in the middle, or never begun, as the database is broken; the lock is
 * not held, and all who slept have been woken. */
bool db_guard(struct tupled_db *db, void (*work)(void *arg), void *arg);
bool db_is_broken(const struct tupled_db *db);
/* That error; e may be NULL. Always FAILED. */
int db_broken(const struct tupled_db *db, struct tupled_error *e);
/* For its host. */
void db_on_broken(void *arg);
/* The lock, of one that may be broken: nothing that may break is done with it. */
void db_lock(struct tupled_db *db);
void db_unlock(struct tupled_db *db);
/* Gives it up until a callback of a watch is over, or for no reason. */
void db_await_idle(struct tupled_db *db);

/* ---- turn.c: inside of db_guard ---- */

/* Takes the lock; leaves when the database is broken. */
void db_take(struct tupled_db *db);
/* The same, and starts what is queued. */
void db_enter(struct tupled_db *db);
/* Gives the lock back, and wakes whom this has given a result. */
void db_leave(struct tupled_db *db);
/* The end of a turn: what was committed goes to the journal. With the lock. */
void db_step(struct tupled_db *db);
/* A whole turn. With the lock. */
void db_turn(struct tupled_db *db);
/* Any thread: a turn is wanted. */
void db_wake(struct tupled_db *db);
/* Sleeps until a turn is wanted or due, if none is already. Without the lock. */
void db_sleep(struct tupled_db *db);
/* Calls callbacks. Without the lock. True when there is more to do: the caller must not sleep. */
bool db_deliver(struct tupled_db *db);
/* The library's own threads, until the database closes: turns; callbacks, so that one that takes
 * long stops nothing but other callbacks. */
void *db_thread(void *arg);
void *db_callback_thread(void *arg);
/* Something went so wrong that nothing may go on; the first reason stays. With the lock. */
void db_fail(struct tupled_db *db, const struct error *e);
/* For db_options. */
void db_on_durable_reached(void *arg, uint64_t version);
/* At the close: calls that wait end with an error. With the lock. */
void db_end_waiting(struct tupled_db *db);

/* ---- call.c ---- */

/* Carries it out and returns when it is done: call_outcome, c->out and c->entry. */
void call_run(struct tupled_db *db, struct call *c);
/* FAILED and *e when it has an error in place of a result, else YES. */
int call_outcome(const struct call *c, struct tupled_error *e);
/* An asynchronous call with copies of the words; NULL when there is no memory. */
struct call *call_new(enum call_kind kind, const struct slice *argv, size_t argc);
/* Takes it over. FAILED: the database is being closed or broken, and the call was freed. */
int call_submit(struct tupled_db *db, struct call *c);
void call_free(struct call *c);
/* With the lock: begins one that is new; goes on with one that is CALL_READY. */
void call_start(struct tupled_db *db, struct call *c);
void call_again(struct tupled_db *db, struct call *c);
/* With the lock: it has its result, or this error in its place. */
void call_done(struct tupled_db *db, struct call *c);
void call_fail(struct tupled_db *db, struct call *c, const struct error *e);

/* ---- seat.c ---- */

struct seat *seat_take(struct tupled_db *db);
void seat_give(struct seat *s);
/* Ends it as a connection ends. */
void seat_free(struct seat *s);
void seats_free(struct tupled_db *db);
/* Calls of env. */

/* ---- refuse.c ---- */

/* What to do instead of this command; NULL: it can be run. */
const char *refuse_command(const struct slice *argv, size_t argc, bool is_session);

/* ---- reply.c ---- */

/* A RESP3 value at the start of `bytes` as a tree, or NULL: without memory, or when it is not well
 * formed. *used: its length. */
struct tupled_reply *reply_parse(struct slice bytes, size_t *used);
/* FAILED and *e when the reply is an error, else YES. */
int reply_outcome(struct slice bytes, struct tupled_error *e);
/* Fills *e, which may be NULL; always FAILED. */
int error_give(struct tupled_error *e, enum err code, const char *text);
/* Says that there is none; e may be NULL. */
void error_none(struct tupled_error *e);

/* ---- watching.c ---- */

/* With the lock: appends them; `bytes` are whole frames. */
void frames_add(struct tupled_watch *w, struct slice bytes, uint64_t version);
/* With the lock. */
void frames_drop(struct tupled_watch *w);
/* Without the lock: calls the callback of the next frame that may be told; false: there is none. */
bool watch_deliver(struct tupled_db *db);
/* With the lock: its watch has ended for this reason, which is told. */
void watch_end(struct tupled_watch *w, const struct error *e);

/* ---- typed.c ---- */

/* A vector of words being put together on the stack. */
#define WORDS_MAX 32
#define NUMBERS_MAX 8
struct words {
    struct slice items[WORDS_MAX];
    size_t count;
    char numbers[NUMBERS_MAX][24];
    size_t number_count;
    bool is_full; /* there were more words than fit; running them says so */
};
/* The tree of what a call that is done has; or its error, and *out is NULL. */
int call_tree(struct call *c, struct tupled_reply **out, struct tupled_error *e);
void words_add(struct words *w, const char *word);
void words_bytes(struct words *w, struct tupled_bytes bytes);
void words_number(struct words *w, int64_t n);
/* Runs them; *out is the tree. */
int words_run(struct tupled_db *db, const struct words *w, struct tupled_reply **out,
              struct tupled_error *e);
/* The same for a reply that is a number: NO when it is 0. */
int words_count(struct tupled_db *db, const struct words *w, struct tupled_error *e);
/* As tupled_command for words that were made here. */
int typed_run(struct tupled_db *db, struct slice *argv, size_t argc, struct tupled_reply **out,
              struct tupled_error *e);
/* Text of a reply into a field of a fixed size, "" when it is none. */
void copy_text(char *to, size_t size, const struct tupled_reply *r);

/* ---- page.c ---- */

enum page_kind { PAGE_LIST, PAGE_SEARCH };
/* Runs a command whose reply is a page of entries. */
int page_run(struct tupled_db *db, const struct words *w, enum page_kind kind,
             struct tupled_page **out, struct tupled_error *e);

#endif
