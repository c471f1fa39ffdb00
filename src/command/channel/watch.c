/* watch: the channels kv:watch:<key> and kv:prefix:<key>, and patterns kv:watch:<glob over path
 * forms>: an ordinary SUBSCRIBE or PSUBSCRIBE, ordinary messages, fed by src/watch.
 *
 *   {"key":..,"value":..,"versionstamp":..,"commit":..}     in the subscriber's format
 *
 * A message is written with the version of its commit: it leaves when that is durable. How those
 * who watch the same are told, and what becomes of those who do not keep up, is in watch_group.h.
 */
#include "command/channel/watch_group.h"

#include "base/htab.h"
#include "base/list.h"
#include "base/log.h"
#include "base/mem.h"
#include "codec/key.h"
#include "codec/pack.h"
#include "codec/value.h"
#include "request/args.h"
#include "request/command.h"
#include "request/feature.h"
#include "request/format.h"
#include "request/hint.h"
#include "request/selected.h"
#include "request/table.h"

#define PREFIX_CHANNEL "kv:prefix:"

/* More was late than is kept: better no connection than a change that is not told. */
static void watches_lost(struct env *env)
{
    for (struct client *c = env->clients.list.next; c != &env->clients.list;) {
        struct client *next = c->next;
        if (c->listening.watches != NULL) {
            log_warning("client %s closed: more changes than can be sent to watching clients",
                        c->link->address);
            c->ops->close(c);
        }
        c = next;
    }
}

static void watches_tick(struct env *env)
{
    if (watch_take_loss(env->db->watch)) watches_lost(env);
    watch_groups_tick(env);
}

/* ---- subscribing ---- */

static struct client_watches *watches_of(struct client *c)
{
    if (c->listening.watches != NULL) return c->listening.watches;
    struct client_watches *x = mem_new(sizeof *x);
    htab_init(&x->channels[0]);
    htab_init(&x->channels[1]);
    c->listening.watches = x;
    return x;
}

bool watch_is_channel(struct slice name, bool is_pattern)
{
    if (is_pattern) return slice_has_prefix(name, slice_str(KEY_CHANNEL));
    return slice_has_prefix(name, slice_str(KEY_CHANNEL)) ||
           slice_has_prefix(name, slice_str(PREFIX_CHANNEL));
}

/* The key after the channel's name in any form: JSON, MessagePack, path. */
static enum err channel_key(struct request *rq, struct slice name, bool allow_empty,
                            struct slice *key)
{
    uint8_t first = name.len > 0 ? name.data[0] : 0;
    bool is_array = first == '[' || (first & 0xf0) == 0x90 || first == 0xdc || first == 0xdd;
    buf_clear(rq->scratch, SIZE_MAX);
    engine_key_begin(rq->scratch, rq->client->database);
    enum err r = is_array ? format_read_key(rq->client->settings.format, name, allow_empty, NULL,
                                            rq->scratch, &rq->error)
                          : key_from_path(name, allow_empty, rq->scratch, &rq->error);
    if (r == OK) *key = arena_copy(rq->arena, buf_slice(rq->scratch));
    if (r != OK && is_array) hint_key(rq, name);
    return r;
}

enum err watch_parse(struct request *rq, struct slice name, bool is_pattern, struct watch_target *t)
{
    size_t head = strlen(KEY_CHANNEL);
    t->entry = (struct entry){0};
    if (request_database(rq) != OK) return rq->error.code;
    if (is_pattern) {
        uint8_t *p = arena_alloc(rq->arena, KEY_HEAD_BYTES + name.len - head);
        uint8_t *glob = key_head_write(p, rq->client->database, 0);
        bytes_copy(glob, name.data + head, name.len - head);
        t->kind = WATCH_PATTERN;
        t->name = slice_of(p, KEY_HEAD_BYTES + name.len - head);
        return OK;
    }
    if (slice_has_prefix(name, slice_str(PREFIX_CHANNEL))) {
        head = strlen(PREFIX_CHANNEL);
        t->kind = WATCH_PREFIX;
        return channel_key(rq, slice_of(name.data + head, name.len - head), true, &t->name);
    }
    t->kind = WATCH_KEY;
    enum err r = channel_key(rq, slice_of(name.data + head, name.len - head), false, &t->name);
    return r == OK ? request_get(rq, t->name, &t->entry) : r;
}

/* "kv:watch:" and the path. */
static struct slice channel_in_path_form(struct subjects *s, const char *head, struct slice key)
{
    struct buf text;
    buf_init(&text);
    buf_append_str(&text, head);
    key_to_path(engine_key_tuple(key), &text);
    buf_require(&text);
    struct slice copy = arena_copy(s->rq->arena, buf_slice(&text));
    buf_fini(&text);
    return copy;
}

