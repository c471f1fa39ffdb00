#include "sim/queue_check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "codec/key.h"

#define TURNS_MAX 100000

static const char *const names[MODEL_QUEUES] = {"first", "second"};

static void on_ready(struct waiter *w)
{
    (void)w;
}

void queue_check_open(struct queue_check *c)
{
    c->waiter.ready = on_ready;
    arena_init(&c->arena, 65536);
}

void queue_check_close(struct queue_check *c)
{
    waiter_cancel(&c->waiter);
    arena_fini(&c->arena);
}

/* ---- transactions ---- */

/* False after a fatal error. */
static bool commit(struct queue_check *c, struct txn *t)
{
    struct error e = {.text = ""};
    t->database = QUEUE_CHECK_DATABASE;
    t->arena = &c->arena;
    for (int i = 0; i < TURNS_MAX; i++) {
        enum err r = engine_commit(c->db->engine, t, &c->waiter, &e);
        if (r == OK) return true;
        waiter_cancel(&c->waiter);
        bool goes_on = c->turn(c->arg);
        if (!goes_on) return false;
        if (r != ERR_WAIT) fail_msg("queues: %s", e.text);
    }
    fail_msg("queues: it waits for ever: %s", e.text);
    return false;
}

static bool commit_op(struct queue_check *c, struct op op, bool *is_met, uint64_t *version)
{
    struct txn t = {.ops = &op, .count = 1};
    bool goes_on = commit(c, &t);
    *is_met = op.is_met;
    *version = t.version;
    return goes_on;
}

/* Whatever part it says, until there is no more; *done: of how many messages. */
static bool bulk(struct queue_check *c, enum bulk_kind kind, unsigned queue, size_t *done,
                 uint64_t *version)
{
    struct queue_bulk x = {.queues = c->db->queues,
                           .kind = kind,
                           .queue = slice_str(names[queue]),
                           .max = 1000,
                           .is_whole = true};
    bool is_met = false;
    bool goes_on = commit_op(c, queue_bulk_op(&x), &is_met, version);
    if (goes_on) assert_false(x.is_more);
    *done = (size_t)x.done;
    return goes_on;
}

/* Leases that have ended by now end, in the order in which the model has them. */
static bool sweep(struct queue_check *c)
{
    for (unsigned q = 0; q < MODEL_QUEUES; q++) {
        size_t done = 0;
        uint64_t version = 0;
        if (!bulk(c, BULK_SWEEP, q, &done, &version)) return false;
    }
    return true;
}

/* ---- operations ---- */

/* The number of a message that has this value. */
static unsigned number_of(struct slice value)
{
    uint64_t number = 0;
    assert_true(slice_to_u64(value, &number) && number > 0);
    return (unsigned)number;
}

static struct slice key_of_undelivered(struct queue_check *c, unsigned queue, unsigned key)
{
    struct buf b = {0};
    char name[24];
    engine_key_begin(&b, QUEUE_CHECK_DATABASE);
    snprintf(name, sizeof name, "u%u-%u", queue, key);
    key_add_string(&b, slice_str(name));
    struct slice kept = arena_copy(&c->arena, buf_slice(&b));
    buf_fini(&b);
    return kept;
}

/* What a message of this number is enqueued with. */
static struct message message_of(struct queue_check *c, const struct model_message *k)
{
    char *value = arena_alloc(&c->arena, 16);
    uint8_t *backoff = arena_alloc(&c->arena, 4 * MODEL_RETRIES);
    int len = snprintf(value, 16, "%u", k->number);
    assert_true(len > 0);
    struct message m = {
        .value = slice_of(value, (size_t)len), .backoff = backoff, .backoff_count = k->retries};
    for (size_t i = 0; i < k->retries; i++) put_u32(backoff + 4 * i, (uint32_t)k->backoff_ms[i]);
    if (k->undelivered < 0) return m;
    struct slice key = key_of_undelivered(c, k->queue, (unsigned)k->undelivered);
    size_t tuple = key.len - KEY_HEAD_BYTES;
    uint8_t *p = arena_alloc(&c->arena, 2 + tuple);
    p[0] = (uint8_t)(tuple >> 8);
    p[1] = (uint8_t)tuple;
    memcpy(p + 2, key.data + KEY_HEAD_BYTES, tuple);
    m.undelivered = p;
    m.undelivered_bytes = 2 + tuple;
    m.undelivered_count = 1;
    return m;
}

