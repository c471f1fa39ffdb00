/* ttl: times to live of single fields: HEXPIRE, HTTL, HPERSIST and their relatives. */
#include "command/hash/hash_int.h"

/* Answers about a field. */
enum field_answer {
    FIELD_ABSENT = -2,
    FIELD_HAS_NONE = -1,
    FIELD_UNMET = 0,
    FIELD_SET = 1,
    FIELD_DELETED = 2
};

enum err hash_time(struct request *rq, int64_t n, int64_t unit_ms, bool is_at, int64_t *ms)
{
    if (n < 0) return error_set(&rq->error, ERR_SYNTAX, "invalid expire time, must be >= 0");
    bool fits = !__builtin_mul_overflow(n, unit_ms, ms) && *ms < INT64_MAX / 2;
    if (!fits) {
        return error_set(&rq->error, ERR_SYNTAX, "invalid expire time in '%s' command",
                         rq->command->name);
    }
    if (!is_at) *ms += engine_time_ms(rq->env->db->engine);
    return OK;
}

/* ---- HEXPIRE, HPEXPIRE, HEXPIREAT, HPEXPIREAT ---- */

struct hexpire {
    struct slice key;
    int64_t time;
    int condition; /* enum op_condition */
    struct slices fields;
    int64_t unit_ms;
    bool is_at;
    /* results */
    int64_t time_ms;
    int64_t *answers;
};

#define HEXPIRE_ARGUMENTS(id, label, unit, at)                                                     \
    ARGUMENTS_WITH(                                                                                \
        id, struct hexpire,                                                                        \
        "key " label " [NX | XX | GT | LT] FIELDS numfields field [field ...]",                    \
        WITH(.refusal = FIELDS_MISMATCH), ARG_KEY(struct hexpire, key, "key", 0),                  \
        ARG_INTEGER_OR(struct hexpire, time, label, INT64_MIN, INT64_MAX, 0, ARG_NOT_INTEGER),     \
        ARG_CHOICE(struct hexpire, condition, {"NX", IF_NO_EXPIRY}, {"XX", IF_EXPIRY},             \
                   {"GT", IF_LATER}, {"LT", IF_EARLIER}),                                          \
        NUMFIELDS, ARG_WORDS(struct hexpire, fields, "field"),                                     \
        ARG_FIXED(struct hexpire, unit_ms, unit), ARG_FIXED(struct hexpire, is_at, at))
HEXPIRE_ARGUMENTS(hexpire_arguments, "seconds", 1000, 0);
HEXPIRE_ARGUMENTS(hpexpire_arguments, "milliseconds", 1, 0);
HEXPIRE_ARGUMENTS(hexpireat_arguments, "unix-time-seconds", 1000, 1);
HEXPIRE_ARGUMENTS(hpexpireat_arguments, "unix-time-milliseconds", 1, 1);

static bool condition_holds(int condition, int64_t old_ms, int64_t new_ms)
{
    switch (condition) {
    case IF_NO_EXPIRY: return old_ms == 0;
    case IF_EXPIRY: return old_ms != 0;
    case IF_LATER: return old_ms != 0 && new_ms > old_ms;
    case IF_EARLIER: return old_ms == 0 || new_ms < old_ms;
    default: return true;
    }
}

static enum err expire_field(struct request *rq, const struct hexpire *a, struct collection *c,
                             struct slice field, int64_t *answer)
{
    struct element x = {.expiry_ms = 0};
    bool found = false;
    enum err r = collection_find(c, field, &found, &x, &rq->error);
    *answer = FIELD_ABSENT;
    if (r != OK || !found) return r;
    *answer = FIELD_UNMET;
    if (!condition_holds(a->condition, x.expiry_ms, a->time_ms)) return OK;
    if (a->time_ms <= c->view->now_ms) {
        *answer = FIELD_DELETED;
        return collection_remove(c, field, &found, NULL, &rq->error);
    }
    *answer = FIELD_SET;
    struct element new = {.name = field, .value = x.value, .expiry_ms = a->time_ms};
    return collection_put(c, &new, &found, NULL, &rq->error);
}

static enum err hexpire_change(struct request *rq, struct view *v, void *arg)
{
    struct hexpire *a = arg;
    struct collection c;
    bool has_deleted = false;
    enum err r = hash_open(rq, v, a->key, &c);
    a->answers = arena_alloc(rq->arena, a->fields.count * sizeof *a->answers);
    for (size_t i = 0; i < a->fields.count && r == OK; i++) {
        r = expire_field(rq, a, &c, a->fields.items[i], &a->answers[i]);
        has_deleted = has_deleted || (r == OK && a->answers[i] == FIELD_DELETED);
    }
    return r == OK ? elements_save_as(rq, &c, has_deleted ? "hdel" : "hexpire") : r;
}

static void reply_answers(struct request *rq, const int64_t *answers, size_t count)
{
    resp_array(rq->w, count);
    for (size_t i = 0; i < count; i++) resp_int(rq->w, answers[i]);
}

static enum err hexpire_run(struct request *rq)
{
    struct hexpire *a = rq->bound;
    enum err r = hash_time(rq, a->time, a->unit_ms, a->is_at, &a->time_ms);
    if (r == OK) r = elements_commit(rq, hexpire_change, a);
    if (r == OK) reply_answers(rq, a->answers, a->fields.count);
    return r;
}
#define HEXPIRE_COMMAND(id, text)                                                                  \
    HASH_COMMAND(                                                                                  \
        id, CMD_WRITE | CMD_FAST, KEY_RW | KEY_UPDATE, text, id##_arguments,                       \
        "For each field, 1, 0 if the condition is not met, 2 if the time is in the past and the "  \
        "field was deleted, -2 if the field does not exist.",                                      \
        hexpire_run)
