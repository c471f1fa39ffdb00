/* msgpackr_write: the stored form -> msgpackr's bytes, one pass after one that measures.
 *
 * A record's names come before its values, and a map is an object only if all its keys are strings;
 * so where the values end must be known before they are written. The first pass notes it for every
 * container, in the order of their heads, which is the order in which they are written.
 */
#include "base/bytes.h"
#include "base/htab.h"
#include "base/mem.h"
#include "codec/bigint.h"
#include "codec/number.h"
#include "codec/value.h"
#include "foreign/foreign_int.h"
#include "foreign/msgpackr_int.h"

/* An array, map, or extension that holds values. */
struct extent {
    const uint8_t *end; /* what follows it */
    size_t next;        /* the extent that follows it */
};

/* The names of a record: as they are in the output, an array. */
struct names_of {
    size_t at, len;
    uint64_t hash;
};

struct msgpackr {
    struct buf *out;
    enum msgpackr_mode mode;
    struct extent *extents; /* owned */
    size_t count, cap;
    size_t next; /* the extent of the next container */
    struct names_of records[MSGPACKR_RECORD_COUNT];
    size_t record_count; /* defined so far; the oldest makes room */
};

static void m_value(struct msgpackr *m, const uint8_t **at, const uint8_t *end);

static bool is_nesting(const struct pack_item *item)
{
    if (item->type == PACK_ARRAY || item->type == PACK_MAP) return true;
    return item->type == PACK_EXT && (item->ext == EXT_SET || item->ext == EXT_MAP ||
                                      item->ext == EXT_ERROR || item->ext == EXT_ID);
}

/* ---- measuring ---- */

static void measure(struct msgpackr *m, const uint8_t **at, const uint8_t *end)
{
    struct pack_item item;
    if (pack_read(at, end, &item) != PACK_OK || !is_nesting(&item)) return;
    if (m->count == m->cap) {
        size_t cap = m->cap == 0 ? 32 : 2 * m->cap;
        struct extent *more = mem_resize_try(m->extents, cap * sizeof *more);
        if (more == NULL) {
            m->out->is_failed = true;
            return;
        }
        m->extents = more;
        m->cap = cap;
    }
    size_t index = m->count++;
    if (item.type == PACK_EXT) {
        const uint8_t *inside = item.body.data;
        while (inside < *at && !m->out->is_failed) measure(m, &inside, *at);
    } else {
        uint64_t left = item.type == PACK_ARRAY ? item.count : 2 * (uint64_t)item.count;
        for (; left > 0 && !m->out->is_failed; left--) measure(m, at, end);
    }
    if (m->out->is_failed || m->extents == NULL) return;
    m->extents[index] = (struct extent){.end = *at, .next = m->count};
}

/* Past the value at `at`, whose extent, if it has one, is `*index`. */
static const uint8_t *skip(const struct msgpackr *m, const uint8_t *at, const uint8_t *end,
                           size_t *index)
{
    struct pack_item item;
    if (pack_read(&at, end, &item) != PACK_OK) return end;
    if (!is_nesting(&item)) return at;
    INVARIANT(m->extents != NULL && *index < m->count);
    at = m->extents[*index].end;
    *index = m->extents[*index].next;
    return at;
}

/* ---- writing ---- */

static void m_head(struct msgpackr *m, enum pack_type type, size_t n)
{
    uint8_t head[PACK_HEAD_BYTES];
    buf_append(m->out, head, pack_head(type, 0, n, head));
}

static void m_tag(struct msgpackr *m, enum msgpackr_ext ext)
{
    const uint8_t tag[] = {0xd4, (uint8_t)ext, 0};
    buf_append(m->out, tag, sizeof tag);
}

static void m_id(struct msgpackr *m, enum msgpackr_ext ext, uint64_t id)
{
    uint8_t tag[6] = {0xd6, (uint8_t)ext};
    put_u32(tag + 2, (uint32_t)id);
    buf_append(m->out, tag, sizeof tag);
}

