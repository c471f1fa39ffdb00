/* exchange: see http_int.h. A request is served as a chain: a step names a command and the step
 * that gets its reply, until one of them answers; a full turn of the loop stops between two of
 * these. client_close is called from loops over all clients: it moves the state and queues, and
 * frees nothing. Messages that come before a stream is open wait in `behind`. */
#include <stdarg.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/machine.h"
#include "codec/json_lex.h"
#include "http/http_int.h"
#include "http/reply_json.h"
#include "request/block.h"
#include "request/client_memory.h"
#include "request/login.h"
#include "request/observe.h"
#include "request/selected.h"
#include "resp/item.h"

#define ARENA_CHUNK_BYTES 4096
#define KEEP_BYTES (64 * 1024) /* of buffers, between two requests */
#define HEARTBEAT_MS 15000
#define BLOCK_MS_MAX 30000 /* of a command: proxies give up soon after */

static const struct machine exchange_machine = {
    .name = "exchange",
    .states = {"idle", "ready", "parked", "delayed", "streaming", "answered", "closed"},
    .allowed = {[EXCHANGE_IDLE] = TO(EXCHANGE_READY) | TO(EXCHANGE_CLOSED),
                [EXCHANGE_READY] = TO(EXCHANGE_PARKED) | TO(EXCHANGE_DELAYED) |
                                   TO(EXCHANGE_ANSWERED) | TO(EXCHANGE_STREAMING) |
                                   TO(EXCHANGE_CLOSED),
                [EXCHANGE_PARKED] = TO(EXCHANGE_READY) | TO(EXCHANGE_CLOSED),
                [EXCHANGE_DELAYED] = TO(EXCHANGE_READY) | TO(EXCHANGE_CLOSED),
                [EXCHANGE_STREAMING] = TO(EXCHANGE_ANSWERED) | TO(EXCHANGE_CLOSED),
                [EXCHANGE_ANSWERED] = TO(EXCHANGE_IDLE) | TO(EXCHANGE_CLOSED)},
};

static void move(struct exchange *x, enum exchange_state to)
{
    bool is_answered = to == EXCHANGE_ANSWERED || to == EXCHANGE_STREAMING;
    INVARIANT((to == EXCHANGE_PARKED) == runner_is_parked(&x->runner)); /* 1 */
    INVARIANT(!is_answered || x->argv == NULL);                         /* 2 */
    MACHINE_MOVE(&exchange_machine, x, state, to);
}

/* ---- the client ------------------------------------------------------------------------------ */

static void stream_over(struct exchange *x)
{
    INVARIANT(x->state == EXCHANGE_STREAMING && x->http->counts.streams > 0); /* 3 */
    x->http->counts.streams--;
    exchange_step *over = x->on_stream_over;
    x->on_stream_over = NULL;
    if (over != NULL) over(x);
}

static struct exchange *exchange_of(struct client *c)
{
    return (struct exchange *)c;
}

/* Each frame of what is said to a client that listens, in order. */
static void hear(struct exchange *x, struct slice frames, uint64_t version)
{
    while (frames.len > 0 && x->state == EXCHANGE_STREAMING) {
        size_t len = resp_reply_length(frames);
        if (len == 0) return;
        x->on_message(x, slice_of(frames.data, len), version);
        frames = slice_of(frames.data + len, frames.len - len);
    }
}

static void client_write(struct client *c, struct slice bytes, uint64_t version)
{
    struct exchange *x = exchange_of(c);
    struct stream *s = x->session->stream;
    if (s->state != STREAM_OPEN || x->state == EXCHANGE_CLOSED) return;
    if (client_memory_is_full(x->http->env, bytes.len)) {
        x->http->env->stats.evicted_clients++;
        stream_overrun(s, "a message for it was dropped, because all clients together use more "
                          "than twice maxmemory-clients");
        return;
    }
    client_memory_grow(x->http->env, bytes.len);
    if (x->state == EXCHANGE_STREAMING) {
        if (x->on_message == NULL) {
            exchange_send(x, bytes, version);
        } else {
            hear(x, bytes, version);
        }
        return;
    }
    size_t max = x->http->options.output_stream.hard_bytes;
    if (max != 0 && x->behind.len + bytes.len > max) {
        stream_overrun(s, NULL);
        return;
    }
    buf_append(&x->behind, bytes.data, bytes.len);
    if (version > x->behind_version) x->behind_version = version;
    if (x->behind.is_failed) stream_overrun(s, NULL);
}

