/* queue: what is done without a command: deliveries that were not seen are taken back; a tick looks
 * at the queues whose time has come, in that order, ends leases, trims dead letters and wakes
 * consumers. What cannot be done now, since a row must be read first, is left to the next tick. */
#include "queue/queue.h"

#include "base/list.h"
#include "base/mem.h"
#include "queue/queue_int.h"

#define ARENA_BYTES (64 * 1024)
#define SWEEP_MAX 1000  /* leases or dead letters, in one transaction */
#define RETURNS_MAX 200 /* deliveries taken back by one transaction */
#define DEAD_CHECK_MS 1000
#define LOOKS_MAX 1000 /* queues in one tick */
#define PUSH_ROUNDS 10 /* in one turn of the loop */

struct returned {
    struct returned *next;
    uint16_t database;
    bool is_seen;           /* it counts as an attempt */
    struct receipt receipt; /* the queue's name follows the struct */
};

/* ---- deliveries that were not seen ---- */

void queue_return(struct queues *qs, uint16_t database, const struct receipt *r)
{
    queue_give_back(qs, database, r, false);
}

void queue_give_back(struct queues *qs, uint16_t database, const struct receipt *r, bool is_seen)
{
    struct returned *x = mem_alloc(sizeof *x + r->queue.len);
    bytes_copy((uint8_t *)(x + 1), r->queue.data, r->queue.len);
    *x = (struct returned){.database = database, .is_seen = is_seen, .receipt = *r};
    x->receipt.queue = slice_of(x + 1, r->queue.len);
    *qs->returned_last = x;
    qs->returned_last = &x->next;
}

static void returned_drop(struct queues *qs)
{
    struct returned *x = qs->returned;
    qs->returned = x->next;
    if (qs->returned == NULL) qs->returned_last = &qs->returned;
    mem_free(x);
}

static enum err commit(struct queues *qs, uint16_t database, struct op *ops, size_t count)
{
    struct error e;
    struct txn t = {.database = database, .ops = ops, .count = count, .arena = &qs->arena};
    return engine_commit(qs->engine, &t, &qs->waiter, &e);
}

/* As many as are of one database, in one transaction. False: not now. */
static bool take_back(struct queues *qs)
{
    struct queue_settle *settles = arena_alloc(&qs->arena, RETURNS_MAX * sizeof *settles);
    struct op *ops = arena_alloc(&qs->arena, RETURNS_MAX * sizeof *ops);
    uint16_t database = qs->returned->database;
    size_t max = engine_limits(qs->engine)->ops_max;
    size_t count = 0;
    if (max > RETURNS_MAX) max = RETURNS_MAX;
    for (struct returned *x = qs->returned; x != NULL && count < max; x = x->next) {
        if (x->database != database) break;
        settles[count] = (struct queue_settle){.queues = qs,
                                               .kind = x->is_seen ? SETTLE_NACK : SETTLE_RETURN,
                                               .receipt = x->receipt,
                                               .delay_ms = -1,
                                               .error = slice_str("the connection ended")};
        ops[count] = queue_settle_op(&settles[count], false);
        count++;
    }
    enum err r = commit(qs, database, ops, count);
    arena_reset(&qs->arena);
    if (r != OK) return false;
    for (size_t i = 0; i < count; i++) returned_drop(qs);
    return true;
}

static void take_back_all(struct queues *qs)
{
    while (qs->returned != NULL && qs->waiter.next == NULL) {
        if (!take_back(qs)) return;
    }
}

/* ---- the tick ---- */

bool queues_are_read(const struct queues *qs)
{
    return engine_start_is_over(qs->engine, SPACE_DEDUP);
}

static void bulk(struct queues *qs, struct queue *q, enum bulk_kind kind)
{
    struct queue_bulk x = {.queues = qs, .kind = kind, .queue = q->name, .max = SWEEP_MAX};
    struct op op = queue_bulk_op(&x);
    /* Not now: the next tick tries again. */
    if (commit(qs, key_database(q->key), &op, 1) == OK && kind == BULK_TRIM && x.done > 0) {
        q->dead_from_ms = slot_time_ms(&x.last);
    }
    arena_reset(&qs->arena);
}

static bool has_ended_lease(struct queue *q, int64_t now_ms)
{
    struct error e;
    if (q->counts.leased == 0) return false;
    if (queue_fill(q, SPACE_LEASE, 1, &q->queues->waiter, &e) != OK) return false;
    return q->leases.count > 0 && slot_time_ms(window_at(&q->leases, 0)) <= now_ms;
}

static void trim(struct queues *qs, struct queue *q, int64_t now_ms)
{
    if (q->counts.dead == 0) return;
    bool is_over = q->counts.dead > qs->options.dead_length;
    if (!is_over && now_ms - q->dead_checked_ms < DEAD_CHECK_MS) return;
    q->dead_checked_ms = now_ms;
    bulk(qs, q, BULK_TRIM);
}

/* For metrics: the first message that is ready is brought into memory. ERR_WAIT: it will be. */
static enum err know_age(struct queue *q)
{
    struct error e;
    if (!q->is_age_asked) return OK;
    enum err r = q->counts.ready > 0 ? queue_fill(q, SPACE_READY, 1, &q->queues->waiter, &e) : OK;
    q->is_age_asked = r == ERR_WAIT;
    return r;
}

/* The first slot of the window, of so many rows; when the window does not have it: now. */
static int64_t first_ms(const struct window *w, uint64_t rows, int64_t now_ms)
{
    if (rows == 0) return INT64_MAX;
    return w->count > 0 ? slot_time_ms(window_at(w, 0)) : now_ms;
}

