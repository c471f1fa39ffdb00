/* acts: what the clients of the campaign do, each act one line of the history or a few. */
#ifndef CAMPAIGN_ACTS_H
#define CAMPAIGN_ACTS_H

#include "campaign/talk.h"

/* One act, by chance. */
void acts_any(struct talk *t);
/* Takes messages and acknowledges them, until the queue is empty. False when the run was over
 * first. */
bool acts_drain(struct talk *t);
#define ACTS_VERSION_BYTES 32
/* The feed after the version `from` ("0": all of it), as lines; `from` is where it ends then. False when the
 * run was over first, or it was refused, which stderr is told. */
bool acts_tell_feed(struct talk *t, char *from);
/* All entries and the queue's figures, as lines; false when the run was over first. */
bool acts_tell_end(struct talk *t);

#endif
