/* idem: the window of request ids (IDEM). Client libraries re-send a command after a lost
 * connection; a repeat of its id gets the first reply and does nothing.
 *
 * An id is a row in its own space, written in the commit that it belongs to:
 *
 *   database, SPACE_IDEM, user length, user, id -> time ms (8, big-endian), fingerprint (16), reply
 *
 * The ids alone are also in memory (id_window): a new id, nearly all are, needs no read. They are
 * read from the store after a start, a slice a tick; requests with an id wait until that is done.
 * The sweeper removes the rows that left the window.
 *
 * Invariants: once read, an id is in memory exactly when its row is in the newest state. A flush of
 * a database forgets its ids with all else that was in it.
 */
#include "base/bytes.h"
#include "engine/overlay.h"

#define ROW_HEAD_BYTES (8 + IDEM_FINGERPRINT_BYTES)
#define FREE_ENTRIES 5000
#define ARENA_BYTES (64 * 1024)

static int64_t row_time_ms(struct slice value)
{
    return (int64_t)get_u64(value.data);
}

static void idem_on_commit(void *arg, uint64_t version, const struct write_set *ws)
{
    struct idem *m = arg;
    (void)version;
    for (size_t i = 0; i < ws->count; i++) {
        const struct mutation *mu = &ws->items[i];
        if (mu->kind == MUTATION_FLUSH) {
            id_window_forget(&m->ids, key_database(mu->key));
        } else if (key_space(mu->key) != SPACE_IDEM) {
            continue;
        } else if (mu->kind == MUTATION_SET) {
            id_window_put(&m->ids, mu->key, row_time_ms(mu->value));
        } else {
            id_window_remove(&m->ids, mu->key);
        }
    }
}

/* ---- requests ---- */

static struct slice request_key(struct overlay *o, const struct idem_request *q)
{
    size_t len = KEY_HEAD_BYTES + 1 + q->user.len + q->id.len;
    uint8_t *p = arena_alloc(o->arena, len);
    uint8_t *at = key_head_write(p, q->database, SPACE_IDEM);
    *at++ = (uint8_t)q->user.len;
    memcpy(at, q->user.data, q->user.len);
    memcpy(at + q->user.len, q->id.data, q->id.len);
    return slice_of(p, len);
}

/* In memory and in its window, or written by this very transaction? */
static bool is_known(struct overlay *o, const struct idem_request *q, struct slice key)
{
    struct engine *g = o->engine;
    const struct written *own = overlay_find(o, key);
    if (own != NULL && !own->is_flushed) return own->exists;
    if (overlay_is_flushed(o, q->database)) return false;
    const struct id_entry *x = id_window_find(&g->idem.ids, key);
    return x != NULL && id_window_counts(x, o->now_ms, g->options.idem_window_ms);
}

enum err idem_find(struct overlay *o, struct idem_request *q, struct waiter *w, struct error *e)
{
    struct engine *g = o->engine;
    struct slice key = request_key(o, q);
    struct entry entry;
    q->is_repeat = false;
    q->depends = 0;
    enum err r = engine_start_check(g, SPACE_IDEM, q->database, w, e);
    if (r != OK) return r;
    if (!is_known(o, q, key)) {
        if (g->idem.ids.count + o->idem_rows < g->options.idem_entries_max) return OK;
        return error_set(e, ERR_TRYAGAIN,
                         "%llu request ids are remembered (idem-max-entries); nothing was changed",
                         (unsigned long long)g->options.idem_entries_max);
    }
    r = engine_get(g, o, key, &entry, w, e);
    if (r != OK) return r;
    if (!entry.exists || entry.value.len < ROW_HEAD_BYTES) {
        return error_set(e, ERR_CORRUPT, "the row of request id '%.*s' is damaged",
                         (int)(q->id.len < 64 ? q->id.len : 64), (const char *)q->id.data);
    }
    if (memcmp(entry.value.data + 8, q->fingerprint, IDEM_FINGERPRINT_BYTES) != 0) {
        return error_set(e, ERR_SYNTAX,
                         "IDEM '%.*s' was used with another command or other arguments",
                         (int)(q->id.len < 64 ? q->id.len : 64), (const char *)q->id.data);
    }
    q->is_repeat = true;
    q->depends = entry.depends;
    q->reply = slice_of(entry.value.data + ROW_HEAD_BYTES, entry.value.len - ROW_HEAD_BYTES);
    return OK;
}

