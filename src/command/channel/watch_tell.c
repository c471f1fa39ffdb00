/* watch_tell: a group's members hear what they have not heard, for a bounded time in each turn. */
#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"
#include "base/mem.h"
#include "command/channel/watch_group_int.h"
#include "engine/engine.h"
#include "resp/item.h"

#define AT_ONCE 16 /* members of a group that are told in the commit */
#define KEYS_BYTES                                                                                 \
    (32u << 20) /* of changes without their messages; more, and who holds them goes */
#define ROOM_BYTES (256u << 10)          /* a member with so much unsent output stalls ... */
#define ROOM_BYTES_MIN WATCH_BLOCK_BYTES /* ... with less when clients hold much, or are many: */
#define ROOM_BYTES_ALL (64u << 20)       /* members times their room */
#define TURN_US 5000                     /* of a turn, for telling */
#define LOOK_EVERY 16                    /* blocks between two looks at the clock */
#define TICK_WORK 20000                  /* stalled members that are looked at in one tick */
#define TRIM_WORK 20000                  /* changes that are forgotten in one turn */

/* ---- who waits for what ---- */

void watch_due_add(struct watch_group *g)
{
    struct watch_groups *all = g->env->families.watch_groups;
    if (g->due_next == NULL) RING_ADD(all->due, g, due_next, due_prev);
}

static void due_remove(struct watch_group *g)
{
    struct watch_groups *all = g->env->families.watch_groups;
    if (g->due_next == NULL) return;
    if (all->due == g) all->due = g->due_next == g ? NULL : g->due_next;
    RING_UNLINK(g, due_next, due_prev);
    g->due_next = g->due_prev = NULL;
}

static void stall_append(struct watch_group *g, struct watch_channel *ch)
{
    ch->is_stalled = true;
    ch->position->stalled++;
    LIST_APPEND(g->stalled, g->stalled_last, ch, group_next, group_prev);
    g->stalled_count++;
}

static void stall(struct watch_group *g, struct watch_channel *ch)
{
    struct watch_groups *all = g->env->families.watch_groups;
    watch_take_off(g, ch);
    stall_append(g, ch);
    if (g->stalled_next == NULL) RING_ADD(all->stalled, g, stalled_next, stalled_prev);
}

static void stalled_remove(struct watch_group *g)
{
    struct watch_groups *all = g->env->families.watch_groups;
    if (g->stalled_next == NULL) return;
    if (all->stalled == g) all->stalled = g->stalled_next == g ? NULL : g->stalled_next;
    RING_UNLINK(g, stalled_next, stalled_prev);
    g->stalled_next = g->stalled_prev = NULL;
}

void watch_rings_leave(struct watch_group *g)
{
    due_remove(g);
    stalled_remove(g);
}

/* ---- members ---- */

/* Nothing is told to it any more. */
static bool is_deaf(const struct watch_channel *ch)
{
    return ch->client->listening.watches->is_ended ||
           ch->client->listening.watches->cut_off_why != NULL;
}

/* Unsent output with which a member stalls. */
static size_t room_bytes(const struct watch_group *g)
{
    size_t bytes = ROOM_BYTES_ALL / g->members;
    if (bytes < ROOM_BYTES_MIN || client_memory_is_tight(g->env, 0)) return ROOM_BYTES_MIN;
    return bytes < ROOM_BYTES ? bytes : ROOM_BYTES;
}

static bool has_room(const struct watch_channel *ch, size_t room)
{
    return !ch->client->listening.hearing.is_held && ch->client->link->output_bytes < room;
}

/* Better no connection than a change that is not told. It ends in the next tick: with it the group
 * may. */
static void cut_off(struct watch_group *g, struct watch_channel *ch, const char *why)
{
    if (ch->client->listening.watches->cut_off_why == NULL) {
        ch->client->listening.watches->cut_off_why = why;
        g->env->families.watch_groups->has_cut_off = true;
    }
    watch_move(g, ch, NULL);
}

/* More is kept than may be: those furthest back go. */
static void cut_off_oldest(struct watch_group *g)
{
    struct watch_position *p = g->first->at;
    for (struct watch_channel *ch = g->stalled; p->stalled > 0;) {
        struct watch_channel *next = ch->group_next;
        if (ch->position == p) cut_off(g, ch, "it does not read its watch notifications");
        ch = next;
    }
    watch_position_release(g, p);
}

/* ---- messages ---- */

