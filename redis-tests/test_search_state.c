/* Text search over time: what was written is found at once and no longer than it is there,
 * whichever client or command wrote it; while an index is being filled; and again after a restart,
 * a crash and a restored backup. What a query means: test_search.c.
 */
#include <dirent.h>
#include <ftw.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "client.h"
#include "group.h"
#include "load_help.h"
#include "search_help.h"

#define LIMIT_MS 15000

static redisContext *c, *d;

static int start(void **state)
{
    group_opens(&c, &d, NULL);
    server = testserver_start_with("--databases", "4", NULL);
    return 0;
}

static int enter(void **state)
{
    group_enter(state);
    for (int i = 1; i >= 0; i--) {
        expect(c, "+OK", "SELECT %d", i);
        drop_indexes(c);
    }
    return 0;
}

/* ---- what was written is found --------------------------------------------------------------- */

static void a_search_sees_the_write_before_it(void **state)
{
    create_index(c, "b PREFIX ['b'] TEXT 1 t");
    for (int i = 0; i < 200; i++) {
        char is[20];
        snprintf(is, sizeof is, "%d", i);
        expect(c, "@", "KV.SET ['b',%d] {'t':'word%d'}", i, i);
        finds(c, is, "b word%d", i);
        if (i % 2 != 0) continue;
        expect(c, "@", "KV.SET ['b',%d] {'t':'other%d'}", i, i); /* moves it */
        finds(c, "", "b word%d", i);
        finds(c, is, "b other%d", i);
        expect(d, ":1", "KV.DEL ['b',%d]", i); /* by another connection */
        finds(c, "", "b other%d", i);
    }
    redisReply *r = ask_reply(c, "KV.SEARCH b word* LIMIT 1000");
    assert_int_equal(r->elements, 100);
    freeReplyObject(r);
    /* Pipelined: each in its place. */
    for (int i = 0; i < 100; i++) {
        say(c, "KV.SET ['b','p'] {'t':'turn%d'}", i);
        say(c, "KV.SEARCH b turn%d", i);
        say(c, "KV.DEL ['b','p']");
        say(c, "KV.SEARCH b turn%d", i);
    }
    for (int i = 0; i < 100; i++) {
        expect_next(c, "@");
        expect_next(c, "[[['b','p'] * @]]");
        expect_next(c, ":1");
        expect_next(c, "[]");
    }
}

static void every_way_of_writing_is_indexed(void **state)
{
    create_index(c, "b PREFIX ['b'] TEXT 1 $");
    expect(c, "@",
           "KV.ATOMIC SET ['b',1] 'word' SET ['b',2] 'gone' SET ['b',2] 'word' SUM "
           "['b',3] 41 SET ['b',4] ['one'] APPEND ['b',4] ['two'] SET ['c',5] 'word'");
    finds(c, "1 2", "b word");
    finds(c, "", "b gone");
    finds(c, "3", "b 41");
    finds(c, "4", "b %s", "one two");
    expect(c, "[42 @]", "KV.SUM ['b',3] 1");
    finds(c, "3", "b 42");
    finds(c, "", "b 41");
    expect(c, "+OK", "MULTI");
    expect(c, "+QUEUED", "KV.SET ['b',1] 'multi'");
    expect(c, "+QUEUED", "KV.DEL ['b',2]");
    expect(c, "+QUEUED", "KV.SET ['b',6] 'multi'");
    expect(c, "[@ :1 @]", "EXEC");
    finds(c, "1 6", "b multi");
    finds(c, "", "b word");
    for (int i = 0; i < 2; i++) {
        expect(c, "@", "KV.SET ['b',7] 'once' IDEM a");
        expect(c, "@", "KV.ATOMIC IDEM e SET ['b',8] 'once'");
    }
    finds(c, "7 8", "b once");
    expect(c, "(nil)", "KV.SET ['b',7] 'never' NX");
    expect(c, "(nil)", "KV.ATOMIC CHECK ['b',7] NONE SET ['b',7] 'never'");
    expect(c, "-WRONGTYPE *", "KV.ATOMIC SET ['b',7] 'never' SUM ['b',8] 1");
    finds(c, "", "b never");
    finds(c, "7 8", "b once");
    expect(c, "*", "KV.ENQUEUE q %s BACKOFF 0 UNDELIVERED 2 ['b',9] ['c',9]", "{\"x\":\"dead\"}");
    redisReply *r = ask_reply(c, "KV.DEQUEUE q");
    expect(c, ":1", "KV.NACK %s", hit_member(r, 0, 4)->str);
    freeReplyObject(r);
    finds(c, "9", "b dead");
    expect(c, ":2", "KV.DELRANGE PREFIX ['b'] WHERE {'$':'once'}");
    finds(c, "", "b once");
    expect(c, ":4", "KV.DELRANGE ALL LIMIT 4");
    finds(c, "9", "b %s", "dead OR multi OR one OR 42");
}

