/* Permissions over the whole table of commands: each command, with all rights but one of those it
 * needs, is refused and does nothing; with all of them it is not. Then what shows or tells only what
 * a user may see, and changes of users while something goes on.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "client.h"
#include "group.h"
#include "load_help.h"

static redisContext *c;

static int start(void **state)
{
    group_opens(&c, NULL);
    server = testserver_start_with("--enable-debug-command", "yes", NULL);
    return 0;
}

static int leave(void **state)
{
    group_connect();
    redisReply *users = ask_reply(c, "ACL USERS");
    for (size_t i = 0; i < users->elements; i++) {
        const char *name = users->element[i]->str;
        if (strcmp(name, "default") != 0) expect(c, ":1", "ACL DELUSER %s", name);
    }
    freeReplyObject(users);
    expect(c, "+OK", "ACL SETUSER default reset on nopass ~* &* +@all");
    return group_leave(state);
}

/* A connection of the user, who needs no password. */
static redisContext *as(const char *user)
{
    redisContext *x = testserver_connect(server);
    expect(x, "+OK", "AUTH %s any", user);
    return x;
}

/* ---- the walk -------------------------------------------------------------------------------- */

#define RIGHTS_MAX 6

/* RECEIPT in the line is one of the queue q. */
struct row {
    const char *line;
    const char *rights[RIGHTS_MAX]; /* each is needed */
    bool has_no_database;           /* it is not about the selected database */
};

