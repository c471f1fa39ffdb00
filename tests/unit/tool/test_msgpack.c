/* msgpack: what is measured before msgpack-c gets it, what it makes of it, and what is packed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codec/pack.h"
#include "tool/msgpack.h"
#include "tool/records.h"

#define BYTES(text) slice_of(text, sizeof(text) - 1)

static size_t len;
static msgpack_object o;

/* Nothing behind the bytes may be read: they end where their memory does. */
static enum mp_state measure(struct slice bytes)
{
    uint8_t *copy = malloc(bytes.len + 1);
    memcpy(copy + 1, bytes.data, bytes.len);
    len = SIZE_MAX;
    enum mp_state s = mp_measure(slice_of(copy + 1, bytes.len), &len);
    free(copy);
    return s;
}

static void expect_whole(struct slice item)
{
    assert_int_equal(MP_WHOLE, measure(item));
    assert_int_equal(item.len, len);
    for (size_t i = 0; i < item.len; i++) { /* and each part of it is cut short */
        assert_int_equal(MP_TRUNCATED, measure(slice_of(item.data, i)));
        assert_int_equal(SIZE_MAX, len);
    }
}

/* ---- lengths --------------------------------------------------------------------------------- */

static void every_form_has_its_length(void **state)
{
    static const uint8_t heads[][7] = {/* of head, of the whole, the head */
                                       {1, 1, 0xc0},
                                       {1, 1, 0xc2},
                                       {1, 1, 0xc3},
                                       {1, 1, 0x00},
                                       {1, 1, 0x7f},
                                       {1, 1, 0xe0},
                                       {1, 1, 0xff},
                                       {1, 1, 0x80},
                                       {1, 1, 0x90},
                                       {1, 1, 0xa0},
                                       {1, 32, 0xbf},
                                       {1, 2, 0xcc},
                                       {1, 3, 0xcd},
                                       {1, 5, 0xce},
                                       {1, 9, 0xcf},
                                       {1, 2, 0xd0},
                                       {1, 3, 0xd1},
                                       {1, 5, 0xd2},
                                       {1, 9, 0xd3},
                                       {1, 5, 0xca},
                                       {1, 9, 0xcb},
                                       {1, 3, 0xd4},
                                       {1, 4, 0xd5},
                                       {1, 6, 0xd6},
                                       {1, 10, 0xd7},
                                       {1, 18, 0xd8},
                                       {2, 9, 0xc4, 7},
                                       {3, 10, 0xc5, 0, 7},
                                       {5, 12, 0xc6, 0, 0, 0, 7},
                                       {2, 10, 0xc7, 7},
                                       {3, 11, 0xc8, 0, 7},
                                       {5, 13, 0xc9, 0, 0, 0, 7},
                                       {2, 3, 0xc7, 0},
                                       {2, 9, 0xd9, 7},
                                       {3, 10, 0xda, 0, 7},
                                       {5, 12, 0xdb, 0, 0, 0, 7},
                                       {1, 16, 0x9f},
                                       {1, 31, 0x8f},
                                       {3, 10, 0xdc, 0, 7},
                                       {5, 12, 0xdd, 0, 0, 0, 7},
                                       {3, 17, 0xde, 0, 7},
                                       {5, 19, 0xdf, 0, 0, 0, 7}};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        uint8_t item[64] = {0}; /* bodies, and items, of zeros */
        memcpy(item, heads[i] + 2, heads[i][0]);
        expect_whole(slice_of(item, heads[i][1]));
        assert_int_equal(MP_WHOLE, measure(slice_of(item, sizeof item)));
        assert_int_equal(heads[i][1], len);
    }
    assert_int_equal(MP_INVALID, measure(BYTES("\xc1")));
    assert_int_equal(MP_INVALID, measure(BYTES("\x92\x01\xc1")));
}

