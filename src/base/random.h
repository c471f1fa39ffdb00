/* random: bytes from the system for identities, and a seeded generator for tests and sampling. */
#ifndef BASE_RANDOM_H
#define BASE_RANDOM_H

#include <stddef.h>
#include <stdint.h>

/* Unpredictable bytes (getrandom(2)). */
void random_system(void *out, size_t bytes);

struct rng {
    uint64_t state;
};

/* The same seed gives the same sequence: splitmix64 (Steele, Lea, Flood 2014). */
void rng_init(struct rng *r, uint64_t seed);
uint64_t rng_next(struct rng *r);
/* Uniform enough in [0, limit). */
uint64_t rng_below(struct rng *r, uint64_t limit);

#endif
