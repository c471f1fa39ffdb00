/* kv_changes: KV.CHANGES: what was committed after a version, from the backend's history.
 *
 *            .--- there is more ---.
 *            v                     |
 *   READING --the backend answers--> READ --page full; end of history; time over--> reply
 *     | ^                            |
 *     | `--a commit matches-- PARKED <--BLOCK, and nothing found
 *     |                         `--time over--> reply
 *     `--client gone--> GONE --the backend answers--> freed
 *
 * A part of the history at a time, so that no client waits for a long one. The first read waits
 * until what was committed before the call is durable: a client that has subscribed and calls then
 * misses nothing in between. The watcher of a call with BLOCK is set before the first read: what
 * commits later is seen by it. While it says nothing, no commit can match, and the call need not
 * look at them: a quiet prefix does not become stale while others write much.
 */
#include "base/machine.h"
#include "base/mem.h"
#include "command/kv/changes_elements.h"
#include "request/args.h"
#include "request/block.h"
#include "request/client_memory.h"
#include "request/elements.h"
#include "request/keys.h"
#include "request/range.h"
#include "request/table.h"

#define COUNT_DEFAULT 100
#define COUNT_MAX 10000
#define PART_ROWS 1000 /* read, and made into a reply, at once */
#define PART_BYTES (1u << 20)
#define ARENA_CHUNK_BYTES (64u << 10)

enum feed_state { FEED_READ, FEED_READING, FEED_PARKED, FEED_GONE };

struct feed {
    struct pending pending; /* first */
    struct watcher watcher;
    struct changes_request request; /* request.after: where the call has got to */
    enum feed_state state;
    struct env *env;
    struct waiter *waiter;      /* of the connection */
    struct waiter_list waiters; /* it, while READING */
    struct buf range;           /* request.start and request.end */
    bool with_elements;
    uint8_t with_start[KEY_HEAD_BYTES], with_end[KEY_HEAD_BYTES]; /* of the request */
    uint64_t count;
    int64_t block_ms; /* -1 = without BLOCK */
    uint64_t wanted;  /* up to this version there may be something that matches */
    uint64_t quiet;   /* from this version on the watcher has seen all that matched */
    uint64_t rows;
    struct buf entries; /* of the page, encoded */
};

static void feed_move(struct feed *f, enum feed_state to)
{
    static const struct machine machine = {
        .name = "feed",
        .states = {"read", "reading", "parked", "gone"},
        .allowed = {[FEED_READ] = TO(FEED_READING) | TO(FEED_PARKED),
                    [FEED_READING] = TO(FEED_READ) | TO(FEED_GONE),
                    [FEED_PARKED] = TO(FEED_READING) | TO(FEED_PARKED)},
    };
    MACHINE_MOVE(&machine, f, state, to);
}

static void feed_destroy(struct feed *f)
{
    arena_fini(&f->request.arena);
    buf_fini(&f->range);
    buf_fini(&f->entries);
    mem_free(f);
}

static void feed_free(struct pending *p)
{
    struct feed *f = (struct feed *)p;
    watch_remove(f->env->db->watch, &f->watcher);
    if (f->state == FEED_READING) {
        feed_move(f, FEED_GONE); /* the backend still has the request */
    } else {
        feed_destroy(f);
    }
}

static size_t feed_bytes(const struct pending *p)
{
    const struct feed *f = (const struct feed *)p;
    /* While the backend reads, the arena is its own, and has about as much as is asked for. */
    bool is_reading = f->state == FEED_READING;
    size_t arena = is_reading ? PART_BYTES : f->request.arena.held_bytes;
    return sizeof *f + f->range.cap + f->entries.cap + arena;
}

/* ---- reading ---- */

static void on_read(struct changes_request *q)
{
    struct feed *f = q->arg;
    if (f->state == FEED_GONE) {
        feed_destroy(f);
        return;
    }
    feed_move(f, FEED_READ);
    waiter_wake_all(&f->waiters);
}

