/* elements_pick: see elements_pick.h. */
#include "request/elements_pick.h"

#include "collection/pick.h"

static enum err check_count(struct request *rq, const struct elements_pick_words *a, int64_t count)
{
    if (count == INT64_MIN) return error_set(&rq->error, ERR_SYNTAX, ELEMENTS_NOT_NEGATABLE);
    if (!a->has_more || (count <= INT64_MAX / 2 && count >= -INT64_MAX / 2)) return OK;
    return error_set(&rq->error, ERR_SYNTAX, "value is out of range");
}

enum err elements_pick_run(struct request *rq, enum collection_kind kind,
                           const struct elements_pick *a,
                           void (*reply)(struct resp_writer *w, const struct element *items,
                                         size_t count, bool has_more))
{
    struct collection c;
    struct view *v = elements_view(rq);
    int64_t count = a->words.is_given ? a->words.count : 1;
    enum err r = check_count(rq, &a->words, count);
    if (r != OK) return r;
    r = elements_open(rq, v, a->key, kind, &c);
    struct pick k = {.seed = elements_seed(rq, v),
                     .count = (uint64_t)(count < 0 ? -count : count),
                     .repeats = count < 0,
                     .with_values = a->words.has_more};
    if (r == OK) r = pick_random(&c, &k, &rq->error);
    elements_read(rq, v);
    if (r != OK) return r;
    if (a->words.is_given) {
        reply(rq->w, k.items, k.picked, a->words.has_more);
    } else if (k.picked == 0) {
        resp_nil(rq->w);
    } else {
        resp_bulk(rq->w, k.items[0].name);
    }
    return OK;
}
