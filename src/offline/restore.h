/* restore: a data directory as it was at a commit, out of an archive (backend/local/archive.h;
 * docs/archive.md). It is built beside its place and moved there when it is whole. Each restore
 * begins a timeline of its own, which it notes in the archive's manifest.
 */
#ifndef OFFLINE_RESTORE_H
#define OFFLINE_RESTORE_H

#include "base/err.h"

struct restore {
    const char *from;  /* the archive */
    const char *to;    /* the directory: not there yet, or empty */
    uint32_t timeline; /* 0 = that of the version; without a version the one written to last */
    bool has_version, has_time;
    uint64_t version;  /* has_version: as of the last commit up to this one */
    int64_t time_ms;   /* has_time: as of the last commit not after it, Unix time */
    bool is_frozen;    /* a server opens it read-only, at that time */
    bool holds_queues; /* a server delivers no message until it is told to */
    /* So many bytes of the archive were read. NULL = it is not called. */
    void (*progress)(void *arg, uint64_t bytes, uint64_t bytes_total);
    void *arg;
    /* results */
    uint32_t timeline_new;
    uint32_t timeline_from;
    uint64_t base_version; /* 0 = it began from nothing */
    uint64_t commits;      /* after the base */
    uint64_t reached;      /* version of the newest commit in it */
    int64_t reached_ms;    /* its time */
    uint64_t start;        /* versions go on here */
    bool is_short;         /* the archive ends before what was asked for */
};

/* ERR_CORRUPT: something is damaged or missing; the error names the file, and nothing was restored.
 * ERR_SYNTAX: what was asked for is not there. */
ERR_MUST_USE enum err restore_run(struct restore *k, struct error *e);

/* ---- what it leaves in the directory for the server ---- */

#define RESTORE_FROZEN_FILE "frozen"    /* "<version> <Unix time, ms>\n" */
#define RESTORE_HELD_FILE "queues-held" /* empty */

#endif
