/* IDEM: a write that is sent twice happens once, and both replies are the same. */
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "client.h"
#include "group.h"
#include "load_help.h"

#define DELAY_MS 300
#define LIMIT_MS 15000

static redisContext *c;

static int start(void **state)
{
    group_opens(&c, NULL);
    server = testserver_start_with("--enable-debug-command", "local", "--databases", "4", NULL);
    return 0;
}

/* Every write that takes IDEM, %s where its words go, and what makes it do something. */
static const struct {
    const char *before; /* NULL = nothing */
    const char *command;
    const char *other; /* the same with other arguments */
} writes[] = {
    {NULL, "KV.SET ['k'] 1%s", "KV.SET ['k'] 2%s"},
    {"KV.SET ['k'] 1", "KV.SET ['k'] 2 PX 100000 XX%s", "KV.SET ['k'] 2 PX 100001 XX%s"},
    {"KV.SET ['k'] 1", "KV.DEL ['k'] ['l']%s", "KV.DEL ['k']%s"},
    {"KV.SET ['k'] 1", "KV.EXPIRE ['k'] 100%s", "KV.EXPIRE ['k'] 101%s"},
    {"KV.SET ['k'] 1", "KV.PEXPIRE ['k'] 100000 NX%s", "KV.PEXPIRE ['k'] 100000%s"},
    {"KV.SET ['k'] 1", "KV.EXPIREAT ['k'] 4000000000%s", "KV.EXPIREAT ['k'] 4000000001%s"},
    {"KV.SET ['k'] 1", "KV.PEXPIREAT ['k'] 4000000000000%s", "KV.PEXPIREAT ['l'] 4000000000000%s"},
    {"KV.SET ['k'] 1 EX 100", "KV.PERSIST ['k']%s", "KV.PERSIST ['l']%s"},
    {"KV.SET ['k'] 5", "KV.SUM ['k'] 3%s", "KV.SUM ['k'] 4%s"},
    {"KV.SET ['k'] 5", "KV.SUM ['k'] 3 CLAMP 0 7%s", "KV.SUM ['k'] 3 CLAMP 0 6%s"},
    {"KV.SET ['k'] 5", "KV.MIN ['k'] 3%s", "KV.MIN ['k'] 2%s"},
    {"KV.SET ['k'] 5", "KV.MAX ['k'] 9%s", "KV.MAX ['k'] 10%s"},
    {"KV.SET ['k'] [1]", "KV.APPEND ['k'] [2,3]%s", "KV.APPEND ['k'] [2]%s"},
    {"KV.SET ['k'] [1]", "KV.PREPEND ['k'] [2,3]%s", "KV.PREPEND ['k'] [2]%s"},
    {NULL, "KV.ATOMIC%s SUM ['k'] 1 SET ['l'] 2", "KV.ATOMIC%s SUM ['k'] 1"},
    {NULL, "KV.ATOMIC%s DETAILS SUM ['k'] 1 DEL ['l'] APPEND ['m'] [1] SET ['l'] null",
     "KV.ATOMIC%s SUM ['k'] 1 DEL ['l'] APPEND ['m'] [1] SET ['l'] null"},
    {NULL, "KV.ATOMIC%s", "KV.ATOMIC%s SET ['k'] 1"},
    {NULL, "KV.DO%s INCRBY d1 3", "KV.DO%s INCRBY d1 4"},
    {NULL, "KV.DO%s RPUSH d2 a b", "KV.DO%s LPUSH d2 a b"},
    {"RPUSH d3 a b c d", "KV.DO%s LMPOP 1 d3 LEFT COUNT 2", "KV.DO%s LMPOP 1 d3 LEFT COUNT 1"},
    {"HSET d4 f 1", "KV.DO%s HINCRBYFLOAT d4 f 0.5", "KV.DO%s HINCRBYFLOAT d4 f 1"},
    {"SADD d5 a b c", "KV.DO%s SPOP d5 2", "KV.DO%s SPOP d5"},
    {NULL, "KV.DO%s ZADD d6 INCR 1.5 m", "KV.DO%s ZADD d6 INCR 2 m"},
    {NULL, "KV.DO%s XADD d7 * f v", "KV.DO%s XADD d7 NOMKSTREAM * f v"},
    {"SET d8 old", "KV.DO%s SET d8 new GET", "KV.DO%s SET d8 new"},
    {NULL, "KV.DO%s PFADD d9 a", "KV.DO%s PFADD d9 b"},
    {NULL, "KV.DO%s EVAL return{redis.call('INCR',KEYS[1]),ARGV[1]} 1 d10 a",
     "KV.DO%s EVAL return{redis.call('INCR',KEYS[1]),ARGV[1]} 1 d10 b"},
};
#define WRITES (sizeof writes / sizeof writes[0])

