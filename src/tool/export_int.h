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

struct export_seen; /* export_collection.c */

struct exporter {
    const struct tool *t;
    struct wire *w;
    struct export_out out;
    struct progress progress;
    bool is_pack;
    bool is_flushed;    /* why it failed: begin anew */
    const char *prefix; /* NULL = everything */
    uint64_t entries, deletions, collections, messages, dead, indexes, databases, libraries,
        records;
    /* Of this round: collections that were read newer than it; that changed whenever they were. */
    uint64_t ahead, torn;
    unsigned database;        /* which one is read */
    struct export_seen *seen; /* owned: changed collections that were read; NULL = none yet */
    int64_t begun_us;
};

/* export.c */
/* "FORMAT" and its word. */
const char *export_format(const struct exporter *x);
/* After each record. */
ERR_MUST_USE enum tool_status export_wrote(struct exporter *x);
/* The newest version. */
ERR_MUST_USE enum tool_status export_version(struct exporter *x, struct export_stamp *out);
bool export_stamp_of(const redisReply *r, struct export_stamp *out);
/* A row of KV.LIST WITHEXPIRY or KV.CHANGES, as it stands: an entry. */
ERR_MUST_USE enum tool_status export_plain(struct exporter *x, const redisReply *row);
/* The key of the row is there no longer. */
ERR_MUST_USE enum tool_status export_deleted(struct exporter *x, const redisReply *row);

/* export_collection.c */
/* The elements of collections; the rows are of one page of KV.LIST. Nothing else is under way. */
ERR_MUST_USE enum tool_status export_collections(struct exporter *x, redisReply *const *rows,
                                                 size_t count);
/* The elements as they are now, of a row of KV.CHANGES. */
ERR_MUST_USE enum tool_status export_changed_collection(struct exporter *x, const redisReply *row,
                                                        const struct export_stamp *until);
/* Has the file the key as it was at that version, or later? */
bool export_is_seen(const struct exporter *x, struct slice key, const struct export_stamp *at);

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
