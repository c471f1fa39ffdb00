/* manual: docs/commands.md, written from the table. `make docs` writes the file; a test compares.
 */
#ifndef COMMAND_CATALOG_MANUAL_H
#define COMMAND_CATALOG_MANUAL_H

#include "base/buf.h"

/* Markdown of every command, by group. */
void manual_write(struct buf *out);
/* The table of error codes in docs/protocol.md, and their list in include/tupled.h. */
void manual_write_codes(struct buf *out);
void manual_write_codes_header(struct buf *out);

#endif
