/* Reading collections of which much is told, or much has expired and is not removed yet: it takes
 * several turns of the loop, each of them bounded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "client.h"
#include "group.h"

#define EXPIRED 60000
#define SLICE 10000 /* more than is passed over in a turn */

static redisContext *c, *d;

static int start(void **state)
{
    group_opens(&c, &d, NULL);
    (void)state;
    server = testserver_start_with("--enable-debug-command", "yes", "--max-value-size", "2mb",
                                   NULL);
    return 0;
}

static long long figure(const char *name)
{
    const char *at = strstr(ask(d, "INFO"), name);
    assert_non_null(at);
    return atoll(at + strlen(name) + 1);
}

static long long turns(void)
{
    return figure("loop_turns");
}

/* Three fields are left of many, which all have expired. Nothing is swept. */
static void fill_expired(void)
{
    expect(c, "+OK", "DEBUG SET-ACTIVE-EXPIRE 0");
    for (int i = 0; i < EXPIRED; i++) say(c, "HSETEX hash EX 1000 FIELDS 1 f%05d v", i);
    expect_many(c, EXPIRED, ":1");
    expect(c, ":3", "HSET hash a 1 f30000b 2 g 3");
    expect(c, "+OK", "DEBUG CLOCK 2000000");
}

static void expired_fields_are_passed_over_in_turns(void **state)
{
    (void)state;
    fill_expired();
    long long before = turns();
    expect(c, ":3", "HLEN hash");
    assert_true(turns() - before >= EXPIRED / SLICE);
    before = turns();
    expect(c, "[a 1 f30000b 2 g 3]", "HGETALL hash");
    assert_true(turns() - before >= EXPIRED / SLICE);
    expect(c, "+OK", "MULTI");
    expect(c, "+QUEUED", "HLEN hash");
    expect(c, "+QUEUED", "HKEYS hash");
    expect(c, "-EXECABORT command 2 hkeys: LIMIT more rows *", "EXEC");
    expect(c, "+OK", "DEBUG SET-ACTIVE-EXPIRE 1");
}

/* Pages end where there was much to pass over, and all that is there is told once. */
static void scans_go_on_after_expired_fields(void **state)
{
    char cursor[512] = "0";
    char all[256] = "";
    int pages = 0;
    (void)state;
    fill_expired();
    do {
        redisReply *r = ask_reply(c, "HSCAN hash %s COUNT 100", cursor);
        snprintf(cursor, sizeof cursor, "%s", r->element[0]->str);
        for (size_t i = 0; i < r->element[1]->elements; i++) {
            size_t len = strlen(all);
            snprintf(all + len, sizeof all - len, "%s ", r->element[1]->element[i]->str);
        }
        freeReplyObject(r);
        pages++;
    } while (strcmp(cursor, "0") != 0);
    assert_string_equal(all, "a 1 f30000b 2 g 3 ");
    assert_in_range(pages, EXPIRED / SLICE, 4 * EXPIRED / SLICE);
    size_t told = 0;
    for (pages = 0; pages == 0 || strcmp(cursor, "0") != 0; pages++) {
        redisReply *r = ask_reply(c, "KV.ELEMENTS ['hash'] CURSOR %s LIMIT 2", cursor);
        assert_int_equal(r->elements, 6);
        assert_int_equal(r->element[2]->integer, 3);
        told += r->element[5]->elements;
        snprintf(cursor, sizeof cursor, "%s", r->element[4]->str);
        freeReplyObject(r);
    }
    assert_int_equal(told, 3);
    assert_in_range(pages, EXPIRED / SLICE, 4 * EXPIRED / SLICE);
    expect(c, "+OK", "DEBUG SET-ACTIVE-EXPIRE 1");
}

/* ---- what is told ---- */

static void put_values(int from, int upto, size_t bytes)
{
    char *value = malloc(bytes);
    memset(value, 'v', bytes);
    for (int i = from; i < upto; i++) expect(c, ":1", "HSET hash f%05d %b", i, value, bytes);
    free(value);
}

