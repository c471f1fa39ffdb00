/* fold: finding text without regard to upper and lower case, by Unicode's full case folding:
 * "STRASSE" is in "Straße". The sought text is folded once; the text it is sought in is folded one
 * character at a time as the search goes along it, so memory is never needed and time is linear,
 * also for text made to be slow (Knuth, Morris, Pratt 1977).
 *
 * Nothing is normalised: a letter with its accent as one character and as two are different.
 */
#ifndef FILTER_FOLD_INT_H
#define FILTER_FOLD_INT_H

#include "base/arena.h"

struct fold {
    struct slice text; /* folded */
    /* failures[i]: how much of the text's beginning is the end of its first i + 1 bytes, and not
     * all of them. */
    const uint32_t *failures;
};

/* In the arena. False: no memory. All text is UTF-8. */
bool fold_build(struct slice text, struct arena *arena, struct fold *out);
bool fold_is_equal(const struct fold *f, struct slice text);
bool fold_is_prefix(const struct fold *f, struct slice text);
bool fold_is_suffix(const struct fold *f, struct slice text);
bool fold_is_inside(const struct fold *f, struct slice text);

#endif
