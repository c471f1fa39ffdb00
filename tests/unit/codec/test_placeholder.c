/* Tests of placeholders in keys and values, and of the generator of UUIDs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "codec/key.h"
#include "codec/placeholder.h"
#include "codec/value.h"

#define STAMP "0123456789abcdef0000"

struct calls {
    unsigned uuids, stamps;
    unsigned last;
};

/* "u00007-...": shows its number. */
static void give_uuid(void *arg, unsigned n, char out[UUID_CHARS])
{
    char text[UUID_CHARS + 1];
    struct calls *c = arg;
    snprintf(text, sizeof text, "%08u-1111-7222-8333-444444444444", n);
    memcpy(out, text, UUID_CHARS);
    c->uuids++;
    c->last = n;
}

static void give_stamp(void *arg, char out[VERSIONSTAMP_CHARS])
{
    struct calls *c = arg;
    memcpy(out, STAMP, VERSIONSTAMP_CHARS);
    c->stamps++;
}

static struct calls calls;
static const struct placeholders given = {
    .uuid = give_uuid, .versionstamp = give_stamp, .arg = &calls};

#define U(n) "0000000" #n "-1111-7222-8333-444444444444"

static enum err value_of(const char *text, const struct placeholders *p, struct buf *out,
                         struct error *e)
{
    struct buf packed = {0};
    calls = (struct calls){0};
    enum err r = value_from_json(slice_str(text), p, &packed, e);
    if (r == OK) {
        value_to_json(buf_slice(&packed), out);
        buf_append_byte(out, '\0');
    }
    buf_fini(&packed);
    return r;
}

static enum err key_of(const char *text, const struct placeholders *p, struct buf *out,
                       struct error *e)
{
    struct buf packed = {0};
    calls = (struct calls){0};
    enum err r = key_from_arg(slice_str(text), false, p, &packed, e);
    if (r == OK) {
        key_to_json(buf_slice(&packed), out);
        buf_append_byte(out, '\0');
    }
    buf_fini(&packed);
    return r;
}

static void values_have_their_placeholders_replaced(void **state)
{
    static const struct {
        const char *text, *wanted;
        unsigned uuids, stamps;
    } table[] = {
        {"{\"$uuidv7\":0}", "\"" U(0) "\"", 1, 0},
        {" { \"$uuidv7\" : 7 } ", "\"" U(7) "\"", 1, 0},
        {"{\"$uuidv7\":9999}", "\"00009999-1111-7222-8333-444444444444\"", 1, 0},
        {"{\"$versionstamp\":true}", "\"" STAMP "\"", 0, 1},
        {"[{\"$uuidv7\":1},{\"$uuidv7\":1},{\"$uuidv7\":2}]",
         "[\"" U(1) "\",\"" U(1) "\",\"" U(2) "\"]", 3, 0},
        {"{\"a\":{\"$versionstamp\":true},\"b\":[{\"c\":{\"$uuidv7\":3}}]}",
         "{\"a\":\"" STAMP "\",\"b\":[{\"c\":\"" U(3) "\"}]}", 1, 1},
        {"{\"$map\":[[{\"$uuidv7\":1},{\"$versionstamp\":true}]]}",
         "{\"$map\":[[\"" U(1) "\",\"" STAMP "\"]]}", 1, 1},
        {"{\"$set\":[1,{\"$uuidv7\":1}]}", "{\"$set\":[1,\"" U(1) "\"]}", 1, 0},
        /* escapes of the tag's own name */
        {"{\"\\u0024uuidv7\":4}", "\"" U(4) "\"", 1, 0},
        /* an object that only looks like one */
        {"{\"$object\":{\"$uuidv7\":1}}", "{\"$object\":{\"$uuidv7\":1}}", 0, 0},
        {"{\"$object\":{\"$versionstamp\":true}}", "{\"$object\":{\"$versionstamp\":true}}", 0, 0},
        {"{\"$object\":{\"$uuidv7\":{\"$uuidv7\":5}}}", "{\"$object\":{\"$uuidv7\":\"" U(5) "\"}}",
         1, 0},
        {"{\"$uuidv7\":1,\"b\":2}", "{\"$uuidv7\":1,\"b\":2}", 0, 0},
        {"{\"b\":2,\"$uuidv7\":1}", "{\"b\":2,\"$uuidv7\":1}", 0, 0},
        {"{\"$uuidv8\":1}", "{\"$uuidv8\":1}", 0, 0},
        {"\"$uuidv7\"", "\"$uuidv7\"", 0, 0},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct buf out = {0};
        struct error e;
        if (value_of(table[i].text, &given, &out, &e) != OK)
            fail_msg("%s: %s", table[i].text, e.text);
        assert_string_equal((char *)out.data, table[i].wanted);
        /* A second key shows only afterwards that it was none. */
        if (table[i].uuids > 0) assert_int_equal(calls.uuids, table[i].uuids);
        assert_int_equal(calls.stamps, table[i].stamps);
        buf_fini(&out);
    }
}

