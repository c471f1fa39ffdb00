/* index: see index.h.
 *
 *   absent --asked for--> BUILDING --the walk is at its end--> READY
 *     ^                      |                                   |
 *     |                      `--it cannot be--> REFUSED          |
 *     |                                            |             |
 *     `-- its collection is forgotten, a write of which nothing is known, no memory left ------'
 *
 * While it is being built, commits go on: the walk sees the rows as they were when its scan was
 * opened. What a commit changes before the place of the walk is counted at once; what it changes
 * after that is kept, and counted when the walk is at its end. When that comes to LATE_MAX changes
 * a new scan is opened at the place, which sees them: nothing is kept then, and the walk goes on.
 * So writes, however many, do not make it begin anew.
 *
 * Memory: room for the one that is built is made by dropping those that were not used lately
 * (LATELY_MS), the least used first. When there is not enough it is refused, and so it is when the
 * walk fails or does not come forward. What is refused is answered by walking (rank.c) for some
 * time, before it is built again: else two of which only one fits, asked for in one transaction,
 * would push each other out without end.
 */
#include "collection/index.h"

#include "base/clock.h"
#include "base/htab.h"
#include "base/log.h"
#include "base/mem.h"

#define ID_BYTES_ALL                                                                               \
    (KEY_HEAD_BYTES + INCARNATION_ID_BYTES + 1) /* all of a row's key but its rest */
#define SLICE_ROWS 5000                         /* of a walk in one turn */
#define SCAN_ROWS 100000 /* of one scan: the store keeps what it sees as long as it is open */
#define LATE_MAX 10000   /* changes kept while it is built; with more its scan is opened anew */
#define STALLS_MAX 10    /* scans in a row of which no row was walked */
#define LATELY_MS 10000  /* what was used so long before a build began gives way to it */
#define REFUSED_TIMES 10 /* it is refused for so many times as long as its building took */

struct late {
    struct late *next;
    bool is_added;
    struct slice rest; /* behind the struct */
};

struct counted_index {
    struct slice id; /* first: the table looks here */
    uint64_t hash;
    uint8_t id_room[ID_BYTES_ALL];
    struct counted *counted;           /* NULL: refused */
    size_t bytes;                      /* that all->bytes has of it */
    struct counted_index *next, *prev; /* of all: the one used last is first */
    int64_t used_ms;                   /* monotonic, as those below */
    int64_t refused_until_ms;
    /* While it is built: */
    bool is_building;
    struct engine_scan *scan; /* NULL: to be opened at the place */
    size_t scan_rows;         /* walked by it */
    unsigned stalls;          /* scans before it that walked none, one after the other */
    int64_t began_ms;
    bool has_place;
    struct buf place; /* the rest of the last key of the walk, which may be nothing */
    struct late *late, **late_last;
    size_t late_count;
    struct waiter_list waiters;
};

struct counted_indexes {
    struct engine *engine;
    size_t bytes_max, bytes;
    struct htab table;
    size_t refused;
    struct counted_index *first, *last;
    struct counted_index *building; /* one at a time */
    struct waiter waiter;           /* of its walk */
    struct counted_index *found;    /* the last one that a commit changed */
};

static int64_t now_ms(void)
{
    return clock_mono_us() / 1000;
}

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

/* Its bytes are part of the sum as they are now: changes and cuts have made others of them. */
static void account(struct counted_indexes *x, struct counted_index *i)
{
    x->bytes -= i->bytes;
    i->bytes = sizeof *i + (i->counted != NULL ? counted_bytes(i->counted) : 0);
    x->bytes += i->bytes;
}

static void use(struct counted_indexes *x, struct counted_index *i)
{
    list_remove(x, i);
    list_add(x, i);
    i->used_ms = now_ms();
}

static void build_stop(struct counted_indexes *x, struct counted_index *i)
{
    if (!i->is_building) return;
    engine_scan_close(i->scan);
    i->scan = NULL;
    late_drop(i);
    i->is_building = false;
    buf_fini(&i->place);
    waiter_cancel(&x->waiter);
    x->building = NULL;
    waiter_wake_all(&i->waiters);
}

static void index_drop(struct counted_indexes *x, struct counted_index *i)
{
    build_stop(x, i);
    if (x->found == i) x->found = NULL;
    x->bytes -= i->bytes;
    x->refused -= i->counted == NULL;
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
    account(x, i);
    htab_insert(&x->table, hash, &i->id);
    list_add(x, i);
    return i;
}

static struct counted_index *index_find(const struct counted_indexes *x, struct slice id)
{
    return htab_find(&x->table, hash_bytes(id), id);
}

