/* read: KV.CONNECT READ, ranges of keys as they were at one moment. */
#include "base/mem.h"
#include "codec/key.h"
#include "command/connect/connect_int.h"
#include "request/arguments.h"
#include "request/block.h"
#include "request/client_memory.h"
#include "request/subjects.h"
#include "request/table.h"

#define SLICE_ROWS 200
#define REPLY_BYTES_MAX ((size_t)80 << 20) /* what Deno's limits allow, and a little */

struct range {
    struct slice start, end; /* bytes of tuples */
    int64_t limit;
    bool is_reverse;
};

struct ranges {
    struct {
        struct range *items;
        size_t count;
    } ranges;
};

struct reading {
    struct pending pending; /* first */
    struct range ranges[CONNECT_RANGES_MAX];
    struct engine_scan *scans[CONNECT_RANGES_MAX]; /* of each range; NULL = nothing is in it */
    size_t count, at;                              /* ranges; the one that is walked */
    uint64_t rows;                                 /* of it, so far */
    bool is_paused;             /* it has waited: the scans after it stand still */
    struct buf rows_text, text; /* replies: the rows of it; the ranges before it */
    struct buf data;            /* a value */
};

/* ---- what is asked for ---- */

/* A bound may be a key and one byte more. */
static enum err read_tuple(struct request *rq, const struct argument *a, struct slice word,
                           void *to)
{
    (void)a;
    memcpy(to, &word, sizeof word);
    if (word.len <= CONNECT_KEY_BYTES_MAX + 1) return OK;
    return error_set(&rq->error, ERR_LIMIT, "A key exceeds the key size limit.");
}
static const struct argument_kind tuple_kind = {.read = read_tuple};

/* The key and a zero byte: that key alone. */
static bool is_point(const struct range *x)
{
    return x->end.len == x->start.len + 1 && x->end.data[x->start.len] == 0 &&
           slice_has_prefix(x->end, x->start) && x->start.len > 0;
}

/* @deno/kv asks for one key as the first of all from it on. Who may not read all those is answered
 * with that key. */
static bool is_first_from(const struct range *x)
{
    return x->limit == 1 && !x->is_reverse && x->end.len == 1 && x->end.data[0] == 0xff &&
           x->start.len > 0;
}

static bool may_read_all(struct request *rq)
{
    struct access_subject all = {.kind = ACCESS_PREFIX, .needs = ACCESS_READ};
    return rq->client->user->is_unlimited || access_may(rq->client->user, &all);
}

static void narrow(struct request *rq, struct range *x)
{
    if (!is_first_from(x) || may_read_all(rq)) return;
    uint8_t *end = arena_alloc(rq->arena, x->start.len + 1);
    memcpy(end, x->start.data, x->start.len);
    end[x->start.len] = 0;
    x->end = slice_of(end, x->start.len + 1);
}

/* The parts that every key of the range begins with. */
static struct slice common_parts(const struct range *x)
{
    size_t at = 0;
    size_t common = 0;
    struct key_part part;
    while (key_next(x->start, &at, &part) && at <= x->end.len &&
           memcmp(x->start.data, x->end.data, at) == 0) {
        common = at;
    }
    return slice_of(x->start.data, common);
}

static void range_subjects(struct subjects *s, const void *bound)
{
    struct range x = *(const struct range *)bound;
    struct error ignored;
    narrow(s->rq, &x);
    struct slice common = is_point(&x) ? x.start : common_parts(&x);
    bool has_itself = common.len == x.start.len && common.len > 0;
    if (is_point(&x) && key_check(x.start, &ignored) != OK) return; /* there is none */
    if (has_itself) subjects_key(s, connect_key(s->rq, common), ACCESS_READ);
    if (!is_point(&x)) subjects_below(s, common, ACCESS_READ);
}

static enum err check_count(struct request *rq, size_t count)
{
    if (count <= CONNECT_RANGES_MAX) return OK;
    return error_set(&rq->error, ERR_LIMIT, "Too many read ranges requested in one read request.");
}

static enum err check_rows(struct request *rq, void *bound)
{
    const struct ranges *a = bound;
    uint64_t limit = 0;
    for (size_t i = 0; i < a->ranges.count && limit <= CONNECT_ROWS_MAX; i++) {
        limit += (uint64_t)a->ranges.items[i].limit;
    }
    if (limit <= CONNECT_ROWS_MAX) return OK;
    return error_set(&rq->error, ERR_LIMIT,
                     "The total number of entries requested across read ranges in the read request "
                     "is too large.");
}

