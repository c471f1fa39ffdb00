/* watch: the channels kv:watch:<key> and kv:prefix:<key>, and patterns kv:watch:<glob over path
 * forms>: an ordinary SUBSCRIBE or PSUBSCRIBE, ordinary messages, fed by src/watch.
 *
 *   {"key":..,"value":..,"versionstamp":..,"commit":..}     in the subscriber's format
 *
 * A change is written into the subscriber's output at once, with its version: it leaves when the
 * commit is durable. A subscriber that does not keep up gets no ever-growing buffer: from
 * BACKLOG_BYTES of unsent output on, a change is only noted by its key, and when there is room
 * again the newest state of each noted key is sent, in the order of their last changes.
 *
 * Invariants: while a client has notes, every further change of it is noted too, so that a key's
 * messages stay in order; a note is dropped only when its message is in the output.
 */
#include "command/channel/channel_int.h"

#include "base/htab.h"
#include "base/list.h"
#include "base/log.h"
#include "base/mem.h"
#include "codec/key.h"
#include "codec/pack.h"
#include "codec/value.h"
#include "request/args.h"
#include "request/command.h"
#include "request/database.h"
#include "request/feature.h"
#include "request/format.h"
#include "request/hint.h"
#include "request/table.h"

#define BACKLOG_BYTES (256u << 10) /* of unsent output, from which changes are noted */
#define TIGHT_BYTES                                                                                \
    (16u << 10)                     /* the same, when clients hold much; below a quarter of it notes
                                     * are sent */
#define NOTES_BYTES_MAX (32u << 20) /* of one client */
#define TICK_BYTES (8u << 20)       /* of messages made of notes in one tick; a note counts ... */
#define NOTE_WORK 512               /* ... as at least so many */
#define WATCHED_BYTES 160           /* of a watched name, about */
#define PREFIX_CHANNEL "kv:prefix:"

struct watch_channel {
    struct slice name; /* first; as subscribed; its bytes follow the struct */
    uint64_t hash;
    struct watcher watcher;
    struct env *env;
    struct client *client;
    enum format format;
    uint16_t database;
    struct watch_channel *next, *prev; /* of the client */
    struct note *notes;                /* of the channel */
};

/* That a key has changed, and the newest state is to be sent. */
struct note {
    struct slice name; /* first: address of the channel, then the internal key; bytes follow */
    uint64_t hash;
    struct watch_channel *channel;
    uint64_t version; /* of the last change */
    struct note *next, *prev;
    struct note *channel_next, *channel_prev; /* of the same channel */
};

struct client_watches {
    struct htab channels[2]; /* SUBSCRIBE, PSUBSCRIBE */
    struct watch_channel *first;
    struct htab notes;
    struct note *note_first, *note_last; /* by their last change */
    size_t note_bytes, channel_bytes;
    struct waiter waiter; /* a noted key is being read from disk */
    struct client *client;
    struct client *next, *prev; /* env->noted, while it has notes */
    bool is_overrun;
    bool is_ended; /* the client has gone; what it has here is being freed */
};

static struct watch_form form_of(const struct watch_channel *ch)
{
    return (struct watch_form){.name = ch->name,
                               .proto = ch->client->proto,
                               .format = ch->format,
                               .is_pattern = ch->watcher.kind == WATCH_PATTERN};
}

static void send_change(struct watch_channel *ch, const struct change *c, uint64_t commit)
{
    struct watch_form form = form_of(ch);
    struct slice message = watch_message(ch->env, &form, c, commit);
    /* Without memory for it the client is over every limit. */
    if (message.data == NULL) {
        ch->client->watches->is_overrun = true;
    } else {
        ch->client->ops->write(ch->client, message, commit);
    }
}

/* ---- notes ---- */

static void noted_add(struct env *env, struct client *c)
{
    struct client_watches *x = c->watches;
    if (x->next != NULL) return;
    if (env->noted == NULL) {
        x->next = x->prev = c;
        env->noted = c;
        return;
    }
    x->next = env->noted;
    x->prev = env->noted->watches->prev;
    x->prev->watches->next = c;
    x->next->watches->prev = c;
}

static void noted_remove(struct env *env, struct client *c)
{
    struct client_watches *x = c->watches;
    if (x->next == NULL) return;
    if (env->noted == c) env->noted = x->next == c ? NULL : x->next;
    x->next->watches->prev = x->prev;
    x->prev->watches->next = x->next;
    x->next = x->prev = NULL;
}

static void note_unlink(struct client_watches *x, struct note *n)
{
    LIST_UNLINK(x->note_first, x->note_last, n, next, prev);
}

static void note_append(struct client_watches *x, struct note *n)
{
    LIST_APPEND(x->note_first, x->note_last, n, next, prev);
}

