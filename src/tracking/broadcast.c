/* broadcast: a change is looked up under every beginning of its name that is as long as some
 * prefix, and goes into the last block of each. A block that is being told takes nothing more;
 * telling goes on from where it stopped (`at`), which a member that leaves moves on. */
#include "tracking/broadcast.h"

#include "base/err.h"
#include "base/list.h"
#include "base/mem.h"

#define BLOCK_ITEMS 1000
#define BLOCK_BYTES (64 * 1024)

struct prefix {
    struct slice text; /* first: the table looks here; its bytes follow the struct */
    uint64_t hash;
    struct broadcast_member *first, *last;
    struct broadcast_member *at;                /* who is told next of the first block */
    struct broadcast_block *block, *block_last; /* the oldest first */
    bool is_busy;                               /* it has blocks, and is among the busy */
    struct prefix *busy_next, *busy_prev;
};

/* A prefix that a listener has joined. */
struct broadcast_member {
    struct prefix *prefix;
    struct listener *who;
    struct broadcast_member *next, *prev;         /* of the prefix */
    struct broadcast_member *own_next, *own_prev; /* of the listener */
};

struct broadcast {
    struct htab prefixes;
    uint32_t with_length[BROADCAST_PREFIX_BYTES_MAX + 1]; /* how many prefixes have it */
    struct prefix *busy_first, *busy_last;
    size_t bytes; /* of all blocks */
    bool is_lost;
};

struct broadcast *broadcast_new(void)
{
    struct broadcast *b = mem_new(sizeof *b);
    htab_init(&b->prefixes);
    return b;
}

void broadcast_free(struct broadcast *b)
{
    if (b == NULL) return;
    INVARIANT(b->prefixes.count == 0);
    htab_fini(&b->prefixes);
    mem_free(b);
}

/* ---- blocks ---- */

static void block_drop(struct broadcast *b, struct prefix *p)
{
    struct broadcast_block *k = p->block;
    p->block = k->next;
    if (p->block == NULL) p->block_last = NULL;
    p->at = NULL;
    b->bytes -= k->bytes;
    while (k->first != NULL) {
        struct broadcast_item *next = k->first->next;
        mem_free(k->first);
        k->first = next;
    }
    htab_fini(&k->items);
    mem_free(k);
}

static void be_idle(struct broadcast *b, struct prefix *p)
{
    while (p->block != NULL) block_drop(b, p);
    if (!p->is_busy) return;
    LIST_UNLINK(b->busy_first, b->busy_last, p, busy_next, busy_prev);
    p->is_busy = false;
}

static struct broadcast_block *block_to_fill(struct broadcast *b, struct prefix *p)
{
    struct broadcast_block *k = p->block_last;
    if (k != NULL && !k->is_begun && k->count < BLOCK_ITEMS && k->bytes < BLOCK_BYTES) return k;
    k = mem_new(sizeof *k);
    htab_init(&k->items);
    k->bytes = sizeof *k;
    b->bytes += k->bytes;
    *(p->block_last != NULL ? &p->block_last->next : &p->block) = k;
    p->block_last = k;
    if (!p->is_busy) LIST_APPEND(b->busy_first, b->busy_last, p, busy_next, busy_prev);
    p->is_busy = true;
    return k;
}

static void block_add(struct broadcast *b, struct broadcast_block *k, struct slice key,
                      struct slice name, uint64_t writer)
{
    uint64_t hash = hash_bytes(key);
    struct broadcast_item *x = htab_find(&k->items, hash, key);
    if (x != NULL) {
        if (x->writer != writer) x->writer = 0;
        return;
    }
    size_t bytes = sizeof *x + key.len + name.len;
    x = mem_new(bytes);
    uint8_t *text = (uint8_t *)(x + 1);
    bytes_copy(text, key.data, key.len);
    bytes_copy(text + key.len, name.data, name.len);
    x->key = slice_of(text, key.len);
    x->name = slice_of(text + key.len, name.len);
    x->writer = writer;
    *(k->last != NULL ? &k->last->next : &k->first) = x;
    k->last = x;
    k->count++;
    k->bytes += bytes;
    b->bytes += bytes;
    htab_insert(&k->items, hash, &x->key);
}

static void give_up(struct broadcast *b)
{
    while (b->busy_first != NULL) be_idle(b, b->busy_first);
    b->is_lost = true;
}

