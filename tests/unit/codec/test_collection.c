/* collection: heads of every kind are read as they were written, damage is told and never read
 * beyond, and a client can neither write one nor take one for something else. */
#include "codec_test.h"

#include <math.h>

#include "codec/collection.h"
#include "codec/pack.h"
#include "codec/value.h"
#include "foreign/v8.h"

#define ITEMS 8

/* The bytes in memory of their own, so that a read beyond them is noticed. */
static struct slice tight(struct slice s)
{
    uint8_t *p = malloc(s.len > 0 ? s.len : 1);
    assert_non_null(p);
    if (s.len > 0) memcpy(p, s.data, s.len);
    return slice_of(p, s.len);
}

static void tight_free(struct slice s)
{
    free((void *)(uintptr_t)s.data);
}

/* collection_head_read; what else reads heads, and extensions, must agree with it. */
static bool read_head(struct slice s, struct collection_head *h)
{
    struct pack_item item = {0};
    struct slice body;
    int8_t ext = 0;
    const uint8_t *at = s.data;
    bool is_read = collection_head_read(s, h);
    const uint8_t *id = collection_incarnation(s);
    assert_true((id != NULL) == (is_read && h->is_spread));
    if (id != NULL) assert_memory_equal(id, h->incarnation, INCARNATION_ID_BYTES);
    bool is_ext = pack_read(&at, s.data + s.len, &item) == PACK_OK && item.type == PACK_EXT &&
                  at == s.data + s.len;
    assert_int_equal(pack_whole_ext(s, &ext, &body), is_ext);
    if (!is_ext) return is_read;
    assert_int_equal(ext, item.ext);
    assert_ptr_equal(body.data, item.body.data);
    assert_int_equal(body.len, item.body.len);
    return is_read;
}

static const double scores[ITEMS] = {0, -0.0, 1.5, -1e300, INFINITY, -INFINITY, 5e-324, 3};

static struct element item_of(enum collection_kind kind, unsigned i)
{
    static uint8_t bytes[70000];
    static const size_t lengths[ITEMS] = {0, 1, 127, 128, 300, 16384, 65536, 5};
    memset(bytes, 'x', sizeof bytes);
    struct slice some = slice_of(bytes, lengths[i % ITEMS]);
    struct element x = {.name = slice_of(NULL, 0), .value = slice_of(NULL, 0)};
    if (kind != COLLECTION_LIST) x.name = some;
    if (kind == COLLECTION_LIST) x.value = some;
    if (kind == COLLECTION_HASH) x.value = slice_of(bytes, lengths[(i + 3) % ITEMS]);
    if (kind == COLLECTION_HASH && i % 3 == 1) x.expiry_ms = INT64_MAX - i;
    if (kind == COLLECTION_ZSET) x.score = scores[i % ITEMS];
    return x;
}

static void write_packed(enum collection_kind kind, size_t count, struct buf *out)
{
    struct element items[ITEMS];
    struct collection_head h = {.kind = kind, .count = count};
    for (unsigned i = 0; i < count; i++) {
        items[i] = item_of(kind, i);
        h.expiring += items[i].expiry_ms != 0;
    }
    buf_clear(out, SIZE_MAX);
    collection_head_write(&h, items, out);
}

static void write_spread(enum collection_kind kind, bool has_ttl, struct buf *out)
{
    struct collection_head h = {.kind = kind,
                                .is_spread = true,
                                .is_holey = kind == COLLECTION_LIST,
                                .count = UINT64_MAX - 1,
                                .bytes = UINT64_MAX - 2,
                                .incarnation = "incarnation",
                                .first = UINT64_MAX - 3,
                                .end = UINT64_MAX - 4,
                                .stream = {.last = {1, UINT64_MAX},
                                           .first = {2, 3},
                                           .deleted = {4, 5},
                                           .added = UINT64_MAX - 6,
                                           .groups = 7,
                                           .groups_made = UINT64_MAX - 8}};
    if (has_ttl) h.expiring = UINT64_MAX - 5;
    buf_clear(out, SIZE_MAX);
    collection_head_write(&h, NULL, out);
}

static bool same(struct slice a, struct slice b)
{
    return slice_eq(a, b);
}

