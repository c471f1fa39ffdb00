/* number_oracle: how doubles are printed and read, the slow way: printf and strtod, which are exact
 * in the C library, and every length tried. For tests, and for campaigns of bench_numbers.
 */
#ifndef TESTS_NUMBER_ORACLE_H
#define TESTS_NUMBER_ORACLE_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ORACLE_BYTES 64

static inline double oracle_double(uint64_t bits)
{
    double d;
    memcpy(&d, &bits, sizeof d);
    return d;
}

/* The double nearest to the text; of one in `C`'s form. */
static inline bool oracle_reads_as(const char *text, double d)
{
    return strtod(text, NULL) == d;
}

/* 1.23e+05 -> 1.24e+05, with the same number of digits. */
static inline void oracle_step_up(char *text)
{
    char *p = text + strcspn(text, "e");
    while (p > text && (p[-1] == '9' || p[-1] == '.')) {
        p--;
        if (*p == '9') *p = '0';
    }
    if (p > text) p[-1]++;
}

/* The shortest %e form of d > 0 that reads back. The one of so many digits that is nearest to d is
 * the only one to try, but for a power of two: half of the step below it is half of the step
 * above, and the nearest may be too far below where the next above is not. */
static inline void oracle_shortest(double d, char text[ORACLE_BYTES])
{
    int exponent = 0;
    bool is_power_of_two = frexp(d, &exponent) == 0.5;
    /* A double above the smallest has 15 digits of its own; those below are tried with fewer. */
    for (int digits = d < 2.3e-308 ? 1 : 15; digits < 17; digits++) {
        snprintf(text, ORACLE_BYTES, "%.*e", digits - 1, d);
        if (oracle_reads_as(text, d)) return;
        if (!is_power_of_two) continue;
        oracle_step_up(text);
        if (oracle_reads_as(text, d)) return;
    }
    snprintf(text, ORACLE_BYTES, "%.16e", d);
}

/* Digits without zeros at the end; the point is after so many of them. */
static inline int oracle_digits(double d, char digits[ORACLE_BYTES], int *point)
{
    char text[ORACLE_BYTES];
    int n = 0;
    oracle_shortest(d, text);
    for (const char *p = text; *p != 'e'; p++) {
        if (*p != '.') digits[n++] = *p;
    }
    while (n > 1 && digits[n - 1] == '0') n--;
    *point = atoi(strchr(text, 'e') + 1) + 1;
    return n;
}

/* What number_format has to write of a finite double; the text ends with NUL. */
static inline void oracle_format(double d, char out[ORACLE_BYTES])
{
    char digits[ORACLE_BYTES];
    int point = 0;
    bool is_safe = fabs(d) <= 9007199254740991.0 && d == trunc(d) && !(d == 0 && signbit(d));
    if (is_safe) {
        snprintf(out, ORACLE_BYTES, "%.0f", d);
        return;
    }
    if (signbit(d)) *out++ = '-';
    int n = oracle_digits(fabs(d), digits, &point);
    if (point > 21 || point <= -6) {
        int used = snprintf(out, 32, n > 1 ? "%c." : "%c", digits[0]);
        snprintf(out + used, 32, "%.*se%+d", n - 1, digits + 1, point - 1);
    } else if (point <= 0) {
        snprintf(out, 48, "0.%.*s%.*s", -point, "00000", n, digits);
    } else if (point < n) {
        snprintf(out, 48, "%.*s.%.*s", point, digits, n - point, digits + point);
    } else {
        snprintf(out, 48, "%.*s%.*s.0", n, digits, point - n, "00000000000000000000");
    }
}

#endif
