/* list: see list.h.
 *
 * Invariants of a spread list: head.first is at most the position of its first element, head.end is
 * above that of its last. Without holes first is the first element's, and end is
 * first + count * LIST_STEP.
 */
#include "collection/list.h"

#include "collection/index.h"
#include "collection/rank.h"

#define RENUMBERED 64 /* elements that make room for one between two that have none */

struct place {
    uint64_t position;
    struct slice value;
};

static struct arena *arena_of(const struct collection *c)
{
    return c->view->arena;
}

static void put_at(struct collection *c, uint64_t position, struct slice value,
                   enum row_cause cause)
{
    struct element_rows rows = collection_rows(c);
    view_set_for(c->view, row_of_position(arena_of(c), &rows, position), value, 0, cause);
    c->head.bytes += value.len;
}

static void take_at(struct collection *c, const struct place *p)
{
    struct element_rows rows = collection_rows(c);
    view_delete_for(c->view, row_of_position(arena_of(c), &rows, p->position), ROW_WAS_THERE);
    c->head.bytes -= p->value.len;
}

/* ---- walking ---- */

/* Up to `count` elements from an end, after `skip` of them, with their positions; the values are
 * copied. */
static enum err gather(struct collection *c, bool at_head, uint64_t skip, uint64_t count,
                       struct place *out, struct error *e)
{
    struct walk_range range = {.is_reverse = !at_head, .hint = count};
    struct element_walk w = {0};
    struct element x;
    bool is_end = false;
    enum err r = OK;
    if (skip > 0 && at_head) r = rank_seek(c, false, skip, &range.start, e);
    if (skip > 0 && !at_head) r = rank_seek(c, false, c->head.count - skip, &range.end, e);
    if (r == OK) r = element_walk_begin(&w, c, &range, e);
    for (uint64_t i = 0; r == OK && i < count; i++) {
        r = element_walk_next(&w, &x, &is_end, e);
        if (r == OK && is_end) r = collection_damaged(c, e); /* the head says that it is there */
        if (r != OK) break;
        out[i] = (struct place){.position = w.position, .value = arena_copy(arena_of(c), x.value)};
    }
    element_walk_end(&w);
    return r;
}

/* The element at a place of a spread list. */
static enum err find(struct collection *c, uint64_t place, struct place *out, struct error *e)
{
    struct entry row;
    if (c->head.is_holey) {
        bool at_head = place < c->head.count / 2;
        return gather(c, at_head, at_head ? place : c->head.count - 1 - place, 1, out, e);
    }
    struct element_rows rows = collection_rows(c);
    out->position = c->head.first + place * LIST_STEP;
    enum err r = view_get(c->view, row_of_position(arena_of(c), &rows, out->position), &row, e);
    if (r == OK && !row.exists) r = collection_damaged(c, e);
    if (r == OK) out->value = arena_copy(arena_of(c), row.value);
    return r;
}

/* ---- the ends ---- */

static void packed_add(struct collection *c, size_t at, struct slice value)
{
    struct element *x = collection_insert(c, at);
    *x = (struct element){.value = value};
    c->packed_bytes += collection_packed_bytes(x);
}

enum err list_push(struct collection *c, bool at_head, struct slice value, struct error *e)
{
    enum err r = collection_fits(c, value, e);
    if (r != OK) return r;
    c->is_changed = true;
    if (!c->head.is_spread) {
        packed_add(c, at_head ? 0 : (size_t)c->head.count, value);
        return collection_grown(c, e);
    }
    if (at_head) {
        c->head.first -= LIST_STEP;
        put_at(c, c->head.first, value, ROW_WAS_ABSENT);
    } else {
        put_at(c, c->head.end, value, ROW_WAS_ABSENT);
        c->head.end += LIST_STEP;
    }
    c->head.count++;
    return collection_writes(c, e);
}