void watch_subjects(struct subjects *s, struct slice name, bool is_pattern)
{
    bool is_prefix = !is_pattern && slice_has_prefix(name, slice_str(PREFIX_CHANNEL));
    const char *head = is_prefix ? PREFIX_CHANNEL : KEY_CHANNEL;
    struct slice rest = slice_of(name.data + strlen(head), name.len - strlen(head));
    struct slice key;
    if (is_pattern) {
        subjects_channels(s, name);
        subjects_paths(s, glob_literal(rest), ACCESS_READ);
    } else if (channel_key(s->rq, rest, is_prefix, &key) != OK) {
        s->is_unclear = true; /* it will be refused */
    } else {
        subjects_channel(s, channel_in_path_form(s, head, key));
        if (is_prefix) subjects_below(s, engine_key_tuple(key), ACCESS_READ);
        if (!is_prefix) subjects_key(s, key, ACCESS_READ);
    }
}

void watch_subscribe(struct request *rq, struct slice name, const struct watch_target *t)
{
    struct client_watches *x = watches_of(rq->client);
    struct htab *table = &x->channels[t->kind == WATCH_PATTERN];
    uint64_t hash = hash_bytes(name);
    if (htab_find(table, hash, name) != NULL) return;
    struct watch_channel *ch = mem_new(sizeof *ch + name.len);
    memcpy(ch + 1, name.data, name.len);
    ch->name = slice_of(ch + 1, name.len);
    ch->hash = hash;
    ch->client = rq->client;
    ch->database = rq->client->database;
    ch->kind = t->kind;
    STACK_PUSH(x->first, ch, next, prev);
    htab_insert(table, hash, &ch->name);
    watch_group_join(rq->env, ch, t);
    ch->bytes = sizeof *ch + name.len + watch_group_cost(ch);
    x->channel_bytes += ch->bytes;
    client_memory_grow(rq->env, ch->bytes);
}

void watch_reply_first(struct request *rq, struct slice name, const struct watch_target *t)
{
    if (t->kind != WATCH_KEY) return;
    struct backend *b = engine_backend(rq->env->db->engine);
    struct watch_form form = {
        .name = name, .proto = rq->client->settings.proto, .format = rq->client->settings.format};
    struct change c = {.key = t->name,
                       .exists = t->entry.exists,
                       .value = t->entry.value,
                       .version = t->entry.version};
    /* Of what is not there, the newest commit is the one that it is shown as of. */
    uint64_t commit = t->entry.exists ? t->entry.version : backend_version_newest(b);
    depends_raise(&rq->depends, commit);
    watch_message_write(rq->w->out, &form, &c, commit);
}

/* False: it has more to forget than *work allows. */
static bool channel_end(struct client_watches *x, struct watch_channel *ch, size_t *work)
{
    if (!watch_group_leave(ch, work)) return false;
    htab_remove(&x->channels[ch->kind == WATCH_PATTERN], ch->hash, &ch->name);
    x->channel_bytes -= ch->bytes;
    STACK_UNLINK(x->first, ch, next, prev);
    mem_free(ch);
    return true;
}

static void watches_bytes(const struct client *c, struct client_memory *out)
{
    const struct client_watches *x = c->listening.watches;
    if (x == NULL) return;
    out->notes += x->kept_bytes;
    out->channels += sizeof *x + x->channel_bytes + htab_bytes(&x->channels[0]) +
                     htab_bytes(&x->channels[1]);
}

void watch_unsubscribe(struct client *c, struct slice name, bool is_pattern)
{
    if (c->listening.watches == NULL) return;
    struct watch_channel *ch = htab_find(&c->listening.watches->channels[is_pattern],
                                         hash_bytes(name), name);
    size_t work = SIZE_MAX;
    if (ch != NULL) (void)channel_end(c->listening.watches, ch, &work);
}

/* Some at a time: a client may have a hundred thousand of them. */
static bool watches_end(struct env *env, struct client *c, size_t *work)
{
    struct client_watches *x = c->listening.watches;
    (void)env;
    if (x == NULL) return true;
    x->is_ended = true;
    while (x->first != NULL) {
        if (*work == 0 || !channel_end(x, x->first, work)) return false;
        if (*work > 0) (*work)--;
    }
    for (int i = 0; i < 2; i++) htab_fini(&x->channels[i]);
    c->listening.watches = NULL;
    mem_free(x);
    return true;
}

/* The channels are asked for as those of pubsub.c are; here, the databases they are of. */
static bool watch_user_changed(struct env *env, struct client *c)
{
    if (c->listening.watches == NULL) return true;
    for (const struct watch_channel *ch = c->listening.watches->first; ch != NULL; ch = ch->next) {
        if (!client_may_use(env, c, ch->database)) return false;
    }
    return true;
}

const struct feature watch_feature = {
    .open = watch_groups_open,
    .close = watch_groups_close,
    .user_changed = watch_user_changed,
    .turn = watch_groups_turn,
    .tick = watches_tick,
    .client_end = watches_end,
    .client_bytes = watches_bytes,
};
