/* stream: see stream.h. */
#include "collection/stream.h"

#define FORGET_ROWS 1000 /* what is removed at once is forgotten as a range when it is more */

static struct slice row_of_id(const struct collection *c, struct stream_id id)
{
    struct element_rows rows = collection_rows(c);
    uint64_t numbers[] = {id.ms, id.seq};
    return row_of_numbers(c->view->arena, &rows, ROW_ENTRY, numbers, 2, slice_of(NULL, 0));
}

struct stream_id stream_id_of(const struct element *x)
{
    return stream_id_get(x->name.data);
}

void stream_make(struct collection *c)
{
    collection_become_spread(c);
    c->exists = c->is_changed = true;
}

void stream_range(const struct collection *c, struct stream_id from, struct stream_id to,
                  struct walk_range *out)
{
    struct stream_id first = c->head.stream.first;
    struct element_rows rows = collection_rows(c);
    if (stream_id_order(from, first) < 0) from = first;
    out->is_empty = c->head.count == 0 || stream_id_order(from, to) > 0;
    out->start = row_of_id(c, from);
    out->end = stream_id_next(&to) ? row_of_id(c, to) : rows_end(c->view->arena, &rows, ROW_ENTRY);
}

/* ---- entries ---- */

enum err stream_add(struct collection *c, struct stream_id id, struct slice fields, struct error *e)
{
    struct stream_head *s = &c->head.stream;
    enum err r = collection_fits(c, fields, e);
    if (r != OK) return r;
    INVARIANT(stream_id_order(id, s->last) > 0); /* 1 */
    view_set_for(c->view, row_of_id(c, id), fields, 0, ROW_WAS_ABSENT);
    s->last = id;
    s->added++;
    if (c->head.count++ == 0) s->first = id;
    c->head.bytes += fields.len;
    c->is_changed = true;
    return collection_writes(c, e);
}

enum err stream_find(struct collection *c, struct stream_id id, bool *found, struct slice *fields,
                     struct error *e)
{
    struct entry row;
    *found = false;
    if (c->head.count == 0 || stream_id_order(id, c->head.stream.first) < 0 ||
        stream_id_order(id, c->head.stream.last) > 0) {
        return OK;
    }
    enum err r = collection_row(c, row_of_id(c, id), &row, e);
    if (r != OK || !row.exists) return r;
    *found = true;
    *fields = arena_copy(c->view->arena, row.value);
    return OK;
}

enum err stream_seek(struct collection *c, struct stream_id from, bool is_reverse, bool *found,
                     struct stream_id *out, struct error *e)
{
    struct walk_range range = {.is_reverse = is_reverse, .hint = 1};
    struct element_walk w = {0};
    struct element x;
    bool is_end = true;
    *found = false;
    if (is_reverse) {
        stream_range(c, STREAM_ID_LEAST, from, &range);
    } else {
        stream_range(c, from, STREAM_ID_MOST, &range);
    }
    if (range.is_empty) return OK;
    enum err r = element_walk_begin(&w, c, &range, e);
    if (r == OK) r = element_walk_next(&w, &x, &is_end, e);
    if (r == OK && !is_end) {
        *found = true;
        *out = stream_id_of(&x);
    }
    element_walk_end(&w);
    return r;
}

/* After entries up to `last` were removed from the front. */
static enum err find_first(struct collection *c, struct stream_id last, struct error *e)
{
    struct stream_head *s = &c->head.stream;
    bool found = false;
    if (c->head.count == 0) {
        s->first = STREAM_ID_LEAST;
        return OK;
    }
    s->first = last;
    enum err r = stream_seek(c, last, false, &found, &s->first, e);
    return r == OK && !found ? collection_damaged(c, e) : r;
}

static enum err remove_one(struct collection *c, struct stream_id id, bool *removed,
                           struct error *e)
{
    struct stream_head *s = &c->head.stream;
    struct slice fields;
    enum err r = stream_find(c, id, removed, &fields, e);
    if (r != OK || !*removed) return r;
    view_delete_for(c->view, row_of_id(c, id), ROW_WAS_THERE);
    c->head.count--;
    c->head.bytes -= fields.len;
    c->is_changed = true;
    if (stream_id_order(id, s->deleted) > 0) s->deleted = id;
    return OK;
}

