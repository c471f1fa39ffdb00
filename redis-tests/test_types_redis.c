/* Hashes, lists, sets, sorted sets, streams, HyperLogLogs, places, SORT and clients that wait,
 * beside a real Redis 7: random commands to both must get the same replies (tests/diff). Skipped
 * when there is no redis-server.
 *
 * DIFF_REPLIES   of each family and protocol (6000, of clients that wait 1000; `make diff-types`:
 *                1000000)
 * DIFF_SEED      the first sequence's number (1)
 * DIFF_FAMILIES  hash,list,set,zset,stream,hyperloglog,sort,geo,lex,mixed,waiting: those to run
 *                (all)
 * DIFF_MAX       differences after which a family ends (5)
 * DIFF_RELEASE   set: the release build
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "diff/make.h"
#include "diff/pair.h"
#include "group.h"
#include "real_redis.h"

#define STEPS 1500 /* of a sequence */
#define WAITING_STEPS 150
#define REPLIES 6000
#define WAITING_REPLIES 1000
#define DIFFERENCES 5
#define MISSING_MAX 32

static struct testserver *packed, *spread;
static struct real_redis *real;
static redisContext *redis;
/* Commands of the templates that one of the servers lacks. */
static char missing[MISSING_MAX][32];
static size_t missing_count;

static unsigned long long number_of(const char *name, unsigned long long otherwise)
{
    const char *text = getenv(name);
    return text != NULL && text[0] != '\0' ? strtoull(text, NULL, 10) : otherwise;
}

static bool is_there(struct slice command)
{
    for (size_t i = 0; i < missing_count; i++) {
        if (slice_eq(slice_str(missing[i]), command)) return false;
    }
    return true;
}

static bool has(redisContext *c, const char *command)
{
    redisReply *r = redisCommand(c, "COMMAND INFO %s", command);
    assert_non_null(r);
    bool is_known = r->elements == 1 && r->element[0]->type == REDIS_REPLY_ARRAY;
    freeReplyObject(r);
    return is_known;
}

static void find_missing(const struct family *f, redisContext *here)
{
    for (size_t i = 0; i < f->count; i++) {
        const char *text = f->templates[i].text;
        char name[32];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(text, " "), text);
        bool is_here = has(here, name);
        if (!is_there(slice_str(name)) || (is_here && has(redis, name))) continue;
        printf("# left out, as %s has no %s\n", is_here ? "this Redis" : "this server", name);
        assert_true(missing_count < MISSING_MAX);
        snprintf(missing[missing_count++], sizeof missing[0], "%s", name);
    }
}

/* ---- one family ---- */

struct campaign {
    const char *name;
    const struct family *family; /* NULL = all of them */
    bool has_waiting;
    const struct testserver *ours;
    int protocol;
    uint64_t seed;
    unsigned differences;
};

static bool is_wanted(const char *name)
{
    const char *list = getenv("DIFF_FAMILIES");
    if (list == NULL || list[0] == '\0') return true;
    struct slice rest = slice_str(list);
    while (rest.len > 0) {
        if (slice_eq(slice_take(&rest, ','), slice_str(name))) return true;
    }
    return false;
}

static void make(struct campaign *x, struct sequence *s)
{
    struct maker m;
    sequence_clear(s);
    maker_init(&m, x->seed * 16 + (uint64_t)strlen(x->name), x->family, s);
    m.is_there = is_there;
    size_t steps = x->has_waiting ? WAITING_STEPS : STEPS;
    for (size_t i = 0; i < steps; i++) {
        if (x->has_waiting)
            maker_waiting_step(&m, PAIR_CLIENTS);
        else
            maker_step(&m);
    }
}

static void report(struct campaign *x, struct pair *p, struct sequence *s, struct difference *d)
{
    struct sequence few;
    sequence_init(&few);
    bool comes_again = !p->is_lost && pair_shrink(p, s, d, &few);
    fprintf(stderr, "--- DIFF_FAMILIES=%s DIFF_SEED=%llu, RESP%d, %s%s\n", x->name,
            (unsigned long long)x->seed, x->protocol, x->ours == packed ? "packed" : "spread",
            p->is_lost     ? ": a connection is lost"
            : !comes_again ? ": does not come again on empty servers; its last commands are"
                           : "");
    const struct sequence *shown = comes_again ? &few : s;
    size_t from = comes_again || d->at < 20 ? 0 : d->at - 20;
    for (size_t i = from; i < shown->count && i <= d->at; i++) {
        call_show(stderr, &shown->calls[i]);
        fputc('\n', stderr);
    }
    fprintf(stderr, "   ours: %s\n  redis: %s\n", d->ours, d->redis);
    sequence_fini(&few);
    x->differences++;
}

