/* connect_watch: POST /connect/v2/watch, changes of up to ten keys as a stream of frames: the
 * length of a message (4 bytes, little-endian) and a WatchOutput; length 0 keeps the stream open.
 * Each says how all keys are.
 *
 * What has changed in a turn of the loop is told at its end, so that a transaction is told whole.
 *
 * It listens as any client that watches does (src/command/channel/watch.c), in MessagePack.
 */
#include "base/bytes.h"
#include "codec/key.h"
#include "codec/value.h"
#include "command/connect/value.h"
#include "engine/stamp.h"
#include "http/connect.h"

#define KEYS_MAX 10
#define KEY_BYTES_SENT_MAX 2048
#define STAMP_BYTES 10
#define MAP_OF_4 0x84
#define NIL 0xc0

/* What was told last: Deno takes a key that is left out for one that is absent. */
struct key_state {
    bool is_there;
    struct buf data; /* owned, until the stream ends */
    uint8_t stamp[STAMP_BYTES];
    Kv__Entry entry;
};

struct connect_watching {
    struct slice keys[KEYS_MAX];     /* tuples; one may be there twice */
    struct slice channels[KEYS_MAX]; /* kv:watch: and the path form; empty of the empty key */
    struct key_state states[KEYS_MAX];
    size_t count;
    struct exchange *exchange;
    struct connect_watching *next; /* of those that have something to tell */
    bool has_changed;
    uint64_t version; /* that is durable before it is told */
};

/* A message for a client that listens, taken apart. */
struct told {
    struct slice channel;
    struct slice key, value, stamp; /* MessagePack */
};

static bool take_told(struct slice frame, struct told *out)
{
    struct resp_item item;
    if (!rest_skip(&frame, 2, &item) || !slice_eq(item.text, slice_str("message"))) return false;
    if (!rest_next(&frame, &item)) return false;
    out->channel = item.text;
    if (!rest_next(&frame, &item)) return false;
    struct slice map = item.text;
    struct slice *members[] = {&out->key, &out->value, &out->stamp};
    if (map.len == 0 || map.data[0] != MAP_OF_4) return false;
    map = slice_of(map.data + 1, map.len - 1);
    for (size_t i = 0; i < 3; i++) {
        size_t name = value_length(map);
        struct slice rest = slice_of(map.data + name, map.len - name);
        *members[i] = slice_of(rest.data, value_length(rest));
        map = slice_of(rest.data + members[i]->len, rest.len - members[i]->len);
    }
    return true;
}

/* False: its value has no form in V8. */
static bool state_take(struct key_state *s, const struct told *t, struct slice key)
{
    enum connect_encoding encoding = CONNECT_V8;
    struct expected version;
    struct error ignored;
    s->is_there = t->stamp.data[0] != NIL;
    if (!s->is_there) return true;
    /* A text of 20 characters: a byte of head. */
    struct slice text = slice_of(t->stamp.data + 1, t->stamp.len - 1);
    if (stamp_parse(text, &version, &ignored) != OK) return false;
    buf_clear(&s->data, SIZE_MAX);
    if (connect_encode(t->value, &s->data, &encoding, &ignored) != OK) return false;
    if (s->data.is_failed) return false;
    put_u64(s->stamp, version.version);
    kv__entry__init(&s->entry);
    s->entry.key = connect_binary(key);
    s->entry.value = connect_binary(buf_slice(&s->data));
    s->entry.encoding = (int32_t)encoding;
    s->entry.versionstamp = (ProtobufCBinaryData){STAMP_BYTES, s->stamp};
    return true;
}

/* Its key is told wherever it was asked for. */
static bool watching_take(struct connect_watching *t, const struct told *told)
{
    for (size_t i = 0; i < t->count; i++) {
        if (!slice_eq(t->channels[i], told->channel)) continue;
        size_t before = t->states[i].data.cap;
        bool is_taken = state_take(&t->states[i], told, t->keys[i]);
        t->exchange->task_bytes += t->states[i].data.cap - before;
        if (!is_taken) return false;
    }
    return true;
}

static void watching_free(struct exchange *x)
{
    struct connect_watching *t = x->task;
    struct connect_watching **at = &x->http->changed;
    for (; *at != NULL; at = &(*at)->next) {
        if (*at != t) continue;
        *at = t->next;
        break;
    }
    for (size_t i = 0; i < t->count; i++) buf_fini(&t->states[i].data);
    x->task_bytes = 0;
}

