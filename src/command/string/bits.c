/* string_bits: the bits of a value: SETBIT, GETBIT, BITCOUNT, BITPOS. Bit 0 is the highest of the
 * first byte; what lies after the end of a value is 0.
 */
#include "command/string/bits.h"

#include "codec/value.h"
#include "command/string/string_int.h"
#include "request/keys.h"
#include "request/table.h"

enum err bits_offset(struct request *rq, struct slice arg, unsigned factor, uint64_t *out)
{
    int64_t n = 0;
    int64_t at = 0;
    if (!slice_to_i64(arg, &n) || __builtin_mul_overflow(n, (int64_t)factor, &at) || at < 0 ||
        at >> 3 >= (int64_t)STRING_BYTES_MAX) {
        return error_set(&rq->error, ERR_SYNTAX, "bit offset is not an integer or out of range");
    }
    *out = (uint64_t)at;
    return OK;
}

enum err bits_lengthen(struct request *rq, struct slice bytes, uint64_t len, uint8_t **to,
                       struct slice *value)
{
    if (len < bytes.len) len = bytes.len;
    enum err r = string_fits(rq, len);
    if (r == OK) r = string_room(rq, (size_t)len, to, value);
    if (r == OK) bytes_copy(*to, bytes.data, bytes.len);
    return r;
}

static bool bit_at(struct slice bytes, uint64_t at)
{
    return at >> 3 < bytes.len && (bytes.data[at >> 3] >> (7 - (at & 7)) & 1) != 0;
}

/* ---- SETBIT, GETBIT ---- */

struct bit {
    struct slice key, offset, value;
};
ARGUMENTS(setbit_arguments, struct bit, "key offset value", ARG_KEY(struct bit, key, "key", 0),
          ARG_WORD(struct bit, offset, "offset"), ARG_WORD(struct bit, value, "value"));
ARGUMENTS(getbit_arguments, struct bit, "key offset", ARG_KEY(struct bit, key, "key", 0),
          ARG_WORD(struct bit, offset, "offset"));

static enum err setbit_run(struct request *rq)
{
    const struct bit *a = rq->bound;
    struct slice bytes = {0};
    struct slice value = {0};
    bool exists = false;
    uint8_t *to = NULL;
    uint64_t at = 0;
    enum err r = bits_offset(rq, a->offset, 1, &at);
    bool is_on = slice_eq(a->value, slice_str("1"));
    if (r == OK && !is_on && !slice_eq(a->value, slice_str("0"))) {
        r = error_set(&rq->error, ERR_SYNTAX, "bit is not an integer or out of range");
    }
    if (r == OK) r = string_read(rq, a->key, &exists, &bytes);
    if (r != OK) return r;
    bool was_on = bit_at(bytes, at);
    r = bits_lengthen(rq, bytes, (at >> 3) + 1, &to, &value);
    if (r != OK) return r;
    INVARIANT(to != NULL);
    uint8_t bit = (uint8_t)(0x80u >> (at & 7));
    to[at >> 3] = (uint8_t)(is_on ? to[at >> 3] | bit : to[at >> 3] & ~bit);
    r = string_replace(rq, a->key, value);
    if (r == OK) resp_int(rq->w, was_on);
    return r;
}
BITS_COMMAND(setbit, "setbit", CMD_WRITE, KEY_RW | KEY_ACCESS | KEY_UPDATE,
             "Sets or clears the bit at an offset and returns its previous value.",
             setbit_arguments, setbit_run);

static enum err getbit_run(struct request *rq)
{
    const struct bit *a = rq->bound;
    struct slice bytes = {0};
    bool exists = false;
    uint64_t at = 0;
    enum err r = bits_offset(rq, a->offset, 1, &at);
    if (r == OK) r = string_read(rq, a->key, &exists, &bytes);
    if (r == OK) resp_int(rq->w, bit_at(bytes, at));
    return r;
}
BITS_COMMAND(getbit, "getbit", CMD_READ | CMD_FAST | CMD_FOLLOWER, KEY_RO | KEY_ACCESS,
             "Returns the bit at an offset of a value.", getbit_arguments, getbit_run);

