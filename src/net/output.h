/* output: what a connection has to send, and how much of it may leave: the rule of holding.
 * Replies are appended in order; each depends on a version, and no byte of it leaves before that
 * version is durable. Marks remember where the demand rises: (start offset, version), so that the
 * part that may go is always a prefix: all before the first mark.
 *
 *   base        sent                             mark (7)            mark (9)     marked
 *   |--- sent ---|--- written ---|--- may go ----|--- held: needs 7 --|-- needs 9 --|
 *                |  written_of   |
 *
 *   appended       by the protocol, to `bytes`, and drafts_add
 *   marked         output_mark, output_mark_own: from now on it may be looked at
 *   may go         output_ready, once the version of the first mark is durable
 *   written        output_ready, or output_put_written: drafts, and what is around them, as text in
 *                  `written`; what is without drafts is sent from where it is
 *   sent           output_sent; `bytes` is moved down, and `base` up, when much of it was sent
 *
 * A node that may not answer now sends only what depends on nothing that was evaluated: its own
 * bytes, as far as they come before all others, up to own_end, which is a prefix again.
 *
 * Parts of it may be drafts (base/drafts.h), which are written when they are to be sent, into a
 * buffer of their own. Long ones are written elsewhere, by the owner (net/render.c): output_ready
 * stops before one (awaits_long), and goes on after output_put_written. All offsets, in the stream
 * too, are of the text with its drafts; what a written stretch stands for counts as sent when all
 * of the stretch is.
 *
 * Invariants, whenever no function of it runs:
 *   1. base + sent + written_of <= base + bytes.len, and own_end <= marked.
 *   2. Nothing leaves before it was marked: all is when output_ready is called.
 *   3. Marks rise in offset and in version, and no byte from the first mark on was sent or written,
 *      unless its version has become durable.
 *   4. There is a written stretch, which stands for at least a byte, exactly while `written` has
 *      bytes or has failed.
 *   5. No draft begins in what was sent or written.
 *   6. While awaits_long, the first draft begins at `sent`, and nothing is written.
 *
 * An output is used by one thread at a time: the loop's, or one that sends while the loop waits.
 */
#ifndef NET_OUTPUT_H
#define NET_OUTPUT_H

#include "base/buf.h"
#include "base/drafts.h"

struct output_mark {
    uint64_t start; /* offset in the stream of the first byte that needs the version */
    uint64_t version;
};

struct output {
    struct buf bytes;          /* owned; what is not yet sent */
    struct drafts drafts;      /* of bytes */
    size_t sent;               /* of bytes, already written to the socket */
    struct buf written;        /* owned; what is to be sent next, when there are drafts in it ... */
    size_t written_sent;       /* ... how much of it was sent ... */
    size_t written_of;         /* ... and of how many bytes, from `sent` on, it was written */
    bool awaits_long;          /* a long draft is next: output_long_draft */
    uint64_t drafts_written;   /* ever */
    uint64_t base;             /* offset in the stream of bytes.data[0] */
    uint64_t marked;           /* offset in the stream up to which output_mark has looked */
    uint64_t own_end;          /* likewise: up to here all that was not sent is the node's own */
    struct output_mark *marks; /* owned; ring of mark_cap, oldest at mark_first */
    size_t mark_first, mark_count, mark_cap;
    int64_t soft_since_us; /* above the soft limit since; 0 = it was not when last looked at */
};

/* Unsent output at which a connection is closed. */
struct output_limit {
    uint64_t hard_bytes; /* at once; 0 = no limit */
    uint64_t soft_bytes; /* when it stays above for soft_s; 0 = no limit */
    uint64_t soft_s;
};

void output_init(struct output *o);
void output_fini(struct output *o);
/* Everything appended to o->bytes since the last call needs `version` (0 or already durable:
 * nothing of its own, but what is held before it holds it too). */
void output_mark(struct output *o, uint64_t version, uint64_t durable);
/* Likewise, and it depends on nothing that was evaluated. */
void output_mark_own(struct output *o, uint64_t version, uint64_t durable);
/* Bytes that may be written now, `only_own`: of those that depend on nothing that was evaluated.
 * Drafts among them are written first. Nothing of another output is touched. None although there
 * are some: output_is_broken, or o->awaits_long. */
struct slice output_ready(struct output *o, uint64_t durable, bool only_own);
/* While awaits_long: the draft that is next, which takes long to be written. Borrowed until more is
 * appended. */
struct slice output_long_draft(const struct output *o, draft_write **write);
/* What became of it; *written is taken, and may have failed. */
void output_put_written(struct output *o, struct buf *written);
/* As output_put_written, of what it becomes when it is written now. */
void output_write_long(struct output *o);
/* The first n of them were. */
void output_sent(struct output *o, size_t n);
/* Gives memory back while nothing is in it. */
void output_trim(struct output *o);
/* There was no memory for what is to be sent: the connection has to be closed. */
bool output_is_broken(const struct output *o);
/* Bytes not yet sent; drafts count as they are until they are written. */
size_t output_pending(const struct output *o);
/* Bytes allocated. */
size_t output_held(const struct output *o);
/* Is it over the limit? To be asked whenever some of it was sent: the seconds of the soft limit
 * count from the last time that it went above. now_us: a time that never goes back. */
bool output_is_over(struct output *o, const struct output_limit *limit, int64_t now_us);
bool output_is_empty(const struct output *o);
/* Something in it must not leave before a version that is not durable. */
bool output_waits(const struct output *o, uint64_t durable);

#endif
