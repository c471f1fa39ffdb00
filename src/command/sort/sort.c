/* sort: SORT and SORT_RO: the elements of a list, set or sorted set, by themselves or by values of
 * other keys. All of it happens in one turn of the loop, at one moment, so there are limits: at
 * most COLLECTION_ROWS_MAX elements, as many keys for BY and for GET, and max-transaction-size
 * bytes of each. What is in order already (BY of a constant) is read only as far as LIMIT says.
 */
#include "collection/list.h"
#include "collection/sorted.h"
#include "command/sort/sort_int.h"
#include "request/subjects.h"

/* ---- words ---- */

static enum err read_pattern(struct request *rq, const struct argument *a, struct slice word,
                             void *to)
{
    (void)rq;
    (void)a;
    *(struct sort_pattern *)to = sort_pattern_of(word);
    return OK;
}
static const struct argument_kind pattern_kind = {.read = read_pattern};

ARGUMENTS(sort_limit_words, struct sort_limit, "offset count",
          ARG_INTEGER_OR(struct sort_limit, offset, "offset", INT64_MIN, INT64_MAX, 0,
                         ARG_NOT_INTEGER),
          ARG_INTEGER_OR(struct sort_limit, count, "count", INT64_MIN, INT64_MAX, -1,
                         ARG_NOT_INTEGER),
          ARG_FIXED(struct sort_limit, is_given, 1));

/* BY and GET read keys that the words do not name. */
static void sort_subjects(struct subjects *s, const void *bound)
{
    const struct sort *a = bound;
    bool has_star = a->by.len > 0 && memchr(a->by.data, '*', a->by.len) != NULL;
    if (has_star || a->gets.count > 0) subjects_all_keys(s, ACCESS_READ);
}

#define SORT_WORDS                                                                                 \
    "key [BY pattern] [LIMIT limit] [GET pattern [GET pattern ...]] [ASC | DESC] [ALPHA]"
#define SORT_ROWS                                                                                  \
    ARG_KEY(struct sort, key, "key", KEY_RO | KEY_ACCESS), ARG_WORD(struct sort, by, "BY"),        \
        ARG_INSIDE(struct sort, limit, "LIMIT", sort_limit_words),                                 \
        {ARG_MANY(struct sort, gets, struct sort_pattern, "GET", pattern_kind)},                   \
        ARG_CHOICE(struct sort, is_descending, {"ASC", false}, {"DESC", true}),                    \
        ARG_FLAG(struct sort, is_text, "ALPHA")
ARGUMENTS_WITH(sort_ro_arguments, struct sort, SORT_WORDS, WITH(.subjects = sort_subjects),
               SORT_ROWS);
ARGUMENTS_WITH(sort_arguments, struct sort, SORT_WORDS " [STORE destination]",
               WITH(.subjects = sort_subjects), SORT_ROWS,
               ARG_KEY(struct sort, to, "STORE", KEY_OW | KEY_UPDATE));

/* ---- reading ---- */

/* What is to be sorted, and which part of it is wanted. */
struct source {
    struct collection c;
    bool is_sorted; /* as it is: nothing is to be done but to read it */
    uint64_t from, count;
};

static enum err too_many(struct request *rq, uint64_t count)
{
    return error_set(&rq->error, ERR_LIMIT,
                     "SORT of %llu elements, more than one command may read (%d)",
                     (unsigned long long)count, COLLECTION_ROWS_MAX);
}

static enum err open_source(struct request *rq, struct view *v, const struct sort *a,
                            struct collection *c)
{
    bool is_one = false;
    struct entry entry;
    enum err r = collection_look(rq->env->db->collections, v, a->key, c, &is_one, &rq->error);
    enum collection_kind kind = c->head.kind;
    if (r != OK) return r;
    if (is_one) {
        bool is_good = kind == COLLECTION_LIST || kind == COLLECTION_SET || kind == COLLECTION_ZSET;
        return is_good ? OK : string_wrong_type(&rq->error);
    }
    collection_begin(rq->env->db->collections, v, a->key, COLLECTION_LIST, c);
    r = view_get(v, a->key, &entry, &rq->error);
    return r == OK && entry.exists ? string_wrong_type(&rq->error) : r;
}

