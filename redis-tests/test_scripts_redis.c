/* Scripts beside a real Redis: each of redis-tests/scripts/compare.txt (between lines of ---) gets the
 * same reply from both, but that ours names a command which does not exist. Skipped when there is no redis-server.
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
#include "real_redis.h"

#define FILE_NAME "redis-tests/scripts/compare.txt"
#define BETWEEN "\n---\n"

static redisContext *c;

static int start(void **state)
{
    group_opens(&c, NULL);
    server = testserver_start(NULL);
    return 0;
}

static char *read_file(const char *name)
{
    FILE *f = fopen(name, "r");
    if (f == NULL) fail_msg("%s cannot be opened", name);
    char *text = calloc(1, 1 << 20);
    size_t len = fread(text, 1, (1 << 20) - 1, f);
    fclose(f);
    text[len] = '\0';
    return text;
}

static bool differs(const char *what, const char *wanted, const char *found)
{
    if (strcmp(wanted, found) == 0) return false;
    fprintf(stderr, "%s\n  Redis: %s\n  here:  %s\n", what, wanted, found);
    return true;
}

/* Ours names a command that does not exist: takes the name off. */
static void take_name_off(char *reply)
{
    static const char words[] = "Unknown Redis command called from script";
    char *at = strstr(reply, words);
    if (at == NULL || strncmp(at + strlen(words), ": '", 3) != 0) return;
    at += strlen(words);
    const char *rest = strchr(at + 3, '\'');
    assert_non_null(rest);
    memmove(at, rest + 1, strlen(rest));
}

static size_t compare(redisContext *real, char *scripts)
{
    size_t count = 0;
    for (char *at = scripts, *next = NULL; at != NULL; at = next, count++) {
        next = strstr(at, BETWEEN);
        if (next != NULL) {
            *next = '\0';
            next += strlen(BETWEEN);
        }
        const char *wanted = ask(real, "EVAL %s 2 k1 k2 a1 a2 3", at);
        char *found = strdup(ask(c, "EVAL %s 2 k1 k2 a1 a2 3", at));
        take_name_off(found);
        if (differs(at, wanted, found)) fail_msg("the script has another reply than in Redis");
        free(found);
    }
    return count;
}

static void scripts_reply_as_in_redis(void **state)
{
    redisContext *real = NULL;
    struct real_redis *r = real_redis_start(&real);
    char *scripts = read_file(FILE_NAME);
    size_t count = compare(real, scripts);
    assert_true(count > 150);
    free(scripts);
    redisFree(real);
    real_redis_stop(r);
}

/* Commands around scripts. */
static const char *const commands[] = {
    "EVAL",
    "EVAL x",
    "EVAL x y",
    "EVAL x -1",
    "EVAL x 2 a",
    "EVALSHA abc 0",
    "EVALSHA ffffffffffffffffffffffffffffffffffffffff 0",
    "SCRIPT LOAD return",
    "SCRIPT LOAD bad",
    "EVALSHA 63143b6f8007b98c53ca2149822777b3566f9241 0",
    "SCRIPT EXISTS a 63143b6f8007b98c53ca2149822777b3566f9241",
    "SCRIPT FLUSH x",
    "SCRIPT FLUSH SYNC",
    "SCRIPT FLUSH ASYNC",
    "SCRIPT FLUSH",
    "SCRIPT EXISTS 63143b6f8007b98c53ca2149822777b3566f9241",
    "SCRIPT EXISTS",
    "SCRIPT KILL",
    "SCRIPT NOPE",
    "FUNCTION KILL",
    "FUNCTION STATS",
    "FUNCTION LIST",
    "FUNCTION LIST x",
    "FUNCTION LIST LIBRARYNAME",
    "FUNCTION DELETE nope",
    "FUNCTION FLUSH x",
    "FUNCTION RESTORE x",
    "FCALL nope 0",
    "FCALL nope x",
    "FCALL nope 2 a",
    "FCALL_RO nope 0",
    "FUNCTION LOAD return",
    "FUNCTION LOAD x y",
    "FUNCTION LOAD REPLACE x y",
    "FUNCTION LOAD x REPLACE y",
};

