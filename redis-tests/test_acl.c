/* Users: ACL and its subcommands, AUTH and HELLO, where users are kept (aclfile, the configuration), and
 * what a client that is not authenticated may do. What each command needs is in test_permissions.c.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "client.h"
#include "group.h"

#define HASH_OF_X "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"

static redisContext *c, *d;
static int raw = -1;

static int start(void **state)
{
    group_opens(&c, &d, NULL);
    group_opens_raw(&raw);
    server = testserver_start(NULL);
    return 0;
}

static int leave(void **state)
{
    group_connect();
    expect(c, "*", "ACL DELUSER bob eve");
    expect(c, "+OK", "ACL SETUSER default reset on nopass ~* &* +@all");
    expect(c, "+OK", "ACL LOG RESET");
    return group_leave(state);
}

/* ---- rules ----------------------------------------------------------------------------------- */

static void a_user_is_told_in_the_words_that_make_him(void **state)
{
    expect(c, "[user default on nopass ~* &* +*all]", "ACL LIST");
    expect(c, "+OK",
           "ACL SETUSER bob on >x ~a* %%R~b* &c* +@all -@dangerous -get +config|get db=1,shop "
           "(+set ~z*)");
    expect(c,
           "[user bob on #" HASH_OF_X " ~a* %R~b* resetchannels &c* db=1,shop +*all -*dangerous "
           "-get +config|get (~z* resetchannels -*all +set) user default *]",
           "ACL LIST");
    expect(c,
           "[flags [on] passwords [" HASH_OF_X "] commands +*all -*dangerous -get +config|get keys "
           "~a* %R~b* channels &c* databases db=1,shop selectors [[commands -*all +set keys ~z* "
           "channels  databases alldbs]]]",
           "ACL GETUSER bob");
    expect(c, "[bob default]", "ACL USERS");
    expect(c, "default", "ACL WHOAMI");
    expect(c, "(nil)", "ACL GETUSER eve");
    expect(c, ":1", "ACL DELUSER eve bob");
    expect(c, "-ERR The 'default' user cannot be removed", "ACL DELUSER eve default");
}

static void wrong_rules_change_nothing_and_are_named(void **state)
{
    expect(c, "+OK", "ACL SETUSER bob on >x ~a*");
    expect(c,
           "-ERR Error in ACL SETUSER modifier '+nosuch': Unknown command or category name in ACL",
           "ACL SETUSER bob ~b* +nosuch");
    expect(c, "-ERR *modifier '+*nosuch'*", "ACL SETUSER bob +@nosuch");
    expect(c, "-ERR *modifier '(password)'*does not exist*", "ACL SETUSER bob <secret");
    expect(c, "-ERR *modifier '(hash)'*64 characters*", "ACL SETUSER bob #secret");
    expect(c, "-ERR *Unmatched parenthesis*", "ACL SETUSER bob (+get");
    expect(c, "-ERR Usernames can't contain spaces or null characters", "ACL SETUSER %s on", "a b");
    expect(c, "*keys ~a* channels*", "ACL GETUSER bob");
    expect(c, "-ERR *", "ACL SETUSER eve on nonsense");
    expect(c, "[bob default]", "ACL USERS");
}

static void passwords_can_be_made_and_many_can_fit(void **state)
{
    const char *password = ask(c, "ACL GENPASS");
    assert_int_equal(strlen(password), 64);
    assert_int_equal(strlen(ask(c, "ACL GENPASS 5")), 2);
    expect(c, "-ERR ACL GENPASS argument*", "ACL GENPASS 0");
    expect(c, "-ERR ACL GENPASS argument*", "ACL GENPASS 4097");
    expect(c, "+OK", "ACL SETUSER bob on >one >two +@all");
    expect(d, "+OK", "AUTH bob one");
    expect(d, "+OK", "AUTH bob two");
    expect(c, "+OK", "ACL SETUSER bob <one");
    expect(d, "-WRONGPASS *", "AUTH bob one");
    expect(d, "bob", "ACL WHOAMI"); /* the user stays the same */
    expect(c, "+OK", "ACL SETUSER bob off");
    expect(d, "-WRONGPASS *", "AUTH bob two");
}

