/* Tests of HyperLogLogs: the bytes and estimates that a real Redis 7 gave, and bytes of any kind.
 */
#include "codec_test.h"

#include "base/bytes.h"
#include "codec/hyperloglog.h"

#define ROOM (HYPERLOGLOG_HEAD_BYTES + 2 * HYPERLOGLOG_REGISTERS)

static uint8_t room[ROOM];
static struct hyperloglog h;
static uint8_t registers[HYPERLOGLOG_REGISTERS];

static struct slice bytes_of(const struct hyperloglog *x)
{
    return slice_of(x->data, x->len);
}

static void begin(void)
{
    assert_true(hyperloglog_begin(&h, room, slice_of(NULL, 0)));
}

static bool add(const char *element)
{
    struct slice s = slice_str(element);
    bool is_changed = false;
    assert_true(hyperloglog_add(&h, &s, 1, &is_changed));
    return is_changed;
}

/* <head><from> ... <head><upto - 1>, some at a time. */
static void add_numbers(const char *head, size_t from, size_t upto, size_t at_once)
{
    char text[100][32];
    struct slice elements[100];
    for (size_t i = from; i < upto; i += at_once) {
        size_t count = upto - i < at_once ? upto - i : at_once;
        bool is_changed = false;
        for (size_t k = 0; k < count; k++) {
            elements[k] = slice_of(text[k], (size_t)sprintf(text[k], "%s%zu", head, i + k));
        }
        assert_true(hyperloglog_add(&h, elements, count, &is_changed));
    }
}

static uint64_t fnv(struct slice s)
{
    uint64_t x = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < s.len; i++) x = (x ^ s.data[i]) * UINT64_C(0x100000001b3);
    return x;
}

static uint64_t sum_of(const struct hyperloglog *x)
{
    return fnv(slice_of(x->data + HYPERLOGLOG_HEAD_BYTES, x->len - HYPERLOGLOG_HEAD_BYTES));
}

static bool estimate_of(struct slice bytes, uint64_t *out)
{
    memset(registers, 0, sizeof registers);
    if (!hyperloglog_merge(registers, bytes)) return false;
    *out = hyperloglog_estimate(registers);
    return true;
}

static uint64_t estimate(void)
{
    uint64_t n = 0;
    assert_true(estimate_of(bytes_of(&h), &n));
    return n;
}

static const char *hex(void)
{
    static char text[1000];
    text[0] = '\0';
    for (size_t i = 0; i < h.len; i++) sprintf(text + 2 * i, "%02x", h.data[i]);
    return text;
}

static void a_new_one_has_the_bytes_of_redis(void **state)
{
    begin();
    assert_string_equal("48594c4c0100000000000000000000007fff", hex());
    hyperloglog_forget(&h);
    assert_string_equal("48594c4c0100000000000000000000807fff", hex());
    assert_int_equal(0, estimate());
}

static void small_ones_have_the_bytes_of_redis(void **state)
{
    begin();
    assert_true(add("x"));
    assert_false(add("x"));
    assert_string_equal("48594c4c0100000000000000000000007ff58408", hex());
    begin();
    add("");
    for (char c = 'a'; c <= 'z'; c++) add((const char[]){c, '\0'});
    add("abcdefgh");
    add("abcdefghi");
    assert_string_equal("48594c4c01000000000000000000000044458c411f8041058040898846e89441758440ec"
                        "840e8040c48444909441808442e48040dd80418380443c843880408f8041ac8047d18043"
                        "b08042ed8441fc8c43938443188840df80426d8041d080407e8408",
                        hex());
    assert_int_equal(28, estimate());
}

static const struct {
    size_t elements, len, estimate;
    uint64_t sum;
} of_redis[] = {
    {1, 21, 1, 0x82673b491f12448d},
    {100, 285, 99, 0x5e1fa99a223efc4a},
    {1000, 1897, 997, 0xb41520daf438aeef},
    {1500, 2722, 1500, 0xc1d28c72c1dedade},
    {1700, 12304, 1706, 0x9284669e51ce5224},
    {5000, 12304, 5005, 0xe713bbcef57f9201},
    {100000, 12304, 100039, 0x12deb2ba6a83edee},
};

