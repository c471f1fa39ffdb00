/* counted: see counted.h.
 *
 * Invariants: blocks are in the order of their first keys; the first block begins with the empty
 * key, so that every key has a block; a group has a block, and its count is the sum of theirs; no
 * block but the first is empty.
 */
#include "base/counted.h"

#include "base/err.h"
#include "base/mem.h"

#define GROUP_MAX 512

struct block {
    uint64_t count;
    size_t len;
    uint8_t first[];
};

struct group {
    uint64_t count;
    size_t blocks;
    struct block *items[GROUP_MAX]; /* owned */
};

struct counted {
    struct group **groups; /* owned */
    size_t count, cap;
    uint64_t total;
    size_t bytes;
    struct slice last; /* the greatest key that came; owned: last_room */
    uint8_t last_room[COUNTED_KEY_MAX];
};

static struct block *block_new(struct counted *c, struct slice first, uint64_t count)
{
    struct block *b = mem_alloc(sizeof *b + first.len);
    b->count = count;
    b->len = first.len;
    bytes_copy(b->first, first.data, first.len);
    c->bytes += sizeof *b + first.len;
    return b;
}

static void block_free(struct counted *c, struct block *b)
{
    c->bytes -= sizeof *b + b->len;
    mem_free(b);
}

static void group_insert(struct counted *c, size_t at, struct group *g)
{
    if (c->count == c->cap) {
        c->cap = c->cap == 0 ? 4 : c->cap * 2;
        c->groups = mem_resize(c->groups, c->cap * sizeof(struct group *));
    }
    memmove(&c->groups[at + 1], &c->groups[at], (c->count - at) * sizeof(struct group *));
    c->groups[at] = g;
    c->count++;
    c->bytes += sizeof *g;
}

struct counted *counted_new(void)
{
    struct counted *c = mem_new(sizeof *c);
    struct group *g = mem_new(sizeof *g);
    group_insert(c, 0, g);
    g->items[g->blocks++] = block_new(c, slice_of(NULL, 0), 0);
    c->last = slice_of(c->last_room, 0);
    return c;
}

void counted_free(struct counted *c)
{
    if (c == NULL) return;
    for (size_t i = 0; i < c->count; i++) {
        for (size_t k = 0; k < c->groups[i]->blocks; k++) mem_free(c->groups[i]->items[k]);
        mem_free(c->groups[i]);
    }
    mem_free(c->groups);
    mem_free(c);
}

uint64_t counted_total(const struct counted *c)
{
    return c->total;
}

size_t counted_bytes(const struct counted *c)
{
    return sizeof *c + c->bytes;
}

/* ---- blocks ---- */

struct at {
    size_t group, block;
};

static struct slice first_of(const struct block *b)
{
    return slice_of(b->first, b->len);
}

/* The block of the key: the last whose first key is not above it. */
static struct at find(const struct counted *c, struct slice key)
{
    size_t low = 0;
    size_t high = c->count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        *(slice_cmp(first_of(c->groups[middle]->items[0]), key) <= 0 ? &low : &high) = middle;
    }
    struct at at = {.group = low};
    const struct group *g = c->groups[low];
    low = 0;
    high = g->blocks;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        *(slice_cmp(first_of(g->items[middle]), key) <= 0 ? &low : &high) = middle;
    }
    at.block = low;
    return at;
}

/* A full group is halved. */
static void group_split(struct counted *c, size_t i)
{
    struct group *g = c->groups[i];
    struct group *right = mem_new(sizeof *right);
    size_t half = g->blocks / 2;
    right->blocks = g->blocks - half;
    memcpy(right->items, &g->items[half], right->blocks * sizeof(struct block *));
    for (size_t k = 0; k < right->blocks; k++) right->count += right->items[k]->count;
    g->blocks = half;
    g->count -= right->count;
    group_insert(c, i + 1, right);
}

