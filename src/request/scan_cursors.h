/* scan_cursors: cursors of SCAN, HSCAN and their like. Redis's clients expect an integer, so a
 * cursor is the number of a row in a table of the last places given out. A place is a key: what is
 * there all the time is found whatever is written meanwhile. The oldest is forgotten; a forgotten
 * cursor is an error, never a wrong place.
 */
#ifndef REQUEST_SCAN_CURSORS_H
#define REQUEST_SCAN_CURSORS_H

#include "request/command.h"

/* A new cursor for the place, which is copied. */
uint64_t scan_cursor_add(struct request *rq, struct slice place);
/* The place of a cursor, borrowed until another is added; empty for 0, the beginning. ERR_SYNTAX:
 * it is none, or of another database, or forgotten. */
ERR_MUST_USE enum err scan_cursor_read(struct request *rq, struct slice word, struct slice *place);

#endif
