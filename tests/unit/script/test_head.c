/* Tests of script/head: the first line of a script or a library: what it may have, where the code
 * begins, and what is said of one that is wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "script/sandbox.h"

static struct script_head read_head(const char *code, bool takes_name)
{
    struct script_head h;
    struct error e;
    if (script_head_read(slice_str(code), takes_name, &h, &e) != OK) fail_msg("%s", e.text);
    return h;
}

static void refused(const char *code, bool takes_name, const char *text)
{
    struct script_head h;
    struct error e;
    assert_int_equal(script_head_read(slice_str(code), takes_name, &h, &e), ERR_SYNTAX);
    assert_string_equal(e.text, text);
}

static void a_script_needs_no_head(void **state)
{
    static const char *const codes[] = {"", "#", "return 1", " #!lua\nreturn 1", "!#lua\n"};
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        struct script_head h = read_head(codes[i], false);
        assert_int_equal(h.flags, 0);
        assert_int_equal(h.code_at, 0);
        assert_null(h.name.data);
    }
}

/* The line's end stays, so that what follows is line 2. */
static void code_begins_at_the_end_of_the_line(void **state)
{
    assert_int_equal(read_head("#!lua\nreturn 1", false).code_at, 5);
    assert_int_equal(read_head("#!lua\n", false).code_at, 5);
    assert_int_equal(read_head("#!lua\r\nreturn 1", false).code_at, 6);
    assert_int_equal(read_head("#!lua  flags=no-writes \nx\n", false).code_at, 23);
    refused("#!lua", false, "Invalid script shebang");
    refused("#!", true, "Invalid script shebang");
}

static void flags_are_a_list(void **state)
{
    assert_int_equal(read_head("#!lua flags=no-writes\n", false).flags, SCRIPT_NO_WRITES);
    assert_int_equal(read_head("#!lua flags=allow-oom,no-cluster\n", false).flags,
                     SCRIPT_ALLOW_OOM | SCRIPT_NO_CLUSTER);
    assert_int_equal(read_head("#!lua flags=allow-stale,\n", false).flags, SCRIPT_ALLOW_STALE);
    assert_int_equal(read_head("#!lua flags=allow-cross-slot-keys\r\n", false).flags,
                     SCRIPT_CROSS_SLOTS);
    assert_int_equal(read_head("#!lua flags=\n", false).flags, 0);
    assert_int_equal(read_head("#!lua flags=no-writes flags=allow-oom\n", false).flags,
                     SCRIPT_NO_WRITES | SCRIPT_ALLOW_OOM);
    refused("#!lua flags=no-write\n", false, "Unexpected flag in script shebang: no-write");
    refused("#!lua flags=no-writes,,allow-oom\n", false, "Unexpected flag in script shebang: ");
    refused("#!lua flags=NO-WRITES\n", false, "Unexpected flag in script shebang: NO-WRITES");
}

static void flags_of_other_servers_say_nothing(void **state)
{
    unsigned flags = SCRIPT_ALLOW_OOM;
    assert_true(script_flag_add(slice_str("allow-key-locking"), &flags));
    assert_true(script_flag_add(slice_str("allow-undeclared-keys"), &flags));
    assert_true(script_flag_add(slice_str("disable-atomicity"), &flags));
    assert_int_equal(flags, SCRIPT_ALLOW_OOM);
    assert_false(script_flag_add(slice_str(""), &flags));
    assert_false(script_flag_add(slice_str("no-writes "), &flags));
    for (unsigned i = 0; i < SCRIPT_FLAGS; i++) {
        flags = 0;
        assert_true(script_flag_add(slice_str(script_flag_names[i]), &flags));
        assert_int_equal(flags, 1u << i);
    }
    assert_null(script_flag_names[SCRIPT_FLAGS]);
}

static void a_library_has_a_name(void **state)
{
    struct script_head h = read_head("#!lua name=my.lib flags=no-writes\n", true);
    assert_true(slice_eq(h.name, slice_str("my.lib")));
    assert_int_equal(h.flags, SCRIPT_NO_WRITES);
    h = read_head("#!lua name=\n", true); /* it has one, which its reader may refuse */
    assert_non_null(h.name.data);
    assert_int_equal(h.name.len, 0);
    assert_null(read_head("#!lua\n", true).name.data);
    assert_true(slice_eq(read_head("#!lua name=a\r\n", true).name, slice_str("a")));
    assert_true(slice_eq(read_head("#!lua name=\"a\n", true).name, slice_str("\"a")));
    assert_true(slice_eq(read_head("#!lua name=\"a\"\n", true).name, slice_str("a")));
    assert_true(slice_eq(read_head("#!lua name='a'\n", true).name, slice_str("a")));
    refused("#!lua name=a name=a\n", true,
            "Invalid metadata value, name argument was given multiple times");
    refused("#!lua name=a\n", false, "Unknown lua shebang option: name=a");
    refused("#!lua nam=a\n", true, "Invalid metadata value given: nam=a");
}

static void another_language_is_refused(void **state)
{
    refused("#!js name=a\n", true, "Engine 'js' not found");
    refused("#!\n", true, "Engine '' not found");
    refused("#!luau\n", false, "Unexpected engine in script shebang: #!luau");
    assert_int_equal(read_head("#!Lua name=a\n", true).code_at, 12);
    refused("#!Lua\n", false, "Unexpected engine in script shebang: #!Lua");
}

static void what_is_wrong_is_shown_up_to_64_bytes(void **state)
{
#define TEN "aaaaaaaaaa"
#define SIXTY TEN TEN TEN TEN TEN TEN
    refused("#!" SIXTY "bbbbc\n", true, "Engine '" SIXTY "bbbb' not found");
    refused("#!" SIXTY "bb\n", true, "Engine '" SIXTY "bb' not found");
    refused("#!lua flags=" SIXTY "bbbbc\n", true,
            "Unexpected flag in script shebang: " SIXTY "bbbb");
    refused("#!lua " SIXTY "bbbbc\n", false, "Unknown lua shebang option: " SIXTY "bbbb");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_script_needs_no_head),
        cmocka_unit_test(code_begins_at_the_end_of_the_line),
        cmocka_unit_test(flags_are_a_list),
        cmocka_unit_test(flags_of_other_servers_say_nothing),
        cmocka_unit_test(a_library_has_a_name),
        cmocka_unit_test(another_language_is_refused),
        cmocka_unit_test(what_is_wrong_is_shown_up_to_64_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
