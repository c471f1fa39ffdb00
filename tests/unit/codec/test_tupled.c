/* Tests of the public header against the server's own key codec. */
#include "codec_test.h"

#include "codec/key.h"
#include "tupled.h"

static struct tupled_key key;
static struct buf encoded, text;
static struct error e;

/* The key as the server understands it, in JSON; or why there is none. */
static const char *as_json(void)
{
    size_t len = 0;
    const void *arg = tupled_key_finish(&key, &len);
    if (arg == NULL) return tupled_status_text(key.status);
    encoded.len = text.len = 0;
    if (key_from_arg(slice_of(arg, len), false, NULL, &encoded, &e) != OK) return e.text;
    assert_int_equal(encoded.len, key.bytes);
    key_to_json(buf_slice(&encoded), &text);
    return text_of(&text);
}

static void every_kind_of_part_can_be_built(void **state)
{
    tupled_key_init(&key);
    tupled_key_add_string(&key, "users\0x", 7);
    tupled_key_add_bytes(&key, "\0\xff", 2);
    tupled_key_add_number(&key, 1.5);
    tupled_key_add_int(&key, -42);
    tupled_key_add_bool(&key, 1);
    tupled_key_add_bool(&key, 0);
    tupled_key_add_bigint(&key, INT64_MIN);
    tupled_key_add_bigint(&key, 0);
    tupled_key_add_bigint_text(&key, "-340282366920938463463374607431768211456");
    tupled_key_add_bigint_text(&key, "-000");
    assert_string_equal("[\"users\\u0000x\",{\"$bytes\":\"AP8=\"},1.5,-42,true,false,"
                        "{\"$bigint\":\"-9223372036854775808\"},{\"$bigint\":\"0\"},"
                        "{\"$bigint\":\"-340282366920938463463374607431768211456\"},"
                        "{\"$bigint\":\"0\"}]",
                        as_json());
}

static void the_first_error_stays(void **state)
{
    tupled_key_init(&key);
    assert_string_equal("a key must have at least one part", as_json());
    tupled_key_init(&key);
    tupled_key_add_string(&key, "\xff", 1);
    tupled_key_add_int(&key, INT64_MAX);
    assert_string_equal("string in a key is not UTF-8", as_json());
    tupled_key_init(&key);
    tupled_key_add_int(&key, TUPLED_INTEGER_MAX);
    tupled_key_add_int(&key, TUPLED_INTEGER_MAX + 1);
    assert_string_equal("integer in a key is beyond +-(2^53-1), use a bigint", as_json());
    static const char *const bad[] = {"", "-", "1x", " 1", "+1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        tupled_key_init(&key);
        tupled_key_add_bigint_text(&key, bad[i]);
        assert_int_equal(TUPLED_KEY_BAD_BIGINT, key.status);
    }
    tupled_key_init(&key);
    for (int i = 0; i <= TUPLED_KEY_PARTS_MAX; i++) tupled_key_add_bool(&key, 1);
    assert_string_equal("key has more than 64 parts", as_json());
}

static void the_limits_are_those_of_the_server(void **state)
{
    static char big[TUPLED_KEY_BYTES_MAX + 1];
    memset(big, 'a', sizeof big);
    for (size_t n = 2040; n <= sizeof big; n++) {
        tupled_key_init(&key);
        tupled_key_add_string(&key, big, n);
        assert_int_equal(n <= 2046 ? TUPLED_OK : TUPLED_KEY_TOO_LONG, key.status);
        if (n <= 2046) assert_int_equal('[', as_json()[0]);
    }
    memset(big, 0, sizeof big);
    for (size_t n = 1000; n <= 1100; n++) {
        tupled_key_init(&key);
        tupled_key_add_bytes(&key, big, n);
        assert_int_equal(n <= 1023 ? TUPLED_OK : TUPLED_KEY_TOO_LONG, key.status);
    }
    tupled_key_init(&key); /* the form with the most overhead: 64 parts of 32 stored bytes */
    for (int i = 0; i < 64; i++) tupled_key_add_string(&key, "012345678901234567890123456789", 30);
    assert_int_equal('[', as_json()[0]);
    assert_int_equal(2048, key.bytes);
}

