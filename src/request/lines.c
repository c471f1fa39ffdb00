/* lines: see lines.h.
 *
 * Invariants:
 *   1. A wait is in the line of each of its keys, once, from the first attempt that found nothing
 *      until it is served or freed; a line without a wait does not exist.
 *   2. A line is due from a commit that leaves a collection at its key, or takes one away that a
 *      wait ends with, until lines_serve has found that its first wait gets nothing more there.
 *   3. No wait joins a line that is due: it is served before another command is run (dispatch.c).
 *   4. Only a wait whose client is parked is served: one that is woken is about to ask for its
 *      rights, or has an end.
 */
#include "request/lines.h"

#include <math.h>

#include "base/htab.h"
#include "base/mem.h"
#include "codec/float_text.h"
#include "engine/engine.h"
#include "request/args.h"
#include "request/block.h"
#include "request/feature.h"
#include "request/serving.h"
#include "request/table.h"

#define SERVED_MAX 1000 /* after one command; the others at the end of the turn, and so on */
#define ARENA_BYTES 4096

struct place;

struct line {
    struct slice key; /* first: the table looks here; owned, behind the struct */
    uint64_t hash;
    struct place *first, *last;
    size_t ends; /* its waits that end with the key */
    bool is_due;
    struct line *due_next;
};

/* Of a wait in a line. */
struct place {
    struct line *line; /* NULL = it has left */
    struct wait *wait;
    struct place *next, *prev;
};

struct wait {
    struct pending pending; /* first */
    struct env *env;
    struct client *client;
    const struct command *command;
    struct line_command what; /* its slices are in the arena */
    struct arena arena;
    struct place *places; /* of each key; in the arena */
    struct waiter_list waiters;
    struct buf reply;   /* pending.is_done: it is served, with this ... */
    struct error error; /* ... or, unless its code is OK, with this error */
    uint64_t depends;
};

struct lines {
    struct htab table; /* of struct line, by key */
    struct line *due;  /* oldest first */
    struct line **due_last;
    size_t waits;
    size_t ends;           /* of them, that end with their key */
    size_t lines_that_end; /* with such a wait */
    bool is_serving;
    struct arena arena; /* of attempts for those who wait */
    struct buf scratch;
    struct waiter waiter; /* what is read for them; the next turn tries again */
};

/* ---- lines ---- */

static void make_due(struct lines *x, struct line *l)
{
    if (l->is_due) return;
    l->is_due = true;
    l->due_next = NULL;
    *x->due_last = l;
    x->due_last = &l->due_next;
}

static void due_remove(struct lines *x, struct line *l)
{
    struct line **at = &x->due;
    while (*at != l) at = &(*at)->due_next;
    *at = l->due_next;
    if (x->due_last == &l->due_next) x->due_last = at;
    l->is_due = false;
}

static struct line *line_at(struct lines *x, struct slice key)
{
    uint64_t hash = hash_bytes(key);
    struct line *l = htab_find(&x->table, hash, key);
    if (l != NULL) return l;
    l = mem_new(sizeof *l + key.len);
    bytes_copy((uint8_t *)(l + 1), key.data, key.len);
    l->key = slice_of(l + 1, key.len);
    l->hash = hash;
    htab_insert(&x->table, hash, &l->key);
    return l;
}

static void place_leave(struct lines *x, struct place *p)
{
    struct line *l = p->line;
    if (l == NULL) return;
    p->line = NULL;
    *(p->prev != NULL ? &p->prev->next : &l->first) = p->next;
    *(p->next != NULL ? &p->next->prev : &l->last) = p->prev;
    if (p->wait->what.ends_with_key && --l->ends == 0) x->lines_that_end--;
    if (l->first != NULL) return;
    if (l->is_due) due_remove(x, l);
    htab_remove(&x->table, l->hash, &l->key);
    mem_free(l);
}

static void leave_all(struct lines *x, struct wait *w)
{
    for (size_t i = 0; i < w->what.keys.count; i++) place_leave(x, &w->places[i]);
}

static void join(struct lines *x, struct wait *w, size_t i)
{
    struct line *l = line_at(x, w->what.keys.items[i]);
    struct place *p = &w->places[i];
    bool is_in_it = l->last != NULL && l->last->wait == w; /* a key that is named twice */
    if (is_in_it) return;
    *p = (struct place){.line = l, .wait = w, .prev = l->last};
    *(l->last != NULL ? &l->last->next : &l->first) = p;
    l->last = p;
    if (w->what.ends_with_key && l->ends++ == 0) x->lines_that_end++;
}

/* ---- waits ---- */

static void wait_free(struct pending *pending)
{
    struct wait *w = (struct wait *)pending;
    struct lines *x = w->env->lines;
    leave_all(x, w);
    x->waits--;
    x->ends -= w->what.ends_with_key;
    waiter_drop_all(&w->waiters);
    buf_fini(&w->reply);
    arena_fini(&w->arena);
    mem_free(w);
}