static const char *with(const char *command, const char *words)
{
    static char text[300];
    snprintf(text, sizeof text, command, words);
    return text;
}

static void prepare(size_t i)
{
    expect(c, "+OK", "FLUSHALL");
    if (writes[i].before == NULL) return;
    const char *reply = ask(c, writes[i].before);
    if (reply[0] == '-') fail_msg("%s: %s", writes[i].before, reply);
}

/* ---- repeats --------------------------------------------------------------------------------- */

static void a_repeat_does_nothing_and_gets_the_first_reply(void **state)
{
    for (size_t i = 0; i < WRITES; i++) {
        prepare(i);
        const char *first = ask(c, with(writes[i].command, " IDEM one"));
        if (first[0] == '-' || strcmp(first, "(nil)") == 0)
            fail_msg("%s: %s", writes[i].command, first);
        const char *digest = ask(c, "DEBUG DIGEST");
        const char *version = ask(c, "KV.VERSION");
        for (int k = 0; k < 3; k++) {
            assert_string_equal(ask(c, with(writes[i].command, " idem one")), first);
        }
        assert_string_equal(ask(c, "DEBUG DIGEST"), digest);
        assert_string_equal(ask(c, "KV.VERSION"), version);
        const char *second = ask(c, with(writes[i].command, " IDEM two"));
        if (strstr(writes[i].command, "ATOMIC") != NULL) assert_string_not_equal(second, first);
    }
}

static void the_same_id_for_something_else_is_an_error(void **state)
{
    for (size_t i = 0; i < WRITES; i++) {
        prepare(i);
        ask(c, with(writes[i].command, " IDEM one"));
        const char *digest = ask(c, "DEBUG DIGEST");
        expect(c, "-ERR IDEM 'one' was used with another command or other arguments",
               with(writes[i].other, " IDEM one"));
        for (size_t k = 0; k < WRITES; k++) {
            if (k == i) continue;
            expect(c, "-ERR IDEM 'one' was used with *", with(writes[k].command, " IDEM one"));
        }
        assert_string_equal(ask(c, "DEBUG DIGEST"), digest);
    }
}

static void another_format_is_something_else(void **state)
{
    expect(c, "@", "KV.SET ['k'] 1 IDEM one");
    expect(c, "+OK", "KV.FORMAT MSGPACK");
    expect(c, "-ERR IDEM 'one' was used with *", "KV.SET ['k'] 1 IDEM one");
    expect(c, "+OK", "KV.FORMAT JSON");
    expect(c, "@", "KV.SET ['k'] 1 IDEM one");
}

/* The bytes of one whole reply, appended; line ends become blanks. */
static void read_whole(int fd, FILE *f)
{
    const char *line = raw_line(fd);
    fprintf(f, "%s ", line);
    long n = atol(line + 1);
    if (line[0] == '$' && n >= 0) {
        for (n += 2; n > 0; n--) {
            char byte = 0;
            struct pollfd p = {.fd = fd, .events = POLLIN};
            if (poll(&p, 1, LIMIT_MS) != 1 || recv(fd, &byte, 1, 0) != 1) fail_msg("no bytes");
            fputc(byte == '\r' || byte == '\n' ? ' ' : byte, f);
        }
    }
    if (line[0] == '%') n *= 2;
    for (; (line[0] == '*' || line[0] == '%') && n > 0; n--) read_whole(fd, f);
}

