/* link: see link.h. A protocol on an outgoing stream that reads one line at a time. Link and stream
 * end in either order: the link's owner may close it first, or the stream may die first; it is
 * freed by whichever comes last (is_closed, is_forgotten). */
#include "node/link.h"

#include <inttypes.h>
#include <stdio.h>

#include "access/users.h"
#include "base/machine.h"
#include "base/mem.h"
#include "node/proof.h"
#include "resp/writer.h"

#define ANSWER_BYTES_MAX 1024
#define SILENCE_MS 2000 /* of the leader: then the link has failed */

struct node_link {
    struct node *node;
    struct stream *stream; /* NULL = it is dead */
    struct waiter *waiter;
    enum link_state state;
    bool is_closed;    /* not wanted any more: it goes with its stream */
    bool is_forgotten; /* the stream is gone */
    int64_t begun_ms;
    char nonce[PROOF_NONCE_CHARS];
    struct buf client; /* LINK_WORDS, each with a NUL at its end; owned */
    uint8_t answer[ANSWER_BYTES_MAX];
    size_t answer_bytes;
};

static const struct machine link_machine = {
    .name = "link",
    .states = {"greeting", "handing", "ready", "failed"},
    .allowed = {[LINK_GREETING] = TO(LINK_HANDING) | TO(LINK_FAILED),
                [LINK_HANDING] = TO(LINK_READY) | TO(LINK_FAILED),
                [LINK_READY] = TO(LINK_FAILED)},
};

static void wake(struct node_link *l)
{
    struct waiter *w = l->waiter;
    if (w == NULL || w->next == NULL) return;
    waiter_cancel(w);
    w->ready(w);
}

static void fail(struct node_link *l, const char *why, size_t len)
{
    struct node *n = l->node;
    if (l->state == LINK_FAILED) return;
    MACHINE_MOVE(&link_machine, l, state, LINK_FAILED);
    if (l->is_closed) return;
    snprintf(n->why, sizeof n->why, "%.60s at %.60s: %.*s", n->leader.name, n->leader.address,
             (int)(len < 128 ? len : 128), why);
    wake(l);
}

/* ---- what is said ---- */

static void add_word(struct buf *b, const char *text)
{
    buf_append(b, text, strlen(text) + 1);
}

static const char *view_word(const struct client *c)
{
    if (c == NULL || c->settings.view == VIEW_OF_USER) return "";
    return c->settings.view == VIEW_TUPLES ? "tuples" : "plain";
}

static void describe_client(struct buf *out, const struct client *c, const struct link *from)
{
    char text[32];
    add_word(out, c != NULL ? "resp" : "http");
    add_word(out, from->address);
    add_word(out, from->local_address);
    snprintf(text, sizeof text, "%s%s%s", from->is_local ? "l" : "", from->is_unix ? "u" : "",
             from->is_tls ? "t" : "");
    add_word(out, text);
    add_word(out, from->certificate_user != NULL ? from->certificate_user : "");
    if (c != NULL && c->user != NULL) buf_append(out, c->user->name.data, c->user->name.len);
    buf_append_byte(out, '\0');
    snprintf(text, sizeof text, "%" PRIu64, c != NULL ? c->id : 0);
    add_word(out, text);
    snprintf(text, sizeof text, "%d", c != NULL ? c->settings.proto : 2);
    add_word(out, text);
    add_word(out, c != NULL ? c->settings.name : "");
    add_word(out, c != NULL ? c->settings.lib_name : "");
    add_word(out, c != NULL ? c->settings.lib_version : "");
    add_word(out, view_word(c));
    buf_require(out);
}

static void say(struct node_link *l, const struct slice *words, size_t count)
{
    struct resp_writer w = {.out = &l->stream->output.bytes, .proto = 2};
    resp_array(&w, count);
    for (size_t i = 0; i < count; i++) resp_bulk(&w, words[i]);
    stream_append(l->stream, slice_of(NULL, 0), 0);
}

static void greet(struct node_link *l)
{
    proof_nonce(l->nonce);
    const struct slice words[] = {slice_str("KV.LINK"), slice_str("BEGIN"),
                                  slice_of(l->nonce, PROOF_NONCE_CHARS)};
    say(l, words, 3);
}

/* The leader's nonce and its proof: then who the client is, with ours. */
static void hand(struct node_link *l, struct slice answer)
{
    uint8_t channel[LINK_CHANNEL_BYTES];
    struct slice proved[] = {slice_str("leader"), slice_of(l->nonce, PROOF_NONCE_CHARS),
                             slice_of(answer.data, PROOF_NONCE_CHARS),
                             slice_of(channel, sizeof channel), buf_slice(&l->client)};
    char proof[PROOF_CHARS];
    bool is_whole = answer.len == PROOF_NONCE_CHARS + 1 + PROOF_CHARS;
    stream_channel(l->stream, channel);
    if (!is_whole ||
        !proof_is(l->node, proved, 4, slice_of(answer.data + PROOF_NONCE_CHARS + 1, PROOF_CHARS))) {
        static const char why[] = "it does not have the secret of this engine";
        fail(l, why, sizeof why - 1);
        return;
    }
    proved[0] = slice_str("standby");
    proof_make(l->node, proved, 5, proof);
    const struct slice words[] = {slice_str("KV.LINK"), slice_str("PASS"),
                                  slice_of(proof, PROOF_CHARS), buf_slice(&l->client)};
    MACHINE_MOVE(&link_machine, l, state, LINK_HANDING);
    say(l, words, 4);
}

