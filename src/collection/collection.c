/* collection: see collection.h. */
#include "collection/collection_int.h"
#include "collection/index.h"

#include <math.h>
#include <string.h>

#define ITEMS_SPARE 8
#define FIRST_POSITION (1ULL << 63) /* of a list */
#define SCRATCH_KEEP_BYTES (128u << 10)

/* ---- opening ---- */

struct element_rows collection_rows(const struct collection *c)
{
    return (struct element_rows){.database = key_database(c->key),
                                 .incarnation = c->head.incarnation};
}

enum err collection_damaged(const struct collection *c, struct error *e)
{
    return error_set(e, ERR_CORRUPT, "a damaged %s", collection_kind_name(c->head.kind));
}

static void items_room(struct collection *c, size_t count)
{
    if (count <= c->items_cap) return;
    size_t cap = c->items_cap == 0 ? count + ITEMS_SPARE : count * 2;
    struct element *items = arena_alloc(c->view->arena, cap * sizeof *items);
    if (c->head.count > 0) memcpy(items, c->items, (size_t)c->head.count * sizeof *items);
    c->items = items;
    c->items_cap = cap;
}

/* Of a packed one; fields that have expired are not there. */
static enum err read_items(struct collection *c, struct error *e)
{
    uint64_t count = c->head.count;
    size_t at = 0;
    c->head.count = c->head.expiring = 0;
    items_room(c, (size_t)count);
    for (uint64_t i = 0; i < count; i++) {
        struct element *x = &c->items[c->head.count];
        if (!collection_packed_next(&c->head, &at, x)) return collection_damaged(c, e);
        if (x->expiry_ms != 0 && x->expiry_ms <= c->view->now_ms) {
            c->has_expired = true;
            continue;
        }
        c->head.count++;
        c->head.expiring += x->expiry_ms != 0;
        c->packed_bytes += collection_packed_bytes(x);
    }
    return at == c->head.packed.len ? OK : collection_damaged(c, e);
}

void collection_begin(struct collections *all, struct view *v, struct slice key,
                      enum collection_kind kind, struct collection *out)
{
    *out = (struct collection){.all = all, .view = v, .key = key, .head = {.kind = kind}};
}

/* What the entry of the key says. */
enum err collection_read(struct collection *c, const struct entry *entry, struct error *e)
{
    c->exists = true;
    c->expiry_ms = entry->expiry_ms;
    if (!collection_head_read(entry->value, &c->head)) {
        return error_set(e, ERR_CORRUPT, "a damaged collection");
    }
    return c->head.is_spread ? OK : read_items(c, e);
}

enum err collection_look(struct collections *all, struct view *v, struct slice key,
                         struct collection *out, bool *is_one, struct error *e)
{
    struct entry entry;
    collection_begin(all, v, key, COLLECTION_HASH, out);
    *is_one = false;
    enum err r = view_get(v, key, &entry, e);
    if (r != OK || !entry.exists || !collection_is_head(entry.value)) return r;
    *is_one = true;
    return collection_read(out, &entry, e);
}

enum err collection_open(struct collections *all, struct view *v, struct slice key,
                         enum collection_kind kind, struct collection *out, struct error *e)
{
    struct entry entry;
    collection_begin(all, v, key, kind, out);
    enum err r = view_get(v, key, &entry, e);
    if (r != OK || !entry.exists) return r;
    bool is_head = collection_is_head(entry.value);
    if (is_head) r = collection_read(out, &entry, e);
    if (r != OK || (is_head && out->head.kind == kind)) return r;
    return error_set(e, ERR_TYPE, "Operation against a key holding the wrong kind of value");
}

/* ---- packed ---- */

static struct element *item_of(const struct collection *c, struct slice name)
{
    for (uint64_t i = 0; i < c->head.count; i++) {
        if (slice_eq(c->items[i].name, name)) return &c->items[i];
    }
    return NULL;
}

