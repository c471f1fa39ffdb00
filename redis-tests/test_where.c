/* WHERE (docs/filters.md) on the five commands that take it: the same filter means the same for all of
 * them, wherever the entries are; cursors, transactions, and deletes while others write.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "client.h"
#include "group.h"
#include "load_help.h"
#include "search_help.h"

#define LIMIT_MS 20000

static redisContext *c, *d;

static int start(void **state)
{
    group_opens(&c, &d, NULL);
    server = testserver_start(NULL);
    return 0;
}

static int enter(void **state)
{
    group_enter(state);
    drop_indexes(c);
    return 0;
}

static int leave(void **state)
{
    expect(c, "+OK", "CONFIG SET max-transaction-ops 10000");
    return group_leave(state);
}

/* ---- sets of numbered entries ---------------------------------------------------------------- */

#define NUMBERS_MAX 100000

/* Which numbers there are. */
struct set {
    size_t count;
    bool has[NUMBERS_MAX];
};

static void set_add(struct set *s, const char *key)
{
    const char *comma = strrchr(key, ',');
    if (comma == NULL) fail_msg("a key without a number: %s", key);
    long n = strtol(comma + 1, NULL, 10);
    assert_true(n >= 0 && n < NUMBERS_MAX);
    if (s->has[n]) fail_msg("%s is told twice", key);
    s->has[n] = true;
    s->count++;
}

/* Adds the keys of a list of keys or entries. */
static void set_add_all(struct set *s, const redisReply *list)
{
    if (list->type != REDIS_REPLY_ARRAY) fail_msg("%s", list->str != NULL ? list->str : "no list");
    for (size_t i = 0; i < list->elements; i++) {
        const redisReply *e = list->element[i];
        set_add(s, e->type == REDIS_REPLY_ARRAY ? e->element[0]->str : e->str);
    }
}

static void set_expect(const char *what, const struct set *got, const struct set *wanted)
{
    for (int i = 0; i < NUMBERS_MAX; i++) {
        if (got->has[i] == wanted->has[i]) continue;
        fail_msg("%s: %d is %s", what, i, got->has[i] ? "one too many" : "missing");
    }
}

/* All pages of a command that begins so ("KV.LIST PREFIX ['f']", "KV.FIND all"). */
static void read_pages(redisContext *by, const char *command, const char *where, int limit,
                       struct set *s)
{
    char cursor[4096] = "0";
    char format[300];
    memset(s, 0, sizeof *s);
    snprintf(format, sizeof format, "%s LIMIT %d CURSOR %%s WHERE %%s", command, limit);
    do {
        redisReply *r = ask_reply(by, format, cursor, with_quotes(where));
        if (r->type != REDIS_REPLY_ARRAY) fail_msg("%s %s: %s", command, where, r->str);
        assert_true(r->element[1]->elements <= (size_t)limit);
        snprintf(cursor, sizeof cursor, "%s", r->element[0]->str);
        bool is_last = strcmp(cursor, "0") == 0;
        if (!is_last) assert_int_equal(r->element[1]->elements, limit);
        set_add_all(s, r->element[1]);
        freeReplyObject(r);
    } while (strcmp(cursor, "0") != 0);
}

/* ---- the same everywhere --------------------------------------------------------------------- */

#define VARIED 60

/* Entry ['f',i], for every i a bit different. */
static void write_varied(redisContext *by, int i)
{
    static const char *const tags[] = {",\"tags\":[\"a\",\"b\"]", ",\"tags\":[\"b\"]",
                                       ",\"tags\":[]", ""};
    char n[40] = "";
    char s[40] = "null";
    char big[60];
    if (i % 7 != 0) snprintf(n, sizeof n, "\"n\":%d,", i);
    if (i % 3 != 2)
        snprintf(s, sizeof s, "\"%s%d\"",
                 i % 3 == 0 ? "alpha"
                            : "Stra\xc3\x9f"
                              "e",
                 i);
    snprintf(big, sizeof big, i % 10 == 0 ? "{\"$bigint\":\"%d\"}" : "%d.5", i);
    char json[500];
    snprintf(
        json, sizeof json,
        "{%s\"s\":%s%s,\"w\":\"common\",\"o\":{\"a\":{\"x\":%d},\"l\":[{\"p\":%d},{\"p\":-1}]},"
        "\"big\":%s,\"d\":{\"$date\":\"2024-01-%02dT00:00:00.000Z\"},\"a.b\":%s}",
        n, s, tags[i % 4], i % 5, i % 6, big, 1 + i % 28, i % 2 == 0 ? "true" : "false");
    expect(by, "@", "KV.SET ['f',%d] %s", i, json);
}

