/* elements: KV.ELEMENTS: a page of the elements of a collection, and a cursor for those that
 * follow. Pages that are read to the end are of one state: a cursor knows of which one, and is
 * refused once the collection has changed.
 *
 * A cursor is URL-safe text of
 *
 *   format (1 byte: 1), fingerprint of the key (8), version of the collection (8), writes of the
 *   transaction that asked (4; 0 = the collection is as it is committed), then of a packed one how
 *   many elements come before (4), of a spread one the row of the last element, of a stream with
 *   GROUPS the place after its last part (collection/parts.h)
 */
#include "request/elements.h"
#include "base/hash.h"
#include "codec/base64.h"
#include "collection/parts.h"
#include "request/args.h"
#include "request/keys.h"
#include "request/table.h"

#define CURSOR_FORMAT 1
#define CURSOR_HEAD_BYTES 21
#define CURSOR_CHARS_MAX 8192 /* more than any row takes */
#define ELEMENTS_LIMIT_DEFAULT 100
#define ELEMENTS_LIMIT_MAX 10000
#define ELEMENTS_PAGE_BYTES (1u << 20)

struct kv_elements {
    struct slice key, cursor;
    int64_t limit;
    bool with_groups;
};
ARGUMENTS(elements_arguments, struct kv_elements, "key [CURSOR cursor] [LIMIT count] [GROUPS]",
          ARG_KEY(struct kv_elements, key, "key", 0),
          ARG_WORD(struct kv_elements, cursor, "CURSOR"),
          ARG_INTEGER(struct kv_elements, limit, "LIMIT", 1, ELEMENTS_LIMIT_MAX,
                      ELEMENTS_LIMIT_DEFAULT),
          ARG_FLAG(struct kv_elements, with_groups, "GROUPS"));

struct elements_page {
    struct collection c;
    uint8_t head[CURSOR_HEAD_BYTES]; /* of its cursors */
    struct slice place;              /* where it begins; len 0 = at the beginning */
    size_t limit, count;
    struct buf items;  /* as they are written */
    struct slice next; /* the place after it; data NULL = there are no more */
};

/* ---- cursors ---- */

/* The state of the collection: as long as it is the same, a cursor is good. */
static void write_head(struct request *rq, const struct view *v, struct slice key,
                       const struct entry *entry, uint8_t head[CURSOR_HEAD_BYTES])
{
    struct entry own;
    uint64_t created = rq->client->entered.created;
    head[0] = CURSOR_FORMAT;
    put_u64(head + 1, checksum_bytes(key) ^ checksum_bytes(slice_of(&created, sizeof created)));
    put_u64(head + 9, entry->version);
    put_u32(head + 17, view_own(v, key, &own) ? view_writes(v) : 0);
}

static enum err read_cursor(struct request *rq, struct slice text, struct elements_page *p)
{
    if (text.data == NULL || slice_eq(text, slice_str("0"))) return OK;
    buf_clear(rq->scratch, SIZE_MAX);
    bool is_good = text.len <= CURSOR_CHARS_MAX && base64url_decode(text, rq->scratch);
    struct slice cursor = buf_slice(rq->scratch);
    is_good = is_good && cursor.len > CURSOR_HEAD_BYTES && memcmp(cursor.data, p->head, 9) == 0;
    if (!is_good) {
        return error_set(&rq->error, ERR_SYNTAX, "invalid cursor: it does not belong to this key");
    }
    if (memcmp(cursor.data, p->head, CURSOR_HEAD_BYTES) != 0) {
        return error_set(&rq->error, ERR_STALE,
                         "the collection has changed since the page with this cursor; start again "
                         "without CURSOR");
    }
    p->place = arena_copy(
        rq->arena, slice_of(cursor.data + CURSOR_HEAD_BYTES, cursor.len - CURSOR_HEAD_BYTES));
    return OK;
}

static void reply_cursor(struct request *rq, const struct elements_page *p)
{
    if (p->next.data == NULL) {
        resp_bulk_str(rq->w, "0");
        return;
    }
    buf_clear(rq->scratch, SIZE_MAX);
    buf_append(rq->scratch, p->head, CURSOR_HEAD_BYTES);
    buf_append(rq->scratch, p->next.data, p->next.len);
    struct resp_mark mark = resp_bulk_begin(rq->w, 10);
    base64url_encode(buf_slice(rq->scratch), rq->w->out);
    resp_bulk_end(rq->w, mark);
}

/* ---- elements ---- */

static void reply_known(struct resp_writer *w, int64_t n)
{
    if (n >= 0) {
        resp_int(w, n);
    } else {
        resp_nil(w);
    }
}

static void begin_part(struct resp_writer *w, size_t count, const char *what)
{
    resp_array(w, count);
    resp_bulk_str(w, what);
}

