/* rest_watch: changes by REST, as events, or by asking again.
 *
 *   event: change
 *   id: <versionstamp of the newest commit of which everything was told>
 *   data: [{"key":..,"value":..,"versionstamp":..}, ...]        deleted or expired: null, null
 *
 * One commit may be several events, so their id is the version before it: who goes on from there
 * hears the last commit again, and misses nothing.
 *
 * A stream listens first and looks then, so nothing is missed in between: what was pushed meanwhile
 * is sent after what was found. With Last-Event-ID a stream of a prefix goes on with the change
 * feed from there; when the feed does not reach back so far, `event: stale` says so, and the stream
 * begins anew. A single key's stream begins with its state in any case.
 */
#include "codec/json_lex.h"
#include "codec/key.h"
#include "engine/stamp.h"
#include "http/events.h"
#include "http/reply_json.h"
#include "http/rest.h"
#include "request/format.h"
#include "watch/watch.h"

#define KEYS_MAX 1000
#define FEED_COUNT "1000"
#define FEED_BYTES_MAX ((size_t)64 << 20)
#define STAMP_CHARS_MAX 20

struct watching {
    struct slice *keys; /* JSON */
    size_t count;
    struct slice prefix;             /* JSON; of a prefix */
    bool is_silent;                  /* initial=false */
    bool goes_on;                    /* with Last-Event-ID: what it named ... */
    char after[STAMP_CHARS_MAX + 1]; /* ... changes up to this one are known already */
    char shown[STAMP_CHARS_MAX + 1]; /* what is shown at first is not older than this; "" = none */
    int64_t limit;
};

/* ---- messages -------------------------------------------------------------------------------- */

/* {"key","value","versionstamp"} of a message; false: it is none. */
static bool take_message(struct slice frame, struct json_part parts[4])
{
    static const char *const names[] = {"key", "value", "versionstamp", "commit", NULL};
    struct slice text;
    struct json_part body;
    struct error e;
    return rest_message_text(frame, &text) && json_check(text, &body, &e) == OK &&
           json_members(&body, names, parts, false, "a message", &e) == OK;
}

static void put_change(struct buf *out, const struct json_part parts[4])
{
    buf_append_str(out, "{\"key\":");
    buf_append(out, parts[0].raw.data, parts[0].raw.len);
    buf_append_str(out, ",\"value\":");
    buf_append(out, parts[1].raw.data, parts[1].raw.len);
    buf_append_str(out, ",\"versionstamp\":");
    buf_append(out, parts[2].raw.data, parts[2].raw.len);
    buf_append_byte(out, '}');
}

static void stamp_copy(char to[STAMP_CHARS_MAX + 1], struct slice stamp)
{
    size_t len = stamp.len < STAMP_CHARS_MAX ? stamp.len : STAMP_CHARS_MAX;
    memcpy(to, stamp.data, len);
    to[len] = '\0';
}

static uint64_t version_of(struct slice stamp)
{
    struct expected read;
    struct error e;
    return stamp_parse(stamp, &read, &e) == OK && !read.is_none ? read.version : 0;
}

/* The version before a commit, of which everything was told. */
static void put_event_head(struct buf *out, uint64_t commit)
{
    char id[STAMP_CHARS];
    stamp_format(commit > 0 ? commit - 1 : 0, id);
    buf_append_str(out, "event: change\nid: ");
    buf_append(out, id, STAMP_CHARS);
    buf_append_str(out, "\ndata: [{");
}

/* An event of a change; the same for all who listen (client_hearing). */
static void write_event(struct buf *out, const struct change *c, uint64_t commit,
                        enum format format)
{
    char stamp[STAMP_CHARS];
    put_event_head(out, commit);
    buf_append_str(out, "\"key\":");
    if (c->key.len == 0) {
        buf_append_str(out, "null");
    } else {
        format_write_key(format, engine_key_tuple(c->key), out);
    }
    if (c->exists) {
        stamp_format(c->version, stamp);
        buf_append_str(out, ",\"value\":");
        format_write_value(format, c->value, out);
        buf_append_str(out, ",\"versionstamp\":\"");
        buf_append(out, stamp, STAMP_CHARS);
        buf_append_str(out, "\"}]\n\n");
    } else {
        buf_append_str(out, ",\"value\":null,\"versionstamp\":null}]\n\n");
    }
}

