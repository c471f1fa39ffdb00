/* Tests of node/sentinel_commands: what the port of Sentinel says of the node that leads and of the
 * others, to whom, and to whom it tells of another leader. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "node/sentinel_int.h"
#include "unit/node/node_help.h"

struct talk {
    struct nodes_bench *t;
    struct sentinel_facts facts;
    struct sentinel_call c;
};

static struct talk x;

static int enter(void **state)
{
    (void)nodes_enter(state);
    x = (struct talk){.t = *state, .facts = {.node = &((struct nodes_bench *)*state)->node}};
    x.facts.master = "mymaster";
    x.c = (struct sentinel_call){
        .facts = &x.facts, .id = 7, .address = "127.0.0.1:1", .is_early = true};
    x.c.w = (struct resp_writer){.out = &x.t->out, .proto = 2};
    sentinel_let_in(&x.c);
    return 0;
}

static int leave(void **state)
{
    sentinel_call_fini(&x.c);
    return nodes_leave(state);
}

static void say(const char *words)
{
    struct slice argv[16];
    char text[256];
    (void)snprintf(text, sizeof text, "%s", words);
    x.c.argc = nodes_split(text, argv, 16);
    x.c.argv = argv;
    sentinel_run(&x.c);
}

static void says(const char *words, const char *wanted)
{
    say(words);
    nodes_replied(x.t, wanted);
}

static void says_with(const char *words, const char *begin)
{
    say(words);
    nodes_replied_with(x.t, begin);
}

/* The value of a field in the reply, a map or several: the `skip`-th that has this name. */
static void field(const char *name, int skip, const char *wanted)
{
    char head[64];
    struct buf *b = &x.t->out;
    buf_append_byte(b, '\0');
    b->len--;
    const char *at = (const char *)b->data;
    (void)snprintf(head, sizeof head, "$%zu\r\n%s\r\n$", strlen(name), name);
    for (; skip >= 0 && at != NULL; skip--) {
        at = strstr(at, head);
        if (at != NULL) at += strlen(head);
    }
    if (at == NULL) fail_msg("there is no %s", name);
    (void)snprintf(head, sizeof head, "%zu\r\n%s\r\n", strlen(wanted), wanted);
    if (strncmp(at, head, strlen(head)) != 0) fail_msg("%s is %.20s, not %s", name, at, wanted);
}

static void done(void)
{
    buf_clear(&x.t->out, SIZE_MAX);
}

/* ---- who leads, and who stands by ---- */

static void the_leaders_address_is_told_by_the_masters_name(void **state)
{
    says("SENTINEL GET-MASTER-ADDR-BY-NAME mymaster", "*-1\r\n"); /* none is known */
    nodes_follow(x.t, 5);
    says("sentinel get-master-addr-by-name mymaster", "*2\r\n$8\r\n10.0.0.2\r\n$4\r\n6380\r\n");
    says("SENTINEL GET-MASTER-ADDR-BY-NAME Mymaster", "*-1\r\n");
    says("SENTINEL GET-MASTER-ADDR-BY-NAME mymaste", "*-1\r\n");
    node_lead(&x.t->node);
    says("SENTINEL GET-MASTER-ADDR-BY-NAME mymaster", "*2\r\n$3\r\n::1\r\n$4\r\n6379\r\n");
    x.t->env.node.serving.is_mute = true; /* its lease has expired */
    says("SENTINEL GET-MASTER-ADDR-BY-NAME mymaster", "*-1\r\n");
}

static void the_master_is_the_node_that_leads(void **state)
{
    nodes_follow(x.t, 5);
    x.t->node.known.epoch = 5;
    say("SENTINEL MASTER mymaster");
    field("name", 0, "mymaster");
    field("ip", 0, "10.0.0.2");
    field("port", 0, "6380");
    field("flags", 0, "master");
    field("config-epoch", 0, "5");
    field("num-slaves", 0, "2"); /* this one and n3 */
    field("num-other-sentinels", 0, "1");
    done();
    x.t->node.leader.is_silent = true;
    say("SENTINEL MASTERS");
    field("flags", 0, "master,s_down");
    field("port", 0, "0");
    field("num-slaves", 0, "3");
    done();
    says("SENTINEL MASTER other", "-ERR No such master with that name\r\n");
    says("SENTINEL REPLICAS other", "-ERR No such master with that name\r\n");
    says("SENTINEL SENTINELS other", "-ERR No such master with that name\r\n");
    says("SENTINEL CKQUORUM other", "-ERR No such master with that name\r\n");
}

