/* tupledctl restore: the state of any commit, out of the archive: a random history, of which a
 * client has seen some moments, is restored to each of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "archive_help.h"
#include "group.h"
#include "load_help.h"

#define SAMPLES 20
#define STEPS 60 /* between two samples */
#define KEYS 60
#define TEXT_BYTES (1 << 20)
#define BRIEF_MAX 64

static redisContext *c;

/* ---- what a client sees ---------------------------------------------------------------------- */

struct brief { /* an entry that ends soon */
    char key[40], value[40];
    long long pttl;
};

struct seen {
    char version[24];
    char *text; /* of all that does not end */
    struct brief brief[BRIEF_MAX];
    size_t brief_count;
    long took_ms; /* at most, from the newest commit to the last answer */
};

static void add(struct seen *s, const char *line)
{
    size_t len = strlen(s->text);
    if (len + strlen(line) + 2 > TEXT_BYTES) fail_msg("too much to compare");
    snprintf(s->text + len, TEXT_BYTES - len, "%s\n", line);
}

/* A reply of any depth as one line. */
static void flatten(const redisReply *r, char *out, size_t room)
{
    size_t len = strlen(out);
    switch (r->type) {
    case REDIS_REPLY_INTEGER: snprintf(out + len, room - len, ":%lld ", r->integer); break;
    case REDIS_REPLY_NIL: snprintf(out + len, room - len, "nil "); break;
    case REDIS_REPLY_ARRAY:
        for (size_t i = 0; i < r->elements; i++) flatten(r->element[i], out, room);
        break;
    default: snprintf(out + len, room - len, "%s ", r->str); break;
    }
}

static void add_reply(struct seen *s, redisContext *by, const char *command)
{
    static char line[TEXT_BYTES];
    redisReply *r = ask_reply(by, command);
    snprintf(line, sizeof line, "%s = ", command);
    flatten(r, line, sizeof line);
    add(s, line);
    freeReplyObject(r);
}

static void look_at_brief(struct seen *s, redisContext *by)
{
    redisReply *r = ask_reply(by, "KV.LIST PREFIX ['e'] LIMIT 1000");
    const redisReply *rows = r->element[1];
    s->brief_count = 0;
    for (size_t i = 0; i < rows->elements && s->brief_count < BRIEF_MAX; i++) {
        struct brief *b = &s->brief[s->brief_count++];
        snprintf(b->key, sizeof b->key, "%s", rows->element[i]->element[0]->str);
        snprintf(b->value, sizeof b->value, "%s", rows->element[i]->element[1]->str);
        redisReply *ttl = redisCommand(by, "KV.PTTL %s", b->key);
        b->pttl = ttl->integer;
        freeReplyObject(ttl);
    }
    freeReplyObject(r);
}

static void look(struct seen *s, redisContext *by)
{
    s->text[0] = '\0';
    for (int database = 0; database < 2; database++) {
        expect(by, "+OK", "SELECT %d", database);
        add_reply(s, by, "KV.LIST PREFIX ['k'] LIMIT 1000");
        add_reply(s, by, "KV.LIST PREFIX ['c'] LIMIT 1000");
        add_reply(s, by, "KV.FIND by_n LIMIT 1000 KEYSONLY");
        add_reply(s, by, "KV.QUEUE PEEK q COUNT 1000");
        add_reply(s, by, "KV.DLQ LIST q COUNT 1000");
        add_reply(s, by, "KV.DB INFO named");
    }
    expect(by, "+OK", "SELECT 0");
    look_at_brief(s, by);
    snprintf(s->version, sizeof s->version, "%s", ask(by, "KV.VERSION"));
}

/* `then` saw it as it happened, `now` in what was restored, where the clock stands still at the
 * commit: what ended until `then` could look is not compared. */
static void compare_brief(const struct seen *then, const struct seen *now)
{
    size_t compared = 0;
    for (size_t i = 0; i < now->brief_count; i++) {
        const struct brief *n = &now->brief[i];
        bool is_there = false;
        for (size_t k = 0; k < then->brief_count; k++) {
            const struct brief *t = &then->brief[k];
            is_there = is_there || (strcmp(t->key, n->key) == 0 && strcmp(t->value, n->value) == 0);
        }
        if (n->pttl > then->took_ms && !is_there) {
            fail_msg("version %s: %s ends in %lld ms, but was not there", then->version, n->key,
                     n->pttl);
        }
        compared += is_there;
    }
    assert_int_equal(compared, then->brief_count);
}

