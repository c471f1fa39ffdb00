/* list: against a plain array, with thousands of elements: ends, places, holes, elements between
 * others until there is no room, and trims that move what stays. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/random.h"
#include "collection/list.h"
#include "unit/collection/collection_help.h"

#define MODEL_MAX 60000

/* An array of values, each a number; what a change does is done to it when it is committed. */
struct lbench {
    struct cbench t;
    struct slice key;
    struct rng rng;
    unsigned *items;
    unsigned count;
    unsigned next; /* value */
};

/* One change of the list. */
struct step {
    enum {
        PUSH,
        POP,
        SET_AT,
        REMOVE,
        INSERT,
        TRIM,
    } what;
    struct lbench *b;
    bool at_head; /* also: before the pivot */
    unsigned count, at, upto;
    unsigned value, pivot;
    /* results */
    bool found;
    uint64_t removed;
    enum err error;
};

static struct lbench *lbench_open(size_t pack_bytes)
{
    struct lbench *b = calloc(1, sizeof *b);
    assert_non_null(b);
    b->items = calloc(MODEL_MAX, sizeof *b->items);
    assert_non_null(b->items);
    cbench_open(&b->t, pack_bytes);
    b->key = cbench_key(&b->t, 0, "list");
    rng_init(&b->rng, 3);
    return b;
}

static void lbench_close(struct lbench *b)
{
    cbench_close(&b->t);
    free(b->items);
    free(b);
}

static unsigned below(struct lbench *b, unsigned n)
{
    return (unsigned)rng_below(&b->rng, n);
}

static struct slice text(struct lbench *b, unsigned value)
{
    return cbench_text(&b->t, "%u", value);
}

/* ---- the list ---- */

static enum err pop(struct step *s, struct collection *c)
{
    struct lbench *b = s->b;
    struct slice *out = NULL;
    enum err r = list_pop(c, s->at_head, s->count, &out, &b->t.e);
    for (unsigned i = 0; i < s->count && r == OK; i++) {
        unsigned at = s->at_head ? i : b->count - 1 - i;
        assert_true(slice_eq(out[i], text(b, b->items[at])));
    }
    return r;
}

static enum err do_step(struct cbench *t, struct view *v, void *arg)
{
    struct step *s = arg;
    struct lbench *b = s->b;
    struct collection c;
    enum err r = collection_open(t->all, v, b->key, COLLECTION_LIST, &c, &t->e);
    if (r != OK) return r;
    assert_int_equal(c.head.count, b->count);
    switch (s->what) {
    case PUSH:
        for (unsigned i = 0; i < s->count && r == OK; i++) {
            r = list_push(&c, s->at_head, text(b, s->value + i), &t->e);
        }
        break;
    case POP: r = pop(s, &c); break;
    case SET_AT: r = list_set(&c, s->at, text(b, s->value), &t->e); break;
    case REMOVE:
        r = list_remove(&c, text(b, s->value), !s->at_head, s->count, &s->removed, &t->e);
        break;
    case INSERT:
        for (unsigned i = 0; i < s->count && r == OK; i++) {
            r = list_insert(&c, s->at_head, text(b, s->pivot), text(b, s->value + i), &s->found,
                            &t->e);
        }
        break;
    case TRIM: r = list_trim(&c, s->at, s->upto, &t->e); break;
    }
    return r == OK ? collection_save(&c, &t->e) : r;
}

/* ---- the array ---- */

static void array_insert(struct lbench *b, unsigned at, unsigned value)
{
    assert_true(b->count < MODEL_MAX);
    memmove(&b->items[at + 1], &b->items[at], (b->count - at) * sizeof *b->items);
    b->items[at] = value;
    b->count++;
}

static void array_take(struct lbench *b, unsigned at, unsigned count)
{
    b->count -= count;
    memmove(&b->items[at], &b->items[at + count], (b->count - at) * sizeof *b->items);
}

