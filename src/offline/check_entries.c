/* check_entries: each entry by its space: its key and value can be decoded; what belongs to it
 * elsewhere is there.
 *
 * A row of SPACE_EXPIRY without its entry is good: a write does not look for the row that the entry
 * before had (engine/expiry.c). The other way there must be one.
 */
#include <stdarg.h>
#include <stdio.h>

#include "base/bytes.h"
#include "base/htab.h"
#include "codec/key.h"
#include "codec/value.h"
#include "database/database.h"
#include "index/rows.h"
#include "offline/check_contents.h"

#define PART "entries"
#define TIME_BYTES 8
#define HEX_BYTES 48
#define PLACE_BYTES 400
#define FETCH_ROWS 1000
#define IDEM_HEAD_BYTES (8 + IDEM_FINGERPRINT_BYTES)
#define LAST_NUMBER_BYTES 2

/* ---- words ---- */

static const char *const space_names[] = {
    [SPACE_DATA] = "entry",          [SPACE_EXPIRY] = "expiry of",
    [SPACE_IDEM] = "request id",     [SPACE_QUEUE] = "figures of queue",
    [SPACE_MESSAGE] = "message of",  [SPACE_READY] = "waiting in",
    [SPACE_STATE] = "state in",      [SPACE_LEASE] = "lease in",
    [SPACE_DEAD] = "dead letter of", [SPACE_DEDUP] = "dedup id of",
    [SPACE_INDEX] = "index",         [SPACE_INDEX_ENTRY] = "index row",
    [SPACE_TEXT] = "text index",     [SPACE_DATABASE] = "catalog row",
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
    check_say(c->k, CHECK_NOTE, PART, "kv", "not all entries can be looked up: %.200s", e->text);
}

