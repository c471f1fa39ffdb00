/* powers: the powers of ten that printing and parsing of doubles need, as 128-bit binary fractions.
 *
 *   10^n = (high * 2^64 + low) * 2^(power_log2(n) - 127)
 *
 * with the highest bit of `high` set. From 10^0 to 10^55 that is exact (5^55 has 128 bits); all
 * others are rounded up, so what is multiplied by one of them is too large by less than itself.
 * powers.c was printed by tests/unit/codec/test_powers.c, which works out every entry again with
 * integers of any size. A table in the program's constants, rather than one made at its start, is
 * shared by all processes and needs no order among threads.
 */
#ifndef CODEC_POWERS_H
#define CODEC_POWERS_H

#include <stdbool.h>
#include <stdint.h>

#define POWER_MIN (-342)
#define POWER_MAX 324

struct power {
    uint64_t high, low;
};

extern const struct power powers_of_ten[POWER_MAX - POWER_MIN + 1];

static inline struct power power_of_ten(int n)
{
    return powers_of_ten[n - POWER_MIN];
}

static inline bool power_is_exact(int n)
{
    return n >= 0 && n <= 55;
}

/* The logarithm of 10^n to base 2, rounded down; right for all n of the table and beyond. */
static inline int power_log2(int n)
{
    return (n * 1741647) >> 19; /* 1741647 / 2^19 = 3.321928.. */
}

#endif
