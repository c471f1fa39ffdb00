/* net: one turn of the loop, ticks, starting and stopping. libev's hooks give the turn its shape:
 * `check` notes when events were looked for, callbacks only queue, and `prepare`, before the loop
 * sleeps, reads, runs, ends the turn, sends and frees the dead. The idle watcher is active while
 * there is more to do. */
#include "net/net.h"

#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"
#include "base/mem.h"
#include "net/net_int.h"

#define SLOW_TICK_MS 100
#define OUTPUT_LOOK_MS 1000
#define ACTIVE_US 100000 /* after something has happened ticks are close for so long at least */
#define SLEPT_US 500     /* between two turns: the loop had nothing to do */
#define FREE_WORK 500    /* of dead sessions done in one turn: some 50 us ... */
#define CONN_WORK 10     /* ... a connection counts as so many */
#define LONE_INPUTS 16   /* of one connection: it is the only one that asks */
#define WAITERS_US 10000 /* no connection asked for anything that it got without a sync */
#define DRAIN_US 1000000 /* a stopping server waits this long for what is under way */

/* ---- turns ---- */

void net_set_durable(struct net *n, uint64_t version)
{
    n->durable = version;
    if (!n->is_open) return;
    for (struct conn *c = n->held.held_next; c != &n->held; c = c->held_next) conn_queue_flush(c);
    conn_flush_queued(n, false);
}

enum net_asking net_asking(const struct net *n)
{
    if (n->lone_inputs >= LONE_INPUTS) return NET_ASKING_ONE;
    bool has_more = n->late_first != NULL || n->run.first != NULL || n->costly.first != NULL;
    bool all_wait = n->turn_begin_us - n->served_us >= WAITERS_US;
    return all_wait && !has_more ? NET_ASKING_WAITERS : NET_ASKING_ANY;
}

static struct conn *queue_take(struct conn_queue *q)
{
    struct conn *c = q->first;
    q->first = c->run_next;
    if (q->first == NULL) q->last = &q->first;
    c->is_queued = false;
    return c;
}

/* Those that are queued while this runs come after all that were queued before: what a full turn
 * leaves stays at the front. `least`: so many run in any case. */
static void run_queued(struct net *n, struct conn_queue *q, unsigned least)
{
    struct conn **end = q->last;
    while (q->first != NULL && (least > 0 || !net_turn_is_full(n))) {
        bool is_last = end == &q->first->run_next;
        struct conn *c = queue_take(q);
        if (least > 0) least--;
        if (c->stream.state == STREAM_OPEN) conn_run(c);
        if (is_last) return;
    }
}

static void run_queue(struct net *n, struct conn_queue *q, unsigned least)
{
    if (q->first == NULL) return;
    n->flushes_later = n->io != NULL;
    run_queued(n, q, least);
    if (n->flushes_later) conn_flush_queued(n, false);
    n->flushes_later = false;
}

static bool forget(struct conn *c, size_t *work)
{
    return c->stream.session == NULL || c->stream.protocol->forget(&c->stream, work);
}

/* Dead connections, but for those whose sessions take more than *work; `all`: these too. */
static void free_dying(struct net *n, bool all)
{
    struct conn **at = &n->dying;
    size_t work = FREE_WORK;
    while (*at != NULL) {
        struct conn *c = *at;
        if (!all && work < CONN_WORK) return;
        work -= work < CONN_WORK ? work : CONN_WORK;
        bool is_done = forget(c, &work);
        while (all && !is_done) {
            work = FREE_WORK;
            is_done = forget(c, &work);
        }
        /* Still in a queue: it is taken out there first. */
        bool is_used = c->is_readable || c->is_queued || c->is_flush_queued || c->is_rendering;
        if (!is_done || is_used) {
            at = &c->dying_next;
            continue;
        }
        *at = c->dying_next;
        conn_free(c);
    }
}