/* Free it. */
static char *raw_ask(int fd, const char *format, const char *words)
{
    char *out = NULL;
    size_t len = 0;
    char *command = NULL;
    FILE *f = open_memstream(&out, &len);
    /* Blanks separate arguments; ' stands for ". */
    char text[400];
    snprintf(text, sizeof text, format, words);
    char *save = NULL;
    char *args[40];
    size_t count = 0;
    for (char *w = strtok_r(text, " ", &save); w != NULL; w = strtok_r(NULL, " ", &save)) {
        for (char *p = w; *p != '\0'; p++) {
            if (*p == '\'') *p = '"';
        }
        args[count++] = w;
    }
    int n = (int)redisFormatCommandArgv(&command, (int)count, (const char **)args, NULL);
    raw_send(fd, command, (size_t)n);
    redisFreeCommand(command);
    read_whole(fd, f);
    fclose(f);
    return out;
}

/* As `from` shows a reply, with the nils of the other protocol. */
static void expect_same_but_for_nils(const char *two, const char *three)
{
    while (*two != '\0' || *three != '\0') {
        if (strncmp(two, "$-1 ", 4) == 0) {
            assert_memory_equal(three, "_ ", 2);
            two += 4;
            three += 2;
        } else {
            assert_int_equal(*two, *three);
            two++;
            three++;
        }
    }
}

static void a_reply_is_repeated_in_the_protocol_of_whoever_asks(void **state)
{
    int two = raw_connect(server);
    int three = raw_connect(server);
    free(raw_ask(three, "HELLO 3", ""));
    for (size_t i = 0; i < WRITES; i++) {
        for (int first_is_three = 0; first_is_three < 2; first_is_three++) {
            prepare(i);
            char *first = raw_ask(first_is_three ? three : two, writes[i].command, " IDEM one");
            char *in_two = raw_ask(two, writes[i].command, " IDEM one");
            char *in_three = raw_ask(three, writes[i].command, " IDEM one");
            assert_int_not_equal(first[0], '-');
            assert_string_equal(first_is_three ? in_three : in_two, first);
            expect_same_but_for_nils(in_two, in_three);
            free(first);
            free(in_two);
            free(in_three);
        }
    }
    close(two);
    close(three);
}

static void values_with_line_ends_are_repeated_whole(void **state)
{
    int three = raw_connect(server);
    free(raw_ask(three, "HELLO 3", ""));
    free(raw_ask(three, "KV.FORMAT MSGPACK", ""));
    static const char set[] = "*9\r\n$9\r\nKV.ATOMIC\r\n$4\r\nIDEM\r\n$2\r\nab\r\n$7\r\nDETAILS\r\n"
                              "$3\r\nSET\r\n$8\r\n\x91\xa6\r\n$-1\r\r\n$1\r\n\x01\r\n"
                              "$3\r\nDEL\r\n$3\r\n\x91\xa1x\r\n";
    for (int i = 0; i < 3; i++) {
        raw_send(three, set, sizeof set - 1);
        raw_expect(three, "*2\r\n$20\r\n");
        raw_line(three);
        raw_expect(three, "*2\r\n$8\r\n\x91\xa6\r\n$-1\r\r\n_\r\n");
    }
    close(three);
}

static void a_placeholder_is_not_made_anew_by_a_repeat(void **state)
{
    const char *first = ask(c,
                            "KV.ATOMIC IDEM u DETAILS SET [{'$uuidv7':0}] {'$versionstamp':true}");
    assert_true(text_fits(first, "[@ [['*']]]"));
    assert_string_equal(
        ask(c, "KV.ATOMIC IDEM u DETAILS SET [{'$uuidv7':0}] {'$versionstamp':true}"), first);
    expect(c, ":1", "KV.COUNT");
}

/* ---- what is not kept ------------------------------------------------------------------------ */