static void note_drop(struct env *env, struct client_watches *x, struct note *n)
{
    htab_remove(&x->notes, n->hash, &n->name);
    note_unlink(x, n);
    STACK_UNLINK(n->channel->notes, n, channel_next, channel_prev);
    x->note_bytes -= sizeof *n + n->name.len;
    mem_free(n);
    if (x->note_first == NULL) noted_remove(env, x->client);
}

static void note_change(struct watch_channel *ch, const struct change *c)
{
    struct client_watches *x = ch->client->watches;
    uint8_t name[sizeof ch + KEY_HEAD_BYTES + KEY_BYTES_MAX];
    INVARIANT(c->key.len <= sizeof name - sizeof ch);
    memcpy(name, &ch, sizeof ch);
    if (c->key.len > 0) memcpy(name + sizeof ch, c->key.data, c->key.len);
    struct slice key = slice_of(name, sizeof ch + c->key.len);
    uint64_t hash = hash_bytes(key);
    struct note *n = htab_find(&x->notes, hash, key);
    if (n != NULL) {
        note_unlink(x, n);
    } else if (x->note_bytes + sizeof *n + key.len > NOTES_BYTES_MAX) {
        x->is_overrun = true;
        return;
    } else {
        n = mem_new(sizeof *n + key.len);
        memcpy(n + 1, key.data, key.len);
        n->name = slice_of(n + 1, key.len);
        n->hash = hash;
        n->channel = ch;
        STACK_PUSH(ch->notes, n, channel_next, channel_prev);
        x->note_bytes += sizeof *n + key.len;
        client_memory_grow(ch->env, sizeof *n + key.len);
        htab_insert(&x->notes, hash, &n->name);
    }
    n->version = c->version;
    note_append(x, n);
    noted_add(ch->env, ch->client);
}

/* Unsent output from which changes are noted; `bytes`: of the change that is to be written. */
static size_t backlog_bytes(const struct env *env, size_t bytes)
{
    return client_memory_is_tight(env, bytes) ? TIGHT_BYTES : BACKLOG_BYTES;
}

static void on_changed(struct watcher *w, const struct change *c)
{
    struct watch_channel *ch =
        (struct watch_channel *)(void *)((char *)w - offsetof(struct watch_channel, watcher));
    struct client_watches *x = ch->client->watches;
    if (x->is_ended) return;
    size_t backlog = backlog_bytes(ch->env, c->value.len);
    if (c->is_late || x->note_first != NULL || ch->client->link->output_bytes >= backlog) {
        note_change(ch, c);
    } else {
        send_change(ch, c, c->version);
    }
}

/* The newest state of the oldest note. False when it has to be read first. */
static bool note_send(struct env *env, struct client_watches *x)
{
    struct note *n = x->note_first;
    struct slice key = slice_of(n->name.data + sizeof n->channel, n->name.len - sizeof n->channel);
    struct change c = {.key = key, .version = n->version};
    struct entry entry = {0};
    struct error e;
    uint64_t commit = n->version;
    if (key.len > 0) {
        enum err r = engine_get(env->db->engine, NULL, key, &entry, &x->waiter, &e);
        if (r == ERR_WAIT) return false;
        if (r != OK) {
            log_warning("watch: %s", e.text);
            x->is_overrun = true; /* better no connection than a change that is not sent */
            return false;
        }
        c.exists = entry.exists;
        c.value = entry.value;
        if (entry.exists) c.version = entry.version;
        if (c.version > commit) commit = c.version;
    }
    send_change(n->channel, &c, commit);
    note_drop(env, x, n);
    return true;
}

static void nothing_ready(struct waiter *w)
{
    (void)w; /* the next tick looks again */
}

/* The client's notes while there is room for them; false when the tick has done enough. */
static bool notes_send(struct env *env, struct client *c, size_t *work)
{
    struct client_watches *x = c->watches;
    if (x->waiter.next != NULL || c->link->output_bytes >= backlog_bytes(env, 0) / 4) return true;
    while (x->note_first != NULL && c->link->output_bytes < backlog_bytes(env, 0)) {
        size_t before = c->link->output_bytes;
        if (*work < NOTE_WORK) return false;
        if (!note_send(env, x)) return true;
        size_t cost = NOTE_WORK +
                      (c->link->output_bytes > before ? c->link->output_bytes - before : 0);
        *work -= cost < *work ? cost : *work;
    }
    return true;
}

/* More was late than is kept: better no connection than a change that is not told. */
static void watches_lost(struct env *env)
{
    for (struct client *c = env->clients.next; c != &env->clients;) {
        struct client *next = c->next;
        if (c->watches != NULL) {
            log_warning("client %s closed: more changes than can be sent to those who watch",
                        c->link->address);
            c->ops->close(c);
        }
        c = next;
    }
}