/* ---- a history ------------------------------------------------------------------------------- */

static unsigned number(unsigned below)
{
    return (unsigned)rand() % below;
}

static void work_on_queue(void)
{
    redisReply *r = ask_reply(c, "KV.DEQUEUE q LEASE 3600000");
    if (r->type == REDIS_REPLY_ARRAY && r->elements > 0) {
        const char *receipt = r->element[0]->element[4]->str;
        switch (number(4)) {
        case 0: break; /* leased for an hour */
        case 1: expect(c, "*", "KV.NACK %s DELAY 3600000", receipt); break;
        case 2: expect(c, "*", "KV.NACK %s DEAD ERROR no", receipt); break;
        default: expect(c, "*", "KV.ACK %s", receipt); break;
        }
    }
    freeReplyObject(r);
}

static void step(void)
{
    unsigned key = number(KEYS);
    expect(c, "+OK", "SELECT %u", number(2));
    switch (number(12)) {
    case 0:
    case 1:
    case 2:
    case 3: expect(c, "@", "KV.SET ['k',%u] {'n':%u,'t':'text'}", key, number(20)); break;
    case 4: expect(c, "*", "KV.DEL ['k',%u]", key); break;
    case 5:
    case 6:
        expect(c, "@", "KV.ATOMIC SET ['k',%u] {'n':%u} SUM ['c'] 1 ENQUEUE q {'job':%u}", key,
               number(20), number(1000));
        break;
    case 7:
    case 8:
        expect(c, "+OK", "SELECT 0");
        expect(c, "@", "KV.SET ['e',%u] %u PX %u", key, number(1000), 50 + number(4000));
        break;
    case 9:
    case 10: work_on_queue(); break;
    default:
        if (number(6) == 0) expect(c, "+OK", "FLUSHDB");
        break;
    }
}

static void define(int database)
{
    expect(c, "+OK", "SELECT %d", database);
    expect(c, "*", "KV.INDEX CREATE by_n PREFIX ['k'] ON 1 n");
}

/* The newest commit is this one's own, and nothing comes between it and the look. */
static void sample(struct seen *s)
{
    for (int tries = 0; tries < 200; tries++) {
        expect(c, "+OK", "SELECT 0");
        long begin = testserver_now_ms();
        const char *mine = ask(c, "KV.SET ['c','sample'] %d", tries);
        look(s, c);
        s->took_ms = testserver_now_ms() - begin + 20;
        if (strcmp(s->version, mine) == 0) return;
    }
    fail_msg("there is no quiet moment");
}

static void write_history(struct seen *samples)
{
    for (int i = 0; i < SAMPLES; i++) {
        for (int k = 0; k < STEPS; k++) step();
        if (i == 4) expect(c, ":16", "KV.DB CREATE named MAXENTRIES 100");
        if (i % 7 == 5) expect(c, "@", "KV.ARCHIVE BASE");
        if (i == 9) group_again(true);
        if (i == 15) group_again(false);
        samples[i].text = malloc(TEXT_BYTES);
        sample(&samples[i]);
    }
}

static void a_restore_is_what_a_client_saw_at_that_commit(void **state)
{
    static struct seen samples[SAMPLES];
    struct seen now = {.text = malloc(TEXT_BYTES)};
    load_seed();
    server = archive_server("data", NULL);
    group_connect();
    define(0);
    define(1);
    write_history(samples);
    group_stop(NULL);
    for (int i = SAMPLES - 1; i >= 0; i--) {
        const struct seen *then = &samples[i];
        char name[40];
        snprintf(name, sizeof name, "restored-%d", i);
        if (archive_restore(name, "--version %s --freeze", then->version) != 0) {
            fail_msg("%s", archive_said);
        }
        assert_string_equal(archive_said_of("version "), then->version);
        server = archive_open(name);
        group_connect();
        look(&now, c);
        assert_string_equal(now.version, then->version);
        assert_string_equal(now.text, then->text);
        compare_brief(then, &now);
        expect(c, "-ERR the database is frozen*", "KV.SET ['k',1] 1");
        group_stop(NULL);
        free(samples[i].text);
    }
    free(now.text);
}

