/* judge: is there a way in which what clients heard (history.h) can have happened?
 *
 * The feed says in which order commits happened; the writes of the history are done again in that
 * order, on a model. Wanted is:
 *
 *   1. Versionstamps of the feed rise. Every commit is one write of the history, and no write is
 *      two commits. Two writes have never got the same versionstamp.
 *   2. A write that was acknowledged is in the feed, with the versionstamp that was replied; one
 *      that was refused is not. Of an unknown one both may be.
 *   3. Each commit has the rows that the model has for this write at this place; its checks held
 *      there; the sums that were replied are the model's.
 *   4. Time is respected: what ended before something else began is before it. A read is at one
 *      moment, which is not before the latest commit that had been acknowledged or seen when it
 *      began. A look at a node that stands by is at one moment too: not before that of the look
 *      before it on the same connection, nor before what had ended 15 s ago.
 *   5. What is there at the end is what the model has.
 *   6. Each message whose enqueueing is a commit was delivered, and is acknowledged by one commit;
 *      no other message was delivered, none twice as the same attempt, none after an
 *      acknowledgement was heard of. The queue's figures are those counts.
 *
 * Each thing that is not so is a line of text that names the operations.
 */
#ifndef CAMPAIGN_JUDGE_H
#define CAMPAIGN_JUDGE_H

#include "campaign/history.h"

struct judge_result {
    size_t problems; /* lines written; all are counted, the first 50 are written */
    size_t reads, looks, takes, acknowledged, unknown, refused;
    int64_t gap_us; /* the longest time between two acknowledgements of writes, until `stop` */
};

/* Writes problems to `out`. The history must have its feed. */
struct judge_result judge_history(const struct history *h, FILE *out);

#endif
