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
    enum err r = stream_open(rq, v, a->key, &c);
    for (size_t i = 0; i < a->ids.count && r == OK && c.exists; i++) {
        bool removed = false;
        r = stream_remove(&c, a->ids.items[i], &removed, &rq->error);
        a->removed += removed;
    }
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
               "Removes entries from a stream, by their ids.", xdel_arguments,
               "How many of them were there.", xdel_run);

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
ARGUMENTS_WITH(xdelex_arguments, struct xdelex, "key " IDS_WORDS, WITH(.refusal = IDS_MISMATCH),
               ARG_KEY(struct xdelex, key, "key", 0), ARG_REFERENCES, ARG_IDS);
ARGUMENTS_WITH(xackdel_arguments, struct xdelex, "key group " IDS_WORDS,
               WITH(.refusal = IDS_MISMATCH), ARG_KEY(struct xdelex, key, "key", 0),
               ARG_WORD(struct xdelex, group, "group"), ARG_REFERENCES, ARG_IDS,
               ARG_FIXED(struct xdelex, acknowledges, 1));

/* All groups of a stream. */
struct groups {
    struct stream_group *items;
    size_t count;
};

/* Whether a group has it pending, or is still to be delivered it. */
static enum err is_referenced(struct collection *c, const struct groups *all, struct stream_id id,
                              bool *found, struct error *e)
{
    struct stream_pending p;
    enum err r = OK;
    *found = false;
    for (size_t i = 0; i < all->count && r == OK && !*found; i++) {
        struct stream_group *g = &all->items[i];
        *found = stream_id_order(g->last, id) < 0;
        if (!*found) r = pending_find(c, g, id, found, &p, e);
    }
    return r;
}

static enum err remove_references(struct request *rq, struct collection *c,
                                  const struct groups *all, struct stream_id id)
{
    enum err r = OK;
    for (size_t i = 0; i < all->count && r == OK; i++) {
        int64_t count = 0;
        r = stream_acknowledge(rq, c, &all->items[i], id, &count);
        if (r == OK && count > 0) group_save(c, &all->items[i]);
    }
    return r;
}

/* *c is changed but not saved; *removed: the entry was there and is gone. */
static enum err remove_one(struct request *rq, struct collection *c, const struct groups *all,
                           struct stream_id id, int *outcome)
{
    const struct xdelex *a = rq->bound;
    bool is_held = false;
    bool removed = false;
    enum err r = OK;
    if (a->references == ONLY_ACKNOWLEDGED) {
        struct slice fields;
        bool found = false;
        r = stream_find(c, id, &found, &fields, &rq->error);
        if (r == OK && found) r = is_referenced(c, all, id, &is_held, &rq->error);
    }
    if (r == OK && !is_held) r = stream_remove(c, id, &removed, &rq->error);
    if (r == OK && a->references == REFERENCES_REMOVED) r = remove_references(rq, c, all, id);
    *outcome = is_held ? STILL_REFERENCED : removed ? REMOVED : NOT_THERE;
    return r;
}

/* The group among all: what one command does to it is seen by the next id. NULL = there is none. */
static struct stream_group *named(const struct groups *all, struct slice name)
{
    for (size_t i = 0; i < all->count; i++) {
        if (slice_eq(all->items[i].name, name)) return &all->items[i];
    }
    return NULL;
}

static enum err xdelex_change(struct request *rq, struct view *v, void *arg)
{
    struct xdelex *a = arg;
    struct collection c;
    struct groups all = {0};
    uint64_t removed = 0;
    a->outcomes = arena_alloc(rq->arena, a->ids.count * sizeof *a->outcomes);
    for (size_t i = 0; i < a->ids.count; i++) a->outcomes[i] = NOT_THERE;
    enum err r = stream_open(rq, v, a->key, &c);
    if (r == OK && c.exists) r = groups_list(&c, &all.items, &all.count, &rq->error);
    struct stream_group *g = a->acknowledges ? named(&all, a->group) : NULL;
    if (r != OK || !c.exists || (a->acknowledges && g == NULL)) return r;
    for (size_t i = 0; i < a->ids.count && r == OK; i++) {
        struct stream_id id = a->ids.items[i];
        int64_t acknowledged = 0;
        if (g != NULL) r = stream_acknowledge(rq, &c, g, id, &acknowledged);
        if (r == OK && g != NULL && acknowledged == 0) continue;
        if (r == OK && acknowledged > 0) group_save(&c, g);
        uint64_t before = c.head.count;
        if (r == OK) r = remove_one(rq, &c, &all, id, &a->outcomes[i]);
        removed += before - c.head.count;
        /* One that is gone already was acknowledged all the same. */
        if (g != NULL && a->outcomes[i] == NOT_THERE) a->outcomes[i] = REMOVED;
    }
    return r == OK && removed > 0 ? elements_save_as(rq, &c, "xdel") : r;
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
               "Removes entries from a stream, and says what becomes of those that groups have "
               "pending: KEEPREF keeps them there, DELREF removes them there too, ACKED removes "
               "only what every group was delivered and has acknowledged.",
               xdelex_arguments,
               "For each id 1: it is removed; 2: ACKED, and a group still needs it; -1: there is "
               "no such entry.",
               xdelex_run);
STREAM_COMMAND(xackdel, CMD_WRITE | CMD_FAST, KEY_RW | KEY_DELETE,
               "Acknowledges entries that are pending in a group, and removes them from the "
               "stream; options as of XDELEX.",
               xackdel_arguments,
               "For each id 1: it is acknowledged and removed; 2: ACKED, acknowledged, and "
               "another group still needs it; -1: it is not pending in the group.",
               xdelex_run);
