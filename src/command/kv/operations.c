/* The operations that KV.ATOMIC, KV.LOAD and their like are given, as arguments. */
#include "command/kv/operations.h"

#include "request/expiry.h"
#include "request/keys.h"

SHARED_ARGUMENTS_WITH(op_check, struct op, "key version", WITH(.members = "version versionstamp"),
                      ARG_FIXED(struct op, kind, OP_CHECK),
                      ARG_KEY(struct op, key, "key", KEY_RO | KEY_ACCESS),
                      ARG_STAMP(struct op, expected, "version"));

SHARED_ARGUMENTS(op_set, struct op, "key value [expiry]", ARG_FIXED(struct op, kind, OP_SET),
                 ARG_KEY(struct op, key, "key", KEY_OW | KEY_UPDATE),
                 ARG_VALUE(struct op, value, "value"), ARG_ALSO("expiry", expiry_arguments));

SHARED_ARGUMENTS(op_del, struct op, "key", ARG_FIXED(struct op, kind, OP_DELETE),
                 ARG_KEY(struct op, key, "key", KEY_RM | KEY_DELETE));

/* ---- numbers ---- */

static enum err check_arith(struct request *rq, void *bound)
{
    const struct op *op = bound;
    return arith_check(&op->arith, &rq->error);
}

#define COMPUTED_KEY ARG_KEY(struct op, key, "key", KEY_RW | KEY_ACCESS | KEY_UPDATE)

SHARED_ARGUMENTS_WITH(op_sum, struct op, "key value [CLAMP lo hi | RANGE lo hi]",
                      WITH(.check = check_arith), ARG_FIXED(struct op, kind, OP_ARITH),
                      ARG_FIXED(struct op, arith.op, ARITH_SUM), COMPUTED_KEY,
                      ARG_NUMBER(struct op, arith.operand, "value"),
                      ARG_CHOICE(struct op, arith.bound, {"CLAMP", ARITH_CLAMP},
                                 {"RANGE", ARITH_RANGE}),
                      ARG_NUMBER(struct op, arith.lo, "lo"), ARG_NUMBER(struct op, arith.hi, "hi"));

SHARED_ARGUMENTS_WITH(op_min, struct op, "key value", WITH(.check = check_arith),
                      ARG_FIXED(struct op, kind, OP_ARITH),
                      ARG_FIXED(struct op, arith.op, ARITH_MIN), COMPUTED_KEY,
                      ARG_NUMBER(struct op, arith.operand, "value"));

SHARED_ARGUMENTS_WITH(op_max, struct op, "key value", WITH(.check = check_arith),
                      ARG_FIXED(struct op, kind, OP_ARITH),
                      ARG_FIXED(struct op, arith.op, ARITH_MAX), COMPUTED_KEY,
                      ARG_NUMBER(struct op, arith.operand, "value"));

/* ---- arrays ---- */

#define JOINED_KEY ARG_KEY(struct op, key, "key", KEY_RW | KEY_INSERT)

SHARED_ARGUMENTS_WITH(op_append, struct op, "key array", WITH(.members = "array value"),
                      ARG_FIXED(struct op, kind, OP_JOIN), JOINED_KEY,
                      ARG_ARRAY(struct op, value, "array"));

SHARED_ARGUMENTS_WITH(op_prepend, struct op, "key array", WITH(.members = "array value"),
                      ARG_FIXED(struct op, kind, OP_JOIN), ARG_FIXED(struct op, is_prepend, true),
                      JOINED_KEY, ARG_ARRAY(struct op, value, "array"));
