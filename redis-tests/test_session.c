/* What libraries do around commands: HELLO, RESP3 shapes, CLIENT, COMMAND, CONFIG, INFO, RESET,
 * QUIT. */
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

static int fd;          /* fresh for each test */
static redisContext *c; /* likewise */

static int start(void **state)
{
    group_opens(&c, NULL);
    group_opens_raw(&fd);
    server = testserver_start_with("--databases", "5", NULL);
    return 0;
}

/* ---- HELLO ----------------------------------------------------------------------------------- */

/* The seven pairs, after the header that the protocol has for them. */
static void expect_hello(const char *header, int proto)
{
    char wanted[300];
    long long id = 0;
    raw_expect(fd, header);
    raw_expect(fd, "$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n");
    int major = 0;
    assert_int_equal(sscanf(raw_bulk(fd), "%d.", &major), 1);
    assert_true(major >= 7); /* or libraries think it too old */
    snprintf(wanted, sizeof wanted, "$5\r\nproto\r\n:%d\r\n$2\r\nid\r\n", proto);
    raw_expect(fd, wanted);
    assert_int_equal(sscanf(raw_line(fd), ":%lld", &id), 1);
    assert_true(id > 0);
    raw_expect(fd, "$4\r\nmode\r\n$10\r\nstandalone\r\n$4\r\nrole\r\n$6\r\nmaster\r\n"
                   "$7\r\nmodules\r\n*0\r\n");
}

static void hello_answers_seven_pairs(void **state)
{
    raw_say(fd, "HELLO\r\n");
    expect_hello("*14\r\n", 2);
    raw_say(fd, "HELLO 2\r\n");
    expect_hello("*14\r\n", 2);
    raw_say(fd, "HELLO 3\r\n");
    expect_hello("%7\r\n", 3);
    raw_say(fd, "hello\r\n"); /* keeps the protocol */
    expect_hello("%7\r\n", 3);
    raw_say(fd, "HELLO 2\r\nKV.GET '[1]'\r\n");
    expect_hello("*14\r\n", 2);
    raw_expect(fd, "$-1\r\n");
}

static void hello_refuses_what_it_does_not_speak(void **state)
{
    raw_say(
        fd,
        "HELLO 4\r\nHELLO 1\r\nHELLO abc\r\nHELLO 3 FOO\r\nHELLO 3 SETNAME\r\nHELLO 3 AUTH a\r\n"
        "HELLO 3 SETNAME 'a b'\r\nHELLO 3 AUTH nobody x\r\nKV.GET '[1]'\r\n");
    raw_expect(fd, "-NOPROTO unsupported protocol version\r\n");
    raw_expect(fd, "-NOPROTO unsupported protocol version\r\n");
    raw_expect(fd, "-ERR Protocol version is not an integer or out of range\r\n");
    raw_expect(fd, "-ERR Syntax error in HELLO option 'FOO'\r\n");
    raw_expect(fd, "-ERR Syntax error in HELLO option 'SETNAME'\r\n");
    raw_expect(fd, "-ERR Syntax error in HELLO option 'AUTH'\r\n");
    raw_expect(fd, "-ERR Client names cannot contain spaces, newlines or special characters.\r\n");
    raw_expect(fd, "-WRONGPASS invalid username-password pair or user is disabled.\r\n");
    raw_expect(fd, "$-1\r\n"); /* still protocol 2 */
}

static void the_version_of_redis_is_a_setting(void **state)
{
    expect(c, "+OK", "CONFIG SET redis-version 7.4.0");
    expect(c, "[server redis version 7.4.0 *", "HELLO");
    assert_non_null(strstr(ask(c, "INFO server"), "redis_version:7.4.0\r\n"));
    expect(c, "-ERR CONFIG SET failed *redis-version must be one of 7.0.15, 7.4.0",
           "CONFIG SET redis-version 8.0.0");
    expect(c, "+OK", "CONFIG SET redis-version 7.0.15");
    expect(c, "[server redis version 7.0.15 *", "HELLO");
}

static void hello_sets_the_name(void **state)
{
    raw_say(fd, "HELLO 3 AUTH default any SETNAME lib:1\r\n");
    expect_hello("%7\r\n", 3);
    raw_say(fd, "CLIENT GETNAME\r\n");
    raw_expect(fd, "$5\r\nlib:1\r\n");
}

