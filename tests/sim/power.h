/* power: what a power failure may do to the files that base/file writes. It watches every write and
 * sync; a write that was not synced before the failure is kept, taken back, or torn, at random.
 */
#ifndef SIM_POWER_H
#define SIM_POWER_H

#include "base/random.h"

struct power;

/* From now on writes are remembered until they are synced. One at a time. */
struct power *power_watch(struct rng *rng);
/* The power fails: every unsynced write meets its fate, in random order; nothing is remembered
 * after. Returns the number of writes that were not kept whole. */
unsigned power_fail(struct power *p);
void power_unwatch(struct power *p);

#endif
