#include "diff/deviations.h"

#include <stdlib.h>

/* A mistake was made on purpose; that the key or the member is missing, or the key of
 * another type, is a second. */
static bool are_two_mistakes(const struct call *c, const struct reply *ours,
                             const struct reply *redis)
{
    return c->has_mistake && reply_says_error(ours) && reply_says_error(redis) &&
           !reply_begins(ours, "WRONGTYPE") &&
           (reply_begins(redis, "WRONGTYPE") || reply_begins(redis, "ERR no such key") ||
            reply_begins(redis, "ERR could not decode requested zset member"));
}

/* Likewise of the words of a stream's command: Redis looks for the key and the group first, or has
 * another mistake to tell. */
static bool is_stream_mistake(const struct call *c, const struct reply *ours,
                              const struct reply *redis)
{
    (void)redis;
    return c->has_mistake && c->words[0].data[0] == 'X' && reply_says_error(ours);
}

static bool says_not_allowed(const struct reply *r)
{
    if (reply_says_error(r)) return reply_begins(r, "ERR This Redis command is not allowed");
    for (size_t i = 0; i < r->count; i++) {
        if (says_not_allowed(r->items[i])) return true;
    }
    return false;
}

static bool is_waiting_in_script(const struct call *c, const struct reply *ours,
                                 const struct reply *redis)
{
    return call_is(c, "EVAL") && !says_not_allowed(ours) && says_not_allowed(redis);
}

static bool is_bad_index(const struct call *c, const struct reply *ours, const struct reply *redis)
{
    bool is_scan = call_is(c, "HSCAN") || call_is(c, "SSCAN") || call_is(c, "ZSCAN");
    if (is_scan) return c->has_mistake && reply_says_error(ours) && redis->count == 2;
    return call_is(c, "LINDEX") && c->has_mistake && redis->is_nil &&
           reply_begins(ours, "ERR value is not an integer");
}

static bool says_arity(const struct reply *r)
{
    return reply_begins(r, "ERR wrong number of arguments");
}

static bool says_syntax(const struct reply *r)
{
    return reply_begins(r, "ERR syntax error");
}

static bool is_rank(const struct call *c, const struct reply *ours, const struct reply *redis)
{
    return (call_is(c, "ZRANK") || call_is(c, "ZREVRANK")) && says_arity(redis) &&
           (says_syntax(ours) || reply_begins(ours, "QUEUED"));
}

static bool is_long_wait(const struct call *c, const struct reply *ours, const struct reply *redis)
{
    return c->words[0].data[0] == 'B' && reply_begins(ours, "ERR timeout is out of range") &&
           reply_begins(redis, "ERR timeout is negative");
}

static bool is_damaged(const struct call *c, const struct reply *ours, const struct reply *redis)
{
    return call_is(c, "PFADD") && reply_begins(ours, "INVALIDOBJ") && !reply_says_error(redis);
}

static bool has_word(const struct call *c, const char *upper)
{
    for (size_t i = 1; i < c->count; i++) {
        if (slice_is_word(c->words[i], upper)) return true;
    }
    return false;
}

static bool is_sort(const struct call *c, const struct reply *ours, const struct reply *redis)
{
    bool is_it = call_is(c, "SORT") || call_is(c, "SORT_RO");
    return is_it && ours->items != NULL && redis->items != NULL && ours->count == redis->count;
}

static bool is_unordered(const struct call *c, const struct reply *ours, const struct reply *redis)
{
    if (!is_sort(c, ours, redis)) return false;
    for (size_t i = 2; i + 1 < c->count; i++) {
        struct slice by = c->words[i + 1];
        bool is_by = slice_is_word(c->words[i], "BY");
        if (is_by && (by.len == 0 || memchr(by.data, '*', by.len) == NULL)) return true;
    }
    return false;
}

static bool has_nul(const struct call *c, const struct reply *ours, const struct reply *redis)
{
    bool is_it = is_sort(c, ours, redis) || call_is(c, "EVAL");
    if (!is_it || !has_word(c, "ALPHA")) return false;
    for (size_t i = 0; i < ours->count; i++) {
        struct slice text = ours->items[i]->text;
        if (text.len > 0 && memchr(text.data, '\0', text.len) != NULL) return true;
    }
    return false;
}

