#include "unit/queue/queue_help.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/clock.h"
#include "codec/key.h"
#include "unit/db/db_help.h"

static void bench_engine(struct qbench *t)
{
    struct engine_options options = small_engine(t->rig.b);
    options.txn_bytes_max = 30000;
    options.ops_max = 50;
    options.expire_batch = 100;
    options.idem_window_ms = 10000;
    options.idem_entries_max = 100;
    t->g = engine_new(&options);
    struct queue_options queues = {.engine = t->g,
                                   .lease_ms = 30000,
                                   .dedup_window_ms = 10000,
                                   .dedup_entries_max = 20,
                                   .dead_age_ms = 1000000,
                                   .dead_length = t->dead_length};
    t->qs = queues_new(&queues);
}

static void one_tick(struct qbench *t)
{
    engine_tick(t->g);
    queues_tick(t->qs);
    rig_step(&t->rig);
}

unsigned qbench_read(struct qbench *t)
{
    struct queues_totals totals;
    unsigned ticks = 0;
    for (;;) {
        queues_totals(t->qs, &totals);
        if (!totals.is_reading) return ticks;
        if (ticks++ == 1000) fail_msg("the rows are never read");
        one_tick(t);
    }
}

void qbench_open(struct qbench *t)
{
    qbench_open_with(t, 5);
}

void qbench_open_with(struct qbench *t, uint64_t dead_length)
{
    *t = (struct qbench){.dead_length = dead_length};
    clock_set_fake_ms(START_MS);
    rig_init(&t->rig);
    rig_open(&t->rig);
    arena_init(&t->arena, 4096);
    bench_engine(t);
    (void)qbench_read(t);
}

void qbench_close(struct qbench *t)
{
    queues_free(t->qs);
    engine_free(t->g);
    rig_close(&t->rig);
    rig_fini(&t->rig);
    arena_fini(&t->arena);
    clock_set_fake_ms(0);
}

void qbench_restart_cold(struct qbench *t)
{
    queues_free(t->qs);
    engine_free(t->g);
    rig_close(&t->rig);
    rig_open(&t->rig);
    bench_engine(t);
}

void qbench_restart(struct qbench *t)
{
    qbench_restart_cold(t);
    (void)qbench_read(t);
}

void qbench_crash(struct qbench *t)
{
    rig_settle(&t->rig);
    queues_free(t->qs);
    engine_free(t->g);
    rig_crash(&t->rig);
    bench_engine(t);
    (void)qbench_read(t);
}

void at(struct qbench *t, int64_t ms)
{
    t->now_ms = ms;
    clock_set_fake_ms(START_MS + ms);
}

void tick(struct qbench *t)
{
    for (int i = 0; i < 10; i++) one_tick(t);
}

static void waiter_told(struct waiter *w)
{
    (void)w;
}

bool run(struct qbench *t, uint16_t database, struct op *ops, size_t count)
{
    struct waiter w = {.ready = waiter_told};
    for (int i = 0; i < 1000; i++) {
        struct txn txn = {.database = database, .ops = ops, .count = count, .arena = &t->arena};
        enum err r = engine_commit(t->g, &txn, &w, &t->e);
        if (r == OK) return !txn.is_conflict;
        if (r != ERR_WAIT) fail_msg("%s", t->e.text);
        waiter_cancel(&w);
        tick(t);
    }
    fail_msg("it waits for ever: %s", t->e.text);
    return false;
}

static struct slice backoff_of(struct qbench *t, const char *text)
{
    uint8_t *p = arena_alloc(&t->arena, 400);
    size_t n = 0;
    for (char *end; *text != '\0'; text = end) {
        put_u32(p + 4 * n++, (uint32_t)strtoul(text, &end, 10));
    }
    return slice_of(p, n);
}

const char *enqueue(struct qbench *t, const char *queue, const char *value,
                    struct enqueue_options o)
{
    struct slice backoff = backoff_of(t, o.backoff != NULL ? o.backoff : "1000 5000 10000");
    struct queue_enqueue x = {.queues = t->qs,
                              .queue = slice_str(queue),
                              .message = {.value = slice_str(value),
                                          .backoff = backoff.data,
                                          .backoff_count = backoff.len},
                              .delay_ms = o.delay_ms};
    struct buf key = {0};
    if (o.dedup != NULL) x.dedup = slice_str(o.dedup);
    if (o.undelivered != NULL) {
        for (const char *at = o.undelivered; *at != '\0';) {
            size_t len = strcspn(at, " "), from = key.len;
            buf_append(&key, "\0\0", 2);
            key_add_string(&key, slice_of(at, len));
            key.data[from + 1] = (uint8_t)(key.len - from - 2);
            x.message.undelivered_count++;
            at += len + strspn(at + len, " ");
        }
        struct slice kept = arena_copy(&t->arena, buf_slice(&key));
        x.message.undelivered = kept.data;
        x.message.undelivered_bytes = kept.len;
        buf_fini(&key);
    }
    struct op op = queue_enqueue_op(&x);
    assert_true(run(t, 0, &op, 1));
    if (x.is_repeat) return NULL;
    char *id = arena_alloc(&t->arena, ID_CHARS + 1);
    memcpy(id, x.id, ID_CHARS);
    id[ID_CHARS] = '\0';
    return id;
}

