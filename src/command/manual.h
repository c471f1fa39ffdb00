/* manual: docs/commands.md, written from the table. `make docs` writes the file; a test compares.
 */
#ifndef COMMAND_MANUAL_H
#define COMMAND_MANUAL_H

#include "base/buf.h"

/* Markdown of every command, by group. */
void manual_write(struct buf *out);

#endif