/* ---- ranges of bits ---- */

/* [start, end] in bits; start > end: none. */
struct bit_range {
    int64_t start, end;
};

static int64_t count_bytes(const uint8_t *p, size_t len)
{
    int64_t n = 0;
    uint64_t word;
    for (; len >= 8; p += 8, len -= 8) {
        memcpy(&word, p, 8);
        n += __builtin_popcountll(word);
    }
    for (; len > 0; p++, len--) n += __builtin_popcount(*p);
    return n;
}

/* The bits of a byte that are in the range. */
static uint8_t mask_at(const struct bit_range *range, int64_t byte)
{
    unsigned mask = 0xff;
    if (byte == range->start >> 3) mask &= 0xffu >> (range->start & 7);
    if (byte == range->end >> 3) mask &= 0xffu << (7 - (range->end & 7));
    return (uint8_t)mask;
}

static int64_t count_range(const uint8_t *p, const struct bit_range *range)
{
    int64_t first = range->start >> 3;
    int64_t last = range->end >> 3;
    int64_t n = __builtin_popcount(p[first] & mask_at(range, first));
    if (first == last) return n;
    n += __builtin_popcount(p[last] & mask_at(range, last));
    return n + count_bytes(p + first + 1, (size_t)(last - first - 1));
}

/* Are these the eight bytes at p? */
static bool is_word(const uint8_t *p, uint64_t skip)
{
    uint64_t word;
    memcpy(&word, p, 8);
    return word == skip;
}

/* The first bit of the range that is `bit`; -1 = none is. */
static int64_t find_in_range(const uint8_t *p, const struct bit_range *range, bool bit)
{
    int64_t first = range->start >> 3;
    int64_t last = range->end >> 3;
    uint8_t turn = bit ? 0 : 0xff; /* from now on a 1 is looked for */
    uint64_t skip = bit ? 0 : UINT64_MAX;
    for (int64_t i = first; i <= last; i++) {
        while (i > first && i + 8 <= last && is_word(p + i, skip)) i += 8;
        unsigned found = (unsigned)(uint8_t)(p[i] ^ turn) & mask_at(range, i);
        if (found != 0) return i * 8 + __builtin_clz(found) - 24;
    }
    return -1;
}

/* BYTE or BIT. */
static enum err parse_unit(struct request *rq, struct slice word, bool *is_bits)
{
    *is_bits = slice_is_word(word, "BIT");
    return *is_bits || slice_is_word(word, "BYTE") ? OK : string_syntax(rq);
}

static void range_of(struct bit_range *range, size_t bytes, bool is_bits)
{
    string_bounds((int64_t)bytes * (is_bits ? 8 : 1), &range->start, &range->end);
    if (range->start > range->end || bytes == 0) {
        *range = (struct bit_range){.start = 1, .end = 0};
    } else if (!is_bits) {
        range->start *= 8;
        range->end = range->end * 8 + 7;
    }
}

/* Before all bytes of a range are looked at: several in a nanosecond. */
static enum err take_steps(struct request *rq, const struct bit_range *range)
{
    return request_take_steps(rq, (uint64_t)(range->end - range->start + 1) / 8 / 4);
}

/* ---- BITCOUNT ---- */

ARGUMENTS_WITH(bitcount_arguments, struct key_and_words, "key [word ...]",
               WITH(.shown = "key [start end [BYTE | BIT]]"),
               ARG_KEY(struct key_and_words, key, "key", 0),
               ARG_WORDS(struct key_and_words, words, "word"));

