/* powers: every entry of the table is worked out again, exactly, with integers of any size.
 *
 *   test_powers print     writes src/codec/powers.c (clang-format lays it out)
 */
#include "codec_test.h"

#include <string.h>

#include "codec/powers.h"

/* 2^1280, which is divided by 5^342 (795 bits), keeps 486 bits; 5^324 has 753. */
#define WORDS 20
#define BITS (WORDS * 64)

/* Words from the lowest up. */
struct number {
    uint64_t words[WORDS];
};

static void multiply_by_five(struct number *n)
{
    unsigned __int128 carry = 0;
    for (size_t i = 0; i < WORDS; i++) {
        carry += (unsigned __int128)n->words[i] * 5;
        n->words[i] = (uint64_t)carry;
        carry >>= 64;
    }
    assert_true(carry == 0);
}

/* Rounds down. Dividing so again and again is dividing once by the power, rounded down. */
static void divide_by_five(struct number *n)
{
    unsigned __int128 rest = 0;
    for (size_t i = WORDS; i-- > 0;) {
        rest = rest << 64 | n->words[i];
        n->words[i] = (uint64_t)(rest / 5);
        rest %= 5;
    }
}

static bool bit_at(const struct number *n, int at)
{
    return at >= 0 && (n->words[at / 64] >> (at % 64) & 1) != 0;
}

static int bit_length(const struct number *n)
{
    int bits = BITS;
    while (!bit_at(n, bits - 1)) bits--;
    return bits;
}

/* The highest 128 bits, rounded up unless all others are zero and nothing was cut before. */
static struct power head_of(const struct number *n, bool was_cut)
{
    struct power head = {0};
    int bits = bit_length(n);
    for (int i = 1; i <= 128; i++) {
        head.high = head.high << 1 | head.low >> 63;
        head.low = head.low << 1 | bit_at(n, bits - i);
    }
    for (int i = 129; i <= bits; i++) was_cut = was_cut || bit_at(n, bits - i);
    if (was_cut && ++head.low == 0) head.high++;
    return head;
}

/* 10^n = 5^n * 2^n. Calls `f` for each n of the table, in the order from 10^0 outwards. */
static void each_power(void (*f)(int n, struct power exact, int log2))
{
    struct number up = {.words = {1}}, down = {.words = {0}};
    for (int n = 0; n <= POWER_MAX; n++) {
        if (n > 0) multiply_by_five(&up);
        f(n, head_of(&up, false), bit_length(&up) - 1 + n);
    }
    down.words[WORDS - 1] = UINT64_C(1) << 63; /* 2^(BITS - 1) */
    for (int n = -1; n >= POWER_MIN; n--) {
        divide_by_five(&down);
        f(n, head_of(&down, true), bit_length(&down) - 1 - (BITS - 1) + n);
    }
}

static void check_entry(int n, struct power exact, int log2)
{
    struct power p = power_of_ten(n);
    assert_int_equal(exact.high, p.high);
    assert_int_equal(exact.low, p.low);
    assert_true(p.high >> 63 == 1);
    assert_int_equal(log2, power_log2(n));
}

static void every_entry_is_the_power_of_ten_to_its_last_bit(void **state)
{
    each_power(check_entry);
}

static bool are_exact[POWER_MAX - POWER_MIN + 1];

/* Exact when the power, whose lowest bit is one, has at most 128 bits. */
static void note_exact(int n, struct power exact, int log2)
{
    are_exact[n - POWER_MIN] = n >= 0 && log2 - n < 128;
}

static void the_powers_said_to_be_exact_are(void **state)
{
    each_power(note_exact);
    for (int n = POWER_MIN; n <= POWER_MAX; n++) {
        assert_int_equal(are_exact[n - POWER_MIN], power_is_exact(n));
    }
}

/* ---- how near to an integer ------------------------------------------------------------------
 */

/* n * 2^shift; the bits that leave are zero. */
static struct number shifted(const struct number *n, int shift)
{
    struct number out = {.words = {0}};
    for (int at = 0; at < BITS - shift; at++) {
        if (bit_at(n, at)) out.words[(at + shift) / 64] |= UINT64_C(1) << ((at + shift) % 64);
    }
    return out;
}

