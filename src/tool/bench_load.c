/* bench_load: a mix over many connections at a time, by one thread.
 *
 * A connection has `pipeline` slots; each has one command under way, and replies come in the order
 * of the commands, so a ring of slots says whose a reply is:
 *
 *   slot asks --command--> ring ... --reply--> hear: its next command, or over: the next operation
 *
 * When the time is over no operation begins any more, and those under way are waited for.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/mem.h"
#include "tool/bench_int.h"
#include "tool/output.h"

#define LOAD_LAST_US 30000000 /* for what is under way at the end */

struct load_conn {
    struct wire *w;
    struct bench_slot *slots; /* owned by the load; `pipeline` of them */
    size_t *ring;             /* indexes of slots that wait for a reply */
    size_t first, waiting;
    struct load_conn *writer; /* not NULL: this one hears of what that one writes */
};

struct load {
    struct bench *bench;
    const struct bench_mix *mix;
    struct bench_result *result;
    struct load_conn *conns; /* owned */
    struct pollfd *fds;      /* owned: one for each, then stop_fd */
    size_t count;
    uint64_t begun, over;
    int64_t start_us, end_us;
    struct progress progress;
    bool is_ending;
};

/* ---- operations ------------------------------------------------------------------------------ */

static void load_ask(struct load *l, struct load_conn *c, size_t slot)
{
    size_t room = (size_t)l->bench->pipeline;
    l->mix->ask(l->bench, &c->slots[slot], c->w);
    c->ring[(c->first + c->waiting) % room] = slot;
    c->waiting++;
}

static bool load_has_more(const struct load *l)
{
    if (l->is_ending) return false;
    return l->bench->requests == 0 || l->begun < (uint64_t)l->bench->requests;
}

static void load_begin(struct load *l, struct load_conn *c, size_t slot)
{
    struct bench_slot *s = &c->slots[slot];
    if (!load_has_more(l)) return;
    s->step = 0;
    s->has_reply = s->has_message = false;
    s->started_us = clock_mono_us();
    l->begun++;
    load_ask(l, c, slot);
}

static void load_over(struct load *l, struct load_conn *c, size_t slot)
{
    int64_t took_us = clock_mono_us() - c->slots[slot].started_us;
    histogram_add(&l->result->times, took_us);
    if (took_us > l->result->worst_us) l->result->worst_us = took_us;
    l->over++;
    load_begin(l, c, slot);
}

static enum tool_status load_reply(struct load *l, struct load_conn *c, const redisReply *r)
{
    if (r->type == REDIS_REPLY_ERROR) return tool_refused(r);
    if (c->waiting == 0) return tool_strange(l->mix->name);
    size_t slot = c->ring[c->first];
    struct bench_slot *s = &c->slots[slot];
    c->first = (c->first + 1) % (size_t)l->bench->pipeline;
    c->waiting--;
    switch (l->mix->hear(l->bench, s, r)) {
    case BENCH_STEP: load_ask(l, c, slot); break;
    case BENCH_OVER:
        s->has_reply = true;
        if (!l->mix->is_watched || s->has_message) load_over(l, c, slot);
        break;
    case BENCH_BAD: return tool_strange(l->mix->name);
    }
    return TOOL_DONE;
}

/* On a connection that watches: what the slot of its writer has written has arrived. */
static enum tool_status load_message(struct load *l, struct load_conn *c, const redisReply *r)
{
    struct bench_slot *s = &c->writer->slots[0];
    if (!wire_is_array(r, 3)) return tool_strange("SUBSCRIBE");
    s->has_message = true;
    if (s->has_reply) load_over(l, c->writer, 0);
    if (!wire_write(c->writer->w)) return tool_fail(TOOL_BROKEN, "%s", wire_why(c->writer->w));
    return TOOL_DONE;
}

static enum tool_status load_turn(struct load *l, struct load_conn *c)
{
    redisReply *r = NULL;
    enum tool_status status = TOOL_DONE;
    if (!wire_move(c->w)) return tool_fail(TOOL_BROKEN, "%s", wire_why(c->w));
    while (status == TOOL_DONE && wire_take(c->w, &r) && r != NULL) {
        status = c->writer != NULL ? load_message(l, c, r) : load_reply(l, c, r);
        freeReplyObject(r);
        r = NULL;
    }
    if (status == TOOL_DONE && !wire_write(c->w)) {
        return tool_fail(TOOL_BROKEN, "%s", wire_why(c->w));
    }
    return status;
}

/* ---- the run --------------------------------------------------------------------------------- */

static void load_show(struct load *l)
{
    int64_t us = clock_mono_us() - l->start_us;
    if (!progress_is_due(&l->progress)) return;
    progress_show(&l->progress, "bench: %s, %.0f a second", l->mix->name,
                  us > 0 ? (double)l->over * 1e6 / (double)us : 0);
}

/* Is there nothing more to wait for? */
static bool load_is_done(struct load *l)
{
    int64_t now_us = clock_mono_us();
    if (l->end_us >= 0 && now_us >= l->end_us) l->is_ending = true;
    return !load_has_more(l) && l->begun == l->over;
}

