/* json_lex: the words of JSON text, strict: RFC 8259, valid UTF-8, paired surrogates. A cursor over
 * borrowed text with one error; the parsers of keys and values sit on top. Nothing is allocated.
 */
#ifndef CODEC_JSON_LEX_H
#define CODEC_JSON_LEX_H

#include "base/buf.h"
#include "base/err.h"

struct json {
    const uint8_t *start; /* of the text; offsets in errors count from here */
    const uint8_t *at;
    const uint8_t *end;
    enum err code;       /* of errors: ERR_KEY, ERR_VALUE, .. */
    const char *subject; /* first words of an error: "invalid key" */
    struct error *e;     /* may be NULL */
};

struct json_number {
    struct slice text;  /* without the sign */
    uint64_t magnitude; /* its digits as an integer, of more than 19 the first 19 */
    size_t digit_count; /* integer and fraction, without leading zeros */
    int64_t exponent;   /* number = magnitude * 10^exponent, with a magnitude of all digits */
    bool is_negative;
    bool is_integer; /* neither point nor exponent */
};

/* Sets the error "<subject>: <what> at offset <n>"; false. */
bool json_fail(struct json *j, const uint8_t *where, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* At '"': checks the string, leaves *raw = what is between the quotes. */
bool json_string_scan(struct json *j, struct slice *raw, bool *has_escape);
/* Appends the text of a string that json_string_scan has checked; at most raw.len bytes. */
void json_string_unescape(struct slice raw, struct buf *out);
/* True when the checked string spells exactly `text` (printable ASCII of at most 16 bytes). */
bool json_string_is(struct slice raw, bool has_escape, const char *text);

/* At '-' or a digit. */
bool json_number_scan(struct json *j, struct json_number *n);
/* Its value; infinite when out of range. */
double json_number_double(const struct json_number *n);

/* The next thing is `c`: take it; else an error that says so. Blanks before it are skipped. */
bool json_expect(struct json *j, char c);
/* Takes the word ("true") if it is there and no letter or digit follows. */
bool json_take_word(struct json *j, const char *word);
/* After the last value: only blanks may follow. */
bool json_expect_end(struct json *j);

/* Appends s (UTF-8) quoted and escaped. */
void json_string_write(struct slice s, struct buf *out);
/* The same of any bytes: each that is no UTF-8 becomes U+FFFD. */
void json_string_write_lossy(struct slice s, struct buf *out);

static inline void json_skip_blanks(struct json *j)
{
    while (j->at < j->end &&
           (*j->at == ' ' || *j->at == '\n' || *j->at == '\t' || *j->at == '\r')) {
        j->at++;
    }
}

/* The next byte that is not blank, 0 at the end. Not taken. */
static inline uint8_t json_peek(struct json *j)
{
    if (j->at<j->end && * j->at> ' ') return *j->at;
    json_skip_blanks(j);
    return j->at < j->end ? *j->at : 0;
}

#endif
