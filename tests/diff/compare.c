#include "diff/compare.h"

#include <math.h>
#include <stdlib.h>

#include "diff/deviations.h"

#define SECONDS_MAX 600 /* that a run of commands may take on a slow machine */
#define NUMBER_BYTES 400

static const struct {
    const char *command; /* a * at the end: any rest */
    enum rule rule;
} rules[] = {
    {"HGETALL", RULE_ANY_PAIRS},
    {"HKEYS", RULE_ANY_ORDER},
    {"HVALS", RULE_ANY_ORDER},
    {"HSCAN", RULE_SCAN},
    {"SMEMBERS", RULE_ANY_ORDER},
    {"SINTER", RULE_ANY_ORDER},
    {"SUNION", RULE_ANY_ORDER},
    {"SDIFF", RULE_ANY_ORDER},
    {"SPOP", RULE_ANY_ORDER},
    {"SRANDMEMBER", RULE_ANY_ORDER},
    {"SSCAN", RULE_SCAN},
    {"HRANDFIELD", RULE_ANY_ORDER},
    {"ZRANDMEMBER", RULE_ANY_ORDER},
    {"ZSCAN", RULE_SCAN_SCORES},
    {"KEYS", RULE_ANY_ORDER},
    {"TTL", RULE_TIME},
    {"PTTL", RULE_TIME},
    {"EXPIRETIME", RULE_TIME},
    {"PEXPIRETIME", RULE_TIME},
    {"OBJECT", RULE_ENCODING},
    {"Z*", RULE_SCORES},
    {"BZ*", RULE_SCORES},
    {"EVAL", RULE_SCORES}, /* of what its commands reply */
};

enum rule rule_of(const struct call *c)
{
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        size_t len = strlen(rules[i].command);
        bool is_prefix = rules[i].command[len - 1] == '*';
        if (!is_prefix && call_is(c, rules[i].command)) return rules[i].rule;
        if (is_prefix && slice_has_prefix(c->words[0], slice_of(rules[i].command, len - 1)))
            return rules[i].rule;
    }
    return RULE_EXACT;
}

/* ---- numbers ---- */

static bool number_read(struct slice text, double *out)
{
    char copy[NUMBER_BYTES];
    char *end = NULL;
    if (text.len == 0 || text.len >= sizeof copy) return false;
    memcpy(copy, text.data, text.len);
    copy[text.len] = '\0';
    *out = strtod(copy, &end);
    return *end == '\0' && !isnan(*out);
}

static size_t digits_of(struct slice text)
{
    size_t n = 0;
    size_t zeros = 0; /* at the end: 1e20 may be written out */
    for (size_t i = 0; i < text.len && text.data[i] != 'e'; i++) {
        if (text.data[i] < '0' || text.data[i] > '9' || (n == 0 && text.data[i] == '0')) continue;
        n++;
        zeros = text.data[i] == '0' ? zeros + 1 : 0;
    }
    return n - zeros;
}

/* Redis 7.0 prints 17 digits, later ones and this server the fewest that read back as the same. */
static bool numbers_are_same(struct slice ours, struct slice redis)
{
    double a;
    double b;
    if (!number_read(ours, &a) || !number_read(redis, &b)) return false;
    if (a != b || digits_of(ours) > digits_of(redis)) return false;
    if (signbit(a) != signbit(b)) deviation_meet(DEVIATION_ZERO);
    return true;
}

/* ---- trees ---- */

static int by_order(const void *a, const void *b)
{
    return reply_order(*(struct reply *const *)a, *(struct reply *const *)b);
}

static int by_order_of_pairs(const void *a, const void *b)
{
    struct reply *const *x = a;
    struct reply *const *y = b;
    int c = reply_order(x[0], y[0]);
    return c != 0 ? c : reply_order(x[1], y[1]);
}

static void sort(struct reply *r, enum rule rule)
{
    if (r->items == NULL) return;
    if (rule == RULE_ANY_ORDER) qsort(r->items, r->count, sizeof *r->items, by_order);
    if (rule == RULE_ANY_PAIRS && r->count % 2 == 0)
        qsort(r->items, r->count / 2, 2 * sizeof *r->items, by_order_of_pairs);
    if (rule == RULE_SCAN && r->count == 2) sort(r->items[1], RULE_ANY_ORDER);
    if (rule == RULE_SCAN_SCORES && r->count == 2) sort(r->items[1], RULE_ANY_PAIRS);
}

