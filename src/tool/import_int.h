/* import_int: what the files of import share. */
#ifndef TOOL_IMPORT_INT_H
#define TOOL_IMPORT_INT_H

#include "base/file.h"
#include "tool/import_state.h"
#include "tool/load.h"
#include "tool/output.h"

struct importer {
    const struct tool *t;
    struct wire *w;
    struct source source;
    struct loader loader;
    struct import_state state;
    struct progress progress;
    const char *input;
    bool is_dry;
    struct buf prefix; /* encoded; empty = everything */
    struct buf scratch, state_path;
    uint64_t read, entries, collections, messages;
    struct arena arena;     /* of a record that is checked */
    uint64_t saved_records; /* of the loader's, in the state */
    int64_t begun_us;
    struct file map; /* of --map; closed = none */
    int64_t samples; /* of a live source: keys that are compared; 0 = nothing is */
    bool is_told;    /* that all is loaded, and changes are followed */
};

/* import_rest.c; what goes wrong is said. */
ERR_MUST_USE enum tool_status import_select(struct importer *im, const char *name);
/* The record that was given last is done: an earlier call goes on after it. */
void import_placed(struct importer *im);
/* Everything before has been acknowledged when these do what they are to do. */
ERR_MUST_USE enum tool_status import_database(struct importer *im, const struct record *r);
ERR_MUST_USE enum tool_status import_index(struct importer *im, const struct record *r);
ERR_MUST_USE enum tool_status import_limits(struct importer *im, const struct record *r);
ERR_MUST_USE enum tool_status import_library(struct importer *im, const struct record *r);
/* import_live.c: of sources that are live; what goes wrong is said. */

/* The source, for people. */
const char *import_live_name(const struct importer *im);
/* Before the first record. With --follow the databases must be empty, unless an earlier call is
 * gone on with. */
ERR_MUST_USE enum tool_status import_live_begin(struct importer *im, bool goes_on);
ERR_MUST_USE enum tool_status import_live_rename(struct importer *im, const struct record *r);
/* Everything is acknowledged. */
ERR_MUST_USE enum tool_status import_live_pause(struct importer *im);
/* Removes what the source does not have. */
ERR_MUST_USE enum tool_status import_live_sweep(struct importer *im);
/* After the last record: what could not be imported, and comparing. */
ERR_MUST_USE enum tool_status import_live_end(struct importer *im);
/* The databases of the server that is loaded, of those that are imported; the caller's. */
ERR_MUST_USE enum tool_status import_live_databases(struct importer *im, uint32_t **out,
                                                    size_t *count);
/* Selects it, if several are imported. */
ERR_MUST_USE enum tool_status import_live_select(struct importer *im, uint32_t database);
/* import_compare.c: TOOL_NO, after saying so: they are not equal. */
ERR_MUST_USE enum tool_status import_compare(struct importer *im);

/* --map: as long as the state says. */
ERR_MUST_USE enum tool_status import_map_open(struct importer *im);
/* What the loader has of it, synced. */
ERR_MUST_USE enum tool_status import_map_write(struct importer *im);

#endif
