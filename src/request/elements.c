/* elements: see elements.h. A reply of many is read through a scan that keeps what it sees, a slice
 * in each run of the command, into a buffer of its own; the scan is the command's pending. */
#include "request/elements.h"

#include "base/mem.h"
#include "base/random.h"
#include "codec/float_text.h"
#include "collection/stream.h"
#include "request/args.h"
#include "request/block.h"
#include "request/notify.h"

#define FEW 1000                   /* elements that are told at once */
#define SLICE_ELEMENTS 2000        /* before others get a turn ... */
#define SLICE_BYTES (512 * 1024)   /* ... or when so much was told */
#define ONE_TURN_BYTES (64u << 20) /* of what must be told at one moment */
#define ARENA_BYTES 4096

/* ---- reading ---- */

struct view *elements_view(struct request *rq)
{
    struct view *v = arena_alloc(rq->arena, sizeof *v);
    *v = view_reading(rq->env->db->engine, rq->overlay, rq->client->database, rq->arena,
                      rq->waiter);
    return v;
}

enum err elements_tell_each(struct request *rq, enum collection_kind kind, struct slice key,
                            const struct slices *names,
                            void (*tell)(struct resp_writer *w, const struct element *x))
{
    struct collection c;
    struct view *v = elements_view(rq);
    enum err r = elements_open(rq, v, key, kind, &c);
    resp_array(rq->w, names->count);
    for (size_t i = 0; i < names->count && r == OK; i++) {
        struct element x;
        bool found = false;
        if (c.exists) r = collection_find(&c, names->items[i], &found, &x, &rq->error);
        if (r == OK) tell(rq->w, found ? &x : NULL);
    }
    elements_read(rq, v);
    return r;
}

void elements_read(struct request *rq, const struct view *v)
{
    depends_raise(&rq->depends, v->depends);
}

enum err elements_open(struct request *rq, struct view *v, struct slice key,
                       enum collection_kind kind, struct collection *out)
{
    enum err r = collection_open(rq->env->db->collections, v, key, kind, out, &rq->error);
    elements_read(rq, v);
    if (r != OK) return r;
    struct env_stats *s = &rq->env->stats;
    s->reads++;
    *(out->exists ? &s->hits : &s->misses) += 1;
    return OK;
}

uint64_t elements_seed(struct request *rq, struct view *v)
{
    uint64_t *seed = &rq->client->run.seed;
    while (*seed == 0) random_system(seed, sizeof *seed);
    uint64_t at = v->overlay != NULL ? view_sequence(v) : 0;
    return *seed + at;
}

/* ---- many of them ---- */

struct tellings {
    struct pending pending; /* first */
    struct arena arena;     /* of what follows, when it takes several turns */
    struct view view;
    struct collection collection;
    struct element_walk walk;
    struct buf reply;
    uint64_t skip, max; /* as struct walk_range has them */
    struct told told;
    bool is_done;
};

static size_t telling_bytes(const struct pending *p)
{
    return ((const struct tellings *)p)->reply.cap;
}

static void telling_free(struct pending *p)
{
    struct tellings *x = (struct tellings *)p;
    element_walk_end(&x->walk);
    buf_fini(&x->reply);
    arena_fini(&x->arena);
    mem_free(x);
}

void elements_begin_array(struct resp_writer *w, size_t count, size_t elements)
{
    (void)elements;
    resp_array(w, count);
}

/* The walk over what is to be told of x->collection; `work_left` NULL: divided. */
static enum err tell_open(struct request *rq, const struct telling *t, struct tellings *x,
                          size_t *work_left)
{
    struct walk_range range = {.is_divided = work_left == NULL,
                               .is_empty = x->collection.head.count == 0,
                               .work_left = work_left};
    enum err r = OK;
    if (!range.is_empty && t->range != NULL) r = t->range(rq, &x->collection, &range);
    x->skip = range.skip;
    x->max = range.max;
    x->is_done = range.is_empty;
    x->told.of = &x->collection;
    if (r == OK && !x->is_done) {
        r = element_walk_begin(&x->walk, &x->collection, &range, &rq->error);
    }
    return r;
}

