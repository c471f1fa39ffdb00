/* place: the commands on the places of a list: reading, setting, inserting, removing, finding. */
#include "command/list/list_int.h"

/* A place as Redis counts, below 0 from the end; false: there is none. */
static bool place_of(int64_t index, uint64_t count, uint64_t *out)
{
    if (index < 0 && (uint64_t)-index > count) return false;
    *out = index < 0 ? count - (uint64_t)-index : (uint64_t)index;
    return *out < count;
}

/* [*from, *upto) of first and last places as Redis counts; false: nothing is there. */
static bool places_between(int64_t start, int64_t stop, uint64_t count, uint64_t *from,
                           uint64_t *upto)
{
    int64_t n = (int64_t)count;
    if (start < 0) start = start + n < 0 ? 0 : start + n;
    if (stop < 0) stop += n;
    if (stop >= n) stop = n - 1;
    *from = (uint64_t)start;
    *upto = (uint64_t)stop + 1;
    return stop >= 0 && start <= stop && start < n;
}

/* ---- LLEN, LINDEX, LRANGE ---- */

static enum err llen_run(struct request *rq)
{
    const struct one_key *a = rq->bound;
    struct collection c;
    enum err r = elements_open(rq, elements_view(rq), a->key, COLLECTION_LIST, &c);
    if (r == OK) resp_int(rq->w, (int64_t)c.head.count);
    return r;
}
LIST_COMMAND(llen, CMD_READ | CMD_FAST | CMD_FOLLOWER, KEY_RO, "Returns the length of a list.",
             one_key_arguments, "The length, 0 if the key does not exist.", llen_run);

struct lindex {
    struct slice key;
    int64_t index;
};
ARGUMENTS(lindex_arguments, struct lindex, "key index", ARG_KEY(struct lindex, key, "key", 0),
          ARG_INTEGER_OR(struct lindex, index, "index", INT64_MIN + 1, INT64_MAX, 0,
                         ARG_NOT_INTEGER));

static enum err lindex_run(struct request *rq)
{
    const struct lindex *a = rq->bound;
    struct collection c;
    struct slice value = {0};
    struct view *v = elements_view(rq);
    uint64_t place = 0;
    enum err r = elements_open(rq, v, a->key, COLLECTION_LIST, &c);
    if (r != OK) return r;
    if (!place_of(a->index, c.head.count, &place)) {
        resp_nil(rq->w);
        return OK;
    }
    r = list_get(&c, place, &value, &rq->error);
    elements_read(rq, v);
    if (r == OK) resp_bulk(rq->w, value);
    return r;
}
LIST_COMMAND(lindex, CMD_READ | CMD_FOLLOWER, KEY_RO | KEY_ACCESS,
             "Returns the element at an index of a list. Negative indexes count from the end.",
             lindex_arguments, "The element, or nil.", lindex_run);

struct lrange {
    struct slice key;
    int64_t start, stop;
};
ARGUMENTS(lrange_arguments, struct lrange, "key start stop", ARG_KEY(struct lrange, key, "key", 0),
          ARG_INTEGER_OR(struct lrange, start, "start", INT64_MIN, INT64_MAX, 0, ARG_NOT_INTEGER),
          ARG_INTEGER_OR(struct lrange, stop, "stop", INT64_MIN, INT64_MAX, 0, ARG_NOT_INTEGER));

static enum err lrange_range(struct request *rq, struct collection *c, struct walk_range *range)
{
    const struct lrange *a = rq->bound;
    uint64_t from = 0;
    uint64_t upto = 0;
    range->is_empty = !places_between(a->start, a->stop, c->head.count, &from, &upto);
    return range->is_empty ? OK : list_range(c, from, upto, range, &rq->error);
}

static void tell_value(struct resp_writer *w, const struct element *x, size_t *count)
{
    resp_bulk(w, x->value);
    ++*count;
}

static enum err lrange_run(struct request *rq)
{
    const struct lrange *a = rq->bound;
    struct telling t = {.kind = COLLECTION_LIST,
                        .key = a->key,
                        .range = lrange_range,
                        .tell = tell_value,
                        .begin = elements_begin_array};
    return elements_tell(rq, &t);
}
LIST_COMMAND(lrange, CMD_READ | CMD_FOLLOWER, KEY_RO | KEY_ACCESS,
             "Returns the elements of a list from one index to another. Negative indexes count "
             "from the end.",
             lrange_arguments, "The elements.", lrange_run);