/* errno is left as it was by an earlier command. Of elements that are sorted by themselves, all must
 * be numbers. */
static bool is_erange(const struct call *c, const struct reply *ours, const struct reply *redis)
{
    static const char error[] = "ERR One or more scores can't be converted into double";
    bool is_plain = !has_word(c, "BY") && !has_word(c, "GET");
    if (!has_word(c, "SORT") && !has_word(c, "SORT_RO") && c->words[0].data[0] != 'S') return false;
    if (reply_says_error(ours) || !reply_begins(redis, error)) return false;
    for (size_t i = 0; is_plain && i < ours->count; i++) {
        char text[64] = "";
        char *end = NULL;
        struct slice s = ours->items[i]->text;
        memcpy(text, s.data, s.len < sizeof text ? s.len : sizeof text - 1);
        (void)strtod(text, &end);
        if (*end != '\0') return false;
    }
    return true;
}

static bool is_geo(const struct call *c)
{
    return slice_has_prefix(c->words[0], slice_of("GEO", 3));
}

/* The replies have the same distances, member for member. */
static bool is_tied(const struct call *c, const struct reply *ours, const struct reply *redis)
{
    bool is_it = is_geo(c) && has_word(c, "COUNT") && has_word(c, "WITHDIST");
    if (!is_it || ours->count != redis->count || ours->items == NULL || redis->items == NULL)
        return false;
    for (size_t i = 0; i < ours->count; i++) {
        const struct reply *a = ours->items[i];
        const struct reply *b = redis->items[i];
        if (a->count < 2 || b->count < 2) return false;
        if (!slice_eq(a->items[1]->text, b->items[1]->text)) return false;
    }
    return true;
}

/* Of a key that is missing Redis does not look at the radius. */
static bool is_no_center(const struct call *c, const struct reply *ours, const struct reply *redis)
{
    bool is_it = call_is(c, "GEORADIUSBYMEMBER") || call_is(c, "GEORADIUSBYMEMBER_RO");
    return is_it && c->has_mistake && reply_says_error(ours) && !reply_says_error(redis);
}

static bool is_twice(const struct call *c, const struct reply *ours, const struct reply *redis)
{
    unsigned limits = 0;
    (void)redis;
    for (size_t i = 2; i < c->count; i++) limits += slice_is_word(c->words[i], "LIMIT");
    return c->has_mistake && limits > 1 && says_syntax(ours) &&
           (call_is(c, "SORT") || call_is(c, "SORT_RO"));
}

