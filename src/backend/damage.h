/* damage: what of the store could not be read, for the log and INFO. Loop thread. The caller that
 * asked for it gets the error from what read it: the scan, or what is kept for the caller (kept.h).
 */
#ifndef BACKEND_DAMAGE_H
#define BACKEND_DAMAGE_H

#include "base/err.h"

struct damage {
    uint64_t count;    /* reads that failed */
    struct error last; /* OK = none */
    int64_t logged_us;
    bool is_over; /* everything is given up: what fails now says nothing */
};

/* A read failed with ERR_CORRUPT or ERR_IO; other errors are no damage. Logs it, not each time. */
void damage_note(struct damage *d, const struct error *e);
/* Of what reads and writes: ERR_IO is no damage, as a write that failed is done again. */
void damage_note_write(struct damage *d, const struct error *e);

#endif
