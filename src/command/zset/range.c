/* range: the commands on parts of a sorted set: by rank, by score, by member. */
#include "codec/float_text.h"
#include "command/zset/zset_int.h"
#include "request/elements_scan.h"

/* ---- the words ---- */

struct zrange {
    struct slice to; /* of ZRANGESTORE */
    struct slice key, start, stop;
    int by; /* enum sorted_by */
    bool is_reverse, with_scores;
    struct {
        int64_t offset, count;
        bool is_given;
    } limit;
    struct sorted_range range; /* what is made of them */
};

static enum err read_bound(struct request *rq, struct slice word, double *score, bool *is_open)
{
    *is_open = word.len > 0 && word.data[0] == '(';
    if (*is_open) word = slice_of(word.data + 1, word.len - 1);
    *score = 0; /* of no digits, as in Redis */
    if (word.len == 0 || float_text_read_bound(word, score)) return OK;
    return error_set(&rq->error, ERR_SYNTAX, "min or max is not a float");
}

static enum err read_lex(struct request *rq, struct slice word, struct lex_bound *out)
{
    *out = (struct lex_bound){0};
    uint8_t first = word.len > 0 ? word.data[0] : 0;
    if (word.len == 1 && (first == '-' || first == '+')) {
        out->infinite = first == '-' ? -1 : 1;
        return OK;
    }
    if (first == '[' || first == '(') {
        out->is_open = first == '(';
        out->member = slice_of(word.data + 1, word.len - 1);
        return OK;
    }
    return error_set(&rq->error, ERR_SYNTAX, "min or max not valid string range item");
}

/* From a range's two words, of which the first is the lower bound. */
static enum err read_range(struct request *rq, struct sorted_range *s, struct slice low,
                           struct slice high)
{
    enum err r = OK;
    switch (s->by) {
    case BY_RANK:
        if (slice_to_i64(low, &s->start) && slice_to_i64(high, &s->stop)) return OK;
        return error_set(&rq->error, ERR_SYNTAX, ARG_NOT_INTEGER);
    case BY_SCORE:
        r = read_bound(rq, low, &s->min, &s->min_is_open);
        return r == OK ? read_bound(rq, high, &s->max, &s->max_is_open) : r;
    case BY_LEX:
        r = read_lex(rq, low, &s->first);
        return r == OK ? read_lex(rq, high, &s->last) : r;
    }
    return r;
}

static enum err check_zrange(struct request *rq, void *bound)
{
    struct zrange *a = bound;
    struct sorted_range *s = &a->range;
    if (a->limit.is_given && a->by == BY_RANK) {
        return error_set(&rq->error, ERR_SYNTAX,
                         "syntax error, LIMIT is only supported in combination with either "
                         "BYSCORE or BYLEX");
    }
    if (a->with_scores && a->by == BY_LEX) {
        return error_set(&rq->error, ERR_SYNTAX,
                         "syntax error, WITHSCORES not supported in combination with BYLEX");
    }
    *s = (struct sorted_range){.by = (enum sorted_by)a->by,
                               .is_reverse = a->is_reverse,
                               .offset = a->limit.is_given ? a->limit.offset : 0,
                               .limit = a->limit.is_given ? a->limit.count : -1};
    bool is_swapped = a->is_reverse && a->by != BY_RANK;
    return read_range(rq, s, is_swapped ? a->stop : a->start, is_swapped ? a->start : a->stop);
}

#define LIMIT_STRUCT __typeof__(((struct zrange *)0)->limit)
ARGUMENTS(limit_words, LIMIT_STRUCT, "offset count",
          ARG_INTEGER_OR(LIMIT_STRUCT, offset, "offset", INT64_MIN, INT64_MAX, 0, ARG_NOT_INTEGER),
          ARG_INTEGER_OR(LIMIT_STRUCT, count, "count", INT64_MIN, INT64_MAX, -1, ARG_NOT_INTEGER),
          ARG_FIXED(LIMIT_STRUCT, is_given, 1));

#define ARG_START ARG_WORD(struct zrange, start, "start")
#define ARG_STOP ARG_WORD(struct zrange, stop, "stop")
#define ARG_MIN ARG_WORD(struct zrange, start, "min")
#define ARG_MAX ARG_WORD(struct zrange, stop, "max")
#define ARG_RANGE_KEY ARG_KEY(struct zrange, key, "key", 0)
#define ARG_WITHSCORES ARG_FLAG(struct zrange, with_scores, "WITHSCORES")
#define ARG_LIMIT ARG_INSIDE(struct zrange, limit, "LIMIT", limit_words)
#define ARG_BY ARG_CHOICE(struct zrange, by, {"BYSCORE", BY_SCORE}, {"BYLEX", BY_LEX})
#define RANGE_ARGUMENTS(id, text, ...)                                                             \
    ARGUMENTS_WITH(id, struct zrange, text, WITH(.check = check_zrange), __VA_ARGS__)

