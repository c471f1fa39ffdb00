/* merge and pick: unions, intersections and differences against a plain model, by merging and by
 * looking up; random elements are different ones, and each as likely as any. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/random.h"
#include "collection/merge.h"
#include "collection/pick.h"
#include "unit/collection/collection_help.h"

#define SOURCES 4
#define MEMBERS 2000

struct source {
    enum collection_kind kind;
    struct slice key;
    bool is_in[MEMBERS];
    double scores[MEMBERS];
    unsigned count;
};

struct mbench {
    struct cbench t;
    struct rng rng;
    struct source all[SOURCES];
    /* What is asked for: */
    enum merge_kind kind;
    enum merge_scores how;
    double weights[SOURCES];
    bool is_weighted;
    size_t count;
    uint64_t max;
    unsigned chosen[SOURCES]; /* of all; the same may come twice */
    size_t merged;            /* results that were compared */
};

static unsigned below(struct mbench *b, unsigned n)
{
    return (unsigned)rng_below(&b->rng, n);
}

static struct mbench *mbench_open(void)
{
    struct mbench *b = calloc(1, sizeof *b);
    assert_non_null(b);
    cbench_open(&b->t, PACK_BYTES_DEFAULT);
    rng_init(&b->rng, 7);
    return b;
}

static void mbench_close(struct mbench *b)
{
    cbench_close(&b->t);
    free(b);
}

/* In the order of numbers; some of them long. */
static struct slice member(struct mbench *b, unsigned i)
{
    return i % 50 == 49 ? cbench_long(&b->t, 1000, 10000 + i) : cbench_text(&b->t, "%04u", i);
}

/* Where the name is in that order: long ones begin with x, after all digits. */
static unsigned place_of(unsigned i)
{
    return i % 50 == 49 ? MEMBERS + i : i;
}

static enum err write_source(struct cbench *t, struct view *v, void *arg)
{
    struct source *s = arg;
    struct mbench *b = (struct mbench *)t;
    struct collection c;
    enum err r = OK;
    collection_begin(t->all, v, s->key, s->kind, &c);
    for (unsigned i = 0; i < MEMBERS && r == OK; i++) {
        struct element x = {.name = member(b, i), .score = s->scores[i]};
        bool was_there = false;
        if (s->is_in[i]) r = collection_put(&c, &x, &was_there, NULL, &t->e);
    }
    return r == OK ? collection_replace(&c, &t->e) : r;
}

static void draw_source(struct mbench *b, unsigned i)
{
    static const unsigned sizes[] = {0, 5, 40, 300, 2000, 8000};
    static const double few[] = {0, 1, -1, 2.5, INFINITY, -INFINITY};
    struct source *s = &b->all[i];
    unsigned size = sizes[below(b, 6)];
    s->kind = below(b, 2) == 0 ? COLLECTION_SET : COLLECTION_ZSET;
    s->key = cbench_text(&b->t, "%u", i);
    char name[4] = {(char)('a' + i), '\0'};
    s->key = cbench_key(&b->t, 0, name);
    memset(s->is_in, 0, sizeof s->is_in);
    s->count = 0;
    for (unsigned n = 0; n < size; n++) {
        unsigned k = below(b, MEMBERS);
        s->count += !s->is_in[k];
        s->is_in[k] = true;
        s->scores[k] = s->kind == COLLECTION_SET ? 0 : few[below(b, 6)];
    }
    assert_int_equal(cbench_commit(&b->t, write_source, s), OK);
}

/* ---- the model ---- */

static double not_nan(double n)
{
    return isnan(n) ? 0 : n;
}

static double score_of(const struct mbench *b, size_t i, unsigned k)
{
    const struct source *s = &b->all[b->chosen[i]];
    double score = s->kind == COLLECTION_ZSET ? s->scores[k] : 1;
    return b->is_weighted ? score * b->weights[i] : score;
}

/* Scores are added from the smallest source on. */
static void order_of(const struct mbench *b, size_t order[SOURCES])
{
    size_t at = 0;
    for (unsigned size = 0; size <= MEMBERS && at < b->count; size++) {
        for (size_t i = 0; i < b->count; i++) {
            if (b->all[b->chosen[i]].count == size) order[at++] = i;
        }
    }
}

