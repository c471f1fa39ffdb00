/* kv_explain: KV.EXPLAIN: what a filter over a range is found by: which indexes can narrow it, and
 * how many of their rows it takes.
 */
#include <stdarg.h>
#include <stdio.h>

#include "request/args.h"
#include "request/keys.h"
#include "request/permission.h"
#include "request/range.h"
#include "request/selection.h"
#include "request/table.h"
#include "request/where.h"

#define PATH_SHOWN 100 /* bytes of a path in a text */

struct explain {
    struct range range;
    struct slice where;
};

static enum err check_explain(struct request *rq, void *bound)
{
    const struct explain *a = bound;
    if (a->where.data != NULL) return OK;
    return error_set(&rq->error, ERR_SYNTAX,
                     "syntax error: KV.EXPLAIN needs WHERE; without a filter, the whole range is "
                     "read");
}
ARGUMENTS_WITH(explain_arguments, struct explain, "range [WHERE filter]",
               WITH(.check = check_explain, .hint = range_hint, .words_least = 2,
                    .shown = "[PREFIX key] [START key] [END key] WHERE filter"),
               ARG_INSIDE(struct explain, range, "range", range_arguments),
               ARG_FILTER(struct explain, where, "WHERE"));

/* Of one index. */
struct use {
    const struct index *index;
    bool has_rows;
    size_t rows;
    struct slice why; /* in the arena */
};

struct explained {
    struct plan_question question;
    struct index_choice choice;
    struct use *uses;
    size_t count;
};

static void say(struct request *rq, struct use *u, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void say(struct request *rq, struct use *u, const char *format, ...)
{
    char text[ERROR_TEXT_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    u->why = arena_copy(rq->arena, slice_str(text));
}

/* Of an index that serves. */
static void say_rows(struct request *rq, struct use *u, const struct index_choice *choice,
                     size_t plan)
{
    const struct candidates *c = &choice->of[plan];
    u->has_rows = plan < choice->asked;
    u->rows = c->rows;
    if (!u->has_rows) {
        say(rq, u, "not considered: another index leaves few entries");
    } else if (c->is_all) {
        say(rq, u, "its rows determine which entries can match");
    } else {
        say(rq, u, "more than %d rows", SELECTION_ROWS_MAX);
    }
}

/* Of one that does not: false, it has nothing to do with the range. */
static bool say_why_not(struct request *rq, struct use *u, const struct plan_question *q)
{
    struct index_plan *plan = arena_alloc(rq->arena, sizeof *plan);
    const struct definition *d = &u->index->definition;
    struct slice low;
    struct slice high;
    size_t path = 0;
    enum plan_result result = index_plan(u->index, q, plan, &path);
    int len = (int)(d->paths[path].len < PATH_SHOWN ? d->paths[path].len : PATH_SHOWN);
    const char *name = (const char *)d->paths[path].data;
    index_range(u->index, rq->arena, &low, &high);
    if (d->kind != INDEX_VALUE) return false;
    if (slice_cmp(high, q->start) <= 0 || slice_cmp(q->end, low) <= 0) return false;
    if (definition_is_of_hashes(d)) {
        say(rq, u, "it indexes hashes, for KV.FIND; it does not serve filters of ranges");
        return true;
    }
    switch (result) {
    case PLAN_COVERS_LESS:
        say(rq, u,
            d->state == INDEX_READY ? "it does not cover all keys of the range"
                                    : "it is still being filled");
        break;
    case PLAN_LACKS:
        say(rq, u, "it does not contain entries without '%.*s', which the filter may match", len,
            name);
        break;
    case PLAN_IS_WIDE:
        say(rq, u, "the filter does not restrict its first path '%.*s'", len, name);
        break;
    case PLAN_SERVES: say(rq, u, "not considered: others are more selective"); break;
    }
    return true;
}

static void explain_index(struct request *rq, struct explained *x, const struct index *index)
{
    struct use *u = &x->uses[x->count];
    *u = (struct use){.index = index};
    for (size_t i = 0; i < x->choice.count; i++) {
        if (x->choice.plans[i].index != index) continue;
        say_rows(rq, u, &x->choice, i);
        x->count++;
        return;
    }
    x->count += say_why_not(rq, u, &x->question);
}

static enum err explain(struct request *rq, struct explained *x)
{
    const struct explain *a = rq->bound;
    struct indexes *ix = rq->env->db->indexes;
    uint16_t database = rq->client->database;
    struct row_filter *where = NULL;
    enum err r = indexes_ready(ix, database, rq->waiter, &rq->error);
    depends_raise(&rq->depends, indexes_version(ix, database));
    x->question.arena = rq->arena;
    if (r == OK) r = range_resolve(rq, &a->range, &x->question.start, &x->question.end);
    if (r == OK) r = arg_where(rq, a->where, &where);
    if (r != OK) return r;
    x->question.filter = where_filter(where);
    r = choice_make(rq, &x->question, SELECTION_ROWS_MAX, &x->choice);
    x->uses = arena_alloc(rq->arena, (indexes_count(ix, database) + 1) * sizeof *x->uses);
    for (const struct index *i = index_first(ix, database); i != NULL && r == OK; i = i->next) {
        if (may_read_index(rq, &i->definition)) explain_index(rq, x, i);
    }
    for (size_t i = 0; i < x->choice.asked; i++) {
        depends_raise(&rq->depends, x->choice.of[i].depends);
    }
    where_unref(where);
    return r;
}

static enum err kv_explain_run(struct request *rq)
{
    struct explained x = {.count = 0};
    const struct candidates *found = &x.choice.found;
    enum err r = explain(rq, &x);
    if (r != OK) return r;
    rq->env->stats.reads++;
    resp_map(rq->w, 3);
    resp_bulk_str(rq->w, "by");
    resp_bulk_str(rq->w, found->is_all ? "index" : "range");
    resp_bulk_str(rq->w, "entries");
    if (found->is_all) {
        resp_int(rq->w, (int64_t)found->count);
    } else {
        resp_nil(rq->w);
    }
    resp_bulk_str(rq->w, "indexes");
    resp_array(rq->w, x.count);
    for (size_t i = 0; i < x.count; i++) {
        const struct use *u = &x.uses[i];
        resp_array(rq->w, 3);
        resp_bulk(rq->w, u->index->definition.name);
        if (u->has_rows) {
            resp_int(rq->w, (int64_t)u->rows);
        } else {
            resp_nil(rq->w);
        }
        resp_bulk(rq->w, u->why);
    }
    return OK;
}

const struct command kv_explain = {
    .name = "kv.explain",
    .flags = CMD_READ | CMD_FOLLOWER | CMD_FORMAT,
    .key_flags = KEY_RO | KEY_ACCESS,
    .group = "kv",
    .summary = "Returns which indexes narrow a filter over a range, and to how many rows.",
    .arguments = &explain_arguments,
    .reply = "A map, or a flat array in RESP2, that describes KV.LIST, KV.COUNT and KV.DELRANGE. "
             "by: `index`, or `range`, which reads every entry. entries: how many entries remain "
             "to be read with an index, nil if unknown. indexes: `[name, rows, why]` for each "
             "index with keys in the range; rows is nil if the index cannot be used.",
    .run = kv_explain_run,
};