/* The next first entry is looked for once, behind all that is gone. */
enum err stream_remove(struct collection *c, const struct stream_id *ids, size_t count,
                       bool *removed, struct error *e)
{
    struct stream_id first = c->head.stream.first;
    bool lacks_first = false;
    enum err r = OK;
    for (size_t i = 0; i < count && r == OK; i++) {
        r = remove_one(c, ids[i], &removed[i], e);
        if (r != OK || !removed[i]) continue;
        lacks_first = lacks_first || stream_id_order(ids[i], first) == 0;
        r = collection_writes(c, e);
    }
    return r == OK && lacks_first ? find_first(c, first, e) : r;
}

/* ---- trimming ---- */

/* What is removed from the front: so many entries, of so many bytes, all before `next`. */
struct cut {
    uint64_t count, bytes;
    struct stream_id next;
    bool has_next; /* else nothing is left */
};

static enum err too_long(struct error *e)
{
    return error_set(e, ERR_LIMIT,
                     "more than %d entries to remove and to keep; trim in steps, with ~ and LIMIT "
                     "%d",
                     COLLECTION_ROWS_MAX, COLLECTION_ROWS_MAX / 2);
}

/* Over the entries that go, up to `most` of them, or up to t->from. */
static enum err cut_from_front(struct collection *c, const struct stream_trim *t, uint64_t most,
                               struct cut *cut, struct error *e)
{
    struct walk_range range = {.hint = (size_t)(most < FORGET_ROWS ? most + 1 : 0)};
    struct element_walk w;
    bool is_end = false;
    stream_range(c, STREAM_ID_LEAST, STREAM_ID_MOST, &range);
    enum err r = element_walk_begin(&w, c, &range, e);
    while (r == OK) {
        struct element x;
        r = element_walk_next(&w, &x, &is_end, e);
        if (r != OK || is_end) break;
        struct stream_id id = stream_id_of(&x);
        bool is_kept = t->by_id && stream_id_order(id, t->from) >= 0;
        if (cut->count == most || is_kept) {
            cut->has_next = true;
            cut->next = id;
            break;
        }
        if (cut->count == COLLECTION_ROWS_MAX) r = ERR_LIMIT;
        cut->count++;
        cut->bytes += x.value.len;
    }
    element_walk_end(&w);
    return r;
}

/* Over the entries that stay. */
static enum err cut_from_end(struct collection *c, const struct stream_trim *t, uint64_t kept_max,
                             struct cut *cut, struct error *e)
{
    struct walk_range range = {.is_reverse = true};
    struct element_walk w;
    uint64_t kept = 0;
    uint64_t bytes = 0;
    bool is_end = kept_max == 0;
    stream_range(c, t->by_id ? t->from : STREAM_ID_LEAST, STREAM_ID_MOST, &range);
    enum err r = range.is_empty || is_end ? OK : element_walk_begin(&w, c, &range, e);
    if (range.is_empty || is_end) {
        *cut = (struct cut){.count = c->head.count, .bytes = c->head.bytes};
        return OK;
    }
    while (r == OK && kept < kept_max) {
        struct element x;
        r = element_walk_next(&w, &x, &is_end, e);
        if (r != OK || is_end) break;
        if (kept == COLLECTION_ROWS_MAX) r = ERR_LIMIT;
        kept++;
        bytes += x.value.len;
        cut->has_next = true;
        cut->next = stream_id_of(&x);
    }
    element_walk_end(&w);
    cut->count = c->head.count - kept;
    cut->bytes = c->head.bytes - bytes;
    return r;
}

static void remove_one_by_one(struct collection *c, struct slice *keys, size_t count)
{
    for (size_t i = 0; i < count; i++) view_delete_for(c->view, keys[i], ROW_WAS_THERE);
}

/* Where the removed rows end: before what is added later, for which no range may be forgotten. */
static struct slice end_of(const struct collection *c, const struct cut *cut)
{
    struct element_rows rows = collection_rows(c);
    struct stream_id after = c->head.stream.last;
    if (cut->has_next) return row_of_id(c, cut->next);
    return stream_id_next(&after) ? row_of_id(c, after)
                                  : rows_end(c->view->arena, &rows, ROW_ENTRY);
}

