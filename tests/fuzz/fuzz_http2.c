/* fuzz_http2: any bytes as a connection of HTTP, of either version, in pieces: from the session
 * through routes, users and commands down to a real backend, in one process and without a network:
 * what net does for a stream is done here. Nothing may crash; what HTTP/1.1 answers is well formed,
 * one answer after the other, and what HTTP/2 answers is whole frames that a client of nghttp2
 * takes.
 *
 * The first byte says how the rest is cut. 'H' at the second byte: the preface and an empty SETTINGS
 * frame of HTTP/2 go before what follows.
 */
#include <arpa/inet.h>
#include <nghttp2/nghttp2.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/random.h"
#include "fuzz/env_help.h"
#include "http/http.h"
#include "net/net.h"
#include "request/login.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TURNS_MAX 20
#define PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0"
#define PREFACE_BYTES 33

static struct env env;
static struct http *http;
static struct buf said; /* all that was sent to the peer */
static bool is_queued, is_overrun;
static unsigned turn_calls;

/* ---- what net is otherwise ------------------------------------------------------------------- */

void stream_queue(struct stream *s)
{
    (void)s;
    is_queued = true;
}

uint8_t *stream_input(struct stream *s)
{
    static uint8_t input[STREAM_INPUT_BYTES];
    (void)s;
    return input;
}

void stream_mark(struct stream *s, uint64_t version)
{
    output_mark(&s->output, version, UINT64_MAX);
}

void stream_mark_own(struct stream *s, uint64_t version)
{
    output_mark_own(&s->output, version, UINT64_MAX);
}

void stream_append(struct stream *s, struct slice bytes, uint64_t version)
{
    buf_append(&s->output.bytes, bytes.data, bytes.len);
    stream_mark(s, version);
}

void stream_append_own(struct stream *s, struct slice bytes)
{
    stream_append(s, bytes, 0);
}

size_t stream_pending(const struct stream *s)
{
    return output_pending(&s->output);
}

bool stream_would_overrun(const struct stream *s, size_t more)
{
    (void)s;
    return more > 1 << 20;
}

void stream_overrun(struct stream *s, const char *why)
{
    (void)s;
    (void)why;
    is_overrun = true;
}

bool stream_is_overrun(const struct stream *s)
{
    (void)s;
    return is_overrun;
}

void stream_kill(struct stream *s)
{
    if (s->state == STREAM_DEAD) return;
    s->state = STREAM_DEAD;
    s->protocol->end(s);
}

void stream_drain(struct stream *s)
{
    if (s->state != STREAM_OPEN) abort();
    s->state = STREAM_DRAINING;
}

void stream_shut(struct stream *s)
{
    (void)s;
}

void stream_check_soon(struct stream *s)
{
    (void)s;
}

bool stream_sees_end(const struct stream *s)
{
    (void)s;
    return true;
}

/* No other node is here. */
void stream_become(struct stream *s, const struct protocol *protocol, void *arg)
{
    (void)s;
    (void)protocol;
    (void)arg;
    abort();
}

void stream_channel(const struct stream *s, uint8_t out[LINK_CHANNEL_BYTES])
{
    (void)s;
    (void)out;
    abort();
}

enum err net_connect(struct net *n, const struct protocol *p, void *arg,
                     const struct net_address *address, bool is_tls, struct error *e)
{
    (void)is_tls;
    (void)n;
    (void)p;
    (void)arg;
    (void)address;
    (void)e;
    abort();
}

bool stream_check_output(struct stream *s)
{
    return s->state != STREAM_DEAD;
}

bool net_turn_is_full(const struct net *n)
{
    (void)n;
    return ++turn_calls % 5 == 0;
}

void net_turn_spent(struct net *n, size_t bytes, int64_t now_us)
{
    (void)n;
    (void)bytes;
    (void)now_us;
}

bool net_is_address(struct slice text)
{
    char copy[64];
    struct in6_addr a;
    if (text.len >= sizeof copy) return false;
    memcpy(copy, text.data, text.len);
    copy[text.len] = '\0';
    return inet_pton(AF_INET, copy, &a) == 1 || inet_pton(AF_INET6, copy, &a) == 1;
}

/* ---- the connection -------------------------------------------------------------------------- */

static void flush(struct stream *s)
{
    if (s->state == STREAM_DEAD) return;
    if (output_pending(&s->output) > 0) {
        struct slice ready = output_ready(&s->output, UINT64_MAX, false);
        buf_append(&said, ready.data, ready.len);
        output_sent(&s->output, ready.len);
    }
    s->link.stream_sent = s->output.base + s->output.sent;
    if (s->state == STREAM_DRAINING || is_overrun) stream_kill(s);
}

