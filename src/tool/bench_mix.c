/* bench_mix: what `tupledctl bench` asks for. Everything is written below a prefix, a queue and a
 * beginning of plain keys that have the id of the run in their names, so that no data of others is
 * touched.
 */
#include <stdio.h>

#include "tool/bench_int.h"

#define MIX_FILL_WORDS 100 /* keys of one transaction */

void bench_key(const struct bench *b, uint64_t number, char out[BENCH_KEY_BYTES])
{
    snprintf(out, BENCH_KEY_BYTES, "[\"tupledctl-bench\",\"%s\",%llu]", b->id,
             (unsigned long long)number);
}

void bench_plain_key(const struct bench *b, uint64_t number, char out[BENCH_KEY_BYTES])
{
    snprintf(out, BENCH_KEY_BYTES, "tupledctl-bench:%s:%llu", b->id, (unsigned long long)number);
}

static void mix_queue(const struct bench *b, char out[BENCH_KEY_BYTES])
{
    snprintf(out, BENCH_KEY_BYTES, "tupledctl-bench-%s", b->id);
}

static uint64_t mix_any(struct bench *b)
{
    return rng_below(&b->rng, (uint64_t)b->keys);
}

/* Text that is kept for the next step; "" when it is too long. */
static void mix_keep(char *out, size_t bytes, const redisReply *r)
{
    size_t len = r->len < bytes ? r->len : 0;
    memcpy(out, r->str, len);
    out[len] = '\0';
}

/* ---- one command each ------------------------------------------------------------------------ */

static void mix_get_ask(struct bench *b, struct bench_slot *s, struct wire *w)
{
    char key[BENCH_KEY_BYTES];
    bench_key(b, mix_any(b), key);
    (void)s;
    wire_append_text(w, TOOL_WORDS_OF("KV.GET", key));
}

static void mix_set_ask(struct bench *b, struct bench_slot *s, struct wire *w)
{
    char key[BENCH_KEY_BYTES];
    bench_key(b, mix_any(b), key);
    (void)s;
    wire_append_text(w, TOOL_WORDS_OF("KV.SET", key, b->value));
}

static void mix_plain_get_ask(struct bench *b, struct bench_slot *s, struct wire *w)
{
    char key[BENCH_KEY_BYTES];
    bench_plain_key(b, mix_any(b), key);
    (void)s;
    wire_append_text(w, TOOL_WORDS_OF("GET", key));
}

static void mix_plain_set_ask(struct bench *b, struct bench_slot *s, struct wire *w)
{
    char key[BENCH_KEY_BYTES];
    bench_plain_key(b, mix_any(b), key);
    (void)s;
    wire_append_text(w, TOOL_WORDS_OF("SET", key, b->value));
}

static enum bench_verdict mix_text_hear(struct bench *b, struct bench_slot *s, const redisReply *r)
{
    (void)b;
    (void)s;
    return r->type == REDIS_REPLY_STRING || r->type == REDIS_REPLY_STATUS ? BENCH_OVER : BENCH_BAD;
}

static void mix_list_ask(struct bench *b, struct bench_slot *s, struct wire *w)
{
    char start[BENCH_KEY_BYTES];
    char end[BENCH_KEY_BYTES];
    uint64_t first = b->keys > 100 ? rng_below(&b->rng, (uint64_t)b->keys - 100) : 0;
    bench_key(b, first, start);
    bench_key(b, (uint64_t)b->keys, end);
    (void)s;
    wire_append_text(w, TOOL_WORDS_OF("KV.LIST", "START", start, "END", end, "LIMIT", "100"));
}

static enum bench_verdict mix_list_hear(struct bench *b, struct bench_slot *s, const redisReply *r)
{
    size_t wanted = b->keys < 100 ? (size_t)b->keys : 100;
    (void)s;
    return wire_is_array(r, 2) && r->element[1]->elements == wanted ? BENCH_OVER : BENCH_BAD;
}

/* ---- several --------------------------------------------------------------------------------- */

/* Every slot has a key of its own, beyond those of the others: its check holds. */
static void mix_atomic_ask(struct bench *b, struct bench_slot *s, struct wire *w)
{
    char key[BENCH_KEY_BYTES];
    const char *stamp = s->stamp[0] != '\0' ? s->stamp : "NONE";
    bench_key(b, (uint64_t)b->keys + s->number, key);
    wire_append_text(w, TOOL_WORDS_OF("KV.ATOMIC", "CHECK", key, stamp, "SET", key, b->value));
}

static enum bench_verdict mix_atomic_hear(struct bench *b, struct bench_slot *s,
                                          const redisReply *r)
{
    (void)b;
    if (r->type != REDIS_REPLY_STRING) return BENCH_BAD;
    mix_keep(s->stamp, sizeof s->stamp, r);
    return BENCH_OVER;
}

