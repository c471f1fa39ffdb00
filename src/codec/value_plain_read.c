/* value_plain_read: plain JSON as a stored value. */
#include "base/bytes.h"
#include "codec/double_parse.h"
#include "codec/json_bytes.h"
#include "codec/number.h"
#include "codec/pack.h"
#include "codec/utf8.h"
#include "codec/value_plain.h"

/* "0.1" is 3 bytes of text and 9 of MessagePack. */
#define GROWTH 3
#define DIGITS_MAX 15 /* of an integer: exact in a double, whatever they are */

struct name {
    const uint8_t *at;
    uint32_t len;
};

struct reader {
    const uint8_t *at; /* in the text; NULL: it is not plain */
    const uint8_t *end;
    struct buf *out; /* has room for all that comes */
    unsigned depth;
};

static void read_item(struct reader *r);

static void refuse(struct reader *r)
{
    r->at = NULL;
}

/* The next byte that is not blank, 0 at the end. Not taken. */
static inline uint8_t peek(struct reader *r)
{
    while (r->at < r->end) {
        uint8_t c = *r->at;
        if (c > ' ') return c;
        if (c != ' ' && c != '\n' && c != '\t' && c != '\r') return 0;
        r->at++;
    }
    return 0;
}

static inline void put(struct reader *r, uint8_t byte)
{
    r->out->data[r->out->len++] = byte;
}

/* After the first byte above 0x7f: to the quote. */
static const uint8_t *skip_utf8(const uint8_t *p, const uint8_t *end)
{
    while (p < end && *p >= 0x80) {
        unsigned step = utf8_step(p, (size_t)(end - p));
        if (step == 0) return NULL;
        p = json_skip_plain(p + step, end, true);
    }
    return p;
}

/* At '"': takes it and what is up to the next one. */
static inline struct name take_string(struct reader *r)
{
    const uint8_t *from = r->at + 1;
    const uint8_t *p = json_skip_plain(from, r->end, true);
    if (p < r->end && *p >= 0x80) p = skip_utf8(p, r->end);
    if (p == NULL || p == r->end || *p != '"') {
        refuse(r);
        return (struct name){0};
    }
    r->at = p + 1;
    return (struct name){.at = from, .len = (uint32_t)(p - from)};
}

static inline void put_string(struct reader *r, struct name s)
{
    if (s.len >= 32) {
        pack_str(r->out, slice_of(s.at, s.len));
        return;
    }
    put(r, (uint8_t)(0xa0 | s.len));
    bytes_copy(r->out->data + r->out->len, s.at, s.len);
    r->out->len += s.len;
}

static void read_string(struct reader *r)
{
    struct name s = take_string(r);
    if (r->at != NULL) put_string(r, s);
}

/* Digits onto *n, not more than it has room for and one; how many. */
static inline size_t take_digits(struct reader *r, uint64_t *n)
{
    const uint8_t *from = r->at;
    while (r->at < r->end && (uint8_t)(*r->at - '0') <= 9 && r->at - from <= DECIMAL_DIGITS_MAX)
        *n = *n * 10 + (uint64_t)(*r->at++ - '0');
    return (size_t)(r->at - from);
}

static void read_fraction(struct reader *r, bool is_negative, uint64_t n, size_t digits)
{
    double d = 0;
    r->at++;
    size_t places = take_digits(r, &n);
    bool is_long = digits + places > DECIMAL_DIGITS_MAX;
    bool has_exponent = r->at < r->end && (*r->at == 'e' || *r->at == 'E');
    if (places == 0 || is_long || has_exponent || n == 0 ||
        !double_from_decimal(n, -(int64_t)places, false, &d)) {
        refuse(r);
        return;
    }
    pack_number(r->out, is_negative ? -d : d);
}

static void read_number(struct reader *r, uint8_t c)
{
    bool is_negative = c == '-';
    uint64_t n = 0;
    if (is_negative) r->at++;
    bool is_zero = r->at < r->end && *r->at == '0';
    size_t digits = take_digits(r, &n);
    uint8_t next = r->at < r->end ? *r->at : 0;
    size_t digits_max = next == '.' ? DECIMAL_DIGITS_MAX : DIGITS_MAX;
    bool is_right = digits > 0 && digits <= digits_max && !(is_zero && digits > 1);
    bool is_minus_zero = is_negative && n == 0 && next != '.'; /* no integer */
    if (!is_right || is_minus_zero || next == 'e' || next == 'E') {
        refuse(r);
    } else if (next == '.') {
        read_fraction(r, is_negative, n, digits);
    } else {
        pack_int(r->out, is_negative ? -(int64_t)n : (int64_t)n);
    }
}

