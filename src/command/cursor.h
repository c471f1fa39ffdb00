/* cursor: where a page ended, as the client keeps it: URL-safe text of a fingerprint of the
 * question and the key of the last row. Good for that question and no other, also after a restart.
 */
#ifndef COMMAND_CURSOR_H
#define COMMAND_CURSOR_H

#include "command/command.h"

/* Replies the cursor behind `last`; "0" when there is nothing left. */
void reply_cursor(struct request *rq, uint64_t fingerprint, struct slice last, bool is_done);
/* The key in it, in the arena; len 0: the cursor is "0", from the beginning. ERR_SYNTAX: damaged,
 * or of another question. */
ERR_MUST_USE enum err arg_cursor(struct request *rq, struct slice text, uint64_t fingerprint,
                                 struct slice *last);
/* Narrows [*start, *end) to what follows `last`, which must lie within it. */
ERR_MUST_USE enum err cursor_narrow(struct request *rq, struct slice last, bool is_reverse,
                                    struct slice *start, struct slice *end);

#endif
