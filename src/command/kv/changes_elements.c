/* changes_elements: see changes_elements.h.
 *
 *   a packed collection                  its head has all elements               whole
 *   spread by this commit                all its rows are in the commit          whole
 *   spread before, the same key          the commit has the rows that changed    part
 *   spread before, another key           the row that says whose it is changed   renamed
 */
#include "command/kv/changes_elements.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "collection/rows.h"
#include "collection/stream.h"
#include "request/elements.h"

#define ROW_HEAD_BYTES (KEY_HEAD_BYTES + INCARNATION_ID_BYTES)
#define ROW_REST_AT (ROW_HEAD_BYTES + 1) /* after the tag */

void commit_elements_range(uint16_t database, uint8_t start[KEY_HEAD_BYTES],
                           uint8_t end[KEY_HEAD_BYTES])
{
    const uint8_t first[KEY_HEAD_BYTES] = {KEY_HEAD(database, SPACE_ELEMENT)};
    const uint8_t after[KEY_HEAD_BYTES] = {KEY_HEAD(database, SPACE_COLLECTION + 1)};
    _Static_assert(SPACE_COLLECTION == SPACE_ELEMENT + 1, "one range has both");
    memcpy(start, first, sizeof first);
    memcpy(end, after, sizeof after);
}

bool is_row_of_elements(const struct changes_row *row)
{
    if (row->mutation.kind == MUTATION_FLUSH) return false;
    uint8_t space = (uint8_t)key_space(row->mutation.key);
    return space == SPACE_ELEMENT || space == SPACE_COLLECTION;
}

static int by_key(const void *a, const void *b)
{
    const struct changes_row *const *x = a;
    const struct changes_row *const *y = b;
    return slice_cmp((*x)->mutation.key, (*y)->mutation.key);
}

void commit_elements_take(struct commit_elements *x, struct arena *arena,
                          const struct changes_row *rows, size_t count)
{
    x->rows = arena_alloc(arena, (count + 1) * sizeof(struct changes_row *));
    x->count = 0;
    for (size_t i = 0; i < count; i++) {
        if (is_row_of_elements(&rows[i])) x->rows[x->count++] = &rows[i];
    }
    if (x->count > 1) qsort(x->rows, x->count, sizeof x->rows[0], by_key);
}

/* Where the rows that begin so are; *end: after them. */
static size_t rows_of(const struct commit_elements *x, struct slice prefix, size_t *end)
{
    size_t low = 0;
    size_t high = x->count;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (slice_cmp(x->rows[mid]->mutation.key, prefix) < 0) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    *end = low;
    while (*end < x->count && slice_has_prefix(x->rows[*end]->mutation.key, prefix)) ++*end;
    return low;
}

static struct slice prefix_of(struct arena *arena, uint16_t database, uint8_t space,
                              const uint8_t *incarnation)
{
    const uint8_t head[KEY_HEAD_BYTES] = {KEY_HEAD(database, space)};
    uint8_t *bytes = arena_alloc(arena, ROW_HEAD_BYTES);
    memcpy(bytes, head, sizeof head);
    memcpy(bytes + sizeof head, incarnation, INCARNATION_ID_BYTES);
    return slice_of(bytes, ROW_HEAD_BYTES);
}

/* ---- elements -------------------------------------------------------------------------------- */

static enum row_tag tag_of(enum collection_kind kind)
{
    switch (kind) {
    case COLLECTION_HASH: return ROW_FIELD;
    case COLLECTION_LIST: return ROW_POSITION;
    case COLLECTION_SET:
    case COLLECTION_ZSET: return ROW_MEMBER;
    case COLLECTION_STREAM: break;
    }
    return ROW_ENTRY;
}

/* Positions begin in the middle: shown as numbers around 0. */
static int64_t shown_position(uint64_t position)
{
    return (int64_t)(position ^ (1ULL << 63));
}

static void reply_changed(struct resp_writer *w, enum collection_kind kind, int64_t position,
                          const struct element *x)
{
    switch (kind) {
    case COLLECTION_LIST:
        resp_array(w, 2);
        resp_int(w, position);
        resp_bulk(w, x->value);
        break;
    case COLLECTION_STREAM: reply_stream_entry(w, stream_id_of(x), x->value); break;
    case COLLECTION_HASH:
    case COLLECTION_SET:
    case COLLECTION_ZSET: reply_element(w, kind, x); break;
    }
}

static void reply_id_of(struct resp_writer *w, struct slice key)
{
    struct element x = {0};
    if (key.len != ROW_REST_AT + STREAM_ID_BYTES) {
        resp_nil(w);
        return;
    }
    x.name = slice_of(key.data + ROW_REST_AT, STREAM_ID_BYTES);
    reply_stream_id(w, stream_id_of(&x));
}

/* Of a row that was deleted only the key is known. */
static void reply_removed(struct resp_writer *w, enum collection_kind kind,
                          const struct mutation *mu)
{
    struct slice rest = slice_of(mu->key.data + ROW_REST_AT, mu->key.len - ROW_REST_AT);
    if (mu->kind == MUTATION_FORGET) {
        resp_array(w, 2);
        reply_id_of(w, mu->key);
        reply_id_of(w, mu->value);
    } else if (kind == COLLECTION_LIST) {
        resp_int(w, shown_position(row_position(mu->key)));
    } else if (kind == COLLECTION_STREAM) {
        reply_id_of(w, mu->key);
    } else if (rest.len <= NAME_WHOLE_BYTES) {
        resp_bulk(w, rest);
    } else { /* its beginning, and the hash of all of it */
        resp_array(w, 2);
        resp_bulk(w, slice_of(rest.data, NAME_WHOLE_BYTES));
        resp_bulk(w, slice_of(rest.data + NAME_WHOLE_BYTES, rest.len - NAME_WHOLE_BYTES));
    }
}