static enum tool_status load_run(struct load *l)
{
    enum tool_status status = TOOL_DONE;
    int64_t last_us = -1;
    while (status == TOOL_DONE && !load_is_done(l)) {
        for (size_t i = 0; i < l->count; i++) {
            l->fds[i].events = (short)(POLLIN | (wire_wants_out(l->conns[i].w) ? POLLOUT : 0));
        }
        int ready = poll(l->fds, (nfds_t)l->count + 1, 100);
        if (ready < 0 && errno != EINTR) return tool_fail(TOOL_BROKEN, "poll: %s", strerror(errno));
        if (ready > 0 && l->fds[l->count].revents != 0) {
            l->is_ending = l->result->was_stopped = true;
            l->fds[l->count].fd = -1;
        }
        for (size_t i = 0; ready > 0 && i < l->count && status == TOOL_DONE; i++) {
            if (l->fds[i].revents != 0) status = load_turn(l, &l->conns[i]);
        }
        if (l->is_ending && last_us < 0) last_us = clock_mono_us() + LOAD_LAST_US;
        if (last_us >= 0 && clock_mono_us() > last_us) {
            return tool_fail(TOOL_BROKEN, "no reply to pending operations for 30 s");
        }
        load_show(l);
    }
    return status;
}

/* ---- connections ----------------------------------------------------------------------------- */

/* The confirmation, and the message with the state of now. */
static enum tool_status load_subscribe(struct load *l, struct load_conn *c)
{
    char key[BENCH_KEY_BYTES];
    char channel[BENCH_KEY_BYTES + 16];
    redisReply *r = NULL;
    bench_key(l->bench, (uint64_t)l->bench->keys + c->writer->slots[0].number, key);
    snprintf(channel, sizeof channel, "kv:watch:%s", key);
    wire_append_text(c->w, TOOL_WORDS_OF("SUBSCRIBE", channel));
    for (int i = 0; i < 2; i++) {
        if (wire_next(c->w, clock_mono_us() + LOAD_LAST_US, &r) != WIRE_REPLY) {
            return tool_fail(TOOL_BROKEN, "SUBSCRIBE: %s", wire_why(c->w));
        }
        enum tool_status status = r->type == REDIS_REPLY_ERROR ? tool_refused(r) : TOOL_DONE;
        freeReplyObject(r);
        if (status != TOOL_DONE) return status;
    }
    return TOOL_DONE;
}

static enum tool_status load_connect(struct load *l)
{
    size_t pairs = (size_t)l->bench->connections;
    enum tool_status status = TOOL_DONE;
    for (size_t i = 0; i < l->count && status == TOOL_DONE; i++) {
        struct load_conn *c = &l->conns[i];
        if (i >= pairs) c->writer = &l->conns[i - pairs];
        status = tool_connect(l->bench->tool, &c->w);
        if (status != TOOL_DONE) break;
        l->fds[i].fd = wire_fd(c->w);
        if (c->writer != NULL) status = load_subscribe(l, c);
    }
    return status;
}

static void load_init(struct load *l)
{
    struct bench *b = l->bench;
    size_t slots = (size_t)b->pipeline;
    size_t writers = (size_t)b->connections;
    l->count = l->mix->is_watched ? 2 * writers : writers;
    l->conns = mem_new(l->count * sizeof *l->conns);
    l->fds = mem_new((l->count + 1) * sizeof *l->fds);
    l->fds[l->count] = (struct pollfd){.fd = b->stop_fd, .events = POLLIN};
    for (size_t i = 0; i < writers; i++) {
        l->conns[i].slots = mem_new(slots * sizeof(struct bench_slot));
        l->conns[i].ring = mem_new(slots * sizeof(size_t));
        for (size_t k = 0; k < slots; k++) l->conns[i].slots[k].number = i * slots + k;
    }
    progress_init(&l->progress, b->tool);
}

static void load_fini(struct load *l)
{
    for (size_t i = 0; i < l->count; i++) {
        wire_close(l->conns[i].w);
        mem_free(l->conns[i].slots);
        mem_free(l->conns[i].ring);
    }
    mem_free(l->conns);
    mem_free(l->fds);
}

enum tool_status bench_load(struct bench *b, const struct bench_mix *mix, struct bench_result *out)
{
    struct load l = {.bench = b, .mix = mix, .result = out};
    *out = (struct bench_result){.done = 0};
    load_init(&l);
    enum tool_status status = load_connect(&l);
    size_t slots = mix->is_watched ? 1 : (size_t)b->pipeline;
    l.start_us = clock_mono_us();
    l.end_us = b->requests > 0 ? -1 : l.start_us + b->seconds * 1000000;
    for (size_t i = 0; status == TOOL_DONE && i < (size_t)b->connections; i++) {
        for (size_t k = 0; k < slots; k++) load_begin(&l, &l.conns[i], k);
    }
    if (status == TOOL_DONE) status = load_run(&l);
    out->took_us = clock_mono_us() - l.start_us;
    out->done = l.over;
    progress_end(&l.progress);
    load_fini(&l);
    return status;
}