/* ---- LSET ---- */

struct lset {
    struct slice key, value;
    int64_t index;
};
ARGUMENTS(lset_arguments, struct lset, "key index element", ARG_KEY(struct lset, key, "key", 0),
          ARG_INTEGER_OR(struct lset, index, "index", INT64_MIN + 1, INT64_MAX, 0, ARG_NOT_INTEGER),
          ARG_WORD(struct lset, value, "element"));

static enum err lset_change(struct request *rq, struct view *v, void *arg)
{
    const struct lset *a = arg;
    struct collection c;
    uint64_t place = 0;
    enum err r = list_open(rq, v, a->key, &c);
    if (r == OK && !c.exists) r = error_set(&rq->error, ERR_SYNTAX, "no such key");
    if (r == OK && !place_of(a->index, c.head.count, &place)) {
        r = error_set(&rq->error, ERR_SYNTAX, "index out of range");
    }
    if (r == OK) r = list_set(&c, place, a->value, &rq->error);
    return r == OK ? collection_save(&c, &rq->error) : r;
}

static enum err lset_run(struct request *rq)
{
    enum err r = elements_commit(rq, lset_change, rq->bound);
    if (r == OK) resp_simple(rq->w, "OK");
    return r;
}
LIST_COMMAND(lset, CMD_WRITE, KEY_RW | KEY_UPDATE, "Sets the element at an index of a list.",
             lset_arguments, "OK, or an error if the index is out of range.", lset_run);

/* ---- LTRIM ---- */

static enum err ltrim_change(struct request *rq, struct view *v, void *arg)
{
    const struct lrange *a = arg;
    struct collection c;
    uint64_t from = 0;
    uint64_t upto = 0;
    enum err r = list_open(rq, v, a->key, &c);
    if (r != OK || !c.exists) return r;
    if (!places_between(a->start, a->stop, c.head.count, &from, &upto)) from = upto = 0;
    r = list_trim(&c, from, upto, &rq->error);
    return r == OK ? collection_save(&c, &rq->error) : r;
}

static enum err ltrim_run(struct request *rq)
{
    enum err r = elements_commit(rq, ltrim_change, rq->bound);
    if (r == OK) resp_simple(rq->w, "OK");
    return r;
}
LIST_COMMAND(ltrim, CMD_WRITE, KEY_RW | KEY_DELETE,
             "Trims a list to the elements from one index to another.", lrange_arguments, "OK.",
             ltrim_run);

/* ---- LREM, LINSERT ---- */

struct lrem {
    struct slice key, value;
    int64_t count;
    uint64_t removed;
};
ARGUMENTS(lrem_arguments, struct lrem, "key count element", ARG_KEY(struct lrem, key, "key", 0),
          ARG_INTEGER_OR(struct lrem, count, "count", INT64_MIN + 1, INT64_MAX, 0, ARG_NOT_INTEGER),
          ARG_WORD(struct lrem, value, "element"));

static enum err lrem_change(struct request *rq, struct view *v, void *arg)
{
    struct lrem *a = arg;
    struct collection c;
    a->removed = 0;
    uint64_t max = a->count < 0 ? (uint64_t)-a->count : (uint64_t)a->count;
    enum err r = list_open(rq, v, a->key, &c);
    if (r == OK && c.exists) {
        r = list_remove(&c, a->value, a->count < 0, max, &a->removed, &rq->error);
    }
    return r == OK ? collection_save(&c, &rq->error) : r;
}

static enum err lrem_run(struct request *rq)
{
    struct lrem *a = rq->bound;
    enum err r = elements_commit(rq, lrem_change, a);
    if (r == OK) resp_int(rq->w, (int64_t)a->removed);
    return r;
}
LIST_COMMAND(lrem, CMD_WRITE, KEY_RW | KEY_DELETE,
             "Removes elements equal to a value: the first `count`, the last ones if it is "
             "negative, all if it is 0.",
             lrem_arguments, "The number of elements removed.", lrem_run);

struct linsert {
    struct slice key, pivot, value;
    int is_after;
    int64_t length;
};
ARGUMENTS(linsert_arguments, struct linsert, "key <BEFORE | AFTER> pivot element",
          ARG_KEY(struct linsert, key, "key", 0),
          ARG_CHOICE(struct linsert, is_after, {"BEFORE", 0}, {"AFTER", 1}),
          ARG_WORD(struct linsert, pivot, "pivot"), ARG_WORD(struct linsert, value, "element"));

