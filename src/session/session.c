/* session: see session.h. Arguments lie in the input buffer, so nothing is read while a command
 * waits. A message that comes while a command runs would land in the middle of its reply: it goes
 * to `behind`, and follows once the reply has its mark. */
#include "session/session_int.h"

#include <poll.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "request/block.h"
#include "request/client_memory.h"
#include "request/login.h"
#include "request/observe.h"
#include "request/serving.h"
#include "request/table.h"
#include "session/ahead.h"

#define READ_BYTES (16 * 1024)       /* of one client in one turn ... */
#define READ_BIG_BYTES (1024 * 1024) /* ... but for one big argument */
#define BIG_ARGUMENT_BYTES (32 * 1024)
#define COMMANDS_MAX 1000 /* of one client in one turn */
#define BEHIND_KEEP_BYTES 4096
#define TRIM_IDLE_MS 2000 /* then the buffers for replies are given back */
#define END_LOOK_MS 300   /* between two looks whether a client has gone that none tells of */
#define ARENA_CHUNK_BYTES (64 * 1024)

struct sessions *sessions_new(struct env *env, const struct session_options *options)
{
    struct sessions *x = mem_new(sizeof *x);
    x->env = env;
    x->options = *options;
    arena_init(&x->arena, ARENA_CHUNK_BYTES);
    return x;
}

void sessions_free(struct sessions *x)
{
    if (x == NULL) return;
    arena_fini(&x->arena);
    buf_fini(&x->scratch);
    resp_spares_fini(&x->spares);
    mem_free(x);
}

void sessions_set_options(struct sessions *x, const struct session_options *options)
{
    x->options = *options;
}

/* What it waited for is there. */
static void session_ready(struct runner *r)
{
    const struct session *x = (struct session *)((char *)r - offsetof(struct session, runner));
    stream_queue(x->stream);
}

/* ---- messages from elsewhere ---- */

static struct session *session_of_client(struct client *c)
{
    return (struct session *)c;
}

/* After the reply was marked, or dropped because the command waits. */
static void session_take_behind(struct session *x)
{
    if (x->behind.len == 0) return;
    stream_append(x->stream, buf_slice(&x->behind), x->behind_version);
    x->behind_version = 0;
    buf_clear(&x->behind, BEHIND_KEEP_BYTES);
}

static void session_write(struct client *client, struct slice bytes, uint64_t version)
{
    struct session *x = session_of_client(client);
    struct stream *s = x->stream;
    struct env *env = x->shared->env;
    if (s->state != STREAM_OPEN) return;
    if (stream_would_overrun(s, x->behind.len + bytes.len)) stream_overrun(s, NULL);
    if (stream_is_overrun(s)) return;
    if (!client->settings.is_no_evict && client_memory_is_full(env, bytes.len)) {
        env->stats.evicted_clients++;
        stream_overrun(s, "a message for it was dropped, because all clients together use more "
                          "than twice maxmemory-clients");
        return;
    }
    client_memory_grow(env, bytes.len);
    if (x->runner.state != RUNNER_RUNNING) {
        stream_append(s, bytes, version);
        return;
    }
    /* Its output ends with a part of a reply that has no mark yet. */
    buf_append(&x->behind, bytes.data, bytes.len);
    if (version > x->behind_version) x->behind_version = version;
    if (x->behind.is_failed) stream_overrun(s, NULL);
}

static void session_close(struct client *client)
{
    stream_kill(session_of_client(client)->stream);
}

static void session_buffers(const struct client *client, size_t *input, size_t *output)
{
    const struct session *x = (const struct session *)client;
    *input = resp_reader_held(&x->reader) + decoded_held(&x->decoded);
    *output = output_held(&x->stream->output) + x->behind.cap;
}

static const struct client_ops client_ops = {
    .write = session_write,
    .close = session_close,
    .buffers = session_buffers,
};

/* ---- life ---- */

