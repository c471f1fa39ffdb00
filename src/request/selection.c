/* selection: see selection.h. */
#include "request/selection.h"

#include "base/mem.h"
#include "request/block.h"
#include "request/where.h"

#define LOADS 64                /* entries loaded together */
#define TURN_LOADS 512          /* before others get a turn */
#define TURN_WORK (1u << 20)    /* of the filter; likewise */
#define TXN_WORK (64u << 20)    /* in EXEC, which has one turn */
#define WAIT_ENTRIES 4096       /* that a scan passes, about, before it waits */
#define BOTH_ROWS 256           /* named by one index: a second may leave fewer */
#define ARENA_BYTES (16 * 1024) /* of a selection by an index */

enum how { WALKING, LOADING };

struct selection {
    enum how how;
    struct engine_scan *scan; /* of the range: it is walked, or loads */
    struct buf start, end;
    struct scan_range range; /* with these bounds */
    size_t walked;           /* entries, about */
    bool is_decided;         /* the index is not asked any more */
    uint64_t depends;        /* of rows of indexes, and of entries that were loaded */
    /* LOADING */
    struct arena arena; /* of all below */
    struct slice *keys;
    size_t count, at;
    size_t batch_at, batch_count; /* of keys: those that are loaded together */
    struct entry *entries;        /* of the batch */
    bool is_loaded;               /* they are good in this turn */
    size_t turn_loads;
    uint64_t turn_work, work;
};

/* ---- rows of an index ---- */

struct reading {
    const struct index_plan *plan;
    const struct scan_range *range;
    size_t rows_max;
    struct arena *arena;
    struct candidates *out;
};

static enum err read_rows(struct request *rq, const struct reading *k, struct engine_scan *scan)
{
    struct candidates *c = k->out;
    for (;;) {
        struct slice key;
        struct entry row;
        struct slice owner;
        bool is_multi = false;
        enum err r = engine_scan_next(scan, &key, &row, rq->waiter, &rq->error);
        if (r != OK || key.len == 0) return r;
        c->is_all = c->rows < k->rows_max;
        if (!c->is_all) return OK;
        c->rows++;
        if (!index_row_owner(k->plan->index, key, row.value, k->arena, &owner, &is_multi)) {
            c->is_all = false; /* the range tells all the same */
            return OK;
        }
        bool is_inside = slice_cmp(k->range->start, owner) <= 0 &&
                         slice_cmp(owner, k->range->end) < 0;
        if (is_inside) c->keys[c->count++] = owner;
    }
}

/* Rows that are gone, but still in memory, are passed too: so many of them are too many rows. */
static enum err read_range(struct request *rq, const struct reading *k, const struct plan_range *p)
{
    struct candidates *c = k->out;
    size_t work = (k->rows_max + 1 - c->rows) * SCAN_WORK_ROW;
    struct engine_scan *scan = NULL;
    struct scan_range range = {.start = p->start,
                               .end = p->end,
                               .is_undivided = true,
                               .with_values = true,
                               .work_left = &work,
                               .rows_hint = k->rows_max + 1 - c->rows};
    enum err r = engine_scan_open(rq->env->db->engine, rq->overlay, &range, &scan, &rq->error);
    if (r == OK) r = read_rows(rq, k, scan);
    if (scan != NULL) depends_raise(&c->depends, engine_scan_depends(scan));
    engine_scan_close(scan);
    if (r != ERR_LIMIT) return r;
    c->is_all = false;
    return OK;
}

/* At most rows_max rows, within this turn; owners outside of the range are left out. */
static enum err read_plan(struct request *rq, const struct index_plan *plan,
                          const struct scan_range *range, size_t rows_max, struct arena *arena,
                          struct candidates *out)
{
    struct reading k = {
        .plan = plan, .range = range, .rows_max = rows_max, .arena = arena, .out = out};
    enum err r = OK;
    *out = (struct candidates){.is_all = true};
    out->keys = arena_alloc(arena, (rows_max + 1) * sizeof *out->keys);
    for (size_t i = 0; i < plan->range_count && out->is_all && r == OK; i++) {
        r = read_range(rq, &k, &plan->ranges[i]);
    }
    if (r == OK && out->is_all) out->count = slice_sort_distinct(out->keys, out->count);
    return r;
}

/* Leaves in *a what is in both. */
static void intersect(struct candidates *a, const struct candidates *b)
{
    size_t kept = 0;
    for (size_t i = 0, k = 0; i < a->count && k < b->count;) {
        int order = slice_cmp(a->keys[i], b->keys[k]);
        if (order == 0) a->keys[kept++] = a->keys[i];
        i += order <= 0;
        k += order >= 0;
    }
    a->count = kept;
    depends_raise(&a->depends, b->depends);
}

