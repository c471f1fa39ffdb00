/* journal_format: what is written is read back, and no damaged bit passes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "backend/local/journal_format.h"
#include "base/random.h"

static const struct segment_id here = {.database_id = {1, 2, 3, 250}, .number = 77};

static void a_segment_header_is_read_back(void **state)
{
    uint8_t bytes[JOURNAL_HEADER_BYTES];
    struct segment_header in = {.id = here, .format = JOURNAL_FORMAT, .version_before = 1ull << 50};
    struct segment_header out;
    segment_header_write(&in, bytes);
    assert_int_equal(segment_header_read(bytes, &out, NULL), OK);
    assert_int_equal(out.id.number, 77);
    assert_memory_equal(out.id.database_id, here.database_id, DATABASE_ID_BYTES);
    assert_int_equal(out.format, JOURNAL_FORMAT);
    assert_int_equal(out.version_before, 1ull << 50);
}

static void a_flipped_bit_in_a_segment_header_is_found(void **state)
{
    uint8_t bytes[JOURNAL_HEADER_BYTES];
    struct segment_header in = {.id = here, .format = JOURNAL_FORMAT, .version_before = 5};
    struct segment_header out;
    segment_header_write(&in, bytes);
    for (unsigned bit = 0; bit < 56 * 8; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_int_not_equal(segment_header_read(bytes, &out, NULL), OK);
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    uint8_t zeros[JOURNAL_HEADER_BYTES] = {0};
    assert_int_equal(segment_header_read(zeros, &out, NULL), ERR_CORRUPT);
}

static void a_newer_segment_is_told_from_a_damaged_one(void **state)
{
    uint8_t bytes[JOURNAL_HEADER_BYTES];
    struct error e;
    struct segment_header in = {.id = here, .format = JOURNAL_FORMAT + 1};
    struct segment_header out;
    segment_header_write(&in, bytes);
    assert_int_equal(segment_header_read(bytes, &out, &e), ERR_FORMAT);
    assert_non_null(strstr(e.text, "newer"));
}

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
        txn_write(&payload, seed + 1, &batch);
        assert_int_equal(payload.len, txn_bytes(&batch));
        txn_write(&payload, seed + 2, &batch);
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
    txn_write(&payload, 9, &batch);
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

static void impossible_mutations_are_refused(void **state)
{
    uint8_t bytes[TXN_MUTATION_BYTES + 4] = {MUTATION_SET, 0, 2, 0, 2};
    struct slice left = slice_of(bytes, sizeof bytes);
    struct mutation mu;
    assert_true(mutation_read(&left, &mu));
    for (unsigned kind = 0; kind < 256; kind++) {
        bytes[0] = (uint8_t)kind;
        left = slice_of(bytes, sizeof bytes);
        assert_int_equal(mutation_read(&left, &mu), kind >= 1 && kind <= 4);
    }
    bytes[0] = MUTATION_SET;
    bytes[2] = 0;
    left = slice_of(bytes, sizeof bytes);
    assert_false(mutation_read(&left, &mu));
}

/* A sealed batch of two transactions with its padding, in a buffer of exactly that size. */
static uint8_t *batch_make(const struct segment_id *id, size_t *len, size_t *payload_bytes)
{
    struct mutation items[2] = {
        {.kind = MUTATION_SET, .key = slice_str("\x01\x01key"), .value = slice_str("value")},
        {.kind = MUTATION_DELETE, .key = slice_str("\x01\x01other")}};
    struct batch batch = {.items = items, .count = 2, .time_ms = 1234};
    struct buf payload;
    buf_init(&payload);
    txn_write(&payload, 41, &batch);
    txn_write(&payload, 42, &batch);
    struct batch_header h = {.payload_bytes = (uint32_t)payload.len,
                             .first_version = 41,
                             .last_version = 42,
                             .durable_version = 40,
                             .time_ms = 1234,
                             .transactions = 2};
    *len = batch_bytes(h.payload_bytes);
    *payload_bytes = payload.len;
    uint8_t *bytes = calloc(1, *len);
    memcpy(bytes + JOURNAL_BATCH_BYTES, payload.data, payload.len);
    batch_seal(bytes, &h, id);
    buf_fini(&payload);
    return bytes;
}

static bool is_whole(const uint8_t *bytes, size_t len, const struct segment_id *id)
{
    struct batch_header h;
    return batch_peek(bytes, len, &h) && batch_verify(bytes, &h, id);
}

static void a_batch_is_read_back(void **state)
{
    size_t len = 0;
    size_t payload = 0;
    struct batch_header h;
    uint8_t *bytes = batch_make(&here, &len, &payload);
    assert_true(is_whole(bytes, len, &here));
    assert_true(batch_peek(bytes, len, &h));
    assert_int_equal(h.payload_bytes, payload);
    assert_int_equal(h.first_version, 41);
    assert_int_equal(h.last_version, 42);
    assert_int_equal(h.durable_version, 40);
    assert_int_equal(h.time_ms, 1234);
    assert_int_equal(h.transactions, 2);
    assert_int_equal(len % 8, 0);
    free(bytes);
}

static void a_flipped_bit_anywhere_in_a_batch_is_found(void **state)
{
    size_t len = 0;
    size_t payload = 0;
    uint8_t *bytes = batch_make(&here, &len, &payload);
    for (size_t bit = 0; bit < (JOURNAL_BATCH_BYTES + payload) * 8; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_false(is_whole(bytes, len, &here));
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    assert_true(is_whole(bytes, len, &here));
    free(bytes);
}

static void a_cut_batch_is_found(void **state)
{
    size_t len = 0;
    size_t payload = 0;
    uint8_t *bytes = batch_make(&here, &len, &payload);
    for (size_t cut = 0; cut < len; cut++) {
        uint8_t *exact = memcpy(malloc(cut + 1), bytes, cut);
        assert_false(is_whole(exact, cut, &here));
        free(exact);
    }
    free(bytes);
}

static void a_batch_of_another_segment_or_database_is_no_batch(void **state)
{
    size_t len = 0;
    size_t payload = 0;
    uint8_t *bytes = batch_make(&here, &len, &payload);
    struct segment_id other = here;
    other.number++;
    assert_false(is_whole(bytes, len, &other));
    other = here;
    other.database_id[15] ^= 1;
    assert_false(is_whole(bytes, len, &other));
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_segment_header_is_read_back),
        cmocka_unit_test(a_flipped_bit_in_a_segment_header_is_found),
        cmocka_unit_test(a_newer_segment_is_told_from_a_damaged_one),
        cmocka_unit_test(transactions_are_read_back),
        cmocka_unit_test(a_cut_transaction_is_never_read_beyond_its_end),
        cmocka_unit_test(impossible_mutations_are_refused),
        cmocka_unit_test(a_batch_is_read_back),
        cmocka_unit_test(a_flipped_bit_anywhere_in_a_batch_is_found),
        cmocka_unit_test(a_cut_batch_is_found),
        cmocka_unit_test(a_batch_of_another_segment_or_database_is_no_batch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
