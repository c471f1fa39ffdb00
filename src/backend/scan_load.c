/* scan_load: single entries as a scan sees them: from its memtables at its version, and from the
 * store as it was pinned. What must be read is read by one job of a query thread, which owns the
 * lookup meanwhile; the scan is SCAN_FETCHING then.
 */
#include "backend/scan_int.h"
#include "base/mem.h"

#define ARENA_BYTES (64 * 1024)

struct lookup {
    struct job job; /* first */
    struct scan *scan;
    struct arena arena; /* of keys, entries and their values */
    struct slice *keys; /* those that no memtable knows, in the order asked */
    struct entry *entries;
    size_t count;
    bool is_done; /* fetched; an error was not yet told */
    enum err result;
    struct error error;
};

/* What is asked for: entries, or rows that a filter wants of one of them. Both are kept, so that
 * neither waits for what the other has driven out. */
struct scan_keys {
    const struct slice *items;
    size_t count;
    bool is_for_filter;
};

void scan_lookup_free(struct scan *s)
{
    for (size_t i = 0; i < SCAN_LOOKUPS; i++) {
        struct lookup *u = s->lookups[i];
        if (u == NULL) continue;
        arena_fini(&u->arena);
        mem_free(u);
    }
}

/* True when a memtable, or a flush, decides. */
static bool from_memory(struct scan *s, struct slice key, struct entry *out)
{
    uint64_t hash = hash_bytes(key);
    *out = (struct entry){0};
    for (size_t i = 0; i < s->layer_count; i++) {
        const struct mem_version *v = memtable_get(s->layers[i].memtable, hash, key);
        if (v != NULL) v = mem_version_at(v, s->version);
        if (v == NULL) continue;
        depends_raise(&s->depends, v->version);
        if (v->is_tombstone || v->version < s->flushed) return true;
        *out = (struct entry){.exists = true,
                              .version = v->version,
                              .expiry_ms = v->expiry_ms,
                              .value = slice_of(v->value, v->value_len)};
        return true;
    }
    return s->flushed != 0;
}

static void lookup_run(struct job *job)
{
    struct lookup *u = (struct lookup *)job;
    u->result = store_get_many(u->scan->reader->reader, u->keys, u->count, &u->arena, u->entries,
                               &u->error);
}

static void lookup_done(struct job *job)
{
    struct lookup *u = (struct lookup *)job;
    struct scan *s = u->scan;
    scan_move(s, SCAN_PINNED);
    u->is_done = true;
    if (u->result != OK) damage_note(&s->pipeline->stored.damage, &u->error);
    pipeline_wake(s->pipeline, &s->waiters);
    if (s->is_closed) scan_free(s);
}

static enum err lookup_begin(struct scan *s, const struct scan_keys *asked, struct waiter *w,
                             struct error *e)
{
    struct lookup **place = &s->lookups[asked->is_for_filter];
    const struct slice *keys = asked->items;
    size_t count = asked->count;
    enum err r = backend_scan_pause(s, e);
    if (r != OK) return r;
    if (*place == NULL) {
        *place = mem_new(sizeof **place);
        arena_init(&(*place)->arena, ARENA_BYTES);
    }
    struct lookup *u = *place;
    arena_reset(&u->arena);
    u->scan = s;
    u->job = (struct job){.run = lookup_run, .done = lookup_done};
    u->keys = arena_alloc(&u->arena, count * sizeof *u->keys);
    u->entries = arena_alloc(&u->arena, count * sizeof *u->entries);
    u->count = 0;
    u->is_done = false;
    for (size_t i = 0; i < count; i++) {
        struct entry known;
        if (!from_memory(s, keys[i], &known)) {
            u->keys[u->count++] = arena_copy(&u->arena, keys[i]);
        }
    }
    scan_move(s, SCAN_FETCHING);
    waiter_add(&s->waiters, w);
    worker_post(s->pipeline->workers.query, &u->job);
    return error_set(e, ERR_WAIT, "entries are being read");
}

/* What the lookup brought, put between what the memtables know. It stays until something else is
 * asked for: who asks again after another wait finds it. False: it is of other keys. */
static bool hand_out(struct scan *s, const struct scan_keys *asked, struct entry *out)
{
    const struct lookup *u = s->lookups[asked->is_for_filter];
    size_t at = 0;
    if (u == NULL || !u->is_done) return false;
    for (size_t i = 0; i < asked->count; i++) {
        if (from_memory(s, asked->items[i], &out[i])) continue;
        if (at == u->count || !slice_eq(u->keys[at], asked->items[i])) return false;
        out[i] = u->entries[at++];
    }
    return true;
}

static enum err load(struct scan *s, const struct scan_keys *asked, struct entry *out,
                     struct waiter *w, struct error *e)
{
    struct lookup *u = s->lookups[asked->is_for_filter];
    depends_raise(&s->depends, s->flushed);
    if (s->state == SCAN_FETCHING) {
        waiter_add(&s->waiters, w);
        return error_set(e, ERR_WAIT, "entries are being read");
    }
    if (u != NULL && u->is_done && u->result != OK) {
        u->is_done = false;
        *e = u->error;
        return u->result;
    }
    if (hand_out(s, asked, out)) return OK;
    for (size_t i = 0; i < asked->count; i++) {
        if (from_memory(s, asked->items[i], &out[i])) continue;
        /* Within its first turn the newest state is what it sees. */
        enum err r = ERR_WAIT;
        if (s->state == SCAN_FRESH) r = pipeline_load_now(s->pipeline, asked->items[i], &out[i], e);
        if (r == OK) continue;
        return r == ERR_WAIT ? lookup_begin(s, asked, w, e) : r;
    }
    return OK;
}

enum err backend_scan_load(struct scan *s, const struct slice *keys, size_t count,
                           struct entry *out, struct waiter *w, struct error *e)
{
    struct scan_keys asked = {.items = keys, .count = count};
    return load(s, &asked, out, w, e);
}

enum err backend_scan_load_rows(struct scan *s, const struct slice *keys, size_t count,
                                struct entry *out, struct waiter *w, struct error *e)
{
    struct scan_keys asked = {.items = keys, .count = count, .is_for_filter = true};
    return load(s, &asked, out, w, e);
}