static int compare(const struct number *a, const struct number *b)
{
    for (size_t i = WORDS; i-- > 0;) {
        if (a->words[i] != b->words[i]) return a->words[i] < b->words[i] ? -1 : 1;
    }
    return 0;
}

static void subtract(struct number *a, const struct number *b)
{
    unsigned borrow = 0;
    for (size_t i = 0; i < WORDS; i++) {
        unsigned __int128 more = (unsigned __int128)b->words[i] + borrow;
        borrow = a->words[i] < more;
        a->words[i] -= (uint64_t)more;
    }
}

static bool is_zero(const struct number *n)
{
    return compare(n, &(struct number){.words = {0}}) == 0;
}

/* a / b, which has less than 64 bits; the rest stays in a. */
static uint64_t divide(struct number *a, const struct number *b)
{
    uint64_t quotient = 0;
    int shift = is_zero(a) ? -1 : bit_length(a) - bit_length(b);
    for (; shift >= 0; shift--) {
        struct number part = shifted(b, shift);
        if (compare(a, &part) < 0) continue;
        assert_true(shift < 64);
        subtract(a, &part);
        quotient |= UINT64_C(1) << shift;
    }
    return quotient;
}

/* Euclid's algorithm of a and b is the continued fraction of a / b. After each of its divisions the
 * rest r and the denominator m of what has come so far say: m * a / b is r / b from an integer, and
 * nothing below the next denominator times a / b is nearer to one. */
static void check_distance(struct number a, struct number b, uint64_t times_max)
{
    struct number whole = b;
    uint64_t before = 0, times = 1;
    (void)divide(&a, &b);
    while (!is_zero(&a)) {
        struct number far = shifted(&a, 66);
        assert_true(compare(&far, &whole) > 0);
        struct number next = b;
        uint64_t quotient = divide(&next, &a);
        b = a;
        a = next;
        unsigned __int128 sum = (unsigned __int128)quotient * times + before;
        if (sum > times_max) return;
        before = times;
        times = (uint64_t)sum;
    }
}

/* 5^n */
static struct number five_to(int n)
{
    struct number five = {.words = {1}};
    for (int i = 0; i < n; i++) multiply_by_five(&five);
    return five;
}

/* What double_print.c multiplies: c * 2^q in quarters of 10^k, where 2^q or 3/4 * 2^q is between
 * 10^k and 10^(k + 1). */
static void products_are_integers_or_far_from_one(void **state)
{
    const uint64_t times_max = (UINT64_C(1) << 55) + 2;
    for (int q = -1074; q <= 971; q++) {
        int highest = -330;
        while (power_log2(highest + 1) + (highest + 1 != 0) <= q) highest++;
        for (int k = highest - 1; k <= highest; k++) {
            struct number five = five_to(abs(k)), one = five_to(0);
            struct number a = k < 0 ? five : one, b = k < 0 ? one : five;
            if (q > k) a = shifted(&a, q - k);
            if (q < k) b = shifted(&b, k - q);
            check_distance(a, b, times_max);
        }
    }
}

/* ---- printing the file -----------------------------------------------------------------------
 */

static struct power entries[POWER_MAX - POWER_MIN + 1];

static void note_entry(int n, struct power exact, int log2)
{
    entries[n - POWER_MIN] = exact;
}

static int print(void)
{
    each_power(note_entry);
    puts("/* powers: the table. Printed by tests/unit/codec/test_powers.c; see there. */\n"
         "#include \"codec/powers.h\"\n\n"
         "const struct power powers_of_ten[POWER_MAX - POWER_MIN + 1] = {");
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        printf("{0x%016llx, 0x%016llx},\n", (unsigned long long)entries[i].high,
               (unsigned long long)entries[i].low);
    }
    puts("};");
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "print") == 0) return print();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_entry_is_the_power_of_ten_to_its_last_bit),
        cmocka_unit_test(the_powers_said_to_be_exact_are),
        cmocka_unit_test(products_are_integers_or_far_from_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