static void replicas_are_the_others_and_this_one_when_it_does_not_lead(void **state)
{
    nodes_follow(x.t, 5);
    say("SENTINEL REPLICAS mymaster");
    field("name", 0, "[::1]:6379");
    field("flags", 0, "slave");
    field("name", 1, "10.0.0.3:6381");
    field("flags", 1, "s_down,slave");
    field("ip", 1, "10.0.0.3");
    field("master-host", 1, "10.0.0.2");
    field("master-port", 1, "6380");
    nodes_replied_with(x.t, "*2\r\n");
    node_lead(&x.t->node);
    x.t->node.known.others[1].address[0] = '\0'; /* it does not say where it is */
    say("SENTINEL SLAVES mymaster");
    field("name", 0, "10.0.0.2:6380");
    field("flags", 0, "slave");
    nodes_replied_with(x.t, "*1\r\n");
}

static void sentinels_are_the_others_that_have_a_port_for_it(void **state)
{
    (void)snprintf(x.t->node.known.others[0].address, NODE_TEXT_BYTES, "[fe80::2]:6380");
    say("SENTINEL SENTINELS mymaster");
    field("name", 0, "n2");
    field("ip", 0, "fe80::2");
    field("port", 0, "26379");
    field("flags", 0, "sentinel");
    nodes_replied_with(x.t, "*1\r\n");
    x.t->node.known.others[0].sentinel_port = 0;
    says("SENTINEL SENTINELS mymaster", "*0\r\n");
}

static void a_quorum_is_there_while_a_node_leads(void **state)
{
    says("SENTINEL CKQUORUM mymaster", "-NOQUORUM there is no leader\r\n");
    nodes_follow(x.t, 5);
    says("SENTINEL CKQUORUM mymaster", "+OK 2 usable Sentinels. Quorum and failover authorization "
                                       "can be reached\r\n");
    (void)snprintf(x.t->node.known.cause, NODES_NOTICE_BYTES, "why");
    says("SENTINEL CKQUORUM mymaster", "-NOQUORUM there is no leader: why\r\n");
    x.t->node.known.cause[0] = '\0';
    x.t->env.node.serving.is_stuck = true;
    (void)snprintf(x.t->env.node.serving.why.text, ERROR_TEXT_BYTES, "it is late");
    says("SENTINEL CKQUORUM mymaster", "-NOQUORUM it is late\r\n");
}

static void words_that_are_none_are_refused(void **state)
{
    says("SENTINEL MYID", "$2\r\nn1\r\n");
    says_with("SENTINEL MYID x", "-ERR SENTINEL supports MASTERS");
    says_with("SENTINEL MASTER", "-ERR SENTINEL supports MASTERS");
    says_with("SENTINEL FAILOVER mymaster", "-ERR SENTINEL supports MASTERS");
    says("SENTINEL", "-ERR wrong number of arguments for 'SENTINEL' command\r\n");
    says("GET a", "-ERR unknown command 'GET': this port speaks the Sentinel protocol\r\n");
    says("PINGX", "-ERR unknown command 'PINGX': this port speaks the Sentinel protocol\r\n");
    says("ROLE", "*2\r\n$8\r\nsentinel\r\n*1\r\n$8\r\nmymaster\r\n");
    assert_false(x.c.is_over);
    says("quit", "+OK\r\n");
    assert_true(x.c.is_over);
}

/* ---- who may ask ---- */

static void without_a_password_for_default_all_may(void **state)
{
    assert_true(x.c.is_known);
    says("PING", "+PONG\r\n");
    says("PING hello", "$5\r\nhello\r\n");
    says("AUTH bob secret", "+OK\r\n");
    says_with("AUTH bob wrong", "-WRONGPASS");
    says("PING", "+PONG\r\n"); /* it is who it was */
    says_with("AUTH", "-ERR wrong number of arguments");
    says_with("AUTH a b c", "-ERR wrong number of arguments");
}

