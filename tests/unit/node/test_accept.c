/* Tests of node/accept: a connection becomes another node's client when that node has proven that it
 * knows the secret, over what both have made up for it; and in no other case. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "node/accept.h"
#include "node/link.h"
#include "request/login.h"
#include "unit/node/node_help.h"

#define NONCE "0123456789abcdef0123456789abcdef"

struct offering {
    struct nodes_bench *t;
    struct link link;
    struct client client;
    struct node_offer *offer;
    struct resp_writer w;
    char theirs[PROOF_NONCE_CHARS]; /* of the leader, as it said */
};

static struct offering o;

static int enter(void **state)
{
    (void)nodes_enter(state);
    struct nodes_bench *t = *state;
    o = (struct offering){.t = t, .link = {.fd = -1, .address = "10.0.0.9:1"}};
    o.client = (struct client){.id = 77, .link = &o.link, .settings.proto = 2};
    o.w = (struct resp_writer){.out = &t->out, .proto = 2};
    memset(t->node.secret, 5, sizeof t->node.secret);
    memset(o.link.channel, 9, sizeof o.link.channel);
    node_lead(&t->node);
    return 0;
}

static int leave(void **state)
{
    node_offer_free(o.offer);
    client_become(&o.client, NULL);
    return nodes_leave(state);
}

static enum node_accepted say(const struct slice *argv, size_t argc)
{
    return node_accept(&o.t->node, &o.offer, &o.client, argv, argc, &o.w);
}

/* KV.LINK BEGIN; the leader's answer is checked as the other node does. */
static void begin(void)
{
    const struct slice argv[] = {slice_str("KV.LINK"), slice_str("BEGIN"), slice_str(NONCE)};
    assert_int_equal(say(argv, 3), NODE_ANSWERED);
    const struct buf *out = &o.t->out;
    assert_int_equal(out->len, 1 + PROOF_NONCE_CHARS + 1 + PROOF_CHARS + 2);
    assert_int_equal(out->data[0], '+');
    memcpy(o.theirs, out->data + 1, PROOF_NONCE_CHARS);
    const struct slice words[] = {slice_str("leader"), slice_str(NONCE),
                                  slice_of(o.theirs, PROOF_NONCE_CHARS),
                                  slice_of(o.link.channel, LINK_CHANNEL_BYTES)};
    struct slice proof = slice_of(out->data + 1 + PROOF_NONCE_CHARS + 1, PROOF_CHARS);
    assert_true(proof_is(&o.t->node, words, 4, proof));
    buf_clear(&o.t->out, SIZE_MAX);
}

/* Twelve words, each with a NUL at its end. */
static const char web[] = "http\0"
                          "1.2.3.4:5\0"
                          "6.7.8.9:10\0"
                          "t\0\0\0"
                          "0\0"
                          "2\0\0\0\0";
static const char bob[] = "resp\0"
                          "1.2.3.4:5\0"
                          "/run/x:0\0"
                          "lu\0\0"
                          "bob\0"
                          "4711\0"
                          "3\0"
                          "worker\0"
                          "lib\0"
                          "1.0\0"
                          "tuples";

/* KV.LINK PASS with a proof of `role`, the channel that ends with `channel`, and these words. */
static enum node_accepted pass(const char *role, uint8_t channel, const void *client, size_t len)
{
    uint8_t bytes[LINK_CHANNEL_BYTES];
    char proof[PROOF_CHARS];
    memset(bytes, 9, sizeof bytes);
    bytes[LINK_CHANNEL_BYTES - 1] = channel;
    const struct slice words[] = {slice_str(role), slice_str(NONCE),
                                  slice_of(o.theirs, PROOF_NONCE_CHARS),
                                  slice_of(bytes, sizeof bytes), slice_of(client, len)};
    proof_make(&o.t->node, words, 5, proof);
    const struct slice argv[] = {slice_str("kv.link"), slice_str("pass"),
                                 slice_of(proof, PROOF_CHARS), slice_of(client, len)};
    return say(argv, 4);
}

static void is_still_its_own(void)
{
    assert_int_equal(o.client.id, 77);
    assert_null(o.client.user);
    assert_string_equal(o.link.address, "10.0.0.9:1");
}

static void a_client_is_taken_with_all_that_is_known_of_it(void **state)
{
    begin();
    assert_int_equal(pass("standby", 9, bob, sizeof bob), NODE_ANSWERED);
    nodes_replied(o.t, "+OK\r\n");
    assert_string_equal(o.link.address, "1.2.3.4:5");
    assert_string_equal(o.link.local_address, "/run/x:0");
    assert_true(o.link.is_local);
    assert_true(o.link.is_unix);
    assert_false(o.link.is_tls);
    assert_ptr_equal(o.client.user, users_find(o.t->env.users.all, slice_str("bob")));
    assert_int_equal(o.client.id, 4711);
    assert_int_equal(o.client.settings.proto, 3);
    assert_string_equal(o.client.settings.name, "worker");
    assert_string_equal(o.client.settings.lib_name, "lib");
    assert_string_equal(o.client.settings.lib_version, "1.0");
    assert_int_equal(o.client.settings.view, VIEW_TUPLES);
    assert_null(o.offer);
}

static void one_that_speaks_http_is_told_to_be_such(void **state)
{
    begin();
    assert_int_equal(pass("standby", 9, web, sizeof web), NODE_IS_HTTP);
    nodes_replied(o.t, "+OK\r\n");
    assert_null(o.client.user);
    assert_int_equal(o.client.id, 77); /* it has none of its own */
    assert_true(o.link.is_tls);
    assert_false(o.link.is_local);
}

