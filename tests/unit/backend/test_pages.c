/* Tests of pages of the store that are remembered: who asks for something else gets something else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "unit/backend/local_help.h"

#define ROWS 5

/* Every row of database 0, from a scan of this kind. */
static void expect_rows(struct rig *r, bool is_reverse, bool with_values)
{
    struct scan_range range = {.start = key_low(0),
                               .end = key_high(0),
                               .is_reverse = is_reverse,
                               .with_values = with_values};
    struct scan *scan = NULL;
    struct error e;
    struct slice key;
    struct entry entry;
    int rows = 0;
    assert_int_equal(backend_scan_open(r->b, &range, &scan, &e), OK);
    for (; rig_scan_next(r, scan, &key, &entry); rows++) {
        char digit = (char)('0' + (is_reverse ? ROWS - 1 - rows : rows));
        assert_int_equal(key.data[key.len - 1], digit);
        if (!with_values) continue;
        assert_int_equal(entry.value.len, 1);
        assert_int_equal(entry.value.data[0], digit);
    }
    assert_int_equal(rows, ROWS);
    backend_scan_close(scan);
}

/* In each order, so that each kind finds the pages of every other. */
static void a_page_serves_who_asks_for_the_same(void **state)
{
    for (int first = 0; first < 4; first++) {
        struct rig r;
        rig_init(&r);
        r.options.cache_bytes = 16 << 20; /* a share of it is for pages */
        rig_open(&r);
        for (int i = 0; i < ROWS; i++) {
            char digit[2] = {(char)('0' + i), '\0'};
            rig_set(&r, key_of(0, "k%d", i), slice_str(digit));
        }
        rig_apply(&r);
        rig_crash(&r);
        for (int i = 0; i < 8; i++) {
            int kind = (first + i) % 4;
            expect_rows(&r, kind / 2 == 1, kind % 2 == 1);
        }
        rig_fini(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_page_serves_who_asks_for_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
