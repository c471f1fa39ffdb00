/* watch: a commit looks up the key and every prefix of it by hash, and goes through the patterns of
 * its database. Once something is late, all that follows is late as well (but for watchers with
 * is_once), so that each gets changes in order; a key that is late twice is told once, as of the
 * later. */
#include "watch/watch.h"

#include "base/glob.h"
#include "base/htab.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/sparse.h"
#include "codec/key.h"

#define TURN_WORK 20000       /* watchers told and patterns matched in one turn, about */
#define LATE_BYTES (64 << 20) /* of keys whose changes are still to be sent, at most */
#define WORK_BYTES 256        /* of a value that are copied, or of a pattern: one more */

/* A key, prefix or pattern that is watched. */
struct watched_name {
    struct slice name; /* first: the tables look here; its bytes follow the struct */
    uint64_t hash;
    enum watch_kind kind;
    struct watcher *first[2], *last[2]; /* by is_once */
    struct watched_name *next, *prev;   /* in watch->names */
};

/* That a key has changed, or all of a database, and its watchers have not been told yet. */
struct late {
    struct slice name; /* first: the key; its bytes follow the struct; of a flush its database */
    uint64_t hash;
    uint64_t version; /* of the last change */
    bool is_flush;
    struct late *next, *prev;
};

struct watch {
    struct htab tables[WATCH_KINDS];
    struct sparse names[WATCH_KINDS]; /* of struct watched_name: the first of each database */
    size_t watchers, name_count;
    struct backend *backend;
    size_t work; /* done in this turn */
    struct late *late_first, *late_last;
    struct htab late; /* but flushes */
    size_t late_bytes, late_bytes_max;
    struct watched_name *flush_at; /* of late_first, a flush under way: who is told next */
    int flush_kind;                /* the kind of flush_at; WATCH_KINDS = it has not begun */
    bool is_lost;
    struct buf path; /* of the key being matched with patterns */
};

static struct watched_name *first_of(const struct watch *x, int kind, uint16_t database)
{
    return sparse_get(&x->names[kind], database);
}

static struct watched_name **place_of_first(struct watch *x, int kind, uint16_t database)
{
    return (struct watched_name **)sparse_slot(&x->names[kind], database);
}

static void tell(struct watch *x, const struct watched_name *n, const struct change *c)
{
    for (struct watcher *w = n->first[0]; w != NULL; w = w->next) {
        x->work += 1 + (c->is_late ? 0 : c->value.len / WORK_BYTES);
        if (w->since < c->version) w->changed(w, c);
    }
}

/* Those to whom every commit is news only once. */
static void tell_once(struct watched_name *n, const struct change *c)
{
    for (struct watcher *w = n->first[1]; w != NULL; w = w->next) {
        if (w->since >= c->version) return; /* the others have been told of this commit too */
        w->since = c->version;
        w->changed(w, c);
    }
}

static void tell_named(struct watch *x, enum watch_kind kind, struct slice name,
                       const struct change *c, bool is_once)
{
    const struct htab *table = &x->tables[kind];
    if (table->count == 0) return;
    struct watched_name *n = htab_find(table, hash_bytes(name), name);
    if (n == NULL) return;
    if (is_once) {
        tell_once(n, c);
    } else {
        tell(x, n, c);
    }
}

/* The key, and every whole-part prefix of it but the key itself. */
static void tell_names(struct watch *x, const struct change *c, bool is_once)
{
    struct slice tuple = engine_key_tuple(c->key);
    struct key_part part;
    size_t at = 0;
    tell_named(x, WATCH_KEY, c->key, c, is_once);
    if (x->tables[WATCH_PREFIX].count == 0) return;
    tell_named(x, WATCH_PREFIX, slice_of(c->key.data, KEY_HEAD_BYTES), c, is_once);
    while (key_next(tuple, &at, &part) && at < tuple.len) {
        tell_named(x, WATCH_PREFIX, slice_of(c->key.data, KEY_HEAD_BYTES + at), c, is_once);
    }
}

