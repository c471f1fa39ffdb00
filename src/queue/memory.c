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
    queue_deactivate(q);
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

void queue_activate(struct queues *qs, struct queue *q)
{
    if (q->active_next != NULL) return;
    RING_INSERT(&qs->active, q, active_next, active_prev);
}

void queue_deactivate(struct queue *q)
{
    if (q->active_next == NULL) return;
    RING_UNLINK(q, active_next, active_prev);
    q->active_next = q->active_prev = NULL;
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
    enum err r = b->ops->scan_open(b, &range, &scan, e);
    while (r == OK && w->count < want) {
        struct slice key;
        struct slice rest;
        struct entry entry;
        struct slot s;
        r = b->ops->scan_next(scan, &key, &entry, waiter, e);
        if (r != OK) break;
        if (key.len == 0) {
            window_end(w);
            break;
        }
        if (!row_split(key, &place, &rest) || rest.len != SLOT_BYTES) continue;
        memcpy(s.bytes, rest.data, SLOT_BYTES);
        window_extend(w, &s);
    }
    b->ops->scan_close(scan);
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
            b->ops->yield(b, w);
            return error_set(e, ERR_WAIT, "many messages have become due");
        }
        window_remove(&q->upcoming, &s);
        c->split = s;
        c->delayed--;
        c->ready++;
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
    struct slice rest;
    (void)e;
    if (!row_split(key, &place, &rest) || rest.len != 0) return OK;
    struct queue *q = queue_make(qs, place.database, place.queue);
    if (q->exists) return OK; /* used since */
    q->exists = true;
    counts_read(entry->value, &q->counts);
    window_init(&q->ready, &none);
    window_init(&q->upcoming, &q->counts.split);
    window_init(&q->leases, &none);
    queue_activate(qs, q);
    return OK;
}