static void mix_queue_ask(struct bench *b, struct bench_slot *s, struct wire *w)
{
    char queue[BENCH_KEY_BYTES];
    mix_queue(b, queue);
    switch (s->step) {
    case 0: wire_append_text(w, TOOL_WORDS_OF("KV.ENQUEUE", queue, b->value)); break;
    case 1: wire_append_text(w, TOOL_WORDS_OF("KV.DEQUEUE", queue)); break;
    default: wire_append_text(w, TOOL_WORDS_OF("KV.ACK", s->receipt)); break;
    }
}

/* Each slot puts one in before it takes one: there is always one. */
static enum bench_verdict mix_queue_hear(struct bench *b, struct bench_slot *s, const redisReply *r)
{
    (void)b;
    switch (s->step++) {
    case 0: return r->type == REDIS_REPLY_STRING ? BENCH_STEP : BENCH_BAD;
    case 1:
        if (!wire_is_array(r, 1) || !wire_is_array(r->element[0], 5)) return BENCH_BAD;
        mix_keep(s->receipt, sizeof s->receipt, r->element[0]->element[4]);
        return BENCH_STEP;
    default: return wire_is(r, REDIS_REPLY_INTEGER) && r->integer == 1 ? BENCH_OVER : BENCH_BAD;
    }
}

static void mix_watch_ask(struct bench *b, struct bench_slot *s, struct wire *w)
{
    char key[BENCH_KEY_BYTES];
    bench_key(b, (uint64_t)b->keys + s->number, key);
    wire_append_text(w, TOOL_WORDS_OF("KV.SET", key, b->value));
}

const struct bench_mix bench_mixes[] = {
    {"get", "KV.GET of one key", true, false, mix_get_ask, mix_text_hear},
    {"set", "KV.SET of one key", false, false, mix_set_ask, mix_text_hear},
    {"atomic", "KV.ATOMIC with a CHECK and a SET", false, false, mix_atomic_ask, mix_atomic_hear},
    {"queue", "KV.ENQUEUE, KV.DEQUEUE, KV.ACK one after the other", false, false, mix_queue_ask,
     mix_queue_hear},
    {"list", "KV.LIST of 100 entries", true, false, mix_list_ask, mix_list_hear},
    {"watch", "KV.SET until a watcher of the key is notified", false, true, mix_watch_ask,
     mix_text_hear},
    {"plain-get", "GET of one key", true, false, mix_plain_get_ask, mix_text_hear},
    {"plain-set", "SET of one key", false, false, mix_plain_set_ask, mix_text_hear},
    {.name = NULL},
};

/* ---- before and after ------------------------------------------------------------------------ */

static enum tool_status mix_replies(struct wire *w, int64_t count)
{
    redisReply *r = NULL;
    for (; count > 0; count--) {
        if (wire_next(w, -1, &r) != WIRE_REPLY) return tool_fail(TOOL_BROKEN, "%s", wire_why(w));
        enum tool_status status = r->type == REDIS_REPLY_ERROR ? tool_refused(r) : TOOL_DONE;
        freeReplyObject(r);
        if (status != TOOL_DONE) return status;
    }
    return TOOL_DONE;
}

enum tool_status bench_fill(struct bench *b, struct wire *w)
{
    char key[BENCH_KEY_BYTES];
    char plain[BENCH_KEY_BYTES];
    for (int64_t at = 0; at < b->keys;) {
        int64_t asked = 0;
        for (; asked < MIX_FILL_WORDS && at < b->keys; asked++, at++) {
            bench_key(b, (uint64_t)at, key);
            bench_plain_key(b, (uint64_t)at, plain);
            wire_append_text(w, TOOL_WORDS_OF("KV.SET", key, b->value));
            wire_append_text(w, TOOL_WORDS_OF("SET", plain, b->value));
        }
        enum tool_status status = mix_replies(w, 2 * asked);
        if (status != TOOL_DONE) return status;
    }
    return TOOL_DONE;
}

/* A plain key is the tuple with that one part. */
enum tool_status bench_clean(struct bench *b, struct wire *w)
{
    char prefix[BENCH_KEY_BYTES];
    char start[BENCH_KEY_BYTES];
    char end[BENCH_KEY_BYTES];
    char queue[BENCH_KEY_BYTES];
    snprintf(prefix, sizeof prefix, "[\"tupledctl-bench\",\"%s\"]", b->id);
    snprintf(start, sizeof start, "[\"tupledctl-bench:%s:\"]", b->id);
    snprintf(end, sizeof end, "[\"tupledctl-bench:%s;\"]", b->id);
    mix_queue(b, queue);
    wire_append_text(w, TOOL_WORDS_OF("KV.DELRANGE", "PREFIX", prefix));
    wire_append_text(w, TOOL_WORDS_OF("KV.DELRANGE", "START", start, "END", end));
    wire_append_text(w, TOOL_WORDS_OF("KV.QUEUE", "PURGE", queue));
    enum tool_status status = mix_replies(w, 3);
    if (status != TOOL_DONE) {
        tool_fail(status,
                  "its data is still there: below %s, string keys tupledctl-bench:%s:*, queue %s",
                  prefix, b->id, queue);
    }
    return status;
}
