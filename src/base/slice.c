/* slice: words and numbers in bytes. Numbers have one spelling: no leading zeros, no plus, no -0.
 */
#include "base/slice.h"

#include <stdlib.h>

bool slice_is_word(struct slice s, const char *upper)
{
    for (size_t i = 0; i < s.len; i++) {
        uint8_t c = s.data[i];
        if (c >= 'a' && c <= 'z') c = (uint8_t)(c - 'a' + 'A');
        if (c != (uint8_t)upper[i] || upper[i] == '\0') return false;
    }
    return upper[s.len] == '\0';
}

bool slice_to_u64(struct slice s, uint64_t *out)
{
    if (s.len == 0 || s.len > 20) return false;
    if (s.data[0] == '0' && s.len > 1) return false;
    uint64_t v = 0;
    for (size_t i = 0; i < s.len; i++) {
        uint8_t d = (uint8_t)(s.data[i] - '0');
        if (d > 9) return false;
        if (__builtin_mul_overflow(v, (uint64_t)10, &v)) return false;
        if (__builtin_add_overflow(v, (uint64_t)d, &v)) return false;
    }
    *out = v;
    return true;
}

bool slice_to_i64(struct slice s, int64_t *out)
{
    bool negative = s.len > 0 && s.data[0] == '-';
    uint64_t magnitude = 0;
    if (negative) s = slice_of(s.data + 1, s.len - 1);
    if (!slice_to_u64(s, &magnitude)) return false;
    if (negative && magnitude == 0) return false;
    if (magnitude > (uint64_t)INT64_MAX + (negative ? 1u : 0u)) return false;
    *out = negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude;
    return true;
}

bool slice_to_bytes(struct slice s, uint64_t *out)
{
    static const struct {
        const char *name;
        uint64_t factor;
    } units[] = {
        {"", 1},        {"B", 1},         {"K", 1000},       {"KB", 1u << 10},
        {"M", 1000000}, {"MB", 1u << 20}, {"G", 1000000000}, {"GB", 1u << 30},
    };
    size_t digits = 0;
    uint64_t n = 0;
    while (digits < s.len && s.data[digits] >= '0' && s.data[digits] <= '9') digits++;
    if (!slice_to_u64(slice_of(s.data, digits), &n)) return false;
    struct slice unit = slice_of(s.data + digits, s.len - digits);
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (!slice_is_word(unit, units[i].name)) continue;
        return !__builtin_mul_overflow(n, units[i].factor, out);
    }
    return false;
}

struct slice slice_take(struct slice *rest, char end)
{
    const uint8_t *at = rest->len == 0 ? NULL : memchr(rest->data, end, rest->len);
    size_t len = at == NULL ? rest->len : (size_t)(at - rest->data);
    size_t used = at == NULL ? len : len + 1;
    struct slice taken = slice_of(rest->data, len);
    if (used > 0) *rest = slice_of(rest->data + used, rest->len - used);
    return taken;
}

static int compare(const void *a, const void *b)
{
    return slice_cmp(*(const struct slice *)a, *(const struct slice *)b);
}

size_t slice_sort_distinct(struct slice *items, size_t count)
{
    size_t kept = 0;
    if (count < 2) return count;
    qsort(items, count, sizeof *items, compare);
    for (size_t i = 0; i < count; i++) {
        if (kept > 0 && slice_eq(items[kept - 1], items[i])) continue;
        items[kept++] = items[i];
    }
    return kept;
}
