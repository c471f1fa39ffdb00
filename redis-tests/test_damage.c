/* A tupled.db that the disk has damaged: an error to those it concerns, told to the operator; all else
 * goes on, and nothing that is acknowledged afterwards is lost.
 */
#include <dirent.h>
#include <fcntl.h>
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

#define PAGE_BYTES 4096
#define ENTRIES 3000
#define LIMIT_MS 30000

static redisContext *c;

static void stop_server(void)
{
    group_disconnect();
    testserver_stop(server);
}

static int open_database(void)
{
    char path[512];
    snprintf(path, sizeof path, "%s/tupled.db", testserver_dir(server));
    int fd = open(path, O_RDWR);
    assert_true(fd >= 0);
    return fd;
}

static long pages_of_database(void)
{
    struct stat st;
    int fd = open_database();
    assert_int_equal(fstat(fd, &st), 0);
    close(fd);
    return st.st_size / PAGE_BYTES;
}

/* One bit of a page, in the middle of it; twice makes it whole again. */
static void flip(long page)
{
    uint8_t byte = 0;
    off_t at = (off_t)page * PAGE_BYTES + PAGE_BYTES / 2;
    int fd = open_database();
    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte ^= 4;
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    close(fd);
}

static void write_all(int value)
{
    for (int i = 0; i < ENTRIES; i++) say(c, "KV.SET ['k',%d] %d", i, value);
    expect_many(c, ENTRIES, "@");
}

/* How many are damaged; the others have this value. */
static int check_all(int value)
{
    int damaged = 0;
    char wanted[16];
    snprintf(wanted, sizeof wanted, "%d", value);
    for (int i = 0; i < ENTRIES; i++) {
        const char *got = ask(c, "KV.GET ['k',%d]", i);
        if (text_fits(got, "-CORRUPT ['k',*] *tupled.db at offset *")) {
            damaged++;
        } else {
            assert_string_equal(got, wanted);
        }
    }
    return damaged;
}

static void wait_for_apply(void)
{
    long until = testserver_now_ms() + LIMIT_MS;
    while (load_info(c, "memtable_entries") > 0) {
        if (testserver_now_ms() > until) fail_msg("never applied");
        testserver_pause();
    }
}

static bool health_is(const char *word)
{
    char wanted[64];
    snprintf(wanted, sizeof wanted, "*health:%s\r*", word);
    return text_fits(ask(c, "INFO server"), wanted);
}

/* Damages some page with entries; how many cannot be read afterwards. */
static int damage_some_page(long *page)
{
    int damaged = 0;
    for (long i = pages_of_database() / 2; damaged == 0; i++) {
        *page = i;
        flip(i);
        if (testserver_try_again(server, "tupled.db")) {
            c = testserver_connect(server);
            damaged = check_all(1);
            if (damaged > 0) break;
            stop_server();
        }
        flip(i);
    }
    return damaged;
}

/* Verifies, and waits for the end. */
static void verify(const char *wanted)
{
    const char *got = "";
    long until = testserver_now_ms() + LIMIT_MS;
    expect(c, "+OK", "KV.VERIFY START");
    do {
        if (testserver_now_ms() > until) fail_msg("the verification never ends");
        testserver_pause();
        got = ask(c, "KV.VERIFY STATUS");
    } while (text_fits(got, "[state running *"));
    if (!text_fits(got, wanted)) fail_msg("%s, not %s", got, wanted);
}

static void a_damaged_page_stops_only_those_it_concerns(void **state)
{
    long page = 0;
    server = testserver_start_with("--memtable-size", "1mb", NULL);
    c = testserver_connect(server);
    expect(c, "+OK", "KV.INDEX CREATE words PREFIX ['k'] TEXT 1 t");
    write_all(1);
    expect(c, "[]", "KV.SEARCH words any");
    assert_true(health_is("ok"));
    wait_for_apply();
    expect(c, "[state never *", "KV.VERIFY STATUS");
    verify("[state good pages :* pages-total :* damaged :0 took-ms :* places []]");
    expect(c, ":0", "KV.VERIFY STOP");
    stop_server();
    int damaged = damage_some_page(&page);
    assert_true(damaged > 0 && damaged < ENTRIES / 4);
    assert_true(health_is("damaged"));
    assert_true(load_info(c, "store_damaged_reads") >= damaged);
    assert_true(testserver_has_logged(server, "tupled.db at offset "));
    verify("[state damaged pages :* pages-total :* damaged :1 took-ms :* places [tupled.db at "
           "offset * is damaged: checksum mismatch in a page]]");
    expect(c, "-CORRUPT *", "KV.COUNT PREFIX ['k'] WHERE {'$':1}");
    /* Writes go on, also of those that cannot be read, and last. */
    write_all(2);
    assert_int_equal(check_all(2), 0);
    wait_for_apply();
    assert_true(load_info(c, "store_aside_entries") > 0);
    assert_int_equal(load_info(c, "store_failing"), 0);
    expect(c, "-CORRUPT entries of this index cannot be stored *", "KV.SEARCH words any");
    assert_int_equal(check_all(2), 0);
    group_again(true);
    assert_int_equal(check_all(2), 0);
    assert_true(health_is("damaged"));
    /* The page is whole again: what was put aside goes to its place. */
    stop_server();
    flip(page);
    testserver_again(server);
    c = testserver_connect(server);
    assert_true(health_is("ok"));
    assert_int_equal(load_info(c, "store_aside_entries"), 0);
    assert_int_equal(check_all(2), 0);
    expect(c, "[]", "KV.SEARCH words any");
    char wanted[16];
    snprintf(wanted, sizeof wanted, ":%d", ENTRIES);
    expect(c, wanted, "KV.COUNT PREFIX ['k'] WHERE {'$':2}");
}

