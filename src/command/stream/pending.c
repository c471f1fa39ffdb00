/* pending: XPENDING, XCLAIM and XAUTOCLAIM: entries that were delivered and not acknowledged. */
#include <stdio.h>

#include "command/stream/stream_int.h"

#define PAGE 1000 /* pending entries that are looked at at once */
#define AUTOCLAIM_COUNT 100
#define AUTOCLAIM_LOOKS 10 /* at so many for each one that is wanted */

/* ---- XPENDING ---- */

struct xpending {
    struct slice key, group, consumer;
    struct slice start, end; /* data NULL: all of them together are told */
    struct stream_id from, to;
    int64_t idle_ms, count; /* NOT_GIVEN */
};
#define NOT_GIVEN INT64_MIN

static enum err xpending_check(struct request *rq, void *bound)
{
    struct xpending *a = bound;
    bool has_any = a->start.data != NULL || a->idle_ms != NOT_GIVEN;
    if (!has_any) return OK;
    if (a->count == NOT_GIVEN) return error_set(&rq->error, ERR_SYNTAX, "syntax error");
    if (a->idle_ms == NOT_GIVEN) a->idle_ms = 0;
    enum err r = arg_kind_stream_start.read(rq, NULL, a->start, &a->from);
    return r == OK ? arg_kind_stream_end.read(rq, NULL, a->end, &a->to) : r;
}

ARGUMENTS_WITH(xpending_arguments, struct xpending,
               "key group [IDLE min-idle-time] [start] [end] [count] [consumer]",
               WITH(.shown = "key group [[IDLE min-idle-time] start end count [consumer]]",
                    .check = xpending_check),
               ARG_KEY(struct xpending, key, "key", 0), ARG_WORD(struct xpending, group, "group"),
               ARG_INTEGER_OR(struct xpending, idle_ms, "IDLE", INT64_MIN + 1, INT64_MAX, NOT_GIVEN,
                              ARG_NOT_INTEGER),
               ARG_WORD(struct xpending, start, "start"), ARG_WORD(struct xpending, end, "end"),
               ARG_INTEGER_OR(struct xpending, count, "count", INT64_MIN + 1, INT64_MAX, NOT_GIVEN,
                              ARG_NOT_INTEGER),
               ARG_WORD(struct xpending, consumer, "consumer"));

static enum err edge_of(struct request *rq, struct collection *c, const struct stream_group *g,
                        bool is_last, struct stream_id *out)
{
    struct pending_range range = {.to = STREAM_ID_MOST, .max = 1, .is_reverse = is_last};
    struct stream_pending *items = NULL;
    size_t count = 0;
    enum err r = pending_list(c, g, &range, &items, &count, &rq->error);
    if (r == OK && count == 0) r = collection_damaged(c, &rq->error);
    if (r == OK) *out = items[0].id;
    return r;
}

static enum err tell_summary(struct request *rq, struct collection *c, const struct stream_group *g)
{
    struct stream_consumer *consumers = NULL;
    struct stream_id first = {0};
    struct stream_id last = {0};
    size_t count = 0;
    size_t with_any = 0;
    if (g->pending == 0) {
        resp_array(rq->w, 4);
        resp_int(rq->w, 0);
        resp_nil(rq->w);
        resp_nil(rq->w);
        resp_nil_array(rq->w);
        return OK;
    }
    enum err r = edge_of(rq, c, g, false, &first);
    if (r == OK) r = edge_of(rq, c, g, true, &last);
    if (r == OK) r = consumers_list(c, g, &consumers, &count, &rq->error);
    if (r != OK) return r;
    for (size_t i = 0; i < count; i++) with_any += consumers[i].pending > 0;
    resp_array(rq->w, 4);
    resp_int(rq->w, (int64_t)g->pending);
    reply_stream_id(rq->w, first);
    reply_stream_id(rq->w, last);
    resp_array(rq->w, with_any);
    for (size_t i = 0; i < count; i++) {
        char text[24];
        if (consumers[i].pending == 0) continue;
        int len = snprintf(text, sizeof text, "%llu", (unsigned long long)consumers[i].pending);
        resp_array(rq->w, 2);
        resp_bulk(rq->w, consumers[i].name);
        resp_bulk(rq->w, slice_of(text, (size_t)len));
    }
    return OK;
}

