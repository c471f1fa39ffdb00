/* string_dump: DUMP and RESTORE: a value of any kind as bytes for another server of this kind:
 *
 *   "TPLD", version (1 byte), the value as it is stored, XXH3 of all before (8 bytes, the lowest
 *   first)
 *
 * Version 1 has values that a client may write, version 2 a collection: its head with all elements
 * in it, also of one that is kept as rows; version 3 a stream: its parts (codec/stream.h).
 *
 * What Redis dumps is refused, as is what this server dumps by Redis.
 */
#include <xxhash.h>

#include "codec/value.h"
#include "collection/copy.h"
#include "command/string/string_int.h"
#include "request/elements.h"
#include "request/keys.h"
#include "request/table.h"

#define DUMP_MAGIC "TPLD"
#define DUMP_MAGIC_BYTES 4
#define DUMP_HEAD_BYTES 5
enum dump_version { DUMP_VALUE = 1, DUMP_COLLECTION = 2, DUMP_STREAM = 3 };
#define DUMP_SUM_BYTES 8

static void sum_write(struct slice of, uint8_t to[DUMP_SUM_BYTES])
{
    uint64_t sum = XXH3_64bits(of.data, of.len);
    for (unsigned i = 0; i < DUMP_SUM_BYTES; i++) to[i] = (uint8_t)(sum >> (8 * i));
}

static enum err reply_dump(struct request *rq, enum dump_version version, struct slice value)
{
    size_t len = DUMP_HEAD_BYTES + value.len;
    uint8_t *p = arena_alloc_try(rq->arena, len + DUMP_SUM_BYTES);
    if (p == NULL) return error_set(&rq->error, ERR_NOMEM, "out of memory for a value");
    memcpy(p, DUMP_MAGIC, DUMP_MAGIC_BYTES);
    p[DUMP_MAGIC_BYTES] = (uint8_t)version;
    memcpy(p + DUMP_HEAD_BYTES, value.data, value.len);
    sum_write(slice_of(p, len), p + len);
    resp_bulk(rq->w, slice_of(p, len + DUMP_SUM_BYTES));
    return OK;
}

static enum err dump_fits(struct request *rq, uint64_t bytes)
{
    uint64_t max = engine_limits(rq->env->db->engine)->value_bytes_max;
    if (bytes <= max) return OK;
    return error_set(&rq->error, ERR_LIMIT,
                     "a dump of %llu bytes is larger than max-value-size (%llu)",
                     (unsigned long long)bytes, (unsigned long long)max);
}

static enum err dump_of_collection(struct request *rq, struct slice key)
{
    struct view *v = elements_view(rq);
    struct collection c;
    struct buf all;
    bool is_one = false;
    buf_init(&all);
    enum err r = collection_look(rq->env->db->collections, v, key, &c, &is_one, &rq->error);
    if (r == OK && c.head.is_spread) r = dump_fits(rq, c.head.bytes); /* at least */
    if (r == OK) r = collection_dump(&c, &all, &rq->error);
    elements_read(rq, v);
    if (r == OK) r = dump_fits(rq, all.len);
    enum dump_version version = c.head.kind == COLLECTION_STREAM ? DUMP_STREAM : DUMP_COLLECTION;
    if (r == OK) r = reply_dump(rq, version, buf_slice(&all));
    buf_fini(&all);
    return r;
}

static enum err dump_run(struct request *rq)
{
    const struct one_key *a = rq->bound;
    struct entry entry;
    enum err r = request_read(rq, a->key, &entry);
    if (r != OK) return r;
    if (!entry.exists) {
        resp_nil(rq->w);
        return OK;
    }
    if (collection_is_head(entry.value)) return dump_of_collection(rq, a->key);
    return reply_dump(rq, DUMP_VALUE, entry.value);
}

const struct command cmd_dump = {
    .name = "dump",
    .flags = CMD_STRING | CMD_KEYSPACE | CMD_READ | CMD_FOLLOWER,
    .key_flags = KEY_RO | KEY_ACCESS,
    .group = "generic",
    .summary = "Returns the value of a key, of any type, as bytes for RESTORE on this or another "
               "tupled server.",
    .arguments = &one_key_arguments,
    .reply = "The bytes, or nil if the key does not exist. They are not compatible with Redis, in "
             "either direction.",
    .run = dump_run,
};

/* ---- RESTORE ---- */

struct restore {
    struct slice key, ttl, dump;
    bool replaces, is_absolute;
    struct slice idle, frequency; /* must be right, and change nothing: neither is kept here */
};

static enum err restore_number(struct request *rq, const char *what, struct slice word, int64_t max)
{
    int64_t n = 0;
    if (word.data == NULL) return OK;
    enum err r = string_integer(rq, word, &n);
    if (r != OK || (n >= 0 && n <= max)) return r;
    return error_set(&rq->error, ERR_SYNTAX, "Invalid %s value, must be >= 0%s", what,
                     max == 255 ? " and <= 255" : "");
}

static enum err check_restore(struct request *rq, void *bound)
{
    const struct restore *a = bound;
    if (a->idle.data != NULL && a->frequency.data != NULL) return string_syntax(rq);
    enum err r = restore_number(rq, "IDLETIME", a->idle, INT64_MAX);
    return r == OK ? restore_number(rq, "FREQ", a->frequency, 255) : r;
}

