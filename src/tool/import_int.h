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
/* --map: as long as the state says. */
ERR_MUST_USE enum tool_status import_map_open(struct importer *im);
/* What the loader has of it, synced. */
ERR_MUST_USE enum tool_status import_map_write(struct importer *im);

#endif
