/* memory: what is known of each queue without a read: its figures, its first rows by time. Changed
 * by commits only (feed.c), and filled from the store where a window ends.
 */
#include "base/list.h"
#include "base/mem.h"
#include "queue/queue_int.h"

#define FILL_ROWS 256 /* at least, when the store is asked */
#define ADVANCE_MAX 5000

static struct slice key_of(uint16_t database, struct slice name,
                           uint8_t out[KEY_HEAD_BYTES + 1 + QUEUE_NAME_BYTES_MAX])
{
    *key_head_write(out, database, SPACE_QUEUE) = (uint8_t)name.len;
    bytes_copy(out + KEY_HEAD_BYTES + 1, name.data, name.len);
    return slice_of(out, KEY_HEAD_BYTES + 1 + name.len);
}

/* ---- the table ---- */

struct queue *queue_find(struct queues *qs, uint16_t database, struct slice name)
{
    uint8_t raw[KEY_HEAD_BYTES + 1 + QUEUE_NAME_BYTES_MAX];
    struct slice key = key_of(database, name, raw);
    return htab_find(&qs->table, hash_bytes(key), key);
}

void queue_windows_empty(struct queue *q)
{
    window_fini(&q->ready);
    window_fini(&q->upcoming);
    window_fini(&q->leases);
    window_init_empty(&q->ready);
    window_init_empty(&q->upcoming);
    window_init_empty(&q->leases);
}

struct queue *queue_make(struct queues *qs, uint16_t database, struct slice name)
{
    uint8_t raw[KEY_HEAD_BYTES + 1 + QUEUE_NAME_BYTES_MAX];
    struct slice key = key_of(database, name, raw);
    uint64_t hash = hash_bytes(key);
    struct queue *q = htab_find(&qs->table, hash, key);
    if (q != NULL) return q;
    q = mem_new(sizeof *q + key.len);
    memcpy(q + 1, key.data, key.len);
    q->key = slice_of(q + 1, key.len);
    q->hash = hash;
    q->name = queue_name_of(q->key);
    q->queues = qs;
    queue_windows_empty(q);
    RING_INSERT(&qs->all, q, next, prev);
    htab_insert(&qs->table, hash, &q->key);
    return q;
}

static void queue_free(struct queues *qs, struct queue *q)
{
    queue_set_counts(q, NULL);
    queue_rest_until(q, INT64_MAX);
    htab_remove(&qs->table, q->hash, &q->key);
    RING_UNLINK(q, next, prev);
    window_fini(&q->ready);
    window_fini(&q->upcoming);
    window_fini(&q->leases);
    mem_free(q);
}

void queue_drop_unused(struct queues *qs, struct queue *q)
{
    if (!q->exists && q->line_count == 0) queue_free(qs, q);
}

/* ---- figures ---- */

static int by_name(const struct treap_node *a, const struct treap_node *b)
{
    const struct queue *x = (const void *)((const char *)a - offsetof(struct queue, by_name));
    const struct queue *y = (const void *)((const char *)b - offsetof(struct queue, by_name));
    uint16_t first = key_database(x->key);
    uint16_t second = key_database(y->key);
    return first != second ? (first < second ? -1 : 1) : slice_cmp(x->name, y->name);
}

static struct queue *of_due(struct treap_node *node)
{
    return (struct queue *)(void *)((char *)node - offsetof(struct queue, by_due));
}

static const struct queue *of_due_const(const struct treap_node *node)
{
    return (const struct queue *)(const void *)((const char *)node -
                                                offsetof(struct queue, by_due));
}

static int due_first(const struct treap_node *a, const struct treap_node *b)
{
    const struct queue *x = of_due_const(a);
    const struct queue *y = of_due_const(b);
    if (x->due_ms != y->due_ms) return x->due_ms < y->due_ms ? -1 : 1;
    return slice_cmp(x->key, y->key);
}

void queues_figures_init(struct queues *qs)
{
    treap_init(&qs->by_name, by_name);
    qs->in_database = mem_new(DATABASES_MAX * sizeof *qs->in_database);
    treap_init(&qs->active, due_first);
}

