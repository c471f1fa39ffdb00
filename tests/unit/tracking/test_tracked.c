#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "backend/backend.h"
#include "tracking/tracked.h"

struct reader {
    struct tracker tracker; /* first */
    const char *name;
};

static char told[1000]; /* "<reader>:<key>@<version> ..." */

static struct slice key_of(uint16_t database, const char *name)
{
    static uint8_t bytes[8][64];
    static int at;
    uint8_t *p = bytes[at++ % 8];
    size_t len = strlen(name);
    memcpy(key_head_write(p, database, 1), name, len);
    return slice_of(p, KEY_HEAD_BYTES + len);
}

static void tell(void *arg, struct tracker *who, struct slice key, uint64_t version)
{
    const struct reader *r = (const struct reader *)who;
    size_t len = strlen(told);
    (void)arg;
    snprintf(told + len, sizeof told - len, "%s:%.*s@%d ", r->name, (int)(key.len - KEY_HEAD_BYTES),
             (const char *)key.data + KEY_HEAD_BYTES, (int)version);
}

static const char *tell_some(struct tracked *t, size_t work)
{
    told[0] = '\0';
    (void)tracked_tell(t, &work, tell, NULL);
    return told;
}

static void drop(struct tracked *t, struct reader *r)
{
    size_t all = SIZE_MAX;
    assert_true(tracked_drop(t, &r->tracker, &all));
    assert_int_equal(r->tracker.count, 0);
    assert_int_equal(r->tracker.bytes, 0);
}

static void a_change_is_told_once_to_all_who_have_read(void **state)
{
    struct tracked *t = tracked_new();
    struct reader a = {.name = "a"};
    struct reader b = {.name = "b"};
    assert_true(tracked_add(t, &a.tracker, key_of(0, "x")));
    assert_false(tracked_add(t, &a.tracker, key_of(0, "x")));
    assert_true(tracked_add(t, &b.tracker, key_of(0, "x")));
    assert_false(tracked_add(t, &a.tracker, key_of(0, "x")));
    assert_true(tracked_add(t, &b.tracker, key_of(0, "y")));
    assert_true(tracked_add(t, &a.tracker, key_of(1, "x")));
    assert_int_equal(tracked_keys(t), 3);
    assert_int_equal(tracked_items(t), 4);
    tracked_change(t, key_of(0, "x"), 7, NULL);
    tracked_change(t, key_of(0, "x"), 8, NULL);
    tracked_change(t, key_of(0, "z"), 8, NULL);
    assert_int_equal(tracked_keys(t), 2);
    assert_string_equal(tell_some(t, 10), "b:x@7 a:x@7 ");
    assert_string_equal(tell_some(t, 10), "");
    assert_int_equal(tracked_items(t), 2);
    drop(t, &a);
    drop(t, &b);
    assert_int_equal(tracked_keys(t), 0);
    tracked_free(t);
}

static void telling_stops_when_the_work_is_done(void **state)
{
    struct tracked *t = tracked_new();
    struct reader a = {.name = "a"};
    struct reader b = {.name = "b"};
    size_t work = 1;
    (void)tracked_add(t, &a.tracker, key_of(0, "x"));
    (void)tracked_add(t, &b.tracker, key_of(0, "x"));
    tracked_change(t, key_of(0, "x"), 7, NULL);
    (void)tracked_add(t, &b.tracker, key_of(0, "x")); /* read anew */
    told[0] = '\0';
    assert_false(tracked_tell(t, &work, tell, NULL));
    assert_string_equal(told, "b:x@7 ");
    drop(t, &a); /* goes before it is told */
    assert_string_equal(tell_some(t, 10), "");
    tracked_change(t, key_of(0, "x"), 9, NULL);
    assert_string_equal(tell_some(t, 10), "b:x@9 ");
    tracked_free(t);
}

static void who_keeps_a_key_is_not_told_and_stays(void **state)
{
    struct tracked *t = tracked_new();
    struct reader a = {.name = "a"};
    struct reader b = {.name = "b"};
    (void)tracked_add(t, &a.tracker, key_of(0, "x"));
    tracked_change(t, key_of(0, "x"), 1, &a.tracker);
    assert_string_equal(tell_some(t, 10), "");
    (void)tracked_add(t, &b.tracker, key_of(0, "x"));
    tracked_change(t, key_of(0, "x"), 2, &a.tracker);
    assert_string_equal(tell_some(t, 10), "b:x@2 ");
    tracked_change(t, key_of(0, "x"), 3, &b.tracker);
    assert_string_equal(tell_some(t, 10), "a:x@3 ");
    tracked_free(t);
}

static void the_oldest_keys_go_first(void **state)
{
    struct tracked *t = tracked_new();
    struct reader a = {.name = "a"};
    size_t work = 100;
    (void)tracked_add(t, &a.tracker, key_of(0, "x"));
    (void)tracked_add(t, &a.tracker, key_of(0, "y"));
    (void)tracked_add(t, &a.tracker, key_of(2, "z"));
    tracked_bound(t, 2, 2, &work); /* not the one that has just been read */
    assert_string_equal(tell_some(t, 10), "a:x@0 ");
    tracked_bound(t, 2, 0, &work);
    assert_string_equal(tell_some(t, 10), "a:y@0 a:z@0 ");
    assert_int_equal(work, 97);
    assert_int_equal(tracked_keys(t), 0);
    (void)tracked_add(t, &a.tracker, key_of(2, "x"));
    (void)tracked_add(t, &a.tracker, key_of(2, "y"));
    (void)tracked_add(t, &a.tracker, key_of(2, "z"));
    tracked_bound(t, 2, 1, &work);
    assert_string_equal(tell_some(t, 10), "a:x@0 a:y@0 ");
    drop(t, &a);
    tracked_free(t);
}

static void a_flush_forgets_a_database(void **state)
{
    struct tracked *t = tracked_new();
    struct reader a = {.name = "a"};
    struct reader b = {.name = "b"};
    size_t work = 1;
    (void)tracked_add(t, &a.tracker, key_of(0, "x"));
    (void)tracked_add(t, &b.tracker, key_of(0, "x"));
    (void)tracked_add(t, &a.tracker, key_of(0, "y"));
    (void)tracked_add(t, &a.tracker, key_of(1, "z"));
    tracked_flush(t, 0);
    tracked_flush(t, 0);
    tracked_flush(t, 9);
    assert_int_equal(tracked_keys(t), 1);
    tracked_change(t, key_of(0, "x"), 1, NULL);
    (void)tracked_add(t, &a.tracker, key_of(0, "x"));
    assert_false(tracked_tell(t, &work, tell, NULL));
    drop(t, &b);
    tracked_change(t, key_of(0, "x"), 2, NULL);
    assert_string_equal(tell_some(t, 100), "a:x@2 ");
    assert_int_equal(tracked_items(t), 1);
    drop(t, &a);
    tracked_flush(t, 1);
    tracked_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_change_is_told_once_to_all_who_have_read),
        cmocka_unit_test(telling_stops_when_the_work_is_done),
        cmocka_unit_test(who_keeps_a_key_is_not_told_and_stays),
        cmocka_unit_test(the_oldest_keys_go_first),
        cmocka_unit_test(a_flush_forgets_a_database),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
