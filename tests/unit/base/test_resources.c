/* resources: what control groups leave of the memory and the processors. */
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

#include "base/resources.h"

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

static uint64_t processors(const char *groups)
{
    return processors_limit_of_groups(root, slice_str(groups));
}

static void processors_are_a_quota_of_a_period(void **state)
{
    put("p.slice/cpu.max", "150000 100000\n");
    put("p.slice/q.scope/cpu.max", "max 100000\n");
    put("p.slice/r.scope/cpu.max", "20000 50000\n");
    put("p.slice/s.scope/cpu.max", "20000\n");
    put("p.slice/t.scope/cpu.max", "20000 0\n");
    assert_int_equal(processors("0::/p.slice/q.scope\n"), 1500);
    assert_int_equal(processors("0::/p.slice/r.scope\n"), 400);
    assert_int_equal(processors("0::/p.slice/s.scope\n"), 1500);
    assert_int_equal(processors("0::/p.slice/t.scope\n"), 1500);
    put("cpu/docker/cpu.cfs_quota_us", "250000\n");
    put("cpu/docker/cpu.cfs_period_us", "100000\n");
    put("cpu/cpu.cfs_quota_us", "-1\n");
    put("cpu/cpu.cfs_period_us", "100000\n");
    assert_int_equal(processors("12:cpu,cpuacct:/docker/x\n4:memory:/docker\n"), 2500);
    assert_true(processors("12:cpu,cpuacct:/\n") == UINT64_MAX);
    assert_true(processors("4:memory:/docker\n") == UINT64_MAX);
    assert_true(processors_limit() >= 1 &&
                processors_limit() <= (unsigned)sysconf(_SC_NPROCESSORS_CONF));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_least_of_the_group_and_those_above_counts),
        cmocka_unit_test(the_first_version_has_a_tree_for_memory),
        cmocka_unit_test(processors_are_a_quota_of_a_period),
        cmocka_unit_test(what_is_no_list_of_groups_has_no_limit),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
