/* publication: messages on their way to all who listen, over src/pubsub; of PUBLISH, SPUBLISH, and
 * of EXEC, which sends them with its commit.
 *
 * A message follows the writes of the connection that published it: it is held in the receiver's
 * output until all that the publisher had seen or written is durable.
 *
 * A message that very many listen to, or that is matched against very many patterns, is sent to
 * some of them in each turn of the loop. It then belongs to env->publications, goes on also when
 * its publisher is gone, and a client that publishes meanwhile waits: so messages stay in one order
 * for all, and what is kept is what one command published.
 */
#include "request/publication.h"

#include "base/mem.h"

#define TURN_WORK 4000000 /* nanoseconds, about, that one command or one turn sends messages for */
#define WRITE_WORK 200    /* of a message to one receiver, beside its bytes */
#define BYTES_PER_WORK 4  /* copied in a nanosecond */

/* A message that is being sent, or will be. */
struct publication {
    struct publication *next;
    struct publishing *publisher; /* that waits for it; NULL = none */
    uint64_t depends;             /* held until this version is durable */
    bool is_shard;
    struct slice channel, payload; /* of one that is queued, in one allocation with it */
    struct pubsub_delivery delivery;
};

struct publications {
    struct publication *first, *last; /* the first is being sent */
    size_t bytes;                     /* of all of them */
    struct waiter_list waiters;       /* until there is none */
};

/* Of a client whose PUBLISH takes several turns. */
struct publishing {
    struct pending pending;          /* first */
    struct publication *publication; /* NULL = all were sent */
    size_t told;
};

/* What EXEC's commands publish, sent with its commit. */
struct exec_messages {
    struct publication *first, *last;
    size_t count; /* those that were cut too */
    int64_t work; /* that counting who listens may still take in this turn */
    struct exec_counts **counts;
};

/* How many listen, for the replies of EXEC's commands; kept from one attempt of it to the next. */
struct exec_counts {
    size_t *told; /* of the first `count` of its messages */
    size_t count, cap;
    struct pubsub_delivery counting; /* of the one after them */
};

/* ---- one message ---- */

/* While it is sent in one turn. */
struct outgoing {
    struct env *env;
    struct publication *publication;
    struct buf frames[2]; /* by protocol, for those that listen to the channel; made when needed */
    struct buf pattern_frame;
};

static void frame_write(struct buf *out, int proto, const struct publication *p,
                        struct slice pattern)
{
    struct resp_writer w = {.out = out, .proto = proto};
    bool has_pattern = pattern.data != NULL;
    resp_push(&w, has_pattern ? 4 : 3);
    resp_bulk_str(&w, has_pattern ? "pmessage" : p->is_shard ? "smessage" : "message");
    if (has_pattern) resp_bulk(&w, pattern);
    resp_bulk(&w, p->channel);
    resp_bulk(&w, p->payload);
}

static void deliver(void *arg, struct subscriber *s, struct slice pattern)
{
    struct outgoing *m = arg;
    struct publication *p = m->publication;
    struct client *c = client_of_subscriber(s);
    struct buf *frame = &m->frames[c->settings.proto == 3];
    if (pattern.data != NULL) {
        frame = &m->pattern_frame;
        buf_clear(frame, SIZE_MAX);
    }
    if (frame->len == 0) frame_write(frame, c->settings.proto, p, pattern);
    p->delivery.work -= WRITE_WORK + (int64_t)(frame->len / BYTES_PER_WORK);
    if (!frame->is_failed) c->ops->write(c, buf_slice(frame), p->depends);
}

/* Sends it to some more of those that listen. *work is what it may take, and then what is left. */
static bool publication_go_on(struct env *env, struct publication *p, int64_t *work)
{
    struct outgoing m = {.env = env, .publication = p};
    p->delivery.work = *work;
    bool is_over = pubsub_publish(env->pubsub, &p->delivery, p->is_shard, p->channel, deliver, &m);
    *work = p->delivery.work;
    for (int i = 0; i < 2; i++) buf_fini(&m.frames[i]);
    buf_fini(&m.pattern_frame);
    return is_over;
}

