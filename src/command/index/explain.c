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

struct explain {
    struct range range;
    struct slice where;
};

static enum err check_explain(struct request *rq, void *bound)
{
    const struct explain *a = bound;
    if (a->where.data != NULL) return OK;
    return error_set(&rq->error, ERR_SYNTAX,
                     "syntax error: KV.EXPLAIN needs WHERE: without a filter the range is walked");
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
    struct index_plan *plans; /* those that are asked for rows */
    size_t plan_count;
    struct use *uses;
    size_t count;
    bool is_by_index;
    size_t entries; /* that are looked at then */
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

static enum err look_at_rows(struct request *rq, struct explained *x, const struct index_plan *plan,
                             struct use *u)
{
    struct candidates c;
    struct scan_range range = {.start = x->question.start, .end = x->question.end};
    enum err r = candidates_read(rq, plan, &range, SELECTION_ROWS_MAX, rq->arena, &c);
    if (r != OK) return r;
    depends_raise(&rq->depends, c.depends);
    u->has_rows = true;
    u->rows = c.rows;
    if (!c.is_all) {
        say(rq, u, "more than %d rows: the range is walked", SELECTION_ROWS_MAX);
        return OK;
    }
    say(rq, u, "its rows say which entries can match");
    if (!x->is_by_index || c.count < x->entries) x->entries = c.count;
    x->is_by_index = true;
    return OK;
}

static enum err explain_index(struct request *rq, struct explained *x, const struct index *index)
{
    struct use *u = &x->uses[x->count];
    struct index_plan *plan = arena_alloc(rq->arena, sizeof *plan);
    size_t path = 0;
    *u = (struct use){.index = index};
    enum plan_result result = index_plan(index, &x->question, plan, &path);
    struct slice name = index->definition.paths[path];
    if (result == PLAN_COVERS_LESS) return OK; /* not worth a line */
    x->count++;
    for (size_t i = 0; i < x->plan_count; i++) {
        if (x->plans[i].index == index) return look_at_rows(rq, x, plan, u);
    }
    if (result == PLAN_LACKS) {
        say(rq, u, "an entry without '%.*s' is not in it, and the filter may match one",
            (int)(name.len < 100 ? name.len : 100), (const char *)name.data);
    } else if (result == PLAN_IS_WIDE) {
        say(rq, u, "the filter does not narrow its first path '%.*s'",
            (int)(name.len < 100 ? name.len : 100), (const char *)name.data);
    } else {
        say(rq, u, "not asked: others narrow more");
    }
    return OK;
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
    x->uses = arena_alloc(rq->arena, INDEXES_MAX * sizeof *x->uses);
    x->plans = arena_alloc(rq->arena, PLANS_MAX * sizeof *x->plans);
    x->plan_count = index_plans(ix, &x->question, x->plans);
    for (const struct index *i = index_first(ix, database); i != NULL && r == OK; i = i->next) {
        if (may_read_index(rq, &i->definition)) r = explain_index(rq, x, i);
    }
    where_unref(where);
    return r;
}

static enum err kv_explain_run(struct request *rq)
{
    struct explained x = {.count = 0};
    enum err r = explain(rq, &x);
    if (r != OK) return r;
    rq->env->stats.reads++;
    resp_map(rq->w, 3);
    resp_bulk_str(rq->w, "by");
    resp_bulk_str(rq->w, x.is_by_index ? "index" : "range");
    resp_bulk_str(rq->w, "entries");
    if (x.is_by_index) {
        resp_int(rq->w, (int64_t)x.entries);
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
    .summary = "Which indexes narrow a filter over a range, and by how many rows.",
    .arguments = &explain_arguments,
    .reply =
        "by (index, or range: every entry is looked at), entries (how many an index leaves to "
        "look at; nil: not known), indexes: of each that covers the range `[name, rows, why]`, "
        "rows nil when it cannot serve. A map, or a flat array in RESP2. It is about KV.LIST, "
        "KV.COUNT and KV.DELRANGE.",
    .run = kv_explain_run,
};