static bool has_n(int i)
{
    return i % 7 != 0;
}

#define MATCHES(name, condition)                                                                   \
    static bool name(int i)                                                                        \
    {                                                                                              \
        return condition;                                                                          \
    }

MATCHES(n_10_to_19, has_n(i) && i >= 10 && i < 20)
MATCHES(n_not_5, has_n(i) && i != 5)
MATCHES(no_n, !has_n(i))
MATCHES(some_n, has_n(i))
MATCHES(s_alpha, i % 3 == 0)
MATCHES(s_strasse, i % 3 == 1)
MATCHES(s_null, i % 3 == 2)
MATCHES(s_other, i % 3 != 2 && i != 0)
MATCHES(tag_a, i % 4 == 0)
MATCHES(tags_empty, i % 4 >= 2)
MATCHES(tags_b, i % 4 == 1)
MATCHES(x_1_or_3, i % 5 == 1 || i % 5 == 3)
MATCHES(p_2, i % 6 == 2)
MATCHES(big_over_30, i > 30)
MATCHES(big_20, i == 20)
MATCHES(before_the_10th, 1 + i % 28 < 10)
MATCHES(quoted_name, i % 2 == 0)
MATCHES(n_3_or_tag_a, (has_n(i) && i == 3) || i % 4 == 0)
MATCHES(n_over_3_and_not_x_2, has_n(i) && i > 3 && i % 5 != 2)
MATCHES(n_5_to_7, has_n(i) && i >= 5 && i <= 7)
MATCHES(every_one, i >= 0)
MATCHES(none, i < 0)

static const struct {
    const char *where;
    bool (*is_match)(int i);
} filters[] = {
    {"{'n':{'$gte':10,'$lt':20}}", n_10_to_19},
    {"{'n':{'$ne':5}}", n_not_5},
    {"{'n':null}", no_n},
    {"{'n':{'$exists':false}}", no_n},
    {"{'n':{'$lt':{'$now':true,'$offset':-1000}}}", some_n},
    {"{'n':{'$between':[5,7]}}", n_5_to_7},
    {"{'s':{'$startsWith':'alpha'}}", s_alpha},
    {"{'s':{'$containsi':'STRASSE'}}", s_strasse},
    {"{'$not':{'s':{'$startsWith':'alpha'}}}", s_strasse}, /* null is unknown */
    {"{'s':{'$null':true}}", s_null},
    {"{'s':{'$nin':['alpha0',null]}}", s_other},
    {"{'tags':{'$contains':'a'}}", tag_a},
    {"{'tags':{'$empty':true}}", tags_empty},
    {"{'tags':['b']}", tags_b},
    {"{'o.a.x':{'$in':[3,1,{'$bigint':'1'}]}}", x_1_or_3},
    {"{'o.l[0].p':2,'$.o.l[#-1].p':-1}", p_2},
    {"{'big':{'$gt':30}}", big_over_30},
    {"{'big':20}", big_20},
    {"{'d':{'$lt':{'$date':'2024-01-10T00:00:00.000Z'}}}", before_the_10th},
    {"{'\\'a.b\\'':true}", quoted_name},
    {"{'$or':[{'n':3},{'tags':{'$contains':'a'}}]}", n_3_or_tag_a},
    {"{'$and':[{'n':{'$gt':3}},{'$not':{'o.a.x':2}}]}", n_over_3_and_not_x_2},
    {"{}", every_one},
    {"{'$':{'$exists':true}}", every_one},
    {"{'w':{'$in':[]}}", none},
    {"{'n':'5'}", none},
};