static void entries_that_expired_are_not_found(void **state)
{
    create_index(c, "b PREFIX ['b'] TEXT 1 t");
    put_text(c, 1, "{'t':'word'}");
    expect(c, "@", "KV.SET ['b',2] {'t':'word'} PX 100000");
    finds(c, "1 2", "b word");
    expect(c, ":1", "KV.PEXPIRE ['b',2] 30");
    long until = testserver_now_ms() + LIMIT_MS;
    while (!text_fits(ask(c, "KV.GET ['b',2]"), "(nil)")) {
        if (testserver_now_ms() > until) fail_msg("it does not expire");
    }
    finds(c, "1", "b word"); /* at once */
    finds(c, "1", "b word LIMIT 1");
    for (int i = 0; i < 30; i++) { /* around the moment itself: as KV.GET says before and after */
        expect(c, "@", "KV.SET ['b',3] {'t':'brief'} PX %d", i % 5 + 1);
        const char *found = "";
        while (strcmp(found, "[]") != 0) {
            bool is_gone = text_fits(ask(c, "KV.GET ['b',3]"), "(nil)");
            found = ask(c, "KV.SEARCH b brief");
            if (is_gone) assert_string_equal(found, "[]");
            if (testserver_now_ms() > until) fail_msg("it is found for ever");
        }
        expect(c, "(nil)", "KV.GET ['b',3]");
    }
    expect(c, "@", "KV.SET ['b',2] {'t':'word'}"); /* comes back */
    finds(c, "1 2", "b word");
    expect(c, "@", "KV.SET ['b',2] {'t':'other'} PX 1");
    expect(c, "@", "KV.SET ['b',2] {'t':'other'}");
    finds(c, "2", "b other");
}

static void a_range_delete_and_a_flush_take_entries_out(void **state)
{
    expect(c, "+OK", "SELECT 1");
    create_index(c, "b PREFIX ['b'] TEXT 1 t");
    put_text(c, 1, "{'t':'elsewhere'}");
    expect(c, "+OK", "SELECT 0");
    create_index(c, "b PREFIX ['b'] TEXT 1 t");
    for (int turn = 0; turn < 20; turn++) {
        expect(c, "+OK", "FLUSHDB");
        for (int i = 0; i < 5; i++) expect(c, "@", "KV.SET ['b',%d] {'t':'word'}", i);
        finds(c, "0 1 2 3 4", "b word");
        expect(c, ":2", "KV.DELRANGE START ['b',1] END ['b',3]");
        finds(c, "0 3 4", "b word");
        expect(c, "+OK", "FLUSHDB");
        finds(c, "", "b word"); /* an empty index is complete */
        put_text(c, 7, "{'t':'word'}");
        finds(c, "7", "b word");
        expect(c, "+OK", "FLUSHDB");
        put_text(c, 8, "{'t':'word'}");
        finds(c, "8", "b word");
    }
    expect(c,
           "[name b type text prefix ['b'] hashes (nil) paths [t] tokenize unicode61 state ready *",
           "KV.INDEX INFO b");
    expect(c, "+OK", "SELECT 1");
    finds(c, "1", "b elsewhere");
    drop_indexes(c);
    expect(c, "+OK", "SELECT 0");
}

static void a_dropped_index_is_gone_and_can_be_made_anew(void **state)
{
    shelve_books(c);
    finds(c, "1 2", "b %s LIMIT 2 WHERE {'year':{'$lt':2010}}", "dog OR fox");
    expect(c, ":1", "KV.INDEX DROP b");
    expect(c, ":0", "KV.INDEX DROP b");
    finds(c, "-ERR no such index 'b'", "b dog");
    expect(c, "-ERR no such index 'b'", "KV.INDEX INFO b");
    expect(c, "[]", "KV.INDEX LIST");
    put_text(c, 2, "{'title':'written in between','other':'cat'}");
    create_index(c, "b PREFIX ['b'] TEXT 1 other");
    finds(c, "2", "b cat");
    finds(c, "-ERR query: unknown path 'title' *", "b title:dog");
    finds(c, "", "b dog");
    for (int i = 0; i < 20; i++) { /* at once, with a search on its way */
        say(d, "KV.SEARCH b cat");
        load_flush(d);
        expect(c, ":1", "KV.INDEX DROP b");
        const char *got = ask(d, "PING"); /* the search's reply comes first */
        if (!text_fits(got, "[*]") && !text_fits(got, "-*")) fail_msg("%s", got);
        expect_next(d, "+PONG");
        create_index(c, "b PREFIX ['b'] TEXT 1 other");
        finds(c, "2", "b cat");
    }
}