static struct model_message any_message(struct queue_check *c, int64_t delay_ms, int64_t now_ms)
{
    struct model_message k = {.place = MODEL_WAITING,
                              .queue = (unsigned)rng_below(c->rng, MODEL_QUEUES),
                              .number = ++c->number,
                              .due_ms = now_ms + delay_ms,
                              .retries = (size_t)rng_below(c->rng, MODEL_RETRIES + 1),
                              .undelivered = -1};
    for (size_t i = 0; i < k.retries; i++) k.backoff_ms[i] = (int64_t)rng_below(c->rng, 800);
    if (rng_below(c->rng, 2) == 0) k.undelivered = (int)rng_below(c->rng, MODEL_UNDELIVERED);
    return k;
}

static void model_enqueue(struct queue_check *c, struct model_message *k, const char *id)
{
    struct model_message *place = queue_model_unused(&c->now);
    assert_true(id_parse(slice_of(id, ID_CHARS), &k->id));
    *place = *k;
    c->now.figures[k->queue].exists = true;
    c->now.figures[k->queue].enqueued++;
}

static bool step_enqueue(struct queue_check *c, int64_t now_ms, uint64_t *version)
{
    int64_t delay_ms = rng_below(c->rng, 2) == 0 ? 0 : (int64_t)rng_below(c->rng, 1500);
    unsigned dedup = (unsigned)rng_below(c->rng, 2 * MODEL_DEDUPS);
    char id[4];
    bool is_met = false;
    if (queue_model_unused(&c->now) == NULL) return true;
    struct model_message k = any_message(c, delay_ms, now_ms);
    struct queue_enqueue x = {.queues = c->db->queues,
                              .queue = slice_str(names[k.queue]),
                              .message = message_of(c, &k),
                              .delay_ms = delay_ms};
    int64_t *used_ms = dedup < MODEL_DEDUPS ? &c->now.dedup_ms[k.queue][dedup] : NULL;
    snprintf(id, sizeof id, "d%u", dedup % 10);
    if (used_ms != NULL) x.dedup = slice_str(id);
    if (!commit_op(c, queue_enqueue_op(&x), &is_met, version)) return false;
    bool is_repeat = used_ms != NULL && *used_ms != 0 && now_ms - *used_ms < QUEUE_CHECK_DEDUP_MS;
    assert_int_equal(x.is_repeat, is_repeat);
    assert_int_equal(is_met, !is_repeat);
    if (is_repeat) return true;
    if (used_ms != NULL) *used_ms = now_ms;
    model_enqueue(c, &k, x.id);
    return true;
}

static void keep_receipt(struct queue_check *c, unsigned queue, const struct receipt *r)
{
    size_t at = c->receipt_count++ % QUEUE_CHECK_RECEIPTS;
    c->receipts[at] = *r;
    c->receipts[at].queue = slice_str(names[queue]);
    c->receipt_queues[at] = queue;
}

static bool step_take(struct queue_check *c, int64_t now_ms, uint64_t *version)
{
    unsigned queue = (unsigned)rng_below(c->rng, MODEL_QUEUES);
    struct slice name = slice_str(names[queue]);
    struct queue_dequeue x = {.queues = c->db->queues,
                              .names = &name,
                              .name_count = 1,
                              .count_max = 1 + (size_t)rng_below(c->rng, 3),
                              .lease_ms = 1 + (int64_t)rng_below(c->rng, 2000)};
    bool is_met = false;
    if (!commit_op(c, queue_dequeue_op(&x), &is_met, version)) return false;
    for (size_t i = 0; i < x.count; i++) {
        struct model_message *k = queue_model_next(&c->now, queue, now_ms);
        const struct delivery *d = &x.items[i];
        assert_non_null(k);
        assert_memory_equal(k->id.bytes, d->delivered.id.bytes, ID_BYTES);
        assert_int_equal(k->number, number_of(d->value));
        k->place = MODEL_LEASED;
        k->end_ms = now_ms + x.lease_ms;
        k->delivery = *version;
        assert_int_equal(d->delivered.version, *version);
        assert_int_equal(d->delivered.attempt, ++k->attempts);
        c->now.figures[queue].delivered++;
        keep_receipt(c, queue, &d->delivered);
    }
    if (x.count < x.count_max) assert_null(queue_model_next(&c->now, queue, now_ms));
    return true;
}