static const struct row rows[] = {
    /* keys */
    {"APPEND s x", {"%W~s"}, false},
    {"BITCOUNT s", {"%R~s"}, false},
    {"BITFIELD s GET u8 0", {"%R~s"}, false},
    {"BITFIELD s SET u8 0 1", {"~s"}, false},
    {"BITFIELD s INCRBY u8 0 1", {"~s"}, false},
    {"BITFIELD_RO s GET u8 0", {"%R~s"}, false},
    {"BITOP OR d s t", {"%W~d", "%R~s", "%R~t"}, false},
    {"BITPOS s 1", {"%R~s"}, false},
    {"COPY s d", {"%R~s", "%W~d"}, false},
    {"DECR n", {"~n"}, false},
    {"DECRBY n 2", {"~n"}, false},
    {"DEL s t", {"%W~s", "%W~t"}, false},
    {"DUMP s", {"%R~s"}, false},
    {"EXISTS s t", {"%R~s", "%W~t"}, false},
    {"EXPIRE s 100", {"%W~s"}, false},
    {"EXPIREAT s 9999999999", {"%W~s"}, false},
    {"GET s", {"%R~s"}, false},
    {"GETBIT s 1", {"%R~s"}, false},
    {"GETDEL s", {"~s"}, false},
    {"GETEX s EX 100", {"~s"}, false},
    {"GETRANGE s 0 1", {"%R~s"}, false},
    {"GETSET s x", {"~s"}, false},
    {"INCR n", {"~n"}, false},
    {"INCRBY n 2", {"~n"}, false},
    {"INCRBYFLOAT n 1.5", {"~n"}, false},
    {"MOVE s 3", {"~s"}, false},
    {"COPY s d DB 3", {"%R~s", "%W~d"}, false},
    {"JSON.GET j", {"%R~j"}, false},
    {"JSON.MGET j i $", {"%R~j", "%R~i"}, false},
    {"JSON.TYPE j", {"%R~j"}, false},
    {"JSON.OBJKEYS j", {"%R~j"}, false},
    {"JSON.OBJLEN j", {"%R~j"}, false},
    {"JSON.ARRLEN j .l", {"%R~j"}, false},
    {"JSON.STRLEN j .t", {"%R~j"}, false},
    {"JSON.DEBUG MEMORY j", {"%R~j"}, false},
    {"JSON.SET j .b 1", {"%R~j", "%W~j"}, false},
    {"JSON.DEL j .b", {"%R~j", "%W~j"}, false},
    {"JSON.FORGET j .b", {"%R~j", "%W~j"}, false},
    {"JSON.ARRAPPEND j .l 1", {"%R~j", "%W~j"}, false},
    {"JSON.NUMINCRBY j .n 1", {"%R~j", "%W~j"}, false},
    {"LCS s t", {"%R~s", "%R~t"}, false},
    {"MGET s t", {"%R~s", "%R~t"}, false},
    {"MSET s 1 t 2", {"%W~s", "%W~t"}, false},
    {"MSETNX s 1 t 2", {"%W~s", "%W~t"}, false},
    {"OBJECT ENCODING s", {"%R~s"}, false},
    {"OBJECT FREQ s", {"%R~s"}, false},
    {"OBJECT IDLETIME s", {"%R~s"}, false},
    {"OBJECT REFCOUNT s", {"%R~s"}, false},
    {"PERSIST s", {"%W~s"}, false},
    {"PEXPIRE s 100000", {"%W~s"}, false},
    {"PEXPIREAT s 9999999999999", {"%W~s"}, false},
    {"PSETEX s 100000 x", {"%W~s"}, false},
    {"PTTL s", {"%R~s"}, false},
    {"RENAME s d", {"~s", "%W~d"}, false},
    {"RENAMENX s fresh", {"~s", "%W~fresh"}, false},
    {"RESTORE fresh 0 x", {"%W~fresh"}, false},
    {"SET s x", {"%W~s"}, false},
    {"SETBIT s 1 1", {"~s"}, false},
    {"SET s x GET", {"~s"}, false},
    {"SET s x IFEQ y", {"~s"}, false},
    {"SETEX s 100 x", {"%W~s"}, false},
    {"SETNX s x", {"%W~s"}, false},
    {"SETRANGE s 1 x", {"%W~s"}, false},
    {"STRLEN s", {"%R~s"}, false},
    {"SUBSTR s 0 1", {"%R~s"}, false},
    {"TOUCH s t", {"%R~s", "%W~t"}, false},
    {"EXPIRETIME s", {"%R~s"}, false},
    {"PEXPIRETIME s", {"%R~s"}, false},
    {"PFADD p x", {"%W~p"}, false},
    {"PFCOUNT p q", {"%R~p", "%R~q"}, false},
    {"PFMERGE p q", {"~p", "%R~q"}, false},
    {"TTL s", {"%R~s"}, false},
    {"TYPE s", {"%R~s"}, false},
    {"UNLINK s", {"%W~s"}, false},
    {"WATCH s ['k',1]", {"%R~s", "%R~k/#1"}, false},
    {"MEMORY USAGE s", {"%R~s"}, true},
    {"KV.APPEND ['a'] [1]", {"%W~a"}, false},
    {"KV.PREPEND ['a'] [1]", {"%W~a"}, false},
    {"KV.DEL ['k',1] ['k',2]", {"%W~k/#1", "%W~k/#2"}, false},
    {"KV.EXISTS ['k',1]", {"%R~k/#1"}, false},
    {"KV.EXPIRE ['k',1] 100", {"%W~k/#1"}, false},
    {"KV.EXPIREAT ['k',1] 9999999999", {"%W~k/#1"}, false},
    {"KV.PEXPIRE ['k',1] 100000", {"%W~k/#1"}, false},
    {"KV.PEXPIREAT ['k',1] 9999999999999", {"%W~k/#1"}, false},
    {"KV.PERSIST ['k',1]", {"%W~k/#1"}, false},
    {"KV.GET ['k',1]", {"%R~k/#1"}, false},
    {"KV.GET ['k/1']", {"%R~k%2f1"}, false},
    {"KV.ELEMENTS ['k',1]", {"%R~k/#1"}, false},
    {"KV.LOAD COLLECTION ['k',1] HASH 1 a b 0 COLLECTION ['l'] LIST MORE 1 1 a",
     {"%W~k/#1", "%W~l"},
     false},
    {"KV.MGET ['k',1] ['k',2]", {"%R~k/#1", "%R~k/#2"}, false},
    {"KV.MAX ['n'] 3", {"~n"}, false},
    {"KV.MIN ['n'] 3", {"~n"}, false},
    {"KV.SUM ['n'] 3", {"~n"}, false},
    {"KV.PTTL ['k',1]", {"%R~k/#1"}, false},
    {"KV.TTL ['k',1]", {"%R~k/#1"}, false},
    {"KV.SET ['k',1] 5", {"%W~k/#1"}, false},
    {"KV.SET ['k',1] 5 NX", {"%W~k/#1"}, false},
    {"KV.SET ['k',{'$uuidv7':0}] 5", {"%W~k/*"}, false},
    {"KV.POLL KEYS 2 ['k',1] ['k',2] NONE NONE", {"%R~k/#1", "%R~k/#2"}, false},
    {"KV.ATOMIC CHECK ['k',1] NONE SET ['x'] 1 DEL ['y'] SUM ['n'] 1 ENQUEUE q 1 UNDELIVERED 1 ['u']",
     {"%R~k/#1", "%W~x", "%W~y", "~n", "%W~!queue/q", "%W~u"},
     false},
    {"KV.ATOMIC MIN ['n'] 1 MAX ['n'] 2 APPEND ['a'] [1] PREPEND ['b'] [1] ACK RECEIPT",
     {"~n", "%W~a", "%W~b", "%W~!queue/q"},
     false},
    /* keys as their bytes: & is [false], \x14 a bigint 0, ( and \x15 come after all such keys */
    {"KV.LOAD SET ['x'] 1 PXAT 9999999999999 DEL ['y'] MESSAGE q 000000000000000100000000 1 5 ERROR e "
     "UNDELIVERED 1 ['u'] DEAD r 000000000000000100000000 1 5 ATTEMPTS 2",
     {"%W~x", "%W~y", "%W~!queue/q", "%W~u", "%W~!queue/r"},
     false},
    {"KV.CONNECT READ & ( 5 FORWARD", {"%R~*"}, false},
    {"KV.CONNECT READ & &\xff 5 FORWARD", {"%R~!false/*", "%R~!false"}, false},
    {"KV.CONNECT READ &\x14 &\x15 5 REVERSE", {"%R~!false/*"}, false},
    {"KV.CONNECT READ &\x14 \xff 1 FORWARD", {"%R~!false/#n0"}, false},
    {"KV.CONNECT WRITE CHECK & NONE SET &\x14 3 x 0 DEL \x14 SUM \x14\x14 1 \xff\x0fI\x02 \xff\x0fI\x02 \xff\x0fI\x02 RANGE "
     "ENQUEUE \xff\x0f"
     "0 1 0 1 &&",
     {"%R~!false", "%W~!false/#n0", "%W~#n0", "~#n0/#n0", "%W~!queue/deno", "%W~!false/!false"},
     false},
    {"KV.DO COPY a b", {"%R~a", "%W~b"}, false},
    /* ranges */
    {"KV.LIST PREFIX ['k']", {"%R~k/*"}, false},
    {"KV.LIST PREFIX []", {"%R~*"}, false},
    {"KV.LIST", {"%R~*"}, false},
    {"KV.LIST START ['k',1]", {"%R~*"}, false},
    {"KV.LIST START ['k',1] END ['k',5]", {"%R~k/*"}, false},
    {"KV.LIST START ['k'] END ['k',5]", {"%R~k/*", "%R~k"}, false},
    {"KV.LIST START ['k',1] END ['l',5]", {"%R~*"}, false},
    {"KV.COUNT PREFIX ['k']", {"%R~k/*"}, false},
    {"KV.EXPLAIN PREFIX ['k'] WHERE {'a':1}", {"%R~k/*"}, false},
    {"KV.DELRANGE PREFIX ['k']", {"%W~k/*"}, false},
    {"KV.DELRANGE ALL", {"%W~*"}, false},
    {"KV.CHANGES 0", {"%R~*"}, false},
    {"KV.CHANGES 0 PREFIX ['k']", {"%R~k/*"}, false},
    {"DBSIZE", {"%R~*"}, false},
    {"KEYS *", {"%R~*"}, false},
    {"RANDOMKEY", {"%R~*"}, false},
    {"SCAN 0", {"%R~*"}, false},
    {"FLUSHDB", {"%W~*"}, false},
    {"FLUSHALL", {"%W~*"}, false},
    {"SWAPDB 0 1", {"~*"}, false},
    {"DEBUG SLEEP 0", {"%R~*"}, true},
    {"MONITOR", {"%R~*"}, true},
    {"SLOWLOG GET", {"%R~*"}, true},
    {"SLOWLOG LEN", {"%R~*"}, true},
    {"SLOWLOG RESET", {"%R~*"}, true},
    {"KV.VERIFY STATUS", {"%R~*"}, true},
    {"KV.VERIFY START", {"%R~*"}, true},
    {"KV.VERIFY STOP", {"%R~*"}, true},
    /* indexes */
    {"KV.FIND by 1", {"%R~k/*"}, false},
    {"KV.SEARCH words x", {"%R~k/*"}, false},
    {"KV.INDEX INFO by", {"%R~k/*"}, false},
    {"KV.INDEX DROP by", {"%R~k/*", "%W~k/*"}, false},
    {"KV.INDEX CREATE new PREFIX ['k'] ON 1 b", {"%R~k/*", "%W~k/*"}, false},
    /* queues */
    {"KV.ENQUEUE q 1 UNDELIVERED 2 ['u'] ['v']", {"%W~!queue/q", "%W~u", "%W~v"}, false},
    {"KV.DEQUEUE q ALSO 1 r COUNT 1", {"%W~!queue/q", "%W~!queue/r"}, false},
    {"KV.ACK RECEIPT", {"%W~!queue/q"}, false},
    {"KV.NACK RECEIPT", {"%W~!queue/q"}, false},
    {"KV.EXTEND RECEIPT 100000", {"%W~!queue/q"}, false},
    {"KV.QUEUE PEEK q", {"%R~!queue/q"}, false},
    {"KV.QUEUE EXPORT q DEAD", {"%R~!queue/q"}, false},
    {"KV.QUEUE Receipt q 000000000000000100000000", {"%W~!queue/q"}, false},
    {"KV.QUEUE STATS q", {"%R~!queue/q"}, false},
    {"KV.QUEUE PURGE q", {"%W~!queue/q"}, false},
    {"KV.DLQ LIST q", {"%R~!queue/q"}, false},
    {"KV.DLQ GET q 00000000000000000000000000000000", {"%R~!queue/q"}, false},
    {"KV.DLQ REQUEUE q ALL", {"%W~!queue/q"}, false},
    {"KV.DLQ DEL q 00000000000000000000000000000000", {"%W~!queue/q"}, false},
    {"KV.DLQ PURGE q", {"%W~!queue/q"}, false},
    /* channels */
    {"PUBLISH c x", {"&c"}, true},
    {"SPUBLISH c x", {"&c"}, true},
    {"SUBSCRIBE c d", {"&c", "&d"}, true},
    {"SSUBSCRIBE c d", {"&c", "&d"}, true},
    {"PSUBSCRIBE c?*", {"&c*"}, true},
    {"SUBSCRIBE kv:watch:['k',1]", {"&kv:watch:k/#1", "%R~k/#1"}, false},
    {"SUBSCRIBE kv:watch:k/#1", {"&kv:watch:k/#1", "%R~k/#1"}, false},
    {"SUBSCRIBE kv:prefix:['k']", {"&kv:prefix:k", "%R~k/*"}, false},
    {"SUBSCRIBE kv:queue:q", {"&kv:queue:q", "%W~!queue/q"}, false},
    {"PSUBSCRIBE kv:watch:k/*", {"&kv:watch:k/*", "%R~k/*"}, false},
    /* scripts: what they run */
    {"EVAL return(redis.call(ARGV[1],KEYS[1])) 1 s GET", {"%R~s"}, false},
    {"EVAL return(redis.call(ARGV[1],KEYS[1],ARGV[2])) 1 s SET x", {"%W~s"}, false},
    {"EVAL_RO return(redis.call(ARGV[1],KEYS[1])) 1 s GET", {"%R~s"}, false},
    {"EVAL return(redis.call(ARGV[1],'q',ARGV[2])) 0 KV.ENQUEUE 1", {"%W~!queue/q"}, false},
    /* databases: here all databases are allowed, below they are not */
    {"SELECT 3", {NULL}, true},
    {"KV.DB CREATE fresh", {NULL}, true},
    {"KV.DB DROP tenant", {NULL}, true},
    {"KV.DB INFO tenant", {"%R~*"}, true},
    {"KV.DB LIMIT tenant RATE 5", {NULL}, true},
    {"KV.DB RENAME tenant other", {NULL}, true},
    /* hashes */
    {"HDEL h a", {"%W~h"}, false},
    {"HEXISTS h a", {"%R~h"}, false},
    {"HEXPIRE h 100 FIELDS 1 a", {"%W~h"}, false},
    {"HEXPIREAT h 9999999999 FIELDS 1 a", {"%W~h"}, false},
    {"HEXPIRETIME h FIELDS 1 a", {"%R~h"}, false},
    {"HGET h a", {"%R~h"}, false},
    {"HGETALL h", {"%R~h"}, false},
    {"HGETDEL h FIELDS 1 a", {"~h"}, false},
    {"HGETEX h EX 100 FIELDS 1 a", {"~h"}, false},
    {"HINCRBY h b 1", {"~h"}, false},
    {"HINCRBYFLOAT h b 1.5", {"~h"}, false},
    {"HKEYS h", {"%R~h"}, false},
    {"HLEN h", {"%R~h"}, false},
    {"HMGET h a b", {"%R~h"}, false},
    {"HMSET h a 1", {"%W~h"}, false},
    {"HPERSIST h FIELDS 1 a", {"%W~h"}, false},
    {"HPEXPIRE h 100000 FIELDS 1 a", {"%W~h"}, false},
    {"HPEXPIREAT h 9999999999999 FIELDS 1 a", {"%W~h"}, false},
    {"HPEXPIRETIME h FIELDS 1 a", {"%R~h"}, false},
    {"HPTTL h FIELDS 1 a", {"%R~h"}, false},
    {"HRANDFIELD h", {"%R~h"}, false},
    {"HSCAN h 0", {"%R~h"}, false},
    {"HSET h a 1", {"%W~h"}, false},
    {"HSETEX h EX 100 FIELDS 1 a 1", {"%W~h"}, false},
    {"HSETNX h c 1", {"%W~h"}, false},
    {"HSTRLEN h a", {"%R~h"}, false},
    {"HTTL h FIELDS 1 a", {"%R~h"}, false},
    {"HVALS h", {"%R~h"}, false},
    /* lists */
    {"BLMOVE l m LEFT RIGHT 1", {"~l", "%W~m"}, false},
    {"BLMPOP 1 2 l m LEFT", {"~l", "~m"}, false},
    {"BLPOP l m 1", {"~l", "~m"}, false},
    {"BRPOP l m 1", {"~l", "~m"}, false},
    {"BRPOPLPUSH l m 1", {"~l", "%W~m"}, false},
    {"LINDEX l 0", {"%R~l"}, false},
    {"LINSERT l BEFORE a x", {"%W~l"}, false},
    {"LLEN l", {"%R~l"}, false},
    {"LMOVE l m LEFT RIGHT", {"~l", "%W~m"}, false},
    {"LMPOP 2 l m LEFT", {"~l", "~m"}, false},
    {"LPOP l", {"~l"}, false},
    {"LPOS l a", {"%R~l"}, false},
    {"LPUSH l x", {"%W~l"}, false},
    {"LPUSHX l x", {"%W~l"}, false},
    {"LRANGE l 0 -1", {"%R~l"}, false},
    {"LREM l 1 a", {"%W~l"}, false},
    {"LSET l 0 x", {"%W~l"}, false},
    {"LTRIM l 0 0", {"%W~l"}, false},
    {"RPOP l", {"~l"}, false},
    {"RPOPLPUSH l m", {"~l", "%W~m"}, false},
    {"RPUSH l x", {"%W~l"}, false},
    {"RPUSHX l x", {"%W~l"}, false},
    {"SORT l", {"%R~l"}, false},
    {"SORT l BY w* GET v*", {"%R~*"}, false},
    {"SORT l BY nosort", {"%R~l"}, false},
    {"SORT l STORE d", {"%R~l", "%W~d"}, false},
    {"SORT_RO l", {"%R~l"}, false},
    {"SORT_RO l GET #", {"%R~*"}, false},
    /* places */
    {"GEOADD g 1 2 b", {"%W~g"}, false},
    {"GEODIST g a a", {"%R~g"}, false},
    {"GEOHASH g a", {"%R~g"}, false},
    {"GEOPOS g a", {"%R~g"}, false},
    {"GEORADIUS g 1 2 3 m", {"%R~g"}, false},
    {"GEORADIUS g 1 2 3 m STORE d", {"%R~g", "%W~d"}, false},
    {"GEORADIUSBYMEMBER g a 3 m", {"%R~g"}, false},
    {"GEORADIUSBYMEMBER g a 3 m STOREDIST d", {"%R~g", "%W~d"}, false},
    {"GEORADIUSBYMEMBER_RO g a 3 m", {"%R~g"}, false},
    {"GEORADIUS_RO g 1 2 3 m", {"%R~g"}, false},
    {"GEOSEARCH g FROMMEMBER a BYRADIUS 1 m", {"%R~g"}, false},
    {"GEOSEARCHSTORE d g FROMMEMBER a BYRADIUS 1 m", {"%R~g", "%W~d"}, false},
    /* sets */
    {"SADD u x", {"%W~u"}, false},
    {"SCARD u", {"%R~u"}, false},
    {"SDIFF u v", {"%R~u", "%R~v"}, false},
    {"SDIFFSTORE d u v", {"%W~d", "%R~u", "%R~v"}, false},
    {"SINTER u v", {"%R~u", "%R~v"}, false},
    {"SINTERCARD 2 u v", {"%R~u", "%R~v"}, false},
    {"SINTERSTORE d u v", {"%W~d", "%R~u", "%R~v"}, false},
    {"SISMEMBER u a", {"%R~u"}, false},
    {"SMEMBERS u", {"%R~u"}, false},
    {"SMISMEMBER u a b", {"%R~u"}, false},
    {"SMOVE u v a", {"~u", "%W~v"}, false},
    {"SPOP u", {"~u"}, false},
    {"SRANDMEMBER u", {"%R~u"}, false},
    {"SREM u a", {"%W~u"}, false},
    {"SSCAN u 0", {"%R~u"}, false},
    {"SUNION u v", {"%R~u", "%R~v"}, false},
    {"SUNIONSTORE d u v", {"%W~d", "%R~u", "%R~v"}, false},
    /* streams */
    {"XACK x g 1-0", {"~x"}, false},
    {"XACKDEL x g IDS 1 1-0", {"~x"}, false},
    {"XADD x 9-0 f v", {"~x"}, false},
    {"XAUTOCLAIM x g a 0 0", {"~x"}, false},
    {"XCLAIM x g a 0 1-0", {"~x"}, false},
    {"XDEL x 1-0", {"~x"}, false},
    {"XDELEX x IDS 1 1-0", {"~x"}, false},
    {"XGROUP CREATE x h 0", {"~x"}, false},
    {"XGROUP CREATECONSUMER x g a", {"~x"}, false},
    {"XGROUP DELCONSUMER x g a", {"~x"}, false},
    {"XGROUP DESTROY x g", {"~x"}, false},
    {"XGROUP HELP", {NULL}, true},
    {"XGROUP SETID x g 0", {"~x"}, false},
    {"XINFO CONSUMERS x g", {"%R~x"}, false},
    {"XINFO GROUPS x", {"%R~x"}, false},
    {"XINFO HELP", {NULL}, true},
    {"XINFO STREAM x", {"%R~x"}, false},
    {"XLEN x", {"%R~x"}, false},
    {"XPENDING x g", {"%R~x"}, false},
    {"XRANGE x - +", {"%R~x"}, false},
    {"XREAD STREAMS x x2 0 0", {"%R~x", "%R~x2"}, false},
    {"XREADGROUP GROUP g a STREAMS x >", {"%R~x"}, false},
    {"XREVRANGE x + -", {"%R~x"}, false},
    {"XSETID x 9-0", {"~x"}, false},
    {"XTRIM x MAXLEN 9", {"~x"}, false},
    /* sorted sets */
    {"BZMPOP 1 2 z y MIN", {"~z", "~y"}, false},
    {"BZPOPMAX z y 1", {"~z", "~y"}, false},
    {"BZPOPMIN z y 1", {"~z", "~y"}, false},
    {"ZADD z 1 x", {"%W~z"}, false},
    {"ZCARD z", {"%R~z"}, false},
    {"ZCOUNT z 0 9", {"%R~z"}, false},
    {"ZDIFF 2 z y", {"%R~z", "%R~y"}, false},
    {"ZDIFFSTORE d 2 z y", {"%W~d", "%R~z", "%R~y"}, false},
    {"ZINCRBY z 1 a", {"~z"}, false},
    {"ZINTER 2 z y", {"%R~z", "%R~y"}, false},
    {"ZINTERCARD 2 z y", {"%R~z", "%R~y"}, false},
    {"ZINTERSTORE d 2 z y", {"%W~d", "%R~z", "%R~y"}, false},
    {"ZLEXCOUNT z - +", {"%R~z"}, false},
    {"ZMPOP 2 z y MIN", {"~z", "~y"}, false},
    {"ZMSCORE z a b", {"%R~z"}, false},
    {"ZPOPMAX z", {"~z"}, false},
    {"ZPOPMIN z", {"~z"}, false},
    {"ZRANDMEMBER z", {"%R~z"}, false},
    {"ZRANGE z 0 -1", {"%R~z"}, false},
    {"ZRANGEBYLEX z - +", {"%R~z"}, false},
    {"ZRANGEBYSCORE z 0 9", {"%R~z"}, false},
    {"ZRANGESTORE d z 0 -1", {"%W~d", "%R~z"}, false},
    {"ZRANK z a", {"%R~z"}, false},
    {"ZREM z a", {"%W~z"}, false},
    {"ZREMRANGEBYLEX z - +", {"%W~z"}, false},
    {"ZREMRANGEBYRANK z 0 0", {"%W~z"}, false},
    {"ZREMRANGEBYSCORE z 0 9", {"%W~z"}, false},
    {"ZREVRANGE z 0 -1", {"%R~z"}, false},
    {"ZREVRANGEBYLEX z + -", {"%R~z"}, false},
    {"ZREVRANGEBYSCORE z 9 0", {"%R~z"}, false},
    {"ZREVRANK z a", {"%R~z"}, false},
    {"ZSCAN z 0", {"%R~z"}, false},
    {"ZSCORE z a", {"%R~z"}, false},
    {"ZUNION 2 z y", {"%R~z", "%R~y"}, false},
    {"ZUNIONSTORE d 2 z y", {"%W~d", "%R~z", "%R~y"}, false},
};
#define ROWS (sizeof rows / sizeof rows[0])

