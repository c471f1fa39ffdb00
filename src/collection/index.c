/* index: see index.h.
 *
 *   absent --asked for--> BUILDING --the walk is at its end--> READY
 *     ^                      |                                   |
 *     `-- its collection is forgotten, a write of which nothing is known, no memory left ------'
 *
 * While it is being built, commits go on: the walk sees the rows as they were when it began. What a
 * commit changes before the place of the walk is counted at once; what it changes after that is
 * kept, and counted when the walk is at its end.
 */
#include "collection/index.h"

#include "base/htab.h"
#include "base/log.h"
#include "base/mem.h"

#define ID_BYTES_ALL                                                                               \
    (KEY_HEAD_BYTES + INCARNATION_ID_BYTES + 1) /* all of a row's key but its rest */
#define SLICE_ROWS 5000                         /* of a walk in one turn */
#define LATE_MAX 100000 /* changes kept while it is built; with more it is begun anew */

struct late {
    struct late *next;
    bool is_added;
    struct slice rest; /* behind the struct */
};

struct counted_index {
    struct slice id; /* first: the table looks here */
    uint64_t hash;
    uint8_t id_room[ID_BYTES_ALL];
    struct counted *counted;
    struct counted_index *next, *prev; /* of all: the one used last is first */
    /* While it is built: */
    bool is_building;
    struct engine_scan *scan;
    struct buf place; /* the rest of the last key of the walk */
    struct late *late, **late_last;
    size_t late_count;
    struct waiter_list waiters;
};

struct counted_indexes {
    struct engine *engine;
    size_t bytes_max, bytes;
    struct htab table;
    struct counted_index *first, *last;
    struct counted_index *building; /* one at a time */
    struct waiter waiter;           /* of its walk */
    struct counted_index *found;    /* the last one that a commit changed */
};

/* ---- the list and the table ---- */

static void list_remove(struct counted_indexes *x, struct counted_index *i)
{
    *(i->prev != NULL ? &i->prev->next : &x->first) = i->next;
    *(i->next != NULL ? &i->next->prev : &x->last) = i->prev;
    i->next = i->prev = NULL;
}

static void list_add(struct counted_indexes *x, struct counted_index *i)
{
    i->next = x->first;
    *(x->first != NULL ? &x->first->prev : &x->last) = i;
    x->first = i;
}

static void late_drop(struct counted_index *i)
{
    while (i->late != NULL) {
        struct late *next = i->late->next;
        mem_free(i->late);
        i->late = next;
    }
    i->late_last = &i->late;
    i->late_count = 0;
}

static void build_stop(struct counted_indexes *x, struct counted_index *i)
{
    if (!i->is_building) return;
    engine_scan_close(i->scan);
    i->scan = NULL;
    i->is_building = false;
    late_drop(i);
    buf_fini(&i->place);
    waiter_cancel(&x->waiter);
    x->building = NULL;
    waiter_wake_all(&i->waiters);
}

static void index_drop(struct counted_indexes *x, struct counted_index *i)
{
    build_stop(x, i);
    if (x->found == i) x->found = NULL;
    x->bytes -= counted_bytes(i->counted);
    counted_free(i->counted);
    htab_remove(&x->table, i->hash, &i->id);
    list_remove(x, i);
    mem_free(i);
}

static struct counted_index *index_new(struct counted_indexes *x, struct slice id, uint64_t hash)
{
    struct counted_index *i = mem_new(sizeof *i);
    memcpy(i->id_room, id.data, ID_BYTES_ALL);
    i->id = slice_of(i->id_room, ID_BYTES_ALL);
    i->hash = hash;
    i->counted = counted_new();
    i->late_last = &i->late;
    waiter_list_init(&i->waiters);
    buf_init(&i->place);
    x->bytes += counted_bytes(i->counted);
    htab_insert(&x->table, hash, &i->id);
    list_add(x, i);
    return i;
}

/* Those used least go, but for the newest. */
static void make_room(struct counted_indexes *x)
{
    while (x->bytes > x->bytes_max && x->last != NULL && x->last != x->first) {
        index_drop(x, x->last);
    }
}

/* ---- changes ---- */

