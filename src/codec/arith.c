/* arith: what KV.SUM, MIN, MAX, APPEND and PREPEND compute. Rules in arith.h.
 *
 * At the edges: NaN wins MIN and MAX and -0 is less than 0, as in JavaScript; on a tie the
 * stored bytes stay. A sum of finite numbers that is not finite is an overflow. Clamping comes
 * before the overflow check, so that a counter with bounds never overflows. A sum that is NaN has
 * no place in bounds: an error.
 */
#include "codec/arith.h"

#include <math.h>

#include "base/bytes.h"
#include "codec/bigint.h"
#include "codec/number.h"
#include "codec/pack.h"
#include "codec/value.h"
#include "codec/value_int.h"

#define BIGINT_BYTES_MAX 255

enum kind { KIND_OTHER, KIND_NUMBER, KIND_BIGINT, KIND_U64 };

struct amount {
    enum kind kind;
    bool is_integer;  /* number: `i` holds it, exactly; `d` always does */
    bool is_negative; /* bigint */
    bool is_too_long; /* bigint: more than BIGINT_BYTES_MAX */
    int64_t i;
    double d;
    uint64_t u;                              /* u64 */
    size_t len;                              /* of magnitude */
    uint8_t magnitude[BIGINT_BYTES_MAX + 1]; /* big-endian, minimal; one byte spare for a carry */
};

static void from_u64(struct amount *a, bool is_negative, uint64_t u)
{
    uint8_t bytes[8];
    for (size_t i = 8; i-- > 0; u >>= 8) bytes[i] = (uint8_t)u;
    size_t zeros = 0;
    while (zeros < 8 && bytes[zeros] == 0) zeros++;
    a->kind = KIND_BIGINT;
    a->is_negative = is_negative;
    a->len = 8 - zeros;
    memcpy(a->magnitude, bytes + zeros, a->len);
}

static void from_twos(struct amount *a, struct slice twos)
{
    uint8_t fill = twos.data[0] >= 0x80 ? 0xff : 0;
    while (twos.len > 1 && twos.data[0] == fill && (twos.data[1] >> 7) == (fill >> 7)) {
        twos = slice_of(twos.data + 1, twos.len - 1);
    }
    a->kind = KIND_BIGINT;
    a->is_too_long = true;
    if (twos.len > sizeof a->magnitude) return;
    a->len = bigint_from_twos(twos, &a->is_negative, a->magnitude);
    a->is_too_long = a->len > BIGINT_BYTES_MAX;
}

static void read_amount(struct slice bytes, struct amount *a)
{
    const uint8_t *at = bytes.data;
    struct pack_item item = {0};
    a->kind = KIND_OTHER;
    a->is_integer = a->is_negative = a->is_too_long = false;
    a->i = 0;
    a->d = 0;
    a->u = 0;
    a->len = 0;
    if (bytes.len == 0 || pack_read(&at, at + bytes.len, &item) != PACK_OK) return;
    bool is_integer = item.type == PACK_UINT || item.type == PACK_INT;
    if (is_integer) {
        bool is_negative = item.type == PACK_INT;
        uint64_t magnitude = is_negative ? 0 - (uint64_t)item.i : item.u;
        if (magnitude > NUMBER_SAFE_MAX) {
            from_u64(a, is_negative, magnitude);
            return;
        }
        a->kind = KIND_NUMBER;
        a->is_integer = true;
        a->i = is_negative ? item.i : (int64_t)item.u;
        a->d = (double)a->i;
    } else if (item.type == PACK_FLOAT) {
        a->kind = KIND_NUMBER;
        a->d = item.f;
    } else if (item.type == PACK_EXT && item.ext == EXT_BIGINT) {
        from_twos(a, item.body);
    } else if (item.type == PACK_EXT && item.ext == EXT_U64) {
        a->kind = KIND_U64;
        a->u = get_uint(item.body.data, item.body.len);
    }
}

static void write_amount(const struct amount *a, struct buf *out)
{
    uint8_t body[8];
    uint64_t u = a->u;
    switch (a->kind) {
    case KIND_NUMBER:
        if (a->is_integer) {
            pack_int(out, a->i);
        } else {
            pack_float(out, a->d);
        }
        break;
    case KIND_BIGINT: value_pack_bigint(out, a->is_negative, slice_of(a->magnitude, a->len)); break;
    case KIND_U64:
        for (size_t i = 8; i-- > 0; u >>= 8) body[i] = (uint8_t)u;
        pack_ext(out, EXT_U64, slice_of(body, 8));
        break;
    case KIND_OTHER: break;
    }
}

static int compare_magnitudes(const struct amount *a, const struct amount *b)
{
    if (a->len != b->len) return a->len < b->len ? -1 : 1;
    return a->len == 0 ? 0 : memcmp(a->magnitude, b->magnitude, a->len);
}

