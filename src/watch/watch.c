#include "watch/watch.h"

#include "base/glob.h"
#include "base/htab.h"
#include "base/mem.h"
#include "codec/key.h"

/* A key, prefix or pattern that somebody watches. */
struct watched_name {
    struct slice name; /* first: the tables look here; its bytes follow the struct */
    uint64_t hash;
    enum watch_kind kind;
    struct watcher *first, *last;
    struct watched_name *next, *prev; /* in watch->names[database] */
};

struct watch {
    struct htab tables[WATCH_KINDS];
    struct watched_name *names[DATABASES_MAX]; /* of all kinds */
    size_t watchers;
    struct buf path; /* of the key being told to patterns */
};

static void tell(const struct watched_name *n, const struct change *c)
{
    for (struct watcher *w = n->first; w != NULL; w = w->next) w->changed(w, c);
}

static void tell_named(struct watch *x, enum watch_kind kind, struct slice name,
                       const struct change *c)
{
    const struct htab *table = &x->tables[kind];
    if (table->count == 0) return;
    const struct watched_name *n = htab_find(table, hash_bytes(name), name);
    if (n != NULL) tell(n, c);
}

/* Every whole-part prefix of the key but the key itself. */
static void tell_prefixes(struct watch *x, const struct change *c)
{
    struct slice tuple = engine_key_tuple(c->key);
    struct key_part part;
    size_t at = 0;
    if (x->tables[WATCH_PREFIX].count == 0) return;
    tell_named(x, WATCH_PREFIX, slice_of(c->key.data, KEY_HEAD_BYTES), c);
    while (key_next(tuple, &at, &part) && at < tuple.len) {
        tell_named(x, WATCH_PREFIX, slice_of(c->key.data, KEY_HEAD_BYTES + at), c);
    }
}

static void tell_patterns(struct watch *x, const struct change *c)
{
    if (x->tables[WATCH_PATTERN].count == 0) return;
    buf_clear(&x->path, SIZE_MAX);
    key_to_path(engine_key_tuple(c->key), &x->path);
    buf_require(&x->path);
    for (struct watched_name *n = x->names[c->key.data[0]]; n != NULL; n = n->next) {
        if (n->kind != WATCH_PATTERN) continue;
        struct slice pattern = slice_of(n->name.data + 1, n->name.len - 1);
        if (glob_match(pattern, buf_slice(&x->path))) tell(n, c);
    }
}

/* Everybody who watches something in the database. */
static void tell_flush(struct watch *x, uint8_t database, uint64_t version)
{
    for (struct watched_name *n = x->names[database]; n != NULL; n = n->next) {
        struct change c = {.version = version};
        if (n->kind == WATCH_KEY) c.key = n->name;
        tell(n, &c);
    }
}

static void on_commit(void *arg, uint64_t version, const struct write_set *ws)
{
    struct watch *x = arg;
    if (x->watchers == 0) return;
    for (size_t i = 0; i < ws->count; i++) {
        const struct mutation *mu = &ws->items[i];
        if (mu->kind == MUTATION_FLUSH) {
            tell_flush(x, mu->key.data[0], version);
            continue;
        }
        if (mu->key.data[1] != SPACE_DATA) continue;
        bool has_ended = mu->expiry_ms != 0 && mu->expiry_ms <= ws->time_ms;
        struct change c = {.key = mu->key,
                           .exists = mu->kind == MUTATION_SET && !has_ended,
                           .value = mu->value,
                           .version = version};
        tell_named(x, WATCH_KEY, c.key, &c);
        tell_prefixes(x, &c);
        tell_patterns(x, &c);
    }
}

struct watch *watch_new(struct engine *g)
{
    struct watch *x = mem_new(sizeof *x);
    struct layer layer = {.on_commit = on_commit, .arg = x};
    for (int k = 0; k < WATCH_KINDS; k++) htab_init(&x->tables[k]);
    buf_init(&x->path);
    engine_add_layer(g, &layer);
    return x;
}

void watch_free(struct watch *x)
{
    if (x == NULL) return;
    INVARIANT(x->watchers == 0);
    for (int k = 0; k < WATCH_KINDS; k++) htab_fini(&x->tables[k]);
    buf_fini(&x->path);
    mem_free(x);
}

static struct watched_name *name_of(struct watch *x, enum watch_kind kind, struct slice name)
{
    uint64_t hash = hash_bytes(name);
    struct watched_name *n = htab_find(&x->tables[kind], hash, name);
    if (n != NULL) return n;
    struct watched_name **head = &x->names[name.data[0]];
    n = mem_new(sizeof *n + name.len);
    memcpy(n + 1, name.data, name.len);
    n->name = slice_of(n + 1, name.len);
    n->hash = hash;
    n->kind = kind;
    n->next = *head;
    if (*head != NULL) (*head)->prev = n;
    *head = n;
    htab_insert(&x->tables[kind], hash, &n->name);
    return n;
}

void watch_add(struct watch *x, struct watcher *w, enum watch_kind kind, struct slice name)
{
    INVARIANT(w->name == NULL && name.len > 0 && name.data[0] < DATABASES_MAX);
    struct watched_name *n = name_of(x, kind, name);
    w->name = n;
    w->kind = kind;
    w->next = NULL;
    w->prev = n->last;
    *(n->last != NULL ? &n->last->next : &n->first) = w;
    n->last = w;
    x->watchers++;
}

void watch_remove(struct watch *x, struct watcher *w)
{
    struct watched_name *n = w->name;
    if (n == NULL) return;
    w->name = NULL;
    x->watchers--;
    *(w->prev != NULL ? &w->prev->next : &n->first) = w->next;
    *(w->next != NULL ? &w->next->prev : &n->last) = w->prev;
    if (n->first != NULL) return;
    htab_remove(&x->tables[n->kind], n->hash, &n->name);
    *(n->prev != NULL ? &n->prev->next : &x->names[n->name.data[0]]) = n->next;
    if (n->next != NULL) n->next->prev = n->prev;
    mem_free(n);
}

size_t watch_count(const struct watch *x)
{
    return x->watchers;
}
