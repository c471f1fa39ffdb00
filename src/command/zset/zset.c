/* zset: the commands on members of a sorted set: adding, removing, scores, ranks. */
#include "command/zset/zset_int.h"

#include <math.h>

#include "codec/float_text.h"
#include "request/elements_pick.h"

enum err zset_open(struct request *rq, struct view *v, struct slice key, struct collection *c)
{
    return collection_open(rq->env->db->collections, v, key, COLLECTION_ZSET, c, &rq->error);
}

void zset_reply(struct resp_writer *w, const struct element *items, size_t count, bool with_scores)
{
    bool is_paired = with_scores && w->proto == 3;
    resp_array(w, with_scores && !is_paired ? count * 2 : count);
    for (size_t i = 0; i < count; i++) {
        if (is_paired) resp_array(w, 2);
        resp_bulk(w, items[i].name);
        if (with_scores) reply_score(w, items[i].score);
    }
}

/* ---- ZADD, ZINCRBY ---- */

struct zadd {
    struct slice key;
    bool nx, xx, gt, lt, counts_changed, adds;
    struct {
        struct element *items;
        size_t count;
    } pairs;
    /* results */
    int64_t added, changed;
    bool is_done; /* of INCR: the condition held */
    double sum;
};

/* The options are right, then the scores are looked at, as in Redis. */
static enum err check_zadd(struct request *rq, void *bound)
{
    struct zadd *a = bound;
    if (a->nx && a->xx) {
        return error_set(&rq->error, ERR_SYNTAX,
                         "XX and NX options at the same time are not compatible");
    }
    if ((a->gt && (a->nx || a->lt)) || (a->lt && a->nx)) {
        return error_set(&rq->error, ERR_SYNTAX,
                         "GT, LT, and/or NX options at the same time are not compatible");
    }
    if (a->adds && a->pairs.count > 1) {
        return error_set(&rq->error, ERR_SYNTAX,
                         "INCR option supports a single increment-element pair");
    }
    for (size_t i = 0; i < a->pairs.count; i++) {
        struct element *x = &a->pairs.items[i];
        if (!float_text_read(x->value, &x->score)) {
            return error_set(&rq->error, ERR_SYNTAX, "value is not a valid float");
        }
        x->value = slice_of(NULL, 0);
    }
    return OK;
}
ARGUMENTS(score_member_arguments, struct element, "score member",
          ARG_WORD(struct element, value, "score"),
          {ARG_ONE(struct element, name, struct slice, "member", arg_kind_word),
           .missing = "syntax error"});
ARGUMENTS_WITH(zadd_arguments, struct zadd, "key [NX] [XX] [GT] [LT] [CH] [INCR] pair [pair ...]",
               WITH(.check = check_zadd), ARG_KEY(struct zadd, key, "key", 0),
               ARG_FLAG(struct zadd, nx, "NX"), ARG_FLAG(struct zadd, xx, "XX"),
               ARG_FLAG(struct zadd, gt, "GT"), ARG_FLAG(struct zadd, lt, "LT"),
               ARG_FLAG(struct zadd, counts_changed, "CH"), ARG_FLAG(struct zadd, adds, "INCR"),
               ARG_LIST(struct zadd, pairs, "pair", score_member_arguments, NULL));

static enum err add_one(struct request *rq, struct zadd *a, struct collection *c,
                        const struct element *pair)
{
    struct element there = {.score = 0};
    bool found = false;
    enum err r = collection_find(c, pair->name, &found, &there, &rq->error);
    struct element x = {.name = pair->name, .score = pair->score};
    if (r != OK || (found && a->nx) || (!found && a->xx)) return r;
    if (found && a->adds) x.score += there.score;
    if (isnan(x.score)) {
        return error_set(&rq->error, ERR_SYNTAX, "resulting score is not a number (NaN)");
    }
    if (found && ((a->gt && x.score <= there.score) || (a->lt && x.score >= there.score))) {
        return OK;
    }
    a->is_done = true;
    a->sum = x.score;
    a->added += !found;
    if (found && x.score == there.score) return OK;
    a->changed += found;
    return collection_put(c, &x, &found, NULL, &rq->error);
}

