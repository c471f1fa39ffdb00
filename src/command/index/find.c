/* kv_find: KV.FIND: the entries that an index has for values, or a range of them, in index order,
 * as they were at one moment. Rows of the index come from a scan, a batch at a time, and their
 * entries from what the same scan sees.
 */
#include "base/mem.h"
#include "command/index/index_int.h"
#include "request/args.h"
#include "request/block.h"
#include "request/page.h"
#include "request/table.h"

#define BATCH_ROWS 64
#define SLICE_BATCHES 8      /* before others get a turn */
#define TURN_WORK (1u << 20) /* of the filter; likewise */
#define TURN_TOLD (256u << 10)
#define TXN_WORK (64u << 20) /* in EXEC, which has one turn */

struct found_row {
    struct slice key; /* of the index */
    bool is_multi;
};

struct find {
    struct pending pending; /* first */
    struct engine_scan *scan;
    struct buf start, end; /* what was asked for; the scan's range begins after the cursor */
    uint32_t id;           /* of the index */
    struct page page;
    /* Rows that were read and not yet answered. */
    struct arena arena;
    struct found_row batch[BATCH_ROWS];
    size_t at;     /* the next of the batch to be answered */
    uint64_t work; /* of the filter, in this turn */
    uint64_t told; /* bytes of what it added to the page, in this turn */
    struct slice owners[BATCH_ROWS];
    size_t count;
    bool is_end; /* there are no rows after them */
};

static size_t find_bytes(const struct pending *p)
{
    return page_bytes(&((const struct find *)p)->page);
}

static void find_free(struct pending *p)
{
    struct find *k = (struct find *)p;
    engine_scan_close(k->scan);
    buf_fini(&k->start);
    buf_fini(&k->end);
    page_fini(&k->page);
    arena_fini(&k->arena);
    mem_free(k);
}

/* ---- arguments ---- */

struct find_words {
    struct slice name;
    struct slices values;
    struct slice from, to; /* data NULL = not given */
    struct page_words page;
};
ARGUMENTS(find_arguments, struct find_words, "name [value ...] [FROM from] [TO to] page",
          ARG_INDEX(struct find_words, name, "name", ACCESS_READ),
          {ARG_MANY(struct find_words, values, struct slice, "value", arg_kind_value)},
          ARG_VALUE(struct find_words, from, "FROM"), ARG_VALUE(struct find_words, to, "TO"),
          ARG_INSIDE(struct find_words, page, "page", page_arguments));

static enum err find_begin(struct request *rq, struct find *k, const struct index *x)
{
    const struct find_words *a = rq->bound;
    struct index_query query = {
        .values = a->values.items, .value_count = a->values.count, .from = a->from, .to = a->to};
    struct slice start = {0};
    struct slice end = {0};
    k->id = x->definition.id;
    k->pending.free = find_free;
    k->pending.bytes = find_bytes;
    arena_init(&k->arena, 16 * 1024);
    enum err r = index_bounds(x, &query, rq->arena, &start, &end, &rq->error);
    if (r != OK) return r;
    /* An entry with several rows is shown at the first of the whole range, not of what is left. */
    buf_append(&k->start, start.data, start.len);
    buf_append(&k->end, end.data, end.len);
    r = page_begin(rq, &k->page, &a->page, &start, &end);
    if (r != OK) return r;
    struct scan_range range = {.start = start,
                               .end = end,
                               .is_reverse = k->page.is_reverse,
                               .is_undivided = rq->overlay != NULL,
                               .with_values = true,
                               .rows_hint = (size_t)k->page.limit + 1};
    r = engine_scan_open(rq->env->db->engine, rq->overlay, &range, &k->scan, &rq->error);
    rq->client->run.pending = &k->pending;
    return r;
}

/* ---- walking ---- */

static enum err read_batch(struct request *rq, struct find *k, const struct index *x)
{
    while (k->count < BATCH_ROWS && !k->is_end) {
        struct slice key;
        struct entry row;
        struct found_row *at = &k->batch[k->count];
        enum err r = engine_scan_next(k->scan, &key, &row, rq->waiter, &rq->error);
        if (r != OK) return r;
        if (key.len == 0) {
            k->is_end = true;
            break;
        }
        if (!index_row_owner(x, key, row.value, &k->arena, &k->owners[k->count], &at->is_multi)) {
            return error_set(&rq->error, ERR_CORRUPT, "a row of the index is damaged");
        }
        at->key = arena_copy(&k->arena, key);
        k->count++;
    }
    return OK;
}

static bool needs_entries(const struct find *k)
{
    if (!k->page.keys_only || k->page.where != NULL) return true;
    for (size_t i = 0; i < k->count; i++) {
        if (k->batch[i].is_multi) return true;
    }
    return false;
}

