/* string_hyperloglog: PFADD, PFCOUNT and PFMERGE: about how many different elements a value has
 * seen. The value is bytes (codec/hyperloglog.h), which all other commands of strings take too.
 *
 * PFCOUNT keeps its estimate in the value, as Redis does, and is a read all the same: where nothing
 * may be written now, it only answers.
 */
#include "codec/hyperloglog.h"

#include "collection/collection.h"
#include "command/string/string_int.h"
#include "request/keys.h"
#include "request/serving.h"
#include "request/table.h"

#define HYPERLOGLOG_COMMAND(...) TYPE_COMMAND("hyperloglog", __VA_ARGS__)

#define ELEMENTS_MAX COLLECTION_ROWS_MAX /* of one PFADD */
#define KEYS_MAX 1000                    /* some 10 us each */

static enum err damaged(struct request *rq)
{
    return error_set(&rq->error, ERR_INVALIDOBJ, "Corrupted HLL object detected");
}

static enum err too_many(struct request *rq, const char *what, unsigned max)
{
    return error_set(&rq->error, ERR_LIMIT, "more %s than one command may have (%u)", what, max);
}

/* `bytes` is empty when there is none. */
static enum err hyperloglog_read(struct request *rq, struct slice key, struct slice *bytes)
{
    bool exists = false;
    enum err r = string_read(rq, key, &exists, bytes);
    if (r != OK || !exists || hyperloglog_is(*bytes)) return r;
    return error_set(&rq->error, ERR_TYPE, "Key is not a valid HyperLogLog string value.");
}

/* A copy that can be changed. */
static enum err hyperloglog_change(struct request *rq, struct slice bytes, struct hyperloglog *h)
{
    uint8_t *room = arena_alloc(rq->arena, hyperloglog_room(bytes));
    return hyperloglog_begin(h, room, bytes) ? OK : damaged(rq);
}

static enum err hyperloglog_replace(struct request *rq, struct slice key,
                                    const struct hyperloglog *h)
{
    struct slice value = {0};
    enum err r = string_value(rq, slice_of(h->data, h->len), &value);
    return r == OK ? string_replace(rq, key, value) : r;
}

/* ---- PFADD ---- */

struct pfadd {
    struct slice key;
    struct slices elements;
};

static enum err check_pfadd(struct request *rq, void *bound)
{
    const struct pfadd *a = bound;
    return a->elements.count > ELEMENTS_MAX ? too_many(rq, "elements", ELEMENTS_MAX) : OK;
}
ARGUMENTS_WITH(pfadd_arguments, struct pfadd, "key [element ...]", WITH(.check = check_pfadd),
               ARG_KEY(struct pfadd, key, "key", 0), ARG_WORDS(struct pfadd, elements, "element"));

static enum err pfadd_run(struct request *rq)
{
    const struct pfadd *a = rq->bound;
    struct slice bytes = {0};
    struct hyperloglog h;
    enum err r = hyperloglog_read(rq, a->key, &bytes);
    if (r == OK) r = hyperloglog_change(rq, bytes, &h);
    if (r != OK) return r;
    bool is_changed = bytes.len == 0;
    if (!hyperloglog_add(&h, a->elements.items, a->elements.count, &is_changed)) return damaged(rq);
    if (is_changed) {
        hyperloglog_forget(&h);
        r = hyperloglog_replace(rq, a->key, &h);
    }
    if (r == OK) resp_int(rq->w, is_changed);
    return r;
}
HYPERLOGLOG_COMMAND(pfadd, CMD_WRITE | CMD_FAST, KEY_RW | KEY_INSERT,
                    "Adds elements to a HyperLogLog, which estimates how many distinct ones it "
                    "has seen.",
                    pfadd_arguments,
                    "1 if the estimate may have changed or the key is new, otherwise 0.",
                    pfadd_run);

/* ---- several of them ---- */

static enum err check_keys(struct request *rq, size_t count)
{
    return count > KEYS_MAX ? too_many(rq, "keys", KEYS_MAX) : OK;
}

/* All of them are read before one is looked into, since reading may have to wait. What is wrong is
 * found in the order of the keys all the same. */
static enum err merge(struct request *rq, const struct slices *keys,
                      uint8_t registers[HYPERLOGLOG_REGISTERS], bool *has_dense)
{
    struct slice *sources = arena_alloc(rq->arena, keys->count * sizeof *sources);
    size_t count = 0;
    enum err r = OK;
    for (size_t i = 0; i < keys->count && r == OK; i++) {
        r = hyperloglog_read(rq, keys->items[i], &sources[count]);
        if (r == OK && sources[count].len > 0) count++;
    }
    if (r == ERR_WAIT) return r;
    enum err may = request_take_steps(rq, (count + 1) * HYPERLOGLOG_REGISTERS);
    if (may != OK) return may;
    memset(registers, 0, HYPERLOGLOG_REGISTERS);
    for (size_t i = 0; i < count; i++) {
        if (!hyperloglog_merge(registers, sources[i])) return damaged(rq);
        *has_dense = *has_dense || hyperloglog_is_dense(sources[i]);
    }
    return r;
}