static void counts_add(struct counts *sum, const struct counts *c, uint64_t factor)
{
    sum->ready += factor * c->ready;
    sum->delayed += factor * c->delayed;
    sum->leased += factor * c->leased;
    sum->dead += factor * c->dead;
    sum->enqueued += factor * c->enqueued;
    sum->delivered += factor * c->delivered;
    sum->acked += factor * c->acked;
    sum->nacked += factor * c->nacked;
    sum->expired += factor * c->expired;
}

static void flows_add(struct queue_flows *sum, const struct queue_flows *f, uint64_t factor)
{
    sum->enqueued += factor * f->enqueued;
    sum->delivered += factor * f->delivered;
    sum->acked += factor * f->acked;
    sum->nacked += factor * f->nacked;
    sum->expired += factor * f->expired;
}

static uint64_t grown(uint64_t before, uint64_t after)
{
    return after > before ? after - before : 0;
}

/* A delivery that is taken back is no longer in the figures, but it was told: the next one does not
 * count instead, so that what is told never gets less. */
void queue_count_flow(struct queue *q, const struct counts *after)
{
    const struct counts *before = &q->counts;
    uint64_t delivered = grown(before->delivered, after->delivered);
    uint64_t known = delivered < q->untaken ? delivered : q->untaken;
    struct queue_flows f = {.enqueued = grown(before->enqueued, after->enqueued),
                            .delivered = delivered - known,
                            .acked = grown(before->acked, after->acked),
                            .nacked = grown(before->nacked, after->nacked),
                            .expired = grown(before->expired, after->expired)};
    q->untaken += grown(after->delivered, before->delivered) - known;
    flows_add(&q->flows, &f, 1);
    flows_add(&q->queues->totals.flows, &f, 1);
    flows_add(&q->queues->totals.ever, &f, 1);
}

void queue_set_counts(struct queue *q, const struct counts *after)
{
    struct queues *qs = q->queues;
    const uint64_t minus_one = UINT64_MAX; /* unsigned sums come round */
    if (q->exists) counts_add(&qs->totals.counts, &q->counts, minus_one);
    if (q->exists && after == NULL) {
        qs->totals.queues--;
        qs->in_database[key_database(q->key)]--;
        treap_remove(&qs->by_name, &q->by_name);
        flows_add(&qs->totals.flows, &q->flows, minus_one);
        q->flows = (struct queue_flows){0};
        q->untaken = 0;
    }
    if (!q->exists && after != NULL) {
        qs->totals.queues++;
        qs->in_database[key_database(q->key)]++;
        treap_insert(&qs->by_name, &q->by_name, q->hash);
    }
    q->exists = after != NULL;
    q->counts = after != NULL ? *after : (struct counts){0};
    if (after != NULL) counts_add(&qs->totals.counts, after, 1);
}

void queue_rest_until(struct queue *q, int64_t due_ms)
{
    struct treap *active = &q->queues->active;
    if (q->is_active) treap_remove(active, &q->by_due);
    q->is_active = due_ms != INT64_MAX;
    q->due_ms = due_ms;
    if (q->is_active) treap_insert(active, &q->by_due, q->hash);
}

void queue_activate(struct queues *qs, struct queue *q)
{
    (void)qs;
    if (!q->is_active || q->due_ms != 0) queue_rest_until(q, 0);
}

struct queue *queue_due_next(const struct queue *q)
{
    struct treap_node *node = treap_next(&q->by_due);
    return node != NULL ? of_due(node) : NULL;
}

struct queue *queue_due_first(const struct queues *qs)
{
    struct treap_node *node = treap_first(&qs->active);
    return node != NULL ? of_due(node) : NULL;
}

void memory_fini(struct queues *qs)
{
    while (qs->all.next != &qs->all) queue_free(qs, qs->all.next);
    htab_fini(&qs->table);
}

/* ---- windows ---- */