/* What the client will hear is written as events, and kept until the stream is open. */
static void begin_hearing(struct exchange *x)
{
    x->client.settings.proto = 3;
    x->client.listening.hearing = (struct client_hearing){.write = write_event, .is_held = true};
}

static void open_stream(struct exchange *x)
{
    const struct watching *t = x->task;
    x->client.listening.hearing.since = version_of(slice_str(t->after));
    x->heartbeat = slice_str(EVENT_PING);
    exchange_stream(x, buf_slice(&x->text), NULL);
}

/* ---- single keys ----------------------------------------------------------------------------- */

/* A list of paths with commas between; a comma in a part is %2C once more. */
static bool take_paths(struct exchange *x, struct watching *t)
{
    struct slice text = slice_of(NULL, 0);
    if (!rest_query_text(x, "keys", &text)) return false;
    if (text.len == 0) {
        exchange_fail(x, 400, "Missing 'keys' query parameter");
        return false;
    }
    t->keys = exchange_argv(x, KEYS_MAX);
    while (text.len > 0) {
        const uint8_t *comma = memchr(text.data, ',', text.len);
        size_t len = comma == NULL ? text.len : (size_t)(comma - text.data);
        if (t->count == KEYS_MAX) {
            exchange_fail(x, 400, "Too many keys (max %d)", KEYS_MAX);
            return false;
        }
        uint8_t *path = arena_alloc(&x->arena, len + 1);
        bool has_slash = len > 0 && text.data[0] == '/';
        path[0] = '/';
        memcpy(path + !has_slash, text.data, len);
        struct slice whole = slice_of(path, len + !has_slash);
        if (!rest_slashed_key(x, whole, &t->keys[t->count])) return false;
        t->count++;
        text = slice_of(text.data + len + (comma != NULL), text.len - len - (comma != NULL));
    }
    return true;
}

static struct watching *watching_of(struct exchange *x)
{
    struct watching *t = arena_alloc(&x->arena, sizeof *t);
    bool is_initial = true;
    *t = (struct watching){0};
    x->task = t;
    if (!rest_query_switch(x, "initial", &is_initial)) return NULL;
    t->is_silent = !is_initial;
    return t;
}

/* The states of all keys, which come with the confirmations, as one event. */
static void keys_subscribed(struct exchange *x)
{
    struct watching *t = x->task;
    struct slice frames = buf_slice(&x->reply);
    struct json_part parts[4];
    struct buf data;
    if (rest_fails(x)) return;
    buf_init(&data);
    buf_append_byte(&data, '[');
    while (frames.len > 0) {
        size_t len = resp_reply_length(frames);
        if (len == 0) break;
        if (take_message(slice_of(frames.data, len), parts)) {
            if (data.len > 1) buf_append_byte(&data, ',');
            put_change(&data, parts);
        }
        frames = slice_of(frames.data + len, frames.len - len);
    }
    buf_append_byte(&data, ']');
    rest_begin(x);
    if (!t->is_silent) event_write(&x->text, "change", slice_of(NULL, 0), buf_slice(&data));
    if (data.is_failed) x->text.is_failed = true;
    buf_fini(&data);
    open_stream(x);
}

static struct slice channel_of(struct exchange *x, const char *head, struct slice key)
{
    size_t len = strlen(head);
    uint8_t *text = arena_alloc(&x->arena, len + key.len);
    memcpy(text, head, len);
    memcpy(text + len, key.data, key.len);
    return slice_of(text, len + key.len);
}

static void open_keys(struct exchange *x)
{
    const struct watching *t = x->task;
    struct rest_words w = rest_words_of(x, "SUBSCRIBE");
    for (size_t i = 0; i < t->count; i++)
        rest_words_add(&w, channel_of(x, "kv:watch:", t->keys[i]));
    begin_hearing(x);
    rest_words_run(&w, keys_subscribed);
}

void rest_watch_run(struct exchange *x)
{
    struct watching *t = watching_of(x);
    if (t != NULL && take_paths(x, t)) open_keys(x);
}

/* ---- a prefix -------------------------------------------------------------------------------- */

