/* Replies of libtupled (include/tupled_db.h) beside those of a server: the same commands, in the
 * same order, on a fresh database each; the same trees.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "server.h"
#include "tupled_db.h"

#define WORDS_MAX 64
#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* Words are parted by blanks. Nothing that tells the time, a name, a size or a limit of the
 * process, nor COMMAND DOCS, whose replies are deeper than this client library reads. */
static const char *const commands[] = {
    "PING",
    "ECHO hello",
    "NONSENSE a b",
    "KV.SET",
    "KV.SET [\"a\"] 1",
    "KV.SET [\"a\"] 2 NX",
    "KV.SET [\"b\"] {\"x\":[1,2,{\"$bigint\":\"5\"}]} XX",
    "KV.SET [\"b\"] {\"x\":[1,2.5,null,true],\"name\":\"Ada\"}",
    "KV.SET [\"c\"] {\"name\":\"Grace\"} EX 1000",
    "KV.SET [\"wrong",
    "KV.SET [\"a\"] {wrong",
    "KV.GET [\"a\"]",
    "KV.GET [\"a\"] WITHVERSION",
    "KV.GET [\"none\"]",
    "KV.GET [\"none\"] WITHVERSION",
    "KV.GET [\"b\"] FORMAT MSGPACK",
    "KV.MGET [\"a\"] [\"none\"] [\"b\"]",
    "KV.EXISTS [\"a\"] [\"none\"] [\"b\"]",
    "KV.SUM [\"a\"] 41",
    "KV.SUM [\"a\"] 1 RANGE 0 42",
    "KV.SUM [\"b\"] 1",
    "KV.APPEND [\"list\"] [1,2]",
    "KV.ATOMIC DETAILS CHECK [\"a\"] NONE SET [\"a\"] 1",
    "KV.ATOMIC CHECK [\"a\"] NONE",
    "KV.ATOMIC DETAILS SET [\"d\"] 1 SUM [\"a\"] 1 APPEND [\"list\"] [3] ENQUEUE q 1 DEL [\"d\"]",
    "KV.ATOMIC",
    "KV.LIST",
    "KV.LIST LIMIT 2",
    "KV.LIST LIMIT 2 KEYSONLY REVERSE",
    "KV.LIST WHERE {\"name\":\"Ada\"}",
    "KV.LIST WHERE {\"name\":{\"$none\":1}}",
    "KV.COUNT",
    "KV.TTL [\"a\"]",
    "KV.TTL [\"none\"]",
    "KV.PERSIST [\"c\"]",
    "KV.DEL [\"a\"] [\"none\"]",
    "KV.VERSION",
    "KV.POLL KEYS 1 [\"b\"] NONE",
    "KV.POLL BLOCK 1 KEYS 1 [\"none\"] NONE",
    "KV.INDEX CREATE by_name PREFIX [] ON 1 name",
    "KV.INDEX CREATE by_name PREFIX [] ON 1 name",
    "KV.INDEX CREATE texts PREFIX [] TEXT 1 name",
    "KV.INDEX DROP none",
    "KV.FIND none 1",
    "KV.ENQUEUE q {\"job\":1}",
    "KV.QUEUE LIST",
    "KV.QUEUE PEEK none",
    "KV.DEQUEUE none",
    "KV.DLQ LIST q",
    "KV.ACK nonsense",
    "SET plain text",
    "SET plain other NX",
    "GET plain",
    "GET none",
    "MGET plain none",
    "INCR number",
    "INCR plain",
    "APPEND plain more",
    "STRLEN plain",
    "TYPE plain",
    "TTL plain",
    "DEL plain number none",
    "EXISTS plain",
    "COMMAND COUNT",
    "COMMAND INFO kv.get kv.atomic nonsense",
    "COMMAND LIST FILTERBY PATTERN kv.*",
    "COMMAND GETKEYS KV.MGET [\"a\"] [\"b\"]",
    "LATENCY HISTOGRAM none",
    "SLOWLOG RESET",
    "OBJECT ENCODING plain",
    "ROLE",
    "DBSIZE",
    "FLUSHDB",
    "KV.LIST",
    "KV.COUNT",
};

/* Redis's data types; without replies that have another shape in RESP3, which the library's are:
 * pairs of members and scores, what XREAD finds. */