static void auth_says_that_there_is_no_password(void **state)
{
    expect(c,
           "-ERR AUTH <password> called without any password configured for the default user. Are "
           "you sure your configuration is correct?",
           "AUTH secret");
    /* By name the default user, whom any password fits. */
    expect(c, "+OK", "AUTH default secret");
    expect(c, "-WRONGPASS *", "AUTH DEFAULT secret");
    expect(c, "-WRONGPASS invalid username-password pair or user is disabled.", "AUTH bob secret");
    expect(c, "-ERR syntax error", "AUTH a b c");
    expect(c, "-ERR wrong number of arguments for 'auth' command", "AUTH");
}

/* ---- RESP3 ----------------------------------------------------------------------------------- */

static void resp3_has_its_own_nil_and_map_and_text(void **state)
{
    raw_say(fd, "HELLO 3\r\n");
    expect_hello("%7\r\n", 3);
    raw_say(
        fd,
        "KV.GET '[1]'\r\nKV.GET '[1]' WITHVERSION\r\nKV.MGET '[1]' '[2]'\r\nCLIENT GETNAME\r\n");
    raw_expect(fd, "_\r\n_\r\n*2\r\n_\r\n_\r\n_\r\n");
    raw_say(fd, "CONFIG GET databases\r\nCONFIG GET nosuch\r\n");
    raw_expect(fd, "%1\r\n$9\r\ndatabases\r\n$1\r\n5\r\n%0\r\n");
    raw_say(fd, "INFO cluster\r\nINFO nosuch\r\n");
    raw_expect(fd, "=34\r\ntxt:# Cluster\r\ncluster_enabled:0\r\n\r\n=4\r\ntxt:\r\n");
    raw_say(fd, "KV.LIMITS\r\n");
    assert_int_equal(raw_line(fd)[0], '%');
}

static void resp3_data_is_the_same_as_in_resp2(void **state)
{
    static const char command[] = "KV.SET '[\"a\"]' 1 NX\r\n";
    raw_say(fd, "HELLO 3\r\n");
    expect_hello("%7\r\n", 3);
    raw_say(fd, command);
    assert_true(text_fits(raw_bulk(fd), "@"));
    raw_say(fd, command);
    raw_expect(fd, "_\r\n");
    raw_say(fd, "KV.ATOMIC CHECK '[\"a\"]' NONE\r\nKV.ATOMIC DETAILS CHECK '[\"b\"]' "
                "00000000000000010000\r\n");
    raw_expect(fd, "_\r\n*2\r\n_\r\n*1\r\n*2\r\n:0\r\n_\r\n");
    raw_say(fd, "KV.LIST\r\n");
    raw_expect(fd, "*2\r\n$1\r\n0\r\n*1\r\n*3\r\n$5\r\n[\"a\"]\r\n$1\r\n1\r\n$20\r\n");
    assert_true(text_fits(raw_line(fd), "@"));
    raw_say(fd, "KV.COUNT\r\nKV.DEL '[\"a\"]'\r\n");
    raw_expect(fd, ":1\r\n:1\r\n");
}

static void resp2_has_nil_of_two_kinds(void **state)
{
    raw_say(fd, "KV.GET '[1]'\r\nKV.GET '[1]' WITHVERSION\r\nKV.MGET '[1]'\r\n"
                "KV.ATOMIC CHECK '[1]' 00000000000000010000\r\nKV.SET '[1]' 1 XX\r\n");
    raw_expect(fd, "$-1\r\n*-1\r\n*1\r\n*-1\r\n*-1\r\n$-1\r\n");
}

/* ---- the connection ---------------------------------------------------------------------------
 */

static void ping_and_echo_answer(void **state)
{
    expect(c, "+PONG", "PING");
    expect(c, "hello", "PING hello");
    expect(c, "x y", "ECHO %s", "x y");
    redisReply *r = ask_reply(c, "TIME");
    assert_int_equal(r->elements, 2);
    assert_true(atoll(r->element[0]->str) > 1600000000);
    assert_in_range(atoll(r->element[1]->str), 0, 999999);
    freeReplyObject(r);
}