static void what_did_not_commit_is_not_kept(void **state)
{
    expect(c, "(nil)", "KV.SET ['k'] 1 XX IDEM a");
    expect(c, ":0", "KV.DEL ['k'] IDEM a");
    expect(c, ":0", "KV.EXPIRE ['k'] 10 IDEM a");
    expect(c, ":0", "KV.PERSIST ['k'] IDEM a");
    expect(c, "(nil)", "KV.ATOMIC IDEM a CHECK ['k'] 00000000000000010000 SET ['k'] 1");
    expect(c, "[(nil) [[:0 (nil)]]]", "KV.ATOMIC IDEM a DETAILS CHECK ['k'] 00000000000000010000");
    expect(c, "-WRONGTYPE *", "KV.SUM ['k'] 'x' IDEM a");
    expect(c, "-ERR invalid value: *", "KV.SET ['k'] { IDEM a");
    expect(c, "(nil)", "KV.SET ['k'] 1 IFVERSION 00000000000000010000 IDEM a");
    const char *stamp = ask(c, "KV.SET ['k'] 1 IDEM a");
    assert_true(text_fits(stamp, "@"));
    assert_string_equal(ask(c, "KV.SET ['k'] 1 IDEM a"), stamp);
    /* A condition that held then, is told to have held. */
    const char *nx = ask(c, "KV.SET ['l'] 1 NX IDEM b");
    assert_true(text_fits(nx, "@"));
    assert_string_equal(ask(c, "KV.SET ['l'] 1 NX IDEM b"), nx);
}

static void an_empty_atomic_commits_and_is_kept(void **state)
{
    const char *stamp = ask(c, "KV.ATOMIC IDEM a");
    assert_true(text_fits(stamp, "@"));
    assert_string_equal(ask(c, "KV.ATOMIC IDEM a"), stamp);
}

/* ---- words ----------------------------------------------------------------------------------- */

static void idem_in_a_wrong_place_is_an_error(void **state)
{
    static const char *const wrong[] = {
        "KV.SET ['k'] 1 IDEM",
        "KV.SET ['k'] 1 IDEM a EX 10",
        "KV.SET IDEM a ['k'] 1",
        "KV.SET ['k'] 1 IDEM a IDEM b",
        "KV.SET ['k'] IDEM a",
        "KV.DEL IDEM a",
        "KV.DEL ['k'] IDEM",
        "KV.SUM ['k'] 1 IDEM a CLAMP 0 1",
        "KV.PERSIST ['k'] IDEM",
        "KV.PERSIST ['k'] IDEM a b",
        "KV.ATOMIC SET ['k'] 1 IDEM a",
        "KV.ATOMIC DETAILS IDEM a SET ['k'] 1",
        "KV.ATOMIC IDEM",
        "KV.ATOMIC IDEM a IDEM b",
        "KV.GET ['k'] IDEM a",
        "KV.DELRANGE ALL IDEM a",
        "KV.LIST IDEM a",
        "SET k v IDEM a",
    };
    expect(c, "+OK", "SET untouched 1");
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        const char *got = ask(c, wrong[i]);
        if (strncmp(got, "-ERR ", 5) != 0) fail_msg("%s: %s", wrong[i], got);
    }
    expect(c, "[0 [['untouched']]]", "KV.LIST KEYSONLY");
    expect(c, "-ERR wrong number of arguments for 'kv.persist' command; usage: KV.*",
           "KV.PERSIST ['k'] IDEM");
    expect(c, "-ERR wrong number of arguments for 'kv.del' command; usage: KV.*", "KV.DEL");
}

