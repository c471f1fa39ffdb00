/* Pipelined commands whose keys are fetched ahead, which is done when there are many entries
 * (src/session/ahead.h): each is answered as it is alone, whatever the commands before it have
 * changed meanwhile, and however wrong it is.
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
#include "load_help.h"

#define ENTRIES 25000 /* src/backend/pipeline.c: FAR_ENTRIES */
#define AT_ONCE 1000
#define TIMES 10 /* in one pipeline */

static redisContext *c;

static void fill(void)
{
    for (int i = 0; i < ENTRIES; i += AT_ONCE) {
        for (int k = i; k < i + AT_ONCE; k++) say(c, "SET far:%d v%d", k, k);
        expect_many(c, AT_ONCE, "+OK");
    }
}

static const char *const commands[] = {
    "GET far:1",
    "GET nothing",
    "KV.GET ['far:2']",
    "KV.GET ['far:3'",
    "KV.GET []",
    "KV.GET {}",
    "KV.GET ['$uuid',1]",
    "KV.GET ['far:4'] FORMAT MSGPACK",
    "NOSUCH far:1",
    "GET",
    "GET far:1 far:2",
    "MGET far:5 far:6 nothing",
    "CONFIG GET far:1",
    "SET far:7 v7 EX",
    "SET far:7 v7",
    "SELECT 1",
    "GET far:7",
    "SELECT 0",
    "GET far:7",
    "MULTI",
    "GET far:8",
    "KV.GET ['far:9']",
    "EXEC",
    "KV.FORMAT MSGPACK",
    "KV.GET ['far:10']",
    "KV.FORMAT JSON",
    "KV.GET ['far:10']",
    "CLIENT VIEW TUPLES",
    "GET far:11",
    "CLIENT VIEW PLAIN",
    "GET far:11",
    "DEL nothing",
    "STRLEN far:12",
    "PING",
};
#define COMMANDS (sizeof commands / sizeof commands[0])

/* The keys of each command that names some, and of none that is wrong. */
static void keys_of_all_commands_are_fetched(void **state)
{
    static const struct {
        const char *command;
        long long keys;
    } kinds[] = {
        {"GET far:1", 1},
        {"KV.GET ['far:1']", 1},
        {"MGET far:1 far:2 far:3", 3},
        {"KV.ATOMIC CHECK ['far:1'] NONE SET ['far:2'] 1 SET ['far:3'] 2", 3},
        {"KV.GET ['far:1'", 0},
        {"GET far:1 far:2", 0},
        {"PING", 0},
    };
    fill();
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        long long before = load_info(c, "cache_keys_ahead");
        for (int n = 0; n < 5; n++) say(c, kinds[i].command);
        expect_many(c, 5, "*");
        assert_int_equal(load_info(c, "cache_keys_ahead") - before, 5 * kinds[i].keys);
    }
    long long before = load_info(c, "cache_keys_ahead");
    for (int n = 0; n < 5; n++) freeReplyObject(ask_reply(c, "GET far:1"));
    assert_int_equal(load_info(c, "cache_keys_ahead"), before); /* one by one: nothing to gain */
}

static void a_pipeline_is_answered_as_its_commands_are_alone(void **state)
{
    char *alone[COMMANDS];
    fill();
    for (size_t i = 0; i < COMMANDS; i++) alone[i] = strdup(ask(c, commands[i]));
    assert_string_equal(alone[0], "v1");
    assert_string_equal(alone[16], "(nil)");
    assert_string_equal(alone[18], "v7");
    for (int n = 0; n < TIMES; n++) {
        for (size_t i = 0; i < COMMANDS; i++) say(c, commands[i]);
    }
    for (int n = 0; n < TIMES; n++) {
        for (size_t i = 0; i < COMMANDS; i++) expect_next(c, alone[i]);
    }
    for (size_t i = 0; i < COMMANDS; i++) free(alone[i]);
}

static void what_is_written_is_read_by_the_next_command(void **state)
{
    fill();
    for (int i = 0; i < 200; i++) {
        say(c, "SET far:%d new%d", i, i);
        say(c, "GET far:%d", i);
        say(c, "DEL far:%d", i);
        say(c, "GET far:%d", i);
    }
    for (int i = 0; i < 200; i++) {
        char wanted[32];
        snprintf(wanted, sizeof wanted, "new%d", i);
        expect_next(c, "+OK");
        expect_next(c, wanted);
        expect_next(c, ":1");
        expect_next(c, "(nil)");
    }
}

static int start(void **state)
{
    group_opens(&c, NULL);
    server = testserver_start(NULL);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, group_enter, group_leave)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(keys_of_all_commands_are_fetched),
        TEST(a_pipeline_is_answered_as_its_commands_are_alone),
        TEST(what_is_written_is_read_by_the_next_command),
    };
    return cmocka_run_group_tests(tests, start, group_stop);
}