static void model_settle(struct queue_check *c, const struct queue_settle *x, int64_t now_ms,
                         struct model_message *k)
{
    struct model_figures *f = &c->now.figures[k->queue];
    switch (x->kind) {
    case SETTLE_ACK:
        k->place = MODEL_UNUSED;
        f->acked++;
        break;
    case SETTLE_EXTEND: k->end_ms = now_ms + x->lease_ms; break;
    case SETTLE_RETURN:
        k->place = MODEL_WAITING;
        k->attempts--;
        f->delivered--;
        break;
    case SETTLE_NACK:
        queue_model_fail(&c->now, k, now_ms, x->delay_ms, x->is_dead);
        f->nacked++;
        break;
    }
}

/* With any of the last receipts, good or not. Sometimes an acknowledgement and what follows from it
 * are one transaction. */
static bool step_settle(struct queue_check *c, int64_t now_ms, uint64_t *version)
{
    static const enum settle_kind kinds[] = {SETTLE_ACK,    SETTLE_ACK,  SETTLE_NACK,
                                             SETTLE_EXTEND, SETTLE_NACK, SETTLE_RETURN};
    size_t known = c->receipt_count < QUEUE_CHECK_RECEIPTS ? c->receipt_count
                                                           : QUEUE_CHECK_RECEIPTS;
    if (known == 0) return true;
    size_t at = (size_t)rng_below(c->rng, known);
    struct queue_settle x = {.queues = c->db->queues,
                             .kind = kinds[rng_below(c->rng, 6)],
                             .receipt = c->receipts[at],
                             .is_dead = rng_below(c->rng, 4) == 0,
                             .delay_ms = (int64_t)rng_below(c->rng, 600) - 300,
                             .lease_ms = 1 + (int64_t)rng_below(c->rng, 2000),
                             .error = slice_str("why")};
    if (x.delay_ms < 0) x.delay_ms = -1;
    struct model_message *k = queue_model_leased(&c->now, &x.receipt, now_ms);
    struct model_message next = any_message(c, 0, now_ms);
    struct queue_enqueue more = {.queues = c->db->queues,
                                 .queue = slice_str(names[next.queue]),
                                 .message = message_of(c, &next)};
    bool is_pair = x.kind == SETTLE_ACK && rng_below(c->rng, 2) == 0;
    struct op ops[2] = {queue_settle_op(&x, is_pair), queue_enqueue_op(&more)};
    struct txn t = {.ops = ops, .count = is_pair ? 2 : 1};
    if (!commit(c, &t)) return false;
    *version = t.version;
    assert_int_equal(t.is_conflict, is_pair && k == NULL);
    if (!is_pair) assert_int_equal(ops[0].is_met, k != NULL);
    if (k == NULL) assert_int_equal(t.version, 0);
    if (k == NULL) return true;
    model_settle(c, &x, now_ms, k);
    if (is_pair) model_enqueue(c, &next, more.id);
    return true;
}

/* A lease that has ended is over, though its end was not processed yet. */
static bool try_ended(struct queue_check *c, int64_t now_ms)
{
    for (size_t i = 0; i < c->receipt_count && i < QUEUE_CHECK_RECEIPTS; i++) {
        struct queue_settle x = {
            .queues = c->db->queues, .kind = SETTLE_ACK, .receipt = c->receipts[i]};
        const struct model_message *k = queue_model_leased(&c->now, &x.receipt, INT64_MIN);
        bool is_met = false;
        uint64_t version = 0;
        if (k == NULL || k->end_ms > now_ms) continue;
        if (!commit_op(c, queue_settle_op(&x, false), &is_met, &version)) return false;
        assert_false(is_met);
        assert_int_equal(version, 0);
    }
    return true;
}

static bool step_bulk(struct queue_check *c, int64_t now_ms, uint64_t *version)
{
    unsigned queue = (unsigned)rng_below(c->rng, MODEL_QUEUES);
    uint64_t what = rng_below(c->rng, 8);
    enum bulk_kind kind = what < 5 ? BULK_DEAD_REQUEUE : what == 5 ? BULK_DEAD_DELETE : BULK_PURGE;
    size_t done = 0;
    size_t wanted = 0;
    if (!bulk(c, kind, queue, &done, version)) return false;
    if (kind == BULK_PURGE) {
        wanted = queue_model_purge(&c->now, queue);
    } else if (kind == BULK_DEAD_DELETE) {
        wanted = queue_model_delete_dead(&c->now, queue);
    } else {
        wanted = queue_model_requeue(&c->now, queue, now_ms);
    }
    assert_int_equal(done, wanted);
    return true;
}

