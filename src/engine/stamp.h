/* stamp: versionstamps as clients see them: 20 hex digits, the 64-bit commit version and 16 zero
 * bits. What a check expects is a stamp or NONE.
 */
#ifndef ENGINE_STAMP_H
#define ENGINE_STAMP_H

#include "base/err.h"

#define STAMP_CHARS 20

struct expected {
    bool is_none;    /* the key must be absent */
    bool is_foreign; /* a well-formed stamp that this server never gives: matches nothing */
    uint64_t version;
};

void stamp_format(uint64_t version, char out[STAMP_CHARS]);
/* `text`: 20 hex digits in either case, NONE in any case, or empty (= NONE). ERR_SYNTAX otherwise.
 */
ERR_MUST_USE enum err stamp_parse(struct slice text, struct expected *out, struct error *e);

#endif
