/* The string view beside a real Redis: the same commands to both must get the same replies. Skipped
 * when there is no redis-server.
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
#include "real_redis.h"

#define KEYS_MAX 20000

static redisContext *c;

static int start(void **state)
{
    group_opens(&c, NULL);
    server = testserver_start_with("--databases", "16", NULL);
    return 0;
}

/* ---- beside a real Redis --------------------------------------------------------------------- */

/* Run one after another on both; each reply must be the same, but that an error of ours may go on
 * where Redis's ends. %s is an empty word. KEYS and SCAN: in any order. */
static const char *const both[] = {
    "FLUSHALL",
    "SET a 1",
    "GET a",
    "GET none",
    "SET a 2 NX",
    "SET b 2 XX",
    "GET b",
    "SET a 3 XX",
    "SET a 4 GET",
    "SET n GET",
    "SET n 1 GET",
    "SET n 2 XX GET",
    "SET n2 2 XX GET",
    "SET n 3 NX GET",
    "SET n3 3 NX GET",
    "GET n3",
    "set A 1 nx",
    "SET a 1 EX 100",
    "TTL a",
    "SET a 1 KEEPTTL",
    "TTL a",
    "SET a 1",
    "TTL a",
    "SET a 1 PX 100000",
    "TTL a",
    "SET a 1 EXAT 4000000000",
    "SET a 1 PXAT 4000000000000",
    "SET a 1 px 100000 nx get",
    "SET a 1 EX 0",
    "SET a 1 EX -1",
    "SET a 1 EX abc",
    "SET a 1 EX 1.5",
    "SET a 1 EX 10 PX 10",
    "SET a 1 EX 10 KEEPTTL",
    "SET a 1 KEEPTTL EX 10",
    "SET a 1 NX XX",
    "SET a 1 XX NX",
    "SET a 1 FOO",
    "SET a 1 EX",
    "SET a",
    "SET",
    "SET a 1 EX 9223372036854775807",
    "SET a 1 EX 9223372036854775808",
    "SET a 1 PX 9223372036854775807",
    "SET a 1 EXAT 1",
    "GET a",
    "SET a 1 PXAT 1",
    "EXISTS a",

    "SET a %s",
    "GET a",
    "STRLEN a",
    "SETNX a 1",
    "SETNX fresh 1",
    "GET fresh",
    "SETNX fresh",
    "SETEX a 10 x",
    "TTL a",
    "GET a",
    "SETEX a 0 x",
    "SETEX a -1 x",
    "SETEX a abc x",
    "SETEX a 10",
    "SETEX a 9223372036854775807 x",
    "PSETEX a 100000 x",
    "TTL a",
    "PSETEX a 0 x",
    "PSETEX a abc x",
    "GETSET a y",
    "TTL a",
    "GETSET new z",
    "GETSET new",
    "GETDEL new",
    "GETDEL new",
    "GETDEL",
    "MGET a b none",
    "MGET",
    "MSET a 1 b 2",
    "MGET a b",
    "MSET a 1 b",
    "MSET a",
    "MSET",
    "MSET a 1 a 2",
    "GET a",
    "DEL a b none a",
    "DEL",
    "DEL none",
    "MSET a 1 b 2",
    "UNLINK a b none",
    "UNLINK",
    "SET a 1",
    "EXISTS a a b",
    "EXISTS",
    "TYPE a",
    "TYPE none",
    "TYPE",
    "TYPE a b",
    "TTL none",
    "PTTL none",
    "TTL a",
    "PTTL a",
    "TTL",
    "PTTL",
    "EXPIRE none 10",
    "EXPIRE a 100",
    "TTL a",
    "EXPIRE a 100 NX",
    "EXPIRE a 200 XX",
    "TTL a",
    "EXPIRE a 100 GT",
    "EXPIRE a 300 GT",
    "TTL a",
    "EXPIRE a 400 LT",
    "EXPIRE a 50 LT",
    "TTL a",
    "PERSIST a",
    "PERSIST a",
    "PERSIST none",
    "PERSIST",
    "TTL a",
    "EXPIRE a 100 GT",
    "EXPIRE a 100 XX",
    "EXPIRE a 100 LT",
    "TTL a",
    "PERSIST a",
    "EXPIRE a 100 NX",
    "EXPIRE a 100 NX XX",
    "EXPIRE a 100 NX GT",
    "EXPIRE a 100 LT NX",
    "EXPIRE a 100 GT LT",
    "EXPIRE a 100 XX GT LT",
    "EXPIRE a 100 FOO",
    "EXPIRE a 100 NX FOO XX",
    "EXPIRE a 200 XX GT",
    "EXPIRE a 50 GT XX",
    "EXPIRE a 300 XX LT",
    "EXPIRE a 150 XX LT",
    "EXPIRE a 160 XX XX",
    "PERSIST a",
    "EXPIRE a 100 XX GT",
    "EXPIRE a 100 XX LT",
    "EXPIRE a 9223372036854775807",
    "EXPIRE a 9223372036854775",
    "EXPIRE a -9223372036854776",
    "EXPIRE a 9223372036854775808",
    "PEXPIRE a 9223372036854775807",
    "EXPIREAT a 9223372036854775807",
    "EXPIREAT a -9223372036854775808",
    "PEXPIREAT a 9223372036854775808",
    "PEXPIREAT a 9223372036854775807",
    "PERSIST a",
    "SET a 1 PXAT 9223372036854775807",
    "PERSIST a",
    "SET a 1 PX 9223372036854775807",
    "SET a 1 EX 9223372036854775",
    "SET a 1 EX 9223372036854775807",
    "SETEX a 9223372036854775807 1",
    "PSETEX a 9223372036854775807 1",
    "PEXPIRE a -9223372036854775808",
    "SET a 1",
    "EXPIRE a abc",
    "EXPIRE a",
    "EXPIRE a 1.5",
    "EXPIRE a 0",
    "EXISTS a",
    "SET a 1",
    "EXPIRE a -1",
    "EXISTS a",
    "SET a 1",
    "PEXPIRE a 100000",
    "TTL a",
    "PEXPIRE a 0",
    "EXISTS a",
    "SET a 1",
    "EXPIREAT a 4000000000",
    "EXPIREAT a 1",
    "EXISTS a",
    "SET a 1",
    "PEXPIREAT a 4000000000000",
    "PEXPIREAT a 1",
    "EXISTS a",
    "PEXPIRE a abc",
    "EXPIREAT a abc",
    "INCR n5",
    "INCR n5",
    "DECR n5",
    "DECR n6",
    "INCRBY n5 10",
    "DECRBY n5 3",
    "GET n5",
    "INCRBY n5 abc",
    "INCRBY n5 1.5",
    "INCRBY n5 +1",
    "INCRBY n5 01",
    "INCRBY n5 -5",
    "INCRBY n5",
    "INCR",
    "INCRBY n5 9223372036854775807",
    "INCRBY n5 9223372036854775808",
    "SET n5 9223372036854775807",
    "INCR n5",
    "GET n5",
    "DECR n5",
    "SET n5 -9223372036854775808",
    "DECR n5",
    "INCR n5",
    "DECRBY n5 -9223372036854775808",
    "SET n5 text",
    "INCR n5",
    "SET n5 01",
    "INCR n5",
    "SET n5 +1",
    "INCR n5",
    "SET n5 %s",
    "INCR n5",
    "SET n5 -0",
    "INCR n5",
    "SET n5 1.0",
    "INCR n5",
    "SET n5 9223372036854775808",
    "INCR n5",
    "SET n5 -1",
    "INCR n5",
    "SET n5 1 EX 100",
    "INCR n5",
    "TTL n5",
    "APPEND n5 x",
    "TTL n5",
    "GET n5",
    "APPEND ap abc",
    "APPEND ap %s",
    "APPEND new2 %s",
    "EXISTS new2",
    "STRLEN ap",
    "STRLEN none",
    "STRLEN",
    "APPEND ap",
    "STRLEN a b",
    "SCAN abc",
    "SCAN 0 COUNT 0",
    "SCAN 0 COUNT abc",
    "SCAN 0 FOO",
    "SCAN 0 MATCH",
    "SCAN 0 COUNT",
    "SCAN",
    "SCAN 0 COUNT 1000",
    "SCAN 0 COUNT 1000 MATCH n*",
    "SCAN 0 COUNT 1000 TYPE string",
    "SCAN 0 TYPE hash COUNT 1000",
    "KEYS *",
    "KEYS n?",
    "KEYS [ab]",
    "KEYS",
    "KEYS a b",
    "RANDOMKEY a",
    "FLUSHDB",
    "RANDOMKEY",
    "DBSIZE",
    "KEYS *",
    "SCAN 0",
    /* transactions */
    "EXEC",
    "DISCARD",
    "MULTI",
    "MULTI",
    "WATCH a",
    "SET a 1",
    "INCR a",
    "GET a",
    "EXEC",
    "EXEC",
    "MULTI",
    "NOSUCH",
    "SET a 5",
    "EXEC",
    "MULTI",
    "SET a",
    "EXEC",
    "MULTI",
    "SET a 9",
    "DISCARD",
    "GET a",
    "MULTI",
    "EXEC",
    "MULTI foo",
    "DISCARD foo",
    "WATCH",
    "UNWATCH",
    "UNWATCH a",
    "WATCH a",
    "SET a 1",
    "MULTI",
    "PING",
    "EXEC",
    "MULTI",
    "PING",
    "EXEC",
    "WATCH a",
    "UNWATCH",
    "SET a 1",
    "MULTI",
    "UNWATCH",
    "PING",
    "SELECT 1",
    "SET a 1",
    "EXEC",
    "GET a",
    "SELECT 0",
    "MULTI",
    "DISCARD",
    "MULTI",
    "RESET",
    "EXEC",
    "SELECT 99",
    /* connections */
    "WAIT 0 0",
    "WAIT 1 5",
    "WAIT",
    "WAIT 0 abc",
    "WAIT 0 -1",
    "CLIENT PAUSE abc",
    "CLIENT PAUSE -1",
    "CLIENT PAUSE 1 FOO",
    "CLIENT PAUSE",
    "CLIENT UNPAUSE",
    "CLIENT UNPAUSE 1",
    "CLIENT PAUSE 0",
    "CLIENT PAUSE 0 WRITE",
    "CLIENT PAUSE 0 ALL",
    "CLIENT UNBLOCK 99999",
    "CLIENT UNBLOCK abc",
    "CLIENT UNBLOCK 1 FOO",
    "CLIENT UNBLOCK 99999 ERROR",
    "CLIENT UNBLOCK",
    "CLIENT REPLY FOO",
    "CLIENT REPLY ON",
    "CLIENT REPLY",
    "CLIENT NO-EVICT FOO",
    "CLIENT NO-EVICT ON",
    "CLIENT NO-EVICT off",
    "BGSAVE FOO",
    "SAVE FOO",
    "LASTSAVE FOO",
};

