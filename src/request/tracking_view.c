/* tracking_view: what is shown of tracking. */
#include "request/tracking_int.h"

void tracking_look(const struct client *c, struct tracking_view *out)
{
    const struct client_tracking *t = c->tracking;
    *out = (struct tracking_view){0};
    if (t == NULL) return;
    *out = (struct tracking_view){.is_on = true,
                                  .options = t->options,
                                  .is_caching = t->is_caching,
                                  .is_broken = t->is_broken};
}

size_t tracking_prefixes(const struct client *c, struct arena *arena, struct slice **out)
{
    struct broadcast_member *at = NULL;
    struct slice prefix;
    size_t count = 0;
    *out = arena_alloc(arena, TRACKING_PREFIXES_MAX * sizeof **out);
    if (c->tracking == NULL) return 0;
    while (count < TRACKING_PREFIXES_MAX &&
           broadcast_prefix(&c->tracking->listener, &at, &prefix)) {
        (*out)[count++] = arena_copy(arena, prefix);
    }
    return count;
}

size_t tracking_bytes(const struct client *c)
{
    const struct client_tracking *t = c->tracking;
    return t == NULL ? 0 : sizeof *t + t->tracker.bytes + t->listener.bytes;
}

void tracking_count(const struct env *env, struct tracking_counts *out)
{
    const struct trackings *x = env->trackings;
    *out = (struct tracking_counts){.clients = x->client_count,
                                    .keys = tracked_keys(x->keys),
                                    .items = tracked_items(x->keys),
                                    .prefixes = broadcast_prefixes(x->prefixes)};
}
