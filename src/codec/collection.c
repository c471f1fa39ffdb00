/* collection: see collection.h. */
#include "codec/collection.h"

#include "base/bytes.h"
#include "codec/pack.h"
#include "codec/value.h"
#include "codec/varint.h"

#define FORMAT 1
#define FIXED_BYTES 3 /* format, kind, flags */
#define HEAD_SPREAD 1u
#define HEAD_HOLEY 2u
#define HEAD_FIELD_TTL 4u
#define HEAD_FLAGS (HEAD_SPREAD | HEAD_HOLEY | HEAD_FIELD_TTL)
/* Of a spread one: elements and bytes; of a list the positions; of a stream what read_stream reads.
 */
#define COUNTS_BYTES 16
#define POSITIONS_BYTES 16
#define STREAM_BYTES 72
#define PACKED_ROOM 3 /* for the head of most packed ones */
#define SPREAD_BYTES_MAX (FIXED_BYTES + 8 + INCARNATION_ID_BYTES + COUNTS_BYTES + STREAM_BYTES)

/* ---- reading ---- */

struct cursor {
    const uint8_t *at, *end;
    bool is_damaged;
};

static uint64_t take_u64(struct cursor *c)
{
    if (c->end - c->at < 8) {
        c->is_damaged = true;
        return 0;
    }
    c->at += 8;
    return get_u64(c->at - 8);
}

static uint64_t take_varint(struct cursor *c)
{
    size_t at = 0;
    uint64_t n = 0;
    if (!varint_read(slice_of(c->at, (size_t)(c->end - c->at)), &at, &n)) c->is_damaged = true;
    c->at += at;
    return n;
}

static struct slice take_bytes(struct cursor *c, uint64_t len)
{
    if ((uint64_t)(c->end - c->at) < len) {
        c->is_damaged = true;
        return slice_of(NULL, 0);
    }
    c->at += len;
    return slice_of(c->at - len, (size_t)len);
}

/* The body of a head; false when the value is none. */
static bool body_of(struct slice value, struct slice *body)
{
    int8_t ext;
    return pack_whole_ext(value, &ext, body) && ext == EXT_COLLECTION && body->len >= FIXED_BYTES;
}

/* The same of one whose format, kind and flags are known. */
static bool known_body_of(struct slice value, struct slice *body)
{
    if (!body_of(value, body) || body->data[0] != FORMAT) return false;
    return body->data[1] != 0 && body->data[1] < COLLECTION_KINDS &&
           (body->data[2] & ~HEAD_FLAGS) == 0;
}

bool collection_is_head(struct slice value)
{
    struct slice body;
    return body_of(value, &body);
}

static struct stream_id take_id(struct cursor *c)
{
    struct stream_id id = {.ms = take_u64(c)};
    id.seq = take_u64(c);
    return id;
}

static void read_stream(struct cursor *c, struct stream_head *s)
{
    s->last = take_id(c);
    s->first = take_id(c);
    s->deleted = take_id(c);
    s->added = take_u64(c);
    s->groups = take_u64(c);
    s->groups_made = take_u64(c);
}

static void read_spread(struct cursor *c, struct collection_head *h)
{
    struct slice id = take_bytes(c, INCARNATION_ID_BYTES);
    if (!c->is_damaged) memcpy(h->incarnation, id.data, INCARNATION_ID_BYTES);
    h->count = take_u64(c);
    h->bytes = take_u64(c);
    if (h->kind == COLLECTION_STREAM) read_stream(c, &h->stream);
    if (h->kind != COLLECTION_LIST) return;
    h->first = take_u64(c);
    h->end = take_u64(c);
}