enum err choice_make(struct request *rq, const struct plan_question *q, size_t rows_max,
                     struct index_choice *out)
{
    struct scan_range range = {.start = q->start, .end = q->end};
    struct candidates *found = &out->found;
    *out = (struct index_choice){.plans = arena_alloc(q->arena, PLANS_MAX * sizeof *out->plans)};
    out->count = index_plans(rq->env->db->indexes, q, out->plans);
    while (out->asked < out->count && !(found->is_all && found->count <= BOTH_ROWS)) {
        struct candidates *next = &out->of[out->asked];
        enum err r = read_plan(rq, &out->plans[out->asked], &range, rows_max, q->arena, next);
        if (r != OK) return r;
        out->asked++;
        if (!next->is_all) continue;
        if (found->is_all) {
            intersect(found, next);
        } else {
            *found = *next;
        }
    }
    return OK;
}

/* ---- opening ---- */

static enum err open_range(struct request *rq, struct selection *s)
{
    engine_scan_close(s->scan);
    s->scan = NULL;
    return engine_scan_open(rq->env->db->engine, rq->overlay, &s->range, &s->scan, &rq->error);
}

/* Asks the index for at most so many rows; goes on by them if these are all. In this turn the scan
 * that loads is opened, so that all is of one moment. */
static enum err try_index(struct request *rq, struct selection *s, size_t rows_max, bool *is_anew)
{
    struct index_choice choice;
    const struct candidates *c = &choice.found;
    struct plan_question question = {.filter = where_filter(s->range.filter),
                                     .start = s->range.start,
                                     .end = s->range.end,
                                     .arena = &s->arena};
    enum err r = choice_make(rq, &question, rows_max, &choice);
    if (r == OK && c->is_all) {
        r = open_range(rq, s);
        if (r != OK) return r;
        *is_anew = true;
        s->is_decided = true;
        s->how = LOADING;
        s->keys = c->keys;
        s->count = c->count;
        s->entries = arena_alloc(&s->arena, LOADS * sizeof *s->entries);
        depends_raise(&s->depends, c->depends);
        return OK;
    }
    if (choice.count == 0) s->is_decided = true;
    arena_reset(&s->arena);
    return r;
}

enum err selection_open(struct request *rq, const struct scan_range *range, struct selection **out)
{
    struct selection *s = mem_new(sizeof *s);
    bool ignored = false;
    *out = NULL;
    s->range = *range;
    s->is_decided = range->filter == NULL;
    enum err r = OK;
    if (!s->is_decided) {
        buf_append(&s->start, range->start.data, range->start.len);
        buf_append(&s->end, range->end.data, range->end.len);
        buf_require(&s->start);
        buf_require(&s->end);
        s->range.start = buf_slice(&s->start);
        s->range.end = buf_slice(&s->end);
        arena_init(&s->arena, ARENA_BYTES);
        /* Where all is one turn, there is no second try. */
        size_t rows = range->is_undivided ? SELECTION_ROWS_MAX : SELECTION_ROWS_FIRST;
        r = try_index(rq, s, rows, &ignored);
        if (range->is_undivided) s->is_decided = true;
    }
    if (r == OK && s->how == WALKING) r = open_range(rq, s);
    if (r == OK) {
        *out = s;
    } else {
        selection_close(s);
    }
    return r;
}

void selection_close(struct selection *s)
{
    if (s == NULL) return;
    engine_scan_close(s->scan);
    if (s->range.filter != NULL) arena_fini(&s->arena);
    buf_fini(&s->start);
    buf_fini(&s->end);
    mem_free(s);
}

/* ---- the next ---- */

static enum err walk_next(struct request *rq, struct selection *s, struct slice *key,
                          struct entry *out)
{
    enum err r = engine_scan_next(s->scan, key, out, rq->waiter, &rq->error);
    if (!s->is_decided) s->walked += r == ERR_WAIT ? WAIT_ENTRIES : 1;
    return r;
}

/* It takes long: the index once more. While that waits for the disk the walk keeps its place. */
static enum err walk_longer(struct request *rq, struct selection *s, bool *is_anew)
{
    struct error ignored;
    enum err r = try_index(rq, s, SELECTION_ROWS_MAX, is_anew);
    if (r == ERR_WAIT && engine_scan_pause(s->scan, &ignored) == OK) return r;
    s->is_decided = true;
    return r == ERR_WAIT ? OK : r;
}

static struct slice key_at(const struct selection *s, size_t at)
{
    return s->keys[s->range.is_reverse ? s->count - 1 - at : at];
}