static void growing_ones_have_the_bytes_of_redis(void **state)
{
    static const size_t at_once[] = {1, 7, 100};
    for (size_t k = 0; k < 3; k++) {
        size_t from = 0;
        begin();
        for (size_t i = 0; i < sizeof of_redis / sizeof of_redis[0]; i++) {
            add_numbers("element:", from, of_redis[i].elements, at_once[k]);
            from = of_redis[i].elements;
            assert_int_equal(of_redis[i].len, h.len);
            assert_int_equal(of_redis[i].sum, sum_of(&h));
            assert_int_equal(of_redis[i].estimate, estimate());
            assert_true(hyperloglog_is(bytes_of(&h)));
        }
        assert_true(hyperloglog_is_dense(bytes_of(&h)));
    }
}

static void a_sparse_one_becomes_dense_before_it_is_too_long(void **state)
{
    size_t last = 0;
    begin();
    for (size_t i = 0; !hyperloglog_is_dense(bytes_of(&h)); i++) {
        last = h.len;
        add_numbers("element:", i, i + 1, 1);
        assert_true(h.len <= HYPERLOGLOG_SPARSE_BYTES_MAX || h.len == HYPERLOGLOG_DENSE_BYTES);
    }
    assert_in_range(last, HYPERLOGLOG_SPARSE_BYTES_MAX - 2, HYPERLOGLOG_SPARSE_BYTES_MAX);
}

static void merged_ones_have_the_bytes_of_redis(void **state)
{
    uint8_t all[HYPERLOGLOG_REGISTERS] = {0};
    for (const char *head = "a"; head != NULL; head = head[0] == 'a' ? "b" : NULL) {
        begin();
        add_numbers(head, 0, 700, 1);
        assert_true(hyperloglog_merge(all, bytes_of(&h)));
    }
    begin();
    assert_true(hyperloglog_raise(&h, all, false));
    assert_int_equal(2542, h.len);
    assert_int_equal(0xe96a4103ec9966ff, sum_of(&h));
    assert_int_equal(1406, estimate());
    begin();
    add_numbers("c", 0, 700, 1);
    assert_true(hyperloglog_merge(all, bytes_of(&h)));
    begin();
    assert_true(hyperloglog_raise(&h, all, false));
    assert_int_equal(0x1122262bdc3ee450, sum_of(&h));
    assert_int_equal(2105, estimate());
}

static void what_is_to_be_dense_is_dense(void **state)
{
    begin();
    add("x");
    memset(registers, 0, sizeof registers);
    assert_true(hyperloglog_raise(&h, registers, true));
    assert_int_equal(HYPERLOGLOG_DENSE_BYTES, h.len);
    assert_int_equal(1, estimate());
    memset(registers, 0, sizeof registers);
    registers[HYPERLOGLOG_REGISTERS - 1] = 51;
    assert_true(hyperloglog_raise(&h, registers, true));
    assert_int_equal(2, estimate());
    assert_int_equal(51, registers[HYPERLOGLOG_REGISTERS - 1]);
}

static void the_estimate_that_is_kept_is_good_until_registers_change(void **state)
{
    uint64_t n = 1;
    begin();
    assert_true(hyperloglog_kept(bytes_of(&h), &n));
    assert_int_equal(0, n);
    hyperloglog_keep(&h, 28);
    assert_true(hyperloglog_kept(bytes_of(&h), &n));
    assert_int_equal(28, n);
    hyperloglog_forget(&h);
    assert_false(hyperloglog_kept(bytes_of(&h), &n));
}

static void registers_that_no_hash_gives_are_counted(void **state)
{
    static const uint8_t ranks[] = {63, 51, 50};
    for (size_t i = 0; i < sizeof ranks; i++) {
        memset(registers, ranks[i], sizeof registers);
        assert_true(hyperloglog_estimate(registers) == UINT64_C(1) << 63);
    }
}

#define HEAD "HYLL\1\0\0\0\0\0\0\0\0\0\0\0"

static void bytes_that_are_none_are_told_from_damaged_ones(void **state)
{
    static const char *const sparse[] = {"", "\x7f", "\x7f\xfe", "\x7f\xff\x01", "\x7f\xff\x80"};
    uint64_t n = 0;
    assert_false(hyperloglog_is(slice_of(NULL, 0)));
    assert_false(hyperloglog_is(slice_of(HEAD, 15)));
    assert_false(hyperloglog_is(slice_of("HYLM\1\0\0\0\0\0\0\0\0\0\0\0", 16)));
    assert_false(hyperloglog_is(slice_of("HYLL\2\0\0\0\0\0\0\0\0\0\0\0", 16)));
    assert_false(hyperloglog_is(slice_of("HYLL\0\0\0\0\0\0\0\0\0\0\0\0", 16)));
    assert_true(hyperloglog_is(slice_of(HEAD, 16)));
    for (size_t i = 0; i < sizeof sparse / sizeof sparse[0]; i++) {
        uint8_t bytes[32] = HEAD;
        memcpy(bytes + 16, sparse[i], strlen(sparse[i]));
        assert_false(estimate_of(slice_of(bytes, 16 + strlen(sparse[i])), &n));
    }
    assert_false(hyperloglog_begin(&h, room, slice_of(room, ROOM + 1)));
}

