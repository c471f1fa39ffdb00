/* check_lookup: entries of the copy that others ask for, and how their places are told. */
#include <stdarg.h>
#include <stdio.h>

#include "codec/key.h"
#include "engine/engine.h"
#include "offline/check_contents.h"

#define TIME_BYTES 8
#define HEX_BYTES 48
#define PLACE_BYTES 400
#define FETCH_ROWS 1000

/* ---- words ---- */

static const char *const space_names[] = {
    [SPACE_DATA] = "entry",          [SPACE_EXPIRY] = "expiry of",
    [SPACE_IDEM] = "request id",     [SPACE_QUEUE] = "figures of queue",
    [SPACE_MESSAGE] = "message of",  [SPACE_READY] = "waiting in",
    [SPACE_STATE] = "state in",      [SPACE_LEASE] = "lease in",
    [SPACE_DEAD] = "dead letter of", [SPACE_DEDUP] = "dedup id of",
    [SPACE_INDEX] = "index",         [SPACE_INDEX_ENTRY] = "index row",
    [SPACE_TEXT] = "text index",     [SPACE_DATABASE] = "catalog row",
    [SPACE_ELEMENT] = "element",     [SPACE_COLLECTION] = "owner of elements",
    [SPACE_HASH_TEXT] = "texts of",
};

static void hex_put(struct buf *out, struct slice bytes)
{
    size_t len = bytes.len < HEX_BYTES ? bytes.len : HEX_BYTES;
    for (size_t i = 0; i < len; i++) buf_printf(out, "%02x", bytes.data[i]);
    if (len < bytes.len) buf_append_str(out, "...");
}

static bool is_queue_space(uint8_t space)
{
    return space >= SPACE_QUEUE && space <= SPACE_DEDUP;
}

static void rest_put(struct buf *out, uint8_t space, struct slice rest)
{
    struct error ignored;
    size_t head = space == SPACE_EXPIRY ? TIME_BYTES : 0;
    bool is_key = space == SPACE_DATA || (space == SPACE_EXPIRY && rest.len > TIME_BYTES);
    struct slice tuple = slice_of(rest.data + head, rest.len - (is_key ? head : 0));
    if (is_key && key_check(tuple, &ignored) == OK) {
        key_to_json(tuple, out);
    } else if (is_queue_space(space) && rest.len > 0 && rest.len > rest.data[0]) {
        buf_printf(out, "'%.*s' ", rest.data[0], (const char *)rest.data + 1);
        hex_put(out, slice_of(rest.data + 1 + rest.data[0], rest.len - 1 - rest.data[0]));
    } else if (space == SPACE_INDEX && rest.len > 1) {
        buf_printf(out, "'%.*s'", (int)rest.len - 1, (const char *)rest.data + 1);
    } else {
        hex_put(out, rest);
    }
}

void contents_place(const char *table, struct slice key, struct buf *out)
{
    buf_printf(out, "%s", table);
    if (key.len >= KEY_HEAD_BYTES) {
        uint8_t space = key_space(key);
        const char *name = space > 0 && space < SPACE_END ? space_names[space] : "unknown space";
        buf_printf(out, ", database %u, %s ", key_database(key), name);
        rest_put(out, space, slice_of(key.data + KEY_HEAD_BYTES, key.len - KEY_HEAD_BYTES));
    }
    buf_require(out);
    if (out->len > PLACE_BYTES) {
        out->len = PLACE_BYTES;
        buf_append_str(out, "...");
    }
    buf_append_byte(out, '\0');
    buf_require(out);
}

void contents_say(struct contents *c, const char *part, struct slice key, const char *format, ...)
{
    char text[ERROR_TEXT_BYTES];
    struct buf place;
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    buf_init(&place);
    contents_place("kv", key, &place);
    check_say(c->k, CHECK_DAMAGE, part, (const char *)place.data, "%s", text);
    buf_fini(&place);
}

/* ---- looking up ---- */

static void unreadable(struct contents *c, const struct error *e)
{
    if (c->is_unreadable) return;
    c->is_unreadable = true;
    check_say(c->k, CHECK_NOTE, "entries", "kv", "cannot look up all entries: %.200s", e->text);
}

bool contents_get(struct contents *c, struct slice key, struct entry *out)
{
    return contents_get_in(c, &c->arena, key, out);
}

bool contents_get_in(struct contents *c, struct arena *arena, struct slice key, struct entry *out)
{
    struct error e;
    if (c->has_aside) return false;
    enum err r = store_get(c->reader, key, true, out, &e);
    if (r == OK && out->exists) out->value = arena_copy(arena, out->value);
    store_get_end(c->reader);
    if (r != OK) unreadable(c, &e);
    return r == OK;
}

void contents_range(struct contents *c, struct slice start, struct slice end,
                    void (*each)(void *arg, const struct store_row *row), void *arg)
{
    struct store_chunk chunk;
    struct buf from;
    struct error e;
    enum err r = OK;
    bool is_last = false;
    buf_init(&from);
    buf_append(&from, start.data, start.len);
    buf_require(&from);
    store_chunk_init(&chunk);
    while (r == OK && !is_last) {
        struct store_fetch f = {.start = buf_slice(&from),
                                .end = end,
                                .with_values = true,
                                .may_wait = true,
                                .rows_max = FETCH_ROWS};
        r = store_fetch(c->reader, &f, &chunk, &e);
        if (r != OK) break;
        for (size_t i = 0; i < chunk.count; i++) each(arg, &chunk.rows[i]);
        is_last = chunk.is_last || chunk.count == 0;
        if (is_last) break;
        struct slice last = chunk.rows[chunk.count - 1].key;
        buf_clear(&from, SIZE_MAX);
        buf_append(&from, last.data, last.len);
        buf_append_byte(&from, 0);
        buf_require(&from);
    }
    if (r != OK) unreadable(c, &e);
    store_chunk_fini(&chunk);
    buf_fini(&from);
}