/* There is none for some time. Those who wait for it do without. */
static void refuse(struct counted_indexes *x, struct counted_index *i)
{
    int64_t now = now_ms();
    int64_t rest_ms = (now - i->began_ms) * REFUSED_TIMES;
    i->refused_until_ms = now + (rest_ms > LATELY_MS ? rest_ms : LATELY_MS);
    counted_free(i->counted);
    i->counted = NULL;
    x->refused++;
    account(x, i);
    build_stop(x, i);
}

/* Those used least go. */
static void make_room(struct counted_indexes *x)
{
    while (x->bytes > x->bytes_max && x->last != NULL) index_drop(x, x->last);
}

/* For the one that is being built those go that were not used lately. False: there is not enough.
 */
static bool make_room_for(struct counted_indexes *x, struct counted_index *i)
{
    use(x, i);
    while (x->bytes > x->bytes_max && x->last->used_ms < i->began_ms - LATELY_MS) {
        index_drop(x, x->last);
    }
    return x->bytes <= x->bytes_max;
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
    if (is_added) {
        counted_add(i->counted, rest);
    } else {
        is_good = counted_remove(i->counted, rest);
    }
    account(x, i);
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

static bool is_walked(const struct counted_index *i, struct slice rest)
{
    return !i->is_building || (i->has_place && slice_cmp(rest, buf_slice(&i->place)) <= 0);
}

/* Counts what is kept, all of it or as far as the walk has come. False: what was counted is wrong.
 */
static bool count_late(struct counted_indexes *x, struct counted_index *i, bool is_all)
{
    bool is_good = true;
    for (const struct late *l = i->late; l != NULL && is_good; l = l->next) {
        if (is_all || is_walked(i, l->rest)) is_good = change(x, i, l->rest, l->is_added);
    }
    late_drop(i);
    return is_good;
}

/* The next one, opened at the place, sees what has changed after it. */
static void scan_close(struct counted_indexes *x, struct counted_index *i)
{
    engine_scan_close(i->scan);
    i->scan = NULL;
    if (!count_late(x, i, false)) index_drop(x, i);
}

static struct counted_index *index_of_row(struct counted_indexes *x, struct slice key)
{
    struct slice id = slice_of(key.data, ID_BYTES_ALL);
    if (key.len < ID_BYTES_ALL) return NULL;
    if (x->found != NULL && slice_eq(x->found->id, id)) return x->found;
    x->found = index_find(x, id);
    return x->found;
}

/* That of the collection whose row this is. */
static void drop_tag(struct counted_indexes *x, struct slice key, enum row_tag tag)
{
    uint8_t id[ID_BYTES_ALL];
    memcpy(id, key.data, ID_BYTES_ALL - 1);
    id[ID_BYTES_ALL - 1] = (uint8_t)tag;
    struct counted_index *i = index_find(x, slice_of(id, sizeof id));
    if (i != NULL) index_drop(x, i);
}

static void drop_all_of(struct counted_indexes *x, struct slice key)
{
    static const enum row_tag tags[] = {ROW_FIELD, ROW_MEMBER, ROW_SCORE, ROW_POSITION};
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++) drop_tag(x, key, tags[i]);
}

static void row_changed(struct counted_indexes *x, const struct mutation *mu)
{
    if (mu->key.len >= ID_BYTES_ALL && row_tag_of(mu->key) == ROW_EXPIRY) {
        /* Fields that expire are not where the walk looks any more, and still rows. */
        drop_tag(x, mu->key, ROW_FIELD);
        return;
    }
    struct counted_index *i = index_of_row(x, mu->key);
    if (i == NULL || i->counted == NULL) return;
    bool is_there = mu->kind == MUTATION_SET;
    if (mu->cause != ROW_WAS_ABSENT && mu->cause != ROW_WAS_THERE) {
        index_drop(x, i);
        return;
    }
    if (is_there == (mu->cause == ROW_WAS_THERE)) return;
    struct slice rest = rest_of(mu->key);
    if (is_walked(i, rest)) {
        if (!change(x, i, rest, is_there)) index_drop(x, i);
    } else if (i->scan != NULL && i->late_count < LATE_MAX) {
        keep_late(i, rest, is_there);
    } else if (i->scan != NULL) {
        scan_close(x, i);
    }
}

static void drop_database(struct counted_indexes *x, uint16_t database)
{
    for (struct counted_index *i = x->first; i != NULL;) {
        struct counted_index *next = i->next;
        if (key_database(i->id) == database) index_drop(x, i);
        i = next;
    }
}