bool take(struct qbench *t, const char *queue, int64_t lease_ms, struct taken *out)
{
    struct slice name = slice_str(queue);
    struct queue_dequeue x = {
        .queues = t->qs, .names = &name, .name_count = 1, .count_max = 1, .lease_ms = lease_ms};
    struct op op = queue_dequeue_op(&x);
    assert_true(run(t, 0, &op, 1));
    assert_int_equal(op.is_met, x.count == 1);
    if (x.count == 0) return false;
    snprintf(out->value, sizeof out->value, "%.*s", (int)x.items[0].value.len,
             (const char *)x.items[0].value.data);
    out->attempt = x.items[0].delivered.attempt;
    out->receipt = x.items[0].delivered;
    return true;
}

struct receipt take_value(struct qbench *t, const char *queue, int64_t lease_ms, const char *value)
{
    struct taken taken;
    if (!take(t, queue, lease_ms, &taken)) fail_msg("%s is empty, %s was wanted", queue, value);
    assert_string_equal(taken.value, value);
    return taken.receipt;
}

const char *drain(struct qbench *t, const char *queue)
{
    char *text = arena_alloc(&t->arena, 1000);
    struct taken taken;
    text[0] = '\0';
    while (take(t, queue, 3600000, &taken)) {
        size_t len = strlen(text);
        snprintf(text + len, 1000 - len, "%s%s", len > 0 ? " " : "", taken.value);
    }
    return text;
}

bool settle(struct qbench *t, enum settle_kind kind, struct receipt r, int64_t ms)
{
    struct queue_settle x = {
        .queues = t->qs, .kind = kind, .receipt = r, .lease_ms = ms, .delay_ms = -1};
    struct op op = queue_settle_op(&x, false);
    assert_true(run(t, 0, &op, 1));
    return op.is_met;
}

bool nack(struct qbench *t, struct receipt r, int64_t delay_ms, bool is_dead, const char *error)
{
    struct queue_settle x = {.queues = t->qs,
                             .kind = SETTLE_NACK,
                             .receipt = r,
                             .delay_ms = delay_ms,
                             .is_dead = is_dead,
                             .error = slice_str(error)};
    struct op op = queue_settle_op(&x, false);
    assert_true(run(t, 0, &op, 1));
    return op.is_met;
}

size_t bulk(struct qbench *t, enum bulk_kind kind, const char *queue)
{
    size_t total = 0;
    struct slot after = {0};
    for (bool is_more = true; is_more;) {
        struct queue_bulk x = {
            .queues = t->qs, .kind = kind, .queue = slice_str(queue), .max = 7, .after = after};
        struct op op = queue_bulk_op(&x);
        assert_true(run(t, 0, &op, 1));
        total += x.done;
        is_more = x.is_more;
        if (x.done > 0) after = x.last;
    }
    return total;
}

/* ---- what there is ---- */

struct queue_stats stats(struct qbench *t, const char *queue)
{
    struct queue_stats s;
    struct overlay *o = engine_begin(t->g, &t->arena);
    struct view v = view_over(t->g, o, 0, &t->rig.waiter);
    assert_int_equal(queue_stats(t->qs, &v, slice_str(queue), &s, &t->e), OK);
    engine_discard(o);
    return s;
}

const char *figures(struct qbench *t, const char *queue)
{
    char *text = arena_alloc(&t->arena, 100);
    struct counts c = stats(t, queue).counts;
    snprintf(text, 100, "%llu %llu %llu %llu", (unsigned long long)c.ready,
             (unsigned long long)c.delayed, (unsigned long long)c.leased,
             (unsigned long long)c.dead);
    return text;
}

const char *dead(struct qbench *t, const char *queue)
{
    char *text = arena_alloc(&t->arena, 2000);
    struct queue_page p = {.queue = slice_str(queue), .space = SPACE_DEAD, .max = 2};
    text[0] = '\0';
    do {
        struct overlay *o = engine_begin(t->g, &t->arena);
        struct view v = view_over(t->g, o, 0, &t->rig.waiter);
        assert_int_equal(queue_page(t->qs, &v, &p, &t->e), OK);
        for (size_t i = 0; i < p.count; i++) {
            const struct shown *s = &p.items[i];
            size_t len = strlen(text);
            snprintf(text + len, 2000 - len, "%s%.*s %u %.*s %lld", len > 0 ? ", " : "",
                     (int)s->value.len, (const char *)s->value.data, s->attempts, (int)s->error.len,
                     (const char *)s->error.data, (long long)(s->time_ms - START_MS));
            p.after = slot_of(s->time_ms, &s->id);
            p.has_after = true;
        }
        engine_discard(o);
    } while (p.is_more);
    return text;
}

