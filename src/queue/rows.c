/* rows: see rows.h. Each row has a writer and a reader; what was stored may be damaged, so readers
 * check lengths. Receipts are base64 for URLs of id, version, attempt and queue. */
#include "queue/rows.h"

#include "codec/base64.h"

#define STATE_HEAD_BYTES 29
#define MESSAGE_HEAD_BYTES 9
#define MESSAGE_FORMAT 1
#define RECEIPT_HEAD_BYTES (ID_BYTES + 12)

/* ---- keys ---- */

static bool has_incarnation(uint8_t space)
{
    return space == SPACE_MESSAGE || space == SPACE_READY || space == SPACE_STATE ||
           space == SPACE_LEASE;
}

struct slice row_key(struct arena *arena, const struct row_place *place, enum space space,
                     struct slice rest)
{
    struct slice queue = place->queue;
    size_t head = KEY_HEAD_BYTES + 1 + queue.len;
    size_t incarnation = has_incarnation((uint8_t)space) ? INCARNATION_BYTES : 0;
    uint8_t *p = arena_alloc(arena, head + incarnation + rest.len);
    *key_head_write(p, place->database, (uint8_t)space) = (uint8_t)queue.len;
    bytes_copy(p + KEY_HEAD_BYTES + 1, queue.data, queue.len);
    if (incarnation > 0) put_u64(p + head, place->incarnation);
    bytes_copy(p + head + incarnation, rest.data, rest.len);
    return slice_of(p, head + incarnation + rest.len);
}

struct slice row_key_end(struct arena *arena, const struct row_place *place, enum space space)
{
    /* Longer than any id or time, and nothing but the highest byte. */
    uint8_t high[SLOT_BYTES + 1];
    memset(high, 0xff, sizeof high);
    return row_key(arena, place, space, slice_of(high, sizeof high));
}

bool row_split(struct slice key, struct row_place *place, struct slice *rest)
{
    size_t head = KEY_HEAD_BYTES + 1;
    if (key.len < head || key.len - head < key.data[KEY_HEAD_BYTES]) return false;
    *place = (struct row_place){.database = key_database(key),
                                .queue = slice_of(key.data + head, key.data[KEY_HEAD_BYTES])};
    head += key.data[KEY_HEAD_BYTES];
    if (has_incarnation(key_space(key))) {
        if (key.len - head < INCARNATION_BYTES) return false;
        place->incarnation = get_u64(key.data + head);
        head += INCARNATION_BYTES;
    }
    *rest = slice_of(key.data + head, key.len - head);
    return true;
}

struct slot slot_of(int64_t time_ms, const struct message_id *id)
{
    struct slot s;
    put_u64(s.bytes, (uint64_t)time_ms);
    memcpy(s.bytes + 8, id->bytes, ID_BYTES);
    return s;
}

struct slot slot_end(int64_t time_ms)
{
    struct message_id last;
    memset(last.bytes, 0xff, sizeof last.bytes);
    return slot_of(time_ms, &last);
}

int64_t slot_time_ms(const struct slot *s)
{
    return (int64_t)get_u64(s->bytes);
}

struct message_id slot_id(const struct slot *s)
{
    struct message_id id;
    memcpy(id.bytes, s->bytes + 8, ID_BYTES);
    return id;
}

/* ---- ids ---- */

struct message_id id_of(uint64_t version, uint32_t number)
{
    struct message_id id;
    put_u64(id.bytes, version);
    put_u32(id.bytes + 8, number);
    return id;
}

void id_format(const struct message_id *id, char out[ID_CHARS])
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < ID_BYTES; i++) {
        out[2 * i] = digits[id->bytes[i] >> 4];
        out[2 * i + 1] = digits[id->bytes[i] & 15];
    }
}