static void *session_begin(void *arg, struct stream *s)
{
    struct session *x = mem_new(sizeof *x);
    x->shared = arg;
    x->stream = s;
    resp_reader_init(&x->reader, x->shared->options.bulk_bytes_max);
    x->writer = (struct resp_writer){.out = &s->output.bytes, .proto = 2};
    client_init(&x->client, x->shared->env, &s->link, &client_ops);
    runner_init(&x->runner, x->shared->env, &x->client, session_ready);
    return x;
}

static void session_end(struct stream *s)
{
    struct session *x = s->session;
    node_pass_cancel(&x->pass);
    runner_drop(&x->runner);
    client_fini(&x->client, x->shared->env);
}

static bool session_forget(struct stream *s, size_t *work)
{
    struct session *x = s->session;
    if (!client_end_listening(&x->client, x->shared->env, work)) return false;
    resp_reader_fini(&x->reader);
    decoded_fini(&x->decoded);
    node_offer_free(x->offer);
    buf_fini(&x->behind);
    mem_free(x);
    s->session = NULL;
    return true;
}

/* ---- running commands ---- */

/* False when the session must stop for now. */
static bool session_execute(struct session *x)
{
    struct stream *s = x->stream;
    struct request rq = {.argv = x->argv,
                         .argc = x->argc,
                         .arena = &x->shared->arena,
                         .scratch = &x->shared->scratch,
                         .w = &x->writer,
                         .decodes_aside = true,
                         .decoded = &x->decoded};
    x->writer.proto = x->client.settings.proto;
    x->writer.drafts = stream_drafts(s, &x->writer.draft_bytes_min);
    s->link.stream_base = s->output.base;
    enum err r = runner_run(&x->runner, &rq);
    x->is_command_waiting = r == ERR_WAIT;
    if (s->state == STREAM_DEAD) return false; /* it closed itself */
    if (r == ERR_WAIT) {
        session_take_behind(x);
        return false;
    }
    stream_mark_reply(s, rq.depends, rq.is_evaluated);
    session_take_behind(x);
    bool is_lost = rq.error.code == ERR_TRYAGAIN && serving_ends_with(rq.command);
    if (x->client.run.closes_after_reply || is_lost) stream_drain(s);
    return s->state == STREAM_OPEN;
}

/* ---- commands in turn ---- */

static void protocol_error(struct session *x, const struct error *e)
{
    x->shared->env->stats.protocol_errors++;
    stats_error(x->shared->env, e->code);
    resp_error(&x->writer, e);
    stream_mark_own(x->stream, 0);
    stream_drain(x->stream);
}

/* A web page that makes a browser talk to this port must get nowhere (cross-protocol request
 * forgery). */
static bool is_http(const struct session *x)
{
    return slice_is_word(x->argv[0], "POST") || slice_is_word(x->argv[0], "HOST:");
}

/* The next command of what came. False when there is none to be run now. */
static bool session_next(struct session *x)
{
    struct error e;
    ahead_fetch(&x->decoded, x->shared->env, &x->client, &x->reader);
    x->reader.is_limited = x->client.user == NULL;
    switch (resp_reader_next(&x->reader, &x->argv, &x->argc, &e)) {
    case RESP_MORE:
        if (x->stream->has_eof) stream_drain(x->stream);
        return false;
    case RESP_BROKEN:
        /* Who cannot be known yet has made no mistake. */
        if (x->reader.is_over_limit && x->shared->env->users.are_awaited) {
            (void)nodes_know_no_users(x->shared->env->node.known, &e);
        }
        protocol_error(x, &e);
        return false;
    default: break;
    }
    if (!is_http(x)) return true;
    log_warning("client %s closed: it speaks HTTP", x->stream->link.address);
    stream_kill(x->stream);
    return false;
}

