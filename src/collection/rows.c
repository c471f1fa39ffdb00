/* rows: see rows.h. */
#include "collection/rows.h"

#include "collection/walk.h"

#include <math.h>
#include <openssl/sha.h>

#define TAG_AT (KEY_HEAD_BYTES + INCARNATION_ID_BYTES)
#define REST_AT (TAG_AT + 1)
#define LONG_NAME_BYTES (NAME_WHOLE_BYTES + NAME_HASH_BYTES)
#define SIGN_BIT (1ULL << 63)
#define LENGTH_BYTES 4

uint64_t score_order(double score)
{
    uint64_t bits = 0;
    if (score == 0) score = 0; /* -0 */
    memcpy(&bits, &score, sizeof bits);
    return (bits & SIGN_BIT) != 0 ? ~bits : bits | SIGN_BIT;
}

double score_of_order(uint64_t order)
{
    uint64_t bits = (order & SIGN_BIT) != 0 ? order & ~SIGN_BIT : ~order;
    double score = 0;
    memcpy(&score, &bits, sizeof score);
    return score;
}

/* ---- keys ---- */

static bool is_long(struct slice name)
{
    return name.len > NAME_WHOLE_BYTES;
}

static size_t name_bytes(struct slice name)
{
    return is_long(name) ? LONG_NAME_BYTES : name.len;
}

static void hash_write(uint8_t *p, struct slice name)
{
    uint8_t hash[SHA256_DIGEST_LENGTH];
    SHA256(name.data, name.len, hash);
    memcpy(p, hash, NAME_HASH_BYTES);
}

static void name_write(uint8_t *p, struct slice name)
{
    if (!is_long(name)) {
        bytes_copy(p, name.data, name.len);
        return;
    }
    memcpy(p, name.data, NAME_WHOLE_BYTES);
    hash_write(p + NAME_WHOLE_BYTES, name);
}

int name_order(struct slice a, struct slice b)
{
    uint8_t x[NAME_HASH_BYTES];
    uint8_t y[NAME_HASH_BYTES];
    if (!is_long(a) || !is_long(b)) return slice_cmp(a, b);
    int order = memcmp(a.data, b.data, NAME_WHOLE_BYTES);
    if (order != 0 || slice_eq(a, b)) return order;
    hash_write(x, a);
    hash_write(y, b);
    return memcmp(x, y, NAME_HASH_BYTES);
}

/* A key with room for `rest` bytes after the tag; *to is where they go. */
static struct slice key_begin(struct arena *arena, const struct element_rows *of, enum row_tag tag,
                              size_t rest, uint8_t **to)
{
    uint8_t *p = arena_alloc(arena, REST_AT + rest);
    uint8_t *at = key_head_write(p, of->database, SPACE_ELEMENT);
    memcpy(at, of->incarnation, INCARNATION_ID_BYTES);
    p[TAG_AT] = (uint8_t)tag;
    *to = p + REST_AT;
    return slice_of(p, REST_AT + rest);
}

struct slice row_of_name(struct arena *arena, const struct element_rows *of, enum row_tag tag,
                         struct slice name)
{
    uint8_t *to = NULL;
    struct slice key = key_begin(arena, of, tag, name_bytes(name), &to);
    name_write(to, name);
    return key;
}

struct slice row_of_numbers(struct arena *arena, const struct element_rows *of, enum row_tag tag,
                            const uint64_t *numbers, size_t count, struct slice name)
{
    uint8_t *to = NULL;
    struct slice key = key_begin(arena, of, tag, 8 * count + name_bytes(name), &to);
    for (size_t i = 0; i < count; i++) put_u64(to + 8 * i, numbers[i]);
    name_write(to + 8 * count, name);
    return key;
}

static struct slice row_of_number(struct arena *arena, const struct element_rows *of,
                                  enum row_tag tag, uint64_t number, struct slice name)
{
    return row_of_numbers(arena, of, tag, &number, 1, name);
}