static void what_the_server_returns_can_be_read(void **state)
{
    static const char json[] =
        "[\"a\\u0000\",{\"$bytes\":\"AP8=\"},1.5,-42,300,9007199254740991,true,"
        "{\"$bigint\":\"-128\"},{\"$bigint\":\"18446744073709551616\"},"
        "0.1,\"0123456789012345678901234567890123456789\"]";
    struct buf packed = {0};
    encoded.len = 0;
    assert_int_equal(OK, key_from_json(slice_str(json), false, NULL, &encoded, &e));
    key_to_msgpack(buf_slice(&encoded), &packed);
    struct tupled_key_reader reader;
    struct tupled_key_part part;
    char digits[TUPLED_BIGINT_TEXT_BYTES];
    int64_t i = 0;
    tupled_key_read(&reader, packed.data, packed.len);
    assert_int_equal(11, reader.left);
    assert_true(tupled_key_next(&reader, &part) && part.type == TUPLED_PART_STRING);
    assert_int_equal(2, part.len);
    assert_memory_equal("a\0", part.bytes, 2);
    assert_true(tupled_key_next(&reader, &part) && part.type == TUPLED_PART_BYTES);
    assert_memory_equal("\0\xff", part.bytes, 2);
    static const double numbers[] = {1.5, -42, 300, 9007199254740991};
    for (size_t n = 0; n < 4; n++) {
        assert_true(tupled_key_next(&reader, &part) && part.type == TUPLED_PART_NUMBER);
        assert_true(part.number == numbers[n]);
    }
    assert_true(tupled_key_next(&reader, &part) && part.type == TUPLED_PART_BOOL && part.boolean);
    assert_true(tupled_key_next(&reader, &part) && tupled_part_int64(&part, &i));
    assert_int_equal(-128, i);
    assert_true(tupled_part_digits(&part, digits));
    assert_string_equal("-128", digits);
    assert_true(tupled_key_next(&reader, &part) && part.type == TUPLED_PART_BIGINT);
    assert_false(tupled_part_int64(&part, &i));
    assert_true(tupled_part_digits(&part, digits));
    assert_string_equal("18446744073709551616", digits);
    assert_true(tupled_key_next(&reader, &part) && part.number == 0.1);
    assert_true(tupled_key_next(&reader, &part) && part.len == 40);
    assert_false(tupled_key_next(&reader, &part));
    assert_int_equal(TUPLED_OK, reader.status);
    for (size_t cut = 0; cut < packed.len;
         cut++) { /* never beyond the end: the sanitizer watches */
        uint8_t *exact = malloc(cut + 1);
        memcpy(exact, packed.data, cut);
        tupled_key_read(&reader, exact, cut);
        while (tupled_key_next(&reader, &part)) continue;
        assert_int_equal(TUPLED_KEY_DAMAGED, reader.status);
        free(exact);
    }
    buf_fini(&packed);
}

static void bigints_survive_the_way_there_and_back(void **state)
{
    char digits[TUPLED_BIGINT_TEXT_BYTES], want[TUPLED_BIGINT_TEXT_BYTES];
    for (int round = 0; round < 3000; round++) {
        size_t n = 0, count = 1 + random_below(613);
        if (random_below(2) == 0) want[n++] = '-';
        want[n++] = (char)('1' + random_below(9));
        while (n < count) want[n++] = (char)('0' + random_below(10));
        want[n] = '\0';
        size_t len = 0;
        tupled_key_init(&key);
        tupled_key_add_bigint_text(&key, want);
        const void *arg = tupled_key_finish(&key, &len);
        assert_non_null(arg);
        struct buf packed = {0};
        encoded.len = 0;
        assert_int_equal(OK, key_from_arg(slice_of(arg, len), false, NULL, &encoded, &e));
        assert_int_equal(key.bytes, encoded.len);
        key_to_msgpack(buf_slice(&encoded), &packed);
        struct tupled_key_reader reader;
        struct tupled_key_part part;
        tupled_key_read(&reader, packed.data, packed.len);
        assert_true(tupled_key_next(&reader, &part) && tupled_part_digits(&part, digits));
        assert_string_equal(want, digits);
        buf_fini(&packed);
    }
}

static void an_error_is_told_by_its_first_word(void **state)
{
    static const struct {
        const char *text, *code;
        int is;
    } rows[] = {
        {"WRONGTYPE value is a number", TUPLED_WRONGTYPE, 1},
        {"WRONGTYPE", TUPLED_WRONGTYPE, 1},
        {"WRONGTYPES x", TUPLED_WRONGTYPE, 0},
        {"WRONGTYP", TUPLED_WRONGTYPE, 0},
        {"ERR WRONGTYPE", TUPLED_WRONGTYPE, 0},
        {"ERR no", TUPLED_ERR, 1},
        {"", TUPLED_ERR, 0},
        {"ERR no", "", 0},
        {"EXECABORT command 2 kv.sum: LIMIT value", TUPLED_LIMIT, 1},
        {"EXECABORT command 2 kv.sum: LIMIT value", TUPLED_EXECABORT, 1},
        {"EXECABORT command 2 kv.sum: LIMIT value", TUPLED_ERR, 0},
        {"EXECABORT command 2 kv.sum:", TUPLED_ERR, 0},
        {"EXECABORT Transaction discarded: LIMIT", TUPLED_LIMIT, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int is = tupled_error_is(rows[i].text, strlen(rows[i].text), rows[i].code);
        if (is != rows[i].is) fail_msg("%s, %s: %d", rows[i].text, rows[i].code, is);
    }
}

/* What the server can send, the header has. */
static void every_code_of_the_server_has_a_row(void **state)
{
    for (int i = OK + 1; i < ERR_COUNT; i++) {
        const struct error_code *c = error_codes;
        while (c->word != NULL && strcmp(c->word, err_prefix((enum err)i)) != 0) c++;
        if (c->word == NULL) fail_msg("ERROR_CODES has no %s", err_prefix((enum err)i));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_error_is_told_by_its_first_word),
        cmocka_unit_test(every_code_of_the_server_has_a_row),
        cmocka_unit_test(every_kind_of_part_can_be_built),
        cmocka_unit_test(the_first_error_stays),
        cmocka_unit_test(the_limits_are_those_of_the_server),
        cmocka_unit_test(what_the_server_returns_can_be_read),
        cmocka_unit_test(bigints_survive_the_way_there_and_back),
    };
    random_seed();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    buf_fini(&encoded);
    buf_fini(&text);
    return failed;
}