static enum err pop_rows(struct collection *c, bool at_head, uint64_t count, struct place *places,
                         struct error *e)
{
    enum err r = OK;
    if (c->head.is_holey) r = gather(c, at_head, 0, count, places, e);
    for (uint64_t i = 0; i < count && r == OK; i++) {
        if (!c->head.is_holey) r = find(c, at_head ? i : c->head.count - 1 - i, &places[i], e);
    }
    if (r != OK) return r;
    for (uint64_t i = 0; i < count; i++) take_at(c, &places[i]);
    uint64_t last = places[count - 1].position;
    uint64_t step = c->head.is_holey ? 1 : LIST_STEP;
    *(at_head ? &c->head.first : &c->head.end) = at_head ? last + step : last;
    c->head.count -= count;
    return collection_writes(c, e);
}

static void pop_items(struct collection *c, bool at_head, uint64_t count, struct slice *out)
{
    for (uint64_t i = 0; i < count; i++) {
        size_t at = at_head ? 0 : (size_t)c->head.count - 1;
        out[i] = c->items[at].value;
        collection_take_out(c, at);
    }
}

enum err list_pop(struct collection *c, bool at_head, uint64_t count, struct slice **out,
                  struct error *e)
{
    *out = NULL;
    if (count == 0) return OK;
    if (count > COLLECTION_ROWS_MAX) {
        return error_set(e, ERR_LIMIT, "more than %d elements in one transaction",
                         COLLECTION_ROWS_MAX);
    }
    *out = arena_alloc(arena_of(c), (size_t)count * sizeof **out);
    c->is_changed = true;
    if (!c->head.is_spread) {
        pop_items(c, at_head, count, *out);
        return OK;
    }
    struct place *places = arena_alloc(arena_of(c), (size_t)count * sizeof *places);
    enum err r = pop_rows(c, at_head, count, places, e);
    for (uint64_t i = 0; i < count && r == OK; i++) (*out)[i] = places[i].value;
    return r;
}

/* ---- by place ---- */

enum err list_get(struct collection *c, uint64_t place, struct slice *out, struct error *e)
{
    struct place p = {0};
    if (!c->head.is_spread) {
        *out = c->items[place].value;
        return OK;
    }
    enum err r = find(c, place, &p, e);
    *out = p.value;
    return r;
}

enum err list_set(struct collection *c, uint64_t place, struct slice value, struct error *e)
{
    struct place p = {0};
    enum err r = collection_fits(c, value, e);
    if (r != OK) return r;
    c->is_changed = true;
    if (!c->head.is_spread) {
        struct element *x = &c->items[place];
        c->packed_bytes -= collection_packed_bytes(x);
        x->value = value;
        c->packed_bytes += collection_packed_bytes(x);
        return collection_grown(c, e);
    }
    r = find(c, place, &p, e);
    if (r != OK) return r;
    c->head.bytes -= p.value.len;
    put_at(c, p.position, value, ROW_WAS_THERE);
    return collection_writes(c, e);
}

enum err list_range(struct collection *c, uint64_t from, uint64_t upto, struct walk_range *out,
                    struct error *e)
{
    out->skip = 0;
    out->max = out->hint = upto - from;
    if (!c->head.is_spread) {
        out->from = from;
        out->upto = upto;
        return OK;
    }
    if (c->head.is_holey) return from > 0 ? rank_seek(c, false, from, &out->start, e) : OK;
    struct element_rows rows = collection_rows(c);
    out->start = row_of_position(arena_of(c), &rows, c->head.first + from * LIST_STEP);
    out->end = row_of_position(arena_of(c), &rows, c->head.first + upto * LIST_STEP);
    return OK;
}

/* ---- LTRIM ---- */

/* What stays moves to a new incarnation: the rows of before are forgotten as one range. */
static enum err keep_only(struct collection *c, uint64_t from, uint64_t count, struct error *e)
{
    struct place *places = arena_alloc(arena_of(c), (size_t)(count + 1) * sizeof *places);
    enum err r = gather(c, true, from, count, places, e);
    int64_t expiry_ms = c->expiry_ms;
    if (r != OK) return r;
    collection_clear(c);
    c->expiry_ms = expiry_ms;
    for (uint64_t i = 0; i < count && r == OK; i++) r = list_push(c, false, places[i].value, e);
    return r;
}