/* They touch nothing: who may run them may. Or they are filtered, which has tests of its own. */
static const char *const without_subjects[] = {
    "acl",
    "acl|cat",
    "acl|deluser",
    "acl|dryrun",
    "acl|genpass",
    "acl|getuser",
    "acl|help",
    "acl|list",
    "acl|load",
    "acl|log",
    "acl|save",
    "acl|setuser",
    "acl|users",
    "acl|whoami",
    "asking",
    "auth",
    "bgsave",
    "client*",
    "cluster*",
    "command*",
    "config*",
    "debug*",
    "discard",
    "echo",
    "evalsha*", /* as EVAL */
    "exec",
    "fcall*",
    "function*",
    "hello",
    "info",
    "kv.archive*",
    "kv.connect",
    "kv.connect|help",
    "kv.connect|open",
    "kv.db",
    "kv.db|help",
    "kv.db|list",
    "kv.dlq",
    "kv.dlq|help",
    "kv.format",
    "kv.index",
    "kv.index|help",
    "kv.index|list",
    "kv.limits",
    "kv.queue",
    "kv.queue|help",
    "kv.queue|list",
    "kv.queue|top",
    "kv.verify",
    "kv.verify|help",
    "kv.version",
    "kv.queue|hold",
    "kv.queue|prefetch",
    "lastsave",
    "latency*",
    "lolwut",
    "memory",
    "memory|doctor",
    "memory|help",
    "memory|malloc-stats",
    "json.debug",
    "json.debug|help",
    "memory|purge",
    "memory|stats",
    "module*",
    "multi",
    "object",
    "object|help",
    "ping",
    "pubsub*",
    "punsubscribe",
    "quit",
    "readonly",
    "readwrite",
    "reset",
    "role",
    "save",
    "script*",
    "shutdown",
    "slowlog",
    "slowlog|help",
    "sunsubscribe",
    "time",
    "unsubscribe",
    "unwatch",
    "wait",
    "waitaof",
};

