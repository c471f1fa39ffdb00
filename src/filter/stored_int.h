/* stored: one value as it lies in stored MessagePack bytes, told apart as filters see it: numbers
 * by value whatever their encoding, undefined as null, a shared value as what is in it.
 *
 * All bytes have passed value_check; bytes that lie about themselves give wrong answers, never a
 * read past `end`.
 */
#ifndef FILTER_STORED_INT_H
#define FILTER_STORED_INT_H

#include "codec/value.h"

/* Invariant: the kinds with an order, and only they, are BOOL..DATE; those of numbers are together.
 */
enum stored_kind {
    STORED_MISSING, /* there is no value; never read, but put there by who looked for one */
    STORED_NULL,    /* and undefined */
    STORED_BOOL,    /* u: 0 or 1 */
    STORED_INTEGER, /* u, is_negative: any number, bigint or u64 that is an integer below 2^64 */
    STORED_DOUBLE,  /* d: any other number but NaN */
    STORED_BIGINT,  /* body: any other bigint, minimal two's complement */
    STORED_STRING,  /* body; of a hash's field (EXT_FIELD) `count` bytes of its number after that */
    STORED_BYTES,   /* body */
    STORED_DATE,    /* ms */
    STORED_NAN,
    STORED_NO_DATE, /* the invalid Date */
    STORED_TYPED,   /* body: code and elements */
    STORED_V8,      /* body: a value as V8 writes it */
    STORED_ARRAY,   /* count items in body */
    STORED_SET,     /* likewise */
    STORED_REGEXP,  /* likewise: source, flags */
    STORED_MAP,     /* count pairs of items in body */
    STORED_OBJECT,  /* likewise; a Map too, when a key is no string */
    STORED_ERROR,   /* likewise */
    STORED_REF      /* u: the id of a shared value elsewhere */
};

struct stored {
    enum stored_kind kind;
    uint32_t count;
    union {
        uint64_t u;
        int64_t ms; /* since 1970 */
        double d;
    };
    struct slice
        body; /* borrowed; of containers: from the first item, it may go on after the last */
    bool is_negative;
};

/* Reads the value at `at`. Returns what follows: of a scalar the next value, of a container its
 * first item; then what follows the last item is what follows the container. */
const uint8_t *stored_read(const uint8_t *at, const uint8_t *end, struct stored *s);

const uint8_t *stored_skip_slow(const uint8_t *at, const uint8_t *end);

/* The number that the text of a hash's field is too; false: it is no such text. */
bool stored_number_of(const struct stored *s, struct stored *number);

/* Past the value at `at`, whatever is in it. */
static inline const uint8_t *stored_skip(const uint8_t *at, const uint8_t *end)
{
    if (at == end) return end;
    size_t len = (*at & 0xe0) == 0xa0 ? 1 + (*at & 31u) : *at < 0x80;
    if (len == 0 || len > (size_t)(end - at)) return stored_skip_slow(at, end);
    return at + len;
}

/* <0, 0, >0, exactly; both kinds are BOOL..DATE. Of different types: some order, never 0. */
int stored_compare(const struct stored *a, const struct stored *b);

/* A string with nothing around it, as names of objects are: a Map's key may be a shared one. */
static inline bool stored_is_name(const uint8_t *at, const uint8_t *end)
{
    return at < end && ((*at & 0xe0) == 0xa0 || (*at >= 0xd9 && *at <= 0xdb));
}

static inline bool stored_is_number(enum stored_kind kind)
{
    return kind >= STORED_INTEGER && kind <= STORED_BIGINT;
}

static inline bool stored_is_scalar(enum stored_kind kind)
{
    return kind >= STORED_BOOL && kind <= STORED_DATE;
}

/* Kinds whose values stored_compare puts into an order that means something. */
static inline bool stored_is_same_type(enum stored_kind a, enum stored_kind b)
{
    return a == b || (stored_is_number(a) && stored_is_number(b));
}

#endif
