/* journal_format: what is written is read back, and no damaged bit passes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "backend/local/journal_format.h"

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

/* A sealed batch of two transactions with its padding, in a buffer of exactly that size. */
static uint8_t *batch_make(const struct segment_id *id, size_t *len, size_t *payload_bytes)
{
    struct mutation items[2] = {
        {.kind = MUTATION_SET, .key = slice_of("\0\1\1key", 6), .value = slice_str("value")},
        {.kind = MUTATION_DELETE, .key = slice_of("\0\1\1other", 8)}};
    struct batch batch = {.items = items, .count = 2, .time_ms = 1234};
    struct buf payload;
    buf_init(&payload);
    txn_write(&payload, 41, &batch, NULL);
    txn_write(&payload, 42, &batch, NULL);
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
        cmocka_unit_test(a_batch_is_read_back),
        cmocka_unit_test(a_flipped_bit_anywhere_in_a_batch_is_found),
        cmocka_unit_test(a_cut_batch_is_found),
        cmocka_unit_test(a_batch_of_another_segment_or_database_is_no_batch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
