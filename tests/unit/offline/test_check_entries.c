/* Tests of offline/check_entries and check_lookup: rows of each space that are good, and rows that
 * cannot be: they are written below the engine, which would not make them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "codec/key.h"
#include "codec/pack.h"
#include "database/database.h"
#include "offline/check_contents.h"
#include "unit/offline/check_help.h"

#define EXPIRY_MS 1800000000000

static const uint8_t one[] = {1}; /* a value */

static void set(struct looks *t, struct slice key, struct slice value, int64_t expiry_ms)
{
    const struct mutation mu = {
        .kind = MUTATION_SET, .key = key, .value = value, .expiry_ms = expiry_ms};
    uint64_t version = 0;
    assert_int_equal(rig_try_commit(&t->rig, &mu, 1, &version, &t->e), OK);
}

/* A row of that space, whose key goes on with these bytes. */
static void set_row(struct looks *t, uint16_t database, uint8_t space, struct slice rest,
                    struct slice value)
{
    uint8_t key[300];
    memcpy(key_head_write(key, database, space), rest.data, rest.len);
    set(t, slice_of(key, KEY_HEAD_BYTES + rest.len), value, 0);
}

static struct slice data_key(struct buf *out, const char *text)
{
    buf_clear(out, SIZE_MAX);
    engine_key_begin(out, 0);
    key_add_string(out, slice_str(text));
    return buf_slice(out);
}

/* The row that says when an entry ends. */
static void set_expiry(struct looks *t, uint64_t at_ms, struct slice tuple, struct slice value)
{
    uint8_t rest[100];
    put_u64(rest, at_ms);
    memcpy(rest + 8, tuple.data, tuple.len);
    set_row(t, 0, SPACE_EXPIRY, slice_of(rest, 8 + tuple.len), value);
}

/* Of parts of an entry: the byte before its tuple; where to go on. */
static void set_parts(struct looks *t, uint8_t mark, struct slice tuple, const char *place)
{
    uint8_t part[100];
    part[0] = mark;
    memcpy(part + 1, tuple.data, tuple.len);
    set_expiry(t, EXPIRY_MS, slice_of(part, 1 + tuple.len), slice_str(place));
}

/* Of a database, in format 2. */
static void set_catalog(struct looks *t, uint16_t number, const char *name, uint64_t created)
{
    struct buf row = {0};
    uint8_t head[PACK_HEAD_BYTES];
    const uint8_t rest[] = {(uint8_t)(number >> 8), (uint8_t)number};
    buf_append(&row, head, pack_head(PACK_ARRAY, 0, 10, head));
    pack_uint(&row, 2);
    pack_str(&row, slice_str(name));
    pack_str(&row, slice_str(""));
    for (int i = 0; i < 3; i++) pack_uint(&row, 0);
    pack_uint(&row, created);
    for (int i = 0; i < 3; i++) pack_uint(&row, 0);
    set_row(t, DATABASE_CATALOG, SPACE_DATABASE, slice_of(rest, 2), buf_slice(&row));
    buf_fini(&row);
}

/* All that was written is looked at: so many lines. */
static void look(struct looks *t, uint64_t damaged)
{
    rig_apply(&t->rig);
    rig_close(&t->rig);
    looks_run(t);
    if (t->k.damaged != damaged || t->k.notes != 0) fail_msg("%s", (char *)t->lines.data);
}

static int enter(void **state)
{
    (void)looks_enter(state);
    rig_open(&((struct looks *)*state)->rig);
    return 0;
}

static void good_rows_have_nothing_to_tell(void **state)
{
    struct looks *t = *state;
    struct buf key = {0};
    uint8_t reply[24] = {0};
    const uint8_t last[] = {0, 16};
    const uint8_t secret[DATABASE_SECRET_BYTES] = {0};
    set(t, data_key(&key, "a"), slice_of(one, 1), 0);
    set(t, data_key(&key, "b"), slice_of(one, 1), EXPIRY_MS);
    set_expiry(t, EXPIRY_MS, engine_key_tuple(buf_slice(&key)), slice_of(NULL, 0));
    set_expiry(t, EXPIRY_MS - 1, engine_key_tuple(buf_slice(&key)), slice_of(NULL, 0)); /* before */
    set_parts(t, 0xff, engine_key_tuple(buf_slice(&key)), "");
    set_parts(t, 0xff, engine_key_tuple(data_key(&key, "c")), "a place");
    set_parts(t, 0x00, engine_key_tuple(buf_slice(&key)), "a place");
    set_row(t, 0, SPACE_IDEM,
            slice_str("\x01u"
                      "id"),
            slice_of(reply, sizeof reply));
    set_catalog(t, 16, "name", 1);
    set_row(t, DATABASE_CATALOG, SPACE_DATABASE, slice_str("\xff\xff"), slice_of(last, 2));
    set_row(t, DATABASE_CATALOG, SPACE_DATABASE, slice_str("\xff\xffs"),
            slice_of(secret, sizeof secret));
    set_row(t, 16, SPACE_DATA, engine_key_tuple(buf_slice(&key)), slice_of(one, 1));
    look(t, 0);
    assert_int_equal(t->k.entries, 3);
    buf_fini(&key);
}

