/* resources: how much memory and how many processors this process may use: the machine's, or what
 * its control groups leave of it (Linux, cgroup v1 and v2: the kernel's
 * Documentation/admin-guide).
 */
#ifndef BASE_RESOURCES_H
#define BASE_RESOURCES_H

#include <stdint.h>

#include "base/slice.h"

/* Bytes. Reads files. */
uint64_t memory_limit(void);
/* The least limit of the groups of a process and of all above them; UINT64_MAX: there is none.
 * groups: the text of /proc/<pid>/cgroup. root: where groups are, such as /sys/fs/cgroup. */
uint64_t memory_limit_of_groups(const char *root, struct slice groups);

/* Whole processors, at least 1: those that it may run on (sched_setaffinity(2)), or, where its
 * groups leave less, that, rounded. Reads files. */
unsigned processors_limit(void);
/* As memory_limit_of_groups, in thousandths of a processor. */
uint64_t processors_limit_of_groups(const char *root, struct slice groups);

#endif