/* <0, 0, >0; both of one kind, no NaN. */
static int compare(const struct amount *a, const struct amount *b)
{
    if (a->kind == KIND_U64) return a->u < b->u ? -1 : a->u > b->u;
    if (a->kind == KIND_NUMBER) {
        if (a->d != b->d) return a->d < b->d ? -1 : 1;
        return (signbit(b->d) ? 1 : 0) - (signbit(a->d) ? 1 : 0); /* -0 < 0 */
    }
    if (a->is_negative != b->is_negative) return a->is_negative ? -1 : 1;
    int c = compare_magnitudes(a, b);
    return a->is_negative ? -c : c;
}

static bool is_nan(const struct amount *a)
{
    return a->kind == KIND_NUMBER && isnan(a->d);
}

/* a += b or, with different signs, the difference; a is the larger magnitude then. */
static void add_magnitude(struct amount *a, const struct amount *b, bool is_minus)
{
    size_t n = (a->len > b->len ? a->len : b->len) + 1; /* at most 256 */
    uint8_t sum[BIGINT_BYTES_MAX + 1];
    int carry = 0;
    for (size_t i = 0; i < n; i++) {
        int x = i < a->len ? a->magnitude[a->len - 1 - i] : 0;
        int y = i < b->len ? b->magnitude[b->len - 1 - i] : 0;
        carry += is_minus ? x - y : x + y;
        sum[n - 1 - i] = (uint8_t)carry;
        carry >>= 8; /* arithmetic: -1 is a borrow */
    }
    size_t zeros = 0;
    while (zeros < n && sum[zeros] == 0) zeros++;
    a->len = n - zeros;
    memcpy(a->magnitude, sum + zeros, a->len);
}

static void add_bigint(struct amount *a, const struct amount *b)
{
    if (a->is_negative == b->is_negative) {
        add_magnitude(a, b, false);
    } else if (compare_magnitudes(a, b) >= 0) {
        add_magnitude(a, b, true);
    } else {
        struct amount larger = *b;
        add_magnitude(&larger, a, true);
        *a = larger;
    }
    if (a->len == 0) a->is_negative = false;
}

static void add(struct amount *a, const struct amount *b)
{
    if (a->kind == KIND_U64) {
        a->u += b->u;
    } else if (a->kind == KIND_BIGINT) {
        add_bigint(a, b);
    } else if (a->is_integer && b->is_integer) {
        a->i += b->i; /* both within +-2^53 */
        a->d = (double)a->i;
    } else {
        a->is_integer = false;
        a->d += b->d;
    }
}

/* "a string", "an array", "null": for the middle of a sentence. */
static const char *article(const char *name)
{
    if (strcmp(name, "null") == 0 || strcmp(name, "undefined") == 0) return "";
    if (strcmp(name, "bytes") == 0) return "";
    return strchr("aeoE", name[0]) != NULL ? "an " : "a ";
}

static enum err type_error(struct error *e, const char *what, struct slice value,
                           struct slice operand)
{
    const char *a = value_type_name(value), *b = value_type_name(operand);
    return error_set(e, ERR_TYPE, "%s is %s%s, operand is %s%s", what, article(a), a, article(b),
                     b);
}

static enum err too_long(struct error *e)
{
    return error_set(e, ERR_OVERFLOW, "a bigint of more than %d bytes", BIGINT_BYTES_MAX);
}

static enum err check_bounds(const struct arith *a, const struct amount *operand, struct error *e)
{
    struct amount lo, hi;
    if (operand->kind == KIND_U64) {
        return error_set(e, ERR_TYPE, "operand is a u64, which wraps and has no bounds");
    }
    read_amount(a->lo, &lo);
    read_amount(a->hi, &hi);
    if (lo.kind != operand->kind) return type_error(e, "bound", a->lo, a->operand);
    if (hi.kind != operand->kind) return type_error(e, "bound", a->hi, a->operand);
    if (lo.is_too_long || hi.is_too_long) return too_long(e);
    if (is_nan(&lo) || is_nan(&hi)) return error_set(e, ERR_VALUE, "a bound is not a number");
    if (compare(&lo, &hi) <= 0) return OK;
    return error_set(e, ERR_VALUE, "the lower bound is above the upper bound");
}

enum err arith_check(const struct arith *a, struct error *e)
{
    struct amount operand;
    read_amount(a->operand, &operand);
    if (operand.kind == KIND_OTHER) {
        const char *name = value_type_name(a->operand);
        return error_set(e, ERR_TYPE, "operand is %s%s, not a number, bigint or u64", article(name),
                         name);
    }
    if (operand.is_too_long) return too_long(e);
    return a->bound == ARITH_UNBOUNDED ? OK : check_bounds(a, &operand, e);
}

static enum err apply_bounds(const struct arith *a, struct amount *sum, struct error *e)
{
    struct amount lo, hi;
    if (a->bound == ARITH_UNBOUNDED) return OK;
    if (is_nan(sum)) return error_set(e, ERR_RANGE, "the sum is NaN, which is outside the bounds");
    read_amount(a->lo, &lo);
    read_amount(a->hi, &hi);
    bool is_below = compare(sum, &lo)<0, is_above = compare(sum, &hi)> 0;
    if (!is_below && !is_above) return OK;
    if (a->bound == ARITH_RANGE) {
        return error_set(e, ERR_RANGE, "the sum is %s",
                         is_below ? "below the lower bound" : "above the upper bound");
    }
    *sum = is_below ? lo : hi;
    return OK;
}