static void m_int64(struct msgpackr *m, uint8_t lead, uint64_t u)
{
    uint8_t bytes[9] = {lead};
    put_u64(bytes + 1, u);
    buf_append(m->out, bytes, sizeof bytes);
}

static void m_double(struct msgpackr *m, double d)
{
    uint64_t bits = 0;
    memcpy(&bits, &d, sizeof bits);
    m_int64(m, 0xcb, bits);
}

static void m_integer(struct msgpackr *m, const struct pack_item *item)
{
    bool is_negative = item->type == PACK_INT;
    uint64_t magnitude = is_negative ? 0 - (uint64_t)item->i : item->u;
    if (magnitude > NUMBER_SAFE_MAX) {
        bool is_signed = is_negative || item->u <= INT64_MAX;
        m_int64(m, is_signed ? 0xd3 : 0xcf, is_negative ? (uint64_t)item->i : item->u);
    } else if (magnitude > (is_negative ? (uint64_t)1 << 31 : UINT32_MAX)) {
        m_double(m, is_negative ? -(double)magnitude : (double)magnitude);
    } else if (is_negative) {
        pack_int(m->out, item->i);
    } else {
        bool is_record = magnitude >= MSGPACKR_RECORD_FIRST && magnitude < 0x80;
        if (is_record && m->mode == MSGPACKR_RECORDS) buf_append_byte(m->out, 0xcc);
        pack_uint(m->out, magnitude);
    }
}

static void m_float(struct msgpackr *m, double d)
{
    int64_t i = 0;
    struct pack_item item = {0};
    if (!number_is_integer(d, &i)) {
        m_double(m, d);
        return;
    }
    item.type = i < 0 ? PACK_INT : PACK_UINT;
    item.i = i;
    item.u = (uint64_t)i;
    m_integer(m, &item);
}

/* Small ones are integers of 64 bits, others have whole words. */
static void m_bigint(struct msgpackr *m, struct slice twos)
{
    uint8_t head[PACK_HEAD_BYTES];
    uint8_t fill = twos.data[0] >= 0x80 ? 0xff : 0;
    while (twos.len > 1 && twos.data[0] == fill && twos.data[1] >> 7 == fill >> 7) {
        twos = slice_of(twos.data + 1, twos.len - 1);
    }
    uint64_t u = fill == 0 ? 0 : UINT64_MAX;
    for (size_t i = 0; i < twos.len && i < 9; i++) u = u << 8 | twos.data[i];
    if (twos.len <= 8) {
        m_int64(m, 0xd3, u);
        return;
    }
    if (twos.len == 9 && twos.data[0] == 0) {
        m_int64(m, 0xcf, u);
        return;
    }
    size_t bytes = (twos.len + 7) / 8 * 8;
    buf_append(m->out, head, pack_head(PACK_EXT, EXT_BIGINT, bytes, head));
    for (size_t i = twos.len; i < bytes; i++) buf_append_byte(m->out, fill);
    buf_append(m->out, twos.data, twos.len);
}

/* With the heads that it writes itself: never one of d4 to d8. */
static void m_typed(struct msgpackr *m, struct slice body)
{
    uint8_t head[PACK_HEAD_BYTES];
    size_t len = pack_head(PACK_BIN, 0, body.len, head);
    head[0] = (uint8_t)(head[0] + 3); /* c4, c5, c6 -> c7, c8, c9 */
    head[len++] = EXT_TYPED;
    buf_append(m->out, head, len);
    buf_append(m->out, body.data, body.len);
}

/* The names of the object at `at`, after its head. False: a key is no string, so it is a Map. */
static bool m_names(struct msgpackr *m, uint32_t count, const uint8_t *at, const uint8_t *end)
{
    size_t index = m->next;
    m_head(m, PACK_ARRAY, count);
    for (uint32_t i = 0; i < count; i++) {
        struct pack_item name;
        if (pack_read(&at, end, &name) != PACK_OK || name.type != PACK_STR) return false;
        pack_str(m->out, name.body);
        at = skip(m, at, end, &index);
    }
    return true;
}