/* What SQLite still has in memory of the run before does not stand for what is on the disk. */
static void damage_that_comes_between_two_verifications_is_found(void **state)
{
    static const char good[] =
        "[state good pages :* pages-total :* damaged :0 took-ms :* places []]";
    server = testserver_start_with("--memtable-size", "1mb", NULL);
    c = testserver_connect(server);
    write_all(1);
    wait_for_apply();
    group_again(false); /* a clean stop leaves one file: no page of it is in a log */
    verify(good);
    long pages = pages_of_database();
    long places[] = {0, pages / 3, pages / 2, pages - 2};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        char wanted[200];
        snprintf(wanted, sizeof wanted,
                 "[state damaged pages :* pages-total :* damaged :1 took-ms :* places "
                 "[tupled.db at offset %ld is damaged: *]]",
                 places[i] * PAGE_BYTES);
        flip(places[i]);
        verify(wanted);
        flip(places[i]);
        verify(good);
    }
}

/* Everything at once in a small database: whichever page is damaged, each command gets an answer or
 * an error, none waits for ever. */
static void no_damaged_page_makes_anybody_wait(void **state)
{
    server = testserver_start_with("--databases", "2", NULL);
    c = testserver_connect(server);
    expect(c, "+OK", "KV.INDEX CREATE by PREFIX ['u'] ON 1 n");
    for (int i = 0; i < 200; i++) expect(c, "@", "KV.SET ['u',%d] {'n':%d}", i, i);
    ask(c, "KV.ENQUEUE jobs {'n':1}");
    expect(c, "@", "KV.SET ['i'] 1 IDEM one");
    stop_server();
    long pages = pages_of_database();
    long refused = 0;
    unsigned errors = 0;
    for (long page = 1; page < pages; page++) {
        flip(page);
        if (!testserver_try_again(server, "tupled.db")) {
            refused++;
            flip(page);
            continue;
        }
        c = testserver_connect(server);
        static const char *const commands[] = {
            "KV.GET ['u',100]",         "KV.SET ['u',300] {'n':300}", "KV.DEL ['u',300]",
            "KV.FIND by 100",           "KV.COUNT PREFIX ['u']",      "KV.QUEUE STATS jobs",
            "KV.DEQUEUE jobs LEASE 10", "KV.SET ['i'] 1 IDEM one",    "KV.SET ['j'] 1 IDEM two",
            "KV.SET ['x'] 1",           "KV.ENQUEUE other 1"};
        for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
            const char *got = ask(c, commands[i]);
            bool is_error = got[0] == '-';
            if (is_error) assert_true(text_fits(got, "-CORRUPT *"));
            errors += is_error;
        }
        expect(c, "+OK", "SELECT 1");
        const char *got = ask(c, "KV.GET ['none']");
        assert_true(strcmp(got, "(nil)") == 0 || text_fits(got, "-CORRUPT *"));
        stop_server();
        flip(page);
    }
    assert_true(errors > 0 && refused < pages / 2);
}

/* The page of tupled.db that holds this text. */
static long page_with(const char *text)
{
    size_t bytes = (size_t)pages_of_database() * PAGE_BYTES;
    char *all = malloc(bytes);
    int fd = open_database();
    assert_non_null(all);
    assert_int_equal(pread(fd, all, bytes, 0), bytes);
    close(fd);
    const char *at = memmem(all, bytes, text, strlen(text));
    assert_non_null(at);
    long page = (at - all) / PAGE_BYTES;
    free(all);
    return page;
}

