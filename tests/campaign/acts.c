#include "campaign/acts.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ACCOUNTS 8
#define COUNTERS 3
#define REGISTERS 6
#define WIDE 300 /* keys of which those that a leader has not made durable are few */
#define LINE_BYTES 4096
#define MESSAGES_OF 10000000 /* a client's messages are numbered from its number times this */
#define CONNECTIONS_OF 16384 /* likewise; after so many they begin again, which only hides faults */
#define LEASE_MS 2500
#define RETRIES 40

/* The line of a write grows as its words are said. */
struct act {
    struct talk *t;
    char effects[LINE_BYTES];
    size_t len;
    enum talk_mode mode;
    int ops; /* said so far: checks and mutations */
    int sum_op[2];
    size_t sum_at[2]; /* where in `effects` the replied sum is to stand */
    int sums;
};

__attribute__((format(printf, 2, 3))) static void note(struct act *a, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    a->len += (size_t)vsnprintf(a->effects + a->len, sizeof a->effects - a->len, format, args);
    va_end(args);
    if (a->len >= sizeof a->effects) abort();
}

/* ---- transactions ---- */

/* Half of them can be sent again. */
static void begin_atomic(struct act *a, struct talk *t)
{
    *a = (struct act){.t = t, .mode = talk_below(t, 2) == 0 ? TALK_AGAIN : TALK_ONCE};
    t->count++;
    talk_begin(t);
    talk_word(t, "KV.ATOMIC");
    if (a->mode == TALK_AGAIN) {
        talk_word(t, "IDEM");
        talk_word(t, "%u.%u", t->number, t->count);
    }
    talk_word(t, "DETAILS");
}

static void say_mark(struct act *a)
{
    struct talk *t = a->t;
    talk_word(t, "SET");
    talk_word(t, "[\"m\",%u,%u]", t->number, t->count);
    talk_word(t, "1");
    note(a, " mark [\"m\",%u,%u]", t->number, t->count);
    a->ops++;
}

static void say_sum(struct act *a, const char *space, unsigned i, int n)
{
    talk_word(a->t, "SUM");
    talk_word(a->t, "[\"%s\",%u]", space, i);
    talk_word(a->t, "%d", n);
    note(a, " add [\"%s\",%u] %d ", space, i, n);
    a->sum_op[a->sums] = a->ops++;
    a->sum_at[a->sums++] = a->len;
}

static const redisReply *element(const redisReply *r, size_t i)
{
    return r != NULL && r->type == REDIS_REPLY_ARRAY && i < r->elements ? r->element[i] : NULL;
}

/* The line, with the replied sums put in. */
static void write_line(struct act *a, const char *outcome, const redisReply *results)
{
    struct talk *t = a->t;
    size_t from = 0;
    fprintf(t->out, "write %u.%u %" PRId64 " %" PRId64 " %s", t->number, t->count, t->begun_us,
            t->ended_us, outcome);
    for (int i = 0; i < a->sums; i++) {
        const redisReply *sum = element(results, (size_t)a->sum_op[i]);
        bool is_said = sum != NULL && sum->type == REDIS_REPLY_STRING;
        fprintf(t->out, "%.*s%s", (int)(a->sum_at[i] - from), a->effects + from,
                is_said ? sum->str : "?");
        from = a->sum_at[i];
    }
    fprintf(t->out, "%s\n", a->effects + from);
}

/* A check that failed has read what the key is. */
static void write_failed(struct act *a, const char *key, const redisReply *failed)
{
    const struct talk *t = a->t;
    const redisReply *version = element(element(failed, 0), 1);
    if (key == NULL || version == NULL) return;
    bool is_there = version->type == REDIS_REPLY_STRING;
    fprintf(t->out, "read %u.%u %" PRId64 " %" PRId64 " %s %s %s\n", t->number, t->count,
            t->begun_us, t->ended_us, key, is_there ? "*" : "nil", is_there ? version->str : "0");
}

/* True when it happened. `key` is that of its check, or NULL. */
static bool end_atomic(struct act *a, const char *key)
{
    redisReply *r = talk_ask(a->t, a->mode);
    bool is_done = false;
    if (r == NULL) {
        if (a->t->begun_us != 0) write_line(a, "?", NULL);
    } else if (r->type == REDIS_REPLY_ERROR) {
        fprintf(a->t->out, "# %s\n", r->str);
        write_line(a, "!", NULL);
    } else if (element(r, 0) != NULL && element(r, 0)->type == REDIS_REPLY_STRING) {
        write_line(a, element(r, 0)->str, element(r, 1));
        is_done = true;
    } else {
        write_line(a, "!", NULL);
        write_failed(a, key, element(r, 1));
    }
    freeReplyObject(r);
    return is_done;
}

