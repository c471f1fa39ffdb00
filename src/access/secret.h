/* secret: passwords. Kept as SHA-256 (FIPS 180-4), in hexadecimal digits where they are told;
 * always compared in constant time.
 */
#ifndef ACCESS_SECRET_H
#define ACCESS_SECRET_H

#include "base/slice.h"

#define SECRET_BYTES 32
#define SECRET_HEX_BYTES (2 * SECRET_BYTES)

struct secret {
    uint8_t bytes[SECRET_BYTES];
};

void secret_hash(struct slice password, struct secret *out);
/* Of 64 lower-case hexadecimal digits; false: it is something else. */
bool secret_from_hex(struct slice hex, struct secret *out);
void secret_to_hex(const struct secret *s, char out[SECRET_HEX_BYTES + 1]);
/* In constant time. */
bool secret_eq(const struct secret *a, const struct secret *b);
/* Digits of `bits` random bits, rounded up to 4: (bits + 3) / 4 of them, and a NUL. */
void secret_generate(unsigned bits, char *out);

#endif
