/* window: a sorted array whose front moves on as messages are taken. A slot beyond what is covered
 * is not put in, for others before it may be missing; when it has more than WINDOW_MAX, the last
 * one is let go and the window covers less. */
#include "queue/window.h"

#include "base/mem.h"

#define KEEP_SLOTS 64

void window_init(struct window *w, const struct slot *from)
{
    *w = (struct window){.covered = *from};
}

void window_init_empty(struct window *w)
{
    *w = (struct window){.is_complete = true};
}

void window_fini(struct window *w)
{
    mem_free(w->slots);
    *w = (struct window){0};
}

static bool covers(const struct window *w, const struct slot *s)
{
    return w->is_complete || slot_cmp(s, &w->covered) <= 0;
}

/* The number of slots before s. */
static size_t place_of(const struct window *w, const struct slot *s)
{
    size_t low = 0;
    size_t high = w->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (slot_cmp(window_at(w, middle), s) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static void make_room(struct window *w)
{
    if (w->first + w->count < w->cap) return;
    if (w->first > w->cap / 2) {
        memmove(w->slots, w->slots + w->first, w->count * sizeof *w->slots);
        w->first = 0;
        return;
    }
    w->cap = w->cap == 0 ? 8 : w->cap * 2;
    w->slots = mem_resize(w->slots, w->cap * sizeof *w->slots);
}

static void insert_at(struct window *w, size_t i, const struct slot *s)
{
    make_room(w);
    struct slot *at = w->slots + w->first + i;
    memmove(at + 1, at, (w->count - i) * sizeof *at);
    *at = *s;
    w->count++;
}

void window_set(struct window *w, const struct slot *s)
{
    if (!covers(w, s)) return;
    size_t i = place_of(w, s);
    if (i < w->count && slot_cmp(window_at(w, i), s) == 0) return;
    insert_at(w, i, s);
    if (w->count <= WINDOW_MAX) return;
    w->count--;
    w->is_complete = false;
    w->covered = *window_at(w, w->count - 1);
}

void window_remove(struct window *w, const struct slot *s)
{
    size_t i = place_of(w, s);
    if (i == w->count || slot_cmp(window_at(w, i), s) != 0) return;
    w->count--;
    if (i == 0) {
        w->first = w->count == 0 ? 0 : w->first + 1;
        if (w->count > 0 || w->cap <= KEEP_SLOTS) return;
        mem_free(w->slots); /* an idle queue is small */
        w->slots = NULL;
        w->cap = 0;
        return;
    }
    struct slot *at = w->slots + w->first + i;
    memmove(at, at + 1, (w->count - i) * sizeof *at);
}

void window_extend(struct window *w, const struct slot *s)
{
    insert_at(w, w->count, s);
    w->covered = *s;
}

void window_end(struct window *w)
{
    w->is_complete = true;
}