void idem_keep(struct overlay *o, const struct idem_request *q, struct slice reply)
{
    uint8_t *value = arena_alloc(o->arena, ROW_HEAD_BYTES + reply.len);
    put_u64(value, (uint64_t)o->now_ms);
    memcpy(value + 8, q->fingerprint, IDEM_FINGERPRINT_BYTES);
    memcpy(value + ROW_HEAD_BYTES, reply.data, reply.len);
    overlay_set(o, request_key(o, q), slice_of(value, ROW_HEAD_BYTES + reply.len), 0);
    o->idem_rows++;
}

/* ---- reading them after a start ---- */

static enum err idem_row(void *arg, struct slice key, const struct entry *entry, struct error *e)
{
    struct idem *m = arg;
    (void)e;
    if (entry->value.len < ROW_HEAD_BYTES) return OK; /* who repeats the id is told */
    id_window_read(&m->ids, key, row_time_ms(entry->value), true);
    return OK;
}

static void idem_read(void *arg, uint16_t database, bool is_good)
{
    struct idem *m = arg;
    if (is_good) id_window_sort(&m->ids, database);
}

/* ---- removing what left the window ---- */

static void sweep(struct idem *m, const struct id_entry *oldest, int64_t now_ms)
{
    struct backend *b = m->engine->backend;
    struct write_set ws = {.arena = &m->arena, .time_ms = now_ms, .is_exempt = true};
    const struct engine_options *options = &m->engine->options;
    uint64_t version = 0;
    struct error e;
    enum err r = backend_admit(b, &m->waiter, &e);
    for (const struct id_entry *x = oldest; r == OK && x != NULL; x = x->next) {
        if (ws.count == options->expire_batch) break;
        if (id_window_counts(x, now_ms, options->idem_window_ms)) break;
        struct slice key = arena_copy(&m->arena, x->key);
        write_set_add(&ws, MUTATION_DELETE, key, slice_of(NULL, 0), 0);
    }
    if (r == OK) r = engine_commit_set(m->engine, &ws, &version, &m->waiter, &e);
    /* Not now: the next tick tries again. */
    (void)r;
    arena_reset(&m->arena);
}

void idem_tick(struct idem *m)
{
    id_window_free_dropped(&m->ids, FREE_ENTRIES);
    if (!engine_start_is_over(m->engine, SPACE_IDEM)) return;
    if (m->ids.count == 0 || m->waiter.next != NULL) return;
    int64_t now_ms = engine_time_ms(m->engine);
    for (uint32_t i = 0; id_window_next(&m->ids, &i); i++) {
        const struct id_entry *oldest = id_window_oldest(&m->ids, (uint16_t)i);
        if (m->waiter.next != NULL) continue;
        if (id_window_counts(oldest, now_ms, m->engine->options.idem_window_ms)) continue;
        sweep(m, oldest, now_ms);
    }
}

/* ---- life ---- */

static void nothing_ready(struct waiter *w)
{
    /* The next tick looks again. */
    (void)w;
}

void idem_init(struct idem *m, struct engine *g)
{
    struct layer layer = {
        .kinds = LAYER_SPACE(SPACE_IDEM) | LAYER_FLUSH, .on_commit = idem_on_commit, .arg = m};
    *m = (struct idem){.engine = g, .waiter = {.ready = nothing_ready}};
    struct start_space rows = {.space = SPACE_IDEM,
                               .what = "request ids",
                               .rank = 4,
                               .row = idem_row,
                               .done = idem_read,
                               .arg = m};
    id_window_init(&m->ids);
    arena_init(&m->arena, ARENA_BYTES);
    engine_add_layer(g, &layer);
    engine_read_at_start(g, &rows);
}

void idem_fini(struct idem *m)
{
    waiter_cancel(&m->waiter);
    id_window_fini(&m->ids);
    arena_fini(&m->arena);
}