static void categories_are_those_of_redis_and_ours(void **state)
{
    expect(c, "[keyspace read write set sortedset * scripting kv queue index watch json]",
           "ACL CAT");
    expect(c, "[kv.changes kv.poll]", "ACL CAT watch");
    expect(c, "[json.arrappend json.arrlen * json.type]", "ACL CAT json");
    expect(c, "[append decr decrby get getdel *]", "ACL CAT string");
    expect(c, "[kv.ack *kv.enqueue *]", "ACL CAT QUEUE");
    expect(c, "[eval eval_ro evalsha evalsha_ro fcall fcall_ro function|delete *script|load]",
           "ACL CAT scripting");
    expect(c, "-ERR Unknown category 'nosuch'", "ACL CAT nosuch");
}

/* A container that were in @read would bring all of its subcommands along. */
static void a_category_does_not_bring_what_is_beside_its_commands(void **state)
{
    expect(c, "+OK", "ACL SETUSER bob reset ~* &* +@read +@connection");
    expect(c, "+OK", "ACL DRYRUN bob KV.QUEUE STATS q");
    expect(c, "+OK", "ACL DRYRUN bob KV.INDEX LIST");
    expect(c, "+OK", "ACL DRYRUN bob CLIENT HELP");
    expect(c, "*run the 'kv.queue|purge' command", "ACL DRYRUN bob KV.QUEUE PURGE q");
    expect(c, "*run the 'kv.dlq|del' command", "ACL DRYRUN bob KV.DLQ DEL q 1");
    expect(c, "*run the 'kv.index|drop' command", "ACL DRYRUN bob KV.INDEX DROP i");
    expect(c, "+OK", "ACL SETUSER bob reset ~* &* +@all -@admin");
    expect(c, "*run the 'kv.db|create' command", "ACL DRYRUN bob KV.DB CREATE x");
    expect(c, "+OK", "ACL DRYRUN bob CONFIG HELP");
}

static void a_database_without_a_name_is_asked_about_too(void **state)
{
    expect(c, "+OK", "ACL SETUSER bob reset on nopass ~* &* +@all db=1");
    expect(d, "+OK", "AUTH bob x");
    expect(d, "-NOPERM *access database: '0'", "GET a");
    expect(d, "-NOPERM *access database: '0'", "KV.SET ['a'] 1");
    expect(d, "+PONG", "PING"); /* it is about none */
    expect(d, "+OK", "SELECT 1");
    expect(d, "(nil)", "GET a");
}

static void dryrun_asks_and_does_nothing(void **state)
{
    expect(c, "+OK", "ACL SETUSER bob on nopass ~a* &c +get +set +publish +kv.atomic +kv.set");
    expect(c, "+OK", "ACL DRYRUN bob SET a1 x");
    expect(c, "(nil)", "GET a1");
    expect(c, "This user has no permissions to access the 'b' key", "ACL DRYRUN bob get b");
    expect(c, "This user has no permissions to access the 'd' channel",
           "ACL DRYRUN bob PUBLISH d x");
    expect(c, "This user has no permissions to run the 'config|get' command",
           "ACL DRYRUN bob CONFIG GET *");
    expect(c, "This user has no permissions to run the 'kv.del' command",
           "ACL DRYRUN bob KV.ATOMIC SET ['a'] 1 DEL ['a']");
    expect(c, "-ERR Command 'nosuch' not found", "ACL DRYRUN bob nosuch x");
    expect(c, "-ERR User 'eve' not found", "ACL DRYRUN eve get x");
    expect(c, "-ERR wrong number of arguments for 'get' command", "ACL DRYRUN bob get");
    expect(c, "[]", "ACL LOG");
}

/* ---- who it is ------------------------------------------------------------------------------- */

