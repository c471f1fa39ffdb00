/* check: looks at the files of a data directory, or of an archive, that no server has open, and
 * says what is wrong in them and where. It changes nothing: files are opened for reading only.
 *
 * Of a data directory:
 *   pages     every page of tupled.db that its write-ahead log does not replace: its checksum
 *   versions  the file `versions`
 *   journal   each segment's header, batches and transactions, and that segments follow each other
 * Of an archive:
 *   archive   the manifest, each file that it names, gaps
 *   pages     those of the bases
 *
 * What is in a page whose checksum is right is not looked at: not entries, indexes or queues.
 */
#ifndef OFFLINE_CHECK_H
#define OFFLINE_CHECK_H

#include "base/err.h"

/* CHECK_NOTE is no damage: such as a tail of the journal that nobody was promised. */
enum check_kind { CHECK_DAMAGE, CHECK_NOTE };

struct check_line {
    enum check_kind kind;
    const char *part;  /* "pages", "journal", ... as above */
    const char *place; /* a file, perhaps with an offset */
    const char *text;
};

struct check {
    const char *dir;
    void (*found)(void *arg, const struct check_line *line);
    /* `part` as above; bytes done of so many. */
    void (*progress)(void *arg, const char *part, uint64_t done, uint64_t total);
    void *arg;
    /* results */
    bool is_archive;
    uint64_t damaged, notes; /* lines; `found` is told of the first CHECK_LINES_MAX */
    uint64_t pages, segments, transactions, bases;
};

#define CHECK_LINES_MAX 1000

/* OK: it was looked at, whatever was found. ERR_SYNTAX: it is neither; ERR_LOCKED: a server has
 * it; else it could not be looked at. */
ERR_MUST_USE enum err check_run(struct check *k, struct error *e);

#endif