/* The end of a turn, before the loop sleeps. */
static void on_prepare(struct ev_loop *loop, ev_prepare *prepare, int events)
{
    struct net *n = prepare->data;
    const struct net_hooks *h = &n->options.hooks;
    (void)events;
    n->turn_begin_us = n->now_us = clock_mono_us();
    n->options.counts->turns++;
    n->turn_bytes = 0;
    h->turn_begin(h->arg, n->now_us);
    /* In turn, so that neither keeps the other from being served when there is too much of both. */
    if (n->is_queue_first) run_queue(n, &n->run, 0);
    conn_read_all(n);
    if (!n->is_queue_first) run_queue(n, &n->run, 0);
    run_queue(n, &n->costly, 1);
    handshakes_turn(n);
    n->is_queue_first = !n->is_queue_first;
    bool is_busy = h->turn_end(h->arg);
    conn_flush_queued(n, false);
    free_dying(n, false);
    n->turn_end_us = clock_mono_us();
    h->turn_over(h->arg, n->turn_bytes, (double)(n->turn_end_us - n->polled_us) / 1e6);
    is_busy = is_busy || n->run.first != NULL || n->costly.first != NULL || n->late_first != NULL ||
              n->dying != NULL || n->flush_first != NULL || n->shaking_first != NULL;
    if (is_busy) {
        ev_idle_start(loop, &n->idle);
    } else {
        ev_idle_stop(loop, &n->idle);
    }
}

/* Events were looked for, and are told next. What came while the turn before was under way is found
 * only now: when the loop has not slept since, it may have been there since that turn began. */
static void on_check(struct ev_loop *loop, ev_check *check, int events)
{
    struct net *n = check->data;
    (void)loop;
    (void)events;
    n->polled_us = clock_mono_us();
    bool has_slept = n->polled_us - n->turn_end_us > SLEPT_US;
    n->ready_us = has_slept ? n->polled_us : n->turn_begin_us;
}

static void on_idle(struct ev_loop *loop, ev_idle *idle, int events)
{
    /* Its being active is what it is for: the loop polls instead of sleeping. */
    (void)loop;
    (void)idle;
    (void)events;
}

static void on_wake(struct ev_loop *loop, ev_async *async, int events)
{
    struct net *n = async->data;
    (void)loop;
    (void)events;
    net_is_active(n);
    render_poll(n);
    if (n->is_open) n->options.hooks.wake(n->options.hooks.arg);
}

/* ---- ticks ---- */

/* At a connection: what is due for its session and for its output. */
static int64_t look(struct conn *c, int64_t now_ms)
{
    struct stream *s = &c->stream;
    int64_t due_ms = s->protocol->check(s, now_ms);
    if (s->state == STREAM_DEAD || !stream_check_output(s)) return 0;
    bool is_soon = due_ms > 0 && due_ms < OUTPUT_LOOK_MS;
    /* Limits of its output have to do with time. */
    return stream_pending(s) > 0 && !is_soon ? OUTPUT_LOOK_MS : due_ms;
}

static void slow_tick(struct net *n, int64_t now_us)
{
    if (now_us - n->slow_tick_us < (SLOW_TICK_MS - TICK_MS / 2) * 1000) return;
    n->slow_tick_us = now_us;
    n->options.hooks.slow_tick(n->options.hooks.arg);
    handshakes_check(n);
    attend_tick(n);
}

static void on_tick(struct ev_loop *loop, ev_timer *timer, int events)
{
    struct net *n = timer->data;
    const struct net_hooks *h = &n->options.hooks;
    int64_t now_us = clock_mono_us();
    (void)loop;
    (void)events;
    h->tick(h->arg);
    if (n->is_gated) {
        n->is_gated = !net_may_send(n);
        if (!n->is_gated) net_set_durable(n, n->durable);
    }
    slow_tick(n, now_us);
    int64_t rest_ms = TICK_MS;
    if (now_us - n->active_us > ACTIVE_US && !n->is_gated) rest_ms = h->rest_ms(h->arg);
    if (rest_ms <= 0) rest_ms = TICK_MS;
    if (rest_ms > SLOW_TICK_MS) rest_ms = SLOW_TICK_MS;
    n->is_resting = rest_ms != TICK_MS;
    net_tick_every(n, rest_ms);
}

static void on_signal(struct ev_loop *loop, ev_signal *signal, int events)
{
    const struct signal_call *call = signal->data;
    (void)loop;
    (void)events;
    call->f(call->arg, signal->signum);
}

/* ---- life ---- */

