/* scan: HSCAN, HRANDFIELD: some of the fields of a hash. */
#include "collection/pick.h"
#include "command/hash/hash_int.h"
#include "request/elements_scan.h"

static void tell_field(struct resp_writer *w, const struct element *x, size_t *count)
{
    resp_bulk(w, x->name);
    ++*count;
}

static void tell_pair(struct resp_writer *w, const struct element *x, size_t *count)
{
    tell_field(w, x, count);
    resp_bulk(w, x->value);
    ++*count;
}

static enum err hscan_run(struct request *rq)
{
    const struct elements_scan *a = rq->bound;
    return elements_scan_run(rq, COLLECTION_HASH, a->names_only ? tell_field : tell_pair);
}
HASH_COMMAND(hscan, CMD_READ | CMD_FOLLOWER, KEY_RO | KEY_ACCESS,
             "Some of the fields of a hash and a cursor for more; 0 = there are no more.",
             elements_scan_names_arguments,
             "`[cursor, [field, value ...]]`; with `NOVALUES` without the values.", hscan_run);

/* ---- HRANDFIELD ---- */

struct picked_words {
    int64_t count;
    bool with_values, is_given;
};
struct hrandfield {
    struct slice key;
    struct picked_words words;
};
ARGUMENTS(count_words, struct picked_words, "count [WITHVALUES]",
          ARG_INTEGER_OR(struct picked_words, count, "count", -INT64_MAX, INT64_MAX, 1,
                         "value is not an integer or out of range"),
          ARG_FLAG(struct picked_words, with_values, "WITHVALUES"),
          ARG_FIXED(struct picked_words, is_given, 1));
ARGUMENTS(hrandfield_arguments, struct hrandfield, "key [words]",
          ARG_KEY(struct hrandfield, key, "key", 0),
          ARG_INSIDE(struct hrandfield, words, "words", count_words));

static void reply_fields(struct resp_writer *w, const struct element *items, size_t count,
                         bool with_values)
{
    bool is_paired = with_values && w->proto == 3;
    resp_array(w, with_values && !is_paired ? count * 2 : count);
    for (size_t i = 0; i < count; i++) {
        if (is_paired) resp_array(w, 2);
        resp_bulk(w, items[i].name);
        if (with_values) resp_bulk(w, items[i].value);
    }
}

static enum err hrandfield_run(struct request *rq)
{
    const struct hrandfield *a = rq->bound;
    struct collection c;
    struct element *items = NULL;
    struct view *v = elements_view(rq);
    size_t picked = 0;
    int64_t count = a->words.is_given ? a->words.count : 1;
    enum err r = elements_open(rq, v, a->key, COLLECTION_HASH, &c);
    if (r == OK) {
        r = pick_random(&c, (uint64_t)(count < 0 ? -count : count), count < 0, &items, &picked,
                        &rq->error);
    }
    elements_read(rq, v);
    if (r != OK) return r;
    if (a->words.is_given) {
        reply_fields(rq->w, items, picked, a->words.with_values);
    } else if (picked == 0) {
        resp_nil(rq->w);
    } else {
        resp_bulk(rq->w, items[0].name);
    }
    return OK;
}
HASH_COMMAND(hrandfield, CMD_READ | CMD_FOLLOWER, KEY_RO | KEY_ACCESS, "Random fields of a hash.",
             hrandfield_arguments,
             "A field, or nil; with `count` different ones, below 0 so many that may repeat.",
             hrandfield_run);