struct slice row_of_expiry(struct arena *arena, const struct element_rows *of, int64_t expiry_ms,
                           struct slice field)
{
    return row_of_number(arena, of, ROW_EXPIRY, (uint64_t)expiry_ms, field);
}

struct slice row_of_score(struct arena *arena, const struct element_rows *of, double score,
                          struct slice member)
{
    return row_of_number(arena, of, ROW_SCORE, score_order(score), member);
}

struct slice row_of_position(struct arena *arena, const struct element_rows *of, uint64_t position)
{
    return row_of_number(arena, of, ROW_POSITION, position, slice_of(NULL, 0));
}

struct slice row_of_owner(struct arena *arena, const struct element_rows *of, struct slice tuple)
{
    size_t len = KEY_HEAD_BYTES + INCARNATION_ID_BYTES + tuple.len;
    uint8_t *p = arena_alloc(arena, len);
    uint8_t *at = key_head_write(p, of->database, SPACE_COLLECTION);
    memcpy(at, of->incarnation, INCARNATION_ID_BYTES);
    bytes_copy(at + INCARNATION_ID_BYTES, tuple.data, tuple.len);
    return slice_of(p, len);
}

struct slice rows_start(struct arena *arena, const struct element_rows *of, enum row_tag tag)
{
    uint8_t *to = NULL;
    return key_begin(arena, of, tag, 0, &to);
}

struct slice rows_end(struct arena *arena, const struct element_rows *of, enum row_tag tag)
{
    return rows_start(arena, of, (enum row_tag)(tag + 1));
}

struct slice row_after(struct arena *arena, struct slice row)
{
    uint8_t *after = arena_alloc(arena, row.len + 1);
    memcpy(after, row.data, row.len);
    after[row.len] = 0;
    return slice_of(after, row.len + 1);
}

void rows_all(struct arena *arena, const struct element_rows *of, struct slice *start,
              struct slice *end)
{
    *start = rows_start(arena, of, (enum row_tag)0);
    *end = rows_start(arena, of, (enum row_tag)0xff);
}

struct slice rows_from_score(struct arena *arena, const struct element_rows *of, double score)
{
    return row_of_number(arena, of, ROW_SCORE, score_order(score), slice_of(NULL, 0));
}

struct slice rows_after_score(struct arena *arena, const struct element_rows *of, double score)
{
    return row_of_number(arena, of, ROW_SCORE, score_order(score) + 1, slice_of(NULL, 0));
}

/* ---- values ---- */

struct slice row_value_of_field(struct arena *arena, const struct element *x)
{
    if (!is_long(x->name)) return x->value;
    size_t len = LENGTH_BYTES + x->name.len + x->value.len;
    uint8_t *p = arena_alloc(arena, len);
    put_u32(p, (uint32_t)x->name.len);
    memcpy(p + LENGTH_BYTES, x->name.data, x->name.len);
    bytes_copy(p + LENGTH_BYTES + x->name.len, x->value.data, x->value.len);
    return slice_of(p, len);
}

struct slice row_value_of_member(struct arena *arena, enum collection_kind kind,
                                 const struct element *x)
{
    size_t score_bytes = kind == COLLECTION_ZSET ? 8 : 0;
    size_t len = score_bytes + (is_long(x->name) ? x->name.len : 0);
    uint8_t *p = arena_alloc(arena, len);
    uint64_t bits = 0;
    memcpy(&bits, &x->score, sizeof bits);
    if (score_bytes > 0) put_u64(p, bits);
    if (is_long(x->name)) memcpy(p + score_bytes, x->name.data, x->name.len);
    return slice_of(p, len);
}

