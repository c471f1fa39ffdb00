/* Tests of the command table: what COMMAND shows and dispatch relies on. */
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <strings.h>

#include <cmocka.h>

#include "request/command.h"

static void check_command(const struct command *c, const struct command *parent)
{
    assert_non_null(c->name);
    for (const char *p = c->name; *p != '\0'; p++) assert_false(isupper((unsigned char)*p));
    assert_non_null(c->arguments);
    assert_non_null(c->group);
    /* What every version has had does not say so. */
    assert_true(c->since == NULL || strcmp(c->since, COMMAND_SINCE) != 0);
    assert_non_null(command_since(c));
    assert_non_null(c->summary);
    assert_true(strlen(c->summary) > 3);
    assert_true(c->run != NULL || c->subcommands != NULL);
    if (parent != NULL) assert_true(abs(command_arity_own(c)) >= 2);
    for (size_t i = 0; c->subcommands != NULL && c->subcommands[i] != NULL; i++) {
        check_command(c->subcommands[i], c);
        if (i > 0) {
            assert_true(strcmp(c->subcommands[i - 1]->name, c->subcommands[i]->name) < 0);
        }
    }
}

static void every_command_is_complete(void **state)
{
    for (size_t i = 0; i < command_count(); i++) check_command(command_table[i], NULL);
}

static void the_table_is_sorted_by_name(void **state)
{
    for (size_t i = 1; i < command_count(); i++) {
        assert_true(strcmp(command_table[i - 1]->name, command_table[i]->name) < 0);
    }
}

/* As LPUSH is the beginning of LPUSHX. */
static bool is_name(const char *name, size_t len)
{
    for (size_t i = 0; i < command_count(); i++) {
        const char *other = command_table[i]->name;
        if (strlen(other) == len && strncasecmp(other, name, len) == 0) return true;
    }
    return false;
}

static void every_command_is_found_in_any_case_and_nothing_else_is(void **state)
{
    for (size_t i = 0; i < command_count(); i++) {
        char name[64];
        size_t len = strlen(command_table[i]->name);
        memcpy(name, command_table[i]->name, len + 1);
        assert_ptr_equal(command_find(slice_of(name, len)), command_table[i]);
        for (size_t k = 0; k < len; k++) name[k] = (char)toupper((unsigned char)name[k]);
        assert_ptr_equal(command_find(slice_of(name, len)), command_table[i]);
        name[len] = '_';
        assert_null(command_find(slice_of(name, len + 1)));
        if (len > 4 && !is_name(name, len - 1)) assert_null(command_find(slice_of(name, len - 1)));
    }
    assert_null(command_find(slice_of("", 0)));
    assert_null(command_find(slice_of("get\0", 4)));
}

/* Each byte of each name becomes each other byte: it is found only if that is the same letter, or
 * makes the name of another command. */
static void a_name_with_one_other_byte_is_another_name(void **state)
{
    for (size_t i = 0; i < command_count(); i++) {
        char name[64];
        size_t len = strlen(command_table[i]->name);
        for (size_t at = 0; at < len; at++) {
            for (int c = 0; c < 256; c++) {
                memcpy(name, command_table[i]->name, len);
                name[at] = (char)c;
                const struct command *found = command_find(slice_of(name, len));
                if (found == NULL) {
                    assert_false(is_name(name, len));
                    continue;
                }
                assert_int_equal(strlen(found->name), len);
                assert_int_equal(strncasecmp(found->name, name, len), 0);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_command_is_complete),
        cmocka_unit_test(the_table_is_sorted_by_name),
        cmocka_unit_test(every_command_is_found_in_any_case_and_nothing_else_is),
        cmocka_unit_test(a_name_with_one_other_byte_is_another_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
