/* export_int: what the files of export share. */
#ifndef TOOL_EXPORT_INT_H
#define TOOL_EXPORT_INT_H

#include "tool/export_out.h"
#include "tool/output.h"
#include "tool/records.h"

#define EXPORT_STAMP_CHARS 20

/* A versionstamp, ended by NUL; these compare as text. */
struct export_stamp {
    char text[EXPORT_STAMP_CHARS + 1];
};

struct exporter {
    const struct tool *t;
    struct wire *w;
    struct export_out out;
    struct progress progress;
    bool is_pack;
    bool is_flushed;    /* why it failed: begin anew */
    const char *prefix; /* NULL = everything */
    uint64_t entries, deletions, messages, dead, indexes, databases, libraries, records;
    int64_t begun_us;
};

/* export.c */
/* "FORMAT" and its word. */
const char *export_format(const struct exporter *x);
/* After each record. */
ERR_MUST_USE enum tool_status export_wrote(struct exporter *x);
/* The newest version. */
ERR_MUST_USE enum tool_status export_version(struct exporter *x, struct export_stamp *out);

/* export_all.c */
/* Definitions of indexes, queues and dead letters of the selected database. */
ERR_MUST_USE enum tool_status export_rest(struct exporter *x);
/* All libraries of functions: they belong to the server, not to a database. */
ERR_MUST_USE enum tool_status export_libraries(struct exporter *x);
/* The limits of a database; it may be left out when it has nothing at all. */
ERR_MUST_USE enum tool_status export_limits(struct exporter *x, const char *name);
/* Has it anything that an export would have? */
ERR_MUST_USE enum tool_status export_is_used(struct exporter *x, const char *name, bool *out);

#endif
