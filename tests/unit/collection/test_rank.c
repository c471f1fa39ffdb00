/* rank and index: the rank of any member and the member of any rank are those of a sorted array,
 * with the counted index and without, over what a transaction has written itself, and while the
 * index is built and commits go on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/random.h"
#include "collection/index.h"
#include "collection/pick.h"
#include "collection/sorted.h"
#include "unit/collection/collection_help.h"

#define NUMBERS 20000

/* A sorted set of numbers: member "<number>", its score the number / 4, so that some agree in it;
 * of so many digits that the order is that of the numbers. */
struct rbench {
    struct cbench t;
    struct slice key;
    struct rng rng;
    bool is_in[NUMBERS], next[NUMBERS]; /* as committed; with what the transaction has done */
    unsigned count, next_count;
    unsigned changes; /* of a transaction */
    bool checks_all;
};

static struct rbench *rbench_open(size_t counted_bytes)
{
    struct rbench *b = calloc(1, sizeof *b);
    assert_non_null(b);
    cbench_open(&b->t, PACK_BYTES_DEFAULT);
    b->t.counted_bytes = counted_bytes;
    cbench_restart(&b->t);
    cbench_settle(&b->t);
    b->key = cbench_key(&b->t, 0, "zset");
    rng_init(&b->rng, 5);
    return b;
}

static void rbench_close(struct rbench *b)
{
    cbench_close(&b->t);
    free(b);
}

static unsigned below(struct rbench *b, unsigned n)
{
    return (unsigned)rng_below(&b->rng, n);
}

static struct slice member(struct rbench *b, unsigned number)
{
    return cbench_text(&b->t, "%05u", number);
}

static double score(unsigned number)
{
    return number / 4;
}

static unsigned count_below(const bool *is_in, unsigned number)
{
    unsigned n = 0;
    for (unsigned i = 0; i < number; i++) n += is_in[i];
    return n;
}

static unsigned number_of_rank(const bool *is_in, unsigned rank)
{
    unsigned i = 0;
    for (;; i++) {
        if (is_in[i] && rank-- == 0) return i;
    }
}

/* ---- changes ---- */

static enum err change(struct cbench *t, struct view *v, void *arg)
{
    struct rbench *b = arg;
    struct collection c;
    enum err r = collection_open(t->all, v, b->key, COLLECTION_ZSET, &c, &t->e);
    for (unsigned i = 0; i < b->changes && r == OK; i++) {
        unsigned number = below(b, NUMBERS);
        struct element x = {.name = member(b, number), .score = score(number)};
        bool was_there = false;
        if (below(b, 3) > 0) {
            r = collection_put(&c, &x, &was_there, NULL, &t->e);
        } else {
            r = collection_remove(&c, x.name, &was_there, NULL, &t->e);
            x.name = slice_of(NULL, 0);
        }
        if (r != OK) break;
        assert_int_equal(was_there, b->next[number]);
        b->next_count -= b->next[number];
        b->next[number] = x.name.data != NULL;
        b->next_count += b->next[number];
    }
    return r == OK ? collection_save(&c, &t->e) : r;
}

static enum err check(struct cbench *t, struct view *v, void *arg)
{
    struct rbench *b = arg;
    struct collection c;
    enum err r = collection_open(t->all, v, b->key, COLLECTION_ZSET, &c, &t->e);
    if (r == OK) assert_int_equal(c.head.count, b->next_count);
    for (int i = 0; i < 4 && r == OK && b->next_count > 0; i++) {
        unsigned number = below(b, NUMBERS);
        bool found = false;
        uint64_t rank = 0;
        double its_score = 0;
        struct element picked;
        r = sorted_rank(&c, member(b, number), &found, &rank, &its_score, &t->e);
        if (r != OK) break;
        assert_int_equal(found, b->next[number]);
        if (found) assert_int_equal(rank, count_below(b->next, number));
        rank = below(b, b->next_count);
        r = pick_ranks(&c, false, &rank, 1, &picked, &t->e);
        if (r != OK) break;
        struct slice wanted = member(b, number_of_rank(b->next, (unsigned)rank));
        assert_true(slice_eq(picked.name, wanted));
        struct sorted_range range = {
            .by = BY_SCORE, .min = score(number), .max = score(number) + 500, .limit = -1};
        unsigned first = number / 4 * 4;
        unsigned last = first + 2004 < NUMBERS ? first + 2004 : NUMBERS;
        r = sorted_count(&c, &range, &rank, &t->e);
        if (r == OK)
            assert_int_equal(rank, count_below(b->next, last) - count_below(b->next, first));
    }
    return r;
}