/* What the rows find. */
static void prepare(void)
{
    expect(c, "+OK", "FLUSHALL");
    expect(c, "+OK", "MSET s text t text n 1");
    for (int i = 1; i < 4; i++) expect(c, "@", "KV.SET ['k',%d] {'a':%d,'t':'x'}", i, i);
    expect(c, "*", "KV.SET ['a'] [0]");
    expect(c, ":2", "HSET h a x b 1");
    expect(c, ":2", "RPUSH l a b");
    expect(c, ":1", "RPUSH m a");
    expect(c, ":2", "SADD u a b");
    expect(c, ":1", "SADD v a");
    expect(c, ":2", "ZADD z 1 a 2 b");
    expect(c, ":1", "GEOADD g 1 2 a");
    expect(c, ":1", "ZADD y 1 a");
    expect(c, "1-0", "XADD x 1-0 f v");
    expect(c, "+OK", "XGROUP CREATE x g 0");
    expect(c, "*", "KV.SET ['j'] {'l':[],'t':'x','n':1}");
    expect(c, "*", "KV.INDEX CREATE by PREFIX ['k'] ON 1 a IF NOT EXISTS");
    expect(c, "*", "KV.INDEX CREATE words PREFIX ['k'] TEXT 1 t IF NOT EXISTS");
    expect(c, "*", "KV.INDEX DROP new");
    expect(c, "*", "KV.ENQUEUE q 1");
    expect(c, "*", "KV.ENQUEUE q 2");
    expect(c, "*", "KV.ENQUEUE r 1");
    ask(c, "KV.DB CREATE tenant");
    ask(c, "KV.DB DROP fresh");
    ask(c, "KV.DB DROP other");
    ask(c, "KV.VERIFY STOP");
}