/* Every element; false: damage. */
static bool read_all(const struct collection_head *h, uint64_t *count)
{
    struct element x;
    size_t at = 0;
    uint64_t sum = 0;
    for (*count = 0; collection_packed_next(h, &at, &x); ++*count) {
        for (size_t i = 0; i < x.name.len; i++) sum += x.name.data[i];
        for (size_t i = 0; i < x.value.len; i++) sum += x.value.data[i];
    }
    return at == h->packed.len && sum != UINT64_MAX;
}

/* ---- round trips ---- */

static void a_packed_head_has_its_elements(void **state)
{
    struct buf out;
    (void)state;
    buf_init(&out);
    for (enum collection_kind kind = COLLECTION_HASH; kind <= COLLECTION_ZSET; kind++) {
        for (size_t count = 1; count <= ITEMS; count++) {
            struct collection_head h;
            struct element x;
            size_t at = 0;
            size_t most = 0;
            write_packed(kind, count, &out);
            assert_true(collection_is_head(buf_slice(&out)));
            assert_true(read_head(buf_slice(&out), &h));
            assert_int_equal(h.kind, kind);
            assert_int_equal(h.count, count);
            assert_false(h.is_spread);
            for (unsigned i = 0; i < count; i++) {
                struct element wanted = item_of(kind, i);
                most += collection_packed_bytes(&wanted);
                assert_true(collection_packed_next(&h, &at, &x));
                assert_true(same(x.name, wanted.name));
                assert_true(same(x.value, wanted.value));
                assert_int_equal(x.expiry_ms, wanted.expiry_ms);
                assert_memory_equal(&x.score, &wanted.score, sizeof x.score);
            }
            assert_false(collection_packed_next(&h, &at, &x));
            assert_int_equal(at, h.packed.len);
            assert_true(h.packed.len <= most + 8 * count); /* times, beside */
        }
    }
    buf_fini(&out);
}

static void a_spread_head_has_its_numbers(void **state)
{
    struct buf out;
    (void)state;
    buf_init(&out);
    for (enum collection_kind kind = COLLECTION_HASH; kind <= COLLECTION_STREAM; kind++) {
        for (int has_ttl = 0; has_ttl <= 1; has_ttl++) {
            struct collection_head h;
            write_spread(kind, has_ttl != 0, &out);
            assert_true(read_head(buf_slice(&out), &h));
            assert_int_equal(h.kind, kind);
            assert_true(h.is_spread);
            assert_int_equal(h.is_holey, kind == COLLECTION_LIST);
            assert_true(h.count == UINT64_MAX - 1 && h.bytes == UINT64_MAX - 2);
            assert_memory_equal(h.incarnation, "incarnation", INCARNATION_ID_BYTES);
            assert_true(h.first == (kind == COLLECTION_LIST ? UINT64_MAX - 3 : 0));
            assert_true(h.end == (kind == COLLECTION_LIST ? UINT64_MAX - 4 : 0));
            assert_true(h.expiring == (has_ttl ? UINT64_MAX - 5 : 0));
            assert_int_equal(h.packed.len, 0);
            if (kind != COLLECTION_STREAM) continue;
            assert_true(h.stream.last.ms == 1 && h.stream.last.seq == UINT64_MAX);
            assert_true(h.stream.first.ms == 2 && h.stream.first.seq == 3);
            assert_true(h.stream.deleted.ms == 4 && h.stream.deleted.seq == 5);
            assert_true(h.stream.added == UINT64_MAX - 6 && h.stream.groups == 7);
            assert_true(h.stream.groups_made == UINT64_MAX - 8);
        }
    }
    buf_fini(&out);
}

/* Stored bytes are for ever. */
static void the_format_is_as_it_was(void **state)
{
    struct buf out;
    struct element field = {.name = slice_str("f"), .value = slice_str("vw"), .expiry_ms = 258};
    struct element member = {.name = slice_str("m"), .score = -2};
    struct element value = {.value = slice_str("abc")};
    struct collection_head hash = {.kind = COLLECTION_HASH, .count = 1, .expiring = 1};
    struct collection_head zset = {.kind = COLLECTION_ZSET, .count = 1};
    struct collection_head list = {.kind = COLLECTION_LIST, .count = 1};
    struct collection_head set = {.kind = COLLECTION_SET,
                                  .is_spread = true,
                                  .count = 3,
                                  .bytes = 9,
                                  .incarnation = "abcdefghijk"};
    (void)state;
    buf_init(&out);
    collection_head_write(&hash, &field, &out);
    assert_string_equal(to_hex(buf_slice(&out)),
                        "c7194301010400000000000000010101660576770000000000000102");
    buf_clear(&out, SIZE_MAX);
    collection_head_write(&zset, &member, &out);
    assert_string_equal(to_hex(buf_slice(&out)), "c70e4301040001016dc000000000000000");
    buf_clear(&out, SIZE_MAX);
    collection_head_write(&list, &value, &out);
    assert_string_equal(to_hex(buf_slice(&out)), "d7430102000103616263");
    buf_clear(&out, SIZE_MAX);
    collection_head_write(&set, NULL, &out);
    assert_string_equal(to_hex(buf_slice(&out)),
                        "c71f430103016162636465666768696a6b0000000000000000030000000000000009");
    buf_fini(&out);
}

