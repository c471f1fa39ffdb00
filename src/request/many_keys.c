/* many_keys: few keys are read as the commands of one key do it; many through a scan, a batch at a
 * time, and their reply is kept beside the client's output until it is whole.
 */
#include "request/many_keys.h"

#include "base/mem.h"
#include "request/args.h"
#include "request/block.h"

#define ONE_TURN_MAX 200000 /* keys that are read in one turn: some 150 ms */
#define FEW 1000            /* read at once */
/* At once, as each keeps a connection to the store; more wait for one of them to end. */
#define READINGS_MAX 8
#define BATCH 64                 /* loaded together */
#define SLICE_KEYS 640           /* before others get a turn ... */
#define SLICE_BYTES (256 * 1024) /* ... or when so much was told of them */

/* What has been read of many. */
struct reading {
    struct pending pending; /* first */
    struct readings *all;   /* it is one of these */
    struct engine_scan *scan;
    struct buf reply;
    size_t next; /* of the words */
    uint64_t found, depends;
};

static size_t reading_bytes(const struct pending *p)
{
    return ((const struct reading *)p)->reply.cap;
}

static void reading_free(struct pending *p)
{
    struct reading *k = (struct reading *)p;
    k->all->count--;
    waiter_wake(&k->all->waiters, 1);
    engine_scan_close(k->scan);
    buf_fini(&k->reply);
    mem_free(k);
}

static void count_read(struct request *rq, const struct many_keys *m, bool exists)
{
    struct env_stats *s = &rq->env->stats;
    s->reads++;
    if (m->counts_hits) *(exists ? &s->hits : &s->misses) += 1;
}

static enum err read_few(struct request *rq, const struct many_keys *m, uint64_t *found)
{
    for (size_t i = 0; i < m->words.count; i++) {
        struct slice key;
        struct entry entry;
        enum err r = arg_key(rq, m->words.items[i], &key);
        if (r == OK) r = request_get(rq, key, &entry);
        if (r != OK) return r;
        count_read(rq, m, entry.exists);
        *found += entry.exists;
        if (m->tell != NULL) m->tell(rq, &entry);
    }
    return OK;
}

static enum err reading_open(struct request *rq, const struct many_keys *m, struct reading **out)
{
    uint16_t database = rq->client->database;
    const uint8_t start[KEY_HEAD_BYTES] = {KEY_HEAD(database, SPACE_DATA)};
    const uint8_t end[KEY_HEAD_BYTES] = {KEY_HEAD(database, SPACE_DATA + 1)};
    struct scan_range range = {.start = slice_of(start, sizeof start),
                               .end = slice_of(end, sizeof end),
                               .with_values = m->tell != NULL,
                               .rows_hint = 1};
    struct reading *k = mem_new(sizeof *k);
    k->pending = (struct pending){.free = reading_free, .bytes = reading_bytes};
    k->all = &rq->env->readings;
    k->all->count++;
    rq->client->run.pending = &k->pending;
    *out = k;
    return engine_scan_open(rq->env->db->engine, NULL, &range, &k->scan, &rq->error);
}

/* The next of them, as the scan sees them. */
static enum err read_batch(struct request *rq, const struct many_keys *m, struct reading *k)
{
    struct slice keys[BATCH] = {{0}};
    struct entry entries[BATCH];
    size_t left = m->words.count - k->next;
    size_t count = left < BATCH ? left : BATCH;
    for (size_t i = 0; i < count; i++) {
        enum err r = arg_key(rq, m->words.items[k->next + i], &keys[i]);
        if (r != OK) return r;
    }
    enum err r = engine_scan_load(k->scan, keys, count, entries, rq->waiter, &rq->error);
    for (size_t i = 0; i < count && r == OK; i++) {
        count_read(rq, m, entries[i].exists);
        depends_raise(&k->depends, entries[i].depends);
        k->found += entries[i].exists;
        if (m->tell != NULL) m->tell(rq, &entries[i]);
    }
    if (r == OK) k->next += count;
    return r;
}

/* To the end, or until others should run (ERR_WAIT). */
static enum err read_on(struct request *rq, const struct many_keys *m, struct reading *k)
{
    struct resp_writer w = {.out = &k->reply, .proto = rq->w->proto};
    struct resp_writer *own = rq->w;
    size_t end = k->next + SLICE_KEYS;
    size_t bytes = k->reply.len + SLICE_BYTES;
    enum err r = OK;
    rq->w = &w;
    while (r == OK && k->next < m->words.count && k->next < end && k->reply.len < bytes) {
        r = read_batch(rq, m, k);
    }
    rq->w = own;
    if (k->reply.is_failed) r = error_set(&rq->error, ERR_NOMEM, "out of memory for the reply");
    return r == OK && k->next < m->words.count ? client_yield_or_go_on(rq, k->scan) : r;
}

/* One that was woken may be gone before it is run. */
void many_keys_tick(struct env *env)
{
    struct readings *all = &env->readings;
    if (all->count < READINGS_MAX) waiter_wake(&all->waiters, READINGS_MAX - all->count);
}

enum err many_keys_read(struct request *rq, const struct many_keys *m, uint64_t *found)
{
    struct reading *k = (struct reading *)rq->client->run.pending;
    enum err r = OK;
    *found = 0;
    /* A client that caches what it reads must be told of each change after its reply: what it gets
     * is the newest state, in one turn. */
    bool is_cached = rq->client->tracking != NULL;
    bool is_one_turn = rq->overlay != NULL || is_cached;
    if (is_one_turn && m->words.count > ONE_TURN_MAX) {
        return error_set(
            &rq->error, ERR_LIMIT,
            "more keys than can be read at once (%d) by a transaction, a script or a client that "
            "caches reads; read them in parts",
            ONE_TURN_MAX);
    }
    if (is_one_turn || m->words.count <= FEW) return read_few(rq, m, found);
    if (k == NULL && rq->env->readings.count == READINGS_MAX) {
        waiter_add(&rq->env->readings.waiters, rq->waiter);
        return error_set(&rq->error, ERR_WAIT, "others read many keys");
    }
    if (k == NULL) r = reading_open(rq, m, &k);
    while (r == OK && k->next < m->words.count) r = read_on(rq, m, k);
    if (r == ERR_TRYAGAIN) { /* others hold all connections to the store: from the start, then */
        client_drop_pending(rq->client);
        return client_yield(rq, NULL);
    }
    if (r != OK) return r;
    /* The scan knows what memory said of them, the entries what was read beside it. */
    depends_raise(&rq->depends, k->depends);
    depends_raise(&rq->depends, engine_scan_depends(k->scan));
    *found = k->found;
    buf_append(rq->w->out, k->reply.data, k->reply.len);
    return OK;
}