/* Under the address sanitizer: copies in memory of just their size. */
static void random_bytes_are_read_within_their_length(void **state)
{
    random_seed();
    for (size_t i = 0; i < 20000; i++) {
        size_t len = i % 4 == 0 ? random_below(16) : random_below(4000);
        uint8_t *bytes = malloc(16 + len);
        memcpy(bytes, HEAD, 16);
        for (size_t k = 0; k < len; k++) {
            bytes[16 + k] = (uint8_t)(random_u64() | (random_below(3) == 0 ? 0x80 : 0));
        }
        struct slice s = slice_of(bytes, 16 + len);
        uint8_t *own = malloc(hyperloglog_room(s));
        uint64_t n = 0;
        bool is_good = estimate_of(s, &n);
        struct slice element = slice_of(&i, sizeof i);
        bool is_changed = false;
        assert_true(hyperloglog_begin(&h, own, s));
        bool is_added = hyperloglog_add(&h, &element, 1, &is_changed);
        if (is_good) assert_true(is_added);
        if (is_good) assert_true(estimate() >= n);
        assert_true(h.len <= hyperloglog_room(s));
        free(own);
        free(bytes);
    }
}

/* Valid runs of every kind, also those that are never written. */
static size_t random_runs(uint8_t *to)
{
    size_t len = 0;
    uint32_t left = HYPERLOGLOG_REGISTERS;
    while (left > 0) {
        uint32_t run = (uint32_t)random_below(random_below(2) == 0 ? 5 : 600) + 1;
        if (run > left) run = left;
        left -= run;
        if (run <= 4 && random_below(3) > 0) {
            to[len++] = (uint8_t)(0x80 | random_below(32) << 2 | (run - 1));
        } else if (run <= 64 && random_below(2) == 0) {
            to[len++] = (uint8_t)(run - 1);
        } else {
            to[len++] = (uint8_t)(0x40 | (run - 1) >> 8);
            to[len++] = (uint8_t)(run - 1);
        }
    }
    return len;
}

static void random_runs_and_registers_agree(void **state)
{
    uint8_t bytes[ROOM] = HEAD;
    uint8_t expected[HYPERLOGLOG_REGISTERS];
    for (size_t i = 0; i < 300; i++) {
        size_t len = 16 + random_runs(bytes + 16);
        uint8_t *own = malloc(hyperloglog_room(slice_of(bytes, len)));
        memset(expected, 0, sizeof expected);
        assert_true(hyperloglog_begin(&h, own, slice_of(bytes, len)));
        assert_true(hyperloglog_merge(expected, bytes_of(&h)));
        for (size_t k = 0; k < 200; k++) {
            uint32_t at = (uint32_t)random_below(HYPERLOGLOG_REGISTERS);
            uint8_t rank = (uint8_t)(1 + random_below(k == 199 && i % 2 == 0 ? 51 : 32));
            memset(registers, 0, sizeof registers);
            registers[at] = rank;
            if (rank > expected[at]) expected[at] = rank;
            assert_true(hyperloglog_raise(&h, registers, false));
        }
        memset(registers, 0, sizeof registers);
        assert_true(hyperloglog_merge(registers, bytes_of(&h)));
        assert_memory_equal(expected, registers, sizeof registers);
        free(own);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_one_has_the_bytes_of_redis),
        cmocka_unit_test(small_ones_have_the_bytes_of_redis),
        cmocka_unit_test(growing_ones_have_the_bytes_of_redis),
        cmocka_unit_test(a_sparse_one_becomes_dense_before_it_is_too_long),
        cmocka_unit_test(merged_ones_have_the_bytes_of_redis),
        cmocka_unit_test(what_is_to_be_dense_is_dense),
        cmocka_unit_test(the_estimate_that_is_kept_is_good_until_registers_change),
        cmocka_unit_test(registers_that_no_hash_gives_are_counted),
        cmocka_unit_test(bytes_that_are_none_are_told_from_damaged_ones),
        cmocka_unit_test(random_bytes_are_read_within_their_length),
        cmocka_unit_test(random_runs_and_registers_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