static enum err zadd_change(struct request *rq, struct view *v, void *arg)
{
    struct zadd *a = arg;
    struct collection c;
    a->added = a->changed = 0;
    a->is_done = false;
    enum err r = zset_open(rq, v, a->key, &c);
    for (size_t i = 0; i < a->pairs.count && r == OK; i++) {
        r = add_one(rq, a, &c, &a->pairs.items[i]);
    }
    return r == OK ? elements_save_as(rq, &c, a->adds ? "zincrby" : "zadd") : r;
}

static enum err zadd_run(struct request *rq)
{
    struct zadd *a = rq->bound;
    enum err r = elements_commit(rq, zadd_change, a);
    if (r != OK) return r;
    if (!a->adds) {
        resp_int(rq->w, a->added + (a->counts_changed ? a->changed : 0));
    } else if (a->is_done) {
        reply_score(rq->w, a->sum);
    } else {
        resp_nil(rq->w);
    }
    return OK;
}
ZSET_COMMAND(zadd, CMD_WRITE | CMD_FAST, KEY_RW | KEY_UPDATE,
             "Adds members with scores to a sorted set, or updates their scores.", zadd_arguments,
             "The number of new members, with `CH` of new and changed ones. With `INCR`, the "
             "score, or nil if the condition is not met.",
             zadd_run);

ARGUMENTS(zincrby_pair, struct element, "increment member",
          ARG_SCORE(struct element, score, "increment"), ARG_WORD(struct element, name, "member"));
struct zincrby {
    struct slice key;
    struct element by;
};
ARGUMENTS(zincrby_arguments, struct zincrby, "key pair", ARG_KEY(struct zincrby, key, "key", 0),
          ARG_INSIDE(struct zincrby, by, "pair", zincrby_pair));

static enum err zincrby_run(struct request *rq)
{
    struct zincrby *by = rq->bound;
    struct zadd a = {.key = by->key, .adds = true, .pairs = {.items = &by->by, .count = 1}};
    enum err r = elements_commit(rq, zadd_change, &a);
    if (r == OK) reply_score(rq->w, a.sum);
    return r;
}
ZSET_COMMAND(zincrby, CMD_WRITE | CMD_FAST, KEY_RW | KEY_ACCESS | KEY_UPDATE,
             "Increments the score of a member. A missing member counts as 0.", zincrby_arguments,
             "The score.", zincrby_run);

/* ---- ZREM ---- */

struct key_members {
    struct slice key;
    struct slices members;
    int64_t removed;
};
ARGUMENTS(members_arguments, struct key_members, "key member [member ...]",
          ARG_KEY(struct key_members, key, "key", 0),
          ARG_WORDS(struct key_members, members, "member"));

static enum err zrem_change(struct request *rq, struct view *v, void *arg)
{
    struct key_members *a = arg;
    struct collection c;
    a->removed = 0;
    enum err r = zset_open(rq, v, a->key, &c);
    for (size_t i = 0; i < a->members.count && r == OK && c.head.count > 0; i++) {
        bool was_there = false;
        r = collection_remove(&c, a->members.items[i], &was_there, NULL, &rq->error);
        a->removed += was_there;
    }
    return r == OK ? collection_save(&c, &rq->error) : r;
}

static enum err zrem_run(struct request *rq)
{
    struct key_members *a = rq->bound;
    enum err r = elements_commit(rq, zrem_change, a);
    if (r == OK) resp_int(rq->w, a->removed);
    return r;
}
ZSET_COMMAND(zrem, CMD_WRITE | CMD_FAST, KEY_RW | KEY_DELETE,
             "Removes members of a sorted set, and the sorted set with its last member.",
             members_arguments, "The number of elements removed.", zrem_run);

/* ---- ZCARD, ZSCORE, ZMSCORE ---- */

SHARED_ARGUMENTS(zset_member_arguments, struct key_member, "key member",
                 ARG_KEY(struct key_member, key, "key", 0),
                 ARG_WORD(struct key_member, member, "member"));

static enum err zcard_run(struct request *rq)
{
    const struct one_key *a = rq->bound;
    struct collection c;
    enum err r = elements_open(rq, elements_view(rq), a->key, COLLECTION_ZSET, &c);
    if (r == OK) resp_int(rq->w, (int64_t)c.head.count);
    return r;
}
ZSET_COMMAND(zcard, CMD_READ | CMD_FAST | CMD_FOLLOWER, KEY_RO,
             "Returns the number of members of a sorted set.", one_key_arguments,
             "The number, 0 if the key does not exist.", zcard_run);