static void keys_and_values_must_be_such(void **state)
{
    struct looks *t = *state;
    struct buf key = {0};
    set(t, data_key(&key, "a"), slice_str("\xc1"), 0);
    set(t, data_key(&key, "b"), slice_of(NULL, 0), 0);
    set_row(t, 0, SPACE_DATA, slice_str(""), slice_of(one, 1));
    set_row(t, 0, SPACE_DATA, slice_str("\xff"), slice_of(one, 1));
    set_row(t, 0, SPACE_END, slice_str("x"), slice_of(one, 1));
    look(t, 5);
    looks_found(t, "damage entries kv, database 0, entry [\"a\"]: ", "its value cannot be decoded");
    looks_found(t, "damage entries kv, database 0, entry [\"b\"]: ", "its value cannot be decoded");
    looks_found(t, "damage entries kv, database 0, entry []: ", "its key is empty");
    looks_found(t, "damage entries kv, database 0, entry ff: ", "its key cannot be decoded");
    looks_found(t, "damage entries kv, database 0, unknown space 78: ",
                "it is in space 18, which is not in use");
    assert_int_equal(t->k.entries, 4);
    buf_fini(&key);
}

static void an_entry_with_an_end_has_a_row_that_says_so(void **state)
{
    struct looks *t = *state;
    struct buf key = {0};
    set(t, data_key(&key, "a"), slice_of(one, 1), EXPIRY_MS);
    set_expiry(t, EXPIRY_MS + 1, engine_key_tuple(buf_slice(&key)), slice_of(NULL, 0));
    set_expiry(t, 0, engine_key_tuple(buf_slice(&key)), slice_of(NULL, 0));
    set_expiry(t, 1, engine_key_tuple(buf_slice(&key)), slice_of(one, 1));
    set_expiry(t, 2, slice_str(""), slice_of(NULL, 0));
    set_expiry(t, 3, slice_str("\xfe"), slice_of(NULL, 0));
    set_expiry(t, 4, slice_str("\xff"), slice_of(NULL, 0)); /* of a part, but of no key's */
    look(t, 6);
    looks_found(t, "damage entries kv, database 0, entry [\"a\"]: ",
                "it expires at 1800000000000, but has no row in the expiry index");
    looks_found(t, "damage entries kv, database 0, expiry of [\"a\"]: ", "its time is invalid");
    looks_found(t,
                "damage entries kv, database 0, expiry of [\"a\"]: ", "it has a value of 1 bytes");
    looks_found(
        t, "damage entries kv, database 0, expiry of 0000000000000002: ", "it has no time and key");
    looks_found(t, "damage entries kv, database 0, expiry of ", "its key cannot be decoded");
    looks_found(
        t, "damage entries kv, database 0, expiry of 0000000000000004ff: ", "its key is empty");
    buf_fini(&key);
}

static void a_request_id_has_its_user_time_and_fingerprint(void **state)
{
    struct looks *t = *state;
    uint8_t reply[24] = {0};
    uint8_t late[24] = {0x80};
    uint8_t rest[2 + 256] = {1, 'u'};
    memset(rest + 2, 'i', 256);
    set_row(t, 0, SPACE_IDEM, slice_of(rest, 2 + 255), slice_of(reply, sizeof reply));
    set_row(t, 0, SPACE_IDEM,
            slice_str("\x01"
                      "a"),
            slice_of(reply, 23));
    set_row(t, 0, SPACE_IDEM,
            slice_str("\x01"
                      "b"),
            slice_of(late, sizeof late));
    set_row(t, 0, SPACE_IDEM,
            slice_str("\x05"
                      "abc"),
            slice_of(reply, sizeof reply));
    set_row(t, 0, SPACE_IDEM, slice_of(rest, 2 + 256), slice_of(reply, sizeof reply));
    look(t, 4);
    looks_found(t, "damage entries kv, database 0, request id 0161: ",
                "its value of 23 bytes has no time and fingerprint");
    looks_found(t, "damage entries kv, database 0, request id 0162: ", "has no time");
    looks_found(t, "damage entries kv, database 0, request id 05616263: ", "it has no user and id");
    looks_found(t, "damage entries kv, database 0, request id 0175", "...: it has no user and id");
}

