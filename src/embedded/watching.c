/* watching: callbacks for changes. A watch is a subscriber of kv:watch:<key> or kv:prefix:<key>
 * whose connection is a seat: what src/command/watch.c sends becomes frames, in order, each with
 * the version that it waits for. The thread that makes callbacks takes them out one at a time;
 * until then they count as unsent output, so that a callback that is too slow gets the newest
 * states and not all of them.
 *
 * The first frame's version may be lower than that of one before: frames wait for the highest so
 * far, which keeps the order and delays nothing that matters (a sync at most).
 */
#include "base/list.h"
#include "base/mem.h"
#include "codec/pack.h"
#include "codec/value.h"
#include "embedded/embedded_int.h"

#define PAYLOAD 2 /* of the items of a message: message, channel, payload */

/* ---- what a message says ---- */

static struct tupled_bytes bytes_of(const uint8_t *from, const uint8_t *to)
{
    return (struct tupled_bytes){from, (size_t)(to - from)};
}

/* The end of the JSON array at `p`. */
static const uint8_t *array_end(const uint8_t *p, const uint8_t *end)
{
    size_t depth = 0;
    bool is_text = false;
    for (; p < end; p++) {
        if (is_text) {
            if (*p == '"') is_text = false;
            if (*p == '\\') p++; /* what it escapes */
            continue;
        }
        if (*p == '"') is_text = true;
        if (*p == '[' || *p == '{') depth++;
        if (*p == ']' || *p == '}') depth--;
        if (depth == 0) return p + 1;
    }
    return end;
}

static void copy_stamp(char out[TUPLED_STAMP_BYTES], const uint8_t *text)
{
    memcpy(out, text, TUPLED_STAMP_BYTES - 1);
    out[TUPLED_STAMP_BYTES - 1] = '\0';
}

/* {"key":K,"value":V,"versionstamp":"..." or null,"commit":"..."}: all but K and V have their
 * length. */
static void read_json(struct slice s, struct tupled_change *c)
{
    const size_t stamp = TUPLED_STAMP_BYTES - 1;
    const uint8_t *end = s.data + s.len - 2 - stamp; /* of the commit's digits: its first */
    const uint8_t *p = s.data + strlen("{\"key\":");
    copy_stamp(c->commit, end);
    end -= strlen(",\"commit\":\"");
    bool is_there = end[-1] == '"';
    if (is_there) copy_stamp(c->versionstamp, end - 1 - stamp);
    end -= strlen(",\"versionstamp\":") + (is_there ? stamp + 2 : strlen("null"));
    if (*p == '[') {
        const uint8_t *key_end = array_end(p, end);
        c->key = bytes_of(p, key_end);
        p = key_end;
    } else {
        p += strlen("null");
    }
    p += strlen(",\"value\":");
    if (is_there) c->value = bytes_of(p, end);
}

/* The same as a MessagePack map of these four, in this order. */
static void read_msgpack(struct slice s, struct tupled_change *c)
{
    const uint8_t *at = s.data + 1;
    const uint8_t *end = s.data + s.len;
    struct slice parts[4];
    for (size_t i = 0; i < 4; i++) {
        at += value_length(slice_of(at, (size_t)(end - at)));
        size_t len = value_length(slice_of(at, (size_t)(end - at)));
        parts[i] = slice_of(at, len);
        at += len;
    }
    bool is_there = parts[2].len > 1; /* nil is one byte */
    copy_stamp(c->commit, parts[3].data + 1);
    if (is_there) copy_stamp(c->versionstamp, parts[2].data + 1);
    if (parts[0].len > 1) c->key = bytes_of(parts[0].data, parts[0].data + parts[0].len);
    if (is_there) c->value = bytes_of(parts[1].data, parts[1].data + parts[1].len);
}

/* ---- callbacks ---- */

/* The next frame that may be told, taken out; or a watch that has to be told of its end. */
static struct tupled_watch *next_of(struct tupled_db *db, struct frame **frame)
{
    struct frame *f = db->frame_first;
    *frame = NULL;
    if (f != NULL && f->version <= db->durable) {
        db->frame_first = f->next;
        if (f->next == NULL) db->frame_last = &db->frame_first;
        f->watch->seat->client.link->output_bytes -= f->len;
        *frame = f;
        return f->watch;
    }
    for (struct tupled_watch *w = db->watches; db->has_ended_watches && w != NULL; w = w->next) {
        if (w->end.code == OK || w->is_told) continue;
        w->is_told = true;
        return w;
    }
    db->has_ended_watches = false;
    return NULL;
}

/* NUL-ended copies of key and value. */
static void tell(struct tupled_watch *w, const struct frame *f)
{
    struct tupled_reply *r = reply_parse(slice_of(f->bytes, f->len), NULL);
    struct tupled_change c = {0};
    struct tupled_error e = {{0}, {0}};
    struct slice payload;
    if (r == NULL || r->count <= PAYLOAD) {
        mem_free(r);
        return;
    }
    payload = slice_of(r->items[PAYLOAD].text, r->items[PAYLOAD].len);
    if (w->db->options.format == TUPLED_MSGPACK) {
        read_msgpack(payload, &c);
    } else {
        read_json(payload, &c);
    }
    char *copy = mem_alloc_try(c.key.len + c.value.len + 2);
    if (copy != NULL) {
        bytes_copy(copy, c.key.data, c.key.len);
        copy[c.key.len] = '\0';
        bytes_copy(copy + c.key.len + 1, c.value.data, c.value.len);
        copy[c.key.len + 1 + c.value.len] = '\0';
        if (c.value.data != NULL) c.value.data = copy + c.key.len + 1;
        c.key.data = copy;
        w->changed(w->arg, &c, &e);
    }
    mem_free(copy);
    mem_free(r);
}

