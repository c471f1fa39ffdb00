/* names: see names.h. One list holds the names of all open objects, those of the innermost last.
 * The table of an object is made and dropped in names_end; that of the ids grows with them. */
#include "codec/names.h"

#include <sys/random.h>

#include "base/mem.h"

#define FETCHED 16 /* slots at once */

void names_init(struct names *n)
{
    n->list = n->first;
    n->count = 0;
    n->cap = NAMES_INLINE;
    n->ids = NULL;
    n->ids_count = n->ids_cap = 0;
    n->is_seeded = n->is_failed = false;
}

void names_fini(struct names *n)
{
    if (n->list != n->first) mem_free(n->list);
    mem_free(n->ids);
}

static void seed(struct names *n)
{
    if (n->is_seeded) return;
    if (getrandom(n->seed, sizeof n->seed, GRND_NONBLOCK) != (ssize_t)sizeof n->seed) {
        /* Early boot only: an address is a poor secret, but better than none. */
        n->seed[0] = (uint64_t)(uintptr_t)n * UINT64_C(0x9e3779b97f4a7c15);
        n->seed[1] = ~n->seed[0];
    }
    n->is_seeded = true;
}

static void sip_round(uint64_t v[4])
{
#define ROTATE(x, b) ((x) << (b) | (x) >> (64 - (b)))
    v[0] += v[1];
    v[1] = ROTATE(v[1], 13) ^ v[0];
    v[0] = ROTATE(v[0], 32);
    v[2] += v[3];
    v[3] = ROTATE(v[3], 16) ^ v[2];
    v[0] += v[3];
    v[3] = ROTATE(v[3], 21) ^ v[0];
    v[2] += v[1];
    v[1] = ROTATE(v[1], 17) ^ v[2];
    v[2] = ROTATE(v[2], 32);
#undef ROTATE
}