static const char *const types[] = {
    "HSET h a 1 b 2",
    "HGETALL h",
    "HINCRBY h a 5",
    "HMGET h a none",
    "HDEL h b none",
    "HPEXPIREAT h 4000000000000 FIELDS 1 a",
    "HPEXPIRETIME h FIELDS 2 a b",
    "HSETEX h FNX PXAT 4000000000000 FIELDS 1 c 3",
    "HGETDEL h FIELDS 1 c",
    "HSCAN h 0",
    "HINCRBYFLOAT h f 0.5",
    "HINCRBY h f 1",
    "RPUSH l a b c",
    "LPOP l",
    "LRANGE l 0 -1",
    "LINSERT l BEFORE c x",
    "LMOVE l m LEFT RIGHT",
    "LPOS l c",
    "LMPOP 2 none l LEFT COUNT 5",
    "LLEN l",
    "BLPOP none 0.01",
    "BLPOP m none 0",
    "SADD s a b c",
    "SADD t b c d",
    "SINTER s t",
    "SUNIONSTORE u s t",
    "SDIFF s t",
    "SMISMEMBER s a z",
    "SRANDMEMBER none 5",
    "SCARD u",
    "SINTERCARD 2 s t",
    "ZADD z 1 a 2.5 b 3 c",
    "ZADD z GT CH 2 a 9 none XX",
    "ZRANGE z 0 -1",
    "ZRANGEBYSCORE z (1 +inf LIMIT 0 1",
    "ZRANK z b WITHSCORE",
    "ZINCRBY z 1 b",
    "ZPOPMIN z",
    "ZUNION 2 z none",
    "ZRANGE z [a [z BYLEX",
    "ZSCORE z none",
    "ZMPOP 1 z MAX",
    "BZPOPMIN none 0.01",
    "XADD x 1-1 f v",
    "XADD x 1-1 f v",
    "XADD x 2-1 f w g h",
    "XRANGE x - +",
    "XLEN x",
    "XREAD COUNT 1 STREAMS x 9",
    "XGROUP CREATE x g 0",
    "XGROUP CREATE x g 0",
    "XGROUP CREATECONSUMER x g w",
    "XCLAIM x g w 0 1-1 FORCE JUSTID",
    "XACK x g 1-1 9-9",
    "XPENDING x g",
    "XREADGROUP GROUP none w STREAMS x >",
    "XTRIM x MAXLEN 1",
    "XINFO GROUPS x",
    "GEOADD g 13.361389 38.115556 palermo 15.087269 37.502669 catania",
    "GEODIST g palermo catania KM",
    "GEOSEARCH g FROMLONLAT 15 37 BYRADIUS 200 KM ASC WITHDIST",
    "PFADD p a b c",
    "PFCOUNT p",
    "RPUSH n 3 1 2",
    "SORT n",
    "SORT n DESC STORE sorted",
    "LRANGE sorted 0 -1",
    "TYPE h",
    "TYPE x",
    "OBJECT ENCODING z",
    "LPUSH h x",
    "GET l",
    "KV.GET [\"h\"]",
    "KV.ELEMENTS [\"h\"]",
    "KV.ELEMENTS [\"none\"]",
    "EXPIRE h 1000",
    "RENAME h i",
    "COPY i j",
    "HGETALL j",
    "DEL i j",
    "KV.DO IDEM one LPUSH l x",
    "KV.DO IDEM one LPUSH l x",
    "LLEN l",
    "KV.DO GET l",
    "EVAL return{redis.call('HSET',KEYS[1],'f','v'),redis.call('HGETALL',KEYS[1])} 1 e",
    "SCAN 0 TYPE hash COUNT 1000",
    "DBSIZE",
    "FLUSHDB",
};

/* What may be done when the indexes are filled. */
static const char *const searches[] = {
    "KV.FIND by_name \"Ada\"", "KV.FIND by_name KEYSONLY",
    "KV.SEARCH texts ada",     "KV.SEARCH texts grace WITHSCORES HIGHLIGHT < >",
    "KV.SEARCH texts (",
};

static struct testserver *server;
static redisContext *connection;
static struct tupled_db *db;
static char dir[] = "/tmp/test_embedded.XXXXXX";

static int start(void **state)
{
    struct tupled_error e;
    server = testserver_start(NULL);
    connection = testserver_connect(server);
    assert_non_null(mkdtemp(dir));
    assert_int_equal(tupled_open(dir, NULL, &db, &e), TUPLED_YES);
    return 0;
}

static int stop(void **state)
{
    struct tupled_error e;
    char command[64];
    redisFree(connection);
    testserver_free(server);
    assert_int_equal(tupled_close(db, &e), TUPLED_YES);
    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    return system(command);
}

static void same_text(const char *line, const redisReply *theirs, const char *ours, size_t len)
{
    if (theirs->len == len && memcmp(theirs->str, ours, len) == 0) return;
    fail_msg("%s: the server says '%s', the library '%s'", line, theirs->str, ours);
}

static bool is_list(const struct tupled_reply *r)
{
    return r->type == TUPLED_REPLY_ARRAY || r->type == TUPLED_REPLY_MAP ||
           r->type == TUPLED_REPLY_SET;
}

