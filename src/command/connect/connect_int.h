/* connect_int: KV.CONNECT, what Deno asks of a database over KV Connect (src/http/connect.c,
 * docs/deno.md), as commands: values in Deno's encodings, keys as their bytes, Deno's limits and
 * words. */
#ifndef COMMAND_CONNECT_CONNECT_INT_H
#define COMMAND_CONNECT_CONNECT_INT_H

#include "command/connect/value.h"
#include "engine/engine.h"
#include "request/args.h"

/* Deno's limits, which its client has too; errors are worded as denokv's. */
#define CONNECT_KEY_BYTES_MAX 2048
#define CONNECT_VALUE_BYTES_MAX 65536
#define CONNECT_RANGES_MAX 10
#define CONNECT_ROWS_MAX 1000
#define CONNECT_CHECKS_MAX 100
#define CONNECT_OPS_MAX 1000
#define CONNECT_WRITE_BYTES_MAX 819200
#define CONNECT_DELAY_MS_MAX (30LL * 24 * 3600 * 1000)
#define CONNECT_BACKOFF_MAX 10
#define CONNECT_BACKOFF_MS_MAX 3600000
#define CONNECT_UNDELIVERED_MAX 10
#define CONNECT_QUEUE "deno"

extern const struct command connect_read, connect_write;

/* ---- value.c ---- */

/* The internal key of a tuple's bytes in the selected database, in the arena. */
struct slice connect_key(struct request *rq, struct slice tuple);

/* The stored form of `data`, in the arena. */
ERR_MUST_USE enum err connect_value(struct request *rq, struct slice encoding, struct slice data,
                                    struct slice *value);
/* ---- sum.c: sums, minima and maxima as Deno computes them ---- */

struct connect_sum {
    enum arith_op op;
    struct slice operand;  /* stored form: u64, bigint or number */
    struct slice min, max; /* stored form, of the operand's type; data NULL = none. Of sums */
    bool is_clamped;       /* else a result outside is an error */
};

/* ERR_TYPE unless the operand, and the bounds, can be those of some sum. */
ERR_MUST_USE enum err connect_sum_check(const struct connect_sum *s, struct error *e);
/* Appends the new value. `old` NULL = the key is absent. */
ERR_MUST_USE enum err connect_sum_apply(const struct connect_sum *s, const struct slice *old,
                                        struct buf *out, struct error *e);

#endif