static void an_id_has_a_byte_and_255_at_most(void **state)
{
    char id[300];
    memset(id, 'i', sizeof id);
    expect(c, "-ERR IDEM must be an id of 1 to 255 bytes, not 0", "KV.SET ['k'] 1 IDEM %b", "",
           (size_t)0);
    expect(c, "-ERR IDEM must be an id of 1 to 255 bytes, not 256", "KV.SET ['k'] 1 IDEM %b", id,
           (size_t)256);
    expect(c, "-ERR IDEM must be an id of 1 to 255 bytes, not 256", "KV.ATOMIC IDEM %b", id,
           (size_t)256);
    expect(c, "(nil)", "KV.GET ['k']");
    const char *stamp = ask(c, "KV.SET ['k'] 1 IDEM %b", id, (size_t)255);
    assert_string_equal(ask(c, "KV.SET ['k'] 1 IDEM %b", id, (size_t)255), stamp);
    /* Any bytes; an id and its beginning are two. */
    expect(c, "[1 @]", "KV.SUM ['n'] 1 IDEM %b", "a\0b", (size_t)3);
    expect(c, "[2 @]", "KV.SUM ['n'] 1 IDEM %b", "a\0c", (size_t)3);
    expect(c, "[3 @]", "KV.SUM ['n'] 1 IDEM %b", "a", (size_t)1);
    expect(c, "[4 @]", "KV.SUM ['n'] 1 IDEM %b", "a\r\n\xff", (size_t)4);
    expect(c, "[2 @]", "KV.SUM ['n'] 1 IDEM %b", "a\0c", (size_t)3);
    expect(c, "[4 @]", "KV.SUM ['n'] 1 IDEM %b", "a\r\n\xff", (size_t)4);
    expect(c, "-ERR IDEM 'a*' was used with *", "KV.SUM ['n'] 2 IDEM %b", "a\r\n\xff", (size_t)4);
    expect(c, "[5 @]", "KV.SUM ['n'] 1 IDEM IDEM"); /* an id is any word */
    expect(c, "[5 @]", "KV.SUM ['n'] 1 IDEM IDEM");
}

static void databases_have_ids_of_their_own(void **state)
{
    expect(c, "[1 @]", "KV.SUM ['n'] 1 IDEM a");
    expect(c, "+OK", "SELECT 1");
    expect(c, "[5 @]", "KV.SUM ['n'] 5 IDEM a");
    expect(c, "[5 @]", "KV.SUM ['n'] 5 IDEM a");
    expect(c, "+OK", "SELECT 0");
    expect(c, "[1 @]", "KV.SUM ['n'] 1 IDEM a");
    expect(c, "+OK", "FLUSHDB"); /* forgets its own */
    expect(c, "[3 @]", "KV.SUM ['n'] 3 IDEM a");
    expect(c, "+OK", "SELECT 1");
    expect(c, "[5 @]", "KV.SUM ['n'] 5 IDEM a");
    expect(c, "+OK", "FLUSHALL");
    expect(c, "[6 @]", "KV.SUM ['n'] 6 IDEM a");
}

static void ids_are_no_entries(void **state)
{
    expect(c, "@", "KV.SET ['k'] 1 IDEM a");
    expect(c, ":1", "DBSIZE");
    expect(c, ":1", "KV.COUNT");
    expect(c, "[0 [['k']]]", "KV.LIST KEYSONLY");
    expect(c, ":1", "KV.DELRANGE ALL");
    const char *version = ask(c, "KV.VERSION");
    assert_true(text_fits(ask(c, "KV.SET ['k'] 1 IDEM a"), "@")); /* still known */
    assert_string_equal(ask(c, "KV.VERSION"), version);
    expect(c, "(nil)", "KV.GET ['k']");
}

/* ---- bounds ---------------------------------------------------------------------------------- */

