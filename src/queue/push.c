/* push: messages for subscribers of a queue. The subscribers of one queue form a ring; when there
 * are messages and a subscriber has room for them, they are leased in one transaction and handed
 * out round robin. While none has room the ring stands in no line.
 *
 *   IDLE, no room --credit--> DUE --run: none ready--> WAITING in the queue's line --told--> DUE
 *
 * Invariant: a delivery is in `pushed` from its commit to the commit that ends it, and counts as
 * unacknowledged of its client for as long.
 */
#include "base/list.h"
#include "base/mem.h"
#include "queue/queue_int.h"

#define BATCH_MAX 100 /* messages of one transaction */

struct push_ring {
    struct slice key; /* database, queue; first: the table looks here; bytes follow the struct */
    uint64_t hash;
    struct queues *queues;
    struct push_sub *next_sub; /* circular; whose turn it is */
    struct consumer *consumer; /* NULL = in no line */
    struct waiter waiter;
    struct push_ring *next, *prev; /* all, circular */
};

struct pushed {
    struct slice key; /* database, queue length, queue, id */
    uint64_t hash;
    struct push_ring *ring;
    struct push_client *client;
    struct receipt receipt;     /* the name is in key */
    uint64_t end;               /* of its message in the client's stream */
    struct pushed *next, *prev; /* of the client */
};

/* ---- deliveries ---- */

static struct slice pushed_key(uint16_t database, struct slice queue, const uint8_t *id,
                               uint8_t *out)
{
    size_t head = KEY_HEAD_BYTES + 1;
    *key_head_write(out, database, 0) = (uint8_t)queue.len;
    bytes_copy(out + head, queue.data, queue.len);
    memcpy(out + head + queue.len, id, ID_BYTES);
    return slice_of(out, head + queue.len + ID_BYTES);
}

static void pushed_drop(struct queues *qs, struct pushed *p)
{
    struct push_client *c = p->client;
    htab_remove(&qs->pushed, p->hash, &p->key);
    STACK_UNLINK(c->first, p, next, prev);
    c->unacked--;
    qs->push_is_due = true;
    mem_free(p);
}

static void pushed_add(struct queues *qs, struct push_sub *s, const struct delivery *d,
                       uint64_t end)
{
    struct pushed *p = mem_new(sizeof *p + KEY_HEAD_BYTES + 1 + d->queue.len + ID_BYTES);
    uint8_t *key = (uint8_t *)(p + 1);
    p->key = pushed_key(key_database(s->ring->key), d->queue, d->delivered.id.bytes, key);
    p->hash = hash_bytes(p->key);
    p->ring = s->ring;
    p->client = s->client;
    p->receipt = d->delivered;
    p->receipt.queue = slice_of(key + KEY_HEAD_BYTES + 1, d->queue.len);
    p->end = end;
    STACK_PUSH(s->client->first, p, next, prev);
    s->client->unacked++;
    htab_insert(&qs->pushed, p->hash, &p->key);
}

/* The row STATE of a message was written: is the delivery over? */
void push_on_state(struct queues *qs, const struct mutation *mu)
{
    uint8_t raw[KEY_HEAD_BYTES + 1 + QUEUE_NAME_BYTES_MAX + ID_BYTES];
    struct row_place place;
    struct slice id;
    struct state s;
    struct error e;
    if (qs->pushed.count == 0 || !row_split(mu->key, &place, &id) || id.len != ID_BYTES) return;
    struct slice key = pushed_key(place.database, place.queue, id.data, raw);
    struct pushed *p = htab_find(&qs->pushed, hash_bytes(key), key);
    if (p == NULL) return;
    bool is_same = mu->kind == MUTATION_SET && state_read(mu->value, &s, &e) == OK &&
                   s.kind == STATE_LEASED && s.version == p->receipt.version &&
                   s.attempt == p->receipt.attempt;
    if (!is_same) pushed_drop(qs, p);
}

static struct slice ring_key(uint16_t database, struct slice name,
                             uint8_t out[KEY_HEAD_BYTES + QUEUE_NAME_BYTES_MAX])
{
    bytes_copy(key_head_write(out, database, 0), name.data, name.len);
    return slice_of(out, KEY_HEAD_BYTES + name.len);
}

/* Nothing that the ring handed out is under way any more. */
static void ring_drop_pushed(struct push_ring *r)
{
    struct push_sub *s = r->next_sub;
    do {
        struct pushed *next = NULL;
        for (struct pushed *p = s->client->first; p != NULL; p = next) {
            next = p->next;
            if (p->ring == r) pushed_drop(r->queues, p);
        }
        s = s->next;
    } while (s != r->next_sub);
}

void push_on_purge(struct queues *qs, const struct queue *q)
{
    uint8_t raw[KEY_HEAD_BYTES + QUEUE_NAME_BYTES_MAX];
    struct slice key = ring_key(key_database(q->key), q->name, raw);
    if (qs->pushed.count == 0) return;
    struct push_ring *r = htab_find(&qs->ring_table, hash_bytes(key), key);
    if (r != NULL) ring_drop_pushed(r);
}

void push_on_flush(struct queues *qs, uint16_t database)
{
    for (struct push_ring *r = qs->rings; r != NULL;) {
        if (key_database(r->key) == database) ring_drop_pushed(r);
        r = r->next;
        if (r == qs->rings) return;
    }
}

