/* Differences that were found and are neither meant nor mended. A row goes with its difference. */
#include "diff/deviations.h"

static bool says_syntax(const struct reply *r)
{
    return reply_begins(r, "ERR syntax error");
}

static bool is_limit(const struct call *c, const struct reply *ours, const struct reply *redis)
{
    bool has_limit = c->words[0].data[0] == 'Z' || call_is(c, "SORT") || call_is(c, "SORT_RO");
    return c->has_mistake && has_limit && says_syntax(redis) &&
           reply_begins(ours, "ERR value is not an integer");
}

static bool is_weights(const struct call *c, const struct reply *ours, const struct reply *redis)
{
    return c->has_mistake && reply_begins(ours, "ERR weight value is not a float") &&
           says_syntax(redis);
}

struct deviation_row deviations_open[] = {
    {"LIMIT and a word that is no number, and none after it: an error of the number",
     "Redis: syntax error", REPLY_KNOWN, is_limit, 0},
    {"a word after the last weight is taken for a weight", "Redis: syntax error", REPLY_KNOWN,
     is_weights, 0},
};
const size_t deviations_open_count = sizeof deviations_open / sizeof deviations_open[0];
