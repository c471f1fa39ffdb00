/* list: the commands on the ends of a list: pushing, popping, moving. */
#include "command/list/list_int.h"

enum err list_open(struct request *rq, struct view *v, struct slice key, struct collection *c)
{
    return collection_open(rq->env->db->collections, v, key, COLLECTION_LIST, c, &rq->error);
}

/* ---- LPUSH, RPUSH, LPUSHX, RPUSHX ---- */

struct push {
    struct slice key;
    struct slices values;
    enum list_end end;
    bool if_exists;
    uint64_t length; /* the result */
};
#define PUSH_ARGUMENTS(id, side, only_if)                                                          \
    ARGUMENTS(id, struct push, "key element [element ...]", ARG_KEY(struct push, key, "key", 0),   \
              ARG_WORDS(struct push, values, "element"), ARG_FIXED(struct push, end, side),        \
              ARG_FIXED(struct push, if_exists, only_if))
PUSH_ARGUMENTS(lpush_arguments, LIST_LEFT, 0);
PUSH_ARGUMENTS(rpush_arguments, LIST_RIGHT, 0);
PUSH_ARGUMENTS(lpushx_arguments, LIST_LEFT, 1);
PUSH_ARGUMENTS(rpushx_arguments, LIST_RIGHT, 1);

static enum err push_change(struct request *rq, struct view *v, void *arg)
{
    struct push *a = arg;
    struct collection c;
    enum err r = list_open(rq, v, a->key, &c);
    if (r == OK && a->if_exists && !c.exists) {
        a->length = 0;
        return OK;
    }
    for (size_t i = 0; i < a->values.count && r == OK; i++) {
        r = list_push(&c, a->end == LIST_LEFT, a->values.items[i], &rq->error);
    }
    a->length = c.head.count;
    return r == OK ? collection_save(&c, &rq->error) : r;
}

static enum err push_run(struct request *rq)
{
    struct push *a = rq->bound;
    enum err r = elements_commit(rq, push_change, a);
    if (r == OK) resp_int(rq->w, (int64_t)a->length);
    return r;
}
LIST_COMMAND(lpush, CMD_WRITE | CMD_FAST, KEY_RW | KEY_INSERT,
             "Prepends elements to a list, which is created if it does not exist.", lpush_arguments,
             "The length of the list.", push_run);
LIST_COMMAND(rpush, CMD_WRITE | CMD_FAST, KEY_RW | KEY_INSERT,
             "Appends elements to a list, which is created if it does not exist.", rpush_arguments,
             "The length of the list.", push_run);
LIST_COMMAND(lpushx, CMD_WRITE | CMD_FAST, KEY_RW | KEY_INSERT,
             "Prepends elements to a list only if the list exists.", lpushx_arguments,
             "The length of the list, 0 if it does not exist.", push_run);
LIST_COMMAND(rpushx, CMD_WRITE | CMD_FAST, KEY_RW | KEY_INSERT,
             "Appends elements to a list only if the list exists.", rpushx_arguments,
             "The length of the list, 0 if it does not exist.", push_run);

/* ---- LPOP, RPOP, LMPOP ---- */

enum err list_pops_change(struct request *rq, struct view *v, void *arg)
{
    struct list_pops *a = arg;
    enum err r = OK;
    a->key = slice_of(NULL, 0);
    a->popped = 0;
    for (size_t i = 0; i < a->key_count && r == OK; i++) {
        struct collection c;
        r = list_open(rq, v, a->keys[i], &c);
        if (r != OK) return r;
        if (!c.exists) continue;
        a->key = a->keys[i];
        uint64_t count = a->count < c.head.count ? a->count : c.head.count;
        r = list_pop(&c, a->end == LIST_LEFT, count, &a->values, &rq->error);
        a->popped = count;
        return r == OK ? elements_save_as(rq, &c, a->end == LIST_LEFT ? "lpop" : "rpop") : r;
    }
    return r;
}

struct pop {
    struct slice key;
    int64_t count; /* -1 = not given */
};
#define POP_ARGUMENTS(id, word)                                                                    \
    ARGUMENTS_WITH(id, struct pop, "key [count]",                                                  \
                   WITH(.refusal = "wrong number of arguments for '" word "' command"),            \
                   ARG_KEY(struct pop, key, "key", 0),                                             \
                   ARG_INTEGER_OR(struct pop, count, "count", 0, INT64_MAX, -1,                    \
                                  "value is out of range, must be positive"))
POP_ARGUMENTS(lpop_arguments, "lpop");
POP_ARGUMENTS(rpop_arguments, "rpop");