static void keys_have_their_placeholders_replaced(void **state)
{
    static const struct {
        const char *text, *wanted;
    } table[] = {
        {"[{\"$uuidv7\":1}]", "[\"" U(1) "\"]"},
        {"[\"a\",{\"$uuidv7\":1},2,{\"$versionstamp\":true}]",
         "[\"a\",\"" U(1) "\",2,\"" STAMP "\"]"},
        {"[ { \"$versionstamp\" : true } ]", "[\"" STAMP "\"]"},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct buf out = {0};
        struct error e;
        if (key_of(table[i].text, &given, &out, &e) != OK)
            fail_msg("%s: %s", table[i].text, e.text);
        assert_string_equal((char *)out.data, table[i].wanted);
        buf_fini(&out);
    }
}

static void wrong_operands_are_refused(void **state)
{
    static const char *const wrong[] = {
        "{\"$uuidv7\":-1}",
        "{\"$uuidv7\":10000}",
        "{\"$uuidv7\":1.5}",
        "{\"$uuidv7\":1e2}",
        "{\"$uuidv7\":\"1\"}",
        "{\"$uuidv7\":true}",
        "{\"$uuidv7\":null}",
        "{\"$uuidv7\":[]}",
        "{\"$uuidv7\":{}}",
        "{\"$uuidv7\":}",
        "{\"$uuidv7\":01}",
        "{\"$uuidv7\":99999999999999999999}",
        "{\"$uuidv7\":1",
        "{\"$uuidv7\"",
        "{\"$versionstamp\":false}",
        "{\"$versionstamp\":1}",
        "{\"$versionstamp\":\"true\"}",
        "{\"$versionstamp\":tru}",
        "{\"$versionstamp\":null}",
        "{\"$versionstamp\":truex}",
        "{\"$versionstamp\":true",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct buf out = {0};
        struct error e;
        char text[100];
        if (value_of(wrong[i], &given, &out, &e) == OK)
            fail_msg("%s is taken as a value", wrong[i]);
        assert_int_equal(e.code, ERR_VALUE);
        snprintf(text, sizeof text, "[%s]", wrong[i]);
        if (key_of(text, &given, &out, &e) == OK) fail_msg("%s is taken as a key", text);
        assert_int_equal(e.code, ERR_KEY);
        buf_fini(&out);
    }
}

static void without_a_transaction_they_are_refused(void **state)
{
    static const char *const texts[] = {"{\"$uuidv7\":1}", "[{\"$versionstamp\":true}]",
                                        "{\"a\":{\"$uuidv7\":1}}"};
    for (size_t i = 0; i < 3; i++) {
        struct buf out = {0};
        struct error e;
        assert_int_equal(value_of(texts[i], NULL, &out, &e), ERR_VALUE);
        assert_non_null(strstr(e.text, "placeholders are not supported here"));
        buf_fini(&out);
    }
    struct buf out = {0};
    struct error e;
    assert_int_equal(key_of("[{\"$uuidv7\":1}]", NULL, &out, &e), ERR_KEY);
    assert_int_equal(value_of("{\"$object\":{\"$uuidv7\":1}}", NULL, &out, &e), OK);
    buf_fini(&out);
}

/* ---- UUIDs ----------------------------------------------------------------------------------- */

static const uint8_t ones[10] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
static const uint8_t zeros[10];

static int64_t time_of(const uint8_t uuid[UUID_BYTES])
{
    int64_t ms = 0;
    for (int i = 0; i < 6; i++) ms = ms << 8 | uuid[i];
    return ms;
}

