/* damage: what of the store could not be read, for whoever asks for it again, the log and INFO.
 * Loop thread.
 *
 * A read that cannot be done on the loop is done by a query thread, and whoever wants it asks again
 * when that is done. What the thread found is remembered here for a moment: else he would ask for
 * ever.
 */
#ifndef BACKEND_DAMAGE_H
#define BACKEND_DAMAGE_H

#include "base/err.h"

#define DAMAGE_RECENT 16

struct damage {
    uint64_t count;    /* reads that failed */
    struct error last; /* OK = none */
    int64_t logged_us;
    struct damage_read {
        uint64_t hash;
        int64_t until_us; /* monotonic; 0 = free */
        struct error error;
    } recent[DAMAGE_RECENT];
    unsigned recent_at;
};

/* A read failed with ERR_CORRUPT or ERR_IO; other errors are no damage. Logs it, not each time. */
void damage_note(struct damage *d, const struct error *e);
/* ... and it was made by a thread: `hash` is of what was asked. Any error. */
void damage_note_read(struct damage *d, uint64_t hash, const struct error *e);
/* Did this read fail within the last second? Then *e is why. */
bool damage_find(const struct damage *d, uint64_t hash, struct error *e);

#endif
