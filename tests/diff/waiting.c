/* Clients that wait (BLPOP and its like), on both servers. Nothing is told by a clock: a client
 * waits when the server counts it among those that do, and after each command as many replies are
 * read as the server counts fewer.
 */
#include <stdlib.h>
#include <time.h>

#include "diff/pair.h"

#define TRIES_MAX 60000 /* of a millisecond */

static void pause_ms(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

/* How many clients wait, as the server says; -1 when it does not. */
static int count_waiting(struct pair *p, struct side *side)
{
    static const char field[] = "blocked_clients:";
    struct reply *r = peer_ask(side->control, &p->arena, "INFO clients");
    const char *at = r != NULL ? memmem(r->text.data, r->text.len, field, sizeof field - 1) : NULL;
    if (at == NULL) p->is_lost = true;
    return at != NULL ? (int)strtol(at + sizeof field - 1, NULL, 10) : -1;
}

static int are_waiting(const struct side *side)
{
    int count = 0;
    for (int i = 1; i < PAIR_CONNECTIONS; i++) count += side->is_waiting[i];
    return count;
}

/* A call that waits for ever has 0 as its time. Any other one is answered. */
static bool is_lasting(const struct call *c)
{
    bool is_first = call_is(c, "BLMPOP") || call_is(c, "BZMPOP");
    return c->count > 2 && slice_eq(c->words[is_first ? 1 : c->count - 1], slice_str("0"));
}

static void send_call(struct side *side, const struct call *c)
{
    struct slice words[16];
    struct buf out;
    buf_init(&out);
    if (call_is(c, "CLIENT") && c->count > 2 && c->count < 16 && c->words[2].data[0] == '#') {
        memcpy(words, c->words, c->count * sizeof *words);
        words[2] = side->ids[(c->words[2].data[1] - '0') % PAIR_CONNECTIONS];
        peer_put(&out, words, c->count);
    } else {
        peer_put(&out, c->words, c->count);
    }
    peer_send(side->peers[c->connection], buf_slice(&out));
    buf_fini(&out);
}

/* The reply to what was sent to this client; NULL when it waits now, or the server is lost. */
static struct reply *reply_or_wait(struct pair *p, struct side *side, const struct call *c)
{
    struct peer *peer = side->peers[c->connection];
    int before = are_waiting(side);
    for (int i = 0; is_lasting(c) && !peer_has_more(peer); i++) {
        if (count_waiting(p, side) == before + 1 && !peer_has_more(peer)) {
            side->is_waiting[c->connection] = true;
            return NULL;
        }
        if (p->is_lost || i == TRIES_MAX) break;
        pause_ms();
    }
    return peer_next(peer, &p->arena);
}

/* Reads the replies to those that were served; NULL for those that wait on. */
static void read_served(struct pair *p, struct side *side, struct reply **served)
{
    int due = are_waiting(side) - count_waiting(p, side);
    for (int tries = 0; due > 0 && !p->is_lost; tries++) {
        for (int i = 1; i < PAIR_CONNECTIONS; i++) {
            if (!side->is_waiting[i] || !peer_has_more(side->peers[i])) continue;
            served[i] = peer_next(side->peers[i], &p->arena);
            side->is_waiting[i] = false;
            due--;
        }
        if (tries == TRIES_MAX) p->is_lost = true;
        if (due > 0) pause_ms();
    }
}

void waiting_end(struct pair *p)
{
    char words[64];
    struct side *sides[] = {&p->ours, &p->redis};
    for (int k = 0; k < 2; k++) {
        struct side *side = sides[k];
        for (int i = 1; i < PAIR_CONNECTIONS && !p->is_lost; i++) {
            if (!side->is_waiting[i]) continue;
            snprintf(words, sizeof words, "CLIENT UNBLOCK %.*s", (int)side->ids[i].len,
                     (const char *)side->ids[i].data);
            bool is_there = peer_ask(side->control, &p->arena, words) != NULL &&
                            peer_next(side->peers[i], &p->arena) != NULL;
            if (!is_there) p->is_lost = true;
            side->is_waiting[i] = false;
        }
    }
    arena_reset(&p->arena);
}

static char *told(const char *text, int client, const struct reply *r)
{
    char *all = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&all, &len);
    fprintf(f, "%s %d", text, client);
    if (r != NULL) fputs(": ", f);
    if (r != NULL) reply_show(f, r);
    fclose(f);
    return all;
}

/* Who waits, and what those got that do no longer: NULL is that it waits. */
static void compare_client(struct pair *p, size_t at, int i, struct reply *ours,
                           struct reply *redis, struct difference *d)
{
    if (ours == NULL && redis == NULL) return;
    p->replies++;
    if (ours != NULL && redis != NULL && replies_are_same(RULE_SCORES, ours, redis)) return;
    if (d->ours != NULL) return;
    *d = (struct difference){
        .at = at,
        .type = {ours != NULL ? ours->type : '\0', redis != NULL ? redis->type : '\0'},
        .ours = told(ours != NULL ? "served is" : "waits on:", i + 1, ours),
        .redis = told(redis != NULL ? "served is" : "waits on:", i + 1, redis)};
}

static void run_call(struct run *x, size_t at, struct difference *d)
{
    struct pair *p = x->pair;
    const struct call *c = &x->s->calls[at];
    struct reply *ours = NULL;
    struct reply *redis = NULL;
    struct reply *served[2][PAIR_CONNECTIONS] = {0};
    send_call(&p->ours, c);
    send_call(&p->redis, c);
    if (c->connection > 0) {
        ours = reply_or_wait(p, &p->ours, c);
        redis = reply_or_wait(p, &p->redis, c);
        compare_client(p, at, (int)c->connection, ours, redis, d);
    } else {
        ours = peer_next(p->ours.peers[0], &p->arena);
        redis = peer_next(p->redis.peers[0], &p->arena);
        run_compare(x, at, ours, redis, d);
        p->is_lost |= ours == NULL || redis == NULL;
    }
    if (x->worst > REPLY_KNOWN || p->is_lost) return;
    read_served(p, &p->ours, served[0]);
    read_served(p, &p->redis, served[1]);
    for (int i = 1; i < PAIR_CONNECTIONS; i++)
        compare_client(p, at, i, served[0][i], served[1][i], d);
}

bool waiting_run(struct run *x, struct difference *d)
{
    struct pair *p = x->pair;
    for (size_t i = 0; i < x->s->count && d->ours == NULL && !p->is_lost; i++) {
        unsigned by = x->s->calls[i].connection;
        if (p->ours.is_waiting[by] || p->redis.is_waiting[by]) continue;
        x->worst = REPLY_SAME;
        run_call(x, i, d);
        if (x->worst > REPLY_KNOWN) pair_reset(p);
        if (x->worst > REPLY_KNOWN) memset(x->is_multi, 0, sizeof x->is_multi);
        arena_reset(&p->arena);
    }
    return d->ours == NULL;
}