static struct deviation_row table[DEVIATION_COUNT] = {
    [DEVIATION_EXEC] = {"EXEC of a command that fails: EXECABORT with its error",
                        "a transaction happens as a whole, or not at all", REPLY_ROLLED_BACK, NULL,
                        0},
    [DEVIATION_SCRIPT] = {"a script that fails has changed nothing",
                          "a script is a transaction too", REPLY_ROLLED_BACK, NULL, 0},
    [DEVIATION_WAITING] = {"BLPOP and its like in a script are answered at once",
                           "as in a transaction; Redis 7.0 refuses them", REPLY_APART,
                           is_waiting_in_script, 0},
    [DEVIATION_INDEX] =
        {"LINDEX, HSCAN, SSCAN, ZSCAN of a missing key tell what is wrong in the words",
         "all arguments are read before the first key is", REPLY_KNOWN, is_bad_index, 0},
    [DEVIATION_ZERO] = {"a score of -0 stays -0", "Redis loses its sign in small sorted sets",
                        REPLY_KNOWN, NULL, 0},
    [DEVIATION_RANK] = {"ZRANK and ZREVRANK take WITHSCORE", "as Redis from 7.2 on", REPLY_APART,
                        is_rank, 0},
    [DEVIATION_LONG_WAIT] = {"a time to wait that is too long is out of range",
                             "Redis 7.0 calls it negative", REPLY_KNOWN, is_long_wait, 0},
    [DEVIATION_MADE_AGAIN] = {"WATCH of a missing key that is made and deleted until EXEC",
                              "it is as it was; Redis refuses EXEC", REPLY_KNOWN, NULL, 0},
    [DEVIATION_NO_CHANGE] = {"WATCH of a list of which LTRIM leaves all",
                             "it is as it was; Redis refuses EXEC", REPLY_KNOWN, NULL, 0},
    [DEVIATION_STORE] =
        {"ZUNIONSTORE and its like over a key of another type serve those that wait for the key",
         "Redis leaves them waiting", REPLY_KNOWN, NULL, 0},
    [DEVIATION_STREAM] = {"a mistake in the words of a stream's command is told at once",
                          "all arguments are read before the key and the group are", REPLY_APART,
                          is_stream_mistake, 0},
    [DEVIATION_GROUPS] = {"WATCH of a stream: groups that are made and destroyed change it",
                          "they are part of it; Redis lets EXEC run", REPLY_KNOWN, NULL, 0},
    [DEVIATION_HALF_ADDED] = {"a PFADD that meets damage has changed nothing",
                              "a command that fails has not happened", REPLY_APART, NULL, 0},
    [DEVIATION_DAMAGED] = {"PFADD to a HyperLogLog that ends within a run of two bytes is refused",
                           "Redis writes over its end", REPLY_APART, is_damaged, 0},
    [DEVIATION_UNORDERED] = {"SORT BY nosort of a set: in another order",
                             "a set has none; within MULTI it is that of the bytes", REPLY_KNOWN,
                             is_unordered, 0},
    [DEVIATION_NUL] = {"SORT ALPHA of texts that have a NUL in them",
                       "Redis compares them up to there", REPLY_KNOWN, has_nul, 0},
    [DEVIATION_ERANGE] = {"SORT after a number that is out of range was refused",
                          "Redis takes that for an error of a number that it sorts by", REPLY_APART,
                          is_erange, 0},
    [DEVIATION_TWICE] = {"an option of SORT that is given twice is a syntax error",
                         "each has one place; Redis takes the last", REPLY_APART, is_twice, 0},
    [DEVIATION_TIED] = {"GEOSEARCH with COUNT of members that are equally far: in another order",
                        "that in which they were found; that of Redis is open", REPLY_KNOWN,
                        is_tied, 0},
    [DEVIATION_NO_CENTER] = {"GEORADIUSBYMEMBER of a missing key tells what is wrong in the words",
                             "all arguments are read before the first key is", REPLY_APART,
                             is_no_center, 0},
    [DEVIATION_MISTAKES] = {"a mistake in the words is told before one of a key's type",
                            "all arguments are read before the first key is", REPLY_KNOWN,
                            are_two_mistakes, 0},
};

enum verdict deviation_meet(enum deviation d)
{
    table[d].met++;
    return table[d].verdict;
}

static enum verdict look_up(struct deviation_row *rows, size_t count, const struct call *c,
                            const struct reply *ours, const struct reply *redis)
{
    for (size_t i = 0; i < count; i++) {
        if (rows[i].is == NULL || !rows[i].is(c, ours, redis)) continue;
        rows[i].met++;
        return rows[i].verdict;
    }
    return REPLY_DIFFERS;
}

enum verdict deviation_of(const struct call *c, const struct reply *ours, const struct reply *redis)
{
    enum verdict v = look_up(table, DEVIATION_COUNT, c, ours, redis);
    return v != REPLY_DIFFERS ? v : look_up(deviations_open, deviations_open_count, c, ours, redis);
}

void deviations_show(FILE *to)
{
    for (int i = 0; i < DEVIATION_COUNT; i++) {
        fprintf(to, "# meant to differ, met %llu times: %s (%s)\n", table[i].met, table[i].what,
                table[i].why);
    }
    for (size_t i = 0; i < deviations_open_count; i++) {
        const struct deviation_row *row = &deviations_open[i];
        fprintf(to, "# open, met %llu times: %s (%s)\n", row->met, row->what, row->why);
    }
}