#define FILTERS (sizeof filters / sizeof *filters)

static void expect_everywhere(size_t f)
{
    static struct set wanted, got;
    const char *where = filters[f].where;
    memset(&wanted, 0, sizeof wanted);
    for (int i = 0; i < VARIED; i++) {
        wanted.has[i] = filters[f].is_match(i);
        wanted.count += wanted.has[i];
    }
    read_pages(c, "KV.LIST PREFIX ['f']", where, 9, &got);
    set_expect(where, &got, &wanted);
    read_pages(c, "KV.LIST PREFIX ['f'] REVERSE KEYSONLY", where, 9, &got);
    set_expect(where, &got, &wanted);
    read_pages(c, "KV.FIND all", where, 9, &got);
    set_expect(where, &got, &wanted);
    read_pages(c, "KV.FIND all 'common' REVERSE KEYSONLY", where, 9, &got);
    set_expect(where, &got, &wanted);
    redisReply *r = ask_reply(c, "KV.SEARCH texts common LIMIT 1000 WHERE %s", with_quotes(where));
    memset(&got, 0, sizeof got);
    set_add_all(&got, r);
    freeReplyObject(r);
    set_expect(where, &got, &wanted);
    assert_int_equal(ask_integer(c, "KV.COUNT PREFIX ['f'] WHERE %s", with_quotes(where)),
                     wanted.count);
    assert_int_equal(ask_integer(c, "KV.DELRANGE PREFIX ['f'] WHERE %s", with_quotes(where)),
                     wanted.count);
    read_pages(c, "KV.LIST PREFIX ['f'] KEYSONLY", "{}", 100, &got);
    for (int i = 0; i < VARIED; i++) {
        if (got.has[i] == wanted.has[i]) fail_msg("%s: deleted is not what was listed", where);
        if (wanted.has[i]) write_varied(c, i);
    }
}

static void a_filter_means_the_same_for_every_command(void **state)
{
    for (int i = 0; i < VARIED; i++) write_varied(c, i);
    expect(c, "+OK", "KV.INDEX CREATE all PREFIX ['f'] ON 1 w");
    create_index(c, "texts PREFIX ['f'] TEXT 1 w");
    for (size_t f = 0; f < FILTERS; f++) expect_everywhere(f); /* partly in memory */
    wait_until_applied(c);
    for (size_t f = 0; f < FILTERS; f++) expect_everywhere(f);
}

/* ---- errors ---------------------------------------------------------------------------------- */