/* Those that are told: the pages of pending entries, without those that were delivered lately. */
struct found_pending {
    struct stream_pending *items;
    size_t count, cap;
};

static void keep(struct request *rq, struct found_pending *f, const struct stream_pending *p)
{
    f->items = arena_grow(rq->arena, f->items, f->count, &f->cap, sizeof *f->items);
    f->items[f->count++] = *p;
}

static enum err find_pending(struct request *rq, struct collection *c, const struct stream_group *g,
                             struct pending_range range, struct found_pending *f)
{
    const struct xpending *a = rq->bound;
    size_t wanted = (uint64_t)a->count < COLLECTION_ROWS_MAX ? (size_t)a->count
                                                             : COLLECTION_ROWS_MAX;
    size_t looked = 0;
    enum err r = OK;
    while (r == OK && f->count < wanted) {
        struct stream_pending *items = NULL;
        size_t count = 0;
        range.max = a->idle_ms > 0 || wanted > PAGE ? PAGE : wanted;
        r = pending_list(c, g, &range, &items, &count, &rq->error);
        for (size_t i = 0; r == OK && i < count && f->count < wanted; i++) {
            if (c->view->told_ms - items[i].delivered_ms < a->idle_ms) continue;
            keep(rq, f, &items[i]);
        }
        if (r != OK || count < range.max) break;
        range.from = items[count - 1].id;
        looked += count;
        if (!stream_id_next(&range.from)) break;
        if (looked < COLLECTION_ROWS_MAX) continue;
        r = error_set(&rq->error, ERR_LIMIT,
                      "more than %d pending entries to read; start at a later id",
                      COLLECTION_ROWS_MAX);
    }
    return r;
}

static enum err tell_extended(struct request *rq, struct collection *c,
                              const struct stream_group *g)
{
    const struct xpending *a = rq->bound;
    struct pending_range range = {.from = a->from, .to = a->to};
    struct found_pending f = {0};
    struct stream_consumer x = {0};
    bool found = true;
    enum err r = OK;
    if (a->consumer.data != NULL) r = consumer_find(c, g, a->consumer, &found, &x, &rq->error);
    range.consumer = x.number;
    bool is_empty = !found || a->count <= 0 || stream_id_order(a->from, a->to) > 0;
    if (r == OK && !is_empty) r = find_pending(rq, c, g, range, &f);
    if (r != OK) return r;
    size_t mark = rq->w->out->len;
    resp_array(rq->w, f.count);
    for (size_t i = 0; i < f.count && r == OK; i++) {
        const struct stream_pending *p = &f.items[i];
        int64_t idle_ms = c->view->told_ms - p->delivered_ms;
        if (x.number != p->consumer) r = consumer_get(c, g, p->consumer, &x, &rq->error);
        if (r != OK) break;
        resp_array(rq->w, 4);
        reply_stream_id(rq->w, p->id);
        resp_bulk(rq->w, x.name);
        resp_int(rq->w, idle_ms > 0 ? idle_ms : 0);
        resp_int(rq->w, (int64_t)p->deliveries);
    }
    if (r != OK) reply_cut(rq, mark);
    return r;
}

static enum err xpending_run(struct request *rq)
{
    const struct xpending *a = rq->bound;
    struct view *v = elements_view(rq);
    struct collection c;
    struct stream_group g;
    enum err r = stream_open_group(rq, v, a->key, a->group, &c, &g);
    bool is_summary = a->start.data == NULL;
    if (r == OK) r = is_summary ? tell_summary(rq, &c, &g) : tell_extended(rq, &c, &g);
    elements_read(rq, v);
    return r;
}
STREAM_COMMAND(xpending, CMD_READ | CMD_FOLLOWER, KEY_RO | KEY_ACCESS,
               "Returns a summary of the pending entries of a group, or the entries themselves.",
               xpending_arguments,
               "`[number, first id, last id, [[consumer, number] ...]]`, or an array of `[id, "
               "consumer, idle ms, deliveries]`.",
               xpending_run);

