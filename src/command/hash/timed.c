/* timed: HSETEX, HGETEX, HGETDEL: fields are set, read or deleted, and their times to live seen
 * to, in one transaction. */
#include "command/hash/hash_int.h"

enum field_how { TIME_NONE, TIME_EX, TIME_PX, TIME_EXAT, TIME_PXAT, TIME_KEEP, TIME_PERSIST };

/* The expiry that fields get; *ms stays as it is when they get none. */
static enum err time_of(struct request *rq, int how, int64_t n, int64_t *ms)
{
    bool has_time = how >= TIME_EX && how <= TIME_PXAT;
    int64_t unit_ms = how == TIME_EX || how == TIME_EXAT ? 1000 : 1;
    if (!has_time) return OK;
    if (n == 0) {
        return error_set(&rq->error, ERR_SYNTAX, "invalid expire time in '%s' command",
                         rq->command->name);
    }
    return hash_time(rq, n, unit_ms, how == TIME_EXAT || how == TIME_PXAT, ms);
}

#define TIMES_WORDS                                                                                \
    "EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds"
#define ARG_TIME(of, token)                                                                        \
    ARG_INTEGER_OR(of, time, token, INT64_MIN, INT64_MAX, 0, ARG_NOT_INTEGER)
#define ARG_TIMES(of)                                                                              \
    ARG_TIME(of, "EX"), ARG_TIME(of, "PX"), ARG_TIME(of, "EXAT"), ARG_TIME(of, "PXAT")

static void reply_values(struct request *rq, const struct slice *values, size_t count)
{
    resp_array(rq->w, count);
    for (size_t i = 0; i < count; i++) {
        if (values[i].data == NULL) {
            resp_nil(rq->w);
        } else {
            resp_bulk(rq->w, values[i]);
        }
    }
}

/* ---- HGETDEL, HGETEX ---- */

struct hgetex {
    struct slice key;
    int64_t time;
    int how;
    struct slices fields;
    /* results */
    int64_t time_ms;
    struct slice *values; /* data NULL = there is no such field */
};
ARGUMENTS_WITH(hgetdel_arguments, struct hgetex, "key " FIELDS_WORDS,
               WITH(.refusal = FIELDS_MISMATCH), ARG_KEY(struct hgetex, key, "key", 0), NUMFIELDS,
               ARG_WORDS(struct hgetex, fields, "field"));
ARGUMENTS_WITH(hgetex_arguments, struct hgetex, "key [" TIMES_WORDS " | PERSIST] " FIELDS_WORDS,
               WITH(.refusal = FIELDS_MISMATCH), ARG_KEY(struct hgetex, key, "key", 0),
               ARG_CHOICE(struct hgetex, how, {"EX", TIME_EX}, {"PX", TIME_PX}, {"EXAT", TIME_EXAT},
                          {"PXAT", TIME_PXAT}, {"PERSIST", TIME_PERSIST}),
               ARG_TIMES(struct hgetex), NUMFIELDS, ARG_WORDS(struct hgetex, fields, "field"));

static enum err read_field(struct request *rq, struct hgetex *a, struct collection *c, size_t i,
                           struct element *out)
{
    bool found = false;
    enum err r = collection_find(c, a->fields.items[i], &found, out, &rq->error);
    a->values[i] = slice_of(NULL, 0);
    if (r != OK || !found) return r;
    a->values[i] = out->value.len > 0 ? arena_copy(rq->arena, out->value) : slice_str("");
    return OK;
}

static enum err hgetdel_change(struct request *rq, struct view *v, void *arg)
{
    struct hgetex *a = arg;
    struct collection c;
    enum err r = hash_open(rq, v, a->key, &c);
    a->values = arena_alloc(rq->arena, a->fields.count * sizeof *a->values);
    for (size_t i = 0; i < a->fields.count && r == OK; i++) {
        struct element x;
        bool was_there = false;
        r = read_field(rq, a, &c, i, &x);
        if (r == OK) r = collection_remove(&c, a->fields.items[i], &was_there, NULL, &rq->error);
    }
    return r == OK ? collection_save(&c, &rq->error) : r;
}

static enum err hgetdel_run(struct request *rq)
{
    struct hgetex *a = rq->bound;
    enum err r = elements_commit(rq, hgetdel_change, a);
    if (r == OK) reply_values(rq, a->values, a->fields.count);
    return r;
}
HASH_COMMAND(hgetdel, CMD_WRITE | CMD_FAST, KEY_RW | KEY_ACCESS | KEY_DELETE,
             "Deletes fields of a hash and returns their values.", hgetdel_arguments,
             "The value of each field, or nil.", hgetdel_run);

