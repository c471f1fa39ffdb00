/* number: HINCRBY, HINCRBYFLOAT: adding to a field that is a number. */
#include <math.h>

#include "codec/float_text.h"
#include "command/hash/hash_int.h"

struct hincr {
    struct slice key, field, by;
    int64_t integer;
    struct slice sum; /* the result */
};

/* As in Redis, a wrong increment is told before what is at the key. */
static enum err check_float(struct request *rq, void *bound)
{
    const struct hincr *a = bound;
    long double by = 0;
    if (!float_text_read_long(a->by, &by)) {
        return error_set(&rq->error, ERR_SYNTAX, "value is not a valid float");
    }
    if (isfinite(by)) return OK;
    return error_set(&rq->error, ERR_SYNTAX, "value is NaN or Infinity");
}
ARGUMENTS(hincrby_arguments, struct hincr, "key field increment",
          ARG_KEY(struct hincr, key, "key", 0), ARG_WORD(struct hincr, field, "field"),
          ARG_INTEGER_OR(struct hincr, integer, "increment", INT64_MIN, INT64_MAX, 0,
                         ARG_NOT_INTEGER));
ARGUMENTS_WITH(hincrbyfloat_arguments, struct hincr, "key field increment",
               WITH(.check = check_float), ARG_KEY(struct hincr, key, "key", 0),
               ARG_WORD(struct hincr, field, "field"), ARG_WORD(struct hincr, by, "increment"));

/* What a field becomes: from its value, data NULL when there is none. */
static enum err sum_integer(struct request *rq, struct hincr *a, struct slice old)
{
    int64_t n = 0;
    int64_t sum = 0;
    if (old.data != NULL && !slice_to_i64(old, &n)) {
        return error_set(&rq->error, ERR_SYNTAX, "hash value is not an integer");
    }
    if (__builtin_add_overflow(n, a->integer, &sum)) {
        return error_set(&rq->error, ERR_SYNTAX, "increment or decrement would overflow");
    }
    struct buf digits = {.data = arena_alloc(rq->arena, 32), .cap = 32};
    buf_append_i64(&digits, sum);
    a->sum = buf_slice(&digits);
    return OK;
}

static enum err sum_float(struct request *rq, struct hincr *a, struct slice old)
{
    long double n = 0;
    long double by = 0;
    INVARIANT(float_text_read_long(a->by, &by));
    if (old.data != NULL && !float_text_read_long(old, &n)) {
        return error_set(&rq->error, ERR_SYNTAX, "hash value is not a float");
    }
    if (!isfinite(n + by)) {
        return error_set(&rq->error, ERR_SYNTAX, "increment would produce NaN or Infinity");
    }
    a->sum = float_text_write_long(rq->arena, n + by);
    return OK;
}

static enum err change(struct request *rq, struct view *v, struct hincr *a,
                       enum err (*sum)(struct request *rq, struct hincr *a, struct slice old))
{
    struct collection c;
    struct element x = {.name = a->field};
    bool found = false;
    enum err r = collection_open(rq->env->db->collections, v, a->key, COLLECTION_HASH, &c,
                                 &rq->error);
    if (r == OK) r = collection_find(&c, a->field, &found, &x, &rq->error);
    if (r == OK) r = sum(rq, a, found ? x.value : slice_of(NULL, 0));
    if (r != OK) return r;
    struct element new = {.name = a->field, .value = a->sum, .expiry_ms = found ? x.expiry_ms : 0};
    r = collection_put(&c, &new, &found, NULL, &rq->error);
    return r == OK ? collection_save(&c, &rq->error) : r;
}

static enum err hincrby_change(struct request *rq, struct view *v, void *arg)
{
    return change(rq, v, arg, sum_integer);
}

static enum err hincrby_run(struct request *rq)
{
    struct hincr *a = rq->bound;
    int64_t sum = 0;
    enum err r = elements_commit(rq, hincrby_change, a);
    if (r != OK) return r;
    INVARIANT(slice_to_i64(a->sum, &sum));
    resp_int(rq->w, sum);
    return OK;
}
HASH_COMMAND(hincrby, CMD_WRITE | CMD_FAST, KEY_RW | KEY_ACCESS | KEY_UPDATE,
             "Increments the integer of a field. A missing field counts as 0.", hincrby_arguments,
             "The sum.", hincrby_run);

static enum err hincrbyfloat_change(struct request *rq, struct view *v, void *arg)
{
    return change(rq, v, arg, sum_float);
}

static enum err hincrbyfloat_run(struct request *rq)
{
    struct hincr *a = rq->bound;
    enum err r = elements_commit(rq, hincrbyfloat_change, a);
    if (r == OK) resp_bulk(rq->w, a->sum);
    return r;
}
HASH_COMMAND(hincrbyfloat, CMD_WRITE | CMD_FAST, KEY_RW | KEY_ACCESS | KEY_UPDATE,
             "Increments the number of a field, which may have a fraction. A missing field counts "
             "as 0.",
             hincrbyfloat_arguments, "The sum, as a string.", hincrbyfloat_run);