bool contents_get(struct contents *c, struct slice key, struct entry *out)
{
    struct error e;
    if (c->has_aside) return false;
    enum err r = store_get(c->reader, key, true, out, &e);
    if (r == OK && out->exists) out->value = arena_copy(&c->arena, out->value);
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

/* ---- user data ---- */

static struct slice rest_of(struct slice key)
{
    return slice_of(key.data + KEY_HEAD_BYTES, key.len - KEY_HEAD_BYTES);
}

static bool tuple_check(struct contents *c, const struct store_row *row, struct slice tuple)
{
    struct error why;
    if (tuple.len == 0) {
        contents_say(c, PART, row->key, "its key is empty");
        return false;
    }
    if (key_check(tuple, &why) == OK) return true;
    contents_say(c, PART, row->key, "its key cannot be decoded: %.200s", why.text);
    return false;
}

/* An entry with an end has a row that says when. */
static void expiry_find(struct contents *c, const struct store_row *row)
{
    struct slice tuple = engine_key_tuple(row->key);
    struct entry found;
    if (row->expiry_ms == 0) return;
    uint64_t time_ms = row->expiry_ms > 0 ? (uint64_t)row->expiry_ms : 1;
    uint8_t *key = arena_alloc(&c->arena, KEY_HEAD_BYTES + TIME_BYTES + tuple.len);
    key_head_write(key, key_database(row->key), SPACE_EXPIRY);
    put_u64(key + KEY_HEAD_BYTES, time_ms);
    bytes_copy(key + KEY_HEAD_BYTES + TIME_BYTES, tuple.data, tuple.len);
    struct slice wanted = slice_of(key, KEY_HEAD_BYTES + TIME_BYTES + tuple.len);
    if (!contents_get(c, wanted, &found) || found.exists) return;
    contents_say(c, PART, row->key, "it expires at %lld, but has no row that says so",
                 (long long)row->expiry_ms);
}

static void data_check(struct contents *c, const struct store_row *row)
{
    struct error why;
    c->k->entries++;
    bool is_good = tuple_check(c, row, engine_key_tuple(row->key));
    if (value_check(row->value, &why) != OK) {
        contents_say(c, PART, row->key, "its value cannot be decoded: %.200s", why.text);
        is_good = false;
    }
    if (!is_good) return;
    expiry_find(c, row);
    check_indexes_entry(c, row);
}

static void expiry_check(struct contents *c, const struct store_row *row)
{
    struct slice rest = rest_of(row->key);
    if (rest.len <= TIME_BYTES) {
        contents_say(c, PART, row->key, "it has no time and key");
        return;
    }
    if (!tuple_check(c, row, slice_of(rest.data + TIME_BYTES, rest.len - TIME_BYTES))) return;
    if ((int64_t)get_u64(rest.data) < 1) contents_say(c, PART, row->key, "its time is no time");
    if (row->value.len > 0) {
        contents_say(c, PART, row->key, "it has a value of %zu bytes, but nothing belongs there",
                     row->value.len);
    }
}

static void idem_check(struct contents *c, const struct store_row *row)
{
    struct slice rest = rest_of(row->key);
    bool is_good = rest.len > 0 && rest.len > rest.data[0] &&
                   rest.len - 1 - rest.data[0] <= IDEM_ID_BYTES_MAX;
    if (!is_good) contents_say(c, PART, row->key, "it has no user and id");
    if (row->value.len < IDEM_HEAD_BYTES || (int64_t)get_u64(row->value.data) < 0) {
        contents_say(c, PART, row->key, "its value, of %zu bytes, has no time and fingerprint",
                     row->value.len);
    }
}

/* ---- the catalog ---- */

static struct slice catalog_key(struct contents *c, uint16_t number)
{
    uint8_t *p = arena_alloc(&c->arena, KEY_HEAD_BYTES + 2);
    uint8_t *at = key_head_write(p, DATABASE_CATALOG, SPACE_DATABASE);
    at[0] = (uint8_t)(number >> 8);
    at[1] = (uint8_t)number;
    return slice_of(p, KEY_HEAD_BYTES + 2);
}

struct same_name {
    struct contents *c;
    struct slice key, name;
};

static void name_compare(void *arg, const struct store_row *row)
{
    struct same_name *x = arg;
    struct database d = {0};
    struct slice rest = rest_of(row->key);
    bool is_other = rest.len == 2 && slice_cmp(row->key, x->key) > 0 &&
                    get_u16(rest.data) != DATABASE_CATALOG;
    if (!is_other || !database_row_read(row->value, &d) || !slice_eq(d.name, x->name)) return;
    contents_say(x->c, PART, x->key, "database %u has the same name, '%.*s'", get_u16(rest.data),
                 (int)x->name.len, (const char *)x->name.data);
}

static void catalog_check(struct contents *c, const struct store_row *row)
{
    static const uint8_t end[] = {KEY_HEAD(DATABASE_CATALOG, SPACE_DATABASE + 1)};
    struct slice rest = rest_of(row->key);
    struct database d = {0};
    bool is_number = rest.len == 2;
    uint16_t number = is_number ? get_u16(rest.data) : 0;
    if (c->database != DATABASE_CATALOG) {
        contents_say(c, PART, row->key, "a row of the catalog in a database of users");
    } else if (rest.len == 3 && get_u16(rest.data) == DATABASE_CATALOG && rest.data[2] == 's') {
        if (row->value.len == DATABASE_SECRET_BYTES) return;
        contents_say(c, PART, row->key, "the secret has %zu bytes", row->value.len);
    } else if (!is_number) {
        contents_say(c, PART, row->key, "it names no database");
    } else if (number == DATABASE_CATALOG) {
        if (row->value.len == LAST_NUMBER_BYTES) return;
        contents_say(c, PART, row->key, "the last number has %zu bytes", row->value.len);
    } else if (!database_row_read(row->value, &d)) {
        contents_say(c, PART, row->key, "the row of database %u cannot be decoded", number);
    } else {
        struct same_name same = {.c = c, .key = row->key, .name = d.name};
        if (d.created > c->applied) {
            contents_say(c, PART, row->key, "it was made at version %llu, but the newest is %llu",
                         (unsigned long long)d.created, (unsigned long long)c->applied);
        }
        contents_range(c, row->key, slice_of(end, sizeof end), name_compare, &same);
    }
}

/* Those that are not always there have a row of the catalog. Of one that was dropped the next id of
 * its indexes stays: none may be given again (index/rows.h). */
static void database_check(struct contents *c, struct slice key)
{
    struct slice rest = rest_of(key);
    bool stays = key_space(key) == SPACE_INDEX && rest.len == 1 &&
                 rest.data[0] == INDEX_ROW_NEXT_ID;
    struct entry row;
    if (stays || c->is_in_catalog) return;
    c->is_in_catalog = true; /* or it is told once */
    if (c->database < DATABASE_FIXED_MAX || c->database == DATABASE_CATALOG) return;
    if (!contents_get(c, catalog_key(c, c->database), &row) || row.exists) return;
    contents_say(c, PART, key, "it is of database %u, which is not in the catalog", c->database);
}

/* ---- all of them ---- */

static void database_end(struct contents *c)
{
    if (!c->has_database) return;
    check_queues_end(c);
    check_indexes_end(c);
    arena_reset(&c->own);
    c->has_database = false;
}

void contents_row(void *arg, const struct store_row *row)
{
    struct contents *c = arg;
    if (!c->has_database || c->database != key_database(row->key)) {
        database_end(c);
        c->has_database = true;
        c->database = key_database(row->key);
        c->is_in_catalog = false;
        check_indexes_begin(c);
    }
    database_check(c, row->key);
    uint8_t space = key_space(row->key);
    if (row->expiry_ms != 0 && space != SPACE_DATA && space != SPACE_INDEX_ENTRY) {
        contents_say(c, PART, row->key, "it has an expiry, which only entries have");
    }
    switch (space) {
    case SPACE_DATA: data_check(c, row); break;
    case SPACE_EXPIRY: expiry_check(c, row); break;
    case SPACE_IDEM: idem_check(c, row); break;
    case SPACE_INDEX: check_indexes_definition(c, row); break;
    case SPACE_INDEX_ENTRY: check_indexes_row(c, row); break;
    case SPACE_TEXT: check_indexes_text(c, row); break;
    case SPACE_DATABASE: catalog_check(c, row); break;
    default:
        if (is_queue_space(space)) {
            check_queues_row(c, row);
        } else {
            contents_say(c, PART, row->key, "it is in space %u, which nothing uses", space);
        }
    }
    arena_reset(&c->arena);
}

void contents_end(struct contents *c)
{
    database_end(c);
}