/* The part that LIMIT means, of all. */
static void limit_of(const struct sort *a, struct source *s)
{
    uint64_t all = s->c.head.count;
    int64_t offset = a->limit.is_given && a->limit.offset > 0 ? a->limit.offset : 0;
    s->from = (uint64_t)offset < all ? (uint64_t)offset : all;
    s->count = all - s->from;
    if (a->limit.is_given && a->limit.count >= 0 && (uint64_t)a->limit.count < s->count) {
        s->count = (uint64_t)a->limit.count;
    }
}

/* The walk over what is to be read; *is_backwards: it comes from its end. */
static enum err range_of(struct request *rq, const struct sort *a, struct source *s,
                         struct walk_range *range, bool *is_backwards)
{
    struct collection *c = &s->c;
    uint64_t all = c->head.count;
    *is_backwards = false;
    if (!s->is_sorted) return OK;
    if (c->head.kind == COLLECTION_SET) {
        range->skip = s->from;
        range->hint = s->from + s->count;
        return OK;
    }
    if (c->head.kind == COLLECTION_LIST) {
        *is_backwards = a->is_descending != 0;
        uint64_t from = *is_backwards ? all - s->from - s->count : s->from;
        return list_range(c, from, from + s->count, range, &rq->error);
    }
    struct sorted_range ranks = {.by = BY_RANK,
                                 .is_reverse = a->is_descending != 0,
                                 .start = (int64_t)s->from,
                                 .stop = (int64_t)(s->from + s->count) - 1,
                                 .limit = -1};
    return sorted_walk(c, &ranks, range, &rq->error);
}

/* Up to `max` of them, for which there is room. */
static enum err read_items(struct request *rq, struct source *s, const struct walk_range *range,
                           uint64_t max, struct sort_items *to)
{
    uint64_t bytes_max = engine_limits(rq->env->db->engine)->txn_bytes_max;
    struct element_walk walk;
    uint64_t bytes = 0;
    uint64_t skip = range->skip;
    enum err r = element_walk_begin(&walk, &s->c, range, &rq->error);
    while (r == OK && to->count < max) {
        struct element x;
        bool is_end = false;
        r = element_walk_next(&walk, &x, &is_end, &rq->error);
        if (r != OK || is_end) break;
        if (skip > 0) {
            skip--;
            continue;
        }
        struct slice element = s->c.head.kind == COLLECTION_LIST ? x.value : x.name;
        bytes += element.len;
        if (bytes > bytes_max) {
            r = error_set(&rq->error, ERR_LIMIT,
                          "the elements of SORT together exceed max-transaction-size (%llu)",
                          (unsigned long long)bytes_max);
            break;
        }
        to->items[to->count] = (struct sort_item){.element = arena_copy(rq->arena, element),
                                                  .at = to->count};
        to->count++;
    }
    element_walk_end(&walk);
    return r;
}

static void turn_round(struct sort_items *x)
{
    for (size_t i = 0; i < x->count / 2; i++) {
        struct sort_item item = x->items[i];
        x->items[i] = x->items[x->count - 1 - i];
        x->items[x->count - 1 - i] = item;
    }
}

static enum err load(struct request *rq, const struct sort *a, struct source *s,
                     struct sort_items *to)
{
    struct walk_range range = {0};
    bool is_backwards = false;
    uint64_t wanted = s->is_sorted ? s->count : s->c.head.count;
    uint64_t passed = s->is_sorted && s->c.head.kind == COLLECTION_SET ? s->from + wanted : wanted;
    *to = (struct sort_items){.count = 0};
    if (passed > COLLECTION_ROWS_MAX) return too_many(rq, passed);
    if (wanted == 0) return OK;
    to->items = arena_alloc(rq->arena, (size_t)wanted * sizeof *to->items);
    enum err r = range_of(rq, a, s, &range, &is_backwards);
    if (r == OK && !range.is_empty) r = read_items(rq, s, &range, wanted, to);
    if (is_backwards) turn_round(to);
    return r;
}

/* ---- sorting ---- */

/* A set has no order of its own. What is stored, or is part of a transaction, gets one, as in
 * Redis. */
static bool is_to_be_ordered(const struct request *rq, const struct sort *a, const struct source *s)
{
    return s->c.head.kind == COLLECTION_SET && (a->to.data != NULL || rq->overlay != NULL);
}

static enum err weigh(struct request *rq, struct view *v, struct sort_pattern *by,
                      const struct sort_items *of)
{
    struct sort_patterns one = {.items = by, .count = 1};
    struct slice *weights = NULL;
    enum err r = sort_look_up(rq, v, &one, of, &weights);
    for (size_t i = 0; i < of->count && r == OK; i++) of->items[i].weight = weights[i];
    return r;
}

