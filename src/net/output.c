/* output: see output.h. What may go is bounded three times: by the first mark that is not durable,
 * by what is the node's own, and by the next draft. Drafts are written into `written` in stretches;
 * the text they stand for is taken off only when the whole stretch is sent. */
#include "net/output.h"

#include "base/mem.h"

#define KEEP_BYTES (64 * 1024)
#define COMPACT_BYTES (256 * 1024)
#define WRITTEN_BYTES (256 * 1024) /* that are written of drafts, and around them, at once */
#define LONG_BYTES (256 * 1024) /* a draft of so many takes a millisecond or more to be written */
#define PLAIN_BYTES (32 * 1024) /* so much before the next draft is sent from where it is */

void output_init(struct output *o)
{
    *o = (struct output){0};
}

void output_fini(struct output *o)
{
    buf_fini(&o->bytes);
    buf_fini(&o->written);
    drafts_fini(&o->drafts);
    mem_free(o->marks);
    *o = (struct output){0};
}

static bool is_long_next(const struct output *o)
{
    return drafts_start(&o->drafts) == o->sent && drafts_first(&o->drafts)->len >= LONG_BYTES;
}

static struct output_mark *mark_at(const struct output *o, size_t i)
{
    return &o->marks[(o->mark_first + i) % o->mark_cap];
}

static const struct output_mark *first_mark(const struct output *o)
{
    return &o->marks[o->mark_first];
}

/* See output.h. By output_ready: before something leaves, and after what left before. */
static void check(const struct output *o)
{
    size_t begun = o->sent + o->written_of;
    INVARIANT(begun <= o->bytes.len && o->own_end <= o->marked);                    /* 1 */
    INVARIANT(o->mark_count == 0 || first_mark(o)->start >= o->base + begun);       /* 3 */
    INVARIANT((o->written_of > 0) == (o->written.len > 0 || o->written.is_failed)); /* 4 */
    INVARIANT(o->drafts.count == 0 || drafts_start(&o->drafts) >= begun);           /* 5 */
    INVARIANT(!o->awaits_long || (o->written_of == 0 && is_long_next(o)));          /* 6 */
}

static void marks_grow(struct output *o)
{
    size_t cap = o->mark_cap == 0 ? 8 : o->mark_cap * 2;
    struct output_mark *marks = mem_alloc(cap * sizeof *marks);
    for (size_t i = 0; i < o->mark_count; i++) marks[i] = *mark_at(o, i);
    mem_free(o->marks);
    o->marks = marks;
    o->mark_cap = cap;
    o->mark_first = 0;
}

void output_mark(struct output *o, uint64_t version, uint64_t durable)
{
    uint64_t start = o->marked;
    o->marked = o->base + o->bytes.len;
    if (version <= durable || start == o->marked) return;
    /* After something held it waits anyway; a demand that is not higher adds nothing. */
    if (o->mark_count > 0 && version <= mark_at(o, o->mark_count - 1)->version) return;
    INVARIANT(start >= o->base + o->sent + o->written_of); /* 3 */
    if (o->mark_count == o->mark_cap) marks_grow(o);
    *mark_at(o, o->mark_count++) = (struct output_mark){.start = start, .version = version};
}

void output_mark_own(struct output *o, uint64_t version, uint64_t durable)
{
    uint64_t start = o->marked;
    output_mark(o, version, durable);
    if (o->own_end >= start || o->base + o->sent >= start) o->own_end = o->marked;
}

/* How many of the bytes may be sent. */
static size_t ready_end(struct output *o, uint64_t durable, bool only_own)
{
    uint64_t base = o->base;
    size_t own = o->own_end > base ? (size_t)(o->own_end - base) : 0;
    while (o->mark_count > 0 && first_mark(o)->version <= durable) {
        o->mark_first = (o->mark_first + 1) % o->mark_cap;
        o->mark_count--;
    }
    size_t end = o->mark_count > 0 ? (size_t)(first_mark(o)->start - base) : o->bytes.len;
    if (only_own && own < end) end = own > o->sent ? own : o->sent;
    INVARIANT(end >= o->sent && end <= o->bytes.len); /* 1 and 3 */
    return end;
}

/* What may be sent, up to `end`, is written: some of it. */
static void write_drafts(struct output *o, size_t end)
{
    size_t before = o->drafts.count;
    static const struct drafts_limits limits = {.enough = WRITTEN_BYTES, .long_len = LONG_BYTES};
    size_t at = drafts_write(&o->drafts, &o->bytes, o->sent, end, &limits, &o->written);
    drafts_pass(&o->drafts, at);
    o->written_of = at - o->sent;
    o->drafts_written += before - o->drafts.count;
}

