/* tupled: the public header's keys and error codes. Stands alone, without the rest of the server,
 * so that libtupled.a brings no foreign names into a program. The server's own codec is the judge
 * of it (test_tupled). */
#include "tupled.h"

#include <string.h>

#define HEAD_BYTES 3
#define EXT_BIGINT 0x42

const char *tupled_status_text(enum tupled_status status)
{
    switch (status) {
    case TUPLED_OK: return "no error";
    case TUPLED_KEY_EMPTY: return "a key must have at least one part";
    case TUPLED_KEY_TOO_LONG: return "key is larger than 2048 bytes";
    case TUPLED_KEY_TOO_MANY_PARTS: return "key has more than 64 parts";
    case TUPLED_KEY_NOT_UTF8: return "string in a key is not UTF-8";
    case TUPLED_KEY_BAD_INTEGER: return "integer in a key is beyond +-(2^53-1), use a bigint";
    case TUPLED_KEY_BAD_BIGINT: return "bigint in a key is not decimal digits of at most 255 bytes";
    case TUPLED_KEY_DAMAGED: return "not a key";
    }
    return "unknown status";
}

static int begins_with(const char *text, size_t len, const char *word)
{
    size_t n = strlen(word);
    return n > 0 && len >= n && memcmp(text, word, n) == 0 && (len == n || text[n] == ' ');
}

int tupled_error_is(const char *text, size_t len, const char *code)
{
    static const char command[] = "EXECABORT command ";
    if (begins_with(text, len, code)) return 1;
    if (len < sizeof command - 1 || memcmp(text, command, sizeof command - 1) != 0) return 0;
    /* EXECABORT command 2 kv.sum: WRONGTYPE ... */
    const char *colon = memchr(text, ':', len);
    if (colon == NULL || (size_t)(text + len - colon) < 2) return 0;
    return begins_with(colon + 2, len - (size_t)(colon + 2 - text), code);
}

void tupled_key_init(struct tupled_key *key)
{
    key->status = TUPLED_OK;
    key->parts = 0;
    key->bytes = 0;
    key->len = HEAD_BYTES;
}

/* Room for one more part of `bytes` stored bytes; NULL when the key takes no more. What is written
 * never exceeds the stored bytes by more than 3 per part, so data is always large enough. */
static unsigned char *add_part(struct tupled_key *key, size_t bytes)
{
    if (key->status != TUPLED_OK) return NULL;
    if (key->parts == TUPLED_KEY_PARTS_MAX) {
        key->status = TUPLED_KEY_TOO_MANY_PARTS;
        return NULL;
    }
    if (bytes > TUPLED_KEY_BYTES_MAX - key->bytes) {
        key->status = TUPLED_KEY_TOO_LONG;
        return NULL;
    }
    key->parts++;
    key->bytes += bytes;
    return key->data + key->len;
}

/* code8 is the head for lengths below 256; code8 + 1 for those below 65536. */
static void add_body(struct tupled_key *key, unsigned code8, const void *bytes, size_t len)
{
    size_t stored = len + 2;
    const unsigned char *zero = bytes, *end = len > 0 ? zero + len : zero;
    if (len > TUPLED_KEY_BYTES_MAX) end = zero; /* too long already */
    while (zero < end && (zero = memchr(zero, 0, (size_t)(end - zero))) != NULL) {
        stored++;
        zero++;
    }
    unsigned char *to = add_part(key, stored);
    if (to == NULL) return;
    if (code8 == 0xd9 && len < 32) {
        *to++ = (unsigned char)(0xa0 | len);
    } else if (len < 256) {
        *to++ = (unsigned char)code8;
        *to++ = (unsigned char)len;
    } else {
        *to++ = (unsigned char)(code8 + 1);
        *to++ = (unsigned char)(len >> 8);
        *to++ = (unsigned char)len;
    }
    if (len > 0) memcpy(to, bytes, len);
    key->len = (size_t)(to - key->data) + len;
}