static void lengths_that_are_not_there_are_cut_short(void **state)
{
    const struct slice heads[] = {
        BYTES("\xc9\xff\xff\xff\xff\x01"),
        BYTES("\xc9\xff\xff\xff\xff"),
        BYTES("\xc9\xff\xff\xff\xfe\x01"),
        BYTES("\xc8\xff\xff\x01"),
        BYTES("\xc7\xff\x01"),
        BYTES("\xc6\xff\xff\xff\xff\x01"),
        BYTES("\xc5\xff\xff\x01"),
        BYTES("\xc4\xff\x01"),
        BYTES("\xdb\xff\xff\xff\xff\x01"),
        BYTES("\xda\xff\xff\x01"),
        BYTES("\xd9\xff\x01"),
        BYTES("\xdd\xff\xff\xff\xff\x01"),
        BYTES("\xdc\xff\xff\x01"),
        BYTES("\xdf\xff\xff\xff\xff\x01"),
        BYTES("\xdf\x80\x00\x00\x00"),
        BYTES("\xde\xff\xff\x01"),
        BYTES("\x81\x01"),
        BYTES("\x82\x01\x01\x01"),
        BYTES("\xde\x00\x02\x01\x01\x01"),
        BYTES("\xdf\x00\x00\x00\x02\x01\x01\x01"),
    };
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        uint8_t nested[32] = {0x93, 0x01}; /* in an array, with another item after it */
        memcpy(nested + 2, heads[i].data, heads[i].len);
        assert_int_equal(MP_TRUNCATED, measure(heads[i]));
        assert_int_equal(MP_TRUNCATED, measure(slice_of(nested, heads[i].len + 2)));
        assert_false(mp_unpack(heads[i], &o));
    }
}

static void depth_has_a_bound(void **state)
{
    uint8_t deep[MP_DEPTH_MAX + 2];
    memset(deep, 0x91, sizeof deep);
    deep[MP_DEPTH_MAX] = 0x05;
    assert_int_equal(MP_WHOLE, measure(slice_of(deep, MP_DEPTH_MAX + 1)));
    assert_int_equal(MP_DEPTH_MAX + 1, len);
    deep[MP_DEPTH_MAX] = 0x91;
    deep[MP_DEPTH_MAX + 1] = 0x05;
    assert_int_equal(MP_DEEP, measure(slice_of(deep, sizeof deep)));
    /* What was left again does not count. */
    uint8_t wide[3 * MP_DEPTH_MAX + 3] = {0xdc, (uint8_t)((MP_DEPTH_MAX + 1) >> 8),
                                          (uint8_t)(MP_DEPTH_MAX + 1)};
    size_t at = 3;
    for (size_t i = 0; i < MP_DEPTH_MAX; i++) {
        wide[at++] = 0x91;
        wide[at++] = 0x05;
    }
    wide[at++] = 0x05;
    expect_whole(slice_of(wide, at));
}

static void deep_records_are_refused(void **state)
{
    struct fields f;
    struct error e;
    size_t used = 1;
    uint8_t record[MP_DEPTH_MAX + 4] = {0x81, 0xa1, 'a'};
    memset(record + 3, 0x91, MP_DEPTH_MAX);
    record[MP_DEPTH_MAX + 3] = 0x05;
    assert_int_equal(OK, fields_read_pack(slice_of(record, sizeof record), &f, &used, &e));
    assert_int_equal(sizeof record, used);
    uint8_t deeper[sizeof record + 1] = {0x81, 0xa1, 'a', 0x91};
    memcpy(deeper + 4, record + 3, sizeof record - 3);
    assert_int_equal(ERR_VALUE, fields_read_pack(slice_of(deeper, sizeof deeper), &f, &used, &e));
    assert_int_equal(0, used);
    assert_string_equal("deeper than 256 levels", e.text);
}

/* ---- unpacking ------------------------------------------------------------------------------- */