static void tell_end(struct tupled_watch *w)
{
    struct tupled_error e;
    (void)error_give(&e, w->end.code, w->end.text);
    w->changed(w->arg, NULL, &e);
}

bool watch_deliver(struct tupled_db *db)
{
    struct frame *f = NULL;
    pthread_mutex_lock(&db->lock);
    struct tupled_watch *w = db_is_broken(db) ? NULL : next_of(db, &f);
    db->delivering = w;
    pthread_mutex_unlock(&db->lock);
    if (w == NULL) return false;
    if (f != NULL) {
        tell(w, f);
    } else {
        tell_end(w);
    }
    mem_free(f);
    pthread_mutex_lock(&db->lock);
    db->delivering = NULL;
    bool is_ended = w->is_ended;
    pthread_cond_broadcast(&db->idle);
    pthread_mutex_unlock(&db->lock);
    if (is_ended) mem_free(w); /* by its own callback */
    return true;
}

/* ---- beginning and end ---- */

static void watch_begin(void *arg)
{
    struct tupled_watch *w = arg;
    struct tupled_db *db = w->db;
    db_enter(db);
    w->seat = seat_take(db);
    w->seat->is_kept = true;
    w->seat->watch = w;
    STACK_PUSH(db->watches, w, next, prev);
    db_leave(db);
}

static int watch(struct tupled_watch *w, const char *head, struct tupled_bytes key,
                 struct tupled_error *e)
{
    struct buf channel = {0};
    buf_append_str(&channel, head);
    buf_append(&channel, key.data, key.len);
    struct slice argv[2] = {slice_str("SUBSCRIBE"), buf_slice(&channel)};
    struct call c = {.kind = CALL_SUBSCRIBE, .argv = argv, .argc = 2, .seat = w->seat};
    if (channel.is_failed) {
        buf_fini(&channel);
        return error_give(e, ERR_NOMEM, "out of memory for a key");
    }
    call_run(w->db, &c);
    int outcome = call_outcome(&c, e);
    buf_fini(&c.out);
    buf_fini(&channel);
    return outcome;
}

/* `proto` has the database and the callback. */
static int watch_open(const struct tupled_watch *proto, const char *head, struct tupled_bytes key,
                      struct tupled_watch **out, struct tupled_error *e)
{
    struct tupled_watch *w = mem_new_try(sizeof *w);
    *out = NULL;
    if (w == NULL) return error_give(e, ERR_NOMEM, "out of memory for a watch");
    *w = *proto;
    if (!db_guard(w->db, watch_begin, w)) {
        mem_free(w);
        return db_broken(proto->db, e);
    }
    int outcome = watch(w, head, key, e);
    if (outcome > 0) {
        *out = w;
    } else {
        tupled_unwatch(w);
    }
    return outcome;
}

int tupled_watch_key(struct tupled_db *db, struct tupled_bytes key, tupled_on_change *changed,
                     void *arg, struct tupled_watch **out, struct tupled_error *e)
{
    struct tupled_watch w = {.db = db, .changed = changed, .arg = arg};
    return watch_open(&w, "kv:watch:", key, out, e);
}

int tupled_watch_prefix(struct tupled_db *db, struct tupled_bytes prefix, tupled_on_change *changed,
                        void *arg, struct tupled_watch **out, struct tupled_error *e)
{
    struct tupled_watch w = {.db = db, .changed = changed, .arg = arg};
    return watch_open(&w, "kv:prefix:", prefix, out, e);
}

struct unwatching {
    struct tupled_watch *watch;
    bool is_inside; /* of its own callback */
};

/* The first half is done for a database that is broken too; the seat is lost then. */
static void unwatch(void *arg)
{
    struct unwatching *u = arg;
    struct tupled_watch *w = u->watch;
    struct tupled_db *db = w->db;
    struct seat *seat = w->seat;
    db_lock(db);
    u->is_inside = db->delivering == w && pthread_equal(db->deliverer, pthread_self()) != 0;
    seat->watch = NULL; /* nothing more comes ... */
    w->is_told = true;
    frames_drop(w); /* ... and nothing is left */
    while (!u->is_inside && db->delivering == w) db_await_idle(db);
    STACK_UNLINK(db->watches, w, next, prev);
    w->seat = NULL;
    if (u->is_inside) w->is_ended = true;
    db_unlock(db);
    db_take(db);
    seat_free(seat);
    db_leave(db);
}

void tupled_unwatch(struct tupled_watch *w)
{
    if (w == NULL) return;
    struct unwatching u = {.watch = w};
    (void)db_guard(w->db, unwatch, &u);
    if (!u.is_inside) mem_free(w);
}
