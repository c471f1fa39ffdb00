/* sentinel: sessions of the port: they read commands, hand them to sentinel_commands.c, and end.
 * When the address of the leader has changed, a tick tells all that listen. */
#include "node/sentinel.h"

#include <stdio.h>

#include "base/list.h"
#include "base/log.h"
#include "base/mem.h"
#include "node/sentinel_int.h"
#include "resp/reader.h"

#define QUERY_BYTES_MAX 65536
#define READ_BYTES 4096
#define AUTH_S 60 /* who has not said AUTH by then is disconnected */

struct sentinel_session {
    struct sentinel_call call; /* first: what commands see */
    struct sentinels *shared;
    struct stream *stream;
    struct resp_reader reader;
    struct sentinel_session *next, *prev; /* sentinels->sessions */
};

struct sentinels {
    struct sentinel_facts facts;
    char master[NODE_TEXT_BYTES];
    char told[NODE_TEXT_BYTES]; /* the leader's address, as it was last told; "" = none yet */
    uint64_t last_id;
    struct sentinel_session *sessions; /* circular list; NULL = none */
};

struct sentinels *sentinels_new(struct node *n, const char *master)
{
    struct sentinels *x = mem_new(sizeof *x);
    snprintf(x->master, sizeof x->master, "%s", master);
    x->facts = (struct sentinel_facts){.node = n, .master = x->master};
    return x;
}

void sentinels_free(struct sentinels *x)
{
    INVARIANT(x == NULL || x->sessions == NULL);
    mem_free(x);
}

/* ---- connections ----------------------------------------------------------------------------- */

static void *session_begin(void *arg, struct stream *s)
{
    struct sentinels *x = arg;
    struct sentinel_session *c = mem_new(sizeof *c);
    c->shared = x;
    c->stream = s;
    c->call.facts = &x->facts;
    c->call.id = ++x->last_id;
    c->call.address = s->link.address;
    c->call.is_early = true;
    sentinel_let_in(&c->call);
    c->call.w = (struct resp_writer){.out = &s->output.bytes, .proto = 2};
    resp_reader_init(&c->reader, QUERY_BYTES_MAX);
    RING_ADD(x->sessions, c, next, prev);
    return c;
}

static bool session_wants_input(const struct stream *s)
{
    return stream_pending(s) < STREAM_PAUSE_BYTES;
}

static uint8_t *session_room(struct stream *s, size_t *size)
{
    struct sentinel_session *c = s->session;
    uint8_t *p = resp_reader_room(&c->reader, READ_BYTES, size);
    if (p == NULL || resp_reader_buffered(&c->reader) > QUERY_BYTES_MAX) {
        stream_kill(s);
        return NULL;
    }
    if (*size > READ_BYTES) *size = READ_BYTES;
    return p;
}

static void session_received(struct stream *s, size_t bytes)
{
    struct sentinel_session *c = s->session;
    resp_reader_fed(&c->reader, bytes);
}

static void session_run(struct stream *s)
{
    struct sentinel_session *c = s->session;
    while (s->state == STREAM_OPEN && stream_pending(s) < STREAM_PAUSE_BYTES) {
        struct error e;
        sentinel_let_in(&c->call);
        c->reader.is_limited = !c->call.is_known;
        enum resp_result r = resp_reader_next(&c->reader, &c->call.argv, &c->call.argc, &e);
        if (r == RESP_MORE) break;
        if (r == RESP_BROKEN) {
            resp_error(&c->call.w, &e);
            stream_mark_own(s, 0);
            stream_drain(s);
            return;
        }
        sentinel_run(&c->call);
        stream_mark_own(s, 0);
        if (c->call.is_over) stream_drain(s);
    }
    if (s->has_eof && s->state == STREAM_OPEN) stream_drain(s);
}

static void session_peer_ended(struct stream *s)
{
    stream_kill(s);
}

static int64_t session_check(struct stream *s, int64_t now_ms)
{
    const struct sentinel_session *c = s->session;
    if (c->call.is_known) return 0;
    int64_t left_ms = s->link.created_ms + AUTH_S * 1000 - now_ms;
    if (left_ms <= 0) stream_kill(s);
    return left_ms;
}

static const struct output_limit *session_output_limit(const struct stream *s)
{
    static const struct output_limit limit = {.hard_bytes = 4u << 20};
    (void)s;
    return &limit;
}

static void session_end(struct stream *s)
{
    struct sentinel_session *c = s->session;
    struct sentinels *x = c->shared;
    x->sessions = c->next == c ? NULL : c->next;
    RING_UNLINK(c, next, prev);
}

static bool session_forget(struct stream *s, size_t *work)
{
    struct sentinel_session *c = s->session;
    (void)work;
    resp_reader_fini(&c->reader);
    sentinel_call_fini(&c->call);
    mem_free(c);
    s->session = NULL;
    return true;
}

const struct protocol sentinel_protocol = {
    .name = "sentinel",
    .full = "-ERR max number of clients reached\r\n",
    .denied =
        "-DENIED protected mode: without a password for the default user, only connections from "
        "this machine are accepted.\r\n",
    .begin = session_begin,
    .wants_input = session_wants_input,
    .room = session_room,
    .received = session_received,
    .run = session_run,
    .peer_ended = session_peer_ended,
    .check = session_check,
    .output_limit = session_output_limit,
    .end = session_end,
    .forget = session_forget,
};

/* ---- another node leads ---------------------------------------------------------------------- */

static void publish(struct sentinels *x, const char *channel, const char *text)
{
    struct sentinel_session *c = x->sessions;
    if (c == NULL) return;
    do {
        if (c->stream->state == STREAM_OPEN) {
            sentinel_tell(&c->call, channel, text);
            stream_append_own(c->stream, slice_of(NULL, 0));
        }
        c = c->next;
    } while (c != x->sessions);
}

void sentinels_tick(struct sentinels *x)
{
    char text[4 * NODE_TEXT_BYTES];
    char before[NODE_TEXT_BYTES];
    char after[NODE_TEXT_BYTES];
    const char *port_before;
    const char *port_after;
    if (x == NULL) return;
    const char *now = node_leader_address(x->facts.node);
    if (now[0] == '\0' || strcmp(now, x->told) == 0) return;
    if (x->told[0] != '\0') {
        node_split(x->told, before, &port_before);
        node_split(now, after, &port_after);
        snprintf(text, sizeof text, "%s %s %s %s %s", x->master, before, port_before, after,
                 port_after);
        log_notice("sentinel: +switch-master %s", text);
        publish(x, "+switch-master", text);
    }
    snprintf(x->told, sizeof x->told, "%s", now);
}