struct net *net_new(void)
{
    struct net *n = mem_new(sizeof *n);
    n->loop = ev_loop_new(EVFLAG_AUTO);
    if (n->loop == NULL) die("cannot create an event loop");
    n->run.last = &n->run.first;
    n->costly.last = &n->costly.first;
    n->late_last = &n->late_first;
    n->flush_last = &n->flush_first;
    n->shaking_last = &n->shaking_first;
    htab_init(&n->peers);
    RING_INIT(&n->held, held_next, held_prev);
    RING_INIT(&n->conns, next, prev);
    RING_INIT(&n->handshakes, next, prev);
    attend_init(&n->attend, look);
    ev_async_init(&n->wake, on_wake);
    n->wake.data = n;
    ev_async_start(n->loop, &n->wake);
    return n;
}

void net_wake(struct net *n)
{
    ev_async_send(n->loop, &n->wake);
}

void net_open(struct net *n, const struct net_options *options)
{
    n->options = *options;
    n->is_open = true;
    if (options->io_threads > 1) {
        n->io = io_threads_new(options->io_threads);
        if (n->io == NULL)
            log_warning("cannot start threads for io-threads: continuing without them");
    }
    ev_prepare_init(&n->prepare, on_prepare);
    n->prepare.data = n;
    ev_prepare_start(n->loop, &n->prepare);
    ev_check_init(&n->check, on_check);
    n->check.data = n;
    ev_set_priority(&n->check, EV_MAXPRI); /* before the events */
    ev_check_start(n->loop, &n->check);
    ev_idle_init(&n->idle, on_idle);
    ev_timer_init(&n->tick, on_tick, TICK_MS / 1000.0, TICK_MS / 1000.0);
    n->tick.data = n;
    ev_timer_start(n->loop, &n->tick);
}

void net_set_options(struct net *n, const struct net_options *options)
{
    n->options.is_protected = options->is_protected;
    n->options.keepalive_s = options->keepalive_s;
    n->options.clients_max = options->clients_max;
    n->options.address_clients_max = options->address_clients_max;
    attend_all(n);
}

void net_set_tls(struct net *n, struct tls_context *c)
{
    tls_context_free(n->tls);
    n->tls = c;
}

void net_on_signal(struct net *n, int signal, void (*f)(void *arg, int signal), void *arg)
{
    INVARIANT(n->signal_count < SIGNALS_MAX);
    struct signal_call *call = &n->signals[n->signal_count++];
    call->f = f;
    call->arg = arg;
    ev_signal_init(&call->signal, on_signal, signal);
    call->signal.data = call;
    ev_signal_start(n->loop, &call->signal);
}

void net_stop(struct net *n)
{
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

/* Replies whose versions are being synced still go out, and protocols that want to bring what is
 * under way to an end do; nothing else is read. */
static void drain(struct net *n)
{
    int64_t begin_us = clock_mono_us();
    n->is_stopping = true;
    for (struct conn *c = n->conns.next; c != &n->conns;) {
        struct conn *next = c->next;
        if (c->stream.protocol->stop == NULL) {
            ev_io_stop(n->loop, &c->read_io);
        } else {
            c->is_finishing = true;
            n->finishing_count++;
            c->stream.protocol->stop(&c->stream);
        }
        c = next;
    }
    (void)n->options.hooks.turn_end(n->options.hooks.arg);
    while (n->held.held_next != &n->held || n->finishing_count > 0) {
        if (clock_mono_us() - begin_us >= DRAIN_US || n->is_gated) return;
        ev_run(n->loop, EVRUN_ONCE);
    }
}

void net_run(struct net *n)
{
    ev_now_update(n->loop); /* the first turn does not last since the loop was made */
    ev_run(n->loop, 0);
    listen_close(n);
    handshakes_end(n);
    forget_readable(n);
    drain(n);
}

void net_close(struct net *n)
{
    listen_close(n);
    handshakes_end(n);
    while (n->conns.next != &n->conns) stream_kill(&n->conns.next->stream);
    render_stop(n);
    forget_readable(n);
    while (n->run.first != NULL) (void)queue_take(&n->run);
    while (n->costly.first != NULL) (void)queue_take(&n->costly);
    conn_flush_queued(n, true);
    free_dying(n, true);
    n->is_open = false;
}

void net_free(struct net *n)
{
    if (n == NULL) return;
    net_close(n);
    io_threads_free(n->io);
    for (size_t i = 0; i < n->input_count; i++) mem_free(n->inputs[i]);
    tls_context_free(n->tls);
    htab_fini(&n->peers);
    ev_loop_destroy(n->loop);
    mem_free(n);
}