static void commands_reply_as_in_redis(void **state)
{
    real_redis_compare(c, commands, sizeof commands / sizeof commands[0]);
}

/* Libraries that are wrong, and one that is good. */
static const char *const libraries[] = {
    "#!lua\nreturn 1",
    "#!lua name=\nreturn 1",
    "#!lua name=a-b\nreturn 1",
    "#!lua name=x\nreturn 1",
    "#!lua name=x foo=1\nreturn 1",
    "#!js name=x\nreturn 1",
    "#!lua name=x\nsyntax error",
    "#!lua name=x\nredis.register_function('f')",
    "#!lua name=x\nredis.register_function('a-b', function() end)",
    "#!lua name=x\nredis.register_function{function_name='f'}",
    "#!lua name=x\nredis.register_function{callback=function() end}",
    "#!lua name=x\nredis.register_function{function_name='f', callback=1}",
    "#!lua name=x\nredis.register_function{function_name='f', callback=function() end, bad=1}",
    "#!lua name=x\nredis.register_function{function_name='f', callback=function() end, flags={'x'}}",
    "#!lua name=lib\n"
    "redis.register_function('f', function(keys, args) return {keys[1], args[1], #keys, #args} end)\n"
    "redis.register_function{function_name='ro', callback=function() return 7 end,"
    " flags={'no-writes'}, description='reads'}\n"
    "redis.register_function('w', function(k, a) return redis.call('set', k[1], a[1]) end)\n"
    "redis.register_function('bad', function() error('oops') end)\n"
    "redis.register_function('none', function() return KEYS end)",
    "#!lua name=lib\nredis.register_function('f', function() end)",
    "#!lua name=Lib\nredis.register_function('Other', function() return 8 end)",
    "#!lua name=other\nredis.register_function('oTHER', function() end)",
    "#!lua name=other\nredis.register_function('f', function() end)",
};

static const char *const calls[] = {
    "FCALL f x",
    "FCALL f 1.5 k",
    "FCALL_RO f 99999999999999999999 k",
    "FCALL f -1 k",
    "FCALL f 3 k",
    "FCALL f 1 k a b",
    "FCALL_RO ro 0",
    "FCALL_RO f 0",
    "FCALL w 1 k v",
    "GET k",
    "FCALL bad 0",
    "FCALL none 0",
    "FUNCTION STATS",
    "FUNCTION DELETE lib",
    "FCALL f 0",
    "FCALL other 0",
    "FCALL OTHER 0",
    "FUNCTION LIST",
    "FUNCTION DELETE LIB",
    "FCALL Other 0",
};

static void functions_reply_as_in_redis(void **state)
{
    redisContext *real = NULL;
    size_t different = 0;
    struct real_redis *r = real_redis_start(&real);
    for (size_t i = 0; i < sizeof libraries / sizeof libraries[0]; i++) {
        const char *wanted = ask(real, "FUNCTION LOAD %s", libraries[i]);
        const char *found = ask(c, "FUNCTION LOAD %s", libraries[i]);
        different += differs(libraries[i], wanted, found);
    }
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        const char *wanted = ask(real, calls[i]);
        const char *found = ask(c, calls[i]);
        different += differs(calls[i], wanted, found);
    }
    redisFree(real);
    real_redis_stop(r);
    assert_int_equal(different, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, group_enter, group_leave)
    const struct CMUnitTest tests[] = {
        TEST(scripts_reply_as_in_redis),
        TEST(commands_reply_as_in_redis),
        TEST(functions_reply_as_in_redis),
    };
    return cmocka_run_group_tests(tests, start, group_stop);
}
