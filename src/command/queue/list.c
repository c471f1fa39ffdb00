/* list: KV.QUEUE LIST, TOP and STATS: which queues there are, and how they are.
 *
 * Of many queues a slice is looked at in one turn: the next begins after the name of the last one.
 * So each is told as it is when it is looked at, and one that comes or goes meanwhile may be
 * missing. In a transaction it is one moment, and one turn: then there may be only so many.
 */
#include <stdlib.h>

#include "base/glob.h"
#include "base/mem.h"
#include "command/queue/queue_int.h"
#include "request/args.h"
#include "request/block.h"

#define SLICE_QUEUES 1000
#define SLICE_BYTES (256u << 10) /* of names */
#define TRANSACTION_QUEUES_MAX 20000
#define NAME_BYTES_MAX 255
#define TOP_DEFAULT 10
#define TOP_MAX 1000

enum order { BY_NAME, BY_DEAD, BY_OLDEST, BY_READY };

/* What the words say. */
struct wish {
    enum order order;
    int64_t count_max;
    struct slice after;   /* a name */
    struct slice pattern; /* data NULL = all */
    struct glob *glob;    /* of that */
};

struct top {
    uint64_t figure;
    size_t len;
    uint8_t name[NAME_BYTES_MAX];
};

/* How far it is. */
struct walk {
    struct pending pending; /* first */
    struct buf last;        /* the name that was looked at last */
    bool is_done;           /* all that is wanted was found */
    uint64_t depends;
    size_t count;
    struct buf names; /* LIST: `count` of them, as in the reply */
    struct top *tops; /* TOP: `count` of them, a heap with the least first */
};

static void walk_fini(struct walk *k)
{
    buf_fini(&k->last);
    buf_fini(&k->names);
    mem_free(k->tops);
}

static void walk_free(struct pending *p)
{
    walk_fini((struct walk *)p);
    mem_free(p);
}

static size_t walk_bytes(const struct pending *p)
{
    const struct walk *k = (const struct walk *)p;
    return sizeof *k + k->names.cap + (k->tops != NULL ? TOP_MAX * sizeof *k->tops : 0);
}

static void walk_init(struct walk *k, const struct wish *x)
{
    *k = (struct walk){.pending = {.free = walk_free, .bytes = walk_bytes}};
    buf_append(&k->last, x->after.data, x->after.len);
    if (x->order != BY_NAME) k->tops = mem_new((size_t)x->count_max * sizeof *k->tops);
}

/* ---- the greatest ---- */

/* Is a before b in the reply? */
static int compare_tops(const void *one, const void *other)
{
    const struct top *a = one;
    const struct top *b = other;
    if (a->figure != b->figure) return a->figure > b->figure ? -1 : 1;
    return slice_cmp(slice_of(a->name, a->len), slice_of(b->name, b->len));
}

static void swap(struct top *a, struct top *b)
{
    struct top between = *a;
    *a = *b;
    *b = between;
}

/* The last in the order of the reply is the first of the heap. */
static void heap_up(struct top *tops, size_t i)
{
    for (; i > 0 && compare_tops(&tops[i], &tops[(i - 1) / 2]) > 0; i = (i - 1) / 2) {
        swap(&tops[i], &tops[(i - 1) / 2]);
    }
}

static void heap_down(struct top *tops, size_t count)
{
    for (size_t i = 0, child = 1; child < count; child = 2 * i + 1) {
        if (child + 1 < count && compare_tops(&tops[child + 1], &tops[child]) > 0) child++;
        if (compare_tops(&tops[child], &tops[i]) <= 0) return;
        swap(&tops[i], &tops[child]);
        i = child;
    }
}

static void take_top(struct walk *k, size_t max, struct slice name, uint64_t figure)
{
    struct top top = {.figure = figure, .len = name.len};
    if (figure == 0) return;
    memcpy(top.name, name.data, name.len);
    if (k->count < max) {
        k->tops[k->count] = top;
        heap_up(k->tops, k->count++);
    } else if (compare_tops(&top, &k->tops[0]) < 0) {
        k->tops[0] = top;
        heap_down(k->tops, k->count);
    }
}

/* since_ms: as of queue_oldest. Not the age: the time goes on while queues are looked at. */
static uint64_t figure_of(enum order order, const struct counts *c, int64_t since_ms)
{
    switch (order) {
    case BY_DEAD: return c->dead;
    case BY_READY: return c->ready;
    case BY_OLDEST: return (uint64_t)(INT64_MAX - since_ms);
    case BY_NAME: break;
    }
    return 0;
}

/* ---- the walk ---- */

static void take_name(struct request *rq, struct walk *k, const struct wish *x, struct slice name)
{
    struct resp_writer w = {.out = &k->names, .proto = rq->w->proto};
    resp_bulk(&w, name);
    k->is_done = ++k->count == (size_t)x->count_max;
}

static bool is_wanted(const struct request *rq, const struct wish *x, struct slice name)
{
    return (x->glob == NULL || glob_fits(x->glob, name)) && may_read_queue(rq, name);
}