static const char range_refusal[] = "a range is start, end, limit, FORWARD|REVERSE";
ARGUMENTS_WITH(range_arguments, struct range, "start end limit <FORWARD | REVERSE>",
               WITH(.refusal = range_refusal, .subjects = range_subjects),
               ARG_OF(struct range, start, struct slice, "start", tuple_kind),
               ARG_OF(struct range, end, struct slice, "end", tuple_kind),
               ARG_INTEGER_OR(struct range, limit, "limit", 1, INT64_MAX, 0,
                              "The read range limit of the snapshot read request is invalid."),
               ARG_CHOICE(struct range, is_reverse, {"FORWARD", false}, {"REVERSE", true}));
ARGUMENTS_WITH(read_arguments, struct ranges, "[range [range ...]]",
               WITH(.refusal = range_refusal, .check = check_rows),
               ARG_LIST(struct ranges, ranges, "range", range_arguments, check_count));

/* ---- reading ---- */

static size_t reading_bytes(const struct pending *p)
{
    const struct reading *k = (const struct reading *)p;
    return k->text.cap + k->rows_text.cap + k->data.cap;
}

static void reading_free(struct pending *p)
{
    struct reading *k = (struct reading *)p;
    for (size_t i = 0; i < k->count; i++) engine_scan_close(k->scans[i]);
    buf_fini(&k->rows_text);
    buf_fini(&k->text);
    buf_fini(&k->data);
    mem_free(k);
}

/* All scans are opened in one turn, so they see the same state. */
static enum err open_scans(struct request *rq, struct reading *k)
{
    for (size_t i = 0; i < k->count; i++) {
        struct range *x = &k->ranges[i];
        narrow(rq, x);
        if (slice_cmp(x->start, x->end) >= 0) continue; /* nothing is in it */
        struct scan_range range = {.start = connect_key(rq, x->start),
                                   .end = connect_key(rq, x->end),
                                   .is_reverse = x->is_reverse,
                                   .is_undivided = rq->overlay != NULL,
                                   .with_values = true,
                                   .rows_hint = (size_t)x->limit};
        enum err r = engine_scan_open(rq->env->db->engine, rq->overlay, &range, &k->scans[i],
                                      &rq->error);
        if (r != OK) return r;
    }
    return OK;
}

static enum err put_row(struct request *rq, struct reading *k, struct slice key,
                        const struct entry *entry)
{
    struct resp_writer w = {.out = &k->rows_text, .proto = rq->client->settings.proto};
    enum connect_encoding encoding = CONNECT_V8;
    char stamp[STAMP_CHARS];
    size_t before = k->rows_text.cap;
    buf_clear(&k->data, SIZE_MAX);
    enum err r = connect_encode(entry->value, &k->data, &encoding, &rq->error);
    if (r != OK) {
        struct error inner = rq->error;
        struct buf path;
        buf_init(&path);
        key_to_path(engine_key_tuple(key), &path);
        r = error_set(&rq->error, r, "The value of %.*s has no form in V8: %s",
                      (int)(path.len < 200 ? path.len : 200), (const char *)path.data, inner.text);
        buf_fini(&path);
        return r;
    }
    stamp_format(entry->version, stamp);
    resp_array(&w, 4);
    resp_bulk(&w, engine_key_tuple(key));
    resp_bulk(&w, buf_slice(&k->data));
    resp_int(&w, encoding);
    resp_bulk(&w, slice_of(stamp, STAMP_CHARS));
    client_memory_grow(rq->env, k->rows_text.cap - before);
    k->rows++;
    if (k->rows_text.is_failed || k->data.is_failed) {
        return error_set(&rq->error, ERR_NOMEM, "out of memory for what is read");
    }
    if (k->text.len + k->rows_text.len > REPLY_BYTES_MAX) {
        return error_set(&rq->error, ERR_LIMIT,
                         "The read has more than %zu bytes: read fewer entries at a time.",
                         REPLY_BYTES_MAX);
    }
    return OK;
}

/* The scans that come later keep what they see; the one that is walked does by itself. */
static enum err pause_rest(struct request *rq, struct reading *k)
{
    if (k->is_paused) return OK;
    k->is_paused = true;
    for (size_t i = k->at + 1; i < k->count; i++) {
        if (k->scans[i] == NULL) continue;
        enum err r = engine_scan_pause(k->scans[i], &rq->error);
        if (r != OK) return r;
    }
    return OK;
}

