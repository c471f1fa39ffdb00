/* memory_limit: how much memory this process may use: the machine's, or what its control groups
 * leave of it (Linux, cgroup v1 and v2: Documentation/admin-guide of the kernel).
 */
#ifndef BASE_MEMORY_LIMIT_H
#define BASE_MEMORY_LIMIT_H

#include <stdint.h>

#include "base/slice.h"

/* Bytes. Reads files. */
uint64_t memory_limit(void);
/* The least limit of the groups of a process and of all above them; UINT64_MAX: there is none.
 * groups: the text of /proc/<pid>/cgroup. root: where groups are, such as /sys/fs/cgroup. */
uint64_t memory_limit_of_groups(const char *root, struct slice groups);

#endif
