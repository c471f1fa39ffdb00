/* hash: see hash.h. With a seed XXH3 takes its own secret plus and minus that: to make what one of
 * its products takes for 0, one has to guess 64 bits. */
#include "base/hash.h"

#include <pthread.h>
#include <xxhash.h>

#include "base/err.h"
#include "base/random.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static uint64_t seed; /* atomic; 0 = none yet */

static void draw_seed(void)
{
    uint64_t drawn = 0;
    while (drawn == 0) random_system(&drawn, sizeof drawn);
    __atomic_store_n(&seed, drawn, __ATOMIC_RELAXED);
}

static uint64_t first_seed(void)
{
    INVARIANT(pthread_once(&once, draw_seed) == 0);
    return __atomic_load_n(&seed, __ATOMIC_RELAXED);
}

uint64_t hash_bytes(struct slice s)
{
    uint64_t with = __atomic_load_n(&seed, __ATOMIC_RELAXED);
    if (with == 0) with = first_seed();
    return XXH3_64bits_withSeed(s.data, s.len, with);
}

uint64_t checksum_bytes(struct slice s)
{
    return XXH3_64bits(s.data, s.len);
}

void hash_fix(void)
{
    INVARIANT(seed == 0);
    seed = 1;
}
