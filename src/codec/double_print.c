/* double_print: Schubfach, the way of Raffaello Giulietti ("The Schubfach way to render doubles").
 *
 * The double is c * 2^q, and reads back from whatever is between half a step below and half a step
 * above it. In units of 10^k, with the largest k for which a unit is no longer than a step, at
 * least one integer and at most about ten are between those: so the answer is an integer of units,
 * or a multiple of ten units. Both have two candidates, the neighbours of c * 2^q, and no other is
 * looked at: "Schubfach" is German for pigeonhole, whose principle this is.
 *
 *   17.3 is 4869517097094349 * 2^-48; a step is 3.55e-15, so k is -15.
 *   In units of 10^-15: 17300000000000000.71, from 17299999999999998.93 to 17300000000000002.48.
 *   Multiples of ten next to it: 17300000000000000, inside, and 17300000000000010, outside.
 *   The answer is 17300000000000000 * 10^-15, without its zeros 173 * 10^-1.
 *
 * The three numbers are kept in quarters of a unit, rounded to odd: rounded down, and then made odd
 * if anything was lost. So they compare with integers of units, and with the middle between two, as
 * the exact numbers would.
 */
#include "codec/double_print.h"

#include <stdbool.h>
#include <string.h>

#include "codec/powers.h"

#define FRACTION_BITS 52
#define FRACTION_MASK ((UINT64_C(1) << FRACTION_BITS) - 1)
#define EXPONENT_LEAST (-1074) /* of the last bit of the smallest double */

/* The logarithm of 2^q to base 10, rounded down; with `is_uneven` that of 2^q * 3/4, which is how
 * far apart the ends are when the step below is half of that above. */
static int log10_of_step(int q, bool is_uneven)
{
    return (q * 1262611 - (is_uneven ? 524031 : 0)) >> 22; /* 1262611 / 2^22 = 0.301029.. */
}

/* n * g / 2^128, rounded to odd. The power is too large by less than 1, so the product is by less
 * than n: a fraction below n is what an integer has. Nothing else has: n is below 2^60, so that is
 * 2^-68, and none of these products is nearer than 2^-66 to an integer without being one
 * (tests/unit/codec/test_powers.c). */
static uint64_t scale(struct power g, uint64_t n)
{
    unsigned __int128 low = (unsigned __int128)g.low * n;
    unsigned __int128 high = (unsigned __int128)g.high * n + (uint64_t)(low >> 64);
    bool has_fraction = (uint64_t)high > 0 || (uint64_t)low >= n;
    return (uint64_t)(high >> 64) | has_fraction;
}

/* 17300000000000000 * 10^-15 -> 173 * 10^-1. */
static struct decimal without_zeros(uint64_t digits, int exponent)
{
    if (digits % 100000000 == 0) {
        digits /= 100000000;
        exponent += 8;
    }
    while (digits % 100 == 0) {
        digits /= 100;
        exponent += 2;
    }
    if (digits % 10 == 0) {
        digits /= 10;
        exponent++;
    }
    return (struct decimal){.digits = digits, .exponent = exponent};
}

/* In quarters of a unit of 10^k. */
struct bounds {
    uint64_t low, middle, high;
    uint64_t is_open; /* 1: the ends themselves read back as the neighbours */
};

static struct bounds bounds_of(uint64_t c, int q, int k, bool is_uneven)
{
    struct power g = power_of_ten(-k);
    int shift = q + power_log2(-k) + 1;
    return (struct bounds){.low = scale(g, (4 * c - (is_uneven ? 1 : 2)) << shift),
                           .middle = scale(g, (4 * c) << shift),
                           .high = scale(g, (4 * c + 2) << shift),
                           .is_open = c & 1};
}

/* Of n and n + step, in units, the one that is between the ends; 0 when both are, or none. */
static uint64_t only_one(const struct bounds *b, uint64_t n, uint64_t step)
{
    bool is_first = b->low + b->is_open <= 4 * n;
    bool is_second = 4 * (n + step) + b->is_open <= b->high;
    if (is_first == is_second) return 0;
    return is_first ? n : n + step;
}

/* Of n and n + 1 the nearer. */
static uint64_t nearest(const struct bounds *b, uint64_t n)
{
    uint64_t between = 4 * n + 2;
    if (b->middle != between) return b->middle < between ? n : n + 1;
    return n + (n & 1);
}

struct decimal double_shortest(double d)
{
    uint64_t bits;
    memcpy(&bits, &d, sizeof bits);
    uint64_t c = bits & FRACTION_MASK;
    int q = EXPONENT_LEAST;
    int exponent = (int)(bits >> FRACTION_BITS);
    bool is_uneven = c == 0 && exponent > 1; /* of the doubles below, the steps are half as long */
    if (exponent > 0) {
        c |= FRACTION_MASK + 1;
        q += exponent - 1;
    }
    int k = log10_of_step(q, is_uneven);
    struct bounds b = bounds_of(c, q, k, is_uneven);
    uint64_t n = b.middle / 4;
    if (n >= 10) {
        uint64_t tens = only_one(&b, n / 10 * 10, 10);
        if (tens != 0) return without_zeros(tens, k);
    }
    uint64_t one = only_one(&b, n, 1);
    return without_zeros(one != 0 ? one : nearest(&b, n), k);
}