/* The reply to the row's line, said by the user `walker`; a receipt of q is put in. */
static void say_row(const struct row *row, char *reply, size_t size)
{
    char line[400];
    const char *at = strstr(row->line, "RECEIPT");
    snprintf(line, sizeof line, "%s", row->line);
    if (at != NULL) {
        ask(c, "KV.ENQUEUE q 1");
        redisReply *r = ask_reply(c, "KV.DEQUEUE q");
        snprintf(line, sizeof line, "%.*s%s%s", (int)(at - row->line), row->line,
                 r->element[0]->element[4]->str, at + strlen("RECEIPT"));
        freeReplyObject(r);
    }
    char version[40];
    snprintf(version, sizeof version, "%s", ask(c, "KV.VERSION"));
    redisContext *w = as("walker");
    /* A % in a line is its own. */
    char format[800];
    size_t n = 0;
    for (const char *p = line; *p != '\0'; p++) {
        if (*p == '%') format[n++] = '%';
        format[n++] = *p;
    }
    format[n] = '\0';
    snprintf(reply, size, "%s", ask(w, format));
    redisFree(w);
    if (strncmp(reply, "-NOPERM", 7) != 0) return;
    if (strcmp(version, ask(c, "KV.VERSION")) == 0) return;
    fail_msg("%s was refused, and did something", row->line);
}