/* ---- XCLAIM ---- */

struct claim {
    struct slice key, group, consumer;
    int64_t min_idle_ms;
    struct stream_ids ids;
    int64_t idle_ms, time_ms, retries; /* -1 = not given */
    bool is_forced, only_ids;
    struct stream_id last;
    /* of XAUTOCLAIM */
    struct stream_id from;
    int64_t count;
    /* results; fields NULL: only the id is told */
    struct stream_entry *claimed;
    size_t claimed_count;
    struct stream_id *gone; /* pending, and deleted from the stream */
    size_t gone_count;
    struct stream_id next;
};
#define CLAIM_WORDS                                                                                \
    ARG_KEY(struct claim, key, "key", 0), ARG_WORD(struct claim, group, "group"),                  \
        ARG_WORD(struct claim, consumer, "consumer")
#define CLAIM_INTEGER(member, label, text)                                                         \
    ARG_INTEGER_OR(struct claim, member, label, INT64_MIN, INT64_MAX, -1, text)
ARGUMENTS(xclaim_arguments, struct claim,
          "key group consumer min-idle-time id [id ...] [IDLE ms] [TIME unix-time-milliseconds] "
          "[RETRYCOUNT count] [FORCE] [JUSTID] [LASTID lastid]",
          CLAIM_WORDS,
          ARG_INTEGER_OR(struct claim, min_idle_ms, "min-idle-time", INT64_MIN, INT64_MAX, 0,
                         "Invalid min-idle-time argument for XCLAIM"),
          {ARG_MANY(struct claim, ids, struct stream_id, "id", arg_kind_stream_id)},
          CLAIM_INTEGER(idle_ms, "IDLE", "Invalid IDLE option argument for XCLAIM"),
          CLAIM_INTEGER(time_ms, "TIME", "Invalid TIME option argument for XCLAIM"),
          CLAIM_INTEGER(retries, "RETRYCOUNT", "Invalid RETRYCOUNT option argument for XCLAIM"),
          ARG_FLAG(struct claim, is_forced, "FORCE"), ARG_FLAG(struct claim, only_ids, "JUSTID"),
          ARG_STREAM_ID(struct claim, last, "LASTID"));

struct claiming {
    struct request *rq;
    struct claim *a;
    struct collection c;
    struct stream_group g;
    struct stream_consumer x;
    bool is_known, is_changed;
    int64_t delivered_ms;
};

static enum err know_claimer(struct claiming *t)
{
    enum err r = OK;
    if (t->x.number != 0) return OK;
    r = consumer_find(&t->c, &t->g, t->a->consumer, &t->is_known, &t->x, &t->rq->error);
    if (r == OK && !t->is_known) consumer_make(&t->c, &t->g, t->a->consumer, &t->x);
    t->is_changed = true;
    return r;
}

/* One fewer for the consumer that had it, if that is another. */
static enum err take_from(struct claiming *t, uint64_t number)
{
    struct stream_consumer other;
    if (number == t->x.number) {
        t->x.pending--;
        return OK;
    }
    enum err r = consumer_get(&t->c, &t->g, number, &other, &t->rq->error);
    if (r != OK) return r;
    other.pending--;
    consumer_save(&t->c, &t->g, &other);
    return OK;
}

static void told(struct claiming *t, struct stream_id id, struct slice fields)
{
    struct claim *a = t->a;
    a->claimed[a->claimed_count++] = (struct stream_entry){
        .id = id, .fields = a->only_ids ? slice_of(NULL, 0) : fields};
}

/* What is pending becomes the claimer's, or stays as it is when it was delivered lately; what is
 * not in the stream any more is pending no longer. `p->consumer` 0: it is not pending. */