ARGUMENTS_WITH(
    restore_arguments, struct restore,
    "key ttl serialized-value [REPLACE] [ABSTTL] [IDLETIME seconds] [FREQ frequency]",
    WITH(.check = check_restore), ARG_KEY(struct restore, key, "key", KEY_OW | KEY_UPDATE),
    ARG_WORD(struct restore, ttl, "ttl"), ARG_WORD(struct restore, dump, "serialized-value"),
    ARG_FLAG(struct restore, replaces, "REPLACE"), ARG_FLAG(struct restore, is_absolute, "ABSTTL"),
    ARG_WORD(struct restore, idle, "IDLETIME"), ARG_WORD(struct restore, frequency, "FREQ"));

static enum err restore_time(struct request *rq, const struct restore *a, struct op *op)
{
    int64_t n = 0;
    enum err r = string_integer(rq, a->ttl, &n);
    if (r != OK || n == 0) return r;
    op->ttl = a->is_absolute ? TTL_AT : TTL_AFTER;
    if (n > 0 && ttl_fits(rq, op->ttl, n, 1, &op->ttl_ms)) return OK;
    return error_set(&rq->error, ERR_SYNTAX, "Invalid TTL value, must be >= 0");
}

/* The value in what DUMP wrote. A client that can make a checksum can make any bytes, so what it is
 * the checksum of is checked as a value that a client sends, or element by element. */
static enum err restore_value(struct request *rq, struct slice dump, struct slice *value,
                              enum dump_version *version)
{
    uint8_t sum[DUMP_SUM_BYTES];
    uint8_t said = dump.len > DUMP_MAGIC_BYTES ? dump.data[DUMP_MAGIC_BYTES] : 0;
    bool is_whole = dump.len > DUMP_HEAD_BYTES + DUMP_SUM_BYTES &&
                    memcmp(dump.data, DUMP_MAGIC, DUMP_MAGIC_BYTES) == 0 && said >= DUMP_VALUE &&
                    said <= DUMP_STREAM;
    if (is_whole) {
        sum_write(slice_of(dump.data, dump.len - DUMP_SUM_BYTES), sum);
        is_whole = memcmp(sum, dump.data + dump.len - DUMP_SUM_BYTES, DUMP_SUM_BYTES) == 0;
    }
    if (!is_whole) {
        return error_set(&rq->error, ERR_SYNTAX, "DUMP payload version or checksum are wrong");
    }
    *value = slice_of(dump.data + DUMP_HEAD_BYTES, dump.len - DUMP_HEAD_BYTES - DUMP_SUM_BYTES);
    *version = (enum dump_version)said;
    if (*version != DUMP_VALUE || value_check(*value, &rq->error) == OK) return OK;
    return error_set(&rq->error, ERR_SYNTAX, "Bad data format");
}

static enum err restore_collection(struct request *rq, const struct op *op, bool is_stream)
{
    int64_t now_ms = engine_time_ms(rq->env->db->engine);
    struct collection_restore x = {.all = rq->env->db->collections,
                                   .to = op->key,
                                   .head = op->value,
                                   .is_stream = is_stream,
                                   .expiry_ms = op->ttl == TTL_NONE ? 0
                                                : op->ttl == TTL_AT ? op->ttl_ms
                                                                    : now_ms + op->ttl_ms};
    struct op restore = collection_restore_op(&x);
    enum err r = request_commit(rq, &restore, 1);
    return r == ERR_VALUE ? error_set(&rq->error, ERR_SYNTAX, "Bad data format") : r;
}

static enum err restore_run(struct request *rq)
{
    const struct restore *a = rq->bound;
    struct op op = {.kind = OP_SET, .key = a->key};
    struct entry there = {0};
    enum dump_version version = DUMP_VALUE;
    enum err r = a->replaces ? OK : request_get(rq, op.key, &there);
    if (r == OK && there.exists) {
        r = error_set(&rq->error, ERR_BUSYKEY, "Target key name already exists.");
    }
    if (r == OK) r = restore_time(rq, a, &op);
    if (r == OK) r = restore_value(rq, a->dump, &op.value, &version);
    if (r == OK && version != DUMP_VALUE) r = restore_collection(rq, &op, version == DUMP_STREAM);
    if (r == OK && version == DUMP_VALUE) r = request_commit(rq, &op, 1);
    if (r == OK) resp_simple(rq->w, "OK");
    return r;
}

const struct command cmd_restore = {
    .name = "restore",
    .flags = CMD_STRING | CMD_KEYSPACE | CMD_WRITE | CMD_DANGEROUS,
    .group = "generic",
    .summary = "Creates a key from the bytes of DUMP. It expires after `ttl` milliseconds unless "
               "that is 0.",
    .arguments = &restore_arguments,
    .reply = "OK, or `-BUSYKEY` if the key exists and `REPLACE` is not given. With `ABSTTL`, "
             "`ttl` is a Unix time in milliseconds. `IDLETIME` and `FREQ` are ignored.",
    .run = restore_run,
};