static void rows_of_the_catalog_agree_with_each_other(void **state)
{
    struct looks *t = *state;
    set_catalog(t, 16, "twice", 1);
    set_catalog(t, 17, "once", 1000);
    set_catalog(t, 18, "twice", 1);
    set_row(t, DATABASE_CATALOG, SPACE_DATABASE, slice_str("x"), slice_of(one, 1));
    set_row(t, DATABASE_CATALOG, SPACE_DATABASE, slice_str("\x01\x01"), slice_of(one, 1));
    set_row(t, DATABASE_CATALOG, SPACE_DATABASE, slice_str("\xff\xff"), slice_of(one, 1));
    set_row(t, DATABASE_CATALOG, SPACE_DATABASE, slice_str("\xff\xffs"), slice_of(one, 1));
    set_row(t, 3, SPACE_DATABASE, slice_str("\x01\x01"), slice_of(one, 1));
    look(t, 7);
    looks_found(t, "damage entries ", "database 18 has the same name, 'twice'");
    looks_found(t, "damage entries ", "it was created at version 1000, but the newest is");
    looks_found(t, "damage entries ", "it names no database");
    looks_found(t, "damage entries ", "the row of database 257 cannot be decoded");
    looks_found(t, "damage entries ", "the last number has 1 bytes");
    looks_found(t, "damage entries ", "the secret has 1 bytes");
    looks_found(t, "damage entries ", "a row of the catalog in a database of users");
}

static void a_database_is_in_the_catalog(void **state)
{
    struct looks *t = *state;
    struct buf key = {0};
    (void)data_key(&key, "a");
    struct slice tuple = engine_key_tuple(buf_slice(&key));
    set_row(t, 15, SPACE_DATA, tuple, slice_of(one, 1)); /* always there */
    set_row(t, 16, SPACE_DATA, tuple, slice_of(one, 1));
    set_row(t, 17, SPACE_DATA, tuple, slice_of(one, 1));
    (void)data_key(&key, "b");
    set_row(t, 17, SPACE_DATA, engine_key_tuple(buf_slice(&key)), slice_of(one, 1));
    set_catalog(t, 16, "name", 1);
    look(t, 1); /* it is told once */
    looks_found(t, "damage entries kv, database 17, entry [\"a\"]: ",
                "it belongs to database 17, which is not in the catalog");
    buf_fini(&key);
}

static void only_entries_expire(void **state)
{
    struct looks *t = *state;
    const uint8_t key[] = {KEY_HEAD(0, SPACE_IDEM), 1, 'u', 'i'};
    uint8_t reply[24] = {0};
    set(t, slice_of(key, sizeof key), slice_of(reply, sizeof reply), EXPIRY_MS);
    look(t, 1);
    looks_found(t, "damage entries ", "it has an expiry, which only entries have");
}

/* ---- places ---- */

static void place_is(const char *table, struct slice key, const char *wanted)
{
    struct buf out = {0};
    contents_place(table, key, &out);
    assert_string_equal(out.data, wanted);
    buf_fini(&out);
}

static void places_are_told_for_people(void **state)
{
    struct buf key = {0};
    (void)state;
    place_is("kv", data_key(&key, "a"), "kv, database 0, entry [\"a\"]");
    place_is("kv", slice_of("\x00\x00", 2), "kv");
    place_is("kv", slice_of("\x00\x00\x01", 3), "kv, database 0, entry []");
    place_is("kv", slice_of("\x01\x02\x04\x01q\xff", 6),
             "kv, database 258, figures of queue 'q' ff");
    place_is("kv", slice_of("\x00\x00\x05\x09q", 5), "kv, database 0, message of 0971"); /* cut */
    place_is("kv", slice_of("\x00\x00\x0bxname", 8), "kv, database 0, index 'name'");
    place_is("kv", slice_of("\x00\x00\x11\x01", 4), "kv, database 0, texts of 01");
    place_is("kv", slice_of("\x00\x00\x12\x01", 4), "kv, database 0, unknown space 01");
    place_is("kv", slice_of("\x00\x00\x00\x01", 4), "kv, database 0, unknown space 01");
    buf_fini(&key);
}

static void long_places_are_cut(void **state)
{
    char text[1000];
    struct buf key = {0};
    struct buf out = {0};
    (void)state;
    memset(text, 'k', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    contents_place("kv", data_key(&key, text), &out);
    assert_int_equal(strlen((char *)out.data), 400 + 3);
    assert_string_equal((char *)out.data + 398, "kk...");
    buf_clear(&key, SIZE_MAX);
    buf_append(&key, "\0\0\x0f", 3);
    for (int i = 0; i < 49; i++) buf_append_byte(&key, 0xab);
    buf_clear(&out, SIZE_MAX);
    contents_place("kv", slice_of(key.data, key.len - 1), &out);
    assert_null(strstr((char *)out.data, "..."));
    buf_clear(&out, SIZE_MAX);
    contents_place("kv", buf_slice(&key), &out);
    assert_string_equal((char *)out.data + strlen((char *)out.data) - 5, "ab...");
    buf_fini(&key);
    buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, enter, looks_leave)
        T(good_rows_have_nothing_to_tell),
        T(keys_and_values_must_be_such),
        T(an_entry_with_an_end_has_a_row_that_says_so),
        T(a_request_id_has_its_user_time_and_fingerprint),
        T(rows_of_the_catalog_agree_with_each_other),
        T(a_database_is_in_the_catalog),
        T(only_entries_expire),
        cmocka_unit_test(places_are_told_for_people),
        cmocka_unit_test(long_places_are_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