/* Inside of calls that go over all clients: only this one ends, and later. */
static void client_close(struct client *c)
{
    struct exchange *x = exchange_of(c);
    if (x->state == EXCHANGE_CLOSED) return;
    if (x->state == EXCHANGE_PARKED) runner_drop(&x->runner);
    if (x->state == EXCHANGE_STREAMING) stream_over(x);
    move(x, EXCHANGE_CLOSED);
    x->ops->queue(x);
}

static void client_buffers(const struct client *c, size_t *input, size_t *output)
{
    const struct exchange *x = (const struct exchange *)c;
    *input = c->link->input_bytes;
    *output = x->link.output_bytes + exchange_bytes(x);
}

static const struct client_ops client_ops = {
    .write = client_write,
    .close = client_close,
    .buffers = client_buffers,
};

size_t exchange_bytes(const struct exchange *x)
{
    return x->task_bytes + x->reply.cap + x->text.cap + x->behind.cap + x->arena.held_bytes +
           x->words.held_bytes;
}

static void exchange_ready(struct runner *r)
{
    struct exchange *x = (struct exchange *)(void *)((char *)r - offsetof(struct exchange, runner));
    if (x->state == EXCHANGE_PARKED) move(x, EXCHANGE_READY);
    x->ops->queue(x);
}

void exchange_park(struct exchange *x)
{
    runner_park(&x->runner);
    if (runner_is_parked(&x->runner)) move(x, EXCHANGE_PARKED);
}

/* Bodies are texts, whatever default-format says. What a request has set ends with it: the next one
 * on this connection may be another user's. */
static void set_forms(struct exchange *x)
{
    client_settings_reset(&x->client, x->http->env);
    x->client.settings.format = x->http->env->settings.bare_bigints ? FORMAT_JSON_BARE
                                                                    : FORMAT_JSON;
    x->client.listening.hearing = (struct client_hearing){0};
    x->stream_type = NULL;
}

void exchange_init(struct exchange *x, struct session_http *s, struct link *link,
                   const struct exchange_ops *ops)
{
    struct link own = x->link; /* it may be that one */
    *x = (struct exchange){.session = s, .http = s->http, .ops = ops, .link = own};
    arena_init(&x->arena, ARENA_CHUNK_BYTES);
    arena_init(&x->words, ARENA_CHUNK_BYTES);
    client_init(&x->client, s->http->env, link, &client_ops);
    runner_init(&x->runner, s->http->env, &x->client, exchange_ready);
    x->client.block.max_ms = BLOCK_MS_MAX;
    set_forms(x);
}

void exchange_end(struct exchange *x)
{
    runner_drop(&x->runner);
    if (x->state != EXCHANGE_CLOSED) {
        if (x->state == EXCHANGE_STREAMING) stream_over(x);
        move(x, EXCHANGE_CLOSED);
    }
    client_fini(&x->client, x->http->env);
}

bool exchange_forget(struct exchange *x, size_t *work)
{
    if (!client_end_listening(&x->client, x->http->env, work)) return false;
    buf_fini(&x->reply);
    buf_fini(&x->text);
    buf_fini(&x->behind);
    arena_fini(&x->arena);
    arena_fini(&x->words);
    return true;
}

void exchange_reset(struct exchange *x)
{
    move(x, EXCHANGE_IDLE);
    arena_reset(&x->arena);
    arena_reset(&x->words);
    buf_clear(&x->reply, KEEP_BYTES);
    buf_clear(&x->text, KEEP_BYTES);
    set_forms(x);
    x->message = NULL;
    x->route = NULL;
    x->task = NULL;
    x->task_bytes = 0;
    x->step = NULL;
    x->argv = NULL;
    x->depends = 0;
    x->is_evaluated = false;
    x->header_count = 0;
    x->cors = x->database = slice_of(NULL, 0);
}