/* ---- those that take several turns ---- */

struct publications *publications_new(void)
{
    struct publications *q = mem_new(sizeof *q);
    waiter_list_init(&q->waiters);
    return q;
}

static size_t publication_bytes(const struct publication *p)
{
    return sizeof *p + p->channel.len + p->payload.len;
}

size_t publications_bytes(const struct env *env)
{
    return env->publications->bytes;
}

static void publication_end(struct publications *q)
{
    struct publication *p = q->first;
    if (p->publisher != NULL) {
        p->publisher->publication = NULL;
        p->publisher->told = p->delivery.told;
    }
    pubsub_abandon(&p->delivery);
    q->bytes -= publication_bytes(p);
    q->first = p->next;
    if (q->first == NULL) q->last = NULL;
    mem_free(p);
}

void publications_free(struct env *env)
{
    struct publications *q = env->publications;
    while (q->first != NULL) publication_end(q);
    mem_free(q);
    env->publications = NULL;
}

bool publications_turn(struct env *env)
{
    struct publications *q = env->publications;
    int64_t work = TURN_WORK;
    if (q->first == NULL) return false;
    while (q->first != NULL && work > 0) {
        if (publication_go_on(env, q->first, &work)) publication_end(q);
    }
    if (q->first == NULL) waiter_wake_all(&q->waiters);
    return q->first != NULL;
}

/* Begun or not, it goes on in the turns that follow. NULL when there is no memory for it. */
static struct publication *publication_queue(struct env *env, struct publication *p)
{
    struct publications *q = env->publications;
    struct publication *copy = mem_alloc_try(sizeof *copy + p->channel.len + p->payload.len);
    if (copy == NULL) return NULL;
    uint8_t *data = (uint8_t *)(copy + 1);
    *copy = *p;
    pubsub_move(&p->delivery, &copy->delivery);
    copy->next = NULL;
    copy->channel = slice_of(data, p->channel.len);
    copy->payload = slice_of(data + p->channel.len, p->payload.len);
    if (p->channel.len > 0) memcpy(data, p->channel.data, p->channel.len);
    if (p->payload.len > 0) memcpy(data + p->channel.len, p->payload.data, p->payload.len);
    *(q->last != NULL ? &q->last->next : &q->first) = copy;
    q->last = copy;
    q->bytes += publication_bytes(copy);
    return copy;
}

/* Told to all in this turn, or queued: that is returned. */
static struct publication *publication_begin(struct env *env, struct publication *p, int64_t *work)
{
    struct publication *queued = NULL;
    bool is_over = false;
    if (env->publications->first == NULL && *work > 0) is_over = publication_go_on(env, p, work);
    if (!is_over) queued = publication_queue(env, p);
    if (is_over || queued != NULL) return queued;
    int64_t no_end = INT64_MAX; /* rather a long turn than a message that some get */
    (void)publication_go_on(env, p, &no_end);
    return NULL;
}

void publication_tell(struct env *env, struct slice channel, struct slice payload, uint64_t version,
                      int64_t *work)
{
    struct publication p = {.depends = version, .channel = channel, .payload = payload};
    (void)publication_begin(env, &p, work);
}

/* ---- PUBLISH by itself ---- */

static void publishing_free(struct pending *p)
{
    struct publishing *k = (struct publishing *)p;
    if (k->publication != NULL) k->publication->publisher = NULL;
    mem_free(k);
}

static enum err wait_for_others(struct request *rq)
{
    waiter_add(&rq->env->publications->waiters, rq->waiter);
    return error_set(&rq->error, ERR_WAIT, "a message is being sent to many");
}