static void a_page_of_a_scan_ends_after_a_megabyte(void **state)
{
    (void)state;
    put_values(0, 10, 400000);
    redisReply *r = ask_reply(c, "HSCAN hash 0 COUNT 100");
    assert_int_equal(r->element[1]->elements, 2 * 3);
    assert_string_not_equal(r->element[0]->str, "0");
    freeReplyObject(r);
    r = ask_reply(c, "HSCAN hash 0 COUNT 100 MATCH none");
    assert_int_equal(r->element[1]->elements, 0);
    assert_string_not_equal(r->element[0]->str, "0");
    freeReplyObject(r);
}

static size_t values_of_transaction(void)
{
    expect(c, "+OK", "MULTI");
    expect(c, "+QUEUED", "HVALS hash");
    redisReply *r = ask_reply(c, "EXEC");
    size_t count = r->type == REDIS_REPLY_ARRAY ? r->element[0]->elements : 0;
    freeReplyObject(r);
    return count;
}

static void a_transaction_reads_few_that_are_large(void **state)
{
    (void)state;
    put_values(0, 110, 540000);
    assert_int_equal(values_of_transaction(), 110);
    put_values(110, 130, 540000);
    assert_int_equal(values_of_transaction(), 0); /* an error: more than 64 MB */
}

/* The count of its bytes is that of the head: none of its elements was read. */
static void a_dump_that_is_too_large_is_refused(void **state)
{
    (void)state;
    put_values(0, 10, 400000);
    expect(c, "-LIMIT a dump of 4000060 bytes is larger than max-value-size (2097152)",
           "DUMP hash");
}

static void more_than_a_transaction_takes_is_not_popped(void **state)
{
    enum { COUNT = 100001 };
    (void)state;
    for (int i = 0; i < COUNT; i++) say(c, "RPUSH list a");
    expect_many(c, COUNT, ":*");
    expect(c, "-LIMIT more than 100000 elements in one transaction", "LPOP list 1000000");
    expect(c, "-LIMIT more than 100000 elements in one transaction",
           "LMPOP 1 list LEFT COUNT 1000000");
    expect(c, ":100001", "LLEN list");
}

/* ---- LPOS ---- */

static void lpos_looks_at_the_whole_of_a_long_list(void **state)
{
    enum { COUNT = 150000, EACH = 10 };
    (void)state;
    for (int i = 0; i < COUNT / EACH; i++) {
        say(c, "RPUSH list a a a a a a a a a %s", i == COUNT / EACH - 1 ? "last" : "b");
    }
    expect_many(c, COUNT / EACH, ":*");
    long long before = turns();
    expect(c, "(nil)", "LPOS list none");
    assert_true(turns() - before >= COUNT / SLICE);
    expect(c, ":149999", "LPOS list last");
    expect(c, ":0", "LPOS list a RANK -135000");
    expect(c, "(nil)", "LPOS list a RANK -135001");
    expect(c, ":149989", "LPOS list b RANK 14999");
    expect(c, "[:149989 :149979]", "LPOS list b RANK -1 COUNT 2");
    expect(c, "[]", "LPOS list last COUNT 0 MAXLEN 149999");
    expect(c, "[:149999]", "LPOS list last COUNT 0 MAXLEN 150000");
    expect(c, "+OK", "MULTI");
    expect(c, "+QUEUED", "LPOS list none");
    expect(c, "-EXECABORT *LIMIT more elements than can be read at once*", "EXEC");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(expired_fields_are_passed_over_in_turns, group_enter,
                                        group_leave),
        cmocka_unit_test_setup_teardown(scans_go_on_after_expired_fields, group_enter, group_leave),
        cmocka_unit_test_setup_teardown(a_page_of_a_scan_ends_after_a_megabyte, group_enter,
                                        group_leave),
        cmocka_unit_test_setup_teardown(a_transaction_reads_few_that_are_large, group_enter,
                                        group_leave),
        cmocka_unit_test_setup_teardown(a_dump_that_is_too_large_is_refused, group_enter,
                                        group_leave),
        cmocka_unit_test_setup_teardown(more_than_a_transaction_takes_is_not_popped, group_enter,
                                        group_leave),
        cmocka_unit_test_setup_teardown(lpos_looks_at_the_whole_of_a_long_list, group_enter,
                                        group_leave),
    };
    return cmocka_run_group_tests(tests, start, group_stop);
}
