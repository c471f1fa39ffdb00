/* check_entries: each entry by its space: its key and value can be decoded; what belongs to it
 * elsewhere is there.
 *
 * A row of SPACE_EXPIRY without its entry is good: a write does not look for the row that the entry
 * before had (engine/expiry.c). The other way there must be one.
 */
#include "base/bytes.h"
#include "base/htab.h"
#include "codec/key.h"
#include "codec/value.h"
#include "database/database.h"
#include "index/rows.h"
#include "offline/check_contents.h"

#define PART "entries"
#define TIME_BYTES 8
/* Of rows that are about parts of the entry (engine/expiry.c), which may have a value. */
#define OF_PART 0xff
#define OF_PARTS 0x00
#define IDEM_HEAD_BYTES (8 + IDEM_FINGERPRINT_BYTES)
#define LAST_NUMBER_BYTES 2

static bool is_queue_space(uint8_t space)
{
    return space >= SPACE_QUEUE && space <= SPACE_DEDUP;
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
    contents_say(c, PART, row->key, "it expires at %lld, but has no row in the expiry index",
                 (long long)row->expiry_ms);
}

static void data_check(struct contents *c, const struct store_row *row)
{
    struct error why;
    c->k->entries++;
    bool is_good = tuple_check(c, row, engine_key_tuple(row->key));
    if (collection_is_head(row->value)) {
        is_good = check_collections_entry(c, row) && is_good;
    } else if (value_check(row->value, &why) != OK) {
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
    bool of_parts = rest.data[TIME_BYTES] == OF_PART || rest.data[TIME_BYTES] == OF_PARTS;
    size_t head = TIME_BYTES + of_parts;
    if (!tuple_check(c, row, slice_of(rest.data + head, rest.len - head))) return;
    if ((int64_t)get_u64(rest.data) < 1) contents_say(c, PART, row->key, "its time is invalid");
    if (row->value.len > 0 && !of_parts) {
        contents_say(c, PART, row->key, "it has a value of %zu bytes, but should have none",
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
        contents_say(c, PART, row->key, "its value of %zu bytes has no time and fingerprint",
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
            contents_say(c, PART, row->key,
                         "it was created at version %llu, but the newest is %llu",
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
    contents_say(c, PART, key, "it belongs to database %u, which is not in the catalog",
                 c->database);
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
        c->is_in_catalog = c->has_incarnation = false;
        check_indexes_begin(c);
    }
    database_check(c, row->key);
    uint8_t space = key_space(row->key);
    bool may_expire = space == SPACE_DATA || space == SPACE_INDEX_ENTRY || space == SPACE_ELEMENT ||
                      space == SPACE_HASH_TEXT;
    if (row->expiry_ms != 0 && !may_expire) {
        contents_say(c, PART, row->key, "it has an expiry, which only entries have");
    }
    switch (space) {
    case SPACE_DATA: data_check(c, row); break;
    case SPACE_EXPIRY: expiry_check(c, row); break;
    case SPACE_IDEM: idem_check(c, row); break;
    case SPACE_INDEX: check_indexes_definition(c, row); break;
    case SPACE_INDEX_ENTRY: check_indexes_row(c, row); break;
    case SPACE_TEXT: check_indexes_text(c, row); break;
    case SPACE_HASH_TEXT: check_indexes_row(c, row); break;
    case SPACE_DATABASE: catalog_check(c, row); break;
    case SPACE_ELEMENT: check_collections_row(c, row); break;
    case SPACE_COLLECTION: check_collections_owner(c, row); break;
    default:
        if (is_queue_space(space)) {
            check_queues_row(c, row);
        } else {
            contents_say(c, PART, row->key, "it is in space %u, which is not in use", space);
        }
    }
    arena_reset(&c->arena);
}

void contents_end(struct contents *c)
{
    database_end(c);
}