static void reset_brings_everything_back(void **state)
{
    raw_say(fd, "HELLO 3 SETNAME me\r\n");
    expect_hello("%7\r\n", 3);
    raw_say(fd, "SELECT 3\r\nKV.FORMAT MSGPACK\r\nKV.SET '[\"a\"]' \"\\x01\"\r\n");
    raw_expect(fd, "+OK\r\n+OK\r\n");
    assert_true(text_fits(raw_bulk(fd), "@"));
    raw_say(fd, "RESET\r\nCLIENT GETNAME\r\nKV.FORMAT\r\nKV.GET '[\"a\"]'\r\n"
                "SELECT 3\r\nKV.GET '[\"a\"]'\r\n");
    raw_expect(fd, "+RESET\r\n$-1\r\n$4\r\nJSON\r\n$-1\r\n+OK\r\n$1\r\n1\r\n");
}

static void quit_answers_and_closes(void **state)
{
    raw_say(fd, "PING\r\nQUIT\r\nPING\r\n");
    raw_expect(fd, "+PONG\r\n+OK\r\n");
    raw_expect_end(fd);
}

/* ---- CLIENT ---------------------------------------------------------------------------------- */

static void clients_have_names(void **state)
{
    expect(c, "(nil)", "CLIENT GETNAME");
    expect(c, "+OK", "CLIENT SETNAME worker-1");
    expect(c, "worker-1", "client getname");
    expect(c, "-ERR Client names cannot contain spaces, newlines or special characters.",
           "CLIENT SETNAME %s", "a b");
    expect(c, "-ERR Client names cannot contain*", "CLIENT SETNAME %s", "a\nb");
    expect(c, "worker-1", "CLIENT GETNAME");
    expect(c, "+OK", "CLIENT SETNAME %s", "");
    expect(c, "(nil)", "CLIENT GETNAME");
}

static void clients_tell_their_library(void **state)
{
    expect(c, "+OK", "CLIENT SETINFO LIB-NAME go-redis(,go1.19.8)");
    expect(c, "+OK", "client setinfo lib-ver 9.7");
    expect(c, "-ERR Unrecognized option 'foo'", "CLIENT SETINFO foo bar");
    expect(c, "-ERR lib-name cannot contain spaces, newlines or special characters.",
           "CLIENT SETINFO lib-name %s", "a b");
    assert_true(text_fits(ask(c, "CLIENT INFO"), "* lib-name=go-redis(,go1.19.8) lib-ver=9.7*"));
}

static void client_info_has_the_fields_of_redis(void **state)
{
    static const char *const fields[] = {
        "id=",
        " addr=127.0.0.1:",
        " laddr=127.0.0.1:",
        " fd=",
        " name=n",
        " age=",
        " idle=",
        " flags=N",
        " db=2",
        " sub=0",
        " psub=0",
        " ssub=0",
        " multi=-1",
        " watch=0",
        " qbuf=",
        " qbuf-free=",
        " argv-mem=",
        " multi-mem=",
        " rbs=",
        " rbp=",
        " obl=",
        " oll=",
        " omem=",
        " tot-mem=",
        " events=r",
        " cmd=",
        " user=default",
        " redir=-1",
        " resp=2",
        " lib-name=",
        " lib-ver=",
    };
    expect(c, "+OK", "SELECT 2");
    expect(c, "+OK", "CLIENT SETNAME n");
    const char *info = ask(c, "CLIENT INFO");
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        if (strstr(info, fields[i]) == NULL) fail_msg("no '%s' in '%s'", fields[i], info);
    }
    assert_int_equal(info[strlen(info) - 1], '\n');
    assert_int_equal(strncmp(info, "id=", 3), 0);
    assert_int_equal(atoll(info + 3), ask_integer(c, "CLIENT ID"));
}