static struct slices copy_words(struct arena *arena, const struct slices *x)
{
    struct slices copy = {.items = arena_alloc(arena, x->count * sizeof *x->items),
                          .count = x->count};
    for (size_t i = 0; i < x->count; i++) copy.items[i] = arena_copy(arena, x->items[i]);
    return copy;
}

static struct wait *wait_new(struct request *rq, const struct line_command *x)
{
    struct lines *lines = rq->env->lines;
    struct wait *w = mem_new(sizeof *w);
    w->pending = (struct pending){.free = wait_free, .is_long = true};
    w->env = rq->env;
    w->client = rq->client;
    w->command = rq->command;
    arena_init(&w->arena, ARENA_BYTES);
    waiter_list_init(&w->waiters);
    buf_init(&w->reply);
    w->what = *x;
    w->what.keys = copy_words(&w->arena, &x->keys);
    w->what.with = copy_words(&w->arena, &x->with);
    w->what.more = copy_words(&w->arena, &x->more);
    w->what.to = arena_copy(&w->arena, x->to);
    w->places = arena_alloc(&w->arena, x->keys.count * sizeof *w->places);
    memset(w->places, 0, x->keys.count * sizeof *w->places);
    for (size_t i = 0; i < x->keys.count; i++) join(lines, w, i);
    lines->waits++;
    lines->ends += x->ends_with_key;
    rq->client->run.pending = &w->pending;
    return w;
}

static enum err reply_served(struct request *rq, const struct wait *w)
{
    depends_raise(&rq->depends, w->depends);
    if (w->error.code != OK) {
        rq->error = w->error;
        return rq->error.code;
    }
    if (w->reply.is_failed) return error_set(&rq->error, ERR_NOMEM, "out of memory for the reply");
    buf_append(rq->w->out, w->reply.data, w->reply.len);
    return OK;
}

enum err lines_run(struct request *rq, const struct line_command *x)
{
    struct wait *w = (struct wait *)rq->client->run.pending;
    enum block_end end = client_block_end(rq->client);
    bool is_done = false;
    if (w != NULL && w->pending.is_done) return reply_served(rq, w);
    if (w != NULL) x = &w->what; /* as it was when it began to wait */
    if (end == BLOCK_FAILED) {
        return error_set(&rq->error, ERR_UNBLOCKED, "client unblocked via CLIENT UNBLOCK");
    }
    if (end == BLOCK_GOES_ON) {
        enum err r = x->attempt(rq, x, &is_done);
        if (r != OK || is_done) return r;
    }
    if (rq->overlay != NULL && x->is_one) {
        resp_nil(rq->w);
        return OK;
    }
    if (rq->overlay != NULL || end != BLOCK_GOES_ON) {
        resp_nil_array(rq->w);
        return OK;
    }
    if (w == NULL) w = wait_new(rq, x);
    waiter_add(&w->waiters, rq->waiter);
    return client_block(rq, x->timeout_ms);
}

/* ---- serving ---- */

/* Attempts in the name of the wait, with the one key. ERR_WAIT: not now. */
static enum err attempt_for(struct lines *x, const struct place *p, bool *is_done)
{
    struct wait *w = p->wait;
    struct env *env = w->env;
    struct slice key = p->line->key;
    struct resp_writer writer = {.out = &w->reply, .proto = w->client->settings.proto};
    struct line_command what = w->what;
    struct request rq = {.env = env,
                         .client = w->client,
                         .command = w->command,
                         .arena = &x->arena,
                         .scratch = &x->scratch,
                         .w = &writer,
                         .waiter = &x->waiter};
    what.keys = (struct slices){.items = &key, .count = 1};
    if (what.with.count > 0) {
        what.with = (struct slices){.items = &what.with.items[p - w->places], .count = 1};
    }
    *is_done = false;
    enum err r = what.attempt(&rq, &what, is_done);
    /* Told to the client, who waits no longer; of another type may be what it moves to. */
    bool is_told = r != OK && r != ERR_WAIT &&
                   (r != ERR_TYPE || what.to.len > 0 || what.ends_with_key);
    if (is_told) {
        buf_clear(&w->reply, SIZE_MAX);
        w->error = rq.error;
        INVARIANT(w->error.code == r);
        *is_done = true;
    }
    w->depends = rq.depends;
    arena_reset(&x->arena);
    return r == ERR_WAIT ? r : OK;
}

/* What the key holds is for those who wait for this kind. ERR_WAIT: not known now. */
static enum err kind_at(struct lines *x, struct env *env, struct slice key, int *kind)
{
    struct entry entry;
    struct collection_head h;
    struct error e;
    enum err r = engine_get(env->db->engine, NULL, key, &entry, &x->waiter, &e);
    *kind = 0;
    if (r == OK && entry.exists && collection_head_read(entry.value, &h)) *kind = (int)h.kind;
    return r == ERR_WAIT ? r : OK;
}

static bool may_get(const struct wait *w, int kind)
{
    const struct client *c = w->client;
    bool is_kind = (int)w->what.kind == kind || w->what.ends_with_key;
    return is_kind && c->run.is_waiting && client_block_end(c) == BLOCK_GOES_ON;
}

