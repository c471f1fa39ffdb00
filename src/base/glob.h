/* glob: the patterns of KEYS, SCAN, CONFIG GET and PSUBSCRIBE, as Redis has them: `*` any bytes,
 * `?` any byte, `[abc]`, `[a-z]`, `[^abc]`, `\x` the byte x itself. Bytes, not characters.
 *
 * A pattern has at most GLOB_BYTES_MAX bytes; the code that takes one from a client checks it
 * (arg_pattern in request/args.h). Nothing is tried twice: what comes before the first star is
 * compared, and from there on all ways to match are followed at once, 64 places of the pattern in
 * one step. The worst case of a match of p and t bytes is t * p / 64 steps, and 256 * p once, to
 * make the pattern ready. At the limit that is half a millisecond for a text of 16 KB, 30 ms for a
 * megabyte, and half a millisecond once. A command that matches many texts or patterns takes their
 * sum: PUBLISH all patterns that have a subscriber, against a channel's name of at most
 * PUBSUB_NAME_BYTES_MAX (pubsub/pubsub.h); a commit those of watches, against each key.
 */
#ifndef BASE_GLOB_H
#define BASE_GLOB_H

#include "base/slice.h"

#define GLOB_BYTES_MAX 1024
/* One place more than there are elements beside the first star. */
#define GLOB_WORDS (GLOB_BYTES_MAX / 64)

/* A pattern for many texts. 33 KB, of which a short pattern uses little. */
struct glob {
    struct slice pattern; /* borrowed */
    bool is_nocase;
    /* From the first star on; words 0 = not needed yet. Place n: the first n elements match. */
    size_t places, words;
    uint64_t stars[GLOB_WORDS];       /* places that any byte leaves as they are */
    uint64_t steps[256 * GLOB_WORDS]; /* by byte, `words` each: places that it takes further */
};

/* is_nocase: ASCII letters in either case are equal. */
void glob_init(struct glob *g, struct slice pattern, bool is_nocase);
bool glob_fits(struct glob *g, struct slice text);

/* What is before the first character that is not literal. */
struct slice glob_literal(struct slice pattern);
/* Once. */
bool glob_match(struct slice pattern, struct slice text);
bool glob_match_nocase(struct slice pattern, struct slice text);

#endif
