/* string_range: parts of a value: GETRANGE, SUBSTR, SETRANGE; and what else makes a value of a
 * length that a number in the command says.
 */
#include "codec/pack.h"
#include "codec/value.h"
#include "command/string/string_int.h"
#include "request/keys.h"
#include "request/table.h"

enum err string_fits(struct request *rq, uint64_t bytes)
{
    uint64_t max = engine_limits(rq->env->db->engine)->value_bytes_max;
    if (bytes > STRING_BYTES_MAX) {
        return error_set(&rq->error, ERR_SYNTAX,
                         "string exceeds maximum allowed size (proto-max-bulk-len)");
    }
    if (bytes <= max) return OK;
    return error_set(&rq->error, ERR_LIMIT,
                     "value of %llu bytes is larger than max-value-size (%llu)",
                     (unsigned long long)bytes, (unsigned long long)max);
}

enum err string_room(struct request *rq, size_t bytes, uint8_t **to, struct slice *value)
{
    uint8_t *p = arena_alloc_try(rq->arena, bytes + PACK_HEAD_BYTES);
    if (p == NULL) return error_set(&rq->error, ERR_NOMEM, "out of memory for a value");
    size_t head = pack_head(PACK_BIN, 0, bytes, p);
    memset(p + head, 0, bytes);
    *to = p + head;
    *value = slice_of(p, head + bytes);
    return OK;
}

enum err string_replace(struct request *rq, struct slice key, struct slice value)
{
    struct op op = {.kind = OP_SET, .ttl = TTL_KEEP, .key = key, .value = value};
    return request_commit(rq, &op, 1);
}

void string_bounds(int64_t total, int64_t *start, int64_t *end)
{
    if (*start < 0 && *end < 0 && *start > *end) return;
    if (*start < 0) *start += total;
    if (*end < 0) *end += total;
    if (*start < 0) *start = 0;
    if (*end < 0) *end = 0;
    if (*end >= total) *end = total - 1;
}

/* ---- GETRANGE, SUBSTR ---- */

struct part {
    struct slice key;
    int64_t start, end;
};
ARGUMENTS(getrange_arguments, struct part, "key start end", ARG_KEY(struct part, key, "key", 0),
          ARG_INTEGER(struct part, start, "start", INT64_MIN, INT64_MAX, 0),
          ARG_INTEGER(struct part, end, "end", INT64_MIN, INT64_MAX, 0));

static enum err getrange_run(struct request *rq)
{
    const struct part *a = rq->bound;
    struct slice bytes = {0};
    bool exists = false;
    int64_t start = a->start;
    int64_t end = a->end;
    enum err r = string_read(rq, a->key, &exists, &bytes);
    if (r != OK) return r;
    string_bounds((int64_t)bytes.len, &start, &end);
    if (bytes.len == 0 || start > end) {
        resp_bulk(rq->w, slice_of("", 0));
    } else {
        resp_bulk(rq->w, slice_of(bytes.data + start, (size_t)(end - start + 1)));
    }
    return OK;
}
STRING_COMMAND(getrange, "getrange", CMD_READ | CMD_FOLLOWER, KEY_RO | KEY_ACCESS,
               "Returns the bytes of a value from a start to an end, both included. Negative "
               "offsets count from the end.",
               getrange_arguments, getrange_run);

STRING_COMMAND(substr, "substr", CMD_READ | CMD_FOLLOWER, KEY_RO | KEY_ACCESS,
               "Returns the bytes of a value from a start to an end. GETRANGE replaces it.",
               getrange_arguments, getrange_run);

/* ---- SETRANGE ---- */

struct setrange {
    struct slice key, put;
    int64_t offset;
};
ARGUMENTS(setrange_arguments, struct setrange, "key offset value",
          ARG_KEY(struct setrange, key, "key", 0),
          ARG_INTEGER(struct setrange, offset, "offset", INT64_MIN, INT64_MAX, 0),
          ARG_WORD(struct setrange, put, "value"));

static enum err setrange_run(struct request *rq)
{
    const struct setrange *a = rq->bound;
    struct slice put = a->put;
    struct slice bytes = {0};
    struct slice value = {0};
    bool exists = false;
    uint8_t *to = NULL;
    if (a->offset < 0) return error_set(&rq->error, ERR_SYNTAX, "offset is out of range");
    enum err r = string_read(rq, a->key, &exists, &bytes);
    if (r != OK) return r;
    if (put.len == 0) {
        resp_int(rq->w, (int64_t)bytes.len);
        return OK;
    }
    uint64_t end = (uint64_t)a->offset + put.len;
    uint64_t len = end > bytes.len ? end : bytes.len;
    r = string_fits(rq, len);
    if (r == OK) r = string_room(rq, (size_t)len, &to, &value);
    if (r != OK) return r;
    INVARIANT(to != NULL);
    bytes_copy(to, bytes.data, bytes.len);
    bytes_copy(to + a->offset, put.data, put.len);
    r = string_replace(rq, a->key, value);
    if (r == OK) resp_int(rq->w, (int64_t)len);
    return r;
}
STRING_COMMAND(setrange, "setrange", CMD_WRITE, KEY_RW | KEY_UPDATE,
               "Overwrites a part of a value from an offset on and returns the new length.",
               setrange_arguments, setrange_run);