/* Like an entry, which begins with its id, a part begins with what it is. */
static void add_part(struct request *rq, struct elements_page *p, const struct stream_part *x)
{
    struct resp_writer w = {.out = &p->items, .proto = rq->w->proto};
    p->count++;
    switch (x->kind) {
    case PART_ENTRY: reply_stream_entry(&w, x->id, x->fields); break;
    case PART_STATE:
        begin_part(&w, 4, "STATE");
        reply_stream_id(&w, x->id);
        resp_int(&w, (int64_t)x->count);
        reply_stream_id(&w, x->deleted);
        break;
    case PART_GROUP:
        begin_part(&w, 4, "GROUP");
        resp_bulk(&w, x->group);
        reply_stream_id(&w, x->id);
        reply_known(&w, x->entries_read);
        break;
    case PART_CONSUMER:
        begin_part(&w, 5, "CONSUMER");
        resp_bulk(&w, x->group);
        resp_bulk(&w, x->consumer);
        resp_int(&w, x->at_ms);
        reply_known(&w, x->active_ms);
        break;
    case PART_PENDING:
        begin_part(&w, 6, "PENDING");
        resp_bulk(&w, x->group);
        resp_bulk(&w, x->consumer);
        reply_stream_id(&w, x->id);
        resp_int(&w, x->at_ms);
        resp_int(&w, (int64_t)x->count);
        break;
    }
}

static void add(struct request *rq, struct elements_page *p, const struct element *x)
{
    struct resp_writer w = {.out = &p->items, .proto = rq->w->proto};
    p->count++;
    reply_element(&w, p->c.head.kind, x);
}

static bool is_full(const struct elements_page *p)
{
    return p->count == p->limit || p->items.len >= ELEMENTS_PAGE_BYTES;
}

/* Those in the head are counted with the ones that have expired since, which places are about. */
static enum err read_packed(struct request *rq, struct elements_page *p)
{
    const struct collection_head *h = &p->c.head;
    size_t at = 0;
    uint32_t from = 0;
    if (p->place.len > 0 && p->place.len != 4) {
        return error_set(&rq->error, ERR_SYNTAX, "invalid cursor");
    }
    if (p->place.len > 0) from = get_u32(p->place.data);
    for (uint32_t i = 0; at < h->packed.len; i++) {
        struct element x;
        if (is_full(p)) {
            uint8_t *place = arena_alloc(rq->arena, 4);
            put_u32(place, i);
            p->next = slice_of(place, 4);
            break;
        }
        if (!collection_packed_next(h, &at, &x)) return collection_damaged(&p->c, &rq->error);
        bool is_dead = x.expiry_ms != 0 && x.expiry_ms <= p->c.view->now_ms;
        if (i >= from && !is_dead) add(rq, p, &x);
    }
    return OK;
}

/* The row of an element in the order of a walk. */
static struct slice row_of(const struct elements_page *p, const struct element_walk *w,
                           const struct element *x)
{
    struct element_rows rows = collection_rows(&p->c);
    struct arena *arena = p->c.view->arena;
    switch (p->c.head.kind) {
    case COLLECTION_LIST: return row_of_position(arena, &rows, w->position);
    case COLLECTION_ZSET: return row_of_score(arena, &rows, x->score, x->name);
    case COLLECTION_HASH:
    case COLLECTION_SET:
    case COLLECTION_STREAM: break;
    }
    return row_of_name(arena, &rows, element_walk_tag(&p->c, false), x->name);
}

static enum err range_after(struct request *rq, const struct elements_page *p,
                            struct walk_range *range)
{
    struct element_rows rows = collection_rows(&p->c);
    struct slice place = p->place;
    if (place.len == 0) return OK;
    struct slice first = rows_start(rq->arena, &rows, element_walk_tag(&p->c, false));
    if (!slice_has_prefix(place, first)) {
        return error_set(&rq->error, ERR_SYNTAX, "invalid cursor");
    }
    range->start = row_after(rq->arena, place);
    return OK;
}

static enum err read_spread(struct request *rq, struct elements_page *p)
{
    size_t work = ELEMENTS_LIMIT_MAX * SCAN_WORK_ROW;
    struct walk_range range = {.hint = p->limit + 1, .work_left = &work};
    struct element_walk walk = {0};
    struct slice last = {0};
    bool is_end = false;
    enum err r = range_after(rq, p, &range);
    if (r == OK) r = element_walk_begin(&walk, &p->c, &range, &rq->error);
    while (r == OK) {
        struct element x;
        r = element_walk_next(&walk, &x, &is_end, &rq->error);
        if (r != OK || is_end) break;
        if (is_full(p)) { /* and there is one more */
            p->next = last;
            break;
        }
        add(rq, p, &x);
        if (is_full(p)) last = row_of(p, &walk, &x);
    }
    if (elements_are_many(rq, r, work)) { /* that have expired: go on from there */
        p->next = arena_copy(rq->arena, engine_scan_place(walk.scan));
        r = OK;
    }
    element_walk_end(&walk);
    return r;
}