static void nobody_may_only_say_who_he_is(void **state)
{
    expect(c, "+OK", "CONFIG SET requirepass first");
    expect(c, "[requirepass ]", "CONFIG GET requirepass");
    redisContext *n = testserver_connect(server);
    expect(n, "-NOAUTH Authentication required.", "PING");
    expect(n, "-NOAUTH *", "GET a");
    expect(n, "-NOAUTH HELLO must be called*", "HELLO 3");
    expect(n, "-WRONGPASS *", "AUTH wrong");
    expect(n, "-WRONGPASS *", "AUTH nosuch first");
    expect(n, "-WRONGPASS *", "HELLO 3 AUTH default wrong");
    expect(n, "-ERR Client names cannot contain*", "HELLO 3 AUTH default first SETNAME %s", "a b");
    expect(n, "-NOAUTH *", "MULTI"); /* HELLO did all or nothing */
    expect(n, "+RESET", "RESET");
    expect(n, "*", "HELLO 2 AUTH default first SETNAME me");
    expect(n, "me", "CLIENT GETNAME");
    expect(n, "+RESET", "RESET");
    expect(n, "-NOAUTH *", "PING");
    expect(n, "+OK", "AUTH first");
    expect(n, "+OK", "CONFIG SET requirepass %s", "");
    redisFree(n);
    n = testserver_connect(server);
    expect(n, "+PONG", "PING");
    redisFree(n);
}

static void nobody_has_few_and_small_words(void **state)
{
    expect(c, "+OK", "CONFIG SET requirepass first");
    int fd = raw_connect(server);
    raw_say(fd, "*11\r\n");
    raw_expect(fd, "-ERR Protocol error: unauthenticated multibulk length\r\n");
    raw_expect_end(fd);
    close(fd);
    fd = raw_connect(server);
    raw_say(fd, "*2\r\n$4\r\nAUTH\r\n$16385\r\n");
    raw_expect(fd, "-ERR Protocol error: unauthenticated bulk length\r\n");
    raw_expect_end(fd);
    close(fd);
    /* Pipelined after a good AUTH, large words are read. */
    fd = raw_connect(server);
    static char big[20001];
    memset(big, 'v', sizeof big - 1);
    raw_say(fd, "AUTH first\r\n*3\r\n$3\r\nSET\r\n$1\r\na\r\n$20000\r\n");
    raw_say(fd, big);
    raw_say(fd, "\r\n");
    raw_expect(fd, "+OK\r\n+OK\r\n");
    close(fd);
    expect(c, "+OK", "CONFIG SET requirepass %s", "");
}

static void nobody_has_not_for_ever_to_say_who_he_is(void **state)
{
    expect(c, "+OK", "CONFIG SET requirepass first auth-timeout 1");
    int fd = raw_connect(server);
    redisContext *n = testserver_connect(server);
    expect(n, "+OK", "AUTH first");
    raw_expect_end(fd);
    close(fd);
    expect(n, "+PONG", "PING");
    redisFree(n);
    expect(c, "+OK", "CONFIG SET requirepass %s auth-timeout 60", "");
}

static void users_are_told_of_clients(void **state)
{
    expect(c, "+OK", "ACL SETUSER bob on nopass +@all");
    expect(d, "+OK", "AUTH bob x");
    expect(d, "*user=bob *", "CLIENT INFO");
    expect(c, "*user=default *user=bob *", "CLIENT LIST");
    expect(c, "-ERR No such user 'eve'", "CLIENT KILL USER eve");
    expect(c, ":1", "CLIENT KILL USER bob");
    expect(c, "+OK", "CONFIG SET maxclients-per-user 2");
    redisContext *one = testserver_connect(server);
    redisContext *two = testserver_connect(server);
    redisContext *three = testserver_connect(server);
    expect(one, "+OK", "AUTH bob x");
    expect(two, "+OK", "AUTH bob x");
    expect(three, "-LIMIT this user has 2 connections*", "AUTH bob x");
    expect(one, "+OK", "AUTH bob x"); /* it is counted already */
    redisFree(one);
    while (strncmp(ask(three, "AUTH bob x"), "+OK", 3) != 0) testserver_pause();
    redisFree(two);
    redisFree(three);
    expect(c, "+OK", "CONFIG SET maxclients-per-user 0");
}

/* ---- what is logged -------------------------------------------------------------------------- */

