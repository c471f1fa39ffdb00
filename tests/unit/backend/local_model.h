/* local_model: random work on a local backend, every answer compared with a simple model. For tests
 * that differ in options, threads and faults. Prints the seed when something differs.
 */
#ifndef TESTS_UNIT_BACKEND_LOCAL_MODEL_H
#define TESTS_UNIT_BACKEND_LOCAL_MODEL_H

#include "unit/backend/local_help.h"

struct model_options {
    uint64_t seed;
    unsigned steps;
    unsigned keys;         /* of each of two databases; at most MODEL_KEYS_MAX */
    unsigned reopen_every; /* steps, on average; 0 = never */
    int64_t run_ms;        /* ends earlier when this much real time passed; 0 = no limit */
    const char *fault;     /* armed sticky all the time; NULL = none */
};

#define MODEL_KEYS_MAX 2000

/* The rig is open before and after. */
void model_run(struct rig *r, const struct model_options *options);

#endif
