/* check_collections: hashes, lists, sets, sorted sets and streams: heads, and for each spread one
 * its rows: as many as the head says, each readable, those of a sorted set and of what is pending
 * in pairs, and one owner row that names the key. Rows that no key owns are damage too: those of a
 * collection that was deleted are forgotten ranges, and do not come here.
 */
#include "collection/group.h"
#include "offline/check_contents.h"

#define PART "collections"
#define ROW_BYTES 4096

struct rows_found {
    struct contents *c;
    struct slice key;   /* of the entry */
    struct arena arena; /* of the row being looked at: there may be millions of them */
    const struct collection_head *head;
    uint64_t elements, scores, expiries, unreadable;
    /* Of a stream: what its groups say is pending, and their numbers (8 bytes each). */
    uint64_t groups, pending, said_pending;
    struct buf numbers;
    uint64_t group;    /* of the last pending entry, ... */
    bool is_there;     /* ... whose group is there */
    uint64_t unpaired; /* rows of a score without the member's row, or with another score there; of
                        * a stream pending entries that their consumer does not have */
};

static struct element_rows rows_of(const struct contents *c, const struct collection_head *h)
{
    return (struct element_rows){.database = c->database, .incarnation = h->incarnation};
}

/* Of a row by score: does the member's row have this score? */
static bool is_paired(struct rows_found *f, const struct element *x)
{
    struct element_rows rows = rows_of(f->c, f->head);
    arena_reset(&f->arena);
    struct slice key = row_of_name(&f->arena, &rows, ROW_MEMBER, x->name);
    struct entry row;
    struct element member;
    if (!contents_get_in(f->c, &f->arena, key, &row)) return true; /* told */
    return row.exists && row_read(COLLECTION_ZSET, key, &row, &member) &&
           score_order(member.score) == score_order(x->score);
}

/* Rows of groups that were destroyed may still be there: they are forgotten ranges. */
static bool is_of_group(struct rows_found *f, uint64_t number)
{
    if (number == f->group) return f->is_there;
    f->group = number;
    f->is_there = false;
    for (size_t at = 0; at < f->numbers.len && !f->is_there; at += 8) {
        f->is_there = get_u64(f->numbers.data + at) == number;
    }
    return f->is_there;
}

static void group_found(struct rows_found *f, const struct store_row *row)
{
    f->groups++;
    if (row->value.len < GROUP_PENDING_AT + 8) {
        f->unreadable++;
        return;
    }
    f->said_pending += get_u64(row->value.data + GROUP_PENDING_AT);
    buf_append(&f->numbers, row->value.data, 8);
    buf_require(&f->numbers);
}

/* Is it among those of its consumer too? */
static void pending_found(struct rows_found *f, const struct store_row *row)
{
    struct element_rows rows = rows_of(f->c, f->head);
    uint64_t n[3];
    struct entry owned;
    bool is_good = row_numbers(row->key, n, 3) && row->value.len >= 8;
    if (is_good && !is_of_group(f, n[0])) return;
    f->pending++;
    if (!is_good) {
        f->unreadable++;
        return;
    }
    uint64_t of[] = {n[0], get_u64(row->value.data), n[1], n[2]};
    arena_reset(&f->arena);
    struct slice key = row_of_numbers(&f->arena, &rows, ROW_OWNED, of, 4, slice_of(NULL, 0));
    if (contents_get_in(f->c, &f->arena, key, &owned)) f->unpaired += !owned.exists;
}

/* Entries before the first one were trimmed, and are forgotten ranges too. */
static void stream_row_found(struct rows_found *f, enum row_tag tag, const struct store_row *row)
{
    uint64_t n[2];
    switch (tag) {
    case ROW_ENTRY:
        if (!row_numbers(row->key, n, 2)) {
            f->unreadable++;
        } else if (f->head->count > 0 &&
                   stream_id_order((struct stream_id){n[0], n[1]}, f->head->stream.first) >= 0) {
            f->elements++;
        }
        break;
    case ROW_GROUP: group_found(f, row); break;
    case ROW_PENDING: pending_found(f, row); break;
    case ROW_OWNED:
    case ROW_CONSUMER:
    case ROW_CONSUMER_NAME: break;
    default: f->unreadable++; break;
    }
}

static void row_found(void *arg, const struct store_row *row)
{
    struct rows_found *f = arg;
    struct entry entry = {.exists = true, .value = row->value, .expiry_ms = row->expiry_ms};
    struct element x;
    enum row_tag tag = row_tag_of(row->key);
    if (f->head->kind == COLLECTION_STREAM) {
        stream_row_found(f, tag, row);
        return;
    }
    if (tag == ROW_EXPIRY) {
        f->expiries++;
        return;
    }
    if (!row_read(f->head->kind, row->key, &entry, &x)) {
        f->unreadable++;
        return;
    }
    if (tag == ROW_SCORE) {
        f->scores++;
        f->unpaired += !is_paired(f, &x);
    } else {
        f->elements++;
    }
}