/* Those that are wanted: the elements, or what GET says of each. */
static enum err tell(struct request *rq, struct view *v, struct sort *a,
                     const struct sort_items *of)
{
    a->value_count = a->gets.count > 0 ? of->count * a->gets.count : of->count;
    if (a->gets.count > 0) return sort_look_up(rq, v, &a->gets, of, &a->values);
    a->values = arena_alloc(rq->arena, (of->count + 1) * sizeof *a->values);
    for (size_t i = 0; i < of->count; i++) a->values[i] = of->items[i].element;
    return OK;
}

static enum err sort_values(struct request *rq, struct view *v, struct sort *a)
{
    struct sort order = *a;
    struct source s = {0};
    struct sort_pattern by = {.is_constant = false};
    struct sort_items all;
    bool has_by = a->by.data != NULL;
    enum err r = open_source(rq, v, a, &s.c);
    if (r != OK) return r;
    if (has_by) by = sort_pattern_of(a->by);
    s.is_sorted = has_by && (by.is_constant || by.is_element);
    if (s.is_sorted && is_to_be_ordered(rq, a, &s)) {
        order.is_text = true;
        s.is_sorted = has_by = false;
    }
    limit_of(a, &s);
    r = load(rq, a, &s, &all);
    if (r == OK && !s.is_sorted && has_by) r = weigh(rq, v, &by, &all);
    if (r == OK && !s.is_sorted) r = sort_order(rq, &order, has_by, &all);
    if (r != OK) return r;
    if (!s.is_sorted) {
        size_t from = s.from < all.count ? (size_t)s.from : all.count;
        if (from > 0) all.items += from;
        all.count -= from;
    }
    if (s.count < all.count) all.count = (size_t)s.count;
    return tell(rq, v, a, &all);
}

/* ---- the commands ---- */

static enum err sort_read(struct request *rq)
{
    struct sort *a = rq->bound;
    struct view *v = elements_view(rq);
    enum err r = sort_values(rq, v, a);
    elements_read(rq, v);
    if (r != OK) return r;
    rq->env->stats.reads++;
    resp_array(rq->w, a->value_count);
    for (size_t i = 0; i < a->value_count; i++) {
        if (a->values[i].data == NULL) {
            resp_nil(rq->w);
        } else {
            resp_bulk(rq->w, a->values[i]);
        }
    }
    return OK;
}

static enum err store_change(struct request *rq, struct view *v, void *arg)
{
    struct sort *a = arg;
    struct collection to;
    enum err r = sort_values(rq, v, a);
    if (r != OK) return r;
    collection_begin(rq->env->db->collections, v, a->to, COLLECTION_LIST, &to);
    for (size_t i = 0; i < a->value_count && r == OK; i++) {
        struct slice value = a->values[i].data != NULL ? a->values[i] : slice_of("", 0);
        r = list_push(&to, false, value, &rq->error);
    }
    return r == OK ? collection_replace(&to, &rq->error) : r;
}

static enum err sort_run(struct request *rq)
{
    struct sort *a = rq->bound;
    if (a->to.data == NULL) return sort_read(rq);
    enum err r = elements_commit(rq, store_change, a);
    if (r == OK) resp_int(rq->w, (int64_t)a->value_count);
    return r;
}

static const char *const sort_categories[] = {"@set", "@sortedset", "@list", NULL};

const struct command cmd_sort = {
    .name = "sort",
    .flags = CMD_STRING | CMD_WRITE | CMD_DANGEROUS,
    .categories = sort_categories,
    .group = "generic",
    .since = "0.2.0",
    .summary = "Sorts the elements of a list, set or sorted set, by themselves or by other keys.",
    .arguments = &sort_arguments,
    .reply = "The elements, or the values of each `GET` for each element, nil if there is none. "
             "With `STORE`, they are stored as a list, and the reply is its length.",
    .run = sort_run,
};

const struct command cmd_sort_ro = {
    .name = "sort_ro",
    .flags = CMD_STRING | CMD_READ | CMD_FOLLOWER | CMD_DANGEROUS,
    .categories = sort_categories,
    .group = "generic",
    .since = "0.2.0",
    .summary = "Sorts as SORT does, without STORE.",
    .arguments = &sort_ro_arguments,
    .reply = "As for SORT, without STORE.",
    .run = sort_read,
};