/* When a tick looks at it again: what time brings next. */
static int64_t due_ms(const struct queues *qs, struct queue *q, int64_t now_ms)
{
    const struct counts *c = &q->counts;
    int64_t upcoming_ms = first_ms(&q->upcoming, c->delayed, now_ms);
    int64_t lease_ms = first_ms(&q->leases, c->leased, now_ms);
    int64_t due = upcoming_ms < lease_ms ? upcoming_ms : lease_ms;
    if (c->dead > 0 && q->dead_checked_ms + DEAD_CHECK_MS < due) {
        due = q->dead_checked_ms + DEAD_CHECK_MS;
    }
    bool is_pressing = c->dead > qs->options.dead_length || (c->ready > 0 && q->line_count > 0);
    return is_pressing ? now_ms : due;
}

static void tick_queue(struct queues *qs, struct queue *q, int64_t now_ms)
{
    struct error e;
    queue_rest_until(q, now_ms); /* what cannot be done now is tried again in the next tick */
    if (queue_advance(q, now_ms, &qs->waiter, &e) != OK) return;
    if (know_age(q) == ERR_WAIT) return;
    if (has_ended_lease(q, now_ms)) bulk(qs, q, BULK_SWEEP);
    if (qs->waiter.next == NULL) trim(qs, q, now_ms);
    line_wake(q);
    if (qs->waiter.next == NULL) queue_rest_until(q, due_ms(qs, q, now_ms));
}

void queues_tick(struct queues *qs)
{
    if (!queues_are_read(qs)) return;
    int64_t now_ms = engine_time_ms(qs->engine);
    take_back_all(qs);
    qs->ticks++;
    for (unsigned looks = 0; looks < LOOKS_MAX; looks++) {
        struct queue *q = queue_due_first(qs);
        while (q != NULL && q->looked == qs->ticks) q = queue_due_next(q);
        if (q == NULL || q->due_ms > now_ms) break;
        /* Still waiting for a read of an earlier look. */
        if (qs->waiter.next != NULL) return;
        q->looked = qs->ticks;
        tick_queue(qs, q, now_ms);
    }
    dedup_tick(qs, now_ms);
    if (qs->rings != NULL) push_run(qs);
}

int64_t queues_rest_ms(struct queues *qs)
{
    const struct queue *q = queue_due_first(qs);
    if (!queues_are_read(qs) || qs->waiter.next != NULL || qs->rings != NULL) return 0;
    return q == NULL ? INT64_MAX : q->due_ms - engine_time_ms(qs->engine);
}

void queues_turn(struct queues *qs)
{
    if (!queues_are_read(qs)) return;
    if (qs->returned != NULL) take_back_all(qs);
    for (int i = 0; i < PUSH_ROUNDS && qs->push_is_due; i++) push_run(qs);
}

/* ---- life ---- */

static void nothing_ready(struct waiter *w)
{
    /* The next tick looks again. */
    (void)w;
}

static void add_layer(struct queues *qs)
{
    struct layer layer = {.kinds = LAYER_SPACE(SPACE_QUEUE) | LAYER_SPACE(SPACE_DEDUP) |
                                   LAYER_FLUSH,
                          .on_commit = feed_on_commit,
                          .arg = qs};
    engine_add_layer(qs->engine, &layer);
    struct start_space rows = {
        .space = SPACE_QUEUE, .what = "queues", .rank = 2, .row = memory_row, .arg = qs};
    struct start_space ids = {.space = SPACE_DEDUP,
                              .what = "dedup ids",
                              .rank = 3,
                              .row = dedup_row,
                              .done = dedup_read,
                              .arg = qs};
    engine_read_at_start(qs->engine, &rows);
    engine_read_at_start(qs->engine, &ids);
}

struct queues *queues_new(const struct queue_options *o)
{
    struct queues *qs = mem_new(sizeof *qs);
    qs->options = *o;
    qs->engine = o->engine;
    qs->waiter.ready = nothing_ready;
    htab_init(&qs->table);
    queues_figures_init(qs);
    htab_init(&qs->ring_table);
    htab_init(&qs->pushed);
    RING_INIT(&qs->all, next, prev);
    id_window_init(&qs->dedup);
    waiter_list_init(&qs->blocked);
    qs->returned_last = &qs->returned;
    arena_init(&qs->arena, ARENA_BYTES);
    if (!o->is_absent) add_layer(qs);
    return qs;
}

/* What clients had not seen when the server stopped is taken back, if it can be. */
void queues_free(struct queues *qs)
{
    if (qs == NULL) return;
    if (queues_are_read(qs)) take_back_all(qs);
    while (qs->returned != NULL) returned_drop(qs);
    waiter_cancel(&qs->waiter);
    INVARIANT(qs->rings == NULL && qs->pushed.count == 0);
    htab_fini(&qs->ring_table);
    htab_fini(&qs->pushed);
    memory_fini(qs);
    mem_free(qs->in_database);
    id_window_fini(&qs->dedup);
    arena_fini(&qs->arena);
    mem_free(qs);
}

void queues_set_options(struct queues *qs, const struct queue_options *o)
{
    qs->options.lease_ms = o->lease_ms;
    qs->options.dedup_window_ms = o->dedup_window_ms;
    qs->options.dedup_entries_max = o->dedup_entries_max;
    qs->options.dead_age_ms = o->dead_age_ms;
    qs->options.dead_length = o->dead_length;
}

const struct queue_options *queues_options(const struct queues *qs)
{
    return &qs->options;
}

void queues_hold(struct queues *qs, bool is_held)
{
    qs->is_held = is_held;
    if (is_held) return;
    for (struct queue *q = qs->all.next; q != &qs->all; q = q->next) line_wake(q);
    qs->push_is_due = true;
}

bool queues_are_held(const struct queues *qs)
{
    return qs->is_held;
}
