/* txn: what is written is read back, and nothing is read beyond the end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "backend/txn.h"
#include "base/random.h"

/* A transaction with keys and values of many lengths; good until the next call. */
static struct batch make_txn(struct rng *rng, struct mutation *items, size_t count)
{
    static uint8_t bytes[70000];
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)rng_next(rng);
    for (size_t i = 0; i < count; i++) {
        items[i] = (struct mutation){
            .kind = (enum mutation_kind)(1 + rng_below(rng, 3)),
            .key = slice_of(bytes + rng_below(rng, 1000), 1 + rng_below(rng, i == 3 ? 65535 : 20)),
            .expiry_ms = (int64_t)rng_next(rng)};
        if (items[i].kind != MUTATION_SET) continue;
        items[i].value = slice_of(bytes + rng_below(rng, 1000), rng_below(rng, i == 5 ? 60000 : 9));
    }
    return (struct batch){.items = items, .count = count, .time_ms = (int64_t)rng_next(rng)};
}

static void expect_txn(struct slice *payload, uint64_t version, const struct batch *want)
{
    struct txn_view txn;
    struct mutation mu;
    assert_true(txn_read(payload, &txn));
    assert_int_equal(txn.version, version);
    assert_int_equal(txn.time_ms, want->time_ms);
    assert_int_equal(txn.mutations, want->count);
    for (size_t i = 0; i < want->count; i++) {
        assert_true(mutation_read(&txn.bytes, &mu));
        assert_int_equal(mu.kind, want->items[i].kind);
        assert_int_equal(mu.expiry_ms, want->items[i].expiry_ms);
        assert_true(slice_eq(mu.key, want->items[i].key));
        assert_true(slice_eq(mu.value, want->items[i].value));
    }
    assert_false(mutation_read(&txn.bytes, &mu));
    assert_int_equal(txn.bytes.len, 0);
}

static void transactions_are_read_back(void **state)
{
    struct rng rng;
    struct buf payload;
    buf_init(&payload);
    for (uint64_t seed = 0; seed < 60; seed++) {
        struct mutation items[20];
        rng_init(&rng, seed);
        struct batch batch = make_txn(&rng, items, seed % 20);
        buf_clear(&payload, SIZE_MAX);
        txn_write(&payload, seed + 1, &batch, NULL);
        assert_int_equal(payload.len, txn_bytes(&batch));
        txn_write(&payload, seed + 2, &batch, NULL);
        assert_int_equal(payload.len, 2 * txn_bytes(&batch));
        struct slice left = buf_slice(&payload);
        struct txn_view txn;
        expect_txn(&left, seed + 1, &batch);
        expect_txn(&left, seed + 2, &batch);
        assert_false(txn_read(&left, &txn));
        assert_int_equal(left.len, 0);
    }
    buf_fini(&payload);
}

static void a_cut_transaction_is_never_read_beyond_its_end(void **state)
{
    struct rng rng;
    struct buf payload;
    struct mutation items[4];
    rng_init(&rng, 3);
    buf_init(&payload);
    struct batch batch = make_txn(&rng, items, 3);
    txn_write(&payload, 9, &batch, NULL);
    for (size_t len = 0; len < payload.len; len++) {
        uint8_t *exact = memcpy(malloc(len + 1), payload.data, len);
        struct slice left = slice_of(exact, len);
        struct txn_view txn;
        assert_false(txn_read(&left, &txn));
        /* And its mutations, as if the length had said so. */
        if (len >= TXN_BYTES) {
            struct slice body = slice_of(exact + TXN_BYTES, len - TXN_BYTES);
            struct mutation mu;
            size_t seen = 0;
            while (mutation_read(&body, &mu)) seen++;
            assert_true(seen < 3);
        }
        free(exact);
    }
    buf_fini(&payload);
}

/* Also when it is all that a segment has. */
static void a_patch_of_nothing_is_refused(void **state)
{
    struct mutation mu = {.kind = MUTATION_SET,
                          .key = slice_of("\0\0\1k", 4),
                          .value = slice_str("a value that is longer than its patch is, by some")};
    struct batch batch = {.items = &mu, .count = 1};
    struct txn_patches patches = {.count = 1};
    struct patch_values values;
    struct txn_view txn;
    struct buf bytes;
    struct error e;
    patches.of[0].patch = (struct patch){
        .base_version = 1, .base_len = 10, .len = 10, .bytes = slice_str("a")};
    buf_init(&bytes);
    patch_values_init(&values);
    txn_write(&bytes, 2, &batch, &patches);
    struct slice rest = buf_slice(&bytes);
    assert_true(txn_read(&rest, &txn));
    assert_int_equal(rest.len, 0);
    assert_int_equal(txn_values(&values, &txn, &e), ERR_CORRUPT);
    patch_values_fini(&values);
    buf_fini(&bytes);
}

static void impossible_mutations_are_refused(void **state)
{
    uint8_t bytes[TXN_MUTATION_BYTES + 4] = {MUTATION_SET, 0, 2, 0, 2};
    struct slice left = slice_of(bytes, sizeof bytes);
    struct mutation mu;
    assert_true(mutation_read(&left, &mu));
    for (unsigned kind = 0; kind < 256; kind++) {
        bytes[0] = (uint8_t)kind;
        left = slice_of(bytes, sizeof bytes);
        assert_int_equal(mutation_read(&left, &mu), kind >= 1 && kind <= 5);
    }
    bytes[0] = MUTATION_SET;
    bytes[2] = 0;
    left = slice_of(bytes, sizeof bytes);
    assert_false(mutation_read(&left, &mu));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transactions_are_read_back),
        cmocka_unit_test(a_cut_transaction_is_never_read_beyond_its_end),
        cmocka_unit_test(a_patch_of_nothing_is_refused),
        cmocka_unit_test(impossible_mutations_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