enum err list_trim(struct collection *c, uint64_t from, uint64_t upto, struct error *e)
{
    uint64_t stays = upto - from;
    uint64_t goes = c->head.count - stays;
    uint64_t tail = c->head.count - upto;
    if (goes == 0) return OK;
    if (stays == 0) {
        collection_clear(c);
        return OK;
    }
    if (c->head.is_spread && goes > LIST_TRIM_ROWS) {
        if (stays <= LIST_TRIM_ROWS) return keep_only(c, from, stays, e);
        return error_set(e, ERR_LIMIT,
                         "LTRIM that removes and keeps more than %d elements; trim in steps",
                         LIST_TRIM_ROWS);
    }
    struct slice *gone = NULL;
    enum err r = list_pop(c, true, from, &gone, e);
    return r == OK ? list_pop(c, false, tail, &gone, e) : r;
}

/* ---- by value ---- */

static enum err remove_packed(struct collection *c, struct slice value, bool from_tail,
                              uint64_t max, uint64_t *removed)
{
    size_t at = from_tail ? (size_t)c->head.count : 0;
    while (*removed < max && (from_tail ? at > 0 : at < c->head.count)) {
        size_t i = from_tail ? --at : at;
        if (slice_eq(c->items[i].value, value)) {
            collection_take_out(c, i);
            ++*removed;
        } else if (!from_tail) {
            at++;
        }
    }
    c->is_changed = c->is_changed || *removed > 0;
    return OK;
}

struct places {
    struct place *items; /* in the arena */
    size_t count, cap;
};

static void places_add(struct collection *c, struct places *p, uint64_t position,
                       struct slice value)
{
    p->items = arena_grow(arena_of(c), p->items, p->count, &p->cap, sizeof *p->items);
    p->items[p->count++] = (struct place){.position = position, .value = value};
}

/* The elements with this value, in the order of the walk, up to `max`. */
static enum err find_value(struct collection *c, struct slice value, bool from_tail, uint64_t max,
                           struct places *out, struct error *e)
{
    struct walk_range range = {.is_reverse = from_tail};
    struct element_walk w;
    bool is_end = false;
    enum err r = element_walk_begin(&w, c, &range, e);
    while (r == OK && out->count < max) {
        struct element x;
        r = element_walk_next(&w, &x, &is_end, e);
        if (r != OK || is_end) break;
        if (slice_eq(x.value, value)) places_add(c, out, w.position, value);
    }
    element_walk_end(&w);
    return r;
}

enum err list_remove(struct collection *c, struct slice value, bool from_tail, uint64_t max,
                     uint64_t *removed, struct error *e)
{
    struct places found = {0};
    *removed = 0;
    if (max == 0) max = UINT64_MAX;
    if (!c->head.is_spread) return remove_packed(c, value, from_tail, max, removed);
    enum err r = find_value(c, value, from_tail, max, &found, e);
    if (r != OK || found.count == 0) return r;
    for (size_t i = 0; i < found.count; i++) take_at(c, &found.items[i]);
    *removed = found.count;
    c->head.count -= found.count;
    c->head.is_holey = c->is_changed = true;
    return collection_writes(c, e);
}

/* ---- LINSERT ---- */

/* Room between `before` and the elements from `next` on, which get other positions: the position
 * that is free then. `next`: up to RENUMBERED of them, `is_all`: and there are no more. */
