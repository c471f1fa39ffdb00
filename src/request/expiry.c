/* EX, PX, EXAT, PXAT, KEEPTTL and times to live, read into a struct op. */
#include "request/expiry.h"

static enum err read_expiry(struct request *rq, const struct argument *a, struct slice word,
                            void *to)
{
    int64_t n = 0;
    bool is_terse = arg_is_terse(rq);
    enum err r = arg_integer(rq, word, is_terse ? NULL : a->name, INT64_MIN, INT64_MAX, &n);
    if (r != OK || (n > 0 && ttl_fits(rq, (enum op_ttl)a->flags, n, a->min, to))) return r;
    (void)error_set(&rq->error, ERR_SYNTAX, "invalid expire time in '%s' command",
                    rq->command->name);
    if (!is_terse) error_add(&rq->error, ": %s %lld", a->name, (long long)n);
    return ERR_SYNTAX;
}
const struct argument_kind arg_kind_expiry = {.read = read_expiry, .type = WORD_TTL};

SHARED_ARGUMENTS_WITH(
    expiry_arguments, struct op,
    "<EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds | "
    "KEEPTTL>",
    WITH(.members = "EX - PX expiresIn EXAT - PXAT expiresAt KEEPTTL keepTtl"),
    ARG_CHOICE(struct op, ttl, {"EX", TTL_AFTER}, {"PX", TTL_AFTER}, {"EXAT", TTL_AT},
               {"PXAT", TTL_AT}, {"KEEPTTL", TTL_KEEP}),
    ARG_EXPIRY("EX", TTL_AFTER, 1000), ARG_EXPIRY("PX", TTL_AFTER, 1),
    ARG_EXPIRY("EXAT", TTL_AT, 1000), ARG_EXPIRY("PXAT", TTL_AT, 1));
