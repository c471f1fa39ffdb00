/* check_int: what the files of check share. */
#ifndef OFFLINE_CHECK_INT_H
#define OFFLINE_CHECK_INT_H

#include "backend/local/journal_format.h"
#include "offline/check.h"

#define CHECK_PLACE_BYTES 160

void check_say(struct check *k, enum check_kind kind, const char *part, const char *place,
               const char *format, ...) __attribute__((format(printf, 5, 6)));
void check_progress(const struct check *k, const char *part, uint64_t done, uint64_t total);
/* "dir/name", NUL-ended. */
void check_path(struct buf *out, const char *dir, const char *name);

/* A file of pages: tupled.db, or a base. */
ERR_MUST_USE enum err check_pages(struct check *k, const char *path, const char *name,
                                  struct error *e);
/* The journal and the file `versions`. */
ERR_MUST_USE enum err check_journal(struct check *k, struct error *e);
/* What is in the pages, in a copy (check_contents.c). After the others: it depends on what they
 * found. */
ERR_MUST_USE enum err check_contents(struct check *k, struct error *e);
ERR_MUST_USE enum err check_archive(struct check *k, struct error *e);

#endif
