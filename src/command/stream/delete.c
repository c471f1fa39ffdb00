/* delete: XDEL, XDELEX, XACKDEL: entries go by their ids, and what groups have pending of them. */
#include "command/stream/stream_int.h"

/* ---- XDEL ---- */

struct xdel {
    struct slice key;
    struct stream_ids ids;
    int64_t removed;
};
ARGUMENTS(xdel_arguments, struct xdel, "key id [id ...]", ARG_KEY(struct xdel, key, "key", 0),
          {ARG_MANY(struct xdel, ids, struct stream_id, "id", arg_kind_stream_id)});

static enum err xdel_change(struct request *rq, struct view *v, void *arg)
{
    struct xdel *a = arg;
    struct collection c;
    a->removed = 0;
    bool *removed = arena_alloc(rq->arena, a->ids.count * sizeof *removed);
    enum err r = stream_open(rq, v, a->key, &c);
    if (r != OK || !c.exists) return r;
    r = stream_remove(&c, a->ids.items, a->ids.count, removed, &rq->error);
    for (size_t i = 0; i < a->ids.count && r == OK; i++) a->removed += removed[i];
    return r == OK && a->removed > 0 ? elements_save_as(rq, &c, "xdel") : r;
}

static enum err xdel_run(struct request *rq)
{
    struct xdel *a = rq->bound;
    enum err r = elements_commit(rq, xdel_change, a);
    if (r == OK) resp_int(rq->w, a->removed);
    return r;
}
STREAM_COMMAND(xdel, CMD_WRITE | CMD_FAST, KEY_RW | KEY_DELETE,
               "Deletes entries from a stream by their ids.", xdel_arguments,
               "The number of elements removed.", xdel_run);

/* ---- XDELEX, XACKDEL ---- */

enum references { REFERENCES_KEPT, REFERENCES_REMOVED, ONLY_ACKNOWLEDGED };
enum outcome { NOT_THERE = -1, REMOVED = 1, STILL_REFERENCED = 2 };

struct xdelex {
    struct slice key, group;
    int references; /* enum references */
    struct stream_ids ids;
    bool acknowledges;
    /* results, for each id */
    int *outcomes;
};
#define IDS_WORDS "[KEEPREF | DELREF | ACKED] IDS numids id [id ...]"
#define ARG_REFERENCES                                                                             \
    ARG_CHOICE(struct xdelex, references, {"KEEPREF", REFERENCES_KEPT},                            \
               {"DELREF", REFERENCES_REMOVED}, {"ACKED", ONLY_ACKNOWLEDGED})
#define IDS_MISMATCH "The `numids` parameter must match the number of arguments"
#define ARG_IDS                                                                                    \
    ARG_COUNT_ALWAYS("numids", 1, INT64_MAX, "Number of IDs must be a positive integer",           \
                     IDS_MISMATCH),                                                                \
    {                                                                                              \
        ARG_MANY(struct xdelex, ids, struct stream_id, "id", arg_kind_stream_id)                   \
    }
ARGUMENTS(xdelex_arguments, struct xdelex, "key " IDS_WORDS, ARG_KEY(struct xdelex, key, "key", 0),
          ARG_REFERENCES, ARG_IDS);
ARGUMENTS(xackdel_arguments, struct xdelex, "key group " IDS_WORDS,
          ARG_KEY(struct xdelex, key, "key", 0), ARG_WORD(struct xdelex, group, "group"),
          ARG_REFERENCES, ARG_IDS, ARG_FIXED(struct xdelex, acknowledges, 1));

#define LOOKS_MAX 20000 /* ids, times groups */

/* Groups of a stream. */
struct groups {
    struct stream_group *items;
    size_t count;
};

/* Those that are looked at: of XACKDEL KEEPREF its own, of XDELEX KEEPREF none, else all. */
static enum err read_groups(struct request *rq, struct collection *c, struct groups *out)
{
    const struct xdelex *a = rq->bound;
    bool found = false;
    enum err r = OK;
    if (a->references != REFERENCES_KEPT) {
        r = groups_list(c, &out->items, &out->count, &rq->error);
    } else if (a->acknowledges) {
        out->items = arena_alloc(c->view->arena, sizeof *out->items);
        r = group_find(c, a->group, &found, out->items, &rq->error);
        out->count = found;
    }
    if (r != OK || out->count == 0 || a->ids.count <= LOOKS_MAX / out->count) return r;
    return error_set(&rq->error, ERR_LIMIT,
                     "%zu ids and %zu groups exceed the limit of %d; use fewer ids", a->ids.count,
                     out->count, LOOKS_MAX);
}