static enum err look_at(struct request *rq, struct walk *k, const struct wish *x, struct queue *q)
{
    struct slice name = queue_name(q);
    struct queue_figures f;
    int64_t since_ms = INT64_MAX;
    if (!is_wanted(rq, x, name)) return OK;
    depends_raise(&k->depends, queue_version(q));
    if (x->order == BY_NAME) {
        take_name(rq, k, x, name);
        return OK;
    }
    if (x->order == BY_OLDEST) {
        enum err r = queue_oldest(q, rq->waiter, &since_ms, &rq->error);
        if (r != OK) return r;
    }
    queue_figures(q, &f);
    take_top(k, (size_t)x->count_max, name, figure_of(x->order, &f.counts, since_ms));
    return OK;
}

/* To the end, or until others should run (ERR_WAIT). */
static enum err walk_on(struct request *rq, struct walk *k, const struct wish *x)
{
    struct queues *qs = rq->env->db->queues;
    uint16_t database = rq->client->database;
    size_t bytes = k->names.len + SLICE_BYTES;
    enum err r = queues_check_read(qs, database, rq->waiter, &rq->error);
    if (r != OK) return r;
    struct queue *q = queues_above(qs, database, buf_slice(&k->last));
    for (size_t i = 0; q != NULL && !k->is_done; i++) {
        if (i == SLICE_QUEUES || k->names.len > bytes) return client_yield(rq, NULL);
        r = look_at(rq, k, x, q);
        if (r != OK) return r;
        buf_clear(&k->last, SIZE_MAX);
        buf_append(&k->last, queue_name(q).data, queue_name(q).len);
        q = queues_next(q);
        if (q != NULL && queue_database(q) != database) q = NULL;
    }
    k->is_done = true;
    return OK;
}

/* As the transaction sees them. */
static enum err walk_view(struct request *rq, struct walk *k, const struct wish *x, struct view *v)
{
    struct queues *qs = rq->env->db->queues;
    struct slice *names = NULL;
    size_t count = 0;
    enum err r = queue_names(qs, v, &names, &count, &rq->error);
    if (r == OK && count > TRANSACTION_QUEUES_MAX) {
        r = error_set(&rq->error, ERR_LIMIT,
                      "more queues than a transaction may list (%d); run the command outside of it",
                      TRANSACTION_QUEUES_MAX);
    }
    for (size_t i = 0; i < count && r == OK && !k->is_done; i++) {
        struct queue_stats s;
        if (slice_cmp(names[i], x->after) <= 0 || !is_wanted(rq, x, names[i])) continue;
        if (x->order == BY_NAME) {
            take_name(rq, k, x, names[i]);
            continue;
        }
        r = queue_stats(qs, v, names[i], &s, &rq->error);
        if (r == OK) {
            int64_t since_ms = s.counts.ready > 0 ? v->now_ms - s.oldest_ms : INT64_MAX;
            take_top(k, (size_t)x->count_max, names[i], figure_of(x->order, &s.counts, since_ms));
        }
    }
    k->is_done = r == OK;
    return r;
}

/* Walks, and tells what was found. Of a transaction the walk is made whole each time; another one
 * is kept from turn to turn. */
static enum err find(struct request *rq, const struct wish *x,
                     enum err (*tell)(struct request *rq, struct walk *k))
{
    struct queue_reading reading;
    struct walk own;
    struct walk *k = rq->overlay != NULL ? &own : (struct walk *)rq->client->run.pending;
    enum err r = OK;
    if (k == NULL) k = mem_new(sizeof *k);
    if (rq->overlay != NULL || rq->client->run.pending == NULL) walk_init(k, x);
    if (rq->overlay != NULL) {
        queue_view_begin(rq, &reading);
        r = walk_view(rq, k, x, &reading.view);
        queue_view_end(rq, &reading);
    } else {
        rq->client->run.pending = &k->pending;
        if (!k->is_done) r = walk_on(rq, k, x);
    }
    if (r == OK && (k->names.is_failed || k->last.is_failed)) {
        r = error_set(&rq->error, ERR_NOMEM, "out of memory for the names of queues");
    }
    depends_raise(&rq->depends, k->depends);
    if (r == OK) r = tell(rq, k);
    if (rq->overlay != NULL) walk_fini(&own);
    return r;
}

/* ---- LIST ---- */

static enum err list_tell(struct request *rq, struct walk *k)
{
    resp_array(rq->w, k->count);
    buf_append(rq->w->out, k->names.data, k->names.len);
    return OK;
}

static enum err check_wish(struct request *rq, void *bound)
{
    struct wish *x = bound;
    if (x->pattern.data == NULL) return OK;
    x->glob = arena_alloc(rq->arena, sizeof *x->glob);
    glob_init(x->glob, x->pattern, false);
    return OK;
}