static void take_answer(struct node_link *l, struct slice line)
{
    if (line.len == 0 || line.data[0] != '+') {
        size_t skip = line.len > 0 && line.data[0] == '-' ? 1 : 0;
        fail(l, (const char *)line.data + skip, line.len - skip);
    } else if (l->state == LINK_GREETING) {
        hand(l, slice_of(line.data + 1, line.len - 1));
    } else {
        MACHINE_MOVE(&link_machine, l, state, LINK_READY);
        wake(l);
    }
}

/* ---- the stream ---- */

static void *up_begin(void *arg, struct stream *s)
{
    struct node_link *l = arg;
    l->stream = s;
    greet(l);
    return l;
}

static bool up_wants_input(const struct stream *s)
{
    const struct node_link *l = s->session;
    return l->state < LINK_READY;
}

static uint8_t *up_room(struct stream *s, size_t *size)
{
    struct node_link *l = s->session;
    *size = sizeof l->answer - l->answer_bytes;
    if (*size > 0) return l->answer + l->answer_bytes;
    stream_kill(s);
    return NULL;
}

static void up_received(struct stream *s, size_t bytes)
{
    struct node_link *l = s->session;
    l->answer_bytes += bytes;
}

static void up_run(struct stream *s)
{
    struct node_link *l = s->session;
    uint8_t *end = memchr(l->answer, '\n', l->answer_bytes);
    if (end != NULL && end > l->answer && l->state < LINK_READY) {
        take_answer(l, slice_of(l->answer, (size_t)(end - l->answer) - 1));
        l->answer_bytes = 0; /* nothing more was asked for */
    }
    if (s->state == STREAM_OPEN && (s->has_eof || l->state == LINK_FAILED)) stream_kill(s);
}

static void up_peer_ended(struct stream *s)
{
    stream_kill(s);
}

static int64_t up_check(struct stream *s, int64_t now_ms)
{
    struct node_link *l = s->session;
    if (l->begun_ms == 0) l->begun_ms = now_ms;
    if (l->state >= LINK_READY) return 0;
    if (now_ms - l->begun_ms < SILENCE_MS) return l->begun_ms + SILENCE_MS - now_ms;
    static const char why[] = "it does not respond";
    fail(l, why, sizeof why - 1);
    stream_kill(s);
    return 0;
}

static const struct output_limit *up_output_limit(const struct stream *s)
{
    static const struct output_limit none;
    (void)s;
    return &none;
}

static void link_free(struct node_link *l)
{
    buf_fini(&l->client);
    mem_free(l);
}

static void up_end(struct stream *s)
{
    struct node_link *l = s->session;
    static const char why[] = "the connection ended";
    l->stream = NULL;
    fail(l, why, sizeof why - 1);
}

static bool up_forget(struct stream *s, size_t *work)
{
    struct node_link *l = s->session;
    (void)work;
    s->session = NULL;
    l->is_forgotten = true;
    if (l->is_closed) link_free(l);
    return true;
}

static const struct protocol link_protocol = {
    .name = "link",
    .full = "",
    .denied = "",
    .begin = up_begin,
    .wants_input = up_wants_input,
    .room = up_room,
    .received = up_received,
    .run = up_run,
    .peer_ended = up_peer_ended,
    .check = up_check,
    .output_limit = up_output_limit,
    .end = up_end,
    .forget = up_forget,
};

/* ---- its owner ---- */

struct node_link *link_open(struct node *n, const struct client *c, const struct link *from,
                            struct waiter *w)
{
    struct error e;
    struct node_link *l = mem_new(sizeof *l);
    l->node = n;
    l->waiter = w;
    buf_init(&l->client);
    describe_client(&l->client, c, from);
    if (net_connect(n->net, &link_protocol, l, &n->leader.at, n->is_tls, &e) == OK) return l;
    fail(l, e.text, strlen(e.text));
    link_free(l);
    return NULL;
}

enum link_state link_state(const struct node_link *l)
{
    return l->state;
}

struct stream *link_take(struct node_link *l)
{
    struct stream *s = l->stream;
    INVARIANT(l->state == LINK_READY && s != NULL);
    l->is_closed = true;
    l->waiter = NULL;
    return s;
}

void link_close(struct node_link *l)
{
    if (l == NULL) return;
    l->is_closed = true;
    l->waiter = NULL;
    if (l->is_forgotten) {
        link_free(l);
    } else if (l->stream != NULL) {
        stream_kill(l->stream);
    }
}