struct slice output_long_draft(const struct output *o, draft_write **write)
{
    const struct draft *draft = drafts_first(&o->drafts);
    INVARIANT(o->awaits_long && is_long_next(o)); /* 6 */
    *write = draft->write;
    return slice_of(o->bytes.data + draft->start, draft->len);
}

void output_put_written(struct output *o, struct buf *written)
{
    INVARIANT(o->awaits_long && is_long_next(o) && o->written.len == 0); /* 6 */
    buf_fini(&o->written);
    o->written = *written;
    buf_init(written);
    o->written_of = drafts_first(&o->drafts)->len;
    drafts_pass(&o->drafts, o->sent + o->written_of);
    o->awaits_long = false;
    check(o);
}

void output_write_long(struct output *o)
{
    struct buf written;
    draft_write *write;
    buf_init(&written);
    struct slice draft = output_long_draft(o, &write);
    write(draft, &written);
    output_put_written(o, &written);
}

struct slice output_ready(struct output *o, uint64_t durable, bool only_own)
{
    check(o);
    INVARIANT(o->marked == o->base + o->bytes.len); /* 2 */
    if (o->awaits_long || o->written.is_failed) return slice_of(NULL, 0);
    if (o->written.len == 0) {
        size_t end = ready_end(o, durable, only_own);
        size_t draft = drafts_start(&o->drafts);
        if (draft >= end) return slice_of(o->bytes.data + o->sent, end - o->sent);
        if (draft - o->sent >= PLAIN_BYTES) {
            return slice_of(o->bytes.data + o->sent, draft - o->sent);
        }
        o->awaits_long = is_long_next(o);
        if (o->awaits_long) return slice_of(NULL, 0);
        write_drafts(o, end);
    }
    if (o->written.is_failed) return slice_of(NULL, 0);
    if (only_own && o->base + o->sent + o->written_of > o->own_end) return slice_of(NULL, 0);
    return slice_of(o->written.data + o->written_sent, o->written.len - o->written_sent);
}

static void sent_bytes(struct output *o, size_t n)
{
    o->sent += n;
    INVARIANT(o->sent <= o->bytes.len);
    if (o->sent == o->bytes.len) {
        o->base += o->bytes.len;
        o->sent = 0;
        buf_clear(&o->bytes, KEEP_BYTES);
    } else if (o->sent >= COMPACT_BYTES && o->sent >= o->bytes.len - o->sent) {
        /* Only when no more is moved than was sent: else a long reply is moved once for each part
         * of it that a slow reader takes. */
        buf_shift(&o->bytes, o->sent);
        drafts_shift(&o->drafts, o->sent);
        o->base += o->sent;
        o->sent = 0;
    }
}

static void sent_written(struct output *o, size_t n)
{
    o->written_sent += n;
    INVARIANT(o->written_sent <= o->written.len);
    if (o->written_sent < o->written.len) return;
    size_t of = o->written_of;
    buf_clear(&o->written, KEEP_BYTES);
    o->written_sent = o->written_of = 0;
    sent_bytes(o, of);
}

void output_sent(struct output *o, size_t n)
{
    if (o->written.len == 0) {
        sent_bytes(o, n);
    } else {
        sent_written(o, n);
    }
    INVARIANT(o->mark_count == 0 || first_mark(o)->start >= o->base + o->sent); /* 3 */
}

bool output_is_broken(const struct output *o)
{
    return o->written.is_failed;
}

void output_trim(struct output *o)
{
    if (o->bytes.len > 0) return;
    buf_fini(&o->bytes);
    buf_fini(&o->written);
    drafts_fini(&o->drafts);
}

size_t output_pending(const struct output *o)
{
    return o->bytes.len - o->sent - o->written_of + o->written.len - o->written_sent;
}

size_t output_held(const struct output *o)
{
    return o->bytes.cap + o->written.cap + drafts_held(&o->drafts) + o->mark_cap * sizeof *o->marks;
}

bool output_is_empty(const struct output *o)
{
    return o->bytes.len == o->sent;
}

bool output_waits(const struct output *o, uint64_t durable)
{
    return o->mark_count > 0 && mark_at(o, o->mark_count - 1)->version > durable;
}

bool output_is_over(struct output *o, const struct output_limit *limit, int64_t now_us)
{
    size_t pending = output_pending(o);
    bool is_over = limit->hard_bytes != 0 && pending > limit->hard_bytes;
    if (limit->soft_bytes == 0 || pending <= limit->soft_bytes) {
        o->soft_since_us = 0;
        return is_over;
    }
    if (o->soft_since_us == 0) o->soft_since_us = now_us;
    return is_over || now_us - o->soft_since_us > (int64_t)limit->soft_s * 1000000;
}