/* ---- time ------------------------------------------------------------------------------------ */

static void a_time_is_the_last_commit_not_after_it(void **state)
{
    char second[24];
    server = archive_server("data", NULL);
    group_connect();
    expect(c, "@", "KV.SET ['a'] 1");
    expect(c, "*", "KV.SUM ['n'] 1");
    redisReply *r = ask_reply(c, "TIME");
    long long before = atoll(r->element[0]->str) + 1;
    freeReplyObject(r);
    snprintf(second, sizeof second, "%s", ask(c, "KV.VERSION"));
    long end = testserver_now_ms() + 2100;
    while (testserver_now_ms() < end) testserver_pause();
    expect(c, "@", "KV.SET ['a'] 2");
    group_stop(NULL);
    assert_int_equal(archive_restore("early", "--time %lld", before), 0);
    assert_string_equal(archive_said_of("version "), second);
    assert_null(strstr(archive_said, "ends before"));
    assert_int_equal(archive_restore("late", "--time 2099-01-01T00:00:00Z"), 0);
    assert_non_null(strstr(archive_said, "the archive ends before that time"));
    assert_int_equal(archive_restore("never", "--time yesterday"), 2);
    assert_int_equal(archive_restore("never", "--time 2001-01-01T00:00:00Z"), 0);
    assert_string_equal(archive_said_of("commits "), "0");
    server = archive_open("early");
    group_connect();
    expect(c, "1", "KV.GET ['a']");
    group_stop(NULL);
}

/* ---- long values ----------------------------------------------------------------------------- */

#define LONG_STEPS 30

static void remember_long(char version[24], char bits[24], char length[24])
{
    snprintf(version, 24, "%s", ask(c, "KV.VERSION"));
    snprintf(bits, 24, "%s", ask(c, "BITCOUNT long"));
    snprintf(length, 24, "%s", ask(c, "STRLEN long"));
}

/* Of which the archive has what changed. */
static void a_long_value_is_as_it_was_at_each_commit(void **state)
{
    static char versions[LONG_STEPS][24], bits[LONG_STEPS][24], lengths[LONG_STEPS][24];
    server = archive_server("data", NULL);
    group_connect();
    expect(c, ":0", "SETBIT long 2000000 1");
    for (int i = 0; i < LONG_STEPS; i++) {
        if (i % 3 == 0) expect(c, "*", "SETBIT long %d 1", i * 1000);
        if (i % 3 == 1) expect(c, "*", "APPEND long some-more-%d", i);
        if (i % 3 == 2) expect(c, "*", "SETRANGE long %d other", i * 100);
        if (i == 17) group_again(true);
        remember_long(versions[i], bits[i], lengths[i]);
    }
    archive_settle(c);
    group_stop(NULL);
    for (int i = 0; i < LONG_STEPS; i += 4) {
        char version[24], count[24], length[24];
        char name[20];
        snprintf(name, sizeof name, "long-%d", i);
        if (archive_restore(name, "--version %s --freeze", versions[i]) != 0) {
            fail_msg("%s", archive_said);
        }
        server = archive_open(name);
        group_connect();
        remember_long(version, count, length);
        assert_string_equal(version, versions[i]);
        assert_string_equal(count, bits[i]);
        assert_string_equal(length, lengths[i]);
        group_stop(NULL);
    }
}

/* ---- timelines ------------------------------------------------------------------------------- */