static int is_utf8(const unsigned char *p, size_t len)
{
    for (size_t i = 0; i < len;) {
        unsigned c = p[i];
        size_t tail = c < 0x80 ? 0 : c < 0xe0 ? 1 : c < 0xf0 ? 2 : 3;
        if ((c >= 0x80 && c < 0xc2) || c > 0xf4 || len - i <= tail) return 0;
        unsigned lo = c == 0xe0 ? 0xa0 : c == 0xf0 ? 0x90 : 0x80;
        unsigned hi = c == 0xed ? 0x9f : c == 0xf4 ? 0x8f : 0xbf;
        for (size_t t = 1; t <= tail; t++, lo = 0x80, hi = 0xbf) {
            if (p[i + t] < lo || p[i + t] > hi) return 0;
        }
        i += tail + 1;
    }
    return 1;
}

void tupled_key_add_string(struct tupled_key *key, const char *utf8, size_t len)
{
    int is_short = len <= TUPLED_KEY_BYTES_MAX; /* longer: too long, whatever it holds */
    if (key->status == TUPLED_OK && is_short && !is_utf8((const unsigned char *)utf8, len)) {
        key->status = TUPLED_KEY_NOT_UTF8;
    }
    add_body(key, 0xd9, utf8, len);
}

void tupled_key_add_bytes(struct tupled_key *key, const void *bytes, size_t len)
{
    add_body(key, 0xc4, bytes, len);
}

void tupled_key_add_number(struct tupled_key *key, double number)
{
    uint64_t bits;
    unsigned char *to = add_part(key, 9);
    if (to == NULL) return;
    memcpy(&bits, &number, 8);
    *to = 0xcb;
    for (int i = 8; i > 0; i--, bits >>= 8) to[i] = (unsigned char)bits;
    key->len += 9;
}

void tupled_key_add_int(struct tupled_key *key, int64_t number)
{
    if (key->status == TUPLED_OK && (number > TUPLED_INTEGER_MAX || number < -TUPLED_INTEGER_MAX)) {
        key->status = TUPLED_KEY_BAD_INTEGER;
    }
    tupled_key_add_number(key, (double)number);
}

void tupled_key_add_bool(struct tupled_key *key, int value)
{
    unsigned char *to = add_part(key, 1);
    if (to == NULL) return;
    *to = value != 0 ? 0xc3 : 0xc2;
    key->len++;
}

/* Sign and magnitude (big-endian, minimal) as the extension: two's complement. */
static void add_magnitude(struct tupled_key *key, int is_negative, const unsigned char *p, size_t n)
{
    unsigned char *to = add_part(key, n <= 8 ? n + 1 : n + 2);
    if (to == NULL) return;
    /* A sign byte in front, left out when the next byte shows the sign: -128 is 80, 128 is 00 80.
     */
    unsigned carry = is_negative ? 1 : 0;
    unsigned char twos[TUPLED_BIGINT_BYTES_MAX + 1];
    for (size_t i = n; i > 0; i--) {
        carry += is_negative ? (unsigned char)~p[i - 1] : p[i - 1];
        twos[i] = (unsigned char)carry;
        carry >>= 8;
    }
    twos[0] = is_negative ? 0xff : 0;
    size_t skip = n > 0 && (twos[1] >> 7) == (twos[0] >> 7) ? 1 : 0;
    size_t len = n + 1 - skip;
    if (len > 255) {
        *to++ = 0xc8;
        *to++ = (unsigned char)(len >> 8);
    } else {
        *to++ = 0xc7;
    }
    *to++ = (unsigned char)len;
    *to++ = EXT_BIGINT;
    memcpy(to, twos + skip, len);
    key->len = (size_t)(to - key->data) + len;
}

void tupled_key_add_bigint(struct tupled_key *key, int64_t value)
{
    unsigned char bytes[8];
    uint64_t magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    size_t n = 0;
    for (int shift = 56; shift >= 0; shift -= 8) {
        unsigned char byte = (unsigned char)(magnitude >> shift);
        if (n > 0 || byte != 0) bytes[n++] = byte;
    }
    add_magnitude(key, value < 0, bytes, n);
}

