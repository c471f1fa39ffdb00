/* kv_range: KV.LIST and KV.COUNT: a page, or the number, of a range as it was at one moment. A long
 * range is walked in slices, so that other clients are served in between; the scan keeps what it
 * sees.
 */
#include "base/htab.h"
#include "base/mem.h"
#include "command/commands.h"
#include "command/cursor.h"
#include "command/keys.h"
#include "command/where.h"

#define LIST_LIMIT_DEFAULT 100
#define SLICE_ROWS 1000 /* walked before others get a turn */

struct walk {
    struct pending pending; /* first */
    struct engine_scan *scan;
    bool is_count, is_reverse, keys_only;
    uint64_t limit;
    uint64_t rows;
    struct buf entries; /* of the page, encoded */
    struct buf last;    /* key of the last entry */
    uint64_t fingerprint;
    struct row_filter *where; /* owned reference; NULL = every entry */
};

static void walk_free(struct pending *p)
{
    struct walk *k = (struct walk *)p;
    engine_scan_close(k->scan);
    where_unref(k->where);
    buf_fini(&k->entries);
    buf_fini(&k->last);
    mem_free(k);
}

/* ---- cursors ---- */

/* A cursor is good for the range, direction and filter it came from and no others. */
static uint64_t range_fingerprint(struct request *rq, struct slice start, struct slice end,
                                  bool is_reverse, struct slice where)
{
    buf_clear(rq->scratch, SIZE_MAX);
    buf_append_byte(rq->scratch, is_reverse);
    buf_append_u64(rq->scratch, start.len);
    buf_append(rq->scratch, start.data, start.len);
    buf_append(rq->scratch, end.data, end.len);
    if (where.len > 0) {
        buf_append_byte(rq->scratch, 0);
        buf_append(rq->scratch, where.data, where.len);
    }
    return hash_bytes(buf_slice(rq->scratch));
}

/* ---- walking ---- */

static enum err walk_open(struct request *rq, struct walk *k, struct slice start, struct slice end)
{
    struct scan_range range = {.start = start,
                               .end = end,
                               .is_reverse = k->is_reverse,
                               .is_undivided = rq->overlay != NULL,
                               .with_values = !k->is_count && !k->keys_only,
                               .filter = k->where,
                               .rows_hint = k->is_count ? 0 : (size_t)k->limit + 1};
    k->pending.free = walk_free;
    enum err r = engine_scan_open(rq->env->engine, rq->overlay, &range, &k->scan, &rq->error);
    rq->client->pending = &k->pending;
    return r;
}

static void walk_add(struct request *rq, struct walk *k, struct slice key,
                     const struct entry *entry)
{
    k->rows++;
    if (k->is_count) return;
    struct resp_writer w = {.out = &k->entries, .proto = rq->client->proto};
    if (k->keys_only) {
        reply_key(&w, rq->client->format, key);
    } else {
        reply_entry(&w, rq->client->format, key, entry);
    }
    buf_clear(&k->last, SIZE_MAX);
    buf_append(&k->last, key.data, key.len);
}

/* Walks until the range ends (*is_done), the page is full, or others should run (ERR_WAIT). A full
 * page looks one row further, so that the last page says that it is. */
static enum err walk_run(struct request *rq, struct walk *k, bool *is_done)
{
    *is_done = false;
    for (unsigned i = 0;; i++) {
        struct slice key;
        struct entry entry;
        if (i == SLICE_ROWS && rq->overlay == NULL && (k->is_count || k->rows + 1 < k->limit)) {
            struct backend *b = engine_backend(rq->env->engine);
            enum err r = engine_scan_pause(k->scan, &rq->error);
            if (r != OK) return r;
            b->ops->yield(b, rq->waiter);
            return error_set(&rq->error, ERR_WAIT, "a long range lets others run");
        }
        enum err r = engine_scan_next(k->scan, &key, &entry, rq->waiter, &rq->error);
        if (r != OK) return r;
        if (key.len == 0) {
            *is_done = true;
            return OK;
        }
        if (!k->is_count && (k->rows == k->limit || k->entries.len >= LIST_PAGE_BYTES_MAX))
            return OK;
        walk_add(rq, k, key, &entry);
    }
}

static void walk_depends(struct request *rq, const struct walk *k)
{
    uint64_t depends = engine_scan_depends(k->scan);
    if (depends > rq->depends) rq->depends = depends;
}

/* ---- KV.LIST ---- */

/* WHERE json, just taken. */
static enum err parse_where(struct options *o, struct walk *k, struct slice *text)
{
    enum err r = options_argument(o, "WHERE", text);
    return r == OK ? arg_where(o->rq, *text, &k->where) : r;
}

struct list_args {
    struct range_args range;
    struct slice cursor;
    struct slice where;
};