/* ---- running commands ------------------------------------------------------------------------ */

struct slice *exchange_argv(struct exchange *x, size_t count)
{
    return arena_alloc(&x->arena, count * sizeof(struct slice));
}

void exchange_spent(struct exchange *x)
{
    net_turn_spent(x->session->stream->net, 0, clock_mono_us());
}

void exchange_command(struct exchange *x, struct slice *argv, size_t argc, exchange_step *step)
{
    x->argv = argv;
    x->argc = argc;
    x->step = step;
    buf_clear(&x->reply, KEEP_BYTES);
}

void exchange_words(struct exchange *x, exchange_step *step, const char *const *words)
{
    size_t count = 0;
    while (words[count] != NULL) count++;
    struct slice *argv = exchange_argv(x, count);
    for (size_t i = 0; i < count; i++) argv[i] = slice_str(words[i]);
    exchange_command(x, argv, count, step);
}

static void run_command(struct exchange *x)
{
    struct http *h = x->http;
    struct resp_writer w = {.out = &x->reply, .proto = x->client.settings.proto};
    struct request rq = {.argv = x->argv,
                         .argc = x->argc,
                         .arena = &h->arena,
                         .scratch = &h->scratch,
                         .w = &w,
                         .decodes_aside = true};
    x->client.link->stream_base = x->reply_from + x->reply_bytes;
    enum err r = runner_run(&x->runner, &rq);
    if (x->state != EXCHANGE_READY) { /* it closed itself */
        runner_drop(&x->runner);
        return;
    }
    net_turn_spent(x->session->stream->net, x->reply.len, h->env->now_us);
    if (r == ERR_WAIT) {
        if (runner_is_parked(&x->runner)) move(x, EXCHANGE_PARKED);
        return;
    }
    x->argv = NULL;
    x->reply_bytes += x->reply.len;
    if (rq.depends > x->depends) x->depends = rq.depends;
    x->is_evaluated |= rq.is_evaluated;
    if (x->client.run.closes_after_reply) {
        move(x, EXCHANGE_CLOSED);
        x->ops->queue(x);
    }
}

void exchange_go(struct exchange *x)
{
    for (bool is_first = true; x->state == EXCHANGE_READY; is_first = false) {
        if (!is_first && net_turn_is_full(x->session->stream->net)) {
            x->ops->queue(x);
            return;
        }
        if (x->argv != NULL) {
            run_command(x);
        } else {
            x->step(x);
        }
    }
}

/* ---- answers ---- */

struct slice exchange_database(const struct exchange *x)
{
    return x->database.data != NULL ? x->database : http_header(x->message, "tupled-database");
}

void exchange_start(struct exchange *x, const struct http_message *m)
{
    INVARIANT(x->argv == NULL && x->task == NULL && x->depends == 0); /* 4 */
    x->message = m;
    x->path = m->path;
    x->http->counts.requests[m->version]++;
    move(x, EXCHANGE_READY);
}

void exchange_refuse(struct exchange *x, const struct http_refusal *why)
{
    x->message = NULL;
    move(x, EXCHANGE_READY);
    exchange_fail(x, why->status, "ERR %s", why->text);
}

void exchange_answer(struct exchange *x, int status, const char *type, struct slice body)
{
    struct answer a = {.status = status, .type = type, .body = body};
    if (x->text.is_failed || x->reply.is_failed) {
        x->text.is_failed = x->reply.is_failed = false;
        a = (struct answer){
            .status = 507,
            .type = "application/json",
            .body = slice_str("{\"error\":\"ERR out of memory for the response\"}")};
    }
    answer_compress(x, &a);
    x->http->counts.answers[a.status / 100]++;
    x->argv = NULL;
    move(x, EXCHANGE_ANSWERED);
    x->ops->answer(x, &a);
}