static void a_user_that_is_off_is_none(void **state)
{
    nodes_user(o.t, "bob", "off");
    begin();
    assert_int_equal(pass("standby", 9, bob, sizeof bob), NODE_ANSWERED);
    nodes_replied(o.t, "+OK\r\n");
    assert_null(o.client.user);
}

static void what_is_proven_is_all_of_it(void **state)
{
    static const char no[] = "-NOAUTH this node does not have the secret of this engine\r\n";
    begin();
    (void)pass("leader", 9, bob, sizeof bob); /* what the leader said, given back */
    nodes_replied(o.t, no);
    begin();
    (void)pass("standby", 8, bob, sizeof bob); /* another connection */
    nodes_replied(o.t, no);
    begin();
    o.theirs[0] ^= 1; /* of another BEGIN */
    (void)pass("standby", 9, bob, sizeof bob);
    nodes_replied(o.t, no);
    begin();
    char proof[PROOF_CHARS];
    memset(proof, '0', sizeof proof);
    const struct slice argv[] = {slice_str("KV.LINK"), slice_str("PASS"),
                                 slice_of(proof, sizeof proof), slice_of(bob, sizeof bob)};
    (void)say(argv, 4);
    nodes_replied(o.t, no);
    is_still_its_own();
}

static void a_begin_is_good_for_one_pass(void **state)
{
    begin();
    (void)pass("leader", 9, bob, sizeof bob);
    nodes_replied_with(o.t, "-NOAUTH");
    assert_null(o.offer);
    (void)pass("standby", 9, bob, sizeof bob); /* right, but too late */
    nodes_replied(o.t, "-ERR KV.LINK is for nodes of tupled\r\n");
    is_still_its_own();
    begin();
    begin(); /* the last one is what counts */
    (void)pass("standby", 9, bob, sizeof bob);
    nodes_replied(o.t, "+OK\r\n");
}

static void a_client_has_as_many_words_as_it_must(void **state)
{
    static const char more[] = "a\0b\0c\0d\0e\0f\0g\0h\0i\0j\0k\0l\0m";
    static const char fewer[] = "a\0b\0c\0d\0e\0f\0g\0h\0i\0j\0k";
    begin();
    (void)pass("standby", 9, more, sizeof more);
    nodes_replied_with(o.t, "-NOAUTH");
    begin();
    (void)pass("standby", 9, fewer, sizeof fewer);
    nodes_replied_with(o.t, "-NOAUTH");
    begin();
    (void)pass("standby", 9, bob, sizeof bob - 1); /* no NUL at the end */
    nodes_replied_with(o.t, "-NOAUTH");
    begin();
    (void)pass("standby", 9, "", 0);
    nodes_replied_with(o.t, "-NOAUTH");
    is_still_its_own();
}

static void long_words_are_cut(void **state)
{
    char words[1000];
    memset(words, 0, sizeof words);
    memcpy(words, "resp", 5);
    memset(words + 5, 'a', 300); /* the address, its NUL and ten empty words */
    begin();
    (void)pass("standby", 9, words, 5 + 300 + 11);
    nodes_replied(o.t, "+OK\r\n");
    assert_int_equal(strlen(o.link.address), LINK_ADDRESS_MAX - 1);
    assert_int_equal(o.client.settings.proto, 2);
    assert_int_equal(o.client.id, 77);
}

static void other_words_are_refused(void **state)
{
    const struct slice begun[] = {slice_str("KV.LINK"), slice_str("BEGIN"),
                                  slice_of(NONCE, PROOF_NONCE_CHARS - 1)};
    const struct slice other[] = {slice_str("KV.LINK"), slice_str("END"), slice_str(NONCE)};
    assert_false(node_is_link(begun, 1));
    assert_true(node_is_link(begun, 2));
    assert_false(node_is_link(begun + 1, 2));
    (void)say(begun, 3);
    nodes_replied(o.t, "-ERR KV.LINK BEGIN: invalid nonce\r\n");
    assert_null(o.offer);
    (void)say(begun, 2);
    nodes_replied(o.t, "-ERR KV.LINK is for nodes of tupled\r\n");
    (void)say(other, 3);
    nodes_replied(o.t, "-ERR KV.LINK is for nodes of tupled\r\n");
}

static void a_node_that_does_not_lead_takes_none(void **state)
{
    begin();
    o.t->node.leads = false;
    (void)pass("standby", 9, bob, sizeof bob);
    nodes_replied(o.t, "-TRYAGAIN this node is not the leader\r\n");
    is_still_its_own();
}

static void where_nodes_speak_tls_all_must(void **state)
{
    const struct slice argv[] = {slice_str("KV.LINK"), slice_str("BEGIN"), slice_str(NONCE)};
    o.t->node.is_tls = true;
    (void)say(argv, 3);
    nodes_replied_with(o.t, "-NOAUTH nodes connect with TLS here");
    assert_null(o.offer);
    o.link.is_tls = true;
    begin();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, enter, leave)
        T(a_client_is_taken_with_all_that_is_known_of_it),
        T(one_that_speaks_http_is_told_to_be_such),
        T(a_user_that_is_off_is_none),
        T(what_is_proven_is_all_of_it),
        T(a_begin_is_good_for_one_pass),
        T(a_client_has_as_many_words_as_it_must),
        T(long_words_are_cut),
        T(other_words_are_refused),
        T(a_node_that_does_not_lead_takes_none),
        T(where_nodes_speak_tls_all_must),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