static uint64_t hash(const struct names *n, const uint8_t *data, size_t len)
{
    uint64_t v[4] = {
        n->seed[0] ^ UINT64_C(0x736f6d6570736575), n->seed[1] ^ UINT64_C(0x646f72616e646f6d),
        n->seed[0] ^ UINT64_C(0x6c7967656e657261), n->seed[1] ^ UINT64_C(0x7465646279746573)};
    uint64_t word = 0;
    size_t left = len;
    for (; left >= 8; left -= 8, data += 8) {
        memcpy(&word, data, 8);
        v[3] ^= word;
        sip_round(v);
        v[0] ^= word;
    }
    word = 0;
    if (left > 0) memcpy(&word, data, left);
    word |= (uint64_t)len << 56;
    v[3] ^= word;
    sip_round(v);
    v[0] ^= word;
    v[2] ^= 0xff;
    for (int i = 0; i < 3; i++) sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

static bool is_same(const uint8_t *base, const struct name *a, size_t at, size_t tag)
{
    if (a->tag != tag) return false;
    const uint8_t *p = base + a->at, *q = base + at;
    size_t len = tag / 2;
    /* Names of one length mostly differ in their first byte: saves the call. */
    return len == 0 || (*p == *q && memcmp(p, q, len) == 0);
}

static bool grow(struct names *n)
{
    size_t cap = n->cap * 2;
    struct name *old = n->list == n->first ? NULL : n->list;
    struct name *list = mem_resize_try(old, cap * sizeof *list);
    if (list == NULL) {
        n->is_failed = true;
        return false;
    }
    if (old == NULL) memcpy(list, n->first, n->count * sizeof *list);
    n->list = list;
    n->cap = cap;
    return true;
}

bool names_add(struct names *n, size_t from, const uint8_t *base, size_t at, size_t tag,
               size_t where)
{
    if (n->count == n->cap && !grow(n)) return true;
    if (n->count - from < NAMES_PAIRWISE) {
        for (size_t i = from; i < n->count; i++) {
            if (is_same(base, &n->list[i], at, tag)) return false;
        }
    }
    struct name *name = &n->list[n->count++];
    name->at = at;
    name->tag = tag;
    name->where = where;
    return true;
}

struct slot {
    uint32_t check; /* upper half of the hash: saves most looks at the bytes */
    uint32_t index; /* plus 1; 0 = free */
};

/* The names of one object: open addressing. */
struct table {
    const struct name *list;
    const uint8_t *base; /* of their bytes */
    struct slot *slots;
    size_t mask; /* how many there are, a power of two, less 1 */
};

/* The i-th name. False when there is an equal one. */
static bool put(struct table *t, size_t i, uint64_t h)
{
    const struct name *name = &t->list[i];
    uint32_t check = (uint32_t)(h >> 32);
    size_t at = (size_t)h & t->mask;
    for (; t->slots[at].index != 0; at = (at + 1) & t->mask) {
        const struct name *other = &t->list[t->slots[at].index - 1];
        if (t->slots[at].check == check && is_same(t->base, other, name->at, name->tag)) {
            return false;
        }
    }
    t->slots[at] = (struct slot){.check = check, .index = (uint32_t)i + 1};
    return true;
}

/* The second of two equal ones; NULL. The slots of some names are fetched at once: of a million
 * they are in no cache. */
static const struct name *put_all(const struct names *n, struct table *t, size_t count)
{
    for (size_t first = 0; first < count; first += FETCHED) {
        uint64_t hashes[FETCHED];
        size_t some = count - first < FETCHED ? count - first : FETCHED;
        for (size_t i = 0; i < some; i++) {
            const struct name *name = &t->list[first + i];
            hashes[i] = hash(n, t->base + name->at, name->tag / 2);
            __builtin_prefetch(&t->slots[(size_t)hashes[i] & t->mask], 1);
        }
        for (size_t i = 0; i < some; i++) {
            if (!put(t, first + i, hashes[i])) return &t->list[first + i];
        }
    }
    return NULL;
}

const struct name *names_end(struct names *n, size_t from, const uint8_t *base)
{
    size_t count = n->count - from;
    n->count = from;
    if (count <= NAMES_PAIRWISE || n->is_failed) return NULL;
    seed(n);
    size_t cap = 64;
    while (cap < count * 2) cap *= 2;
    struct slot fixed[64];
    struct slot *slots = cap == 64 ? fixed : mem_alloc_try(cap * sizeof *slots);
    if (slots == NULL) {
        n->is_failed = true;
        return NULL;
    }
    memset(slots, 0, cap * sizeof *slots);
    struct table t = {.list = n->list + from, .base = base, .slots = slots, .mask = cap - 1};
    const struct name *again = put_all(n, &t, count);
    if (slots != fixed) mem_free(slots);
    return again;
}

static size_t id_slot(const struct names *n, uint32_t id)
{
    size_t at = (size_t)hash(n, (const uint8_t *)&id, sizeof id) & (n->ids_cap - 1);
    while (n->ids[at] != 0 && n->ids[at] != id) at = (at + 1) & (n->ids_cap - 1);
    return at;
}

static bool grow_ids(struct names *n)
{
    uint32_t *old = n->ids;
    size_t old_cap = n->ids_cap, cap = old_cap == 0 ? 64 : old_cap * 2;
    uint32_t *ids = mem_alloc_try(cap * sizeof *ids);
    if (ids == NULL) {
        n->is_failed = true;
        return false;
    }
    memset(ids, 0, cap * sizeof *ids);
    n->ids = ids;
    n->ids_cap = cap;
    for (size_t i = 0; i < old_cap; i++) {
        if (old[i] != 0) ids[id_slot(n, old[i])] = old[i];
    }
    mem_free(old);
    return true;
}

bool names_add_id(struct names *n, uint32_t id)
{
    seed(n);
    if (n->ids_count * 2 >= n->ids_cap && !grow_ids(n)) return true;
    size_t at = id_slot(n, id);
    if (n->ids[at] == id) return false;
    n->ids[at] = id;
    n->ids_count++;
    return true;
}

bool names_has_id(const struct names *n, uint32_t id)
{
    return n->ids_cap > 0 && n->ids[id_slot(n, id)] == id;
}