static double combined(const struct mbench *b, double sum, double one)
{
    if (b->how == SCORES_SUM) return not_nan(sum + one);
    if (b->how == SCORES_MIN) return one < sum ? one : sum;
    return one > sum ? one : sum;
}

static bool wanted(const struct mbench *b, unsigned k, double *score)
{
    unsigned in = 0;
    bool is_in_first = b->all[b->chosen[0]].is_in[k];
    size_t order[SOURCES] = {0};
    *score = 0;
    order_of(b, order);
    for (size_t i = 0; i < b->count; i++) {
        if (!b->all[b->chosen[order[i]]].is_in[k]) continue;
        double one = score_of(b, order[i], k);
        if (in == 0 || b->kind == MERGE_UNION) one = not_nan(one);
        *score = in == 0 ? one : combined(b, *score, one);
        in++;
    }
    if (b->kind == MERGE_UNION) return in > 0;
    if (b->kind == MERGE_INTER) return in == b->count;
    return is_in_first && in == 1;
}

static void compare(struct mbench *b, const struct merge *m)
{
    size_t at = 0;
    for (unsigned place = 0; place < 2 * MEMBERS; place++) {
        unsigned k = place % MEMBERS;
        double score = 0;
        if (place_of(k) != place || !wanted(b, k, &score)) continue;
        if (b->max != 0 && at == b->max) break;
        assert_true(at < m->item_count);
        assert_true(slice_eq(m->items[at].name, member(b, k)));
        assert_true(m->items[at].score == score);
        at++;
    }
    assert_int_equal(at, m->item_count);
    b->merged += at;
}

static enum err merge(struct cbench *t, struct view *v, void *arg)
{
    struct mbench *b = arg;
    struct collection sources[SOURCES];
    struct merge m = {.kind = b->kind,
                      .sources = sources,
                      .count = b->count,
                      .weights = b->is_weighted ? b->weights : NULL,
                      .scores = b->how,
                      .max = b->max};
    enum err r = OK;
    for (size_t i = 0; i < b->count && r == OK; i++) {
        const struct source *s = &b->all[b->chosen[i]];
        r = collection_open(t->all, v, s->key, s->kind, &sources[i], &t->e);
    }
    if (r == OK) r = merge_run(&m, &t->e);
    if (r == OK) compare(b, &m);
    return r;
}

static void merges_are_those_of_plain_sets(void **state)
{
    static const double weights[] = {1, 0, -1, 2, INFINITY};
    struct mbench *b = mbench_open();
    (void)state;
    for (int n = 0; n < 400; n++) {
        if (n % 10 == 0) {
            for (unsigned i = 0; i < SOURCES; i++) draw_source(b, i);
        }
        b->kind = (enum merge_kind)below(b, 3);
        b->how = (enum merge_scores)below(b, 3);
        b->count = 1 + below(b, SOURCES);
        b->max = below(b, 3) == 0 ? 1 + below(b, 20) : 0;
        b->is_weighted = below(b, 2) == 0;
        for (unsigned i = 0; i < SOURCES; i++) {
            b->chosen[i] = below(b, SOURCES);
            b->weights[i] = weights[below(b, 5)];
        }
        if (cbench_read(&b->t, merge, b) != OK) fail_msg("%s", b->t.e.text);
    }
    assert_true(b->merged > 10000);
    mbench_close(b);
}

/* ---- random elements ---- */

struct picks {
    struct slice key;
    enum collection_kind kind;
    uint64_t count;
    bool repeats;
    unsigned *hits; /* by number */
    uint64_t seed;
    size_t picked;
};

static enum err pick(struct cbench *t, struct view *v, void *arg)
{
    struct picks *p = arg;
    struct collection c;
    struct pick k = {.seed = ++p->seed, .count = p->count, .repeats = p->repeats};
    enum err r = collection_open(t->all, v, p->key, p->kind, &c, &t->e);
    if (r == OK) r = pick_random(&c, &k, &t->e);
    p->picked = k.picked;
    for (size_t i = 0; i < p->picked && r == OK; i++) {
        struct slice name = k.items[i].name;
        uint64_t number = 0;
        assert_true(slice_to_u64(name, &number));
        p->hits[number]++;
    }
    return r;
}

