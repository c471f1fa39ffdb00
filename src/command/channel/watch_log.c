/* watch_log: what a group keeps until all watchers were told, and what each was told. */
#include "base/list.h"
#include "base/mem.h"
#include "command/channel/watch_group_int.h"

#define KEPT_BYTES (1u << 20) /* of messages of a group; a block of them when clients hold much */

/* ---- what is kept ---- */

static size_t item_bytes(const struct watch_item *it)
{
    return sizeof *it + it->key.len;
}

static void message_drop(struct watch_group *g, struct watch_item *it)
{
    if (it->message == NULL) return;
    g->message_bytes -= it->len;
    mem_free(it->message);
    it->message = NULL;
}

void watch_item_free(struct watch_group *g, struct watch_item *it)
{
    INVARIANT(it->at == NULL);
    message_drop(g, it);
    if (!it->is_superseded) htab_remove(&g->items, it->hash, &it->key);
    if (g->first_message == it) g->first_message = it->next;
    LIST_UNLINK(g->first, g->last, it, next, prev);
    g->key_bytes -= item_bytes(it);
    g->block_first = NULL;
    mem_free(it);
}

static bool item_is_void(const struct watch_item *it)
{
    return it->is_superseded && it->message == NULL;
}

bool watch_log_trim(struct watch_group *g, size_t work)
{
    while (g->first != NULL && g->first->at == NULL) {
        if (work-- == 0) return false;
        watch_item_free(g, g->first);
    }
    return true;
}

void watch_settle(struct watch_group *g)
{
    struct watch_channel *payer = NULL;
    size_t bytes = g->message_bytes + g->key_bytes;
    if (g->first != NULL && g->first->at != NULL) payer = g->first->at->first;
    if (payer == NULL) payer = g->stalled;
    if (g->payer != NULL) g->payer->client->listening.watches->kept_bytes -= g->paid;
    if (payer != NULL) payer->client->listening.watches->kept_bytes += bytes;
    g->payer = payer;
    g->paid = payer != NULL ? bytes : 0;
}

/* ---- positions ---- */

struct watch_position *watch_position_new(struct watch_item *it)
{
    struct watch_position *p = mem_new(sizeof *p);
    p->item = it;
    if (it != NULL) it->at = p;
    return p;
}

void watch_position_release(struct watch_group *g, struct watch_position *p)
{
    struct watch_item *it = p->item;
    if (it == NULL || p->first != NULL || p->stalled > 0) return;
    it->at = NULL;
    mem_free(p);
    if (item_is_void(it)) watch_item_free(g, it);
}

void watch_take_off(struct watch_group *g, struct watch_channel *ch)
{
    struct watch_position *p = ch->position;
    if (ch->is_stalled) {
        LIST_UNLINK(g->stalled, g->stalled_last, ch, group_next, group_prev);
        g->stalled_count--;
        p->stalled--;
    } else {
        LIST_UNLINK(p->first, p->last, ch, group_next, group_prev);
    }
    ch->is_stalled = false;
}

void watch_move(struct watch_group *g, struct watch_channel *ch, struct watch_item *to)
{
    struct watch_position *p = to == NULL ? g->end : to->at;
    if (p == NULL) p = watch_position_new(to);
    watch_take_off(g, ch);
    ch->position = p;
    LIST_APPEND(p->first, p->last, ch, group_next, group_prev);
}

/* ---- changes ---- */

static void give_up_messages(struct watch_group *g)
{
    size_t max = client_memory_is_tight(g->env, 0) ? WATCH_BLOCK_BYTES : KEPT_BYTES;
    while (g->message_bytes > max && g->first_message != NULL) {
        struct watch_item *it = g->first_message;
        g->first_message = it->next;
        message_drop(g, it);
        g->block_first = NULL;
        if (item_is_void(it) && it->at == NULL) watch_item_free(g, it);
    }
}

static void supersede(struct watch_group *g, uint64_t hash, struct slice key)
{
    struct watch_item *old = htab_find(&g->items, hash, key);
    if (old == NULL) return;
    htab_remove(&g->items, hash, &old->key);
    old->is_superseded = true;
    if (item_is_void(old) && old->at == NULL) watch_item_free(g, old);
}

/* Without memory for it there is none. */
static void keep_message(struct watch_group *g, struct watch_item *it, const struct change *c)
{
    struct slice message = watch_message_of(g, c);
    if (message.data == NULL) return;
    it->message = mem_alloc_try(message.len);
    if (it->message == NULL) return;
    memcpy(it->message, message.data, message.len);
    it->len = message.len;
}

void watch_log_add(struct watch_group *g, const struct change *c)
{
    uint64_t hash = hash_bytes(c->key);
    supersede(g, hash, c->key);
    struct watch_item *it = mem_new(sizeof *it + c->key.len);
    bytes_copy((uint8_t *)(it + 1), c->key.data, c->key.len);
    it->key = slice_of(it + 1, c->key.len);
    it->hash = hash;
    it->version = c->version;
    if (!c->is_late) keep_message(g, it, c);
    LIST_APPEND(g->first, g->last, it, next, prev);
    htab_insert(&g->items, hash, &it->key);
    if (g->first_message == NULL && it->message != NULL) g->first_message = it;
    g->message_bytes += it->len;
    g->key_bytes += item_bytes(it);
    client_memory_grow(g->env, item_bytes(it) + it->len);
    if (g->end->first != NULL) {
        g->end->item = it;
        it->at = g->end;
        g->end = watch_position_new(NULL);
    }
    give_up_messages(g);
    watch_settle(g);
    watch_due_add(g);
}