ARGUMENTS_WITH(list_arguments, struct wish, "[MATCH pattern] [AFTER name] [LIMIT count]",
               WITH(.check = check_wish), ARG_FIXED(struct wish, order, BY_NAME),
               ARG_PATTERN(struct wish, pattern, "MATCH"), ARG_WORD(struct wish, after, "AFTER"),
               ARG_INTEGER(struct wish, count_max, "LIMIT", 1, INT64_MAX, INT64_MAX));

static enum err list_run(struct request *rq)
{
    return find(rq, rq->bound, list_tell);
}

const struct command queue_list = {
    .name = "list",
    .flags = CMD_QUEUE | CMD_READ | CMD_FORMAT,
    .group = "queue",
    .summary = "Lists the names of the queues in the selected database that the user may read.",
    .arguments = &list_arguments,
    .reply = "Names, sorted: at most LIMIT of those after the name AFTER.",
    .run = list_run,
};

/* ---- STATS ---- */

static void reply_stats(struct request *rq, const struct queue_stats *s)
{
    const struct counts *c = &s->counts;
    const struct {
        const char *name;
        uint64_t value;
    } rows[] = {{"ready", c->ready},
                {"delayed", c->delayed},
                {"leased", c->leased},
                {"dead", c->dead},
                {"oldest-ms", (uint64_t)s->oldest_ms},
                {"enqueued", c->enqueued},
                {"delivered", c->delivered},
                {"acked", c->acked},
                {"nacked", c->nacked},
                {"expired", c->expired}};
    const size_t count = sizeof rows / sizeof rows[0];
    resp_map(rq->w, count);
    for (size_t i = 0; i < count; i++) {
        resp_bulk_str(rq->w, rows[i].name);
        resp_int(rq->w, (int64_t)rows[i].value);
    }
}

static enum err stats_run(struct request *rq)
{
    const struct queue_named *a = rq->bound;
    struct queue_reading reading;
    struct queue_stats s;
    queue_view_begin(rq, &reading);
    enum err r = queue_stats(rq->env->db->queues, &reading.view, a->queue, &s, &rq->error);
    queue_view_end(rq, &reading);
    if (r == OK) reply_stats(rq, &s);
    return r;
}

const struct command queue_stats_sub = {
    .name = "stats",
    .flags = CMD_QUEUE | CMD_READ | CMD_FAST | CMD_FORMAT,
    .group = "queue",
    .summary = "Returns the counters of a queue, in O(1).",
    .arguments = &read_queue_arguments,
    .reply = "A map, or a flat array in RESP2: the current numbers of messages (ready, delayed, "
             "leased, dead); oldest-ms, the time for which the first message has been ready; and "
             "totals since the queue was first used (enqueued, delivered, acked, nacked, expired).",
    .run = stats_run,
};

/* ---- TOP ---- */

/* What was found, now; *out in the arena. */
static enum err stats_of(struct request *rq, struct walk *k, struct queue_stats **out)
{
    struct queue_reading reading;
    enum err r = OK;
    *out = arena_alloc(rq->arena, (k->count + 1) * sizeof **out);
    queue_view_begin(rq, &reading);
    for (size_t i = 0; i < k->count && r == OK; i++) {
        r = queue_stats(rq->env->db->queues, &reading.view,
                        slice_of(k->tops[i].name, k->tops[i].len), &(*out)[i], &rq->error);
    }
    queue_view_end(rq, &reading);
    return r;
}

static enum err top_tell(struct request *rq, struct walk *k)
{
    struct queue_stats *stats = NULL;
    qsort(k->tops, k->count, sizeof *k->tops, compare_tops);
    enum err r = stats_of(rq, k, &stats);
    if (r != OK) return r;
    resp_array(rq->w, k->count);
    for (size_t i = 0; i < k->count; i++) {
        resp_array(rq->w, 2);
        resp_bulk(rq->w, slice_of(k->tops[i].name, k->tops[i].len));
        reply_stats(rq, &stats[i]);
    }
    return OK;
}

ARGUMENTS_WITH(top_arguments, struct wish, "<DEAD | OLDEST | READY> [MATCH pattern] [COUNT count]",
               WITH(.check = check_wish),
               ARG_CHOICE(struct wish, order, {"DEAD", BY_DEAD}, {"OLDEST", BY_OLDEST},
                          {"READY", BY_READY}),
               ARG_PATTERN(struct wish, pattern, "MATCH"),
               ARG_INTEGER(struct wish, count_max, "COUNT", 1, TOP_MAX, TOP_DEFAULT));

static enum err top_run(struct request *rq)
{
    return find(rq, rq->bound, top_tell);
}

const struct command queue_top = {
    .name = "top",
    .flags = CMD_QUEUE | CMD_READ | CMD_FORMAT,
    .group = "queue",
    .since = "0.2.0",
    .summary = "Lists the queues with the most dead letters, the longest wait, or the most ready "
               "messages.",
    .arguments = &top_arguments,
    .reply = "`[[name, map of STATS] ...]`, highest first. Queues where the number is 0 are left "
             "out.",
    .run = top_run,
};