static void run_pick(struct cbench *t, struct picks *p)
{
    if (cbench_read(t, pick, p) != OK) fail_msg("%s", t->e.text);
}

/* Each is drawn as often as any: the sum of squares is near what chance gives. Wide: it fails once
 * in a million runs or so. */
static void check_uniform(const unsigned *hits, unsigned n, unsigned draws)
{
    double expected = (double)draws / n;
    double sum = 0;
    for (unsigned i = 0; i < n; i++) {
        double off = hits[i] - expected;
        sum += off * off / expected;
    }
    double bound = n + 6 * sqrt(2.0 * n);
    if (sum > bound) fail_msg("%g is above %g", sum, bound);
}

static const enum collection_kind kinds[] = {COLLECTION_HASH, COLLECTION_SET, COLLECTION_ZSET};

static void try_picks(unsigned n, unsigned count, bool repeats, unsigned times)
{
    struct cbench t;
    cbench_open(&t, PACK_BYTES_DEFAULT);
    for (size_t k = 0; k < 3; k++) {
        struct picks p = {.kind = kinds[k], .count = count, .repeats = repeats};
        unsigned draws = 0;
        p.key = cbench_key(&t, 0, collection_kind_name(kinds[k]));
        p.hits = calloc(n, sizeof *p.hits);
        assert_non_null(p.hits);
        cbench_fill(&t, p.key, kinds[k], 0, n);
        for (unsigned i = 0; i < times; i++) {
            unsigned most = 0;
            unsigned *before = calloc(n, sizeof *before);
            assert_non_null(before);
            memcpy(before, p.hits, n * sizeof *before);
            run_pick(&t, &p);
            assert_int_equal(p.picked, repeats || count < n ? count : n);
            draws += (unsigned)p.picked;
            for (unsigned m = 0; m < n; m++) {
                if (p.hits[m] - before[m] > most) most = p.hits[m] - before[m];
            }
            if (!repeats) assert_int_equal(most, 1);
            free(before);
        }
        if (count < n) check_uniform(p.hits, n, draws);
        free(p.hits);
    }
    cbench_close(&t);
}

static void random_elements_are_different_ones_and_any(void **state)
{
    (void)state;
    try_picks(10, 1, false, 300); /* packed */
    try_picks(10, 3, false, 200);
    try_picks(10, 9, false, 200); /* by selection */
    try_picks(10, 10, false, 3);
    try_picks(10, 50, false, 3);
    try_picks(300, 1, false, 3000); /* spread, without an index */
    try_picks(300, 100, false, 50);
    try_picks(300, 290, false, 50);
    try_picks(1000, 1, false, 5000); /* with one */
    try_picks(1000, 10, false, 500);
    try_picks(1000, 900, false, 30);
}

static void with_repeats_there_are_as_many_as_wanted(void **state)
{
    (void)state;
    try_picks(10, 5, true, 200);
    try_picks(3, 1000, true, 3);
    try_picks(1000, 10, true, 500);
    try_picks(1000, 900, true, 30);
}

static void the_order_of_random_elements_is_random(void **state)
{
    struct cbench t;
    struct slice key;
    unsigned first[10] = {0};
    (void)state;
    cbench_open(&t, PACK_BYTES_DEFAULT);
    key = cbench_key(&t, 0, "set");
    cbench_fill(&t, key, COLLECTION_SET, 0, 10);
    for (int i = 0; i < 2000; i++) {
        struct collection c;
        struct pick k = {.seed = (uint64_t)i, .count = 10};
        struct waiter w = {0};
        struct view v = view_reading(t.g, NULL, 0, &t.arena, &w);
        uint64_t number = 0;
        assert_int_equal(collection_open(t.all, &v, key, COLLECTION_SET, &c, &t.e), OK);
        assert_int_equal(pick_random(&c, &k, &t.e), OK);
        assert_true(slice_to_u64(k.items[0].name, &number));
        first[number]++;
    }
    check_uniform(first, 10, 2000);
    cbench_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(merges_are_those_of_plain_sets),
        cmocka_unit_test(random_elements_are_different_ones_and_any),
        cmocka_unit_test(with_repeats_there_are_as_many_as_wanted),
        cmocka_unit_test(the_order_of_random_elements_is_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
