/* Commands that are decoded before they are run, by I/O threads or by the loop, and whose keys are
 * fetched ahead when there are many entries (src/session/ahead.h): each is answered as it is alone,
 * whatever the commands before it have changed meanwhile, however wrong it is, and wherever what
 * was received ends. tsan server: yes
 */
#include <ctype.h>
#include <setjmp.h>
#include <signal.h>
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
#define CLIENTS 24
#define COMMAND_BYTES_MAX 512
#define STAMP_DIGITS 20

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
    "KV.SET ['ahead',1] {'a':[1,2.5,'x',null],'b':'y'}",
    "KV.GET ['ahead',1]",
    "KV.SET ['ahead',1] {'a':[1,2.5,'x',null",
    "KV.SET ['ahead',1] {'a':1} NX",
    "KV.SET ['ahead',1] {'a':1} ZZ",
    "KV.SET ['ahead',2] 1 FORMAT MSGPACK", /* the byte of 1 is 49 there */
    "KV.GET ['ahead',2]",
    "KV.SET ['ahead',3] {'id':{'$uuidv7':1}}",
    "KV.SET ['ahead',9] 9007199254740993",
    "KV.FORMAT JSON BARE",
    "KV.SET ['ahead',9007199254740993] 9007199254740993",
    "KV.GET ['ahead',9007199254740993]",
    "KV.FORMAT JSON",
    "KV.GET ['ahead',9007199254740993]",
    "KV.ATOMIC SET ['ahead',4] 'x' EX 1000 SUM ['ahead',5] 0 DEL ['ahead',6]",
    "KV.ATOMIC CHECK ['ahead',4] NONE SET ['ahead',4] 'y'",
    "KV.ATOMIC SET ['ahead',4] 'y' SET ['ahead',7] {",
    "KV.ATOMIC IDEM once SET ['ahead',8] 'z'",
    "KV.GET ['ahead',4]",
    "KV.GET ['ahead',8]",
    "KV.APPEND ['ahead',10] []",
    "MULTI",
    "KV.SET ['ahead',11] {'a':1}",
    "KV.SET ['ahead',11]",
    "EXEC",
    "SELECT 2",
    "KV.SET ['ahead',12] 'two'",
    "KV.GET ['ahead',12]",
    "SELECT 0",
    "KV.GET ['ahead',12]",
    "STRLEN far:13",
};
#define COMMANDS (sizeof commands / sizeof commands[0])

/* The keys of each command that names some, and of none that is wrong; with the values, where they
 * are decoded ahead too, the words. */
static void keys_of_all_commands_are_fetched(void **state)
{
    static const struct {
        const char *command;
        long long keys, words;
    } kinds[] = {
        {"GET far:1", 1, 1},
        {"KV.GET ['far:1']", 1, 1},
        {"MGET far:1 far:2 far:3", 3, 3},
        {"KV.ATOMIC CHECK ['far:1'] NONE SET ['far:2'] 1 SET ['far:3'] 2", 3, 5},
        {"KV.SET ['ahead',20] {'a':1}", 1, 2},
        {"KV.SET ['ahead',20] 1 NX", 1, 2},
        {"KV.SUM ['ahead',21] 1", 1, 2},
        {"KV.APPEND ['ahead',22] [1]", 1, 2},
        {"KV.GET ['far:1'", 0, 0},
        {"GET far:1 far:2", 0, 0},
        {"PING", 0, 0},
    };
    fill();
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        long long keys = load_info(c, "cache_keys_ahead");
        long long words = load_info(c, "decoded_ahead");
        for (int n = 0; n < 5; n++) say(c, kinds[i].command);
        expect_many(c, 5, "*");
        assert_int_equal(load_info(c, "cache_keys_ahead") - keys, 5 * kinds[i].keys);
        assert_int_equal(load_info(c, "decoded_ahead") - words, 5 * kinds[i].words);
    }
    long long before = load_info(c, "cache_keys_ahead");
    for (int n = 0; n < 5; n++) freeReplyObject(ask_reply(c, "GET far:1"));
    assert_int_equal(load_info(c, "cache_keys_ahead"), before); /* one by one: nothing to gain */
}

