/* line_file: a file that lines are appended to, and that another process may rename: then it is
 * opened anew. A line is one write, so that none is torn by another.
 */
#ifndef BASE_LINE_FILE_H
#define BASE_LINE_FILE_H

#include "base/err.h"

struct line_file;

/* Made when it is missing, for its owner alone. ERR_IO. */
ERR_MUST_USE enum err line_file_open(const char *path, struct line_file **out, struct error *e);
/* f may be NULL. */
void line_file_close(struct line_file *f);
/* The path again; ERR_IO: the old one stays. */
ERR_MUST_USE enum err line_file_reopen(struct line_file *f, struct error *e);
/* `line` with its end. ERR_IO: it is not there, or a part of it. */
ERR_MUST_USE enum err line_file_append(struct line_file *f, struct slice line, struct error *e);

#endif
