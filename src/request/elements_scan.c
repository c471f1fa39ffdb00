/* elements_scan: see elements_scan.h. A place is the row of the last element that was looked at,
 * its incarnation included. A packed collection is told whole, as in Redis. */
#include "request/elements_scan.h"

#include "base/glob.h"
#include "request/args.h"
#include "request/keys.h"
#include "request/scan_cursors.h"

#define COUNT_DEFAULT 10
#define COUNT_MAX 10000             /* looked at in one turn, whatever COUNT says ... */
#define PAGE_BYTES_MAX (1u << 20)   /* ... bytes of names and values ... */
#define NAME_BYTES_MAX (512u << 10) /* ... and bytes that are matched with a pattern */

static enum err check_scan(struct request *rq, void *bound)
{
    struct elements_scan *a = bound;
    enum err r = scan_cursor_read(rq, a->cursor, &a->place);
    if (r == OK && a->count < 1) r = error_set(&rq->error, ERR_SYNTAX, "syntax error");
    if (r != OK) return r;
    if (a->count > COUNT_MAX) a->count = COUNT_MAX;
    if (a->pattern.data != NULL) {
        a->glob = arena_alloc(rq->arena, sizeof *a->glob);
        glob_init(a->glob, a->pattern, false);
    }
    return OK;
}

#define SCAN_ROWS                                                                                  \
    ARG_KEY(struct elements_scan, key, "key", 0),                                                  \
        ARG_WORD(struct elements_scan, cursor, "cursor"),                                          \
        ARG_PATTERN(struct elements_scan, pattern, "MATCH"),                                       \
        ARG_INTEGER_OR(struct elements_scan, count, "COUNT", INT64_MIN, INT64_MAX, COUNT_DEFAULT,  \
                       ARG_NOT_INTEGER)
SHARED_ARGUMENTS_WITH(elements_scan_arguments, struct elements_scan,
                      "key cursor [MATCH pattern] [COUNT count]", WITH(.check = check_scan),
                      SCAN_ROWS);
#define SCAN_NAMES_ARGUMENTS(of, word)                                                             \
    SHARED_ARGUMENTS_WITH(                                                                         \
        of, struct elements_scan, "key cursor [MATCH pattern] [COUNT count] [" word "]",           \
        WITH(.check = check_scan), SCAN_ROWS, ARG_FLAG(struct elements_scan, names_only, word))
SCAN_NAMES_ARGUMENTS(hscan_arguments, "NOVALUES");
SCAN_NAMES_ARGUMENTS(zscan_arguments, "NOSCORES");

struct page {
    struct buf items;
    size_t replies;
    struct slice last; /* the row of the last one; data NULL = there are no more */
};

/* The rows after the place; an empty walk when they are of another collection. */
static void range_after(struct collection *c, struct slice place, struct walk_range *range)
{
    struct element_rows rows = collection_rows(c);
    struct arena *arena = c->view->arena;
    /* A small sorted set is told in its order, as by Redis. */
    range->by_name = c->head.is_spread || c->head.kind != COLLECTION_ZSET;
    if (!c->head.is_spread || place.len == 0) return;
    struct slice start = rows_start(arena, &rows, element_walk_tag(c, true));
    range->is_empty = !slice_has_prefix(place, start);
    if (range->is_empty) return;
    uint8_t *p = arena_alloc(arena, place.len + 1);
    memcpy(p, place.data, place.len);
    p[place.len] = 0;
    range->start = slice_of(p, place.len + 1);
}

static struct slice row_of(struct collection *c, struct slice name)
{
    struct element_rows rows = collection_rows(c);
    return row_of_name(c->view->arena, &rows, element_walk_tag(c, true), name);
}

static struct slice place_after(struct collection *c, const struct element *x)
{
    return c->head.is_spread ? row_of(c, x->name) : slice_of(NULL, 0);
}

static enum err read_page(struct request *rq, struct collection *c, struct page *p,
                          void (*tell)(struct resp_writer *w, const struct element *x,
                                       size_t *count))
{
    const struct elements_scan *a = rq->bound;
    struct resp_writer w = {.out = &p->items, .proto = rq->w->proto};
    size_t work = COUNT_MAX * SCAN_WORK_ROW;
    struct walk_range range = {.is_empty = c->head.count == 0, .work_left = &work};
    struct element_walk walk = {0};
    size_t matched = 0;
    size_t bytes = 0;
    range_after(c, a->place, &range);
    bool is_over = range.is_empty || (!c->head.is_spread && a->place.len > 0);
    enum err r = is_over ? OK : element_walk_begin(&walk, c, &range, &rq->error);
    for (int64_t i = 0; r == OK && !is_over; i++) {
        struct element x;
        bool is_full = i == a->count || matched > NAME_BYTES_MAX || bytes > PAGE_BYTES_MAX;
        if (is_full && c->head.is_spread) break;
        r = element_walk_next(&walk, &x, &is_over, &rq->error);
        if (r != OK || is_over) break;
        p->last = place_after(c, &x);
        bytes += x.name.len + x.value.len;
        if (a->glob != NULL) matched += x.name.len;
        if (a->glob == NULL || glob_fits(a->glob, x.name)) tell(&w, &x, &p->replies);
    }
    if (is_over) p->last = slice_of(NULL, 0);
    if (elements_are_many(rq, r, work)) { /* that have expired: a page too */
        p->last = arena_copy(rq->arena, engine_scan_place(walk.scan));
        r = OK;
    }
    element_walk_end(&walk);
    return r;
}

enum err elements_scan_run(struct request *rq, enum collection_kind kind,
                           void (*tell)(struct resp_writer *w, const struct element *x,
                                        size_t *count))
{
    const struct elements_scan *a = rq->bound;
    struct collection c;
    struct page p = {.replies = 0};
    struct view *v = elements_view(rq);
    buf_init(&p.items);
    enum err r = elements_open(rq, v, a->key, kind, &c);
    if (r == OK) r = read_page(rq, &c, &p, tell);
    elements_read(rq, v);
    if (r == OK && p.items.is_failed) {
        r = error_set(&rq->error, ERR_NOMEM, "out of memory for the reply");
    }
    if (r == OK) {
        resp_array(rq->w, 2);
        resp_bulk_u64(rq->w, p.last.data == NULL ? 0 : scan_cursor_add(rq, p.last));
        resp_array(rq->w, p.replies);
        buf_append(rq->w->out, p.items.data, p.items.len);
    }
    buf_fini(&p.items);
    return r;
}