static void a_wrong_filter_does_nothing(void **state)
{
    static const char *const wrong[] = {
        "",
        "{",
        "1",
        "[]",
        "null",
        "'x'",
        "{'n':1} x",
        "{'n':1,'n':2}",
        "{'n':{'$foo':1}}",
        "{'$foo':1}",
        "{'n':{'$gt':1,'b':2}}",
        "{'n':{'b':{'$gt':1}}}",
        "{'$or':[]}",
        "{'$and':[]}",
        "{'$or':{'n':1}}",
        "{'$or':[1]}",
        "{'$not':[{'n':1}]}",
        "{'n':{'$in':5}}",
        "{'n':{'$between':[1]}}",
        "{'n':{'$null':'yes'}}",
        "{'n':{'$startsWith':1}}",
        "{'n':{'$now':false}}",
        "{'a..b':1}",
        "{'':1}",
        "{'a[':1}",
        "{'n':{'$bigint':'x'}}",
        "\xff",
        "{'n':'\xff'}",
    };
    static const char *const commands[] = {
        "KV.LIST PREFIX ['f']",     "KV.COUNT",       "KV.FIND all", "KV.SEARCH texts common",
        "KV.DELRANGE PREFIX ['f']", "KV.DELRANGE ALL"};
    for (int i = 0; i < 5; i++) write_varied(c, i);
    expect(c, "+OK", "KV.INDEX CREATE all PREFIX ['f'] ON 1 w");
    create_index(c, "texts PREFIX ['f'] TEXT 1 w");
    for (size_t k = 0; k < sizeof commands / sizeof *commands; k++) {
        char format[200];
        snprintf(format, sizeof format, "%s WHERE %%s", commands[k]);
        for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
            const char *got = ask(c, format, with_quotes(wrong[i]));
            if (!text_fits(got, "-ERR where: *")) fail_msg("%s %s: %s", format, wrong[i], got);
        }
        snprintf(format, sizeof format, "%s WHERE", commands[k]);
        expect(c, "-ERR syntax error: WHERE needs an argument", format);
        snprintf(format, sizeof format, "%s WHERE {} WHERE {}", commands[k]);
        expect(c, "-ERR syntax error: 'WHERE' is a duplicate*", format);
    }
    expect(c, "+OK", "MULTI");
    expect(c, "+QUEUED", "KV.SET ['f',9] 1");
    expect(c, "+QUEUED", "KV.DELRANGE ALL WHERE {'n':{'$foo':1}}");
    expect(c, "-EXECABORT command 2 kv.delrange: ERR where: n: unknown operator $foo", "EXEC");
    expect(c, ":5", "KV.COUNT"); /* nothing was done */
}

/* ---- cursors --------------------------------------------------------------------------------- */

static void write_many(redisContext *by, int count)
{
    for (int i = 0; i < count; i++) {
        say(by, "KV.SET ['m',%d] {'n':%d,'s':'word%d','h':%s}", i, i, i % 1000,
            i % 2 == 0 ? "true" : "null");
        if (i % 1000 == 999) expect_many(by, 1000, "@");
    }
    expect_many(by, (size_t)(count % 1000), "@");
}

static void a_cursor_goes_on_where_the_page_ended(void **state)
{
    enum { COUNT = 2500 };
    static const char *const orders[] = {"KV.LIST PREFIX ['m']", "KV.LIST PREFIX ['m'] REVERSE",
                                         "KV.FIND by 'word7'", "KV.FIND by 'word7' REVERSE"};
    static struct set got, wanted;
    char cursor[2000];
    write_many(c, COUNT);
    expect(c, "+OK", "KV.INDEX CREATE by PREFIX ['m'] ON 2 s n");
    for (long until = testserver_now_ms() + LIMIT_MS; testserver_now_ms() < until;) {
        if (!text_fits(ask(c, "KV.FIND by LIMIT 1"), "-INDEXING *")) break;
    }
    for (int k = 0; k < 4; k++) {
        const char *where = k < 2 ? "{'n':{'$gte':1000},'h':null}" : "{'n':{'$ne':1007}}";
        memset(&wanted, 0, sizeof wanted);
        for (int i = 0; i < COUNT; i++) {
            wanted.has[i] = k < 2 ? i >= 1000 && i % 2 == 1 : i % 1000 == 7 && i != 1007;
        }
        for (int limit = 1; limit < 1000; limit = limit * 7 + 1) {
            if (limit == 1 && k < 2) continue;
            read_pages(c, orders[k], where, limit, &got);
            set_expect(where, &got, &wanted);
        }
        /* In order, and no other filter's. */
        char command[200];
        snprintf(command, sizeof command, "%s LIMIT 1 WHERE %s", orders[k], where);
        redisReply *r = ask_reply(c, command);
        snprintf(cursor, sizeof cursor, "%s", r->element[0]->str);
        assert_string_not_equal(cursor, "0");
        freeReplyObject(r);
        snprintf(command, sizeof command, "%s CURSOR %%s WHERE %%s", orders[k]);
        expect(c, "-ERR invalid cursor*", command, cursor, with_quotes("{'n':{'$gte':1001}}"));
        expect(c, "-ERR invalid cursor*", command, cursor, "{}");
        snprintf(command, sizeof command, "%s CURSOR %%s", orders[k]);
        expect(c, "-ERR invalid cursor*", command, cursor);
        r = ask_reply(c, command, "0");
        snprintf(cursor, sizeof cursor, "%s", r->element[0]->str);
        freeReplyObject(r);
        if (k >= 2) continue; /* one page */
        snprintf(command, sizeof command, "%s CURSOR %%s WHERE %%s", orders[k]);
        expect(c, "-ERR invalid cursor*", command, cursor, "{}");
    }
    expect(c, "[* [['m',1001] ['m',1003] ['m',1005]]]",
           "KV.LIST PREFIX ['m'] KEYSONLY LIMIT 3 WHERE {'n':{'$gte':1000},'h':null}");
    expect(c, "[* [['m',999] ['m',997] ['m',995]]]",
           "KV.LIST PREFIX ['m'] KEYSONLY LIMIT 3 REVERSE WHERE {'n':{'$lt':1000},'h':null}");
}