static unsigned array_remove(struct lbench *b, const struct step *s)
{
    unsigned removed = 0;
    unsigned max = s->count == 0 ? UINT32_MAX : s->count;
    if (s->at_head) {
        for (unsigned i = 0; i < b->count && removed < max;) {
            bool is_one = b->items[i] == s->value;
            if (is_one) array_take(b, i, 1);
            removed += is_one;
            i += !is_one;
        }
        return removed;
    }
    for (unsigned i = b->count; i-- > 0 && removed < max;) {
        if (b->items[i] != s->value) continue;
        array_take(b, i, 1);
        removed++;
    }
    return removed;
}

static void array_step(const struct step *s)
{
    struct lbench *b = s->b;
    unsigned at = 0;
    switch (s->what) {
    case PUSH:
        for (unsigned i = 0; i < s->count; i++) {
            array_insert(b, s->at_head ? 0 : b->count, s->value + i);
        }
        return;
    case POP: array_take(b, s->at_head ? 0 : b->count - s->count, s->count); return;
    case SET_AT: b->items[s->at] = s->value; return;
    case REMOVE: assert_int_equal(array_remove(b, s), s->removed); return;
    case INSERT:
        for (unsigned i = 0; i < s->count; i++) {
            for (at = 0; at < b->count && b->items[at] != s->pivot;) at++;
            assert_int_equal(s->found, at < b->count);
            if (s->found) array_insert(b, s->at_head ? at : at + 1, s->value + i);
        }
        return;
    case TRIM:
        array_take(b, s->upto, b->count - s->upto);
        array_take(b, 0, s->at);
        return;
    }
}

static void run(struct lbench *b, struct step s)
{
    s.b = b;
    if (cbench_commit(&b->t, do_step, &s) != OK) fail_msg("%s", b->t.e.text);
    array_step(&s);
}

/* ---- comparing ---- */

struct window {
    struct lbench *b;
    unsigned from, upto;
};

static enum err read_window(struct cbench *t, struct view *v, void *arg)
{
    const struct window *w = arg;
    struct walk_range range = {.is_reverse = false};
    struct element_walk walk = {0};
    struct collection c;
    struct element x;
    struct slice one;
    bool is_end = false;
    enum err r = collection_open(t->all, v, w->b->key, COLLECTION_LIST, &c, &t->e);
    if (r != OK) return r;
    assert_int_equal(c.head.count, w->b->count);
    if (w->from == w->upto) return OK;
    r = list_range(&c, w->from, w->upto, &range, &t->e);
    if (r == OK) r = element_walk_begin(&walk, &c, &range, &t->e);
    for (unsigned i = w->from; i < w->upto && r == OK; i++) {
        r = element_walk_next(&walk, &x, &is_end, &t->e);
        if (r != OK) break;
        assert_false(is_end);
        if (!slice_eq(x.value, text(w->b, w->b->items[i]))) {
            fail_msg("%.*s at %u", (int)x.value.len, (const char *)x.value.data, i);
        }
    }
    element_walk_end(&walk);
    if (r == OK) r = list_get(&c, w->from, &one, &t->e);
    if (r == OK) assert_true(slice_eq(one, text(w->b, w->b->items[w->from])));
    return r;
}

static void compare(struct lbench *b, unsigned from, unsigned upto)
{
    struct window w = {.b = b, .from = from, .upto = upto};
    if (cbench_read(&b->t, read_window, &w) != OK) fail_msg("%s", b->t.e.text);
}

static void compare_all(struct lbench *b)
{
    compare(b, 0, b->count);
    for (int i = 0; i < 10 && b->count > 0; i++) {
        unsigned from = below(b, b->count);
        unsigned more = b->count - from;
        compare(b, from, from + (more < 5 ? more : 5));
    }
    cbench_audit(&b->t);
}