/* Up to `limit` of them. */
static enum err tell_some(struct request *rq, const struct telling *t, struct tellings *x,
                          size_t limit)
{
    struct resp_writer w = {.out = &x->reply, .proto = rq->w->proto};
    size_t bytes = x->reply.len + SLICE_BYTES;
    for (size_t i = 0; i < limit && x->reply.len < bytes && !x->is_done; i++) {
        struct element item;
        bool is_end = x->max != 0 && x->told.elements == x->max;
        enum err r = is_end ? OK : element_walk_next(&x->walk, &item, &is_end, &rq->error);
        if (r != OK) return r;
        x->is_done = is_end;
        if (is_end) break;
        x->told.passed++;
        if (x->skip > 0) {
            x->skip--;
            continue;
        }
        x->told.elements++;
        if (t->look == NULL) {
            t->tell(&w, &item, &x->told.replies);
        } else {
            x->is_done = !t->look(rq, &w, &item, &x->told);
        }
    }
    return x->reply.is_failed ? error_set(&rq->error, ERR_NOMEM, "out of memory for the reply")
                              : OK;
}

static void tell_end(struct request *rq, const struct telling *t, struct tellings *x)
{
    element_walk_end(&x->walk);
    elements_read(rq, &x->view);
    t->begin(rq->w, x->told.replies, x->told.elements);
    buf_append(rq->w->out, x->reply.data, x->reply.len);
}

static enum err too_many(struct request *rq)
{
    return error_set(&rq->error, ERR_LIMIT,
                     "more elements than can be read at once (%d, or %u MB) by a transaction, a "
                     "script or a client that caches reads; read them in parts",
                     COLLECTION_ROWS_MAX, ONE_TURN_BYTES >> 20);
}

/* Those that are told within this turn; *is_long: they are not, it is to be begun anew. */
static enum err tell_now(struct request *rq, const struct telling *t, bool *is_long)
{
    struct tellings x = {.view = *elements_view(rq)};
    bool is_one_turn = rq->overlay != NULL || rq->client->tracking != NULL;
    size_t limit = is_one_turn ? COLLECTION_ROWS_MAX : FEW;
    size_t bytes = is_one_turn ? ONE_TURN_BYTES : SLICE_BYTES;
    size_t work = is_one_turn ? ELEMENTS_WORK_MAX : ELEMENTS_WORK;
    *is_long = false;
    enum err r = elements_open(rq, &x.view, t->key, t->kind, &x.collection);
    if (r == OK) r = tell_open(rq, t, &x, &work);
    while (r == OK && !x.is_done && x.told.passed < limit && x.reply.len < bytes) {
        r = tell_some(rq, t, &x, FEW);
    }
    if (elements_are_many(rq, r, work)) r = OK;
    *is_long = r == OK && !x.is_done;
    if (*is_long && is_one_turn) r = too_many(rq);
    if (r == OK && !*is_long) tell_end(rq, t, &x);
    element_walk_end(&x.walk);
    elements_read(rq, &x.view);
    buf_fini(&x.reply);
    return r;
}

/* What takes several turns: all of it is in memory of its own. */
static enum err tell_begin(struct request *rq, const struct telling *t)
{
    struct tellings *x = mem_new(sizeof *x);
    x->pending = (struct pending){.free = telling_free, .bytes = telling_bytes};
    arena_init(&x->arena, ARENA_BYTES);
    rq->client->run.pending = &x->pending;
    x->view = view_reading(rq->env->db->engine, NULL, rq->client->database, &x->arena, rq->waiter);
    enum err r = collection_open(rq->env->db->collections, &x->view, arena_copy(&x->arena, t->key),
                                 t->kind, &x->collection, &rq->error);
    if (r == OK) r = tell_open(rq, t, x, NULL);
    if (r != OK) client_drop_pending(rq->client);
    return r;
}

enum err elements_tell(struct request *rq, const struct telling *t)
{
    bool is_long = rq->client->run.pending != NULL;
    enum err r = OK;
    if (!is_long) {
        r = tell_now(rq, t, &is_long);
        if (r != OK || !is_long) return r;
        r = tell_begin(rq, t);
    }
    struct tellings *x = (struct tellings *)rq->client->run.pending;
    if (r == OK) x->view.waiter = rq->waiter;
    if (r == OK) r = tell_some(rq, t, x, SLICE_ELEMENTS);
    if (r == OK && !x->is_done) r = client_yield(rq, x->walk.scan);
    if (r == OK) tell_end(rq, t, x);
    if (r != ERR_TRYAGAIN) return r;
    client_drop_pending(rq->client); /* others hold all connections to the store: anew, then */
    return client_yield(rq, NULL);
}

