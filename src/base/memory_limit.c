#include "base/memory_limit.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"

#define PATH_BYTES_MAX 4096
#define GROUPS_BYTES_MAX (64 * 1024)

/* A number in a file; UINT64_MAX when there is none, or "max". */
static uint64_t number_in(const char *path)
{
    struct buf text;
    struct error ignored;
    uint64_t n = UINT64_MAX;
    buf_init(&text);
    if (file_read_all(path, &text, 4096, &ignored) == OK) {
        size_t len = 0;
        while (len < text.len && text.data[len] >= '0' && text.data[len] <= '9') len++;
        if (!slice_to_u64(slice_of(text.data, len), &n)) n = UINT64_MAX;
    }
    buf_fini(&text);
    return n;
}

/* The least of a group and those above it. A container may see only some of them. */
static uint64_t least_above(const char *mount, struct slice group, const char *file)
{
    char path[PATH_BYTES_MAX];
    uint64_t least = UINT64_MAX;
    size_t len = group.len;
    for (;;) {
        while (len > 0 && group.data[len - 1] == '/') len--;
        int n = snprintf(path, sizeof path, "%s%.*s/%s", mount, (int)len, (const char *)group.data,
                         file);
        uint64_t limit = n > 0 && (size_t)n < sizeof path ? number_in(path) : UINT64_MAX;
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
static uint64_t limit_of_line(const char *root, struct slice line)
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
    if (controllers.len == 0) return least_above(root, group, "memory.max");
    if (!has_word(controllers, slice_str("memory"))) return UINT64_MAX;
    int n = snprintf(mount, sizeof mount, "%s/memory", root);
    if (n < 0 || (size_t)n >= sizeof mount) return UINT64_MAX;
    return least_above(mount, group, "memory.limit_in_bytes");
}

uint64_t memory_limit_of_groups(const char *root, struct slice groups)
{
    uint64_t least = UINT64_MAX;
    while (groups.len > 0) {
        const uint8_t *end = memchr(groups.data, '\n', groups.len);
        size_t len = end != NULL ? (size_t)(end - groups.data) : groups.len;
        uint64_t limit = limit_of_line(root, slice_of(groups.data, len));
        if (limit < least) least = limit;
        len += end != NULL;
        groups = slice_of(groups.data + len, groups.len - len);
    }
    return least;
}

uint64_t memory_limit(void)
{
    uint64_t bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    struct buf groups;
    struct error ignored;
    buf_init(&groups);
    if (file_read_all("/proc/self/cgroup", &groups, GROUPS_BYTES_MAX, &ignored) == OK) {
        uint64_t limit = memory_limit_of_groups("/sys/fs/cgroup", buf_slice(&groups));
        if (limit < bytes) bytes = limit;
    }
    buf_fini(&groups);
    return bytes;
}