/* ---- handing out ---- */

static size_t room_of(struct push_sub *s)
{
    const struct push_client *c = s->client;
    if (c->unacked >= c->prefetch || !s->has_room(s)) return 0;
    return c->prefetch - c->unacked;
}

static size_t ring_room(const struct push_ring *r)
{
    size_t room = 0;
    struct push_sub *s = r->next_sub;
    do {
        room += room_of(s);
        s = s->next;
    } while (s != r->next_sub && room < BATCH_MAX);
    return room < BATCH_MAX ? room : BATCH_MAX;
}

static void hand_out(struct push_ring *r, const struct delivery *d, uint64_t version)
{
    struct push_sub *s = r->next_sub;
    for (;;) {
        /* Output that is full by now does not matter: it was not when they were taken. */
        if (s->client->unacked < s->client->prefetch) break;
        s = s->next;
        if (s == r->next_sub) break;
    }
    pushed_add(r->queues, s, d, s->deliver(s, d, version));
    r->next_sub = s->next;
}

static enum err ring_take(struct push_ring *r, size_t room, struct queue_dequeue *x,
                          uint64_t *version)
{
    struct queues *qs = r->queues;
    struct slice name = engine_key_tuple(r->key);
    struct error e;
    *x = (struct queue_dequeue){.queues = qs,
                                .names = &name,
                                .name_count = 1,
                                .count_max = room,
                                .lease_ms = qs->options.lease_ms,
                                .consumer = r->consumer};
    struct op op = queue_dequeue_op(x);
    struct txn t = {.database = key_database(r->key), .ops = &op, .count = 1, .arena = &qs->arena};
    enum err result = engine_commit(qs->engine, &t, &r->waiter, &e);
    *version = t.version;
    return result;
}

static void ring_run(struct push_ring *r)
{
    struct queues *qs = r->queues;
    size_t room = ring_room(r);
    struct queue_dequeue x;
    uint64_t version = 0;
    if (room == 0) { /* others may have what would be promised to it */
        consumer_free(r->consumer);
        r->consumer = NULL;
        return;
    }
    enum err result = ring_take(r, room, &x, &version);
    if (result == OK && x.count == 0) {
        if (r->consumer == NULL) {
            struct slice name = engine_key_tuple(r->key);
            r->consumer = consumer_new(qs, key_database(r->key), &name, 1);
        }
        consumer_wait(r->consumer, &r->waiter);
    } else if (result == OK) {
        for (size_t i = 0; i < x.count; i++) hand_out(r, &x.items[i], version);
        qs->push_is_due = true; /* there may be more */
    }
    arena_reset(&qs->arena);
}

void push_run(struct queues *qs)
{
    qs->push_is_due = false;
    struct push_ring *r = qs->rings;
    if (r == NULL) return;
    do {
        if (r->waiter.next == NULL) ring_run(r);
        r = r->next;
    } while (r != qs->rings);
}

static void ring_ready(struct waiter *w)
{
    struct push_ring *r = (struct push_ring *)(void *)((char *)w -
                                                       offsetof(struct push_ring, waiter));
    r->queues->push_is_due = true;
}

/* ---- subscribing ---- */

static struct push_ring *ring_of(struct queues *qs, uint16_t database, struct slice name)
{
    uint8_t raw[KEY_HEAD_BYTES + QUEUE_NAME_BYTES_MAX];
    struct slice wanted = ring_key(database, name, raw);
    uint64_t hash = hash_bytes(wanted);
    struct push_ring *r = htab_find(&qs->ring_table, hash, wanted);
    if (r != NULL) return r;
    r = mem_new(sizeof *r + wanted.len);
    memcpy(r + 1, raw, wanted.len);
    r->key = slice_of(r + 1, wanted.len);
    r->hash = hash;
    r->queues = qs;
    r->waiter.ready = ring_ready;
    RING_ADD(qs->rings, r, next, prev);
    htab_insert(&qs->ring_table, hash, &r->key);
    return r;
}

static void ring_free(struct push_ring *r)
{
    struct queues *qs = r->queues;
    consumer_free(r->consumer);
    waiter_cancel(&r->waiter);
    htab_remove(&qs->ring_table, r->hash, &r->key);
    if (qs->rings == r) qs->rings = r->next == r ? NULL : r->next;
    RING_UNLINK(r, next, prev);
    mem_free(r);
}

void push_subscribe(struct queues *qs, struct push_sub *s, uint16_t database, struct slice name)
{
    struct push_ring *r = ring_of(qs, database, name);
    s->ring = r;
    RING_ADD(r->next_sub, s, next, prev);
    qs->push_is_due = true;
}

void push_unsubscribe(struct queues *qs, struct push_sub *s, enum push_end end, uint64_t sent)
{
    struct push_ring *r = s->ring;
    struct pushed *next = NULL;
    for (struct pushed *p = s->client->first; p != NULL; p = next) {
        next = p->next;
        if (p->ring != r) continue;
        bool is_seen = end == PUSH_LOST && p->end <= sent;
        queue_give_back(qs, key_database(r->key), &p->receipt, is_seen);
        pushed_drop(qs, p);
    }
    if (s->next == s) {
        ring_free(r);
    } else {
        if (r->next_sub == s) r->next_sub = s->next;
        RING_UNLINK(s, next, prev);
    }
    s->ring = NULL;
}
