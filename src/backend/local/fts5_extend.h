/* fts5_extend: what text indexes add to FTS5: a tokenizer (tokenizer.h), a function (ranking.h). */
#ifndef BACKEND_LOCAL_FTS5_EXTEND_H
#define BACKEND_LOCAL_FTS5_EXTEND_H

#include <sqlite3.h>

/* For each connection, once; a result of SQLite. A library without FTS5 is no error: without it no
 * text index can be made. */
int fts5_extend(sqlite3 *db);

#endif