void tupled_key_add_bigint_text(struct tupled_key *key, const char *digits)
{
    unsigned char magnitude[TUPLED_BIGINT_BYTES_MAX]; /* filled from its end */
    size_t n = 0;
    int is_negative = digits[0] == '-';
    const char *p = digits + is_negative;
    int is_bad = *p == '\0';
    for (; *p != '\0' && !is_bad; p++) {
        unsigned carry = (unsigned)(*p - '0');
        is_bad = *p < '0' || *p > '9';
        for (size_t i = 0; i < n && !is_bad; i++) {
            unsigned char *byte = &magnitude[sizeof magnitude - 1 - i];
            carry += *byte * 10u;
            *byte = (unsigned char)carry;
            carry >>= 8;
        }
        if (carry == 0 || is_bad) continue;
        is_bad = n == sizeof magnitude;
        if (!is_bad) magnitude[sizeof magnitude - ++n] = (unsigned char)carry;
    }
    if (is_bad && key->status == TUPLED_OK) key->status = TUPLED_KEY_BAD_BIGINT;
    if (!is_bad) {
        /* Zero has no sign. */
        add_magnitude(key, is_negative && n > 0, magnitude + sizeof magnitude - n, n);
    }
}

const void *tupled_key_finish(struct tupled_key *key, size_t *len)
{
    if (key->status == TUPLED_OK && key->parts == 0) key->status = TUPLED_KEY_EMPTY;
    *len = 0;
    if (key->status != TUPLED_OK) return NULL;
    unsigned char *head = key->data + HEAD_BYTES;
    if (key->parts < 16) {
        *--head = (unsigned char)(0x90 | key->parts);
    } else {
        *--head = (unsigned char)key->parts;
        *--head = 0;
        *--head = 0xdc;
    }
    *len = (size_t)(key->data + key->len - head);
    return head;
}

/* ---- reading ---- */

static uint64_t load(const unsigned char *p, size_t bytes)
{
    uint64_t v = 0;
    for (size_t i = 0; i < bytes; i++) v = v << 8 | p[i];
    return v;
}

/* `bytes` bytes of a big-endian number, then the reader is after them; 0 when there are not as
 * many. */
static int take(struct tupled_key_reader *r, size_t bytes, uint64_t *value)
{
    if ((size_t)(r->end - r->at) < bytes) return 0;
    *value = load(r->at, bytes);
    r->at += bytes;
    return 1;
}

static int take_body(struct tupled_key_reader *r, struct tupled_key_part *part, uint64_t len,
                     enum tupled_part_type type)
{
    if ((uint64_t)(r->end - r->at) < len) return 0;
    part->type = type;
    part->bytes = r->at;
    part->len = (size_t)len;
    r->at += len;
    return 1;
}

static int next_ext(struct tupled_key_reader *r, struct tupled_key_part *part, unsigned c)
{
    uint64_t len = 0, ext = 0;
    if (c >= 0xd4) {
        len = UINT64_C(1) << (c - 0xd4);
    } else if (!take(r, (size_t)1 << (c - 0xc7), &len)) {
        return 0;
    }
    return take(r, 1, &ext) && ext == EXT_BIGINT && len > 0 &&
           take_body(r, part, len, TUPLED_PART_BIGINT);
}

static int next_number(struct tupled_key_reader *r, struct tupled_key_part *part, unsigned c)
{
    uint64_t bits = 0;
    size_t bytes = c == 0xca ? 4 : c == 0xcb ? 8 : (size_t)1 << (c & 3);
    if (!take(r, bytes, &bits)) return 0;
    part->type = TUPLED_PART_NUMBER;
    if (c == 0xcb) {
        memcpy(&part->number, &bits, 8);
    } else if (c == 0xca) {
        uint32_t half = (uint32_t)bits;
        float f;
        memcpy(&f, &half, 4);
        part->number = (double)f;
    } else if (c < 0xd0) {
        part->number = (double)bits;
    } else {
        unsigned unused = (64 - 8 * (unsigned)bytes) & 63;
        part->number = (double)((int64_t)(bits << unused) >> unused);
    }
    return 1;
}

