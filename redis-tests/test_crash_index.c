/* Indexes equal the data, whatever happened: writers set, overwrite, expire and delete entries
 * below a prefix while indexes of every kind are created and dropped over it and the server is
 * killed with -9 again and again, with the filling of indexes under way. After each start, and at
 * the end, what an index finds is what a filter over all entries finds; a unique value has one
 * owner.
 *
 * Environment: TUPLED_SEED; TUPLED_LONG=1 makes it long: CRASH_SECONDS (30).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "client.h"
#include "load_help.h"

#define WRITERS 16
#define SECONDS 7
#define KILL_EVERY_MS 900
#define KILLS_MIN 3 /* fewer prove little; a busy machine gets the time for them */
#define LIMIT_MS 60000
#define OLD 6000 /* entries that are there before the indexes: filling takes a while */
#define KEYS 3000
#define NUMBERS 20 /* values of "n" */
#define WORDS 30
#define UNIQUE 4000 /* values of "u" */

struct campaign {
    struct testserver *server;
    struct load_client writers[WRITERS];
    unsigned kills, writes, refused, compared;
};

static struct campaign run;

static unsigned campaign_seconds(void)
{
    const char *text = getenv("CRASH_SECONDS");
    if (!load_is_long()) return SECONDS;
    return text != NULL && atoi(text) > 0 ? (unsigned)atoi(text) : 30;
}

static void say_write(struct load_client *l)
{
    unsigned key = (unsigned)load_below(KEYS);
    unsigned unique = (unsigned)load_below(UNIQUE);
    const char *ttl = load_below(5) == 0 ? "PX 300" : "";
    if (load_below(8) == 0) {
        load_say(l, "KV.DEL ['m',%u]", key);
        return;
    }
    char command[300];
    snprintf(command, sizeof command,
             "KV.SET ['m',%u] {'n':%u,'u':%u,'t':['w%u','w%u'],'d':'w%u'} %s", key,
             (unsigned)load_below(NUMBERS), unique, (unsigned)load_below(WORDS),
             (unsigned)load_below(WORDS), (unsigned)load_below(WORDS), ttl);
    size_t len = strlen(command);
    if (command[len - 1] == ' ') command[len - 1] = '\0';
    load_say(l, command);
}

static void on_reply(struct load_client *l, const redisReply *r)
{
    bool is_duplicate = r->type == REDIS_REPLY_ERROR && strncmp(r->str, "DUPLICATE ", 10) == 0;
    if (r->type == REDIS_REPLY_ERROR && !is_duplicate) fail_msg("%s", r->str);
    run.writes++;
    run.refused += is_duplicate;
    say_write(l);
}

static void open_writers(void)
{
    for (size_t i = 0; i < WRITERS; i++) {
        struct load_client *l = &run.writers[i];
        *l = (struct load_client){.number = i, .on_reply = on_reply};
        load_open(l, run.server);
        for (int k = 0; k < 4; k++) say_write(l);
    }
}

static void close_writers(void)
{
    for (size_t i = 0; i < WRITERS; i++) load_close(&run.writers[i]);
}

/* ---- indexes --------------------------------------------------------------------------------- */

static void change_indexes(redisContext *c)
{
    static const char *const creations[] = {"KV.INDEX CREATE n PREFIX ['m'] ON 1 n",
                                            "KV.INDEX CREATE tn PREFIX ['m'] ON 2 t n",
                                            "KV.INDEX CREATE u PREFIX ['m'] ON 1 u UNIQUE",
                                            "KV.INDEX CREATE words PREFIX ['m'] TEXT 2 t d"};
    static const char *const names[] = {"n", "tn", "u", "words"};
    size_t i = (size_t)load_below(4);
    redisReply *r = load_below(3) == 0 ? ask_reply(c, "KV.INDEX DROP %s", names[i])
                                       : ask_reply(c, creations[i]);
    freeReplyObject(r); /* there already, or not there, or it cannot be unique: all are fine */
}

static bool is_state(redisContext *c, const char *name, const char *state)
{
    return strstr(ask(c, "KV.INDEX INFO %s", name), state) != NULL;
}