static void expect_next(struct uuid_clock *c, int64_t now_ms, const uint8_t random[10],
                        uint8_t last[UUID_BYTES])
{
    uint8_t next[UUID_BYTES];
    uuid_next(c, now_ms, random, next);
    assert_true(memcmp(next, last, UUID_BYTES) > 0);
    assert_int_equal(next[6] >> 4, 7); /* version */
    assert_int_equal(next[8] >> 6, 2); /* variant */
    assert_true(time_of(next) >= now_ms);
    memcpy(last, next, UUID_BYTES);
}

static void uuids_grow_within_a_millisecond_and_over_it(void **state)
{
    struct uuid_clock c = {0};
    uint8_t last[UUID_BYTES] = {0};
    for (int64_t ms = 1700000000000; ms < 1700000000010; ms++) {
        for (int i = 0; i < 1000; i++) {
            expect_next(&c, ms,
                        i % 3 == 0   ? ones
                        : i % 3 == 1 ? zeros
                                     : (const uint8_t *)"abcdefghij",
                        last);
            assert_int_equal(time_of(last), ms);
        }
    }
}

static void uuids_grow_when_the_clock_steps_back(void **state)
{
    struct uuid_clock c = {0};
    uint8_t last[UUID_BYTES] = {0};
    expect_next(&c, 1700000000000, ones, last);
    for (int i = 1; i < 100; i++) {
        uint8_t before[UUID_BYTES];
        memcpy(before, last, sizeof before);
        uint8_t next[UUID_BYTES];
        uuid_next(&c, 1700000000000 - i * 1000, zeros, next);
        assert_true(memcmp(next, before, UUID_BYTES) > 0);
        assert_int_equal(time_of(next), 1700000000000);
        memcpy(last, next, sizeof last);
    }
    expect_next(&c, 1700000000001, zeros, last);
    assert_int_equal(time_of(last), 1700000000001);
}

static void a_counter_that_is_used_up_goes_on_in_the_next_millisecond(void **state)
{
    struct uuid_clock c = {.time_ms = 1700000000000, .high = 0xffe, .low = (1ULL << 62) - 2};
    uint8_t last[UUID_BYTES] = {0};
    expect_next(&c, 1700000000000, zeros, last); /* the last one of `low` */
    assert_int_equal(time_of(last), 1700000000000);
    expect_next(&c, 1700000000000, zeros, last); /* carried into `high` */
    assert_int_equal(c.high, 0xfff);
    c.low = (1ULL << 62) - 1;
    expect_next(&c, 1700000000000, ones, last);
    assert_int_equal(time_of(last), 1700000000001);
    for (int i = 0; i < 100; i++) expect_next(&c, 1700000000000, ones, last);
    expect_next(&c, 1700000000001, ones, last);
    expect_next(&c, 1700000000002, ones, last);
    assert_int_equal(time_of(last), 1700000000002);
}

static void random_bits_are_used(void **state)
{
    uint8_t a[UUID_BYTES];
    uint8_t b[UUID_BYTES];
    uuid_next(&(struct uuid_clock){0}, 1, ones, a);
    uuid_next(&(struct uuid_clock){0}, 1, zeros, b);
    assert_memory_equal(a, b, 6);
    assert_int_equal(a[6], 0x77); /* half of the counter's room is left */
    assert_int_equal(a[8], 0xbf);
    assert_int_equal(b[6], 0x70);
    assert_int_equal(b[8], 0x80);
    for (int i = 9; i < UUID_BYTES; i++) {
        assert_int_equal(a[i], 0xff);
        assert_int_equal(b[i], 0);
    }
}

static void a_uuid_is_written_in_groups(void **state)
{
    static const uint8_t uuid[UUID_BYTES] = {0x01, 0x8b, 0xcf, 0xe5, 0x68, 0x00, 0x70, 0x01,
                                             0x80, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef};
    char text[UUID_CHARS + 1] = "";
    uuid_format(uuid, text);
    assert_string_equal(text, "018bcfe5-6800-7001-8023-456789abcdef");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_have_their_placeholders_replaced),
        cmocka_unit_test(keys_have_their_placeholders_replaced),
        cmocka_unit_test(wrong_operands_are_refused),
        cmocka_unit_test(without_a_transaction_they_are_refused),
        cmocka_unit_test(uuids_grow_within_a_millisecond_and_over_it),
        cmocka_unit_test(uuids_grow_when_the_clock_steps_back),
        cmocka_unit_test(a_counter_that_is_used_up_goes_on_in_the_next_millisecond),
        cmocka_unit_test(random_bits_are_used),
        cmocka_unit_test(a_uuid_is_written_in_groups),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