static void push(struct lbench *b, bool at_head, unsigned count)
{
    run(b, (struct step){.what = PUSH, .at_head = at_head, .count = count, .value = b->next});
    b->next += count;
}

/* ---- tests ---- */

static void step_any(struct lbench *b)
{
    unsigned what = below(b, 20);
    unsigned place = b->count > 0 ? below(b, b->count) : 0;
    if (b->count == 0 || what < 6) {
        push(b, below(b, 2) == 0, 1 + below(b, 200));
    } else if (what < 10) {
        unsigned most = b->count < 150 ? b->count : 150;
        run(b,
            (struct step){.what = POP, .at_head = below(b, 2) == 0, .count = 1 + below(b, most)});
    } else if (what < 13) {
        /* A value that another has too. */
        run(b, (struct step){.what = SET_AT, .at = place, .value = b->items[below(b, b->count)]});
    } else if (what < 16) {
        run(b, (struct step){.what = REMOVE,
                             .at_head = below(b, 2) == 0,
                             .count = below(b, 3),
                             .value = below(b, 9) == 0 ? b->next : b->items[place]});
    } else if (what < 19) {
        run(b, (struct step){.what = INSERT,
                             .at_head = below(b, 2) == 0,
                             .count = 1,
                             .pivot = below(b, 9) == 0 ? b->next + 1 : b->items[place],
                             .value = b->next});
        b->next++;
    } else {
        unsigned from = below(b, b->count / 4 + 1);
        run(b,
            (struct step){.what = TRIM, .at = from, .upto = b->count - below(b, b->count / 4 + 1)});
    }
}

static void a_list_is_an_array(void **state)
{
    static const size_t pack_bytes[] = {PACK_BYTES_DEFAULT, 0};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct lbench *b = lbench_open(pack_bytes[i]);
        for (int n = 0; n < 500; n++) {
            step_any(b);
            if (n % 5 == 0) compare_all(b);
            if (n % 100 == 99) {
                cbench_restart(&b->t);
                compare_all(b);
            }
        }
        cbench_audit_clean(&b->t);
        lbench_close(b);
    }
}

static void pops_leave_no_holes(void **state)
{
    struct lbench *b = lbench_open(0);
    struct collection_head h;
    (void)state;
    push(b, true, 300);
    push(b, false, 300);
    run(b, (struct step){.what = POP, .at_head = true, .count = 200});
    run(b, (struct step){.what = POP, .count = 200});
    push(b, true, 10);
    assert_true(cbench_is_spread(&b->t, b->key, &h));
    assert_false(h.is_holey);
    assert_int_equal(h.end - h.first, h.count * LIST_STEP);
    compare_all(b);
    run(b, (struct step){.what = REMOVE, .value = b->items[5], .at_head = true, .count = 1});
    assert_true(cbench_is_spread(&b->t, b->key, &h));
    assert_true(h.is_holey);
    compare_all(b);
    run(b, (struct step){.what = POP, .at_head = true, .count = b->count});
    assert_false(cbench_stored(&b->t, b->key).exists);
    assert_int_equal(cbench_audit_clean(&b->t), 0);
    lbench_close(b);
}

/* Always between the same two: the room between them is halved, then 64 are moved, then all. */
static void insert_thousands(bool at_head, unsigned length, unsigned pivot, unsigned times)
{
    struct lbench *b = lbench_open(0);
    push(b, false, length);
    for (unsigned n = 0; n < times; n += 10) {
        run(b,
            (struct step){
                .what = INSERT, .at_head = at_head, .count = 10, .pivot = pivot, .value = b->next});
        b->next += 10;
        if (n % 500 == 0) compare(b, 0, b->count);
    }
    compare_all(b);
    cbench_audit_clean(&b->t);
    push(b, true, 3);
    push(b, false, 3);
    compare_all(b);
    lbench_close(b);
}

