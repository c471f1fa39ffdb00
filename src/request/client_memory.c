/* client_memory: see client_memory.h. The sum changes by what a client holds now less what it held
 * when it was counted last (counted_bytes); `grown` is what may have come since. Only when these
 * could be too much are all clients measured and, if they are, closed, those that hold most first.
 */
#include "request/client_memory.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "request/feature.h"
#include "request/long_words.h"
#include "request/multi.h"

#define GROWN_PART 8 /* of the bound that may have come since all was added up */

/* ---- what is held ---- */

void client_memory_measure(const struct client *c, struct client_memory *out)
{
    *out = (struct client_memory){0};
    c->ops->buffers(c, &out->input, &out->output);
    out->channels = pubsub_bytes(&c->listening.subscriber);
    for (const struct feature *const *f = feature_table; *f != NULL; f++) {
        if ((*f)->client_bytes != NULL) (*f)->client_bytes(c, out);
    }
    out->multi = c->txn.watched_bytes + (c->txn.multi != NULL ? multi_bytes(c->txn.multi) : 0);
    const struct pending *p = c->run.pending;
    if (p != NULL && p->bytes != NULL) out->pending = p->bytes(p);
    out->pending += long_words_bytes(c);
    out->total = sizeof *c + c->link->transport_bytes + out->input + out->output + out->notes +
                 out->channels + out->multi + out->pending;
}

static void add(struct client_memory *sum, const struct client_memory *one)
{
    sum->input += one->input;
    sum->output += one->output;
    sum->notes += one->notes;
    sum->channels += one->channels;
    sum->multi += one->multi;
    sum->pending += one->pending;
    sum->total += one->total;
}

void client_memory_sum(const struct env *env, struct client_memory *out)
{
    *out = (struct client_memory){0};
    for (const struct client *c = env->clients.list.next; c != &env->clients.list; c = c->next) {
        struct client_memory one;
        client_memory_measure(c, &one);
        add(out, &one);
    }
}

/* ---- the bound ---- */

void client_memory_grow(struct env *env, size_t bytes)
{
    env->memory.grown += bytes;
}

bool client_memory_is_tight(const struct env *env, size_t bytes)
{
    uint64_t held = env->memory.clients + env->memory.grown + bytes;
    return env->settings.memory_clients_max != 0 && held > env->settings.memory_clients_max / 2;
}

bool client_memory_is_full(const struct env *env, size_t bytes)
{
    uint64_t held = env->memory.clients + env->memory.grown + bytes;
    return env->settings.memory_clients_max != 0 && held > 2 * env->settings.memory_clients_max;
}

struct holder {
    struct client *client;
    struct client_memory held;
};

static int most_first(const void *a, const void *b)
{
    const struct holder *x = a;
    const struct holder *y = b;
    return x->held.total > y->held.total ? -1 : x->held.total < y->held.total;
}

static void evict(struct env *env, const struct holder *h)
{
    const struct client_memory *m = &h->held;
    log_warning("client id=%llu addr=%s name=%s closed: it uses most memory, %zu bytes (input "
                "%zu, output %zu, notes %zu, channels %zu, transaction %zu, pages %zu), and all "
                "clients together use %llu, more than maxmemory-clients (%llu)",
                (unsigned long long)h->client->id, h->client->link->address,
                h->client->settings.name, m->total, m->input, m->output, m->notes, m->channels,
                m->multi, m->pending, (unsigned long long)env->memory.clients,
                (unsigned long long)env->settings.memory_clients_max);
    env->stats.evicted_clients++;
    client_memory_uncount(h->client, env);
    h->client->ops->close(h->client);
}

static void count_as(struct client *c, struct env *env, size_t bytes)
{
    env->memory.clients = env->memory.clients - c->counted_bytes + bytes;
    c->counted_bytes = bytes;
}

void client_memory_count(struct client *c, struct env *env)
{
    struct client_memory held;
    client_memory_measure(c, &held);
    count_as(c, env, held.total);
}

void client_memory_uncount(struct client *c, struct env *env)
{
    count_as(c, env, 0);
}

void client_memory_check(struct env *env)
{
    uint64_t max = env->settings.memory_clients_max;
    bool may_be_over = env->memory.clients + env->memory.grown > max;
    if (max == 0 || (!may_be_over && env->memory.grown <= max / GROWN_PART)) return;
    struct holder *holders = mem_alloc((env->clients.count + 1) * sizeof *holders);
    size_t count = 0;
    env->memory.grown = 0;
    for (struct client *c = env->clients.list.next; c != &env->clients.list; c = c->next) {
        struct holder *h = &holders[count];
        h->client = c;
        client_memory_measure(c, &h->held);
        count_as(c, env, h->held.total);
        count += !c->settings.is_no_evict && (c->run.pending == NULL || !c->run.pending->is_short);
    }
    if (env->memory.clients > max) qsort(holders, count, sizeof *holders, most_first);
    for (size_t i = 0; i < count && env->memory.clients > max; i++) {
        evict(env, &holders[i]);
    }
    mem_free(holders);
}
