/* waiting: LMPOP, and the commands that wait for an element: BLPOP, BRPOP, BLMOVE, BRPOPLPUSH,
 * BLMPOP. */
#include "command/list/list_int.h"
#include "request/lines.h"
#include "request/view.h"

static void reply_key_name(struct request *rq, struct slice key)
{
    struct resp_mark mark = resp_bulk_begin(rq->w, key.len);
    view_name(rq->client, key, rq->w->out);
    resp_bulk_end(rq->w, mark);
}

/* ---- LMPOP, BLMPOP ---- */

struct lmpop {
    struct slices keys;
    enum list_end end;
    int64_t count, timeout_ms;
};
#define NUMKEYS                                                                                    \
    ARG_COUNT_ALWAYS("numkeys", 1, INT64_MAX, "numkeys should be greater than 0", "syntax error")
#define MPOP_WORDS                                                                                 \
    NUMKEYS, ARG_KEYS(struct lmpop, keys, "key", KEY_RW | KEY_ACCESS | KEY_DELETE),                \
        {ARG_ONE(struct lmpop, end, enum list_end, "where", arg_kind_list_end),                    \
         .missing = "syntax error"},                                                               \
        ARG_INTEGER_OR(struct lmpop, count, "COUNT", 1, INT64_MAX, 1,                              \
                       "count should be greater than 0")
ARGUMENTS(lmpop_arguments, struct lmpop, "numkeys key [key ...] where [COUNT count]", MPOP_WORDS);
ARGUMENTS(blmpop_arguments, struct lmpop, "timeout numkeys key [key ...] where [COUNT count]",
          ARG_SECONDS(struct lmpop, timeout_ms, "timeout"), MPOP_WORDS);

static enum err mpop_attempt(struct request *rq, const struct line_command *x, bool *is_done)
{
    struct list_pops p = {.keys = x->keys.items,
                          .key_count = x->keys.count,
                          .end = (enum list_end)x->how[0],
                          .count = x->count};
    enum err r = elements_commit(rq, list_pops_change, &p);
    *is_done = r == OK && p.key.data != NULL;
    if (!*is_done) return r;
    resp_array(rq->w, 2);
    reply_key_name(rq, p.key);
    resp_array(rq->w, p.popped);
    for (uint64_t i = 0; i < p.popped; i++) resp_bulk(rq->w, p.values[i]);
    return OK;
}

static struct line_command mpop_of(const struct lmpop *a)
{
    return (struct line_command){.attempt = mpop_attempt,
                                 .keys = a->keys,
                                 .kind = COLLECTION_LIST,
                                 .how = {a->end},
                                 .count = (uint64_t)a->count,
                                 .timeout_ms = a->timeout_ms};
}

static enum err lmpop_run(struct request *rq)
{
    struct line_command x = mpop_of(rq->bound);
    bool is_done = false;
    enum err r = mpop_attempt(rq, &x, &is_done);
    if (r == OK && !is_done) resp_nil_array(rq->w);
    return r;
}
LIST_COMMAND(lmpop, CMD_WRITE, KEY_RW | KEY_ACCESS | KEY_DELETE,
             "Removes and returns elements of the first list that is not empty.", lmpop_arguments,
             "`[key, [element ...]]`, or nil.", lmpop_run);

static enum err blmpop_run(struct request *rq)
{
    struct line_command x = mpop_of(rq->bound);
    return lines_run(rq, &x);
}
LIST_COMMAND(
    blmpop, CMD_WRITE | CMD_BLOCKING, KEY_RW | KEY_ACCESS | KEY_DELETE,
    "Removes and returns elements as LMPOP does. Waits for one, up to `timeout` seconds or "
    "without a limit (0), if all lists are empty.",
    blmpop_arguments, "`[key, [element ...]]`, or nil.", blmpop_run);

/* ---- BLPOP, BRPOP ---- */

struct blpop {
    struct slices keys;
    int64_t timeout_ms;
};
ARGUMENTS(blpop_arguments, struct blpop, "key [key ...] timeout",
          ARG_KEYS(struct blpop, keys, "key", KEY_RW | KEY_ACCESS | KEY_DELETE),
          ARG_SECONDS(struct blpop, timeout_ms, "timeout"));

