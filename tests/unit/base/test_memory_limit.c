/* memory_limit: what control groups leave of the memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory_limit.h"

static char root[] = "/tmp/tupled-groups-XXXXXX";

static void put(const char *path, const char *text)
{
    char whole[512];
    snprintf(whole, sizeof whole, "%s/%s", root, path);
    for (char *p = whole + sizeof root; *p != '\0'; p++) {
        if (*p != '/') continue;
        *p = '\0';
        (void)mkdir(whole, 0700);
        *p = '/';
    }
    FILE *f = fopen(whole, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static int begin(void **state)
{
    (void)state;
    return mkdtemp(root) == NULL;
}

static int end(void **state)
{
    char command[128];
    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", root);
    return system(command);
}

static uint64_t limit(const char *groups)
{
    return memory_limit_of_groups(root, slice_str(groups));
}

static void the_least_of_the_group_and_those_above_counts(void **state)
{
    put("a.slice/memory.max", "1000000\n");
    put("a.slice/b.scope/memory.max", "max\n");
    put("a.slice/c.scope/memory.max", "400000\n");
    assert_int_equal(limit("0::/a.slice/b.scope\n"), 1000000);
    assert_int_equal(limit("0::/a.slice/c.scope\n"), 400000);
    assert_int_equal(limit("0::/a.slice/none/below\n"), 1000000);
    assert_true(limit("0::/other\n") == UINT64_MAX);
    put("memory.max", "300000\n"); /* as a container sees its own */
    assert_int_equal(limit("0::/\n"), 300000);
    assert_int_equal(limit("0::/docker/0123456789"), 300000);
}

static void the_first_version_has_a_tree_for_memory(void **state)
{
    put("memory/docker/memory.limit_in_bytes", "5000000\n");
    put("memory/memory.limit_in_bytes", "9223372036854771712\n");
    assert_int_equal(limit("12:cpu,cpuacct:/docker\n4:memory:/docker/x\n1:name=systemd:/\n"),
                     5000000);
    assert_int_equal(limit("4:hugetlb,memory:/docker\n"), 5000000);
    assert_true(limit("12:cpu,memoryx:/docker\n") == UINT64_MAX);
    assert_true(limit("4:memory:/\n") == 9223372036854771712u);
}

static void what_is_no_list_of_groups_has_no_limit(void **state)
{
    static const char *const texts[] = {"", "\n\n", "0", "0:", "x:y", ":::", "0:\n:"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        uint64_t n = limit(texts[i]);
        assert_true(n == UINT64_MAX || n == 300000);
    }
    assert_true(memory_limit_of_groups("/nowhere", slice_str("0::/a\n4:memory:/b\n")) ==
                UINT64_MAX);
    assert_true(memory_limit() > 1000000);
    assert_true(memory_limit() < (uint64_t)1 << 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_least_of_the_group_and_those_above_counts),
        cmocka_unit_test(the_first_version_has_a_tree_for_memory),
        cmocka_unit_test(what_is_no_list_of_groups_has_no_limit),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