/* What each command is answered alone, with @ for a versionstamp; the caller frees them. */
static void ask_alone(char *alone[COMMANDS])
{
    for (size_t i = 0; i < COMMANDS; i++) {
        const char *text = ask(c, commands[i]);
        char *out = alone[i] = calloc(1, strlen(text) + 1);
        while (*text != '\0') {
            size_t digits = 0;
            while (isxdigit((unsigned char)text[digits])) digits++;
            bool is_stamp = digits == STAMP_DIGITS;
            *out++ = is_stamp ? '@' : *text;
            text += is_stamp ? STAMP_DIGITS : 1;
        }
    }
    assert_string_equal(alone[0], "v1");
    assert_string_equal(alone[16], "(nil)");
    assert_string_equal(alone[18], "v7");
}

static void free_alone(char *alone[COMMANDS])
{
    for (size_t i = 0; i < COMMANDS; i++) free(alone[i]);
}

static void a_pipeline_is_answered_as_its_commands_are_alone(void **state)
{
    char *alone[COMMANDS];
    fill();
    ask_alone(alone);
    for (int n = 0; n < TIMES; n++) {
        for (size_t i = 0; i < COMMANDS; i++) say(c, commands[i]);
    }
    for (int n = 0; n < TIMES; n++) {
        for (size_t i = 0; i < COMMANDS; i++) expect_next(c, alone[i]);
    }
    free_alone(alone);
}

/* ---- many clients ---- */

/* All commands as they are sent. */
static size_t write_commands(char out[COMMANDS * COMMAND_BYTES_MAX])
{
    size_t len = 0;
    for (size_t i = 0; i < COMMANDS; i++) {
        char text[COMMAND_BYTES_MAX];
        char *command = NULL;
        snprintf(text, sizeof text, "%s", commands[i]);
        for (char *p = text; *p != '\0'; p++) {
            if (*p == '\'') *p = '"';
        }
        int bytes = redisFormatCommand(&command, text);
        assert_in_range(bytes, 1, COMMAND_BYTES_MAX);
        memcpy(out + len, command, (size_t)bytes);
        len += (size_t)bytes;
        redisFreeCommand(command);
    }
    return len;
}

/* To all clients at once, as they are for the server: it is stopped meanwhile. Of client i from
 * the i-th of so many parts on, or up to there. */
static void send_parts(redisContext *clients[CLIENTS], const char *bytes, size_t len, bool is_end)
{
    assert_int_equal(kill(testserver_pid(server), SIGSTOP), 0);
    for (size_t i = 0; i < CLIENTS; i++) {
        size_t at = len * i / CLIENTS;
        if (is_end) raw_send(clients[i]->fd, bytes + at, len - at);
        if (!is_end && at > 0) raw_send(clients[i]->fd, bytes, at);
    }
    assert_int_equal(kill(testserver_pid(server), SIGCONT), 0);
}

static void answer_many_clients(size_t times)
{
    static char bytes[COMMANDS * COMMAND_BYTES_MAX];
    char *alone[COMMANDS];
    redisContext *clients[CLIENTS];
    size_t len = write_commands(bytes);
    ask_alone(alone);
    for (size_t i = 0; i < CLIENTS; i++) {
        clients[i] = testserver_connect(server);
        expect(clients[i], "+PONG", "PING");
    }
    long long before = load_info(c, "decoded_ahead");
    for (size_t n = 0; n < times; n++) {
        send_parts(clients, bytes, len, false);
        if (n % 2 == 0) expect(c, "+PONG", "PING");
        send_parts(clients, bytes, len, true);
        for (size_t i = 0; i < CLIENTS; i++) {
            for (size_t k = 0; k < COMMANDS; k++) expect_next(clients[i], alone[k]);
        }
    }
    /* Each client has dozens of good words in each round. */
    assert_in_range(load_info(c, "decoded_ahead") - before, times * CLIENTS * 10, 1000000);
    for (size_t i = 0; i < CLIENTS; i++) redisFree(clients[i]);
    free_alone(alone);
}

static void many_clients_are_answered_as_one_alone(void **state)
{
    for (int i = 1; i < 20; i++) expect(c, "+OK", "SET far:%d v%d", i, i);
    answer_many_clients(TIMES);
}

static void also_when_there_are_many_entries(void **state)
{
    fill();
    answer_many_clients(TIMES / 2);
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
    /* All stays in memory, however long it takes to write it. */
    server = testserver_start_with("--io-threads", "4", "--memtable-age", "100000000", NULL);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, group_enter, group_leave)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(keys_of_all_commands_are_fetched),
        TEST(a_pipeline_is_answered_as_its_commands_are_alone),
        TEST(what_is_written_is_read_by_the_next_command),
        TEST(many_clients_are_answered_as_one_alone),
        TEST(also_when_there_are_many_entries),
    };
    return cmocka_run_group_tests(tests, start, group_stop);
}
