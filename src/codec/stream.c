/* stream: see stream.h. */
#include "codec/stream.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/bytes.h"
#include "codec/varint.h"

int stream_id_order(struct stream_id a, struct stream_id b)
{
    if (a.ms != b.ms) return a.ms < b.ms ? -1 : 1;
    if (a.seq != b.seq) return a.seq < b.seq ? -1 : 1;
    return 0;
}

bool stream_id_next(struct stream_id *id)
{
    if (id->seq < UINT64_MAX) {
        id->seq++;
        return true;
    }
    if (id->ms == UINT64_MAX) return false;
    *id = (struct stream_id){.ms = id->ms + 1};
    return true;
}

bool stream_id_previous(struct stream_id *id)
{
    if (id->seq > 0) {
        id->seq--;
        return true;
    }
    if (id->ms == 0) return false;
    *id = (struct stream_id){.ms = id->ms - 1, .seq = UINT64_MAX};
    return true;
}

void stream_id_put(uint8_t to[STREAM_ID_BYTES], struct stream_id id)
{
    put_u64(to, id.ms);
    put_u64(to + 8, id.seq);
}

struct stream_id stream_id_get(const uint8_t from[STREAM_ID_BYTES])
{
    return (struct stream_id){get_u64(from), get_u64(from + 8)};
}

size_t stream_id_write(struct stream_id id, char to[STREAM_ID_TEXT])
{
    return (size_t)snprintf(to, STREAM_ID_TEXT, "%" PRIu64 "-%" PRIu64, id.ms, id.seq);
}

bool stream_id_read(struct slice text, uint64_t seq, struct stream_id *out)
{
    const uint8_t *dash = text.len > 0 ? memchr(text.data, '-', text.len) : NULL;
    size_t len = dash != NULL ? (size_t)(dash - text.data) : text.len;
    *out = (struct stream_id){.seq = seq};
    if (!slice_to_u64(slice_of(text.data, len), &out->ms)) return false;
    return dash == NULL || slice_to_u64(slice_of(dash + 1, text.len - len - 1), &out->seq);
}

/* ---- fields ---- */

void stream_fields_write(const struct slice *words, size_t count, struct buf *out)
{
    varint_append(out, count);
    for (size_t i = 0; i < count; i++) {
        varint_append(out, words[i].len);
        buf_append(out, words[i].data, words[i].len);
    }
}

bool stream_fields_begin(struct slice fields, size_t *at, uint64_t *count)
{
    *at = 0;
    return varint_read(fields, at, count) && *count % 2 == 0 && *count <= fields.len - *at;
}

bool stream_fields_next(struct slice fields, size_t *at, struct slice *word)
{
    uint64_t len = 0;
    if (!varint_read(fields, at, &len) || len > fields.len - *at) return false;
    *word = slice_of(fields.data + *at, (size_t)len);
    *at += (size_t)len;
    return true;
}