/* Whether there is such an entry, and a group has it pending or is still to be delivered it. */
static enum err is_referenced(struct collection *c, const struct groups *all, struct stream_id id,
                              bool *found, struct error *e)
{
    struct stream_pending p;
    struct slice fields;
    bool is_there = false;
    enum err r = stream_find(c, id, &is_there, &fields, e);
    *found = false;
    for (size_t i = 0; i < all->count && r == OK && is_there && !*found; i++) {
        struct stream_group *g = &all->items[i];
        *found = stream_id_order(g->last, id) < 0;
        if (!*found) r = pending_find(c, g, id, found, &p, e);
    }
    return r;
}

/* What groups have pending of an id goes, where it is to; *outcome REMOVED: its entry is to go. */
static enum err take_references(struct request *rq, struct collection *c, struct groups *all,
                                struct stream_id id, int *outcome)
{
    const struct xdelex *a = rq->bound;
    int64_t count = 0;
    bool is_held = false;
    enum err r = OK;
    *outcome = NOT_THERE;
    for (size_t i = 0; i < all->count && r == OK && a->acknowledges; i++) {
        struct stream_group *g = &all->items[i];
        if (slice_eq(g->name, a->group)) r = stream_acknowledge(rq, c, g, id, &count);
    }
    if (r != OK || (a->acknowledges && count == 0)) return r;
    for (size_t i = 0; i < all->count && r == OK && a->references == REFERENCES_REMOVED; i++) {
        r = stream_acknowledge(rq, c, &all->items[i], id, &count);
    }
    if (r == OK && a->references == ONLY_ACKNOWLEDGED) {
        r = is_referenced(c, all, id, &is_held, &rq->error);
    }
    *outcome = is_held ? STILL_REFERENCED : REMOVED;
    return r;
}

/* Those that are to go; of what was not there, the outcome says so. */
static enum err remove_entries(struct request *rq, struct collection *c)
{
    struct xdelex *a = rq->bound;
    struct stream_id *ids = arena_alloc(rq->arena, a->ids.count * sizeof *ids);
    bool *removed = arena_alloc(rq->arena, a->ids.count * sizeof *removed);
    size_t count = 0;
    for (size_t i = 0; i < a->ids.count; i++) {
        if (a->outcomes[i] == REMOVED) ids[count++] = a->ids.items[i];
    }
    enum err r = stream_remove(c, ids, count, removed, &rq->error);
    /* One that had gone already was acknowledged all the same. */
    for (size_t i = a->ids.count; i-- > 0 && r == OK && !a->acknowledges;) {
        if (a->outcomes[i] == REMOVED && !removed[--count]) a->outcomes[i] = NOT_THERE;
    }
    return r;
}

/* All that is done to groups comes first: a walk to the next first entry between writes to groups
 * would sort these again for each id. */
static enum err xdelex_change(struct request *rq, struct view *v, void *arg)
{
    struct xdelex *a = arg;
    struct collection c;
    struct groups all = {0};
    uint64_t before = 0;
    a->outcomes = arena_alloc(rq->arena, a->ids.count * sizeof *a->outcomes);
    for (size_t i = 0; i < a->ids.count; i++) a->outcomes[i] = NOT_THERE;
    enum err r = stream_open(rq, v, a->key, &c);
    if (r != OK || !c.exists) return r;
    before = c.head.count;
    r = read_groups(rq, &c, &all);
    for (size_t i = 0; i < a->ids.count && r == OK; i++) {
        r = take_references(rq, &c, &all, a->ids.items[i], &a->outcomes[i]);
    }
    bool is_kept = a->references != REFERENCES_REMOVED && !a->acknowledges;
    for (size_t i = 0; i < all.count && r == OK && !is_kept; i++) group_save(&c, &all.items[i]);
    if (r == OK) r = remove_entries(rq, &c);
    return r == OK && c.head.count < before ? elements_save_as(rq, &c, "xdel") : r;
}

static enum err xdelex_run(struct request *rq)
{
    struct xdelex *a = rq->bound;
    enum err r = elements_commit(rq, xdelex_change, a);
    if (r != OK) return r;
    resp_array(rq->w, a->ids.count);
    for (size_t i = 0; i < a->ids.count; i++) resp_int(rq->w, a->outcomes[i]);
    return OK;
}
STREAM_COMMAND(xdelex, CMD_WRITE | CMD_FAST, KEY_RW | KEY_DELETE,
               "Deletes entries from a stream and handles those that are pending: KEEPREF keeps "
               "them in their groups, DELREF removes them there too, ACKED deletes only entries "
               "that every group has received and acknowledged.",
               xdelex_arguments,
               "For each id, 1 if it was deleted, 2 if a group still needs it (ACKED), -1 if the "
               "entry does not exist.",
               xdelex_run);
STREAM_COMMAND(xackdel, CMD_WRITE | CMD_FAST, KEY_RW | KEY_DELETE,
               "Acknowledges entries that are pending in a group and deletes them from the "
               "stream. The options are those of XDELEX.",
               xackdel_arguments,
               "For each id, 1 if it was acknowledged and deleted, 2 if it was acknowledged and "
               "another group still needs it (ACKED), -1 if it is not pending in the group.",
               xdelex_run);