static void databases_do_not_see_each_others_indexes(void **state)
{
    create_index(c, "b PREFIX ['b'] TEXT 1 t");
    put_text(c, 1, "{'t':'here'}");
    expect(d, "+OK", "SELECT 1");
    expect(d, "-ERR no such index 'b'", "KV.SEARCH b here");
    expect(d, "[]", "KV.INDEX LIST");
    create_index(d, "b PREFIX ['b'] TEXT 2 u t");
    expect(d, "@", "KV.SET ['b',1] {'t':'there'}");
    expect(d, "[]", "KV.SEARCH b here");
    expect(d, "[[['b',1] {'t':'there'} @]]", "KV.SEARCH b t:there");
    finds(c, "", "b there");
    finds(c, "1", "b here");
    expect(d, ":1", "KV.INDEX DROP b");
    finds(c, "1", "b here");
    expect(d, ":1", "DBSIZE");
    expect(c, ":1", "DBSIZE"); /* what an index holds is no entry */
}

static void inside_multi_it_is_refused(void **state)
{
    static const char *const commands[] = {"KV.SEARCH b word",
                                           "KV.INDEX CREATE i PREFIX ['b'] TEXT 1 t",
                                           "KV.INDEX DROP b", "KV.INDEX INFO b"};
    create_index(c, "b PREFIX ['b'] TEXT 1 t");
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        expect(c, "+OK", "MULTI");
        expect(c, "+QUEUED", "KV.SET ['b',1] {'t':'word'}");
        expect(c, "-ERR *", commands[i]);
        expect(c, "-EXECABORT *", "EXEC");
    }
    finds(c, "", "b word");
    expect(c, "[b]", "KV.INDEX LIST");
}

/* A transaction moves the word from one entry to another: never are both seen, or none. */
static void a_search_never_sees_a_part_of_a_transaction(void **state)
{
    enum { MOVES = 300 };
    create_index(c, "b PREFIX ['b'] TEXT 1 t");
    expect(c, "@", "KV.ATOMIC SET ['b',0] {'t':'word'}");
    for (int i = 0; i < MOVES; i++) {
        say(d, "KV.ATOMIC DEL ['b',%d] SET ['b',%d] {'t':'word'}", i, i + 1);
        if (i % 10 != 0) continue;
        load_flush(d);
        expect(c, "[[['b',*] {'t':'word'} @]]", "KV.SEARCH b word LIMIT 5");
    }
    expect_many(d, MOVES, "@");
    finds(c, "300", "b word");
}

static void who_asks_may_go_away(void **state)
{
    create_index(c, "b PREFIX ['b'] TEXT 1 t");
    for (int i = 0; i < 500; i++) say(c, "KV.SET ['b',%d] {'t':['word','of','many',%d]}", i, i);
    expect_many(c, 500, "@");
    for (int i = 0; i < 20; i++) {
        redisContext *e = testserver_connect(server);
        say(e, "KV.SET ['b',1] {'t':'word'}");
        for (int k = 0; k < 3; k++) say(e, "KV.SEARCH b wor* LIMIT 500 HIGHLIGHT < >");
        load_flush(e);
        if (i % 2 == 0) expect_next(e, "@");
        redisFree(e);
    }
    finds(c, "*", "b word LIMIT 1");
    expect(c, "+PONG", "PING");
}
static void a_stop_ends_searches_that_wait(void **state)
{
    struct testserver *s = testserver_start(NULL);
    redisContext *by = testserver_connect(s);
    create_index(by, "b PREFIX ['b'] TEXT 1 t");
    for (int i = 0; i < 2000; i++) say(by, "KV.SET ['b',%d] {'t':'word'}", i);
    expect_many(by, 2000, "@");
    for (int i = 0; i < 10; i++) say(by, "KV.SEARCH b word LIMIT 2000");
    load_flush(by);
    testserver_stop(s);
    redisFree(by);
    testserver_free(s);
}

