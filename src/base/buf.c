/* buf: growing: by doubling up to 1 MB, then by half. Numbers are written two digits at a time,
 * from a table of pairs. */
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/mem.h"

void buf_init(struct buf *b)
{
    *b = (struct buf){0};
}

void buf_fini(struct buf *b)
{
    mem_free(b->data);
    *b = (struct buf){0};
}

void buf_clear(struct buf *b, size_t keep_bytes)
{
    if (b->cap > keep_bytes) buf_fini(b);
    b->len = 0;
    b->is_failed = false;
}

uint8_t *buf_reserve_slow(struct buf *b, size_t bytes)
{
    if (b->is_failed) return NULL;
    size_t need = 0;
    if (__builtin_add_overflow(b->len, bytes, &need)) {
        b->is_failed = true;
        return NULL;
    }
    if (need > b->cap) {
        size_t cap = b->cap < 64 ? 64 : b->cap;
        while (cap < need) cap += cap < (1u << 20) ? cap : cap / 2;
        uint8_t *data = mem_resize_try(b->data, cap);
        if (data == NULL) {
            b->is_failed = true;
            return NULL;
        }
        b->data = data;
        b->cap = cap;
    }
    return b->data + b->len;
}

void buf_require(const struct buf *b)
{
    if (b->is_failed) die("out of memory for a small buffer");
}

void buf_append(struct buf *b, const void *data, size_t len)
{
    if (len == 0) return;
    uint8_t *p = buf_reserve(b, len);
    if (p == NULL) return;
    bytes_copy(p, data, len);
    b->len += len;
}

void buf_append_str(struct buf *b, const char *text)
{
    buf_append(b, text, strlen(text));
}

static size_t decimal_digits(uint64_t v)
{
    static const uint64_t powers[] = {UINT64_C(1),
                                      UINT64_C(10),
                                      UINT64_C(100),
                                      UINT64_C(1000),
                                      UINT64_C(10000),
                                      UINT64_C(100000),
                                      UINT64_C(1000000),
                                      UINT64_C(10000000),
                                      UINT64_C(100000000),
                                      UINT64_C(1000000000),
                                      UINT64_C(10000000000),
                                      UINT64_C(100000000000),
                                      UINT64_C(1000000000000),
                                      UINT64_C(10000000000000),
                                      UINT64_C(100000000000000),
                                      UINT64_C(1000000000000000),
                                      UINT64_C(10000000000000000),
                                      UINT64_C(100000000000000000),
                                      UINT64_C(1000000000000000000),
                                      UINT64_C(10000000000000000000)};
    unsigned bits = 64 - (unsigned)__builtin_clzll(v | 1);
    unsigned guess = bits * 1233 >> 12; /* 1233 / 4096 is about log10(2) */
    return guess + (v >= powers[guess] || v == 0);
}

size_t u64_format(uint64_t v, char *out)
{
    static const char pairs[] = "0001020304050607080910111213141516171819"
                                "2021222324252627282930313233343536373839"
                                "4041424344454647484950515253545556575859"
                                "6061626364656667686970717273747576777879"
                                "8081828384858687888990919293949596979899";
    size_t digits = decimal_digits(v);
    size_t at = digits;
    while (v >= 100) {
        unsigned two = (unsigned)(v % 100);
        v /= 100;
        at -= 2;
        memcpy(out + at, pairs + two * 2, 2);
    }
    if (v >= 10) {
        memcpy(out, pairs + v * 2, 2);
    } else {
        out[0] = (char)('0' + v);
    }
    return digits;
}

void buf_append_u64(struct buf *b, uint64_t value)
{
    uint8_t *p = buf_reserve(b, 20);
    if (p == NULL) return;
    b->len += u64_format(value, (char *)p);
}

void buf_append_i64(struct buf *b, int64_t value)
{
    if (value < 0) buf_append_byte(b, '-');
    buf_append_u64(b, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

void buf_printf(struct buf *b, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    INVARIANT(n >= 0);
    uint8_t *p = buf_reserve(b, (size_t)n + 1);
    if (p == NULL) return;
    va_start(args, format);
    vsnprintf((char *)p, (size_t)n + 1, format, args);
    va_end(args);
    b->len += (size_t)n;
}

void buf_shift(struct buf *b, size_t n)
{
    INVARIANT(n <= b->len);
    if (n > 0 && n < b->len) memmove(b->data, b->data + n, b->len - n);
    b->len -= n;
}
