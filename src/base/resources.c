/* resources: /proc/self/cgroup says in which groups the process is; their limits are files below
 * /sys/fs/cgroup. The least of a group and all above it counts, as far as these can be seen. */
#include "base/resources.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"

#define PATH_BYTES_MAX 4096
#define GROUPS_BYTES_MAX (64 * 1024)

/* What is limited, and how control groups say so. */
struct resource {
    const char *controller; /* of version 1; also the folder of its groups */
    /* The limit of the group in this folder; UINT64_MAX when it has none. */
    uint64_t (*limit_v1)(const char *folder);
    uint64_t (*limit_v2)(const char *folder);
};

/* The first and second number in a file; UINT64_MAX where there is none, or a word such as "max".
 */
static void numbers_in(const char *folder, const char *file, uint64_t out[2])
{
    char path[PATH_BYTES_MAX];
    struct buf text;
    struct error ignored;
    out[0] = out[1] = UINT64_MAX;
    int n = snprintf(path, sizeof path, "%s/%s", folder, file);
    if (n < 0 || (size_t)n >= sizeof path) return;
    buf_init(&text);
    if (file_read_all(path, &text, 4096, &ignored) == OK) {
        size_t at = 0;
        for (int i = 0; i < 2; i++) {
            size_t from = at;
            while (at < text.len && text.data[at] > ' ') at++;
            if (!slice_to_u64(slice_of(text.data + from, at - from), &out[i])) out[i] = UINT64_MAX;
            while (at < text.len && text.data[at] <= ' ') at++;
        }
    }
    buf_fini(&text);
}

static uint64_t memory_v1(const char *folder)
{
    uint64_t numbers[2];
    numbers_in(folder, "memory.limit_in_bytes", numbers);
    return numbers[0];
}

static uint64_t memory_v2(const char *folder)
{
    uint64_t numbers[2];
    numbers_in(folder, "memory.max", numbers);
    return numbers[0];
}

/* In thousandths of a processor. */
static uint64_t share(uint64_t quota_us, uint64_t period_us)
{
    if (quota_us > UINT64_MAX / 1000 || period_us == 0 || period_us == UINT64_MAX)
        return UINT64_MAX;
    return quota_us * 1000 / period_us;
}

static uint64_t processors_v1(const char *folder)
{
    uint64_t quota[2], period[2];
    numbers_in(folder, "cpu.cfs_quota_us", quota);
    numbers_in(folder, "cpu.cfs_period_us", period);
    return share(quota[0], period[0]);
}

static uint64_t processors_v2(const char *folder)
{
    uint64_t numbers[2];
    numbers_in(folder, "cpu.max", numbers);
    return share(numbers[0], numbers[1]);
}

static const struct resource memory = {"memory", memory_v1, memory_v2};
static const struct resource processors = {"cpu", processors_v1, processors_v2};

/* The least of a group and those above it. A container may see only some of them. */
static uint64_t least_above(const char *mount, struct slice group,
                            uint64_t (*limit_of)(const char *folder))
{
    char path[PATH_BYTES_MAX];
    uint64_t least = UINT64_MAX;
    size_t len = group.len;
    for (;;) {
        while (len > 0 && group.data[len - 1] == '/') len--;
        int n = snprintf(path, sizeof path, "%s%.*s", mount, (int)len, (const char *)group.data);
        uint64_t limit = n > 0 && (size_t)n < sizeof path ? limit_of(path) : UINT64_MAX;
        if (limit < least) least = limit;
        if (len == 0) return least;
        while (len > 0 && group.data[len - 1] != '/') len--;
    }
}

static bool has_word(struct slice list, struct slice word)
{
    while (list.len > 0) {
        const uint8_t *comma = memchr(list.data, ',', list.len);
        size_t len = comma != NULL ? (size_t)(comma - list.data) : list.len;
        if (slice_eq(slice_of(list.data, len), word)) return true;
        len += comma != NULL;
        list = slice_of(list.data + len, list.len - len);
    }
    return false;
}

/* `<number>:<controllers>:<path>`; of version 2 "0::<path>". */
static uint64_t limit_of_line(const struct resource *r, const char *root, struct slice line)
{
    char mount[PATH_BYTES_MAX];
    const uint8_t *first = line.len > 0 ? memchr(line.data, ':', line.len) : NULL;
    if (first == NULL) return UINT64_MAX;
    const uint8_t *begin = first + 1;
    const uint8_t *end = line.data + line.len;
    const uint8_t *second = begin < end ? memchr(begin, ':', (size_t)(end - begin)) : NULL;
    if (second == NULL) return UINT64_MAX;
    struct slice controllers = slice_of(begin, (size_t)(second - begin));
    struct slice group = slice_of(second + 1, (size_t)(end - second - 1));
    if (controllers.len == 0) return least_above(root, group, r->limit_v2);
    if (!has_word(controllers, slice_str(r->controller))) return UINT64_MAX;
    int n = snprintf(mount, sizeof mount, "%s/%s", root, r->controller);
    if (n < 0 || (size_t)n >= sizeof mount) return UINT64_MAX;
    return least_above(mount, group, r->limit_v1);
}

static uint64_t limit_of_groups(const struct resource *r, const char *root, struct slice groups)
{
    uint64_t least = UINT64_MAX;
    while (groups.len > 0) {
        const uint8_t *end = memchr(groups.data, '\n', groups.len);
        size_t len = end != NULL ? (size_t)(end - groups.data) : groups.len;
        uint64_t limit = limit_of_line(r, root, slice_of(groups.data, len));
        if (limit < least) least = limit;
        len += end != NULL;
        groups = slice_of(groups.data + len, groups.len - len);
    }
    return least;
}

/* Of this process. */
static uint64_t limit_of(const struct resource *r)
{
    uint64_t limit = UINT64_MAX;
    struct buf groups;
    struct error ignored;
    buf_init(&groups);
    if (file_read_all("/proc/self/cgroup", &groups, GROUPS_BYTES_MAX, &ignored) == OK) {
        limit = limit_of_groups(r, "/sys/fs/cgroup", buf_slice(&groups));
    }
    buf_fini(&groups);
    return limit;
}

uint64_t memory_limit_of_groups(const char *root, struct slice groups)
{
    return limit_of_groups(&memory, root, groups);
}

uint64_t memory_limit(void)
{
    uint64_t bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t limit = limit_of(&memory);
    return limit < bytes ? limit : bytes;
}

uint64_t processors_limit_of_groups(const char *root, struct slice groups)
{
    return limit_of_groups(&processors, root, groups);
}

unsigned processors_limit(void)
{
    cpu_set_t set;
    int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
    if (count <= 0) count = (int)sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t limit = limit_of(&processors);
    if (limit < (uint64_t)count * 1000) count = (int)((limit + 500) / 1000);
    return count < 1 ? 1 : (unsigned)count;
}