void reply_score(struct resp_writer *w, double score)
{
    char text[FLOAT_TEXT_BYTES];
    struct slice s = slice_of(text, float_text_write(score, text));
    if (w->proto == 3) {
        buf_append_byte(w->out, ',');
        buf_append(w->out, s.data, s.len);
        buf_append(w->out, "\r\n", 2);
    } else {
        resp_bulk(w, s);
    }
}

void reply_stream_id(struct resp_writer *w, struct stream_id id)
{
    char text[STREAM_ID_TEXT];
    resp_bulk(w, slice_of(text, stream_id_write(id, text)));
}

void reply_stream_entry(struct resp_writer *w, struct stream_id id, struct slice fields)
{
    size_t at = 0;
    uint64_t count = 0;
    struct slice word = {0};
    bool is_good = stream_fields_begin(fields, &at, &count);
    resp_array(w, 2);
    reply_stream_id(w, id);
    resp_array(w, is_good ? (size_t)count : 0);
    for (uint64_t i = 0; is_good && i < count; i++) {
        is_good = stream_fields_next(fields, &at, &word);
        resp_bulk(w, is_good ? word : slice_of(NULL, 0));
    }
}

void reply_expiry(struct resp_writer *w, int64_t expiry_ms)
{
    if (expiry_ms != 0) {
        resp_int(w, expiry_ms);
    } else {
        resp_nil(w);
    }
}

void reply_element(struct resp_writer *w, enum collection_kind kind, const struct element *x)
{
    switch (kind) {
    case COLLECTION_HASH:
        resp_array(w, 3);
        resp_bulk(w, x->name);
        resp_bulk(w, x->value);
        reply_expiry(w, x->expiry_ms);
        break;
    case COLLECTION_ZSET:
        resp_array(w, 2);
        resp_bulk(w, x->name);
        reply_score(w, x->score);
        break;
    case COLLECTION_LIST: resp_bulk(w, x->value); break;
    case COLLECTION_SET: resp_bulk(w, x->name); break;
    case COLLECTION_STREAM: reply_stream_entry(w, stream_id_of(x), x->value); break;
    }
}

/* ---- words ---- */

static enum err read_score(struct request *rq, const struct argument *a, struct slice word,
                           void *to)
{
    double score = 0;
    if (!float_text_read(word, &score)) {
        return error_set(&rq->error, ERR_SYNTAX, "%s",
                         a->wrong != NULL ? a->wrong : "value is not a valid float");
    }
    memcpy(to, &score, sizeof score);
    return OK;
}
const struct argument_kind arg_kind_score = {.read = read_score};

enum err stream_bad_id(struct request *rq)
{
    return error_set(&rq->error, ERR_SYNTAX,
                     "Invalid stream ID specified as stream command argument");
}

enum err stream_id_word(struct request *rq, struct slice word, uint64_t seq, struct stream_id *out)
{
    return stream_id_read(word, seq, out) ? OK : stream_bad_id(rq);
}

static enum err read_stream_id(struct request *rq, const struct argument *a, struct slice word,
                               void *to)
{
    struct stream_id id;
    (void)a;
    enum err r = stream_id_word(rq, word, 0, &id);
    if (r == OK) memcpy(to, &id, sizeof id);
    return r;
}
const struct argument_kind arg_kind_stream_id = {.read = read_stream_id};

/* ---- writing ---- */

enum err elements_save_as(struct request *rq, struct collection *c, const char *command)
{
    view_for(c->view, notify_cause_as(rq, command));
    return collection_save(c, &rq->error);
}

struct change_op {
    struct layer_op base; /* first */
    struct request *rq;
    enum err (*change)(struct request *rq, struct view *v, void *arg);
    void *arg;
};

static enum err change_apply(struct layer_op *op, struct view *v, bool *is_met, struct error *e)
{
    struct change_op *x = (struct change_op *)op;
    unsigned writes = view_writes(v);
    (void)e; /* it is the request's */
    enum err r = x->change(x->rq, v, x->arg);
    *is_met = view_writes(v) != writes;
    return r;
}

enum err elements_commit(struct request *rq,
                         enum err (*change)(struct request *rq, struct view *v, void *arg),
                         void *arg)
{
    struct change_op x = {.base = {.apply = change_apply}, .rq = rq, .change = change, .arg = arg};
    struct op op = {.kind = OP_LAYER, .layer = &x.base};
    return request_commit(rq, &op, 1);
}