/* The least of three tries. */
static long milliseconds_of(const char *command)
{
    long least = LONG_MAX;
    for (int i = 0; i < 3; i++) {
        long begin = testserver_now_ms();
        redisReply *r = ask_reply(c, command);
        assert_int_equal(r->type, REDIS_REPLY_ARRAY);
        assert_int_equal(r->elements, 500);
        freeReplyObject(r);
        long spent = testserver_now_ms() - begin;
        if (spent < least) least = spent;
    }
    return least;
}

/* What matches a beginning is put together from many words: once a search, not once a hit. */
static void marks_around_a_beginning_cost_little_more_than_around_a_word(void **state)
{
    create_index(c, "b PREFIX ['b'] TEXT 1 t");
    for (int i = 0; i < 8000; i++) {
        say(c, "KV.SET ['b',%d] {'t':'word%d-is-common'}", i, i);
        if (i % 1000 == 999) expect_many(c, 1000, "@");
    }
    milliseconds_of("KV.SEARCH b common LIMIT 500"); /* all is applied */
    long word = milliseconds_of("KV.SEARCH b common LIMIT 500 HIGHLIGHT < >");
    long beginning = milliseconds_of("KV.SEARCH b word* LIMIT 500 HIGHLIGHT < >");
    print_message("a word: %ld ms; a beginning: %ld ms\n", word, beginning);
    assert_true(beginning < 5 * word + 200);
}

/* ---- large ----------------------------------------------------------------------------------- */

#define MANY 30000

static void load_many(redisContext *by, int count)
{
    for (int i = 0; i < count; i++) {
        say(by, "KV.SET ['b',%d] {'t':'word%d,common','n':%d}", i, i % 100, i);
        if (i % 1000 == 999) expect_many(by, 1000, "@");
    }
}

/* How many entries the query finds. */
static size_t count_found(redisContext *by, const char *query)
{
    size_t count = 0;
    for (size_t page = 10000; page == 10000; count += page) {
        redisReply *r = ask_reply(by, "KV.SEARCH b %s LIMIT 10000 OFFSET %d", query, (int)count);
        if (r->type != REDIS_REPLY_ARRAY) fail_msg("%s", r->str);
        page = r->elements;
        freeReplyObject(r);
    }
    return count;
}

static void a_large_index_is_filled_in_the_background(void **state)
{
    load_many(c, MANY);
    wait_until_applied(c);
    expect(c, "+OK", "KV.INDEX CREATE b PREFIX ['b'] TEXT 1 t");
    int percent = 0;
    int refused = 0;
    for (int i = 0;; i++) {
        const char *got = ask(d, "KV.SEARCH b common LIMIT 1");
        if (got[0] == '[') break;
        if (!text_fits(got, "-INDEXING *")) fail_msg("%s", got);
        int now = (int)strtol(got + strlen("-INDEXING "), NULL, 10);
        assert_true(now >= percent && now < 100);
        percent = now;
        refused++;
        /* Meanwhile: writes before and after where the filling is, and all else. */
        expect(c, "@", "KV.SET ['b',%d] {'t':'changed'}", i * 7 % (MANY / 2));
        expect(c, ":1", "KV.DEL ['b',%d]", MANY - 1 - i);
        expect(c, "@", "KV.SET ['b',%d] {'t':'new'}", MANY + i);
        expect(c, "{'t':'new'}", "KV.GET ['b',%d]", MANY + i);
    }
    print_message("refused %d times, at last at %d %%\n", refused, percent);
    if (refused == 0) fail_msg("the index was complete at once");
    expect(c, "*state ready percent :100 error (nil)]", "KV.INDEX INFO b");
    assert_int_equal(count_found(c, "common"), MANY - 2 * refused);
    assert_int_equal(count_found(c, "changed"), refused);
    assert_int_equal(count_found(c, "new"), refused);
    finds(c, "25099", "b %s WHERE {'n':25099}", "word99 common");
}
/* ---- afterwards ------------------------------------------------------------------------------ */

struct question {
    const char *query; /* ' for " */
    const char *wanted;
};

static const struct question lasting_questions[] = {
    {"dog", "*'The lazy dog'*"},     {"dog OR fox OR cooking", "*@*@*@*"},
    {"'lazy dog'", "[[['b',1] *]]"}, {"author.name:lazy", "[[['b',4] *]]"},
    {"tags:fo*", "*@*@*"},           {"deleted", "[]"},
    {"moved", "[[['b',12] *]]"},     {"flushed", "[]"},
};