static enum err claim_one(struct claiming *t, struct stream_pending *p)
{
    struct claim *a = t->a;
    struct collection *c = &t->c;
    struct slice fields = {0};
    bool exists = false;
    uint64_t was = p->consumer;
    enum err r = stream_find(c, p->id, &exists, &fields, &t->rq->error);
    if (r != OK) return r;
    if (!exists) {
        if (was == 0) return OK;
        r = take_from(t, was);
        pending_remove(c, &t->g, p);
        t->g.pending--;
        t->is_changed = true;
        a->gone[a->gone_count++] = p->id;
        return r;
    }
    if (was == 0 && !a->is_forced) return OK;
    if (was != 0 && a->min_idle_ms > 0 && c->view->told_ms - p->delivered_ms < a->min_idle_ms) {
        return OK;
    }
    r = know_claimer(t);
    if (r == OK && was != 0) r = take_from(t, was);
    if (r != OK) return r;
    t->x.pending++;
    t->x.active_ms = c->view->told_ms;
    t->g.pending += was == 0;
    p->consumer = t->x.number;
    p->delivered_ms = t->delivered_ms;
    if (was == 0) p->deliveries = 1;
    if (a->retries >= 0) {
        p->deliveries = (uint64_t)a->retries;
    } else if (!a->only_ids) {
        p->deliveries++;
    }
    pending_save(c, &t->g, p, was);
    told(t, p->id, fields);
    return collection_writes(c, &t->rq->error);
}

static int64_t delivered_of(const struct claim *a, int64_t now_ms)
{
    int64_t at = now_ms;
    if (a->idle_ms != -1) at = now_ms - a->idle_ms;
    if (a->time_ms != -1) at = a->time_ms;
    return at < 0 || at > now_ms ? now_ms : at;
}

static enum err claim_begin(struct claiming *t, struct request *rq, struct view *v, struct claim *a,
                            size_t most)
{
    *t = (struct claiming){.rq = rq, .a = a, .delivered_ms = delivered_of(a, v->told_ms)};
    a->claimed_count = a->gone_count = 0;
    a->claimed = arena_alloc(rq->arena, most * sizeof *a->claimed);
    a->gone = arena_alloc(rq->arena, most * sizeof *a->gone);
    return stream_open_group(rq, v, a->key, a->group, &t->c, &t->g);
}

static void claim_end(struct claiming *t)
{
    if (!t->is_changed) return;
    group_save(&t->c, &t->g);
    if (t->x.number == 0) return;
    t->x.seen_ms = t->c.view->told_ms;
    consumer_save(&t->c, &t->g, &t->x);
}

static enum err xclaim_change(struct request *rq, struct view *v, void *arg)
{
    struct claim *a = arg;
    struct claiming t;
    enum err r = claim_begin(&t, rq, v, a, a->ids.count);
    if (r == OK && stream_id_order(a->last, t.g.last) > 0) {
        t.g.last = a->last;
        t.is_changed = true;
    }
    for (size_t i = 0; i < a->ids.count && r == OK; i++) {
        struct stream_pending p = {.id = a->ids.items[i]};
        bool found = false;
        r = pending_find(&t.c, &t.g, p.id, &found, &p, &rq->error);
        if (r == OK) r = claim_one(&t, &p);
    }
    if (r == OK) claim_end(&t);
    return r;
}

static void reply_claimed(struct request *rq, const struct claim *a)
{
    resp_array(rq->w, a->claimed_count);
    for (size_t i = 0; i < a->claimed_count; i++) {
        if (a->only_ids) {
            reply_stream_id(rq->w, a->claimed[i].id);
        } else {
            reply_stream_entry(rq->w, a->claimed[i].id, a->claimed[i].fields);
        }
    }
}

static enum err xclaim_run(struct request *rq)
{
    struct claim *a = rq->bound;
    enum err r = elements_commit(rq, xclaim_change, a);
    if (r == OK) reply_claimed(rq, a);
    return r;
}
STREAM_COMMAND(xclaim, CMD_WRITE | CMD_FAST, KEY_RW | KEY_UPDATE,
               "Transfers pending entries to another consumer if they have been idle for a time.",
               xclaim_arguments, "The entries, or with JUSTID their ids.", xclaim_run);