static void more_ids_than_the_bound_are_put_off(void **state)
{
    expect(c, "+OK", "CONFIG SET idem-max-entries 100");
    for (int i = 0; i < 100; i++) say(c, "KV.SUM ['n'] 1 IDEM id%d", i);
    expect_many(c, 100, "[* @]");
    expect(c, "-TRYAGAIN *(idem-max-entries)*", "KV.SUM ['n'] 1 IDEM more");
    expect(c, "100", "KV.GET ['n']");
    expect(c, "[7 @]", "KV.SUM ['n'] 1 IDEM id6"); /* repeats are served */
    expect(c, "@", "KV.SET ['m'] 1");
    expect(c, "+OK", "MULTI");
    expect(c, "+QUEUED", "SET done 1");
    expect(c, "+QUEUED", "KV.SUM ['n'] 1 IDEM more");
    expect(c, "-EXECABORT command 2 kv.sum: TRYAGAIN *", "EXEC");
    expect(c, "(nil)", "GET done");
    expect(c, "+OK", "CONFIG SET idem-max-entries 102");
    expect(c, "+OK", "MULTI");
    for (int i = 0; i < 3; i++) expect(c, "+QUEUED", "KV.SUM ['n'] 1 IDEM more%d", i);
    expect(c, "-EXECABORT command 3 kv.sum: TRYAGAIN *", "EXEC");
    expect(c, "[101 @]", "KV.SUM ['n'] 1 IDEM more");
    expect(c, "+OK", "CONFIG SET idem-max-entries 1000000");
    expect(c, "[102 @]", "KV.SUM ['n'] 1 IDEM yet");
}

static void an_id_that_left_the_window_is_new(void **state)
{
    expect(c, "[1 @]", "KV.SUM ['n'] 1 IDEM a");
    expect(c, "+OK", "CONFIG SET idem-window 1");
    expect(c, "+OK", "CONFIG SET idem-max-entries 100");
    for (int i = 0; i < 99; i++) say(c, "KV.SUM ['n'] 1 IDEM id%d", i);
    expect_many(c, 99, "*");
    long until = testserver_now_ms() + LIMIT_MS;
    /* The sweeper makes room. */
    while (strncmp(ask(c, "KV.SUM ['m'] 7 IDEM a"), "[7 ", 3) != 0) {
        if (testserver_now_ms() > until) fail_msg("the window does not end");
        testserver_pause();
    }
    expect(c, "[7 @]", "KV.SUM ['m'] 7 IDEM a");
    expect(c, "+OK", "CONFIG SET idem-window 600");
    expect(c, "+OK", "CONFIG SET idem-max-entries 1000000");
}

/* ---- restarts, holding ----------------------------------------------------------------------- */

static void a_repeat_after_a_restart_gets_the_first_reply(void **state)
{
    char *first[WRITES];
    char text[300];
    for (size_t i = 0; i < WRITES; i++) {
        ask(c, writes[i].before != NULL ? writes[i].before : "KV.DEL ['k'] ['m']");
        snprintf(text, sizeof text, " IDEM id%zu", i);
        first[i] = strdup(ask(c, with(writes[i].command, text)));
    }
    expect(c, "+OK", "SELECT 3");
    expect(c, "[1 @]", "KV.SUM ['n'] 1 IDEM id0");
    for (int round = 0; round < 3; round++) {
        group_again(round != 1);
        const char *digest = ask(c, "DEBUG DIGEST");
        for (size_t i = 0; i < WRITES; i++) {
            snprintf(text, sizeof text, " IDEM id%zu", i);
            assert_string_equal(ask(c, with(writes[i].command, text)), first[i]);
            snprintf(text, sizeof text, " IDEM id%zu", i);
            expect(c, "-ERR IDEM *", with(writes[i].other, text));
        }
        assert_string_equal(ask(c, "DEBUG DIGEST"), digest);
        expect(c, "+OK", "SELECT 3");
        expect(c, "[1 @]", "KV.SUM ['n'] 1 IDEM id0");
        expect(c, "+OK", "SELECT 0");
    }
    for (size_t i = 0; i < WRITES; i++) free(first[i]);
}

static void many_ids_are_known_right_after_a_start(void **state)
{
    for (int i = 0; i < 12000; i++) {
        say(c, "KV.SUM ['n'] 1 IDEM id%d", i);
        if (i % 1000 == 999) expect_many(c, 1000, "[* @]");
    }
    group_again(true);
    for (int i = 0; i < 12000; i += 1000) {
        char wanted[40];
        snprintf(wanted, sizeof wanted, "[%d @]", i + 1);
        expect(c, wanted, "KV.SUM ['n'] 1 IDEM id%d", i);
    }
    expect(c, "[12001 @]", "KV.SUM ['n'] 1 IDEM new");
}