static void tell_patterns(struct watch *x, const struct change *c)
{
    struct watched_name *n = first_of(x, WATCH_PATTERN, key_database(c->key));
    if (n == NULL) return;
    buf_clear(&x->path, SIZE_MAX);
    key_to_path(engine_key_tuple(c->key), &x->path);
    buf_require(&x->path);
    for (; n != NULL; n = n->next) {
        struct slice pattern = slice_of(n->name.data + KEY_HEAD_BYTES,
                                        n->name.len - KEY_HEAD_BYTES);
        x->work += 1 + pattern.len / WORK_BYTES;
        if (glob_match(pattern, buf_slice(&x->path))) tell(x, n, c);
    }
}

static void tell_change(struct watch *x, const struct change *c)
{
    tell_names(x, c, false);
    tell_patterns(x, c);
    x->work++;
}

static void tell_name_of_flush(struct watch *x, const struct watched_name *n, uint64_t version,
                               bool is_late)
{
    struct change c = {.version = version, .is_late = is_late};
    if (n->kind == WATCH_KEY) c.key = n->name;
    x->work++;
    tell(x, n, &c);
}

/* ---- what cannot be sent in the turn of its commit ---- */

static void late_drop(struct watch *x, struct late *l)
{
    if (!l->is_flush) htab_remove(&x->late, l->hash, &l->name);
    LIST_UNLINK(x->late_first, x->late_last, l, next, prev);
    x->late_bytes -= sizeof *l + l->name.len;
    mem_free(l);
}

static void late_forget(struct watch *x)
{
    while (x->late_first != NULL) late_drop(x, x->late_first);
    x->flush_kind = WATCH_KINDS;
    x->flush_at = NULL;
}

static void late_add(struct watch *x, struct slice key, uint64_t version, bool is_flush)
{
    uint64_t hash = hash_bytes(key);
    struct late *l = is_flush ? NULL : htab_find(&x->late, hash, key);
    if (l != NULL) late_drop(x, l); /* told once, as it is then */
    if (x->late_bytes > x->late_bytes_max) {
        x->is_lost = true;
        late_forget(x);
        return;
    }
    l = mem_new(sizeof *l + key.len);
    memcpy(l + 1, key.data, key.len);
    l->name = slice_of(l + 1, key.len);
    l->hash = hash;
    l->version = version;
    l->is_flush = is_flush;
    LIST_APPEND(x->late_first, x->late_last, l, next, prev);
    x->late_bytes += sizeof *l + key.len;
    if (!is_flush) htab_insert(&x->late, hash, &l->name);
}

/* Goes on with a flush: those who have begun to watch since then are before flush_at. */
static void late_flush(struct watch *x, struct late *l)
{
    uint16_t database = key_database(l->name);
    if (x->flush_kind == WATCH_KINDS) {
        x->flush_kind = 0;
        x->flush_at = first_of(x, 0, database);
    }
    while (x->work < TURN_WORK) {
        while (x->flush_at == NULL && ++x->flush_kind < WATCH_KINDS) {
            x->flush_at = first_of(x, x->flush_kind, database);
        }
        if (x->flush_at == NULL) {
            late_drop(x, l);
            return;
        }
        struct watched_name *n = x->flush_at;
        x->flush_at = n->next;
        tell_name_of_flush(x, n, l->version, true);
    }
}

bool watch_turn(struct watch *x)
{
    x->work = 0;
    while (x->late_first != NULL && x->work < TURN_WORK) {
        struct late *l = x->late_first;
        if (l->is_flush) {
            late_flush(x, l);
            continue;
        }
        struct change c = {.key = l->name, .version = l->version, .is_late = true};
        tell_change(x, &c);
        late_drop(x, l);
    }
    return x->late_first != NULL;
}

bool watch_take_loss(struct watch *x)
{
    bool is_lost = x->is_lost;
    x->is_lost = false;
    return is_lost;
}

/* ---- commits ---- */

/* Tells all that watch something in the database. */
static void on_flush(struct watch *x, uint16_t database, uint64_t version)
{
    for (int k = 0; k < WATCH_KINDS; k++) {
        for (struct watched_name *n = first_of(x, k, database); n != NULL; n = n->next) {
            struct change c = {.version = version};
            if (k == WATCH_KEY) c.key = n->name;
            tell_once(n, &c);
        }
    }
    bool is_late = x->late_first != NULL || x->work + x->name_count > TURN_WORK;
    for (int k = 0; k < WATCH_KINDS && !is_late; k++) {
        for (struct watched_name *n = first_of(x, k, database); n != NULL; n = n->next) {
            tell_name_of_flush(x, n, version, false);
        }
    }
    const uint8_t head[] = {KEY_HEAD(database, 0)};
    if (is_late) late_add(x, slice_of(head, sizeof head), version, true);
}