/* ---- XAUTOCLAIM ---- */

static enum err xautoclaim_check(struct request *rq, void *bound)
{
    const struct claim *a = bound;
    if (a->count > 0 && a->count <= INT64_MAX / AUTOCLAIM_LOOKS) return OK;
    return error_set(&rq->error, ERR_SYNTAX, "COUNT must be > 0");
}

ARGUMENTS_WITH(xautoclaim_arguments, struct claim,
               "key group consumer min-idle-time start [COUNT count] [JUSTID]",
               WITH(.check = xautoclaim_check), CLAIM_WORDS,
               ARG_INTEGER_OR(struct claim, min_idle_ms, "min-idle-time", INT64_MIN, INT64_MAX, 0,
                              "Invalid min-idle-time argument for XAUTOCLAIM"),
               ARG_STREAM_START(struct claim, from, "start"),
               ARG_INTEGER_OR(struct claim, count, "COUNT", INT64_MIN, INT64_MAX, AUTOCLAIM_COUNT,
                              ARG_NOT_INTEGER),
               ARG_FLAG(struct claim, only_ids, "JUSTID"), ARG_FIXED(struct claim, idle_ms, -1),
               ARG_FIXED(struct claim, time_ms, -1), ARG_FIXED(struct claim, retries, -1));

/* The next of the entries that are looked at; range->from becomes where to go on, 0-0: nowhere. */
static enum err claim_page(struct claiming *t, struct pending_range *range, size_t most,
                           size_t *looks)
{
    const struct claim *a = t->a;
    struct stream_pending *items = NULL;
    size_t count = 0;
    size_t i = 0;
    range->max = (*looks < most ? *looks : most) + 1; /* one more: is there any? */
    enum err r = pending_list(&t->c, &t->g, range, &items, &count, &t->rq->error);
    for (; r == OK && i < count && i + 1 < range->max; i++) {
        if (a->claimed_count + a->gone_count == most) break;
        r = claim_one(t, &items[i]);
    }
    *looks -= i;
    range->from = i < count ? items[i].id : STREAM_ID_LEAST;
    return r;
}

/* Entries are looked at from `from` on, until so many were claimed, or looked at. */
static enum err xautoclaim_change(struct request *rq, struct view *v, void *arg)
{
    struct claim *a = arg;
    struct claiming t;
    struct pending_range range = {.from = a->from, .to = STREAM_ID_MOST};
    uint64_t rows_max = COLLECTION_ROWS_MAX - 1;
    size_t most = (size_t)((uint64_t)a->count < rows_max ? (uint64_t)a->count : rows_max);
    size_t looks = most < rows_max / AUTOCLAIM_LOOKS ? most * AUTOCLAIM_LOOKS : (size_t)rows_max;
    enum err r = claim_begin(&t, rq, v, a, most);
    do {
        if (r == OK) r = claim_page(&t, &range, most, &looks);
    } while (r == OK && !stream_id_is_zero(range.from) && looks > 0 &&
             a->claimed_count + a->gone_count < most);
    a->next = range.from;
    if (r == OK) claim_end(&t);
    return r;
}

static enum err xautoclaim_run(struct request *rq)
{
    struct claim *a = rq->bound;
    enum err r = elements_commit(rq, xautoclaim_change, a);
    if (r != OK) return r;
    resp_array(rq->w, 3);
    reply_stream_id(rq->w, a->next);
    reply_claimed(rq, a);
    resp_array(rq->w, a->gone_count);
    for (size_t i = 0; i < a->gone_count; i++) reply_stream_id(rq->w, a->gone[i]);
    return OK;
}
STREAM_COMMAND(
    xautoclaim, CMD_WRITE | CMD_FAST, KEY_RW | KEY_UPDATE | KEY_DELETE,
    "Claims pending entries as XCLAIM does, from an id on.", xautoclaim_arguments,
    "`[next id, entries, ids of deleted entries]`. The next id 0-0 means that there are no more.",
    xautoclaim_run);