RANGE_ARGUMENTS(zrange_arguments,
                "key start stop [BYSCORE | BYLEX] [REV] [LIMIT limit] [WITHSCORES]", ARG_RANGE_KEY,
                ARG_START, ARG_STOP, ARG_BY, ARG_FLAG(struct zrange, is_reverse, "REV"), ARG_LIMIT,
                ARG_WITHSCORES);
RANGE_ARGUMENTS(zrangestore_arguments, "dst src min max [BYSCORE | BYLEX] [REV] [LIMIT limit]",
                ARG_KEY(struct zrange, to, "dst", KEY_OW | KEY_UPDATE),
                ARG_KEY(struct zrange, key, "src", KEY_RO | KEY_ACCESS), ARG_MIN, ARG_MAX, ARG_BY,
                ARG_FLAG(struct zrange, is_reverse, "REV"), ARG_LIMIT);
RANGE_ARGUMENTS(zrevrange_arguments, "key start stop [WITHSCORES]", ARG_RANGE_KEY, ARG_START,
                ARG_STOP, ARG_WITHSCORES, ARG_FIXED(struct zrange, is_reverse, 1));
RANGE_ARGUMENTS(zrangebyscore_arguments, "key min max [WITHSCORES] [LIMIT limit]", ARG_RANGE_KEY,
                ARG_MIN, ARG_MAX, ARG_WITHSCORES, ARG_LIMIT,
                ARG_FIXED(struct zrange, by, BY_SCORE));
RANGE_ARGUMENTS(zrevrangebyscore_arguments, "key max min [WITHSCORES] [LIMIT limit]", ARG_RANGE_KEY,
                ARG_WORD(struct zrange, start, "max"), ARG_WORD(struct zrange, stop, "min"),
                ARG_WITHSCORES, ARG_LIMIT, ARG_FIXED(struct zrange, by, BY_SCORE),
                ARG_FIXED(struct zrange, is_reverse, 1));
RANGE_ARGUMENTS(zrangebylex_arguments, "key min max [LIMIT limit]", ARG_RANGE_KEY, ARG_MIN, ARG_MAX,
                ARG_LIMIT, ARG_FIXED(struct zrange, by, BY_LEX));
RANGE_ARGUMENTS(zrevrangebylex_arguments, "key max min [LIMIT limit]", ARG_RANGE_KEY,
                ARG_WORD(struct zrange, start, "max"), ARG_WORD(struct zrange, stop, "min"),
                ARG_LIMIT, ARG_FIXED(struct zrange, by, BY_LEX),
                ARG_FIXED(struct zrange, is_reverse, 1));
RANGE_ARGUMENTS(zrank_range_arguments, "key start stop", ARG_RANGE_KEY, ARG_START, ARG_STOP);
RANGE_ARGUMENTS(zscore_range_arguments, "key min max", ARG_RANGE_KEY, ARG_MIN, ARG_MAX,
                ARG_FIXED(struct zrange, by, BY_SCORE));
RANGE_ARGUMENTS(zlex_range_arguments, "key min max", ARG_RANGE_KEY, ARG_MIN, ARG_MAX,
                ARG_FIXED(struct zrange, by, BY_LEX));

/* ---- reading ---- */

static enum err range_walk(struct request *rq, struct collection *c, struct walk_range *range)
{
    const struct zrange *a = rq->bound;
    return sorted_walk(c, &a->range, range, &rq->error);
}

static void tell_member(struct resp_writer *w, const struct element *x, size_t *count)
{
    resp_bulk(w, x->name);
    ++*count;
}

static void tell_score(struct resp_writer *w, const struct element *x, size_t *count)
{
    if (w->proto == 3) {
        resp_array(w, 2);
        resp_bulk(w, x->name);
    } else {
        tell_member(w, x, count);
    }
    reply_score(w, x->score);
    ++*count;
}

static enum err zrange_run(struct request *rq)
{
    const struct zrange *a = rq->bound;
    struct telling t = {.kind = COLLECTION_ZSET,
                        .key = a->key,
                        .range = range_walk,
                        .tell = a->with_scores ? tell_score : tell_member,
                        .begin = elements_begin_array};
    return elements_tell(rq, &t);
}
#define ZRANGE_COMMAND(id, text)                                                                   \
    ZSET_COMMAND(id, CMD_READ | CMD_FOLLOWER, KEY_RO | KEY_ACCESS, text, id##_arguments,           \
                 "The members; with `WITHSCORES` each with its score.", zrange_run)
ZRANGE_COMMAND(zrange, "Returns the members in a range of ranks, scores or members.");
ZRANGE_COMMAND(zrevrange, "Returns the members in a range of ranks, highest score first.");
ZRANGE_COMMAND(zrangebyscore, "Returns the members with scores in a range.");
ZRANGE_COMMAND(zrevrangebyscore, "Returns the members with scores in a range, highest first.");
ZRANGE_COMMAND(zrangebylex, "Returns the members in a lexicographical range. All members must "
                            "have the same score.");
ZRANGE_COMMAND(zrevrangebylex,
               "Returns the members in a lexicographical range, last first. All members must have "
               "the same score.");

