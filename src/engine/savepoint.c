/* savepoint: a place in an overlay to which it can be taken back: of several evaluations in one
 * transaction the newest are undone, and the others stay. They are nested: a command of EXEC may be
 * undone, and within it each command of a script.
 *
 * A savepoint is a copy of the overlay's own members. What they point to grows only, but for
 * entries that were there before and are written again: of those the state before is saved
 * (overlay.c), the newest first, and put back in that order, so that the oldest is the last.
 */
#include "engine/overlay.h"

struct savepoint *engine_mark(struct overlay *o)
{
    struct savepoint *s = o->spare;
    INVARIANT(o->dirty_count == 0);
    if (s != NULL) {
        o->spare = s->was.mark;
    } else {
        s = arena_alloc(o->arena, sizeof *s);
    }
    if (o->mark == NULL) o->saved = NULL;
    s->was = *o;
    o->mark = s;
    o->has_flushed = false;
    return s;
}

/* The newest: its memory is for the next one. */
static void pop(struct overlay *o)
{
    struct savepoint *s = o->mark;
    INVARIANT(s != NULL);
    o->mark = s->was.mark;
    s->was.mark = o->spare;
    o->spare = s;
}

static void release_newest(struct overlay *o)
{
    o->has_flushed = o->has_flushed || o->mark->was.has_flushed;
    pop(o);
}

void engine_release(struct overlay *o, struct savepoint *s)
{
    while (o->mark != s) release_newest(o);
    release_newest(o);
}

void overlay_save(struct overlay *o, struct written *w)
{
    struct saved *s = arena_alloc(o->arena, sizeof *s);
    *s = (struct saved){.next = o->saved, .of = w, .before = *w};
    o->saved = s;
}

/* Those written since leave the table that finds them by key. */
static void unlist(struct overlay *o, size_t from)
{
    if (htab_bytes(&o->index) == 0) return;
    if (from <= OVERLAY_LINEAR_MAX) { /* it had none then */
        htab_fini(&o->index);
        htab_init(&o->index);
        return;
    }
    for (size_t i = o->count; i > from; i--) {
        htab_remove(&o->index, o->items[i - 1]->hash, &o->items[i - 1]->key);
    }
}

static void take_back(struct overlay *o)
{
    const struct overlay *was = &o->mark->was;
    unlist(o, was->count);
    for (const struct saved *s = o->saved; s != was->saved; s = s->next) *s->of = s->before;
    pop(o);
    struct overlay now = *o;
    *o = *was;
    o->mark = now.mark;
    o->work_left = now.work_left; /* what was done is done */
    o->steps = now.steps;
    o->lent_left = now.lent_left;
    o->index = now.index;
    o->spare = now.spare;
    o->sorted = now.sorted; /* what is in it is sorted anew */
    o->sorted_cap = now.sorted_cap;
    o->sorted_count = 0;
}

bool engine_undo(struct overlay *o, struct savepoint *s)
{
    while (o->mark != s) release_newest(o);
    if (o->has_flushed) return false;
    take_back(o);
    return true;
}

void engine_keep(struct overlay *o, uint64_t version)
{
    o->keeps = true;
    o->version = version;
}

void engine_tell_time_of(struct overlay *o, const struct overlay *first)
{
    o->told_ms = first->told_ms;
}
