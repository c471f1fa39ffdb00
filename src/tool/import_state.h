/* import_state: how far an import is, in a file beside its input, so that the same call goes on
 * there. Only what the server has acknowledged is in it. Lines of text:
 *
 *   tupled-import 1
 *   input <which input it is>
 *   target <server and database>
 *   database <that is selected; of the input; "-" = that of the beginning>
 *   place <after the last record that was acknowledged>
 *   records <so many of them>
 *   map <bytes of the file of --map>
 */
#ifndef TOOL_IMPORT_STATE_H
#define TOOL_IMPORT_STATE_H

#include "tool/source.h"

#define IMPORT_TARGET_BYTES 1024
#define IMPORT_DATABASE_BYTES 65

struct import_state {
    const char *path; /* NULL = none is kept */
    char input[SOURCE_PLACE_BYTES];
    char target[IMPORT_TARGET_BYTES];
    char database[IMPORT_DATABASE_BYTES];
    char place[SOURCE_PLACE_BYTES];
    uint64_t records, map_bytes;
    int64_t saved_us; /* when it was written last */
};

/* What an earlier call left; *found false: nothing. With another input or target it is refused.
 * What goes wrong is said. */
ERR_MUST_USE enum tool_status import_state_read(struct import_state *st, bool *found);
/* Written and synced. */
ERR_MUST_USE enum tool_status import_state_save(struct import_state *st);
/* It is over. */
void import_state_remove(const struct import_state *st);

#endif