/* The user may run everything in `database`, and has the row's rights but one. */
static void make_walker(const struct row *row, size_t without, const char *more)
{
    char line[600];
    size_t n = (size_t)snprintf(line, sizeof line, "ACL SETUSER walker reset on nopass +@all %s",
                                more);
    for (size_t i = 0; i < RIGHTS_MAX && row->rights[i] != NULL; i++) {
        if (i == without) continue;
        n += (size_t)snprintf(line + n, sizeof line - n, " %s", row->rights[i]);
    }
    char format[1200];
    size_t at = 0;
    for (const char *p = line; *p != '\0'; p++) {
        if (*p == '%') format[at++] = '%';
        format[at++] = *p;
    }
    format[at] = '\0';
    expect(c, "+OK", format);
}

static void refused(const struct row *row, const char *why)
{
    char reply[400];
    say_row(row, reply, sizeof reply);
    if (strncmp(reply, "-NOPERM", 7) != 0) fail_msg("%s, %s: %s", row->line, why, reply);
}

static void each_command_needs_each_of_its_rights(void **state)
{
    char reply[400];
    char name[64];
    for (size_t i = 0; i < ROWS; i++) {
        const struct row *row = &rows[i];
        prepare();
        for (size_t k = 0; k < RIGHTS_MAX && row->rights[k] != NULL; k++) {
            make_walker(row, k, "");
            refused(row, row->rights[k]);
        }
        /* KV.DO needs what its command needs, and nothing of its own. */
        const char *own = row->line + (strncmp(row->line, "KV.DO ", 6) == 0 ? 6 : 0);
        snprintf(name, sizeof name, "-%.*s", (int)strcspn(own, " "), own);
        make_walker(row, SIZE_MAX, name);
        refused(row, "without the command");
        if (!row->has_no_database) {
            make_walker(row, SIZE_MAX, "db=7,other");
            refused(row, "in another database");
        }
        make_walker(row, SIZE_MAX, "");
        say_row(row, reply, sizeof reply);
        if (strncmp(reply, "-NO", 3) == 0) fail_msg("%s: %s", row->line, reply);
    }
    prepare();
}

static bool is_walked(const char *name)
{
    char words[64];
    size_t len = strlen(name);
    snprintf(words, sizeof words, "%s", name);
    for (char *p = words; *p != '\0'; p++) {
        if (*p == '|') *p = ' ';
    }
    for (size_t i = 0; i < ROWS; i++) {
        const char *line = rows[i].line;
        if (strncasecmp(line, words, len) == 0 && (line[len] == ' ' || line[len] == '\0')) {
            return true;
        }
    }
    for (size_t i = 0; i < sizeof without_subjects / sizeof without_subjects[0]; i++) {
        if (text_fits(name, without_subjects[i])) return true;
    }
    return false;
}

/* A new command must say in one of the lists above what it touches. */
static void no_command_is_left_out(void **state)
{
    redisReply *r = ask_reply(c, "COMMAND LIST");
    assert_true(r->elements > 100);
    for (size_t i = 0; i < r->elements; i++) {
        if (!is_walked(r->element[i]->str)) fail_msg("%s is not walked", r->element[i]->str);
    }
    freeReplyObject(r);
}

static void a_database_that_a_command_names_is_asked_for(void **state)
{
    static const char *const named[] = {
        "SELECT 3",
        "SELECT tenant",
        "SELECT nothere",
        "KV.DB CREATE fresh",
        "KV.DB DROP tenant",
        "KV.DB INFO tenant",
        "KV.DB LIMIT tenant RATE 5",
        "KV.DB RENAME tenant other",
        "KV.DB RENAME mine other",
        "FLUSHALL",
    };
    prepare();
    ask(c, "KV.DB CREATE mine");
    expect(c, "+OK", "ACL SETUSER walker reset on nopass +@all ~* &* db=mine");
    for (size_t i = 0; i < sizeof named / sizeof named[0]; i++) {
        refused(&(struct row){named[i], {NULL}, false}, "with db=mine");
    }
    redisContext *w = as("walker");
    expect(w, "-NOPERM *access database: '0'", "GET s");
    expect(w, "+OK", "SELECT mine");
    expect(w, "-NOPERM *access database: '0'", "COPY s d DB 0");
    expect(w, "-NOPERM *access database: '0'", "MOVE s 0");
    expect(w, "(nil)", "GET s");
    expect(w, "+OK", "SET s 1");
    expect(w, "[[:* mine]]", "KV.DB LIST");
    expect(w, "# Keyspace\r\ndb*:keys=1,*", "INFO keyspace");
    redisFree(w);
    expect(c, "+OK", "KV.DB DROP mine");
}

/* ---- what is shown --------------------------------------------------------------------------- */

static void lists_show_what_may_be_read(void **state)
{
    prepare();
    expect(c, "+OK", "ACL SETUSER bob reset on nopass +@all &c* &kv:* ~s ~!queue/r ~z/*");
    expect(c, "*", "KV.INDEX CREATE zed PREFIX ['z'] ON 1 a");
    redisContext *l = testserver_connect(server);
    expect(l, "[subscribe c1 :1]", "SUBSCRIBE c1 d1 kv:watch:['s'] kv:watch:['t'] kv:queue:q");
    redisContext *b = as("bob");
    expect(b, "[r]", "KV.QUEUE LIST");
    expect(b, "[[r [ready :1 *]]]", "KV.QUEUE TOP READY");
    expect(b, "[zed]", "KV.INDEX LIST");
    const char *channels = ask(b, "PUBSUB CHANNELS");
    assert_non_null(strstr(channels, "c1"));
    assert_non_null(strstr(channels, "['s']"));
    assert_null(strstr(channels, "d1"));
    assert_null(strstr(channels, "['t']"));
    assert_null(strstr(channels, "queue"));
    expect(b, "[c1 :1 d1 :0 kv:watch:['t'] :0]", "PUBSUB NUMSUB c1 d1 kv:watch:['t']");
    redisFree(b);
    redisFree(l);
    expect(c, ":1", "KV.INDEX DROP zed");
}