static void transfer(struct talk *t)
{
    struct act a;
    unsigned from = (unsigned)talk_below(t, ACCOUNTS);
    unsigned to = (from + 1 + (unsigned)talk_below(t, ACCOUNTS - 1)) % ACCOUNTS;
    int n = 1 + (int)talk_below(t, 9);
    begin_atomic(&a, t);
    say_mark(&a);
    say_sum(&a, "account", from, -n);
    say_sum(&a, "account", to, n);
    end_atomic(&a, NULL);
}

static void delete (struct talk *t)
{
    struct act a;
    unsigned i = (unsigned)talk_below(t, REGISTERS);
    begin_atomic(&a, t);
    say_mark(&a);
    talk_word(t, "DEL");
    talk_word(t, "[\"register\",%u]", i);
    note(&a, " del [\"register\",%u]", i);
    end_atomic(&a, NULL);
}

static void write_wide(struct talk *t)
{
    struct act a;
    unsigned i = (unsigned)talk_below(t, WIDE);
    begin_atomic(&a, t);
    say_mark(&a);
    talk_word(t, "SET");
    talk_word(t, "[\"wide\",%u]", i);
    talk_word(t, "%u", t->number * MESSAGES_OF + t->count);
    note(&a, " set [\"wide\",%u] %u", i, t->number * MESSAGES_OF + t->count);
    end_atomic(&a, NULL);
}

static void enqueue(struct talk *t)
{
    struct act a;
    begin_atomic(&a, t);
    say_mark(&a);
    talk_word(t, "ENQUEUE");
    talk_word(t, "jobs");
    talk_word(t, "%u", t->number * MESSAGES_OF + t->count);
    talk_word(t, "BACKOFF");
    talk_word(t, "%d", RETRIES);
    for (int i = 0; i < RETRIES; i++) talk_word(t, "100");
    note(&a, " enqueue %u", t->number * MESSAGES_OF + t->count);
    end_atomic(&a, NULL);
}

/* Without a mark: a command of its own, with its own reply. */
static void count_up(struct talk *t)
{
    struct act a = {.t = t, .mode = talk_below(t, 2) == 0 ? TALK_AGAIN : TALK_ONCE};
    unsigned i = (unsigned)talk_below(t, COUNTERS);
    t->count++;
    talk_begin(t);
    talk_word(t, "KV.SUM");
    talk_word(t, "[\"counter\",%u]", i);
    talk_word(t, "1");
    if (a.mode == TALK_AGAIN) {
        talk_word(t, "IDEM");
        talk_word(t, "%u.%u", t->number, t->count);
    }
    note(&a, " add [\"counter\",%u] 1 ", i);
    a.sum_at[a.sums++] = a.len;
    redisReply *r = talk_ask(t, a.mode);
    bool is_done = element(r, 1) != NULL;
    if (r != NULL && !is_done) fprintf(t->out, "# %s\n", r->str != NULL ? r->str : "?");
    if (t->begun_us != 0) {
        write_line(&a, is_done ? element(r, 1)->str : r == NULL ? "?" : "!", is_done ? r : NULL);
    }
    freeReplyObject(r);
}

/* ---- reading ---- */

/* The words of a read before what was seen. A connection's number is no other client's. */
static void tell_read(const struct talk *t)
{
    fprintf(t->out, "%s %u.%u %" PRId64 " %" PRId64, t->is_looker ? "look" : "read", t->number,
            t->count, t->begun_us, t->ended_us);
    if (t->is_looker) {
        fprintf(t->out, " %u", t->number * CONNECTIONS_OF + t->connections % CONNECTIONS_OF);
    }
}

/* version: room for a versionstamp; "NONE" when the key is not there. False: no answer. */
static bool read_one(struct talk *t, const char *key, char version[32])
{
    t->count++;
    talk_begin(t);
    talk_word(t, "KV.GET");
    talk_word(t, "%s", key);
    talk_word(t, "WITHVERSION");
    redisReply *r = talk_ask(t, TALK_READ);
    bool is_there = element(r, 1) != NULL;
    if (r == NULL || (!is_there && r->type != REDIS_REPLY_NIL)) {
        if (r != NULL) fprintf(t->out, "# %s\n", r->str != NULL ? r->str : "?");
        freeReplyObject(r);
        return false;
    }
    tell_read(t);
    fprintf(t->out, " %s %s %s\n", key, is_there ? element(r, 0)->str : "nil",
            is_there ? element(r, 1)->str : "0");
    snprintf(version, 32, "%s", is_there ? element(r, 1)->str : "NONE");
    freeReplyObject(r);
    return true;
}

