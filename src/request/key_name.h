/* key_name: what a key is called where a word names it, and not JSON: in invalidations and in
 * notifications. A plain key (one string part, or one bytes part that is not UTF-8) is its bytes;
 * every other tuple is its path form (codec/key.h).
 */
#ifndef REQUEST_KEY_NAME_H
#define REQUEST_KEY_NAME_H

#include "base/buf.h"

/* Appends it. `key`: internal, of the data space. Errors are sticky in out. */
void key_name(struct slice key, struct buf *out);

#endif