static void refusals_are_logged(void **state)
{
    expect(c, "+OK", "ACL SETUSER bob on >x +get +multi +exec +publish ~a");
    expect(d, "-WRONGPASS *", "AUTH bob secret");
    expect(d, "-WRONGPASS *", "AUTH bob secret");
    expect(d, "+OK", "AUTH bob x");
    expect(d, "-NOPERM *", "GET b");
    expect(d, "-NOPERM *", "PUBLISH c x");
    expect(d, "+OK", "MULTI");
    expect(d, "-NOPERM *", "SET a 1");
    expect(d, "-EXECABORT *", "EXEC");
    expect(c,
           "[[count :1 reason command context multi object set username bob age-seconds * "
           "client-info id=*user=bob* entry-id * timestamp-created * timestamp-last-updated *] "
           "[count :1 reason channel context toplevel object c *] "
           "[count :1 reason key context toplevel object b *] "
           "[count :2 reason auth context toplevel object auth username bob *]]",
           "ACL LOG");
    expect(c, "[[count :1 reason command *]]", "ACL LOG 1");
    assert_null(strstr(ask(c, "ACL LOG"), "secret"));
    expect(c, "+OK", "CONFIG SET acllog-max-len 2");
    expect(c, "[[*command*] [*channel*]]", "ACL LOG");
    expect(c, "+OK", "ACL LOG RESET");
    expect(c, "[]", "ACL LOG");
    expect(c, "+OK", "CONFIG SET acllog-max-len 128");
    expect(c, "-ERR *", "ACL LOG x");
}

static void passwords_are_told_nowhere(void **state)
{
    redisContext *m = testserver_connect(server);
    expect(c, "+OK", "CONFIG SET slowlog-log-slower-than 0");
    expect(m, "+OK", "MONITOR");
    expect(c, "+OK", "ACL SETUSER bob on >topsecret1 +@all");
    expect(d, "-WRONGPASS *", "AUTH bob topsecret2");
    expect(d, "-WRONGPASS *", "HELLO 3 AUTH bob topsecret3");
    expect(c, "+OK", "CONFIG SET requirepass topsecret4");
    expect(c, "+OK", "CONFIG SET requirepass %s", "");
    expect(c, "last", "PING last");
    const char *told;
    do {
        void *reply = NULL;
        assert_int_equal(redisGetReply(m, &reply), REDIS_OK);
        told = ((redisReply *)reply)->str;
        assert_null(strstr(told, "topsecret"));
        bool is_last = strstr(told, "last") != NULL;
        freeReplyObject(reply);
        if (is_last) break;
    } while (true);
    redisFree(m);
    assert_null(strstr(ask(c, "SLOWLOG GET -1"), "topsecret"));
    assert_null(strstr(ask(c, "CONFIG GET *"), "topsecret"));
    assert_null(strstr(ask(c, "INFO everything"), "topsecret"));
    assert_false(testserver_has_logged(server, "topsecret"));
    expect(c, "+OK", "CONFIG SET slowlog-log-slower-than 10000");
}

/* ---- where they are kept --------------------------------------------------------------------- */

static void write_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

static char *read_text(const char *path)
{
    static char text[5000];
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    size_t n = fread(text, 1, sizeof text - 1, f);
    text[n] = '\0';
    fclose(f);
    return text;
}