/* As many as are wanted, and some that may not match. */
static size_t batch_most(const struct selection *s)
{
    size_t hint = s->range.rows_hint;
    return hint == 0 || hint > LOADS / 2 ? LOADS : hint + LOADS / 8;
}

/* A batch that waited for something is asked for again as it was. */
static enum err load(struct request *rq, struct selection *s)
{
    struct slice keys[LOADS];
    if (s->at >= s->batch_at + s->batch_count) {
        s->batch_at = s->at;
        s->batch_count = batch_most(s);
        if (s->batch_count > s->count - s->at) s->batch_count = s->count - s->at;
    }
    for (size_t i = 0; i < s->batch_count; i++) keys[i] = key_at(s, s->batch_at + i);
    enum err r = engine_scan_load(s->scan, keys, s->batch_count, s->entries, rq->waiter,
                                  &rq->error);
    if (r != OK) return r;
    for (size_t i = 0; i < s->batch_count; i++) depends_raise(&s->depends, s->entries[i].depends);
    s->is_loaded = true;
    s->turn_loads += s->batch_count;
    return OK;
}

static enum err let_others_run(struct request *rq, struct selection *s)
{
    if (s->range.is_undivided) {
        if (s->work <= TXN_WORK) return OK;
        return error_set(&rq->error, ERR_LIMIT,
                         "where: the filter reads more bytes than a transaction may");
    }
    if (s->turn_loads < TURN_LOADS && s->turn_work < TURN_WORK) return OK;
    return selection_yield(rq, s);
}

/* Does the entry match? ERR_LIMIT: it is too large for the loop. */
static enum err judge(struct request *rq, struct selection *s, struct row_look *look)
{
    const struct row_filter *f = s->range.filter;
    enum err r = row_filter_check(f, look->value, ROW_LOOP_WORK_MAX, &rq->error);
    if (r == OK) r = engine_scan_matches(s->scan, f, look, rq->waiter, &rq->error);
    uint64_t work = row_filter_work(f, look->value) + look->work;
    s->turn_work += work;
    s->work += work;
    return r;
}

static enum err load_next(struct request *rq, struct selection *s, struct slice *key,
                          struct entry *out)
{
    enum err r = OK;
    while (s->at < s->count) {
        if (!s->is_loaded || s->at >= s->batch_at + s->batch_count) {
            r = let_others_run(rq, s);
            if (r == OK) r = load(rq, s);
            if (r != OK) break;
        }
        *key = key_at(s, s->at);
        *out = s->entries[s->at - s->batch_at];
        struct row_look look = {.key = *key, .value = out->value};
        if (out->exists) r = judge(rq, s, &look);
        if (r != OK) break;
        s->at++;
        if (look.matches) return OK;
    }
    if (r == ERR_WAIT) s->is_loaded = false;
    key->len = 0;
    return r;
}

enum err selection_next(struct request *rq, struct selection *s, struct slice *key,
                        struct entry *out, bool *is_anew)
{
    enum err r = OK;
    *is_anew = false;
    if (!s->is_decided && s->walked >= SELECTION_WALK_FIRST) r = walk_longer(rq, s, is_anew);
    if (r != OK) return r;
    if (s->how == WALKING) return walk_next(rq, s, key, out);
    r = load_next(rq, s, key, out);
    /* What a thread would look at, which only the walk asks. */
    if (r != ERR_LIMIT || s->range.is_undivided) return r;
    s->how = WALKING;
    *is_anew = true;
    r = open_range(rq, s);
    return r == OK ? walk_next(rq, s, key, out) : r;
}

/* ---- the rest ---- */

enum err selection_yield(struct request *rq, struct selection *s)
{
    enum err r = client_yield(rq, s->scan);
    if (r == ERR_WAIT) s->is_loaded = false;
    s->turn_loads = 0;
    s->turn_work = 0;
    return r;
}

enum err selection_yield_or_go_on(struct request *rq, struct selection *s)
{
    enum err r = selection_yield(rq, s);
    return r == ERR_TRYAGAIN ? OK : r;
}

void selection_end(struct request *rq, const struct selection *s)
{
    struct env_stats *stats = &rq->env->stats;
    depends_raise(&rq->depends, engine_scan_depends(s->scan));
    depends_raise(&rq->depends, s->depends);
    if (s->range.filter == NULL) return;
    stats->filtered_by_index += s->how == LOADING;
    stats->filtered_by_range += s->how == WALKING;
}

size_t selection_bytes(const struct selection *s)
{
    return sizeof *s + s->count * sizeof *s->keys + s->start.cap + s->end.cap;
}