static enum err parse_list(struct request *rq, struct walk *k, struct list_args *a)
{
    struct options o = {.rq = rq, .at = 1};
    while (o.at < rq->argc) {
        struct slice arg;
        bool is_taken = false;
        enum err r = options_range(&o, &a->range, &is_taken);
        if (r == OK && !is_taken) {
            if (options_take(&o, "REVERSE", 0)) {
                k->is_reverse = true;
            } else if (options_take(&o, "KEYSONLY", 1)) {
                k->keys_only = true;
            } else if (options_take(&o, "LIMIT", 2)) {
                int64_t limit = 0;
                r = options_argument(&o, "LIMIT", &arg);
                if (r == OK) r = arg_integer(rq, arg, "LIMIT", 1, LIST_LIMIT_MAX, &limit);
                k->limit = (uint64_t)limit;
            } else if (options_take(&o, "CURSOR", 3)) {
                r = options_argument(&o, "CURSOR", &a->cursor);
            } else if (options_take(&o, "WHERE", 4)) {
                r = parse_where(&o, k, &a->where);
            } else {
                r = options_unknown(&o);
            }
        }
        if (r != OK) return r;
    }
    return OK;
}

static enum err list_begin(struct request *rq, struct walk *k)
{
    struct list_args a = {.cursor = slice_str("0")};
    struct slice start = {0};
    struct slice end = {0};
    struct slice last = {0};
    k->limit = LIST_LIMIT_DEFAULT;
    enum err r = parse_list(rq, k, &a);
    if (r == OK) r = range_resolve(rq, &a.range, &start, &end);
    if (r != OK) return r;
    k->fingerprint = range_fingerprint(rq, start, end, k->is_reverse, a.where);
    r = arg_cursor(rq, a.cursor, k->fingerprint, &last);
    if (r == OK) r = cursor_narrow(rq, last, k->is_reverse, &start, &end);
    if (r == OK) r = walk_open(rq, k, start, end);
    return r;
}

static enum err kv_list_run(struct request *rq)
{
    struct walk *k = (struct walk *)rq->client->pending;
    bool is_done = false;
    enum err r = OK;
    if (k == NULL) {
        k = mem_new(sizeof *k);
        r = list_begin(rq, k);
        if (rq->client->pending == NULL) walk_free(&k->pending);
    }
    if (r == OK) r = walk_run(rq, k, &is_done);
    if (r != OK) return r;
    if (k->entries.is_failed || k->last.is_failed) {
        return error_set(&rq->error, ERR_NOMEM, "no memory for the page");
    }
    walk_depends(rq, k);
    rq->env->stats.reads++;
    resp_array(rq->w, 2);
    reply_cursor(rq, k->fingerprint, buf_slice(&k->last), is_done);
    resp_array(rq->w, k->rows);
    buf_append(rq->w->out, k->entries.data, k->entries.len);
    return OK;
}

const struct command kv_list = {
    .name = "kv.list",
    .arity = -1,
    .flags = CMD_READ,
    .key_flags = KEY_RO | KEY_ACCESS,
    .group = "kv",
    .since = "0.1.0",
    .summary =
        "A page of entries in key order: [cursor, entries]; cursor 0 when there are no more.",
    .syntax =
        "[PREFIX key] [START key] [END key] [REVERSE] [LIMIT count] [CURSOR cursor] [KEYSONLY] "
        "[WHERE filter]",
    .reply =
        "`[cursor, [entry ...]]`, from one snapshot. An entry is `[key, value, versionstamp]`, "
        "with KEYSONLY the key. START is in the range, END is not, with REVERSE too. Cursor 0: "
        "done.",
    .run = kv_list_run,
    .keys = keys_of_range,
};

/* ---- KV.COUNT ---- */

static enum err count_begin(struct request *rq, struct walk *k)
{
    struct range_args range = {0};
    struct options o = {.rq = rq, .at = 1};
    struct slice start = {0};
    struct slice end = {0};
    k->is_count = true;
    while (o.at < rq->argc) {
        bool is_taken = false;
        enum err r = options_range(&o, &range, &is_taken);
        if (r == OK && !is_taken) {
            struct slice text;
            r = options_take(&o, "WHERE", 4) ? parse_where(&o, k, &text) : options_unknown(&o);
        }
        if (r != OK) return r;
    }
    enum err r = range_resolve(rq, &range, &start, &end);
    if (r == OK) r = walk_open(rq, k, start, end);
    return r;
}

static enum err kv_count_run(struct request *rq)
{
    struct walk *k = (struct walk *)rq->client->pending;
    bool is_done = false;
    enum err r = OK;
    if (k == NULL) {
        k = mem_new(sizeof *k);
        r = count_begin(rq, k);
        if (rq->client->pending == NULL) walk_free(&k->pending);
    }
    if (r == OK) r = walk_run(rq, k, &is_done);
    if (r != OK) return r;
    walk_depends(rq, k);
    rq->env->stats.reads++;
    resp_int(rq->w, (int64_t)k->rows);
    return OK;
}

const struct command kv_count = {
    .name = "kv.count",
    .arity = -1,
    .flags = CMD_READ | CMD_KEYSPACE,
    .key_flags = KEY_RO,
    .group = "kv",
    .since = "0.1.0",
    .summary = "The number of live entries in a range, or of those that match a filter.",
    .syntax = "[PREFIX key] [START key] [END key] [WHERE filter]",
    .reply = "The number.",
    .run = kv_count_run,
    .keys = keys_of_range,
};