/* Up to three members of a part, after an offset that is not walked over. */
static enum err check_offset(struct cbench *t, struct view *v, void *arg)
{
    struct rbench *b = arg;
    struct collection c;
    struct element *items = NULL;
    size_t count = 0;
    unsigned from = below(b, NUMBERS / 4) * 4;
    unsigned upto = NUMBERS - below(b, NUMBERS / 4);
    unsigned offset = below(b, NUMBERS / 3);
    struct sorted_range range = {.by = BY_SCORE,
                                 .is_reverse = below(b, 2) == 0,
                                 .min = score(from),
                                 .max = score(upto),
                                 .offset = offset,
                                 .limit = 3};
    struct walk_range walk = {.is_reverse = false};
    unsigned last = upto / 4 * 4 + 4 < NUMBERS ? upto / 4 * 4 + 4 : NUMBERS;
    enum err r = collection_open(t->all, v, b->key, COLLECTION_ZSET, &c, &t->e);
    if (r == OK) r = sorted_walk(&c, &range, &walk, &t->e);
    bool is_counted = b->t.counted_bytes > 0 && !walk.is_empty;
    if (r == OK && is_counted) assert_in_range(walk.skip, 0, 128);
    if (r == OK) r = sorted_gather(&c, &range, &items, &count, &t->e);
    if (r != OK) return r;
    unsigned before = count_below(b->next, from);
    unsigned inside = from < last ? count_below(b->next, last) - before : 0;
    unsigned left = offset < inside ? inside - offset : 0;
    assert_int_equal(count, left < 3 ? left : 3);
    for (unsigned i = 0; i < count; i++) {
        unsigned rank = range.is_reverse ? before + inside - 1 - offset - i : before + offset + i;
        assert_true(slice_eq(items[i].name, member(b, number_of_rank(b->next, rank))));
    }
    return OK;
}

static enum err several(struct cbench *t, struct overlay *o, void *arg)
{
    struct rbench *b = arg;
    enum err r = OK;
    memcpy(b->next, b->is_in, sizeof b->next);
    b->next_count = b->count;
    for (int i = 0; i < 3 && r == OK; i++) {
        b->changes = 1 + below(b, 60);
        r = cbench_evaluate(t, o, 0, change, b);
        if (r == OK && b->checks_all) r = cbench_evaluate(t, o, 0, check, b);
        if (r == OK && b->checks_all) r = cbench_evaluate(t, o, 0, check_offset, b);
    }
    return r;
}

static void committed(struct rbench *b)
{
    memcpy(b->is_in, b->next, sizeof b->is_in);
    b->count = b->next_count;
}

static void run_several(struct rbench *b)
{
    enum err r = cbench_transact(&b->t, several, b);
    if (r != OK) fail_msg("%s", b->t.e.text);
    committed(b);
}

static void fill(struct rbench *b)
{
    b->checks_all = false;
    while (b->count < NUMBERS / 3) run_several(b);
    b->checks_all = true;
}

static void check_committed(struct rbench *b)
{
    enum err r = cbench_read(&b->t, check, b);
    if (r == OK) r = cbench_read(&b->t, check_offset, b);
    if (r != OK) fail_msg("%s", b->t.e.text);
}

static size_t indexes(struct rbench *b)
{
    size_t count = 0;
    (void)counted_indexes_bytes(b->t.all->indexes, &count);
    return count;
}

/* ---- tests ---- */

static void ranks_are_those_of_a_sorted_array(void **state)
{
    static const size_t bytes[] = {1 << 20, 0};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct rbench *b = rbench_open(bytes[i]);
        fill(b);
        b->checks_all = bytes[i] > 0; /* without one, a transaction may not read as much */
        for (int n = 0; n < 60; n++) {
            run_several(b);
            check_committed(b);
            assert_int_equal(indexes(b), bytes[i] > 0);
        }
        rbench_close(b);
    }
}

/* One turn at a time, and a transaction in each. */
static void an_index_is_right_though_commits_went_on_while_it_was_built(void **state)
{
    struct rbench *b = rbench_open(1 << 20);
    struct waiter w = {0};
    (void)state;
    fill(b);
    b->checks_all = false;
    for (int again = 0; again < 10; again++) {
        struct view v = view_reading(b->t.g, NULL, 0, &b->t.arena, &w);
        assert_int_equal(check(&b->t, &v, b), ERR_WAIT);
        waiter_cancel(&w);
        assert_int_equal(indexes(b), 1);
        for (int n = 0; n < 5; n++) {
            run_several(b); /* rows before the place of the walk, and after it */
            if (n % 2 == 0) (void)collections_turn(b->t.all);
        }
        for (int n = 0; n < 20; n++) check_committed(b);
        /* Begun anew. */
        counted_indexes_free(b->t.all->indexes);
        b->t.all->indexes = counted_indexes_new(b->t.g, 1 << 20);
    }
    rbench_close(b);
}

static void an_index_goes_with_its_collection(void **state)
{
    struct rbench *b = rbench_open(1 << 20);
    (void)state;
    fill(b);
    check_committed(b);
    assert_int_equal(indexes(b), 1);
    struct op away = {.kind = OP_DELETE, .key = b->key};
    assert_int_equal(cbench_run(&b->t, 0, &away, 1), OK);
    assert_int_equal(indexes(b), 0);
    memset(b->is_in, 0, sizeof b->is_in);
    b->count = 0;
    fill(b);
    check_committed(b);
    assert_int_equal(indexes(b), 1);
    assert_int_equal(cbench_flush(&b->t, 1, false), OK);
    assert_int_equal(indexes(b), 1);
    assert_int_equal(cbench_flush(&b->t, 0, false), OK);
    assert_int_equal(indexes(b), 0);
    rbench_close(b);
}

