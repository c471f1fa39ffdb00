/* Tests of script/sort: table.sort with orders that are good, odd, or raise an error; what it
 * refuses; and that a long one is asked about. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "unit/script/script_help.h"

#define SORTED "(function(t, f) table.sort(t, f) return table.concat(t, ',') end)"

static void it_sorts_numbers_and_texts(void **state)
{
    script_is(*state, SORTED "({3, 1, 2})", "1,2,3");
    script_is(*state, SORTED "({10, 9, -1, 9.5})", "-1,9,9.5,10");
    script_is(*state, SORTED "({'b', 'a', 'B', ''})", ",B,a,b");
    script_is(*state,
              SORTED "({})"
                     ", " SORTED "({1})"
                     ", " SORTED "({2, 1})",
              " 1 1,2");
    script_is(*state, SORTED "({1, 1, 1})", "1,1,1");
}

static void it_sorts_by_an_order(void **state)
{
    script_is(*state, SORTED "({3, 1, 2}, function(a, b) return a > b end)", "3,2,1");
    script_is(*state, SORTED "({'ccc', 'a', 'bb'}, function(a, b) return #a < #b end)", "a,bb,ccc");
}

/* All orders of up to 6 elements, some of them equal. */
static void every_order_is_sorted(void **state)
{
    static const char code[] = "local function check(t) "
                               "  local u, was = {}, table.concat(t, ',') "
                               "  for i = 1, #t do u[i] = t[i] end "
                               "  table.sort(u) "
                               "  local sum = 0 "
                               "  for i = 1, #u do "
                               "    sum = sum + 10 ^ u[i] "
                               "    if i > 1 and u[i - 1] > u[i] then error(was) end "
                               "  end "
                               "  for i = 1, #t do sum = sum - 10 ^ t[i] end "
                               "  if sum ~= 0 or #u ~= #t then error(was) end "
                               "end "
                               "local count = 0 "
                               "local function all(t, n, max) "
                               "  if #t == n then check(t) count = count + 1 return end "
                               "  for v = 1, max do t[#t + 1] = v all(t, n, max) t[#t] = nil end "
                               "end "
                               "for n = 0, 6 do all({}, n, n < 3 and 3 or n - 1) end "
                               "return count";
    script_replies(*state, code, ":16751\r\n"); /* 1 + 3 + 9 + 8 + 81 + 1024 + 15625 */
}

static void an_odd_order_loses_nothing(void **state)
{
    static const char code[] =
        "local t = {} for i = 1, 50 do t[i] = i end "
        "table.sort(t, function() return true end) "
        "local flip = false "
        "table.sort(t, function() flip = not flip return flip end) "
        "local seen, count = {}, 0 "
        "for i = 1, 50 do if not seen[t[i]] then seen[t[i]] = true count = count + 1 end end "
        "return {count, #t}";
    script_replies(*state, code, "*2\r\n:50\r\n:50\r\n");
}

static void what_cannot_be_compared_is_an_error(void **state)
{
    script_fails(*state, SORTED "({1, 'a'})", "attempt to compare");
    script_fails(*state, SORTED "({{}, {}})", "attempt to compare two table values");
    script_fails(*state, SORTED "({2, 1}, function() error('odd') end)", "odd");
}

static void what_is_no_table_of_the_scripts_own_is_refused(void **state)
{
    script_fails(*state, "table.sort(5)", "table expected");
    script_fails(*state, "table.sort({2, 1}, 5)", "function expected");
    script_fails(*state, "table.sort(string)", "Attempt to modify a readonly table");
    script_is(*state, SORTED "({2, 1}, nil)", "1,2");
}

static void a_long_one_ends_when_it_is_told(void **state)
{
    struct scripts *t = *state;
    static const char code[] = "local s, t = ('x'):rep(10000), {} "
                               "for i = 1, 400 do t[i] = s .. i end "
                               "pcall(table.sort, t) return 1";
    (void)script_run(t, code);
    assert_int_equal(t->end, SANDBOX_DONE);
    size_t whole = t->asks;
    /* Some 6000 comparisons of 10,000 bytes each: 90 times 10,000 steps. */
    assert_true(whole > 60);
    t->asks_max = whole / 2;
    assert_int_equal(script_run(t, code), SANDBOX_STOPPED);
    assert_int_equal(t->asks, whole / 2 + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, scripts_enter, scripts_leave)
        T(it_sorts_numbers_and_texts),
        T(it_sorts_by_an_order),
        T(every_order_is_sorted),
        T(an_odd_order_loses_nothing),
        T(what_cannot_be_compared_is_an_error),
        T(what_is_no_table_of_the_scripts_own_is_refused),
        T(a_long_one_ends_when_it_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
