/* check: looks at a data directory, or an archive, that no server has open, and says what is wrong
 * in it and where. It changes nothing there: files are opened for reading only.
 *
 * Of a data directory:
 *   pages     every page of tupled.db that its write-ahead log does not replace: its checksum
 *   versions  the file `versions`
 *   journal   each segment's header, batches and transactions, and that segments follow each other
 *   copy      tupled.db and the segments that a start would read are copied, and replayed there as
 *             a start does; what follows is looked at in that copy
 *   sqlite    SQLite's own check of its trees, and which tables there are
 *   entries   each entry: key and value can be decoded, its version was given; rows of expiry,
 *             large values, counts, request ids and the catalog agree with the entries
 *   indexes   secondary and full-text indexes against the entries, both ways; definitions
 *   queues    messages, leases and dead letters against each other and the queues' figures
 * Of an archive:
 *   archive   the manifest, each file that it names, gaps
 *   pages     those of the bases
 */
#ifndef OFFLINE_CHECK_H
#define OFFLINE_CHECK_H

#include "base/err.h"

/* CHECK_NOTE is no damage: such as a tail of the journal that was not acknowledged. */
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
    bool files_only;     /* nothing is copied: up to `journal` */
    const char *scratch; /* a directory for the copy; NULL = beside `dir`. The copy is as large as
                          * tupled.db and some of the journal, and removed at the end */
    /* results */
    bool is_archive;
    uint64_t damaged, notes; /* lines; `found` is told of the first CHECK_LINES_MAX */
    uint64_t pages, segments, transactions, bases;
    uint64_t entries, index_rows, messages; /* that were looked at */
    uint64_t scratch_bytes;                 /* of the copy */
    uint64_t newest;                        /* version that the journal has; 0 = it has none */
    uint64_t versions_end; /* no version from here on was given, says `versions`; 0 = nothing */
};

#define CHECK_LINES_MAX 1000

/* OK: it was looked at, whatever was found. ERR_SYNTAX: it is neither; ERR_LOCKED: a server has
 * it; else it could not be looked at. While it runs a signal that ends the process
 * removes the copy first. */
ERR_MUST_USE enum err check_run(struct check *k, struct error *e);

#endif
