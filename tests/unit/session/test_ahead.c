/* Tests of session/ahead: which words of commands that have come are decoded before these are run,
 * and which keys are fetched with one look. A whole database stands behind it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "access/users.h"
#include "codec/key.h"
#include "fuzz/env_help.h"
#include "resp/writer.h"
#include "session/ahead.h"

static struct env env;
static struct client client;
static struct resp_reader reader;
static struct decoded decoded;

static int begin(void **state)
{
    (void)state;
    env_start(&env, "ahead");
    return 0;
}

static int enter(void **state)
{
    (void)state;
    client = (struct client){.user = users_default(env.users.all),
                             .settings = {.view = VIEW_PLAIN, .proto = 2}};
    resp_reader_init(&reader, 1 << 20);
    env.db->backend->is_far = true;
    return 0;
}

static int leave(void **state)
{
    (void)state;
    resp_reader_fini(&reader);
    decoded_fini(&decoded);
    return 0;
}

static void feed_bytes(struct slice bytes)
{
    size_t room = 0;
    uint8_t *at = resp_reader_room(&reader, bytes.len, &room);
    assert_true(room >= bytes.len);
    memcpy(at, bytes.data, bytes.len);
    resp_reader_fed(&reader, bytes.len);
}

/* A command of these words, which have blanks between them. */
static void feed(const char *words)
{
    struct buf out = {0};
    struct resp_writer w = {.out = &out, .proto = 2};
    size_t count = 1;
    for (const char *at = words; *at != '\0'; at++) count += *at == ' ';
    resp_array(&w, count);
    for (size_t i = 0; i < count; i++, words += strcspn(words, " ") + 1) {
        resp_bulk(&w, slice_of(words, strcspn(words, " ")));
    }
    assert_false(out.is_failed);
    feed_bytes(buf_slice(&out));
    buf_fini(&out);
}

static void decode(size_t commands)
{
    ahead_decode(&decoded, &env, &client, &reader, commands);
}

/* What was decoded, as "t:<word> p:<word> v:<word>": tuples, plain keys, values. */
static void are_decoded(const char *wanted)
{
    static const char kinds[] = {
        [DECODED_TUPLE] = 't', [DECODED_PLAIN] = 'p', [DECODED_VALUE] = 'v'};
    struct buf text = {0};
    for (size_t i = 0; i < decoded.count; i++) {
        const struct decoded_word *x = &decoded.words[i];
        /* The line's end follows each word. */
        size_t len = (size_t)((const uint8_t *)strchr((const char *)x->word, '\r') - x->word);
        buf_printf(&text, "%s%c:%.*s", i > 0 ? " " : "", kinds[x->kind], (int)len,
                   (const char *)x->word);
    }
    buf_append_byte(&text, '\0');
    assert_string_equal(text.data, wanted);
    buf_fini(&text);
}

static void keys_and_values_of_all_commands_are_decoded(void **state)
{
    struct buf key = {0};
    const uint8_t one[] = {1};
    feed("KV.SET [\"a\"] 1");
    feed("GET plain");
    feed("PING");
    feed("KV.DEL [\"b\"]");
    decode(100);
    are_decoded("t:[\"a\"] v:1 p:plain t:[\"b\"]");
    engine_key_begin(&key, 0);
    key_add_string(&key, slice_str("a"));
    assert_true(slice_eq(decoded_at(&decoded, 0), buf_slice(&key)));
    assert_true(slice_eq(decoded_at(&decoded, 1), slice_of(one, 1)));
    buf_clear(&key, SIZE_MAX);
    engine_key_begin(&key, 0);
    key_add_string(&key, slice_str("plain"));
    assert_true(slice_eq(decoded_at(&decoded, 2), buf_slice(&key)));
    struct slice rest = resp_reader_rest(&reader);
    assert_ptr_equal(decoded.end, rest.data + rest.len);
    buf_fini(&key);
}

static void a_command_finds_what_was_decoded_for_it(void **state)
{
    struct slice *argv = NULL;
    struct slice found;
    struct error e;
    struct request rq = {.env = &env, .client = &client, .decoded = &decoded};
    feed("KV.SET [\"a\"] 1");
    decode(1);
    assert_int_equal(resp_reader_next(&reader, &argv, &rq.argc, &e), RESP_COMMAND);
    uint64_t before = env.stats.decoded_ahead;
    assert_true(decoded_find(&rq, argv[1], DECODED_TUPLE, &found));
    assert_true(decoded_find(&rq, argv[2], DECODED_VALUE, &found));
    assert_int_equal(env.stats.decoded_ahead, before + 2);
    assert_false(decoded_find(&rq, argv[1], DECODED_PLAIN, &found));
    client.database = 1; /* it has said SELECT meanwhile */
    assert_false(decoded_find(&rq, argv[1], DECODED_TUPLE, &found));
}

static void at_most_so_many_commands_are_looked_at(void **state)
{
    feed("GET a");
    feed("GET b");
    feed("GET c");
    const uint8_t *end = resp_reader_rest(&reader).data +
                         2 * strlen("*2\r\n$3\r\nGET\r\n$1\r\na\r\n");
    decode(2);
    are_decoded("p:a p:b");
    assert_ptr_equal(decoded.end, end);
}

static void one_that_is_not_whole_is_left(void **state)
{
    feed("GET a");
    feed_bytes(slice_str("*2\r\n$3\r\nGET\r\n$5\r\nab"));
    decode(100);
    are_decoded("p:a");
    assert_ptr_equal(decoded.end,
                     resp_reader_rest(&reader).data + strlen("*2\r\n$3\r\nGET\r\n$1\r\na\r\n"));
}

static void who_has_not_logged_in_gets_nothing(void **state)
{
    client.user = NULL;
    feed("GET a");
    decode(100);
    assert_int_equal(decoded.count, 0);
    assert_null(decoded.end);
}