/* Runs until there is nothing to do, or too much. */
static void run(struct stream *s)
{
    is_queued = true;
    for (int i = 0; i < TURNS_MAX && s->state == STREAM_OPEN; i++) {
        bool was_queued = is_queued;
        is_queued = false;
        if (was_queued) s->protocol->run(s);
        flush(s);
        if (s->state == STREAM_OPEN) s->protocol->check(s, 0);
        if (!is_queued && i > 3) break;
        env_turn(&env);
    }
}

static void feed(struct stream *s, struct slice input, uint64_t seed)
{
    struct rng rng;
    rng_init(&rng, seed);
    while (input.len > 0 && s->state == STREAM_OPEN && s->protocol->wants_input(s)) {
        size_t room = 0;
        uint8_t *p = s->protocol->room(s, &room);
        if (p == NULL) return;
        size_t n = seed == 0 ? input.len : 1 + rng_below(&rng, 1 + rng_below(&rng, 300));
        if (n > room) n = room;
        if (n > input.len) n = input.len;
        memcpy(p, input.data, n);
        input = slice_of(input.data + n, input.len - n);
        s->protocol->received(s, n);
        if (s->state == STREAM_OPEN) run(s);
    }
    if (s->state != STREAM_OPEN) return;
    s->has_eof = true;
    run(s);
    if (s->state == STREAM_OPEN) s->protocol->peer_ended(s);
}

/* ---- what was said --------------------------------------------------------------------------- */

static const uint8_t *find(struct slice in, const char *what)
{
    return in.len == 0 ? NULL : memmem(in.data, in.len, what, strlen(what));
}

/* Each answer is a head with a status and, unless it has no length, so much of a body. The end of
 * the connection may cut the last one. */
static void check_http1(struct slice in)
{
    while (in.len > 0) {
        const uint8_t *end = find(in, "\r\n\r\n");
        if (in.len < 12 || memcmp(in.data, "HTTP/1.1 ", 9) != 0 || end == NULL) abort();
        struct slice head = slice_of(in.data, (size_t)(end - in.data) + 2);
        if (head.data[9] < '1' || head.data[9] > '5') abort();
        bool is_bare = head.data[9] == '1' || memcmp(head.data + 9, "204", 3) == 0;
        const uint8_t *length = find(head, "\r\ncontent-length: ");
        size_t body = 0;
        if (length != NULL) body = strtoul((const char *)length + 18, NULL, 10);
        if (length == NULL && !is_bare) return; /* a stream of events */
        size_t used = head.len + 2 + body;
        if (used > in.len) abort();
        in = slice_of(in.data + used, in.len - used);
    }
}

static void check_http2(struct slice in)
{
    nghttp2_session_callbacks *calls;
    nghttp2_session *ng;
    if (in.len == 0) return;
    size_t at = 0;
    while (at + 9 <= in.len) {
        at += 9 + ((size_t)in.data[at] << 16 | (size_t)in.data[at + 1] << 8 | in.data[at + 2]);
    }
    if (at != in.len) abort();
    if (nghttp2_session_callbacks_new(&calls) != 0) abort();
    if (nghttp2_session_client_new(&ng, calls, NULL) != 0) abort();
    if (nghttp2_session_mem_recv(ng, in.data, in.len) != (ssize_t)in.len) abort();
    nghttp2_session_del(ng);
    nghttp2_session_callbacks_del(calls);
}

static void start(void)
{
    static const struct http_options options = {.body_bytes_max = 10000,
                                                .allowed_hosts = "db.example",
                                                .allowed_origins = "https://app.example",
                                                .trusted_proxies = "10.0.0.1",
                                                .rest_base = "/keyval/api"};
    env_start(&env, "http");
    http = http_new(&env, &options);
    buf_init(&said);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct stream s = {.protocol = &http_protocol,
                       .state = STREAM_OPEN,
                       .link = {.fd = -1, .address = "127.0.0.1:1", .is_local = true}};
    struct error e;
    struct buf input;
    if (http == NULL) start();
    if (size < 2 || size > 20000) return 0;
    if (users_load(env.users.all, slice_str(""), "nothing", &e) != OK) abort();
    bool is_http2 = data[1] == 'H';
    buf_init(&input);
    if (is_http2) buf_append(&input, PREFACE, PREFACE_BYTES);
    buf_append(&input, data + 2, size - 2);
    buf_clear(&said, SIZE_MAX);
    is_overrun = false;
    turn_calls = 0;
    output_init(&s.output);
    s.session = http_protocol.begin(http, &s);
    feed(&s, buf_slice(&input), data[0]);
    stream_kill(&s);
    for (size_t work = 1000; !http_protocol.forget(&s, &work);) work = 1000;
    bool has_heads = find(buf_slice(&input), "HEAD ") != NULL; /* of which nothing is known here */
    if (is_http2) check_http2(buf_slice(&said));
    if (!is_http2 && !has_heads && find(buf_slice(&input), "PRI *") == NULL) {
        check_http1(buf_slice(&said));
    }
    output_fini(&s.output);
    buf_fini(&input);
    env_turn(&env);
    return 0;
}
