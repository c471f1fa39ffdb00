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
    if (p == NULL) return error_set(&rq->error, ERR_NOMEM, "no memory for a value");
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

static enum err getrange_run(struct request *rq)
{
    struct slice bytes = {0};
    bool exists = false;
    int64_t start = 0;
    int64_t end = 0;
    enum err r = string_integer(rq, rq->argv[2], &start);
    if (r == OK) r = string_integer(rq, rq->argv[3], &end);
    if (r == OK) r = string_read(rq, rq->argv[1], &exists, &bytes);
    if (r != OK) return r;
    string_bounds((int64_t)bytes.len, &start, &end);
    if (bytes.len == 0 || start > end) {
        resp_bulk(rq->w, slice_of("", 0));
    } else {
        resp_bulk(rq->w, slice_of(bytes.data + start, (size_t)(end - start + 1)));
    }
    return OK;
}
STRING_COMMAND(getrange, "getrange", 4, CMD_READ | CMD_FOLLOWER, KEY_RO | KEY_ACCESS, 1, 1,
               "Bytes of a value, from one to another, both included; below 0 from the end.",
               "key start end");

static enum err substr_run(struct request *rq)
{
    return getrange_run(rq);
}
STRING_COMMAND(substr, "substr", 4, CMD_READ | CMD_FOLLOWER, KEY_RO | KEY_ACCESS, 1, 1,
               "As GETRANGE.", "key start end");

/* ---- SETRANGE ---- */

static enum err setrange_run(struct request *rq)
{
    struct slice key = {0};
    struct slice bytes = {0};
    struct slice put = rq->argv[3];
    struct slice value = {0};
    struct entry entry;
    uint8_t *to = NULL;
    int64_t offset = 0;
    enum err r = string_integer(rq, rq->argv[2], &offset);
    if (r == OK && offset < 0) r = error_set(&rq->error, ERR_SYNTAX, "offset is out of range");
    if (r == OK) r = arg_string_entry(rq, rq->argv[1], &key, &entry);
    if (r != OK) return r;
    if (entry.exists && !value_bytes_of(entry.value, &bytes)) return string_wrong_type(&rq->error);
    if (put.len == 0) {
        resp_int(rq->w, (int64_t)bytes.len);
        return OK;
    }
    uint64_t end = (uint64_t)offset + put.len;
    uint64_t len = end > bytes.len ? end : bytes.len;
    r = string_fits(rq, len);
    if (r == OK) r = string_room(rq, (size_t)len, &to, &value);
    if (r != OK) return r;
    INVARIANT(to != NULL);
    bytes_copy(to, bytes.data, bytes.len);
    bytes_copy(to + offset, put.data, put.len);
    r = string_replace(rq, key, value);
    if (r == OK) resp_int(rq->w, (int64_t)len);
    return r;
}
STRING_COMMAND(setrange, "setrange", 4, CMD_WRITE, KEY_RW | KEY_UPDATE, 1, 1,
               "Puts bytes into a value from an offset on; the reply is its length.",
               "key offset value");