static void words_that_are_wrong_are_left_to_the_command(void **state)
{
    feed("KV.SET [\"a\" 1"); /* no JSON */
    feed("KV.SET [\"b\"] {");
    feed("NOSUCH [\"c\"]");
    feed("KV.SET");
    feed("GET d");
    decode(100);
    are_decoded("v:1 t:[\"b\"] p:d"); /* what is good of them is decoded */
}

static void a_command_of_32_words_is_passed_over(void **state)
{
    struct buf words = {0};
    buf_append_str(&words, "MGET");
    for (int i = 0; i < 30; i++) buf_append_str(&words, " k");
    buf_append_byte(&words, '\0');
    feed((const char *)words.data);
    feed("GET a");
    decode(100);
    assert_int_equal(decoded.count, 31);
    resp_reader_fini(&reader);
    decoded_fini(&decoded);
    resp_reader_init(&reader, 1 << 20);
    words.len--;
    buf_append(&words, " k", 3);
    feed((const char *)words.data);
    feed("GET a"); /* one that comes after it is not */
    decode(100);
    are_decoded("p:a");
    buf_fini(&words);
}

static void words_that_all_commands_may_have_are_passed_over(void **state)
{
    feed("KV.SET [\"a\"] 1 IDEM [1]");
    feed("KV.SET [\"b\"] 2");
    decode(100);
    are_decoded("t:[\"a\"] v:1 t:[\"b\"] v:2");
}

/* ---- fetching ---- */

static void fetch(void)
{
    ahead_fetch(&decoded, &env, &client, &reader);
}

static void take(void)
{
    struct slice *argv = NULL;
    size_t argc = 0;
    struct error e;
    assert_int_equal(resp_reader_next(&reader, &argv, &argc, &e), RESP_COMMAND);
}

/* Keys that memory was asked for so far. */
static uint64_t asked(void)
{
    struct backend_stats stats;
    backend_stats(env.db->backend, &stats);
    return stats.keys_expected;
}

static void one_command_alone_is_not_worth_it(void **state)
{
    uint64_t before = asked();
    feed("GET a");
    fetch();
    assert_int_equal(decoded.count, 0);
    feed_bytes(slice_str("*")); /* of a second one, maybe */
    fetch();
    are_decoded("p:a");
    assert_int_equal(asked(), before); /* one key is fetched by its command as soon */
}

static void where_memory_is_near_nothing_is_fetched(void **state)
{
    env.db->backend->is_far = false;
    feed("GET a");
    feed("GET b");
    fetch();
    assert_int_equal(decoded.count + decoded.fetched, 0);
}

static void keys_are_fetched_and_values_are_not(void **state)
{
    uint64_t before = asked();
    feed("KV.SET [\"a\"] 1");
    feed("KV.SET [\"b\"] 2");
    fetch();
    are_decoded("t:[\"a\"] v:1 t:[\"b\"] v:2");
    assert_int_equal(decoded.fetched, 4);
    assert_int_equal(asked(), before + 2);
    take();
    fetch(); /* the second is fetched already */
    assert_int_equal(decoded.count, 4);
    assert_int_equal(decoded.fetched, 4);
    assert_int_equal(asked(), before + 2);
}

static void what_was_fetched_is_followed_by_the_next(void **state)
{
    char words[32];
    for (int i = 0; i < BACKEND_EXPECT_MAX + 2; i++) {
        (void)snprintf(words, sizeof words, "GET k%02d", i);
        feed(words);
    }
    fetch();
    assert_int_equal(decoded.count, BACKEND_EXPECT_MAX);
    assert_int_equal(decoded.fetched, BACKEND_EXPECT_MAX);
    for (int i = 0; i < BACKEND_EXPECT_MAX; i++) {
        assert_int_equal(decoded.count, BACKEND_EXPECT_MAX);
        take();
        if (i + 1 < BACKEND_EXPECT_MAX) fetch();
    }
    fetch();
    are_decoded("p:k32 p:k33");
    assert_int_equal(decoded.fetched, 2);
}

/* What an I/O thread has decoded may be more than are fetched at once. */
static void more_keys_than_go_at_once_go_in_parts(void **state)
{
    char words[32];
    for (int i = 0; i < BACKEND_EXPECT_MAX + 8; i++) {
        (void)snprintf(words, sizeof words, "GET k%02d", i);
        feed(words);
    }
    decode(1000);
    assert_int_equal(decoded.count, BACKEND_EXPECT_MAX + 8);
    fetch();
    assert_int_equal(decoded.fetched, BACKEND_EXPECT_MAX);
    take();
    fetch();
    assert_int_equal(decoded.fetched, BACKEND_EXPECT_MAX);
    for (int i = 1; i < BACKEND_EXPECT_MAX; i++) take();
    fetch();
    assert_int_equal(decoded.fetched, BACKEND_EXPECT_MAX + 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, enter, leave)
        T(keys_and_values_of_all_commands_are_decoded),
        T(a_command_finds_what_was_decoded_for_it),
        T(at_most_so_many_commands_are_looked_at),
        T(one_that_is_not_whole_is_left),
        T(who_has_not_logged_in_gets_nothing),
        T(words_that_are_wrong_are_left_to_the_command),
        T(a_command_of_32_words_is_passed_over),
        T(words_that_all_commands_may_have_are_passed_over),
        T(one_command_alone_is_not_worth_it),
        T(where_memory_is_near_nothing_is_fetched),
        T(keys_are_fetched_and_values_are_not),
        T(what_was_fetched_is_followed_by_the_next),
        T(more_keys_than_go_at_once_go_in_parts),
    };
    return cmocka_run_group_tests(tests, begin, NULL);
}