static enum err hgetex_change(struct request *rq, struct view *v, void *arg)
{
    struct hgetex *a = arg;
    struct collection c;
    enum err r = hash_open(rq, v, a->key, &c);
    a->values = arena_alloc(rq->arena, a->fields.count * sizeof *a->values);
    for (size_t i = 0; i < a->fields.count && r == OK; i++) {
        struct element x = {.expiry_ms = 0};
        bool was_there = false;
        struct slice field = a->fields.items[i];
        r = read_field(rq, a, &c, i, &x);
        if (r != OK || a->how == TIME_NONE || a->values[i].data == NULL) continue;
        if (a->how == TIME_PERSIST && x.expiry_ms == 0) continue;
        struct element new = {.name = field, .value = a->values[i], .expiry_ms = a->time_ms};
        bool is_over = a->time_ms != 0 && a->time_ms <= v->now_ms;
        r = is_over ? collection_remove(&c, field, &was_there, NULL, &rq->error)
                    : collection_put(&c, &new, &was_there, NULL, &rq->error);
    }
    const char *as = a->how == TIME_PERSIST ? "hpersist" : "hexpire";
    return r == OK ? elements_save_as(rq, &c, as) : r;
}

static enum err hgetex_run(struct request *rq)
{
    struct hgetex *a = rq->bound;
    enum err r = time_of(rq, a->how, a->time, &a->time_ms);
    if (r == OK) r = elements_commit(rq, hgetex_change, a);
    if (r == OK) reply_values(rq, a->values, a->fields.count);
    return r;
}
HASH_COMMAND(hgetex, CMD_WRITE | CMD_FAST, KEY_RW | KEY_ACCESS | KEY_UPDATE,
             "Returns the values of fields of a hash and sets or removes their expiry.",
             hgetex_arguments, "The value of each field, or nil.", hgetex_run);

/* ---- HSETEX ---- */

struct hsetex {
    struct slice key;
    int only_if; /* 1: none of the fields is there; 2: all are */
    int64_t time;
    int how;
    struct {
        struct element *items;
        size_t count;
    } pairs;
    /* results */
    int64_t time_ms;
    bool is_done;
};
enum { IF_NONE_IS_THERE = 1, IF_ALL_ARE_THERE = 2 };
ARGUMENTS(field_value_arguments, struct element, "field value",
          ARG_WORD(struct element, name, "field"), ARG_WORD(struct element, value, "value"));
ARGUMENTS_WITH(hsetex_arguments, struct hsetex,
               "key [FNX | FXX] [" TIMES_WORDS " | KEEPTTL] FIELDS numfields pair [pair ...]",
               WITH(.refusal = FIELDS_MISMATCH), ARG_KEY(struct hsetex, key, "key", 0),
               ARG_CHOICE(struct hsetex, only_if, {"FNX", IF_NONE_IS_THERE},
                          {"FXX", IF_ALL_ARE_THERE}),
               ARG_CHOICE(struct hsetex, how, {"EX", TIME_EX}, {"PX", TIME_PX}, {"EXAT", TIME_EXAT},
                          {"PXAT", TIME_PXAT}, {"KEEPTTL", TIME_KEEP}),
               ARG_TIMES(struct hsetex), NUMFIELDS,
               ARG_LIST(struct hsetex, pairs, "pair", field_value_arguments, NULL));

/* Whether the condition holds for all of the fields. */
static enum err hsetex_holds(struct request *rq, struct hsetex *a, struct collection *c)
{
    enum err r = OK;
    a->is_done = true;
    for (size_t i = 0; i < a->pairs.count && r == OK && a->only_if != 0 && a->is_done; i++) {
        struct element x;
        bool found = false;
        r = collection_find(c, a->pairs.items[i].name, &found, &x, &rq->error);
        a->is_done = found == (a->only_if == IF_ALL_ARE_THERE);
    }
    return r;
}

static enum err hsetex_change(struct request *rq, struct view *v, void *arg)
{
    struct hsetex *a = arg;
    struct collection c;
    enum err r = hash_open(rq, v, a->key, &c);
    if (r == OK) r = hsetex_holds(rq, a, &c);
    if (r != OK || !a->is_done) return r;
    for (size_t i = 0; i < a->pairs.count && r == OK; i++) {
        struct element there = {.expiry_ms = 0};
        struct element new = a->pairs.items[i];
        bool found = false;
        if (a->how == TIME_KEEP) r = collection_find(&c, new.name, &found, &there, &rq->error);
        if (r != OK) break;
        new.expiry_ms = a->how == TIME_KEEP &&found ? there.expiry_ms : a->time_ms;
        bool is_over = new.expiry_ms != 0 && new.expiry_ms <= v->now_ms;
        r = is_over ? collection_remove(&c, new.name, &found, NULL, &rq->error)
                    : collection_put(&c, &new, &found, NULL, &rq->error);
    }
    return r == OK ? collection_save(&c, &rq->error) : r;
}

static enum err hsetex_run(struct request *rq)
{
    struct hsetex *a = rq->bound;
    enum err r = time_of(rq, a->how, a->time, &a->time_ms);
    if (r == OK) r = elements_commit(rq, hsetex_change, a);
    if (r == OK) resp_int(rq->w, a->is_done);
    return r;
}
HASH_COMMAND(hsetex, CMD_WRITE | CMD_FAST, KEY_RW | KEY_UPDATE,
             "Sets fields of a hash with an expiry; with FXX only if all of them exist, with FNX "
             "only if none does.",
             hsetex_arguments, "1, or 0 if the condition is not met.", hsetex_run);