static void thousands_fit_at_one_place_of_a_short_list(void **state)
{
    (void)state;
    insert_thousands(true, 200, 100, 1200);
    insert_thousands(false, 200, 100, 1200);
    insert_thousands(false, 200, 195, 1200); /* fewer than 64 are behind it */
    insert_thousands(true, 200, 199, 1200);
    insert_thousands(true, 200, 0, 200);
    insert_thousands(false, 200, 199, 200);
}

static void a_long_list_has_room_until_it_says_so(void **state)
{
    struct lbench *b = lbench_open(0);
    struct step s = {.what = INSERT, .b = b, .count = 50, .pivot = 5};
    enum err r = OK;
    unsigned times = 0;
    (void)state;
    for (int i = 0; i < 3; i++) push(b, false, LIST_TRIM_ROWS / 2);
    s.value = b->next;
    for (; times < 400 && r == OK; times++) {
        r = cbench_commit(&b->t, do_step, &s);
        if (r == OK) array_step(&s);
    }
    assert_int_equal(r, ERR_LIMIT);
    assert_non_null(strstr(b->t.e.text, "no room between two elements"));
    assert_true(times * s.count > 500);
    compare_all(b);
    /* Elsewhere there is room. */
    run(b, (struct step){.what = INSERT, .count = 1, .pivot = 20000, .value = b->next});
    compare_all(b);
    lbench_close(b);
}

static void a_trim_of_few_keeps_the_incarnation_one_of_many_does_not(void **state)
{
    struct lbench *b = lbench_open(0);
    struct collection_head h;
    struct collection_head now;
    (void)state;
    for (int i = 0; i < 5; i++) push(b, false, 10000);
    assert_true(cbench_is_spread(&b->t, b->key, &h));
    run(b, (struct step){.what = TRIM, .at = 300, .upto = b->count - 200});
    assert_true(cbench_is_spread(&b->t, b->key, &now));
    assert_memory_equal(h.incarnation, now.incarnation, INCARNATION_ID_BYTES);
    compare_all(b);
    struct step much = {.what = TRIM, .b = b, .at = 12000, .upto = b->count - 12000};
    assert_int_equal(cbench_commit(&b->t, do_step, &much), ERR_LIMIT);
    compare(b, 0, 10);
    run(b, (struct step){.what = TRIM, .at = 20000, .upto = b->count - 10000});
    assert_true(cbench_is_spread(&b->t, b->key, &now));
    assert_memory_not_equal(h.incarnation, now.incarnation, INCARNATION_ID_BYTES);
    compare_all(b);
    assert_int_equal(cbench_audit_clean(&b->t), 1);
    run(b, (struct step){.what = TRIM, .at = 5, .upto = 5});
    assert_int_equal(cbench_audit_clean(&b->t), 0);
    lbench_close(b);
}

static void a_trim_keeps_the_expiry(void **state)
{
    struct lbench *b = lbench_open(0);
    (void)state;
    for (int i = 0; i < 3; i++) push(b, false, 10000);
    struct op expire = {
        .kind = OP_EXPIRE, .key = b->key, .ttl = TTL_AT, .ttl_ms = START_MS + 100000};
    assert_int_equal(cbench_run(&b->t, 0, &expire, 1), OK);
    run(b, (struct step){.what = TRIM, .at = 0, .upto = 100});
    assert_true(cbench_stored(&b->t, b->key).expiry_ms == START_MS + 100000);
    run(b, (struct step){.what = TRIM, .at = 0, .upto = 10});
    assert_true(cbench_stored(&b->t, b->key).expiry_ms == START_MS + 100000);
    lbench_close(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_is_an_array),
        cmocka_unit_test(pops_leave_no_holes),
        cmocka_unit_test(thousands_fit_at_one_place_of_a_short_list),
        cmocka_unit_test(a_long_list_has_room_until_it_says_so),
        cmocka_unit_test(a_trim_of_few_keeps_the_incarnation_one_of_many_does_not),
        cmocka_unit_test(a_trim_keeps_the_expiry),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