static enum err pop_attempt(struct request *rq, const struct line_command *x, bool *is_done)
{
    struct list_pops p = {.keys = x->keys.items,
                          .key_count = x->keys.count,
                          .end = (enum list_end)x->how[0],
                          .count = 1};
    enum err r = elements_commit(rq, list_pops_change, &p);
    *is_done = r == OK && p.key.data != NULL;
    if (!*is_done) return r;
    resp_array(rq->w, 2);
    reply_key_name(rq, p.key);
    resp_bulk(rq->w, p.values[0]);
    return OK;
}

static enum err pop_or_wait(struct request *rq, enum list_end end)
{
    const struct blpop *a = rq->bound;
    struct line_command x = {.attempt = pop_attempt,
                             .keys = a->keys,
                             .kind = COLLECTION_LIST,
                             .how = {end},
                             .timeout_ms = a->timeout_ms};
    return lines_run(rq, &x);
}

static enum err blpop_run(struct request *rq)
{
    return pop_or_wait(rq, LIST_LEFT);
}
LIST_COMMAND(blpop, CMD_WRITE | CMD_BLOCKING, KEY_RW | KEY_ACCESS | KEY_DELETE,
             "Removes and returns the first element of the first list that is not empty. Waits "
             "for one, up to `timeout` seconds or without a limit (0), if all are empty.",
             blpop_arguments, "`[key, element]`, or nil.", blpop_run);

static enum err brpop_run(struct request *rq)
{
    return pop_or_wait(rq, LIST_RIGHT);
}
LIST_COMMAND(brpop, CMD_WRITE | CMD_BLOCKING, KEY_RW | KEY_ACCESS | KEY_DELETE,
             "Removes and returns the last element of the first list that is not empty; otherwise "
             "as BLPOP.",
             blpop_arguments, "`[key, element]`, or nil.", brpop_run);

/* ---- BLMOVE, BRPOPLPUSH ---- */

struct blmove {
    struct list_move move;
    int64_t timeout_ms;
};
#define MOVE_KEYS                                                                                  \
    ARG_KEY(struct blmove, move.from, "source", KEY_RW | KEY_ACCESS | KEY_DELETE),                 \
        ARG_KEY(struct blmove, move.to, "destination", KEY_RW | KEY_INSERT)
ARGUMENTS(blmove_arguments, struct blmove, "source destination wherefrom whereto timeout",
          MOVE_KEYS, ARG_LIST_END(struct blmove, move.take, "wherefrom"),
          ARG_LIST_END(struct blmove, move.put, "whereto"),
          ARG_SECONDS(struct blmove, timeout_ms, "timeout"));
ARGUMENTS(brpoplpush_arguments, struct blmove, "source destination timeout", MOVE_KEYS,
          ARG_SECONDS(struct blmove, timeout_ms, "timeout"),
          ARG_FIXED(struct blmove, move.take, LIST_RIGHT),
          ARG_FIXED(struct blmove, move.put, LIST_LEFT));

static enum err move_attempt(struct request *rq, const struct line_command *x, bool *is_done)
{
    struct list_move m = {.from = x->keys.items[0],
                          .to = x->to,
                          .take = (enum list_end)x->how[0],
                          .put = (enum list_end)x->how[1]};
    enum err r = elements_commit(rq, list_move_change, &m);
    *is_done = r == OK && m.moved.data != NULL;
    if (*is_done) resp_bulk(rq->w, m.moved);
    return r;
}

static enum err blmove_run(struct request *rq)
{
    const struct blmove *a = rq->bound;
    struct slice from = a->move.from;
    struct line_command x = {.attempt = move_attempt,
                             .keys = {.items = &from, .count = 1},
                             .kind = COLLECTION_LIST,
                             .to = a->move.to,
                             .how = {a->move.take, a->move.put},
                             .is_one = true,
                             .timeout_ms = a->timeout_ms};
    return lines_run(rq, &x);
}
LIST_COMMAND(blmove, CMD_WRITE | CMD_BLOCKING, 0,
             "Moves an element as LMOVE does. Waits for one, up to `timeout` seconds or without a "
             "limit (0), if the source is empty.",
             blmove_arguments, "The element, or nil.", blmove_run);
LIST_COMMAND(brpoplpush, CMD_WRITE | CMD_BLOCKING, 0,
             "Moves an element as RPOPLPUSH does and waits for one if the source is empty. BLMOVE "
             "replaces it.",
             brpoplpush_arguments, "The element, or nil.", blmove_run);