/* A frame: all keys, in the order in which they were asked for. */
static void watching_write(struct connect_watching *t, struct buf *out)
{
    Kv__WatchOutput output = KV__WATCH_OUTPUT__INIT;
    Kv__WatchKeyOutput keys[KEYS_MAX];
    Kv__WatchKeyOutput *pointers[KEYS_MAX];
    uint8_t head[4];
    output.status = 1;
    output.n_keys = t->count;
    output.keys = pointers;
    for (size_t i = 0; i < t->count; i++) {
        kv__watch_key_output__init(&keys[i]);
        keys[i].changed = true;
        if (t->states[i].is_there) keys[i].entry_if_changed = &t->states[i].entry;
        pointers[i] = &keys[i];
    }
    size_t len = kv__watch_output__get_packed_size(&output);
    for (size_t i = 0; i < sizeof head; i++) head[i] = (uint8_t)(len >> (8 * i));
    buf_append(out, head, sizeof head);
    connect_pack(&output.base, out);
}

/* What cannot be told ends the stream: Deno asks again, and is told why. */
static void on_told(struct exchange *x, struct slice frame, uint64_t version)
{
    struct connect_watching *t = x->task;
    struct told told;
    if (!take_told(frame, &told)) return;
    if (!watching_take(t, &told)) {
        exchange_end_stream(x);
        return;
    }
    if (version > t->version) t->version = version;
    if (t->has_changed) return;
    t->has_changed = true;
    t->next = x->http->changed;
    x->http->changed = t;
}

static void tell(struct connect_watching *t)
{
    struct exchange *x = t->exchange;
    buf_clear(&x->text, SIZE_MAX);
    watching_write(t, &x->text);
    if (!x->text.is_failed) {
        exchange_send(x, buf_slice(&x->text), t->version);
    } else {
        x->text.is_failed = false;
        exchange_end_stream(x);
    }
}

void http_turn(struct http *h)
{
    while (h->changed != NULL) {
        struct connect_watching *t = h->changed;
        h->changed = t->next;
        t->has_changed = false;
        tell(t);
    }
}

/* ---- the beginning ---- */

/* Never a channel of the empty key: it cannot be there. */
static bool take_keys(struct exchange *x, struct connect_watching *t, const Kv__Watch *m)
{
    struct buf path;
    struct error e;
    if (m->n_keys > KEYS_MAX) {
        connect_fail(x, 400, "Too many keys watched in a single watch request.");
        return false;
    }
    buf_init(&path);
    for (; t->count < m->n_keys; t->count++) {
        struct slice key = slice_of(m->keys[t->count]->key.data, m->keys[t->count]->key.len);
        if (key.len > KEY_BYTES_SENT_MAX || key_check(key, &e) != OK) break;
        t->keys[t->count] = key;
        t->channels[t->count] = slice_of(NULL, 0);
        if (key.len == 0) continue;
        buf_clear(&path, SIZE_MAX);
        buf_append_str(&path, "kv:watch:");
        key_to_path(key, &path);
        buf_require(&path);
        t->channels[t->count] = arena_copy(&x->arena, buf_slice(&path));
    }
    buf_fini(&path);
    if (t->count == m->n_keys) return true;
    if (m->keys[t->count]->key.len > KEY_BYTES_SENT_MAX) {
        connect_fail(x, 400, "A key exceeds the key size limit.");
    } else {
        connect_fail(x, 400, "%s", e.text);
    }
    return false;
}

/* The states of all keys come with the confirmations. */
static void subscribed(struct exchange *x)
{
    struct connect_watching *t = x->task;
    struct slice frames = buf_slice(&x->reply);
    struct told told;
    bool is_good = true;
    if (connect_fails(x)) return;
    while (frames.len > 0 && is_good) {
        size_t len = resp_reply_length(frames);
        if (len == 0) break;
        if (take_told(slice_of(frames.data, len), &told)) is_good = watching_take(t, &told);
        frames = slice_of(frames.data + len, frames.len - len);
    }
    if (!is_good) {
        watching_free(x);
        connect_fail(x, 400, "The value of a watched key has no representation in V8.");
        return;
    }
    buf_clear(&x->text, SIZE_MAX);
    buf_clear(&x->reply, SIZE_MAX);
    watching_write(t, &x->text);
    x->heartbeat = slice_of("\0\0\0\0", 4);
    x->stream_type = "application/octet-stream";
    x->on_stream_over = watching_free;
    exchange_stream(x, buf_slice(&x->text), on_told);
}

void connect_watch_run(struct exchange *x)
{
    const Kv__Watch *m = (Kv__Watch *)connect_message(x, &kv__watch__descriptor);
    struct connect_watching *t = arena_alloc(&x->arena, sizeof *t);
    size_t channels = 0;
    *t = (struct connect_watching){.exchange = x};
    if (m == NULL || !take_keys(x, t, m)) return;
    x->task = t;
    struct rest_words w = rest_words_of(x, "SUBSCRIBE");
    for (size_t i = 0; i < t->count; i++) {
        if (t->channels[i].len == 0) continue;
        rest_words_add(&w, t->channels[i]);
        channels++;
    }
    if (channels == 0) {
        subscribed(x);
        return;
    }
    x->client.settings.proto = 3;
    x->client.settings.format = FORMAT_MSGPACK;
    rest_words_run(&w, subscribed);
}