/* One that cannot be read does not keep the others. */
static void a_damaged_dead_letter_stays_and_the_others_begin_anew(void **state)
{
    enum { LETTERS = 600 };
    static char filler[2001];
    memset(filler, 'f', sizeof filler - 1);
    server = testserver_start_with("--memtable-size", "1mb", NULL);
    c = testserver_connect(server);
    for (int i = 0; i < LETTERS; i++)
        say(c, "KV.ENQUEUE q {'text':'letter-%d-','filler':'%s'} BACKOFF 0", i, filler);
    expect_many(c, LETTERS, "*");
    for (int i = 0; i < LETTERS; i++) {
        redisReply *r = ask_reply(c, "KV.DEQUEUE q");
        expect(c, ":1", "KV.NACK %s DEAD", r->element[0]->element[4]->str);
        freeReplyObject(r);
    }
    wait_for_apply();
    stop_server();
    flip(page_with("letter-300-"));
    testserver_again(server);
    c = testserver_connect(server);
    const char *got = ask(c, "KV.DLQ REQUEUE q ALL");
    long damaged = 0;
    long done = 0;
    const char *figures = strstr(got, "dead letters that cannot be read: ");
    assert_true(text_fits(got, "-CORRUPT *tupled.db at offset *"));
    assert_non_null(figures);
    assert_int_equal(
        sscanf(figures, "dead letters that cannot be read: %ld; done: %ld", &damaged, &done), 2);
    assert_in_range(damaged, 1, 4);
    assert_int_equal(damaged + done, LETTERS);
    assert_int_equal(load_queue(c, "q", "ready"), done);
    assert_int_equal(load_queue(c, "q", "dead"), damaged);
    expect(c, "*", "KV.DEQUEUE q"); /* they are as before */
    expect(c, "+OK", "MULTI");
    expect(c, "+QUEUED", "KV.DLQ REQUEUE q ALL");
    expect(c, "-EXECABORT command 1 kv.dlq|requeue: CORRUPT *", "EXEC");
    assert_int_equal(load_queue(c, "q", "dead"), damaged);
}

/* The name of the segment with the lowest number that is bigger than 3 MB and not the last. */
static void oldest_segment(char *path, size_t bytes)
{
    struct dirent **entries = NULL;
    int count = scandir(testserver_dir(server), &entries, NULL, alphasort);
    bool is_found = false;
    for (int i = 0; i < count; i++) {
        struct stat st;
        if (!is_found && strncmp(entries[i]->d_name, "journal-", 8) == 0) {
            snprintf(path, bytes, "%s/%s", testserver_dir(server), entries[i]->d_name);
            is_found = stat(path, &st) == 0 && st.st_size > 3000000;
        }
        free(entries[i]);
    }
    free(entries);
    assert_true(is_found);
}

/* Kept for KV.CHANGES, or for a start after a crash: a damaged segment is found before it is needed. */
static void a_damaged_segment_of_the_journal_is_found_by_a_verification(void **state)
{
    static char value[1000001];
    char path[600] = "";
    uint8_t byte = 0;
    server = testserver_start_with("--journal-segment-size", "4mb", "--max-transaction-size", "2mb",
                                   "--changes-retention-size", "64mb", NULL);
    c = testserver_connect(server);
    for (int i = 0; i < 12; i++) {
        memset(value, 'a' + i, sizeof value - 1); /* the journal gets what changed */
        expect(c, "@", "KV.SET ['k'] '%s'", value);
    }
    oldest_segment(path, sizeof path);
    expect(c, "+OK", "FLUSHALL"); /* of no range that a verification could ask for */
    verify("[state good pages :* pages-total :* damaged :0 took-ms :* places []]");
    assert_true(health_is("ok"));
    int fd = open(path, O_RDWR);
    assert_true(fd >= 0);
    assert_int_equal(pread(fd, &byte, 1, 2000000), 1);
    byte ^= 8;
    assert_int_equal(pwrite(fd, &byte, 1, 2000000), 1);
    close(fd);
    verify("[state damaged pages :* pages-total :* damaged :1 took-ms :* places [segment 1 "
           "of the journal is damaged at offset *: a damaged batch]]");
    assert_true(health_is("damaged"));
    assert_true(testserver_has_logged(server, "journal: segment 1 at offset "));
    expect(c, "-STALE *", "KV.CHANGES 0");
    expect(c, "@", "KV.SET ['k'] 1");
    expect(c, "1", "KV.GET ['k']");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_damaged_page_stops_only_those_it_concerns, group_stop),
        cmocka_unit_test_teardown(a_damaged_dead_letter_stays_and_the_others_begin_anew,
                                  group_stop),
        cmocka_unit_test_teardown(a_damaged_segment_of_the_journal_is_found_by_a_verification,
                                  group_stop),
        cmocka_unit_test_teardown(damage_that_comes_between_two_verifications_is_found, group_stop),
        cmocka_unit_test_teardown(no_damaged_page_makes_anybody_wait, group_stop),
    };
    group_opens(&c, NULL);
    return cmocka_run_group_tests_name("damage", tests, NULL, NULL);
}
