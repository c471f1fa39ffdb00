/* id_window: random use in two databases against an array; the order after a start; a flush. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "engine/id_window.h"

#define IDS 200
#define STEPS 20000

struct model {
    char text[2][IDS][24];
    int64_t time_ms[2][IDS]; /* 0: not there */
};

static void model_init(struct model *m)
{
    memset(m, 0, sizeof *m);
    for (int d = 0; d < 2; d++) {
        for (int i = 0; i < IDS; i++) snprintf(m->text[d][i], 24, "%c%cid %d", 0, d, i);
    }
}

static struct slice key_of(const struct model *m, int d, int i)
{
    return slice_of(m->text[d][i], 5 + strlen(m->text[d][i] + 5));
}

/* Every id of the model is there with its time, none beside, and the oldest comes first. */
static void compare(const struct id_window *w, const struct model *m)
{
    size_t count = 0;
    for (int d = 0; d < 2; d++) {
        size_t listed = 0;
        int64_t last_ms = 0;
        for (const struct id_entry *x = id_window_oldest(w, (uint8_t)d); x != NULL; x = x->next) {
            assert_true(x->time_ms >= last_ms);
            last_ms = x->time_ms;
            listed++;
        }
        for (int i = 0; i < IDS; i++) {
            const struct id_entry *x = id_window_find(w, key_of(m, d, i));
            assert_int_equal(x != NULL, m->time_ms[d][i] != 0);
            if (x == NULL) continue;
            assert_int_equal(x->time_ms, m->time_ms[d][i]);
            listed--;
            count++;
        }
        assert_int_equal(listed, 0);
    }
    assert_int_equal(w->count, count);
}

static void a_window_agrees_with_an_array(void **state)
{
    struct id_window w;
    struct model m;
    struct rng r;
    rng_init(&r, 7);
    id_window_init(&w);
    model_init(&m);
    for (int64_t now_ms = 1; now_ms <= STEPS; now_ms++) {
        int d = (int)rng_below(&r, 2);
        int i = (int)rng_below(&r, IDS);
        if (rng_below(&r, 1000) == 0) {
            id_window_forget(&w, (uint8_t)d);
            memset(m.time_ms[d], 0, sizeof m.time_ms[d]);
        } else if (rng_below(&r, 3) == 0) {
            id_window_remove(&w, key_of(&m, d, i));
            m.time_ms[d][i] = 0;
        } else {
            id_window_put(&w, key_of(&m, d, i), now_ms);
            m.time_ms[d][i] = now_ms;
        }
        if (now_ms % 50 == 0) compare(&w, &m);
        if (now_ms % 100 == 0) id_window_free_dropped(&w, 3);
    }
    id_window_fini(&w);
}

static void ids_put_in_the_order_of_their_keys_are_sorted_by_time(void **state)
{
    struct id_window w;
    struct model m;
    id_window_init(&w);
    model_init(&m);
    for (int i = 0; i < IDS; i++) {
        m.time_ms[1][i] = 1 + (i * 77) % IDS;
        id_window_put(&w, key_of(&m, 1, i), m.time_ms[1][i]);
    }
    id_window_sort(&w, 1);
    id_window_sort(&w, 0);
    compare(&w, &m);
    id_window_put(&w, key_of(&m, 1, 5), 1000);
    m.time_ms[1][5] = 1000;
    compare(&w, &m);
    id_window_fini(&w);
}

static void what_a_flush_forgot_is_freed_a_few_at_a_time(void **state)
{
    struct id_window w;
    struct model m;
    size_t left = 0;
    id_window_init(&w);
    model_init(&m);
    for (int i = 0; i < 30; i++) id_window_put(&w, key_of(&m, 0, i), 1);
    id_window_put(&w, key_of(&m, 1, 0), 1);
    m.time_ms[1][0] = 1;
    id_window_forget(&w, 0);
    id_window_forget(&w, 0);
    compare(&w, &m);
    id_window_free_dropped(&w, 10);
    for (const struct id_entry *x = w.dropped; x != NULL; x = x->next) left++;
    assert_int_equal(left, 20);
    id_window_free_dropped(&w, 20);
    assert_null(w.dropped);
    compare(&w, &m);
    id_window_fini(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_window_agrees_with_an_array),
        cmocka_unit_test(ids_put_in_the_order_of_their_keys_are_sorted_by_time),
        cmocka_unit_test(what_a_flush_forgot_is_freed_a_few_at_a_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