static enum err sum_into(const struct arith *a, const struct amount *old, struct amount *operand,
                         struct buf *out, struct error *e)
{
    struct amount sum = *operand;
    bool was_finite = isfinite(operand->kind == KIND_NUMBER ? operand->d : 0.0);
    if (old != NULL) {
        if (old->is_too_long) return too_long(e);
        was_finite = was_finite && isfinite(old->kind == KIND_NUMBER ? old->d : 0.0);
        sum = *old;
        add(&sum, operand);
    }
    enum err err = apply_bounds(a, &sum, e);
    if (err != OK) return err;
    if (sum.kind == KIND_BIGINT && sum.len > BIGINT_BYTES_MAX) return too_long(e);
    if (sum.kind == KIND_NUMBER && sum.is_integer &&
        (sum.i > NUMBER_SAFE_MAX || sum.i < -NUMBER_SAFE_MAX)) {
        return error_set(e, ERR_OVERFLOW,
                         "the sum is beyond +-(2^53-1), use a bigint: {\"$bigint\":\"1\"}");
    }
    if (sum.kind == KIND_NUMBER && was_finite && !isfinite(sum.d)) {
        return error_set(e, ERR_OVERFLOW, "the sum is beyond the range of a double, use a bigint");
    }
    write_amount(&sum, out);
    return OK;
}

/* True when the operand takes the place of what is stored. */
static bool operand_wins(enum arith_op op, const struct amount *old, const struct amount *operand)
{
    if (is_nan(old)) return false;
    if (is_nan(operand)) return true;
    int c = compare(operand, old);
    return op == ARITH_MIN ? c < 0 : c > 0;
}

enum err arith_apply(const struct arith *a, const struct slice *old, struct buf *out,
                     struct error *e)
{
    struct amount stored = {0}, operand;
    size_t from = out->len;
    enum err err = arith_check(a, e);
    if (err != OK) return err;
    read_amount(a->operand, &operand);
    if (old != NULL) {
        read_amount(*old, &stored);
        if (stored.kind != operand.kind) return type_error(e, "stored value", *old, a->operand);
        if (stored.is_too_long) return too_long(e);
    }
    if (a->op == ARITH_SUM) {
        err = sum_into(a, old != NULL ? &stored : NULL, &operand, out, e);
    } else {
        bool is_operand = old == NULL || operand_wins(a->op, &stored, &operand);
        struct slice winner = is_operand ? a->operand : *old;
        buf_append(out, winner.data, winner.len);
    }
    if (err == OK && out->is_failed) err = error_set(e, ERR_NOMEM, "out of memory");
    if (err != OK) out->len = from;
    return err;
}

/* The items of an array without its head. False when it is none. */
static bool array_items(struct slice array, uint32_t *count, struct slice *items)
{
    const uint8_t *at = array.data, *end = at + array.len;
    struct pack_item head;
    if (pack_read(&at, end, &head) != PACK_OK || head.type != PACK_ARRAY) return false;
    *count = head.count;
    *items = slice_of(at, (size_t)(end - at));
    return true;
}

enum err arith_join(struct slice items, const struct slice *old, bool is_prepend, struct buf *out,
                    uint64_t *count, struct error *e)
{
    uint32_t added = 0, had = 0;
    struct slice added_items, had_items = {0};
    size_t from = out->len;
    if (!array_items(items, &added, &added_items)) {
        const char *name = value_type_name(items);
        return error_set(e, ERR_TYPE, "operand is %s%s, not an array", article(name), name);
    }
    if (old != NULL && !array_items(*old, &had, &had_items)) {
        return type_error(e, "stored value", *old, items);
    }
    *count = (uint64_t)added + had;
    if (*count > UINT32_MAX)
        return error_set(e, ERR_LIMIT, "an array of more than 2^32-1 elements");
    uint8_t head[PACK_HEAD_BYTES];
    buf_append(out, head, pack_head(PACK_ARRAY, 0, *count, head));
    struct slice first = is_prepend ? added_items : had_items;
    struct slice second = is_prepend ? had_items : added_items;
    buf_append(out, first.data, first.len);
    buf_append(out, second.data, second.len);
    enum err err = out->is_failed ? error_set(e, ERR_NOMEM, "out of memory") : OK;
    /* Two arrays may use one id for shared values, each for its own. Their extension has the byte
     * 'I', so without it in what is added there is nothing to check. */
    if (err == OK && had > 0 && memchr(items.data, EXT_ID, items.len) != NULL) {
        err = value_check(slice_of(out->data + from, out->len - from), e);
    }
    if (err != OK) out->len = from;
    return err;
}