static void watches_tick(struct env *env)
{
    size_t work = TICK_BYTES;
    if (watch_take_loss(env->db->watch)) watches_lost(env);
    struct client *c = env->noted;
    if (c == NULL) return;
    struct client *last = c->watches->prev;
    for (bool is_last = false; !is_last;) {
        struct client_watches *x = c->watches;
        struct client *next = x->next;
        is_last = c == last;
        if (x->is_overrun) {
            log_warning("client %s closed: it does not read what it watches", c->link->address);
            c->ops->close(c);
        } else if (!notes_send(env, c, &work)) {
            env->noted = c; /* the next tick begins with it */
            return;
        }
        c = next;
    }
}

/* ---- subscribing ---- */

/* The name is kept here and, as a key or pattern, where it is watched. */
static size_t channel_cost(const struct watch_channel *ch)
{
    return sizeof *ch + 2 * ch->name.len + WATCHED_BYTES;
}

static struct client_watches *watches_of(struct client *c)
{
    if (c->watches != NULL) return c->watches;
    struct client_watches *x = mem_new(sizeof *x);
    htab_init(&x->channels[0]);
    htab_init(&x->channels[1]);
    htab_init(&x->notes);
    x->waiter.ready = nothing_ready;
    x->client = c;
    c->watches = x;
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
    enum err r = is_array ? format_read_key(rq->client->format, name, allow_empty, NULL,
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
        subjects_paths(s, access_literal(rest), ACCESS_READ);
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
    ch->env = rq->env;
    ch->client = rq->client;
    ch->format = rq->client->format;
    ch->database = rq->client->database;
    ch->watcher.changed = on_changed;
    STACK_PUSH(x->first, ch, next, prev);
    htab_insert(table, hash, &ch->name);
    x->channel_bytes += channel_cost(ch);
    client_memory_grow(rq->env, channel_cost(ch));
    watch_add(rq->env->db->watch, &ch->watcher, t->kind, t->name);
}

void watch_reply_first(struct request *rq, struct slice name, const struct watch_target *t)
{
    if (t->kind != WATCH_KEY) return;
    struct backend *b = engine_backend(rq->env->db->engine);
    struct watch_channel *ch = htab_find(&rq->client->watches->channels[0], hash_bytes(name), name);
    struct change c = {.key = t->name,
                       .exists = t->entry.exists,
                       .value = t->entry.value,
                       .version = t->entry.version};
    /* Of what is not there, the newest commit is the one that it is shown as of. */
    uint64_t commit = t->entry.exists ? t->entry.version : b->ops->version_newest(b);
    depends_raise(&rq->depends, commit);
    struct watch_form form = form_of(ch);
    watch_message_write(rq->w->out, &form, &c, commit);
}

static void channel_end(struct env *env, struct client_watches *x, struct watch_channel *ch)
{
    while (ch->notes != NULL) note_drop(env, x, ch->notes);
    htab_remove(&x->channels[ch->watcher.kind == WATCH_PATTERN], ch->hash, &ch->name);
    x->channel_bytes -= channel_cost(ch);
    watch_remove(env->db->watch, &ch->watcher);
    STACK_UNLINK(x->first, ch, next, prev);
    mem_free(ch);
}

static void watches_bytes(const struct client *c, struct client_memory *out)
{
    const struct client_watches *x = c->watches;
    if (x == NULL) return;
    out->notes += x->note_bytes + htab_bytes(&x->notes);
    out->channels += sizeof *x + x->channel_bytes + htab_bytes(&x->channels[0]) +
                     htab_bytes(&x->channels[1]);
}

void watch_unsubscribe(struct env *env, struct client *c, struct slice name, bool is_pattern)
{
    if (c->watches == NULL) return;
    struct watch_channel *ch = htab_find(&c->watches->channels[is_pattern], hash_bytes(name), name);
    if (ch != NULL) channel_end(env, c->watches, ch);
}

/* One note or channel at a time: a client may have a hundred thousand of each. */
static bool watches_end(struct env *env, struct client *c, size_t *work)
{
    struct client_watches *x = c->watches;
    if (x == NULL) return true;
    x->is_ended = true;
    waiter_cancel(&x->waiter);
    noted_remove(env, c);
    for (; *work > 0 && x->note_first != NULL; (*work)--) note_drop(env, x, x->note_first);
    for (; *work > 0 && x->first != NULL; (*work)--) channel_end(env, x, x->first);
    if (x->first != NULL) return false;
    for (int i = 0; i < 2; i++) htab_fini(&x->channels[i]);
    htab_fini(&x->notes);
    c->watches = NULL;
    mem_free(x);
    return true;
}

/* The channels are asked for as those of pubsub.c are; here, the databases they are of. */
static bool watch_user_changed(struct env *env, struct client *c)
{
    if (c->watches == NULL) return true;
    for (const struct watch_channel *ch = c->watches->first; ch != NULL; ch = ch->next) {
        if (!client_may_use(env, c, ch->database)) return false;
    }
    return true;
}

const struct feature watch_feature = {
    .open = watch_message_open,
    .close = watch_message_close,
    .user_changed = watch_user_changed,
    .tick = watches_tick,
    .client_end = watches_end,
    .client_bytes = watches_bytes,
};