/* At least `want` slots of the space in the window, unless there are fewer or it is full. */
static enum err fill(struct queue *q, enum space space, struct window *w, size_t want,
                     struct waiter *waiter, struct error *e)
{
    if (want > WINDOW_MAX) want = WINDOW_MAX;
    if (w->is_complete || w->count >= want) return OK;
    if (want < FILL_ROWS) want = FILL_ROWS;
    struct backend *b = engine_backend(q->queues->engine);
    struct arena arena;
    struct scan *scan = NULL;
    uint8_t from[SLOT_BYTES + 1] = {0};
    struct row_place place = {
        .database = key_database(q->key), .queue = q->name, .incarnation = q->counts.incarnation};
    memcpy(from, w->covered.bytes, SLOT_BYTES);
    arena_init(&arena, 1024);
    struct scan_range range = {.start = row_key(&arena, &place, space, slice_of(from, sizeof from)),
                               .end = row_key_end(&arena, &place, space),
                               .is_undivided = true,
                               .rows_hint = want - w->count};
    enum err r = backend_scan_open(b, &range, &scan, e);
    while (r == OK && w->count < want) {
        struct slice key;
        struct slice rest;
        struct entry entry;
        struct slot s;
        r = backend_scan_next(scan, &key, &entry, waiter, e);
        if (r != OK) break;
        if (key.len == 0) {
            window_end(w);
            break;
        }
        if (!row_split(key, &place, &rest) || rest.len != SLOT_BYTES) continue;
        memcpy(s.bytes, rest.data, SLOT_BYTES);
        window_extend(w, &s);
    }
    backend_scan_close(scan);
    arena_fini(&arena);
    return r;
}

enum err queue_fill(struct queue *q, enum space space, size_t want, struct waiter *w,
                    struct error *e)
{
    return fill(q, space, space == SPACE_LEASE ? &q->leases : &q->ready, want, w, e);
}

enum err queue_advance(struct queue *q, int64_t now_ms, struct waiter *w, struct error *e)
{
    struct counts *c = &q->counts;
    struct slot end = slot_end(now_ms);
    for (unsigned n = 0; c->delayed > 0; n++) {
        enum err r = fill(q, SPACE_READY, &q->upcoming, 1, w, e);
        if (r != OK) return r;
        if (q->upcoming.count == 0) break;
        struct slot s = *window_at(&q->upcoming, 0);
        if (slot_time_ms(&s) > now_ms) break;
        if (n == ADVANCE_MAX) {
            struct backend *b = engine_backend(q->queues->engine);
            backend_yield(b, w);
            return error_set(e, ERR_WAIT, "many messages have become due");
        }
        window_remove(&q->upcoming, &s);
        c->split = s;
        c->delayed--;
        c->ready++;
        q->queues->totals.counts.delayed--;
        q->queues->totals.counts.ready++;
    }
    if (slot_cmp(&end, &c->split) > 0) c->split = end;
    /* What is ready by now is none of its business, also when it is written later. */
    struct window *u = &q->upcoming;
    if (!u->is_complete && slot_cmp(&c->split, &u->covered) > 0) u->covered = c->split;

    return OK;
}

/* ---- after a start ---- */

/* A queue as its row has it; of its other rows nothing is known. */
enum err memory_row(void *arg, struct slice key, const struct entry *entry, struct error *e)
{
    struct queues *qs = arg;
    const struct slot none = {0};
    struct row_place place;
    struct counts counts;
    struct slice rest;
    (void)e;
    if (is_ids_row(key)) {
        ids_row_read(qs, entry->value);
        return OK;
    }
    if (!row_split(key, &place, &rest) || rest.len != 0) return OK;
    struct queue *q = queue_make(qs, place.database, place.queue);
    if (q->exists) return OK; /* used since */
    counts_read(entry->value, &counts);
    queue_set_counts(q, &counts);
    window_init(&q->ready, &none);
    window_init(&q->upcoming, &q->counts.split);
    window_init(&q->leases, &none);
    queue_activate(qs, q);
    return OK;
}
