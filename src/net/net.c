#include "net/net.h"

#include <unistd.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"
#include "base/mem.h"
#include "net/net_int.h"
#include "request/client_memory.h"
#include "request/observe.h"

#define ARENA_CHUNK_BYTES (64 * 1024)
#define TICK_S 0.01
#define SLOW_TICK_S 0.1
#define TURN_US_MAX 10000         /* then clients wait for the next turn ... */
#define TURN_BYTES_MAX (4u << 20) /* ... or when so much was read and answered */
#define FREE_WORK 5000            /* channels and notes of dead connections freed in one turn ... */
#define CONN_WORK 10              /* ... a connection counts as so many */
#define DRAIN_US 1000000          /* a stopping server waits this long for replies that are held */

static void on_wake(struct ev_loop *loop, ev_async *async, int events)
{
    struct net *n = async->data;
    (void)loop;
    (void)events;
    if (n->env != NULL) db_poll(n->env->db);
}

/* Everybody's output up to this version may go. */
static void on_durable(void *arg, uint64_t version)
{
    struct net *n = arg;
    n->durable = version;
    for (struct conn *c = n->held.held_next; c != &n->held; c = c->held_next) conn_queue_flush(c);
    conn_flush_queued(n, false);
}

bool net_turn_is_full(const struct net *n)
{
    return n->turn_bytes >= TURN_BYTES_MAX ||
           (n->turn_begin_us != 0 && n->env->now_us - n->turn_begin_us >= TURN_US_MAX);
}

/* Those that are queued while this runs come after all that were queued before: what a full turn
 * leaves stays at the front. */
static void run_queue(struct net *n)
{
    struct conn **end = n->run_last;
    while (n->run_first != NULL && !net_turn_is_full(n)) {
        struct conn *c = n->run_first;
        bool is_last = end == &c->run_next;
        n->run_first = c->run_next;
        if (n->run_first == NULL) n->run_last = &n->run_first;
        c->is_queued = false;
        if (c->state == CONN_READING) conn_run(c);
        if (is_last) return;
    }
}

/* Dead connections, but for those whose many channels take more than *work; `all`: these too. */
static void free_dying(struct net *n, bool all)
{
    struct conn **at = &n->dying;
    size_t work = FREE_WORK;
    n->is_freeing = false;
    while (*at != NULL) {
        struct conn *c = *at;
        if (!all && work < CONN_WORK) {
            n->is_freeing = true;
            return;
        }
        work -= work < CONN_WORK ? work : CONN_WORK;
        bool is_done = client_end_listening(&c->client, n->env, &work);
        while (all && !is_done) {
            work = FREE_WORK;
            is_done = client_end_listening(&c->client, n->env, &work);
        }
        n->is_freeing = n->is_freeing || !is_done;
        /* Still in a queue: it is taken out there first. */
        if (!is_done || c->is_readable || c->is_queued || c->is_flush_queued) {
            at = &c->dying_next;
            continue;
        }
        *at = c->dying_next;
        conn_free(c);
    }
}

/* The end of a turn: before the loop sleeps, what was committed goes to the journal. */
static void on_prepare(struct ev_loop *loop, ev_prepare *prepare, int events)
{
    struct net *n = prepare->data;
    (void)events;
    n->turn_begin_us = n->env->now_us = clock_mono_us();
    n->turn_bytes = 0;
    /* In turn, so that neither keeps the other from being served when there is too much of both. */
    if (n->is_queue_first) run_queue(n);
    conn_read_all(n);
    if (!n->is_queue_first) run_queue(n);
    n->is_queue_first = !n->is_queue_first;
    bool is_busy = command_turn(n->env);
    if (db_turn_end(n->env->db)) is_busy = true;
    conn_flush_queued(n, false);
    client_memory_grow(n->env, n->turn_bytes);
    client_memory_check(n->env, false);
    free_dying(n, false);
    is_busy = is_busy || n->run_first != NULL || n->late_first != NULL || n->is_freeing ||
              n->flush_first != NULL;
    if (is_busy) {
        ev_idle_start(loop, &n->idle);
    } else {
        ev_idle_stop(loop, &n->idle);
    }
    observe_turn(n->env, ev_time() - ev_now(loop));
    turn_end(n->env, n->turn_bytes);
}

static void on_idle(struct ev_loop *loop, ev_idle *idle, int events)
{
    /* Its being active is what it is for: the loop polls instead of sleeping. */
    (void)loop;
    (void)idle;
    (void)events;
}

static void on_tick(struct ev_loop *loop, ev_timer *timer, int events)
{
    struct net *n = timer->data;
    (void)loop;
    (void)events;
    db_tick(n->env->db);
    command_tick(n->env);
}

static void on_slow_tick(struct ev_loop *loop, ev_timer *timer, int events)
{
    struct net *n = timer->data;
    (void)loop;
    (void)events;
    int64_t now_ms = clock_wall_ms();
    stats_tick(n->env);
    client_memory_check(n->env, true);
    struct client *head = &n->env->clients;
    for (struct client *c = head->next; c != head;) {
        struct client *next = c->next;
        conn_check_limits((struct conn *)c, now_ms);
        c = next;
    }
}

static void on_signal(struct ev_loop *loop, ev_signal *signal, int events)
{
    struct net *n = signal->data;
    (void)loop;
    (void)events;
    if (n->is_signalled) {
        log_warning("second signal: ending at once; what is acknowledged is in the journal");
        _exit(1);
    }
    n->is_signalled = true;
    log_notice("signal %d: stopping", signal->signum);
    net_stop(n);
}