#define LASTING (sizeof lasting_questions / sizeof *lasting_questions)

static void write_history(redisContext *by)
{
    expect(by, "@", "KV.SET ['b',20] {'title':'flushed'}");
    create_index(by, "b PREFIX ['b'] TEXT 3 title tags author.name");
    expect(by, "+OK", "FLUSHDB");
    expect(by, ":1", "KV.INDEX DROP b");
    shelve_books(by);
    create_index(by, "p PREFIX ['b'] TEXT 1 title TOKENIZE porter");
    create_index(by, "gone PREFIX ['b'] TEXT 1 title");
    expect(by, "@", "KV.SET ['b',10] {'title':'deleted'}");
    expect(by, ":1", "KV.DEL ['b',10]");
    create_index(by, "e PREFIX ['e'] TEXT 1 title"); /* what has expired counts in scores */
    expect(by, "@", "KV.SET ['e',11] {'title':'expiring'} PX 1");
    expect(by, "@", "KV.SET ['b',12] {'title':'stays'}");
    expect(by, "@", "KV.SET ['b',12] {'title':['moved','cooked']}");
    expect(by, ":1", "KV.INDEX DROP gone");
    long until = testserver_now_ms() + LIMIT_MS;
    while (!text_fits(ask(by, "KV.GET ['e',11]"), "(nil)")) {
        if (testserver_now_ms() > until) fail_msg("it does not expire");
    }
}

/* Every answer, as it must be; the texts are the caller's to free. */
static void take_answers(redisContext *by, char *answers[LASTING])
{
    for (size_t i = 0; i < LASTING; i++) {
        const struct question *a = &lasting_questions[i];
        answers[i] = strdup(
            ask(by, "KV.SEARCH b %s WITHSCORES HIGHLIGHT < >", with_quotes(a->query)));
        if (!text_fits(answers[i], a->wanted)) fail_msg("%s: %s", a->query, answers[i]);
    }
    expect(by, "[b e p]", "KV.INDEX LIST");
    expect(by, "[]", "KV.SEARCH e expiring");
    expect(by, "[* *]", "KV.SEARCH p cook"); /* Cooking, cooked */
    expect(by, "-ERR no such index 'gone'", "KV.SEARCH gone dog");
}

static void expect_answers(redisContext *by, char *const answers[LASTING])
{
    char *now[LASTING];
    wait_for_index(by, "b"); /* a restart at once may be in the middle */
    wait_for_index(by, "e");
    wait_for_index(by, "p");
    take_answers(by, now);
    for (size_t i = 0; i < LASTING; i++) {
        assert_string_equal(now[i], answers[i]);
        free(now[i]);
    }
    expect(by, "@", "KV.SET ['b',30] {'title':'after'}");
    expect(by, "[[['b',30] {'title':'after'} @]]", "KV.SEARCH b after");
    expect(by, ":1", "KV.DEL ['b',30]");
    expect(by, "[]", "KV.SEARCH b after");
}

static void answers_are_the_same_after_a_restart_and_after_kill_9(void **state)
{
    char *answers[LASTING];
    struct testserver *s = testserver_start(NULL);
    redisContext *by = testserver_connect(s);
    write_history(by);
    take_answers(by, answers);
    for (int i = 0; i < 3; i++) {
        if (i == 1) {
            testserver_stop(s);
        } else {
            testserver_kill(s);
        }
        redisFree(by);
        testserver_again(s);
        by = testserver_connect(s);
        expect_answers(by, answers);
    }
    for (size_t i = 0; i < LASTING; i++) free(answers[i]);
    redisFree(by);
    testserver_free(s);
}

/* Killed while an index is being filled, each time at another point, and when it was just dropped.
 */
