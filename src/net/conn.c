#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"
#include "base/mem.h"
#include "net/net_int.h"
#include "request/client_memory.h"
#include "request/observe.h"

#define READ_BYTES (16 * 1024)       /* of one client in one turn ... */
#define READ_BIG_BYTES (1024 * 1024) /* ... but for one big argument */
#define BIG_ARGUMENT_BYTES (32 * 1024)
#define WRITE_BYTES_MAX (256 * 1024)  /* to one client in one turn */
#define COMMANDS_MAX 1000             /* of one client in one turn */
#define OUTPUT_PAUSE_BYTES (1u << 20) /* commands wait while this much is unsent */
#define BEHIND_KEEP_BYTES 4096
#define FLUSH_US_MAX 10000 /* of a turn, for output of which others made that it can go */
#define LOOK_EVERY 16      /* connections between two looks at the clock */
#define TRIM_IDLE_MS 2000  /* then the buffers of a connection are given back */

static void conn_move(struct conn *c, enum conn_state to)
{
    static const bool allowed[4][4] = {
        [CONN_READING] = {[CONN_PARKED] = true, [CONN_DRAINING] = true, [CONN_DEAD] = true},
        [CONN_PARKED] = {[CONN_READING] = true, [CONN_DEAD] = true},
        [CONN_DRAINING] = {[CONN_DEAD] = true},
    };
    INVARIANT(allowed[c->state][to]);
    if (c->state == CONN_PARKED) c->net->env->waiting_count--;
    if (to == CONN_PARKED) c->net->env->waiting_count++;
    c->client.is_waiting = to == CONN_PARKED;
    c->state = to;
}

/* ---- queues ---- */

void conn_queue(struct conn *c)
{
    struct net *n = c->net;
    if (c->is_queued || c->state == CONN_DEAD) return;
    c->is_queued = true;
    c->run_next = NULL;
    *n->run_last = c;
    n->run_last = &c->run_next;
    ev_idle_start(n->loop, &n->idle);
}

static void conn_hold(struct conn *c)
{
    if (c->is_held) return;
    c->is_held = true;
    RING_INSERT(&c->net->held, c, held_next, held_prev);
}

static void conn_unhold(struct conn *c)
{
    if (!c->is_held) return;
    c->is_held = false;
    RING_UNLINK(c, held_next, held_prev);
}

/* Of the command that waited: it has run, or never will. */
static void conn_run_over(struct conn *c)
{
    struct backend *b = c->net->env->db->backend;
    if (c->waiter.keep_id != 0) b->ops->run_over(b, &c->waiter);
}

static void conn_ready(struct waiter *w)
{
    struct conn *c = (struct conn *)((char *)w - offsetof(struct conn, waiter));
    if (c->state != CONN_PARKED) return;
    conn_move(c, CONN_READING);
    conn_queue(c);
}

/* ---- life ---- */

void conn_kill(struct conn *c)
{
    struct net *n = c->net;
    if (c->state == CONN_DEAD) return;
    conn_move(c, CONN_DEAD);
    waiter_cancel(&c->waiter);
    conn_run_over(c);
    conn_unhold(c);
    ev_io_stop(n->loop, &c->read_io);
    ev_io_stop(n->loop, &c->write_io);
    client_fini(&c->client, n->env);
    c->dying_next = n->dying;
    n->dying = c;
}

void conn_buffers(const struct conn *c, size_t *input, size_t *output)
{
    *input = resp_reader_held(&c->reader);
    *output = output_held(&c->output) + c->behind.cap;
}

void conn_free(struct conn *c)
{
    INVARIANT(c->state == CONN_DEAD && !c->is_readable && !c->is_queued && !c->is_flush_queued);
    close(c->client.fd);
    resp_reader_fini(&c->reader);
    output_fini(&c->output);
    buf_fini(&c->behind);
    mem_free(c);
}

/* ---- writing ---- */

static const struct output_limit *output_limit(const struct conn *c)
{
    const struct net_options *o = &c->net->options;
    return client_subscriptions(&c->client) > 0 ? &o->output_pubsub : &o->output_normal;
}

static void conn_check_output(struct conn *c)
{
    const struct output_limit *o = output_limit(c);
    size_t pending = output_pending(&c->output);
    bool is_over = output_is_over(&c->output, o, o->soft_bytes == 0 ? 0 : clock_mono_us());
    if (!is_over && c->is_crowded) {
        log_warning(
            "client id=%llu addr=%s name=%s closed: a message for it was dropped, since all "
            "clients together hold more than twice maxmemory-clients",
            (unsigned long long)c->client.id, c->client.address, c->client.name);
        c->net->env->stats.evicted_clients++;
        conn_kill(c);
        return;
    }
    if (!is_over && !c->is_overrun) return;
    log_warning("client %s closed: its output of %zu bytes is over client-output-buffer-limit",
                c->client.address, pending);
    conn_kill(c);
}