static void what_has_no_items_is_unpacked(void **state)
{
    assert_true(mp_unpack(BYTES("\xa2hi"), &o));
    assert_int_equal(MSGPACK_OBJECT_STR, o.type);
    assert_int_equal(2, o.via.str.size);
    assert_memory_equal("hi", o.via.str.ptr, 2);
    assert_true(mp_unpack(BYTES("\xc4\x02\x00\xff"), &o));
    assert_int_equal(MSGPACK_OBJECT_BIN, o.type);
    assert_true(mp_unpack(BYTES("\xd3\xff\xff\xff\xff\xff\xff\xff\xfe"), &o));
    assert_int_equal(MSGPACK_OBJECT_NEGATIVE_INTEGER, o.type);
    assert_int_equal(-2, o.via.i64);
    assert_true(mp_unpack(BYTES("\xc7\x00\x42"), &o));
    assert_int_equal(MSGPACK_OBJECT_EXT, o.type);
    assert_int_equal(0, o.via.ext.size);
}

static void nothing_else_is_unpacked(void **state)
{
    assert_false(mp_unpack(slice_of(NULL, 0), &o));
    assert_false(mp_unpack(BYTES("\x90"), &o));
    assert_false(mp_unpack(BYTES("\x81\x01\x02"), &o));
    assert_false(mp_unpack(BYTES("\xc1"), &o));
    assert_false(mp_unpack(BYTES("\xa2h"), &o));
    assert_false(mp_unpack(BYTES("\xa2hi\x01"), &o));
}

/* ---- packing --------------------------------------------------------------------------------- */

/* To the byte what the server writes (codec/pack.h). */
static void it_packs_as_the_server_does(void **state)
{
    static const size_t lengths[] = {0, 1, 31, 32, 255, 256, 65535, 65536};
    static const uint8_t text[65536];
    struct buf a;
    struct buf b;
    uint8_t head[PACK_HEAD_BYTES];
    buf_init(&a);
    buf_init(&b);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        struct slice s = slice_of(lengths[i] > 0 ? text : NULL, lengths[i]);
        mp_add_str(&a, s);
        pack_str(&b, s);
        mp_add_bin(&a, s);
        pack_bin(&b, s);
        mp_add_array(&a, s.len);
        buf_append(&b, head, pack_head(PACK_ARRAY, 0, s.len, head));
        mp_add_map(&a, s.len);
        buf_append(&b, head, pack_head(PACK_MAP, 0, s.len, head));
    }
    for (unsigned bit = 0; bit < 64; bit++) {
        for (int64_t near = -2; near <= 2; near++) {
            int64_t n = (int64_t)((UINT64_C(1) << bit) + (uint64_t)near);
            mp_add_i64(&a, n);
            pack_int(&b, n);
            mp_add_i64(&a, (int64_t)(0 - (uint64_t)n));
            pack_int(&b, (int64_t)(0 - (uint64_t)n));
        }
    }
    mp_add_true(&a);
    buf_append_byte(&b, 0xc3);
    assert_int_equal(b.len, a.len);
    assert_memory_equal(b.data, a.data, b.len);
    buf_fini(&a);
    buf_fini(&b);
}

static void a_map_gets_its_count_in_the_end(void **state)
{
    struct buf out;
    buf_init(&out);
    buf_append_byte(&out, 0x01);
    mp_add_map(&out, 0);
    mp_add_str(&out, slice_str("a"));
    mp_add_true(&out);
    mp_set_map(&out, 1, 15);
    assert_int_equal(5, out.len);
    assert_memory_equal("\x01\x8f\xa1"
                        "a\xc3",
                        out.data, 5);
    buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_has_its_length),
        cmocka_unit_test(lengths_that_are_not_there_are_cut_short),
        cmocka_unit_test(depth_has_a_bound),
        cmocka_unit_test(deep_records_are_refused),
        cmocka_unit_test(what_has_no_items_is_unpacked),
        cmocka_unit_test(nothing_else_is_unpacked),
        cmocka_unit_test(it_packs_as_the_server_does),
        cmocka_unit_test(a_map_gets_its_count_in_the_end),
    };
    return cmocka_run_group_tests_name("tool/msgpack", tests, NULL, NULL);
}