struct element *collection_insert(struct collection *c, size_t at)
{
    size_t count = (size_t)c->head.count;
    items_room(c, count + 1);
    memmove(&c->items[at + 1], &c->items[at], (count - at) * sizeof *c->items);
    c->head.count++;
    return &c->items[at];
}

void collection_take_out(struct collection *c, size_t at)
{
    c->packed_bytes -= collection_packed_bytes(&c->items[at]);
    c->head.expiring -= c->items[at].expiry_ms != 0;
    c->head.count--;
    memmove(&c->items[at], &c->items[at + 1], ((size_t)c->head.count - at) * sizeof *c->items);
}

/* Where it belongs: in a sorted set by score and member, else at the end. */
static size_t place_of(const struct collection *c, const struct element *x)
{
    size_t at = (size_t)c->head.count;
    if (c->head.kind != COLLECTION_ZSET) return at;
    for (; at > 0; at--) {
        const struct element *before = &c->items[at - 1];
        if (before->score < x->score) break;
        if (before->score == x->score && slice_cmp(before->name, x->name) < 0) break;
    }
    return at;
}

static enum err put_packed(struct collection *c, const struct element *x, struct element *there,
                           struct error *e)
{
    bool is_moved = there != NULL && c->head.kind == COLLECTION_ZSET && there->score != x->score;
    if (there != NULL && !is_moved) {
        c->packed_bytes -= collection_packed_bytes(there);
        c->head.expiring -= there->expiry_ms != 0;
        *there = *x;
    } else {
        if (is_moved) collection_take_out(c, (size_t)(there - c->items));
        *collection_insert(c, place_of(c, x)) = *x;
    }
    c->packed_bytes += collection_packed_bytes(x);
    c->head.expiring += x->expiry_ms != 0;
    if (x->expiry_ms != 0) view_due_at(c->view, c->key, x->expiry_ms);
    return collection_grown(c, e);
}

/* ---- spread ---- */

enum err collection_writes(struct collection *c, struct error *e)
{
    size_t rows = view_keys(c->view, SPACE_ELEMENT);
    if (rows <= COLLECTION_ROWS_MAX) return OK;
    return error_set(e, ERR_LIMIT,
                     "the transaction changes more than %d rows of collections; split it",
                     COLLECTION_ROWS_MAX);
}

bool collection_is_new(const struct collection *c)
{
    return c->view->overlay != NULL && get_u64(c->head.incarnation) == c->view->version;
}

enum err collection_row(struct collection *c, struct slice key, struct entry *out, struct error *e)
{
    if (view_own(c->view, key, out) || collection_is_new(c)) return OK;
    return view_stored(c->view, key, out, e);
}

static enum row_tag name_tag(const struct collection *c)
{
    return c->head.kind == COLLECTION_HASH ? ROW_FIELD : ROW_MEMBER;
}

/* The element of that name as it is stored; *is_alive: it has not expired. */
static enum err get_row(struct collection *c, struct slice name, bool *exists, bool *is_alive,
                        struct element *out, struct error *e)
{
    struct element_rows rows = collection_rows(c);
    struct entry row;
    struct slice key = row_of_name(c->view->arena, &rows, name_tag(c), name);
    enum err r = collection_row(c, key, &row, e);
    *exists = *is_alive = false;
    if (r != OK || !row.exists) return r;
    if (!row_read(c->head.kind, key, &row, out)) return collection_damaged(c, e);
    *exists = true;
    *is_alive = row.expiry_ms == 0 || row.expiry_ms > c->view->now_ms;
    return OK;
}

static enum row_cause row_cause(bool was_there)
{
    return was_there ? ROW_WAS_THERE : ROW_WAS_ABSENT;
}

static uint64_t element_bytes(const struct element *x)
{
    return (uint64_t)x->name.len + x->value.len;
}