/* False: it does not exist, or has failed. */
static bool wait_ready(redisContext *c, const char *name)
{
    long until = testserver_now_ms() + LIMIT_MS;
    while (!is_state(c, name, "state ready")) {
        if (is_state(c, name, "no such index") || is_state(c, name, "state failed")) return false;
        if (testserver_now_ms() > until) fail_msg("%s is never ready", name);
        testserver_pause();
    }
    return true;
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Keys of the replies, sorted. */
static size_t keys_of(redisReply *entries, bool are_keys, const char **keys, size_t max)
{
    size_t count = 0;
    assert_int_equal(entries->type, REDIS_REPLY_ARRAY);
    for (size_t i = 0; i < entries->elements; i++) {
        const redisReply *key = are_keys ? entries->element[i] : entries->element[i]->element[0];
        assert_true(count < max);
        keys[count++] = key->str;
    }
    qsort(keys, count, sizeof *keys, compare_texts);
    return count;
}

#define FOUND_MAX 10000

/* `found` and the filtered list, both inside one look at the data: no client writes. */
static void compare(redisContext *c, redisReply *found, bool are_keys, const char *filter)
{
    static const char *a[FOUND_MAX];
    static const char *b[FOUND_MAX];
    if (found->type == REDIS_REPLY_ERROR) fail_msg("%s: %s", filter, found->str);
    redisReply *listed = ask_reply(c, "KV.LIST PREFIX ['m'] LIMIT 10000 KEYSONLY WHERE %s", filter);
    size_t count = keys_of(are_keys ? found->element[1] : found, are_keys, a, FOUND_MAX);
    size_t wanted = keys_of(listed->element[1], true, b, FOUND_MAX);
    if (count != wanted) fail_msg("%s: %zu found, %zu listed", filter, count, wanted);
    for (size_t i = 0; i < count; i++) assert_string_equal(a[i], b[i]);
    run.compared++;
    freeReplyObject(listed);
    freeReplyObject(found);
}

/* hiredis reads % in a format: the filters here have none. */
static void compare_find(redisContext *c, const char *find, const char *filter)
{
    char command[200];
    snprintf(command, sizeof command, "%s LIMIT 10000 KEYSONLY", find);
    compare(c, ask_reply(c, command), true, filter);
}

/* Entries must not expire between the two looks. */
static void wait_expired(redisContext *c)
{
    long until = testserver_now_ms() + 400;
    while (testserver_now_ms() < until) testserver_pause();
    expect(c, "+PONG", "PING");
}

static void compare_numbers(redisContext *c)
{
    char find[100];
    char filter[200];
    for (unsigned i = 0; i < NUMBERS; i++) {
        snprintf(find, sizeof find, "KV.FIND n %u", i);
        snprintf(filter, sizeof filter, "{\"n\":%u}", i);
        compare_find(c, find, filter);
    }
    compare_find(c, "KV.FIND n FROM 5 TO 9", "{\"n\":{\"$gte\":5,\"$lt\":9}}");
}

static void compare_all(redisContext *c)
{
    char find[100];
    char filter[200];
    if (wait_ready(c, "n")) compare_numbers(c);
    for (unsigned i = 0; wait_ready(c, "tn") && i < WORDS; i++) {
        snprintf(find, sizeof find, "KV.FIND tn \"w%u\"", i);
        snprintf(filter, sizeof filter, "{\"t\":{\"$contains\":\"w%u\"}}", i);
        compare_find(c, find, filter);
    }
    if (wait_ready(c, "u")) {
        compare_find(c, "KV.FIND u", "{\"u\":{\"$exists\":true}}");
        for (unsigned i = 0; i < UNIQUE; i += 97) {
            snprintf(filter, sizeof filter, "{\"u\":%u}", i);
            assert_true(ask_integer(c, "KV.COUNT PREFIX ['m'] WHERE %s", filter) <= 1);
        }
    }
    for (unsigned i = 0; wait_ready(c, "words") && i < WORDS; i++) {
        snprintf(filter, sizeof filter,
                 "{\"$or\":[{\"t\":{\"$contains\":\"w%u\"}},{\"d\":\"w%u\"}]}", i, i);
        compare(c, ask_reply(c, "KV.SEARCH words w%u LIMIT 10000", i), false, filter);
    }
}

/* ---- the campaign ---------------------------------------------------------------------------- */

static void write_old(redisContext *c)
{
    for (unsigned i = 0; i < OLD; i += 1000) {
        for (unsigned k = i; k < i + 1000; k++) {
            say(c, "KV.SET ['m','old',%u] {'n':%u,'u':%u,'t':['w%u'],'d':'w%u'}", k, k % NUMBERS,
                100000 + k, k % WORDS, k % 7);
        }
        expect_many(c, 1000, "@");
    }
}

static void indexes_equal_the_data_after_every_kill(void **state)
{
    struct testserver_options o = {.is_release = true};
    load_seed();
    run.server = testserver_start(&o);
    redisContext *c = testserver_connect(run.server);
    write_old(c);
    long until = testserver_now_ms() + (long)campaign_seconds() * 1000;
    while (testserver_now_ms() < until || run.kills < KILLS_MIN) {
        long next_kill = testserver_now_ms() + KILL_EVERY_MS / 2 + (long)load_below(KILL_EVERY_MS);
        open_writers();
        while (testserver_now_ms() < next_kill) {
            for (int i = 0; i < 20; i++) load_turn(run.writers, WRITERS, 1);
            change_indexes(c);
        }
        testserver_kill(run.server);
        run.kills++;
        close_writers();
        redisFree(c);
        testserver_again(run.server);
        c = testserver_connect(run.server);
        wait_expired(c);
        if (run.kills % 2 == 0) compare_all(c);
    }
    /* Every index is there at the end. */
    for (int i = 0; i < 100; i++) change_indexes(c);
    compare_all(c);
    redisFree(c);
    testserver_stop(run.server);
    testserver_again(run.server);
    c = testserver_connect(run.server);
    compare_all(c);
    redisFree(c);
    testserver_free(run.server);
    printf("%u writes, %u refused as duplicates, %u kills, %u comparisons\n", run.writes,
           run.refused, run.kills, run.compared);
    assert_true(run.kills >= KILLS_MIN);
    assert_true(run.compared >= 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(indexes_equal_the_data_after_every_kill),
    };
    load_use_disk();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
