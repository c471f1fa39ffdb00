#include "diff/pair.h"

#include <stdlib.h>

#include "base/mem.h"

#define BATCH_CALLS 64
#define BATCH_BYTES (128 * 1024)
#define RESTORED_MAX 300
#define CHUNK_BYTES (256 * 1024)

/* To all connections. */
static bool say(struct pair *p, const char *words)
{
    for (int i = 0; i < PAIR_CONNECTIONS; i++) {
        if (peer_ask(p->ours.peers[i], &p->arena, words) == NULL ||
            peer_ask(p->redis.peers[i], &p->arena, words) == NULL)
            p->is_lost = true;
    }
    arena_reset(&p->arena);
    return !p->is_lost;
}

static void ask_ids(struct pair *p, struct side *side)
{
    for (int i = 0; i < PAIR_CONNECTIONS; i++) {
        struct reply *r = peer_ask(side->peers[i], &p->lasting, "CLIENT ID");
        if (r != NULL) side->ids[i] = r->text;
    }
}

bool pair_open(struct pair *p, int port, const char *redis_path, int protocol)
{
    *p = (struct pair){0};
    arena_init(&p->arena, CHUNK_BYTES);
    arena_init(&p->lasting, CHUNK_BYTES);
    p->ours.control = peer_open_port(port);
    p->redis.control = peer_open_path(redis_path);
    if (p->ours.control == NULL || p->redis.control == NULL) return false;
    for (int i = 0; i < PAIR_CONNECTIONS; i++) {
        p->ours.peers[i] = peer_open_port(port);
        p->redis.peers[i] = peer_open_path(redis_path);
        if (p->ours.peers[i] == NULL || p->redis.peers[i] == NULL) return false;
    }
    ask_ids(p, &p->ours);
    ask_ids(p, &p->redis);
    return say(p, protocol == 3 ? "HELLO 3" : "HELLO 2");
}

void pair_close(struct pair *p)
{
    peer_close(p->ours.control);
    peer_close(p->redis.control);
    for (int i = 0; i < PAIR_CONNECTIONS; i++) {
        peer_close(p->ours.peers[i]);
        peer_close(p->redis.peers[i]);
    }
    arena_fini(&p->arena);
    arena_fini(&p->lasting);
}

void pair_reset(struct pair *p)
{
    waiting_end(p);
    say(p, "DISCARD");
    say(p, "UNWATCH");
    say(p, "FLUSHALL");
}

/* ---- a run ---- */

static char *shown(const struct reply *r)
{
    char *text = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&text, &len);
    reply_show(f, r);
    fclose(f);
    return text;
}

void difference_fini(struct difference *d)
{
    free(d->ours);
    free(d->redis);
    d->ours = d->redis = NULL;
}

/* What comes after this call depends on its reply. */
static bool is_barrier(const struct call *c)
{
    return call_is(c, "EXEC") || call_is(c, "EVAL");
}

/* The calls from `from` that are sent before a reply is read: of one connection. */
static size_t batch_end(const struct sequence *s, size_t from, struct buf *out)
{
    size_t to = from;
    unsigned connection = s->calls[from].connection;
    while (to < s->count && s->calls[to].connection == connection) {
        const struct call *c = &s->calls[to++];
        peer_put(out, c->words, c->count);
        if (is_barrier(c) || to - from == BATCH_CALLS || out->len > BATCH_BYTES) break;
    }
    return to;
}

static void follow_multi(struct run *x, const struct call *c, const struct reply *redis)
{
    unsigned i = c->connection;
    if (redis == NULL) return;
    if (reply_begins(redis, "QUEUED") && x->queued_count[i] < PAIR_QUEUED_MAX) {
        x->queued[i][x->queued_count[i]++] = c;
    } else if (call_is(c, "MULTI") && redis->type == '+') {
        x->is_multi[i] = true;
        x->queued_count[i] = 0;
    } else if (call_is(c, "EXEC") || call_is(c, "DISCARD")) {
        x->is_multi[i] = false;
    }
}