/* ---- damage ---- */

static void a_head_that_is_cut_off_is_none(void **state)
{
    struct buf out;
    (void)state;
    buf_init(&out);
    for (enum collection_kind kind = COLLECTION_HASH; kind <= COLLECTION_STREAM; kind++) {
        for (int spread = 0; spread <= 1; spread++) {
            if (spread) {
                write_spread(kind, true, &out);
            } else if (kind == COLLECTION_STREAM) {
                continue;
            } else {
                write_packed(kind, 5, &out);
            }
            for (size_t len = 0; len < out.len; len++) {
                struct collection_head h;
                struct slice cut = tight(slice_of(out.data, len));
                assert_false(collection_is_head(cut));
                assert_false(read_head(cut, &h));
                tight_free(cut);
            }
            buf_append_byte(&out, 0);
            assert_false(collection_is_head(buf_slice(&out)));
        }
    }
    buf_fini(&out);
}

/* As `out`, with the last `cut` bytes of its body gone and its length made right. */
static struct slice shortened(const struct buf *out, size_t cut)
{
    size_t head = out->data[0] == 0xc7 ? 3 : out->data[0] == 0xc8 ? 4 : 6;
    size_t body = out->len - head - cut;
    uint8_t *p = malloc(6 + body);
    assert_non_null(p);
    p[0] = 0xc9;
    for (int i = 0; i < 4; i++) p[1 + i] = (uint8_t)(body >> (24 - 8 * i));
    p[5] = EXT_COLLECTION;
    memcpy(p + 6, out->data + head, body);
    return slice_of(p, 6 + body);
}

static void a_body_that_ends_early_is_damage(void **state)
{
    struct buf out;
    (void)state;
    buf_init(&out);
    for (enum collection_kind kind = COLLECTION_HASH; kind <= COLLECTION_STREAM; kind++) {
        for (int spread = 0; spread <= 1; spread++) {
            if (spread) {
                write_spread(kind, kind == COLLECTION_HASH, &out);
            } else if (kind == COLLECTION_STREAM) {
                continue;
            } else {
                write_packed(kind, 4, &out);
            }
            for (size_t cut = 1; cut + 6 < out.len; cut++) {
                struct collection_head h;
                uint64_t count = 0;
                struct slice s = shortened(&out, cut);
                bool is_read = read_head(s, &h);
                if (spread) assert_false(is_read);
                if (is_read) is_read = read_all(&h, &count) && count == h.count;
                assert_false(is_read);
                tight_free(s);
            }
        }
    }
    buf_fini(&out);
}

static void a_body_that_goes_on_is_damage(void **state)
{
    struct buf out;
    (void)state;
    buf_init(&out);
    for (enum collection_kind kind = COLLECTION_HASH; kind <= COLLECTION_STREAM; kind++) {
        struct collection_head h;
        write_spread(kind, true, &out);
        buf_append_byte(&out, 0);
        out.data[1]++; /* its length */
        assert_true(collection_is_head(buf_slice(&out)));
        assert_false(read_head(buf_slice(&out), &h));
    }
    buf_fini(&out);
}

