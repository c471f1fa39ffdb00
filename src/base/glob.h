/* glob: the patterns of KEYS, SCAN, CONFIG GET and PSUBSCRIBE, as Redis has them: `*` any bytes,
 * `?` any byte, `[abc]`, `[a-z]`, `[^abc]`, `\x` the byte x itself. Bytes, not characters. Time is
 * at most pattern times text: no pattern is exponential.
 */
#ifndef BASE_GLOB_H
#define BASE_GLOB_H

#include "base/slice.h"

bool glob_match(struct slice pattern, struct slice text);
/* ASCII letters in either case are equal. */
bool glob_match_nocase(struct slice pattern, struct slice text);

#endif