static int next_part(struct tupled_key_reader *r, struct tupled_key_part *part)
{
    uint64_t c = 0, len = 0;
    if (!take(r, 1, &c)) return 0;
    if (c < 0x80 || c >= 0xe0) {
        part->type = TUPLED_PART_NUMBER;
        part->number = c < 0x80 ? (double)c : (double)c - 256;
        return 1;
    }
    if (c >= 0xa0 && c < 0xc0) return take_body(r, part, c & 31, TUPLED_PART_STRING);
    if (c == 0xc2 || c == 0xc3) {
        part->type = TUPLED_PART_BOOL;
        part->boolean = c == 0xc3;
        return 1;
    }
    if (c >= 0xc4 && c <= 0xc6) {
        return take(r, (size_t)1 << (c - 0xc4), &len) && take_body(r, part, len, TUPLED_PART_BYTES);
    }
    if (c >= 0xd9 && c <= 0xdb) {
        return take(r, (size_t)1 << (c - 0xd9), &len) &&
               take_body(r, part, len, TUPLED_PART_STRING);
    }
    if (c >= 0xca && c <= 0xd3) return next_number(r, part, (unsigned)c);
    if ((c >= 0xc7 && c <= 0xc9) || (c >= 0xd4 && c <= 0xd8)) return next_ext(r, part, (unsigned)c);
    return 0;
}

void tupled_key_read(struct tupled_key_reader *reader, const void *key, size_t len)
{
    uint64_t c = 0, count = 0;
    int ok = 0;
    reader->status = TUPLED_OK;
    reader->at = key;
    reader->end = len > 0 ? reader->at + len : reader->at;
    if (take(reader, 1, &c)) {
        if ((c & 0xf0) == 0x90) {
            count = c & 15;
            ok = 1;
        } else if (c == 0xdc || c == 0xdd) {
            ok = take(reader, c == 0xdc ? 2 : 4, &count);
        }
    }
    reader->left = (size_t)count;
    if (!ok || count > TUPLED_KEY_PARTS_MAX) reader->status = TUPLED_KEY_DAMAGED;
}

int tupled_key_next(struct tupled_key_reader *reader, struct tupled_key_part *part)
{
    if (reader->status != TUPLED_OK) return 0;
    if (reader->left == 0) {
        if (reader->at != reader->end) reader->status = TUPLED_KEY_DAMAGED;
        return 0;
    }
    memset(part, 0, sizeof *part);
    reader->left--;
    if (next_part(reader, part)) return 1;
    reader->status = TUPLED_KEY_DAMAGED;
    return 0;
}

int tupled_part_int64(const struct tupled_key_part *part, int64_t *value)
{
    if (part->type != TUPLED_PART_BIGINT) return 0;
    const unsigned char *p = part->bytes;
    size_t n = part->len;
    unsigned char fill = p[0] >= 0x80 ? 0xff : 0;
    while (n > 1 && *p == fill && (p[1] >> 7) == (fill >> 7)) {
        p++;
        n--;
    }
    if (n > 8) return 0;
    uint64_t bits = fill != 0 ? UINT64_MAX : 0;
    for (size_t i = 0; i < n; i++) bits = bits << 8 | p[i];
    *value = (int64_t)bits;
    return 1;
}

int tupled_part_digits(const struct tupled_key_part *part, char out[TUPLED_BIGINT_TEXT_BYTES])
{
    unsigned char
        left[TUPLED_BIGINT_BYTES_MAX + 1]; /* the magnitude, divided by 10 again and again */
    if (part->type != TUPLED_PART_BIGINT || part->len > sizeof left) return 0;
    int is_negative = part->bytes[0] >= 0x80;
    unsigned carry = is_negative ? 1 : 0;
    for (size_t i = part->len; i-- > 0;) {
        carry += is_negative ? (unsigned char)~part->bytes[i] : part->bytes[i];
        left[i] = (unsigned char)carry;
        carry >>= 8;
    }
    char text[TUPLED_BIGINT_TEXT_BYTES];
    size_t at = sizeof text, first = 0;
    text[--at] = '\0';
    do {
        unsigned rest = 0;
        for (size_t i = first; i < part->len; i++) {
            rest = rest << 8 | left[i];
            left[i] = (unsigned char)(rest / 10);
            rest %= 10;
        }
        text[--at] = (char)('0' + rest);
        while (first < part->len && left[first] == 0) first++;
    } while (first < part->len && at > 1);
    if (is_negative) text[--at] = '-';
    memcpy(out, text + at, sizeof text - at);
    return 1;
}