static void errors_tell_nothing_of_what_may_not_be_read(void **state)
{
    expect(c, "*", "KV.INDEX CREATE one PREFIX ['p'] ON 1 a UNIQUE");
    expect(c, "@", "KV.SET ['p','secret'] {'a':1}");
    expect(c, "@", "KV.SET ['p','mine'] {'a':2}");
    expect(c, "+OK", "ACL SETUSER bob reset on nopass +@all ~p/mine %%W~t ~q/*");
    redisContext *b = as("bob");
    const char *e = ask(b, "KV.SET ['p','mine'] {'a':1}");
    assert_true(text_fits(e, "-DUPLICATE *"));
    assert_null(strstr(e, "secret"));
    assert_null(strstr(e, "one"));
    expect(b, "+OK", "MULTI");
    expect(b, "+QUEUED", "KV.SET ['p','mine'] {'a':1}");
    e = ask(b, "EXEC");
    assert_true(text_fits(e, "-EXECABORT * DUPLICATE *"));
    assert_null(strstr(e, "secret"));
    /* Who may read all of it is told. */
    expect(c, "+OK", "ACL SETUSER bob ~p/*");
    expect(b, "-DUPLICATE one ['p','secret']", "KV.SET ['p','mine'] {'a':1}");
    expect(c, "@", "KV.SET ['p','x'] {'b':1}");
    expect(c, "@", "KV.SET ['p','y'] {'b':1}");
    expect(b, "-DUPLICATE two ['p','x'] ['p','y']",
           "KV.INDEX CREATE two PREFIX ['p'] ON 1 b UNIQUE");
    expect(c, "@", "KV.SET ['t'] true");
    e = ask(b, "KV.APPEND ['t'] [1]");
    assert_true(text_fits(e, "-WRONGTYPE *"));
    assert_null(strstr(e, "bool"));
    expect(c, "-WRONGTYPE *bool*", "KV.APPEND ['t'] [1]");
    /* An index that may not be read looks like one that is not there. */
    expect(c, "+OK", "ACL SETUSER bob resetkeys ~p/mine");
    char there[300];
    snprintf(there, sizeof there, "%s", ask(b, "KV.FIND one 1"));
    assert_string_equal(there, ask(b, "KV.FIND two 1"));
    assert_true(text_fits(there, "-NOPERM *"));
    redisFree(b);
    expect(c, ":1", "KV.INDEX DROP one");
}

/* The name is taken all the same, but no more is said of what it is. */
static void an_index_that_may_not_be_seen_is_not_told(void **state)
{
    expect(c, "+OK", "KV.INDEX CREATE theirs PREFIX ['other'] ON 1 a");
    expect(c, "+OK", "KV.INDEX CREATE all PREFIX ['p'] ON 2 list more");
    expect(c, "+OK", "ACL SETUSER bob reset on nopass +@all ~q/* ~p/mine");
    redisContext *b = as("bob");
    static const char *const creates[] = {
        "KV.INDEX CREATE theirs PREFIX ['q'] ON 1 a",
        "KV.INDEX CREATE theirs PREFIX ['q'] ON 1 a IF NOT EXISTS",
        "KV.INDEX CREATE theirs PREFIX ['q'] TEXT 1 a",
        "KV.INDEX CREATE all PREFIX ['q'] TEXT 1 a IF NOT EXISTS",
    };
    for (size_t i = 0; i < sizeof creates / sizeof creates[0]; i++) {
        expect(b, "-ERR this name is not available here; use another one", creates[i]);
    }
    static const char *const hidden[][2] = {
        {"KV.INDEX INFO theirs", "KV.INDEX INFO nothing"},
        {"KV.INDEX DROP theirs", "KV.INDEX DROP nothing"},
        {"KV.FIND theirs 1", "KV.FIND nothing 1"},
        {"KV.SEARCH theirs x", "KV.SEARCH nothing x"},
    };
    for (size_t i = 0; i < sizeof hidden / sizeof hidden[0]; i++) {
        char there[300];
        snprintf(there, sizeof there, "%s", ask(b, hidden[i][0]));
        assert_true(text_fits(there, "-NOPERM *"));
        assert_string_equal(there, ask(b, hidden[i][1]));
    }
    expect(b, "+OK", "KV.INDEX CREATE mine PREFIX ['q'] ON 1 a");
    expect(b, "-ERR index 'mine' already exists", "KV.INDEX CREATE mine PREFIX ['q'] ON 1 b");
    /* What an index cannot take is told without it. */
    static const char both[] = "KV.SET ['p','mine'] {'list':[1],'more':[2]}";
    const char *e = ask(b, both);
    assert_true(text_fits(e, "-WRONGTYPE *"));
    assert_null(strstr(e, "all"));
    assert_null(strstr(e, "list"));
    expect(c, "-WRONGTYPE index 'all': 'list' and 'more' are both arrays*", both);
    expect(b, "+OK", "MULTI");
    expect(b, "+QUEUED", both);
    e = ask(b, "EXEC");
    assert_true(text_fits(e, "-EXECABORT * WRONGTYPE *"));
    assert_null(strstr(e, "list"));
    expect(c, "+OK", "ACL SETUSER bob ~p/*");
    expect(b, "-WRONGTYPE index 'all': 'list' and 'more' are both arrays*", both);
    redisFree(b);
    expect(c, ":1", "KV.INDEX DROP theirs");
    expect(c, ":1", "KV.INDEX DROP all");
    expect(c, ":1", "KV.INDEX DROP mine");
}

static void idem_belongs_to_the_user(void **state)
{
    expect(c, "+OK", "ACL SETUSER bob reset on nopass +@all ~*");
    redisContext *b = as("bob");
    expect(c, "[1 @]", "KV.SUM ['n'] 1 IDEM same");
    expect(b, "[2 @]", "KV.SUM ['n'] 1 IDEM same");
    expect(b, "[2 @]", "KV.SUM ['n'] 1 IDEM same");
    expect(c, "+OK", "ACL SETUSER bob resetkeys");
    expect(b, "-NOPERM *", "KV.SUM ['n'] 1 IDEM same");
    redisFree(b);
    /* Created again, it is another user. */
    expect(c, ":1", "ACL DELUSER bob");
    expect(c, "+OK", "ACL SETUSER bob reset on nopass +@all ~*");
    b = as("bob");
    expect(b, "[3 @]", "KV.SUM ['n'] 1 IDEM same");
    redisFree(b);
}

