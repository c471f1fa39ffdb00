/* kv_range: KV.LIST and KV.COUNT: a page, or the number, of a range as it was at one moment. A long
 * range is walked in slices, so that other clients are served in between; the selection keeps what
 * it sees.
 */
#include "request/range.h"
#include "base/mem.h"
#include "request/args.h"
#include "request/block.h"
#include "request/keys.h"
#include "request/page.h"
#include "request/selection.h"
#include "request/table.h"
#include "request/where.h"

/* Walked before others get a turn: some hundred microseconds. */
#define SLICE_WORK (256 * 1024)
#define ROW_WORK 256 /* of a row, beside its bytes */

struct walk {
    struct pending pending; /* first */
    struct selection *selection;
    bool is_count;
    uint64_t counted;
    struct page page; /* of KV.COUNT: its filter alone */
};

static size_t walk_bytes(const struct pending *p)
{
    const struct walk *k = (const struct walk *)p;
    return page_bytes(&k->page) + selection_bytes(k->selection);
}

static void walk_free(struct pending *p)
{
    struct walk *k = (struct walk *)p;
    selection_close(k->selection);
    page_fini(&k->page);
    mem_free(k);
}

/* ---- walking ---- */

static enum err walk_open(struct request *rq, struct walk *k, struct slice start, struct slice end)
{
    const struct page *p = &k->page;
    struct scan_range range = {.start = start,
                               .end = end,
                               .is_reverse = p->is_reverse,
                               .is_undivided = rq->overlay != NULL,
                               .with_values = !k->is_count && !p->keys_only,
                               .filter = p->where,
                               .rows_hint = k->is_count ? 0 : (size_t)p->limit + 1};
    k->pending.free = walk_free;
    k->pending.bytes = walk_bytes;
    enum err r = selection_open(rq, &range, &k->selection);
    if (r == OK) rq->client->run.pending = &k->pending;
    return r;
}

/* A full page looks one row further, so that the last page says that it is; but not through a
 * filter, which may have to look far. */
static bool is_over(const struct walk *k)
{
    return !k->is_count && k->page.where != NULL && page_is_full(&k->page);
}

static void walk_restart(struct walk *k)
{
    k->counted = 0;
    page_restart(&k->page);
}

/* Walks until the range ends (*is_done), the page is full, or others should run (ERR_WAIT). */
static enum err walk_run(struct request *rq, struct walk *k, bool *is_done)
{
    struct page *p = &k->page;
    *is_done = false;
    for (size_t work = 0; !is_over(k);) {
        struct slice key;
        struct entry entry;
        bool is_long = k->is_count || p->rows + 1 < p->limit;
        if (work >= SLICE_WORK && rq->overlay == NULL && is_long) {
            enum err r = k->is_count ? selection_yield(rq, k->selection)
                                     : selection_yield_or_go_on(rq, k->selection);
            if (r != OK) return r;
            work = 0;
        }
        bool is_anew = false;
        enum err r = selection_next(rq, k->selection, &key, &entry, &is_anew);
        if (is_anew) walk_restart(k);
        if (r != OK) return r;
        *is_done = key.len == 0;
        if (*is_done || (!k->is_count && page_is_full(p))) return OK;
        if (k->is_count) {
            k->counted++;
            work += ROW_WORK;
        } else {
            page_add(rq, p, key, &entry, key);
            work += ROW_WORK + key.len + entry.value.len;
        }
    }
    return OK;
}

/* ---- KV.LIST ---- */

struct list {
    struct range range;
    struct page_words page;
};
ARGUMENTS_WITH(list_arguments, struct list, "range page", WITH(.hint = range_hint),
               ARG_INSIDE(struct list, range, "range", range_arguments),
               ARG_INSIDE(struct list, page, "page", page_arguments));

static enum err list_begin(struct request *rq, struct walk *k)
{
    const struct list *a = rq->bound;
    struct slice start = {0};
    struct slice end = {0};
    enum err r = range_resolve(rq, &a->range, &start, &end);
    if (r == OK) r = page_begin(rq, &k->page, &a->page, &start, &end);
    if (r == OK) r = walk_open(rq, k, start, end);
    return r;
}

static enum err kv_list_run(struct request *rq)
{
    struct walk *k = (struct walk *)rq->client->run.pending;
    bool is_done = false;
    enum err r = OK;
    if (k == NULL) {
        k = mem_new(sizeof *k);
        r = list_begin(rq, k);
        if (rq->client->run.pending == NULL) walk_free(&k->pending);
    }
    if (r == OK) r = walk_run(rq, k, &is_done);
    if (r != OK) return r;
    selection_end(rq, k->selection);
    rq->env->stats.reads++;
    return page_reply(rq, &k->page, is_done);
}

const struct command kv_list = {
    .name = "kv.list",
    .flags = CMD_READ | CMD_FOLLOWER | CMD_FORMAT,
    .key_flags = KEY_RO | KEY_ACCESS,
    .group = "kv",
    .summary =
        "Returns a page of entries in key order: [cursor, entries]. Cursor 0 means that there are "
        "no more.",
    .arguments = &list_arguments,
    .reply =
        "`[cursor, [entry ...]]`, from one snapshot. An entry is `[key, value, versionstamp]`, "
        "with KEYSONLY the key, with WITHEXPIRY `[key, value, versionstamp, expiry ms or nil]`. "
        "START is inclusive and END exclusive, with REVERSE too. Cursor 0 means that there are no "
        "more.",
    .run = kv_list_run,
};

/* ---- KV.COUNT ---- */

struct count {
    struct range range;
    struct slice where; /* data NULL = all */
};
ARGUMENTS_WITH(count_arguments, struct count, "range [WHERE filter]", WITH(.hint = range_hint),
               ARG_INSIDE(struct count, range, "range", range_arguments),
               ARG_FILTER(struct count, where, "WHERE"));

static enum err count_begin(struct request *rq, struct walk *k)
{
    const struct count *a = rq->bound;
    struct slice start = {0};
    struct slice end = {0};
    k->is_count = true;
    enum err r = range_resolve(rq, &a->range, &start, &end);
    if (r == OK && a->where.data != NULL) r = arg_where(rq, a->where, &k->page.where);
    if (r == OK) r = walk_open(rq, k, start, end);
    return r;
}

static enum err kv_count_run(struct request *rq)
{
    struct walk *k = (struct walk *)rq->client->run.pending;
    bool is_done = false;
    enum err r = OK;
    if (k == NULL) {
        k = mem_new(sizeof *k);
        r = count_begin(rq, k);
        if (rq->client->run.pending == NULL) walk_free(&k->pending);
    }
    if (r == OK) r = walk_run(rq, k, &is_done);
    if (r != OK) return r;
    selection_end(rq, k->selection);
    rq->env->stats.reads++;
    resp_int(rq->w, (int64_t)k->counted);
    return OK;
}

const struct command kv_count = {
    .name = "kv.count",
    .flags = CMD_READ | CMD_FOLLOWER | CMD_KEYSPACE | CMD_FORMAT,
    .key_flags = KEY_RO,
    .group = "kv",
    .summary = "Counts the live entries of a range, or those that match a filter.",
    .arguments = &count_arguments,
    .reply = "The number.",
    .run = kv_count_run,
};