static void on_change(struct watch *x, const struct change *c)
{
    tell_names(x, c, true);
    if (x->late_first != NULL || x->work >= TURN_WORK) {
        late_add(x, c->key, c->version, false);
    } else {
        tell_change(x, c);
    }
}

static void on_commit(void *arg, uint64_t version, const struct write_set *ws)
{
    struct watch *x = arg;
    if (x->watchers == 0) return;
    for (size_t i = 0; i < ws->count; i++) {
        const struct mutation *mu = &ws->items[i];
        if (mu->kind == MUTATION_FLUSH) {
            on_flush(x, key_database(mu->key), version);
            continue;
        }
        if (key_space(mu->key) != SPACE_DATA) continue;
        bool has_ended = mu->expiry_ms != 0 && mu->expiry_ms <= ws->time_ms;
        struct change c = {.key = mu->key,
                           .exists = mu->kind == MUTATION_SET && !has_ended,
                           .value = mu->value,
                           .version = version};
        on_change(x, &c);
    }
}

struct watch *watch_new(struct engine *g, size_t late_bytes_max)
{
    struct watch *x = mem_new(sizeof *x);
    x->backend = engine_backend(g);
    x->late_bytes_max = late_bytes_max == 0 ? LATE_BYTES : late_bytes_max;
    struct layer layer = {
        .kinds = LAYER_SPACE(SPACE_DATA) | LAYER_FLUSH, .on_commit = on_commit, .arg = x};
    for (int k = 0; k < WATCH_KINDS; k++) htab_init(&x->tables[k]);
    htab_init(&x->late);
    x->flush_kind = WATCH_KINDS;
    buf_init(&x->path);
    engine_add_layer(g, &layer);
    return x;
}

void watch_free(struct watch *x)
{
    if (x == NULL) return;
    INVARIANT(x->watchers == 0);
    late_forget(x);
    htab_fini(&x->late);
    for (int k = 0; k < WATCH_KINDS; k++) {
        htab_fini(&x->tables[k]);
        sparse_fini(&x->names[k]);
    }
    buf_fini(&x->path);
    mem_free(x);
}

static struct watched_name *name_of(struct watch *x, enum watch_kind kind, struct slice name)
{
    uint64_t hash = hash_bytes(name);
    struct watched_name *n = htab_find(&x->tables[kind], hash, name);
    if (n != NULL) return n;
    n = mem_new(sizeof *n + name.len);
    memcpy(n + 1, name.data, name.len);
    n->name = slice_of(n + 1, name.len);
    n->hash = hash;
    n->kind = kind;
    struct watched_name **first = place_of_first(x, (int)kind, key_database(name));
    STACK_PUSH(*first, n, next, prev);
    x->name_count++;
    htab_insert(&x->tables[kind], hash, &n->name);
    return n;
}

void watch_add(struct watch *x, struct watcher *w, enum watch_kind kind, struct slice name)
{
    INVARIANT(w->name == NULL && name.len >= KEY_HEAD_BYTES);
    struct watched_name *n = name_of(x, kind, name);
    w->name = n;
    w->kind = kind;
    w->since = backend_version_newest(x->backend);
    LIST_APPEND(n->first[w->is_once], n->last[w->is_once], w, next, prev);
    x->watchers++;
}

void watch_remove(struct watch *x, struct watcher *w)
{
    struct watched_name *n = w->name;
    if (n == NULL) return;
    w->name = NULL;
    x->watchers--;
    LIST_UNLINK(n->first[w->is_once], n->last[w->is_once], w, next, prev);
    if (n->first[0] != NULL || n->first[1] != NULL) return;
    htab_remove(&x->tables[n->kind], n->hash, &n->name);
    if (x->flush_at == n) x->flush_at = n->next;
    x->name_count--;
    struct watched_name **first = place_of_first(x, (int)n->kind, key_database(n->name));
    STACK_UNLINK(*first, n, next, prev);
    mem_free(n);
}

size_t watch_count(const struct watch *x)
{
    return x->watchers;
}
