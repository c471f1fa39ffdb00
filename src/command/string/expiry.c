/* string_expiry: GETEX, a value and a new expiry in one command. */
#include "codec/value.h"
#include "command/string/string_int.h"
#include "request/keys.h"
#include "request/table.h"

struct getex {
    enum op_ttl ttl; /* TTL_KEEP = the expiry stays */
    int64_t unit_ms;
};

/* As Redis, whether a time is possible is asked only when there is something to expire. */
static enum err parse_getex(struct request *rq, struct getex *x)
{
    static const struct {
        const char *word;
        enum op_ttl ttl;
        int64_t unit_ms;
    } words[] = {{"EX", TTL_AFTER, 1000},
                 {"PX", TTL_AFTER, 1},
                 {"EXAT", TTL_AT, 1000},
                 {"PXAT", TTL_AT, 1},
                 {"PERSIST", TTL_NONE, 0}};
    size_t i = 0;
    *x = (struct getex){.ttl = TTL_KEEP};
    if (rq->argc == 2) return OK;
    while (i < 5 && !slice_is_word(rq->argv[2], words[i].word)) i++;
    if (i == 5 || rq->argc != (words[i].ttl == TTL_NONE ? 3 : 4)) return string_syntax(rq);
    x->ttl = words[i].ttl;
    x->unit_ms = words[i].unit_ms;
    return OK;
}

static enum err getex_time(struct request *rq, const struct getex *x, struct op *op)
{
    int64_t n = 0;
    op->ttl = x->ttl;
    if (x->ttl == TTL_NONE) return OK;
    enum err r = string_integer(rq, rq->argv[3], &n);
    if (r != OK) return r;
    if (n > 0 && ttl_fits(rq, x->ttl, n, x->unit_ms, &op->ttl_ms)) return OK;
    return error_set(&rq->error, ERR_SYNTAX, "invalid expire time in 'getex' command");
}

static enum err getex_run(struct request *rq)
{
    struct getex x;
    struct op op = {.kind = OP_EXPIRE};
    struct slice bytes = {0};
    struct entry entry;
    enum err r = parse_getex(rq, &x);
    if (r == OK) r = arg_string_entry(rq, rq->argv[1], &op.key, &entry);
    if (r != OK) return r;
    if (!entry.exists) {
        resp_nil(rq->w);
        return OK;
    }
    if (!value_bytes_of(entry.value, &bytes)) return string_wrong_type(&rq->error);
    if (x.ttl != TTL_KEEP) {
        r = getex_time(rq, &x, &op);
        if (r == OK) r = request_commit(rq, &op, 1);
    }
    if (r == OK) resp_bulk(rq->w, bytes);
    return r;
}
STRING_COMMAND(getex, "getex", -2, CMD_WRITE | CMD_FAST, KEY_RW | KEY_ACCESS | KEY_UPDATE, 1, 1,
               "The bytes of a plain key, which gets another expiry, or none.",
               "key [EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT "
               "unix-time-milliseconds | PERSIST]");
