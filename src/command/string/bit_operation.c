/* string_bit_operation: BITOP. The shorter values go on with zeros. */
#include "command/string/bits.h"
#include "request/keys.h"
#include "request/table.h"

enum bitop { BITOP_AND, BITOP_OR, BITOP_XOR, BITOP_NOT };

struct operation {
    enum bitop kind;
    struct slice to;
    struct slices from;
};

static enum err check_bitop(struct request *rq, void *bound)
{
    const struct operation *a = bound;
    if (a->kind == BITOP_NOT && a->from.count > 1) {
        return error_set(&rq->error, ERR_SYNTAX,
                         "BITOP NOT must be called with a single source key.");
    }
    return check_ops(rq, a->from.count);
}

ARGUMENTS_WITH(bitop_arguments, struct operation, "<AND | OR | XOR | NOT> destkey key [key ...]",
               WITH(.check = check_bitop),
               ARG_CHOICE(struct operation, kind, {"AND", BITOP_AND}, {"OR", BITOP_OR},
                          {"XOR", BITOP_XOR}, {"NOT", BITOP_NOT}),
               ARG_KEY(struct operation, to, "destkey", KEY_OW | KEY_UPDATE),
               ARG_KEYS(struct operation, from, "key", KEY_RO | KEY_ACCESS));

static void join(enum bitop kind, uint8_t *to, size_t len, struct slice with)
{
    size_t both = with.len < len ? with.len : len;
    switch (kind) {
    case BITOP_AND:
        for (size_t i = 0; i < both; i++) to[i] &= with.data[i];
        memset(to + both, 0, len - both);
        break;
    case BITOP_OR:
        for (size_t i = 0; i < both; i++) to[i] |= with.data[i];
        break;
    case BITOP_XOR:
        for (size_t i = 0; i < both; i++) to[i] ^= with.data[i];
        break;
    case BITOP_NOT:
        for (size_t i = 0; i < len; i++) to[i] = (uint8_t)~to[i];
        break;
    }
}

/* All of it is done in one turn, so there is a limit to how much is read. */
static enum err read_sources(struct request *rq, const struct slices *keys, struct slice *sources,
                             size_t *len)
{
    uint64_t max = engine_limits(rq->env->db->engine)->txn_bytes_max;
    uint64_t total = 0;
    for (size_t i = 0; i < keys->count; i++) {
        bool exists = false;
        enum err r = string_read(rq, keys->items[i], &exists, &sources[i]);
        if (r != OK) return r;
        total += sources[i].len;
        if (total > max) {
            return error_set(&rq->error, ERR_LIMIT,
                             "BITOP of more than max-transaction-size (%llu bytes)",
                             (unsigned long long)max);
        }
        if (sources[i].len > *len) *len = sources[i].len;
    }
    return request_take_steps(rq, total / 2);
}

static enum err bitop_run(struct request *rq)
{
    const struct operation *a = rq->bound;
    size_t count = a->from.count;
    size_t len = 0;
    uint8_t *to = NULL;
    struct op op = {.kind = OP_SET, .key = a->to};
    struct slice *sources = arena_alloc(rq->arena, count * sizeof *sources);
    enum err r = read_sources(rq, &a->from, sources, &len);
    if (r != OK) return r;
    if (len == 0) { /* as Redis, which has no such value then */
        op.kind = OP_DELETE;
        op.counts_live = true;
    } else {
        r = bits_lengthen(rq, sources[0], len, &to, &op.value);
        if (r != OK) return r;
        for (size_t i = a->kind == BITOP_NOT ? 0 : 1; i < count; i++)
            join(a->kind, to, len, sources[i]);
    }
    r = request_commit(rq, &op, 1);
    if (r == OK) resp_int(rq->w, (int64_t)len);
    return r;
}

const struct command cmd_bitop = {
    .name = "bitop",
    .flags = CMD_STRING | CMD_BITMAP | CMD_WRITE,
    .group = "string",
    .summary = "Stores the result of a bitwise operation on values in a key without expiry, and "
               "returns its length.",
    .arguments = &bitop_arguments,
    .run = bitop_run,
};
