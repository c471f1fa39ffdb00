/* arith: the mutations that compute (KV.SUM, MIN, MAX, APPEND, PREPEND) as pure functions
 * on stored bytes. `old` is the stored value, or NULL when the key is absent. All values have
 * passed value_check. The result is appended to `out` in its smallest encoding; on error out is as
 * before.
 *
 * Errors: ERR_TYPE naming both types ("stored value is a string, operand is a number");
 * ERR_OVERFLOW ("overflow: ... use bigint", and for RANGE "overflow: ... outside the range").
 */
#ifndef CODEC_ARITH_H
#define CODEC_ARITH_H

#include "base/buf.h"
#include "base/err.h"

enum arith_op { ARITH_SUM, ARITH_MIN, ARITH_MAX };
enum arith_bound { ARITH_UNBOUNDED, ARITH_CLAMP, ARITH_RANGE };

struct arith {
    enum arith_op op;
    enum arith_bound bound; /* SUM only */
    struct slice operand;   /* number, bigint or u64 */
    struct slice lo, hi;    /* when bounded: same type as operand, lo <= hi (checked: ERR_VALUE) */
};

/* number with number, bigint with bigint (exact, at most 255 bytes of magnitude), u64 with u64 (SUM
 * wraps mod 2^64; bounds are not possible with u64: ERR_TYPE). Integer + integer stays an exact
 * integer and must stay within +-(2^53-1). A float result that is an integer within that range is
 * written as an integer only if both sides were integers. MIN and MAX keep the winner's bytes. */
ERR_MUST_USE enum err arith_apply(const struct arith *a, const struct slice *old, struct buf *out,
                                  struct error *e);

/* old ++ items (or items ++ old when is_prepend); both arrays, else ERR_TYPE. *count = length. */
ERR_MUST_USE enum err arith_join(struct slice items, const struct slice *old, bool is_prepend,
                                 struct buf *out, uint64_t *count, struct error *e);

/* ERR_TYPE unless operand (and bounds) could be applied to some value: the check made when a
 * command is parsed. */
ERR_MUST_USE enum err arith_check(const struct arith *a, struct error *e);

#endif