static int digit_of(uint8_t c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

bool id_parse(struct slice text, struct message_id *out)
{
    if (text.len != ID_CHARS) return false;
    for (size_t i = 0; i < ID_BYTES; i++) {
        int high = digit_of(text.data[2 * i]);
        int low = digit_of(text.data[2 * i + 1]);
        if (high < 0 || low < 0) return false;
        out->bytes[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

/* ---- values ---- */

struct slice counts_row(struct arena *arena, const struct counts *c)
{
    const uint64_t fields[] = {c->ready,     c->delayed, c->leased, c->dead,   c->enqueued,
                               c->delivered, c->acked,   c->nacked, c->expired};
    const size_t head = INCARNATION_BYTES + SLOT_BYTES;
    uint8_t *p = arena_alloc(arena, COUNTS_BYTES);
    put_u64(p, c->incarnation);
    memcpy(p + INCARNATION_BYTES, c->split.bytes, SLOT_BYTES);
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        put_u64(p + head + 8 * i, fields[i]);
    }
    return slice_of(p, COUNTS_BYTES);
}

void counts_read(struct slice row, struct counts *c)
{
    uint64_t *const fields[] = {&c->ready,     &c->delayed, &c->leased, &c->dead,   &c->enqueued,
                                &c->delivered, &c->acked,   &c->nacked, &c->expired};
    *c = (struct counts){0};
    const size_t head = INCARNATION_BYTES + SLOT_BYTES;
    if (row.len < COUNTS_BYTES) return;
    c->incarnation = get_u64(row.data);
    memcpy(c->split.bytes, row.data + INCARNATION_BYTES, SLOT_BYTES);
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        *fields[i] = get_u64(row.data + head + 8 * i);
    }
}

struct slice state_row(struct arena *arena, const struct state *s)
{
    size_t len = STATE_HEAD_BYTES + s->last_error.len;
    uint8_t *p = arena_alloc(arena, len);
    p[0] = (uint8_t)s->kind;
    put_u64(p + 1, (uint64_t)s->time_ms);
    put_u64(p + 9, s->version);
    put_u32(p + 17, s->attempt);
    put_u64(p + 21, (uint64_t)s->due_ms);
    bytes_copy(p + STATE_HEAD_BYTES, s->last_error.data, s->last_error.len);
    return slice_of(p, len);
}

enum err state_read(struct slice row, struct state *s, struct error *e)
{
    if (row.len < STATE_HEAD_BYTES) {
        return error_set(e, ERR_CORRUPT, "the state of a message has %zu bytes", row.len);
    }
    *s = (struct state){
        .kind = (enum state_kind)row.data[0],
        .time_ms = (int64_t)get_u64(row.data + 1),
        .version = get_u64(row.data + 9),
        .attempt = get_u32(row.data + 17),
        .due_ms = (int64_t)get_u64(row.data + 21),
        .last_error = slice_of(row.data + STATE_HEAD_BYTES, row.len - STATE_HEAD_BYTES)};
    return OK;
}

struct slice attempts_row(struct arena *arena, uint32_t attempts, struct slice error)
{
    uint8_t *p = arena_alloc(arena, 4 + error.len);
    put_u32(p, attempts);
    bytes_copy(p + 4, error.data, error.len);
    return slice_of(p, 4 + error.len);
}

void attempts_read(struct slice row, uint32_t *attempts, struct slice *error)
{
    *attempts = row.len >= 4 ? get_u32(row.data) : 0;
    *error = row.len > 4 ? slice_of(row.data + 4, row.len - 4) : slice_of(NULL, 0);
}

struct slice message_row(struct arena *arena, const struct message *m)
{
    size_t backoff_bytes = 4 * m->backoff_count;
    size_t len = MESSAGE_HEAD_BYTES + backoff_bytes + m->undelivered_bytes + m->value.len;
    uint8_t *p = arena_alloc(arena, len);
    p[0] = MESSAGE_FORMAT;
    p[1] = (uint8_t)(m->backoff_count >> 8);
    p[2] = (uint8_t)m->backoff_count;
    p[3] = (uint8_t)(m->undelivered_count >> 8);
    p[4] = (uint8_t)m->undelivered_count;
    put_u32(p + 5, (uint32_t)m->undelivered_bytes);
    uint8_t *at = p + MESSAGE_HEAD_BYTES;
    bytes_copy(at, m->backoff, backoff_bytes);
    bytes_copy(at + backoff_bytes, m->undelivered, m->undelivered_bytes);
    bytes_copy(at + backoff_bytes + m->undelivered_bytes, m->value.data, m->value.len);
    return slice_of(p, len);
}

enum err message_read(struct slice row, struct message *m, struct error *e)
{
    *m = (struct message){.row = row};
    if (row.len < MESSAGE_HEAD_BYTES || row.data[0] != MESSAGE_FORMAT) {
        return error_set(e, ERR_CORRUPT, "a message has a row of %zu bytes", row.len);
    }
    m->backoff_count = (size_t)row.data[1] << 8 | row.data[2];
    m->undelivered_count = (size_t)row.data[3] << 8 | row.data[4];
    m->undelivered_bytes = get_u32(row.data + 5);
    size_t head = MESSAGE_HEAD_BYTES + 4 * m->backoff_count + m->undelivered_bytes;
    if (row.len < head) {
        return error_set(e, ERR_CORRUPT, "a message has a row of %zu bytes", row.len);
    }
    m->backoff = row.data + MESSAGE_HEAD_BYTES;
    m->undelivered = m->backoff + 4 * m->backoff_count;
    m->value = slice_of(row.data + head, row.len - head);
    return OK;
}

uint32_t message_backoff(const struct message *m, size_t i)
{
    return get_u32(m->backoff + 4 * i);
}

/* ---- receipts ---- */

struct slice receipt_format(struct arena *arena, const struct receipt *r)
{
    uint8_t raw[RECEIPT_HEAD_BYTES + QUEUE_NAME_BYTES_MAX];
    struct buf text;
    memcpy(raw, r->id.bytes, ID_BYTES);
    put_u64(raw + ID_BYTES, r->version);
    put_u32(raw + ID_BYTES + 8, r->attempt);
    bytes_copy(raw + RECEIPT_HEAD_BYTES, r->queue.data, r->queue.len);
    buf_init(&text);
    base64_encode(slice_of(raw, RECEIPT_HEAD_BYTES + r->queue.len), &text);
    buf_require(&text);
    uint8_t *p = arena_alloc(arena, text.len);
    size_t len = 0;
    for (size_t i = 0; i < text.len && text.data[i] != '='; i++) {
        uint8_t c = text.data[i];
        p[len++] = (uint8_t)(c == '+' ? '-' : c == '/' ? '_' : c);
    }
    buf_fini(&text);
    return slice_of(p, len);
}

bool receipt_parse(struct arena *arena, struct slice text, struct receipt *out)
{
    uint8_t padded[4 * (RECEIPT_HEAD_BYTES + QUEUE_NAME_BYTES_MAX) / 3 + 8];
    struct buf raw;
    size_t len = text.len;
    if (len > sizeof padded - 4) return false;
    for (size_t i = 0; i < len; i++) {
        uint8_t c = text.data[i];
        if (c == '+' || c == '/' || c == '=') return false;
        padded[i] = (uint8_t)(c == '-' ? '+' : c == '_' ? '/' : c);
    }
    while (len % 4 != 0) padded[len++] = '=';
    buf_init(&raw);
    bool is_good = base64_decode(slice_of(padded, len), &raw) && raw.len > RECEIPT_HEAD_BYTES &&
                   raw.len <= RECEIPT_HEAD_BYTES + QUEUE_NAME_BYTES_MAX;
    if (is_good) {
        memcpy(out->id.bytes, raw.data, ID_BYTES);
        out->version = get_u64(raw.data + ID_BYTES);
        out->attempt = get_u32(raw.data + ID_BYTES + 8);
        out->queue = arena_copy(
            arena, slice_of(raw.data + RECEIPT_HEAD_BYTES, raw.len - RECEIPT_HEAD_BYTES));
    }
    buf_fini(&raw);
    return is_good;
}
