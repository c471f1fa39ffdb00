/* waiting: ZMPOP, and the commands that wait for a member: BZPOPMIN, BZPOPMAX, BZMPOP. */
#include "command/zset/pop.h"
#include "request/lines.h"
#include "request/view.h"

static void reply_key_name(struct request *rq, struct slice key)
{
    struct resp_mark mark = resp_bulk_begin(rq->w, key.len);
    view_name(rq->client, key, rq->w->out);
    resp_bulk_end(rq->w, mark);
}

/* ---- ZMPOP, BZMPOP ---- */

struct zmpop {
    struct slices keys;
    int is_max;
    int64_t count, timeout_ms;
};
static enum err read_side(struct request *rq, const struct argument *a, struct slice word, void *to)
{
    int is_max = slice_is_word(word, "MAX");
    (void)a;
    if (!is_max && !slice_is_word(word, "MIN")) {
        return error_set(&rq->error, ERR_SYNTAX, "syntax error");
    }
    memcpy(to, &is_max, sizeof is_max);
    return OK;
}
static const struct argument_kind side_kind = {.read = read_side, .syntax = "<MIN | MAX>"};

#define MPOP_WORDS                                                                                 \
    ARG_COUNT_ALWAYS("numkeys", 1, INT64_MAX, "numkeys should be greater than 0", "syntax error"), \
        ARG_KEYS(struct zmpop, keys, "key", KEY_RW | KEY_ACCESS | KEY_DELETE),                     \
        {ARG_ONE(struct zmpop, is_max, int, "where", side_kind), .missing = "syntax error"},       \
        ARG_INTEGER_OR(struct zmpop, count, "COUNT", 1, INT64_MAX, 1,                              \
                       "count should be greater than 0")
ARGUMENTS(zmpop_arguments, struct zmpop, "numkeys key [key ...] where [COUNT count]", MPOP_WORDS);
ARGUMENTS(bzmpop_arguments, struct zmpop, "timeout numkeys key [key ...] where [COUNT count]",
          ARG_SECONDS(struct zmpop, timeout_ms, "timeout"), MPOP_WORDS);

static enum err mpop_attempt(struct request *rq, const struct line_command *x, bool *is_done)
{
    struct zset_pops p = {.keys = x->keys.items,
                          .key_count = x->keys.count,
                          .is_max = x->how[0] != 0,
                          .count = x->count};
    enum err r = elements_commit(rq, zset_pops_change, &p);
    *is_done = r == OK && p.key.data != NULL;
    if (!*is_done) return r;
    resp_array(rq->w, 2);
    reply_key_name(rq, p.key);
    resp_array(rq->w, p.popped);
    for (size_t i = 0; i < p.popped; i++) {
        resp_array(rq->w, 2);
        resp_bulk(rq->w, p.items[i].name);
        reply_score(rq->w, p.items[i].score);
    }
    return OK;
}

static struct line_command mpop_of(const struct zmpop *a)
{
    return (struct line_command){.attempt = mpop_attempt,
                                 .keys = a->keys,
                                 .kind = COLLECTION_ZSET,
                                 .how = {a->is_max != 0},
                                 .count = (uint64_t)a->count,
                                 .timeout_ms = a->timeout_ms};
}

static enum err zmpop_run(struct request *rq)
{
    struct line_command x = mpop_of(rq->bound);
    bool is_done = false;
    enum err r = mpop_attempt(rq, &x, &is_done);
    if (r == OK && !is_done) resp_nil_array(rq->w);
    return r;
}
ZSET_COMMAND(zmpop, CMD_WRITE, KEY_RW | KEY_ACCESS | KEY_DELETE,
             "Removes and returns members of the first sorted set that is not empty.",
             zmpop_arguments, "`[key, [[member, score] ...]]`, or nil.", zmpop_run);

static enum err bzmpop_run(struct request *rq)
{
    struct line_command x = mpop_of(rq->bound);
    return lines_run(rq, &x);
}
ZSET_COMMAND(bzmpop, CMD_WRITE | CMD_BLOCKING, KEY_RW | KEY_ACCESS | KEY_DELETE,
             "Removes and returns members as ZMPOP does. Waits for one, up to `timeout` seconds "
             "or without a limit (0), if all sorted sets are empty.",
             bzmpop_arguments, "`[key, [[member, score] ...]]`, or nil.", bzmpop_run);

/* ---- BZPOPMIN, BZPOPMAX ---- */

struct bzpop {
    struct slices keys;
    int64_t timeout_ms;
};
ARGUMENTS(bzpop_arguments, struct bzpop, "key [key ...] timeout",
          ARG_KEYS(struct bzpop, keys, "key", KEY_RW | KEY_ACCESS | KEY_DELETE),
          ARG_SECONDS(struct bzpop, timeout_ms, "timeout"));

static enum err pop_attempt(struct request *rq, const struct line_command *x, bool *is_done)
{
    struct zset_pops p = {
        .keys = x->keys.items, .key_count = x->keys.count, .is_max = x->how[0] != 0, .count = 1};
    enum err r = elements_commit(rq, zset_pops_change, &p);
    *is_done = r == OK && p.key.data != NULL;
    if (!*is_done) return r;
    resp_array(rq->w, 3);
    reply_key_name(rq, p.key);
    resp_bulk(rq->w, p.items[0].name);
    reply_score(rq->w, p.items[0].score);
    return OK;
}

static enum err pop_or_wait(struct request *rq, bool is_max)
{
    const struct bzpop *a = rq->bound;
    struct line_command x = {.attempt = pop_attempt,
                             .keys = a->keys,
                             .kind = COLLECTION_ZSET,
                             .how = {is_max},
                             .timeout_ms = a->timeout_ms};
    return lines_run(rq, &x);
}

static enum err bzpopmin_run(struct request *rq)
{
    return pop_or_wait(rq, false);
}
ZSET_COMMAND(bzpopmin, CMD_WRITE | CMD_FAST | CMD_BLOCKING, KEY_RW | KEY_ACCESS | KEY_DELETE,
             "Removes and returns the member with the lowest score of the first sorted set that "
             "is not empty. Waits for one, up to `timeout` seconds or without a limit (0), if all "
             "are empty.",
             bzpop_arguments, "`[key, member, score]`, or nil.", bzpopmin_run);

static enum err bzpopmax_run(struct request *rq)
{
    return pop_or_wait(rq, true);
}
ZSET_COMMAND(bzpopmax, CMD_WRITE | CMD_FAST | CMD_BLOCKING, KEY_RW | KEY_ACCESS | KEY_DELETE,
             "Removes and returns the member with the highest score; otherwise as BZPOPMIN.",
             bzpop_arguments, "`[key, member, score]`, or nil.", bzpopmax_run);
