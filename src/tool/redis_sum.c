/* redis_sum: the sum of the hashes of all elements (modulo 2^128), each as an item of MessagePack,
 * in a list with its place. */
#include "tool/redis_sum.h"

#include <xxhash.h>

#include "tool/redis_long.h"

#define EXPIRY_TOLERANCE_MS 1000 /* of servers that say how long a key lives, not until when */

static void add(struct redis_sum *sum, struct slice bytes, uint64_t seed)
{
    XXH128_hash_t h = XXH3_128bits_withSeed(bytes.data, bytes.len, seed);
    sum->high += h.high64 + (sum->low + h.low64 < sum->low);
    sum->low += h.low64;
}

static void add_elements(struct redis_sum *sum, struct redis_elements *elements, struct arena *a)
{
    struct fields f = {.is_pack = true};
    struct slice *items = NULL;
    size_t count = 0;
    arena_reset(a);
    if (!field_list(&f, redis_elements_raw(elements), a, &items, &count)) return;
    for (size_t i = 0; i < count; i++) {
        add(sum, items[i], sum->kind == REDIS_LIST ? sum->count : 0);
        sum->count++;
    }
}

static void add_string(struct redis_sum *sum, struct slice bytes)
{
    sum->count = bytes.len;
    add(sum, bytes, 0);
}

static enum tool_status sum_long(struct redis_reader *r, struct slice name, struct arena *a,
                                 struct redis_sum *sum)
{
    struct redis_long l = {.new = {.is_still = true}};
    enum tool_status s = TOOL_DONE;
    redis_long_begin(&l, r, name);
    while (s == TOOL_DONE && !l.is_over) {
        s = redis_long_next(&l);
        if (s != TOOL_DONE) break;
        if (l.told == 0) *sum = (struct redis_sum){.kind = l.kind, .expires_ms = l.expires_ms};
        if (l.kind == REDIS_STRING) {
            add_string(sum, buf_slice(&l.bytes));
        } else if (l.kind != REDIS_NONE && l.kind != REDIS_OTHER) {
            add_elements(sum, &l.new, a);
        }
    }
    redis_long_end(&l);
    return s;
}

enum tool_status redis_sums(struct redis_reader *r, const struct slice *names, size_t count,
                            struct redis_sum *out)
{
    struct redis_key keys[REDIS_AT_ONCE];
    struct redis_elements elements = {.is_still = true};
    struct arena a;
    arena_init(&a, 65536);
    for (size_t i = 0; i < count; i++) keys[i].name = names[i];
    enum tool_status s = redis_read(r, keys, count);
    for (size_t i = 0; i < count; i++) {
        struct redis_key *key = &keys[i];
        bool is_long = key->is_long;
        out[i] = (struct redis_sum){.kind = key->kind, .expires_ms = key->expires_ms};
        bool is_read = s == TOOL_DONE && !is_long && key->kind != REDIS_NONE;
        if (is_read && key->kind == REDIS_STRING) {
            add_string(&out[i], redis_key_bytes(key));
        } else if (is_read && key->kind != REDIS_OTHER) {
            is_long = !redis_key_elements(key, &elements);
            if (!is_long) add_elements(&out[i], &elements, &a);
        }
        redis_key_clear(key);
        if (s == TOOL_DONE && is_long) s = sum_long(r, key->name, &a, &out[i]);
    }
    redis_elements_fini(&elements);
    arena_fini(&a);
    return s;
}

bool redis_sum_is_equal(const struct redis_sum *a, const struct redis_sum *b)
{
    int64_t apart_ms = a->expires_ms - b->expires_ms;
    bool ends = a->expires_ms != 0;
    return a->kind == b->kind && a->count == b->count && a->high == b->high && a->low == b->low &&
           ends == (b->expires_ms != 0) && apart_ms <= EXPIRY_TOLERANCE_MS &&
           apart_ms >= -EXPIRY_TOLERANCE_MS;
}
