/* hashes: indexes of hashes. A hash is seen as an object whose members are its fields, each a
 * string, and a number too where its text is one in JSON; what is not UTF-8 is not seen. Which
 * hashes an index has is said by a glob over the names of their keys, and maybe by a prefix.
 */
#include "base/bytes.h"
#include "codec/field.h"
#include "codec/key.h"
#include "codec/pack.h"
#include "codec/utf8.h"
#include "index/index_int.h"

/* ---- which hashes ---- */

/* The name that the glob is about: below a prefix the path form of the key, which permissions are
 * about too; else the text of a key that is one string. Borrowed from the tuple or `room`; data
 * NULL: it has none. */
static struct slice name_of(const struct index *x, struct slice tuple, struct buf *room)
{
    struct key_part part;
    size_t at = 0;
    if (x->definition.prefix.len > 0) {
        key_to_path(tuple, room);
        buf_require(room);
        return buf_slice(room);
    }
    bool is_string = key_next(tuple, &at, &part) && at == tuple.len && part.type == KEY_STRING;
    if (!is_string) return slice_of(NULL, 0);
    if (memchr(part.bytes.data, 0, part.bytes.len) == NULL) return part.bytes;
    for (size_t i = 0; i < part.bytes.len; i++) {
        buf_append_byte(room, part.bytes.data[i]);
        if (part.bytes.data[i] == 0) i++; /* its escape */
    }
    buf_require(room);
    return buf_slice(room);
}

bool index_covers(const struct index *x, struct slice key)
{
    struct slice tuple = engine_key_tuple(key);
    struct buf room;
    if (!key_is_below(tuple, x->definition.prefix)) return false;
    if (x->glob == NULL) return true;
    buf_init(&room);
    struct slice name = name_of(x, tuple, &room);
    bool fits = name.data != NULL && glob_fits(x->glob, name);
    buf_fini(&room);
    return fits;
}

/* Names that fit begin with what the glob begins with. */
void index_range(const struct index *x, struct arena *arena, struct slice *start, struct slice *end)
{
    const struct definition *d = &x->definition;
    struct buf low;
    if (d->prefix.len > 0 || x->glob == NULL || glob_literal(d->hashes).len == 0) {
        engine_range_below(arena, x->database, d->prefix, start, end);
        return;
    }
    buf_init(&low);
    engine_key_begin(&low, x->database);
    key_add_string(&low, glob_literal(d->hashes));
    buf_require(&low);
    low.len--; /* the end of the string */
    *start = arena_copy(arena, buf_slice(&low));
    buf_append_byte(&low, 0xff);
    buf_append_byte(&low, 0xff);
    buf_require(&low);
    *end = arena_copy(arena, buf_slice(&low));
    buf_fini(&low);
}

/* ---- rows ---- */

/* The parts of a field: as a string, and as a number if it is one. */
struct field_parts {
    struct slice parts[2]; /* in the arena */
    size_t count;
};

static void add_part(struct field_parts *p, struct slice stored, struct arena *arena)
{
    struct buf part;
    buf_init(&part);
    if (index_part(stored, &part)) {
        buf_require(&part);
        p->parts[p->count++] = arena_copy(arena, buf_slice(&part));
    }
    buf_fini(&part);
}

static void parts_of(struct slice text, struct arena *arena, struct field_parts *out)
{
    struct buf stored;
    *out = (struct field_parts){0};
    if (utf8_valid_bytes(text) != text.len) return;
    buf_init(&stored);
    pack_str(&stored, text);
    buf_require(&stored);
    add_part(out, buf_slice(&stored), arena);
    buf_clear(&stored, SIZE_MAX);
    if (field_number(text, &stored)) {
        buf_require(&stored);
        add_part(out, buf_slice(&stored), arena);
    }
    buf_fini(&stored);
}