static uint64_t renumber(struct collection *c, uint64_t before, const struct place *next,
                         size_t count, bool is_all)
{
    uint64_t end = is_all ? before + (count + 2) * LIST_STEP : next[count - 1].position;
    size_t moved = is_all ? count : count - 1; /* the last one stays where it is */
    uint64_t step = (end - before) / (moved + 2);
    for (size_t i = 0; i < moved; i++) take_at(c, &next[i]);
    for (size_t i = 0; i < moved; i++)
        put_at(c, before + step * (i + 2), next[i].value, ROW_WAS_ABSENT);
    if (is_all && c->head.end < end) c->head.end = end;
    return before + step;
}

/* What is around the pivot: the position before the new element, and those after it. */
struct gap {
    uint64_t before;
    bool is_first; /* nothing is before it */
    struct place next[RENUMBERED];
    size_t count;
    bool is_all;
};

static enum err find_gap(struct collection *c, bool is_before, struct slice pivot, struct gap *g,
                         bool *found, struct error *e)
{
    struct walk_range range = {.is_reverse = false};
    struct element_walk w;
    *g = (struct gap){.is_first = true};
    *found = false;
    enum err r = element_walk_begin(&w, c, &range, e);
    while (r == OK && g->count < RENUMBERED) {
        struct element x;
        r = element_walk_next(&w, &x, &g->is_all, e);
        if (r != OK || g->is_all) break;
        bool is_pivot = !*found && slice_eq(x.value, pivot);
        *found = *found || is_pivot;
        if (*found && !(is_pivot && !is_before)) {
            g->next[g->count++] = (struct place){.position = w.position,
                                                 .value = arena_copy(arena_of(c), x.value)};
        } else {
            g->before = w.position;
            g->is_first = false;
        }
    }
    element_walk_end(&w);
    return r;
}

static enum err insert_row(struct collection *c, bool is_before, struct slice pivot,
                           struct slice value, bool *found, struct error *e);

/* After hundreds of insertions at one place there is no room near it: all elements get new
 * positions, without holes. */
static enum err insert_anew(struct collection *c, bool is_before, struct slice pivot,
                            struct slice value, bool *found, struct error *e)
{
    if (c->head.count > LIST_TRIM_ROWS) {
        return error_set(e, ERR_LIMIT,
                         "no room between two elements after hundreds of LINSERT at the same "
                         "place of a list of more than %d elements; use a COPY of the list",
                         LIST_TRIM_ROWS);
    }
    enum err r = keep_only(c, 0, c->head.count, e);
    return r == OK ? insert_row(c, is_before, pivot, value, found, e) : r;
}

static enum err insert_row(struct collection *c, bool is_before, struct slice pivot,
                           struct slice value, bool *found, struct error *e)
{
    struct gap g;
    enum err r = find_gap(c, is_before, pivot, &g, found, e);
    if (r != OK || !*found) return r;
    if (g.is_first) return list_push(c, true, value, e);
    if (g.count == 0) return list_push(c, false, value, e);
    uint64_t room = g.next[0].position - g.before;
    uint64_t at = room > 1 ? g.before + room / 2 : 0;
    if (room <= 1) {
        bool has_room = g.is_all || g.next[g.count - 1].position - g.before > g.count + 1;
        if (!has_room) return insert_anew(c, is_before, pivot, value, found, e);
        at = renumber(c, g.before, g.next, g.count, g.is_all);
    }
    put_at(c, at, value, ROW_WAS_ABSENT);
    c->head.count++;
    c->head.is_holey = c->is_changed = true;
    return collection_writes(c, e);
}

enum err list_insert(struct collection *c, bool is_before, struct slice pivot, struct slice value,
                     bool *found, struct error *e)
{
    enum err r = collection_fits(c, value, e);
    *found = false;
    if (r != OK) return r;
    if (c->head.is_spread) return insert_row(c, is_before, pivot, value, found, e);
    for (size_t i = 0; i < c->head.count && !*found; i++) {
        if (!slice_eq(c->items[i].value, pivot)) continue;
        *found = c->is_changed = true;
        packed_add(c, is_before ? i : i + 1, value);
        return collection_grown(c, e);
    }
    return OK;
}