static void spread_check(struct contents *c, const struct store_row *row,
                         const struct collection_head *h)
{
    struct rows_found f = {.c = c, .key = row->key, .head = h};
    struct element_rows rows = rows_of(c, h);
    struct slice start;
    struct slice end;
    struct entry owner;
    rows_all(&c->arena, &rows, &start, &end);
    arena_init(&f.arena, ROW_BYTES);
    contents_range(c, start, end, row_found, &f);
    arena_fini(&f.arena);
    buf_fini(&f.numbers);
    if (f.elements != h->count) {
        contents_say(c, PART, row->key, "recorded are %llu elements, but it has %llu",
                     (unsigned long long)h->count, (unsigned long long)f.elements);
    }
    if (f.unreadable > 0) {
        contents_say(c, PART, row->key, "%llu of its elements cannot be decoded",
                     (unsigned long long)f.unreadable);
    }
    bool has_scores = h->kind == COLLECTION_ZSET;
    if (f.scores != (has_scores ? f.elements : 0) || (has_scores && f.unpaired > 0)) {
        contents_say(c, PART, row->key, "its members and its scores do not match");
    }
    if (f.expiries != h->expiring) {
        contents_say(c, PART, row->key, "recorded are %llu fields with an expiry, but it has %llu",
                     (unsigned long long)h->expiring, (unsigned long long)f.expiries);
    }
    if (h->kind == COLLECTION_STREAM &&
        (f.groups != h->stream.groups || f.pending != f.said_pending || f.unpaired > 0)) {
        contents_say(c, PART, row->key, "its groups and its pending entries do not match");
    }
    struct slice tuple = slice_of(row->key.data + KEY_HEAD_BYTES, row->key.len - KEY_HEAD_BYTES);
    if (contents_get(c, row_of_owner(&c->arena, &rows, tuple), &owner) && !owner.exists) {
        contents_say(c, PART, row->key, "its rows name another owner");
    }
}

bool check_collections_entry(struct contents *c, const struct store_row *row)
{
    struct collection_head h;
    struct element x;
    size_t at = 0;
    uint64_t count = 0;
    if (!collection_head_read(row->value, &h)) {
        contents_say(c, PART, row->key, "its head cannot be decoded");
        return false;
    }
    if (h.is_spread) {
        spread_check(c, row, &h);
        return true;
    }
    while (count < h.count && collection_packed_next(&h, &at, &x)) count++;
    if (count == h.count && at == h.packed.len) return true;
    contents_say(c, PART, row->key, "its elements cannot be decoded");
    return false;
}

/* ---- rows and their owners ---- */

static void count_one(void *arg, const struct store_row *row)
{
    size_t *count = arg;
    (void)row;
    ++*count;
}

void check_collections_row(struct contents *c, const struct store_row *row)
{
    uint8_t start[KEY_HEAD_BYTES + INCARNATION_ID_BYTES];
    uint8_t end[KEY_HEAD_BYTES + INCARNATION_ID_BYTES];
    size_t owners = 0;
    if (row->key.len <= sizeof start) {
        contents_say(c, PART, row->key, "it is too short for a row of a collection");
        return;
    }
    const uint8_t *id = row->key.data + KEY_HEAD_BYTES;
    if (c->has_incarnation && memcmp(c->incarnation, id, INCARNATION_ID_BYTES) == 0) return;
    c->has_incarnation = true;
    memcpy(c->incarnation, id, INCARNATION_ID_BYTES);
    memcpy(key_head_write(start, c->database, SPACE_COLLECTION), id, INCARNATION_ID_BYTES);
    memcpy(end, start, sizeof end);
    for (size_t i = sizeof end; i > KEY_HEAD_BYTES && ++end[i - 1] == 0;) i--;
    contents_range(c, slice_of(start, sizeof start), slice_of(end, sizeof end), count_one, &owners);
    if (owners == 1 || c->is_unreadable) return;
    contents_say(c, PART, row->key,
                 owners == 0 ? "no key owns it and its neighbours"
                             : "several keys own it and its neighbours");
}

void check_collections_owner(struct contents *c, const struct store_row *row)
{
    struct collection_head h;
    struct entry entry;
    size_t head = KEY_HEAD_BYTES + INCARNATION_ID_BYTES;
    if (row->key.len <= head || row->value.len > 0) {
        contents_say(c, PART, row->key, "it is not an owner row");
        return;
    }
    struct slice tuple = slice_of(row->key.data + head, row->key.len - head);
    uint8_t *p = arena_alloc(&c->arena, KEY_HEAD_BYTES + tuple.len);
    memcpy(key_head_write(p, c->database, SPACE_DATA), tuple.data, tuple.len);
    if (!contents_get(c, slice_of(p, KEY_HEAD_BYTES + tuple.len), &entry)) return;
    bool is_its = entry.exists && collection_head_read(entry.value, &h) && h.is_spread &&
                  memcmp(h.incarnation, row->key.data + KEY_HEAD_BYTES, INCARNATION_ID_BYTES) == 0;
    if (!is_its) contents_say(c, PART, row->key, "the key that it names has no such collection");
}