static enum err feed_wait(struct request *rq, struct feed *f)
{
    waiter_add(&f->waiters, rq->waiter);
    if (f->block_ms >= 0) return client_block(rq, f->block_ms);
    return error_set(&rq->error, ERR_WAIT, "history is being read");
}

static enum err feed_read(struct request *rq, struct feed *f, uint64_t until)
{
    struct backend *b = engine_backend(f->env->db->engine);
    uint64_t left = f->count - f->rows;
    feed_move(f, FEED_READING);
    client_memory_grow(rq->env, PART_BYTES);
    arena_reset(&f->request.arena);
    f->request.until = until;
    f->request.rows_max = left < PART_ROWS ? (size_t)left : PART_ROWS;
    f->request.bytes_max = PART_BYTES;
    backend_changes(b, &f->request);
    return feed_wait(rq, f);
}

static enum err feed_park(struct request *rq, struct feed *f)
{
    feed_move(f, FEED_PARKED);
    arena_fini(&f->request.arena); /* many may wait, and for long */
    arena_init(&f->request.arena, ARENA_CHUNK_BYTES);
    waiter_add(&f->env->blocked.waiters, rq->waiter);
    return client_block(rq, f->block_ms);
}

/* Inside the commit. Parked, everything before this one was read or did not match. */
static void on_changed(struct watcher *w, const struct change *c)
{
    struct feed *f = (struct feed *)((char *)w - offsetof(struct feed, watcher));
    bool is_first = f->wanted <= f->request.after;
    f->wanted = c->version;
    if (f->state != FEED_PARKED) return;
    /* The version before it is one of a commit, and not one that a start has skipped. */
    bool is_known = c->version > f->quiet;
    if (is_first && is_known && c->version - 1 > f->request.after) {
        f->request.after = c->version - 1;
    }
    if (f->waiter->next == NULL) return; /* woken already */
    waiter_cancel(f->waiter);
    f->waiter->ready(f->waiter);
}

/* ---- arguments ---- */

/* A versionstamp or 0, of a uint64_t. */
static enum err read_after(struct request *rq, const struct argument *a, struct slice word,
                           void *to)
{
    struct expected stamp = {0};
    uint64_t after = 0;
    (void)a;
    enum err r = OK;
    if (word.len != 1 || word.data[0] != '0') r = arg_stamp(rq, word, &stamp);
    if (r == ERR_SYNTAX || stamp.is_none) {
        r = error_set(&rq->error, ERR_SYNTAX,
                      "invalid versionstamp '%.*s': expected 20 hex digits or 0",
                      (int)(word.len < 64 ? word.len : 64), (const char *)word.data);
    }
    /* One that was never given is as good as one from the future. */
    after = stamp.is_foreign ? UINT64_MAX : stamp.version;
    memcpy(to, &after, sizeof after);
    return r;
}
static const struct argument_kind kind_after = {.read = read_after};

struct changes {
    uint64_t after;
    struct range range;
    int64_t count, block_ms; /* block_ms -1 = without BLOCK */
    bool with_elements;
};
ARGUMENTS_WITH(changes_arguments, struct changes,
               "versionstamp prefix [COUNT count] [BLOCK milliseconds] [ELEMENTS]",
               WITH(.members = "versionstamp since COUNT limit BLOCK wait"),
               {ARG_ONE(struct changes, after, uint64_t, "versionstamp", kind_after)},
               ARG_INSIDE(struct changes, range, "prefix", prefix_arguments),
               ARG_INTEGER(struct changes, count, "COUNT", 1, COUNT_MAX, COUNT_DEFAULT),
               ARG_INTEGER(struct changes, block_ms, "BLOCK", 0, INT64_MAX / 2, -1),
               ARG_FLAG(struct changes, with_elements, "ELEMENTS"));

static void feed_watch(struct feed *f, uint16_t database, struct slice prefix)
{
    struct backend *b = engine_backend(f->env->db->engine);
    uint8_t head[KEY_HEAD_BYTES] = {KEY_HEAD(database, SPACE_DATA)};
    if (prefix.data == NULL) prefix = slice_of(head, sizeof head);
    f->quiet = backend_version_next(b);
    f->watcher.changed = on_changed;
    f->watcher.is_once = true;
    watch_add(f->env->db->watch, &f->watcher, WATCH_PREFIX, prefix);
}

