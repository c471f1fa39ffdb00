/* scan_cursors: a cursor is found as long as it is kept, by whom it was given to in the same
 * database, and never another's place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "request/feature.h"
#include "request/scan_cursors.h"
#include "request/table.h"

#define KEPT 4096 /* cursors; more are forgotten */

struct bench {
    struct env env;
    struct client client;
    struct request rq;
};

static void open_bench(struct bench *t)
{
    *t = (struct bench){.rq = {.env = &t->env, .client = &t->client}};
    scan_feature.open(&t->env);
}

static uint64_t add(struct bench *t, const char *place)
{
    return scan_cursor_add(&t->rq, slice_str(place));
}

/* NULL when it is refused; good until the next call. */
static const char *look(struct bench *t, uint64_t id)
{
    static char room[64];
    char word[24];
    struct slice place;
    snprintf(word, sizeof word, "%llu", (unsigned long long)id);
    enum err r = scan_cursor_read(&t->rq, slice_str(word), &place);
    if (r != OK) {
        assert_int_equal(r, ERR_SYNTAX);
        assert_string_equal(t->rq.error.text,
                            "invalid cursor: unknown or expired; start again with 0");
        return NULL;
    }
    assert_true(place.len < sizeof room);
    if (place.len > 0) memcpy(room, place.data, place.len);
    room[place.len] = '\0';
    return room;
}

static void a_cursor_has_its_place_however_often_it_is_read(void **state)
{
    struct bench t;
    (void)state;
    open_bench(&t);
    uint64_t a = add(&t, "here");
    uint64_t b = add(&t, "there");
    assert_true(a != b && a != 0 && a < 1ULL << 53);
    for (int i = 0; i < 2; i++) {
        assert_string_equal(look(&t, a), "here");
        assert_string_equal(look(&t, b), "there");
        assert_string_equal(look(&t, 0), "");
    }
    scan_feature.close(&t.env);
}

static void the_oldest_is_forgotten_and_never_another_s_place(void **state)
{
    struct bench t;
    char text[24];
    (void)state;
    open_bench(&t);
    uint64_t first = add(&t, "first");
    uint64_t second = add(&t, "second");
    for (int i = 0; i < KEPT - 2; i++) {
        snprintf(text, sizeof text, "%d", i);
        (void)add(&t, text);
    }
    assert_string_equal(look(&t, first), "first");
    uint64_t last = add(&t, "last");
    assert_null(look(&t, first));
    assert_string_equal(look(&t, second), "second");
    assert_string_equal(look(&t, last), "last");
    assert_null(look(&t, last + 1));
    scan_feature.close(&t.env);
}

static void a_cursor_is_of_its_database(void **state)
{
    struct bench t;
    (void)state;
    open_bench(&t);
    uint64_t a = add(&t, "here");
    t.client.database = 1;
    assert_null(look(&t, a));
    t.client.database = 0;
    assert_string_equal(look(&t, a), "here");
    scan_feature.close(&t.env);
}

static void one_of_before_a_start_is_unknown(void **state)
{
    struct bench t;
    unsigned found = 0;
    (void)state;
    for (int i = 0; i < 8; i++) {
        open_bench(&t);
        uint64_t before = add(&t, "before");
        scan_feature.close(&t.env);
        open_bench(&t);
        (void)add(&t, "after");
        found += look(&t, before) != NULL;
        scan_feature.close(&t.env);
    }
    assert_in_range(found, 0, 1); /* numbers are drawn: the same once in a million */
}

static void what_is_no_number_is_no_cursor(void **state)
{
    static const char *const words[] = {"", "x", "-1", "1x", " 1", "18446744073709551616"};
    struct bench t;
    struct slice place;
    (void)state;
    open_bench(&t);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        assert_int_equal(scan_cursor_read(&t.rq, slice_str(words[i]), &place), ERR_SYNTAX);
        assert_string_equal(t.rq.error.text, "invalid cursor");
        assert_int_equal(place.len, 0);
    }
    assert_null(look(&t, UINT64_MAX));
    scan_feature.close(&t.env);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cursor_has_its_place_however_often_it_is_read),
        cmocka_unit_test(the_oldest_is_forgotten_and_never_another_s_place),
        cmocka_unit_test(a_cursor_is_of_its_database),
        cmocka_unit_test(one_of_before_a_start_is_unknown),
        cmocka_unit_test(what_is_no_number_is_no_cursor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
