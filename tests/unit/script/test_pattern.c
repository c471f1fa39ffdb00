/* Tests of script/pattern: find, match, gmatch and gsub as the manual of Lua 5.1 has them, at their
 * edges; and that what takes long, or is nested too deeply, has an end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "unit/script/script_help.h"

static void classes_match_one_character(void **state)
{
    script_is(*state, "('x1 _'):match('%a%d%s%p')", "x1 _");
    script_is(*state, "('x1'):match('%A'), ('x1'):match('%D')", "1 x");
    script_is(*state, "('a.b'):match('%.'), ('a-b'):match('%-b')", ". -b");
    script_is(*state, "hex(('a\\0b'):match('%z')), ('a\\0b'):match('%Z+$')", "00 b");
    script_is(*state, "hex(('a\\0b'):match('.+'))", "610062");
    script_is(*state, "('9aFg'):match('%x+'), ('Ab'):match('%u%l'), ('_a1'):match('%w+')",
              "9aF Ab a1");
    script_fails(*state, "('a'):find('a%')", "malformed pattern (ends with '%')");
}

static void a_bracket_that_comes_first_is_one_of_the_set(void **state)
{
    script_is(*state, "('a]b'):match('[]]'), ('a]b'):match('[^]]+')", "] a");
    script_is(*state, "('x-z'):match('[a-]'), ('b'):match('[a-c]'), ('-'):match('[a-c]')",
              "- b nil");
    script_is(*state, "('a'):match('[a-a]'), ('c'):match('[a-b]'), ('c'):match('[^a-b]')",
              "a nil c");
    script_is(*state, "('x5'):match('[%d%s]'), (']'):match('[%]]'), ('^'):match('[a^]')", "5 ] ^");
    script_fails(*state, "('a'):find('[]')", "malformed pattern (missing ']')");
    script_fails(*state, "('a'):find('[a%')", "malformed pattern (missing ']')");
    script_fails(*state, "('a'):find('[^')", "malformed pattern (missing ']')");
}

static void repetitions_take_most_or_least(void **state)
{
    script_is(*state, "('aaab'):match('a*'), ('aaab'):match('a-b'), ('aaab'):match('a-')",
              "aaa aaab ");
    script_is(*state, "('b'):match('a+'), ('ab'):match('a+'), ('b'):match('a*b')", "nil a b");
    script_is(*state, "('ab'):match('xa?b'), ('xb'):match('xa?b'), ('xab'):match('xa?b')",
              "nil xb xab");
    script_is(*state, "('xaab'):match('xa?b')", "nil");
    script_is(*state, "('<a><b>'):match('<.->'), ('<a><b>'):match('<.*>')", "<a> <a><b>");
    script_is(*state, "('aa'):match('a*a')", "aa"); /* gives one back */
}

static void anchors_are_for_both_ends(void **state)
{
    script_is(*state, "('ba'):find('^a'), ('ab'):find('^a')", "nil 1 1");
    script_is(*state, "('ab'):find('b$'), ('ab'):find('a$'), ('a$b'):find('$b')", "2 nil 2 3");
    script_is(*state, "('abc'):match('^b', 2), ('a^'):match('a^')", "b a^");
}

static void find_begins_where_it_is_told(void **state)
{
    script_is(*state, "('abcabc'):find('b', 3)", "5 5");
    script_is(*state, "('abcabc'):find('b', 5)", "5 5");
    script_is(*state, "('abcabc'):find('b', -2)", "5 5");
    script_is(*state, "('abcabc'):find('b', -1)", "nil");
    script_is(*state, "('abc'):find('a', -100)", "1 1");
    script_is(*state, "('abc'):find('', 4)", "4 3");
    script_is(*state, "('abc'):find('', 10)", "4 3"); /* as Lua 5.1 */
    script_is(*state, "(''):find('')", "1 0");
    script_is(*state, "('a.c'):find('.', 1, true)", "2 2");
    script_is(*state, "('a.c'):find('c.', 1, true)", "nil");
    script_is(*state, "('a\\0c'):find('\\0c')", "2 3");
}

static void captures_are_texts_and_places(void **state)
{
    script_is(*state, "('key = value'):match('(%w+) = (%w+)')", "key value");
    script_is(*state, "('abc'):find('(b)()')", "2 2 b 3");
    script_is(*state, "('abc'):match('((a)(b))c')", "ab a b");
    script_is(*state, "('abc'):match('()')", "1");
    script_is(*state, "('say \"a\\'b\" x'):match('([\"\\'])(.-)%1')", "\" a'b");
    script_is(*state, "('abab'):match('(ab)%1'), ('aba'):match('(ab)%1')", "ab nil");
    script_is(*state, "('ab'):match('()%1')", "nil");
    script_fails(*state, "('a'):find('(a')", "unfinished capture");
    script_fails(*state, "('a'):match('a)')", "invalid pattern capture");
    script_fails(*state, "('aa'):find('(a%1)')", "invalid capture index");
    script_fails(*state, "('aa'):find('(a)%2')", "invalid capture index");
}

static void there_are_so_many_captures(void **state)
{
    script_is(*state, "#{('a'):match(('()'):rep(32))}", "32");
    script_fails(*state, "('a'):match(('()'):rep(33))", "too many captures");
}

