/* pubsub: a topic for each name that has subscribers, found by hash; a subscription is in two
 * lists, of its topic and of its subscriber. A delivery may pause in the middle: it is then in a
 * list, and whatever ends a subscription or topic moves its place on. Newer subscriptions than the
 * delivery are known by their serial number. */
#include "pubsub/pubsub.h"

#include "base/glob.h"
#include "base/list.h"
#include "base/mem.h"

/* A name that has subscribers. */
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
    uint64_t serial; /* newer ones have higher numbers */
    struct topic *topic;
    struct subscriber *subscriber;
    struct subscription *topic_next, *topic_prev;
    struct subscription *own_next, *own_prev; /* in subscriber->first[kind] */
};

struct pubsub {
    struct htab topics[PUBSUB_KINDS];
    struct topic *first[PUBSUB_KINDS], *last[PUBSUB_KINDS];
    uint64_t serial;                /* of the newest subscription */
    struct pubsub_delivery *paused; /* those that are not over */
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
    LIST_APPEND(p->first[kind], p->last[kind], t, next, prev);
    htab_insert(&p->topics[kind], hash, &t->name);
    return t;
}

static void topic_drop(struct pubsub *p, enum pubsub_kind kind, struct topic *t)
{
    for (struct pubsub_delivery *d = p->paused; d != NULL; d = d->next) {
        if (d->topic == t) d->topic = NULL;
        if (d->pattern == t) d->pattern = t->next;
    }
    htab_remove(&p->topics[kind], t->hash, &t->name);
    LIST_UNLINK(p->first[kind], p->last[kind], t, next, prev);
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
    n->serial = ++p->serial;
    n->topic = t;
    n->subscriber = s;
    LIST_APPEND(t->first, t->last, n, topic_next, topic_prev);
    t->count++;
    LIST_APPEND(s->first[kind], s->last[kind], n, own_next, own_prev);
    htab_insert(&s->subscriptions[kind], hash, &n->name);
    s->name_bytes += name.len;
    return true;
}

static void subscription_end(struct pubsub *p, enum pubsub_kind kind, struct subscription *n)
{
    struct topic *t = n->topic;
    struct subscriber *s = n->subscriber;
    for (struct pubsub_delivery *d = p->paused; d != NULL; d = d->next) {
        if (d->at == n) d->at = n->topic_next;
    }
    htab_remove(&s->subscriptions[kind], n->hash, &n->name);
    s->name_bytes -= n->name.len;
    LIST_UNLINK(s->first[kind], s->last[kind], n, own_next, own_prev);
    LIST_UNLINK(t->first, t->last, n, topic_next, topic_prev);
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

bool pubsub_own(const struct subscriber *s, enum pubsub_kind kind,
                bool (*each)(void *arg, enum pubsub_kind kind, struct slice name), void *arg)
{
    for (const struct subscription *x = s->first[kind]; x != NULL; x = x->own_next) {
        if (!each(arg, kind, x->name)) return false;
    }
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

size_t pubsub_bytes(const struct subscriber *s)
{
    size_t bytes = s->name_bytes;
    for (int k = 0; k < PUBSUB_KINDS; k++) {
        bytes += s->subscriptions[k].count * (sizeof(struct subscription) + sizeof(struct topic)) +
                 htab_bytes(&s->subscriptions[k]);
    }
    return bytes;
}

/* ---- publishing ---- */

#define LOOKUP_WORK 200

/* What it takes to see whether a pattern matches: base/glob.h has the figures. */
static int64_t match_work(struct slice pattern, struct slice channel)
{
    bool is_literal = pattern.len > 0 && strchr("*?[\\", pattern.data[0]) == NULL;
    if (is_literal && (channel.len == 0 || pattern.data[0] != channel.data[0])) return 10;
    return 100 + (int64_t)(pattern.len + (pattern.len / 64 + 1) * 2 * channel.len);
}

static void topic_begin(struct pubsub_delivery *d, const struct topic *t)
{
    d->topic = t;
    d->at = t != NULL ? t->first : NULL;
}

/* The rest of the topic's subscribers. False: no work is left. */
static bool topic_deliver(struct pubsub_delivery *d, pubsub_deliver *deliver, void *arg)
{
    while (d->topic != NULL && d->at != NULL) {
        if (d->work <= 0) return false;
        struct subscription *n = d->at;
        d->at = n->topic_next;
        if (n->serial > d->serial) continue;
        deliver(arg, n->subscriber, d->is_pattern ? d->topic->name : slice_of(NULL, 0));
        d->told++;
    }
    d->topic = NULL;
    return true;
}

static bool deliver_some(struct pubsub_delivery *d, struct slice channel, pubsub_deliver *deliver,
                         void *arg)
{
    while (topic_deliver(d, deliver, arg)) {
        const struct topic *t = d->pattern;
        if (t == NULL) return true;
        if (d->work <= 0) return false;
        d->pattern = t->next;
        d->is_pattern = true;
        d->work -= match_work(t->name, channel);
        if (glob_match(t->name, channel)) topic_begin(d, t);
    }
    return false;
}

static struct pubsub_delivery **delivery_link(struct pubsub_delivery *d)
{
    struct pubsub_delivery **link = &d->hub->paused;
    while (*link != d) link = &(*link)->next;
    return link;
}

bool pubsub_publish(struct pubsub *p, struct pubsub_delivery *d, bool is_shard,
                    struct slice channel, pubsub_deliver *deliver, void *arg)
{
    bool is_new = d->hub == NULL;
    if (is_new) {
        const struct htab *topics = &p->topics[is_shard ? PUBSUB_SHARD : PUBSUB_CHANNEL];
        topic_begin(d, htab_find(topics, hash_bytes(channel), channel));
        d->pattern = is_shard ? NULL : p->first[PUBSUB_PATTERN];
        d->serial = p->serial;
        d->work -= LOOKUP_WORK;
    }
    bool is_over = deliver_some(d, channel, deliver, arg);
    if (is_over) pubsub_abandon(d);
    if (is_new && !is_over) {
        d->hub = p;
        d->next = p->paused;
        p->paused = d;
    }
    return is_over;
}

void pubsub_abandon(struct pubsub_delivery *d)
{
    if (d->hub == NULL) return;
    *delivery_link(d) = d->next;
    d->hub = NULL;
}

void pubsub_move(struct pubsub_delivery *from, struct pubsub_delivery *to)
{
    *to = *from;
    if (from->hub != NULL) *delivery_link(from) = to;
    from->hub = NULL;
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
