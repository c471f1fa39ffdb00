/* omap: see omap.h. A search in a node compares with the bytes that all of its keys share, then
 * does a binary search over the heads, and looks at whole keys only among equal heads. Full nodes
 * are split on the way down, so that an insert needs no way back up. Keys that ascend or
 * descend, as those of queues, lists, streams and logs do, are put beside the one before, without a
 * search. */
#include "base/omap.h"

#include "base/err.h"

#define FANOUT 32

#define SHARED_BYTES 48
#define CACHE_LINE 64

/* What a search reads is in front: five lines of the processor's cache, which are fetched at once,
 * and no key but one that is nearly found. */
struct omap_node {
    size_t skip;    /* bytes all keys of the node share */
    unsigned count; /* items in use */
    bool is_leaf;
    uint8_t shared[SHARED_BYTES]; /* the first of the `skip` bytes */
    uint64_t heads[FANOUT];       /* key bytes [skip, skip+8), big-endian, zero-padded */
    struct slice *items[FANOUT];  /* leaf: the items; inner: the separators */
    struct omap_node *next;       /* leaf: neighbours */
    struct omap_node *prev;
    struct omap_node *children[]; /* inner: count + 1 of FANOUT + 1 */
};

static void node_prefetch(const struct omap_node *n)
{
    const char *from = (const char *)n;
    for (size_t at = 0; at < offsetof(struct omap_node, items); at += CACHE_LINE) {
        __builtin_prefetch(from + at);
    }
}

static uint64_t key_head(struct slice key, size_t skip)
{
    uint64_t head = 0;
    if (key.len <= skip) return 0;
    size_t n = key.len - skip;
    memcpy(&head, key.data + skip, n < 8 ? n : 8);
    return __builtin_bswap64(head);
}

static size_t common_prefix(struct slice a, struct slice b)
{
    size_t n = a.len < b.len ? a.len : b.len;
    size_t i = 0;
    while (i < n && a.data[i] == b.data[i]) i++;
    return i;
}

static void node_set_skip(struct omap_node *n, size_t skip)
{
    n->skip = skip;
    if (skip > 0) memcpy(n->shared, n->items[0]->data, skip < SHARED_BYTES ? skip : SHARED_BYTES);
    for (unsigned i = 0; i < n->count; i++) n->heads[i] = key_head(*n->items[i], skip);
}

/* Below, equal to or above 0 as the key is before, among or after all keys that begin with what the
 * node's keys share. */
static int node_side(const struct omap_node *n, struct slice key)
{
    size_t len = key.len < n->skip ? key.len : n->skip;
    size_t near = len < SHARED_BYTES ? len : SHARED_BYTES;
    int c = near > 0 ? memcmp(key.data, n->shared, near) : 0;
    if (c == 0 && near < len) {
        c = memcmp(key.data + near, n->items[0]->data + near, len - near);
    }
    return c == 0 && len < n->skip ? -1 : c;
}

/* Number of the node's keys that are < key (or <= key when `or_equal`); `side` is what node_side
 * says. */
