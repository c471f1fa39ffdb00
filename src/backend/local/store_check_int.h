/* store_check_int: what the files of store_check share. */
#ifndef BACKEND_LOCAL_STORE_CHECK_INT_H
#define BACKEND_LOCAL_STORE_CHECK_INT_H

#include "backend/local/store_check.h"
#include "backend/local/store_text.h"

/* A line of damage about `table`; key len 0 = none. */
void store_check_say(struct store_check *k, const char *part, const char *table, struct slice key,
                     const char *format, ...) __attribute__((format(printf, 5, 6)));
/* Something of the table cannot be read: its pages are damaged, which was told. True: it is so, and
 * the caller goes on with what is next; false: *e is another error, or none. */
bool store_check_unreadable(struct store_check *k, const char *part, const char *table, enum err r,
                            const struct error *e);
ERR_MUST_USE enum err store_check_prepare(struct store_check *k, sqlite3_stmt **stmt,
                                          const char *sql, struct error *e);
/* *has: there is a row. */
ERR_MUST_USE enum err store_check_step(struct store_check *k, sqlite3_stmt *stmt, bool *has,
                                       struct error *e);
struct slice store_check_blob(sqlite3_stmt *stmt, int column);
/* A number that a statement without parameters gives. */
ERR_MUST_USE enum err store_check_number(struct store_check *k, const char *sql, int64_t *out,
                                         struct error *e);

/* store_check_text.c */
ERR_MUST_USE enum err store_check_texts(struct store_check *k, struct error *e);

#endif