/* ---- wherever the entries are ---------------------------------------------------------------- */

static void a_hundred_thousand_entries_of_the_store(void **state)
{
    enum { COUNT = 100000 };
    static struct set got, wanted;
    static const char *const wheres[] = {"{'s':'word77'}", "{'h':true}",
                                         "{'$or':[{'n':{'$lt':10}},{'s':{'$endsWith':'99'}}]}",
                                         "{'n':-1}"};
    write_many(c, COUNT);
    wait_until_applied(c);
    for (size_t k = 0; k < 4; k++) {
        memset(&wanted, 0, sizeof wanted);
        for (int i = 0; i < COUNT; i++) {
            const bool is[] = {i % 1000 == 77, i % 2 == 0, i < 10 || i % 100 == 99, false};
            wanted.has[i] = is[k];
            wanted.count += is[k];
        }
        read_pages(c, "KV.LIST PREFIX ['m'] KEYSONLY", wheres[k], 10000, &got);
        set_expect(wheres[k], &got, &wanted);
        assert_int_equal(ask_integer(c, "KV.COUNT WHERE %s", with_quotes(wheres[k])), wanted.count);
    }
    read_pages(c, "KV.LIST REVERSE", "{'s':'word5'}", 7, &got);
    assert_int_equal(got.count, 100);
}

/* What is in the store is overwritten, deleted and expired in memory. */
static void what_is_in_memory_hides_what_is_in_the_store(void **state)
{
    enum { COUNT = 3000 };
    static struct set got, wanted;
    write_many(c, COUNT);
    wait_until_applied(c);
    for (int i = 0; i < COUNT; i++) { /* 1/2 match h true */
        if (i % 3 == 0) say(c, "KV.SET ['m',%d] {'h':%s}", i, i % 2 == 0 ? "false" : "true");
        if (i % 5 == 0) say(c, "KV.DEL ['m',%d]", i);
        if (i % 7 == 0) say(c, "KV.PEXPIRE ['m',%d] 1", i);
    }
    memset(&wanted, 0, sizeof wanted);
    for (int i = 0; i < COUNT; i++) {
        if (i % 3 == 0) expect_next(c, "@");
        if (i % 5 == 0) expect_next(c, ":1");
        if (i % 7 == 0) expect_next(c, i % 5 == 0 ? ":0" : ":1");
        wanted.has[i] = (i % 2 == 0) != (i % 3 == 0) && i % 5 != 0 && i % 7 != 0;
        wanted.count += wanted.has[i];
    }
    long until = testserver_now_ms() + LIMIT_MS;
    while (!text_fits(ask(c, "KV.GET ['m',%d]", 2996), "(nil)")) {
        if (testserver_now_ms() > until) fail_msg("it does not expire");
    }
    for (int turn = 0; turn < 2; turn++) {
        read_pages(c, "KV.LIST", "{'h':true}", 50, &got);
        set_expect("list", &got, &wanted);
        read_pages(c, "KV.LIST REVERSE KEYSONLY", "{'h':true}", 333, &got);
        set_expect("reverse", &got, &wanted);
        assert_int_equal(ask_integer(c, "KV.COUNT WHERE {'h':true}"), wanted.count);
        if (turn == 0) wait_until_applied(c);
    }
    assert_int_equal(ask_integer(c, "KV.DELRANGE ALL WHERE {'h':true}"), wanted.count);
    expect(c, ":0", "KV.COUNT WHERE {'h':true}");
}