HEXPIRE_COMMAND(hexpire, "Sets the expiry of fields in seconds from now.");
HEXPIRE_COMMAND(hpexpire, "Sets the expiry of fields in milliseconds from now.");
HEXPIRE_COMMAND(hexpireat, "Sets the expiry of fields to a Unix time in seconds.");
HEXPIRE_COMMAND(hpexpireat, "Sets the expiry of fields to a Unix time in milliseconds.");

/* ---- HTTL, HPTTL, HEXPIRETIME, HPEXPIRETIME ---- */

struct httl {
    struct slice key;
    struct slices fields;
    int64_t unit_ms;
    bool is_at;
};
#define HTTL_ARGUMENTS(id, unit, at)                                                               \
    ARGUMENTS_WITH(id, struct httl, "key " FIELDS_WORDS, WITH(.refusal = FIELDS_MISMATCH),         \
                   ARG_KEY(struct httl, key, "key", 0), NUMFIELDS,                                 \
                   ARG_WORDS(struct httl, fields, "field"), ARG_FIXED(struct httl, unit_ms, unit), \
                   ARG_FIXED(struct httl, is_at, at))
HTTL_ARGUMENTS(httl_arguments, 1000, 0);
HTTL_ARGUMENTS(hpttl_arguments, 1, 0);
HTTL_ARGUMENTS(hexpiretime_arguments, 1000, 1);
HTTL_ARGUMENTS(hpexpiretime_arguments, 1, 1);

/* Of a time in ms what is told: seconds are rounded up, those that are left and those of a Unix
 * time, as in Redis (whose TTL and EXPIRETIME round to the nearest). */
static int64_t told_time(const struct httl *a, int64_t expiry_ms, int64_t now_ms)
{
    int64_t told_ms = a->is_at ? expiry_ms : expiry_ms - now_ms;
    return (told_ms + a->unit_ms - 1) / a->unit_ms;
}

static enum err httl_run(struct request *rq)
{
    const struct httl *a = rq->bound;
    struct collection c;
    struct view *v = elements_view(rq);
    enum err r = elements_open(rq, v, a->key, COLLECTION_HASH, &c);
    resp_array(rq->w, a->fields.count);
    for (size_t i = 0; i < a->fields.count && r == OK; i++) {
        struct element x = {.expiry_ms = 0};
        bool found = false;
        r = collection_find(&c, a->fields.items[i], &found, &x, &rq->error);
        if (r != OK) break;
        int64_t answer = !found ? FIELD_ABSENT : x.expiry_ms == 0 ? FIELD_HAS_NONE : 0;
        if (answer == 0) answer = told_time(a, x.expiry_ms, v->now_ms);
        resp_int(rq->w, answer);
    }
    elements_read(rq, v);
    return r;
}
#define HTTL_COMMAND(id, text)                                                                     \
    HASH_COMMAND(                                                                                  \
        id, CMD_READ | CMD_FAST | CMD_FOLLOWER, KEY_RO | KEY_ACCESS, text, id##_arguments,         \
        "For each field, the time, -1 if it has no expiry, -2 if it does not exist.", httl_run)
HTTL_COMMAND(httl, "Returns the time to live of fields in seconds.");
HTTL_COMMAND(hpttl, "Returns the time to live of fields in milliseconds.");
HTTL_COMMAND(hexpiretime, "Returns the expiry of fields as a Unix time in seconds.");
HTTL_COMMAND(hpexpiretime, "Returns the expiry of fields as a Unix time in milliseconds.");

/* ---- HPERSIST ---- */

struct hpersist {
    struct slice key;
    struct slices fields;
    int64_t *answers;
};
ARGUMENTS_WITH(hpersist_arguments, struct hpersist, "key " FIELDS_WORDS,
               WITH(.refusal = FIELDS_MISMATCH), ARG_KEY(struct hpersist, key, "key", 0), NUMFIELDS,
               ARG_WORDS(struct hpersist, fields, "field"));

static enum err hpersist_change(struct request *rq, struct view *v, void *arg)
{
    struct hpersist *a = arg;
    struct collection c;
    enum err r = hash_open(rq, v, a->key, &c);
    a->answers = arena_alloc(rq->arena, a->fields.count * sizeof *a->answers);
    for (size_t i = 0; i < a->fields.count && r == OK; i++) {
        struct element x = {.expiry_ms = 0};
        bool found = false;
        r = collection_find(&c, a->fields.items[i], &found, &x, &rq->error);
        a->answers[i] = !found ? FIELD_ABSENT : x.expiry_ms == 0 ? FIELD_HAS_NONE : FIELD_SET;
        if (r != OK || a->answers[i] != FIELD_SET) continue;
        struct element new = {.name = a->fields.items[i], .value = x.value};
        r = collection_put(&c, &new, &found, NULL, &rq->error);
    }
    return r == OK ? collection_save(&c, &rq->error) : r;
}

static enum err hpersist_run(struct request *rq)
{
    struct hpersist *a = rq->bound;
    enum err r = elements_commit(rq, hpersist_change, a);
    if (r == OK) reply_answers(rq, a->answers, a->fields.count);
    return r;
}
HASH_COMMAND(hpersist, CMD_WRITE | CMD_FAST, KEY_RW | KEY_UPDATE, "Removes the expiry of fields.",
             hpersist_arguments,
             "For each field, 1, -1 if it has no expiry, -2 if it does not exist.", hpersist_run);
