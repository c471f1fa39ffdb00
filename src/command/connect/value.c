/* value: values as Deno sends them, and as it gets them. */
#include "codec/value.h"
#include "codec/pack.h"
#include "command/connect/connect_int.h"
#include "foreign/deno.h"
#include "foreign/v8.h"

#define U64_BYTES 8

struct slice connect_key(struct request *rq, struct slice tuple)
{
    uint8_t *key = arena_alloc(rq->arena, KEY_HEAD_BYTES + tuple.len);
    uint8_t *at = key_head_write(key, rq->client->database, SPACE_DATA);
    bytes_copy(at, tuple.data, tuple.len);
    return slice_of(key, KEY_HEAD_BYTES + tuple.len);
}

/* Little-endian there, big-endian here. */
static void reverse(struct slice from, uint8_t to[U64_BYTES])
{
    for (size_t i = 0; i < U64_BYTES; i++) to[i] = from.data[U64_BYTES - 1 - i];
}

static enum err convert(struct slice encoding, struct slice data, struct buf *out, struct error *e)
{
    int64_t number = 0;
    if (slice_to_i64(encoding, &number)) return deno_to_value(number, data, out, e);
    return error_set(e, ERR_VALUE, "The value encoding %.*s is unknown.",
                     (int)(encoding.len < 20 ? encoding.len : 20), (const char *)encoding.data);
}

enum err connect_value(struct request *rq, struct slice encoding, struct slice data,
                       struct slice *value)
{
    struct buf out;
    if (data.len > CONNECT_VALUE_BYTES_MAX) {
        return error_set(&rq->error, ERR_LIMIT, "A value exceeds the value size limit.");
    }
    buf_init(&out);
    enum err r = convert(encoding, data, &out, &rq->error);
    if (r == OK && out.is_failed) r = error_set(&rq->error, ERR_NOMEM, "out of memory for a value");
    if (r == OK) *value = arena_copy(rq->arena, buf_slice(&out));
    buf_fini(&out);
    return r;
}

enum err connect_encode(struct slice value, struct buf *out, enum connect_encoding *encoding,
                        struct error *e)
{
    const uint8_t *at = value.data;
    struct pack_item item;
    uint8_t u64[U64_BYTES];
    bool is_read = pack_read(&at, value.data + value.len, &item) == PACK_OK;
    *encoding = CONNECT_V8;
    if (is_read && item.type == PACK_BIN) {
        *encoding = CONNECT_BYTES;
        buf_append(out, item.body.data, item.body.len);
    } else if (is_read && item.type == PACK_EXT && item.ext == EXT_U64) {
        *encoding = CONNECT_U64;
        reverse(item.body, u64);
        buf_append(out, u64, U64_BYTES);
    } else {
        return value_to_v8(value, out, e);
    }
    return OK;
}