bool collection_head_read(struct slice value, struct collection_head *out)
{
    struct slice body;
    *out = (struct collection_head){0};
    if (!known_body_of(value, &body)) return false;
    unsigned flags = body.data[2];
    struct cursor c = {.at = body.data + FIXED_BYTES, .end = body.data + body.len};
    out->kind = (enum collection_kind)body.data[1];
    out->is_spread = (flags & HEAD_SPREAD) != 0;
    out->is_holey = (flags & HEAD_HOLEY) != 0;
    if ((flags & HEAD_FIELD_TTL) != 0) out->expiring = take_u64(&c);
    if (out->is_spread) {
        read_spread(&c, out);
        return !c.is_damaged && c.at == c.end;
    }
    out->count = take_varint(&c);
    out->packed = slice_of(c.at, (size_t)(c.end - c.at));
    /* Each takes a byte at least. */
    return !c.is_damaged && out->count <= out->packed.len;
}

const uint8_t *collection_incarnation(struct slice value)
{
    struct slice body;
    if (!known_body_of(value, &body) || (body.data[2] & HEAD_SPREAD) == 0) return NULL;
    unsigned kind = body.data[1];
    size_t at = FIXED_BYTES + ((body.data[2] & HEAD_FIELD_TTL) != 0 ? 8 : 0);
    size_t whole = at + INCARNATION_ID_BYTES + COUNTS_BYTES;
    if (kind == COLLECTION_LIST) whole += POSITIONS_BYTES;
    if (kind == COLLECTION_STREAM) whole += STREAM_BYTES;
    return body.len == whole ? body.data + at : NULL;
}

bool collection_is_spread_hash(struct slice value)
{
    struct collection_head h;
    return collection_head_read(value, &h) && h.kind == COLLECTION_HASH && h.is_spread;
}

bool collection_packed_next(const struct collection_head *h, size_t *at, struct element *out)
{
    struct cursor c = {.at = h->packed.data + *at, .end = h->packed.data + h->packed.len};
    *out = (struct element){.name = slice_of(NULL, 0), .value = slice_of(NULL, 0)};
    if (c.at == c.end) return false;
    struct slice first = take_bytes(&c, take_varint(&c));
    if (h->kind == COLLECTION_LIST) {
        out->value = first;
    } else {
        out->name = first;
    }
    if (h->kind == COLLECTION_HASH) {
        uint64_t len = take_varint(&c);
        out->value = take_bytes(&c, len / 2);
        if (len % 2 == 1) out->expiry_ms = (int64_t)take_u64(&c);
    } else if (h->kind == COLLECTION_ZSET) {
        uint64_t bits = take_u64(&c);
        memcpy(&out->score, &bits, sizeof bits);
    }
    if (c.is_damaged) return false;
    *at = (size_t)(c.at - h->packed.data);
    return true;
}

/* ---- writing ---- */

static void add_u64(struct buf *out, uint64_t n)
{
    uint8_t *p = buf_reserve(out, 8);
    if (p == NULL) return;
    put_u64(p, n);
    out->len += 8;
}

static void add_bytes(struct buf *out, struct slice s)
{
    varint_append(out, s.len);
    buf_append(out, s.data, s.len);
}

static void add_element(struct buf *out, enum collection_kind kind, const struct element *x)
{
    add_bytes(out, kind == COLLECTION_LIST ? x->value : x->name);
    if (kind == COLLECTION_HASH) {
        varint_append(out, (uint64_t)x->value.len * 2 + (x->expiry_ms != 0));
        buf_append(out, x->value.data, x->value.len);
        if (x->expiry_ms != 0) add_u64(out, (uint64_t)x->expiry_ms);
    } else if (kind == COLLECTION_ZSET) {
        uint64_t bits = 0;
        memcpy(&bits, &x->score, sizeof bits);
        add_u64(out, bits);
    }
}

static uint8_t *put_next(uint8_t *to, uint64_t n)
{
    put_u64(to, n);
    return to + 8;
}

static uint8_t *put_id(uint8_t *to, struct stream_id id)
{
    return put_next(put_next(to, id.ms), id.seq);
}

static uint8_t *put_stream(uint8_t *to, const struct stream_head *s)
{
    to = put_id(put_id(put_id(to, s->last), s->first), s->deleted);
    return put_next(put_next(put_next(to, s->added), s->groups), s->groups_made);
}

