/* acts: what the clients of the campaign do, each act one line of the history or a few. */
#ifndef CAMPAIGN_ACTS_H
#define CAMPAIGN_ACTS_H

#include "campaign/talk.h"

/* One act, by chance. */
void acts_any(struct talk *t);
/* Takes messages and acknowledges them, until the queue is empty. False when the run was over
 * first. */
bool acts_drain(struct talk *t);
/* The feed, all entries and the queue's figures, as lines; false when the run was over first. */
bool acts_tell_end(struct talk *t);

#endif