static void client_list_has_a_line_for_each(void **state)
{
    redisContext *other = testserver_connect(server);
    expect(other, "+OK", "CLIENT SETNAME the-other");
    long long id = ask_integer(other, "CLIENT ID");
    assert_true(text_fits(ask(c, "CLIENT LIST"), "id=*id=*id=* name=the-other *\n"));
    char wanted[64];
    snprintf(wanted, sizeof wanted, "id=%lld *name=the-other*\n", id);
    assert_true(text_fits(ask(c, "CLIENT LIST ID %lld", id), wanted));
    assert_true(text_fits(ask(c, "CLIENT LIST TYPE normal"), "*the-other*"));
    expect(c, "", "CLIENT LIST TYPE pubsub");
    expect(c, "-ERR Unknown client type 'x'", "CLIENT LIST TYPE x");
    expect(c, "-ERR Invalid client ID", "CLIENT LIST ID x");
    expect(c, "", "CLIENT LIST ID 0");
    expect(c, "", "CLIENT LIST ID -5");
    expect(c, "-ERR client-id should be greater than 0", "CLIENT KILL ID x");
    expect(c, "-ERR client-id should be greater than 0", "CLIENT KILL ID 0");
    expect(c, "-ERR client-id should be greater than 0", "CLIENT KILL TYPE normal ID -1");
    expect(c, ":0", "CLIENT KILL ID 99999");
    expect(c, "-ERR syntax error", "CLIENT KILL ID 99999 TYPE");
    expect(c, "-ERR Unknown client type 'x'", "CLIENT KILL ID 99999 TYPE x");
    expect(c, "-ERR No such user 'x'", "CLIENT KILL USER x");
    expect(c, ":0", "CLIENT KILL USER default ID 99999");
    expect(c, "-ERR syntax error", "CLIENT LIST FOO");
    redisFree(other);
}

static void client_kill_closes_others_and_itself(void **state)
{
    raw_say(fd, "CLIENT ID\r\n");
    long long id = atoll(raw_line(fd) + 1);
    expect(c, ":0", "CLIENT KILL ID 999999");
    expect(c, "-ERR No such client", "CLIENT KILL 127.0.0.1:1");
    expect(c, "-ERR syntax error", "CLIENT KILL ID 1 TYPE");
    expect(c, "-ERR *", "CLIENT KILL FOO bar");
    expect(c, ":0", "CLIENT KILL ID %lld", ask_integer(c, "CLIENT ID")); /* SKIPME is the default */
    expect(c, ":1", "CLIENT KILL ID %lld TYPE normal USER default", id);
    raw_expect_end(fd);
    close(fd);
    fd = raw_connect(server);
    raw_say(fd, "CLIENT INFO\r\n");
    char address[64] = "";
    assert_int_equal(sscanf(strstr(raw_bulk(fd), " addr="), " addr=%63s", address), 1);
    expect(c, "+OK", "CLIENT KILL %s", address);
    raw_expect_end(fd);
    expect(c, ":1", "CLIENT KILL SKIPME no ID %lld", ask_integer(c, "CLIENT ID"));
    assert_null(redisCommand(c, "PING"));
}

static void client_knows_what_it_does_not_know(void **state)
{
    expect(c, "-ERR unknown subcommand 'MAINT_NOTIFICATIONS'. Try CLIENT HELP.",
           "CLIENT MAINT_NOTIFICATIONS ON moving-endpoint-type internal-ip");
    expect(c, "-ERR wrong number of arguments for 'client' command", "CLIENT");
    assert_true(text_fits(ask(c, "CLIENT HELP"), "[+CLIENT <subcommand>*]"));
}

/* ---- COMMAND, CONFIG, INFO ---------------------------------------------------------------------
 */

static void command_describes_all_commands(void **state)
{
    long long count = ask_integer(c, "COMMAND COUNT");
    assert_true(count >= 38);
    redisReply *all = ask_reply(c, "COMMAND");
    assert_int_equal(all->elements, count);
    for (size_t i = 0; i < all->elements; i++) {
        const redisReply *entry = all->element[i];
        assert_int_equal(entry->elements, 10);
        assert_int_equal(entry->element[0]->type, REDIS_REPLY_STRING);
        assert_int_equal(entry->element[1]->type, REDIS_REPLY_INTEGER);
        for (size_t k = 0; k < entry->element[2]->elements; k++) {
            assert_int_equal(entry->element[2]->element[k]->type, REDIS_REPLY_STATUS);
        }
        for (size_t k = 0; k < entry->element[6]->elements; k++) {
            assert_int_equal(entry->element[6]->element[k]->str[0], '@');
        }
    }
    freeReplyObject(all);
    redisReply *names = ask_reply(c, "COMMAND LIST");
    assert_true(names->elements > (size_t)count); /* subcommands too */
    freeReplyObject(names);
}

static void command_info_and_docs_answer_by_name(void **state)
{
    expect(c, "[[kv.get :-2 [+readonly *] :1 :1 :1 [*] [] [*] []] (nil) [client|id :2 *]]",
           "COMMAND INFO KV.GET nosuch client|id");
    expect(c, "[kv.set [summary * since * group kv*]]", "COMMAND DOCS KV.SET nosuch");
    expect(c, "[]", "COMMAND DOCS nosuch");
    expect(c, "-ERR unknown subcommand 'FOO'. Try COMMAND HELP.", "COMMAND FOO");
}