static void read_any(struct talk *t)
{
    static const char *const spaces[] = {"account", "counter", "register"};
    char key[64];
    char version[32];
    snprintf(key, sizeof key, "[\"%s\",%u]", spaces[talk_below(t, 3)],
             (unsigned)talk_below(t, COUNTERS));
    (void)read_one(t, key, version);
}

static void read_wide(struct talk *t)
{
    char key[64];
    char version[32];
    snprintf(key, sizeof key, "[\"wide\",%u]", (unsigned)talk_below(t, WIDE));
    (void)read_one(t, key, version);
}

/* All accounts, as of one moment. */
static void read_all(struct talk *t)
{
    char key[64];
    t->count++;
    talk_begin(t);
    talk_word(t, "KV.LIST");
    talk_word(t, "PREFIX");
    talk_word(t, "[\"account\"]");
    talk_word(t, "LIMIT");
    talk_word(t, "100");
    redisReply *r = talk_ask(t, TALK_READ);
    const redisReply *entries = element(r, 1);
    if (entries != NULL) {
        size_t at = 0;
        tell_read(t);
        for (unsigned i = 0; i < ACCOUNTS; i++) {
            const redisReply *e = element(entries, at);
            snprintf(key, sizeof key, "[\"account\",%u]", i);
            bool is_there = e != NULL && strcmp(element(e, 0)->str, key) == 0;
            fprintf(t->out, " %s %s %s", key, is_there ? element(e, 1)->str : "nil",
                    is_there ? element(e, 2)->str : "0");
            at += is_there;
        }
        fprintf(t->out, "\n");
    }
    freeReplyObject(r);
}

/* Reads, and writes if no other client has since. */
static void change(struct talk *t)
{
    struct act a;
    char key[64];
    char version[32];
    unsigned i = (unsigned)talk_below(t, REGISTERS);
    snprintf(key, sizeof key, "[\"register\",%u]", i);
    if (!read_one(t, key, version)) return;
    begin_atomic(&a, t);
    talk_word(t, "CHECK");
    talk_word(t, "%s", key);
    talk_word(t, "%s", version);
    note(&a, " check %s %s", key, version[0] == 'N' ? "0" : version);
    a.ops++;
    say_mark(&a);
    talk_word(t, "SET");
    talk_word(t, "%s", key);
    talk_word(t, "%u", t->number * MESSAGES_OF + t->count);
    note(&a, " set %s %u", key, t->number * MESSAGES_OF + t->count);
    end_atomic(&a, key);
}

/* ---- the queue ---- */

static void acknowledge(struct talk *t, const char *message, const char *receipt)
{
    struct act a;
    begin_atomic(&a, t);
    talk_word(t, "ACK");
    talk_word(t, "%s", receipt);
    note(&a, " ack %s", message);
    a.ops++;
    say_mark(&a);
    say_sum(&a, "done", 0, 1);
    end_atomic(&a, NULL);
}

/* How many messages came; -1: no answer. One in `forget` is not acknowledged. */
static int work(struct talk *t, unsigned forget)
{
    talk_begin(t);
    talk_word(t, "KV.DEQUEUE");
    talk_word(t, "jobs");
    talk_word(t, "COUNT");
    talk_word(t, "4");
    talk_word(t, "LEASE");
    talk_word(t, "%d", LEASE_MS);
    redisReply *r = talk_ask(t, TALK_READ);
    if (r == NULL || r->type == REDIS_REPLY_ERROR) {
        if (r != NULL) fprintf(t->out, "# %s\n", r->str);
        freeReplyObject(r);
        return -1;
    }
    for (size_t i = 0; i < r->elements; i++) {
        const redisReply *m = element(r, i);
        t->count++;
        fprintf(t->out, "take %u.%u %" PRId64 " %" PRId64 " %s %lld\n", t->number, t->count,
                t->begun_us, t->ended_us, element(m, 2)->str, element(m, 3)->integer);
    }
    for (size_t i = 0; i < r->elements; i++) {
        const redisReply *m = element(r, i);
        if (forget > 0 && talk_below(t, forget) == 0) continue;
        acknowledge(t, element(m, 2)->str, element(m, 4)->str);
    }
    int n = (int)r->elements;
    freeReplyObject(r);
    return n;
}

/* What a leader that was cut off has not made durable it does not show, and a client that asks for
 * that waits. So a reader mostly asks for what no client writes just now: a stale answer would be
 * there. */
static void read_act(struct talk *t)
{
    switch (talk_below(t, 50)) {
    case 0: read_all(t); break;
    case 1: read_any(t); break;
    default: read_wide(t); break;
    }
}