static enum err linsert_change(struct request *rq, struct view *v, void *arg)
{
    struct linsert *a = arg;
    struct collection c;
    bool found = false;
    a->length = 0;
    enum err r = list_open(rq, v, a->key, &c);
    if (r != OK || !c.exists) return r;
    r = list_insert(&c, !a->is_after, a->pivot, a->value, &found, &rq->error);
    a->length = found ? (int64_t)c.head.count : -1;
    return r == OK ? collection_save(&c, &rq->error) : r;
}

static enum err linsert_run(struct request *rq)
{
    struct linsert *a = rq->bound;
    enum err r = elements_commit(rq, linsert_change, a);
    if (r == OK) resp_int(rq->w, a->length);
    return r;
}
LIST_COMMAND(linsert, CMD_WRITE, KEY_RW | KEY_INSERT,
             "Inserts an element before or after the first element equal to `pivot`.",
             linsert_arguments,
             "The length of the list, -1 if there is no such element, 0 if the key does not exist.",
             linsert_run);

/* ---- LPOS ---- */

struct lpos {
    struct slice key, value;
    int64_t rank, count, max;
    bool has_count;
};

static enum err check_lpos(struct request *rq, void *bound)
{
    struct lpos *a = bound;
    a->has_count = a->count >= 0;
    if (a->rank == INT64_MIN) return error_set(&rq->error, ERR_SYNTAX, ELEMENTS_NOT_NEGATABLE);
    if (a->rank != 0) return OK;
    return error_set(&rq->error, ERR_SYNTAX,
                     "RANK can't be zero: use 1 to start from the first match, 2 from the second "
                     "... or use negative to start from the end of the list");
}
ARGUMENTS_WITH(lpos_arguments, struct lpos, "key element [RANK rank] [COUNT num] [MAXLEN len]",
               WITH(.check = check_lpos), ARG_KEY(struct lpos, key, "key", 0),
               ARG_WORD(struct lpos, value, "element"),
               ARG_INTEGER_OR(struct lpos, rank, "RANK", INT64_MIN, INT64_MAX, 1, ARG_NOT_INTEGER),
               ARG_INTEGER_OR(struct lpos, count, "COUNT", 0, INT64_MAX, -1,
                              "COUNT can't be negative"),
               ARG_INTEGER_OR(struct lpos, max, "MAXLEN", 0, INT64_MAX, 0,
                              "MAXLEN can't be negative"));

static enum err lpos_range(struct request *rq, struct collection *c, struct walk_range *range)
{
    const struct lpos *a = rq->bound;
    (void)c;
    range->is_reverse = a->rank < 0;
    range->max = (uint64_t)a->max;
    return OK;
}

/* Tells the place of a match; those before the rank are passed over. */
static bool look_at(struct request *rq, struct resp_writer *w, const struct element *x,
                    struct told *told)
{
    const struct lpos *a = rq->bound;
    uint64_t rank = a->rank < 0 ? (uint64_t)-a->rank : (uint64_t)a->rank;
    uint64_t wanted = !a->has_count ? 1 : a->count == 0 ? UINT64_MAX : (uint64_t)a->count;
    uint64_t at = told->passed - 1;
    if (!slice_eq(x->value, a->value) || ++told->found < rank) return true;
    resp_int(w, (int64_t)(a->rank < 0 ? told->of->head.count - 1 - at : at));
    return ++told->replies < wanted;
}

static void begin_place(struct resp_writer *w, size_t count, size_t elements)
{
    (void)elements;
    if (count == 0) resp_nil(w);
}

static enum err lpos_run(struct request *rq)
{
    const struct lpos *a = rq->bound;
    struct telling t = {.kind = COLLECTION_LIST,
                        .key = a->key,
                        .range = lpos_range,
                        .look = look_at,
                        .begin = a->has_count ? elements_begin_array : begin_place};
    return elements_tell(rq, &t);
}
LIST_COMMAND(lpos, CMD_READ | CMD_FOLLOWER, KEY_RO | KEY_ACCESS,
             "Returns the index of an element in a list. With `COUNT` it returns several, or all "
             "if the count is 0.",
             lpos_arguments,
             "The index, or nil. With `COUNT`, an array. `RANK` skips earlier matches, and "
             "searches from the tail if negative. `MAXLEN` limits how many elements are compared.",
             lpos_run);