static void session_run_all(struct session *x)
{
    struct stream *s = x->stream;
    for (unsigned ran = 0; s->state == STREAM_OPEN && !runner_is_parked(&x->runner); ran++) {
        if (stream_pending(s) >= STREAM_PAUSE_BYTES) return;
        if (ran == COMMANDS_MAX || (ran > 0 && net_turn_is_full(s->net))) {
            stream_queue(s);
            return;
        }
        if (!x->is_command_waiting && (!passing_knows_users(x) || !session_next(x))) return;
        if (passing_is_wanted(x)) {
            if (!passing_go(x)) return;
            continue;
        }
        if (x->shared->env->node.self != NULL && node_is_link(x->argv, x->argc)) {
            if (!passing_accept(x)) return;
            continue;
        }
        uint64_t before = s->output.base + s->output.bytes.len;
        bool goes_on = session_execute(x);
        net_turn_spent(s->net, (size_t)(s->output.base + s->output.bytes.len - before),
                       x->shared->env->now_us);
        /* A reply over the hard limit is not sent at all, as in Redis, though the socket might take
         * it in time. */
        if (s->state != STREAM_DEAD && stream_would_overrun(s, 0)) (void)stream_check_output(s);
        if (!goes_on) return;
    }
}

/* No command is being run: what was said of one is over. */
static bool has_run_all(const struct session *x)
{
    return !runner_is_parked(&x->runner) && !x->is_command_waiting;
}

static void session_run(struct stream *s)
{
    struct session *x = s->session;
    if (runner_is_parked(&x->runner)) return;
    s->link.active_ms = clock_wall_ms();
    x->shared->env->now_us = clock_mono_us();
    session_run_all(x);
    if (s->session != x) return; /* the connection is another node's now */
    s->link.input_bytes = resp_reader_buffered(&x->reader);
    if (has_run_all(x)) resp_reader_give(&x->reader, &x->shared->spares);
}

/* ---- reading ---- */

/* Reading also moves the bytes that the arguments of a waiting command are in. */
static bool session_wants_input(const struct stream *s)
{
    const struct session *x = s->session;
    return !runner_is_parked(&x->runner) && !x->is_command_waiting &&
           stream_pending(s) < STREAM_PAUSE_BYTES;
}

/* For a big argument as much as has come already, so that memory follows what was sent and not what
 * was announced. */
static size_t read_size(const struct session *x)
{
    size_t missing = resp_reader_missing(&x->reader);
    if (missing < BIG_ARGUMENT_BYTES) return READ_BYTES;
    size_t size = resp_reader_buffered(&x->reader);
    if (size < BIG_ARGUMENT_BYTES) size = BIG_ARGUMENT_BYTES;
    if (size > READ_BIG_BYTES) size = READ_BIG_BYTES;
    return size < missing ? size : missing;
}

static uint8_t *session_room(struct stream *s, size_t *size)
{
    struct session *x = s->session;
    const struct session_options *o = &x->shared->options;
    size_t wanted = read_size(x);
    x->reader.bulk_bytes_max = o->bulk_bytes_max;
    decoded_clear(&x->decoded);
    resp_reader_take(&x->reader, &x->shared->spares);
    uint8_t *p = resp_reader_room(&x->reader, wanted, size);
    if (p == NULL || resp_reader_buffered(&x->reader) > o->query_bytes_max) {
        log_warning("client %s closed: its query buffer exceeds client-query-buffer-limit",
                    s->link.address);
        stream_kill(s);
        return NULL;
    }
    if (*size > wanted) *size = wanted;
    return p;
}

static void session_received(struct stream *s, size_t bytes)
{
    struct session *x = s->session;
    resp_reader_fed(&x->reader, bytes);
}

static void session_received_ahead(struct stream *s, size_t bytes)
{
    struct session *x = s->session;
    session_received(s, bytes);
    ahead_decode(&x->decoded, x->shared->env, &x->client, &x->reader, COMMANDS_MAX);
}

/* When the peer has gone, a command that waits for a message that may never come must not wait on.
 * Other commands are short, and their reply may still be wanted: the peer may have closed only its
 * side. */
static void session_peer_ended(struct stream *s)
{
    const struct session *x = s->session;
    if (client_waits_long(&x->client)) stream_kill(s);
}

/* ---- limits ---- */

static const struct output_limit *session_output_limit(const struct stream *s)
{
    const struct session *x = s->session;
    const struct session_options *o = &x->shared->options;
    return client_subscriptions(&x->client) > 0 ? &o->output_pubsub : &o->output_normal;
}

