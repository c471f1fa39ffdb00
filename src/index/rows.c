/* rows: keys of definitions and ids, and the definition as MessagePack. Parts of values are
 * part.c's. */
#include "index/rows.h"

#include "base/bytes.h"
#include "codec/pack.h"

#define FORMAT_OF_VALUES 1
#define FORMAT_OF_HASHES 2
#define DEFINITION_MEMBERS 11 /* of values */

struct slice index_row_key(struct arena *arena, uint16_t database, enum index_row row,
                           struct slice rest)
{
    uint8_t *p = arena_alloc(arena, KEY_HEAD_BYTES + 1 + rest.len);
    *key_head_write(p, database, SPACE_INDEX) = (uint8_t)row;
    bytes_copy(p + KEY_HEAD_BYTES + 1, rest.data, rest.len);
    return slice_of(p, KEY_HEAD_BYTES + 1 + rest.len);
}

void index_id_write(uint32_t id, uint8_t out[INDEX_ID_BYTES])
{
    put_u32(out, id);
}

uint32_t index_id_read(struct slice bytes)
{
    return get_u32(bytes.data);
}

struct slice index_id_key(struct arena *arena, uint16_t database, enum space space, uint32_t id)
{
    uint8_t *p = arena_alloc(arena, KEY_HEAD_BYTES + INDEX_ID_BYTES);
    key_head_write(p, database, (uint8_t)space);
    index_id_write(id, p + KEY_HEAD_BYTES);
    return slice_of(p, KEY_HEAD_BYTES + INDEX_ID_BYTES);
}

/* Of a tuple, behind an id and maybe a tag. */
static struct slice key_of_tuple(struct arena *arena, struct slice head, bool has_tag,
                                 struct slice tuple)
{
    size_t before = head.len + has_tag;
    uint8_t *p = arena_alloc(arena, before + tuple.len);
    memcpy(p, head.data, head.len);
    if (has_tag) p[head.len] = INDEX_LIST_TAG;
    bytes_copy(p + before, tuple.data, tuple.len);
    return slice_of(p, before + tuple.len);
}

struct slice index_list_key(struct arena *arena, uint16_t database, uint32_t id, struct slice tuple)
{
    struct slice head = index_id_key(arena, database, SPACE_INDEX_ENTRY, id);
    return key_of_tuple(arena, head, true, tuple);
}

struct slice index_text_key(struct arena *arena, uint16_t database, uint32_t id, struct slice tuple)
{
    struct slice head = index_id_key(arena, database, SPACE_HASH_TEXT, id);
    return key_of_tuple(arena, head, false, tuple);
}

/* ---- definitions ---- */

static void array_head(struct buf *out, size_t count)
{
    uint8_t head[PACK_HEAD_BYTES];
    size_t len = pack_head(PACK_ARRAY, 0, count, head);
    buf_append(out, head, len);
}

void definition_write(const struct definition *d, struct buf *out)
{
    bool is_of_hashes = definition_is_of_hashes(d);
    array_head(out, DEFINITION_MEMBERS + is_of_hashes);
    pack_uint(out, is_of_hashes ? FORMAT_OF_HASHES : FORMAT_OF_VALUES);
    pack_uint(out, d->id);
    pack_uint(out, d->kind);
    pack_uint(out, d->is_unique);
    pack_bin(out, d->prefix);
    array_head(out, d->path_count);
    for (size_t i = 0; i < d->path_count; i++) pack_str(out, d->paths[i]);
    pack_str(out, d->tokenizer);
    pack_uint(out, d->state);
    pack_bin(out, d->position);
    pack_uint(out, d->filled);
    pack_str(out, d->note);
    if (is_of_hashes) pack_str(out, d->hashes);
}

/* A cursor with a sticky error. */
struct members {
    const uint8_t *at, *end;
    bool is_bad;
};

static struct pack_item member(struct members *m, enum pack_type type)
{
    struct pack_item item = {0};
    bool is_good = !m->is_bad && pack_read(&m->at, m->end, &item) == PACK_OK && item.type == type;
    if (!is_good) {
        m->is_bad = true;
        item = (struct pack_item){0};
    }
    return item;
}

bool definition_read(struct slice row, struct definition *out)
{
    struct members m = {.at = row.data, .end = row.data + row.len};
    *out = (struct definition){0};
    uint32_t members = member(&m, PACK_ARRAY).count;
    uint64_t format = member(&m, PACK_UINT).u;
    bool is_of_hashes = format == FORMAT_OF_HASHES;
    if (!is_of_hashes && format != FORMAT_OF_VALUES) return false;
    if (members != DEFINITION_MEMBERS + (uint32_t)is_of_hashes) return false;
    out->id = (uint32_t)member(&m, PACK_UINT).u;
    out->kind = member(&m, PACK_UINT).u == INDEX_TEXT ? INDEX_TEXT : INDEX_VALUE;
    out->is_unique = member(&m, PACK_UINT).u != 0;
    out->prefix = member(&m, PACK_BIN).body;
    out->path_count = member(&m, PACK_ARRAY).count;
    if (out->path_count > INDEX_PATHS_MAX) return false;
    for (size_t i = 0; i < out->path_count; i++) out->paths[i] = member(&m, PACK_STR).body;
    out->tokenizer = member(&m, PACK_STR).body;
    uint64_t state = member(&m, PACK_UINT).u;
    out->state = state == INDEX_READY    ? INDEX_READY
                 : state == INDEX_FAILED ? INDEX_FAILED
                                         : INDEX_FILLING;
    out->position = member(&m, PACK_BIN).body;
    out->filled = member(&m, PACK_UINT).u;
    out->note = member(&m, PACK_STR).body;
    if (is_of_hashes) out->hashes = member(&m, PACK_STR).body;
    return !m.is_bad && m.at == m.end;
}