/* The row of one combination: bit i of `which` says which part of path i. */
static struct slice combine(const struct index *x, struct slice key,
                            const struct field_parts *fields, size_t which, struct arena *arena)
{
    const struct definition *d = &x->definition;
    struct slice tuple = engine_key_tuple(key);
    bool has_tuple = !d->is_unique || which != 0;
    size_t len = KEY_HEAD_BYTES + INDEX_ID_BYTES + (has_tuple ? tuple.len : 0);
    for (size_t i = 0; i < d->path_count; i++) len += fields[i].parts[which >> i & 1].len;
    uint8_t *row = arena_alloc(arena, len);
    uint8_t *p = key_head_write(row, x->database, SPACE_INDEX_ENTRY);
    index_id_write(d->id, p);
    p += INDEX_ID_BYTES;
    for (size_t i = 0; i < d->path_count; i++) {
        struct slice part = fields[i].parts[which >> i & 1];
        memcpy(p, part.data, part.len);
        p += part.len;
    }
    if (has_tuple) memcpy(p, tuple.data, tuple.len);
    return slice_of(row, len);
}

void index_hash_rows(const struct index *x, struct slice key, const struct element *fields,
                     struct arena *arena, struct index_rows *out)
{
    size_t paths = x->definition.path_count;
    struct field_parts parts[INDEX_VALUE_PATHS_MAX];
    size_t twofold = 0; /* bit i: path i has two parts */
    *out = (struct index_rows){0};
    for (size_t i = 0; i < paths; i++) {
        if (fields[i].name.data == NULL) return;
        parts_of(fields[i].value, arena, &parts[i]);
        if (parts[i].count == 0) return;
        if (parts[i].count == 2) twofold |= (size_t)1 << i;
    }
    out->keys = arena_alloc(arena, ((size_t)1 << paths) * sizeof *out->keys);
    for (size_t which = 0; which < (size_t)1 << paths; which++) {
        if ((which & ~twofold) != 0) continue;
        out->keys[out->count++] = combine(x, key, parts, which, arena);
    }
    out->count = slice_sort_distinct(out->keys, out->count);
}

int64_t index_hash_expiry(const struct index *x, const struct element *fields, int64_t expiry_ms)
{
    for (size_t i = 0; i < x->definition.path_count; i++) {
        int64_t at = fields[i].expiry_ms;
        if (at != 0 && (expiry_ms == 0 || at < expiry_ms)) expiry_ms = at;
    }
    return expiry_ms;
}

struct slice index_hash_texts(const struct index *x, const struct element *fields,
                              struct arena *arena)
{
    struct buf members;
    struct buf object;
    uint8_t head[PACK_HEAD_BYTES];
    size_t count = 0;
    buf_init(&members);
    buf_init(&object);
    for (size_t i = 0; i < x->definition.path_count; i++) {
        struct slice text = fields[i].value;
        bool is_seen = fields[i].name.data != NULL && text.len > 0 &&
                       utf8_valid_bytes(text) == text.len;
        if (!is_seen) continue;
        pack_str(&members, fields[i].name);
        pack_str(&members, text);
        count++;
    }
    if (count > 0) buf_append(&object, head, pack_head(PACK_MAP, 0, count, head));
    buf_append(&object, members.data, members.len);
    buf_require(&members);
    buf_require(&object);
    struct slice kept = arena_copy(arena, buf_slice(&object));
    buf_fini(&members);
    buf_fini(&object);
    return kept;
}

/* ---- lists ---- */

#define LIST_TIME_BYTES 8
#define LIST_LENGTH_BYTES 4
#define ROW_BEGIN (KEY_HEAD_BYTES + INDEX_ID_BYTES)

struct slice index_list(const struct index_rows *rows, int64_t expiry_ms, struct arena *arena)
{
    size_t len = LIST_TIME_BYTES;
    for (size_t i = 0; i < rows->count; i++) {
        len += LIST_LENGTH_BYTES + rows->keys[i].len - ROW_BEGIN;
    }
    uint8_t *list = arena_alloc(arena, len);
    uint8_t *p = list + LIST_TIME_BYTES;
    put_u64(list, (uint64_t)expiry_ms);
    for (size_t i = 0; i < rows->count; i++) {
        size_t rest = rows->keys[i].len - ROW_BEGIN;
        put_u32(p, (uint32_t)rest);
        memcpy(p + LIST_LENGTH_BYTES, rows->keys[i].data + ROW_BEGIN, rest);
        p += LIST_LENGTH_BYTES + rest;
    }
    return slice_of(list, len);
}