/* A command waits, and what came meanwhile, an end too, was seen or is left in the socket. */
static bool hides_end(const struct session *x)
{
    return runner_is_parked(&x->runner) && !stream_sees_end(x->stream);
}

/* Has its peer ended? Also when only its sending side has, as in Redis. */
static bool is_abandoned(const struct session *x)
{
    struct pollfd p = {.fd = x->stream->link.fd, .events = POLLRDHUP};
    return hides_end(x) && client_waits_long(&x->client) && poll(&p, 1, 0) == 1;
}

/* A client that does not log in must not keep a connection from others for ever. */
static bool is_login_late(struct session *x, int64_t now_ms)
{
    uint64_t max_s = x->shared->options.auth_s;
    if (x->client.user != NULL || max_s == 0) {
        x->no_user_ms = 0;
        return false;
    }
    if (x->no_user_ms == 0) x->no_user_ms = now_ms;
    return now_ms - x->no_user_ms > (int64_t)max_s * 1000;
}

static bool may_idle(const struct session *x)
{
    return runner_is_parked(&x->runner) || x->client.monitoring.is_on ||
           x->shared->options.idle_s == 0 || client_subscriptions(&x->client) > 0;
}

static int64_t sooner_ms(int64_t a, int64_t b)
{
    if (a <= 0 || b <= 0) return a > b ? a : b;
    return a < b ? a : b;
}

/* As protocol->check has it. */
static int64_t due_ms(const struct session *x, int64_t now_ms, int64_t idle_ms)
{
    const struct session_options *o = &x->shared->options;
    int64_t due = hides_end(x) ? END_LOOK_MS : 0;
    if (x->no_user_ms != 0)
        due = sooner_ms(due, x->no_user_ms + (int64_t)o->auth_s * 1000 + 1 - now_ms);
    if (has_run_all(x) && idle_ms <= TRIM_IDLE_MS) due = sooner_ms(due, TRIM_IDLE_MS + 1 - idle_ms);
    if (!may_idle(x)) due = sooner_ms(due, (int64_t)o->idle_s * 1000 + 1 - idle_ms);
    return due;
}

static int64_t session_check(struct stream *s, int64_t now_ms)
{
    struct session *x = s->session;
    int64_t idle_ms = now_ms - s->link.active_ms;
    const char *why = NULL;
    if (is_login_late(x, now_ms)) {
        why = "it has not authenticated in time";
    } else if (is_abandoned(x)) {
        why = "disconnected while its command waited";
    } else if (!may_idle(x) && idle_ms > (int64_t)x->shared->options.idle_s * 1000) {
        why = "idle";
    }
    if (why != NULL) {
        log_verbose("client %s closed: %s", s->link.address, why);
        stream_kill(s);
        return 0;
    }
    if (has_run_all(x) && idle_ms > TRIM_IDLE_MS) {
        decoded_fini(&x->decoded);
        resp_reader_give(&x->reader, &x->shared->spares);
        output_trim(&s->output);
    }
    client_memory_count(&x->client, x->shared->env);
    return due_ms(x, now_ms, idle_ms);
}

const struct protocol session_protocol = {
    .name = "resp",
    .full = "-ERR max number of clients reached\r\n",
    /* Redis's first sentence; then what can be done here. */
    .denied = "-DENIED Running in protected mode because protected mode is enabled and no password "
              "is set for the default user. In this mode connections are only accepted from the "
              "loopback interface and from the Unix socket. To accept connections from other "
              "machines, set a password: send CONFIG SET requirepass from the machine the server "
              "runs on, and CONFIG REWRITE to make it permanent, or write requirepass, or users "
              "(aclfile), into the server's configuration file. Without a password, "
              "protected-mode no serves every client that can reach the port.\r\n",
    .begin = session_begin,
    .wants_input = session_wants_input,
    .room = session_room,
    .received = session_received,
    .received_ahead = session_received_ahead,
    .run = session_run,
    .peer_ended = session_peer_ended,
    .check = session_check,
    .output_limit = session_output_limit,
    .end = session_end,
    .forget = session_forget,
};
