/* value: stored values as Deno gets them. */
#ifndef COMMAND_CONNECT_VALUE_H
#define COMMAND_CONNECT_VALUE_H

#include "base/buf.h"
#include "base/err.h"

/* How a value travels, as KV Connect numbers it. */
enum connect_encoding { CONNECT_V8 = 1, CONNECT_U64 = 2, CONNECT_BYTES = 3 };

/* The encoding of a stored value; its data is appended to `out`. The errors of value_to_v8. */
ERR_MUST_USE enum err connect_encode(struct slice value, struct buf *out,
                                     enum connect_encoding *encoding, struct error *e);

#endif