/* The next of the list at *at; len 0 at its end or where it is damaged. */
static struct slice list_next(struct slice list, size_t *at)
{
    if (list.len - *at < LIST_LENGTH_BYTES) return slice_of(NULL, 0);
    size_t len = get_u32(list.data + *at);
    if (len > list.len - *at - LIST_LENGTH_BYTES) return slice_of(NULL, 0);
    struct slice rest = slice_of(list.data + *at + LIST_LENGTH_BYTES, len);
    *at += LIST_LENGTH_BYTES + len;
    return rest;
}

bool index_list_read(const struct index *x, struct slice list, struct arena *arena,
                     struct index_rows *out, int64_t *expiry_ms)
{
    struct slice rest;
    size_t at = LIST_TIME_BYTES;
    size_t count = 0;
    *out = (struct index_rows){0};
    if (list.len < LIST_TIME_BYTES) return false;
    *expiry_ms = (int64_t)get_u64(list.data);
    while (list_next(list, &at).len > 0) count++;
    if (at != list.len) return false;
    out->keys = arena_alloc(arena, count * sizeof *out->keys);
    at = LIST_TIME_BYTES;
    while ((rest = list_next(list, &at)).len > 0) {
        uint8_t *row = arena_alloc(arena, ROW_BEGIN + rest.len);
        index_id_write(x->definition.id, key_head_write(row, x->database, SPACE_INDEX_ENTRY));
        memcpy(row + ROW_BEGIN, rest.data, rest.len);
        out->keys[out->count++] = slice_of(row, ROW_BEGIN + rest.len);
    }
    return true;
}

/* ---- finding ---- */

/* Is the part at [from, to) of the row a string's that is the text of a number? */
static bool is_number_text(struct slice row, size_t from, size_t to)
{
    struct buf ignored;
    if (row.data[from] != PART_STRING || to - from < 1 + PART_END_BYTES) return false;
    struct slice text = slice_of(row.data + from + 1, to - from - 1 - PART_END_BYTES);
    buf_init(&ignored);
    bool is_number = field_number(text, &ignored);
    buf_fini(&ignored);
    return is_number;
}

/* Are all rows within the range that agree with this one before `at`, and go on with that type? */
static bool has_type(const struct scan_range *range, struct slice row, size_t at, uint8_t type)
{
    uint8_t first[2] = {type, (uint8_t)(type + 1)};
    bool is_inside[2];
    struct slice bounds[] = {range->start, range->end};
    for (int i = 0; i < 2; i++) {
        size_t common = bounds[i].len < at ? bounds[i].len : at;
        int order = memcmp(bounds[i].data, row.data, common);
        if (order == 0 && bounds[i].len <= at) order = -1; /* the bound is a beginning of them */
        if (order == 0) order = bounds[i].data[at] < first[i] ? -1 : bounds[i].data[at] > first[i];
        if (order == 0) order = bounds[i].len > at + 1;
        is_inside[i] = i == 0 ? order <= 0 : order >= 0;
    }
    return is_inside[0] && is_inside[1];
}

/* An entry's rows in a range differ where a part is a string here and a number there, and both are
 * in it. Strings come first. */
bool index_hash_row_leads(const struct index *x, struct slice row, const struct scan_range *range)
{
    size_t at = ROW_BEGIN;
    for (size_t i = 0; i < x->definition.path_count; i++) {
        size_t end = index_part_end(row, at);
        if (end == 0) return false;
        if (range->is_reverse) {
            if (is_number_text(row, at, end) && has_type(range, row, at, PART_NUMBER)) return false;
        } else if (row.data[at] == PART_NUMBER && has_type(range, row, at, PART_STRING)) {
            return false;
        }
        at = end;
    }
    return true;
}