static bool texts_are_same(enum rule rule, const struct reply *ours, const struct reply *redis)
{
    if (slice_eq(ours->text, redis->text)) return true;
    bool is_value = ours->type == '$' || ours->type == ',';
    bool has_scores = rule == RULE_SCORES || rule == RULE_SCAN_SCORES;
    if (has_scores) return is_value && numbers_are_same(ours->text, redis->text);
    if (rule == RULE_ENCODING) return ours->type == '$';
    long long a = reply_integer(ours);
    long long b = reply_integer(redis);
    return rule == RULE_TIME && a > 0 && b > 0 && llabs(a - b) < SECONDS_MAX * 1000LL;
}

bool replies_are_same(enum rule rule, struct reply *ours, struct reply *redis)
{
    if (ours->type != redis->type || ours->is_nil != redis->is_nil || ours->count != redis->count)
        return false;
    if (ours->items == NULL || redis->items == NULL)
        return ours->is_nil || texts_are_same(rule, ours, redis);
    sort(ours, rule);
    sort(redis, rule);
    for (size_t i = 0; i < ours->count; i++) {
        if (!replies_are_same(rule, ours->items[i], redis->items[i])) return false;
    }
    return true;
}

enum verdict compare_replies(const struct call *c, struct reply *ours, struct reply *redis)
{
    if (ours == NULL || redis == NULL) return REPLY_DIFFERS;
    if (replies_are_same(rule_of(c), ours, redis)) {
        if (!reply_says_error(ours)) return REPLY_SAME;
        if (reply_begins(ours, "INVALIDOBJ") && call_is(c, "PFADD"))
            return deviation_meet(DEVIATION_HALF_ADDED);
        return call_is(c, "EVAL") ? deviation_meet(DEVIATION_SCRIPT) : REPLY_SAME;
    }
    return deviation_of(c, ours, redis);
}

/* EXECABORT command <number> <name>: <error>: the number less 1, and the error; SIZE_MAX when it is
 * another text. */
static size_t failed_command(const struct reply *r, struct reply *error)
{
    static const char begin[] = "EXECABORT command ";
    int64_t number = 0;
    if (!reply_begins(r, begin)) return SIZE_MAX;
    struct slice rest = slice_of(r->text.data + sizeof begin - 1, r->text.len + 1 - sizeof begin);
    if (!slice_to_i64(slice_take(&rest, ' '), &number)) return SIZE_MAX;
    (void)slice_take(&rest, ':');
    (void)slice_take(&rest, ' ');
    *error = (struct reply){.type = '-', .text = rest};
    return (size_t)(number - 1);
}

/* Redis goes on after the command that fails here. */
static enum verdict compare_failed(const struct call *c, size_t at, struct reply *error,
                                   struct reply *redis)
{
    if (at >= redis->count) return REPLY_DIFFERS;
    for (size_t i = 0; i < at; i++) {
        if (reply_says_error(redis->items[i])) return REPLY_DIFFERS;
    }
    return compare_replies(c, error, redis->items[at]) == REPLY_DIFFERS
               ? REPLY_DIFFERS
               : deviation_meet(DEVIATION_EXEC);
}

enum verdict compare_exec(const struct call *const *queued, size_t count, struct reply *ours,
                          struct reply *redis)
{
    struct reply error;
    if (ours == NULL || redis == NULL) return REPLY_DIFFERS;
    size_t failed = redis->type == '*' ? failed_command(ours, &error) : SIZE_MAX;
    if (failed < count) return compare_failed(queued[failed], failed, &error, redis);
    if (ours->type != '*' || redis->type != '*' || ours->count != count || redis->count != count)
        return replies_are_same(RULE_EXACT, ours, redis) ? REPLY_SAME : REPLY_DIFFERS;
    enum verdict all = REPLY_SAME;
    for (size_t i = 0; i < count; i++) {
        enum verdict v = compare_replies(queued[i], ours->items[i], redis->items[i]);
        if (v > all) all = v;
    }
    return all;
}
