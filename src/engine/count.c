/* count: how many entries a database has, for a transaction that has written to it: what the
 * backend counts, and what the overlay makes of it. For that each key that was written is looked
 * up once below; then a count costs no more than what was written since the last one.
 *
 * As the backend does, and Redis, it counts what has expired and is not yet removed.
 */
#include "engine/overlay.h"

static void size_begin(struct overlay *o, uint16_t database)
{
    struct overlay_size *s = &o->size;
    if (s->is_known && s->database == database) return;
    *s = (struct overlay_size){.is_known = true, .database = database};
    for (size_t i = 0; i < o->count; i++) {
        struct slice key = o->items[i]->key;
        s->live += o->items[i]->exists && key_space(key) == SPACE_DATA &&
                   key_database(key) == database;
    }
}

/* All look-ups are begun before it waits for the last of them. */
static enum err size_look_up(struct overlay *o, struct waiter *w, struct error *e)
{
    struct overlay_size s = o->size;
    struct backend *b = o->engine->backend;
    enum err waits = OK;
    for (; s.upto < o->count; s.upto++) {
        struct entry below = {0};
        struct slice key = o->items[s.upto]->key;
        if (key_space(key) != SPACE_DATA || key_database(key) != s.database) continue;
        waiter_cancel(w);
        enum err r = backend_load(b, key, &below, w, e);
        if (r == ERR_CORRUPT) below.exists = true; /* as the store counts it */
        if (r == ERR_WAIT) waits = r;
        if (r != OK && r != ERR_CORRUPT && r != ERR_WAIT) return r;
        s.stored += below.exists;
    }
    if (waits != OK) return waits;
    waiter_cancel(w);
    o->size = s;
    return OK;
}

enum err engine_count(struct engine *g, struct overlay *o, uint16_t database, uint64_t *out,
                      struct waiter *w, struct error *e)
{
    struct backend_count below = {0};
    bool is_flushed = o != NULL && overlay_is_flushed(o, database);
    if (!is_flushed) backend_count(g->backend, database, &below);
    *out = below.entries;
    if (o == NULL) return OK;
    size_begin(o, database);
    if (!is_flushed) {
        enum err r = size_look_up(o, w, e);
        if (r != OK) return r;
    }
    const struct overlay_size *s = &o->size;
    uint64_t others = below.entries > s->stored && !is_flushed ? below.entries - s->stored : 0;
    *out = others + s->live;
    return OK;
}
