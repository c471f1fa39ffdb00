/* patterns: see patterns.h. A hash of their texts finds one that is there; patterns that are a
 * prefix and a star are searched in a sorted table that leaves out what another covers; all others
 * are matched one by one. */
#include "access/patterns.h"

#include <stdlib.h>

#include "base/glob.h"
#include "base/htab.h"
#include "base/mem.h"

void patterns_init(struct patterns *p)
{
    *p = (struct patterns){0};
}

static void prefixes_drop(struct patterns *p)
{
    for (unsigned needs = 1; needs <= ACCESS_BOTH; needs++) {
        mem_free(p->prefixes[needs].items);
        p->prefixes[needs] = (struct access_prefixes){0};
    }
}

void patterns_reset(struct patterns *p)
{
    for (size_t i = 0; i < p->count; i++) mem_free(p->items[i].bytes);
    p->count = 0;
    if (p->cap > 0) memset(p->places, 0, 2 * p->cap * sizeof *p->places);
    p->allows_all = false;
    prefixes_drop(p);
}

void patterns_fini(struct patterns *p)
{
    patterns_reset(p);
    mem_free(p->items);
    mem_free(p->places);
    patterns_init(p);
}

/* ---- the tables of prefixes ---- */

static int by_bytes(const void *a, const void *b)
{
    return slice_cmp(*(const struct slice *)a, *(const struct slice *)b);
}

/* Sorted, what begins with the one before it comes after it: that one covers it. */
static void prefixes_make(const struct patterns *p, unsigned needs, struct access_prefixes *out)
{
    size_t count = 0;
    out->items = mem_alloc((p->count + 1) * sizeof *out->items);
    for (size_t i = 0; i < p->count; i++) {
        const struct access_pattern *x = &p->items[i];
        if (!x->is_prefix || (x->needs & needs) != needs) continue;
        out->items[count++] = slice_of(x->text.data, x->text.len - 1);
    }
    qsort(out->items, count, sizeof *out->items, by_bytes);
    out->count = 0;
    for (size_t i = 0; i < count; i++) {
        bool is_covered = out->count > 0 &&
                          slice_has_prefix(out->items[i], out->items[out->count - 1]);
        if (!is_covered) out->items[out->count++] = out->items[i];
    }
}

/* Of a set in which none is a beginning of another, only the last one that is not after the text
 * can be a beginning of it. */
static bool prefixes_match(const struct access_prefixes *x, struct slice text)
{
    size_t low = 0;
    size_t high = x->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (slice_cmp(x->items[middle], text) <= 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low > 0 && slice_has_prefix(text, x->items[low - 1]);
}

static bool is_prefix_pattern(struct slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        uint8_t c = text.data[i];
        if (c == '*') return i + 1 == text.len;
        if (c == '\\' || c == '?' || c == '[') return false;
    }
    return false;
}

/* ---- what it holds ---- */

/* Of the text in p->places, or where it is to be put: they are half full at most. cap > 0. */
static uint32_t *place_of(const struct patterns *p, struct slice text)
{
    size_t i = hash_bytes(text) % (2 * p->cap);
    while (p->places[i] != 0 && !slice_eq(p->items[p->places[i] - 1].text, text)) {
        i = (i + 1) % (2 * p->cap);
    }
    return &p->places[i];
}

static struct access_pattern *find(const struct patterns *p, struct slice text)
{
    const uint32_t *place = p->count > 0 ? place_of(p, text) : NULL;
    return place != NULL && *place != 0 ? &p->items[*place - 1] : NULL;
}

static void grow(struct patterns *p)
{
    p->cap = p->cap == 0 ? 4 : 2 * p->cap;
    p->items = mem_resize(p->items, p->cap * sizeof *p->items);
    mem_free(p->places);
    p->places = mem_alloc(2 * p->cap * sizeof *p->places);
    memset(p->places, 0, 2 * p->cap * sizeof *p->places);
    for (size_t i = 0; i < p->count; i++) *place_of(p, p->items[i].text) = (uint32_t)i + 1;
}

static void add(struct patterns *p, struct slice text, unsigned needs)
{
    if (p->count == p->cap) grow(p);
    INVARIANT(p->items != NULL && p->places != NULL);
    *place_of(p, text) = (uint32_t)p->count + 1;
    uint8_t *copy = mem_alloc(text.len + 1);
    bytes_copy(copy, text.data, text.len);
    p->items[p->count++] = (struct access_pattern){.bytes = copy,
                                                   .text = slice_of(copy, text.len),
                                                   .needs = needs,
                                                   .is_prefix = is_prefix_pattern(text)};
}

void patterns_ready(struct patterns *p)
{
    prefixes_drop(p);
    for (unsigned needs = 1; needs <= ACCESS_BOTH; needs++) {
        prefixes_make(p, needs, &p->prefixes[needs]);
    }
}

void patterns_add(struct patterns *p, struct slice text, unsigned needs)
{
    struct access_pattern *old = find(p, text);
    if (old != NULL) {
        old->needs |= needs;
    } else {
        add(p, text, needs);
    }
    p->allows_all = false;
}

void patterns_copy(struct patterns *to, const struct patterns *from)
{
    patterns_init(to);
    for (size_t i = 0; i < from->count; i++) add(to, from->items[i].text, from->items[i].needs);
    to->allows_all = from->allows_all;
}

/* ---- asking ---- */

bool patterns_match(const struct patterns *p, struct slice name, unsigned needs)
{
    if (p->allows_all || prefixes_match(&p->prefixes[needs], name)) return true;
    for (size_t i = 0; i < p->count; i++) {
        const struct access_pattern *x = &p->items[i];
        if (x->is_prefix || (x->needs & needs) != needs) continue;
        if (glob_match(x->text, name)) return true;
    }
    return false;
}

bool patterns_cover(const struct patterns *p, struct slice text, unsigned needs)
{
    return p->allows_all || prefixes_match(&p->prefixes[needs], text);
}

bool patterns_have(const struct patterns *p, struct slice text, unsigned needs)
{
    const struct access_pattern *x = find(p, text);
    return p->allows_all || (x != NULL && (x->needs & needs) == needs);
}
