/* tracked: a key has a list of its readers, a reader a list of its keys; a table of pairs tells
 * whether both know each other. A key that is due is out of its table, so that reading it again
 * makes a new one. A flushed database is taken off whole, and its keys are freed some at a time. */
#include "tracking/tracked.h"

#include "base/list.h"
#include "base/mem.h"
#include "base/sparse.h"
#include "engine/engine.h"

/* Many small tables for a large one, by the upper bits of the hash: each grows apart from the
 * others. */
#define SHARDS 64

struct tracked_database;

struct tracked_key {
    struct slice key; /* first: the tables look here; its bytes follow the struct */
    uint64_t hash;
    uint64_t version;            /* of one that is due: of its change */
    struct tracked_database *of; /* NULL = it is due */
    struct tracked_pair *first;
    struct tracked_key *next, *prev; /* of its database, or of those that are due */
};

/* A key that a tracker has read. */
struct tracked_pair {
    struct slice name; /* first: the table looks here; it is `who` and `key` */
    struct tracker *who;
    struct tracked_key *key;
    uint64_t hash;
    struct tracked_pair *key_next, *key_prev;
    struct tracked_pair *own_next, *own_prev;
};

/* The keys of a database: the oldest first. */
struct tracked_database {
    struct htab keys[SHARDS];
    size_t count;
    struct tracked_key *first, *last;
    struct tracked_database *next; /* of those that were flushed */
};

struct tracked {
    struct sparse databases; /* of struct tracked_database */
    struct htab pairs[SHARDS];
    size_t pair_count;
    struct tracked_key *due_first, *due_last;
    struct tracked_database *flushed; /* what is left of them goes a bit at a time */
    size_t keys;
};

struct pair_name {
    const void *who, *key;
};

static size_t shard(uint64_t hash)
{
    return (size_t)(hash >> 58);
}

struct tracked *tracked_new(void)
{
    struct tracked *t = mem_new(sizeof *t);
    for (size_t i = 0; i < SHARDS; i++) htab_init(&t->pairs[i]);
    return t;
}

static void database_free(struct tracked_database *d)
{
    INVARIANT(d->first == NULL);
    for (size_t i = 0; i < SHARDS; i++) htab_fini(&d->keys[i]);
    mem_free(d);
}

void tracked_free(struct tracked *t)
{
    struct tracked_database *d = NULL;
    if (t == NULL) return;
    INVARIANT(t->pair_count == 0 && t->due_first == NULL);
    while (t->flushed != NULL) {
        d = t->flushed;
        t->flushed = d->next;
        database_free(d);
    }
    for (uint32_t i = 0; (d = sparse_next(&t->databases, &i)) != NULL; i++) database_free(d);
    sparse_fini(&t->databases);
    for (size_t i = 0; i < SHARDS; i++) htab_fini(&t->pairs[i]);
    mem_free(t);
}

static struct tracked_database *database_of(struct tracked *t, uint16_t number)
{
    void **slot = sparse_slot(&t->databases, number);
    struct tracked_database *d = *slot;
    if (d != NULL) return d;
    d = mem_new(sizeof *d);
    for (size_t i = 0; i < SHARDS; i++) htab_init(&d->keys[i]);
    *slot = d;
    return d;
}

static size_t pair_bytes(const struct tracked_pair *p)
{
    return sizeof *p + sizeof *p->key + p->key->key.len;
}

/* Takes the key out of its list and table. */
static void key_unlink(struct tracked *t, struct tracked_key *k)
{
    struct tracked_database *d = k->of;
    if (d == NULL) {
        LIST_UNLINK(t->due_first, t->due_last, k, next, prev);
        return;
    }
    LIST_UNLINK(d->first, d->last, k, next, prev);
    htab_remove(&d->keys[shard(k->hash)], k->hash, &k->key);
    d->count--;
}

/* Is it in a table that counts? Those of a flushed database do not. */
static bool is_counted(const struct tracked *t, const struct tracked_key *k)
{
    return k->of != NULL && sparse_get(&t->databases, key_database(k->key)) == k->of;
}

/* The key goes with its last reader. */
static void pair_drop(struct tracked *t, struct tracked_pair *p)
{
    struct tracked_key *k = p->key;
    struct tracker *who = p->who;
    htab_remove(&t->pairs[shard(p->hash)], p->hash, &p->name);
    t->pair_count--;
    who->count--;
    who->bytes -= pair_bytes(p);
    STACK_UNLINK(k->first, p, key_next, key_prev);
    STACK_UNLINK(who->first, p, own_next, own_prev);
    mem_free(p);
    if (k->first != NULL) return;
    t->keys -= is_counted(t, k);
    key_unlink(t, k);
    mem_free(k);
}

static uint64_t pair_hash(struct pair_name *name, const struct tracker *who,
                          const struct tracked_key *k)
{
    *name = (struct pair_name){who, k};
    return hash_bytes(slice_of(name, sizeof *name));
}