static inline bool take_word(struct reader *r, const char *word, size_t len, uint8_t byte)
{
    if ((size_t)(r->end - r->at) < len || memcmp(r->at, word, len) != 0) return false;
    r->at += len;
    put(r, byte);
    return true;
}

/* What follows decides whether the word has ended: only a comma or a bracket may. */
static void read_word(struct reader *r)
{
    if (take_word(r, "true", 4, 0xc3)) return;
    if (take_word(r, "false", 5, 0xc2)) return;
    if (take_word(r, "null", 4, 0xc0)) return;
    refuse(r);
}

/* After an item: a comma is taken, true; the bracket is taken, false. */
static inline bool take_comma(struct reader *r, uint8_t bracket)
{
    uint8_t c = peek(r);
    if (c != ',' && c != bracket) {
        refuse(r);
        return false;
    }
    r->at++;
    return c == ',';
}

static void read_array(struct reader *r)
{
    size_t head = r->out->len, count = 0;
    put(r, 0);
    r->at++;
    if (peek(r) == ']') {
        r->at++;
    } else {
        bool has_more = true;
        for (; has_more; count++) {
            if (count == VALUE_PLAIN_COUNT_MAX) refuse(r);
            if (r->at != NULL) read_item(r);
            has_more = r->at != NULL && take_comma(r, ']');
        }
    }
    r->out->data[head] = (uint8_t)(0x90 | count);
}

static bool is_new(const struct name *names, size_t count, struct name name)
{
    for (size_t i = 0; i < count; i++) {
        if (names[i].len != name.len) continue;
        if (name.len == 0 ||
            (*names[i].at == *name.at && memcmp(names[i].at, name.at, name.len) == 0))
            return false;
    }
    return true;
}

static void read_member(struct reader *r, struct name *names, size_t count)
{
    struct name *name = &names[count];
    if (count == VALUE_PLAIN_COUNT_MAX || peek(r) != '"') {
        refuse(r);
        return;
    }
    *name = take_string(r);
    if (r->at == NULL) return;
    /* A name with $ in the beginning may be a tag. */
    bool is_tag = count == 0 && name->len > 0 && *name->at == '$';
    if (is_tag || !is_new(names, count, *name) || peek(r) != ':') {
        refuse(r);
        return;
    }
    r->at++;
    put_string(r, *name);
    read_item(r);
}

static void read_object(struct reader *r)
{
    struct name names[VALUE_PLAIN_COUNT_MAX];
    size_t head = r->out->len, count = 0;
    put(r, 0);
    r->at++;
    if (peek(r) == '}') {
        r->at++;
    } else {
        bool has_more = true;
        for (; has_more; count++) {
            read_member(r, names, count);
            has_more = r->at != NULL && take_comma(r, '}');
        }
    }
    r->out->data[head] = (uint8_t)(0x80 | count);
}

static void read_nested(struct reader *r, uint8_t c)
{
    if (++r->depth > VALUE_PLAIN_DEPTH_MAX) {
        refuse(r);
    } else if (c == '{') {
        read_object(r);
    } else {
        read_array(r);
    }
    r->depth--;
}

static void read_item(struct reader *r)
{
    uint8_t c = peek(r);
    if (c == '"') {
        read_string(r);
    } else if (c == '{' || c == '[') {
        read_nested(r, c);
    } else if (c == '-' || (uint8_t)(c - '0') <= 9) {
        read_number(r, c);
    } else {
        read_word(r);
    }
}

bool value_plain_from_json(struct slice text, struct buf *out)
{
    size_t from = out->len;
    if (text.len == 0 || text.len > VALUE_PLAIN_BYTES_MAX) return false;
    if (buf_reserve(out, text.len * GROWTH + PACK_HEAD_BYTES) == NULL) return false;
    struct reader r = {.at = text.data, .end = text.data + text.len, .out = out};
    read_item(&r);
    if (r.at != NULL && peek(&r) == 0 && r.at == r.end && !out->is_failed) return true;
    out->len = from;
    return false;
}
