/* operations: what a transaction can do to a key, as words: those of KV.ATOMIC, and of the commands
 * of the same names. Each becomes a struct op.
 */
#ifndef COMMAND_KV_OPERATIONS_H
#define COMMAND_KV_OPERATIONS_H

#include "request/args.h"
#include "request/arguments.h"

extern const struct arguments op_check, op_set, op_del, op_sum, op_min, op_max, op_append,
    op_prepend;

#endif
