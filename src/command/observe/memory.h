/* memory: figures about memory, for INFO and MEMORY. */
#ifndef COMMAND_OBSERVE_MEMORY_H
#define COMMAND_OBSERVE_MEMORY_H

#include "request/client_memory.h"

/* Bytes. */
struct memory_figures {
    uint64_t used;     /* allocated: mem_used */
    uint64_t resident; /* in RAM */
    uint64_t peak;     /* most that was resident, or seen allocated */
    uint64_t startup;  /* used, when the server had started */
    uint64_t dataset;  /* memtables and caches */
    uint64_t overhead; /* what is used beside the dataset */
    uint64_t clients;  /* connections with all they hold: the total of client_memory */
    struct client_memory client_memory;
    uint64_t system;      /* of the machine */
    double fragmentation; /* resident / used */
    int64_t fragmentation_bytes;
    double used_percent, dataset_percent; /* of the peak; of what is used */
};

/* Walks the allocator's free lists: for people who ask, not for every tick. Raises
 * env->memory.peak. */
void memory_measure(struct env *env, struct memory_figures *out);

/* Bytes of the process in RAM, and the most that there were. Neither walks anything. */
uint64_t memory_resident(void);
uint64_t memory_resident_peak(void);

#endif