/* Which record has these names; if none, they make a new one. */
static size_t m_record_of(struct msgpackr *m, struct slice names, size_t at, bool *is_new)
{
    size_t known = m->record_count;
    if (known > MSGPACKR_RECORD_COUNT) known = MSGPACKR_RECORD_COUNT;
    uint64_t hash = hash_bytes(names);
    for (size_t i = 0; i < known; i++) {
        const struct names_of *r = &m->records[i];
        if (r->hash == hash && slice_eq(slice_of(m->out->data + r->at, r->len), names)) return i;
    }
    size_t i = m->record_count++ % MSGPACKR_RECORD_COUNT;
    m->records[i] = (struct names_of){.at = at, .len = names.len, .hash = hash};
    *is_new = true;
    return i;
}

/* The head of an object, all but its values. False: it is none. */
static bool m_open_record(struct msgpackr *m, uint32_t count, const uint8_t *at, const uint8_t *end)
{
    struct buf *out = m->out;
    bool is_new = false;
    size_t opened = pack_open(out, 3), names_at = out->len;
    bool is_object = m_names(m, count, at, end);
    if (out->is_failed) return true;
    if (!is_object) {
        out->len = opened;
        return false;
    }
    struct slice names = slice_of(out->data + names_at, out->len - names_at);
    uint8_t n = (uint8_t)(MSGPACKR_RECORD_FIRST + m_record_of(m, names, names_at, &is_new));
    if (is_new) {
        const uint8_t head[] = {0xd4, MSGPACKR_RECORD, n};
        memcpy(out->data + opened, head, sizeof head);
    } else {
        out->data[opened] = n;
        out->len = opened + 1;
    }
    return true;
}

static bool m_is_object(const struct msgpackr *m, uint32_t count, const uint8_t *at,
                        const uint8_t *end)
{
    size_t index = m->next;
    for (uint32_t i = 0; i < count; i++) {
        struct pack_item name;
        if (pack_read(&at, end, &name) != PACK_OK || name.type != PACK_STR) return false;
        at = skip(m, at, end, &index);
    }
    return true;
}

static void m_map(struct msgpackr *m, uint32_t count, const uint8_t **at, const uint8_t *end)
{
    bool is_record = m->mode == MSGPACKR_RECORDS && m_open_record(m, count, *at, end);
    if (m->mode == MSGPACKR_MAPS && count <= UINT16_MAX && m_is_object(m, count, *at, end)) {
        const uint8_t head[] = {0xde, (uint8_t)(count >> 8), (uint8_t)count}; /* as it does */
        buf_append(m->out, head, sizeof head);
    } else if (!is_record) {
        m_head(m, PACK_MAP, count);
    }
    for (uint32_t i = 0; i < count && !m->out->is_failed; i++) {
        struct pack_item name;
        if (is_record) {
            if (pack_read(at, end, &name) != PACK_OK) return;
        } else {
            m_value(m, at, end);
        }
        m_value(m, at, end);
    }
}

static void m_items(struct msgpackr *m, uint32_t count, const uint8_t **at, const uint8_t *end)
{
    m_head(m, PACK_ARRAY, count);
    for (uint32_t i = 0; i < count && !m->out->is_failed; i++) m_value(m, at, end);
}

