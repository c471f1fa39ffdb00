/* random: getrandom(2) until there is enough, for what must not be guessed; splitmix64 for
 * sequences that can be repeated. */
#include "base/random.h"

#include <errno.h>
#include <sys/random.h>

#include "base/err.h"

void random_system(void *out, size_t bytes)
{
    uint8_t *p = out;
    while (bytes > 0) {
        ssize_t n = getrandom(p, bytes, 0);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) die("getrandom failed");
        p += n;
        bytes -= (size_t)n;
    }
}

void rng_init(struct rng *r, uint64_t seed)
{
    r->state = seed;
}

uint64_t rng_next(struct rng *r)
{
    uint64_t z = (r->state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

uint64_t rng_below(struct rng *r, uint64_t limit)
{
    return limit == 0 ? 0 : rng_next(r) % limit;
}