/* Words that a command will refuse say nothing about keys that may not be used. */
static void wrong_words_are_told_and_nothing_else(void **state)
{
    expect(c, "+OK", "ACL SETUSER bob reset on nopass +@all ~a ~a/* ~!queue/a");
    redisContext *b = as("bob");
    expect(b, "-ERR syntax error*", "KV.LIST PREFIX ['a'] FOO");
    expect(b, "-ERR syntax error*", "KV.LIST PREFIX ['b'] FOO"); /* nothing was looked at */
    expect(b, "-NOPERM *", "KV.LIST PREFIX ['b']");
    expect(b, "-ERR invalid key*", "KV.GET ['a'");
    expect(b, "-ERR syntax error: unexpected 'FOO'*", "KV.ATOMIC SET ['a'] 1 FOO");
    expect(b, "-ERR syntax error: unexpected 'FOO'*", "KV.ATOMIC FOO SET ['b'] 1");
    expect(b, "-NOPERM *", "KV.ATOMIC SET ['b'] 1 FOO");
    expect(b, "-ERR syntax error*", "KV.DEQUEUE a FOO");
    expect(b, "-NOPERM *", "KV.DEQUEUE b FOO");
    expect(b, "-ERR invalid receipt*", "KV.ACK nonsense");
    expect(b, "-ERR invalid key*", "KV.GET a"); /* though it may read the plain key */
    expect(b, "+OK", "SET a 1");
    expect(b, "[1 1]", "MGET a a");
    redisFree(b);
}

/* ---- changes --------------------------------------------------------------------------------- */

/* The server closes the connection, maybe after messages. */
static void expect_closed(redisContext *x)
{
    void *reply = NULL;
    while (redisGetReply(x, &reply) == REDIS_OK) freeReplyObject(reply);
    assert_int_equal(x->err, REDIS_ERR_EOF);
}

static void a_change_applies_at_once(void **state)
{
    expect(c, "+OK", "ACL SETUSER bob reset on nopass +@all ~a ~!queue/* &*");
    redisContext *waits = as("bob");
    redisContext *queues = as("bob");
    redisContext *listens = as("bob");
    redisContext *watches = as("bob");
    redisContext *pushed = as("bob");
    redisContext *other = as("bob");
    say(waits, "KV.DEQUEUE jobs BLOCK 0");
    load_flush(waits);
    expect(queues, "+OK", "MULTI");
    expect(queues, "+QUEUED", "KV.SET ['a'] 1");
    expect(listens, "[subscribe c :1]", "SUBSCRIBE c");
    expect(watches, "[subscribe kv:watch:a :1]", "SUBSCRIBE kv:watch:a");
    expect(pushed, "[subscribe kv:queue:jobs :1]", "SUBSCRIBE kv:queue:jobs");
    expect(other, "[subscribe d :1]", "SUBSCRIBE d");
    load_wait_info(c, "blocked_clients", 1);
    expect(c, "+OK", "ACL SETUSER bob resetkeys resetchannels &d");
    expect_next(waits, "-NOPERM *!queue/jobs*");
    expect(queues, "-EXECABORT *NOPERM*", "EXEC");
    expect_closed(listens);
    expect_closed(watches);
    expect_closed(pushed);
    expect(c, ":1", "PUBLISH d still");
    expect_next(other, "*");
    expect(c, ":1", "ACL DELUSER bob");
    expect_closed(other);
    expect_closed(waits);
    redisFree(waits);
    redisFree(queues);
    redisFree(listens);
    redisFree(watches);
    redisFree(pushed);
    redisFree(other);
}

/* In RESP2 AUTH is not allowed while a connection listens. */
static void who_becomes_another_keeps_nothing_he_may_not_have(void **state)
{
    expect(c, "+OK", "ACL SETUSER bob reset on nopass +@all &d ~*");
    int fd = raw_connect(server);
    raw_say(fd, "HELLO 3\r\nSUBSCRIBE d\r\nAUTH bob x\r\nPING\r\n");
    const char *line;
    do line = raw_line(fd);
    while (strcmp(line, "+PONG") != 0);
    raw_say(fd, "AUTH default x\r\nSUBSCRIBE e\r\nAUTH bob x\r\nPING\r\n");
    do line = raw_line(fd);
    while (strcmp(line, ":2") != 0);
    raw_expect(fd, "+OK\r\n"); /* of AUTH, and no PONG */
    raw_expect_end(fd);
    close(fd);
}

static void a_monitor_ends_with_the_right_to_see_all(void **state)
{
    expect(c, "+OK", "ACL SETUSER bob reset on nopass +@all ~*");
    redisContext *m = as("bob");
    expect(m, "+OK", "MONITOR");
    expect(c, "+PONG", "PING");
    expect(c, "+OK", "ACL SETUSER bob resetkeys ~a*");
    expect_closed(m);
    redisFree(m);
}

static void who_removes_himself_is_answered(void **state)
{
    expect(c, "+OK", "ACL SETUSER bob reset on nopass +@all ~*");
    redisContext *b = as("bob");
    expect(b, ":1", "ACL DELUSER bob");
    expect_closed(b);
    redisFree(b);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, group_enter, leave)

static void a_swap_needs_both_databases(void **state)
{
    expect(c, "+OK", "ACL SETUSER walker reset on nopass +@all ~* db=0");
    redisContext *w = as("walker");
    expect(w, "-NOPERM*", "SWAPDB 0 1");
    expect(w, "-NOPERM*", "SWAPDB 1 0");
    expect(c, "+OK", "ACL SETUSER walker db=1");
    expect(w, "+OK", "SWAPDB 0 1");
    redisFree(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_command_needs_each_of_its_rights),
        TEST(a_swap_needs_both_databases),
        TEST(no_command_is_left_out),
        TEST(a_database_that_a_command_names_is_asked_for),
        TEST(lists_show_what_may_be_read),
        TEST(errors_tell_nothing_of_what_may_not_be_read),
        TEST(an_index_that_may_not_be_seen_is_not_told),
        TEST(idem_belongs_to_the_user),
        TEST(wrong_words_are_told_and_nothing_else),
        TEST(a_change_applies_at_once),
        TEST(who_becomes_another_keeps_nothing_he_may_not_have),
        TEST(a_monitor_ends_with_the_right_to_see_all),
        TEST(who_removes_himself_is_answered),
    };
    return cmocka_run_group_tests(tests, start, group_stop);
}