/* [name, message, cause] */
static void m_error(struct msgpackr *m, struct slice body)
{
    const uint8_t *at = body.data, *end = at + body.len, *cause = NULL;
    struct pack_item head = {0}, name = {0}, item = {0};
    struct slice texts[2] = {{0}, {0}};
    size_t cause_next = 0, index = m->next + 1; /* past the map that it is */
    if (pack_read(&at, end, &head) != PACK_OK) return;
    for (uint32_t i = 0; i < head.count; i++) {
        if (pack_read(&at, end, &name) != PACK_OK) return;
        if (slice_eq(name.body, slice_str("cause"))) {
            cause = at;
            cause_next = index;
        } else {
            const uint8_t *text = at;
            if (pack_read(&text, end, &item) != PACK_OK) return;
            if (slice_eq(name.body, slice_str("name"))) texts[0] = item.body;
            if (slice_eq(name.body, slice_str("message"))) texts[1] = item.body;
        }
        at = skip(m, at, end, &index);
    }
    m_tag(m, MSGPACKR_ERROR);
    m_head(m, PACK_ARRAY, 3);
    pack_str(m->out, texts[0]);
    pack_str(m->out, texts[1]);
    if (cause != NULL) {
        m->next = cause_next;
        m_value(m, &cause, end);
    } else {
        pack_ext(m->out, EXT_UNDEFINED, slice_of("\0", 1));
    }
    m->next = index;
}

/* Extensions whose payload is an array, or an id. */
static void m_nested(struct msgpackr *m, int8_t ext, struct slice body)
{
    const uint8_t *at = body.data, *end = at + body.len;
    struct pack_item item = {0};
    if (pack_read(&at, end, &item) != PACK_OK) return;
    switch (ext) {
    case EXT_SET:
        m->next++;
        m_tag(m, MSGPACKR_SET);
        m_items(m, item.count, &at, end);
        break;
    case EXT_REGEXP:
        m_tag(m, MSGPACKR_REGEXP);
        m_items(m, item.count, &at, end);
        break;
    case EXT_MAP:
        m->next++;
        m_head(m, PACK_MAP, item.count / 2);
        for (uint32_t i = 0; i < item.count && !m->out->is_failed; i++) m_value(m, &at, end);
        break;
    case EXT_ID:
        m->next++;
        if (pack_read(&at, end, &item) != PACK_OK) return;
        m_id(m, MSGPACKR_ID, item.u);
        m_value(m, &at, end);
        break;
    default: m_id(m, MSGPACKR_AGAIN, item.u);
    }
}

static void m_ext(struct msgpackr *m, int8_t ext, struct slice body)
{
    switch (ext) {
    case EXT_DATE:
    case EXT_UNDEFINED:
    case EXT_U64:
    case EXT_V8: pack_ext(m->out, ext, body); break;
    case EXT_TYPED: m_typed(m, body); break;
    case EXT_BIGINT: m_bigint(m, body); break;
    case EXT_ERROR: m_error(m, body); break;
    default: m_nested(m, ext, body); break;
    }
}

static void m_value(struct msgpackr *m, const uint8_t **at, const uint8_t *end)
{
    struct pack_item item;
    if (pack_read(at, end, &item) != PACK_OK) return; /* no checked value comes here */
    if (is_nesting(&item)) m->next++;
    switch (item.type) {
    case PACK_NIL: buf_append_byte(m->out, 0xc0); break;
    case PACK_BOOL: buf_append_byte(m->out, item.boolean ? 0xc3 : 0xc2); break;
    case PACK_UINT:
    case PACK_INT: m_integer(m, &item); break;
    case PACK_FLOAT: m_float(m, item.f); break;
    case PACK_STR: pack_str(m->out, item.body); break;
    case PACK_BIN: pack_bin(m->out, item.body); break;
    case PACK_ARRAY: m_items(m, item.count, at, end); break;
    case PACK_MAP: m_map(m, item.count, at, end); break;
    case PACK_EXT: m_ext(m, item.ext, item.body); break;
    }
}

void value_to_msgpackr(struct slice value, enum msgpackr_mode mode, struct buf *out)
{
    struct msgpackr m = {.out = out, .mode = mode};
    const uint8_t *at = value.data, *end = at + value.len;
    measure(&m, &at, end);
    at = value.data;
    if (!out->is_failed) m_value(&m, &at, end);
    mem_free(m.extents);
}