void exchange_answer_json(struct exchange *x, int status)
{
    exchange_answer(x, status, "application/json", buf_slice(&x->text));
}

void exchange_fail(struct exchange *x, int status, const char *format, ...)
{
    char text[ERROR_TEXT_BYTES + 64];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    buf_clear(&x->text, KEEP_BYTES);
    buf_append_str(&x->text, "{\"error\":");
    json_string_write_lossy(slice_str(text), &x->text);
    buf_append_byte(&x->text, '}');
    exchange_answer_json(x, status);
}

int exchange_status_of(struct slice error)
{
    static const struct {
        const char *code;
        int status;
    } codes[] = {{"NOAUTH ", 401},   {"WRONGPASS ", 401}, {"NOPERM ", 403}, {"NODB ", 404},
                 {"TRYAGAIN ", 503}, {"CORRUPT ", 500},   {"QUOTA ", 507},  {"ERR disk full", 507}};
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        if (slice_has_prefix(error, slice_str(codes[i].code))) return codes[i].status;
    }
    return 400;
}

bool exchange_fails(struct exchange *x)
{
    struct slice error;
    if (!reply_is_error(buf_slice(&x->reply), &error)) return false;
    buf_clear(&x->text, KEEP_BYTES);
    buf_append_str(&x->text, "{\"error\":");
    json_string_write_lossy(error, &x->text);
    buf_append_byte(&x->text, '}');
    exchange_answer_json(x, exchange_status_of(error));
    return true;
}

/* ---- events ---------------------------------------------------------------------------------- */

void exchange_stream(struct exchange *x, struct slice first, exchange_message *on_message)
{
    struct answer a = {.status = 200, .type = "text/event-stream", .is_stream = true};
    if (x->stream_type != NULL) a.type = x->stream_type;
    x->on_message = on_message;
    x->argv = NULL;
    x->http->counts.answers[2]++;
    x->http->counts.streams++;
    x->sent_ms = clock_mono_us() / 1000;
    move(x, EXCHANGE_STREAMING);
    x->ops->answer(x, &a);
    exchange_send(x, first, x->depends);
    x->client.listening.hearing.is_held = false;
    if (on_message != NULL) {
        hear(x, buf_slice(&x->reply), x->depends);
        hear(x, buf_slice(&x->behind), x->behind_version);
    }
    buf_clear(&x->reply, KEEP_BYTES);
    buf_clear(&x->behind, 0);
    x->behind_version = 0;
}

void exchange_send(struct exchange *x, struct slice bytes, uint64_t version)
{
    if (x->state != EXCHANGE_STREAMING || bytes.len == 0) return;
    x->sent_ms = x->http->env->now_us / 1000;
    x->ops->send(x, bytes, version);
}

void exchange_end_stream(struct exchange *x)
{
    if (x->state != EXCHANGE_STREAMING) return;
    stream_over(x);
    move(x, EXCHANGE_ANSWERED);
    x->ops->end(x);
}

/* The server stops, and waits for nothing that may last. */
static void finish(struct exchange *x)
{
    if (x->state == EXCHANGE_STREAMING) exchange_end_stream(x);
    if (x->state == EXCHANGE_PARKED) (void)client_block_stop(&x->client, false);
    if (x->state == EXCHANGE_DELAYED) {
        move(x, EXCHANGE_CLOSED);
        x->ops->queue(x);
    }
}

void exchange_check(struct exchange *x, int64_t now_ms)
{
    client_memory_count(&x->client, x->http->env);
    if (x->http->is_stopping) finish(x);
    if (x->state == EXCHANGE_DELAYED && now_ms >= x->until_ms) {
        move(x, EXCHANGE_READY);
        x->ops->queue(x);
    }
    if (x->state == EXCHANGE_STREAMING && now_ms - x->sent_ms >= HEARTBEAT_MS) {
        exchange_send(x, x->heartbeat, 0);
    }
}

void exchange_delay(struct exchange *x, int64_t ms)
{
    x->until_ms = clock_mono_us() / 1000 + ms;
    move(x, EXCHANGE_DELAYED);
}