static enum err walk(struct request *rq, struct reading *k)
{
    struct engine_scan *scan = k->scans[k->at];
    uint64_t limit = (uint64_t)k->ranges[k->at].limit;
    for (unsigned i = 0; scan != NULL && k->rows < limit; i++) {
        struct slice key;
        struct entry entry;
        if (i == SLICE_ROWS && rq->overlay == NULL) return client_yield(rq, scan);
        enum err r = engine_scan_next(scan, &key, &entry, rq->waiter, &rq->error);
        if (r != OK) return r;
        depends_raise(&rq->depends, engine_scan_depends(scan));
        if (key.len == 0) break;
        r = put_row(rq, k, key, &entry);
        if (r != OK) return r;
    }
    return OK;
}

static enum err walk_all(struct request *rq, struct reading *k)
{
    for (; k->at < k->count; k->at++) {
        enum err r = walk(rq, k);
        if (r != OK) return r;
        struct resp_writer w = {.out = &k->text, .proto = rq->client->settings.proto};
        resp_array(&w, k->rows);
        buf_append(&k->text, k->rows_text.data, k->rows_text.len);
        buf_clear(&k->rows_text, SIZE_MAX);
        k->rows = 0;
    }
    return k->text.is_failed ? error_set(&rq->error, ERR_NOMEM, "out of memory for what is read")
                             : OK;
}

/* Single keys need no scan: all of them in one turn, or again. */
static enum err read_points(struct request *rq, struct reading *k)
{
    for (; k->at < k->count; k->at++) {
        struct entry entry = {0};
        struct slice key = connect_key(rq, k->ranges[k->at].start);
        enum err r = request_get(rq, key, &entry);
        if (r == OK) resp_array(rq->w, entry.exists);
        if (r == OK && entry.exists) r = put_row(rq, k, key, &entry);
        if (r != OK) return r;
        buf_append(rq->w->out, k->rows_text.data, k->rows_text.len);
        buf_clear(&k->rows_text, SIZE_MAX);
    }
    return OK;
}

static bool are_points(struct request *rq, struct reading *k)
{
    struct error ignored;
    for (size_t i = 0; i < k->count; i++) {
        narrow(rq, &k->ranges[i]);
        if (!is_point(&k->ranges[i]) || key_check(k->ranges[i].start, &ignored) != OK) return false;
    }
    return true;
}

/* False: it goes on with scans, in *out. */
static bool begin(struct request *rq, struct reading **out, enum err *r)
{
    const struct ranges *a = rq->bound;
    struct reading *k = mem_new(sizeof *k);
    k->pending.free = reading_free;
    k->pending.bytes = reading_bytes;
    k->count = a->ranges.count;
    bytes_copy(k->ranges, a->ranges.items, k->count * sizeof k->ranges[0]);
    if (!are_points(rq, k)) {
        *out = k;
        rq->client->run.pending = &k->pending;
        *r = open_scans(rq, k);
        return false;
    }
    resp_array(rq->w, k->count);
    *r = read_points(rq, k);
    reading_free(&k->pending);
    return true;
}

static enum err connect_read_run(struct request *rq)
{
    struct reading *k = (struct reading *)rq->client->run.pending;
    enum err r = OK;
    if (k == NULL && begin(rq, &k, &r)) return r;
    if (r == OK) r = walk_all(rq, k);
    if (r == ERR_WAIT) {
        enum err paused = pause_rest(rq, k);
        if (paused != OK) return paused;
    }
    if (r != OK) return r;
    for (size_t i = 0; i < k->count; i++) {
        if (k->scans[i] == NULL) continue;
        depends_raise(&rq->depends, engine_scan_depends(k->scans[i]));
    }
    rq->env->stats.reads++;
    resp_array(rq->w, k->count);
    buf_append(rq->w->out, k->text.data, k->text.len);
    return OK;
}

const struct command connect_read = {
    .name = "read",
    .flags = CMD_READ | CMD_FOLLOWER,
    .group = "connect",
    .summary = "Reads ranges of keys from one snapshot, in Deno's encodings.",
    .arguments = &read_arguments,
    .reply = "`[[key, data, encoding, versionstamp] ...]` for each range. Keys are bytes. The "
             "encoding is 1 for V8, 2 for u64, 3 for bytes.",
    .run = connect_read_run,
};