/* While it is built, too. */
static void a_walk_ends_with_its_collection(void **state)
{
    struct rbench *b = rbench_open(1 << 20);
    struct waiter w = {0};
    (void)state;
    fill(b);
    struct view v = view_reading(b->t.g, NULL, 0, &b->t.arena, &w);
    assert_int_equal(check(&b->t, &v, b), ERR_WAIT);
    waiter_cancel(&w);
    assert_int_equal(cbench_flush(&b->t, 0, false), OK);
    assert_int_equal(indexes(b), 0);
    assert_false(collections_turn(b->t.all));
    memset(b->is_in, 0, sizeof b->is_in);
    b->count = 0;
    fill(b);
    check_committed(b);
    rbench_close(b);
}

static enum err ask(struct cbench *t, struct view *v, void *arg)
{
    struct collection c;
    struct element out;
    uint64_t rank = 900;
    const struct slice *key = arg;
    enum err r = collection_open(t->all, v, *key, COLLECTION_SET, &c, &t->e);
    return r == OK ? pick_ranks(&c, true, &rank, 1, &out, &t->e) : r;
}

static void the_indexes_used_least_go_when_there_are_too_many(void **state)
{
    struct rbench *b = rbench_open(40000);
    struct slice keys[20];
    (void)state;
    for (unsigned i = 0; i < 20; i++) {
        char name[8];
        clock_set_fake_ms(START_MS + i * 20000LL);
        snprintf(name, sizeof name, "s%u", i);
        keys[i] = cbench_key(&b->t, 0, name);
        cbench_fill(&b->t, keys[i], COLLECTION_SET, 0, 1000);
        assert_int_equal(cbench_read(&b->t, ask, &keys[i]), OK);
    }
    size_t count = 0;
    size_t bytes = counted_indexes_bytes(b->t.all->indexes, &count);
    assert_in_range(count, 2, 10);
    assert_true(bytes <= 40000);
    for (unsigned i = 0; i < 20; i++) assert_int_equal(cbench_read(&b->t, ask, &keys[i]), OK);
    struct collections_options o = {.engine = b->t.g, .counted_bytes = 100, .pack_bytes = 1};
    collections_set_options(b->t.all, &o);
    assert_int_equal(indexes(b), 0);
    assert_int_equal(cbench_read(&b->t, ask, &keys[3]), OK);
    o.counted_bytes = 0;
    collections_set_options(b->t.all, &o);
    assert_int_equal(cbench_read(&b->t, ask, &keys[4]), OK);
    rbench_close(b);
}

/* What is committed is of another incarnation: nothing is to be built. */
static enum err made_and_asked(struct cbench *t, struct overlay *o, void *arg)
{
    struct rbench *b = arg;
    enum err r = OK;
    b->next_count = 0;
    memset(b->next, 0, sizeof b->next);
    b->changes = 3000;
    r = cbench_evaluate(t, o, 0, change, b);
    return r == OK ? cbench_evaluate(t, o, 0, check, b) : r;
}

static void a_collection_that_the_transaction_made_needs_no_index(void **state)
{
    struct rbench *b = rbench_open(1 << 20);
    (void)state;
    assert_int_equal(cbench_transact(&b->t, made_and_asked, b), OK);
    committed(b);
    assert_int_equal(indexes(b), 0);
    check_committed(b);
    assert_int_equal(indexes(b), 1);
    rbench_close(b);
}

/* ---- many questions in one transaction ---- */

static enum err ask_often(struct cbench *t, struct overlay *o, void *arg)
{
    struct rbench *b = arg;
    enum err r = OK;
    memcpy(b->next, b->is_in, sizeof b->next);
    b->next_count = b->count;
    b->changes = 3000;
    r = cbench_evaluate(t, o, 0, change, b);
    size_t held = t->arena.held_bytes;
    for (int i = 0; i < 500 && r == OK; i++) r = cbench_evaluate(t, o, 0, check, b);
    /* What the transaction has written is not copied for each of them. */
    if (r == OK) assert_in_range(t->arena.held_bytes - held, 0, 8 << 20);
    return r;
}

static void a_transaction_that_has_written_much_may_ask_often(void **state)
{
    struct rbench *b = rbench_open(1 << 20);
    (void)state;
    fill(b);
    check_committed(b);
    if (cbench_transact(&b->t, ask_often, b) != OK) fail_msg("%s", b->t.e.text);
    committed(b);
    check_committed(b);
    rbench_close(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_are_those_of_a_sorted_array),
        cmocka_unit_test(an_index_is_right_though_commits_went_on_while_it_was_built),
        cmocka_unit_test(an_index_goes_with_its_collection),
        cmocka_unit_test(a_walk_ends_with_its_collection),
        cmocka_unit_test(the_indexes_used_least_go_when_there_are_too_many),
        cmocka_unit_test(a_collection_that_the_transaction_made_needs_no_index),
        cmocka_unit_test(a_transaction_that_has_written_much_may_ask_often),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