/* ---- transactions ---------------------------------------------------------------------------- */

static void inside_multi_a_filter_sees_its_writes(void **state)
{
    write_many(c, 10);
    expect(c, "+OK", "KV.INDEX CREATE by PREFIX ['m'] ON 1 n");
    for (int is_applied = 0; is_applied < 2; is_applied++) {
        if (is_applied == 1) wait_until_applied(c);
        expect(c, "+OK", "MULTI");
        expect(c, "+QUEUED", "KV.SET ['m',3] {'n':100}");
        expect(c, "+QUEUED", "KV.DEL ['m',8]");
        expect(c, "+QUEUED", "KV.SET ['m',11] {'n':11}");
        expect(c, "+QUEUED", "KV.LIST KEYSONLY WHERE {'n':{'$gt':6}}");
        expect(c, "+QUEUED", "KV.COUNT WHERE {'n':{'$gt':6}}");
        expect(c, "+QUEUED", "KV.FIND by KEYSONLY WHERE {'n':{'$gt':6}}");
        expect(c, "+QUEUED", "KV.DELRANGE PREFIX ['m'] WHERE {'n':{'$gt':9}}");
        expect(c, "+QUEUED", "KV.LIST KEYSONLY WHERE {'n':{'$gt':6}}");
        expect(c, "+QUEUED", "KV.COUNT WHERE {'h':true}");
        expect(c, "+QUEUED", "KV.SET ['m',8] {'n':8,'h':true}");
        expect(c, "+QUEUED", "KV.SET ['m',3] {'n':3}");
        expect(c,
               "[@ :1 @ [0 [['m',3] ['m',7] ['m',9] ['m',11]]] :4 "
               "[0 [['m',7] ['m',9] ['m',11] ['m',3]]] :2 [0 [['m',7] ['m',9]]] :4 @ @]",
               "EXEC");
        expect(c, ":10", "KV.COUNT PREFIX ['m']");
    }
    expect(c, "+OK", "CONFIG SET max-transaction-ops 3");
    expect(c, "+OK", "MULTI");
    expect(c, "+QUEUED", "KV.DELRANGE PREFIX ['m'] WHERE {'n':{'$gt':1}}");
    expect(c, "-EXECABORT command 1 kv.delrange: LIMIT *", "EXEC");
    expect(c, ":10", "KV.COUNT PREFIX ['m']");
}

/* ---- deletes --------------------------------------------------------------------------------- */

static void a_delete_has_a_limit_and_goes_beyond_a_transaction(void **state)
{
    static struct set got;
    write_many(c, 3000);
    expect(c, ":10", "KV.DELRANGE PREFIX ['m'] WHERE {'h':true} LIMIT 10");
    expect(c,
           "[* [['m',1] ['m',3] ['m',5] ['m',7] ['m',9] ['m',11] ['m',13] ['m',15] ['m',17] "
           "['m',19] ['m',20] ['m',21]]]",
           "KV.LIST KEYSONLY LIMIT 12"); /* the first ones */
    expect(c, ":0", "KV.DELRANGE START ['m',0] END ['m',20] WHERE {'h':true}");
    expect(c, ":1", "KV.DELRANGE START ['m',0] END ['m',21] WHERE {'h':true} LIMIT 5");
    expect(c, "+OK", "CONFIG SET max-transaction-ops 100");
    expect(c, ":250", "KV.DELRANGE ALL WHERE {'h':true} LIMIT 250");
    if (strcmp(ask(c, "KV.LIST KEYSONLY LIMIT 1 WHERE {'h':true}"), "[0 []]") == 0) {
        fail_msg("more than the limit");
    }
    expect(c, ":1239", "KV.DELRANGE ALL WHERE {'h':true}");
    read_pages(c, "KV.LIST KEYSONLY", "{}", 1000, &got);
    assert_int_equal(got.count, 1500);
    for (int i = 0; i < 3000; i++) assert_int_equal(got.has[i], i % 2);
    expect(c, ":1", "KV.DELRANGE ALL WHERE {'n':2999}");
    expect(c, ":1499", "KV.DELRANGE ALL WHERE {}");
    expect(c, ":0", "DBSIZE");
}

