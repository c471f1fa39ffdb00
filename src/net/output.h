/* output: what a connection has to send, and how much of it may leave: the rule of holding.
 * Replies are appended in order; each depends on a version, and no byte of it leaves before that
 * version is durable. Marks remember where the demand rises: (start offset, version), versions
 * strictly rising, so that the part that may go is always a prefix: all before the first mark.
 *
 *   sent            mark (7)                      mark (9)
 *   |--- may go ----|--- held: needs version 7 ---|--- needs 9 ---|
 */
#ifndef NET_OUTPUT_H
#define NET_OUTPUT_H

#include "base/buf.h"

struct output_mark {
    uint64_t start; /* offset in the stream of the first byte that needs the version */
    uint64_t version;
};

struct output {
    struct buf bytes;          /* owned; what is not yet sent */
    size_t sent;               /* of bytes, already written to the socket */
    uint64_t base;             /* offset in the stream of bytes.data[0] */
    uint64_t marked;           /* offset in the stream up to which output_mark has looked */
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
/* The bytes that may be written now. */
struct slice output_ready(struct output *o, uint64_t durable);
/* The first n of them were. */
void output_sent(struct output *o, size_t n);
/* Gives memory back while nothing is in it. */
void output_trim(struct output *o);
/* Bytes not yet sent. */
size_t output_pending(const struct output *o);
/* Bytes allocated. */
size_t output_held(const struct output *o);
/* Is it over the limit? To be asked whenever some of it was sent: the seconds of the soft limit
 * count from the last time that it went above. now_us: a time that never goes back. */
bool output_is_over(struct output *o, const struct output_limit *limit, int64_t now_us);
bool output_is_empty(const struct output *o);

#endif