void run_compare(struct run *x, size_t at, struct reply *ours, struct reply *redis,
                 struct difference *d)
{
    const struct call *c = &x->s->calls[at];
    unsigned i = c->connection;
    enum verdict v = call_is(c, "EXEC") && x->is_multi[i]
                         ? compare_exec(x->queued[i], x->queued_count[i], ours, redis)
                         : compare_replies(c, ours, redis);
    x->pair->replies++;
    /* What follows a difference that is known says nothing, until both have the same again. */
    bool is_said = v == REPLY_DIFFERS && x->worst <= REPLY_KNOWN;
    if (v != REPLY_DIFFERS && v > x->worst) x->worst = v;
    if (is_said && d->ours == NULL) {
        *d = (struct difference){
            .at = at,
            .type = {ours != NULL ? ours->type : '\0', redis != NULL ? redis->type : '\0'},
            .ours = shown(ours),
            .redis = shown(redis)};
    }
    follow_multi(x, c, redis);
}

/* Both begin anew with the call `from`. */
static void run_clear(struct run *x, size_t from)
{
    pair_reset(x->pair);
    memset(x->is_multi, 0, sizeof x->is_multi);
    x->base = from;
}

/* Calls of one connection that have happened, sent to Redis alone. */
static size_t happen_again(struct run *x, size_t from, size_t upto)
{
    const struct slice unwatch = slice_str("UNWATCH");
    struct buf out;
    struct peer *redis = x->pair->redis.peers[x->s->calls[from].connection];
    size_t to = from;
    size_t sent = 0;
    buf_init(&out);
    for (; to < upto && sent < BATCH_CALLS && out.len < BATCH_BYTES; to++) {
        const struct call *c = &x->s->calls[to];
        if (c->connection != x->s->calls[from].connection) break;
        if (x->is_undone[to] && !call_is(c, "EXEC")) continue;
        if (x->is_undone[to])
            peer_put(&out, &unwatch, 1); /* as EXEC does, also where it fails */
        else
            peer_put(&out, c->words, c->count);
        sent++;
    }
    peer_send(redis, buf_slice(&out));
    for (; sent > 0; sent--) {
        if (peer_next(redis, &x->pair->arena) == NULL) x->pair->is_lost = true;
    }
    arena_reset(&x->pair->arena);
    buf_fini(&out);
    return to;
}

void run_restore(struct run *x, size_t at)
{
    static const char *const clean[] = {"UNWATCH", "FLUSHALL"};
    struct pair *p = x->pair;
    const struct call *c = &x->s->calls[at];
    if (at - x->base > RESTORED_MAX) {
        run_clear(x, at + 1);
        return;
    }
    bool is_begun = !call_is(c, "EXEC");
    for (size_t i = at; !is_begun && i > x->base; i--) {
        const struct call *before = &x->s->calls[i - 1];
        if (before->connection != c->connection) continue;
        x->is_undone[i - 1] = true;
        is_begun = call_is(before, "MULTI");
    }
    x->is_undone[at] = true;
    for (int i = 0; i < 2 * PAIR_CONNECTIONS; i++) {
        if (peer_ask(p->redis.peers[i / 2], &p->arena, clean[i % 2]) == NULL) p->is_lost = true;
    }
    for (size_t from = x->base; from <= at && !p->is_lost;) from = happen_again(x, from, at + 1);
}

static bool run_batch(struct run *x, size_t from, size_t to, struct difference *d)
{
    struct pair *p = x->pair;
    unsigned i = x->s->calls[from].connection;
    x->worst = REPLY_SAME;
    for (size_t k = from; k < to; k++) {
        struct reply *ours = peer_next(p->ours.peers[i], &p->arena);
        struct reply *redis = peer_next(p->redis.peers[i], &p->arena);
        run_compare(x, k, ours, redis, d);
        p->is_lost |= ours == NULL || redis == NULL;
        if (p->is_lost) return false;
    }
    arena_reset(&p->arena);
    if (x->worst == REPLY_ROLLED_BACK) run_restore(x, to - 1);
    if (x->worst == REPLY_APART) run_clear(x, to);
    return d->ours == NULL;
}

bool pair_run(struct pair *p, const struct sequence *s, struct difference *d)
{
    struct run x = {.pair = p, .s = s};
    struct buf out;
    bool is_same = true;
    *d = (struct difference){0};
    if (p->has_waiting) return waiting_run(&x, d);
    x.is_undone = mem_new(s->count + 1);
    buf_init(&out);
    for (size_t from = 0, to; from < s->count && is_same; from = to) {
        unsigned i = s->calls[from].connection;
        buf_clear(&out, BATCH_BYTES);
        to = batch_end(s, from, &out);
        peer_send(p->ours.peers[i], buf_slice(&out));
        peer_send(p->redis.peers[i], buf_slice(&out));
        is_same = run_batch(&x, from, to, d);
    }
    buf_fini(&out);
    mem_free(x.is_undone);
    return is_same;
}
