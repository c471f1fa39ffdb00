/* elements_pick: see elements_pick.h. */
#include "request/elements_pick.h"

#include "collection/pick.h"

enum err elements_pick_run(struct request *rq, enum collection_kind kind,
                           const struct elements_pick *a,
                           void (*reply)(struct resp_writer *w, const struct element *items,
                                         size_t count, bool has_more))
{
    struct collection c;
    struct element *items = NULL;
    struct view *v = elements_view(rq);
    size_t picked = 0;
    int64_t count = a->words.is_given ? a->words.count : 1;
    enum err r = elements_open(rq, v, a->key, kind, &c);
    if (r == OK) {
        r = pick_random(&c, (uint64_t)(count < 0 ? -count : count), count < 0, &items, &picked,
                        &rq->error);
    }
    elements_read(rq, v);
    if (r != OK) return r;
    if (a->words.is_given) {
        reply(rq->w, items, picked, a->words.has_more);
    } else if (picked == 0) {
        resp_nil(rq->w);
    } else {
        resp_bulk(rq->w, items[0].name);
    }
    return OK;
}