/* What a node that stands by has: the old and the new, in one answer and one after the other. */
static void look(struct talk *t)
{
    switch (talk_below(t, 3)) {
    case 0: read_all(t); break;
    case 1: read_any(t); break;
    default: read_wide(t); break;
    }
}

void acts_any(struct talk *t)
{
    if (t->is_looker) look(t);
    if (t->is_reader && !t->is_looker) read_act(t);
    if (t->is_reader) return;
    if (t->is_hasty && talk_below(t, 2) == 0) {
        write_wide(t);
        return;
    }
    switch (talk_below(t, 12)) {
    case 0:
    case 1:
    case 2: transfer(t); break;
    case 3: count_up(t); break;
    case 4: delete (t); break;
    case 5:
    case 6: enqueue(t); break;
    case 7: change(t); break;
    case 8: (void)work(t, 10); break;
    case 9: read_all(t); break;
    default: read_any(t); break;
    }
}

/* ---- the end ---- */

/* A figure of KV.QUEUE STATS; -1: none. */
static long long figure(const redisReply *r, const char *name)
{
    for (size_t i = 0; r != NULL && i + 1 < r->elements; i += 2) {
        if (strcmp(element(r, i)->str, name) == 0) return element(r, i + 1)->integer;
    }
    return -1;
}

static redisReply *ask_stats(struct talk *t)
{
    talk_begin(t);
    talk_word(t, "KV.QUEUE");
    talk_word(t, "STATS");
    talk_word(t, "jobs");
    return talk_ask(t, TALK_READ);
}

static long long left(const redisReply *r)
{
    return figure(r, "ready") + figure(r, "delayed") + figure(r, "leased");
}

bool acts_drain(struct talk *t)
{
    for (;;) {
        if (talk_now_us() >= t->until_us) return false;
        if (work(t, 0) > 0) continue;
        redisReply *r = ask_stats(t);
        bool is_empty = r != NULL && left(r) == 0;
        freeReplyObject(r);
        if (is_empty) return true;
        usleep(20000);
    }
}

bool acts_tell_feed(struct talk *t, char *from)
{
    for (;;) {
        talk_begin(t);
        talk_word(t, "KV.CHANGES");
        talk_word(t, "%s", from);
        talk_word(t, "COUNT");
        talk_word(t, "5000");
        redisReply *r = talk_ask(t, TALK_READ);
        const redisReply *rows = element(r, 1);
        if (rows == NULL) {
            if (r != NULL) fprintf(stderr, "KV.CHANGES: %s\n", r->str != NULL ? r->str : "?");
            freeReplyObject(r);
            return false;
        }
        for (size_t i = 0; i < rows->elements; i++) {
            const redisReply *row = element(rows, i);
            const redisReply *n = element(row, 1);
            fprintf(t->out, "feed %s %s %s\n", element(row, 2)->str, element(row, 0)->str,
                    n->type == REDIS_REPLY_NIL ? "nil" : n->str);
        }
        bool is_end = rows->elements == 0;
        snprintf(from, ACTS_VERSION_BYTES, "%s", element(r, 0)->str);
        freeReplyObject(r);
        if (is_end) return true;
    }
}

static bool tell_entries(struct talk *t)
{
    char cursor[TALK_WORD_BYTES] = "0";
    do {
        talk_begin(t);
        talk_word(t, "KV.LIST");
        talk_word(t, "LIMIT");
        talk_word(t, "1000");
        if (strcmp(cursor, "0") != 0) {
            talk_word(t, "CURSOR");
            talk_word(t, "%s", cursor);
        }
        redisReply *r = talk_ask(t, TALK_READ);
        const redisReply *entries = element(r, 1);
        if (entries == NULL) {
            if (r != NULL) fprintf(stderr, "KV.LIST: %s\n", r->str != NULL ? r->str : "?");
            freeReplyObject(r);
            return false;
        }
        for (size_t i = 0; i < entries->elements; i++) {
            const redisReply *e = element(entries, i);
            fprintf(t->out, "final %s %s %s\n", element(e, 0)->str, element(e, 1)->str,
                    element(e, 2)->str);
        }
        snprintf(cursor, sizeof cursor, "%s", element(r, 0)->str);
        freeReplyObject(r);
    } while (strcmp(cursor, "0") != 0);
    return true;
}

bool acts_tell_end(struct talk *t)
{
    if (!tell_entries(t)) return false;
    redisReply *r = ask_stats(t);
    if (r == NULL) return false;
    fprintf(t->out, "queue %lld %lld %lld %lld\n", figure(r, "enqueued"), figure(r, "acked"),
            left(r), figure(r, "dead"));
    freeReplyObject(r);
    return true;
}