/* Every second sequence grows out of what is packed soon, and often. */
static void set_pack_bytes(const struct campaign *x, struct pair *p)
{
    if (x->ours != packed) return;
    const struct reply *r = peer_ask(p->ours.control, &p->arena,
                                     x->seed % 2 == 0 ? "CONFIG SET collection-pack-bytes 1kb"
                                                      : "CONFIG SET collection-pack-bytes 150");
    if (r == NULL || r->type != '+') fail_msg("CONFIG SET is refused");
    arena_reset(&p->arena);
}

static void run(struct campaign *x, unsigned long long replies)
{
    struct pair p;
    struct sequence s;
    if (!pair_open(&p, testserver_port(x->ours), redis->unix_sock.path, x->protocol))
        fail_msg("no connection");
    p.has_waiting = x->has_waiting;
    x->seed = number_of("DIFF_SEED", 1);
    sequence_init(&s);
    for (; p.replies < replies && x->differences < number_of("DIFF_MAX", DIFFERENCES); x->seed++) {
        struct difference d;
        make(x, &s);
        set_pack_bytes(x, &p);
        pair_reset(&p);
        if (!pair_run(&p, &s, &d)) report(x, &p, &s, &d);
        difference_fini(&d);
        if (p.is_lost) break;
    }
    printf("# %s, RESP%d, %s: %llu replies\n", x->name, x->protocol,
           x->ours == packed ? "packed" : "spread", p.replies);
    fflush(stdout);
    bool is_lost = p.is_lost;
    sequence_fini(&s);
    pair_close(&p);
    if (is_lost) fail_msg("a server closes its connections, or does not answer");
}

/* Where there is none, all tests are skipped. */
static void start_redis(void)
{
    real = real_redis_start(&redis);
    redisContext *here = testserver_connect(packed);
    for (size_t i = 0; i < family_count; i++) find_missing(&families[i], here);
    find_missing(&family_generic, here);
    find_missing(&family_waiting, here);
    find_missing(&family_held, here);
    find_missing(&family_feeding, here);
    redisFree(here);
}

static void compare(const char *name)
{
    struct campaign x = {.name = name, .family = family_find(name)};
    if (!is_wanted(name)) skip();
    if (real == NULL) start_redis();
    x.has_waiting = strcmp(name, "waiting") == 0;
    unsigned long long replies = number_of("DIFF_REPLIES",
                                           x.has_waiting ? WAITING_REPLIES : REPLIES);
    for (x.protocol = 2; x.protocol <= 3; x.protocol++) {
        x.ours = packed;
        run(&x, replies / 2);
        x.ours = spread;
        run(&x, replies - replies / 2);
    }
    assert_int_equal(x.differences, 0);
}

static void hashes_answer_as_in_redis(void **state)
{
    compare("hash");
}

static void lists_answer_as_in_redis(void **state)
{
    compare("list");
}

static void sets_answer_as_in_redis(void **state)
{
    compare("set");
}

static void sorted_sets_answer_as_in_redis(void **state)
{
    compare("zset");
}

static void streams_answer_as_in_redis(void **state)
{
    compare("stream");
}

static void hyperloglogs_answer_as_in_redis(void **state)
{
    compare("hyperloglog");
}

static void sorting_answers_as_in_redis(void **state)
{
    compare("sort");
}

static void places_answer_as_in_redis(void **state)
{
    compare("geo");
}

static void ranges_by_member_answer_as_in_redis(void **state)
{
    compare("lex");
}

static void all_types_together_answer_as_in_redis(void **state)
{
    compare("mixed");
}

static void those_that_wait_are_served_as_in_redis(void **state)
{
    compare("waiting");
}

/* ---- the servers ---- */

static int start(void **state)
{
    struct testserver_options o = {.is_release = getenv("DIFF_RELEASE") != NULL};
    o.args = (const char *const[]){"--io-threads", "1", NULL};
    packed = testserver_start(&o);
    o.args = (const char *const[]){"--collection-pack-bytes", "0", "--io-threads", "4", NULL};
    spread = testserver_start(&o);
    return 0;
}

static int stop(void **state)
{
    if (real != NULL) deviations_show(stdout);
    if (real != NULL) redisFree(redis);
    if (real != NULL) real_redis_stop(real);
    testserver_free(packed);
    testserver_free(spread);
    return 0;
}

int main(void)
{
#define TEST(name) cmocka_unit_test(name)
    const struct CMUnitTest tests[] = {
        TEST(hashes_answer_as_in_redis),
        TEST(lists_answer_as_in_redis),
        TEST(sets_answer_as_in_redis),
        TEST(sorted_sets_answer_as_in_redis),
        TEST(streams_answer_as_in_redis),
        TEST(hyperloglogs_answer_as_in_redis),
        TEST(sorting_answers_as_in_redis),
        TEST(places_answer_as_in_redis),
        TEST(ranges_by_member_answer_as_in_redis),
        TEST(all_types_together_answer_as_in_redis),
        TEST(those_that_wait_are_served_as_in_redis),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
