/* kept_page: pages of ranges that are kept for commands that wait (kept.h). They serve scans that
 * live within one turn: such a scan begins anew when its command runs again. */
#include "backend/pipeline_int.h"
#include "base/mem.h"

void kept_page_free(struct kept_page *g)
{
    g->pipeline->newest.kept.pages--;
    waiter_drop_all(&g->waiters);
    shared_chunk_unref(g->shared);
    buf_fini(&g->start);
    buf_fini(&g->end);
    mem_free(g);
}

/* Bounds of what the page says: of all that was asked for, or up to its last row. */
static void page_bounds(const struct kept_page *g, struct slice *start, struct slice *end)
{
    const struct store_chunk *c = &g->shared->chunk;
    *start = buf_slice(&g->start);
    *end = buf_slice(&g->end);
    if (g->state != KEPT_GOOD || c->is_last || c->count == 0) return;
    *(g->fetch.is_reverse ? start : end) = c->rows[c->count - 1].key;
}

bool kept_page_touches(const struct kept_page *g, const struct memtable *m)
{
    struct slice start;
    struct slice end;
    page_bounds(g, &start, &end);
    if (memtable_flushed(m, key_database(start)) != 0) return true;
    struct omap_iter it = omap_seek(&m->order, start);
    const struct mem_entry *entry = omap_peek(&it);
    return entry != NULL && slice_cmp(entry->key, end) <= 0;
}

/* Is the beginning of f's range in the page? The far bound is the same: it never moves. */
static bool page_covers(const struct kept_page *g, const struct store_fetch *f, size_t *at)
{
    const struct store_chunk *c = &g->shared->chunk;
    bool is_reverse = f->is_reverse;
    struct slice near = is_reverse ? f->end : f->start;
    struct slice far = is_reverse ? f->start : f->end;
    const struct buf *own_near = is_reverse ? &g->end : &g->start;
    const struct buf *own_far = is_reverse ? &g->start : &g->end;
    int order = slice_cmp(near, buf_slice(own_near));
    if (g->fetch.is_reverse != is_reverse || g->fetch.with_values < f->with_values) return false;
    if (!slice_eq(far, buf_slice(own_far)) || (is_reverse ? order > 0 : order < 0)) return false;
    if (g->state != KEPT_GOOD) return order == 0;
    if (c->count > 0 && !c->is_last) {
        order = slice_cmp(c->rows[c->count - 1].key, near);
        if (is_reverse ? order >= 0 : order < 0) return false;
    }
    for (*at = 0; *at < c->count; ++*at) {
        order = slice_cmp(c->rows[*at].key, near);
        if (is_reverse ? order < 0 : order >= 0) break;
    }
    return *at < c->count || c->is_last;
}

static struct kept_page **page_find(struct kept_page **first, const struct store_fetch *f,
                                    size_t *at)
{
    while (*first != NULL && !page_covers(*first, f, at)) first = &(*first)->next;
    return first;
}

struct shared_chunk *kept_page_get(struct pipeline *p, const struct store_fetch *f,
                                   struct waiter *w, size_t *at)
{
    struct kept_page **first = p->newest.kept.pages == 0 ? NULL
                                                         : kept_pages(&p->newest.kept, w, false);
    struct kept_page *g = first == NULL ? NULL : *page_find(first, f, at);
    if (g == NULL || g->state != KEPT_GOOD) {
        *at = 0;
        return NULL;
    }
    g->is_used = true;
    g->shared->refs++;
    return g->shared;
}

static void page_run(struct job *job)
{
    struct kept_page *g = (struct kept_page *)job;
    enum err r = store_fetch(g->reader->reader, &g->fetch, &g->shared->chunk, &g->error);
    g->error.code = r;
}

/* The waiters of a stale page look for it again. */
static void page_done(struct job *job)
{
    struct kept_page *g = (struct kept_page *)job;
    struct pipeline *p = g->pipeline;
    bool has_failed = g->error.code != OK;
    reader_give(p, g->reader);
    g->state = has_failed || g->is_stale ? KEPT_FAILED : KEPT_GOOD;
    if (has_failed) {
        damage_note(&p->stored.damage, &g->error);
    } else if (g->is_stale) {
        g->error.code = ERR_WAIT;
    }
    pipeline_wake(p, &g->waiters);
    if (g->is_dropped) kept_page_free(g);
}

static enum err page_begin(struct pipeline *p, const struct store_fetch *f, struct waiter *w,
                           struct error *e)
{
    struct pooled_reader *reader = NULL;
    enum err r = reader_take(p, &reader, e);
    if (r == ERR_TRYAGAIN) {
        backend_yield(&p->base, w);
        return error_set(e, ERR_WAIT, "too many reads wait for the disk");
    }
    if (r != OK) return r;
    struct kept_page *g = mem_new(sizeof *g);
    struct kept_page **first = kept_pages(&p->newest.kept, w, true);
    g->job = (struct job){.run = page_run, .done = page_done};
    g->pipeline = p;
    g->reader = reader;
    g->shared = shared_chunk_new();
    buf_append(&g->start, f->start.data, f->start.len);
    buf_append(&g->end, f->end.data, f->end.len);
    buf_require(&g->start);
    buf_require(&g->end);
    g->fetch = *f;
    g->fetch.start = buf_slice(&g->start);
    g->fetch.end = buf_slice(&g->end);
    g->fetch.may_wait = true;
    waiter_list_init(&g->waiters);
    waiter_add(&g->waiters, w);
    g->next = *first;
    *first = g;
    p->newest.kept.pages++;
    p->loading.waits++;
    p->loading.queries++;
    worker_post(p->workers.query, &g->job);
    return error_set(e, ERR_WAIT, "rows are being read");
}

enum err kept_page_fetch(struct pipeline *p, const struct store_fetch *f, struct waiter *w,
                         struct error *e)
{
    size_t at = 0;
    struct kept_page **link = page_find(kept_pages(&p->newest.kept, w, true), f, &at);
    struct kept_page *g = *link;
    if (g != NULL && g->state == KEPT_PENDING) {
        waiter_add(&g->waiters, w);
        return error_set(e, ERR_WAIT, "rows are being read");
    }
    INVARIANT(g == NULL || g->state == KEPT_FAILED);
    if (g != NULL) {
        struct error failed = g->error;
        *link = g->next;
        kept_page_free(g);
        if (failed.code != ERR_WAIT) return error_set(e, failed.code, "%s", failed.text);
    }
    return page_begin(p, f, w, e);
}