static void entries_came(struct exchange *x)
{
    struct slice rest = buf_slice(&x->reply);
    struct resp_item item;
    struct buf data;
    if (rest_fails(x)) return;
    buf_init(&data);
    buf_append_byte(&data, '[');
    if (rest_skip(&rest, 3, &item)) {
        for (size_t i = item.children; i > 0; i--) {
            shape_write(REST_ENTRY, &rest, &data);
            if (i > 1) buf_append_byte(&data, ',');
        }
    }
    buf_append_byte(&data, ']');
    const struct watching *t = x->task;
    event_write(&x->text, "change", slice_str(t->shown), buf_slice(&data));
    if (data.is_failed) x->text.is_failed = true;
    buf_fini(&data);
    open_stream(x);
}

/* What is looked at is not older than this version. */
static void version_came(struct exchange *x)
{
    struct watching *t = x->task;
    struct slice version = reply_text(buf_slice(&x->reply));
    if (rest_fails(x)) return;
    stamp_copy(t->shown, version);
    if (t->is_silent) {
        open_stream(x);
        return;
    }
    struct rest_words w = rest_words_of(x, "KV.LIST");
    rest_words_str(&w, "PREFIX");
    rest_words_add(&w, t->prefix);
    rest_words_str(&w, "LIMIT");
    rest_words_number(&w, t->limit);
    rest_words_run(&w, entries_came);
}

static void look(struct exchange *x)
{
    exchange_words(x, version_came, WORDS("KV.VERSION"));
}

static void ask_feed(struct exchange *x);

static void put_feed_row(struct exchange *x, struct slice *rest)
{
    struct resp_item items[REST_ROW_ITEMS];
    if (!rest_next_row(rest, items)) return;
    put_event_head(&x->text, version_of(items[3].text));
    rest_put_row(&x->text, items);
    buf_append_str(&x->text, "}]\n\n");
}

/* What followed is not kept, or is more than is sent at once. */
static void begin_anew(struct exchange *x)
{
    struct watching *t = x->task;
    t->after[0] = '\0';
    rest_begin(x);
    event_write(
        &x->text, "stale", slice_of(NULL, 0),
        slice_str("{\"error\":\"not all changes after Last-Event-ID are available; the current "
                  "entries follow\"}"));
    look(x);
}

/* [next, [[key, value, versionstamp, expiry] ..]]: every change is an event of its own, as it would
 * have been then. */
static void feed_came(struct exchange *x)
{
    struct watching *t = x->task;
    struct slice rest = buf_slice(&x->reply);
    struct resp_item item;
    struct slice error;
    if (reply_is_error(rest, &error) && slice_has_prefix(error, slice_str("STALE"))) {
        begin_anew(x);
        return;
    }
    if (rest_fails(x)) return;
    if (!rest_skip(&rest, 2, &item)) return;
    stamp_copy(t->after, item.text);
    if (!rest_next(&rest, &item)) return;
    size_t count = item.children;
    for (size_t i = 0; i < count; i++) put_feed_row(x, &rest);
    if (x->text.len > FEED_BYTES_MAX) {
        begin_anew(x);
    } else if (count > 0) {
        ask_feed(x);
    } else {
        open_stream(x);
    }
}

static void ask_feed(struct exchange *x)
{
    const struct watching *t = x->task;
    struct rest_words w = rest_words_of(x, "KV.CHANGES");
    rest_words_add(&w, arena_copy(&x->arena, slice_str(t->after)));
    rest_words_str(&w, "PREFIX");
    rest_words_add(&w, t->prefix);
    rest_words_str(&w, "COUNT");
    rest_words_str(&w, FEED_COUNT);
    rest_words_run(&w, feed_came);
}

static void prefix_subscribed(struct exchange *x)
{
    const struct watching *t = x->task;
    if (rest_fails(x)) return;
    rest_begin(x);
    if (t->goes_on) {
        ask_feed(x);
    } else {
        look(x);
    }
}

/* `since`: in place of the header, which no first request has; data NULL = none. */
static bool take_last_event(struct exchange *x, struct watching *t, struct slice since)
{
    struct slice id = http_header(x->message, "last-event-id");
    bool is_header = id.data != NULL && id.len > 0;
    if (!is_header) id = since;
    if (id.data == NULL || id.len == 0) return true;
    bool is_good = id.len == STAMP_CHARS_MAX;
    for (size_t i = 0; i < id.len && is_good; i++) {
        is_good = strchr("0123456789abcdef", id.data[i]) != NULL && id.data[i] != 0;
    }
    if (!is_good) {
        exchange_fail(x, 400,
                      is_header ? "Last-Event-ID must be the id of an event of this stream"
                                : "since must be a versionstamp");
        return false;
    }
    memcpy(t->after, id.data, id.len);
    t->goes_on = true;
    return true;
}