static int by_text(const void *a, const void *b)
{
    const redisReply *const *x = a;
    const redisReply *const *y = b;
    return strcmp((*x)->str, (*y)->str);
}

static void write_flat(FILE *f, redisReply *r, bool is_sorted)
{
    switch (r->type) {
    case REDIS_REPLY_INTEGER: fprintf(f, ":%lld", r->integer); return;
    case REDIS_REPLY_NIL: fputs("(nil)", f); return;
    case REDIS_REPLY_ARRAY:
        if (is_sorted && r->elements > 0 && r->element[0]->type == REDIS_REPLY_STRING &&
            r->element[r->elements - 1]->type == REDIS_REPLY_STRING) {
            qsort(r->element, r->elements, sizeof r->element[0], by_text);
        }
        fputc('[', f);
        for (size_t i = 0; i < r->elements; i++) {
            fputs(i > 0 ? " " : "", f);
            write_flat(f, r->element[i], is_sorted);
        }
        fputc(']', f);
        return;
    default:
        fprintf(f, "%s%.*s",
                r->type == REDIS_REPLY_STATUS  ? "+"
                : r->type == REDIS_REPLY_ERROR ? "-"
                                               : "",
                (int)r->len, r->str);
    }
}

/* Free it. */
static char *told(redisContext *by, const char *command)
{
    char *text = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&text, &len);
    redisReply *r = redisCommand(by, command, "");
    if (r == NULL) fail_msg("%s: %s", command, by->errstr);
    write_flat(f, r, strncmp(command, "KEYS", 4) == 0 || strncmp(command, "SCAN", 4) == 0);
    freeReplyObject(r);
    fclose(f);
    return text;
}

static void the_string_view_answers_as_redis_does(void **state)
{
    redisContext *redis = NULL;
    size_t different = 0;
    struct real_redis *real = real_redis_start(&redis);
    for (size_t i = 0; i < sizeof both / sizeof both[0]; i++) {
        char *wanted = told(redis, both[i]);
        char *got = told(c, both[i]);
        bool is_same = strcmp(wanted, got) == 0 ||
                       (wanted[0] == '-' && strncmp(wanted, got, strlen(wanted)) == 0);
        if (!is_same) {
            fprintf(stderr, "%zu: %s\n  redis: %s\n   ours: %s\n", i, both[i], wanted, got);
            different++;
        }
        free(wanted);
        free(got);
    }
    redisFree(redis);
    real_redis_stop(real);
    assert_int_equal(different, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, group_enter, group_leave)
    const struct CMUnitTest tests[] = {
        TEST(the_string_view_answers_as_redis_does),
    };
    return cmocka_run_group_tests(tests, start, group_stop);
}
