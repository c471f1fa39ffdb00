/* rerun: the commands of a script that took long, run once more in one turn: would the script have
 * got the same replies in it? Then it would have done the same (long.h).
 *
 * While the script ran the version of its commit was not known: its entries had another one, the
 * stand-in. Where the text of that stands in a word of a command, the commit's own is put.
 */
#ifndef COMMAND_SCRIPT_RERUN_H
#define COMMAND_SCRIPT_RERUN_H

#include "command/script/script_int.h"

/* Notes what the command replied, for later. */
void again_note(struct called *done, const struct buf *reply);

struct again_run {
    const struct called *first; /* what the script ran */
    uint64_t stand_in;
    int64_t began_us;  /* monotonic: when the script did */
    struct buf *reply; /* to work with */
};

/* Runs them by `again`, whose overlay has the version that its commit gets. *holds: each has the
 * reply that it had. ERR_WAIT, and what ends a script, with again->error. */
ERR_MUST_USE enum err again_run(struct calling *again, const struct again_run *had, bool *holds);
/* Puts the text of one version in the place of another's, everywhere. */
void again_restamp(uint8_t *text, size_t len, uint64_t from, uint64_t to);

#endif