static bool take_prefix(struct exchange *x, struct watching *t)
{
    if (!rest_query_key(x, "prefix", &t->prefix)) return false;
    if (t->prefix.data == NULL && !rest_query_key(x, "prefixes", &t->prefix)) return false;
    if (t->prefix.data != NULL) return rest_limit(x, NULL, &t->limit);
    exchange_fail(x, 400, "Missing 'prefix' query parameter");
    return false;
}

static void open_prefix(struct exchange *x)
{
    const struct watching *t = x->task;
    struct rest_words w = rest_words_of(x, "SUBSCRIBE");
    rest_words_add(&w, channel_of(x, "kv:prefix:", t->prefix));
    begin_hearing(x);
    rest_words_run(&w, prefix_subscribed);
}

void rest_watch_prefix_run(struct exchange *x)
{
    struct watching *t = watching_of(x);
    if (t == NULL || !take_prefix(x, t) || !take_last_event(x, t, slice_of(NULL, 0))) return;
    open_prefix(x);
}

void rest_watch_open(struct exchange *x, const struct rest_watch *w)
{
    struct watching *t = arena_alloc(&x->arena, sizeof *t);
    *t = (struct watching){.keys = w->keys,
                           .count = w->count,
                           .prefix = w->prefix,
                           .is_silent = w->is_silent,
                           .limit = w->limit};
    x->task = t;
    if (w->prefix.data == NULL) {
        open_keys(x);
    } else if (take_last_event(x, t, w->since)) {
        open_prefix(x);
    }
}

/* ---- asking again ---------------------------------------------------------------------------- */

struct polling {
    struct watching *watching;
    struct slice stamps; /* of the last answer, with commas between */
};

/* The next one of a list with commas between. */
static struct slice next_stamp(struct slice *list)
{
    const uint8_t *comma = list->len == 0 ? NULL : memchr(list->data, ',', list->len);
    struct slice one = *list;
    if (comma != NULL) one.len = (size_t)(comma - list->data);
    size_t used = one.len + (comma != NULL);
    *list = slice_of(list->data + used, list->len - used);
    return one;
}

static void states_came(struct exchange *x)
{
    const struct polling *p = x->task;
    const struct watching *t = p->watching;
    struct slice rest = buf_slice(&x->reply);
    struct slice known = p->stamps;
    struct resp_item item;
    struct buf stamps;
    bool is_first = true;
    if (rest_fails(x)) return;
    rest_begin(x);
    buf_init(&stamps);
    buf_append_str(&x->text, "{\"entries\":[");
    (void)rest_next(&rest, &item);
    for (size_t i = 0; i < t->count; i++) {
        struct slice now = rest_stamp_at(rest);
        struct slice before = next_stamp(&known);
        if (i > 0) buf_append_byte(&stamps, ',');
        json_string_write(now, &stamps);
        if (slice_eq(now, before)) {
            rest = slice_of(rest.data + resp_reply_length(rest),
                            rest.len - resp_reply_length(rest));
            continue;
        }
        if (!is_first) buf_append_byte(&x->text, ',');
        is_first = false;
        rest_put_found(&x->text, t->keys[i], &rest);
    }
    buf_append_str(&x->text, "],\"versionstamps\":[");
    buf_append(&x->text, stamps.data, stamps.len);
    buf_append_str(&x->text, "]}");
    if (stamps.is_failed) x->text.is_failed = true;
    buf_fini(&stamps);
    exchange_answer_json(x, 200);
}

void rest_watch_poll_run(struct exchange *x)
{
    struct watching *t = watching_of(x);
    if (t == NULL || !take_paths(x, t)) return;
    struct polling *p = arena_alloc(&x->arena, sizeof *p);
    *p = (struct polling){.watching = t};
    if (!rest_query_text(x, "versionstamps", &p->stamps)) return;
    x->task = p;
    struct rest_words w = rest_words_of(x, "KV.MGET");
    for (size_t i = 0; i < t->count; i++) rest_words_add(&w, t->keys[i]);
    rest_words_run(&w, states_came);
}