static struct slice rest_of(struct slice key)
{
    return slice_of(key.data + ID_BYTES_ALL, key.len - ID_BYTES_ALL);
}

/* False: what was counted is wrong. */
static bool change(struct counted_indexes *x, struct counted_index *i, struct slice rest,
                   bool is_added)
{
    bool is_good = true;
    x->bytes -= counted_bytes(i->counted);
    if (is_added) {
        counted_add(i->counted, rest);
    } else {
        is_good = counted_remove(i->counted, rest);
    }
    x->bytes += counted_bytes(i->counted);
    return is_good;
}

static void keep_late(struct counted_index *i, struct slice rest, bool is_added)
{
    struct late *l = mem_alloc(sizeof *l + rest.len);
    *l = (struct late){.is_added = is_added, .rest = slice_of(l + 1, rest.len)};
    bytes_copy((uint8_t *)(l + 1), rest.data, rest.len);
    *i->late_last = l;
    i->late_last = &l->next;
    i->late_count++;
}

static struct counted_index *index_of_row(struct counted_indexes *x, struct slice key)
{
    struct slice id = slice_of(key.data, ID_BYTES_ALL);
    if (key.len < ID_BYTES_ALL) return NULL;
    if (x->found != NULL && slice_eq(x->found->id, id)) return x->found;
    x->found = htab_find(&x->table, hash_bytes(id), id);
    return x->found;
}

/* Fields that expire are not where the walk looks any more, and still rows: no index of them. */
static void fields_expire(struct counted_indexes *x, struct slice key)
{
    uint8_t id[ID_BYTES_ALL];
    memcpy(id, key.data, ID_BYTES_ALL);
    id[ID_BYTES_ALL - 1] = ROW_FIELD;
    struct slice of = slice_of(id, sizeof id);
    struct counted_index *i = htab_find(&x->table, hash_bytes(of), of);
    if (i != NULL) index_drop(x, i);
}

static void row_changed(struct counted_indexes *x, const struct mutation *mu)
{
    if (mu->key.len >= ID_BYTES_ALL && row_tag_of(mu->key) == ROW_EXPIRY) {
        fields_expire(x, mu->key);
        return;
    }
    struct counted_index *i = index_of_row(x, mu->key);
    if (i == NULL) return;
    bool is_there = mu->kind == MUTATION_SET;
    if (mu->cause != ROW_WAS_ABSENT && mu->cause != ROW_WAS_THERE) {
        index_drop(x, i);
        return;
    }
    if (is_there == (mu->cause == ROW_WAS_THERE)) return;
    struct slice rest = rest_of(mu->key);
    if (!i->is_building || slice_cmp(rest, buf_slice(&i->place)) <= 0) {
        if (!change(x, i, rest, is_there)) index_drop(x, i);
    } else if (i->late_count < LATE_MAX) {
        keep_late(i, rest, is_there);
    } else {
        index_drop(x, i);
    }
}

static void drop_below(struct counted_indexes *x, struct slice prefix)
{
    for (struct counted_index *i = x->first; i != NULL;) {
        struct counted_index *next = i->next;
        if (slice_has_prefix(i->id, prefix)) index_drop(x, i);
        i = next;
    }
}

void counted_indexes_on_commit(struct counted_indexes *x, const struct write_set *ws)
{
    if (x->first == NULL) return;
    for (size_t i = 0; i < ws->count; i++) {
        const struct mutation *mu = &ws->items[i];
        uint8_t head[KEY_HEAD_BYTES];
        if (mu->kind == MUTATION_FLUSH) {
            key_head_write(head, key_database(mu->key), SPACE_ELEMENT);
            drop_below(x, slice_of(head, sizeof head));
        } else if (mu->kind == MUTATION_FORGET && key_space(mu->key) == SPACE_ELEMENT) {
            drop_below(x, slice_of(mu->key.data, ID_BYTES_ALL - 1));
        } else if (mu->kind != MUTATION_FORGET && key_space(mu->key) == SPACE_ELEMENT) {
            row_changed(x, mu);
        }
    }
}

/* ---- building ---- */