/* The rows beside that of its name go. */
static void take_rows(struct collection *c, const struct element_rows *rows,
                      const struct element *old)
{
    struct arena *arena = c->view->arena;
    if (c->head.kind == COLLECTION_ZSET) {
        view_delete_for(c->view, row_of_score(arena, rows, old->score, old->name), ROW_WAS_THERE);
    }
    if (old->expiry_ms != 0) {
        view_delete(c->view, row_of_expiry(arena, rows, old->expiry_ms, old->name));
        c->head.expiring--;
    }
}

/* `was_there`: its row of the name was. The row of a score is another one whenever the score is. */
static void write_rows(struct collection *c, const struct element *x, bool was_there,
                       bool has_score_row)
{
    struct element_rows rows = collection_rows(c);
    struct arena *arena = c->view->arena;
    struct slice key = row_of_name(arena, &rows, name_tag(c), x->name);
    if (c->head.kind == COLLECTION_HASH) {
        view_set_for(c->view, key, row_value_of_field(arena, x), x->expiry_ms,
                     row_cause(was_there));
    } else {
        view_set_for(c->view, key, row_value_of_member(arena, c->head.kind, x), 0,
                     row_cause(was_there));
    }
    if (c->head.kind == COLLECTION_ZSET) {
        view_set_for(c->view, row_of_score(arena, &rows, x->score, x->name),
                     row_value_of_score(arena, x), 0, row_cause(has_score_row));
    }
    if (x->expiry_ms != 0) {
        view_set(c->view, row_of_expiry(arena, &rows, x->expiry_ms, x->name),
                 x->name.len > NAME_WHOLE_BYTES ? x->name : slice_of(NULL, 0));
        c->head.expiring++;
        view_due_at(c->view, c->key, x->expiry_ms);
    }
}

static void add_rows(struct collection *c, const struct element *x, bool was_there,
                     bool has_score_row)
{
    write_rows(c, x, was_there, has_score_row);
    c->head.count++;
    c->head.bytes += element_bytes(x);
}

void collection_become_spread(struct collection *c)
{
    struct collection_head *h = &c->head;
    put_u64(h->incarnation, c->view->version);
    put_u32(h->incarnation + 8, view_sequence(c->view));
    h->is_spread = true;
    h->count = h->bytes = h->expiring = 0;
    h->first = h->end = FIRST_POSITION;
    collection_own(c->view, c->key, h->incarnation);
}

/* From now on its elements are rows. */
static enum err spread(struct collection *c, struct error *e)
{
    struct view *v = c->view;
    struct collection_head *h = &c->head;
    size_t count = (size_t)h->count;
    collection_become_spread(c);
    struct element_rows rows = collection_rows(c);
    for (size_t i = 0; i < count; i++) {
        if (h->kind == COLLECTION_LIST) {
            view_set_for(v, row_of_position(v->arena, &rows, h->end), c->items[i].value, 0,
                         ROW_WAS_ABSENT);
            h->end += LIST_STEP;
            h->count++;
            h->bytes += c->items[i].value.len;
        } else {
            add_rows(c, &c->items[i], false, false);
        }
    }
    return collection_writes(c, e);
}

enum err collection_grown(struct collection *c, struct error *e)
{
    size_t max = c->all->options.pack_bytes;
    if (c->head.is_spread) return collection_writes(c, e);
    if (c->head.count <= PACK_ELEMENTS_MAX && c->packed_bytes <= max) return OK;
    return spread(c, e);
}

/* ---- elements ---- */

enum err collection_find(struct collection *c, struct slice name, bool *found, struct element *out,
                         struct error *e)
{
    bool exists = false;
    *found = false;
    if (c->head.is_spread) return get_row(c, name, &exists, found, out, e);
    const struct element *x = item_of(c, name);
    *found = x != NULL;
    if (x != NULL) *out = *x;
    return OK;
}

enum err collection_fits(const struct collection *c, struct slice bytes, struct error *e)
{
    uint64_t max = engine_limits(c->view->engine)->value_bytes_max;
    if (bytes.len <= max) return OK;
    return error_set(e, ERR_LIMIT, "an element of %zu bytes is larger than max-value-size (%llu)",
                     bytes.len, (unsigned long long)max);
}

