/* patch: two values that differ anywhere are one and what changed; what a reader makes of that is
 * the value; nothing that is malformed is taken.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "backend/patch.h"
#include "base/mem.h"
#include "base/random.h"

#define ROOM (PATCH_VALUE_MIN + 40000)

static const struct slice key = {.data = (const uint8_t *)"\0\0\1key", .len = 6};

struct both {
    struct patch_log *log;
    struct patch_values values;
    struct entry base;
    struct buf before, bytes;
    uint64_t version;
    size_t patches;
};

static void both_init(struct both *b)
{
    *b = (struct both){.log = patch_log_new()};
    patch_values_init(&b->values);
}

static void both_fini(struct both *b)
{
    patch_log_free(b->log);
    patch_values_fini(&b->values);
    buf_fini(&b->before);
    buf_fini(&b->bytes);
}

/* Writes the value, reads it back, compares; `end` is where the segment ends. True: as a patch. */
static bool pass(struct both *b, struct slice value, uint64_t end)
{
    struct patch p;
    struct slice got;
    struct error e;
    struct mutation mu = {.kind = MUTATION_SET, .key = key, .value = value};
    struct patch_write w = {.key = key,
                            .value = value,
                            .version = ++b->version,
                            .base = b->base.exists ? &b->base : NULL,
                            .place = end,
                            .end = end};
    bool is_patch = patch_log_add(b->log, &w, &p);
    if (is_patch) {
        buf_clear(&b->bytes, SIZE_MAX);
        patch_write(&p, buf_reserve(&b->bytes, patch_bytes(&p)));
        mu.kind = MUTATION_PATCH;
        mu.value = slice_of(b->bytes.data, patch_bytes(&p));
        b->patches++;
    }
    assert_int_equal(patch_values_take(&b->values, b->version, &mu, &e), OK);
    assert_true(patch_values_get(&b->values, key, b->version, &got));
    assert_true(slice_eq(got, value));
    assert_false(patch_values_get(&b->values, key, b->version - 1, &got));
    buf_clear(&b->before, SIZE_MAX);
    buf_append(&b->before, value.data, value.len);
    b->base = (struct entry){.exists = true, .version = b->version, .value = buf_slice(&b->before)};
    return is_patch;
}

/* Puts, removes, changes bytes somewhere; the value begins with its length. */
static size_t edit(struct rng *rng, uint8_t *value, size_t len)
{
    size_t at = rng_below(rng, (uint32_t)len + 1);
    size_t n = rng_below(rng, 300);
    uint32_t what = rng_below(rng, 3);
    if (what == 0 && len + n <= ROOM) {
        memmove(value + at + n, value + at, len - at);
        memset(value + at, (int)rng_below(rng, 256), n);
        len += n;
    } else if (what == 1 && at + n <= len && len - n >= PATCH_VALUE_MIN) {
        memmove(value + at, value + at + n, len - at - n);
        len -= n;
    } else {
        if (n > len - at) n = len - at;
        memset(value + at, (int)rng_below(rng, 256), n);
    }
    memcpy(value + 1, &len, sizeof len);
    return len;
}

static void a_value_is_the_one_before_and_what_changed(void **state)
{
    static uint8_t value[ROOM];
    struct rng rng;
    struct both b;
    rng_init(&rng, 7);
    both_init(&b);
    size_t len = PATCH_VALUE_MIN + 1000;
    for (size_t i = 0; i < len; i++) value[i] = (uint8_t)rng_below(&rng, 3); /* repeats itself */
    assert_false(pass(&b, slice_of(value, len), 0));
    for (uint64_t i = 1; i < 2000; i++) {
        len = edit(&rng, value, len);
        assert_true(pass(&b, slice_of(value, len), i));
    }
    both_fini(&b);
}

static void what_is_far_away_is_written_whole(void **state)
{
    static uint8_t value[PATCH_VALUE_MIN];
    struct both b;
    uint64_t far = 1u << 20;
    both_init(&b);
    assert_false(pass(&b, slice_of(value, sizeof value), 100));
    value[0]++;
    assert_true(pass(&b, slice_of(value, sizeof value), 100 + far));
    value[0]++;
    assert_false(pass(&b, slice_of(value, sizeof value), 101 + far)); /* and is what is near now */
    value[0]++;
    assert_true(pass(&b, slice_of(value, sizeof value), 101 + 2 * far));
    patch_log_clear(b.log);
    assert_false(pass(&b, slice_of(value, sizeof value), 0));
    both_fini(&b);
}