static bool step_flush(struct queue_check *c, uint64_t *version)
{
    struct txn t = {.has_flush = true, .commits_always = true};
    if (!commit(c, &t)) return false;
    *version = t.version;
    c->now = (struct queue_model){0};
    return true;
}

bool queue_check_step(struct queue_check *c, int64_t now_ms, uint64_t *version)
{
    uint64_t what = rng_below(c->rng, 200);
    bool goes_on = true;
    *version = 0;
    if (!try_ended(c, now_ms)) return false;
    queue_model_advance(&c->now, now_ms);
    if (!sweep(c)) return false;
    if (what < 70) {
        goes_on = step_enqueue(c, now_ms, version);
    } else if (what < 130) {
        goes_on = step_take(c, now_ms, version);
    } else if (what < 190) {
        goes_on = step_settle(c, now_ms, version);
    } else if (what < 199) {
        goes_on = step_bulk(c, now_ms, version);
    } else {
        goes_on = step_flush(c, version);
    }
    arena_reset(&c->arena);
    return goes_on;
}

/* ---- reading ---- */

struct found_row {
    struct slice rest, value; /* of the key after its prefix; in the arena */
};

/* The rows of a queue in a space. False after a fatal error. */
static bool read_rows(struct queue_check *c, const struct row_place *place, enum space space,
                      struct found_row *rows, size_t *count)
{
    struct slice prefix = row_key(&c->arena, place, space, slice_of(NULL, 0));
    struct scan_range range = {
        .start = prefix, .end = row_key_end(&c->arena, place, space), .with_values = true};
    struct scan *scan = NULL;
    struct error e = {.text = ""};
    bool goes_on = true;
    *count = 0;
    assert_int_equal(backend_scan_open(c->db->backend, &range, &scan, &e), OK);
    while (goes_on) {
        struct slice key;
        struct entry entry;
        enum err r = backend_scan_next(scan, &key, &entry, &c->waiter, &e);
        if (r == ERR_WAIT) {
            waiter_cancel(&c->waiter);
            goes_on = c->turn(c->arg);
            continue;
        }
        if (r != OK) fail_msg("queues: %s", e.text);
        if (key.len == 0) break;
        assert_true(*count < MODEL_MESSAGES);
        struct slice rest = slice_of(key.data + prefix.len, key.len - prefix.len);
        rows[(*count)++] = (struct found_row){.rest = arena_copy(&c->arena, rest),
                                              .value = arena_copy(&c->arena, entry.value)};
    }
    backend_scan_close(scan);
    return goes_on;
}

static const struct found_row *row_with_id(const struct found_row *rows, size_t count,
                                           const struct message_id *id)
{
    for (size_t i = 0; i < count; i++) {
        const struct slice *rest = &rows[i].rest;
        if (rest->len < ID_BYTES) continue;
        if (memcmp(rest->data + rest->len - ID_BYTES, id->bytes, ID_BYTES) == 0) return &rows[i];
    }
    return NULL;
}

/* What is known of a message by its rows in one incarnation: one in MESSAGE, and one in READY or
 * two in STATE and `times`, which is LEASE or DEAD. */
struct found_place {
    struct found_row messages[MODEL_MESSAGES], ready[MODEL_MESSAGES], states[MODEL_MESSAGES],
        times[MODEL_MESSAGES];
    size_t message_count, ready_count, state_count, time_count;
};

