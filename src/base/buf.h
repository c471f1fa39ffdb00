/* buf: owned, growing bytes, for building output. Errors are sticky: after an allocation failed
 * `is_failed` is set, later appends do nothing, and one check at the end is enough.
 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include "base/err.h"
#include "base/slice.h"

struct buf {
    uint8_t *data;  /* owned */
    size_t len;     /* bytes used */
    size_t cap;     /* bytes allocated */
    bool is_failed; /* an append was lost for want of memory */
};

void buf_init(struct buf *b);
void buf_fini(struct buf *b);
/* Forget the content and the error, keep the memory; above `keep_bytes` give it back. */
void buf_clear(struct buf *b, size_t keep_bytes);
/* Room for `bytes` more; NULL (sticky) when there is no memory. Does not change len. */
uint8_t *buf_reserve_slow(struct buf *b, size_t bytes);
/* Ends the program if an append was lost: for small things of our own, such as paths. */
void buf_require(const struct buf *b);
void buf_append(struct buf *b, const void *data, size_t len);
void buf_append_str(struct buf *b, const char *text);
void buf_append_i64(struct buf *b, int64_t value);
void buf_append_u64(struct buf *b, uint64_t value);
void buf_printf(struct buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Remove the first n bytes. */
void buf_shift(struct buf *b, size_t n);

static inline uint8_t *buf_reserve(struct buf *b, size_t bytes)
{
    if (b->cap - b->len >= bytes && !b->is_failed) return b->data + b->len;
    return buf_reserve_slow(b, bytes);
}

static inline void buf_append_byte(struct buf *b, uint8_t byte)
{
    uint8_t *p = buf_reserve(b, 1);
    if (p == NULL) return;
    *p = byte;
    b->len++;
}

static inline struct slice buf_slice(const struct buf *b)
{
    return slice_of(b->data, b->len);
}

/* Decimal digits of v into out (at most 20 bytes, not NUL-ended); the number written. */
size_t u64_format(uint64_t v, char *out);

#endif
