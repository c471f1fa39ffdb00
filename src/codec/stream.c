/* stream: see stream.h. */
#include "codec/stream.h"

#include "base/buf.h"
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
    size_t len = u64_format(id.ms, to);
    to[len++] = '-';
    len += u64_format(id.seq, to + len);
    to[len] = '\0';
    return len;
}

/* As Redis with zeros before it. */
static bool read_number(struct slice text, uint64_t *out)
{
    while (text.len > 1 && text.data[0] == '0') text = slice_of(text.data + 1, text.len - 1);
    return slice_to_u64(text, out);
}

bool stream_id_read(struct slice text, uint64_t seq, struct stream_id *out)
{
    const uint8_t *dash = text.len > 0 ? memchr(text.data, '-', text.len) : NULL;
    size_t len = dash != NULL ? (size_t)(dash - text.data) : text.len;
    *out = (struct stream_id){.seq = seq};
    if (!read_number(slice_of(text.data, len), &out->ms)) return false;
    return dash == NULL || read_number(slice_of(dash + 1, text.len - len - 1), &out->seq);
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

bool stream_fields_are_good(struct slice fields)
{
    struct slice word;
    uint64_t count = 0;
    size_t at = 0;
    bool is_good = stream_fields_begin(fields, &at, &count) && count > 0;
    for (uint64_t i = 0; i < count && is_good; i++)
        is_good = stream_fields_next(fields, &at, &word);
    return is_good && at == fields.len;
}

/* ---- parts ---- */

static void put_number(struct buf *out, uint64_t n)
{
    uint8_t bytes[8];
    put_u64(bytes, n);
    buf_append(out, bytes, sizeof bytes);
}

static void put_id(struct buf *out, struct stream_id id)
{
    put_number(out, id.ms);
    put_number(out, id.seq);
}

static void put_bytes(struct buf *out, struct slice bytes)
{
    varint_append(out, bytes.len);
    buf_append(out, bytes.data, bytes.len);
}

void stream_part_write(const struct stream_part *x, struct buf *out)
{
    buf_append_byte(out, (uint8_t)x->kind);
    switch (x->kind) {
    case PART_ENTRY:
        put_id(out, x->id);
        put_bytes(out, x->fields);
        break;
    case PART_STATE:
        put_id(out, x->id);
        put_id(out, x->deleted);
        put_number(out, x->count);
        break;
    case PART_GROUP:
        put_bytes(out, x->group);
        put_id(out, x->id);
        put_number(out, (uint64_t)x->entries_read);
        break;
    case PART_CONSUMER:
        put_bytes(out, x->group);
        put_bytes(out, x->consumer);
        put_number(out, (uint64_t)x->at_ms);
        put_number(out, (uint64_t)x->active_ms);
        break;
    case PART_PENDING:
        put_bytes(out, x->group);
        put_bytes(out, x->consumer);
        put_id(out, x->id);
        put_number(out, (uint64_t)x->at_ms);
        put_number(out, x->count);
        break;
    }
}

static bool take_number(struct slice bytes, size_t *at, uint64_t *n)
{
    if (bytes.len - *at < 8) return false;
    *n = get_u64(bytes.data + *at);
    *at += 8;
    return true;
}

/* From -1 on: a time, or a number of entries. */
static bool take_signed(struct slice bytes, size_t *at, int64_t *n)
{
    uint64_t u = 0;
    if (!take_number(bytes, at, &u)) return false;
    *n = (int64_t)u;
    return *n >= -1;
}

static bool take_id(struct slice bytes, size_t *at, struct stream_id *id)
{
    return take_number(bytes, at, &id->ms) && take_number(bytes, at, &id->seq);
}

bool stream_part_read(struct slice bytes, size_t *at, struct stream_part *out)
{
    *out = (struct stream_part){.kind = PART_ENTRY};
    if (*at >= bytes.len) return false;
    uint8_t kind = bytes.data[(*at)++];
    if (kind < PART_ENTRY || kind > PART_PENDING) return false;
    out->kind = (enum stream_part_kind)kind;
    switch (out->kind) {
    case PART_ENTRY:
        return take_id(bytes, at, &out->id) && stream_fields_next(bytes, at, &out->fields) &&
               stream_fields_are_good(out->fields);
    case PART_STATE:
        return take_id(bytes, at, &out->id) && take_id(bytes, at, &out->deleted) &&
               take_number(bytes, at, &out->count);
    case PART_GROUP:
        return stream_fields_next(bytes, at, &out->group) && take_id(bytes, at, &out->id) &&
               take_signed(bytes, at, &out->entries_read);
    case PART_CONSUMER:
        return stream_fields_next(bytes, at, &out->group) &&
               stream_fields_next(bytes, at, &out->consumer) &&
               take_signed(bytes, at, &out->at_ms) && take_signed(bytes, at, &out->active_ms);
    case PART_PENDING:
        return stream_fields_next(bytes, at, &out->group) &&
               stream_fields_next(bytes, at, &out->consumer) && take_id(bytes, at, &out->id) &&
               take_signed(bytes, at, &out->at_ms) && take_number(bytes, at, &out->count);
    }
    return false;
}
