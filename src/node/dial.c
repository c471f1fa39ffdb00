/* dial: see dial.h. Any connection that comes in may be the one that went out: what tells is the
 * nonce, which this process hears again (node_dial_heard). */
#include "node/dial.h"

#include <stdio.h>

#include "base/log.h"
#include "base/mem.h"
#include "node/proof.h"
#include "resp/writer.h"

#define ANSWER_BYTES_MAX 1024
#define SILENCE_MS 2000

struct node_dial {
    struct node *node;
    bool is_over; /* what came of it was told */
    int64_t begun_ms;
    uint8_t answer[ANSWER_BYTES_MAX]; /* its beginning */
    size_t answer_bytes;
};

static void over(struct node_dial *d, const char *why)
{
    struct node *n = d->node;
    if (d->is_over) return;
    d->is_over = true;
    if (n->is_self_dialled) log_notice("node-address %s leads to this node", n->known.address);
    if (n->is_self_dialled || n->env->server.is_stopping) return;
    snprintf(n->known.misled, sizeof n->known.misled,
             "node-address %s does not lead to this node: %.200s", n->known.address, why);
    log_warning("%s", n->known.misled);
}

static void *dial_begin(void *arg, struct stream *s)
{
    struct node_dial *d = arg;
    struct node *n = d->node;
    struct resp_writer w = {.out = &s->output.bytes, .proto = 2};
    proof_nonce(n->dial_nonce);
    resp_array(&w, 3);
    resp_bulk_str(&w, "KV.LINK");
    resp_bulk_str(&w, "BEGIN");
    resp_bulk(&w, slice_of(n->dial_nonce, sizeof n->dial_nonce));
    stream_append_own(s, slice_of(NULL, 0));
    return d;
}

static bool dial_wants_input(const struct stream *s)
{
    (void)s;
    return true;
}

static uint8_t *dial_room(struct stream *s, size_t *size)
{
    struct node_dial *d = s->session;
    *size = sizeof d->answer;
    return d->answer;
}

static void dial_received(struct stream *s, size_t bytes)
{
    struct node_dial *d = s->session;
    if (d->answer_bytes == 0) d->answer_bytes = bytes;
}

/* A refusal before the nonce was read says nothing of who it is. */
static void dial_run(struct stream *s)
{
    struct node_dial *d = s->session;
    char refusal[128];
    if (d->answer_bytes > 0 && d->answer[0] == '-') {
        snprintf(refusal, sizeof refusal, "it replied: %.*s",
                 (int)(d->answer_bytes < 100 ? d->answer_bytes - 1 : 100),
                 (const char *)d->answer + 1);
        refusal[strcspn(refusal, "\r\n")] = '\0';
        over(d, refusal);
    } else {
        over(d, d->answer_bytes > 0 ? "another server responds there" : "it closes the connection");
    }
    if (s->state == STREAM_OPEN) stream_kill(s);
}

static void dial_peer_ended(struct stream *s)
{
    stream_kill(s);
}

static int64_t dial_check(struct stream *s, int64_t now_ms)
{
    struct node_dial *d = s->session;
    if (d->begun_ms == 0) d->begun_ms = now_ms;
    if (now_ms - d->begun_ms < SILENCE_MS) return d->begun_ms + SILENCE_MS - now_ms;
    over(d, "it does not respond");
    stream_kill(s);
    return 0;
}

static const struct output_limit *dial_output_limit(const struct stream *s)
{
    static const struct output_limit none;
    (void)s;
    return &none;
}

static void dial_end(struct stream *s)
{
    over(s->session, "it is unreachable, or closes the connection");
}

static bool dial_forget(struct stream *s, size_t *work)
{
    (void)work;
    mem_free(s->session);
    s->session = NULL;
    return true;
}

static const struct protocol dial_protocol = {
    .name = "dial",
    .full = "",
    .denied = "",
    .begin = dial_begin,
    .wants_input = dial_wants_input,
    .room = dial_room,
    .received = dial_received,
    .run = dial_run,
    .peer_ended = dial_peer_ended,
    .check = dial_check,
    .output_limit = dial_output_limit,
    .end = dial_end,
    .forget = dial_forget,
};

void node_dial(struct node *n, const struct net_address *at)
{
    struct error e;
    struct node_dial *d = mem_new(sizeof *d);
    d->node = n;
    n->is_self_dialled = false;
    n->known.misled[0] = '\0';
    if (net_connect(n->net, &dial_protocol, d, at, n->is_tls, &e) == OK) return;
    over(d, e.text);
    mem_free(d);
}

void node_dial_heard(struct node *n, struct slice nonce)
{
    bool is_own = slice_eq(nonce, slice_of(n->dial_nonce, sizeof n->dial_nonce));
    if (is_own) n->is_self_dialled = true;
}