/* ---- PFCOUNT ---- */

struct pfcount {
    struct slices keys;
};

static enum err check_pfcount(struct request *rq, void *bound)
{
    const struct pfcount *a = bound;
    return check_keys(rq, a->keys.count);
}
ARGUMENTS_WITH(pfcount_arguments, struct pfcount, "key [key ...]", WITH(.check = check_pfcount),
               ARG_KEYS(struct pfcount, keys, "key", 0));

/* ERR_WAIT, or OK: an estimate that cannot be kept is as good. */
static enum err keep(struct request *rq, struct slice key, struct slice bytes, uint64_t estimate)
{
    struct hyperloglog h;
    if (!serving_may_write(rq->env)) return OK;
    enum err r = engine_admit(rq->env->db->engine, rq->waiter, &rq->error);
    if (r == OK) r = hyperloglog_change(rq, bytes, &h);
    if (r == OK) {
        hyperloglog_keep(&h, estimate);
        r = hyperloglog_replace(rq, key, &h);
    }
    if (r != OK && r != ERR_WAIT) rq->error = (struct error){0};
    return r == ERR_WAIT ? r : OK;
}

static enum err count_one(struct request *rq, struct slice key)
{
    uint8_t registers[HYPERLOGLOG_REGISTERS] = {0};
    struct slice bytes = {0};
    uint64_t estimate = 0;
    enum err r = hyperloglog_read(rq, key, &bytes);
    if (r != OK) return r;
    if (bytes.len > 0 && !hyperloglog_kept(bytes, &estimate)) {
        r = request_take_steps(rq, HYPERLOGLOG_REGISTERS);
        if (r != OK) return r;
        if (!hyperloglog_merge(registers, bytes)) return damaged(rq);
        estimate = hyperloglog_estimate(registers);
        r = keep(rq, key, bytes, estimate);
    }
    if (r == OK) resp_int(rq->w, (int64_t)estimate);
    return r;
}

static enum err pfcount_run(struct request *rq)
{
    const struct pfcount *a = rq->bound;
    uint8_t registers[HYPERLOGLOG_REGISTERS];
    bool has_dense = false;
    if (a->keys.count == 1) return count_one(rq, a->keys.items[0]);
    enum err r = merge(rq, &a->keys, registers, &has_dense);
    if (r == OK) resp_int(rq->w, (int64_t)hyperloglog_estimate(registers));
    return r;
}
HYPERLOGLOG_COMMAND(pfcount, CMD_READ | CMD_FOLLOWER, KEY_RW | KEY_ACCESS,
                    "Estimates how many distinct elements were added to HyperLogLogs.",
                    pfcount_arguments,
                    "The estimate, with a standard error of 0.81 %. For a single key it is cached "
                    "in the value.",
                    pfcount_run);

/* ---- PFMERGE ---- */

struct pfmerge {
    struct slice to;
    struct slices from;
};

static enum err check_pfmerge(struct request *rq, void *bound)
{
    const struct pfmerge *a = bound;
    return check_keys(rq, a->from.count);
}
ARGUMENTS_WITH(pfmerge_arguments, struct pfmerge, "destkey [sourcekey ...]",
               WITH(.check = check_pfmerge),
               ARG_KEY(struct pfmerge, to, "destkey", KEY_RW | KEY_ACCESS | KEY_INSERT),
               ARG_KEYS(struct pfmerge, from, "sourcekey", KEY_RO | KEY_ACCESS));

static enum err pfmerge_run(struct request *rq)
{
    const struct pfmerge *a = rq->bound;
    struct slices all = {.count = a->from.count + 1};
    uint8_t registers[HYPERLOGLOG_REGISTERS];
    struct slice bytes = {0};
    struct hyperloglog h;
    bool has_dense = false;
    all.items = arena_alloc(rq->arena, all.count * sizeof *all.items);
    all.items[0] = a->to;
    for (size_t i = 1; i < all.count; i++) all.items[i] = a->from.items[i - 1];
    enum err r = merge(rq, &all, registers, &has_dense);
    if (r == OK) r = hyperloglog_read(rq, a->to, &bytes);
    if (r == OK) r = hyperloglog_change(rq, bytes, &h);
    if (r != OK) return r;
    if (!hyperloglog_raise(&h, registers, has_dense)) return damaged(rq);
    hyperloglog_forget(&h);
    r = hyperloglog_replace(rq, a->to, &h);
    if (r == OK) resp_simple(rq->w, "OK");
    return r;
}
HYPERLOGLOG_COMMAND(pfmerge, CMD_WRITE, 0,
                    "Merges HyperLogLogs into one, which is created if it does not exist.",
                    pfmerge_arguments, NULL, pfmerge_run);
