/* string_expiry: GETEX, a value and a new expiry in one command. */
#include "command/string/string_int.h"
#include "request/keys.h"
#include "request/table.h"

enum getex_how { EXPIRY_STAYS, IN_SECONDS, IN_MS, AT_SECONDS, AT_MS, PERSIST };

struct getex {
    struct slice key, time;
    enum getex_how how;
};
ARGUMENTS(getex_arguments, struct getex,
          "key [EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT "
          "unix-time-milliseconds | PERSIST]",
          ARG_KEY(struct getex, key, "key", 0),
          ARG_CHOICE(struct getex, how, {"EX", IN_SECONDS}, {"PX", IN_MS}, {"EXAT", AT_SECONDS},
                     {"PXAT", AT_MS}, {"PERSIST", PERSIST}),
          ARG_WORD(struct getex, time, "EX"), ARG_WORD(struct getex, time, "PX"),
          ARG_WORD(struct getex, time, "EXAT"), ARG_WORD(struct getex, time, "PXAT"));

/* As Redis, whether a time is possible is asked only when there is something to expire. */
static enum err getex_time(struct request *rq, const struct getex *a, struct op *op)
{
    int64_t n = 0;
    bool is_at = a->how == AT_SECONDS || a->how == AT_MS;
    int64_t unit_ms = a->how == IN_SECONDS || a->how == AT_SECONDS ? 1000 : 1;
    op->ttl = a->how == PERSIST ? TTL_NONE : is_at ? TTL_AT : TTL_AFTER;
    if (a->how == PERSIST) return OK;
    enum err r = string_integer(rq, a->time, &n);
    if (r != OK) return r;
    if (n > 0 && ttl_fits(rq, op->ttl, n, unit_ms, &op->ttl_ms)) return OK;
    return error_set(&rq->error, ERR_SYNTAX, "invalid expire time in 'getex' command");
}

static enum err getex_run(struct request *rq)
{
    const struct getex *a = rq->bound;
    struct op op = {.kind = OP_EXPIRE, .key = a->key};
    struct slice bytes = {0};
    bool exists = false;
    enum err r = string_read(rq, a->key, &exists, &bytes);
    if (r != OK) return r;
    if (!exists) {
        resp_nil(rq->w);
        return OK;
    }
    if (a->how != EXPIRY_STAYS) {
        r = getex_time(rq, a, &op);
        if (r == OK) r = request_commit(rq, &op, 1);
    }
    if (r == OK) resp_bulk(rq->w, bytes);
    return r;
}
STRING_COMMAND(getex, "getex", CMD_WRITE | CMD_FAST, KEY_RW | KEY_ACCESS | KEY_UPDATE,
               "Returns the value of a key and sets or removes its expiry.", getex_arguments,
               getex_run);