static void what_has_little_in_common_is_written_whole(void **state)
{
    static uint8_t value[PATCH_VALUE_MIN];
    struct both b;
    both_init(&b);
    assert_false(pass(&b, slice_of(value, sizeof value), 0));
    memset(value, 1, sizeof value / 2);
    assert_false(pass(&b, slice_of(value, sizeof value), 0));
    memset(value, 2, sizeof value / 2 - PATCH_FIXED_BYTES - PATCH_HEAD_MAX - 1);
    assert_true(pass(&b, slice_of(value, sizeof value), 0));
    b.base.version--; /* another value than the one that the log knows */
    assert_false(pass(&b, slice_of(value, sizeof value), 0));
    b.base.exists = false;
    assert_false(pass(&b, slice_of(value, sizeof value), 0));
    both_fini(&b);
}

static enum err take(struct patch_values *v, uint64_t version, enum mutation_kind kind,
                     struct slice value, struct error *e)
{
    return patch_values_take(v, version,
                             &(struct mutation){.kind = kind, .key = key, .value = value}, e);
}

static void a_patch_of_something_else_is_refused(void **state)
{
    static uint8_t value[PATCH_VALUE_MIN];
    uint8_t bytes[PATCH_FIXED_BYTES + 3];
    struct patch_values v;
    struct error e;
    struct patch p = {.base_version = 5,
                      .base_len = sizeof value,
                      .from = 10,
                      .len = sizeof value,
                      .bytes = slice_str("abc")};
    struct slice in = slice_of(bytes, sizeof bytes);
    patch_values_init(&v);
    patch_write(&p, bytes);
    assert_int_equal(take(&v, 6, MUTATION_PATCH, in, &e), ERR_CORRUPT);
    assert_non_null(strstr(e.text, "version 6 changes a value of version 5"));
    assert_int_equal(take(&v, 4, MUTATION_SET, slice_of(value, sizeof value), &e), OK);
    assert_int_equal(take(&v, 6, MUTATION_PATCH, in, &e), ERR_CORRUPT);
    assert_int_equal(take(&v, 5, MUTATION_SET, slice_of(value, sizeof value), &e), OK);
    p.base_len--;
    p.len--;
    patch_write(&p, bytes);
    assert_int_equal(take(&v, 6, MUTATION_PATCH, in, &e), ERR_CORRUPT);
    patch_values_clear(&v);
    assert_int_equal(take(&v, 6, MUTATION_PATCH, in, &e), ERR_CORRUPT);
    patch_values_fini(&v);
}

/* Each number of its head changed to what cannot be. */
static void an_impossible_patch_is_refused(void **state)
{
    uint8_t bytes[PATCH_FIXED_BYTES + 4];
    struct patch p = {
        .base_len = 100, .from = 50, .len = 100, .head = slice_str("h"), .bytes = slice_str("abc")};
    struct patch got;
    patch_write(&p, bytes);
    assert_true(patch_read(slice_of(bytes, sizeof bytes), &got));
    assert_int_equal(got.from, 50);
    assert_int_equal(got.len, 100);
    assert_true(slice_eq(got.head, p.head));
    assert_true(slice_eq(got.bytes, p.bytes));
    for (size_t n = 0; n < PATCH_FIXED_BYTES; n++)
        assert_false(patch_read(slice_of(bytes, n), &got));
    const struct patch wrong[] = {
        {.base_len = 96, .from = 50, .len = 100, .bytes = p.bytes},  /* common parts overlap */
        {.base_len = 100, .from = 98, .len = 100, .bytes = p.bytes}, /* beyond the end */
        {.base_len = 100, .from = UINT32_MAX, .len = 100, .bytes = p.bytes},
        {.base_len = 100, .from = 50, .len = 52, .bytes = p.bytes},
        {.base_len = 0, .from = 50, .len = UINT32_MAX, .bytes = p.bytes},
        {.base_len = 100, .from = 0, .len = 100, .bytes = p.bytes}, /* shorter than its head */
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct patch w = wrong[i];
        w.head = p.head;
        patch_write(&w, bytes);
        assert_false(patch_read(slice_of(bytes, sizeof bytes), &got));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_value_is_the_one_before_and_what_changed),
        cmocka_unit_test(what_is_far_away_is_written_whole),
        cmocka_unit_test(what_has_little_in_common_is_written_whole),
        cmocka_unit_test(a_patch_of_something_else_is_refused),
        cmocka_unit_test(an_impossible_patch_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
