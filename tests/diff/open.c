/* Differences that were found and are neither meant nor mended. A row goes with its difference. */
#include "diff/deviations.h"

static bool says_arity(const struct reply *r)
{
    return reply_begins(r, "ERR wrong number of arguments");
}

static bool says_syntax(const struct reply *r)
{
    return reply_begins(r, "ERR syntax error");
}

static bool is_sum(const struct call *c, const struct reply *ours, const struct reply *redis)
{
    static const char in_script[] = "'ZUNION','3'";
    bool is_one = call_is(c, "ZUNION") && slice_eq(c->words[1], slice_str("3"));
    bool has_one = call_is(c, "EVAL") &&
                   memmem(c->words[1].data, c->words[1].len, in_script, sizeof in_script - 1);
    return (is_one || has_one) && ours->count == redis->count && ours->count > 0;
}

static bool is_limit(const struct call *c, const struct reply *ours, const struct reply *redis)
{
    return c->has_mistake && c->words[0].data[0] == 'Z' && says_syntax(redis) &&
           reply_begins(ours, "ERR value is not an integer");
}

static bool is_move(const struct call *c, const struct reply *ours, const struct reply *redis)
{
    return (call_is(c, "BLMOVE") || call_is(c, "BRPOPLPUSH")) && ours->is_nil && redis->is_nil;
}

static bool is_zadd(const struct call *c, const struct reply *ours, const struct reply *redis)
{
    return call_is(c, "ZADD") && says_arity(ours) &&
           (says_syntax(redis) || reply_begins(redis, "QUEUED"));
}

static bool is_pop(const struct call *c, const struct reply *ours, const struct reply *redis)
{
    return (call_is(c, "LPOP") || call_is(c, "RPOP")) && says_syntax(ours) && says_arity(redis);
}

static bool is_mpop(const struct call *c, const struct reply *ours, const struct reply *redis)
{
    return c->has_mistake && says_arity(ours) &&
           (says_syntax(redis) || reply_begins(redis, "QUEUED")) &&
           (call_is(c, "LMPOP") || call_is(c, "ZMPOP") || call_is(c, "BLMPOP") ||
            call_is(c, "BZMPOP"));
}

static bool is_bound(const struct call *c, const struct reply *ours, const struct reply *redis)
{
    return c->has_mistake && reply_begins(ours, "ERR min or max is not a float") &&
           !reply_is_error(redis);
}

static bool is_weights(const struct call *c, const struct reply *ours, const struct reply *redis)
{
    return c->has_mistake && reply_begins(ours, "ERR weight value is not a float") &&
           says_syntax(redis);
}

struct deviation_row deviations_open[] = {
    {"the scores of three sets are added in the order of the words",
     "Redis adds those of the smallest set first", REPLY_KNOWN, is_sum, 0},
    {"LIMIT and a word that is no number, and none after it: an error of the number",
     "Redis: syntax error", REPLY_KNOWN, is_limit, 0},
    {"BLMOVE and BRPOPLPUSH that find nothing in a transaction: a nil array", "Redis: a nil string",
     REPLY_KNOWN, is_move, 0},
    {"ZADD with a score and no member: an error of the number of words", "Redis: syntax error",
     REPLY_APART, is_zadd, 0},
    {"LPOP and RPOP with a word too many: a syntax error", "Redis: an error of the number of words",
     REPLY_KNOWN, is_pop, 0},
    {"LMPOP, ZMPOP, BLMPOP, BZMPOP without a side: an error of the number of words",
     "Redis: syntax error", REPLY_APART, is_mpop, 0},
    {"a score bound of ( alone, or of nothing, is an error", "Redis takes it for 0", REPLY_APART,
     is_bound, 0},
    {"a word after the last weight is taken for a weight", "Redis: syntax error", REPLY_KNOWN,
     is_weights, 0},
};
const size_t deviations_open_count = sizeof deviations_open / sizeof deviations_open[0];
