/* drafts: an array used as a queue: passed ones go at its front, and the rest moves down when the
 * end is reached, before it grows. */
#include "base/drafts.h"

#include "base/mem.h"

void drafts_fini(struct drafts *d)
{
    mem_free(d->items);
    *d = (struct drafts){0};
}

static struct draft *draft_at(const struct drafts *d, size_t i)
{
    return &d->items[d->first + i];
}

static void make_room(struct drafts *d)
{
    if (d->first + d->count < d->cap) return;
    if (d->first >= d->count && d->first > 0) {
        memcpy(d->items, draft_at(d, 0), d->count * sizeof *d->items);
    } else {
        size_t cap = d->cap == 0 ? 4 : d->cap * 2;
        struct draft *items = mem_alloc(cap * sizeof *items);
        for (size_t i = 0; i < d->count; i++) items[i] = *draft_at(d, i);
        mem_free(d->items);
        d->items = items;
        d->cap = cap;
    }
    d->first = 0;
}

/* Where the last draft ends. */
static size_t drafts_end(const struct drafts *d)
{
    const struct draft *last = draft_at(d, d->count - 1);
    return last->start + last->len;
}

void drafts_add(struct drafts *d, const struct buf *text, size_t len, draft_write *write)
{
    if (text->is_failed) return;            /* it is not there; nothing of the text will be used */
    INVARIANT(len > 0 && len <= text->len); /* 1 */
    INVARIANT(d->count == 0 || drafts_end(d) <= text->len - len); /* 1 */
    make_room(d);
    *draft_at(d, d->count++) = (struct draft){.start = text->len - len, .len = len, .write = write};
}

size_t drafts_start(const struct drafts *d)
{
    return d->count == 0 ? SIZE_MAX : draft_at(d, 0)->start;
}

const struct draft *drafts_first(const struct drafts *d)
{
    return draft_at(d, 0);
}

void drafts_cut(struct drafts *d, size_t len)
{
    while (d->count > 0 && draft_at(d, d->count - 1)->start >= len) d->count--;
    INVARIANT(d->count == 0 || drafts_end(d) <= len); /* 1: none was cut in two */
}

void drafts_pass(struct drafts *d, size_t start)
{
    while (d->count > 0 && draft_at(d, 0)->start < start) {
        d->first++;
        d->count--;
    }
    if (d->count == 0) d->first = 0;
}

void drafts_shift(struct drafts *d, size_t n)
{
    INVARIANT(drafts_start(d) >= n); /* 1 */
    for (size_t i = 0; i < d->count; i++) draft_at(d, i)->start -= n;
}

size_t drafts_write(const struct drafts *d, const struct buf *text, size_t from, size_t end,
                    const struct drafts_limits *limits, struct buf *out)
{
    size_t at = from, enough = limits->enough;
    INVARIANT(drafts_start(d) >= from && end <= text->len); /* 1 */
    for (size_t i = 0; at < end && out->len < enough; i++) {
        size_t start = i < d->count ? draft_at(d, i)->start : end;
        if (start > end) start = end;
        size_t plain = start - at;
        if (plain >= enough - out->len) {
            plain = enough - out->len;
            buf_append(out, text->data + at, plain);
            return at + plain;
        }
        buf_append(out, text->data + at, plain);
        at = start;
        if (at == end) break;
        const struct draft *draft = draft_at(d, i);
        if (draft->len >= limits->long_len) break;
        size_t before = out->len;
        draft->write(slice_of(text->data + at, draft->len), out);
        at += draft->len;
        INVARIANT(at <= end && (out->len > before || out->is_failed)); /* 1 and 3 */
    }
    return at;
}

size_t drafts_held(const struct drafts *d)
{
    return d->cap * sizeof *d->items;
}