static struct tracked_pair *pair_find(const struct tracked *t, const struct tracker *who,
                                      const struct tracked_key *k)
{
    struct pair_name name;
    uint64_t hash = pair_hash(&name, who, k);
    return htab_find(&t->pairs[shard(hash)], hash, slice_of(&name, sizeof name));
}

static void pair_add(struct tracked *t, struct tracker *who, struct tracked_key *k)
{
    struct pair_name *name = NULL;
    struct tracked_pair *p = mem_new(sizeof *p + sizeof *name);
    name = (struct pair_name *)(void *)(p + 1);
    p->hash = pair_hash(name, who, k);
    p->name = slice_of(name, sizeof *name);
    p->who = who;
    p->key = k;
    STACK_PUSH(k->first, p, key_next, key_prev);
    STACK_PUSH(who->first, p, own_next, own_prev);
    who->count++;
    who->bytes += pair_bytes(p);
    htab_insert(&t->pairs[shard(p->hash)], p->hash, &p->name);
    t->pair_count++;
}

bool tracked_add(struct tracked *t, struct tracker *who, struct slice key)
{
    uint64_t hash = hash_bytes(key);
    struct tracked_database *d = database_of(t, key_database(key));
    struct htab *table = &d->keys[shard(hash)];
    struct tracked_key *k = htab_find(table, hash, key);
    if (k != NULL && (k->first->who == who || pair_find(t, who, k) != NULL)) return false;
    if (k == NULL) {
        k = mem_new(sizeof *k + key.len);
        memcpy(k + 1, key.data, key.len);
        k->key = slice_of(k + 1, key.len);
        k->hash = hash;
        k->of = d;
        LIST_APPEND(d->first, d->last, k, next, prev);
        htab_insert(table, hash, &k->key);
        d->count++;
        t->keys++;
    }
    pair_add(t, who, k);
    return true;
}

static void become_due(struct tracked *t, struct tracked_key *k, uint64_t version)
{
    key_unlink(t, k);
    t->keys--;
    k->of = NULL;
    k->version = version;
    LIST_APPEND(t->due_first, t->due_last, k, next, prev);
}

void tracked_change(struct tracked *t, struct slice key, uint64_t version, struct tracker *keeps)
{
    struct tracked_database *d = sparse_get(&t->databases, key_database(key));
    if (d == NULL || d->count == 0) return;
    uint64_t hash = hash_bytes(key);
    struct tracked_key *k = htab_find(&d->keys[shard(hash)], hash, key);
    if (k == NULL) return;
    struct tracked_pair *own = keeps != NULL ? pair_find(t, keeps, k) : NULL;
    if (own != NULL && own->key_next == NULL && own->key_prev == NULL) return;
    become_due(t, k, version);
    if (own == NULL) return;
    pair_drop(t, own);
    (void)tracked_add(t, keeps, key);
}

void tracked_flush(struct tracked *t, uint16_t database)
{
    struct tracked_database *d = sparse_get(&t->databases, database);
    if (d == NULL || d->first == NULL) return;
    *sparse_slot(&t->databases, database) = NULL;
    t->keys -= d->count;
    d->next = t->flushed;
    t->flushed = d;
}

/* One of the database, or, when that has no other than the newest, of any. */
static struct tracked_key *oldest(struct tracked *t, uint16_t database)
{
    struct tracked_database *d = sparse_get(&t->databases, database);
    if (d != NULL && d->count > 1) return d->first;
    for (uint32_t i = 0; (d = sparse_next(&t->databases, &i)) != NULL; i++) {
        if (i != database && d->first != NULL) return d->first;
    }
    d = sparse_get(&t->databases, database);
    return d != NULL ? d->first : NULL;
}

void tracked_bound(struct tracked *t, uint16_t database, size_t max, size_t *work)
{
    while (t->keys > max && *work > 0) {
        struct tracked_key *k = oldest(t, database);
        INVARIANT(k != NULL);
        become_due(t, k, 0);
        (*work)--;
    }
}

/* True when nothing is left of what was flushed. */
static bool forget_flushed(struct tracked *t, size_t *work)
{
    while (t->flushed != NULL) {
        struct tracked_database *d = t->flushed;
        for (; d->first != NULL; (*work)--) {
            if (*work == 0) return false;
            pair_drop(t, d->first->first);
        }
        t->flushed = d->next;
        database_free(d);
    }
    return true;
}

bool tracked_tell(struct tracked *t, size_t *work, tracked_teller *tell, void *arg)
{
    for (; t->due_first != NULL; (*work)--) {
        const struct tracked_key *k = t->due_first;
        if (*work == 0) return false;
        tell(arg, k->first->who, k->key, k->version);
        pair_drop(t, k->first);
    }
    return forget_flushed(t, work);
}

bool tracked_drop(struct tracked *t, struct tracker *who, size_t *work)
{
    for (; who->first != NULL; (*work)--) {
        if (*work == 0) return false;
        pair_drop(t, who->first);
    }
    return true;
}

size_t tracked_keys(const struct tracked *t)
{
    return t->keys;
}

size_t tracked_items(const struct tracked *t)
{
    return t->pair_count;
}