static void a_kill_at_any_moment_loses_no_word(void **state)
{
    enum { FEWER = 8000, ROUNDS = 3 };
    struct testserver *s = testserver_start(NULL);
    redisContext *by = testserver_connect(s);
    load_many(by, FEWER);
    for (int i = 0; i < ROUNDS; i++) {
        char wanted[60];
        const char *got = "-INDEXING 0";
        if (i > 0) wait_until_applied(by);
        expect(by, "+OK", "KV.INDEX CREATE b PREFIX ['b'] TEXT 1 t");
        while (got[0] == '-' && strtol(got + strlen("-INDEXING "), NULL, 10) < i * 30) {
            got = ask(by, "KV.SEARCH b none");
        }
        expect(by, "@", "KV.SET ['b',%d] {'t':'kept%d,common'}", i * 2500, i);
        testserver_kill(s);
        redisFree(by);
        testserver_again(s);
        by = testserver_connect(s);
        wait_for_index(by, "b");
        assert_int_equal(count_found(by, "common"), FEWER);
        snprintf(wanted, sizeof wanted, "[[['b',%d] {'t':'kept%d,common'} @]]", i * 2500, i);
        expect(by, wanted, "KV.SEARCH b kept%d", i);
        expect(by, ":1", "KV.INDEX DROP b");
    }
    testserver_kill(s);
    redisFree(by);
    testserver_again(s);
    by = testserver_connect(s);
    expect(by, "-ERR no such index 'b'", "KV.SEARCH b common");
    create_index(by, "b PREFIX ['b'] TEXT 1 n");
    expect(by, "[[['b',777] *]]", "KV.SEARCH b 777");
    redisFree(by);
    testserver_free(s);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *w)
{
    return remove(path);
}

static void copy_file(const char *from, const char *to)
{
    static char bytes[1 << 16];
    FILE *in = fopen(from, "rb");
    FILE *out = fopen(to, "wb");
    assert_non_null(in);
    assert_non_null(out);
    for (size_t n = fread(bytes, 1, sizeof bytes, in); n > 0;
         n = fread(bytes, 1, sizeof bytes, in)) {
        assert_int_equal(fwrite(bytes, 1, n, out), n);
    }
    fclose(in);
    assert_int_equal(fclose(out), 0);
}

static void find_backup(const struct testserver *s, char *name, size_t len)
{
    char dir[600];
    snprintf(dir, sizeof dir, "%.500s/backups", testserver_dir(s));
    DIR *open = opendir(dir);
    assert_non_null(open);
    name[0] = '\0';
    for (struct dirent *e = readdir(open); e != NULL; e = readdir(open)) {
        if (strstr(e->d_name, ".db") != NULL) snprintf(name, len, "%s/%s", dir, e->d_name);
    }
    closedir(open);
    assert_true(name[0] != '\0');
}

static void a_restored_backup_answers_the_same(void **state)
{
    char *answers[LASTING];
    char dir[300];
    char from[900];
    char to[400];
    const char *tmp = getenv("TMPDIR");
    snprintf(dir, sizeof dir, "%.200s/tupled-restored-XXXXXX", tmp != NULL ? tmp : "/tmp");
    assert_non_null(mkdtemp(dir));
    struct testserver *s = testserver_start(NULL);
    redisContext *by = testserver_connect(s);
    write_history(by);
    take_answers(by, answers);
    expect(by, "+OK", "SAVE");
    find_backup(s, from, sizeof from);
    snprintf(to, sizeof to, "%s/tupled.db", dir);
    copy_file(from, to);
    expect(by, "+OK", "FLUSHALL"); /* later than the backup */
    redisFree(by);
    testserver_free(s);
    s = testserver_start(&(struct testserver_options){.dir = dir});
    by = testserver_connect(s);
    expect_answers(by, answers);
    redisFree(by);
    testserver_free(s);
    for (size_t i = 0; i < LASTING; i++) free(answers[i]);
    nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, enter, group_leave)
    const struct CMUnitTest tests[] = {
        TEST(a_search_sees_the_write_before_it),
        TEST(every_way_of_writing_is_indexed),
        TEST(entries_that_expired_are_not_found),
        TEST(a_range_delete_and_a_flush_take_entries_out),
        TEST(a_dropped_index_is_gone_and_can_be_made_anew),
        TEST(databases_do_not_see_each_others_indexes),
        TEST(inside_multi_it_is_refused),
        TEST(a_search_never_sees_a_part_of_a_transaction),
        TEST(who_asks_may_go_away),
        TEST(a_stop_ends_searches_that_wait),
        TEST(marks_around_a_beginning_cost_little_more_than_around_a_word),
        TEST(a_large_index_is_filled_in_the_background),
        TEST(answers_are_the_same_after_a_restart_and_after_kill_9),
        TEST(a_kill_at_any_moment_loses_no_word),
        TEST(a_restored_backup_answers_the_same),
    };
    return cmocka_run_group_tests(tests, start, group_stop);
}