static enum err build_begin(struct counted_indexes *x, struct counted_index *i, struct error *e)
{
    uint8_t end[ID_BYTES_ALL];
    memcpy(end, i->id_room, ID_BYTES_ALL);
    end[ID_BYTES_ALL - 1]++;
    struct scan_range range = {.start = i->id, .end = slice_of(end, sizeof end)};
    enum err r = engine_scan_open(x->engine, NULL, &range, &i->scan, e);
    if (r != OK) return r;
    i->is_building = true;
    x->building = i;
    return OK;
}

static void build_end(struct counted_indexes *x, struct counted_index *i)
{
    bool is_good = true;
    for (const struct late *l = i->late; l != NULL && is_good; l = l->next) {
        is_good = change(x, i, l->rest, l->is_added);
    }
    build_stop(x, i);
    if (!is_good) index_drop(x, i);
    make_room(x);
}

/* A slice of the walk. True: there is more to do at once. */
bool counted_indexes_turn(struct counted_indexes *x)
{
    struct counted_index *i = x->building;
    struct error e;
    struct slice key = {0};
    struct entry row;
    if (i == NULL || x->waiter.next != NULL) return false;
    for (size_t n = 0; n < SLICE_ROWS; n++) {
        enum err r = engine_scan_next(i->scan, &key, &row, &x->waiter, &e);
        if (r == ERR_WAIT) return x->waiter.next == NULL;
        if (r != OK) {
            log_warning("the elements of a collection cannot be counted: %s", e.text);
            index_drop(x, i);
            return false;
        }
        if (key.len == 0) {
            build_end(x, i);
            return false;
        }
        struct slice rest = rest_of(key);
        (void)change(x, i, rest, true);
        buf_clear(&i->place, SIZE_MAX);
        buf_append(&i->place, rest.data, rest.len);
        buf_require(&i->place);
    }
    if (engine_scan_pause(i->scan, &e) != OK) index_drop(x, i);
    return true;
}

enum err counted_indexes_get(struct counted_indexes *x, const struct element_rows *of,
                             enum row_tag tag, struct waiter *w, struct counted **out,
                             struct error *e)
{
    uint8_t id[ID_BYTES_ALL];
    memcpy(key_head_write(id, of->database, SPACE_ELEMENT), of->incarnation, INCARNATION_ID_BYTES);
    id[ID_BYTES_ALL - 1] = (uint8_t)tag;
    *out = NULL;
    if (x->bytes_max == 0) return OK;
    uint64_t hash = hash_bytes(slice_of(id, sizeof id));
    struct counted_index *i = htab_find(&x->table, hash, slice_of(id, sizeof id));
    if (i != NULL && !i->is_building) {
        list_remove(x, i);
        list_add(x, i);
        *out = i->counted;
        return OK;
    }
    if (i == NULL && x->building == NULL) {
        i = index_new(x, slice_of(id, sizeof id), hash);
        enum err r = build_begin(x, i, e);
        if (r != OK) {
            index_drop(x, i);
            return r;
        }
    }
    /* Its own, or another one: then it is asked for again when that one is there. */
    waiter_add(&(i != NULL ? i : x->building)->waiters, w);
    return error_set(e, ERR_WAIT, "the elements are being counted");
}

/* ---- life ---- */

static void nothing_ready(struct waiter *w)
{
    /* The next turn goes on. */
    (void)w;
}

struct counted_indexes *counted_indexes_new(struct engine *g, size_t bytes_max)
{
    struct counted_indexes *x = mem_new(sizeof *x);
    x->engine = g;
    x->bytes_max = bytes_max;
    x->waiter.ready = nothing_ready;
    htab_init(&x->table);
    return x;
}

void counted_indexes_free(struct counted_indexes *x)
{
    if (x == NULL) return;
    while (x->first != NULL) index_drop(x, x->first);
    waiter_cancel(&x->waiter);
    htab_fini(&x->table);
    mem_free(x);
}

void counted_indexes_set_bytes(struct counted_indexes *x, size_t bytes_max)
{
    x->bytes_max = bytes_max;
    make_room(x);
}

size_t counted_indexes_bytes(const struct counted_indexes *x, size_t *count)
{
    *count = x->table.count;
    return x->bytes;
}