/* The connection speaks RESP2: maps and sets are arrays there, doubles are texts, booleans
 * numbers. */
static int type_in_resp2(const struct tupled_reply *r)
{
    if (is_list(r)) return REDIS_REPLY_ARRAY;
    if (r->type == TUPLED_REPLY_NIL) return REDIS_REPLY_NIL;
    if (r->type == TUPLED_REPLY_ERROR) return REDIS_REPLY_ERROR;
    bool is_number = r->type == TUPLED_REPLY_INTEGER || r->type == TUPLED_REPLY_BOOLEAN;
    return is_number ? REDIS_REPLY_INTEGER : REDIS_REPLY_STRING;
}

static void same_tree(const char *line, const redisReply *theirs, const struct tupled_reply *ours)
{
    int type = theirs->type == REDIS_REPLY_STATUS ? REDIS_REPLY_STRING : theirs->type;
    if (type != type_in_resp2(ours)) {
        fail_msg("%s: the server's type is %d, the library's %d", line, theirs->type, ours->type);
    }
    if (type == REDIS_REPLY_INTEGER && theirs->integer != ours->integer) {
        fail_msg("%s: the server says %lld, the library %lld", line, theirs->integer,
                 (long long)ours->integer);
    }
    if (ours->type == TUPLED_REPLY_DOUBLE) {
        assert_true(strtod(theirs->str, NULL) == ours->number);
    } else if (type == REDIS_REPLY_STRING || type == REDIS_REPLY_ERROR) {
        same_text(line, theirs, ours->text, ours->len);
    }
    if (!is_list(ours)) return;
    if (theirs->elements != ours->count) {
        fail_msg("%s: %zu elements beside %zu", line, theirs->elements, ours->count);
    }
    for (size_t i = 0; i < ours->count; i++) {
        same_tree(line, theirs->element[i], &ours->items[i]);
    }
}

static void run(const char *line, redisReply **theirs, struct tupled_reply **ours,
                struct tupled_error *e)
{
    char text[1024];
    const char *argv[WORDS_MAX];
    size_t lens[WORDS_MAX];
    struct tupled_bytes words[WORDS_MAX];
    int count = 0;
    snprintf(text, sizeof text, "%s", line);
    for (char *p = strtok(text, " "); p != NULL; p = strtok(NULL, " ")) {
        assert_true(count < WORDS_MAX);
        argv[count] = p;
        lens[count] = strlen(p);
        words[count++] = tupled_text(p);
    }
    *theirs = redisCommandArgv(connection, count, argv, lens);
    if (*theirs == NULL) fail_msg("%s: %s", line, connection->errstr);
    (void)tupled_command(db, words, (size_t)count, ours, e);
}

static void same_reply(const char *line)
{
    redisReply *theirs = NULL;
    struct tupled_reply *ours = NULL;
    struct tupled_error e;
    run(line, &theirs, &ours, &e);
    if (ours == NULL) {
        char error[300];
        int n = snprintf(error, sizeof error, "%s %s", e.code, e.text);
        if (theirs->type != REDIS_REPLY_ERROR) fail_msg("%s: %s", line, error);
        if (n < 270) same_text(line, theirs, error, (size_t)n); /* a long one is cut */
    } else {
        same_tree(line, theirs, ours);
    }
    freeReplyObject(theirs);
    tupled_free(ours);
}

static void replies_are_those_of_a_server(void **state)
{
    for (size_t i = 0; i < COUNT(commands); i++) same_reply(commands[i]);
}

static void types_are_those_of_a_server(void **state)
{
    for (size_t i = 0; i < COUNT(types); i++) same_reply(types[i]);
}

static bool is_filled(const char *line)
{
    redisReply *theirs = NULL;
    struct tupled_reply *ours = NULL;
    struct tupled_error e;
    run(line, &theirs, &ours, &e);
    bool is_there = ours != NULL && theirs->type != REDIS_REPLY_ERROR;
    freeReplyObject(theirs);
    tupled_free(ours);
    return is_there;
}

static void searches_find_the_same(void **state)
{
    long until = testserver_now_ms() + 20000;
    same_reply("KV.SET [\"s\",1] {\"name\":\"Ada\"}");
    same_reply("KV.SET [\"s\",2] {\"name\":\"Grace\"}");
    for (size_t i = 0; i < COUNT(searches) - 1; i++) {
        while (!is_filled(searches[i])) {
            assert_true(testserver_now_ms() < until);
            testserver_pause();
        }
    }
    for (size_t i = 0; i < COUNT(searches); i++) same_reply(searches[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replies_are_those_of_a_server),
        cmocka_unit_test(types_are_those_of_a_server),
        cmocka_unit_test(searches_find_the_same),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