static void on_sighup(struct ev_loop *loop, ev_signal *signal, int events)
{
    struct error e;
    (void)loop;
    (void)signal;
    (void)events;
    if (log_reopen(&e) == OK) {
        log_notice("SIGHUP: the log goes on here");
    } else {
        log_warning("SIGHUP: %s", e.text);
    }
}

struct net *net_new(void)
{
    struct net *n = mem_new(sizeof *n);
    n->loop = ev_loop_new(EVFLAG_AUTO);
    if (n->loop == NULL) die("cannot make an event loop");
    n->run_last = &n->run_first;
    n->late_last = &n->late_first;
    n->flush_last = &n->flush_first;
    RING_INIT(&n->held, held_next, held_prev);
    arena_init(&n->arena, ARENA_CHUNK_BYTES);
    ev_async_init(&n->wake, on_wake);
    n->wake.data = n;
    ev_async_start(n->loop, &n->wake);
    return n;
}

void net_wake(struct net *n)
{
    ev_async_send(n->loop, &n->wake);
}

enum err net_open(struct net *n, const struct net_options *options, struct error *e)
{
    n->options = *options;
    n->env = options->env;
    enum err r = listen_open(n, e);
    if (r != OK) return r;
    db_on_durable(n->env->db, on_durable, n);
    n->durable = db_durable(n->env->db);
    ev_prepare_init(&n->prepare, on_prepare);
    n->prepare.data = n;
    ev_prepare_start(n->loop, &n->prepare);
    ev_idle_init(&n->idle, on_idle);
    ev_timer_init(&n->tick, on_tick, TICK_S, TICK_S);
    n->tick.data = n;
    ev_timer_start(n->loop, &n->tick);
    ev_timer_init(&n->slow_tick, on_slow_tick, SLOW_TICK_S, SLOW_TICK_S);
    n->slow_tick.data = n;
    ev_timer_start(n->loop, &n->slow_tick);
    return OK;
}

void net_set_options(struct net *n, const struct net_options *options)
{
    struct net_options *mine = &n->options;
    mine->is_protected = options->is_protected;
    mine->idle_s = options->idle_s;
    mine->keepalive_s = options->keepalive_s;
    mine->clients_max = options->clients_max;
    mine->bulk_bytes_max = options->bulk_bytes_max;
    mine->query_bytes_max = options->query_bytes_max;
    mine->output_normal = options->output_normal;
    mine->output_pubsub = options->output_pubsub;
    struct client *head = &n->env->clients;
    for (struct client *c = head->next; c != head; c = c->next) {
        ((struct conn *)c)->reader.bulk_bytes_max = mine->bulk_bytes_max;
    }
}

uint16_t net_port(const struct net *n)
{
    return n->options.port;
}

void net_on_signals(struct net *n)
{
    ev_signal_init(&n->sigterm, on_signal, SIGTERM);
    ev_signal_init(&n->sigint, on_signal, SIGINT);
    n->sigterm.data = n->sigint.data = n;
    ev_signal_init(&n->sighup, on_sighup, SIGHUP);
    ev_signal_start(n->loop, &n->sighup);
    ev_signal_start(n->loop, &n->sigterm);
    ev_signal_start(n->loop, &n->sigint);
}

void net_stop(struct net *n)
{
    n->is_stopping = true;
    ev_break(n->loop, EVBREAK_ALL);
}

/* What they sent is not read any more. */
static void forget_readable(struct net *n)
{
    for (; n->readable != NULL; n->readable = n->readable->readable_next) {
        n->readable->is_readable = false;
    }
    for (; n->late_first != NULL; n->late_first = n->late_first->readable_next) {
        n->late_first->is_readable = false;
    }
    n->late_last = &n->late_first;
}

void net_run(struct net *n)
{
    ev_now_update(n->loop); /* the first turn does not last since the loop was made */
    turn_begin(n->env);
    ev_run(n->loop, 0);
    listen_close(n);
    forget_readable(n);
    /* Replies whose versions are being synced still go out; nothing new is read. */
    int64_t begin_us = clock_mono_us();
    struct client *head = &n->env->clients;
    for (struct client *c = head->next; c != head; c = c->next) {
        ev_io_stop(n->loop, &((struct conn *)c)->read_io);
    }
    (void)db_turn_end(n->env->db);
    while (n->held.held_next != &n->held && clock_mono_us() - begin_us < DRAIN_US) {
        ev_run(n->loop, EVRUN_ONCE);
    }
}

void net_client_close(struct net *n, struct client *c)
{
    (void)n;
    conn_kill((struct conn *)c);
}

void net_client_buffers(const struct client *c, size_t *input, size_t *output)
{
    conn_buffers((const struct conn *)c, input, output);
}

void net_client_write(struct net *n, struct client *c, struct slice bytes, uint64_t version)
{
    (void)n;
    conn_write((struct conn *)c, bytes, version);
}

void net_close(struct net *n)
{
    listen_close(n);
    while (n->env != NULL && n->env->clients.next != &n->env->clients) {
        conn_kill((struct conn *)n->env->clients.next);
    }
    forget_readable(n);
    for (struct conn *c = n->run_first; c != NULL; c = c->run_next) c->is_queued = false;
    n->run_first = NULL;
    n->run_last = &n->run_first;
    conn_flush_queued(n, true);
    free_dying(n, true);
}

void net_free(struct net *n)
{
    if (n == NULL) return;
    net_close(n);
    arena_fini(&n->arena);
    buf_fini(&n->scratch);
    ev_loop_destroy(n->loop);
    mem_free(n);
}
