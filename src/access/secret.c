/* secret: OpenSSL's SHA-256 and comparison, and the hexadecimal form. */
#include "access/secret.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include "base/random.h"

static const char digits[] = "0123456789abcdef";

void secret_hash(struct slice password, struct secret *out)
{
    SHA256(password.data, password.len, out->bytes);
}

static int digit_of(uint8_t c)
{
    if (c >= '0' && c <= '9') return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool secret_from_hex(struct slice hex, struct secret *out)
{
    if (hex.len != SECRET_HEX_BYTES) return false;
    for (size_t i = 0; i < SECRET_BYTES; i++) {
        int high = digit_of(hex.data[2 * i]);
        int low = digit_of(hex.data[2 * i + 1]);
        if (high < 0 || low < 0) return false;
        out->bytes[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

void secret_to_hex(const struct secret *s, char out[SECRET_HEX_BYTES + 1])
{
    for (size_t i = 0; i < SECRET_BYTES; i++) {
        out[2 * i] = digits[s->bytes[i] >> 4];
        out[2 * i + 1] = digits[s->bytes[i] & 15];
    }
    out[SECRET_HEX_BYTES] = '\0';
}

bool secret_eq(const struct secret *a, const struct secret *b)
{
    return CRYPTO_memcmp(a->bytes, b->bytes, SECRET_BYTES) == 0;
}

void secret_generate(unsigned bits, char *out)
{
    size_t count = ((size_t)bits + 3) / 4;
    for (size_t i = 0; i < count; i++) {
        uint8_t byte;
        random_system(&byte, 1);
        out[i] = digits[byte & 15];
    }
    out[count] = '\0';
}