void conn_flush(struct conn *c)
{
    struct net *n = c->net;
    size_t written = 0;
    if (c->state == CONN_DEAD || c->is_write_blocked) return;
    struct slice ready = output_ready(&c->output, n->durable);
    while (ready.len > 0 && written < WRITE_BYTES_MAX) {
        size_t len = ready.len < WRITE_BYTES_MAX ? ready.len : WRITE_BYTES_MAX;
        ssize_t sent = send(c->client.fd, ready.data, len, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
        if (sent < 0) {
            conn_kill(c);
            return;
        }
        written += (size_t)sent;
        n->env->stats.net_out_bytes += (uint64_t)sent;
        output_sent(&c->output, (size_t)sent);
        c->client.stream_sent = c->output.base + c->output.sent;
        ready = output_ready(&c->output, n->durable);
    }
    if (ready.len > 0) {
        c->is_write_blocked = true;
        ev_io_start(n->loop, &c->write_io);
    }
    if (output_is_empty(&c->output)) {
        conn_unhold(c);
        if (c->state == CONN_DRAINING) conn_kill(c);
    } else if (ready.len == 0) {
        conn_hold(c);
    }
    c->client.output_bytes = output_pending(&c->output);
    if (c->state != CONN_DEAD) conn_check_output(c);
}

/* ---- messages from elsewhere ---- */

/* Everything in the output must have been marked: the mark of the message is its own. */
static void conn_append(struct conn *c, struct slice bytes, uint64_t version)
{
    buf_append(&c->output.bytes, bytes.data, bytes.len);
    if (c->output.bytes.is_failed) {
        c->output.bytes.is_failed = false;
        c->is_overrun = true;
    }
    output_mark(&c->output, version, c->net->durable);
    c->client.output_bytes = output_pending(&c->output);
}

void conn_write(struct conn *c, struct slice bytes, uint64_t version)
{
    struct net *n = c->net;
    if (c->state != CONN_READING && c->state != CONN_PARKED) return;
    size_t pending = output_pending(&c->output) + c->behind.len;
    uint64_t hard = output_limit(c)->hard_bytes;
    if (hard != 0 && pending + bytes.len > hard) c->is_overrun = true;
    if (!c->client.is_no_evict && client_memory_is_full(n->env, bytes.len)) {
        c->is_overrun = c->is_crowded = true;
    }
    if (!c->is_overrun) client_memory_grow(n->env, bytes.len);
    if (!c->is_overrun && n->running == c) {
        /* Its output ends with a part of a reply that has no mark yet. */
        buf_append(&c->behind, bytes.data, bytes.len);
        if (version > c->behind_version) c->behind_version = version;
        if (c->behind.is_failed) c->is_overrun = true;
    } else if (!c->is_overrun) {
        conn_append(c, bytes, version);
    }
    conn_queue_flush(c);
}

void conn_queue_flush(struct conn *c)
{
    struct net *n = c->net;
    if (c->is_flush_queued) return;
    c->is_flush_queued = true;
    c->flush_next = NULL;
    *n->flush_last = c;
    n->flush_last = &c->flush_next;
}

/* After the reply was marked, or dropped because the command waits. */
static void conn_take_behind(struct conn *c)
{
    if (c->behind.len == 0) return;
    conn_append(c, buf_slice(&c->behind), c->behind_version);
    c->behind_version = 0;
    buf_clear(&c->behind, BEHIND_KEEP_BYTES);
}

void conn_flush_queued(struct net *n, bool all)
{
    int64_t begin_us = clock_mono_us();
    for (unsigned i = 1; n->flush_first != NULL; i++) {
        struct conn *c = n->flush_first;
        size_t before = output_pending(&c->output);
        n->flush_first = c->flush_next;
        if (n->flush_first == NULL) n->flush_last = &n->flush_first;
        c->is_flush_queued = false;
        conn_flush(c);
        if (c->state != CONN_DEAD && c->is_overrun) conn_check_output(c);
        /* Commands that waited for room in the output can go on. */
        if (before >= OUTPUT_PAUSE_BYTES && c->state == CONN_READING) conn_queue(c);
        if (!all && i % LOOK_EVERY == 0 && clock_mono_us() - begin_us > FLUSH_US_MAX) return;
    }
}

static void on_writable(struct ev_loop *loop, ev_io *io, int events)
{
    struct conn *c = io->data;
    (void)events;
    c->is_write_blocked = false;
    ev_io_stop(loop, io);
    conn_flush(c);
    /* It may have stopped running commands because this much was unsent. */
    if (c->state == CONN_READING && output_pending(&c->output) < OUTPUT_PAUSE_BYTES) conn_queue(c);
}

/* A reply over the hard limit is not sent at all, as in Redis, though the socket might take it in
 * time. */
static bool conn_is_over(const struct conn *c)
{
    uint64_t hard = output_limit(c)->hard_bytes;
    return c->state != CONN_DEAD && hard != 0 && output_pending(&c->output) > hard;
}

/* ---- running commands ---- */

/* False when the connection must stop for now. */
static bool conn_execute(struct conn *c)
{
    struct net *n = c->net;
    struct request rq = {.env = n->env,
                         .client = &c->client,
                         .argv = c->argv,
                         .argc = c->argc,
                         .arena = &n->arena,
                         .scratch = &n->scratch,
                         .w = &c->writer,
                         .waiter = &c->waiter};
    c->writer.proto = c->client.proto;
    c->client.stream_base = c->output.base;
    n->running = c;
    turn_command(n->env, NULL);
    enum err r = command_run(&rq);
    turn_command(n->env, &rq);
    n->running = NULL;
    arena_reset(&n->arena);
    if (r == ERR_WAIT) {
        conn_take_behind(c);
        c->is_command_waiting = true;
        conn_move(c, CONN_PARKED);
        /* Told already, before it was parked: a waiter in no list has nobody to wake it. */
        if (c->waiter.next == NULL) conn_ready(&c->waiter);
        return false;
    }
    c->is_command_waiting = false;
    conn_run_over(c);
    output_mark(&c->output, rq.depends, n->durable);
    conn_take_behind(c);
    if (c->client.closes_after_reply) {
        conn_move(c, CONN_DRAINING);
        ev_io_stop(n->loop, &c->read_io);
        return false;
    }
    return c->state == CONN_READING;
}

/* A web page that makes a browser talk to this port must get nowhere (cross-protocol request
 * forgery). */
static bool is_http(const struct conn *c)
{
    return slice_is_word(c->argv[0], "POST") || slice_is_word(c->argv[0], "HOST:");
}

static void conn_protocol_error(struct conn *c, const struct error *e)
{
    c->net->env->stats.protocol_errors++;
    stats_error(c->net->env, e->code);
    resp_error(&c->writer, e);
    output_mark(&c->output, 0, c->net->durable);
    conn_move(c, CONN_DRAINING);
    ev_io_stop(c->net->loop, &c->read_io);
}

void conn_run(struct conn *c)
{
    unsigned ran = 0;
    struct error e;
    c->client.active_ms = clock_wall_ms();
    c->net->env->now_us = clock_mono_us();
    while (c->state == CONN_READING) {
        if (output_pending(&c->output) >= OUTPUT_PAUSE_BYTES) break;
        if (ran == COMMANDS_MAX || (ran > 0 && net_turn_is_full(c->net))) {
            conn_queue(c);
            break;
        }
        if (!c->is_command_waiting) {
            enum resp_result got = resp_reader_next(&c->reader, &c->argv, &c->argc, &e);
            if (got == RESP_MORE) {
                if (c->has_eof) conn_move(c, CONN_DRAINING);
                break;
            }
            if (got == RESP_BROKEN) {
                conn_protocol_error(c, &e);
                break;
            }
            if (is_http(c)) {
                log_warning("client %s closed: it speaks HTTP", c->client.address);
                conn_kill(c);
                return;
            }
        }
        ran++;
        uint64_t before = c->output.base + c->output.bytes.len;
        bool goes_on = conn_execute(c);
        c->net->turn_bytes += (size_t)(c->output.base + c->output.bytes.len - before);
        if (conn_is_over(c)) conn_check_output(c);
        if (!goes_on) break;
    }
    c->client.input_bytes = resp_reader_buffered(&c->reader);
    c->client.output_bytes = output_pending(&c->output);
    conn_flush(c);
    if (c->state == CONN_READING && !c->has_eof) ev_io_start(c->net->loop, &c->read_io);
}

/* ---- reading ---- */

/* For a big argument as much as has come already, so that memory follows what was sent and not what
 * was announced. */
static size_t read_size(const struct conn *c)
{
    size_t missing = resp_reader_missing(&c->reader);
    if (missing < BIG_ARGUMENT_BYTES) return READ_BYTES;
    size_t size = resp_reader_buffered(&c->reader);
    if (size < BIG_ARGUMENT_BYTES) size = BIG_ARGUMENT_BYTES;
    if (size > READ_BIG_BYTES) size = READ_BIG_BYTES;
    return size < missing ? size : missing;
}

/* Whoever waits for a message that may never come must not wait for somebody who has gone. Other
 * commands are short, and their reply may still be wanted: the peer may have closed only its side.
 */
static void conn_look_for_end(struct conn *c)
{
    uint8_t byte;
    ssize_t got = recv(c->client.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    bool is_error = got < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR;
    if (got == 0) c->has_eof = true;
    if (is_error || (got == 0 && c->client.block_waiter != NULL)) {
        conn_kill(c);
    } else if (got >= 0) {
        ev_io_stop(c->net->loop, &c->read_io); /* what came stays in the socket */
    }
}

static void conn_read(struct conn *c)
{
    struct net *n = c->net;
    if (c->state == CONN_PARKED) {
        conn_look_for_end(c);
        return;
    }
    /* With too much unsent, what comes meanwhile stays in the socket. Reading also moves the bytes
     * that the arguments of a waiting command are in. */
    if (c->state != CONN_READING || c->is_command_waiting ||
        output_pending(&c->output) >= OUTPUT_PAUSE_BYTES) {
        ev_io_stop(n->loop, &c->read_io);
        return;
    }
    if (c->is_queued) return; /* it has commands to run before more is read */
    size_t room = 0;
    uint8_t *p = resp_reader_room(&c->reader, read_size(c), &room);
    if (p == NULL || resp_reader_buffered(&c->reader) > n->options.query_bytes_max) {
        log_warning("client %s closed: its query buffer is over client-query-buffer-limit",
                    c->client.address);
        conn_kill(c);
        return;
    }
    if (room > read_size(c)) room = read_size(c);
    ssize_t got = recv(c->client.fd, p, room, 0);
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return;
    if (got < 0) {
        conn_kill(c);
        return;
    }
    if (got == 0) {
        c->has_eof = true;
        ev_io_stop(n->loop, &c->read_io);
    } else {
        resp_reader_fed(&c->reader, (size_t)got);
        n->turn_bytes += (size_t)got;
        n->env->stats.net_in_bytes += (uint64_t)got;
    }
    conn_run(c);
}

static void on_readable(struct ev_loop *loop, ev_io *io, int events)
{
    struct conn *c = io->data;
    (void)loop;
    (void)events;
    if (c->is_readable) return; /* the turn before was full */
    c->is_readable = true;
    c->readable_next = c->net->readable;
    c->net->readable = c;
}

/* What was left of earlier turns comes before what is new. */
void conn_read_all(struct net *n)
{
    *n->late_last = n->readable;
    while (*n->late_last != NULL) n->late_last = &(*n->late_last)->readable_next;
    n->readable = NULL;
    unsigned reads = 0;
    while (n->late_first != NULL && !net_turn_is_full(n)) {
        struct conn *c = n->late_first;
        n->late_first = c->readable_next;
        if (n->late_first == NULL) n->late_last = &n->late_first;
        c->is_readable = false;
        if (c->state != CONN_DEAD) conn_read(c);
        /* That connections end takes time too, and no command says how much. */
        if (++reads % LOOK_EVERY == 0) n->env->now_us = clock_mono_us();
    }
}

struct conn *conn_new(struct net *n, int fd)
{
    struct conn *c = mem_new(sizeof *c);
    c->net = n;
    c->state = CONN_READING;
    c->client.fd = fd;
    c->client.id = ++n->next_id;
    c->waiter.ready = conn_ready;
    resp_reader_init(&c->reader, n->options.bulk_bytes_max);
    output_init(&c->output);
    c->writer = (struct resp_writer){.out = &c->output.bytes, .proto = 2};
    client_init(&c->client, n->env);
    ev_io_init(&c->read_io, on_readable, fd, EV_READ);
    ev_io_init(&c->write_io, on_writable, fd, EV_WRITE);
    c->read_io.data = c;
    c->write_io.data = c;
    ev_io_start(n->loop, &c->read_io);
    return c;
}

/* Nothing is read of a connection whose command is blocked, maybe for ever: has it ended? Also when
 * only its sending side has, as in Redis. */
static bool conn_is_abandoned(const struct conn *c)
{
    struct pollfd p = {.fd = c->client.fd, .events = POLLRDHUP};
    return c->state == CONN_PARKED && c->client.block_waiter != NULL && poll(&p, 1, 0) == 1;
}

void conn_check_limits(struct conn *c, int64_t now_ms)
{
    if (c->state == CONN_DEAD) return;
    if (conn_is_abandoned(c)) {
        log_verbose("client %s closed: it went away while it was blocked", c->client.address);
        conn_kill(c);
        return;
    }
    uint64_t idle_s = c->net->options.idle_s;
    bool may_idle = c->state == CONN_PARKED || c->client.is_monitor || idle_s == 0 ||
                    client_subscriptions(&c->client) > 0;
    if (c->state == CONN_READING && !c->is_command_waiting &&
        now_ms - c->client.active_ms > TRIM_IDLE_MS) {
        resp_reader_trim(&c->reader);
        output_trim(&c->output);
    }
    if (!may_idle && now_ms - c->client.active_ms > (int64_t)idle_s * 1000) {
        log_verbose("client %s closed: idle", c->client.address);
        conn_kill(c);
        return;
    }
    conn_check_output(c);
}
