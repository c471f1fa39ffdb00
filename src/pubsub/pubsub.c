#include "pubsub/pubsub.h"

#include "base/glob.h"
#include "base/mem.h"

/* A name that somebody listens to. */
struct topic {
    struct slice name; /* first: the table looks here; its bytes follow the struct */
    uint64_t hash;
    struct subscription *first, *last; /* of its subscribers, oldest first */
    size_t count;
    struct topic *next, *prev; /* in pubsub->first[kind], oldest first */
};

struct subscription {
    struct slice name; /* first; the topic's */
    uint64_t hash;
    struct topic *topic;
    struct subscriber *subscriber;
    struct subscription *topic_next, *topic_prev;
    struct subscription *own_next, *own_prev; /* in subscriber->first[kind] */
};

struct pubsub {
    struct htab topics[PUBSUB_KINDS];
    struct topic *first[PUBSUB_KINDS], *last[PUBSUB_KINDS];
};

struct pubsub *pubsub_new(void)
{
    struct pubsub *p = mem_new(sizeof *p);
    for (int k = 0; k < PUBSUB_KINDS; k++) htab_init(&p->topics[k]);
    return p;
}

void pubsub_free(struct pubsub *p)
{
    if (p == NULL) return;
    for (int k = 0; k < PUBSUB_KINDS; k++) {
        INVARIANT(p->topics[k].count == 0);
        htab_fini(&p->topics[k]);
    }
    mem_free(p);
}

static struct topic *topic_of(struct pubsub *p, enum pubsub_kind kind, uint64_t hash,
                              struct slice name)
{
    struct topic *t = htab_find(&p->topics[kind], hash, name);
    if (t != NULL) return t;
    t = mem_new(sizeof *t + name.len);
    if (name.len > 0) memcpy(t + 1, name.data, name.len);
    t->name = slice_of(t + 1, name.len);
    t->hash = hash;
    t->prev = p->last[kind];
    *(t->prev != NULL ? &t->prev->next : &p->first[kind]) = t;
    p->last[kind] = t;
    htab_insert(&p->topics[kind], hash, &t->name);
    return t;
}

static void topic_drop(struct pubsub *p, enum pubsub_kind kind, struct topic *t)
{
    htab_remove(&p->topics[kind], t->hash, &t->name);
    *(t->prev != NULL ? &t->prev->next : &p->first[kind]) = t->next;
    *(t->next != NULL ? &t->next->prev : &p->last[kind]) = t->prev;
    mem_free(t);
}

bool pubsub_subscribe(struct pubsub *p, struct subscriber *s, enum pubsub_kind kind,
                      struct slice name)
{
    uint64_t hash = hash_bytes(name);
    if (htab_find(&s->subscriptions[kind], hash, name) != NULL) return false;
    struct topic *t = topic_of(p, kind, hash, name);
    struct subscription *n = mem_new(sizeof *n);
    n->name = t->name;
    n->hash = hash;
    n->topic = t;
    n->subscriber = s;
    n->topic_prev = t->last;
    *(t->last != NULL ? &t->last->topic_next : &t->first) = n;
    t->last = n;
    t->count++;
    n->own_prev = s->last[kind];
    *(s->last[kind] != NULL ? &s->last[kind]->own_next : &s->first[kind]) = n;
    s->last[kind] = n;
    htab_insert(&s->subscriptions[kind], hash, &n->name);
    s->name_bytes += name.len;
    return true;
}

static void subscription_end(struct pubsub *p, enum pubsub_kind kind, struct subscription *n)
{
    struct topic *t = n->topic;
    struct subscriber *s = n->subscriber;
    htab_remove(&s->subscriptions[kind], n->hash, &n->name);
    s->name_bytes -= n->name.len;
    *(n->own_prev != NULL ? &n->own_prev->own_next : &s->first[kind]) = n->own_next;
    *(n->own_next != NULL ? &n->own_next->own_prev : &s->last[kind]) = n->own_prev;
    *(n->topic_prev != NULL ? &n->topic_prev->topic_next : &t->first) = n->topic_next;
    *(n->topic_next != NULL ? &n->topic_next->topic_prev : &t->last) = n->topic_prev;
    mem_free(n);
    if (--t->count == 0) topic_drop(p, kind, t);
}

bool pubsub_unsubscribe(struct pubsub *p, struct subscriber *s, enum pubsub_kind kind,
                        struct slice name)
{
    struct subscription *n = htab_find(&s->subscriptions[kind], hash_bytes(name), name);
    if (n == NULL) return false;
    subscription_end(p, kind, n);
    return true;
}

bool pubsub_first(const struct subscriber *s, enum pubsub_kind kind, struct slice *name)
{
    *name = slice_of(NULL, 0);
    if (s->first[kind] == NULL) return false;
    *name = s->first[kind]->name;
    return true;
}

bool pubsub_leave(struct pubsub *p, struct subscriber *s, size_t *work)
{
    for (int k = 0; k < PUBSUB_KINDS; k++) {
        for (; s->first[k] != NULL; (*work)--) {
            if (*work == 0) return false;
            subscription_end(p, (enum pubsub_kind)k, s->first[k]);
        }
        htab_fini(&s->subscriptions[k]);
        htab_init(&s->subscriptions[k]);
    }
    return true;
}

size_t pubsub_count(const struct subscriber *s, enum pubsub_kind kind)
{
    return s->subscriptions[kind].count;
}

size_t pubsub_bytes(const struct subscriber *s)
{
    size_t bytes = s->name_bytes;
    for (int k = 0; k < PUBSUB_KINDS; k++) {
        bytes += s->subscriptions[k].count * (sizeof(struct subscription) + sizeof(struct topic)) +
                 htab_bytes(&s->subscriptions[k]);
    }
    return bytes;
}

static size_t topic_deliver(const struct topic *t, struct slice pattern, pubsub_deliver *deliver,
                            void *arg)
{
    for (struct subscription *n = t->first; n != NULL; n = n->topic_next) {
        deliver(arg, n->subscriber, pattern);
    }
    return t->count;
}

size_t pubsub_publish(struct pubsub *p, bool is_shard, struct slice channel,
                      pubsub_deliver *deliver, void *arg)
{
    size_t told = 0;
    const struct htab *topics = &p->topics[is_shard ? PUBSUB_SHARD : PUBSUB_CHANNEL];
    const struct topic *t = htab_find(topics, hash_bytes(channel), channel);
    if (t != NULL) told += topic_deliver(t, slice_of(NULL, 0), deliver, arg);
    if (is_shard) return told;
    for (t = p->first[PUBSUB_PATTERN]; t != NULL; t = t->next) {
        if (glob_match(t->name, channel)) told += topic_deliver(t, t->name, deliver, arg);
    }
    return told;
}

void pubsub_each(const struct pubsub *p, enum pubsub_kind kind,
                 void (*each)(void *arg, struct slice name, size_t subscribers), void *arg)
{
    for (const struct topic *t = p->first[kind]; t != NULL; t = t->next) {
        each(arg, t->name, t->count);
    }
}

size_t pubsub_subscribers(const struct pubsub *p, enum pubsub_kind kind, struct slice name)
{
    const struct topic *t = htab_find(&p->topics[kind], hash_bytes(name), name);
    return t == NULL ? 0 : t->count;
}

size_t pubsub_names(const struct pubsub *p, enum pubsub_kind kind)
{
    return p->topics[kind].count;
}