static enum err feed_open(struct request *rq, struct feed **out)
{
    const struct changes *a = rq->bound;
    struct slice start = {0};
    struct slice end = {0};
    enum err r = range_resolve(rq, &a->range, &start, &end);
    if (r != OK) return r;
    struct feed *f = mem_new(sizeof *f);
    f->env = rq->env;
    f->waiter = rq->waiter;
    f->pending.free = feed_free;
    f->pending.bytes = feed_bytes;
    waiter_list_init(&f->waiters);
    arena_init(&f->request.arena, ARENA_CHUNK_BYTES);
    f->request.done = on_read;
    f->request.arg = f;
    f->request.after = a->after;
    /* Of a database that was made, nothing older is its own. */
    if (f->request.after < rq->client->entered.created) {
        f->request.after = rq->client->entered.created;
    }
    f->count = (uint64_t)a->count;
    f->block_ms = a->block_ms;
    buf_append(&f->range, start.data, start.len);
    buf_append(&f->range, end.data, end.len);
    buf_require(&f->range);
    f->request.start = slice_of(f->range.data, start.len);
    f->request.end = slice_of(f->range.data + start.len, end.len);
    f->with_elements = a->with_elements;
    if (f->with_elements) {
        commit_elements_range(rq->client->database, f->with_start, f->with_end);
        f->request.with_start = slice_of(f->with_start, KEY_HEAD_BYTES);
        f->request.with_end = slice_of(f->with_end, KEY_HEAD_BYTES);
    }
    f->wanted = backend_version_newest(engine_backend(f->env->db->engine));
    if (f->block_ms >= 0) feed_watch(f, rq->client->database, a->range.prefix);
    rq->client->run.pending = &f->pending;
    *out = f;
    return OK;
}

/* ---- replying ---- */

/* A flush is [nil, nil, vs, nil]; what was set with its time over already is as a deletion. */
static void feed_add(const struct request *rq, struct feed *f, const struct changes_row *row,
                     const struct commit_elements *elements)
{
    const struct mutation *mu = &row->mutation;
    struct resp_writer w = {.out = &f->entries, .proto = rq->client->settings.proto};
    bool has_ended = mu->expiry_ms != 0 && mu->expiry_ms <= row->time_ms;
    bool exists = mu->kind == MUTATION_SET && !has_ended;
    char stamp[STAMP_CHARS];
    f->rows++;
    resp_array(&w, f->with_elements ? 5 : 4);
    if (mu->kind == MUTATION_FLUSH) {
        resp_nil(&w);
    } else {
        reply_key(&w, rq->format, mu->key);
    }
    if (exists) {
        reply_value(&w, rq->format, mu->value);
    } else {
        resp_nil(&w);
    }
    stamp_format(row->version, stamp);
    resp_bulk(&w, slice_of(stamp, STAMP_CHARS));
    reply_expiry(&w, exists ? mu->expiry_ms : 0);
    if (f->with_elements) reply_changed_elements(&w, elements, row, rq->format, rq->arena);
}

static void feed_add_commit(const struct request *rq, struct feed *f,
                            const struct changes_row *rows, size_t count)
{
    struct commit_elements elements = {.start = f->request.start, .end = f->request.end};
    if (f->with_elements) commit_elements_take(&elements, rq->arena, rows, count);
    for (size_t i = 0; i < count; i++) {
        bool is_beside = f->with_elements && is_row_of_elements(&rows[i]);
        if (!is_beside) feed_add(rq, f, &rows[i], &elements);
    }
}

static enum err feed_error(struct request *rq, const struct feed *f)
{
    const struct changes_request *q = &f->request;
    char stamp[STAMP_CHARS];
    if (q->result != ERR_STALE) return error_set(&rq->error, q->result, "%s", q->error.text);
    stamp_format(q->oldest, stamp);
    return error_set(&rq->error, ERR_STALE,
                     "%.*s is the oldest versionstamp to continue from: %s; read everything again",
                     STAMP_CHARS, stamp, q->error.text);
}

