/* export_out: where an export is written: standard output, or a file that gets its name when it is
 * complete. What is written is added up to a digest as it goes.
 */
#ifndef TOOL_EXPORT_OUT_H
#define TOOL_EXPORT_OUT_H

#include <xxhash.h>

#include "base/buf.h"
#include "base/file.h"
#include "tool/tool.h"

#define EXPORT_DIGEST_CHARS 32
#define EXPORT_OUT_HELD (256u << 20)

struct export_out {
    struct file file;
    const char *path;     /* NULL = standard output */
    struct buf temporary; /* its name until then */
    struct buf pending;   /* not written yet: records are put here */
    bool is_held;         /* that only EXPORT_OUT_HELD or more are written: pending may be cut */
    uint64_t bytes;       /* written */
    XXH3_state_t *digest; /* of what has been written; owned */
};

/* What goes wrong is said. */
ERR_MUST_USE enum tool_status export_out_open(struct export_out *o, const char *path);
/* After each record: writes when there is enough. */
ERR_MUST_USE enum tool_status export_out_flush(struct export_out *o, bool is_all);
/* Begins anew; only of a file. */
ERR_MUST_USE enum tool_status export_out_again(struct export_out *o);
/* The digest of all that was put there so far, written first. */
ERR_MUST_USE enum tool_status export_out_digest(struct export_out *o,
                                                char out[EXPORT_DIGEST_CHARS + 1]);
/* All is there: synced, under its name. */
ERR_MUST_USE enum tool_status export_out_finish(struct export_out *o);
/* Without export_out_finish before, the file is removed. */
void export_out_close(struct export_out *o);

/* In hex digits. */
void export_digest_text(const XXH3_state_t *state, char out[EXPORT_DIGEST_CHARS + 1]);

#endif
