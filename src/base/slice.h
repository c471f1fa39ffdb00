/* slice: borrowed bytes. The giver of a slice says how long it stays good; a slice is never freed.
 * Order is memcmp, the shorter first when one is a prefix of the other: the order of keys on disk.
 */
#ifndef BASE_SLICE_H
#define BASE_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct slice {
    const uint8_t *data; /* borrowed; may be NULL only when len is 0 */
    size_t len;          /* bytes */
};

static inline struct slice slice_of(const void *data, size_t len)
{
    return (struct slice){.data = data, .len = len};
}

static inline struct slice slice_str(const char *text)
{
    return slice_of(text, strlen(text));
}

/* <0, 0, >0 as memcmp. */
static inline int slice_cmp(struct slice a, struct slice b)
{
    size_t n = a.len < b.len ? a.len : b.len;
    int c = n > 0 ? memcmp(a.data, b.data, n) : 0;
    if (c != 0) return c;
    return a.len < b.len ? -1 : a.len > b.len;
}

static inline bool slice_eq(struct slice a, struct slice b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

static inline bool slice_has_prefix(struct slice s, struct slice prefix)
{
    return s.len >= prefix.len && (prefix.len == 0 || memcmp(s.data, prefix.data, prefix.len) == 0);
}

/* memcpy for what is mostly short: up to 32 bytes in place, with loads that overlap in the middle.
 */
static inline void bytes_copy(void *to, const void *from, size_t len)
{
    uint8_t *t = (uint8_t *)to;
    const uint8_t *f = (const uint8_t *)from;
    if (len > 32) {
        memcpy(t, f, len);
    } else if (len >= 16) {
        uint64_t a[2];
        uint64_t b[2];
        memcpy(a, f, 16);
        memcpy(b, f + len - 16, 16);
        memcpy(t, a, 16);
        memcpy(t + len - 16, b, 16);
    } else if (len >= 8) {
        uint64_t a;
        uint64_t b;
        memcpy(&a, f, 8);
        memcpy(&b, f + len - 8, 8);
        memcpy(t, &a, 8);
        memcpy(t + len - 8, &b, 8);
    } else if (len >= 4) {
        uint32_t a;
        uint32_t b;
        memcpy(&a, f, 4);
        memcpy(&b, f + len - 4, 4);
        memcpy(t, &a, 4);
        memcpy(t + len - 4, &b, 4);
    } else if (len > 0) {
        t[0] = f[0];
        t[len / 2] = f[len / 2];
        t[len - 1] = f[len - 1];
    }
}

/* For libraries whose declarations lack a const: they do not write there. */
static inline void *bytes_unconst(const void *p)
{
    union {
        const void *in;
        void *out;
    } u = {.in = p};
    return u.out;
}

/* True when `s` is the ASCII word `upper` in any case; `upper` must be upper-case. */
bool slice_is_word(struct slice s, const char *upper);

/* Strict decimal: optional '-', no '+', no blanks, no leading zeros ("0" itself is fine), fits
 * int64. */
bool slice_to_i64(struct slice s, int64_t *out);

/* Strict decimal without sign that fits uint64. */
bool slice_to_u64(struct slice s, uint64_t *out);
/* Digits and a unit in any case: none, b, k, kb, m, mb, g, gb; 1k is 1000, 1kb is 1024. */
bool slice_to_bytes(struct slice s, uint64_t *out);
/* Takes the text up to the next `end` off `rest`, and that byte; all of it when there is none. */
struct slice slice_take(struct slice *rest, char end);

/* Sorts them, each once; how many are left. */
size_t slice_sort_distinct(struct slice *items, size_t count);

#endif