static enum err feed_reply(struct request *rq, const struct feed *f)
{
    if (f->entries.is_failed) return error_set(&rq->error, ERR_NOMEM, "out of memory for the page");
    rq->env->stats.reads++;
    resp_array(rq->w, 2);
    reply_stamp(rq, f->request.after);
    resp_array(rq->w, f->rows);
    buf_append(rq->w->out, f->entries.data, f->entries.len);
    return OK;
}

/* The time is over, or CLIENT UNBLOCK. When nothing durable matched, the client may go on from
 * there. */
static enum err feed_end(struct request *rq, struct feed *f, enum block_end end)
{
    struct backend *b = engine_backend(f->env->db->engine);
    uint64_t durable = backend_version_durable(b);
    if (end == BLOCK_FAILED) {
        return error_set(&rq->error, ERR_UNBLOCKED, "client unblocked via CLIENT UNBLOCK");
    }
    bool is_quiet = f->state == FEED_PARKED && f->wanted <= f->request.after;
    if (is_quiet && durable > f->request.after) f->request.after = durable;
    return feed_reply(rq, f);
}

static void feed_take(const struct request *rq, struct feed *f)
{
    size_t before = f->entries.cap;
    const struct changes_row *rows = f->request.rows;
    for (size_t i = 0; i < f->request.count;) {
        size_t end = i + 1;
        while (end < f->request.count && rows[end].version == rows[i].version) end++;
        feed_add_commit(rq, f, rows + i, end - i);
        i = end;
    }
    /* All of it is in the page now. */
    arena_reset(&f->request.arena);
    client_memory_grow(rq->env, f->entries.cap - before);
    f->request.after = f->request.next;
}

static enum err kv_changes_run(struct request *rq)
{
    struct feed *f = (struct feed *)rq->client->run.pending;
    enum block_end end = client_block_end(rq->client);
    if (f == NULL) {
        enum err r = feed_open(rq, &f);
        return r == OK ? feed_read(rq, f, f->wanted) : r;
    }
    if (f->state == FEED_READING) return feed_wait(rq, f);
    bool is_end = true;
    if (f->state == FEED_READ) {
        if (f->request.result != OK) {
            return f->rows > 0 ? feed_reply(rq, f) : feed_error(rq, f);
        }
        feed_take(rq, f);
        is_end = f->request.is_end;
    }
    bool is_full = f->rows >= f->count || f->entries.len >= LIST_PAGE_BYTES_MAX;
    if (is_full || (f->rows > 0 && is_end)) return feed_reply(rq, f);
    if (end != BLOCK_GOES_ON) return f->rows > 0 ? feed_reply(rq, f) : feed_end(rq, f, end);
    if (!is_end) return feed_read(rq, f, 0);
    if (f->block_ms < 0) return feed_reply(rq, f);
    if (f->wanted > f->request.after) return feed_read(rq, f, f->wanted);
    return feed_park(rq, f);
}

const struct command kv_changes = {
    .name = "kv.changes",
    .flags = CMD_WATCHES | CMD_READ | CMD_BLOCKING | CMD_NO_MULTI | CMD_FORMAT,
    .key_flags = KEY_RO | KEY_ACCESS,
    .group = "kv",
    .summary = "Returns what was committed after a versionstamp, oldest first; 0 is the beginning.",
    .arguments = &changes_arguments,
    .reply =
        "`[next, [[key, value, versionstamp, expiry ms] ...]]`, always whole commits. Continue "
        "from `next`. The value is nil if the key was deleted or has expired, the expiry is nil "
        "if there is none, and the key is nil after a flush. ELEMENTS adds the changed elements "
        "of a collection as a fifth item. `-STALE` if the changes after the versionstamp are no "
        "longer kept. See changes.md.",
    .run = kv_changes_run,
};