static void an_aclfile_keeps_users(void **state)
{
    char dir[] = "/tmp/tupled-acl-XXXXXX";
    char path[64];
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/users.acl", dir);
    const char *args[] = {"--aclfile", path, NULL};
    testserver_refuses(&(struct testserver_options){.args = args}, "users.acl");
    write_text(path, "user bob on >x ~a* +nosuch\n");
    testserver_refuses(&(struct testserver_options){.args = args}, "users.acl:1: ");
    write_text(path, "# ours\nuser bob on >x ~* +@all\n\n");
    struct testserver *s = testserver_start(&(struct testserver_options){.args = args});
    redisContext *b = testserver_connect(s);
    expect(b, "+OK", "AUTH bob x");
    expect(b, "[1 @]", "KV.SUM ['n'] 1 IDEM same");
    expect(b, "+OK", "ACL SETUSER eve on >y ~* +@all");
    expect(b, "+OK", "ACL SAVE");
    redisContext *e = testserver_connect(s);
    expect(e, "+OK", "AUTH eve y");
    expect(e, "[2 @]", "KV.SUM ['n'] 1 IDEM same");
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 077, 0); /* only its owner reads it */
    redisFree(b);
    redisFree(e);
    testserver_stop(s);
    testserver_again(s);
    b = testserver_connect(s);
    e = testserver_connect(s);
    expect(b, "+OK", "AUTH bob x");
    expect(e, "+OK", "AUTH eve y");
    /* They are the same as before the restart. */
    expect(b, "[1 @]", "KV.SUM ['n'] 1 IDEM same");
    expect(e, "[2 @]", "KV.SUM ['n'] 1 IDEM same");
    /* What the file says counts; an error in it changes nothing. */
    write_text(path, "user bob on >z ~* +@all\nuser bob on\n");
    expect(b, "-ERR *users.acl:2: *", "ACL LOAD");
    expect(b, "bob", "ACL WHOAMI");
    expect(b, "[bob default eve]", "ACL USERS");
    write_text(path, "user bob on >z ~* +@all\n");
    expect(b, "+OK", "ACL LOAD");
    assert_int_equal(redisAppendCommand(e, "PING"), REDIS_OK);
    void *reply = NULL;
    assert_int_not_equal(redisGetReply(e, &reply), REDIS_OK); /* eve is gone */
    expect(b, "-WRONGPASS *", "AUTH bob x");
    expect(b, "+OK", "AUTH bob z");
    redisFree(b);
    redisFree(e);
    testserver_free(s);
    unlink(path);
    rmdir(dir);
    expect(c, "-ERR This server is not configured to use an ACL file*", "ACL SAVE");
    expect(c, "-ERR This server is not configured to use an ACL file*", "ACL LOAD");
}

static void the_configuration_keeps_users(void **state)
{
    char dir[] = "/tmp/tupled-acl-XXXXXX";
    char path[64];
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/t.conf", dir);
    write_text(path, "requirepass old\nuser bob on >x ~* +@all -@dangerous\n");
    struct testserver *s = testserver_start(&(struct testserver_options){.config = path});
    redisContext *b = testserver_connect(s);
    expect(b, "+OK", "AUTH old");
    expect(b, "+OK", "CONFIG SET requirepass new");
    expect(b, "+OK", "ACL SETUSER eve on >y +ping");
    expect(b, "+OK", "CONFIG REWRITE");
    const char *text = read_text(path);
    assert_null(strstr(text, "old"));
    assert_null(strstr(text, "requirepass"));
    assert_non_null(strstr(text, "\nuser eve on #"));
    redisFree(b);
    testserver_stop(s);
    testserver_again(s);
    b = testserver_connect(s);
    expect(b, "-WRONGPASS *", "AUTH old");
    expect(b, "+OK", "AUTH bob x");
    expect(b, "-NOPERM *", "CONFIG GET port");
    expect(b, "+OK", "AUTH eve y");
    expect(b, "+PONG", "PING");
    expect(b, "+OK", "AUTH new");
    expect(b, "+OK", "ACL SETUSER bob -ping");
    expect(b, "+OK", "CONFIG REWRITE");
    redisFree(b);
    testserver_free(s);
    write_text(path, "user bob on >x +nosuch\n");
    testserver_refuses(&(struct testserver_options){.config = path}, "+nosuch");
    write_text(path, "aclfile /nowhere\nrequirepass x\n");
    testserver_refuses(&(struct testserver_options){.config = path}, "with an aclfile");
    unlink(path);
    rmdir(dir);
}

/* ---- the audit trail ------------------------------------------------------------------------- */