static void tell_score(struct resp_writer *w, const struct element *x)
{
    if (x != NULL) {
        reply_score(w, x->score);
    } else {
        resp_nil(w);
    }
}

static enum err zscore_run(struct request *rq)
{
    const struct key_member *a = rq->bound;
    struct collection c;
    struct element x = {.score = 0};
    struct view *v = elements_view(rq);
    bool found = false;
    enum err r = elements_open(rq, v, a->key, COLLECTION_ZSET, &c);
    if (r == OK) r = collection_find(&c, a->member, &found, &x, &rq->error);
    elements_read(rq, v);
    if (r == OK) tell_score(rq->w, found ? &x : NULL);
    return r;
}
ZSET_COMMAND(zscore, CMD_READ | CMD_FAST | CMD_FOLLOWER, KEY_RO | KEY_ACCESS,
             "Returns the score of a member.", zset_member_arguments, "The score, or nil.",
             zscore_run);

static enum err zmscore_run(struct request *rq)
{
    const struct key_members *a = rq->bound;
    return elements_tell_each(rq, COLLECTION_ZSET, a->key, &a->members, tell_score);
}
ZSET_COMMAND(zmscore, CMD_READ | CMD_FAST | CMD_FOLLOWER, KEY_RO | KEY_ACCESS,
             "Returns the scores of several members.", members_arguments,
             "The score of each member, or nil.", zmscore_run);

/* ---- ZRANK, ZREVRANK ---- */

struct zrank {
    struct slice key, member;
    bool with_score, is_reverse;
};
#define ZRANK_ARGUMENTS(id, reverse)                                                               \
    ARGUMENTS(id, struct zrank, "key member [WITHSCORE]", ARG_KEY(struct zrank, key, "key", 0),    \
              ARG_WORD(struct zrank, member, "member"),                                            \
              ARG_FLAG(struct zrank, with_score, "WITHSCORE"),                                     \
              ARG_FIXED(struct zrank, is_reverse, reverse))
ZRANK_ARGUMENTS(zrank_arguments, 0);
ZRANK_ARGUMENTS(zrevrank_arguments, 1);

static enum err zrank_run(struct request *rq)
{
    const struct zrank *a = rq->bound;
    struct collection c;
    struct view *v = elements_view(rq);
    bool found = false;
    uint64_t rank = 0;
    double score = 0;
    enum err r = elements_open(rq, v, a->key, COLLECTION_ZSET, &c);
    if (r == OK) r = sorted_rank(&c, a->member, &found, &rank, &score, &rq->error);
    elements_read(rq, v);
    if (r != OK) return r;
    if (!found) {
        if (a->with_score) {
            resp_nil_array(rq->w);
        } else {
            resp_nil(rq->w);
        }
        return OK;
    }
    if (a->with_score) resp_array(rq->w, 2);
    resp_int(rq->w, (int64_t)(a->is_reverse ? c.head.count - 1 - rank : rank));
    if (a->with_score) reply_score(rq->w, score);
    return OK;
}
ZSET_COMMAND(zrank, CMD_READ | CMD_FAST | CMD_FOLLOWER, KEY_RO | KEY_ACCESS,
             "Returns the rank of a member, from the lowest score.", zrank_arguments,
             "The rank, from 0, or nil. With `WITHSCORE`, the rank and the score.", zrank_run);
ZSET_COMMAND(zrevrank, CMD_READ | CMD_FAST | CMD_FOLLOWER, KEY_RO | KEY_ACCESS,
             "Returns the rank of a member, from the highest score.", zrevrank_arguments,
             "The rank, from 0, or nil. With `WITHSCORE`, the rank and the score.", zrank_run);

/* ---- ZRANDMEMBER ---- */

ELEMENTS_PICK_ARGUMENTS(zrandmember, "WITHSCORES");

static enum err zrandmember_run(struct request *rq)
{
    return elements_pick_run(rq, COLLECTION_ZSET, rq->bound, zset_reply);
}
ZSET_COMMAND(zrandmember, CMD_READ | CMD_FOLLOWER, KEY_RO | KEY_ACCESS,
             "Returns random members of a sorted set.", zrandmember_arguments,
             "A member, or nil. With `count`, an array of distinct members; if it is negative, of "
             "that many, which may repeat.",
             zrandmember_run);