static void what_is_balanced_ends_where_it_was_begun(void **state)
{
    script_is(*state, "('f(a(b)c)d)'):match('%b()')", "(a(b)c)");
    script_is(*state, "('((a)'):match('%b()')", "(a)");
    script_is(*state, "('|a|b|'):match('%b||')", "|a|"); /* what ends comes before what begins */
    script_is(*state, "('(('):match('%b()')", "nil");
    script_fails(*state, "('()'):match('%b(')", "unbalanced pattern");
    script_fails(*state, "('()'):match('%b')", "unbalanced pattern");
}

static void a_frontier_has_the_ends_of_the_subject_too(void **state)
{
    script_is(*state, "('THE (quick) fox'):find('%f[%a]%a+%f[%A]', 2)", "6 10");
    script_is(*state, "('ab'):find('%f[a]'), ('ab'):find('%f[%z]')", "1 3 2");
    script_is(*state, "('aab'):find('%f[a]', 2)", "nil"); /* the one before counts */
    script_fails(*state, "('a'):find('%fa')", "missing '[' after '%f' in pattern");
}

static void gmatch_goes_on_after_an_empty_match(void **state)
{
    script_is(*state,
              "(function() local t = {} for w in ('ab c'):gmatch('%a*') do t[#t + 1] = '<' .. w "
              ".. '>' end return table.concat(t) end)()",
              "<ab><><c><>");
    script_is(*state,
              "(function() local t = {} for k, v in ('a=1,b=2'):gmatch('(%w)=(%w)') do "
              "t[#t + 1] = v .. k end return table.concat(t) end)()",
              "1a2b");
    /* Here, as in Lua 5.1, it is no anchor. */
    script_is(*state, "(('^a'):gmatch('^a')())", "^a");
}

static void gsub_replaces_and_counts(void **state)
{
    script_is(*state, "('abc'):gsub('', '-')", "-a-b-c- 4");
    script_is(*state, "(''):gsub('', '-')", "- 1");
    script_is(*state, "('hello'):gsub('l', 'L', 1)", "heLlo 1");
    script_is(*state, "('hello'):gsub('l', 'L', 0)", "hello 0");
    script_is(*state, "('aaa'):gsub('^a', 'b')", "baa 1");
    script_is(*state, "('aaa'):gsub('^b', 'b')", "aaa 0");
    script_is(*state, "('ab'):gsub('%w', '%0%0')", "aabb 2");
    script_is(*state, "('ab'):gsub('%w', '<%1>')", "<a><b> 2"); /* no capture: all of it */
    script_is(*state, "('a b'):gsub('(%w) (%w)', '%2 %1%%')", "b a% 1");
    script_is(*state, "('abc'):gsub('b*', 'x')", "xaxxcx 4"); /* as Lua 5.1 */
    script_is(*state, "('a1b'):gsub('%d', 7)", "a7b 1");
    script_fails(*state, "('ab'):gsub('(a)', '%2')", "invalid capture index");
    script_fails(*state, "('ab'):gsub('a')", "string/function/table expected");
}

static void gsub_asks_a_table_or_a_function(void **state)
{
    script_is(*state, "('$a $b'):gsub('%$(%w)', {a = 'x', b = false})", "x $b 2");
    script_is(*state, "('a b'):gsub('%w', function(c) if c == 'a' then return c .. c end end)",
              "aa b 2");
    script_is(*state, "('ab'):gsub('()', function(at) return at end)", "1a2b3 3");
    script_fails(*state, "('a'):gsub('a', function() return {} end)",
                 "invalid replacement value (a table)");
    script_fails(*state, "('a'):gsub('a', {a = true})", "invalid replacement value (a boolean)");
}

static void what_is_nested_has_a_bound(void **state)
{
    script_is(*state, "#(('a'):rep(999)):match(('a?'):rep(999))", "999");
    script_fails(*state, "(('a'):rep(1000)):match(('a?'):rep(1000))", "pattern too complex");
    /* What was left before does not count. */
    script_is(*state, "(('a'):rep(3000) .. 'b'):match('a?b')", "ab");
}

static void a_pattern_that_takes_long_is_asked_about(void **state)
{
    struct scripts *t = *state;
    t->asks_max = 50;
    assert_int_equal(script_run(t, "return (('a'):rep(300)):find('a*a*a*a*a*b')"), SANDBOX_STOPPED);
    assert_int_equal(t->asks, 51); /* and not again */
    assert_int_equal(t->out.len, 0);
    t->asks_max = SIZE_MAX;
    script_is(t, "('ab'):find('b')", "2 2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, scripts_enter, scripts_leave)
        T(classes_match_one_character),
        T(a_bracket_that_comes_first_is_one_of_the_set),
        T(repetitions_take_most_or_least),
        T(anchors_are_for_both_ends),
        T(find_begins_where_it_is_told),
        T(captures_are_texts_and_places),
        T(there_are_so_many_captures),
        T(what_is_balanced_ends_where_it_was_begun),
        T(a_frontier_has_the_ends_of_the_subject_too),
        T(gmatch_goes_on_after_an_empty_match),
        T(gsub_replaces_and_counts),
        T(gsub_asks_a_table_or_a_function),
        T(what_is_nested_has_a_bound),
        T(a_pattern_that_takes_long_is_asked_about),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