static void restores_never_share_a_versionstamp(void **state)
{
    char fork[24];
    char lost[24];
    char own[3][24];
    server = archive_server("data", NULL);
    group_connect();
    snprintf(fork, sizeof fork, "%s", ask(c, "KV.SET ['a'] 1"));
    snprintf(lost, sizeof lost, "%s", ask(c, "KV.SET ['a'] 2"));
    group_stop(NULL);
    for (int i = 0; i < 3; i++) {
        char name[20];
        snprintf(name, sizeof name, "r%d", i);
        assert_int_equal(archive_restore(name, "--version %s", fork), 0);
        server = archive_server(name, NULL);
        group_connect();
        expect(c, "1", "KV.GET ['a']");
        expect(c, "-STALE *", "KV.CHANGES %s", lost);
        snprintf(own[i], sizeof own[i], "%s", ask(c, "KV.SET ['b'] %d", i));
        expect(c, "-STALE *", "KV.CHANGES %s", lost);
        expect(c, "-STALE *", "KV.POLL KEYS 1 ['a'] %s", lost);
        expect(c, "(nil)", "KV.POLL KEYS 1 ['a'] %s", fork);
        expect(c, "[@ [[['b'] * @ (nil)]]]", "KV.CHANGES %s", fork);
        for (int k = 0; k < i; k++) {
            assert_true(strcmp(own[k], own[i]) < 0);
            expect(c, "-STALE *", "KV.CHANGES %s", own[k]);
            expect(c, "-STALE *", "KV.POLL KEYS 1 ['a'] %s", own[k]);
        }
        group_stop(NULL);
    }
    /* A version says of which timeline it is; what was discarded can be had too. */
    assert_int_equal(archive_restore("second", "--version %s", own[1]), 0);
    assert_string_equal(archive_said_of("from-timeline "), "3");
    assert_int_equal(archive_restore("original", "--version %s", lost), 0);
    assert_string_equal(archive_said_of("from-timeline "), "1");
    server = archive_open("second");
    group_connect();
    expect(c, "1", "KV.GET ['a']");
    expect(c, "1", "KV.GET ['b']");
    expect(c, "-STALE *", "KV.POLL KEYS 1 ['a'] %s", lost);
    expect(c, "-STALE *", "KV.POLL KEYS 1 ['a'] %s", own[0]);
    expect(c, "(nil)", "KV.POLL KEYS 1 ['b'] %s", own[1]);
    group_stop(NULL);
    server = archive_open("original");
    group_connect();
    expect(c, "2", "KV.GET ['a']");
    expect(c, "(nil)", "KV.GET ['b']");
    group_stop(NULL);
}

static void held_queues_deliver_nothing_until_they_are_released(void **state)
{
    server = archive_server("data", NULL);
    group_connect();
    expect(c, "*", "KV.ENQUEUE q 'job'");
    expect(c, "*", "KV.ENQUEUE other 'job' DELAY 10");
    group_stop(NULL);
    assert_int_equal(archive_restore("held", "--hold-queues"), 0);
    server = archive_open("held");
    group_connect();
    assert_int_equal(load_info(c, "queues_held"), 1);
    expect(c, "(nil)", "KV.DEQUEUE other");
    expect(c, "(nil)", "KV.DEQUEUE q BLOCK 200");
    expect(c, "[subscribe kv:queue:other :1]", "SUBSCRIBE kv:queue:other");
    assert_false(load_is_readable(c, 300));
    group_again(true); /* it lasts */
    expect(c, "(nil)", "KV.DEQUEUE other");
    expect(c, "-ERR syntax error: unexpected 'MAYBE' (YES or NO expected)", "KV.QUEUE HOLD MAYBE");
    redisContext *waiting = testserver_connect(server);
    say(waiting, "KV.DEQUEUE q BLOCK 10000");
    load_flush(waiting);
    assert_false(load_is_readable(waiting, 200));
    expect(c, "+OK", "KV.QUEUE HOLD NO");
    expect_next(waiting, "[[q * 'job' :1 *]]");
    redisFree(waiting);
    group_again(true);
    expect(c, "[[other * 'job' :1 *]]", "KV.DEQUEUE other");
    expect(c, "+OK", "KV.QUEUE HOLD YES");
    expect(c, "*", "KV.ENQUEUE q 2");
    expect(c, "(nil)", "KV.DEQUEUE q");
    group_stop(NULL);
}

static int start(void **state)
{
    group_opens(&c, NULL);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_restore_is_what_a_client_saw_at_that_commit,
                                        archive_enter, archive_leave),
        cmocka_unit_test_setup_teardown(a_time_is_the_last_commit_not_after_it, archive_enter,
                                        archive_leave),
        cmocka_unit_test_setup_teardown(a_long_value_is_as_it_was_at_each_commit, archive_enter,
                                        archive_leave),
        cmocka_unit_test_setup_teardown(restores_never_share_a_versionstamp, archive_enter,
                                        archive_leave),
        cmocka_unit_test_setup_teardown(held_queues_deliver_nothing_until_they_are_released,
                                        archive_enter, archive_leave),
    };
    return cmocka_run_group_tests(tests, start, NULL);
}