/* The rows before cut->next; collected first: nothing is written while a walk is open. */
static enum err remove_rows(struct collection *c, const struct cut *cut, struct error *e)
{
    struct element_rows rows = collection_rows(c);
    struct arena *arena = c->view->arena;
    struct walk_range range = {.hint = (size_t)cut->count};
    struct element_walk w;
    bool is_end = false;
    size_t n = 0;
    stream_range(c, STREAM_ID_LEAST, STREAM_ID_MOST, &range);
    range.end = end_of(c, cut);
    if (cut->count > FORGET_ROWS) {
        view_forget(c->view, rows_start(arena, &rows, ROW_ENTRY), range.end);
        return OK;
    }
    struct slice *keys = arena_alloc(arena, (size_t)cut->count * sizeof *keys);
    enum err r = element_walk_begin(&w, c, &range, e);
    while (r == OK && n < cut->count) {
        struct element x;
        r = element_walk_next(&w, &x, &is_end, e);
        if (r != OK || is_end) break;
        keys[n++] = row_of_id(c, stream_id_of(&x));
    }
    element_walk_end(&w);
    if (r == OK) remove_one_by_one(c, keys, n);
    return r;
}

/* Nothing is removed for fewer. A short stream has twice the length that is asked for at most. */
static uint64_t least_cut(const struct stream_trim *t)
{
    if (!t->is_rough) return 1;
    return t->by_id || t->length > STREAM_ROUGH ? STREAM_ROUGH : t->length;
}

static enum err find_cut(struct collection *c, const struct stream_trim *t, struct cut *cut,
                         struct error *e)
{
    uint64_t count = c->head.count;
    uint64_t most = UINT64_MAX;
    if (t->by_id) {
        if (stream_id_order(c->head.stream.first, t->from) >= 0) return OK;
    } else {
        /* Of too few the walk would find what is known. */
        if (count <= t->length || count - t->length < least_cut(t)) return OK;
        most = count - t->length;
    }
    if (t->limit != 0 && most > t->limit) most = t->limit;
    bool is_limited = t->limit != 0 && t->limit <= COLLECTION_ROWS_MAX;
    if (is_limited || count <= COLLECTION_ROWS_MAX || (!t->by_id && most < count / 2)) {
        return cut_from_front(c, t, most, cut, e);
    }
    enum err r = cut_from_end(c, t, t->by_id ? UINT64_MAX : t->length, cut, e);
    if (r != ERR_LIMIT || !t->by_id) return r;
    *cut = (struct cut){0};
    return cut_from_front(c, t, most, cut, e);
}

enum err stream_trim(struct collection *c, const struct stream_trim *t, uint64_t *removed,
                     struct error *e)
{
    struct cut cut = {0};
    *removed = 0;
    if (c->head.count == 0) return OK;
    enum err r = find_cut(c, t, &cut, e);
    if (r == ERR_LIMIT) return too_long(e);
    /* Roughly: nothing until so many, but all of it. */
    bool is_little = cut.has_next && cut.count < least_cut(t);
    if (r != OK || cut.count == 0 || is_little) return r;
    r = remove_rows(c, &cut, e);
    c->head.count -= cut.count;
    c->head.bytes -= cut.bytes;
    c->head.stream.first = cut.has_next ? cut.next : STREAM_ID_LEAST;
    c->is_changed = true;
    *removed = cut.count;
    return r == OK ? collection_writes(c, e) : r;
}

/* ---- counts ---- */

int64_t stream_entries_upto(const struct stream_head *s, uint64_t length, struct stream_id id)
{
    if (s->added == 0) return 0;
    if (length == 0 && stream_id_order(id, s->last) <= 0) return (int64_t)s->added;
    int order = stream_id_order(id, s->last);
    if (order == 0) return (int64_t)s->added;
    if (order > 0) return -1;
    if (stream_id_is_zero(s->deleted) || stream_id_order(s->deleted, s->first) < 0) {
        int at_first = stream_id_order(id, s->first);
        if (at_first < 0) return (int64_t)(s->added - length);
        if (at_first == 0) return (int64_t)(s->added - length + 1);
    }
    return -1;
}

bool stream_has_gaps_after(const struct stream_head *s, uint64_t length, struct stream_id id)
{
    if (length == 0 || stream_id_is_zero(s->deleted)) return false;
    if (stream_id_order(s->first, s->deleted) > 0) return false;
    return stream_id_order(id, s->deleted) <= 0;
}
