/* sum: sums, minima and maxima as Deno computes them on its own database, with its words. Numbers
 * are JavaScript's: a sum of integers beyond 2^53 is rounded as there. */
#include "codec/pack.h"
#include "codec/value.h"
#include "command/connect/connect_int.h"

enum kind { KIND_OTHER, KIND_NUMBER, KIND_BIGINT, KIND_U64 };

static const char *const kind_names[] = {
    [KIND_NUMBER] = "Number", [KIND_BIGINT] = "BigInt", [KIND_U64] = "KvU64"};
static const char *const op_names[] = {
    [ARITH_SUM] = "sum", [ARITH_MIN] = "min", [ARITH_MAX] = "max"};

static enum kind kind_of(struct slice value)
{
    const char *name = value_type_name(value);
    if (strcmp(name, "number") == 0) return KIND_NUMBER;
    if (strcmp(name, "bigint") == 0) return KIND_BIGINT;
    return strcmp(name, "u64") == 0 ? KIND_U64 : KIND_OTHER;
}

enum err connect_sum_check(const struct connect_sum *s, struct error *e)
{
    enum kind kind = kind_of(s->operand);
    const struct slice *bounds[] = {&s->min, &s->max};
    if (s->op != ARITH_SUM && kind != KIND_U64) {
        return error_set(e, ERR_TYPE, "Failed to perform '%s' mutation on a non-U64 operand",
                         op_names[s->op]);
    }
    if (kind == KIND_OTHER) {
        return error_set(e, ERR_TYPE, "Some of the parameters are not valid V8 values");
    }
    for (size_t i = 0; i < 2; i++) {
        if (bounds[i]->data == NULL) continue;
        if (kind == KIND_U64) {
            return error_set(e, ERR_TYPE, "Cannot use min/max parameters with KvU64 operands");
        }
        if (kind_of(*bounds[i]) != kind) {
            return error_set(e, ERR_TYPE,
                             "Min/max parameters have different types than the operand");
        }
    }
    return OK;
}

/* A number as a double, whatever it is stored as. */
static void put_double(struct slice number, struct buf *out)
{
    const uint8_t *at = number.data;
    struct pack_item item = {0};
    if (pack_read(&at, number.data + number.len, &item) != PACK_OK) return;
    double d = item.type == PACK_UINT ? (double)item.u : (double)item.i;
    pack_float(out, item.type == PACK_FLOAT ? item.f : d);
}

static enum err apply(enum arith_op op, struct slice operand, struct slice old, struct buf *out,
                      struct error *e)
{
    struct arith a = {.op = op, .operand = operand};
    enum err r = arith_apply(&a, &old, out, e);
    if (r != ERR_OVERFLOW || kind_of(operand) != KIND_NUMBER) return r;
    struct buf rounded;
    buf_init(&rounded);
    put_double(operand, &rounded);
    a.operand = buf_slice(&rounded);
    r = arith_apply(&a, &old, out, e);
    buf_fini(&rounded);
    return r;
}

/* Is the sum at out[from..] beyond the bound? Then it becomes the bound, or is an error. */
static enum err bound(const struct connect_sum *s, enum arith_op inside, size_t from,
                      struct buf *out, struct error *e)
{
    struct slice limit = inside == ARITH_MAX ? s->min : s->max;
    struct buf other;
    struct buf same;
    if (limit.data == NULL) return OK;
    struct slice sum = slice_of(out->data + from, out->len - from);
    buf_init(&other);
    buf_init(&same);
    /* The larger of the sum and its minimum is the minimum, the smaller the sum: it is below. */
    enum err r = apply(inside, limit, sum, &other, e);
    if (r == OK) r = apply(inside == ARITH_MAX ? ARITH_MIN : ARITH_MAX, limit, sum, &same, e);
    bool is_beyond = r == OK && slice_eq(buf_slice(&same), sum) &&
                     !slice_eq(buf_slice(&other), sum);
    if (is_beyond && s->is_clamped) {
        out->len = from;
        buf_append(out, limit.data, limit.len);
    } else if (is_beyond) {
        r = error_set(e, ERR_RANGE, "The result of a Sum operation would exceed its range limit");
    }
    buf_fini(&other);
    buf_fini(&same);
    return r;
}

/* A bigint as a u64; false: it is none, or outside. */
static bool to_u64(struct slice bigint, struct buf *out)
{
    const uint8_t *at = bigint.data;
    struct pack_item item;
    uint8_t bytes[8];
    uint64_t n = 0;
    if (pack_read(&at, bigint.data + bigint.len, &item) != PACK_OK) return false;
    if (item.type == PACK_UINT) {
        n = item.u;
    } else if (item.type == PACK_EXT && item.ext == EXT_BIGINT && item.body.len <= 9 &&
               item.body.len > 0 && item.body.data[0] < 0x80 &&
               (item.body.len < 9 || item.body.data[0] == 0)) {
        for (size_t i = 0; i < item.body.len; i++) n = n << 8 | item.body.data[i];
    } else {
        return false;
    }
    for (size_t i = 0; i < 8; i++) bytes[i] = (uint8_t)(n >> (56 - 8 * i));
    pack_ext(out, EXT_U64, slice_of(bytes, 8));
    return true;
}

/* A counter, and a bigint that is none: it wraps as one, if the bigint fits. */
static enum err add_to_u64(const struct connect_sum *s, struct slice old, struct buf *out,
                           struct error *e)
{
    struct buf operand;
    enum kind kind = kind_of(s->operand);
    bool has_bounds = s->min.data != NULL || s->max.data != NULL || s->is_clamped;
    buf_init(&operand);
    enum err r = OK;
    if (kind == KIND_BIGINT && !has_bounds && to_u64(s->operand, &operand)) {
        r = apply(ARITH_SUM, buf_slice(&operand), old, out, e);
    } else {
        r = error_set(e, ERR_TYPE, "Cannot sum KvU64 with %s", kind_names[kind]);
    }
    buf_fini(&operand);
    return r;
}

enum err connect_sum_apply(const struct connect_sum *s, const struct slice *old, struct buf *out,
                           struct error *e)
{
    enum kind kind = kind_of(s->operand);
    enum kind stored = old == NULL ? kind : kind_of(*old);
    size_t from = out->len;
    if (old == NULL) {
        buf_append(out, s->operand.data, s->operand.len);
        return OK;
    }
    if (kind == KIND_U64 && stored != KIND_U64) {
        return error_set(e, ERR_TYPE,
                         "Failed to perform '%s' mutation on a non-U64 value in the database",
                         op_names[s->op]);
    }
    if (kind == KIND_U64) return apply(s->op, s->operand, *old, out, e);
    if (stored == KIND_OTHER) return error_set(e, ERR_TYPE, "unsupported value type");
    if (stored == KIND_U64) return add_to_u64(s, *old, out, e);
    if (stored != kind) {
        return error_set(e, ERR_TYPE, "Cannot sum %s with %s", kind_names[stored],
                         kind_names[kind]);
    }
    enum err r = apply(ARITH_SUM, s->operand, *old, out, e);
    if (r == OK) r = bound(s, ARITH_MAX, from, out, e);
    if (r == OK) r = bound(s, ARITH_MIN, from, out, e);
    return r;
}