/* A new block after the one at `at`. */
static void block_insert(struct counted *c, struct at at, struct block *b)
{
    struct group *g = c->groups[at.group];
    if (g->blocks == GROUP_MAX) {
        group_split(c, at.group);
        if (at.block >= g->blocks) {
            at.block -= g->blocks;
            g = c->groups[at.group + 1];
        }
    }
    memmove(&g->items[at.block + 2], &g->items[at.block + 1],
            (g->blocks - at.block - 1) * sizeof(struct block *));
    g->items[at.block + 1] = b;
    g->blocks++;
    g->count += b->count;
}

static void block_remove(struct counted *c, struct at at)
{
    struct group *g = c->groups[at.group];
    if (at.group == 0 && at.block == 0) return; /* the first stays */
    block_free(c, g->items[at.block]);
    g->blocks--;
    memmove(&g->items[at.block], &g->items[at.block + 1],
            (g->blocks - at.block) * sizeof(struct block *));
    if (g->blocks > 0) return;
    mem_free(g);
    c->bytes -= sizeof *g;
    c->count--;
    memmove(&c->groups[at.group], &c->groups[at.group + 1],
            (c->count - at.group) * sizeof(struct group *));
}

static void note_last(struct counted *c, struct slice key)
{
    INVARIANT(key.len <= COUNTED_KEY_MAX);
    if (c->total > 0 && slice_cmp(key, c->last) <= 0) return;
    memcpy(c->last_room, key.data, key.len);
    c->last.len = key.len;
}

/* ---- keys ---- */

/* What comes at the end of all begins a block of its own when the last one has enough: so what
 * grows at its end never has long blocks. */
static bool begins_block(const struct counted *c, struct slice key, const struct block *b)
{
    return b->count >= COUNTED_BLOCK && c->total > 0 && slice_cmp(key, c->last) > 0;
}

void counted_add(struct counted *c, struct slice key)
{
    struct at at = find(c, key);
    struct group *g = c->groups[at.group];
    struct block *b = g->items[at.block];
    if (begins_block(c, key, b)) {
        block_insert(c, at, block_new(c, key, 1));
    } else {
        b->count++;
        g->count++;
    }
    note_last(c, key);
    c->total++;
}

bool counted_remove(struct counted *c, struct slice key)
{
    struct at at = find(c, key);
    struct group *g = c->groups[at.group];
    struct block *b = g->items[at.block];
    if (b->count == 0) return false;
    b->count--;
    g->count--;
    c->total--;
    if (b->count == 0) block_remove(c, at);
    return true;
}

struct counted_place counted_of_key(const struct counted *c, struct slice key)
{
    struct at at = find(c, key);
    const struct group *g = c->groups[at.group];
    struct counted_place p = {.first = first_of(g->items[at.block]),
                              .count = (size_t)g->items[at.block]->count};
    for (size_t i = 0; i < at.group; i++) p.before += c->groups[i]->count;
    for (size_t i = 0; i < at.block; i++) p.before += g->items[i]->count;
    return p;
}

struct counted_place counted_of_rank(const struct counted *c, uint64_t rank)
{
    struct counted_place p = {.before = 0};
    size_t i = 0;
    for (; i + 1 < c->count && p.before + c->groups[i]->count <= rank; i++) {
        p.before += c->groups[i]->count;
    }
    const struct group *g = c->groups[i];
    size_t k = 0;
    for (; k + 1 < g->blocks && p.before + g->items[k]->count <= rank; k++) {
        p.before += g->items[k]->count;
    }
    p.first = first_of(g->items[k]);
    p.count = (size_t)g->items[k]->count;
    return p;
}

void counted_cut(struct counted *c, struct slice key, size_t before)
{
    struct at at = find(c, key);
    struct block *b = c->groups[at.group]->items[at.block];
    bool is_good = counted_is_long((size_t)b->count) && before > 0 && before < b->count &&
                   slice_cmp(first_of(b), key) < 0;
    if (!is_good) return;
    struct block *right = block_new(c, key, b->count - before);
    c->groups[at.group]->count -= right->count;
    b->count = before;
    block_insert(c, at, right);
}