static enum err pop(struct request *rq, enum list_end end)
{
    const struct pop *a = rq->bound;
    bool is_one = a->count < 0;
    struct list_pops p = {
        .keys = &a->key, .key_count = 1, .end = end, .count = is_one ? 1 : (uint64_t)a->count};
    enum err r = elements_commit(rq, list_pops_change, &p);
    if (r != OK) return r;
    if (p.key.data == NULL) {
        if (is_one) {
            resp_nil(rq->w);
        } else {
            resp_nil_array(rq->w);
        }
        return OK;
    }
    if (!is_one) resp_array(rq->w, p.popped);
    for (uint64_t i = 0; i < p.popped; i++) resp_bulk(rq->w, p.values[i]);
    return OK;
}

static enum err lpop_run(struct request *rq)
{
    return pop(rq, LIST_LEFT);
}
LIST_COMMAND(lpop, CMD_WRITE | CMD_FAST, KEY_RW | KEY_ACCESS | KEY_DELETE,
             "Removes and returns the first elements of a list.", lpop_arguments,
             "The element, or nil. With `count`, an array of at most that many elements.",
             lpop_run);

static enum err rpop_run(struct request *rq)
{
    return pop(rq, LIST_RIGHT);
}
LIST_COMMAND(rpop, CMD_WRITE | CMD_FAST, KEY_RW | KEY_ACCESS | KEY_DELETE,
             "Removes and returns the last elements of a list.", rpop_arguments,
             "The element, or nil. With `count`, an array of at most that many elements.",
             rpop_run);

/* ---- LMOVE, RPOPLPUSH ---- */

enum err list_move_change(struct request *rq, struct view *v, void *arg)
{
    struct list_move *a = arg;
    struct collection from;
    struct collection other;
    struct collection *to = &from;
    struct slice *moved = NULL;
    a->moved = slice_of(NULL, 0);
    enum err r = list_open(rq, v, a->from, &from);
    if (r != OK || !from.exists) return r;
    if (!slice_eq(a->from, a->to)) {
        to = &other;
        r = list_open(rq, v, a->to, to);
    }
    if (r == OK) r = list_pop(&from, a->take == LIST_LEFT, 1, &moved, &rq->error);
    if (r == OK) a->moved = moved[0];
    if (r == OK) r = list_push(to, a->put == LIST_LEFT, a->moved, &rq->error);
    if (r == OK) r = elements_save_as(rq, &from, a->take == LIST_LEFT ? "lpop" : "rpop");
    return r == OK ? elements_save_as(rq, to, a->put == LIST_LEFT ? "lpush" : "rpush") : r;
}

static enum err read_end(struct request *rq, const struct argument *a, struct slice word, void *to)
{
    enum list_end end = LIST_LEFT;
    (void)a;
    if (slice_is_word(word, "RIGHT")) {
        end = LIST_RIGHT;
    } else if (!slice_is_word(word, "LEFT")) {
        return error_set(&rq->error, ERR_SYNTAX, "syntax error");
    }
    memcpy(to, &end, sizeof end);
    return OK;
}
const struct argument_kind arg_kind_list_end = {.read = read_end, .syntax = "<LEFT | RIGHT>"};

#define MOVE_KEYS                                                                                  \
    ARG_KEY(struct list_move, from, "source", KEY_RW | KEY_ACCESS | KEY_DELETE),                   \
        ARG_KEY(struct list_move, to, "destination", KEY_RW | KEY_INSERT)
ARGUMENTS(lmove_arguments, struct list_move, "source destination wherefrom whereto", MOVE_KEYS,
          ARG_LIST_END(struct list_move, take, "wherefrom"),
          ARG_LIST_END(struct list_move, put, "whereto"));
ARGUMENTS(rpoplpush_arguments, struct list_move, "source destination", MOVE_KEYS,
          ARG_FIXED(struct list_move, take, LIST_RIGHT),
          ARG_FIXED(struct list_move, put, LIST_LEFT));

static enum err lmove_run(struct request *rq)
{
    struct list_move *a = rq->bound;
    enum err r = elements_commit(rq, list_move_change, a);
    if (r != OK) return r;
    if (a->moved.data == NULL) {
        resp_nil(rq->w);
    } else {
        resp_bulk(rq->w, a->moved);
    }
    return OK;
}
LIST_COMMAND(lmove, CMD_WRITE, 0,
             "Moves an element from one end of a list to an end of another list, or of the same "
             "one.",
             lmove_arguments, "The element, or nil if the source is empty.", lmove_run);
LIST_COMMAND(rpoplpush, CMD_WRITE, 0,
             "Moves the last element of a list to the head of another. LMOVE replaces it.",
             rpoplpush_arguments, "The element, or nil if the source is empty.", lmove_run);