static enum err zcount_run(struct request *rq)
{
    const struct zrange *a = rq->bound;
    struct collection c;
    struct view *v = elements_view(rq);
    uint64_t count = 0;
    enum err r = elements_open(rq, v, a->key, COLLECTION_ZSET, &c);
    if (r == OK) r = sorted_count(&c, &a->range, &count, &rq->error);
    elements_read(rq, v);
    if (r == OK) resp_int(rq->w, (int64_t)count);
    return r;
}
ZSET_COMMAND(zcount, CMD_READ | CMD_FAST | CMD_FOLLOWER, KEY_RO | KEY_ACCESS,
             "Counts the members with scores in a range.", zscore_range_arguments, "The number.",
             zcount_run);
ZSET_COMMAND(zlexcount, CMD_READ | CMD_FAST | CMD_FOLLOWER, KEY_RO | KEY_ACCESS,
             "Counts the members in a lexicographical range. All members must have the same score.",
             zlex_range_arguments, "The number.", zcount_run);

/* ---- removing ---- */

struct zremrange {
    const struct zrange *words;
    size_t removed;
};

static enum err zremrange_change(struct request *rq, struct view *v, void *arg)
{
    struct zremrange *a = arg;
    struct collection c;
    struct element *items = NULL;
    enum err r = zset_open(rq, v, a->words->key, &c);
    if (r == OK) r = sorted_gather(&c, &a->words->range, &items, &a->removed, &rq->error);
    if (r != OK || a->removed == 0) return r;
    if (a->removed == c.head.count) {
        collection_clear(&c);
        return collection_save(&c, &rq->error);
    }
    for (size_t i = 0; i < a->removed && r == OK; i++) {
        bool was_there = false;
        r = collection_remove(&c, items[i].name, &was_there, NULL, &rq->error);
    }
    return r == OK ? collection_save(&c, &rq->error) : r;
}

static enum err zremrange_run(struct request *rq)
{
    struct zremrange a = {.words = rq->bound};
    enum err r = elements_commit(rq, zremrange_change, &a);
    if (r == OK) resp_int(rq->w, (int64_t)a.removed);
    return r;
}
ZSET_COMMAND(zremrangebyrank, CMD_WRITE, KEY_RW | KEY_DELETE,
             "Removes the members in a range of ranks.", zrank_range_arguments,
             "The number of elements removed.", zremrange_run);
ZSET_COMMAND(zremrangebyscore, CMD_WRITE, KEY_RW | KEY_DELETE,
             "Removes the members with scores in a range.", zscore_range_arguments,
             "The number of elements removed.", zremrange_run);
ZSET_COMMAND(zremrangebylex, CMD_WRITE, KEY_RW | KEY_DELETE,
             "Removes the members in a lexicographical range. All members must have the same "
             "score.",
             zlex_range_arguments, "The number of elements removed.", zremrange_run);

/* ---- ZRANGESTORE ---- */

static enum err zrangestore_change(struct request *rq, struct view *v, void *arg)
{
    struct zremrange *a = arg;
    struct collection from;
    struct collection to;
    struct element *items = NULL;
    enum err r = zset_open(rq, v, a->words->key, &from);
    if (r == OK) r = sorted_gather(&from, &a->words->range, &items, &a->removed, &rq->error);
    if (r != OK) return r;
    collection_begin(rq->env->db->collections, v, a->words->to, COLLECTION_ZSET, &to);
    for (size_t i = 0; i < a->removed && r == OK; i++) {
        bool was_there = false;
        r = collection_put(&to, &items[i], &was_there, NULL, &rq->error);
    }
    return r == OK ? collection_replace(&to, &rq->error) : r;
}

static enum err zrangestore_run(struct request *rq)
{
    struct zremrange a = {.words = rq->bound};
    enum err r = elements_commit(rq, zrangestore_change, &a);
    if (r == OK) resp_int(rq->w, (int64_t)a.removed);
    return r;
}
ZSET_COMMAND(zrangestore, CMD_WRITE, 0,
             "Stores the result of ZRANGE in a key and replaces its value.", zrangestore_arguments,
             "The number of members stored.", zrangestore_run);

/* ---- ZSCAN ---- */

static void tell_flat(struct resp_writer *w, const struct element *x, size_t *count)
{
    char text[FLOAT_TEXT_BYTES];
    tell_member(w, x, count);
    resp_bulk(w, slice_of(text, float_text_write(x->score, text)));
    ++*count;
}

static enum err zscan_run(struct request *rq)
{
    const struct elements_scan *a = rq->bound;
    return elements_scan_run(rq, COLLECTION_ZSET, a->names_only ? tell_member : tell_flat);
}
ZSET_COMMAND(zscan, CMD_READ | CMD_FOLLOWER, KEY_RO | KEY_ACCESS,
             "Iterates over the members of a sorted set. Cursor 0 means that the iteration is "
             "complete.",
             zscan_arguments,
             "`[cursor, [member, score ...]]`; with `NOSCORES` without the scores.", zscan_run);