static enum err publish_alone(struct request *rq, struct publication *p, size_t *told)
{
    struct publishing *k = (struct publishing *)rq->client->run.pending;
    int64_t work = TURN_WORK;
    if (k != NULL) {
        *told = k->told;
        return k->publication == NULL ? OK : wait_for_others(rq);
    }
    if (rq->env->publications->first != NULL) return wait_for_others(rq);
    struct publication *queued = publication_begin(rq->env, p, &work);
    *told = p->delivery.told;
    if (queued == NULL) return OK;
    k = mem_new(sizeof *k);
    k->pending.free = publishing_free;
    k->pending.is_short = true;
    k->publication = queued;
    queued->publisher = k;
    rq->client->run.pending = &k->pending;
    return wait_for_others(rq);
}

/* ---- PUBLISH in EXEC ---- */

struct exec_messages *exec_messages_new(struct arena *arena, struct exec_counts **counts)
{
    struct exec_messages *x = arena_alloc(arena, sizeof *x);
    *x = (struct exec_messages){.work = TURN_WORK, .counts = counts};
    return x;
}

void exec_counts_free(struct exec_counts *c)
{
    if (c == NULL) return;
    pubsub_abandon(&c->counting);
    mem_free(c->told);
    mem_free(c);
}

static void tell_none(void *arg, struct subscriber *s, struct slice pattern)
{
    struct pubsub_delivery *counting = arg;
    (void)s;
    (void)pattern;
    counting->work -= 10;
}

/* Who listens to the next message, as far as a turn's work goes. */
static enum err exec_count(struct request *rq, const struct publication *p, size_t *told)
{
    struct exec_messages *x = rq->messages;
    if (*x->counts == NULL) *x->counts = mem_new(sizeof **x->counts);
    struct exec_counts *c = *x->counts;
    if (x->count < c->count) {
        *told = c->told[x->count];
        return OK;
    }
    c->counting.work = x->work;
    bool is_over = pubsub_publish(rq->env->pubsub, &c->counting, p->is_shard, p->channel, tell_none,
                                  &c->counting);
    x->work = c->counting.work;
    if (!is_over) return error_set(&rq->error, ERR_WAIT, "many listen: they are being counted");
    if (c->count == c->cap) {
        c->cap = c->cap == 0 ? 8 : 2 * c->cap;
        c->told = mem_resize(c->told, c->cap * sizeof *c->told);
    }
    *told = c->told[c->count++] = c->counting.told;
    c->counting.told = 0;
    return OK;
}

/* The message is sent with the commit; the reply counts who listens now. */
static enum err publish_in_exec(struct request *rq, const struct publication *p, size_t *told)
{
    struct exec_messages *x = rq->messages;
    if (rq->env->publications->first != NULL) return wait_for_others(rq);
    enum err r = exec_count(rq, p, told);
    if (r != OK) return r;
    struct publication *copy = arena_alloc(rq->arena, sizeof *copy);
    *copy = *p;
    *(x->last != NULL ? &x->last->next : &x->first) = copy;
    x->last = copy;
    x->count++;
    return OK;
}

struct publication *exec_messages_last(const struct exec_messages *x)
{
    return x->last;
}

void exec_messages_cut(struct exec_messages *x, struct publication *last)
{
    x->last = last;
    *(last != NULL ? &last->next : &x->first) = NULL;
}

void exec_messages_send(struct request *rq)
{
    int64_t work = TURN_WORK;
    for (struct publication *p = rq->messages->first; p != NULL; p = p->next) {
        p->depends = rq->depends > rq->client->run.depends ? rq->depends : rq->client->run.depends;
        (void)publication_begin(rq->env, p, &work);
    }
}

enum err publication_send(struct request *rq, bool is_shard, struct slice channel,
                          struct slice payload, size_t *told)
{
    struct publication p = {.depends = rq->client->run.depends,
                            .is_shard = is_shard,
                            .channel = channel,
                            .payload = payload};
    *told = 0;
    return rq->messages != NULL ? publish_in_exec(rq, &p, told) : publish_alone(rq, &p, told);
}