/* Writers overwrite what is there (XX: what was deleted stays so) while one deletes those with m 1:
 *
 *   ['r',i], i % 4: 0 always matches; 1 never does; 2 now this, now that; 3 matches, left alone
 *   ['p',i] and ['p',i+1], i even: one of them matches, the other does not; each write swaps them
 */
#define KEYS 4000
#define PAIRS 100
#define WRITERS 4

struct storm {
    struct load_client clients[WRITERS + 1]; /* the last one deletes */
    char stamps[PAIRS][24];                  /* of the last swap; "" = the delete was there */
    unsigned turn[PAIRS];
    size_t swapping[WRITERS]; /* pair that the writer's command is about; PAIRS = none */
    size_t replies;
    long long removed; /* -1 = not yet */
};

static void write_next(struct storm *s, struct load_client *l)
{
    size_t pair = load_below(PAIRS * 2);
    s->swapping[l->number] = PAIRS;
    if (pair < PAIRS && pair % WRITERS == l->number && s->stamps[pair][0] != '\0') {
        size_t at = 2 * pair;
        s->swapping[l->number] = pair;
        s->turn[pair]++;
        load_say(l,
                 "KV.ATOMIC CHECK ['r','p',%d] %s CHECK ['r','p',%d] %s SET ['r','p',%d] "
                 "{'m':%d} SET ['r','p',%d] {'m':%d}",
                 (int)at, s->stamps[pair], (int)at + 1, s->stamps[pair], (int)at,
                 (int)s->turn[pair] % 2, (int)at + 1, (int)(s->turn[pair] + 1) % 2);
        return;
    }
    int i = (int)load_below(KEYS);
    if (i % 4 == 3) i--;
    const int m[] = {1, 0, (int)load_below(2)};
    load_say(l, "KV.SET ['r',%d] {'m':%d} XX", i, m[i % 4]);
}

static void on_written(struct load_client *l, const redisReply *r)
{
    struct storm *s = l->arg;
    size_t pair = s->swapping[l->number];
    if (r->type == REDIS_REPLY_ERROR) fail_msg("%s", r->str);
    if (pair < PAIRS) {
        snprintf(s->stamps[pair], sizeof s->stamps[pair], "%s",
                 r->type == REDIS_REPLY_STRING ? r->str : "");
    }
    s->replies++;
    if (s->removed < 0) write_next(s, l);
}

static void on_removed(struct load_client *l, const redisReply *r)
{
    struct storm *s = l->arg;
    if (r->type == REDIS_REPLY_INTEGER) {
        s->removed = r->integer;
    } else if (text_fits(r->str, "TRYAGAIN *") && strstr(r->str, "were removed") == NULL) {
        load_say(l, "KV.DELRANGE PREFIX ['r'] WHERE {'m':1}");
    } else {
        fail_msg("%s", r->str);
    }
}

static void storm_begin(struct storm *s)
{
    memset(s, 0, sizeof *s);
    s->removed = -1;
    for (int i = 0; i < KEYS; i++) say(c, "KV.SET ['r',%d] {'m':%d}", i, i % 4 == 0 || i % 4 == 3);
    expect_many(c, KEYS, "@");
    for (int i = 0; i < PAIRS; i++) {
        snprintf(s->stamps[i], sizeof s->stamps[i], "%s",
                 ask(c, "KV.ATOMIC SET ['r','p',%d] {'m':0} SET ['r','p',%d] {'m':1}", 2 * i,
                     2 * i + 1));
    }
    wait_until_applied(c);
    for (size_t i = 0; i <= WRITERS; i++) {
        struct load_client *l = &s->clients[i];
        l->number = i;
        l->arg = s;
        l->on_reply = i < WRITERS ? on_written : on_removed;
        load_open(l, server);
        for (int k = 0; k < (i < WRITERS); k++) write_next(s, l);
    }
}