/* *is_wanted: the entry is one of the page. */
static enum err look_at(struct request *rq, struct find *k, const struct index *x, size_t i,
                        const struct entry *entry, bool *is_wanted)
{
    const struct found_row *row = &k->batch[i];
    const struct row_filter *where = k->page.where;
    struct scan_range range = {
        .start = buf_slice(&k->start), .end = buf_slice(&k->end), .is_reverse = k->page.is_reverse};
    *is_wanted = false;
    if (!entry->exists) return OK;
    if (where != NULL) {
        enum err r = row_filter_check(where, entry->value, ROW_LOOP_WORK_MAX, &rq->error);
        if (r != OK) return r;
        k->work += row_filter_work(where, entry->value);
        struct row_look look = {.key = k->owners[i], .value = entry->value};
        r = engine_scan_matches(k->scan, where, &look, rq->waiter, &rq->error);
        k->work += look.work;
        if (r != OK || !look.matches) return r;
    }
    *is_wanted = !row->is_multi || index_row_leads(x, k->owners[i], entry->value, row->key, &range);
    return OK;
}

static enum err let_others_run(struct request *rq, struct find *k)
{
    k->work = k->told = 0;
    /* A page has an end; what a filter refuses has none. */
    return k->page.where == NULL ? client_yield_or_go_on(rq, k->scan) : client_yield(rq, k->scan);
}

/* Answers what is left of the batch; *is_full: the page is, before the end of it. With a filter
 * a full page does not look whether another entry matches, which may be far away. */
static enum err tell_batch(struct request *rq, struct find *k, const struct index *x,
                           const struct entry *entries, bool *is_full)
{
    struct page *p = &k->page;
    for (; k->at < k->count; k->at++) {
        bool is_wanted = true;
        *is_full = p->where != NULL && page_is_full(p);
        if (*is_full) return OK;
        bool is_long = k->work > TURN_WORK || k->told > TURN_TOLD;
        if (is_long && rq->overlay == NULL) {
            enum err r = let_others_run(rq, k);
            if (r != OK) return r;
        }
        if (k->work > TXN_WORK) {
            return error_set(&rq->error, ERR_LIMIT,
                             "where: the filter reads more bytes than a transaction may");
        }
        if (entries != NULL) {
            enum err r = look_at(rq, k, x, k->at, &entries[k->at], &is_wanted);
            if (r != OK) return r;
        }
        if (!is_wanted) continue;
        *is_full = page_is_full(p);
        if (*is_full) return OK;
        page_add(rq, p, k->owners[k->at], entries != NULL ? &entries[k->at] : NULL,
                 k->batch[k->at].key);
        k->told += entries != NULL ? entries[k->at].value.len : 0;
    }
    return OK;
}

/* The entries of the batch, if they are needed. */
static enum err load_batch(struct request *rq, struct find *k, struct entry *entries,
                           bool *has_entries)
{
    *has_entries = k->count > 0 && needs_entries(k);
    if (!*has_entries) return OK;
    enum err r = engine_scan_load(k->scan, k->owners, k->count, entries, rq->waiter, &rq->error);
    for (size_t n = 0; n < k->count && r == OK; n++) {
        depends_raise(&rq->depends, entries[n].depends);
    }
    return r;
}

/* Until the range ends (*is_done), the page is full, or others should run (ERR_WAIT). */
static enum err find_walk(struct request *rq, struct find *k, const struct index *x, bool *is_done)
{
    struct entry entries[BATCH_ROWS];
    bool is_full = false;
    *is_done = false;
    for (unsigned i = 0; !is_full && !*is_done; i++) {
        bool has_entries = false;
        enum err r = OK;
        if (i > 0 && i % SLICE_BATCHES == 0 && rq->overlay == NULL) r = let_others_run(rq, k);
        if (r == OK) r = read_batch(rq, k, x);
        if (r == OK) r = load_batch(rq, k, entries, &has_entries);
        if (r == OK) r = tell_batch(rq, k, x, has_entries ? entries : NULL, &is_full);
        if (r != OK) return r;
        k->count = k->at = 0;
        arena_reset(&k->arena);
        *is_done = k->is_end && !is_full;
    }
    return OK;
}

static enum err kv_find_run(struct request *rq)
{
    struct find *k = (struct find *)rq->client->run.pending;
    const struct index *x = NULL;
    bool is_done = false;
    enum err r = arg_index(rq, ((const struct find_words *)rq->bound)->name, INDEX_VALUE, &x);
    if (r == OK) r = index_complete(rq, x);
    if (r != OK) return r;
    if (k != NULL && k->id != x->definition.id) {
        return error_set(&rq->error, ERR_SYNTAX, "the index was dropped and created again");
    }
    if (k == NULL) {
        k = mem_new(sizeof *k);
        r = find_begin(rq, k, x);
        if (rq->client->run.pending == NULL) find_free(&k->pending);
    }
    if (r == OK) r = find_walk(rq, k, x, &is_done);
    if (r != OK) return r;
    depends_raise(&rq->depends, engine_scan_depends(k->scan));
    rq->env->stats.reads++;
    return page_reply(rq, &k->page, is_done);
}

const struct command kv_find = {
    .name = "kv.find",
    .flags = CMD_INDEX | CMD_READ | CMD_FOLLOWER | CMD_FORMAT,
    .group = "kv",
    .summary = "Returns entries by the values in an index, in its order.",
    .arguments = &find_arguments,
    .reply =
        "`[cursor, [entry ...]]`, from one snapshot. The values are those of the index's first "
        "paths; FROM (inclusive) and TO (exclusive) bound the next path. Cursor 0 means that "
        "there are no more. `-INDEXING percent` while the index is being filled.",
    .run = kv_find_run,
};