/* What is wrong is found in the order in which Redis finds it. */
static enum err bitcount_run(struct request *rq)
{
    const struct key_and_words *a = rq->bound;
    const struct slice *words = a->words.items;
    size_t count = a->words.count;
    struct slice bytes = {0};
    struct bit_range range = {.start = 0, .end = -1};
    bool exists = false;
    bool is_bits = false;
    enum err r = string_read(rq, a->key, &exists, &bytes);
    if (r != OK) return r;
    if (!exists) {
        resp_int(rq->w, 0);
        return OK;
    }
    if (count == 1 || count > 3) return string_syntax(rq);
    if (count > 0) {
        r = string_integer(rq, words[0], &range.start);
        if (r == OK) r = string_integer(rq, words[1], &range.end);
        bool is_none = range.start < 0 && range.end < 0 && range.start > range.end;
        if (r == OK && count == 3 && !is_none) r = parse_unit(rq, words[2], &is_bits);
        if (r != OK) return r;
    }
    range_of(&range, bytes.len, is_bits);
    r = take_steps(rq, &range);
    if (r == OK) resp_int(rq->w, range.start > range.end ? 0 : count_range(bytes.data, &range));
    return r;
}
BITS_COMMAND(bitcount, "bitcount", CMD_READ | CMD_FOLLOWER, KEY_RO | KEY_ACCESS,
             "Counts the bits that are set in a value or in a part of it.", bitcount_arguments,
             bitcount_run);

/* ---- BITPOS ---- */

struct bitpos {
    struct slice key, bit;
    struct slices words;
};
ARGUMENTS_WITH(bitpos_arguments, struct bitpos, "key bit [word ...]",
               WITH(.shown = "key bit [start [end [BYTE | BIT]]]"),
               ARG_KEY(struct bitpos, key, "key", 0), ARG_WORD(struct bitpos, bit, "bit"),
               ARG_WORDS(struct bitpos, words, "word"));

static enum err bitpos_range(struct request *rq, const struct slices *words,
                             struct bit_range *range, bool *is_bits)
{
    size_t count = words->count;
    *range = (struct bit_range){.start = 0, .end = -1};
    *is_bits = false;
    if (count > 3) return string_syntax(rq);
    enum err r = count > 0 ? string_integer(rq, words->items[0], &range->start) : OK;
    if (r == OK && count == 3) r = parse_unit(rq, words->items[2], is_bits);
    if (r == OK && count > 1) r = string_integer(rq, words->items[1], &range->end);
    return r;
}

/* What is before the first is the first: two such places are one, in whatever order they are given.
 * (BITCOUNT and GETRANGE look at the order before that, as in Redis.) */
static void begin_at_first(struct bit_range *range, int64_t total)
{
    if (range->start < -total) range->start = -total;
    if (range->end < -total) range->end = -total;
}

static enum err bitpos_run(struct request *rq)
{
    const struct bitpos *a = rq->bound;
    struct slice bytes = {0};
    struct bit_range range;
    bool exists = false;
    bool is_bits = false;
    int64_t bit = 0;
    enum err r = string_integer(rq, a->bit, &bit);
    if (r == OK && bit != 0 && bit != 1) {
        r = error_set(&rq->error, ERR_SYNTAX, "The bit argument must be 1 or 0.");
    }
    if (r == OK) r = string_read(rq, a->key, &exists, &bytes);
    if (r != OK) return r;
    if (!exists) {
        resp_int(rq->w, bit == 1 ? -1 : 0);
        return OK;
    }
    r = bitpos_range(rq, &a->words, &range, &is_bits);
    if (r != OK) return r;
    begin_at_first(&range, (int64_t)bytes.len * (is_bits ? 8 : 1));
    range_of(&range, bytes.len, is_bits);
    r = take_steps(rq, &range);
    if (r != OK) return r;
    int64_t at = -1;
    if (range.start <= range.end) {
        at = find_in_range(bytes.data, &range, bit == 1);
        /* Without an end the value goes on with zeros. */
        if (at < 0 && bit == 0 && a->words.count < 2) at = range.end + 1;
    }
    resp_int(rq->w, at);
    return OK;
}
BITS_COMMAND(bitpos, "bitpos", CMD_READ | CMD_FOLLOWER, KEY_RO | KEY_ACCESS,
             "Returns the position of the first bit that is set, or clear, in a value.",
             bitpos_arguments, bitpos_run);