static void storm_run(struct storm *s)
{
    long until = testserver_now_ms() + LIMIT_MS;
    bool has_begun = false;
    while (s->removed < 0) {
        load_turn(s->clients, WRITERS + 1, 50);
        if (testserver_now_ms() > until) fail_msg("the delete does not end");
        if (has_begun || s->replies < 500) continue;
        has_begun = true;
        load_say(&s->clients[WRITERS], "KV.DELRANGE PREFIX ['r'] WHERE {'m':1}");
    }
    load_drain(s->clients, WRITERS + 1, LIMIT_MS);
    for (size_t i = 0; i <= WRITERS; i++) load_close(&s->clients[i]);
}

static void expect_after_storm(const struct storm *s, bool is_one_transaction)
{
    static struct set got;
    memset(&got, 0, sizeof got);
    redisReply *r = ask_reply(c, "KV.LIST START ['r',0] END ['r',%d] KEYSONLY LIMIT 10000", KEYS);
    set_add_all(&got, r->element[1]);
    freeReplyObject(r);
    size_t left = got.count;
    for (int i = 0; i < KEYS; i++) {
        if (i % 4 == 2) continue;
        if (got.has[i] && i % 4 != 1) fail_msg("%d matched all the time and is there", i);
        if (!got.has[i] && i % 4 == 1) fail_msg("%d never matched and is gone", i);
    }
    memset(&got, 0, sizeof got);
    r = ask_reply(c, "KV.LIST PREFIX ['r','p'] LIMIT 10000");
    set_add_all(&got, r->element[1]);
    freeReplyObject(r);
    left += got.count;
    assert_int_equal(s->removed, (long long)KEYS + 2 * PAIRS - (long long)left);
    for (int i = 0; i < PAIRS && is_one_transaction; i++) {
        if (got.has[2 * i] == got.has[2 * i + 1]) fail_msg("pair %d: not one was removed", i);
    }
    if (is_one_transaction) expect(c, ":0", "KV.COUNT PREFIX ['r','p'] WHERE {'m':1}");
}

static void a_delete_is_about_one_state_while_others_write(void **state)
{
    static struct storm s;
    load_seed();
    for (int round = 0; round < 4; round++) {
        expect(c, "+OK", "FLUSHALL");
        storm_begin(&s);
        storm_run(&s);
        expect_after_storm(&s, true);
    }
}

static void a_delete_of_many_transactions_misses_nothing_either(void **state)
{
    static struct storm s;
    load_seed();
    for (int round = 0; round < 2; round++) {
        expect(c, "+OK", "FLUSHALL");
        expect(c, "+OK", "CONFIG SET max-transaction-ops %d", round == 0 ? 50 : 700);
        storm_begin(&s);
        storm_run(&s);
        expect_after_storm(&s, false);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, enter, leave)
    const struct CMUnitTest tests[] = {
        TEST(a_filter_means_the_same_for_every_command),
        TEST(a_wrong_filter_does_nothing),
        TEST(a_cursor_goes_on_where_the_page_ended),
        TEST(a_hundred_thousand_entries_of_the_store),
        TEST(what_is_in_memory_hides_what_is_in_the_store),
        TEST(inside_multi_a_filter_sees_its_writes),
        TEST(a_delete_has_a_limit_and_goes_beyond_a_transaction),
        TEST(a_delete_is_about_one_state_while_others_write),
        TEST(a_delete_of_many_transactions_misses_nothing_either),
    };
    return cmocka_run_group_tests(tests, start, group_stop);
}
