/* savepoint: a place in an overlay to which it can be taken back: of several evaluations in one
 * transaction the newest is undone, and the others stay.
 *
 * A mark is a copy of the overlay's own members. What they point to grows only, but for entries
 * that were there before and are written again: of those the state before is saved (overlay.c), the
 * newest first, and put back in that order, so that the oldest is the last.
 */
#include "engine/overlay.h"

void engine_mark(struct overlay *o)
{
    struct overlay *mark = o->mark != NULL ? o->mark : arena_alloc(o->arena, sizeof *mark);
    INVARIANT(o->dirty_count == 0);
    o->saved = NULL;
    o->has_flushed = false;
    o->mark = NULL;
    *mark = *o;
    o->mark = mark;
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

bool engine_undo(struct overlay *o)
{
    struct overlay *mark = o->mark;
    INVARIANT(mark != NULL);
    if (o->has_flushed) return false;
    unlist(o, mark->count);
    for (const struct saved *s = o->saved; s != NULL; s = s->next) *s->of = s->before;
    struct htab index = o->index;
    struct written **sorted = o->sorted;
    size_t sorted_cap = o->sorted_cap;
    size_t work_left = o->work_left; /* what was done is done */
    *o = *mark;
    o->work_left = work_left;
    o->index = index;
    o->mark = mark;
    o->sorted = sorted; /* what is in it is sorted anew */
    o->sorted_cap = sorted_cap;
    o->sorted_count = 0;
    return true;
}

void engine_keep(struct overlay *o, uint64_t version)
{
    o->keeps = true;
    o->version = version;
}
