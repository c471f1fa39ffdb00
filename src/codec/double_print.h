/* double_print: the shortest decimal that reads back as a double.
 *
 * A double stands for all numbers that are nearer to it than to its neighbours. Of the decimals
 * among those the one with the fewest digits is taken, and of several such the one nearest to the
 * double; between two that are as near, the one whose last digit is even. That is JavaScript's
 * choice too. No number takes longer than another by much, and nothing depends on the locale.
 */
#ifndef CODEC_DOUBLE_PRINT_H
#define CODEC_DOUBLE_PRINT_H

#include <stdint.h>

struct decimal {
    uint64_t digits; /* at most 17; the last one is not 0 */
    int exponent;    /* the number is digits * 10^exponent */
};

/* Of a finite double above zero. */
struct decimal double_shortest(double d);

#endif