static void config_get_matches_patterns(void **state)
{
    expect(c, "[databases 5]", "CONFIG GET databases");
    expect(c, "[databases 5]", "config get DATAB*");
    expect(c, "[]", "CONFIG GET nosuch");
    expect(c, "[save  appendonly yes]", "CONFIG GET save appendonly");
    expect(c, "[max-value-size 16777216]", "CONFIG GET max-value-size");
    redisReply *all = ask_reply(c, "CONFIG GET *");
    assert_true(all->elements > 40);
    assert_int_equal(all->elements % 2, 0);
    freeReplyObject(all);
}

static void info_has_the_sections_and_fields_tools_read(void **state)
{
    static const char *const fields[] = {
        "# Server\r\n",
        "redis_version:",
        "redis_mode:standalone",
        "os:",
        "process_id:",
        "run_id:",
        "tcp_port:",
        "uptime_in_seconds:",
        "# Clients\r\n",
        "connected_clients:",
        "blocked_clients:0",
        "# Memory\r\n",
        "used_memory:",
        "# Persistence\r\n",
        "loading:0",
        "rdb_bgsave_in_progress:0",
        "aof_rewrite_in_progress:0",
        "# Stats\r\n",
        "total_connections_received:",
        "total_commands_processed:",
        "rejected_connections:0",
        "# Replication\r\n",
        "role:master",
        "connected_slaves:0",
        "# CPU\r\n",
        "used_cpu_sys:",
        "# Cluster\r\n",
        "cluster_enabled:0",
        "# Keyspace\r\n",
        "db0:keys=2,expires=",
        "db3:keys=1,",
    };
    expect(c, "@", "KV.ATOMIC SET ['a'] 1 SET ['b'] 1");
    expect(c, "+OK", "SELECT 3");
    expect(c, "@", "KV.SET ['a'] 1");
    expect(c, "-ERR *", "NOSUCHCOMMAND");
    const char *info = ask(c, "INFO");
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        if (strstr(info, fields[i]) == NULL) fail_msg("no '%s' in:\n%s", fields[i], info);
    }
    assert_non_null(strstr(ask(c, "INFO everything"), "# Journal\r\n"));
    expect(c, "", "INFO nosuch");
    const char *two = ask(c, "info SERVER keyspace");
    assert_non_null(strstr(two, "# Server\r\n"));
    assert_non_null(strstr(two, "\r\n\r\n# Keyspace\r\n"));
    assert_null(strstr(two, "# Stats"));
}

static void info_counts_what_happens(void **state)
{
    const char *before = strstr(ask(c, "INFO stats"), "total_commands_processed:");
    long long was = atoll(before + strlen("total_commands_processed:"));
    for (int i = 0; i < 10; i++) expect(c, "(nil)", "KV.GET ['none']");
    const char *after = strstr(ask(c, "INFO stats"), "total_commands_processed:");
    assert_true(atoll(after + strlen("total_commands_processed:")) - was >= 10);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, group_enter, group_leave)
    const struct CMUnitTest tests[] = {
        TEST(hello_answers_seven_pairs),
        TEST(hello_refuses_what_it_does_not_speak),
        TEST(the_version_of_redis_is_a_setting),
        TEST(hello_sets_the_name),
        TEST(auth_says_that_there_is_no_password),
        TEST(resp3_has_its_own_nil_and_map_and_text),
        TEST(resp3_data_is_the_same_as_in_resp2),
        TEST(resp2_has_nil_of_two_kinds),
        TEST(ping_and_echo_answer),
        TEST(reset_brings_everything_back),
        TEST(quit_answers_and_closes),
        TEST(clients_have_names),
        TEST(clients_tell_their_library),
        TEST(client_info_has_the_fields_of_redis),
        TEST(client_list_has_a_line_for_each),
        TEST(client_kill_closes_others_and_itself),
        TEST(client_knows_what_it_does_not_know),
        TEST(command_describes_all_commands),
        TEST(command_info_and_docs_answer_by_name),
        TEST(config_get_matches_patterns),
        TEST(info_has_the_sections_and_fields_tools_read),
        TEST(info_counts_what_happens),
    };
    return cmocka_run_group_tests(tests, start, group_stop);
}