/* A member that is there is as it was; a field that is set is written, with any value. */
static bool is_no_change(const struct collection *c, const struct element *old,
                         const struct element *x)
{
    if (c->head.kind == COLLECTION_SET) return true;
    return c->head.kind == COLLECTION_ZSET && old->score == x->score &&
           signbit(old->score) == signbit(x->score);
}

enum err collection_put(struct collection *c, const struct element *x, bool *was_there,
                        struct element *old, struct error *e)
{
    struct element before = {0};
    bool exists = false;
    enum err fits = collection_fits(c, x->name, e);
    if (fits == OK) fits = collection_fits(c, x->value, e);
    if (fits != OK) return fits;
    if (!c->head.is_spread) {
        struct element *there = item_of(c, x->name);
        *was_there = there != NULL;
        if (there != NULL && old != NULL) *old = *there;
        if (there != NULL && is_no_change(c, there, x)) return OK;
        c->is_changed = true;
        return put_packed(c, x, there, e);
    }
    enum err r = get_row(c, x->name, &exists, was_there, &before, e);
    if (r != OK) return r;
    if (old != NULL) *old = before;
    if (exists && is_no_change(c, &before, x)) return OK;
    c->is_changed = true;
    bool is_same = exists && c->head.kind == COLLECTION_ZSET && before.score == x->score;
    if (exists) {
        struct element_rows rows = collection_rows(c);
        if (!is_same) take_rows(c, &rows, &before);
        c->head.count--;
        c->head.bytes -= element_bytes(&before);
    }
    add_rows(c, x, exists, is_same);
    return collection_writes(c, e);
}

enum err collection_remove(struct collection *c, struct slice name, bool *was_there,
                           struct element *old, struct error *e)
{
    struct element before = {0};
    bool exists = false;
    *was_there = false;
    if (!c->head.is_spread) {
        const struct element *there = item_of(c, name);
        if (there == NULL) return OK;
        if (old != NULL) *old = *there;
        *was_there = c->is_changed = true;
        collection_take_out(c, (size_t)(there - c->items));
        return OK;
    }
    enum err r = get_row(c, name, &exists, was_there, &before, e);
    if (r != OK || !exists) return r;
    if (old != NULL) *old = before;
    struct element_rows rows = collection_rows(c);
    c->is_changed = true;
    take_rows(c, &rows, &before);
    view_delete_for(c->view, row_of_name(c->view->arena, &rows, name_tag(c), before.name),
                    ROW_WAS_THERE);
    c->head.count--;
    c->head.bytes -= element_bytes(&before);
    return collection_writes(c, e);
}

void collection_clear(struct collection *c)
{
    struct collection_head fresh = {.kind = c->head.kind};
    c->head = fresh;
    c->packed_bytes = 0;
    c->expiry_ms = 0;
    c->is_changed = true;
}

/* ---- saving ---- */

enum err collection_replace(struct collection *c, struct error *e)
{
    struct entry there;
    c->is_changed = true;
    if (c->head.count > 0 || c->head.kind == COLLECTION_STREAM) return collection_save(c, e);
    enum err r = view_get(c->view, c->key, &there, e);
    if (r == OK && there.exists) view_delete(c->view, c->key);
    return r;
}

enum err collection_save(struct collection *c, struct error *e)
{
    struct buf *out = &c->all->scratch;
    if (!c->is_changed) return OK;
    c->is_changed = false;
    if (c->head.count == 0 && c->head.kind != COLLECTION_STREAM) {
        view_delete(c->view, c->key);
        return OK;
    }
    buf_clear(out, SCRATCH_KEEP_BYTES);
    collection_head_write(&c->head, c->items, out);
    if (out->is_failed) return error_set(e, ERR_NOMEM, "out of memory for a collection");
    struct slice head = arena_copy(c->view->arena, buf_slice(out));
    view_set_expiring(c->view, c->key, head, c->expiry_ms);
    return OK;
}