static void what_is_not_known_is_damage(void **state)
{
    static const struct {
        const char *what, *hex;
    } cases[] = {
        {"another extension", "c70e4401040001016dc000000000000000"},
        {"another format", "c70e4302040001016dc000000000000000"},
        {"kind 0", "c70e4301000001016dc000000000000000"},
        {"kind 6", "c70e4301060001016dc000000000000000"},
        {"an unknown flag", "c70e4301040801016dc000000000000000"},
        {"more elements than bytes", "c70e430104000c016dc000000000000000"},
        {"a varint without end", "c70e430104 00 ffffffffffffffffffff ff"},
        {"not an extension", "c40301"},
        {"a map", "81a16101"},
        {"nothing", ""},
        {"an extension of one byte", "d44301"},
        {"an extension of sixteen bytes", "d84301040001016dc00000000000000000000000"},
        {"an extension without a length", "c8"},
        {"an extension without a type", "c901020304"},
    };
    struct buf bytes;
    (void)state;
    buf_init(&bytes);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct collection_head h;
        hex_to(cases[i].hex, &bytes);
        struct slice s = tight(buf_slice(&bytes));
        if (read_head(s, &h)) fail_msg("%s", cases[i].what);
        tight_free(s);
    }
    buf_fini(&bytes);
}

static void random_damage_is_never_read_beyond(void **state)
{
    struct buf out;
    struct buf shown;
    (void)state;
    random_seed();
    buf_init(&out);
    buf_init(&shown);
    for (int i = 0; i < 20000; i++) {
        struct collection_head h;
        uint64_t count = 0;
        enum collection_kind kind = (enum collection_kind)(1 + random_below(COLLECTION_KINDS - 2));
        if (random_below(3) == 0) {
            write_spread(kind, random_below(2) == 0, &out);
        } else {
            write_packed(kind, 1 + random_below(4), &out);
        }
        size_t near = out.len < 64 ? out.len : 64;
        for (size_t n = 1 + random_below(4); n > 0; n--) {
            size_t at = random_below(random_below(2) == 0 ? near : out.len);
            out.data[at] = (uint8_t)random_u64();
        }
        struct slice s = tight(buf_slice(&out));
        if (read_head(s, &h) && !h.is_spread) (void)read_all(&h, &count);
        if (collection_is_head(s)) {
            buf_clear(&shown, SIZE_MAX);
            value_to_json(s, &shown);
            collection_to_msgpack(s, &shown);
        }
        tight_free(s);
    }
    buf_fini(&out);
    buf_fini(&shown);
}

/* ---- how it is shown ---- */

static void a_head_is_shown_as_an_object_with_type_and_length(void **state)
{
    static const char *const wanted[] = {
        [COLLECTION_HASH] = "{\"$collection\":{\"type\":\"hash\",\"length\":3}}",
        [COLLECTION_LIST] = "{\"$collection\":{\"type\":\"list\",\"length\":3}}",
        [COLLECTION_SET] = "{\"$collection\":{\"type\":\"set\",\"length\":3}}",
        [COLLECTION_ZSET] = "{\"$collection\":{\"type\":\"zset\",\"length\":3}}"};
    struct buf out;
    struct buf json;
    struct buf pack;
    (void)state;
    buf_init(&out);
    buf_init(&json);
    buf_init(&pack);
    for (enum collection_kind kind = COLLECTION_HASH; kind <= COLLECTION_ZSET; kind++) {
        write_packed(kind, 3, &out);
        buf_clear(&json, SIZE_MAX);
        buf_clear(&pack, SIZE_MAX);
        value_to_json(buf_slice(&out), &json);
        assert_true(slice_eq(buf_slice(&json), slice_str(wanted[kind])));
        buf_clear(&json, SIZE_MAX);
        value_to_bare_json(buf_slice(&out), &json);
        assert_true(slice_eq(buf_slice(&json), slice_str(wanted[kind])));
        collection_to_msgpack(buf_slice(&out), &pack);
        buf_clear(&json, SIZE_MAX);
        value_to_json(buf_slice(&pack), &json);
        /* The object has the name of a tag: so it is shown as an object that has one. */
        assert_non_null(strstr(text_of(&json), wanted[kind] + 1));
        assert_string_equal(value_type_name(buf_slice(&out)), "collection");
    }
    buf_fini(&out);
    buf_fini(&json);
    buf_fini(&pack);
}

static void a_damaged_head_is_shown_as_one(void **state)
{
    struct buf bytes;
    struct buf json;
    (void)state;
    buf_init(&bytes);
    buf_init(&json);
    hex_to("c70e4301090001016dc000000000000000", &bytes);
    assert_true(collection_is_head(buf_slice(&bytes)));
    value_to_json(buf_slice(&bytes), &json);
    assert_true(slice_eq(buf_slice(&json),
                         slice_str("{\"$collection\":{\"type\":\"damaged\",\"length\":0}}")));
    buf_fini(&bytes);
    buf_fini(&json);
}