const char *data(struct qbench *t, const char *key)
{
    struct buf b = {0};
    struct entry entry;
    engine_key_begin(&b, 0);
    key_add_string(&b, slice_str(key));
    rig_load(&t->rig, buf_slice(&b), &entry);
    buf_fini(&b);
    char *text = arena_alloc(&t->arena, entry.value.len + 1);
    size_t len = entry.exists ? entry.value.len : 0;
    if (len > 0) memcpy(text, entry.value.data, len);
    text[len] = '\0';
    return text;
}

/* Rows in a space; with slots != NULL their ends. */
static size_t rows(struct qbench *t, const struct row_place *place, enum space space,
                   struct slot *slots)
{
    struct slice key = row_key(&t->arena, place, space, slice_of(NULL, 0));
    struct scan_range range = {.start = key, .end = row_key_end(&t->arena, place, space)};
    struct scan *scan = NULL;
    struct entry entry;
    size_t count = 0;
    assert_int_equal(backend_scan_open(t->rig.b, &range, &scan, &t->e), OK);
    while (rig_scan_next(&t->rig, scan, &key, &entry)) {
        if (slots != NULL) memcpy(slots[count].bytes, key.data + key.len - SLOT_BYTES, SLOT_BYTES);
        count++;
    }
    backend_scan_close(scan);
    return count;
}

static void audit_window(const struct window *w, const struct slot *slots, size_t count)
{
    if (w->is_complete) assert_int_equal(w->count, count);
    assert_true(w->count <= count);
    for (size_t i = 0; i < w->count; i++) {
        assert_memory_equal(window_at(w, i)->bytes, slots[i].bytes, SLOT_BYTES);
    }
}

/* The totals are the sums over all queues, and those that exist are found by name. */
static void audit_totals(struct qbench *t)
{
    struct queues_totals totals;
    struct counts sum = {0};
    struct queue_flows flows = {0};
    size_t queues = 0;
    const struct queue *found = queues_first(t->qs);
    for (; found != NULL; found = queues_next(found)) queues++;
    queues_totals(t->qs, &totals);
    assert_int_equal(totals.queues, queues);
    for (const struct queue *q = t->qs->all.next; q != &t->qs->all; q = q->next) {
        if (!q->exists) continue;
        queues--;
        sum.ready += q->counts.ready;
        sum.delayed += q->counts.delayed;
        sum.leased += q->counts.leased;
        sum.dead += q->counts.dead;
        sum.enqueued += q->counts.enqueued;
        sum.delivered += q->counts.delivered;
        sum.acked += q->counts.acked;
        sum.nacked += q->counts.nacked;
        sum.expired += q->counts.expired;
        flows.enqueued += q->flows.enqueued;
        flows.delivered += q->flows.delivered;
        flows.acked += q->flows.acked;
        flows.nacked += q->flows.nacked;
        flows.expired += q->flows.expired;
    }
    assert_int_equal(queues, 0);
    assert_memory_equal(&totals.counts, &sum, sizeof sum);
    assert_memory_equal(&totals.flows, &flows, sizeof flows);
}

void audit(struct qbench *t, const char *queue)
{
    audit_totals(t);
    static struct slot slots[5000];
    struct counts c = stats(t, queue).counts;
    struct queue *q = queue_find(t->qs, 0, slice_str(queue));
    if (q == NULL) return;
    struct row_place now = {.queue = slice_str(queue), .incarnation = c.incarnation};
    struct row_place dead = {.queue = slice_str(queue), .incarnation = INCARNATION_DEAD};
    size_t ready = rows(t, &now, SPACE_READY, slots);
    size_t late = 0;
    for (size_t i = 0; i < ready; i++) late += slot_cmp(&slots[i], &c.split) > 0;
    audit_window(&q->ready, slots, ready);
    audit_window(&q->upcoming, slots + (ready - late), late);
    assert_int_equal(c.ready, ready - late);
    assert_int_equal(c.delayed, late);
    size_t leased = rows(t, &now, SPACE_LEASE, slots);
    audit_window(&q->leases, slots, leased);
    assert_int_equal(c.leased, leased);
    assert_int_equal(rows(t, &now, SPACE_STATE, NULL), leased);
    assert_int_equal(rows(t, &now, SPACE_MESSAGE, NULL), ready + leased);
    assert_int_equal(rows(t, &dead, SPACE_DEAD, NULL), c.dead);
    assert_int_equal(rows(t, &dead, SPACE_STATE, NULL), c.dead);
    assert_int_equal(rows(t, &dead, SPACE_MESSAGE, NULL), c.dead);
}
