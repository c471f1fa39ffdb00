/* elements_length: how many elements a collection has: its count, less the fields of a hash that
 * have expired and are not swept yet. If these are many they are counted as of one moment, in
 * slices; the scan is the command's pending.
 */
#include "base/mem.h"
#include "request/block.h"
#include "request/elements.h"

#define SLICE_FIELDS 2000 /* before others get a turn */
#define ARENA_BYTES 4096

struct counting {
    struct pending pending; /* first */
    struct arena arena;     /* of what follows */
    struct view view;
    struct collection collection;
    struct engine_scan *scan;
    uint64_t version;
    uint64_t length;
};

static void counting_free(struct pending *p)
{
    struct counting *x = (struct counting *)p;
    engine_scan_close(x->scan);
    arena_fini(&x->arena);
    mem_free(x);
}

static enum err counting_begin(struct request *rq, struct collection *c, uint64_t version)
{
    struct counting *x = mem_new(sizeof *x);
    bool is_one = false;
    x->pending = (struct pending){.free = counting_free};
    x->version = version;
    arena_init(&x->arena, ARENA_BYTES);
    rq->client->run.pending = &x->pending;
    x->view = view_reading(rq->env->db->engine, NULL, rq->client->database, &x->arena, rq->waiter);
    enum err r = collection_look(rq->env->db->collections, &x->view, arena_copy(&x->arena, c->key),
                                 &x->collection, &is_one, &rq->error);
    x->length = x->collection.head.count;
    if (r == OK && is_one) r = collection_ended(&x->collection, true, NULL, &x->scan, &rq->error);
    if (r != OK) client_drop_pending(rq->client);
    return r;
}

static enum err count_slice(struct request *rq, struct counting *x, bool *is_end)
{
    for (unsigned i = 0; i < SLICE_FIELDS; i++) {
        struct slice key;
        struct entry row;
        enum err r = engine_scan_next(x->scan, &key, &row, rq->waiter, &rq->error);
        *is_end = r == OK && key.len == 0;
        if (r != OK || *is_end) return r;
        x->length--;
    }
    return OK;
}

static enum err count_on(struct request *rq, struct counting *x)
{
    bool is_end = x->scan == NULL;
    enum err r = is_end ? OK : count_slice(rq, x, &is_end);
    if (r == OK && !is_end) r = client_yield(rq, x->scan);
    if (r != ERR_TRYAGAIN) return r;
    client_drop_pending(rq->client); /* others hold all connections to the store: anew, then */
    return client_yield(rq, NULL);
}

enum err elements_length(struct request *rq, struct collection *c, uint64_t version, uint64_t *out)
{
    enum err r = OK;
    if (rq->client->run.pending == NULL) {
        bool is_one_turn = rq->overlay != NULL || rq->client->tracking != NULL;
        size_t work = is_one_turn ? ELEMENTS_WORK_MAX : ELEMENTS_WORK;
        r = collection_length(c, &work, out, &rq->error);
        if (is_one_turn || !elements_are_many(rq, r, work)) return r;
        r = counting_begin(rq, c, version);
        if (r != OK) return r;
    }
    struct counting *x = (struct counting *)rq->client->run.pending;
    r = count_on(rq, x);
    if (r != OK) return r;
    if (x->scan != NULL) depends_raise(&x->view.depends, engine_scan_depends(x->scan));
    elements_read(rq, &x->view);
    *out = x->length;
    bool has_changed = x->version != version;
    client_drop_pending(rq->client);
    return has_changed ? client_yield(rq, NULL) : OK;
}
