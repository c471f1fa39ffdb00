/* relay: one protocol on two streams; the session of each is its end of the relay. A side is read
 * only while the other has little unsent. The leader's end drains the client; the client's end is
 * told to the leader, which may still answer. Freed when both streams are forgotten. */
#include "node/relay.h"

#include "base/list.h"
#include "base/mem.h"

#define PAUSE_BYTES ((size_t)64 * 1024) /* while a side has so much unsent the other is not read */
#define END_LOOK_MS 100                 /* until the other side has taken what came before an end */

enum side { DOWN, UP }; /* to the client, to the leader */

struct relay_end {
    struct relay *relay;
    enum side side;
    struct stream *stream; /* NULL = it is dead */
    bool is_paused;        /* nothing is read of it until the other has sent */
    bool has_told;         /* its peer sends nothing more: the other side knows */
};

struct relay {
    struct node *node;
    struct relay_end ends[2];
    unsigned forgotten;
    struct relay *next, *prev; /* node->relays */
};

static struct relay_end *end_of(const struct stream *s)
{
    return s->session;
}

static struct relay_end *other_of(const struct relay_end *end)
{
    return &end->relay->ends[end->side == DOWN ? UP : DOWN];
}

static void *end_begin(void *arg, struct stream *s)
{
    struct relay_end *end = arg;
    end->stream = s;
    s->pause_bytes = PAUSE_BYTES;
    return end;
}

static bool end_wants_input(const struct stream *s)
{
    struct relay_end *end = end_of(s);
    const struct stream *to = other_of(end)->stream;
    end->is_paused = to != NULL && stream_pending(to) >= PAUSE_BYTES;
    return !end->is_paused;
}

static uint8_t *end_room(struct stream *s, size_t *size)
{
    *size = STREAM_INPUT_BYTES;
    return stream_input(s);
}

static void end_received(struct stream *s, size_t bytes)
{
    struct stream *to = other_of(end_of(s))->stream;
    if (to != NULL) stream_append(to, slice_of(stream_input(s), bytes), 0);
}

/* The peer sends nothing more. The leader's end is the connection's; the client may still want what
 * it has asked for. */
static void tell_end(struct relay_end *end)
{
    struct stream *to = other_of(end)->stream;
    if (end->has_told || end->stream == NULL || !end->stream->has_eof || to == NULL) return;
    if (end->side == UP) {
        end->has_told = true;
        stream_kill(end->stream); /* which drains the other */
    } else if (stream_pending(to) == 0) {
        end->has_told = true;
        stream_shut(to);
    }
}

static void end_run(struct stream *s)
{
    struct relay_end *end = end_of(s);
    struct relay_end *from = other_of(end);
    if (from->is_paused && from->stream != NULL && stream_pending(s) < PAUSE_BYTES) {
        from->is_paused = false;
        stream_queue(from->stream);
    }
    tell_end(end);
}

static void end_peer_ended(struct stream *s)
{
    tell_end(end_of(s));
}

static int64_t end_check(struct stream *s, int64_t now_ms)
{
    (void)now_ms;
    tell_end(end_of(s));
    const struct relay_end *end = end_of(s);
    return s->has_eof && !end->has_told ? END_LOOK_MS : 0;
}

static const struct output_limit *end_output_limit(const struct stream *s)
{
    static const struct output_limit none;
    (void)s;
    return &none; /* who sends too much for it is not read */
}

static void unlink_relay(struct relay *r)
{
    struct node *n = r->node;
    if (r->next == NULL) return;
    n->relays = r->next == r ? NULL : r->next;
    RING_UNLINK(r, next, prev);
    r->next = r->prev = NULL;
    n->relay_count--;
}

static void end_end(struct stream *s)
{
    struct relay_end *end = end_of(s);
    struct stream *other = other_of(end)->stream;
    end->stream = NULL;
    unlink_relay(end->relay);
    if (other == NULL || other->state != STREAM_OPEN) return;
    if (end->side == DOWN) {
        stream_kill(other);
        return;
    }
    stream_drain(other);
    stream_append(other, slice_of(NULL, 0), 0); /* it ends, once all is sent */
}

static bool end_forget(struct stream *s, size_t *work)
{
    struct relay_end *end = end_of(s);
    (void)work;
    s->session = NULL;
    if (++end->relay->forgotten == 2) mem_free(end->relay);
    return true;
}

static const struct protocol relay_protocol = {
    .name = "relay",
    .full = "",
    .denied = "",
    .begin = end_begin,
    .wants_input = end_wants_input,
    .room = end_room,
    .received = end_received,
    .run = end_run,
    .peer_ended = end_peer_ended,
    .check = end_check,
    .output_limit = end_output_limit,
    .end = end_end,
    .forget = end_forget,
};

void relay_begin(struct node *n, struct stream *down, struct stream *up, struct slice bytes)
{
    struct relay *r = mem_new(sizeof *r);
    r->node = n;
    for (int i = DOWN; i <= UP; i++)
        r->ends[i] = (struct relay_end){.relay = r, .side = (enum side)i};
    RING_ADD(n->relays, r, next, prev);
    n->relay_count++;
    n->passed_on++;
    stream_become(up, &relay_protocol, &r->ends[UP]);
    /* They may be bytes of the session that ends with the next. */
    stream_append(up, bytes, 0);
    stream_become(down, &relay_protocol, &r->ends[DOWN]);
    stream_queue(down);
}

void relays_end(struct node *n)
{
    while (n->relays != NULL) {
        struct relay *r = n->relays;
        unlink_relay(r);
        if (r->ends[UP].stream != NULL) stream_kill(r->ends[UP].stream);
    }
}