/* Of a stream, with what it knows of itself and its groups. */
static enum err read_parts(struct request *rq, struct elements_page *p)
{
    struct stream_parts parts = {.hint = p->limit + 1};
    bool is_good = false;
    bool is_end = false;
    enum err r = stream_parts_begin(&parts, &p->c, p->place, &is_good, &rq->error);
    if (r == OK && !is_good) r = error_set(&rq->error, ERR_SYNTAX, "invalid cursor");
    while (r == OK) {
        struct stream_part x;
        struct slice place = is_full(p) ? stream_parts_place(&parts) : p->place;
        r = stream_parts_next(&parts, &x, &is_end, &rq->error);
        if (r != OK || is_end) break;
        if (is_full(p)) { /* and there is one more */
            p->next = place;
            break;
        }
        add_part(rq, p, &x);
    }
    stream_parts_end(&parts);
    return r;
}

static enum err read_page(struct request *rq, struct elements_page *p)
{
    const struct kv_elements *a = rq->bound;
    if (p->c.head.kind == COLLECTION_STREAM && a->with_groups) return read_parts(rq, p);
    return p->c.head.is_spread ? read_spread(rq, p) : read_packed(rq, p);
}

/* ---- the command ---- */

static void reply_page(struct request *rq, const struct elements_page *p, uint64_t version,
                       uint64_t length)
{
    resp_array(rq->w, 6);
    reply_stamp(rq, version);
    resp_bulk_str(rq->w, collection_kind_name(p->c.head.kind));
    resp_int(rq->w, (int64_t)length);
    reply_expiry(rq->w, p->c.expiry_ms);
    reply_cursor(rq, p);
    resp_array(rq->w, p->count);
    buf_append(rq->w->out, p->items.data, p->items.len);
}

static enum err tell_page(struct request *rq, struct view *v, const struct entry *entry)
{
    const struct kv_elements *a = rq->bound;
    struct elements_page p = {.limit = (size_t)a->limit};
    uint64_t length = 0;
    collection_begin(rq->env->db->collections, v, a->key, COLLECTION_HASH, &p.c);
    write_head(rq, v, a->key, entry, p.head);
    buf_init(&p.items);
    enum err r = read_cursor(rq, a->cursor, &p);
    if (r == OK) r = collection_read(&p.c, entry, &rq->error);
    if (r == OK) r = elements_length(rq, &p.c, entry->version, &length);
    if (r == OK) r = read_page(rq, &p);
    if (r == OK && p.items.is_failed) {
        r = error_set(&rq->error, ERR_NOMEM, "out of memory for the reply");
    }
    if (r == OK) reply_page(rq, &p, entry->version, length);
    buf_fini(&p.items);
    return r;
}

static enum err kv_elements_run(struct request *rq)
{
    const struct kv_elements *a = rq->bound;
    struct entry entry;
    enum err r = request_read(rq, a->key, &entry);
    if (r != OK) return r;
    if (!entry.exists) {
        resp_nil_array(rq->w);
        return OK;
    }
    if (!collection_is_head(entry.value)) return string_wrong_type(&rq->error);
    struct view *v = elements_view(rq);
    r = tell_page(rq, v, &entry);
    elements_read(rq, v);
    return r;
}

const struct command kv_elements = {
    .name = "kv.elements",
    .flags = CMD_READ | CMD_FOLLOWER | CMD_FORMAT,
    .key_flags = KEY_RO | KEY_ACCESS,
    .group = "kv",
    .since = "0.2.0",
    .summary =
        "Returns a page of the elements of a hash, list, set, sorted set or stream. All pages are "
        "of one state.",
    .arguments = &elements_arguments,
    .reply =
        "`[versionstamp, type, length, expiry ms or nil, cursor, [element ...]]`, or nil if the "
        "key does not exist. An element is bytes, for a hash `[field, value, expiry ms or nil]`, "
        "for a sorted set `[member, score]`, for a stream `[id, [field, value ...]]`. `GROUPS` "
        "adds to the entries of a stream its state when the page is read: `[STATE, last id, "
        "entries ever added, greatest deleted id]`, `[GROUP, name, last id, entries read or "
        "nil]`, `[CONSUMER, group, name, seen ms, active ms or nil]`, `[PENDING, group, consumer, "
        "id, delivered ms, deliveries]`. Cursor `0` means that there are no more. A page ends "
        "after `LIMIT` elements (100) or about 1 MB. `-STALE` if the collection has changed since "
        "the page with this cursor: start again without a cursor.",
    .run = kv_elements_run,
};