static void with_one_it_must_be_said(void **state)
{
    nodes_user(x.t, "default", "resetpass >deep");
    x.c.is_early = true;
    sentinel_let_in(&x.c);
    assert_false(x.c.is_known);
    says("PING", "-NOAUTH Authentication required.\r\n");
    says("SENTINEL GET-MASTER-ADDR-BY-NAME mymaster", "-NOAUTH Authentication required.\r\n");
    says("SUBSCRIBE +switch-master", "-NOAUTH Authentication required.\r\n");
    says_with("HELLO 3", "-NOAUTH HELLO must be called");
    assert_int_equal(x.c.w.proto, 2);
    says_with("AUTH wrong", "-WRONGPASS");
    says_with("HELLO 3 AUTH bob wrong", "-WRONGPASS");
    says("PING", "-NOAUTH Authentication required.\r\n");
    says("AUTH deep", "+OK\r\n");
    says("PING", "+PONG\r\n");
    nodes_user(x.t, "bob", "off");
    says_with("AUTH bob secret", "-WRONGPASS");
}

static void before_users_are_known_none_may(void **state)
{
    x.t->env.users.are_awaited = true;
    x.c.is_early = true;
    x.c.is_known = false;
    sentinel_let_in(&x.c);
    assert_true(x.c.is_early);
    says_with("PING", "-TRYAGAIN the users are not loaded yet");
    says_with("AUTH bob secret", "-TRYAGAIN the users are not loaded yet");
    says_with("HELLO 2", "-TRYAGAIN the users are not loaded yet");
    x.t->env.users.are_awaited = false;
    sentinel_let_in(&x.c);
    says("PING", "+PONG\r\n");
    /* Once: who has said AUTH since is not let in anew. */
    x.c.is_known = false;
    sentinel_let_in(&x.c);
    assert_false(x.c.is_known);
}

static void hello_chooses_the_protocol(void **state)
{
    says_with("HELLO", "*14\r\n");
    says_with("HELLO 3 AUTH bob secret SETNAME me", "%7\r\n$6\r\nserver\r\n$5\r\nredis\r\n");
    assert_string_equal(x.c.name, "me");
    assert_int_equal(x.c.w.proto, 3);
    says_with("HELLO 4", "-NOPROTO unsupported protocol version");
    says_with("HELLO x", "-NOPROTO unsupported protocol version");
    says_with("HELLO 2 AUTH bob", "-ERR Syntax error in HELLO");
    says_with("HELLO 2 SETNAME", "-ERR Syntax error in HELLO");
    says_with("HELLO 2 SETNAME a\nid=8", "-ERR Client names cannot contain spaces, newlines");
    says_with("CLIENT SETNAME a\x7f", "-ERR Client names cannot contain spaces, newlines");
    assert_int_equal(x.c.w.proto, 3); /* as it was */
    says("CLIENT GETNAME", "$2\r\nme\r\n");
    says("CLIENT ID", ":7\r\n");
    says_with("HELLO 2", "*14\r\n");
}

/* ---- who is told of another leader ---- */

static void a_message_comes_to_who_listens(void **state)
{
    sentinel_tell(&x.c, "+switch-master", "text");
    nodes_replied(x.t, "");
    says("SUBSCRIBE +switch-master +sdown",
         "*3\r\n$9\r\nsubscribe\r\n$14\r\n+switch-master\r\n:1\r\n"
         "*3\r\n$9\r\nsubscribe\r\n$6\r\n+sdown\r\n:2\r\n");
    sentinel_tell(&x.c, "+switch-master", "text");
    nodes_replied(x.t, "*3\r\n$7\r\nmessage\r\n$14\r\n+switch-master\r\n$4\r\ntext\r\n");
    sentinel_tell(&x.c, "+switch-maste", "text");
    nodes_replied(x.t, "");
    says("PSUBSCRIBE +s*", "*3\r\n$10\r\npsubscribe\r\n$3\r\n+s*\r\n:3\r\n");
    sentinel_tell(&x.c, "+switch-master", "text");
    nodes_replied(x.t, "*3\r\n$7\r\nmessage\r\n$14\r\n+switch-master\r\n$4\r\ntext\r\n"
                       "*4\r\n$8\r\npmessage\r\n$3\r\n+s*\r\n$14\r\n+switch-master\r\n"
                       "$4\r\ntext\r\n");
    says("PING", "*2\r\n$4\r\npong\r\n$0\r\n\r\n");
    x.c.w.proto = 3;
    says("PING", "+PONG\r\n");
    sentinel_tell(&x.c, "+slave", "text");
    nodes_replied(x.t, ">4\r\n$8\r\npmessage\r\n$3\r\n+s*\r\n$6\r\n+slave\r\n$4\r\ntext\r\n");
}

