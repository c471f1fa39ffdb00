/* expiry: the words that say when a key expires, of KV.SET, SET and their like. */
#ifndef REQUEST_EXPIRY_H
#define REQUEST_EXPIRY_H

#include "request/args.h"
#include "request/arguments.h"

/* EX n, PX n, EXAT n, PXAT n or KEEPTTL into a struct op. */
extern const struct arguments expiry_arguments;

/* A time to live that may be any number, as EXPIRE has it: the member of a struct op is its
 * ttl_ms. `kind`: TTL_AFTER or TTL_AT. */
extern const struct argument_kind arg_kind_expiry;
#define ARG_EXPIRY(label, kind_of, unit)                                                           \
    {                                                                                              \
        ARG_ONE(struct op, ttl_ms, int64_t, label, arg_kind_expiry), .flags = (kind_of),           \
                                                                     .min = (unit)                 \
    }

#endif