static void the_trail_has_who_did_what_and_how_it_ended(void **state)
{
    char dir[] = "/tmp/tupled-acl-XXXXXX";
    char path[64];
    char old[64];
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/audit", dir);
    snprintf(old, sizeof old, "%s/audit.1", dir);
    struct testserver *s = testserver_start_with("--audit-log", path, NULL);
    redisContext *a = testserver_connect(s);
    redisContext *b = testserver_connect(s);
    expect(a, "+OK", "ACL SETUSER bob on >topsecret ~* +@all -flushdb");
    expect(b, "-WRONGPASS *", "AUTH bob topsecret2");
    expect(b, "+OK", "AUTH bob topsecret");
    expect(b, "*", "HELLO 2 AUTH bob topsecret");
    expect(b, "*", "HELLO 2");
    expect(b, "-NOPERM *", "FLUSHDB");
    expect(b, "+OK", "CONFIG SET requirepass topsecret timeout 77");
    expect(b, "+OK", "SET plain value");
    expect(a, "+OK", "MULTI");
    expect(a, "+QUEUED", "FLUSHALL");
    expect(a, "[+OK]", "EXEC");
    expect(a, "-NODB *", "KV.DB DROP %s", "no\xffname");
    expect(a, "+OK", "CLIENT EXEC-ON-ERROR CONTINUE");
    expect(a, "+OK", "SET plain value");
    expect(a, "+OK", "MULTI");
    expect(a, "+QUEUED", "KV.LOAD COLLECTION ['plain'] SET MORE 1 1 a");
    expect(a, "[-WRONGTYPE *]", "EXEC");
    const char *text = read_text(path);
    const char *wanted[] = {
        "\"user\":\"default\",\"address\":\"127.0.0.1:",
        "\"command\":\"acl|setuser\",\"arguments\":[\"bob\",\"on\",\"(redacted)\",\"~*\",\"+@all\","
        "\"-flushdb\"],\"result\":\"ok\"}\n",
        "\"command\":\"auth\",\"arguments\":[\"bob\",\"(redacted)\"],\"result\":\"WRONGPASS\"}\n",
        "\"user\":\"bob\",*\"command\":\"auth\",*\"result\":\"ok\"}\n",
        "\"command\":\"hello\",\"arguments\":[\"2\",\"AUTH\",\"bob\",\"(redacted)\"],",
        "\"database\":\"0\",\"command\":\"flushdb\",\"arguments\":[],\"result\":\"NOPERM\"}\n",
        "\"arguments\":[\"requirepass\",\"(redacted)\",\"timeout\",\"(redacted)\"],\"result\":\"ok\"}\n",
        "\"command\":\"flushall\",\"arguments\":[],\"result\":\"ok\"}\n",
        "\"command\":\"kv.db|drop\",\"arguments\":[\"no\xef\xbf\xbdname\"],",
        "\"command\":\"kv.load\",*\"result\":\"WRONGTYPE\"}\n",
    };
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        char pattern[400];
        snprintf(pattern, sizeof pattern, "*%s*", wanted[i]);
        for (char *p = pattern; *p != '\0'; p++) {
            if (*p == '@') *p = '*'; /* no versionstamp is meant */
        }
        if (!text_fits(text, pattern)) fail_msg("%s is not in %s", wanted[i], text);
    }
    assert_null(strstr(text, "topsecret"));
    assert_null(strstr(text, "value"));
    size_t lines = 0;
    for (const char *p = text; *p != '\0'; p++) lines += *p == '\n';
    assert_int_equal(lines, 9);
    /* Renamed, it is opened anew. */
    assert_int_equal(rename(path, old), 0);
    assert_int_equal(kill(testserver_pid(s), SIGHUP), 0);
    while (access(path, F_OK) != 0) testserver_pause();
    expect(b, "*", "ACL DELUSER nobody");
    assert_non_null(strstr(read_text(path), "acl|deluser"));
    redisFree(a);
    redisFree(b);
    testserver_free(s);
    unlink(path);
    unlink(old);
    rmdir(dir);
    testserver_refuses(
        &(struct testserver_options){.args = (const char *[]){"--audit-log", "/nowhere/x", NULL}},
        "cannot open /nowhere/x");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, group_enter, leave)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_user_is_told_in_the_words_that_make_him),
        TEST(wrong_rules_change_nothing_and_are_named),
        TEST(passwords_can_be_made_and_many_can_fit),
        TEST(categories_are_those_of_redis_and_ours),
        TEST(a_category_does_not_bring_what_is_beside_its_commands),
        TEST(a_database_without_a_name_is_asked_about_too),
        TEST(dryrun_asks_and_does_nothing),
        TEST(nobody_may_only_say_who_he_is),
        TEST(nobody_has_few_and_small_words),
        TEST(nobody_has_not_for_ever_to_say_who_he_is),
        TEST(users_are_told_of_clients),
        TEST(refusals_are_logged),
        TEST(passwords_are_told_nowhere),
        TEST(an_aclfile_keeps_users),
        TEST(the_configuration_keeps_users),
        TEST(the_trail_has_who_did_what_and_how_it_ended),
    };
    return cmocka_run_group_tests(tests, start, group_stop);
}