static void v8_shows_it_as_the_same_object(void **state)
{
    struct buf out;
    struct buf v8;
    struct error e;
    (void)state;
    buf_init(&out);
    buf_init(&v8);
    write_packed(COLLECTION_SET, 2, &out);
    assert_int_equal(value_to_v8(buf_slice(&out), &v8, &e), OK);
    assert_non_null(memmem(v8.data, v8.len, "$collection", 11));
    assert_non_null(memmem(v8.data, v8.len, "set", 3));
    buf_fini(&out);
    buf_fini(&v8);
}

/* ---- clients do not write one ---- */

static void a_client_cannot_write_one_as_messagepack(void **state)
{
    struct buf out;
    struct error e;
    (void)state;
    buf_init(&out);
    write_packed(COLLECTION_ZSET, 3, &out);
    assert_int_equal(value_check(buf_slice(&out), &e), ERR_VALUE);
    assert_string_equal(e.text,
                        "invalid value: a collection, which only its own commands can write "
                        "(HSET, RPUSH, ...), at offset 0");
    struct buf inside;
    buf_init(&inside);
    buf_append_byte(&inside, 0x91);
    buf_append(&inside, out.data, out.len);
    assert_int_equal(value_check(buf_slice(&inside), &e), ERR_VALUE);
    buf_fini(&inside);
    buf_fini(&out);
}

static void a_client_cannot_write_one_as_json(void **state)
{
    static const char *const refused[] = {"{\"$collection\":{\"type\":\"hash\",\"length\":3}}",
                                          "{\"$collection\":1}", "[{\"$collection\":{}}]"};
    struct buf out;
    struct error e;
    (void)state;
    buf_init(&out);
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        assert_int_equal(value_from_json(slice_str(refused[i]), NULL, &out, &e), ERR_VALUE);
        assert_non_null(strstr(e.text,
                               "$collection shows a hash, list or other collection; only its "
                               "own commands can write it (HSET, RPUSH, ...)"));
        assert_int_equal(out.len, 0);
    }
    buf_fini(&out);
}

/* Only as the one member is it a tag; an object of that form is written in $object. */
static void a_plain_object_may_have_such_a_member(void **state)
{
    static const char *const same_again[] = {"{\"$collection\":1,\"b\":2}",
                                             "{\"b\":2,\"$collection\":1}",
                                             "{\"$object\":{\"$collection\":1}}"};
    struct buf bytes;
    struct buf json;
    struct error e;
    (void)state;
    buf_init(&bytes);
    buf_init(&json);
    for (size_t i = 0; i < sizeof same_again / sizeof same_again[0]; i++) {
        buf_clear(&bytes, SIZE_MAX);
        buf_clear(&json, SIZE_MAX);
        if (value_from_json(slice_str(same_again[i]), NULL, &bytes, &e) != OK) {
            fail_msg("%s: %s", same_again[i], e.text);
        }
        assert_int_equal(value_check(buf_slice(&bytes), &e), OK);
        assert_false(collection_is_head(buf_slice(&bytes)));
        value_to_json(buf_slice(&bytes), &json);
        assert_string_equal(text_of(&json), same_again[i]);
    }
    buf_fini(&bytes);
    buf_fini(&json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_packed_head_has_its_elements),
        cmocka_unit_test(a_spread_head_has_its_numbers),
        cmocka_unit_test(the_format_is_as_it_was),
        cmocka_unit_test(a_head_that_is_cut_off_is_none),
        cmocka_unit_test(a_body_that_ends_early_is_damage),
        cmocka_unit_test(a_body_that_goes_on_is_damage),
        cmocka_unit_test(what_is_not_known_is_damage),
        cmocka_unit_test(random_damage_is_never_read_beyond),
        cmocka_unit_test(a_head_is_shown_as_an_object_with_type_and_length),
        cmocka_unit_test(a_damaged_head_is_shown_as_one),
        cmocka_unit_test(v8_shows_it_as_the_same_object),
        cmocka_unit_test(a_client_cannot_write_one_as_messagepack),
        cmocka_unit_test(a_client_cannot_write_one_as_json),
        cmocka_unit_test(a_plain_object_may_have_such_a_member),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