/* ---- packed ---------------------------------------------------------------------------------- */

static void reply_packed(struct resp_writer *w, const struct collection_head *h)
{
    struct element x;
    size_t at = 0;
    int64_t position = 0;
    resp_array(w, 3);
    resp_bulk_str(w, "whole");
    resp_array(w, h->count);
    for (uint64_t i = 0; i < h->count; i++) {
        if (collection_packed_next(h, &at, &x)) {
            reply_changed(w, h->kind, position++, &x);
        } else { /* damaged */
            resp_nil(w);
        }
    }
    resp_array(w, 0);
}

/* ---- spread ---------------------------------------------------------------------------------- */

struct changed {
    const struct collection_head *head;
    const struct commit_elements *of;
    size_t from, upto; /* its rows */
};

/* Has the row something to say of an element? *is_set: what it is now. */
static bool says(const struct changed *c, size_t i, bool *is_set)
{
    const struct mutation *mu = &c->of->rows[i]->mutation;
    *is_set = mu->kind == MUTATION_SET;
    return mu->key.len >= ROW_REST_AT && row_tag_of(mu->key) == tag_of(c->head->kind);
}

static size_t count_rows(const struct changed *c, bool is_set)
{
    size_t n = 0;
    bool is;
    for (size_t i = c->from; i < c->upto; i++) n += says(c, i, &is) && is == is_set;
    return n;
}

static void reply_rows(struct resp_writer *w, const struct changed *c, bool is_set)
{
    bool is;
    resp_array(w, count_rows(c, is_set));
    for (size_t i = c->from; i < c->upto; i++) {
        const struct mutation *mu = &c->of->rows[i]->mutation;
        struct entry row = {.value = mu->value, .expiry_ms = mu->expiry_ms};
        struct element x;
        if (!says(c, i, &is) || is != is_set) continue;
        if (!is_set) {
            reply_removed(w, c->head->kind, mu);
        } else if (row_read(c->head->kind, mu->key, &row, &x)) {
            bool is_list = c->head->kind == COLLECTION_LIST;
            int64_t position = is_list ? shown_position(row_position(mu->key)) : 0;
            reply_changed(w, c->head->kind, position, &x);
        } else { /* damaged */
            resp_nil(w);
        }
    }
}

/* Of the rows that say whose the collection is, the key that had it before, as a key of the data
 * space; data NULL: none had. *is_new: the commit says whose it is. */
static struct slice former_key(const struct commit_elements *x, struct arena *arena,
                               uint16_t database, const uint8_t *incarnation, bool *is_new)
{
    size_t end;
    size_t i = rows_of(x, prefix_of(arena, database, SPACE_COLLECTION, incarnation), &end);
    struct slice key = {0};
    *is_new = false;
    for (; i < end; i++) {
        const struct mutation *mu = &x->rows[i]->mutation;
        if (mu->kind == MUTATION_SET) *is_new = true;
        if (mu->kind != MUTATION_DELETE) continue;
        const uint8_t head[KEY_HEAD_BYTES] = {KEY_HEAD(database, SPACE_DATA)};
        size_t len = mu->key.len - ROW_HEAD_BYTES;
        uint8_t *bytes = arena_alloc(arena, KEY_HEAD_BYTES + len);
        memcpy(bytes, head, sizeof head);
        memcpy(bytes + sizeof head, mu->key.data + ROW_HEAD_BYTES, len);
        key = slice_of(bytes, sizeof head + len);
    }
    return key;
}

static void reply_spread(struct resp_writer *w, const struct commit_elements *x,
                         const struct changes_row *row, const struct collection_head *h,
                         enum format format, struct arena *arena)
{
    uint16_t database = key_database(row->mutation.key);
    struct changed c = {.head = h, .of = x};
    bool is_new;
    struct slice former = former_key(x, arena, database, h->incarnation, &is_new);
    bool is_renamed = is_new && former.data != NULL;
    bool is_whole = get_u64(h->incarnation) == row->version || (is_new && !is_renamed);
    c.from = rows_of(x, prefix_of(arena, database, SPACE_ELEMENT, h->incarnation), &c.upto);
    resp_array(w, is_renamed ? 4 : 3);
    resp_bulk_str(w, is_renamed ? "renamed" : is_whole ? "whole" : "part");
    reply_rows(w, &c, true);
    reply_rows(w, &c, false);
    if (!is_renamed) return;
    bool is_told = slice_cmp(former, x->start) >= 0 && slice_cmp(former, x->end) < 0;
    if (is_told) {
        reply_key(w, format, former);
    } else { /* outside of what was asked for */
        resp_nil(w);
    }
}

void reply_changed_elements(struct resp_writer *w, const struct commit_elements *x,
                            const struct changes_row *row, enum format format, struct arena *arena)
{
    const struct mutation *mu = &row->mutation;
    struct collection_head h;
    bool has_ended = mu->expiry_ms != 0 && mu->expiry_ms <= row->time_ms;
    if (mu->kind != MUTATION_SET || has_ended || !collection_is_head(mu->value) ||
        !collection_head_read(mu->value, &h)) {
        resp_nil(w);
    } else if (h.is_spread) {
        reply_spread(w, x, row, &h, format, arena);
    } else {
        reply_packed(w, &h);
    }
}