/* The first who gets something from the line; *is_over: no one does. */
static enum err serve_first(struct lines *x, struct env *env, struct line *l, bool *is_over)
{
    int kind = 0;
    *is_over = true;
    enum err r = kind_at(x, env, l->key, &kind);
    for (struct place *p = l->first; r == OK && p != NULL; p = p->next) {
        struct wait *w = p->wait;
        bool is_done = false;
        if (!may_get(w, kind)) continue;
        r = attempt_for(x, p, &is_done);
        if (r != OK || !is_done) continue;
        w->pending.is_done = true;
        *is_over = false;
        leave_all(x, w); /* the line may be gone */
        waiter_wake_all(&w->waiters);
        return OK;
    }
    return r;
}

void lines_serve(struct env *env)
{
    struct lines *x = env->lines;
    if (x->due == NULL || x->is_serving || !serving_may_write(env)) return;
    x->is_serving = true;
    for (size_t i = 0; i < SERVED_MAX && x->due != NULL; i++) {
        struct line *l = x->due;
        bool is_over = false;
        if (x->waiter.next != NULL) break; /* something is still being read */
        if (serve_first(x, env, l, &is_over) != OK) break;
        if (is_over && x->due == l) due_remove(x, l);
    }
    x->is_serving = false;
}

bool lines_are_due(const struct env *env)
{
    return env->lines->due != NULL && !env->lines->is_serving && serving_may_write(env);
}

struct lines_counts lines_counts(const struct env *env)
{
    const struct lines *x = env->lines;
    return (struct lines_counts){
        .clients = x->waits, .keys = x->table.count, .keys_that_end = x->lines_that_end};
}

/* The database is flushed: those whose wait ends with their key are told. */
static void make_all_due(struct lines *x, uint16_t database)
{
    size_t at = 0;
    for (struct line *l; (l = htab_next(&x->table, &at)) != NULL;) {
        if (key_database(l->key) == database) make_due(x, l);
    }
}

static void on_commit(void *arg, uint64_t version, const struct write_set *ws)
{
    struct lines *x = arg;
    (void)version;
    if (x->table.count == 0) return;
    for (size_t i = 0; i < ws->count; i++) {
        const struct mutation *mu = &ws->items[i];
        if (mu->kind == MUTATION_FLUSH && x->ends > 0) make_all_due(x, key_database(mu->key));
        bool is_put = mu->kind == MUTATION_SET;
        if ((!is_put && mu->kind != MUTATION_DELETE) || key_space(mu->key) != SPACE_DATA) continue;
        bool is_head = is_put && collection_is_head(mu->value);
        if (!is_head && x->ends == 0) continue;
        struct line *l = htab_find(&x->table, hash_bytes(mu->key), mu->key);
        if (l != NULL) make_due(x, l);
    }
}

/* ---- the words ---- */

#define TIMEOUT_MAX_MS ((double)INT64_MAX / 2)

static enum err read_seconds(struct request *rq, const struct argument *a, struct slice word,
                             void *to)
{
    double seconds = 0;
    (void)a;
    if (!float_text_read(word, &seconds) || isnan(seconds)) {
        return error_set(&rq->error, ERR_SYNTAX, "timeout is not a float or out of range");
    }
    if (seconds < 0) return error_set(&rq->error, ERR_SYNTAX, "timeout is negative");
    if (seconds * 1000 > TIMEOUT_MAX_MS) {
        return error_set(&rq->error, ERR_SYNTAX, "timeout is out of range");
    }
    double up = ceil(seconds * 1000);
    int64_t ms = (int64_t)up;
    memcpy(to, &ms, sizeof ms);
    return OK;
}
const struct argument_kind arg_kind_seconds = {.read = read_seconds};

/* ---- life ---- */

static void nothing_ready(struct waiter *w)
{
    /* The next turn tries again. */
    (void)w;
}

static void lines_open(struct env *env)
{
    struct lines *x = mem_new(sizeof *x);
    htab_init(&x->table);
    x->due_last = &x->due;
    arena_init(&x->arena, ARENA_BYTES);
    buf_init(&x->scratch);
    x->waiter.ready = nothing_ready;
    env->lines = x;
}

static void lines_close(struct env *env)
{
    struct lines *x = env->lines;
    INVARIANT(x->waits == 0 && x->table.count == 0);
    waiter_cancel(&x->waiter);
    htab_fini(&x->table);
    arena_fini(&x->arena);
    buf_fini(&x->scratch);
    mem_free(x);
    env->lines = NULL;
}

static void lines_of_engine(struct env *env, struct engine *g)
{
    struct layer layer = {
        .kinds = LAYER_SPACE(SPACE_DATA) | LAYER_FLUSH, .on_commit = on_commit, .arg = env->lines};
    waiter_cancel(&env->lines->waiter);
    engine_add_layer(g, &layer);
}

static bool lines_turn(struct env *env)
{
    lines_serve(env);
    return lines_are_due(env) && env->lines->waiter.next == NULL;
}

const struct feature lines_feature = {
    .open = lines_open,
    .close = lines_close,
    .use_engine = lines_of_engine,
    .turn = lines_turn,
};