struct slice row_value_of_score(struct arena *arena, const struct element *x)
{
    bool is_negative = x->score == 0 && signbit(x->score);
    if (!is_long(x->name)) return is_negative ? slice_str("\x01") : slice_of(NULL, 0);
    uint8_t *p = arena_alloc(arena, 1 + x->name.len);
    p[0] = is_negative;
    memcpy(p + 1, x->name.data, x->name.len);
    return slice_of(p, 1 + x->name.len);
}

/* ---- reading ---- */

enum row_tag row_tag_of(struct slice key)
{
    return (enum row_tag)key.data[TAG_AT];
}

uint64_t row_position(struct slice key)
{
    return get_u64(key.data + REST_AT);
}

bool row_numbers(struct slice key, uint64_t *numbers, size_t count)
{
    if (key.len < REST_AT + 8 * count) return false;
    for (size_t i = 0; i < count; i++) numbers[i] = get_u64(key.data + REST_AT + 8 * i);
    return true;
}

int64_t row_expiry_ms(struct slice key)
{
    return (int64_t)get_u64(key.data + REST_AT);
}

struct slice row_expiry_field(struct slice key, struct slice value)
{
    if (value.len > 0) return value;
    return slice_of(key.data + REST_AT + 8, key.len - REST_AT - 8);
}

/* The name: in the key, or, when it is long, the rest of the value from `at` on. */
static bool read_name(struct slice in_key, struct slice value, size_t at, struct slice *name)
{
    *name = in_key;
    if (in_key.len <= NAME_WHOLE_BYTES) return value.len == at;
    *name = slice_of(value.data + at, value.len - at);
    return in_key.len == LONG_NAME_BYTES && value.len > at + NAME_WHOLE_BYTES;
}

static bool read_field(struct slice rest, struct slice value, struct element *out)
{
    out->name = rest;
    out->value = value;
    if (rest.len <= NAME_WHOLE_BYTES) return true;
    if (rest.len != LONG_NAME_BYTES || value.len < LENGTH_BYTES) return false;
    size_t len = get_u32(value.data);
    if (len > value.len - LENGTH_BYTES) return false;
    out->name = slice_of(value.data + LENGTH_BYTES, len);
    out->value = slice_of(value.data + LENGTH_BYTES + len, value.len - LENGTH_BYTES - len);
    return true;
}

static bool read_member(enum collection_kind kind, struct slice rest, struct slice value,
                        struct element *out)
{
    size_t at = 0;
    if (kind == COLLECTION_ZSET) {
        if (value.len < 8) return false;
        uint64_t bits = get_u64(value.data);
        memcpy(&out->score, &bits, sizeof bits);
        at = 8;
    }
    return read_name(rest, value, at, &out->name);
}

static bool read_score(struct slice rest, struct slice value, struct element *out)
{
    if (rest.len < 8) return false;
    struct slice in_key = slice_of(rest.data + 8, rest.len - 8);
    out->score = score_of_order(get_u64(rest.data));
    if (value.len > 0 && value.data[0] == 1) out->score = -out->score;
    return read_name(in_key, value, value.len > 0, &out->name);
}

bool row_read(enum collection_kind kind, struct slice key, const struct entry *row,
              struct element *out)
{
    *out = (struct element){.expiry_ms = row->expiry_ms};
    if (key.len < REST_AT) return false;
    struct slice rest = slice_of(key.data + REST_AT, key.len - REST_AT);
    switch (row_tag_of(key)) {
    case ROW_FIELD: return read_field(rest, row->value, out);
    case ROW_MEMBER: return read_member(kind, rest, row->value, out);
    case ROW_SCORE: return read_score(rest, row->value, out);
    case ROW_POSITION: out->value = row->value; return rest.len == 8;
    case ROW_ENTRY:
        out->name = rest;
        out->value = row->value;
        return rest.len == STREAM_ID_BYTES;
    case ROW_EXPIRY:
    case ROW_GROUP:
    case ROW_CONSUMER:
    case ROW_CONSUMER_NAME:
    case ROW_PENDING:
    case ROW_OWNED: break;
    }
    return false;
}