static void a_channel_is_listened_to_once(void **state)
{
    says("SUBSCRIBE a a", "*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n"
                          "*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n");
    says("UNSUBSCRIBE b", "*3\r\n$11\r\nunsubscribe\r\n$1\r\nb\r\n:1\r\n");
    says("UNSUBSCRIBE a", "*3\r\n$11\r\nunsubscribe\r\n$1\r\na\r\n:0\r\n");
    sentinel_tell(&x.c, "a", "text");
    nodes_replied(x.t, "");
    says("UNSUBSCRIBE", "*3\r\n$11\r\nunsubscribe\r\n$-1\r\n:0\r\n");
}

static void those_between_others_are_forgotten_alone(void **state)
{
    say("SUBSCRIBE a bb ccc");
    say("PSUBSCRIBE a*");
    done();
    says("UNSUBSCRIBE bb", "*3\r\n$11\r\nunsubscribe\r\n$2\r\nbb\r\n:3\r\n");
    sentinel_tell(&x.c, "ccc", "t");
    nodes_replied(x.t, "*3\r\n$7\r\nmessage\r\n$3\r\nccc\r\n$1\r\nt\r\n");
    says("UNSUBSCRIBE", "*3\r\n$11\r\nunsubscribe\r\n$1\r\na\r\n:2\r\n"
                        "*3\r\n$11\r\nunsubscribe\r\n$3\r\nccc\r\n:1\r\n");
    says("PUNSUBSCRIBE", "*3\r\n$12\r\npunsubscribe\r\n$2\r\na*\r\n:0\r\n");
}

static void channels_have_a_bound(void **state)
{
    char name[4100];
    struct slice argv[2] = {slice_str("SUBSCRIBE"), slice_of(name, 4095)};
    memset(name, 'c', sizeof name);
    x.c.argv = argv;
    x.c.argc = 2;
    sentinel_run(&x.c);
    nodes_replied_with(x.t, "*3\r\n$9\r\nsubscribe\r\n$4095\r\n");
    says_with("SUBSCRIBE x", "-LIMIT too many channels");
    assert_int_equal(x.c.channel_count, 1);
    says_with("UNSUBSCRIBE", "*3\r\n$11\r\nunsubscribe\r\n$4095\r\n");
    argv[1].len = 4096;
    x.c.argv = argv;
    x.c.argc = 2;
    sentinel_run(&x.c);
    nodes_replied_with(x.t, "-LIMIT too many channels");
    argv[1] = slice_of("a\0b", 3); /* its end could not be told */
    sentinel_run(&x.c);
    nodes_replied_with(x.t, "-LIMIT too many channels");
    assert_int_equal(x.c.channel_count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, enter, leave)
        T(the_leaders_address_is_told_by_the_masters_name),
        T(the_master_is_the_node_that_leads),
        T(replicas_are_the_others_and_this_one_when_it_does_not_lead),
        T(sentinels_are_the_others_that_have_a_port_for_it),
        T(a_quorum_is_there_while_a_node_leads),
        T(words_that_are_none_are_refused),
        T(without_a_password_for_default_all_may),
        T(with_one_it_must_be_said),
        T(before_users_are_known_none_may),
        T(hello_chooses_the_protocol),
        T(a_message_comes_to_who_listens),
        T(a_channel_is_listened_to_once),
        T(those_between_others_are_forgotten_alone),
        T(channels_have_a_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
