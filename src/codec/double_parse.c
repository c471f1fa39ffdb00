/* double_parse: the way of Michael Eisel and Daniel Lemire ("Number parsing at a gigabyte per
 * second"), but with the error of the table watched, in place of a proof that it does no harm.
 *
 * The digits, shifted until their highest bit is set, are multiplied by the power of ten of 128
 * bits. The upper word of the product, of 63 or 64 bits, has the 53 of the double and ten more by
 * which it is rounded. The power is exact or too large by less than 1, so the product is exact or
 * too large by less than 2^64, its lowest word: that decides only where all that is cut off looks
 * like exactly one half.
 *
 *   1e23 is 1 * 2^63 times 10^23, which is exact. The upper word of the product is
 *   10101001011010000001011000111111000010100101011110110 10000000000: what is cut off after 53
 *   bits is a half, and the other two words are zero. So it is in the middle, and goes down to the
 *   even double, 9.999999999999999e22.
 */
#include "codec/double_parse.h"

#include <math.h>
#include <string.h>

#include "codec/powers.h"

#define MANTISSA_BITS 53
#define EXPONENT_MIN (-1022)
#define EXPONENT_MAX 1023
#define INFINITY_BITS (UINT64_C(0x7ff) << 52)

/* Beyond these all numbers of 1 to 19 digits are zero (below 2.47e-324, half of the smallest
 * double) or infinite. */
#define TEN_MIN POWER_MIN
#define TEN_MAX 308

/* Times ten to the power, the product of three words from the highest down. */
struct product {
    uint64_t high, middle, low;
    int exponent; /* of the highest bit of all */
};

static struct product product_of(uint64_t digits, int ten)
{
    struct power g = power_of_ten(ten);
    int zeros = __builtin_clzll(digits);
    unsigned __int128 low = (unsigned __int128)g.low * (digits << zeros);
    unsigned __int128 high = (unsigned __int128)g.high * (digits << zeros) + (uint64_t)(low >> 64);
    struct product p = {.high = (uint64_t)(high >> 64), .middle = (uint64_t)high};
    p.low = (uint64_t)low;
    p.exponent = power_log2(ten) + 64 - zeros - __builtin_clzll(p.high);
    return p;
}

static uint64_t odd_part(uint64_t n)
{
    return n >> __builtin_ctzll(n);
}

/* Is digits * 10^ten exactly half * 2^n? It is near, so odd parts that are equal are enough. Below
 * 10^-27 it never is: the digits would be a multiple of 5^28, which they have no room for. */
static bool is_half_exact(uint64_t digits, int ten, uint64_t half)
{
    if (ten >= 0 || ten < -27) return false;
    uint64_t five = odd_part(power_of_ten(-ten).high);
    return odd_part(digits) == (unsigned __int128)odd_part(half) * five;
}

/* How the bits that are cut off compare with one half: -1, 0, 1; 2 when it cannot be told. */
static int compare_half(uint64_t digits, int ten, const struct product *p, int cut)
{
    uint64_t half = UINT64_C(1) << (cut - 1);
    uint64_t rest = cut < 64 ? p->high & (2 * half - 1) : p->high;
    if (rest != half) return rest < half ? -1 : 1;
    if (p->middle != 0) return 1;
    if (power_is_exact(ten)) return p->low != 0;
    return is_half_exact(digits, ten, p->high) ? 0 : 2;
}

/* The bits of the double nearest to digits * 10^ten; false when it cannot be told. */
static bool round_product(uint64_t digits, int ten, uint64_t *bits)
{
    struct product p = product_of(digits, ten);
    int cut = 64 - __builtin_clzll(p.high) - MANTISSA_BITS;
    bool is_normal = p.exponent >= EXPONENT_MIN;
    if (!is_normal) cut += EXPONENT_MIN - p.exponent;
    *bits = p.exponent > EXPONENT_MAX ? INFINITY_BITS : 0;
    if (p.exponent > EXPONENT_MAX || cut > 64) return true;
    int side = compare_half(digits, ten, &p, cut);
    if (side == 2) return false;
    uint64_t mantissa = cut < 64 ? p.high >> cut : 0;
    mantissa += side > 0 || (side == 0 && (mantissa & 1) != 0);
    /* The highest bit of a normal one is added to the exponent, and so is a carry out of it. */
    *bits = mantissa;
    if (is_normal) *bits += (uint64_t)(p.exponent - EXPONENT_MIN) << (MANTISSA_BITS - 1);
    return true;
}

/* Both are exact in a double, so the one rounding is the right one. */
static double small_decimal(uint64_t digits, int ten)
{
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                    1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    return ten < 0 ? (double)digits / powers[-ten] : (double)digits * powers[ten];
}

bool double_from_decimal(uint64_t digits, int64_t exponent, bool is_cut, double *out)
{
    if (digits == 0 || exponent < TEN_MIN) {
        *out = 0;
        return true;
    }
    if (exponent > TEN_MAX) {
        *out = (double)INFINITY;
        return true;
    }
    int ten = (int)exponent;
    if (digits >> MANTISSA_BITS == 0 && ten >= -22 && ten <= 22 && !is_cut) {
        *out = small_decimal(digits, ten);
        return true;
    }
    uint64_t bits = 0, above = 0;
    if (!round_product(digits, ten, &bits)) return false;
    if (is_cut && (!round_product(digits + 1, ten, &above) || above != bits)) return false;
    memcpy(out, &bits, sizeof bits);
    return true;
}
