/* watch_group: groups come with their first member and go with the last. A group's name is all that
 * makes its messages what they are: kind, protocol, format, writer, what is watched and the
 * channel. When the last member leaves, what is kept is freed some at a time. */
#include "command/channel/watch_group_int.h"

#include "base/list.h"
#include "base/mem.h"
#include "engine/engine.h"

#define WATCHED_BYTES 160 /* of what the group watches, about */

static void on_changed(struct watcher *w, const struct change *c)
{
    struct watch_group *g = (struct watch_group *)(void *)((char *)w -
                                                           offsetof(struct watch_group, watcher));
    if (!watch_tell_at_once(g, c)) watch_log_add(g, c);
}

/* ---- coming and going ---- */

static void put_name(struct buf *out, const struct watch_channel *ch, const struct watch_target *t)
{
    const struct client *c = ch->client;
    watch_writer *write = c->listening.hearing.write;
    const uint8_t head[] = {(uint8_t)t->kind, (uint8_t)c->settings.proto,
                            (uint8_t)c->settings.format};
    buf_clear(out, WATCH_KEEP_BYTES);
    buf_append(out, head, sizeof head);
    buf_append(out, &write, sizeof write);
    buf_append(out, &t->name.len, sizeof t->name.len);
    buf_append(out, t->name.data, t->name.len);
    buf_append(out, ch->name.data, ch->name.len);
    buf_require(out);
}

static struct watch_group *group_new(struct env *env, struct slice name, uint64_t hash,
                                     const struct watch_channel *ch, const struct watch_target *t)
{
    struct watch_group *g = mem_new(sizeof *g + name.len);
    memcpy(g + 1, name.data, name.len);
    g->name = slice_of(g + 1, name.len);
    g->hash = hash;
    g->env = env;
    g->watcher.changed = on_changed;
    g->form = (struct watch_form){
        .name = slice_of(g->name.data + name.len - ch->name.len, ch->name.len),
        .write = ch->client->listening.hearing.write,
        .proto = ch->client->settings.proto,
        .format = ch->client->settings.format,
        .is_pattern = t->kind == WATCH_PATTERN};
    htab_init(&g->items);
    g->end = watch_position_new(NULL);
    buf_init(&g->block);
    g->waiter.ready = watch_was_read;
    htab_insert(&env->families.watch_groups->table, hash, &g->name);
    watch_add(env->db->watch, &g->watcher, t->kind, t->name);
    return g;
}

void watch_group_join(struct env *env, struct watch_channel *ch, const struct watch_target *t)
{
    struct backend *b = engine_backend(env->db->engine);
    struct watch_groups *all = env->families.watch_groups;
    put_name(&all->message, ch, t);
    struct slice name = buf_slice(&all->message);
    uint64_t hash = hash_bytes(name);
    struct watch_group *g = htab_find(&all->table, hash, name);
    if (g == NULL) g = group_new(env, name, hash, ch, t);
    ch->group = g;
    ch->since = backend_version_newest(b);
    ch->position = g->end;
    LIST_APPEND(g->end->first, g->end->last, ch, group_next, group_prev);
    g->members++;
}

static void group_free(struct watch_group *g)
{
    INVARIANT(g->first == NULL && g->stalled == NULL);
    htab_remove(&g->env->families.watch_groups->table, g->hash, &g->name);
    watch_remove(g->env->db->watch, &g->watcher);
    waiter_cancel(&g->waiter);
    watch_rings_leave(g);
    htab_fini(&g->items);
    buf_fini(&g->block);
    mem_free(g->end);
    mem_free(g);
}

bool watch_group_leave(struct watch_channel *ch, size_t *work)
{
    struct watch_group *g = ch->group;
    struct watch_position *p = ch->position;
    if (g->members == 1 && g->first != NULL) {
        watch_move(g, ch, NULL);
        watch_position_release(g, p);
        while (g->first != NULL && *work > 0) {
            watch_item_free(g, g->first);
            (*work)--;
        }
        watch_settle(g);
        if (g->first != NULL) return false;
        p = ch->position;
    }
    watch_take_off(g, ch);
    watch_position_release(g, p);
    watch_settle(g);
    if (--g->members > 0) {
        if (g->first != NULL) watch_due_add(g); /* the oldest may not be needed any more */
    } else {
        group_free(g);
    }
    return true;
}

size_t watch_group_cost(const struct watch_channel *ch)
{
    const struct watch_group *g = ch->group;
    return (sizeof *g + sizeof *g->end + g->name.len + WATCHED_BYTES) / g->members;
}

void watch_groups_open(struct env *env)
{
    env->families.watch_groups = mem_new(sizeof *env->families.watch_groups);
    htab_init(&env->families.watch_groups->table);
    buf_init(&env->families.watch_groups->message);
}

void watch_groups_close(struct env *env)
{
    struct watch_groups *all = env->families.watch_groups;
    INVARIANT(all->table.count == 0);
    htab_fini(&all->table);
    buf_fini(&all->message);
    mem_free(all);
}