struct slice watch_message_of(struct watch_group *g, const struct change *c)
{
    struct buf *out = &g->env->families.watch_groups->message;
    buf_clear(out, WATCH_KEEP_BYTES);
    watch_message_write(out, &g->form, c, c->version);
    if (!out->is_failed) return buf_slice(out);
    out->is_failed = false;
    return slice_of(NULL, 0);
}

/* Whether all watchers can be told now: they are few, and have room. */
static bool can_tell_at_once(const struct watch_group *g, const struct change *c)
{
    if (c->is_late || g->first != NULL || g->members > AT_ONCE) return false;
    size_t room = room_bytes(g);
    for (const struct watch_channel *ch = g->end->first; ch != NULL; ch = ch->group_next) {
        if (!is_deaf(ch) && !has_room(ch, room)) return false;
    }
    return true;
}

/* Messages were written for the protocol that the client had when it subscribed. In the other one
 * they begin with another byte. */
static void write_in_other_protocol(struct watch_channel *ch, struct slice bytes, uint64_t version)
{
    struct buf copy;
    buf_init(&copy);
    buf_append(&copy, bytes.data, bytes.len);
    buf_require(&copy);
    for (size_t at = 0, len = 1; at < copy.len && len > 0; at += len) {
        copy.data[at] = ch->client->settings.proto == 3 ? '>' : '*';
        len = resp_reply_length(slice_of(copy.data + at, copy.len - at));
    }
    ch->client->ops->write(ch->client, buf_slice(&copy), version);
    buf_fini(&copy);
}

static void write_to(const struct watch_group *g, struct watch_channel *ch, struct slice bytes,
                     uint64_t version)
{
    if (ch->client->settings.proto == g->form.proto || g->form.write != NULL) {
        ch->client->ops->write(ch->client, bytes, version);
    } else {
        write_in_other_protocol(ch, bytes, version);
    }
}

bool watch_tell_at_once(struct watch_group *g, const struct change *c)
{
    if (!can_tell_at_once(g, c)) return false;
    struct slice message = watch_message_of(g, c);
    if (message.data == NULL) return false;
    for (struct watch_channel *ch = g->end->first; ch != NULL; ch = ch->group_next) {
        if (is_deaf(ch) || c->version <= ch->since) continue;
        write_to(g, ch, message, c->version);
    }
    return true;
}

/* Appends the newest state of what has changed. */
static enum err put_newest(struct watch_group *g, const struct watch_item *it, uint64_t *version)
{
    struct change c = {.key = it->key, .version = it->version};
    struct entry entry = {0};
    struct error e;
    uint64_t commit = it->version;
    if (g->waiter.next != NULL) return ERR_WAIT;
    if (it->key.len > 0) {
        enum err r = engine_get(g->env->db->engine, NULL, it->key, &entry, &g->waiter, &e);
        if (r == ERR_WAIT) return r;
        if (r != OK) {
            log_warning("watch: %s", e.text);
            return r;
        }
        c.exists = entry.exists;
        c.value = entry.value;
        if (entry.exists) c.version = entry.version;
        if (c.version > commit) commit = c.version;
    }
    watch_message_write(&g->block, &g->form, &c, commit);
    if (commit > *version) *version = commit;
    return g->block.is_failed ? ERR_NOMEM : OK;
}

/* The messages from an item on, some of them, in g->block. An error: not even of the first. */
static enum err block_make(struct watch_group *g, struct watch_item *from)
{
    if (g->block_first == from) return OK;
    buf_clear(&g->block, 4 * WATCH_BLOCK_BYTES);
    g->block_first = NULL;
    g->block_version = 0;
    for (struct watch_item *it = from; it != NULL && g->block.len < WATCH_BLOCK_BYTES;
         it = it->next) {
        enum err r = OK;
        size_t before = g->block.len;
        if (it->message != NULL) {
            buf_append(&g->block, it->message, it->len);
            if (it->version > g->block_version) g->block_version = it->version;
            r = g->block.is_failed ? ERR_NOMEM : OK;
        } else if (!it->is_superseded) {
            r = put_newest(g, it, &g->block_version);
        }
        if (r != OK) {
            g->block.is_failed = false;
            g->block.len = before;
            return g->block_first != NULL ? OK : r;
        }
        g->block_first = from;
        g->block_last = it;
    }
    return OK;
}

/* ---- telling ---- */