static void found_message(const struct found_place *p, size_t i, struct model_message *k)
{
    struct message message;
    struct state s;
    struct slot slot;
    struct slice text;
    struct error e;
    uint32_t attempts = 0;
    memcpy(k->id.bytes, p->messages[i].rest.data, ID_BYTES);
    assert_int_equal(message_read(p->messages[i].value, &message, &e), OK);
    k->number = number_of(message.value);
    const struct found_row *ready = row_with_id(p->ready, p->ready_count, &k->id);
    const struct found_row *state = row_with_id(p->states, p->state_count, &k->id);
    const struct found_row *time = row_with_id(p->times, p->time_count, &k->id);
    assert_true((ready != NULL) != (state != NULL) && (state != NULL) == (time != NULL));
    memcpy(slot.bytes, ready != NULL ? ready->rest.data : time->rest.data, SLOT_BYTES);
    if (ready != NULL) {
        attempts_read(ready->value, &attempts, &text);
        k->place = MODEL_WAITING;
        k->due_ms = slot_time_ms(&slot);
        k->attempts = attempts;
        return;
    }
    assert_int_equal(state_read(state->value, &s, &e), OK);
    assert_int_equal(s.time_ms, slot_time_ms(&slot));
    k->place = s.kind == STATE_LEASED ? MODEL_LEASED : MODEL_DEAD;
    k->attempts = s.attempt;
    k->due_ms = s.due_ms;
    k->end_ms = s.time_ms;
    k->delivery = s.version;
}

static bool read_place(struct queue_check *c, unsigned queue, uint64_t incarnation,
                       struct queue_model *found)
{
    static struct found_place p;
    bool is_dead = incarnation == INCARNATION_DEAD;
    struct row_place place = {.database = QUEUE_CHECK_DATABASE,
                              .queue = slice_str(names[queue]),
                              .incarnation = incarnation};
    enum space times = is_dead ? SPACE_DEAD : SPACE_LEASE;
    p.ready_count = 0;
    if (!read_rows(c, &place, SPACE_MESSAGE, p.messages, &p.message_count) ||
        (!is_dead && !read_rows(c, &place, SPACE_READY, p.ready, &p.ready_count)) ||
        !read_rows(c, &place, SPACE_STATE, p.states, &p.state_count) ||
        !read_rows(c, &place, times, p.times, &p.time_count)) {
        return false;
    }
    assert_int_equal(p.message_count, p.ready_count + p.state_count);
    assert_int_equal(p.state_count, p.time_count);
    for (size_t i = 0; i < p.message_count; i++) {
        struct model_message *k = queue_model_unused(found);
        assert_non_null(k);
        k->queue = queue;
        found_message(&p, i, k);
        assert_int_equal(k->place == MODEL_DEAD, is_dead);
    }
    return true;
}

static bool read_undelivered(struct queue_check *c, unsigned queue, struct queue_model *found)
{
    for (unsigned i = 0; i < MODEL_UNDELIVERED; i++) {
        struct error e = {.text = ""};
        struct entry entry;
        struct slice key = key_of_undelivered(c, queue, i);
        enum err r = OK;
        while ((r = engine_get(c->db->engine, NULL, key, &entry, &c->waiter, &e)) == ERR_WAIT) {
            waiter_cancel(&c->waiter);
            if (!c->turn(c->arg)) return false;
        }
        if (r != OK) fail_msg("queues: %s", e.text);
        if (!entry.exists) continue;
        found->undelivered[queue][i] = number_of(entry.value);
    }
    return true;
}

static bool read_queue(struct queue_check *c, unsigned queue, struct queue_model *found)
{
    const struct queue *q = queue_find(c->db->queues, QUEUE_CHECK_DATABASE,
                                       slice_str(names[queue]));
    if (!read_undelivered(c, queue, found)) return false;
    if (q == NULL || !q->exists) return read_place(c, queue, INCARNATION_DEAD, found);
    struct counts counts = q->counts;
    found->figures[queue] = (struct model_figures){.exists = true,
                                                   .enqueued = counts.enqueued,
                                                   .delivered = counts.delivered,
                                                   .acked = counts.acked,
                                                   .nacked = counts.nacked,
                                                   .expired = counts.expired};
    if (!read_place(c, queue, counts.incarnation, found) ||
        !read_place(c, queue, INCARNATION_DEAD, found)) {
        return false;
    }
    assert_int_equal(queue_model_count(found, queue, MODEL_WAITING), counts.ready + counts.delayed);
    assert_int_equal(queue_model_count(found, queue, MODEL_LEASED), counts.leased);
    assert_int_equal(queue_model_count(found, queue, MODEL_DEAD), counts.dead);
    return true;
}

bool queue_check_read(struct queue_check *c, struct queue_model *found)
{
    *found = (struct queue_model){0};
    bool goes_on = sweep(c);
    for (unsigned q = 0; goes_on && q < MODEL_QUEUES; q++) goes_on = read_queue(c, q, found);
    arena_reset(&c->arena);
    return goes_on;
}
