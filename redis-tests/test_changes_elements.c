/* KV.CHANGES ... ELEMENTS: what became of the elements of collections; and that a copy which is kept
 * by nothing else has the same elements, whatever was done to them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "client.h"
#include "group.h"

#define KEYS 5
#define ROUNDS 40
#define STEPS 30

static redisContext *c, *d;

static int start(void **state)
{
    group_opens(&c, &d, NULL);
    server = testserver_start_with("--databases", "4", NULL);
    return 0;
}

/* Where the feed is now. */
static const char *now(void)
{
    return ask(c, "KV.VERSION");
}

/* The rows since `from`, without their head. */
static const char *since(const char *from)
{
    const char *page = ask(c, "KV.CHANGES %s ELEMENTS", from);
    return page + 1 + strcspn(page + 1, " ") + 1;
}

/* Many words, "x1 x2 ... xn", which one command takes. */
static void many(const char *command, const char *key, int n)
{
    char text[4000];
    size_t len = (size_t)snprintf(text, sizeof text, "%s %s", command, key);
    for (int i = 1; i <= n; i++) len += (size_t)snprintf(text + len, sizeof text - len, " x%d", i);
    ask(c, text);
}

/* ---- one kind after the other ---------------------------------------------------------------- */

static void a_small_one_is_told_whole(void **state)
{
    static const char *const cases[][2] = {
        {"HSET k a 1",
         "[[['k'] {'$collection':{'type':'hash','length':1}} @ (nil) [whole [[a 1 (nil)]] []]]]]"},
        {"RPUSH k a b", "[[['k'] * @ (nil) [whole [[:0 a] [:1 b]] []]]]]"},
        {"SADD k a b", "[[['k'] * @ (nil) [whole [a b] []]]]]"},
        {"ZADD k 2 b 1 a", "[[['k'] * @ (nil) [whole [[a 1] [b 2]] []]]]]"},
        {"XADD k 5-1 f v", "[[['k'] * @ (nil) [whole [[5-1 [f v]]] []]]]]"},
        {"SET k v", "[[['k'] * @ (nil) (nil)]]]"},
        {"KV.SET ['k'] {'a':1} PX 100000", "[[['k'] {'a':1} @ :* (nil)]]]"},
        {"KV.SET ['k'] {'$collection':1} IDEM a", "*"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        expect(c, "*", "DEL k");
        const char *from = now();
        ask(c, cases[i][0]);
        if (!text_fits(since(from), cases[i][1])) fail_msg("%s: %s", cases[i][0], since(from));
    }
}

static void of_a_large_one_what_changed(void **state)
{
    static const char *const cases[][3] = {
        {"SADD", "SADD k new", "[part [new] []]"},
        {"SADD", "SREM k x1 x2", "[part [] [x1 x2]]"},
        {"RPUSH", "LPUSH k new", "[part [[:-1048576 new]] []]"},
        {"RPUSH", "LPOP k", "[part [] [:0]]"},
        {"RPUSH", "LSET k 1 new", "[part [[:1048576 new]] []]"},
        {"RPUSH", "LREM k 0 x3", "[part [] [:2097152]]"},
        {"SADD", "EXPIRE k 1000", "[part [] []]"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char wanted[200];
        expect(c, "*", "DEL k");
        many(cases[i][0], "k", 100);
        const char *from = now();
        ask(c, cases[i][1]);
        snprintf(wanted, sizeof wanted, "[[['k'] * @ * %s]]]", cases[i][2]);
        if (!text_fits(since(from), wanted)) fail_msg("%s: %s", cases[i][1], since(from));
    }
}

static void fields_scores_and_entries(void **state)
{
    for (int i = 0; i < 100; i++) {
        ask(c, "HSET h f%d v", i);
        ask(c, "ZADD z %d m%d", i, i);
        ask(c, "XADD s %d-1 f v", i + 1);
    }
    const char *from = now();
    expect(c, "[:1]", "HPEXPIREAT h 4000000000000 FIELDS 1 f1");
    expect(c, "[@ [[['h'] * @ (nil) [part [[f1 v :4000000000000]] []]]]]", "KV.CHANGES %s ELEMENTS",
           from);
    from = now();
    expect(c, "200.5", "ZINCRBY z 199.5 m1");
    assert_true(text_fits(since(from), "[[['z'] * @ (nil) [part [[m1 200.5]] []]]]]"));
    from = now();
    expect(c, ":1", "XDEL s 7-1");
    assert_true(text_fits(since(from), "[[['s'] * @ (nil) [part [] [7-1]]]]]"));
}

static void a_long_trim_is_a_range(void **state)
{
    for (int i = 0; i < 3000; i++) say(c, "XADD s %d-1 f v", i + 1);
    expect_many(c, 3000, "*");
    const char *from = now();
    expect(c, ":2900", "XTRIM s MAXLEN 100");
    const char *rows = since(from);
    if (!text_fits(rows, "[[['s'] * @ (nil) [part [] [[* 2901-1]]]]]]")) fail_msg("%s", rows);
}

static void a_rename_says_from_where(void **state)
{
    many("SADD", "a", 100);
    const char *from = now();
    expect(c, "+OK", "RENAME a b");
    const char *rows = since(from);
    if (!text_fits(rows,
                   "[[['a'] (nil) @ (nil) (nil)] [['b'] * @ (nil) [renamed [] [] ['a']]]]]") &&
        !text_fits(rows,
                   "[[['b'] * @ (nil) [renamed [] [] ['a']]] [['a'] (nil) @ (nil) (nil)]]]")) {
        fail_msg("%s", rows);
    }
    from = now();
    expect(c, ":1", "COPY b c");
    assert_true(text_fits(since(from), "[[['c'] * @ (nil) [whole [* x99] []]]]]"));
    from = now();
    expect(c, "+OK", "RENAME b ['p','q']"); /* one word, so a key like any other */
    assert_non_null(strstr(since(from), "renamed"));
}

/* A name that is too long for a key of the store is known by its beginning once it is gone. */
static void a_long_name_that_was_removed(void **state)
{
    char name[1500];
    memset(name, 'n', sizeof name);
    many("SADD", "k", 100);
    expect(c, ":1", "SADD k %b", name, sizeof name);
    const char *from = now();
    expect(c, ":1", "SREM k %b", name, sizeof name);
    redisReply *page = ask_reply(c, "KV.CHANGES %s ELEMENTS", from);
    const redisReply *removed = page->element[1]->element[0]->element[4]->element[2]->element[0];
    assert_int_equal(removed->elements, 2);
    assert_int_equal(removed->element[0]->len, 1000);
    assert_memory_equal(removed->element[0]->str, name, 1000);
    assert_int_equal(removed->element[1]->len, 16);
    freeReplyObject(page);
}

static void what_groups_do_is_not_told(void **state)
{
    expect(c, "5-1", "XADD s 5-1 f v");
    const char *from = now();
    expect(c, "+OK", "XGROUP CREATE s g 0");
    assert_true(text_fits(since(from), "[[['s'] * @ (nil) [part [] []]]]]"));
    from = now();
    expect(c, "*5-1*", "XREADGROUP GROUP g w STREAMS s >");
    expect(c, ":1", "XACK s g 5-1");
    assert_true(text_fits(since(from), "[]]"));
}

static void a_prefix_hides_other_keys(void **state)
{
    const char *from = now();
    many("SADD", "k", 100);
    expect(c, "+OK", "SET l 1");
    const char *page = ask(c, "KV.CHANGES %s PREFIX ['l'] ELEMENTS", from);
    assert_true(text_fits(page, "[@ []]"));
    expect(c, "-ERR syntax error*", "KV.CHANGES %s ELEMENTS ELEMENTS", from);
    /* Without ELEMENTS nothing is different. */
    expect(c, "[@ [[['k'] * @ (nil)] [['l'] * @ (nil)]]]", "KV.CHANGES %s", from);
}

/* ---- a copy ---------------------------------------------------------------------------------- */

static void apply_one(const char *kind, const char *key, const redisReply *x)
{
    const char *type = kind;
    if (strcmp(type, "hash") == 0) {
        freeReplyObject(
            redisCommand(d, "HSET %s %s %s", key, x->element[0]->str, x->element[1]->str));
    } else if (strcmp(type, "set") == 0) {
        freeReplyObject(redisCommand(d, "SADD %s %s", key, x->str));
    } else if (strcmp(type, "zset") == 0) {
        freeReplyObject(
            redisCommand(d, "ZADD %s %s %s", key, x->element[1]->str, x->element[0]->str));
    } else if (strcmp(type, "list") == 0) { /* a sorted set by position */
        long long at = x->element[0]->integer;
        freeReplyObject(redisCommand(d, "ZREMRANGEBYSCORE %s %lld %lld", key, at, at));
        freeReplyObject(redisCommand(d, "ZADD %s %lld %lld:%s", key, at, at, x->element[1]->str));
    } else {
        const redisReply *f = x->element[1];
        freeReplyObject(redisCommand(d, "XADD %s %s %s %s", key, x->element[0]->str,
                                     f->element[0]->str, f->element[1]->str));
    }
}

static void remove_one(const char *kind, const char *key, const redisReply *x)
{
    if (strcmp(kind, "hash") == 0) {
        freeReplyObject(redisCommand(d, "HDEL %s %s", key, x->str));
    } else if (strcmp(kind, "set") == 0) {
        freeReplyObject(redisCommand(d, "SREM %s %s", key, x->str));
    } else if (strcmp(kind, "zset") == 0) {
        freeReplyObject(redisCommand(d, "ZREM %s %s", key, x->str));
    } else if (strcmp(kind, "list") == 0) {
        freeReplyObject(
            redisCommand(d, "ZREMRANGEBYSCORE %s %lld %lld", key, x->integer, x->integer));
    } else if (x->type == REDIS_REPLY_ARRAY) {
        freeReplyObject(redisCommand(d, "XTRIM %s MINID %s", key, x->element[1]->str));
    } else {
        freeReplyObject(redisCommand(d, "XDEL %s %s", key, x->str));
    }
}

static const char *kind_of(const char *value)
{
    static const char *const kinds[] = {"hash", "list", "zset", "set", "stream"};
    for (size_t i = 0; i < 5; i++) {
        char text[40];
        snprintf(text, sizeof text, "\"type\":\"%s\"", kinds[i]);
        if (strstr(value, text) != NULL) return kinds[i];
    }
    fail_msg("%s is no collection", value);
    return NULL;
}

/* ["k"] is k. */
static const char *name_of(const char *key, char out[20])
{
    snprintf(out, 20, "%.*s", (int)strlen(key) - 4, key + 2);
    return out;
}

static void apply(const redisReply *row)
{
    char key[20];
    char from[20];
    const redisReply *e = row->element[4];
    name_of(row->element[0]->str, key);
    if (e->type == REDIS_REPLY_NIL) {
        freeReplyObject(redisCommand(d, "DEL %s", key));
        if (row->element[1]->type != REDIS_REPLY_NIL)
            freeReplyObject(redisCommand(d, "SET %s string", key));
        return;
    }
    const char *kind = kind_of(row->element[1]->str);
    if (strcmp(e->element[0]->str, "whole") == 0) {
        freeReplyObject(redisCommand(d, "DEL %s", key));
        if (strcmp(kind, "stream") == 0) { /* one may be empty */
            freeReplyObject(redisCommand(d, "XGROUP CREATE %s g 0 MKSTREAM", key));
        }
    }
    if (strcmp(e->element[0]->str, "renamed") == 0) {
        freeReplyObject(redisCommand(d, "RENAME %s %s", name_of(e->element[3]->str, from), key));
    }
    for (size_t i = 0; i < e->element[1]->elements; i++)
        apply_one(kind, key, e->element[1]->element[i]);
    for (size_t i = 0; i < e->element[2]->elements; i++)
        remove_one(kind, key, e->element[2]->element[i]);
}

/* Renames are done before the deletion of what they take away, which is of the same commit. */
static void apply_commit(redisReply *const *rows, size_t count)
{
    for (int is_deletion = 0; is_deletion < 2; is_deletion++) {
        for (size_t i = 0; i < count; i++) {
            if ((rows[i]->element[1]->type == REDIS_REPLY_NIL) == is_deletion) apply(rows[i]);
        }
    }
}

static void follow(char *from)
{
    redisReply *page = ask_reply(c, "KV.CHANGES %s COUNT 10000 ELEMENTS", from);
    assert_int_equal(page->type, REDIS_REPLY_ARRAY);
    const redisReply *rows = page->element[1];
    for (size_t i = 0; i < rows->elements;) {
        size_t end = i + 1;
        while (end < rows->elements && strcmp(rows->element[end]->element[2]->str,
                                              rows->element[i]->element[2]->str) == 0) {
            end++;
        }
        apply_commit(rows->element + i, end - i);
        i = end;
    }
    strcpy(from, page->element[0]->str);
    freeReplyObject(page);
}

static int by_text(const void *a, const void *b)
{
    const char *const *x = a;
    const char *const *y = b;
    return strcmp(*x, *y);
}

/* The reply's items in a fixed order, each `step` together. Free it. */
static char *sorted(const redisReply *r, size_t step)
{
    char *out = NULL;
    size_t len = 0;
    size_t n = r->elements / step;
    char **items = calloc(n + 1, sizeof *items);
    FILE *f = open_memstream(&out, &len);
    for (size_t i = 0; i < n; i++) {
        const char *second = step == 2 ? r->element[2 * i + 1]->str : "";
        size_t bytes = strlen(r->element[step * i]->str) + strlen(second) + 2;
        items[i] = malloc(bytes);
        snprintf(items[i], bytes, "%s=%s", r->element[step * i]->str, second);
    }
    if (n > 1) qsort(items, n, sizeof *items, by_text);
    for (size_t i = 0; i < n; i++) {
        fprintf(f, "%s ", items[i]);
        free(items[i]);
    }
    free(items);
    fclose(f);
    return out;
}

static char *elements_of(redisContext *x, const char *key, const char *type)
{
    static const struct {
        const char *type, *command;
        size_t step;
    } kinds[] = {{"hash", "HGETALL %s", 2},
                 {"set", "SMEMBERS %s", 1},
                 {"zset", "ZRANGE %s 0 -1 WITHSCORES", 2}};
    for (size_t i = 0; i < 3; i++) {
        if (strcmp(kinds[i].type, type) != 0) continue;
        redisReply *r = ask_reply(x, kinds[i].command, key);
        char *out = sorted(r, kinds[i].step);
        freeReplyObject(r);
        return out;
    }
    return strdup(strcmp(type, "stream") == 0 ? ask(x, "XRANGE %s - +", key) : "");
}

static void expect_same_list(const char *key)
{
    redisReply *list = ask_reply(c, "LRANGE %s 0 -1", key);
    redisReply *copy = ask_reply(d, "ZRANGE %s 0 -1", key);
    assert_int_equal(list->elements, copy->elements);
    for (size_t i = 0; i < list->elements; i++) {
        assert_string_equal(strchr(copy->element[i]->str, ':') + 1, list->element[i]->str);
    }
    freeReplyObject(list);
    freeReplyObject(copy);
}

static void expect_same(unsigned round)
{
    for (int i = 0; i < KEYS; i++) {
        char key[20];
        snprintf(key, sizeof key, "k%d", i);
        const char *type = ask(c, "TYPE %s", key) + 1;
        const char *copied = ask(d, "TYPE %s", key) + 1;
        if (strcmp(type, "list") == 0) {
            assert_string_equal(copied, "zset");
            expect_same_list(key);
            continue;
        }
        if (strcmp(type, "number") == 0) type = "string";
        if (strcmp(type, copied) != 0)
            fail_msg("round %u: %s: %s, the copy: %s", round, key, type, copied);
        char *is = elements_of(c, key, type);
        char *copy = elements_of(d, key, type);
        if (strcmp(is, copy) != 0)
            fail_msg("round %u: %s, %s:\n%s\nthe copy:\n%s", round, key, type, is, copy);
        free(is);
        free(copy);
    }
}

static unsigned seed;

static unsigned below(unsigned n)
{
    seed = seed * 1103515245 + 12345;
    return (seed >> 16) % n;
}

static void some_step(void)
{
    static const char *const commands[] = {
        "HSET k%u a%u v%u",
        "HDEL k%u a%u",
        "HINCRBY k%u n%u %u",
        "RPUSH k%u a%u b%u",
        "LPUSH k%u a%u",
        "LPOP k%u",
        "RPOP k%u",
        "LSET k%u %u new%u",
        "LREM k%u 1 a%u",
        "LINSERT k%u BEFORE a%u i%u",
        "LTRIM k%u %u -2",
        "SADD k%u a%u b%u",
        "SREM k%u a%u",
        "SPOP k%u 1",
        "ZADD k%u %u a%u",
        "ZINCRBY k%u %u a1",
        "ZREM k%u a%u",
        "ZREMRANGEBYRANK k%u 0 %u",
        "XADD k%u * f v%u",
        "XTRIM k%u MAXLEN %u",
        "SET k%u s%u",
        "DEL k%u",
        "KV.SET ['k%u'] %u",
        "SUNIONSTORE k%u k1 k2",
        "SORT k%u ALPHA STORE k2",
        "XSETID k%u 9999999999999-%u",
    };
    static const char *const larger[] = {"SADD", "RPUSH", "LPUSH"};
    unsigned key = below(KEYS);
    char name[20];
    char other[20];
    snprintf(name, sizeof name, "k%u", key);
    snprintf(other, sizeof other, "k%u", below(KEYS));
    switch (below(12)) {
    case 0: many(larger[below(3)], name, 60 + (int)below(60)); break;
    case 1: ask(c, "RENAME %s %s", name, other); break;
    case 2: ask(c, "COPY %s %s REPLACE", name, other); break;
    default:
        ask(c, commands[below(sizeof commands / sizeof commands[0])], key, below(100), below(100));
    }
}

static void a_copy_that_follows_is_the_same(void **state)
{
    char from[40];
    expect(d, "+OK", "SELECT 1");
    for (unsigned round = 0; round < ROUNDS; round++) {
        seed = round;
        ask(c, "FLUSHDB");
        ask(d, "FLUSHDB");
        snprintf(from, sizeof from, "%s", now());
        for (int step = 0; step < STEPS; step++) {
            bool is_many = below(5) == 0;
            if (is_many) ask(c, "MULTI");
            for (unsigned k = is_many ? 1 + below(4) : 1; k > 0; k--) some_step();
            if (is_many) ask(c, "EXEC");
            if (step % 10 != 9) continue;
            follow(from);
            expect_same(round);
        }
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, group_enter, group_leave)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_small_one_is_told_whole),       TEST(of_a_large_one_what_changed),
        TEST(fields_scores_and_entries),       TEST(a_long_trim_is_a_range),
        TEST(a_rename_says_from_where),        TEST(a_long_name_that_was_removed),
        TEST(what_groups_do_is_not_told),      TEST(a_prefix_hides_other_keys),
        TEST(a_copy_that_follows_is_the_same),
    };
    return cmocka_run_group_tests(tests, start, group_stop);
}