static uint8_t *put_fixed(uint8_t *to, const struct collection_head *h)
{
    to[0] = FORMAT;
    to[1] = (uint8_t)h->kind;
    to[2] = (uint8_t)((h->is_spread ? HEAD_SPREAD : 0) | (h->is_holey ? HEAD_HOLEY : 0) |
                      (h->expiring > 0 ? HEAD_FIELD_TTL : 0));
    to += FIXED_BYTES;
    return h->expiring > 0 ? put_next(to, h->expiring) : to;
}

static void write_spread(const struct collection_head *h, struct buf *out)
{
    uint8_t head[PACK_HEAD_BYTES];
    uint8_t body[SPREAD_BYTES_MAX];
    uint8_t *to = put_fixed(body, h);
    memcpy(to, h->incarnation, INCARNATION_ID_BYTES);
    to = put_next(put_next(to + INCARNATION_ID_BYTES, h->count), h->bytes);
    if (h->kind == COLLECTION_LIST) to = put_next(put_next(to, h->first), h->end);
    if (h->kind == COLLECTION_STREAM) to = put_stream(to, &h->stream);
    size_t len = (size_t)(to - body);
    buf_append(out, head, pack_head(PACK_EXT, EXT_COLLECTION, len, head));
    buf_append(out, body, len);
}

static void write_packed(const struct collection_head *h, const struct element *items,
                         struct buf *out)
{
    uint8_t head[PACK_HEAD_BYTES];
    uint8_t fixed[FIXED_BYTES + 8];
    size_t opened = pack_open(out, PACKED_ROOM);
    size_t from = out->len;
    buf_append(out, fixed, (size_t)(put_fixed(fixed, h) - fixed));
    varint_append(out, h->count);
    for (uint64_t i = 0; i < h->count; i++) add_element(out, h->kind, &items[i]);
    if (out->is_failed) return;
    pack_close(out, opened, PACKED_ROOM, head,
               pack_head(PACK_EXT, EXT_COLLECTION, out->len - from, head));
}

void collection_head_write(const struct collection_head *h, const struct element *items,
                           struct buf *out)
{
    if (h->is_spread) {
        write_spread(h, out);
    } else {
        write_packed(h, items, out);
    }
}

size_t collection_packed_bytes(const struct element *x)
{
    return x->name.len + x->value.len + 2 * 3 + 8;
}

/* ---- how it is shown ---- */

const char *collection_kind_name(enum collection_kind kind)
{
    static const char *const names[COLLECTION_KINDS] = {
        [COLLECTION_HASH] = "hash", [COLLECTION_LIST] = "list",     [COLLECTION_SET] = "set",
        [COLLECTION_ZSET] = "zset", [COLLECTION_STREAM] = "stream",
    };
    return names[kind];
}

/* What cannot be read is shown as a collection of no type. */
static const char *type_of(struct slice value, struct collection_head *h)
{
    return collection_head_read(value, h) ? collection_kind_name(h->kind) : "damaged";
}

void collection_to_json(struct slice value, struct buf *out)
{
    struct collection_head h;
    const char *type = type_of(value, &h);
    buf_append_str(out, "{\"$collection\":{\"type\":\"");
    buf_append_str(out, type);
    buf_append_str(out, "\",\"length\":");
    buf_append_u64(out, h.count);
    buf_append_str(out, "}}");
}

void collection_to_msgpack(struct slice value, struct buf *out)
{
    struct collection_head h;
    const char *type = type_of(value, &h);
    uint8_t head[PACK_HEAD_BYTES];
    buf_append(out, head, pack_head(PACK_MAP, 0, 1, head));
    pack_str(out, slice_str("$collection"));
    buf_append(out, head, pack_head(PACK_MAP, 0, 2, head));
    pack_str(out, slice_str("type"));
    pack_str(out, slice_str(type));
    pack_str(out, slice_str("length"));
    pack_uint(out, h.count);
}