static void a_window_that_ended_while_the_server_was_down_is_over(void **state)
{
    long until = testserver_now_ms() + LIMIT_MS;
    expect(c, "[1 @]", "KV.SUM ['n'] 1 IDEM a");
    expect(c, "+OK", "CONFIG SET idem-window 1");
    group_again(true); /* with the window that it was started with */
    expect(c, "[1 @]", "KV.SUM ['n'] 1 IDEM a");
    expect(c, "+OK", "CONFIG SET idem-window 1");
    while (strncmp(ask(c, "KV.SUM ['n'] 1 IDEM a"), "[1 ", 3) == 0) {
        if (testserver_now_ms() > until) fail_msg("the window does not end");
        testserver_pause();
    }
    expect(c, "2", "KV.GET ['n']");
    expect(c, "+OK", "CONFIG SET idem-window 600");
}

static void a_repeat_of_what_is_not_durable_is_held(void **state)
{
    static const char *const env[] = {"TUPLED_TEST_SYNC_DELAY_MS=300", NULL};
    struct testserver *slow = testserver_start(&(struct testserver_options){.env = env});
    redisContext *first = testserver_connect(slow);
    redisContext *second = testserver_connect(slow);
    redisContext *third = testserver_connect(slow);
    redisContext *watcher = testserver_connect(slow);
    expect(first, "@", "KV.SET ['warm'] 1");
    long sent_ms = testserver_now_ms();
    say(first, "KV.SUM ['n'] 1 IDEM a");
    load_flush(first);
    while (load_info(watcher, "journal_unsynced_transactions") < 1) {
        if (testserver_now_ms() - sent_ms > LIMIT_MS) fail_msg("the write does not happen");
    }
    say(second, "KV.SUM ['n'] 1 IDEM a");
    load_flush(second);
    say(third, "KV.SUM ['n'] 2 IDEM a");
    load_flush(third);
    assert_true(load_is_readable(second, LIMIT_MS));
    assert_true(load_is_readable(third, LIMIT_MS));
    assert_true(testserver_now_ms() - sent_ms >= DELAY_MS - 60);
    assert_true(load_is_readable(first, LIMIT_MS));
    expect_next(first, "[1 @]");
    expect_next(second, "[1 @]");
    expect_next(third, "-ERR IDEM 'a' was used with *");
    expect(first, "1", "KV.GET ['n']");
    redisFree(first);
    redisFree(second);
    redisFree(third);
    redisFree(watcher);
    testserver_free(slow);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, group_enter, group_leave)
    const struct CMUnitTest tests[] = {
        TEST(a_repeat_does_nothing_and_gets_the_first_reply),
        TEST(the_same_id_for_something_else_is_an_error),
        TEST(another_format_is_something_else),
        TEST(a_reply_is_repeated_in_the_protocol_of_whoever_asks),
        TEST(values_with_line_ends_are_repeated_whole),
        TEST(a_placeholder_is_not_made_anew_by_a_repeat),
        TEST(what_did_not_commit_is_not_kept),
        TEST(an_empty_atomic_commits_and_is_kept),
        TEST(idem_in_a_wrong_place_is_an_error),
        TEST(an_id_has_a_byte_and_255_at_most),
        TEST(databases_have_ids_of_their_own),
        TEST(ids_are_no_entries),
        TEST(more_ids_than_the_bound_are_put_off),
        TEST(an_id_that_left_the_window_is_new),
        TEST(a_repeat_after_a_restart_gets_the_first_reply),
        TEST(many_ids_are_known_right_after_a_start),
        TEST(a_window_that_ended_while_the_server_was_down_is_over),
        TEST(a_repeat_of_what_is_not_durable_is_held),
    };
    return cmocka_run_group_tests(tests, start, group_stop);
}
