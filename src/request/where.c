/* where: a compiled filter (filter/filter.h) as the struct row_filter that scans take
 * (backend/backend.h), with a count of its references. */
#include "request/where.h"

#include "base/mem.h"
#include "filter/filter.h"

struct where {
    struct row_filter base; /* first */
    struct filter *filter;
    unsigned refs;
};

static bool where_matches(const struct row_filter *f, struct slice value)
{
    return filter_matches(((const struct where *)f)->filter, value);
}

static void where_ref(struct row_filter *f)
{
    ((struct where *)f)->refs++;
}

void where_unref(struct row_filter *f)
{
    struct where *w = (struct where *)f;
    if (w == NULL || --w->refs > 0) return;
    filter_unref(w->filter);
    mem_free(w);
}

enum err arg_where(struct request *rq, struct slice json, struct row_filter **out)
{
    struct filter *filter = NULL;
    enum err r = filter_compile(json, engine_time_ms(rq->env->db->engine), &filter, &rq->error);
    *out = NULL;
    if (r != OK) return r;
    struct where *w = mem_new(sizeof *w);
    *w = (struct where){.base = {.passes = filter_conditions(filter),
                                 .matches = where_matches,
                                 .ref = where_ref,
                                 .unref = where_unref},
                        .filter = filter,
                        .refs = 1};
    *out = &w->base;
    return OK;
}
