/* string_bit_operation: BITOP. The shorter values go on with zeros. */
#include "codec/value.h"
#include "command/string/bits.h"
#include "request/keys.h"
#include "request/table.h"

enum bitop { BITOP_AND, BITOP_OR, BITOP_XOR, BITOP_NOT };

static enum err parse_bitop(struct request *rq, enum bitop *out)
{
    static const char *const words[] = {"AND", "OR", "XOR", "NOT"};
    unsigned i = 0;
    while (i < 4 && !slice_is_word(rq->argv[1], words[i])) i++;
    if (i == 4) return string_syntax(rq);
    *out = (enum bitop)i;
    if (*out != BITOP_NOT || rq->argc == 4) return OK;
    return error_set(&rq->error, ERR_SYNTAX, "BITOP NOT must be called with a single source key.");
}

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
static enum err read_sources(struct request *rq, struct slice *sources, size_t count, size_t *len)
{
    uint64_t max = engine_limits(rq->env->db->engine)->txn_bytes_max;
    uint64_t total = 0;
    for (size_t i = 0; i < count; i++) {
        bool exists = false;
        enum err r = string_read(rq, rq->argv[3 + i], &exists, &sources[i]);
        if (r != OK) return r;
        total += sources[i].len;
        if (total > max) {
            return error_set(&rq->error, ERR_LIMIT,
                             "BITOP of more than max-transaction-size (%llu bytes)",
                             (unsigned long long)max);
        }
        if (sources[i].len > *len) *len = sources[i].len;
    }
    return OK;
}

static enum err bitop_run(struct request *rq)
{
    enum bitop kind = BITOP_AND;
    size_t count = rq->argc - 3;
    size_t len = 0;
    uint8_t *to = NULL;
    struct op op = {.kind = OP_SET};
    enum err r = parse_bitop(rq, &kind);
    if (r == OK) r = check_ops(rq, count);
    if (r == OK) r = arg_string_key(rq, rq->argv[2], &op.key);
    if (r != OK) return r;
    struct slice *sources = arena_alloc(rq->arena, count * sizeof *sources);
    r = read_sources(rq, sources, count, &len);
    if (r != OK) return r;
    if (len == 0) { /* as Redis, which has no such value then */
        op.kind = OP_DELETE;
        op.counts_live = true;
    } else {
        r = bits_lengthen(rq, sources[0], len, &to, &op.value);
        if (r != OK) return r;
        for (size_t i = kind == BITOP_NOT ? 0 : 1; i < count; i++) join(kind, to, len, sources[i]);
    }
    r = request_commit(rq, &op, 1);
    if (r == OK) resp_int(rq->w, (int64_t)len);
    return r;
}

const struct command cmd_bitop = {
    .name = "bitop",
    .arity = -4,
    .flags = CMD_STRING | CMD_BITMAP | CMD_WRITE,
    .first_key = 2,
    .last_key = -1,
    .key_step = 1,
    .key_flags = KEY_RO | KEY_ACCESS,
    .other_key = 2,
    .other_key_flags = KEY_OW | KEY_UPDATE,
    .group = "string",
    .since = "0.1.0",
    .summary = "Joins the bits of values into another one, which does not expire; its length.",
    .syntax = "<AND | OR | XOR | NOT> destkey key [key ...]",
    .run = bitop_run,
};