void broadcast_change(struct broadcast *b, struct slice key, struct slice name, uint64_t version,
                      uint64_t writer)
{
    size_t max = name.len < BROADCAST_PREFIX_BYTES_MAX ? name.len : BROADCAST_PREFIX_BYTES_MAX;
    for (size_t len = 0; len <= max; len++) {
        if (b->with_length[len] == 0) continue;
        struct slice text = slice_of(name.data, len);
        struct prefix *p = htab_find(&b->prefixes, hash_bytes(text), text);
        if (p == NULL) continue;
        struct broadcast_block *k = block_to_fill(b, p);
        if (version > k->version) k->version = version;
        block_add(b, k, key, name, writer);
    }
    if (b->bytes > BROADCAST_BYTES_MAX) give_up(b);
}

bool broadcast_take_loss(struct broadcast *b)
{
    bool is_lost = b->is_lost;
    b->is_lost = false;
    return is_lost;
}

/* The oldest block of the prefix, to those who have not been told of it. */
static bool tell_block(struct prefix *p, size_t *work, broadcast_teller *tell, void *arg)
{
    struct broadcast_block *k = p->block;
    if (!k->is_begun) p->at = p->first;
    k->is_begun = true;
    while (p->at != NULL) {
        if (*work == 0) return false;
        struct listener *who = p->at->who;
        p->at = p->at->next;
        size_t took = tell(arg, who, k);
        *work -= took < *work ? took : *work;
    }
    return true;
}

bool broadcast_tell(struct broadcast *b, size_t *work, broadcast_teller *tell, void *arg)
{
    while (b->busy_first != NULL) {
        struct prefix *p = b->busy_first;
        while (p->block != NULL) {
            if (!tell_block(p, work, tell, arg)) return false;
            block_drop(b, p);
        }
        be_idle(b, p);
    }
    return true;
}

/* ---- who listens ---- */

static struct prefix *prefix_of(struct broadcast *b, struct slice text)
{
    uint64_t hash = hash_bytes(text);
    struct prefix *p = htab_find(&b->prefixes, hash, text);
    if (p != NULL) return p;
    INVARIANT(text.len <= BROADCAST_PREFIX_BYTES_MAX);
    p = mem_new(sizeof *p + text.len);
    bytes_copy((uint8_t *)(p + 1), text.data, text.len);
    p->text = slice_of(p + 1, text.len);
    p->hash = hash;
    htab_insert(&b->prefixes, hash, &p->text);
    b->with_length[text.len]++;
    return p;
}

static size_t member_bytes(const struct broadcast_member *m)
{
    return sizeof *m + sizeof *m->prefix + m->prefix->text.len;
}

bool broadcast_join(struct broadcast *b, struct listener *who, struct slice prefix)
{
    for (const struct broadcast_member *m = who->first; m != NULL; m = m->own_next) {
        if (slice_eq(m->prefix->text, prefix)) return false;
    }
    struct broadcast_member *m = mem_new(sizeof *m);
    struct prefix *p = prefix_of(b, prefix);
    m->prefix = p;
    m->who = who;
    LIST_APPEND(p->first, p->last, m, next, prev);
    STACK_PUSH(who->first, m, own_next, own_prev);
    who->bytes += member_bytes(m);
    return true;
}

static void member_drop(struct broadcast *b, struct broadcast_member *m)
{
    struct prefix *p = m->prefix;
    m->who->bytes -= member_bytes(m);
    if (p->at == m) p->at = m->next;
    LIST_UNLINK(p->first, p->last, m, next, prev);
    STACK_UNLINK(m->who->first, m, own_next, own_prev);
    mem_free(m);
    if (p->first != NULL) return;
    be_idle(b, p);
    htab_remove(&b->prefixes, p->hash, &p->text);
    b->with_length[p->text.len]--;
    mem_free(p);
}

bool broadcast_drop(struct broadcast *b, struct listener *who, size_t *work)
{
    for (; who->first != NULL; (*work)--) {
        if (*work == 0) return false;
        member_drop(b, who->first);
    }
    return true;
}

bool broadcast_prefix(const struct listener *who, struct broadcast_member **at,
                      struct slice *prefix)
{
    *at = *at == NULL ? who->first : (*at)->own_next;
    if (*at != NULL) *prefix = (*at)->prefix->text;
    return *at != NULL;
}

size_t broadcast_prefixes(const struct broadcast *b)
{
    return b->prefixes.count;
}