void counted_indexes_on_commit(struct counted_indexes *x, const struct write_set *ws)
{
    if (x->first == NULL) return;
    for (size_t i = 0; i < ws->count; i++) {
        const struct mutation *mu = &ws->items[i];
        if (mu->kind == MUTATION_FLUSH) {
            drop_database(x, key_database(mu->key));
        } else if (mu->kind == MUTATION_FORGET && key_space(mu->key) == SPACE_ELEMENT) {
            drop_all_of(x, mu->key); /* all of its rows: layer.c */
        } else if (mu->kind != MUTATION_FORGET && key_space(mu->key) == SPACE_ELEMENT) {
            row_changed(x, mu);
        }
    }
}

/* ---- building ---- */

static void build_begin(struct counted_indexes *x, struct counted_index *i)
{
    if (i->counted == NULL) {
        i->counted = counted_new();
        x->refused--;
        account(x, i);
    }
    buf_init(&i->place);
    i->is_building = true;
    i->has_place = false;
    i->stalls = 0;
    i->began_ms = now_ms();
    x->building = i;
}

/* At the place. */
static enum err build_open(struct counted_indexes *x, struct counted_index *i, struct error *e)
{
    uint8_t end[ID_BYTES_ALL];
    struct buf start = {0};
    memcpy(end, i->id_room, ID_BYTES_ALL);
    end[ID_BYTES_ALL - 1]++;
    buf_append(&start, i->id.data, i->id.len);
    buf_append(&start, i->place.data, i->place.len);
    if (i->has_place) buf_append_byte(&start, 0); /* the first key after it */
    buf_require(&start);
    struct scan_range range = {.start = buf_slice(&start), .end = slice_of(end, sizeof end)};
    enum err r = engine_scan_open(x->engine, NULL, &range, &i->scan, e);
    buf_fini(&start);
    i->stalls = i->scan_rows == 0 ? i->stalls + 1 : 0;
    i->scan_rows = 0;
    if (r == OK && i->stalls > STALLS_MAX) r = error_set(e, ERR_TRYAGAIN, "too many writes");
    return r;
}

static void build_end(struct counted_indexes *x, struct counted_index *i)
{
    if (!count_late(x, i, true)) {
        index_drop(x, i);
    } else if (make_room_for(x, i)) {
        build_stop(x, i);
    } else {
        refuse(x, i);
    }
}

static void build_failed(struct counted_indexes *x, struct counted_index *i, const struct error *e)
{
    log_warning("cannot count the elements of a collection: %s", e->text);
    refuse(x, i);
}

static void row_walked(struct counted_indexes *x, struct counted_index *i, struct slice rest)
{
    (void)change(x, i, rest, true);
    i->scan_rows++;
    i->has_place = true;
    buf_clear(&i->place, SIZE_MAX);
    buf_append(&i->place, rest.data, rest.len);
    buf_require(&i->place);
}

/* A slice of the walk. True: there is more to do at once. */
static bool build_go_on(struct counted_indexes *x, struct counted_index *i)
{
    struct error e;
    struct slice key = {0};
    struct entry row;
    enum err r = i->scan == NULL ? build_open(x, i, &e) : OK;
    for (size_t n = 0; n < SLICE_ROWS && r == OK; n++) {
        r = engine_scan_next(i->scan, &key, &row, &x->waiter, &e);
        if (r == ERR_WAIT) return x->waiter.next == NULL;
        if (r == OK && key.len == 0) {
            build_end(x, i);
            return false;
        }
        if (r == OK) row_walked(x, i, rest_of(key));
    }
    if (r != OK) {
        build_failed(x, i, &e);
    } else if (!make_room_for(x, i)) {
        refuse(x, i);
    } else if (i->scan_rows >= SCAN_ROWS || engine_scan_pause(i->scan, &e) != OK) {
        scan_close(x, i);
    }
    return x->building != NULL;
}

bool counted_indexes_turn(struct counted_indexes *x)
{
    if (x->building == NULL) {
        make_room(x); /* commits have made them grow */
        return false;
    }
    return x->waiter.next == NULL && build_go_on(x, x->building);
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
        use(x, i);
        account(x, i);
        *out = i->counted;
        if (i->counted != NULL || now_ms() < i->refused_until_ms) return OK;
    }
    if (x->building == NULL) {
        if (i == NULL) i = index_new(x, slice_of(id, sizeof id), hash);
        build_begin(x, i);
    }
    /* Its own, or another one: then it is asked for again when that one is there. */
    waiter_add(&x->building->waiters, w);
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
    for (struct counted_index *i = x->first; i != NULL; i = i->next) i->refused_until_ms = 0;
    make_room(x);
}

size_t counted_indexes_bytes(const struct counted_indexes *x, size_t *count)
{
    *count = x->table.count - x->refused;
    return x->bytes;
}