/* The next block, to one of those at the item. */
static enum err tell_one(struct watch_group *g, struct watch_item *it, size_t room)
{
    struct watch_channel *ch = it->at->first;
    if (is_deaf(ch)) {
        watch_move(g, ch, NULL);
        return OK;
    }
    if (!has_room(ch, room)) {
        stall(g, ch);
        return OK;
    }
    if (it->version <= ch->since) {
        watch_move(g, ch, it->next);
        return OK;
    }
    enum err r = block_make(g, it);
    if (r != OK) return r;
    struct watch_item *after = g->block_last->next;
    if (g->block.len > 0) write_to(g, ch, buf_slice(&g->block), g->block_version);
    watch_move(g, ch, after);
    return OK;
}

/* Watchers that have room, those furthest behind first. ERR_WAIT: something is being read;
 * ERR_LIMIT: the time is over. */
static enum err tell_all(struct watch_group *g, int64_t until_us)
{
    size_t room = room_bytes(g);
    unsigned blocks = 0;
    for (struct watch_item *it = g->first; it != NULL;) {
        struct watch_position *p = it->at;
        while (p != NULL && p->first != NULL) {
            enum err r = tell_one(g, it, room);
            if (r == ERR_WAIT) return r;
            if (r != OK) cut_off(g, p->first, "its watched keys cannot be read");
            if (++blocks % LOOK_EVERY == 0 && clock_mono_us() > until_us) {
                watch_position_release(g, p);
                return ERR_LIMIT;
            }
        }
        struct watch_item *next = it->next;
        if (p != NULL) watch_position_release(g, p);
        it = next;
    }
    return OK;
}

/* False: it needs another turn. */
static bool group_turn(struct watch_group *g, int64_t until_us)
{
    if (g->waiter.next != NULL) return true; /* watch_was_read is next */
    enum err r = tell_all(g, until_us);
    bool is_trimmed = watch_log_trim(g, TRIM_WORK);
    if (is_trimmed && g->first != NULL && g->key_bytes > KEYS_BYTES &&
        g->first->at->first == NULL) {
        cut_off_oldest(g);
        is_trimmed = watch_log_trim(g, TRIM_WORK);
    }
    if (g->first == NULL) buf_clear(&g->block, 0);
    watch_settle(g);
    /* Told already, before it waited: a waiter in no list is never woken. */
    if (r == ERR_WAIT) return g->waiter.next != NULL;
    return r == OK && is_trimmed;
}

bool watch_groups_turn(struct env *env)
{
    struct watch_groups *all = env->families.watch_groups;
    if (all->due == NULL) return false;
    int64_t until_us = clock_mono_us() + TURN_US;
    do {
        struct watch_group *g = all->due;
        if (group_turn(g, until_us)) {
            due_remove(g);
        } else {
            all->due = g->due_next;
        }
    } while (all->due != NULL && clock_mono_us() <= until_us);
    return all->due != NULL;
}

void watch_was_read(struct waiter *w)
{
    watch_due_add((struct watch_group *)(void *)((char *)w - offsetof(struct watch_group, waiter)));
}

/* Those who have room again are due. */
static void wake(struct watch_group *g, size_t *work)
{
    size_t room = room_bytes(g) / 4;
    for (size_t n = g->stalled_count; n > 0 && *work > 0; n--, (*work)--) {
        struct watch_channel *ch = g->stalled;
        struct watch_position *p = ch->position;
        bool is_awake = is_deaf(ch) || has_room(ch, room);
        watch_take_off(g, ch);
        if (!is_awake) {
            stall_append(g, ch);
            continue;
        }
        if (ch->since < ch->client->listening.hearing.since)
            ch->since = ch->client->listening.hearing.since;
        LIST_APPEND(p->first, p->last, ch, group_next, group_prev);
        watch_due_add(g);
    }
    if (g->stalled == NULL) stalled_remove(g);
}

static void close_those_cut_off(struct env *env)
{
    env->families.watch_groups->has_cut_off = false;
    for (struct client *c = env->clients.list.next; c != &env->clients.list;) {
        struct client *next = c->next;
        if (c->listening.watches != NULL && c->listening.watches->cut_off_why != NULL) {
            log_warning("client %s closed: %s", c->link->address,
                        c->listening.watches->cut_off_why);
            c->ops->close(c);
        }
        c = next;
    }
}

void watch_groups_tick(struct env *env)
{
    struct watch_groups *all = env->families.watch_groups;
    if (all->has_cut_off) close_those_cut_off(env);
    size_t work = TICK_WORK;
    const struct watch_group *last = all->stalled == NULL ? NULL : all->stalled->stalled_prev;
    for (bool is_last = false; all->stalled != NULL && !is_last && work > 0;) {
        struct watch_group *g = all->stalled;
        is_last = g == last;
        all->stalled = g->stalled_next;
        wake(g, &work);
    }
}