static unsigned rank_on(const struct omap_node *n, int side, struct slice key, bool or_equal)
{
    if (side != 0) return side < 0 ? 0 : n->count;
    uint64_t head = key_head(key, n->skip);
    unsigned lo = 0;
    unsigned hi = n->count;
    while (lo < hi) {
        unsigned mid = (lo + hi) / 2;
        if (n->heads[mid] < head) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    while (lo < n->count && n->heads[lo] == head) {
        int c = slice_cmp(*n->items[lo], key);
        if (c > 0 || (c == 0 && !or_equal)) break;
        lo++;
    }
    return lo;
}

static unsigned node_rank(const struct omap_node *n, struct slice key, bool or_equal)
{
    return n->count == 0 ? 0 : rank_on(n, node_side(n, key), key, or_equal);
}

static struct omap_node *node_new(struct omap *m, bool is_leaf)
{
    size_t bytes = sizeof(struct omap_node);
    if (!is_leaf) bytes += (FANOUT + 1) * sizeof(struct omap_node *);
    struct omap_node *n = arena_alloc(m->arena, bytes);
    n->next = n->prev = NULL;
    n->skip = 0;
    n->count = 0;
    n->is_leaf = is_leaf;
    return n;
}

void omap_init(struct omap *m, struct arena *arena)
{
    *m = (struct omap){.arena = arena};
}

/* Put an item (and, in an inner node, the child right of it) in a node with room, after `at`
 * others; `side` is what node_side says of it. */
static void put_at(struct omap_node *n, unsigned at, int side, struct slice *item,
                   struct omap_node *right)
{
    unsigned moved = n->count - at;
    memmove(&n->items[at + 1], &n->items[at], moved * sizeof n->items[0]);
    memmove(&n->heads[at + 1], &n->heads[at], moved * sizeof n->heads[0]);
    if (!n->is_leaf) {
        memmove(&n->children[at + 2], &n->children[at + 1], moved * sizeof n->children[0]);
        n->children[at + 1] = right;
    }
    n->items[at] = item;
    n->count++;
    if (n->count == 1) {
        node_set_skip(n, 0);
    } else if (side == 0) {
        n->heads[at] = key_head(*item, n->skip);
    } else {
        node_set_skip(n, common_prefix(*item, *n->items[at == 0 ? 1 : 0]));
    }
}

/* The same at its rank, which is returned. */
static unsigned node_put(struct omap_node *n, struct slice *item, struct omap_node *right)
{
    int side = n->count == 0 ? 0 : node_side(n, *item);
    unsigned at = n->count == 0 ? 0 : rank_on(n, side, *item, false);
    put_at(n, at, side, item, right);
    return at;
}

/* How many items of a full node stay in it when it is split for `key`. After a run of keys, each
 * next to the one before, it is split where the run goes on: what the run leaves behind is full. */
static unsigned kept_by_split(const struct omap *m, const struct omap_node *n, struct slice key)
{
    if (m->run < FANOUT / 2) return n->count / 2;
    unsigned at = node_rank(n, key, !n->is_leaf);
    unsigned most = n->is_leaf ? n->count - 1 : n->count - 2; /* each half has an item */
    return at < 1 ? 1 : at < most ? at : most;
}

/* Split a full node, into which `key` is to go; returns the new right one, *separator = smallest
 * key of what is right of it. A leaf keeps its separator, an inner node gives it up. */
static struct omap_node *node_split(struct omap *m, struct omap_node *n, struct slice key,
                                    struct slice **separator)
{
    struct omap_node *right = node_new(m, n->is_leaf);
    unsigned half = kept_by_split(m, n, key);
    unsigned from = n->is_leaf ? half : half + 1;
    *separator = n->items[half];
    right->count = n->count - from;
    memcpy(right->items, &n->items[from], right->count * sizeof n->items[0]);
    if (n->is_leaf) {
        right->next = n->next;
        right->prev = n;
        if (n->next != NULL) n->next->prev = right;
        n->next = right;
    } else {
        memcpy(right->children, &n->children[from], (right->count + 1) * sizeof n->children[0]);
    }
    n->count = half;
    node_set_skip(n, common_prefix(*n->items[0], *n->items[half - 1]));
    node_set_skip(right, common_prefix(*right->items[0], *right->items[right->count - 1]));
    return right;
}

/* Splitting on the way down keeps insertion a single pass: a child that is full is split before it
 * is entered, so its parent always has room for the separator. */
static void insert_from_root(struct omap *m, struct slice *item)
{
    if (m->root == NULL) m->root = node_new(m, true);
    struct slice *separator = NULL;
    if (m->root->count == FANOUT) {
        struct omap_node *left = m->root;
        struct omap_node *right = node_split(m, left, *item, &separator);
        m->root = node_new(m, false);
        m->root->children[0] = left;
        node_put(m->root, separator, right);
    }
    struct omap_node *n = m->root;
    while (!n->is_leaf) {
        struct omap_node *child = n->children[node_rank(n, *item, true)];
        node_prefetch(child);
        if (child->count == FANOUT) {
            struct omap_node *right = node_split(m, child, *item, &separator);
            node_put(n, separator, right);
            if (slice_cmp(*item, *separator) >= 0) child = right;
        }
        n = child;
    }
    m->leaf = n;
    m->at = node_put(n, item, NULL);
}

/* Whether the key belongs right before or right after the last item of a run: *at, its place in
 * that leaf. */
static bool continues_run(const struct omap *m, struct slice key, unsigned *at)
{
    const struct omap_node *n = m->leaf;
    *at = m->at;
    if (m->run == 0) return false;
    if (slice_cmp(key, *n->items[m->at]) < 0) { /* put first: then it is the leftmost leaf */
        return m->at == 0 || slice_cmp(key, *n->items[m->at - 1]) > 0;
    }
    ++*at;
    if (*at < n->count) return slice_cmp(key, *n->items[*at]) < 0;
    return n->next == NULL || slice_cmp(key, *n->next->items[0]) < 0;
}

void omap_insert(struct omap *m, struct slice *item)
{
    const struct omap_node *last_leaf = m->leaf;
    unsigned last_at = m->at;
    unsigned at = 0;
    bool continues = continues_run(m, *item, &at);
    if (!continues) m->run = 0;
    if (continues && m->leaf->count < FANOUT) {
        put_at(m->leaf, at, node_side(m->leaf, *item), item, NULL);
        m->at = at;
    } else {
        insert_from_root(m, item);
        continues = continues ||
                    (m->leaf == last_leaf && (m->at == last_at || m->at == last_at + 1));
    }
    if (continues) m->run++;
    m->count++;
}

static const struct omap_node *leaf_for(const struct omap *m, struct slice key)
{
    const struct omap_node *n = m->root;
    while (n != NULL && !n->is_leaf) {
        n = n->children[node_rank(n, key, true)];
        node_prefetch(n);
    }
    return n;
}

struct omap_iter omap_seek(const struct omap *m, struct slice key)
{
    struct omap_iter it = {.leaf = leaf_for(m, key)};
    if (it.leaf == NULL) return it;
    it.at = node_rank(it.leaf, key, false);
    if (it.at == it.leaf->count) {
        it.leaf = it.leaf->next;
        it.at = 0;
    }
    return it;
}

struct omap_iter omap_seek_before(const struct omap *m, struct slice key)
{
    struct omap_iter it = {.leaf = leaf_for(m, key)};
    if (it.leaf == NULL) return it;
    it.at = node_rank(it.leaf, key, false);
    omap_prev(&it);
    return it;
}

void *omap_peek(const struct omap_iter *it)
{
    return it->leaf == NULL ? NULL : it->leaf->items[it->at];
}

void omap_next(struct omap_iter *it)
{
    if (it->leaf == NULL) return;
    if (++it->at < it->leaf->count) return;
    it->leaf = it->leaf->next;
    it->at = 0;
}

void omap_prev(struct omap_iter *it)
{
    if (it->leaf == NULL) return;
    if (it->at == 0) {
        it->leaf = it->leaf->prev;
        it->at = it->leaf == NULL ? 0 : it->leaf->count - 1;
        return;
    }
    it->at--;
}
